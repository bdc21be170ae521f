/* What a spec may cost: specs that are slow by kind, made from a seed. None may
 * cost more than its budget, what is cut off says why, and the same spec ends
 * the same way every time. TEST_SEED, TEST_TRIALS; TEST_VERBOSE=1 lists costs. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "base/budget.h"
#include "base/rng.h"
#include "tests/unit/specs.h"
#include "verify/verify.h"

enum { SECONDS = 1, MIB = 192, KINDS = 11 };

static int64_t from_environment(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

/* ---- specs ---- */

typedef struct maker {
    tp_rng rng;
    tp_buf b;
    int64_t size; /* how much of the same */
} maker;

static int64_t upto(maker *m, int64_t n)
{
    return (int64_t)tp_rng_below(&m->rng, (uint64_t)n);
}

static const char *one_of(maker *m, const char *const *texts, int64_t n)
{
    return texts[upto(m, n)];
}

/* An expression over the names, `depth` operations deep. */
static void expression(maker *m, const char *const *names, int64_t n, int64_t depth)
{
    static const char *const OPS[] = {"+", "-", "*", "//", "%", "&", "^", "|", "<<", ">>"};
    if (depth <= 0) {
        tp_buf_printf(&m->b, "%s", one_of(m, names, n));
        return;
    }
    tp_buf_c(&m->b, "(");
    expression(m, names, n, depth - 1 - upto(m, 2));
    tp_buf_printf(&m->b, " %s ", one_of(m, OPS, 10));
    if (upto(m, 3))
        expression(m, names, n, depth - 2 - upto(m, 3));
    else
        tp_buf_printf(&m->b, "%lld", (long long)(1 + upto(m, 9)));
    tp_buf_c(&m->b, ")");
}

static const char *const AXES[] = {"i", "j", "k"}, *const SIZES[] = {"A", "B", "C", "D"};

static void sum_of_bits(maker *m)
{
    for (int64_t n = 0; n <= m->size; n++)
        tp_buf_printf(&m->b, "%s(%s %s %s)", n ? " + " : "", one_of(m, AXES, 3), upto(m, 2) ? "&" : "^",
                      one_of(m, upto(m, 2) ? AXES : SIZES, 3));
}

static void index_map(maker *m, int64_t kind)
{
    if (kind == 0)
        expression(m, AXES, 3, m->size / 2);
    else if (kind == 1)
        sum_of_bits(m);
    else if (kind == 2)
        tp_buf_printf(&m->b, "i ^ B + j");
    else if (kind == 3)
        tp_buf_printf(&m->b, "(i * B + j) %% (A * C + %lld) // D", (long long)(1 + upto(m, 5)));
    else if (kind == 4)
        tp_buf_printf(&m->b, "t%lld[t%lld[i %% A] %% A] %% A + k %% 2", (long long)upto(m, 8), (long long)upto(m, 8));
    else
        tp_buf_printf(&m->b, "i");
}

static void sizes(maker *m, int64_t kind)
{
    for (int n = 0; n < 4; n++) {
        tp_buf_printf(&m->b, "%s\"%s\": ", n ? ", " : "", SIZES[n]);
        if (kind == 5) {
            tp_buf_c(&m->b, "{\"in\": [");
            for (int64_t v = 1; v <= 64; v++)
                tp_buf_printf(&m->b, "%s%lld", v > 1 ? ", " : "", (long long)(v * (1 + n)));
            tp_buf_c(&m->b, "]}");
        } else if (kind == 2) {
            tp_buf_printf(&m->b, "{\"min\": 1, \"max\": %lld}", (long long)(20 + 20 * m->size));
        } else {
            tp_buf_printf(&m->b, "{\"min\": 1}");
        }
    }
    for (int64_t n = 0; kind == 6 && n < m->size; n++)
        tp_buf_printf(&m->b, ", \"E%lld\": \"%s%lld * %s%lld // 3 + 1\"", (long long)n, n ? "E" : "A + 0 * ",
                      (long long)(n ? n - 1 : 1), n > 1 ? "E" : "B + 0 * ", (long long)(n > 1 ? n - 2 : 1));
}

static void where(maker *m, int64_t kind)
{
    tp_buf_c(&m->b, "\"where\": [");
    for (int64_t n = 0; (kind == 7 || kind == 3) && n < m->size; n++) {
        tp_buf_printf(&m->b, "%s\"", n ? ", " : "");
        expression(m, SIZES, 4, 4);
        tp_buf_printf(&m->b, " %s %lld\"", upto(m, 2) ? "!=" : ">=", (long long)upto(m, 4));
    }
    tp_buf_c(&m->b, "], ");
}

