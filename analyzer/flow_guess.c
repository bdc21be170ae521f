/* Guesses: what may be undefined at the head of any step or iteration. */
#include "analyzer/flow_internal.h"

enum { PROOF_EFFORT = 20000 }; /* a proof in units of compared conjuncts */

/* Is every lane that `leak` speaks of already covered by `known`, with the same source? */
static bool covered(flow *f, const tp_leaks *known, const tp_leak *leak, uint32_t rank, const tp_expr *dims)
{
    tp_expr premises[192], parts[64], theirs[64];
    uint32_t n = tp_conjuncts(f->a, leak->when, parts, 64);
    tp_claim c = {.goal = tp_const(f->a->p, 0), .over_steps = true, .premises = premises};
    c.npremises = tp_conjuncts(f->a, f->path, premises, 64);
    memcpy(premises + c.npremises, parts, n * sizeof *parts);
    c.npremises += n;
    for (uint32_t i = 0; i < known->len; i++) {
        const tp_leak *k = &known->at[i];
        if (k->birth != leak->birth || k->operand != leak->operand || k->dim != leak->dim || k->stored != leak->stored)
            continue;
        uint32_t m = tp_conjuncts(f->a, k->when, theirs, 64), found = 0;
        for (uint32_t a = 0; a < m; a++)
            for (uint32_t b = 0; b < n; b++)
                if (tp_same(theirs[a], parts[b])) {
                    found++;
                    break;
                }
        if (found == m)
            return true;
        if (c.npremises < 190)
            premises[c.npremises++] = flow_guard(f, k->when, true);
    }
    c.extra = tp_flow_vars(f->a, f->out, rank, dims, &c.nextra);
    f->effort += PROOF_EFFORT;
    return tp_claim_decide(f->a, &c).verdict == TP_PROVEN;
}

flow_freedom_kind flow_freedom(int round)
{
    return round < 3 ? KEEP_LANES : round < 6 ? KEEP_FIXED : KEEP_NOTHING;
}

static tp_expr freed(flow *f, tp_expr when, const bool *changing, flow_freedom_kind how)
{
    tp_expr parts[64], result = flow_yes(f);
    uint32_t n = tp_conjuncts(f->a, when, parts, 64);
    bool *lanes = flow_lane_marks(f), *existential = TP_NEWN(f->a->arena, bool, tp_sym_count(f->a->p));
    for (uint32_t i = 0; i < f->out->vars.len; i++)
        existential[f->out->vars.at[i].sym] = !f->counters.at[i];
    for (uint32_t i = 0; i < n && how != KEEP_NOTHING; i++) {
        bool changes = flow_mentions(f, parts[i], changing);
        if (!flow_mentions(f, parts[i], existential) &&
            (!changes || (how == KEEP_LANES && flow_mentions(f, parts[i], lanes))))
            result = flow_and(f, result, parts[i]);
    }
    return result;
}

/* Add to the guess what it does not cover yet. True when something was added. */
bool flow_weaken(flow *f, tp_leaks *guess, const tp_leaks *found, const bool *changing, uint32_t rank,
                 const tp_expr *dims, flow_freedom_kind how)
{
    bool added = false;
    for (uint32_t i = 0; i < found->len && f->effort <= FLOW_MAX_EFFORT; i++) { /* the next statement gives up */
        tp_leak l = found->at[i];
        if (covered(f, guess, &l, rank, dims))
            continue;
        l.when = freed(f, l.when, changing, how);
        l.exact = false;
        flow_add(f, guess, l);
        added = true;
    }
    return added;
}
