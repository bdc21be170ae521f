/* References by example: every file of tests/references is a spec whose reference is written as people write NumPy,
 * with arrays in "x-test" and in "x-numpy" what NumPy made of the same text (tests/jax/references.py). The evaluator
 * and single elements on demand give the same; "error" and "fails" in "x-test" say what is refused, and what cannot be
 * evaluated. */
#define _DEFAULT_SOURCE /* scandir */
#include "tests/unit/support.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "demand/demand.h"
#include "kernels/trial/equiv.h"
#include "reference/reference.h"

static bool close(double x, double y)
{
    return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= 1e-11 * fmax(1, fmax(fabs(x), fabs(y)));
}

typedef struct run {
    loaded *l;
    const char *name;
    unsigned *elements;
} run;

/* Elements on demand against the evaluator, of inputs that both make up. */
static void check_demand(run *r, const tp_kernel *k, const int64_t *env)
{
    tp_tensor arrays[8], outputs[8];
    tp_arena *a = r->l->arena;
    tp_str why;
    for (uint32_t i = 0; i < k->ninputs; i++) {
        int64_t dims[TP_MAX_RANK];
        assert_true(tp_operand_dims(k, &k->operands[i], env, dims, &why));
        arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        tp_demand_array given = tp_demand_array_of(k->operands[i].dtype, k->operands[i].rank, dims, 0);
        for (size_t e = 0; e < arrays[i].n; e++)
            tp_put_f64(arrays[i].dtype, arrays[i].data, e, tp_demand_input(&given, TP_DEMAND_SMALL, 3, i, e));
    }
    tp_reference_request q = {.kernel = k, .env = env, .arrays = arrays, .outputs = outputs};
    tp_domain *field = tp_field_new(a, (tp_field_options){.seed = 7, .oracle = 8, .ordered = true});
    tp_demand_options o = {.kernel = k,
                           .program = tp_reference_program(a, k, &why),
                           .reference = true,
                           .env = env,
                           .domain = field,
                           .seed = 3,
                           .family = TP_DEMAND_SMALL,
                           .budget = 10000000};
    tp_demand *d = tp_demand_new(a, &o);
    if (tp_reference_run(a, &q) != TP_OK)
        return; /* indices that are made up may be outside */
    for (uint32_t i = 0; i < k->noutputs; i++)
        for (size_t e = 0; e < outputs[i].n; e++) {
            int64_t at[TP_MAX_RANK];
            size_t rest = e;
            for (uint32_t x = outputs[i].rank; x-- > 0; rest /= (size_t)outputs[i].dims[x])
                at[x] = (int64_t)(rest % (size_t)outputs[i].dims[x]);
            tp_demand_value v = tp_demand_element(d, i, at);
            double want = tp_get_f64(TP_F64, outputs[i].data, e);
            if (v.outcome != TP_DEMAND_VALUE || !close(v.number, want))
                fail_msg("%s: element %zu of output %u is %.17g, on demand outcome %d, %.17g", r->name, e, i, want,
                         v.outcome, v.number);
            ++*r->elements;
        }
}

static void run_reference(void *arg)
{
    run *r = arg;
    loaded *l = r->l;
    const tp_kernel *k = l->spec->kernels[0];
    const tp_json *test = tp_json_get(l->spec->doc, "x-test"), *sizes = tp_json_get(test, "sizes"),
                  *inputs = tp_json_get(test, "inputs"), *fails = tp_json_get(test, "fails"),
                  *numpy = tp_json_get(l->spec->doc, "x-numpy");
    int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs) + 1);
    for (uint32_t i = 0; sizes && i < sizes->u.items.n; i++)
        env[tp_size_find(k, sizes->u.items.at[i]->key)->sym] = sizes->u.items.at[i]->u.integer;
    tp_case x = {.kernel = k, .env = env};
    assert_true(tp_case_tables(&l->ctx, k, &x, tp_json_get(test, "tables")));
    tp_tensor arrays[8], outputs[8];
    tp_str why;
    for (uint32_t i = 0; i < k->ninputs; i++) {
        int64_t dims[TP_MAX_RANK];
        size_t n = 0;
        assert_true(tp_operand_dims(k, &k->operands[i], env, dims, &why));
        arrays[i] = tp_tensor_new(l->arena, k->operands[i].dtype, k->operands[i].rank, dims);
        fill_tensor(&arrays[i], &n, tp_json_get(inputs, tp_cstr(l->arena, k->operands[i].name)));
        assert_int_equal(n, arrays[i].n);
    }
    tp_reference_request q = {.kernel = k, .env = env, .arrays = arrays, .outputs = outputs};
    tp_status st = tp_reference_run(l->arena, &q);
    if (fails) {
        if (st == TP_OK || !strstr(tp_cstr(l->arena, q.why), tp_cstr(l->arena, fails->u.string)))
            fail_msg("%s: expected to fail with \"%s\": %s", r->name, tp_cstr(l->arena, fails->u.string),
                     st == TP_OK ? "it does not" : tp_cstr(l->arena, q.why));
        return;
    }
    if (st != TP_OK)
        fail_msg("%s: %s", r->name, tp_cstr(l->arena, q.why));
    const tp_json *want = tp_json_get(numpy, "outputs");
    for (uint32_t i = 0; i < k->noutputs; i++) {
        tp_tensor expected = tp_tensor_new(l->arena, TP_F64, outputs[i].rank, outputs[i].dims);
        size_t n = 0;
        fill_tensor(&expected, &n, tp_json_get(want, tp_cstr(l->arena, k->operands[k->ninputs + i].name)));
        assert_int_equal(n, outputs[i].n);
        for (size_t e = 0; e < n; e++) {
            double a = tp_get_f64(TP_F64, outputs[i].data, e), b = tp_get_f64(TP_F64, expected.data, e);
            if (!close(a, b))
                fail_msg("%s: element %zu of output %u is %.17g, NumPy has %.17g", r->name, e, i, a, b);
        }
    }
    check_demand(r, k, env);
}

static void one_file(const char *path, unsigned *elements)
{
    tp_arena *a = tp_arena_new(0);
    tp_str text, why;
    assert_int_equal(tp_read_file(a, path, TP_JSON_MAX_BYTES, &text, &why), TP_OK);
    loaded *l = load_text(tp_cstr(a, text));
    if (!l->spec) { /* refused, as it may be */
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
        assert_null(tp_json_get(tp_json_get(l->spec->doc, "x-test"), "error"));
        run r = {l, path, elements};
        assert_int_equal(tp_try(l->arena, run_reference, &r), TP_OK);
    }
    unload(l);
    tp_arena_free(a);
}

static int by_name(const struct dirent **x, const struct dirent **y)
{
    return strcmp((*x)->d_name, (*y)->d_name);
}

static void every_reference(void **state)
{
    (void)state;
    struct dirent **list;
    unsigned files = 0, elements = 0;
    int n = scandir("tests/references", &list, NULL, by_name);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        char path[512];
        if (strstr(list[i]->d_name, ".tile.json")) {
            snprintf(path, sizeof path, "tests/references/%s", list[i]->d_name);
            one_file(path, &elements);
            files++;
        }
        free(list[i]);
    }
    free(list);
    print_message("references: %u programs, %u elements on demand\n", files, elements);
    assert_true(files >= 25 && elements >= 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
