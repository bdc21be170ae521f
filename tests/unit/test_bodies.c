/* Random kernels with bodies: what the analyzer says for a box of sizes
 * against what the machine does at every point of it. "Proven" and a trap of
 * that rule anywhere is unsound; a witness that does not trap is a false
 * alarm. Bodies start from the idioms of real kernels (initialise, mask,
 * accumulate, flush), with parts left out or changed. The seed is printed;
 * TEST_SEED and TEST_TRIALS change it (make fuzz). */
#include "tests/unit/support.h"

#include <stdlib.h>

#include "base/rng.h"
#include "kernels/trial/equiv.h"
#include "tests/unit/minimise.h"
#include "spec/table.h"
#include "tests/unit/random_scopes.h"

/* CERTIFIED: as in test_prover.c, less what a few points decide first where any case will do; Z3 can shift it a little
 * through what is guessed of loops. */
enum { TRIALS = 1200, AGAIN = 120, SCOPED = 25, CERTIFIED = 86608 };

/* ---- the machine's opinion ---- */

/* Several threads, and operations that wait for each other, give the same bytes, or the same trap. */
static void shared_alike(tp_arena *a, tp_run_request r, tp_status st, const tp_trap *was)
{
    const tp_kernel *k = r.kernel;
    tp_tensor again[4];
    tp_trap trap;
    uint32_t n = k->ninputs + k->noutputs;
    for (uint32_t i = 0; i < n; i++) {
        again[i] =
            i < k->ninputs ? r.arrays[i] : tp_tensor_new(a, r.arrays[i].dtype, r.arrays[i].rank, r.arrays[i].dims);
        if (i >= k->ninputs)
            tp_fill_random(&again[i], r.seed, i);
    }
    const tp_tensor *first = r.arrays;
    r.arrays = again;
    r.threads = 3;
    r.share_from = 1;
    r.strip = 16;
    r.apart = false;
    tp_status shared = tp_machine_run(a, &r, &trap, NULL);
    if (shared != st)
        fail_msg("by several threads: %s", tp_cstr(a, trap.message));
    if (st != TP_OK) {
        assert_int_equal(trap.step, was->step);
        assert_true(tp_str_eq(trap.message, was->message));
        return;
    }
    for (uint32_t i = k->ninputs; i < n; i++)
        if (k->operands[i].alias < 0)
            assert_memory_equal(again[i].data, first[i].data, first[i].n * tp_dtype_size(first[i].dtype));
}

static tp_status run_at(tp_arena *a, const tp_kernel *k, const int64_t *env, uint64_t seed, tp_trap *trap)
{
    tp_tensor arrays[4];
    tp_str why;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        assert_true(tp_operand_dims(k, &k->operands[i], env, dims, &why));
        arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        tp_fill_random(&arrays[i], seed, i);
    }
    tp_run_request r = {
        .kernel = k, .env = env, .arrays = arrays, .max_steps = 100000, .seed = seed, .short_row = 1, .apart = true};
    static unsigned runs;
    tp_status st = tp_machine_run(a, &r, trap, NULL);
    if (runs++ % 4 == 0)
        shared_alike(a, r, st, trap);
    return st;
}

static int replay(void *ctx, const tp_kernel *k, const int64_t *env, const char *rule, tp_trapped *out)
{
    (void)ctx;
    (void)out;
    int answer = -1;
    uint64_t inputs = k->sizes[0].kind == TP_SIZE_FIXED ? 1 : 4; /* one case: one run must do */
    for (uint64_t seed = 0; seed < inputs && answer != 1; seed++) {
        tp_arena *a = tp_arena_new(0);
        tp_trap trap;
        tp_status st = run_at(a, k, env, seed, &trap);
        answer = st == TP_OK ? 0 : st == TP_E_TRAP && strcmp(trap.rule, rule) == 0 ? 1 : -1;
        tp_arena_free(a);
        if (answer == -1)
            break;
    }
    return answer;
}

