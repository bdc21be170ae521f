/* A typed program: what a body or a reference is after lowering. Statements
 * hold instructions; an instruction computes one value; values have a dtype
 * and a symbolic shape over sizes.
 */
#ifndef TP_PROGRAM_H
#define TP_PROGRAM_H

#include "base/dtype.h"
#include "spec/expr.h"
#include "spec/syntax.h"

typedef enum tp_prim {
#define UNARY(id, ...) TP_P_##id,
#define BINARY(id, ...) TP_P_##id,
#define STRUCT(id, ...) TP_P_##id,
#include "spec/prims.def"
    TP_PRIMS
} tp_prim;

/* What a primitive does, as spec/prims.def groups them; TP_CLASS_ELEMENTWISE: UNARY, BINARY and IMMEDIATE. */
typedef enum tp_prim_class {
    TP_CLASS_ELEMENTWISE,
    TP_CLASS_SELECT,
    TP_CLASS_CONVERT,
    TP_CLASS_FOLD,
    TP_CLASS_RUNNING,
    TP_CLASS_CONTRACT,
    TP_CLASS_MOVE,
    TP_CLASS_SOURCE,
    TP_CLASS_MEMORY,
    TP_CLASS_CONTROL,
    TP_CLASS_SUGAR
} tp_prim_class;
typedef enum tp_operand_class { TP_OC_FLOATS, TP_OC_INTS, TP_OC_NUMBERS, TP_OC_LOGICAL, TP_OC_ANY } tp_operand_class;

/* The error of the operation itself, in double: none, that of one correctly
 * rounded operation, or at most so many units of the last place. */
typedef enum tp_rounding_kind { TP_ROUND_EXACT, TP_ROUND_ONCE, TP_ROUND_ULPS } tp_rounding_kind;
typedef struct tp_rounding_error {
    tp_rounding_kind kind;
    int ulps; /* TP_ROUND_ULPS */
} tp_rounding_error;

/* The real operands that have a real value: all; x >= least; x > least, with a
 * pole there; some, not said which (the value 0: a row that says nothing). */
typedef enum tp_domain_kind { TP_DOMAIN_PARTIAL, TP_DOMAIN_REALS, TP_DOMAIN_FROM, TP_DOMAIN_ABOVE } tp_domain_kind;
typedef struct tp_real_domain {
    tp_domain_kind kind;
    double least; /* TP_DOMAIN_FROM, TP_DOMAIN_ABOVE */
} tp_real_domain;

/* What an error of an operand becomes: as much as the function's own formula says (the value 0: a row that says
 * nothing); at most `steepest` times as much; anything, since the function jumps; there is none. */
typedef enum tp_slope_kind { TP_SLOPE_CONTINUOUS, TP_SLOPE_BOUNDED, TP_SLOPE_JUMPS, TP_SLOPE_DISCRETE } tp_slope_kind;
typedef struct tp_slope {
    tp_slope_kind kind;
    double steepest; /* TP_SLOPE_BOUNDED */
} tp_slope;

typedef struct tp_prim_row {
    const char *name;
    tp_prim_class class;
    uint32_t nargs; /* UNARY, IMMEDIATE: 1; BINARY: 2; else 0, there is a rule of its own */
    tp_operand_class operands;
    bool to_bool;
    tp_expr_op expr; /* the same over the integers, or TP_E_CONST */
    int of;          /* FOLD: the tp_prim that it folds by; RUNNING: the fold whose prefixes it gives */
    tp_slope slope;
    tp_real_domain domain;
    tp_rounding_error rounding;
    const char *jaxpr, *pallas;
} tp_prim_row;
/* The double meaning of an elementwise primitive (spec/prims.def). */
double tp_meaning_f64(tp_prim p, double x, double y);
/* The same of n elements, out[e] from a[e step_a] and b[e step_b], steps of 0 or 1. False: the primitive has no such
 * meaning, and nothing is written. */
bool tp_meaning_row_f64(tp_prim p, size_t n, const double *a, size_t step_a, const double *b, size_t step_b,
                        double *out);
