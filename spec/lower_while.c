/* `while t < n:` whose body ends in `t = t + 1` and changes neither otherwise is a loop over a range: whoever reasons
 * about ranges understands it. */
#include "spec/lower.h"

/* Does some statement of the block, but for `last`, assign the name? */
static bool is_assigned(const tp_block *b, tp_str name, const tp_syntax *last)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        const tp_node *target = s == last ? NULL : s->target;
        bool found = target && target->kind == TP_N_NAME && tp_str_eq(target->text, name);
        for (uint32_t n = 0; target && target->kind == TP_N_SEQUENCE && n < target->nkids; n++)
            found |= tp_str_eq(target->kids[n]->text, name);
        if (found || is_assigned(&s->body, name, last) || is_assigned(&s->orelse, name, last))
            return true;
    }
    return false;
}

/* The same number in every turn: sizes, axes, locals that the body does not assign, entries of tables that keep what is
 * given. */
static bool is_fixed(const tp_lower *l, const tp_node *n, const tp_block *body)
{
    if (n->kind == TP_N_INT)
        return true;
    if (n->kind == TP_N_NAME)
        return !is_assigned(body, n->text, NULL);
    bool sum = n->kind == TP_N_BINARY && (n->op == TP_O_ADD || n->op == TP_O_SUB || n->op == TP_O_MUL);
    bool call = n->kind == TP_N_CALL &&
                (tp_str_is(n->text, "cdiv") || tp_str_is(n->text, "min") || tp_str_is(n->text, "num_programs"));
    int table = n->kind == TP_N_INDEX && n->kids[0]->kind == TP_N_NAME ? tp_table_find(l->k, n->kids[0]->text) : -1;
    bool entry = table >= 0 && !l->k->tables[table].is_mutable;
    for (uint32_t i = entry; (sum || call || entry) && i < n->nkids; i++)
        if (!is_fixed(l, n->kids[i], body))
            return false;
    return sum || call || entry;
}

static bool is_name(const tp_node *n, tp_str name)
{
    return n->kind == TP_N_NAME && tp_str_eq(n->text, name);
}

static bool is_one(const tp_node *n)
{
    return n->kind == TP_N_INT && n->integer == 1;
}

/* t += 1, t = t + 1 */
static bool counts(const tp_syntax *s, tp_str name)
{
    if (s->kind != TP_S_ASSIGN || !is_name(s->target, name))
        return false;
    const tp_node *v = s->value;
    if (s->augmented)
        return s->op == TP_O_ADD && is_one(v);
    return v->kind == TP_N_BINARY && v->op == TP_O_ADD && v->nkids == 2 && is_name(v->kids[0], name) &&
           is_one(v->kids[1]);
}

tp_local *lower_counter(tp_lower *l, const tp_syntax *s, const tp_node **below)
{
    const tp_node *c = s->value;
    if (c->kind != TP_N_BINARY || c->nkids != 2 || (c->op != TP_O_LT && c->op != TP_O_GT) || !s->body.len)
        return NULL;
    const tp_node *name = c->kids[c->op == TP_O_GT];
    const tp_syntax *last = s->body.at[s->body.len - 1];
    *below = c->kids[c->op == TP_O_LT];
    tp_local *t = name->kind == TP_N_NAME ? lower_find_local(l, name->text) : NULL;
    const tp_value *x = t ? lower_value(l, t->value) : NULL;
    bool fits = t && t->is_slot && !t->loop_variable && x->dtype == TP_I32 && x->rank == 0;
    return fits && counts(last, name->text) && !is_assigned(&s->body, name->text, last) && is_fixed(l, *below, &s->body)
               ? t
               : NULL;
}
