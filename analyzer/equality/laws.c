/* Laws of operations. */
#include "analyzer/equality/sum.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_SPLITS = 4, MAX_POWER = 8 };

static uint32_t power(summary *s, uint32_t x, int64_t n);

/* Is the product n log(u), for a u above 0? */
static bool is_logarithm(summary *s, const product *p, uint32_t *u)
{
    if (p->nguards || p->exponent || p->den != 1 || p->nfactors != 1 || p->factor[0].power != 1 ||
        llabs(p->num) > MAX_POWER)
        return false;
    const atom a = *atom_get(s, p->factor[0].atom);
    *u = a.arg[0];
    return a.kind == ATOM_APPLY && a.prim == TP_P_LOG && sum_is_positive(s, a.arg[0]);
}

/* exp(rest + n log(u)) = u^n exp(rest) */
static uint32_t exponential(summary *s, uint32_t x)
{
    const sum a = *sum_get(s, sum_prefixes(s, x));
    uint32_t r = sum_constant(s, 1), u, n = 0;
    product *rest = TP_NEWN(s->arena, product, a.n + 1), p = product_of(1, 1);
    for (uint32_t i = 0; i < a.n; i++)
        if (is_logarithm(s, &a.at[i], &u))
            r = sum_multiply(s, r, power(s, u, a.at[i].num));
        else
            rest[n++] = a.at[i];
    if (n == 0)
        return r;
    p.exponent = sum_from(s, rest, n);
    return sum_multiply(s, r, sum_intern(s, &p, 1));
}

/* The part of the exponents that all products share; 0: there is none. */
static uint32_t common_exponent(summary *s, const sum *a)
{
    if (a->n == 0 || !a->at[0].exponent)
        return 0;
    const sum first = *sum_get(s, a->at[0].exponent);
    product *at = TP_NEWN(s->arena, product, first.n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < first.n; i++) {
        bool all = true;
        for (uint32_t k = 1; k < a->n && all; k++) {
            const sum e = a->at[k].exponent ? *sum_get(s, a->at[k].exponent) : (sum){NULL, 0};
            all = false;
            for (uint32_t m = 0; m < e.n; m++)
                all |= memcmp(&e.at[m], &first.at[i], sizeof *e.at) == 0;
        }
        if (all)
            at[n++] = first.at[i];
    }
    return n ? sum_from(s, at, n) : 0;
}

/* 1 / (1 / x) has no value where x is 0. */
static void must_not_turn(summary *s, const product *p)
{
    for (uint32_t i = 0; s->strict && i < p->nfactors; i++) {
        product alone = product_of(1, 1);
        product_factor(s, &alone, p->factor[i].atom, -1);
        if (p->factor[i].power < 0 && !product_is_defined(s, &alone))
            summary_stop(s, TP_S("something that may be undefined cancels"));
    }
}

static uint32_t inverse(summary *s, uint32_t x)
{
    const sum a = *sum_get(s, x);
    uint32_t common = a.n > 1 ? common_exponent(s, &a) : 0, share = common ? 0 : sum_share(s, x);
    if (share)
        return share;
    if (common) { /* 1 / (exp(c) rest) = exp(-c) / rest */
        uint32_t less = sum_exponential(s, sum_add(s, sum_constant(s, 0), common, -1));
        return sum_multiply(s, less, sum_inverse(s, sum_multiply(s, less, x)));
    }
    if (a.n == 1 && a.at[0].nguards == 0) {
        product p = product_of(a.at[0].den, a.at[0].num);
        must_not_turn(s, &a.at[0]);
        product_reduce(s, &p);
        for (uint32_t i = 0; i < a.at[0].nfactors; i++)
            product_factor(s, &p, a.at[0].factor[i].atom, -a.at[0].factor[i].power);
        if (a.at[0].exponent)
            p.exponent = sum_add(s, sum_constant(s, 0), a.at[0].exponent, -1);
        return sum_intern(s, &p, 1);
    }
    return sum_of_atom(s, &(atom){.kind = ATOM_INVERSE, .arg = {x}}, 1);
}

static uint32_t power(summary *s, uint32_t x, int64_t n)
{
    uint32_t r = sum_constant(s, 1);
    if (n < -MAX_POWER || n > MAX_POWER)
        sum_too_large(s);
    if (n == 0 && s->strict && !sum_is_defined(s, x))
        summary_stop(s, TP_S("something that may be undefined cancels"));
    for (int64_t k = 0; k < (n < 0 ? -n : n); k++)
        r = sum_multiply(s, r, x);
    return n < 0 ? sum_inverse(s, r) : r;
}

static uint32_t one_logarithm(summary *s, uint32_t x)
{
    int64_t num, den;
    if (sum_is_fraction(s, x, &num, &den) && num == den)
        return sum_constant(s, 0);
    return sum_of_atom(s, &(atom){.kind = ATOM_APPLY, .prim = TP_P_LOG, .arg = {x}}, 1);
}