const tp_prim_row *tp_prim_info(tp_prim p);
/* What JAX's lowering for TPUs makes of a primitive, and which dtypes the TPU compiler then takes (spec/mosaic.def). */
typedef struct tp_lowering {
    const char *becomes;  /* JAX primitives, in order, with blanks between; NULL: not measured */
    const char *missing;  /* the first of them that it has no rule for, or "" */
    int since[TP_DTYPES]; /* the generation of TPUs from which on each chip takes the dtype; 0: none does */
} tp_lowering;
const tp_lowering *tp_prim_lowering(tp_prim p);
/* Do chips of this generation take it of dtype d? */
bool tp_prim_compiles(tp_prim p, tp_dtype d, int generation);
/* The same of a conversion. */
bool tp_cast_compiles(tp_dtype from, tp_dtype to, int generation);
/* A named function of the language, or TP_PRIMS. */
tp_prim tp_prim_find(tp_str name);
/* Functions of references alone. */
const char *const *tp_reference_functions(size_t *n);
/* Comparisons; exp and exp2; quotients and remainders; reductions along axes; running reductions. */
bool tp_prim_compares(tp_prim p);
bool tp_prim_is_exponential(tp_prim p);
bool tp_prim_divides(tp_prim p);
bool tp_prim_reduces(tp_prim p);
bool tp_prim_scans(tp_prim p);
bool tp_prim_is_elementwise(tp_prim p);
/* Does it compute an elementary function: elementwise, and sqrt or what no rounded operation gives? */
bool tp_prim_transcendental(tp_prim p);
/* Does any error of an operand perhaps show in full, as at floor and <? */
bool tp_prim_jumps(tp_prim p);
/* Of a fold: the binary that it folds by; of a running one: the fold whose prefixes it gives. */
tp_prim tp_prim_of(tp_prim p);
/* The operation of expressions that p is over the integers, without wrap-around, or TP_E_CONST. */
tp_expr_op tp_prim_expr(tp_prim p);

typedef int32_t tp_vid; /* value number; -1: none */

typedef struct tp_value {
    tp_dtype dtype;
    uint32_t rank;
    tp_expr *dims;
    /* Meaning of an integer scalar over sizes and axes, when known: weak
     * integers always have one; they are never computed by instructions. */
    tp_expr meaning;
    bool variable; /* assigned by statements, not computed once */
    bool known;    /* a weak float computed from literals alone; its value: */
    double real;
} tp_value;

/* One dimension of a ref access. */
typedef enum tp_sub_kind { TP_SUB_FULL, TP_SUB_INT, TP_SUB_SLICE } tp_sub_kind;
typedef struct tp_subscript {
    tp_sub_kind kind;
    tp_vid start; /* INT and SLICE: scalar integer */
    tp_expr size; /* extent of the access here */
    int64_t stride;
    tp_expr block; /* SLICE of a pipeline: of this block the array ends within, and a copy goes on to the end of its
                    * last tile; else no id */
} tp_subscript;

typedef struct tp_access {
    uint32_t operand;
    tp_subscript *subs; /* ref rank of the operand */
    bool guarded;       /* the place may lie beyond the ref where `mask` is false: nothing is touched there */
    tp_vid mask;        /* of the shape of the place */
} tp_access;

typedef struct tp_inst {
    tp_prim prim;
    tp_vid out;
    tp_vid *args;
    uint32_t nargs;
    int64_t ints[2 * 8]; /* axes, permutation, strides; DOT: see below */
    uint32_t nints;
    tp_expr *starts;   /* per dimension: SLICE: where it starts; PAD: elements before; TILE, REPEAT: how many times */
    double real;       /* LITERAL */
    int64_t integer;   /* IOTA, CONCATENATE: dimension; INTEGER_POW: exponent; axis or table number */
    bool reverse;      /* CUMSUM and friends: from the end */
    tp_access *access; /* LOAD; its mask is the one argument where it is guarded */
    /* DOT: pairs (axis of a, axis of b), contracted ones first */
    uint32_t ncontract, nbatch;
    const tp_node *node; /* for positions */
} tp_inst;

typedef enum tp_statement_kind {
    TP_COMPUTE,    /* inst */
    TP_ASSIGN,     /* variable slot `var` := value */
    TP_PUT,        /* store: access, value */
    TP_IF,         /* cond, body, orelse */
    TP_LOOP,       /* loop value `var`, lo, hi, step, body */
    TP_WHILE,      /* test computes `value`, a bool, before each turn of body */
    TP_COPY_START, /* store as TP_PUT does; until it is waited for, `from` and `access` are in flight on `semaphore` */
    TP_COPY_WAIT,  /* take the bytes of `access` off `semaphore`; inst and value load `from` and are not executed */
    TP_SIGNAL,     /* add `value` to `semaphore` */
    TP_AWAIT,      /* wait until `semaphore` has `value`, and take it off */
    TP_ASSERT,     /* check(cond, text); or what multiple_of() claims, and then there is no text */
    TP_ENTER,      /* the buffers of `scope` begin, undefined, and its semaphores, zero */
    TP_LEAVE,      /* they end: no copy of them is in flight, and what counts is zero */
} tp_statement_kind;

