/* Tier E3: kernel and reference as residues at random points; and what a
 * difference depends on, by drawing some of them anew. */
#include <math.h>

#include "domains/residue.h"
#include "kernels/trial/trial.h"

/* ---- E3: residues ---- */

static bool takes_exponents(const tp_statement *s, void *ctx)
{
    (void)ctx;
    if (s->kind != TP_COMPUTE)
        return false;
    static const bool EXPONENTIALS[TP_PRIMS] = {
        [TP_P_EXP] = true,      [TP_P_EXP2] = true, [TP_P_EXPM1] = true, [TP_P_TANH] = true,
        [TP_P_LOGISTIC] = true, [TP_P_SILU] = true, [TP_P_GELU] = true};
    return EXPONENTIALS[s->inst->prim];
}

/* Same points for all, by the tables of `like`, if there is one; maxima answered by the given oracles. */
static tp_domain *field_of(const tp_trial *x, const tp_domain *like, uint64_t oracle, bool ordered)
{
    const tp_kernel *k = x->c->kernel;
    tp_field_options o = {.seed = x->o->seed + x->c->seed, .oracle = oracle, .ordered = ordered};
    const tp_program *reference =
        x->c->against ? x->c->against->kernel->body : k->reference.program; /* a builtin: as the kernel does */
    o.polynomial = !tp_region_any(&k->body->statements, takes_exponents, NULL) &&
                   !(reference && tp_region_any(&reference->statements, takes_exponents, NULL));
    return tp_field_like(x->work, like, o);
}

static bool field_reference(const tp_trial *x, tp_sides *e, const tp_domain *points, uint64_t oracle, bool ordered,
                            tp_field_log *log, tp_str *why)
{
    tp_domain *d = field_of(x, points, oracle, ordered);
    bool done = tp_trial_reference(x, e, d, NULL, why);
    *log = *tp_field_log_of(d);
    return done;
}

static bool field_kernel(const tp_trial *x, tp_sides *e, const tp_domain *points, uint64_t oracle, bool ordered,
                         tp_field_log *log, tp_str *why)
{
    tp_trap trap;
    tp_domain *d = field_of(x, points, oracle, ordered);
    tp_status st = tp_trial_kernel(x, e, d, &trap, NULL);
    *log = *tp_field_log_of(d);
    *why = trap.message;
    return st == TP_OK;
}

/* Random points for the float inputs of kernel and reference. */
static const tp_domain *place_points(const tp_trial *x, tp_sides *e)
{
    const tp_kernel *k = x->c->kernel;
    tp_domain *points = field_of(x, NULL, 0, false);
    for (uint32_t i = 0; i < k->ninputs; i++) {
        tp_planes *m = &e->got_meaning[i];
        if (!tp_is_float(e->arrays[i].dtype))
            continue;
        if (tp_array_of(k, i) != i) { /* the same memory: who draws a point again draws it for both */
            *m = e->want_meaning[i] = e->got_meaning[tp_array_of(k, i)];
            continue;
        }
        m->plane[0] = tp_alloc_unset(x->work, e->arrays[i].n * sizeof(uint64_t));
        m->degree = (tp_degree){1, 0};
        tp_field_fill(points, i, e->arrays[i].n, m->plane[0]);
        e->want_meaning[i] = *m;
    }
    return points;
}

/* Does output i of the reference stay when the oracle changes? */
static bool invariant(const tp_trial *x, const tp_sides *e, uint32_t i, const uint64_t *first)
{
    const tp_kernel *k = x->c->kernel;
    const uint64_t *w = e->want_meaning[k->ninputs + i].plane[0];
    for (size_t j = 0; j < e->want[i].n; j++) /* the lower half of a word is the value */
        if ((w[j] ^ first[j]) << 32 && tp_is_compared(k, &k->operands[k->ninputs + i], x->c->env, &e->want[i], j))
            return false;
    return true;
}

