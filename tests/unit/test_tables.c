/* Random specs with prefetched tables: what the analyzer says for a box of
 * sizes and all contents of the tables that keep the contracts, against what
 * the machine does for every one of them. "Proven" and a trap of that rule is
 * unsound. The seed is printed; TEST_SEED and TEST_TRIALS change it. */
#include "tests/unit/support.h"

#include <stdlib.h>

#include "base/rng.h"
#include "kernels/machine/machine.h"
#include "spec/table.h"

enum { TRIALS = 120, ENTRIES = 3, LOWEST = -1, HIGHEST = 3 };

typedef struct maker {
    tp_arena *a;
    tp_rng rng;
} maker;

static int pick(maker *g, int n)
{
    return (int)tp_rng_below(&g->rng, (uint64_t)n);
}

static const char *one_of(maker *g, const char *const *list, int n)
{
    return list[pick(g, n)];
}
#define ONE_OF(g, ...)                                                                                                 \
    one_of(g, (const char *const[]){__VA_ARGS__}, (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

static const char *contracts(maker *g)
{
    switch (pick(g, 6)) {
    case 0: return ", \"contracts\": [{\"id\": \"C1\", \"fact\": \"forall e < 2: t[e] + 1 == t[e + 1]\"}]";
    case 1: return ", \"contracts\": [{\"id\": \"C1\", \"fact\": \"forall e < M: 0 <= t[e] and t[e] < M\"}]";
    case 2: return ", \"contracts\": [{\"id\": \"C1\", \"fact\": \"forall e < 3, f < 3: e < f implies t[e] != t[f]\"}]";
    case 3:
        return ", \"contracts\": [{\"id\": \"C1\", \"fact\": \"0 <= t[0]\"}, {\"id\": \"C2\", \"fact\": \"forall e < "
               "2: t[e] <= "
               "t[e + 1]\"}]";
    case 4: return ", \"contracts\": [{\"id\": \"C1\", \"fact\": \"forall e < n: 0 <= t[e] and t[e] <= e\"}]";
    default: return "";
    }
}

/* One table of three entries, and one number. */
static const char *make_spec(maker *g)
{
    tp_buf b = {.arena = g->a};
    tp_buf_printf(
        &b,
        "{\"tileproof\": 1, \"name\": \"random\", \"target\": \"none\", \"sizes\": {\"M\": {\"min\": %d, "
        "\"max\": 3}}, \"scalar_prefetch\": [{\"name\": \"n\", \"dtype\": \"%s\", \"shape\": []%s}, {\"name\": "
        "\"t\", \"dtype\": \"int8\", \"shape\": [3]%s%s%s}]%s, ",
        1 + pick(g, 2), ONE_OF(g, "int8", "bool", "int8"),
        ONE_OF(g, "", ", \"values\": {\"min\": 0, \"max\": 3}", ", \"values\": {\"min\": 1, \"max\": \"M\"}"),
        ONE_OF(g, "", "", ", \"values\": {\"min\": 0, \"max\": \"M - 1\"}", ", \"values\": {\"min\": 0, \"max\": 2}"),
        ONE_OF(g, "", "", ", \"sorted\": true"), ONE_OF(g, "", "", ", \"extent\": \"n\"", ", \"extent\": \"M\""),
        contracts(g));
    const char *index[] = {ONE_OF(g, "t[i]", "i", "i", "t[i]", "t[t[i]]", "t[i + 1]", "min(t[i], M - 1)", "n",
                                  "t[i] if i < n else i", "max(t[i], 0)", "t[2 - i]", "(t[i] + i) // 2"),
                           ONE_OF(g, "i", "i", "i", "t[i]", "t[i]", "0", "M - 1 - t[i]", "min(i, t[i])")};
    tp_buf_printf(
        &b,
        "\"grid\": [{\"axis\": \"i\", \"steps\": \"%s\", \"semantics\": \"%s\"}], \"inputs\": [{\"name\": \"x\", "
        "\"dtype\": \"float32\", \"shape\": [\"M\"], \"block_shape\": [1], \"index_map\": [\"%s\"]}], "
        "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"M\"], \"block_shape\": [1], "
        "\"index_map\": [\"%s\"]}], ",
        ONE_OF(g, "M", "M", "M", "n", "3", "t[0]"), ONE_OF(g, "arbitrary", "arbitrary", "parallel"), index[0],
        index[1]);
    tp_buf_printf(
        &b, "\"scratch\": [{\"name\": \"s\", \"dtype\": \"float32\", \"shape\": [3]}], \"kernel\": [%s]}",
        ONE_OF(g, "\"o[...] = x[...]\"", "\"o[...] = x[...]\"", "\"if t[i] >= 0:\", \"    o[...] = x[...]\"",
               "\"s[...] = 0\", \"o[...] = s[ds(t[i], 1)]\"",
               "\"if i == t[0]:\", \"    s[...] = 1\", \"o[...] = s[ds(0, 1)]\"",
               "\"s[ds(0, 1)] = 1\", \"for e in range(n, t[i]):\", \"    s[e] = 1\", \"o[...] = s[ds(0, 1)]\"",
               "\"o[...] = where(iota(int32, (1,), 0) < t[i], 0, x[...])\"",
               "\"s[...] = where(iota(int32, (3,), 0) < n, 1, s[...])\", \"if n > 0:\", \"    o[...] = s[ds(0, 1)]\"",
               "\"if n == t[t[i]]:\", \"    o[...] = x[...]\", \"else:\", \"    o[...] = -x[...]\""));
    return tp_buf_view(&b).p;
}

typedef struct tally {
    unsigned specs, refused, points, traps, proven, violated, unknown, unsound, unconfirmed;
} tally;

static tp_status run_at(tp_arena *a, const tp_kernel *k, const int64_t *env, uint64_t seed, tp_trap *trap)
{
    tp_tensor arrays[2];
    int64_t dims[TP_MAX_RANK];
    tp_str why;
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(tp_operand_dims(k, &k->operands[i], env, dims, &why));
        arrays[i] = tp_tensor_new(a, TP_F32, k->operands[i].rank, dims);
    }
    tp_run_request r = {.kernel = k, .env = env, .arrays = arrays, .seed = seed, .max_steps = 1000};
    return tp_machine_run(a, &r, trap, NULL);
}

static int replay(void *ctx, const tp_kernel *k, const int64_t *env, const char *rule, tp_trapped *out)
{
    (void)ctx;
    (void)out;
    tp_arena *a = tp_arena_new(0);
    tp_trap trap;
    tp_status st = run_at(a, k, env, 0, &trap);
    int answer = st == TP_OK ? 0 : st == TP_E_TRAP && strcmp(trap.rule, rule) == 0 ? 1 : -1;
    tp_arena_free(a);
    return answer;
}

static void judge_point(tally *t, loaded *l, const tp_analysis_result *r, int64_t *env, const char *spec,
                        uint64_t trial)
{
    const tp_kernel *k = l->spec->kernels[0];
    tp_arena *a = tp_arena_new(0);
    tp_trap trap;
    tp_str why;
    if (tp_tables_hold(a, k, env, &why)) {
        tp_status st = run_at(a, k, env, trial, &trap);
        assert_true(st == TP_OK || st == TP_E_TRAP);
        t->points++;
        t->traps += st == TP_E_TRAP;
        bool others = open_for(r, "TP101") || open_for(r, "TP103") || open_for(r, "TP007");
        if (st == TP_E_TRAP && !others && !open_for(r, trap.rule) && t->unsound++ < 3)
            printf("trial %llu: %s proven, but %.*s with %.*s, M = %lld\n%s\n", (unsigned long long)trial, trap.rule,
                   TP_FMT(trap.message), TP_FMT(tp_tables_text(a, k, env)), (long long)env[k->sizes[0].sym], spec);
    }
    tp_arena_free(a);
}

/* Every content of both tables, entries from LOWEST to HIGHEST. */
static void every_content(tally *t, loaded *l, const tp_analysis_result *r, int64_t *env, const char *spec,
                          uint64_t trial)
{
    const tp_kernel *k = l->spec->kernels[0];
    tp_str why;
    assert_true(tp_tables_new(l->arena, k, env, &why));
    int64_t *n = tp_bound_table(env, k->tables[0].sym)->at, *at = tp_bound_table(env, k->tables[1].sym)->at;
    for (*n = LOWEST; *n <= HIGHEST; ++*n)
        for (at[0] = LOWEST; at[0] <= HIGHEST; at[0]++)
            for (at[1] = LOWEST; at[1] <= HIGHEST; at[1]++)
                for (at[2] = LOWEST; at[2] <= HIGHEST; at[2]++)
                    judge_point(t, l, r, env, spec, trial);
}

static void one_spec(maker *g, tally *t, uint64_t trial)
{
    const char *spec = make_spec(g);
    loaded *l = load_random(spec, &t->refused);
    if (!l)
        return;
    tp_analysis_result r =
        analyze(l, (tp_analysis_options){.prover = {.rlimit = 100000, .no_solver = trial % 2 != 0}, .replay = replay});
    t->specs++;
    for (uint32_t i = 0; i < r.findings.len; i++) {
        const tp_finding *f = &r.findings.at[i];
        t->proven += f->verdict == TP_PROVEN;
        t->violated += f->verdict == TP_VIOLATED;
        t->unknown += f->verdict == TP_UNKNOWN;
        if (f->verdict == TP_VIOLATED && f->reason.n && t->unconfirmed++ < 3)
            printf("trial %llu: false alarm: %s %.*s\n%s\n", (unsigned long long)trial, f->rule, TP_FMT(f->message),
                   spec);
    }
    const tp_kernel *k = l->spec->kernels[0];
    int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs));
    for (env[k->sizes[0].sym] = k->sizes[0].min; env[k->sizes[0].sym] <= 3; env[k->sizes[0].sym]++)
        every_content(t, l, &r, env, spec, trial);
    unload(l);
}

