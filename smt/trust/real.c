/* Terms to sums of products. */
#include "smt/trust/real_sum.h"

enum { MAX_POWER = 8, MAX_SPLITS = 4 };

/* ---- atoms ---- */

const atom *tp_reals_atom(const form *x, tp_str *key)
{
    if (x->n != 1 || x->at[0].num != 1 || x->at[0].den != 1 || x->at[0].nguards || x->at[0].exponent ||
        x->at[0].nfactors != 1 || x->at[0].factor[0].power != 1)
        return NULL;
    *key = x->at[0].factor[0].key;
    return x->at[0].factor[0].atom;
}

static const form *plain_atom(tp_reals *f, const atom *a, int power)
{
    atom *copy = TP_NEW(f->arena, atom);
    *copy = *a;
    product p = {.num = 1, .den = 1, .nfactors = 1, .factor = {{copy, tp_real_atom_key(f, copy, NULL), power}}};
    return tp_real_form_of(f, &p, 1);
}

static const form *node(tp_reals *f, uint32_t id);

/* What a rule says that an atom is; later rules hold of it, too. */
static const form *by_rule(tp_reals *f, tp_str key)
{
    for (uint32_t i = f->from_rule; i < f->rules.len; i++) {
        tp_real_rule *r = &f->rules.at[i];
        if (!tp_str_eq(r->key, key))
            continue;
        uint32_t from = f->from_rule;
        const form **memo = f->memo;
        tp_real_view view = f->view;
        r->used = true;
        if (r->form)
            return r->form;
        f->from_rule = i + 1;
        const form *x = tp_reals_of(f, r->to, (tp_real_view){NULL, 0, NULL, 0});
        f->rules.at[i].form = x;
        f->from_rule = from;
        f->memo = memo;
        f->view = view;
        return x;
    }
    return NULL;
}

void tp_reals_rule(tp_reals *f, tp_str key, uint32_t to)
{
    tp_push(f->arena, f->rules, ((tp_real_rule){.key = key, .to = to}));
    for (uint32_t i = 0; i < f->rules.len; i++)
        f->rules.at[i].form = NULL;
}

static const form *of_atom(tp_reals *f, const atom *a)
{
    const form *x = plain_atom(f, a, 1), *by = by_rule(f, x->at[0].factor[0].key);
    return by ? by : x;
}

/* ---- conditions ---- */

static const form *choose(tp_reals *f, tp_expr c, bool negate, const form *yes, const form *no);

static guard guard_of(tp_reals *f, int kind, tp_expr e)
{
    guard g = {.kind = kind, .e = e};
    g.key = tp_real_guard_key(f, &g, NULL);
    return g;
}

static bool compares(tp_reals *f, tp_expr c, guard *g)
{
    tp_exprs *p = f->own.to;
    const tp_expr_node n = *tp_expr_get(p, c);
    tp_expr ab = n.b.id ? tp_op2(p, TP_E_SUB, n.a, n.b) : c, ba = n.b.id ? tp_op2(p, TP_E_SUB, n.b, n.a) : c,
            one = tp_const(p, 1);
    switch (n.op) {
    case TP_E_GE: *g = guard_of(f, 0, ab); return true;
    case TP_E_LE: *g = guard_of(f, 0, ba); return true;
    case TP_E_GT: *g = guard_of(f, 0, tp_op2(p, TP_E_SUB, ab, one)); return true;
    case TP_E_LT: *g = guard_of(f, 0, tp_op2(p, TP_E_SUB, ba, one)); return true;
    case TP_E_EQ: *g = guard_of(f, 1, ab); return true;
    case TP_E_NE: *g = guard_of(f, 2, ab); return true;
    case TP_E_CONNECTIVES:
    case TP_E_ITE: return false;
    case TP_E_LEAVES: /* an integer: is it 0? */
    case TP_E_RING:
    case TP_E_DIVISIONS:
    case TP_E_BITS:
    case TP_E_EXTREMES:
    case TP_E_POW2: *g = guard_of(f, 2, c); return true;
    }
    tp_reals_stop(f, "a condition is of an unknown kind");
}

