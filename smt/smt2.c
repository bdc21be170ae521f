/* Standalone SMT-LIB 2 files: the raw obligation, unsat means it holds. */
#include <ctype.h>

#include "base/file.h"
#include "smt/internal.h"

typedef struct writer {
    tp_prover *v;
    tp_exprs *p;
    const tp_obligation *o;
    tp_buf text;
} writer;

/* Symbols of one name are told apart by number. */
static void print_symbol(writer *w, uint32_t sym)
{
    bool taken = false;
    for (uint32_t i = 0; i < w->o->nvars; i++)
        taken |= w->o->vars[i].sym != sym && tp_str_eq(tp_sym_name(w->p, w->o->vars[i].sym), tp_sym_name(w->p, sym));
    tp_buf_printf(&w->text, "|%.*s", TP_FMT(tp_sym_name(w->p, sym)));
    if (taken)
        tp_buf_printf(&w->text, "#%u", sym);
    tp_buf_c(&w->text, "|");
}

/* As a Bool or as an Int: true is 1. */
static void print(writer *w, tp_expr e, bool boolean)
{
    static const char *const NAMES[] = {
        [TP_E_NEG] = "-",
        [TP_E_NOT] = "not",
        [TP_E_ITE] = "ite",
        [TP_E_ADD] = "+",
        [TP_E_SUB] = "-",
        [TP_E_MUL] = "*",
        [TP_E_EQ] = "=",
        [TP_E_NE] = "distinct",
        [TP_E_LT] = "<",
        [TP_E_LE] = "<=",
        [TP_E_GT] = ">",
        [TP_E_GE] = ">=",
        [TP_E_AND] = "and",
        [TP_E_OR] = "or",
        [TP_E_IMPLIES] = "=>",
        [TP_E_FLOORDIV] = "floordiv",
        [TP_E_MOD] = "floormod",
        [TP_E_CDIV] = "cdiv",
        [TP_E_MIN] = "min",
        [TP_E_MAX] = "max",
        [TP_E_ALIGN_UP] = "align_up",
        [TP_E_POW2] = "next_power_of_2",
        [TP_E_BITAND] = "bitand",
        [TP_E_BITOR] = "bitor",
        [TP_E_BITXOR] = "bitxor",
        [TP_E_SHL] = "shl",
        [TP_E_SHR] = "shr",
    };
    const tp_expr_node *n = tp_expr_get(w->p, e);
    bool logic = n->op == TP_E_AND || n->op == TP_E_OR || n->op == TP_E_IMPLIES || n->op == TP_E_NOT;
    bool is_bool = logic || (n->op >= TP_E_EQ && n->op <= TP_E_GE);
    tp_buf *b = &w->text;
    if (n->op == TP_E_CONST && boolean) {
        tp_buf_c(b, n->value ? "true" : "false");
        return;
    }
    if (n->op == TP_E_ITE)
        is_bool = boolean; /* its arms are printed alike */
    if (is_bool != boolean)
        tp_buf_c(b, boolean ? "(distinct 0 " : "(ite ");
    if (n->op == TP_E_CONST && n->value < 0) {
        tp_buf_printf(b, "(- %llu)", 0ULL - (unsigned long long)n->value);
    } else if (n->op == TP_E_CONST) {
        tp_buf_printf(b, "%lld", (long long)n->value);
    } else if (n->op == TP_E_SYM) {
        print_symbol(w, (uint32_t)n->value);
    } else {
        tp_expr kids[3] = {n->a, n->b, n->c};
        tp_buf_printf(b, "(%s", NAMES[n->op]);
        for (int i = 0; i < 3 && kids[i].id; i++) {
            tp_buf_c(b, " ");
            print(w, kids[i], n->op == TP_E_ITE ? i == 0 || boolean : logic);
        }
        tp_buf_c(b, ")");
    }
    if (is_bool != boolean)
        tp_buf_c(b, boolean ? ")" : " 1 0)");
}

static void assertion(writer *w, const char *before, tp_expr e, const char *after)
{
    tp_buf_printf(&w->text, "(assert %s", before);
    print(w, e, true);
    tp_buf_printf(&w->text, "%s)\n", after);
}

