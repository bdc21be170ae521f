/* Random kernels with bodies in all domains: numbers must not depend on what
 * rides along, values over the reals must lie within their bounds (MPFR), and
 * residues of equal runs must be equal. TEST_SEED and TEST_TRIALS. */
#include <glob.h>
#include <math.h>

#include "base/digest.h"
#include "kernels/trial/equiv.h"
#include "kernels/trial/internal.h"
#include "reference/reference.h"
#include "tests/unit/exact_domain.h"
#include "tests/unit/random_body.h"

enum { TRIALS = 10000 };

typedef struct run {
    tp_tensor arrays[16];
    tp_planes planes[16];
    tp_run_stats stats;
    tp_status status;
} run;

static void run_in(tp_arena *a, const tp_kernel *k, const int64_t *env, uint64_t seed, tp_domain *d, bool residues,
                   uint32_t strip, run *r)
{
    tp_trap trap;
    *r = (run){.status = TP_OK};
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        tp_str why;
        assert_true(tp_operand_dims(k, &k->operands[i], env, dims, &why));
        r->arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        tp_fill_random(&r->arrays[i], seed, tp_array_of(k, i));
        if (i < k->ninputs)
            tp_keep_values(k, env, tp_array_of(k, i), &r->arrays[i]);
        if (residues && i < k->ninputs) {
            r->planes[i].plane[0] = tp_alloc_array(a, r->arrays[i].n, 8);
            tp_field_fill(d, tp_array_of(k, i), r->arrays[i].n, r->planes[i].plane[0]);
        }
    }
    tp_run_request q = {.kernel = k,
                        .env = env,
                        .arrays = r->arrays,
                        .max_steps = 10000,
                        .seed = seed,
                        .short_row = 1, /* views wherever there can be one */
                        .domain = d,
                        .meanings = r->planes,
                        .strip = strip};
    r->status = tp_machine_run(a, &q, &trap, &r->stats);
}

/* After a trap outputs hold anything. */
static bool same_numbers(const tp_kernel *k, const run *a, const run *b)
{
    for (uint32_t i = k->ninputs; a->status == TP_OK && i < k->ninputs + k->noutputs; i++)
        if (memcmp(a->arrays[i].data, b->arrays[i].data, a->arrays[i].n * tp_dtype_size(a->arrays[i].dtype)) != 0)
            return false;
    return a->status == b->status;
}

/* Which of several NaNs an operation hands on, the place in a strip decides. */
static bool same_but_for_nans(const tp_kernel *k, const run *a, const run *b)
{
    for (uint32_t i = k->ninputs; a->status == TP_OK && i < k->ninputs + k->noutputs; i++) {
        const tp_tensor *x = &a->arrays[i], *y = &b->arrays[i];
        size_t size = tp_dtype_size(x->dtype);
        for (size_t e = 0; e < x->n; e++) {
            double v = tp_get_f64(x->dtype, x->data, e), w = tp_get_f64(y->dtype, y->data, e);
            if ((v == v || w == w) && memcmp((char *)x->data + e * size, (char *)y->data + e * size, size) != 0)
                return false;
        }
    }
    return a->status == b->status;
}

typedef struct counts {
    unsigned specs, runs;
    uint64_t elements, bounded, known;
} counts;

/* What the reference says of the same arrays is what the kernel says. */
static void like_the_reference(tp_arena *a, const tp_kernel *k, const int64_t *env, tp_field_options o, uint32_t strip,
                               const char *spec)
{
    tp_tensor *want = TP_NEWN(a, tp_tensor, k->noutputs);
    tp_planes *meanings = TP_NEWN(a, tp_planes, k->ninputs + k->noutputs);
    run r;
    run_in(a, k, env, o.seed, tp_field_new(a, o), true, strip, &r);
    memcpy(meanings, r.planes, k->ninputs * sizeof *meanings);
    tp_reference_request q = {.kernel = k,
                              .env = env,
                              .arrays = r.arrays,
                              .domain = tp_field_new(a, o),
                              .meanings = meanings,
                              .outputs = want};
    assert_int_equal(tp_reference_run(a, &q), TP_OK);
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++)
        for (size_t j = 0; j < r.arrays[i].n; j++)
            if ((((uint64_t *)r.planes[i].plane[0])[j] ^ ((uint64_t *)meanings[i].plane[0])[j]) << 32)
                fail_msg("element %zu is not that of the reference:\n%s", j, spec);
}