bool tp_reals_guard(tp_reals *f, tp_expr condition, guard *g)
{
    const tp_expr_node n = *tp_expr_get(f->own.to, condition);
    if (n.op == TP_E_NOT && compares(f, n.a, g)) {
        *g = tp_real_negate(f, *g);
        return true;
    }
    return compares(f, condition, g);
}

guard tp_reals_guard_at(tp_reals *f, guard g, const tp_real_view *view)
{
    return guard_of(f, g.kind, tp_reals_index(f, g.e, view));
}

guard tp_reals_negated(tp_reals *f, guard g)
{
    return tp_real_negate(f, g);
}

/* 1: it holds, -1: it does not, 0: that depends. */
static int truth_of(tp_reals *f, const guard *g)
{
    tp_bigpoly q = tp_real_polynomial(f, g->e, NULL);
    mpz_srcptr v = tp_big_value(&f->big, &q);
    if (v)
        return (g->kind == 0 ? mpz_sgn(v) >= 0 : (mpz_sgn(v) == 0) == (g->kind == 1)) ? 1 : -1;
    for (uint32_t i = 0; i < f->truths.len; i++) {
        tp_real_truth *t = &f->truths.at[i];
        bool yes = tp_str_eq(t->key, g->key), no = tp_str_eq(t->opposite, g->key);
        t->used |= yes || no;
        if (yes || no)
            return yes ? 1 : -1;
    }
    return 0;
}

static const form *by_guard(tp_reals *f, guard g, bool negate, const form *yes, const form *no)
{
    int truth = truth_of(f, &g);
    if (truth)
        return (truth > 0) != negate ? yes : no;
    guard opposite = tp_real_negate(f, g);
    return tp_real_plus(f, tp_reals_under(f, yes, negate ? opposite : g), tp_reals_under(f, no, negate ? g : opposite),
                        1);
}

/* yes where c holds (negate: does not), else no. */
static const form *choose(tp_reals *f, tp_expr c, bool negate, const form *yes, const form *no)
{
    const tp_expr_node n = *tp_expr_get(f->own.to, c);
    const form *swap = yes;
    guard g;
    if (negate) {
        yes = no;
        no = swap;
    }
    switch (n.op) {
    case TP_E_NOT: return choose(f, n.a, true, yes, no);
    case TP_E_AND: return choose(f, n.a, false, choose(f, n.b, false, yes, no), no);
    case TP_E_OR: return choose(f, n.a, false, yes, choose(f, n.b, false, yes, no));
    case TP_E_IMPLIES: return choose(f, n.a, false, choose(f, n.b, false, yes, no), yes);
    case TP_E_ITE: return choose(f, n.a, false, choose(f, n.b, false, yes, no), choose(f, n.c, false, yes, no));
    case TP_E_COMPARISONS:
    case TP_E_LEAVES:
    case TP_E_RING:
    case TP_E_DIVISIONS:
    case TP_E_BITS:
    case TP_E_EXTREMES:
    case TP_E_POW2: break;
    }
    if (!compares(f, c, &g))
        tp_reals_stop(f, "a condition is of an unknown kind");
    return by_guard(f, g, false, yes, no);
}

/* ---- integers ---- */