/* log(exp(e) * u^n * rest) = e + n log(u) + log(rest), for a u above 0 */
static uint32_t logarithm(summary *s, uint32_t x)
{
    const sum a = *sum_get(s, x);
    uint32_t of_two = sum_logarithm_of_two(s, x);
    if (of_two)
        return of_two;
    if (a.n != 1 || a.at[0].nguards)
        return one_logarithm(s, x);
    product rest = a.at[0];
    uint32_t r = rest.exponent ? rest.exponent : sum_constant(s, 0);
    rest.exponent = 0;
    for (uint32_t i = rest.nfactors; i-- > 0;) {
        const factor f = rest.factor[i];
        const atom u = *atom_get(s, f.atom);
        uint32_t alone = sum_of_atom(s, &u, 1);
        if (f.power == 1 || !sum_is_positive(s, alone))
            continue;
        r = sum_add(s, r, one_logarithm(s, alone), f.power);
        rest = product_without(&rest, i);
    }
    return sum_add(s, r, one_logarithm(s, sum_intern(s, &rest, 1)), 1);
}

static uint32_t literal(summary *s, double v)
{
    return sum_of_term(s, term_real(s, v));
}

static uint32_t opaque(summary *s, tp_prim prim, int64_t exponent, const uint32_t *arg, uint32_t nargs)
{
    static const struct {
        tp_prim from, to;
    } TURNED[] = {{TP_P_GT, TP_P_LT}, {TP_P_GE, TP_P_LE}};
    atom a = {.kind = ATOM_APPLY, .prim = prim, .e = tp_const(s->p, exponent)};
    for (uint32_t i = 0; i < nargs; i++)
        a.arg[i] = arg[i];
    bool turn = false, symmetric = prim == TP_P_MAXIMUM || prim == TP_P_MINIMUM || prim == TP_P_EQ || prim == TP_P_NE;
    for (int i = 0; i < 2; i++)
        if (prim == TURNED[i].from) {
            a.prim = TURNED[i].to;
            turn = true;
        }
    if (turn || (symmetric && arg[0] > arg[1])) {
        a.arg[0] = arg[1];
        a.arg[1] = arg[0];
    }
    return sum_of_atom(s, &a, 1);
}

/* x^y for y a whole or half of a small constant, and powers of 2. */
static uint32_t any_power(summary *s, uint32_t x, uint32_t y)
{
    const uint32_t arg[] = {x, y};
    int64_t num, den;
    if (sum_is_fraction(s, y, &num, &den) && den == 1 && llabs(num) <= MAX_POWER)
        return power(s, x, num);
    if (sum_is_fraction(s, y, &num, &den) && den == 2 && llabs(num) == 1)
        return power(s, sum_square_root(s, x), num);
    if (sum_is_fraction(s, x, &num, &den) && num == 2 && den == 1)
        return sum_exponential(s, sum_log2e(s, y, -1));
    return opaque(s, TP_P_POW, 0, arg, 2);
}

/* x log2(e)^n, for a number of which only that it is above 0 is known. */
uint32_t sum_log2e(summary *s, uint32_t x, int n)
{
    return sum_multiply(s, x, sum_of_atom(s, &(atom){.kind = ATOM_REAL, .real = 1.4426950408889634, .number = 1}, n));
}

/* Of an odd function (sign -1) or an even one (1): by its value at -x, where x begins with a negative factor; else 0.
 */
static uint32_t of_opposite(summary *s, tp_prim prim, uint32_t x, int sign)
{
    const uint32_t opposite = sum_add(s, sum_constant(s, 0), x, -1);
    if (!sum_leads_below_0(s, x))
        return 0;
    return sum_add(s, sum_constant(s, 0), opaque(s, prim, 0, &opposite, 1), sign);
}

