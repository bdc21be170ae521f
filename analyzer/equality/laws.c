/* Laws of operations, and normal forms from terms. */
#include "analyzer/equality/sum.h"
#include "base/checked.h"
#include "spec/constants.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_SPLITS = 4, MAX_POWER = 8 };

/* ---- laws ---- */

/* A guard in x: what is not linear looks at both cases. No id: there is none. */
static tp_expr sum_some_guard(summary *s, uint32_t x)
{
    const sum *a = sum_get(s, x);
    for (uint32_t i = 0; i < a->n; i++)
        if (a->at[i].nguards)
            return a->at[i].guard[0];
    return (tp_expr){0};
}

/* x where the guard holds, or does not. */
uint32_t sum_where_guard(summary *s, uint32_t x, tp_expr guard, bool holds)
{
    const sum a = *sum_get(s, x);
    tp_expr yes = condition_normal(s, guard, !holds), no = condition_normal(s, guard, holds);
    product *at = TP_NEWN(s->arena, product, a.n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < a.n; i++) {
        product p = a.at[i];
        bool is_0 = false;
        p.nguards = 0;
        for (uint32_t g = 0; g < a.at[i].nguards; g++) {
            is_0 |= tp_same(a.at[i].guard[g], no);
            if (!tp_same(a.at[i].guard[g], yes))
                p.guard[p.nguards++] = a.at[i].guard[g];
        }
        if (!is_0)
            at[n++] = p;
    }
    return sum_from(s, at, n);
}

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
uint32_t sum_exponential(summary *s, uint32_t x)
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

uint32_t sum_inverse(summary *s, uint32_t x)
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

/* log(exp(e) * rest) = e + log(rest) */
static uint32_t logarithm(summary *s, uint32_t x)
{
    const sum a = *sum_get(s, x);
    uint32_t of_two = sum_logarithm_of_two(s, x);
    if (of_two)
        return of_two;
    if (a.n != 1 || !a.at[0].exponent || a.at[0].nguards)
        return sum_of_atom(s, &(atom){.kind = ATOM_APPLY, .prim = TP_P_LOG, .arg = {x}}, 1);
    product rest = a.at[0];
    rest.exponent = 0;
    return sum_add(s, a.at[0].exponent, logarithm(s, sum_intern(s, &rest, 1)), 1);
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

/* Is x a product of even powers alone? */
static bool halved(const summary *s, uint32_t x, product *half)
{
    const sum a = *sum_get(s, x);
    if (a.n != 1 || a.at[0].nguards || a.at[0].exponent || a.at[0].num != 1 || a.at[0].den != 1 ||
        a.at[0].nfactors == 0)
        return false;
    *half = a.at[0];
    for (uint32_t i = 0; i < half->nfactors; i++) {
        if (half->factor[i].power % 2 != 0)
            return false;
        half->factor[i].power /= 2;
    }
    return true;
}

/* Of a constant a / b: the square part of a b leaves the root. */
uint32_t sum_square_root(summary *s, uint32_t x)
{
    int64_t num, den, n, rest;
    product half;
    if (halved(s, x, &half)) /* sqrt(x^2) = |x| */
        return sum_absolute(s, sum_intern(s, &half, 1));
    if (!sum_is_fraction(s, x, &num, &den) || num < 1 || !tp_mul(num, den, &n) || n >= (int64_t)1 << 40)
        return opaque(s, TP_P_SQRT, 0, &x, 1);
    product p = product_of(tp_square_part(n, &rest), den);
    product_reduce(s, &p);
    uint32_t outside = sum_intern(s, &p, 1), inside = sum_constant(s, rest);
    return rest == 1 ? outside : sum_multiply(s, outside, opaque(s, TP_P_SQRT, 0, &inside, 1));
}

/* x^y for y a whole or half of a small constant. */
static uint32_t any_power(summary *s, uint32_t x, uint32_t y)
{
    const uint32_t arg[] = {x, y};
    int64_t num, den;
    if (sum_is_fraction(s, y, &num, &den) && den == 1 && llabs(num) <= MAX_POWER)
        return power(s, x, num);
    if (sum_is_fraction(s, y, &num, &den) && den == 2 && llabs(num) == 1)
        return power(s, sum_square_root(s, x), num);
    return opaque(s, TP_P_POW, 0, arg, 2);
}

/* x log2(e)^n, for a number of which only that it is above 0 is known. */
uint32_t sum_log2e(summary *s, uint32_t x, int n)
{
    return sum_multiply(s, x, sum_of_atom(s, &(atom){.kind = ATOM_REAL, .real = 1.4426950408889634, .number = 1}, n));
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
        uint32_t outer = sum_add(s, one, sum_applied(s, TP_P_TANH, 0, inner, 1, 0), 1);
        return sum_multiply(s, sum_multiply(s, x, outer), sum_inverse(s, sum_constant(s, 2)));
    }
    case TP_P_RELU: {
        const uint32_t both[] = {x, sum_constant(s, 0)};
        return by_meaning(s, TP_P_MAXIMUM, 0, both, 2);
    }
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
    case TP_P_NE: r = sum_compared(s, prim, x, arg[1]); break;
    default: break;
    }
    return r ? r : opaque(s, prim, exponent, arg, nargs);
}

