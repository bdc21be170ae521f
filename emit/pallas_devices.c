/* shard_map around the call: each device has its part of what has a dimension of devices in front, and the others as a
 * whole. */
#include "emit/internal.h"
#include "emit/pallas.h"

bool emit_is_part(const tp_kernel *k, uint32_t operand)
{
    const tp_operand *o = &k->operands[operand];
    return tp_has_devices(k) && o->rank && !o->whole && o->dims[0].kind == TP_DIM_SQUEEZED &&
           tp_same(tp_expr_normal(k->exprs, o->dims[0].index), tp_sym(k->exprs, k->axes[0].sym));
}

tp_str tp_emit_pallas_lacks(const tp_kernel *k)
{
    for (uint32_t i = 0; tp_has_devices(k) && i < k->ninputs + k->noutputs; i++) {
        const tp_operand *o = &k->operands[i];
        bool part = emit_is_part(k, i), named = false;
        for (uint32_t d = part; d < o->rank && !o->whole; d++)
            named |= tp_expr_mentions(k->exprs, o->dims[d].index, k->axes[0].sym);
        if (named || (!part && i >= k->ninputs))
            return tp_printf(k->arena,
                             "`%.*s` has no dimension of devices, \"block_shape\": [null, …] and \"index_map\": "
                             "[\"%.*s\", …]: shard_map gives devices equal parts",
                             TP_FMT(o->name), TP_FMT(k->axes[0].name));
    }
    return (tp_str){NULL, 0};
}

static void part(emitter *e, uint32_t operand, uint32_t first)
{
    emit_text(e, operand > first ? ", " : "");
    if (emit_is_part(e->k, operand))
        tp_buf_printf(e->b, "P(\"%.*s\")", TP_FMT(e->k->axes[0].name));
    else
        emit_text(e, "P()");
}

/* What the call is given on one device. */
static void given(emitter *e, bool by_device)
{
    const tp_kernel *k = e->k;
    bool any = false;
    for (uint32_t i = 0; i < k->nprefetched; i++, any = true)
        emit_item(e, any, k->tables[i].name);
    for (uint32_t i = 0; i < k->ninputs; i++, any = true) {
        emit_item(e, any, k->operands[i].name);
        emit_text(e, by_device && emit_is_part(k, i) ? "[0]" : "");
    }
}

void emit_shard_map(emitter *e)
{
    const tp_kernel *k = e->k;
    emit_text(e, "\n    def on_device(");
    given(e, false);
    emit_text(e, "):\n        return [part[None] for part in call(");
    given(e, true);
    tp_buf_printf(e->b, ")]\n\n    P = jax.sharding.PartitionSpec\n    mesh = jax.sharding.Mesh(jax.devices()[:");
    emit_expression(e, tp_json_get(tp_json_get(k->doc, "grid")->u.items.at[0], "steps"));
    tp_buf_printf(e->b, "], (\"%.*s\",))\n    return jax.shard_map(on_device, mesh=mesh, in_specs=(",
                  TP_FMT(k->axes[0].name));
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
    emit_text(e, "        ");
    emit_identifier(e, k->axes[0].name);
    tp_buf_printf(e->b, " = lax.axis_index(\"%.*s\")\n", TP_FMT(k->axes[0].name));
    for (uint32_t i = 0; i < tp_noperands(k); i++)
        if (k->operands[i].memory == TP_MEM_BARRIER) {
            emit_text(e, "        ");
            emit_ref(e, k->operands[i].name);
            emit_text(e, " = pltpu.get_barrier_semaphore()\n");
        }
}
