/* `tileproof run` on arrays: every file form that is read, inferred sizes, and
 * what is said when an array does not fit. */
#define _GNU_SOURCE
#include "base/tensor.h"
#include "tests/unit/files.h"

/* ---- writing .npy by hand ---- */

static const char *put_npy(place *p, const char *name, int version, const char *descr, bool fortran, const char *shape,
                           const void *data, size_t bytes)
{
    tp_buf h = {.arena = p->a}, b = {.arena = p->a};
    tp_buf_printf(&h, "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }\n", descr, fortran ? "True" : "False",
                  shape);
    tp_buf_add(&b, "\x93NUMPY", 6);
    tp_buf_add(&b, (const char[]){(char)version, 0}, 2);
    for (int i = 0; i < (version == 1 ? 2 : 4); i++)
        tp_buf_add(&b, (const char[]){(char)(h.n >> (8 * i) & 0xff)}, 1);
    tp_buf_str(&b, tp_buf_view(&h));
    tp_buf_add(&b, data, bytes);
    return put(p, name, b.p, b.n);
}

static tp_tensor get(place *p, const char *path, tp_dtype wanted)
{
    tp_tensor t = {0};
    tp_str why = {NULL, 0};
    if (tp_tensor_read(p->a, tp_str_c(path), wanted, &t, &why) != TP_OK)
        fail_msg("%s: %s", path, tp_cstr(p->a, why));
    return t;
}

static const char *eq(place *p, const char *name, const char *path)
{
    return tp_printf(p->a, "%s=%s", name, path).p;
}

enum { N = 2500, R = 5, C = 700 };

static void add_vectors(place *p, const char *x, const char *y, tp_dtype dtype)
{
    const char *out = path_in(p, "o.npy");
    outcome o = RUN(p->a, "run", "add_vectors", "--input", eq(p, "x", x), "--input", eq(p, "y", y), "--output",
                    eq(p, "o", out));
    if (o.exit != 0)
        fail_msg("exit %d: %s", o.exit, tp_cstr(p->a, o.err));
    assert_true(contains(o.out, "N = 2500"));
    tp_tensor t = get(p, out, dtype);
    assert_int_equal(t.dtype, dtype);
    assert_int_equal(t.rank, 1);
    assert_int_equal(t.n, N);
    for (size_t i = 0; i < N; i++)
        assert_true(tp_get_f64(dtype, t.data, i) == (double)(i % 100) * 3);
}

static void npy_versions(void **state)
{
    place *p = *state;
    float x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 100);
        y[i] = 2 * x[i];
    }
    for (int version = 1; version <= 3; version++)
        add_vectors(p, put_npy(p, "x.npy", version, "<f4", false, "2500,", x, sizeof x),
                    put_npy(p, "y.npy", 1, "<f4", true, "2500,", y, sizeof y), TP_F32);
}

static void npy_big_endian(void **state)
{
    place *p = *state;
    float x[N];
    uint32_t big[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 100);
        float twice = 2 * x[i];
        memcpy(&big[i], &twice, 4);
        big[i] = __builtin_bswap32(big[i]);
    }
    add_vectors(p, put_npy(p, "x.npy", 1, "<f4", false, "2500,", x, sizeof x),
                put_npy(p, "y.npy", 1, ">f4", false, "2500,", big, sizeof big), TP_F32);
}

static void npy_bfloat16(void **state)
{
    place *p = *state;
    uint16_t x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = tp_bf16_from_f32((float)(i % 100));
        y[i] = tp_bf16_from_f32((float)(i % 100) * 2);
    }
    /* 3 * 99 needs 9 bits: the sums stay exact only below 256 */
    for (int i = 0; i < N; i++)
        if (i % 100 > 85)
            x[i] = y[i] = 0;
    const char *px = put_npy(p, "x.npy", 1, "<V2", false, "2500,", x, sizeof x),
               *py = put_npy(p, "y.npy", 1, "|V2", false, "2500,", y, sizeof y), *out = path_in(p, "o.npy");
    outcome o = RUN(p->a, "run", "add_vectors", "--input", eq(p, "x", px), "--input", eq(p, "y", py), "--output",
                    eq(p, "o", out));
    assert_int_equal(o.exit, 0);
    tp_tensor t = get(p, out, TP_BF16);
    for (size_t i = 0; i < N; i++)
        assert_true(tp_get_f64(TP_BF16, t.data, i) == (i % 100 > 85 ? 0 : (double)(i % 100) * 3));
}