static double chance_of(tp_degree a, tp_degree b)
{
    double degree = fmax(1, fmax(a.numerator + b.denominator, b.numerator + a.denominator));
    return fmax(0, floor(log2(TP_FIELD_Q / degree)));
}

/* Output i of kernel and reference. */
static void compare_residues(const tp_trial *x, const tp_sides *e, uint32_t i, tp_algebra *r)
{
    const tp_kernel *k = x->c->kernel;
    const tp_operand *o = &k->operands[k->ninputs + i];
    const tp_tensor *g = &e->arrays[k->ninputs + i], *w = &e->want[i];
    const tp_planes *mg = &e->got_meaning[k->ninputs + i], *mw = &e->want_meaning[k->ninputs + i];
    bool real = tp_is_float(g->dtype);
    for (size_t j = 0; j < g->n; j++) {
        double got = tp_get_f64(g->dtype, g->data, j), want = tp_get_f64(TP_F64, w->data, j);
        uint64_t a = ((const uint64_t *)mg->plane[0])[j], b = ((const uint64_t *)mw->plane[0])[j];
        if (!tp_is_compared(k, o, x->c->env, g, j))
            continue;
        r->undefined |= isnan(want);
        if (isnan(got) && isnan(want))
            continue;
        r->compared++;
        if (real && isfinite(got) && isfinite(want) && (a == TP_FIELD_UNKNOWN || b == TP_FIELD_UNKNOWN)) {
            r->tier = TP_TIER_NONE;
            r->reason = TP_S("a value outside the fragment");
            return;
        }
        /* exp hides the upper half; the lower one is the value */
        bool same = real && isfinite(got) && isfinite(want) ? (a & 0xffffffff) == (b & 0xffffffff) : got == want;
        if (!same) {
            r->tier = TP_TIER_DIFFERENT;
            r->worst = tp_element_name(x->keep, o, g, j);
            r->output = i;
            r->element = j;
            return;
        }
    }
    if (real)
        r->chance = fmin(r->chance, chance_of(mg->degree, mw->degree));
}

static void give_up_algebra(const tp_trial *x, tp_algebra *r, const tp_field_log *k, const tp_field_log *f, tp_str why)
{
    const char *prim = k->unsupported ? k->unsupported : f->unsupported;
    r->tier = TP_TIER_NONE;
    r->reason = why.n  ? tp_trial_keep(x->keep, why)
                : prim ? tp_printf(x->keep, "`%s` is outside the fragment, or a denominator is 0", prim)
                       : r->reason;
}

static void note_logs(tp_algebra *r, const tp_field_log *kernel, const tp_field_log *reference)
{
    r->tags |= kernel->tags || reference->tags;
    r->oracle |= kernel->oracle || reference->oracle;
    r->approximate |= kernel->approximate || reference->approximate;
}

/* Do all outputs agree, though each side had an oracle of its own? Then none shows the maximum itself: such residues
 * are the same by chance alone. *r as before, else. */
static bool all_agree(const tp_trial *x, const tp_sides *e, tp_algebra *r)
{
    tp_algebra all = *r;
    for (uint32_t i = 0; i < x->c->kernel->noutputs && all.tier == TP_TIER_EQUAL; i++)
        if (tp_trial_compares(x->c->kernel, i))
            compare_residues(x, e, i, &all);
    if (all.tier == TP_TIER_EQUAL)
        *r = all;
    return all.tier == TP_TIER_EQUAL;
}

