/* The engine has one answer: with all that it saves (steps taken together, operations that wait, rows looked at where
 * they lie, several threads, writes past the caches) the bits of the plain way, in which each statement of each step is
 * executed for itself. The gallery, and random kernels, on integers and on other numbers. The digest of all outputs is
 * printed: builds for other instruction sets print the same (tools/answers.sh). TEST_SEED and TEST_TRIALS change what
 * is drawn, TEST_ELEMENTS how large the gallery's cases may be. */
#include "tests/unit/gallery.h"
#include "tests/unit/random_body.h"
#include "tests/unit/random_joined.h"

enum { TRIALS = 400, OPERANDS = 16, MOST_ELEMENTS = 1 << 16, MOST_STEPS = 100000 };

typedef struct kernel_at {
    const tp_kernel *kernel;
    int64_t *env;
    uint64_t seed;
    tp_input_family family;
    tp_str text; /* of a random spec, for a failure */
} kernel_at;

typedef struct answer {
    tp_status st;
    tp_trap trap;
    tp_tensor arrays[OPERANDS];
} answer;

static uint64_t digest = 0xcbf29ce484222325; /* FNV-1a */

static void count_in(uint64_t bits)
{
    for (int i = 0; i < 64; i += 8)
        digest = (digest ^ (bits >> i & 0xff)) * 0x100000001b3;
}

static answer run_it(tp_arena *a, const kernel_at *at, tp_run_request r)
{
    const tp_kernel *k = at->kernel;
    answer x = {.trap = {.step = -1}};
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        tp_str why;
        assert_true(tp_operand_dims(k, &k->operands[i], at->env, dims, &why));
        x.arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        if (i < k->ninputs)
            tp_fill_input(k, at->env, i, &x.arrays[i], at->family, 8, at->seed);
        else
            tp_fill_random(&x.arrays[i], at->seed, i);
    }
    r.kernel = k;
    r.env = at->env;
    r.arrays = x.arrays;
    r.seed = at->seed;
    r.in_order = true;
    r.max_steps = MOST_STEPS;
    x.st = tp_machine_run(a, &r, &x.trap, NULL);
    return x;
}

static bool is_same(const tp_tensor *a, const tp_tensor *b, size_t e)
{
    size_t size = tp_dtype_size(a->dtype);
    double x, y;
    if (memcmp((char *)a->data + e * size, (char *)b->data + e * size, size) == 0)
        return true;
    x = tp_get_f64(a->dtype, a->data, e);
    y = tp_get_f64(b->dtype, b->data, e);
    return x != x && y != y; /* which NaN it is, is nowhere said */
}

/* What differs; empty: nothing. Of traps the step is not compared: of steps taken together, one that is told of a copy
 * out can be another than the last of its block. */
static tp_str difference(tp_arena *a, const kernel_at *at, const answer *want, const answer *got)
{
    const tp_kernel *k = at->kernel;
    if (got->st != want->st || (want->st == TP_E_TRAP && !tp_str_eq(got->trap.message, want->trap.message)))
        return tp_printf(a, "%d %.*s, and %d %.*s in the plain way", got->st, TP_FMT(got->trap.message), want->st,
                         TP_FMT(want->trap.message));
    for (uint32_t i = k->ninputs; want->st == TP_OK && i < k->ninputs + k->noutputs; i++) {
        const tp_tensor *w = &want->arrays[i], *g = &got->arrays[i];
        for (size_t e = 0; !k->operands[i].discard && e < w->n; e++)
            if (!is_same(w, g, e) && tp_is_compared(k, &k->operands[i], at->env, w, e))
                return tp_printf(a, "element %zu of `%.*s` is %a, and %a in the plain way", e,
                                 TP_FMT(k->operands[i].name), tp_get_f64(g->dtype, g->data, e),
                                 tp_get_f64(w->dtype, w->data, e));
    }
    return (tp_str){NULL, 0};
}

static void note(const kernel_at *at, const answer *x)
{
    const tp_kernel *k = at->kernel;
    count_in((uint64_t)x->st);
    for (uint32_t i = k->ninputs; x->st == TP_OK && i < k->ninputs + k->noutputs; i++)
        for (size_t e = 0; !k->operands[i].discard && e < x->arrays[i].n; e++) {
            double v = tp_get_f64(x->arrays[i].dtype, x->arrays[i].data, e);
            uint64_t bits;
            memcpy(&bits, &v, sizeof bits);
            count_in(v != v ? 0 : bits);
        }
}

