/* Advice on costs: TP603 against the counters of the machine, on random grids and index maps, in every order of the
 * axes; kernels that get advice, and others that look like them and get none (tests/advice.json). */
#define _GNU_SOURCE
#include "base/rng.h"
#include "kernels/machine/machine.h"
#include "tests/unit/changes.h"
#include "tests/unit/support.h"

enum { AXES = 3, INPUTS = 2, TRIALS = 120, ORDERS = 6, WORTH = 10 /* percent, as the rule has it */ };

static const char *const NAMES[AXES] = {"i", "j", "k"};
static const int ORDER[ORDERS][AXES] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

typedef struct maker {
    tp_arena *a;
    tp_rng rng;
    int steps[AXES];
    const char *operands;
} maker;

static int pick(maker *m, int n)
{
    return (int)tp_rng_below(&m->rng, (uint64_t)n);
}

/* An index below *extent. */
static const char *random_index(maker *m, int *extent)
{
    int x = pick(m, AXES), y = pick(m, AXES), g = 2 + pick(m, 3), n = m->steps[x];
    switch (pick(m, 8)) {
    case 0: *extent = 1; return "0";
    case 1: *extent = (n + g - 1) / g; return tp_printf(m->a, "\"%s // %d\"", NAMES[x], g).p;
    case 2: *extent = n < g ? n : g; return tp_printf(m->a, "\"%s %% %d\"", NAMES[x], g).p;
    case 3: *extent = n < g ? n : g; return tp_printf(m->a, "\"min(%s, %d)\"", NAMES[x], g - 1).p;
    case 4: *extent = n + m->steps[y] - 1; return tp_printf(m->a, "\"%s + %s\"", NAMES[x], NAMES[y]).p;
    case 5: *extent = n; return tp_printf(m->a, "\"%d - %s\"", n - 1, NAMES[x]).p;
    default: *extent = n; return tp_printf(m->a, "\"%s\"", NAMES[x]).p;
    }
}

static void draw(maker *m)
{
    tp_buf b = {.arena = m->a};
    for (int x = 0; x < AXES; x++)
        m->steps[x] = 1 + pick(m, 6);
    for (int o = 0; o < INPUTS; o++) {
        int e[2], rows = 8 << (2 * pick(m, 3));
        const char *first = random_index(m, &e[0]), *second = random_index(m, &e[1]);
        tp_buf_printf(&b,
                      "%s{\"name\": \"x%d\", \"dtype\": \"float32\", \"shape\": [%d, %d, %d, 128], \"block_shape\": "
                      "[null, null, %d, 128], \"index_map\": [%s, %s, 0, 0]}",
                      o ? ", " : "", o, e[0], e[1], rows, rows, first, second);
    }
    m->operands = tp_cstr(m->a, tp_buf_view(&b));
}

static loaded *load_order(maker *m, const int *order)
{
    tp_buf grid = {.arena = m->a};
    for (int x = 0; x < AXES; x++)
        tp_buf_printf(&grid, "%s{\"axis\": \"%s\", \"steps\": %d}", x ? ", " : "", NAMES[order[x]], m->steps[order[x]]);
    const char *text =
        tp_printf(
            m->a,
            "{\"tileproof\": 1, \"name\": \"p\", \"target\": \"tpu-v5e\", \"sizes\": {}, \"grid\": [%.*s], "
            "\"inputs\": [%s], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [%d, %d, %d, 8, "
            "128], \"block_shape\": [null, null, null, 8, 128], \"index_map\": [\"i\", \"j\", \"k\", 0, 0]}], "
            "\"kernel\": [\"o[...] = x0[0:8, :] + x1[0:8, :]\"]}",
            TP_FMT(tp_buf_view(&grid)), m->operands, m->steps[0], m->steps[1], m->steps[2])
            .p;
    loaded *l = load_text(text);
    if (!l->spec)
        fail_msg("not read: %s", text);
    return l;
}

/* Elements that move in this order, all together and by input. */
static int64_t moved(maker *m, const int *order, int64_t *of)
{
    loaded *l = load_order(m, order);
    const tp_kernel *k = l->spec->kernels[0];
    tp_tensor arrays[INPUTS + 1];
    int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs) + 1), all;
    for (uint32_t i = 0; i < INPUTS + 1; i++) {
        int64_t dims[TP_MAX_RANK];
        tp_str why;
        assert_true(tp_operand_dims(k, &k->operands[i], env, dims, &why));
        arrays[i] = tp_tensor_new(l->arena, k->operands[i].dtype, k->operands[i].rank, dims);
        memset(arrays[i].data, 0, arrays[i].n * sizeof(float));
    }
    tp_run_request r = {
        .kernel = k, .env = env, .arrays = arrays, .in_order = true, .max_steps = 100000, .counts = true};
    tp_trap trap;
    tp_run_stats stats;
    assert_int_equal(tp_machine_run(l->arena, &r, &trap, &stats), TP_OK);
    all = stats.moved[INPUTS].written;
    for (int o = 0; o < INPUTS; o++)
        all += of[o] = stats.moved[o].fetched;
    unload(l);
    return all;
}