/* An operation that is not linear: guards in its arguments are decided first. */
uint32_t sum_applied(summary *s, tp_prim prim, int64_t exponent, const uint32_t *arg, uint32_t nargs, int depth)
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
        return sum_chosen(s, guard, sum_applied(s, prim, exponent, yes, nargs, depth + 1),
                          sum_applied(s, prim, exponent, no, nargs, depth + 1));
    }
    return by_meaning(s, prim, exponent, arg, nargs);
}

/* ---- from terms ---- */

/* Is it 0 under a condition? */
static bool may_be_left_out(summary *s, uint32_t x)
{
    const sum a = *sum_get(s, x);
    bool yes = a.n == 0;
    for (uint32_t i = 0; i < a.n; i++) {
        yes |= a.at[i].nguards > 0;
        for (uint32_t f = 0; f < a.at[i].nfactors; f++)
            yes |= atom_is_condition(atom_get(s, a.at[i].factor[f].atom));
    }
    return yes;
}

/* A mask that multiplies does not hide what is undefined, as one that selects does. */
static uint32_t unshielded_product(summary *s, uint32_t a, uint32_t b)
{
    if (s->strict &&
        ((may_be_left_out(s, a) && !sum_is_defined(s, b)) || (may_be_left_out(s, b) && !sum_is_defined(s, a))))
        summary_stop(s, TP_S("a mask multiplies what may be undefined"));
    return sum_multiply(s, a, b);
}

static uint32_t convert(summary *s, term t)
{
    const term_node n = *term_get(s, t);
    uint32_t arg[3] = {0, 0, 0};
    switch (n.kind) {
    case T_INTEGER: return sum_of_index(s, n.e);
    case T_REAL:
        if (isfinite(n.real))
            return sum_literal(s, n.real);
        if (isnan(n.real) || s->strict)
            summary_stop(s, TP_S("it computes with infinity"));
        return sum_add(s, sum_constant(s, 0), sum_of_atom(s, &(atom){.kind = ATOM_REAL, .real = (double)INFINITY}, 1),
                       n.real < 0 ? -1 : 1);
    case T_READ:
    case T_BEFORE:
    case T_AFTER: {
        atom a = {.kind = ATOM_ELEMENT, .number = n.kind, .operand = n.operand, .rank = n.rank};
        memcpy(a.at, n.at, sizeof a.at);
        return sum_of_atom(s, &a, 1);
    }
    case T_SELECT: return sum_chosen(s, n.e, sum_of_term(s, n.arg[0]), sum_of_term(s, n.arg[1]));
    case T_FOLD:
        if (n.prim == TP_P_SUM)
            return fold_sum(s, n.sym, n.e, sum_of_term(s, n.arg[0]));
        return prim_of_first(n.prim) != TP_PRIMS ? fold_first(s, &n) : fold_of_term(s, &n);
    case T_APPLY: break;
    }
    uint32_t nargs = 0;
    bool kept = s->narrow_casts;
    s->narrow_casts |= prim_decides(n.prim);
    for (; nargs < 3 && n.arg[nargs].id; nargs++)
        arg[nargs] = sum_of_term(s, n.arg[nargs]);
    s->narrow_casts = kept;
    int64_t exponent = 0;
    tp_expr_is_const(s->p, n.e, &exponent);
    uint32_t one = sum_constant(s, 1);
    switch (n.prim) {
    case TP_P_ADD: return sum_add(s, arg[0], arg[1], 1);
    case TP_P_SUB: return sum_add(s, arg[0], arg[1], -1);
    case TP_P_NEG: return sum_add(s, sum_constant(s, 0), arg[0], -1);
    case TP_P_MUL: return unshielded_product(s, arg[0], arg[1]);
    case TP_P_DIV: { /* of the divisor only guards are decided */
        tp_expr guard = sum_some_guard(s, arg[1]);
        if (!guard.id)
            return unshielded_product(s, arg[0], sum_inverse(s, arg[1]));
        summary_stop(s, TP_S("it divides by something that depends on a condition"));
    }
    /* conditions on data are 0 or 1 */
    case TP_P_WHERE:
        return sum_add(s, sum_multiply(s, arg[0], arg[1]), sum_multiply(s, sum_add(s, one, arg[0], -1), arg[2]), 1);
    case TP_P_AND: return sum_multiply(s, arg[0], arg[1]);
    case TP_P_OR: return sum_add(s, sum_add(s, arg[0], arg[1], 1), sum_multiply(s, arg[0], arg[1]), -1);
    case TP_P_INVERT: return sum_add(s, one, arg[0], -1);
    case TP_P_CAST:
        if (kept)
            return sum_applied(s, n.prim, exponent, arg, nargs, 0);
        s->out->casts = true;
        return arg[0];
    default: return sum_applied(s, n.prim, exponent, arg, nargs, 0);
    }
}

