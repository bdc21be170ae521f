/* Cases in their order, by several threads. A thread reads the spec once more, so that nothing is shared, and runs
 * each case in memory and on account of a budget of its own. What comes out is what one thread gives: results are
 * passed on in order, each charged then, and from the first on that one thread might not have come through with, for
 * its budget or its memory, they are forgotten and made anew by one thread. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/budget.h"
#include "base/clock.h"
#include "kernels/trial/trial.h"

enum {
    MOST_THREADS = 64,
    WAVE = 256,                       /* results that wait for their turn, at most */
    ALONE = TP_UNITS_PER_SECOND / 40, /* before it is worth to read the spec again */
    FEW = 2                           /* cases: not worth it */
};

typedef struct item {
    tp_arena *keep; /* what the result holds; NULL: nobody ran the case */
    tp_budget budget;
    tp_case *own, *found; /* the case of the thread's spec; what the result says that it is of */
    tp_case_result r;
    bool whole;     /* it came to its end */
    double seconds; /* of a thread that the budget of the whole does not see */
} item;

typedef struct lane {
    struct team *team;
    tp_arena *arena; /* of its spec */
    tp_kernel **kernels;
    tp_coverage **coverage;
    item *now;
    pthread_t thread;
    bool started;
} lane;

typedef struct team {
    tp_arena *a;
    const tp_cases *cases;
    const tp_equiv_options *o;
    const tp_spec *spec;
    const tp_budget *from; /* as the wave found it */
    uint32_t first, n;     /* of the wave */
    item *items;
    lane *lanes;
    uint32_t nlanes;
    atomic_uint next;
    atomic_llong spent; /* of the wave */
} team;

/* ---- a thread ---- */

static void read_spec(void *arg)
{
    lane *l = arg;
    const team *t = l->team;
    const tp_team *how = t->o->team;
    const tp_spec *s = how->read(how->ctx, l->arena);
    if (!s || s->nkernels != t->spec->nkernels)
        tp_leave(l->arena, TP_E_INPUT);
    tp_kernel **kernels = TP_NEWN(l->arena, tp_kernel *, s->nkernels);
    l->coverage = TP_NEWN(l->arena, tp_coverage *, s->nkernels);
    for (uint32_t i = 0; i < s->nkernels; i++) {
        kernels[i] = s->kernels[i];
        l->coverage[i] = tp_coverage_new(l->arena, kernels[i]);
    }
    l->kernels = kernels;
}

static uint32_t number_of(const tp_spec *s, const tp_kernel *k)
{
    uint32_t i = 0;
    while (i < s->nkernels && s->kernels[i] != k)
        i++;
    return i;
}

static const tp_case *original_of(const team *t, const item *x)
{
    return &t->cases->at[t->first + (uint32_t)(x - t->items)];
}

/* The case, of the thread's spec; on nobody's account, since one thread needs none of it. */
static void prepare(void *arg)
{
    lane *l = arg;
    item *x = l->now;
    const tp_case *original = original_of(l->team, x);
    uint32_t k = number_of(l->team->spec, original->kernel);
    x->own = TP_NEW(l->arena, tp_case);
    x->found = TP_NEW(l->arena, tp_case);
    *x->own = *original;
    x->own->kernel = l->kernels[k];
    x->own->coverage = original->coverage ? tp_coverage_copy(l->arena, l->coverage[k]) : NULL;
    x->own->env = tp_env_copy(l->arena, original->kernel, original->env);
    x->r.the_case = x->own;
}

static void run_case(void *arg)
{
    lane *l = arg;
    tp_trial_case(l->now->keep, l->now->own, l->team->o, &l->now->r);
}

/* It is of the original, or what a hunt made of that. */
static void give_back_case(const team *t, item *x)
{
    const tp_case *original = original_of(t, x);
    *x->found = *x->r.the_case;
    x->found->kernel = original->kernel;
    x->found->coverage = x->found->coverage ? original->coverage : NULL;
    x->r.the_case = x->r.the_case == x->own ? original : x->found;
}

/* What is left of the budget, and a share of what is left of its memory. */
static void open_account(const team *t, item *x)
{
    x->budget = *t->from;
    x->budget.refused = false;
    x->budget.most_bytes = x->budget.bytes;
    if (x->budget.max_bytes)
        x->budget.max_bytes = x->budget.bytes + (x->budget.max_bytes - x->budget.bytes) / t->nlanes;
    tp_budget_look(&x->budget); /* this thread's clock */
    tp_arena_set_budget(x->keep, &x->budget);
}

static void run_item(lane *l, item *x)
{
    l->now = x;
    x->keep = tp_arena_new(0);
    if (!x->keep || tp_try(l->arena, prepare, l) != TP_OK)
        return;
    open_account(l->team, x);
    tp_arena_set_budget(l->arena, &x->budget);
    tp_exprs_charge(x->own->kernel->exprs, &x->budget);
    double start = tp_thread_seconds();
    x->whole = tp_try(x->keep, run_case, l) == TP_OK;
    x->seconds = l == l->team->lanes ? 0 : tp_thread_seconds() - start;
    tp_arena_set_budget(l->arena, NULL);
    give_back_case(l->team, x);
}

