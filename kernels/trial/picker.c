/* Which sizes to execute: values of tp_telling_values() put together, so that
 * every value, every pair of values of two sizes, and every way through the
 * kernel is in some case, as far as the effort allows. */
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "kernels/trial/conditions.h"
#include "kernels/trial/equiv.h"
#include "kernels/trial/internal.h"
#include "spec/table.h"

enum { ATTEMPTS = 400, MAX_ELEMENTS = 1 << 21, CANDIDATES = 24, MOST_CASES = 96, DRY_RUNS = 60, CAREFUL = 24 };
/* Elements moved: by all cases that are added for pairs, by those for single values and for coverage. */
static const double PAIRS_EFFORT = 1 << 19, SINGLES_EFFORT = 1 << 21, DRY_EFFORT = TP_DRY_EFFORT,
                    LATE_EFFORT = 1 << 22, /* by those that go past every step that the kernel counts to */
    RANDOM_EFFORT = 1 << 20;               /* by one at random, where there is another one */

/* Values and pairs of values that some case has: a set of numbers. */
typedef struct seen_set {
    uint64_t *at;
    uint32_t size, n; /* size: a power of two */
} seen_set;

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (x ^ (x >> 31)) | 1;
}

/* True when x is new; `add` puts it in, while there is room. */
static bool is_new(seen_set *s, uint64_t x, bool add)
{
    uint32_t at = (uint32_t)x & (s->size - 1);
    for (; s->at[at]; at = (at + 1) & (s->size - 1))
        if (s->at[at] == x)
            return false;
    if (add && s->n < s->size / 2) {
        s->at[at] = x;
        s->n++;
    }
    return true;
}

struct tp_picker {
    tp_arena *arena;
    const tp_kernel *k; /* of the spec: sizes are the same in all of its kernels */
    const tp_constants *constants;
    seen_set seen;
    int64_t steps[TP_MAX_AXES]; /* most of an axis in some case or dry run */
};

tp_picker *tp_picker_new(tp_arena *a, const tp_kernel *k)
{
    tp_picker *p = TP_NEW(a, tp_picker);
    *p = (tp_picker){.arena = a, .k = k, .constants = tp_constants_of(a, k), .seen = {.size = 1 << 15}};
    p->seen.at = TP_NEWN(a, uint64_t, p->seen.size);
    return p;
}

static bool fits(const tp_kernel *k, const int64_t *env)
{
    tp_str why;
    return tp_in_domain(k, env, &why) && tp_elements_of(k, env) <= MAX_ELEMENTS;
}

/* ---- one case at the boundary ---- */

/* Sizes at random, of values that may tell something; false outside the domain. */
static bool draw(const tp_picker *p, const tp_kernel *k, const bool *given, tp_rng *rng, int fixed, int64_t *env)
{
    for (uint32_t pass = 0; pass < 2; pass++) /* choices first: blocks depend on them */
        for (uint32_t i = 0; i < k->nsizes; i++) {
            const tp_size *s = &k->sizes[i];
            if (given[i] || s->kind != (pass ? TP_SIZE_RANGE : TP_SIZE_CHOICE))
                continue;
            tp_values v = tp_telling_values(k, p->constants, s, env);
            if (v.n == 0)
                return false;
            env[s->sym] = v.at[fixed == 0 ? 0 : tp_rng_below(rng, v.n)];
            if (fixed == 1)
                env[s->sym] = s->kind == TP_SIZE_CHOICE ? s->choices[s->nchoices - 1] : tp_size_least(s);
        }
    return fits(k, env);
}

bool tp_pick(const tp_picker *p, const tp_kernel *k, const bool *given, tp_rng *rng, uint32_t number, int64_t *env)
{
    enum { DRAWS = 12 };
    uint32_t n = 0, nsyms = tp_sym_count(k->exprs);
    double least = HUGE_VAL;
    int64_t *best = TP_NEWN(p->arena, int64_t, nsyms);
    memcpy(best, env, nsyms * sizeof *best);
    if (number < 2 && draw(p, k, given, rng, (int)number, env))
        return true;
    for (uint32_t attempt = 0; attempt < ATTEMPTS && n < DRAWS && least > RANDOM_EFFORT; attempt++) {
        if (!draw(p, k, given, rng, -1, env))
            continue;
        n++;
        double cost = tp_effort_of(k, env);
        if (cost >= least)
            continue;
        least = cost; /* what is dear is drawn again */
        memcpy(best, env, nsyms * sizeof *best);
    }
    memcpy(env, best, nsyms * sizeof *best);
    return n > 0;
}