uint32_t sum_of_term(summary *s, term t)
{
    uint32_t *number_of = TP_NEW(s->arena, uint32_t);
    *number_of = 4 * t.id + 2 * s->narrow_casts + s->strict;
    tp_str text = {(const char *)number_of, sizeof *number_of};
    uint32_t known = tp_map_get(&sum_pool(s)->of_term, text);
    if (!known) {
        known = convert(s, t);
        tp_map_set(s->arena, &sum_pool(s)->of_term, text, known);
    }
    return known;
}

/* ---- replacing ---- */

typedef struct substitution {
    const tp_expr *with;
    uint32_t n;
} substitution;

static tp_expr put_in(summary *s, tp_expr e, void *ctx)
{
    const substitution *x = ctx;
    return tp_expr_subst(s->p, e, x->with, x->n);
}

static uint32_t atom_mapped(summary *s, uint32_t id, index_map map, void *ctx)
{
    atom a = *atom_get(s, id);
    if (a.kind == ATOM_INDEX)
        return sum_of_index(s, tp_expr_normal(s->p, map(s, a.e, ctx)));
    if (a.kind == ATOM_FOLD)
        a = fold_opened(s, id);
    for (uint32_t d = 0; d < a.rank; d++)
        a.at[d] = tp_expr_normal(s->p, map(s, a.at[d], ctx));
    for (uint32_t i = 0; i < a.counters; i++)
        a.extent[i] = tp_expr_normal(s->p, map(s, a.extent[i], ctx));
    product guards = product_of(1, 1);
    for (uint32_t i = 0; i < a.nguards; i++)
        if (!product_guard(s, &guards, map(s, a.guard[i], ctx)))
            return sum_constant(s, 0); /* a sum over nothing; others are never empty */
    a.nguards = guards.nguards;
    memcpy(a.guard, guards.guard, sizeof a.guard);
    for (int i = 0; i < 3; i++)
        if (a.arg[i])
            a.arg[i] = sum_mapped(s, a.arg[i], map, ctx);
    if (a.kind == ATOM_INVERSE)
        return sum_inverse(s, a.arg[0]);
    if (a.kind == ATOM_APPLY)
        return sum_applied(s, a.prim, tp_expr_get(s->p, a.e)->value, a.arg, a.arg[2] ? 3 : a.arg[1] ? 2 : 1, 0);
    if (a.kind == ATOM_FOLD && a.prim == TP_P_SUM) { /* perhaps no longer one product: summed again */
        return fold_again(s, &a, a.arg[0]);
    }
    if (a.kind == ATOM_FOLD) {
        product p = product_of(1, 1);
        product_factor(s, &p, fold_intern(s, &a), 1);
        return sum_intern(s, &p, 1);
    }
    return sum_of_atom(s, &a, 1);
}

uint32_t sum_mapped(summary *s, uint32_t id, index_map map, void *ctx)
{
    const sum a = *sum_get(s, id);
    uint32_t total = sum_constant(s, 0);
    sum_spend(s);
    for (uint32_t i = 0; i < a.n; i++) {
        product p = product_of(a.at[i].num, a.at[i].den);
        bool is_0 = false;
        for (uint32_t g = 0; g < a.at[i].nguards && !is_0; g++)
            is_0 = !product_guard(s, &p, map(s, a.at[i].guard[g], ctx));
        if (is_0)
            continue;
        uint32_t r = sum_intern(s, &p, 1);
        for (uint32_t f = 0; f < a.at[i].nfactors; f++) {
            uint32_t x = atom_mapped(s, a.at[i].factor[f].atom, map, ctx);
            int times = a.at[i].factor[f].power;
            if (times < 0)
                x = sum_inverse(s, x);
            for (int k = 0; k < abs(times); k++)
                r = sum_multiply(s, r, x);
        }
        if (a.at[i].exponent)
            r = sum_multiply(s, r, sum_exponential(s, sum_mapped(s, a.at[i].exponent, map, ctx)));
        total = sum_add(s, total, r, 1);
    }
    return total;
}

uint32_t sum_subst(summary *s, uint32_t id, const tp_expr *with, uint32_t n)
{
    return sum_mapped(s, id, put_in, &(substitution){with, n});
}

uint32_t sum_under(summary *s, const premises *p, uint32_t id)
{
    const sum a = *sum_get(s, id);
    product *at = TP_NEWN(s->arena, product, a.n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < a.n; i++) {
        bool is_0 = false;
        at[n] = a.at[i];
        at[n].nguards = 0;
        memset(at[n].guard, 0, sizeof at[n].guard);
        for (uint32_t g = 0; g < a.at[i].nguards && !is_0; g++) {
            tp_expr guard = a.at[i].guard[g];
            is_0 = summary_proves(s, p, condition_normal(s, guard, true));
            if (!is_0 && !summary_proves(s, p, guard))
                at[n].guard[at[n].nguards++] = guard;
        }
        n += !is_0;
    }
    return sum_from(s, at, n);
}
