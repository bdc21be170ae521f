/* Several devices that count alike. Each runs the same body. Where neither whether and where a statement counts, nor by
 * how much, depends on the number d of the device, all do the same acts. Where in addition the device that an act
 * names is another one for each d, each device is named by exactly one other: for every act that it does, the same act
 * of one other device counts for it. So each counter gets what it would get if all that a device sends came to itself.
 *
 *   Let every wait of that one device find, of acts before it, what it asks for, and let its counters be zero in the
 *   end. Then no device waits for ever, for any number of them, and all counters are zero in the end.
 *
 * Else let all be stuck or at their ends, and d stuck at a wait w, such that no device is stuck at an earlier act of
 * the body. All have done the acts before w, so d has got what those acts count, from whomever; of this it has taken
 * what it took before w. What is left is what the one device has at w: as much as w asks for. And in the end the sums
 * are the same.
 *
 * How much a counter of the machine holds before it is waited for does depend on the order: others may be ahead. It
 * never holds more than all that is ever added to it.
 */
#include "analyzer/flow/flight.h"

typedef struct speaking {
    const proof *x;
    const uint32_t *loops; /* events around */
    uint32_t nloops;
    bool same;
} speaking;

/* A size, a table, a step of another axis, or a turn of a loop around: the same on all devices. */
static bool is_same(const speaking *w, uint32_t sym)
{
    const tp_analysis *a = w->x->a;
    bool known = false;
    for (uint32_t i = 0; i < a->nsizes; i++)
        known |= a->vars[i].sym == sym;
    for (uint32_t i = 0; i < a->k->ntables; i++)
        known |= a->k->tables[i].sym == sym;
    for (uint32_t i = 1; i < a->k->naxes; i++)
        known |= a->k->axes[i].sym == sym;
    for (uint32_t i = 0; i < w->nloops; i++)
        known |= tp_expr_get(a->p, w->x->f->events.at[w->loops[i]].counter.start[0])->value == sym;
    return known;
}

static void look_at(speaking *w, tp_expr e)
{
    const tp_expr_node n = *tp_expr_get(w->x->a->p, e);
    if (!e.id)
        return;
    if (n.op == TP_E_SYM || n.op == TP_E_READ)
        w->same &= is_same(w, (uint32_t)n.value);
    look_at(w, n.a);
    look_at(w, n.b);
    look_at(w, n.c);
}

static bool is_alike(speaking *w, const tp_flow_event *e)
{
    w->same = true;
    look_at(w, e->path);
    look_at(w, e->bits);
    for (uint32_t d = 0; d < e->counter.rank; d++)
        look_at(w, e->counter.start[d]);
    return w->same;
}

static bool speaks_of_device(const proof *x, tp_expr e)
{
    return tp_expr_mentions(x->a->p, e, x->a->k->axes[0].sym);
}

/* d + c or c - d, or that modulo the number of devices. */
static bool is_shift(const proof *x, tp_expr e)
{
    tp_exprs *p = x->a->p;
    tp_expr d = tp_sym(p, x->a->k->axes[0].sym), all = tp_expr_normal(p, x->a->k->axes[0].steps);
    tp_expr_node n = *tp_expr_get(p, e = tp_expr_normal(p, e));
    if (n.op == TP_E_MOD && tp_same(tp_expr_normal(p, n.b), all))
        e = n.a;
    return !speaks_of_device(x, tp_expr_normal(p, tp_op2(p, TP_E_SUB, e, d))) ||
           !speaks_of_device(x, tp_expr_normal(p, tp_op2(p, TP_E_ADD, e, d)));
}

/* Do two devices never name the same one? All that are named are there (TP102), so then each is named by one. */
static bool names_each_once(speaking *w, proof *x, const tp_flow_event *e)
{
    enum { PATH = 48 };
    tp_analysis *a = x->a;
    tp_expr *with = TP_NEWN(a->arena, tp_expr, tp_sym_count(a->p));
    w->same = true;
    with[a->k->axes[0].sym] = num(a, 0);
    look_at(w, tp_expr_subst(a->p, e->device, with, tp_sym_count(a->p)));
    if (!w->same)
        return false;
    tp_expr premises[PATH + 1 + TP_GRANTED], d = tp_sym(a->p, a->k->axes[0].sym);
    if (is_shift(x, e->device))
        return true;
    tp_expr other = with[a->k->axes[0].sym] = tp_sym_new(a->p, TP_S("other"));
    tp_var v = {.sym = (uint32_t)tp_expr_get(a->p, other)->value,
                .lo = tp_const(a->p, 0),
                .hi = mk(a, TP_E_SUB, a->k->axes[0].steps, num(a, 1)),
                .multiple_of = 1,
                .step = true};
    tp_claim c = {.over_steps = true,
                  .premises = premises,
                  .goal = mk(a, TP_E_NE, e->device, tp_expr_subst(a->p, e->device, with, a->k->axes[0].sym + 1)),
                  .extra = &v,
                  .nextra = 1,
                  .walk = x->f->vars.at,
                  .nwalk = x->f->vars.len};
    c.npremises = tp_conjuncts(a, e->path, premises, PATH);
    premises[c.npremises++] = mk(a, TP_E_NE, d, other);
    tp_decision found = tp_claim_decide(a, &c);
    x->grade = found.verdict == TP_PROVEN && found.grade > x->grade ? found.grade : x->grade;
    x->basis = tp_basis_join(a->arena, x->basis, tp_claim_basis(a, &c));
    return found.verdict == TP_PROVEN;
}

static bool counts(const tp_flow_event *e)
{
    return e->kind == TP_FLOW_START || e->kind == TP_FLOW_WAIT || e->kind == TP_FLOW_SIGNAL || e->kind == TP_FLOW_AWAIT;
}

/* Does a statement count in the loop that begins at event number `at`? */
static bool any_counts(const tp_flow *f, uint32_t at)
{
    bool any = false;
    for (uint32_t i = at, end = flight_loop_end(f, at); i < end && !any; i++)
        any = counts(&f->events.at[i]);
    return any;
}

bool flight_is_symmetric(proof *x)
{
    uint32_t *loops = TP_NEWN(x->a->arena, uint32_t, x->f->events.len + 1);
    speaking w = {.x = x, .loops = loops};
    for (uint32_t i = 0; i < x->f->events.len; i++) {
        const tp_flow_event *e = &x->f->events.at[i];
        if (e->kind == TP_FLOW_LOOP)
            loops[w.nloops++] = i;
        if ((counts(e) || (e->kind == TP_FLOW_LOOP && any_counts(x->f, i))) && !is_alike(&w, e))
            return fleet_fails(x, "whether, where or by how much a semaphore counts depends on the device", e);
        if (e->kind == TP_FLOW_SIGNAL && e->there && (!e->device.id || !names_each_once(&w, x, e)))
            return fleet_fails(x, "that each device is named here by one other is not shown", e);
        if (e->kind == TP_FLOW_END)
            w.nloops--;
    }
    return true;
}
