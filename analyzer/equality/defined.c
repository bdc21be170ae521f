#include "analyzer/equality/sum.h"

#include <math.h>

typedef enum sign { ANY_SIGN, AT_LEAST_0, ABOVE_0 } sign;

static sign sum_sign(summary *s, uint32_t id);

static sign weaker(sign a, sign b)
{
    return a < b ? a : b;
}

/* An end of the "values" of an input, as its type rounds it; false: there is none. */
static bool end_of(summary *s, const tp_operand *o, const tp_end *end, uint32_t *out)
{
    int64_t v;
    double number = end->number;
    if (!end->given)
        return false;
    if (end->expr.id) {
        *out = sum_of_index(s, end->expr);
        if (!tp_is_float(o->dtype))
            return true;
        if (!tp_expr_is_const(s->p, end->expr, &v))
            return false;
        number = (double)v;
    }
    number = summary_rounded(o->dtype, number);
    if (!isfinite(number))
        return false;
    *out = sum_number(s, fabs(number));
    if (number < 0)
        *out = sum_add(s, sum_constant(s, 0), *out, -1);
    return true;
}

static sign atom_sign(summary *s, uint32_t id)
{
    static const premises nothing = {.n = 0};
    const atom a = *atom_get(s, id);
    tp_expr zero = tp_const(s->p, 0);
    switch (a.kind) {
    case ATOM_REAL: return a.real > 0 ? ABOVE_0 : ANY_SIGN;
    case ATOM_INDEX:
        if (summary_follows(s, &nothing, tp_op2(s->p, TP_E_GT, a.e, zero)))
            return ABOVE_0;
        return summary_follows(s, &nothing, tp_op2(s->p, TP_E_GE, a.e, zero)) ? AT_LEAST_0 : ANY_SIGN;
    case ATOM_ELEMENT: { /* "values" of its input */
        const tp_operand *o = a.number == T_READ ? &s->k->operands[a.operand] : NULL;
        uint32_t least;
        return o && end_of(s, o, &o->least, &least) ? sum_sign(s, least) : ANY_SIGN;
    }
    case ATOM_INVERSE: return sum_sign(s, a.arg[0]) == ABOVE_0 ? ABOVE_0 : ANY_SIGN;
    case ATOM_FOLD: {
        sign inside = sum_sign(s, a.arg[0]);
        if (a.prim == TP_P_MAX || a.prim == TP_P_MIN || a.prim == TP_P_PROD)
            return inside;
        if (a.prim != TP_P_SUM || inside == ANY_SIGN)
            return ANY_SIGN;
        return inside == ABOVE_0 && fold_never_empty(s, &a) ? ABOVE_0 : AT_LEAST_0;
    }
    case ATOM_APPLY: break;
    }
    if (a.prim == TP_P_SQRT)
        return weaker(ABOVE_0, sum_sign(s, a.arg[0])) == ABOVE_0 ? ABOVE_0 : AT_LEAST_0;
    return a.prim == TP_P_ABS || atom_is_condition(&a) ? AT_LEAST_0 : ANY_SIGN;
}

static sign product_sign(summary *s, const product *p)
{
    sign r = p->num > 0 ? ABOVE_0 : ANY_SIGN;
    for (uint32_t i = 0; i < p->nfactors && r != ANY_SIGN; i++) {
        sign of_atom = atom_sign(s, p->factor[i].atom);
        if (p->factor[i].power % 2 == 0)
            of_atom = of_atom == ABOVE_0 ? ABOVE_0 : AT_LEAST_0;
        r = weaker(r, of_atom);
    }
    return p->nguards ? weaker(r, AT_LEAST_0) : r;
}

