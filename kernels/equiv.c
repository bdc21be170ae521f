/* The one file of kernels/ that knows reference/. */
#include "kernels/equiv.h"
#include "kernels/internal.h"

#include <math.h>

#include "reference/reference.h"

const char *tp_tier_name(tp_tier t)
{
    static const char *const NAMES[] = {"not applicable", "equal", "inconclusive", "different"};
    return NAMES[t];
}

/* ---- one run of kernel and reference ---- */

typedef struct one {
    tp_arena *work; /* memory of the case */
    tp_arena *keep; /* memory of the results */
    const tp_case *c;
    const tp_equiv_options *o;
    tp_case_result *r;
} one;

/* Arrays and planes of inputs and outputs, and of what the reference says. */
typedef struct execution {
    uint32_t n; /* arrays: inputs and outputs */
    tp_tensor *arrays, *want;
    tp_planes *got_meaning, *want_meaning; /* per array */
    tp_garbage garbage;
} execution;

static tp_str keep_str(tp_arena *a, tp_str s)
{
    return s.n ? tp_printf(a, "%.*s", TP_FMT(s)) : s;
}

static void keep_trap(tp_arena *a, tp_trap *t)
{
    tp_trap copy = *t;
    copy.message = keep_str(a, t->message);
    copy.statement = keep_str(a, t->statement);
    copy.coordinates.at = NULL;
    copy.coordinates.len = copy.coordinates.cap = 0;
    for (uint32_t i = 0; i < t->coordinates.len; i++)
        tp_push(a, copy.coordinates, t->coordinates.at[i]);
    *t = copy;
}

static void skip(one *x, tp_str why)
{
    x->r->outcome = TP_SKIPPED;
    x->r->trap.message = keep_str(x->keep, why);
}

/* False with *why when an array does not fit. */
static bool make_arrays(const one *x, tp_input_family family, int64_t range, execution *e, tp_str *why)
{
    const tp_kernel *k = x->c->kernel;
    e->n = k->ninputs + k->noutputs;
    e->arrays = TP_NEWN(x->work, tp_tensor, e->n);
    e->want = TP_NEWN(x->work, tp_tensor, k->noutputs);
    e->got_meaning = TP_NEWN(x->work, tp_planes, e->n);
    e->want_meaning = TP_NEWN(x->work, tp_planes, e->n);
    for (uint32_t i = 0; i < e->n; i++) {
        int64_t dims[TP_MAX_RANK];
        if (!tp_operand_dims(k, &k->operands[i], x->c->env, dims, why))
            return false;
        e->arrays[i] = tp_tensor_new(x->work, k->operands[i].dtype, k->operands[i].rank, dims);
        bool given = i < k->ninputs && family == TP_INPUT_NORMAL && x->c->given && x->c->given[i].data;
        if (given)
            memcpy(e->arrays[i].data, x->c->given[i].data, e->arrays[i].n * tp_dtype_size(e->arrays[i].dtype));
        else if (i < k->ninputs && tp_dtype_info(e->arrays[i].dtype)->executable)
            tp_fill(&e->arrays[i], family, range, x->o->seed + x->c->seed, i);
    }
    return true;
}

/* The kernel on e->arrays, under a domain. */
static tp_status run_kernel(const one *x, execution *e, tp_domain *d, tp_trap *trap, tp_run_stats *stats)
{
    tp_run_request request = {.kernel = x->c->kernel,
                              .env = x->c->env,
                              .arrays = e->arrays,
                              .seed = x->o->seed + x->c->seed,
                              .max_steps = x->o->max_steps,
                              .domain = d,
                              .meanings = e->got_meaning,
                              .garbage = e->garbage};
    tp_status st = tp_machine_run(x->work, &request, trap, stats);
    if (st == TP_E_MEMORY)
        tp_leave(x->work, st);
    return st;
}

static tp_status run_reference(const one *x, execution *e, tp_domain *d, tp_reference_request *r)
{
    *r = (tp_reference_request){.kernel = x->c->kernel,
                                .env = x->c->env,
                                .arrays = e->arrays,
                                .domain = d,
                                .meanings = e->want_meaning,
                                .outputs = e->want};
    tp_status st = tp_reference_run(x->work, r);
    if (st == TP_E_MEMORY)
        tp_leave(x->work, st);
    return st;
}

