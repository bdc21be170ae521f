/* The one file of kernels/ that knows reference/. */
#include "kernels/trial/trial.h"

#include "base/budget.h"
#include "reference/reference.h"
#include "spec/range.h"

tp_str tp_trial_keep(tp_arena *a, tp_str s)
{
    return s.n ? tp_printf(a, "%.*s", TP_FMT(s)) : s;
}

tp_str tp_trial_left_out(tp_arena *keep, const tp_arena *work, const tp_equiv_options *o)
{
    tp_str reason = {NULL, 0};
    switch (tp_arena_refusal(work)) {
    case TP_REFUSED_BY_SYSTEM: reason = TP_S("the system gave no more memory"); break;
    case TP_REFUSED_BY_LIMIT:
        reason = tp_printf(keep, "it needs more than the %zu MiB of --max-memory", o->max_memory >> 20);
        break;
    case TP_REFUSED_BY_BUDGET: reason = TP_S("it needs more than --memory-limit leaves"); break;
    }
    return tp_budget_or(keep, reason);
}

/* How work in x->work, or in a part of it, ended. */
static tp_status ended(tp_arena *a, tp_status st)
{
    if (st == TP_E_MEMORY || st == TP_E_BUDGET)
        tp_leave(a, st);
    return st;
}

bool tp_trial_in_memory(tp_arena *keep, const tp_case *c, const tp_equiv_options *o, tp_case_result *r,
                        void (*tier)(void *))
{
    tp_arena *work = tp_arena_child_limited(keep, o->max_memory);
    tp_trial x = {work, keep, c, o, r};
    tp_status st = tp_try(work, tier, &x);
    if (st != TP_OK)
        r->left_out = tp_trial_left_out(keep, work, o);
    tp_arena_free(work);
    return st == TP_OK;
}

/* Of n elements of an input those that are drawn; the others repeat them, which is copied in a fraction of the time. */
static size_t drawn(const tp_trial *x, size_t n)
{
    enum { REPEATED = 1 << 16 };
    return x->o->repeated && n > REPEATED ? REPEATED : n;
}

static void fill(const tp_trial *x, uint32_t input, tp_tensor *t, tp_input_family family, int64_t range)
{
    size_t n = t->n, size = tp_dtype_size(t->dtype);
    char *data = t->data;
    t->n = drawn(x, n);
    tp_fill_input(x->c->kernel, x->c->env, input, t, family, range, x->o->seed + x->c->seed);
    for (size_t done = t->n, more; done < n; done += more) {
        more = done < n - done ? done : n - done;
        memcpy(data + done * size, data, more * size);
    }
    t->n = n;
}

/* False with *why when an array does not fit. */
bool tp_trial_arrays(const tp_trial *x, tp_input_family family, int64_t range, tp_sides *e, tp_str *why)
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
        if (tp_array_of(k, i) != i) {
            e->arrays[i] = e->arrays[tp_array_of(k, i)];
            continue;
        }
        e->arrays[i] = tp_tensor_new(x->work, k->operands[i].dtype, k->operands[i].rank, dims);
        tp_spend(x->work, (int64_t)drawn(x, e->arrays[i].n));
        tp_range r = i < k->ninputs ? tp_input_range(k, i, x->c->env) : (tp_range){0, 0};
        if (r.lo > r.hi && e->arrays[i].n) {
            *why =
                tp_printf(x->work, "there is no number that \"values\" of `%.*s` allows", TP_FMT(k->operands[i].name));
            return false;
        }
        bool given = i < k->ninputs && family == TP_INPUT_NORMAL && x->c->given && x->c->given[i].data;
        if (given)
            memcpy(e->arrays[i].data, x->c->given[i].data, e->arrays[i].n * tp_dtype_size(e->arrays[i].dtype));
        else if (i < k->ninputs && tp_dtype_info(e->arrays[i].dtype)->executable)
            fill(x, i, &e->arrays[i], family, range);
    }
    return true;
}

