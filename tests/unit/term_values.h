/* What terms and normal forms of analyzer/equality/ are at one point: a second reading of them, on arrays that the
 * machine left. */
#ifndef TP_TEST_TERM_VALUES_H
#define TP_TEST_TERM_VALUES_H

#include "analyzer/equality/sum.h"
#include "tests/unit/support.h"

#include <math.h>

/* What recurrences hold, the innermost first. */
typedef struct held_value {
    uint32_t sym;
    double v;
    const struct held_value *outer;
} held_value;

typedef struct point {
    summary *s;
    const held_value *held;
    int64_t *env;
    const tp_tensor *arrays;
    bool unknown; /* it has no value: an index outside, a division by zero */
} point;

static inline int64_t integer_at(point *p, tp_expr e)
{
    int64_t v = 0;
    p->unknown |= tp_expr_eval(p->s->p, e, p->env, &v) != TP_EVAL_OK;
    return v;
}

static inline double element_at(point *p, uint32_t operand, uint32_t rank, const tp_expr *at)
{
    const tp_tensor *t = &p->arrays[operand];
    int64_t n = 0;
    for (uint32_t d = 0; d < rank; d++) {
        int64_t i = integer_at(p, at[d]);
        if (i < 0 || i >= t->dims[d]) {
            p->unknown = true;
            return 0;
        }
        n = n * t->dims[d] + i;
    }
    return tp_get_f64(t->dtype, t->data, (size_t)n);
}

static inline double held_at(const point *p, tp_expr turn)
{
    const tp_expr_node n = *tp_expr_get(p->s->p, turn);
    assert_int_equal(n.op, TP_E_SYM);
    for (const held_value *h = p->held; h; h = h->outer)
        if (h->sym == (uint32_t)n.value)
            return h->v;
    fail_msg("nothing is held");
    return 0;
}

/* After so many turns, each of which is turn(p, body). */
static inline double scan_at(point *p, uint32_t sym, int64_t extent, double init, double (*turn)(point *p, uint32_t id),
                             uint32_t body)
{
    held_value h = {sym, init, p->held};
    for (int64_t i = 0; i < extent; i++) {
        p->env[sym] = i;
        p->held = &h;
        h.v = turn(p, body);
    }
    p->held = h.outer;
    return h.v;
}

static inline double applied_at(tp_prim prim, const double *x, int64_t exponent)
{
    switch (prim) {
    case TP_P_WHERE: return x[0] != 0 ? x[1] : x[2];
    case TP_P_INTEGER_POW: return pow(x[0], (double)exponent);
    case TP_P_CAST: return x[0]; /* over the reals */
    case TP_P_INVERT: return x[0] == 0;
    case TP_P_AND: return x[0] != 0 && x[1] != 0;
    case TP_P_OR: return x[0] != 0 || x[1] != 0;
    case TP_P_XOR: return (x[0] != 0) != (x[1] != 0);
    default: return tp_meaning_f64(prim, x[0], x[1]);
    }
}

static inline double start_of(tp_prim fold)
{
    return fold == TP_P_PROD || fold == TP_P_ALL ? 1 : fold == TP_P_MAX ? -INFINITY : fold == TP_P_MIN ? INFINITY : 0;
}

static inline double fold_in(tp_prim fold, double a, double b)
{
    switch (fold) {
    case TP_P_SUM: return a + b;
    case TP_P_PROD: return a * b;
    case TP_P_MAX: return fmax(a, b);
    case TP_P_MIN: return fmin(a, b);
    case TP_P_ANY: return a != 0 || b != 0;
    case TP_P_ALL: return a != 0 && b != 0;
    default: fail(); return 0;
    }
}

static inline double term_at(point *p, term t);

static inline double term_number_at(point *p, uint32_t id)
{
    return term_at(p, (term){id});
}

static inline bool beyond(tp_prim prim, double a, double b)
{
    return prim == TP_P_ARGMAX ? a > b : a < b;
}

/* The first place of the extreme, as it is said. */
static inline double first_at(point *p, const term_node *n)
{
    double best = NAN, at = NAN;
    int64_t extent = integer_at(p, n->e);
    for (int64_t i = 0; i < extent; i++) {
        p->env[n->sym] = i;
        double v = term_at(p, n->arg[0]);
        if (i > 0 && !beyond(n->prim, v, best))
            continue;
        p->env[n->sym] = i;
        best = v;
        at = term_at(p, n->arg[1]);
    }
    return at;
}

static inline double term_at(point *p, term t)
{
    const term_node n = *term_get(p->s, t);
    double x[3] = {0, 0, 0};
    switch (n.kind) {
    case T_INTEGER: return (double)integer_at(p, n.e);
    case T_REAL: return n.real;
    case T_READ: return element_at(p, n.operand, n.rank, n.at);
    case T_HELD: return held_at(p, n.at[0]);
    case T_NOTHING:
    case T_TURN:
    case T_BEFORE:
    case T_AFTER: fail_msg("a placeholder is left"); return 0;
    case T_SELECT: return term_at(p, n.arg[integer_at(p, n.e) == 0]);
    case T_APPLY:
        for (int i = 0; i < 3 && n.arg[i].id; i++) {
            bool chosen = n.prim != TP_P_WHERE || i == 0 || (x[0] != 0) == (i == 1);
            x[i] = chosen ? term_at(p, n.arg[i]) : 0;
        }
        return applied_at(n.prim, x, integer_at(p, n.e));
    case T_FOLD: {
        if (n.prim == TP_P_SCAN)
            return scan_at(p, n.sym, integer_at(p, n.e), term_at(p, n.arg[1]), term_number_at, n.arg[0].id);
        if (n.arg[1].id)
            return first_at(p, &n);
        double r = start_of(n.prim);
        int64_t extent = integer_at(p, n.e);
        for (p->env[n.sym] = 0; p->env[n.sym] < extent; p->env[n.sym]++)
            r = fold_in(n.prim, r, term_at(p, n.arg[0]));
        return r;
    }
    }
    return 0;
}

