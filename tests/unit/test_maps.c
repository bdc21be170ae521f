/* A wrong index in a random map of the gallery: another axis, none, or one too many. Where lint finds an error, its
 * first finding has a fix that keeps the sizes, and each other one is marked as a consequence of it. TEST_SEED,
 * TEST_TRIALS. */
#define _GNU_SOURCE
#include <glob.h>

#include "base/rng.h"
#include "tests/unit/files.h"
#include "tests/unit/support.h"

enum { TRIALS = 40, MOST_OPEN = 25 }; /* one in so many may be left open */

typedef struct tally {
    unsigned tried, found, fixed, others, marked;
} tally;

/* Another index in the place of dimension d's; empty: none is wrong there. */
static tp_str wrong_index(tp_arena *a, tp_rng *rng, const tp_kernel *k, const tp_dim *dim)
{
    tp_expr_node at = *tp_expr_get(k->exprs, dim->index);
    uint32_t pick = (uint32_t)tp_rng_below(rng, k->naxes + 2);
    if (pick == k->naxes) /* one too many */
        return tp_printf(a, "\"%.*s + 1\"", TP_FMT(tp_expr_text(k->exprs, dim->index)));
    if (pick > k->naxes)
        return at.op == TP_E_SYM ? TP_S("0") : (tp_str){NULL, 0};
    bool other = (at.op == TP_E_SYM && at.value != k->axes[pick].sym) || (at.op == TP_E_CONST && pick == 0);
    return other ? tp_printf(a, "\"%.*s\"", TP_FMT(k->axes[pick].name)) : (tp_str){NULL, 0};
}

static void judge(place *p, const char *name, tp_str text, tally *n)
{
    outcome o = RUN(p->a, "lint", put(p, "wrong.tile.json", text.p, text.n), "--format", "json");
    struct json_object *r = record_of(p->a, &o), *spec = json_object_array_get_idx(member(r, "specs"), 0),
                       *findings = member(spec, "findings"), *first = NULL;
    unsigned others = 0, marked = 0;
    n->tried++;
    for (size_t i = 0; i < json_object_array_length(findings); i++) {
        struct json_object *f = json_object_array_get_idx(findings, i);
        if (!is_bad(string_of(f, "verdict")))
            continue;
        if (first) {
            others++;
            marked += member(f, "fix") || strstr(string_of(f, "note"), "removes this, too");
        } else {
            first = f;
        }
    }
    struct json_object *fix = first ? member(first, "fix") : NULL;
    bool fixed = fix && !strstr(string_of(fix, "title"), "require ");
    n->found += first != NULL;
    n->fixed += fixed;
    n->others += fixed ? others : 0;
    n->marked += fixed ? marked : 0;
    if (first && !fixed)
        print_message("%s: %s, no fix\n", name, string_of(first, "message"));
    json_object_put(r);
}

/* A map of the spec with one wrong index, judged; not where its text is not one index a dimension. */
static void one(place *p, tp_rng *rng, const char *path, tally *n)
{
    loaded *l = load_file(path);
    const tp_kernel *k = l->spec ? l->spec->kernels[0] : NULL;
    uint32_t noperands = k ? k->ninputs + k->noutputs : 0;
    const tp_operand *o = noperands ? &k->operands[tp_rng_below(rng, noperands)] : NULL;
    if (o && o->rank && !o->whole) {
        const tp_dim *dim = &o->dims[tp_rng_below(rng, o->rank)];
        tp_str index = wrong_index(p->a, rng, k, dim), all = l->source.text;
        if (index.n && dim->kind == TP_DIM_BLOCKED && dim->index_loc.end > dim->index_loc.start) {
            tp_edits edits = {0};
            tp_push(p->a, edits, ((tp_edit){dim->index_loc.start, dim->index_loc.end, index}));
            judge(p, tp_printf(p->a, "%s, %.*s, %.*s", path, TP_FMT(o->name), TP_FMT(index)).p,
                  tp_apply_edits(p->a, all, &edits), n);
        }
    }
    unload(l);
}

static void wrong_maps_have_one_cause(void **state)
{
    place *p = *state;
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS);
    tp_rng rng = tp_rng_new(seed, 0);
    tally n = {0};
    glob_t found;
    assert_int_equal(glob("examples/[!b]*/*.tile.json", 0, NULL, &found), 0);
    for (uint64_t t = 0; n.tried < trials && t < 100 * trials; t++)
        one(p, &rng, found.gl_pathv[tp_rng_below(&rng, found.gl_pathc)], &n);
    globfree(&found);
    print_message(
        "maps: seed %llu, %u wrong ones, lint finds %u; %u have a fix, which removes %u of the %u other findings\n",
        (unsigned long long)seed, n.tried, n.found, n.fixed, n.marked, n.others);
    assert_true(n.found > 0 && MOST_OPEN * (n.found - n.fixed) <= n.found + MOST_OPEN && n.marked == n.others);
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_PLACE(wrong_maps_have_one_cause)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
