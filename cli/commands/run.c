/* Execute a kernel on the user's arrays: by its receipt, or verified first. */
#include <stdio.h>

#include "base/budget.h"
#include "base/clock.h"
#include "cli/profile.h"
#include "cli/receipt.h"
#include "cli/show.h"
#include "cli/trace.h"
#include "cli/watchdog.h"
#include "kernels/call.h"
#include "kernels/trial/equiv.h"

typedef struct run_call {
    tp_cli *c;
    tp_job *j;
    tp_arena *arena;     /* of the arrays: --max-memory */
    tp_check_settings s; /* by which it is read and verified; their budget holds once for that, and once for the run */
    tp_watched_thread watched;
    int64_t seed, threads;
    tp_input_family family; /* of --fill */
    tp_str standing;        /* by what right it runs */
    tp_draft *drafts;       /* per operand: a large output, filled where it lies */
    uint32_t ndrafts;
    int code;
} run_call;

/* Message on stderr with the spec's name; sets the exit code and leaves. */
_Noreturn static void fail(run_call *r, int code, tp_str message)
{
    tp_say(stderr, "tileproof: %.*s: %.*s", TP_FMT(r->j->source.path), TP_FMT(message));
    r->code = code;
    tp_leave(r->arena, TP_E_INPUT);
}

/* FILE of FILE#TENSOR. */
static tp_str file_of(tp_str path)
{
    const char *tensor = memchr(path.p, '#', path.n);
    return tensor ? (tp_str){path.p, (size_t)(tensor - path.p)} : path;
}

static tp_str path_of(const tp_strings *list, tp_str operand)
{
    for (uint32_t i = list->len; i-- > 0;) {
        tp_str name, value;
        if (tp_split_binding(list->at[i], &name, &value) && tp_str_eq(name, operand))
            return value;
    }
    return (tp_str){NULL, 0};
}

static bool takes_table(const tp_kernel *k, tp_str name)
{
    int table = tp_table_find(k, name);
    return table >= 0 && !k->tables[table].prepared;
}

static void check_names(run_call *r, const tp_strings *list, const char *option, tp_role role)
{
    for (uint32_t i = 0; i < list->len; i++) {
        tp_str name, value;
        if (!tp_split_binding(list->at[i], &name, &value))
            fail(r, TP_EXIT_USAGE,
                 tp_printf(r->arena, "--%s takes NAME=FILE, not `%.*s`", option, TP_FMT(list->at[i])));
        const tp_kernel *k = r->j->report.spec->kernels[0];
        int o = tp_operand_find(k, name);
        if (o >= 0 && role == TP_INPUT && k->operands[o].array >= 0)
            fail(r, TP_EXIT_USAGE,
                 tp_printf(r->arena, "--%s: the array of `%.*s` is given as `%.*s`", option, TP_FMT(name),
                           TP_FMT(tp_array_name(k, (uint32_t)o))));
        bool input = o >= 0 && role == TP_OUTPUT && k->operands[o].role == TP_INPUT && r->c->fill.len;
        if ((o >= 0 && k->operands[o].role == role) || input || (role == TP_INPUT && takes_table(k, name)))
            continue;
        tp_buf names = {.arena = r->arena};
        for (uint32_t n = 0; n < tp_noperands(k); n++)
            if (k->operands[n].role == role && k->operands[n].array < 0)
                tp_buf_printf(&names, " %.*s", TP_FMT(k->operands[n].name));
        for (uint32_t n = 0; n < k->ntables && role == TP_INPUT; n++)
            if (!k->tables[n].prepared)
                tp_buf_printf(&names, " %.*s", TP_FMT(k->tables[n].name));
        fail(r, TP_EXIT_USAGE,
             tp_printf(r->arena, "--%s: the kernel has no %s `%.*s`; it has%.*s", option, option, TP_FMT(name),
                       TP_FMT(tp_buf_view(&names))));
    }
}

