/* What a device finds where other devices write to it, too: in the refs that copies from others reach.
 *
 * Let every wait end (TP502) and nothing be disturbed in flight (TP504). Let each element that an event reads there
 * have been written before, in every order: by this device earlier in its run, or by a copy that has arrived. And let
 * all that is written there be defined, if all that is read there is (the walk tells). Then what is read there is
 * defined: else look at a first undefined value that is read, in an order in which the devices may run; who wrote it
 * read an undefined one before. In the end every copy has arrived, so outputs are asked whether some event of some
 * device wrote each element.
 *
 * Who wrote an element is guessed: the equations between places and numbers of devices are solved for the step, the
 * turns and the sender of the event that writes, in each case of their choices. The prover then shows that one of the
 * guesses is always right.
 */
#include "analyzer/flow/arrivals.h"

enum { MOST_EQUATIONS = TP_MAX_RANK + TP_MAX_MESH, MOST_UNKNOWN = 16, MOST_GUESSES = 48 };

/* An event that writes, of some party (arrivals.one), and what is not known of that. */
typedef struct writer {
    uint32_t at;
    bool arrives;
    tp_expr left[MOST_EQUATIONS], right[MOST_EQUATIONS];
    uint32_t nequations, nunknown;
    tp_expr unknown[MOST_UNKNOWN];
    int32_t loop[MOST_UNKNOWN]; /* whose turn it is, else NO_LOOP */
    tp_expr writes;             /* it happens, and writes the element before it is read */
} writer;

typedef struct reading {
    arrivals w;
    uint32_t at; /* the event that reads; the number of events: the end */
    tp_place place;
    tp_expr element[TP_MAX_RANK], any; /* any: some guess is right */
    uint32_t guesses;
} reading;

static tp_expr with(const reading *r, tp_expr e, tp_expr sym, tp_expr value)
{
    return tp_expr_replace(r->w.p, e, (uint32_t)tp_expr_get(r->w.p, sym)->value, value);
}

/* ---- guesses ---- */

/* What has no equation: of this step and turn, of the one before, the first or the last. */
static void guess_rest(reading *r, const writer *y, uint32_t next, tp_expr writes)
{
    tp_exprs *p = r->w.p;
    while (next < y->nunknown && !tp_expr_mentions(p, writes, (uint32_t)tp_expr_get(p, y->unknown[next])->value))
        next++;
    if (r->guesses >= MOST_GUESSES)
        return;
    if (next == y->nunknown) {
        r->guesses++;
        r->any = any_of(&r->w, r->any, tp_expr_normal(p, writes));
        return;
    }
    tp_expr one = tp_const(p, 1), u = y->unknown[next];
    int32_t loop = y->loop[next];
    const tp_kernel *k = r->w.x->a->k;
    bool around = false;
    for (int32_t l = r->at < r->w.f->events.len ? r->w.around[r->at] : NO_LOOP; l != NO_LOOP; l = r->w.around[l])
        around |= l == loop;
    tp_expr here = loop == NO_LOOP ? tp_const(p, 0) : arrivals_turn_of(&r->w, loop), count = one;
    for (uint32_t i = 0; loop == NO_LOOP && i < k->naxes; i++)
        if (tp_same(u, of_party(&r->w, &r->w.one, tp_sym(p, k->axes[i].sym)))) {
            here = tp_sym(p, k->axes[i].sym);
            count = k->axes[i].steps;
            around = r->at < r->w.f->events.len;
        }
    if (loop != NO_LOOP)
        count = of_party(&r->w, &r->w.one, r->w.f->events.at[loop].bits);
    tp_expr guess[] = {around ? here : tp_const(p, 0), tp_op2(p, TP_E_SUB, around ? here : count, one)};
    for (uint32_t i = 0; i < 2; i++)
        guess_rest(r, y, next + 1, with(r, writes, u, guess[i]));
}

/* One case after the other of what stands left in the first equation; then what is left of the others. */
static void solve(reading *r, const writer *y, uint32_t next, const tp_expr *left, tp_expr writes)
{
    tp_exprs *p = r->w.p;
    if (r->guesses >= MOST_GUESSES)
        return;
    if (next == y->nequations) {
        guess_rest(r, y, 0, writes);
        return;
    }
    tp_expr choice = flight_choice(p, left[next]), now[MOST_EQUATIONS];
    memcpy(now, left, sizeof now);
    for (int yes = 0; choice.id && yes < 2; yes++) {
        now[next] = flight_chosen(p, left[next], choice, yes);
        solve(r, y, next, now, writes);
    }
    if (choice.id)
        return;
    for (uint32_t i = 0; i < y->nunknown; i++) {
        tp_expr u = y->unknown[i], up = with(r, left[next], u, tp_op2(p, TP_E_ADD, u, tp_const(p, 1)));
        int64_t by;
        if (!tp_expr_is_const(p, tp_expr_normal(p, tp_op2(p, TP_E_SUB, up, left[next])), &by) || (by != 1 && by != -1))
            continue;
        tp_expr off = tp_op2(p, TP_E_SUB, left[next], y->right[next]);
        tp_expr value = tp_expr_normal(p, tp_op2(p, by > 0 ? TP_E_SUB : TP_E_ADD, u, off));
        if (tp_expr_mentions(p, value, (uint32_t)tp_expr_get(p, u)->value))
            continue;
        for (uint32_t k = next + 1; k < y->nequations; k++)
            now[k] = with(r, left[k], u, value);
        solve(r, y, next + 1, now, with(r, writes, u, value));
        return;
    }
    solve(r, y, next + 1, left, writes);
}

