/* Copies in flight: what lint says of programs of copies for all sizes, against the machine at small ones. Programs are
 * those that people write, with a few lines left out, doubled, exchanged or changed. "Proven" and a trap of that rule
 * anywhere is unsound; a violation that does not trap is a false alarm. The seed is printed; TEST_SEED and TEST_TRIALS
 * change it. */
#include "tests/unit/replay.h"

#include "base/rng.h"

enum { TRIALS = 60, MOST_STEPS = 7, MOST_ROWS = 4, MOST_LIVE = 5, MOST_LINES = 24 };

/* Idioms, line by line. */
static const char *const IDIOMS[][MOST_LINES] = {
    {"copy_start(x[ds(2 * i, 2), :], buf[0, :, :], sem[0])", "copy_wait(x[ds(2 * i, 2), :], buf[0, :, :], sem[0])",
     "o[...] = buf[0, :, :]"},
    {"if i == 0:", "    copy_start(x[ds(0, 2), :], buf[0, :, :], sem[0])", "if i + 1 < num_programs(i):",
     "    copy_start(x[ds(2 * (i + 1), 2), :], buf[(i + 1) % 2, :, :], sem[(i + 1) % 2])",
     "copy_wait(x[ds(2 * i, 2), :], buf[i % 2, :, :], sem[i % 2])", "o[...] = buf[i % 2, :, :]"},
    {"if i == 0:", "    copy_start(x[ds(0, 2), :], buf[0, :, :], sem[0])",
     "copy_wait(x[ds(2 * i, 2), :], buf[i % 2, :, :], sem[0])", "o[...] = buf[i % 2, :, :]",
     "if i + 1 < num_programs(i):", "    copy_start(x[ds(2 * (i + 1), 2), :], buf[(i + 1) % 2, :, :], sem[0])"},
    {"copy_start(x[ds(2 * i, 2), :], buf[0, :, :], sem[0])", "copy_start(x[ds(0, 2), :], buf[1, :, :], sem[0])",
     "copy_wait(x[ds(2 * i, 2), :], buf[0, :, :], sem[0])", "copy_wait(x[ds(0, 2), :], buf[1, :, :], sem[0])",
     "o[...] = buf[0, :, :] + buf[1, :, :]"},
    {"if i >= 2:", "    copy_wait(buf[i % 2, :, :], y[ds(2 * (i - 2), 2), :], sem[i % 2])", "o[...] = 1",
     "buf[i % 2, :, :] = full((2, 4), 1, float32)", "copy_start(buf[i % 2, :, :], y[ds(2 * i, 2), :], sem[i % 2])",
     "if i == num_programs(i) - 1:", "    copy_wait(buf[i % 2, :, :], y[ds(2 * i, 2), :], sem[i % 2])",
     "if i == num_programs(i) - 1 and i >= 1:",
     "    copy_wait(buf[(i - 1) % 2, :, :], y[ds(2 * (i - 1), 2), :], sem[(i - 1) % 2])"},
    {"copy_start(x[ds(0, 2), :], buf[0, :, :], sem[0])", "acc[...] = zeros((2, 4), float32)", "for t in range(N):",
     "    if t + 1 < N:", "        copy_start(x[ds(2 * (t + 1), 2), :], buf[(t + 1) % 2, :, :], sem[(t + 1) % 2])",
     "    copy_wait(x[ds(2 * t, 2), :], buf[t % 2, :, :], sem[t % 2])", "    acc[...] += buf[t % 2, :, :]",
     "o[...] = acc[...]"},
    {"for t in range(N):", "    copy_start(x[ds(2 * t, 2), :], buf[0, :, :], sem[1])",
     "    copy_wait(x[ds(2 * t, 2), :], buf[0, :, :], sem[1])", "o[...] = buf[0, :, :]"},
    /* the last copy is not waited for */
    {"if i >= 1:", "    copy_wait(buf[0, :, :], y[ds(2 * (i - 1), 2), :], sem[0])", "o[...] = 1",
     "buf[0, :, :] = full((2, 4), 1, float32)", "copy_start(buf[0, :, :], y[ds(2 * i, 2), :], sem[0])"},
    /* two axes: from row to row */
    {"if i == 0 and j == 0:", "    copy_start(x[ds(0, 2), :], buf[0, :, :], sem[0])", "if j + 1 < num_programs(j):",
     "    copy_start(x[ds(2 * (i * M + j + 1), 2), :], buf[(i * M + j + 1) % 2, :, :], sem[(i * M + j + 1) % 2])",
     "if j + 1 == num_programs(j) and i + 1 < num_programs(i):",
     "    copy_start(x[ds(2 * (i * M + M), 2), :], buf[(i * M + j + 1) % 2, :, :], sem[(i * M + j + 1) % 2])",
     "copy_wait(x[ds(2 * (i * M + j), 2), :], buf[(i * M + j) % 2, :, :], sem[(i * M + j) % 2])",
     "o[...] = buf[(i * M + j) % 2, :, :]"},
    {"if i * M + j == 0:", "    copy_start(x[ds(0, 2), :], buf[0, :, :], sem[0])",
     "copy_wait(x[ds(2 * (i * M + j), 2), :], buf[0, :, :], sem[0])", "o[...] = buf[0, :, :]",
     "if i * M + j + 1 < N * M:", "    copy_start(x[ds(2 * (i * M + j + 1), 2), :], buf[0, :, :], sem[0])"},
    /* what the first step of a row starts, its last one waits for */
    {"if j == 0:", "    copy_start(x[ds(2 * i, 2), :], buf[0, :, :], sem[0])", "o[...] = 1",
     "if j == num_programs(j) - 1:", "    copy_wait(x[ds(2 * i, 2), :], buf[0, :, :], sem[0])",
     "    o[...] = buf[0, :, :]"},
    /* the rows before the columns */
    {"if j == 0:", "    if i >= 1:", "        copy_wait(buf[0, :, :], y[ds(2 * (i * M - M), 2), :], sem[0])",
     "    buf[0, :, :] = full((2, 4), 1, float32)", "    copy_start(buf[0, :, :], y[ds(2 * i * M, 2), :], sem[0])",
     "o[...] = 1", "if i == num_programs(i) - 1 and j == num_programs(j) - 1:",
     "    copy_wait(buf[0, :, :], y[ds(2 * i * M, 2), :], sem[0])"},
    /* out, one step and one row at a time; several on one semaphore */
    {"buf[0, :, :] = full((2, 4), 1, float32)", "copy_start(buf[0, :, :], y[ds(2 * (i * M + j), 2), :], sem[0])",
     "copy_wait(buf[0, :, :], y[ds(2 * (i * M + j), 2), :], sem[0])", "o[...] = 1"},
    {"copy_start(x[ds(2 * i, 2), :], buf[0, :, :], sem[0])",
     "if i + 1 < num_programs(i):", "    copy_start(x[ds(2 * (i + 1), 2), :], buf[1, :, :], sem[0])",
     "copy_wait(x[ds(2 * i, 2), :], buf[0, :, :], sem[0])",
     "if i + 1 < num_programs(i):", "    copy_wait(x[ds(2 * i, 2), :], buf[1, :, :], sem[0])", "o[...] = buf[0, :, :]"},
    /* a loop of starts, a loop of waits */
    {"for t in range(N):", "    copy_start(x[ds(2 * t, 2), :], bag[t, :, :], sem[0])",
     "for t in range(N):", "    copy_wait(x[ds(2 * t, 2), :], bag[t, :, :], sem[0])", "o[...] = bag[i, :, :]"},
    {"for t in range(i):", "    if t > 0:", "        copy_start(x[ds(2 * t, 2), :], bag[t, :, :], sem[0])",
     "o[...] = full((2, 4), 1, float32)",
     "for t in range(i):", "    if t > 0:", "        copy_wait(x[ds(2 * t, 2), :], bag[t, :, :], sem[0])"},
    /* in blocks, of which the next one is on its way: in a step, and from step to step */
    {"for t in range(N):", "    copy_start(x[ds(2 * t, 2), :], two[0, t, :, :], sem[0])",
     "acc[...] = zeros((2, 4), float32)", "for g in range(N):", "    if g + 1 < N:", "        for t in range(N):",
     "            copy_start(x[ds(2 * t, 2), :], two[(g + 1) % 2, t, :, :], sem[(g + 1) % 2])",
     "    for t in range(N):", "        copy_wait(x[ds(2 * t, 2), :], two[g % 2, t, :, :], sem[g % 2])",
     "    acc[...] += two[g % 2, 0, :, :]", "o[...] = acc[...]"},
    {"if i == 0:", "    for t in range(N):", "        copy_start(x[ds(2 * t, 2), :], two[0, t, :, :], sem[0])",
     "if i + 1 < num_programs(i):", "    for t in range(N):",
     "        copy_start(x[ds(2 * t, 2), :], two[(i + 1) % 2, t, :, :], sem[(i + 1) % 2])", "for t in range(N):",
     "    copy_wait(x[ds(2 * t, 2), :], two[i % 2, t, :, :], sem[i % 2])", "o[...] = two[i % 2, i, :, :]"},
    /* a copy lasts from step to step, past a loop of others */
    {"if i == 0:", "    copy_start(x[ds(0, 2), :], head[0, :, :], ahead[0])", "if i + 1 < num_programs(i):",
     "    copy_start(x[ds(2 * (i + 1), 2), :], head[(i + 1) % 2, :, :], ahead[(i + 1) % 2])",
     "copy_start(x[ds(0, 2), :], buf[0, :, :], sem[0])",
     "copy_wait(x[ds(2 * i, 2), :], head[i % 2, :, :], ahead[i % 2])", "acc[...] = head[i % 2, :, :]",
     "for t in range(N):", "    if t + 1 < N:",
     "        copy_start(x[ds(2 * (t + 1), 2), :], buf[(t + 1) % 2, :, :], sem[(t + 1) % 2])",
     "    copy_wait(x[ds(2 * t, 2), :], buf[t % 2, :, :], sem[t % 2])", "    acc[...] += buf[t % 2, :, :]",
     "o[...] = acc[...]"},
    /* the slot in SMEM, turned by each step; over two axes; with a flag; by live rows alone, of which the next one is
     * beside this one, or searched */
    {"if i == 0:", "    state[0] = 0", "    copy_start(x[ds(0, 2), :], buf[0, :, :], sem[0])", "s = state[0]",
     "if i + 1 < num_programs(i):", "    copy_start(x[ds(2 * (i + 1), 2), :], buf[1 - s, :, :], sem[1 - s])",
     "copy_wait(x[ds(2 * i, 2), :], buf[s, :, :], sem[s])", "o[...] = buf[s, :, :]", "state[0] = 1 - s"},
    {"if i == 0:", "    state[0] = 0", "    state[1] = 1", "s = state[0]",
     "if state[1] == 1:", "    copy_start(x[ds(2 * i, 2), :], buf[s, :, :], sem[0])", "state[1] = 0",
     "copy_wait(x[ds(2 * i, 2), :], buf[s, :, :], sem[0])",
     "if i + 1 < num_programs(i):", "    copy_start(x[ds(2 * (i + 1), 2), :], buf[1 - s, :, :], sem[0])",
     "    state[0] = 1 - s", "o[...] = buf[s, :, :]"},
    {"if i * M + j == 0:", "    state[0] = 0", "    copy_start(x[ds(0, 2), :], buf[0, :, :], sem[0])", "s = state[0]",
     "if i * M + j + 1 < N * M:", "    copy_start(x[ds(2 * (i * M + j + 1), 2), :], buf[1 - s, :, :], sem[1 - s])",
     "copy_wait(x[ds(2 * (i * M + j), 2), :], buf[s, :, :], sem[s])", "o[...] = buf[s, :, :]", "state[0] = 1 - s"},
    {"if i == 0:", "    state[0] = 0",
     "    if rows[0] == 1:", "        copy_start(x[ds(0, 2), :], buf[0, :, :], sem[0])", "s = state[0]",
     "o[...] = full((2, 4), 1, float32)", "if rows[i] == 1:", "    copy_wait(x[ds(2 * i, 2), :], buf[s, :, :], sem[s])",
     "    o[...] = buf[s, :, :]", "    s = 1 - s", "if i + 1 < num_programs(i):", "    if rows[i + 1] == 1:",
     "        copy_start(x[ds(2 * (i + 1), 2), :], buf[s, :, :], sem[s])", "state[0] = s"},
    {"if i == 0:", "    state[0] = 0", "    state[1] = 1", "o[...] = full((2, 4), 1, float32)", "if rows[i] == 1:",
     "    s = state[0]", "    if state[1] == 1:", "        copy_start(x[ds(2 * i, 2), :], buf[s, :, :], sem[s])",
     "    state[1] = 0", "    n = i + 1", "    for t in range(i + 1, N):", "        n = n + 1 if rows[n] == 0 else n",
     "    if n < N:", "        copy_start(x[ds(2 * n, 2), :], buf[1 - s, :, :], sem[1 - s])",
     "        state[0] = 1 - s", "    copy_wait(x[ds(2 * i, 2), :], buf[s, :, :], sem[s])",
     "    o[...] = buf[s, :, :]"},
    {"if i == 0:", "    state[0] = 0", "    state[1] = 1", "o[...] = full((2, 4), 1, float32)", "if rows[i] == 1:",
     "    s = state[0]", "    if state[1] == 1:", "        copy_start(x[ds(2 * i, 2), :], buf[s, :, :], sem[0])",
     "    state[1] = 0", "    n = i + 1", "    for t in range(i + 1, N):", "        n = n + 1 if rows[n] == 0 else n",
     "    copy_wait(buf[s, :, :], buf[s, :, :], sem[0])", "    o[...] = buf[s, :, :]",
     "    if n < N:", "        copy_start(x[ds(2 * n, 2), :], buf[1 - s, :, :], sem[0])", "    state[0] = 1 - s"},
    /* the slot in SMEM, turned by a loop over one or two blocks of the row */
    {"if i == 0:", "    state[0] = 0", "    state[1] = 1", "for t in range(rows[i] + 1):", "    s = state[0]",
     "    n = i + 1 if t + 1 > rows[i] else i",
     "    if state[1] == 1:", "        copy_start(x[ds(2 * i, 2), :], buf[s, :, :], sem[s])", "    state[1] = 0",
     "    if n < N:", "        copy_start(x[ds(2 * n, 2), :], buf[1 - s, :, :], sem[1 - s])",
     "        state[0] = 1 - s", "    copy_wait(x[ds(2 * i, 2), :], buf[s, :, :], sem[s])",
     "    o[...] = buf[s, :, :]"},
    /* semaphores that count: from step to step, by loops, credits for two, two axes */
    {"if i + 1 < num_programs(i):", "    semaphore_signal(count[(i + 1) % 2])",
     "if i > 0:", "    semaphore_wait(count[i % 2])", "o[...] = full((2, 4), 1, float32)"},
    {"for t in range(N):", "    semaphore_signal(count[0], 2)", "semaphore_wait(count[0], N)",
     "for t in range(N):", "    semaphore_wait(count[0])", "o[...] = full((2, 4), 1, float32)"},
    {"if i == 0:", "    semaphore_signal(count[0], 2)", "semaphore_wait(count[0])", "semaphore_signal(count[1])",
     "if i >= 1:", "    semaphore_wait(count[1])", "    semaphore_signal(count[0])", "if i == num_programs(i) - 1:",
     "    semaphore_wait(count[0])", "    semaphore_wait(count[1])", "o[...] = full((2, 4), 1, float32)"},
    {"semaphore_signal(count[i % 3])", "if i >= 2:", "    semaphore_wait(count[(i - 2) % 3])",
     "if i == num_programs(i) - 1:", "    semaphore_wait(count[i % 3])",
     "    if i >= 1:", "        semaphore_wait(count[(i - 1) % 3])", "o[...] = full((2, 4), 1, float32)"},
    {"if i * M + j >= 1:", "    semaphore_wait(count[0])",
     "if i * M + j + 1 < N * M:", "    semaphore_signal(count[0])", "o[...] = full((2, 4), 1, float32)"},
    {"if j == 0:", "    semaphore_signal(count[0], i + 1)", "if j == num_programs(j) - 1:",
     "    semaphore_wait(count[0], i)", "    semaphore_wait(count[0])", "o[...] = full((2, 4), 1, float32)"},
    {"for t in range(i):", "    for g in range(t):", "        semaphore_signal(count[t % 2])",
     "    semaphore_wait(count[t % 2], t)", "    semaphore_signal(count[2])", "semaphore_wait(count[2], i)",
     "o[...] = full((2, 4), 1, float32)"},
};