/* tp_call.fetch: from the files of --input. */
static tp_status fetch(void *ctx, tp_str name, tp_dtype wanted, tp_tensor *out, tp_str *why)
{
    run_call *r = ctx;
    tp_str path = path_of(&r->c->input, name), reason = {NULL, 0};
    if (!path.n) {
        *why =
            tp_printf(r->arena, "the array for `%.*s` is missing: --input %.*s=FILE.npy", TP_FMT(name), TP_FMT(name));
        return TP_E_USAGE;
    }
    if (tp_tensor_read(r->arena, path, wanted, out, &reason) == TP_OK)
        return TP_OK;
    *why = tp_printf(r->arena, "cannot read `%.*s` for `%.*s`: %.*s", TP_FMT(path), TP_FMT(name), TP_FMT(reason));
    return TP_E_INPUT;
}

static void read_given(run_call *r, tp_call *call)
{
    tp_binding *sizes = TP_NEWN(r->arena, tp_binding, r->c->size.len);
    tp_dtype_param *dtypes = TP_NEWN(r->arena, tp_dtype_param, r->c->dtype.len);
    if (!tp_option_sizes(r->c, INT64_MAX, sizes)) {
        r->code = TP_EXIT_USAGE;
        tp_leave(r->arena, TP_E_INPUT);
    }
    for (uint32_t i = 0; i < r->c->dtype.len; i++) {
        tp_str value;
        if (!tp_split_binding(r->c->dtype.at[i], &dtypes[i].name, &value))
            fail(r, TP_EXIT_USAGE, TP_S("--dtype takes NAME=DTYPE, e.g. --dtype T=float32"));
        dtypes[i].choice = tp_dtype_find(value);
    }
    call->sizes = sizes;
    call->nsizes = r->c->size.len;
    call->dtypes = dtypes;
    call->ndtypes = r->c->dtype.len;
}

static void print_trap(run_call *r, const tp_trap *t)
{
    tp_buf at = {.arena = r->arena};
    for (uint32_t i = 0; i < t->coordinates.len; i++)
        tp_buf_printf(&at, "%s%.*s=%lld", i ? ", " : " at step ", TP_FMT(t->coordinates.at[i].name),
                      (long long)t->coordinates.at[i].value);
    tp_say(stderr, "trap[%s]: %.*s", t->rule, TP_FMT(t->message));
    tp_linecol lc = tp_linecol_of(&r->j->source, t->loc.start);
    if (t->loc.end)
        tp_say(stderr, "  --> %.*s:%u:%u%.*s", TP_FMT(tp_source_path(&r->j->source, t->loc.start)), lc.line, lc.column,
               TP_FMT(tp_buf_view(&at)));
    else
        tp_say(stderr, "  --> %.*s%.*s", TP_FMT(r->j->source.path), TP_FMT(tp_buf_view(&at)));
    if (t->statement.n)
        tp_say(stderr, "  in: %.*s", TP_FMT(t->statement));
    tp_say(stderr, "no output was written; `tileproof verify` finds a smaller case");
}

/* tp_call.place: a large output that goes to a file has no memory until draft_outputs(). */
static void *place(void *ctx, tp_str name, const tp_tensor *shape)
{
    enum { LARGE = 64 << 20 };
    run_call *r = ctx;
    bool large = shape->n * tp_dtype_size(shape->dtype) >= LARGE;
    return large && path_of(&r->c->output, name).n ? r : NULL;
}

/* The system may write what lies in a file to disk and take its memory. */
static void draft_outputs(run_call *r, tp_call *call)
{
    const tp_kernel *k = call->kernel;
    tp_str why = {NULL, 0};
    r->ndrafts = k->ninputs + k->noutputs;
    r->drafts = TP_NEWN(r->arena, tp_draft, r->ndrafts);
    for (uint32_t i = 0; i < r->ndrafts; i++) {
        tp_tensor *t = &call->arrays[i];
        tp_str name = k->operands[i].name;
        if (t->data != r)
            continue;
        if (tp_tensor_draft(r->arena, path_of(&r->c->output, name), name, t, &r->drafts[i], &why) != TP_OK)
            fail(r, TP_EXIT_INPUT, why);
        if (!r->drafts[i].at)
            *t = tp_tensor_new(r->arena, t->dtype, t->rank, t->dims);
    }
}

