/* What the laws did, as a derivation that smt/trust/ replays: terms as they
 * were before any law, folds before and after each law about them, and the
 * prover's answers that these rest on. */
#include "analyzer/equality/record.h"
#include "smt/trust/certificates.h"

#include <math.h>

/* ---- nodes ---- */

typedef struct writing {
    summary *s;
    TP_VEC(tp_real_node) reals;
    tp_map ids; /* nodes by what they are of */
} writing;

static uint32_t add_node(writing *w, tp_real_node n)
{
    tp_push(w->s->arena, w->reals, n);
    return w->reals.len;
}

static uint32_t apply(writing *w, const char *op, uint32_t a, uint32_t b)
{
    return add_node(w, (tp_real_node){.kind = TP_REAL_APPLY, .op = tp_str_c(op), .nargs = b ? 2 : 1, .arg = {a, b}});
}

static uint32_t ratio(writing *w, int64_t num, int64_t den)
{
    return add_node(w, (tp_real_node){.kind = TP_REAL_RATIO, .num = num, .den = den});
}

static uint32_t number(writing *w, double v)
{
    int64_t num, den;
    tp_real_node n = {.kind = TP_REAL_NUMBER, .op = isnan(v) ? TP_S("nan") : v < 0 ? TP_S("-inf") : TP_S("inf")};
    if (!isfinite(v))
        return add_node(w, n);
    if (literal_fraction(fabs(v), &num, &den))
        return ratio(w, v < 0 ? -num : num, den);
    n.op = tp_printf(w->s->arena, "%.17g", fabs(v));
    return v < 0 ? apply(w, "neg", add_node(w, n), 0) : add_node(w, n);
}

static uint32_t of_index(writing *w, tp_expr e)
{
    return add_node(w, (tp_real_node){.kind = TP_REAL_INTEGER, .e = e});
}

static uint32_t of_element(writing *w, uint32_t operand, uint32_t rank, const tp_expr *at)
{
    tp_real_node n = {.kind = TP_REAL_READ, .operand = operand, .rank = rank};
    memcpy(n.at, at, rank * sizeof *at);
    return add_node(w, n);
}

/* What a recurrence was before that turn. */
static uint32_t of_held(writing *w, tp_expr turn)
{
    return add_node(w, (tp_real_node){.kind = TP_REAL_HELD, .e = turn});
}

static uint32_t of_choice(writing *w, tp_expr e, uint32_t yes, uint32_t no)
{
    return add_node(w, (tp_real_node){.kind = TP_REAL_IF, .e = e, .nargs = 2, .arg = {yes, no}});
}

static uint32_t of_prim(writing *w, tp_prim prim, int64_t exponent, const uint32_t *arg, uint32_t nargs)
{
    tp_real_node n = {.kind = TP_REAL_APPLY, .op = tp_str_c(tp_prim_info(prim)->name), .nargs = nargs};
    if (prim == TP_P_INTEGER_POW || prim == TP_P_CAST)
        n.number = exponent;
    memcpy(n.arg, arg, nargs * sizeof *arg);
    return add_node(w, n);
}

static uint32_t of_sum(writing *w, uint32_t id);

static uint32_t under(writing *w, const tp_expr *guard, uint32_t n, uint32_t body, uint32_t outside)
{
    for (uint32_t i = 0; i < n; i++)
        body = of_choice(w, guard[i], body, outside);
    return body;
}

static uint32_t over_one(writing *w, tp_real_kind kind, tp_prim prim, uint32_t counter, tp_expr extent, uint32_t body)
{
    return add_node(w, (tp_real_node){.kind = kind,
                                      .op = kind == TP_REAL_SCAN ? TP_S("") : tp_str_c(tp_prim_info(prim)->name),
                                      .counters = 1,
                                      .counter = {counter},
                                      .extent = {extent},
                                      .nargs = 1,
                                      .arg = {body}});
}

/* The sum over its counters of its body, as laws of sums make it; without counters the body. */
static uint32_t of_summed(writing *w, const atom *a)
{
    uint32_t body = under(w, a->guard, a->nguards, of_sum(w, a->arg[0]), ratio(w, 0, 1));
    for (uint32_t i = a->counters; i-- > 0;)
        body = over_one(w, TP_REAL_FOLD, TP_P_SUM, a->counter[i], a->extent[i], body);
    return body;
}

static uint32_t of_scan(writing *w, uint32_t counter, tp_expr extent, uint32_t body, uint32_t init)
{
    uint32_t scan = over_one(w, TP_REAL_SCAN, TP_P_SCAN, counter, extent, body);
    tp_real_node *n = &w->reals.at[scan - 1];
    n->nargs = 2;
    n->arg[1] = init;
    return scan;
}