static tp_domain *constants_of(const tp_kernel *k, tp_domain *d)
{
    if (d)
        d->float64 = k->body && tp_program_has(k->body, TP_F64);
    return d;
}

tp_status tp_trial_run(const tp_trial *x, const tp_run_request *r, tp_trap *trap, tp_run_stats *stats)
{
    tp_arena *own = tp_arena_part(x->work);
    tp_run_stats unseen;
    stats = stats ? stats : &unseen;
    tp_status st = ended(own, tp_machine_run(own, r, trap, stats));
    if (st == TP_OK) { /* else the trap speaks of what lies there */
        stats->moved = NULL;
        tp_arena_free(own);
    }
    return st;
}

tp_status tp_trial_kernel(const tp_trial *x, tp_sides *e, tp_domain *d, tp_trap *trap, tp_run_stats *stats)
{
    tp_run_request request = {.kernel = x->c->kernel,
                              .env = x->c->env,
                              .arrays = e->arrays,
                              .seed = x->o->seed + x->c->seed,
                              .max_steps = x->o->max_steps,
                              .domain = constants_of(x->c->kernel, d),
                              .meanings = e->got_meaning,
                              .results = x->work,
                              .coverage = x->c->coverage,
                              .garbage = e->garbage};
    return tp_trial_run(x, &request, trap, stats);
}

bool tp_trial_comparable(const tp_case *c)
{
    return c->against || tp_has_reference(c->kernel);
}

bool tp_trial_writes_inputs(const tp_kernel *k)
{
    bool any = false;
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++)
        any |= k->operands[i].alias >= 0;
    return any;
}

bool tp_trial_compares(const tp_kernel *k, uint32_t i)
{
    return !k->operands[k->ninputs + i].discard;
}

/* False with *why when the reference's outputs have other shapes. */
static bool shapes_agree(const tp_trial *x, const tp_sides *e, tp_str *why)
{
    const tp_kernel *k = x->c->kernel;
    for (uint32_t i = 0; i < k->noutputs; i++) {
        const tp_tensor *w = &e->want[i], *g = &e->arrays[k->ninputs + i];
        if (!tp_trial_compares(k, i) || (w->n == g->n && w->rank == g->rank))
            continue;
        tp_str text = tp_tensor_text(x->work, w);
        *why = tp_printf(x->work, "the reference gives %.*s for `%.*s`", TP_FMT(text),
                         TP_FMT(k->operands[k->ninputs + i].name));
        return false;
    }
    return true;
}

/* Operand of k with the name, role and dtype of o; -1 with *why. */
static int counterpart(const tp_trial *x, const tp_kernel *k, const tp_operand *o, tp_str *why)
{
    int at = tp_operand_find(k, o->name);
    if (at >= 0 && k->operands[at].role == o->role && k->operands[at].dtype == o->dtype)
        return at;
    *why = tp_printf(x->work, "`%.*s` is no %s of dtype %s in both", TP_FMT(o->name),
                     o->role == TP_INPUT ? "input" : "output", tp_dtype_info(o->dtype)->name);
    return -1;
}

/* Is it one array, however it is cut among devices? */
static bool same_shape(const tp_operand *x, const int64_t *xdims, const tp_operand *y, const int64_t *ydims)
{
    int64_t a[TP_MAX_RANK], b[TP_MAX_RANK];
    uint32_t rank = tp_global_rank(x);
    tp_global_dims(x, xdims, a);
    tp_global_dims(y, ydims, b);
    return rank == tp_global_rank(y) && memcmp(a, b, rank * sizeof *a) == 0;
}

