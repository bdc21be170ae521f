/* Conditions of the definedness analysis. */
#include <stdlib.h>

#include "base/assert.h"
#include "analyzer/flow/internal.h"
#include "spec/guard.h"

enum { FEW_PREMISES = 2, MAX_CONJUNCTS = 64, MAX_LEAKS = 1024, MAX_CONDITION = 2000 };

tp_expr flow_yes(flow *f)
{
    return tp_const(f->a->p, 1);
}

bool flow_is_false(flow *f, tp_expr e)
{
    int64_t v;
    return tp_expr_is_const(f->a->p, e, &v) && v == 0;
}

bool flow_is_true(flow *f, tp_expr e)
{
    int64_t v;
    return tp_expr_is_const(f->a->p, e, &v) && v != 0;
}

tp_expr flow_compare(flow *f, tp_expr_op op, tp_expr a, tp_expr b)
{
    return tp_guard_compare(f->a->p, op, a, b);
}

static tp_expr connect(void *ctx, tp_expr_op op, tp_expr a, tp_expr b)
{
    return op == TP_E_AND ? flow_and(ctx, a, b) : flow_or(ctx, a, b);
}

tp_expr flow_guard(flow *f, tp_expr c, bool negated)
{
    return tp_guard_normal(&(tp_guard_form){f->a->p, connect, f}, c, negated);
}

uint32_t tp_conjuncts(tp_analysis *a, tp_expr c, tp_expr *into, uint32_t room)
{
    const tp_expr_node *n = tp_expr_get(a->p, c);
    int64_t v;
    if (tp_expr_is_const(a->p, c, &v) && v)
        return 0;
    if (n->op != TP_E_AND || room < 2) {
        into[0] = c;
        return 1;
    }
    tp_expr right = n->b;
    uint32_t count = tp_conjuncts(a, n->a, into, room - 1);
    return count + tp_conjuncts(a, right, into + count, room - count);
}

bool tp_is_among(tp_expr e, const tp_expr *parts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (tp_same(parts[i], e))
            return true;
    return false;
}

static bool is_complement(flow *f, tp_expr a, tp_expr b)
{
    while (f->opposite.len <= a.id)
        tp_push(f->a->arena, f->opposite, (tp_expr){0});
    if (!f->opposite.at[a.id].id) {
        tp_expr opposite = flow_guard(f, a, true); /* may ask for others */
        f->opposite.at[a.id] = opposite;
    }
    return tp_same(f->opposite.at[a.id], b);
}

/* Simplify the disjunction `e` under the conjuncts: an arm that is excluded
 * goes, an arm that holds makes it true. */
static tp_expr under(flow *f, tp_expr e, const tp_expr *given, uint32_t n)
{
    const tp_expr_node k = *tp_expr_get(f->a->p, e);
    if (k.op == TP_E_OR)
        return flow_or(f, under(f, k.a, given, n), under(f, k.b, given, n));
    for (uint32_t i = 0; i < n; i++) {
        if (tp_same(given[i], e))
            return tp_const(f->a->p, 1);
        if (is_complement(f, given[i], e))
            return tp_const(f->a->p, 0);
    }
    if (k.op == TP_E_AND) {
        tp_expr a = under(f, k.a, given, n), b = under(f, k.b, given, n);
        int64_t v;
        if ((tp_expr_is_const(f->a->p, a, &v) && !v) || (tp_expr_is_const(f->a->p, b, &v) && !v))
            return tp_const(f->a->p, 0);
        if (tp_expr_is_const(f->a->p, a, &v))
            return b;
        if (tp_expr_is_const(f->a->p, b, &v))
            return a;
        return tp_same(a, k.a) && tp_same(b, k.b) ? e : tp_op2(f->a->p, TP_E_AND, a, b);
    }
    return e;
}

/* Is it a conjunction that flow_and() made, without a disjunction in it, or an atom? Its conjuncts say nothing of each
 * other then. */