/* A fold exactly as it is. */
static uint32_t of_fold(writing *w, const atom *a)
{
    if (a->prim == TP_P_SCAN) {
        uint32_t turn = of_sum(w, a->arg[0]), init = of_sum(w, a->arg[1]);
        return of_scan(w, a->counter[0], a->extent[0], turn, init);
    }
    tp_real_node n = {
        .kind = TP_REAL_OVER, .op = tp_str_c(tp_prim_info(a->prim)->name), .counters = a->counters, .nargs = 1};
    bool adds = a->prim == TP_P_SUM;
    uint32_t body = of_sum(w, a->arg[0]),
             outside = adds ? ratio(w, 0, 1) : number(w, a->prim == TP_P_MAX ? -(double)INFINITY : (double)INFINITY);
    body = under(w, a->guard, a->nguards, body, outside);
    for (uint32_t i = 0; i < a->counters; i++) {
        n.counter[i] = a->counter[i];
        n.extent[i] = a->extent[i];
    }
    n.arg[0] = body;
    return add_node(w, n);
}

static uint32_t of_atom(writing *w, const atom *a)
{
    uint32_t arg[3], nargs = 0;
    int64_t exponent = 0;
    switch (a->kind) {
    case ATOM_REAL:
        return a->number ? add_node(w, (tp_real_node){.kind = TP_REAL_NUMBER, .op = TP_S("log2(e)")})
                         : number(w, a->real);
    case ATOM_INDEX: return of_index(w, a->e);
    case ATOM_ELEMENT: return a->number == T_HELD ? of_held(w, a->at[0]) : of_element(w, a->operand, a->rank, a->at);
    case ATOM_FOLD: return of_fold(w, a);
    case ATOM_INVERSE: return apply(w, "/", ratio(w, 1, 1), of_sum(w, a->arg[0]));
    case ATOM_APPLY: break;
    }
    for (; nargs < 3 && a->arg[nargs]; nargs++)
        arg[nargs] = of_sum(w, a->arg[nargs]);
    if (a->e.id)
        tp_expr_is_const(w->s->p, a->e, &exponent);
    return of_prim(w, a->prim, exponent, arg, nargs);
}

static uint32_t of_product(writing *w, const product *p)
{
    uint32_t r = ratio(w, p->num, p->den);
    for (uint32_t i = 0; i < p->nfactors; i++) {
        uint32_t x = of_atom(w, atom_get(w->s, p->factor[i].atom));
        int power = p->factor[i].power;
        if (power != 1 && power != -1)
            x = add_node(w, (tp_real_node){.kind = TP_REAL_APPLY,
                                           .op = TP_S("**"),
                                           .number = power < 0 ? -power : power,
                                           .nargs = 1,
                                           .arg = {x}});
        r = apply(w, power < 0 ? "/" : "*", r, x);
    }
    if (p->exponent)
        r = apply(w, "*", r, apply(w, "exp", of_sum(w, p->exponent), 0));
    return under(w, p->guard, p->nguards, r, ratio(w, 0, 1));
}

/* The number under which a node is known, or 0. */
static tp_str key_of(writing *w, uint32_t what, uint32_t id)
{
    uint32_t *key = TP_NEWN(w->s->arena, uint32_t, 2);
    key[0] = what;
    key[1] = id;
    return (tp_str){(const char *)key, 2 * sizeof *key};
}

static uint32_t of_sum(writing *w, uint32_t id)
{
    tp_str key = key_of(w, 2, id);
    uint32_t node = tp_map_get(&w->ids, key), r = 0;
    const sum a = *sum_get(w->s, id);
    if (node)
        return node;
    for (uint32_t i = 0; i < a.n; i++) {
        uint32_t x = of_product(w, &a.at[i]);
        r = r ? apply(w, "+", r, x) : x;
    }
    r = r ? r : ratio(w, 0, 1);
    tp_map_set(w->s->arena, &w->ids, key, r);
    return r;
}

