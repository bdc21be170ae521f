/* Replaying derivations: each step is an instance of its law. */
#include "smt/trust/replay.h"

enum { MAX_BOUND = 24, MAX_WORK = 3000000 };

const tp_law_row *tp_law_info(tp_law law)
{
    static const tp_law_row ROWS[TP_ALL_LAWS] = {
#define LAW(id, name, statement) [TP_LAW_##id] = {name, statement},
#define OPEN(id, name, statement) [TP_LAW_##id] = {name, statement},
#include "smt/trust/laws.def"
    };
    return &ROWS[law];
}

/* ---- what steps speak of ---- */

static const tp_real_view PLAIN = {NULL, 0, NULL, 0};

static const tp_real_node *node_at(tp_replay *c, uint32_t id)
{
    if (id == 0 || id > c->d->nreals)
        tp_reals_stop(&c->f, "a step names a node that is not there");
    return &c->d->reals[id - 1];
}

/* A fold or a recurrence exactly as it is written, as the one atom that it is. */
static const tp_real_atom *fold_at(tp_replay *c, uint32_t id, tp_real_view view, tp_str *key)
{
    if (node_at(c, id)->kind != TP_REAL_OVER && node_at(c, id)->kind != TP_REAL_SCAN)
        tp_reals_stop(&c->f, "the law is about folds");
    const tp_real_atom *a = tp_reals_atom(tp_reals_of(&c->f, id, view), key);
    if (!a || (a->kind != TP_REAL_FOLD && a->kind != TP_REAL_SCAN))
        tp_reals_stop(&c->f, "the fold is not one term as it is written");
    return a;
}

static const tp_real_atom *sum_at(tp_replay *c, uint32_t id, tp_real_view view, tp_str *key)
{
    const tp_real_atom *a = fold_at(c, id, view, key);
    if (!tp_str_is(a->op, "sum") || a->arg[0]->n != 1)
        tp_reals_stop(&c->f, "the law is about sums of one product");
    return a;
}

static bool mentions_counter(tp_replay *c, tp_expr e, const tp_real_atom *a)
{
    for (uint32_t i = 0; i < a->counters; i++)
        if (tp_expr_mentions(c->f.own.to, e, a->counter[i]))
            return true;
    return false;
}

/* Are these symbols bound by nothing and spoken of nowhere in the body of that node? */
static void must_be_new(tp_replay *c, uint32_t id, const uint32_t *sym, uint32_t n, const tp_real_atom *a)
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

static void must(tp_replay *c, bool holds, const char *why)
{
    if (!holds)
        tp_reals_stop(&c->f, why);
}

/* Nothing that is put into the body of the node speaks of a counter there. */
static void must_not_capture(tp_replay *c, uint32_t id, tp_expr e)
{
    must(c, !tp_binders_capture(&c->f, &c->binders, node_at(c, id)->arg[0], e),
         "an expression speaks of a counter inside");
}

/* ---- laws ---- */

static tp_real_view with_symbol(tp_replay *c, uint32_t sym, tp_expr by)
{
    uint32_t n = tp_sym_count(c->f.own.to);
    tp_expr *with = TP_NEWN(c->f.arena, tp_expr, n);
    with[sym] = by;
    return (tp_real_view){with, n, NULL, 0};
}

static const tp_real_form *body_of(tp_replay *c, uint32_t id, tp_real_view view)
{
    return tp_reals_of(&c->f, node_at(c, id)->arg[0], view);
}