typedef struct tally {
    unsigned specs, refused, points, traps, claims, proven, violated, unknown, unsound, alarms, quiet;
    unsigned prims[TP_PRIMS], statements[TP_LEAVE + 1];
    unsigned certified, solved, enumerated; /* obligations */
    struct {
        const char *code;
        unsigned verdicts[TP_VERDICTS];
    } rules[64];
} tally;

/* ---- what was reached ---- */

static void count_region(tally *t, const tp_region *r)
{
    for (uint32_t i = 0; i < r->len; i++) {
        t->statements[r->at[i].kind]++;
        if (r->at[i].inst)
            t->prims[r->at[i].inst->prim]++;
        count_region(t, &r->at[i].body);
        count_region(t, &r->at[i].orelse);
        count_region(t, &r->at[i].test);
    }
}

static void count_findings(tally *t, const tp_findings *f)
{
    bool any = false;
    for (uint32_t i = 0; i < f->len; i++) {
        uint32_t k = 0;
        while (k < 63 && t->rules[k].code && strcmp(t->rules[k].code, f->at[i].rule) != 0)
            k++;
        t->rules[k].code = f->at[i].rule;
        t->rules[k].verdicts[f->at[i].verdict]++;
        if (f->at[i].verdict == TP_ADVICE)
            continue;
        t->claims++;
        t->proven += f->at[i].verdict == TP_PROVEN;
        t->violated += f->at[i].verdict == TP_VIOLATED;
        t->unknown += f->at[i].verdict == TP_UNKNOWN;
        any |= f->at[i].verdict != TP_PROVEN;
    }
    t->quiet += !any;
}

static void print_reached(const tally *t)
{
    static const char *const STATEMENTS[] = {"compute", "assign", "store", "if",    "for",   "while", "start",
                                             "wait",    "signal", "await", "check", "enter", "leave"};
    tp_arena *a = tp_arena_new(0);
    tp_buf not_reached = {.arena = a}, statements = {.arena = a}, rules = {.arena = a};
    unsigned reached = 0;
    for (int p = 0; p < TP_PRIMS; p++) {
        reached += t->prims[p] > 0;
        if (!t->prims[p])
            tp_buf_printf(&not_reached, " %s", tp_prim_info((tp_prim)p)->name);
    }
    for (int s = 0; s <= TP_LEAVE; s++)
        tp_buf_printf(&statements, " %s %u", STATEMENTS[s], t->statements[s]);
    for (uint32_t k = 0; k < 64 && t->rules[k].code; k++)
        tp_buf_printf(&rules, "%s%s %u/%u/%u", k ? ", " : "", t->rules[k].code, t->rules[k].verdicts[TP_PROVEN],
                      t->rules[k].verdicts[TP_VIOLATED], t->rules[k].verdicts[TP_UNKNOWN]);
    printf("bodies: statements:%.*s\nbodies: %u of %d primitives, not:%.*s\nbodies: proven/violated/unknown: %.*s\n",
           TP_FMT(tp_buf_view(&statements)), reached, TP_PRIMS, TP_FMT(tp_buf_view(&not_reached)),
           TP_FMT(tp_buf_view(&rules)));
    printf("bodies: of %u proven obligations %u (%.1f %%) have a certificate, %u by Z3, %u enumerated\n",
           t->certified + t->solved + t->enumerated, t->certified,
           100.0 * t->certified / (t->certified + t->solved + t->enumerated + 1e-9), t->solved, t->enumerated);
    fflush(stdout);
    tp_arena_free(a);
}

/* ---- the comparison ---- */

typedef enum wrong { FINE, REFUSED, ALARM, UNSOUND } wrong;

typedef struct judging {
    uint64_t trial;
    tally *t;   /* NULL: do not count */
    tp_buf say; /* what is wrong */
} judging;

