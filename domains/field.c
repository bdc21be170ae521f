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

#include "domains/domain.h"
#include "domains/multiply.h"

enum { P = TP_FIELD_P, Q = TP_FIELD_Q, WINDOW = 10, WINDOWS = 3 };

/* exp of this or less counts as 0 (masks use -1e9, -1e30 and the like), and
 * exp of minus this as infinite. */
static const double FAR = 1000;

enum { STRIP = 64 };

typedef struct field {
    tp_domain base;
    tp_arena *arena;
    tp_field_options options;
    tp_field_log log;
    uint32_t powers[WINDOWS][1 << WINDOW]; /* omega^(i 2^(10 w)) */
    uint64_t ln2, log2e;                   /* residues of those two constants */
    uint64_t inverse_of, inverse;          /* the last one computed */
    uint64_t ahead_of[STRIP], inverses[STRIP];
    uint32_t ahead, nahead; /* of those, the next to be asked for, and how many there are */
    void *room;             /* of dot */
    size_t room_size;
} field;

/* ---- residues ---- */

static inline uint64_t word(uint64_t q, uint64_t p)
{
    return q << 32 | p;
}
static inline uint64_t q_of(uint64_t w)
{
    return w >> 32;
}
static inline uint64_t p_of(uint64_t w)
{
    return w & 0xffffffff;
}

static uint64_t power(uint64_t base, uint64_t e, uint64_t modulus)
{
    uint64_t r = 1;
    for (base %= modulus; e; e >>= 1, base = base * base % modulus)
        if (e & 1)
            r = r * base % modulus;
    return r;
}

static uint64_t mix(uint64_t x)
{ /* splitmix64: Steele, Lea, Flood, OOPSLA 2014 */
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t random_word(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = mix(mix(mix(a) ^ b) ^ c);
    return word(mix(h) % Q, mix(h ^ 0x70) % P);
}

static uint64_t residue_mod(int64_t m, int e, uint64_t modulus)
{
    uint64_t r = (uint64_t)((m % (int64_t)modulus + (int64_t)modulus) % (int64_t)modulus);
    uint64_t two = e < 0 ? (modulus + 1) / 2 : 2; /* a half, or 2 */
    return r * power(two, (uint64_t)(e < 0 ? -e : e), modulus) % modulus;
}

/* Residue of a finite double, a fraction with a power of two below. */
static uint64_t residue(double x)
{
    int e;
    if (x == 0 || !isfinite(x))
        return 0;
    if (x == 1)
        return word(1, 1);
    int64_t m = (int64_t)ldexp(frexp(x, &e), 53);
    return word(residue_mod(m, e - 53, Q), residue_mod(m, e - 53, P));
}

static inline uint64_t add(uint64_t x, uint64_t y)
{
    uint64_t q = q_of(x) + q_of(y), p = p_of(x) + p_of(y);
    return word(q >= Q ? q - Q : q, p >= P ? p - P : p);
}
static inline uint64_t negative(uint64_t x)
{
    return word(q_of(x) ? Q - q_of(x) : 0, p_of(x) ? P - p_of(x) : 0);
}
/* x modulo 2^bits + excess, for x below 2^62: two folds at that bit, lifted
 * over zero by multiples of the prime, and one subtraction; no division. */
static inline uint64_t fold(uint64_t x, int bits, uint64_t excess)
{
    uint64_t modulus = ((uint64_t)1 << bits) + excess, low = ((uint64_t)1 << bits) - 1;
    x = (x & low) + (modulus << 14) - (x >> bits) * excess;
    x = (x & low) + modulus - (x >> bits) * excess;
    return x >= modulus ? x - modulus : x;
}

static inline uint64_t multiply(uint64_t x, uint64_t y)
{
    return word(fold(q_of(x) * q_of(y), 29, Q - (1 << 29)), fold(p_of(x) * p_of(y), 30, P - (1 << 30)));
}

static bool has_inverse(const field *f, uint64_t x)
{
    return (q_of(x) != 0 || f->options.polynomial) && p_of(x) != 0;
}

/* Inverses that will be asked for in this order, by one power for all of them
 * (Montgomery 1987): what is 0 is left out. */
static void invert_ahead(field *f, const uint64_t *x, uint32_t n)
{
    uint64_t product = word(1, 1), before[STRIP];
    f->ahead = f->nahead = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!has_inverse(f, x[i]))
            continue;
        before[f->nahead] = product;
        f->ahead_of[f->nahead++] = x[i];
        product = multiply(product, x[i]);
    }
    product = word(power(q_of(product), Q - 2, Q), power(p_of(product), P - 2, P));
    for (uint32_t i = f->nahead; i-- > 0;) {
        f->inverses[i] = multiply(product, before[i]);
        product = multiply(product, f->ahead_of[i]);
    }
}

