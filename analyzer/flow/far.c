/* Arrays that stay where they are: who writes them, and that steps which may run in any order write them apart. */
#include "analyzer/flow/internal.h"

/* Another step: what stands for its axes and for the turns of its loops, of which two steps have each their own. */
typedef struct other_step {
    const tp_expr *with;
    tp_var *vars;
    uint32_t nwith, nvars;
} other_step;

static other_step another_step(tp_analysis *a, const tp_flow *f)
{
    uint32_t naxes = 0;
    const tp_var *axes = tp_step_vars(a, 1, &naxes);
    tp_var *vars = TP_NEWN(a->arena, tp_var, naxes + f->vars.len);
    tp_expr *turns = TP_NEWN(a->arena, tp_expr, f->vars.len);
    for (uint32_t i = 0; i < f->vars.len; i++)
        turns[i] = tp_sym_new(a->p, tp_printf(a->arena, "other%u", i));
    uint32_t n = tp_sym_count(a->p);
    tp_expr *with = TP_NEWN(a->arena, tp_expr, n);
    for (uint32_t x = 0; x < naxes; x++) {
        vars[x] = axes[x];
        with[a->k->axes[x].sym] = tp_at_step(a, tp_sym(a->p, a->k->axes[x].sym), 1);
    }
    for (uint32_t i = 0; i < f->vars.len; i++)
        with[f->vars.at[i].sym] = turns[i];
    for (uint32_t i = 0; i < f->vars.len; i++) {
        tp_var *v = &vars[naxes + i];
        *v = f->vars.at[i];
        v->sym = (uint32_t)tp_expr_get(a->p, turns[i])->value;
        v->lo = tp_expr_subst(a->p, v->lo, with, n);
        v->hi = tp_expr_subst(a->p, v->hi, with, n);
    }
    return (other_step){with, vars, n, naxes + f->vars.len};
}

static tp_expr there(tp_analysis *a, const other_step *s, tp_expr e)
{
    return tp_expr_subst(a->p, e, s->with, s->nwith);
}

/* u of a step, v of another one that differs from it in a parallel axis: they lie apart. */
static tp_claim apart(tp_analysis *a, const tp_operand *o, const tp_flow_event *u, const tp_flow_event *v,
                      const other_step *other, tp_expr *premises)
{
    enum { PATH = 48 };
    tp_expr differ = num(a, 0);
    tp_place place = v->place;
    tp_claim c = {.over_steps = true, .premises = premises, .subject = o->name};
    for (uint32_t x = 0; x < a->k->naxes; x++) {
        tp_expr here = tp_sym(a->p, a->k->axes[x].sym);
        if (a->k->axes[x].parallel)
            differ = either(a, differ, mk(a, TP_E_NE, here, there(a, other, here)));
    }
    c.npremises = tp_conjuncts(a, u->path, premises, PATH);
    c.npremises += tp_conjuncts(a, there(a, other, v->path), premises + c.npremises, PATH);
    premises[c.npremises++] = differ;
    for (uint32_t d = 0; d < place.rank; d++) {
        place.start[d] = there(a, other, place.start[d]);
        place.size[d] = there(a, other, place.size[d]);
    }
    c.goal = tp_places_apart(a->p, &u->place, &place);
    c.extra = other->vars;
    c.nextra = other->nvars;
    c.walk = tp_flow_of(a)->vars.at;
    c.nwalk = tp_flow_of(a)->vars.len;
    return c;
}

