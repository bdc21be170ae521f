/* Replaying derivations: each step is an instance of its law. */
#include "smt/trust/real.h"

enum { MAX_BOUND = 24, MAX_WORK = 3000000, MAX_GIVEN = 40 };

typedef struct check {
    tp_reals f;
    const tp_derivation *d;
    tp_replayed *out;
    TP_VEC(tp_expr) premises; /* in the checker's pool */
    TP_VEC(uint32_t) rule_step;
    uint32_t step;
    bool lenient;
} check;

const tp_law_row *tp_law_info(tp_law law)
{
    static const tp_law_row ROWS[TP_ALL_LAWS] = {
#define LAW(id, name, statement) [TP_LAW_##id] = {name, statement},
#define OPEN(id, name, statement) [TP_LAW_##id] = {name, statement},
#include "smt/trust/laws.def"
    };
    return &ROWS[law];
}

/* ---- side conditions ---- */

/* What holds where a side condition is asked for, beside the premises. */
typedef struct here {
    tp_str given[MAX_GIVEN]; /* keys of guards */
    uint32_t n;
    const tp_real_atom *points; /* its counters are within their extents; NULL: none */
} here;

static void give(check *c, here *h, tp_str key)
{
    if (h->n == MAX_GIVEN)
        tp_reals_stop(&c->f, "a step has too many conditions");
    h->given[h->n++] = key;
}

static tp_expr less(check *c, tp_expr a, tp_expr b)
{
    return tp_op2(c->f.own.to, TP_E_LT, a, b);
}

static tp_expr at_least(check *c, tp_expr a, int64_t b)
{
    return tp_op2(c->f.own.to, TP_E_GE, a, tp_const(c->f.own.to, b));
}

static tp_real_guard guard_of(check *c, tp_expr condition)
{
    tp_real_guard g;
    if (!tp_reals_guard(&c->f, condition, &g))
        tp_reals_stop(&c->f, "a side condition is more than a comparison");
    return g;
}

static tp_expr counter(check *c, const tp_real_atom *a, uint32_t i)
{
    return tp_sym(c->f.own.to, a->counter[i]);
}

/* 0 <= counter < extent, of the i-th counter. */
static void range(check *c, const tp_real_atom *a, uint32_t i, tp_expr bounds[2])
{
    bounds[0] = at_least(c, counter(c, a, i), 0);
    bounds[1] = less(c, counter(c, a, i), a->extent[i]);
}

/* Conditions of points: guards of the fold, or those that all of a sum stands under. */
static uint32_t conditions_of(const tp_real_atom *a, const tp_real_guard **at)
{
    bool sum = tp_str_is(a->op, "sum");
    *at = sum ? a->arg[0]->at[0].guard : a->guard;
    return sum ? a->arg[0]->at[0].nguards : a->nguards;
}

static here at_points(check *c, const tp_real_atom *a)
{
    here h = {.points = a};
    const tp_real_guard *g;
    uint32_t n = conditions_of(a, &g);
    for (uint32_t i = 0; i < a->counters; i++) {
        tp_expr bounds[2];
        range(c, a, i, bounds);
        give(c, &h, guard_of(c, bounds[0]).key);
        give(c, &h, guard_of(c, bounds[1]).key);
    }
    for (uint32_t i = 0; i < n; i++)
        give(c, &h, g[i].key);
    return h;
}

static bool same_index(check *c, tp_expr a, tp_expr b)
{
    return a.id == b.id || (a.id && b.id && tp_str_eq(tp_reals_key(&c->f, a), tp_reals_key(&c->f, b)));
}

/* Is it one of the free variables, with these bounds and no others? */
static bool is_free(check *c, const tp_var *x)
{
    tp_own *own = &c->f.own;
    for (uint32_t i = 0; i < c->d->nvars; i++) {
        const tp_var *v = &c->d->vars[i];
        bool same = v->sym == x->sym && v->multiple_of == x->multiple_of && v->nchoices == x->nchoices &&
                    tp_same(tp_own_copy(own, v->lo), tp_own_copy(own, x->lo)) &&
                    tp_same(tp_own_copy(own, v->hi), tp_own_copy(own, x->hi));
        for (uint32_t k = 0; k < x->nchoices && same; k++)
            same = v->choices[k] == x->choices[k];
        if (same)
            return true;
    }
    return false;
}

