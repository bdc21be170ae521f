/* One walk by several threads. Steps that differ in a leading parallel axis know nothing of each other: outputs,
 * scratch and windows begin anew there. So each thread has a machine of its own for some of those steps,
 * and computes what one machine would have; only the claims of output blocks are shared, and come before any write.
 * Whatever ends otherwise than well is run again by one machine, so that what is reported does not depend on chance. */
#include "base/assert.h"
#include "base/pool.h"
#include "base/processors.h"
#include "kernels/machine/crew.h"

enum {
    MOST_THREADS = 256,
    PIECES_EACH = 8,         /* so that one slow piece does not hold up all, */
    FEW_EACH = 2,            /* ... and that many where no piece ends within a step of the leading axes */
    WORTH_A_THREAD = 1 << 18 /* elements of windows: some 50 us */
};

bool tp_crew_claims(const tp_machine *m, const tp_ref *r, size_t b)
{
    uint8_t nobody = 0, me = (uint8_t)(m->worker + 1);
    if (!m->crew)
        return true;
    tp_assert(b < r->nblocks);
    _Atomic uint8_t *claim = &m->crew->claims[r - m->refs][b];
    return atomic_compare_exchange_strong(claim, &nobody, me) || nobody == me;
}

/* The same ones in each run, there and back: where what a piece costs grows along an axis, or does so again and again
 * (a causal mask), all have as much of it. */
static int64_t piece_of(const tp_crew *c, uint32_t worker, int64_t round)
{
    return round * c->n + (round % 2 ? c->n - 1 - worker : worker);
}

static void work(void *arg)
{
    tp_worker *w = arg;
    tp_crew *c = w->crew;
    if (w->number) {
        w->machine = tp_machine_new(w->arena, c->request, &w->trap);
        tp_walk_prepare(&w->machine);
    }
    w->machine.crew = c;
    w->machine.worker = w->number;
    for (int64_t round = 0, p; round * c->n < c->pieces && !atomic_load(&c->failed); round++)
        if ((p = piece_of(c, w->number, round)) < c->pieces)
            tp_walk_steps(&w->machine, c->outer * p / c->pieces * c->inner, c->outer * (p + 1) / c->pieces * c->inner);
}

static void *start(void *arg)
{
    tp_worker *w = arg;
    if (w->number)
        tp_go_beside(w->crew->processor, w->number);
    if (tp_try(w->arena, work, w) != TP_OK)
        atomic_store(&w->crew->failed, true);
    return NULL;
}

/* ---- who may ---- */

static bool may_share(const tp_run_request *r)
{
    for (uint32_t i = r->kernel->ninputs; i < r->kernel->ninputs + r->kernel->noutputs; i++)
        if (tp_is_far(&r->kernel->operands[i])) /* who writes an element is noted by one machine */
            return false;
    const tp_kernel *k = r->kernel;
    bool may = !r->domain && !r->coverage && !r->observer && !r->max_work && k->naxes && k->axes[0].parallel;
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++)
        may &= (k->operands[i].alias < 0 || tp_alias_is_apart(r, i)) && !tp_has_element_dims(&k->operands[i]);
    return may;
}

/* As many pieces for each thread, of whole steps of leading axes, which are so many: what these look at again and again
 * is packed by one machine then, not by each. 0: there are none. */
static int64_t even_pieces(const tp_crew *c, int64_t leading)
{
    for (int64_t each = PIECES_EACH; each >= FEW_EACH; each--)
        if (leading % (each * c->n) == 0)
            return each * c->n;
    return 0;
}

/* How the walk is cut; false: it is too little for two. */
static bool cut(tp_crew *c, const tp_machine *m)
{
    const tp_grid *g = &m->grid;
    size_t elements = 1;
    c->outer = 1;
    for (uint32_t a = 0; a < m->k->naxes && m->k->axes[a].parallel; a++) {
        c->outer *= g->steps[a];
        if (!c->pieces)
            c->pieces = even_pieces(c, c->outer);
    }
    c->inner = c->outer ? g->total / c->outer : 0;
    for (uint32_t i = 0; i < tp_noperands(m->k); i++)
        elements += m->refs[i].cells.n;
    if ((int64_t)c->n > c->outer)
        c->n = (uint32_t)c->outer;
    if (!c->pieces)
        c->pieces = c->outer < (int64_t)c->n * PIECES_EACH ? c->outer : (int64_t)c->n * PIECES_EACH;
    return c->n > 1 &&
           (double)elements * (double)g->total >= (c->request->share_from ? c->request->share_from : WORTH_A_THREAD) &&
           g->total <= INT64_MAX / c->pieces;
}

static void prepare(void *arg)
{
    tp_worker *w = arg;
    tp_walk_prepare(&w->machine);
}

void tp_crew_make_claims(tp_crew *c, tp_arena *a, const tp_machine *m)
{
    c->claims = TP_NEWN(a, _Atomic uint8_t *, tp_noperands(m->k));
    for (uint32_t i = 0; i < tp_noperands(m->k); i++)
        if (m->refs[i].visited)
            c->claims[i] = TP_NEWN(a, _Atomic uint8_t, m->refs[i].nblocks);
}

