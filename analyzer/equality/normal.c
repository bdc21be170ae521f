/* Normal forms from terms. */
#include "analyzer/equality/sum.h"

#include <math.h>

/* The condition that all of x stands under. No id: there is none. */
static tp_expr common_guard(summary *s, uint32_t x)
{
    const sum a = *sum_get(s, x);
    for (uint32_t g = 0; a.n && g < a.at[0].nguards; g++) {
        bool all = true;
        for (uint32_t i = 1; i < a.n && all; i++) {
            all = false;
            for (uint32_t h = 0; h < a.at[i].nguards; h++)
                all |= tp_same(a.at[i].guard[h], a.at[0].guard[g]);
        }
        if (all)
            return a.at[0].guard[g];
    }
    return (tp_expr){0};
}

/* The maximum of what is at least 0, and 0 where a condition fails, is that of
 * the points where it holds, if there is one. */
static void leave_out_zeros(summary *s, atom *f)
{
    for (tp_expr guard; (guard = common_guard(s, f->arg[0])).id;) {
        atom inside = *f;
        product guards = product_of(1, 1);
        inside.arg[0] = sum_where_guard(s, f->arg[0], guard, true);
        guards.nguards = f->nguards;
        memcpy(guards.guard, f->guard, sizeof guards.guard);
        if (!product_guard(s, &guards, guard) || !sum_is_at_least_0(s, inside.arg[0]))
            return;
        inside.nguards = guards.nguards;
        memcpy(inside.guard, guards.guard, sizeof inside.guard);
        if (!fold_never_empty(s, &inside))
            return;
        record_open(s, TP_LAW_ZEROS);
        *f = inside;
    }
}

/* max and min: terms that are the unit where a condition fails are outside of the fold. */
static uint32_t fold_of_term(summary *s, const term_node *fold)
{
    atom f = {.kind = ATOM_FOLD, .prim = fold->prim};
    product guards = product_of(1, 1);
    term t;
    term_node n = *fold;
    bool extreme = fold->prim == TP_P_MAX || fold->prim == TP_P_MIN;
    do { /* folds of folds */
        if (f.counters == MAX_COUNTERS)
            sum_too_large(s);
        f.counter[f.counters] = n.sym;
        f.extent[f.counters++] = n.e;
        for (t = n.arg[0], n = *term_get(s, t); extreme && n.kind == T_SELECT; n = *term_get(s, t)) {
            const term_node no = *term_get(s, n.arg[1]), yes = *term_get(s, n.arg[0]);
            double unit = fold->prim == TP_P_MAX ? -(double)INFINITY : (double)INFINITY;
            bool unit_no = no.kind == T_REAL && no.real == unit, unit_yes = yes.kind == T_REAL && yes.real == unit;
            if (!unit_no && !unit_yes)
                break;
            if (!product_guard(s, &guards, unit_no ? n.e : condition_normal(s, n.e, true)))
                summary_stop(s, TP_S("a maximum over no elements"));
            t = n.arg[!unit_no];
        }
    } while (n.kind == T_FOLD && n.prim == fold->prim);
    f.nguards = guards.nguards;
    memcpy(f.guard, guards.guard, sizeof f.guard);
    f.arg[0] = sum_of_term(s, t);
    if (fold->prim == TP_P_MAX)
        leave_out_zeros(s, &f);
    fold_normalise(s, &f);
    if (extreme && s->strict && !fold_never_empty(s, &f)) /* of nothing a reference has no value */
        summary_stop(s, TP_S("a maximum or minimum may be over no elements"));
    return sum_of_factor(s, fold_intern(s, &f), 1);
}

bool term_is_least(summary *s, term t, tp_prim fold)
{
    const term_node *n = term_get(s, t);
    bool mask = n->kind == T_REAL && (fold == TP_P_MAX ? term_may_be_mask(n) : term_may_be_mask_above(n));
    if (mask) {
        s->out->masks = true;
        record_open(s, TP_LAW_LIMIT);
    }
    return mask || (n->kind == T_REAL && n->real == (fold == TP_P_MAX ? -(double)INFINITY : (double)INFINITY));
}

