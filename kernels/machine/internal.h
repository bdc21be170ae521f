/* Shared by the files of kernels/machine/. */
#ifndef TP_MACHINE_INTERNAL_H
#define TP_MACHINE_INTERNAL_H

#include "base/ahead.h"
#include "base/rng.h"
#include "spec/elementary.h"
#include "kernels/machine/machine.h"

/* Definedness of the elements of a buffer: all defined, all undefined with one origin, those of a box defined and
 * the others not, those of some boxes (of scratch), or element by element. */
typedef enum tp_shadow_state { TP_CLEAN, TP_ALL_UNDEFINED, TP_INSIDE, TP_PIECES, TP_MIXED } tp_shadow_state;

/* Elements first[d] <= at[d] < first[d] + extent[d]. */
typedef struct tp_box_of_cells {
    int64_t first[TP_MAX_RANK], extent[TP_MAX_RANK];
} tp_box_of_cells;

enum { TP_MOST_PIECES = 8 };
typedef struct tp_pieces {
    uint32_t n;
    tp_box_of_cells at[TP_MOST_PIECES]; /* which may overlap */
} tp_pieces;

/* Where an undefined element was born; 0 means defined.
 * stored (1 bit) | kind (3) | operand (8) | lane of its block or statement (26) | step (26)
 * "stored": a statement put the undefined value where it is, which tells an
 * element written with garbage from one that was never written. */
typedef uint64_t tp_origin;
#define TP_ORIGIN_STORED ((tp_origin)1 << 63)
typedef enum tp_origin_kind {
    TP_BORN_OUTSIDE = 1,
    TP_BORN_SCRATCH,
    TP_BORN_OUTPUT,
    TP_BORN_CAST, /* of a number that the integer does not hold; */
    TP_BORN_NAN,  /* ... of nan */
    TP_BORN_MASKED
} tp_origin_kind;

/* What each operation looks at comes first, in one line of the cache. */
typedef struct tp_cells {
    tp_dtype dtype;
    uint32_t rank;
    size_t n;
    void *data; /* own, or that of what it shows: a window's line of its array, a value that stays as it is */
    void *own;
    ptrdiff_t pitch;      /* only without a domain; of values only where all is defined */
    const tp_inst *waits; /* a value: `data` is still to be computed by this */
    uint32_t behind;      /* ... and at most so many in all */
    uint32_t spared;      /* places that would look at it, but are decided without */
    tp_shadow_state state;
    bool viewed;   /* `data` is rows of the last dimension, `pitch` elements from one to the next, each side by side */
    bool flat_row; /* ... or one element all along */
    bool ranged;   /* lo and hi are there */
    int64_t dims[TP_MAX_RANK];
    int32_t lo, hi;   /* of the elements */
    tp_origin origin; /* TP_ALL_UNDEFINED, TP_INSIDE, TP_PIECES: of lane 0 */
    tp_origin beside; /* ... of a product: of lane 0 of its second operand, if `lines` is not 0 */
    size_t lines; /* ... a row outside has the origin of lane `lines` times its number, of the first operand; another
                   * element that of its column in `beside`; 0: each has that of its own lane */
    const tp_box_of_cells *defined; /* TP_INSIDE: of an operand, where the box changes with it; or box_room */
    tp_box_of_cells *box_room;      /* for a box of its own */
    tp_pieces *pieces;              /* TP_PIECES; allocated on first use */
    tp_origin *shadow;              /* TP_MIXED; allocated on first use */
    size_t hole;                    /* TP_MIXED: where an undefined element was seen; only a hint */
    tp_planes meaning;              /* of the domain */
    void *room[TP_MAX_PLANES];      /* where planes go; allocated on first use */
} tp_cells;