/* By each way; whether it ended well. */
static bool ways_agree(const kernel_at *at)
{
    /* rows of one element lie side by side only once they are moved, and are then added up as a row */
    const tp_run_request ways[] = {{.strip = 16, .short_row = 2},
                                   {.threads = 1},
                                   {.threads = 3, .share_from = 1, .last_cache = 1, .short_row = 2}};
    tp_arena *a = tp_arena_new(0);
    answer want = run_it(a, at, (tp_run_request){.apart = true, .coverage = tp_coverage_new(a, at->kernel)});
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        answer got = run_it(a, at, ways[way]);
        tp_str differs = difference(a, at, &want, &got);
        if (differs.n) {
            printf("%.*s\n", TP_FMT(at->text));
            fail_msg("%.*s, way %zu: %s", TP_FMT(at->kernel->name), way, tp_cstr(a, differs));
        }
    }
    note(at, &want);
    tp_arena_free(a);
    return want.st == TP_OK;
}

/* ---- the gallery ---- */

typedef struct gallery_tally {
    int64_t most; /* elements of a case */
    uint32_t kernels;
} gallery_tally;

static void one_kernel(const reading *r, void *ctx)
{
    static const tp_input_family FAMILIES[] = {TP_INPUT_INTEGERS, TP_INPUT_NORMAL};
    gallery_tally *t = ctx;
    bool any = false;
    for (uint32_t c = 0; c < r->cases.len; c++) {
        const tp_case *x = &r->cases.at[c];
        for (size_t f = 0; f < 2 && tp_elements_of(x->kernel, x->env) <= t->most; f++)
            any |= ways_agree(&(kernel_at){x->kernel, x->env, x->seed, FAMILIES[f], TP_S("")});
    }
    t->kernels += any;
}

static void the_gallery_has_one_answer(void **state)
{
    gallery_tally t = {.most = (int64_t)setting("TEST_ELEMENTS", MOST_ELEMENTS)};
    (void)state;
    for_gallery(one_kernel, &t);
    printf("answers: %u kernels of the gallery\n", t.kernels);
    assert_true(t.kernels >= 20);
}

/* ---- random kernels ---- */

/* Sizes of its domain, into env; false: none was drawn. */
static bool drawn_sizes(const tp_kernel *k, tp_rng *rng, int64_t *env)
{
    for (int tries = 0; tries < 20; tries++) {
        tp_str why;
        for (uint32_t i = 0; i < k->nsizes; i++) {
            const tp_size *s = &k->sizes[i];
            if (s->kind == TP_SIZE_RANGE)
                env[s->sym] = s->min + (int64_t)tp_rng_below(rng, (uint64_t)(s->max - s->min + 1));
        }
        if (tp_in_domain(k, env, &why))
            return true;
    }
    return false;
}

static loaded *drawn(tp_arena *a, uint64_t seed, unsigned t)
{
    if (t % 2) {
        draw d = {.rng = tp_rng_new(seed, t), .a = a};
        return load_text(tp_cstr(a, t % 8 == 7 ? make_gathered(&d) : make_joined(&d)));
    }
    maker g = {.a = a, .rng = tp_rng_new(seed, t)};
    return load_text(make_spec(&g));
}

static void random_bodies_have_one_answer(void **state)
{
    uint64_t seed = setting("TEST_SEED", 1);
    unsigned trials = (unsigned)setting("TEST_TRIALS", TRIALS), well = 0, trapped = 0;
    (void)state;
    for (unsigned t = 0; well + trapped < trials; t++) {
        tp_arena *a = tp_arena_new(0);
        tp_rng rng = tp_rng_new(seed + 1, t);
        loaded *l = drawn(a, seed, t);
        const tp_kernel *k = l->spec ? l->spec->kernels[0] : NULL;
        int64_t *env = k ? TP_NEWN(a, int64_t, tp_sym_count(k->exprs) + 1) : NULL;
        if (k && drawn_sizes(k, &rng, env)) {
            bool ended =
                ways_agree(&(kernel_at){k, env, t, t % 4 < 2 ? TP_INPUT_INTEGERS : TP_INPUT_NORMAL, l->source.text});
            *(ended ? &well : &trapped) += 1;
        }
        unload(l);
        tp_arena_free(a);
        assert_true(t < 4 * trials + 100);
    }
    printf("answers: %u random bodies, %u of them to their end; seed %llu\n", well + trapped, well,
           (unsigned long long)seed);
    assert_true(well > trials / 4);
}

