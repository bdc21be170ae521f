/* What include/ promises of single calls: promises SPEC RECEIPT. With PROVER also tileproof_verify.h. */
#include <string.h>

#include "frame.h"
#ifdef PROVER
#include <tileproof_verify.h>
#endif

enum { M = 300, N = 700 };

static float x[M * N], y[M * N], o[M * N];

/* What a sink heard last, and how often. */
typedef struct heard {
    int times, proven;
    char rule[16], severity[16], verdict[16], pointer[64];
    uint32_t line;
    int told; /* every string was there, and the message one line */
} heard;

static void keep(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
}

static void sink(void *context, const tileproof_finding *f)
{
    heard *h = context;
    int told = f->verdict && f->severity && f->subject && f->message && f->help && f->pointer && *f->message &&
               !strchr(f->message, '\n');
    h->told = told && (h->told || !h->times);
    h->times++;
    keep(h->rule, sizeof h->rule, f->rule);
    keep(h->severity, sizeof h->severity, f->severity);
    keep(h->verdict, sizeof h->verdict, f->verdict);
    keep(h->pointer, sizeof h->pointer, f->pointer);
    h->proven += strcmp(h->verdict, "proven") == 0;
    h->line = f->line;
}

static void names(void)
{
    expect(strcmp(tileproof_version(), VERSION) == 0, "tileproof_version() is not that of pkg-config");
    for (int s = TILEPROOF_OK; s <= TILEPROOF_INTERNAL + 1; s++) {
        const char *name = tileproof_status_name((tileproof_status)s);
        expect(name && *name, "a status has no name");
        for (int t = TILEPROOF_OK; name && t < s; t++)
            expect(strcmp(name, tileproof_status_name((tileproof_status)t)) != 0, "two statuses have one name");
    }
}

static void arguments(void)
{
    tileproof_kernel *k = (tileproof_kernel *)(void *)x;
    tileproof_free(NULL);
    expect(tileproof_load_file(NULL, NULL, NULL, NULL, &k) == TILEPROOF_USAGE, "no path is no usage error");
    expect(tileproof_load(NULL, 5, NULL, NULL, NULL, &k) == TILEPROOF_USAGE, "no text is no usage error");
    expect(tileproof_load("{}", 2, NULL, NULL, NULL, NULL) == TILEPROOF_USAGE,
           "no place for a kernel is no usage error");
    expect(tileproof_run(NULL, NULL, 0, NULL, NULL, NULL) == TILEPROOF_USAGE, "no kernel is no usage error");
    expect(tileproof_accept(NULL, "", 0, NULL, NULL) == TILEPROOF_USAGE, "a receipt for no kernel is no usage error");
}

static void loading(char **argv)
{
    size_t n, receipt_size;
    char *text = read_file(argv[1], &n), *receipt = read_file(argv[2], &receipt_size);
    tileproof_kernel *k = NULL;
    heard h = {0};
    if (tileproof_load(text, n, "tpu-v4", sink, &h, &k) != TILEPROOF_OK) {
        expect(0, "a spec in memory does not load");
        return;
    }
    memset(text, ' ', n);
    expect(strcmp(tileproof_name(k), "add_2d") == 0, "the kernel has another name than its spec");
    expect(strcmp(tileproof_target(k), "tpu-v4") == 0, "the target of the call does not replace that of the spec");
    expect(tileproof_accept(k, receipt, receipt_size, sink, &h) == TILEPROOF_REFUSED && h.times == 1,
           "a receipt for another target is not refused with a reason");
    expect(add(k, M, N, x, y, o, NULL, M, &(tileproof_run_options){.unchecked = 1}) == TILEPROOF_OK,
           "a kernel needs its text after it was loaded");
    tileproof_free(k);

    h = (heard){0};
    k = (tileproof_kernel *)(void *)x;
    expect(tileproof_load("{\n\"tileproof\": 7}", 17, NULL, sink, &h, &k) == TILEPROOF_INPUT && !k,
           "a bad spec is no input error, or leaves a handle");
    expect(h.times && h.told && *h.rule && h.line == 2 && strcmp(h.severity, "error") == 0,
           "the sink does not hear what is wrong with a spec, and where");
    h = (heard){0};
    expect(tileproof_load("{}", 2, "tpu-v999", sink, &h, &k) == TILEPROOF_USAGE && h.times == 1 && h.told && !*h.rule,
           "an unknown target is no usage error that the sink hears");
    free(text);
    free(receipt);
}

/* One digit of it is another. */
static void damaged_receipt(tileproof_kernel *k, char **argv)
{
    size_t n;
    char *receipt = read_file(argv[2], &n), *digit = strstr(receipt, "digest");
    heard h = {0};
    while (digit && *digit && !(*digit >= '1' && *digit <= '8'))
        digit++;
    if (digit)
        ++*digit;
    expect(tileproof_accept(k, receipt, n, sink, &h) == TILEPROOF_INPUT && h.times && !tileproof_is_verified(k),
           "a receipt with a wrong digest is accepted");
    tileproof_free(k);
    free(receipt);
}

