/* The machine: runs a kernel on concrete arrays, block by block, by the rules
 * of docs/SPEC.md ("The machine"). Every access is checked; every element
 * carries whether it is defined, and if not, where it was born. Breaking a
 * rule is a trap.
 */
#ifndef TP_MACHINE_H
#define TP_MACHINE_H

#include "base/tensor.h"
#include "domains/domain.h"
#include "kernels/machine/coverage.h"
#include "spec/kernel.h"

typedef struct tp_trap {
    const char *rule; /* its code: one of TP_RULE_… */
    tp_str subject;   /* operand, or empty */
    tp_str origin;    /* of what is undefined: the operand in which it was born, or empty */
    tp_str message;   /* one line: what, where, born where */
    int64_t step;     /* number of the step in grid order, -1: before or after the walk */
    TP_VEC(tp_binding) coordinates;
    tp_str statement; /* text of the statement, or empty */
    tp_loc loc;
} tp_trap;

/* What moved between the array of an operand and the machine: by windows, and by copies of the body. */
typedef struct tp_traffic {
    int64_t fetches, fetched; /* times; elements, the parts that lie inside the array */
    int64_t writes, written;
} tp_traffic;

typedef struct tp_run_stats {
    int64_t steps, copies_in, copies_out;
    int64_t work;     /* elements that operations read, computed and multiplied; of windows, in each step */
    int64_t joined;   /* steps that were taken as one with those before them */
    uint32_t threads; /* that shared the steps */
    /* where the request counts: */
    int64_t flops; /* as they are written: of a dot two for each product, one for each element that an
                    * operation of floats computes or a reduction reads; of int8 and the like, too, in a dot */
    int64_t dot_flops,
        mxu_flops;               /* of dots: as above; on tiles of the target's matrix unit (cost/cost.h), of 0: none */
    int64_t transcendental;      /* elements of operations for which tp_prim_transcendental() holds */
    tp_traffic *moved;           /* by operand, in the arena of the run */
    int64_t bytes_in, bytes_out; /* of arrays, in windows that moved: the parts that lie inside */
    int64_t in_place;            /* moved windows that were not copied */
    double prepare, steps_wall, steps_cpu; /* seconds; CPU time of all threads of the process */
    const tp_statement *undecided; /* the first that decides by data about which the domain is not certain, or NULL */
} tp_run_stats;

/* What lies beyond the edge of an array. Nothing may depend on it. */
typedef enum tp_garbage { TP_GARBAGE_HUGE, TP_GARBAGE_NAN, TP_GARBAGE_QUIET } tp_garbage;

/* What happens in a walk, in the order of execution. */
typedef enum tp_event_kind {
    TP_EVENT_STEP,           /* begins: env has the axes; then its windows move, then the body runs */
    TP_EVENT_STEP_DONE,      /* ... of outputs the last windows are written after the last step */
    TP_EVENT_FETCH,          /* of a window from its array begins, */
    TP_EVENT_WRITE,          /* ... to it, */
    TP_EVENT_MOVED,          /* ... and is done */
    TP_EVENT_STAY,           /* a window has the index of the step before: nothing is copied */
    TP_EVENT_STATEMENT,      /* begins; loops and branches hold others */
    TP_EVENT_STATEMENT_DONE, /* ... its values may be computed later, by whoever looks at them */
    TP_EVENT_COPY,           /* of the body is started */
    TP_EVENT_COPY_DONE,      /* ... and is known to be there */
    TP_EVENT_COUNT,          /* a semaphore counts now */
    TP_EVENT_SIGNAL,         /* a semaphore is about to count more, */
    TP_EVENT_WAIT,           /* ... or is waited for, from now on */
    TP_EVENT_SIDE,           /* of the trap that comes next: one who has part in it */
    TP_EVENT_TRAP,           /* ends the walk, unless it is a symptom of another one, which is told then */
} tp_event_kind;

/* Who has part in a trap. Two sides that are not in order: the first one does something while the second one flies, or
 * is outside. */
