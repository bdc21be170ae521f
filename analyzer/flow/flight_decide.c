/* The questions about copies in flight that rules ask, TP502 and TP504, and what the walk asks on its own account. */
#include "analyzer/flow/flight.h"
#include "base/budget.h"

/* No window moves under a copy that lasts longer than its step. */
static bool stays(const tp_kernel *k, const flight *y)
{
    const tp_operand *from = &k->operands[y->event.from.operand], *to = &k->operands[y->event.place.operand];
    return (tp_is_far(from) || from->role == TP_SCRATCH) && (tp_is_far(to) || to->role == TP_SCRATCH);
}

void flight_begin(proof *x)
{
    uint32_t n = x->f->vars.len;
    x->basis = tp_basis_join(x->a->arena, x->basis, flow_basis(x->a, x->f, FLOW_ALL_BIRTHS));
    tp_var *walk = TP_NEWN(x->a->arena, tp_var, TP_WALK_SETS * n + 1);
    tp_expr *twin = TP_NEWN(x->a->arena, tp_expr, (TP_WALK_SETS - 1) * n + 1);
    for (uint32_t i = 0; i < n; i++)
        walk[i] = x->f->vars.at[i];
    for (uint32_t i = 0; i < x->f->kept.len; i++)
        if (x->f->kept.at[i].below.id)
            walk[x->f->kept.at[i].var].hi = tp_op2(x->a->p, TP_E_SUB, x->f->kept.at[i].below, tp_const(x->a->p, 1));
    for (uint32_t i = 0; i < (TP_WALK_SETS - 1) * n; i++) {
        twin[i] = tp_sym_new(x->a->p, tp_printf(x->a->arena, "turn%u", i));
        walk[n + i] = x->f->vars.at[i % n];
        walk[n + i].sym = (uint32_t)tp_expr_get(x->a->p, twin[i])->value;
        walk[n + i].lo = tp_const(x->a->p, 0);
        walk[n + i].hi = tp_const(x->a->p, INT32_MAX);
    }
    x->walk = walk;
    x->twin = twin;
    x->round = ++x->f->asked->rounds;
}

static bool moves_in_loops(const tp_flow *f)
{
    bool any = false;
    for (uint32_t i = 0; i < f->events.len && !any; i++)
        any = f->events.at[i].kind == TP_FLOW_LOOP && flight_moves(f, i, flight_loop_end(f, i));
    return any;
}

/* All is well at the end. */
static bool nothing_left(proof *x, fleet *all)
{
    fleet_drop_impossible(x, all);
    return !all->len || fleet_fails(x, "that this copy is waited for at the end is not shown", &all->at[0].event);
}

/* Where axis number `axis` has n steps and those behind it have one. What goes wrong mostly does so there, and that is
 * told soon. */
static bool good_in(proof *x, uint32_t axis, int64_t n)
{
    tp_exprs *p = x->a->p;
    const tp_axis *axes = x->a->k->axes;
    proof small = *x;
    fleet all = {0};
    bool good = true;
    for (int64_t i = 0; i < n && good; i++) {
        fleet moved = {0};
        small.assumed = tp_const(p, 1);
        for (uint32_t k = axis; k < x->a->k->naxes; k++) {
            tp_expr steps = tp_const(p, k == axis ? n : 1), at = tp_const(p, k == axis ? i : 0);
            tp_expr here =
                tp_and(p, tp_op2(p, TP_E_EQ, axes[k].steps, steps), tp_op2(p, TP_E_EQ, tp_sym(p, axes[k].sym), at));
            small.assumed = tp_and(p, small.assumed, here);
        }
        good = flight_run(&small, 0, x->f->events.len, &all);
        fleet_drop_impossible(&small, &all);
        fleet_add_moved(&small, &moved, &all, axes[axis].sym, tp_const(p, i), tp_const(p, 1));
        all = moved;
    }
    good = good && nothing_left(&small, &all);
    x->questions = small.questions;
    x->why = small.why;
    x->at = small.at;
    return good;
}

/* Nothing of a proof counts whose expressions were cut. */
static bool fits(proof *x)
{
    if (!tp_exprs_overflowed(x->a->p))
        return true;
    tp_exprs_forget_overflow(x->a->p);
    return fleet_fails(x, "the conditions grow too large", NULL);
}

