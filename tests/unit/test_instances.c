/* Every rule against its own fixed-size instances: random specs over small
 * boxes of sizes are analyzed once with symbolic sizes and once per point of
 * the box, where everything is arithmetic on constants. "Proven" must hold at
 * every point, "violated" must fail at its witness. Randomness prints its
 * seed; TEST_SEED and TEST_TRIALS change it. */
#include "tests/unit/support.h"

#include <stdlib.h>

#include "base/rng.h"

enum { TRIALS = 300, SYMBOLIC = 2 };

typedef struct generator {
    tp_arena *a;
    tp_rng rng;
    int64_t lo[SYMBOLIC], hi[SYMBOLIC];
    tp_str rest; /* the spec after the sizes */
} generator;

static const char *const NAMES[SYMBOLIC] = {"M", "N"};

#define PICK(g, list) (list)[tp_rng_below(&(g)->rng, sizeof(list) / sizeof *(list))]

static const char *const SHAPES[] = {"M",   "N",     "8 * M",         "128 * N", "M + N",
                                     "128", "M * N", "max(M - 2, 1)", "N // 2",  "1"};
static const char *const BLOCKS[] = {"8",     "128",     "M", "N",      "256",   "1",
                                     "8 * M", "128 * N", "b", "16 * b", "M - 1", "12"};
static const char *const MAPS[] = {"i",
                                   "j",
                                   "0",
                                   "i + 1",
                                   "i * N",
                                   "i // 2",
                                   "min(i, M - 1)",
                                   "i % M",
                                   "j % (N - 2)",
                                   "i * 1073741824 * N",
                                   "(i + j) // max(N, 2)"};
static const char *const STEPS[] = {"M",          "cdiv(8 * M, 8)", "N // 2", "cdiv(128 * N, 128)",
                                    "cdiv(M, b)", "M // (N - 1)",   "2"};
static const char *const DTYPES[] = {"float32", "bfloat16", "int8", "bool"};
static const char *const FACTS[] = {"M >= N", "M % 2 == 0", "M + N > 2", "N > 1", "M > 7"};

static void add_operand(generator *g, tp_buf *b, const char *name, bool scratch)
{
    unsigned rank = 1 + (unsigned)tp_rng_below(&g->rng, 3);
    tp_buf_printf(b, "{\"name\": \"%s\", \"dtype\": \"%s\", \"shape\": [", name, PICK(g, DTYPES));
    for (unsigned d = 0; d < rank; d++)
        tp_buf_printf(b, "%s\"%s\"", d ? ", " : "", scratch ? PICK(g, BLOCKS) : PICK(g, SHAPES));
    if (!scratch && tp_rng_below(&g->rng, 6)) {
        tp_buf_c(b, "], \"block_shape\": [");
        for (unsigned d = 0; d < rank; d++)
            tp_buf_printf(b, tp_rng_below(&g->rng, 8) ? "%s\"%s\"" : "%snull", d ? ", " : "", PICK(g, BLOCKS));
        tp_buf_c(b, "], \"index_map\": [");
        for (unsigned d = 0; d < rank; d++)
            tp_buf_printf(b, "%s\"%s\"", d ? ", " : "", PICK(g, MAPS));
    }
    tp_buf_c(b, "]}");
}

static void generate(generator *g)
{
    tp_buf b = {.arena = g->a};
    for (int i = 0; i < SYMBOLIC; i++) {
        g->lo[i] = (int64_t)tp_rng_below(&g->rng, 3);
        g->hi[i] = g->lo[i] + (int64_t)tp_rng_below(&g->rng, 5);
    }
    tp_buf_printf(&b, ", \"b\": {\"in\": [1, 2, 4]}}, ");
    if (tp_rng_below(&g->rng, 3) == 0)
        tp_buf_printf(&b, "\"where\": [\"%s\"], ", PICK(g, FACTS));
    tp_buf_printf(&b, "\"target\": {\"base\": \"tpu-v5e\", \"vmem_limit_bytes\": %d}, ",
                  1 << (13 + tp_rng_below(&g->rng, 7)));
    tp_buf_printf(&b, "\"grid\": [{\"axis\": \"i\", \"steps\": \"%s\"}, {\"axis\": \"j\", \"steps\": \"%s\"}], ",
                  PICK(g, STEPS), PICK(g, STEPS));
    tp_buf_c(&b, "\"inputs\": [");
    add_operand(g, &b, "x", false);
    tp_buf_c(&b, "], \"outputs\": [");
    add_operand(g, &b, "o", false);
    tp_buf_c(&b, "], \"scratch\": [");
    add_operand(g, &b, "s", true);
    tp_buf_c(&b, "]}");
    g->rest = tp_buf_view(&b);
}

