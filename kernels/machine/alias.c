/* Outputs that share their array with an input ("alias"): a copy-in may find
 * bytes that an earlier copy-out changed. What it reads is settled only far
 * enough behind (rule 8 of docs/SPEC.md, "The machine"). Kept per element, or
 * per block where both operands part the array into the same blocks. */
#include "kernels/machine/internal.h"

struct tp_alias {
    uint32_t output;
    bool by_block;
    int64_t lag;      /* steps between copy-out and copy-in that settle what is read */
    int64_t *written; /* per element or block: 1 + sequential number of the step that ended its run; 0: not yet */
    int64_t *writer, *reader; /* tp_parallel_number() of the last step */
    uint8_t *read;            /* 0 never, 1 under `reader`, 2 under several */
};

/* Number of the step among those with its parallel coordinates. */
static int64_t sequential_number(const tp_machine *m)
{
    int64_t n = 0;
    for (uint32_t a = 0; a < m->k->naxes; a++)
        if (!m->k->axes[a].parallel)
            n = n * m->grid.steps[a] + m->env[m->k->axes[a].sym];
    return n;
}

static bool same_blocks(const tp_ref *in, const tp_ref *out)
{
    for (uint32_t d = 0; d < out->operand->rank; d++)
        if (in->block[d] != out->block[d] || !in->block[d])
            return false;
    return out->visited && !tp_has_element_dims(in->operand);
}

/* ---- aliases that nobody can tell from two arrays ---- */

static bool overlap(const tp_tensor *a, const tp_tensor *b)
{
    size_t size = tp_dtype_size(a->dtype); /* both have it */
    uintptr_t p = (uintptr_t)a->data, q = (uintptr_t)b->data;
    return p < q + b->n * size && q < p + a->n * size;
}

/* Does the index go through all blocks of the dimension, from one step of an axis to the next, or is there but one? */
static bool counts_blocks(const tp_run_request *r, const tp_dim *d, int64_t extent, bool *used)
{
    const tp_kernel *k = r->kernel;
    const tp_expr_node index = *tp_expr_get(k->exprs, d->index);
    int64_t block, steps, first;
    if (tp_expr_eval(k->exprs, d->block, r->env, &block) != TP_EVAL_OK || block < 1)
        return false;
    int64_t blocks = extent / block + (extent % block != 0);
    if (tp_expr_is_const(k->exprs, d->index, &first))
        return first == 0 && blocks == 1;
    for (uint32_t a = 0; index.op == TP_E_SYM && a < k->naxes; a++)
        if (index.value == k->axes[a].sym && !used[a]) {
            used[a] = true;
            return tp_expr_eval(k->exprs, k->axes[a].steps, r->env, &steps) == TP_EVAL_OK && steps == blocks;
        }
    return false;
}

bool tp_alias_is_apart(const tp_run_request *r, uint32_t output)
{
    const tp_kernel *k = r->kernel;
    const tp_operand *out = &k->operands[output], *in = &k->operands[out->alias];
    const tp_tensor *array = &r->arrays[output];
    bool used[TP_MAX_AXES] = {false};
    if (r->domain || r->coverage || tp_is_connected(k) || tp_is_far(out) || tp_is_far(in) || out->valid.id ||
        in->valid.id || out->discard || overlap(array, &r->arrays[out->alias]))
        return false;
    for (uint32_t d = 0; d < out->rank; d++) {
        const tp_dim *o = &out->dims[d], *i = &in->dims[d];
        if (o->kind == TP_DIM_ELEMENT || i->kind == TP_DIM_ELEMENT || o->index.id != i->index.id ||
            o->block.id != i->block.id || !counts_blocks(r, o, array->dims[d], used))
            return false;
    }
    for (uint32_t a = 0; a < k->naxes; a++) {
        int64_t steps;
        if (!used[a] && (tp_expr_eval(k->exprs, k->axes[a].steps, r->env, &steps) != TP_EVAL_OK || steps != 1))
            return false;
    }
    return true;
}