static const form *integer(tp_reals *f, tp_expr e)
{
    const tp_expr_node n = *tp_expr_get(f->own.to, e);
    tp_bigpoly q = tp_real_polynomial(f, e, NULL);
    mpz_srcptr v = tp_big_value(&f->big, &q);
    if (v && mpz_fits_slong_p(v))
        return tp_real_constant(f, mpz_get_si(v), 1);
    switch (n.op) {
    case TP_E_ADD: return tp_real_plus(f, integer(f, n.a), integer(f, n.b), 1);
    case TP_E_SUB: return tp_real_plus(f, integer(f, n.a), integer(f, n.b), -1);
    case TP_E_MUL: return tp_real_times(f, integer(f, n.a), integer(f, n.b));
    case TP_E_NEG: return tp_real_negative(f, integer(f, n.a));
    case TP_E_COMPARISONS:
    case TP_E_CONNECTIVES: return choose(f, e, false, tp_real_constant(f, 1, 1), tp_real_constant(f, 0, 1));
    case TP_E_LEAVES:
    case TP_E_DIVISIONS:
    case TP_E_BITS:
    case TP_E_EXTREMES:
    case TP_E_POW2:
    case TP_E_ITE: break;
    }
    return plain_atom(f, &(atom){.kind = TP_REAL_INTEGER, .e = e}, 1);
}

/* ---- index expressions through a view ---- */

tp_expr tp_reals_index(tp_reals *f, tp_expr e, const tp_real_view *view)
{
    tp_exprs *p = f->own.to;
    const tp_expr_node n = *tp_expr_get(p, e);
    tp_expr r = e;
    if (!e.id || tp_expr_too_large(e))
        return e;
    if (n.op == TP_E_SYM) {
        r = (uint32_t)n.value < view->n && view->with[n.value].id ? view->with[n.value] : e;
    } else if (n.op != TP_E_CONST) {
        tp_expr a = tp_reals_index(f, n.a, view), b = tp_reals_index(f, n.b, view), c = tp_reals_index(f, n.c, view);
        r = tp_expr_rebuild(p, &n, a, b, c);
    }
    for (uint32_t i = 0; i < view->nexchanges; i++)
        if (tp_same(view->exchanges[i].from, r))
            r = view->exchanges[i].to;
    return r;
}

/* As a node has it. */
static tp_expr index_of(tp_reals *f, tp_expr e)
{
    e = tp_own_copy(&f->own, e);
    if (f->view.with || f->view.nexchanges)
        e = tp_reals_index(f, e, &f->view);
    for (uint32_t i = 0; i < f->index.len; i++)
        if (tp_str_eq(tp_reals_key(f, f->index.at[i].from), tp_reals_key(f, e)))
            e = f->index.at[i].to;
    return e;
}

/* ---- operations ---- */

static const guard *some_guard(const form *x)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (x->at[i].nguards)
            return &x->at[i].guard[0];
    return NULL;
}

const form *tp_reals_where(tp_reals *f, const form *x, guard g)
{
    product *at = TP_NEWN(f->arena, product, x->n + 1);
    tp_str opposite = tp_real_negate(f, g).key;
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        if (tp_real_has_guard(&x->at[i], opposite))
            continue;
        at[n] = x->at[i];
        for (uint32_t k = at[n].nguards; k-- > 0;)
            if (tp_str_eq(at[n].guard[k].key, g.key))
                tp_real_drop_guard(&at[n], k);
        n++;
    }
    return tp_real_collect(f, at, n);
}

static const form *exponential(tp_reals *f, const form *x)
{
    product p = {.num = 1, .den = 1, .exponent = x->n ? x : NULL};
    return tp_real_form_of(f, &p, 1);
}

static const product *least(const form *x)
{
    const product *best = &x->at[0];
    for (uint32_t i = 1; i < x->n; i++)
        if (tp_real_by_text(&x->at[i].key, &best->key) < 0)
            best = &x->at[i];
    return best;
}