static tp_decision decide(proof x, const tp_syntax **at, tp_str *basis)
{
    tp_analysis *a = x.a;
    const tp_flow *f = x.f;
    fleet all = {0};
    uint32_t axis = a->k->naxes; /* those from here on are sequential: nothing outlasts a step of the ones before */
    while (axis > 0 && !a->k->axes[axis - 1].parallel)
        axis--;
    proof inside = x;
    flight_span whole = {0, f->events.len, axis};
    const tp_axis *last = axis < a->k->naxes ? &a->k->axes[a->k->naxes - 1] : NULL;
    bool waits = last && f->kept.len && fleet_demanded(&x, whole, tp_sym(a->p, last->sym), last->steps).len,
         good = !waits && flight_run(&inside, 0, f->events.len, &all), crosses = false;
    fleet_drop_impossible(&inside, &all);
    if ((!good || all.len) && axis < a->k->naxes) { /* copies last from step to step */
        x.questions = inside.questions;
        crosses = true;
        all = (fleet){0};
        bool many = moves_in_loops(f) || f->kept.len || f->lasts.len; /* a few steps by themselves tell little */
        good = (many || (good_in(&x, axis, 1) && good_in(&x, axis, 2) && good_in(&x, axis, 3))) &&
               flight_over(&x, whole, &all);
    } else {
        x = inside;
    }
    good = good && nothing_left(&x, &all);
    for (uint32_t i = 0; good && crosses && !x.counting && i < f->events.len; i++) /* which of them do was not kept */
        if (f->events.at[i].kind == TP_FLOW_START)
            good = stays(a->k, &(flight){.event = f->events.at[i]}) ||
                   fleet_fails(&x, "a copy of a window, which moves with the steps", &f->events.at[i]);
    good = fits(&x) && good;
    *at = x.at;
    *basis = x.basis;
    return good ? (tp_decision){.verdict = TP_PROVEN, .grade = x.grade}
                : (tp_decision){.verdict = TP_UNKNOWN, .reason = x.why};
}

/* What is asked of counters alone: of those of this memory. */
static bool tally_all(proof *x, tp_memory memory)
{
    bool good = true;
    for (uint32_t i = 0; i < tp_noperands(x->a->k) && good; i++)
        good = x->a->k->operands[i].memory != memory || flight_tally(x, i);
    return good;
}

/* Is this the memory of what other devices count here when their copies arrive? */
static bool is_of_arrivals(const tp_flow *f, uint32_t operand)
{
    bool any = false;
    for (uint32_t i = 0; i + 1 < f->events.len && !any; i++)
        any = flight_goes_away(f, i) && f->events.at[i + 1].counter.operand == operand;
    return any;
}

/* What a device does itself: of a copy that goes away it reads the source alone, and waits for no arrival. No flow:
 * one semaphore counts what goes and what comes. */
static const tp_flow *without_arrivals(proof *x)
{
    tp_flow *f = TP_NEW(x->a->arena, tp_flow);
    *f = *x->f;
    f->events.at = NULL;
    f->events.len = f->events.cap = 0;
    for (uint32_t i = 0; i < x->f->events.len; i++) {
        tp_flow_event e = x->f->events.at[i];
        bool arrives = e.kind != TP_FLOW_LOOP && e.kind != TP_FLOW_END && is_of_arrivals(x->f, e.counter.operand);
        if (e.kind == TP_FLOW_START && arrives && !fleet_fails(x, "one semaphore counts what goes and what comes", &e))
            return NULL;
        if (flight_goes_away(x->f, i)) /* to nowhere */
            e.place = (tp_place){.operand = e.counter.operand,
                                 .rank = 1,
                                 .known = true,
                                 .start = {tp_const(x->a->p, 0)},
                                 .size = {tp_const(x->a->p, 0)},
                                 .stride = {1}};
        if ((e.kind != TP_FLOW_WAIT && e.kind != TP_FLOW_SIGNAL) || !arrives)
            tp_push(x->a->arena, f->events, e);
    }
    return f;
}