static wrong at_every_point(judging *x, loaded *l, const tp_analysis_result *r)
{
    wrong answer = FINE;
    bool outside = open_for(r, "TP101"), no_steps = open_for(r, "TP007");
    const tp_kernel *k = l->spec->kernels[0];
    int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs));
    const tp_size *m = tp_size_find(k, TP_S("M")), *n = tp_size_find(k, TP_S("N"));
    bool one = m->kind == TP_SIZE_FIXED; /* then several inputs */
    int64_t m_lo = one ? 0 : m->min, m_hi = one ? 2 : m->max, n_lo = one ? 0 : n->min, n_hi = one ? 1 : n->max;
    for (int64_t at_m = m_lo; at_m <= m_hi; at_m++)
        for (int64_t at_n = n_lo; at_n <= n_hi; at_n++) {
            tp_trap trap;
            tp_str why;
            if (!one) {
                env[m->sym] = at_m;
                env[n->sym] = at_n;
            }
            if (!tp_in_domain(k, env, &why))
                continue;
            tp_arena *a = tp_arena_new(0);
            if (k->ntables && !tp_tables_find(a, k, env, NULL, 0, x->trial + (uint64_t)(at_m * 8 + at_n), NULL))
                fail_msg("no contents of the tables");
            tp_status st = run_at(a, k, env, x->trial + (one ? (uint64_t)(2 * at_m + at_n) << 32 : 0), &trap);
            if (st != TP_OK && st != TP_E_TRAP)
                fail_msg("trial %llu: %s", (unsigned long long)x->trial, tp_cstr(a, trap.message));
            if (x->t) {
                x->t->points++;
                x->t->traps += st == TP_E_TRAP;
            }
            /* where windows miss their arrays, or no step runs, other rules do not speak */
            bool told =
                st == TP_OK || outside || open_for(r, trap.rule) || (no_steps && strcmp(trap.rule, "TP401") == 0);
            if (!told && answer == FINE) {
                answer = UNSOUND;
                tp_buf_printf(&x->say, "%s proven, but %.*s at M = %lld, N = %lld", trap.rule, TP_FMT(trap.message),
                              (long long)at_m, (long long)at_n);
            }
            tp_arena_free(a);
        }
    return answer;
}

static wrong judge(const char *spec, judging *x)
{
    loaded *l = load_text(spec);
    wrong answer = FINE;
    if (!l->spec) {
        tp_buf_str(&x->say, l->ctx.findings.at[0].message);
        unload(l);
        return REFUSED;
    }
    tp_analysis_result r = analyze(
        l, (tp_analysis_options){.prover = {.rlimit = 100000, .no_solver = x->trial % 3 != 0}, .replay = replay});
    if (x->t) {
        x->t->specs++;
        count_findings(x->t, &r.findings);
        x->t->certified += r.stats.certified;
        x->t->solved += r.stats.linear + r.stats.raw;
        x->t->enumerated += r.stats.enumerated;
        count_region(x->t, &l->spec->kernels[0]->body->statements);
    }
    for (uint32_t i = 0; r.contradiction && i < r.findings.len; i++) {
        const tp_finding *f = &r.findings.at[i];
        if (f->verdict != TP_VIOLATED || !f->reason.n)
            continue;
        answer = ALARM;
        tp_buf_printf(&x->say, "false alarm: %s %.*s", f->rule, TP_FMT(f->message));
    }
    if (answer == FINE)
        answer = at_every_point(x, l, &r);
    unload(l);
    return answer;
}

typedef struct same_wrong {
    uint64_t trial;
    wrong wanted;
} same_wrong;

static bool is_wrong_alike(const char *spec, void *ctx)
{
    const same_wrong *s = ctx;
    tp_arena *a = tp_arena_new(0);
    judging x = {.trial = s->trial, .say = {.arena = a}};
    bool yes = strstr(spec, "\"M\"") && strstr(spec, "\"N\"") && judge(spec, &x) == s->wanted;
    tp_arena_free(a);
    return yes;
}

/* ---- statements that are executed again ---- */