static bool is_output(const tp_kernel *k, uint32_t i)
{
    return !k->operands[k->ninputs + i].discard;
}

/* ---- E1: numbers, with their values over the reals ---- */

/* False with *why when the reference's outputs have other shapes. */
static bool shapes_agree(const one *x, const execution *e, tp_str *why)
{
    const tp_kernel *k = x->c->kernel;
    for (uint32_t i = 0; i < k->noutputs; i++) {
        const tp_tensor *w = &e->want[i], *g = &e->arrays[k->ninputs + i];
        if (!is_output(k, i) || (w->n == g->n && w->rank == g->rank))
            continue;
        tp_str text = tp_tensor_text(x->work, w);
        *why = tp_printf(x->work, "the reference gives %.*s for `%.*s`", TP_FMT(text),
                         TP_FMT(k->operands[k->ninputs + i].name));
        return false;
    }
    return true;
}

static tp_str undecided_text(const one *x, const tp_step *s)
{
    tp_buf b = {.arena = x->keep};
    tp_buf_c(&b, "rounding may turn the decision in `");
    if (s->syntax)
        tp_print_stmt_head(&b, s->syntax);
    tp_buf_c(&b, "`");
    return tp_buf_view(&b);
}

/* Other families of inputs may be unkind to rounding; a certain difference
 * counts, and NaN or infinity where the reference has a number that fits. */
static void merge(tp_output_diff *into, const tp_output_diff *d)
{
    if (d->tier == TP_TIER_DIFFERENT && !isfinite(d->got))
        into->overflows = true;
    else if (d->tier == TP_TIER_DIFFERENT && into->tier != TP_TIER_DIFFERENT)
        *into = *d;
    else if (d->tier == TP_TIER_EQUAL)
        into->ratio = fmax(into->ratio, d->ratio);
}

/* FNV-1a over the bytes of the compared elements. */
static void digest(one *x, const tp_operand *o, const tp_tensor *t)
{
    size_t size = tp_dtype_size(t->dtype);
    const uint8_t *bytes = t->data;
    for (size_t i = 0; i < t->n; i++)
        for (size_t b = 0; b < size && tp_compared(x->c->kernel, o, x->c->env, t, i); b++)
            x->r->digest = (x->r->digest ^ bytes[i * size + b]) * 0x100000001b3u;
}

static void compare_numbers(one *x, execution *e, tp_str undecided, bool first)
{
    const tp_kernel *k = x->c->kernel;
    for (uint32_t i = 0, at = 0; i < k->noutputs; i++) {
        tp_output_diff d;
        if (!is_output(k, i))
            continue;
        tp_result got = {&e->arrays[k->ninputs + i], &e->got_meaning[k->ninputs + i]},
                  want = {&e->want[i], &e->want_meaning[k->ninputs + i]};
        tp_compare(x->keep, k, x->c->env, i, got, want, &d);
        if (undecided.n && d.tier == TP_TIER_DIFFERENT) { /* it may have gone another way over the reals */
            d.tier = TP_TIER_INCONCLUSIVE;
            d.reason = undecided;
        }
        if (first)
            digest(x, &k->operands[k->ninputs + i], got.data);
        if (first)
            tp_push(x->keep, x->r->outputs, d);
        else
            merge(&x->r->outputs.at[at++], &d);
    }
}

/* Compare on one family of inputs; false when there is nothing to compare. */
static bool run_family(one *x, tp_input_family family, tp_garbage garbage, bool first)
{
    const tp_kernel *k = x->c->kernel;
    execution e = {.garbage = garbage};
    tp_str why = {NULL, 0};
    tp_run_stats stats = {0};
    tp_reference_request reference;
    bool compared = k->reference.program || k->reference.builtin;
    if (!make_arrays(x, family, 0, &e, &why)) {
        skip(x, why);
        return false;
    }
    tp_status st = run_kernel(x, &e, compared ? tp_rounding_new(x->work) : NULL, &x->r->trap, &stats);
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
    } else if (run_reference(x, &e, tp_rounding_new(x->work), &reference) != TP_OK) {
        skip(x, reference.why);
    } else if (!shapes_agree(x, &e, &why)) {
        skip(x, why);
    } else {
        compare_numbers(x, &e,
                        stats.undecided       ? undecided_text(x, stats.undecided)
                        : reference.undecided ? TP_S("rounding may turn a decision of the reference")
                                              : TP_S(""),
                        first);
        return true;
    }
    return false;
}