static inline bool tp_same_shape(const tp_cells *a, const tp_cells *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

/* Does a value depend on the step? */
typedef enum tp_fixedness { TP_VARIES, TP_TO_BE_FIXED, TP_IS_FIXED } tp_fixedness;

typedef struct tp_alias tp_alias;
typedef struct tp_crew tp_crew;
typedef struct tp_devices tp_devices;
typedef struct tp_chain tp_chain;
typedef struct tp_course tp_course;
typedef struct tp_group tp_group;
typedef struct tp_flights tp_flights;
typedef struct tp_late tp_late;
typedef struct tp_joined tp_joined;
typedef struct tp_quick tp_quick;

/* What a statement counts for: as statistics have it, and the budget. */
typedef struct tp_due {
    int64_t work, cost;
} tp_due;

/* Elements start[d] + t stride[d] of a ref, 0 <= t < size[d]: those of the place at t + skip[d] < of[d]. */
typedef struct tp_slice {
    int64_t start[TP_MAX_RANK], size[TP_MAX_RANK], stride[TP_MAX_RANK];
    int64_t skip[TP_MAX_RANK], of[TP_MAX_RANK];
    uint32_t rank; /* of the ref */
    bool whole;    /* all of it, in order */
    bool cut;      /* the place lies beyond the ref in part, masked off there */
} tp_slice;

/* Is what it takes inside the ref, with these dimensions? For tp_assert(). */
bool tp_slice_holds(const tp_slice *s, const int64_t *dims);

/* One operand while the grid runs. */
typedef struct tp_ref {
    const tp_operand *operand;
    tp_tensor *array;            /* NULL for scratch */
    tp_planes *array_meaning;    /* NULL for scratch, and without a domain */
    tp_cells cells;              /* window, squeezed dims dropped */
    int64_t block[TP_MAX_RANK];  /* extents of the window, with squeezed dims */
    int64_t unit[TP_MAX_RANK];   /* ... of one step: what index maps count */
    int64_t window[TP_MAX_RANK]; /* start in elements */
    tp_box_of_cells inside;      /* TP_INSIDE: of an input's window what lies in the array, of others what is written */
    uint32_t moves;              /* bits of the dimensions in which the window depends on the step */
    bool resident;
    bool joins;                  /* it moves in each of the steps that may be taken as one */
    bool in_place;               /* a window inside the array is rows of its memory, looked at there: */
    ptrdiff_t pitch;             /* ... so many elements apart; 0: one line */
    bool unread;                 /* an output, in place, at which no statement looks */
    bool streams;                /* ... that the caches would not hold, written in pieces at which no step looks */
    bool awaited;                /* ahead.c: worth to be asked for, */
    bool by_rows;                /* ... beside other work alone: a row that is there the processor sees by itself */
    bool jumps;                  /* ... all at once: a small window that a table moves */
    const char *comes;           /* ... and where the window lies that was asked for, NULL: none */
    const char **places;         /* gathered.c: where windows of steps that are taken as one begin, */
    bool fetched;                /* ... and whether they were copied; NULL: they are one window */
    uint32_t *visited;           /* outputs: per block, 1 + number of the run that wrote it */
    int64_t *visit_key;          /* outputs: tp_parallel_number() of that run */
    int64_t blocks[TP_MAX_RANK]; /* outputs: blocks per dimension */
    size_t nblocks;
    uint32_t *owner; /* outputs with Element dimensions instead: per element, the number of its run */
    int64_t *starts; /* and per run its window's start, then its tp_parallel_number() */
    uint32_t nstarts, starts_room;
    int64_t *writer, *reader;       /* far.c, per element: tp_parallel_number() of steps that write it, read it */
    bool returned;                  /* outputs: this run has the window of an earlier one */
    const tp_statement *last_store; /* statement that last wrote it */
    struct tp_alias *shared;        /* alias.c: its array is another operand's too */
    int64_t run_key, run_number;    /* ... and its last step so far */
    tp_late *late;                  /* exec.c: copies to scratch that are not made yet; allocated on first use */
    uint32_t nlate;
} tp_ref;

/* The walk: lexicographic, parallel axes in a seeded order. */
typedef struct tp_grid {
    int64_t steps[TP_MAX_AXES], at[TP_MAX_AXES];
    int64_t *order[TP_MAX_AXES]; /* parallel axes: a permutation; NULL: in order */
    int64_t total;
} tp_grid;

/* The same: each order is a permutation of the steps. */
bool tp_grid_holds(const tp_grid *g, uint32_t naxes);

typedef struct tp_machine {
    tp_arena *arena;
    const tp_run_request *request;
    const tp_kernel *k;
    int64_t *env;
    tp_cells *values;      /* by value number */
    uint8_t *fixed;        /* fixed.c, per value: tp_fixedness */
    const tp_region *body; /* renamed.c: the statements of a step */
    tp_course *course;     /* course.c: the same, as they are executed */
    bool *steady;          /* ... per value: the same in each turn of the loop that computes it */
    bool *repeats;    /* renamed.c: per value: nobody looks at it, as the same number was there before; NULL: none */
    bool *assigned;   /* per value: a variable, which statements assign to */
    bool *bounded;    /* per value: spec/bounded.c; NULL: not asked yet */
    tp_ref *refs;     /* by operand */
    void **workspace; /* per value: scratch memory of its instruction */
    size_t *workspace_size;
    tp_grid grid;
    int64_t step; /* number in the order of execution */
    uint32_t runs;
    tp_domain *domain;         /* NULL: none rides along */
    tp_chain *chain;           /* chain.c: operations whose planes are still to be computed */
    tp_group *group;           /* fuse.c: room for operations that are computed together; NULL: none wait */
    uint32_t waiting;          /* ... and how many values wait */
    bool *shows;               /* shown.c, per value: a load that may show its operand's memory; NULL: none may */
    bool *added;               /* sums.c, per value: a product that goes to an operand as part of a sum; NULL: none */
    bool *chosen;              /* ... of which the mask of a `where` may leave out rows; NULL as well */
    struct tp_packs *packs;    /* packs.c; NULL: none yet */
    uint8_t *pure;             /* fuse.c, per value: what tp_is_pure() said of its statement; NULL: nothing was asked */
    uint32_t *uses;            /* uses.c: per value: places that look at it; 2: one that may do so again */
    tp_quick *quick;           /* quick.c, per value; NULL: none */
    tp_due *due;               /* ... and what its statement counts for; NULL: none */
    bool charged;              /* somebody keeps an account of it, or bounds it */
    size_t piece;              /* elements of a strip, about */
    bool looks_ahead;          /* ahead.c: there are such windows, not too large */
    tp_ahead ahead;            /* ... windows of the next step */
    size_t ahead_of;           /* ... elements of the longest of them, */
    uint32_t wanted;           /* ... and so many that are asked for whole, before the others */
    tp_cells *moved, **moving; /* planes.c: room for cells whose planes are moved */
    uint32_t moved_size;
    tp_flights *flights; /* flight.c; NULL: no semaphores */
    tp_joined *joined;   /* joined.c: steps that may be taken as one; NULL: none */
    int64_t together;    /* ... and how many are, now: */
    size_t *of_step;     /* ... per value, elements in one of them */
    tp_crew *crew;       /* threads.c: machines that share the walk; NULL: this is the only one */
    uint32_t worker;     /* ... and its number */
    tp_devices *devices; /* devices.c: one of several that wait for each other, by the same number; NULL: it is not */
    int64_t turns;       /* of loops in the body, all together */
    const tp_statement *at; /* statement being executed */
    tp_trap *trap;
    tp_run_stats stats;
} tp_machine;

/* May it be noted by a box which elements of a window are defined? */
static inline bool tp_may_box(const tp_machine *m)
{
    const tp_observer *o = m->request->observer;
    return !(o && o->looks) && !m->devices;
}

/* May what a statement computes be computed later, elsewhere, or not at all, where no number of the outputs tells? */
static inline bool tp_may_defer(const tp_machine *m)
{
    return !m->domain && !m->request->coverage && tp_may_box(m);
}

/* Tell the observer, if there is one. */
static inline void tp_tell(tp_machine *m, tp_event e)
{
    if (!m->request->observer)
        return;
    e.step = m->step;
    e.env = m->env;
    e.machine = m;
    e.device = m->devices ? m->worker : 0;
    m->request->observer->see(m->request->observer, &e);
}

/* trap.c */
/* Count work; beyond the request's bound the run is refused. */
void tp_exec_spend(tp_machine *m, int64_t work);
_Noreturn void tp_trap_raise(tp_machine *m, const char *rule, tp_str subject, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Tell of one who has part in the trap that is raised next. */
void tp_tell_side(tp_machine *m, tp_trap_side s);
/* Memory of an instruction's own, the same from step to step; at first it holds anything. */
void *tp_workspace(tp_machine *m, tp_vid v, size_t bytes);

/* machine.c: a walk is prepared once; [from, to) of its steps in grid order; then what no step wrote is a trap. */
void tp_walk_prepare(tp_machine *m);
void tp_walk_steps(tp_machine *m, int64_t from, int64_t to);
void tp_walk_check(tp_machine *m);
/* Times of preparing and of the steps, by clocks that are read where the request counts. */
typedef struct tp_walk_time {
    double wall, cpu;
} tp_walk_time;
tp_walk_time tp_walk_clock(const tp_run_request *r);
void tp_walk_times(tp_run_stats *s, tp_walk_time began, tp_walk_time prepared, tp_walk_time now);
/* A machine for the request, which works in `a`; nothing is run. */
tp_machine tp_machine_new(tp_arena *a, const tp_run_request *r, tp_trap *trap);

/* threads.c: run by several threads. False: that is not for this kernel or size, or it ended otherwise than well; then
 * one machine has to run it, and to say why. */
bool tp_crew_run(tp_arena *a, const tp_run_request *r, tp_run_stats *stats);
/* The machine takes block b of the operand; false: another of the crew has it. */
bool tp_crew_claims(const tp_machine *m, const tp_ref *r, size_t b);

/* devices.c: a kernel whose devices write to each other's memory and count on each other's semaphores. */
tp_status tp_devices_run(tp_arena *a, const tp_run_request *r, tp_trap *trap, tp_run_stats *stats);

/* exchange.c: what such a device does. Before the first statement, and after the last one. */
void tp_exchange_enter(tp_machine *m);
void tp_exchange_leave(tp_machine *m);
/* The `with` of these operands ends. */
void tp_exchange_end_scope(tp_machine *m, tp_scope scope, const char *when);
/* The machine of the device at these coordinates, one for each axis of devices; TP102 where there is none. */
tp_machine *tp_exchange_other(tp_machine *m, const int64_t *at);
/* A trap where that device has not entered the kernel, and the operand is there only then. */
void tp_exchange_reach(tp_machine *m, const tp_machine *there, const tp_statement *s, uint32_t operand);
/* A part (NULL: all) of an operand is read or written here. */
void tp_exchange_touch(tp_machine *m, uint32_t operand, const tp_slice *s, bool writes);
/* The statements, as flight.c has them; `there` is the device to which a copy or signal goes, m or another one, and
 * `arrival` the element of its semaphore. */
void tp_exchange_start(tp_machine *m, tp_machine *there, const tp_statement *s, const tp_slice *source,
                       const tp_slice *destination, size_t counter, size_t arrival);
void tp_exchange_wait(tp_machine *m, const tp_statement *s, int64_t elements, size_t counter);
void tp_exchange_count(tp_machine *m, tp_machine *there, const tp_statement *s, int64_t n, size_t counter);

/* course.c: before uses are counted; once all else is prepared; one step of the body */
void tp_steady_prepare(tp_machine *m);
void tp_course_prepare(tp_machine *m);
void tp_exec_course(tp_machine *m, tp_course *c);

/* exec.c */
/* One that is no instruction, but for what loops and branches lead to. */
void tp_exec_statement(tp_machine *m, const tp_statement *s);
/* An instruction, the quick way if there is one. */
void tp_exec_inst(tp_machine *m, const tp_inst *i, const tp_quick *q);
/* A number that somebody needs now, for the subject and as a `sink`: undefined it is a trap. */
int64_t tp_scalar_int(tp_machine *m, tp_vid v, tp_str subject, const char *sink);
/* Compute what waits. */
void tp_settle(tp_machine *m, tp_vid v);
/* Which argument is the result, lane for lane: of a cast to its own dtype, or by masks that are all true or all false;
 * -1: none, as far as is known. */
int tp_same_as_argument(const tp_machine *m, const tp_inst *i);

/* counting.c */
/* Elements read and computed; of a dot those that are multiplied. */
int64_t tp_work_of(const tp_machine *m, const tp_inst *i);
/* As tp_run_stats counts it. */
void tp_count_operation(tp_machine *m, const tp_inst *i);

/* fuse.c: nothing with a domain, or where coverage is counted */
enum { TP_MOST_WAITING = 128 }; /* for one value: each may be a call within a call */
void tp_fuse_prepare(tp_machine *m);
/* May the result of i be computed when it is looked at? Then it waits. */
bool tp_fuse_defers(tp_machine *m, const tp_inst *i);
/* Compute v, which waits, with what waits for it; false: it has to be computed for itself. */
bool tp_fuse_settles(tp_machine *m, tp_vid v);
/* ... to the memory of `to`, which nobody else looks at, past the caches if it `streams`; false: nothing was done. */
bool tp_fuse_stores(tp_machine *m, tp_vid v, tp_cells *to, bool streams);
/* Would v, which waits, be another one if `to` were written element by element, each after that of v? True, too, where
 * v has to be computed for itself. */
bool tp_fuse_disturbs(tp_machine *m, tp_vid v, const tp_cells *to);
/* Is it computed element by element, with no way to trap or to be undefined where its arguments are defined? */
bool tp_is_pure(const tp_machine *m, const tp_inst *i);
/* Is it of the kind that may wait for who looks at it? */
bool tp_fuse_may_wait(const tp_machine *m, const tp_inst *i);
/* Let somebody look at the rows of its last dimension, in order: n elements from element `at` of row `row` on,
 * of which pieces that do not end a row are `multiple`s, or `rows` whole rows side by side. False: nothing was done. */
typedef void (*tp_row_reader)(void *ctx, size_t row, size_t at, const void *data, size_t n, size_t rows);
bool tp_fuse_reads(tp_machine *m, tp_vid v, size_t multiple, tp_row_reader read, void *ctx);

/* packs.c: operands of products that come again, packed once */
typedef enum tp_packing { TP_NOT_PACKED, TP_FLOATS_OF_B, TP_BFLOATS_OF_A, TP_BFLOATS_OF_B, TP_BYTES_OF_B } tp_packing;
/* Where c, a matrix, is packed, or will be, in a product with so many lines of the other operand; NULL: nowhere. Lines
 * are rows of a and columns of b, of k terms; they are the columns of c where it is `turned`, and else its rows. */
struct tp_panels *tp_panels_of(tp_machine *m, tp_packing how, const tp_cells *c, bool turned, size_t lines, size_t k,
                               size_t others);
/* Is it there already? */
bool tp_is_packed(const tp_machine *m, const tp_cells *c);

/* sums.c: products that are added to an operand, once uses are counted */
void tp_sums_prepare(tp_machine *m);
/* Is the product of i added to an operand next, or may a mask leave out rows of it? Then it waits. */
bool tp_sum_awaits(tp_machine *m, const tp_inst *i);
/* v is a sum of numbers and of a product that waits: it goes to `to`; false: nothing was done. */
bool tp_sum_stores(tp_machine *m, tp_vid v, tp_cells *to);
/* Compute the product of float32 that waits as a side of this `where`, without the rows that its mask does not choose,
 * which are 0; false: it is none. */
bool tp_product_of_rows(tp_machine *m, const tp_inst *where, uint32_t side);
/* Multiply one row by what waits, as that is computed; false: nothing was done. */
bool tp_sum_of_rows(tp_machine *m, const tp_inst *i);

/* links.c: sums, differences and products of float32, computed with a sum and a term that stay in registers */
#define TP_LINKS(id) TP_LINK_##id##_RIGHT, TP_LINK_##id##_LEFT, TP_LINK_##id##_BOTH, TP_LINK_##id##_TERM
typedef enum tp_link_does {
    TP_LINK_SUM,  /* the sum is x, */
    TP_LINK_TERM, /* the term is x; else with an operation: sum op x, x op sum, sum op term; term op x, the new term */
    TP_LINKS(ADD),
    TP_LINKS(SUB),
    TP_LINKS(MUL)
} tp_link_does;
enum { TP_LINK_LEFT = 1, TP_LINK_BOTH, TP_LINK_OF_TERM, TP_MOST_LINKS = 24 }; /* added to ..._RIGHT */
typedef struct tp_link {
    tp_link_does does;
    bool one;        /* x is one number for the whole row */
    const char *at;  /* x; NULL: without */
    ptrdiff_t pitch; /* ... of rows, in bytes */
    ptrdiff_t ahead; /* what lies so many bytes behind x is asked for beside; 0: nothing */
} tp_link;
/* How p computes with x on its right; false: it is none of these operations. */
bool tp_link_of(tp_prim p, tp_link_does *right);
/* So many rows of so many elements, each to where `to` goes on by `pitch` bytes: the sum after the last link.
 * `streams`: past the caches, which tp_links_stream() has to allow (ended by tp_stream_end()). */
void tp_links_run(const tp_link *l, uint32_t n, size_t rows, size_t row, void *to, ptrdiff_t pitch, bool streams);
/* May rows of a multiple of so many elements, `pitch` bytes apart, be written past the caches as they are computed? */
bool tp_links_stream(const void *to, size_t row, ptrdiff_t pitch);

/* renamed.c: once values are there; before anything else looks at the body */
void tp_rename_prepare(tp_machine *m);

/* ahead.c: once windows have their places; after windows have moved; beside work on n elements */
/* First element of the window of r in its array by the axes as they are; NULL: it is not all inside. */
const char *tp_window_at(const tp_machine *m, const tp_ref *r);
/* Is the window of r in the next step the same? */
bool tp_window_stays(tp_machine *m, const tp_ref *r);
/* The window of r is that of the axes as they are, which is known to lie inside. */
void tp_window_begin(const tp_machine *m, tp_ref *r);
void tp_ahead_prepare(tp_machine *m);
void tp_look_ahead(tp_machine *m);
void tp_ahead_beside(tp_machine *m, size_t n);
/* Ask for what is left of windows that the next step wants whole. */
void tp_ahead_rest(tp_machine *m);
/* Ask for all of a window that has moved, if that was not done. */
void tp_ahead_now(const tp_machine *m, const tp_ref *r);
/* What a copy of the body brings, which is made when somebody looks at it: at once, or beside work that comes first. */
void tp_ahead_copy(tp_machine *m, const tp_cells *c);
/* Values that are read in one go, shifted against each other, come to their memory in jumps that the processor does not
 * foresee. Bytes from what is read of value k of them to what it should ask for: on in a long row, else rows on; 0:
 * nothing. */
ptrdiff_t tp_ahead_of(const tp_cells *const *of, uint32_t n, uint32_t k);

/* window.c */
/* So many elements came from, or went to, the array of an operand, so many times. */
void tp_count_moved(tp_machine *m, uint32_t operand, int64_t elements, int64_t times, bool in);
/* Elements of the part of a window that lies inside its array; of one step. */
int64_t tp_inner_elements(const tp_machine *m, const tp_ref *r);
/* Where the request counts: the window moved to or from its array so many times. */
void tp_count_transfer(tp_machine *m, const tp_ref *r, bool in, int64_t times);
/* The part of a window that lies inside its array: first lane and extent per dimension. False when there is none. */
bool tp_inner_part(const tp_ref *r, int64_t *first, int64_t *extent);
/* Rows (last dimension) of the part of a window that lies inside its array. */
typedef void (*tp_row_visitor)(tp_ref *r, size_t array, size_t lane, size_t n, void *ctx);
void tp_each_inner_row(tp_ref *r, tp_row_visitor visit, void *ctx);
/* Does some of the window lie outside of its array? */
bool tp_window_is_cut(const tp_ref *r);
/* May the window be looked at where its array lies? Once aliases are known. */
void tp_find_place(const tp_machine *m, tp_ref *r);
/* The window is at another place: its cells lie there, or in memory of their own. */
void tp_place_window(tp_machine *m, tp_ref *r);
/* Which outputs stream: once the grid and the body are there. */
void tp_streams_prepare(tp_machine *m);
/* Number of the step's coordinates along parallel axes among all there are: of the core, if each had one. */
int64_t tp_parallel_number(const tp_machine *m);
/* "o[3, 17]": the element of the array that a lane of a window is. */
tp_str tp_element_text(tp_machine *m, const tp_ref *r, size_t lane);

/* comparisons.c: each comparison of a position (made of iota or of program ids) of
 * the body that is used as something else than a decision, once, in order. */
typedef void (*tp_found_comparison)(void *ctx, const tp_statement *s);
void tp_each_comparison(tp_arena *a, const tp_kernel *k, tp_found_comparison found, void *ctx);

/* far.c: once the cells of r are there; before the slice is read or written */
void tp_far_prepare(tp_machine *m, tp_ref *r);
/* It is another part of its array from now on. */
void tp_far_begin(tp_ref *r);
void tp_far_touch(tp_machine *m, tp_ref *r, const tp_slice *s, const tp_cells *mask, bool writes);

/* flight.c: copies that were started, and semaphores. Nothing without "semaphore" scratch. A part (NULL: all) of an
 * operand is about to be read or written; an operand's window is about to move. */
void tp_flights_prepare(tp_machine *m);
void tp_flight_touch(tp_machine *m, uint32_t operand, const tp_slice *s, bool writes);
void tp_flight_window(tp_machine *m, uint32_t operand);
/* Bits of a part of an operand. */
int64_t tp_slice_bits(const tp_machine *m, uint32_t operand, const tp_slice *s);
/* The side touches this part of the operand (NULL: all): its bytes. */
void tp_slice_bytes(const tp_machine *m, uint32_t operand, const tp_slice *s, tp_trap_side *side);
/* The same elements, for all that is known: none of the two is cut. */
bool tp_same_slice(const tp_slice *a, const tp_slice *b);
/* Is some element of a ref in both? */
bool tp_slices_meet(const tp_slice *a, const tp_slice *b);
/* A copy within one buffer: its sides lie apart. */
void tp_flight_sides(tp_machine *m, const tp_statement *s, const tp_slice *source, const tp_slice *destination);
/* The statements: a copy of `source` to `destination`; a wait for that many elements; a count of n. `counter` is the
 * element of the semaphore. */
void tp_flight_start(tp_machine *m, const tp_statement *s, const tp_slice *source, const tp_slice *destination,
                     size_t counter);
void tp_flight_wait(tp_machine *m, const tp_statement *s, int64_t elements, size_t counter);
void tp_flight_count(tp_machine *m, const tp_statement *s, int64_t n, size_t counter);
/* Here nothing may be in flight, and every semaphore is zero. */
void tp_refuse_flights(tp_machine *m, const char *when);
/* TP502 where a copy of these operands is in flight, or one of them is not zero: their `with` ends. */
void tp_flight_leave(tp_machine *m, tp_scope scope);

/* alias.c */
void tp_alias_prepare(tp_machine *m, uint32_t output);
/* Have both operands memory of their own, and at each step the same block, another one at each, and all of them? Then
 * no step reads or leaves alone what another one writes: they are as two arrays. */
bool tp_alias_is_apart(const tp_run_request *r, uint32_t output);
/* After a window was copied in, after a step under a resident output, after a
 * copy-out. Nothing without "alias". */
void tp_alias_read(tp_machine *m, tp_ref *r);
void tp_alias_step(tp_machine *m, tp_ref *r);
void tp_alias_write(tp_machine *m, tp_ref *r);

/* shadow.c */
tp_origin tp_origin_new(tp_origin_kind kind, uint32_t operand, size_t lane, int64_t step);
tp_origin_kind tp_origin_kind_of(tp_origin o);
const char *tp_origin_rule(tp_origin o);
tp_str tp_origin_text(tp_machine *m, tp_origin o);
/* " at step i = 0, k = 3"; empty for a grid without axes or too large to tell. */
tp_str tp_origin_step_text(tp_machine *m, int64_t step);
void tp_cells_init(tp_arena *a, tp_cells *c, tp_dtype dtype, uint32_t rank, const int64_t *dims);
/* The same without memory, which whoever looks at elements has to give. */
void tp_cells_init_shape(tp_arena *a, tp_cells *c, tp_dtype dtype, uint32_t rank, const int64_t *dims);
/* The same; the elements hold anything until something is written. */
void tp_cells_init_unset(tp_arena *a, tp_cells *c, tp_dtype dtype, uint32_t rank, const int64_t *dims);
/* Is it what the types above say? For tp_assert(). */
bool tp_cells_hold(const tp_cells *c);
void tp_make_undefined(tp_cells *c, tp_origin first);
/* The same of cells that nobody reads before they are written: the numbers stay. */
void tp_note_undefined(tp_cells *c, tp_origin first);
/* Make the shadow array exist and hold the state. */
tp_origin *tp_materialise(tp_machine *m, tp_cells *c);
/* The same for who writes all of it: it holds anything. */
tp_origin *tp_shadow_unset(tp_machine *m, tp_cells *c);
/* Origin of element i, 0 when defined. */
tp_origin tp_origin_at(const tp_cells *c, size_t i);
/* Those of all elements, to `to`, which is not the own shadow of c. */
void tp_origins(const tp_cells *c, tp_origin *to);
/* Are all of n elements from `from` on undefined, for all that is seen at once? */
bool tp_none_defined(const tp_cells *c, size_t from, size_t n);
/* `to` is undefined where `from`, cells of the same shape of which a box is defined, is: by the same origins. */
void tp_copy_box(tp_machine *m, tp_cells *to, const tp_cells *from);
/* Is it all within the box of c? */
bool tp_box_holds(const tp_cells *c, const tp_box_of_cells *box);
/* First undefined element's origin, or 0. */
tp_origin tp_any_undefined(const tp_cells *c);
/* After elements of TP_MIXED cells were written: are all defined now? Then they are clean. Looks first where the last
 * undefined one was: who fills a buffer in pieces pays for each element once, not once for each piece. */
void tp_note_defined(tp_cells *c);
/* Elements of a part of r are defined from now on, if what is defined is a box then, kept in r->inside, or some boxes
 * of scratch; false: nothing was noted. */
bool tp_define_part(tp_machine *m, tp_ref *r, const tp_slice *s);
/* Is the box start[d] + t stride[d], 0 <= t < size[d], of TP_MIXED cells defined? */
bool tp_mixed_box_defined(const tp_cells *c, const tp_slice *s);
void tp_copy_cells(tp_machine *m, tp_cells *to, const tp_cells *from);
void tp_copy_numbers(tp_machine *m, tp_cells *to, const tp_cells *from); /* without planes */
/* ... past the caches (ended by tp_stream_end()), from memory of its own. */
void tp_stream_numbers(tp_machine *m, tp_cells *to, const tp_cells *from);
/* ... to a slice that is a part of a row in one piece; false: it is none that is worth it, and nothing was done. */
bool tp_stream_row(const tp_machine *m, const tp_slice *s, tp_cells *to, const tp_cells *from);
/* The same where v is looked at here only: by the memory of v, if it can be, which takes that of `to`. */
void tp_hand_over_numbers(tp_machine *m, tp_cells *to, tp_vid v);
/* The same without moving them: as long as `to` is looked at, `from` stays as it is. */
void tp_show_numbers(tp_machine *m, tp_cells *to, const tp_cells *from);
/* Mark every undefined element as stored. */
void tp_mark_stored(tp_machine *m, tp_cells *c);

/* Trap because an undefined value reached `sink`. */
_Noreturn void tp_trap_undefined(tp_machine *m, tp_origin o, tp_str subject, const char *sink);

/* planes.c: what values mean; nothing without a domain */
tp_lanes tp_lanes_of(const tp_cells *c);
void tp_planes_copy(tp_machine *m, tp_cells *to, const tp_cells *from);
/* Room for planes exists; it holds what the data say. */
void tp_planes_room(tp_machine *m, tp_cells *c);
/* The same for who writes all of it, or looks at none. */
void tp_planes_room_unset(tp_machine *m, tp_cells *c);
void tp_planes_materialise(tp_machine *m, tp_cells *c);
/* c with its room as planes, for a domain to write. */
tp_lanes tp_planes_result(tp_machine *m, tp_cells *c);
/* Note the planes that a domain wrote to the room of c, or that there are none. */
void tp_note_planes(tp_cells *c, const tp_lanes *out, bool any);
/* 0 in all planes, which exist. */
void tp_planes_zero(const tp_machine *m, const tp_lanes *x);
/* Does a result whose elements are all undefined get planes of zeros (an undefined float has no residue), not none? */
bool tp_garbage_has_planes(const tp_machine *m, tp_dtype dtype);
/* After an instruction that only moves elements, or computes them one by one. */
void tp_planes_inst(tp_machine *m, const tp_inst *i);
/* Elements of `to` and `from` change places with plane p, for as long as `move` runs. */
typedef void (*tp_mover)(tp_machine *m, tp_cells *const *cells, const void *ctx);
void tp_planes_move(tp_machine *m, tp_cells *const *cells, uint32_t n, tp_mover move, const void *ctx);
/* The body decides by c. */
void tp_decide(tp_machine *m, const tp_cells *c);
/* Windows and arrays. */
void tp_planes_prepare(tp_machine *m, uint32_t operand);
void tp_planes_share(tp_machine *m, tp_ref *out, tp_ref *in);
void tp_planes_transfer(tp_machine *m, tp_ref *r, bool in);

/* The planes of `from` are those of `to` from now on: moved where they are its
 * own and nobody looks at it again, else copied. */
void tp_planes_store(tp_machine *m, tp_cells *to, tp_vid from);

/* chain.c: nothing without a domain */
void tp_chain_prepare(tp_machine *m);
void tp_chain_add(tp_machine *m, const tp_inst *i);
/* Compute all that waits; what i looks at. */
void tp_chain_finish(tp_machine *m);
void tp_chain_await(tp_machine *m, const tp_inst *i);
/* uses.c, which tp_chain_prepare() counts */
enum {
    TP_PIECE = 512,  /* elements of a strip, about */
    TP_LONG_ROW = 4, /* rows of more than 4 strips: in pieces, and reductions for themselves */
};
void tp_uses_count(tp_machine *m);
/* How many would wait at most, the result of i included. */
uint32_t tp_count_waiting(const tp_machine *m, const tp_inst *i);
/* c waits for i, with so many; c, which waited, does not. */
void tp_begin_waiting(tp_machine *m, tp_cells *c, const tp_inst *i, uint32_t all);
void tp_end_waiting(tp_machine *m, tp_cells *c);
/* Is there one place that looks at v, once for each time that it is computed? */
bool tp_used_once(const tp_machine *m, tp_vid v);
/* May the planes of this instruction wait? Then it joins the chain once its numbers are there. */
bool tp_chainable(const tp_machine *m, const tp_inst *i);

/* fixed.c: what is not computed at each step */
void tp_fixed_prepare(tp_machine *m);
/* The instruction was executed: its result may stay for all steps. */
void tp_fixed_note(tp_machine *m, const tp_inst *i);
/* Was it executed, with a result that stays? */
bool tp_is_fixed(const tp_machine *m, const tp_inst *i);
/* Is the range of the result enough for now? Then it waits. */
bool tp_range_decides(tp_machine *m, const tp_inst *i);
/* 1 or 0: all lanes of a mask that waits are that; -1: nothing is known. */
int tp_decide_mask(const tp_machine *m, tp_vid v);

/* joined.c: steps side by side, taken as one where no number of the outputs tells */
void tp_join_prepare(tp_machine *m);
/* At most so many, of this axis. */
int64_t tp_join_most(const tp_machine *m, uint32_t *axis);
/* How many of the next steps, of which so many are left, are taken as one: windows and values have the extents of these
 * from now on. */
int64_t tp_join(tp_machine *m, int64_t left);
/* The window of r will be a copy of those of several steps, once the first of them is noted; it is that of the last
 * step then. How many of the others differ from the one before. */
int64_t tp_join_gather(tp_machine *m, tp_ref *r);
/* So many are taken: the grid is at the last of them. */
void tp_join_pass(tp_machine *m, int64_t steps);
/* The axis, the number of the step and the window of r, so many steps on. */
void tp_join_turn(tp_machine *m, tp_ref *r, int64_t steps);
/* Windows and values have the extents of one step again, and windows are those of the last one. */
void tp_join_end(tp_machine *m);
/* Of how many steps the window of r is one now. */
static inline int64_t tp_joined_steps(const tp_machine *m, const tp_ref *r)
{
    return r->joins ? m->together : 1;
}

/* gathered.c: windows of steps that are taken as one, wherever they lie */
static inline bool tp_is_gathered(const tp_machine *m, const tp_ref *r)
{
    return r->places && m->together > 1;
}
/* Somebody looks at r. */
void tp_gathered_fetch(tp_machine *m, tp_ref *r);
/* Is it read by i for one who looks alone? Then that waits; ... */
bool tp_gathered_defers(tp_machine *m, const tp_inst *i);
/* ... and if that is what v is, all of it goes to `to` from where it lies; false: nothing was done. */
bool tp_gathered_stores(tp_machine *m, tp_vid v, tp_cells *to);

/* views.c: values that are rows of other values */
/* Is it one number for all? */
static inline bool tp_is_single(const tp_cells *c)
{
    return c->n == 1 || (c->viewed && c->flat_row && c->pitch == 0);
}
int64_t tp_short_row(const tp_machine *m);
void tp_strides_of(const tp_cells *c, size_t *stride); /* in elements */
/* Of a broadcast, a slice or a transpose: strides of the result in the argument, and its first element there; false:
 * the primitive is another. */
bool tp_strides_in(tp_machine *m, const tp_inst *i, ptrdiff_t *stride, size_t *first);
/* All dimensions before the last as one; false: rows do not lie at one distance. rank > 0. */
bool tp_one_pitch(uint32_t rank, const int64_t *dims, const ptrdiff_t *stride, ptrdiff_t *pitch);
/* Is the box first[d], first[d] + stride[d], … of size[d] elements of c defined, for all that is known at a glance? */
bool tp_defined_box(const tp_cells *c, const int64_t *first, const int64_t *size, const int64_t *stride);
/* Make a broadcast or a slice a view of its argument, an iota one of a row; false: it has to be moved, or made. */
bool tp_view(tp_machine *m, const tp_inst *i);
/* Does the instruction read views as they are? */
bool tp_reads_views(tp_machine *m, const tp_inst *i);
/* Move what a view shows to where it would lie otherwise. */
void tp_flatten(tp_cells *c);
/* First byte of c, and the one behind its last. */
void tp_bytes_of(const tp_cells *c, uintptr_t *first, uintptr_t *end);
bool tp_overlap(const tp_cells *a, const tp_cells *b);
/* Row r of c as cells of their own, one element for all lanes where a row is that. */
tp_cells tp_row_of(const tp_cells *c, size_t r);

/* boxes.c */
/* Is what is defined of the product of i, matrices that are there, a box, and not all? */
bool tp_product_has_box(const tp_machine *m, const tp_inst *i);
/* Does the result of i have a box, where its arguments have one, for all that is known by its primitive? */
bool tp_keeps_box(tp_machine *m, const tp_inst *i);
/* Does undefined times 0 give 0, of this argument? */
bool tp_is_bounded(tp_machine *m, const tp_inst *i, uint32_t arg);
/* Is it a product of something undefined that may be 0 all the same? */
bool tp_settles_zeros(tp_machine *m, const tp_inst *i);

/* written.c */
/* Are all elements of the window that lie inside its array defined, for all that is known at a glance? */
bool tp_is_written(tp_ref *r);

/* shown.c: loads that move nothing; with a domain those of all of an operand; none where coverage alone is counted */
void tp_shown_prepare(tp_machine *m);
/* Make the result of a load, of a part that is defined, a view of the operand; false: it has to be moved. */
bool tp_show_slice(tp_machine *m, const tp_inst *i, const tp_cells *ref, const tp_slice *s);

/* quick.c: what is the same at each step of an operation is found once; nothing with a domain, or where somebody counts
 */
void tp_quick_prepare(tp_machine *m);
/* Is nothing left to do for i, from now on? Its value is there, or nobody looks. */
static inline bool tp_quick_is_there(const tp_machine *m, const tp_inst *i)
{
    return m->due && i->out >= 0 && (m->fixed[i->out] == TP_IS_FIXED || (m->repeats && m->repeats[i->out]));
}
static inline void tp_quick_pay(tp_machine *m, tp_due due)
{
    if (!m->charged) {
        m->stats.work += due.work;
    } else if (due.cost) {
        tp_spend(m->arena, due.cost);
        tp_exec_spend(m, due.work);
    }
}

/* May it be from some step on that nothing is left to do? */
bool tp_quick_ends(const tp_machine *m, const tp_inst *i);
/* What is known of an instruction; NULL: nothing. */
const tp_quick *tp_quick_of(const tp_machine *m, const tp_inst *i);
/* Execute it, of few elements that are there. LOAD_NOW, COMPUTE_NOW: it is a load, or something else that does not
 * wait, for which all is ready; NOT_QUICK: nothing was done. */
typedef enum tp_quickly { TP_NOT_QUICK, TP_DONE, TP_LOAD_NOW, TP_COMPUTE_NOW } tp_quickly;
tp_quickly tp_quick_exec(tp_machine *m, const tp_quick *q);
/* Compute v, which waits, of few elements whose arguments are there; false: nothing was done. */
bool tp_quick_settles(tp_machine *m, tp_vid v);

/* shapes.c: primitives of the class MOVE, and iota. */
void tp_exec_move(tp_machine *m, const tp_inst *i);
void tp_exec_iota(tp_machine *m, const tp_inst *i);

/* elementwise.c, structural.c: numbers alone, as they lie; arguments of one element stand for all */
/* The loop over numbers of the dtype as they lie; NULL: there is none, and tp_elementwise_numbers() goes by strips. */
tp_loop tp_elementwise_loop(tp_prim p, tp_dtype d);
/* ... of a division of integers, none of them by 0. */
tp_loop tp_division_loop(tp_prim p, tp_dtype d);
void tp_elementwise_numbers(const tp_inst *i, tp_cells *out, const tp_cells *a, const tp_cells *b);
void tp_choose_numbers(tp_cells *out, const tp_cells *c, const tp_cells *a, const tp_cells *b);
void tp_convert_numbers(tp_cells *out, const tp_cells *a);
void tp_exec_elementwise(tp_machine *m, const tp_inst *i);
/* Those whose class has no function of its own. */
void tp_exec_structural(tp_machine *m, const tp_inst *i);
/* Trap: nobody says what p does. */
_Noreturn void tp_no_meaning(tp_machine *m, tp_prim p);
void tp_exec_dot(tp_machine *m, const tp_inst *i);
/* onto = base + the product of i, all of float32 or all of int32, of cells that are there and clean; the two may be the
 * same. NULL: the product is the result of i. */
void tp_add_dot(tp_machine *m, const tp_inst *i, const void *base, void *onto);
/* Of the product of i, whose operands are there, clean matrices, n rows alone. */
void tp_dot_rows(tp_machine *m, const tp_inst *i, size_t first, size_t n);
void tp_exec_cast(tp_machine *m, const tp_inst *i);

/* reduce.c */
/* Reduce rows while they are computed; false: nothing was done. */
bool tp_reduce_fused(tp_machine *m, const tp_inst *i);
void tp_exec_reduce(tp_machine *m, const tp_inst *i);
void tp_exec_scan(tp_machine *m, const tp_inst *i);

#endif
