/* What lint proves of any number of devices (TP401, TP404, TP502, TP504), against the machine on 1 to 4 of them, and 5
 * to 8 where something is proven: random bodies of signals, waits and copies to other devices, in loops and under
 * conditions, most of them balanced; slots of a ring that a neighbour frees, in turns or in steps; gathers. Some name
 * one device twice, do what depends on the device, leave out a wait or a signal, or mistake a slot. The same on meshes
 * of up to 4 x 4 devices, in lines of the one axis or the other, or askew. The seed is printed; TEST_SEED and
 * TEST_TRIALS change it. */
#define _GNU_SOURCE
#include "base/rng.h"
#include "tests/unit/files.h"

enum { TRIALS = 16, MESH_TRIALS = 8, STATEMENTS = 12 };

typedef struct body {
    tp_buf b;
    tp_rng rng;
    uint32_t copies;
    bool used[8];
    bool gathers, steps; /* there is the output `g`; there is an axis behind that of the devices */
    bool mesh, behind;   /* there is an axis `r` of devices, too; it is the second one */
    uint32_t form;       /* how devices of a mesh are named */
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

/* The device `e` of the ring. On a mesh, in the same line, or one further on (way: 1) or back (-1) along the other
 * axis, or that many further as this device has as its number in the ring. */
static const char *there(body *x, const char *e, int way)
{
    static const char *const LINES[] = {"r", "(r + 1) % R", "(r + R - 1) % R", "(r + d) % R", "(r + R - d % R) % R"},
                             *const TWICE[] = {"0", "r // 2", "d % R", "r + 1"};
    tp_arena *a = x->b.arena;
    uint32_t form = x->form < 3 ? 0 : x->form - 2;
    if (!x->mesh)
        return e;
    const char *line = rarely(x) ? TWICE[below(x, 4)] : LINES[!form ? 0 : 2 * form - (way > 0)];
    const char *first = x->behind ? e : line, *second = x->behind ? line : e;
    if (below(x, 4) == 0)
        return tp_printf(a, "(%s) * %s + %s", first, x->behind ? "R" : "D", second).p;
    return rarely(x) ? tp_printf(a, "(%s, %s)", second, first).p : tp_printf(a, "(%s, %s)", first, second).p;
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
    return there(x, rarely(x) ? TWICE[below(x, 4)] : ONCE[below(x, turns ? 7 : 5)], 1);
}

/* A semaphore, of several the one of this turn. */
static tp_str counter(body *x, uint32_t number, bool turns)
{
    x->used[number] = true;
    bool several = number == 3 || number >= 6;
    return tp_printf(x->b.arena, several ? turns ? "%s[s]" : "%s[0]" : "%s", SEMAPHORES[number]);
}

static const char *row(body *x, bool turns)
{
    static const char *const ROWS[] = {"0", "d", "(d + 1) % D", "s", "s", "(d + s) % D", "(d + D - min(s, D)) % D"};
    return ROWS[below(x, turns ? 7 : 3)];
}

/* Statements that belong together; one may be missing, doubled, or out of order. */
static void unit(body *x, int indent, bool turns)
{
    tp_str lines[STATEMENTS];
    tp_arena *a = x->b.arena;
    uint32_t n = 0, kind = below(x, 9);
    if (kind < 2) { /* this device alone */
        lines[n++] =
            tp_printf(a, "z[%u, %s, :] = z[%u, %s, :] + 1.0", below(x, 4), row(x, turns), below(x, 4), row(x, turns));
    } else if (kind < 3) {
        uint32_t to = below(x, 4);
        const char *at = row(x, turns);
        lines[n++] = tp_printf(a, "copy_start(x[...], z[%u, %s, :], alone)", to, at);
        lines[n++] = tp_printf(a, "copy_wait(x[...], z[%u, %s, :], alone)", to, at);
    } else if (kind < 5) {
        static const char *const COUNTS[] = {"1", "2", "D", "s + 1"};
        tp_str on = counter(x, below(x, 4), turns);
        const char *by = COUNTS[below(x, turns ? 4 : 3)];
        lines[n++] = tp_printf(a, "semaphore_signal(%.*s, %s, device=%s)", TP_FMT(on), by, device(x, turns));
        lines[n++] = tp_printf(a, "semaphore_wait(%.*s, %s)", TP_FMT(on), by);
    } else {
        tp_str send = counter(x, below(x, 2) ? 4 : 6, turns), recv = counter(x, below(x, 2) ? 5 : 7, turns);
        const char *from = row(x, turns);
        uint32_t of = below(x, 4);
        tp_str source = below(x, 2) ? TP_S("x[...]") : tp_printf(a, "z[%u, %s, :]", of, from);
        lines[n++] = tp_printf(a, "copy_start(%.*s, z[%u, %s, :], %.*s, %.*s, device=%s)", TP_FMT(source),
                               x->copies++ % 4, row(x, turns), TP_FMT(send), TP_FMT(recv), device(x, turns));
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
            for (uint32_t n = 1 + below(x, 3); n; n--)
                unit(x, 4, true);
        }
    } else if (kind == 2) {
        tp_buf_printf(&x->b, ", \"if %s:\"", CONDITIONS[rarely(x) ? 3 : below(x, 3)]);
        unit(x, 4, false);
    } else {
        unit(x, 0, false);
    }
}