/* ---- products of windows that are cut ---- */

static void products_at_edges_have_one_answer(void **state)
{
    /* products that are -0 before terms that are masked off; undefined rows and columns where they show, by name */
    static const char *const LEFT[] = {"x[...]", "where(iota(int32, (8, 64), 1) + k * 64 < K, x[...] * 1e-25, 0)"};
    static const char *const RESULTS[] = {"acc[...]",
                                          "flip(acc[...], axis=0)",
                                          "flip(acc[...], axis=1)",
                                          "acc[...] * acc[0, 0]",
                                          "where(r < M, acc[...], 1)",
                                          "acc[...] + dot(p, q)"};
    uint32_t well = 0, trapped = 0;
    (void)state;
    for (size_t o = 0; o < 2; o++)
        for (size_t r = 0; r < sizeof RESULTS / sizeof *RESULTS; r++)
            for (int sizes = 0; sizes < 32; sizes++) {
                tp_arena *a = tp_arena_new(0);
                int m = sizes & 1 ? 13 : 16, rows = sizes & 1 && sizes & 16 ? 15 : m, n = sizes & 2 ? 41 : 48,
                    k = (sizes & 4 ? 32 : 64) + (sizes & 8 ? 64 : 0);
                loaded *l = load_text(tp_cstr(
                    a,
                    tp_printf(a,
                              "{\"tileproof\": 1, \"name\": \"edges\", \"sizes\": {\"M\": %d, \"N\": %d, \"K\": %d}, "
                              "\"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(M, 8)\", \"semantics\": \"parallel\"}, "
                              "{\"axis\": \"j\", \"steps\": \"cdiv(N, 16)\", \"semantics\": \"parallel\"}, "
                              "{\"axis\": \"k\", \"steps\": \"cdiv(K, 64)\"}], \"inputs\": ["
                              "{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"M\", \"K\"], "
                              "\"block_shape\": [8, 64], \"index_map\": [\"i\", \"k\"]}, "
                              "{\"name\": \"y\", \"dtype\": \"float32\", \"shape\": [\"K\", \"N\"], "
                              "\"block_shape\": [64, 16], \"index_map\": [\"k\", \"j\"]}], \"outputs\": ["
                              "{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [%d, \"N\"], "
                              "\"block_shape\": [8, 16], \"index_map\": [\"i\", \"j\"]}], \"scratch\": ["
                              "{\"name\": \"acc\", \"dtype\": \"float32\", \"shape\": [8, 16]}], \"kernel\": ["
                              "\"p = %s\", "
                              "\"q = where(iota(int32, (64, 16), 0) + k * 64 < K, y[...] * 1e-25, 0)\", "
                              "\"r = i * 8 + iota(int32, (8, 16), 0)\", "
                              "\"if k == 0:\", \"    acc[...] = dot(p, q)\", \"else:\", "
                              "\"    acc[...] = acc[...] + dot(p, q)\", "
                              "\"if k == num_programs(k) - 1:\", \"    o[...] = %s\"]}",
                              m, n, k, rows, LEFT[o], RESULTS[r])));
                if (!l->spec)
                    fail_msg("%.*s", TP_FMT(l->ctx.findings.at[0].message));
                const tp_kernel *kernel = l->spec->kernels[0];
                int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(kernel->exprs) + 1);
                for (uint32_t i = 0; i < kernel->nsizes; i++)
                    env[kernel->sizes[i].sym] = (int64_t[]){m, n, k}[i];
                bool ended = ways_agree(&(kernel_at){kernel, env, 1, TP_INPUT_NORMAL, l->source.text});
                *(ended ? &well : &trapped) += 1;
                unload(l);
                tp_arena_free(a);
            }
    printf("answers: %u products at edges, %u of them to their end\n", well + trapped, well);
    assert_true(well > 60 && trapped > 30);
}

