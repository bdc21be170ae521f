/* Semantics by example: every file of tests/semantics is a tiny spec with the
 * value, trap or message that the language promises, in "x-test":
 *   {"inputs": {name: nested list}, "outputs": {name: nested list}}   runs and gives these values, bit for bit
 *   {"inputs": …, "trap": "TP501"}                                     the machine traps with this rule
 *   {"error": "TP004", "message": "part of it"}                        the spec is refused
 * "x-jax" beside it records what JAX's two interpreters did (tests/jax/semantics.py). */
#define _DEFAULT_SOURCE /* scandir */
#include "tests/unit/support.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "kernels/trial/equiv.h"

static void check_outputs(const char *name, loaded *l, const tp_kernel *k, tp_tensor *arrays, const tp_json *outputs)
{
    for (uint32_t i = 0; i < outputs->u.items.n; i++) {
        const tp_json *want = outputs->u.items.at[i];
        int o = tp_operand_find(k, want->key);
        assert_true(o >= 0);
        tp_tensor expected = tp_tensor_new(l->arena, arrays[o].dtype, arrays[o].rank, arrays[o].dims);
        size_t n = 0;
        fill_tensor(&expected, &n, want);
        assert_int_equal(n, expected.n);
        for (size_t e = 0; e < n; e++) {
            double a = tp_get_f64(arrays[o].dtype, arrays[o].data, e),
                   b = tp_get_f64(arrays[o].dtype, expected.data, e);
            if (!(a == b && signbit(a) == signbit(b)) && !(isnan(a) && isnan(b)))
                fail_msg("%s: element %zu of %s is %.17g, expected %.17g", name, e, tp_cstr(l->arena, want->key), a, b);
        }
    }
}

typedef struct run {
    loaded *l;
    const char *name;
    const tp_json *test;
} run;

/* Work is counted alike in every run, and a bound ends it just beyond. */
static void check_bound(tp_arena *a, tp_run_request request)
{
    tp_trap trap;
    tp_run_stats stats = {0}, again = {0};
    assert_int_equal(tp_machine_run(a, &request, &trap, &stats), TP_OK);
    request.max_work = stats.work;
    assert_int_equal(tp_machine_run(a, &request, &trap, &again), TP_OK);
    assert_int_equal(again.work, stats.work);
    request.max_work = stats.work - 1;
    if (stats.work > 1)
        assert_int_equal(tp_machine_run(a, &request, &trap, NULL), TP_E_LIMIT);
}

static void run_spec(void *arg)
{
    run *r = arg;
    loaded *l = r->l;
    const tp_kernel *k = l->spec->kernels[0];
    const tp_json *inputs = tp_json_get(r->test, "inputs"), *trap_rule = tp_json_get(r->test, "trap"),
                  *outputs = tp_json_get(r->test, "outputs"), *sizes = tp_json_get(r->test, "sizes");
    int64_t env[64] = {0};
    for (uint32_t i = 0; sizes && i < sizes->u.items.n; i++)
        env[tp_size_find(k, sizes->u.items.at[i]->key)->sym] = sizes->u.items.at[i]->u.integer;
    tp_tensor arrays[16];
    tp_str why;
    tp_case x = {.kernel = k, .env = env};
    assert_true(tp_case_tables(&l->ctx, k, &x, tp_json_get(r->test, "tables")));
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        assert_true(tp_operand_dims(k, &k->operands[i], env, dims, &why));
        arrays[i] = tp_tensor_new(l->arena, k->operands[i].dtype, k->operands[i].rank, dims);
        const tp_json *given = inputs ? tp_json_get(inputs, tp_cstr(l->arena, k->operands[i].name)) : NULL;
        size_t n = 0;
        if (tp_array_of(k, i) != i) {
            arrays[i] = arrays[tp_array_of(k, i)];
        } else if (i < k->ninputs) {
            assert_non_null(given);
            fill_tensor(&arrays[i], &n, given);
            assert_int_equal(n, arrays[i].n);
        }
    }
    tp_run_request request = {.kernel = k, .env = env, .arrays = arrays, .max_steps = 10000, .short_row = 1};
    for (request.seed = 0; request.seed < 3;
         request.seed++) { /* parallel axes in several orders; nothing waits, or all */
        request.strip = request.seed == 1 ? 2 : request.seed == 2 ? 16 : 0;
        tp_trap trap;
        tp_status st = tp_machine_run(l->arena, &request, &trap, NULL);
        if (outputs && st != TP_OK)
            fail_msg("%s: %s %s", r->name, trap.rule ? trap.rule : "refused", tp_cstr(l->arena, trap.message));
        if (trap_rule && (st != TP_E_TRAP || !tp_str_is(trap_rule->u.string, trap.rule)))
            fail_msg("%s: expected trap %s, got %s %s", r->name, tp_cstr(l->arena, trap_rule->u.string),
                     st == TP_E_TRAP ? trap.rule : "none", tp_cstr(l->arena, trap.message));
        if (outputs)
            check_outputs(r->name, l, k, arrays, outputs);
    }
    if (outputs)
        check_bound(l->arena, request);
}

static void one_file(const char *path)
{
    tp_arena *a = tp_arena_new(0);
    tp_str text, why;
    assert_int_equal(tp_read_file(a, path, TP_JSON_MAX_BYTES, &text, &why), TP_OK);
    loaded *l = load_text(tp_cstr(a, text));
    const tp_json *doc = l->spec ? l->spec->doc : NULL;
    if (!doc) { /* refused, as it may be: read the expectation without the reader */
        const tp_finding *f = &l->ctx.findings.at[0];
        const char *error = strstr(text.p, "\"error\": \""), *message = strstr(text.p, "\"message\": \"");
        if (!error || strncmp(error + 10, f->rule, 5) != 0)
            fail_msg("%s: refused with %s: %s", path, f->rule, tp_cstr(a, f->message));
        assert_non_null(message);
        message += 12;
        const char *wanted = tp_cstr(a, (tp_str){message, strcspn(message, "\"")}),
                   *got = tp_printf(a, "%.*s %.*s", TP_FMT(f->message), TP_FMT(f->help)).p;
        if (!strstr(got, wanted))
            fail_msg("%s: the message is \"%s\", which lacks \"%s\"", path, got, wanted);
    } else {
        const tp_json *test = tp_json_get(doc, "x-test");
        assert_non_null(test);
        if (tp_json_get(test, "error"))
            fail_msg("%s: expected to be refused", path);
        run r = {l, path, test};
        tp_status st = tp_try(l->arena, run_spec, &r);
        assert_int_equal(st, TP_OK);
    }
    unload(l);
    tp_arena_free(a);
}

static int by_name(const struct dirent **x, const struct dirent **y)
{
    return strcmp((*x)->d_name, (*y)->d_name);
}

static void every_example(void **state)
{
    (void)state;
    struct dirent **list;
    int n = scandir("tests/semantics", &list, NULL, by_name), files = 0;
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        char path[512];
        if (strstr(list[i]->d_name, ".tile.json")) {
            snprintf(path, sizeof path, "tests/semantics/%s", list[i]->d_name);
            one_file(path);
            files++;
        }
        free(list[i]);
    }
    free(list);
    print_message("semantics: %d examples\n", files);
    assert_true(files >= 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_example)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