static inline double sum_at(point *p, uint32_t id);

static inline double power_at(double x, int n)
{
    double r = n < 0 ? 1 / x : x;
    return n == 1 || n == -1 ? r : pow(x, n);
}

static inline double fold_at(point *p, const atom *f, uint32_t i)
{
    if (i == f->counters) {
        for (uint32_t g = 0; g < f->nguards; g++)
            if (!integer_at(p, f->guard[g]))
                return start_of(f->prim);
        return sum_at(p, f->arg[0]);
    }
    double r = start_of(f->prim);
    int64_t extent = integer_at(p, f->extent[i]);
    for (p->env[f->counter[i]] = 0; p->env[f->counter[i]] < extent; p->env[f->counter[i]]++)
        r = fold_in(f->prim, r, fold_at(p, f, i + 1));
    return r;
}

/* The pair of value and place that a body is at a point. */
static inline void pair_at(point *p, uint32_t id, double *value, double *at)
{
    const sum a = *sum_get(p->s, id);
    for (uint32_t i = 0; i < a.n; i++) {
        bool holds = true;
        for (uint32_t g = 0; g < a.at[i].nguards; g++)
            holds &= integer_at(p, a.at[i].guard[g]) != 0;
        if (!holds)
            continue;
        assert_int_equal(a.at[i].nfactors, 1);
        const atom pair = *atom_get(p->s, a.at[i].factor[0].atom);
        *value = sum_at(p, pair.arg[0]);
        *at = sum_at(p, pair.arg[1]);
    }
}

typedef struct least_place {
    double value, place;
} least_place;

/* The least place of the extreme, over points in any order. */
static inline void least_at(point *p, const atom *f, uint32_t i, least_place *best)
{
    if (i == f->counters) {
        double value = NAN, first = NAN;
        for (uint32_t g = 0; g < f->nguards; g++)
            if (!integer_at(p, f->guard[g]))
                return;
        pair_at(p, f->arg[0], &value, &first);
        if (isnan(best->place) || beyond(f->prim, value, best->value) || (value == best->value && first < best->place))
            *best = (least_place){value, first};
        return;
    }
    int64_t extent = integer_at(p, f->extent[i]);
    for (int64_t k = 0; k < extent; k++) {
        p->env[f->counter[i]] = k;
        least_at(p, f, i + 1, best);
    }
}

static inline double atom_at(point *p, uint32_t id)
{
    const atom a = *atom_get(p->s, id);
    double x[3] = {0, 0, 0};
    switch (a.kind) {
    case ATOM_REAL: return a.real;
    case ATOM_INDEX: return (double)integer_at(p, a.e);
    case ATOM_ELEMENT: return a.number == T_HELD ? held_at(p, a.at[0]) : element_at(p, a.operand, a.rank, a.at);
    case ATOM_INVERSE: return 1 / sum_at(p, a.arg[0]);
    case ATOM_FOLD:
        if (prim_of_first(a.prim) != TP_PRIMS) {
            least_place best = {NAN, NAN};
            least_at(p, &a, 0, &best);
            return best.place;
        }
        if (a.prim == TP_P_SCAN)
            return scan_at(p, a.counter[0], integer_at(p, a.extent[0]), sum_at(p, a.arg[1]), sum_at, a.arg[0]);
        return fold_at(p, &a, 0);
    case ATOM_APPLY: break;
    }
    for (int i = 0; i < 3 && a.arg[i]; i++)
        x[i] = sum_at(p, a.arg[i]);
    return applied_at(a.prim, x, integer_at(p, a.e));
}

static inline double sum_at(point *p, uint32_t id)
{
    const sum a = *sum_get(p->s, id);
    double total = 0;
    for (uint32_t i = 0; i < a.n; i++) {
        const product *q = &a.at[i];
        double v = (double)q->num / (double)q->den;
        bool holds = true;
        for (uint32_t g = 0; g < q->nguards && holds; g++)
            holds = integer_at(p, q->guard[g]) != 0;
        if (!holds)
            continue;
        for (int conditions = 1; conditions >= 0 && v != 0; conditions--) /* they hide the others */
            for (uint32_t f = 0; f < q->nfactors && v != 0; f++)
                if (atom_is_condition(atom_get(p->s, q->factor[f].atom)) == (conditions == 1))
                    v *= power_at(atom_at(p, q->factor[f].atom), q->factor[f].power);
        if (q->exponent && v != 0)
            v *= exp(sum_at(p, q->exponent));
        total += v;
    }
    return total;
}

#endif
