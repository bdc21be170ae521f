/* Sums in which one value of a counter counts:
 *
 *   sum of [guard(c)] x(c) for c < n  =  x(t), for a t < n with guard(t),
 *
 * given that guard holds for one c at most. Two sums over different counters,
 * the steps of a schedule and the groups that it names, are compared there.
 *
 * And sums over the same points by other numbers, the steps of a worklist and
 * what is on it:
 *
 *   sum of [guard(c)] x(c) for c < n  =  sum of [other(d)] y(d) for d < m,
 *
 * given there(c) and back(d), entries of tables: where guard(c) holds,
 * there(c) < m, other(there(c)), back(there(c)) = c and x(c) = y(there(c));
 * where other(d) holds, back(d) < n, guard(back(d)) and there(back(d)) = d. */
#include "analyzer/equality/sum.h"

/* Counter k of a sum and the conditions that speak of no other counter. */
typedef struct bound_sum {
    atom f; /* opened */
    uint32_t k;
    tp_expr own[MAX_GUARDS];
    uint32_t nown;
    product rest; /* the other conditions */
} bound_sum;

static tp_expr symbol_of(const summary *s, const bound_sum *c)
{
    return tp_sym(s->p, c->f.counter[c->k]);
}

static bool speaks_of_others(const summary *s, const bound_sum *c, tp_expr e)
{
    for (uint32_t i = 0; i < c->f.counters; i++)
        if (i != c->k && tp_expr_mentions(s->p, e, c->f.counter[i]))
            return true;
    return false;
}

/* false: bounds of counters speak of it, or its own of others. */
static bool bound_sum_of(summary *s, uint32_t fold, uint32_t k, bound_sum *c)
{
    *c = (bound_sum){.f = fold_open(s, fold), .k = k, .rest = product_of(1, 1)};
    if (speaks_of_others(s, c, c->f.extent[k]))
        return false;
    for (uint32_t i = 0; i < c->f.counters; i++)
        if (tp_expr_mentions(s->p, c->f.extent[i], c->f.counter[k]))
            return false;
    for (uint32_t i = 0; i < c->f.nguards; i++)
        if (tp_expr_mentions(s->p, c->f.guard[i], c->f.counter[k]) && !speaks_of_others(s, c, c->f.guard[i]))
            c->own[c->nown++] = c->f.guard[i];
        else if (!product_guard(s, &c->rest, c->f.guard[i]))
            return false;
    return c->nown > 0;
}

static tp_expr all_own(summary *s, const bound_sum *c)
{
    tp_expr all = tp_const(s->p, 1);
    for (uint32_t i = 0; i < c->nown; i++)
        all = tp_op2(s->p, TP_E_AND, c->own[i], all);
    return all;
}

/* The sum of the counters but this one, where it is `at`. */
static uint32_t sum_at(summary *s, const bound_sum *c, tp_expr at)
{
    uint32_t n = tp_sym_count(s->p);
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n);
    atom f = c->f;
    with[f.counter[c->k]] = at;
    f.arg[0] = sum_subst(s, f.arg[0], with, n);
    f.nguards = 0;
    for (uint32_t i = 0; i < c->rest.nguards; i++)
        f.guard[f.nguards++] = tp_expr_subst(s->p, c->rest.guard[i], with, n);
    memmove(&f.counter[c->k], &f.counter[c->k + 1], (f.counters - c->k - 1) * sizeof *f.counter);
    memmove(&f.extent[c->k], &f.extent[c->k + 1], (f.counters - c->k - 1) * sizeof *f.extent);
    f.counters--;
    return fold_again(s, &f, f.arg[0]);
}

/* ---- what contracts say ---- */

static premises with_parts(summary *s, const premises *p, tp_expr fact)
{
    const tp_expr_node n = *tp_expr_get(s->p, fact);
    if (n.op != TP_E_AND)
        return premises_with(s, p, fact);
    premises one = with_parts(s, p, n.a);
    return with_parts(s, &one, n.b);
}

