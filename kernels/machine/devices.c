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

static bool watch(const tp_statement *s, void *devices)
{
    tp_devices *d = devices;
    if (s->kind == TP_COPY_START)
        d->watched[s->from->operand] = d->watched[s->access->operand] = true;
    return false;
}

static void prepare(void *arg)
{
    tp_worker *w = arg;
    w->machine = tp_machine_new(w->arena, w->crew->request, &w->trap);
    w->machine.devices = (tp_devices *)w->crew; /* its first member */
    w->machine.worker = w->number;
    tp_walk_prepare(&w->machine);
    w->machine.crew = w->crew;
}

/* Their number, the steps of a grid that is not empty. */
static int64_t devices_of(const tp_machine *m)
{
    int64_t n = 1;
    for (uint32_t a = 0; a < tp_mesh_rank(m->k); a++)
        n *= m->grid.steps[a];
    return n;
}

/* What all of them share, once the first machine knows how many there are. */
static void share(tp_devices *d, tp_arena *a, const tp_machine *m)
{
    uint32_t operands = tp_noperands(m->k);
    d->has_barrier = tp_has_barrier(m->k);
    d->n = d->crew.n = (uint32_t)devices_of(m);
    d->crew.inner = m->grid.total / d->n;
    d->all = TP_NEWN(a, doing, d->n);
    d->watched = TP_NEWN(a, bool, operands);
    d->base = TP_NEWN(a, uint32_t, operands);
    tp_region_any(&m->k->body->statements, watch, d);
    for (uint32_t i = 0; i < operands; i++) {
        d->base[i] = d->counters;
        d->counters += tp_is_semaphore(&m->k->operands[i]) ? (uint32_t)m->refs[i].cells.n : 0;
    }
    d->count = TP_NEWN(a, int64_t, (size_t)d->n * d->counters);
    tp_order_begin(&d->order, a, d->n, d->counters);
    d->rng = tp_rng_new(d->crew.request->seed, 0x64657673);
    d->turn = UINT32_MAX; /* nobody's yet */
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

/* Machines of all but the first device, in memory that goes with that of the first; TP_OK, or as the first machine. */
static tp_status equip_others(tp_devices *d, tp_arena *a, tp_trap *trap)
{
    size_t left = tp_arena_left(a);
    for (uint32_t i = 1; i < d->n; i++) {
        tp_worker *w = &d->workers[i];
        w->crew = &d->crew;
        w->number = i;
        w->arena = tp_arena_child(a);
        tp_arena_set_limit(w->arena, left == SIZE_MAX ? 0 : left / d->n + 1);
        tp_status st = tp_try(w->arena, prepare, w);
        if (st == TP_OK)
            continue;
        if (st == TP_E_MEMORY)
            tp_arena_refuse_share(a, w->arena);
        *trap = w->trap;
        return st;
    }
    return TP_OK;
}

/* Once all threads are there the turn is somebody's; where one could not be made the others leave at once. */
static void begin_threads(tp_devices *d)
{
    for (uint32_t i = 1; i < d->n; i++) {
        tp_worker *w = &d->workers[i];
        w->started = !d->failed && pthread_create(&w->thread, NULL, run, w) == 0;
        if (w->started)
            continue;
        d->all[i].state = ENDED;
        d->failed = true;
        d->status = TP_E_MEMORY;
    }
    pthread_mutex_lock(&d->lock);
    d->turn = d->failed ? 0 : (uint32_t)tp_rng_below(&d->rng, d->n);
    pthread_cond_broadcast(&d->moved);
    pthread_mutex_unlock(&d->lock);
}

static tp_status refuse(tp_trap *trap, tp_str why)
{
    *trap = (tp_trap){.step = -1, .message = why};
    return TP_E_LIMIT;
}

/* All machines are prepared: run them, and bring what came of it to *trap and *stats. */
static tp_status run_all(tp_devices *d, tp_arena *a, tp_trap *trap, tp_run_stats *stats)
{
    tp_budget *account = tp_exprs_charge(d->crew.request->kernel->exprs, NULL); /* who evaluates pays for the step */
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->moved, NULL);
    begin_threads(d);
    run(&d->workers[0]);
    for (uint32_t i = 1; i < d->n; i++)
        if (d->workers[i].started)
            pthread_join(d->workers[i].thread, NULL);
    pthread_cond_destroy(&d->moved);
    pthread_mutex_destroy(&d->lock);
    tp_exprs_charge(d->crew.request->kernel->exprs, account);
    for (uint32_t i = 1; i < d->n; i++)
        tp_crew_add_moved(&d->workers[i], &d->workers[0].machine);
    tp_crew_sum_up(&d->crew, d->workers, stats);
    stats->threads = 1;
    *trap = keep(a, &d->workers[d->culprit].trap);
    if (d->failed && d->status == TP_E_MEMORY)
        tp_arena_refuse_share(a, d->workers[d->culprit].arena);
    return d->failed ? d->status : TP_OK;
}

tp_status tp_devices_run(tp_arena *a, const tp_run_request *r, tp_trap *trap, tp_run_stats *stats)
{
    tp_devices *d = TP_NEW(a, tp_devices);
    tp_walk_time began = tp_walk_clock(r);
    d->crew = (tp_crew){.request = r, .n = 1};
    d->workers = TP_NEWN(a, tp_worker, MOST_DEVICES);
    tp_worker *first = &d->workers[0];
    *trap = (tp_trap){.step = -1};
    *stats = (tp_run_stats){0};
    if (r->observer && r->observer->looks)
        return refuse(trap, TP_S("what values are is not shown of a run on several devices"));
    first->crew = &d->crew;
    first->arena = a;
    tp_status st = tp_try(a, prepare, first);
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
    if (devices_of(m) > MOST_DEVICES)
        return refuse(trap,
                      tp_printf(a, "%lld devices; at most %d are executed", (long long)devices_of(m), MOST_DEVICES));
    share(d, a, m);
    tp_walk_time prepared = tp_walk_clock(r);
    st = equip_others(d, a, trap);
    if (st != TP_OK)
        return st;
    st = run_all(d, a, trap, stats);
    for (uint32_t i = 1; i < d->n; i++)
        tp_arena_free(d->workers[i].arena);
    if (st == TP_OK && (st = tp_try(a, check_end, m)) != TP_OK)
        *trap = first->trap;
    tp_walk_times(stats, began, prepared, tp_walk_clock(r));
    return st;
}
