/* Edges: contracts and facts that nothing fulfils, expressions over every limit,
 * literals that their dtype does not hold. Each is built by number, so that
 * neighbours of what is refused are tried as well. TEST_SEED, TEST_TRIALS. */
#include "base/rng.h"
#include "tests/attack/attack.h"

enum { TRIALS = 60 };

typedef struct maker {
    tp_arena *a;
    tp_rng rng;
} maker;

static int pick(maker *g, int n)
{
    return (int)tp_rng_below(&g->rng, (uint64_t)n);
}

static const char *text(maker *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static const char *text(maker *g, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *s = tp_vprintf(g->a, fmt, ap).p;
    va_end(ap);
    return s;
}

/* Is any rule proven of it? A domain without a point proves everything. */
typedef struct words {
    bool refused, proven, vacuous, open;
} words;

typedef struct asking {
    loaded *l;
    words w;
} asking;

static void ask_rules(void *arg)
{
    asking *x = arg;
    tp_check_settings s;
    tp_analysis_result r = {0};
    tp_check_defaults(&s, false);
    s.analysis.prover.no_solver = true;
    s.analysis.replay = NULL;
    tp_analyze(x->l->arena, x->l->spec, &s.analysis, &r);
    for (uint32_t i = 0; i < r.findings.len; i++) {
        x->w.proven |= r.findings.at[i].verdict == TP_PROVEN;
        x->w.vacuous |= r.findings.at[i].verdict == TP_VACUOUS;
        x->w.open |= r.findings.at[i].verdict == TP_UNKNOWN || r.findings.at[i].verdict == TP_VIOLATED;
    }
}

static words words_of(const char *text)
{
    asking x = {.l = load_text(text)};
    if (!x.l->spec)
        x.w.refused = true;
    else
        assert_int_equal(tp_try(x.l->arena, ask_rules, &x), TP_OK);
    unload(x.l);
    return x.w;
}

/* ---- contracts and facts ---- */

/* Facts on a table t of n entries with values 0..9, or on sizes a and b in 1..12.
 * holds: whether some contents fulfil it, found by trying them all. */
typedef struct fact {
    const char *text;
    bool holds;
} fact;

static fact table_fact(maker *g)
{
    int c = pick(g, 10), d = pick(g, 10);
    switch (pick(g, 8)) {
    case 0: return (fact){text(g, "forall i < n: t[i] > %d and t[i] < %d", c, d), d - c >= 2};
    case 1: return (fact){text(g, "forall i < n: t[i] == %d and t[i] != %d", c, d), c != d};
    case 2: return (fact){text(g, "forall i < n: t[i] %% 2 == 0 and t[i] %% 2 == 1"), false};
    case 3: return (fact){text(g, "forall i < n: t[i] > t[i] + %d", c), false};
    case 4: return (fact){text(g, "t[0] > %d and t[0] < %d", c, d), d - c >= 2};
    case 5: return (fact){text(g, "forall i < n: t[i] * 2 == %d", c), c % 2 == 0};
    case 6: return (fact){text(g, "forall i < n, j < n: t[i] == t[j] and t[i] >= %d", c), true};
    default: return (fact){text(g, "forall i < n: t[i] >= %d and t[i] // 2 < %d", c, d), c / 2 < d};
    }
}

static void contradictory_contracts(void **state)
{
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS), empty = 0, said = 0, wrong = 0;
    (void)state;
    for (uint64_t t = 0; t < trials; t++) {
        maker g = {.a = tp_arena_new(0), .rng = tp_rng_new(seed, t + 0x636f6e)};
        fact f = table_fact(&g);
        const char *spec =
            text(&g,
                 "{\"tileproof\": 1, \"name\": \"contract\", \"target\": \"none\", \"sizes\": {\"n\": {\"min\": 1, "
                 "\"max\": 64}}, "
                 "\"scalar_prefetch\": [{\"name\": \"t\", \"dtype\": \"int32\", \"shape\": [\"n\"], \"values\": "
                 "{\"min\": 0, "
                 "\"max\": 9}}], \"contracts\": [{\"id\": \"C1\", \"fact\": \"%s\"}], \"grid\": [{\"axis\": \"i\", "
                 "\"steps\": \"n\"}], "
                 "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [16, 8], \"block_shape\": [1, 8], "
                 "\"index_map\": [\"t[i] * 2\", 0]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", "
                 "\"shape\": [\"n\", "
                 "8], \"block_shape\": [1, 8], \"index_map\": [\"i\", 0]}], \"kernel\": [\"o[...] = x[...]\"], "
                 "\"reference\": [\"o = take(x, t * 2, 0)\"]}",
                 f.text);
        words w = words_of(spec);
        bool quiet = !w.refused && !w.vacuous && !w.open; /* plain "proven" */
        empty += !f.holds;
        said += !f.holds && !quiet;
        wrong += f.holds && w.vacuous;
        if ((!f.holds && quiet) || (f.holds && w.vacuous))
            print_error("seed %llu: %s: %s\n", (unsigned long long)seed, f.text,
                        f.holds ? "called vacuous, and tables fulfil it"
                                : "no table fulfils it, and all rules are proven");
        tp_arena_free(g.a);
    }
    print_message(
        "contracts: seed %llu: of %llu, %llu are contradictory, of which %llu are not plainly proven; %llu of the "
        "others are called vacuous\n",
        (unsigned long long)seed, (unsigned long long)trials, (unsigned long long)empty, (unsigned long long)said,
        (unsigned long long)wrong);
    assert_int_equal(wrong, 0);
    assert_int_equal(said, empty);
}

