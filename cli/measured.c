/* What a kernel and its reference take on this machine. It says nothing of a chip, and decides nothing. */
#include <math.h>

#include "base/clock.h"
#include "cli/assess.h"
#include "kernels/call.h"
#include "kernels/peaks.h"
#include "reference/reference.h"
#include "report/usual.h"
#include "spec/table.h"

/* Up to here a run takes seconds. */
enum { MOST_FLOPS = 1 << 28, MOST_BYTES = 1 << 27, MOST_STEPS = 1 << 15, LARGEST = 2048 };

static bool is_short(tp_arena *a, const tp_kernel *k, const int64_t *env)
{
    tp_cost *cost = tp_cost_new(a, k);
    tp_cost_numbers n = tp_cost_at(cost, a, &(tp_cost_request){.env = env, .work = TP_COST_GLANCE});
    return n.steps.known && n.steps.n <= MOST_STEPS && n.ideal_in.known && n.ideal_out.known &&
           n.ideal_in.n <= MOST_BYTES && n.ideal_out.n <= MOST_BYTES && (!n.flops.known || n.flops.n <= MOST_FLOPS);
}

/* The largest usual sizes, halved again and again, at which a run is short, with tables that the contracts allow; NULL:
 * none are. *tables: sizes would be there, tables were not found. */
static int64_t *short_sizes(tp_ctx *c, const tp_kernel *k, const tp_binding *given, uint32_t ngiven, bool *tables)
{
    *tables = false;
    for (int64_t wish = LARGEST; wish > 0; wish /= 2) {
        tp_case one = {.kernel = k, .env = tp_sizes_near(c->arena, k, given, ngiven, wish)};
        bool found = one.env && tp_case_tables(c, k, &one, NULL);
        *tables |= one.env && !found;
        if (found && is_short(c->arena, k, one.env))
            return one.env;
    }
    return NULL;
}

typedef struct tables {
    tp_arena *arena;
    const tp_kernel *k;
    const int64_t *env;
} tables;

/* The contents of tables; inputs are filled as those of cases are. */
static tp_status give_table(void *ctx, tp_str name, tp_dtype wanted, tp_tensor *out, tp_str *why)
{
    const tables *t = ctx;
    int table = tp_table_find(t->k, name);
    (void)wanted, (void)why;
    if (table < 0)
        return TP_E_USAGE;
    const tp_table_data *d = tp_bound_table(t->env, t->k->tables[table].sym);
    *out = tp_tensor_new(t->arena, t->k->tables[table].dtype, d->rank, d->dims);
    for (size_t i = 0; i < out->n; i++)
        tp_put_i64(out->dtype, out->data, i, d->at[i]);
    return TP_OK;
}

static bool refuse(tp_measured *m, tp_str why)
{
    m->why = why;
    return false;
}

static bool time_reference(tp_arena *a, tp_measured *m, const tp_call *call)
{
    m->reference_seconds = HUGE_VAL;
    for (uint32_t i = 0; i < m->runs; i++) {
        tp_arena *one = tp_arena_child(a);
        tp_reference_request r = {.kernel = call->kernel, .env = call->env, .arrays = call->arrays};
        r.outputs = TP_NEWN(one, tp_tensor, call->kernel->noutputs);
        double start = tp_wall_seconds();
        tp_status st = tp_reference_run(one, &r);
        m->reference_seconds = fmin(m->reference_seconds, tp_wall_seconds() - start);
        tp_str why = st == TP_OK ? r.why : tp_printf(a, "%.*s", TP_FMT(r.why));
        tp_arena_free(one);
        if (st != TP_OK)
            return refuse(m, why);
    }
    return true;
}

static bool time_kernel(tp_measured *m, tp_call *call)
{
    m->seconds = HUGE_VAL;
    for (uint32_t i = 0; i < m->runs; i++) {
        tp_trap trap;
        tp_run_stats stats;
        double start = tp_wall_seconds();
        tp_status st = tp_call_run(call, 0, TP_MAX_STEPS, 0, &trap, &stats);
        m->seconds = fmin(m->seconds, tp_wall_seconds() - start);
        m->threads = stats.threads;
        if (st != TP_OK && st != TP_E_TRAP && st != TP_E_LIMIT)
            tp_leave(call->arena, st);
        if (st != TP_OK)
            return refuse(m, trap.message);
    }
    return true;
}

void tp_measure_here(tp_ctx *c, const tp_spec *spec, const tp_kernel *k, const tp_binding *given, uint32_t ngiven,
                     tp_measured *m)
{
    tp_arena *a = c->arena;
    bool no_tables;
    if (!tp_has_reference(k)) {
        refuse(m, TP_S("the spec has no reference to run beside the kernel"));
        return;
    }
    int64_t *env = short_sizes(c, k, given, ngiven, &no_tables);
    if (!env) {
        refuse(m, no_tables ? TP_S("no contents of the tables were found that satisfy the contracts")
                            : TP_S("no sizes were found at which a run here takes seconds: give --size NAME=VALUE"));
        return;
    }
    tables drawn = {a, k, env};
    tp_binding *sizes = TP_NEWN(a, tp_binding, k->nsizes + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (tp_is_open_size(&k->sizes[i]))
            sizes[n++] = (tp_binding){.name = k->sizes[i].name, .value = env[k->sizes[i].sym]};
    tp_call call = {.arena = a,
                    .spec = spec,
                    .fetch = give_table,
                    .ctx = &drawn,
                    .fills = true,
                    .family = TP_INPUT_NORMAL,
                    .sizes = sizes,
                    .nsizes = n,
                    .dtypes = k->dtypes,
                    .ndtypes = k->ndtypes};
    if (tp_call_bind(&call) != TP_OK) {
        refuse(m, call.why);
        return;
    }
    tp_peaks peaks = tp_peaks_measure();
    m->env = env;
    m->text = tp_case_text(a, &(tp_case){.kernel = k, .env = env});
    for (uint32_t t = 0; t < k->ntables; t++)
        m->tables |= tp_table_is_open(&k->tables[t]);
    m->instruction_set = peaks.instruction_set;
    m->elementary = peaks.elementary;
    m->known = time_reference(a, m, &call) && time_kernel(m, &call);
}
