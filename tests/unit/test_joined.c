/* Steps that are taken as one give what each gives by itself: random kernels that compute element by element, with
 * windows that follow each other, overlap, miss the edge or come back, or lie anywhere; outputs, traps, copies and what
 * is counted are compared. TEST_SEED and TEST_TRIALS change what is drawn. */
#include "tests/unit/support.h"

#include "kernels/trial/equiv.h"
#include "tests/unit/random_joined.h"

enum { TRIALS = 600, OPERANDS = 8 };

typedef struct outcome {
    tp_status st;
    tp_trap trap;
    tp_run_stats stats;
    tp_tensor arrays[OPERANDS];
} outcome;

static outcome run(tp_arena *a, const tp_kernel *k, tp_run_request r)
{
    outcome o;
    int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(k->exprs) + 1);
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        tp_str why;
        assert_true(tp_operand_dims(k, &k->operands[i], env, dims, &why));
        o.arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        tp_fill_random(&o.arrays[i], 1, i);
    }
    r.kernel = k;
    r.env = env;
    r.arrays = o.arrays;
    r.max_steps = 100000;
    r.in_order = true;
    r.short_row = 1;
    o.st = tp_machine_run(a, &r, &o.trap, &o.stats);
    return o;
}

/* Do runs that count find the same? Of windows that are gathered more are copied. */
static bool same_counts(const tp_kernel *k, const tp_run_stats *a, const tp_run_stats *b)
{
    return a->work == b->work && a->flops == b->flops && a->transcendental == b->transcendental &&
           a->dot_flops == b->dot_flops && a->mxu_flops == b->mxu_flops && a->bytes_in == b->bytes_in &&
           a->bytes_out == b->bytes_out && a->in_place >= b->in_place &&
           memcmp(a->moved, b->moved, tp_noperands(k) * sizeof *a->moved) == 0;
}

static void compare(const loaded *l, const tp_kernel *k, const outcome *want, const outcome *got, bool counts)
{
    const tp_run_stats *was = &want->stats, *is = &got->stats;
    bool same =
        want->st == got->st && want->trap.step == got->trap.step && tp_str_eq(want->trap.message, got->trap.message);
    if (want->st == TP_OK && counts)
        same &= was->copies_in == is->copies_in && was->copies_out == is->copies_out && was->steps == is->steps &&
                same_counts(k, was, is);
    for (uint32_t i = k->ninputs; same && want->st == TP_OK && i < k->ninputs + k->noutputs; i++)
        same = memcmp(want->arrays[i].data, got->arrays[i].data,
                      want->arrays[i].n * tp_dtype_size(want->arrays[i].dtype)) == 0;
    if (same)
        return;
    printf("%.*s\n", TP_FMT(l->source.text));
    fail_msg("%lld steps taken with others: %d %.*s at %lld; by themselves: %d %.*s at %lld",
             (long long)got->stats.joined, got->st, TP_FMT(got->trap.message), (long long)got->trap.step, want->st,
             TP_FMT(want->trap.message), (long long)want->trap.step);
}

/* At least one of `some` kernels takes steps together. */
static void compare_steps(tp_str (*make)(draw *d), unsigned some)
{
    static const uint32_t THREADS[] = {3, 2, 7, 16};
    uint64_t seed = setting("TEST_SEED", 1);
    unsigned trials = (unsigned)setting("TEST_TRIALS", TRIALS), joined = 0, traps = 0, unread = 0;
    for (unsigned t = 0; t < trials; t++) {
        tp_arena *a = tp_arena_new(0);
        draw d = {.rng = tp_rng_new(seed, t), .a = a};
        loaded *l = load_text(tp_cstr(a, make(&d)));
        if (!l->spec) { /* such as a comparison of literals */
            unread++;
            unload(l);
            tp_arena_free(a);
            continue;
        }
        const tp_kernel *k = l->spec->kernels[0];
        outcome want = run(a, k, (tp_run_request){.apart = true, .counts = true});
        outcome got = run(a, k, (tp_run_request){.strip = one_in(&d, 2) ? 16 : 0, .counts = true});
        tp_run_request several = {.threads = THREADS[t % 4], .share_from = 1, .last_cache = 1, .counts = true};
        outcome shared = run(a, k, several);
        several.apart = true;
        outcome each = run(a, k, several); /* who goes on elsewhere finds other windows there: its counts are others */
        assert_int_equal(want.stats.joined, 0);
        compare(l, k, &want, &got, true);
        compare(l, k, &each, &shared, true);
        compare(l, k, &want, &shared, want.st != TP_OK);
        joined += got.st == TP_OK && got.stats.joined > 0;
        traps += got.st == TP_E_TRAP;
        unload(l);
        tp_arena_free(a);
    }
    printf("joined: %u of %u kernels took steps together, %u trapped, %u were not read\n", joined, trials, traps,
           unread);
    assert_true(joined > trials / some && traps > trials / 40 && unread < trials / 4);
}

static void joined_steps_are_steps(void **state)
{
    (void)state;
    compare_steps(make_joined, 4);
}

static void gathered_steps_are_steps(void **state)
{
    (void)state;
    compare_steps(make_gathered, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(joined_steps_are_steps),
                                       cmocka_unit_test(gathered_steps_are_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
