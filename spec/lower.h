/* Internal to spec/lower_*.c: from syntax to typed programs. */
#ifndef TP_LOWER_H
#define TP_LOWER_H

#include "base/map.h"
#include "spec/kernel.h"
#include "spec/thing.h"
#include "spec/scope.h"

typedef struct tp_local {
    tp_str name;
    tp_vid value; /* its value; for a mutable local the variable's slot */
    bool is_slot; /* assigned in nested blocks too: lives in a slot */
    uint32_t level;
    tp_loc loc;
    const tp_node *node;
    bool loop_variable;
    bool literal;             /* references: it began as an integer literal */
    tp_thing *object;         /* references: what it is, where it is no value; else NULL */
    uint32_t memory;          /* references: what may share its elements has the same number; 0: nothing does */
    const tp_syntax *changed; /* what changed elements that it may share, in place; NULL: nothing */
    uint32_t hides;           /* index + 1 of the local of this name before it; 0: none */
} tp_local;

typedef TP_VEC(tp_local) tp_locals;
typedef TP_VEC(tp_vid) tp_vids;

/* A slice whose size the sizes do not tell: how many elements it has, of how many. */
typedef struct tp_ragged {
    tp_vid length;
    tp_expr extent;
} tp_ragged;

typedef struct tp_lower tp_lower;
struct tp_lower {
    tp_ctx *c;
    tp_vid (*expr)(tp_lower *l, const tp_node *n);                                    /* lower_any() */
    void (*statements)(tp_lower *l, const tp_block *b, tp_region *into);              /* lower_statements() */
    tp_thing *(*expand)(tp_lower *l, const tp_syntax *function, const tp_node *call); /* lower_expand() */
    tp_thing *(*higher)(tp_lower *l, const tp_node *n);                               /* lower_higher() */
    tp_thing *(*special)(tp_lower *l, const tp_node *n);                              /* lower_special() */
    tp_thing *(*call)(tp_lower *l, const tp_function *f, const tp_arguments *args, const tp_node *n);
    /* call: lower_call_function() */
    const tp_kernel *k;
    tp_program *p;
    tp_region *region;                   /* where instructions go */
    TP_VEC(const tp_inst *) made;        /* by value, what computes it; shorter than the values */
    TP_VEC(struct tp_lengths *) lengths; /* references, by value: lower_ragged.c */
    TP_VEC(tp_ragged) slices;            /* so far */
    tp_vid unsettled;                    /* + 1: the value whose lengths nobody said */
    const tp_node *unsettled_at;
    const tp_syntax *syntax;
    tp_locals locals;
    tp_map newest; /* by name: index + 1 in locals */
    uint32_t level;
    TP_VEC(const tp_syntax *) functions; /* DEF statements so far */
    uint32_t base;                       /* first local that is visible: inside a function, its own */
    tp_frame *frame;                     /* of the call that is expanded */
    uint32_t calls;                      /* functions being expanded */
    tp_thing *returned;                  /* by the function that is expanded; NULL: nothing so far */
    tp_repeat *turns;                    /* the innermost loop */
    uint32_t branch;                     /* branches around the statement that depend on data, and loops */
    uint32_t nmemories, nhidden;         /* numbers given so far: memories, names that no text has */
    uint32_t njoined;                    /* memories that turned out to be one */
    tp_vid *global;                      /* references, by operand: an input as it is seen; -1: it is none */
    uint32_t *operand_memory;            /* references: as in locals */
    const tp_syntax **operand_changed;
    bool *operand_integers; /* outputs: NumPy's array is one of integers or bools, at least in some branch */
    bool reference;
    bool given;      /* an entry of a mutable table is the one that is given, not the one that it holds by now */
    tp_map promoted; /* references: names that begin as an integer literal and hold reals later */
    bool again;      /* there is one more of them: lower the program again */
    tp_expr *equal;  /* symbol -> what a fact of "where" says it equals */
    uint32_t nequal;
    bool *open; /* bodies, by operand: is it there? Scratch of a `with` is so within it */
};

