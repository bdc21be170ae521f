/* Integer expressions over symbols (sizes, grid axes): hash-consed, so equal
 * text has equal handles. Values are mathematical integers; booleans are 0/1.
 * Building folds constants and x+0, x*1, x//1 and nothing else, therefore
 * parse(print(e)) == e.
 */
#ifndef TP_EXPR_H
#define TP_EXPR_H

#include "base/str.h"
#include "base/vec.h"
#include "spec/limits.h"

#define TP_EXPR_BINARIES(X)                                                                                            \
    X(ADD, "+", 110)                                                                                                   \
    X(SUB, "-", 110)                                                                                                   \
    X(MUL, "*", 120)                                                                                                   \
    X(FLOORDIV, "//", 120)                                                                                             \
    X(MOD, "%", 120)                                                                                                   \
    X(BITAND, "&", 90)                                                                                                 \
    X(BITOR, "|", 70)                                                                                                  \
    X(BITXOR, "^", 80)                                                                                                 \
    X(SHL, "<<", 100)                                                                                                  \
    X(SHR, ">>", 100)                                                                                                  \
    X(EQ, "==", 60)                                                                                                    \
    X(NE, "!=", 60)                                                                                                    \
    X(LT, "<", 60)                                                                                                     \
    X(LE, "<=", 60)                                                                                                    \
    X(GT, ">", 60)                                                                                                     \
    X(GE, ">=", 60)                                                                                                    \
    X(AND, "and", 40)                                                                                                  \
    X(OR, "or", 30)                                                                                                    \
    X(IMPLIES, "implies", 10)                                                                                          \
    X(CDIV, "cdiv", 0)                                                                                                 \
    X(MIN, "min", 0)                                                                                                   \
    X(MAX, "max", 0)                                                                                                   \
    X(ALIGN_UP, "align_up", 0)

typedef enum tp_expr_op {
    TP_E_CONST,
    TP_E_SYM,
    TP_E_NEG,
    TP_E_NOT,
    TP_E_POW2, /* next_power_of_2 */
    TP_E_ITE,
    TP_E_READ,      /* an entry of a table; value: the table's symbol; a, b, c: indices */
    TP_E_TOO_LARGE, /* what grew past the pool's limits: without a value, as is all that contains it */
#define X(id, text, power) TP_E_##id,
    TP_EXPR_BINARIES(X)
#undef X
} tp_expr_op;

/* Groups of operations, for a switch: case TP_E_COMPARISONS: */
#define TP_E_COMPARISONS                                                                                               \
    TP_E_EQ:                                                                                                           \
    case TP_E_NE:                                                                                                      \
    case TP_E_LT:                                                                                                      \
    case TP_E_LE:                                                                                                      \
    case TP_E_GT:                                                                                                      \
    case TP_E_GE
#define TP_E_CONNECTIVES                                                                                               \
    TP_E_NOT:                                                                                                          \
    case TP_E_AND:                                                                                                     \
    case TP_E_OR:                                                                                                      \
    case TP_E_IMPLIES
#define TP_E_RING                                                                                                      \
    TP_E_NEG:                                                                                                          \
    case TP_E_ADD:                                                                                                     \
    case TP_E_SUB:                                                                                                     \
    case TP_E_MUL
#define TP_E_DIVISIONS                                                                                                 \
    TP_E_FLOORDIV:                                                                                                     \
    case TP_E_CDIV:                                                                                                    \
    case TP_E_MOD:                                                                                                     \
    case TP_E_ALIGN_UP
#define TP_E_BITS                                                                                                      \
    TP_E_BITAND:                                                                                                       \
    case TP_E_BITOR:                                                                                                   \
    case TP_E_BITXOR:                                                                                                  \
    case TP_E_SHL:                                                                                                     \
    case TP_E_SHR
#define TP_E_EXTREMES                                                                                                  \
    TP_E_MIN:                                                                                                          \
    case TP_E_MAX
