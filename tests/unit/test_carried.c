/* Integers that loops carry, or SMEM keeps from step to step: every pair of updates from a list, from every start, in a
 * loop, in a loop in a loop, in each step and in some of them, with places that the two tell. What lint says of the
 * places for all sizes is what the machine does at small ones. TEST_EVERY=1: all of them; else every so many, from the
 * one that TEST_SEED names. */
#include "tests/unit/replay.h"

enum { EVERY = 23, MOST_TURNS = 9, EXTENTS = 4 };

/* Of s, which is used as a place, and r, which helps. */
static const char *const UPDATES[] = {
    "1 - s",
    "(s + 1) % 2",
    "(s + 1) % 3",
    "s ^ 1",
    "lax_rem(s + 1, 2)",
    "s + 1",
    "s - 1",
    "s",
    "r",
    "t % 2",
    "s & 1",
    "2 * s",
    "3 - s",
    "(s + 2) % 3",
    "minimum(s + 1, 2)",
    "(s + r) % 3",
    "(s + t) % 2",
    "where(s == 2, 0, s + 1)",
    "where(s > 0, s - 1, 3)",
    "where(t % 3 == 1, 1 - s, s)",
    "where(t > 2, (s + 1) % 3, s)",
};
static const char *const HELPERS[] = {"r", "s", "1 - r", "(r + 1) % 3", "r + 1", "t"};
enum { NUPDATES = sizeof UPDATES / sizeof *UPDATES, NHELPERS = sizeof HELPERS / sizeof *HELPERS };

/* Where the place is used. */
typedef enum shape {
    IN_LOOP,
    BEHIND,
    NESTED,
    GUARDED,
    KEPT,
    KEPT_IN_SOME,
    TESTED,      /* in a `while` that a test ends, behind it, */
    TESTED_ALSO, /* ... both; a flag of what a turn made ends it, too */
    LEAPING,     /* behind a `while` whose test looks at what the last turn may have made of the turn's number */
    SHAPES
} shape;

/* Step t finds s and r in SMEM. */
static const char *kept_spec(tp_arena *a, uint32_t s, uint32_t r, int64_t start, int64_t extent, shape how)
{
    const char *margin = how == KEPT_IN_SOME ? "    " : "";
    return tp_printf(
               a,
               "{\"tileproof\": 1, \"name\": \"box\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1, "
               "\"max\": 1000}}, \"grid\": [{\"axis\": \"t\", \"steps\": \"N\"}], \"inputs\": [], \"outputs\": "
               "[{\"name\": \"o\", \"dtype\": \"int32\", \"shape\": [2], \"block_shape\": [2], \"index_map\": "
               "[0]}], \"scratch\": [{\"name\": \"buf\", \"dtype\": \"int32\", \"shape\": [%lld]}, {\"name\": "
               "\"state\", \"dtype\": \"int32\", \"shape\": [2], \"memory_space\": \"smem\"}], \"kernel\": "
               "[\"o[...] = 0\", \"if t == 0:\", \"    state[0] = %lld\", \"    state[1] = 1\", \"s = state[0]\", "
               "\"r = state[1]\", \"buf[s] = 1\", %s\"%sstate[0] = %s\", \"%sstate[1] = %s\"]}",
               (long long)extent, (long long)start, *margin ? "\"if t % 3 != 1:\", " : "", margin, UPDATES[s], margin,
               HELPERS[r])
        .p;
}

/* Turn t of a `while`, which may end before N turns: then t stays. */
static const char *tested_spec(tp_arena *a, uint32_t s, uint32_t r, int64_t start, int64_t extent, bool flag)
{
    return tp_printf(
               a,
               "{\"tileproof\": 1, \"name\": \"box\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 0, "
               "\"max\": 1000}}, \"grid\": [{\"axis\": \"i\", \"steps\": \"1\"}], \"inputs\": [], \"outputs\": "
               "[{\"name\": \"o\", \"dtype\": \"int32\", \"shape\": [2], \"block_shape\": [2], \"index_map\": "
               "[\"i\"]}], \"scratch\": [{\"name\": \"buf\", \"dtype\": \"int32\", \"shape\": [%lld]}], "
               "\"kernel\": [\"o[...] = 0\", \"s = full((), %lld, int32)\", \"r = full((), 1, int32)\", \"t = "
               "full((), 0, int32)\", \"done = full((), 0, int32)\", \"while %s:\", \"    buf[s] = 1\", "
               "\"    next = %s\", \"    r = %s\", \"    s = next\", %s\"buf[s] = 1\"]}",
               (long long)extent, (long long)start, flag ? "(done == 0) & (t < N)" : "2 * t < N", UPDATES[s],
               HELPERS[r],
               flag ? "\"    done = where((s == 0) | (r == t), 1, done)\", \"    t = where(done == 0, t + 1, t)\", "
                    : "\"    t = t + 1\", ")
        .p;
}