static void run_numbers(void *arg)
{
    one *x = arg;
    x->r->outcome = TP_EQUAL;
    if (!run_family(x, TP_INPUT_NORMAL, TP_GARBAGE_HUGE, true))
        return;
    if (x->c->algebra && (!run_family(x, TP_INPUT_WIDE, TP_GARBAGE_NAN, false) ||
                          !run_family(x, TP_INPUT_CANCEL, TP_GARBAGE_QUIET, false)))
        return;
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
static bool compare_bits(one *x, const execution *e, tp_bits *b)
{
    const tp_kernel *k = x->c->kernel;
    b->tier = TP_TIER_EQUAL;
    for (uint32_t i = 0; i < k->noutputs; i++) {
        const tp_operand *o = &k->operands[k->ninputs + i];
        const tp_tensor *g = &e->arrays[k->ninputs + i];
        const tp_planes *mg = &e->got_meaning[k->ninputs + i], *mw = &e->want_meaning[k->ninputs + i];
        for (size_t j = 0; is_output(k, i) && j < g->n; j++) {
            double got = tp_get_f64(g->dtype, g->data, j), want = ((const double *)mw->plane[0])[j];
            bool exact = ((const double *)mg->plane[1])[j] == 0 && ((const double *)mw->plane[1])[j] == 0 &&
                         ((const double *)mg->plane[0])[j] == got;
            if (!tp_compared(k, o, x->c->env, g, j) || (isnan(got) && isnan(want)))
                continue;
            if (!exact) {
                double real = ((const double *)mg->plane[0])[j];
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
    return true;
}

static void run_bits(void *arg)
{
    one *x = arg;
    static const int64_t RANGES[] = {8, 2, 1};
    tp_bits *b = &x->r->bits;
    for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES; i++) {
        execution e = {.n = 0};
        tp_str why;
        tp_trap trap;
        tp_run_stats stats = {0};
        tp_reference_request reference;
        *b = (tp_bits){.range = RANGES[i], .reason = TP_S("it does not run on integer inputs")};
        if (!make_arrays(x, TP_INPUT_INTEGERS, RANGES[i], &e, &why) ||
            run_kernel(x, &e, tp_rounding_new(x->work), &trap, &stats) != TP_OK ||
            run_reference(x, &e, tp_rounding_new(x->work), &reference) != TP_OK || !shapes_agree(x, &e, &why))
            return;
        if (stats.undecided || reference.undecided) {
            b->reason = TP_S("a decision depends on rounding");
            continue;
        }
        b->reason = TP_S("");
        if (!compare_bits(x, &e, b) || b->tier != TP_TIER_NONE)
            return;
    }
}

/* ---- E3: residues ---- */

static bool takes_exponents(const tp_step *s, const void *ctx)
{
    (void)ctx;
    if (s->kind != TP_COMPUTE)
        return false;
    switch (s->inst->prim) {
    case TP_P_EXP:
    case TP_P_EXP2:
    case TP_P_EXPM1:
    case TP_P_TANH:
    case TP_P_LOGISTIC:
    case TP_P_SILU:
    case TP_P_GELU: return true;
    default: return false;
    }
}

/* Same points for all; maxima answered by the given oracles. */
static tp_domain *field_of(const one *x, uint64_t oracle, bool ordered)
{
    const tp_kernel *k = x->c->kernel;
    tp_field_options o = {.seed = x->o->seed + x->c->seed, .oracle = oracle, .ordered = ordered};
    const tp_program *reference = k->reference.program; /* a builtin: as the kernel does */
    o.polynomial = !tp_region_any(&k->body->steps, takes_exponents, NULL) &&
                   !(reference && tp_region_any(&reference->steps, takes_exponents, NULL));
    return tp_field_new(x->work, o);
}

static bool field_reference(const one *x, execution *e, uint64_t oracle, bool ordered, tp_field_log *log, tp_str *why)
{
    tp_reference_request r;
    tp_domain *d = field_of(x, oracle, ordered);
    tp_status st = run_reference(x, e, d, &r);
    *log = *tp_field_log_of(d);
    *why = r.why;
    return st == TP_OK && shapes_agree(x, e, why);
}

static bool field_kernel(const one *x, execution *e, uint64_t oracle, bool ordered, tp_field_log *log, tp_str *why)
{
    tp_trap trap;
    tp_domain *d = field_of(x, oracle, ordered);
    tp_status st = run_kernel(x, e, d, &trap, NULL);
    *log = *tp_field_log_of(d);
    *why = trap.message;
    return st == TP_OK;
}

/* Random points for the float inputs of kernel and reference. */
static const tp_domain *place_points(const one *x, execution *e)
{
    const tp_kernel *k = x->c->kernel;
    tp_domain *points = field_of(x, 0, false);
    for (uint32_t i = 0; i < k->ninputs; i++) {
        tp_planes *m = &e->got_meaning[i];
        if (!tp_is_float(e->arrays[i].dtype))
            continue;
        m->plane[0] = tp_alloc_array(x->work, e->arrays[i].n, 8);
        m->degree = (tp_degree){1, 0};
        tp_field_fill(points, i, e->arrays[i].n, m->plane[0]);
        e->want_meaning[i] = *m;
    }
    return points;
}

/* Does output i of the reference stay when the oracle changes? */
static bool invariant(const one *x, const execution *e, uint32_t i, const uint64_t *first)
{
    const tp_kernel *k = x->c->kernel;
    const uint64_t *w = e->want_meaning[k->ninputs + i].plane[0];
    for (size_t j = 0; j < e->want[i].n; j++)
        if ((w[j] ^ first[j]) << 32 &&
            /* the lower half is the value */ tp_compared(k, &k->operands[k->ninputs + i], x->c->env, &e->want[i], j))
            return false;
    return true;
}

static double chance_of(tp_degree a, tp_degree b)
{
    double degree = fmax(1, fmax(a.numerator + b.denominator, b.numerator + a.denominator));
    return fmax(0, floor(log2(TP_FIELD_Q / degree)));
}

/* Output i of kernel and reference. */
static void compare_residues(const one *x, const execution *e, uint32_t i, tp_algebra *r)
{
    const tp_kernel *k = x->c->kernel;
    const tp_operand *o = &k->operands[k->ninputs + i];
    const tp_tensor *g = &e->arrays[k->ninputs + i], *w = &e->want[i];
    const tp_planes *mg = &e->got_meaning[k->ninputs + i], *mw = &e->want_meaning[k->ninputs + i];
    bool real = tp_is_float(g->dtype);
    for (size_t j = 0; j < g->n; j++) {
        double got = tp_get_f64(g->dtype, g->data, j), want = tp_get_f64(TP_F64, w->data, j);
        uint64_t a = ((const uint64_t *)mg->plane[0])[j], b = ((const uint64_t *)mw->plane[0])[j];
        if (!tp_compared(k, o, x->c->env, g, j) || (isnan(got) && isnan(want)))
            continue;
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

static void give_up_algebra(const one *x, tp_algebra *r, const tp_field_log *k, const tp_field_log *f, tp_str why)
{
    const char *prim = k->unsupported ? k->unsupported : f->unsupported;
    r->tier = TP_TIER_NONE;
    r->reason = why.n  ? keep_str(x->keep, why)
                : prim ? tp_printf(x->keep, "`%s` is outside the fragment, or a denominator is 0", prim)
                       : r->reason;
}

static void run_algebra(void *arg)
{
    one *x = arg;
    const tp_kernel *k = x->c->kernel;
    tp_algebra *r = &x->r->algebra;
    execution e = {.n = 0};
    tp_str why = {NULL, 0};
    tp_field_log kernel = {0}, reference = {0};
    uint64_t **first = TP_NEWN(x->work, uint64_t *, k->noutputs), seed = x->o->seed + x->c->seed;
    bool *shows_maximum = TP_NEWN(x->work, bool, k->noutputs), any = false;
    *r = (tp_algebra){.tier = TP_TIER_EQUAL, .chance = HUGE_VAL};
    if (!make_arrays(x, TP_INPUT_SMALL, 0, &e, &why)) {
        give_up_algebra(x, r, &kernel, &reference, why);
        return;
    }
    place_points(x, &e);
    if (!field_reference(x, &e, seed + 1, false, &reference, &why)) {
        give_up_algebra(x, r, &kernel, &reference, why);
        return;
    }
    if (reference.oracle) { /* which outputs show the maximum itself? */
        for (uint32_t i = 0; i < k->noutputs; i++)
            first[i] = e.want_meaning[k->ninputs + i].plane[0];
        if (!field_reference(x, &e, seed + 2, false, &reference, &why)) {
            give_up_algebra(x, r, &kernel, &reference, why);
            return;
        }
        for (uint32_t i = 0; i < k->noutputs; i++)
            if (is_output(k, i) && !invariant(x, &e, i, first[i]))
                any = shows_maximum[i] = true;
    }
    for (int ordered = 0; ordered < 1 + any; ordered++) {
        if (ordered && !field_reference(x, &e, seed + 2, true, &reference, &why)) {
            give_up_algebra(x, r, &kernel, &reference, why);
            return;
        }
        if (!field_kernel(x, &e, seed + 3, ordered, &kernel, &why)) {
            give_up_algebra(x, r, &kernel, &reference, why);
            return;
        }
        r->tags |= kernel.tags || reference.tags;
        for (uint32_t i = 0; i < k->noutputs && r->tier == TP_TIER_EQUAL; i++)
            if (is_output(k, i) && shows_maximum[i] == ordered)
                compare_residues(x, &e, i, r);
    }
    r->ordered = any;
    if (r->tier == TP_TIER_NONE)
        give_up_algebra(x, r, &kernel, &reference, (tp_str){NULL, 0});
}

/* ---- blame ---- */

/* Kernel and reference with some residues drawn anew; maxima by order, so
 * that nothing else changes. */
typedef struct probing {
    const one *x;
    const tp_part *part;
    uint64_t kernel, reference;
    bool ok;
} probing;

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
    const one *x = p->x;
    const tp_kernel *k = x->c->kernel;
    const tp_algebra *where = &x->r->algebra;
    execution e = {.n = 0};
    tp_str why;
    tp_field_log log;
    uint64_t seed = x->o->seed + x->c->seed;
    if (!make_arrays(x, TP_INPUT_SMALL, 0, &e, &why))
        return;
    const tp_domain *points = place_points(x, &e);
    if (p->part) {
        const tp_tensor *t = &e.arrays[p->part->input];
        draw_again(points, p->part, t, e.got_meaning[p->part->input].plane[0], tp_alloc_array(x->work, t->n, 8));
    }
    p->ok = field_reference(x, &e, seed, true, &log, &why) && field_kernel(x, &e, seed, true, &log, &why);
    if (!p->ok)
        return;
    p->kernel = ((const uint64_t *)e.got_meaning[k->ninputs + where->output].plane[0])[where->element];
    p->reference = ((const uint64_t *)e.want_meaning[k->ninputs + where->output].plane[0])[where->element];
}

static bool probe(void *ctx, const tp_part *part, uint64_t *kernel, uint64_t *reference)
{
    one x = *(const one *)ctx;
    probing p = {.x = &x, .part = part};
    x.work = tp_arena_new(x.o->max_memory);
    if (!x.work)
        return false;
    tp_status st = tp_try(x.work, probe_once, &p);
    *kernel = p.kernel;
    *reference = p.reference;
    tp_arena_free(x.work);
    return st == TP_OK && p.ok;
}

void tp_equiv_blame(tp_arena *a, const tp_equiv_options *o, tp_case_result *r)
{
    one x = {NULL, a, r->the_case, o, r};
    if (r->algebra.tier == TP_TIER_DIFFERENT)
        tp_blame_find(a, r->the_case->kernel, r->the_case->env, r->algebra.output, r->algebra.element, probe, &x,
                      &r->blame);
}

/* ---- cases ---- */

/* Run one tier in memory of its own; false when that ran out. */
static bool in_memory(tp_arena *keep, const tp_case *c, const tp_equiv_options *o, tp_case_result *r,
                      void (*tier)(void *))
{
    tp_arena *work = tp_arena_new(o->max_memory);
    if (!work)
        tp_leave(keep, TP_E_MEMORY);
    one x = {work, keep, c, o, r};
    tp_status st = tp_try(work, tier, &x);
    tp_arena_free(work);
    return st == TP_OK;
}

static void numbers_of(tp_arena *a, const tp_case *c, const tp_equiv_options *o, tp_case_result *r, tp_str memory)
{
    if (in_memory(a, c, o, r, run_numbers))
        return;
    r->outcome = TP_SKIPPED;
    r->trap.message = memory;
}

static void run_case(tp_arena *a, const tp_case *c, const tp_equiv_options *o, tp_case_result *r)
{
    tp_str memory = tp_printf(a, "it needs more than the %zu MiB of --max-memory", o->max_memory >> 20);
    bool ran = c->numbers, comparable = c->kernel->reference.program || c->kernel->reference.builtin;
    if (ran)
        numbers_of(a, c, o, r, memory);
    if (!comparable || r->outcome == TP_TRAPPED || r->outcome == TP_SKIPPED)
        return;
    if (c->algebra && !in_memory(a, c, o, r, run_algebra)) {
        r->algebra = (tp_algebra){.reason = memory};
        r->starved++;
    }
    if (r->algebra.tier == TP_TIER_DIFFERENT && !ran)
        numbers_of(a, c, o, r, memory);
    if (r->algebra.tier == TP_TIER_DIFFERENT && r->outcome != TP_DIFFERENT) {
        r->algebra.tier = TP_TIER_INCONCLUSIVE; /* another spelling of a constant, a decision by rounding */
        r->algebra.reason =
            tp_printf(a, "the residues differ at %.*s, and the numbers do not confirm it", TP_FMT(r->algebra.worst));
    }
    if (c->bits && !in_memory(a, c, o, r, run_bits)) {
        r->bits = (tp_bits){.reason = memory};
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
    for (uint32_t i = 0; i < out->cases.len; i++)
        for (uint32_t j = 0; j < out->cases.at[i].outputs.len; j++) {
            const tp_output_diff *d = &out->cases.at[i].outputs.at[j];
            if (!out->worst || d->ratio > out->worst->ratio)
                out->worst = d;
            if (!out->unstable || d->rounding > out->unstable->rounding)
                out->unstable = d;
        }
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
    tp_arena *work = tp_arena_new(o->max_memory);
    if (!work)
        tp_leave(c->arena, TP_E_MEMORY);
    boxing x = {.c = {.arena = work, .source = c->source}, .spec = s, .o = o, .how = how, .e = *out};
    tp_status st = tp_try(work, box_with_small_blocks, &x);
    out->starved += x.starved + (st == TP_E_MEMORY);
    bool equal = st == TP_OK && x.equal;
    if (equal) {
        x.e.starved = out->starved;
        x.e.box_reason = out->box_reason;
        x.e.box_text = tp_printf(c->arena, "%.*s", TP_FMT(x.e.box_text));
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
        for (uint32_t n = 0; n < box->cases.len; n++) {
            tp_case_result r = {.the_case = &box->cases.at[n]};
            run_case(c->arena, &box->cases.at[n], o, &r);
            note_algebra(&r.algebra, out, &out->box, &out->box_reason);
            out->starved += r.starved;
            if (r.outcome != TP_DIFFERENT)
                continue;
            out->different++;
            tp_push(c->arena, out->cases, r);
        }
    }
}

bool tp_equiv_refutes(const tp_case_result *r)
{
    bool numbers = r->outcome == TP_DIFFERENT;
    for (uint32_t i = 0; i < r->outputs.len; i++)
        numbers &= isfinite(r->outputs.at[i].got) && isfinite(r->outputs.at[i].want);
    return numbers;
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
    case TP_EVIDENCE_E6: break;
    case TP_EVIDENCE_E4: return all_equal(&e->algebra) && all_equal(&e->box) && e->box.equal == e->box_shapes;
    }
    return false;
}
