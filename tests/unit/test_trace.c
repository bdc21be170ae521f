/* `run --trace`: what stands in the file is what the run did. */
#define _GNU_SOURCE
#include <json-c/json.h>

#include "cli/trace.h"
#include "tests/unit/files.h"

static struct json_object *read_trace(place *p, const char *file)
{
    tp_str text, why;
    assert_int_equal(tp_read_file(p->a, file, 1 << 28, &text, &why), TP_OK);
    struct json_object *o = json_tokener_parse(tp_cstr(p->a, text));
    assert_non_null(o);
    return o;
}

static bool is(struct json_object *event, const char *key, const char *value)
{
    return strcmp(string_of(event, key), value) == 0;
}

/* Events with this category and phase, of which the name begins so; *bytes: all together. */
static int64_t events(struct json_object *trace, const char *category, const char *phase, const char *name,
                      int64_t *bytes)
{
    struct json_object *all = member(trace, "traceEvents");
    int64_t n = 0;
    *bytes = 0;
    for (size_t i = 0; i < json_object_array_length(all); i++) {
        struct json_object *e = json_object_array_get_idx(all, i);
        if (!is(e, "cat", category) || !is(e, "ph", phase) || strncmp(string_of(e, "name"), name, strlen(name)) != 0)
            continue;
        n++;
        *bytes += json_object_get_int64(member(member(e, "args"), "bytes"));
    }
    return n;
}

/* Slices of one lane follow each other or lie within each other. */
static void check_nesting(struct json_object *trace)
{
    enum { LANES = 16, DEEP = 16 };
    struct json_object *all = member(trace, "traceEvents");
    double ends[LANES][DEEP];
    int depth[LANES] = {0};
    for (size_t i = 0; i < json_object_array_length(all); i++) {
        struct json_object *e = json_object_array_get_idx(all, i);
        if (!is(e, "ph", "X"))
            continue;
        int lane = json_object_get_int(member(e, "tid"));
        double from = json_object_get_double(member(e, "ts")), to = from + json_object_get_double(member(e, "dur"));
        assert_true(lane < LANES && to >= from);
        while (depth[lane] && ends[lane][depth[lane] - 1] <= from + 0.002) /* nanoseconds were rounded */
            depth[lane]--;
        assert_true(!depth[lane] || to <= ends[lane][depth[lane] - 1] + 0.002);
        assert_true(depth[lane] < DEEP);
        ends[lane][depth[lane]++] = to;
    }
}

static void windows_and_statements(void **state)
{
    enum { STEPS = 3 * 3 * 2, TILE = 128 * 256 * 4 };
    place *p = *state;
    const char *file = path_in(p, "trace.json");
    int64_t bytes;
    outcome o =
        RUN(p->a, "run", "--unchecked", "-q", "matmul", "--fill", "normal", "--size", "M=384", "--size", "N=384",
            "--size", "K=512", "--size", "bk=256", "--dtype", "T=float32", "--trace", file, "--trace-text");
    assert_int_equal(o.exit, 0);
    struct json_object *t = read_trace(p, file);
    check_nesting(t);
    assert_int_equal(events(t, "step", "X", "", &bytes), STEPS);
    assert_int_equal(events(t, "step", "X", "i = 2, j = 1, k = 1", &bytes), 1);
    assert_int_equal(events(t, "fetch", "X", "fetch x", &bytes), STEPS);
    assert_int_equal(bytes, STEPS * TILE);
    assert_int_equal(events(t, "write", "X", "write o", &bytes), 9);
    assert_int_equal(bytes, 384 * 384 * 4);
    assert_int_equal(events(t, "stay", "i", "o stays", &bytes), 9);
    assert_int_equal(events(t, "statement", "X", "acc[...] += dot(", &bytes), STEPS);
    assert_int_equal(events(t, "statement", "X", "if k == 0", &bytes), STEPS);
    assert_int_equal(events(t, "statement", "X", "acc[...] = 0", &bytes), 9);
    assert_true(contains(o.out, "matmul: 18 steps, ") && contains(o.out, "acc[...] += dot(a, b") &&
                contains(o.out, "window of o: 9 writes (589824 bytes), stays in 9 steps") &&
                contains(o.out, "i = 0, j = 1, k = 0: write o fetch x fetch y"));
    json_object_put(t);
}

/* Every copy that is started is waited for; the second one of x begins before the first is multiplied. */
static void copies_in_flight(void **state)
{
    enum { K = 8, TILE = 128 * 128 * 4 };
    place *p = *state;
    const char *file = path_in(p, "trace.json");
    int64_t bytes, none;
    outcome o = RUN(p->a, "run", "--unchecked", "-q", "matmul_double_buffered", "--fill", "normal", "--size", "M=256",
                    "--size", "N=256", "--size", "K=1024", "--trace", file);
    assert_int_equal(o.exit, 0);
    struct json_object *t = read_trace(p, file);
    check_nesting(t);
    assert_int_equal(events(t, "copy", "b", "x to xs", &bytes), 4 * K);
    assert_int_equal(bytes, 4 * K * TILE);
    assert_int_equal(events(t, "copy", "e", "x to xs", &none), 4 * K);
    assert_int_equal(events(t, "fetch", "X", "", &none), 0);                     /* x and y have no windows */
    assert_int_equal(events(t, "count", "C", "x_sem[1]", &none), 2 * 4 * K / 2); /* up and down, every other one */
    json_object_put(t);
}

