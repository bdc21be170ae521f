/* What a kernel and its reference take on this machine. It says nothing of a chip, and decides nothing. */
#include <math.h>

#include "base/clock.h"
#include "cli/assess.h"
#include "kernels/call.h"
#include "kernels/peaks.h"
#include "reference/reference.h"
#include "report/usual.h"

/* Up to here a run takes seconds. */
enum { MOST_FLOPS = 1 << 28, MOST_BYTES = 1 << 27, MOST_STEPS = 1 << 15, LARGEST = 2048 };

static bool is_short(tp_arena *a, const tp_kernel *k, const int64_t *env)
{
    tp_cost *cost = tp_cost_new(a, k);
    tp_cost_numbers n = tp_cost_at(cost, a, &(tp_cost_request){.env = env, .work = TP_COST_GLANCE});
    return n.steps.known && n.steps.n <= MOST_STEPS && n.ideal_in.known && n.ideal_out.known &&
           n.ideal_in.n <= MOST_BYTES && n.ideal_out.n <= MOST_BYTES && (!n.flops.known || n.flops.n <= MOST_FLOPS);
}

/* The largest usual sizes, halved again and again, at which a run is short; NULL: none are. */
static int64_t *short_sizes(tp_arena *a, const tp_kernel *k, const tp_binding *given, uint32_t ngiven)
{
    for (int64_t wish = LARGEST; wish > 0; wish /= 2) {
        int64_t *env = tp_sizes_near(a, k, given, ngiven, wish);
        if (env && is_short(a, k, env))
            return env;
    }
    return NULL;
}

/* Inputs are filled as those of cases are. */
static tp_status give_none(void *ctx, tp_str name, tp_dtype wanted, tp_tensor *out, tp_str *why)
{
    (void)ctx, (void)name, (void)wanted, (void)out, (void)why;
    return TP_E_USAGE;
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

void tp_measure_here(tp_arena *a, const tp_spec *spec, const tp_kernel *k, const tp_binding *given, uint32_t ngiven,
                     tp_measured *m)
{
    int64_t *env = k->ntables ? NULL : short_sizes(a, k, given, ngiven);
    if (k->ntables) {
        refuse(m, TP_S("contents of tables are not drawn here"));
        return;
    }
    if (!env) {
        refuse(m, TP_S("no sizes were found at which a run here takes seconds: give --size NAME=VALUE"));
        return;
    }
    tp_binding *sizes = TP_NEWN(a, tp_binding, k->nsizes + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (tp_is_open_size(&k->sizes[i]))
            sizes[n++] = (tp_binding){.name = k->sizes[i].name, .value = env[k->sizes[i].sym]};
    tp_call call = {.arena = a,
                    .spec = spec,
                    .fetch = give_none,
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
    m->instruction_set = peaks.instruction_set;
    m->elementary = peaks.elementary;
    m->known = time_reference(a, m, &call) && time_kernel(m, &call);
}
