#include "kernels/call.h"

#include "base/checked.h"
#include "base/processors.h"
#include "kernels/trial/equiv.h"
#include "spec/prepare.h"
#include "spec/range.h"
#include "spec/table.h"

_Noreturn static void fail(tp_call *c, tp_status st, tp_str why)
{
    c->why = why;
    tp_leave(c->arena, st);
}

static bool has_dtypes(const tp_call *c, const tp_kernel *k)
{
    for (uint32_t i = 0; i < c->ndtypes; i++) {
        bool fits = false;
        for (uint32_t p = 0; p < k->ndtypes; p++)
            fits |= tp_str_eq(k->dtypes[p].name, c->dtypes[i].name) && k->dtypes[p].choice == c->dtypes[i].choice;
        if (!fits)
            return false;
    }
    return true;
}

/* Fetch the inputs as kernel k wants them; the number that fit, and why the
 * next one does not. */
static uint32_t fetch_inputs(tp_call *c, const tp_kernel *k, tp_str *problem)
{
    for (uint32_t i = 0; i < k->ninputs; i++) {
        const tp_operand *o = &k->operands[i];
        tp_tensor *t = &c->arrays[i];
        if (o->array >= 0) {
            *t = c->arrays[o->array];
            continue;
        }
        tp_status st = c->fetch(c->ctx, o->name, o->dtype, t, problem);
        if (st == TP_E_USAGE && c->fills) {
            *t = (tp_tensor){.dtype = o->dtype}; /* its shape follows from the sizes */
            continue;
        }
        if (st == TP_E_USAGE)
            fail(c, st, *problem);
        if (st != TP_OK)
            return i;
        if (t->dtype != o->dtype) {
            *problem = tp_printf(c->arena, "input `%.*s` is %s in the spec, its array is %s", TP_FMT(o->name),
                                 tp_dtype_info(o->dtype)->name, tp_dtype_info(t->dtype)->name);
            return i;
        }
    }
    return k->ninputs;
}

/* The first dtype combination that fits; else the problem of the one that
 * came furthest. */
static void choose_kernel(tp_call *c)
{
    tp_str problem = TP_S("no combination of dtype choices is the one that was asked for");
    uint32_t furthest = 0;
    bool tried = false;
    for (uint32_t i = 0; i < c->spec->nkernels && !c->kernel; i++) {
        if (!has_dtypes(c, c->spec->kernels[i]))
            continue;
        tp_str why;
        uint32_t fitting = fetch_inputs(c, c->spec->kernels[i], &why);
        if (fitting == c->spec->kernels[i]->ninputs)
            c->kernel = c->spec->kernels[i];
        else if (!tried || fitting > furthest) {
            problem = why;
            furthest = fitting;
        }
        tried = true;
    }
    if (!c->kernel)
        fail(c, TP_E_INPUT, problem);
}

static void fetch_tables(tp_call *c)
{
    for (uint32_t i = 0; i < c->kernel->ntables; i++) {
        const tp_table *t = &c->kernel->tables[i];
        tp_str why = {NULL, 0};
        if (t->prepared)
            continue;
        tp_status st = c->fetch(c->ctx, t->name, t->dtype, &c->tables[i], &why);
        if (st != TP_OK)
            fail(c, st, why);
        if (tp_is_float(c->tables[i].dtype) || c->tables[i].rank != t->rank)
            fail(c, TP_E_INPUT,
                 tp_printf(c->arena, "table `%.*s` is %s of rank %u in the spec, its array is %.*s", TP_FMT(t->name),
                           tp_dtype_info(t->dtype)->name, t->rank, TP_FMT(tp_tensor_text(c->arena, &c->tables[i]))));
    }
}

static void take_sizes(tp_call *c)
{
    for (uint32_t i = 0; i < c->nsizes; i++) {
        tp_str name = c->sizes[i].name;
        const tp_size *s = tp_size_find(c->kernel, name);
        if (!s || s->kind == TP_SIZE_DERIVED)
            fail(c, TP_E_USAGE,
                 tp_printf(c->arena, s ? "size `%.*s` follows from others" : "there is no size `%.*s`", TP_FMT(name)));
        if (s->kind == TP_SIZE_FIXED && s->min != c->sizes[i].value)
            fail(c, TP_E_INPUT, tp_printf(c->arena, "size `%.*s` is fixed at %lld", TP_FMT(name), (long long)s->min));
        if (s->kind != TP_SIZE_FIXED)
            c->env[s->sym] = c->sizes[i].value;
        c->known[s - c->kernel->sizes] = true;
    }
}

