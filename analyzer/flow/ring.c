/* Several devices that count alike. Each runs the same body. Where neither whether and where a statement counts, nor by
 * how much, depends on which device it is, all do the same acts. Where in addition the device that an act names is
 * another one for each that names it, each device is named by exactly one other: for every act that it does, the same
 * act of one other device counts for it. So each counter gets what it would get if all that a device sends came to
 * itself.
 *
 * On a mesh a device is its coordinates x0, x1, … The one that is named is another one for each device where the named
 * coordinates tell those of this device, one after the other: each is x + s or s - x, or that modulo the extent of the
 * axis of x, for an x that is not told yet and an s that speaks of those alone that are. Two devices that name the same
 * one have the first told coordinate in common, so the same s for the next, and so on: they are one device. So it is
 * for neighbours in a line of the mesh, (r, (c + 1) % C), and for skewed ones, (r, (c + r) % C).
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
    bool devices; /* coordinates of the device count as the same */
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
    for (uint32_t i = w->devices ? 0 : tp_mesh_rank(a->k); i < a->k->naxes; i++)
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

/* Of a coordinate that is not told. */
static bool speaks_of_device(const proof *x, tp_expr e, const bool *told)
{
    bool speaks = false;
    for (uint32_t i = 0; i < tp_mesh_rank(x->a->k); i++)
        speaks |= !told[i] && tp_expr_mentions(x->a->p, e, x->a->k->axes[i].sym);
    return speaks;
}

/* Does e, which is named along one axis, tell the coordinate of this device along another, or the same? */
static bool tells(const proof *x, tp_expr e, uint32_t named, uint32_t axis, const bool *told)
{
    tp_exprs *p = x->a->p;
    const tp_axis *axes = x->a->k->axes;
    tp_expr d = tp_sym(p, axes[axis].sym), end = tp_expr_normal(p, axes[named].steps);
    bool as_many = tp_same(tp_expr_normal(p, axes[axis].steps), end);
    tp_expr_node n = *tp_expr_get(p, e = tp_expr_normal(p, e));
    for (; as_many && n.op == TP_E_MOD && tp_same(tp_expr_normal(p, n.b), end); n = *tp_expr_get(p, e))
        e = n.a;
    return !speaks_of_device(x, tp_expr_normal(p, tp_op2(p, TP_E_SUB, e, d)), told) ||
           !speaks_of_device(x, tp_expr_normal(p, tp_op2(p, TP_E_ADD, e, d)), told);
}

static bool tells_all(const proof *x, const tp_coordinates *e)
{
    uint32_t rank = tp_mesh_rank(x->a->k), ntold = 0;
    bool told[TP_MAX_MESH] = {false}, used[TP_MAX_MESH] = {false}, more = true;
    while (more) {
        more = false;
        for (uint32_t named = 0; named < rank; named++)
            for (uint32_t axis = 0; axis < rank && !used[named]; axis++)
                if (!told[axis] && tells(x, e->at[named], named, axis, told)) {
                    used[named] = told[axis] = more = true;
                    ntold++;
                }
    }
    return ntold == rank;
}

/* Do two devices never name the same one? All that are named are there (TP102), so then each is named by one. */
static bool names_each_once(speaking *w, proof *x, const tp_flow_event *e)
{
    enum { PATH = 48 };
    tp_analysis *a = x->a;
    uint32_t rank = tp_mesh_rank(a->k), nsyms = tp_sym_count(a->p);
    tp_expr *with = TP_NEWN(a->arena, tp_expr, nsyms);
    w->same = w->devices = true;
    for (uint32_t i = 0; i < rank && w->same; i++) {
        w->same = e->device.at[i].id != 0;
        look_at(w, e->device.at[i]);
    }
    w->devices = false;
    if (!w->same)
        return false;
    if (tells_all(x, &e->device))
        return true;
    tp_expr premises[PATH + 1 + TP_GRANTED], others = num(a, 0), apart = num(a, 0);
    tp_var vars[TP_MAX_MESH];
    for (uint32_t i = 0; i < rank; i++) {
        const tp_axis *axis = &a->k->axes[i];
        tp_expr other = with[axis->sym] = tp_sym_new(a->p, TP_S("other"));
        vars[i] = (tp_var){.sym = (uint32_t)tp_expr_get(a->p, other)->value,
                           .lo = tp_const(a->p, 0),
                           .hi = mk(a, TP_E_SUB, axis->steps, num(a, 1)),
                           .multiple_of = 1,
                           .step = true};
        others = mk(a, TP_E_OR, others, mk(a, TP_E_NE, tp_sym(a->p, axis->sym), other));
    }
    for (uint32_t i = 0; i < rank; i++)
        apart =
            mk(a, TP_E_OR, apart, mk(a, TP_E_NE, e->device.at[i], tp_expr_subst(a->p, e->device.at[i], with, nsyms)));
    tp_claim c = {.over_steps = true,
                  .premises = premises,
                  .goal = apart,
                  .extra = vars,
                  .nextra = rank,
                  .walk = x->f->vars.at,
                  .nwalk = x->f->vars.len};
    c.npremises = tp_conjuncts(a, e->path, premises, PATH);
    premises[c.npremises++] = others;
    tp_decision found = tp_claim_decide(a, &c);
    x->grade = found.verdict == TP_PROVEN && found.grade > x->grade ? found.grade : x->grade;
    x->basis = tp_basis_join(x->a->arena, x->basis, tp_claim_basis(a, &c));
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
        if (e->kind == TP_FLOW_SIGNAL && e->there && !names_each_once(&w, x, e))
            return fleet_fails(x, "that each device is named here by one other is not shown", e);
        if (e->kind == TP_FLOW_END)
            w.nloops--;
    }
    return true;
}
