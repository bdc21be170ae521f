/* The domain of all claims: sizes in their ranges, "where", the implicit facts. */
#include "analyzer/claim/claim.h"
#include "base/checked.h"

/* Bounds that are reached: the exact procedures work on them. */
void tp_domain_set_up(tp_analysis *a)
{
    const tp_kernel *k = a->k;
    a->vars = TP_NEWN(a->arena, tp_var, k->nsizes + k->naxes);
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *s = &k->sizes[i];
        if (s->kind == TP_SIZE_RANGE)
            a->vars[a->nvars++] = (tp_var){.sym = s->sym,
                                           .lo = num(a, tp_size_least(s)),
                                           .hi = num(a, s->max - s->max % s->multiple_of),
                                           .multiple_of = s->multiple_of,
                                           .quotient = tp_sym_new(a->p, tp_printf(a->arena, "%.*s'", TP_FMT(s->name)))};
        else if (s->kind == TP_SIZE_CHOICE)
            a->vars[a->nvars++] = (tp_var){.sym = s->sym,
                                           .lo = num(a, s->min),
                                           .hi = num(a, s->max),
                                           .multiple_of = 1,
                                           .choices = s->choices,
                                           .nchoices = s->nchoices};
    }
    a->nsizes = a->nvars;
    for (uint32_t i = 0; i < k->naxes; i++)
        a->vars[a->nvars++] = (tp_var){.sym = k->axes[i].sym,
                                       .lo = num(a, 0),
                                       .hi = mk(a, TP_E_SUB, k->axes[i].steps, num(a, 1)),
                                       .multiple_of = 1,
                                       .step = true};
    a->entries = TP_NEWN(a->arena, tp_expr, TP_MAX_READS);
    for (uint32_t i = 0; tp_has_entries(k) && i < TP_MAX_READS; i++)
        a->entries[i] = tp_sym_new(a->p, tp_printf(a->arena, "entry%u", i));
    a->bounded = TP_NEWN(a->arena, int8_t, k->ntables + k->ninputs + 1);
    tp_implicit_facts_of(a->arena, k, &a->facts);
    a->where = TP_NEWN(a->arena, tp_expr, k->nwhere);
    a->nwhere = k->nwhere;
    for (uint32_t i = 0; i < k->nwhere; i++)
        a->where[i] = k->where[i].expr;
}

/* Hostile facts (products, remainders, bits) make Z3 search for as long as it
 * may: the domain gets one query of little work. */
static tp_decision ask_solver(tp_analysis *a, const tp_obligation *o)
{
    enum { RLIMIT = 300000, SECONDS = 2 };
    uint32_t queries = 1;
    tp_prover_options options = a->o->prover;
    options.rlimit = RLIMIT;
    options.cpu_seconds = SECONDS;
    options.queries = &queries;
    tp_prover *p = tp_prover_new(a->work, a->p, &options);
    tp_decision d = tp_prove(p, o);
    tp_prover_free(p);
    return d;
}

tp_decision tp_domain_find(tp_analysis *a, unsigned facts, const tp_expr *premises, uint32_t n, bool thorough)
{
    uint32_t all = a->nwhere;
    tp_expr *list = TP_NEWN(a->arena, tp_expr, a->nwhere + a->facts.len + n + 1);
    if (a->nwhere)
        memcpy(list, a->where, a->nwhere * sizeof *list);
    for (uint32_t i = 0; i < a->facts.len; i++)
        if (a->facts.at[i].id & facts)
            list[all++] = a->facts.at[i].says;
    for (uint32_t i = 0; i < n; i++)
        list[all++] = premises[i];
    tp_obligation o = {.vars = a->vars,
                       .nvars = a->nsizes,
                       .premises = list,
                       .npremises = all,
                       .goal = num(a, 0),
                       .name = TP_RULE_EMPTY_DOMAIN "-domain"};
    if (tp_exprs_overflowed(a->p))
        return (tp_decision){.verdict = TP_UNKNOWN, .reason = TP_S("an expression is too large")};
    tp_decision d = tp_prove(a->search, &o);
    return d.verdict != TP_UNKNOWN || !thorough ? d : ask_solver(a, &o);
}

static bool holds(tp_analysis *a, tp_expr e, const int64_t *env)
{
    int64_t v;
    return tp_expr_eval(a->p, e, env, &v) == TP_EVAL_OK && v;
}

unsigned tp_domain_broken(tp_analysis *a, const int64_t *env)
{
    unsigned broken = 0;
    for (uint32_t i = 0; i < a->facts.len; i++)
        if (!holds(a, a->facts.at[i].says, env))
            broken |= a->facts.at[i].id;
    return broken;
}

bool tp_domain_has(tp_analysis *a, const int64_t *env)
{
    for (uint32_t i = 0; i < a->nsizes; i++) {
        const tp_var *x = &a->vars[i];
        int64_t v = env[x->sym], lo, hi;
        bool listed = !x->choices;
        for (uint32_t c = 0; c < x->nchoices; c++)
            listed |= x->choices[c] == v;
        if (!listed || v % x->multiple_of || tp_expr_eval(a->p, x->lo, env, &lo) != TP_EVAL_OK || v < lo ||
            tp_expr_eval(a->p, x->hi, env, &hi) != TP_EVAL_OK || v > hi)
            return false;
    }
    for (uint32_t i = 0; i < a->nwhere; i++)
        if (!holds(a, a->where[i], env))
            return false;
    return !tp_domain_broken(a, env);
}