/* lower_value.c: values, coercion, shapes */
/* TP004 at n. */
_Noreturn void lower_fail(tp_lower *l, const tp_node *n, const char *help, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Refuse what computes with a type that holds scales only (tp_is_scale). */
_Noreturn void lower_fail_scale(tp_lower *l, const char *what, tp_dtype d, const tp_node *n);
const tp_value *lower_value(const tp_lower *l, tp_vid v);
tp_vid lower_new_value(tp_lower *l, tp_dtype dtype, uint32_t rank, const tp_expr *dims);
tp_vid lower_weak_int(tp_lower *l, tp_expr e);
tp_vid lower_literal(tp_lower *l, tp_dtype dtype, double v, const tp_node *n);
/* Append an instruction; returns it with out and args set. */
tp_inst *lower_emit(tp_lower *l, tp_prim prim, tp_vid out, uint32_t nargs, const tp_vid *args, const tp_node *n);
/* lower_literal.c: TP004 at n when a constant does not fit `dtype` or has no value. */
void lower_check_literal(tp_lower *l, tp_vid v, tp_dtype dtype, const tp_node *n);
/* out = prim(a, b) of weak floats (b < 0: of one): its value, where those are known. */
void lower_fold_literal(tp_lower *l, tp_prim prim, tp_vid out, tp_vid a, tp_vid b, const tp_node *n);
void lower_fold_power(tp_lower *l, tp_vid out, tp_vid a, int64_t exponent, const tp_node *n);
/* A weak value adopts `dtype`; a strong one must have it. */
tp_vid lower_coerce(tp_lower *l, tp_vid v, tp_dtype dtype, const tp_node *n);
/* Conversion as astype() does. */
tp_vid lower_cast(tp_lower *l, tp_vid v, tp_dtype dtype, const tp_node *n);
/* Help for two dimensions that are not provably equal; NULL for two constants. */
const char *lower_suggest_equal(tp_lower *l, tp_expr a, tp_expr b);
tp_vid lower_broadcast(tp_lower *l, tp_vid v, uint32_t rank, const tp_expr *dims, const tp_node *n);
bool lower_same_dim(tp_lower *l, tp_expr a, tp_expr b);
/* Is e at least 0 at all declared sizes? By the least value of each; false where that does not show it. */
bool lower_never_negative(tp_lower *l, tp_expr e);
bool lower_same_shape(tp_lower *l, const tp_value *a, uint32_t rank, const tp_expr *dims);
tp_str lower_shape_text(tp_lower *l, uint32_t rank, const tp_expr *dims);
tp_str lower_type_text(tp_lower *l, tp_vid v);
/* float64 for floats inside references, else the dtype itself. */
tp_dtype lower_dtype(const tp_lower *l, tp_dtype d);
/* The number, where v is a literal. */
bool lower_number(const tp_lower *l, tp_vid v, double *number);
/* v as a condition: in references, as in Python, an integer is true where it is not 0. */
tp_vid lower_truth(tp_lower *l, tp_vid v, const tp_node *n);
/* References: the same element by element, of any numbers: those that are not 0. */
tp_vid lower_truths(tp_lower *l, tp_vid v, const tp_node *n);
tp_vid lower_unary(tp_lower *l, tp_prim prim, tp_vid a, const tp_node *n);
tp_vid lower_binary(tp_lower *l, tp_prim prim, tp_vid a, tp_vid b, const tp_node *n);

/* References compute with numbers: an integer or bool where `dtype` is of more kinds of numbers is one of those. */
tp_vid lower_promote(tp_lower *l, tp_vid v, tp_dtype dtype, const tp_node *n);

tp_vid lower_reshape(tp_lower *l, tp_vid v, uint32_t rank, const tp_expr *dims, const tp_node *n);
/* where(c, x, y); the positions of its arguments are those of `n`. */
tp_vid lower_where(tp_lower *l, tp_vid c, tp_vid x, tp_vid y, const tp_node *n);
/* References: missing dimensions come first, and are 1, as in NumPy. */
tp_vid lower_of_rank(tp_lower *l, tp_vid v, uint32_t rank, const tp_node *n);
/* Bring both sides to one dtype, which it returns. */
tp_dtype lower_unify(tp_lower *l, tp_vid *a, tp_vid *b, const tp_node *n);

/* lower_index.c */
/* Where slice n of a dimension begins, and how many elements, `stride` apart, it has. */
void lower_slice(tp_lower *l, const tp_node *n, tp_expr extent, tp_vid *start, tp_expr *size, int64_t *stride);
/* The part of a value that subscript n names; in bodies between literal bounds. */
tp_vid lower_value_part(tp_lower *l, tp_vid v, const tp_node *n);
/* References: the mask of x[mask], as wide as x, which is -1 where subscript n is none. */
tp_vid lower_mask_of(tp_lower *l, tp_vid x, const tp_node *n);
/* `old` with v, a scalar or as wide, where the mask holds. */
tp_vid lower_masked_with(tp_lower *l, tp_vid old, tp_vid mask, tp_vid v, const tp_node *value);
/* `old` with v, which stands at `value`, in that part. */
tp_vid lower_value_with(tp_lower *l, tp_vid old, const tp_node *n, tp_vid v, const tp_node *value);

/* lower_lanes.c: the slice that an array of integers is as an index of a ref; which of its `rank` dimensions it runs
 * along. TP004 where it is none. */
tp_subscript lower_lanes(tp_lower *l, const tp_node *n, tp_vid v, uint32_t *dim, uint32_t *rank);

/* lower_expr.c */
tp_vid lower_any(tp_lower *l, const tp_node *n);
/* The program id of that axis (PROGRAM_ID), or its number of steps (NUM_PROGRAMS). */
tp_vid lower_axis_value(tp_lower *l, tp_prim prim, int axis, const tp_node *n);
/* The part of a ref that n names; the body may load and store it. */
tp_access *lower_access(tp_lower *l, const tp_node *n, uint32_t *rank, tp_expr *dims);
/* The same of any memory: copies may move it. */
tp_access *lower_place(tp_lower *l, const tp_node *n, uint32_t *rank, tp_expr *dims);
tp_vid lower_load(tp_lower *l, tp_access *access, uint32_t rank, const tp_expr *dims, const tp_node *n);

/* lower_extent.c */
/* Extents of what stands at x: a ref, an array of a reference or a value. */
const tp_expr *lower_shape_of(tp_lower *l, const tp_node *x, uint32_t *rank);
/* References: the length of x along d, where it is a slice whose size the sizes do not tell; else -1. */
tp_vid lower_length_of(tp_lower *l, const tp_node *x, uint32_t d);
/* A shape among arguments: integers known from the sizes, or x.shape; at most TP_MAX_RANK. Returns how many. */
uint32_t lower_read_dims(tp_lower *l, const tp_node *n, tp_expr *dims);

/* lower_args.c */
/* The value of an expression, by l->expr. */
tp_vid lower_expr(tp_lower *l, const tp_node *n);
tp_local *lower_find_local(tp_lower *l, tp_str name);
/* The same among the locals of this call alone: where an assignment goes. */
tp_local *lower_own_local(tp_lower *l, tp_str name);
/* Bodies: the function of that name; NULL: none. */
const tp_syntax *lower_find_function(const tp_lower *l, tp_str name);
void lower_push_local(tp_lower *l, tp_local local);
/* Forget all but the first `n` locals. */
void lower_drop_locals(tp_lower *l, uint32_t n);
/* A weak integer over sizes, as an expression. */
tp_expr lower_static_int(tp_lower *l, const tp_node *n, const char *what);
/* A literal integer (sign included). */
int64_t lower_literal_int(tp_lower *l, const tp_node *n, const char *what);
tp_dtype lower_dtype_name(tp_lower *l, const tp_node *n);
/* Fit the arguments of call `n` to the parameter names (NULL-terminated;
 * the first `required` must be there). */
void lower_bind_args(tp_lower *l, const tp_node *n, uint32_t first, const char *const *params, uint32_t required,
                     const tp_node **out);
/* Axes (a list or one) and True/False among arguments. */
int64_t lower_read_axis(tp_lower *l, const tp_node *n, uint32_t rank);
uint32_t lower_read_axes(tp_lower *l, const tp_node *n, uint32_t rank, int64_t *ints);
bool lower_read_flag(tp_lower *l, const tp_node *n);
/* TP004 when v has another type than the note says. */
void lower_check_note(tp_lower *l, const tp_node *note, tp_vid v);

/* lower_written.c: statements of the language, in place of a word at `at`, which is where messages about them point. */
void lower_written(tp_lower *l, const tp_node *at, tp_str text);
void lower_written_at(tp_lower *l, const tp_json *at, tp_str text);
tp_block lower_parse_written(tp_lower *l, const tp_node *at, tp_str text);
/* The value of a function without parameters, which is all of the text. */
tp_vid lower_written_value(tp_lower *l, const tp_node *at, tp_str text);
/* The name, or one like it that nothing has here. */
tp_str lower_free_name(const tp_lower *l, tp_str wish);

/* lower_stmt.c */
void lower_statements(tp_lower *l, const tp_block *b, tp_region *into);

/* lower_conditional.c */
/* a if c else b, of the condition c: one arm is computed. */
tp_vid lower_conditional(tp_lower *l, const tp_node *n, tp_vid c);
/* References: what is x[0] behind arm[0] and x[1] behind arm[1]; its values are variables that the arms assign. */
tp_thing *lower_one_thing_of(tp_lower *l, tp_thing *const *x, tp_region *arm, const tp_node *const *at);

/* lower_slot.c */
/* A new statement of this kind, at the end of the region. */
tp_statement *lower_statement(tp_lower *l, tp_statement_kind kind);
tp_vid lower_new_variable(tp_lower *l, tp_dtype dtype, uint32_t rank, const tp_expr *dims);
/* slot = value, a statement */
void lower_assign_slot(tp_lower *l, tp_vid slot, tp_vid value);
/* A copy, so that a later assignment to the variable does not change it. */
tp_vid lower_copy_of_slot(tp_lower *l, tp_vid v, const tp_node *n);

/* lower_assign.c: statements that assign, and what is under a name */
/* Where a block of statements is. */
typedef struct tp_place tp_place;
struct tp_place {
    uint32_t at;
    tp_map nested;         /* by name: number of the last statement that assigns it in a block of its own */
    const tp_place *outer; /* what is under a `with` belongs to the block around it */
};
/* Names that the block assigns, with `statement`, or in blocks of their own, with the number of their statement. */
void lower_note_assigned(tp_lower *l, const tp_block *b, uint32_t statement, tp_map *into);
/* TP002 at a name that cannot be a local. */
void lower_check_local(tp_lower *l, const tp_node *target);
/* target = x, which stands at `value`, where b is; a name of this block is one of another type then. */
void lower_define(tp_lower *l, const tp_node *target, const tp_node *value, tp_thing *x, const tp_place *b);
void lower_bind(tp_lower *l, const tp_node *target, const tp_node *note, tp_thing *x, const tp_node *value,
                const tp_place *b);
void lower_assign(tp_lower *l, const tp_syntax *s, const tp_place *b);
void lower_unpack(tp_lower *l, const tp_syntax *s, const tp_place *b);
void lower_store(tp_lower *l, const tp_syntax *s, const tp_place *b);
/* Store v, which stands at `value`, into the place at `target`. */
void lower_store_to(tp_lower *l, tp_access *a, uint32_t rank, const tp_expr *dims, tp_vid v, const tp_node *value,
                    const tp_node *target);
/* lower_scope.c */
/* By operand: is it there outside of every `with`? */
bool *lower_open(tp_lower *l);
/* TP004 at name n of a ref that is not there: scratch of another `with`. */
void lower_check_open(tp_lower *l, uint32_t operand, const tp_node *n);
/* The operands that `with` s makes. */
tp_scope lower_scope_of(tp_lower *l, const tp_syntax *s);

/* lower_function.c */
tp_thing *lower_new_function(tp_lower *l, tp_function f);
void lower_def(tp_lower *l, const tp_syntax *s, const tp_place *b);
/* What a call returns, of a function that is written or of a PARTIAL of one. */
tp_thing *lower_apply(tp_lower *l, const tp_function *f, const tp_arguments *args, const tp_node *n);
/* The function of a LAMBDA. */
tp_thing *lower_lambda(tp_lower *l, const tp_node *n);
/* The call n of a function of a body. */
tp_thing *lower_expand(tp_lower *l, const tp_syntax *function, const tp_node *n);

/* lower_thing.c */
tp_thing *lower_new_thing(tp_lower *l, tp_thing_kind kind);
/* TP004 at n where functions and lists expand to more than may be. */
void lower_spend_statement(tp_lower *l, const tp_node *n);
tp_thing *lower_value_object(tp_lower *l, tp_vid v);
tp_thing *lower_none(tp_lower *l);
/* TP004 where n is a generator: Python computes its elements later, with the names as they are then. */
void lower_check_lazy(tp_lower *l, const tp_node *n);
tp_thing *lower_tuple(tp_lower *l, uint32_t n, tp_thing *const *items);
/* x as it is now: a later assignment to the variable does not change it. */
tp_thing *lower_frozen(tp_lower *l, tp_thing *x, const tp_node *n);
/* TP004 at n unless it is a value. */
tp_vid lower_object_value(tp_lower *l, const tp_thing *x, const tp_node *n);
/* TP004 at n: the local was changed under another name. */
void lower_check_shared(tp_lower *l, const tp_syntax *changed, const tp_node *n);
_Noreturn void lower_fail_shared(tp_lower *l, tp_loc at, tp_str name, const tp_syntax *by);

/* lower_object.c: of references */
/* What stands among the arguments of call n, from number `first` on. */
tp_arguments lower_arguments(tp_lower *l, const tp_node *n, uint32_t first);
tp_thing *lower_object(tp_lower *l, const tp_node *n);
/* The same where n is more than the value of an operation; NULL, and nothing is computed: it is one. */
tp_thing *lower_special(tp_lower *l, const tp_node *n);
/* Is the condition known from the text? Then *truth is what it is; else its value, or -1, goes to *v. */
bool lower_known(tp_lower *l, const tp_node *n, bool *truth, tp_vid *v);
/* Memories: what n may share elements with; one for two; and in-place changes, by statement s, of a local. */
uint32_t lower_memory_of(tp_lower *l, const tp_node *n);
uint32_t lower_one_memory(tp_lower *l, uint32_t a, uint32_t b);
/* TP004 where a loop around changes the memory in place, which `name` keeps from turn to turn. */
void lower_check_lasting(tp_lower *l, tp_str name, uint32_t memory);
/* s changes in place what `name` is, which lies in this memory: whatever may share elements with it is not to be looked
 * at. */
void lower_changed(tp_lower *l, tp_str name, uint32_t memory, const tp_syntax *s);

/* lower_turns.c: loops of references */
/* What follows goes to `body`; n: how many turns, no id where the sizes do not tell it. */
void lower_begin_turns(tp_lower *l, tp_repeat *t, tp_region *body, tp_expr n);
/* The loop, from lo, of which t->var is the counter. */
void lower_end_turns(tp_lower *l, tp_repeat *t, tp_region *body, tp_vid lo, tp_vid hi, int64_t by);
/* The row of a new variable that belongs to the turn is v. */
tp_vid lower_new_rows(tp_lower *l, tp_repeat *t, tp_vid v, const tp_node *n);
/* The same loop, from 0 to t->n. */
void lower_end_counted(tp_lower *l, tp_repeat *t, tp_region *body, const tp_node *n);
/* v, or a literal as an array's element. */
tp_vid lower_strong(tp_lower *l, tp_vid v, const tp_node *n);
/* Element number `index` of v along an axis, which stays, with extent 1, or goes. */
tp_vid lower_element(tp_lower *l, tp_vid v, uint32_t axis, tp_vid index, bool stays, const tp_node *n);
/* xs.append(x) */
void lower_append(tp_lower *l, const tp_node *n);
tp_thing *lower_comprehension(tp_lower *l, const tp_node *n);
/* What a loop of a reference runs over. */
typedef struct tp_series tp_series;
tp_series *lower_source(tp_lower *l, const tp_node *n);
/* The bounds of a range, which goes forwards; else false. */
bool lower_source_range(const tp_series *s, tp_vid *lo, tp_vid *hi, int64_t *by);
/* The elements one by one, where there are few; always where one of its parts is a list. Else false. */
bool lower_source_items(tp_lower *l, const tp_series *s, tp_things *items);
bool lower_source_lists(const tp_series *s);
/* How many there are, no id where the sizes do not tell it; number `index`; what it shares elements with. */
tp_expr lower_source_count(tp_lower *l, const tp_series *s);
tp_thing *lower_source_item(tp_lower *l, const tp_series *s, tp_vid index, const tp_node *n);
uint32_t lower_source_memory(const tp_series *s);
/* target, a name or names, is x. */
void lower_bind_names(tp_lower *l, const tp_node *target, tp_thing *x, const tp_place *b);

/* lower_higher.c: functions of functions, and of lists */
/* A LAMBDA, TERNARY or COMPREHENSION, scan, fori_loop, map and vmap, while_loop, cond, sum of a list, …; NULL: n is
 * none. */
tp_thing *lower_higher(tp_lower *l, const tp_node *n);
/* lower_library.c: a call of a function that is written in the language; NULL: n is none. */
tp_thing *lower_library(tp_lower *l, const tp_node *n);
/* A call of any function. */
tp_thing *lower_call_function(tp_lower *l, const tp_function *f, const tp_arguments *args, const tp_node *n);

/* lower_while.c: the local that loop s counts by 1, from what it is up to *below; NULL: s is no such loop. */
tp_local *lower_counter(tp_lower *l, const tp_syntax *s, const tp_node **below);

/* lower_call.c */
tp_vid lower_call(tp_lower *l, const tp_node *n);
tp_vid lower_masked_load(tp_lower *l, const tp_node *n);
void lower_masked_store(tp_lower *l, const tp_node *n);

/* lower_random.c */
void lower_seed(tp_lower *l, const tp_node *n);
tp_vid lower_random_bits(tp_lower *l, const tp_node *n);

/* lower_copy.c */
/* The call n as a statement that moves data or counts it; false: it is none. */
bool lower_movement(tp_lower *l, const tp_node *n);

/* lower_shape.c: a call that makes, moves or cuts arrays; -1 when p is none. */
tp_vid lower_shape_call(tp_lower *l, tp_prim p, const tp_node *n);
/* Values of one rank side by side. */
tp_vid lower_concatenate(tp_lower *l, const tp_vid *parts, uint32_t count, int64_t axis, const tp_node *n);
/* take(v, index, axis) */
tp_vid lower_take(tp_lower *l, tp_vid v, tp_vid index, uint32_t axis, const tp_node *n);

/* lower_reduce.c: folds and running folds along axes, dot */
tp_vid lower_fold(tp_lower *l, tp_prim prim, tp_vid v, const int64_t *axes, uint32_t naxes, bool keepdims,
                  const tp_node *n);
tp_vid lower_fold_call(tp_lower *l, tp_prim prim, const tp_node *n);
tp_vid lower_scan_call(tp_lower *l, tp_prim prim, const tp_node *n);
/* pairs: (axis of a, axis of b), those that are contracted first. */
tp_vid lower_dot(tp_lower *l, tp_vid a, tp_vid b, const int64_t *pairs, uint32_t ncontract, uint32_t nbatch,
                 tp_dtype out, const tp_node *n);
tp_vid lower_dot_call(tp_lower *l, const tp_node *n);
tp_vid lower_tensordot(tp_lower *l, const tp_node *n);
/* a @ b; in bodies of rank 2. */
tp_vid lower_matmul(tp_lower *l, tp_vid a, tp_vid b, const tp_node *n);

/* lower_ragged.c: in references, values of which along some dimension only the elements below a length are there */
bool lower_is_ragged(const tp_lower *l, tp_vid v);
/* The length of v along d, an int32 scalar; -1: all of it is there. */
tp_vid lower_length(const tp_lower *l, tp_vid v, uint32_t d);
void lower_length_set(tp_lower *l, tp_vid v, uint32_t d, tp_vid length);
/* `out` has along d the length that `from` has along dims[d]; dims NULL: along d; below 0: all of it. */
void lower_lengths(tp_lower *l, tp_vid out, tp_vid from, const int32_t *dims);
/* All of v is there, or its lengths are set next. */
void lower_settle(tp_lower *l, tp_vid v);
bool lower_same_lengths(const tp_lower *l, tp_vid a, tp_vid b);
/* Called by lower_emit(): what goes element by element keeps lengths, other values wait for theirs; `args` may change.
 * TP004 where nobody said those of the last one. */
void lower_keep_lengths(tp_lower *l, tp_prim prim, tp_vid out, uint32_t nargs, tp_vid *args, const tp_node *n);
/* Where `to` stretches an extent of 1 of `from`, it is as long as what it meets. */
void lower_any_length(tp_lower *l, tp_vid from, tp_vid to);
/* Dimension d of *a and e of b, which meet, are of one length; the reference stops where they are not. */
void lower_meet(tp_lower *l, tp_vid *a, uint32_t d, tp_vid b, uint32_t e, const tp_node *n);
/* v with what does not count for this fold, where along d nothing is. */
tp_vid lower_masked(tp_lower *l, tp_vid v, uint32_t d, tp_prim fold, const tp_node *n);
/* The index of elements of v along d: outside where it is not below the length. */
tp_vid lower_inside(tp_lower *l, tp_vid index, tp_vid v, uint32_t d, const tp_node *n);
/* v[lo:hi] along d; `old` with v there; 0, 1, … below the count. */
tp_vid lower_ragged_slice(tp_lower *l, tp_vid v, uint32_t d, tp_vid lo, tp_vid hi, const tp_node *n);
tp_vid lower_ragged_store(tp_lower *l, tp_vid old, uint32_t d, tp_vid lo, tp_vid hi, tp_vid v, const tp_node *n);
tp_vid lower_ragged_count(tp_lower *l, tp_vid count, const tp_node *n);

/* lower_reference.c: functions of references alone, and methods; -1: n is none. */
tp_vid lower_reference_call(tp_lower *l, const tp_node *n);
tp_vid lower_reference_method(tp_lower *l, const tp_node *n);
/* Is it a function of references, which a local may be named after (`mean = x.mean()`)? A call is of the function,
 * whatever the name holds. */
bool lower_is_function_word(const tp_lower *l, tp_str name);

#endif
