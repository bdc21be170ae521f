/* Execute a kernel on the user's arrays. */
#include <stdio.h>

#include "base/checked.h"
#include "cli/cli.h"
#include "spec/table.h"

typedef struct run_call {
    tp_cli *c;
    tp_job *j;
    tp_arena *arena; /* of the arrays: --max-memory */
    const tp_kernel *k;
    tp_tensor *arrays, *tables;
    int64_t *env;
    bool *known; /* per size */
    int code;
} run_call;

/* Message on stderr with the spec's name; sets the exit code and leaves. */
_Noreturn static void fail(run_call *r, int code, tp_str message)
{
    fprintf(stderr, "tileproof: %.*s: %.*s\n", TP_FMT(r->j->source.path), TP_FMT(message));
    r->code = code;
    tp_leave(r->arena, TP_E_INPUT);
}

/* NAME=VALUE */
static bool split(tp_str s, tp_str *name, tp_str *value)
{
    const char *equals = memchr(s.p, '=', s.n);
    if (!equals)
        return false;
    *name = (tp_str){s.p, (size_t)(equals - s.p)};
    *value = (tp_str){equals + 1, s.n - name->n - 1};
    return name->n && value->n;
}

static tp_str path_of(const tp_strings *list, tp_str operand)
{
    for (uint32_t i = list->len; i-- > 0;) {
        tp_str name, value;
        if (split(list->at[i], &name, &value) && tp_str_eq(name, operand))
            return value;
    }
    return (tp_str){NULL, 0};
}

static void check_names(run_call *r, const tp_strings *list, const char *option, tp_role role)
{
    for (uint32_t i = 0; i < list->len; i++) {
        tp_str name, value;
        if (!split(list->at[i], &name, &value))
            fail(r, TP_EXIT_USAGE,
                 tp_printf(r->arena, "--%s takes NAME=FILE, not `%.*s`", option, TP_FMT(list->at[i])));
        const tp_kernel *k = r->j->report.spec->kernels[0];
        int o = tp_operand_find(k, name);
        if ((o >= 0 && k->operands[o].role == role) || (role == TP_INPUT && tp_table_find(k, name) >= 0))
            continue;
        tp_buf names = {.arena = r->arena};
        for (uint32_t n = 0; n < tp_noperands(k); n++)
            if (k->operands[n].role == role)
                tp_buf_printf(&names, " %.*s", TP_FMT(k->operands[n].name));
        for (uint32_t n = 0; n < k->ntables && role == TP_INPUT; n++)
            tp_buf_printf(&names, " %.*s", TP_FMT(k->tables[n].name));
        fail(r, TP_EXIT_USAGE,
             tp_printf(r->arena, "--%s: the kernel has no %s `%.*s`; it has%.*s", option, option, TP_FMT(name),
                       TP_FMT(tp_buf_view(&names))));
    }
}

static bool has_dtypes(run_call *r, const tp_kernel *k)
{
    for (uint32_t i = 0; i < r->c->dtype.len; i++) {
        tp_str name, value;
        bool fits = false;
        if (!split(r->c->dtype.at[i], &name, &value))
            fail(r, TP_EXIT_USAGE, TP_S("--dtype takes NAME=DTYPE, e.g. --dtype T=float32"));
        for (uint32_t p = 0; p < k->ndtypes; p++)
            fits |= tp_str_eq(k->dtypes[p].name, name) && tp_dtype_find(value) == k->dtypes[p].choice;
        if (!fits)
            return false;
    }
    return true;
}

/* Read the inputs as kernel k wants them; the number that fit, and why the
 * next one does not. */
