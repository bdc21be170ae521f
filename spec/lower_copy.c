/* Statements that move data between refs, and the semaphores that count them:
 * copy, copy_start, copy_wait, semaphore_signal, semaphore_wait. */
#include "spec/lower.h"

/* One side of a copy, wherever its memory is. */
typedef struct side {
    const tp_node *node;
    tp_access *access;
    const tp_operand *operand;
    uint32_t rank;
    tp_expr dims[TP_MAX_RANK];
} side;

static side side_of(tp_lower *l, const tp_node *n)
{
    side s = {.node = n};
    if (n->kind != TP_N_INDEX)
        lower_fail(l, n, "write x[...] for all of it", "a subscripted ref is expected");
    s.access = lower_place(l, n, &s.rank, s.dims);
    s.operand = &l->k->operands[s.access->operand];
    if (tp_is_semaphore(s.operand))
        lower_fail(l, n, NULL, "`%.*s` is a semaphore; it cannot be copied", TP_FMT(s.operand->name));
    return s;
}

/* One counter: sem of a semaphore without dimensions, sem[i] of an array of them. */
static tp_access *counter(tp_lower *l, const tp_node *n, tp_memory kind)
{
    const tp_node *name = n->kind == TP_N_INDEX ? n->kids[0] : n;
    int at = name->kind == TP_N_NAME && !lower_find_local(l, name->text) ? tp_operand_find(l->k, name->text) : -1;
    const tp_operand *o = at < 0 ? NULL : &l->k->operands[at];
    if (!o || (o->memory != kind && !(kind == TP_MEM_SEMAPHORE && o->memory == TP_MEM_BARRIER)))
        lower_fail(l, n,
                   kind == TP_MEM_DMA_SEMAPHORE ? "declare it in \"scratch\" with \"memory_space\": \"dma_semaphore\""
                                                : "declare it in \"scratch\" with \"memory_space\": \"semaphore\"",
                   "a %s is expected", kind == TP_MEM_DMA_SEMAPHORE ? "DMA semaphore" : "semaphore");
    lower_check_open(l, (uint32_t)at, name);
    if (n->kind == TP_N_NAME && o->ref_rank)
        lower_fail(l, n, "write the index of one: sem[i]", "`%.*s` is an array of semaphores", TP_FMT(o->name));
    if (n->kind == TP_N_NAME) {
        tp_access *a = TP_NEW(l->c->arena, tp_access);
        a->operand = (uint32_t)at;
        return a;
    }
    tp_expr dims[TP_MAX_RANK];
    uint32_t rank;
    tp_access *a = lower_place(l, n, &rank, dims);
    if (rank)
        lower_fail(l, n, "write the index of one: sem[i]", "one semaphore is expected, not several");
    return a;
}

static tp_vid coordinate(tp_lower *l, const tp_node *n)
{
    tp_vid v = lower_coerce(l, lower_expr(l, n), TP_I32, n);
    if (lower_value(l, v)->rank)
        lower_fail(l, n, NULL, "a device is a scalar, not %.*s", TP_FMT(lower_type_text(l, v)));
    return v;
}

/* Coordinates of the device of that number. One that there is not has one beyond its axis. */
static void numbered(tp_lower *l, tp_vid number, const tp_node *n, tp_vid *out)
{
    for (uint32_t i = tp_mesh_rank(l->k); i-- > 1;) {
        tp_vid steps = lower_axis_value(l, TP_P_NUM_PROGRAMS, (int)i, n);
        out[i] = lower_binary(l, TP_P_MOD, number, steps, n);
        number = lower_binary(l, TP_P_FLOORDIV, number, steps, n);
    }
    out[0] = number;
}