static void write_array(run_call *r, const tp_call *call, uint32_t i)
{
    tp_str name = call->kernel->operands[i].name, path = path_of(&r->c->output, name), why = {NULL, 0};
    if (!path.n)
        return;
    tp_status st = r->drafts[i].at ? tp_draft_publish(r->arena, &r->drafts[i], &why)
                                   : tp_tensor_write(r->arena, path, name, &call->arrays[i], &why);
    if (st != TP_OK)
        fail(r, TP_EXIT_INPUT, why);
}

/* With --fill inputs are written, too; also those that a run traps on. */
static void write_inputs(run_call *r, const tp_call *call)
{
    for (uint32_t i = 0; r->c->fill.len && i < call->kernel->ninputs; i++)
        write_array(r, call, i);
}

static void print_run(run_call *r, const tp_call *call, const tp_run_stats *stats)
{
    const tp_kernel *k = call->kernel;
    tp_case c = {.kernel = k, .env = call->env};
    tp_say(stdout, "%.*s: %.*s", TP_FMT(k->name), TP_FMT(r->standing));
    tp_say(stdout, "%.*s: %lld steps, engine checked, %.*s", TP_FMT(k->name), (long long)stats->steps,
           TP_FMT(tp_case_text(r->arena, &c)));
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        tp_str name = k->operands[i].name, path = path_of(&r->c->output, name),
               text = tp_tensor_text(r->arena, &call->arrays[i]);
        if (path.n)
            tp_say(stdout, "  %.*s  %.*s -> %.*s", TP_FMT(name), TP_FMT(text), TP_FMT(path));
        else if (i >= k->ninputs)
            tp_say(stdout, "  %.*s  %.*s (not written: no --output %.*s=FILE)", TP_FMT(name), TP_FMT(text),
                   TP_FMT(name));
    }
}

/* What was shown, and which tiers were not conclusive. */
static tp_str with_open(run_call *r, tp_str shown, tp_str open)
{
    return open.n ? tp_printf(r->c->arena, "%.*s; inconclusive: %.*s", TP_FMT(shown),
                              TP_FMT(tp_visible(r->c->arena, open)))
                  : shown;
}

/* As `verify` does it; an exit code, not 0 after a report. */
static int verify_first(run_call *r)
{
    tp_job j;
    tp_solver *solver = tp_solver_new(r->c->arena);
    tp_watched_begin(&r->watched, &r->j->source.path);
    tp_check_anew(&j, r->c->arena, r->j->source, &r->s, solver);
    tp_solver_free(solver);
    int code = tp_job_exit_code(r->c, &j, TP_UNKNOWN_FAIL);
    tp_counts n = tp_count(&j.report);
    r->standing = tp_printf(r->c->arena, "verified first: %u proven, %u cases tested", n.proven, n.tested);
    if (n.suppressed)
        r->standing = tp_printf(r->c->arena, "%.*s; %u not proven, but suppressed", TP_FMT(r->standing), n.suppressed);
    if (j.report.equiv)
        r->standing = with_open(r, r->standing, tp_tiers_open_text(j.arena, j.report.equiv));
    if (code != TP_EXIT_OK)
        tp_say(stderr, "tileproof: not run, because it is not verified; --unchecked runs it anyway");
    tp_job_free(&j);
    return code;
}

