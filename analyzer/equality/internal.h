/* Shared by the files of analyzer/equality/. */
#ifndef TP_EQUALITY_INTERNAL_H
#define TP_EQUALITY_INTERNAL_H

#include "analyzer/claim/claim.h"
#include "analyzer/equality/equality.h"
#include "base/map.h"
#include "smt/trust/derivation.h"

/* ---- terms: one element, as a tree over index expressions; hash-consed ---- */

typedef struct term {
    uint32_t id; /* 0: none */
} term;

typedef enum term_kind {
    T_INTEGER, /* the value of `e`: an integer, or a condition as 0 or 1 */
    T_REAL,    /* `real`, as it is written; infinities too */
    T_NOTHING, /* what a buffer holds when its scope is entered: any value will do, so that no term is made of it */
    T_READ,    /* array element `at` of input `operand` */
    T_BEFORE,  /* lane `at` of output window or scratch `operand`, as the step finds it */
    T_AFTER,   /* the same, as the step leaves it */
    T_HELD,    /* what a recurrence holds before the turn at[0], a symbol that a SCAN binds */
    T_TURN,    /* variable `operand` of a loop, numbered by evaluation.loops, after as many turns as the last of at[] */
    T_APPLY,   /* `prim` of arg[]; `e` the exponent of a power */
    T_SELECT,  /* arg[0] if `e` else arg[1] */
    T_FOLD,    /* `prim` (a reduction) of arg[0] for symbol `sym` from 0 below `e`; ARGMAX, ARGMIN: arg[1] where it is
                  first    the extreme; SCAN: what begins as arg[1] and becomes arg[0] of it in every turn */
} term_kind;

typedef struct reach {
    double lo, hi; /* 0 lies within */
    double least;  /* where it is not 0: how small exponentials make it; 1 without any */
} reach;

typedef struct term_node {
    term_kind kind;
    tp_prim prim;
    double real;
    tp_expr e;
    uint32_t operand, sym, rank;
    tp_expr at[TP_MAX_RANK];
    term arg[3];
    bool infinite;     /* some choice of it is an infinity, or NaN */
    bool endless;      /* it may be plus infinity */
    reach constants;   /* of the constants in it, without what comes of data */
    double mask;       /* the least mask that it may be; 0: none; minus infinity: something is computed with one */
    double mask_above; /* the greatest one in the place of plus infinity; 0: none; plus infinity: likewise */
    bool of_data;      /* something in it comes of data; */
    bool of_sizes;     /* ... of sizes or indices */
    bool plain;        /* it surely has a value, casts being the identity; what is not plain may have one, too */
    bool narrowed;     /* there is a cast in it */
    bool holds;        /* seen to hold its constants in float32 */
    uint32_t depth;    /* of terms in it */
} term_node;

struct evaluation;

/* Of the kernel: minus infinity hides it. */
typedef struct hidden {
    term term;
    struct evaluation *of;
} hidden;

/* An integer term that must fit its dtype, and where it is computed. */
typedef struct narrow {
    term term;
    struct evaluation *of;
    tp_dtype dtype;
    const tp_node *node;
    const tp_syntax *syntax;
} narrow;

/* In this case a sum is above 0, or at least not below it. */
typedef struct known_above {
    uint32_t x;
    bool strict;
} known_above;

/* Room for what takes the place of symbols, by symbol; 0: nothing does. */
typedef struct blank {
    tp_expr *with;
    uint32_t room;
} blank;

/* A value of the body, a scalar, has to be that number where a condition holds; no id: everywhere. */
typedef struct expected_value {
    tp_vid value;
    tp_expr is, where;
} expected_value;

/* The same kernel with loops of its body as axes of the grid, given that values are as expected. Where loops follow
 * each other, it is one kernel for each of them, a phase. */
