/* How `run` executes a kernel: what the machine decides before the first step. */
#include "dump/dump.h"
#include "kernels/machine/machine.h"
#include "kernels/trial/equiv.h"

static const char *manner_of(const void *ctx, const tp_inst *i)
{
    static const char *const WORDS[] = {
        [TP_MANNER_OWN] = "by itself",
        [TP_MANNER_AGAIN] = "not at all: the same number was computed before",
        [TP_MANNER_ONCE] = "once: the same in each step",
        [TP_MANNER_SHOWN] = "nothing is moved: the memory of the operand",
        [TP_MANNER_WAITS] = "with what looks at it, where there are many elements",
        [TP_MANNER_SUM] = "straight into what it is added to",
        [TP_MANNER_ROWS] = "when it is looked at, without rows that a mask leaves out",
    };
    const tp_plan *plan = ctx;
    return i->out < 0 ? WORDS[TP_MANNER_OWN] : WORDS[plan->values[i->out]];
}

static void put_windows(const tp_kernel *k, const tp_plan *plan, tp_buf *b)
{
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        const tp_window_plan *w = &plan->windows[i];
        tp_buf_printf(b, "window of %.*s: %s%s%s\n", TP_FMT(k->operands[i].name),
                      w->in_place ? "its array's memory, where it lies inside" : "copied",
                      w->ahead ? "; asked for one step ahead" : "", w->streams ? "; written past the caches" : "");
    }
}

/* The request of a run at these sizes; false with *why: an array has no size, or they are too many elements. */
static bool request_at(tp_arena *a, const tp_case *c, tp_run_request *r, tp_str *why)
{
    enum { MOST = 1 << 24, CACHE = 32 << 20 }; /* the same text on every machine */
    const tp_kernel *k = c->kernel;
    *r = (tp_run_request){.kernel = k, .env = c->env, .in_order = true, .max_steps = TP_MAX_STEPS, .last_cache = CACHE};
    r->arrays = TP_NEWN(a, tp_tensor, k->ninputs + k->noutputs);
    *why = TP_S("its arrays are too large to look at");
    if (tp_case_elements(c) > MOST)
        return false;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        if (!tp_operand_dims(k, &k->operands[i], c->env, dims, why))
            return false;
        r->arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
    }
    return true;
}

static void print(tp_ctx *c, const tp_kernel *k, tp_buf *b)
{
    static const double EFFORT = 1 << 20;
    tp_box box = k->body ? tp_cases_box(c, k, 1, EFFORT) : (tp_box){.shapes = 0};
    tp_run_request request;
    tp_plan plan;
    tp_trap trap = {0};
    tp_str why = TP_S("there is nothing to execute, or no small sizes");
    if (!box.cases.len || !request_at(c->arena, &box.cases.at[box.cases.len - 1], &request, &why)) {
        tp_buf_printf(b, "no plan: %.*s\n", TP_FMT(why));
        return;
    }
    const int64_t *env = request.env;
    for (uint32_t i = 0; i < k->nsizes; i++)
        tp_buf_printf(b, "%s%.*s = %lld%s", i ? ", " : "at ", TP_FMT(k->sizes[i].name), (long long)env[k->sizes[i].sym],
                      i + 1 == k->nsizes ? "\n" : "");
    if (tp_machine_plan(c->arena, &request, &plan, &trap) != TP_OK) {
        tp_buf_printf(b, "no plan: %.*s\n", TP_FMT(trap.message));
        return;
    }
    if (plan.joined > 1)
        tp_buf_printf(b, "steps of %.*s: up to %lld are taken as one\n", TP_FMT(k->axes[plan.axis].name),
                      (long long)plan.joined);
    put_windows(k, &plan, b);
    tp_dump_region(k, plan.body, manner_of, &plan, b);
}

const tp_dump tp_dump_plan = {"plan", "how `run` would execute windows and statements", print};