/* `one` has counter u at k where `two` has k1 at `first` and k2 at `second`; the others are the same. */
static void others_same(tp_replay *c, const tp_real_atom *two, uint32_t first, uint32_t second, const tp_real_atom *one,
                        uint32_t u)
{
    must(c, two->counters == one->counters + 1 && first < two->counters && second < two->counters && first != second,
         "the counters are not those of the law");
    for (uint32_t i = 0, k = 0; i < two->counters; i++) {
        must(c, i == first || i == second || !mentions_counter(c, two->extent[i], two), "an extent is not constant");
        if (i == second)
            continue;
        must(c, (k == u) == (i == first), "the counters are not those of the law");
        must(c, k == u || (two->counter[i] == one->counter[k] && tp_side_same_index(c, two->extent[i], one->extent[k])),
             "another counter is changed");
        must(c, !mentions_counter(c, one->extent[k], one), "an extent is not constant");
        k++;
    }
    must(c, !mentions_counter(c, two->extent[first], two) && !mentions_counter(c, two->extent[second], two),
         "an extent is not constant");
}

static tp_str replay_digits(tp_replay *c, const tp_law_step *s)
{
    tp_exprs *p = c->f.own.to;
    tp_str key, other;
    const tp_real_atom *a = sum_at(c, s->from, PLAIN, &key), *b = sum_at(c, s->to, PLAIN, &other);
    uint32_t u = s->k - (s->t < s->k);
    tp_here h = {.n = 0};
    must(c, s->k < a->counters && s->t < a->counters && u < b->counters, "there is no such counter");
    others_same(c, a, s->k, s->t, b, u);
    must(c, tp_side_same_index(c, b->extent[u], tp_op2(p, TP_E_MUL, a->extent[s->k], a->extent[s->t])),
         "the extent is not the product of both");
    must_not_capture(c, s->to, a->extent[s->t]);
    const uint32_t gone[] = {a->counter[s->k], a->counter[s->t]};
    must_be_new(c, s->from, &b->counter[u], 1, a);
    must_be_new(c, s->to, gone, 2, b);
    tp_side_needs_that(c, s, tp_side_at_least(c, a->extent[s->t], 1), &h);
    tp_expr both = tp_op2(p, TP_E_ADD, tp_op2(p, TP_E_MUL, tp_side_counter(c, a, s->k), a->extent[s->t]),
                          tp_side_counter(c, a, s->t));
    must(c, tp_reals_same(&c->f, body_of(c, s->to, with_symbol(c, b->counter[u], both)), body_of(c, s->from, PLAIN)),
         "the summands are not the same");
    return key;
}