void tp_check_far_writes(tp_analysis *a, const tp_operand *o)
{
    enum { ROOM = 128 };
    const tp_flow *f = tp_flow_of(a);
    tp_expr premises[ROOM];
    tp_decision all = {.verdict = TP_PROVEN, .grade = TP_GRADE_CERT};
    tp_str basis = {NULL, 0};
    uint32_t operand = (uint32_t)(o - a->k->operands);
    tp_claim claim = {
        .subject = o->name,
        .loc = o->loc,
        .proven = tp_message(a, "steps that differ in a parallel axis copy to and from different elements of `%.*s`",
                             TP_FMT(o->name)),
        .violated = tp_message(
            a, "two steps that differ in a parallel axis use the same elements of `%.*s`, and one of them writes them",
            TP_FMT(o->name)),
        .note = TP_S("JAX does not report this; both interpreters run the steps in order, so that the last "
                     "writer wins")};
    other_step other = {0};
    if (f && !tp_flow_no_events(f).n) {
        other = another_step(a, f);
        basis = flow_basis(a, f, FLOW_ALL_BIRTHS);
    } else {
        all = (tp_decision){.verdict = TP_UNKNOWN, .reason = f ? tp_flow_no_events(f) : TP_S("there is no body")};
    }
    for (uint32_t i = 0; all.verdict == TP_PROVEN && i < f->events.len; i++) {
        const tp_flow_event *u = &f->events.at[i];
        if (u->kind != TP_FLOW_WRITE || u->place.operand != operand)
            continue;
        for (uint32_t k = 0; all.verdict == TP_PROVEN && k < f->events.len; k++) {
            const tp_flow_event *v = &f->events.at[k];
            if ((v->kind != TP_FLOW_WRITE && v->kind != TP_FLOW_READ) || v->place.operand != operand)
                continue;
            if (!u->place.known || !v->place.known) {
                all = (tp_decision){.verdict = TP_UNKNOWN,
                                    .reason = TP_S("which elements a step copies depends on data")};
                break;
            }
            tp_claim c = apart(a, o, u, v, &other, premises);
            tp_decision d = tp_claim_decide(a, &c);
            basis = tp_basis_join(a->arena, basis, tp_claim_basis(a, &c));
            d.grade = d.grade > all.grade ? d.grade : all.grade;
            claim.loc = d.verdict == TP_PROVEN ? claim.loc : tp_body_loc(a, NULL, u->syntax);
            all = d;
        }
    }
    claim.over_steps = true;
    claim.approximate = "only a necessary condition for it is known";
    tp_finding *found = tp_claim_record(a, &claim, all, NULL);
    found->rests_on = basis;
    if (found->verdict == TP_VIOLATED)
        found->help = TP_S("declare the axis `\"arbitrary\"`, or give each step elements of its own");
}

/* ---- all is written ---- */

/* The loops around an event. */
typedef struct around {
    const tp_flow_event *loop[4];
    uint32_t n;
} around;

static bool is_turn(tp_analysis *a, const around *loops, uint32_t sym)
{
    for (uint32_t i = 0; i < loops->n; i++)
        if ((uint32_t)tp_expr_get(a->p, loops->loop[i]->counter.start[0])->value == sym)
            return true;
    return false;
}

/* It happens in each step and turn that its path says, and speaks of these alone. */
static bool writes_by_step(tp_analysis *a, const tp_flow *f, const tp_flow_event *e, const around *loops,
                           uint32_t operand)
{
    bool good = e->kind == TP_FLOW_WRITE && e->place.operand == operand && e->exact && e->place.known;
    for (uint32_t d = 0; good && d < e->place.rank; d++)
        good = e->place.stride[d] == 1;
    for (uint32_t i = 0; i < loops->n; i++)
        good &= loops->loop[i]->bits.id != 0;
    for (uint32_t i = 0; good && i < f->vars.len; i++) {
        if (is_turn(a, loops, f->vars.at[i].sym))
            continue;
        good = !tp_expr_mentions(a->p, e->path, f->vars.at[i].sym);
        for (uint32_t d = 0; good && d < e->place.rank; d++)
            good = !tp_expr_mentions(a->p, e->place.start[d], f->vars.at[i].sym) &&
                   !tp_expr_mentions(a->p, e->place.size[d], f->vars.at[i].sym);
    }
    return good;
}

/* The block is the number of a step or a turn, or the entry that a table has for it, which another table tells: `by`
 * (NULL: none), as page[place[x]] == x says. */