/* 1 / (c exp(e) x) = exp(-e) / c / x, for the least of several terms. */
static const form *inverse(tp_reals *f, const form *x)
{
    if (x->n == 0)
        tp_reals_stop(f, "it divides by 0");
    const product first = *least(x);
    product p = {.num = first.den, .den = first.num};
    if (some_guard(x))
        tp_reals_stop(f, "it divides by what depends on a condition");
    tp_real_reduce(f, &p);
    if (first.exponent)
        p.exponent = tp_real_negative(f, first.exponent);
    for (uint32_t i = 0; i < first.nfactors && x->n == 1; i++) {
        p.factor[p.nfactors] = first.factor[i];
        p.factor[p.nfactors++].power = -first.factor[i].power;
    }
    const form *scale = tp_real_form_of(f, &p, 1);
    if (x->n == 1)
        return scale;
    atom rest = {.kind = TP_REAL_APPLY, .op = TP_S("the sum"), .nargs = 1, .arg = {tp_real_times(f, x, scale)}};
    return tp_real_times(f, scale, plain_atom(f, &rest, -1));
}

static const form *power(tp_reals *f, const form *x, int64_t n)
{
    const form *r = tp_real_constant(f, 1, 1);
    if (n < -MAX_POWER || n > MAX_POWER)
        tp_reals_stop(f, "a power is too large");
    for (int64_t i = 0; i < (n < 0 ? -n : n); i++)
        r = tp_real_times(f, r, x);
    return n < 0 ? inverse(f, r) : r;
}

static const form *opaque(tp_reals *f, tp_str op, int64_t number, const form *const *arg, uint32_t nargs)
{
    atom a = {.kind = TP_REAL_APPLY, .op = op, .number = number, .nargs = nargs};
    bool turn = tp_str_is(op, ">") || tp_str_is(op, ">=");
    if (turn)
        a.op = tp_str_is(op, ">") ? TP_S("<") : TP_S("<=");
    for (uint32_t i = 0; i < nargs; i++)
        a.arg[i] = arg[turn ? nargs - 1 - i : i];
    return plain_atom(f, &a, 1);
}

static const form *by_meaning(tp_reals *f, tp_str op, int64_t number, const form *const *arg, uint32_t nargs)
{
    const form *x = arg[0], *one = tp_real_constant(f, 1, 1);
    atom log2e = {.kind = TP_REAL_NUMBER, .op = TP_S("log2(e)")};
    if (nargs == 1) {
        if (tp_str_is(op, "exp"))
            return exponential(f, x);
        if (tp_str_is(op, "exp2"))
            return exponential(f, tp_real_times(f, x, plain_atom(f, &log2e, -1)));
        if (tp_str_is(op, "expm1"))
            return tp_real_plus(f, exponential(f, x), one, -1);
        if (tp_str_is(op, "square"))
            return tp_real_times(f, x, x);
        if (tp_str_is(op, "**"))
            return power(f, x, number);
        if (tp_str_is(op, "rsqrt"))
            return inverse(f, opaque(f, TP_S("sqrt"), 0, arg, 1));
        if (tp_str_is(op, "logistic"))
            return inverse(f, tp_real_plus(f, one, exponential(f, tp_real_negative(f, x)), 1));
        if (tp_str_is(op, "silu"))
            return tp_real_times(f, x, inverse(f, tp_real_plus(f, one, exponential(f, tp_real_negative(f, x)), 1)));
        if (tp_str_is(op, "relu")) {
            const form *const both[] = {x, tp_real_constant(f, 0, 1)};
            return opaque(f, TP_S("maximum"), 0, both, 2);
        }
    }
    return opaque(f, op, number, arg, nargs);
}

/* f(if c a b) = if c f(a) f(b) */
static const form *apply_guarded(tp_reals *f, tp_str op, int64_t number, const form *const *arg, uint32_t nargs,
                                 int depth)
{
    const guard *g = NULL;
    for (uint32_t i = 0; i < nargs && !g; i++)
        g = some_guard(arg[i]);
    if (!g)
        return by_meaning(f, op, number, arg, nargs);
    if (depth == MAX_SPLITS)
        tp_reals_stop(f, "an operation depends on too many conditions");
    const form *yes[3], *no[3];
    guard is = *g, not = tp_real_negate(f, *g);
    for (uint32_t i = 0; i < nargs; i++) {
        yes[i] = tp_reals_where(f, arg[i], is);
        no[i] = tp_reals_where(f, arg[i], not );
    }
    return by_guard(f, is, false, apply_guarded(f, op, number, yes, nargs, depth + 1),
                    apply_guarded(f, op, number, no, nargs, depth + 1));
}