static void in_a_loop(maker *g)
{
    static const char *const IN_TURN[] = {
        "s[t, :] = x[t, :]",
        "s[...] = where(iota(int32, (3, 3), 0) <= t, x[...], s[...])",
        "o[...] = where(iota(int32, (3, 3), 0) > t, s[...], o[...])",
        "s[...] = where(iota(int32, (3, 3), 1) < t, s[...], 0)",
    };
    int d = pick(g, 2);
    switch (pick(g, 6)) {
    case 0: line(g, text(g, "s[...] = flip(cumsum(s[...], axis=%d), %d)", pick(g, 2), d)); break;
    case 1: line(g, text(g, "s[...] = broadcast_to(sum(s[...], axis=%d, keepdims=True), (3, 3))", d)); break;
    case 2: line(g, text(g, "s[...] = where(iota(int32, (3, 3), %d) < %d, s[...], 0)", d, pick(g, 4))); break;
    case 3: line(g, pick(g, 2) ? "s[...] = dot(s[...], x[...])" : "s[...] = dot(x[...], s[...])"); break;
    default: {
        const char *end = pick(g, 2) ? "M" : "N";
        line(g, text(g, "for t in range(0, min(%s, 3)%s):", end, g->indent && pick(g, 2) ? " - r" : ""));
        for (int n = 1 + pick(g, 2); n > 0; n--)
            line(g, text(g, "    %s", IN_TURN[pick(g, 4)]));
        break;
    }
    }
}

/* Sums, running sums and loops in a loop that is unrolled, and again in the next step. */
static const char *make_again(maker *g)
{
    static const char *const START[] = {"s[...] = x[...]", "s[...] = 0", "s[ds(0, 2), :] = x[ds(0, 2), :]"};
    g->body = (tp_buf){.arena = g->a};
    if (pick(g, 2)) {
        line(g, "if k == 0:");
        line(g, text(g, "    %s", START[pick(g, 3)]));
    } else {
        line(g, START[pick(g, 3)]);
    }
    bool loop = pick(g, 4) > 0;
    if (loop)
        line(g, text(g, "for r in range(%d):", 2 + pick(g, 2)));
    g->indent = loop;
    for (int n = 1 + pick(g, 2); n > 0; n--)
        in_a_loop(g);
    g->indent = 0;
    line(g, text(g, "o[...] = where(iota(int32, (3, 3), %d) < %d, s[...], 0)", pick(g, 2), 1 + pick(g, 3)));
    return text(
        g,
        "{\"tileproof\": 1, \"name\": \"again\", \"target\": \"none\", \"sizes\": {\"M\": {\"min\": 1, \"max\": "
        "5}, \"N\": {\"min\": 1, \"max\": 4}}, \"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(M, 3)\"}, {\"axis\": "
        "\"k\", \"steps\": \"cdiv(N, 3)\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"M\", "
        "\"N\"], \"block_shape\": [3, 3], \"index_map\": [\"i\", \"k\"]}], \"outputs\": [{\"name\": \"o\", \"dtype\": "
        "\"float32\", \"shape\": [\"M\", \"N\"], \"block_shape\": [3, 3], \"index_map\": [\"i\", \"k\"]}], "
        "\"scratch\": "
        "[{\"name\": \"s\", \"dtype\": \"float32\", \"shape\": [3, 3]}], \"kernel\": [%.*s]}",
        (int)g->body.n, tp_buf_view(&g->body).p);
}

static void one_spec(maker *g, tally *t, uint64_t seed, uint64_t trial, const char *(*make)(maker *g))
{
    const char *spec = make(g);
    judging x = {.trial = trial, .t = t, .say = {.arena = g->a}};
    wrong w = judge(spec, &x);
    unsigned *count = w == UNSOUND ? &t->unsound : w == ALARM ? &t->alarms : &t->refused;
    if (w == FINE || (*count)++ >= 3)
        return;
    printf("seed %llu trial %llu: %.*s\n%s\n", (unsigned long long)seed, (unsigned long long)trial,
           TP_FMT(tp_buf_view(&x.say)),
           w == REFUSED ? spec : minimise(g->a, spec, is_wrong_alike, &(same_wrong){trial, w}));
    fflush(stdout);
}

