/* The two entry points: bodies and references, whole. */
#include "base/assert.h"
#include "spec/dialect.h"
#include "spec/lower.h"

/* Facts "size == expression" of "where", as a substitution. */
static void collect_equalities(tp_lower *l)
{
    tp_exprs *p = l->k->exprs;
    l->nequal = tp_sym_count(p);
    l->equal = TP_NEWN(l->c->arena, tp_expr, l->nequal);
    bool any = false;
    for (uint32_t i = 0; i < l->k->nwhere; i++) {
        const tp_expr_node *n = tp_expr_get(p, l->k->where[i].expr);
        if (n->op != TP_E_EQ)
            continue;
        tp_expr sides[2][2] = {{n->a, n->b}, {n->b, n->a}};
        for (int s = 0; s < 2; s++) {
            const tp_expr_node *from = tp_expr_get(p, sides[s][0]);
            if (from->op == TP_E_SYM && !l->equal[from->value].id &&
                !tp_expr_mentions(p, sides[s][1], (uint32_t)from->value)) {
                l->equal[from->value] = sides[s][1];
                any = true;
                break;
            }
        }
    }
    if (!any)
        l->nequal = 0;
}

/* Values of operands and tables of a reference. */
static void give_arrays(tp_lower *l)
{
    const tp_kernel *k = l->k;
    l->p->operand_value = TP_NEWN(l->c->arena, tp_vid, tp_noperands(k));
    for (uint32_t i = 0; i < tp_noperands(k); i++) {
        const tp_operand *o = &k->operands[i];
        l->p->operand_value[i] =
            l->reference && o->role == TP_INPUT ? lower_new_value(l, lower_dtype(l, o->dtype), o->rank, o->shape) : -1;
    }
    l->p->table_value = TP_NEWN(l->c->arena, tp_vid, k->ntables);
    for (uint32_t i = 0; i < k->ntables; i++)
        l->p->table_value[i] = l->reference ? lower_new_value(l, TP_I32, k->tables[i].rank, k->tables[i].shape) : -1;
}

/* An array that is cut among devices lies in memory as its parts: a reference sees it as a whole. */
static void join_parts(tp_lower *l)
{
    const tp_kernel *k = l->k;
    l->global = TP_NEWN(l->c->arena, tp_vid, tp_noperands(k));
    for (uint32_t i = 0; i < tp_noperands(k); i++) {
        const tp_operand *o = &k->operands[i];
        l->global[i] = l->p->operand_value[i];
        if (l->global[i] >= 0 && o->global_shape)
            l->global[i] = lower_reshape(l, l->global[i], o->global_rank, o->global_shape, NULL);
    }
}

static tp_vid in_parts(tp_lower *l, const tp_operand *o, tp_vid v, const tp_node *n)
{
    return o->global_shape ? lower_reshape(l, v, o->rank, o->shape, n) : v;
}

static void take_outputs(tp_lower *l, tp_loc loc)
{
    const tp_kernel *k = l->k;
    l->region = &l->p->statements;
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++) {
        const tp_local *o = lower_find_local(l, k->operands[i].name);
        if (!o && !k->operands[i].discard)
            tp_raise(l->c, TP_RULE_SPEC_TYPE, loc, "assign it outside of branches and loops first",
                     "the reference never assigns output `%.*s`", TP_FMT(k->operands[i].name));
        if (o && o->object)
            lower_object_value(l, o->object, o->node);
        if (o)
            lower_check_shared(l, o->changed, o->node);
        if (o)
            l->p->operand_value[i] = in_parts(l, &k->operands[i], lower_copy_of_slot(l, o->value, o->node), o->node);
    }
}

