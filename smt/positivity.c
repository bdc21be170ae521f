/* Proofs without a solver: P >= 0 by endpoint substitution, written down as
 * lines (proof.h).
 *
 * Variables are eliminated in an order in which bounds only use what remains.
 * A polynomial that is affine in v takes its least value at an end of v's
 * range; quotients q = a // b are bounded by b*q <= a and b*q >= a - b + 1
 * after multiplying with b >= 1. When only atoms with known least values are
 * left, non-negative coefficients are the proof. Incomplete.
 */
#include "base/assert.h"
#include "base/checked.h"
#include "smt/internal.h"

typedef struct goal {
    tp_prover *v;
    const tp_obligation *o;
    tp_lines *lines;
    int budget, bounds; /* substitutions and constant bounds left */
    struct {
        tp_expr e;
        tp_interval range;
    } known[32]; /* ranges, by the expression's number: they are asked for again and again */
} goal;

static const int64_t HUGE = (int64_t)1 << 61; /* beyond: given up, so that sums do not overflow */

/* These return the number of the line that says so, or 0. */
static uint32_t positive(goal *g, const tp_poly *p);
static uint32_t at_least(goal *g, tp_expr e, int64_t lo);
static uint32_t at_most(goal *g, tp_expr e, int64_t hi);

static const tp_var *var_of(const goal *g, tp_expr atom)
{
    const tp_expr_node *n = tp_expr_get(g->v->p, atom);
    for (uint32_t i = 0; n->op == TP_E_SYM && i < g->o->nvars; i++)
        if (g->o->vars[i].sym == (uint32_t)n->value)
            return &g->o->vars[i];
    return NULL;
}

static tp_interval range_of(goal *g, tp_expr e)
{
    uint32_t at = e.id % (sizeof g->known / sizeof *g->known);
    if (!tp_same(g->known[at].e, e)) {
        g->known[at].range = tp_interval_of(g->v, g->o, e);
        g->known[at].e = e;
    }
    return g->known[at].range;
}

/* Elimination order: steps (later axes first), then composite atoms (outer
 * first), then sizes. */
static uint64_t rank_of(const goal *g, tp_expr atom)
{
    const tp_var *x = var_of(g, atom);
    if (x && x->step)
        return (uint64_t)3 << 32 | x->sym;
    return tp_expr_get(g->v->p, atom)->op == TP_E_SYM ? (uint64_t)1 << 32 | atom.id : (uint64_t)2 << 32 | atom.id;
}

/* P = coef * v + rest; false when P is not affine in v. */
static bool split(const tp_poly *p, tp_expr v, tp_poly *coef, tp_poly *rest)
{
    coef->n = rest->n = 0;
    coef->ok = rest->ok = true;
    for (uint32_t i = 0; i < p->n; i++) {
        tp_term t = p->terms[i];
        uint32_t count = 0, at = 0;
        for (uint32_t k = 0; k < t.degree; k++)
            if (tp_same(t.factors[k], v)) {
                count++;
                at = k;
            }
        if (count > 1)
            return false;
        if (count == 1) {
            memmove(&t.factors[at], &t.factors[at + 1], (t.degree - at - 1) * sizeof *t.factors);
            t.degree--;
            tp_poly_add_term(coef, &t);
        } else {
            tp_poly_add_term(rest, &t);
        }
    }
    return coef->ok && rest->ok;
}

static void poly(goal *g, tp_expr e, tp_poly *q)
{
    tp_poly_of(g->v->p, e, q);
}

static void add_constant(tp_poly *q, int64_t c)
{
    tp_poly_add_term(q, &(tp_term){.coef = c});
}

/* k * a + l * b + shift; not ok when it grows too large */
static void linear(tp_poly *r, int64_t k, const tp_poly *a, int64_t l, const tp_poly *b, int64_t shift)
{
    tp_poly_constant(r, shift);
    tp_poly_add(r, a, k);
    tp_poly_add(r, b, l);
}

