/* Bodies that do the same, statement by statement, and bodies that all but do. tests/alike: "x-test" is a list of
 * changes, each the members that it puts in the place of the spec's, and whether the two are proven to leave the same
 * bits ("same"). And random bodies with defects: what is proven is executed at every size of a small box. TEST_SEED,
 * TEST_TRIALS. */
#define _GNU_SOURCE
#include <glob.h>

#include "cli/mutations.h"
#include "kernels/machine/machine.h"
#include "base/file.h"
#include "tests/unit/random_body.h"
#include "verify/verify.h"

enum { TRIALS = 400, DEFECTS = 12 };

/* ---- two kernels ---- */

typedef struct asked {
    tp_job job;
    const tp_job *old; /* NULL: there is none; what the rules say is asked */
    bool solver;
    bool valid, yes; /* yes: it does what the old one does; or it keeps the rules */
} asked;

static void ask(void *arg)
{
    asked *x = arg;
    size_t n;
    tp_analysis_options o = {.prover = {.no_solver = !x->solver}, .only = tp_rules(&n)};
    tp_analysis_result r = {0};
    o.nonly = n;
    tp_analyze(x->job.arena, x->job.report.spec, &o, &r);
    x->yes = x->old ? tp_does_the_same(&x->job, &r.findings, x->old, &o) : !tp_equality_without(&r.findings);
}

static void ask_of(asked *x, tp_str text, const tp_job *old, bool solver)
{
    *x = (asked){.job = {.arena = tp_arena_new(0)}, .old = old, .solver = solver};
    x->job.source = (tp_source){.path = TP_S("alike.tile.json"), .text = text};
    tp_job_begin(&x->job);
    tp_job_load_text(&x->job, TP_S(""));
    x->valid = x->job.report.valid && tp_try(x->job.arena, ask, x) == TP_OK;
}

/* ---- written pairs ---- */

static tp_str text_of(const tp_source *s, const tp_json *v)
{
    return (tp_str){s->text.p + v->loc.start, v->loc.end - v->loc.start};
}

/* The spec's text with the members of the change. */
static tp_str changed_text(tp_arena *a, const tp_job *j, const tp_json *change)
{
    const tp_json *doc = j->report.spec->doc;
    tp_buf b = {.arena = a};
    for (uint32_t i = 0; i < doc->u.items.n; i++) {
        const tp_json *m = doc->u.items.at[i], *other = tp_json_get(change, tp_cstr(a, m->key));
        tp_buf_printf(&b, "%c\n\"%.*s\": %.*s", i ? ',' : '{', TP_FMT(m->key),
                      TP_FMT(text_of(&j->source, other ? other : m)));
    }
    tp_buf_c(&b, "}");
    return tp_buf_view(&b);
}

static void written_pairs(void **state)
{
    glob_t found;
    unsigned same = 0, others = 0;
    (void)state;
    assert_int_equal(glob("tests/alike/*.tile.json", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        tp_arena *a = tp_arena_new(0);
        tp_str text, why;
        assert_int_equal(tp_read_file(a, path, TP_JSON_MAX_BYTES, &text, &why), TP_OK);
        asked old, new;
        ask_of(&old, text, NULL, true);
        if (!old.valid || !old.yes)
            fail_msg("%s: it keeps not all rules", path);
        const tp_json *changes = tp_json_get(old.job.report.spec->doc, "x-test");
        for (uint32_t c = 0; c < changes->u.items.n; c++) {
            const tp_json *change = changes->u.items.at[c];
            bool want = tp_json_get(change, "same")->u.boolean;
            ask_of(&new, changed_text(a, &old.job, change), &old.job, true);
            if (!new.valid || new.yes != want)
                fail_msg("%s: %.*s: %s", path, TP_FMT(tp_json_get(change, "what")->u.string),
                         !new.valid ? "no valid spec"
                         : new.yes  ? "shown to be the same"
                                    : "not shown to be the same");
            same += want;
            others += !want;
            tp_job_free(&new.job);
        }
        tp_job_free(&old.job);
        tp_arena_free(a);
    }
    globfree(&found);
    print_message("alike: %u changes that change nothing, %u others\n", same, others);
}

/* ---- random ones ---- */

/* The bytes of the output; false: the run traps. */
static bool output_of(tp_arena *a, const tp_kernel *k, const int64_t *env, uint64_t seed, tp_tensor *out)
{
    tp_tensor arrays[4];
    tp_trap trap;
    tp_str why;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        assert_true(tp_operand_dims(k, &k->operands[i], env, dims, &why));
        arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        if (i < k->ninputs)
            tp_fill_random(&arrays[i], seed, i);
    }
    tp_run_request r = {.kernel = k, .env = env, .arrays = arrays, .max_steps = 100000, .seed = seed, .short_row = 1};
    *out = arrays[k->ninputs];
    return tp_machine_run(a, &r, &trap, NULL) == TP_OK;
}

