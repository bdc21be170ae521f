/* Square roots.
 *
 *   sqrt(x y) = sqrt(x) sqrt(y), for x and y of at least 0, or an x above 0: else of two negative numbers the left
 *               side has a value, and of a 0 and a negative number
 *   sqrt(x^2) = |x|                          sqrt(x)^2 = x, for an x of at least 0
 *   sqrt(exp(x)) = exp(x / 2)                sqrt(max(x, y)) = max(sqrt(x), sqrt(y)), for x and y of at least 0
 *   x = y where x^2 = y^2, for x and y of at least 0 */
#include "analyzer/equality/sum.h"
#include "base/checked.h"
#include "spec/constants.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_root(const atom *a)
{
    return a->kind == ATOM_APPLY && a->prim == TP_P_SQRT;
}

static uint32_t under_root(summary *s, uint32_t x)
{
    atom a = {.kind = ATOM_APPLY, .prim = TP_P_SQRT, .e = tp_const(s->p, 0), .arg = {x}};
    return sum_of_atom(s, &a, 1);
}

static uint32_t half(summary *s, uint32_t x)
{
    product p = product_of(1, 2);
    return sum_multiply(s, x, sum_intern(s, &p, 1));
}

/* ---- of one product ---- */

/* Of a constant num / den above 0: the square part of num den leaves the root. */
static uint32_t root_of_constant(summary *s, int64_t num, int64_t den)
{
    int64_t n, rest;
    product whole = product_of(num, den);
    if (!tp_mul(num, den, &n) || n >= (int64_t)1 << 40)
        return under_root(s, sum_intern(s, &whole, 1));
    product p = product_of(tp_square_part(n, &rest), den);
    product_reduce(s, &p);
    uint32_t outside = sum_intern(s, &p, 1);
    return rest == 1 ? outside : sum_multiply(s, outside, under_root(s, sum_constant(s, rest)));
}

/* Of a literal that is a square as a decimal, as 1e-24. */
static bool root_of_decimal(double v, double *root)
{
    char text[40];
    int digits = 1, exponent;
    while (digits < 16 && (snprintf(text, sizeof text, "%.*e", digits - 1, v), strtod(text, NULL) != v))
        digits++;
    snprintf(text, sizeof text, "%.*e", digits - 1, v);
    const char *e = strchr(text, 'e');
    exponent = atoi(e + 1) - (digits - 1);
    double mantissa = round(v / pow(10, exponent)), of = mantissa * (exponent % 2 ? 10 : 1), r = round(sqrt(of));
    exponent = (exponent - (exponent % 2 ? 1 : 0)) / 2;
    if (of >= 0x1p53 || r * r != of)
        return false;
    snprintf(text, sizeof text, "%.0fe%d", r, exponent);
    *root = strtod(text, NULL);
    return true;
}

static uint32_t root_of_factor(summary *s, uint32_t id)
{
    const atom a = *atom_get(s, id);
    double root;
    if (a.kind == ATOM_REAL && !a.number && root_of_decimal(a.real, &root))
        return sum_number(s, root);
    return under_root(s, sum_of_factor(s, id, 1));
}

/* Is no part of it below 0? Even powers are not. */
static bool has_no_part_below_0(summary *s, const product *p)
{
    bool yes = p->num > 0;
    for (uint32_t i = 0; i < p->nfactors && yes; i++)
        yes = p->factor[i].power % 2 == 0 || sum_is_at_least_0(s, sum_of_factor(s, p->factor[i].atom, 1));
    return yes;
}

static uint32_t root_of_product(summary *s, const product *p)
{
    const bool all = has_no_part_below_0(s, p);
    product left = product_of(p->num < 0 ? -1 : 1, 1), halves = product_of(1, 1);
    uint32_t r = root_of_constant(s, llabs(p->num), p->den);
    for (uint32_t i = 0; i < p->nfactors; i++) {
        const factor f = p->factor[i];
        if (!all && !sum_is_positive(s, sum_of_factor(s, f.atom, 1))) {
            product_factor(s, &left, f.atom, f.power);
            continue;
        }
        if (f.power / 2)
            product_factor(s, &halves, f.atom, f.power / 2);
        if (f.power % 2) {
            uint32_t root = root_of_factor(s, f.atom);
            r = sum_multiply(s, r, f.power > 0 ? root : sum_inverse(s, root));
        }
    }
    if (p->exponent)
        r = sum_multiply(s, r, sum_exponential(s, half(s, p->exponent)));
    r = sum_multiply(s, r, sum_absolute(s, sum_intern(s, &halves, 1)));
    return all ? r : sum_multiply(s, r, under_root(s, sum_intern(s, &left, 1)));
}