/* A statement, of one line or two, some of them missing, doubled or out of order; the rest of the turn. */
static void emit(body *x, int indent, tp_str *all, uint32_t n)
{
    uint32_t wrong = below(x, 3), at = below(x, n), kind = below(x, 4), lines = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool here = !wrong && i == at;
        if (here && kind == 3 && i + 1 < n) {
            tp_str next = all[i + 1];
            all[i + 1] = all[i];
            all[i] = next;
        }
        for (uint32_t times = here && kind == 0 ? 0 : here && kind == 1 ? 2 : 1; times; times--) {
            tp_str rest = all[i];
            while (rest.n) {
                const char *end = memchr(rest.p, '\n', rest.n);
                size_t len = end ? (size_t)(end - rest.p) : rest.n;
                tp_buf_printf(&x->b, ", \"%*s%.*s\"", indent, "", (int)len, rest.p);
                lines++;
                rest.p += len + (end != NULL);
                rest.n -= len + (end != NULL);
            }
        }
    }
    if (!lines)
        tp_buf_printf(&x->b, ", \"%*spass\"", indent, "");
}

/* What a neighbour writes goes to slots in turn; this device says when one is free. */
static void slots(body *x)
{
    static const char *const TURNS[] = {"D - 1", "D", "K", "3"};
    tp_arena *a = x->b.arena;
    tp_str lines[STATEMENTS];
    const char *t = x->steps ? "i" : "s", *count = x->steps ? "K" : TURNS[below(x, 4)];
    uint32_t n = 0, of = 1 + below(x, 3), slip = rarely(x), forth = below(x, 4) > 0;
    bool late = of > 1 && below(x, 2); /* the slot before is looked at, too, and freed a turn later */
    uint32_t lag = of - late;
    const char *right = forth ? "(d + 1) % D" : "(d + D - 1) % D", *left = forth ? "(d + D - 1) % D" : "(d + 1) % D";
    const char *send = below(x, 4) == 0 ? "send" : tp_printf(a, "sends[%s %% %u]", t, of).p,
               *recv = below(x, of > 1 ? 5 : 2) == 0 ? "recv" : tp_printf(a, "recvs[%s %% %u]", t, of + rarely(x)).p;
    tp_str slot = tp_printf(a, "z[1, %s %% %u, :]", t, of),
           last = tp_printf(a, "z[1, (%s + %u) %% %u, :]", t, of - 1, of), source = TP_S("x[...]");
    if (rarely(x))
        lag = below(x, 2) ? lag + 1 : lag - 1;
    if (late && below(x, 3)) /* what it looks at first */
        tp_buf_printf(&x->b, ", \"copy(x[...], z[1, %u, :])\"", of - 1);
    x->used[0] = x->used[4] = x->used[5] = x->used[6] = x->used[7] = true;
    if (lag || rarely(x))
        lines[n++] = tp_printf(a, "if %s >= %u:\n    semaphore_wait(c0, 1)", t, lag + slip);
    if (late && below(x, 2))
        lines[n++] = tp_printf(a, "z[2, %s, :] = %.*s", t, TP_FMT(last));
    else if (late)
        source = last;
    lines[n++] = tp_printf(a, "copy_start(%.*s, %.*s, %s, %s, device=%s)", TP_FMT(source), TP_FMT(slot), send, recv,
                           rarely(x) ? there(x, left, -1) : there(x, right, 1));
    lines[n++] = tp_printf(a, "copy_wait(x[...], z[0, 0, :], %s)", send);
    lines[n++] = tp_printf(a, "copy_wait(x[...], z[0, 0, :], %s)", recv);
    if (below(x, 2)) {
        lines[n++] = tp_printf(a, "z[3, %s, :] = %.*s + 1.0", t, TP_FMT(slot));
    } else {
        lines[n++] = tp_printf(a, "copy_start(%.*s, z[3, %s, :], alone)", TP_FMT(slot), t);
        lines[n++] = tp_printf(a, "copy_wait(%.*s, z[3, %s, :], alone)", TP_FMT(slot), t);
    }
    lines[n++] = tp_printf(a, "if %s < %s - %u:\n    semaphore_signal(c0, 1, device=%s)", t, count, lag + slip,
                           rarely(x) ? there(x, right, 1) : there(x, left, -1));
    if (!x->steps)
        tp_buf_printf(&x->b, ", \"for s in range(%s):\"", count);
    emit(x, x->steps ? 0 : 4, lines, n);
    if (!x->steps && below(x, 2))
        tp_buf_printf(&x->b, ", \"if %s > 0:\", \"    copy(z[%u, %s - 1, :], o[...])\"", count, 2 + below(x, 2), count);
}

