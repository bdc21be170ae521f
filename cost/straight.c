/* References without loops, branches and refs: their operations one after the other. */
#include "base/checked.h"
#include "cost/internal.h"

bool tp_cost_each_operation(const tp_region *region, tp_cost_visitor visit, void *ctx, tp_str *why)
{
    for (uint32_t n = 0; n < region->len; n++) {
        const tp_statement *s = &region->at[n];
        switch (s->kind) {
        case TP_COMPUTE:
            if (!visit(ctx, s->inst))
                return false;
            break;
        case TP_ASSIGN:
        case TP_ASSERT: break;
        case TP_IF:
        case TP_LOOP:
        case TP_WHILE: *why = TP_S("the reference has loops or branches"); return false;
        case TP_PUT:
        case TP_COPY_START:
        case TP_COPY_WAIT:
        case TP_SIGNAL:
        case TP_ENTER:
        case TP_LEAVE:
        case TP_AWAIT: *why = TP_S("the reference has refs"); return false;
        }
    }
    return true;
}

static bool beyond(tp_str *why)
{
    *why = TP_S("the number is beyond 2^63");
    return false;
}

bool tp_cost_bytes(tp_cost *c, const tp_value *x, int64_t width, int64_t *bytes, tp_str *why)
{
    int64_t n = 1, extent;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (tp_expr_eval(c->p, x->dims[d], c->env, &extent) != TP_EVAL_OK) {
            *why = TP_S("a shape of the reference has no value");
            return false;
        }
        if (!tp_mul(n, extent, &n))
            return beyond(why);
    }
    return tp_mul(n, width, bytes) || beyond(why);
}