/* What led to it is there. */
static void a_trap_ends_it(void **state)
{
    place *p = *state;
    const char *file = path_in(p, "trace.json");
    static const char SPEC[] =
        "{\"tileproof\": 1, \"name\": \"late\", \"sizes\": {\"N\": {\"min\": 1}}, \"grid\": [{\"axis\": \"i\", "
        "\"steps\": \"N\"}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"N\", 8], "
        "\"block_shape\": [1, 8], \"index_map\": [\"i\", 0]}], \"kernel\": [\"o[...] = 1.0\", \"check(i < 3, "
        "'far')\"]}";
    const char *spec = put(p, "late.tile.json", SPEC, sizeof SPEC - 1);
    int64_t bytes;
    outcome o = RUN(p->a, "run", "--unchecked", spec, "--fill", "normal", "--size", "N=9", "--trace", file);
    assert_int_equal(o.exit, 1);
    struct json_object *t = read_trace(p, file);
    check_nesting(t);
    assert_int_equal(events(t, "step", "X", "", &bytes), 4);
    assert_int_equal(events(t, "trap", "i", "trap[", &bytes), 1);
    json_object_put(t);
}

/* Each device is a process: what it sends, and what its semaphores count. */
static void lanes_by_device(void **state)
{
    enum { DEVICES = 3, SENT = DEVICES * (DEVICES - 1), ROW = 256 * 4 };
    place *p = *state;
    const char *file = path_in(p, "trace.json");
    int64_t bytes, none;
    outcome o = RUN(p->a, "run", "--unchecked", "-q", "tests/devices/ring_reduce_scatter.tile.json", "--fill", "normal",
                    "--size", "D=3", "--size", "N=256", "--trace", file, "--trace-text");
    assert_int_equal(o.exit, 0);
    struct json_object *t = read_trace(p, file);
    assert_int_equal(events(t, "step", "X", "d = 2", &none), 1);
    assert_int_equal(events(t, "copy", "b", "part to part of device ", &bytes), SENT);
    assert_int_equal(bytes, SENT * ROW);
    assert_int_equal(events(t, "copy", "e", "part to part of device 1", &none), SENT / DEVICES);
    assert_int_equal(events(t, "count", "C", "free", &none), 2 * DEVICES); /* up and down */
    assert_int_equal(events(t, "count", "C", "recv[1]", &none), 2 * DEVICES);
    assert_int_equal(events(t, "statement", "X", "semaphore_wait(free", &none), DEVICES);
    assert_true(contains(o.out, "2 copies to device 0 (2048 bytes)") && contains(o.out, "1 on free"));
    json_object_put(t);
    o = RUN(p->a, "run", "--unchecked", "-q", "tests/devices/mesh_all_gather.tile.json", "--fill", "normal", "--size",
            "R=3", "--size", "C=2", "--size", "N=256", "--trace", file, "--trace-text");
    assert_int_equal(o.exit, 0);
    t = read_trace(p, file);
    assert_true(events(t, "copy", "b", "o to o of device (2, 0)", &bytes) > 0);
    assert_true(contains(o.out, "  device (2, 1): waits ") && contains(o.out, "copies to device (2, 0) ("));
    json_object_put(t);
}

/* A long walk: whole steps up to a bound, and how many were left out. */
static void long_walks_are_cut(void **state)
{
    enum { STEPS = 200000 };
    place *p = *state;
    const char *file = path_in(p, "trace.json");
    static const char SPEC[] =
        "{\"tileproof\": 1, \"name\": \"long\", \"sizes\": {\"N\": {\"min\": 1}}, \"grid\": [{\"axis\": \"i\", "
        "\"steps\": \"N\"}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [8], "
        "\"block_shape\": [8], \"index_map\": [0]}], \"kernel\": [\"o[...] = 1.0\"]}";
    const char *spec = put(p, "long.tile.json", SPEC, sizeof SPEC - 1);
    int64_t bytes;
    outcome o = RUN(p->a, "run", "--unchecked", spec, "--fill", "normal", "--size", "N=200000", "--trace", file,
                    "--trace-text");
    assert_int_equal(o.exit, 0);
    struct json_object *t = read_trace(p, file), *about = member(t, "otherData");
    check_nesting(t);
    int64_t kept = json_object_get_int64(member(about, "steps_kept"));
    assert_int_equal(json_object_get_int64(member(about, "steps")), STEPS);
    assert_int_equal(events(t, "step", "X", "", &bytes), kept);
    assert_true(kept > TP_TRACE_EVENTS / 4 && kept < TP_TRACE_EVENTS);
    assert_true(contains(o.out, "and 199980 further steps"));
    json_object_put(t);
}

static void files_that_stay(void **state)
{
    place *p = *state;
    const char *spec = "examples/matmul/matmul.tile.json";
    outcome o = RUN(p->a, "run", "--unchecked", spec, "--fill", "normal", "--size", "M=8", "--size", "N=8", "--size",
                    "K=8", "--dtype", "T=float32", "--trace", spec);
    assert_int_equal(o.exit, 2);
    o = RUN(p->a, "run", "--unchecked", "matmul", "--fill", "normal", "--size", "M=8", "--size", "N=8", "--size", "K=8",
            "--dtype", "T=float32", "--trace", path_in(p, "no/such/folder.json"));
    assert_int_equal(o.exit, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_PLACE(windows_and_statements), IN_PLACE(copies_in_flight),
                                       IN_PLACE(a_trap_ends_it),         IN_PLACE(lanes_by_device),
                                       IN_PLACE(long_walks_are_cut),     IN_PLACE(files_that_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