static const form *apply(tp_reals *f, const tp_real_node *r)
{
    const form *arg[3], *one = tp_real_constant(f, 1, 1);
    for (uint32_t i = 0; i < r->nargs; i++)
        arg[i] = node(f, r->arg[i]);
    if (r->nargs == 2 && tp_str_is(r->op, "+"))
        return tp_real_plus(f, arg[0], arg[1], 1);
    if (r->nargs == 2 && tp_str_is(r->op, "-"))
        return tp_real_plus(f, arg[0], arg[1], -1);
    if (r->nargs == 2 && (tp_str_is(r->op, "*") || tp_str_is(r->op, "&")))
        return tp_real_times(f, arg[0], arg[1]);
    if (r->nargs == 2 && tp_str_is(r->op, "/"))
        return tp_real_times(f, arg[0], inverse(f, arg[1]));
    if (r->nargs == 2 && tp_str_is(r->op, "|"))
        return tp_real_plus(f, tp_real_plus(f, arg[0], arg[1], 1), tp_real_times(f, arg[0], arg[1]), -1);
    if (r->nargs == 1 && tp_str_is(r->op, "neg"))
        return tp_real_negative(f, arg[0]);
    if (r->nargs == 1 && tp_str_is(r->op, "~"))
        return tp_real_plus(f, one, arg[0], -1);
    if (r->nargs == 1 && tp_str_is(r->op, "the same")) /* a cast that the claim takes for the identity */
        return arg[0];
    if (r->nargs == 3 && tp_str_is(r->op, "where"))
        return tp_real_plus(f, tp_real_times(f, arg[0], arg[1]),
                            tp_real_times(f, tp_real_plus(f, one, arg[0], -1), arg[2]), 1);
    return apply_guarded(f, r->op, r->number, arg, r->nargs, 0);
}

/* ---- folds ---- */

static bool form_mentions(tp_reals *f, const form *x, uint32_t sym);

static bool mentions(tp_reals *f, tp_expr e, uint32_t sym)
{
    return tp_expr_mentions(f->own.to, e, sym);
}

static bool atom_mentions(tp_reals *f, const atom *a, uint32_t sym)
{
    bool yes = a->e.id && mentions(f, a->e, sym);
    for (uint32_t d = 0; d < a->rank; d++)
        yes |= mentions(f, a->at[d], sym);
    for (uint32_t i = 0; i < a->counters; i++) {
        if (a->counter[i] == sym)
            tp_reals_stop(f, "a counter is bound twice");
        yes |= mentions(f, a->extent[i], sym);
    }
    for (uint32_t i = 0; i < a->nguards; i++)
        yes |= mentions(f, a->guard[i].e, sym);
    for (uint32_t i = 0; i < a->nargs && !yes; i++)
        yes = form_mentions(f, a->arg[i], sym);
    return yes;
}

static bool product_mentions(tp_reals *f, const product *p, uint32_t sym)
{
    bool yes = p->exponent && form_mentions(f, p->exponent, sym);
    for (uint32_t i = 0; i < p->nguards; i++)
        yes |= mentions(f, p->guard[i].e, sym);
    for (uint32_t i = 0; i < p->nfactors; i++)
        yes |= atom_mentions(f, p->factor[i].atom, sym);
    return yes;
}

static bool form_mentions(tp_reals *f, const form *x, uint32_t sym)
{
    bool yes = false;
    tp_bigs_spend(&f->big, 1);
    for (uint32_t i = 0; i < x->n; i++)
        yes |= product_mentions(f, &x->at[i], sym);
    return yes;
}

