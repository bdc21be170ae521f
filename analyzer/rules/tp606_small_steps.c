#include "cost/advice.h"
#include "cost/text.h"

enum {
    LEAST = 64, /* steps: fewer take as long as a call */
    FACTOR = 3, /* times as long as copies and products */
    REGISTER = 8 * TP_LANES,
    FUNCTION = 8,      /* operations of exp and the like, at least */
    MOST_VECTOR = 340, /* operations on registers of a step: at one in a nanosecond, which chips exceed, as long as it
                          takes to issue */
};

/* Operations on vector registers in a step, which the model leaves out. */
typedef struct vector_work {
    tp_analysis *a;
    const int64_t *env;
    int64_t operations;
} vector_work;

/* Too many to tell? */
static bool is_vector_bound(const tp_statement *s, void *ctx)
{
    vector_work *w = ctx;
    if (s->kind == TP_LOOP || s->kind == TP_WHILE)
        return true;
    if (s->kind != TP_COMPUTE)
        return false;
    const tp_prim_row *p = tp_prim_info(s->inst->prim);
    if (p->class != TP_CLASS_ELEMENTWISE && p->class != TP_CLASS_CONVERT && p->class != TP_CLASS_FOLD &&
        p->class != TP_CLASS_RUNNING)
        return false;
    const tp_value *x = &w->a->k->body->values.at[s->inst->args[0]];
    tp_expr elements = num(w->a, 1);
    int64_t n;
    for (uint32_t d = 0; d < x->rank; d++)
        elements = mk(w->a, TP_E_MUL, elements, x->dims[d]);
    if (tp_expr_eval(w->a->p, elements, w->env, &n) != TP_EVAL_OK)
        return true;
    w->operations += n / REGISTER * (p->rounding.kind == TP_ROUND_ULPS ? FUNCTION : 1);
    return w->operations > MOST_VECTOR;
}

/* A block that is small in its array, and could be larger. */
typedef struct growth {
    const tp_operand *operand;
    uint32_t dim;
    int64_t block, extent;
} growth;

static growth most_growth(tp_analysis *a, const int64_t *env)
{
    growth best = {0};
    for (uint32_t i = 0; i < a->k->ninputs + a->k->noutputs; i++) {
        const tp_operand *o = &a->k->operands[i];
        for (uint32_t d = 0; d < o->rank && o->memory == TP_MEM_VMEM; d++) {
            growth g = {o, tp_global_dim(o, d), 0, 0};
            if (o->dims[d].kind == TP_DIM_BLOCKED && !o->whole &&
                tp_expr_eval(a->p, o->dims[d].block, env, &g.block) == TP_EVAL_OK &&
                tp_expr_eval(a->p, o->shape[d], env, &g.extent) == TP_EVAL_OK && g.block > 0 &&
                g.extent / g.block >= 2 && (!best.operand || g.extent / g.block > best.extent / best.block))
                best = g;
        }
    }
    return best;
}

static void check(tp_analysis *a)
{
    tp_advice_cost c;
    if (!a->k->body || !tp_advice_cost_of(a, &c) ||
        tp_region_any(&a->k->body->statements, is_vector_bound, &(vector_work){a, c.env, 0}))
        return;
    const tp_cost_model *m = &c.model;
    int64_t steps = c.numbers.steps.n, vmem = c.numbers.vmem.n,
            limit = a->k->vmem_limit ? a->k->vmem_limit : tp_target_vmem(&a->k->target);
    growth g = most_growth(a, c.env);
    if (steps < LEAST || m->issued < FACTOR * m->pipeline || !g.operand || !c.numbers.vmem.known || vmem > limit / 2)
        return;
    tp_finding *f = tp_advise(
        a, a->k->name, a->k->axes[0].steps_loc,
        tp_message(a, "steps are small: each copies and multiplies for %.*s, and takes %.*s to issue",
                   TP_FMT(tp_seconds_text(a->arena, m->pipeline / (double)steps)),
                   TP_FMT(tp_seconds_text(a->arena, TP_STEP_SECONDS))),
        tp_message(a,
                   "make blocks larger, such as dimension %u of `%.*s`, %lld of %lld: %.*s of %.*s of VMEM are taken",
                   g.dim, TP_FMT(g.operand->name), (long long)g.block, (long long)g.extent,
                   TP_FMT(tp_bytes_text(a->arena, vmem)), TP_FMT(tp_bytes_text(a->arena, limit))));
    tp_str dtypes = tp_dtypes_text(a->k);
    f->claim = TP_S("a step copies and multiplies for longer than it takes to issue"); /* once for all dtypes */
    f->note =
        tp_message(a,
                   "a model%s%.*s%s%.*s: %lld steps in %.*s, %.1f times as long as their copies and products alone. "
                   "Left out are the vector units; 0.34 us were measured on a v5e (docs/COST.md)",
                   c.sizes.n ? " at " : "", TP_FMT(c.sizes), dtypes.n ? ", " : "", TP_FMT(dtypes), (long long)steps,
                   TP_FMT(tp_seconds_text(a->arena, m->issued)), m->issued / m->pipeline);
}

const tp_rule tp_rule_tp606_small_steps = {
    .code = "TP606",
    .slug = "small-steps",
    .title = "steps that take longer to issue than to copy and multiply",
    .severity = TP_NOTE,
    .hardware = true,
    .per_dtype = true,
    .why = "Each step of the grid costs a fixed time, whatever its blocks hold: 0.35 us on a v5e, by the times that "
           "JAX's guide to matrix multiplication publishes. Many small steps take that long, however little they move.",
    .bad = "\"block_shape\": [128, 128] in a matmul of 4096: 32768 steps, 11 ms to issue",
    .good = "\"block_shape\": [512, 1024]: 128 steps",
    .jax = "Nothing is reported.",
    .check = check,
};
