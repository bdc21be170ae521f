#include "kernels/trial/equiv.h"

#include <math.h>

#include "base/budget.h"
#include "kernels/trial/internal.h"
#include "kernels/trial/trial.h"

const char *tp_tier_name(tp_tier t)
{
    static const char *const NAMES[] = {"not applicable", "equal", "inconclusive", "different"};
    return NAMES[t];
}

/* ---- E1: numbers, with their values over the reals ---- */

static void keep_trap(tp_arena *a, tp_trap *t)
{
    tp_trap copy = *t;
    copy.message = tp_trial_keep(a, t->message);
    copy.statement = tp_trial_keep(a, t->statement);
    copy.coordinates.at = NULL;
    copy.coordinates.len = copy.coordinates.cap = 0;
    for (uint32_t i = 0; i < t->coordinates.len; i++)
        tp_push(a, copy.coordinates, t->coordinates.at[i]);
    *t = copy;
}

static void skip(tp_trial *x, tp_str why)
{
    x->r->outcome = TP_SKIPPED;
    x->r->trap.message = tp_trial_keep(x->keep, why);
}

static tp_str undecided_text(const tp_trial *x, const tp_step *s)
{
    tp_buf b = {.arena = x->keep};
    tp_buf_c(&b, "rounding may turn the decision in `");
    if (s->syntax)
        tp_print_stmt_head(&b, s->syntax);
    tp_buf_c(&b, "`");
    return tp_buf_view(&b);
}

/* Other families of inputs may be unkind to rounding; a certain difference
 * counts; overflow is advice where inputs are large, and a difference where
 * they are not. */
static void merge(tp_output_diff *into, const tp_output_diff *d, bool tame)
{
    bool overflows = into->overflows || d->overflows, real = d->differing > d->overflowed,
         known = into->tier == TP_TIER_DIFFERENT && (!real || into->differing > into->overflowed);
    if (d->tier == TP_TIER_DIFFERENT && (real || tame) && !known)
        *into = *d;
    else if (d->tier == TP_TIER_EQUAL)
        into->ratio = fmax(into->ratio, d->ratio);
    into->overflows = overflows;
}

/* FNV-1a over the bytes of the compared elements. */
static void digest(tp_trial *x, const tp_operand *o, const tp_tensor *t)
{
    size_t size = tp_dtype_size(t->dtype);
    const uint8_t *bytes = t->data;
    for (size_t i = 0; i < t->n; i++)
        for (size_t b = 0; b < size && tp_compared(x->c->kernel, o, x->c->env, t, i); b++)
            x->r->digest = (x->r->digest ^ bytes[i * size + b]) * 0x100000001b3u;
}

static void compare_numbers(tp_trial *x, tp_sides *e, tp_str undecided, tp_input_family family)
{
    const tp_kernel *k = x->c->kernel;
    for (uint32_t i = 0, at = 0; i < k->noutputs; i++) {
        tp_output_diff d;
        if (!tp_trial_compares(k, i))
            continue;
        tp_result got = {&e->arrays[k->ninputs + i], &e->got_meaning[k->ninputs + i]},
                  want = {&e->want[i], &e->want_meaning[k->ninputs + i]};
        tp_compare(x->keep, k, x->c->env, i, got, want, &d);
        if (undecided.n && d.tier == TP_TIER_DIFFERENT) { /* it may have gone another way over the reals */
            d.tier = TP_TIER_INCONCLUSIVE;
            d.reason = undecided;
        }
        if (family == TP_INPUT_NORMAL) {
            digest(x, &k->operands[k->ninputs + i], got.data);
            tp_push(x->keep, x->r->outputs, d);
        } else {
            merge(&x->r->outputs.at[at++], &d, tp_input_tame(family));
        }
    }
}

