/* TP605 against brute force: bodies of up to three statements over every small grid and output map of a list. By
 * brute force a leading axis could be parallel where, at all small sizes, each of its indices alone, with scratch and
 * windows of its own, leaves in its blocks what comes of its own steps, and no two of them write one block. The machine
 * and the rules have no part in it. */
#define _GNU_SOURCE
#include "tests/unit/support.h"

enum { MOST = 3 /* statements, and steps along an axis */, BLOCKS = 16, EVERY = 41 };

typedef enum effect { O_OF_X, S_OF_X, O_OF_S, ADD_TO_S, ADD_TO_O, EFFECTS } effect;
typedef enum guard { ALWAYS, FIRST_I, LAST_I, FIRST_J, LAST_J, GUARDS } guard;
typedef enum map { BY_I, OPPOSITE_I, HALF_I, ONE, BY_I_J, BY_BOTH, BY_J, MAPS } map;

static const char *const EFFECT[] = {"o[...] = x[...]", "s[...] = x[...]", "o[...] = s[...]",
                                     "s[...] = s[...] + x[...]", "o[...] = o[...] + x[...]"},
                         *const GUARD[] = {"", "i == 0", "i == num_programs(i) - 1", "j == 0",
                                           "j == num_programs(j) - 1"},
                         *const SHAPE[] = {"\"M\"",        "\"M\"",     "\"cdiv(M, 2)\"", "1",
                                           "\"M\", \"N\"", "\"M * N\"", "\"N\""},
                         *const INDEX[] = {"\"i\"",        "\"M - 1 - i\"", "\"i // 2\"", "0",
                                           "\"i\", \"j\"", "\"i * N + j\"", "\"j\""};

typedef struct program {
    uint32_t n, code[MOST]; /* effect * GUARDS + guard */
    map output;
    bool two, led; /* an axis j; an axis of one step before all others */
} program;

/* ---- by brute force ---- */

typedef struct walk {
    bool scratch, window; /* do they hold what this group computed? */
    int64_t at;           /* the block of the window; -1: none */
    int owner[BLOCKS];    /* 1 + group that wrote the block; 0: none */
    bool wrong;
} walk;

static void write_back(walk *s, int group)
{
    if (s->at < 0)
        return;
    s->wrong |= !s->window || s->owner[s->at];
    s->owner[s->at] = 1 + group;
    s->at = -1;
}

static int64_t block_of(map m, int64_t M, int64_t N, int64_t i, int64_t j)
{
    return m == BY_I ? i : m == OPPOSITE_I ? M - 1 - i : m == HALF_I ? i / 2 : m == ONE ? 0 : m == BY_J ? j : i * N + j;
}

static int64_t blocks_of(map m, int64_t M, int64_t N)
{
    return m == BY_I || m == OPPOSITE_I ? M : m == HALF_I ? (M + 1) / 2 : m == ONE ? 1 : m == BY_J ? N : M * N;
}

static bool holds(guard g, int64_t M, int64_t N, int64_t i, int64_t j)
{
    return g == ALWAYS || (g == FIRST_I && i == 0) || (g == LAST_I && i == M - 1) || (g == FIRST_J && j == 0) ||
           (g == LAST_J && j == N - 1);
}

static void step(const program *p, walk *s, int64_t M, int64_t N, int64_t i, int64_t j, int group)
{
    int64_t block = block_of(p->output, M, N, i, j);
    if (block != s->at) {
        write_back(s, group);
        s->at = block;
        s->window = false;
    }
    for (uint32_t n = 0; n < p->n; n++) {
        if (!holds((guard)(p->code[n] % GUARDS), M, N, i, j))
            continue;
        switch ((effect)(p->code[n] / GUARDS)) {
        case O_OF_X: s->window = true; break;
        case S_OF_X: s->scratch = true; break;
        case O_OF_S: s->window = s->scratch; break;
        case ADD_TO_S: /* is what it was, or not */
        case ADD_TO_O:
        case EFFECTS: break;
        }
    }
}

/* Does it run in order (`apart`: each index of i alone) without a value that nobody computed, or a block that two
 * write, or nobody does? */
static bool runs_at(const program *p, int64_t M, int64_t N, bool apart)
{
    walk s = {.at = -1};
    for (int64_t i = 0; i < M; i++) {
        if (apart) {
            write_back(&s, (int)i - 1);
            s.scratch = s.window = false;
        }
        for (int64_t j = 0; j < N; j++)
            step(p, &s, M, N, i, j, (int)i);
    }
    write_back(&s, (int)M - 1);
    for (int64_t b = 0; b < blocks_of(p->output, M, N); b++)
        s.wrong |= !s.owner[b];
    return !s.wrong;
}

static bool runs(const program *p, bool apart)
{
    bool all = true;
    for (int64_t M = 1; M <= MOST; M++)
        for (int64_t N = 1; N <= (p->two ? MOST : 1); N++)
            all = all && runs_at(p, M, N, apart);
    return all;
}

/* ---- by TP605 ---- */