/* Its own memory, of what is left, and what is left of the budget. */
static bool equip(tp_worker *w, tp_crew *c, tp_arena *a, uint32_t number, size_t memory)
{
    const tp_budget *b = tp_arena_budget(a);
    w->crew = c;
    w->number = number;
    w->arena = !number ? a : c->request->pool ? tp_pool_take(c->request->pool, memory) : tp_arena_new(memory);
    if (!w->arena || !number || !b)
        return w->arena != NULL;
    w->budget = *b;
    w->budget.bytes = w->budget.most_bytes = 0;
    if (b->max_bytes)
        w->budget.max_bytes = b->max_bytes > b->bytes ? (b->max_bytes - b->bytes) / c->n + 1 : 1;
    tp_arena_set_budget(w->arena, &w->budget);
    return true;
}

/* ---- all of them ---- */

void tp_crew_add_moved(const tp_worker *w, const tp_machine *first)
{
    for (uint32_t i = 0; w->machine.stats.moved && i < tp_noperands(w->machine.k); i++) {
        tp_traffic *to = &first->stats.moved[i];
        const tp_traffic *m = &w->machine.stats.moved[i];
        to->fetches += m->fetches;
        to->fetched += m->fetched;
        to->writes += m->writes;
        to->written += m->written;
    }
}

static void join(tp_worker *w, const tp_machine *first, tp_arena *a, int64_t spent, double seconds)
{
    tp_budget *b = tp_arena_budget(a);
    if (w->started)
        pthread_join(w->thread, NULL);
    tp_crew_add_moved(w, first);
    if (b) {
        tp_charge(a, w->budget.spent - spent);
        tp_budget_child(b, w->budget.seconds - seconds);
    }
    if (w->crew->request->pool)
        tp_pool_give(w->crew->request->pool, w->arena);
    else
        tp_arena_free(w->arena);
}

void tp_crew_sum_up(tp_crew *c, tp_worker *all, tp_run_stats *stats)
{
    tp_machine *m = &all[0].machine;
    *stats = m->stats;
    stats->threads = c->n;
    for (uint32_t i = 0; i < tp_noperands(m->k); i++)
        for (size_t b = 0; c->claims[i] && b < m->refs[i].nblocks; b++)
            m->refs[i].visited[b] = atomic_load(&c->claims[i][b]);
    for (uint32_t t = 1; t < c->n; t++) {
        stats->copies_in += all[t].machine.stats.copies_in;
        stats->copies_out += all[t].machine.stats.copies_out;
        stats->joined += all[t].machine.stats.joined;
        stats->work += all[t].machine.stats.work;
        stats->flops += all[t].machine.stats.flops;
        stats->bytes_in += all[t].machine.stats.bytes_in;
        stats->bytes_out += all[t].machine.stats.bytes_out;
        stats->in_place += all[t].machine.stats.in_place;
        stats->dot_flops += all[t].machine.stats.dot_flops;
        stats->mxu_flops += all[t].machine.stats.mxu_flops;
        stats->transcendental += all[t].machine.stats.transcendental;
    }
}

static void check(void *arg)
{
    tp_worker *w = arg;
    tp_walk_check(&w->machine);
}

bool tp_crew_run(tp_arena *a, const tp_run_request *r, tp_run_stats *stats)
{
    tp_crew c = {.request = r, .n = r->threads < MOST_THREADS - 1 ? r->threads : MOST_THREADS - 1};
    if (!may_share(r))
        return false;
    tp_worker *all = TP_NEWN(a, tp_worker, c.n);
    all[0].machine = tp_machine_new(a, r, &all[0].trap);
    tp_walk_time began = tp_walk_clock(r);
    if (tp_try(a, prepare, &all[0]) != TP_OK || !cut(&c, &all[0].machine))
        return false;
    tp_crew_make_claims(&c, a, &all[0].machine);
    tp_walk_time prepared = tp_walk_clock(r);
    const tp_budget *b = tp_arena_budget(a);
    int64_t before = b ? b->spent : 0;
    double seconds = b ? b->seconds : 0;
    size_t memory = tp_arena_left(a) / c.n;
    c.processor = tp_processor_here();
    uint32_t made = 0;
    tp_budget *account = tp_exprs_charge(r->kernel->exprs, NULL); /* steps are charged, on each one's own */
    for (; made < c.n && equip(&all[made], &c, a, made, memory); made++) {
        all[made].started = made && pthread_create(&all[made].thread, NULL, start, &all[made]) == 0;
        if (made && !all[made].started)
            atomic_store(&c.failed, true);
    }
    if (made < c.n)
        atomic_store(&c.failed, true);
    start(&all[0]);
    for (uint32_t t = 1; t < made; t++)
        join(&all[t], &all[0].machine, a, before, seconds);
    tp_exprs_charge(r->kernel->exprs, account);
    tp_crew_sum_up(&c, all, stats);
    bool ok = !atomic_load(&c.failed) && tp_try(a, check, &all[0]) == TP_OK;
    tp_walk_times(stats, began, prepared, tp_walk_clock(r));
    return ok;
}