term value_inside(summary *s, term value, tp_prim fold, product *guards)
{
    for (term_node n = *term_get(s, value); n.kind == T_SELECT; n = *term_get(s, value)) {
        bool unit_no = term_is_least(s, n.arg[1], fold), unit_yes = !unit_no && term_is_least(s, n.arg[0], fold);
        if (!unit_no && !unit_yes)
            break;
        if (!product_guard(s, guards, unit_no ? n.e : condition_normal(s, n.e, true)))
            summary_stop(s, TP_S("an argmax over no elements"));
        value = n.arg[!unit_no];
    }
    return value;
}

/* Is the value of `outer` the extreme of the values of its place, a fold itself? */
static bool joins(const summary *s, const term_node *outer, const term_node *inner)
{
    const term_node *v = term_get(s, outer->arg[0]);
    return inner->kind == T_FOLD && inner->prim == outer->prim && v->kind == T_FOLD &&
           v->prim == prim_of_first(outer->prim) && v->sym == inner->sym && tp_same(v->e, inner->e) &&
           v->arg[0].id == inner->arg[0].id;
}

/* ---- normal forms ---- */

static uint32_t fold_first(summary *s, const term_node *fold)
{
    atom f = {.kind = ATOM_FOLD, .prim = fold->prim};
    product guards = product_of(1, 1);
    term_node n = *fold, place;
    for (;; n = place) {
        if (f.counters == MAX_COUNTERS)
            sum_too_large(s);
        f.counter[f.counters] = n.sym;
        f.extent[f.counters++] = n.e;
        place = *term_get(s, n.arg[1]);
        if (!joins(s, &n, &place))
            break;
    }
    term value = value_inside(s, n.arg[0], prim_of_first(fold->prim), &guards);
    if (place.kind != T_INTEGER || term_get(s, value)->infinite || term_get(s, value)->endless)
        summary_stop(s, TP_S("an argmax over values that may be infinite, or whose result is no index"));
    record_open(s, TP_LAW_FIRST);
    f.nguards = guards.nguards;
    memcpy(f.guard, guards.guard, sizeof f.guard);
    bool kept = s->narrow_casts;
    s->narrow_casts = true; /* it decides */
    const uint32_t pair[] = {sum_of_term(s, value), sum_of_index(s, place.e)};
    s->narrow_casts = kept;
    f.arg[0] = sum_apply(s, fold->prim, 0, pair, 2, 0);
    fold_normalise(s, &f);
    if ((s->strict || guards.nguards) && !fold_never_empty(s, &f))
        summary_stop(s, TP_S("an argmax may be over no elements"));
    return sum_of_factor(s, fold_intern(s, &f), 1);
}

static bool sum_holds(summary *s, uint32_t id, uint32_t held);

static bool product_holds(summary *s, const product *p, uint32_t held)
{
    bool yes = p->exponent && sum_holds(s, p->exponent, held);
    for (uint32_t i = 0; i < p->nfactors && !yes; i++) {
        const atom a = *atom_get(s, p->factor[i].atom);
        yes = p->factor[i].atom == held;
        for (int k = 0; k < 3 && !yes; k++)
            yes = a.arg[k] && sum_holds(s, a.arg[k], held);
    }
    return yes;
}

/* Is the atom in it? */
static bool sum_holds(summary *s, uint32_t id, uint32_t held)
{
    const sum a = *sum_get(s, id);
    bool yes = false;
    sum_spend(s);
    for (uint32_t i = 0; i < a.n && !yes; i++)
        yes = product_holds(s, &a.at[i], held);
    return yes;
}

/* x = held + a part without it? */
static bool adds_to_held(summary *s, uint32_t x, uint32_t held, uint32_t *part)
{
    const sum a = *sum_get(s, x);
    product alone = product_of(1, 1), *rest = TP_NEWN(s->arena, product, a.n + 1);
    uint32_t n = 0;
    product_factor(s, &alone, held, 1);
    for (uint32_t i = 0; i < a.n; i++)
        if (memcmp(&a.at[i], &alone, sizeof alone) != 0)
            rest[n++] = a.at[i];
    *part = sum_from(s, rest, n);
    return n + 1 == a.n && !sum_holds(s, *part, held);
}

