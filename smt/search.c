/* Counterexamples by trying small cases, in exact integer arithmetic. */
#include <stdlib.h>

#include "base/checked.h"
#include "smt/internal.h"

enum { MAX_CANDIDATES = 40, STEP_CANDIDATES = 8, STEP_CONSTANTS = 6 };

typedef struct candidates {
    int64_t at[MAX_CANDIDATES];
    uint32_t n;
} candidates;

static bool in_bounds(const tp_prover *v, const tp_var *x, const int64_t *env)
{
    int64_t b, value = env[x->sym];
    if (x->lo.id && (tp_expr_eval(v->p, x->lo, env, &b) != TP_EVAL_OK || value < b))
        return false;
    if (x->hi.id && (tp_expr_eval(v->p, x->hi, env, &b) != TP_EVAL_OK || value > b))
        return false;
    if (x->multiple_of > 1 && value % x->multiple_of != 0)
        return false;
    for (uint32_t i = 0; x->choices && i < x->nchoices; i++)
        if (x->choices[i] == value)
            return true;
    return !x->choices;
}

/* At one point inside the bounds: 1 holds, 0 fails, -1 a premise or the goal
 * has no value (division by zero, overflow of 64 bits), which counts for nothing. */
static int holds_at(const tp_prover *v, const tp_obligation *o, const int64_t *env)
{
    int64_t value;
    for (uint32_t i = 0; i < o->npremises; i++) {
        if (tp_expr_eval(v->p, o->premises[i], env, &value) != TP_EVAL_OK)
            return -1;
        if (!value)
            return 1;
    }
    return tp_expr_eval(v->p, o->goal, env, &value) == TP_EVAL_OK ? value != 0 : -1;
}

bool tp_refutes(const tp_prover *v, const tp_obligation *o, const int64_t *env)
{
    for (uint32_t i = 0; i < o->nvars; i++)
        if (!in_bounds(v, &o->vars[i], env))
            return false;
    return holds_at(v, o, env) == 0;
}

static void add(candidates *c, const tp_var *x, tp_interval range, int64_t value)
{
    if (x->multiple_of > 1) { /* round up to the next multiple */
        int64_t q;
        if (!tp_ceildiv(value, x->multiple_of, &q) || !tp_mul(q, x->multiple_of, &value))
            return;
    }
    if (value < range.lo || value > range.hi)
        return;
    uint32_t at = c->n;
    while (at > 0 && c->at[at - 1] > value)
        at--;
    if ((at > 0 && c->at[at - 1] == value) || c->n == MAX_CANDIDATES)
        return;
    memmove(&c->at[at + 1], &c->at[at], (c->n - at) * sizeof *c->at);
    c->at[at] = value;
    c->n++;
}

typedef TP_VEC(int64_t) numbers;

static void constants_of(tp_prover *v, tp_expr e, numbers *into)
{
    const tp_expr_node *n = tp_expr_get(v->p, e);
    if (!e.id || into->len >= 24)
        return;
    if (n->op == TP_E_CONST) {
        for (uint32_t i = 0; i < into->len; i++)
            if (into->at[i] == n->value)
                return;
        if (n->value > 1)
            tp_push(v->scratch, *into, n->value);
        return;
    }
    constants_of(v, n->a, into);
    constants_of(v, n->b, into);
    constants_of(v, n->c, into);
}

/* Values worth trying for one size: the least ones, the edges of every
 * constant in sight, powers of two, the greatest. */
static candidates choose(tp_prover *v, const tp_obligation *o, const tp_var *x, const numbers *constants)
{
    candidates c = {.n = 0};
    tp_interval range = tp_interval_of(v, o, tp_sym(v->p, x->sym));
    if (x->choices) {
        for (uint32_t i = 0; i < x->nchoices && i < MAX_CANDIDATES; i++)
            c.at[c.n++] = x->choices[i];
        return c;
    }
    int64_t least = range.lo == INT64_MIN ? 0 : range.lo, by = range.lo == INT64_MIN ? 1 : x->multiple_of;
    for (int i = 0; i < 4; i++) {
        add(&c, x, range, least);
        if (!tp_add(least, by, &least))
            break;
    }
    for (uint32_t i = 0; i < constants->len && c.n < MAX_CANDIDATES - 12; i++)
        for (int64_t d = -1; d <= 1 && constants->at[i] < INT64_MAX / 4; d++)
            add(&c, x, range, constants->at[i] + d);
    for (int64_t p = 2; p <= ((int64_t)1 << 31) && c.n < MAX_CANDIDATES - 1; p *= p < 16 ? 2 : 8)
        add(&c, x, range, p);
    if (range.hi != INT64_MAX)
        add(&c, x, range, x->multiple_of > 1 ? range.hi / x->multiple_of * x->multiple_of : range.hi);
    return c;
}

