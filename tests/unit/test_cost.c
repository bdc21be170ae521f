/* Costs: what is counted against what the machine does, on the cases of the gallery and on random specs; closed forms
 * against sums at random sizes; the model's order of things. */
#define _GNU_SOURCE
#include "base/rng.h"
#include "cost/cost.h"
#include "report/blocks.h"
#include "tests/unit/gallery.h"
#include "tests/unit/specs.h"

enum { OPERANDS = 32, MOST_STEPS = 200000 };

typedef struct job {
    loaded *l;
    const tp_kernel *k;
    tp_cost *cost;
    tp_cost_request request;
    tp_cost_numbers numbers;
    int64_t vmem;
} job;

static void prepare(void *arg)
{
    job *j = arg;
    j->cost = tp_cost_new(j->l->arena, j->k);
}

static void count(void *arg)
{
    job *j = arg;
    j->numbers = tp_cost_at(j->cost, j->l->arena, &j->request);
}

static tp_cost_numbers numbers_at(job *j, const int64_t *env, bool counting)
{
    j->request = (tp_cost_request){.env = env, .counting = counting};
    assert_int_equal(tp_try(j->l->arena, count, j), TP_OK);
    return j->numbers;
}

/* ---- the machine ---- */

static tp_status run(tp_arena *a, const tp_kernel *k, const int64_t *env, uint64_t seed, tp_run_stats *stats)
{
    tp_tensor arrays[OPERANDS];
    tp_trap trap;
    assert_true(k->ninputs + k->noutputs <= OPERANDS);
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        tp_str why;
        assert_true(tp_operand_dims(k, &k->operands[i], env, dims, &why));
        arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        if (i < k->ninputs)
            tp_fill_input(k, env, i, &arrays[i], TP_INPUT_NORMAL, 8, seed);
    }
    tp_run_request r = {
        .kernel = k, .env = env, .arrays = arrays, .in_order = true, .max_steps = MOST_STEPS, .counts = true};
    return tp_machine_run(a, &r, &trap, stats);
}

typedef struct tally {
    uint32_t cases, numbers, unknown, pictures, by_body; /* by_body: operands that the body copies, in pictures */
} tally;

static void same(tally *t, const tp_kernel *k, tp_str of, const char *what, tp_cost_count n, int64_t machine)
{
    t->numbers++;
    t->unknown += !n.known;
    if (n.known && n.n != machine)
        fail_msg("%.*s: %s of `%.*s`: counted %lld, the machine %lld", TP_FMT(k->name), what, TP_FMT(of),
                 (long long)n.n, (long long)machine);
    if (!n.known && !n.why.n)
        fail_msg("%.*s: %s of `%.*s` is not known, and nothing says why", TP_FMT(k->name), what, TP_FMT(of));
}

static void same_as_machine(tally *t, const tp_kernel *k, const tp_cost_numbers *n, const tp_run_stats *s)
{
    same(t, k, k->name, "steps", n->steps, s->steps);
    for (uint32_t i = 0; i < n->noperands; i++) {
        const tp_operand_cost *o = &n->operands[i];
        same(t, k, o->operand->name, "fetches", o->fetches, s->moved[i].fetches);
        same(t, k, o->operand->name, "elements fetched", o->fetched, s->moved[i].fetched);
        same(t, k, o->operand->name, "writes", o->writes, s->moved[i].writes);
        same(t, k, o->operand->name, "elements written", o->written, s->moved[i].written);
    }
    same(t, k, k->name, "FLOPs", n->flops, s->flops);
    same(t, k, k->name, "FLOPs of dots", n->dot_flops, s->dot_flops);
    if (k->target.mxu)
        same(t, k, k->name, "FLOPs on tiles", n->mxu_flops, s->mxu_flops);
    same(t, k, k->name, "transcendental", n->transcendental, s->transcendental);
}

/* The pictures of the HTML report walk the grid themselves, step by step. */
static void same_as_pictures(tally *t, tp_arena *a, const tp_case *c, const tp_run_stats *s)
{
    const tp_kernel *k = c->kernel;
    tp_copies l;
    if (!tp_map_lanes(a, k, c->env, &l))
        return;
    t->pictures++;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        tp_cost_count n = {.known = l.counted[i], .n = (int64_t)l.copies[i], .why = TP_S("of the data")};
        bool far = tp_is_far(&k->operands[i]);
        uint64_t steps = 0;
        for (uint64_t x = 0; x < l.steps; x++)
            steps += tp_copied_for(&l, i, (int64_t)x);
        if (l.kept == l.steps)
            assert_int_equal(steps, l.copies[i]);
        if (!far) /* the window of the last step is the last one */
            assert_int_equal(tp_run_of(&l, i, (int64_t)l.steps - 1) + 1, l.copies[i]);
        t->by_body += far && n.known && n.n;
        same(t, k, k->operands[i].name, "copies in the picture", n,
             far              ? s->moved[i].fetches + s->moved[i].writes
             : i < k->ninputs ? s->moved[i].fetches
                              : s->moved[i].writes);
    }
}