/* One device by itself: copy by copy, then with families. */
static bool flies_alone(proof *x, const tp_syntax **at, tp_str *basis)
{
    proof alone = *x;
    alone.f = without_arrivals(x);
    if (!alone.f)
        return false;
    tp_decision d = decide(alone, at, basis);
    alone.families = true;
    if (d.verdict == TP_UNKNOWN && x->f->vars.len)
        d = decide(alone, at, basis);
    if (d.verdict == TP_PROVEN) {
        x->grade = d.grade > x->grade ? d.grade : x->grade;
        x->basis = tp_basis_join(x->a->arena, x->basis, *basis);
        return true;
    }
    x->why = d.reason;
    x->at = *at;
    return false;
}

/* Where devices count alike, what one of them would count alone, if all that it sends came to itself. Then what it does
 * alone with what is in flight, and what arrives. */
static tp_decision decide_on_devices(proof *x, const tp_syntax **at, tp_str *basis)
{
    static const tp_memory MEMORIES[] = {TP_MEM_DMA_SEMAPHORE, TP_MEM_SEMAPHORE, TP_MEM_BARRIER};
    bool good = flight_is_symmetric(x);
    for (uint32_t i = 0; i < sizeof MEMORIES / sizeof *MEMORIES && good; i++)
        good = tally_all(x, MEMORIES[i]);
    good = good && (x->counting || (flies_alone(x, at, basis) && flight_arrivals(x)));
    good = fits(x) && good;
    *at = x->at;
    *basis = tp_basis_join(x->a->arena, x->basis,
                           x->counting ? TP_S(TP_RULE_SLICE_OUT_OF_BOUNDS)
                                       : TP_S(TP_RULE_SLICE_OUT_OF_BOUNDS ", " TP_RULE_DMA_SEMAPHORE));
    return good ? (tp_decision){.verdict = TP_PROVEN, .grade = x->grade}
                : (tp_decision){.verdict = TP_UNKNOWN, .reason = x->why};
}

/* Copy by copy; where that shows nothing, with families; where who ends whom is not asked, by what semaphores count. */
static tp_decision decide_flights(tp_analysis *a, bool counting, bool *naming, const tp_syntax **at, tp_str *basis)
{
    proof x = {.a = a, .f = tp_flow_of(a), .grade = TP_GRADE_CERT, .counting = counting, .naming = naming};
    bool devices = !naming && tp_is_connected(a->k) && !x.f->gave_up.n;
    if (!devices && tp_flow_no_memory(x.f).n)
        return (tp_decision){.verdict = TP_UNKNOWN, .reason = tp_flow_no_memory(x.f)};
    flight_begin(&x);
    if (devices)
        return decide_on_devices(&x, at, basis);
    x.unbegun = x.f->kept.len && a->k->naxes > 1;
    tp_decision d = decide(x, at, basis);
    if (d.verdict == TP_UNKNOWN && x.unbegun) {
        x.unbegun = false;
        d = decide(x, at, basis);
    }
    x.families = true;
    if (d.verdict == TP_UNKNOWN && x.f->vars.len)
        d = decide(x, at, basis);
    if (!counting)
        return d;
    proof sums = {.a = a,
                  .f = x.f,
                  .walk = x.walk,
                  .twin = x.twin,
                  .round = x.round,
                  .grade = d.verdict == TP_PROVEN ? d.grade : TP_GRADE_CERT,
                  .counting = true,
                  .basis = *basis};
    bool copies = d.verdict == TP_PROVEN || tally_all(&sums, TP_MEM_DMA_SEMAPHORE);
    if (!copies)
        return d;
    bool good = tally_all(&sums, TP_MEM_SEMAPHORE);
    *at = sums.at;
    *basis = sums.basis;
    return good ? (tp_decision){.verdict = TP_PROVEN, .grade = sums.grade}
                : (tp_decision){.verdict = TP_UNKNOWN, .reason = sums.why};
}

typedef struct naming_call {
    tp_analysis *a;
    bool unnamed;
    const tp_syntax **at;
    tp_decision d;
} naming_call;

static void decide_naming(void *arg)
{
    naming_call *x = arg;
    tp_str basis = {NULL, 0};
    x->d = decide_flights(x->a, false, &x->unnamed, x->at, &basis);
}