/* ---- lines ---- */

/* It names lines before it, in sums with factors of at least 0. */
static bool line_holds(const tp_line *l, uint32_t before)
{
    for (uint32_t i = 0; i < 4; i++)
        if (l->refs[i] > before)
            return false;
    for (uint32_t i = 0; i < l->nproducts; i++)
        for (uint32_t k = 0; k < l->products[i].n; k++)
            if (l->products[i].coef < 0 || l->products[i].refs[k] > before)
                return false;
    return true;
}

uint32_t tp_line_add(tp_prover *v, tp_lines *lines, tp_line l)
{
    tp_assert(line_holds(&l, lines->len));
    tp_push(v->scratch, *lines, l);
    return lines->len;
}

uint32_t tp_line_sum(tp_prover *v, tp_lines *lines, const tp_product *products, uint32_t n)
{
    tp_product *copy = TP_NEWN(v->scratch, tp_product, n);
    for (uint32_t i = 0; i < n; i++)
        copy[i] = products[i];
    return tp_line_add(v, lines, (tp_line){.rule = TP_LINE_SUM, .products = copy, .nproducts = n});
}

static uint32_t line(goal *g, tp_line l)
{
    return tp_line_add(g->v, g->lines, l);
}

/* a + b * factor; `factor` 0: a + b */
static uint32_t sum(goal *g, uint32_t a, uint32_t b, uint32_t factor)
{
    tp_product t[2] = {{1, 1, {a}}, {1, factor ? 2 : 1, {b, factor}}};
    return a && b ? tp_line_sum(g->v, g->lines, t, 2) : 0;
}

static uint32_t shift(goal *g, uint32_t a, int64_t by)
{
    tp_product t[2] = {{1, 1, {a}}, {by, 0, {0}}};
    if (!a)
        return 0;
    if (by <= 0)
        return by < 0 ? 0 : a;
    return tp_line_sum(g->v, g->lines, t, 2);
}

static uint32_t definition(goal *g, tp_expr e, uint32_t side, uint32_t divisor)
{
    return line(g, (tp_line){.rule = TP_LINE_DEFINITION, .e = e, .side = side, .refs = {divisor}});
}

static uint32_t cancel(goal *g, uint32_t product, uint32_t divisor, const tp_poly *p)
{
    if (!product || !divisor)
        return 0;
    tp_expr e = tp_poly_expr(g->v->p, p);
    return line(g, (tp_line){.rule = TP_LINE_CANCEL, .e = e, .refs = {product, divisor}});
}

static uint32_t cases(goal *g, tp_expr e, const tp_poly *factor, uint32_t a, uint32_t b)
{
    if (!a || !b)
        return 0;
    tp_expr f = tp_poly_expr(g->v->p, factor);
    return line(g, (tp_line){.rule = TP_LINE_CASES, .e = e, .factor = f, .refs = {a, b}});
}

/* ---- constant bounds ---- */

/* q = a // b or cdiv(a, b) is at least k (at most k when `upper`): e.g. with
 * b*q + b - 1 >= a and a >= k*b, b*(q - k + 1) >= 1. */
static uint32_t quotient_bound(goal *g, tp_expr e, const tp_expr_node *n, int64_t k, bool upper)
{
    bool floor = n->op == TP_E_FLOORDIV;
    uint32_t divisor = at_least(g, n->b, 1), rest;
    if (!divisor)
        return 0;
    tp_poly a, b, q, room, p;
    poly(g, n->a, &a);
    poly(g, n->b, &b);
    poly(g, e, &q);
    if (upper) /* a < (k + 1)*b; a <= k*b */
        linear(&room, -1, &a, floor ? k + 1 : k, &b, floor ? -1 : 0);
    else /* a >= k*b; a > (k - 1)*b */
        linear(&room, 1, &a, floor ? -k : 1 - k, &b, floor ? 0 : -1);
    linear(&p, upper ? -1 : 1, &q, 0, &q, upper ? k + 1 : 1 - k);
    rest = p.ok ? positive(g, &room) : 0;
    if (!rest)
        return 0;
    return cancel(g, sum(g, rest, definition(g, e, upper != floor, divisor), 0), divisor, &p);
}