/* Is it a counter of these points? Its own bounds leave none of them out. */
static bool is_counter(check *c, const tp_var *x, const here *h)
{
    enum { UNBOUNDED = 60 }; /* no extent is larger than 2^60 */
    tp_exprs *p = c->f.own.to;
    uint32_t sym;
    int64_t lo, hi;
    tp_expr from = tp_own_copy(&c->f.own, x->lo), to = tp_own_copy(&c->f.own, x->hi);
    if (!h->points || !tp_own_symbol(&c->f.own, x->sym, &sym) || x->nchoices || x->choices || x->multiple_of != 1 ||
        !tp_expr_is_const(p, from, &lo) || lo > 0)
        return false;
    for (uint32_t i = 0; i < h->points->counters; i++)
        if (h->points->counter[i] == sym)
            return (tp_expr_is_const(p, to, &hi) && hi >= ((int64_t)1 << UNBOUNDED) - 1) ||
                   same_index(c, to, tp_op2(p, TP_E_SUB, h->points->extent[i], tp_const(p, 1)));
    return false;
}

static bool is_given(check *c, tp_expr premise, const here *h)
{
    tp_real_guard g;
    int64_t v;
    for (uint32_t i = 0; i < c->premises.len; i++)
        if (tp_same(c->premises.at[i], premise))
            return true;
    if (tp_expr_too_large(premise))
        return false;
    if (tp_expr_is_const(c->f.own.to, premise, &v))
        return v != 0;
    if (!tp_reals_guard(&c->f, premise, &g))
        return false;
    for (uint32_t i = 0; i < h->n; i++)
        if (tp_str_eq(h->given[i], g.key))
            return true;
    return false;
}

static bool says(check *c, const tp_side *side, tp_str goal, const here *h)
{
    tp_real_guard g;
    tp_expr own = tp_own_copy(&c->f.own, side->o.goal);
    bool yes = own.id && !tp_expr_too_large(own) && tp_reals_guard(&c->f, own, &g) && tp_str_eq(g.key, goal);
    for (uint32_t i = 0; i < side->o.nvars && yes; i++)
        yes = is_free(c, &side->o.vars[i]) || is_counter(c, &side->o.vars[i], h);
    for (uint32_t i = 0; i < side->o.npremises && yes; i++)
        yes = is_given(c, tp_own_copy(&c->f.own, side->o.premises[i]), h);
    return yes;
}

static bool is_decided(check *c, const tp_real_guard *g)
{
    tp_bigpoly q = tp_big_of(&c->f.big, g->e, NULL, 0);
    mpz_srcptr v = tp_big_value(&c->f.big, &q);
    return v && (g->kind == 0 ? mpz_sgn(v) >= 0 : (mpz_sgn(v) == 0) == (g->kind == 1));
}

/* Stops unless the step names a side condition that says so here. */
static void needs(check *c, const tp_law_step *s, tp_real_guard g, const here *h)
{
    if (is_decided(c, &g))
        return;
    for (uint32_t i = 0; i < h->n; i++)
        if (tp_str_eq(h->given[i], g.key))
            return;
    for (uint32_t i = 0; i < s->nsides; i++)
        if (s->sides[i] < c->d->nsides && says(c, &c->d->sides[s->sides[i]], g.key, h))
            return;
    tp_reals_stop(&c->f, "a side condition is missing");
}

static void needs_that(check *c, const tp_law_step *s, tp_expr condition, const here *h)
{
    needs(c, s, guard_of(c, condition), h);
}

/* ---- what steps speak of ---- */

static const tp_real_view PLAIN = {NULL, 0, NULL, 0};

static const tp_real_node *node_at(check *c, uint32_t id)
{
    if (id == 0 || id > c->d->nreals)
        tp_reals_stop(&c->f, "a step names a node that is not there");
    return &c->d->reals[id - 1];
}

