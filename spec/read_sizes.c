/* "sizes": fixed, ranges, finite choices, derived. */
#include "spec/scope.h"

static void not_too_large(tp_reader *r, const tp_json *v)
{
    if (v->u.integer > TP_SIZE_LIMIT)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, NULL, "numbers in \"sizes\" are at most 2^60");
}

/* A size that is a number. */
static int64_t size_number(tp_reader *r, const tp_json *v)
{
    if (v->u.integer < 0)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, "give a number from 0 on, or {\"min\": 1} for all of them",
                 "a size cannot be negative");
    not_too_large(r, v);
    return v->u.integer;
}

static int64_t bound(tp_reader *r, const tp_json *v, const char *key, int64_t least, int64_t otherwise)
{
    const tp_json *m = tp_member(r->c, v, key, TP_J_INT, false);
    if (!m)
        return otherwise;
    if (m->u.integer < least)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, m->loc, "a size counts elements; leave the key out, or give a larger number",
                 "\"%s\" is at least %lld", key, (long long)least);
    not_too_large(r, m);
    return m->u.integer;
}

static void read_choices(tp_reader *r, tp_size *s, const tp_json *in)
{
    s->kind = TP_SIZE_CHOICE;
    if (in->u.items.n == 0 || in->u.items.n > TP_MAX_CHOICES)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, in->loc, NULL, "\"in\" lists 1 to %d values", TP_MAX_CHOICES);
    s->choices = TP_NEWN(r->c->arena, int64_t, in->u.items.n);
    for (uint32_t i = 0; i < in->u.items.n; i++) {
        const tp_json *v = in->u.items.at[i];
        tp_expect_type(r->c, v, TP_J_INT, "a choice");
        int64_t choice = size_number(r, v);
        uint32_t at = s->nchoices;
        for (; at > 0 && s->choices[at - 1] >= choice; at--)
            if (s->choices[at - 1] == choice)
                tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, "list it once", "%lld is listed twice", (long long)choice);
        memmove(s->choices + at + 1, s->choices + at, (s->nchoices - at) * sizeof *s->choices);
        s->choices[at] = choice;
        s->nchoices++;
    }
    s->min = s->choices[0];
    s->max = s->choices[s->nchoices - 1];
}

static void read_object(tp_reader *r, tp_size *s, const tp_json *v)
{
    const tp_json *in = tp_member(r->c, v, "in", TP_J_ARRAY, false);
    tp_check_members(r->c, v, in ? TP_OBJECT_CHOICE : TP_OBJECT_RANGE);
    if (in) {
        read_choices(r, s, in);
    } else {
        s->kind = TP_SIZE_RANGE;
        s->min = bound(r, v, "min", 0, 1);
        s->max = bound(r, v, "max", 0, TP_SIZE_MAX);
        s->multiple_of = bound(r, v, "multiple_of", 1, 1);
    }
    s->expr = tp_sym_new(r->k->exprs, s->name);
    s->sym = tp_sym_count(r->k->exprs) - 1;
}

void tp_read_size(tp_reader *r, uint32_t i)
{
    tp_size *s = &r->k->sizes[i];
    if (r->size_state[i] == 2)
        return;
    const tp_json *v = r->sizes->u.items.at[i];
    if (r->size_state[i] == 1)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, "a derived size may use only sizes that do not use it",
                 "size `%.*s` is defined through itself", TP_FMT(s->name));
    r->size_state[i] = 1;
    if (v->type == TP_J_INT) {
        s->kind = TP_SIZE_FIXED;
        s->min = s->max = size_number(r, v);
        s->expr = tp_const(r->k->exprs, s->min);
    } else if (v->type == TP_J_OBJECT) {
        read_object(r, s, v);
    } else {
        s->kind = TP_SIZE_DERIVED;
        s->expr = tp_read_int_expr(r, v, TP_NAME_SIZE, "a size");
    }
    r->size_state[i] = 2;
}

void tp_read_sizes(tp_reader *r, const tp_json *v)
{
    tp_kernel *k = r->k;
    if (!v)
        return;
    r->sizes = v;
    k->nsizes = v->u.items.n;
    if (k->nsizes > TP_MAX_SIZES)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, NULL, "more than %d sizes", TP_MAX_SIZES);
    k->sizes = TP_NEWN(r->c->arena, tp_size, k->nsizes);
    r->size_state = TP_NEWN(r->c->arena, uint8_t, k->nsizes);
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_json *m = v->u.items.at[i];
        k->sizes[i].name = m->key;
        k->sizes[i].loc = m->loc;
        tp_scope_add(r->c, &r->names, m->key, TP_NAME_SIZE, i, m->key_loc);
    }
    for (uint32_t i = 0; i < k->nsizes; i++)
        tp_read_size(r, i);
}
