/* Shared by flow.c (statements, memory), grid.c (steps), guess.c
 * (what they inherit), value.c (values) and guard.c (conditions). */
#ifndef TP_FLOW_INTERNAL_H
#define TP_FLOW_INTERNAL_H

#include "analyzer/flow/flow.h"

typedef struct flow_value {
    tp_expr meaning; /* integers and bools; no id: unknown */
    tp_leaks leaks;
    tp_expr zero; /* a guard: the lane is defined there, and 0 or false; no id: not known of any (zeros.c) */
} flow_value;

typedef struct flow_state {
    flow_value *values; /* by value number, behind them those of kept elements */
    tp_leaks *refs;     /* by operand */
} flow_state;

/* The numbers of a condition's conjuncts, ascending; ids NULL: not asked for yet. */
typedef struct flow_conjuncts {
    uint32_t n;
    const uint32_t *ids;
} flow_conjuncts;

/* What a loop that is entered so carries: by value, over its counter; no id where that is not known. */
typedef struct flow_carried {
    const tp_statement *loop;
    tp_expr path, behind;
    bool weak, fits;             /* some form holds where the test passes, alone; f->fits[] */
    const tp_expr *entry, *form; /* meanings of all values where it is entered, and at the head of a turn */
} flow_carried;

/* Is a statement executed where its path holds? Perhaps; yes, in turns that are executed, of loops whose turns are not
 * counted; always. */
typedef enum flow_certainty { FLOW_PERHAPS, FLOW_IN_TURNS, FLOW_ALWAYS } flow_certainty;

/* The conditions under which a turn that begins so is executed, and another one behind it. No ids: they are not known,
 * or nobody asks. */
typedef struct flow_turn {
    tp_expr goes, again;
    tp_expr behind; /* what is known of last turns when it ends */
} flow_turn;

/* Of a loop that only computes: symbols for what it may search (least.c). No ids: it is none. */
typedef struct flow_search {
    tp_expr found; /* what a turn begins with; a variable */
    tp_expr at, inside;
    uint32_t table;
} flow_search;

/* An answered question of guess.c: the expressions in it, sorted, then its variables. */
typedef struct flow_query {
    uint32_t *key, n;
    bool yes;
    tp_str basis; /* of a yes */
} flow_query;

typedef struct flow {
    tp_analysis *a;
    const tp_kernel *k;
    const tp_program *p;
    tp_flow *out;
    flow_state now;
    tp_expr path;
    flow_certainty certain; /* of the path */
    tp_expr entered;        /* every loop around has a turn: of its counter a path need not speak */
    tp_expr behind;         /* what is known of the last turns of loops before this place */
    bool away;              /* what is stored now is stored on another device: no event of this one */
    bool recording;
    const tp_syntax *syntax;
    const tp_flow_turn *turn; /* of the innermost `for` that is walked */
    tp_expr *reduced;         /* per value: first variable of the reduction that computes it */
    tp_expr *loop;            /* per value: the counter of the loop whose variable it is */
    tp_expr *last;            /* per value: the number of the last turn of the `while` whose condition it is */
    bool *fits;           /* per value: in a turn that is executed the test of that `while` did not wrap (carried.c) */
    flow_search *search;  /* per value: of the loop whose variable it is */
    const tp_inst **made; /* per value: what computes it, once that was walked */
    tp_expr data;         /* a symbol, for integers that depend on data */
    const bool *bounded;  /* per value: spec/bounded.c */
    bool *settles;        /* per value: where it is 0, a product may be defined */
    bool *feeds;          /* per value: does a mask, an index or a bound come from it? */
    bool *kept_feeds;     /* per operand: does one of what SMEM keeps there? */
    TP_VEC(tp_vid) variables; /* values that statements assign */
    TP_VEC(bool) counters;    /* per variable of the walk: counts a loop (else it is reduced over) */
    bool *quiet;              /* per operand: stored to in the last step of the last axis only (grid.c) */
    bool *placed;             /* per operand and symbol: where it is stored to depends on that */
    bool noting;              /* that is being found out */
    bool settling;            /* ... with what SMEM keeps, of which ranges are found first */
    uint32_t work;            /* statements walked; bounded: */
    uint32_t most_work;       /* every statement FLOW_WALKS times, and a few for loops that are unrolled */
    uint64_t effort;          /* conjuncts compared; bounded */
    uint64_t charged;         /* of that, on account of the budget */
    TP_VEC(flow_query) queries;
    tp_map held; /* answers of flow_holds() about scalars */
    TP_VEC(flow_carried) carried;
    bool keeps;                       /* integers that steps and turns pass on have symbols */
    bool tests;                       /* the test of a `while` tells something of its turns */
    uint32_t nkept;                   /* of out->kept those of SMEM */
    bool *doubted;                    /* per value: a load from what SMEM keeps, of an element that may be undefined */
    bool doubted_now;                 /* one more of them */
    TP_VEC(uint64_t) signatures;      /* per condition, of its conjuncts (guard.c); 0: not asked yet, or none */
    TP_VEC(flow_conjuncts) conjuncts; /* by expression, once asked for */
    TP_VEC(tp_expr) opposite;         /* per condition: what holds where it does not; no id: not asked yet */
    TP_VEC(bool) settled;             /* per conjunction: guard.c, is_settled() */
    bool coarse;                      /* a condition became too large, and was dropped */
    bool unroll;                      /* loops of few turns are written out */
    int64_t unrolled;                 /* iterations of such loops around */
} flow;