/* The reference's true values lie within the kernel's bounds. */
static void within_the_bounds(tp_arena *a, const tp_kernel *k, const int64_t *env, const run *rounding, exact_domain *e,
                              const char *spec)
{
    tp_tensor *want = TP_NEWN(a, tp_tensor, k->noutputs);
    tp_planes *meanings = TP_NEWN(a, tp_planes, k->ninputs + k->noutputs);
    tp_reference_request q = {
        .kernel = k, .env = env, .arrays = rounding->arrays, .domain = &e->base, .meanings = meanings, .outputs = want};
    assert_int_equal(tp_reference_run(a, &q), TP_OK);
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++)
        for (size_t j = 0; j < want[i - k->ninputs].n; j++) {
            double v = ((double *)rounding->planes[i].plane[0])[j], b = ((double *)rounding->planes[i].plane[1])[j];
            uint64_t x = ((uint64_t *)meanings[i].plane[0])[j];
            if (!exact_within(exact_at(e, x), v, b))
                fail_msg("element %zu: %a +- %a, truly %a:\n%s", j, v, b, mpfr_get_d(exact_at(e, x), MPFR_RNDN), spec);
        }
}

/* "x-test": what is proven, or has "residues": "equal", is like its reference;
 * "unknown": no residue says anything; "open": they need not agree.
 * "undecided": over the reals the kernel might go another way. */
static void as_expected(tp_arena *a, const tp_kernel *k, const int64_t *env, tp_field_options o, uint32_t strip,
                        const char *spec, const run *r, const run *rounding, exact_domain *e)
{
    const tp_json *test = tp_json_get(k->doc, "x-test"), *proven = test ? tp_json_get(test, "proven") : NULL,
                  *residues = test ? tp_json_get(test, "residues") : NULL;
    bool reals = true, equal = residues && tp_str_eq(residues->u.string, TP_S("equal"));
    for (uint32_t i = 0; i < k->ninputs; i++)
        reals &= tp_is_float(k->operands[i].dtype);
    bool same = reals && (equal || (proven && proven->u.boolean));
    if (same && !rounding->stats.undecided)
        within_the_bounds(a, k, env, rounding, e, spec);
    if (equal)
        like_the_reference(a, k, env, o, strip, spec);
    o.ordered = true;
    if (same && (equal || !residues))
        like_the_reference(a, k, env, o, strip, spec);
    if (test && tp_json_get(test, "undecided") && !rounding->stats.undecided)
        fail_msg("decided as if nothing were uncertain:\n%s", spec);
    bool unknown = residues && tp_str_eq(residues->u.string, TP_S("unknown"));
    for (uint32_t i = k->ninputs; unknown && i < k->ninputs + k->noutputs; i++)
        for (size_t j = 0; j < r->arrays[i].n; j++)
            if (((uint64_t *)r->planes[i].plane[0])[j] != TP_FIELD_UNKNOWN)
                fail_msg("element %zu has a residue:\n%s", j, spec);
}

/* A bound is a sum that is rounded up: its last bits depend on which terms are added at once. */
static bool is_nearly(double a, double b)
{
    return a == b || fabs(a - b) <= 0x1p-48 * fabs(a);
}

/* With each lane computed, whether anything of it is defined or not. */
static tp_domain *telling(tp_domain *d)
{
    d->tells = true;
    return d;
}