static void all_contents(void **state)
{
    (void)state;
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS);
    tally t = {0};
    print_message("tables: seed %llu\n", (unsigned long long)seed);
    for (uint64_t trial = 0; trial < trials; trial++) {
        maker g = {.a = tp_arena_new(0), .rng = tp_rng_new(seed, trial)};
        one_spec(&g, &t, trial);
        tp_arena_free(g.a);
    }
    print_message(
        "tables: %u specs (%u refused), %u contents, %u trap; %u proven, %u violated, %u unknown; %u unsound, %u "
        "false alarms\n",
        t.specs, t.refused, t.points, t.traps, t.proven, t.violated, t.unknown, t.unsound, t.unconfirmed);
    assert_int_equal(t.unsound, 0);
    assert_int_equal(t.unconfirmed, 0);
    assert_int_equal(t.refused, 0);
    assert_true(t.unknown * 12 <= t.proven);
}

/* ---- contents at large sizes ---- */

typedef struct large {
    const char *path;
    int64_t sizes[8];
    tp_table_entry pinned;
} large;

static int64_t digest_of(const tp_kernel *k, const int64_t *env)
{
    uint64_t h = 0;
    for (uint32_t t = 0; t < k->ntables; t++) {
        const tp_table_data *d = tp_bound_table(env, k->tables[t].sym);
        for (int64_t i = 0, n = d->dims[0]; i < n; i++)
            h = h * 1099511628211u + (uint64_t)d->at[i];
    }
    return (int64_t)h;
}

