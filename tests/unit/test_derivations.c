/* Derivations of equality, as `verify --certificates` writes them and `recheck`
 * replays them: whole ones are accepted, damaged ones are refused with their
 * reason, and whatever is done to the steps of one whose claim is false, it is
 * not accepted. */
#define _GNU_SOURCE
#include "base/jsonc.h"
#include "smt/trust/certificates.h"
#include "tests/unit/files.h"

typedef struct json_object json;

static const char SPEC[] = "examples/reduction/reduce_sum.tile.json", PLAIN[] = "examples/elementwise/add_2d.tile.json";

/* The derivation of a spec's first output, as it is written. */
static json *derivation_of(place *p, const char *spec)
{
    const char *file = path_in(p, "whole.certs");
    tp_str text, why;
    assert_int_equal(RUN(p->a, "verify", "--cases", "1", spec, "--certificates", file).exit, 0);
    assert_int_equal(tp_read_file(p->a, file, (size_t)64 << 20, &text, &why), TP_OK);
    const char *at = strstr(tp_cstr(p->a, text), "\"derivation\""), *from = at, *end = at ? strchr(at, '\n') : NULL;
    assert_non_null(end);
    while (from[-1] != '\n')
        from--;
    json *row = json_tokener_parse(tp_printf(p->a, "%.*s", (int)(end - from), from).p);
    assert_non_null(row);
    return row;
}

/* Read again from its text: refused, and why; or accepted. */
typedef struct reading {
    tp_ctx ctx;
    tp_source source;
    tp_certificate certificate;
} reading;

static void read_row(void *arg)
{
    reading *r = arg;
    r->certificate = tp_certificate_read(&r->ctx);
}

static bool accepted(tp_arena *a, json *row, tp_str *why)
{
    const char *text = json_object_to_json_string_ext(row, JSON_C_TO_STRING_PLAIN);
    reading r = {.source = {TP_S("forged"), tp_printf(a, "%s", text)}};
    r.ctx = (tp_ctx){.arena = a, .source = &r.source};
    if (tp_try(a, read_row, &r) != TP_OK) {
        *why = r.ctx.findings.len ? r.ctx.findings.at[0].message : TP_S("too large");
        return false;
    }
    tp_replay_result done = tp_replay_derivation(a, r.certificate.derivation, true);
    *why = done.why;
    return done.ok && done.proven == done.sides;
}

static json *part_of(json *o, const char *key)
{
    json *v = NULL;
    assert_true(json_object_object_get_ex(o, key, &v));
    return v;
}

static json *step(json *row, size_t i)
{
    return json_object_array_get_idx(part_of(row, "steps"), i);
}

static void set(json *list, size_t i, int64_t v)
{
    json_object_array_put_idx(list, i, json_object_new_int64(v));
}

static int64_t get(json *list, size_t i)
{
    return json_object_get_int64(json_object_array_get_idx(list, i));
}

/* The node of that number. */
static json *real(json *row, int64_t number)
{
    return json_object_array_get_idx(part_of(row, "reals"), (size_t)number - 1);
}

static int64_t add_real(json *row, const char *text)
{
    json_object_array_add(part_of(row, "reals"), json_tokener_parse(text));
    return (int64_t)json_object_array_length(part_of(row, "reals"));
}

/* ---- forgeries ---- */

static void other_law(json *row)
{
    json_object_array_put_idx(step(row, 0), 0, json_object_new_string("split"));
}

static void no_such_law(json *row)
{
    json_object_array_put_idx(step(row, 0), 0, json_object_new_string("magic"));
}

static void open_law(json *row)
{
    json_object_array_put_idx(step(row, 0), 0, json_object_new_string("cut"));
}

static void no_sides(json *row)
{
    json_object_array_put_idx(step(row, 1), 5, json_object_new_array());
}

static void no_steps(json *row)
{
    json_object_object_add(row, "steps", json_object_new_array());
}

static void turned_round(json *row)
{
    int64_t from = get(step(row, 0), 1);
    set(step(row, 0), 1, get(step(row, 0), 2));
    set(step(row, 0), 2, from);
}

static void swapped_counters(json *row)
{
    int64_t k = get(step(row, 0), 3);
    set(step(row, 0), 3, get(step(row, 0), 4));
    set(step(row, 0), 4, k);
}

/* The merged counter runs to the extent of one of the two. */
static void wrong_bound(json *row)
{
    json *from = real(row, get(step(row, 0), 1)), *to = real(row, get(step(row, 0), 2));
    json *one = json_object_array_get_idx(json_object_array_get_idx(from, 2), 0),
         *both = json_object_array_get_idx(json_object_array_get_idx(to, 2), 0);
    set(both, 1, get(one, 1));
}