/* A fold exactly as it is written, as the one atom that it is. */
static const tp_real_atom *fold_at(check *c, uint32_t id, tp_real_view view, tp_str *key)
{
    if (node_at(c, id)->kind != TP_REAL_OVER)
        tp_reals_stop(&c->f, "the law is about folds");
    const tp_real_atom *a = tp_reals_atom(tp_reals_of(&c->f, id, view), key);
    if (!a || a->kind != TP_REAL_FOLD)
        tp_reals_stop(&c->f, "the fold is not one term as it is written");
    return a;
}

static const tp_real_atom *sum_at(check *c, uint32_t id, tp_real_view view, tp_str *key)
{
    const tp_real_atom *a = fold_at(c, id, view, key);
    if (!tp_str_is(a->op, "sum") || a->arg[0]->n != 1)
        tp_reals_stop(&c->f, "the law is about sums of one product");
    return a;
}

static bool mentions_counter(check *c, tp_expr e, const tp_real_atom *a)
{
    for (uint32_t i = 0; i < a->counters; i++)
        if (tp_expr_mentions(c->f.own.to, e, a->counter[i]))
            return true;
    return false;
}

/* Are these symbols bound by nothing and spoken of nowhere in the body of that node? */
static void must_be_new(check *c, uint32_t id, const uint32_t *sym, uint32_t n, const tp_real_atom *a)
{
    tp_exprs *p = c->f.own.to;
    tp_expr *with = TP_NEWN(c->f.arena, tp_expr, tp_sym_count(p));
    tp_real_view other = {with, tp_sym_count(p), NULL, 0};
    uint32_t body = node_at(c, id)->arg[0];
    for (uint32_t i = 0; i < n; i++) {
        with[sym[i]] = tp_const(p, -77001 - (int64_t)i); /* no change: it is not there */
        for (uint32_t k = 0; k < a->counters; k++)
            if (a->counter[k] == sym[i] || tp_expr_mentions(p, a->extent[k], sym[i]))
                tp_reals_stop(&c->f, "a counter is not new");
    }
    if (!tp_reals_same(&c->f, tp_reals_of(&c->f, body, PLAIN), tp_reals_of(&c->f, body, other)))
        tp_reals_stop(&c->f, "a counter is not new");
}

static void must(check *c, bool holds, const char *why)
{
    if (!holds)
        tp_reals_stop(&c->f, why);
}

/* ---- laws ---- */

static tp_real_view with_symbol(check *c, uint32_t sym, tp_expr by)
{
    uint32_t n = tp_sym_count(c->f.own.to);
    tp_expr *with = TP_NEWN(c->f.arena, tp_expr, n);
    with[sym] = by;
    return (tp_real_view){with, n, NULL, 0};
}

static const tp_real_form *body_of(check *c, uint32_t id, tp_real_view view)
{
    return tp_reals_of(&c->f, node_at(c, id)->arg[0], view);
}

/* `one` has counter u at k where `two` has k1 at `first` and k2 at `second`; the others are the same. */
static void others_same(check *c, const tp_real_atom *two, uint32_t first, uint32_t second, const tp_real_atom *one,
                        uint32_t u)
{
    must(c, two->counters == one->counters + 1 && first < two->counters && second < two->counters && first != second,
         "the counters are not those of the law");
    for (uint32_t i = 0, k = 0; i < two->counters; i++) {
        must(c, i == first || i == second || !mentions_counter(c, two->extent[i], two), "an extent is not constant");
        if (i == second)
            continue;
        must(c, (k == u) == (i == first), "the counters are not those of the law");
        must(c, k == u || (two->counter[i] == one->counter[k] && same_index(c, two->extent[i], one->extent[k])),
             "another counter is changed");
        must(c, !mentions_counter(c, one->extent[k], one), "an extent is not constant");
        k++;
    }
    must(c, !mentions_counter(c, two->extent[first], two) && !mentions_counter(c, two->extent[second], two),
         "an extent is not constant");
}