/* ---- values and pairs ---- */

/* New values and pairs of env; a value counts as eight pairs do. */
static uint32_t news(tp_picker *p, const tp_kernel *k, const int64_t *env, bool add)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->nsizes; i++) {
        if (!tp_is_open_size(&k->sizes[i]))
            continue;
        uint64_t x = mix(((uint64_t)i << 48) ^ (uint64_t)env[k->sizes[i].sym]);
        n += 8u * is_new(&p->seen, x, add);
        for (uint32_t j = 0; j < i; j++)
            if (tp_is_open_size(&k->sizes[j]))
                n += is_new(&p->seen, mix(x * 3 + mix(((uint64_t)j << 48) ^ (uint64_t)env[k->sizes[j].sym])), add);
    }
    return n;
}

/* Some axis has more steps than in any run so far. */
static bool goes_further(const tp_picker *p, const int64_t *env)
{
    int64_t n;
    bool further = false;
    for (uint32_t a = 0; a < p->k->naxes; a++)
        further |= tp_expr_eval(p->k->exprs, p->k->axes[a].steps, env, &n) == TP_EVAL_OK && n > p->steps[a];
    return further;
}

static void note_steps(tp_picker *p, const int64_t *env)
{
    int64_t n;
    for (uint32_t a = 0; a < p->k->naxes; a++)
        if (tp_expr_eval(p->k->exprs, p->k->axes[a].steps, env, &n) == TP_EVAL_OK && n > p->steps[a])
            p->steps[a] = n;
}

void tp_picker_note(tp_picker *p, const tp_kernel *k, const int64_t *env)
{
    news(p, k, env, true);
    if (k == p->k)
        note_steps(p, env);
}

/* A candidate: small values mostly; the size `with` takes its value number
 * `which`; `ends`: all others take what is one past two blocks, or more than their least. */
static bool candidate(const tp_picker *p, tp_rng *rng, uint32_t with, uint32_t which, bool ends, int64_t *env)
{
    const tp_kernel *k = p->k;
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < k->nsizes; i++) {
            const tp_size *s = &k->sizes[i];
            if (s->kind != (pass ? TP_SIZE_RANGE : TP_SIZE_CHOICE))
                continue;
            tp_values v = tp_telling_values(k, p->constants, s, env);
            if (!v.n || (i == with && which >= v.n))
                return false;
            uint32_t at = (uint32_t)tp_rng_below(rng, v.n);
            for (int again = 0; again < 2; again++) { /* the least of three */
                uint32_t other = (uint32_t)tp_rng_below(rng, v.n);
                at = v.at[other] < v.at[at] ? other : at;
            }
            env[s->sym] = v.at[i == with ? which : at];
            if (ends && pass && i != with) {
                int64_t block = tp_largest_block(k, s, env), past = (2 * block / s->multiple_of + 1) * s->multiple_of;
                env[s->sym] = block > 1 && past <= s->max ? past
                              : s->min < s->max           ? v.at[v.n > 1 && v.at[0] <= s->min]
                                                          : s->min;
            }
        }
    return fits(k, env);
}

/* Values of size i are 0, 1, …, as long as candidate() takes them. */
static bool next_single(tp_picker *p, tp_rng *rng, uint32_t *size, uint32_t *which, int64_t *env)
{
    const tp_kernel *k = p->k;
    for (; *size < k->nsizes; (*size)++, *which = 0)
        for (; tp_is_open_size(&k->sizes[*size]) && *which < TP_MAX_VALUES; (*which)++)
            for (int attempt = 0; attempt < 6; attempt++)
                if (candidate(p, rng, *size, *which, false, env) &&
                    is_new(&p->seen, mix(((uint64_t)*size << 48) ^ (uint64_t)env[k->sizes[*size].sym]), false))
                    return true;
    return false;
}

/* The candidate that brings the most for its effort. */
static bool best_candidate(tp_picker *p, tp_rng *rng, uint32_t with, uint32_t which, double room, int64_t *best,
                           int64_t *env)
{
    uint32_t nsyms = tp_sym_count(p->k->exprs);
    double most = 0;
    for (int i = 0; i < CANDIDATES; i++) {
        if (!candidate(p, rng, with, which, false, env))
            continue;
        double cost = tp_effort_of(p->k, env), worth = news(p, p->k, env, false) / (cost + 20000);
        if (cost > room || worth <= most)
            continue;
        most = worth;
        memcpy(best, env, nsyms * sizeof *best);
    }
    return most > 0;
}

