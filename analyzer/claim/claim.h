/* What rules are written with. */
#ifndef TP_CLAIM_H
#define TP_CLAIM_H

#include "analyzer/claim/analysis.h"
#include "spec/facts.h"

/* What a search of the body finds, as a table of its own: of each number m the least one from m on that is `end` or
 * more, or of which the condition does not hold. There is one for all m, whatever the condition; the facts say no more.
 */
enum { TP_LEAST_FACTS = 5 };
typedef struct tp_least {
    tp_table table;
    tp_contract facts[TP_LEAST_FACTS];
    tp_expr end, condition; /* of the symbol `at` */
    uint32_t at;
} tp_least;

struct tp_analysis {
    tp_arena *arena, *work; /* work: the provers' */
    const tp_kernel *k;
    tp_exprs *p;
    tp_prover *prover, *quick; /* quick: tp_claim_follows() */
    tp_prover *search;         /* no solver: a case is found cheaply, or not */
    uint32_t queries;          /* the spec's budget: solver queries that may still end without an answer */
    tp_implicit_facts facts;
    const tp_analysis_options *o;
    tp_analysis_result *out;
    const tp_findings *earlier; /* of other dtype combinations */
    const tp_rule *rule;
    tp_var *vars; /* sizes, then grid axes */
    uint32_t nsizes, nvars;
    tp_expr *where; /* the spec's facts */
    uint32_t nwhere;
    bool vacuous;                /* the domain is empty: no other rule speaks */
    struct tp_flow *flow;        /* definedness of the body, once asked for */
    struct tp_flow *unrolled;    /* with loops of few turns written out, once asked for */
    bool flow_used;              /* by the running rule */
    struct tp_flow *exact;       /* as if no int32 wrapped, once asked for */
    bool nothing_wraps;          /* the walk takes every int32 that a mask, an index or a bound is made of for exact */
    bool stores_at_start;        /* the walk takes a copy for a store where it starts, not where it is waited for */
    const bool *received;        /* by operand: others write to it, and all that is read of it is defined; or NULL */
    tp_str not_received;         /* ... why that is not shown */
    tp_grade received_grade;     /* ... by proofs of this grade, */
    tp_str received_by;          /* ... which rest on this */
    tp_expr *other[2];           /* per axis: its value in a second and a third step */
    tp_expr *entries;            /* symbols for the entries of tables that a claim reads */
    TP_VEC(tp_least *) least;    /* that proofs speak of */
    int8_t *bounded;             /* per table: "values" always leave one: 1 yes, -1 perhaps not, 0 not asked yet */
    tp_expr *part;               /* per array dimension: a block or element number */
    const tp_rule *meeting_rule; /* the rule for which tp_meeting_windows() were looked up: */
    tp_expr *meeting;
    uint32_t nmeeting;
    int one_case;    /* tp_runs_to_the_end(): 1 yes, -1 no, 0 not asked yet */
    tp_trapped only; /* where it does not, and is of one case: the trap */
};

/* Sizes, axes and provers for claims on k; of a kernel at a time. */
tp_analysis *tp_analysis_begin(tp_arena *arena, const tp_kernel *k, const tp_analysis_options *o);
void tp_analysis_end(tp_analysis *a);

typedef struct tp_claim {
    tp_expr goal;
    bool over_steps;     /* for every grid step too, not only all sizes */
    const tp_var *extra; /* variables after the axes, e.g. lanes */
    uint32_t nextra;
    const tp_var *walk; /* those after these: the walk's own, one list for all its claims */
    uint32_t nwalk;
    tp_expr *premises; /* besides "where" */
    uint32_t npremises;
    const char *rests_on; /* codes of rules that it takes for granted, "…, …"; or NULL */
    bool large;           /* hardly true without the implicit facts: no search for a proof without them */
    unsigned given;       /* implicit facts among its premises; tp_claim_decide() adds those that it needs */
    tp_str held;          /* what it says of tables beyond those that are read: "TP103, C1"; by tp_claim_decide() */
    tp_str subject;
    tp_loc loc;
    tp_str proven, violated; /* messages */
    tp_str label;
    tp_str note;
    /* Not NULL: a counterexample may be spurious, and this says why; it counts
     * only if the machine traps at this place there, else the claim is unknown, and what it did there is said, too. */
    const char *approximate;
    tp_str origin; /* the operand of what is undefined, or empty: a trap of another one is no evidence */
    const struct tp_claim *beside; /* others that its finding stands for: a precondition is one of all of them */
    uint32_t nbeside;
    bool unconditional; /* no condition on sizes is enough */
    bool only_proof;    /* no contents of tables are looked for: what is violated may not be */
    bool any_case;      /* asked for the verdict alone: the case that is found may be any */
    bool executed; /* where the goal fails, the machine traps in this statement: what is unknown is proven where it runs
                      to the end */
} tp_claim;