static bool atom_holds(tp_reals *f, const atom *a, uint32_t sym)
{
    bool yes = a->kind == TP_REAL_HELD && mentions(f, a->e, sym);
    for (uint32_t i = 0; i < a->counters; i++)
        if (a->counter[i] == sym)
            tp_reals_stop(f, "a counter is bound twice");
    for (uint32_t i = 0; i < a->nargs && !yes; i++)
        yes = tp_reals_holds(f, a->arg[i], sym);
    return yes;
}

bool tp_reals_holds(tp_reals *f, const form *x, uint32_t sym)
{
    bool yes = false;
    tp_bigs_spend(&f->big, 1);
    for (uint32_t i = 0; i < x->n && !yes; i++) {
        yes = x->at[i].exponent && tp_reals_holds(f, x->at[i].exponent, sym);
        for (uint32_t k = 0; k < x->at[i].nfactors && !yes; k++)
            yes = atom_holds(f, x->at[i].factor[k].atom, sym);
    }
    return yes;
}

/* Does it speak of a counter of a? */
static bool speaks(tp_reals *f, const product *part, const atom *a)
{
    bool yes = false;
    for (uint32_t i = 0; i < a->counters; i++)
        yes |= product_mentions(f, part, a->counter[i]);
    return yes;
}

static void part_exponent(tp_reals *f, const form *e, const atom *a, product *inner, product *outer)
{
    product *in = TP_NEWN(f->arena, product, e->n + 1), *out = TP_NEWN(f->arena, product, e->n + 1);
    uint32_t nin = 0, nout = 0;
    for (uint32_t i = 0; i < e->n; i++)
        if (speaks(f, &e->at[i], a))
            in[nin++] = e->at[i];
        else
            out[nout++] = e->at[i];
    inner->exponent = nin ? tp_real_form_of(f, in, nin) : NULL;
    outer->exponent = nout ? tp_real_form_of(f, out, nout) : NULL;
}

/* p = outer * inner; a sum that is a factor of it joins a's counters. */
static void part(tp_reals *f, const product *p, bool joins, atom *a, product *outer, product *inner)
{
    const atom *joined = NULL;
    *outer = (product){.num = p->num, .den = p->den};
    *inner = (product){.num = 1, .den = 1};
    for (uint32_t i = 0; i < p->nguards; i++) {
        product one = {.num = 1, .den = 1, .nguards = 1, .guard = {p->guard[i]}};
        tp_real_add_guard(f, speaks(f, &one, a) ? inner : outer, p->guard[i]);
    }
    for (uint32_t i = 0; i < p->nfactors; i++) {
        product one = {.num = 1, .den = 1, .nfactors = 1, .factor = {p->factor[i]}};
        const atom *x = p->factor[i].atom;
        bool in = speaks(f, &one, a);
        if (in && joins && !joined && x->kind == TP_REAL_FOLD && tp_str_is(x->op, "sum") && p->factor[i].power == 1 &&
            x->arg[0]->n == 1)
            joined = x;
        else
            tp_real_add_factor(f, in ? inner : outer, p->factor[i]);
    }
    if (p->exponent)
        part_exponent(f, p->exponent, a, inner, outer);
    if (!joined)
        return;
    for (uint32_t i = 0; i < joined->counters; i++) {
        if (product_mentions(f, inner, joined->counter[i]) || a->counters == TP_REAL_COUNTERS)
            tp_reals_stop(f, "a counter of a sum is captured");
        a->counter[a->counters] = joined->counter[i];
        a->extent[a->counters++] = joined->extent[i];
    }
    if (!tp_real_times_product(f, inner, &joined->arg[0]->at[0]))
        inner->num = 0;
}