/* Does an axis go past some step that the kernel counts to, by one block and a rest at most? */
static bool just_past(const tp_picker *p, const tp_size *s, const int64_t *env)
{
    int64_t block = tp_largest_block(p->k, s, env), v = env[s->sym];
    const tp_met *c = &p->constants->sizes[s - p->k->sizes];
    bool past = false;
    for (uint32_t i = 0; i < c->nblocks && block; i++)
        past |= v > c->blocks[i] * block && v <= (c->blocks[i] + 1) * block + s->multiple_of;
    for (uint32_t a = 0; a < p->k->naxes && block; a++) {
        const tp_met *m = &p->constants->axes[a];
        for (uint32_t i = 0; i < m->n; i++)
            past |= m->at[i] > 1 && m->at[i] <= v / block && v > m->at[i] * block &&
                    v - m->at[i] * block <= block + s->multiple_of;
    }
    return past;
}

/* Where steps are counted to, larger windows may cost more than single values otherwise do. */
static double pick_late(tp_picker *p, int64_t *best, int64_t *env, tp_take_case take, void *ctx)
{
    tp_rng rng = tp_rng_new(0x6c617465, p->k->nsizes); /* of its own: pairs stay as they are */
    uint32_t size = 0, which = 0;
    double effort = 0;
    for (; effort < LATE_EFFORT && next_single(p, &rng, &size, &which, env); which++)
        if (just_past(p, &p->k->sizes[size], env) && best_candidate(p, &rng, size, which, LATE_EFFORT, best, env)) {
            effort += take(ctx, best, 0) ? tp_effort_of(p->k, best) : 0;
            news(p, p->k, best, true);
        }
    return effort;
}

/* Has some axis one step more than what the kernel counts to there? */
static bool one_step_past(const tp_picker *p, const int64_t *env)
{
    int64_t n;
    for (uint32_t a = 0; a < p->k->naxes; a++) {
        const tp_met *m = &p->constants->axes[a];
        bool known = m->n && tp_expr_eval(p->k->exprs, p->k->axes[a].steps, env, &n) == TP_EVAL_OK;
        for (uint32_t i = 0; known && i < m->n; i++)
            if (m->at[i] >= 2 && n == m->at[i] + 1)
                return true;
    }
    return false;
}

/* What happens in one late step of an axis may show in what other axes carry:
 * such sizes with two blocks and a rest everywhere else. */
static double pick_late_with_ends(tp_picker *p, int64_t *env, tp_take_case take, void *ctx)
{
    enum { MOST = 4 };
    tp_rng rng = tp_rng_new(0x6361727279, p->k->nsizes); /* of its own: pairs stay as they are */
    double effort = 0;
    int n = 0;
    for (uint32_t size = 0; size < p->k->nsizes; size++)
        for (uint32_t which = 0; tp_is_open_size(&p->k->sizes[size]) && which < TP_MAX_VALUES && n < MOST; which++) {
            if (!candidate(p, &rng, size, which, true, env) || !one_step_past(p, env) ||
                effort + tp_effort_of(p->k, env) > SINGLES_EFFORT || !take(ctx, env, 0))
                continue;
            effort += tp_effort_of(p->k, env);
            news(p, p->k, env, true);
            n++;
        }
    return effort;
}

void tp_pick_more(tp_arena *a, tp_picker *p, tp_take_case take, void *ctx)
{
    uint32_t nsyms = tp_sym_count(p->k->exprs), size = 0, which = 0, n = 0;
    int64_t *env = TP_NEWN(a, int64_t, nsyms), *best = TP_NEWN(a, int64_t, nsyms);
    tp_rng rng = tp_rng_new(0x7061697273, p->k->nsizes);
    double effort = 0;
    for (int attempt = 0; attempt < 20; attempt++) /* two blocks and a rest everywhere */
        if (candidate(p, &rng, UINT32_MAX, 0, true, env) && tp_effort_of(p->k, env) < SINGLES_EFFORT) {
            effort += take(ctx, env, 0) ? tp_effort_of(p->k, env) : 0;
            news(p, p->k, env, true);
            break;
        }
    while (n < MOST_CASES && effort < SINGLES_EFFORT && next_single(p, &rng, &size, &which, env)) {
        if (best_candidate(p, &rng, size, which, SINGLES_EFFORT, best, env)) {
            effort += take(ctx, best, 0) ? tp_effort_of(p->k, best) : 0;
            news(p, p->k, best, true);
            n++;
        }
        which++;
    }
    effort += pick_late(p, best, env, take, ctx);
    effort += pick_late_with_ends(p, env, take, ctx);
    double room = effort + PAIRS_EFFORT;
    while (n++ < MOST_CASES && effort < room && best_candidate(p, &rng, UINT32_MAX, 0, room - effort, best, env)) {
        effort += take(ctx, best, 0) ? tp_effort_of(p->k, best) : 0;
        news(p, p->k, best, true);
    }
}

