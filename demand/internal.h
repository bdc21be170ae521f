/* Shared by the files of demand/. */
#ifndef TP_DEMAND_INTERNAL_H
#define TP_DEMAND_INTERNAL_H

#include "base/assert.h"
#include "demand/demand.h"

/* Why an element has no value. */
typedef enum undefined_kind {
    DEFINED,
    UNDEFINED_OUTSIDE, /* of its array, or of what its "valid" says */
    UNDEFINED_SCRATCH, /* unwritten memory */
    UNDEFINED_OUTPUT,
    UNDEFINED_MASKED, /* left out by the mask of a load */
    UNDEFINED_CAST    /* a float that its integer type does not hold */
} undefined_kind;

typedef struct scalar {
    double v; /* integers and bools, too: all of them fit */
    uint64_t plane[TP_MAX_PLANES];
    bool has_planes; /* else it means v */
    uint8_t undefined;
} scalar;

typedef struct shape {
    uint32_t rank;
    int64_t dims[TP_MAX_RANK], n;
} shape;

typedef struct slice {
    int64_t start[TP_MAX_RANK], size[TP_MAX_RANK], stride[TP_MAX_RANK];
    uint32_t rank;
} slice;

typedef struct moment moment;
typedef struct event event;

/* A value that a statement made, or a store, at one time of one step. */
typedef enum event_kind { EVENT_INST, EVENT_NUMBER, EVENT_INPUT, EVENT_TABLE, EVENT_STORE } event_kind;
struct event {
    event_kind kind;
    uint32_t id; /* each its own */
    tp_vid vid;  /* whose dtype and shape it has; -1: a store */
    const tp_inst *inst;
    const event **args; /* of inst; of a store: the value */
    moment *when;
    double number;         /* NUMBER */
    uint32_t operand;      /* INPUT, stores and loads; TABLE: the table */
    const slice *at;       /* stores and loads; NULL: scratch begins, undefined */
    const event *previous; /* stores and loads: the store to the operand before it, in the same step */
};

/* A step of the grid. */
struct moment {
    int64_t number, at[TP_MAX_AXES];
    int64_t (*window)[TP_MAX_RANK]; /* by operand: start in elements */
    bool *placed;                   /* by operand: is window set? */
    uint32_t id;                    /* + operand: what the operand holds before the step */
    bool ready;                     /* its statements were followed: */
    const event **last;             /* by operand: its last store in this step */
};

/* Lanes at even distances; 0 apart: n times the same. */
typedef struct run {
    int64_t first, step, n;
} run;

/* Lanes from a first one on: offsets; how far they are apart, 0: not evenly. */
typedef struct places {
    int64_t *offset, step;
} places;

/* What a reduction or dot adds up. */
typedef struct plan {
    int64_t n;
    places a, b;   /* of the one, of the other operand */
    size_t *order; /* 0, 1, 2, … */
} plan;

typedef struct memo {
    uint32_t id;
    int64_t lane;
    scalar value;
} memo;

/* Elements that were computed lie side by side, in parts that stay where they are; a table of their numbers finds
 * them: what grows is small, and what is large is not copied. */
enum { MEMO_PART = 1 << 12 };
typedef struct memos {
    memo **part; /* each MEMO_PART of them */
    size_t n, parts_cap;
    uint32_t *number; /* open addressing, by id and lane: 1 + where it lies; 0: free */
    size_t cap;       /* a power of two */
} memos;

/* Room for elements side by side, as a domain wants them. */
typedef struct buffer buffer;
struct buffer {
    buffer *next;
    double *v;
    uint64_t *plane[TP_MAX_PLANES];
    bool *has_planes; /* lane by lane */
    int log;          /* of how many there is room for */
};

/* Lanes of a value, kept for the next one who asks. */
typedef struct vector vector;
struct vector {
    vector *next;
    uint32_t id; /* the event's whose lanes these are; of an input, whose elements they are: its number */
    bool given;  /* they are an input's */
    run lanes;
    buffer *room;
    bool some, all; /* of them have planes; where some have, the planes of the others say what they are */
    bool known;     /* others find it */
    uint32_t pins;  /* who looks at it */
};

/* Vectors by a hash of what they are; the older half is dropped as a whole. */
enum { VECTOR_BUCKETS = 512, VECTOR_LANES = 1 << 19 };
typedef struct vectors {
    vector *bucket[VECTOR_BUCKETS];
    int64_t lanes;
} vectors;