static void one_case(tally *t, job *j, const tp_case *c)
{
    tp_arena *a = tp_arena_new(0);
    tp_run_stats stats;
    if (run(a, c->kernel, c->env, c->seed, &stats) == TP_OK) {
        t->cases++;
        same_as_pictures(t, a, c, &stats);
        for (int counting = 0; counting < 2; counting++) {
            tp_cost_numbers n = numbers_at(j, c->env, counting);
            same_as_machine(t, c->kernel, &n, &stats);
        }
    }
    tp_arena_free(a);
}

static void cases_of(const reading *r, void *ctx)
{
    tally *t = ctx;
    job j = {.l = r->l};
    uint32_t unknown = t->unknown;
    for (uint32_t x = 0; x < r->cases.len; x++) {
        const tp_case *c = &r->cases.at[x];
        if (c->kernel != j.k) {
            j.k = c->kernel;
            assert_int_equal(tp_try(j.l->arena, prepare, &j), TP_OK);
        }
        one_case(t, &j, c);
    }
    if (t->unknown > unknown)
        print_message("cost: %.*s: %u numbers unknown\n", TP_FMT(r->l->source.path), t->unknown - unknown);
}

static void gallery_costs_what_the_machine_counts(void **state)
{
    (void)state;
    tally t = {0};
    for_specs("examples/*/*.tile.json", 2, cases_of, &t);
    for_specs("tests/devices/*.tile.json", 2, cases_of, &t);
    print_message(
        "cost: %u cases, %u pictures, %u operands in them that the body copies, %u numbers as the machine, %u "
        "unknown\n",
        t.cases, t.pictures, t.by_body, t.numbers, t.unknown);
    assert_true(t.cases > 90 && t.pictures > 90 && t.by_body > 20);
}

/* ---- closed forms ---- */

static bool draw_sizes(tp_rng *rng, const tp_kernel *k, int64_t *env)
{
    tp_str why;
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *s = &k->sizes[i];
        if (s->kind == TP_SIZE_CHOICE)
            env[s->sym] = s->choices[tp_rng_below(rng, s->nchoices)];
        if (s->kind != TP_SIZE_RANGE)
            continue;
        int64_t least = tp_size_least(s), room = (s->max - least) / s->multiple_of,
                most = tp_rng_below(rng, 2) ? 40 : 900;
        env[s->sym] = least + s->multiple_of * (int64_t)tp_rng_below(rng, (uint64_t)(room < most ? room : most) + 1);
    }
    return tp_in_domain(k, env, &why);
}

static void same_counts(const tp_kernel *k, const tp_cost_count *form, const tp_cost_count *sum, const char *what,
                        tp_str of, tally *t)
{
    t->unknown += !form->known || !sum->known;
    t->numbers++;
    if (form->known && sum->known && form->n != sum->n)
        fail_msg("%.*s: %s of `%.*s`: the closed form says %lld, counting %lld", TP_FMT(k->name), what, TP_FMT(of),
                 (long long)form->n, (long long)sum->n);
}

static void forms_at(job *j, const int64_t *env, tally *t)
{
    tp_cost_numbers f = numbers_at(j, env, false), s = numbers_at(j, env, true);
    for (uint32_t i = 0; i < f.noperands; i++) {
        tp_str name = f.operands[i].operand->name;
        same_counts(j->k, &f.operands[i].fetches, &s.operands[i].fetches, "fetches", name, t);
        same_counts(j->k, &f.operands[i].fetched, &s.operands[i].fetched, "elements fetched", name, t);
        same_counts(j->k, &f.operands[i].writes, &s.operands[i].writes, "writes", name, t);
        same_counts(j->k, &f.operands[i].written, &s.operands[i].written, "elements written", name, t);
    }
    same_counts(j->k, &f.flops, &s.flops, "FLOPs", j->k->name, t);
    same_counts(j->k, &f.mxu_flops, &s.mxu_flops, "FLOPs on tiles", j->k->name, t);
    same_counts(j->k, &f.transcendental, &s.transcendental, "transcendental", j->k->name, t);
}

