/* How the arrays of a reference begin, and what gives its outputs. */
#include "spec/dialect_nodes.h"

/* What is assigned within loops and branches, or in parts. */
static void note_changed(dialect *d, const tp_block *b, bool nested, tp_map *changed)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        const tp_node *targets = s->target, *const *names = &targets;
        uint32_t n = targets ? 1 : 0;
        if (n && targets->kind == TP_N_INDEX)
            targets = targets->kids[0];
        if (n && targets->kind == TP_N_SEQUENCE) {
            names = (const tp_node *const *)targets->kids;
            n = targets->nkids;
        }
        for (uint32_t k = 0; (nested || s->kind == TP_S_STORE) && k < n && s->kind != TP_S_FOR; k++)
            if (names[k]->kind == TP_N_NAME)
                tp_map_set(d->c->arena, changed, names[k]->text, 1);
        if (s->kind != TP_S_DEF) {
            note_changed(d, &s->body, true, changed);
            note_changed(d, &s->orelse, true, changed);
        }
    }
}

static bool is_whole(const tp_syntax *s)
{
    for (uint32_t i = 1; i < s->target->nkids; i++)
        if (s->target->kids[i]->kind != TP_N_COLON && s->target->kids[i]->kind != TP_N_ELLIPSIS)
            return false;
    return !s->augmented;
}

/* The first statement that assigns the name; NULL: none does. */
static tp_syntax *first_assignment(const tp_block *b, tp_str name, bool *nested)
{
    for (uint32_t i = 0; i < b->len; i++) {
        tp_syntax *s = b->at[i], *within = NULL;
        const tp_node *x = s->kind == TP_S_STORE ? s->target->kids[0] : s->target;
        if (s->kind == TP_S_DEF)
            continue;
        bool found = x && x->kind == TP_N_NAME && tp_str_eq(x->text, name);
        for (uint32_t k = 0; x && x->kind == TP_N_SEQUENCE && k < x->nkids; k++)
            found |= tp_str_eq(x->kids[k]->text, name);
        if (found)
            return s;
        if ((within = first_assignment(&s->body, name, nested)) ||
            (within = first_assignment(&s->orelse, name, nested))) {
            *nested = true;
            return within;
        }
    }
    return NULL;
}

static tp_syntax *zeros_of(dialect *d, const tp_syntax *first, const tp_node *at, const tp_operand *o)
{
    tp_node *x = dialect_name(d, at, o->name), *dtype = dialect_name(d, at, tp_str_c(tp_dtype_info(o->dtype)->name));
    tp_node *shape = dialect_node(d, at, TP_N_ATTRIBUTE, TP_S("shape"), 1, &x);
    return dialect_statement(d, first, TP_S_ASSIGN, x, dialect_call(d, at, "zeros", 2, (tp_node *[]){shape, dtype}));
}

void dialect_begin_arrays(dialect *d, tp_block *program)
{
    tp_map changed = {0};
    tp_block out = {0};
    note_changed(d, program, false, &changed);
    const tp_syntax *first = program->len ? program->at[0] : NULL;
    const tp_node *at = !first ? NULL : first->target ? first->target : first->value;
    for (uint32_t i = 0; at && i < d->k->ninputs + d->k->noutputs; i++) {
        const tp_operand *o = &d->k->operands[i];
        bool nested = false;
        tp_syntax *s = o->role == TP_OUTPUT ? first_assignment(program, o->name, &nested) : NULL;
        if (o->role == TP_INPUT && tp_map_get(&changed, o->name))
            tp_push(
                d->c->arena, out,
                dialect_statement(d, first, TP_S_ASSIGN, dialect_name(d, at, o->name), dialect_name(d, at, o->name)));
        if (s && s->kind == TP_S_STORE && !nested && is_whole(s)) { /* o[...] = v is o = v */
            s->kind = TP_S_ASSIGN;
            s->target = s->target->kids[0];
        } else if (s && s->kind == TP_S_STORE) {
            tp_push(d->c->arena, out, zeros_of(d, first, at, o));
        }
    }
    for (uint32_t i = 0; i < program->len; i++)
        tp_push(d->c->arena, out, program->at[i]);
    *program = out;
}

void dialect_call_last(dialect *d, tp_block *program)
{
    const tp_syntax *last = program->len ? program->at[program->len - 1] : NULL;
    for (uint32_t i = 0; i < program->len; i++)
        if (program->at[i]->kind != TP_S_DEF)
            return;
    if (!last || last->value->kind != TP_N_CALL)
        return;
    tp_node *head = last->value, **args = TP_NEWN(d->c->arena, tp_node *, head->nkids);
    uint32_t n = 0;
    for (uint32_t i = 0; i < head->nkids; i++)
        if (head->kids[i]->kind == TP_N_NAME)
            args[n++] = dialect_name(d, head, head->kids[i]->text);
    tp_node *names[TP_MAX_OPERANDS], *call = dialect_node(d, head, TP_N_CALL, head->text, n, args);
    for (uint32_t i = 0; i < d->k->noutputs; i++)
        names[i] = dialect_name(d, head, d->k->operands[d->k->ninputs + i].name);
    bool one = d->k->noutputs == 1;
    tp_node *target = one ? names[0] : dialect_node(d, head, TP_N_SEQUENCE, (tp_str){NULL, 0}, d->k->noutputs, names);
    tp_push(d->c->arena, *program, dialect_statement(d, last, one ? TP_S_ASSIGN : TP_S_UNPACK, target, call));
}
