/* Definedness as a static analysis: one symbolic walk over the typed body,
 * for all sizes, grid steps and lanes at once.
 *
 * Every value has, as a function of its lanes, a list of leaks: conditions
 * under which that lane is undefined, with the place of birth; and, for
 * integers and bools computed from iota, program ids, sizes and constants, its
 * meaning as an integer expression. Windows and scratch have leaks per lane as
 * well. What a step inherits from the step before it is found by guessing what
 * the first step leaves and weakening the guess until every step keeps it.
 *
 * The walk only records; the rules (TP102, TP104, TP105, TP401, TP404, TP501, TP503)
 * turn the records into obligations. What it cannot express is "may be
 * undefined", never clean.
 */
#ifndef TP_FLOW_H
#define TP_FLOW_H

#include "analyzer/claim/claim.h"
#include "base/map.h"

typedef enum tp_birth { TP_BIRTH_OUTSIDE, TP_BIRTH_SCRATCH, TP_BIRTH_OUTPUT, TP_BIRTH_MASKED } tp_birth;
enum { TP_BIRTHS = TP_BIRTH_MASKED + 1 };

/* One way in which a lane can be undefined. Conditions are conjunctions over
 * sizes, axes, lanes and the walk's own variables; the latter are existential. */
typedef struct tp_leak {
    tp_expr when;
    tp_birth birth;
    uint32_t operand;    /* whose window or buffer it was born in, or is loaded under a mask */
    uint32_t dim;        /* OUTSIDE: the dimension that is left; the rank: what "valid" leaves out */
    const tp_node *read; /* the read that let it into a value; NULL: none yet */
    tp_prim through;     /* first reduction or dot it went through, else TP_PRIMS */
    bool stored;         /* in memory: a statement put it where it is */
    bool exact;          /* false: `when` is only necessary, not sufficient */
    uint64_t signature;  /* of `when`, for guard.c */
} tp_leak;
typedef TP_VEC(tp_leak) tp_leaks;

typedef enum tp_sink_kind { TP_SINK_OUTPUT, TP_SINK_BRANCH, TP_SINK_BOUND, TP_SINK_INDEX, TP_SINK_CHECK } tp_sink_kind;

/* A place where an undefined lane is a violation. */
typedef struct tp_sink {
    tp_sink_kind kind;
    uint32_t operand; /* OUTPUT */
    tp_expr path;     /* condition under which the sink is reached, lanes included */
    bool exact;       /* the path is exact */
    uint32_t rank;    /* lanes */
    const tp_expr *dims;
    const tp_syntax *syntax; /* statement; NULL at copy-out */
    tp_leaks leaks;
} tp_sink;

/* An integer that the body computes or uses. */
typedef enum tp_use_kind {
    TP_USE_INT32,
    TP_USE_DIVISOR,
    TP_USE_SLICE,
    TP_USE_TABLE,
    TP_USE_TAKE,
    TP_USE_MOVED,
    TP_USE_CLAIMED, /* what multiple_of() claims; value: whether it is so */
    TP_USE_DEVICE   /* a coordinate of another device, along the axis `dim`; extent: how many there are */
} tp_use_kind;
/* The turn of a `for` in which something happens, and of those around it. */
typedef struct tp_flow_turn {
    const struct tp_flow_turn *outer; /* NULL: none */
    const tp_syntax *loop;
    tp_expr variable; /* its value */
} tp_flow_turn;

typedef struct tp_use {
    tp_use_kind kind;
    tp_expr path, value; /* value: no id when it is not known (data) */
    bool exact;
    uint32_t rank; /* lanes of the value */
    const tp_expr *dims;
    const tp_node *node;
    const tp_syntax *syntax;
    const tp_flow_turn *turn; /* NULL: no loop is around it */
    uint32_t operand,
        dim; /* SLICE, MOVED (a side of a copy): the ref and its dimension, value is the start; TABLE: the table's */
    tp_expr size, extent; /* TAKE: only the extent */
    tp_expr text;         /* SLICE, MOVED: how the start is computed, with a symbol for what depends on data */
    int64_t stride;       /* MOVED: 0: one index, without a dimension of its own */
    bool cut;             /* MOVED: the array ends within this block of a pipeline, of `size` */
    bool guarded;         /* SLICE: lanes of the place count where `guard` holds, by what they are along it: */
    tp_expr guard, along; /* no id: the mask is not known; one element */
} tp_use;

/* A part of a ref: in each dimension size elements from start on, stride apart. */
typedef struct tp_place {
    uint32_t operand, rank;
    bool known; /* false: somewhere */
    tp_expr start[TP_MAX_RANK], size[TP_MAX_RANK];
    int64_t stride[TP_MAX_RANK];
} tp_place;