static void parameters(const tileproof_kernel *k)
{
    static const struct {
        const char *name;
        tileproof_role role;
    } WANT[] = {{"x", TILEPROOF_INPUT_ARRAY}, {"y", TILEPROOF_INPUT_ARRAY}, {"o", TILEPROOF_OUTPUT_ARRAY}};
    tileproof_parameter p = {0};
    expect(tileproof_nparameters(k) == 3, "the number of parameters is wrong");
    for (size_t i = 0; i < 3; i++)
        expect(tileproof_get_parameter(k, i, &p) && strcmp(p.name, WANT[i].name) == 0 && p.role == WANT[i].role &&
                   strcmp(p.dtype, "float32") == 0 && p.rank == 2,
               "a parameter is described wrongly");
    expect(!tileproof_get_parameter(k, 3, &p), "there is a parameter past the last");
}

static void shapes(const tileproof_kernel *k)
{
    const int64_t shape[] = {M, N};
    const tileproof_array arrays[] = {{"x", "float32", 2, shape, NULL, x}, {"y", "float32", 2, shape, NULL, y}};
    const char *dtype = "";
    uint32_t rank = 0;
    int64_t dims[8] = {0};
    expect(tileproof_output_shape(k, "o", arrays, 2, NULL, &dtype, &rank, dims, NULL, NULL) == TILEPROOF_OK &&
               strcmp(dtype, "float32") == 0 && rank == 2 && dims[0] == M && dims[1] == N,
           "the shape of an output is wrong");
    expect(tileproof_output_shape(k, "x", arrays, 2, NULL, &dtype, &rank, dims, NULL, NULL) == TILEPROOF_USAGE,
           "an input has the shape of an output");
}

static int untouched(void)
{
    for (size_t i = 0; i < M * N; i++)
        if (o[i] != -1)
            return 0;
    return 1;
}

static void clear(void)
{
    for (size_t i = 0; i < M * N; i++)
        o[i] = -1;
}

/* Runs that must not happen leave the output alone. */
static void refusals(tileproof_kernel *k)
{
    heard h = {0};
    const int64_t shape[] = {M, N}, none[] = {0, N};
    tileproof_array arrays[] = {
        {"x", "float32", 2, shape, NULL, x}, {"y", "float32", 2, shape, NULL, y}, {"o", "float32", 2, shape, NULL, o}};
    const tileproof_run_options unchecked = {.unchecked = 1};
    expect(tileproof_run(k, arrays, 3, NULL, sink, &h) == TILEPROOF_REFUSED && h.times == 1 && h.told && !*h.rule,
           "a kernel without a receipt is not refused");
    expect(tileproof_accept(k, "{}", 2, NULL, NULL) == TILEPROOF_INPUT && !tileproof_is_verified(k),
           "what is no receipt is no input error");
    expect(tileproof_run(k, arrays, 2, &unchecked, NULL, NULL) == TILEPROOF_INPUT, "an output may be absent");
    expect(tileproof_run(k, arrays + 1, 2, &unchecked, NULL, NULL) == TILEPROOF_USAGE, "an input may be absent");
    arrays[0].shape = none;
    expect(tileproof_run(k, arrays, 3, &unchecked, NULL, NULL) == TILEPROOF_INPUT, "shapes may contradict each other");
    arrays[1].shape = arrays[2].shape = none;
    expect(tileproof_run(k, arrays, 3, &unchecked, NULL, NULL) == TILEPROOF_INPUT,
           "sizes may lie outside of the domain");
    arrays[0].shape = arrays[1].shape = arrays[2].shape = shape;
    arrays[0].dtype = "float16";
    expect(tileproof_run(k, arrays, 3, &unchecked, NULL, NULL) == TILEPROOF_INPUT, "an array may have a foreign dtype");
    arrays[0].dtype = "float32";
    arrays[2].data = NULL;
    expect(tileproof_run(k, arrays, 3, &unchecked, NULL, NULL) == TILEPROOF_INPUT, "an output may have no memory");
    arrays[2].data = o;
    expect(tileproof_run(k, arrays, 3, &(tileproof_run_options){.unchecked = 1, .max_steps = 1}, NULL, NULL) ==
               TILEPROOF_LIMIT,
           "max_steps is no limit");
    tileproof_status st =
        tileproof_run(k, arrays, 3, &(tileproof_run_options){.unchecked = 1, .max_memory = 1 << 16}, NULL, NULL);
    expect(st == TILEPROOF_MEMORY || st == TILEPROOF_LIMIT, "max_memory is no limit");
    expect(untouched(), "a run that fails writes its output");
}