/* A premise, and how much its left side less its right one grows by its last step, where that is a constant and it
 * compares; else 0. */
typedef struct ready_premise {
    tp_expr premise;
    int64_t slope;
} ready_premise;

typedef struct search {
    tp_prover *v;
    const tp_obligation *o;
    int64_t *env;
    candidates *choice; /* per variable; unused for steps */
    bool *used;
    ready_premise **ready;             /* by_last(), of steps */
    int64_t constants[STEP_CONSTANTS]; /* worth trying for steps too */
    uint32_t nconstants;
    int budget;
} search;

/* Does a premise fail whose variables are all set once steps below `n` are? */
static bool is_excluded(const search *s, uint32_t n)
{
    int64_t value;
    for (const ready_premise *x = s->ready[n]; x < s->ready[n + 1]; x++)
        if (tp_expr_eval(s->v->p, x->premise, s->env, &value) == TP_EVAL_OK && !value)
            return true;
    return false;
}

/* By how much e grows when `sym` grows by 1, where that is a constant. */
static bool slope_of(const tp_exprs *p, tp_expr e, uint32_t sym, int64_t *slope)
{
    const tp_expr_node *n = tp_expr_get(p, e);
    int64_t a, b;
    *slope = n->op == TP_E_SYM && (uint32_t)n->value == sym;
    if (*slope || !tp_expr_mentions(p, e, sym))
        return true;
    if (n->op == TP_E_NEG)
        return slope_of(p, n->a, sym, &a) && tp_sub(0, a, slope);
    if (n->op == TP_E_ADD || n->op == TP_E_SUB)
        return slope_of(p, n->a, sym, &a) && slope_of(p, n->b, sym, &b) &&
               (n->op == TP_E_ADD ? tp_add(a, b, slope) : tp_sub(a, b, slope));
    if (n->op != TP_E_MUL)
        return false;
    return tp_expr_is_const(p, n->a, &a)   ? slope_of(p, n->b, sym, &b) && tp_mul(a, b, slope)
           : tp_expr_is_const(p, n->b, &b) ? slope_of(p, n->a, sym, &a) && tp_mul(a, b, slope)
                                           : false;
}

static int64_t premise_slope(const tp_exprs *p, tp_expr premise, uint32_t sym)
{
    const tp_expr_node *n = tp_expr_get(p, premise);
    int64_t a, b, slope;
    bool compares = n->op == TP_E_EQ || (n->op >= TP_E_LT && n->op <= TP_E_GE);
    return compares && slope_of(p, n->a, sym, &a) && slope_of(p, n->b, sym, &b) && tp_sub(a, b, &slope) ? slope : 0;
}

/* slope * x + rest >= 0 */
static void bound_by(int64_t slope, int64_t rest, int64_t *lo, int64_t *hi)
{
    int64_t least, most;
    if (slope > 0 && tp_sub(0, rest, &least) && tp_ceildiv(least, slope, &least) && least > *lo)
        *lo = least;
    if (slope < 0 && tp_sub(0, slope, &slope) && tp_floordiv(rest, slope, &most) && most < *hi)
        *hi = most;
}

/* What premises leave of the range of variable i, those before it being set: a lane that is the counter of a loop has
 * one value, which no list of values worth trying has. */