#define TP_E_LEAVES                                                                                                    \
    TP_E_CONST:                                                                                                        \
    case TP_E_SYM:                                                                                                     \
    case TP_E_READ:                                                                                                    \
    case TP_E_TOO_LARGE

typedef struct tp_expr {
    uint32_t id; /* 0: no expression */
} tp_expr;

enum { TP_TOO_LARGE = 1 }; /* the id of TP_E_TOO_LARGE in every pool */
static inline bool tp_expr_too_large(tp_expr e)
{
    return e.id == TP_TOO_LARGE;
}

typedef struct tp_exprs tp_exprs; /* a pool; lives in its arena */

typedef struct tp_expr_node {
    tp_expr_op op;
    tp_expr a, b, c;
    int64_t value; /* constant, or symbol number */
} tp_expr_node;

/* Count what is done from now on on that account, NULL: on none, as where several threads evaluate; the one before. */
struct tp_budget;
struct tp_budget *tp_exprs_charge(tp_exprs *p, struct tp_budget *b);
tp_exprs *tp_exprs_new(tp_arena *a);
/* With limits of its own: nodes of an expression as a tree, and its depth. */
tp_exprs *tp_exprs_new_limited(tp_arena *a, uint32_t max_tree, uint32_t max_depth);
tp_arena *tp_exprs_arena(const tp_exprs *p);
/* True once an expression grew past the limits (a chain of derived sizes can
 * be exponential). It becomes TP_E_TOO_LARGE, and so does what is built of it:
 * no number, no equality and no proof comes of that. */
bool tp_exprs_overflowed(const tp_exprs *p);
/* For who throws everything away that was built since. */
void tp_exprs_forget_overflow(tp_exprs *p);

tp_expr tp_const(tp_exprs *p, int64_t v);
/* New symbol; the name is kept for printing only. */
tp_expr tp_sym_new(tp_exprs *p, tp_str name);
uint32_t tp_sym_count(const tp_exprs *p);
tp_str tp_sym_name(const tp_exprs *p, uint32_t sym);
tp_expr tp_sym(const tp_exprs *p, uint32_t sym);
tp_expr tp_op1(tp_exprs *p, tp_expr_op op, tp_expr a);
tp_expr tp_op2(tp_exprs *p, tp_expr_op op, tp_expr a, tp_expr b);
tp_expr tp_ite(tp_exprs *p, tp_expr c, tp_expr a, tp_expr b);

/* table[index[0], …]; rank at most TP_TABLE_RANK. The table is named by a
 * symbol of its own. */
tp_expr tp_read(tp_exprs *p, uint32_t table, uint32_t rank, const tp_expr *index);
/* What n is, which has operands, of these instead; no id in the place of those that it has not. */
tp_expr tp_expr_rebuild(tp_exprs *p, const tp_expr_node *n, tp_expr a, tp_expr b, tp_expr c);
/* Does e read a table? */
bool tp_expr_reads(const tp_exprs *p, tp_expr e);

const tp_expr_node *tp_expr_get(const tp_exprs *p, tp_expr e);
/* Nodes of e as a tree. */
uint32_t tp_expr_size(const tp_exprs *p, tp_expr e);
/* What is too large is not even the same as itself: it may come of two
 * different things. */
static inline bool tp_same(tp_expr a, tp_expr b)
{
    return a.id == b.id && !tp_expr_too_large(a);
}
/* "//", "cdiv"; of operations with two operands and next_power_of_2. */
const char *tp_expr_op_text(tp_expr_op op);
bool tp_expr_is_const(const tp_exprs *p, tp_expr e, int64_t *v);
bool tp_expr_is_bool(const tp_exprs *p, tp_expr e);
/* The comparison that holds where this one does not; another operation: itself. */
tp_expr_op tp_expr_opposite(tp_expr_op comparison);
/* Does e mention symbol `sym`? */
bool tp_expr_mentions(const tp_exprs *p, tp_expr e, uint32_t sym);
/* marks[sym] = true for every symbol that e mentions, tables too. */
void tp_expr_mark_symbols(const tp_exprs *p, tp_expr e, bool *marks);
/* Replace symbols: with[i] (id 0: keep) for symbol i < n. */
tp_expr tp_expr_subst(tp_exprs *p, tp_expr e, const tp_expr *with, uint32_t n);
/* The same of one symbol. */
tp_expr tp_expr_replace(tp_exprs *p, tp_expr e, uint32_t sym, tp_expr by);
void tp_expr_print(tp_buf *b, const tp_exprs *p, tp_expr e);
tp_str tp_expr_text(const tp_exprs *p, tp_expr e);