/* The entries of tables that a claim reads, and the variables that stand for them. */
enum { TP_MAX_READS = 32 };
typedef struct tp_table_reads {
    tp_expr key[TP_MAX_READS], entry[TP_MAX_READS]; /* key: a read whose indices read nothing */
    uint32_t len;
    bool too_many;
} tp_table_reads;

/* tables.c: rewrite the obligation so that it reads no table, with `rounds` of
 * instances of the contracts. False, and the obligation as it was: it reads too
 * many entries. */
bool tp_close_reads(tp_analysis *a, tp_obligation *o, tp_table_reads *reads, int rounds);
/* Does every entry that has to be read for e exist? Claims take that for granted; who makes conditions of his own has
 * to show it. 0 where e is too large. */
tp_expr tp_readable(tp_analysis *a, tp_expr e);
/* Decide an obligation that may read tables; a counterexample has contents of
 * all tables bound in env, where they could be found. */
tp_decision tp_decide_reading(tp_analysis *a, const tp_obligation *o, tp_str *basis);
/* Add to w what these entries hold; what a claim that reads them rests on. */
void tp_witness_tables(tp_analysis *a, const tp_table_reads *reads, const int64_t *env, tp_witness *w);
tp_str tp_table_basis(tp_analysis *a, const tp_table_reads *reads);

/* Decide the claim and record a finding. The pointer is valid until the next
 * finding is recorded; `env` (may be NULL) receives the witness. */
tp_finding *tp_claim_check(tp_analysis *a, tp_claim *c, const int64_t **env);
/* The two halves of it. A claim is asked without the implicit facts first, then
 * with those that the case against it breaks: what is violated is violated in
 * the domain, and c->given says what a proof used. */
tp_decision tp_claim_decide(tp_analysis *a, tp_claim *c);
/* Does it speak of sizes, steps, tables and its extra variables alone? Only then may it be asked. */
bool tp_claim_has_ranges(tp_analysis *a, const tp_claim *c);
/* Is there a proof of our own? Cheap: no search and no solver. */
bool tp_claim_follows(tp_analysis *a, const tp_claim *c);
/* Is it proven with what contracts, and searches of the body, say of the entries that it reads? No contents of tables
 * are looked for, so that nothing is violated for sure. */
tp_decision tp_claim_proof(tp_analysis *a, const tp_claim *c);
/* What is asked of the prover. */
tp_obligation tp_claim_obligation(tp_analysis *a, const tp_claim *c);
tp_finding *tp_claim_record(tp_analysis *a, const tp_claim *c, tp_decision d, const int64_t **env);
/* What a proof of it rests on: "F2, TP103, C1"; may be empty. */
tp_str tp_claim_basis(tp_analysis *a, const tp_claim *c);
/* Sizes, and with over_steps the step, of a counterexample. */
tp_witness *tp_make_witness(tp_analysis *a, const tp_claim *c, const int64_t *env);
/* Advice: something that works and could be better. Never fails a run. */
tp_finding *tp_advise(tp_analysis *a, tp_str subject, tp_loc loc, tp_str message, tp_str help);
/* Was this rule violated so far, for this kernel (and this place; NULL: any)? */
bool tp_is_violated(const tp_analysis *a, const char *rule, const tp_loc *at);
/* Was it asked, and is all that it found proven? */
bool tp_is_proven(const tp_analysis *a, const char *rule);
/* Record a finding that needed no proof. */
tp_finding *tp_add_finding(tp_analysis *a, tp_verdict v, tp_str subject, tp_loc loc, tp_str message);

/* Place of a node of the body, else of a statement. */
tp_loc tp_body_loc(const tp_analysis *a, const tp_node *node, const tp_syntax *syntax);

/* domain.c: variables for sizes and axes; the spec's facts. */
void tp_domain_set_up(tp_analysis *a);
/* Do some sizes keep "where", the implicit facts with these ids and these
 * premises? VIOLATED: env has some; PROVEN: none do. `thorough`: ask a solver, too. */