struct tp_demand {
    tp_arena *arena;
    tp_demand_options o;
    const tp_kernel *k;
    const tp_program *p;
    tp_domain *domain;
    bool field; /* it is the field domain */
    int64_t *env;
    shape *shapes; /* by value; by operand: of the ref, of the array, of the window */
    shape *refs, *arrays, *blocks;
    const bool *bounded;    /* by value: spec/bounded.c */
    int *alias;             /* inputs: the output that shares its array, or -1 */
    tp_demand_array *given; /* inputs */
    plan **plans;
    bool *kept;                        /* by value: its elements are remembered */
    uint32_t *same;                    /* by value: bits of the dimensions along which all its elements are the same */
    bool *timeless;                    /* by value: the same in every step */
    const event **once;                /* by value, of those: theirs */
    int64_t steps[TP_MAX_AXES], total; /* of the grid */
    const event **values;              /* by value: the newest, while statements are followed */
    const event **constants;           /* by value: weak integers */
    moment **moments;                  /* open addressing */
    size_t nmoments, moments_cap;      /* a power of two */
    memos memos;
    buffer *rooms[48]; /* free ones, by the logarithm of their size */
    vectors young, old;
    vector *free_vectors;
    uint32_t ids;
    int64_t work;
    int depth;
    bool begun, ready, undecided, tied, masked; /* sizes were looked at; reference: its statements were followed */
    tp_demand_outcome outcome;
    tp_str why;
};

/* How a primitive is evaluated. */
typedef enum model {
    MODEL_NONE,      /* not at all: elements that depend on it are open */
    MODEL_LANES,     /* lane by lane, from its arguments */
    MODEL_MOVED,     /* a lane is a copy of one elsewhere, or its index */
    MODEL_REDUCTION, /* along axes */
    MODEL_RUNNING,
    MODEL_OWN /* in a way of its own */
} model;

/* model.c */
model demand_model(tp_prim p);

