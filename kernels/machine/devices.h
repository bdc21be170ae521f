/* Shared by devices.c, which runs the devices of a kernel by turns, and exchange.c, where they wait for each other. */
#ifndef TP_DEVICES_H
#define TP_DEVICES_H

#include "base/rng.h"
#include "kernels/machine/crew.h"
#include "kernels/machine/order.h"

/* Each copy is held against each other one. Looks at one part are noted once where few others lie between. */
enum { MOST_DEVICES = 64, MOST_NOTES = 1 << 20, MOST_COPIES = 1 << 13, RECENT = 64 };

/* A device looked at a part of an operand after so many acts. */
typedef struct touch {
    size_t after;
    uint32_t operand;
    bool writes;
    const tp_slice *part; /* NULL: all */
    const tp_statement *statement;
    int64_t step;
} touch;

/* What a copy touches; number by number the copies of the order. */
typedef struct parcel {
    const tp_statement *start;
    int64_t step;
    uint32_t device, there;
    tp_slice source, destination;
    bool told; /* an observer knows that it has arrived */
} parcel;

/* A signal to another device, but for those of its barrier. */
typedef struct signal_there {
    const tp_statement *at;
    int64_t step;
    uint32_t device, there;
    size_t act;
} signal_there;

typedef enum state { RUNS, WAITS, MEETS, ENDED } state;

typedef struct doing {
    state state;
    const int64_t *count; /* WAITS: until it is `need` */
    int64_t need;
    const tp_statement *at;
    int64_t step;
    uint32_t phase; /* MEETS: until all have come to this one */
    bool entered;
    TP_VEC(touch) touches;
} doing;

struct tp_devices {
    tp_crew crew;
    tp_worker *workers;
    doing *all;
    uint32_t n;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint32_t turn;
    tp_rng rng;       /* who is next */
    bool failed;      /* all leave where they are */
    uint32_t culprit; /* the first that did */
    tp_status status; /* ... with this */
    bool checked;     /* what comes at the end, by the first that gets there */
    bool has_barrier;
    bool *watched;  /* by operand: a side of some copy */
    uint32_t *base; /* by operand: its first counter */
    int64_t *count; /* by device, by counter */
    uint32_t counters;
    int64_t notes;
    tp_order order;
    TP_VEC(parcel) parcels;
    TP_VEC(signal_there) signals;
};

/* exchange.c */
/* Some device that can go on has the turn; false: none can. With d->lock. */
bool tp_exchange_hand_over(tp_devices *d);
/* Leaves with a trap of the machine `m` where something that was noted could have happened in another order. */
void tp_exchange_check(void *m);

#endif