/* events.c: the two have no element in common, as one ends before the other begins in some dimension. Refs of the same
 * rank; false where one of them is not known. */
tp_expr tp_places_apart(tp_exprs *p, const tp_place *a, const tp_place *b);

/* What happens in a step, in order, for TP502 and TP504. */
typedef enum tp_flow_event_kind {
    TP_FLOW_READ,   /* place */
    TP_FLOW_WRITE,  /* place */
    TP_FLOW_COPY,   /* from, place: of one buffer */
    TP_FLOW_START,  /* from, place, counter, bits */
    TP_FLOW_WAIT,   /* the same */
    TP_FLOW_SIGNAL, /* counter, and by how much in `bits` (no id: not known); place and from are the counter, too. Also
                       what a copy to another device adds there */
    TP_FLOW_AWAIT,  /* the same */
    TP_FLOW_LEAVE,  /* the buffers and semaphores of `scope` end */
    TP_FLOW_LOOP,   /* `counter.start[0]` takes the values 0, …, bits - 1 (no id: not known how many) up to its END */
    TP_FLOW_END,
} tp_flow_event_kind;
/* Of a device: one for each axis of devices; no id: not known. */
typedef struct tp_coordinates {
    tp_expr at[TP_MAX_MESH];
} tp_coordinates;

typedef struct tp_flow_event {
    tp_flow_event_kind kind;
    tp_expr path;
    bool exact;   /* it happens where the path holds; false: perhaps */
    bool told;    /* the same in turns that are executed, of loops whose turns are not counted */
    bool partial; /* a store under a mask: some elements of its place */
    tp_place place, from, counter;
    tp_expr bits;
    tp_expr turns;         /* of a LOOP: as bits, which has no id where this speaks of another loop's last turn */
    bool there;            /* a START of a copy to another device, a SIGNAL there, */
    tp_coordinates device; /* ... on this one. A START has it in the SIGNAL behind it */
    tp_scope scope;
    const tp_syntax *syntax;
} tp_flow_event;

/* A loop over a range that the walk takes turn by turn. */
typedef struct tp_flow_turns {
    const tp_statement *loop;
    tp_expr counter;        /* the turn: a symbol */
    tp_expr lo, hi, count;  /* its bounds, and how many turns; no ids: not known */
    const tp_expr *carried; /* by value: what it is when the turn begins; no id: not known */
    bool again;             /* it is entered at several places, each with its own bounds: those of the first one */
    bool kept;              /* its bounds speak of what is kept from step to step */
    bool tested;            /* a test ends it, after a number of turns that is not known: */
    tp_expr enters, goes, another; /* ... when it has a turn, when one that begins so is executed, and another one after
                                      it; each with the path to the loop */
    tp_expr last;                  /* ... a symbol: the number of the last turn */
    tp_expr behind;                /* what is known of last turns of loops in it when a turn ends; no id: nothing */
} tp_flow_turns;

/* An int32 that steps keep for later ones in SMEM, or turns of a loop in a variable (kept.c). */
typedef struct tp_kept {
    const tp_statement *loop; /* NULL: SMEM, */
    uint32_t operand;         /* ... there, */
    int64_t at[TP_MAX_RANK];  /* ... this element */
    tp_vid value;             /* a loop's: the variable */
    tp_expr turn;             /* the symbol that counts the turns; of steps the last axis; no id: there is no axis */
    tp_expr head;      /* a symbol: what it holds when a step or a turn but the first begins, if that is defined */
    tp_expr below;     /* SMEM's: it is less than that, too; no id: nothing is known of that */
    tp_expr left;      /* ... when the step or turn ends, over these symbols; no id: not known */
    tp_expr last;      /* of a `while`: a symbol for what its last turn began with; no id: another loop */
    uint32_t last_var; /* ... among the variables of the walk */
    bool known;        /* else it has no meaning */
    bool used;         /* a loop's: turns are said over it; else what they begin with is a function of the turn */
    uint32_t var, low, high; /* the symbol among the variables of the walk; of kept.c */
} tp_kept;

/* What was asked about copies in flight. */
typedef struct tp_flow_answer {
    bool yes;
    uint32_t round; /* of a no for want of work: the proof that asked, another one asks again; else 0 */
    tp_grade grade;
    tp_str basis;
} tp_flow_answer;
typedef struct tp_flow_asked {
    tp_map by_text; /* their numbers, from 1 on */
    TP_VEC(tp_flow_answer) answers;
    uint32_t rounds;
} tp_flow_asked;