/* support.c */
_Noreturn void demand_give_up(tp_demand *d, tp_demand_outcome outcome, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void demand_not_modelled(tp_demand *d, tp_prim p);
/* Gives up unless n operations are left; charge: and takes them. */
void demand_afford(tp_demand *d, int64_t n);
void demand_charge(tp_demand *d, int64_t n);
int64_t demand_size(tp_demand *d, tp_expr e);
void demand_unravel(const shape *s, int64_t lane, int64_t *at);
int64_t demand_ravel(const shape *s, const int64_t *at);
tp_dtype demand_dtype(const tp_demand *d, tp_vid v);

/* element.c */
scalar demand_lane(tp_demand *d, const event *e, int64_t lane);
/* The one lane of a value that decides: an index, a bound, a branch. Gives up when it is undefined. */
double demand_decide(tp_demand *d, const event *e, const char *what);
/* The same of an integer; gives up beyond 2^53. */
int64_t demand_decide_index(tp_demand *d, const event *e, const char *what);

/* memo.c: what was found out */
scalar *demand_remembered(tp_demand *d, uint32_t id, int64_t lane);
void demand_remember(tp_demand *d, uint32_t id, int64_t lane, scalar s);
moment *demand_moment(tp_demand *d, int64_t number);

/* scalar.c: one lane of an operation, and what it means */
scalar demand_number(double v);
scalar demand_undefined(undefined_kind kind);
scalar demand_compute(tp_demand *d, const tp_inst *i, const scalar *args);
/* and, or of bools: a side may be undefined where the other one decides alone; so may a bounded factor beside 0 */
bool demand_may_ignore(const tp_demand *d, const tp_inst *i);
/* Is factor `arg` of a product ignored beside this other one? */
bool demand_ignores(const tp_demand *d, const tp_inst *i, uint32_t arg, const scalar *zero);
/* The same for each lane of these vectors, which are as long as out; false with the first result that is undefined. */
bool demand_compute_lanes(tp_demand *d, const tp_inst *i, const vector *const *args, vector *out, scalar *bad);
/* `s` as the element of a value of dtype `t`. */
double demand_as_dtype(tp_dtype t, double v);
double demand_as_integer(tp_dtype t, int64_t v);

/* element.c: what makes, moves and cuts arrays */
/* The element that lane of a `take` is a copy of; false: the index is undefined. */
bool demand_take_place(tp_demand *d, const event *e, int64_t lane, int64_t *place, scalar *index);
scalar demand_moved(tp_demand *d, const event *e, int64_t lane);
/* Index in dimension x of the argument of what lies at index `at` of the result, where a roll moves by `shift`. */
int64_t demand_source_index(tp_demand *d, const tp_inst *i, uint32_t x, int64_t at, int64_t extent, int64_t shift);

/* vector.c: room for many lanes, and what was filled */
buffer *demand_room(tp_demand *d, int64_t n);
void demand_room_back(tp_demand *d, buffer *b);
/* A vector that is the same lanes of the same; NULL: none is kept. */
vector *demand_known_vector(tp_demand *d, const vector *like);
/* A copy of *like, with room, and somebody who looks at it; nobody else finds it before demand_keep_vector(). */
vector *demand_new_vector(tp_demand *d, const vector *like);
void demand_drop_vector(tp_demand *d, vector *x);
void demand_keep_vector(tp_demand *d, vector *x);
void demand_settle(tp_demand *d, vector *x, tp_dtype t); /* after lanes were set: which have planes */
void demand_release(tp_demand *d, vector *x);            /* NULL: nothing */
/* Planes for all lanes, whether they need them or not. */
void demand_mean_all(tp_demand *d, vector *x, tp_dtype t);
/* One lane of it: every lane of every operation comes by here. */
static inline scalar demand_vector_lane(const vector *x, int64_t lane)
{
    tp_assert(lane >= 0 && lane < x->lanes.n);
    scalar s = {.v = x->room->v[lane], .has_planes = x->room->has_planes[lane]};
    for (int p = 0; p < TP_MAX_PLANES && s.has_planes; p++)
        s.plane[p] = x->room->plane[p][lane];
    return s;
}

static inline void demand_set_lane(vector *x, int64_t lane, const scalar *s)
{
    tp_assert(lane >= 0 && lane < x->lanes.n);
    x->room->v[lane] = s->v;
    x->room->has_planes[lane] = s->has_planes;
    for (int p = 0; p < TP_MAX_PLANES && s->has_planes; p++)
        x->room->plane[p][lane] = s->plane[p];
}

/* What domains see of it. */
tp_lanes demand_vector_lanes(const vector *x, tp_dtype t);
/* Nobody looks at any: what was given up did not let go. */
void demand_release_all(tp_demand *d);

/* fold.c: lanes all at once; reductions, running reductions, dot */
/* These lanes of a value, which stay until demand_release(). NULL with *bad: one of them is undefined. */
vector *demand_hold(tp_demand *d, const event *e, run lanes, scalar *bad);
/* The same of n lanes at these places from one on. */
vector *demand_hold_at(tp_demand *d, const event *e, int64_t from, const places *p, int64_t n, scalar *bad);
scalar demand_reduction(tp_demand *d, const event *e, int64_t lane);
scalar demand_running(tp_demand *d, const event *e, int64_t lane);
scalar demand_dot(tp_demand *d, const event *e, int64_t lane);

/* same.c */
void demand_find_same(tp_demand *d);
/* The first of the lanes of a value that hold the same as this one. */
int64_t demand_first_same(const tp_demand *d, tp_vid v, int64_t lane);

/* follow.c: the statements of a step */
void demand_follow_step(tp_demand *d, moment *m);
void demand_follow_reference(tp_demand *d);

/* memory.c: what buffers hold */
scalar demand_load(tp_demand *d, const event *load, int64_t lane);
/* The element of an input that a lane of an input or of a load is; false: it is none. Along one dimension of the
 * value the index is linear. */
bool demand_input_place(tp_demand *d, const event *e, int64_t lane, uint32_t *input, int64_t *index);
scalar demand_input(tp_demand *d, uint32_t input, int64_t index);
/* What output `o` (an operand) holds in the end, or what was written to it up
 * to step `until`; false: nobody writes it. */
bool demand_written(tp_demand *d, uint32_t o, const int64_t *at, int64_t until, scalar *s, int64_t *step);

/* grid.c: steps and windows */
bool demand_parallel_changed(const tp_demand *d, const moment *a, const moment *b);
const int64_t *demand_window(tp_demand *d, moment *m, uint32_t operand);
bool demand_same_run(tp_demand *d, uint32_t operand, moment *a, moment *b);
/* Number of the last step up to `until` whose window covers the element; -1: none. */
int64_t demand_last_covering(tp_demand *d, uint32_t operand, const int64_t *at, int64_t until);
int64_t demand_sequential_number(const tp_demand *d, const moment *m);

#endif