/* ---- ways through the kernel ---- */

typedef struct dry_run {
    tp_arena *arena;
    const tp_kernel *k;
    const int64_t *env;
    tp_coverage *coverage;
} dry_run;

/* Numbers alone, for what is covered. */
static void run_dry(void *arg)
{
    dry_run *x = arg;
    const tp_kernel *k = x->k;
    tp_run_request r = {.kernel = k, .env = x->env, .max_steps = 1 << 16, .coverage = x->coverage};
    tp_trap trap;
    r.arrays = TP_NEWN(x->arena, tp_tensor, k->ninputs + k->noutputs + 1);
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        tp_str why;
        const tp_operand *o = &k->operands[i];
        if (!tp_operand_dims(k, o, x->env, dims, &why) || !tp_dtype_info(o->dtype)->executable)
            return;
        r.arrays[i] = tp_tensor_new(x->arena, o->dtype, o->rank, dims);
        if (i < k->ninputs)
            tp_fill_input(k, x->env, i, &r.arrays[i], TP_INPUT_NORMAL, 8, 0);
    }
    tp_machine_run(x->arena, &r, &trap, NULL);
    tp_cover_arms(x->arena, x->coverage, k, x->env);
}

void tp_run_dry(const tp_kernel *k, const int64_t *env, double most, tp_coverage *coverage)
{
    dry_run x = {k ? tp_arena_child_limited(k->arena, (size_t)512 << 20) : NULL, k, env, coverage};
    if (x.arena && coverage->unseen && tp_effort_of(k, env) <= most)
        tp_try(x.arena, run_dry, &x);
    tp_arena_free(x.arena);
}

typedef struct exploring {
    tp_picker *p;
    tp_coverage *coverage;
    double left;      /* effort */
    int left_careful; /* searches for tables */
    tp_take_case take;
    void *ctx;
} exploring;

/* Of this seed; where that finds none, carefully, a few times. */
static bool find_tables(exploring *x, int64_t *env, uint64_t *seed)
{
    const tp_kernel *k = x->p->k;
    tp_str why;
    if (!k->ntables)
        return true;
    if (!tp_tables_new(k->arena, k, env, &why))
        return false;
    if (tp_tables_find(k->arena, k, env, NULL, 0, *seed, NULL))
        return true;
    *seed |= TP_CAREFUL_SEED;
    return x->left_careful-- > 0 && tp_tables_of_seed(k->arena, k, env, NULL, 0, *seed);
}

/* A dry run, and a case where it went a way of its own. False where nothing ran, for want of tables or of effort. */
static bool explore(exploring *x, int64_t *env, uint64_t seed, double most)
{
    uint32_t before = x->coverage->unseen;
    double effort = tp_effort_of(x->p->k, env);
    if (!fits(x->p->k, env) || effort > most)
        return false;
    if (!find_tables(x, env, &seed)) {
        x->left -= effort / 4;
        return false;
    }
    x->left -= effort;
    note_steps(x->p, env);
    tp_run_dry(x->p->k, env, most, x->coverage);
    if (x->coverage->unseen < before) {
        x->take(x->ctx, env, seed);
        news(x->p, x->p->k, env, true);
    }
    return true;
}

/* The cheapest of a few candidates in which a size takes this value. */
static bool cheapest(tp_picker *p, tp_rng *rng, uint32_t size, uint32_t which, int64_t *best, int64_t *env)
{
    double least = HUGE_VAL;
    for (int i = 0; i < CANDIDATES; i++)
        if (candidate(p, rng, size, which, false, env) && tp_effort_of(p->k, env) < least) {
            least = tp_effort_of(p->k, env);
            memcpy(best, env, tp_sym_count(p->k->exprs) * sizeof *best);
        }
    return least < HUGE_VAL;
}

typedef struct far_sizes {
    int64_t *env;
    double effort;
} far_sizes;