/* The last step traps, after others have written. */
static void traps(void)
{
    static const char SPEC[] =
        "{\"tileproof\": 1, \"name\": \"late\", \"target\": \"none\", \"grid\": [{\"axis\": \"i\", \"steps\": 4}],"
        "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [32], \"block_shape\": [8], \"index_map\": "
        "[\"i + i // 3\"]}],"
        "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [32], \"block_shape\": [8], \"index_map\": "
        "[\"i\"]}],"
        "\"kernel\": [\"o[...] = x[...]\"], \"reference\": [\"o = x\"]}";
    tileproof_kernel *k = NULL;
    heard h = {0};
    const int64_t shape[] = {32};
    clear();
    const tileproof_array arrays[] = {{"x", "float32", 1, shape, NULL, x}, {"o", "float32", 1, shape, NULL, o}};
    expect(tileproof_load(SPEC, sizeof SPEC - 1, NULL, NULL, NULL, &k) == TILEPROOF_OK,
           "the spec of a trap does not load");
    if (!k)
        return;
    expect(tileproof_run(k, arrays, 2, &(tileproof_run_options){.unchecked = 1}, sink, &h) == TILEPROOF_VIOLATED,
           "a trap is no violation");
    expect(h.times == 1 && h.told && strcmp(h.rule, "TP101") == 0, "the sink does not hear of a trap");
    expect(untouched(), "a run that traps writes its output");
    tileproof_free(k);
}

/* Rows from the last to the first, and bytes between. */
static void strides(const tileproof_kernel *k)
{
    static float gaps[M][N + 3];
    const int64_t shape[] = {M, N}, up[] = {-(int64_t)(N * sizeof(float)), sizeof(float)},
                  wide[] = {sizeof gaps[0], sizeof(float)};
    const tileproof_array arrays[] = {{"x", "float32", 2, shape, up, x + (M - 1) * N},
                                      {"y", "float32", 2, shape, NULL, y},
                                      {"o", "float32", 2, shape, wide, gaps}};
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N + 3; j++)
            gaps[i][j] = -1;
    tileproof_status st = tileproof_run(k, arrays, 3, NULL, NULL, NULL);
    int right = st == TILEPROOF_OK, kept = 1;
    for (size_t i = 0; i < M && st == TILEPROOF_OK; i++) {
        for (size_t j = 0; j < N; j++)
            right &= gaps[i][j] == x[(M - 1 - i) * N + j] + y[i * N + j];
        for (size_t j = N; j < N + 3; j++)
            kept &= gaps[i][j] == -1;
    }
    expect(right, "strides are not followed");
    expect(kept, "a run writes between the rows of its output");
}

#ifdef PROVER
static void proofs(tileproof_kernel *k, char **argv)
{
    heard quiet = {0}, h = {0};
    size_t n;
    char *text = read_file(argv[1], &n), *plus;
    tileproof_kernel *wrong = NULL;
    expect(tileproof_verify(NULL, NULL, NULL, NULL) == TILEPROOF_USAGE, "no kernel to verify is no usage error");
    expect(tileproof_verify(k, &(tileproof_verify_options){.lint_only = 1}, sink, &quiet) == TILEPROOF_OK &&
               !quiet.times,
           "the sink hears of what is in order");
    expect(!tileproof_is_verified(k), "a kernel counts as verified after lint_only");
    expect(tileproof_verify(k, &(tileproof_verify_options){.lint_only = 1, .report_proven = 1}, sink, &h) ==
                   TILEPROOF_OK &&
               h.proven && h.told,
           "report_proven does not report what is proven");
    while ((plus = strstr(text, "[\"i\", \"j\"]")))
        memcpy(plus, "[\"j\", \"i\"]", 10);
    h = (heard){0};
    expect(tileproof_load(text, n, NULL, NULL, NULL, &wrong) == TILEPROOF_OK &&
               tileproof_verify(wrong, &(tileproof_verify_options){.cases = 1}, sink, &h) == TILEPROOF_VIOLATED &&
               h.times && h.told && !tileproof_is_verified(wrong),
           "a kernel that breaks a rule counts as verified");
    tileproof_free(wrong);
    expect(tileproof_verify(k, &(tileproof_verify_options){.cases = 1}, NULL, NULL) == TILEPROOF_OK &&
               tileproof_is_verified(k),
           "a kernel does not count as verified after tileproof_verify()");
    free(text);
}
#endif

int main(int argc, char **argv)
{
    tileproof_kernel *k = load(argc, argv);
    for (size_t i = 0; i < M * N; i++) {
        x[i] = (float)(i % 1000);
        y[i] = (float)(i % 77);
    }
    clear();
    names();
    arguments();
    parameters(k);
    shapes(k);
    refusals(k);
    traps();
#ifdef PROVER
    proofs(k, argv);
#else
    accept_receipt(k, argv);
#endif
    expect(tileproof_is_verified(k), "a kernel with a receipt does not count as verified");
    strides(k);
    expect(tileproof_run(k, NULL, 0, NULL, NULL, NULL) == TILEPROOF_USAGE, "no arrays are no usage error");
    loading(argv);
    damaged_receipt(load(argc, argv), argv);
    tileproof_free(k);
    return broken;
}