/* A mutable table is scratch in SMEM that holds the given entries in the first step. */
static void lower_given(tp_lower *l, uint32_t table)
{
    const tp_kernel *k = l->k;
    const tp_table *t = &k->tables[table];
    tp_buf b = {.arena = l->c->arena}, at = {.arena = l->c->arena};
    const char *indent = "";
    for (uint32_t i = 0; i < k->naxes; i++)
        tp_buf_printf(&b, "%s%.*s == 0", i ? " and " : "if ", TP_FMT(k->axes[i].name));
    if (k->naxes) {
        tp_buf_c(&b, ":\n");
        indent = "    ";
    }
    for (uint32_t d = 0; d < t->rank; d++) {
        tp_str name = lower_free_name(l, tp_printf(l->c->arena, "at%u", d));
        tp_buf_printf(&at, "%s%.*s", d ? ", " : "", TP_FMT(name));
        tp_buf_printf(&b, "%s%*sfor %.*s in range(%.*s.shape[%u]):\n", indent, 4 * (int)d, "", TP_FMT(name),
                      TP_FMT(t->name), d);
    }
    tp_str index = tp_buf_view(&at);
    tp_buf_printf(&b, "%s%*s%.*s[%.*s] = %.*s[%.*s]", indent, 4 * (int)t->rank, "", TP_FMT(t->name), TP_FMT(index),
                  TP_FMT(t->name), TP_FMT(index));
    l->given = true;
    lower_written_at(l, t->name_string, tp_buf_view(&b));
    l->given = false;
}

typedef struct attempt {
    tp_lower l;
    tp_block text;
    tp_loc loc; /* where it stands */
} attempt;

static void lower_once(void *arg)
{
    attempt *t = arg;
    tp_lower *l = &t->l;
    l->frame = TP_NEW(l->c->arena, tp_frame);
    l->operand_memory = TP_NEWN(l->c->arena, uint32_t, tp_noperands(l->k));
    l->operand_changed = TP_NEWN(l->c->arena, const tp_syntax *, tp_noperands(l->k));
    l->operand_integers = TP_NEWN(l->c->arena, bool, tp_noperands(l->k));
    l->p = TP_NEW(l->c->arena, tp_program);
    collect_equalities(l);
    l->open = lower_open(l);
    l->p->syntax = t->text;
    give_arrays(l);
    l->region = &l->p->statements;
    join_parts(l);
    for (uint32_t i = 0; i < l->k->ntables && !l->reference; i++)
        if (l->k->tables[i].is_mutable)
            lower_given(l, i);
    lower_statements(l, &l->p->syntax, &l->p->statements);
    if (l->reference) {
        take_outputs(l, t->loc);
        lower_keep_lengths(l, TP_P_LITERAL, -1, 0, NULL, NULL); /* of the last value */
    }
}

static tp_program *lower_program(tp_ctx *c, const tp_kernel *k, tp_block text, tp_loc loc, bool reference)
{
    tp_map promoted = {0};
    for (;;) { /* one more name each time */
        attempt t = {.l = {.c = c,
                           .expr = lower_any,
                           .statements = lower_statements,
                           .expand = lower_expand,
                           .special = lower_special,
                           .higher = lower_higher,
                           .call = lower_call_function,
                           .k = k,
                           .reference = reference,
                           .promoted = promoted},
                     .text = text,
                     .loc = loc};
        tp_status st = tp_try(c->arena, lower_once, &t);
        if (st == TP_OK)
            return t.l.p;
        if (!t.l.again)
            tp_leave(c->arena, st);
        promoted = t.l.promoted;
    }
}

static tp_program *check_program(tp_ctx *c, const tp_kernel *k, tp_program *p)
{
    tp_assert(tp_program_holds(c->arena, k, p));
    return p;
}

tp_program *tp_lower_body(tp_ctx *c, const tp_kernel *k, tp_block body)
{
    return check_program(c, k, lower_program(c, k, body, k->doc->loc, false));
}

tp_program *tp_lower_reference(tp_ctx *c, const tp_kernel *k, const tp_json *lines)
{
    tp_block text = tp_parse_program(c, lines);
    tp_translate_dialect(c, k, &text);
    return check_program(c, k, lower_program(c, k, text, lines->loc, true));
}