void tp_alias_prepare(tp_machine *m, uint32_t output)
{
    tp_ref *out = &m->refs[output], *in = &m->refs[out->operand->alias];
    if (tp_alias_is_apart(m->request, output))
        return;
    tp_alias *x = TP_NEW(m->arena, tp_alias);
    if (out->array->n)
        memcpy(out->array->data, in->array->data, out->array->n * tp_dtype_size(out->operand->dtype));
    tp_planes_share(m, out, in);
    in->array = out->array; /* one array from here on */
    if (tp_is_far(in->operand))
        return; /* no window is copied in: TP403 and TP504 decide */
    bool by_block = same_blocks(in, out);
    size_t n = by_block ? out->nblocks : out->array->n;
    *x = (tp_alias){.output = output,
                    .by_block = by_block,
                    .lag = in->operand->buffers + out->operand->buffers - 2,
                    .written = TP_NEWN(m->arena, int64_t, n),
                    .writer = TP_NEWN(m->arena, int64_t, n),
                    .reader = TP_NEWN(m->arena, int64_t, n),
                    .read = TP_NEWN(m->arena, uint8_t, n)};
    in->shared = out->shared = x;
}

typedef struct row_context {
    tp_machine *m;
    int64_t key, number;
} row_context;

_Noreturn static void hazard(const row_context *c, const tp_ref *r, size_t lane, bool race)
{
    tp_str output = c->m->k->operands[r->shared->output].name;
    tp_trap_raise(c->m, TP_RULE_ALIAS_HAZARD, output,
                  race ? "%.*s is copied in while a step that differs in a parallel axis writes it to `%.*s`"
                       : "%.*s is copied in too soon after it was written to `%.*s`",
                  TP_FMT(tp_element_text(c->m, r, lane)), TP_FMT(output));
}

static void read_row(tp_ref *r, size_t array, size_t lane, size_t n, void *ctx)
{
    const row_context *c = ctx;
    tp_alias *x = r->shared;
    for (size_t i = 0; i < n; i++) {
        size_t e = array + i;
        if (x->written[e] && x->writer[e] != c->key)
            hazard(c, r, lane + i, true);
        if (x->written[e] && c->number - (x->written[e] - 1) <= x->lag)
            hazard(c, r, lane + i, false);
        x->read[e] = !x->read[e] || (x->read[e] == 1 && x->reader[e] == c->key) ? 1 : 2;
        x->reader[e] = c->key;
    }
}

static void write_row(tp_ref *r, size_t array, size_t lane, size_t n, void *ctx)
{
    const row_context *c = ctx;
    tp_alias *x = r->shared;
    for (size_t i = 0; i < n; i++) {
        size_t e = array + i;
        if (x->read[e] == 2 || (x->read[e] == 1 && x->reader[e] != c->key))
            hazard(c, r, lane + i, true);
        x->written[e] = c->number + 1;
        x->writer[e] = c->key;
    }
}

/* The part of the array that the window is. */
static void each_part(tp_machine *m, tp_ref *r, tp_row_visitor visit, row_context *c)
{
    const tp_ref *out = &m->refs[r->shared->output];
    size_t block = 0;
    if (!r->shared->by_block) {
        tp_each_inner_row(r, visit, c);
        return;
    }
    for (uint32_t d = 0; d < r->operand->rank; d++)
        block = block * (size_t)out->blocks[d] + (size_t)(r->window[d] / r->block[d]);
    visit(r, block, 0, 1, c);
}

void tp_alias_read(tp_machine *m, tp_ref *r)
{
    if (!r->shared)
        return;
    row_context c = {m, tp_parallel_number(m), sequential_number(m)};
    each_part(m, r, read_row, &c);
}

void tp_alias_write(tp_machine *m, tp_ref *r)
{
    row_context c = {m, r->run_key, r->run_number};
    if (r->shared)
        each_part(m, r, write_row, &c);
}

void tp_alias_step(tp_machine *m, tp_ref *r)
{
    if (!r->shared)
        return;
    r->run_key = tp_parallel_number(m);
    r->run_number = sequential_number(m);
}
