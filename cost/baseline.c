/* What the reference takes where no kernel fuses more than a compiler's loops do. */
#include <math.h>

#include "base/checked.h"
#include "cost/internal.h"

enum { WORK = 1 << 20 }; /* values that are looked at, all operations together */

typedef struct baseline {
    tp_cost *c;
    const tp_program *p;
    const tp_target *target;
    const tp_inst **from; /* by value: what computes it */
    bool *given, *wanted; /* by value: an input; an output */
    int64_t *width;       /* by value: bytes of an element */
    uint32_t *seen;       /* by value: the operation that has read it */
    uint32_t operation;
    int64_t work;
    tp_cost_baseline sum;
} baseline;

static bool refuse(baseline *b, const char *why)
{
    b->sum.why = tp_str_c(why);
    return false;
}

/* Does a compiler compute it with who reads it, so that it is never written? */
static bool fuses(const tp_inst *i)
{
    switch (tp_prim_info(i->prim)->class) {
    case TP_CLASS_ELEMENTWISE:
    case TP_CLASS_SELECT:
    case TP_CLASS_CONVERT:
    case TP_CLASS_MOVE:
    case TP_CLASS_SOURCE:
    case TP_CLASS_MEMORY: return true; /* entries of tables */
    case TP_CLASS_FOLD:
    case TP_CLASS_RUNNING:
    case TP_CLASS_CONTRACT:
    case TP_CLASS_CONTROL:
    case TP_CLASS_SUGAR: break;
    }
    return false;
}

static bool bytes_of(baseline *b, tp_vid v, int64_t *n)
{
    return tp_cost_bytes(b->c, &b->p->values.at[v], b->width[v], n, &b->sum.why);
}

/* Adds what the operation reads for v: v itself, or what v is computed from. */
static bool read_value(baseline *b, tp_vid v, int64_t *bytes)
{
    int64_t n;
    if (b->seen[v] == b->operation)
        return true;
    b->seen[v] = b->operation;
    if (++b->work > WORK)
        return refuse(b, "the reference is too large");
    const tp_inst *i = b->from[v];
    if (!b->given[v] && i && fuses(i)) {
        for (uint32_t a = 0; a < i->nargs; a++)
            if (!read_value(b, i->args[a], bytes))
                return false;
        return true;
    }
    if (!b->given[v] && !i)
        return true; /* a size */
    return bytes_of(b, v, &n) && (tp_add(*bytes, n, bytes) || refuse(b, "the number is beyond 2^63"));
}

/* Seconds of its products. */
static bool time_of_dot(baseline *b, const tp_inst *i, double *seconds)
{
    tp_dot x = tp_cost_dot(b->c, b->p, i);
    const tp_expr sides[] = {x.batch, x.m, x.k, x.n};
    double flops = 2, rate = tp_peak_rate(b->target, x.peak);
    for (int s = 0; s < 4; s++) {
        int64_t side;
        if (tp_expr_eval(b->c->p, sides[s], b->c->env, &side) != TP_EVAL_OK)
            return refuse(b, "a shape of the reference has no value");
        flops *= (double)side;
    }
    if (rate <= 0)
        return refuse(b, "no public peak for the dtype of its products");
    *seconds = flops / rate;
    return true;
}

/* Writes `out`, from these values. */
static bool add_operation(baseline *b, const tp_vid *from, uint32_t nfrom, tp_vid out, double products)
{
    int64_t bytes = 0, written;
    b->operation++;
    for (uint32_t a = 0; a < nfrom; a++)
        if (!read_value(b, from[a], &bytes))
            return false;
    if (!bytes_of(b, out, &written))
        return false;
    if (!tp_add(bytes, written, &bytes) || !tp_add(b->sum.bytes, bytes, &b->sum.bytes))
        return refuse(b, "the number is beyond 2^63");
    b->sum.operations++;
    b->sum.seconds += fmax((double)bytes / b->target->hbm_bandwidth, products);
    return true;
}

static bool add_inst(void *ctx, const tp_inst *i)
{
    baseline *b = ctx;
    double products = 0;
    if (i->out < 0)
        return true;
    b->from[i->out] = i;
    if (fuses(i) && !b->wanted[i->out])
        return true;
    return (i->prim != TP_P_DOT || time_of_dot(b, i, &products)) &&
           add_operation(b, i->args, i->nargs, i->out, products);
}

/* Outputs that are inputs as they are. */
static bool add_copies(baseline *b)
{
    const tp_kernel *k = b->c->k;
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++) {
        tp_vid v = b->p->operand_value[i];
        if (v >= 0 && b->given[v] && !add_operation(b, &v, 1, v, 0))
            return false;
    }
    return true;
}

/* Operands as they are stored; floats on the way as wide as the widest of them, since that is what jnp makes. */
static void set_widths(baseline *b)
{
    const tp_kernel *k = b->c->k;
    int64_t widest = 0;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        if (tp_is_float(k->operands[i].dtype))
            widest = (int64_t)tp_dtype_size(k->operands[i].dtype) > widest
                         ? (int64_t)tp_dtype_size(k->operands[i].dtype)
                         : widest;
    for (uint32_t v = 0; v < b->p->values.len; v++) {
        tp_dtype d = b->p->values.at[v].dtype;
        b->width[v] = tp_is_float(d) && widest ? widest : (int64_t)tp_dtype_size(d);
    }
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        tp_vid v = b->p->operand_value[i];
        if (v < 0)
            continue;
        b->width[v] = (int64_t)tp_dtype_size(k->operands[i].dtype);
        *(i < k->ninputs ? &b->given[v] : &b->wanted[v]) = true;
    }
}

tp_cost_baseline tp_cost_baseline_of(tp_cost *c, tp_arena *a, const tp_program *reference, const int64_t *env,
                                     const tp_target *t)
{
    uint32_t n = reference->values.len;
    baseline b = {.c = c, .p = reference, .target = t};
    if (!t->checked || t->hbm_bandwidth <= 0 || t->bf16_flops <= 0)
        return (tp_cost_baseline){.why = TP_S("the target has no rates")};
    b.from = TP_NEWN(a, const tp_inst *, n);
    b.given = TP_NEWN(a, bool, n);
    b.wanted = TP_NEWN(a, bool, n);
    b.width = TP_NEWN(a, int64_t, n);
    b.seen = TP_NEWN(a, uint32_t, n);
    memcpy(c->env, env, c->ngiven * sizeof *env);
    set_widths(&b);
    b.sum.known = tp_cost_each_operation(&reference->statements, add_inst, &b, &b.sum.why) && add_copies(&b);
    return b.sum;
}