static void tell_by_block(tp_analysis *a, tp_expr block, tp_expr x, const tp_table *by, tp_expr *with)
{
    const tp_expr_node n = *tp_expr_get(a->p, block);
    if (n.op == TP_E_SYM && !with[n.value].id)
        with[n.value] = x;
    if (n.op != TP_E_READ || !by || n.b.id || tp_expr_get(a->p, n.a)->op != TP_E_SYM)
        return;
    uint32_t sym = (uint32_t)tp_expr_get(a->p, n.a)->value;
    if (!with[sym].id)
        with[sym] = tp_read(a->p, by->sym, 1, &x);
}

/* A step and a turn that the place of this event tells from an element: with[symbol]. They are there, as a condition;
 * *exists: and so are the entries that tell them, which the kernel does not read: a claim is granted what it reads. */
static tp_expr told_by(tp_analysis *a, const tp_flow_event *e, const around *loops, const tp_expr *element,
                       const tp_table *by, tp_expr *with, uint32_t n, tp_expr *exists)
{
    tp_expr step[TP_MAX_AXES] = {{0}}, there = num(a, 1);
    for (uint32_t d = 0; d < e->place.rank; d++) {
        tp_expr block = tp_expr_normal(a->p, mk(a, TP_E_FLOORDIV, e->place.start[d], e->place.size[d])),
                x = mk(a, TP_E_FLOORDIV, element[d], e->place.size[d]);
        tp_split_digits(a, block, x, step);
        tp_split_multiple(a, block, x, step);
        tell_by_block(a, block, tp_expr_normal(a->p, x), by, with);
    }
    for (uint32_t x = 0; x < a->k->naxes; x++) {
        tp_expr *at = &with[a->k->axes[x].sym];
        *at = step[x].id ? step[x] : at->id ? *at : num(a, 0);
        *exists = both(a, *exists, tp_readable(a, *at));
        there = both(a, there, both(a, mk(a, TP_E_GE, *at, num(a, 0)), mk(a, TP_E_LT, *at, a->k->axes[x].steps)));
    }
    for (uint32_t i = 0; i < loops->n; i++) {
        tp_expr *at = &with[tp_expr_get(a->p, loops->loop[i]->counter.start[0])->value];
        *at = at->id ? *at : num(a, 0);
        *exists = both(a, *exists, tp_readable(a, *at));
        tp_expr turns = tp_expr_subst(a->p, loops->loop[i]->bits, with, n);
        there = both(a, there, both(a, mk(a, TP_E_GE, *at, num(a, 0)), mk(a, TP_E_LT, *at, turns)));
    }
    return there;
}

/* The event writes the element at that step and turn. */
static tp_expr writes_at(tp_analysis *a, const tp_flow_event *e, const tp_expr *element, const tp_expr *with,
                         uint32_t n)
{
    tp_expr all = tp_expr_subst(a->p, e->path, with, n);
    for (uint32_t d = 0; d < e->place.rank; d++) {
        tp_expr start = tp_expr_subst(a->p, e->place.start[d], with, n),
                size = tp_expr_subst(a->p, e->place.size[d], with, n);
        all =
            both(a, all,
                 both(a, mk(a, TP_E_LE, start, element[d]), mk(a, TP_E_LT, element[d], mk(a, TP_E_ADD, start, size))));
    }
    return all;
}

typedef struct writing {
    const tp_flow_event *event;
    around loops;
} writing;

static bool in_same_loops(const around *x, const around *y)
{
    bool same = x->n == y->n;
    for (uint32_t i = 0; i < x->n && same; i++)
        same = x->loop[i] == y->loop[i];
    return same;
}

/* Some event writes the element at a step and a turn that its place tells; or `giver`'s place, NULL: its own. */
static tp_expr is_written(tp_analysis *a, const writing *all, uint32_t n, const writing *giver, const tp_expr *element,
                          const tp_table *by, tp_expr *exists)
{
    uint32_t symbols = tp_sym_count(a->p);
    tp_expr some = num(a, 0);
    *exists = num(a, 1);
    for (uint32_t i = 0; i < n; i++) {
        const writing *from = giver && in_same_loops(&all[i].loops, &giver->loops) ? giver : &all[i];
        tp_expr *with = TP_NEWN(a->arena, tp_expr, symbols),
                there = told_by(a, from->event, &from->loops, element, by, with, symbols, exists);
        some = either(a, some, both(a, there, writes_at(a, all[i].event, element, with, symbols)));
    }
    return some;
}