/* And what contracts say of these entries, as many as they are about, where they surely speak of them. */
static premises with_contracts_at(summary *s, const premises *p, const tp_expr *at, uint32_t rank)
{
    premises all = *p;
    for (uint32_t i = 0; i < s->k->ncontracts; i++) {
        if (s->k->contracts[i].nbound != rank)
            continue;
        tp_expr fact = tp_contract_instance(s->a, &s->k->contracts[i], at); /* inside -> fact */
        for (int depth = 0; depth < 2 && tp_expr_get(s->p, fact)->op == TP_E_IMPLIES; depth++)
            if (summary_proves(s, &all, tp_expr_get(s->p, fact)->a))
                fact = tp_expr_get(s->p, fact)->b;
        if (tp_expr_get(s->p, fact)->op != TP_E_IMPLIES)
            all = with_parts(s, &all, fact);
    }
    return all;
}

/* And what they say of this entry; no id: of no entry in particular. */
static premises with_contracts(summary *s, const premises *p, tp_expr at)
{
    return with_contracts_at(s, p, &at, at.id != 0);
}

/* ---- there is a point ---- */

/* Is h the entry c + b of a table, b without c, and there for all c from 0 to the end, both included? */
static bool exists_throughout(summary *s, const premises *p, const bound_sum *c, tp_expr h)
{
    tp_exprs *x = s->p;
    const tp_expr_node n = *tp_expr_get(x, h);
    tp_expr first = tp_expr_normal(x, tp_op2(x, TP_E_SUB, n.a, symbol_of(s, c))),
            last = tp_op2(x, TP_E_ADD, first, c->f.extent[c->k]);
    for (uint32_t t = 0; t < s->k->ntables; t++) {
        const tp_table *table = &s->k->tables[t];
        if (table->sym == (uint32_t)n.value && table->rank == 1 && !tp_expr_mentions(x, first, c->f.counter[c->k]))
            return summary_proves(s, p, tp_op2(x, TP_E_GE, first, tp_const(x, 0))) &&
                   summary_proves(s, p, tp_op2(x, TP_E_LT, last, table->extent.id ? table->extent : table->shape[0]));
    }
    return false;
}

/* Between h(0) <= v and v < h(n) there is a t < n with h(t) <= v < h(t + 1),
 * whatever h. Does `low` (v - h(c) >= 0) say so, with its counterpart for the
 * next c, which becomes *high? */
static bool is_crossed(summary *s, const premises *p, const bound_sum *c, tp_expr low, tp_expr h, tp_expr *high)
{
    tp_exprs *x = s->p;
    tp_expr sym = symbol_of(s, c), one = tp_const(x, 1), end = c->f.extent[c->k];
    uint32_t n = tp_sym_count(x);
    const tp_expr_node node = *tp_expr_get(x, low);
    if (node.op != TP_E_GE)
        return false;
    tp_expr v = tp_expr_normal(x, tp_op2(x, TP_E_ADD, node.a, h));
    if (!exists_throughout(s, p, c, h) || tp_expr_mentions(x, v, c->f.counter[c->k]) || speaks_of_others(s, c, v) ||
        speaks_of_others(s, c, h))
        return false;
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n), values[3],
            steps[] = {tp_const(x, 0), end, tp_op2(x, TP_E_ADD, sym, one)};
    for (int i = 0; i < 3; i++) {
        with[c->f.counter[c->k]] = steps[i];
        values[i] = tp_expr_subst(x, h, with, n);
    }
    *high = condition_normal(s, tp_op2(x, TP_E_LT, v, values[2]), false);
    return summary_proves(s, p, tp_op2(x, TP_E_GE, end, one)) &&
           summary_proves(s, p, tp_op2(x, TP_E_LE, values[0], v)) &&
           summary_proves(s, p, tp_op2(x, TP_E_LT, v, values[1]));
}