static void narrow(const search *s, uint32_t i, int64_t *lo, int64_t *hi)
{
    const tp_exprs *p = s->v->p;
    s->env[s->o->vars[i].sym] = 0;
    for (const ready_premise *x = s->ready[i + 1]; x < s->ready[i + 2]; x++) {
        const tp_expr_node *n = tp_expr_get(p, x->premise);
        int64_t a, b, rest, slope = x->slope;
        if (!slope || tp_expr_eval(p, n->a, s->env, &a) != TP_EVAL_OK ||
            tp_expr_eval(p, n->b, s->env, &b) != TP_EVAL_OK || !tp_sub(a, b, &rest))
            continue;
        bool strict = n->op == TP_E_LT || n->op == TP_E_GT;
        int64_t opposite, shifted;
        if ((n->op == TP_E_EQ || n->op == TP_E_GE || n->op == TP_E_GT) && tp_sub(rest, strict, &shifted))
            bound_by(slope, shifted, lo, hi);
        if ((n->op == TP_E_EQ || n->op == TP_E_LE || n->op == TP_E_LT) && tp_sub(0, rest, &opposite) &&
            tp_sub(opposite, strict, &opposite) && tp_sub(0, slope, &slope))
            bound_by(slope, opposite, lo, hi);
    }
}

static bool try_steps(search *s, uint32_t i)
{
    const tp_obligation *o = s->o;
    while (i < o->nvars && (!o->vars[i].step || !s->used[i])) {
        if (o->vars[i].step)
            s->env[o->vars[i].sym] = 0;
        i++;
    }
    if (i >= o->nvars) {
        int64_t value;
        s->budget--;
        /* premises were looked at on the way: of most cases the goal holds */
        return tp_expr_eval(s->v->p, o->goal, s->env, &value) == TP_EVAL_OK && !value && tp_refutes(s->v, o, s->env);
    }
    const tp_var *x = &o->vars[i];
    int64_t lo, hi, tried[STEP_CANDIDATES + STEP_CONSTANTS];
    int n = 0;
    if (tp_expr_eval(s->v->p, x->lo, s->env, &lo) != TP_EVAL_OK ||
        tp_expr_eval(s->v->p, x->hi, s->env, &hi) != TP_EVAL_OK)
        return false;
    narrow(s, i, &lo, &hi);
    if (lo > hi)
        return false;
    int64_t values[STEP_CANDIDATES + STEP_CONSTANTS] = {lo,     lo + 1, lo + 2, lo + 3, lo + (hi / 2 - lo / 2),
                                                        hi - 2, hi - 1, hi};
    if (lo < 0 && hi >= 0) { /* an entry of a table: around zero */
        int64_t around[] = {0, 1, 2, -1, 3, lo, hi - 1, hi};
        memcpy(values, around, sizeof around);
    }
    memcpy(values + STEP_CANDIDATES, s->constants, sizeof s->constants);
    for (int k = 0; k < STEP_CANDIDATES + (int)s->nconstants && s->budget > 0; k++) {
        bool seen = values[k] < lo || values[k] > hi;
        for (int j = 0; j < n; j++)
            seen |= tried[j] == values[k];
        if (seen)
            continue;
        tried[n++] = values[k];
        s->env[x->sym] = values[k];
        s->budget--;
        tp_spend(s->v->scratch, 4);
        if (!is_excluded(s, i + 1) && try_steps(s, i + 1))
            return true;
    }
    return false;
}

/* All size tuples whose candidate numbers add up to `level`. */
static bool try_sizes(search *s, uint32_t i, uint32_t level)
{
    const tp_obligation *o = s->o;
    tp_spend(s->v->scratch, 4 + o->nvars);
    while (i < o->nvars && (o->vars[i].step || !s->used[i]))
        i++;
    if (i >= o->nvars)
        return level == 0 && !is_excluded(s, 0) && try_steps(s, 0);
    uint32_t rest = 0; /* what later sizes can take at most */
    for (uint32_t k = i + 1; k < o->nvars; k++)
        if (!o->vars[k].step && s->used[k])
            rest += s->choice[k].n - 1;
    for (uint32_t k = level > rest ? level - rest : 0; k < s->choice[i].n && k <= level && s->budget > 0; k++) {
        s->env[o->vars[i].sym] = s->choice[i].at[k];
        if (try_sizes(s, i + 1, level - k))
            return true;
    }
    return false;
}

static bool is_mentioned(const tp_prover *v, const tp_obligation *o, uint32_t sym)
{
    if (tp_expr_mentions(v->p, o->goal, sym))
        return true;
    for (uint32_t i = 0; i < o->npremises; i++)
        if (tp_expr_mentions(v->p, o->premises[i], sym))
            return true;
    for (uint32_t i = 0; i < o->nvars; i++)
        if ((o->vars[i].hi.id && tp_expr_mentions(v->p, o->vars[i].hi, sym)) ||
            (o->vars[i].lo.id && tp_expr_mentions(v->p, o->vars[i].lo, sym)))
            return true;
    return false;
}