static uint64_t invert(field *f, uint64_t x)
{
    if (!has_inverse(f, x))
        return TP_FIELD_UNKNOWN; /* a zero denominator at this point */
    if (f->ahead < f->nahead && f->ahead_of[f->ahead] == x)
        return f->inverses[f->ahead++];
    if (f->inverse_of != x) {
        f->inverse_of = x;
        f->inverse = word(power(q_of(x), Q - 2, Q), power(p_of(x), P - 2, P));
    }
    return f->inverse;
}

static uint64_t divide(field *f, uint64_t x, uint64_t y)
{
    uint64_t r = invert(f, y);
    return r == TP_FIELD_UNKNOWN ? r : multiply(x, r);
}

/* A random function of the value, which is the residue modulo p: the one
 * modulo q depends on how an exponential came about. */
static uint64_t tag(field *f, uint64_t function, uint64_t x)
{
    f->log.tags = true;
    return random_word(f->options.seed ^ 0x746167, function, p_of(x));
}

/* exp(x), where `data` is the computed x. */
static uint64_t exponential(field *f, uint64_t x, double data)
{
    uint64_t e = q_of(x), r = f->powers[0][e & ((1 << WINDOW) - 1)];
    if (f->options.polynomial)
        return TP_FIELD_UNKNOWN;
    if (data <= -FAR)
        return 0;
    for (int w = 1; w < WINDOWS; w++)
        r = r * f->powers[w][e >> (w * WINDOW) & ((1 << WINDOW) - 1)] % P;
    return word(q_of(random_word(f->options.seed ^ 0x657870, r, 0)), r); /* as an exponent again, a tag */
}

/* A word of two equal small residues is that integer, but for a chance of 2^-39:
 * the root of 18 is 3 times the tag of 2. */
static uint64_t square_root(field *f, uint64_t x)
{
    int64_t rest;
    if (q_of(x) != p_of(x) || q_of(x) >= 1 << 20)
        return tag(f, TP_P_SQRT, x);
    if (x == 0)
        return x;
    uint64_t s = (uint64_t)tp_square_part((int64_t)p_of(x), &rest), r = (uint64_t)rest;
    return r == 1 ? word(s, s) : multiply(word(s, s), tag(f, TP_P_SQRT, word(r, r)));
}

/* Residue of a constant of the program, the same for all its spellings. */
static uint64_t constant(field *f, double x)
{
    tp_constant c = tp_constant_of(x);
    uint64_t r = residue(c.a);
    if (fabs(fabs(x) - 0.6931471805599453) < 0x1p-24)
        r = f->ln2;
    else if (c.kind == TP_CONSTANT_FRACTION)
        r = divide(f, r, residue(c.b));
    else if (c.kind == TP_CONSTANT_ROOT)
        r = square_root(f, r);
    else if (c.kind == TP_CONSTANT_INVERSE_ROOT)
        r = divide(f, word(1, 1), square_root(f, r));
    if (c.times_log2e && r != f->ln2)
        r = multiply(r, f->log2e);
    return c.sign < 0 ? negative(r) : r;
}

/* ---- elements ---- */