static void specs_of(uint64_t seed, uint64_t trials, const char *(*make)(maker *g), tally *t)
{
    for (uint64_t trial = 0; trial < trials; trial++) {
        maker g = {.a = tp_arena_new(0), .rng = tp_rng_new(seed, trial)};
        one_spec(&g, t, seed, trial, make);
        tp_arena_free(g.a);
    }
}

/* What came of them, in a line that begins so. */
static void print_tally(const char *what, const tally *t)
{
    print_reached(t);
    print_message("%s: %u specs (%u refused), %u with nothing to say; %u points, %u trap; %u claims: %u proven, %u "
                  "violated, %u unknown; %u unsound, %u false alarms\n",
                  what, t->specs, t->refused, t->quiet, t->points, t->traps, t->claims, t->proven, t->violated,
                  t->unknown, t->unsound, t->alarms);
}

static void random_bodies(void **state)
{
    (void)state;
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS);
    tally t = {0};
    print_message("bodies: seed %llu\n", (unsigned long long)seed);
    specs_of(seed, trials, make_spec, &t);
    print_tally("bodies", &t);
    assert_int_equal(t.unsound, 0);
    assert_int_equal(t.alarms, 0);
    assert_true(t.unknown * 50 <= t.claims);
    if (!getenv("TEST_SEED") && !getenv("TEST_TRIALS"))
        assert_in_range(t.certified, CERTIFIED - CERTIFIED / 1000, CERTIFIED + CERTIFIED / 1000);
    assert_true(t.certified >= 9 * (t.solved + t.enumerated)); /* nine of ten */
    assert_true(t.quiet > t.specs / 50 && t.violated > t.specs / 2 && t.refused * 20 < t.specs);
}

static void statements_executed_again(void **state)
{
    (void)state;
    uint64_t trials = setting("TEST_TRIALS", AGAIN);
    tally t = {0};
    specs_of(2, trials, make_again, &t);
    print_message("again: %u specs; %u claims: %u proven, %u violated, %u unknown; %u unsound, %u false alarms\n",
                  t.specs, t.claims, t.proven, t.violated, t.unknown, t.unsound, t.alarms);
    assert_int_equal(t.refused + t.unsound + t.alarms, 0);
    assert_true(t.quiet > 0 && t.violated > t.specs / 4);
}

/* Buffers of parts of the body, places by turns and beyond a ref, mutable tables. */
static void scopes_in_loops_and_branches(void **state)
{
    (void)state;
    uint64_t seed = setting("TEST_SEED", 5), trials = setting("TEST_TRIALS", SCOPED);
    tally t = {0};
    specs_of(seed, trials, make_scoped, &t);
    print_tally("scopes", &t);
    assert_int_equal(t.refused + t.unsound + t.alarms, 0);
    assert_true(t.quiet > 0 && t.violated > t.specs / 4);
}

static bool has_a_dot(const char *spec, void *ctx)
{
    (void)ctx;
    loaded *l = load_text(spec);
    bool yes = l->spec && strstr(spec, "dot(") != NULL;
    unload(l);
    return yes;
}

/* What is left of a spec of which one statement matters. */
static void failing_specs_are_made_small(void **state)
{
    (void)state;
    unsigned before = 0, after = 0, tried = 0;
    for (uint64_t trial = 0; tried < 20; trial++) {
        maker g = {.a = tp_arena_new(0), .rng = tp_rng_new(3, trial)};
        const char *spec = make_spec(&g);
        if (has_a_dot(spec, NULL)) {
            const char *small = minimise(g.a, spec, has_a_dot, NULL);
            assert_true(has_a_dot(small, NULL) && strlen(small) <= strlen(spec));
            before += (unsigned)strlen(spec);
            after += (unsigned)strlen(small);
            tried++;
        }
        tp_arena_free(g.a);
    }
    print_message("minimiser: %u specs from %u to %u bytes\n", tried, before / tried, after / tried);
    assert_true(after * 10 < before * 8);
}

