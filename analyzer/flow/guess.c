/* Guesses: what may be undefined at the head of any step or iteration. */
#include <stdlib.h>

#include "analyzer/flow/internal.h"

enum { CONJUNCTS = 64, KNOWN = 64, PROOF_EFFORT = 100000 /* a proof in units of compared conjuncts */, MAX_SPLITS = 4 };

/* Do the premises, that a lane is undefined among them, contradict each other? Rounds ask the same again. */
static bool contradict(flow *f, tp_claim *c, tp_birth birth)
{
    tp_obligation o = tp_claim_obligation(f->a, c);
    uint32_t n = c->npremises, *key = TP_NEWN(f->a->arena, uint32_t, n + 3 * (o.nvars - f->a->nvars)), i = 0;
    for (uint32_t k = 0; k < n; k++)
        key[k] = c->premises[k].id;
    qsort(key, n, sizeof *key, flow_by_number);
    for (uint32_t k = f->a->nvars; k < o.nvars; k++) {
        key[n++] = o.vars[k].sym;
        key[n++] = o.vars[k].lo.id;
        key[n++] = o.vars[k].hi.id;
    }
    while (i < f->queries.len && (f->queries.at[i].n != n || memcmp(f->queries.at[i].key, key, n * sizeof *key) != 0))
        i++;
    if (i == f->queries.len) {
        flow_query q = {.key = key, .n = n, .yes = tp_claim_decide(f->a, c).verdict == TP_PROVEN};
        f->out->given |= q.yes ? c->given : 0;
        q.basis = q.yes ? tp_claim_basis(f->a, c) : TP_S("");
        c->given = 0;
        c->held = TP_S("");
        tp_push(f->a->arena, f->queries, q);
    }
    tp_str *basis = &f->out->covered[birth];
    *basis = tp_basis_join(f->a->arena, *basis, f->queries.at[i].basis);
    return f->queries.at[i].yes;
}

tp_str flow_basis(tp_analysis *a, const tp_flow *f, unsigned births)
{
    tp_str all = tp_basis_join(a->arena, tp_str_c(tp_fact_names(f->given)), f->held);
    births |= f->kept.len ? 1 << TP_BIRTH_SCRATCH : 0; /* what is defined there has a meaning */
    for (unsigned b = 0; b < TP_BIRTHS; b++)
        all = births >> b & 1 ? tp_basis_join(a->arena, all, f->covered[b]) : all;
    return all;
}

/* Is every lane that `leak` speaks of already covered by `known`, with the same source? A leak that no step has whose
 * windows meet their arrays is: where TP101 fails at some step, other rules do not speak. Behind the guess nobody could
 * tell any more: a later step knows of its own windows only. */
static bool is_covered(flow *f, const tp_leaks *known, const tp_leak *leak, uint32_t rank, const tp_expr *dims)
{
    tp_expr premises[2 * CONJUNCTS + KNOWN + TP_GRANTED], parts[CONJUNCTS], theirs[CONJUNCTS];
    uint32_t n = tp_conjuncts(f->a, leak->when, parts, CONJUNCTS);
    tp_claim c = {.goal = tp_const(f->a->p, 0), .over_steps = true, .premises = premises, .any_case = true};
    c.only_proof = f->out->kept.len;
    c.npremises = tp_conjuncts(f->a, f->path, premises, CONJUNCTS);
    memcpy(premises + c.npremises, parts, n * sizeof *parts);
    c.npremises += n;
    uint32_t windows = tp_meeting_windows(f->a, true, premises + c.npremises);
    c.npremises += windows;
    c.rests_on = windows ? TP_RULE_BLOCK_OUT_OF_BOUNDS : NULL;
    for (uint32_t i = 0; i < known->len; i++) {
        const tp_leak *k = &known->at[i];
        if (k->birth != leak->birth || k->operand != leak->operand || k->dim != leak->dim || k->stored != leak->stored)
            continue;
        uint32_t m = tp_conjuncts(f->a, k->when, theirs, CONJUNCTS), found = 0;
        for (uint32_t a = 0; a < m; a++)
            for (uint32_t b = 0; b < n; b++)
                if (tp_same(theirs[a], parts[b])) {
                    found++;
                    break;
                }
        if (found == m)
            return true;
        if (c.npremises < sizeof premises / sizeof *premises)
            premises[c.npremises++] = flow_guard(f, k->when, true);
    }
    tp_flow_vars(f->a, f->out, rank, dims, &c);
    f->effort += PROOF_EFFORT;
    return contradict(f, &c, leak->birth);
}

void flow_drop_impossible(flow *f, tp_leaks *leaks, uint32_t rank, const tp_expr *dims)
{
    static const tp_leaks none = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < leaks->len; i++)
        if (f->effort > FLOW_MAX_EFFORT / 2 || !is_covered(f, &none, &leaks->at[i], rank, dims))
            leaks->at[count++] = leaks->at[i];
    leaks->len = count;
}

tp_leaks flow_within(flow *f, const tp_leaks *leaks, tp_expr condition)
{
    tp_leaks some = {0};
    for (uint32_t i = 0; i < leaks->len; i++)
        if (!flow_is_false(f, flow_and(f, leaks->at[i].when, condition)))
            flow_add(f, &some, leaks->at[i]);
    return some.len == leaks->len ? *leaks : some;
}

flow_freedom_kind flow_freedom(int round)
{
    return round < 3 ? KEEP_LANES : round < 6 ? KEEP_FIXED : KEEP_NOTHING;
}