/* All shards to all. */
static void gather(body *x)
{
    static const char *const SHARDS[] = {"(d + D - s) % D", "(d + D - s) % D", "(d + s) % D", "(d + D - s - 1) % D"};
    tp_arena *a = x->b.arena;
    tp_str lines[STATEMENTS];
    uint32_t n = 0, ring = below(x, 2);
    x->gathers = x->used[4] = x->used[5] = x->used[6] = x->used[7] = true;
    tp_buf_printf(&x->b, ", \"copy(x[...], g[%s, :])\", \"for s in range(%s):\"", rarely(x) ? "(d + 1) % D" : "d",
                  rarely(x)   ? "D"
                  : rarely(x) ? "D - 2"
                              : "D - 1");
    if (ring) {
        const char *shard = SHARDS[rarely(x) ? below(x, 4) : 0];
        lines[n++] = tp_printf(a, "copy_start(g[%s, :], g[%s, :], sends[s], recvs[s], device=%s)", shard, shard,
                               there(x, rarely(x) ? "(d + D - 1) % D" : "(d + 1) % D", 1));
        lines[n++] = TP_S("copy_wait(x[...], z[0, 0, :], sends[s])");
        lines[n++] = TP_S("copy_wait(x[...], z[0, 0, :], recvs[s])");
    } else {
        lines[n++] = tp_printf(a, "copy_start(x[...], g[%s, :], send, recv, device=%s)",
                               rarely(x) ? "(d + s) % D" : "d", there(x, "(d + s + 1) % D", 1));
        if (below(x, 2)) {
            lines[n++] = TP_S("copy_wait(x[...], z[0, 0, :], send)");
            lines[n++] = TP_S("copy_wait(x[...], z[0, 0, :], recv)");
        }
    }
    emit(x, 4, lines, n);
    if (n == 1)
        tp_buf_printf(&x->b, ", \"for s in range(D - 1):\", \"    copy_wait(x[...], z[0, 0, :], send)\", \"    "
                             "copy_wait(x[...], z[0, 0, :], recv)\"");
    if (below(x, 2))
        tp_buf_printf(&x->b, ", \"copy(g[%s, :], o[...])\"", below(x, 2) ? "0" : "(d + 1) % D");
}