/* decides: something above it turns over at a small change, so that casts are none that vanish. */
static uint32_t of_term(writing *w, term t, bool decides)
{
    tp_str key = key_of(w, decides, t.id);
    uint32_t node = tp_map_get(&w->ids, key), r = 0, arg[3], nargs = 0;
    const term_node n = *term_get(w->s, t);
    if (node)
        return node;
    bool below = decides || (n.kind == T_APPLY && tp_prim_jumps(n.prim));
    for (; nargs < 3 && n.arg[nargs].id; nargs++)
        arg[nargs] = of_term(w, n.arg[nargs], below);
    switch (n.kind) {
    case T_INTEGER: r = of_index(w, n.e); break;
    case T_REAL: r = number(w, n.real); break;
    case T_READ: r = of_element(w, n.operand, n.rank, n.at); break;
    case T_HELD: r = of_held(w, n.at[0]); break;
    case T_BEFORE: /* placeholders of steps: no term of an output has them */
    case T_AFTER:
    case T_NOTHING:
    case T_TURN: r = number(w, (double)NAN); break;
    case T_SELECT: r = of_choice(w, n.e, arg[0], arg[1]); break;
    case T_FOLD:
        r = n.prim == TP_P_SCAN ? of_scan(w, n.sym, n.e, arg[0], arg[1])
                                : over_one(w, TP_REAL_FOLD, n.prim, n.sym, n.e, arg[0]);
        break;
    case T_APPLY: {
        int64_t exponent = 0;
        if (n.e.id)
            tp_expr_is_const(w->s->p, n.e, &exponent);
        r = n.prim == TP_P_CAST && !decides ? apply(w, "the same", arg[0], 0)
                                            : of_prim(w, n.prim, exponent, arg, nargs);
        break;
    }
    }
    tp_map_set(w->s->arena, &w->ids, key, r);
    return r;
}

/* ---- the derivation ---- */

/* What is free in it: sizes, and the indices of the element; and what is known of them. */
static void put_claim(summary *s, const premises *p, tp_derivation *d)
{
    tp_claim c = {.goal = tp_const(s->p, 1), .over_steps = true, .given = s->out->given};
    tp_obligation o = tp_claim_obligation(s->a, &c);
    tp_var *vars = TP_NEWN(s->arena, tp_var, o.nvars + s->vars.len);
    tp_expr *all = TP_NEWN(s->arena, tp_expr, o.npremises + p->n + 1);
    memcpy(vars, o.vars, o.nvars * sizeof *vars);
    memcpy(all, o.premises, o.npremises * sizeof *all);
    memcpy(all + o.npremises, p->at, p->n * sizeof *all);
    for (uint32_t i = 0; i < s->vars.len; i++)
        if (tp_sym_name(s->p, s->vars.at[i].sym).p[0] == 'e') /* summary_index(s, "e", …), prove_all() */
            vars[o.nvars++] = s->vars.at[i];
    d->vars = vars;
    d->nvars = o.nvars;
    d->premises = all;
    d->npremises = o.npremises + p->n;
}

static uint32_t fold_after(writing *w, const kept_step *x)
{
    uint32_t init;
    switch (x->law) {
    case TP_LAW_COUNT: return of_index(w, x->count);
    case TP_LAW_NOTHING: return ratio(w, 0, 1);
    case TP_LAW_HOLDS: return ratio(w, 1, 1);
    case TP_LAW_POINT: return of_summed(w, &x->after);
    case TP_LAW_RECURRENCE: init = of_sum(w, x->after.arg[1]); return apply(w, "+", init, of_summed(w, &x->after));
    case TP_LAW_DIGITS:
    case TP_LAW_SPLIT:
    case TP_LAW_UNDER:
    case TP_LAW_GUARD:
    case TP_LAW_POINTS:
    case TP_LAW_INDEX:
#define LAW(...)
#define OPEN(id, ...) case TP_LAW_##id:
#include "smt/trust/laws.def"
    case TP_ALL_LAWS: break;
    }
    return of_fold(w, &x->after);
}

static tp_law_step step_of(writing *w, const kept_step *x)
{
    uint32_t before = x->law == TP_LAW_HOLDS ? ratio(w, 1, 1) : of_fold(w, &x->before);
    return (tp_law_step){.law = x->law,
                         .from = under(w, x->around.guard, x->around.nguards, before, ratio(w, 0, 1)),
                         .to = fold_after(w, x),
                         .k = x->k,
                         .t = x->t,
                         .sides = x->sides,
                         .nsides = x->nsides,
                         .exchanges = x->exchanges,
                         .nexchanges = x->nexchanges};
}

static tp_derivation *write_derivation(summary *s, const premises *p, term kernel, term reference)
{
    struct record *r = record_of(s);
    writing w = {.s = s};
    tp_derivation *d = TP_NEW(s->arena, tp_derivation);
    tp_law_step *steps = TP_NEWN(s->arena, tp_law_step, r->steps.len + r->exchanges.len);
    *d = (tp_derivation){.p = s->p, .sides = r->sides.at, .nsides = r->sides.len, .steps = steps};
    put_claim(s, p, d);
    for (int holds = 1; holds >= 0; holds--) /* what holds throughout comes first: later steps are read with it */
        for (uint32_t i = 0; i < r->steps.len; i++)
            if ((r->steps.at[i]->law == TP_LAW_HOLDS) == holds)
                steps[d->nsteps++] = step_of(&w, r->steps.at[i]);
    for (uint32_t i = 0; i < r->exchanges.len; i++) /* what is left is outside of all folds */
        steps[d->nsteps++] = (tp_law_step){.law = TP_LAW_INDEX,
                                           .sides = &r->because.at[i],
                                           .nsides = r->sides.len > 0,
                                           .exchanges = &r->exchanges.at[i],
                                           .nexchanges = 1};
    d->kernel = of_term(&w, kernel, false);
    d->reference = of_term(&w, reference, false);
    d->reals = w.reals.at;
    d->nreals = w.reals.len;
    return d;
}