static bool is_settled(const flow *f, tp_expr e)
{
    tp_expr_op op = tp_expr_get(f->a->p, e)->op;
    int64_t v;
    if (op == TP_E_AND)
        return e.id < f->settled.len && f->settled.at[e.id];
    return op != TP_E_OR && !tp_expr_is_const(f->a->p, e, &v);
}

static void note_settled(flow *f, tp_expr e)
{
    while (f->settled.len <= e.id)
        tp_push(f->a->arena, f->settled, false);
    f->settled.at[e.id] = true;
}

tp_expr flow_and(flow *f, tp_expr a, tp_expr b)
{
    if (flow_is_true(f, a) || flow_is_true(f, b))
        return flow_is_true(f, a) ? b : a;
    tp_expr all[2 * MAX_CONJUNCTS], result = a;
    uint32_t n = tp_conjuncts(f->a, a, all, MAX_CONJUNCTS), of_a = n;
    n += tp_conjuncts(f->a, b, all + n, MAX_CONJUNCTS);
    bool settled = n < MAX_CONJUNCTS && is_settled(f, a) && is_settled(f, b);
    uint32_t kept = settled ? of_a : 0; /* they stay as they are, and those of b have to be held against them alone */
    f->effort += (uint64_t)n * (settled ? of_a : n);
    for (uint32_t i = kept; i < n; i++) {
        tp_expr rest[2 * MAX_CONJUNCTS];
        uint32_t others = 0;
        bool disjunction = tp_expr_get(f->a->p, all[i])->op == TP_E_OR;
        for (uint32_t k = 0; k < n && disjunction; k++)
            if (k != i && tp_expr_get(f->a->p, all[k])->op != TP_E_OR)
                rest[others++] = all[k];
        tp_expr e = disjunction ? under(f, all[i], rest, others) : under(f, all[i], all, settled ? of_a : kept);
        int64_t v;
        if (tp_expr_is_const(f->a->p, e, &v)) {
            if (!v)
                return e;
            continue;
        }
        all[kept++] = e;
    }
    if (!kept)
        return tp_const(f->a->p, 1);
    for (uint32_t i = settled ? of_a : 0; i < kept; i++)
        result = i ? tp_op2(f->a->p, TP_E_AND, result, all[i]) : all[i];
    if (settled)
        note_settled(f, result);
    return result;
}

tp_expr flow_or(flow *f, tp_expr a, tp_expr b)
{
    int64_t v;
    if (tp_expr_is_const(f->a->p, a, &v))
        return v ? a : b;
    if (tp_expr_is_const(f->a->p, b, &v))
        return v ? b : a;
    if (tp_same(a, b))
        return a;
    if (is_complement(f, a, b))
        return tp_const(f->a->p, 1);
    return tp_op2(f->a->p, TP_E_OR, a, b);
}

tp_expr flow_subst(flow *f, tp_expr guard, const tp_expr *with, uint32_t n)
{
    return with ? flow_guard(f, tp_expr_subst(f->a->p, guard, with, n), false) : guard;
}

bool flow_mentions(flow *f, tp_expr e, const bool *marked)
{
    for (uint32_t i = 0; i < tp_sym_count(f->a->p); i++)
        if (marked[i] && tp_expr_mentions(f->a->p, e, i))
            return true;
    return false;
}

tp_expr flow_forget(flow *f, tp_expr guard, const bool *marked)
{
    tp_expr parts[MAX_CONJUNCTS], result = tp_const(f->a->p, 1);
    uint32_t n = tp_conjuncts(f->a, guard, parts, MAX_CONJUNCTS);
    for (uint32_t i = 0; i < n; i++)
        if (!flow_mentions(f, parts[i], marked))
            result = flow_and(f, result, parts[i]);
    return result;
}

/* ---- claims ---- */