typedef struct turned_loops {
    const tp_kernel *k;
    TP_VEC(expected_value) expected;
    const struct turned_loops *before; /* the phase before; NULL: this is the first one */
    uint32_t phase, outer;             /* its number; axes of the grid, without those of loops */
    const uint32_t *phase_of;          /* by operand: the phase that alone stores to it; UINT32_MAX: none does */
    const bool *alone;                 /* by operand: it has all that the body stores to what it stands for */
} turned_loops;

typedef struct summary summary;
struct summary {
    tp_arena *arena;
    tp_analysis *a;
    const tp_kernel *k;
    tp_exprs *p;
    tp_equality *out;
    TP_VEC(term_node) terms;
    tp_map ids;           /* terms by contents */
    TP_VEC(tp_var) vars;  /* indices and counters, in order of birth */
    TP_VEC(blank) blanks; /* that nobody uses now */
    uint32_t steps, work; /* terms made, sums looked through so far; bounded: what is shared is met again and again */
    tp_map answers;       /* questions to the prover: 1 no, 2 yes */
    uint32_t questions;
    bool *positive;             /* by operand: what a step leaves there is above 0 */
    TP_VEC(double) literals;    /* sizes of those of both programs */
    bool float64;               /* the body computes with it */
    bool rolled;                /* loops of the body with stores are recurrences, however few their turns are */
    bool may_roll;              /* it would make a difference */
    const turned_loops *turned; /* k is this one's; NULL: its loops are as they were */
    const turned_loops *last;   /* the last phase */
    bool roundings;             /* literals may be roundings of what is meant */
    bool narrow_casts;          /* under a decision: casts are kept */
    bool strict;                /* what may be undefined must not vanish: of the kernel, not of the reference */
    const tp_node *node;        /* where we are, for messages */
    const tp_syntax *syntax;
    TP_VEC(narrow) narrow;         /* not looked at yet */
    TP_VEC(hidden) hidden;         /* not looked at yet */
    TP_VEC(tp_var) others;         /* turns of other phases than s->k's */
    struct evaluation *now;        /* of the body, or of the phase of it that terms are made of */
    TP_VEC(tp_analysis *) phases;  /* all analyses */
    bool of_kernel;                /* whose terms are made */
    TP_VEC(double) bounds;         /* of index expressions */
    tp_map bound_of;               /* by expression: its number there + 1 */
    TP_VEC(known_above) signs;     /* of the case that is looked at */
    struct sums *sums;             /* sum.c */
    const struct sum_laws *laws;   /* that arithmetic asks */
    const struct sum_moves *moves; /* that sum_map() asks; NULL: none */
    term (*scan_law)(struct summary *s, uint32_t sym, tp_expr extent, term body, term init); /* that term_scan() asks */
    struct record *record;                                                                   /* record.c */
    const tp_prover_options *o;                                                              /* where certificates go */
};

/* A summary in the making. */
summary *summary_new(tp_arena *arena, const tp_kernel *k, const tp_analysis_options *o, tp_equality *out);
/* Its analyses end. */
void summary_end(summary *s);
/* It ends here: why. Leaves with TP_E_INPUT. */
_Noreturn void summary_stop(summary *s, tp_str why);

/* A literal of at most -SUMMARY_MASK is a mask: a finite number in the place of minus infinity; one of at least
 * SUMMARY_MASK stands for plus infinity in minima. */
#define SUMMARY_MASK 1e30

/* term.c */
const term_node *term_get(const summary *s, term t);
/* Has a node what its kind says? For tp_assert(). */
bool term_holds(const summary *s, const term_node *n);
term term_integer(summary *s, tp_expr e);
term term_real(summary *s, double v);
/* Nobody looks at it, by TP404. Where it is an arm of a choice, the choice is the other arm; what is computed of it is
 * like it, but for folds, perhaps of nothing. */
