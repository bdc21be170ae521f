/* Naive whole-array programs: what a kernel must equal. No tiles, no grid, no
 * blocks; plain loops in float64. Shares with the machine only the meaning of
 * the scalar operations (spec/prims.def, domains/).
 */
#ifndef TP_REFERENCE_H
#define TP_REFERENCE_H

#include "base/tensor.h"
#include "domains/domain.h"
#include "spec/kernel.h"

typedef struct tp_reference_request {
    const tp_kernel *kernel;
    const int64_t *env;
    const tp_tensor *arrays; /* inputs, in operand order; their dtypes enter exactly */
    tp_domain *domain;       /* rides along; NULL: none */
    tp_planes *meanings;     /* with a domain, per array: planes of inputs are read, those of outputs are written */
    /* Results: a float64 tensor per output, the value before rounding to the
     * output's dtype (integers are exact up to 2^53). */
    tp_tensor *outputs;
    bool single; /* each float result is rounded to float32, for a look at what that costs; without a domain */
    const tp_dtype *types; /* ... or to these, by value; or NULL */
    bool undecided;        /* it decides by numbers about which the domain is not certain */
    tp_str why;
} tp_reference_request;

/* Evaluate the reference. TP_E_INPUT with r->why when it cannot be. */
tp_status tp_reference_run(tp_arena *a, tp_reference_request *r);

/* The reference as a program in the language, builtins too; NULL with *why when
 * there is none. */
const tp_program *tp_reference_program(tp_arena *a, const tp_kernel *k, tp_str *why);

/* A reference by name, `file name = descriptor name` in reference/impl: a
 * naive program in the language, written for the operands at hand. */
typedef struct tp_builtin_call {
    tp_arena *arena;
    const tp_kernel *kernel;
    const tp_json *args; /* "args" of the reference, or NULL */
    TP_VEC(tp_str) lines;
} tp_builtin_call;
typedef struct tp_builtin {
    const char *name;
    const char *usage; /* arguments, e.g. "a, b" */
    const char *summary;
    /* Adds lines with tp_builtin_line(). Returns NULL or what is wrong. */
    const char *(*write)(tp_builtin_call *c);
} tp_builtin;
const tp_builtin *tp_builtin_find(tp_str name);
const tp_builtin *const *tp_builtins(size_t *n);

/* Input named by member `key` of args (by default input number `otherwise`);
 * NULL when there is none. */
const tp_operand *tp_builtin_input(const tp_builtin_call *c, const char *key, uint32_t otherwise);
/* The table that member `key` names; NULL when there is none. */
const tp_table *tp_builtin_table(const tp_builtin_call *c, const char *key);
/* Member `key` as text of the language, in parentheses: a number, or an expression over sizes. */
const char *tp_builtin_text(const tp_builtin_call *c, const char *key, const char *otherwise);
/* Number `key` of args. */
double tp_builtin_number(const tp_builtin_call *c, const char *key, double otherwise);
bool tp_builtin_flag(const tp_builtin_call *c, const char *key);
/* The name of the one output. */
const char *tp_builtin_output(const tp_builtin_call *c);
/* Text of dimension d of an operand, in parentheses. */
const char *tp_builtin_dim(const tp_builtin_call *c, const tp_operand *o, uint32_t d);
/* "(1, …, 1, (n))": the shape of `rank` dimensions in which only the last is that of x. */
const char *tp_builtin_row_shape(const tp_builtin_call *c, const tp_operand *x);
/* "((m), (n))": the whole shape. */
const char *tp_builtin_shape(const tp_builtin_call *c, const tp_operand *x);
void tp_builtin_line(tp_builtin_call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