/* On the residues, with inputs of the family where residues decide nothing. */
static void compare_on(tp_trial *x, tp_input_family family)
{
    const tp_kernel *k = x->c->kernel;
    tp_algebra *r = &x->r->algebra;
    tp_sides e = {.n = 0};
    tp_str why = {NULL, 0};
    tp_field_log kernel = {0}, reference = {0};
    uint64_t **first = TP_NEWN(x->work, uint64_t *, k->noutputs), seed = x->o->seed + x->c->seed;
    bool *shows_maximum = TP_NEWN(x->work, bool, k->noutputs), any = false, ran = false, settled = false;
    *r = (tp_algebra){.tier = TP_TIER_EQUAL, .chance = HUGE_VAL};
    if (!tp_trial_arrays(x, family, 0, &e, &why)) {
        give_up_algebra(x, r, &kernel, &reference, why);
        return;
    }
    const tp_domain *points = place_points(x, &e);
    if (!field_reference(x, &e, points, seed + 1, false, &reference, &why)) {
        give_up_algebra(x, r, &kernel, &reference, why);
        return;
    }
    if (reference.oracle && !tp_trial_writes_inputs(k)) {
        ran = field_kernel(x, &e, points, seed + 3, false, &kernel, &why);
        if (!ran) {
            give_up_algebra(x, r, &kernel, &reference, why);
            return;
        }
        settled = all_agree(x, &e, r);
        if (settled)
            note_logs(r, &kernel, &reference);
    }
    if (reference.oracle && !settled) { /* which outputs show the maximum itself? */
        for (uint32_t i = 0; i < k->noutputs; i++)
            first[i] = e.want_meaning[k->ninputs + i].plane[0];
        if (!field_reference(x, &e, points, seed + 2, false, &reference, &why)) {
            give_up_algebra(x, r, &kernel, &reference, why);
            return;
        }
        for (uint32_t i = 0; i < k->noutputs; i++)
            if (tp_trial_compares(k, i) && !invariant(x, &e, i, first[i]))
                any = shows_maximum[i] = true;
    }
    for (int ordered = 0; ordered < 1 + any && !settled; ordered++) {
        if (ordered && !field_reference(x, &e, points, seed + 2, true, &reference, &why)) {
            give_up_algebra(x, r, &kernel, &reference, why);
            return;
        }
        if ((ordered || !ran) && !field_kernel(x, &e, points, seed + 3, ordered, &kernel, &why)) {
            give_up_algebra(x, r, &kernel, &reference, why);
            return;
        }
        note_logs(r, &kernel, &reference);
        for (uint32_t i = 0; i < k->noutputs && r->tier == TP_TIER_EQUAL; i++)
            if (tp_trial_compares(k, i) && shows_maximum[i] == ordered)
                compare_residues(x, &e, i, r);
    }
    r->ordered = any;
    if (r->tier == TP_TIER_EQUAL && r->compared == 0)
        *r = (tp_algebra){.tier = TP_TIER_NONE, .undefined = r->undefined, .reason = TP_S("no element is compared")};
    else if (r->tier == TP_TIER_NONE)
        give_up_algebra(x, r, &kernel, &reference, (tp_str){NULL, 0});
}

void tp_trial_algebra(void *arg)
{
    tp_trial *x = arg;
    if (tp_approximates(x->c->kernel)) {
        x->r->algebra = (tp_algebra){.reason = TP_S("a loop turns until numbers are close")};
        return;
    }
    compare_on(x, TP_INPUT_SMALL);
    if (!x->r->algebra.undefined)
        return;
    tp_algebra small = x->r->algebra; /* as E1 does */
    compare_on(x, TP_INPUT_FRACTIONS);
    if (x->r->algebra.undefined)
        x->r->algebra = small;
}

/* ---- by order ---- */

/* A draw in which maxima follow the numbers, and what rests on ties is marked. */
typedef struct ordering {
    tp_trial x;
    tp_input_family family;
    tp_order *into;
    bool agrees;
} ordering;