/* The only unknown size that e mentions, or -1. */
static int only_unknown(tp_call *c, tp_expr e)
{
    int found = -1;
    for (uint32_t i = 0; i < c->kernel->nsizes; i++) {
        const tp_size *s = &c->kernel->sizes[i];
        if (!tp_is_open_size(s) || c->known[i] || !tp_expr_mentions(c->kernel->exprs, e, s->sym))
            continue;
        if (found >= 0)
            return -1;
        found = (int)i;
    }
    return found;
}

/* Solve e(s) == value for a dimension that is linear in s. */
static bool solve(tp_call *c, tp_expr e, int size, int64_t value)
{
    uint32_t sym = c->kernel->sizes[size].sym;
    int64_t at0, at1, slope, rest;
    c->env[sym] = 0;
    if (tp_expr_eval(c->kernel->exprs, e, c->env, &at0) != TP_EVAL_OK)
        return false;
    c->env[sym] = 1;
    if (tp_expr_eval(c->kernel->exprs, e, c->env, &at1) != TP_EVAL_OK || !tp_sub(at1, at0, &slope) || slope == 0 ||
        !tp_sub(value, at0, &rest) || rest % slope != 0)
        return false;
    c->env[sym] = rest / slope;
    int64_t check;
    return tp_expr_eval(c->kernel->exprs, e, c->env, &check) == TP_EVAL_OK && check == value;
}

static void infer_sizes(tp_call *c)
{
    const tp_kernel *k = c->kernel;
    bool progress = true;
    while (progress) {
        progress = false;
        for (uint32_t i = 0; i < k->ninputs; i++)
            for (uint32_t d = 0; d < tp_global_rank(&k->operands[i]) && d < c->arrays[i].rank; d++) {
                tp_expr extent = tp_global_shape(&k->operands[i])[d];
                int s = only_unknown(c, extent);
                if (s >= 0 && solve(c, extent, s, c->arrays[i].dims[d]))
                    c->known[s] = progress = true;
            }
        for (uint32_t i = 0; i < k->ntables; i++)
            for (uint32_t d = 0; d < k->tables[i].rank && !k->tables[i].prepared; d++) {
                int s = only_unknown(c, k->tables[i].shape[d]);
                if (s >= 0 && solve(c, k->tables[i].shape[d], s, c->tables[i].dims[d]))
                    c->known[s] = progress = true;
            }
    }
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *s = &k->sizes[i];
        if (c->known[i] || s->kind == TP_SIZE_FIXED || s->kind == TP_SIZE_DERIVED)
            continue;
        if (s->kind == TP_SIZE_CHOICE) {
            c->env[s->sym] = s->choices[s->nchoices - 1];
            continue; /* the largest block: the caller can tell */
        }
        c->undetermined = s->name;
        fail(c, TP_E_USAGE, tp_printf(c->arena, "the arrays do not determine size `%.*s`", TP_FMT(s->name)));
    }
}

/* Elements outside "valid" and outputs that nobody wants keep what they have: those get new memory. */
static tp_tensor output_array(tp_call *c, const tp_operand *o, const int64_t *dims)
{
    tp_tensor t = {.dtype = o->dtype, .rank = tp_global_rank(o), .n = 1};
    for (uint32_t d = 0; d < t.rank; d++) {
        t.dims[d] = dims[d];
        t.n *= (size_t)dims[d]; /* tp_operand_dims() has held their product against a bound */
    }
    if (c->place && o->role == TP_OUTPUT && !o->discard && !o->valid.id)
        t.data = c->place(c->ctx, o->name, &t);
    return t.data ? t : tp_tensor_new(c->arena, o->dtype, t.rank, dims);
}

static void check_shapes(tp_call *c)
{
    tp_kernel here = *c->kernel; /* other calls may use it now: what is said of it goes to this call's memory */
    const tp_kernel *k = &here;
    tp_str why = {NULL, 0};
    here.arena = c->arena;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        const tp_operand *o = &k->operands[i];
        int64_t parts[TP_MAX_RANK], dims[TP_MAX_RANK];
        uint32_t rank = tp_global_rank(o);
        if (o->array >= 0) {
            c->arrays[i] = c->arrays[o->array];
            continue;
        }
        if (!tp_operand_dims(k, o, c->env, parts, &why))
            fail(c, TP_E_INPUT, why);
        tp_global_dims(o, parts, dims);
        if (i >= k->ninputs || (c->fills && !c->arrays[i].data)) {
            c->arrays[i] = output_array(c, o, dims);
            if (i < k->ninputs)
                tp_fill_input(k, c->env, i, &c->arrays[i], (tp_input_family)c->family, 8, c->seed);
            continue;
        }
        if (c->arrays[i].rank != rank)
            fail(c, TP_E_INPUT,
                 tp_printf(c->arena, "input `%.*s` has rank %u in the spec, its array has rank %u", TP_FMT(o->name),
                           rank, c->arrays[i].rank));
        for (uint32_t d = 0; d < rank; d++)
            if (dims[d] != c->arrays[i].dims[d])
                fail(c, TP_E_INPUT,
                     tp_printf(c->arena,
                               "dimension %u of input `%.*s` (%.*s) is %lld in its array, but %lld by the other sizes",
                               d, TP_FMT(o->name), TP_FMT(tp_expr_text(k->exprs, tp_global_shape(o)[d])),
                               (long long)c->arrays[i].dims[d], (long long)dims[d]));
    }
    if (!tp_in_domain(k, c->env, &why))
        fail(c, TP_E_INPUT, tp_printf(c->arena, "outside the declared domain: %.*s", TP_FMT(why)));
}