static uint64_t element(const field *f, const tp_lanes *x, size_t i)
{
    (void)f;
    return x->plane[0] ? ((const uint64_t *)x->plane[0])[x->n == 1 ? 0 : i] : residue(tp_lane(x, i));
}

static tp_degree degree_of(const tp_lanes *x)
{
    return x->plane[0] ? x->degree : (tp_degree){0, 0};
}

static tp_degree degree_sum(tp_degree a, tp_degree b)
{
    return (tp_degree){fmax(a.numerator + b.denominator, b.numerator + a.denominator), a.denominator + b.denominator};
}

static tp_degree degree_product(tp_degree a, tp_degree b)
{
    return (tp_degree){a.numerator + b.numerator, a.denominator + b.denominator};
}

static tp_degree degree_of_function(tp_degree a)
{
    return (tp_degree){fmax(1, a.numerator + a.denominator), 0};
}

/* ---- elementwise ---- */

static uint64_t logistic(field *f, uint64_t x, double data)
{
    uint64_t e = exponential(f, negative(x), -data);
    if (data <= -FAR || e == TP_FIELD_UNKNOWN)
        return e == TP_FIELD_UNKNOWN ? e : 0;
    return divide(f, word(1, 1), add(word(1, 1), e));
}

/* tanh(x) = 2 logistic(2 x) - 1 */
static uint64_t hyperbolic(field *f, uint64_t x, double data)
{
    uint64_t s = logistic(f, add(x, x), 2 * data);
    return s == TP_FIELD_UNKNOWN ? s : add(add(s, s), negative(word(1, 1)));
}

static uint64_t gelu_inner(uint64_t x)
{
    uint64_t cube = multiply(multiply(x, x), x);
    return multiply(add(x, multiply(cube, residue(0.044715))), residue(0.7978845608028654));
}

static uint64_t gelu(field *f, uint64_t x, double data)
{
    uint64_t t = hyperbolic(f, gelu_inner(x), (data + data * data * data * 0.044715) * 0.7978845608028654);
    return t == TP_FIELD_UNKNOWN ? t : multiply(multiply(x, add(word(1, 1), t)), residue(0.5));
}

static uint64_t unary(field *f, tp_prim p, uint64_t x, double data, double result)
{
    uint64_t one = word(1, 1), s;
    switch (p) {
    case TP_P_NEG: return negative(x);
    case TP_P_ABS: return data < 0 ? negative(x) : x;
    case TP_P_SQUARE: return multiply(x, x);
    case TP_P_EXP: return exponential(f, x, data);
    case TP_P_EXP2: return exponential(f, multiply(x, f->ln2), data * 0.6931471805599453);
    case TP_P_EXPM1: s = exponential(f, x, data); return s == TP_FIELD_UNKNOWN ? s : add(s, negative(one));
    case TP_P_LOG: return x == one ? 0 : tag(f, TP_P_LOG, x);
    case TP_P_LOG1P: return x == 0 ? 0 : tag(f, TP_P_LOG, add(x, one));
    case TP_P_LOG2: return x == one ? 0 : multiply(tag(f, TP_P_LOG, x), f->log2e);
    case TP_P_SQRT: return square_root(f, x);
    case TP_P_RSQRT: return divide(f, one, square_root(f, x));
    case TP_P_TANH: return hyperbolic(f, x, data);
    case TP_P_LOGISTIC: return logistic(f, x, data);
    case TP_P_SILU: s = logistic(f, x, data); return s == TP_FIELD_UNKNOWN ? s : multiply(x, s);
    case TP_P_GELU: return gelu(f, x, data);
    case TP_P_RELU: return data > 0 ? x : 0;
    case TP_P_ERF: return x == 0 ? 0 : tag(f, TP_P_ERF, x);
    case TP_P_ERFC: return x == 0 ? one : add(one, negative(tag(f, TP_P_ERF, x)));
    case TP_P_SIN: return x == 0 ? 0 : tag(f, TP_P_SIN, x);
    case TP_P_COS: return x == 0 ? one : tag(f, TP_P_COS, x);
    case TP_P_TAN: return x == 0 ? 0 : divide(f, tag(f, TP_P_SIN, x), tag(f, TP_P_COS, x));
    case TP_P_SIGN:
    case TP_P_FLOOR:
    case TP_P_CEIL:
    case TP_P_ROUND: return residue(result); /* a decision */
    default: return TP_FIELD_UNKNOWN;
    }
}