/* ---- contracts over all pairs ---- */

/* Of every content of t: what is told by looking at each entry once, pair by pair is so; of these forms all is told. */
static void pairs_are_what_each_of_them_is(void **state)
{
    enum { N = 4, VALUES = 4 };
    static const struct {
        const char *fact;
        bool told;
    } FACTS[] = {{"e == f or t[e] != t[f]", true},
                 {"f == e or 2 * t[e] + 1 != 2 * t[f] + 1", true},
                 {"e != f implies t[e] != t[f]", true},
                 {"e < f implies t[e] != t[f]", true},
                 {"f < e implies t[e] != t[f]", true},
                 {"e < f implies t[e] < t[f]", true},
                 {"e < f implies t[e] - e <= t[f] - f", true},
                 {"f < e implies t[e] < t[f]", false},
                 {"e <= f implies t[e] < t[f]", false},
                 {"e < f or t[e] != t[f]", false},
                 {"e == f or t[e] < t[f]", false},
                 {"e == f or t[e] != t[e]", false},
                 {"e < f implies t[f] < t[e]", false},
                 {"e < f implies t[e] < t[f] + e", false},
                 {"e == f implies t[e] != t[f]", false}};
    (void)state;
    for (size_t i = 0; i < sizeof FACTS / sizeof *FACTS; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "{\"tileproof\": 1, \"name\": \"pairs\", \"target\": \"none\", \"sizes\": {\"M\": {\"min\": 1, "
                 "\"max\": 4}}, \"scalar_prefetch\": [{\"name\": \"t\", \"dtype\": \"int8\", \"shape\": [4]}], "
                 "\"contracts\": [{\"id\": \"C1\", \"fact\": \"forall e < M, f < M: %s\"}], "
                 "\"grid\": [{\"axis\": \"i\", \"steps\": 1}], "
                 "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [1]}], "
                 "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [1]}], "
                 "\"kernel\": [\"o[...] = x[...]\"]}",
                 FACTS[i].fact);
        loaded *l = load_text(text);
        if (!l->spec)
            fail_msg("\"%s\" cannot be read", FACTS[i].fact);
        const tp_kernel *k = l->spec->kernels[0];
        const tp_contract *x = &k->contracts[0];
        int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs) + 1);
        tp_str why;
        assert_true(tp_tables_new(l->arena, k, env, &why));
        int64_t *at = tp_bound_table(env, k->tables[0].sym)->at;
        for (int64_t content = 0; content < N * 256; content++) {
            int64_t m = env[k->sizes[0].sym] = 1 + content / 256, n = 0, holds = 1;
            for (int64_t e = 0, rest = content; e < N; e++, rest /= VALUES)
                at[e] = rest % VALUES;
            bool told = tp_pairs_hold(l->arena, k, x, env, &n), all = true;
            for (int64_t e = 0; e < m; e++)
                for (int64_t f = 0; f < m; f++) {
                    env[x->bound[0]] = e;
                    env[x->bound[1]] = f;
                    assert_int_equal(tp_expr_eval(k->exprs, x->fact, env, &holds), TP_EVAL_OK);
                    all &= holds != 0;
                }
            if (told && (!all || n != m))
                fail_msg("\"%s\" does not hold of content %lld", FACTS[i].fact, (long long)content);
            if (FACTS[i].told && all && !told)
                fail_msg("\"%s\" is not told of content %lld", FACTS[i].fact, (long long)content);
            assert_int_equal(tp_tables_hold(l->arena, k, env, &why), all);
        }
        unload(l);
    }
}