static uint32_t either_bound(goal *g, tp_expr e, tp_expr a, tp_expr b, int64_t k, bool upper)
{
    tp_poly one;
    tp_poly_constant(&one, upper ? -1 : 1);
    uint32_t x = upper ? at_most(g, a, k) : at_least(g, a, k);
    return x ? cases(g, e, &one, x, upper ? at_most(g, b, k) : at_least(g, b, k)) : 0;
}

static uint32_t minimum_bound(goal *g, tp_expr e, const tp_expr_node *n, int64_t k, bool upper)
{
    if ((n->op == TP_E_MIN) != upper)
        return either_bound(g, e, n->a, n->b, k, upper);
    for (uint32_t side = 0; side < 2; side++) { /* on the helpful side of both: one will do */
        tp_expr arm = side ? n->b : n->a;
        tp_interval r = range_of(g, arm);
        uint32_t x = upper ? (r.hi <= k ? at_most(g, arm, k) : 0) : (r.lo >= k ? at_least(g, arm, k) : 0);
        if (x)
            return sum(g, x, definition(g, e, side, 0), 0);
    }
    return 0;
}

static uint32_t symbol_bound(goal *g, tp_expr e, const tp_expr_node *n, int64_t k, bool upper)
{
    const tp_var *x = var_of(g, e);
    tp_expr end = !x ? (tp_expr){0} : upper ? x->hi : x->lo;
    int64_t v, d;
    if (!end.id)
        return 0;
    tp_line l = {.rule = upper ? TP_LINE_UPPER : TP_LINE_LOWER, .number = (uint32_t)n->value};
    if (tp_expr_is_const(g->v->p, end, &v))
        return tp_sub(upper ? k : v, upper ? v : k, &d) && d >= 0 ? shift(g, line(g, l), d) : 0;
    uint32_t rest = upper ? at_most(g, end, k) : at_least(g, end, k);
    return rest ? sum(g, rest, line(g, l), 0) : 0;
}

static uint32_t atom_bound(goal *g, tp_expr e, int64_t k, bool upper)
{
    tp_expr_node n = *tp_expr_get(g->v->p, e);
    uint32_t divisor;
    if (g->bounds-- <= 0 || k > HUGE || k < -HUGE)
        return 0;
    switch (n.op) {
    case TP_E_SYM: return symbol_bound(g, e, &n, k, upper);
    case TP_E_FLOORDIV:
    case TP_E_CDIV: return quotient_bound(g, e, &n, k, upper);
    case TP_E_MOD:
        if (upper || !(divisor = at_least(g, n.b, 1)))
            return 0;
        return shift(g, definition(g, e, 0, divisor), k > 0 ? -1 : -k);
    case TP_E_MIN:
    case TP_E_MAX: return minimum_bound(g, e, &n, k, upper);
    case TP_E_ITE: return either_bound(g, e, n.b, n.c, k, upper);
    case TP_E_POW2: return upper || k > 1 ? 0 : shift(g, definition(g, e, 0, 0), 1 - k);
    case TP_E_CONST:
    case TP_E_READ:
    case TP_E_TOO_LARGE:
    case TP_E_ALIGN_UP:
    case TP_E_RING:
    case TP_E_BITS:
    case TP_E_CONNECTIVES:
    case TP_E_COMPARISONS: break;
    }
    return tp_expr_is_bool(g->v->p, e) ? shift(g, definition(g, e, upper, 0), upper ? k - 1 : -k) : 0;
}

static bool is_atom(const tp_poly *p)
{
    return p->ok && p->n == 1 && p->terms[0].degree == 1 && p->terms[0].coef == 1;
}