/* ---- of a maximum ---- */

/* x = r + k |w| is the larger one of r + k w and r - k w, for a k above 0; the smaller one, for one below 0. */
static bool is_extreme(summary *s, uint32_t x, tp_prim *prim, uint32_t of[2])
{
    const sum a = *sum_get(s, x);
    for (uint32_t i = 0; i < a.n && a.n > 1; i++) {
        const product *p = &a.at[i];
        if (p->nfactors != 1 || p->factor[0].power != 1 || p->exponent || p->nguards)
            continue;
        const atom f = *atom_get(s, p->factor[0].atom);
        if (f.kind != ATOM_APPLY || f.prim != TP_P_ABS)
            continue;
        product k = product_of(p->num, p->den);
        uint32_t rest = sum_add(s, x, sum_intern(s, p, 1), -1), kw = sum_multiply(s, f.arg[0], sum_intern(s, &k, 1));
        of[0] = sum_add(s, rest, kw, 1);
        of[1] = sum_add(s, rest, kw, -1);
        *prim = p->num > 0 ? TP_P_MAXIMUM : TP_P_MINIMUM;
        if (sum_is_at_least_0(s, of[0]) && sum_is_at_least_0(s, of[1]))
            return true;
    }
    return false;
}

uint32_t sum_square_root(summary *s, uint32_t x)
{
    const sum a = *sum_get(s, x);
    tp_prim prim;
    uint32_t of[2];
    int64_t num, den;
    if (sum_is_fraction(s, x, &num, &den))
        return num > 0 ? root_of_constant(s, num, den) : under_root(s, x);
    uint32_t r = under_root(s, x), as_it_is = r;
    if (a.n == 1 && !a.at[0].nguards) {
        r = root_of_product(s, &a.at[0]);
    } else if (is_extreme(s, x, &prim, of)) {
        for (int i = 0; i < 2; i++)
            of[i] = sum_square_root(s, of[i]);
        r = sum_apply(s, prim, 0, of, 2, 0);
    }
    if (r != as_it_is)
        record_open(s, TP_LAW_ROOTS);
    return r;
}

/* ---- powers of roots ---- */

/* root^2 of p, which is what is under it; an odd power below 0 stays (product_factor()). */
bool reduce_root(summary *s, const product *p, uint32_t which, uint32_t *out)
{
    const factor f = p->factor[which];
    const atom root = *atom_get(s, f.atom);
    if (!is_root(&root) || abs(f.power) < 2 || (f.power < 0 && f.power % 2) || !sum_is_at_least_0(s, root.arg[0]))
        return false;
    product rest = product_without(p, which);
    uint32_t by = f.power > 0 ? root.arg[0] : sum_inverse(s, root.arg[0]);
    record_open(s, TP_LAW_ROOTS);
    if (f.power % 2)
        product_factor(s, &rest, f.atom, 1);
    *out = sum_intern(s, &rest, 1);
    for (int k = 0; k < abs(f.power / 2); k++)
        *out = sum_multiply(s, *out, by);
    return true;
}

/* ---- equal squares ---- */

/* A sum as a quotient by roots. */
typedef struct quotient {
    uint32_t numerator, squared; /* the divisor's square */
    bool positive;               /* the divisor is */
} quotient;

/* The factors that all products of both have. */
static product common_factors(const sum *a, const sum *b)
{
    product r = product_of(1, 1);
    for (uint32_t i = 0; a->n && b->n && i < a->at[0].nfactors; i++) {
        const factor f = a->at[0].factor[i];
        uint32_t which;
        bool all = true;
        for (uint32_t k = 0; k < a->n + b->n && all; k++)
            all = product_has(k < a->n ? &a->at[k] : &b->at[k - a->n], &f, &which);
        if (all)
            r.factor[r.nfactors++] = f;
    }
    return r;
}