tp_decision tp_domain_find(tp_analysis *a, unsigned facts, const tp_expr *premises, uint32_t n, bool thorough);
/* Which of the implicit facts does env, which has the sizes, break? A set of ids. */
unsigned tp_domain_broken(tp_analysis *a, const int64_t *env);
/* Is env, which has the sizes, in the domain? */
bool tp_domain_has(tp_analysis *a, const int64_t *env);

/* contents.c: do some tables keep what is promised of them? TP006 asks, with
 * one point of the domain. Records what it finds; may set a->vacuous. */
void tp_check_contents(tp_analysis *a, const int64_t *point);
/* tables.c: what a contract says at these values of its bound symbols, where they are inside its extents. */
tp_expr tp_contract_instance(tp_analysis *a, const tp_contract *x, const tp_expr *at);

/* one_case.c: the kernel has one case, in which data decides nothing, and the
 * machine executes it without a trap: then it never traps for what it reads,
 * writes or leaves undefined. What scratch holds that only tables, sizes and
 * axes went into is no data. Executes at most once. */
bool tp_runs_to_the_end(tp_analysis *a);
/* The first finding from `from` on, all of the running rule, that is unknown and speaks of the place at which the only
 * run traps with that rule: it is violated. */
void tp_tell_only_trap(tp_analysis *a, uint32_t from);
/* Is the trap what a finding on this operand at this statement speaks of? What happens at another access is no
 * evidence. */
bool tp_traps_there(const tp_analysis *a, tp_str subject, const tp_loc *loc, const tp_trapped *t);
/* finding.c: f, a violation, in the machine's words, with place and step of the trap. */
void tp_say_trap(const tp_rule *rule, const tp_trapped *trap, tp_finding *f);

/* precondition.c: the weakest of a few simple preconditions under which the
 * violated claim is proven, and those beside it, as text; empty when there is none. */
tp_str tp_holds_when(tp_analysis *a, const tp_claim *c, const int64_t *witness);

/* Shorthands for building goals. */
static inline tp_expr mk(tp_analysis *a, tp_expr_op op, tp_expr x, tp_expr y)
{
    return tp_op2(a->p, op, x, y);
}
static inline tp_expr num(tp_analysis *a, int64_t v)
{
    return tp_const(a->p, v);
}
/* Without a part that changes nothing: who asks whether all of an expression can be read takes each part twice. */
static inline tp_expr tp_and(tp_exprs *p, tp_expr a, tp_expr b)
{
    int64_t v;
    if (tp_expr_is_const(p, a, &v) && v)
        return b;
    return tp_expr_is_const(p, b, &v) && v ? a : tp_op2(p, TP_E_AND, a, b);
}
static inline tp_expr tp_or(tp_exprs *p, tp_expr a, tp_expr b)
{
    int64_t v;
    if (tp_expr_is_const(p, a, &v) && !v)
        return b;
    return tp_expr_is_const(p, b, &v) && !v ? a : tp_op2(p, TP_E_OR, a, b);
}