/* For every seed contents that keep all contracts, or none; for most some, of several kinds. */
static void regular_contents(void **state)
{
    enum { SEEDS = 8, WORK = 1000000 };
    static const large LARGE[] = {
        {"examples/matmul/grouped_matmul.tile.json", {65537, 300, 3, 5, 1200}, {3, {1}, 128}},
        {"examples/matmul/grouped_matmul.tile.json", {7777, 1, 3, 5, 130}, {1, {129}, 0}},
        {"examples/matmul/block_sparse_matmul.tile.json", {300, 384, 1024, 4097}, {1, {1}, 0}},
        {"examples/attention/grouped_query_decode.tile.json", {256, 1, 2, 8192}, {0, {255}, 8000}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof LARGE / sizeof *LARGE; i++)
        for (uint32_t npinned = 0; npinned < 2; npinned++) {
            unsigned found = 0, kinds = 0;
            int64_t seen[SEEDS];
            for (uint64_t seed = 0; seed < SEEDS; seed++) {
                loaded *l = load_file(LARGE[i].path);
                const tp_kernel *k = l->spec->kernels[0];
                int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs) + 1), work = WORK;
                const tp_table_entry *pin = &LARGE[i].pinned;
                tp_str why;
                for (uint32_t s = 0; s < k->nsizes && k->sizes[s].kind == TP_SIZE_RANGE; s++)
                    env[k->sizes[s].sym] = LARGE[i].sizes[s];
                if (tp_tables_search_regular(l->arena, k, env, pin, npinned, seed, &work)) {
                    assert_true(tp_tables_hold(l->arena, k, env, &why));
                    assert_true(!npinned ||
                                tp_bound_table(env, k->tables[pin->table].sym)->at[pin->index[0]] == pin->value);
                    seen[found] = digest_of(k, env);
                    bool fresh = true;
                    for (unsigned o = 0; o < found; o++)
                        fresh &= seen[o] != seen[found];
                    kinds += fresh;
                    found++;
                }
                unload(l);
            }
            print_message("tables: %s, %u pinned: %u of %u found, %u different ones\n", LARGE[i].path, npinned, found,
                          (unsigned)SEEDS, kinds);
            assert_true(found * 4 >= SEEDS * 3 && kinds > 1);
        }
}