/* p with the power of an atom raised by `by`, though the atom may be 0: it divides. */
static void raise(summary *s, product *p, uint32_t id, int by)
{
    for (uint32_t i = 0; i < p->nfactors; i++)
        if (p->factor[i].atom == id && p->factor[i].power < 0) {
            by += p->factor[i].power;
            *p = product_without(p, i--);
        }
    if (by)
        product_factor(s, p, id, by);
}

/* The lowest power of an atom in its products. */
static int lowest_power(const sum *a, uint32_t id)
{
    int r = 0;
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t f = 0; f < a->at[i].nfactors; f++)
            if (a->at[i].factor[f].atom == id && a->at[i].factor[f].power < r)
                r = a->at[i].factor[f].power;
    return r;
}

static uint32_t with_raised(summary *s, uint32_t x, uint32_t id, int by)
{
    const sum a = *sum_get(s, x);
    product *at = TP_NEWN(s->arena, product, a.n + 1);
    for (uint32_t i = 0; i < a.n; i++) {
        at[i] = a.at[i];
        raise(s, &at[i], id, by);
    }
    return sum_from(s, at, a.n);
}

/* false: it may be below 0, or have no value where its root has none: what divides one side multiplies the other. */
static bool quotient_of(summary *s, uint32_t x, quotient *q)
{
    const sum a = *sum_get(s, x);
    *q = (quotient){x, sum_constant(s, 1), true};
    for (uint32_t i = 0; i < a.n; i++)
        for (uint32_t f = 0; f < a.at[i].nfactors; f++) {
            const uint32_t id = a.at[i].factor[f].atom;
            const atom root = *atom_get(s, id);
            if (!is_root(&root))
                continue;
            if (!sum_is_at_least_0(s, root.arg[0]))
                return false;
            const sum now = *sum_get(s, q->numerator);
            int power = lowest_power(&now, id);
            if (power == 0)
                continue;
            if (!sum_is_defined(s, root.arg[0]))
                return false;
            q->numerator = with_raised(s, q->numerator, id, -power);
            q->positive &= sum_is_positive(s, root.arg[0]);
            for (int k = 0; k < -power; k++)
                q->squared = sum_multiply(s, q->squared, root.arg[0]);
        }
    return sum_is_at_least_0(s, q->numerator);
}

static bool holds_root(const summary *s, uint32_t x)
{
    const sum *a = sum_get(s, x);
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t f = 0; f < a->at[i].nfactors; f++)
            if (is_root(atom_get(s, a->at[i].factor[f].atom)))
                return true;
    return false;
}

/* x without those factors, of which each product has each. */
static uint32_t without_factors(summary *s, uint32_t x, const product *common)
{
    const sum a = *sum_get(s, x);
    product *at = TP_NEWN(s->arena, product, a.n + 1);
    for (uint32_t i = 0; i < a.n; i++)
        at[i] = product_without_factors(&a.at[i], common);
    return sum_from(s, at, a.n);
}

typedef struct squaring {
    summary *s;
    uint32_t x, y;
    bool possible;
} squaring;

/* What is compared in the place of x and y. It is strict: nothing that may have no value cancels. */
static void square(void *ctx)
{
    squaring *w = ctx;
    summary *s = w->s;
    const sum a = *sum_get(s, w->x), b = *sum_get(s, w->y);
    product common = common_factors(&a, &b);
    uint32_t x = without_factors(s, w->x, &common), y = without_factors(s, w->y, &common);
    quotient p, q;
    if ((!holds_root(s, x) && !holds_root(s, y)) || !quotient_of(s, x, &p) || !quotient_of(s, y, &q))
        return;
    /* a divisor that is 0 where the other one is not would make its numerator 0, too */
    w->possible = (p.positive || sum_is_positive(s, p.numerator)) && (q.positive || sum_is_positive(s, q.numerator));
    w->x = sum_multiply(s, sum_multiply(s, p.numerator, p.numerator), q.squared);
    w->y = sum_multiply(s, sum_multiply(s, q.numerator, q.numerator), p.squared);
}

bool squares_of(summary *s, uint32_t *a, uint32_t *b)
{
    squaring w = {.s = s, .x = *a, .y = *b};
    if ((!holds_root(s, *a) && !holds_root(s, *b)) || !sum_try(s, true, square, &w) || !w.possible)
        return false;
    record_open(s, TP_LAW_ROOTS);
    *a = w.x;
    *b = w.y;
    return true;
}