static void tables(maker *m, int64_t kind)
{
    if (kind != 4)
        return;
    tp_buf_c(&m->b, "\"scalar_prefetch\": [");
    for (int n = 0; n < 8; n++)
        tp_buf_printf(&m->b,
                      "%s{\"name\": \"t%d\", \"dtype\": \"int32\", \"shape\": [\"A\"], \"values\": {\"min\": 0, "
                      "\"max\": \"A - 1\"}}",
                      n ? ", " : "", n);
    tp_buf_c(&m->b, "], \"contracts\": [");
    for (int64_t n = 0; n < 1 + m->size / 4; n++)
        tp_buf_printf(&m->b, "%s{\"id\": \"C%lld\", \"fact\": \"forall p < A: t%lld[p] != t%lld[A - 1 - p] + %lld\"}",
                      n ? ", " : "", (long long)n, (long long)upto(m, 8), (long long)upto(m, 8),
                      (long long)(1 + upto(m, 3)));
    tp_buf_c(&m->b, "], ");
}

static void body(maker *m, int64_t kind)
{
    tp_buf_c(&m->b, "\"kernel\": [\"n = full((), 0, int32)\"");
    if (kind == 8) {
        tp_buf_c(&m->b, ", \"while n >= 0:\", \"    n = n * 1\"");
    } else if (kind == 9) {
        for (int64_t n = 0; n < 2 * m->size; n++)
            tp_buf_printf(&m->b, ", \"if (i + %lld * j) %% %lld == k:\", \"    o[...] = x[...] + %lld\"", (long long)n,
                          (long long)(2 + upto(m, 9)), (long long)n);
    } else if (kind == 10) {
        for (int64_t n = 0; n < 3; n++)
            tp_buf_printf(&m->b, ", \"%*sfor v%lld in range(0, 2000000000):\"", (int)(4 * n), "", (long long)n);
        tp_buf_printf(&m->b, ", \"%*sn = n + v0\"", 12, "");
    }
    tp_buf_c(&m->b, ", \"o[...] = x[...]\"]");
}

/* How many of a kind the reader refuses: a generator that writes what is no spec tests nothing. */
static uint32_t refused[KINDS];

static tp_str make_spec(tp_arena *a, uint64_t seed)
{
    maker m = {.rng = tp_rng_new(seed, 0x62756467), .b = {.arena = a}};
    int64_t kind = (int64_t)(seed % KINDS);
    m.size = 2 + upto(&m, 14);
    tp_buf_printf(&m.b, "{\"tileproof\": 1, \"name\": \"slow%lld\", \"target\": \"none\", \"sizes\": {",
                  (long long)kind);
    sizes(&m, kind);
    tp_buf_c(&m.b, "}, ");
    where(&m, kind);
    tables(&m, kind);
    tp_buf_c(&m.b, "\"grid\": [");
    for (int n = 0; n < 3; n++)
        tp_buf_printf(&m.b, "%s{\"axis\": \"%s\", \"steps\": \"%s\", \"semantics\": \"arbitrary\"}", n ? ", " : "",
                      AXES[n], SIZES[n]);
    tp_buf_c(&m.b, "], ");
    for (int side = 0; side < 2; side++) {
        tp_buf_printf(&m.b,
                      "\"%s\": [{\"name\": \"%s\", \"dtype\": \"float32\", \"shape\": [\"8 * A\", \"128 * B\"], "
                      "\"block_shape\": [8, 128], \"index_map\": [\"",
                      side ? "outputs" : "inputs", side ? "o" : "x");
        index_map(&m, kind);
        tp_buf_c(&m.b, "\", \"j\"]}], ");
    }
    body(&m, kind);
    tp_buf_c(&m.b, ", \"reference\": [\"o = x\"]}");
    return tp_buf_view(&m.b);
}

/* ---- their cost ---- */

static bool speaks_of(tp_str text, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.n; i++)
        if (memcmp(text.p + i, word, n) == 0)
            return true;
    return false;
}

typedef struct checked {
    tp_arena *arena;
    tp_job job;
    uint32_t cut; /* findings that a limit left undecided */
    tp_str text;  /* of all findings */
} checked;

static void note(checked *o)
{
    tp_buf b = {.arena = o->arena};
    for (uint32_t i = 0; i < o->job.report.findings.len; i++) {
        const tp_finding *f = &o->job.report.findings.at[i];
        bool limited = speaks_of(f->reason, "--timeout") || speaks_of(f->reason, "--memory-limit");
        o->cut += f->verdict == TP_UNKNOWN && limited;
        tp_buf_printf(&b, "%s %d %.*s %.*s\n", f->rule, f->verdict, TP_FMT(f->subject), TP_FMT(f->reason));
    }
    o->text = tp_buf_view(&b);
}