static uint32_t at_least(goal *g, tp_expr e, int64_t lo)
{
    tp_poly p;
    poly(g, e, &p);
    if (lo < -HUGE)
        return 0;
    if (is_atom(&p))
        return atom_bound(g, p.terms[0].factors[0], lo, false);
    add_constant(&p, -lo);
    return positive(g, &p);
}

static uint32_t at_most(goal *g, tp_expr e, int64_t hi)
{
    tp_poly p, room;
    poly(g, e, &p);
    if (is_atom(&p))
        return atom_bound(g, p.terms[0].factors[0], hi, true);
    linear(&room, -1, &p, 0, &p, hi);
    return positive(g, &room);
}

/* ---- elimination ---- */

/* +1: every coefficient >= 0 over atoms known to be >= 0; -1: <= 0; 0: neither */
static int sign_of(goal *g, const tp_poly *p)
{
    int sign = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        for (uint32_t k = 0; k < p->terms[i].degree; k++)
            if (range_of(g, p->terms[i].factors[k]).lo < 0)
                return 0;
        int s = p->terms[i].coef > 0 ? 1 : -1;
        if (sign && s != sign)
            return 0;
        sign = s;
    }
    return sign ? sign : 1;
}

/* The line sign * p >= 0 that sign_of() promised. */
static uint32_t sign_line(goal *g, const tp_poly *p, int sign)
{
    tp_product *t = TP_NEWN(g->v->scratch, tp_product, p->n + 1);
    for (uint32_t i = 0; i < p->n; i++) {
        t[i].coef = sign * p->terms[i].coef;
        t[i].n = p->terms[i].degree;
        for (uint32_t k = 0; k < t[i].n; k++)
            if (!(t[i].refs[k] = atom_bound(g, p->terms[i].factors[k], 0, false)))
                return 0;
    }
    return tp_line_sum(g->v, g->lines, t, p->n);
}

/* coef * value + rest >= 0 */
static uint32_t combine(goal *g, const tp_poly *coef, const tp_poly *value, const tp_poly *rest)
{
    tp_poly a;
    tp_poly_mul(coef, value, &a);
    tp_poly_add(&a, rest, 1);
    return positive(g, &a);
}

static uint32_t at_value(goal *g, const tp_poly *coef, const tp_poly *rest, tp_expr value)
{
    if (!value.id)
        return 0;
    tp_poly v;
    poly(g, value, &v);
    return combine(g, coef, &v, rest);
}

static uint32_t at_constant(goal *g, const tp_poly *coef, const tp_poly *rest, int64_t value)
{
    tp_poly c;
    tp_poly_constant(&c, value);
    return value != INT64_MIN && value != INT64_MAX ? combine(g, coef, &c, rest) : 0;
}

/* P = coef * v + rest from its value at one end and how far v is from there:
 * coef * (v - lo) or -coef * (hi - v). */
static uint32_t from_end(goal *g, uint32_t end, const tp_poly *coef, int sign, uint32_t distance)
{
    uint32_t s = end && distance ? sign_line(g, coef, sign) : 0;
    return s ? sum(g, end, s, distance) : 0;
}

static uint32_t from_ends(goal *g, const tp_poly *coef, uint32_t at_hi, uint32_t at_lo, uint32_t above, uint32_t below)
{
    if (!at_hi || !at_lo || !above || !below)
        return 0;
    tp_expr f = tp_poly_expr(g->v->p, coef);
    return line(g, (tp_line){.rule = TP_LINE_ENDS, .factor = f, .refs = {at_hi, at_lo, above, below}});
}

