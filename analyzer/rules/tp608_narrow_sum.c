#include "analyzer/claim/claim.h"

enum { LEAST = 16 }; /* terms: the error of fewer is a few roundings of the result */

typedef struct narrow_sums {
    tp_analysis *a;
    const tp_inst **made; /* of each value */
    bool *restarted;      /* of each operand: every step has stored to all of it so far */
} narrow_sums;

static void note_made(narrow_sums *n, const tp_region *r)
{
    for (uint32_t i = 0; i < r->len; i++) {
        if (r->at[i].kind == TP_COMPUTE)
            n->made[r->at[i].inst->out] = r->at[i].inst;
        note_made(n, &r->at[i].body);
        note_made(n, &r->at[i].orelse);
        note_made(n, &r->at[i].test);
    }
}

static bool is_narrow(tp_dtype d)
{
    return tp_is_float(d) && tp_dtype_info(d)->bits < tp_dtype_info(TP_F32)->bits;
}

static const tp_inst *behind_casts(const narrow_sums *n, tp_vid *v)
{
    while (n->made[*v] && n->made[*v]->prim == TP_P_CAST)
        *v = n->made[*v]->args[0];
    return n->made[*v];
}

/* Is the value what the place, or the variable, held before, and something more? */
static bool adds_to(const narrow_sums *n, tp_vid value, const tp_access *place, tp_vid variable)
{
    const tp_inst *sum = behind_casts(n, &value);
    if (!sum || (sum->prim != TP_P_ADD && sum->prim != TP_P_SUB))
        return false;
    for (uint32_t k = 0; k < sum->nargs; k++) {
        tp_vid old = sum->args[k];
        const tp_inst *i = behind_casts(n, &old);
        if (place ? i && i->prim == TP_P_LOAD && i->access->operand == place->operand : old == variable)
            return true;
    }
    return false;
}

/* Is it the same place in each step and turn: whole dimensions, and single elements at numbers that are written? */
static bool is_fixed(const narrow_sums *n, const tp_access *place)
{
    for (uint32_t d = 0; d < n->a->k->operands[place->operand].ref_rank; d++) {
        const tp_subscript *s = &place->subs[d];
        tp_expr meaning = s->kind == TP_SUB_FULL ? num(n->a, 0) : n->a->k->body->values.at[s->start].meaning;
        if (!meaning.id || !tp_expr_is_const(n->a->p, meaning, NULL))
            return false;
    }
    return true;
}

/* The steps of the fastest axis that find the same block of o, or scratch, at the largest sizes; its name. */
static int64_t steps_on(const narrow_sums *n, const tp_operand *o, tp_str *axis)
{
    const tp_kernel *k = n->a->k;
    for (uint32_t x = k->naxes; x-- > 0;) {
        int64_t steps = tp_at_largest(n->a, k->axes[x].steps);
        bool moves = k->axes[x].parallel;
        for (uint32_t d = 0; o->role == TP_OUTPUT && d < o->rank && !o->whole; d++)
            moves |=
                tp_expr_mentions(n->a->p, o->dims[d].index, k->axes[x].sym) || tp_expr_reads(n->a->p, o->dims[d].index);
        if (steps == 1)
            continue;
        *axis = k->axes[x].name;
        return moves ? 1 : steps;
    }
    return 1;
}

static void advise(narrow_sums *n, const tp_statement *s, tp_str name, tp_dtype d, tp_str over)
{
    tp_analysis *a = n->a;
    const char *dtype = tp_dtype_info(d)->name;
    tp_finding *f = tp_advise(a, name, tp_body_loc(a, NULL, s->syntax),
                              tp_message(a, "`%.*s` adds up in %s over %.*s", TP_FMT(name), dtype, TP_FMT(over)),
                              tp_message(a, "add up in float32, and round once where the sum is complete"));
    f->claim = TP_S("sums over many terms are made in float32"); /* once for all dtypes */
    f->note = tp_message(a, "of equal terms, none after the %.0fth changes a sum that is rounded to %s each time",
                         1 / tp_dtype_roundoff(d), dtype);
}

static int64_t turns_of(const narrow_sums *n, const tp_statement *s)
{
    tp_expr lo = n->a->k->body->values.at[s->lo].meaning, hi = n->a->k->body->values.at[s->hi].meaning;
    int64_t turns = lo.id && hi.id ? tp_at_largest(n->a, mk(n->a, TP_E_SUB, hi, lo)) : -1;
    return turns < 0 ? LEAST : s->by > 1 ? turns / s->by : turns; /* not known: as many as there may be */
}

/* `top`: statements of every step, in order. `turns` of loops around: how often it runs in a step. */
static void check_region(narrow_sums *n, const tp_region *r, bool top, int64_t turns)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        if (s->kind == TP_PUT && is_fixed(n, s->access)) {
            const tp_operand *o = &n->a->k->operands[s->access->operand];
            tp_str axis = {NULL, 0};
            int64_t steps = n->restarted[s->access->operand] ? 1 : steps_on(n, o, &axis);
            bool adds = adds_to(n, s->value, s->access, -1);
            if (adds && is_narrow(o->dtype) && steps >= LEAST)
                advise(n, s, o->name, o->dtype, tp_message(n->a, "the steps of `%.*s`", TP_FMT(axis)));
            else if (adds && is_narrow(o->dtype) && turns >= LEAST)
                advise(n, s, o->name, o->dtype, TP_S("the turns of a loop"));
            n->restarted[s->access->operand] |= top && !adds;
        }
        tp_str name = s->kind == TP_ASSIGN ? tp_local_name(n->a->k->body, s->var) : (tp_str){NULL, 0};
        if (s->kind == TP_ASSIGN && turns >= LEAST && is_narrow(n->a->k->body->values.at[s->var].dtype) &&
            adds_to(n, s->value, NULL, s->var))
            advise(n, s, name.n ? name : TP_S("a local"), n->a->k->body->values.at[s->var].dtype,
                   TP_S("the turns of a loop"));
        bool loop = s->kind == TP_LOOP || s->kind == TP_WHILE;
        int64_t inside = s->kind == TP_LOOP ? turns_of(n, s) : s->kind == TP_WHILE ? LEAST : turns;
        check_region(n, &s->body, top && !loop && s->kind != TP_IF, inside > turns ? inside : turns);
        check_region(n, &s->orelse, false, turns);
    }
}

static void check(tp_analysis *a)
{
    if (!a->k->body)
        return;
    narrow_sums n = {.a = a,
                     .made = TP_NEWN(a->arena, const tp_inst *, a->k->body->values.len),
                     .restarted = TP_NEWN(a->arena, bool, tp_noperands(a->k))};
    note_made(&n, &a->k->body->statements);
    check_region(&n, &a->k->body->statements, true, 1);
}

const tp_rule tp_rule_tp608_narrow_sum = {
    .code = "TP608",
    .slug = "narrow-sum",
    .title = "sums over steps or turns that are rounded to fewer than 32 bits each time",
    .severity = TP_NOTE,
    .hardware = false,
    .per_dtype = true,
    .why = "A sum that is rounded to bfloat16 after each term loses what is smaller than its last bit: with 8 bits, a "
           "256th of it. The error grows with the number of terms, and comparisons within the tolerance of bfloat16 do "
           "not show it at small sizes.",
    .bad = "\"scratch\": [{\"name\": \"acc\", \"dtype\": \"bfloat16\", ...}] with acc[...] += dot(x[...], y[...])",
    .good = "\"dtype\": \"float32\", and o[...] = astype(acc[...], bfloat16) in the last step",
    .jax = "Nothing is reported.",
    .check = check,
};