static int by_effort(const void *a, const void *b)
{
    const far_sizes *x = a, *y = b;
    return (x->effort > y->effort) - (x->effort < y->effort);
}

/* Ways that only a step past all those so far goes, however large windows are: the cheapest such sizes first. */
static void explore_late(exploring *x, tp_arena *a, tp_rng *rng, int64_t *env)
{
    const tp_kernel *k = x->p->k;
    uint32_t nsyms = tp_sym_count(k->exprs);
    TP_VEC(far_sizes) all = {0};
    int64_t *best = TP_NEWN(a, int64_t, nsyms);
    for (uint32_t size = 0; size < k->nsizes; size++)
        for (uint32_t which = 0; tp_is_open_size(&k->sizes[size]) && which < TP_MAX_VALUES; which++)
            if (cheapest(x->p, rng, size, which, best, env) && goes_further(x->p, best)) {
                tp_push(a, all, ((far_sizes){best, tp_effort_of(k, best)}));
                best = TP_NEWN(a, int64_t, nsyms);
            }
    if (all.len)
        qsort(all.at, all.len, sizeof *all.at, by_effort);
    x->left = 2 * LATE_EFFORT;
    for (uint32_t i = 0; i < all.len && x->coverage->unseen && x->left > 0; i++)
        if (goes_further(x->p, all.at[i].env))
            explore(x, all.at[i].env, 0, LATE_EFFORT);
}

/* ---- ways that conditions say how to go ---- */

static bool is_condition_of(const tp_point *p, const tp_condition *c)
{
    if (c->value < 0)
        return p->kind == TP_POINT_ARM && tp_same(p->arm, c->arm);
    return (p->kind == TP_POINT_GUARD && ((const tp_statement *)p->of)->value == c->value) ||
           (p->kind == TP_POINT_MASK && ((const tp_inst *)p->of)->args[0] == c->value);
}

/* Sizes of which 1 is a block, or none tiles them, become 2 to 6 where they are less: of one block, or of tables of one
 * entry, little can be said. */
static void grow_counts(exploring *x, tp_rng *rng, int64_t *env)
{
    enum { LEAST = 2, MOST = 6 };
    const tp_kernel *k = x->p->k;
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *s = &k->sizes[i];
        int64_t want = LEAST + (int64_t)tp_rng_below(rng, MOST - LEAST + 1); /* of every size: draws stay the same */
        if (s->kind != TP_SIZE_RANGE)
            continue;
        want = tp_size_above(s, want);
        if (tp_largest_block(k, s, env) <= 1 && want > env[s->sym] && want <= s->max)
            env[s->sym] = want;
    }
}

/* The cheapest sizes of `searches` at which the condition is `want` in some step; `grown`: by grow_counts(). */
static bool solve_sizes(exploring *x, tp_rng *rng, const tp_conditions *cs, uint32_t c, bool want, int searches,
                        bool grown, int64_t *best, int64_t *env)
{
    double least = LATE_EFFORT;
    bool found = false;
    for (int n = 0; n < searches; n++) {
        tp_whereabouts w = {.env = env};
        bool drawn = candidate(x->p, rng, UINT32_MAX, 0, n % 2 == 1, env);
        if (drawn && grown)
            grow_counts(x, rng, env);
        if (!drawn || !tp_condition_solve(cs, c, want, TP_SOLVE_STEP | TP_SOLVE_SIZES, rng, &w) ||
            !fits(x->p->k, env) || tp_effort_of(x->p->k, env) >= least)
            continue;
        least = tp_effort_of(x->p->k, env);
        memcpy(best, env, tp_sym_count(x->p->k->exprs) * sizeof *best);
        found = true;
    }
    return found;
}

/* Guards, masks and arms that went one way only: at sizes at which they go the other.
 * Where there are tables, they may have to be such that the condition is reached: several sizes, and several contents
 * of each. */