typedef enum tp_trap_side_kind {
    TP_SIDE_DOES,    /* the statement, */
    TP_SIDE_FLIES,   /* ... while this copy may be in flight, */
    TP_SIDE_OUTSIDE, /* ... or this device may not have entered the kernel */
    TP_SIDE_WAITS,   /* for ever */
    TP_SIDE_ENDED,   /* and will do nothing more */
    TP_SIDE_LEFT,    /* a semaphore that counts on when nobody waits for it any more */
    TP_SIDE_NOTHING  /* no statement is to blame */
} tp_trap_side_kind;
typedef struct tp_trap_side {
    tp_trap_side_kind kind;
    uint32_t device; /* of several; else 0 */
    int64_t step;    /* as in tp_trap */
    const tp_statement *statement;
    int64_t copy;          /* FLIES: its number, from 1 */
    uint32_t there;        /* the device whose memory it touches: */
    uint32_t operand;      /* ... this, TP_NO_OPERAND: none; WAITS, LEFT: the semaphore */
    int64_t first, end;    /* ... from this byte of it up to this one; nothing between may be left out */
    bool writes;           /* ... it does; else it reads */
    size_t acts;           /* copies, signals and waits that the device does before; TP_NO_ACT: none in particular */
    int64_t needs, counts; /* WAITS, LEFT: as TP_EVENT_COUNT has it */
} tp_trap_side;
#define TP_NO_OPERAND UINT32_MAX
#define TP_NO_ACT SIZE_MAX
#define TP_ACTS_SO_FAR (SIZE_MAX - 1) /* ... that the observer was told of */

typedef struct tp_event {
    tp_event_kind kind;
    int64_t step; /* as in tp_trap */
    const int64_t *env;
    uint32_t operand;         /* of windows; of a copy the destination, */
    uint32_t from;            /* ... and the source */
    int64_t bits;             /* of what moves; SIGNAL, WAIT: of a DMA semaphore, else what it counts */
    int64_t copy;             /* number of a copy of the body, from 1 */
    uint32_t device;          /* who does it, of several; else 0 */
    uint32_t there;           /* of a copy: where its destination is; COUNT, SIGNAL: whose semaphore `operand` */
    size_t element;           /* COUNT, SIGNAL, WAIT: of the semaphore, which has */
    int64_t count;            /* COUNT: ... so much, of a DMA semaphore in bytes */
    uint32_t semaphore, sent; /* of a copy: those of `there` and `device` which tell that it is there and that
                                 its source is read; sent: TP_NO_OPERAND: none of its own */
    size_t sent_element;      /* `element` is that of `semaphore` */
    const tp_trap_side *side; /* SIDE: as long as see() runs */
    const tp_statement *statement;
    const struct tp_machine *machine;
} tp_event;

/* Who follows a walk: the first member of whatever it keeps. */
typedef struct tp_observer {
    void (*see)(struct tp_observer *o, const tp_event *e);
    bool looks; /* at numbers: each is computed by its statement, which takes longer; not of several devices */
} tp_observer;

/* What a value or an operand holds while an observer that looks is told of an event: elements in order, the last
 * dimension fastest. */
typedef struct tp_contents {
    tp_dtype dtype;
    uint32_t rank;
    const int64_t *dims;
    const void *data;
    const struct tp_cells *cells; /* for tp_contents_defined() */
} tp_contents;
/* A value of the body that was computed; the window of an operand, in the shape of its ref (of one in any or hbm: all
 * of it). With the first statement of a step its windows are there. */
tp_contents tp_contents_of_value(const tp_event *e, tp_vid v);
tp_contents tp_contents_of_operand(const tp_event *e, uint32_t operand);
bool tp_contents_defined(const tp_contents *l, size_t element);

