/* What lint proves of semaphores on any number of devices (TP502), against the machine on 1 to 4 of them: random bodies
 * of signals, waits and copies to other devices, in loops and under conditions, most of them balanced; some name one
 * device twice, or do what depends on the device. The seed is printed; TEST_SEED and TEST_TRIALS change it. */
#define _GNU_SOURCE
#include "base/rng.h"
#include "tests/unit/files.h"

enum { TRIALS = 24, STATEMENTS = 8 };

typedef struct body {
    tp_buf b;
    tp_rng rng;
    uint32_t copies;
    bool used[8];
} body;

static const char *const SEMAPHORES[] = {"c0", "c1", "ready", "each", "send", "recv", "sends", "recvs"};

static uint32_t below(body *x, uint32_t n)
{
    return (uint32_t)tp_rng_below(&x->rng, n);
}

static bool rarely(body *x)
{
    return below(x, 100) < 8;
}

static const char *device(body *x, bool turns)
{
    static const char *const ONCE[] = {"(d + 1) % D",
                                       "(d + D - 1) % D",
                                       "d",
                                       "D - 1 - d",
                                       "(D - d) % D",
                                       "(d + s) % D",
                                       "(d + D - min(s, D - 1)) % D"},
                             *const TWICE[] = {"0", "d // 2", "min(d + 1, D - 1)", "(2 * d) % D"};
    return rarely(x) ? TWICE[below(x, 4)] : ONCE[below(x, turns ? 7 : 5)];
}

/* A semaphore, of several the one of this turn. */
static tp_str counter(body *x, uint32_t number, bool turns)
{
    x->used[number] = true;
    bool several = number == 3 || number >= 6;
    return tp_printf(x->b.arena, several ? turns ? "%s[s]" : "%s[0]" : "%s", SEMAPHORES[number]);
}

/* Statements that belong together; one may be missing, doubled, or out of order. */
static void unit(body *x, int indent, bool turns)
{
    tp_str lines[STATEMENTS];
    tp_arena *a = x->b.arena;
    uint32_t n = 0;
    if (below(x, 2)) {
        static const char *const COUNTS[] = {"1", "2", "D", "s + 1"};
        tp_str on = counter(x, below(x, 4), turns);
        const char *by = COUNTS[below(x, turns ? 4 : 3)];
        lines[n++] = tp_printf(a, "semaphore_signal(%.*s, %s, device=%s)", TP_FMT(on), by, device(x, turns));
        lines[n++] = tp_printf(a, "semaphore_wait(%.*s, %s)", TP_FMT(on), by);
    } else {
        tp_str send = counter(x, below(x, 2) ? 4 : 6, turns), recv = counter(x, below(x, 2) ? 5 : 7, turns);
        lines[n++] = tp_printf(a, "copy_start(x[...], z[%u, %s, :], %.*s, %.*s, device=%s)", x->copies++ % 4,
                               turns ? "s" : "0", TP_FMT(send), TP_FMT(recv), device(x, turns));
        lines[n++] = tp_printf(a, "copy_wait(x[...], z[0, 0, :], %.*s)", TP_FMT(send));
        lines[n++] = tp_printf(a, "copy_wait(x[...], z[0, 0, :], %.*s)", TP_FMT(recv));
    }
    uint32_t one = below(x, n);
    if (rarely(x)) {
        lines[one] = TP_S("pass");
    } else if (rarely(x)) {
        lines[n++] = lines[one];
    } else if (rarely(x)) {
        tp_str first = lines[0];
        lines[0] = lines[n - 1];
        lines[n - 1] = first;
    }
    for (uint32_t i = 0; i < n; i++)
        tp_buf_printf(&x->b, ", \"%*s%.*s\"", indent, "", TP_FMT(lines[i]));
}

static void statement(body *x)
{
    static const char *const RANGES[] = {"D", "D - 1", "1, D", "3", "K", "d, D"}, *const CONDITIONS[] = {
                                                                                      "D > 2", "D % 2 == 0", "K > 1",
                                                                                      "d > 0"};
    uint32_t kind = below(x, 5);
    if (kind < 2) {
        tp_buf_printf(&x->b, ", \"for s in range(%s):\"", RANGES[rarely(x) ? 5 : below(x, 5)]);
        if (kind) { /* the neighbour may be as far ahead as this says */
            tp_buf_printf(&x->b, ", \"    if s > 0:\", \"        semaphore_wait(c0, 1)\"");
            unit(x, 4, true);
            tp_buf_printf(&x->b, ", \"    if s < %s - 1:\", \"        semaphore_signal(c0, 1, device=%s)\"",
                          below(x, 3) ? "D" : "K", device(x, false));
            x->used[0] = true;
        } else {
            unit(x, 4, true);
        }
    } else if (kind == 2) {
        tp_buf_printf(&x->b, ", \"if %s:\"", CONDITIONS[rarely(x) ? 3 : below(x, 3)]);
        unit(x, 4, false);
    } else {
        unit(x, 0, false);
    }
}