typedef struct program {
    tp_arena *a;
    tp_rng rng;
    tp_str lines[MOST_LINES];
    uint32_t n;
} program;

static uint32_t below(program *p, uint32_t n)
{
    return (uint32_t)tp_rng_below(&p->rng, n);
}

static void start_from(program *p)
{
    const char *const *idiom = IDIOMS[below(p, sizeof IDIOMS / sizeof *IDIOMS)];
    for (p->n = 0; p->n < MOST_LINES && idiom[p->n]; p->n++)
        p->lines[p->n] = tp_str_c(idiom[p->n]);
}

static void replace(program *p, uint32_t at, const char *from, const char *to)
{
    const char *s = tp_cstr(p->a, p->lines[at]), *found = strstr(s, from);
    if (found)
        p->lines[at] = tp_printf(p->a, "%.*s%s%s", (int)(found - s), s, to, found + strlen(from));
}

/* One change of a kind that authors make by mistake. */
static void change(program *p)
{
    static const char *const SWAPS[][2] = {
        {"i % 2", "(i + 1) % 2"},
        {"(i + 1) % 2", "i % 2"},
        {"i + 1 <", "i + 2 <"},
        {"sem[0]", "sem[1]"},
        {"t % 2", "(t + 1) % 2"},
        {"buf[0", "buf[1"},
        {"i == 0", "i == 1"},
        {"ds(2 * i, 2)", "ds(0, 2)"},
        {"t + 1 < N", "t < N"},
        {"range(N)", "range(1, N)"},
        {"i >= 2", "i >= 1"},
        {"sem[i % 2]", "sem[0]"},
        {"i == num_programs(i) - 1", "i == num_programs(i)"},
        {"i + 1 < num_programs(i)", "i + 2 < num_programs(i)"},
        {"i * M", "i"},
        {"j == 0", "i == 0"},
        {"(i * M + j) % 2", "j % 2"},
        {"j + 1 ==", "j =="},
        {"j + 1 <", "j <"},
        {"range(N)", "range(N - 1)"},
        {"range(i)", "range(i + 1)"},
        {"t > 0", "t > 1"},
        {"bag[t", "bag[0"},
        {"t, :, :]", "N - 1 - t, :, :]"},
        {"(g + 1) % 2", "g % 2"},
        {"g % 2", "0"},
        {"g + 1 < N", "g < N"},
        {"count[0", "count[1"},
        {"semaphore_signal", "semaphore_wait"},
        {", 2)", ")"},
        {"num_programs(i) - 1", "0"},
        {"range(t)", "range(i)"},
        {">= 1", ">= 2"},
        {"ahead[(i + 1) % 2]", "sem[(i + 1) % 2]"},
        {"buf[(t + 1) % 2", "head[(t + 1) % 2"},
        {"[1 - s", "[s"},
        {"[s", "[1 - s"},
        {"= 1 - s", "= s"},
        {"= s", "= 1 - s"},
        {"state[0]", "state[1]"},
        {"state[1]", "state[0]"},
        {"== 1:", "== 0:"},
        {"== 0 else", "== 1 else"},
        {"n < N", "n <= N"},
        {"n < N", "n + 1 < N"},
        {"range(i + 1, N)", "range(i + 2, N)"},
        {"range(i + 1, N)", "range(i, N)"},
        {"n = i + 1", "n = i"},
        {"2 * n", "2 * i"},
        {"rows[i + 1]", "rows[i]"},
        {"rows[n]", "rows[i]"},
        {"state[1] = 0", "state[1] = 1"},
        {"state[1] = 0", "state[1] = rows[i]"},
        {"state[0] = 0", "state[0] = 1"},
        {"1 - s", "(s + 1) % 2"},
        {"1 - s", "(s + i) % 2"},
        {"t + 1 > rows[i]", "t > rows[i]"},
        {"rows[i] + 1", "rows[i]"},
    };
    uint32_t at = below(p, p->n), other = below(p, p->n);
    tp_str line = p->lines[at];
    const char *const *swap = SWAPS[below(p, sizeof SWAPS / sizeof *SWAPS)];
    switch (below(p, 5)) {
    case 0:
        memmove(p->lines + at, p->lines + at + 1, (p->n - at - 1) * sizeof *p->lines);
        p->n--;
        break;
    case 1:
        p->lines[at] = p->lines[other];
        p->lines[other] = line;
        break;
    case 2:
        if (p->n < MOST_LINES) {
            memmove(p->lines + at + 1, p->lines + at, (p->n - at) * sizeof *p->lines);
            p->n++;
        }
        break;
    default: replace(p, at, swap[0], swap[1]);
    }
}