/* Compare on one family of inputs; false when there is nothing to compare. */
static bool run_family(tp_trial *x, tp_input_family family, tp_garbage garbage)
{
    tp_sides e = {.garbage = garbage};
    tp_str why = {NULL, 0};
    tp_run_stats stats = {0};
    bool turns = false; /* of the reference, by rounding */
    bool compared = tp_trial_comparable(x->c);
    if (!tp_trial_arrays(x, family, 0, &e, &why)) {
        skip(x, why);
        return false;
    }
    tp_status st = tp_trial_kernel(x, &e, compared ? tp_rounding_new(x->work) : NULL, &x->r->trap, &stats);
    x->r->steps = stats.steps;
    keep_trap(x->keep, &x->r->trap);
    if (st == TP_E_LIMIT) {
        x->r->outcome = TP_SKIPPED;
    } else if (st == TP_E_TRAP) {
        x->r->outcome = TP_TRAPPED;
    } else if (st != TP_OK) {
        tp_leave(x->work, st);
    } else if (!compared) {
        skip(x, TP_S("the spec has no \"reference\" to compare with; the run itself did not trap"));
    } else if (!tp_trial_reference(x, &e, tp_rounding_new(x->work), &turns, &why)) {
        skip(x, why);
    } else {
        compare_numbers(x, &e,
                        stats.undecided ? undecided_text(x, stats.undecided)
                        : turns         ? TP_S("rounding may turn a decision of the reference")
                                        : TP_S(""),
                        family);
        return true;
    }
    return false;
}

void tp_trial_numbers(void *arg)
{
    tp_trial *x = arg;
    x->r->outcome = TP_EQUAL;
    if (!run_family(x, TP_INPUT_NORMAL, TP_GARBAGE_HUGE))
        return;
    for (int f = 0; f < TP_INPUT_FAMILIES; f++) {
        if (!(x->c->families & TP_INPUT_BIT(f)) ||
            run_family(x, (tp_input_family)f, (tp_garbage)(f % (TP_GARBAGE_QUIET + 1))))
            continue;
        if (x->r->outcome == TP_TRAPPED || f < TP_INPUT_FIRST_PLACED)
            return;
        x->r->outcome = TP_EQUAL; /* nothing to compare on these; on others there is */
        x->r->trap = (tp_trap){.step = -1};
    }
    for (uint32_t i = 0; i < x->r->outputs.len; i++) {
        const tp_output_diff *d = &x->r->outputs.at[i];
        if (d->tier == TP_TIER_DIFFERENT) {
            x->r->outcome = TP_DIFFERENT;
        } else if (d->tier == TP_TIER_INCONCLUSIVE && x->r->outcome == TP_EQUAL) {
            x->r->outcome = TP_SKIPPED;
            x->r->trap.message = tp_printf(x->keep, "inconclusive: %.*s", TP_FMT(d->reason));
        }
    }
}

/* ---- E2: bits ---- */

/* Compare the outputs; NONE when something rounded. False: smaller integers
 * would not help. */
static bool compare_bits(tp_trial *x, const tp_sides *e, tp_bits *b)
{
    const tp_kernel *k = x->c->kernel;
    uint64_t compared = 0;
    b->tier = TP_TIER_EQUAL;
    for (uint32_t i = 0; i < k->noutputs; i++) {
        const tp_operand *o = &k->operands[k->ninputs + i];
        const tp_tensor *g = &e->arrays[k->ninputs + i];
        const tp_planes *mg = &e->got_meaning[k->ninputs + i], *mw = &e->want_meaning[k->ninputs + i];
        for (size_t j = 0; tp_trial_compares(k, i) && j < g->n; j++) {
            double got = tp_get_f64(g->dtype, g->data, j), want = ((const double *)mw->plane[0])[j];
            double real = ((const double *)mg->plane[0])[j];
            bool exact = ((const double *)mg->plane[1])[j] == 0 && ((const double *)mw->plane[1])[j] == 0 &&
                         (real == got || (isnan(real) && isnan(got)));
            if (!tp_compared(k, o, x->c->env, g, j) || (isnan(got) && isnan(want)))
                continue;
            compared++;
            if (!exact) {
                b->tier = TP_TIER_NONE;
                b->reason =
                    tp_printf(x->keep, "%.*s is rounded on integer inputs", TP_FMT(tp_element_name(x->work, o, g, j)));
                return real == trunc(real);
            }
            if (got != want) {
                b->tier = TP_TIER_DIFFERENT;
                b->worst = tp_element_name(x->keep, o, g, j);
                b->got = got;
                b->want = want;
                return true;
            }
        }
    }
    if (compared == 0)
        *b = (tp_bits){.tier = TP_TIER_NONE, .range = b->range, .reason = TP_S("no element is compared")};
    return true;
}