/* One row of a product, without its first dimension: each element is as it was. */
static void rows_of_products_at_edges_have_one_answer(void **state)
{
    static const char *const RESULTS[] = {"acc[0, :]", "acc[0, :] + 1", "acc[0, :] + p[0, :]", "exp(p[0, :])"};
    uint32_t well = 0, trapped = 0;
    (void)state;
    for (size_t r = 0; r < sizeof RESULTS / sizeof *RESULTS; r++)
        for (int more = 0; more < 8; more += 7) { /* columns of the output that are undefined */
            tp_arena *a = tp_arena_new(0);
            loaded *l = load_text(tp_cstr(
                a, tp_printf(a,
                             "{\"tileproof\": 1, \"name\": \"row\", \"grid\": [{\"axis\": \"j\", \"steps\": 3}], "
                             "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [1, 64]}, "
                             "{\"name\": \"y\", \"dtype\": \"float32\", \"shape\": [64, 41], "
                             "\"block_shape\": [64, 16], \"index_map\": [0, \"j\"]}], \"outputs\": ["
                             "{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [1, %d], "
                             "\"block_shape\": [1, 16], \"index_map\": [0, \"j\"]}], \"scratch\": ["
                             "{\"name\": \"acc\", \"dtype\": \"float32\", \"shape\": [1, 16]}], \"kernel\": ["
                             "\"p = dot(x[...], y[...])\", \"acc[...] = p\", \"o[0, :] = %s\"]}",
                             41 + more, RESULTS[r])));
            if (!l->spec)
                fail_msg("%.*s", TP_FMT(l->ctx.findings.at[0].message));
            const tp_kernel *kernel = l->spec->kernels[0];
            int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(kernel->exprs) + 1);
            bool ended = ways_agree(&(kernel_at){kernel, env, 1, TP_INPUT_NORMAL, l->source.text});
            *(ended ? &well : &trapped) += 1;
            unload(l);
            tp_arena_free(a);
        }
    assert_int_equal(well, sizeof RESULTS / sizeof *RESULTS);
    assert_int_equal(trapped, well);
}

/* ---- what stays while loops turn ---- */

/* Values over what is there before them, by statement: those above may be outside of the loop, in which some change. */
static const char *const STEADY[] = {
    "$ = a * 2",
    "$ = b + a",
    "$ = where(r < i + 3, a, b)",
    "$ = where((r >= i) & (c < 9), b, 0)",
    "$ = where(r >= 0, a, b)",
    "$ = exp(b * 0.01)",
    "$ = a - l",
    "$ = (r + c).astype(float32)",
    "$ = a[:, 0:1] + x[...]",
    "$ = broadcast_to(a[0:1, :], (8, 16))",
    "$ = x[...] * 3",
    "$ = max(a, axis=1, keepdims=True) + b",
    "$ = m[...]",
};
static const char *const EFFECTS[] = {
    "acc[...] = acc[...] + $",
    "acc[...] += $ * t.astype(float32)",
    "m[...] = m[...] * 0.5 + $",
    "m[...] = where(r + t < 6, $, m[...])",
    "if t > 1:\n    acc[...] += $",
    "acc[...] = acc[...] * 0.25 + where(c <= t + 2, $, 1)",
    "acc[...] += dot($, w[...]) * 0.01",
    "acc[...] = where(c <= t, dot($, w[...]), acc[...]) * 0.125",
    "m[...] = $",
};
#define ONE_OF(rng, list) (list)[tp_rng_below(rng, sizeof(list) / sizeof *(list))]

static void add_line(tp_buf *b, int indent, const char *text)
{
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        tp_buf_printf(b, "%s\"%*s%.*s\"", tp_buf_view(b).n ? ", " : "", indent, "", (int)n, at);
        at += n + (at[n] == '\n');
    }
}

/* The text with the name in place of its `$`. */
static const char *about(tp_arena *a, const char *text, const char *name)
{
    int n = (int)strcspn(text, "$");
    return tp_printf(a, "%.*s%s%s", n, text, name, text[n] ? text + n + 1 : "").p;
}