static uint32_t read_inputs(run_call *r, const tp_kernel *k, tp_str *problem)
{
    for (uint32_t i = 0; i < k->ninputs; i++) {
        const tp_operand *o = &k->operands[i];
        tp_str path = path_of(&r->c->input, o->name), why = {NULL, 0};
        if (!path.n)
            fail(r, TP_EXIT_USAGE,
                 tp_printf(r->arena, "input `%.*s` is missing: --input %.*s=FILE.npy", TP_FMT(o->name),
                           TP_FMT(o->name)));
        if (tp_tensor_read(r->arena, path, o->dtype, &r->arrays[i], &why) != TP_OK) {
            *problem = tp_printf(r->arena, "cannot read `%.*s` for input `%.*s`: %.*s", TP_FMT(path), TP_FMT(o->name),
                                 TP_FMT(why));
            return i;
        }
        if (r->arrays[i].dtype != o->dtype) {
            *problem = tp_printf(r->arena, "input `%.*s` is %s in the spec, `%.*s` holds %s", TP_FMT(o->name),
                                 tp_dtype_info(o->dtype)->name, TP_FMT(path), tp_dtype_info(r->arrays[i].dtype)->name);
            return i;
        }
    }
    return k->ninputs;
}

static void read_table_files(run_call *r)
{
    for (uint32_t i = 0; i < r->k->ntables; i++) {
        const tp_table *t = &r->k->tables[i];
        tp_str path = path_of(&r->c->input, t->name), why = {NULL, 0};
        if (!path.n)
            fail(r, TP_EXIT_USAGE,
                 tp_printf(r->arena, "table `%.*s` is missing: --input %.*s=FILE.npy", TP_FMT(t->name),
                           TP_FMT(t->name)));
        if (tp_tensor_read(r->arena, path, t->dtype, &r->tables[i], &why) != TP_OK)
            fail(r, TP_EXIT_INPUT,
                 tp_printf(r->arena, "cannot read `%.*s` for table `%.*s`: %.*s", TP_FMT(path), TP_FMT(t->name),
                           TP_FMT(why)));
        if (tp_is_float(r->tables[i].dtype) || r->tables[i].rank != t->rank)
            fail(r, TP_EXIT_INPUT,
                 tp_printf(r->arena, "table `%.*s` is %s of rank %u in the spec, `%.*s` holds %.*s", TP_FMT(t->name),
                           tp_dtype_info(t->dtype)->name, t->rank, TP_FMT(path),
                           TP_FMT(tp_tensor_text(r->arena, &r->tables[i]))));
    }
}

/* Bind what was read, and check the contracts. */
static void bind_tables(run_call *r)
{
    const tp_kernel *k = r->k;
    tp_str why = {NULL, 0};
    if (!tp_tables_new(r->arena, k, r->env, &why))
        fail(r, TP_EXIT_INPUT, why);
    for (uint32_t i = 0; i < k->ntables; i++) {
        const tp_table_data *d = tp_bound_table(r->env, k->tables[i].sym);
        for (uint32_t x = 0; x < d->rank; x++)
            if (d->dims[x] != r->tables[i].dims[x])
                fail(r, TP_EXIT_INPUT,
                     tp_printf(r->arena,
                               "dimension %u of table `%.*s` is %lld in its array, but %lld by the other sizes", x,
                               TP_FMT(k->tables[i].name), (long long)r->tables[i].dims[x], (long long)d->dims[x]));
        for (size_t n = 0; n < r->tables[i].n; n++)
            d->at[n] = tp_get_i64(r->tables[i].dtype, r->tables[i].data, n);
    }
    if (!tp_tables_hold(r->arena, k, r->env, &why))
        fail(r, TP_EXIT_INPUT, why);
}

/* The first dtype combination that fits --dtype and the arrays; else the
 * problem of the one that came furthest. */
static void choose_kernel(run_call *r)
{
    const tp_spec *s = r->j->report.spec;
    tp_str problem = TP_S("no combination of dtype choices fits --dtype");
    uint32_t furthest = 0;
    bool tried = false;
    for (uint32_t c = 0; c < s->nkernels && !r->k; c++) {
        if (!has_dtypes(r, s->kernels[c]))
            continue;
        tp_str why;
        uint32_t fitting = read_inputs(r, s->kernels[c], &why);
        if (fitting == s->kernels[c]->ninputs)
            r->k = s->kernels[c];
        else if (!tried || fitting > furthest) {
            problem = why;
            furthest = fitting;
        }
        tried = true;
    }
    if (!r->k)
        fail(r, TP_EXIT_INPUT, problem);
}