/* The spec over its box, or at one point of it (`at` not NULL). */
static loaded *load_at(const generator *g, const int64_t *at)
{
    tp_buf b = {.arena = g->a};
    tp_buf_c(&b, "{\"tileproof\": 1, \"name\": \"random\", \"sizes\": {");
    for (int i = 0; i < SYMBOLIC; i++)
        tp_buf_printf(&b, "%s\"%s\": {\"min\": %lld, \"max\": %lld}", i ? ", " : "", NAMES[i],
                      (long long)(at ? at[i] : g->lo[i]), (long long)(at ? at[i] : g->hi[i]));
    tp_buf_str(&b, g->rest);
    return load_text(tp_buf_view(&b).p);
}

typedef struct judgement {
    const char *rule;
    tp_str subject, place; /* JSON pointer */
    tp_verdict worst;
    const tp_witness *witness;
    tp_str reason, rests_on;
} judgement;

typedef TP_VEC(judgement) judgements;

static judgement *find(judgements *js, const char *rule, tp_str place)
{
    for (uint32_t i = 0; i < js->len; i++)
        if (strcmp(js->at[i].rule, rule) == 0 && tp_str_eq(js->at[i].place, place))
            return &js->at[i];
    return NULL;
}

/* One judgement per rule and place: a violation hides an unknown, which hides a proof. */
static judgements judge(loaded *l, tp_prover_options o)
{
    judgements js = {0};
    tp_analysis_result r = analyze_with(l, NULL, o);
    for (uint32_t i = 0; i < r.findings.len; i++) {
        const tp_finding *f = &r.findings.at[i];
        judgement *j = find(&js, f->rule, f->loc.pointer);
        if (!j) {
            tp_push(l->arena, js,
                    ((judgement){f->rule, f->subject, f->loc.pointer, TP_PROVEN, .rests_on = f->rests_on}));
            j = &js.at[js.len - 1];
        }
        bool worse = f->verdict == TP_VIOLATED || f->verdict == TP_VACUOUS ||
                     (f->verdict == TP_UNKNOWN && j->worst == TP_PROVEN);
        if (worse && j->worst != TP_VIOLATED) {
            j->worst = f->verdict;
            j->reason = f->reason;
            j->witness = f->witness;
        }
    }
    return js;
}

typedef struct tally {
    unsigned specs, instances, claims, proven, violated, unknown, elsewhere, wrong;
} tally;

static void complain(tally *t, const generator *g, const judgement *j, const char *what, int64_t m, int64_t n)
{
    if (t->wrong++ < 5) {
        loaded *l = load_at(g, NULL);
        print_message("wrong: %s %.*s %s at M = %lld, N = %lld\n%.*s\n", j->rule, TP_FMT(j->subject), what,
                      (long long)m, (long long)n, TP_FMT(l->source.text));
        unload(l);
    }
}

/* Does this proof speak of the point whose judgements are `here`? Not if it
 * takes TP101 for granted and that fails there, nor where an extent has no
 * meaning; nor does TP201 go on to the compiler's rules once the lowering
 * rejects a block. */