static void npy_fortran_order(void **state)
{
    place *p = *state;
    static float c_order[R * C], f_order[R * C];
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++)
            c_order[r * C + c] = f_order[c * R + r] = (float)(r * 1000 + c);
    const char *x = put_npy(p, "x.npy", 1, "<f4", true, "5, 700", f_order, sizeof f_order),
               *y = put_npy(p, "y.npy", 1, "<f4", false, "5, 700", c_order, sizeof c_order), *out = path_in(p, "o.npy");
    outcome o =
        RUN(p->a, "run", "add_2d", "--input", eq(p, "x", x), "--input", eq(p, "y", y), "--output", eq(p, "o", out));
    if (o.exit != 0)
        fail_msg("%s", tp_cstr(p->a, o.err));
    tp_tensor t = get(p, out, TP_F32);
    for (int i = 0; i < R * C; i++)
        assert_true(((float *)t.data)[i] == 2 * c_order[i]);
}

static void safetensors_both_ways(void **state)
{
    place *p = *state;
    float values[2 * N];
    for (int i = 0; i < N; i++) {
        values[i] = (float)(i % 100);
        values[N + i] = 2 * values[i];
    }
    tp_buf b = {.arena = p->a};
    const char *header =
        "{\"__metadata__\":{\"format\":\"np\"},\"a\":{\"dtype\":\"F32\",\"shape\":[2500],\"data_offsets\":[0,10000]},"
        "\"b\":{\"dtype\":\"F32\",\"shape\":[2500],\"data_offsets\":[10000,20000]}}";
    uint64_t length = strlen(header);
    tp_buf_add(&b, (const char *)&length, 8);
    tp_buf_c(&b, header);
    tp_buf_add(&b, (const char *)values, sizeof values);
    const char *in = put(p, "in.safetensors", b.p, b.n), *out = path_in(p, "o.safetensors");
    outcome o = RUN(p->a, "run", "add_vectors", "--input", eq(p, "x", tp_printf(p->a, "%s#a", in).p), "--input",
                    eq(p, "y", tp_printf(p->a, "%s#b", in).p), "--output", eq(p, "o", out));
    if (o.exit != 0)
        fail_msg("%s", tp_cstr(p->a, o.err));
    tp_tensor t = get(p, tp_printf(p->a, "%s#o", out).p, TP_F32);
    for (int i = 0; i < N; i++)
        assert_true(((float *)t.data)[i] == values[i] * 3);
    o = RUN(p->a, "run", "add_vectors", "--input", eq(p, "x", in), "--input", eq(p, "y", in));
    assert_int_equal(o.exit, 3);
    assert_true(contains(o.err, "name the tensor"));
    o = RUN(p->a, "run", "add_vectors", "--input", eq(p, "x", tp_printf(p->a, "%s#c", in).p), "--input",
            eq(p, "y", in));
    assert_int_equal(o.exit, 3);
    assert_true(contains(o.err, "it has a b"));
}

/* ---- what does not fit ---- */

typedef struct refusal {
    const char *x, *y; /* file names in the folder, or paths */
    int exit;
    const char *message;
} refusal;