/* Does output i agree where it does not rest on ties? */
static bool agrees_without_ties(const tp_trial *x, const tp_sides *e, uint32_t i, tp_order *into)
{
    const tp_kernel *k = x->c->kernel;
    const tp_operand *o = &k->operands[k->ninputs + i];
    const tp_tensor *g = &e->arrays[k->ninputs + i], *w = &e->want[i];
    const uint64_t *mg = e->got_meaning[k->ninputs + i].plane[0], *mw = e->want_meaning[k->ninputs + i].plane[0];
    if (!into->seen[i])
        into->seen[i] = TP_NEWN(x->keep, bool, g->n + 1);
    for (size_t j = 0; j < g->n; j++) {
        double got = tp_get_f64(g->dtype, g->data, j), want = tp_get_f64(TP_F64, w->data, j);
        bool by_residues = tp_is_float(g->dtype) && isfinite(got) && isfinite(want);
        if (!tp_is_compared(k, o, x->c->env, g, j) || (isnan(got) && isnan(want)))
            into->seen[i][j] = true;
        else if (mg[j] == TP_FIELD_UNKNOWN || mw[j] == TP_FIELD_UNKNOWN)
            into->ties++;
        else if (by_residues ? tp_p_of(mg[j]) != tp_p_of(mw[j]) : got != want)
            return false;
        else
            into->seen[i][j] = true;
    }
    return true;
}

static void compare_in_order(void *arg)
{
    ordering *y = arg;
    const tp_trial *x = &y->x;
    const tp_kernel *k = x->c->kernel;
    tp_sides e = {.n = 0};
    tp_run_stats stats = {0};
    tp_str why;
    tp_trap trap;
    bool turns = false, agrees = true;
    uint64_t seed = x->o->seed + x->c->seed;
    if (!tp_trial_arrays(x, y->family, 0, &e, &why))
        return;
    const tp_domain *points = place_points(x, &e);
    if (!tp_trial_reference(x, &e, tp_ties_new(x->work, field_of(x, points, seed, true)), &turns, &why) ||
        tp_trial_kernel(x, &e, tp_ties_new(x->work, field_of(x, points, seed, true)), &trap, &stats) != TP_OK)
        return;
    if (turns || stats.undecided) { /* which statements run rests on a tie */
        y->into->ties++;
        y->agrees = true;
        return;
    }
    for (uint32_t i = 0; i < k->noutputs && agrees; i++)
        agrees = !tp_trial_compares(k, i) || agrees_without_ties(x, &e, i, y->into);
    y->agrees = agrees;
}

bool tp_trial_agrees_in_order(tp_arena *a, const tp_case *c, const tp_equiv_options *o, tp_input_family family,
                              tp_order *into)
{
    ordering y = {.x = {tp_arena_child_limited(a, o->max_memory), a, c, o, NULL}, .family = family, .into = into};
    if (!into->seen)
        into->seen = TP_NEWN(a, bool *, c->kernel->noutputs + 1);
    tp_status st = tp_try(y.x.work, compare_in_order, &y);
    tp_arena_free(y.x.work);
    return st == TP_OK && y.agrees;
}

/* ---- blame ---- */

/* The element about which is asked. */
typedef struct blamed {
    tp_trial x;
    uint32_t output;
    size_t element;
} blamed;

/* Kernel and reference with some residues drawn anew; maxima by order, so
 * that nothing else changes. */
typedef struct probing {
    blamed *b;
    const tp_trial *x;
    const tp_part *part; /* NULL: none, and the element is one that differs by order, too */
    uint64_t kernel, reference;
    bool ok;
} probing;

/* The oracle's maxima may tell elements apart that are equal by order. */
static void choose_element(blamed *b, const tp_sides *e)
{
    const tp_kernel *k = b->x.c->kernel;
    for (uint32_t t = 0; t < k->noutputs; t++) { /* the output that differs, then the others */
        uint32_t i = (b->output + t) % k->noutputs;
        const uint64_t *got = e->got_meaning[k->ninputs + i].plane[0], *want = e->want_meaning[k->ninputs + i].plane[0];
        size_t n = e->want[i].n, from = t ? 0 : b->element;
        for (size_t j = 0; tp_is_float(e->arrays[k->ninputs + i].dtype) && j < n; j++) {
            size_t at = (from + j) % n;
            bool known = got[at] != TP_FIELD_UNKNOWN && want[at] != TP_FIELD_UNKNOWN;
            if (!known || !((got[at] ^ want[at]) << 32) ||
                !tp_is_compared(k, &k->operands[k->ninputs + i], b->x.c->env, &e->want[i], at))
                continue;
            b->output = i;
            b->element = at;
            return;
        }
    }
}