/* Planes, and operations that wait for each other, are computed in strips of this many elements, or by themselves;
 * what comes out does not depend on it. */
static void one_point(const tp_kernel *k, const int64_t *env, uint64_t seed, uint32_t strip, const char *spec,
                      counts *n)
{
    tp_arena *a = tp_arena_new(0);
    exact_domain e = exact_make();
    tp_field_options field = {.seed = seed, .oracle = seed};
    tp_domain *points = tp_field_new(a, field);
    run plain, waiting, rounding, exact, first, second, all, all_words;
    run_in(a, k, env, seed, NULL, false, 0, &plain);
    run_in(a, k, env, seed, NULL, false, strip ? strip : 12, &waiting);
    run_in(a, k, env, seed, tp_rounding_new(a), false, strip, &rounding);
    run_in(a, k, env, seed, &e.base, false, strip / 2, &exact);
    run_in(a, k, env, seed, points, true, 0, &first);
    run_in(a, k, env, seed, tp_field_new(a, field), true, strip, &second);
    run_in(a, k, env, seed, telling(tp_rounding_new(a)), false, strip, &all);
    run_in(a, k, env, seed, telling(tp_field_new(a, field)), true, strip, &all_words);
    if (!same_numbers(k, &plain, &all) || rounding.stats.undecided != all.stats.undecided)
        fail_msg("what is not defined changes what is:\n%s", spec);
    if (!same_but_for_nans(k, &plain, &waiting))
        fail_msg("operations that wait for each other change the numbers:\n%s", spec);
    if (!same_numbers(k, &plain, &rounding) || !same_numbers(k, &plain, &exact) || !same_numbers(k, &plain, &first))
        fail_msg("a domain changes the numbers:\n%s", spec);
    n->runs += plain.status == TP_OK;
    for (uint32_t i = k->ninputs; plain.status == TP_OK && i < k->ninputs + k->noutputs; i++)
        for (size_t j = 0; j < plain.arrays[i].n; j++) {
            double v = ((double *)rounding.planes[i].plane[0])[j], b = ((double *)rounding.planes[i].plane[1])[j];
            uint64_t x = ((uint64_t *)exact.planes[i].plane[0])[j], r = ((uint64_t *)first.planes[i].plane[0])[j];
            if (k->operands[i].discard || !tp_is_float(k->operands[i].dtype) ||
                !tp_is_compared(k, &k->operands[i], tp_writable(env), &plain.arrays[i], j))
                continue; /* it may be undefined */
            if (!rounding.stats.undecided && !exact_within(exact_at(&e, x), v, b))
                fail_msg("element %zu: %a +- %a, truly %a:\n%s", j, v, b, mpfr_get_d(exact_at(&e, x), MPFR_RNDN), spec);
            if (r != ((uint64_t *)second.planes[i].plane[0])[j])
                fail_msg("element %zu has two residues:\n%s", j, spec);
            if (r != ((uint64_t *)all_words.planes[i].plane[0])[j] ||
                memcmp(&v, (double *)all.planes[i].plane[0] + j, sizeof v) != 0 ||
                !is_nearly(b, ((double *)all.planes[i].plane[1])[j]))
                fail_msg("element %zu means something else where all lanes are computed:\n%s", j, spec);
            n->elements++;
            n->bounded += b < (double)INFINITY;
            n->known += r != TP_FIELD_UNKNOWN;
        }
    if (plain.status == TP_OK)
        as_expected(a, k, env, field, strip, spec, &second, &rounding, &e);
    exact_drop(&e);
    tp_arena_free(a);
}

