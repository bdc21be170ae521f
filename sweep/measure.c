/* What shapes cost here: the machine executes them at the sizes of the model. It says nothing of a chip. */
#include <math.h>

#include "base/clock.h"
#include "kernels/call.h"
#include "kernels/trial/equiv.h"
#include "sweep/internal.h"

enum { RUNS = 3 }; /* of each shape; the fastest counts */

typedef struct measured_run {
    sweep_worker *w;
    uint32_t cell;
    double seconds;
    const char *why; /* static, or of the sweep; NULL: it was measured */
} measured_run;

/* No array is given: all are filled. */
static tp_status give_none(void *ctx, tp_str name, tp_dtype wanted, tp_tensor *out, tp_str *why)
{
    (void)ctx, (void)name, (void)wanted, (void)out, (void)why;
    return TP_E_USAGE;
}

static void run_kernel(measured_run *x, const tp_spec *spec, const tp_kernel *k)
{
    const tp_sweep *s = x->w->run->s;
    tp_call call = {.arena = x->w->piece,
                    .spec = spec,
                    .fetch = give_none,
                    .fills = true,
                    .family = TP_INPUT_NORMAL,
                    .sizes = s->modelled,
                    .nsizes = s->nmodelled,
                    .dtypes = k->dtypes,
                    .ndtypes = k->ndtypes};
    tp_trap trap;
    tp_run_stats stats;
    double best = HUGE_VAL;
    if (tp_call_bind(&call) != TP_OK) {
        x->why = tp_printf(s->arena, "%.*s", TP_FMT(call.why)).p;
        return;
    }
    for (int i = 0; i < RUNS && !x->why; i++) {
        double start = tp_thread_seconds();
        tp_status st = tp_call_run(&call, 0, TP_MAX_STEPS, 1, &trap, &stats);
        double took = tp_thread_seconds() - start;
        if (st != TP_OK && st != TP_E_TRAP && st != TP_E_LIMIT)
            tp_leave(x->w->piece, st);
        if (st != TP_OK)
            x->why = tp_printf(s->arena, "%.*s", TP_FMT(trap.message)).p;
        best = took < best ? took : best;
    }
    x->seconds = best > x->seconds ? best : x->seconds; /* of the dtype combinations, the slowest */
}

static void run_cell(void *arg)
{
    measured_run *x = arg;
    tp_job j;
    sweep_load_cell(x->w, x->cell, &j);
    const tp_spec *spec = j.report.spec; /* legal, so valid */
    for (uint32_t k = 0; k < spec->nkernels && !x->why; k++)
        run_kernel(x, spec, spec->kernels[k]);
}

void tp_sweep_measure(tp_sweep *s, const tp_sweep_options *o, uint32_t most)
{
    sweep_run run = {.s = s, .o = o};
    sweep_worker w = {.run = &run, .arena = s->arena};
    uint32_t n;
    const uint32_t *best = tp_sweep_best(s->arena, s, &n);
    s->measured = n < most ? n : most;
    for (uint32_t i = 0; i < s->measured && !tp_budget_interrupted(); i++) {
        measured_run x = {.w = &w, .cell = best[i]};
        tp_status st = sweep_piece(&w, o->lint, run_cell, &x);
        if (st != TP_OK)
            x.why = st == TP_E_BUDGET ? "it takes more than --timeout or --memory-limit allow" : "memory ran out";
        s->cells[best[i]].here = (tp_sweep_measured){.tried = true, .seconds = x.seconds, .why = x.why};
    }
    tp_arena_free(w.piece);
}