/* By what right does it run? An exit code, not 0 after a message. */
static int establish(run_call *r)
{
    tp_receipt receipt;
    tp_str by;
    r->standing = TP_S("not verified (--unchecked)");
    if (r->c->unchecked.len)
        return TP_EXIT_OK;
    if (!r->c->receipt.len)
        return verify_first(r);
    int code = tp_receipt_accept(r->c, tp_cstr(r->c->arena, tp_option(&r->c->receipt, "")), r->j, &receipt, &by);
    if (code == TP_EXIT_OK)
        r->standing = with_open(
            r,
            tp_printf(r->c->arena, "by its receipt%s%.*s: %lld proven, %lld cases tested%s%.*s",
                      by.n ? ", signed by " : "", TP_FMT(by), (long long)receipt.proven, (long long)receipt.cases,
                      receipt.suppressed.n ? "; not proven, but suppressed: " : "", TP_FMT(receipt.suppressed)),
            receipt.inconclusive);
    return code;
}

/* Also of a run that ended in a trap. */
static void tell_observed(run_call *r, const tp_call *call, tp_trace *t, tp_show *shown, const tp_trap *trap)
{
    tp_case at = {.kernel = call->kernel, .env = call->env};
    tp_str why = {NULL, 0};
    if (shown)
        tp_show_close(shown);
    if (!t)
        return;
    tp_trace_close(t, trap);
    if (r->c->trace_text.len)
        tp_trace_print(t, stdout);
    if (r->c->trace.len && !tp_trace_write(r->c, t, tp_case_text(r->arena, &at), &why))
        fail(r, TP_EXIT_INPUT, why);
}

static tp_show *show_new(run_call *r, const tp_kernel *k)
{
    tp_show *s = tp_show_new(r->c, &r->j->source, k, stdout);
    if (!s) {
        r->code = TP_EXIT_USAGE;
        tp_leave(r->arena, TP_E_INPUT);
    }
    return s;
}

/* Before the kernel is verified and executed. */
static void refuse_unwritable(run_call *r)
{
    tp_cli *c = r->c;
    tp_str name, file;
    bool ok = true;
    for (uint32_t i = 0; i < c->output.len && ok; i++)
        ok = !tp_split_binding(c->output.at[i], &name, &file) || tp_can_write(c, "output", file_of(file));
    ok = ok && (!c->profile.len || tp_can_write(c, "profile", tp_option(&c->profile, "")));
    ok = ok && (!c->trace.len || tp_can_write(c, "trace", tp_option(&c->trace, "")));
    if (!ok) {
        r->code = TP_EXIT_INPUT;
        tp_leave(r->arena, TP_E_INPUT);
    }
}

/* Seconds since then, which becomes now. */
static double since(double *then)
{
    double was = *then;
    *then = tp_wall_seconds();
    return *then - was;
}