/* What is summed speaks of a counter that is gone. */
static void captured(json *row)
{
    json *from = real(row, get(step(row, 0), 1)), *to = real(row, get(step(row, 0), 2));
    json *gone = json_object_array_get_idx(json_object_array_get_idx(from, 2), 0),
         *both = json_object_array_get_idx(json_object_array_get_idx(to, 2), 0);
    set(both, 0, get(gone, 0));
}

static void forward(json *row)
{
    json *to = real(row, get(step(row, 0), 2));
    set(to, 3, (int64_t)json_object_array_length(part_of(row, "reals")));
}

static void itself(json *row)
{
    int64_t number = get(step(row, 0), 2);
    set(real(row, number), 3, number);
}

static void other_reference(json *row)
{
    int64_t sum = add_real(row, "[\"ratio\",1,1]");
    char text[80];
    snprintf(text, sizeof text, "[\"apply\",\"+\",0,%lld,%lld]",
             (long long)json_object_get_int64(part_of(row, "reference")), (long long)sum);
    json_object_object_add(row, "reference", json_object_new_int64(add_real(row, text)));
}

static void in_a_circle(json *row)
{
    json *copy = NULL;
    json_object_deep_copy(step(row, 1), &copy, NULL);
    int64_t from = get(copy, 1);
    set(copy, 1, get(copy, 2));
    set(copy, 2, from);
    json_object_array_add(part_of(row, "steps"), copy);
    other_reference(row);
}

/* Each side condition has the proof of the next one. */
static void exchanged_proofs(json *row)
{
    json *sides = part_of(row, "sides"), *proof = NULL;
    size_t n = json_object_array_length(sides);
    json_object_deep_copy(part_of(json_object_array_get_idx(sides, 0), "proof"), &proof, NULL);
    for (size_t i = 0; i + 1 < n; i++) {
        json *next_one = NULL;
        json_object_deep_copy(part_of(json_object_array_get_idx(sides, i + 1), "proof"), &next_one, NULL);
        json_object_object_add(json_object_array_get_idx(sides, i), "proof", next_one);
    }
    json_object_object_add(json_object_array_get_idx(sides, n - 1), "proof", proof);
}

/* A side condition that takes for granted what it says. */
static void granted(json *row)
{
    for (size_t i = 0; i < json_object_array_length(part_of(row, "sides")); i++) {
        json *side = json_object_array_get_idx(part_of(row, "sides"), i);
        json_object_array_add(part_of(side, "premises"),
                              json_object_new_int64(json_object_get_int64(part_of(side, "goal"))));
    }
}

static void narrower_variables(json *row)
{
    for (size_t i = 0; i < json_object_array_length(part_of(row, "sides")); i++) {
        json *vars = part_of(json_object_array_get_idx(part_of(row, "sides"), i), "variables");
        for (size_t k = 0; k < json_object_array_length(vars); k++)
            json_object_object_add(json_object_array_get_idx(vars, k), "multiple_of", json_object_new_int64(2));
    }
}

static void without_proof(json *row)
{
    json_object_object_add(json_object_array_get_idx(part_of(row, "sides"), 0), "proof", NULL);
}

static void invented_exchange(json *row)
{
    json *pair = json_object_new_array(), *to = real(row, get(step(row, 1), 1));
    json *counter = json_object_array_get_idx(json_object_array_get_idx(to, 2), 0);
    json_object_array_add(pair, json_object_new_int64(get(counter, 0)));
    json_object_array_add(pair, json_object_new_int64(get(counter, 1)));
    json_object_array_add(json_object_array_get_idx(step(row, 1), 6), pair);
}

static void whole_ones_are_accepted(void **state)
{
    const char *const specs[] = {SPEC, PLAIN, "tests/equality/recurrence_of_a_loop.tile.json",
                                 "tests/equality/recurrence_of_a_sum.tile.json",
                                 "tests/equality/past_in_one_block.tile.json"};
    place *p = *state;
    tp_str why;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        json *row = derivation_of(p, specs[i]);
        if (!accepted(p->a, row, &why))
            fail_msg("%s: %.*s", specs[i], TP_FMT(why));
        json_object_put(row);
    }
}

