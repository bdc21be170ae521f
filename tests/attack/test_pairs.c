/* Families of kernels with holes (template.h), filled at random: wrong ones, of
 * which none may be proven equal to its reference for all sizes, and right
 * ones, of which none may be accused. TEST_SEED, TEST_TRIALS; TEST_FAMILY names
 * one of them. */
#define _GNU_SOURCE
#include <glob.h>
#include <libgen.h>

#include "tests/attack/attack.h"
#include "tests/attack/template.h"
#include "tests/unit/minimise.h"

enum { TRIALS = 6 }; /* of each family, of each kind */

typedef struct score {
    unsigned members, refused, proven, listed, accused;
} score;

/* To a directory that a setting names, one file of each kind of defect. */
static void keep(const char *variable, const char *family, const char *note, const char *text)
{
    const char *dir = getenv(variable);
    char path[4096];
    uint64_t kind = 14695981039346656037u;
    if (!dir)
        return;
    for (const char *c = note; *c; c++)
        kind = (kind ^ (uint8_t)*c) * 0x100000001b3u;
    snprintf(path, sizeof path, "%s/%.*s_%04llx.tile.json", dir, (int)strcspn(family, "."), family,
             (unsigned long long)(kind & 0xffff));
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%s\n", text);
    fclose(f);
}

static void report(const char *family, uint64_t seed, const char *what, const char *note, const judged *v,
                   const char *text)
{
    print_error("%s, seed %llu: %s (%s)%s%s\n", family, (unsigned long long)seed, what, note, v->why[0] ? ": " : "",
                v->why);
    if (!getenv("TEST_FINDINGS"))
        print_error("%s\n", text);
    keep("TEST_FINDINGS", family, note, text);
}

static bool proven_and_refuted(const char *text, void *ctx)
{
    judged v = judge_text(text, EXECUTE_PROVEN);
    (void)ctx;
    return v.proven && v.refuted;
}

static bool proven_still(const char *text, void *ctx)
{
    (void)ctx;
    return judge_text(text, BY_PROOF).proven;
}

/* A wrong member: proven is a hole. */
static bool attack_wrong(tp_arena *a, const char *family, uint64_t seed, const char *text, const char *note, score *n)
{
    judged v = judge_text(text, EXECUTE_PROVEN);
    n->members++;
    n->refused += v.refused;
    n->proven += v.proven;
    n->listed += v.listed;
    n->accused += v.accused;
    if (v.proven)
        report(family, seed, v.refuted ? "PROVEN, and a case differs" : "PROVEN, and wrong by construction", note, &v,
               getenv("TEST_SMALL") ? minimise(a, text, v.refuted ? proven_and_refuted : proven_still, NULL) : text);
    return !v.proven; /* a refusal is an answer, too */
}

static bool attack_right(const char *family, uint64_t seed, const char *text, const char *note, score *n)
{
    judged v = judge_text(text, BY_PROOF | BY_EXECUTION);
    n->members++;
    n->refused += v.refused;
    n->proven += v.proven;
    n->listed += v.listed;
    n->accused += v.accused;
    if (v.refused || v.accused || v.refuted)
        report(family, seed, v.refused ? "a right member cannot be read" : "a right member is accused", note, &v, text);
    return !v.refused && !v.accused && !v.refuted;
}

static void pairs(void **state)
{
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS);
    const char *only = getenv("TEST_FAMILY");
    glob_t found;
    score wrong = {0}, right = {0};
    bool ok = true;
    (void)state;
    assert_int_equal(glob("tests/attack/pairs/*.json", 0, NULL, &found), 0);
    for (size_t f = 0; f < found.gl_pathc; f++) {
        const char *name = strrchr(found.gl_pathv[f], '/') + 1;
        if (only && !strstr(name, only))
            continue;
        struct json_object *family = json_object_from_file(found.gl_pathv[f]);
        assert_non_null(family);
        int64_t wrongs = count_wrongs(family);
        score w = wrong, r = right;
        for (uint64_t t = 0; t < trials; t++) {
            tp_arena *a = tp_arena_new(0);
            tp_rng rng = tp_rng_new(seed, t * 1000 + f);
            const char *note;
            const char *text = expand(a, &rng, family, -1, &note);
            keep("TEST_MEMBERS", name, note, text);
            ok &= attack_right(name, seed, text, note, &right);
            if (wrongs) {
                text =
                    expand(a, &rng, family, (int64_t)((t + tp_rng_below(&rng, 2) * trials) % (uint64_t)wrongs), &note);
                ok &= attack_wrong(a, name, seed, text, note, &wrong);
            }
            tp_arena_free(a);
        }
        if (getenv("TEST_VERBOSE"))
            print_message("  %-32s wrong %u: accused %u; right %u: proven %u\n", name, wrong.members - w.members,
                          wrong.accused - w.accused, right.members - r.members, right.proven - r.proven);
        json_object_put(family);
    }
    print_message(
        "pairs: seed %llu, %zu families; of %u wrong members %u are refused, %u are proven, and %u with a list of "
        "constants taken as equal; of %u right ones %u are proven, "
        "%u accused\n",
        (unsigned long long)seed, found.gl_pathc, wrong.members, wrong.refused, wrong.proven, wrong.listed,
        right.members, right.proven + right.listed, right.accused);
    globfree(&found);
    assert_true(ok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