typedef struct coverage {
    tp_analysis *a;
    const tp_claim *claim;
    tp_grade *grade;
    tp_str *basis;
} coverage;

static bool is_covered(void *ctx, tp_expr goal)
{
    const coverage *x = ctx;
    tp_claim c = *x->claim;
    c.goal = goal;
    tp_decision d = tp_claim_decide(x->a, &c);
    if (d.verdict != TP_PROVEN)
        return false;
    *x->grade = d.grade > *x->grade ? d.grade : *x->grade;
    *x->basis = tp_basis_join(x->a->arena, *x->basis, tp_claim_basis(x->a, &c));
    return true;
}

/* Of every element a copy of its own step or turn; by: a table that tells which. */
static bool all_written_by(tp_analysis *a, const tp_flow *f, uint32_t operand, const tp_table *by, tp_grade *grade,
                           tp_str *basis)
{
    enum { MOST_GIVERS = 4 };
    const tp_operand *o = &a->k->operands[operand];
    const tp_expr *element = tp_part_symbols(a);
    tp_expr premises[TP_MAX_AXES];
    tp_var vars[TP_MAX_RANK];
    tp_claim c = {.premises = premises, .subject = o->name, .extra = vars, .nextra = o->rank, .only_proof = true};
    around loops = {.n = 0};
    TP_VEC(writing) all = {0};
    uint32_t most = sizeof loops.loop / sizeof *loops.loop, depth = 0;
    for (uint32_t i = 0; i < f->events.len; i++) {
        const tp_flow_event *e = &f->events.at[i];
        if (e->kind == TP_FLOW_LOOP && depth++ < most)
            loops.loop[loops.n++] = e;
        if (e->kind == TP_FLOW_END && depth-- <= most)
            loops.n--;
        if (depth <= most && writes_by_step(a, f, e, &loops, operand))
            tp_push(a->arena, all, ((writing){e, loops}));
    }
    for (uint32_t d = 0; d < o->rank; d++)
        vars[d] = (tp_var){.sym = (uint32_t)tp_expr_get(a->p, element[d])->value,
                           .lo = num(a, 0),
                           .hi = mk(a, TP_E_SUB, o->shape[d], num(a, 1)),
                           .multiple_of = 1,
                           .step = true};
    c.npremises = tp_nonempty_grid(a, premises);
    coverage covers = {a, &c, grade, basis};
    tp_expr exists, written = is_written(a, all.at, all.len, NULL, element, by, &exists);
    bool good = is_covered(&covers, written) && is_covered(&covers, exists);
    for (uint32_t i = 0; i < all.len && i < MOST_GIVERS && all.len > 1 && !good; i++) {
        written = is_written(a, all.at, all.len, &all.at[i], element, by, &exists);
        good = tp_shown_by_alternatives(a, written, is_covered, &covers) && is_covered(&covers, exists);
    }
    return good;
}

bool flow_all_written(tp_analysis *a, const tp_flow *f, uint32_t operand, tp_grade *grade, tp_str *basis)
{
    if (all_written_by(a, f, operand, NULL, grade, basis))
        return true;
    bool reads = false;
    for (uint32_t i = 0; i < f->events.len; i++)
        for (uint32_t d = 0; f->events.at[i].place.operand == operand && d < f->events.at[i].place.rank; d++)
            reads |= f->events.at[i].place.known && tp_expr_reads(a->p, f->events.at[i].place.start[d]);
    for (uint32_t t = 0; reads && t < a->k->ntables; t++)
        if (a->k->tables[t].rank == 1 && all_written_by(a, f, operand, &a->k->tables[t], grade, basis))
            return true;
    return false;
}
