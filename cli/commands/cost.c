/* What a kernel costs: counted, and as a model on every chip. */
#include <stdio.h>

#include "base/budget.h"
#include "cli/cli.h"
#include "cli/cost.h"
#include "cli/watchdog.h"
#include "reference/reference.h"

typedef struct cost_call {
    tp_cli *c;
    tp_job *j;
    tp_costs costs;
    tp_str text, usage; /* usage: what is wrong with the command line */
    bool json;
    tp_binding *sizes; /* of --size */
    size_t max_memory;
} cost_call;

/* ---- which cases ---- */

_Noreturn static void refuse(cost_call *x, tp_str why)
{
    x->usage = why;
    tp_leave(x->j->arena, TP_E_INPUT);
}

/* Are the dtypes of the combination those of --dtype? */
static bool has_dtypes(cost_call *x, const tp_kernel *k)
{
    for (uint32_t i = 0; i < x->c->dtype.len; i++) {
        tp_str name, value;
        bool known = false, fits = false;
        if (!tp_split_binding(x->c->dtype.at[i], &name, &value))
            refuse(x, TP_S("--dtype takes NAME=DTYPE, e.g. --dtype T=float32"));
        for (uint32_t d = 0; d < k->ndtypes; d++)
            if (tp_str_eq(k->dtypes[d].name, name)) {
                known = true;
                fits = k->dtypes[d].choice == tp_dtype_find(value);
            }
        if (!known)
            refuse(x, tp_printf(x->j->arena, "--dtype: the spec has no dtype parameter `%.*s`", TP_FMT(name)));
        if (!fits)
            return false;
    }
    return true;
}

static int64_t size_given(const cost_call *x, tp_str name)
{
    for (uint32_t i = x->c->size.len; i-- > 0;)
        if (tp_str_eq(x->sizes[i].name, name))
            return x->sizes[i].value;
    return -1;
}

static tp_case case_of_sizes(cost_call *x, const tp_kernel *k)
{
    tp_case one = {.kernel = k, .env = TP_NEWN(x->j->arena, int64_t, tp_sym_count(k->exprs))};
    tp_buf missing = {.arena = x->j->arena};
    tp_str why = {NULL, 0};
    tp_str wrong = tp_option_sizes_wrong(x->c, x->sizes, k);
    if (wrong.n)
        refuse(x, wrong);
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *s = &k->sizes[i];
        if (!tp_is_open_size(s))
            continue;
        one.env[s->sym] = size_given(x, s->name);
        if (one.env[s->sym] < 0)
            tp_buf_printf(&missing, " --size %.*s=VALUE", TP_FMT(s->name));
    }
    if (missing.n)
        refuse(x, tp_printf(x->j->arena, "sizes are missing: give%.*s", TP_FMT(tp_buf_view(&missing))));
    if (!tp_in_domain(k, one.env, &why))
        refuse(x, tp_printf(x->j->arena, "these sizes are outside the domain: %.*s", TP_FMT(why)));
    if (!tp_case_tables(&x->j->ctx, k, &one, NULL))
        refuse(x, TP_S("no contents of the tables were found that satisfy the contracts at these sizes"));
    return one;
}

/* ---- what depends on data ---- */

static bool depends_on_data(const tp_cost_numbers *n)
{
    return !n->flops.known || !n->transcendental.known || !n->bytes_in.known || !n->bytes_out.known;
}

typedef struct trial {
    tp_arena *arena;
    const tp_case *at;
    bool ok;
    tp_run_stats stats;
} trial;