typedef enum tp_eval_error {
    TP_EVAL_OK,
    TP_EVAL_OVERFLOW,
    TP_EVAL_DIV_ZERO,
    TP_EVAL_DOMAIN,
    TP_EVAL_TOO_LARGE,
    TP_EVAL_TABLE, /* an entry outside its table, or a table without contents */
} tp_eval_error;

/* Contents of a table, row-major. */
typedef struct tp_table_data {
    uint32_t rank;
    int64_t dims[TP_TABLE_RANK];
    int64_t readable; /* of the first dimension */
    int64_t *at;
} tp_table_data;
static inline int64_t tp_entries_of(const tp_table_data *d)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < d->rank; i++)
        n *= d->dims[i];
    return n;
}

/* The entry of a table in env holds the address of its contents, or 0. */
static inline void tp_bind_table(int64_t *env, uint32_t table, const tp_table_data *data)
{
    env[table] = (int64_t)(intptr_t)data;
}
static inline tp_table_data *tp_bound_table(const int64_t *env, uint32_t table)
{
    return (tp_table_data *)(intptr_t)env[table];
}

/* Exact value with env[sym]. `if`, `and`, `or` and `implies` are lazy: an
 * error in an arm that is not taken does not count. Overflow of 64 bits is
 * an error, never a wrong number. */
tp_eval_error tp_expr_eval(const tp_exprs *p, tp_expr e, const int64_t *env, int64_t *out);
const char *tp_eval_error_text(tp_eval_error e);

/* Polynomial normal form: equal polynomials over equal atoms get the same
 * handle. Atoms are symbols and the non-polynomial operations on normalised
 * arguments. Never wrong; incomplete outside polynomials. */
tp_expr tp_expr_normal(tp_exprs *p, tp_expr e);

enum { TP_POLY_MAX_DEGREE = 6, TP_POLY_MAX_TERMS = 64 };
typedef struct tp_term {
    int64_t coef;
    uint32_t degree;
    tp_expr factors[TP_POLY_MAX_DEGREE]; /* atoms, ascending ids */
} tp_term;
/* The same product of atoms: what lies behind its degree is no part of a term. */
static inline bool tp_same_monomial(const tp_term *a, const tp_term *b)
{
    bool same = a->degree == b->degree;
    for (uint32_t i = 0; same && i < a->degree; i++)
        same = a->factors[i].id == b->factors[i].id;
    return same;
}
typedef struct tp_poly {
    tp_term terms[TP_POLY_MAX_TERMS]; /* ordered; no zero coefficients */
    uint32_t n;
    bool ok; /* false: too large or a coefficient overflowed */
} tp_poly;
/* Polynomial of e over its atoms. */
void tp_poly_of(tp_exprs *p, tp_expr e, tp_poly *out);
void tp_poly_add_term(tp_poly *q, const tp_term *t);
/* Only what it holds: a polynomial has much room. */
void tp_poly_copy(tp_poly *to, const tp_poly *from);
/* The constant c. */
void tp_poly_constant(tp_poly *q, int64_t c);
void tp_poly_mul(const tp_poly *a, const tp_poly *b, tp_poly *out);
void tp_poly_add(tp_poly *a, const tp_poly *b, int64_t scale);
tp_expr tp_poly_expr(tp_exprs *p, const tp_poly *q);

#endif