static void write_spec(body *x)
{
    static const char *const KINDS[] = {"semaphore",     "semaphore",     "barrier_semaphore", "semaphore",
                                        "dma_semaphore", "dma_semaphore", "dma_semaphore",     "dma_semaphore"};
    tp_buf all = {.arena = x->b.arena};
    uint32_t kind = below(x, 4);
    x->steps = kind == 1 && below(x, 2);
    if (kind == 0)
        gather(x);
    else if (kind == 1)
        slots(x);
    for (uint32_t n = kind > 1 ? 1 + below(x, 3) : rarely(x); n; n--)
        statement(x);
    const char *of = !x->mesh    ? "\"D\""
                     : x->behind ? "\"D\", \"R\""
                                 : "\"R\", \"D\"",
               *nulls = x->mesh ? "null, null" : "null",
               *at = !x->mesh    ? "\"d\""
                     : x->behind ? "\"d\", \"r\""
                                 : "\"r\", \"d\"";
    tp_buf_printf(&all,
                  "{\"tileproof\": 1, \"name\": \"ring\", \"target\": \"none\", \"sizes\": {\"D\": {\"min\": 1, "
                  "\"max\": %u}, \"R\": {\"min\": 1, \"max\": %u}, \"K\": {\"min\": 1, \"max\": 4}}, \"grid\": [",
                  below(x, 2) ? 8 : 100000, below(x, 2) ? 4 : 3000);
    for (uint32_t i = 0; i < 2; i++)
        if ((i == 1) == x->behind && x->mesh)
            tp_buf_printf(&all, "{\"axis\": \"r\", \"steps\": \"R\", \"semantics\": \"device\"}%s", i ? "" : ", ");
        else if (x->mesh || !i)
            tp_buf_printf(&all, "{\"axis\": \"d\", \"steps\": \"D\", \"semantics\": \"device\"}%s",
                          x->mesh && !i ? ", " : "");
    tp_buf_printf(&all, "%s],", x->steps ? ", {\"axis\": \"i\", \"steps\": \"K\"}" : "");
    for (int out = 0; out < 2; out++) {
        tp_buf_printf(&all,
                      "\"%s\": [{\"name\": \"%s\", \"dtype\": \"float32\", \"shape\": [%s, 8], \"block_shape\": "
                      "[%s, 8], \"index_map\": [%s, 0], \"memory_space\": \"any\"}",
                      out ? "outputs" : "inputs", out ? "o" : "x", of, nulls, at);
        if (out && x->gathers)
            tp_buf_printf(&all,
                          ", {\"name\": \"g\", \"dtype\": \"float32\", \"shape\": [%s, \"D\", 8], \"block_shape\": "
                          "[%s, \"D\", 8], \"index_map\": [%s, 0, 0], \"memory_space\": \"any\"}",
                          of, nulls, at);
        tp_buf_printf(&all, "],");
    }
    tp_buf_printf(&all, "\"scratch\": [{\"name\": \"z\", \"dtype\": \"float32\", \"shape\": [4, \"D + K + 3\", 8]}, "
                        "{\"name\": \"alone\", \"memory_space\": \"dma_semaphore\", \"shape\": []}");
    for (uint32_t i = 0; i < 8; i++)
        if (x->used[i])
            tp_buf_printf(&all, ", {\"name\": \"%s\", \"memory_space\": \"%s\", \"shape\": [%s]}", SEMAPHORES[i],
                          KINDS[i], i == 3 || i >= 6 ? "\"D + K + 3\"" : "");
    tp_buf_printf(&all, "], \"kernel\": [\"copy(x[...], o[...])\"%.*s]}", TP_FMT(tp_buf_view(&x->b)));
    x->b = all;
}

enum { NRULES = 4, RULES_OF_ORDER = 2 };
static const char *const RULES[NRULES] = {TP_RULE_DMA_SEMAPHORE, TP_RULE_IN_FLIGHT, TP_RULE_OUTPUT_COVERAGE,
                                          TP_RULE_UNINITIALIZED_USE};