static uint32_t eliminate_quotient(goal *g, tp_expr v, const tp_expr_node *n, const tp_poly *p, const tp_poly *coef,
                                   const tp_poly *rest, int sign)
{
    tp_poly bound, b, more, next, scaled;
    bool up = n->op == TP_E_CDIV;
    uint32_t divisor, end;
    if (sign == 0 || range_of(g, n->b).lo < 1)
        return 0;
    poly(g, n->a, &bound);
    poly(g, n->b, &b);
    if (sign > 0 && !up) { /* b*q >= a - b + 1 */
        tp_poly_add(&bound, &b, -1);
        add_constant(&bound, 1);
    } else if (sign < 0 && up) { /* b*q <= a + b - 1 */
        tp_poly_add(&bound, &b, 1);
        add_constant(&bound, -1);
    }
    /* integers: b*(P + 1) >= 1 is enough */
    tp_poly_copy(&more, rest);
    add_constant(&more, 1);
    tp_poly_copy(&next, p);
    add_constant(&next, 1);
    tp_poly_mul(&b, &more, &scaled);
    add_constant(&scaled, -1);
    if (!next.ok || !(end = combine(g, coef, &bound, &scaled)) || !(divisor = at_least(g, n->b, 1)))
        return 0;
    uint32_t distance = definition(g, v, (sign > 0) != up, divisor);
    return cancel(g, from_end(g, end, coef, sign, distance), divisor, &next);
}

static uint32_t eliminate_step(goal *g, const tp_var *x, const tp_poly *coef, const tp_poly *rest, int sign)
{
    uint32_t at_lo = sign < 0 ? 0 : at_value(g, coef, rest, x->lo);
    if (sign >= 0 && !at_lo)
        return 0;
    uint32_t at_hi = sign > 0 ? 0 : at_value(g, coef, rest, x->hi);
    if (sign <= 0 && !at_hi)
        return 0;
    uint32_t above = sign < 0 ? 0 : line(g, (tp_line){.rule = TP_LINE_LOWER, .number = x->sym});
    uint32_t below = sign > 0 ? 0 : line(g, (tp_line){.rule = TP_LINE_UPPER, .number = x->sym});
    if (sign)
        return from_end(g, sign > 0 ? at_lo : at_hi, coef, sign, sign > 0 ? above : below);
    return from_ends(g, coef, at_hi, at_lo, above, below);
}

static uint32_t eliminate_remainder(goal *g, tp_expr v, const tp_expr_node *n, const tp_poly *coef, const tp_poly *rest,
                                    int sign)
{
    tp_expr last = tp_op2(g->v->p, TP_E_SUB, n->b, tp_const(g->v->p, 1));
    uint32_t divisor, at_hi, at_lo;
    if (range_of(g, n->b).lo < 1)
        return 0;
    at_hi = sign > 0 ? 0 : at_value(g, coef, rest, last);
    at_lo = (sign <= 0 && !at_hi) || sign < 0 ? 0 : at_constant(g, coef, rest, 0);
    if ((sign <= 0 && !at_hi) || (sign >= 0 && !at_lo) || !(divisor = at_least(g, n->b, 1)))
        return 0;
    if (sign)
        return from_end(g, sign > 0 ? at_lo : at_hi, coef, sign, definition(g, v, sign < 0, divisor));
    return from_ends(g, coef, at_hi, at_lo, definition(g, v, 0, divisor), definition(g, v, 1, divisor));
}

