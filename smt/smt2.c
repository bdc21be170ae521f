/* Standalone SMT-LIB 2 files: the raw obligation, unsat means it holds. */
#include <ctype.h>

#include "base/file.h"
#include "smt/internal.h"

static void print(tp_buf *b, const tp_exprs *p, tp_expr e)
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
    const tp_expr_node *n = tp_expr_get(p, e);
    if (n->op == TP_E_CONST) {
        if (n->value < 0)
            tp_buf_printf(b, "(- %llu)", 0ULL - (unsigned long long)n->value);
        else
            tp_buf_printf(b, "%lld", (long long)n->value);
        return;
    }
    if (n->op == TP_E_SYM) {
        tp_buf_printf(b, "|%.*s|", TP_FMT(tp_sym_name(p, (uint32_t)n->value)));
        return;
    }
    tp_buf_printf(b, "(%s ", NAMES[n->op]);
    print(b, p, n->a);
    for (int i = 0; i < 2; i++) {
        tp_expr kid = i ? n->c : n->b;
        if (kid.id) {
            tp_buf_c(b, " ");
            print(b, p, kid);
        }
    }
    tp_buf_c(b, ")");
}

static void assertion(tp_buf *b, const tp_exprs *p, const char *before, tp_expr e, const char *after)
{
    tp_buf_printf(b, "(assert %s", before);
    int64_t v;
    if (tp_expr_is_const(p, e, &v))
        tp_buf_c(b, v ? "true" : "false");
    else
        print(b, p, e);
    tp_buf_printf(b, "%s)\n", after);
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

void tp_emit_smt2(tp_prover *v, const tp_obligation *o)
{
    tp_buf b = {.arena = v->arena}, path = {.arena = v->arena}, name = {.arena = v->arena};
    tp_buf_printf(&b, "; %s: unsat means that the obligation holds for all values in the domain\n%s",
                  o->name ? o->name : "obligation", PRELUDE);
    for (uint32_t i = 0; i < o->nvars; i++)
        tp_buf_printf(&b, "(declare-const |%.*s| Int)\n", TP_FMT(tp_sym_name(v->p, o->vars[i].sym)));
    for (uint32_t i = 0; i < o->nvars; i++) {
        const tp_var *x = &o->vars[i];
        tp_expr s = tp_sym(v->p, x->sym), any = tp_const(v->p, 0);
        if (x->lo.id)
            assertion(&b, v->p, "", tp_op2(v->p, TP_E_GE, s, x->lo), "");
        if (x->hi.id)
            assertion(&b, v->p, "", tp_op2(v->p, TP_E_LE, s, x->hi), "");
        if (x->multiple_of > 1)
            assertion(
                &b, v->p, "",
                tp_op2(v->p, TP_E_EQ, tp_op2(v->p, TP_E_MOD, s, tp_const(v->p, x->multiple_of)), tp_const(v->p, 0)),
                "");
        for (uint32_t k = 0; x->choices && k < x->nchoices; k++) {
            tp_expr is = tp_op2(v->p, TP_E_EQ, s, tp_const(v->p, x->choices[k]));
            any = k ? tp_op2(v->p, TP_E_OR, any, is) : is;
        }
        if (x->choices)
            assertion(&b, v->p, "", any, "");
    }
    for (uint32_t i = 0; i < o->npremises; i++)
        assertion(&b, v->p, "", o->premises[i], "");
    assertion(&b, v->p, "(not ", o->goal, ")");
    tp_buf_c(&b, "(check-sat)\n");
    tp_buf_printf(&name, "%s-%03u-%s", v->o.smt2_name ? v->o.smt2_name : "spec", ++v->emitted,
                  o->name ? o->name : "obligation");
    tp_buf_printf(&path, "%s/", v->o.smt2_dir);
    for (size_t i = 0; i < name.n && i < 200; i++)
        tp_buf_add(&path, isalnum((unsigned char)name.p[i]) || name.p[i] == '-' ? &name.p[i] : "_", 1);
    tp_buf_c(&path, ".smt2");
    tp_str text = tp_buf_view(&b);
    tp_write_file(v->arena, path.p, &text, 1, &v->stats.smt2_error); /* changes no verdict; the caller says it */
}
