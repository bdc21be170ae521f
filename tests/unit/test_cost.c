/* Costs: what is counted against what the machine does, on the cases of the gallery and on random specs; closed forms
 * against sums at random sizes; the model's order of things. */
#include <glob.h>

#include "base/rng.h"
#include "cost/cost.h"
#include "kernels/trial/equiv.h"
#include "tests/unit/support.h"

enum { OPERANDS = 32, MOST_STEPS = 200000 };

typedef struct job {
    loaded *l;
    const tp_kernel *k;
    tp_cases cases;
    tp_cost *cost;
    tp_cost_request request;
    tp_cost_numbers numbers;
    int64_t vmem;
} job;

static void read_cases(void *arg)
{
    job *j = arg;
    j->cases = tp_cases_read(&j->l->ctx, j->l->spec, 2);
}

static void prepare(void *arg)
{
    job *j = arg;
    j->cost = tp_cost_new(j->l->arena, j->k);
}

static void count(void *arg)
{
    job *j = arg;
    j->numbers = tp_cost_at(j->cost, j->l->arena, &j->request);
}

static tp_cost_numbers numbers_at(job *j, const int64_t *env, bool counting)
{
    j->request = (tp_cost_request){.env = env, .counting = counting};
    assert_int_equal(tp_try(j->l->arena, count, j), TP_OK);
    return j->numbers;
}

/* ---- the machine ---- */

static tp_status run(tp_arena *a, const tp_kernel *k, const int64_t *env, uint64_t seed, tp_run_stats *stats)
{
    tp_tensor arrays[OPERANDS];
    tp_trap trap;
    assert_true(k->ninputs + k->noutputs <= OPERANDS);
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        tp_str why;
        assert_true(tp_operand_dims(k, &k->operands[i], env, dims, &why));
        arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        if (i < k->ninputs)
            tp_fill_input(k, env, i, &arrays[i], TP_INPUT_NORMAL, 8, seed);
    }
    tp_run_request r = {
        .kernel = k, .env = env, .arrays = arrays, .in_order = true, .max_steps = MOST_STEPS, .counts = true};
    return tp_machine_run(a, &r, &trap, stats);
}

typedef struct tally {
    uint32_t cases, numbers, unknown, summed; /* summed: without a closed form */
} tally;

static void same(tally *t, const tp_kernel *k, tp_str of, const char *what, tp_count n, int64_t machine)
{
    t->numbers++;
    t->unknown += !n.known;
    if (n.known && n.n != machine)
        fail_msg("%.*s: %s of `%.*s`: counted %lld, the machine %lld", TP_FMT(k->name), what, TP_FMT(of),
                 (long long)n.n, (long long)machine);
    if (!n.known && !n.why.n)
        fail_msg("%.*s: %s of `%.*s` is not known, and nothing says why", TP_FMT(k->name), what, TP_FMT(of));
}

static void same_as_machine(tally *t, const tp_kernel *k, const tp_cost_numbers *n, const tp_run_stats *s)
{
    same(t, k, k->name, "steps", n->steps, s->steps);
    for (uint32_t i = 0; i < n->noperands; i++) {
        const tp_operand_cost *o = &n->operands[i];
        same(t, k, o->operand->name, "fetches", o->fetches, s->moved[i].fetches);
        same(t, k, o->operand->name, "elements fetched", o->fetched, s->moved[i].fetched);
        same(t, k, o->operand->name, "writes", o->writes, s->moved[i].writes);
        same(t, k, o->operand->name, "elements written", o->written, s->moved[i].written);
    }
    same(t, k, k->name, "FLOPs", n->flops, s->flops);
    same(t, k, k->name, "FLOPs of dots", n->dot_flops, s->dot_flops);
    if (k->target.mxu)
        same(t, k, k->name, "FLOPs on tiles", n->mxu_flops, s->mxu_flops);
    same(t, k, k->name, "transcendental", n->transcendental, s->transcendental);
}

static void one_case(tally *t, job *j, const tp_case *c)
{
    tp_arena *a = tp_arena_new(0);
    tp_run_stats stats;
    if (run(a, c->kernel, c->env, c->seed, &stats) == TP_OK) {
        t->cases++;
        for (int counting = 0; counting < 2; counting++) {
            tp_cost_numbers n = numbers_at(j, c->env, counting);
            same_as_machine(t, c->kernel, &n, &stats);
        }
    }
    tp_arena_free(a);
}

static void gallery_costs_what_the_machine_counts(void **state)
{
    (void)state;
    glob_t g;
    tally t = {0};
    assert_int_equal(glob("examples/*/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        if (strstr(g.gl_pathv[i], "/broken/"))
            continue;
        job j = {.l = load_file(g.gl_pathv[i])};
        assert_non_null(j.l->spec);
        assert_int_equal(tp_try(j.l->arena, read_cases, &j), TP_OK);
        uint32_t unknown = t.unknown;
        for (uint32_t x = 0; x < j.cases.len; x++) {
            const tp_case *c = &j.cases.at[x];
            if (c->kernel != j.k) {
                j.k = c->kernel;
                assert_int_equal(tp_try(j.l->arena, prepare, &j), TP_OK);
            }
            one_case(&t, &j, c);
        }
        if (t.unknown > unknown)
            print_message("cost: %s: %u numbers unknown\n", g.gl_pathv[i], t.unknown - unknown);
        unload(j.l);
    }
    globfree(&g);
    print_message("cost: %u cases, %u numbers as the machine, %u unknown\n", t.cases, t.numbers, t.unknown);
    assert_true(t.cases > 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gallery_costs_what_the_machine_counts)};
    return cmocka_run_group_tests_name("cost", tests, NULL, NULL);
}