/* ---- windows that leave their array ---- */

static const tp_finding *find_of(const tp_analysis_result *r, const char *rule, const char *subject)
{
    for (uint32_t i = 0; i < r->findings.len; i++)
        if (strcmp(r->findings.at[i].rule, rule) == 0 && tp_str_is(r->findings.at[i].subject, subject))
            return &r->findings.at[i];
    fail_msg("no %s of %s", rule, subject);
    return NULL;
}

/* What the runs of all contents end with. */
typedef struct ends {
    unsigned fine, missed, leaked;
} ends;

static void run_every_step(loaded *l, int64_t *env, ends *count)
{
    enum { STEPS = 3 };
    const tp_kernel *k = l->spec->kernels[0];
    tp_str why;
    int64_t rows = env[k->sizes[0].sym], columns = env[k->sizes[1].sym];
    assert_true(tp_tables_new(l->arena, k, env, &why));
    int64_t *row = tp_bound_table(env, k->tables[0].sym)->at, *column = tp_bound_table(env, k->tables[1].sym)->at;
    for (int64_t content = 0; content < rows * rows * rows * columns * columns * columns; content++) {
        int64_t rest = content;
        for (int e = 0; e < STEPS; e++) {
            row[e] = rest % rows;
            rest /= rows;
            column[e] = rest % columns;
            rest /= columns;
        }
        tp_arena *a = tp_arena_new(0);
        tp_trap trap;
        tp_status st = run_at(a, k, env, 1, &trap);
        count->fine += st == TP_OK;
        count->missed += st == TP_E_TRAP && strcmp(trap.rule, "TP101") == 0;
        count->leaked += st == TP_E_TRAP && strcmp(trap.rule, "TP501") == 0;
        tp_arena_free(a);
    }
}

/* A sum over steps of blocks whose tables are exchanged, stored by a step that adds nothing: where all windows meet the
 * array, what earlier steps added is inside it, unless its last block is cut. A run ends at the first window that
 * misses, so that it says the same. */
