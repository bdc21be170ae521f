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

/* ---- large arrays ---- */

typedef struct evaluation {
    loaded *l;
    enum { NO_DOMAIN, ROUNDING, DECISIONS } domain; /* the last one: rounding, and numbers that are computed apart */
    tp_tensor outputs[2];
    tp_planes planes[8];
} evaluation;

static void evaluate(void *arg)
{
    evaluation *v = arg;
    const tp_kernel *k = v->l->spec->kernels[0];
    tp_arena *a = v->l->arena;
    int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(k->exprs) + 1), dims[TP_MAX_RANK];
    tp_tensor arrays[4];
    tp_decision_log log = {.n = 0};
    tp_str why;
    for (uint32_t i = 0; i < k->ninputs; i++) {
        assert_true(tp_operand_dims(k, &k->operands[i], env, dims, &why));
        arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        tp_fill(&arrays[i], TP_INPUT_SMALL, 0, 5, i);
        if (i == 0 && tp_is_float(arrays[i].dtype))
            ((double *)arrays[i].data)[1234] = (double)NAN;
    }
    tp_reference_request q = {.kernel = k, .env = env, .arrays = arrays, .outputs = v->outputs};
    if (v->domain) {
        q.domain = v->domain == ROUNDING ? tp_rounding_new(a) : tp_decisions_new(a, &log);
        q.meanings = v->planes;
    }
    if (tp_reference_run(a, &q) != TP_OK)
        fail_msg("%s", tp_cstr(a, q.why));
}

/* What is computed in strips has the bits of what is computed whole, as it is under a domain. Two outputs are the same
 * program twice, in another order of the dimensions: neither changes a bit, or the order of an addition. */