/* Lanes, and axes that stay as they are while others change: `k != i` for a block of row i is a step before or after.
 */
static bool *steady(flow *f, const bool *changing)
{
    bool *marks = flow_lane_marks(f);
    for (uint32_t a = 0; a < f->k->naxes; a++)
        marks[f->k->axes[a].sym] |= !changing[f->k->axes[a].sym];
    return marks;
}

enum { MOST_PHASES = 4 };

/* An axis of few steps, each of which does something else. */
static bool is_phase(const flow *f, uint32_t axis)
{
    int64_t steps;
    return tp_expr_is_const(f->a->p, f->k->axes[axis].steps, &steps) && steps <= MOST_PHASES;
}

/* `phase == 1`, and `j == 0` of an axis behind such a one: what one phase sets, the steps before that one may leave
 * undefined, and all later ones find defined. */
static bool is_of_phase(flow *f, tp_expr part)
{
    const tp_expr_node n = *tp_expr_get(f->a->p, part);
    tp_poly *d = TP_NEW(f->a->arena, tp_poly);
    bool behind = false;
    if (n.op != TP_E_EQ)
        return false;
    tp_poly_of(f->a->p, tp_op2(f->a->p, TP_E_SUB, n.a, n.b), d);
    for (uint32_t a = 0; a < f->k->naxes && d->ok; a++) {
        bool phase = is_phase(f, a);
        for (uint32_t i = 0; i < d->n && (phase || behind); i++)
            if (d->terms[i].degree == 1 && tp_same(d->terms[i].factors[0], tp_sym(f->a->p, f->k->axes[a].sym)))
                return d->n == 1 || (phase && d->n == 2 && d->terms[!i].degree == 0);
        behind |= phase;
    }
    return false;
}

static tp_expr without_changing(flow *f, const tp_leak *l, const bool *changing, flow_freedom_kind how)
{
    tp_expr had[CONJUNCTS], parts[CONJUNCTS], result = flow_yes(f);
    tp_expr when = l->when;
    bool *lanes = steady(f, changing), *existential = TP_NEWN(f->a->arena, bool, tp_sym_count(f->a->p));
    for (uint32_t i = 0; i < f->out->vars.len; i++)
        existential[f->out->vars.at[i].sym] = !f->counters.at[i];
    uint32_t before = tp_conjuncts(f->a, when, had, CONJUNCTS),
             n = tp_conjuncts(f->a, flow_eliminate(f, when, existential), parts, CONJUNCTS);
    bool unwritten = l->birth == TP_BIRTH_SCRATCH || l->birth == TP_BIRTH_OUTPUT;
    for (uint32_t i = 0; i < n && how != KEEP_NOTHING; i++) {
        bool of_lanes = flow_mentions(f, parts[i], lanes) || !tp_is_among(parts[i], had, before);
        if ((how == KEEP_LANES && (of_lanes || (unwritten && is_of_phase(f, parts[i])))) ||
            !flow_mentions(f, parts[i], changing))
            result = flow_and(f, result, parts[i]);
    }
    return result;
}

/* The arms of a condition on a lane (or another steady thing) and a counter: `lane != row` is a lane before the row or
 * one after it. */
static uint32_t arms_of(flow *f, tp_expr part, const bool *changing, tp_expr *arms)
{
    tp_exprs *p = f->a->p;
    const tp_expr_node n = *tp_expr_get(p, part);
    bool *lanes = steady(f, changing);
    if ((n.op != TP_E_OR && n.op != TP_E_NE) || !flow_mentions(f, part, changing) || !flow_mentions(f, part, lanes))
        return 0;
    arms[0] = n.op == TP_E_OR ? n.a : flow_compare(f, TP_E_LT, n.a, n.b);
    arms[1] = n.op == TP_E_OR ? n.b : flow_compare(f, TP_E_GT, n.a, n.b);
    return 2;
}

static bool weaken_by(flow *f, tp_leaks *guess, tp_leak l, const bool *changing, uint32_t rank, const tp_expr *dims,
                      flow_freedom_kind how, int depth)
{
    tp_expr parts[CONJUNCTS], arms[2];
    if (is_covered(f, guess, &l, rank, dims))
        return false;
    uint32_t n = tp_conjuncts(f->a, l.when, parts, CONJUNCTS);
    for (uint32_t i = 0; i < n && how == KEEP_LANES && depth < MAX_SPLITS; i++) {
        if (!arms_of(f, parts[i], changing, arms))
            continue;
        tp_expr rest = flow_yes(f);
        for (uint32_t k = 0; k < n; k++)
            if (k != i)
                rest = flow_and(f, rest, parts[k]);
        bool changed = false;
        for (int k = 0; k < 2; k++) {
            l.when = flow_and(f, rest, arms[k]);
            changed |= !flow_is_false(f, l.when) && weaken_by(f, guess, l, changing, rank, dims, how, depth + 1);
        }
        return changed;
    }
    l.when = without_changing(f, &l, changing, how);
    l.exact = false;
    flow_add(f, guess, l);
    return true;
}

/* Add to the guess what it does not cover yet. True when something was added. */
bool flow_weaken(flow *f, tp_leaks *guess, const tp_leaks *found, const bool *changing, uint32_t rank,
                 const tp_expr *dims, flow_freedom_kind how)
{
    bool changed = false;
    for (uint32_t i = 0; i < found->len && f->effort <= FLOW_MAX_EFFORT; i++) /* the next statement gives up */
        changed |= weaken_by(f, guess, found->at[i], changing, rank, dims, how, 0);
    return changed;
}