static void sums_of_windows_that_may_miss(void **state)
{
    enum { MOST = 3 };
    static const struct {
        const char *rows, *stored;
        bool leaks;
    } SUMS[] = {{"2 * R", "x[...]", false},
                {"2 * R - 1", "x[...]", true},
                {"2 * R - 1", "where(2 * column[e] + iota(int32, (2, 2), 0) < 2 * R - 1, x[...], 0)", false},
                {"2 * R - 1", "where(2 * row[e] + iota(int32, (2, 2), 0) < 2 * R - 1, x[...], 0)", true}};
    (void)state;
    for (size_t i = 0; i < sizeof SUMS / sizeof *SUMS; i++) {
        char text[2048];
        snprintf(
            text, sizeof text,
            "{\"tileproof\": 1, \"name\": \"sums\", \"target\": \"none\", \"sizes\": {\"R\": {\"min\": 1, \"max\": 3}, "
            "\"C\": {\"min\": 1, \"max\": 3}}, \"scalar_prefetch\": [{\"name\": \"row\", \"dtype\": \"int32\", "
            "\"shape\": [3], \"values\": {\"min\": 0, \"max\": \"R - 1\"}}, {\"name\": \"column\", \"dtype\": "
            "\"int32\", \"shape\": [3], \"values\": {\"min\": 0, \"max\": \"C - 1\"}}], \"grid\": [{\"axis\": \"e\", "
            "\"steps\": 3}], \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"%s\", \"2 * C\"], "
            "\"block_shape\": [2, 2], \"index_map\": [\"column[e]\", \"row[e]\"]}], \"outputs\": [{\"name\": \"o\", "
            "\"dtype\": \"float32\", \"shape\": [2, 2], \"block_shape\": [2, 2], \"index_map\": [0, 0]}], \"scratch\": "
            "[{\"name\": \"s\", \"dtype\": \"float32\", \"shape\": [2, 2]}], \"kernel\": [\"y = %s\", \"if e == 0:\", "
            "\"    s[...] = y\", \"elif e == 1:\", \"    s[...] += y\", \"else:\", \"    o[...] = s[...]\"]}",
            SUMS[i].rows, SUMS[i].stored);
        loaded *l = load_text(text);
        if (!l->spec)
            fail_msg("%.*s", TP_FMT(l->ctx.findings.at[0].message));
        const tp_kernel *k = l->spec->kernels[0];
        int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs) + 1);
        ends count = {0};
        for (int64_t point = 0; point < MOST * MOST; point++) {
            env[k->sizes[0].sym] = 1 + point % MOST;
            env[k->sizes[1].sym] = 1 + point / MOST;
            run_every_step(l, env, &count);
        }
        tp_analysis_result r = analyze(l, (tp_analysis_options){.prover = {.no_solver = true}, .replay = replay});
        print_message("tables: a sum over %s of %s: %u runs end, %u windows miss, %u leaks\n", SUMS[i].rows,
                      SUMS[i].stored, count.fine, count.missed, count.leaked);
        assert_true(count.fine && count.missed);
        assert_int_equal(count.leaked > 0, SUMS[i].leaks);
        assert_int_equal(find_of(&r, "TP101", "x")->verdict, TP_VIOLATED);
        const tp_finding *leak = find_of(&r, "TP501", "o");
        assert_int_equal(leak->verdict == TP_PROVEN, !SUMS[i].leaks);
        if (!SUMS[i].leaks)
            assert_non_null(strstr(tp_cstr(l->arena, leak->rests_on), "TP101"));
        unload(l);
    }
}

/* What a step leaves is undefined unless the table keeps its contract: whoever speaks of a later step names it, and who
 * speaks of other undefined values does not. */
static void contents_are_named_where_earlier_steps_rest_on_them(void **state)
{
    (void)state;
    loaded *l = load_text(
        "{\"tileproof\": 1, \"name\": \"kept\", \"target\": \"none\", \"sizes\": {\"R\": {\"min\": 2, \"max\": 5}}, "
        "\"grid\": [{\"axis\": \"e\", \"steps\": 3}], \"scalar_prefetch\": [{\"name\": \"row\", \"dtype\": \"int32\", "
        "\"shape\": [3], \"values\": {\"min\": 0, \"max\": \"R - 1\"}}], \"contracts\": [{\"id\": \"C1\", \"fact\": "
        "\"forall a < 3: row[a] <= R - 2\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": "
        "[\"2 * R - 1\", 2], \"block_shape\": [2, 2], \"index_map\": [\"row[e]\", 0]}], \"outputs\": [{\"name\": "
        "\"o\", "
        "\"dtype\": \"float32\", \"shape\": [2, 2]}], \"scratch\": [{\"name\": \"s\", \"dtype\": \"float32\", "
        "\"shape\": "
        "[2, 2]}], \"kernel\": [\"if e == 0:\", \"    s[...] = 0\", \"if e == 2:\", \"    o[...] = s[...]\", "
        "\"s[...] = x[...]\"]}");
    assert_non_null(l->spec);
    tp_analysis_result r = analyze(l, (tp_analysis_options){.prover = {.no_solver = true}});
    const tp_finding *outside = find_of(&r, "TP501", "o"), *unwritten = find_of(&r, "TP404", "o");
    assert_int_equal(outside->verdict, TP_PROVEN);
    assert_true(tp_basis_names(outside->rests_on, "C1") && tp_basis_names(outside->rests_on, "TP103"));
    assert_int_equal(unwritten->verdict, TP_PROVEN);
    assert_false(tp_basis_names(unwritten->rests_on, "C1"));
    unload(l);
}

