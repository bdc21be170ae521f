/* shard_map around the call: each device has its part of what has a dimension of devices in front, and the others as a
 * whole. */
#include "emit/internal.h"
#include "emit/pallas.h"

uint32_t emit_device_dims(const tp_kernel *k, uint32_t operand)
{
    const tp_operand *o = &k->operands[operand];
    uint32_t n = 0;
    for (uint32_t x = 0; x < tp_mesh_rank(k) && n < o->rank && !o->whole; x++)
        n += o->dims[n].kind == TP_DIM_SQUEEZED &&
             tp_same(tp_expr_normal(k->exprs, o->dims[n].index), tp_sym(k->exprs, k->axes[x].sym));
    return n;
}

/* Is a device, along some axis, named by the dimension of a window? */
static bool names_device(const tp_kernel *k, tp_expr index)
{
    bool names = false;
    for (uint32_t x = 0; x < tp_mesh_rank(k); x++)
        names |= tp_expr_mentions(k->exprs, index, k->axes[x].sym);
    return names;
}

tp_str tp_emit_pallas_lacks(const tp_kernel *k)
{
    uint32_t rank = tp_mesh_rank(k);
    for (uint32_t i = 0; rank && i < k->ninputs + k->noutputs; i++) {
        const tp_operand *o = &k->operands[i];
        uint32_t part = emit_device_dims(k, i);
        bool named = false;
        for (uint32_t d = part; d < o->rank && !o->whole; d++)
            named |= names_device(k, o->dims[d].index);
        if (named || (part < rank && i >= k->ninputs))
            return tp_printf(k->arena,
                             "`%.*s` has no dimension of devices, \"block_shape\": [null, …] and \"index_map\": "
                             "[\"%.*s\", …]: shard_map gives devices equal parts",
                             TP_FMT(o->name), TP_FMT(k->axes[0].name));
    }
    return (tp_str){NULL, 0};
}

/* P("r", "c"): the axes along which the first dimensions are cut. */
static void part(emitter *e, uint32_t operand, uint32_t first)
{
    const tp_kernel *k = e->k;
    emit_text(e, operand > first ? ", P(" : "P(");
    for (uint32_t d = 0; d < emit_device_dims(k, operand); d++) {
        tp_expr index = tp_expr_normal(k->exprs, k->operands[operand].dims[d].index);
        uint32_t x = 0;
        while (!tp_same(index, tp_sym(k->exprs, k->axes[x].sym)))
            x++;
        tp_buf_printf(e->b, "%s\"%.*s\"", d ? ", " : "", TP_FMT(k->axes[x].name));
    }
    emit_text(e, ")");
}

/* x[0, 0]: the part of one device; on all of them as a whole. */
static void given(emitter *e, bool by_device)
{
    const tp_kernel *k = e->k;
    bool any = false;
    for (uint32_t i = 0; i < k->nprefetched; i++, any = true)
        emit_item(e, any, k->tables[i].name);
    for (uint32_t i = 0; i < k->ninputs; i++, any = true) {
        uint32_t dims = emit_device_dims(k, i);
        emit_item(e, any, k->operands[i].name);
        for (uint32_t d = 0; d < dims && by_device; d++)
            emit_text(e, d ? ", 0" : "[0");
        emit_text(e, dims && by_device ? "]" : "");
    }
}

/* How many devices are along the axis, as a factor. */
static void steps(emitter *e, uint32_t axis)
{
    const tp_json *v = tp_json_get(tp_json_get(e->k->doc, "grid")->u.items.at[axis], "steps");
    bool name = v->type != TP_J_STRING || tp_size_find(e->k, v->u.string);
    emit_text(e, name ? "" : "(");
    emit_expression(e, v);
    emit_text(e, name ? "" : ")");
}

/* The devices of a mesh, line by line. */
static void mesh(emitter *e)
{
    uint32_t rank = tp_mesh_rank(e->k);
    if (rank == 1) {
        emit_text(e, "jax.devices()[:");
        emit_expression(e, tp_json_get(tp_json_get(e->k->doc, "grid")->u.items.at[0], "steps"));
        emit_text(e, "], (");
    } else {
        emit_text(e, "np.reshape(jax.devices()[:");
        for (uint32_t x = 0; x < rank; x++) {
            emit_text(e, x ? " * " : "");
            steps(e, x);
        }
        emit_text(e, "], (");
        for (uint32_t x = 0; x < rank; x++) {
            emit_text(e, x ? ", " : "");
            steps(e, x);
        }
        emit_text(e, ")), (");
    }
    for (uint32_t x = 0; x < rank; x++)
        tp_buf_printf(e->b, "%s\"%.*s\"", x ? ", " : "", TP_FMT(e->k->axes[x].name));
    emit_text(e, rank == 1 ? ",))" : "))");
}

void emit_shard_map(emitter *e)
{
    const tp_kernel *k = e->k;
    emit_text(e, "\n    def on_device(");
    given(e, false);
    emit_text(e, "):\n        return [part[None");
    for (uint32_t x = 1; x < tp_mesh_rank(k); x++)
        emit_text(e, ", None");
    emit_text(e, "] for part in call(");
    given(e, true);
    emit_text(e, ")]\n\n    P = jax.sharding.PartitionSpec\n    mesh = jax.sharding.Mesh(");
    mesh(e);
    emit_text(e, "\n    return jax.shard_map(on_device, mesh=mesh, in_specs=(");
    for (uint32_t i = 0; i < k->nprefetched; i++)
        emit_text(e, "P(), ");
    for (uint32_t i = 0; i < k->ninputs; i++)
        part(e, i, 0);
    emit_text(e, k->nprefetched + k->ninputs == 1 ? ",), out_specs=[" : "), out_specs=[");
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++)
        part(e, i, k->ninputs);
    emit_text(e, "], check_vma=False)(");
    given(e, false);
    emit_text(e, ")\n");
}

void emit_device(emitter *e)
{
    const tp_kernel *k = e->k;
    for (uint32_t x = 0; x < tp_mesh_rank(k); x++) {
        emit_text(e, "        ");
        emit_identifier(e, k->axes[x].name);
        tp_buf_printf(e->b, " = lax.axis_index(\"%.*s\")\n", TP_FMT(k->axes[x].name));
    }
    for (uint32_t i = 0; i < tp_noperands(k); i++)
        if (k->operands[i].memory == TP_MEM_BARRIER) {
            emit_text(e, "        ");
            emit_ref(e, k->operands[i].name);
            emit_text(e, " = pltpu.get_barrier_semaphore()\n");
        }
}