term term_nothing(summary *s);
term term_element(summary *s, term_kind kind, uint32_t operand, uint32_t rank, const tp_expr *at);
term term_apply(summary *s, tp_prim prim, term a, term b, term c, int64_t exponent);
term term_select(summary *s, tp_expr condition, term a, term b);
term term_fold(summary *s, tp_prim prim, uint32_t sym, tp_expr extent, term body);
/* Is it ARGMAX or ARGMIN? Then which fold is of the values, and else PRIMS. */
tp_prim prim_of_first(tp_prim prim);
/* What begins as `init` and becomes `body` in each of so many turns, where T_HELD at `sym` is what it was before. */
term term_scan(summary *s, uint32_t sym, tp_expr extent, term body, term init);
term term_held(summary *s, tp_expr turn);
/* The same, its last turns written out where extent is a number of turns and a few more. */
term term_scan_unfolded(summary *s, uint32_t sym, tp_expr extent, term body, term init);
/* `place` at the first of `sym` below extent at which `value` is extreme. */
term term_first(summary *s, tp_prim prim, uint32_t sym, tp_expr extent, term value, term place);
/* Symbols replaced, indices in normal form again. */
term term_subst(summary *s, term t, const tp_expr *with, uint32_t n);
/* Is it a literal, or an integer that is the same everywhere? */
bool term_is_number(const summary *s, term t, double *v);
/* May it be a mask, as it was written? */
bool term_may_be_mask(const term_node *n);
/* The same of one in the place of plus infinity. */
bool term_may_be_mask_above(const term_node *n);
/* Is some node of that kind, of that operand (UINT32_MAX: any), in it? */
bool term_mentions(summary *s, term t, term_kind kind, uint32_t operand);
/* Is that primitive applied in it? */
bool term_applies(summary *s, term t, tp_prim prim);
/* Is the symbol in it? */
bool term_speaks_of(summary *s, term t, uint32_t sym);
/* Replace the elements of one operand: by(lane indices). */
typedef term (*term_replacer)(summary *s, const term_node *n, void *ctx);
term term_replace(summary *s, term t, term_replacer by, void *ctx);
/* Of recurrences that surely have a turn the last one is written out. */
term term_with_last_turns(summary *s, term t);
/* Folds over a few turns as operations of two, one after the other. */
term term_written_out(summary *s, term t);
/* Every `from` in t replaced. */
term term_exchange(summary *s, term t, term from, term to);
void term_print(summary *s, tp_buf *b, term t);

/* A new index from 0 below `extent`. */
tp_expr summary_index(summary *s, const char *name, tp_expr extent);
/* The step of an axis, as one. */
tp_var summary_turn(const summary *s, const tp_axis *axis);
/* For all symbols that there are, and `more`; to be handed back where it is used often: every fold that is opened has
 * symbols of its own, so that there may be many thousands. */
blank blank_new(summary *s, uint32_t more);
void blank_done(summary *s, blank b);

/* ---- ask.c: conditions ---- */

/* What holds here: premises, beside the spec's facts and the ranges of all indices. */
typedef struct premises {
    tp_expr at[48];
    uint32_t n;
} premises;
premises premises_with(summary *s, const premises *p, tp_expr also);
/* Does it follow? Cheap. */
bool summary_follows(summary *s, const premises *p, tp_expr goal);
/* The same, recorded as an obligation of the proof. */
bool summary_proves(summary *s, const premises *p, tp_expr goal);
/* A bound that hardly holds without the implicit facts. */
bool summary_proves_large(summary *s, tp_expr goal);
/* Of all sizes and tables, whether or not there is a step of the grid. */
bool summary_proves_of_sizes(summary *s, tp_expr goal);
/* 1: it follows from the premises, -1: its negation does, 0: neither is seen. */
int summary_decides(summary *s, const premises *p, tp_expr condition);
/* The same without premises: of a constant, or by what "values" say of the entries that it reads. */
int summary_is_decided(summary *s, tp_expr condition);
/* t with the conditions that p decides put in. */
term term_decide(summary *s, term t, const premises *p);
/* The same number where p holds: min, max and choices that p decides are an argument of theirs. */
tp_expr index_under(summary *s, const premises *p, tp_expr e);
tp_expr index_under_guards(summary *s, tp_expr e, void *premises); /* the same, as an index_map */
/* In the spelling of spec/guard.h. */
tp_expr condition_normal(summary *s, tp_expr e, bool negated);