static void arrays_that_do_not_fit(void **state)
{
    place *p = *state;
    float zeros[64] = {0};
    put_npy(p, "f32_16.npy", 1, "<f4", false, "16,", zeros, 64);
    put_npy(p, "f32_12.npy", 1, "<f4", false, "12,", zeros, 48);
    put_npy(p, "f32_4x4.npy", 1, "<f4", false, "4, 4", zeros, 64);
    put_npy(p, "i32_16.npy", 1, "<i4", false, "16,", zeros, 64);
    put_npy(p, "f32_0.npy", 1, "<f4", false, "0,", zeros, 0);
    put_npy(p, "cut.npy", 1, "<f4", false, "16,", zeros, 40);
    put_npy(p, "complex.npy", 1, "<c8", false, "8,", zeros, 64);
    put_npy(p, "v4.npy", 4, "<f4", false, "16,", zeros, 64);
    put_npy(p, "negative.npy", 1, "<f4", false, "-16,", zeros, 64);
    put_npy(p, "huge.npy", 1, "<f4", false, "4611686018427387904, 4", zeros, 64);
    put_npy(p, "rank9.npy", 1, "<f4", false, "1, 1, 1, 1, 1, 1, 1, 1, 1", zeros, 4);
    put(p, "text.npy", "hello", 5);
    put(p, "magic.npy", "\x93NUMPY\x01", 7);
    put(p, "empty.npy", "", 0);
    put(p, "short.safetensors", "\x40\0\0\0\0\0\0\0{", 9);
    put(p, "null.safetensors", "\x0a\0\0\0\0\0\0\0{\"a\":null}", 18);
    static const refusal ROWS[] = {
        {"f32_16.npy", "f32_12.npy", 3, "dimension 0 of input `y` (N) is 12 in its array, but 16 by the other sizes"},
        {"f32_16.npy", "f32_4x4.npy", 3, "input `y` has rank 1 in the spec, its array has rank 2"},
        {"i32_16.npy", "i32_16.npy", 3, "its array is int32"},
        {"f32_0.npy", "f32_0.npy", 3, "N = 0 is outside its declared range"},
        {"f32_16.npy", "cut.npy", 3, "cut off"},
        {"f32_16.npy", "complex.npy", 3, "not a plain array of numbers"},
        {"f32_16.npy", "v4.npy", 3, "version"},
        {"f32_16.npy", "negative.npy", 3, "not a plain array"},
        {"huge.npy", "f32_16.npy", 3, "cut off"},
        {"rank9.npy", "f32_16.npy", 3, "not a plain array"},
        {"text.npy", "f32_16.npy", 3, "magic"},
        {"magic.npy", "f32_16.npy", 3, "magic"},
        {"empty.npy", "f32_16.npy", 3, "magic"},
        {"short.safetensors#a", "f32_16.npy", 3, "header length"},
        {"null.safetensors#a", "f32_16.npy", 3, "not understood"},
        {"missing.npy", "f32_16.npy", 3, "No such file"},
        {".", "f32_16.npy", 3, "a folder"},
        {"f32_16.npy", NULL, 2, "the array for `y` is missing"},
    };
    put(p, "o.npy", "precious", 8);
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        const refusal *r = &ROWS[i];
        const char *x = eq(p, "x", path_in(p, r->x)), *y = r->y ? eq(p, "y", path_in(p, r->y)) : "--quiet";
        outcome o = RUN(p->a, "run", "add_vectors", "--output", eq(p, "o", path_in(p, "o.npy")), "--input", x,
                        r->y ? "--input" : "--quiet", y);
        if (o.exit != r->exit || !contains(o.err, r->message))
            fail_msg("%s %s: exit %d, expected %d with \"%s\": %s", r->x, r->y ? r->y : "-", o.exit, r->exit,
                     r->message, tp_cstr(p->a, o.err));
        tp_str kept, why;
        assert_int_equal(tp_read_file(p->a, path_in(p, "o.npy"), 100, &kept, &why), TP_OK);
        assert_true(tp_str_is(kept, "precious")); /* a run that fails writes nothing */
    }
}

static const char BROADCAST[] = "{\"tileproof\": 1, \"name\": \"rows\", \"target\": \"none\", \"sizes\": {\"H\": "
                                "{\"min\": 1}, \"D\": {\"min\": 1}, \"R\": {\"min\": 1}},"
                                "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"H * D\"]}, "
                                "{\"name\": \"y\", \"dtype\": \"float32\", \"shape\": [\"2 * H + 1\"]}],"
                                "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"R\", \"D\"]}], "
                                "\"kernel\": [\"o[...] = 3\"]}";

static void sizes_are_inferred(void **state)
{
    place *p = *state;
    float zeros[64] = {0};
    const char *spec = put(p, "rows.tile.json", BROADCAST, strlen(BROADCAST));
    const char *x = eq(p, "x", put_npy(p, "x.npy", 1, "<f4", false, "12,", zeros, 48)),
               *y = eq(p, "y", put_npy(p, "y.npy", 1, "<f4", false, "7,", zeros, 28));
    const char *even = eq(p, "y", put_npy(p, "even.npy", 1, "<f4", false, "8,", zeros, 32));
    outcome o = RUN(p->a, "run", spec, "--input", x, "--input", y);
    assert_int_equal(o.exit, 2); /* nothing determines R */
    assert_true(contains(o.err, "give --size R=VALUE"));
    o = RUN(p->a, "run", spec, "--input", x, "--input", y, "--size", "R=2");
    assert_int_equal(o.exit, 0); /* H = 3 by 2 H + 1 = 7, then D = 4 by H D = 12 */
    assert_true(contains(o.out, "H = 3, D = 4, R = 2"));
    assert_true(contains(o.out, "float32[2, 4]"));
    o = RUN(p->a, "run", spec, "--input", x, "--input", even, "--size", "R=2");
    assert_int_equal(o.exit, 2); /* 2 H + 1 = 8 has no solution */
    o = RUN(p->a, "run", spec, "--input", x, "--input", y, "--size", "R=2", "--size", "H=2");
    assert_int_equal(o.exit, 3);
    assert_true(contains(o.err, "is 7 in its array, but 5 by the other sizes"));
    static const refusal ROWS[] = {{"R=many", "", 2, "takes an integer"},
                                   {"Q=3", "", 2, "there is no size `Q`"},
                                   {"R", "", 2, "NAME=VALUE"},
                                   {"R=0", "", 3, "outside its declared range"},
                                   {"R=1073741824", "", 3, "--max-memory"}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        o = RUN(p->a, "run", spec, "--input", x, "--input", y, "--size", ROWS[i].x);
        if (o.exit != ROWS[i].exit || !contains(o.err, ROWS[i].message))
            fail_msg("--size %s: exit %d: %s", ROWS[i].x, o.exit, tp_cstr(p->a, o.err));
    }
}