static void write_spec(body *x)
{
    static const char *const KINDS[] = {"semaphore",     "semaphore",     "barrier_semaphore", "semaphore",
                                        "dma_semaphore", "dma_semaphore", "dma_semaphore",     "dma_semaphore"};
    tp_buf all = {.arena = x->b.arena};
    for (uint32_t n = 1 + below(x, 3); n; n--)
        statement(x);
    tp_buf_printf(&all,
                  "{\"tileproof\": 1, \"name\": \"ring\", \"target\": \"none\", \"sizes\": {\"D\": {\"min\": 1, "
                  "\"max\": %u}, \"K\": {\"min\": 1, \"max\": 4}}, \"grid\": [{\"axis\": \"d\", \"steps\": \"D\", "
                  "\"semantics\": \"device\"}],",
                  below(x, 2) ? 8 : 100000);
    for (int out = 0; out < 2; out++)
        tp_buf_printf(&all,
                      "\"%s\": [{\"name\": \"%s\", \"dtype\": \"float32\", \"shape\": [\"D\", 8], \"block_shape\": "
                      "[null, 8], \"index_map\": [\"d\", 0], \"memory_space\": \"any\"}],",
                      out ? "outputs" : "inputs", out ? "o" : "x");
    tp_buf_printf(&all, "\"scratch\": [{\"name\": \"z\", \"dtype\": \"float32\", \"shape\": [4, \"D + K + 3\", 8]}");
    for (uint32_t i = 0; i < 8; i++)
        if (x->used[i])
            tp_buf_printf(&all, ", {\"name\": \"%s\", \"memory_space\": \"%s\", \"shape\": [%s]}", SEMAPHORES[i],
                          KINDS[i], i == 3 || i >= 6 ? "\"D + K + 3\"" : "");
    tp_buf_printf(&all, "], \"kernel\": [\"copy(x[...], o[...])\"%.*s]}", TP_FMT(tp_buf_view(&x->b)));
    x->b = all;
}

/* Of lint: p, v or u; 0: the spec is none. */
static char verdict(place *p, const char *path)
{
    outcome o = RUN(p->a, "lint", path, "--format", "json");
    struct json_object *r = record_of(p->a, &o), *spec = json_object_array_get_idx(member(r, "specs"), 0),
                       *findings = member(spec, "findings");
    char found = 0;
    for (size_t i = 0; i < json_object_array_length(findings); i++) {
        struct json_object *f = json_object_array_get_idx(findings, i);
        if (strcmp(string_of(f, "rule"), TP_RULE_DMA_SEMAPHORE) == 0)
            found = string_of(f, "verdict")[0];
    }
    json_object_put(r);
    return found;
}

static bool traps(place *p, const char *path)
{
    bool any = false;
    for (int devices = 1; devices <= 4 && !any; devices++)
        for (int k = 1; k <= 4 && !any; k += 3) {
            outcome o = RUN(p->a, "run", "--unchecked", path, "--fill", "normal", "--size",
                            tp_printf(p->a, "D=%d", devices).p, "--size", tp_printf(p->a, "K=%d", k).p);
            any = memmem(o.err.p, o.err.n, "trap[" TP_RULE_DMA_SEMAPHORE "]",
                         strlen("trap[" TP_RULE_DMA_SEMAPHORE "]")) != NULL;
        }
    return any;
}

static void what_is_proven_for_all_devices_holds_on_some(void **state)
{
    place *p = *state;
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS), proven = 0, trapped = 0, open = 0;
    for (uint64_t i = 0; i < trials; i++) {
        body x = {.b = {.arena = p->a}, .rng = tp_rng_new(seed, i)};
        write_spec(&x);
        const char *path = put(p, "ring.tile.json", x.b.p, x.b.n);
        char said = verdict(p, path);
        bool breaks = traps(p, path);
        assert_true(said);
        if (said == 'p' && breaks)
            fail_msg("seed %llu, number %llu: proven, and traps: %.*s", (unsigned long long)seed, (unsigned long long)i,
                     TP_FMT(tp_buf_view(&x.b)));
        proven += said == 'p';
        trapped += breaks;
        open += said == 'u' && !breaks;
    }
    print_message("seed %llu: %llu proven, %llu trap, %llu open\n", (unsigned long long)seed,
                  (unsigned long long)proven, (unsigned long long)trapped, (unsigned long long)open);
    assert_true(trials != TRIALS || (proven > TRIALS / 4 && trapped > TRIALS / 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_proven_for_all_devices_holds_on_some, make_place, drop_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