static void explore_conditions(exploring *x, tp_arena *a, tp_rng *rng, int64_t *env)
{
    enum { CONTENTS = 2 };
    const tp_kernel *k = x->p->k;
    uint64_t times = k->ntables ? 12 : 1, contents = k->ntables ? CONTENTS : 1;
    int searches = k->ntables ? 2 : 6;
    tp_conditions cs = tp_conditions_of(a, k);
    int64_t *best = TP_NEWN(a, int64_t, tp_sym_count(k->exprs));
    x->left = 2 * LATE_EFFORT;
    for (uint32_t i = 0; i < x->coverage->points.len; i++)
        for (uint32_t c = 0; c < cs.list.len; c++)
            for (uint32_t way = 0; way < 2 && is_condition_of(&x->coverage->points.at[i], &cs.list.at[c]); way++)
                for (uint64_t t = 0; t < times && !(x->coverage->points.at[i].seen >> way & 1) && x->left > 0; t++)
                    if (solve_sizes(x, rng, &cs, c, way == 1, searches, k->ntables && t % 2, best, env))
                        for (uint64_t n = 0; n < contents && !(x->coverage->points.at[i].seen >> way & 1) &&
                                             explore(x, best, 5000 + contents * t + n, LATE_EFFORT);)
                            n++;
}

/* ---- arms ---- */

/* The constant that the other operand of a min or max is compared with; 0: none. */
static int64_t constant_of_arm(const tp_kernel *k, tp_expr arm)
{
    const tp_expr_node *n = tp_expr_get(k->exprs, arm);
    int64_t c;
    if (tp_expr_is_const(k->exprs, n->a, &c) || tp_expr_is_const(k->exprs, n->b, &c))
        return c > 0 && c <= 64 ? c : 0;
    return 0;
}

/* One dimension of more blocks than c, and as many of what no block tiles. */
static bool past_arm(exploring *x, tp_rng *rng, int64_t c, uint32_t lead, int64_t *env)
{
    const tp_kernel *k = x->p->k;
    if (!candidate(x->p, rng, UINT32_MAX, 0, false, env))
        return false;
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *s = &k->sizes[i];
        int64_t block = s->kind == TP_SIZE_RANGE ? tp_largest_block(k, s, env) : 0,
                want = block > 1 ? (c + 1) * block + 1 : c + 2 + (int64_t)tp_rng_below(rng, 3);
        if (s->kind != TP_SIZE_RANGE || (block > 1 && i != lead) || want <= env[s->sym])
            continue;
        want = tp_size_above(s, want);
        env[s->sym] = want <= s->max ? want : env[s->sym];
    }
    return fits(k, env);
}

/* Arms of index maps that depend on tables: no axis says how far these reach. */
static void explore_arms(exploring *x, tp_rng *rng, int64_t *env)
{
    enum { TIMES = 4 };
    const tp_kernel *k = x->p->k;
    x->left = 2 * LATE_EFFORT;
    for (uint32_t i = 0; k->ntables && i < x->coverage->points.len; i++) {
        const tp_point *p = &x->coverage->points.at[i];
        int64_t c = p->kind == TP_POINT_ARM ? constant_of_arm(k, p->arm) : 0;
        for (uint32_t n = 0; c && n < TIMES * k->nsizes && p->seen != p->all && x->left > 0; n++)
            if (past_arm(x, rng, c, n % k->nsizes, env))
                explore(x, env, 6000 + n, LATE_EFFORT);
    }
}

void tp_pick_ways(tp_arena *a, tp_picker *p, tp_coverage *coverage, tp_take_case take, void *ctx)
{
    uint32_t nsyms = tp_sym_count(p->k->exprs);
    int64_t *env = TP_NEWN(a, int64_t, nsyms);
    exploring x = {p, coverage, DRY_EFFORT, CAREFUL, take, ctx};
    tp_rng rng = tp_rng_new(0x77617973, p->k->nsizes);
    for (int n = 0; n < DRY_RUNS && coverage->unseen && x.left > 0; n++) {
        if (!candidate(p, &rng, UINT32_MAX, 0, n % 3 == 2, env))
            continue;
        for (uint32_t i = 0; n % 3 == 1 && i < p->k->nsizes; i++) /* any value, once in a while */
            if (p->k->sizes[i].kind == TP_SIZE_RANGE) {
                const tp_size *s = &p->k->sizes[i];
                int64_t span = (s->max < 600 ? s->max : 600) - s->min;
                if (span > 0 && tp_rng_below(&rng, 2))
                    env[s->sym] =
                        (s->min + (int64_t)tp_rng_below(&rng, (uint64_t)span + 1)) / s->multiple_of * s->multiple_of;
            }
        explore(&x, env, 3000 + (uint64_t)n, DRY_EFFORT / 4);
    }
    if (coverage->unseen)
        explore_conditions(&x, a, &rng, env);
    if (coverage->unseen)
        explore_arms(&x, &rng, env);
    if (coverage->unseen)
        explore_late(&x, a, &rng, env);
}