/* With a part of what is left of the work: the walk, of which other rules want to know, is done. */
bool flow_waits_name_copies(tp_analysis *a, tp_str *why, const tp_syntax **at)
{
    static const tp_share SHARE = {0.75, "following what is in flight", {NULL, 0}};
    const tp_rule *rule = a->rule;
    naming_call x = {.a = a, .at = at};
    a->rule = NULL;
    if (!tp_within(a->arena, &SHARE, decide_naming, &x, why)) {
        x.d = (tp_decision){.verdict = TP_UNKNOWN, .reason = *why};
        tp_exprs_forget_overflow(a->p);
    }
    a->rule = rule;
    *why = x.unnamed ? (tp_str){NULL, 0} : x.d.reason;
    return x.d.verdict == TP_PROVEN;
}

tp_str flow_find_received(tp_analysis *a)
{
    const tp_rule *rule = a->rule;
    const tp_syntax *at = NULL;
    tp_str basis = {NULL, 0};
    proof x = {.a = a, .f = a->flow, .grade = TP_GRADE_CERT};
    bool *received = TP_NEWN(a->arena, bool, tp_noperands(a->k));
    a->rule = NULL;
    flight_begin(&x);
    tp_decision d = decide_on_devices(&x, &at, &basis);
    x.questions = 0;
    bool good = d.verdict == TP_PROVEN && flight_received(&x, received);
    good = fits(&x) && good;
    a->rule = rule;
    if (good) {
        a->received = received;
        a->received_grade = x.grade;
        a->received_by = tp_basis_join(a->arena, x.basis, TP_S(TP_RULE_DMA_SEMAPHORE ", " TP_RULE_IN_FLIGHT));
    }
    return good ? (tp_str){NULL, 0} : x.why.n ? x.why : TP_S("what devices write to each other is not known");
}

/* ---- the rules ---- */

typedef struct rule_call {
    tp_analysis *a;
    bool counting;
    const tp_syntax **at;
    tp_str *basis;
    tp_decision d;
} rule_call;

static void decide_rule(void *arg)
{
    rule_call *x = arg;
    x->d = decide_flights(x->a, x->counting, NULL, x->at, x->basis);
}

/* With a part of what the rule has: a run may decide what is not shown. */
static tp_decision decide_in_share(tp_analysis *a, bool counting, const tp_syntax **at, tp_str *basis)
{
    tp_share share = {0.5, a->rule->code, {NULL, 0}};
    rule_call x = {.a = a, .counting = counting, .at = at, .basis = basis};
    tp_str why;
    if (!tp_within(a->arena, &share, decide_rule, &x, &why)) {
        x.d = (tp_decision){.verdict = TP_UNKNOWN, .reason = why};
        tp_exprs_forget_overflow(a->p);
    }
    return x.d;
}

static bool starts(const tp_statement *s, void *ctx)
{
    const bool *counting = ctx;
    return s->semaphore || (!*counting && tp_copies_within(s));
}

void tp_check_flights(tp_analysis *a, bool counting, const char *proven, const char *violated)
{
    if (!a->k->body || !tp_region_any(&a->k->body->statements, starts, &counting))
        return;
    const tp_syntax *at = NULL;
    tp_str basis = {NULL, 0};
    tp_claim c = {.subject = a->k->name,
                  .loc = a->k->doc->loc,
                  .proven = tp_str_c(proven),
                  .violated = tp_str_c(violated),
                  .approximate = "a case was found that seems to break it"};
    const tp_flow *f = tp_flow_of(a);
    tp_decision d = {.verdict = TP_UNKNOWN, .reason = f->in_flight};
    if (counting || !d.reason.n)
        d = decide_in_share(a, counting, &at, &basis);
    else
        at = f->in_flight_at;
    int64_t *env = TP_NEWN(a->arena, int64_t, tp_sym_count(a->p));
    if (at)
        c.loc = tp_body_loc(a, NULL, at);
    tp_trapped trap = {.arena = a->arena};
    bool shown = d.verdict == TP_PROVEN;
    if (d.verdict == TP_UNKNOWN && tp_runs_to_the_end(a))
        d = (tp_decision){.verdict = TP_PROVEN, .grade = TP_GRADE_EXACT};
    else if (d.verdict == TP_UNKNOWN && flow_find_trap(a, env, &trap))
        d = (tp_decision){.verdict = TP_VIOLATED, .env = env};
    tp_finding *found = tp_claim_record(a, &c, d, NULL);
    if (shown)
        found->rests_on = basis;
    if (found->verdict == TP_VIOLATED && trap.message.n)
        tp_say_trap(a->rule, &trap, found);
}