static const char PAIRS[] =
    "{\"tileproof\": 1, \"name\": \"pairs\", \"target\": \"none\", \"grid\": [{\"axis\": \"i\", \"steps\": 4}],"
    "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [32, 512], \"block_shape\": [8, 512],"
    "\"index_map\": [\"i\", 0]}],"
    "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [32, 1], \"block_shape\": [8, 1],"
    "\"index_map\": [\"i\", 0]}],"
    "\"kernel\": [\"o[...] = max(x[...], axis=1, keepdims=True)\"],"
    "\"reference\": [\"v, at = top_k(x, 1)\", \"o = v\"]}";

/* Who refused the memory decides what would help: a limit of ours, or the system's. */
static void memory_is_refused_by_name(void **state)
{
    place *p = *state;
    float zeros[64] = {0};
    const char *spec = put(p, "rows.tile.json", BROADCAST, strlen(BROADCAST));
    const char *x = eq(p, "x", put_npy(p, "x.npy", 1, "<f4", false, "12,", zeros, 48)),
               *y = eq(p, "y", put_npy(p, "y.npy", 1, "<f4", false, "7,", zeros, 28));
    const char *const EXECUTE[] = {"run", spec, "--input", x, "--input", y, "--size", "R=16777216", NULL};
    const char *const VERIFY[] = {"verify", "--cases", "4", "--box", "0", "--jobs", "1", "add_2d", NULL};
    static const char SYSTEM[] = "the system gave no more memory", OURS[] = "--max-memory";
    put(p, "pairs.tile.json", PAIRS, strlen(PAIRS)); /* of the reference; the kernel needs little */
    outcome o = RUN(p->a, "verify", "--box", "0", "--max-memory", "16", path_in(p, "pairs.tile.json"));
    if (!contains(o.out, OURS) || contains(o.out, SYSTEM))
        fail_msg("verify of pairs: exit %d: %s%s", o.exit, tp_cstr(p->a, o.out), tp_cstr(p->a, o.err));
    if (!LIMIT_MEMORY)
        return;
    o = run_limited(p->a, NULL, 192, EXECUTE); /* 256 MiB of output */
    if (o.exit != 5 || !contains(o.err, SYSTEM) || contains(o.err, OURS))
        fail_msg("run: exit %d: %s", o.exit, tp_cstr(p->a, o.err));
    o = run_limited(p->a, NULL, 48, VERIFY);
    if (!contains(o.out, SYSTEM) || contains(o.out, OURS))
        fail_msg("verify: exit %d: %s%s", o.exit, tp_cstr(p->a, o.out), tp_cstr(p->a, o.err));
}