static bool some_sizes(int64_t (*f)(int64_t, int64_t, int64_t, int64_t), int64_t c, int64_t d)
{
    for (int64_t a = 1; a <= 12; a++)
        for (int64_t b = 1; b <= 12; b++)
            if (f(a, b, c, d))
                return true;
    return false;
}
static int64_t sum_is(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return a + b == c && a - b == d;
}
static int64_t product_is(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return a * b == c * d && a > b + d;
}
static int64_t remainders(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return a % (c + 1) == d && b == a;
}

static void contradictory_facts(void **state)
{
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS), empty = 0, wrong = 0;
    (void)state;
    for (uint64_t t = 0; t < trials; t++) {
        maker g = {.a = tp_arena_new(0), .rng = tp_rng_new(seed, t + 0x666163)};
        int c = pick(&g, 16), d = pick(&g, 10), kind = pick(&g, 3);
        bool holds = kind == 0   ? some_sizes(sum_is, c, d)
                     : kind == 1 ? some_sizes(product_is, c, d)
                                 : some_sizes(remainders, c, d);
        const char *facts = kind == 0   ? text(&g, "\"a + b == %d\", \"a - b == %d\"", c, d)
                            : kind == 1 ? text(&g, "\"a * b == %d\", \"a > b + %d\"", c * d, d)
                                        : text(&g, "\"a %% %d == %d\", \"a == b\"", c + 1, d);
        words w = words_of(
            text(&g,
                 "{\"tileproof\": 1, \"name\": \"facts\", \"target\": \"none\", \"sizes\": {\"a\": {\"min\": 1, "
                 "\"max\": 12}, \"b\": {\"min\": 1, \"max\": 12}}, \"where\": [%s], \"grid\": [{\"axis\": "
                 "\"i\", \"steps\": \"a\"}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", "
                 "\"shape\": [\"a\", \"b\"], \"block_shape\": [1, \"b\"], \"index_map\": [\"i\", 0]}], "
                 "\"kernel\": [\"o[...] = 1\"]}",
                 facts));
        bool bad = holds ? w.vacuous || w.refused : !w.vacuous && !w.refused;
        empty += !holds;
        wrong += bad;
        if (bad)
            print_error("seed %llu: %s: %s\n", (unsigned long long)seed, facts,
                        holds ? "called empty, and sizes fulfil them" : "no sizes fulfil them, and it is not said");
        tp_arena_free(g.a);
    }
    print_message("facts: seed %llu: of %llu, %llu contradict each other; %llu are judged wrongly\n",
                  (unsigned long long)seed, (unsigned long long)trials, (unsigned long long)empty,
                  (unsigned long long)wrong);
    assert_int_equal(wrong, 0);
}

/* ---- huge expressions ---- */