/* The first quotient by a constant above 0 in e. No id: there is none. */
static tp_expr some_quotient(const summary *s, tp_expr e)
{
    int64_t by;
    if (!e.id)
        return e;
    const tp_expr_node n = *tp_expr_get(s->p, e);
    if (n.op == TP_E_CONST || n.op == TP_E_SYM || n.op == TP_E_READ)
        return (tp_expr){0};
    if (n.op == TP_E_FLOORDIV && tp_expr_is_const(s->p, n.b, &by) && by > 0)
        return e;
    tp_expr found = some_quotient(s, n.a);
    return found.id ? found : some_quotient(s, n.b);
}

/* q == x // c means that c q <= x < c q + c, for a constant c above 0. */
static bool proves_quotient(summary *s, const premises *p, tp_expr goal)
{
    tp_exprs *x = s->p;
    const tp_expr_node n = *tp_expr_get(x, goal); /* a == 0 */
    tp_expr d = n.op == TP_E_EQ ? some_quotient(s, n.a) : (tp_expr){0};
    if (!d.id)
        return false;
    const tp_expr_node of = *tp_expr_get(x, d);
    tp_expr q = tp_expr_normal(x, tp_op2(x, TP_E_ADD, n.a, d));
    if (some_quotient(s, q).id) /* a = x // c - q */
        q = tp_expr_normal(x, tp_op2(x, TP_E_SUB, d, n.a));
    tp_expr low = tp_op2(x, TP_E_MUL, of.b, q);
    return !some_quotient(s, q).id && summary_proves(s, p, tp_op2(x, TP_E_LE, low, of.a)) &&
           summary_proves(s, p, tp_op2(x, TP_E_LT, of.a, tp_op2(x, TP_E_ADD, low, of.b)));
}

/* Do all of its own conditions hold where these two do? */
static bool own_follow(summary *s, const premises *p, const bound_sum *c, tp_expr low, tp_expr high)
{
    premises here = premises_with(s, p, low);
    here = premises_with(s, &here, high);
    for (uint32_t i = 0; i < c->nown; i++) {
        if (!proves_quotient(s, &here, c->own[i]) && !summary_proves(s, &here, c->own[i]))
            return false;
        here = premises_with(s, &here, c->own[i]);
    }
    return true;
}

/* The other conditions where one of them says what an entry is. */
static void put_entries_in(summary *s, const bound_sum *c, const entries *found, tp_expr *guard)
{
    for (uint32_t i = 0; i < c->nown; i++)
        guard[i] = c->own[i];
    for (uint32_t i = 0; i < c->nown; i++)
        for (uint32_t e = 0; e < found->n; e++) {
            tp_expr is = entry_is(s, guard[i], found->at[e], c->f.counter[c->k]);
            for (uint32_t k = 0; k < c->nown && is.id; k++)
                if (k != i)
                    guard[k] = condition_normal(s, index_exchange(s, guard[k], found->at[e], is), false);
        }
}

/* Is there a value of the counter for which its own conditions hold, and one
 * only? That there is one is shown before anything is said of it: its range
 * may be empty. */
static bool is_single(summary *s, const premises *p, const bound_sum *c)
{
    premises of_all = with_contracts(s, p, (tp_expr){0}), of_entry = with_contracts(s, &of_all, symbol_of(s, c));
    entries found = {.sym = c->f.counter[c->k]};
    tp_expr guard[MAX_GUARDS], high;
    for (uint32_t i = 0; i < c->nown; i++)
        entries_find(s, c->own[i], &found);
    put_entries_in(s, c, &found, guard);
    for (uint32_t i = 0; i < c->nown; i++)
        for (uint32_t e = 0; e < found.n; e++)
            if (is_crossed(s, &of_all, c, guard[i], found.at[e], &high) && own_follow(s, &of_entry, c, guard[i], high))
                return at_most_one_point(s, p, all_own(s, c), &c->f.counter[c->k], &c->f.extent[c->k], 1);
    return false;
}

/* ---- two sums ---- */