/* guard.c: conditions in negation normal form; comparisons as x >= 0,
 * x == 0 or x != 0 with x in polynomial normal form, so that complements meet. */
enum {
    FLOW_MOST_UNROLLED = 64,
    FLOW_MOST_KEEPING = 8,
    FLOW_MAX_ROUNDS = 8,
    FLOW_LEAST_WORK = 6000,
    FLOW_WALKS = 16,
    FLOW_MAX_EFFORT = 800000000,
    FLOW_UNROLLED_EFFORT = 400000000
};

/* For qsort: numbers (uint32_t), ascending. */
int flow_by_number(const void *a, const void *b);
tp_expr flow_yes(flow *f);
bool flow_is_true(flow *f, tp_expr e);
bool flow_is_false(flow *f, tp_expr e);
tp_expr flow_guard(flow *f, tp_expr condition, bool negated);
tp_expr flow_and(flow *f, tp_expr a, tp_expr b); /* of guards; false when they exclude each other by text */
tp_expr flow_or(flow *f, tp_expr a, tp_expr b);
tp_expr flow_compare(flow *f, tp_expr_op op, tp_expr a, tp_expr b);
/* Replace symbols, keeping the normal form. */
tp_expr flow_subst(flow *f, tp_expr guard, const tp_expr *with, uint32_t n);
/* Leave out the conjuncts that mention one of the marked symbols. */
tp_expr flow_forget(flow *f, tp_expr guard, const bool *marked);
bool flow_mentions(flow *f, tp_expr guard, const bool *marked);

/* A claim: does the goal, over lanes of this shape, hold on this path? */
bool flow_holds(flow *f, tp_expr goal, uint32_t rank, const tp_expr *dims);

/* Does one of the list say all that the leak says, from the same source? */
bool flow_has(flow *f, const tp_leaks *list, const tp_leak *leak);
void flow_add(flow *f, tp_leaks *list, tp_leak leak);
/* Is it what flow.h says? For tp_assert(). */
bool flow_leak_holds(const flow *f, const tp_leak *l);
/* into += { condition and l : l in from }, symbols replaced first (with may be NULL). */
void flow_join(flow *f, tp_leaks *into, const tp_leaks *from, tp_expr condition, const tp_expr *with, bool exact);
/* The same of one arm of a choice. What the other arm has too, wider or equal, needs no condition: it is there in both
 * arms. */
void flow_join_arm(flow *f, tp_leaks *into, const tp_leaks *arm, tp_expr when, const tp_leaks *other, bool exact);
/* A substitution that keeps every symbol. */
tp_expr *flow_identity(flow *f);
uint32_t flow_lane_sym(const flow *f, uint32_t d);

/* again.c: the walk's own variables stand for "some lane", "some turn" of one execution of a statement. Executed
 * again, it speaks of others, so conditions from before may not mention them: conditions that follow from `when`,
 * without the marked variables (those that are reduced over by their extremes). */