static tp_str replay_digits(check *c, const tp_law_step *s)
{
    tp_exprs *p = c->f.own.to;
    tp_str key, other;
    const tp_real_atom *a = sum_at(c, s->from, PLAIN, &key), *b = sum_at(c, s->to, PLAIN, &other);
    uint32_t u = s->k - (s->t < s->k);
    here h = {.n = 0};
    must(c, s->k < a->counters && s->t < a->counters && u < b->counters, "there is no such counter");
    others_same(c, a, s->k, s->t, b, u);
    must(c, same_index(c, b->extent[u], tp_op2(p, TP_E_MUL, a->extent[s->k], a->extent[s->t])),
         "the extent is not the product of both");
    const uint32_t gone[] = {a->counter[s->k], a->counter[s->t]};
    must_be_new(c, s->from, &b->counter[u], 1, a);
    must_be_new(c, s->to, gone, 2, b);
    needs_that(c, s, at_least(c, a->extent[s->t], 1), &h);
    tp_expr both = tp_op2(p, TP_E_ADD, tp_op2(p, TP_E_MUL, counter(c, a, s->k), a->extent[s->t]), counter(c, a, s->t));
    must(c, tp_reals_same(&c->f, body_of(c, s->to, with_symbol(c, b->counter[u], both)), body_of(c, s->from, PLAIN)),
         "the summands are not the same");
    return key;
}

static tp_str replay_split(check *c, const tp_law_step *s)
{
    tp_exprs *p = c->f.own.to;
    tp_str key, other;
    int64_t by;
    const tp_real_atom *a = sum_at(c, s->from, PLAIN, &key), *b = sum_at(c, s->to, PLAIN, &other);
    here h = {.n = 0};
    must(c, s->k < a->counters && s->k + 1 < b->counters, "there is no such counter");
    others_same(c, b, s->k, s->k + 1, a, s->k);
    tp_expr low_extent = b->extent[s->k + 1];
    must(c, tp_expr_is_const(p, low_extent, &by) && by >= 1, "the divisor is not a constant of 1 or more");
    must_be_new(c, s->from, &b->counter[s->k], 2, a);
    needs_that(c, s, tp_op2(p, TP_E_EQ, tp_op2(p, TP_E_MUL, b->extent[s->k], low_extent), a->extent[s->k]), &h);
    tp_expr high = counter(c, b, s->k), low = counter(c, b, s->k + 1),
            both = tp_op2(p, TP_E_ADD, tp_op2(p, TP_E_MUL, low_extent, high), low);
    tp_exchange digits[] = {{tp_op2(p, TP_E_FLOORDIV, both, low_extent), high},
                            {tp_op2(p, TP_E_MOD, both, low_extent), low}};
    tp_real_view v = with_symbol(c, a->counter[s->k], both);
    v.exchanges = digits;
    v.nexchanges = 2;
    must(c, tp_reals_same(&c->f, body_of(c, s->from, v), body_of(c, s->to, PLAIN)), "the summands are not the same");
    return key;
}

/* from is to, here: by what min, max and choices mean, or as it is said. */
static void exchange_holds(check *c, const tp_law_step *s, tp_exchange x, const here *h)
{
    tp_exprs *p = c->f.own.to;
    const tp_expr_node n = *tp_expr_get(p, x.from);
    must(c, x.from.id && x.to.id && !tp_expr_too_large(x.from) && !tp_expr_too_large(x.to), "an exchange is too large");
    if ((n.op == TP_E_MIN || n.op == TP_E_MAX) && (tp_same(x.to, n.a) || tp_same(x.to, n.b))) {
        bool first = tp_same(x.to, n.a), min = n.op == TP_E_MIN;
        needs_that(c, s, tp_op2(p, first == min ? TP_E_LE : TP_E_GE, n.a, n.b), h);
    } else if (n.op == TP_E_ITE && (tp_same(x.to, n.b) || tp_same(x.to, n.c))) {
        needs_that(c, s, tp_same(x.to, n.b) ? n.a : tp_op1(p, TP_E_NOT, n.a), h);
    } else {
        needs_that(c, s, tp_op2(p, TP_E_EQ, x.from, x.to), h);
    }
}

static tp_real_view exchanges_of(check *c, const tp_law_step *s)
{
    tp_exchange *own = TP_NEWN(c->f.arena, tp_exchange, s->nexchanges + 1);
    for (uint32_t i = 0; i < s->nexchanges; i++)
        own[i] =
            (tp_exchange){tp_own_copy(&c->f.own, s->exchanges[i].from), tp_own_copy(&c->f.own, s->exchanges[i].to)};
    return (tp_real_view){NULL, 0, own, s->nexchanges};
}

