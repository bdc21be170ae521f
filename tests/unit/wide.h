/* Specs that are wide or deep, as fused optimizer steps, unrolled loops and schedules are: made of a kind, a size and a
 * seed. Correct, and to be proven at every size. */
#ifndef TP_TEST_WIDE_H
#define TP_TEST_WIDE_H

#include "base/rng.h"
#include "base/str.h"
#include "verify/verify.h"

typedef enum wide_kind {
    WIDE_OPERANDS,   /* n inputs, summed to one output */
    WIDE_PAIRS,      /* n / 2 inputs, n / 2 outputs */
    WIDE_STATEMENTS, /* n statements, one after the other */
    WIDE_BRANCHES,   /* n times `if`, on the step of the grid */
    WIDE_CHAIN,      /* one `if` with n - 1 times `elif` */
    WIDE_LOOP,       /* a loop of n turns over the rows of a block; what a turn leaves is in a value, or in scratch */
    WIDE_LATE_ROWS,  /* the same, masked, behind a loop in a loop */
    WIDE_SCRATCH,    /* n buffers, each made of the one before */
    WIDE_KINDS
} wide_kind;

static const char *const WIDE_NAMES[WIDE_KINDS] = {"operands", "pairs", "statements", "branches",
                                                   "chain",    "loop",  "late_rows",  "scratch"};

typedef struct wide {
    tp_rng rng;
    tp_buf b;
    int64_t n;
} wide;

static inline int64_t wide_upto(wide *w, int64_t n)
{
    return (int64_t)tp_rng_below(&w->rng, (uint64_t)n);
}

static inline const char *wide_word(wide *w, const char *const *words, int64_t n)
{
    return words[wide_upto(w, n)];
}

/* `rows` by 128, one block for each step of i and j. */
static inline void wide_operand(wide *w, const char *name, int64_t number, int64_t rows)
{
    tp_buf_printf(&w->b,
                  "%s{\"name\": \"%s%lld\", \"dtype\": \"float32\", \"shape\": [\"M\", \"N\"], \"block_shape\": [%lld, "
                  "128], \"index_map\": [\"i\", \"j\"]}",
                  number ? ", " : "", name, (long long)number, (long long)rows);
}

static inline void wide_head(wide *w, int64_t rows, int64_t inputs, int64_t outputs, int64_t buffers)
{
    tp_buf_printf(&w->b,
                  "{\"tileproof\": 1, \"name\": \"wide\", \"target\": \"none\", \"sizes\": {\"M\": {\"min\": 1}, "
                  "\"N\": {\"min\": 1}}, \"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(M, %lld)\"}, {\"axis\": \"j\", "
                  "\"steps\": \"cdiv(N, 128)\"}], \"inputs\": [",
                  (long long)rows);
    for (int64_t i = 0; i < inputs; i++)
        wide_operand(w, "x", i, rows);
    tp_buf_c(&w->b, "], \"outputs\": [");
    for (int64_t i = 0; i < outputs; i++)
        wide_operand(w, "o", i, rows);
    tp_buf_c(&w->b, "], \"scratch\": [");
    for (int64_t i = 0; i < buffers; i++)
        tp_buf_printf(&w->b, "%s{\"name\": \"s%lld\", \"dtype\": \"float32\", \"shape\": [%d, 128]}", i ? ", " : "",
                      (long long)i, buffers == 1 ? 1 : 8);
    tp_buf_c(&w->b, "], \"kernel\": [");
}

static inline void wide_operands(wide *w, int64_t outputs)
{
    static const char *const OPS[] = {" + ", " - ", " * "};
    int64_t inputs = w->n - outputs;
    wide_head(w, 8, inputs, outputs, 0);
    for (int64_t o = 0; o < outputs; o++) {
        tp_buf_printf(&w->b, "%s\"o%lld[...] = x%lld[...]", o ? ", " : "", (long long)o, (long long)o);
        for (int64_t i = o + outputs; i < inputs; i += outputs)
            tp_buf_printf(&w->b, "%sx%lld[...]", wide_word(w, OPS, 3), (long long)i);
        tp_buf_c(&w->b, "\"");
    }
}