/* Another device, as a copy or a signal names it: (r, c), or by its number. */
static void device(tp_lower *l, const tp_node *n, tp_vid *out)
{
    uint32_t rank = tp_mesh_rank(l->k);
    if (!tp_has_devices(l->k))
        lower_fail(l, n, "begin the grid with {\"axis\": \"d\", \"steps\": \"D\", \"semantics\": \"device\"}",
                   "this kernel runs on one device");
    for (uint32_t a = rank; a < l->k->naxes; a++)
        if (l->k->axes[a].parallel)
            lower_fail(l, n, "make it arbitrary",
                       "the axis `%.*s` is parallel: its steps have no order in which devices "
                       "could wait for each other",
                       TP_FMT(l->k->axes[a].name));
    l->p->connected = true;
    if (n->kind != TP_N_SEQUENCE) {
        numbered(l, coordinate(l, n), n, out);
        return;
    }
    if (n->nkids != rank)
        lower_fail(l, n, "write one for each axis with semantics device, or the number of the device",
                   "a device has %u coordinate%s here, not %u", rank, rank > 1 ? "s" : "", n->nkids);
    for (uint32_t i = 0; i < rank; i++)
        out[i] = coordinate(l, n->kids[i]);
}

/* Memory of another device has to be there when this one writes to it. */
static void check_lasting(tp_lower *l, const tp_access *a, const tp_node *n)
{
    const tp_operand *o = &l->k->operands[a->operand];
    if (o->scoped)
        lower_fail(l, n, "declare it in \"scratch\"", "`%.*s` of another device is there only within its `with`",
                   TP_FMT(o->name));
    if (o->role != TP_SCRATCH && !tp_is_far(o))
        lower_fail(l, n, "copy to scratch, or to an output in any or hbm",
                   "`%.*s` is a window, which moves with the steps of the other device", TP_FMT(o->name));
}

static tp_expr elements(tp_lower *l, const side *s)
{
    tp_expr n = tp_const(l->k->exprs, 1);
    for (uint32_t d = 0; d < s->rank; d++)
        n = tp_op2(l->k->exprs, TP_E_MUL, n, s->dims[d]);
    return n;
}

static void check_sides(tp_lower *l, const side *from, const side *to, const tp_node *n)
{
    const tp_operand *x = from->operand, *y = to->operand;
    if (x->memory == TP_MEM_SMEM && y->memory == TP_MEM_SMEM)
        lower_fail(l, n, "load it and store it", "`%.*s` and `%.*s` are both in smem; no copy goes from there to there",
                   TP_FMT(x->name), TP_FMT(y->name));
    if (x->dtype != y->dtype)
        lower_fail(l, n, "copy to a buffer of the same dtype, and cast what is loaded from it",
                   "a copy from %s to %s; it moves bytes, and casts nothing", tp_dtype_info(x->dtype)->name,
                   tp_dtype_info(y->dtype)->name);
}

/* What is moved, as a value; from there the copy is a store. */
static tp_vid copy_source(tp_lower *l, const side *from, const side *to, const tp_node *n)
{
    check_sides(l, from, to, n);
    tp_vid v = lower_load(l, from->access, from->rank, from->dims, from->node);
    if (from->rank != to->rank || !lower_same_shape(l, lower_value(l, v), to->rank, to->dims))
        lower_fail(l, n, "both sides need one shape", "a copy from %.*s to %.*s",
                   TP_FMT(lower_shape_text(l, from->rank, from->dims)),
                   TP_FMT(lower_shape_text(l, to->rank, to->dims)));
    return v;
}

static void lower_copy(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"src", "dst", NULL};
    const tp_node *args[2];
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    side from = side_of(l, args[0]), to = side_of(l, args[1]);
    lower_store_to(l, to.access, to.rank, to.dims, copy_source(l, &from, &to, n), args[1], args[1]);
    l->region->at[l->region->len - 1].from = from.access;
}

static void lower_start(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"src", "dst", "sem", "recv_sem", "device", NULL};
    const tp_node *args[5];
    lower_bind_args(l, n, 0, PARAMS, 3, args);
    side from = side_of(l, args[0]), to = side_of(l, args[1]);
    tp_access *semaphore = counter(l, args[2], TP_MEM_DMA_SEMAPHORE), *arrival = NULL;
    tp_vid other[TP_MAX_MESH] = TP_NOWHERE;
    if (!args[3] != !args[4])
        lower_fail(l, n, "copy_start(src, dst, send_sem, recv_sem, device=e)",
                   "a copy to another device has a semaphore there, recv_sem, and the device");
    if (args[3]) {
        arrival = counter(l, args[3], TP_MEM_DMA_SEMAPHORE);
        check_lasting(l, to.access, args[1]);
        check_lasting(l, arrival, args[3]);
        device(l, args[4], other);
    }
    lower_store_to(l, to.access, to.rank, to.dims, copy_source(l, &from, &to, n), args[1], args[1]);
    tp_statement *s = &l->region->at[l->region->len - 1];
    s->kind = TP_COPY_START;
    s->from = from.access;
    s->semaphore = semaphore;
    s->arrival = arrival;
    memcpy(s->device, other, sizeof other);
}