/* Of lint, by rule: p, v or u; nothing where none counts. */
static void judge(place *p, const char *path, char *said)
{
    outcome o = RUN(p->a, "lint", path, "--format", "json");
    struct json_object *r = record_of(p->a, &o), *spec = json_object_array_get_idx(member(r, "specs"), 0),
                       *findings = member(spec, "findings");
    if (o.exit != 0 && o.exit != 1)
        fail_msg("exit %d: %.*s", o.exit, TP_FMT(o.out));
    for (size_t i = 0; i < json_object_array_length(findings); i++) {
        struct json_object *f = json_object_array_get_idx(findings, i);
        for (uint32_t k = 0; k < NRULES; k++)
            if (strcmp(string_of(f, "rule"), RULES[k]) == 0 && (!said[k] || said[k] == 'p'))
                said[k] = string_of(f, "verdict")[0]; /* proven, if all of its findings are */
    }
    json_object_put(r);
}

/* By which rule the machine traps on some devices, of the ring and along the other axis. */
static void execute(place *p, const char *path, int least, int most, int lines, bool *traps)
{
    for (int devices = least; devices <= most; devices++)
        for (int n = 0; n < 2 * lines; n++) {
            outcome o =
                RUN(p->a, "run", "--unchecked", path, "--fill", "normal", "--size", tp_printf(p->a, "D=%d", devices).p,
                    "--size", tp_printf(p->a, "R=%d", 1 + n / 2).p, "--size", tp_printf(p->a, "K=%d", n % 2 ? 4 : 1).p);
            for (uint32_t i = 0; i < NRULES; i++) {
                tp_str trap = tp_printf(p->a, "trap[%s]", RULES[i]);
                traps[i] |= memmem(o.err.p, o.err.n, trap.p, trap.n) != NULL;
            }
        }
}

/* Random bodies, on a ring or on a mesh. */
static void compare(place *p, bool mesh, uint64_t most)
{
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", most), proven[NRULES] = {0},
             trapped[NRULES] = {0}, open[NRULES] = {0};
    for (uint64_t i = 0; i < trials; i++) {
        body x = {.b = {.arena = p->a}, .rng = tp_rng_new(seed, i), .mesh = mesh};
        if (mesh) {
            x.behind = below(&x, 2);
            x.form = below(&x, 5);
        }
        write_spec(&x);
        const char *path = put(p, "ring.tile.json", x.b.p, x.b.n);
        char said[NRULES] = {0};
        bool traps[NRULES] = {0};
        judge(p, path, said);
        bool any = false;
        for (uint32_t k = 0; k < NRULES; k++)
            any |= said[k] == 'p';
        execute(p, path, 1, mesh && !any ? 3 : 4, !mesh ? 1 : any ? 4 : 2, traps);
        if (any && !mesh)
            execute(p, path, 5, 8, 1, traps);
        for (uint32_t k = 0; k < NRULES; k++) {
            if (said[k] == 'p' && traps[k])
                fail_msg("seed %llu, number %llu: %s proven, and traps: %.*s", (unsigned long long)seed,
                         (unsigned long long)i, RULES[k], TP_FMT(tp_buf_view(&x.b)));
            proven[k] += said[k] == 'p';
            trapped[k] += traps[k];
            open[k] += said[k] == 'u' && !traps[0] && !traps[1] && !traps[2] && !traps[3];
        }
    }
    for (uint32_t k = 0; k < NRULES; k++) {
        print_message("seed %llu, %s: %llu proven, %llu trap, %llu open\n", (unsigned long long)seed, RULES[k],
                      (unsigned long long)proven[k], (unsigned long long)trapped[k], (unsigned long long)open[k]);
        /* the machine tells the first trap: undefined elements are seldom that */
        uint64_t traps = RULES_OF_ORDER > k ? most / 8 : 0;
        assert_true(trials != most || (proven[k] >= most / 8 && trapped[k] >= traps));
    }
}

static void what_is_proven_for_all_devices_holds_on_some(void **state)
{
    compare(*state, false, TRIALS);
}

static void what_is_proven_for_all_meshes_holds_on_small_ones(void **state)
{
    compare(*state, true, MESH_TRIALS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_proven_for_all_devices_holds_on_some, make_place, drop_place),
        cmocka_unit_test_setup_teardown(what_is_proven_for_all_meshes_holds_on_small_ones, make_place, drop_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