static void forgeries_are_refused(void **state)
{
    static const struct {
        const char *name;
        void (*forge)(json *row);
        const char *reason; /* NULL: no proof is missing but that of a side */
    } FORGERIES[] = {
        {"other law", other_law, "step 1: there is no such counter"},
        {"no such law", no_such_law, "there is no such law"},
        {"law without a schema", open_law, "step 1: the law has no schema"},
        {"no side conditions", no_sides, "step 2: a side condition is missing"},
        {"no steps", no_steps, "different normal forms"},
        {"turned round", turned_round, "step 1: "},
        {"counters swapped", swapped_counters, "step 1: "},
        {"wrong bound", wrong_bound, "step 1: the extent is not the product of both"},
        {"captured counter", captured, "step 1: "},
        {"forward", forward, "a node refers to one that is not before it"},
        {"a node of itself", itself, "a node refers to one that is not before it"},
        {"other reference", other_reference, "different normal forms"},
        {"in a circle", in_a_circle, "different normal forms"},
        {"proofs exchanged", exchanged_proofs, "side condition "},
        {"taken for granted", granted, "a side condition is missing"},
        {"fewer values", narrower_variables, "a side condition is missing"},
        {"no proof", without_proof, NULL},
        {"invented exchange", invented_exchange, "step 2: a side condition is missing"},
    };
    place *p = *state;
    json *whole = derivation_of(p, SPEC);
    for (size_t i = 0; i < sizeof FORGERIES / sizeof *FORGERIES; i++) {
        json *row = NULL;
        tp_str why;
        json_object_deep_copy(whole, &row, NULL);
        FORGERIES[i].forge(row);
        if (accepted(p->a, row, &why) || (FORGERIES[i].reason ? !contains(why, FORGERIES[i].reason) : why.n > 0))
            fail_msg("%s: not refused for \"%s\": %.*s", FORGERIES[i].name,
                     FORGERIES[i].reason ? FORGERIES[i].reason : "no proof", TP_FMT(why));
        json_object_put(row);
    }
    json_object_put(whole);
}

/* Written by hand: each law whole, and with one thing in it that is not so. */
static void each_is_accepted_or_refused_for_its_reason(void **state)
{
    place *p = *state;
    json *rows = json_object_from_file("tests/checker/derivations.json");
    assert_non_null(rows);
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        json *row = json_object_array_get_idx(rows, i), *refused = NULL;
        const char *what = json_object_get_string(part_of(row, "what"));
        tp_str why;
        json_object_object_get_ex(row, "refused", &refused);
        bool yes = accepted(p->a, part_of(row, "row"), &why);
        if (!refused && !yes)
            fail_msg("%s: refused: %.*s", what, TP_FMT(why));
        if (refused && (yes || !contains(why, json_object_get_string(refused))))
            fail_msg("%s: %s, not refused for \"%s\": %.*s", what, yes ? "accepted" : "refused",
                     json_object_get_string(refused), TP_FMT(why));
    }
    json_object_put(rows);
}

/* ---- false claims ---- */

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Some integer of the value becomes another one. */
static void damage(json *v, uint64_t *seed)
{
    for (int depth = 0; depth < 12; depth++) {
        size_t n = json_object_is_type(v, json_type_array) ? json_object_array_length(v) : 0;
        if (n == 0)
            return;
        size_t i = next(seed) % n;
        json *kid = json_object_array_get_idx(v, i);
        if (json_object_is_type(kid, json_type_int)) {
            int64_t old = json_object_get_int64(kid);
            set(v, i, next(seed) % 2 ? old + (int64_t)(next(seed) % 5) - 2 : (int64_t)(next(seed) % 60));
            return;
        }
        v = kid;
    }
}

static void stays_false(place *p, const char *spec)
{
    static const char *const PARTS[] = {"steps", "steps", "reals", "sides"};
    uint64_t seed = 7;
    json *whole = derivation_of(p, spec);
    size_t fixed = json_object_array_length(part_of(whole, "reals")); /* what the claim is made of stays */
    other_reference(whole);
    for (int trial = 0; trial < 150; trial++) {
        tp_arena *work = tp_arena_child(p->a);
        json *row = NULL;
        tp_str why;
        json_object_deep_copy(whole, &row, NULL);
        for (int n = 1 + (int)(next(&seed) % 3); n > 0; n--) {
            const char *part = PARTS[next(&seed) % 4];
            json *list = part_of(row, part);
            /* the last nodes are those of both texts */
            if (strcmp(part, "reals") == 0)
                list = json_object_array_get_idx(list, next(&seed) % (fixed / 2));
            damage(list, &seed);
        }
        if (accepted(work, row, &why))
            fail_msg("%s, trial %d: a false claim is accepted: %s", spec, trial, json_object_to_json_string(row));
        json_object_put(row);
        tp_arena_free(work);
    }
    json_object_put(whole);
}

static void false_claims_stay_false(void **state)
{
    stays_false(*state, SPEC);
    stays_false(*state, "tests/equality/recurrence_of_a_sum.tile.json");
    stays_false(*state, "tests/equality/past_in_one_block.tile.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(whole_ones_are_accepted),
        IN_PLACE(forgeries_are_refused),
        IN_PLACE(each_is_accepted_or_refused_for_its_reason),
        IN_PLACE(false_claims_stay_false),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