/* A window by one table is inside by what contracts say of another one, or since they leave out the sizes at which it
 * is not: these are named, too, and without them it is outside. */
static void contracts_of_other_tables_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *contracts, *names[2];
    } WAYS[] = {{"{\"id\": \"C1\", \"fact\": \"n[R - 1] == 1\"}", {"C1", "C1"}},
                {"{\"id\": \"C1\", \"fact\": \"forall a < R: p[a] <= n[a]\"}, "
                 "{\"id\": \"C2\", \"fact\": \"forall a < R: n[a] <= C - 1\"}",
                 {"C1", "C2"}},
                {"", {NULL}}};
    for (size_t i = 0; i < sizeof WAYS / sizeof *WAYS; i++) {
        tp_arena *a = tp_arena_new(0);
        loaded *l = load_text(
            tp_printf(
                a,
                "{\"tileproof\": 1, \"name\": \"other\", \"target\": \"none\", \"sizes\": {\"R\": {\"min\": 1, "
                "\"max\": 2}, \"C\": {\"min\": 1, \"max\": 3}}, \"grid\": [{\"axis\": \"e\", \"steps\": \"R\"}], "
                "\"scalar_prefetch\": [{\"name\": \"n\", \"dtype\": \"int32\", \"shape\": [\"R\"], \"values\": "
                "{\"min\": 0, \"max\": \"%s\"}}, {\"name\": \"p\", \"dtype\": \"int32\", \"shape\": [\"R\"], "
                "\"values\": {\"min\": 0, \"max\": \"R - 1\"}}], \"contracts\": [%s], \"inputs\": [{\"name\": \"x\", "
                "\"dtype\": \"float32\", \"shape\": [\"2 * C\", 2], \"block_shape\": [2, 2], \"index_map\": "
                "[\"p[e]\", 0]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"2 * R\", 2], "
                "\"block_shape\": [2, 2], \"index_map\": [\"e\", 0]}], \"kernel\": [\"o[...] = x[...]\"]}",
                i == 1 ? "C" : "C - 1", WAYS[i].contracts)
                .p);
        tp_arena_free(a);
        assert_non_null(l->spec);
        tp_analysis_result r = analyze(l, (tp_analysis_options){.prover = {.no_solver = true}});
        const tp_finding *window = find_of(&r, "TP101", "x");
        assert_int_equal(window->verdict, WAYS[i].names[0] ? TP_PROVEN : TP_VIOLATED);
        for (size_t n = 0; n < 2 && WAYS[i].names[0]; n++)
            if (!tp_basis_names(window->rests_on, WAYS[i].names[n]))
                fail_msg("%zu: given %.*s", i, TP_FMT(window->rests_on));
        unload(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_contents),
                                       cmocka_unit_test(regular_contents),
                                       cmocka_unit_test(contracts_of_other_tables_are_named),
                                       cmocka_unit_test(sums_of_windows_that_may_miss),
                                       cmocka_unit_test(contents_are_named_where_earlier_steps_rest_on_them),
                                       cmocka_unit_test(pairs_are_what_each_of_them_is)};
    return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