/* Neither side is looked at: what counts are the bytes of the destination. Who follows values for all sizes takes the
 * copy that ends here for a store that is made here, and finds in `inst` what it loads. */
static void lower_wait(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"src", "dst", "sem", NULL};
    const tp_node *args[3];
    lower_bind_args(l, n, 0, PARAMS, 3, args);
    side from = side_of(l, args[0]), to = side_of(l, args[1]);
    if (tp_dtype_info(from.operand->dtype)->bits != tp_dtype_info(to.operand->dtype)->bits ||
        !lower_same_dim(l, elements(l, &from), elements(l, &to)))
        lower_fail(l, n, "name the copy that was started, or one of as many bytes",
                   "the source has other bytes than the destination: %s%.*s and %s%.*s",
                   tp_dtype_info(from.operand->dtype)->name, TP_FMT(lower_shape_text(l, from.rank, from.dims)),
                   tp_dtype_info(to.operand->dtype)->name, TP_FMT(lower_shape_text(l, to.rank, to.dims)));
    tp_access *semaphore = counter(l, args[2], TP_MEM_DMA_SEMAPHORE);
    tp_vid v = lower_load(l, from.access, from.rank, from.dims, from.node);
    tp_statement load = l->region->at[--l->region->len], *s = lower_statement(l, TP_COPY_WAIT);
    s->inst = load.inst;
    s->value = v;
    s->from = from.access;
    s->access = to.access;
    s->semaphore = semaphore;
}

static void lower_count(tp_lower *l, const tp_node *n, tp_statement_kind kind)
{
    static const char *const SIGNAL[] = {"sem", "n", "device", NULL}, *const WAIT[] = {"sem", "n", NULL};
    const tp_node *args[3] = {NULL};
    lower_bind_args(l, n, 0, kind == TP_SIGNAL ? SIGNAL : WAIT, 1, args);
    tp_access *semaphore = counter(l, args[0], TP_MEM_SEMAPHORE);
    tp_vid v = args[1] ? lower_expr(l, args[1]) : lower_weak_int(l, tp_const(l->k->exprs, 1));
    v = lower_coerce(l, v, TP_I32, args[1] ? args[1] : n);
    if (lower_value(l, v)->rank)
        lower_fail(l, args[1], NULL, "a count is a scalar, not %.*s", TP_FMT(lower_type_text(l, v)));
    tp_vid other[TP_MAX_MESH] = TP_NOWHERE;
    if (args[2]) {
        check_lasting(l, semaphore, args[0]);
        device(l, args[2], other);
    }
    tp_statement *s = lower_statement(l, kind);
    s->value = v;
    s->semaphore = semaphore;
    memcpy(s->device, other, sizeof other);
}

bool lower_movement(tp_lower *l, const tp_node *n)
{
    tp_prim p = tp_prim_find(n->text);
    if (p != TP_P_COPY && p != TP_P_COPY_START && p != TP_P_COPY_WAIT && p != TP_P_SEMAPHORE_SIGNAL &&
        p != TP_P_SEMAPHORE_WAIT)
        return false;
    if (l->reference)
        lower_fail(l, n, "assign arrays", "a reference has no refs and no semaphores");
    if (p == TP_P_COPY)
        lower_copy(l, n);
    else if (p == TP_P_COPY_START)
        lower_start(l, n);
    else if (p == TP_P_COPY_WAIT)
        lower_wait(l, n);
    else
        lower_count(l, n, p == TP_P_SEMAPHORE_SIGNAL ? TP_SIGNAL : TP_AWAIT);
    return true;
}
