/* Relations between verdicts that must hold whatever the truth is: other names
 * and another order of the inputs change nothing; in a part of the domain what
 * was proven stays proven; in a larger one what was violated stays violated.
 * A quarter of the specs, each in one of the four ways: sixteen values of TEST_SEED go
 * through all; TEST_EVERY=1: all in one run (make attention). */
#include "tests/unit/support.h"

#include <ctype.h>
#include <glob.h>

#include <json-c/json.h>

#include "base/file.h"

typedef struct verdicts {
    size_t n;
    const tp_rule *const *rules;
    int worst[64]; /* per rule: -1 nothing, 0 proven, 1 unknown, 2 violated or vacuous */
    bool valid;
} verdicts;

static void analyze_call_now(void *arg)
{
    analysis_call *c = arg;
    tp_analyze(c->l->arena, c->l->spec, c->o, c->r);
}

static verdicts judge(const char *spec)
{
    verdicts v = {.valid = false};
    v.rules = tp_rules(&v.n);
    loaded *l = load_text(spec);
    tp_analysis_options o = {.prover = {.rlimit = 100000}};
    tp_analysis_result r = {0};
    for (size_t i = 0; i < 64; i++)
        v.worst[i] = -1;
    allow_work(l);
    if (l->spec && tp_try(l->arena, analyze_call_now, &(analysis_call){l, &o, &r}) == TP_OK) {
        v.valid = true;
        for (uint32_t i = 0; i < r.findings.len; i++)
            for (size_t k = 0; k < v.n; k++) {
                const tp_finding *f = &r.findings.at[i];
                int how = f->verdict == TP_PROVEN || f->verdict == TP_ADVICE ? 0 : f->verdict == TP_UNKNOWN ? 1 : 2;
                if (strcmp(v.rules[k]->code, f->rule) == 0 && how > v.worst[k])
                    v.worst[k] = how;
            }
    }
    unload(l);
    return v;
}

/* ---- changes ---- */

/* Every name gets a prefix: whole words in all strings and keys that are names. */
static tp_str renamed(tp_arena *a, tp_str text, const tp_kernel *k)
{
    tp_buf b = {.arena = a};
    for (size_t i = 0; i < text.n;) {
        size_t n = 0;
        while (i + n < text.n && (isalnum((unsigned char)text.p[i + n]) || text.p[i + n] == '_'))
            n++;
        tp_str word = {text.p + i, n};
        bool ours = tp_size_find(k, word) != NULL || tp_operand_find(k, word) >= 0;
        for (uint32_t x = 0; x < k->naxes; x++)
            ours |= tp_str_eq(k->axes[x].name, word);
        ours = ours && (i == 0 || text.p[i - 1] != '.');
        if (ours)
            tp_buf_c(&b, "q_");
        tp_buf_add(&b, text.p + i, n ? n : 1);
        i += n ? n : 1;
    }
    return tp_buf_view(&b);
}

static const char *inputs_reversed(tp_arena *a, const char *spec)
{
    struct json_object *doc = json_tokener_parse(spec), *inputs = NULL, *reversed = json_object_new_array();
    if (json_object_object_get_ex(doc, "inputs", &inputs))
        for (size_t i = json_object_array_length(inputs); i-- > 0;)
            json_object_array_add(reversed, json_object_get(json_object_array_get_idx(inputs, i)));
    json_object_object_add(doc, "inputs", reversed);
    const char *text = tp_printf(a, "%s", json_object_to_json_string(doc)).p;
    json_object_put(doc);
    return text;
}

/* The ranges of sizes, halved or doubled; choices lose their last. */
static const char *resized(tp_arena *a, const char *spec, bool wider)
{
    struct json_object *doc = json_tokener_parse(spec), *sizes = NULL;
    if (json_object_object_get_ex(doc, "sizes", &sizes)) {
        json_object_object_foreach (sizes, name, size) {
            struct json_object *in = NULL, *max = NULL, *min = NULL;
            (void)name;
            if (!json_object_is_type(size, json_type_object))
                continue;
            json_object_object_get_ex(size, "in", &in);
            json_object_object_get_ex(size, "max", &max);
            json_object_object_get_ex(size, "min", &min);
            int64_t most = max ? json_object_get_int64(max) : 1 << 30, least = min ? json_object_get_int64(min) : 0;
            if (in && !wider && json_object_array_length(in) > 1)
                json_object_array_del_idx(in, json_object_array_length(in) - 1, 1);
            else if (!in && wider && max && most < 1 << 28)
                json_object_object_add(size, "max", json_object_new_int64(most * 2));
            else if (!in && !wider && most / 2 >= least + 64)
                json_object_object_add(size, "max", json_object_new_int64(most / 2));
        }
    }
    const char *text = tp_printf(a, "%s", json_object_to_json_string(doc)).p;
    json_object_put(doc);
    return text;
}