/* Without the steps that are not needed, and the sides of those. */
static void only_used(summary *s, tp_derivation *d, const bool *used)
{
    tp_law_step *steps = TP_NEWN(s->arena, tp_law_step, d->nsteps + 1);
    tp_side *sides = TP_NEWN(s->arena, tp_side, d->nsides + 1);
    uint32_t *place = TP_NEWN(s->arena, uint32_t, d->nsides + 1), n = 0, nsides = 0;
    for (uint32_t i = 0; i < d->nsteps; i++) {
        if (!used[i])
            continue;
        steps[n] = d->steps[i];
        uint32_t *own = TP_NEWN(s->arena, uint32_t, steps[n].nsides + 1);
        for (uint32_t k = 0; k < steps[n].nsides; k++) {
            uint32_t side = steps[n].sides[k];
            if (!place[side]) {
                sides[nsides] = d->sides[side];
                place[side] = ++nsides;
            }
            own[k] = place[side] - 1;
        }
        steps[n++].sides = own;
    }
    d->steps = steps;
    d->nsteps = n;
    d->sides = sides;
    d->nsides = nsides;
}

void record_equal(summary *s, const premises *p, term kernel, term reference, tp_str output)
{
    tp_equality *out = s->out;
    out->outputs++;
    if (out->open >> TP_LAW_FIRST & 1) {
        out->unreplayed = tp_printf(s->arena, "`%.*s`: argmax has no schema", TP_FMT(output));
        return;
    }
    tp_arena *work = tp_arena_child(s->arena);
    tp_derivation *d = write_derivation(s, p, kernel, reference);
    tp_replay_result r = tp_sift_derivation(work, d);
    if (r.ok) {
        only_used(s, d, r.used);
        r = tp_replay_derivation(work, d, false);
    }
    if (r.ok) {
        out->replayed++;
        out->steps += d->nsteps;
        out->sides += d->nsides;
        for (uint32_t i = 0; i < d->nsteps; i++)
            out->laws |= (uint64_t)1 << d->steps[i].law;
        if (s->o->certificates)
            tp_certificates_add_derivation(
                s->o->certificates, tp_printf(s->arena, "%.*s-%.*s", TP_FMT(s->k->name), TP_FMT(tp_dtypes_text(s->k))),
                output, d);
    } else if (!out->unreplayed.n) {
        out->unreplayed = tp_printf(s->arena, "`%.*s`: %.*s", TP_FMT(output), TP_FMT(r.why));
    }
    tp_arena_free(work);
}

/* ---- in words ---- */

static void put_names(tp_buf *b, uint64_t laws)
{
    const char *separator = "";
    for (int law = 0; law < TP_ALL_LAWS; law++)
        if (laws >> law & 1) {
            tp_buf_printf(b, "%s%s", separator, tp_law_info((tp_law)law)->name);
            separator = ", ";
        }
}

tp_str tp_equality_terms(tp_arena *a, const tp_equality *q)
{
    tp_buf b = {.arena = a};
    if (q->masks)
        tp_buf_c(&b, "; finite masks taken as infinite");
    if (q->casts)
        tp_buf_c(&b, "; casts are the identity");
    for (uint32_t i = 0; i < q->constants.len; i++)
        tp_buf_printf(&b, "%s%.*s", i ? ", " : "; taken as equal: ", TP_FMT(q->constants.at[i]));
    return tp_buf_view(&b);
}

tp_str tp_equality_trust(tp_arena *a, const tp_equality *q)
{
    tp_buf b = {.arena = a};
    if (q->outputs && q->replayed == q->outputs) {
        tp_buf_printf(&b, "derivation replayed: %u step%s", q->steps, q->steps == 1 ? "" : "s");
        if (q->laws)
            tp_buf_c(&b, " (");
        put_names(&b, q->laws);
        tp_buf_printf(&b, "%s, %u side condition%s; trusted: the reading of both texts, the list of laws",
                      q->laws ? ")" : "", q->sides, q->sides == 1 ? "" : "s");
    } else {
        tp_buf_c(&b, "trusted, not replayed");
        if (q->unreplayed.n)
            tp_buf_printf(&b, ": %.*s", TP_FMT(q->unreplayed));
        if (q->open)
            tp_buf_c(&b, "; used laws without a schema: ");
        put_names(&b, q->open);
    }
    return tp_buf_view(&b);
}