/* Least allowed values, so that variables nobody mentions have one. */
static void set_defaults(tp_prover *v, const tp_obligation *o, int64_t *env)
{
    for (uint32_t i = 0; i < o->nvars; i++) {
        const tp_var *x = &o->vars[i];
        int64_t lo = 0, q;
        if (x->choices)
            lo = x->choices[0];
        else if (x->lo.id && tp_expr_eval(v->p, x->lo, env, &lo) == TP_EVAL_OK && x->multiple_of > 1 &&
                 tp_ceildiv(lo, x->multiple_of, &q) && tp_mul(q, x->multiple_of, &q))
            lo = q;
        env[x->sym] = lo;
    }
}

/* The number of the last variable (step: of those that are steps) that x mentions, from 1; 0: none. */
static uint32_t last_of(const tp_prover *v, const tp_obligation *o, tp_expr x, bool step)
{
    uint32_t n = o->nvars;
    while (n > 0 && ((step && !o->vars[n - 1].step) || !tp_expr_mentions(v->p, x, o->vars[n - 1].sym)))
        n--;
    return n;
}

/* [n] to [n + 1]: premises whose last variable, or step, is the n-th. */
static ready_premise **by_last(tp_prover *v, const tp_obligation *o, bool step)
{
    ready_premise **ready = TP_NEWN(v->scratch, ready_premise *, o->nvars + 2);
    ready_premise *at = TP_NEWN(v->scratch, ready_premise, o->npremises + 1);
    uint32_t *last = TP_NEWN(v->scratch, uint32_t, o->npremises + 1);
    for (uint32_t k = 0; k < o->npremises; k++)
        last[k] = last_of(v, o, o->premises[k], step);
    for (uint32_t n = 0; n <= o->nvars; n++) {
        ready[n] = at;
        for (uint32_t k = 0; k < o->npremises; k++)
            if (last[k] == n)
                *at++ = (ready_premise){.premise = o->premises[k]};
    }
    ready[o->nvars + 1] = at;
    return ready;
}

static search search_new(tp_prover *v, const tp_obligation *o, int64_t *env)
{
    search s = {.v = v, .o = o, .env = env};
    numbers constants = {0};
    s.choice = TP_NEWN(v->scratch, candidates, o->nvars);
    s.used = TP_NEWN(v->scratch, bool, o->nvars);
    s.ready = by_last(v, o, true);
    for (uint32_t n = 1; n <= o->nvars && o->any_case; n++)
        for (ready_premise *x = s.ready[n]; x < s.ready[n + 1]; x++)
            x->slope = premise_slope(v->p, x->premise, o->vars[n - 1].sym);
    constants_of(v, o->goal, &constants);
    for (uint32_t i = 0; i < o->npremises; i++)
        constants_of(v, o->premises[i], &constants);
    for (uint32_t i = 0; i < o->nvars; i++)
        if (o->vars[i].hi.id && o->vars[i].step)
            constants_of(v, o->vars[i].hi, &constants);
    for (uint32_t i = 0; i < constants.len && s.nconstants < STEP_CONSTANTS; i++)
        if (constants.at[i] > 3)
            s.constants[s.nconstants++] = constants.at[i];
    set_defaults(v, o, env);
    for (uint32_t i = 0; i < o->nvars; i++) {
        s.used[i] = is_mentioned(v, o, o->vars[i].sym);
        if (!o->vars[i].step)
            s.choice[i] = choose(v, o, &o->vars[i], &constants);
        if (!o->vars[i].step && s.choice[i].n == 0)
            s.choice[i] = (candidates){.at = {env[o->vars[i].sym]}, .n = 1};
    }
    return s;
}

bool tp_search(tp_prover *v, const tp_obligation *o, int budget, int64_t *env)
{
    search s = search_new(v, o, env);
    s.budget = budget;
    uint32_t levels = 1;
    for (uint32_t i = 0; i < o->nvars; i++)
        if (!o->vars[i].step && s.used[i])
            levels += s.choice[i].n - 1;
    for (uint32_t level = 0; level < levels && s.budget > 0; level++)
        if (try_sizes(&s, 0, level))
            return true;
    return false;
}