/* ---- record.c: what was done, for the certificate ---- */

/* How far the record is: what is written after it belongs to one law. */
typedef struct record_mark {
    uint32_t sides, exchanges;
} record_mark;
record_mark record_here(summary *s);
/* The prover said yes; a number to say so again with. */
uint32_t record_side(summary *s, tp_claim *c, tp_decision d);
void record_side_again(summary *s, uint32_t number);
/* One index expression in the place of another. */
void record_exchange(summary *s, tp_expr from, tp_expr to);
/* What was exchanged since is forgotten. */
void record_forget(summary *s, record_mark m);
/* A law without a schema was used. */
void record_open(summary *s, tp_law law);
/* derive.c: both terms were seen to be equal: the derivation is replayed, and written where certificates are. */
void record_equal(summary *s, const premises *p, term kernel, term reference, tp_str output);

/* ---- width.c ---- */

/* The least bound of an index expression that is seen; infinity: none is. */
double summary_upper(summary *s, tp_expr e);
/* Of the constants in n, quickly; x: those of its arguments. */
reach reach_of_node(summary *s, const term_node *n, const reach *x);
/* Is it finite in that type where data are small? A literal may be an infinity. Empty: it is; else why it may not be.
 */
tp_str term_overflows(summary *s, term t, tp_dtype d);

/* To be looked at when what buffers hold is known; t itself may speak of it. */
void summary_must_fit(summary *s, term t, tp_dtype dtype);
/* All that must fit does, or the summary stops. contents: puts in what buffers hold in that phase; NULL: there are
 * none. */
void summary_fits(summary *s, term (*contents)(void *ctx, struct evaluation *of, term t), void *ctx);

/* Is it a whole number, whatever the data are? */
bool term_is_whole(const summary *s, term t);
/* Does it lie within what that integer type holds, whole or not? */
bool summary_lies_in(summary *s, term t, tp_dtype dtype);
bool summary_lies_between(summary *s, term t, double lo, double hi);

/* ---- integers.c ---- */

/* A quotient, a rest, bits or a shift of integers of dtype d that come of data; no id: no term says it. The result
 * of a shift to the left may be too large for d. */
term integer_of_data(summary *s, tp_prim prim, tp_dtype d, term a, term b);

/* ---- constants.c ---- */

/* The constants of gelu, spec/prims.def. */
#define SUMMARY_GELU_CUBE 0.044715
#define SUMMARY_GELU_SCALE 0.7978845608028654
/* numbers.c: v >= 0 as a fraction of small terms, exactly. */
bool literal_fraction(double v, int64_t *num, int64_t *den);
/* Collect the literals of a program. */
void literals_of(summary *s, const tp_program *p, bool body);
/* Would a proof with `roundings` differ from one without? */
bool literals_may_be_rounded(const summary *s);

/* ---- narrowed.c ---- */

/* NaN, which equals nothing, where no engine knows how type `d` rounds. */
double summary_rounded(tp_dtype d, double v);
/* Is every value of t a number of that float type? */
bool term_fits(summary *s, term t, tp_dtype to);
/* t in a float type: itself where it fits, else TP_P_CAST of it, `exponent` being the type. */
term term_narrow(summary *s, term t, tp_dtype to);
/* A number that is written where that type computes: of fewer than 32 bits it is what they hold of it. */
term term_literal(summary *s, term number, tp_dtype in);

/* ---- element.c: a program at symbolic indices ---- */

