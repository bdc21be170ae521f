/* What several devices did, and which of it happens in that order whenever the devices run.
 *
 * Each device does its acts one after the other. Signals add to a counter, of any device; waits take from a counter of
 * their own device, and only that device waits for it. So acts of different devices never compete: whatever order they
 * run in, each device does the same acts, and either all come to their ends or the same ones are stuck
 * (G. Kahn, "The semantics of a simple language for parallel programming", IFIP 1974, on processes that wait for one
 * channel at a time). An act a happens before an act b in every order exactly if b is never done where a is left out:
 * where its device stops before a, or the last byte of a never comes. One run of counters tells that, and no order
 * needs to be tried.
 *
 * A copy reads its source and writes its destination at any time between its start and the last of the bytes that it
 * counts, one by one: a wait for fewer tells nothing of it. It is ordered with what touches the same elements if that
 * is done before its start in every order, or after its last byte.
 */
#ifndef TP_ORDER_H
#define TP_ORDER_H

#include "base/arena.h"
#include "base/vec.h"

/* Which acts of devices wait for each other; who touches what is the caller's. */
typedef enum tp_act_kind {
    TP_ACT_SIGNAL, /* adds n to `counter` of `device` */
    TP_ACT_WAIT,   /* takes n off `counter` of its own device, once it is there */
    TP_ACT_START   /* a copy begins: `copy` of the order */
} tp_act_kind;

typedef struct tp_act {
    tp_act_kind kind;
    uint32_t device, counter;
    int64_t n;
    size_t copy;
} tp_act;

/* A copy that is known to have read its source when it has added n to `sent` of its own device (no counter: when it has
 * arrived), and to have written its destination when it has added n to `arrived` of device `to`. */
typedef struct tp_shipment {
    uint32_t from, to, sent, arrived;
    int64_t n;
    size_t started; /* the act of `from` */
} tp_shipment;
#define TP_NO_COUNTER UINT32_MAX

typedef TP_VEC(tp_act) tp_acts;
typedef struct tp_order {
    uint32_t devices, counters; /* counters of each device */
    tp_acts *acts;              /* by device, in the order in which it does them */
    TP_VEC(tp_shipment) copies;
    int64_t *count; /* work space */
    uint32_t *ready;
    bool *stuck;
} tp_order;

void tp_order_begin(tp_order *o, tp_arena *a, uint32_t devices, uint32_t counters);
/* Device `by` does this next; in `a`, which may be another one for each device. */
void tp_order_signal(tp_order *o, tp_arena *a, uint32_t by, uint32_t device, uint32_t counter, int64_t n);
void tp_order_wait(tp_order *o, tp_arena *a, uint32_t by, uint32_t counter, int64_t n);
/* The number of the copy. */
size_t tp_order_start(tp_order *o, tp_arena *a, tp_shipment s);

/* What is left out of a run. */
typedef struct tp_omission {
    uint32_t device; /* stops before its act number `act`; no device: none does */
    size_t act;
    bool copy;   /* the last unit that number `of` counts where it arrives; */
    bool source; /* ... and where its source is read */
    size_t of;
    bool behind; /* and all that later ones from the same device count there: they arrive in turn */
} tp_omission;
#define TP_NO_DEVICE UINT32_MAX

/* Number of acts that each device does at last where that is left out; what touches memory after the last of them,
 * before the next, is done as well. */
void tp_order_reach(tp_order *o, tp_arena *a, tp_omission without, size_t *reached);
/* The largest p <= acts of `device` such that act `act` of device `by` is never done where `device` stops before its
 * own act p; -1: it may be done before `device` does anything. Everything up to there happens before it in every order.
 */
int64_t tp_order_before(tp_order *o, tp_arena *a, uint32_t by, size_t act, uint32_t device);

#endif