void tp_remember_case(tp_prover *v, const int64_t *env)
{
    tp_past_cases *past = &v->past;
    uint32_t n = tp_sym_count(v->p), at = past->n++ % TP_PAST_CASES;
    if (past->nsyms[at] < n)
        past->env[at] = TP_NEWN(v->arena, int64_t, n);
    past->nsyms[at] = n;
    memcpy(past->env[at], env, n * sizeof *env);
}

bool tp_refuted_before(const tp_prover *v, const tp_obligation *o, int64_t *env)
{
    const tp_past_cases *past = &v->past;
    for (uint32_t k = 0; k < past->n && k < TP_PAST_CASES; k++) {
        uint32_t at = (past->n - 1 - k) % TP_PAST_CASES;
        memcpy(env, past->env[at], past->nsyms[at] * sizeof *env);
        if (tp_refutes(v, o, env))
            return true;
    }
    return false;
}

/* Steps at sizes that the caller set. */
static bool try_these_sizes(search *s)
{
    enum { BUDGET = 60 };
    const tp_obligation *o = s->o;
    for (uint32_t i = 0; i < o->nvars; i++)
        if (!o->vars[i].step && !in_bounds(s->v, &o->vars[i], s->env))
            return false;
    s->budget = BUDGET;
    tp_spend(s->v->scratch, 4 + o->nvars);
    return !is_excluded(s, 0) && try_steps(s, 0);
}

bool tp_search_near(tp_prover *v, const tp_obligation *o, int64_t *env)
{
    const tp_past_cases *past = &v->past;
    if (!past->n)
        return false;
    search s = search_new(v, o, env);
    int64_t *least = TP_NEWN(v->scratch, int64_t, tp_sym_count(v->p));
    memcpy(least, env, tp_sym_count(v->p) * sizeof *env);
    for (uint32_t k = 0; k < past->n && k < TP_PAST_CASES; k++) {
        uint32_t at = (past->n - 1 - k) % TP_PAST_CASES;
        for (uint32_t i = 0; i < o->nvars; i++) {
            uint32_t sym = o->vars[i].sym;
            env[sym] = o->vars[i].step || !s.used[i] || sym >= past->nsyms[at] ? least[sym] : past->env[at][sym];
        }
        if (try_these_sizes(&s))
            return true;
        for (uint32_t i = 0; i < o->nvars; i++) {
            int64_t *size = &env[o->vars[i].sym], was = *size, by = o->vars[i].multiple_of;
            for (int side = -1; side <= 1 && !o->vars[i].step && !o->vars[i].choices && s.used[i]; side += 2) {
                if (tp_add(was, side * by, size) && try_these_sizes(&s))
                    return true;
                *size = was;
            }
        }
    }
    return false;
}

/* Is there a counterexample at these sizes? Keeps the steps found. */
static bool fails_at_sizes(search *s, int64_t *env, uint32_t n)
{
    int64_t *keep = TP_NEWN(s->v->scratch, int64_t, n);
    memcpy(keep, env, n * sizeof *env);
    s->budget = 500;
    if (try_steps(s, 0))
        return true;
    memcpy(env, keep, n * sizeof *env);
    return false;
}

void tp_minimise(tp_prover *v, const tp_obligation *o, int64_t *env)
{
    uint32_t n = tp_sym_count(v->p);
    int64_t *trial = TP_NEWN(v->scratch, int64_t, n);
    search s = search_new(v, o, trial);
    memcpy(trial, env, n * sizeof *env);
    if (!fails_at_sizes(&s, trial, n))
        return; /* the steps of a solver's model may not be among ours */
    memcpy(env, trial, n * sizeof *env);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < o->nvars; i++) {
            const tp_var *x = &o->vars[i];
            if (x->step || !s.used[i])
                continue;
            for (uint32_t k = 0; k < s.choice[i].n && s.choice[i].at[k] < env[x->sym]; k++) {
                memcpy(trial, env, n * sizeof *env);
                trial[x->sym] = s.choice[i].at[k];
                if (fails_at_sizes(&s, trial, n)) {
                    memcpy(env, trial, n * sizeof *env);
                    break;
                }
            }
            int64_t low = x->choices ? env[x->sym] : tp_interval_of(v, o, tp_sym(v->p, x->sym)).lo, high = env[x->sym],
                    span;
            while (low < high && tp_sub(high, low, &span)) { /* the least failing value if failing is monotone */
                int64_t mid = low + span / 2 / x->multiple_of * x->multiple_of;
                memcpy(trial, env, n * sizeof *env);
                trial[x->sym] = mid;
                if (mid % x->multiple_of == 0 && fails_at_sizes(&s, trial, n)) {
                    memcpy(env, trial, n * sizeof *env);
                    high = mid;
                } else {
                    low = mid + 1;
                }
            }
        }
}