static const form *sum_over(tp_reals *f, const atom *over, const form *body, bool joins)
{
    const form *total = tp_real_constant(f, 0, 1);
    for (uint32_t i = 0; i < body->n; i++) {
        product outer, inner;
        atom a = *over;
        part(f, &body->at[i], joins, &a, &outer, &inner);
        if (inner.num == 0)
            continue;
        a.nargs = 1;
        a.arg[0] = tp_real_form_of(f, &inner, 1);
        total = tp_real_plus(f, total, tp_real_times(f, tp_real_form_of(f, &outer, 1), of_atom(f, &a)), 1);
    }
    return total;
}

const form *tp_reals_plus(tp_reals *f, const form *a, const form *b)
{
    return tp_real_plus(f, a, b, 1);
}

const form *tp_reals_sum(tp_reals *f, const atom *over, const form *body)
{
    return sum_over(f, over, body, true);
}

static bool is_unit(const tp_real_node *r, tp_str fold)
{
    return r->kind == TP_REAL_NUMBER && tp_str_is(r->op, tp_str_is(fold, "max") ? "-inf" : "inf");
}

/* Conditions outside of which the body is the unit: of points that are none. */
static uint32_t peel(tp_reals *f, atom *a, uint32_t body)
{
    for (;;) {
        const tp_real_node *r = &f->d->reals[body - 1];
        bool extreme = tp_str_is(a->op, "max") || tp_str_is(a->op, "min");
        if (!extreme || r->kind != TP_REAL_IF)
            return body;
        bool no = is_unit(&f->d->reals[r->arg[1] - 1], a->op), yes = is_unit(&f->d->reals[r->arg[0] - 1], a->op);
        if (no == yes)
            return body;
        const form *points = choose(f, index_of(f, r->e), yes, tp_real_constant(f, 1, 1), tp_real_constant(f, 0, 1));
        if (points->n != 1 || points->at[0].nfactors || points->at[0].num != 1 || points->at[0].den != 1)
            tp_reals_stop(f, "the condition of a maximum is no conjunction");
        product all = {.nguards = a->nguards};
        memcpy(all.guard, a->guard, sizeof all.guard);
        for (uint32_t i = 0; i < points->at[0].nguards; i++)
            if (!tp_real_add_guard(f, &all, points->at[0].guard[i]))
                tp_reals_stop(f, "a maximum over no elements");
        a->nguards = all.nguards;
        memcpy(a->guard, all.guard, sizeof a->guard);
        body = r->arg[no ? 0 : 1];
    }
}

static uint32_t counter_of(tp_reals *f, uint32_t sym)
{
    uint32_t own;
    if (!tp_own_symbol(&f->own, sym, &own))
        tp_reals_stop(f, "a counter is no symbol");
    return own;
}

static void add_counters(tp_reals *f, atom *a, const tp_real_node *r)
{
    for (uint32_t i = 0; i < r->counters; i++) {
        if (a->counters == TP_REAL_COUNTERS)
            tp_reals_stop(f, "a fold has too many counters");
        uint32_t sym = counter_of(f, r->counter[i]);
        for (uint32_t k = 0; k < a->counters; k++)
            if (a->counter[k] == sym)
                tp_reals_stop(f, "a counter is bound twice");
        a->extent[a->counters] = index_of(f, r->extent[i]);
        for (uint32_t k = 0; k < r->counters; k++)
            if (k >= i && mentions(f, a->extent[a->counters], counter_of(f, r->counter[k])))
                tp_reals_stop(f, "an extent depends on a later counter");
        a->counter[a->counters++] = sym;
    }
}

/* The counter of a fold names no recurrence. */
static void must_not_hold(tp_reals *f, const form *x, const atom *a)
{
    for (uint32_t i = 0; i < a->counters; i++)
        if (tp_reals_holds(f, x, a->counter[i]))
            tp_reals_stop(f, "what a recurrence was is spoken of outside of it");
}