static void read_given_sizes(run_call *r)
{
    for (uint32_t i = 0; i < r->c->size.len; i++) {
        tp_str name, value;
        int64_t v;
        tp_strings one = {.at = &value, .len = 1};
        if (!split(r->c->size.at[i], &name, &value))
            fail(r, TP_EXIT_USAGE, TP_S("--size takes NAME=VALUE, e.g. --size M=300"));
        const tp_size *s = tp_size_find(r->k, name);
        if (!s || s->kind == TP_SIZE_DERIVED)
            fail(r, TP_EXIT_USAGE,
                 tp_printf(r->arena, "--size: %s `%.*s`", s ? "derived from other sizes:" : "there is no size",
                           TP_FMT(name)));
        if (!tp_option_number(&one, "size", 0, INT64_MAX, 0, &v)) {
            r->code = TP_EXIT_USAGE;
            tp_leave(r->arena, TP_E_INPUT);
        }
        if (s->kind == TP_SIZE_FIXED && s->min != v)
            fail(r, TP_EXIT_INPUT,
                 tp_printf(r->arena, "size `%.*s` is fixed at %lld", TP_FMT(name), (long long)s->min));
        if (s->kind != TP_SIZE_FIXED)
            r->env[s->sym] = v;
        r->known[s - r->k->sizes] = true;
    }
}

/* The only unknown size that e mentions, or -1. */
static int only_unknown(run_call *r, tp_expr e)
{
    int found = -1;
    for (uint32_t i = 0; i < r->k->nsizes; i++) {
        const tp_size *s = &r->k->sizes[i];
        if ((s->kind != TP_SIZE_RANGE && s->kind != TP_SIZE_CHOICE) || r->known[i] ||
            !tp_expr_mentions(r->k->exprs, e, s->sym))
            continue;
        if (found >= 0)
            return -1;
        found = (int)i;
    }
    return found;
}

/* Solve e(s) == value for a dimension that is linear in s. */
static bool solve(run_call *r, tp_expr e, int size, int64_t value)
{
    uint32_t sym = r->k->sizes[size].sym;
    int64_t at0, at1, slope, rest;
    r->env[sym] = 0;
    if (tp_expr_eval(r->k->exprs, e, r->env, &at0) != TP_EVAL_OK)
        return false;
    r->env[sym] = 1;
    if (tp_expr_eval(r->k->exprs, e, r->env, &at1) != TP_EVAL_OK || !tp_sub(at1, at0, &slope) || slope == 0 ||
        !tp_sub(value, at0, &rest) || rest % slope != 0)
        return false;
    r->env[sym] = rest / slope;
    int64_t check;
    return tp_expr_eval(r->k->exprs, e, r->env, &check) == TP_EVAL_OK && check == value;
}

static void infer_sizes(run_call *r)
{
    const tp_kernel *k = r->k;
    bool progress = true;
    while (progress) {
        progress = false;
        for (uint32_t i = 0; i < k->ninputs; i++)
            for (uint32_t d = 0; d < k->operands[i].rank && d < r->arrays[i].rank; d++) {
                int s = only_unknown(r, k->operands[i].shape[d]);
                if (s >= 0 && solve(r, k->operands[i].shape[d], s, r->arrays[i].dims[d]))
                    r->known[s] = progress = true;
            }
        for (uint32_t i = 0; i < k->ntables; i++)
            for (uint32_t d = 0; d < k->tables[i].rank; d++) {
                int s = only_unknown(r, k->tables[i].shape[d]);
                if (s >= 0 && solve(r, k->tables[i].shape[d], s, r->tables[i].dims[d]))
                    r->known[s] = progress = true;
            }
    }
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *s = &k->sizes[i];
        if (r->known[i] || s->kind == TP_SIZE_FIXED || s->kind == TP_SIZE_DERIVED)
            continue;
        if (s->kind == TP_SIZE_CHOICE) {
            r->env[s->sym] = s->choices[s->nchoices - 1];
            continue; /* the largest block: said in the summary */
        }
        fail(r, TP_EXIT_USAGE,
             tp_printf(r->arena, "the arrays do not determine size `%.*s`: give --size %.*s=VALUE", TP_FMT(s->name),
                       TP_FMT(s->name)));
    }
}