/* ---- each primitive, element by element ---- */

/* The window of x is 3 x 3, its array M x N; o is 3 x 3. One element of o at a
 * time is valid: proven and no trap, or violated and a trap, for each. */
static void primitives_spread_padding_exactly(void **state)
{
    (void)state;
    static const char *const VALUES[] = {
        "x[...]",
        "x[...] + 1",
        "-x[...]",
        "x[...] * y[...]",
        "transpose(x[...])",
        "transpose(x[...], (0, 1))",
        "zeros((3, 3), float32) + sum(x[...], axis=0, keepdims=True)",
        "zeros((3, 3), float32) + sum(x[...], axis=1, keepdims=True)",
        "zeros((3, 3), float32) + max(x[...])",
        "zeros((3, 3), float32) + expand_dims(sum(x[...], axis=0), 0)",
        "zeros((3, 3), float32) + expand_dims(sum(x[...], axis=0), 1)",
        "zeros((3, 3), float32) + expand_dims(min(x[...], axis=1), 0)",
        "zeros((3, 3), float32) + expand_dims(prod(x[...], axis=1), 1)",
        "dot(x[...], y[...])",
        "dot(x[...], y[...], contract=([0], [0]))",
        "dot(x[...], y[...], contract=([1], [1]))",
        "dot(x[...], y[...], contract=([0], [1]))",
        "dot(x[...], zeros((3, 3), float32))",
        "dot(where(iota(int32, (3, 3), 1) < N, x[...], 0), y[...])",
        "where(iota(int32, (3, 3), 0) < M, x[...], 0)",
        "where(iota(int32, (3, 3), 1) < N, x[...], 0)",
        "where((iota(int32, (3, 3), 0) < M) & (iota(int32, (3, 3), 1) < N), x[...], 0)",
        "where(iota(int32, (3, 3), 0) < M, 0, x[...])",
        "where(iota(int32, (3, 3), 0) == 1, x[...], y[...])",
        "where(x[...] > 0, full((3, 3), 1, float32), 0)",
        "where(iota(int32, (3, 3), 0) + iota(int32, (3, 3), 1) < 3, x[...], 0)",
        "where(iota(int32, (3, 3), 0) % 2 == 0, x[...], 0)",
        "where(iota(int32, (3, 3), 0) // 2 == 0, x[...], 0)",
        "reshape(reshape(x[...], (9,)), (3, 3))",
        "reshape(transpose(reshape(x[...], (9, 1))), (3, 3))",
        "reshape(x[...], (3, 1, 3))",
        "squeeze(expand_dims(x[...], 1), 1)",
        "transpose(reshape(x[...], (3, 1, 3)), (2, 1, 0))",
        "broadcast_to(sum(x[...], axis=0, keepdims=True), (3, 3))",
        "broadcast_to(sum(x[...], axis=1, keepdims=True), (3, 3))",
        "zeros((3, 3), float32) + argmax(x[...], axis=1, keepdims=True).astype(float32)",
        "x[...].astype(bfloat16).astype(float32)",
        "x[...] ** 2",
        "maximum(x[...], y[...])",
        "clip(x[...], 0, 1)",
        "dot(transpose(x[...]), transpose(y[...]))",
        "zeros((3, 3), float32) + sum(dot(x[...], y[...]), axis=0, keepdims=True)",
    };
    unsigned compared = 0, clean = 0;
    for (size_t v = 0; v < sizeof VALUES / sizeof *VALUES; v++)
        for (int at = 0; at < 9; at++)
            for (int shape = 0; shape < 3; shape++) {
                tp_arena *a = tp_arena_new(0);
                bool third = strstr(VALUES[v], "(3, 1, 3)") != NULL;
                const char *spec = tp_printf(a,
                                             "{\"tileproof\": 1, \"name\": \"one\", \"target\": \"none\", \"sizes\": "
                                             "{\"M\": %d, \"N\": %d}, \"grid\": [], \"inputs\": ["
                                             "{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"M\", \"N\"], "
                                             "\"block_shape\": [3, 3], \"index_map\": [0, 0]}, "
                                             "{\"name\": \"y\", \"dtype\": \"float32\", \"shape\": [\"N\", 3], "
                                             "\"block_shape\": [3, 3], \"index_map\": [0, 0]}], \"outputs\": ["
                                             "{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [%s], \"valid\": "
                                             "\"d0 == %d and d%d == %d\"}], \"kernel\": [\"o[...] = %s\"]}",
                                             shape == 1 ? 3 : 2,
                                             shape == 0   ? 3
                                             : shape == 1 ? 2
                                                          : 1,
                                             third ? "3, 1, 3" : "3, 3", at / 3, third ? 2 : 1, at % 3, VALUES[v])
                                       .p;
                loaded *l = load_text(spec);
                if (!l->spec)
                    fail_msg("%s: %s", VALUES[v], l->ctx.findings.at[0].message.p);
                tp_analysis_result r = analyze(l, (tp_analysis_options){.prover = {.no_solver = true}});
                const tp_kernel *k = l->spec->kernels[0];
                int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(k->exprs));
                tp_trap trap;
                tp_status st = run_at(a, k, env, 1, &trap);
                bool open = open_for(&r, "TP501"), traps = st == TP_E_TRAP && strcmp(trap.rule, "TP501") == 0;
                if (open != traps || (st != TP_OK && !traps))
                    fail_msg("%s: o[%d, %d] is %s, the analyzer says %s (shape %d)", VALUES[v], at / 3, at % 3,
                             traps         ? "undefined"
                             : st == TP_OK ? "defined"
                                           : tp_cstr(a, trap.message),
                             open ? "undefined" : "defined", shape);
                compared++;
                clean += !open;
                unload(l);
                tp_arena_free(a);
            }
    print_message("primitives: %u elements, %u defined\n", compared, clean);
    assert_true(clean > compared / 10 && clean < compared * 9 / 10);
}

