/* The VMEM model: windows and scratch, padded to tiles. Exact on every
 * copy-like kernel that was compiled with the real TPU compiler (v4, v5e, v6e,
 * 7x): sum of n * padded(window) over inputs and outputs, plus padded scratch. */
#include "analyzer/claim/claim.h"

int tp_storage_bits(tp_dtype d)
{
    return d == TP_BOOL ? 32 : tp_dtype_info(d)->bits;
}

int tp_pipeline_buffers(const tp_kernel *k, const tp_operand *o)
{
    bool one_step = true;
    int64_t steps;
    if (o->role == TP_SCRATCH)
        return o->buffers;
    for (uint32_t i = 0; i < k->naxes; i++)
        one_step &= tp_expr_is_const(k->exprs, k->axes[i].steps, &steps) && steps == 1;
    if (o->constant_map || one_step)
        return 1;
    return o->buffers;
}

bool tp_whole_dimension(tp_analysis *a, const tp_operand *o, uint32_t d)
{
    int64_t index;
    return tp_expr_is_const(a->p, o->dims[d].index, &index) && index == 0 && o->dims[d].kind != TP_DIM_ELEMENT &&
           tp_same(tp_expr_normal(a->p, o->dims[d].block), tp_expr_normal(a->p, o->shape[d]));
}

bool tp_trivial_window(tp_analysis *a, const tp_operand *o)
{
    bool all = true;
    for (uint32_t d = 0; d < o->rank; d++)
        all &= tp_whole_dimension(a, o, d);
    return all;
}

/* Rows rounded up to t, the least p * 2^k that is at least min(rows, 8). */
static tp_expr padded_rows(tp_analysis *a, tp_expr rows, int64_t least)
{
    tp_expr r = mk(a, TP_E_ALIGN_UP, rows, num(a, least > 8 ? least : 8));
    for (int64_t t = 4; t >= least; t /= 2)
        r = tp_ite(a->p, mk(a, TP_E_LE, rows, num(a, t)), num(a, t), r);
    return r;
}

static bool uses(const tp_statement *s, void *ctx)
{
    uint32_t operand = *(const uint32_t *)ctx;
    return (s->access && s->access->operand == operand) || (s->semaphore && s->semaphore->operand == operand) ||
           (s->inst && s->inst->access && s->inst->access->operand == operand);
}

bool tp_body_uses(const tp_kernel *k, uint32_t operand)
{
    return !k->body || tp_region_any(&k->body->statements, uses, &operand);
}

int64_t tp_at_largest(tp_analysis *a, tp_expr e)
{
    int64_t *env = TP_NEWN(a->arena, int64_t, tp_sym_count(a->p)), v;
    for (uint32_t i = 0; i < a->nsizes; i++)
        env[a->vars[i].sym] =
            a->vars[i].choices ? a->vars[i].choices[a->vars[i].nchoices - 1] : tp_expr_get(a->p, a->vars[i].hi)->value;
    return tp_expr_eval(a->p, e, env, &v) == TP_EVAL_OK ? v : -1;
}

static tp_expr extent_of(const tp_operand *o, uint32_t d)
{
    return o->role == TP_SCRATCH ? o->shape[d] : o->dims[d].block;
}

tp_expr tp_data_bytes(tp_analysis *a, const tp_operand *o)
{
    int bits = tp_storage_bits(o->dtype);
    tp_expr n = num(a, 1);
    for (uint32_t d = 0; d < o->rank; d++)
        n = mk(a, TP_E_MUL, n, extent_of(o, d));
    return bits < 8 ? mk(a, TP_E_CDIV, n, num(a, 8 / bits)) : mk(a, TP_E_MUL, n, num(a, bits / 8));
}