/* verify on the user's arrays: a check holds for them, and for no random ones. */
static void arrays_of_a_case(void **state)
{
    place *p = *state;
    static const char SPEC[] =
        "{\"tileproof\": 1, \"name\": \"sevens\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 8, "
        "\"multiple_of\": 8}},"
        "\"grid\": [{\"axis\": \"i\", \"steps\": \"N // 8\"}],"
        "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"N\"], \"block_shape\": [8], "
        "\"index_map\": [\"i\"]}],"
        "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"N\"], \"block_shape\": [8], "
        "\"index_map\": [\"i\"]}],"
        "\"kernel\": [\"check(all(x[...] == 7), 'sevens')\", \"o[...] = x[...]\"], \"reference\": [\"o = x\"],"
        "\"cases\": [{\"sizes\": {\"N\": 16}%s}]}";
    float x[16];
    for (int i = 0; i < 16; i++)
        x[i] = 7;
    put_npy(p, "x.npy", 1, "<f4", false, "16,", x, sizeof x);
    put_npy(p, "short.npy", 1, "<f4", false, "8,", x, sizeof x / 2);
    static const struct {
        const char *inputs;
        int exit;
        const char *said;
    } ROWS[] = {{", \"inputs\": {\"x\": \"x.npy\"}", 0, "within the certified bound"},
                {"", 1, "check failed"},
                {", \"inputs\": {\"x\": \"short.npy\"}", 3, "the file holds float32[8]"},
                {", \"inputs\": {\"x\": \"none.npy\"}", 3, "cannot read `none.npy`"},
                {", \"inputs\": {\"x\": \"/etc/shadow\"}", 3, "`/etc/shadow` is not below the folder of the spec"},
                {", \"inputs\": {\"x\": \"/no/such\"}", 3, "`/no/such` is not below the folder of the spec"},
                {", \"inputs\": {\"x\": \"deep/../../x.npy\"}", 3, "is not below the folder of the spec"},
                {", \"inputs\": {\"x\": \"link.npy\"}", 3, "`link.npy` is not below the folder of the spec"},
                {", \"inputs\": {\"x\": \"deep/link.npy\"}", 0, "within the certified bound"},
                {", \"inputs\": {\"z\": \"x.npy\"}", 3, "there is no input `z`"}};
    assert_int_equal(mkdir(path_in(p, "deep"), 0777), 0);
    assert_int_equal(symlink("/proc/self/environ", path_in(p, "link.npy")), 0);
    assert_int_equal(symlink("../x.npy", path_in(p, "deep/link.npy")), 0);
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        tp_str text = tp_printf(p->a, SPEC, ROWS[i].inputs);
        outcome o = RUN(p->a, "verify", "--cases", "0", "--box", "0", put(p, "s.tile.json", text.p, text.n));
        if (o.exit != ROWS[i].exit || !contains(o.out, ROWS[i].said))
            fail_msg("case %zu: exit %d\n%s%s", i, o.exit, tp_cstr(p->a, o.out), tp_cstr(p->a, o.err));
    }
    tp_str elsewhere = tp_printf(p->a, SPEC, ", \"inputs\": {\"x\": \"../x.npy\"}");
    const char *spec = put(p, "deep/s.tile.json", elsewhere.p, elsewhere.n);
    outcome o = RUN(p->a, "verify", "--cases", "0", "--box", "0", "--allow-path", p->dir, spec);
    if (o.exit != 0)
        fail_msg("exit %d\n%s%s", o.exit, tp_cstr(p->a, o.out), tp_cstr(p->a, o.err));
}

/* Waits until the process has mapped the file; false: it ended before. */
static bool has_mapped(place *p, pid_t pid, const char *name, int *status)
{
    const char *maps = tp_printf(p->a, "/proc/%d/maps", (int)pid).p;
    for (;;) {
        char text[65536];
        FILE *f = fopen(maps, "r");
        size_t n = f ? fread(text, 1, sizeof text, f) : 0;
        if (f)
            fclose(f);
        if (memmem(text, n, name, strlen(name)))
            return true;
        if (waitpid(pid, status, WNOHANG) == pid)
            return false;
    }
}

/* Arrays that get shorter under the program: told, with the file's name. */
static void arrays_that_shrink_are_told(void **state)
{
    enum { BYTES = 64 << 20, TRIES = 20 };
    place *p = *state;
    void *zeros = calloc(1, BYTES);
    const char *shape = tp_printf(p->a, "%d,", BYTES / 4).p,
               *x = put_npy(p, "x.npy", 1, "<f4", false, shape, zeros, BYTES), *err = path_in(p, "err");
    bool told = false;
    free(zeros);
    for (int i = 0; i < TRIES && !told; i++) { /* it may be done with the file before we are */
        int status = 0;
        tp_str said, why;
        assert_int_equal(truncate(x, BYTES + 128), 0);
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            dup2(open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
            execl(TILEPROOF, TILEPROOF, "run", "-q", "--unchecked", "add_vectors", "--input", eq(p, "x", x), "--input",
                  eq(p, "y", x), (char *)NULL);
            _exit(127);
        }
        if (has_mapped(p, pid, "/x.npy", &status)) {
            assert_int_equal(truncate(x, 4096), 0);
            waitpid(pid, &status, 0);
        }
        assert_int_equal(tp_read_file(p->a, err, 1 << 20, &said, &why), TP_OK);
        told = contains(said, "became shorter while it was read");
        if (!WIFEXITED(status) || WEXITSTATUS(status) > 3 || (told && WEXITSTATUS(status) != 3))
            fail_msg("status %d: %s", status, tp_cstr(p->a, said));
    }
    assert_true(told);
}

