/* A kernel on several devices that write to each other's memory. Each has a machine and a thread of its own; they run
 * by turns, from one wait to the next, so that a run is the same each time. A copy is made where it is started, and
 * what it touches is noted: afterwards order.c tells which of that could have happened in another order, and that is a
 * trap. So one run stands for all. */
#include "kernels/machine/devices.h"

static void work(void *arg)
{
    tp_worker *w = arg;
    tp_crew *c = w->crew;
    tp_walk_steps(&w->machine, w->number * c->inner, (w->number + 1) * c->inner);
}

/* Was it a symptom of what is not in order? Then that is told. */
static void blame(tp_worker *w)
{
    tp_trap first = w->trap;
    w->trap = (tp_trap){.step = -1};
    if (tp_try(w->arena, tp_exchange_check, &w->machine) != TP_E_TRAP)
        w->trap = first;
}

static void *run(void *arg)
{
    tp_worker *w = arg;
    tp_devices *d = w->machine.devices;
    pthread_mutex_lock(&d->lock);
    while (d->turn != w->number)
        pthread_cond_wait(&d->moved, &d->lock);
    pthread_mutex_unlock(&d->lock);
    tp_status st = d->failed ? TP_E_TRAP : tp_try(w->arena, work, w);
    if (st == TP_E_TRAP && !d->failed && !d->checked)
        blame(w);
    pthread_mutex_lock(&d->lock);
    d->all[w->number].state = ENDED;
    d->all[w->number].phase = UINT32_MAX;
    if (st != TP_OK && !d->failed) {
        d->failed = true;
        d->culprit = w->number;
        d->status = st;
    }
    tp_exchange_hand_over(d);
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

static void watch(tp_devices *d, const tp_region *r)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        if (s->kind == TP_COPY_START)
            d->watched[s->from->operand] = d->watched[s->access->operand] = true;
        watch(d, &s->test);
        watch(d, &s->body);
        watch(d, &s->orelse);
    }
}

typedef struct start {
    tp_devices *d;
    tp_arena *arena;
    tp_worker *w;
} start;

static void prepare_first(void *arg)
{
    start *s = arg;
    tp_worker *w = s->w;
    w->machine = tp_machine_new(w->arena, s->d->crew.request, &w->trap);
    w->machine.devices = s->d;
    w->machine.worker = w->number;
    tp_walk_prepare(&w->machine);
    w->machine.crew = &s->d->crew;
}

/* What all of them share, once the first machine knows how many there are. */
static void share(tp_devices *d, tp_arena *a, const tp_machine *m)
{
    uint32_t operands = tp_noperands(m->k);
    d->n = d->crew.n = (uint32_t)m->grid.steps[0];
    d->crew.inner = m->grid.total / d->n;
    d->all = TP_NEWN(a, doing, d->n);
    d->watched = TP_NEWN(a, bool, operands);
    d->base = TP_NEWN(a, uint32_t, operands);
    watch(d, &m->k->body->statements);
    for (uint32_t i = 0; i < operands; i++) {
        d->base[i] = d->counters;
        d->has_barrier |= m->k->operands[i].memory == TP_MEM_BARRIER;
        d->counters += tp_is_semaphore(&m->k->operands[i]) ? (uint32_t)m->refs[i].cells.n : 0;
    }
    d->count = TP_NEWN(a, int64_t, (size_t)d->n * d->counters);
    tp_order_begin(&d->order, a, d->n, d->counters);
    d->rng = tp_rng_new(d->crew.request->seed, 0x64657673);
    d->turn = (uint32_t)tp_rng_below(&d->rng, d->n);
    tp_crew_make_claims(&d->crew, a, m);
}

static void check_end(void *arg)
{
    tp_walk_check(arg);
}

/* The trap of a worker, in `a`. */
static tp_trap keep(tp_arena *a, const tp_trap *t)
{
    tp_trap kept = *t;
    kept.message = tp_printf(a, "%.*s", TP_FMT(t->message));
    kept.statement = tp_printf(a, "%.*s", TP_FMT(t->statement));
    kept.coordinates.at = TP_NEWN(a, tp_binding, t->coordinates.len);
    kept.coordinates.cap = t->coordinates.len;
    if (t->coordinates.len)
        memcpy(kept.coordinates.at, t->coordinates.at, t->coordinates.len * sizeof *t->coordinates.at);
    return kept;
}