static void work(lane *l)
{
    team *t = l->team;
    uint32_t i;
    l->arena = tp_arena_new(0);
    if (!l->arena || tp_try(l->arena, read_spec, l) != TP_OK)
        return;
    while (atomic_load(&t->spent) <= t->from->limit - t->from->spent && (i = atomic_fetch_add(&t->next, 1)) < t->n) {
        run_item(l, &t->items[i]);
        if (!t->items[i].whole)
            atomic_store(&t->next, t->n); /* those behind it are made anew */
        else
            atomic_fetch_add(&t->spent, t->items[i].budget.spent - t->from->spent);
    }
}

static void *help(void *arg)
{
    lane *l = arg;
    const tp_team *how = l->team->o->team;
    if (how->watch)
        how->watch(how->name);
    work(l);
    if (how->watch)
        how->watch(NULL);
    return NULL;
}

/* ---- results ---- */

/* One thread would have come to the same: it has the units, and its memory would not have refused what the smaller
 * share of the thread allowed. */
static bool is_same_alone(const team *t, const item *x)
{
    const tp_budget *now = tp_arena_budget(t->a), *own = &x->budget;
    size_t kept = now->bytes - t->from->bytes, share = own->max_bytes - t->from->bytes;
    return x->whole && own->end == TP_BUDGET_OPEN && !own->refused && !x->r.out_of_memory && !tp_budget_over(now) &&
           own->spent - t->from->spent <= now->limit - now->spent &&
           (!now->max_bytes || kept <= now->max_bytes - t->from->bytes - share);
}

static void charge(const team *t, item *x)
{
    tp_budget *now = tp_arena_budget(t->a);
    size_t peak = now->bytes + (x->budget.most_bytes - t->from->bytes);
    now->most_bytes = peak > now->most_bytes ? peak : now->most_bytes;
    tp_charge(t->a, x->budget.spent - t->from->spent);
    tp_budget_child(now, x->seconds);
    tp_arena_set_budget(x->keep, now);
    if (x->own->coverage)
        tp_cover_as(original_of(t, x)->coverage, x->own->coverage);
}

typedef struct visit {
    tp_result_visitor fn;
    void *ctx;
    bool over;
} visit;

static void pass_on(visit *to, item *x)
{
    tp_result_use how = to->fn(to->ctx, &x->r);
    if (how == TP_RESULT_DROP)
        tp_arena_free(x->keep);
    x->keep = NULL;
    to->over = how == TP_RESULT_STOP;
}

static void run_alone(const team *t, uint32_t i, visit *to)
{
    item x = {.keep = tp_arena_child(t->a), .r = {.the_case = &t->cases->at[i]}};
    tp_trial_case(x.keep, &t->cases->at[i], t->o, &x.r);
    pass_on(to, &x);
}

/* What threads left behind is freed with the arena from now on. */
static void hand_over(team *t)
{
    for (uint32_t l = 0; l < t->nlanes; l++)
        if (t->lanes[l].arena) /* texts of results lie with the names of the spec that was read */
            tp_arena_join(t->a, t->lanes[l].arena);
    for (uint32_t i = 0; i < t->n; i++)
        if (t->items[i].keep)
            tp_arena_join(t->a, t->items[i].keep);
}

/* A wave of cases; how many of its results were passed on. */
static uint32_t run_wave(team *t, visit *to)
{
    tp_budget from = *tp_arena_budget(t->a);
    uint32_t threads = t->o->team->threads, count = 0;
    t->from = &from;
    t->n = t->cases->len - t->first < WAVE ? t->cases->len - t->first : WAVE;
    t->nlanes = threads > MOST_THREADS ? MOST_THREADS : threads < t->n ? threads : t->n;
    tp_arena *own = tp_arena_new(0); /* one thread needs none of it: on nobody's account */
    if (!own)
        tp_leave(t->a, TP_E_MEMORY);
    tp_arena_join(t->a, own);
    t->items = TP_NEWN(own, item, t->n);
    t->lanes = TP_NEWN(own, lane, t->nlanes);
    atomic_store(&t->next, 0);
    atomic_store(&t->spent, 0);
    for (uint32_t l = 0; l < t->nlanes; l++) {
        t->lanes[l].team = t;
        t->lanes[l].started = l && pthread_create(&t->lanes[l].thread, NULL, help, &t->lanes[l]) == 0;
    }
    work(&t->lanes[0]);
    for (uint32_t l = 1; l < t->nlanes; l++)
        if (t->lanes[l].started)
            pthread_join(t->lanes[l].thread, NULL);
    hand_over(t);
    for (; count < t->n && !to->over && is_same_alone(t, &t->items[count]); count++) {
        charge(t, &t->items[count]);
        pass_on(to, &t->items[count]);
    }
    for (uint32_t i = count; i < t->n; i++)
        tp_arena_free(t->items[i].keep);
    return count;
}

void tp_trial_cases(tp_arena *a, const tp_cases *cases, const tp_equiv_options *o, tp_result_visitor fn, void *ctx)
{
    const tp_budget *b = tp_arena_budget(a);
    int64_t before = b ? b->spent : 0;
    visit to = {.fn = fn, .ctx = ctx};
    team t = {.a = a, .cases = cases, .o = o, .spec = o->team ? o->team->spec : NULL};
    bool alone = !b || !o->team || o->team->threads < 2;
    while (t.first < cases->len && !to.over) {
        if (alone || b->spent - before < ALONE || cases->len - t.first < FEW) {
            run_alone(&t, t.first++, &to);
            continue;
        }
        uint32_t count = run_wave(&t, &to);
        alone = count < t.n;
        t.first += count;
    }
}
