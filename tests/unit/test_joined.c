/* Steps that are taken as one give what each gives by itself: random kernels that compute element by element, with
 * windows that follow each other, overlap, miss the edge or come back; outputs, traps, copies and what is counted are
 * compared.
 * TEST_SEED and TEST_TRIALS change what is drawn. */
#include "tests/unit/support.h"

#include "base/rng.h"
#include "kernels/trial/equiv.h"

enum { TRIALS = 600, OPERANDS = 8 };

typedef struct draw {
    tp_rng rng;
    tp_arena *a;
    int64_t bm, bn, m, n, halo;
    bool swapped; /* the axis of the columns is the outer one */
} draw;

static int64_t below(draw *d, int64_t n)
{
    return (int64_t)tp_rng_below(&d->rng, (uint64_t)n);
}

static bool one_in(draw *d, int64_t n)
{
    return below(d, n) == 0;
}

/* An array of bm x bn numbers of a step. */
static tp_str expression(draw *d, int depth)
{
    tp_str a, b;
    if (depth == 0 || one_in(d, 5))
        switch (below(d, 9)) {
        case 0:
        case 1: return TP_S("x[...]");
        case 2: return TP_S("y[...]");
        case 3: return TP_S("row[...]");
        case 4: return TP_S("column[...]");
        case 5:
            return tp_printf(d->a, "iota(int32, (%lld, %lld), %lld).astype(float32)", (long long)d->bm,
                             (long long)d->bn, (long long)below(d, 2));
        case 6: return tp_printf(d->a, "%s.astype(float32)", d->swapped != one_in(d, 8) ? "j" : "i");
        case 7: {
            long long p = below(d, d->halo + 1), q = below(d, d->halo + 1);
            return tp_printf(d->a, "slice(h[...], (%lld, %lld), (%lld, %lld))", p, q, p + (long long)d->bm,
                             q + (long long)d->bn);
        }
        default: return tp_printf(d->a, "%lld.5", (long long)below(d, 9));
        }
    a = expression(d, depth - 1);
    b = expression(d, depth - 1);
    switch (below(d, 7)) {
    case 0: return tp_printf(d->a, "(%.*s - %.*s)", TP_FMT(a), TP_FMT(b));
    case 1: return tp_printf(d->a, "(%.*s * %.*s)", TP_FMT(a), TP_FMT(b));
    case 2: return tp_printf(d->a, "maximum(%.*s, %.*s)", TP_FMT(a), TP_FMT(b));
    case 3: return tp_printf(d->a, "where(%.*s < %.*s, %.*s, 2.0)", TP_FMT(a), TP_FMT(b), TP_FMT(b));
    case 4:
        if (one_in(d, 6))
            return tp_printf(d->a, "(%.*s + sum(x[...], axis=%lld, keepdims=True))", TP_FMT(a), (long long)below(d, 2));
        return tp_printf(d->a, "(%.*s / (abs(%.*s) + 1.0))", TP_FMT(a), TP_FMT(b));
    default: return tp_printf(d->a, "(%.*s + %.*s)", TP_FMT(a), TP_FMT(b));
    }
}

static tp_str operand(draw *d, const char *name, int64_t m, int64_t n, tp_str rows, tp_str columns, tp_str map)
{
    return tp_printf(d->a,
                     "{\"name\": \"%s\", \"dtype\": \"float32\", \"shape\": [%lld, %lld], \"block_shape\": [%.*s, "
                     "%.*s], \"index_map\": [%.*s]}",
                     name, (long long)m, (long long)n, TP_FMT(rows), TP_FMT(columns), TP_FMT(map));
}

static tp_str number(draw *d, int64_t n)
{
    return tp_printf(d->a, "%lld", (long long)n);
}