static void a_trap_writes_nothing(void **state)
{
    place *p = *state;
    static uint16_t zeros[40000];
    const char *out = put(p, "o.npy", "precious", 8);
    const char *x = put_npy(p, "x.npy", 1, "<f4", false, "100, 130", zeros, 4 * 13000),
               *y = put_npy(p, "y.npy", 1, "<f4", false, "130, 50", zeros, 4 * 6500);
    outcome o = RUN(p->a, "run", "examples/broken/unmasked_k_tail.tile.json", "--input", eq(p, "x", x), "--input",
                    eq(p, "y", y), "--output", eq(p, "o", out));
    tp_str kept, why;
    assert_int_equal(o.exit, 1);
    assert_true(contains(o.err, "trap[TP501]"));
    assert_true(contains(o.err, "at step"));
    assert_int_equal(tp_read_file(p->a, out, 100, &kept, &why), TP_OK);
    assert_true(tp_str_is(kept, "precious"));
}

static void outputs_that_cannot_be_written(void **state)
{
    place *p = *state;
    float zeros[16] = {0};
    const char *x = put_npy(p, "x.npy", 1, "<f4", false, "16,", zeros, 64);
    const char *const PLACES[] = {"/dev/null", "/proc/o.npy", path_in(p, "no/such/folder.npy"), p->dir};
    for (int i = 0; i < 4; i++) {
        outcome o = RUN(p->a, "run", "add_vectors", "--input", eq(p, "x", x), "--input", eq(p, "y", x), "--output",
                        eq(p, "o", PLACES[i]));
        if (o.exit != 3 || !contains(o.err, "cannot write"))
            fail_msg("%s: exit %d: %s", PLACES[i], o.exit, tp_cstr(p->a, o.err));
    }
    struct stat st;
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

/* One run of a case as the report lists it; the element of the output `o`, row by row. */
static double again(place *p, const char *spec, struct json_object *c, const char *family, int64_t row)
{
    struct json_object *sizes = member(c, "sizes");
    const char *out = path_in(p, "o.npy"), *x = path_in(p, "x.npy");
    outcome o = RUN(p->a, "run", spec, "--fill", family, "--seed",
                    tp_printf(p->a, "%d", json_object_get_int(member(c, "seed"))).p, "--size",
                    tp_printf(p->a, "M=%d", json_object_get_int(member(sizes, "M"))).p, "--size",
                    tp_printf(p->a, "N=%d", json_object_get_int(member(sizes, "N"))).p, "--output", eq(p, "o", out),
                    "--output", eq(p, "x", x));
    if (o.exit)
        fail_msg("%s: exit %d: %s", family, o.exit, tp_cstr(p->a, o.err));
    tp_tensor t = get(p, out, TP_I32), given = get(p, x, TP_F32);
    assert_int_equal(given.n, json_object_get_int(member(sizes, "M")) * json_object_get_int(member(sizes, "N")));
    return tp_get_f64(t.dtype, t.data, (size_t)row);
}

/* `run --fill` does again what verify found different in its cases. */
static void cases_of_the_report(void **state)
{
    place *p = *state;
    static const char SPEC[] = "tests/cases/bad_argmax_takes_the_last.tile.json";
    outcome o = RUN(p->a, "verify", "--format", "json", SPEC);
    struct json_object *r = record_of(p->a, &o),
                       *cases =
                           member(member(json_object_array_get_idx(member(r, "specs"), 0), "equivalence"), "cases");
    int found = 0;
    for (size_t i = 0; i < json_object_array_length(cases); i++) {
        struct json_object *c = json_object_array_get_idx(cases, i), *families = member(c, "inputs");
        if (strcmp(string_of(c, "outcome"), "different") != 0)
            continue;
        struct json_object *worst = json_object_array_get_idx(member(c, "outputs"), 0);
        bool same = false;
        for (size_t f = 0; f < json_object_array_length(families) && !same; f++)
            same =
                again(p, SPEC, c, json_object_get_string(json_object_array_get_idx(families, f)),
                      strtol(string_of(worst, "worst") + 2, NULL, 10)) == json_object_get_double(member(worst, "got"));
        if (!same)
            fail_msg("no family of case %zu gives what the report says", i);
        found++;
    }
    assert_true(found >= 5);
    json_object_put(r);
}

/* Each integer waits for the one before it until somebody looks: so many do not fit the stack. */
static void long_chains_of_integers(void **state)
{
    enum { LINES = 20000, SIDE = 32 };
    place *p = *state;
    int32_t x[SIDE * SIDE];
    tp_buf b = {.arena = p->a};
    for (int i = 0; i < SIDE * SIDE; i++)
        x[i] = i;
    tp_buf_printf(
        &b,
        "{\"tileproof\": 1, \"name\": \"chain\", \"sizes\": {\"M\": {\"min\": 1}}, \"grid\": [{\"axis\": \"i\", "
        "\"steps\": \"cdiv(M, 32)\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": \"int32\", \"shape\": [\"M\", 32], "
        "\"block_shape\": [32, 32], \"index_map\": [\"i\", 0]}], \"outputs\": [{\"name\": \"o\", \"dtype\": "
        "\"int32\", \"shape\": [\"M\", 32], \"block_shape\": [32, 32], \"index_map\": [\"i\", 0]}], "
        "\"kernel\": [\"v0 = iota(int32, (32, 32), 0)\"");
    for (int i = 1; i < LINES; i++)
        tp_buf_printf(&b, ", \"v%d = v%d + 1\"", i, i - 1);
    tp_buf_printf(&b, ", \"o[...] = x[...] + v%d\"], \"reference\": [\"o = x\"]}", LINES - 1);
    const char *spec = put(p, "chain.tile.json", b.p, b.n), *out = path_in(p, "o.npy");
    const char *in = put_npy(p, "x.npy", 1, "<i4", false, "32, 32", x, sizeof x);
    outcome o = RUN(p->a, "run", "--unchecked", spec, "--input", eq(p, "x", in), "--output", eq(p, "o", out));
    if (o.exit != 0)
        fail_msg("exit %d: %s", o.exit, tp_cstr(p->a, o.err));
    tp_tensor t = get(p, out, TP_I32);
    for (int i = 0; i < SIDE * SIDE; i++)
        assert_int_equal(tp_get_i64(TP_I32, t.data, (size_t)i), i + i / SIDE + LINES - 1);
}

static void fills_that_do_not_fit(void **state)
{
    place *p = *state;
    outcome o = RUN(p->a, "run", "add_vectors", "--fill", "tie");
    assert_int_equal(o.exit, 2);
    assert_true(contains(o.err, "there is no family of inputs `tie`; there are normal, wide, cancelling"));
    o = RUN(p->a, "run", "add_vectors", "--fill", "ties");
    assert_int_equal(o.exit, 2);
    assert_true(contains(o.err, "do not determine size `N`: give --size N=VALUE"));
    o = RUN(p->a, "run", "add_vectors", "--size", "N=3", "--output", eq(p, "x", path_in(p, "x.npy")));
    assert_int_equal(o.exit, 2);
    assert_true(contains(o.err, "the kernel has no output `x`"));
}

/* The number behind "key": in the text of a profile. */
static double profiled(tp_str text, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(text.p, quoted);
    if (!at)
        fail_msg("no %s in %s", key, text.p);
    return strtod(at + strlen(quoted), NULL);
}

/* FLOPs and bytes of a matmul are known: 128 x 128 tiles of o, each with K / bk steps. */
static void profiles_count(void **state)
{
    enum { M = 384, TILE = 128, K = 512, BK = 256, STEPS = (M / TILE) * (M / TILE) * (K / BK) };
    place *p = *state;
    const char *file = path_in(p, "profile.json");
    tp_str text, why;
    for (int threads = 1; threads <= 2; threads++) {
        outcome o = RUN(p->a, "run", "--unchecked", "matmul", "--fill", "normal", "--size", "M=384", "--size", "N=384",
                        "--size", "K=512", "--size", "bk=256", "--dtype", "T=float32", "--threads",
                        threads == 1 ? "1" : "2", "--profile", file);
        assert_int_equal(o.exit, 0);
        assert_int_equal(tp_read_file(p->a, file, 1 << 20, &text, &why), TP_OK);
        text = tp_printf(p->a, "%.*s", TP_FMT(text));
        assert_true(profiled(text, "tileproof_profile") == 1);
        assert_true(profiled(text, "threads") == threads);
        assert_true(profiled(text, "steps") == STEPS);
        assert_true(profiled(text, "flops") == 2.0 * M * M * K + (double)STEPS * TILE * TILE); /* and acc += */
        assert_true(profiled(text, "read") > 0);
        assert_true(strstr(text.p, tp_cstr(p->a, tp_printf(p->a, "\"read\": %d,\n    \"written\": %d\n",
                                                           STEPS * 2 * TILE * BK * 4, M * M * 4))));
        assert_true(profiled(text, "in_place") == profiled(text, "in") + profiled(text, "out"));
        assert_true(profiled(text, "flops_per_second") > 1e8 && profiled(text, "share_of_flops") > 0);
        assert_true(strstr(text.p, "\"engine\": \"machine\"") && strstr(text.p, "\"instruction_set\": \""));
        assert_true(strstr(text.p, "\"bfloat16_by\": \"") && strstr(text.p, "\"integers_by\": \""));
    }
    outcome over = RUN(p->a, "run", "--unchecked", "matmul", "--fill", "normal", "--size", "M=8", "--size", "N=8",
                       "--size", "K=8", "--dtype", "T=float32", "--profile", path_in(p, "no/such/folder.json"));
    assert_int_equal(over.exit, 3);
}

/* A .npy of n float32, of which the last is `last` and the others are holes. */
static const char *put_large(place *p, const char *name, size_t n, float last)
{
    const char *path = NULL;
    struct stat st = {.st_size = 1};
    for (int pad = 0; st.st_size % (long)sizeof last; pad++) { /* elsewhere they would be copied */
        path = put_npy(p, name, 1, "<f4", false, tp_printf(p->a, "%zu,%*s", n, pad, "").p, NULL, 0);
        assert_int_equal(stat(path, &st), 0);
    }
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, st.st_size + (long)((n - 1) * sizeof last), SEEK_SET), 0);
    assert_int_equal(fwrite(&last, sizeof last, 1, f), 1);
    assert_int_equal(fclose(f), 0);
    return path;
}