static void draw_again(const tp_domain *points, const tp_part *part, const tp_tensor *t, uint64_t *plane,
                       uint64_t *fresh)
{
    tp_field_fill(points, 1000 + part->input, t->n, fresh);
    for (size_t i = 0; i < t->n; i++) {
        size_t rest = i;
        bool inside = true;
        for (uint32_t d = t->rank; d-- > 0; rest /= (size_t)t->dims[d]) {
            int64_t at = (int64_t)(rest % (size_t)t->dims[d]);
            inside &= at >= part->lo[d] && at < part->hi[d];
        }
        if (inside)
            plane[i] = fresh[i];
    }
}

static void probe_once(void *arg)
{
    probing *p = arg;
    const tp_trial *x = p->x;
    const tp_kernel *k = x->c->kernel;
    tp_sides e = {.n = 0};
    tp_str why;
    tp_field_log log;
    uint64_t seed = x->o->seed + x->c->seed;
    if (!tp_trial_arrays(x, TP_INPUT_SMALL, 0, &e, &why))
        return;
    const tp_domain *points = place_points(x, &e);
    if (p->part) {
        const tp_tensor *t = &e.arrays[p->part->input];
        draw_again(points, p->part, t, e.got_meaning[p->part->input].plane[0], tp_alloc_array(x->work, t->n, 8));
    }
    p->ok =
        field_reference(x, &e, points, seed, true, &log, &why) && field_kernel(x, &e, points, seed, true, &log, &why);
    if (!p->ok)
        return;
    if (!p->part)
        choose_element(p->b, &e);
    p->kernel = ((const uint64_t *)e.got_meaning[k->ninputs + p->b->output].plane[0])[p->b->element];
    p->reference = ((const uint64_t *)e.want_meaning[k->ninputs + p->b->output].plane[0])[p->b->element];
}

static bool probe(void *ctx, const tp_part *part, uint64_t *kernel, uint64_t *reference)
{
    blamed *b = ctx;
    tp_trial x = b->x;
    probing p = {.b = b, .x = &x, .part = part};
    x.work = tp_arena_child_limited(x.keep, x.o->max_memory);
    tp_status st = tp_try(x.work, probe_once, &p);
    *kernel = p.kernel;
    *reference = p.reference;
    tp_arena_free(x.work);
    return st == TP_OK && p.ok;
}

void tp_equiv_blame(tp_arena *a, const tp_equiv_options *o, tp_case_result *r)
{
    enum { DRAWS = 8 };
    tp_case c = *r->the_case; /* with other numbers: by order, some show nothing */
    blamed b = {{NULL, a, &c, o, r}, r->algebra.output, r->algebra.element};
    uint64_t kernel = 0, reference = 0;
    if (r->algebra.tier != TP_TIER_DIFFERENT)
        return;
    for (int t = 0; t < DRAWS && !((kernel ^ reference) << 32); t++, c.seed++)
        if (!probe(&b, NULL, &kernel, &reference))
            return;
    c.seed--;
    tp_blame_find(a, c.kernel, c.env, b.output, b.element, probe, &b, &r->blame);
}

/* ---- evidence ---- */

static bool holds(const tp_equiv *e)
{
    return e->different + e->trapped == 0 && tp_tier_all_equal(&e->algebra);
}

static tp_str missing(const tp_equiv *e, const tp_kernel *k)
{
    (void)k;
    return e->algebra_reason;
}

const tp_tier_evidence tp_tier_e3 = {"algebra=E3", NULL, holds, missing};