static void execute(void *arg)
{
    enum { MOST_STEPS = 1000000 };
    trial *t = arg;
    const tp_kernel *k = t->at->kernel;
    tp_tensor *arrays = TP_NEWN(t->arena, tp_tensor, k->ninputs + k->noutputs);
    tp_trap trap;
    tp_str why;
    if (!tp_kernel_executable(t->arena, k, &why))
        return;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        if (!tp_operand_dims(k, &k->operands[i], t->at->env, dims, &why))
            return;
        arrays[i] = tp_tensor_new(t->arena, k->operands[i].dtype, k->operands[i].rank, dims);
        const tp_tensor *given = i < k->ninputs && t->at->given ? &t->at->given[tp_array_of(k, i)] : NULL;
        if (given && given->data)
            memcpy(arrays[i].data, given->data, arrays[i].n * tp_dtype_size(arrays[i].dtype));
        else if (i < k->ninputs)
            tp_fill_input(k, t->at->env, i, &arrays[i], TP_INPUT_NORMAL, 0, t->at->seed);
    }
    tp_run_request r = {
        .kernel = k, .env = t->at->env, .arrays = arrays, .in_order = true, .max_steps = MOST_STEPS, .counts = true};
    t->ok = tp_machine_run(t->arena, &r, &trap, &t->stats) == TP_OK;
}

static void take(tp_cost_count *n, int64_t machine)
{
    if (!n->known)
        *n = (tp_cost_count){.known = true, .n = machine};
}

/* The machine counts on the inputs of the case. Products of which the number depends on data stay unknown to the model.
 */
static void count_by_machine(cost_call *x, tp_cost_case *one)
{
    tp_arena *work = tp_arena_child_limited(x->j->arena, x->max_memory);
    trial t = {.arena = work, .at = one->at};
    tp_status st = tp_try(work, execute, &t);
    if (st == TP_OK && t.ok) {
        tp_cost_numbers *n = &one->numbers;
        one->executed = true;
        take(&n->flops, t.stats.flops);
        take(&n->dot_flops, t.stats.dot_flops);
        take(&n->transcendental, t.stats.transcendental);
        if (one->at->kernel->target.mxu)
            take(&n->mxu_flops, t.stats.mxu_flops);
        for (uint32_t i = 0; i < n->noperands; i++) {
            const tp_traffic *m = &t.stats.moved[i];
            tp_cost_put_moved(n, i, m->fetches, m->fetched, m->writes, m->written);
        }
    }
    tp_arena_free(work);
    if (st == TP_E_BUDGET)
        tp_leave(x->j->arena, st);
}

/* ---- all of it ---- */

static tp_cost_kernel *kernel_of(cost_call *x, const tp_kernel *k)
{
    for (uint32_t i = 0; i < x->costs.kernels.len; i++)
        if (x->costs.kernels.at[i].kernel == k)
            return &x->costs.kernels.at[i];
    tp_cost_kernel new = {.kernel = k, .cost = tp_cost_new(x->j->arena, k)};
    tp_push(x->j->arena, x->costs.kernels, new);
    return &x->costs.kernels.at[x->costs.kernels.len - 1];
}

static tp_cost_count count_unfused(cost_call *x, tp_cost_kernel *k, const tp_case *at)
{
    tp_str why = {NULL, 0};
    const tp_program *p = tp_reference_program(x->j->arena, at->kernel, &why);
    if (!p)
        return (tp_cost_count){.why = why.n ? why : TP_S("the spec has no reference")};
    return tp_cost_unfused(k->cost, x->j->arena, p, at->env);
}

static void count(cost_call *x, const tp_case *at)
{
    size_t n;
    const tp_target *targets = tp_targets(&n);
    tp_cost_kernel *k = kernel_of(x, at->kernel);
    tp_cost_case one = {.at = at, .text = tp_case_text(x->j->arena, at), .tables = at->kernel->ntables && !at->tables};
    one.numbers = tp_cost_at(k->cost, x->j->arena, &(tp_cost_request){.env = at->env});
    one.unfused = count_unfused(x, k, at);
    if (depends_on_data(&one.numbers) && at->listed)
        count_by_machine(x, &one);
    for (size_t t = 0; t < n && t < TP_COST_TARGETS; t++)
        one.models[t] = tp_cost_on(k->cost, &one.numbers, &targets[t]);
    tp_push(x->j->arena, k->cases, one);
}