static const char PRELUDE[] =
    "(set-logic ALL)\n"
    "; Python's integer division, on top of SMT-LIB's Euclidean div\n"
    "(define-fun floordiv ((a Int) (b Int)) Int (ite (> b 0) (div a b) (div (- a) (- b))))\n"
    "(define-fun floormod ((a Int) (b Int)) Int (- a (* b (floordiv a b))))\n"
    "(define-fun cdiv ((a Int) (b Int)) Int (- (floordiv (- a) b)))\n"
    "(define-fun align_up ((a Int) (b Int)) Int (* b (cdiv a b)))\n"
    "(define-fun min ((a Int) (b Int)) Int (ite (<= a b) a b))\n"
    "(define-fun max ((a Int) (b Int)) Int (ite (>= a b) a b))\n"
    "; left uninterpreted: sat is then not a counterexample\n"
    "(declare-fun next_power_of_2 (Int) Int)\n(declare-fun bitand (Int Int) Int)\n(declare-fun bitor (Int Int) Int)\n"
    "(declare-fun bitxor (Int Int) Int)\n(declare-fun shl (Int Int) Int)\n(declare-fun shr (Int Int) Int)\n";

static bool approximates(const tp_exprs *p, tp_expr e)
{
    const tp_expr_node *n = tp_expr_get(p, e);
    bool opaque = n->op == TP_E_POW2 || n->op == TP_E_BITAND || n->op == TP_E_BITOR || n->op == TP_E_BITXOR ||
                  n->op == TP_E_SHL || n->op == TP_E_SHR;
    return e.id && (opaque || approximates(p, n->a) || approximates(p, n->b) || approximates(p, n->c));
}

bool tp_smt2_approximates(const tp_prover *v, const tp_obligation *o)
{
    bool yes = approximates(v->p, o->goal);
    for (uint32_t i = 0; i < o->npremises; i++)
        yes |= approximates(v->p, o->premises[i]);
    for (uint32_t i = 0; i < o->nvars; i++)
        yes |= approximates(v->p, o->vars[i].lo) || approximates(v->p, o->vars[i].hi);
    return yes;
}

tp_str tp_smt2_text(tp_prover *v, const tp_obligation *o, const char *status)
{
    writer w = {.v = v, .p = v->p, .o = o, .text = {.arena = v->arena}};
    tp_buf_printf(&w.text, "; %s: unsat means that the obligation holds for all values in the domain\n",
                  o->name ? o->name : "obligation");
    if (status)
        tp_buf_printf(&w.text, "(set-info :status %s)\n", status);
    tp_buf_c(&w.text, PRELUDE);
    for (uint32_t i = 0; i < o->nvars; i++) {
        tp_buf_c(&w.text, "(declare-const ");
        print_symbol(&w, o->vars[i].sym);
        tp_buf_c(&w.text, " Int)\n");
    }
    for (uint32_t i = 0; i < o->nvars; i++) {
        const tp_var *x = &o->vars[i];
        tp_expr s = tp_sym(v->p, x->sym), any = tp_const(v->p, 0);
        if (x->lo.id)
            assertion(&w, "", tp_op2(v->p, TP_E_GE, s, x->lo), "");
        if (x->hi.id)
            assertion(&w, "", tp_op2(v->p, TP_E_LE, s, x->hi), "");
        if (x->multiple_of > 1)
            assertion(
                &w, "",
                tp_op2(v->p, TP_E_EQ, tp_op2(v->p, TP_E_MOD, s, tp_const(v->p, x->multiple_of)), tp_const(v->p, 0)),
                "");
        for (uint32_t k = 0; x->choices && k < x->nchoices; k++) {
            tp_expr is = tp_op2(v->p, TP_E_EQ, s, tp_const(v->p, x->choices[k]));
            any = k ? tp_op2(v->p, TP_E_OR, any, is) : is;
        }
        if (x->choices)
            assertion(&w, "", any, "");
    }
    for (uint32_t i = 0; i < o->npremises; i++)
        assertion(&w, "", o->premises[i], "");
    assertion(&w, "(not ", o->goal, ")");
    tp_buf_c(&w.text, "(check-sat)\n");
    return tp_buf_view(&w.text);
}

const char *tp_emit_smt2(tp_prover *v, const tp_obligation *o, const char *dir, const char *status)
{
    tp_buf path = {.arena = v->arena}, name = {.arena = v->arena};
    tp_str text = tp_smt2_text(v, o, status);
    tp_buf_printf(&name, "%s-%03u-%s", v->o.smt2_name ? v->o.smt2_name : "spec", ++v->emitted,
                  o->name ? o->name : "obligation");
    tp_buf_printf(&path, "%s/", dir);
    for (size_t i = 0; i < name.n && i < 200; i++)
        tp_buf_add(&path, isalnum((unsigned char)name.p[i]) || name.p[i] == '-' ? &name.p[i] : "_", 1);
    tp_buf_c(&path, ".smt2");
    tp_write_file(v->arena, path.p, &text, 1, &v->stats.smt2_error); /* changes no verdict; the caller says it */
    return path.p;
}