static outcome add_within(place *p, int resource, size_t mib, const char *out)
{
    struct rlimit was, now;
    assert_int_equal(getrlimit((__rlimit_resource_t)resource, &was), 0);
    now = was;
    now.rlim_cur = mib << 20;
    assert_int_equal(setrlimit((__rlimit_resource_t)resource, &now), 0);
    outcome o =
        RUN(p->a, "run", "--unchecked", "--threads", "1", "add_vectors", "--input", eq(p, "x", path_in(p, "x.npy")),
            "--input", eq(p, "y", path_in(p, "y.npy")), "--output", eq(p, "o", out));
    assert_int_equal(setrlimit((__rlimit_resource_t)resource, &was), 0);
    return o;
}

/* The only files are the two inputs, and `others`. */
static void assert_files(place *p, int others)
{
    char command[256];
    snprintf(command, sizeof command, "test $(ls -A %s | wc -l) -eq %d", p->dir, 2 + others);
    assert_int_equal(system(command), 0);
}

/* Arrays of 96 MiB within 64 MiB of memory of the process's own: they lie in files. */
static void large_arrays_stay_in_files(void **state)
{
    enum { LARGE = 24 << 20 };
    place *p = *state;
    tp_str text, why = {NULL, 0};
    if (!LIMIT_MEMORY)
        skip(); /* the sanitizer's own memory is more than that */
    put_large(p, "x.npy", LARGE, 1.5F);
    put_large(p, "y.npy", LARGE, 2.25F);
    const char *out = path_in(p, "o.npy");
    outcome o = add_within(p, RLIMIT_DATA, 64, out);
    if (o.exit != 0)
        fail_msg("exit %d: %s", o.exit, tp_cstr(p->a, o.err));
    assert_files(p, 1);
    tp_tensor t = get(p, out, TP_F32);
    assert_true(t.n == LARGE && ((const float *)t.data)[LARGE - 1] == 3.75F && ((const float *)t.data)[LARGE - 2] == 0);
    unlink(out);
    o = add_within(p, RLIMIT_FSIZE, 32, out);
    assert_int_equal(o.exit, 3);
    assert_true(contains(o.err, "cannot write"));
    assert_files(p, 0);
    put(p, "o.npy", "old", 3);
    o = RUN(p->a, "run", "--unchecked", "add_vectors", "--max-steps", "9", "--input", eq(p, "x", path_in(p, "x.npy")),
            "--input", eq(p, "y", path_in(p, "y.npy")), "--output", eq(p, "o", out));
    assert_int_equal(o.exit, 3);
    assert_files(p, 1);
    assert_int_equal(tp_read_file(p->a, out, 1 << 20, &text, &why), TP_OK);
    assert_true(tp_str_is(text, "old"));
}

int main(void)
{
    setenv("TILEPROOF_UNCHECKED", "yes", 1); /* but where verifying is what is tested */
    const struct CMUnitTest tests[] = {IN_PLACE(npy_versions),
                                       IN_PLACE(npy_big_endian),
                                       IN_PLACE(npy_bfloat16),
                                       IN_PLACE(npy_fortran_order),
                                       IN_PLACE(safetensors_both_ways),
                                       IN_PLACE(arrays_that_do_not_fit),
                                       IN_PLACE(sizes_are_inferred),
                                       IN_PLACE(memory_is_refused_by_name),
                                       IN_PLACE(arrays_of_a_case),
                                       IN_PLACE(arrays_that_shrink_are_told),
                                       IN_PLACE(a_trap_writes_nothing),
                                       IN_PLACE(cases_of_the_report),
                                       IN_PLACE(long_chains_of_integers),
                                       IN_PLACE(fills_that_do_not_fit),
                                       IN_PLACE(outputs_that_cannot_be_written),
                                       IN_PLACE(profiles_count),
                                       IN_PLACE(large_arrays_stay_in_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