/* Bind what was read, and check the contracts. */
static void bind_tables(tp_call *c)
{
    const tp_kernel *k = c->kernel;
    tp_str why = {NULL, 0};
    if (!tp_tables_new(c->arena, k, c->env, &why))
        fail(c, TP_E_INPUT, why);
    for (uint32_t i = 0; i < k->ntables; i++) {
        const tp_table_data *d = tp_bound_table(c->env, k->tables[i].sym);
        for (uint32_t x = 0; x < d->rank && !k->tables[i].prepared; x++)
            if (d->dims[x] != c->tables[i].dims[x])
                fail(c, TP_E_INPUT,
                     tp_printf(c->arena,
                               "dimension %u of table `%.*s` is %lld in its array, but %lld by the other sizes", x,
                               TP_FMT(k->tables[i].name), (long long)c->tables[i].dims[x], (long long)d->dims[x]));
        for (size_t n = 0; n < c->tables[i].n; n++)
            d->at[n] = tp_get_i64(c->tables[i].dtype, c->tables[i].data, n);
    }
    int64_t operations = 0;
    if (tp_prepare(c->arena, k, c->env, &operations, &why) != TP_PREPARED || !tp_tables_hold(c->arena, k, c->env, &why))
        fail(c, TP_E_INPUT, why);
}

/* Are the elements what "values" says? */
static void check_values(tp_call *c)
{
    tp_str why;
    for (uint32_t i = 0; i < c->kernel->ninputs; i++)
        if (!tp_input_holds(c->arena, c->kernel, i, c->env, &c->arrays[i], &why))
            fail(c, TP_E_INPUT, why);
}

static void bind(void *arg)
{
    tp_call *c = arg;
    tp_str why;
    c->arrays = TP_NEWN(c->arena, tp_tensor, tp_noperands(c->spec->kernels[0]));
    choose_kernel(c);
    if (!tp_kernel_executable(c->arena, c->kernel, &why))
        fail(c, TP_E_INPUT, why);
    c->env = TP_NEWN(c->arena, int64_t, tp_sym_count(c->kernel->exprs));
    c->known = TP_NEWN(c->arena, bool, c->kernel->nsizes);
    take_sizes(c);
    c->tables = TP_NEWN(c->arena, tp_tensor, c->kernel->ntables);
    fetch_tables(c);
    infer_sizes(c);
    check_shapes(c);
    if (c->measures)
        return;
    bind_tables(c);
    check_values(c);
}

tp_status tp_call_bind(tp_call *c)
{
    tp_status st = tp_try(c->arena, bind, c);
    if (st == TP_E_MEMORY)
        tp_leave(c->arena, st);
    return st;
}

/* The arrays as they lie in memory, cut among devices. */
static tp_tensor *in_parts(tp_call *c)
{
    uint32_t n = c->kernel->ninputs + c->kernel->noutputs;
    tp_tensor *arrays = TP_NEWN(c->arena, tp_tensor, n);
    tp_str why;
    for (uint32_t i = 0; i < n; i++) {
        arrays[i] = c->arrays[i];
        arrays[i].rank = c->kernel->operands[i].rank;
        if (c->kernel->operands[i].global_shape)
            tp_operand_dims(c->kernel, &c->kernel->operands[i], c->env, arrays[i].dims, &why); /* checked before */
    }
    return arrays;
}

tp_status tp_call_run(tp_call *c, uint64_t seed, int64_t max_steps, uint32_t threads, tp_trap *trap,
                      tp_run_stats *stats)
{
    tp_run_request request = {.kernel = c->kernel,
                              .env = c->env,
                              .arrays = in_parts(c),
                              .seed = seed,
                              .in_order = seed == 0,
                              .max_steps = max_steps,
                              .pool = c->pool,
                              .counts = c->counts,
                              .observer = c->observer,
                              .threads = threads ? threads : tp_processors()};
    return tp_machine_run(c->arena, &request, trap, stats);
}