static void closed_forms_say_what_counting_says(void **state)
{
    (void)state;
    glob_t g;
    uint64_t seed = setting("TEST_SEED", 1);
    uint32_t trials = (uint32_t)setting("TEST_TRIALS", 300) / 10, kernels = 0;
    tally t = {0};
    assert_int_equal(glob("examples/*/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        job j = {.l = load_file(g.gl_pathv[i])};
        tp_rng rng = tp_rng_new(seed, i);
        if (strstr(g.gl_pathv[i], "/broken/") || j.l->spec->kernels[0]->ntables) {
            unload(j.l);
            continue;
        }
        j.k = j.l->spec->kernels[0];
        int64_t *env = TP_NEWN(j.l->arena, int64_t, tp_sym_count(j.k->exprs));
        assert_int_equal(tp_try(j.l->arena, prepare, &j), TP_OK);
        for (uint32_t x = 0; x < trials; x++)
            if (draw_sizes(&rng, j.k, env))
                forms_at(&j, env, &t);
        kernels++;
        unload(j.l);
    }
    globfree(&g);
    print_message("forms: seed %llu, %u kernels, %u numbers, %u not known one way or the other\n",
                  (unsigned long long)seed, kernels, t.numbers, t.unknown);
    assert_true(kernels > 30 && t.unknown * 20 < t.numbers);
}

/* ---- pictures of long grids ---- */

/* -1: not known. */
static int64_t steps_at(const tp_kernel *k, const int64_t *env)
{
    int64_t all = 1, n;
    for (uint32_t x = 0; x < k->naxes; x++)
        if (tp_expr_eval(k->exprs, k->axes[x].steps, env, &n) != TP_EVAL_OK || (all *= n) > INT32_MAX)
            return -1;
    return all;
}

static void set_axes(const tp_kernel *k, int64_t *env, int64_t step)
{
    for (uint32_t x = k->naxes; x-- > 0;) {
        int64_t n;
        assert_int_equal(tp_expr_eval(k->exprs, k->axes[x].steps, env, &n), TP_EVAL_OK);
        env[k->axes[x].sym] = step % n;
        step /= n;
    }
}

/* Does the window lie elsewhere in `step` than in the step before? */
static bool has_moved(const tp_kernel *k, const tp_operand *o, int64_t *env, int64_t step)
{
    int64_t at[2][TP_MAX_RANK] = {{0}};
    for (int i = 0; i < 2; i++) {
        set_axes(k, env, step - 1 + i);
        for (uint32_t d = 0; d < o->rank && !o->whole; d++)
            assert_int_equal(tp_expr_eval(k->exprs, o->dims[d].index, env, &at[i][d]), TP_EVAL_OK);
    }
    return memcmp(at[0], at[1], sizeof at[0]) != 0;
}

/* Of more steps than are walked, the first and the last are drawn as a walk through all of them finds them. */
static uint32_t ends_are_those_of_a_walk(const tp_kernel *k, int64_t *env, const tp_copies *l)
{
    uint32_t compared = 0;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        const tp_operand *o = &k->operands[i];
        int64_t before = 0, last = (int64_t)l->steps - 1;
        if (tp_is_far(o))
            continue;
        for (int64_t s = 0; s <= last; s++) {
            bool copied =
                o->role == TP_INPUT ? s == 0 || has_moved(k, o, env, s) : s == last || has_moved(k, o, env, s + 1);
            bool kept = s < TP_LANE_ENDS || s > last - TP_LANE_ENDS;
            if (kept) {
                assert_int_equal(tp_copied_for(l, i, s), copied);
                assert_int_equal(tp_run_of(l, i, s), o->role == TP_INPUT ? before + copied - 1 : before);
                compared++;
            }
            before += copied;
        }
        assert_int_equal(l->copies[i], before);
    }
    return compared;
}

static void long_grids_are_drawn_at_their_ends(void **state)
{
    (void)state;
    glob_t g;
    uint32_t grids = 0, compared = 0;
    assert_int_equal(glob("examples/*/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        loaded *l = load_file(g.gl_pathv[i]);
        const tp_kernel *k =
            strstr(g.gl_pathv[i], "/broken/") || l->spec->kernels[0]->ntables ? NULL : l->spec->kernels[0];
        tp_rng rng = tp_rng_new(setting("TEST_SEED", 1), i);
        int64_t *env = k ? TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs) + 1) : NULL;
        bool found = false;
        for (int trial = 0; k && trial < 200 && !found; trial++)
            found = draw_sizes(&rng, k, env) && steps_at(k, env) > TP_MAP_STEPS && steps_at(k, env) < 20000;
        tp_copies c;
        if (found && tp_map_lanes(l->arena, k, env, &c)) {
            grids++;
            compared += ends_are_those_of_a_walk(k, env, &c);
        }
        unload(l);
    }
    globfree(&g);
    print_message("cost: %u long grids, %u windows at their ends as in a walk\n", grids, compared);
    assert_true(grids >= 5);
}

/* ---- memory ---- */