static uint32_t scan_of_term(summary *s, const term_node *n)
{
    atom f = {.kind = ATOM_FOLD, .prim = TP_P_SCAN, .counters = 1, .counter = {n->sym}, .extent = {n->e}};
    atom held = {.kind = ATOM_ELEMENT, .number = T_HELD, .rank = 1, .at = {tp_sym(s->p, n->sym)}};
    uint32_t part;
    f.arg[0] = sum_of_term(s, n->arg[0]);
    f.arg[1] = sum_of_term(s, n->arg[1]);
    if (adds_to_held(s, f.arg[0], atom_intern(s, &held), &part)) {
        atom turns = f;
        turns.arg[0] = part;
        record_fold(s, TP_LAW_RECURRENCE, &f, &turns, 0, 0, record_here(s));
        return sum_add(s, f.arg[1], fold_sum(s, n->sym, n->e, part), 1);
    }
    return sum_of_factor(s, fold_intern(s, &f), 1);
}

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
        summary_stop(s, TP_S("a mask multiplies a value that may be undefined"));
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
    case T_NOTHING: summary_stop(s, TP_S("what a buffer holds when its scope is entered is used"));
    case T_TURN: summary_stop(s, TP_S("a loop whose variables follow no known recurrence"));
    case T_READ:
    case T_BEFORE:
    case T_HELD:
    case T_AFTER: {
        atom a = {.kind = ATOM_ELEMENT, .number = n.kind, .operand = n.operand, .rank = n.rank};
        memcpy(a.at, n.at, sizeof a.at);
        return sum_of_atom(s, &a, 1);
    }
    case T_SELECT: return sum_choose(s, n.e, sum_of_term(s, n.arg[0]), sum_of_term(s, n.arg[1]));
    case T_FOLD:
        if (n.prim == TP_P_SCAN)
            return scan_of_term(s, &n);
        if (n.prim == TP_P_SUM)
            return fold_sum(s, n.sym, n.e, sum_of_term(s, n.arg[0]));
        return prim_of_first(n.prim) != TP_PRIMS ? fold_first(s, &n) : fold_of_term(s, &n);
    case T_APPLY: break;
    }
    uint32_t nargs = 0;
    bool kept = s->narrow_casts;
    s->narrow_casts |= tp_prim_jumps(n.prim);
    for (; nargs < 3 && n.arg[nargs].id; nargs++)
        arg[nargs] = sum_of_term(s, n.arg[nargs]);
    s->narrow_casts = kept;
    int64_t exponent = 0;
    tp_expr_is_const(s->p, n.e, &exponent);
    uint32_t one = sum_constant(s, 1);
    if (n.prim == TP_P_ADD)
        return sum_add(s, arg[0], arg[1], 1);
    if (n.prim == TP_P_SUB)
        return sum_add(s, arg[0], arg[1], -1);
    if (n.prim == TP_P_NEG)
        return sum_add(s, sum_constant(s, 0), arg[0], -1);
    if (n.prim == TP_P_MUL)
        return unshielded_product(s, arg[0], arg[1]);
    if (n.prim == TP_P_DIV) { /* of the divisor only guards are decided */
        tp_expr guard = sum_some_guard(s, arg[1]);
        if (guard.id)
            summary_stop(s, TP_S("it divides by something that depends on a condition"));
        return unshielded_product(s, arg[0], sum_inverse(s, arg[1]));
    }
    /* conditions on data are 0 or 1 */
    if (n.prim == TP_P_WHERE)
        return sum_add(s, sum_multiply(s, arg[0], arg[1]), sum_multiply(s, sum_add(s, one, arg[0], -1), arg[2]), 1);
    if (n.prim == TP_P_AND)
        return sum_multiply(s, arg[0], arg[1]);
    if (n.prim == TP_P_OR)
        return sum_add(s, sum_add(s, arg[0], arg[1], 1), sum_multiply(s, arg[0], arg[1]), -1);
    if (n.prim == TP_P_INVERT)
        return sum_add(s, one, arg[0], -1);
    if (n.prim != TP_P_CAST || kept)
        return sum_apply(s, n.prim, exponent, arg, nargs, 0);
    s->out->casts = true;
    return arg[0];
}

uint32_t sum_of_term(summary *s, term t)
{
    uint32_t *number_of = TP_NEW(s->arena, uint32_t);
    *number_of = 4 * t.id + 2 * s->narrow_casts + s->strict;
    tp_str text = {(const char *)number_of, sizeof *number_of};
    uint32_t id = tp_map_get(&sum_pool(s)->of_term, text);
    if (!id) {
        id = convert(s, t);
        tp_map_set(s->arena, &sum_pool(s)->of_term, text, id);
    }
    return id;
}