static void same_counters(check *c, const tp_real_atom *a, const tp_real_atom *b, bool extents)
{
    must(c, a->counters == b->counters && tp_str_eq(a->op, b->op), "the folds are not of one kind");
    for (uint32_t i = 0; i < a->counters; i++)
        must(c, a->counter[i] == b->counter[i] && (!extents || same_index(c, a->extent[i], b->extent[i])),
             "the counters are not the same");
}

static bool stands_under(const tp_real_atom *a, tp_str key)
{
    const tp_real_guard *g;
    uint32_t n = conditions_of(a, &g);
    for (uint32_t i = 0; i < n; i++)
        if (tp_str_eq(g[i].key, key))
            return true;
    return false;
}

static tp_str replay_under(check *c, const tp_law_step *s)
{
    tp_str key, other;
    const tp_real_atom *a = sum_at(c, s->from, PLAIN, &key), *b = sum_at(c, s->to, PLAIN, &other);
    const tp_real_guard *g;
    tp_real_view v = exchanges_of(c, s);
    here h = at_points(c, a);
    uint32_t n = conditions_of(a, &g);
    same_counters(c, a, b, true);
    for (uint32_t i = 0; i < n; i++) /* where one fails, both sides are 0 */
        must(c, stands_under(b, g[i].key), "a condition is lost");
    for (uint32_t i = 0; i < v.nexchanges; i++)
        exchange_holds(c, s, v.exchanges[i], &h);
    must(c, tp_reals_same(&c->f, body_of(c, s->from, v), body_of(c, s->to, PLAIN)), "the summands are not the same");
    return key;
}

static tp_str replay_guard(check *c, const tp_law_step *s)
{
    tp_str key, other;
    const tp_real_atom *a = sum_at(c, s->from, PLAIN, &key), *b = sum_at(c, s->to, PLAIN, &other);
    const tp_real_form *body = b->arg[0];
    const tp_real_guard *g;
    here h = at_points(c, b);
    uint32_t n = conditions_of(a, &g);
    same_counters(c, a, b, true);
    for (uint32_t i = 0; i < n; i++)
        if (!stands_under(b, g[i].key)) {
            needs(c, s, g[i], &h);
            body = tp_reals_under(&c->f, body, g[i]);
        }
    must(c, tp_reals_same(&c->f, a->arg[0], body), "the summands are not the same");
    return key;
}

static tp_str replay_count(check *c, const tp_law_step *s)
{
    tp_exprs *p = c->f.own.to;
    tp_str key;
    const tp_real_atom *a = sum_at(c, s->from, PLAIN, &key);
    const tp_real_product *one = &a->arg[0]->at[0];
    const tp_real_node *to = node_at(c, s->to);
    here h = {.n = 0};
    must(c, to->kind == TP_REAL_INTEGER && a->counters == 1, "the law counts one counter");
    tp_expr end = tp_own_copy(&c->f.own, to->e);
    must(c, one->num == 1 && one->den == 1 && !one->nfactors && !one->exponent && one->nguards <= 1,
         "the law is about sums of ones");
    must(c, !tp_expr_too_large(end) && !mentions_counter(c, end, a), "the number depends on the counter");
    needs_that(c, s, at_least(c, end, 0), &h);
    if (one->nguards) {
        must(c, tp_str_eq(one->guard[0].key, guard_of(c, less(c, counter(c, a, 0), end)).key),
             "the condition is not the number's");
        needs_that(c, s, tp_op2(p, TP_E_LE, end, a->extent[0]), &h);
    } else {
        must(c, same_index(c, end, a->extent[0]), "the number is not the extent");
    }
    return key;
}

/* Each point of a is one of b. */
static void points_within(check *c, const tp_law_step *s, const tp_real_atom *a, const tp_real_atom *b)
{
    here h = at_points(c, a);
    const tp_real_guard *g;
    uint32_t n = conditions_of(b, &g);
    for (uint32_t i = 0; i < b->counters; i++) {
        tp_expr bounds[2];
        range(c, b, i, bounds);
        needs_that(c, s, bounds[0], &h);
        needs_that(c, s, bounds[1], &h);
    }
    for (uint32_t i = 0; i < n; i++)
        needs(c, s, g[i], &h);
}