tp_expr tp_padded_bytes(tp_analysis *a, const tp_operand *o)
{
    int bits = tp_storage_bits(o->dtype);
    int64_t pack = 32 / (bits > 32 ? 32 : bits), twice = a->k->target.generation <= 3 ? 2 : 1;
    tp_expr n = num(a, 1);
    o = tp_part_of_device(a->arena, o);
    for (uint32_t d = 0; d < o->rank; d++) {
        tp_expr extent = extent_of(o, d);
        if (o->rank == 1)
            extent = mk(a, TP_E_ALIGN_UP, extent, num(a, TP_LANES * pack * twice));
        else if (d == o->rank - 1)
            extent = mk(a, TP_E_ALIGN_UP, extent, num(a, TP_LANES));
        else if (d == o->rank - 2)
            extent = padded_rows(a, extent, pack * twice);
        n = mk(a, TP_E_MUL, n, extent);
    }
    if (o->rank == 0)
        n = num(a, TP_LANES * pack);
    return bits < 8 ? mk(a, TP_E_FLOORDIV, n, num(a, 8 / bits)) : mk(a, TP_E_MUL, n, num(a, bits / 8));
}

/* ---- scratch of parts of the body ---- */

typedef struct lives {
    tp_analysis *a;
    tp_memory memory;
    tp_buffer_bytes *bytes;
} lives;

static tp_expr larger(const lives *x, tp_expr a, tp_expr b)
{
    return tp_same(tp_expr_normal(x->a->p, a), tp_expr_normal(x->a->p, b)) ? a : tp_op2(x->a->p, TP_E_MAX, a, b);
}

/* What is alive within the region beside what is alive around it, at most. */
static tp_expr most_alive_in(const lives *x, const tp_region *r)
{
    tp_expr now = num(x->a, 0), most = now;
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        const tp_region *inner[] = {&s->test, &s->body, &s->orelse};
        for (uint32_t o = s->scope.first; o < s->scope.first + s->scope.n; o++) {
            const tp_operand *buffer = &x->a->k->operands[o];
            if (buffer->memory != x->memory || !tp_body_uses(x->a->k, o) || !buffer->buffers)
                continue;
            tp_expr bytes = x->bytes(x->a, buffer);
            if (buffer->buffers > 1)
                bytes = mk(x->a, TP_E_MUL, num(x->a, buffer->buffers), bytes);
            now = mk(x->a, s->kind == TP_ENTER ? TP_E_ADD : TP_E_SUB, now, bytes);
        }
        if (s->kind == TP_ENTER)
            most = larger(x, most, now);
        for (int k = 0; k < 3; k++) {
            int64_t none;
            tp_expr within = inner[k]->len ? most_alive_in(x, inner[k]) : num(x->a, 0);
            if (!tp_expr_is_const(x->a->p, within, &none) || none)
                most = larger(x, most, mk(x->a, TP_E_ADD, now, within));
        }
    }
    return most;
}

tp_expr tp_most_alive(tp_analysis *a, tp_memory memory, tp_buffer_bytes *bytes)
{
    uint32_t last = tp_noperands(a->k);
    if (!a->k->body || !last || !a->k->operands[last - 1].scoped)
        return num(a, 0);
    return most_alive_in(&(lives){a, memory, bytes}, &a->k->body->statements);
}

tp_vmem_sum tp_vmem_add_up(tp_analysis *a)
{
    tp_vmem_sum s = {.total = num(a, 0)};
    for (uint32_t i = 0; i < tp_noperands(a->k); i++) {
        const tp_operand *o = &a->k->operands[i];
        /* the compiler drops scratch that the body never touches */
        if (o->memory != TP_MEM_VMEM || (o->role == TP_SCRATCH && (!tp_body_uses(a->k, i) || !o->buffers)))
            continue;
        tp_expr bytes = tp_padded_bytes(a, o);
        tp_push(a->arena, s.bytes, bytes);
        tp_push(a->arena, s.operands, o);
        if (!o->scoped)
            s.total = mk(a, TP_E_ADD, s.total, mk(a, TP_E_MUL, num(a, tp_pipeline_buffers(a->k, o)), bytes));
    }
    s.total = mk(a, TP_E_ADD, s.total, tp_most_alive(a, TP_MEM_VMEM, tp_padded_bytes));
    return s;
}

tp_expr tp_vmem_bytes(tp_arena *arena, const tp_kernel *k, bool early)
{
    tp_kernel there = *k;
    tp_analysis a = {.arena = arena, .work = arena, .k = &there, .p = k->exprs};
    there.target.generation = early ? 3 : 4;
    return tp_vmem_add_up(&a).total;
}