typedef struct point {
    int64_t m, n;
} point;

static bool differ_at(const tp_kernel *x, const tp_kernel *y, point at, uint64_t seed)
{
    const tp_kernel *both[] = {x, y};
    tp_arena *a = tp_arena_new(0);
    tp_tensor out[2];
    bool ran = true;
    for (int b = 0; b < 2; b++) {
        const tp_kernel *k = both[b];
        int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(k->exprs));
        const tp_size *m = tp_size_find(k, TP_S("M")), *n = tp_size_find(k, TP_S("N"));
        tp_str why;
        if (m->kind != TP_SIZE_FIXED) {
            env[m->sym] = at.m;
            env[n->sym] = at.n;
        }
        if (!tp_in_domain(k, env, &why)) {
            tp_arena_free(a);
            return false;
        }
        ran &= output_of(a, k, env, seed, &out[b]);
    }
    bool differ = !ran || memcmp(out[0].data, out[1].data, out[0].n * tp_dtype_size(out[0].dtype)) != 0;
    tp_arena_free(a);
    return differ;
}

static void random_defects(void **state)
{
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS);
    unsigned kernels = 0, defects = 0, same = 0;
    (void)state;
    for (uint64_t t = 0; t < trials; t++) {
        maker g = {.a = tp_arena_new(0), .rng = tp_rng_new(seed, t)};
        asked old, new;
        ask_of(&old, tp_str_c(make_spec(&g)), NULL, false);
        const tp_kernel *k = old.valid ? old.job.report.spec->kernels[0] : NULL;
        bool good = old.valid && old.yes && !k->operands[k->ninputs].valid.id;
        tp_mutations all = {0};
        if (good)
            all = tp_mutations_of(&old.job.ctx, old.job.report.spec->doc);
        kernels += good;
        for (int d = 0; d < DEFECTS && all.len; d++) {
            const tp_mutation *m = &all.at[tp_rng_below(&g.rng, all.len)];
            ask_of(&new, m->text, &old.job, false);
            defects += new.valid;
            for (int at = 0; new.valid &&new.yes &&at < 64; at++)
                if (differ_at(k, new.job.report.spec->kernels[0], (point){1 + at / 8, 1 + at % 8}, t))
                    fail_msg("seed %llu, trial %llu: shown to be the same, and differs at M = %d, N = %d (%s: %.*s -> "
                             "%.*s)\n%.*s",
                             (unsigned long long)seed, (unsigned long long)t, 1 + at / 8, 1 + at % 8, m->kind,
                             TP_FMT(m->before), TP_FMT(m->after), TP_FMT(m->text));
            same += new.valid &&new.yes;
            tp_job_free(&new.job);
        }
        tp_job_free(&old.job);
        tp_arena_free(g.a);
    }
    print_message("alike: seed %llu: of %u defects in %u random kernels %u change nothing, and no run differs\n",
                  (unsigned long long)seed, defects, kernels, same);
    assert_true(getenv("TEST_TRIALS") || same * 50 > defects);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(written_pairs), cmocka_unit_test(random_defects)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