static tp_str replay_split(tp_replay *c, const tp_law_step *s)
{
    tp_exprs *p = c->f.own.to;
    tp_str key, other;
    int64_t by;
    const tp_real_atom *a = sum_at(c, s->from, PLAIN, &key), *b = sum_at(c, s->to, PLAIN, &other);
    tp_here h = {.n = 0};
    must(c, s->k < a->counters && s->k + 1 < b->counters, "there is no such counter");
    others_same(c, b, s->k, s->k + 1, a, s->k);
    tp_expr low_extent = b->extent[s->k + 1];
    must(c, tp_expr_is_const(p, low_extent, &by) && by >= 1, "the divisor is not a constant of 1 or more");
    must_be_new(c, s->from, &b->counter[s->k], 2, a);
    tp_side_needs_that(c, s, tp_op2(p, TP_E_EQ, tp_op2(p, TP_E_MUL, b->extent[s->k], low_extent), a->extent[s->k]), &h);
    tp_expr high = tp_side_counter(c, b, s->k), low = tp_side_counter(c, b, s->k + 1),
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
static void exchange_holds(tp_replay *c, const tp_law_step *s, tp_exchange x, const tp_here *h)
{
    tp_exprs *p = c->f.own.to;
    const tp_expr_node n = *tp_expr_get(p, x.from);
    must(c, x.from.id && x.to.id && !tp_expr_too_large(x.from) && !tp_expr_too_large(x.to), "an exchange is too large");
    if ((n.op == TP_E_MIN || n.op == TP_E_MAX) && (tp_same(x.to, n.a) || tp_same(x.to, n.b))) {
        bool first = tp_same(x.to, n.a), min = n.op == TP_E_MIN;
        tp_side_needs_that(c, s, tp_op2(p, first == min ? TP_E_LE : TP_E_GE, n.a, n.b), h);
    } else if (n.op == TP_E_ITE && (tp_same(x.to, n.b) || tp_same(x.to, n.c))) {
        tp_side_needs_that(c, s, tp_same(x.to, n.b) ? n.a : tp_op1(p, TP_E_NOT, n.a), h);
    } else {
        tp_side_needs_that(c, s, tp_op2(p, TP_E_EQ, x.from, x.to), h);
    }
}

/* To be put into the body of `from`. */
static tp_real_view exchanges_of(tp_replay *c, const tp_law_step *s)
{
    tp_exchange *own = TP_NEWN(c->f.arena, tp_exchange, s->nexchanges + 1);
    for (uint32_t i = 0; i < s->nexchanges; i++)
        own[i] =
            (tp_exchange){tp_own_copy(&c->f.own, s->exchanges[i].from), tp_own_copy(&c->f.own, s->exchanges[i].to)};
    for (uint32_t i = 0; i < s->nexchanges && s->law != TP_LAW_INDEX; i++) {
        must_not_capture(c, s->from, own[i].from);
        must_not_capture(c, s->from, own[i].to);
    }
    return (tp_real_view){NULL, 0, own, s->nexchanges};
}

static void same_counters(tp_replay *c, const tp_real_atom *a, const tp_real_atom *b, bool extents)
{
    must(c, a->kind == b->kind && a->counters == b->counters && tp_str_eq(a->op, b->op),
         "the folds are not of one kind");
    for (uint32_t i = 0; i < a->counters; i++)
        must(c, a->counter[i] == b->counter[i] && (!extents || tp_side_same_index(c, a->extent[i], b->extent[i])),
             "the counters are not the same");
}

static bool stands_under(const tp_real_atom *a, tp_str key)
{
    const tp_real_guard *g;
    uint32_t n = tp_side_conditions(a, &g);
    for (uint32_t i = 0; i < n; i++)
        if (tp_str_eq(g[i].key, key))
            return true;
    return false;
}

static tp_str replay_under(tp_replay *c, const tp_law_step *s)
{
    tp_str key, other;
    const tp_real_atom *a = sum_at(c, s->from, PLAIN, &key), *b = sum_at(c, s->to, PLAIN, &other);
    const tp_real_guard *g;
    tp_real_view v = exchanges_of(c, s);
    tp_here h = tp_side_points(c, a);
    uint32_t n = tp_side_conditions(a, &g);
    same_counters(c, a, b, true);
    for (uint32_t i = 0; i < n; i++) /* where one fails, both sides are 0 */
        must(c, stands_under(b, g[i].key), "a condition is lost");
    for (uint32_t i = 0; i < v.nexchanges; i++)
        exchange_holds(c, s, v.exchanges[i], &h);
    must(c, tp_reals_same(&c->f, body_of(c, s->from, v), body_of(c, s->to, PLAIN)), "the summands are not the same");
    return key;
}

static tp_str replay_guard(tp_replay *c, const tp_law_step *s)
{
    tp_str key, other;
    const tp_real_atom *a = sum_at(c, s->from, PLAIN, &key), *b = sum_at(c, s->to, PLAIN, &other);
    const tp_real_form *body = b->arg[0];
    const tp_real_guard *g;
    tp_here h = tp_side_points(c, b);
    uint32_t n = tp_side_conditions(a, &g);
    same_counters(c, a, b, true);
    for (uint32_t i = 0; i < n; i++)
        if (!stands_under(b, g[i].key)) {
            tp_side_needs(c, s, g[i], &h);
            body = tp_reals_under(&c->f, body, g[i]);
        }
    must(c, tp_reals_same(&c->f, a->arg[0], body), "the summands are not the same");
    return key;
}

static tp_str replay_count(tp_replay *c, const tp_law_step *s)
{
    tp_exprs *p = c->f.own.to;
    tp_str key;
    const tp_real_atom *a = sum_at(c, s->from, PLAIN, &key);
    const tp_real_product *one = &a->arg[0]->at[0];
    const tp_real_node *to = node_at(c, s->to);
    tp_here h = {.n = 0};
    must(c, to->kind == TP_REAL_INTEGER && a->counters == 1, "the law counts one counter");
    tp_expr end = tp_own_copy(&c->f.own, to->e);
    must(c, one->num == 1 && one->den == 1 && !one->nfactors && !one->exponent && one->nguards <= 1,
         "the law is about sums of ones");
    must(c, !tp_expr_too_large(end) && !mentions_counter(c, end, a), "the number depends on the counter");
    tp_side_needs_that(c, s, tp_side_at_least(c, end, 0), &h);
    if (one->nguards) {
        must(c, tp_str_eq(one->guard[0].key, tp_side_guard(c, tp_side_less(c, tp_side_counter(c, a, 0), end)).key),
             "the condition is not the number's");
        tp_side_needs_that(c, s, tp_op2(p, TP_E_LE, end, a->extent[0]), &h);
    } else {
        must(c, tp_side_same_index(c, end, a->extent[0]), "the number is not the extent");
    }
    return key;
}

/* Each point of a is one of b. */
static void points_within(tp_replay *c, const tp_law_step *s, const tp_real_atom *a, const tp_real_atom *b)
{
    tp_here h = tp_side_points(c, a);
    const tp_real_guard *g;
    uint32_t n = tp_side_conditions(b, &g);
    for (uint32_t i = 0; i < b->counters; i++) {
        tp_expr bounds[2];
        tp_side_range(c, b, i, bounds);
        tp_side_needs_that(c, s, bounds[0], &h);
        tp_side_needs_that(c, s, bounds[1], &h);
    }
    for (uint32_t i = 0; i < n; i++)
        tp_side_needs(c, s, g[i], &h);
}

static const tp_real_form *at_all(tp_replay *c, const tp_real_form *x, const tp_real_atom *a)
{
    const tp_real_guard *g;
    uint32_t n = tp_side_conditions(a, &g);
    for (uint32_t i = 0; i < n; i++)
        x = tp_reals_under(&c->f, x, g[i]);
    return x;
}

static tp_str replay_points(tp_replay *c, const tp_law_step *s)
{
    tp_str key, other;
    const tp_real_atom *a = fold_at(c, s->from, PLAIN, &key), *b = fold_at(c, s->to, PLAIN, &other);
    tp_real_view v = exchanges_of(c, s);
    bool sum = tp_str_is(a->op, "sum");
    if (sum) {
        sum_at(c, s->from, PLAIN, &key);
        sum_at(c, s->to, PLAIN, &other);
    }
    tp_here h = tp_side_points(c, a);
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
    if (a->kind == TP_REAL_SCAN) /* where there are no turns, too: nothing is exchanged */
        must(c, tp_reals_same(&c->f, a->arg[1], b->arg[1]), "the recurrences begin differently");
    return key;
}

/* The one value of its counter at which this product of conditions holds. */
static void is_only_value(tp_replay *c, const tp_law_step *s, const tp_real_atom *a, tp_expr value)
{
    tp_exprs *p = c->f.own.to;
    tp_here h = tp_side_points(c, a);
    if (stands_under(a, tp_side_guard(c, tp_op2(p, TP_E_EQ, tp_side_counter(c, a, s->k), value)).key))
        return;
    tp_side_needs_that(c, s, tp_op2(p, TP_E_LE, tp_side_counter(c, a, s->k), value), &h);
    tp_side_needs_that(c, s, tp_op2(p, TP_E_GE, tp_side_counter(c, a, s->k), value), &h);
}

static tp_str replay_point(tp_replay *c, const tp_law_step *s)
{
    tp_exprs *p = c->f.own.to;
    tp_str key;
    const tp_real_atom *a = sum_at(c, s->from, PLAIN, &key);
    const tp_real_guard *g;
    uint32_t n = tp_side_conditions(a, &g);
    tp_here nowhere = {.n = 0};
    must(c, s->k < a->counters && s->nexchanges == 1, "there is no such counter");
    tp_expr sym = tp_side_counter(c, a, s->k), value = tp_own_copy(&c->f.own, s->exchanges[0].to);
    must(c, tp_same(tp_own_copy(&c->f.own, s->exchanges[0].from), sym), "another counter is named");
    must(c, value.id && !tp_expr_too_large(value) && !mentions_counter(c, value, a), "the value depends on a counter");
    must(c, !mentions_counter(c, a->extent[s->k], a), "an extent is not constant");
    must_not_capture(c, s->from, value);
    is_only_value(c, s, a, value);
    tp_side_needs_that(c, s, tp_side_at_least(c, value, 0), &nowhere);
    tp_side_needs_that(c, s, tp_side_less(c, value, a->extent[s->k]), &nowhere);
    tp_real_view there = with_symbol(c, a->counter[s->k], value);
    const tp_real_form *body = body_of(c, s->from, there);
    tp_real_atom rest = {.kind = TP_REAL_FOLD, .op = a->op};
    for (uint32_t i = 0; i < a->counters; i++)
        if (i != s->k) {
            rest.counter[rest.counters] = a->counter[i];
            rest.extent[rest.counters++] = tp_reals_index(&c->f, a->extent[i], &there);
        }
    tp_here h = {.points = &rest};
    for (uint32_t i = 0; i < n; i++) /* what else is asked of the counter holds of the value */
        if (tp_expr_mentions(p, g[i].e, a->counter[s->k])) {
            tp_real_guard at = tp_reals_guard_at(&c->f, g[i], &there);
            tp_side_needs(c, s, at, &h);
            body = tp_reals_where(&c->f, body, at);
        }
    if (rest.counters)
        body = tp_reals_sum(&c->f, &rest, body);
    must(c, tp_reals_same(&c->f, body, tp_reals_of(&c->f, s->to, PLAIN)), "it is not the term at the value");
    return key;
}

/* By induction: no turn leaves the beginning, and turn k adds the term at k. */
static tp_str replay_recurrence(tp_replay *c, const tp_law_step *s)
{
    tp_str key;
    const tp_real_atom *a = fold_at(c, s->from, PLAIN, &key);
    must(c, a->kind == TP_REAL_SCAN, "the law is about recurrences");
    const tp_real_form *turn = a->arg[0];
    uint32_t sym = a->counter[0], others = 0;
    tp_real_form part = {TP_NEWN(c->f.arena, tp_real_product, turn->n + 1), 0};
    for (uint32_t i = 0; i < turn->n; i++) {
        const tp_real_form one = {&turn->at[i], 1};
        tp_str held;
        const tp_real_atom *x = tp_reals_atom(&one, &held);
        if (x && x->kind == TP_REAL_HELD && tp_same(x->e, tp_sym(c->f.own.to, sym)))
            others++;
        else
            part.at[part.n++] = turn->at[i];
    }
    must(c, others == 1 && !tp_reals_holds(&c->f, &part, sym), "a turn is more than a sum with what was before");
    tp_real_atom turns = {.kind = TP_REAL_FOLD, .op = TP_S("sum"), .counters = 1};
    turns.counter[0] = sym;
    turns.extent[0] = a->extent[0];
    const tp_real_form *all = tp_reals_plus(&c->f, a->arg[1], tp_reals_sum(&c->f, &turns, &part));
    must(c, tp_reals_same(&c->f, all, tp_reals_of(&c->f, s->to, PLAIN)),
         "it is not the beginning and the sum of turns");
    return key;
}

/* Under these conditions a sum has no points: the product is 0. */
static void replay_nothing(tp_replay *c, const tp_law_step *s)
{
    const tp_real_form *x = tp_reals_of(&c->f, s->from, PLAIN);
    const tp_real_product *whole = x->at;
    must(c, x->n == 1 && whole->nfactors == 1 && !whole->exponent, "the law is about one sum under conditions");
    const tp_real_atom *a = whole->factor[0].atom;
    must(c, a->kind == TP_REAL_FOLD && tp_str_is(a->op, "sum") && a->arg[0]->n == 1 && whole->factor[0].power == 1,
         "the law is about one sum under conditions");
    tp_here h = tp_side_points(c, a);
    for (uint32_t i = 0; i < whole->nguards; i++)
        tp_side_give(c, &h, whole->guard[i].key);
    must(c, s->nexchanges == 1, "the law names one condition");
    tp_real_guard never = tp_side_guard(c, tp_own_copy(&c->f.own, s->exchanges[0].from));
    must(c, stands_under(a, never.key), "the sum does not stand under that condition");
    tp_side_needs(c, s, tp_reals_negated(&c->f, never), &h);
    must(c, tp_reals_of(&c->f, s->to, PLAIN)->n == 0, "a sum over no points is 0");
    tp_push(c->f.arena, c->nothing, ((tp_nothing){whole, c->step}));
}

/* Is it `of`, times anything under any more conditions? */
static bool is_multiple(const tp_real_product *x, const tp_real_product *of)
{
    bool sum = false;
    for (uint32_t i = 0; i < x->nfactors; i++)
        sum |= x->factor[i].power > 0 && tp_str_eq(x->factor[i].key, of->factor[0].key);
    for (uint32_t i = 0; i < of->nguards && sum; i++) {
        sum = false;
        for (uint32_t k = 0; k < x->nguards; k++)
            sum |= tp_str_eq(x->guard[k].key, of->guard[i].key);
    }
    return sum;
}

/* x without products in which a sum has no points. */
static const tp_real_form *without_nothing(tp_replay *c, const tp_real_form *x)
{
    tp_real_form left = {TP_NEWN(c->f.arena, tp_real_product, x->n + 1), 0};
    for (uint32_t i = 0; i < x->n; i++) {
        bool zero = false;
        for (uint32_t k = 0; k < c->nothing.len && !zero; k++) {
            zero = is_multiple(&x->at[i], c->nothing.at[k].of);
            c->out->used[c->nothing.at[k].step] |= zero;
        }
        if (!zero)
            left.at[left.n++] = x->at[i];
    }
    return tp_reals_plus(&c->f, &left, &(tp_real_form){NULL, 0});
}

/* Of free variables alone? */
static bool only_free(tp_replay *c, tp_expr e)
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

static void replay_index(tp_replay *c, const tp_law_step *s)
{
    tp_real_view v = exchanges_of(c, s);
    tp_here h = {.n = 0};
    for (uint32_t i = 0; i < v.nexchanges; i++) {
        must(c, only_free(c, v.exchanges[i].from) && only_free(c, v.exchanges[i].to), "the index is not free");
        exchange_holds(c, s, v.exchanges[i], &h);
    }
    for (uint32_t i = 0; i < v.nexchanges; i++)
        tp_push(c->f.arena, c->f.index, v.exchanges[i]);
}

static void replay_holds(tp_replay *c, const tp_law_step *s)
{
    tp_here h = {.n = 0};
    must(c, s->nexchanges == 1, "the law names one condition");
    tp_expr condition = tp_own_copy(&c->f.own, s->exchanges[0].from);
    must(c, only_free(c, condition), "the condition is not free");
    tp_real_guard g = tp_side_guard(c, condition);
    tp_side_needs(c, s, g, &h);
    tp_push(c->f.arena, c->f.truths, ((tp_real_truth){.key = g.key, .opposite = tp_reals_negated(&c->f, g).key}));
    tp_push(c->f.arena, c->truth_step, c->step);
}

/* ---- all of it ---- */

static void replay_step(void *arg)
{
    tp_replay *c = arg;
    const tp_law_step *s = &c->d->steps[c->step];
    tp_str key = {NULL, 0};
    switch (s->law) {
    case TP_LAW_DIGITS: key = replay_digits(c, s); break;
    case TP_LAW_SPLIT: key = replay_split(c, s); break;
    case TP_LAW_UNDER: key = replay_under(c, s); break;
    case TP_LAW_GUARD: key = replay_guard(c, s); break;
    case TP_LAW_COUNT: key = replay_count(c, s); break;
    case TP_LAW_POINTS: key = replay_points(c, s); break;
    case TP_LAW_POINT: key = replay_point(c, s); break;
    case TP_LAW_RECURRENCE: key = replay_recurrence(c, s); break;
    case TP_LAW_NOTHING: replay_nothing(c, s); return;
    case TP_LAW_HOLDS: replay_holds(c, s); return;
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
static void check_nodes(tp_replay *c)
{
    for (uint32_t i = 0; i < c->d->nreals; i++) {
        const tp_real_node *r = &c->d->reals[i];
        bool ok =
            r->kind < TP_REAL_KINDS && r->nargs <= 3 && r->rank <= TP_REAL_RANK && r->counters <= TP_REAL_COUNTERS;
        ok = ok && (r->kind == TP_REAL_APPLY ? r->nargs > 0 : r->nargs == tp_real_arity(r->kind));
        ok = ok && ((r->kind != TP_REAL_FOLD && r->kind != TP_REAL_SCAN) || r->counters == 1) &&
             (r->kind != TP_REAL_OVER || r->counters > 0);
        for (uint32_t k = 0; ok && k < r->nargs; k++)
            ok = r->arg[k] >= 1 && r->arg[k] <= i;
        must(c, ok, "a node refers to one that is not before it");
    }
}

static void replay_all(void *arg)
{
    tp_replay *c = arg;
    const tp_derivation *d = c->d;
    check_nodes(c);
    c->binders = tp_binders_of(&c->f);
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
    const tp_real_form *kernel = without_nothing(c, tp_reals_of(&c->f, d->kernel, PLAIN)),
                       *reference = without_nothing(c, tp_reals_of(&c->f, d->reference, PLAIN));
    c->step = d->nsteps;
    must(c, tp_reals_same(&c->f, kernel, reference), "kernel and reference have different normal forms");
}

static tp_replay_result run(tp_arena *work, const tp_derivation *d, bool lenient)
{
    tp_replay_result out = {.steps = d->nsteps, .sides = d->nsides, .used = TP_NEWN(work, bool, d->nsteps + 1)};
    tp_replay *c = TP_NEW(work, tp_replay);
    *c = (tp_replay){.d = d, .out = &out, .lenient = lenient};
    c->f = (tp_reals){.arena = work, .d = d, .own = tp_own_new(work, d->p)};
    c->f.own.reads = true;
    c->f.big = (tp_bigs){.arena = work, .exprs = c->f.own.to, .budget = MAX_WORK};
    tp_status st = tp_try(work, replay_all, c);
    for (uint32_t i = 0; i < c->rule_step.len; i++)
        out.used[c->rule_step.at[i]] |= c->f.rules.at[i].used;
    for (uint32_t i = 0; i < c->truth_step.len; i++)
        out.used[c->truth_step.at[i]] |= c->f.truths.at[i].used;
    tp_bigs_free(&c->f.big);
    if (st == TP_E_MEMORY)
        tp_leave(work, st);
    out.ok = st == TP_OK;
    tp_str why = c->f.why.n ? c->f.why : TP_S("it is too large to be replayed");
    if (!out.ok)
        out.why = c->step < d->nsteps ? tp_printf(work, "step %u: %.*s", c->step + 1, TP_FMT(why)) : why;
    return out;
}

tp_replay_result tp_sift_derivation(tp_arena *work, const tp_derivation *d)
{
    return run(work, d, true);
}

tp_replay_result tp_replay_derivation(tp_arena *work, const tp_derivation *d, bool proofs)
{
    tp_replay_result out = run(work, d, false);
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