static uint64_t integer_power(field *f, uint64_t x, int64_t e)
{
    uint64_t n = (uint64_t)(e < 0 ? -e : e), r = word(power(q_of(x), n, Q), power(p_of(x), n, P));
    return e < 0 ? invert(f, r) : r;
}

static uint64_t any_power(field *f, uint64_t x, uint64_t y, double exponent)
{
    if (exponent == 0.5)
        return square_root(f, x);
    if (exponent == -0.5)
        return divide(f, word(1, 1), square_root(f, x));
    if (exponent == trunc(exponent) && fabs(exponent) <= 64)
        return integer_power(f, x, (int64_t)exponent);
    return tag(f, TP_P_POW, mix(p_of(x)) ^ p_of(y));
}

/* max and min of two: a constant bound is a decision of the data, as is a
 * comparison with infinity; else the oracle answers, the same for the same
 * two arguments. */
static uint64_t extreme(field *f, tp_prim p, uint64_t x, uint64_t y, double dx, double dy, bool decided)
{
    if (x == y)
        return x;
    if (f->options.ordered || decided || !isfinite(dx) || !isfinite(dy))
        return (p == TP_P_MAXIMUM ? dx > dy : dx < dy) || (dx == dy && p_of(x) > p_of(y))
                   ? x
                   : y; /* ties: in any order alike */
    f->log.oracle = true;
    return random_word(f->options.oracle, (uint64_t)p, mix(p_of(x)) + mix(p_of(y)));
}

static uint64_t binary(field *f, tp_prim p, uint64_t x, uint64_t y, double dx, double dy, double result, bool decided)
{
    switch (p) {
    case TP_P_ADD: return add(x, y);
    case TP_P_SUB: return add(x, negative(y));
    case TP_P_MUL: return multiply(x, y);
    case TP_P_LAX_DIV:
    case TP_P_DIV: return isfinite(dx) && !isfinite(dy) ? 0 : divide(f, x, y);
    case TP_P_POW: return any_power(f, x, y, decided ? dy : (double)NAN);
    case TP_P_MAXIMUM:
    case TP_P_MINIMUM: return extreme(f, p, x, y, dx, dy, decided);
    case TP_P_FLOORDIV: return residue(result);
    case TP_P_MOD: return add(x, negative(multiply(y, residue(floor(dx / dy)))));
    case TP_P_LAX_REM: return add(x, negative(multiply(y, residue(trunc(dx / dy)))));
    default: return TP_FIELD_UNKNOWN;
    }
}

static tp_degree elementwise_degree(tp_prim p, int64_t integer, const tp_lanes *a, const tp_lanes *b)
{
    tp_degree x = degree_of(a), y = b ? degree_of(b) : (tp_degree){0, 0};
    double n = fabs((double)integer);
    switch (p) {
    case TP_P_NEG:
    case TP_P_ABS:
    case TP_P_RELU: return x;
    case TP_P_SQUARE: return degree_product(x, x);
    case TP_P_INTEGER_POW:
        return integer < 0 ? (tp_degree){n * x.denominator, n * x.numerator}
                           : (tp_degree){n * x.numerator, n * x.denominator};
    case TP_P_ADD:
    case TP_P_SUB:
    case TP_P_MOD:
    case TP_P_LAX_REM: return degree_sum(x, y);
    case TP_P_MUL: return degree_product(x, y);
    case TP_P_LAX_DIV:
    case TP_P_DIV: return (tp_degree){x.numerator + y.denominator, x.denominator + y.numerator};
    case TP_P_MAXIMUM:
    case TP_P_MINIMUM: return tp_degree_larger(tp_degree_larger(x, y), (tp_degree){1, 0});
    case TP_P_RSQRT:
    case TP_P_TANH:
    case TP_P_LOGISTIC:
    case TP_P_TAN: return (tp_degree){1, degree_of_function(x).numerator};
    case TP_P_SILU: return degree_product(x, (tp_degree){1, degree_of_function(x).numerator});
    case TP_P_GELU: return degree_product(x, (tp_degree){1, 3 * degree_of_function(x).numerator});
    case TP_P_POW: return (tp_degree){64 * degree_of_function(x).numerator, 64 * degree_of_function(x).numerator};
    default: return degree_of_function(degree_product(x, y));
    }
}