typedef struct tp_run_request {
    const tp_kernel *kernel;
    const int64_t *env; /* value of every symbol; sizes set, axes ignored */
    tp_tensor *arrays;  /* inputs and outputs, in operand order; outputs are written */
    uint64_t seed;      /* order of parallel axes, */
    bool in_order;      /* ... or as the grid counts: what lies side by side in memory is then visited so */
    bool apart;         /* each step is taken by itself, as it is with an observer or max_work */
    int64_t max_steps;
    int64_t max_work; /* as stats count it: beyond it TP_E_LIMIT, on every machine at the same place; 0: no bound */
    tp_garbage garbage;
    tp_domain *domain;     /* rides along; NULL: none */
    tp_planes *meanings;   /* with a domain, per array: planes of inputs are read, those of outputs are written */
    tp_arena *results;     /* the memory of these; NULL: that of the run */
    tp_coverage *coverage; /* of the kernel; NULL: nobody counts */
    uint32_t short_row;    /* without one: rows of fewer elements are moved where longer ones are looked at; 0: 16 */
    uint32_t strip;        /* elements computed together: 0: 2048 of values of as many, else of all. With a domain:
                            * of planes, up to 512; 0: 512 */
    size_t last_cache;     /* bytes: arrays that are larger together are written past it; 0: as the system says */
    uint32_t threads;      /* at most so many share the steps of leading parallel axes, with the same results; 0: one.
                            * With a domain, coverage, max_work or an alias to
                            * the same memory or to other blocks it is one */
    bool counts;           /* fill in what stats say of it */
    tp_observer *observer; /* NULL: nobody; with one the walk has one thread */
    struct tp_pool *pool;  /* where the others' memory comes from, and goes back to; NULL: the system */
    uint32_t share_from;   /* ... of a walk with as many elements of windows, counted in each step; 0: 2^18 */
} tp_run_request;

/* Are its arrays those of the kernel? For tp_assert(). */
bool tp_request_holds(const tp_run_request *r);

enum { TP_MAX_STEPS = 100000000 };

/* TP_OK, TP_E_TRAP (*trap is filled in), TP_E_LIMIT (trap->message says which
 * limit or which construct the machine does not execute). Memory is taken
 * from `a`; leaves with TP_E_MEMORY. */
tp_status tp_machine_run(tp_arena *a, const tp_run_request *r, tp_trap *trap, tp_run_stats *stats);

/* plan.c: how a run would execute what a statement computes. */
typedef enum tp_manner {
    TP_MANNER_OWN,   /* by itself, when it is reached */
    TP_MANNER_AGAIN, /* not at all: nobody looks, as the same number was computed before */
    TP_MANNER_ONCE,  /* before the first step that needs it: it depends on none */
    TP_MANNER_SHOWN, /* a load that moves nothing: the operand's memory is shown */
    TP_MANNER_WAITS, /* element by element, with what looks at it, where there are many */
    TP_MANNER_SUM,   /* a product, straight into the operand that it is added to */
    TP_MANNER_ROWS   /* a product of float32, when a `where` looks at it, without the rows that its mask leaves out */
} tp_manner;
typedef struct tp_window_plan {
    bool in_place; /* its array's memory is the window, where that lies inside */
    bool streams;  /* it is written past the caches */
    bool ahead;    /* memory is asked for one step ahead */
} tp_window_plan;
typedef struct tp_plan {
    const tp_region *body;   /* the statements of a step, as they are executed */
    tp_manner *values;       /* by value of the body */
    tp_window_plan *windows; /* by operand */
    uint32_t axis;           /* of which up to so many steps are taken as one: */
    int64_t joined;          /* ... 1: each is taken by itself */
} tp_plan;
/* The plan of a run of this request, which writes nothing; in `a`. TP_OK, or like tp_machine_run(). */
tp_status tp_machine_plan(tp_arena *a, const tp_run_request *r, tp_plan *out, tp_trap *trap);

/* Do the machine and the generators of inputs know the dtype and the memory of every operand? False with *why, in `a`.
 */
bool tp_kernel_executable(tp_arena *a, const tp_kernel *k, tp_str *why);

/* Does the element of o's array at these indices satisfy its "valid"? An
 * element for which the condition has no value does not. Sets the element
 * symbols in env. */
bool tp_element_valid(const tp_kernel *k, const tp_operand *o, int64_t *env, const int64_t *at);

/* Check that every array dimension is representable and bytes fit: fills
 * dims[] of operand `o` from the sizes. False with *why otherwise. */
bool tp_operand_dims(const tp_kernel *k, const tp_operand *o, const int64_t *env, int64_t *dims, tp_str *why);

#endif
