/* The field domain: residues modulo two primes p = 2 q + 1.
 *
 * An expression of +, -, *, / and constants is the same number over the reals
 * as another one when their residues agree at random points, but for a chance
 * of degree / p (Schwartz 1980, Zippel 1979). exp maps Z_q, where exponents
 * live, to the subgroup of order q in F_p, so that exp(a) exp(b) = exp(a + b)
 * holds; other functions are tags, random functions of the residue of their
 * argument. Decisions (comparisons, where, the order of data) follow the
 * computed numbers. docs/EQUIVALENCE.md has the claims that this earns.
 */
#include <math.h>

#include "domains/degree.h"
#include "base/assert.h"
#include "domains/multiply.h"
#include "domains/residue.h"

enum { WINDOW = 10, WINDOWS = 3 };

#define ONE tp_word(1, 1)

enum { MOST_LITERALS = 32 };

typedef struct powers {
    uint64_t at[WINDOWS][1 << WINDOW]; /* omega^(i 2^(10 w)) */
} powers;

typedef struct field {
    tp_domain base;
    tp_arena *arena;
    tp_field_options options;
    tp_field_log log;
    const powers *powers;             /* NULL: exp is unknown */
    uint64_t ln2, log2e;              /* residues of those two constants */
    uint64_t exponents;               /* key of exponentials as exponents */
    uint64_t literals[MOST_LITERALS]; /* residues of literals that their dtype rounds */
    uint32_t nliterals;
    double far; /* exp of minus this or less counts as 0, of this or more as infinite */
    void *room; /* of dot */
    size_t room_size;
} field;

/* ---- residues ---- */

static bool has_inverse(const field *f, uint64_t x)
{
    return x != TP_FIELD_UNKNOWN && (tp_q_of(x) != 0 || f->options.polynomial) && tp_p_of(x) != 0;
}

static uint64_t invert(const field *f, uint64_t x)
{
    return has_inverse(f, x) ? tp_residue_inverse(x) : TP_FIELD_UNKNOWN; /* a zero denominator at this point */
}

/* n inverses by one power for all of them (Montgomery 1987). */
static void invert_strip(const field *f, size_t n, const uint64_t *x, uint64_t *r)
{
    uint64_t product = ONE;
    for (size_t i = 0; i < n; i++) {
        r[i] = product;
        if (has_inverse(f, x[i]))
            product = tp_residue_multiply(product, x[i]);
    }
    product = tp_residue_inverse(product);
    for (size_t i = n; i-- > 0;) {
        if (has_inverse(f, x[i])) {
            r[i] = tp_residue_multiply(product, r[i]);
            product = tp_residue_multiply(product, x[i]);
        } else {
            r[i] = TP_FIELD_UNKNOWN;
        }
    }
}

static uint64_t divide(const field *f, uint64_t x, uint64_t y)
{
    uint64_t r = invert(f, y);
    return r == TP_FIELD_UNKNOWN ? r : tp_residue_multiply(x, r);
}

/* A random function of the value, which is the residue modulo p: the one
 * modulo q depends on how an exponential came about. */
static uint64_t tag(field *f, uint64_t function, uint64_t x)
{
    f->log.tags = true;
    return tp_random_word(f->options.seed ^ 0x746167, function, tp_p_of(x));
}

/* exp of n residues, where `data` are the computed ones; as an exponent again
 * each is a tag, a random function of it. */
TP_VECTORISED static void exponential_strip(const field *f, size_t n, const uint64_t *restrict x,
                                            const double *restrict data, uint64_t *restrict r)
{
    enum { MASK = (1 << WINDOW) - 1 };
    for (size_t i = 0; f->options.polynomial && i < n; i++)
        r[i] = TP_FIELD_UNKNOWN;
    for (size_t i = 0; !f->options.polynomial && i < n; i++) {
        uint64_t e = tp_q_of(x[i]), v = f->powers->at[0][e & MASK];
        v = tp_fold_p(v * f->powers->at[1][e >> WINDOW & MASK]);
        v = tp_fold_p(v * f->powers->at[2][e >> (2 * WINDOW) & MASK]);
        v = tp_word((tp_mix(f->exponents ^ v) >> 32) * TP_Q >> 32, v);
        r[i] = data[i] <= -f->far ? 0 : v;
    }
}

static uint64_t exponential(const field *f, uint64_t x, double data)
{
    uint64_t r;
    exponential_strip(f, 1, &x, &data, &r);
    return r;
}

/* A word of two equal small residues is that integer, but for a chance of 2^-39:
 * the root of 18 is 3 times the tag of 2. */