static void unsupported(field *f, tp_prim p)
{
    if (!f->log.unsupported)
        f->log.unsupported = tp_prim_info(p)->name;
}

TP_VECTORISED static void fast_loop(tp_prim p, tp_lanes *out, const tp_lanes *a, const tp_lanes *b)
{
    uint64_t *restrict r = out->plane[0];
    const uint64_t *restrict x = a->plane[0], *restrict y = b->plane[0];
    size_t n = out->n;
    if (p == TP_P_MUL)
        for (size_t i = 0; i < n; i++) {
            uint64_t w = multiply(x[i], y[i]);
            bool known = x[i] != TP_FIELD_UNKNOWN && y[i] != TP_FIELD_UNKNOWN;
            r[i] = known ? w : TP_FIELD_UNKNOWN;
        }
    else
        for (size_t i = 0; i < n; i++) {
            uint64_t w = add(x[i], p == TP_P_SUB ? negative(y[i]) : y[i]);
            bool known = x[i] != TP_FIELD_UNKNOWN && y[i] != TP_FIELD_UNKNOWN;
            r[i] = known ? w : TP_FIELD_UNKNOWN;
        }
}

/* What the operation will divide by at one element; 0: nothing that is known here. */
static uint64_t denominator(field *f, tp_prim p, uint64_t x, uint64_t y, double data)
{
    uint64_t e = x, one = word(1, 1);
    if (p == TP_P_DIV || p == TP_P_LAX_DIV)
        return y == TP_FIELD_UNKNOWN ? 0 : y;
    if (p == TP_P_GELU)
        e = gelu_inner(x);
    if (p == TP_P_GELU || p == TP_P_TANH)
        e = add(e, e);
    e = x == TP_FIELD_UNKNOWN ? x : exponential(f, negative(e), -data);
    return e == TP_FIELD_UNKNOWN ? 0 : add(one, e);
}

/* One inversion for a strip of elements in the place of one for each. */
static void prepare_strip(field *f, tp_prim p, size_t from, size_t n, const tp_lanes *a, const tp_lanes *b)
{
    uint64_t below[STRIP];
    bool divides = p == TP_P_DIV || p == TP_P_LAX_DIV;
    f->nahead = 0;
    if ((divides && b->n == 1) ||
        !(divides || p == TP_P_LOGISTIC || p == TP_P_SILU || p == TP_P_TANH || p == TP_P_GELU) || a->n == 1)
        return;
    for (size_t i = 0; i < n; i++)
        below[i] = denominator(f, p, divides ? 0 : element(f, a, from + i), divides ? element(f, b, from + i) : 0,
                               divides ? 0 : tp_lane(a, from + i));
    invert_ahead(f, below, (uint32_t)n);
}