static const form *fold(tp_reals *f, const tp_real_node *r)
{
    atom a = {.kind = TP_REAL_FOLD, .op = r->op};
    uint32_t body = r->arg[0];
    add_counters(f, &a, r);
    if (tp_str_is(r->op, "sum")) {
        must_not_hold(f, node(f, body), &a);
        return sum_over(f, &a, node(f, body), r->kind == TP_REAL_FOLD);
    }
    for (;;) { /* maxima of maxima */
        body = peel(f, &a, body);
        const tp_real_node *inner = &f->d->reals[body - 1];
        if (r->kind != TP_REAL_FOLD || inner->kind != TP_REAL_FOLD || !tp_str_eq(inner->op, r->op))
            break;
        add_counters(f, &a, inner);
        body = inner->arg[0];
    }
    a.nargs = 1;
    a.arg[0] = node(f, body);
    must_not_hold(f, a.arg[0], &a);
    return of_atom(f, &a);
}

static const form *scan(tp_reals *f, const tp_real_node *r)
{
    atom a = {.kind = TP_REAL_SCAN, .nargs = 2};
    add_counters(f, &a, r);
    a.arg[0] = node(f, r->arg[0]);
    a.arg[1] = node(f, r->arg[1]);
    if (form_mentions(f, a.arg[1], a.counter[0]))
        tp_reals_stop(f, "a recurrence begins with what speaks of its turns");
    return of_atom(f, &a);
}

/* It keeps the name of its recurrence, whatever stands for other symbols. */
static const form *held(tp_reals *f, const tp_real_node *r)
{
    tp_expr e = tp_own_copy(&f->own, r->e);
    if (!e.id || tp_expr_get(f->own.to, e)->op != TP_E_SYM || !tp_same(e, index_of(f, r->e)))
        tp_reals_stop(f, "what a recurrence was is named by its counter alone");
    return plain_atom(f, &(atom){.kind = TP_REAL_HELD, .e = e}, 1);
}

/* ---- nodes ---- */

static const form *convert(tp_reals *f, const tp_real_node *r)
{
    switch (r->kind) {
    case TP_REAL_INTEGER: return integer(f, index_of(f, r->e));
    case TP_REAL_RATIO: return tp_real_constant(f, r->num, r->den);
    case TP_REAL_NUMBER:
        if (tp_str_is(r->op, "inf") || tp_str_is(r->op, "-inf") || tp_str_is(r->op, "nan"))
            tp_reals_stop(f, "it computes with infinity");
        return plain_atom(f, &(atom){.kind = TP_REAL_NUMBER, .op = r->op}, 1);
    case TP_REAL_READ: {
        atom a = {.kind = TP_REAL_READ, .operand = r->operand, .rank = r->rank};
        for (uint32_t d = 0; d < r->rank; d++)
            a.at[d] = index_of(f, r->at[d]);
        return plain_atom(f, &a, 1);
    }
    case TP_REAL_IF: {
        const form *yes = node(f, r->arg[0]), *no = node(f, r->arg[1]);
        return choose(f, index_of(f, r->e), false, yes, no);
    }
    case TP_REAL_FOLD:
    case TP_REAL_OVER: return fold(f, r);
    case TP_REAL_SCAN: return scan(f, r);
    case TP_REAL_HELD: return held(f, r);
    case TP_REAL_APPLY: return apply(f, r);
    case TP_REAL_KINDS: break;
    }
    tp_reals_stop(f, "there is no such node");
}

static const form *node(tp_reals *f, uint32_t id)
{
    if (!f->memo[id - 1])
        f->memo[id - 1] = convert(f, &f->d->reals[id - 1]);
    return f->memo[id - 1];
}

const form *tp_reals_of(tp_reals *f, uint32_t id, tp_real_view view)
{
    const form **memo = f->memo;
    tp_real_view outer = f->view;
    if (id < 1 || id > f->d->nreals)
        tp_reals_stop(f, "there is no such node");
    f->memo = TP_NEWN(f->arena, const form *, f->d->nreals + 1);
    f->view = view;
    const form *x = node(f, id);
    f->memo = memo;
    f->view = outer;
    return x;
}