tp_expr flow_eliminate(flow *f, tp_expr when, const bool *marked);
/* The leaks, their conditions without the variables sym, sym + 1, …, sym + n - 1. */
tp_leaks flow_retire(flow *f, const tp_leaks *leaks, uint32_t sym, uint32_t n);

/* value.c */
void flow_inst(flow *f, const tp_inst *i);
/* Is the value inside [lo, hi] on this path, for all its lanes? */
bool flow_fits(flow *f, tp_expr value, int64_t lo, int64_t hi, uint32_t rank, const tp_expr *dims);
/* Which symbols are lanes; which are the walk's own. */
bool *flow_lane_marks(flow *f);
bool *flow_own_variables(flow *f);

/* zeros.c: which lanes are 0, of values where that decides whether a product is defined. */
void flow_find_bounded(flow *f);
tp_expr flow_zero_of(flow *f, const tp_inst *i);
/* The leaks of argument `arg` of the product i, over the lanes of the result by `with`; `other`: the argument that it
 * is multiplied with. */
void flow_join_factor(flow *f, flow_value *out, const tp_inst *i, uint32_t arg, const tp_leaks *leaks,
                      const tp_expr *with, const flow_value *other, const tp_expr *with_other);
void flow_forget_zeros(flow *f, uint32_t sym);
/* guard.c: is the lane undefined in each case of the condition, by what one of the leaks says exactly? */
bool flow_covers(flow *f, const tp_leaks *leaks, tp_expr when);

/* guess.c: how much of a condition a guess keeps. */
typedef enum flow_freedom_kind {
    KEEP_LANES, /* conditions on lanes, summed over or not, even if they change from step to step */
    KEEP_FIXED, /* conditions on what does not change */
    KEEP_NOTHING,
} flow_freedom_kind;
flow_freedom_kind flow_freedom(int round);
/* Forget leaks whose condition no lane of the shape meets (a part that was written is read back). */
void flow_drop_impossible(flow *f, tp_leaks *leaks, uint32_t rank, const tp_expr *dims);
/* Those that may be where the condition holds, as they are. */
tp_leaks flow_within(flow *f, const tp_leaks *leaks, tp_expr condition);
/* Add to the guess what it does not cover yet. True when something was added. */
bool flow_weaken(flow *f, tp_leaks *guess, const tp_leaks *found, const bool *changing, uint32_t rank,
                 const tp_expr *dims, flow_freedom_kind how);

/* grid.c */
/* What a load of an input is of which "values" are declared: entries of the array; no id: not known. The value's lanes
 * stand for lanes of the window by to_ref; NULL: they are these. */
tp_expr flow_entries(flow *f, const tp_operand *o, const tp_expr *to_ref);
/* Add to the leaks of what is read of an output that stays where it is, where steps may run in any order. */
void flow_unordered(flow *f, uint32_t operand, tp_leaks *into);
/* A store to it is walked, to the lanes that are inside. */
void flow_note_store(flow *f, uint32_t operand, tp_expr inside);
/* prepare.c: what the walk needs before it begins. */
void flow_prepare(flow *f);
/* All steps; its argument is a flow. */
void flow_walk_body(void *arg);
/* start.c: what an operation leaves as it is, as text: 0 for sums and for what has none. */
tp_str flow_neutral(tp_analysis *a, tp_prim by, tp_dtype dtype);
/* start.c: the condition of the first step on each block of the outputs; empty: it is none of the fastest axes'. */
tp_str flow_first_on_block(tp_analysis *a, uint32_t operand);
/* start.c: what to do about elements of an output that are not written: where they are, if that is one branch. */
void flow_advise_store(tp_analysis *a, tp_finding *f, uint32_t operand);
/* start.c: if k == 0: acc[...] = 0, in front of the body: in the first step on each block of the outputs, else at the
 * start of the longest run of the fastest axes that helps, since it may not forget what it summed. With what the body
 * itself gives all of the operand, else with the identity of the operation by which it is updated. */
