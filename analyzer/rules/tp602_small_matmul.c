#include "analyzer/flow/flow.h"

enum { FULL = 60 }; /* percent of a side of the matrix unit that are worth no word */

/* Of each side of whole tiles, rows in groups of 8, the part that is no padding. */
static double share_of(int64_t n, int64_t tile)
{
    return (double)n / (double)((n + tile - 1) / tile * tile);
}

/* An operand dimension whose block is this extent and could be larger. */
static bool could_grow(tp_analysis *a, tp_expr extent, tp_str *name, uint32_t *dim)
{
    for (uint32_t i = 0; i < a->k->ninputs + a->k->noutputs; i++) {
        const tp_operand *o = &a->k->operands[i];
        for (uint32_t d = 0; d < o->rank; d++) {
            if (o->dims[d].kind != TP_DIM_BLOCKED ||
                !tp_same(tp_expr_normal(a->p, o->dims[d].block), tp_expr_normal(a->p, extent)) ||
                tp_at_largest(a, o->shape[d]) < 2 * tp_at_largest(a, extent))
                continue;
            *name = o->name;
            *dim = tp_global_dim(o, d);
            return true;
        }
    }
    return false;
}

static void check_dot(tp_analysis *a, const tp_inst *i, const tp_syntax *syntax)
{
    const tp_value *x = &a->k->body->values.at[i->args[0]], *out = &a->k->body->values.at[i->out];
    int64_t side = a->k->target.mxu;
    tp_expr dims[3] = {num(a, 1), num(a, 1), num(a, 1)}; /* rows, columns, contraction */
    for (uint32_t p = 0; p < i->ncontract; p++)
        dims[2] = mk(a, TP_E_MUL, dims[2], x->dims[i->ints[2 * p]]);
    if (out->rank < i->nbatch + 2 || i->ncontract != 1)
        return;
    dims[0] = out->dims[out->rank - 2];
    dims[1] = out->dims[out->rank - 1];
    double used = 1;
    for (int k = 0; k < 3; k++)
        used *= share_of(tp_at_largest(a, dims[k]), k ? side : 8);
    for (int k = 0; k < 3; k++) {
        tp_str name;
        uint32_t d;
        int64_t n = tp_at_largest(a, dims[k]);
        bool tiny = n <= side / 4, padded = k && 100 * share_of(n, side) < FULL;
        if (n < 1 || (!tiny && !padded) || !could_grow(a, dims[k], &name, &d))
            continue;
        tp_finding *f =
            tp_advise(a, a->k->name, tp_body_loc(a, i->node, syntax),
                      tp_message(a, "this dot is %lld x %lld x %lld; the matrix unit of %.*s is %lld x %lld",
                                 (long long)tp_at_largest(a, dims[0]), (long long)tp_at_largest(a, dims[1]),
                                 (long long)tp_at_largest(a, dims[2]), TP_FMT(a->k->target.name), (long long)side,
                                 (long long)side),
                      tiny ? tp_message(a, "make dimension %u of the block of `%.*s` larger than %lld", d, TP_FMT(name),
                                        (long long)n)
                           : tp_message(a, "make blocks larger, so that its %s are a multiple of %lld",
                                        k == 1 ? "columns" : "contracted elements", (long long)side));
        f->note = tp_message(a,
                             "rows x columns x contraction, at the largest sizes; %.0f %% of the products on its whole "
                             "tiles are padding",
                             100 * (1 - used));
        return;
    }
}

static void check_region(tp_analysis *a, const tp_region *r)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        if (s->kind == TP_COMPUTE && s->inst->prim == TP_P_DOT)
            check_dot(a, s->inst, s->syntax);
        check_region(a, &s->body);
        check_region(a, &s->orelse);
        check_region(a, &s->test);
    }
}

static void check(tp_analysis *a)
{
    if (a->k->body)
        check_region(a, &a->k->body->statements);
}

const tp_rule tp_rule_tp602_small_matmul = {
    .code = "TP602",
    .slug = "small-matmul",
    .title = "dots that leave much of the matrix unit idle, with blocks that could be larger",
    .severity = TP_NOTE,
    .hardware = true,
    .per_dtype = false,
    .why =
        "The matrix unit multiplies tiles of 128 x 128 (256 x 256 from v6e). A dot with a much smaller side, or "
        "with one a little larger than a tile, multiplies padding; and small ones pay a step's fixed cost more often.",
    .bad = "\"block_shape\": [8, 16] on a [4096, 4096] operand of dot",
    .good = "\"block_shape\": [128, 128], or larger",
    .jax = "Nothing is reported.",
    .check = check,
};