static const char *spec_of(const program *p)
{
    tp_buf b = {.arena = p->a};
    bool out = false, acc = false, rows = false, bag = false, two = false, count = false, head = false, state = false,
         live = false;
    for (uint32_t i = 0; i < p->n; i++) {
        tp_buf_printf(&b, "%s\"%.*s\"", i ? ", " : "", TP_FMT(p->lines[i]));
        out |= strstr(tp_cstr(p->a, p->lines[i]), "y[") != NULL;
        acc |= strstr(tp_cstr(p->a, p->lines[i]), "acc") != NULL;
        bag |= strstr(tp_cstr(p->a, p->lines[i]), "bag[") != NULL;
        two |= strstr(tp_cstr(p->a, p->lines[i]), "two[") != NULL;
        head |= strstr(tp_cstr(p->a, p->lines[i]), "head") != NULL;
        count |= strstr(tp_cstr(p->a, p->lines[i]), "count[") != NULL;
        state |= strstr(tp_cstr(p->a, p->lines[i]), "state[") != NULL;
        live |= strstr(tp_cstr(p->a, p->lines[i]), "rows[") != NULL;
        rows |= strpbrk(tp_cstr(p->a, p->lines[i]), "jM") != NULL;
    }
    const char *steps = rows ? "N * M" : "N";
    return tp_printf(
               p->a,
               "{\"tileproof\": 1, \"name\": \"flight\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}%s}, "
               "\"grid\": [{\"axis\": \"i\", \"steps\": \"N\"}%s], %s\"inputs\": [{\"name\": \"x\", \"dtype\": "
               "\"float32\", \"shape\": [\"2 * %s\", 4], \"memory_space\": \"any\"}], \"outputs\": [{\"name\": "
               "\"o\", \"dtype\": \"float32\", \"shape\": [\"2 * %s\", 4], \"block_shape\": [2, 4], "
               "\"index_map\": [\"%s\", 0]}%s%s%s], \"scratch\": [%s%s%s%s%s%s{\"name\": \"buf\", \"dtype\": "
               "\"float32\", "
               "\"shape\": [2, 2, 4]}, {\"name\": \"sem\", \"memory_space\": \"dma_semaphore\", \"shape\": "
               "[2]}], \"kernel\": [%.*s]}",
               rows ? ", \"M\": {\"min\": 1}" : "", rows ? ", {\"axis\": \"j\", \"steps\": \"M\"}" : "",
               live
                   ? "\"scalar_prefetch\": [{\"name\": \"rows\", \"dtype\": \"int32\", \"shape\": [\"N\"], \"values\": "
                     "{\"min\": 0, \"max\": 1}}], "
                   : "",
               steps, steps, rows ? "i * M + j" : "i",
               out ? ", {\"name\": \"y\", \"dtype\": \"float32\", \"shape\": [\"2 * " : "", out ? steps : "",
               out ? "\", 4], \"memory_space\": \"hbm\"}" : "",
               acc ? "{\"name\": \"acc\", \"dtype\": \"float32\", \"shape\": [2, 4]}, " : "",
               bag ? "{\"name\": \"bag\", \"dtype\": \"float32\", \"shape\": [\"N\", 2, 4]}, " : "",
               two ? "{\"name\": \"two\", \"dtype\": \"float32\", \"shape\": [2, \"N\", 2, 4]}, " : "",
               head ? "{\"name\": \"head\", \"dtype\": \"float32\", \"shape\": [2, 2, 4]}, {\"name\": \"ahead\", "
                      "\"memory_space\": \"dma_semaphore\", \"shape\": [2]}, "
                    : "",
               count ? "{\"name\": \"count\", \"memory_space\": \"semaphore\", \"shape\": [3]}, " : "",
               state ? "{\"name\": \"state\", \"dtype\": \"int32\", \"shape\": [2], \"memory_space\": \"smem\"}, " : "",
               TP_FMT(tp_buf_view(&b)))
        .p;
}