typedef struct check_call {
    checked *o;
    tp_check_settings s;
} check_call;

static void check(void *arg)
{
    check_call *x = arg;
    tp_solver *solver = tp_solver_new(x->o->arena);
    tp_check_text(&x->o->job, &x->s, solver);
    tp_solver_free(solver);
    tp_job_note_cost(&x->o->job);
}

static checked *check_spec(tp_str text, bool execute, double max_seconds, int64_t mib)
{
    tp_arena *a = tp_arena_new(0);
    checked *o = TP_NEW(a, checked);
    check_call x = {.o = o};
    o->arena = a;
    o->job = (tp_job){.arena = tp_arena_child(a), .source = {TP_S("slow.tile.json"), text}};
    tp_check_defaults(&x.s, execute);
    x.s.analysis.replay_ctx = &x.s.max_memory;
    x.s.timeout = SECONDS;
    x.s.memory_mib = mib;
    tp_job_begin(&o->job);
    tp_job_allow(&o->job, &x.s);
    if (max_seconds >= 0)
        tp_arena_budget(o->job.arena)->max_seconds = max_seconds;
    assert_int_equal(tp_try(o->job.arena, check, &x), TP_OK);
    note(o);
    return o;
}

static void forget(checked *o)
{
    tp_arena_free(o->arena);
}

static void slow_specs_end(void **state)
{
    (void)state;
    uint64_t seed = (uint64_t)from_environment("TEST_SEED", 1),
             trials = (uint64_t)from_environment("TEST_TRIALS", KINDS);
    uint32_t valid = 0, cut = 0;
    double worst = 0;
    tp_arena *a = tp_arena_new(0);
    for (uint64_t n = seed; n < seed + trials; n++) {
        tp_str text = make_spec(a, n);
        checked *o = check_spec(text, false, -1, MIB);
        const tp_spec_report *r = &o->job.report;
        if (getenv("TEST_VERBOSE"))
            print_message("%llu: kind %llu, %.0f ms of CPU, %zu MiB, %u cut%s\n", (unsigned long long)n,
                          (unsigned long long)(n % KINDS), r->cpu_ms, r->memory >> 20, o->cut,
                          r->valid ? "" : ", refused");
        if (r->cpu_ms > 2e3 * SECONDS || r->memory > (size_t)(MIB + 32) << 20)
            print_error("seed %llu costs %.0f ms of CPU and %zu MiB:\n%.*s\n", (unsigned long long)n, r->cpu_ms,
                        r->memory >> 20, TP_FMT(text));
        assert_true(r->cpu_ms <= 2e3 * SECONDS);
        assert_true(r->memory <= (size_t)(MIB + 32) << 20);
        valid += r->valid;
        refused[n % KINDS] += !r->valid;
        cut += o->cut > 0;
        worst = r->cpu_ms > worst ? r->cpu_ms : worst;
        forget(o);
    }
    print_message("%llu specs, %u read, %u cut off; the worst took %.0f ms of CPU\n", (unsigned long long)trials, valid,
                  cut, worst);
    for (uint32_t kind = 0; kind < KINDS; kind++)
        if (refused[kind] * 2 > (trials + KINDS - 1) / KINDS)
            fail_msg("of kind %u, %u specs are refused by the reader", kind, refused[kind]);
    assert_true(valid * 2 > trials);
    tp_arena_free(a);
}

/* Side by side or one after the other, each spec has its own budget: not a byte of the report differs. */
static void threads_change_no_verdict(void **state)
{
    place *p = *state;
    for (uint64_t seed = 1; seed <= KINDS; seed++) {
        tp_str text = make_spec(p->a, seed);
        put(p, tp_printf(p->a, "%02llu.tile.json", (unsigned long long)seed).p, text.p, text.n);
    }
    outcome one = RUN(p->a, "lint", p->dir, "--timeout", "1", "--memory-limit", "64", "-j", "1", "--format", "json"),
            all = RUN(p->a, "lint", p->dir, "--timeout", "1", "--memory-limit", "64", "-j", "8", "--format", "json");
    assert_int_equal(one.exit, all.exit);
    assert_true(contains(one.out, "TP905") || contains(one.out, "--timeout"));
    if (!tp_str_eq(one.out, all.out))
        fail_msg("-j 1 and -j 8 differ: %zu and %zu bytes", one.out.n, all.out.n);
}

/* The cases of one spec, by four threads: the same, also where the budget ends among them, where it differs, and where
 * the machine traps. */