/* Threads for all but the first device; false: one could not be made. */
static bool begin_others(tp_devices *d, tp_arena *a, size_t memory, uint32_t *made)
{
    for (uint32_t i = 1; i < d->n; i++, ++*made) {
        tp_worker *w = &d->workers[i];
        if (!tp_crew_equip(w, &d->crew, a, i, memory))
            return false;
        tp_status st = tp_try(w->arena, prepare_first, &(start){d, a, w});
        w->started = st == TP_OK && pthread_create(&w->thread, NULL, run, w) == 0;
        if (!w->started) {
            ++*made;
            d->status = st == TP_OK ? TP_E_MEMORY : st;
            d->culprit = i;
            return false;
        }
    }
    return true;
}

static tp_status refuse(tp_arena *a, tp_trap *trap, tp_str why)
{
    (void)a;
    *trap = (tp_trap){.step = -1, .message = why};
    return TP_E_LIMIT;
}

/* The first machine is prepared: run all, and bring what came of it to *trap and *stats. */
static tp_status run_all(tp_devices *d, tp_arena *a, tp_trap *trap, tp_run_stats *stats)
{
    const tp_budget *b = tp_arena_budget(a);
    const tp_run_request *r = d->crew.request;
    int64_t before = b ? b->spent : 0;
    double seconds = b ? b->seconds : 0;
    uint32_t made = 1;
    tp_budget *account = tp_exprs_charge(r->kernel->exprs, NULL); /* steps are charged, on each one's own */
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->moved, NULL);
    d->failed = !begin_others(d, a, tp_arena_left(a) / d->n, &made);
    if (d->failed) { /* whoever is there leaves when it is its turn */
        for (uint32_t i = made; i < d->n; i++)
            d->all[i].state = ENDED;
        d->all[made - 1].state = d->workers[made - 1].started ? d->all[made - 1].state : ENDED;
        d->turn = 0;
    }
    run(&d->workers[0]);
    for (uint32_t i = 1; i < made; i++)
        if (d->workers[i].started) {
            pthread_join(d->workers[i].thread, NULL);
            d->workers[i].started = false;
        }
    *trap = keep(a, &d->workers[d->culprit].trap);
    for (uint32_t i = 1; i < made; i++)
        if (d->workers[i].arena)
            tp_crew_join(&d->workers[i], &d->workers[0].machine, a, before, seconds);
    tp_exprs_charge(r->kernel->exprs, account);
    pthread_cond_destroy(&d->moved);
    pthread_mutex_destroy(&d->lock);
    tp_crew_sum_up(&d->crew, d->workers, stats);
    stats->threads = 1;
    return d->failed ? d->status : TP_OK;
}

tp_status tp_devices_run(tp_arena *a, const tp_run_request *r, tp_trap *trap, tp_run_stats *stats)
{
    tp_devices *d = TP_NEW(a, tp_devices);
    tp_walk_time began = tp_walk_clock();
    d->crew = (tp_crew){.request = r, .n = 1};
    d->workers = TP_NEWN(a, tp_worker, MOST_DEVICES);
    tp_worker *first = &d->workers[0];
    *trap = (tp_trap){.step = -1};
    *stats = (tp_run_stats){0};
    if (r->observer)
        return refuse(a, trap, TP_S("a run on several devices is not followed step by step"));
    tp_crew_equip(first, &d->crew, a, 0, 0);
    tp_status st = tp_try(a, prepare_first, &(start){d, a, first});
    tp_machine *m = &first->machine;
    if (st != TP_OK) {
        *trap = first->trap;
        return st;
    }
    if (!m->grid.total) { /* nobody does anything */
        m->devices = NULL;
        m->crew = NULL;
        st = tp_try(a, check_end, m);
        *trap = first->trap;
        return st;
    }
    if (m->grid.steps[0] > MOST_DEVICES)
        return refuse(a, trap,
                      tp_printf(a, "%lld devices; at most %d are executed", (long long)m->grid.steps[0], MOST_DEVICES));
    share(d, a, m);
    tp_walk_time prepared = tp_walk_clock();
    st = run_all(d, a, trap, stats);
    if (st == TP_OK && (st = tp_try(a, check_end, m)) != TP_OK)
        *trap = first->trap;
    tp_walk_times(stats, began, prepared);
    return st;
}