static const char *spec_of(tp_arena *a, const program *p)
{
    tp_buf body = {.arena = a};
    for (uint32_t n = 0; n < p->n; n++) {
        const char *when = GUARD[p->code[n] % GUARDS], *what = EFFECT[p->code[n] / GUARDS];
        if (*when)
            tp_buf_printf(&body, "%s\"if %s:\", \"    %s\"", n ? ", " : "", when, what);
        else
            tp_buf_printf(&body, "%s\"%s\"", n ? ", " : "", what);
    }
    bool square = p->output == BY_I_J;
    return tp_printf(
               a,
               "{\"tileproof\": 1, \"name\": \"p\", \"target\": \"tpu-v4\", \"sizes\": {\"M\": {\"min\": 1, "
               "\"max\": 64}, \"N\": {\"min\": 1, \"max\": 64}}, \"grid\": [%s{\"axis\": \"i\", \"steps\": \"M\"}%s], "
               "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"M\", 8, 128], \"block_shape\": "
               "[null, 8, 128], \"index_map\": [\"i\", 0, 0]}], \"outputs\": [{\"name\": \"o\", \"dtype\": "
               "\"float32\", \"shape\": [%s, 8, 128], \"block_shape\": [%snull, 8, 128], \"index_map\": [%s, 0, "
               "0]}], \"scratch\": [{\"name\": \"s\", \"dtype\": \"float32\", \"shape\": [8, 128]}], \"kernel\": "
               "[%.*s]}",
               p->led ? "{\"axis\": \"u\", \"steps\": 1}, " : "", p->two ? ", {\"axis\": \"j\", \"steps\": \"N\"}" : "",
               SHAPE[p->output], square ? "null, " : "", INDEX[p->output], TP_FMT(tp_buf_view(&body)))
        .p;
}

typedef struct tally {
    uint64_t all, tried, sound, advised, could, missed, wrong;
} tally;

static void try_program(tally *t, const program *p)
{
    bool alone = runs(p, true);
    tp_arena *a = tp_arena_new(0);
    const char *text = spec_of(a, p);
    loaded *l = load_text(text);
    if (!l->spec)
        fail_msg("not read: %s", text);
    tp_analysis_result r = analyze_with(l, NULL, (tp_prover_options){0});
    bool sound = true, advised = false;
    for (uint32_t i = 0; i < r.findings.len; i++) {
        const tp_finding *f = &r.findings.at[i];
        bool here = strcmp(f->rule, "TP605") == 0 && f->verdict == TP_ADVICE;
        advised |= here;
        sound &= f->verdict != TP_VIOLATED && f->verdict != TP_UNKNOWN;
        if (here && !tp_str_is(f->subject, "i"))
            fail_msg("of `%.*s`: %s", TP_FMT(f->subject), text);
    }
    t->tried++;
    t->sound += sound;
    t->advised += advised;
    t->could += sound && alone;
    if (sound && !runs(p, false)) {
        print_message("no rule is broken, and it does not run: %s\n", text);
        t->wrong++;
    }
    if (advised && !alone) {
        print_message("`i` may not be parallel: %s\n", text);
        t->wrong++;
    }
    if (sound && alone && !advised && t->missed++ < 5)
        print_message("`i` could be parallel, and nothing says so: %s\n", text);
    unload(l);
    tp_arena_free(a);
}

static bool speaks_of_j(const program *p)
{
    bool any = p->output == BY_I_J || p->output == BY_BOTH || p->output == BY_J;
    for (uint32_t n = 0; n < p->n; n++)
        any |= p->code[n] % GUARDS == FIRST_J || p->code[n] % GUARDS == LAST_J;
    return any;
}

/* Those that brute force says run in order, and each `every`th of the others. */
static void all_programs(tally *t, program *p, uint64_t every)
{
    enum { CODES = EFFECTS * GUARDS };
    for (uint32_t n = 1; n <= (p->two ? 2u : 3u); n++) {
        uint64_t count = 1;
        for (uint32_t k = 0; k < n; k++)
            count *= CODES;
        p->n = n;
        for (uint64_t x = 0; x < count; x++) {
            uint64_t rest = x;
            for (uint32_t k = 0; k < n; k++, rest /= CODES)
                p->code[k] = (uint32_t)(rest % CODES);
            if ((!p->two && speaks_of_j(p)) || (p->two && p->led && n > 1 && x % 7))
                continue;
            t->all++;
            if (runs(p, false) ? t->all % every == 0 : t->all % (every * 29) == 0)
                try_program(t, p);
        }
    }
}

static void advice_is_that_of_brute_force(void **state)
{
    (void)state;
    uint64_t every = setting("TEST_NTH", EVERY);
    tally t = {0};
    for (int m = 0; m < MAPS; m++)
        for (int axes = 0; axes < 4; axes++) {
            program p = {.output = (map)m, .two = axes & 1, .led = axes & 2};
            all_programs(&t, &p, every);
        }
    print_message(
        "TP605: %llu of %llu programs, %llu sound, %llu could have a parallel axis, %llu are told so; %llu wrong\n",
        (unsigned long long)t.tried, (unsigned long long)t.all, (unsigned long long)t.sound,
        (unsigned long long)t.could, (unsigned long long)t.advised, (unsigned long long)t.wrong);
    assert_int_equal(t.wrong, 0);
    assert_true(t.could * 4 > t.tried / 10 && t.missed * 20 <= t.could);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(advice_is_that_of_brute_force)};
    return cmocka_run_group_tests_name("serial axis", tests, NULL, NULL);
}