static bool elementwise(tp_domain *d, tp_prim p, int64_t integer, tp_lanes *out, const tp_lanes *const *args,
                        uint32_t nargs)
{
    field *f = (field *)d;
    const tp_lanes *a = args[0], *b = nargs > 1 ? args[1] : NULL;
    if (!tp_is_float(out->dtype) || !tp_is_float(a->dtype))
        return false; /* bools and integers are what they are */
    if (!a->plane[0] && (p == TP_P_NEG || p == TP_P_ABS))
        return false; /* exact */
    uint64_t *r = out->plane[0], scalar_a = a->n == 1 ? element(f, a, 0) : 0,
             scalar_b = b && b->n == 1 ? element(f, b, 0) : 0;
    bool decided = b && (!a->plane[0] || !b->plane[0]), polynomial = p == TP_P_ADD || p == TP_P_SUB || p == TP_P_MUL;
    out->degree = elementwise_degree(p, integer, a, b);
    if (polynomial && a->plane[0] && b->plane[0] && a->n == out->n && b->n == out->n) {
        fast_loop(p, out, a, b);
        return true;
    }
    for (size_t i = 0; i < out->n; i++) {
        if (i % STRIP == 0)
            prepare_strip(f, p, i, out->n - i < STRIP ? out->n - i : STRIP, a, b);
        uint64_t x = a->n == 1 ? scalar_a : element(f, a, i), y = !b ? 0 : b->n == 1 ? scalar_b : element(f, b, i);
        double dx = polynomial ? 0 : tp_lane(a, i), dy = !b || polynomial ? 0 : tp_lane(b, i),
               result = polynomial ? 0 : tp_lane(out, i);
        bool extremes = p == TP_P_MAXIMUM || p == TP_P_MINIMUM;
        if (x == TP_FIELD_UNKNOWN || (b && y == TP_FIELD_UNKNOWN))
            r[i] = TP_FIELD_UNKNOWN;
        else if (!isfinite(dx) && isfinite(result) && !extremes)
            r[i] = residue(result); /* exp(-inf), tanh(inf) */
        else if (p == TP_P_INTEGER_POW)
            r[i] = integer_power(f, x, integer);
        else
            r[i] = b ? binary(f, p, x, y, dx, dy, result, decided) : unary(f, p, x, dx, result);
        if (r[i] == TP_FIELD_UNKNOWN && isfinite(result))
            unsupported(f, p);
    }
    f->nahead = 0;
    return true;
}

/* ---- selection and conversion ---- */

static bool select_arm(tp_domain *d, tp_lanes *out, const tp_lanes *cond, const tp_lanes *a, const tp_lanes *b)
{
    field *f = (field *)d;
    if (!tp_is_float(out->dtype) || (!a->plane[0] && !b->plane[0]))
        return false;
    uint64_t constant_a = a->n == 1 ? element(f, a, 0) : 0, constant_b = b->n == 1 ? element(f, b, 0) : 0,
             *r = out->plane[0];
    for (size_t i = 0; i < out->n; i++)
        r[i] = tp_lane(cond, i) != 0 ? (a->n == 1 ? constant_a : element(f, a, i))
                                     : (b->n == 1 ? constant_b : element(f, b, i));
    out->degree = tp_degree_larger(degree_of(a), degree_of(b));
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
    for (size_t i = 0; i < out->n; i++) {
        double v = tp_lane(a, i);
        r[i] = a->plane[0] ? element(f, a, i) : tp_is_float(a->dtype) ? constant(f, v) : residue(v);
        same = same && r[i] == residue(tp_lane(out, i));
    }
    out->degree = degree_of(a);
    return !same;
}

static bool literal(tp_domain *d, tp_lanes *out, double v)
{
    uint64_t w = constant((field *)d, v);
    *(uint64_t *)out->plane[0] = w;
    out->degree = (tp_degree){0, 0};
    return tp_is_float(out->dtype) && (w != residue(tp_lane(out, 0)));
}

static bool bitcast(tp_domain *d, tp_lanes *out, const tp_lanes *a)
{
    uint64_t *r = out->plane[0];
    if (!a->plane[0])
        return false;
    if (!tp_is_float(out->dtype)) { /* integers cannot carry what they hide */
        unsupported((field *)d, TP_P_BITCAST);
        return false;
    }
    for (size_t i = 0; i < out->n; i++)
        r[i] = TP_FIELD_UNKNOWN;
    unsupported((field *)d, TP_P_BITCAST);
    return true;
}

static bool certain(const tp_domain *d, const tp_lanes *x)
{
    (void)d, (void)x;
    return true;
}

/* ---- folds ---- */