static inline void wide_statements(wide *w)
{
    wide_head(w, 8, 2, 1, 0);
    tp_buf_c(&w->b, "\"a = where(j * 128 + iota(int32, (8, 128), 1) < N, x0[...], 0)\"");
    for (int64_t i = 0; i < w->n; i++) {
        long long k = (long long)(1 + wide_upto(w, 9));
        switch (wide_upto(w, 5)) {
        case 0: tp_buf_printf(&w->b, ", \"a = a * %lld.5 + 1.0\"", k); break;
        case 1: tp_buf_printf(&w->b, ", \"a = where(a > %lld, exp(a), x1[...])\"", k); break;
        case 2: tp_buf_c(&w->b, ", \"a = where(j * 128 + iota(int32, (8, 128), 1) < N, a, 0)\""); break;
        case 3:
            tp_buf_c(&w->b, ", \"a = where(j * 128 + iota(int32, (8, 128), 1) < N, a, 0)\", "
                            "\"a = a - max(a, axis=1, keepdims=True)\"");
            break;
        case 4: tp_buf_printf(&w->b, ", \"a = where(i * 8 + iota(int32, (8, 128), 0) < M, a, %lld)\"", k); break;
        }
    }
    tp_buf_c(&w->b, ", \"o0[...] = a\"");
}

/* A sum over steps k, in which each step takes some of the branches. */
static inline void wide_branches(wide *w, bool chain)
{
    tp_buf_c(&w->b,
             "{\"tileproof\": 1, \"name\": \"wide\", \"target\": \"none\", \"sizes\": {\"M\": {\"min\": 1}, \"K\": "
             "{\"min\": 1}}, \"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(M, 8)\"}, {\"axis\": \"k\", \"steps\": "
             "\"K\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"M\", \"K * 128\"], "
             "\"block_shape\": [8, 128], \"index_map\": [\"i\", \"k\"]}], \"outputs\": [{\"name\": \"o\", \"dtype\": "
             "\"float32\", \"shape\": [\"M\", 128], \"block_shape\": [8, 128], \"index_map\": [\"i\", 0]}], "
             "\"scratch\": [{\"name\": \"acc\", \"dtype\": \"float32\", \"shape\": [8, 128]}], \"kernel\": [\"if k == "
             "0:\", \"    acc[...] = 0\", \"v = x[...]\"");
    for (int64_t i = 0; i < w->n; i++) {
        long long k = (long long)i;
        tp_buf_printf(&w->b, ", \"%s ", chain && i ? "elif" : "if");
        switch (chain ? 0 : wide_upto(w, 4)) {
        case 0: tp_buf_printf(&w->b, "k %% %lld == %lld:\"", chain ? (long long)w->n : k + 2, chain ? k : 0); break;
        case 1: tp_buf_printf(&w->b, "k == %lld:\"", k); break;
        case 2: tp_buf_printf(&w->b, "k > %lld:\"", k); break;
        case 3: tp_buf_printf(&w->b, "(i + k) %% %lld != 0:\"", k + 2); break;
        }
        if (wide_upto(w, 2))
            tp_buf_printf(&w->b, ", \"    v = v * %lld.5\"", k);
        else
            tp_buf_printf(&w->b, ", \"    acc[...] = acc[...] * %lld.5 + x[...]\"", k);
    }
    tp_buf_c(&w->b, ", \"acc[...] += v\", \"if k == num_programs(k) - 1:\", \"    o[...] = acc[...]\"");
}

static inline void wide_loop(wide *w)
{
    int64_t kind = wide_upto(w, 3);
    long long n = (long long)w->n;
    wide_head(w, w->n, 1, 1, 1);
    if (kind == 0)
        tp_buf_printf(&w->b,
                      "\"s0[...] = zeros((1, 128), float32)\", \"for t in range(0, %lld):\", \"    s0[...] = s0[...] * "
                      "0.5 + x0[ds(t, 1), :]\", \"    o0[ds(t, 1), :] = s0[...]\"",
                      n);
    else if (kind == 1)
        tp_buf_printf(&w->b,
                      "\"a = zeros((1, 128), float32)\", \"for t in range(0, %lld):\", \"    if t %% 3 == 0:\", \"     "
                      "   a = a * 0.5 + x0[ds(t, 1), :]\", \"    else:\", \"        a = a + 1.0\", \"    o0[ds(t, 1), "
                      ":] = a\"",
                      n);
    else
        tp_buf_printf(
            &w->b,
            "\"a = zeros((1, 128), float32)\", \"for t in range(%lld, -1, -1):\", \"    a = a * 0.5 + where(i "
            "* %lld + t < M, x0[ds(t, 1), :], 0)\", \"    o0[ds(t, 1), :] = a\"",
            n - 1, n);
}