void tp_flow_vars(tp_analysis *a, const tp_flow *f, uint32_t rank, const tp_expr *dims, tp_claim *c)
{
    tp_var *lanes = TP_NEWN(a->arena, tp_var, rank);
    for (uint32_t d = 0; d < rank; d++)
        lanes[d] = (tp_var){.sym = (uint32_t)tp_expr_get(a->p, f->lane[d])->value,
                            .lo = tp_const(a->p, 0),
                            .hi = tp_op2(a->p, TP_E_SUB, dims[d], tp_const(a->p, 1)),
                            .multiple_of = 1,
                            .step = true};
    c->extra = lanes;
    c->nextra = rank;
    c->walk = f->vars.at;
    c->nwalk = f->vars.len;
}

/* The question about scalars, by its expressions and the ranges of the walk's variables. */
static tp_str question(flow *f, tp_expr goal)
{
    uint32_t n = 0, *key = TP_NEWN(f->a->arena, uint32_t, 3 + 2 * f->out->vars.len);
    key[n++] = goal.id;
    key[n++] = f->path.id;
    key[n++] = f->behind.id;
    for (uint32_t i = 0; i < f->out->vars.len; i++) {
        key[n++] = f->out->vars.at[i].lo.id;
        key[n++] = f->out->vars.at[i].hi.id;
    }
    return (tp_str){(const char *)key, n * sizeof *key};
}

static bool is_shown(flow *f, tp_expr goal, uint32_t rank, const tp_expr *dims)
{
    enum { PATH = 32 };
    tp_expr premises[2 * PATH];
    tp_claim c = {.goal = goal, .over_steps = true, .premises = premises, .large = true};
    c.only_proof = f->out->kept.len; /* of what is guessed much is wrong: no contents of tables are looked for */
    tp_flow_vars(f->a, f->out, rank, dims, &c);
    c.npremises = tp_conjuncts(f->a, f->path, premises, PATH);
    c.npremises += tp_conjuncts(f->a, f->behind, premises + c.npremises, PATH);
    tp_claim anywhere = c; /* a long path seldom matters */
    anywhere.npremises = 0;
    if (c.npremises > FEW_PREMISES && tp_claim_follows(f->a, &anywhere))
        return true;
    bool holds = tp_claim_decide(f->a, &c).verdict == TP_PROVEN;
    f->out->given |= holds ? c.given : 0;
    if (holds)
        f->out->held = tp_basis_join(f->a->arena, f->out->held, tp_claim_basis(f->a, &c));
    return holds;
}

/* Where SMEM keeps something, loops are walked again and again, and the same is asked of them. */
bool flow_holds(flow *f, tp_expr goal, uint32_t rank, const tp_expr *dims)
{
    enum { NO = 1, YES };
    bool again = f->nkept && !rank;
    tp_str key = again ? question(f, goal) : (tp_str){NULL, 0};
    uint32_t known = again ? tp_map_get(&f->held, key) : 0;
    if (known)
        return known == YES;
    bool holds = is_shown(f, goal, rank, dims);
    if (again && !tp_exprs_overflowed(f->a->p))
        tp_map_set(f->a->arena, &f->held, key, holds ? YES : NO);
    return holds;
}

/* ---- leaks ---- */

static bool same_source(const tp_leak *a, const tp_leak *b)
{
    return a->birth == b->birth && a->operand == b->operand && a->dim == b->dim && a->stored == b->stored;
}

int flow_by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static flow_conjuncts conjuncts_of(flow *f, tp_expr when)
{
    while (f->conjuncts.len <= when.id)
        tp_push(f->a->arena, f->conjuncts, (flow_conjuncts){0});
    if (!f->conjuncts.at[when.id].ids) {
        tp_expr parts[MAX_CONJUNCTS];
        uint32_t n = tp_conjuncts(f->a, when, parts, MAX_CONJUNCTS), *ids = TP_NEWN(f->a->arena, uint32_t, n + 1);
        for (uint32_t i = 0; i < n; i++)
            ids[i] = parts[i].id;
        qsort(ids, n, sizeof *ids, flow_by_number);
        uint32_t distinct = 0;
        for (uint32_t i = 0; i < n; i++)
            if (!distinct || ids[i] != ids[distinct - 1])
                ids[distinct++] = ids[i];
        for (uint32_t i = 1; tp_asserts() && i < distinct; i++)
            tp_assert(ids[i - 1] < ids[i]);
        f->conjuncts.at[when.id] = (flow_conjuncts){distinct, ids};
    }
    return f->conjuncts.at[when.id];
}