/* The order of the axes that the advice names. */
static const int *order_of(tp_str help)
{
    for (int n = 0; n < ORDERS; n++) {
        char text[32];
        snprintf(text, sizeof text, "[%s, %s, %s]", NAMES[ORDER[n][0]], NAMES[ORDER[n][1]], NAMES[ORDER[n][2]]);
        if (memmem(help.p, help.n, text, strlen(text)))
            return ORDER[n];
    }
    fail_msg("no order in: %.*s", TP_FMT(help));
    return NULL;
}

static void check_numbers(maker *m, const tp_finding *f, int64_t given, const int64_t *of, int64_t least)
{
    int64_t then[INPUTS], best = moved(m, order_of(f->help), then);
    int operand = f->subject.p[1] - '0';
    tp_str saved = tp_printf(m->a, "copies %.0f %% fewer bytes", 100 * (1 - (double)best / (double)given));
    double times = (double)of[operand] / (double)then[operand];
    tp_str often = tp_printf(m->a, "fetched %.*f times as often", times < 10, times);
    if (best != least)
        fail_msg("%.*s moves %lld elements; another order %lld: %s", TP_FMT(f->help), (long long)best, (long long)least,
                 m->operands);
    if (!memmem(f->note.p, f->note.n, saved.p, saved.n) || !memmem(f->message.p, f->message.n, often.p, often.n))
        fail_msg("%.*s; %.*s; the machine: %.*s, %.*s: %s", TP_FMT(f->message), TP_FMT(f->note), TP_FMT(often),
                 TP_FMT(saved), m->operands);
}

static bool one_grid(maker *m)
{
    int64_t of[ORDERS][INPUTS], least = INT64_MAX, given = 0;
    for (int n = 0; n < ORDERS; n++) {
        int64_t all = moved(m, ORDER[n], of[n]);
        given = n ? given : all;
        least = all < least ? all : least;
    }
    loaded *l = load_order(m, ORDER[0]);
    tp_analysis_result r = analyze_with(l, "TP603", (tp_prover_options){0});
    bool worth = least * 100 <= given * (100 - WORTH), advised = r.findings.len > 0;
    if (advised != worth)
        fail_msg("%lld elements are moved, %lld at least, and TP603 is %s: [%d, %d, %d] %s", (long long)given,
                 (long long)least, advised ? "there" : "silent", m->steps[0], m->steps[1], m->steps[2], m->operands);
    if (advised)
        check_numbers(m, &r.findings.at[0], given, of[0], least);
    unload(l);
    return advised;
}

static void repeated_fetches_are_those_of_the_machine(void **state)
{
    (void)state;
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS), advised = 0;
    for (uint64_t n = 0; n < trials; n++) {
        maker m = {.a = tp_arena_new(0), .rng = tp_rng_new(seed, n)};
        draw(&m);
        advised += one_grid(&m);
        tp_arena_free(m.a);
    }
    print_message("TP603: seed %llu, %llu grids in %d orders each, %llu with advice\n", (unsigned long long)seed,
                  (unsigned long long)trials, ORDERS, (unsigned long long)advised);
    assert_true(advised * 10 > trials);
}

static bool is_advised(const char *text, const char *rule)
{
    loaded *l = load_text(text);
    if (!l->spec)
        fail_msg("not read: %s", text);
    tp_analysis_result r = analyze_with(l, NULL, (tp_prover_options){0});
    bool advised = false;
    for (uint32_t i = 0; i < r.findings.len; i++)
        advised |= strcmp(r.findings.at[i].rule, rule) == 0 && r.findings.at[i].verdict == TP_ADVICE;
    unload(l);
    return advised;
}

static void look_alikes_get_none(void **state)
{
    place *p = *state;
    struct json_object *rows = json_object_from_file("tests/advice.json");
    const char *in = NULL;
    uint32_t none = 0;
    assert_non_null(rows);
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        struct json_object *row = json_object_array_get_idx(rows, i);
        const char *rule = string_of(row, "rule");
        bool wish = json_object_get_boolean(member(row, "advice"));
        in = member(row, "in") ? string_of(row, "in") : in;
        const char *text = tp_cstr(p->a, changed(p, in, member(row, "changes")));
        if (is_advised(text, rule) != wish)
            fail_msg("%s of %s, %s: %s", rule, in, string_of(row, "is"), wish ? "silent" : "there");
        none += !wish;
    }
    json_object_put(rows);
    assert_true(none >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(repeated_fetches_are_those_of_the_machine),
                                       IN_PLACE(look_alikes_get_none)};
    return cmocka_run_group_tests_name("advice", tests, NULL, NULL);
}