/* ---- exhaustive enumeration ---- */

typedef struct enumeration {
    tp_prover *v;
    const tp_obligation *o;
    bool *used;
    ready_premise **ready; /* by_last(), of all variables */
    uint32_t goal;         /* the same of the goal */
    int64_t budget, *env;
} enumeration;

/* The first n variables are set. 1: whatever the others are, the obligation holds there, by a premise that is false or
 * by the goal; -1: a premise has no value; 0: the others decide. A domain is left before the bounds of later
 * variables are asked, which may have a value inside it only. */
static int decide_early(const enumeration *e, uint32_t n)
{
    int64_t value;
    int r = 0;
    for (const ready_premise *x = e->ready[n]; x < e->ready[n + 1]; x++) {
        if (tp_expr_eval(e->v->p, x->premise, e->env, &value) != TP_EVAL_OK)
            r = -1;
        else if (!value)
            return 1;
    }
    return e->goal == n && tp_expr_eval(e->v->p, e->o->goal, e->env, &value) == TP_EVAL_OK && value ? 1 : r;
}

static bool is_choice(const tp_prover *v, const tp_var *x, const int64_t *env, int64_t value)
{
    return x->choices ? in_bounds(v, x, env) : x->multiple_of <= 1 || value % x->multiple_of == 0;
}

/* `open`: some premise has no value. */
static int enumerate_from(enumeration *e, uint32_t i, bool open)
{
    const tp_obligation *o = e->o;
    int64_t lo, hi;
    int all = 1, here = decide_early(e, i);
    if (here > 0)
        return 1;
    open |= here < 0;
    if (i == o->nvars)
        return !open && tp_expr_eval(e->v->p, o->goal, e->env, &lo) == TP_EVAL_OK ? lo != 0 : -1;
    const tp_var *x = &o->vars[i];
    if (x->choices && ((x->lo.id && tp_expr_eval(e->v->p, x->lo, e->env, &lo) != TP_EVAL_OK) ||
                       (x->hi.id && tp_expr_eval(e->v->p, x->hi, e->env, &hi) != TP_EVAL_OK)))
        return -1; /* nobody knows which of them are inside */
    if (x->choices) {
        lo = x->choices[0];
        hi = x->choices[x->nchoices - 1];
    } else if (!x->lo.id || !x->hi.id || tp_expr_eval(e->v->p, x->lo, e->env, &lo) != TP_EVAL_OK ||
               tp_expr_eval(e->v->p, x->hi, e->env, &hi) != TP_EVAL_OK) {
        return -1;
    }
    for (int64_t value = lo; value <= hi; value++) {
        tp_spend(e->v->scratch, 4);
        if (--e->budget < 0) /* counted at every level: inner ranges may be empty */
            return -1;
        e->env[x->sym] = value;
        if (!is_choice(e->v, x, e->env, value))
            continue;
        int r = enumerate_from(e, i + 1, open);
        if (r == 0 || !e->used[i]) /* where the output is not used one value is like another, but there has to be one */
            return r;
        all = r < 0 ? -1 : all;
    }
    return all;
}

int tp_enumerate(tp_prover *v, const tp_obligation *o, int64_t budget, int64_t *env)
{
    enumeration e = {.v = v, .o = o, .budget = budget, .env = env, .goal = last_of(v, o, o->goal, false)};
    e.used = TP_NEWN(v->scratch, bool, o->nvars + 1);
    e.ready = by_last(v, o, false);
    for (uint32_t i = 0; i < o->nvars; i++)
        e.used[i] = is_mentioned(v, o, o->vars[i].sym);
    return enumerate_from(&e, 0, false);
}