static void execute(void *arg)
{
    run_call *r = arg;
    tp_call call = {.arena = r->arena,
                    .spec = r->j->report.spec,
                    .fetch = fetch,
                    .place = place,
                    .ctx = r,
                    .fills = r->c->fill.len > 0,
                    .family = (int)r->family,
                    .seed = (uint64_t)r->seed};
    tp_trap trap;
    tp_run_stats stats;
    tp_profile profile = {.call = &call, .stats = &stats};
    double start = tp_wall_seconds();
    call.counts = r->c->profile.len > 0;
    check_names(r, &r->c->input, "input", TP_INPUT);
    check_names(r, &r->c->output, "output", TP_OUTPUT);
    read_given(r, &call);
    tp_status st = tp_call_bind(&call);
    if (call.undetermined.n)
        call.why = tp_printf(r->arena, "%.*s: give --size %.*s=VALUE", TP_FMT(call.why), TP_FMT(call.undetermined));
    if (st == TP_E_BUDGET)
        tp_leave(r->arena, st);
    if (st != TP_OK)
        fail(r, st == TP_E_USAGE ? TP_EXIT_USAGE : TP_EXIT_INPUT, call.why);
    profile.read = since(&start);
    refuse_unwritable(r);
    r->code = establish(r);
    if (r->code)
        return;
    profile.verify = since(&start);
    tp_watched_begin(&r->watched, &r->j->source.path);
    tp_budget_renew(tp_arena_budget(r->arena));
    tp_budget_at(tp_arena_budget(r->arena), "the run", TP_S(""));
    draft_outputs(r, &call);
    write_inputs(r, &call);
    tp_trace *trace = r->c->trace.len || r->c->trace_text.len
                          ? tp_trace_new(r->c->arena, &r->j->source, call.kernel, call.env)
                          : NULL;
    tp_show *shown = r->c->show.len ? show_new(r, call.kernel) : NULL;
    call.observer = trace ? tp_trace_observer(trace) : shown ? tp_show_observer(shown) : NULL;
    st = tp_call_run(&call, (uint64_t)r->seed, r->s.equiv.max_steps, (uint32_t)r->threads, &trap, &stats);
    if (st == TP_E_LIMIT)
        fail(r, TP_EXIT_INPUT, trap.message);
    if (st != TP_OK && st != TP_E_TRAP)
        tp_leave(r->arena, st);
    if (st == TP_E_TRAP) {
        print_trap(r, &trap);
        r->code = TP_EXIT_VIOLATED;
        tell_observed(r, &call, trace, shown, &trap);
        return;
    }
    since(&start);
    for (uint32_t i = call.kernel->ninputs; i < call.kernel->ninputs + call.kernel->noutputs; i++)
        write_array(r, &call, i);
    profile.write = since(&start);
    profile.standing = r->standing;
    tp_str why = {NULL, 0};
    if (r->c->profile.len && !tp_profile_write(r->c, &profile, &why))
        fail(r, TP_EXIT_INPUT, why);
    if (!r->c->quiet.len)
        print_run(r, &call, &stats);
    tell_observed(r, &call, trace, shown, NULL);
}

/* No output over the spec, its receipt or an input. */
static bool spares_its_inputs(tp_cli *c, tp_str spec)
{
    tp_run_files g = {0};
    bool ok = true;
    tp_str name, file;
    tp_guard_reads(c, &g, spec);
    tp_guard_reads(c, &g, tp_option(&c->receipt, ""));
    tp_guard_reads(c, &g, tp_option(&c->trust, ""));
    for (uint32_t i = 0; i < c->input.len; i++)
        if (tp_split_binding(c->input.at[i], &name, &file))
            tp_guard_reads(c, &g, file_of(file));
    for (uint32_t i = 0; i < c->output.len && ok; i++)
        if (tp_split_binding(c->output.at[i], &name, &file))
            ok = tp_guard_writes(c, &g, "output", file_of(file));
    if (ok && c->profile.len)
        ok = tp_guard_writes(c, &g, "profile", tp_option(&c->profile, ""));
    if (ok && c->trace.len)
        ok = tp_guard_writes(c, &g, "trace", tp_option(&c->trace, ""));
    return ok;
}

static int no_family(tp_str name)
{
    char names[256];
    int n = 0;
    for (int f = 0; f < TP_INPUT_FAMILIES; f++)
        n += snprintf(names + n, sizeof names - (size_t)n, "%s%s", f ? ", " : "", tp_input_name((tp_input_family)f));
    return tp_usage_error("there is no family of inputs `%.*s`; there are %s", TP_FMT(name), names);
}

/* The numbers among the options, as verify_first() and the run want them. */
static bool read_limits(tp_cli *c, run_call *r)
{
    int64_t memory;
    tp_check_defaults(&r->s, true);
    if (!tp_option_number(&c->max_memory, "max-memory", 1, 1 << 20, 2048, &memory) ||
        !tp_option_number(&c->seed, "seed", 0, INT64_MAX, 0, &r->seed) ||
        !tp_option_number(&c->threads, "threads", 0, 256, 0, &r->threads) ||
        !tp_option_number(&c->max_steps, "max-steps", 1, INT64_MAX, TP_MAX_STEPS, &r->s.equiv.max_steps) ||
        !tp_use_budget(c, &r->s) || !tp_use_target(c, &r->s.target))
        return false;
    r->s.max_memory = r->s.equiv.max_memory = (size_t)memory << 20;
    r->s.equiv.seed = (uint64_t)r->seed;
    r->s.read_from = c->allow_path.at;
    r->s.nread_from = c->allow_path.len;
    return true;
}