static const tp_real_form *at_all(check *c, const tp_real_form *x, const tp_real_atom *a)
{
    const tp_real_guard *g;
    uint32_t n = conditions_of(a, &g);
    for (uint32_t i = 0; i < n; i++)
        x = tp_reals_under(&c->f, x, g[i]);
    return x;
}

static tp_str replay_points(check *c, const tp_law_step *s)
{
    tp_str key, other;
    const tp_real_atom *a = fold_at(c, s->from, PLAIN, &key), *b = fold_at(c, s->to, PLAIN, &other);
    tp_real_view v = exchanges_of(c, s);
    bool sum = tp_str_is(a->op, "sum");
    if (sum) {
        sum_at(c, s->from, PLAIN, &key);
        sum_at(c, s->to, PLAIN, &other);
    }
    here h = at_points(c, a);
    same_counters(c, a, b, false);
    points_within(c, s, a, b);
    points_within(c, s, b, a);
    for (uint32_t i = 0; i < v.nexchanges; i++)
        exchange_holds(c, s, v.exchanges[i], &h);
    tp_str seen;
    const tp_real_atom *x = fold_at(c, s->from, v, &seen);
    same_counters(c, a, x, false);
    const tp_real_form *left = at_all(c, at_all(c, x->arg[0], a), b), *right = at_all(c, at_all(c, b->arg[0], a), b);
    must(c, tp_reals_same(&c->f, left, right), "the summands are not the same");
    return key;
}

/* Of free variables alone? */
static bool only_free(check *c, tp_expr e)
{
    const tp_expr_node n = *tp_expr_get(c->f.own.to, e);
    if (!e.id || n.op == TP_E_CONST)
        return true;
    for (uint32_t i = 0; i < c->d->nvars && n.op == TP_E_SYM; i++) {
        uint32_t own;
        if (tp_own_symbol(&c->f.own, c->d->vars[i].sym, &own) && own == (uint32_t)n.value)
            return true;
    }
    return n.op != TP_E_SYM && n.op != TP_E_TOO_LARGE && only_free(c, n.a) && only_free(c, n.b) && only_free(c, n.c);
}

static void replay_index(check *c, const tp_law_step *s)
{
    tp_real_view v = exchanges_of(c, s);
    here h = {.n = 0};
    for (uint32_t i = 0; i < v.nexchanges; i++) {
        must(c, only_free(c, v.exchanges[i].from) && only_free(c, v.exchanges[i].to), "the index is not free");
        exchange_holds(c, s, v.exchanges[i], &h);
    }
    for (uint32_t i = 0; i < v.nexchanges; i++)
        tp_push(c->f.arena, c->f.index, v.exchanges[i]);
}

/* ---- all of it ---- */

static void replay_step(void *arg)
{
    check *c = arg;
    const tp_law_step *s = &c->d->steps[c->step];
    tp_str key = {NULL, 0};
    switch (s->law) {
    case TP_LAW_DIGITS: key = replay_digits(c, s); break;
    case TP_LAW_SPLIT: key = replay_split(c, s); break;
    case TP_LAW_UNDER: key = replay_under(c, s); break;
    case TP_LAW_GUARD: key = replay_guard(c, s); break;
    case TP_LAW_COUNT: key = replay_count(c, s); break;
    case TP_LAW_POINTS: key = replay_points(c, s); break;
    case TP_LAW_INDEX:
        replay_index(c, s);
        c->out->used[c->step] = true;
        return;
#define LAW(...)
#define OPEN(id, ...) case TP_LAW_##id:
#include "smt/trust/laws.def"
    case TP_ALL_LAWS: tp_reals_stop(&c->f, "the law has no schema");
    }
    tp_reals_rule(&c->f, key, s->to);
    tp_push(c->f.arena, c->rule_step, c->step);
}