static bool promised(const judgements *all, const judgements *here, const judgement *proof)
{
    for (uint32_t i = 0; i < all->len; i++)
        if (strcmp(proof->rule, "TP201") == 0 && all->at[i].rule == proof->rule && all->at[i].worst == TP_VIOLATED &&
            tp_str_eq(all->at[i].subject, proof->subject))
            return false;
    bool extents = strcmp(proof->rule, "TP008") == 0 || strcmp(proof->rule, "TP105") == 0;
    for (uint32_t i = 0; i < here->len; i++)
        if (here->at[i].worst == TP_VIOLATED && !extents &&
            (strcmp(here->at[i].rule, "TP008") == 0 || strcmp(here->at[i].rule, "TP105") == 0))
            return false;
    for (uint32_t i = 0; i < here->len; i++)
        if (tp_str_is(proof->rests_on, "F2, TP101") && strcmp(here->at[i].rule, "TP101") == 0 &&
            here->at[i].worst != TP_PROVEN && tp_str_eq(here->at[i].place, proof->place))
            return false;
    return true;
}

static void compare(generator *g, tally *t, tp_prover_options o)
{
    loaded *l = load_at(g, NULL);
    assert_non_null(l->spec);
    judgements all = judge(l, o);
    bool *at_witness = TP_NEWN(g->a, bool, all.len + 1);
    t->specs++;
    for (int64_t m = g->lo[0]; m <= g->hi[0]; m++)
        for (int64_t n = g->lo[1]; n <= g->hi[1]; n++) {
            loaded *point = load_at(g, (int64_t[]){m, n});
            judgements here = judge(point, (tp_prover_options){.no_solver = true});
            t->instances++;
            for (uint32_t i = 0; i < all.len; i++) {
                judgement *j = find(&here, all.at[i].rule, all.at[i].place);
                bool bad = j && j->worst == TP_VIOLATED;
                if (bad && all.at[i].worst == TP_PROVEN && promised(&all, &here, &all.at[i]))
                    complain(t, g, &all.at[i], "is proven but fails", m, n);
                if (all.at[i].witness && all.at[i].witness->sizes.at[0].value == m &&
                    all.at[i].witness->sizes.at[1].value == n)
                    at_witness[i] = bad;
            }
            for (uint32_t i = 0; i < here.len; i++) /* nothing may be missing either */
                if (here.at[i].worst == TP_VIOLATED && !find(&all, here.at[i].rule, here.at[i].place))
                    complain(t, g, &here.at[i], "is not judged but fails", m, n);
            unload(point);
        }
    for (uint32_t i = 0; i < all.len; i++) {
        const judgement *j = &all.at[i];
        t->claims++;
        t->proven += j->worst == TP_PROVEN;
        bool elsewhere = j->reason.n > 4 && memcmp(j->reason.p + j->reason.n - 9, "see TP", 6) == 0;
        if (j->worst == TP_UNKNOWN && elsewhere)
            t->elsewhere++;
        else if (j->worst == TP_UNKNOWN && t->unknown++ < 3)
            print_message("unknown: %s %.*s: %.*s\n%.*s\n", j->rule, TP_FMT(j->subject), TP_FMT(j->reason),
                          TP_FMT(l->source.text));
        t->violated += j->worst == TP_VIOLATED;
        if (j->worst == TP_VIOLATED && (!j->witness || !at_witness[i]))
            complain(t, g, j, "is violated, but not by its witness", j->witness ? j->witness->sizes.at[0].value : -1,
                     j->witness ? j->witness->sizes.at[1].value : -1);
    }
    unload(l);
}

static void symbolic_against_instances(void **state)
{
    (void)state;
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS);
    tally t = {0};
    print_message("instances: seed %llu\n", (unsigned long long)seed);
    for (uint64_t trial = 0; trial < trials; trial++) {
        tp_arena *a = tp_arena_new(0);
        generator g = {.a = a, .rng = tp_rng_new(seed, trial)};
        generate(&g);
        compare(&g, &t, (tp_prover_options){.rlimit = 100000, .no_solver = trial % 4 != 0});
        tp_arena_free(a);
    }
    print_message("instances: %u specs, %u points; %u claims: %u proven, %u violated, %u without a value at some "
                  "point, %u unknown; %u wrong\n",
                  t.specs, t.instances, t.claims, t.proven, t.violated, t.elsewhere, t.unknown, t.wrong);
    assert_int_equal(t.wrong, 0);
    assert_true(t.proven > t.specs && t.violated > t.specs / 2 && t.unknown * 100 < t.claims);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(symbolic_against_instances)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