/* A wrong map hidden in an expression of n terms: never proven, and no crash. */
static void huge_expressions(void **state)
{
    static const int TERMS[] = {10, 300, 1200, 2600, 6000};
    unsigned proven = 0, refused = 0, other = 0;
    (void)state;
    for (size_t i = 0; i < sizeof TERMS / sizeof *TERMS; i++)
        for (int form = 0; form < 4; form++) {
            maker g = {.a = tp_arena_new(0)};
            tp_buf b = {.arena = g.a};
            for (int t = 0; t < TERMS[i]; t++)
                switch (form) {
                case 0: tp_buf_printf(&b, "%smin(i, %d)", t ? " + " : "", t); break;
                case 1: tp_buf_printf(&b, "%s(i * %d + n) // %d", t ? " + " : "", t + 1, t + 2); break;
                case 2: tp_buf_printf(&b, "%s(i + %d) %% %d", t ? " + " : "", t, t + 3); break;
                default: tp_buf_printf(&b, "%si * n * %d", t ? " - " : "", t + 1); break;
                }
            words w = words_of(text(
                &g,
                "{\"tileproof\": 1, \"name\": \"huge\", \"target\": \"none\", \"sizes\": {\"n\": {\"min\": 1}}, "
                "\"grid\": [{\"axis\": \"i\", \"steps\": \"n\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": "
                "\"float32\", "
                "\"shape\": [\"n\"], \"block_shape\": [1], \"index_map\": [\"i + 1 + 0 * (%s)\"]}], \"outputs\": "
                "[{\"name\": "
                "\"o\", \"dtype\": \"float32\", \"shape\": [\"n\"], \"block_shape\": [1], \"index_map\": [\"i\"]}], "
                "\"kernel\": [\"o[...] = x[...]\"]}",
                tp_cstr(g.a, tp_buf_view(&b))));
            bool quiet = !w.refused && !w.vacuous && !w.open;
            proven += quiet;
            refused += w.refused;
            other += !quiet && !w.refused;
            if (quiet)
                print_error("a map of %d terms (form %d) leaves the array, and all rules are proven\n", TERMS[i], form);
            tp_arena_free(g.a);
        }
    print_message("huge expressions: %u refused, %u open or violated, %u proven\n", refused, other, proven);
    assert_int_equal(proven, 0);
}

/* ---- literals ---- */

/* The greatest finite number of a dtype as a literal, and the next that is none. */
static void literals_at_the_edge(void **state)
{
    static const struct {
        const char *dtype, *fits, *beyond;
    } EDGES[] = {
        {"float32", "3.4028234e38", "3.4028236e38"},
        {"float32", "-3.4028234e38", "-1e39"},
        {"float16", "65504.0", "65520.0"},
        {"float16", "-65504.0", "-1e30"},
        {"bfloat16", "3.38e38", "3.4e38"},
        {"float64", "1.797e308", "1e309"},
        {"int8", "127", "128"},
        {"int8", "-128", "-129"},
        {"uint8", "255", "256"},
        {"uint8", "0", "-1"},
        {"int32", "2147483647", "2147483648"},
        {"int32", "-2147483648", "-2147483649"},
        {"uint16", "65535", "65536"},
        {"int16", "-32768", "-32769"},
    };
    unsigned accepted = 0;
    (void)state;
    for (size_t i = 0; i < sizeof EDGES / sizeof *EDGES; i++)
        for (int beyond = 0; beyond < 2; beyond++)
            for (int form = 0; form < 3; form++) {
                static const char *const BEFORE[] = {"maximum(x[...], ", "where(x[...] > 0, x[...], ", "x[...] + ("};
                maker g = {.a = tp_arena_new(0)};
                const char *literal = beyond ? EDGES[i].beyond : EDGES[i].fits;
                char line[128];
                snprintf(line, sizeof line, "o[...] = %s%s)", BEFORE[form], literal);
                words w =
                    words_of(text(&g,
                                  "{\"tileproof\": 1, \"name\": \"edge\", \"target\": \"none\", \"sizes\": {\"n\": "
                                  "{\"min\": 1}}, \"inputs\": [{\"name\": \"x\", \"dtype\": \"%s\", \"shape\": "
                                  "[\"n\"]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"%s\", \"shape\": "
                                  "[\"n\"]}], \"kernel\": [\"%s\"]}",
                                  EDGES[i].dtype, EDGES[i].dtype, line));
                if (!beyond && w.refused)
                    fail_msg("%s: refused, and %s holds it", line, EDGES[i].dtype);
                if (beyond && !w.refused)
                    fail_msg("%s: accepted, and no %s", line, EDGES[i].dtype);
                accepted += beyond && !w.refused;
                tp_arena_free(g.a);
            }
    print_message("literals: %u beyond their dtype are accepted\n", accepted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(contradictory_contracts), cmocka_unit_test(contradictory_facts),
                                       cmocka_unit_test(huge_expressions), cmocka_unit_test(literals_at_the_edge)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