static void check_shapes(run_call *r)
{
    const tp_kernel *k = r->k;
    tp_str why = {NULL, 0};
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        const tp_operand *o = &k->operands[i];
        int64_t dims[TP_MAX_RANK];
        if (!tp_operand_dims(k, o, r->env, dims, &why))
            fail(r, TP_EXIT_INPUT, why);
        if (i >= k->ninputs) {
            r->arrays[i] = tp_tensor_new(r->arena, o->dtype, o->rank, dims);
            continue;
        }
        if (r->arrays[i].rank != o->rank)
            fail(r, TP_EXIT_INPUT,
                 tp_printf(r->arena, "input `%.*s` has rank %u in the spec, its array has rank %u", TP_FMT(o->name),
                           o->rank, r->arrays[i].rank));
        for (uint32_t d = 0; d < o->rank; d++)
            if (dims[d] != r->arrays[i].dims[d])
                fail(r, TP_EXIT_INPUT,
                     tp_printf(r->arena,
                               "dimension %u of input `%.*s` (%.*s) is %lld in its array, but %lld by the other sizes",
                               d, TP_FMT(o->name), TP_FMT(tp_expr_text(k->exprs, o->shape[d])),
                               (long long)r->arrays[i].dims[d], (long long)dims[d]));
    }
    if (!tp_in_domain(k, r->env, &why))
        fail(r, TP_EXIT_INPUT, tp_printf(r->arena, "outside the declared domain: %.*s", TP_FMT(why)));
}

static void print_trap(run_call *r, const tp_trap *t)
{
    tp_buf at = {.arena = r->arena};
    for (uint32_t i = 0; i < t->coordinates.len; i++)
        tp_buf_printf(&at, "%s%.*s=%lld", i ? ", " : " at step ", TP_FMT(t->coordinates.at[i].name),
                      (long long)t->coordinates.at[i].value);
    fprintf(stderr, "trap[%s]: %.*s\n", t->rule, TP_FMT(t->message));
    tp_linecol lc = tp_linecol_of(&r->j->source, t->loc.start);
    if (t->loc.end)
        fprintf(stderr, "  --> %.*s:%u:%u%.*s\n", TP_FMT(r->j->source.path), lc.line, lc.column,
                TP_FMT(tp_buf_view(&at)));
    else
        fprintf(stderr, "  --> %.*s%.*s\n", TP_FMT(r->j->source.path), TP_FMT(tp_buf_view(&at)));
    if (t->statement.n)
        fprintf(stderr, "  in: %.*s\n", TP_FMT(t->statement));
    fprintf(stderr, "no output was written; `tileproof verify` finds a smaller case\n");
}

static void write_outputs(run_call *r, const tp_run_stats *stats)
{
    const tp_kernel *k = r->k;
    bool quiet = r->c->quiet.len > 0;
    tp_case c = {.kernel = k, .env = r->env};
    tp_str why = {NULL, 0};
    if (!quiet)
        printf("%.*s: %lld steps, engine checked, %.*s\n", TP_FMT(k->name), (long long)stats->steps,
               TP_FMT(tp_case_text(r->arena, &c)));
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++) {
        tp_str path = path_of(&r->c->output, k->operands[i].name), text = tp_tensor_text(r->arena, &r->arrays[i]);
        if (path.n && tp_tensor_write(r->arena, path, k->operands[i].name, &r->arrays[i], &why) != TP_OK)
            fail(r, TP_EXIT_INPUT, why);
        if (!quiet && path.n)
            printf("  %.*s  %.*s -> %.*s\n", TP_FMT(k->operands[i].name), TP_FMT(text), TP_FMT(path));
        else if (!quiet)
            printf("  %.*s  %.*s (not written: no --output %.*s=FILE)\n", TP_FMT(k->operands[i].name), TP_FMT(text),
                   TP_FMT(k->operands[i].name));
    }
}

