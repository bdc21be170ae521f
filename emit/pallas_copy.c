/* Statements that move data between refs, and semaphores. */
#include "emit/internal.h"

/* Parts of a ref are named by `.at` where they are moved. */
void emit_side(emitter *e, const tp_node *place)
{
    if (place->kind == TP_N_NAME) { /* one semaphore */
        emit_node(e, place, 0);
        return;
    }
    emit_node(e, place->kids[0], 0);
    if (place->nkids == 2 && place->kids[1]->kind == TP_N_ELLIPSIS)
        return;
    emit_text(e, ".at");
    emit_subscripts(e, place);
}

/* The other device, by its coordinates or its number. */
static void other(emitter *e, const tp_node *device)
{
    bool coordinates = device->kind == TP_N_SEQUENCE;
    emit_text(e, ", device_id=");
    if (!coordinates)
        emit_node(e, device, 0);
    for (uint32_t i = 0; coordinates && i < device->nkids; i++) {
        emit_text(e, i ? ", " : "(");
        emit_node(e, device->kids[i], 0);
    }
    emit_text(e, !coordinates ? "" : device->nkids == 1 ? ",)" : ")");
    tp_buf_printf(e->b, ", device_id_type=pl.DeviceIdType.%s", coordinates ? "MESH" : "LOGICAL");
}

/* copy, copy_start, copy_wait */
static void copy(emitter *e, const tp_node *n)
{
    bool now = tp_str_is(n->text, "copy");
    const tp_node *arrival = now ? NULL : emit_argument(n, "recv_sem", 3);
    emit_text(e, now ? "pltpu.sync_copy(" : arrival ? "pltpu.make_async_remote_copy(" : "pltpu.make_async_copy(");
    emit_side(e, emit_argument(n, "src", 0));
    emit_text(e, ", ");
    emit_side(e, emit_argument(n, "dst", 1));
    if (!now) {
        emit_text(e, ", ");
        emit_side(e, emit_argument(n, "sem", 2));
    }
    if (arrival) {
        emit_text(e, ", ");
        emit_side(e, arrival);
        other(e, emit_argument(n, "device", 4));
    }
    emit_text(e, now ? ")" : tp_str_is(n->text, "copy_start") ? ").start()" : ").wait()");
}

static void count(emitter *e, const tp_node *n)
{
    const tp_node *by = emit_argument(n, "n", 1), *device = emit_argument(n, "device", 2);
    tp_buf_printf(e->b, "pl.%.*s(", TP_FMT(n->text));
    emit_side(e, emit_argument(n, "sem", 0));
    emit_text(e, ", ");
    if (by)
        emit_node(e, by, 0);
    else
        emit_text(e, "1");
    if (device)
        other(e, device);
    emit_text(e, ")");
}

bool emit_movement(emitter *e, const tp_node *n)
{
    bool copies = tp_str_is(n->text, "copy") || tp_str_is(n->text, "copy_start") || tp_str_is(n->text, "copy_wait"),
         counts = tp_str_is(n->text, "semaphore_signal") || tp_str_is(n->text, "semaphore_wait");
    if (copies)
        copy(e, n);
    if (counts)
        count(e, n);
    return copies || counts;
}