/* At the single point of x, the counter of y is `at`, and this is its only one. */
static bool same_at(summary *s, const premises *here, const bound_sum *x, const bound_sum *y, tp_expr at, int cases)
{
    uint32_t n = tp_sym_count(s->p);
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n);
    with[y->f.counter[y->k]] = at;
    tp_expr inside = tp_op2(s->p, TP_E_AND, tp_op2(s->p, TP_E_GE, at, tp_const(s->p, 0)),
                            tp_op2(s->p, TP_E_LT, at, y->f.extent[y->k]));
    return summary_proves(s, here, inside) && summary_proves(s, here, tp_expr_subst(s->p, all_own(s, y), with, n)) &&
           sums_equal(s, here, sum_at(s, x, symbol_of(s, x)), sum_at(s, y, at), cases);
}

/* Counter i of a, which has a single point, against counter k of b. */
static bool meet(summary *s, const premises *p, const bound_sum *x, const bound_sum *y, int cases)
{
    entries at = {.sym = x->f.counter[x->k]};
    premises here = with_contracts(s, p, symbol_of(s, x));
    if (!at_most_one_point(s, p, all_own(s, y), &y->f.counter[y->k], &y->f.extent[y->k], 1))
        return false;
    for (uint32_t i = 0; i < x->nown; i++) {
        here = premises_with(s, &here, x->own[i]);
        entries_find(s, x->own[i], &at);
    }
    sum_map(s, x->f.arg[0], entries_find, &at);
    for (uint32_t i = 0; i <= at.n; i++)
        if (same_at(s, &here, x, y, i < at.n ? at.at[i] : symbol_of(s, x), cases))
            return true;
    return false;
}

/* ---- the same points by other numbers ---- */

/* What its own conditions say that the entry is; no id: nothing. */
static tp_expr own_value(summary *s, const bound_sum *c, tp_expr entry)
{
    tp_expr is = {0};
    for (uint32_t i = 0; i < c->nown && !is.id; i++)
        is = entry_is(s, c->own[i], entry, c->f.counter[c->k]);
    return is;
}

/* e where x's counter is `at`. */
static tp_expr put_counter(summary *s, const bound_sum *x, tp_expr e, tp_expr at)
{
    return tp_expr_replace(s->p, e, x->f.counter[x->k], at);
}

/* Where the conditions of y hold, is `back` a point of x, which leads there again? */
static bool comes_back(summary *s, const premises *p, const bound_sum *x, const bound_sum *y, tp_expr there,
                       tp_expr back)
{
    const tp_expr_node n = *tp_expr_get(s->p, back);
    const tp_expr at[] = {n.a, n.b, n.c};
    premises here = *p;
    uint32_t rank = 0;
    while (rank < 3 && at[rank].id)
        rank++;
    for (uint32_t i = 0; i < y->nown; i++)
        here = premises_with(s, &here, y->own[i]);
    here = with_contracts_at(s, &here, at, rank);
    return summary_follows(s, &here, tp_op2(s->p, TP_E_GE, back, tp_const(s->p, 0))) &&
           summary_follows(s, &here, tp_op2(s->p, TP_E_LT, back, x->f.extent[x->k])) &&
           summary_follows(s, &here, put_counter(s, x, all_own(s, x), back)) &&
           summary_follows(s, &here, tp_op2(s->p, TP_E_EQ, put_counter(s, x, there, back), symbol_of(s, y)));
}

/* t[..., there(c), ...] = c by a contract: the rest of its indices is told by the conditions of x. */
static bool same_by_contract(summary *s, const premises *here, const premises *p, const bound_sum *x,
                             const bound_sum *y, tp_expr entry, int cases)
{
    const tp_expr_node n = *tp_expr_get(s->p, entry);
    const tp_expr index[] = {n.a, n.b, n.c};
    for (uint32_t slot = 0; slot < 3 && index[slot].id; slot++) {
        tp_expr back[3] = {{0}};
        uint32_t rank = 0;
        for (bool known = true; rank < 3 && index[rank].id && known; rank++) {
            bool speaks = tp_expr_mentions(s->p, index[rank], x->f.counter[x->k]);
            back[rank] = rank == slot ? symbol_of(s, y) : speaks ? own_value(s, x, index[rank]) : index[rank];
            known = back[rank].id && (rank != slot || speaks);
            if (!known)
                back[slot].id = 0;
        }
        if (back[slot].id && comes_back(s, p, x, y, index[slot], tp_read(s->p, (uint32_t)n.value, rank, back)) &&
            same_at(s, here, x, y, index[slot], cases))
            return true;
    }
    return false;
}