static uint32_t eliminate(goal *g, tp_expr v, const tp_poly *p, const tp_poly *coef, const tp_poly *rest)
{
    tp_expr_node n = *tp_expr_get(g->v->p, v);
    const tp_var *x = var_of(g, v);
    int sign = sign_of(g, coef);
    uint32_t found = 0;
    if (x && x->step)
        return eliminate_step(g, x, coef, rest, sign);
    switch (n.op) {
    case TP_E_FLOORDIV:
    case TP_E_CDIV:
        if ((found = eliminate_quotient(g, v, &n, p, coef, rest, sign)))
            return found;
        break;
    case TP_E_MOD: return eliminate_remainder(g, v, &n, coef, rest, sign);
    case TP_E_MIN:
    case TP_E_MAX:
        if ((n.op == TP_E_MIN && sign < 0) || (n.op == TP_E_MAX && sign > 0)) /* on the helpful side of both */
            return (found = at_value(g, coef, rest, n.a))
                       ? from_end(g, found, coef, sign, definition(g, v, 0, 0))
                       : from_end(g, at_value(g, coef, rest, n.b), coef, sign, definition(g, v, 1, 0));
        found = at_value(g, coef, rest, n.a); /* it is one of the two */
        return found ? cases(g, v, coef, found, at_value(g, coef, rest, n.b)) : 0;
    case TP_E_ITE:
        found = at_value(g, coef, rest, n.b);
        return found ? cases(g, v, coef, found, at_value(g, coef, rest, n.c)) : 0;
    case TP_E_ALIGN_UP:
    case TP_E_POW2:
    case TP_E_LEAVES:
    case TP_E_RING:
    case TP_E_BITS:
    case TP_E_CONNECTIVES:
    case TP_E_COMPARISONS: break;
    }
    tp_interval range = range_of(g, v);
    if (sign < 0 && (found = at_constant(g, coef, rest, range.hi)))
        return from_end(g, found, coef, sign, atom_bound(g, v, range.hi, true));
    if (sign > 0 && (found = at_constant(g, coef, rest, range.lo)))
        return from_end(g, found, coef, sign, atom_bound(g, v, range.lo, false));
    return 0;
}

/* all += t with every atom of a least value other than 0 replaced by that value
 * plus a non-negative rest. */
static bool shift_term(goal *g, const tp_term *t, tp_poly *all)
{
    tp_poly room[2];
    tp_expr moved[TP_POLY_MAX_DEGREE];
    int64_t least[TP_POLY_MAX_DEGREE];
    uint32_t n = 0, now = 0;
    tp_term still = {.coef = t->coef};
    for (uint32_t k = 0; k < t->degree; k++) {
        int64_t lo = range_of(g, t->factors[k]).lo;
        if (lo == INT64_MIN)
            return false;
        if (lo == 0) {
            still.factors[still.degree++] = t->factors[k];
        } else {
            moved[n] = t->factors[k];
            least[n++] = lo;
        }
    }
    if (n == 0) {
        tp_poly_add_term(all, &still);
        return true;
    }
    room[0].n = 0;
    room[0].ok = true;
    tp_poly_add_term(&room[0], &still);
    for (uint32_t k = 0; k < n; k++, now = !now) {
        tp_poly factor;
        tp_poly_constant(&factor, least[k]);
        tp_poly_add_term(&factor, &(tp_term){.coef = 1, .degree = 1, .factors = {moved[k]}});
        tp_poly_mul(&room[now], &factor, &room[!now]);
    }
    tp_poly_add(all, &room[now], 1);
    return true;
}

/* P with every atom replaced by its least value plus a non-negative rest. */
static uint32_t shift_atoms(goal *g, const tp_poly *p)
{
    tp_poly all;
    tp_poly_constant(&all, 0);
    for (uint32_t i = 0; i < p->n; i++)
        if (!shift_term(g, &p->terms[i], &all))
            return 0;
    for (uint32_t i = 0; i < all.n; i++)
        if (all.terms[i].coef < 0)
            return 0;
    if (!all.ok)
        return 0;
    tp_product *t = TP_NEWN(g->v->scratch, tp_product, all.n + 1);
    for (uint32_t i = 0; i < all.n; i++) {
        t[i] = (tp_product){.coef = all.terms[i].coef, .n = all.terms[i].degree};
        for (uint32_t k = 0; k < t[i].n; k++) {
            tp_expr atom = all.terms[i].factors[k];
            if (!(t[i].refs[k] = atom_bound(g, atom, range_of(g, atom).lo, false)))
                return 0;
        }
    }
    return tp_line_sum(g->v, g->lines, t, all.n);
}

/* The atom of P of the highest rank below `limit`; no id: none. */
static tp_expr next_atom(const goal *g, const tp_poly *p, uint64_t limit, uint64_t *rank)
{
    tp_expr v = {0};
    *rank = 0;
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < p->terms[i].degree; k++) {
            uint64_t r = rank_of(g, p->terms[i].factors[k]);
            if (r > *rank && r < limit) {
                *rank = r;
                v = p->terms[i].factors[k];
            }
        }
    return v;
}