static void random_bodies_in_all_domains(void **state)
{
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS);
    counts n = {0};
    (void)state;
    for (uint64_t t = 0; t < trials; t++) {
        maker g = {.a = tp_arena_new(0), .rng = tp_rng_new(seed, t + 0x706c616e65)};
        const char *spec = make_spec(&g);
        loaded *l = load_text(spec);
        if (l->spec) {
            const tp_kernel *k = l->spec->kernels[0];
            int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs));
            tp_str why;
            n.specs++;
            for (uint32_t s = 0; s < k->nsizes; s++)
                env[k->sizes[s].sym] =
                    k->sizes[s].min + (int64_t)tp_rng_below(&g.rng, (uint64_t)(k->sizes[s].max - k->sizes[s].min) + 1);
            if (tp_in_domain(k, env, &why))
                one_point(k, env, t, (uint32_t)(t % 20), spec, &n);
        }
        unload(l);
        tp_arena_free(g.a);
    }
    print_message("planes: seed %llu, %u random kernels, %u runs; %llu elements, %llu with a finite bound, %llu with a "
                  "residue: 0 wrong\n",
                  (unsigned long long)seed, n.specs, n.runs, (unsigned long long)n.elements,
                  (unsigned long long)n.bounded, (unsigned long long)n.known);
    assert_true(n.runs > trials / 10 && n.bounded > n.elements / 2);
}

/* The seed of a file: its own, whatever else lies in the folder. */
static uint64_t number_of(const char *path)
{
    tp_arena *a = tp_arena_new(0);
    uint64_t n = strtoull(tp_cstr(a, (tp_str){tp_sha256(a, tp_str_c(path)).p, 8}), NULL, 16);
    tp_arena_free(a);
    return n;
}

/* Kernels that are written down, at small sizes. TEST_SEED */
static void written_kernels_in_all_domains(void **state)
{
    static const char *const FOLDERS[] = {"tests/semantics", "tests/equality"};
    static const uint32_t STRIPS[] = {0, 1, 3, 16, 40};
    counts n = {0};
    uint64_t seed = setting("TEST_SEED", 1);
    (void)state;
    for (size_t f = 0; f < 2; f++) {
        glob_t found;
        char pattern[64];
        snprintf(pattern, sizeof pattern, "%s/*.tile.json", FOLDERS[f]);
        assert_int_equal(glob(pattern, 0, NULL, &found), 0);
        for (size_t i = 0; i < found.gl_pathc; i++) {
            loaded *l = load_file(found.gl_pathv[i]);
            const tp_kernel *k = l->spec ? l->spec->kernels[0] : NULL;
            uint64_t number = seed + number_of(found.gl_pathv[i]);
            for (size_t s = 0; k && k->ntables == 0 && s < sizeof STRIPS / sizeof *STRIPS; s++) {
                int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs));
                tp_rng rng = tp_rng_new(number, s);
                tp_str why;
                for (uint32_t z = 0; z < k->nsizes; z++) {
                    const tp_size *x = &k->sizes[z];
                    if (x->kind != TP_SIZE_RANGE && x->kind != TP_SIZE_CHOICE)
                        continue;
                    int64_t m = x->kind == TP_SIZE_RANGE && x->multiple_of > 1 ? x->multiple_of : 1;
                    env[x->sym] =
                        x->min +
                        (x->kind == TP_SIZE_RANGE ? m * (int64_t)tp_rng_below(&rng, (uint64_t)(40 / m) + 1) : 0);
                }
                int64_t elements = tp_elements_of(k, env);
                if (tp_in_domain(k, env, &why) && elements > 0 && elements < 8000)
                    one_point(k, env, number, STRIPS[s], found.gl_pathv[i], &n);
            }
            unload(l);
            n.specs += k != NULL;
        }
        globfree(&found);
    }
    print_message(
        "planes: %u written kernels, %u runs; %llu elements, %llu with a finite bound, %llu with a residue: 0 "
        "wrong\n",
        n.specs, n.runs, (unsigned long long)n.elements, (unsigned long long)n.bounded, (unsigned long long)n.known);
    assert_true(n.specs > 150 && n.runs > 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_bodies_in_all_domains),
                                       cmocka_unit_test(written_kernels_in_all_domains)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