static uint32_t by_meaning(summary *s, tp_prim prim, int64_t exponent, const uint32_t *arg, uint32_t nargs)
{
    uint32_t one = sum_constant(s, 1), x = arg[0], r = 0;
    switch (prim) {
    case TP_P_EXP: return sum_exponential(s, x);
    case TP_P_EXP2: return sum_exponential(s, sum_log2e(s, x, -1));
    case TP_P_EXPM1: return sum_add(s, sum_exponential(s, x), one, -1);
    case TP_P_LOG: return logarithm(s, x);
    case TP_P_LOG2: return sum_log2e(s, logarithm(s, x), 1);
    case TP_P_LOG1P: return logarithm(s, sum_add(s, one, x, 1));
    case TP_P_SQRT: return sum_square_root(s, x);
    case TP_P_POW: return any_power(s, x, arg[1]);
    case TP_P_RSQRT: return sum_inverse(s, sum_square_root(s, x));
    case TP_P_LOGISTIC:
        return sum_inverse(s, sum_add(s, one, sum_exponential(s, sum_add(s, sum_constant(s, 0), x, -1)), 1));
    case TP_P_SILU: return sum_multiply(s, x, by_meaning(s, TP_P_LOGISTIC, 0, arg, 1));
    case TP_P_GELU: {
        uint32_t cubic = sum_multiply(s, power(s, x, 3), literal(s, SUMMARY_GELU_CUBE)),
                 inner[] = {sum_multiply(s, sum_add(s, x, cubic, 1), literal(s, SUMMARY_GELU_SCALE))};
        uint32_t outer = sum_add(s, one, sum_apply(s, TP_P_TANH, 0, inner, 1, 0), 1);
        return sum_multiply(s, sum_multiply(s, x, outer), sum_inverse(s, sum_constant(s, 2)));
    }
    case TP_P_RELU: {
        const uint32_t both[] = {x, sum_constant(s, 0)};
        return by_meaning(s, TP_P_MAXIMUM, 0, both, 2);
    }
    case TP_P_ERF:
    case TP_P_SIN:
    case TP_P_TAN: r = of_opposite(s, prim, x, -1); break;
    case TP_P_COS: r = of_opposite(s, prim, x, 1); break;
    case TP_P_ERFC: return sum_add(s, one, by_meaning(s, TP_P_ERF, 0, arg, 1), -1);
    case TP_P_TANH: /* 1 - 2 / (1 + exp(2 x)) */
        r = sum_inverse(s, sum_add(s, one, sum_exponential(s, sum_add(s, x, x, 1)), 1));
        return sum_add(s, one, r, -2);
    case TP_P_MAXIMUM:
    case TP_P_MINIMUM: r = sum_extreme(s, prim, x, arg[1]); break;
    case TP_P_ABS: r = sum_is_free(s, x) ? sum_absolute(s, x) : 0; break;
    case TP_P_SIGN: r = sum_sign_of(s, x); break;
    case TP_P_INTEGER_POW: return power(s, x, exponent);
    case TP_P_SQUARE: return sum_multiply(s, x, x);
    case TP_P_LT:
    case TP_P_LE:
    case TP_P_GT:
    case TP_P_GE:
    case TP_P_EQ:
    case TP_P_NE: r = sum_compare(s, prim, x, arg[1]); break;
    case TP_P_ADD: /* sums and products by now, sum_of_term() */
    case TP_P_SUB:
    case TP_P_MUL:
    case TP_P_DIV:
    case TP_P_NEG:
    case TP_P_AND:
    case TP_P_OR:
    case TP_P_INVERT:
    case TP_P_FLOOR: /* no law */
    case TP_P_CEIL:
    case TP_P_ROUND:
    case TP_P_IS_FINITE:
    case TP_P_FLOORDIV:
    case TP_P_MOD:
    case TP_P_LAX_DIV:
    case TP_P_LAX_REM:
    case TP_P_XOR:
    case TP_P_SHL:
    case TP_P_SHR:
    case TP_P_SHR_LOGICAL:
#define IMMEDIATE(...)
#define STRUCT(id, ...) case TP_P_##id:
#include "spec/prims.def"
    case TP_PRIMS: break;
    }
    return r ? r : opaque(s, prim, exponent, arg, nargs);
}

/* An operation that is not linear: guards in its arguments are decided first. */
static uint32_t apply(summary *s, tp_prim prim, int64_t exponent, const uint32_t *arg, uint32_t nargs, int depth)
{
    for (uint32_t i = 0; i < nargs; i++) {
        tp_expr guard = sum_some_guard(s, arg[i]);
        if (!guard.id)
            continue;
        if (depth == MAX_SPLITS)
            sum_too_large(s);
        uint32_t yes[3], no[3];
        for (uint32_t k = 0; k < nargs; k++) {
            yes[k] = sum_where_guard(s, arg[k], guard, true);
            no[k] = sum_where_guard(s, arg[k], guard, false);
        }
        return sum_choose(s, guard, sum_apply(s, prim, exponent, yes, nargs, depth + 1),
                          sum_apply(s, prim, exponent, no, nargs, depth + 1));
    }
    return by_meaning(s, prim, exponent, arg, nargs);
}

static bool reduced(summary *s, const product *p, uint32_t *out)
{
    for (uint32_t i = 0; i < p->nfactors; i++) {
        const atom a = *atom_get(s, p->factor[i].atom);
        if (atom_is_sign(s, &a) && reduce_sign(s, p, i, out))
            return true;
        if (a.kind == ATOM_INVERSE && reduce_share(s, p, i, out))
            return true;
        if (a.kind == ATOM_APPLY && a.prim == TP_P_SQRT && reduce_root(s, p, i, out))
            return true;
    }
    return false;
}

const struct sum_laws sum_laws = {law_is_defined, reduced, exponential, inverse, apply};