/* The entry of a table that `fact` says to be the counter; no id: it says nothing of the kind. */
static tp_expr numbered_entry(summary *s, const bound_sum *x, tp_expr fact)
{
    const tp_expr_node n = *tp_expr_get(s->p, fact);
    tp_expr sym = symbol_of(s, x);
    if (n.op == TP_E_AND || n.op == TP_E_IMPLIES) {
        tp_expr found = n.op == TP_E_AND ? numbered_entry(s, x, n.a) : (tp_expr){0};
        return found.id ? found : numbered_entry(s, x, n.b);
    }
    if (n.op != TP_E_EQ || (!tp_same(n.a, sym) && !tp_same(n.b, sym)))
        return (tp_expr){0};
    tp_expr entry = tp_same(n.a, sym) ? n.b : n.a;
    return tp_expr_get(s->p, entry)->op == TP_E_READ ? entry : (tp_expr){0};
}

/* What holds at a point of x, also with what its conditions tell put in. */
static premises at_point(summary *s, const premises *p, const bound_sum *x)
{
    premises here = *p;
    for (uint32_t i = 0; i < x->nown; i++)
        here = premises_with(s, &here, x->own[i]);
    uint32_t first = here.n;
    here = with_contracts(s, &here, symbol_of(s, x));
    uint32_t end = here.n;
    for (uint32_t i = first; i < end; i++) {
        entries found = {.sym = x->f.counter[x->k]};
        entries_find(s, here.at[i], &found);
        for (uint32_t e = 0; e < found.n; e++) {
            tp_expr is = own_value(s, x, found.at[e]);
            if (is.id)
                here = premises_with(s, &here, index_exchange(s, here.at[i], found.at[e], is));
        }
    }
    return here;
}

/* Are they sums over the same points, by the number that a contract gives those of x? */
static bool same_by_number(summary *s, const premises *p, const bound_sum *x, const bound_sum *y, int cases)
{
    tp_expr sym = symbol_of(s, x);
    for (uint32_t i = 0; i < s->k->ncontracts; i++) {
        const tp_contract *c = &s->k->contracts[i];
        const tp_expr fact = c->nbound == 1 ? tp_contract_instance(s->a, c, &sym) : (tp_expr){0},
                      entry = fact.id ? numbered_entry(s, x, fact) : fact;
        if (!entry.id)
            continue;
        premises here = at_point(s, p, x);
        if (summary_follows(s, &here, tp_op2(s->p, TP_E_EQ, entry, sym)) &&
            same_by_contract(s, &here, p, x, y, entry, cases))
            return true;
    }
    return false;
}

static bool single_in(summary *s, const premises *p, uint32_t a, uint32_t b, int cases)
{
    bound_sum x, y;
    for (uint32_t i = 0; i < atom_get(s, a)->counters; i++) {
        if (!bound_sum_of(s, a, i, &x))
            continue;
        bool single = is_single(s, p, &x);
        for (uint32_t k = 0; k < atom_get(s, b)->counters; k++)
            if (bound_sum_of(s, b, k, &y) &&
                ((single && meet(s, p, &x, &y, cases)) || same_by_number(s, p, &x, &y, cases)))
                return true;
    }
    return false;
}

bool singles_equal(summary *s, const premises *p, uint32_t a, uint32_t b, int cases)
{
    return single_in(s, p, a, b, cases) || single_in(s, p, b, a, cases);
}