/* Some values, and what somebody does with them. */
static void add_values(tp_arena *a, tp_buf *b, tp_rng *rng, int indent, unsigned *made)
{
    for (uint64_t n = 1 + tp_rng_below(rng, 4); n > 0; n--) {
        const char *name = tp_printf(a, "v%u", (*made)++).p;
        add_line(b, indent, about(a, ONE_OF(rng, STEADY), name));
        if (indent && tp_rng_below(rng, 3))
            add_line(b, indent, about(a, ONE_OF(rng, EFFECTS), name));
    }
}

static const char *make_steady(tp_arena *a, tp_rng *rng)
{
    static const char *const TURNS[] = {"range(3)", "range(i, 4)", "range(1)", "range(i)", "range(5, 0, -2)"};
    tp_buf b = {.arena = a};
    unsigned made = 0;
    bool nested = tp_rng_below(rng, 2);
    int indent = nested ? 8 : 4;
    add_line(&b, 0, "acc[...] = 0\nm[...] = x[...]\na = x[...] + 1\nb = x[...] * x[...]\nl = m[...]");
    add_line(&b, 0, "r = iota(int32, (8, 16), 0)\nc = iota(int32, (8, 16), 1)");
    add_values(a, &b, rng, 0, &made);
    if (nested) {
        add_line(&b, 0, tp_printf(a, "for u in %s:", ONE_OF(rng, TURNS)).p);
        if (tp_rng_below(rng, 2))
            add_line(&b, 4, "q = u * 2\nb2 = b * q.astype(float32)\nacc[...] += b2");
    }
    add_line(&b, indent - 4, tp_printf(a, "for t in %s:", ONE_OF(rng, TURNS)).p);
    add_values(a, &b, rng, indent, &made);
    add_line(&b, indent, about(a, ONE_OF(rng, EFFECTS), nested ? "x[...] + u.astype(float32)" : "a + b"));
    add_values(a, &b, rng, indent, &made);
    add_line(&b, 0, "o[...] = acc[...] + m[...]");
    return tp_printf(a,
                     "{\"tileproof\": 1, \"name\": \"steady\", \"grid\": [{\"axis\": \"i\", \"steps\": 3}], "
                     "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [24, 16], \"block_shape\": "
                     "[8, 16], \"index_map\": [\"i\", 0]}, {\"name\": \"w\", \"dtype\": \"float32\", \"shape\": "
                     "[16, 16]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [24, 16], "
                     "\"block_shape\": [8, 16], \"index_map\": [\"i\", 0]}], \"scratch\": [{\"name\": \"acc\", "
                     "\"dtype\": \"float32\", \"shape\": [8, 16]}, {\"name\": \"m\", \"dtype\": \"float32\", "
                     "\"shape\": [8, 16]}], \"kernel\": [%.*s]}",
                     TP_FMT(tp_buf_view(&b)))
        .p;
}

static void what_stays_in_a_loop_has_one_answer(void **state)
{
    uint64_t seed = setting("TEST_SEED", 1);
    unsigned trials = (unsigned)setting("TEST_TRIALS", TRIALS), well = 0;
    (void)state;
    for (unsigned t = 0; t < trials; t++) {
        tp_arena *a = tp_arena_new(0);
        tp_rng rng = tp_rng_new(seed, t + 0x73746179);
        loaded *l = load_text(make_steady(a, &rng));
        if (!l->spec)
            fail_msg("%.*s\n%.*s", TP_FMT(l->ctx.findings.at[0].message), TP_FMT(l->source.text));
        const tp_kernel *k = l->spec->kernels[0];
        int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(k->exprs) + 1);
        well += ways_agree(&(kernel_at){k, env, t, t % 2 ? TP_INPUT_INTEGERS : TP_INPUT_NORMAL, l->source.text});
        unload(l);
        tp_arena_free(a);
    }
    assert_int_equal(well, trials);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gallery_has_one_answer), cmocka_unit_test(products_at_edges_have_one_answer),
        cmocka_unit_test(rows_of_products_at_edges_have_one_answer), cmocka_unit_test(random_bodies_have_one_answer),
        cmocka_unit_test(what_stays_in_a_loop_has_one_answer)};
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("answers: digest %016llx\n", (unsigned long long)digest);
    return failed;
}