/* Scratch operands `first`, … of one `with`. */
typedef struct tp_scope {
    uint32_t first, n;
} tp_scope;

/* No device is named. */
#define TP_NOWHERE                                                                                                     \
    {                                                                                                                  \
        -1, -1, -1                                                                                                     \
    }

typedef struct tp_statement tp_statement;
typedef TP_VEC(tp_statement) tp_region;
struct tp_statement {
    tp_statement_kind kind;
    const tp_syntax *syntax; /* the statement it comes from */
    tp_inst *inst;
    tp_vid value, var, lo, hi;
    int64_t by;
    tp_access *access, *from, *semaphore;
    tp_vid device[TP_MAX_MESH]; /* COPY_START, SIGNAL: coordinates, int32s, of whose `access` and `arrival` or
                                   `semaphore` it is, one for each axis of devices; else, and its own, TP_NOWHERE */
    tp_access *arrival;         /* COPY_START to a device: its semaphore, on which bytes count that are there */
    tp_region body, orelse, test;
    tp_str text;
    tp_scope scope; /* ENTER, LEAVE */
};

/* A local, as one assignment makes it. */
typedef struct tp_named_value {
    tp_str name;
    tp_vid value;
    bool loop_variable;
} tp_named_value;

typedef struct tp_program {
    tp_block syntax;
    tp_region statements;
    TP_VEC(tp_value) values;
    /* References: value of operand i (inputs: given; outputs: assigned, -1 if
     * never). Bodies: unused. */
    tp_vid *operand_value;
    tp_vid *table_value; /* references: of tables */
    uint32_t nstatements;
    bool connected;               /* bodies: some statement names a device */
    TP_VEC(tp_named_value) names; /* of locals, in the order of the text; a name may have several */
} tp_program;

/* The first name of a local that has this value; empty: there is none. */
static inline tp_str tp_local_name(const tp_program *p, tp_vid v)
{
    for (uint32_t i = 0; i < p->names.len; i++)
        if (p->names.at[i].value == v)
            return p->names.at[i].name;
    return (tp_str){NULL, 0};
}

/* Does the statement write a value to a ref? */
static inline bool tp_writes(const tp_statement *s)
{
    return s->kind == TP_PUT || s->kind == TP_COPY_START;
}
static inline bool tp_in_scope(tp_scope scope, uint32_t operand)
{
    return operand - scope.first < scope.n;
}
/* Does the operand begin or end here? */
static inline bool tp_bounds_scope(const tp_statement *s, uint32_t operand)
{
    return (s->kind == TP_ENTER || s->kind == TP_LEAVE) && tp_in_scope(s->scope, operand);
}
/* The instruction that makes a value there; NULL: none. */
static inline const tp_inst *tp_computed(const tp_statement *s)
{
    return s->kind == TP_COMPUTE && s->inst->out >= 0 ? s->inst : NULL;
}
/* Does the test hold for a statement, nested ones included? */
bool tp_region_any(const tp_region *r, bool (*test)(const tp_statement *s, void *ctx), void *ctx);
/* Visits all statements, nested ones included, round after round until one changes nothing: what turns and steps leave,
 * the next ones find. `visit` says whether it changed something; that must come to an end. */
void tp_region_settle(const tp_region *r, bool (*visit)(const tp_statement *s, void *ctx), void *ctx);

/* bounded.c: by value: is it an integer, or a float that its text keeps from being negative, infinite or NaN, whatever
 * undefined elements hold, as a cast of a bool? A product of such a one with 0 is 0. */
bool *tp_bounded_values(tp_arena *a, tp_exprs *e, const tp_program *p);

/* Is a value of that dtype computed? */
bool tp_program_has(const tp_program *p, tp_dtype dtype);

struct tp_kernel;
/* Is every value there before it is looked at, and has every instruction the arguments of its row? For tp_assert(). */
bool tp_program_holds(tp_arena *a, const struct tp_kernel *k, const tp_program *p);
/* Lower a body of k, as tp_parse_program() has it. Raises TP002, TP004. */
tp_program *tp_lower_body(tp_ctx *c, const struct tp_kernel *k, tp_block body);
/* Parse and lower a reference program: operands are whole arrays under their names. Raises TP002, TP003, TP004. */
tp_program *tp_lower_reference(tp_ctx *c, const struct tp_kernel *k, const tp_json *lines);

#endif
