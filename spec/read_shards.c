/* "shard": an array that is cut among the devices of a kernel, as jax.shard_map cuts it by a PartitionSpec. What is
 * written of it, but for its "shape", speaks of the part that a device has. An array [M, K] cut along K among D devices
 * is [M, D, K // D] in memory: so it is read, with a squeezed dimension for the devices, and callers and references
 * keep [M, K]. That D divides K is for TP109 to prove. */
#include "spec/scope.h"

/* The axes that one dimension names, in order. */
typedef struct cut {
    uint32_t n, axis[TP_MAX_MESH];
    tp_loc loc[TP_MAX_MESH];
} cut;

static const char *axes_of_devices(tp_reader *r)
{
    tp_buf b = {.arena = r->c->arena};
    for (uint32_t x = 0; x < tp_mesh_rank(r->k); x++)
        tp_buf_printf(&b, "%s%.*s", x ? ", " : "axes of devices are ", TP_FMT(r->k->axes[x].name));
    return tp_cstr(r->c->arena, tp_buf_view(&b));
}

static void read_axis(tp_reader *r, const tp_operand *o, cut *x, const tp_json *v, bool *used)
{
    tp_expect_type(r->c, v, TP_J_STRING, "an axis of devices");
    int axis = tp_axis_find(r->k, v->u.string);
    if (axis < 0 || !r->k->axes[axis].device)
        tp_raise(r->c, TP_RULE_SPEC_NAME, v->loc, axes_of_devices(r), "`%.*s` is no axis of devices",
                 TP_FMT(v->u.string));
    if (used[axis])
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, "an axis cuts one dimension of an array, once",
                 "`%.*s` is cut along `%.*s` already", TP_FMT(o->name), TP_FMT(v->u.string));
    if (tp_expr_reads(r->k->exprs, r->k->axes[axis].steps))
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, "write the number of devices as a size",
                 "how many devices are along `%.*s` depends on a table", TP_FMT(v->u.string));
    used[axis] = true;
    x->loc[x->n] = v->loc;
    x->axis[x->n++] = (uint32_t)axis;
}

static cut read_cut(tp_reader *r, const tp_operand *o, const tp_json *v, bool *used)
{
    cut x = {.n = 0};
    if (v->type == TP_J_STRING)
        read_axis(r, o, &x, v, used);
    else if (v->type == TP_J_ARRAY)
        for (uint32_t i = 0; i < v->u.items.n; i++)
            read_axis(r, o, &x, v->u.items.at[i], used);
    else if (v->type != TP_J_NULL)
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, v->loc, "write \"d\", [\"r\", \"c\"] or null",
                 "a dimension is cut along an axis of devices, along several, or not: null");
    return x;
}

/* What a device has of a dimension. Sizes are written as products, or facts say that they are multiples. */
static tp_expr part_of(tp_reader *r, tp_expr extent, const cut *x)
{
    tp_exprs *p = r->k->exprs;
    tp_expr part = extent, whole = tp_const(p, 1);
    for (uint32_t i = 0; i < x->n; i++) {
        tp_expr steps = r->k->axes[x->axis[i]].steps;
        whole = tp_op2(p, TP_E_MUL, whole, steps);
        part = tp_expr_normal(p, tp_op2(p, TP_E_FLOORDIV, part, steps));
    }
    bool exact = tp_same(tp_expr_normal(p, tp_op2(p, TP_E_MUL, part, whole)), tp_expr_normal(p, extent));
    return !x->n ? extent : exact ? part : tp_op2(p, TP_E_FLOORDIV, extent, whole);
}

/* The dimensions of the array in memory, in place of those that are written. */
static void cut_dims(tp_reader *r, tp_operand *o, const cut *cuts)
{
    tp_arena *a = r->c->arena;
    uint32_t rank = o->rank, total = rank;
    for (uint32_t d = 0; d < rank; d++)
        total += cuts[d].n;
    tp_dim *dims = o->dims;
    o->global_rank = rank;
    o->global_shape = o->shape;
    o->global_dim = TP_NEWN(a, uint32_t, total);
    o->shape = TP_NEWN(a, tp_expr, total);
    o->dims = TP_NEWN(a, tp_dim, total);
    o->rank = 0;
    for (uint32_t d = 0; d < rank; d++) {
        for (uint32_t i = 0; i < cuts[d].n; i++, o->rank++) {
            const tp_axis *axis = &r->k->axes[cuts[d].axis[i]];
            o->shape[o->rank] = axis->steps;
            o->global_dim[o->rank] = d;
            o->dims[o->rank] = (tp_dim){.kind = TP_DIM_SQUEEZED,
                                        .block = tp_const(r->k->exprs, 1),
                                        .index = tp_sym(r->k->exprs, axis->sym),
                                        .loc = cuts[d].loc[i],
                                        .index_loc = cuts[d].loc[i],
                                        .shape_loc = cuts[d].loc[i]};
        }
        o->shape[o->rank] = part_of(r, o->global_shape[d], &cuts[d]);
        o->global_dim[o->rank] = d;
        o->dims[o->rank] = dims[d];
        if (o->whole)
            o->dims[o->rank].block = o->shape[o->rank];
        o->rank++;
    }
    o->whole = o->constant_map = false;
}

void tp_read_shard(tp_reader *r, tp_operand *o, const tp_json *v)
{
    bool used[TP_MAX_AXES] = {false};
    cut cuts[TP_MAX_RANK];
    uint32_t rank = tp_mesh_rank(r->k), n = 0;
    if (!rank)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, "give \"grid\" a first axis with \"semantics\": \"device\"",
                 "\"shard\" of a kernel that runs on one device");
    if (v->u.items.n != o->rank)
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, v->loc, "one entry per array dimension",
                 "shard has %u entr%s, the array has rank %u", v->u.items.n, v->u.items.n == 1 ? "y" : "ies", o->rank);
    for (uint32_t d = 0; d < o->rank; d++) {
        cuts[d] = read_cut(r, o, v->u.items.at[d], used);
        n += cuts[d].n;
    }
    if (o->rank + n > TP_MAX_RANK)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, "reshape it",
                 "dimensions and axes of devices of `%.*s` are %u together; at most %d are read", TP_FMT(o->name),
                 o->rank + n, TP_MAX_RANK);
    for (uint32_t x = 0; x < rank && o->role == TP_OUTPUT; x++)
        if (!used[x])
            tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc,
                     tp_printf(r->c->arena, "add a dimension of %.*s elements, and cut it along \"%.*s\"",
                               TP_FMT(tp_expr_text(r->k->exprs, r->k->axes[x].steps)), TP_FMT(r->k->axes[x].name))
                         .p,
                     "output `%.*s` is not cut along `%.*s`: all devices there would write one array", TP_FMT(o->name),
                     TP_FMT(r->k->axes[x].name));
    if (n)
        cut_dims(r, o, cuts);
}
