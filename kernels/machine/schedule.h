/* What a run does to semaphores, to other devices and by copies: an observer that notes each copy, signal and wait, and
 * plays them again in units of time. A statement takes one unit, a copy a few; a wait ends when what it waits for is
 * there. So devices that run by turns in the machine stand side by side. Units are no times of a TPU.
 *
 * Of a trap the sides are kept (machine.h), and tp_schedule_to_trap() makes of them an order of the devices in which it
 * happens. What devices do is the same in every order (order.h), so a played schedule is one that the kernel may take.
 */
#ifndef TP_SCHEDULE_H
#define TP_SCHEDULE_H

#include "kernels/machine/machine.h"
#include "kernels/machine/order.h"

enum {
    TP_SCHEDULE_DEEDS = 1 << 14, /* kept at most: of a longer run the first ones */
    TP_SCHEDULE_DEVICES = 64,    /* as many as are executed */
    TP_SCHEDULE_SIDES = 64,      /* of a trap: each device may be one */
    TP_UNITS_SENT = 2,           /* from the start of a copy until its source is read, */
    TP_UNITS_THERE = 3           /* ... and until its destination is written */
};
#define TP_NO_UNIT (-1)

/* A copy that is started, a signal or a wait. */
typedef struct tp_deed {
    tp_act_kind kind;
    uint32_t device, there;        /* who does it; where its counter or its destination is */
    uint32_t operand, from;        /* START: destination and source; else the semaphore */
    const tp_statement *statement; /* of the body */
    int64_t step;                  /* as in tp_trap */
    int64_t n;                     /* bits, or what a regular semaphore counts */
    int64_t copy;                  /* START: its number, from 1; else 0 */
    uint32_t counter, sent;        /* where it counts: numbers of tp_schedule.counters; sent: START; or TP_NO_COUNTER */
    uint32_t next;                 /* deed of that device, + 1; 0: none */
    /* of the play, in units; TP_NO_UNIT: not by its end */
    int64_t reached, done;     /* it is next; it is done: between them a wait is a stall */
    int64_t was_sent, arrived; /* START */
    int64_t waited;            /* START: the wait is done that took its last bit off the counter */
    int64_t upto;              /* START: bits on its counter when it had arrived */
} tp_deed;

typedef struct tp_schedule_counter {
    uint32_t device, operand;
    size_t element;
} tp_schedule_counter;

/* A semaphore counts so much from a unit on. */
typedef struct tp_schedule_count {
    int64_t unit;
    uint32_t counter;
    int64_t n; /* of a DMA semaphore in bits */
} tp_schedule_count;

typedef struct tp_schedule {
    tp_observer observer; /* first: see() casts */
    const tp_kernel *k;
    tp_deed *deeds; /* in the order of the run */
    uint32_t ndeeds, devices;
    uint32_t *first, *last, *acts; /* by device: its deeds, + 1; their number */
    bool full;                     /* more was done than is kept */
    tp_schedule_counter *counters;
    uint32_t ncounters;
    uint32_t *hash;
    struct play *work;                     /* room of plays */
    tp_trap_side sides[TP_SCHEDULE_SIDES]; /* of the last trap that was told; texts are not kept */
    uint32_t nsides;
    bool trapped;
    /* of the last play: */
    int64_t units;             /* it ends before this one */
    bool stopped;              /* ... because the moment that was asked for came */
    tp_schedule_count *counts; /* in the order of units */
    uint32_t ncounts;
} tp_schedule;

/* An observer for a run of k on so many devices (1: on one), to which the request of the run points; all memory is
 * taken from `a` now. Of more than TP_SCHEDULE_DEVICES nothing is kept. */
tp_schedule *tp_schedule_new(tp_arena *a, const tp_kernel *k, uint32_t devices);

/* What is held back in a play. */
typedef struct tp_pace {
    uint32_t held; /* this device stops before its act number `before`, */
    size_t before;
    int64_t until; /* ... until this copy has started; 0: for ever */
    int64_t open;  /* the last bit of this copy never comes; 0: of none */
    bool source;   /* ... nor is its source known to be read */
    uint32_t ends; /* the play ends when this device has done `acts` acts, and the copy `until`, if any, has started */
    size_t acts;
} tp_pace;
/* Nothing is. */
tp_pace tp_pace_free(void);
/* Play all deeds: fills their units, `units` and `counts`. */
void tp_schedule_play(tp_schedule *s, const tp_pace *p);
/* Play up to the moment of the trap whose sides are kept: two that are not in order then meet. `stopped` says whether
 * it comes; where no moment belongs to the trap, all is played. */
void tp_schedule_to_trap(tp_schedule *s);

#endif