static uint32_t positive(goal *g, const tp_poly *p)
{
    tp_poly coef, rest;
    uint64_t rank = UINT64_MAX;
    uint32_t found;
    tp_spend(g->v->scratch, 64 + 16 * p->n);
    if (g->budget-- <= 0 || !p->ok)
        return 0;
    if ((found = shift_atoms(g, p)))
        return found;
    do { /* sizes in any order */
        tp_expr v = next_atom(g, p, rank, &rank);
        if (v.id && split(p, v, &coef, &rest) && (found = eliminate(g, v, p, &coef, &rest)))
            return found;
    } while (rank >> 32 == 1 && g->budget > 0);
    return 0;
}

uint32_t tp_poly_at_least_0(tp_prover *v, const tp_obligation *o, const tp_poly *p, tp_lines *lines)
{
    goal g = {.v = v, .o = o, .lines = lines, .budget = 60, .bounds = 400};
    return positive(&g, p);
}

/* a - b, as a line's polynomial */
static void difference(goal *g, tp_expr a, tp_expr b, tp_poly *out)
{
    tp_poly q;
    poly(g, a, out);
    poly(g, b, &q);
    tp_poly_add(out, &q, -1);
}

uint32_t tp_atom_facts(tp_prover *v, const tp_obligation *o, tp_expr atom, tp_lines *lines, tp_poly out[2],
                       uint32_t number[2])
{
    goal g = {.v = v, .o = o, .lines = lines, .budget = 20, .bounds = 40};
    tp_expr_node n = *tp_expr_get(v->p, atom);
    const tp_var *x = var_of(&g, atom);
    tp_poly e, b, inner, product;
    uint32_t divisor, facts = 0;
    switch (n.op) {
    case TP_E_SYM:
        if (x && x->lo.id) {
            difference(&g, atom, x->lo, &out[facts]);
            number[facts++] = line(&g, (tp_line){.rule = TP_LINE_LOWER, .number = x->sym});
        }
        if (x && x->hi.id) {
            difference(&g, x->hi, atom, &out[facts]);
            number[facts++] = line(&g, (tp_line){.rule = TP_LINE_UPPER, .number = x->sym});
        }
        return facts;
    case TP_E_FLOORDIV:
    case TP_E_CDIV:
    case TP_E_MOD:
        if (range_of(&g, n.b).lo < 1 || !(divisor = at_least(&g, n.b, 1)))
            return 0;
        poly(&g, atom, &e);
        poly(&g, n.b, &b);
        poly(&g, n.a, &inner);
        tp_poly_mul(&b, &e, &product);
        if (n.op == TP_E_MOD)
            tp_poly_copy(&out[0], &e);
        else
            linear(&out[0], n.op == TP_E_FLOORDIV ? 1 : -1, &inner, n.op == TP_E_FLOORDIV ? -1 : 1, &product, 0);
        linear(&out[1], 1, &b, -1, &out[0], -1);
        number[0] = definition(&g, atom, 0, divisor);
        number[1] = definition(&g, atom, 1, divisor);
        return 2;
    case TP_E_MIN:
    case TP_E_MAX:
        for (uint32_t side = 0; side < 2; side++) {
            tp_expr arm = side ? n.b : n.a;
            difference(&g, n.op == TP_E_MIN ? arm : atom, n.op == TP_E_MIN ? atom : arm, &out[side]);
            number[side] = definition(&g, atom, side, 0);
        }
        return 2;
    case TP_E_CONST:
    case TP_E_READ:
    case TP_E_TOO_LARGE:
    case TP_E_ALIGN_UP:
    case TP_E_POW2:
    case TP_E_ITE:
    case TP_E_RING:
    case TP_E_BITS:
    case TP_E_CONNECTIVES:
    case TP_E_COMPARISONS: break;
    }
    return 0;
}