static uint64_t square_root(field *f, uint64_t x)
{
    int64_t rest;
    if (tp_q_of(x) != tp_p_of(x) || tp_q_of(x) >= 1 << 20)
        return tag(f, TP_P_SQRT, x);
    if (x == 0)
        return x;
    uint64_t s = (uint64_t)tp_square_part((int64_t)tp_p_of(x), &rest), r = (uint64_t)rest;
    return r == 1 ? tp_word(s, s) : tp_residue_multiply(tp_word(s, s), tag(f, TP_P_SQRT, tp_word(r, r)));
}

/* Residue of a constant of the program, the same for all its spellings. */
static uint64_t constant(field *f, double x)
{
    tp_constant c = tp_constant_of(x, f->base.float64);
    uint64_t r = tp_residue_of(c.a);
    f->log.approximate |= c.kind == TP_CONSTANT_OTHER;
    if (fabs(fabs(x) - 0.6931471805599453) < (f->base.float64 ? 0x1p-53 : 0x1p-24))
        r = f->ln2;
    else if (c.kind == TP_CONSTANT_FRACTION || (c.kind == TP_CONSTANT_EXACT && c.b != 1))
        r = divide(f, r, tp_residue_of(c.b));
    else if (c.kind == TP_CONSTANT_ROOT)
        r = square_root(f, r);
    else if (c.kind == TP_CONSTANT_INVERSE_ROOT)
        r = divide(f, ONE, square_root(f, r));
    if (c.times_log2e && r != f->ln2)
        r = tp_residue_multiply(r, f->log2e);
    return c.sign < 0 ? tp_residue_negative(r) : r;
}

/* ---- elements ---- */

static uint64_t element(const tp_lanes *x, size_t i)
{
    return x->plane[0] ? ((const uint64_t *)x->plane[0])[x->n == 1 ? 0 : i] : tp_residue_of(tp_lane(x, i));
}

/* ---- elementwise ---- */

/* The logistic function of n residues, where `data` are the computed ones. */
static void logistic_strip(const field *f, size_t n, const uint64_t *x, const double *data, uint64_t *r)
{
    uint64_t opposite[TP_STRIP] = {0}, below[TP_STRIP];
    double far[TP_STRIP] = {0};
    for (size_t i = 0; i < n; i++) {
        opposite[i] = tp_residue_negative(x[i]);
        far[i] = -data[i];
    }
    exponential_strip(f, n, opposite, far, below);
    for (size_t i = 0; i < n; i++)
        if (x[i] == TP_FIELD_UNKNOWN || below[i] == TP_FIELD_UNKNOWN)
            below[i] = TP_FIELD_UNKNOWN;
        else
            below[i] = tp_residue_add(ONE, below[i]);
    invert_strip(f, n, below, r);
    for (size_t i = 0; i < n; i++)
        if (data[i] <= -f->far && below[i] != TP_FIELD_UNKNOWN)
            r[i] = 0;
}

/* tanh(x) = 2 logistic(2 x) - 1 */
static void hyperbolic_strip(const field *f, size_t n, const uint64_t *x, const double *data, uint64_t *r)
{
    uint64_t twice[TP_STRIP];
    double far[TP_STRIP] = {0};
    for (size_t i = 0; i < n; i++)
        far[i] = 2 * data[i];
    tp_residues_add(n, x, x, twice);
    logistic_strip(f, n, twice, far, r);
    for (size_t i = 0; i < n; i++)
        if (r[i] != TP_FIELD_UNKNOWN)
            r[i] = tp_residue_add(tp_residue_add(r[i], r[i]), tp_residue_negative(ONE));
}

/* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 */
static void gelu_strip(field *f, size_t n, const uint64_t *x, const double *data, uint64_t *r)
{
    uint64_t inner[TP_STRIP], cubic = constant(f, 0.044715), root = constant(f, 0.7978845608028654);
    double far[TP_STRIP] = {0};
    for (size_t i = 0; i < n; i++) {
        uint64_t cube = tp_residue_multiply(tp_residue_multiply(x[i], x[i]), x[i]);
        inner[i] = x[i] == TP_FIELD_UNKNOWN
                       ? x[i]
                       : tp_residue_multiply(tp_residue_add(x[i], tp_residue_multiply(cube, cubic)), root);
        far[i] = (data[i] + data[i] * data[i] * data[i] * 0.044715) * 0.7978845608028654;
    }
    hyperbolic_strip(f, n, inner, far, r);
    for (size_t i = 0; i < n; i++)
        if (r[i] != TP_FIELD_UNKNOWN)
            r[i] = tp_residue_multiply(tp_residue_multiply(x[i], tp_residue_add(ONE, r[i])), tp_residue_of(0.5));
}