typedef struct tp_flow {
    TP_VEC(tp_flow_event) events;
    TP_VEC(tp_flow_turns) turns;
    TP_VEC(tp_kept) kept;   /* SMEM first */
    TP_VEC(uint32_t) lasts; /* symbols of last turns, of loops that end when a test says so (last.c) */
    TP_VEC(tp_sink) sinks;
    TP_VEC(tp_use) uses;
    tp_expr lane[TP_MAX_RANK];
    TP_VEC(tp_var) vars; /* reduction and loop variables */
    tp_expr behind;      /* what is known of last turns when a step ends */
    tp_str gave_up;      /* why nothing is known; empty: all is well */
    tp_str others;   /* why nothing is known of what memory holds, and when: no sink and no event counts; or empty */
    tp_str unstored; /* why it is not known what copies leave in memory: only events for TP403 count; or empty */
    bool summarised; /* some loop of few turns stands for all its turns at once: tp_flow_unroll() may tell more */
    bool copies;     /* the body starts copies: what is known of their destinations rests on TP504 */
    unsigned given;  /* implicit facts thanks to which some meaning is known */
    tp_str held;     /* what else that rests on: "TP103, C1"; may be empty */
    tp_str covered[TP_BIRTHS]; /* by birth: what it rests on that a lane is not undefined, "F2, TP101, TP103, C1" */
    tp_str in_flight;          /* why TP504 is not proven, where that is known; and where */
    const tp_syntax *in_flight_at;
    int64_t cost;                 /* units of work */
    const struct tp_flow *memory; /* another walk, which knows more of what is undefined; NULL: this one */
    tp_flow_asked *asked;
} tp_flow;

/* The walk over a->k's body; made once per kernel. NULL: no body. */
const tp_flow *tp_flow_of(tp_analysis *a);
/* A walk with loops of few turns written out: what a turn leaves for a later one is known then, for more work. Made at
 * most once per kernel. True: tp_flow_of() has it now, until tp_flow_exchange() brings the other one back. */
bool tp_flow_unroll(tp_analysis *a);
void tp_flow_exchange(tp_analysis *a);

/* A walk in which no int32 wraps: it knows the values that are computed of one that may wrap, too, which counts for as
 * long as all of its TP_USE_INT32 fit. */
const tp_flow *tp_flow_exact(tp_analysis *a);

/* The variables of a claim over lanes of shape dims[rank]: after sizes and axes the lanes, and the walk's own. */
void tp_flow_vars(tp_analysis *a, const tp_flow *f, uint32_t rank, const tp_expr *dims, tp_claim *c);
/* Why nothing is known of what happens, and when; empty: it is. */
static inline tp_str tp_flow_no_events(const tp_flow *f)
{
    return f->gave_up.n ? f->gave_up : f->others;
}
/* ... of what memory holds. */
static inline tp_str tp_flow_no_memory(const tp_flow *f)
{
    tp_str why = tp_flow_no_events(f);
    return why.n ? why : f->unstored;
}
/* When the walk gave up: one finding of the running rule, and true. It is unknown, or proven by the only run where the
 * machine traps on what breaks the rule. */
bool tp_flow_gave_up(tp_analysis *a, const tp_flow *f, bool traps);
/* Conjuncts of a condition, for the premises of a claim; their number. */
uint32_t tp_conjuncts(tp_analysis *a, tp_expr condition, tp_expr *into, uint32_t room);
/* Is e one of these n, by its text? */
bool tp_is_among(tp_expr e, const tp_expr *parts, uint32_t n);

/* leaks.c: what the rules share. A claim about a use, without goal and
 * messages: where it stands, the path to it, what it rests on. */
tp_claim tp_use_claim(tp_analysis *a, const tp_flow *f, const tp_use *u);
/* An unknown finding for a use whose value is not known. */
void tp_use_unknown(tp_analysis *a, const tp_claim *c, const char *reason);
/* Every leak of a->rule into every sink; `proven` and the name of an
 * output is the message where there is none. */
void tp_check_leaks(tp_analysis *a, const char *proven);
/* Is it proven that nothing undefined that was born in one of the operands `from`, from + 1, … gets into a sink? */
bool tp_never_reaches(tp_analysis *a, uint32_t from);

/* far.c: one finding of the running rule, TP403, about an output that copies of the body write. */
void tp_check_far_writes(tp_analysis *a, const tp_operand *o);
/* flight_decide.c: one finding of the running rule about copies that the body starts; nothing where it starts none.
 * Counting, TP502: starts and waits are matched. Else TP504: nothing uses what is in flight, too. */
void tp_check_flights(tp_analysis *a, bool counting, const char *proven, const char *violated);

#endif
