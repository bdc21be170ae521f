/* The proof by evaluating every case. A case counts when a hypothesis has a
 * value there and is false: what overflows or divides by zero says nothing,
 * and a case of which nothing is said is not decided. */
#include "smt/trust/check.h"

enum { MAX_POINTS = 300000 };

typedef struct walk {
    tp_checker *c;
    const tp_check_state *s;
    int64_t *env;
    bool *set; /* per symbol: env has its value */
} walk;

static bool leave_undecided(const walk *w, const char *what)
{
    tp_buf why = {.arena = w->c->arena};
    tp_buf_c(&why, what);
    for (uint32_t i = 0; i < w->s->nvars && i < 8; i++)
        if (w->set[w->s->vars[i].sym])
            tp_buf_printf(&why, "%s%.*s = %lld", i ? ", " : ": ", TP_FMT(tp_sym_name(w->c->p, w->s->vars[i].sym)),
                          (long long)w->env[w->s->vars[i].sym]);
    return tp_check_reject(w->c, tp_buf_view(&why));
}

/* Its value, when it has one and speaks only of what is set. */
static bool value_of(const walk *w, tp_expr e, int64_t *value)
{
    return tp_expr_eval(w->c->p, e, w->env, value) == TP_EVAL_OK;
}

static bool all_set(const walk *w, tp_expr e)
{
    const tp_expr_node *n = tp_expr_get(w->c->p, e);
    if (!e.id || n->op == TP_E_CONST)
        return true;
    if (n->op == TP_E_SYM)
        return w->set[n->value];
    return n->op != TP_E_READ && n->op != TP_E_TOO_LARGE && all_set(w, n->a) && all_set(w, n->b) && all_set(w, n->c);
}

static bool point(const walk *w)
{
    bool valued = true;
    for (uint32_t k = 0; k < w->s->hyps.len; k++) {
        const tp_hypothesis *h = &w->s->hyps.at[k];
        int64_t v;
        tp_bigs_spend(&w->c->big, 2 + tp_expr_size(w->c->p, h->e) / 16);
        if (!value_of(w, h->e, &v))
            valued = false;
        else if ((v != 0) == h->negated)
            return true;
    }
    return leave_undecided(w, valued ? "a case contradicts the claim" : "a case has no value");
}

static bool points_from(walk *w, uint32_t i)
{
    int64_t lo = 0, hi = 0;
    if (i == w->s->nvars)
        return point(w);
    const tp_var *x = &w->s->vars[i];
    tp_bigs_spend(&w->c->big, 1);
    if (!x->choices && (!value_of(w, x->lo, &lo) || !value_of(w, x->hi, &hi)))
        return leave_undecided(w, "a bound has no value");
    int64_t n = x->choices                     ? (int64_t)x->nchoices
                : hi < lo                      ? 0
                : hi / 2 - lo / 2 > MAX_POINTS ? MAX_POINTS + 1
                                               : hi - lo + 1;
    if (n > MAX_POINTS)
        return leave_undecided(w, "there are too many cases to evaluate");
    for (int64_t k = 0; k < n; k++) {
        int64_t value = x->choices ? x->choices[k] : lo + k;
        w->env[x->sym] = value;
        w->set[x->sym] = true;
        if (value % x->multiple_of == 0 && !points_from(w, i + 1))
            return false;
    }
    w->set[x->sym] = false;
    return true;
}

/* Two bounds each, or choices; bounds over variables that come earlier, and
 * nothing else anywhere: no value is read before it is set. */
static bool in_order(walk *w)
{
    bool ok = true;
    for (uint32_t i = 0; i < w->s->nvars; i++)
        if (!w->s->vars[i].choices && (!w->s->vars[i].lo.id || !w->s->vars[i].hi.id))
            return tp_check_reject(w->c, TP_S("a variable has no bounds to enumerate"));
    for (uint32_t i = 0; i < w->s->nvars && ok; i++) {
        const tp_var *x = &w->s->vars[i];
        ok = !w->set[x->sym] && all_set(w, x->lo) && all_set(w, x->hi);
        w->set[x->sym] = true;
    }
    for (uint32_t i = 0; i < w->s->hyps.len && ok; i++)
        ok = all_set(w, w->s->hyps.at[i].e);
    memset(w->set, 0, tp_sym_count(w->c->p) * sizeof *w->set);
    return ok || tp_check_reject(
                     w->c, TP_S("a bound or a hypothesis depends on a variable that is not enumerated before it"));
}

bool tp_check_points(tp_checker *c, const tp_check_state *s)
{
    walk w = {c, s, TP_NEWN(c->arena, int64_t, tp_sym_count(c->p)), TP_NEWN(c->arena, bool, tp_sym_count(c->p))};
    return in_order(&w) && points_from(&w, 0);
}