/* Bodies that would take for ever are given up, and every rule about them says so. */
static void endless_bodies_are_given_up(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_buf b = {.arena = a};
    tp_buf_c(
        &b,
        "{\"tileproof\": 1, \"name\": \"endless\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}}, \"grid\": "
        "[{\"axis\": \"i\", \"steps\": \"cdiv(N, 8)\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", "
        "\"shape\": "
        "[\"N\"], \"block_shape\": [8], \"index_map\": [\"i\"]}], \"outputs\": [{\"name\": \"o\", \"dtype\": "
        "\"float32\", "
        "\"shape\": [\"N\"], \"block_shape\": [8], \"index_map\": [\"i\"]}], \"scratch\": [{\"name\": \"s\", "
        "\"dtype\": "
        "\"float32\", \"shape\": [8]}], \"kernel\": [\"s[...] = 0\"");
    for (int i = 0; i < 20; i++)
        tp_buf_printf(&b, ", \"%*sfor t%d in range(0, i + %d):\"", 4 * i, "", i, i);
    tp_buf_printf(&b, ", \"%*ss[...] += x[...]\"", 80, "");
    tp_buf_c(&b, ", \"o[...] = s[...]\"]}");
    loaded *l = load_text(tp_buf_view(&b).p);
    assert_non_null(l->spec);
    tp_analysis_result r = analyze(l, (tp_analysis_options){.prover = {.rlimit = 100000}});
    assert_true(open_for(&r, "TP501") && open_for(&r, "TP404") && open_for(&r, "TP102"));
    unload(l);
    tp_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(primitives_spread_padding_exactly), cmocka_unit_test(endless_bodies_are_given_up),
        cmocka_unit_test(failing_specs_are_made_small),      cmocka_unit_test(statements_executed_again),
        cmocka_unit_test(scopes_in_loops_and_branches),      cmocka_unit_test(random_bodies)};
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