/* ---- who may have written it ---- */

static void add_unknown(reading *r, writer *y, tp_expr e, int32_t loop)
{
    e = of_party(&r->w, &r->w.one, e);
    if (y->nunknown < MOST_UNKNOWN) {
        y->loop[y->nunknown] = loop;
        y->unknown[y->nunknown++] = e;
    }
}

static tp_expr within(reading *r, tp_expr lo, tp_expr e, tp_expr end)
{
    return all_of(&r->w, tp_op2(r->w.p, TP_E_LE, lo, e), tp_op2(r->w.p, TP_E_LT, e, end));
}

/* Its place has the element. */
static tp_expr has_element(reading *r, writer *y)
{
    tp_exprs *p = r->w.p;
    const tp_flow_event *e = &r->w.f->events.at[y->at];
    tp_expr all = tp_const(p, 1), one = tp_const(p, 1);
    tp_place at = arrivals_place(&r->w, arrivals_happens(&r->w, y->at), &e->place);
    at = arrivals_place_of(&r->w, &r->w.one, &at);
    for (uint32_t d = 0; d < at.rank; d++) {
        tp_expr start = at.start[d], element = r->element[d];
        all = all_of(&r->w, all, within(r, start, element, tp_op2(p, TP_E_ADD, start, at.size[d])));
        if (!tp_same(tp_expr_normal(p, at.size[d]), one)) {
            start = tp_expr_normal(p, tp_op2(p, TP_E_FLOORDIV, start, at.size[d]));
            element = tp_op2(p, TP_E_FLOORDIV, element, at.size[d]);
        }
        y->left[y->nequations] = start;
        y->right[y->nequations++] = element;
    }
    return all;
}

static tp_expr happens_before(reading *r, const writer *y)
{
    arrivals *w = &r->w;
    if (r->at == w->f->events.len)
        return tp_const(w->p, 1);
    if (!y->arrives)
        return arrivals_precedes(w, y->at, &w->one, r->at, NULL);
    tp_expr behind = tp_op1(w->p, TP_E_NOT, arrivals_not_behind(w, y->at + 1, r->at, &w->one));
    return any_of(w, behind, arrivals_has_arrived(w, y->at, &w->one, r->at));
}

static void guess_by(reading *r, uint32_t at)
{
    arrivals *w = &r->w;
    const tp_kernel *k = w->x->a->k;
    writer y = {.at = at, .arrives = flight_goes_away(w->f, at)};
    uint32_t rank = tp_mesh_rank(k);
    tp_coordinates sender = arrivals_coordinates(w, &w->one), here = arrivals_coordinates(w, NULL),
                   to = y.arrives ? arrivals_device(w, at, &w->one) : here;
    tp_expr zero = tp_const(w->p, 0);
    for (uint32_t i = 0; y.arrives && i < rank; i++) {
        add_unknown(r, &y, here.at[i], NO_LOOP);
        y.left[i] = to.at[i];
        y.right[i] = here.at[i];
        y.nequations++;
    }
    for (int32_t l = w->around[at]; l != NO_LOOP; l = w->around[l])
        add_unknown(r, &y, arrivals_turn_of(w, l), l);
    for (uint32_t i = rank; i < k->naxes; i++)
        add_unknown(r, &y, tp_sym(w->p, k->axes[i].sym), NO_LOOP);
    y.writes = has_element(r, &y);
    y.writes = all_of(w, y.writes, of_party(w, &w->one, arrivals_happens(w, at)));
    for (uint32_t i = 0; i < k->naxes; i++) {
        tp_expr axis = tp_sym(w->p, k->axes[i].sym);
        y.writes = all_of(w, y.writes, within(r, zero, of_party(w, &w->one, axis), k->axes[i].steps));
    }
    if (y.arrives)
        y.writes = all_of(w, y.writes, arrivals_same_device(w, to, here));
    y.writes = all_of(w, y.writes, happens_before(r, &y));
    for (uint32_t x = 0; !y.arrives && x < rank; x++) { /* this device */
        y.writes = with(r, y.writes, sender.at[x], here.at[x]);
        for (uint32_t i = 0; i < y.nequations; i++)
            y.left[i] = with(r, y.left[i], sender.at[x], here.at[x]);
    }
    r->guesses = 0;
    solve(r, &y, 0, y.left, y.writes);
}