static void large_arrays_are_computed_as_small_ones(void **state)
{
    static const char *const PROGRAMS[] = {
        "o = x * 2 + y / 3 - 1\np = o.T",
        "o = where((x > y) & (y >= -1) | ~(x != x), -x, y.astype(bfloat16))\np = where(x.T > y.T, where(y.T >= -1, "
        "-x.T, "
        "where(x.T != x.T, y.T.astype(bfloat16), -x.T)), where(x.T != x.T, y.T.astype(bfloat16), -x.T))",
        "t = x + y\nu = t * t\nv = u - t\no = u * v + t\nw = v.T\np = o.T",
        "r = x.sum(axis=1)\no = r[:, None] * y + g[None, :]\np = ((x.T).sum(axis=0)[None, :] * y.T + g[:, None])",
        "o = x.max(axis=1, keepdims=True) - x\np = (x.T).max(axis=0, keepdims=True) - x.T",
        "o = x.argmax(axis=1)[:, None] + 0 * y\np = (x.T).argmax(axis=0)[None, :] + 0 * y.T",
        "o = x.argmin(axis=1)[:, None] + 0 * y\np = (x.T).argmin(axis=0)[None, :] + 0 * y.T",
        "o = np.cumsum(y, axis=1)\np = np.cumsum(y.T, axis=0)",
        "o = np.flip(np.cumsum(np.flip(y, 1), 1), 1)\np = np.flip(np.cumsum(np.flip(y.T, 0), 0), 0)",
        "z = np.pad(y, ((1, 1), (2, 2)))\no = z[:-2, 4:] + z[2:, :-4] * z[1:-1, 2:-2]\nzt = z.T\np = zt[4:, :-2] + "
        "zt[:-4, "
        "2:] * zt[2:-2, 1:-1]",
        "z = np.concatenate([y, x], axis=0)\no = zeros((71, 97))\nfor i in range(3):\n    o = o * 0.5 + z[i:i + 71]\np "
        "= o.T",
        "q = (x * y).reshape(97, 71) + 1\no = (q * 2).reshape(71, 97)\np = ((x * y).reshape(97 * 71) + 1).reshape(71, "
        "97).T * 2",
        "h = g * 1\nfor t in range(71):\n    h = y[t] * h + g\n    o[t] = h\n    p[:, t] = h",
        "i, j = np.arange(71)[:, None], np.arange(97)[None, :]\no = where((i // 3 >= j % 5) & (i - j < 40), x, "
        "-inf)\np = "
        "where((i.T // 3 >= j.T % 5) & (i.T - j.T < 40), x.T, -inf)",
        "z = y.reshape(71, 1, 97) / 3 * y[:, :12, None]\no = z.sum(axis=(0, 2))[3] + 0 * y\np = np.transpose(z, (1, 0, "
        "2)).sum(axis=(1, 2))[3] + 0 * y.T",
        "z = (y.reshape(71, 1, 97) / 3 * y[:, :12, None]).reshape(71, 4, 3, 97)\no = z.sum(axis=(1, 3))[:, 2:] + 0 * "
        "y\np = "
        "np.transpose(z, (0, 2, 1, 3)).sum(axis=(2, 3))[:, 2][None, :] + 0 * y.T",
        "o = (y / 3 @ g)[:, None] + 0 * y\np = (y / 3 @ np.stack([g, g], axis=1))[:, 1][None, :] + 0 * y.T",
        "v = x * y\nh = x * 1\nfor t in range(2):\n    h = v\n    h = h + t\no = h\np = (x * y).T + 1",
        "a = b = x * y\nc = a\nd = c + b\no = d - a * 1\np = (x * y + x * y - x * y).T",
        "o = np.exp(y) * np.tanh(y)\np = (np.exp(y) * np.tanh(y)).T",
        "e = np.exp(y / np.sqrt(128) - (y / np.sqrt(128)).max(axis=1, keepdims=True))\no = e / e.sum(axis=1, "
        "keepdims=True)\np = (e / e.sum(axis=1, keepdims=True)).T",
        "t = where(x > y, y * 0.1, -inf)\nu = np.maximum(np.exp(t) @ (y.T @ y), 0.3)\no = u / (1 + "
        "u)\np = (u / (1 + u)).T",
        "c = zeros((71, 97)) + 0.1\nfor i in range(3):\n    c = c * 0.7 + 0.1\n    c[i] = y[i] * 0.1\no = c * y - "
        "np.pad(y * "
        "0.1, ((1, 0), (0, 0)))[:71]\np = (c * y - np.pad(y * 0.1, ((1, 0), (0, 0)))[:71]).T",
        "z = np.full((71, 97), 3.0)\no = np.sqrt(z) * y + z ** 3 / np.sqrt(z) - y.astype(bfloat16) * 0.1\np = "
        "(np.sqrt(z) * y + "
        "z ** 3 / np.sqrt(z) - y.astype(bfloat16) * 0.1).T",
    };
    (void)state;
    for (size_t n = 0; n < sizeof PROGRAMS / sizeof *PROGRAMS; n++) {
        char text[4096];
        int len = snprintf(text, sizeof text,
                           "{\"tileproof\": 1, \"name\": \"large\", \"target\": \"none\", \"inputs\": ["
                           "{\"name\": \"x\", \"dtype\": \"float64\", \"shape\": [71, 97]},"
                           "{\"name\": \"y\", \"dtype\": \"float64\", \"shape\": [71, 97]},"
                           "{\"name\": \"g\", \"dtype\": \"float64\", \"shape\": [97]}], \"outputs\": ["
                           "{\"name\": \"o\", \"dtype\": \"float64\", \"shape\": [71, 97]},"
                           "{\"name\": \"p\", \"dtype\": \"float64\", \"shape\": [97, 71]}], \"reference\": \"");
        for (const char *c = PROGRAMS[n]; *c; c++)
            len += snprintf(text + len, sizeof text - (size_t)len, *c == '\n' ? "\\n" : "%c", *c);
        snprintf(text + len, sizeof text - (size_t)len, "\"}");
        evaluation v[3] = {{.domain = NO_DOMAIN}, {.domain = ROUNDING}, {.domain = DECISIONS}};
        for (int d = 0; d < 3; d++) {
            v[d].l = load_text(text);
            if (!v[d].l->spec)
                fail_msg("%s: %s", PROGRAMS[n], tp_cstr(v[d].l->arena, v[d].l->ctx.findings.at[0].message));
            assert_int_equal(tp_try(v[d].l->arena, evaluate, &v[d]), TP_OK);
        }
        for (int o = 0; o < 2; o++)
            for (size_t i = 0; i < 71 * 97; i++) {
                const double *x = v[1].outputs[o].data, *y = v[2].outputs[o].data;
                const uint64_t *const *p = (const uint64_t *const *)v[1].planes[3 + o].plane,
                                      *const *q = (const uint64_t *const *)v[2].planes[3 + o].plane;
                bool nan = isnan(x[i]) && isnan(y[i]);
                if ((memcmp(&x[i], &y[i], sizeof *x) != 0 || p[0][i] != q[0][i] || p[1][i] != q[1][i]) && !nan)
                    fail_msg("%s: number %zu is %a where the domain computes it, else %a", PROGRAMS[n], i, x[i], y[i]);
            }
        bool exact = !strstr(PROGRAMS[n], "exp");
        for (size_t i = 0; i < 71; i++)
            for (size_t j = 0; j < 97; j++) {
                double a = ((double *)v[0].outputs[0].data)[i * 97 + j],
                       b = ((double *)v[1].outputs[0].data)[i * 97 + j],
                       c = ((double *)v[0].outputs[1].data)[j * 71 + i];
                if (isnan(a)
                        ? !isnan(b) || !isnan(c)
                        : fabs(a - b) > (exact ? 0 : 1e-14 * fabs(a)) || fabs(a - c) > (exact ? 0 : 1e-14 * fabs(a)))
                    fail_msg("%s: element %zu, %zu is %a, whole %a, transposed %a", PROGRAMS[n], i, j, a, b, c);
            }
        for (int d = 0; d < 3; d++)
            unload(v[d].l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_reference),
                                       cmocka_unit_test(large_arrays_are_computed_as_small_ones)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