/* Contents of a ref, or of a variable: the newest store first. */
typedef struct stored {
    tp_expr path;           /* when the statement runs */
    const tp_access *where; /* NULL: all of it */
    tp_vid value;
    bool nothing;               /* a scope is entered: anything will do */
    const struct stored *older; /* NULL: as the step found it */
    tp_expr turns;              /* after a loop of so many turns, none perhaps: `older`, joined by `by` with */
    uint32_t turn;              /* the values for each of them, in which it is this symbol */
    tp_prim by;                 /* WHERE: the value of the turn for which this condition holds, else `older` */
    tp_vid condition;
    const tp_inst *update; /* or in which this instruction writes the element */
    bool otherwise;        /* for which it does not hold */
    bool some;             /* there is a turn, for all sizes */
    uint32_t loop;         /* + 1, numbered by evaluation.loops: what the loop makes of the variable in `turns` turns */
} stored;

/* A variable, or a buffer of the body, that each turn of a loop makes of what it was. */
typedef struct loop_variable {
    const stored *before, *after; /* the loop; a turn */
    bool buffer;
    uint32_t operand, turn, rank; /* of a buffer; the symbol of the turn */
    tp_expr lane[TP_MAX_RANK];    /* symbols, or 0 where there is one lane */
    bool busy, recurs;            /* else a turn sets it */
    tp_expr only, written;        /* only.id: this turn alone sets the lane, where `written` */
    term body, init;              /* at those lanes; no body: not looked at yet */
} loop_variable;

typedef bool along_dims[TP_MAX_RANK];

struct grid;

typedef struct evaluation {
    summary *s;
    const tp_program *p;
    bool body;                     /* else a reference */
    TP_VEC(tp_value) values;       /* the program's, and those of loops that were unrolled */
    TP_VEC(const tp_inst *) by;    /* per value: its instruction */
    TP_VEC(const stored *) loaded; /* per value: what a load or a variable sees */
    TP_VEC(tp_expr) under;         /* per value: of a load, when it is made */
    const stored **refs, **slots;  /* now: per operand; per value of the program */
    const stored **final;          /* per operand: after the step */
    tp_map elements;               /* by value and indices */
    TP_VEC(loop_variable) loops;
    along_dims *uniform; /* per operand: scratch that is the same all along it */
    /* of a phase: */
    const tp_kernel *k;
    tp_analysis *a;
    bool *positive;
    const turned_loops *turned;
    term (*left_by_phase)(struct grid *g, const term_node *n); /* no id: it is of this phase, or of none */
    struct evaluation *before;                                 /* the phase before */
    struct grid *in_the_end;                                   /* its last turn, for later phases */
    term *ends;                                                /* per operand: what it then holds, */
    tp_expr (*end_lane)[TP_MAX_RANK];                          /* ... at these lanes; no term: not looked at yet */
} evaluation;

_Noreturn void evaluation_stop(evaluation *v, const char *why);
/* reshaped.c: of element `at` of a RESHAPE, the indices of that of its argument. */
void reshaped_place(evaluation *v, const tp_inst *inst, const tp_expr *at, tp_expr *from);
/* A scalar that is an expression over sizes, axes and indices. */
tp_expr scalar_of(evaluation *v, tp_vid value);
/* walk.c: who computes what, and what memory holds after it. */
evaluation *evaluate(summary *s, const tp_program *p, bool body);
/* phases.c: the body of s->k, all phases of it; the last one. */
evaluation *evaluate_kernel(summary *s);
/* walk.c: turns of other phases than this one, for questions; from here on the summary is of this phase. */
void note_others(summary *s, const turned_loops *here);
void look_from(evaluation *v);
/* Element `at` of a value. */
term element_of(evaluation *v, tp_vid value, const tp_expr *at);
/* DYNAMIC_UPDATE: is element `at` in the part that is written, and where in it? */
tp_expr in_update(evaluation *v, const tp_inst *i, const tp_expr *at, tp_expr *lane);
/* Find the dimensions along which scratch holds the same everywhere. */
void find_uniform(evaluation *v);
/* Recurrences in the place of what loops make of their variables and buffers, or the summary stops. */
term with_turns(evaluation *v, term t);
/* Nothing is known of loops any more: it was found under other assumptions. */
void forget_turns(evaluation *v);
/* Lane `at` of what is stored in an operand, `c` being the newest store; NULL: as the step found it. */
term contents_element(evaluation *v, const stored *c, uint32_t operand, const tp_expr *at);
/* Element `at` of a variable. */
term variable_element(evaluation *v, const stored *c, const tp_expr *at);
/* Lane `at` of an operand after the step. */
term element_after(evaluation *v, uint32_t operand, const tp_expr *at);