void flow_propose_start(tp_analysis *a, tp_finding *f, uint32_t operand);
/* once.c: a->flow := a new walk. All turns of a loop at once; and, where that says too little, turn by turn. */
void flow_walk_again(tp_analysis *a);
void flow_walk(flow *f, const tp_region *r);
/* A state that may change without the other one. */
flow_state flow_copy_state(flow *f, const flow_state *s);
/* One turn of a loop; `variable`: the value of a `for`'s. */
flow_turn flow_walk_turn(flow *f, const tp_statement *s, tp_expr variable);
/* unrolled.c: is the `for` walked turn by turn? Then *lo is its first value, *n the number of turns. */
bool flow_is_unrolled(flow *f, const tp_statement *s, int64_t *lo, int64_t *n);
/* carried.c: for each value that a loop carries its meaning at the head of turn number `counter`; no id: not known. The
 * loop is entered now, in the state `entry`; it assigns to `slots`. count, first value of its variable, and
 * when a `while` is entered: no id, unknown. `weak`: some of them hold in turns that are executed alone, not where the
 * test of a `while` ends it. */
const tp_expr *flow_carry(flow *f, const tp_statement *s, const flow_state *entry, const bool *slots, tp_expr counter,
                          tp_expr count, tp_expr first, tp_expr enters, bool *weak);
/* What the loop carries stands for something else in conditions from here on; and as a number. */
void flow_retire_carried(flow *f, tp_expr counter);
void flow_forget_carried(flow *f, tp_expr counter);
/* last.c: a symbol for the number of a loop's last turn, and for what a `while` carries into it. */
void flow_make_last(flow *f, const tp_statement *s);
void flow_make_last_kept(flow *f, tp_kept *k);
/* The loop is executed again: conditions from before may not speak of its last turn, and values do not. */
void flow_retire_last(flow *f, const tp_statement *s);
bool flow_speaks_of_last(const flow *f, tp_expr e);
/* Without what speaks of last turns. */
tp_expr flow_without_last(flow *f, tp_expr guard);
/* The number of turns of a loop that goes on as long as this holds of the turn; no id: that does not tell. */
tp_expr flow_turns_of(flow *f, tp_expr goes, tp_expr counter);
/* What such a loop leaves in value number v, of which f->now has what a turn leaves, and `none` what no turn does; no
 * id: that is not known. */
tp_expr flow_left_by_last(flow *f, const tp_statement *s, uint32_t v, tp_expr counter, tp_expr enters, tp_expr none);
/* What is known behind a loop that is entered where `enters` holds. */
tp_expr flow_last_known(flow *f, const tp_statement *s, tp_expr counter, tp_expr enters, flow_turn last);
/* least.c: symbols for a loop that may search. */
void flow_make_search(flow *f, const tp_statement *s);
/* What is carried at the head of turn number `counter` of a loop that begins with `entry` and makes `after` of
 * f->search[].found, if it searches; a guess. No id: it does not. */
