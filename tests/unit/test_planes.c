/* Random kernels with bodies in all domains: numbers must not depend on what
 * rides along, values over the reals must lie within their bounds (MPFR), and
 * residues of equal runs must be equal. TEST_SEED and TEST_TRIALS. */
#include "kernels/equiv.h"
#include "tests/unit/exact_domain.h"
#include "tests/unit/random_body.h"

enum { TRIALS = 10000 };

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *s = getenv(name);
    return s && *s ? strtoull(s, NULL, 10) : otherwise;
}

typedef struct run {
    tp_tensor arrays[4];
    tp_planes planes[4];
    tp_run_stats stats;
    tp_status status;
} run;

static void run_in(tp_arena *a, const tp_kernel *k, const int64_t *env, uint64_t seed, tp_domain *d, bool residues,
                   run *r)
{
    tp_trap trap;
    *r = (run){.status = TP_OK};
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        tp_str why;
        assert_true(tp_operand_dims(k, &k->operands[i], env, dims, &why));
        r->arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        tp_fill_random(&r->arrays[i], seed, i);
        if (residues && i < k->ninputs) {
            r->planes[i].plane[0] = tp_alloc_array(a, r->arrays[i].n, 8);
            tp_field_fill(d, i, r->arrays[i].n, r->planes[i].plane[0]);
        }
    }
    tp_run_request q = {.kernel = k,
                        .env = env,
                        .arrays = r->arrays,
                        .max_steps = 10000,
                        .seed = seed,
                        .domain = d,
                        .meanings = r->planes};
    r->status = tp_machine_run(a, &q, &trap, &r->stats);
}

static bool same_numbers(const tp_kernel *k, const run *a, const run *b)
{
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++)
        if (memcmp(a->arrays[i].data, b->arrays[i].data, a->arrays[i].n * tp_dtype_size(a->arrays[i].dtype)) != 0)
            return false;
    return a->status == b->status;
}

typedef struct counts {
    unsigned specs, runs;
    uint64_t elements, bounded, known;
} counts;

static void one_point(const tp_kernel *k, const int64_t *env, uint64_t seed, const char *spec, counts *n)
{
    tp_arena *a = tp_arena_new(0);
    exact_domain e = exact_make();
    tp_field_options field = {.seed = seed, .oracle = seed};
    tp_domain *points = tp_field_new(a, field);
    run plain, rounding, exact, first, second;
    run_in(a, k, env, seed, NULL, false, &plain);
    run_in(a, k, env, seed, tp_rounding_new(a), false, &rounding);
    run_in(a, k, env, seed, &e.base, false, &exact);
    run_in(a, k, env, seed, points, true, &first);
    run_in(a, k, env, seed, tp_field_new(a, field), true, &second);
    if (!same_numbers(k, &plain, &rounding) || !same_numbers(k, &plain, &exact) || !same_numbers(k, &plain, &first))
        fail_msg("a domain changes the numbers:\n%s", spec);
    n->runs += plain.status == TP_OK;
    for (uint32_t i = k->ninputs; plain.status == TP_OK && i < k->ninputs + k->noutputs; i++)
        for (size_t j = 0; j < plain.arrays[i].n; j++) {
            double v = ((double *)rounding.planes[i].plane[0])[j], b = ((double *)rounding.planes[i].plane[1])[j];
            uint64_t x = ((uint64_t *)exact.planes[i].plane[0])[j], r = ((uint64_t *)first.planes[i].plane[0])[j];
            if (k->operands[i].discard ||
                !tp_compared(k, &k->operands[i], (int64_t *)(uintptr_t)env, &plain.arrays[i], j))
                continue; /* it may be undefined */
            if (!rounding.stats.undecided && !exact_within(exact_at(&e, x), v, b))
                fail_msg("element %zu: %a +- %a, truly %a:\n%s", j, v, b, mpfr_get_d(exact_at(&e, x), MPFR_RNDN), spec);
            if (r != ((uint64_t *)second.planes[i].plane[0])[j])
                fail_msg("element %zu has two residues:\n%s", j, spec);
            n->elements++;
            n->bounded += b < (double)INFINITY;
            n->known += r != TP_FIELD_UNKNOWN;
        }
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
                one_point(k, env, t, spec, &n);
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_bodies_in_all_domains)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