static void run_bits(void *arg)
{
    tp_trial *x = arg;
    static const int64_t RANGES[] = {8, 2, 1};
    tp_bits *b = &x->r->bits;
    for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES; i++) {
        tp_sides e = {.n = 0};
        tp_str why;
        tp_trap trap;
        tp_run_stats stats = {0};
        bool turns = false;
        *b = (tp_bits){.range = RANGES[i], .reason = TP_S("it does not run on integer inputs")};
        if (!tp_trial_arrays(x, TP_INPUT_INTEGERS, RANGES[i], &e, &why) ||
            tp_trial_kernel(x, &e, tp_rounding_new(x->work), &trap, &stats) != TP_OK ||
            !tp_trial_reference(x, &e, tp_rounding_new(x->work), &turns, &why))
            return;
        if (stats.undecided || turns) {
            b->reason = TP_S("a decision depends on rounding");
            continue;
        }
        b->reason = TP_S("");
        if (!compare_bits(x, &e, b) || b->tier != TP_TIER_NONE)
            return;
    }
}

/* ---- cases ---- */

bool tp_trial_in_memory(tp_arena *keep, const tp_case *c, const tp_equiv_options *o, tp_case_result *r,
                        void (*tier)(void *))
{
    tp_arena *work = tp_arena_child_limited(keep, o->max_memory);
    tp_trial x = {work, keep, c, o, r};
    tp_status st = tp_try(work, tier, &x);
    tp_arena_free(work);
    return st == TP_OK;
}

/* Why a tier was left in the middle. */
static tp_str starved(tp_arena *a, const tp_equiv_options *o)
{
    return tp_budget_or(a, tp_printf(a, "it needs more than the %zu MiB of --max-memory", o->max_memory >> 20));
}

static void numbers_of(tp_arena *a, const tp_case *c, const tp_equiv_options *o, tp_case_result *r)
{
    if (tp_trial_in_memory(a, c, o, r, tp_trial_numbers))
        return;
    r->outcome = TP_SKIPPED;
    r->trap.message = starved(a, o);
}

static void run_case(tp_arena *a, const tp_case *c, const tp_equiv_options *o, tp_case_result *r)
{
    bool ran = c->numbers, comparable = tp_trial_comparable(c);
    if (ran)
        numbers_of(a, c, o, r);
    if (!comparable || r->outcome == TP_TRAPPED || r->outcome == TP_SKIPPED)
        return;
    if (c->algebra && !tp_trial_in_memory(a, c, o, r, tp_trial_algebra)) {
        r->algebra = (tp_algebra){.reason = starved(a, o)};
        r->starved++;
    }
    if (r->algebra.tier == TP_TIER_DIFFERENT && !ran)
        numbers_of(a, c, o, r);
    if (r->algebra.tier == TP_TIER_DIFFERENT && r->outcome == TP_EQUAL && !o->no_hunt) {
        tp_hunt(a, o, r);
    } else if (r->algebra.tier == TP_TIER_DIFFERENT && r->outcome != TP_DIFFERENT) {
        r->algebra.tier = TP_TIER_INCONCLUSIVE;
        r->algebra.reason =
            tp_printf(a, "the residues differ at %.*s, and the numbers do not confirm it", TP_FMT(r->algebra.worst));
    }
    if (c->bits && !tp_trial_in_memory(a, c, o, r, run_bits)) {
        r->bits = (tp_bits){.reason = starved(a, o)};
        r->starved++;
    }
    if (r->bits.tier == TP_TIER_DIFFERENT)
        r->outcome = TP_DIFFERENT;
}

static void count(tp_tier_counts *n, tp_tier t)
{
    n->equal += t == TP_TIER_EQUAL;
    n->different += t == TP_TIER_DIFFERENT;
    n->inconclusive += t == TP_TIER_INCONCLUSIVE;
    n->none += t == TP_TIER_NONE;
}

static void note_algebra(const tp_algebra *x, tp_equiv *out, tp_tier_counts *n, tp_str *reason)
{
    count(n, x->tier);
    out->ordered |= x->ordered;
    out->tags |= x->tags;
    if (x->tier == TP_TIER_EQUAL)
        out->chance = fmin(out->chance, x->chance);
    if (!reason->n)
        *reason = x->reason;
}