/* With c |w| in it, for a c of at least 0, it is no less than with c w, nor than with -c w. */
static sign sign_by_absolute(summary *s, const sum *a)
{
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t f = 0; f < a->at[i].nfactors; f++) {
            const atom x = *atom_get(s, a->at[i].factor[f].atom);
            if (x.kind != ATOM_APPLY || x.prim != TP_P_ABS || a->at[i].factor[f].power != 1 || a->at[i].nguards ||
                product_sign(s, &a->at[i]) == ANY_SIGN)
                continue;
            product rest = a->at[i], *others = TP_NEWN(s->arena, product, a->n);
            uint32_t n = 0;
            memmove(&rest.factor[f], &rest.factor[f + 1], (rest.nfactors - f - 1) * sizeof *rest.factor);
            memset(&rest.factor[--rest.nfactors], 0, sizeof *rest.factor);
            for (uint32_t k = 0; k < a->n; k++)
                if (k != i)
                    others[n++] = a->at[k];
            uint32_t w = sum_multiply(s, sum_intern(s, &rest, 1), x.arg[0]), left = sum_intern(s, others, n);
            sign above = sum_sign(s, sum_add(s, left, w, 1)), below = sum_sign(s, sum_add(s, left, w, -1));
            return above > below ? above : below;
        }
    return ANY_SIGN;
}

bool fold_over_points(const atom *f, const atom *g)
{
    bool same = f->counters == g->counters && f->nguards == g->nguards;
    for (uint32_t k = 0; same && k < f->counters; k++)
        same = f->counter[k] == g->counter[k] && tp_same(f->extent[k], g->extent[k]);
    for (uint32_t k = 0; same && k < f->nguards; k++)
        same = tp_same(f->guard[k], g->guard[k]);
    return same;
}

/* The exponent is -x at the point where x is largest, f: over the same points, f's body being x there. */
static bool is_minus_largest(summary *s, uint32_t exponent, uint32_t x, const atom *points)
{
    const sum e = *sum_get(s, exponent);
    for (uint32_t i = 0; e.n == 1 && i < e.at[0].nfactors; i++) {
        const atom f = *atom_get(s, e.at[0].factor[i].atom);
        product scale = product_without(&e.at[0], i);
        scale.num = -scale.num;
        if (f.kind != ATOM_FOLD || f.prim != TP_P_MAX || e.at[0].factor[i].power != 1 ||
            product_sign(s, &scale) != ABOVE_0)
            continue;
        if (fold_over_points(&f, points) && sum_multiply(s, sum_intern(s, &scale, 1), f.arg[0]) == x)
            return true;
    }
    return false;
}

/* p = c sum(exp(x)) exp(-max(x)), over the same points, of which there is one: at least c. */
static bool is_normalised(summary *s, const product *p)
{
    if (p->num < 1 || p->nguards || p->nfactors != 1 || p->factor[0].power != 1 || !p->exponent)
        return false;
    const atom f = *atom_get(s, p->factor[0].atom);
    if (f.kind != ATOM_FOLD || f.prim != TP_P_SUM)
        return false;
    const sum body = *sum_get(s, f.arg[0]);
    return body.n == 1 && body.at[0].num == 1 && body.at[0].den == 1 && body.at[0].nfactors == 0 &&
           body.at[0].nguards == 0 && body.at[0].exponent &&
           is_minus_largest(s, p->exponent, body.at[0].exponent, &f) && fold_never_empty(s, &f);
}

/* One such product and constants that are clearly smaller, as in max(l, 1e-30). */
static bool exceeds_its_constants(summary *s, const sum *a)
{
    static const double CLEARLY = 0x1p-20;
    double least = 0, total = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        const product *p = &a->at[i];
        double value = (double)p->num / (double)p->den;
        if (is_normalised(s, p) && least == 0) {
            least = value;
            continue;
        }
        for (uint32_t f = 0; f < p->nfactors; f++) {
            const atom *x = atom_get(s, p->factor[f].atom);
            value *= x->kind == ATOM_REAL && x->number == 0 && p->factor[f].power == 1 ? x->real : (double)NAN;
        }
        total += p->nguards || p->exponent ? (double)NAN : value;
    }
    return least * (1 - CLEARLY) + total * (1 + CLEARLY) > 0 && total <= 0;
}