static void work(void *arg)
{
    cost_call *x = arg;
    const tp_spec *s = x->j->report.spec;
    tp_cases cases = {0};
    x->costs = (tp_costs){.arena = x->j->arena, .path = x->j->source.path, .name = s->name};
    if (!x->c->size.len)
        cases = tp_cases_read(&x->j->ctx, s, 1);
    for (uint32_t i = 0; x->c->size.len && i < s->nkernels; i++) {
        tp_case one = case_of_sizes(x, s->kernels[i]);
        tp_push(x->j->arena, cases, one);
    }
    for (uint32_t i = 0; i < cases.len; i++)
        if (has_dtypes(x, cases.at[i].kernel))
            count(x, &cases.at[i]);
    if (!x->costs.kernels.len)
        refuse(x, TP_S("no combination of dtypes is left: --dtype names one that the spec does not have"));
    x->text = x->json ? tp_cost_json(&x->costs) : tp_cost_text(&x->costs);
}

static int finish(cost_call *x, tp_status st)
{
    tp_str path = x->j->source.path;
    if (st == TP_OK) {
        fwrite(x->text.p, 1, x->text.n, stdout);
        return TP_EXIT_OK;
    }
    if (x->usage.n)
        return tp_usage_error("%.*s: %.*s", TP_FMT(path), TP_FMT(x->usage));
    if (st == TP_E_INPUT) {
        x->j->report.findings = x->j->ctx.findings;
        x->j->report.valid = false;
        return tp_job_exit_code(x->c, x->j, TP_UNKNOWN_WARN);
    }
    tp_say(stderr, "tileproof: %.*s: %.*s", TP_FMT(path), TP_FMT(tp_budget_or(x->c->arena, TP_S("memory ran out"))));
    return st == TP_E_BUDGET ? TP_EXIT_UNKNOWN : TP_EXIT_INTERNAL;
}

static bool read_options(tp_cli *c, cost_call *x, tp_check_settings *s)
{
    tp_str format = tp_option(&c->costs, "full");
    x->json = tp_str_is(format, "json");
    if (!x->json && !tp_str_is(format, "full")) {
        tp_usage_error("--format: cost has no format `%.*s`; it has full and json", TP_FMT(format));
        return false;
    }
    tp_check_defaults(s, false);
    x->max_memory = s->max_memory;
    x->sizes = TP_NEWN(c->arena, tp_binding, c->size.len);
    return tp_option_sizes(c, INT64_MAX, x->sizes) && tp_use_budget(c, s) && tp_use_target(c, &s->target);
}

static int run(tp_cli *c)
{
    tp_strings files = {0};
    tp_job j = {0};
    cost_call x = {.c = c, .j = &j};
    tp_check_settings s;
    tp_watched_thread watched = tp_watched_here();
    tp_watchdog guard;
    if (!read_options(c, &x, &s) || !tp_expand_paths(c, &files))
        return TP_EXIT_USAGE;
    if (files.len != 1)
        return tp_usage_error("cost takes one spec, not %u", files.len);
    tp_progress progress = {.shown = false};
    tp_watchdog_start(&guard, &watched, 1, s.timeout, &progress);
    tp_watched_begin(&watched, &files.at[0]);
    tp_job_load(c, &j, files.at[0], &s);
    int code = tp_job_exit_code(c, &j, TP_UNKNOWN_WARN);
    if (code == TP_EXIT_OK)
        code = finish(&x, tp_try(j.arena, work, &x));
    tp_watchdog_stop(&guard);
    tp_job_free(&j);
    return code;
}

const tp_command tp_command_cost = {
    "cost", 'o', "[OPTIONS] SPEC", "count traffic, operations and memory of a kernel, and model its time on every chip",
    run};