/* The arrays of the other kernel: the same inputs, outputs of its own. */
static bool other_arrays(const tp_trial *x, const tp_sides *e, tp_sides *other, tp_str *why)
{
    const tp_kernel *k = x->c->kernel, *o = x->c->against->kernel;
    *other = (tp_sides){.n = o->ninputs + o->noutputs, .garbage = e->garbage};
    other->arrays = TP_NEWN(x->work, tp_tensor, other->n);
    other->got_meaning = TP_NEWN(x->work, tp_planes, other->n);
    for (uint32_t i = 0; i < other->n; i++) {
        int64_t dims[TP_MAX_RANK];
        const tp_operand *there = &o->operands[i];
        int at = counterpart(x, k, there, why);
        if (at < 0 || !tp_operand_dims(o, there, x->c->against->env, dims, why))
            return false;
        const tp_tensor *t = &e->arrays[at];
        if (!same_shape(&k->operands[at], t->dims, there, dims)) {
            *why = tp_printf(x->work, "`%.*s` has another shape there", TP_FMT(o->operands[i].name));
            return false;
        }
        if (i < o->ninputs) {
            other->arrays[i] = *t;
            other->arrays[i].rank = there->rank;
            memcpy(other->arrays[i].dims, dims, there->rank * sizeof *dims);
            other->got_meaning[i] = e->got_meaning[at];
        } else {
            other->arrays[i] = tp_tensor_new(x->work, t->dtype, there->rank, dims);
        }
    }
    return true;
}

/* Another kernel says what is wanted. */
static bool run_other(const tp_trial *x, tp_sides *e, tp_domain *d, bool *undecided, tp_str *why)
{
    const tp_kernel *k = x->c->kernel, *o = x->c->against->kernel;
    tp_trial there = *x;
    tp_sides other;
    tp_trap trap = {0};
    tp_run_stats stats = {0};
    there.c = x->c->against;
    if (!other_arrays(x, e, &other, why))
        return false;
    if (tp_trial_kernel(&there, &other, d, &trap, &stats) != TP_OK) {
        *why = tp_printf(x->work, "the other kernel does not run there: %.*s", TP_FMT(trap.message));
        return false;
    }
    if (undecided)
        *undecided = stats.undecided != NULL;
    for (uint32_t i = 0; i < k->noutputs; i++) {
        int at = counterpart(x, o, &k->operands[k->ninputs + i], why);
        if (at < 0)
            return false;
        const tp_tensor *t = &other.arrays[at], *here = &e->arrays[k->ninputs + i];
        e->want[i] = tp_tensor_new(x->work, TP_F64, here->rank, here->dims);
        for (size_t j = 0; j < t->n; j++)
            ((double *)e->want[i].data)[j] = tp_get_f64(t->dtype, t->data, j);
        e->want_meaning[k->ninputs + i] = other.got_meaning[at];
    }
    return true;
}

bool tp_trial_reference(const tp_trial *x, tp_sides *e, tp_domain *d, bool *undecided, tp_str *why)
{
    if (x->c->against)
        return run_other(x, e, d, undecided, why);
    tp_reference_request r = {.kernel = x->c->kernel,
                              .env = x->c->env,
                              .arrays = e->arrays,
                              .domain = constants_of(x->c->kernel, d),
                              .meanings = e->want_meaning,
                              .outputs = e->want};
    tp_status st = ended(x->work, tp_reference_run(x->work, &r));
    *why = r.why;
    if (undecided)
        *undecided = r.undecided;
    return st == TP_OK && shapes_agree(x, e, why);
}

static tp_tensor *rounded(const tp_trial *x, const tp_sides *e, const tp_dtype *types)
{
    const tp_kernel *k = x->c->kernel;
    tp_tensor *outputs = TP_NEWN(x->work, tp_tensor, k->noutputs);
    tp_reference_request r = {
        .kernel = k, .env = x->c->env, .arrays = e->arrays, .outputs = outputs, .single = true, .types = types};
    tp_status st = x->c->against ? TP_E_INPUT : ended(x->work, tp_reference_run(x->work, &r));
    return st == TP_OK ? outputs : NULL;
}

tp_tensor *tp_trial_in_single(const tp_trial *x, const tp_sides *e)
{
    return rounded(x, e, NULL);
}

tp_tensor *tp_trial_in_own_types(const tp_trial *x, const tp_sides *e)
{
    const tp_kernel *k = x->c->kernel;
    const tp_dtype *types = k->reference.program ? tp_own_types(x->work, k) : NULL;
    return types ? rounded(x, e, types) : NULL;
}