/* Does `weak`, a conjunction, hold wherever `strong` does? By their conjuncts: chains of branches have many long ones.
 */
static bool implies(flow *f, tp_expr strong, tp_expr weak)
{
    if (tp_same(strong, weak))
        return true;
    flow_conjuncts from = conjuncts_of(f, strong), to = conjuncts_of(f, weak);
    uint32_t i = 0, k = 0;
    for (; k < to.n && to.n - k <= from.n - i; i++) /* else there are too few left to find */
        k += from.ids[i] == to.ids[k];
    f->effort += i + 1;
    return k == to.n;
}

/* A bit for each conjunct: where `strong` lacks a bit of `weak`, it lacks a conjunct. */
static uint64_t signature(flow *f, tp_expr when)
{
    tp_expr parts[MAX_CONJUNCTS];
    uint64_t bits = 0;
    while (f->signatures.len <= when.id)
        tp_push(f->a->arena, f->signatures, 0);
    if (f->signatures.at[when.id])
        return f->signatures.at[when.id];
    uint32_t n = tp_conjuncts(f->a, when, parts, MAX_CONJUNCTS);
    for (uint32_t i = 0; i < n; i++)
        bits |= UINT64_C(1) << (parts[i].id * UINT64_C(0x9e3779b97f4a7c15) >> 58);
    return f->signatures.at[when.id] = bits;
}

/* Says `a` all that `b` says? An exact one is worth more than one that may be too wide. Of both the signature is known.
 */
static bool subsumes(flow *f, const tp_leak *a, const tp_leak *b)
{
    return same_source(a, b) && (a->exact || !b->exact) && !(a->signature & ~b->signature) &&
           implies(f, b->when, a->when);
}

static bool any_subsumes(flow *f, const tp_leaks *list, const tp_leak *leak)
{
    for (uint32_t i = 0; i < list->len; i++)
        if (subsumes(f, &list->at[i], leak))
            return true;
    return false;
}

bool flow_has(flow *f, const tp_leaks *list, const tp_leak *leak)
{
    tp_leak l = *leak;
    l.signature = signature(f, l.when);
    return any_subsumes(f, list, &l);
}

bool flow_covers(flow *f, const tp_leaks *leaks, tp_expr when)
{
    for (uint32_t i = 0; i < leaks->len; i++)
        if (leaks->at[i].exact && implies(f, when, leaks->at[i].when))
            return true;
    return false;
}

bool flow_leak_holds(const flow *f, const tp_leak *l)
{
    if (!l->when.id || l->operand >= tp_noperands(f->k) || l->through > TP_PRIMS)
        return false;
    return l->birth != TP_BIRTH_OUTSIDE || l->dim <= f->k->operands[l->operand].rank;
}

void flow_add(flow *f, tp_leaks *list, tp_leak leak)
{
    tp_assert(flow_leak_holds(f, &leak));
    if (f->noting || flow_is_false(f, leak.when))
        return;
    leak.signature = signature(f, leak.when);
    leak.exact &= !flow_speaks_of_kept(f, leak.when);
    if (any_subsumes(f, list, &leak))
        return;
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->len; i++)
        if (!subsumes(f, &leak, &list->at[i]))
            list->at[count++] = list->at[i];
    list->len = count;
    if (list->len >= MAX_LEAKS) { /* one that stands for the rest */
        f->coarse = true;
        leak.when = tp_const(f->a->p, 1);
        leak.signature = 0;
        leak.exact = false;
        if (any_subsumes(f, list, &leak))
            return;
    }
    tp_push(f->a->arena, *list, leak);
}