static bool writes(const tp_flow *f, uint32_t i, uint32_t operand)
{
    const tp_flow_event *e = &f->events.at[i];
    bool good = (e->kind == TP_FLOW_WRITE || flight_goes_away(f, i)) && e->place.operand == operand && e->exact &&
                e->place.known && !e->partial;
    for (uint32_t d = 0; good && d < e->place.rank; d++)
        good = e->place.stride[d] == 1;
    return good;
}

/* Is each element of the place written before event number `at`? */
static bool is_written(reading *r, uint32_t at, tp_place place)
{
    enum { ROOM = 2 * TP_MAX_AXES + TP_MAX_RANK };
    arrivals *w = &r->w;
    tp_exprs *p = w->p;
    tp_var vars[ROOM];
    const tp_var *outer = w->x->extra;
    uint32_t n = w->x->nextra;
    tp_expr given = at < w->f->events.len ? arrivals_happens(w, at) : tp_const(p, 1), when = given;
    if (!place.known)
        return fleet_fails(w->x, "which elements are read here depends on data", &w->f->events.at[at]);
    memcpy(vars, outer, n * sizeof *vars);
    r->at = at;
    r->any = no_way(w);
    place = arrivals_place(w, when, &place);
    for (uint32_t d = 0; d < place.rank; d++) {
        tp_expr size = tp_op2(p, TP_E_MUL, tp_const(p, place.stride[d]), place.size[d]);
        given = all_of(w, given, within(r, place.start[d], r->element[d], tp_op2(p, TP_E_ADD, place.start[d], size)));
        vars[n + d] = fleet_element(w->x, place.operand, d, r->element[d]);
    }
    w->x->extra = vars;
    w->x->nextra = n + place.rank;
    for (uint32_t i = 0; i < w->f->events.len; i++)
        if (writes(w->f, i, place.operand))
            guess_by(r, i);
    bool good = fleet_follows(w->x, &given, 1, r->any);
    w->x->extra = outer;
    w->x->nextra = n;
    return good || fleet_fails(w->x,
                               at < w->f->events.len ? "that all of what is read here is written before is not shown"
                                                     : "that all of an output is written is not shown",
                               at < w->f->events.len ? &w->f->events.at[at] : NULL);
}

/* ---- all that is read ---- */

static bool is_read(reading *r, uint32_t i, const bool *received)
{
    const tp_flow_event *e = &r->w.f->events.at[i];
    if (e->kind == TP_FLOW_READ && received[e->place.operand])
        return is_written(r, i, e->place);
    return (e->kind != TP_FLOW_START && e->kind != TP_FLOW_COPY) || !received[e->from.operand] ||
           is_written(r, i, e->from);
}

static bool outputs_are_written(reading *r, const bool *received)
{
    const tp_kernel *k = r->w.x->a->k;
    bool good = true;
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs && good; i++) {
        const tp_operand *o = &k->operands[i];
        tp_place all = {.operand = i, .rank = o->ref_rank, .known = true};
        for (uint32_t d = 0; d < o->ref_rank; d++) {
            all.start[d] = tp_const(r->w.p, 0);
            all.size[d] = o->ref_shape[d];
            all.stride[d] = 1;
        }
        good = !received[i] || o->discard || is_written(r, r->w.f->events.len, all);
    }
    return good;
}

bool flight_received(proof *x, bool *received)
{
    const tp_kernel *k = x->a->k;
    bool good = false;
    for (uint32_t i = 0; i < x->f->events.len; i++)
        if (flight_goes_away(x->f, i))
            received[x->f->events.at[i].place.operand] = true;
    bool *asked = TP_NEWN(x->a->arena, bool, tp_noperands(k));
    for (uint32_t i = 0; i < tp_noperands(k); i++) /* what begins as an input is defined from the first step on */
        asked[i] = received[i] && !tp_begins_as_input(&k->operands[i]);
    for (int sums = 0; sums < 2 && !good; sums++) {
        reading r;
        proof attempt = *x;
        attempt.questions = 0;
        for (uint32_t d = 0; d < TP_MAX_RANK; d++)
            r.element[d] = tp_sym_new(x->a->p, tp_printf(x->a->arena, "at%u", d));
        arrivals_begin(&r.w, &attempt, sums);
        good = true;
        for (uint32_t i = 0; i < x->f->events.len && good; i++)
            good = is_read(&r, i, asked);
        good = good && outputs_are_written(&r, asked);
        arrivals_end(&r.w);
        if (good || sums)
            *x = attempt;
    }
    return good;
}
