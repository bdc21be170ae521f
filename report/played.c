#include "report/played.h"

#include "base/checked.h"
#include "cost/text.h"
#include "report/blocks.h"
#include "spec/json.h"
#include "spec/range.h"

/* Pictures are of small cases: those that take longer have none. */
enum { MOST_WORK = 1 << 26, MOST_RUN_STEPS = 1 << 16 };
static const size_t MOST_BYTES = (size_t)256 << 20;

bool tp_moves_its_data(const tp_kernel *k)
{
    bool any = false;
    for (uint32_t i = 0; i < tp_noperands(k); i++)
        any |= tp_is_semaphore(&k->operands[i]);
    return any && k->body;
}

typedef struct execution {
    tp_arena *work;
    tp_played *x;
    tp_status status;
    tp_trap trap;
} execution;

static bool make_arrays(execution *r, tp_tensor *arrays)
{
    const tp_kernel *k = r->x->kernel;
    if (!tp_kernel_executable(r->work, k, &r->trap.message))
        return false;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        const tp_operand *o = &k->operands[i];
        int64_t dims[TP_MAX_RANK];
        if (!tp_operand_dims(k, o, r->x->env, dims, &r->trap.message))
            return false;
        arrays[i] = tp_tensor_new(r->work, o->dtype, o->rank, dims);
        tp_range values = i < k->ninputs ? tp_input_range(k, i, r->x->env) : (tp_range){0, 0};
        if (values.lo > values.hi && arrays[i].n) {
            r->trap.message = TP_S("no number is allowed as an input");
            return false;
        }
        if (i < k->ninputs)
            tp_fill_input(k, r->x->env, i, &arrays[i], TP_INPUT_NORMAL, 8, 0);
    }
    return true;
}

static void execute(void *arg)
{
    execution *r = arg;
    const tp_kernel *k = r->x->kernel;
    tp_tensor *arrays = TP_NEWN(r->work, tp_tensor, k->ninputs + k->noutputs);
    r->status = TP_E_LIMIT;
    if (!make_arrays(r, arrays))
        return;
    tp_run_request request = {.kernel = k,
                              .env = r->x->env,
                              .arrays = arrays,
                              .in_order = true,
                              .max_steps = MOST_RUN_STEPS,
                              .max_work = MOST_WORK,
                              .observer = &r->x->schedule->observer};
    r->status = tp_machine_run(r->work, &request, &r->trap, NULL);
}

static uint32_t devices_of(const tp_kernel *k, const int64_t *env)
{
    int64_t all = 1, n;
    for (uint32_t i = 0; tp_is_connected(k) && i < tp_mesh_rank(k); i++)
        if (tp_expr_eval(k->exprs, k->axes[i].steps, env, &n) == TP_EVAL_OK && n > 0 && all <= TP_SCHEDULE_DEVICES)
            all *= n <= TP_SCHEDULE_DEVICES ? n : TP_SCHEDULE_DEVICES + 1;
    return all > TP_SCHEDULE_DEVICES ? TP_SCHEDULE_DEVICES + 1 : (uint32_t)all;
}

tp_played tp_play_at(tp_arena *a, const tp_kernel *k, const int64_t *env)
{
    tp_played x = {.kernel = k,
                   .env = env,
                   .sizes = tp_sizes_text(a, k, env),
                   .schedule = tp_schedule_new(a, k, devices_of(k, env))};
    execution r = {.work = tp_arena_child_limited(a, MOST_BYTES), .x = &x, .trap = {.step = -1}};
    tp_status st = tp_try(r.work, execute, &r);
    if (st == TP_OK && r.status == TP_OK) {
        tp_pace free = tp_pace_free();
        tp_schedule_play(x.schedule, &free);
    } else if (st == TP_OK && r.status == TP_E_TRAP) {
        x.rule = r.trap.rule;
        tp_schedule_to_trap(x.schedule);
    } else {
        bool memory = st == TP_E_MEMORY || r.status == TP_E_MEMORY;
        x.why = memory || !r.trap.message.n ? TP_S("it takes more memory or work than a picture may")
                                            : tp_printf(a, "%.*s", TP_FMT(r.trap.message));
        x.schedule = NULL;
    }
    tp_arena_free(r.work);
    return x;
}

/* What the tables of a counterexample hold, as it has them. */
typedef struct given_tables {
    tp_arena *a;
    const tp_kernel *k;
    tp_str contents;
    int64_t *env;
    bool bound;
} given_tables;

static void bind_tables(void *arg)
{
    given_tables *t = arg;
    tp_source text = {.path = TP_S("tables"), .text = t->contents};
    tp_ctx c = {.arena = t->a, .source = &text};
    tp_case at = {.kernel = t->k, .env = t->env};
    t->bound = tp_case_tables(&c, t->k, &at, tp_json_parse(&c, false));
}

bool tp_play_finding(tp_arena *a, const tp_spec_report *s, const tp_finding *f, tp_played *out)
{
    if (!s->spec || !f->witness || f->verdict != TP_VIOLATED || !tp_moves_its_data(s->spec->kernels[0]))
        return false;
    const tp_kernel *k = s->spec->kernels[tp_kernel_of_witness(s->spec, f->witness)];
    const tp_rule *rule = tp_rule_find(tp_str_c(f->rule));
    tp_str why;
    if (!rule || !rule->traps)
        return false;
    int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(k->exprs) + 1);
    tp_sizes_of_witness(k, f->witness, env);
    given_tables tables = {.a = a, .k = k, .contents = f->witness->contents, .env = env};
    if (tables.contents.n && (tp_try(a, bind_tables, &tables) != TP_OK || !tables.bound))
        return false;
    if (!tp_in_domain(k, env, &why))
        return false;
    *out = tp_play_at(a, k, env);
    return out->rule && strcmp(out->rule, f->rule) == 0;
}

tp_str tp_played_step(tp_arena *a, const tp_played *x, int64_t step)
{
    const tp_kernel *k = x->kernel;
    int64_t at[TP_MAX_AXES] = {0}, n;
    tp_buf b = {.arena = a};
    for (uint32_t i = k->naxes; i-- > 0; step /= n) {
        if (tp_expr_eval(k->exprs, k->axes[i].steps, x->env, &n) != TP_EVAL_OK || n < 1)
            return (tp_str){NULL, 0};
        at[i] = step % n;
    }
    for (uint32_t i = tp_is_connected(k) ? tp_mesh_rank(k) : 0; i < k->naxes; i++)
        tp_buf_printf(&b, "%s%.*s = %lld", b.n ? ", " : "", TP_FMT(k->axes[i].name), (long long)at[i]);
    return b.n ? tp_buf_view(&b) : (tp_str){NULL, 0};
}