/* ---- relations ---- */

typedef struct tally {
    unsigned specs, compared, wrong;
} tally;

static void complain(tally *t, const char *path, const char *what, const verdicts *a, const verdicts *b, size_t rule)
{
    t->wrong++;
    print_message("%s: %s: %s was %d, is %d\n", path, what, a->rules[rule]->code, a->worst[rule], b->worst[rule]);
}

static void same(tally *t, const char *path, const char *what, const verdicts *a, const verdicts *b)
{
    t->compared++;
    assert_true(b->valid);
    for (size_t i = 0; i < a->n; i++)
        if (a->worst[i] != b->worst[i])
            complain(t, path, what, a, b, i);
}

/* Was something of verdict `was` that is now `is`? */
static void no_turn(tally *t, const char *path, const char *what, const verdicts *a, const verdicts *b, int was, int is)
{
    t->compared++;
    for (size_t i = 0; b->valid && i < a->n; i++)
        if (a->worst[i] == was && b->worst[i] == is && strcmp(a->rules[i]->code, "TP006") != 0)
            complain(t, path, what, a, b, i);
}

enum { RENAMED, REVERSED, NARROWER, WIDER, RELATIONS };

static void one_relation(tally *t, const char *path, const char *spec, const verdicts *before, unsigned relation)
{
    tp_arena *a = tp_arena_new(0);
    loaded *l = load_text(spec);
    verdicts after;
    switch (relation) {
    case RENAMED: /* the body and the reference have locals of their own: only names of the spec are changed */
        after = judge(tp_printf(a, "%.*s", TP_FMT(renamed(a, tp_str_c(spec), l->spec->kernels[0]))).p);
        if (after.valid) /* a name that is also a word of the format cannot be changed so */
            same(t, path, "other names", before, &after);
        break;
    case REVERSED:
        after = judge(inputs_reversed(a, spec));
        same(t, path, "inputs in reverse", before, &after);
        break;
    case NARROWER:
        after = judge(resized(a, spec, false));
        no_turn(t, path, "in a part of the domain", before, &after, 0, 2);
        break;
    case WIDER:
        after = judge(resized(a, spec, true));
        no_turn(t, path, "in a larger domain", before, &after, 2, 0);
        break;
    }
    unload(l);
    tp_arena_free(a);
}

static void one_spec(tally *t, const char *path, unsigned first, unsigned relations)
{
    tp_arena *a = tp_arena_new(0);
    tp_str text, why;
    assert_int_equal(tp_read_file(a, path, 1 << 20, &text, &why), TP_OK);
    const char *spec = tp_printf(a, "%.*s", TP_FMT(text)).p;
    verdicts before = judge(spec);
    t->specs += before.valid;
    for (unsigned r = 0; before.valid && r < relations; r++)
        one_relation(t, path, spec, &before, (first + r) % RELATIONS);
    tp_arena_free(a);
}

static void relations_hold(void **state)
{
    (void)state;
    static const char *const FOLDERS[] = {"examples/*/*.tile.json", "tests/rules/*/*.tile.json"};
    const char *seed = getenv("TEST_SEED"), *every = getenv("TEST_EVERY");
    unsigned first = seed ? (unsigned)strtoul(seed, NULL, 10) : 1, all = every ? RELATIONS : 1;
    tally t = {0};
    print_message("relations: seed %u, %u of %u for each spec\n", first, all, (unsigned)RELATIONS);
    for (size_t i = 0; i < sizeof FOLDERS / sizeof *FOLDERS; i++) {
        glob_t g;
        assert_int_equal(glob(FOLDERS[i], 0, NULL, &g), 0);
        for (size_t k = 0; k < g.gl_pathc; k++)
            if (every || (first + k) / RELATIONS % 4 == 0)
                one_spec(&t, g.gl_pathv[k], first + (unsigned)k, all);
        globfree(&g);
    }
    print_message("relations: %u specs, %u comparisons, %u wrong\n", t.specs, t.compared, t.wrong);
    assert_int_equal(t.wrong, 0);
    assert_true(t.specs > 150 && 4 * t.compared > 3 * all * t.specs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(relations_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