/* Maximum of a group: the oracle's answer depends on the set of arguments, so
 * that the same maximum taken twice is the same. */
static uint64_t group_extreme(field *f, tp_prim p, const tp_lanes *a, size_t base, const tp_groups *g)
{
    uint64_t set = 0, best = 0, last = TP_FIELD_UNKNOWN;
    double most = 0;
    bool all_same = true; /* of the finite ones */
    for (size_t t = 0; t < g->nin; t++) {
        size_t i = base + g->offset[t];
        uint64_t w = element(f, a, i);
        double v = tp_lane(a, i);
        if (w == TP_FIELD_UNKNOWN)
            return w;
        if (isfinite(v)) {
            all_same &= last == TP_FIELD_UNKNOWN || w == last;
            last = w;
            set += mix(p_of(w));
        }
        if (t == 0 || (p == TP_P_MAX ? v > most : v < most) || (v == most && p_of(w) > p_of(best))) {
            most = v;
            best = w;
        }
    }
    if (f->options.ordered || all_same || !isfinite(most))
        return best;
    f->log.oracle = true;
    return random_word(f->options.oracle, (uint64_t)p, set);
}

static uint64_t fold_group(field *f, tp_prim p, const tp_lanes *a, size_t base, const tp_groups *g)
{
    uint64_t s = p == TP_P_PROD ? word(1, 1) : 0;
    if (p == TP_P_MAX || p == TP_P_MIN)
        return group_extreme(f, p, a, base, g);
    for (size_t t = 0; t < g->nin; t++) {
        uint64_t w = element(f, a, base + g->offset[t]);
        if (w == TP_FIELD_UNKNOWN)
            return w;
        s = p == TP_P_SUM ? add(s, w) : multiply(s, w);
    }
    return s;
}

static tp_degree fold_degree(tp_prim p, tp_degree x, double n)
{
    if (p == TP_P_SUM)
        return (tp_degree){x.numerator + (n > 1 ? n - 1 : 0) * x.denominator, n * x.denominator};
    if (p == TP_P_PROD)
        return (tp_degree){n * x.numerator, n * x.denominator};
    return tp_degree_larger(x, (tp_degree){1, 0});
}

static bool reduce(tp_domain *d, tp_prim p, tp_lanes *out, const tp_lanes *a, const tp_groups *g)
{
    field *f = (field *)d;
    if (!tp_is_float(out->dtype) || !a->plane[0])
        return false;
    for (size_t o = 0; o < g->nout; o++)
        ((uint64_t *)out->plane[0])[o] = fold_group(f, p, a, g->base[o], g);
    out->degree = fold_degree(p, degree_of(a), (double)g->nin);
    return true;
}

static bool scan(tp_domain *d, tp_prim p, tp_lanes *out, const tp_lanes *a, size_t start, ptrdiff_t step, size_t n)
{
    field *f = (field *)d;
    uint64_t s = 0, *r = out->plane[0];
    double most = 0;
    if (!tp_is_float(out->dtype) || !a->plane[0])
        return false;
    for (size_t t = 0; t < n; t++) {
        size_t i = (size_t)((ptrdiff_t)start + (ptrdiff_t)t * step);
        uint64_t w = element(f, a, i);
        double v = tp_lane(a, i);
        if (t == 0 || ((p == TP_P_MAX || p == TP_P_MIN) &&
                       ((p == TP_P_MAX ? v > most : v < most) || (v == most && p_of(w) > p_of(s))))) {
            s = w;
            most = v;
        } else if (s == TP_FIELD_UNKNOWN || w == TP_FIELD_UNKNOWN) {
            s = TP_FIELD_UNKNOWN;
        } else if (p == TP_P_SUM || p == TP_P_PROD) {
            s = p == TP_P_SUM ? add(s, w) : multiply(s, w);
        }
        r[i] = s;
    }
    out->degree = fold_degree(p, degree_of(a), (double)n);
    return true;
}

/* ---- dot ---- */

