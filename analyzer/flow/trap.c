/* Small sizes at which the machine traps with the running rule. */
#include "analyzer/flow/internal.h"
#include "spec/table.h"

/* At these sizes the machine traps with the running rule, for one of a few contents of the tables, bound then. */
static bool traps(tp_analysis *a, int64_t *env, tp_trapped *out)
{
    enum { CONTENTS = 8 };
    for (uint64_t seed = 0; seed < (a->k->ntables ? CONTENTS : 1); seed++)
        if ((!a->k->ntables || tp_tables_find(a->arena, a->k, env, NULL, 0, seed, NULL)) &&
            a->o->replay(a->o->replay_ctx, a->k, env, a->rule->code, out) == 1)
            return true;
    return false;
}

enum { MOST_TRIED = 400, MOST_RUNS = 16, WIDE = 5 };

typedef struct search {
    tp_analysis *a;
    int64_t *env;
    tp_trapped *out;
    uint32_t tried, runs;
} search;

/* The value number `at` of a size, from 0. False: it has none. */
static bool set_size(const search *s, const tp_var *v, uint32_t at)
{
    int64_t lo = 0, hi = 0, m = v->multiple_of;
    if (v->choices) {
        s->env[v->sym] = v->choices[at < v->nchoices ? at : 0];
        return at < v->nchoices;
    }
    if (!tp_expr_is_const(s->a->p, v->lo, &lo) || !tp_expr_is_const(s->a->p, v->hi, &hi))
        return false;
    s->env[v->sym] = ((lo + m - 1) / m + (int64_t)at) * m;
    return s->env[v->sym] <= hi;
}

/* Sizes from number i on, that lie `left` values above their least ones in all: do some trap? */
static bool some_trap(search *s, uint32_t i, uint32_t left)
{
    if (i == s->a->nsizes)
        return !left && s->tried++ < MOST_TRIED && tp_domain_has(s->a, s->env) && s->runs++ < MOST_RUNS &&
               traps(s->a, s->env, s->out);
    bool found = false;
    for (uint32_t at = 0; !found && at <= left && at < WIDE && s->tried < MOST_TRIED && s->runs < MOST_RUNS; at++)
        found = set_size(s, &s->a->vars[i], at) && some_trap(s, i + 1, left - at);
    return found;
}

bool flow_find_trap(tp_analysis *a, int64_t *env, tp_trapped *out)
{
    search s = {.a = a, .env = env, .out = out};
    bool found = false;
    for (uint32_t above = 0; a->o->replay && !found && above < WIDE + a->nsizes; above++)
        found = some_trap(&s, 0, above);
    return found;
}