static void threads_change_no_case(void **state)
{
    static const struct {
        const char *spec, *timeout, *memory;
    } CALLS[] = {{"examples/attention/flash_attention.tile.json", "1", "8192"},
                 {"examples/attention/flash_attention.tile.json", "1", "60"},
                 {"examples/broken/extra_step.tile.json", "60", "8192"},
                 {"examples/broken/scatter_to_one_slot_twice.tile.json", "60", "8192"}};
    place *p = *state;
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++) {
        outcome of[2];
        for (int n = 0; n < 2; n++)
            of[n] = RUN(p->a, "verify", CALLS[i].spec, "--timeout", CALLS[i].timeout, "--memory-limit", CALLS[i].memory,
                        "-j", n ? "4" : "1", "--cases", "8", "--format", "json");
        assert_int_equal(of[0].exit, of[1].exit);
        if (!tp_str_eq(of[0].out, of[1].out))
            fail_msg("%s: -j 1 and -j 4 differ: %zu and %zu bytes", CALLS[i].spec, of[0].out.n, of[1].out.n);
    }
}

static bool has(const checked *o, const char *text)
{
    return speaks_of(o->text, text);
}

static void loops_without_end_are_cut_off_alike(void **state)
{
    (void)state;
    checked *first = check_spec(TP_S(ENDLESS), true, -1, MIB), *again = check_spec(TP_S(ENDLESS), true, -1, MIB);
    assert_true(has(first, "TP905") && has(first, "was the cases"));
    assert_true(has(first, "TP702") && !has(first, "no small sizes")); /* there are; they were not run */
    assert_true(tp_str_eq(first->text, again->text));
    assert_true(first->job.report.units == again->job.report.units);
    assert_true(first->job.report.cpu_ms < 2e3 * SECONDS);
    forget(first);
    forget(again);
}

/* Many looks at parts of what another device writes, between two waits. */
static void looks_of_devices_are_few_or_paid(void **state)
{
    static const char LOOKS[] =
        "{\"tileproof\": 1, \"name\": \"looks\", \"target\": \"none\", \"sizes\": {\"D\": {\"in\": [2]}},"
        "\"grid\": [{\"axis\": \"d\", \"steps\": \"D\", \"semantics\": \"device\"}],"
        "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"D\", 200000],"
        "\"block_shape\": [null, 200000], \"index_map\": [\"d\", 0], \"memory_space\": \"any\"}],"
        "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"D\", 200000],"
        "\"block_shape\": [null, 200000], \"index_map\": [\"d\", 0], \"memory_space\": \"any\"}],"
        "\"scratch\": [{\"name\": \"s\", \"memory_space\": \"dma_semaphore\", \"shape\": []},"
        "{\"name\": \"r\", \"memory_space\": \"dma_semaphore\", \"shape\": []}],"
        "\"kernel\": [\"for t in range(200000):\", \"    o[ds(t, 1)] = x[ds(t, 1)]\","
        "\"copy_start(x[0:1], o[0:1], s, r, device=1 - d)\", \"copy_wait(x[0:1], o[0:1], s)\","
        "\"copy_wait(x[0:1], o[0:1], r)\"], \"reference\": [\"o = x\"], \"cases\": [{\"sizes\": {\"D\": 2}}]}";
    (void)state;
    checked *o = check_spec(TP_S(LOOKS), true, -1, 4 * MIB), *small = check_spec(TP_S(LOOKS), true, -1, MIB / 2);
    assert_true(o->job.report.cpu_ms < 2e3 * SECONDS);
    assert_true(has(small, "--memory-limit")); /* and not the system */
    forget(small);
    forget(o);
}

static void the_hard_stop_says_that_it_was_time(void **state)
{
    (void)state;
    checked *o = check_spec(TP_S(ENDLESS), true, 0.01, MIB);
    assert_true(has(o, "TP905") && has(o, "unknown(time)"));
    assert_int_equal(tp_arena_budget(o->job.arena)->end, TP_BUDGET_TIME);
    forget(o);
}

static void memory_ends_a_spec_alike(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_str text;
    tp_str why;
    assert_int_equal(tp_read_file(a, "examples/matmul/grouped_matmul.tile.json", TP_JSON_MAX_BYTES, &text, &why),
                     TP_OK);
    checked *first = check_spec(text, false, -1, 2), *again = check_spec(text, false, -1, 2);
    assert_true(has(first, "--memory-limit"));
    assert_false(first->job.report.internal_error);
    assert_true(tp_str_eq(first->text, again->text));
    forget(first);
    forget(again);
    tp_arena_free(a);
}