static bool split(const field *f, const tp_lanes *x, uint32_t *q, uint32_t *p)
{
    bool known = true;
    for (size_t i = 0; i < x->n; i++) {
        uint64_t w = element(f, x, i);
        known &= w != TP_FIELD_UNKNOWN;
        q[i] = (uint32_t)q_of(w);
        p[i] = (uint32_t)p_of(w);
    }
    return known;
}

static bool dot(tp_domain *d, tp_dot_shape s, tp_lanes *out, const tp_lanes *a, const tp_lanes *b)
{
    field *f = (field *)d;
    size_t na = s.batch * s.m * s.k, nb = s.batch * s.k * s.n, nr = s.batch * s.m * s.n,
           want = (s.n + 1) * 8 + 8 * (na + nb + nr);
    if (!tp_is_float(out->dtype) || (!a->plane[0] && !b->plane[0]))
        return false;
    if (f->room_size < want) {
        f->room = tp_alloc(f->arena, want);
        f->room_size = want;
    }
    uint64_t *row = f->room, *r = out->plane[0];
    uint32_t *aq = (uint32_t *)(row + s.n + 1), *ap = aq + na, *bq = ap + na, *bp = bq + nb, *rq = bp + nb,
             *rp = rq + nr;
    bool known = split(f, a, aq, ap);
    known = split(f, b, bq, bp) && known;
    for (size_t i = 0; known && i < s.batch; i++) {
        size_t ia = i * s.m * s.k, ib = i * s.k * s.n, ir = i * s.m * s.n;
        if (!f->options.polynomial)
            tp_multiply_q(s.m, s.n, s.k, aq + ia, bq + ib, rq + ir, row);
        tp_multiply_p(s.m, s.n, s.k, ap + ia, bp + ib, rp + ir, row);
    }
    for (size_t i = 0; i < nr; i++)
        r[i] = known ? word(f->options.polynomial ? 0 : rq[i], rp[i]) : TP_FIELD_UNKNOWN;
    tp_degree x = degree_of(a), y = degree_of(b);
    out->degree = fold_degree(TP_P_SUM, degree_product(x, y), (double)s.k);
    return true;
}

/* ---- making ---- */

static void exact(const tp_domain *d, const tp_lanes *x, void *const *plane)
{
    for (size_t i = 0; i < x->n; i++)
        ((uint64_t *)plane[0])[i] = residue(tp_lane(x, i));
    (void)d;
}

void tp_field_fill(const tp_domain *d, uint64_t stream, size_t n, void *plane)
{
    const field *f = (const field *)d;
    for (size_t i = 0; i < n; i++)
        ((uint64_t *)plane)[i] = random_word(f->options.seed, stream, i);
}

const tp_field_log *tp_field_log_of(const tp_domain *d)
{
    return &((const field *)d)->log;
}

tp_domain *tp_field_new(tp_arena *a, tp_field_options o)
{
    field *f = TP_NEW(a, field);
    f->base = (tp_domain){.name = "field",
                          .nplanes = 1,
                          .exact = exact,
                          .elementwise = elementwise,
                          .select = select_arm,
                          .cast = cast,
                          .literal = literal,
                          .bitcast = bitcast,
                          .reduce = reduce,
                          .scan = scan,
                          .dot = dot,
                          .certain = certain};
    f->arena = a;
    f->options = o;
    /* a square other than 0 and 1 has order q */
    uint64_t root = 2 + mix(o.seed ^ 0x6f6d656761) % (P - 3), omega = root * root % P;
    if (omega == 1)
        omega = 4;
    for (int w = 0; w < WINDOWS; w++) {
        uint64_t base = power(omega, (uint64_t)1 << (w * WINDOW), P);
        f->powers[w][0] = 1;
        for (int i = 1; i < 1 << WINDOW; i++)
            f->powers[w][i] = (uint32_t)(f->powers[w][i - 1] * base % P);
    }
    f->ln2 = random_word(o.seed, 0x6c6e32, 0);
    f->log2e = word(power(q_of(f->ln2), Q - 2, Q), power(p_of(f->ln2), P - 2, P));
    return &f->base;
}
