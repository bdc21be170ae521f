/* "Holds when …": the weakest of a few simple preconditions under which a
 * violated claim is proven. Exact proofs only: it must cost little. */
#include "analyzer/claim/claim.h"
#include "base/budget.h"
#include "base/checked.h"

enum { MAX_CANDIDATES = 96, MAX_NUMBERS = 8, MAX_SIZES = 6 };

typedef struct candidates {
    tp_analysis *a;
    const int64_t *witness;
    tp_expr at[MAX_CANDIDATES];
    uint32_t n;
    int64_t numbers[MAX_NUMBERS]; /* of the claim, ascending: block sizes, limits */
    uint32_t nnumbers;
} candidates;

static void suggest(candidates *c, tp_expr e)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (tp_same(c->at[i], e))
            return;
    int64_t value;
    bool kept = tp_expr_eval(c->a->p, e, c->witness, &value) != TP_EVAL_OK || value != 0;
    if (c->n < MAX_CANDIDATES && !kept) /* one that the witness satisfies would not exclude it */
        c->at[c->n++] = e;
}

static void collect_numbers(candidates *c, tp_expr e)
{
    int64_t v;
    if (!e.id)
        return;
    if (tp_expr_is_const(c->a->p, e, &v)) {
        uint32_t i = 0;
        while (i < c->nnumbers && c->numbers[i] < v)
            i++;
        if (v < 2 || v > 65536 || c->nnumbers == MAX_NUMBERS || (i < c->nnumbers && c->numbers[i] == v))
            return;
        memmove(&c->numbers[i + 1], &c->numbers[i], (c->nnumbers - i) * sizeof v);
        c->numbers[i] = v;
        c->nnumbers++;
        return;
    }
    const tp_expr_node n = *tp_expr_get(c->a->p, e);
    collect_numbers(c, n.a);
    collect_numbers(c, n.b);
    collect_numbers(c, n.c);
}

static bool mentions(const tp_analysis *a, const tp_claim *c, uint32_t sym)
{
    bool yes = tp_expr_mentions(a->p, c->goal, sym);
    for (uint32_t i = 0; i < c->npremises && !yes; i++)
        yes = tp_expr_mentions(a->p, c->premises[i], sym);
    for (uint32_t i = 0; i < a->nvars && c->over_steps && !yes; i++)
        yes = tp_expr_mentions(a->p, a->vars[i].hi, sym);
    for (uint32_t i = 0; i < c->nextra && !yes; i++)
        yes = tp_expr_mentions(a->p, c->extra[i].hi, sym);
    for (uint32_t i = 0; i < c->nwalk && !yes; i++)
        yes = tp_expr_mentions(a->p, c->walk[i].hi, sym);
    return yes;
}

static bool holds_with(tp_analysis *a, const tp_claim *c, tp_expr premise)
{
    tp_claim with = *c;
    tp_expr *premises = TP_NEWN(a->arena, tp_expr, c->npremises + 1);
    if (c->npremises)
        memcpy(premises, c->premises, c->npremises * sizeof *premises);
    premises[c->npremises] = premise;
    with.premises = premises;
    with.npremises = c->npremises + 1;
    return tp_claim_follows(a, &with) && /* and it must leave sizes over */
           tp_domain_find(a, TP_FACTS_ALL, &premise, 1, false).verdict == TP_VIOLATED;
}

static bool all_hold_with(tp_analysis *a, const tp_claim *c, tp_expr premise)
{
    bool all = holds_with(a, c, premise);
    for (uint32_t i = 0; i < c->nbeside && all; i++)
        all = holds_with(a, &c->beside[i], premise);
    return all;
}

static bool follows(tp_analysis *a, tp_expr from, tp_expr e)
{
    tp_claim c = {.goal = e, .premises = &from, .npremises = 1};
    return tp_claim_follows(a, &c);
}

/* A bound that leaves a sixteenth of a size's values, or one of them, or one step of an axis that is meant to have
 * more, helps nobody. */