void tp_equiv_run(tp_arena *a, const tp_cases *cases, const tp_equiv_options *o, tp_equiv *out)
{
    *out = (tp_equiv){.seed = o->seed, .chance = HUGE_VAL};
    for (uint32_t i = 0; i < cases->len; i++) {
        tp_case_result r = {.the_case = &cases->at[i]};
        run_case(a, &cases->at[i], o, &r);
        out->starved += r.starved;
        out->equal += r.outcome == TP_EQUAL;
        out->different += r.outcome == TP_DIFFERENT;
        out->trapped += r.outcome == TP_TRAPPED;
        out->skipped += r.outcome == TP_SKIPPED;
        bool compared = r.outcome == TP_EQUAL || r.outcome == TP_DIFFERENT;
        if (compared && r.the_case->algebra)
            note_algebra(&r.algebra, out, &out->algebra, &out->algebra_reason);
        if (compared && r.the_case->bits) {
            count(&out->bits, r.bits.tier);
            if (!out->bits_reason.n)
                out->bits_reason = r.bits.reason;
        }
        tp_push(a, out->cases, r);
    }
    for (uint32_t i = 0; i < out->cases.len && !out->unexplained; i++)
        if (out->cases.at[i].algebra.unexplained)
            out->unexplained = &out->cases.at[i];
    for (uint32_t i = 0; i < out->cases.len; i++)
        for (uint32_t j = 0; j < out->cases.at[i].outputs.len; j++) {
            const tp_output_diff *d = &out->cases.at[i].outputs.at[j];
            if (!out->worst || d->ratio > out->worst->ratio)
                out->worst = d;
            if (!out->unstable || d->rounding > out->unstable->rounding)
                out->unstable = d;
        }
}

void tp_equiv_coverage(tp_arena *a, const tp_cases *cases, tp_equiv *out)
{
    TP_VEC(tp_coverage *) all = {0};
    TP_VEC(const tp_kernel *) kernels = {0};
    tp_cases ran = {0};
    for (uint32_t i = 0; i < cases->len; i++) {
        const tp_case *x = &cases->at[i];
        bool known = !x->coverage;
        for (uint32_t n = 0; n < all.len; n++)
            known |= all.at[n] == x->coverage;
        if (!known) {
            tp_push(a, all, x->coverage);
            tp_push(a, kernels, x->kernel);
        }
        if (x->coverage)
            tp_cover_arms(a, x->coverage, x->kernel, x->env);
        if (i < out->cases.len && (out->cases.at[i].outcome != TP_SKIPPED || out->cases.at[i].steps > 0))
            tp_push(a, ran, *x);
    }
    tp_coverage_summarise(a, kernels.at, all.at, all.len, &out->coverage);
    out->coverage.pairs = tp_pairs_of(a, &ran, &out->coverage.pairs_text);
}

/* ---- the box ---- */

/* Elements that are moved for all dtype combinations together. */
static const double SMALL_EFFORT = 1 << 24, FULL_EFFORT = 1 << 23;
enum { LEAST_SMALL = 8 };

typedef struct boxing {
    tp_ctx c; /* of a temporary arena */
    const tp_spec *spec;
    const tp_equiv_options *o;
    tp_shrinking how;
    tp_equiv e;
    bool equal;
    uint32_t starved;
} boxing;

static void box_with_small_blocks(void *arg)
{
    boxing *x = arg;
    const tp_spec *small = tp_shrunk(&x->c, x->spec, x->how, &x->e.blocks);
    for (uint32_t i = 0; small && i < small->nkernels; i++) {
        tp_box box = tp_cases_box(&x->c, small->kernels[i], LEAST_SMALL, SMALL_EFFORT / small->nkernels);
        x->e.box_shapes += box.shapes;
        x->e.box_text = box.text;
        x->e.box_held = box.held.n ? box.held : x->e.box_held;
        x->equal = box.cases.len > 0;
        for (uint32_t n = 0; n < box.cases.len && x->equal; n++) {
            tp_case_result r = {.the_case = &box.cases.at[n]};
            run_case(x->c.arena, &box.cases.at[n], x->o, &r);
            note_algebra(&r.algebra, &x->e, &x->e.box, &x->e.box_reason);
            x->starved += r.starved;
            x->equal = r.algebra.tier == TP_TIER_EQUAL;
        }
        if (!x->equal)
            return;
    }
}