/* At least as many as a fold has points, as a sum; 0: not known. */
static uint32_t most_points(summary *s, const atom *f)
{
    tp_expr n = tp_const(s->p, 1);
    for (uint32_t k = 0; k < f->counters; k++) {
        for (uint32_t j = 0; j < k; j++)
            if (tp_expr_mentions(s->p, f->extent[k], f->counter[j]))
                return 0;
        n = tp_op2(s->p, TP_E_MUL, n, f->extent[k]);
    }
    return sum_of_index(s, n);
}

/* p = c1 sum(x^2), and c2 sum(x)^2 over the same points is no more (Cauchy and Schwarz): c2 times their number is at
 * most c1. */
static bool is_no_less(summary *s, const product *p, const atom *f, uint32_t c2)
{
    for (uint32_t i = 0; i < p->nfactors && !p->nguards; i++) {
        const atom squares = *atom_get(s, p->factor[i].atom);
        if (squares.kind != ATOM_FOLD || squares.prim != TP_P_SUM || p->factor[i].power != 1 ||
            !fold_over_points(&squares, f) || sum_multiply(s, f->arg[0], f->arg[0]) != squares.arg[0])
            continue;
        product c1 = product_without(p, i);
        uint32_t n = most_points(s, f);
        return n && sum_is_at_least_0(s, sum_add(s, sum_intern(s, &c1, 1), sum_multiply(s, c2, n), -1));
    }
    return false;
}

/* With a sum's square that a sum of squares makes up for, it is no less than without the two: variances are at least 0.
 */
static sign sign_by_squares(summary *s, const sum *a)
{
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t f = 0; f < a->at[i].nfactors && !a->at[i].nguards; f++) {
            const atom x = *atom_get(s, a->at[i].factor[f].atom);
            if (x.kind != ATOM_FOLD || x.prim != TP_P_SUM || a->at[i].factor[f].power != 2)
                continue;
            product rest = product_without(&a->at[i], f), *others = TP_NEWN(s->arena, product, a->n);
            rest.num = -rest.num;
            uint32_t c2 = sum_intern(s, &rest, 1), n = 0, k = 0;
            if (!sum_is_at_least_0(s, c2))
                continue;
            while (k < a->n && (k == i || !is_no_less(s, &a->at[k], &x, c2)))
                k++;
            for (uint32_t j = 0; j < a->n; j++)
                if (j != i && j != k)
                    others[n++] = a->at[j];
            if (k < a->n)
                return sum_sign(s, sum_intern(s, others, n));
        }
    return ANY_SIGN;
}

/* Of indices and sizes alone. */
static sign sign_of_index(summary *s, const sum *a)
{
    static const premises nothing = {.n = 0};
    tp_expr total = tp_const(s->p, 0);
    for (uint32_t i = 0; i < a->n; i++) {
        const product *p = &a->at[i];
        tp_expr e = tp_const(s->p, p->num);
        bool whole = p->den == 1 && !p->nguards && !p->exponent;
        for (uint32_t f = 0; f < p->nfactors && whole; f++) {
            const atom x = *atom_get(s, p->factor[f].atom);
            whole = x.kind == ATOM_INDEX && p->factor[f].power == 1;
            e = whole ? tp_op2(s->p, TP_E_MUL, e, x.e) : e;
        }
        if (!whole)
            return ANY_SIGN;
        total = tp_op2(s->p, TP_E_ADD, total, e);
    }
    return summary_follows(s, &nothing, tp_op2(s->p, TP_E_GE, total, tp_const(s->p, 0))) ? AT_LEAST_0 : ANY_SIGN;
}

/* c x is at least c times an end of the "values" of x; false: p is no such product. */
static bool least_of(summary *s, const product *p, uint32_t *least)
{
    if (p->nguards || p->exponent || p->nfactors != 1 || p->factor[0].power != 1)
        return false;
    const atom x = *atom_get(s, p->factor[0].atom);
    if (x.kind != ATOM_ELEMENT || x.number != T_READ)
        return false;
    const tp_operand *o = &s->k->operands[x.operand];
    product c = product_of(p->num, p->den);
    bool ends = end_of(s, o, p->num > 0 ? &o->least : &o->most, least);
    if (ends)
        *least = sum_multiply(s, sum_intern(s, &c, 1), *least);
    return ends;
}