/* turns.c: the same as a SCAN of these, by the laws of nested and of consecutive recurrences; no id: none applies. */
term scan_by_law(summary *s, uint32_t sym, tp_expr extent, term body, term init);

/* ---- as_axes.c ---- */

/* The kernel with its loops of any number of turns as axes; NULL: it has none, or they do not stand in one another.
 * at_start: where copies store, tp_stores_here(). */
const turned_loops *loops_as_axes(tp_arena *arena, const tp_kernel *k, const tp_analysis_options *o, bool at_start);
/* expected.c: the values are as s->turned expects them, or the summary stops. */
void expect_values(evaluation *v);

/* ---- choice.c ---- */

/* A term is `value` where `holds`, and else what is kept. value: no id where it never is; it may speak of what is kept,
 * too. */
typedef struct kept_or_set {
    tp_expr holds;
    term value;
} kept_or_set;
/* What is kept is_kept(), an element of that kind and operand. */
kept_or_set match_choice(summary *s, term t, bool (*is_kept)(void *ctx, term t), term_kind kind, uint32_t operand,
                         void *ctx);

/* ---- memory.c ---- */

/* The step whose window is copied out to an element of an output, and the lane. */
typedef struct writer {
    uint32_t run;              /* blocks are told by the axes before it, and stay for the steps of the others */
    tp_expr step[TP_MAX_AXES]; /* per axis */
    bool fixed[TP_MAX_AXES];   /* axes before `run` that are at their last step, where others alone tell blocks */
    bool fixes;                /* any of them */
    tp_expr lane[TP_MAX_RANK];
    tp_expr inside; /* when there is one, as long as every axis from `run` has a step */
    tp_expr
        key; /* no id, or: blocks are told by this, which axis `run` alone moves; the steps of one follow each other */
    tp_expr block; /* the key of the block */
    bool keeps;    /* no step may have that key, and at most one has: else the element is what its alias held */
} writer;
/* Stops where that is not seen. */
writer writer_of(summary *s, const tp_operand *o, const tp_expr *at);
/* It is there, for every element (of indices of summary_index()), or the summary stops. */
void writer_exists(summary *s, const tp_operand *o, writer *w);
/* Element `at` of an output after a grid of which at most one step writes it: `written` by step w->step of the axis
 * w->run, and else what was there before. */
term written_or_kept(summary *s, const tp_operand *o, const writer *w, const tp_expr *at, term written);
/* Of all points of these symbols at which both premises and condition hold
 * there is at most one? Of two, p and q, it is proven of one symbol after the
 * other that q's is not above p's, those before being the same. */
bool at_most_one_point(summary *s, const premises *p, tp_expr condition, const uint32_t *sym, const tp_expr *extent,
                       uint32_t n);
/* e with another step of an axis. */
tp_expr at_step_of(summary *s, tp_expr e, uint32_t axis, tp_expr step);
/* The body reads element `at` of an input at the step that the axes name: as it
 * came, or the summary stops. */
void must_be_old(summary *s, uint32_t operand, const tp_expr *at);

/* outputs.c: element `at` of output o after the whole grid. */
term output_element(evaluation *v, uint32_t operand, const tp_expr *at);

/* equal.c: wherever b is defined, a is and has its value. `reference`: b is of
 * the reference; else a is defined wherever b is, too. */
bool terms_equal(summary *s, const premises *p, term a, term b, bool reference);

#endif