typedef struct tally {
    unsigned specs, refused, proven, violated, unknown, trapping, right, unsound, alarms;
} tally;

static uint32_t log_2(int64_t n)
{
    uint32_t log = 0;
    while (n >> (log + 1))
        log++;
    return log;
}

/* As many rows as N; live are those whose bit is set. */
static void bind_rows(tp_arena *a, const tp_kernel *k, int64_t *env, int64_t bits)
{
    int64_t n = env[k->sizes[0].sym];
    tp_table_data *d = TP_NEW(a, tp_table_data);
    *d = (tp_table_data){.rank = 1, .dims = {n}, .readable = n, .at = TP_NEWN(a, int64_t, n)};
    for (int64_t i = 0; i < n; i++)
        d->at[i] = bits >> i & 1;
    tp_bind_table(env, k->tables[0].sym, d);
}

static void judge(program *p, tally *t)
{
    const char *spec = spec_of(p);
    loaded *l = load_text(spec);
    t->specs++;
    if (!l->spec) {
        t->refused++;
        unload(l);
        return;
    }
    tp_analysis_result r = analyze(l, (tp_analysis_options){.prover = {.rlimit = 300000}, .replay = replay});
    const tp_kernel *k = l->spec->kernels[0];
    int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs));
    bool open = open_for(&r, "TP504") || open_for(&r, "TP502"), traps = false, flies = false;
    bool rows = k->nsizes > 1, live = k->ntables > 0;
    int64_t points = rows ? MOST_ROWS * MOST_ROWS : live ? (2 << MOST_LIVE) - 2 : MOST_STEPS;
    for (int64_t at = 0; at < points; at++) {
        tp_arena *a = tp_arena_new(0);
        env[k->sizes[0].sym] = 1 + (rows ? at / MOST_ROWS : live ? (int64_t)log_2(at + 2) - 1 : at);
        if (rows)
            env[k->sizes[1].sym] = 1 + at % MOST_ROWS;
        if (live)
            bind_rows(a, k, env, at + 2);
        tp_trap trap;
        if (run_at(a, k, env, &trap) == TP_E_TRAP) {
            bool mine = strcmp(trap.rule, "TP502") == 0 || strcmp(trap.rule, "TP504") == 0;
            traps = true;
            flies |= mine;
            if ((mine || !open) && !open_for(&r, trap.rule) && t->unsound++ < 3)
                printf("unsound: %s proven, but %.*s at N = %lld (of two: %d)\n%s\n", trap.rule, TP_FMT(trap.message),
                       (long long)env[k->sizes[0].sym], rows, spec);
        }
        tp_arena_free(a);
    }
    if (r.contradiction && t->alarms++ < 3)
        printf("false alarm\n%s\n", spec);
    if (getenv("TEST_OPEN") && open && !traps)
        printf("unknown, does not trap\n%s\n", spec);
    bool bad = false;
    for (uint32_t i = 0; i < r.findings.len; i++)
        bad |= r.findings.at[i].verdict == TP_VIOLATED;
    t->trapping += flies;
    t->right += !traps;
    t->proven += !open && !traps;
    t->violated += bad && flies;
    t->unknown += open && !traps;
    unload(l);
}

static void copies_are_judged_as_the_machine_does(void **state)
{
    (void)state;
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS);
    tally t = {0};
    print_message("flight: seed %llu\n", (unsigned long long)seed);
    for (uint64_t trial = 0; trial < trials; trial++) {
        program p = {.a = tp_arena_new(0), .rng = tp_rng_new(seed, trial)};
        start_from(&p);
        for (uint32_t n = below(&p, 3); n > 0; n--)
            change(&p);
        judge(&p, &t);
        tp_arena_free(p.a);
    }
    print_message(
        "flight: %u programs (%u refused); %u do not trap at N <= %d: %u proven, %u unknown; %u trap for what is "
        "in flight: %u with a violation; %u unsound, %u false alarms\n",
        t.specs, t.refused, t.right, MOST_STEPS, t.proven, t.unknown, t.trapping, t.violated, t.unsound, t.alarms);
    assert_int_equal(t.unsound + t.alarms, 0);
    assert_true(t.proven > t.specs / 10 && t.violated > t.specs / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(copies_are_judged_as_the_machine_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