/* All of it, or nothing: false. */
static bool small_box(tp_ctx *c, const tp_spec *s, tp_shrinking how, const tp_equiv_options *o, tp_equiv *out)
{
    tp_arena *work = tp_arena_child_limited(c->arena, o->max_memory);
    tp_equiv_options quick = *o; /* what differs with small blocks is looked at with the spec's */
    quick.no_hunt = true;
    boxing x = {.c = {.arena = work, .source = c->source}, .spec = s, .o = &quick, .how = how, .e = *out};
    tp_status st = tp_try(work, box_with_small_blocks, &x);
    out->starved += x.starved + (st == TP_E_MEMORY);
    bool equal = st == TP_OK && x.equal;
    if (equal) {
        x.e.starved = out->starved;
        x.e.box_reason = out->box_reason;
        x.e.box_text = tp_printf(c->arena, "%.*s", TP_FMT(x.e.box_text));
        x.e.box_held = tp_printf(c->arena, "%.*s", TP_FMT(x.e.box_held));
        x.e.blocks = tp_printf(c->arena, "%.*s", TP_FMT(x.e.blocks));
        *out = x.e;
    }
    tp_arena_free(work);
    return equal;
}

void tp_equiv_box(tp_ctx *c, const tp_spec *s, uint32_t least, const tp_equiv_options *o, tp_equiv *out)
{
    for (int how = 0; how < TP_SHRINKINGS; how++)
        if (small_box(c, s, (tp_shrinking)how, o, out))
            return;
    for (uint32_t i = 0; i < s->nkernels && out->equal; i++) {
        tp_box *box = TP_NEW(c->arena, tp_box);
        *box = tp_cases_box(c, s->kernels[i], least, FULL_EFFORT / s->nkernels);
        out->box_shapes += box->shapes;
        out->box_text = box->text;
        out->box_held = box->held.n ? box->held : out->box_held;
        for (uint32_t n = 0; n < box->cases.len; n++) {
            tp_case_result r = {.the_case = &box->cases.at[n]};
            run_case(c->arena, &box->cases.at[n], o, &r);
            note_algebra(&r.algebra, out, &out->box, &out->box_reason);
            out->starved += r.starved;
            if (r.algebra.unexplained && !out->unexplained) {
                out->unexplained = TP_NEW(c->arena, tp_case_result);
                *(tp_case_result *)(uintptr_t)out->unexplained = r;
            }
            if (r.outcome != TP_DIFFERENT)
                continue;
            out->different++;
            tp_push(c->arena, out->cases, r);
        }
    }
}

bool tp_equiv_refutes(const tp_case_result *r, bool masks)
{
    bool refutes = r->outcome == TP_DIFFERENT && r->bits.tier == TP_TIER_DIFFERENT && isfinite(r->bits.want) &&
                   (!masks || isfinite(r->bits.got));
    for (uint32_t i = 0; i < r->outputs.len; i++) {
        const tp_output_diff *d = &r->outputs.at[i];
        refutes |= d->tier == TP_TIER_DIFFERENT && d->refuting > (masks ? d->valueless : 0);
    }
    return refutes;
}

const tp_case_result *tp_equiv_overflow(const tp_equiv *e)
{
    for (uint32_t i = 0; i < e->cases.len; i++)
        for (uint32_t j = 0; j < e->cases.at[i].outputs.len; j++)
            if (e->cases.at[i].outputs.at[j].overflows)
                return &e->cases.at[i];
    return NULL;
}

uint64_t tp_equiv_compared(const tp_equiv *e, tp_str output)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < e->cases.len; i++)
        for (uint32_t j = 0; j < e->cases.at[i].outputs.len; j++)
            if (tp_str_eq(e->cases.at[i].outputs.at[j].name, output))
                n += e->cases.at[i].outputs.at[j].compared;
    return n;
}

static bool all_equal(const tp_tier_counts *n)
{
    return n->equal && n->different + n->inconclusive + n->none == 0;
}

bool tp_equiv_reaches(const tp_equiv *e, tp_evidence tier)
{
    if (e->different + e->trapped)
        return false;
    switch (tier) {
    case TP_EVIDENCE_E1: return e->equal && e->skipped == 0;
    case TP_EVIDENCE_E2: return all_equal(&e->bits);
    case TP_EVIDENCE_E3: return all_equal(&e->algebra);
    case TP_EVIDENCE_E5: break;
    case TP_EVIDENCE_E4:
        return all_equal(&e->algebra) && all_equal(&e->box) && e->box.equal == e->box_shapes && !e->box_held.n;
    }
    return false;
}
