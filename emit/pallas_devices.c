/* shard_map around the call: each device has its part of what is cut among them, or has a dimension of devices in
 * front, and the others as a whole. */
#include "emit/internal.h"
#include "emit/pallas.h"

/* Is the dimension that of the device along this axis, whatever its extent? */
static bool is_at_device(const tp_kernel *k, const tp_operand *o, uint32_t d, uint32_t axis)
{
    return o->dims[d].kind == TP_DIM_SQUEEZED &&
           tp_same(tp_expr_normal(k->exprs, o->dims[d].index), tp_sym(k->exprs, k->axes[axis].sym));
}

uint32_t emit_device_dims(const tp_kernel *k, uint32_t operand)
{
    const tp_operand *o = &k->operands[operand];
    uint32_t n = 0;
    for (uint32_t x = 0; x < tp_mesh_rank(k) && n < o->rank && !o->whole && !o->global_shape; x++)
        n += is_at_device(k, o, n, x) &&
             tp_same(tp_expr_normal(k->exprs, o->shape[n]), tp_expr_normal(k->exprs, k->axes[x].steps));
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

/* A first dimension of which devices use the first elements. */
static tp_str longer_dimension(const tp_kernel *k, const tp_operand *o, uint32_t part)
{
    for (uint32_t x = 0; x < tp_mesh_rank(k) && part < o->rank && !o->whole && !o->global_shape; x++)
        if (is_at_device(k, o, part, x))
            return tp_printf(k->arena,
                             "dimension %u of `%.*s` has %.*s elements, one for each of the %.*s devices along `%.*s`: "
                             "shard_map gives devices equal parts of all of it",
                             part, TP_FMT(o->name), TP_FMT(tp_expr_text(k->exprs, o->shape[part])),
                             TP_FMT(tp_expr_text(k->exprs, k->axes[x].steps)), TP_FMT(k->axes[x].name));
    return (tp_str){NULL, 0};
}

tp_str tp_emit_pallas_lacks(const tp_kernel *k)
{
    uint32_t rank = tp_mesh_rank(k);
    for (uint32_t i = 0; rank && i < k->ninputs + k->noutputs; i++) {
        const tp_operand *o = &k->operands[i];
        uint32_t part = emit_device_dims(k, i);
        tp_str longer = longer_dimension(k, o, part);
        bool named = false;
        if (longer.n)
            return longer;
        for (uint32_t d = part; d < o->rank && !o->whole; d++)
            named |= !tp_is_cut(o, d) && names_device(k, o->dims[d].index);
        if (named || (part < rank && i >= k->ninputs && !o->global_shape))
            return tp_printf(k->arena,
                             "`%.*s` has no dimension of devices, \"block_shape\": [null, …] and \"index_map\": "
                             "[\"%.*s\", …]: shard_map gives devices equal parts",
                             TP_FMT(o->name), TP_FMT(k->axes[0].name));
    }
    return (tp_str){NULL, 0};
}

static void axis_of(emitter *e, const tp_operand *o, uint32_t d)
{
    const tp_kernel *k = e->k;
    tp_expr index = tp_expr_normal(k->exprs, o->dims[d].index);
    uint32_t x = 0;
    while (!tp_same(index, tp_sym(k->exprs, k->axes[x].sym)))
        x++;
    tp_buf_printf(e->b, "\"%.*s\"", TP_FMT(k->axes[x].name));
}

/* P(None, ("r", "c")): the axes along which dimensions are cut, or the first ones. */
static void part(emitter *e, uint32_t operand, uint32_t first)
{
    const tp_operand *o = &e->k->operands[operand];
    emit_text(e, operand > first ? ", P(" : "P(");
    for (uint32_t d = 0; d < emit_device_dims(e->k, operand); d++) {
        emit_text(e, d ? ", " : "");
        axis_of(e, o, d);
    }
    for (uint32_t d = 0, axes; o->global_shape && d < o->rank; d += axes + 1) {
        for (axes = 0; tp_is_cut(o, d + axes);)
            axes++;
        emit_text(e, d ? ", " : "");
        emit_text(e, axes > 1 ? "(" : axes ? "" : "None");
        for (uint32_t i = 0; i < axes; i++) {
            emit_text(e, i ? ", " : "");
            axis_of(e, o, d + i);
        }
        emit_text(e, axes > 1 ? ")" : "");
    }
    emit_text(e, ")");
}

void emit_part_shape(emitter *e, uint32_t operand, const tp_json *list)
{
    const tp_operand *o = &e->k->operands[operand];
    if (!o->global_shape) {
        emit_shape(e, list, emit_device_dims(e->k, operand));
        return;
    }
    emit_text(e, "(");
    for (uint32_t d = 0; d < o->rank; d++)
        if (!tp_is_cut(o, d)) {
            emit_part_extent(e, o, d);
            emit_text(e, d + 1 < o->rank ? ", " : o->global_rank == 1 ? ",)" : ")");
        }
}

void emit_part_extent(emitter *e, const tp_operand *o, uint32_t d)
{
    tp_json text = {.type = TP_J_STRING};
    text.u.string = tp_expr_text(e->k->exprs, o->shape[d]);
    emit_expression(e, &text);
}

/* x[0, 0]: the part of one device; on all of them as a whole. `arrays`: by the names that the caller gives. */
static void given(emitter *e, bool by_device, bool arrays)
{
    const tp_kernel *k = e->k;
    bool any = false;
    for (uint32_t i = 0; i < k->nprefetched; i++, any = true)
        emit_item(e, any, k->tables[i].name);
    for (uint32_t i = 0; i < k->ninputs; i++, any = true) {
        uint32_t dims = emit_device_dims(k, i);
        emit_item(e, any, arrays ? tp_array_name(k, i) : k->operands[i].name);
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

static bool has_device_dims(const tp_kernel *k)
{
    bool any = false;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        any |= emit_device_dims(k, i) > 0;
    return any;
}

/* The call, with arrays that have no first dimension of devices, and results that get one. */
static void on_device(emitter *e)
{
    const tp_kernel *k = e->k;
    uint32_t whole = 0;
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++)
        whole += !emit_device_dims(k, i);
    bool all = whole == k->noutputs;
    emit_text(e, "\n    def on_device(");
    given(e, false, false);
    emit_text(e, "):\n        return ");
    if (!all) {
        emit_text(e, "[part[None");
        for (uint32_t x = 1; x < tp_mesh_rank(k); x++)
            emit_text(e, ", None");
        emit_text(e, whole ? "] if front else part for part, front in zip(call(" : "] for part in call(");
    } else {
        emit_text(e, "[*call(");
    }
    given(e, true, false);
    emit_text(e, whole && !all ? "), (" : ")]\n");
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs && whole && !all; i++)
        emit_text(e, emit_device_dims(k, i) ? "True, " : "False, ");
    emit_text(e, whole && !all ? "))]\n" : "");
}

void emit_shard_map(emitter *e)
{
    const tp_kernel *k = e->k;
    bool adapts = has_device_dims(k);
    if (adapts)
        on_device(e);
    emit_text(e, "\n    P = jax.sharding.PartitionSpec\n    mesh = jax.sharding.Mesh(");
    mesh(e);
    tp_buf_printf(e->b, "\n    return jax.shard_map(%s, mesh=mesh, in_specs=(", adapts ? "on_device" : "call");
    for (uint32_t i = 0; i < k->nprefetched; i++)
        emit_text(e, "P(), ");
    for (uint32_t i = 0; i < k->ninputs; i++)
        part(e, i, 0);
    emit_text(e, k->nprefetched + k->ninputs == 1 ? ",), out_specs=" : "), out_specs=");
    emit_text(e, adapts ? "[" : "("); /* what a pallas_call returns is a tuple */
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++)
        part(e, i, k->ninputs);
    emit_text(e, adapts ? "]" : k->noutputs == 1 ? ",)" : ")");
    emit_text(e, ", check_vma=False)(");
    given(e, false, true);
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