tp_expr flow_search_form(flow *f, const tp_statement *s, tp_expr entry, tp_expr after, tp_expr counter);
/* min(m + count, L[m]) behind all turns: L[m], where that is shown. Another expression as it is. */
tp_expr flow_searched(flow *f, tp_expr e);
/* into += what is undefined in some lane: conditions on lanes are dropped. */
void flow_any_lane(flow *f, tp_leaks *into, const tp_leaks *from);
void flow_load(flow *f, const tp_inst *i);
void flow_read(flow *f, const tp_inst *i, flow_value *out);
void flow_use(flow *f, tp_use use);
static inline tp_expr flow_meaning(flow *f, tp_vid v)
{
    const tp_value *x = &f->p->values.at[v];
    return x->dtype == TP_WEAK_INT ? x->meaning : f->now.values[v].meaning;
}
/* Do other devices write to it, and is all that is read of it defined (received.c)? */
static inline bool flow_is_received(const flow *f, uint32_t operand)
{
    return f->a->received && f->a->received[operand];
}
/* kept.c: int32 that SMEM keeps from step to step. Their symbols. */
void flow_make_kept(flow *f);
/* ... and of integers that loops carry; without the symbol that counts their turns. */
void flow_make_carried(flow *f, const tp_region *r);
/* Is the expression in its range? Else the next wider one is its range, or it has no meaning any more. */
bool flow_keep_in_range(flow *f, tp_kept *k, tp_expr e);
void flow_set_range(flow *f, const tp_kept *k); /* NULL: nothing */
/* That of a variable that the loop carries; NULL: none. */
tp_kept *flow_kept_by(flow *f, const tp_statement *loop, uint32_t value);
/* A turn ends, of a loop whose turns begin with `head` in this variable. */
void flow_end_turn(flow *f, const tp_statement *loop, uint32_t value, tp_expr head);
/* How often a body may be walked for them. */
uint32_t flow_kept_work(const flow *f);
/* Does this store to one of them? */
bool flow_keeps(const flow *f, const tp_statement *s);
/* A step begins. */
void flow_begin_kept(flow *f);
/* The elements of a ref for which `inside` (over its lanes) holds become `value` (no id: something). */
void flow_store_kept(flow *f, uint32_t operand, tp_expr inside, tp_expr value);
/* What is read of the one element for which it holds; no id: not known. */
tp_expr flow_load_kept(flow *f, uint32_t operand, tp_expr inside);
/* A step has ended: true if less is known than was guessed. */
bool flow_widen_kept(flow *f);
/* The last step was walked: bounds for what SMEM keeps that sizes and tables give. */
void flow_bound_kept(flow *f);
/* Does e speak of what is kept, as it is when a step or turn begins? What is found for such a value may never be. */
bool flow_speaks_of_kept(const flow *f, tp_expr e);
/* guard.c: a variable of the walk, from 0 below the extent; no id: it counts a loop. */
tp_expr flow_new_variable(flow *f, const char *name, tp_expr extent);
static inline tp_vid flow_kept_value(const flow *f, uint32_t i)
{
    return (tp_vid)(f->p->values.len + i);
}
static inline uint32_t flow_nvalues(const flow *f)
{
    return f->p->values.len + f->nkept;
}
/* events.c: what happens in a step, in order, where the body starts copies; nothing while nothing is recorded. */
/* grid.c: nothing was written to the operand, where the condition holds. */
tp_leaks flow_unwritten(flow *f, uint32_t operand, tp_expr when);
void flow_note_access(flow *f, tp_flow_event_kind kind, const tp_access *a);
void flow_note_copy(flow *f, tp_flow_event_kind kind, const tp_statement *s);
void flow_note_leave(flow *f, tp_scope scope);
void flow_note_copy_within(flow *f, const tp_statement *s);
void flow_note_loop(flow *f, tp_flow_event_kind kind, tp_expr counter, tp_expr count);
/* The loop begins: its event, and what is known of its turns; that alone. */
void flow_list_turns(flow *f, tp_flow_turns turns);
void flow_note_turns(flow *f, tp_flow_turns turns);
/* What is known when a turn of the loop ends, and what its test says, where its turns are not counted: `enters`, else
 * no id. `path`: to the loop. */
void flow_note_turn(flow *f, const tp_statement *s, tp_expr path, tp_expr enters, flow_turn turn);
/* guess.c: what the walk knows of meanings, and of what is undefined by these births, rests on: "F2, TP101"; may be
 * empty. */
enum { FLOW_ALL_BIRTHS = (1 << TP_BIRTHS) - 1 };
tp_str flow_basis(tp_analysis *a, const tp_flow *f, unsigned births);
/* far.c: does some step write each element of an output that stays where it is? Told for copies that steps, and turns
 * of loops, start under conditions of their own. What the proof costs and rests on is added. */
bool flow_all_written(tp_analysis *a, const tp_flow *f, uint32_t operand, tp_grade *grade, tp_str *basis);
/* flight_decide.c: is it proven that nothing uses what is in flight (TP504), and that each wait names the sides of a
 * copy that it ends? Then a wait may be taken for the store that the copy is. `why` and `at`: why TP504 is not proven;
 * empty where it may be. */
bool flow_waits_name_copies(tp_analysis *a, tp_str *why, const tp_syntax **at);
/* flight_decide.c: a->received := the refs that other devices write to, if all that is read of them is shown to be
 * defined where what is written to them is; else why that is not shown. */
tp_str flow_find_received(tp_analysis *a);
/* trap.c: env := small sizes, the least ones first, at which the machine traps with the running rule, and contents of
 * the tables. env has room for every symbol; out is what the machine says. False: none was found. */
bool flow_find_trap(tp_analysis *a, int64_t *env, tp_trapped *out);

#endif