/* After the spec is read; sets the exit code. */
static void run_loaded(run_call *r)
{
    tp_budget b;
    if (!(r->arena = tp_arena_new(r->s.max_memory)))
        tp_leave(r->c->arena, TP_E_MEMORY);
    tp_budget_begin(&b, r->s.timeout, r->s.memory_mib);
    tp_arena_set_budget(r->arena, &b);
    tp_budget_at(&b, "its arrays", TP_S(""));
    tp_status st = tp_try(r->arena, execute, r);
    for (uint32_t i = 0; i < r->ndrafts; i++)
        tp_draft_drop(&r->drafts[i]);
    if (st == TP_E_BUDGET) {
        tp_say(stderr, "tileproof: %.*s: stopped, and no output was written: %.*s", TP_FMT(r->j->source.path),
               TP_FMT(tp_budget_reason(r->c->arena, &b)));
        r->code = TP_EXIT_UNKNOWN;
    } else if (st == TP_E_MEMORY && tp_arena_refusal(r->arena) == TP_REFUSED_BY_SYSTEM) {
        tp_say(stderr, "tileproof: %.*s: the system gave no more memory for the arrays", TP_FMT(r->j->source.path));
        r->code = TP_EXIT_INTERNAL;
    } else if (st == TP_E_MEMORY) {
        tp_say(stderr, "tileproof: %.*s: the arrays need more than the %zu MiB of --max-memory",
               TP_FMT(r->j->source.path), r->s.max_memory >> 20);
        r->code = TP_EXIT_INPUT;
    }
    tp_arena_free(r->arena);
}

static int run(tp_cli *c)
{
    tp_strings files = {0};
    tp_job j = {0};
    run_call r = {.c = c, .j = &j, .watched = tp_watched_here()};
    tp_watchdog guard;
    if (!tp_expand_paths(c, &files))
        return TP_EXIT_USAGE;
    if (files.len != 1)
        return tp_usage_error("run takes one spec, not %u", files.len);
    if (!spares_its_inputs(c, files.at[0]))
        return TP_EXIT_USAGE;
    if (c->receipt.len && c->unchecked.len)
        return tp_usage_error("--receipt or --unchecked, not both");
    if (c->trust.len && c->unchecked.len)
        return tp_usage_error("--trust or --unchecked, not both");
    if (c->show.len && (c->trace.len || c->trace_text.len))
        return tp_usage_error("--show or --trace, not both: one of them would time the other");
    if (c->at.len && !c->show.len)
        return tp_usage_error("--at says which steps --show shows: give --show NAMES");
    if (c->fill.len && !tp_input_find(tp_option(&c->fill, ""), &r.family))
        return no_family(tp_option(&c->fill, ""));
    if (!read_limits(c, &r))
        return TP_EXIT_USAGE;
    tp_progress progress = {.shown = tp_progress_wanted(c)};
    tp_watchdog_start(&guard, &r.watched, 1, r.s.timeout, &progress);
    tp_watched_begin(&r.watched, &files.at[0]);
    tp_job_load(c, &j, files.at[0], &r.s);
    r.code = tp_job_exit_code(c, &j, TP_UNKNOWN_WARN);
    if (r.code == TP_EXIT_OK)
        run_loaded(&r);
    tp_watchdog_stop(&guard);
    tp_job_free(&j);
    return r.code;
}

const tp_command tp_command_run = {"run", 'r', "[OPTIONS] SPEC --input NAME=FILE … --output NAME=FILE …",
                                   "execute a verified kernel on your arrays, every access checked", run};