static void execute(void *arg)
{
    run_call *r = arg;
    const tp_spec *s = r->j->report.spec;
    int64_t seed, max_steps;
    check_names(r, &r->c->input, "input", TP_INPUT);
    check_names(r, &r->c->output, "output", TP_OUTPUT);
    r->arrays = TP_NEWN(r->arena, tp_tensor, tp_noperands(s->kernels[0]));
    choose_kernel(r);
    r->env = TP_NEWN(r->arena, int64_t, tp_sym_count(r->k->exprs));
    r->known = TP_NEWN(r->arena, bool, r->k->nsizes);
    if (!tp_option_number(&r->c->seed, "seed", 0, INT64_MAX, 0, &seed) ||
        !tp_option_number(&r->c->max_steps, "max-steps", 1, INT64_MAX, TP_MAX_STEPS, &max_steps)) {
        r->code = TP_EXIT_USAGE;
        return;
    }
    read_given_sizes(r);
    r->tables = TP_NEWN(r->arena, tp_tensor, r->k->ntables);
    read_table_files(r);
    infer_sizes(r);
    check_shapes(r);
    bind_tables(r);
    tp_run_request request = {
        .kernel = r->k, .env = r->env, .arrays = r->arrays, .seed = (uint64_t)seed, .max_steps = max_steps};
    tp_trap trap;
    tp_run_stats stats;
    tp_status st = tp_machine_run(r->arena, &request, &trap, &stats);
    if (st == TP_E_LIMIT)
        fail(r, TP_EXIT_INPUT, trap.message);
    if (st != TP_OK && st != TP_E_TRAP)
        tp_leave(r->arena, st);
    if (st == TP_E_TRAP) {
        print_trap(r, &trap);
        r->code = TP_EXIT_VIOLATED;
        return;
    }
    write_outputs(r, &stats);
}

static int run(tp_cli *c)
{
    tp_strings files = {0};
    tp_job j = {0};
    tp_target ignored;
    int64_t memory;
    tp_str target = tp_option(&c->target, "");
    if (!tp_expand_paths(c, &files))
        return TP_EXIT_USAGE;
    if (files.len != 1)
        return tp_usage_error("run takes one spec, not %u", files.len);
    if (!tp_option_number(&c->max_memory, "max-memory", 1, 1 << 20, 2048, &memory))
        return TP_EXIT_USAGE;
    if (target.n && !tp_target_find(target, &ignored))
        return tp_usage_error("unknown target `%.*s`; `tileproof targets` lists them", TP_FMT(target));
    tp_job_load(c, &j, files.at[0], target);
    run_call r = {.c = c, .j = &j, .arena = tp_arena_new((size_t)memory << 20)};
    if (!j.report.valid) {
        tp_report report = {.arena = c->arena};
        tp_push(c->arena, report.specs, j.report);
        report.specs.at[0].source = &j.source;
        tp_format_find(TP_S("full"))->write(&report, stderr);
        r.code = TP_EXIT_INPUT;
    } else if (!r.arena || tp_try(r.arena, execute, &r) == TP_E_MEMORY) {
        fprintf(stderr, "tileproof: %.*s: the arrays need more than the %lld MiB of --max-memory\n",
                TP_FMT(j.source.path), (long long)memory);
        r.code = TP_EXIT_INPUT;
    }
    tp_arena_free(r.arena);
    tp_job_free(&j);
    return r.code;
}

const tp_command tp_command_run = {"run", 'r', "[OPTIONS] SPEC --input NAME=FILE … --output NAME=FILE …",
                                   "execute a kernel on your arrays, every access checked", run};