static void memory_is_that_of_tp301(void **state)
{
    (void)state;
    glob_t g;
    uint32_t compared = 0;
    assert_int_equal(glob("examples/*/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        job j = {.l = load_file(g.gl_pathv[i])};
        tp_analysis_result r = {0};
        int64_t most = 0;
        if (j.l->spec)
            r = analyze_with(j.l, "TP301", (tp_prover_options){0});
        for (uint32_t n = 0; j.l->spec && n < j.l->spec->nkernels && r.vmem.limit && r.vmem.bytes >= 0; n++) {
            j.k = j.l->spec->kernels[n];
            int64_t *env = TP_NEWN(j.l->arena, int64_t, tp_sym_count(j.k->exprs));
            for (uint32_t x = 0; x < j.k->nsizes; x++) {
                const tp_size *s = &j.k->sizes[x];
                if (s->kind == TP_SIZE_RANGE || s->kind == TP_SIZE_CHOICE)
                    env[s->sym] = s->kind == TP_SIZE_CHOICE ? s->choices[s->nchoices - 1] : s->max;
            }
            assert_int_equal(tp_try(j.l->arena, prepare, &j), TP_OK);
            j.request = (tp_cost_request){.env = env, .work = 1};
            assert_int_equal(tp_try(j.l->arena, count, &j), TP_OK);
            tp_cost_numbers c = j.numbers;
            if (c.vmem.known)
                assert_int_equal(c.vmem_moments[c.vmem_peak].n, c.vmem.n);
            if (c.vmem.known && c.vmem.n > most)
                most = c.vmem.n;
        }
        if (most) {
            assert_int_equal(most, r.vmem.bytes);
            compared++;
        }
        unload(j.l);
    }
    globfree(&g);
    assert_true(compared > 60);
}

/* The most that is there at one time is what TP301 adds up, and names what is there. */
static void peak_is_the_sum(const tp_kernel *k, const tp_cost_forms *f, const tp_cost_numbers *n)
{
    const tp_vmem_life *l = &f->life;
    const tp_vmem_moment *peak = &l->moments.at[n->vmem_peak];
    int64_t there = 0, most = 0;
    for (uint32_t i = 0; i < l->buffers.len; i++) {
        const tp_operand *o = l->buffers.at[i].operand;
        bool alive = !o->scoped;
        for (uint32_t x = 0; x < peak->nalive; x++)
            alive |= &k->operands[peak->alive[x]] == o;
        there += alive ? n->vmem_buffers[i].n * l->buffers.at[i].buffers : 0;
    }
    for (uint32_t i = 0; i < l->moments.len; i++)
        most = n->vmem_moments[i].n > most ? n->vmem_moments[i].n : most;
    if (n->vmem.known && (most != n->vmem.n || there != most))
        fail_msg("%.*s: at most %lld bytes at one time, of buffers with %lld; TP301 has %lld", TP_FMT(k->name),
                 (long long)most, (long long)there, (long long)n->vmem.n);
    assert_int_equal(l->moments.at[l->moments.len - 1].nalive, 0); /* each ends */
}

static void memory_at_any_time(void **state)
{
    static const char *const PATHS[] = {"examples/*/*.tile.json", "tests/semantics/scope*.tile.json",
                                        "tests/rules/*/*scope*.tile.json"};
    (void)state;
    uint32_t kernels = 0, scopes = 0;
    for (size_t p = 0; p < sizeof PATHS / sizeof *PATHS; p++) {
        glob_t g;
        assert_int_equal(glob(PATHS[p], 0, NULL, &g), 0);
        for (size_t i = 0; i < g.gl_pathc; i++) {
            job j = {.l = load_file(g.gl_pathv[i])};
            for (uint32_t n = 0; j.l->spec && n < j.l->spec->nkernels; n++) {
                j.k = j.l->spec->kernels[n];
                int64_t *env = TP_NEWN(j.l->arena, int64_t, tp_sym_count(j.k->exprs) + 1);
                tp_rng rng = tp_rng_new(1, i);
                draw_sizes(&rng, j.k, env);
                assert_int_equal(tp_try(j.l->arena, prepare, &j), TP_OK);
                j.request = (tp_cost_request){.env = env, .work = 1};
                assert_int_equal(tp_try(j.l->arena, count, &j), TP_OK);
                peak_is_the_sum(j.k, tp_cost_forms_of(j.cost), &j.numbers);
                kernels++;
                scopes += tp_cost_forms_of(j.cost)->life.moments.len > 1;
            }
            unload(j.l);
        }
        globfree(&g);
    }
    print_message("cost: VMEM of %u kernels at any time, %u of them with scopes\n", kernels, scopes);
    assert_true(kernels > 100 && scopes > 10);
}

/* Two scopes one after the other, the second around a third: 8 KiB are there in all steps. */
static void moments_of_a_body(void **state)
{
    static const char SPEC[] =
        "{\"tileproof\": 1, \"name\": \"scopes\", \"target\": \"tpu-v5e\", \"sizes\": {\"M\": {\"min\": 1}}, "
        "\"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(M, 8)\"}], "
        "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"M\", 128], \"block_shape\": [8, 128], "
        "\"index_map\": [\"i\", 0], \"buffers\": 1}], "
        "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"M\", 128], \"block_shape\": [8, 128], "
        "\"index_map\": [\"i\", 0], \"buffers\": 1}], "
        "\"kernel\": [\"with scratch((32, 128), float32) as a:\", \"    a[...] = zeros((32, 128), float32)\", "
        "\"with scratch((16, 128), float32) as b, scratch((4,), int32, smem) as n:\", "
        "\"    b[...] = zeros((16, 128), float32)\", \"    n[0] = 1\", "
        "\"    with scratch((24, 128), float32) as c:\", \"        c[...] = zeros((24, 128), float32)\", "
        "\"o[...] = x[...]\"]}";
    static const struct {
        uint32_t line;
        bool ends;
        int64_t kib;
    } WANT[] = {{0, false, 8},  {1, false, 24}, {1, true, 8}, {3, false, 16},
                {6, false, 28}, {6, true, 16},  {3, true, 8}};
    (void)state;
    job j = {.l = load_text(SPEC)};
    assert_non_null(j.l->spec);
    j.k = j.l->spec->kernels[0];
    int64_t *env = TP_NEWN(j.l->arena, int64_t, tp_sym_count(j.k->exprs));
    env[j.k->sizes[0].sym] = 100;
    assert_int_equal(tp_try(j.l->arena, prepare, &j), TP_OK);
    tp_cost_numbers n = numbers_at(&j, env, false);
    const tp_vmem_life *l = &tp_cost_forms_of(j.cost)->life;
    assert_int_equal(l->moments.len, sizeof WANT / sizeof *WANT);
    for (uint32_t i = 0; i < l->moments.len; i++) {
        assert_int_equal(l->moments.at[i].line, WANT[i].line);
        assert_int_equal(l->moments.at[i].ends, WANT[i].ends);
        assert_int_equal(n.vmem_moments[i].n, WANT[i].kib << 10);
    }
    assert_int_equal(n.vmem_peak, 4);
    unload(j.l);
}

/* ---- random specs ---- */

typedef struct maker {
    tp_arena *a;
    tp_rng rng;
    uint32_t axes;
} maker;

static int pick(maker *m, int n)
{
    return (int)tp_rng_below(&m->rng, (uint64_t)n);
}

static const char *words(maker *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static const char *words(maker *m, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tp_str s = tp_vprintf(m->a, fmt, ap);
    va_end(ap);
    return s.p;
}

static const char *axis(maker *m)
{
    static const char *const NAMES[] = {"i", "j", "k"};
    return NAMES[pick(m, (int)m->axes)];
}

/* An index, from 0 below cdiv(extent, block). */
static const char *index_map(maker *m, const char *extent, int block)
{
    const char *a = axis(m), *inside;
    switch (pick(m, 9)) {
    case 0: return "0";
    case 1: inside = words(m, "%s // %d", a, 1 + pick(m, 3)); break;
    case 2: inside = words(m, "%s + %s", a, axis(m)); break;
    case 3: inside = words(m, "%s %% %d", a, 1 + pick(m, 3)); break;
    case 4: inside = words(m, "%d * %s", 1 + pick(m, 2), a); break;
    case 5: inside = words(m, "max(%s - 1, 0)", a); break;
    default: inside = a; break;
    }
    int way = pick(m, 3);
    return way == 0   ? words(m, "min(%s, cdiv(%s, %d) - 1)", inside, extent, block)
           : way == 1 ? words(m, "(%s) %% cdiv(%s, %d)", inside, extent, block)
                      : inside; /* may lie outside: then it is not compared */
}

static const char *condition(maker *m, int depth)
{
    const char *a = axis(m);
    switch (pick(m, depth > 0 ? 12 : 9)) {
    case 0: return words(m, "%s == 0", a);
    case 1: return words(m, "%s == num_programs(%s) - 1", a, a);
    case 2: return words(m, "%s > %d", a, pick(m, 3));
    case 3: return words(m, "%s * 2 < M", a);
    case 4: return words(m, "%s %% 2 == 0", a);
    case 5: return words(m, "%s != %d", a, pick(m, 3));
    case 6: return words(m, "%s <= %s", a, axis(m));
    case 7: return words(m, "3 - 2 * %s >= %d", a, pick(m, 4) - 2);
    case 8: return words(m, "N > %d", pick(m, 9));
    case 9: return words(m, "(%s) and (%s)", condition(m, depth - 1), condition(m, depth - 1));
    case 10: return words(m, "(%s) or (%s)", condition(m, depth - 1), condition(m, depth - 1));
    default: return words(m, "not (%s)", condition(m, depth - 1));
    }
}

static void line(maker *m, tp_buf *b, int indent, const char *s)
{
    (void)m;
    tp_buf_printf(b, ", \"%*s%s\"", 4 * indent, "", s);
}

static void statements(maker *m, tp_buf *b, int indent, int depth)
{
    static const char *const LINES[] = {"s[...] = exp(x[...]) + 1", "s[...] = dot(x[...], x[...], contract=([1], [1]))",
                                        "s[...] = where(x[...] > 0, sum(x[...], axis=1, keepdims=True), 2)",
                                        "s[...] = sqrt(abs(x[...])) * y[...]"};
    switch (pick(m, depth > 0 ? 6 : 3)) {
    case 3:
        line(m, b, indent, words(m, "if %s:", condition(m, 2)));
        statements(m, b, indent + 1, depth - 1);
        if (pick(m, 2))
            return;
        line(m, b, indent, "else:");
        statements(m, b, indent + 1, depth - 1);
        return;
    case 4:
        line(m, b, indent,
             words(m, "for t%d in range(%d, %s):", depth, pick(m, 2),
                   pick(m, 3) ? words(m, "%s + %d", axis(m), pick(m, 2)) : "min(M, 5)"));
        statements(m, b, indent + 1, depth - 1);
        return;
    case 5:
        statements(m, b, indent, depth - 1);
        statements(m, b, indent, depth - 1);
        return;
    default: line(m, b, indent, LINES[pick(m, 4)]); return;
    }
}

static const char *random_spec(maker *m)
{
    static const char *const STEPS[] = {"cdiv(M, 4)", "cdiv(N, 8)", "2", "M", "3", "N // 3", "1"};
    static const char *const AXES[] = {"i", "j", "k"};
    tp_buf grid = {.arena = m->a}, body = {.arena = m->a};
    m->axes = 1 + (uint32_t)pick(m, 3);
    for (uint32_t a = 0; a < m->axes; a++)
        tp_buf_printf(&grid, "%s{\"axis\": \"%s\", \"steps\": \"%s\"}", a ? ", " : "", AXES[a],
                      a == 0 ? "cdiv(M, 4)" : STEPS[pick(m, 7)]);
    statements(m, &body, 0, 3);
    return words(
        m,
        "{\"tileproof\": 1, \"name\": \"random\", \"sizes\": {\"M\": {\"min\": 1, \"max\": 14}, \"N\": {\"min\": 1, "
        "\"max\": 17}}, \"grid\": [%.*s], \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"M\", "
        "\"N\"], \"block_shape\": [4, 4], \"index_map\": [\"%s\", \"%s\"]}, {\"name\": \"y\", \"dtype\": "
        "\"float32\", \"shape\": [\"N\", 4], \"block_shape\": [%s, 4], \"index_map\": [\"%s\", 0]}], \"outputs\": "
        "[{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"M\"], \"block_shape\": [4], \"index_map\": "
        "[\"i\"]}], \"scratch\": [{\"name\": \"s\", \"dtype\": \"float32\", \"shape\": [4, 4]}], \"kernel\": "
        "[\"o[...] = 1\"%.*s]}",
        TP_FMT(tp_buf_view(&grid)), index_map(m, "M", 4), index_map(m, "N", 4), "4", index_map(m, "N", 4),
        TP_FMT(tp_buf_view(&body)));
}

static void random_specs_cost_what_the_machine_counts(void **state)
{
    (void)state;
    uint64_t seed = setting("TEST_SEED", 1);
    uint32_t trials = (uint32_t)setting("TEST_TRIALS", 300), specs = 0;
    tally t = {0};
    for (uint32_t x = 0; x < trials; x++) {
        tp_arena *a = tp_arena_new(0);
        maker m = {.a = a, .rng = tp_rng_new(seed, x)};
        const char *spec = random_spec(&m);
        job j = {.l = load_text(spec)};
        if (!j.l->spec)
            fail_msg("seed %llu, spec %u is not read: %s", (unsigned long long)seed, x, spec);
        j.k = j.l->spec->kernels[0];
        int64_t *env = TP_NEWN(j.l->arena, int64_t, tp_sym_count(j.k->exprs));
        uint32_t before = t.cases;
        assert_int_equal(tp_try(j.l->arena, prepare, &j), TP_OK);
        for (int n = 0; n < 4; n++) {
            tp_case c = {.kernel = j.k, .env = env, .seed = seed};
            assert_true(draw_sizes(&m.rng, j.k, env));
            one_case(&t, &j, &c);
        }
        specs += t.cases > before;
        unload(j.l);
        tp_arena_free(a);
    }
    print_message("cost: seed %llu, %u random specs ran in %u cases, %u numbers, %u unknown\n",
                  (unsigned long long)seed, specs, t.cases, t.numbers, t.unknown);
    assert_true(specs * 2 > trials && t.unknown * 50 < t.numbers);
}

/* ---- the command ---- */

/* Indices, conditions and sizes that nobody can count one by one. */
static const char WIDE[] =
    "{\"tileproof\": 1, \"name\": \"wide\", \"sizes\": {\"M\": {\"min\": 1, \"max\": 1152921504606846976}, \"N\": "
    "{\"min\": "
    "1, \"max\": 1000000000000000000}}, \"grid\": [{\"axis\": \"i\", \"steps\": \"M\"}, {\"axis\": \"j\", \"steps\": "
    "\"N\"}], "
    "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"M\", \"N\"], \"block_shape\": [1, 1], "
    "\"index_map\": [\"i\", \"(i * j) % N\"]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": "
    "[\"M\", "
    "\"N\"], \"block_shape\": [1, 1], \"index_map\": [\"i\", \"j\"]}], \"kernel\": [\"if i * j > 7:\", \"    o[...] = "
    "exp(x[...])\", \"else:\", \"    o[...] = x[...] + 1\"]}";
static const char BY_DATA[] = "{\"tileproof\": 1, \"name\": \"data\", \"sizes\": {\"M\": {\"min\": 1, \"max\": 64}}, "
                              "\"grid\": [{\"axis\": \"i\", "
                              "\"steps\": \"M\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": "
                              "[\"M\"], \"block_shape\": [1], "
                              "\"index_map\": [\"i\"]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", "
                              "\"shape\": [\"M\"], \"block_shape\": "
                              "[1], \"index_map\": [\"i\"]}], \"kernel\": [\"if max(x[...]) > 0:\", \"    o[...] = "
                              "exp(x[...])\", \"else:\", \"    "
                              "o[...] = x[...]\"], \"cases\": [{\"sizes\": {\"M\": 9}}]}";

static void narrow(tp_str out)
{
    size_t column = 0;
    for (size_t i = 0; i < out.n; i++) {
        column = out.p[i] == '\n' ? 0 : column + ((out.p[i] & 0xc0) != 0x80);
        assert_true(column <= 80);
        assert_false(out.p[i] == '\n' && i && out.p[i - 1] == ' ');
    }
}

static void the_command_says_what_it_counts(void **state)
{
    place *p = *state;
    text(p, "wide.tile.json", WIDE);
    text(p, "data.tile.json", BY_DATA);
    const char *wide = path_in(p, "wide.tile.json"), *data = path_in(p, "data.tile.json");
    const struct {
        const char *args[12];
        int exit;
        const char *says;
    } ROWS[] = {
        {{"cost", "matmul"}, 0, "M * (cdiv(N, 128) if cdiv(K, bk) > 1 else 1) * K * 4"},
        {{"cost", "matmul", "--size", "M=300"}, 2, "give --size N=VALUE --size K=VALUE --size bk=VALUE"},
        {{"cost", "matmul", "--size", "Q=3"}, 2, "`Q` is no size"},
        {{"cost", "matmul", "--size", "M=99999999999999999999"}, 2, "not `99999999999999999999`"},
        {{"cost", "matmul", "--size", "M=0", "--size", "N=1", "--size", "K=1", "--size", "bk=128"},
         2,
         "outside the domain"},
        {{"cost", "matmul", "--dtype", "T=int8"}, 2, "no combination of dtypes"},
        {{"cost", "matmul", "--dtype", "Q=int8"}, 2, "no dtype parameter `Q`"},
        {{"cost", "matmul", "--format", "csv"}, 2, "full and json"},
        {{"cost", "matmul", "softmax_rows"}, 2, "one spec, not 2"},
        {{"cost", "tests/bad/truncated.tile.json"}, 3, "the file may be cut off"},
        {{"cost", wide, "--size", "M=1152921504606846976", "--size", "N=1000000000000000000"}, 0, "beyond 2^63"},
        {{"cost", wide, "--size", "M=1000000000", "--size", "N=1000000000"}, 0, "too much to count"},
        {{"cost", data}, 0, "counted by the machine on the inputs of this case"},
        {{"cost", data, "--size", "M=9"}, 0, "line 1 of the body: it depends on the data"},
        {{"cost", "paged_attention"}, 0, "contents of tables"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        outcome o = run_limited(p->a, NULL, 6144, ROWS[i].args);
        tp_str all = ROWS[i].exit ? o.err : o.out;
        if (o.exit != ROWS[i].exit || !contains(all, ROWS[i].says))
            fail_msg("row %zu: exit %d: %.*s%.*s", i, o.exit, TP_FMT(o.err), TP_FMT(o.out));
        if (!o.exit)
            narrow(o.out);
    }
}

static void json_has_what_the_page_lists(void **state)
{
    place *p = *state;
    outcome o = run_limited(p->a, NULL, 6144,
                            (const char *const[]){"cost", "matmul", "--format", "json", "--dtype", "T=bfloat16", NULL});
    struct json_object *r = record_of(p->a, &o), *k = json_object_array_get_idx(member(r, "kernels"), 0),
                       *c = json_object_array_get_idx(member(k, "cases"), 0), *counts = member(c, "counts"),
                       *model = json_object_array_get_idx(member(c, "model"), 4);
    assert_int_equal(json_object_get_int(member(r, "tileproof_cost")), 1);
    assert_string_equal(string_of(member(k, "dtypes"), "T"), "bfloat16");
    assert_string_equal(string_of(member(member(k, "closed_forms"), "steps"), "exact"),
                        "cdiv(M, 128) * cdiv(N, 128) * cdiv(K, bk)");
    assert_int_equal(json_object_get_int64(member(member(counts, "steps"), "exact")), 12);
    assert_int_equal(json_object_get_int64(member(member(counts, "bytes_in"), "exact")), 396000);
    /* of bfloat16: 200 x 300, 300 x 130 and 200 x 130 */
    assert_int_equal(json_object_get_int64(member(member(c, "unfused_bytes"), "model")), 250000);
    struct json_object *moment = json_object_array_get_idx(member(counts, "vmem_moments"), 0),
                       *buffer = json_object_array_get_idx(member(counts, "vmem_buffers"), 3);
    assert_int_equal(json_object_get_int64(member(member(moment, "bytes"), "exact")),
                     json_object_get_int64(member(member(counts, "vmem_bytes"), "exact")));
    assert_string_equal(string_of(buffer, "name"), "acc");
    assert_int_equal(json_object_get_int64(member(member(buffer, "bytes"), "exact")), 128 * 128 * 4);
    assert_int_equal(json_object_get_int(member(counts, "vmem_peak")), 0);
    assert_string_equal(string_of(model, "target"), "tpu-v5e");
    assert_string_equal(string_of(model, "bound"), "memory");
    assert_true(json_object_get_double(member(model, "pipeline_seconds")) >=
                json_object_get_double(member(model, "roofline_seconds")));
    json_object_put(r);
}

/* One time beside the model: docs/COST.md says how far they are apart. */
static void compare_published(tp_arena *a, struct json_object *doc, struct json_object *one)
{
    const char *args[32] = {"cost", "--format", "json", string_of(doc, "spec")};
    int n = 4;
    json_object_object_foreach (member(one, "sizes"), key, value) {
        args[n++] = "--size";
        args[n++] = tp_printf(a, "%s=%s", key, json_object_get_string(value)).p;
    }
    outcome o = run_limited(a, NULL, 6144, args);
    struct json_object *r = record_of(a, &o), *k = json_object_array_get_idx(member(r, "kernels"), 0),
                       *models = member(json_object_array_get_idx(member(k, "cases"), 0), "model"), *m = NULL;
    for (size_t t = 0; t < json_object_array_length(models); t++)
        if (strcmp(string_of(json_object_array_get_idx(models, t), "target"), string_of(doc, "target")) == 0)
            m = json_object_array_get_idx(models, t);
    double us = json_object_get_double(member(m, "pipeline_seconds")) * 1e6,
           issued = json_object_get_double(member(m, "issued_seconds")) * 1e6,
           said = json_object_get_double(member(one, "model_us")),
           measured = json_object_get_double(member(one, "measured_us"));
    assert_true(us < measured);
    if (us < said * 0.999 || us > said * 1.001)
        fail_msg("%s: the model says %.2f us", json_object_to_json_string(one), us);
    assert_string_equal(string_of(m, "bound"), string_of(one, "bound"));
    struct json_object *share = member(doc, "issued"); /* of what was measured */
    if (measured >= json_object_get_double(member(share, "from_us")) &&
        (issued < json_object_get_double(member(share, "least")) * measured ||
         issued > json_object_get_double(member(share, "most")) * measured))
        fail_msg("%s: with issue %.2f us", json_object_to_json_string(one), issued);
    json_object_put(r);
}

static void published_times_are_above_the_model(void **state)
{
    static const struct {
        const char *path;
        size_t times;
    } FILES[] = {{"tests/cost/published.json", 6}, {"tests/cost/published_attention.json", 4}};
    place *p = *state;
    for (size_t f = 0; f < sizeof FILES / sizeof *FILES; f++) {
        struct json_object *doc = json_object_from_file(FILES[f].path), *times = member(doc, "times");
        assert_true(times && json_object_array_length(times) == FILES[f].times);
        for (size_t i = 0; i < FILES[f].times; i++)
            compare_published(p->a, doc, json_object_array_get_idx(times, i));
        json_object_put(doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gallery_costs_what_the_machine_counts),
        cmocka_unit_test(long_grids_are_drawn_at_their_ends),
        cmocka_unit_test(closed_forms_say_what_counting_says),
        cmocka_unit_test(memory_is_that_of_tp301),
        cmocka_unit_test(memory_at_any_time),
        cmocka_unit_test(moments_of_a_body),
        cmocka_unit_test(random_specs_cost_what_the_machine_counts),
        cmocka_unit_test_setup_teardown(the_command_says_what_it_counts, make_place, drop_place),
        cmocka_unit_test_setup_teardown(published_times_are_above_the_model, make_place, drop_place),
        cmocka_unit_test_setup_teardown(json_has_what_the_page_lists, make_place, drop_place),
    };
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests_name("cost", tests, NULL, NULL);
}