static bool leaves_little(tp_analysis *a, tp_expr premise)
{
    enum { PART = 16 };
    const tp_expr_node n = *tp_expr_get(a->p, premise);
    int64_t bound, lo, hi, least;
    for (uint32_t i = 0; i < a->nsizes; i++)
        if (tp_same(n.a, tp_sym(a->p, a->vars[i].sym)) && tp_expr_is_const(a->p, n.b, &bound) &&
            tp_expr_is_const(a->p, a->vars[i].lo, &lo) &&
            ((n.op == TP_E_LE && bound <= lo) ||
             (n.op == TP_E_GE && tp_expr_is_const(a->p, a->vars[i].hi, &hi) && bound >= hi + 1 - (hi - lo + 1) / PART)))
            return true;
    for (uint32_t i = 0; i < a->nsizes; i++) /* one multiple */
        if (n.op == TP_E_EQ && tp_expr_get(a->p, n.a)->op == TP_E_MOD &&
            tp_same(tp_expr_get(a->p, n.a)->a, tp_sym(a->p, a->vars[i].sym)) &&
            tp_expr_is_const(a->p, tp_expr_get(a->p, n.a)->b, &bound) && tp_expr_is_const(a->p, a->vars[i].lo, &lo) &&
            tp_expr_is_const(a->p, a->vars[i].hi, &hi) && bound > 0 && lo >= 0 && tp_ceildiv(lo, bound, &least) &&
            hi / bound - least < 1)
            return true;
    for (uint32_t x = 0; x < a->k->naxes; x++) {
        tp_claim one = {.goal = mk(a, TP_E_LE, a->k->axes[x].steps, num(a, 1))};
        if (follows(a, premise, one.goal) && !tp_claim_follows(a, &one))
            return true;
    }
    return false;
}

/* Divisibility first: what people mean most often; then relations of sizes;
 * then bounds, for which the smallest case is the hint. */
static tp_str holds_when(tp_analysis *a, const tp_claim *claim, const int64_t *witness)
{
    candidates c = {.a = a, .witness = witness};
    tp_expr sizes[MAX_SIZES];
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->nsizes && n < MAX_SIZES; i++)
        if (mentions(a, claim, a->vars[i].sym))
            sizes[n++] = tp_sym(a->p, a->vars[i].sym);
    collect_numbers(&c, claim->goal);
    for (uint32_t i = 0; i < claim->npremises; i++)
        collect_numbers(&c, claim->premises[i]);
    for (uint32_t i = 0; i < a->nvars && claim->over_steps; i++)
        collect_numbers(&c, a->vars[i].hi);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            if (k != i)
                suggest(&c, multiple(a, sizes[i], sizes[k]));
    for (uint32_t k = 0; k < c.nnumbers; k++)
        for (uint32_t i = 0; i < n; i++)
            suggest(&c, multiple(a, sizes[i], num(a, c.numbers[k])));
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            if (k != i)
                suggest(&c, mk(a, TP_E_LE, sizes[i], sizes[k]));
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = i + 1; k < n; k++)
            suggest(&c, mk(a, TP_E_EQ, sizes[i], sizes[k]));
    for (uint32_t i = 0; i < n; i++) {
        int64_t v = witness[tp_expr_get(a->p, sizes[i])->value];
        suggest(&c, mk(a, TP_E_LE, sizes[i], num(a, v - 1)));
        suggest(&c, mk(a, TP_E_GE, sizes[i], num(a, v + 1)));
        for (uint32_t k = 0; k < c.nnumbers; k++)
            if (c.numbers[k] > v)
                suggest(&c, mk(a, TP_E_GE, sizes[i], num(a, c.numbers[k])));
    }
    tp_expr best = {0};
    for (uint32_t i = 0; i < c.n; i++) /* one that follows from what was found is weaker */
        if ((!best.id || follows(a, best, c.at[i])) && !leaves_little(a, c.at[i]) && all_hold_with(a, claim, c.at[i]))
            best = c.at[i];
    return tp_text(a, best);
}

typedef struct question {
    tp_analysis *a;
    const tp_claim *claim;
    const int64_t *witness;
    tp_str answer;
} question;

static void ask(void *arg)
{
    question *q = arg;
    q->answer = holds_when(q->a, q->claim, q->witness);
}

/* A hint must not cost what the rules need. */
tp_str tp_holds_when(tp_analysis *a, const tp_claim *claim, const int64_t *witness)
{
    question q = {a, claim, witness, {NULL, 0}};
    tp_share share = {0.25, "a precondition", claim->subject};
    tp_str why;
    return tp_within(a->arena, &share, ask, &q, &why) ? q.answer : (tp_str){NULL, 0};
}