static inline void wide_late_rows(wide *w)
{
    long long n = (long long)w->n;
    wide_head(w, w->n * 8, 1, 1, 0);
    tp_buf_printf(
        &w->b,
        "\"a = zeros((1, 128), float32)\", \"for u in range(0, %lld):\", \"    for t in range(0, 8):\", \"    "
        "    row = u * 8 + t\", \"        a = a * 0.5 + where(i * %lld + row < M, x0[ds(row, 1), :], 0)\", \" "
        "       o0[ds(row, 1), :] = a * %lld.0\"",
        n, n * 8, (long long)wide_upto(w, 9));
}

static inline void wide_scratch(wide *w)
{
    wide_head(w, 8, 1, 1, w->n);
    tp_buf_c(&w->b, "\"s0[...] = x0[...]\"");
    for (int64_t i = 1; i < w->n; i++)
        tp_buf_printf(&w->b, ", \"s%lld[...] = s%lld[...] * %lld.5 + s%lld[...]\"", (long long)i, (long long)(i - 1),
                      (long long)wide_upto(w, 9), (long long)wide_upto(w, i));
    tp_buf_printf(&w->b, ", \"o0[...] = s%lld[...]\"", (long long)(w->n - 1));
}

/* The text of a spec; in the arena. */
static inline tp_str wide_spec(tp_arena *a, wide_kind kind, int64_t n, uint64_t seed)
{
    wide w = {.rng = tp_rng_new(seed, kind), .b = {.arena = a}, .n = n};
    switch (kind) {
    case WIDE_OPERANDS: wide_operands(&w, 1); break;
    case WIDE_PAIRS: wide_operands(&w, n / 2); break;
    case WIDE_STATEMENTS: wide_statements(&w); break;
    case WIDE_BRANCHES: wide_branches(&w, false); break;
    case WIDE_CHAIN: wide_branches(&w, true); break;
    case WIDE_LOOP: wide_loop(&w); break;
    case WIDE_LATE_ROWS: wide_late_rows(&w); break;
    case WIDE_SCRATCH: wide_scratch(&w); break;
    case WIDE_KINDS: break;
    }
    tp_buf_c(&w.b, "]}\n");
    return tp_buf_view(&w.b);
}

/* Lint of a spec with the program's settings: how many claims are proven, how many are not, and the first of these. */
typedef struct wide_lint {
    tp_job job;
    tp_check_settings settings;
    uint32_t proven, open;
    const tp_finding *first_open;
} wide_lint;

static inline void wide_lint_call(void *arg)
{
    wide_lint *c = arg;
    tp_solver *solver = tp_solver_new(c->job.arena);
    tp_job_begin(&c->job);
    tp_check_text(&c->job, &c->settings, solver);
    tp_solver_free(solver);
}

static inline wide_lint wide_lint_of(tp_arena *a, tp_str text)
{
    wide_lint c = {.job = {.arena = a, .source = {TP_S("wide.tile.json"), text}}};
    tp_check_defaults(&c.settings, false);
    c.open = tp_try(a, wide_lint_call, &c) != TP_OK || !c.job.report.valid;
    for (uint32_t i = 0; i < c.job.report.findings.len; i++) {
        const tp_finding *f = &c.job.report.findings.at[i];
        c.proven += f->verdict == TP_PROVEN;
        if (f->verdict == TP_PROVEN || f->verdict == TP_ADVICE || f->verdict == TP_NOT_APPLICABLE)
            continue;
        c.first_open = c.first_open ? c.first_open : f;
        c.open++;
    }
    return c;
}

#endif