/* ---- commands that execute and compare ---- */

static const char *put_text(place *p, const char *name, const char *text)
{
    return put(p, name, text, strlen(text));
}

static void says(const outcome *o, int exit, tp_str where, const char *what, place *p)
{
    if (o->exit != exit || !contains(where, what))
        fail_msg("exit %d, not %d, or no `%s`:\n%s%s", o->exit, exit, what, tp_cstr(p->a, o->out),
                 tp_cstr(p->a, o->err));
}

/* By whatever right it runs. What it would have written is not there. */
static void a_run_is_cut_off(void **state)
{
    place *p = *state;
    const char *spec = put_text(p, "endless.tile.json", ENDLESS), *out = path_in(p, "o.npy");
    outcome free = RUN(p->a, "run", "--unchecked", "--timeout", "1", "--fill", "normal", "--output",
                       tp_printf(p->a, "o=%s", out).p, spec),
            verified = RUN(p->a, "run", "--timeout", "1", "--fill", "normal", spec),
            small = RUN(p->a, "run", "--memory-limit", "1", "--fill", "normal", spec);
    says(&free, 4, free.err, "--timeout 1 raises it); at least 90 % of the work so far was the run", p);
    says(&verified, 4, verified.err, "--timeout 1 raises it); at least 90 % of the work so far was the cases", p);
    says(&small, 4, small.err, "1 MiB of --memory-limit", p);
    assert_true(access(out, F_OK) != 0);
}

/* Each defect has the budget; none is noticed, equal or the same for want of it. */
static void defects_are_cut_off_alike(void **state)
{
    place *p = *state;
    const char *spec = put_text(p, "endless.tile.json", ENDLESS);
    outcome o = RUN(p->a, "mutate", "--timeout", "1", "--defects", "4", spec),
            again = RUN(p->a, "mutate", "--timeout", "1", "--defects", "4", spec),
            small = RUN(p->a, "mutate", "--memory-limit", "1", "--defects", "4", spec);
    says(&o, 0, o.out, "open 4, survive 0", p);
    says(&o, 0, o.out, "--timeout 1 raises it); ", p);
    says(&o, 0, o.out, " % of the work so far was the cases", p);
    says(&small, 0, small.out, "1 MiB of --memory-limit", p);
    assert_true(tp_str_eq(o.out, again.out));
}

/* Windows that no prover tells apart, and no case. */
static const char *put_windows(place *p, const char *name, const char *map)
{
    enum { MANY = 24 };
    tp_buf b = {.arena = p->a};
    tp_buf_printf(&b, "{\"tileproof\": 1, \"name\": \"windows\", \"target\": \"none\", \"sizes\": {\"A\": {\"min\": "
                      "1}, \"B\": {\"min\": 1}}, \"grid\": [{\"axis\": \"i\", \"steps\": \"A\"}, {\"axis\": \"j\", "
                      "\"steps\": \"B\"}], \"inputs\": [");
    for (int n = 0; n < MANY; n++)
        tp_buf_printf(&b,
                      "%s{\"name\": \"x%d\", \"dtype\": \"float32\", \"shape\": [\"8 * A\"], \"block_shape\": [8], "
                      "\"index_map\": [\"%s + %d\"]}",
                      n ? ", " : "", n, map, n);
    tp_buf_printf(&b, "], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"8 * A\"], "
                      "\"block_shape\": [8], \"index_map\": [\"i\"]}]}");
    return put_text(p, name, tp_cstr(p->a, tp_buf_view(&b)));
}

static void a_comparison_is_cut_off(void **state)
{
    place *p = *state;
    const char *old = put_windows(p, "old.tile.json", "(i ^ A ^ j ^ B)"),
               *new = put_windows(p, "new.tile.json", "(B ^ (j ^ (A ^ i)))");
    outcome o = RUN(p->a, "diff", "--select", "TP006", "--timeout", "1", old, new);
    says(&o, 4, o.out, "the comparison is incomplete: ", p);
    says(&o, 4, o.out, "--timeout 1", p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_specs_end),
        cmocka_unit_test(looks_of_devices_are_few_or_paid),
        IN_PLACE(threads_change_no_verdict),
        IN_PLACE(threads_change_no_case),
        cmocka_unit_test(loops_without_end_are_cut_off_alike),
        cmocka_unit_test(the_hard_stop_says_that_it_was_time),
        cmocka_unit_test(memory_ends_a_spec_alike),
        IN_PLACE(a_run_is_cut_off),
        IN_PLACE(defects_are_cut_off_alike),
        IN_PLACE(a_comparison_is_cut_off),
    };
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