static tp_str spec(draw *d)
{
    static const int64_t EXTENTS[] = {1, 2, 8, 16, 24};
    int64_t rows, columns;
    d->bm = EXTENTS[below(d, 5)];
    d->bn = EXTENTS[below(d, 5)];
    d->m = d->bm * (1 + below(d, 5)) - (one_in(d, 3) ? below(d, d->bm) : 0);
    d->n = d->bn * (1 + below(d, 9)) - (one_in(d, 3) ? below(d, d->bn) : 0);
    d->halo = below(d, 3);
    rows = (d->m + d->bm - 1) / d->bm;
    columns = (d->n + d->bn - 1) / d->bn;
    bool parallel = one_in(d, 2);
    d->swapped = one_in(d, 3);
    const char *kind = parallel ? ", \"semantics\": \"parallel\"" : "";
    tp_str i = tp_printf(d->a, "{\"axis\": \"i\", \"steps\": %lld%s}", (long long)rows, kind),
           j = tp_printf(d->a, "{\"axis\": \"j\", \"steps\": %lld%s}", (long long)columns, kind);
    tp_str bm = number(d, d->bm), bn = number(d, d->bn), one = TP_S("1"), both = TP_S("\"i\", \"j\"");
    tp_str at = one_in(d, 20) ? TP_S("\"i\", 0") : one_in(d, 20) ? TP_S("\"i\", \"j // 2\"") : both;
    tp_str more = tp_printf(d->a, "{\"element\": %lld, \"padding\": [0, %lld]}", (long long)(d->bm + d->halo),
                            (long long)(d->bm + 4)),
           wide = tp_printf(d->a, "{\"element\": %lld, \"padding\": [0, %lld]}", (long long)(d->bn + d->halo),
                            (long long)(d->bn + 4));
    tp_str halo = tp_printf(d->a, "\"i * %lld\", \"j * %lld\"", (long long)d->bm,
                            (long long)(one_in(d, 10) ? d->bn / 2 + 1 : d->bn));
    tp_str body = expression(d, 3), second = one_in(d, 4) ? TP_S("7.0") : expression(d, 2);
    tp_str x = operand(d, "x", d->m, d->n, bm, bn, both),
           y = operand(d, "y", d->m, d->n, bm, bn, one_in(d, 8) ? TP_S("\"i\", 0") : both),
           row = operand(d, "row", 1, d->n, one, bn, TP_S("0, \"j\"")),
           column = operand(d, "column", d->m, 1, bm, one, TP_S("\"i\", 0")),
           h = operand(d, "h", d->m + d->halo, d->n + d->halo, more, wide, halo),
           o = operand(d, "o", d->m, d->n, bm, bn, at), p = operand(d, "p", d->m, d->n, bm, bn, both);
    return tp_printf(
        d->a,
        "{\"tileproof\": 1, \"name\": \"joined\", \"target\": \"none\", \"grid\": [%.*s, %.*s], \"inputs\": "
        "[%.*s, %.*s, %.*s, %.*s, %.*s], \"outputs\": [%.*s, %.*s], \"kernel\": [\"t = %.*s\", \"o[...] = "
        "t + 0.0 * x[...]\", \"p[...] = %.*s + 0.0 * y[...] + %s\"]}",
        TP_FMT(d->swapped ? j : i), TP_FMT(d->swapped ? i : j), TP_FMT(x), TP_FMT(y), TP_FMT(row), TP_FMT(column),
        TP_FMT(h), TP_FMT(o), TP_FMT(p), TP_FMT(body), TP_FMT(second), one_in(d, 2) ? "t" : "1.0");
}

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

/* Do runs that count find the same? */
static bool same_counts(const tp_kernel *k, const tp_run_stats *a, const tp_run_stats *b)
{
    return a->work == b->work && a->flops == b->flops && a->transcendental == b->transcendental &&
           a->dot_flops == b->dot_flops && a->mxu_flops == b->mxu_flops && a->bytes_in == b->bytes_in &&
           a->bytes_out == b->bytes_out && a->in_place == b->in_place &&
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

static void joined_steps_are_steps(void **state)
{
    static const uint32_t THREADS[] = {3, 2, 7, 16};
    uint64_t seed = setting("TEST_SEED", 1);
    unsigned trials = (unsigned)setting("TEST_TRIALS", TRIALS), joined = 0, traps = 0, unread = 0;
    (void)state;
    for (unsigned t = 0; t < trials; t++) {
        tp_arena *a = tp_arena_new(0);
        draw d = {.rng = tp_rng_new(seed, t), .a = a};
        loaded *l = load_text(tp_cstr(a, spec(&d)));
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
    assert_true(joined > trials / 4 && traps > trials / 40 && unread < trials / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(joined_steps_are_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