static inline tp_expr both(tp_analysis *a, tp_expr x, tp_expr y)
{
    return tp_op2(a->p, TP_E_AND, x, y);
}
static inline tp_expr either(tp_analysis *a, tp_expr x, tp_expr y)
{
    return tp_op2(a->p, TP_E_OR, x, y);
}
/* Is e known when the kernel is compiled: of sizes alone, no table entry? */
bool tp_is_static(const tp_analysis *a, tp_expr e);
/* x % m == 0 */
static inline tp_expr multiple(tp_analysis *a, tp_expr x, tp_expr m)
{
    return mk(a, TP_E_EQ, mk(a, TP_E_MOD, x, m), num(a, 0));
}
/* Text for a finding, in a->arena: e as people write it; printf. */
tp_str tp_text(tp_analysis *a, tp_expr e);
tp_str tp_message(tp_analysis *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* propose.c: changes of the text that would remove a finding. Rules propose,
 * whoever offers one to the user has analysed the changed text (verify/fix.c). */
void tp_propose(tp_analysis *a, tp_finding *f, tp_str title, const tp_edit *edits, uint32_t n);
/* An expression, at the place of another one. */
void tp_propose_expr(tp_analysis *a, tp_finding *f, tp_loc at, tp_str text);
/* A fact about sizes, in "where". */
void tp_propose_where(tp_analysis *a, tp_finding *f, tp_str fact);
/* The same integer wherever the spec has it, outside the sizes. */
void tp_propose_everywhere(tp_analysis *a, tp_finding *f, int64_t old, int64_t value);
/* Another word for the semantics of an axis that declares one. */
void tp_propose_semantics(tp_analysis *a, tp_finding *f, uint32_t axis, const char *word);
/* Axis `out` to the place of the faster `in`, those between move up. */
void tp_propose_order(tp_analysis *a, tp_finding *f, uint32_t out, uint32_t in);
/* The operand, which has no blocks, stays in "any", as arrays of programs on a GPU do. */
void tp_propose_far(tp_analysis *a, tp_finding *f, const tp_operand *o);
/* The help for an index that is an entry of a table, and beyond `extent` in the case env: what would have to be
 * declared of the table; where its contents are given, which of them is wrong. Empty for any other index. */
tp_str tp_help_entry(tp_analysis *a, tp_expr index, tp_expr extent, const int64_t *env);
/* propose_maps.c: the claim c is that dimension d of o meets its array, and is violated. Would it hold with the index
 * of another dimension, and that one with this? With the map of another operand, and that one with this? Says so, and
 * proposes it. */
bool tp_propose_map_order(tp_analysis *a, tp_finding *f, const tp_claim *c, const tp_operand *o, uint32_t d);
bool tp_propose_map_exchange(tp_analysis *a, tp_finding *f, const tp_claim *c, uint32_t operand);
/* Where another axis, or none, indexes a dimension: each axis that is not in the map and has as many steps as the
 * dimension has blocks, in its place; 0 where that is one block. */
void tp_propose_axis(tp_analysis *a, tp_finding *f, const tp_operand *o);
/* Where a bare axis has more steps than dimension d has blocks, and the claim c is that they meet: several steps to a
 * block, one after the other or in turns; or the entry for the step of a table that no map reads. */
void tp_propose_fewer(tp_analysis *a, tp_finding *f, const tp_claim *c, const tp_operand *o, uint32_t d);
/* i + 1 without its 1; none: there is no constant in the sum. */
tp_expr tp_without_constant(tp_analysis *a, tp_expr index);
tp_edit tp_edit_expr(const tp_analysis *a, tp_loc at, tp_str text);
tp_str tp_source_text(const tp_analysis *a, tp_loc at);

/* Visit e's operations, inner ones first, each with the condition under which it is evaluated: `path`, and what
 * conditionals, `and`, `or` and `implies` around it say. */
typedef void (*tp_subterm_visitor)(tp_analysis *a, tp_expr sub, tp_expr path, void *ctx);
void tp_visit_subterms(tp_analysis *a, tp_expr e, tp_expr path, tp_subterm_visitor visit, void *ctx);

/* visits.c: what index maps say about which step has which window. */

/* The window of dimension d meets the array: for a Blocked dimension the block
 * index lies in [0, cdiv(extent, block)); for an Element dimension the window
 * [e - lo, e - lo + n) stays inside the padding and touches the array. */
tp_expr tp_window_meets(tp_analysis *a, const tp_operand *o, uint32_t d, tp_expr index);
/* Windows of o that differ have no element in common: the code of the rule which says so of
 * Element windows; NULL: of blocks that is plain. */
const char *tp_apart(const tp_operand *o);
/* A finding: the text of the index map of o decides the claim. */
void tp_proven_by_map(tp_analysis *a, const tp_operand *o, const tp_claim *c);
/* First array element of the window in dimension d, over sizes and axes; may
 * be negative with padding. */
tp_expr tp_window_start(tp_analysis *a, const tp_operand *o, uint32_t d);
/* tp_window_meets() for every window for which TP101 was violated, as premises, at the
 * first and last steps and, for a claim over_steps, at this one: sizes at which TP101
 * fails for some step are not judged by other rules. At most TP_GRANTED are written;
 * their number. */
enum { TP_GRANTED = 48 };
uint32_t tp_meeting_windows(tp_analysis *a, bool over_steps, tp_expr *premises);
/* Every axis that the map of o mentions can be told from the window. */
bool tp_map_tells_axes(tp_analysis *a, const tp_operand *o, bool *mentioned);
/* e with the axes of another step: 0 this, 1 the second, 2 the third. */
tp_expr tp_at_step(tp_analysis *a, tp_expr e, int which);
/* "i = 0, j = 1": of one of these steps, or of axes given as expressions, by
 * symbol. */
tp_str tp_step_text(tp_analysis *a, int which, const int64_t *env);
tp_str tp_axes_text(tp_analysis *a, const tp_expr *step, const int64_t *env);
/* The axes of the second and third step, as variables; their number. */
const tp_var *tp_step_vars(tp_analysis *a, int steps, uint32_t *n);
/* Some element of o, which "valid" picks, as variables (vars[rank]) and premises
 * (premises[rank + 1]) of the claim. */
void tp_name_element(tp_analysis *a, const tp_operand *o, tp_claim *c, tp_var *vars, tp_expr *premises);
/* Symbols for one block or element of an array, per dimension; and o's "valid"
 * for the element that they name. */
const tp_expr *tp_part_symbols(tp_analysis *a);
tp_expr tp_valid_part(tp_analysis *a, const tp_operand *o);
/* Every axis has a step, as premises; their number. What is claimed of pairs of
 * steps needs no more than that; else it rests on TP007 unless tp_is_proven() that. */
uint32_t tp_nonempty_grid(tp_analysis *a, tp_expr *premises);

/* digits.c: `index` is x, where index = c1 * a1 + c2 * a2 + rest with a1 the fastest axis: c1 = 1, c2 = steps of a1, …
 * Each axis is a digit of x - rest: step[axis], where it has none yet. A guess: whoever uses it proves it. */
void tp_split_digits(tp_analysis *a, tp_expr index, tp_expr x, tp_expr *step);
/* The same of index = c1 * a1 + rest, c1 any number above 1: x lies at or behind the index, and before that of the next
 * step. */
void tp_split_multiple(tp_analysis *a, tp_expr index, tp_expr x, tp_expr *step);

/* alternatives.c: does the condition follow from smaller ones, of which each is_proven()? Arms of an `if` are asked one
 * by one, and so are elements of the last block of an array, of which it has a part. */
bool tp_shown_by_alternatives(tp_analysis *a, tp_expr condition, bool (*is_proven)(void *ctx, tp_expr goal), void *ctx);

/* walk.c: is every block of o visited, for all sizes, where these are few
 * enough to walk the grid for each? 1: yes, or other rules speak; 0: no, env
 * has the sizes and block[] the block; -1: too many. */
int tp_walk_coverage(tp_analysis *a, const tp_operand *o, int64_t *env, int64_t *block);

/* memory.c: bytes of one window or scratch buffer in VMEM, padded to tiles;
 * and how many copies the pipeline keeps. */
tp_expr tp_padded_bytes(tp_analysis *a, const tp_operand *o);
/* Of its elements alone. */
tp_expr tp_data_bytes(tp_analysis *a, const tp_operand *o);
/* What TP301 adds up: operands in VMEM with the bytes of one buffer, and of all buffers of all operands. */
typedef struct tp_vmem_sum {
    tp_expr total;
    TP_VEC(tp_expr) bytes;
    TP_VEC(const tp_operand *) operands;
} tp_vmem_sum;
/* ... in a->arena */
tp_vmem_sum tp_vmem_add_up(tp_analysis *a);
typedef tp_expr tp_buffer_bytes(tp_analysis *a, const tp_operand *o);
/* Bytes that scratch of `with` takes in that memory at one time, at most. */
tp_expr tp_most_alive(tp_analysis *a, tp_memory memory, tp_buffer_bytes *bytes);
/* The total alone, for who analyses nothing; `early`: on generations 2 and 3. */
tp_expr tp_vmem_bytes(tp_arena *arena, const tp_kernel *k, bool early);
/* Does the body read or write it? True when there is no body. */
bool tp_body_uses(const tp_kernel *k, uint32_t operand);
/* Value at the largest sizes; -1 when it does not fit 64 bits. */
int64_t tp_at_largest(tp_analysis *a, tp_expr e);
int tp_pipeline_buffers(const tp_kernel *k, const tp_operand *o);
/* Bits of an element as the hardware stores it (bool: 32). */
int tp_storage_bits(tp_dtype d);
/* Is the window the whole array (the whole dimension) for every step, by its text? */
bool tp_trivial_window(tp_analysis *a, const tp_operand *o);
bool tp_whole_dimension(tp_analysis *a, const tp_operand *o, uint32_t d);

#endif