/* Turn t of a `while`, which may end before N turns: then t leaps to N + r. */
static const char *leaping_spec(tp_arena *a, uint32_t s, uint32_t r, int64_t start, int64_t extent)
{
    return tp_printf(a,
                     "{\"tileproof\": 1, \"name\": \"box\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 0, "
                     "\"max\": 1000}}, \"grid\": [{\"axis\": \"i\", \"steps\": \"1\"}], \"inputs\": [], \"outputs\": "
                     "[{\"name\": \"o\", \"dtype\": \"int32\", \"shape\": [2], \"block_shape\": [2], \"index_map\": "
                     "[\"i\"]}], \"scratch\": [{\"name\": \"buf\", \"dtype\": \"int32\", \"shape\": [%lld]}], "
                     "\"kernel\": [\"o[...] = 0\", \"s = full((), %lld, int32)\", \"r = full((), 1, int32)\", \"t = "
                     "full((), 0, int32)\", \"while t < N:\", \"    next = %s\", \"    r = %s\", \"    s = next\", "
                     "\"    t = where(s == 2, N + r, t + 1)\", \"buf[maximum(t - N, 0)] = 1\"]}",
                     (long long)extent, (long long)start, UPDATES[s], HELPERS[r])
        .p;
}

static const char *spec_of(tp_arena *a, uint32_t s, uint32_t r, int64_t start, int64_t extent, shape how)
{
    if (how == LEAPING)
        return leaping_spec(a, s, r, start, extent);
    if (how >= TESTED)
        return tested_spec(a, s, r, start, extent, how == TESTED_ALSO);
    if (how >= KEPT)
        return kept_spec(a, s, r, start, extent, how);
    tp_str turn =
        tp_printf(a, "\"%snext = %s\", \"%sr = %s\", \"%ss = next\"", how == NESTED ? "        " : "    ", UPDATES[s],
                  how == NESTED ? "        " : "    ", HELPERS[r], how == NESTED ? "        " : "    ");
    const char *loop = how == NESTED ? "\"for u in range(2):\", \"    for t in range(N):\"" : "\"for t in range(N):\"";
    const char *use = how == NESTED    ? "\"        buf[s] = 1\", "
                      : how == GUARDED ? "\"    if t > 1:\", \"        buf[s] = 1\", "
                      : how == IN_LOOP ? "\"    buf[s] = 1\", "
                                       : "";
    return tp_printf(a,
                     "{\"tileproof\": 1, \"name\": \"box\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 0, "
                     "\"max\": 1000}}, \"grid\": [{\"axis\": \"i\", \"steps\": \"1\"}], \"inputs\": [], \"outputs\": "
                     "[{\"name\": \"o\", \"dtype\": \"int32\", \"shape\": [2], \"block_shape\": [2], \"index_map\": "
                     "[\"i\"]}], \"scratch\": [{\"name\": \"buf\", \"dtype\": \"int32\", \"shape\": [%lld]}], "
                     "\"kernel\": [\"o[...] = 0\", \"s = full((), %lld, int32)\", \"r = full((), 1, int32)\", %s, "
                     "%s%.*s%s]}",
                     (long long)extent, (long long)start, loop, use, TP_FMT(turn),
                     how == BEHIND ? ", \"buf[s] = 1\"" : "")
        .p;
}

typedef struct tally {
    uint64_t programs, refused, proven, violated, unknown, unsound, alarms;
} tally;

static void judge(const char *spec, int64_t least, tally *t)
{
    static const tp_rule *only[1];
    loaded *l = load_text(spec);
    t->programs++;
    if (!l->spec) {
        t->refused++;
        unload(l);
        return;
    }
    only[0] = tp_rule_find(TP_S("TP102"));
    tp_analysis_result r = analyze(l, (tp_analysis_options){.replay = replay, .only = only, .nonly = 1});
    bool open = open_for(&r, "TP102"), bad = false, traps = false;
    for (uint32_t i = 0; i < r.findings.len; i++)
        bad |= r.findings.at[i].verdict == TP_VIOLATED;
    const tp_kernel *k = l->spec->kernels[0];
    int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs));
    for (int64_t n = least; n <= MOST_TURNS; n++) {
        tp_trap trap;
        env[k->sizes[0].sym] = n;
        traps |= run_at(l->arena, k, env, &trap) == TP_E_TRAP;
    }
    if (!open && traps && t->unsound++ < 3)
        printf("proven, and traps\n%s\n", spec);
    if (bad && !traps && t->alarms++ < 3)
        printf("violated, and does not trap\n%s\n", spec);
    t->proven += !open;
    t->violated += bad;
    t->unknown += open && !bad;
    unload(l);
}

static void places_that_loops_carry(void **unused)
{
    (void)unused;
    tally t = {0};
    uint64_t every = setting("TEST_EVERY", EVERY), at = setting("TEST_SEED", 1);
    for (uint32_t s = 0; s < NUPDATES; s++)
        for (uint32_t r = 0; r < NHELPERS; r++)
            for (int64_t start = 0; start < 3; start++)
                for (int64_t extent = 1; extent <= EXTENTS; extent++)
                    for (shape how = 0; how < SHAPES; how++) {
                        tp_arena *a = tp_arena_new(0);
                        if (at++ % every == 0)
                            judge(spec_of(a, s, r, start, extent, how), how == KEPT || how == KEPT_IN_SOME, &t);
                        tp_arena_free(a);
                    }
    print_message("carried: %llu programs, %llu refused; %llu proven, %llu violated, %llu unknown; %llu unsound, %llu "
                  "false alarms\n",
                  (unsigned long long)t.programs, (unsigned long long)t.refused, (unsigned long long)t.proven,
                  (unsigned long long)t.violated, (unsigned long long)t.unknown, (unsigned long long)t.unsound,
                  (unsigned long long)t.alarms);
    assert_int_equal(t.unsound + t.alarms + t.refused, 0);
    assert_true(2 * t.proven > t.violated && 2 * t.unknown < t.programs); /* many never come back to a value */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_that_loops_carry)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