static void power_strip(const field *f, size_t n, const uint64_t *x, int64_t exponent, uint64_t *r)
{
    uint64_t base[TP_STRIP], was[TP_STRIP];
    memcpy(base, x, n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        r[i] = ONE;
    for (uint64_t e = (uint64_t)(exponent < 0 ? -exponent : exponent); e; e >>= 1) {
        if (e & 1) {
            memcpy(was, r, n * sizeof *r);
            tp_residues_multiply(n, was, base, r);
        }
        memcpy(was, base, n * sizeof *r);
        tp_residues_multiply(n, was, was, base);
    }
    memcpy(was, r, n * sizeof *r);
    if (exponent < 0)
        invert_strip(f, n, was, r);
}

/* p of x, of which only p(-x) = -p(x) is known. */
static uint64_t odd(field *f, tp_prim p, uint64_t x)
{
    uint64_t opposite = tp_residue_negative(x);
    if (x == 0)
        return 0;
    return x <= opposite ? tag(f, p, x) : tp_residue_negative(tag(f, p, opposite));
}

/* p of x, of which only p(-x) = p(x) and p(0) = 1 are known. */
static uint64_t even(field *f, tp_prim p, uint64_t x)
{
    uint64_t opposite = tp_residue_negative(x);
    return x == 0 ? ONE : tag(f, p, x <= opposite ? x : opposite);
}

static uint64_t unary(field *f, tp_prim p, uint64_t x, double data, double result)
{
    uint64_t one = ONE, s;
    switch (p) {
    case TP_P_NEG: return tp_residue_negative(x);
    case TP_P_ABS: return data < 0 ? tp_residue_negative(x) : x;
    case TP_P_SQUARE: return tp_residue_multiply(x, x);
    case TP_P_EXP2: return exponential(f, tp_residue_multiply(x, f->ln2), data * 0.6931471805599453);
    case TP_P_EXPM1:
        s = exponential(f, x, data);
        return s == TP_FIELD_UNKNOWN ? s : tp_residue_add(s, tp_residue_negative(one));
    case TP_P_LOG: return x == one ? 0 : tag(f, TP_P_LOG, x);
    case TP_P_LOG1P: return x == 0 ? 0 : tag(f, TP_P_LOG, tp_residue_add(x, one));
    case TP_P_LOG2: return x == one ? 0 : tp_residue_multiply(tag(f, TP_P_LOG, x), f->log2e);
    case TP_P_SQRT: return square_root(f, x);
    case TP_P_RSQRT: return divide(f, one, square_root(f, x));
    case TP_P_RELU: return data > 0 ? x : 0;
    case TP_P_ERF: return odd(f, TP_P_ERF, x);
    case TP_P_ERFC: return tp_residue_add(one, tp_residue_negative(odd(f, TP_P_ERF, x)));
    case TP_P_SIN: return odd(f, TP_P_SIN, x);
    case TP_P_COS: return even(f, TP_P_COS, x);
    case TP_P_TAN: return divide(f, odd(f, TP_P_SIN, x), even(f, TP_P_COS, x));
    case TP_P_SIGN:
    case TP_P_FLOOR:
    case TP_P_CEIL:
    case TP_P_ROUND: return tp_residue_of(result); /* a decision */
    case TP_P_EXP:                                 /* these by strips */
    case TP_P_TANH:
    case TP_P_GELU:
    case TP_P_LOGISTIC:
    case TP_P_SILU:
    case TP_P_IS_FINITE: /* bools follow the data */
    case TP_P_INVERT:
#define BINARY(id, ...) case TP_P_##id:
#define STRUCT(id, ...) case TP_P_##id:
#include "spec/prims.def"
    case TP_PRIMS: break;
    }
    return TP_FIELD_UNKNOWN;
}

static uint64_t integer_power(field *f, uint64_t x, int64_t e)
{
    uint64_t n = (uint64_t)(e < 0 ? -e : e), r = tp_residue_power(x, n);
    return e < 0 ? invert(f, r) : r;
}

static uint64_t any_power(field *f, uint64_t x, uint64_t y, double dx, double dy, bool is_constant)
{
    double exponent = is_constant ? dy : (double)NAN;
    if (dx == 2 && tp_p_of(x) == tp_p_of(tp_residue_of(2)))
        return exponential(f, tp_residue_multiply(y, f->ln2), dy * 0.6931471805599453);
    if (exponent == 0.5)
        return square_root(f, x);
    if (exponent == -0.5)
        return divide(f, ONE, square_root(f, x));
    if (exponent == trunc(exponent) && fabs(exponent) <= 64)
        return integer_power(f, x, (int64_t)exponent);
    return tag(f, TP_P_POW, tp_mix(tp_p_of(x)) ^ tp_p_of(y));
}

/* The extreme of a set, a sum over random functions of its members. */
static uint64_t ask_oracle(field *f, tp_prim p, uint64_t set)
{
    f->log.oracle = true;
    return tp_random_word(f->options.oracle, (uint64_t)p, set);
}

/* Is it that of a literal, which its dtype rounds? Others mean their data. */
static bool is_literal(const field *f, uint64_t x)
{
    for (uint32_t i = 0; i < f->nliterals; i++)
        if (f->literals[i] == x)
            return true;
    return false;
}

static void note_literal(field *f, uint64_t x)
{
    if (!is_literal(f, x) && f->nliterals < MOST_LITERALS)
        f->literals[f->nliterals++] = x;
}

/* max and min of two: a constant bound is a decision of the data, as is a
 * comparison with infinity; else the oracle answers, the same for the same
 * two arguments. */
static uint64_t extreme(field *f, tp_prim p, uint64_t x, uint64_t y, double dx, double dy, bool is_constant)
{
    if (tp_p_of(x) == tp_p_of(y))
        return x;
    is_constant = is_constant || is_literal(f, x) || is_literal(f, y);
    if (f->options.ordered || is_constant || !isfinite(dx) || !isfinite(dy))
        return (p == TP_P_MAXIMUM ? dx > dy : dx < dy) || (dx == dy && tp_p_of(x) > tp_p_of(y))
                   ? x
                   : y; /* ties: in any order alike */
    return ask_oracle(f, p, tp_mix(tp_p_of(x)) + tp_mix(tp_p_of(y)));
}

static uint64_t binary(field *f, tp_prim p, uint64_t x, uint64_t y, double dx, double dy, double result,
                       bool is_constant)
{
    switch (p) {
    case TP_P_POW: return any_power(f, x, y, dx, dy, is_constant);
    case TP_P_MAXIMUM:
    case TP_P_MINIMUM: return extreme(f, p, x, y, dx, dy, is_constant);
    case TP_P_FLOORDIV: return tp_residue_of(result);
    case TP_P_MOD: return tp_residue_add(x, tp_residue_negative(tp_residue_multiply(y, tp_residue_of(floor(dx / dy)))));
    case TP_P_LAX_REM:
        return tp_residue_add(x, tp_residue_negative(tp_residue_multiply(y, tp_residue_of(trunc(dx / dy)))));
    case TP_P_ADD: /* these by strips */
    case TP_P_SUB:
    case TP_P_MUL:
    case TP_P_DIV:
    case TP_P_LAX_DIV:
    case TP_P_AND: /* bools and integers follow the data */
    case TP_P_OR:
    case TP_P_XOR:
    case TP_P_SHL:
    case TP_P_SHR:
    case TP_P_SHR_LOGICAL:
    case TP_P_EQ:
    case TP_P_NE:
    case TP_P_LT:
    case TP_P_LE:
    case TP_P_GT:
    case TP_P_GE:
#define UNARY(id, ...) case TP_P_##id:
#define STRUCT(id, ...) case TP_P_##id:
#include "spec/prims.def"
    case TP_PRIMS: break;
    }
    return TP_FIELD_UNKNOWN;
}

static void note_unsupported(field *f, tp_prim p)
{
    if (!f->log.unsupported)
        f->log.unsupported = tp_prim_info(p)->name;
}

/* ---- strips ---- */

/* Words [from, from + n) of x: its plane itself, or room filled with what its data mean. */
static const uint64_t *words(const tp_lanes *x, size_t from, size_t n, uint64_t *room)
{
    if (x->n == 1) {
        uint64_t w = element(x, 0);
        for (size_t i = 0; i < n; i++)
            room[i] = w;
        return room;
    }
    if (x->plane[0])
        return (const uint64_t *)x->plane[0] + from;
    for (size_t i = 0; i < n; i++)
        room[i] = element(x, from + i);
    return room;
}

/* Operands and numbers of a strip; y and dy are NULL with one operand. */
typedef struct strip {
    size_t n;
    const uint64_t *x, *y;
    const double *dx, *dy, *result;
    bool same_divisor; /* y is n times the same */
    bool is_constant;  /* one operand means its data: a constant */
} strip;

static void divide_strip(const field *f, const strip *s, uint64_t *r)
{
    uint64_t inverse[TP_STRIP], one = s->same_divisor ? invert(f, s->y[0]) : 0;
    if (!s->same_divisor)
        invert_strip(f, s->n, s->y, inverse);
    for (size_t i = 0; s->same_divisor && i < s->n; i++)
        inverse[i] = one;
    tp_residues_multiply(s->n, s->x, inverse, r);
    for (size_t i = 0; i < s->n; i++)
        if (isinf(s->dy[i]) || isnan(s->dy[i]))
            r[i] = isfinite(s->dx[i]) ? 0 : r[i];
}

/* Unknown operands make unknown results; exp(-inf), tanh(inf) and the like are their data. */
static void settle(field *f, tp_prim p, const strip *s, uint64_t *r)
{
    for (size_t i = 0; i < s->n; i++) {
        bool unknown = s->x[i] == TP_FIELD_UNKNOWN || (s->y && s->y[i] == TP_FIELD_UNKNOWN);
        f->log.overflow |= isinf(s->result[i]) && isfinite(s->dx[i]) && (!s->y || isfinite(s->dy[i]));
        if (unknown)
            r[i] = TP_FIELD_UNKNOWN;
        else if (!isfinite(s->dx[i]) && isfinite(s->result[i]) && p != TP_P_MAXIMUM && p != TP_P_MINIMUM)
            r[i] = tp_residue_of(s->result[i]);
        if (r[i] == TP_FIELD_UNKNOWN && isfinite(s->result[i]))
            note_unsupported(f, p);
    }
}

static void silu_strip(field *f, size_t n, const uint64_t *x, const double *dx, uint64_t *r)
{
    uint64_t sigma[TP_STRIP];
    logistic_strip(f, n, x, dx, sigma);
    tp_residues_multiply(n, x, sigma, r);
}

static void compute_strip(field *f, tp_prim p, int64_t integer, const strip *s, uint64_t *r)
{
    if (p == TP_P_EXP)
        exponential_strip(f, s->n, s->x, s->dx, r);
    else if (p == TP_P_TANH)
        hyperbolic_strip(f, s->n, s->x, s->dx, r);
    else if (p == TP_P_GELU)
        gelu_strip(f, s->n, s->x, s->dx, r);
    else if (p == TP_P_LOGISTIC)
        logistic_strip(f, s->n, s->x, s->dx, r);
    else if (p == TP_P_SILU)
        silu_strip(f, s->n, s->x, s->dx, r);
    else if (p == TP_P_DIV || p == TP_P_LAX_DIV)
        divide_strip(f, s, r);
    else if (p == TP_P_INTEGER_POW)
        power_strip(f, s->n, s->x, integer, r);
    else
        for (size_t i = 0; i < s->n; i++)
            r[i] = s->x[i] == TP_FIELD_UNKNOWN || (s->y && s->y[i] == TP_FIELD_UNKNOWN) ? TP_FIELD_UNKNOWN
                   : s->y ? binary(f, p, s->x[i], s->y[i], s->dx[i], s->dy[i], s->result[i], s->is_constant)
                          : unary(f, p, s->x[i], s->dx[i], s->result[i]);
    settle(f, p, s, r);
}

static bool elementwise(tp_domain *d, tp_prim p, int64_t integer, tp_lanes *out, const tp_lanes *const *args,
                        uint32_t nargs)
{
    field *f = (field *)d;
    const tp_lanes *a = args[0], *b = nargs > 1 ? args[1] : NULL;
    uint64_t xs[TP_STRIP], ys[TP_STRIP];
    double dxs[TP_STRIP], dys[TP_STRIP], results[TP_STRIP];
    if (!tp_is_float(out->dtype) || !tp_is_float(a->dtype))
        return false; /* bools and integers are what they are */
    if (!a->plane[0] && (p == TP_P_NEG || p == TP_P_ABS))
        return false; /* exact */
    out->degree = tp_degree_of_elementwise(p, integer, tp_degree_of(a), b ? tp_degree_of(b) : (tp_degree){0, 0});
    for (size_t from = 0; from < out->n; from += TP_STRIP) {
        size_t n = tp_strip_at(out->n, from);
        uint64_t *r = (uint64_t *)out->plane[0] + from;
        const uint64_t *x = words(a, from, n, xs), *y = b ? words(b, from, n, ys) : NULL;
        if (p == TP_P_ADD)
            tp_residues_add(n, x, y, r);
        else if (p == TP_P_SUB)
            tp_residues_subtract(n, x, y, r);
        else if (p == TP_P_MUL && f->options.polynomial && out->n > 1) /* of scalars the constants are known */
            tp_residues_multiply_p(n, x, y, r);
        else if (p == TP_P_MUL)
            tp_residues_multiply(n, x, y, r);
        else
            compute_strip(f, p, integer,
                          &(strip){.n = n,
                                   .x = x,
                                   .y = y,
                                   .dx = tp_lanes_part(a, from, n, dxs),
                                   .dy = b ? tp_lanes_part(b, from, n, dys) : NULL,
                                   .result = tp_lanes_part(out, from, n, results),
                                   .same_divisor = b && b->n == 1,
                                   .is_constant = b && (!a->plane[0] || !b->plane[0])},
                          r);
    }
    return true;
}

/* ---- selection and conversion ---- */

static bool select_arm(tp_domain *d, tp_lanes *out, const tp_lanes *cond, const tp_lanes *a, const tp_lanes *b)
{
    (void)d;
    if (!tp_is_float(out->dtype) || (!a->plane[0] && !b->plane[0]))
        return false;
    uint64_t xs[TP_STRIP], ys[TP_STRIP];
    double conditions[TP_STRIP];
    for (size_t from = 0; from < out->n; from += TP_STRIP) {
        size_t n = tp_strip_at(out->n, from);
        const uint64_t *x = words(a, from, n, xs), *y = words(b, from, n, ys);
        const double *c = tp_lanes_part(cond, from, n, conditions);
        uint64_t *r = (uint64_t *)out->plane[0] + from;
        for (size_t i = 0; i < n; i++)
            r[i] = c[i] != 0 ? x[i] : y[i];
    }
    out->degree = tp_degree_larger(tp_degree_of(a), tp_degree_of(b));
    return true;
}

/* Between floats the identity; integers and bools are decisions. */
static bool cast(tp_domain *d, tp_lanes *out, const tp_lanes *a)
{
    field *f = (field *)d;
    uint64_t *r = out->plane[0];
    bool same = !a->plane[0];
    if (!tp_is_float(out->dtype))
        return false;
    for (size_t i = 0; i < out->n; i++)
        r[i] = a->plane[0]             ? element(a, i)
               : tp_is_float(a->dtype) ? constant(f, tp_lane(a, i))
                                       : tp_residue_of(tp_lane(a, i));
    for (size_t i = 0; same && i < out->n; i++)
        same = r[i] == tp_residue_of(tp_lane(out, i));
    if (!same && !a->plane[0] && a->n == 1)
        note_literal(f, r[0]);
    out->degree = tp_degree_of(a);
    return !same;
}

static bool literal(tp_domain *d, tp_lanes *out, double v)
{
    field *f = (field *)d;
    uint64_t w = constant(f, v);
    *(uint64_t *)out->plane[0] = w;
    out->degree = (tp_degree){0, 0};
    if (!tp_is_float(out->dtype) || w == tp_residue_of(tp_lane(out, 0)))
        return false;
    note_literal(f, w);
    return true;
}

static bool bitcast(tp_domain *d, tp_lanes *out, const tp_lanes *a)
{
    field *f = (field *)d;
    if (a->plane[0])
        note_unsupported(f, TP_P_BITCAST);
    if (!f->log.unsupported || !tp_is_float(out->dtype)) /* integers do not carry what floats hide in them */
        return false;
    for (size_t i = 0; i < out->n; i++)
        ((uint64_t *)out->plane[0])[i] = TP_FIELD_UNKNOWN;
    return true;
}

static bool certain(const tp_domain *d, const tp_lanes *x)
{
    (void)d, (void)x;
    return true;
}

/* ---- folds ---- */

/* Sum over n words of a random function of each; *differ: not all are alike;
 * false where one is unknown or its data not finite. */
TP_VECTORISED static bool set_of_strip(size_t n, const uint64_t *w, const double *data, uint64_t first, uint64_t *set,
                                       bool *differ)
{
    uint64_t sum = 0, unlike = 0, unusual = 0;
    for (size_t i = 0; i < n; i++) {
        sum += tp_mix(tp_p_of(w[i]));
        unlike |= tp_p_of(w[i] ^ first);
        unusual |= ((w[i] != TP_FIELD_UNKNOWN) & (fabs(data[i]) < HUGE_VAL)) ? 0 : 1;
    }
    *set += sum;
    *differ |= unlike != 0;
    return unusual == 0;
}

/* Where the oracle is asked about a row, and nothing in it is out of the ordinary. */
static bool set_of_row(const tp_lanes *a, size_t base, size_t n, uint64_t *set)
{
    const uint64_t *w = (const uint64_t *)a->plane[0] + base;
    double room[TP_STRIP];
    bool differ = false;
    *set = 0;
    for (size_t from = 0; from < n; from += TP_STRIP) {
        size_t count = tp_strip_at(n, from);
        if (!set_of_strip(count, w + from, tp_lanes_part(a, base + from, count, room), w[0], set, &differ))
            return false;
    }
    return differ;
}

static bool is_row(const tp_lanes *a, const tp_groups *g)
{
    return a->n > 1 && g->nin && g->offset[g->nin - 1] == g->nin - 1;
}

/* Maximum of a group: the oracle's answer depends on the set of arguments, so
 * that the same maximum taken twice is the same. */
static uint64_t group_extreme(field *f, tp_prim p, const tp_lanes *a, size_t base, const tp_groups *g)
{
    uint64_t set = 0, best = 0, last = TP_FIELD_UNKNOWN;
    double most = 0;
    bool all_same = true, tied = false; /* of the finite ones; of the extreme ones */
    if (!f->options.ordered && is_row(a, g) && set_of_row(a, base, g->nin, &set))
        return ask_oracle(f, p, set);
    set = 0;
    for (size_t t = 0; t < g->nin; t++) {
        uint64_t w = element(a, base + g->offset[t]);
        double v = tp_lane(a, base + g->offset[t]);
        if (w == TP_FIELD_UNKNOWN)
            return w;
        if (isfinite(v)) {
            all_same &= last == TP_FIELD_UNKNOWN || tp_p_of(w) == tp_p_of(last);
            last = w;
            set += tp_mix(tp_p_of(w));
        }
        bool beyond = t == 0 || (p == TP_P_MAX ? v > most : v < most), same = !beyond && v == most;
        tied = !beyond && (tied || (same && tp_p_of(w) != tp_p_of(best)));
        best = beyond || (same && tp_p_of(w) > tp_p_of(best)) ? w : best;
        most = beyond ? v : most;
    }
    f->log.tied |= tied && f->options.ordered && isfinite(most);
    return f->options.ordered || all_same || !isfinite(most) ? best : ask_oracle(f, p, set);
}

static uint64_t fold_group(field *f, tp_prim p, const tp_lanes *a, size_t base, const tp_groups *g)
{
    uint64_t s = p == TP_P_PROD ? ONE : 0;
    if (p == TP_P_MAX || p == TP_P_MIN)
        return group_extreme(f, p, a, base, g);
    if (p == TP_P_SUM && is_row(a, g))
        return tp_residues_sum(g->nin, (const uint64_t *)a->plane[0] + base);
    for (size_t t = 0; t < g->nin; t++) {
        uint64_t w = element(a, base + g->offset[t]);
        if (w == TP_FIELD_UNKNOWN)
            return w;
        s = p == TP_P_SUM ? tp_residue_add(s, w) : tp_residue_multiply(s, w);
    }
    return s;
}

static bool reduce(tp_domain *d, tp_prim p, tp_lanes *out, const tp_lanes *a, const tp_groups *g)
{
    tp_assert(tp_groups_hold(g, out, a));
    field *f = (field *)d;
    if (!tp_is_float(out->dtype) || !a->plane[0])
        return false;
    for (size_t o = 0; o < g->nout; o++)
        ((uint64_t *)out->plane[0])[o] = fold_group(f, p, a, g->base[o], g);
    out->degree = tp_degree_of_fold(p, tp_degree_of(a), (double)g->nin);
    return true;
}

static bool scan(tp_domain *d, tp_prim p, tp_lanes *out, const tp_lanes *a, size_t start, ptrdiff_t step, size_t n)
{
    uint64_t s = 0, *r = out->plane[0];
    double most = 0;
    (void)d;
    if (!tp_is_float(out->dtype) || !a->plane[0])
        return false;
    for (size_t t = 0; t < n; t++) {
        size_t i = (size_t)((ptrdiff_t)start + (ptrdiff_t)t * step);
        uint64_t w = element(a, i);
        double v = tp_lane(a, i);
        if (t == 0 || ((p == TP_P_MAX || p == TP_P_MIN) &&
                       ((p == TP_P_MAX ? v > most : v < most) || (v == most && tp_p_of(w) > tp_p_of(s))))) {
            s = w;
            most = v;
        } else if (s == TP_FIELD_UNKNOWN || w == TP_FIELD_UNKNOWN) {
            s = TP_FIELD_UNKNOWN;
        } else if (p == TP_P_SUM || p == TP_P_PROD) {
            s = p == TP_P_SUM ? tp_residue_add(s, w) : tp_residue_multiply(s, w);
        }
        r[i] = s;
    }
    out->degree = tp_degree_of_fold(p, tp_degree_of(a), (double)n);
    return true;
}

/* ---- dot ---- */

static bool split(const tp_lanes *x, uint64_t *q, uint64_t *p)
{
    uint64_t room[TP_STRIP];
    bool known = true;
    for (size_t from = 0, n; from < x->n; from += n) {
        n = tp_strip_at(x->n, from);
        known = tp_residues_split(n, words(x, from, n, room), q + from, p + from) && known;
    }
    return known;
}

static bool dot(tp_domain *d, tp_dot_shape s, tp_lanes *out, const tp_lanes *a, const tp_lanes *b)
{
    tp_assert(tp_dot_holds(s, out, a, b));
    field *f = (field *)d;
    size_t na = s.batch * s.m * s.k, nb = s.batch * s.k * s.n, nr = s.batch * s.m * s.n,
           want = sizeof(uint64_t) * 2 * (na + nb + nr);
    if (!tp_is_float(out->dtype) || (!a->plane[0] && !b->plane[0]))
        return false;
    if (f->room_size < want) {
        f->room = tp_alloc_unset(f->arena, want);
        f->room_size = want;
    }
    uint64_t *r = out->plane[0], *aq = f->room, *ap = aq + na, *bq = ap + na, *bp = bq + nb, *rq = bp + nb,
             *rp = rq + nr;
    bool known = split(a, aq, ap);
    known = split(b, bq, bp) && known;
    for (size_t i = 0; known && i < s.batch; i++) {
        size_t ia = i * s.m * s.k, ib = i * s.k * s.n, ir = i * s.m * s.n;
        if (!f->options.polynomial)
            tp_multiply_q(s.m, s.n, s.k, aq + ia, bq + ib, rq + ir);
        tp_multiply_p(s.m, s.n, s.k, ap + ia, bp + ib, rp + ir);
    }
    if (known)
        tp_residues_join(nr, f->options.polynomial ? NULL : rq, rp, r);
    for (size_t i = 0; i < nr && !known; i++)
        r[i] = TP_FIELD_UNKNOWN;
    tp_degree x = tp_degree_of(a), y = tp_degree_of(b);
    out->degree = tp_degree_of_fold(TP_P_SUM, tp_degree_product(x, y), (double)s.k);
    return true;
}

/* ---- making ---- */

static void exact(const tp_domain *d, const tp_lanes *x, void *const *plane)
{
    for (size_t i = 0; i < x->n; i++)
        ((uint64_t *)plane[0])[i] = tp_residue_of(tp_lane(x, i));
    (void)d;
}

void tp_field_words(const tp_domain *d, uint64_t stream, uint64_t first, uint64_t step, size_t n, uint64_t *words)
{
    tp_random_words(((const field *)d)->options.seed, stream, first, step, n, words);
}

uint64_t tp_field_word(const tp_domain *d, uint64_t stream, uint64_t i)
{
    return tp_random_word(((const field *)d)->options.seed, stream, i);
}

const tp_field_log *tp_field_log_of(const tp_domain *d)
{
    return &((const field *)d)->log;
}

/* Of a square other than 0 and 1, which has order q. */
static const powers *powers_of(tp_arena *a, uint64_t seed)
{
    powers *r = tp_alloc_unset(a, sizeof *r);
    uint64_t root = 2 + tp_mix(seed ^ 0x6f6d656761) % (TP_P - 3), omega = root * root % TP_P;
    if (omega == 1)
        omega = 4;
    for (int w = 0; w < WINDOWS; w++) {
        uint64_t base = tp_p_of(tp_residue_power(tp_word(0, omega), (uint64_t)1 << (w * WINDOW)));
        r->at[w][0] = 1;
        for (int n = 1; n < 1 << WINDOW; n *= 2, base = tp_fold_p(base * base)) /* base is that to the n */
            for (int i = 0; i < n; i++)
                r->at[w][n + i] = tp_fold_p(r->at[w][i] * base);
    }
    return r;
}

tp_domain *tp_field_like(tp_arena *a, const tp_domain *like, tp_field_options o)
{
    const field *tables = (const field *)like;
    field *f = TP_NEW(a, field);
    tp_assert(!like || (tables->options.seed == o.seed && tables->options.polynomial == o.polynomial));
    f->base = (tp_domain){.name = "field", .nplanes = 1, TP_DOMAIN_OPERATIONS};
    f->arena = a;
    f->options = o;
    f->far = o.far > 0 ? o.far : TP_FIELD_FAR;
    f->powers = like ? tables->powers : o.polynomial ? NULL : powers_of(a, o.seed);
    f->exponents = tp_mix(o.seed ^ 0x657870);
    f->ln2 = like ? tables->ln2 : tp_random_word(o.seed, 0x6c6e32, 0);
    f->log2e = like ? tables->log2e : tp_residue_inverse(f->ln2);
    return &f->base;
}