static sign sign_by_values(summary *s, const sum *a)
{
    uint32_t rest = sum_constant(s, 0), least;
    bool any = false;
    for (uint32_t i = 0; i < a->n; i++) {
        bool ends = least_of(s, &a->at[i], &least);
        rest = sum_add(s, rest, ends ? least : sum_intern(s, &a->at[i], 1), 1);
        any |= ends;
    }
    return any ? sum_sign(s, rest) : ANY_SIGN;
}

/* Above 0 when no product is below it and one is above. */
static sign sum_sign(summary *s, uint32_t id)
{
    const sum a = *sum_get(s, id);
    sign all = AT_LEAST_0;
    sum_spend(s);
    if (sum_is_rest_of_share(s, id))
        return ABOVE_0;
    for (uint32_t i = 0; i < a.n; i++) {
        sign one = product_sign(s, &a.at[i]);
        if (one == ANY_SIGN && exceeds_its_constants(s, &a))
            return ABOVE_0;
        if (one == ANY_SIGN) {
            bool strict = s->strict; /* a question: nothing is rewritten */
            s->strict = false;
            all = sign_by_absolute(s, &a);
            all = all == ANY_SIGN ? sign_by_squares(s, &a) : all;
            all = all == ANY_SIGN ? sign_by_values(s, &a) : all;
            all = all == ANY_SIGN ? sign_of_index(s, &a) : all;
            s->strict = strict;
            return all;
        }
        all = one == ABOVE_0 ? ABOVE_0 : all;
    }
    return all;
}

bool sum_is_at_least_0(summary *s, uint32_t id)
{
    return sum_sign(s, id) != ANY_SIGN;
}

bool sum_is_positive(summary *s, uint32_t id)
{
    return sum_sign(s, id) == ABOVE_0;
}

static bool atom_is_defined(summary *s, uint32_t id)
{
    const atom a = *atom_get(s, id);
    for (int i = 0; i < 3; i++)
        if (a.arg[i] && !sum_is_defined(s, a.arg[i]))
            return false;
    if (a.kind == ATOM_INVERSE)
        return sum_sign(s, a.arg[0]) == ABOVE_0;
    if (a.kind == ATOM_ELEMENT) /* what a buffer holds may have none */
        return a.number == T_READ || a.number == T_HELD;
    if (a.kind != ATOM_APPLY)
        return true;
    if (a.prim == TP_P_CAST) /* under a decision: it may overflow */
        return false;
    if (a.prim == TP_P_WHERE)
        return true;
    if (a.prim == TP_P_FLOORDIV || a.prim == TP_P_MOD)
        return sum_sign(s, a.arg[1]) == ABOVE_0;
    const tp_real_domain *domain = &tp_prim_info(a.prim)->domain;
    switch (domain->kind) {
    case TP_DOMAIN_REALS: return true;
    case TP_DOMAIN_FROM: return domain->least == 0 && sum_sign(s, a.arg[0]) != ANY_SIGN;
    case TP_DOMAIN_ABOVE: return domain->least == 0 && sum_sign(s, a.arg[0]) == ABOVE_0;
    case TP_DOMAIN_PARTIAL: break;
    }
    return false;
}

bool law_is_defined(summary *s, const product *p)
{
    for (uint32_t i = 0; i < p->nfactors; i++)
        if (!atom_is_defined(s, p->factor[i].atom) ||
            (p->factor[i].power < 0 && atom_sign(s, p->factor[i].atom) != ABOVE_0))
            return false;
    return !p->exponent || sum_is_defined(s, p->exponent);
}

bool sum_is_defined(summary *s, uint32_t id)
{
    const sum a = *sum_get(s, id);
    sum_spend(s);
    for (uint32_t i = 0; i < a.n; i++)
        if (!product_is_defined(s, &a.at[i]))
            return false;
    return true;
}