/* References go back, so that nothing is circular. */
static void check_nodes(check *c)
{
    for (uint32_t i = 0; i < c->d->nreals; i++) {
        const tp_real_node *r = &c->d->reals[i];
        bool ok =
            r->kind < TP_REAL_KINDS && r->nargs <= 3 && r->rank <= TP_REAL_RANK && r->counters <= TP_REAL_COUNTERS;
        uint32_t arity = r->kind == TP_REAL_IF ? 2 : r->kind == TP_REAL_FOLD || r->kind == TP_REAL_OVER ? 1 : 0;
        ok = ok && (r->kind == TP_REAL_APPLY ? r->nargs > 0 : r->nargs == arity);
        ok = ok && (r->kind != TP_REAL_FOLD || r->counters == 1) && (r->kind != TP_REAL_OVER || r->counters > 0);
        for (uint32_t k = 0; ok && k < r->nargs; k++)
            ok = r->arg[k] >= 1 && r->arg[k] <= i;
        must(c, ok, "a node refers to one that is not before it");
    }
}

static void replay_all(void *arg)
{
    check *c = arg;
    const tp_derivation *d = c->d;
    check_nodes(c);
    for (uint32_t i = 0; i < MAX_BOUND; i++)
        tp_push(c->f.arena, c->f.bound, tp_sym_new(c->f.own.to, tp_printf(c->f.arena, "%%%u", i)));
    for (uint32_t i = 0; i < d->npremises; i++)
        tp_push(c->f.arena, c->premises, tp_own_copy(&c->f.own, d->premises[i]));
    for (c->step = 0; c->step < d->nsteps; c->step++) {
        if (!c->lenient) {
            replay_step(c);
            continue;
        }
        const tp_real_form **memo = c->f.memo;
        tp_real_view view = c->f.view;
        uint32_t from = c->f.from_rule;
        tp_try(c->f.arena, replay_step, c); /* what does not hold is left out */
        c->f.memo = memo;
        c->f.view = view;
        c->f.from_rule = from;
    }
    node_at(c, d->kernel);
    node_at(c, d->reference);
    const tp_real_form *kernel = tp_reals_of(&c->f, d->kernel, PLAIN),
                       *reference = tp_reals_of(&c->f, d->reference, PLAIN);
    c->step = d->nsteps;
    must(c, tp_reals_same(&c->f, kernel, reference), "kernel and reference have different normal forms");
}

static tp_replayed run(tp_arena *work, const tp_derivation *d, bool lenient)
{
    tp_replayed out = {.steps = d->nsteps, .sides = d->nsides, .used = TP_NEWN(work, bool, d->nsteps + 1)};
    check *c = TP_NEW(work, check);
    *c = (check){.d = d, .out = &out, .lenient = lenient};
    c->f = (tp_reals){.arena = work, .d = d, .own = tp_own_new(work, d->p)};
    c->f.big = (tp_bigs){.arena = work, .exprs = c->f.own.to, .budget = MAX_WORK};
    tp_status st = tp_try(work, replay_all, c);
    for (uint32_t i = 0; i < c->rule_step.len; i++)
        out.used[c->rule_step.at[i]] |= c->f.rules.at[i].used;
    tp_bigs_free(&c->f.big);
    if (st == TP_E_MEMORY)
        tp_leave(work, st);
    out.ok = st == TP_OK;
    tp_str why = c->f.why.n ? c->f.why : TP_S("it is too large to be replayed");
    if (!out.ok)
        out.why = c->step < d->nsteps ? tp_printf(work, "step %u: %.*s", c->step + 1, TP_FMT(why)) : why;
    return out;
}

tp_replayed tp_sift_derivation(tp_arena *work, const tp_derivation *d)
{
    return run(work, d, true);
}

tp_replayed tp_replay_derivation(tp_arena *work, const tp_derivation *d, bool proofs)
{
    tp_replayed out = run(work, d, false);
    for (uint32_t i = 0; i < d->nsides && out.ok && proofs; i++) {
        const tp_side *s = &d->sides[i];
        tp_str why;
        if (!s->proof) {
            out.ok = tp_check_claim(work, d->p, &s->o, &why);
        } else {
            out.ok = tp_check_proof(work, d->p, &s->o, s->proof, &why, NULL);
            out.proven += out.ok;
        }
        if (!out.ok)
            out.why = tp_printf(work, "side condition %u: %.*s", i, TP_FMT(why));
    }
    return out;
}
