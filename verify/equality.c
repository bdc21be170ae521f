/* Is the kernel what its reference says, for all sizes? */
#include "reference/reference.h"
#include "verify/verify.h"

/* A rule on which the proof rests, and this run was not to look at; NULL: none. */
static const tp_rule *left_out(const tp_analysis_options *o)
{
    size_t n;
    const tp_rule *const *all = tp_rules(&n);
    for (size_t r = 0; r < n; r++) {
        bool chosen_rule = !all[r]->for_equality;
        for (size_t i = 0; i < o->nonly && !chosen_rule; i++)
            chosen_rule = o->only[i] == all[r];
        if (!chosen_rule)
            return all[r];
    }
    return NULL;
}

static void add_pair(tp_arena *a, tp_equality *all, tp_str pair)
{
    for (uint32_t i = 0; i < all->constants.len; i++)
        if (tp_str_eq(all->constants.at[i], pair))
            return;
    tp_push(a, all->constants, pair);
}

void tp_equality_join(tp_arena *a, tp_equality *all, const tp_equality *one)
{
    all->given |= one->given;
    all->masks |= one->masks;
    all->casts |= one->casts;
    for (uint32_t c = 0; c < one->constants.len; c++)
        add_pair(a, all, one->constants.at[c]);
}

typedef struct proof {
    tp_arena *a;
    const tp_kernel *k;
    const tp_program *reference;
    const tp_analysis_options *o;
    tp_equality *out;
} proof;

static void prove(void *ctx)
{
    const proof *p = ctx;
    tp_prove_equality(p->a, p->k, p->reference, p->o, p->out);
}

/* In memory of its own: a proof that grows without end leaves what else is asked of the spec its own. */
static void prove_within(tp_arena *a, proof p)
{
    enum { MOST_MIB = 1024 };
    p.a = tp_arena_child_limited(a, (size_t)MOST_MIB << 20);
    tp_status st = tp_try(p.a, prove, &p);
    if (st == TP_OK)
        return;
    if (st != TP_E_MEMORY)
        tp_leave(a, st);
    tp_arena_free(p.a);
    *p.out =
        (tp_equality){.reason = tp_printf(a, "the proof takes more than %d MiB of memory, or than is left", MOST_MIB)};
}

tp_equality tp_check_equality(tp_arena *a, const tp_spec *s, const tp_analysis_options *o, const tp_findings *findings)
{
    tp_equality all = {.proven = true, .grade = TP_GRADE_CERT};
    const char *without = tp_equality_without(findings);
    const tp_rule *out = left_out(o);
    if (out)
        return (tp_equality){.reason = tp_printf(a, "it rests on %s, which was not selected", out->code)};
    if (without)
        return (tp_equality){.reason = tp_printf(a, "it rests on %s, which is not proven", without)};
    for (uint32_t i = 0; i < s->nkernels && all.proven; i++) {
        const tp_kernel *k = s->kernels[i];
        tp_equality one = {.proven = false};
        const tp_program *p = k->body ? tp_reference_program(a, k, &one.reason) : NULL;
        tp_analysis_options own = *o;
        own.waits_named = p && tp_waits_name_copies(a, k, o);
        if (p)
            prove_within(a, (proof){.k = k, .reference = p, .o = &own, .out = &one});
        else if (!k->body)
            one.reason = TP_S("there is no body");
        all.obligations += one.obligations;
        all.certified += one.certified;
        if (one.grade > all.grade)
            all.grade = one.grade;
        all.proven = one.proven;
        tp_equality_join(a, &all, &one);
        all.outputs += one.outputs;
        all.replayed += one.replayed;
        all.steps += one.steps;
        all.sides += one.sides;
        all.laws |= one.laws;
        all.open |= one.open;
        if (!all.unreplayed.n)
            all.unreplayed = one.unreplayed;
        all.reason = one.reason;
        all.detail = one.detail;
        all.loc = one.loc;
    }
    all.rewriting = tp_equality_trust(a, &all);
    return all;
}