/* All of them as they are: what is a list already has no two that say the same. */
static void copy_leaks(flow *f, tp_leaks *into, const tp_leaks *from)
{
    into->at = TP_NEWN(f->a->arena, tp_leak, from->len);
    into->len = into->cap = from->len;
    memcpy(into->at, from->at, from->len * sizeof *into->at);
}

void flow_join(flow *f, tp_leaks *into, const tp_leaks *from, tp_expr condition, const tp_expr *with, bool exact)
{
    uint32_t n = tp_sym_count(f->a->p), len = from->len;
    if (f->noting) /* paths and integers are what is wanted */
        return;
    if (!into->len && !with && exact && flow_is_true(f, condition)) {
        if (len)
            copy_leaks(f, into, from);
        return;
    }
    for (uint32_t i = 0; i < len; i++) {
        tp_leak l = from->at[i];
        l.when = flow_and(f, condition, flow_subst(f, l.when, with, n));
        l.exact &= exact;
        if (tp_expr_size(f->a->p, l.when) > MAX_CONDITION) { /* too much to carry on: whenever */
            f->coarse = true;
            l.when = tp_const(f->a->p, 1);
            l.exact = false;
        }
        flow_add(f, into, l);
    }
}

void flow_join_arm(flow *f, tp_leaks *into, const tp_leaks *arm, tp_expr when, const tp_leaks *other, bool exact)
{
    for (uint32_t i = 0; i < arm->len; i++) {
        tp_leak l = arm->at[i];
        bool always = flow_has(f, other, &l);
        if (always)
            flow_add(f, into, l);
        else
            flow_join(f, into, &(tp_leaks){.at = &l, .len = 1}, when, NULL, exact);
    }
}

tp_expr *flow_identity(flow *f)
{
    return TP_NEWN(f->a->arena, tp_expr, tp_sym_count(f->a->p));
}

uint32_t flow_lane_sym(const flow *f, uint32_t d)
{
    return (uint32_t)tp_expr_get(f->a->p, f->out->lane[d])->value;
}

bool *flow_lane_marks(flow *f)
{
    bool *marks = TP_NEWN(f->a->arena, bool, tp_sym_count(f->a->p));
    for (uint32_t d = 0; d < TP_MAX_RANK; d++)
        marks[flow_lane_sym(f, d)] = true;
    return marks;
}

bool *flow_own_variables(flow *f)
{
    bool *marks = TP_NEWN(f->a->arena, bool, tp_sym_count(f->a->p));
    for (uint32_t i = 0; i < f->out->vars.len; i++)
        marks[f->out->vars.at[i].sym] = true;
    return marks;
}

tp_expr flow_new_variable(flow *f, const char *name, tp_expr extent)
{
    tp_exprs *p = f->a->p;
    tp_expr e = tp_sym_new(p, tp_printf(f->a->arena, "%s%u", name, f->out->vars.len));
    tp_var v = {.sym = (uint32_t)tp_expr_get(p, e)->value, .lo = tp_const(p, 0), .multiple_of = 1, .step = true};
    v.hi = extent.id ? tp_op2(p, TP_E_SUB, extent, tp_const(p, 1)) : v.lo;
    tp_push(f->a->arena, f->out->vars, v);
    tp_push(f->a->arena, f->counters, !extent.id);
    return e;
}

bool flow_speaks_of_kept(const flow *f, tp_expr e)
{
    bool any = false;
    for (uint32_t i = 0; i < f->out->kept.len && e.id && !any; i++)
        any = tp_expr_mentions(f->a->p, e, (uint32_t)tp_expr_get(f->a->p, f->out->kept.at[i].head)->value);
    return any || flow_speaks_of_last(f, e);
}
