/* One element on demand (demand/): against the machine and the evaluator of
 * references, element by element; what has no value is said to have none. */
#define _DEFAULT_SOURCE /* scandir */
#include "tests/unit/support.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>

#include "demand/demand.h"
#include "kernels/trial/equiv.h"
#include "kernels/trial/internal.h"
#include "reference/reference.h"
#include "tests/unit/random_vectors.h"

enum { BUDGET = 10000000 };

typedef struct tally {
    unsigned kernels, shapes, elements, references, trapped, told, far, inexact, bounded;
} tally;

typedef struct both {
    loaded *l;
    const tp_kernel *k;
    int64_t *env;
    tp_arena *work;
    int64_t most; /* elements looked at in each output */
    tp_demand_family family;
    const char *name;
    tally *t;
    tp_tensor *arrays;
    tp_planes *meanings;
    bool reals; /* values over the reals with their bounds in place of residues */
    bool failed;
} both;

static tp_domain *domain_for(const both *b)
{
    return b->reals ? tp_rounding_new(b->work)
                    : tp_field_new(b->work, (tp_field_options){.seed = 7, .oracle = 8, .ordered = true});
}

/* Of the arrays, as far as the dtype counts. */
static int64_t farthest(const tp_kernel *k, const int64_t *env, tp_dtype d)
{
    int bits = tp_dtype_info(d)->bits;
    int64_t most = 1, dims[TP_MAX_RANK], room = (int64_t)1 << (bits > 32 ? 31 : bits - 1);
    tp_str why;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        for (uint32_t x = 0; tp_operand_dims(k, &k->operands[i], env, dims, &why) && x < k->operands[i].rank; x++)
            most = dims[x] > most ? dims[x] : most;
    return most < room ? most : room;
}

static bool make_arrays(both *b)
{
    const tp_kernel *k = b->k;
    tp_domain *d = domain_for(b);
    uint32_t n = k->ninputs + k->noutputs;
    b->arrays = TP_NEWN(b->work, tp_tensor, n + 1);
    b->meanings = TP_NEWN(b->work, tp_planes, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        int64_t dims[TP_MAX_RANK];
        tp_str why;
        if (!tp_operand_dims(k, &k->operands[i], b->env, dims, &why))
            return false;
        tp_tensor *t = &b->arrays[i];
        *t = tp_tensor_new(b->work, k->operands[i].dtype, k->operands[i].rank, dims);
        int64_t reach = i < k->ninputs && tp_names_positions(k, i) ? farthest(k, b->env, t->dtype) : 0;
        tp_demand_array given = tp_demand_array_of(t->dtype, k->operands[i].rank, dims, reach);
        if (i < k->ninputs)
            given.values = tp_input_range(k, i, b->env);
        for (size_t e = 0; i < k->ninputs && e < t->n; e++)
            tp_put_f64(t->dtype, t->data, e, tp_demand_input(&given, b->family, 3, tp_array_of(k, i), e));
        if (i < k->ninputs && tp_is_float(t->dtype) && !b->reals) {
            b->meanings[i].plane[0] = tp_alloc_array(b->work, t->n, 8);
            tp_field_fill(d, tp_array_of(k, i), t->n, b->meanings[i].plane[0]);
        }
    }
    return true;
}

static tp_demand *demand_for(const both *b, const tp_program *p, bool reference, bool one_by_one)
{
    tp_demand_options o = {.kernel = b->k,
                           .program = p,
                           .reference = reference,
                           .env = b->env,
                           .domain = domain_for(b),
                           .seed = 3,
                           .family = b->family,
                           .budget = BUDGET,
                           .one_by_one = one_by_one};
    return tp_demand_new(b->work, &o);
}

static bool close(double x, double y, bool reference)
{
    double most = reference ? 1e-9 : 0.02;
    return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= most * fmax(1, fmax(fabs(x), fabs(y)));
}

/* Does the spec read numbers as bits? Then a function that the machine rounds otherwise than the C library is another
 * function from there on. */
static bool reads_bits(const both *b)
{
    return strstr(b->name, "bitcast") != NULL;
}

static void indices(const tp_tensor *t, size_t e, int64_t *at)
{
    for (uint32_t d = t->rank; d-- > 0; e /= (size_t)t->dims[d])
        at[d] = (int64_t)(e % (size_t)t->dims[d]);
}

static void differs(both *b, uint32_t o, size_t e, const char *side, const tp_demand_value *v, double want,
                    uint64_t word)
{
    tp_str shown = tp_printf(b->work, "%.*s", TP_FMT(v->why));
    print_message("%s: element %zu of %.*s by the %s is %.17g (%llx), on demand outcome %d, %.17g (%llx) %s\n", b->name,
                  e, TP_FMT(b->k->operands[b->k->ninputs + o].name), side, want, (unsigned long long)word, v->outcome,
                  v->number, (unsigned long long)v->plane[0], shown.n ? shown.p : "");
    for (uint32_t i = 0; i < b->k->nsizes; i++)
        if (b->k->sizes[i].kind == TP_SIZE_RANGE || b->k->sizes[i].kind == TP_SIZE_CHOICE)
            print_message("  %.*s = %lld\n", TP_FMT(b->k->sizes[i].name), (long long)b->env[b->k->sizes[i].sym]);
    b->failed = true;
}

/* One lane at a time says the same: residues and numbers in every bit; bounds but for how they are rounded up. */
static bool same_one_by_one(both *b, const tp_demand_value *v, const tp_demand_value *w)
{
    double bound[2];
    bool same = v->outcome == w->outcome && v->step == w->step && v->undecided == w->undecided && v->tied == w->tied &&
                v->masked == w->masked;
    if (same && v->outcome == TP_DEMAND_VALUE)
        same = memcmp(&v->number, &w->number, sizeof v->number) == 0 && v->plane[0] == w->plane[0];
    memcpy(&bound[0], &v->plane[1], sizeof *bound);
    memcpy(&bound[1], &w->plane[1], sizeof *bound);
    if (same && v->outcome == TP_DEMAND_VALUE && b->reals)
        same = bound[0] == bound[1] || fabs(bound[0] - bound[1]) <= 1e-12 * fabs(bound[0]);
    return same || v->outcome == TP_DEMAND_TOO_FAR || w->outcome == TP_DEMAND_TOO_FAR;
}

/* Two values over the reals lie as near each other as their bounds say. */
static bool within_bounds(both *b, const tp_demand_value *v, const tp_planes *meaning, size_t e, double number)
{
    double want = number, off = 0, got, bound;
    if (meaning->plane[0]) {
        want = ((const double *)meaning->plane[0])[e];
        off = ((const double *)meaning->plane[1])[e];
    }
    memcpy(&got, &v->plane[0], sizeof got);
    memcpy(&bound, &v->plane[1], sizeof bound);
    b->t->bounded++;
    return v->undecided || !isfinite(off) || !isfinite(bound) || fabs(got - want) <= off + bound || got == want ||
           (isnan(got) && isnan(want));
}

/* Every element (or b->most of them) of every output against what the whole run gave. */
static void compare_side(both *b, const tp_program *p, const tp_tensor *want, const tp_planes *meaning, bool reference)
{
    tp_demand *d = demand_for(b, p, reference, false), *singly = demand_for(b, p, reference, true);
    for (uint32_t o = 0; o < b->k->noutputs && !b->failed; o++) {
        const tp_operand *x = &b->k->operands[b->k->ninputs + o];
        const tp_tensor *t = &want[o];
        size_t most = (size_t)(b->reals ? b->most / 4 + 1 : b->most), step = t->n > most ? t->n / most : 1;
        for (size_t e = 0; e < t->n && !x->discard && !b->failed; e += step) {
            int64_t at[TP_MAX_RANK] = {0};
            indices(t, e, at);
            if (!tp_element_valid(b->k, x, b->env, at))
                continue;
            tp_demand_value v = tp_demand_element(d, o, at), w = tp_demand_element(singly, o, at);
            if (!same_one_by_one(b, &v, &w))
                differs(b, o, e, "lane at a time", &v, w.number, w.plane[0]);
            if (v.undecided || v.tied || v.masked) { /* later ones may lack the mark */
                d = demand_for(b, p, reference, false);
                singly = demand_for(b, p, reference, true);
            }
            if (v.outcome == TP_DEMAND_TOO_FAR) {
                b->t->far++;
                continue;
            }
            double number = tp_get_f64(t->dtype, t->data, e);
            uint64_t word = meaning[o].plane[0] ? ((const uint64_t *)meaning[o].plane[0])[e] : 0;
            bool real = tp_is_float(x->dtype),
                 same = v.outcome == TP_DEMAND_VALUE && close(v.number, number, reference);
            if (same && real && b->reals)
                same = within_bounds(b, &v, &meaning[o], e, number);
            else if (same && real && isfinite(number) && word != TP_FIELD_UNKNOWN && v.plane[0] != TP_FIELD_UNKNOWN &&
                     !reads_bits(b))
                same = (uint32_t)word == (uint32_t)v.plane[0];
            else if (same && !real)
                same = v.number == number;
            if (!same && real && v.outcome == TP_DEMAND_VALUE && isfinite(number) &&
                (b->reals ? within_bounds(b, &v, &meaning[o], e, number)
                          : (uint32_t)word == (uint32_t)v.plane[0] && word != TP_FIELD_UNKNOWN)) {
                b->t->inexact++; /* the same function, computed in another order */
                same = true;
            }
            if (!same)
                differs(b, o, e, reference ? "reference" : "machine", &v, number, word);
            b->t->elements += !reference;
            b->t->references += reference;
        }
    }
}

/* The machine found fault with an element at its copy-out: so does somebody here. */
static void expect_undefined(both *b, const tp_trap *trap)
{
    tp_demand *d = demand_for(b, b->k->body, false, false);
    bool found = false;
    for (uint32_t o = 0; o < b->k->noutputs && !found; o++) {
        const tp_tensor *t = &b->arrays[b->k->ninputs + o];
        for (size_t e = 0; e < t->n && !found; e++) {
            int64_t at[TP_MAX_RANK] = {0};
            indices(t, e, at);
            if (tp_element_valid(b->k, &b->k->operands[b->k->ninputs + o], b->env, at))
                found = tp_demand_element(d, o, at).outcome != TP_DEMAND_VALUE;
        }
    }
    b->t->told += found;
    if (found)
        return;
    print_message("%s: %s %.*s, and every element has a value on demand\n", b->name, trap->rule, TP_FMT(trap->message));
    b->failed = true;
}

static void compare_both(void *arg)
{
    both *b = arg;
    const tp_kernel *k = b->k;
    tp_trap trap;
    tp_str why;
    if (!make_arrays(b))
        return;
    tp_run_request run = {.kernel = k,
                          .env = b->env,
                          .arrays = b->arrays,
                          .max_steps = 200000,
                          .domain = domain_for(b),
                          .meanings = b->meanings};
    tp_status st = tp_machine_run(b->work, &run, &trap, NULL);
    b->t->shapes += !b->reals;
    b->t->trapped += st == TP_E_TRAP;
    if (st == TP_OK)
        compare_side(b, k->body, b->arrays + k->ninputs, b->meanings + k->ninputs, false);
    else if (st == TP_E_TRAP &&
             (strstr(trap.message.p, "at copy-out") || strstr(trap.message.p, "is not written before") ||
              strstr(trap.message.p, "no step writes") || strcmp(trap.rule, "TP405") == 0))
        expect_undefined(b, &trap);
    const tp_program *p = tp_reference_program(b->work, k, &why);
    if (!p || b->failed)
        return;
    tp_tensor *want = TP_NEWN(b->work, tp_tensor, k->noutputs + 1);
    tp_reference_request r = {.kernel = k,
                              .env = b->env,
                              .arrays = b->arrays,
                              .domain = domain_for(b),
                              .meanings = b->meanings,
                              .outputs = want};
    if (k->operands[k->ninputs].alias >= 0) /* the machine wrote to its input */
        return;
    if (tp_reference_run(b->work, &r) == TP_OK)
        compare_side(b, p, want, b->meanings + k->ninputs, true);
}

/* On a stack of its own. */
static void deep(void *arg)
{
    both *b = arg;
    b->work = tp_arena_new((size_t)1 << 30);
    tp_status st = tp_try(b->work, compare_both, b);
    if (st != TP_OK)
        print_message("%s: left with %d\n", b->name, st);
    b->failed |= st != TP_OK && st != TP_E_MEMORY;
    tp_arena_free(b->work);
}

static void compare_kernel(loaded *l, const tp_kernel *k, int64_t *env, const char *name, int64_t most, tally *t)
{
    tp_demand_family family = (tp_demand_family)(t->shapes % TP_DEMAND_FAMILIES);
    for (int reals = 0; reals < 2; reals++) {
        both b = {.l = l, .k = k, .env = env, .name = name, .most = most, .t = t, .family = family, .reals = reals};
        assert_true(tp_with_stack(deep, &b));
        if (b.failed)
            fail_msg("%s, %s: see above", name, reals ? "over the reals" : "residues");
    }
}

typedef struct file_run {
    loaded *l;
    const char *name;
    tally *t;
} file_run;

/* Small blocks in place of the spec's where that is a spec, on some shapes of
 * the box, every element; and the default cases at some elements. */
static void compare_file(void *arg)
{
    file_run *f = arg;
    loaded *l = f->l;
    tp_str blocks;
    for (int how = 0; how < TP_SHRINK_MODES; how++) {
        tp_spec *small = tp_shrunk(&l->ctx, l->spec, (tp_shrink_mode)how, &blocks);
        for (uint32_t i = 0; small && i < small->nkernels; i++) {
            tp_box box = tp_cases_box(&l->ctx, small->kernels[i], 4, 1 << 14);
            for (uint32_t n = 0; n < box.cases.len; n += 1 + box.cases.len / 3)
                compare_kernel(l, small->kernels[i], box.cases.at[n].env, f->name, 400, f->t);
        }
        if (small)
            break;
    }
    tp_cases cases = tp_cases_read(&l->ctx, l->spec, 2);
    for (uint32_t i = 0; i < cases.len; i += 3)
        compare_kernel(l, cases.at[i].kernel, cases.at[i].env, f->name, 5, f->t);
}

static int by_name(const struct dirent **x, const struct dirent **y)
{
    return strcmp((*x)->d_name, (*y)->d_name);
}

static void compare_folder(const char *folder, sample *some, tally *t)
{
    struct dirent **list;
    int n = scandir(folder, &list, NULL, by_name);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        free(list[i]);
        if (!strstr(path, ".tile.json") || !is_taken(some))
            continue;
        loaded *l = load_file(path);
        if (l->spec && l->spec->kernels[0]->body) {
            t->kernels++;
            tp_try(l->arena, compare_file, &(file_run){l, path, t}); /* malformed cases are tested elsewhere */
        }
        unload(l);
    }
    free(list);
}

/* Of every third spec; TEST_EVERY=1: of all (make attention). */
static void like_the_machine(void **state)
{
    (void)state;
    static const char *const FOLDERS[] = {"examples/attention", "examples/elementwise", "examples/matmul",
                                          "examples/reduction", "examples/sequence",    "examples/moe",
                                          "examples/broken",    "tests/semantics",      "tests/equality"};
    tally t = {0};
    sample some = sample_of(3);
    for (size_t i = 0; i < sizeof FOLDERS / sizeof *FOLDERS; i++)
        compare_folder(FOLDERS[i], &some, &t);
    print_sample("specs", &some);
    print_message(
        "demand: %u kernels at %u shapes: %u elements as the machine's, %u as the reference's (%u of them but "
        "for rounding, %u too far), %u within bounds; %u trapped, %u of them told\n",
        t.kernels, t.shapes, t.elements, t.references, t.inexact, t.far, t.bounded, t.trapped, t.told);
    assert_true(t.elements > 10000 / some.every && t.bounded > 10000 / some.every);
}

/* ---- rule 8: old, new, or a hazard ---- */

static void alias_shapes(void *arg)
{
    file_run *f = arg;
    const tp_kernel *k = f->l->spec->kernels[0];
    int64_t *env = TP_NEWN(f->l->arena, int64_t, tp_sym_count(k->exprs) + 1);
    for (int64_t n = 1; n <= 9; n++) {
        env[k->sizes[0].sym] = n;
        compare_kernel(f->l, k, env, f->name, 100, f->t);
    }
}

/* Reads of an array that the kernel writes, some steps behind and ahead, with
 * one to three buffers on either side. */
static void shared_arrays(void **state)
{
    (void)state;
    static const char *const MAPS[][2] = {{"max(i - ", ", 0)"},
                                          {"min(i + ", ", cdiv(n, 2) - 1)"},
                                          {"i // (1 + ", ")"},
                                          {"max(cdiv(n, 2) - 1 - i - ", ", 0)"}};
    tally t = {0};
    for (int which = 0; which < 4 * 5 * 9; which++) {
        int map = which % 4, far = which / 4 % 5, read = 1 + which / 20 % 3, written = 1 + which / 60 % 3;
        char text[1024];
        snprintf(
            text, sizeof text,
            "{\"tileproof\": 1, \"name\": \"a\", \"target\": \"none\", \"sizes\": {\"n\": {\"min\": 1}}, "
            "\"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(n, 2)\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": "
            "\"float32\", \"shape\": [\"n\"], \"block_shape\": [2], \"index_map\": [\"%s%d%s\"], \"buffers\": %d}], "
            "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"n\"], \"block_shape\": [2], "
            "\"index_map\": [\"i\"], \"alias\": \"x\", \"buffers\": %d}], "
            "\"kernel\": [\"o[...] = 2 * x[...] + 1\"], \"reference\": [\"o = x\"]}",
            MAPS[map][0], far, MAPS[map][1], read, written);
        loaded *l = load_text(text);
        if (!l->spec)
            fail_msg("%s: %.*s", text, TP_FMT(l->ctx.findings.at[0].message));
        t.kernels++;
        assert_int_equal(tp_try(l->arena, alias_shapes, &(file_run){l, text, &t}), TP_OK);
        unload(l);
    }
    print_message("demand, shared arrays: %u kernels at %u shapes, %u elements as the machine's; %u trapped, %u told\n",
                  t.kernels, t.shapes, t.elements, t.trapped, t.told);
    assert_true(t.elements > 1000 && t.told > 100 && t.told == t.trapped);
}

/* ---- random kernels ---- */

static void random_shape(void *arg)
{
    file_run *f = arg;
    const tp_kernel *k = f->l->spec->kernels[0];
    int64_t *env = TP_NEWN(f->l->arena, int64_t, tp_sym_count(k->exprs) + 1);
    tp_str why;
    for (int64_t m = 1; m <= 7; m += 2)
        for (int64_t n = 1; n <= 6; n += 2) {
            for (uint32_t i = 0; i < k->nsizes; i++)
                if (k->sizes[i].kind == TP_SIZE_RANGE)
                    env[k->sizes[i].sym] = tp_str_is(k->sizes[i].name, "M") ? m : n;
            if (tp_in_domain(k, env, &why))
                compare_kernel(f->l, k, env, f->name, 1000, f->t);
        }
}

static void random_kernels(void **state)
{
    (void)state;
    const char *seed_text = getenv("TP_SEED"), *count_text = getenv("TP_BODIES");
    uint64_t seed = seed_text ? strtoull(seed_text, NULL, 10) : 20260731;
    int count = count_text ? atoi(count_text) : 400;
    tally t = {0};
    for (int n = 0; n < count; n++) {
        tp_arena *a = tp_arena_new(0);
        maker g = {.a = a, .rng = tp_rng_new(seed, (uint64_t)n)};
        const char *spec = make_spec(&g);
        loaded *l = load_text(spec);
        if (l->spec) {
            t.kernels++;
            if (tp_try(l->arena, random_shape, &(file_run){l, spec, &t}) != TP_OK)
                fail_msg("%s: it did not run", spec);
        }
        unload(l);
        tp_arena_free(a);
    }
    print_message(
        "demand, random kernels (seed %llu): %u at %u shapes, %u elements as the machine's; %u trapped, %u of "
        "them told\n",
        (unsigned long long)seed, t.kernels, t.shapes, t.elements, t.trapped, t.told);
}

/* ---- lanes all at once ---- */

static void lanes_shapes(void *arg)
{
    static const int64_t ROWS[] = {8, 16, 7, 17, 23}, COLUMNS[] = {8, 8, 8, 5, 8};
    file_run *f = arg;
    const tp_kernel *k = f->l->spec->kernels[0];
    int64_t *env = TP_NEWN(f->l->arena, int64_t, tp_sym_count(k->exprs) + 1);
    for (size_t n = 0; n < sizeof ROWS / sizeof *ROWS; n++) {
        for (uint32_t i = 0; i < k->nsizes; i++)
            env[k->sizes[i].sym] = tp_str_is(k->sizes[i].name, "M") ? ROWS[n] : COLUMNS[n];
        compare_kernel(f->l, k, env, f->name, 12, f->t);
    }
}

/* Vectors say what lanes say one by one, and the machine: in residues and over the reals. */
static void random_vectors(void **state)
{
    (void)state;
    const char *seed_text = getenv("TEST_SEED"), *count_text = getenv("TEST_TRIALS");
    uint64_t seed = seed_text ? strtoull(seed_text, NULL, 10) : 20261124;
    int count = count_text ? atoi(count_text) : 400;
    tally t = {0};
    for (int n = 0; n < count; n++) {
        tp_arena *a = tp_arena_new(0);
        maker g = {.a = a, .rng = tp_rng_new(seed, (uint64_t)n)};
        const char *spec = make_lanes_spec(&g);
        loaded *l = load_text(spec);
        if (!l->spec)
            print_message("%.*s\n", TP_FMT(l->ctx.findings.at[0].message));
        if (l->spec) {
            t.kernels++;
            if (tp_try(l->arena, lanes_shapes, &(file_run){l, spec, &t}) != TP_OK)
                fail_msg("%s: it did not run", spec);
        }
        unload(l);
        tp_arena_free(a);
    }
    print_message(
        "demand, vectors (seed %llu): %u kernels at %u shapes, %u elements as one by one and as the machine's; "
        "%u trapped, %u told\n",
        (unsigned long long)seed, t.kernels, t.shapes, t.elements, t.trapped, t.told);
    assert_true(10 * t.kernels > 9 * (unsigned)count && t.elements > 20 * (unsigned)count);
}

/* A number on the way lies between where it begins and where it ends, which is what the end says. */
static void inputs_on_a_way(void **state)
{
    static const tp_dtype TYPES[] = {TP_F32, TP_BF16, TP_I32, TP_U32, TP_I8, TP_BOOL};
    (void)state;
    for (size_t t = 0; t < sizeof TYPES / sizeof *TYPES; t++)
        for (int positions = 0; positions < 2; positions++)
            for (int end = 0; end < TP_DEMAND_ENDS; end++)
                for (uint64_t at = 0; at < 400; at++) {
                    bool real = tp_is_float(TYPES[t]), wide = TYPES[t] == TP_I32 || TYPES[t] == TP_U32;
                    tp_demand_array x = tp_demand_array_of(TYPES[t], 1, (int64_t[]){400}, !real && positions ? 300 : 0);
                    tp_demand_options o = {.family = TP_DEMAND_SMALL, .seed = 9, .end = (tp_demand_end)end};
                    x.longest = 300;
                    double from = tp_demand_input(&x, o.family, o.seed, 1, at);
                    assert_true(tp_demand_on_way(&x, &o, 1, at) == from);
                    o.way = 1;
                    double to = tp_demand_on_way(&x, &o, 1, at), least = fmin(from, to), most = fmax(from, to);
                    if (!(real || wide) || (!real && positions && end != TP_DEMAND_OTHER))
                        assert_true(to == from);
                    else if (end == TP_DEMAND_OTHER)
                        assert_true(real ? fabs(to) <= 1 : to >= 0 && to < 300);
                    else if (end == TP_DEMAND_UP || end == TP_DEMAND_DOWN)
                        assert_true(from == 0 || to == 0 || fabs(to) >= 64 * fabs(from));
                    else if (end == TP_DEMAND_TINY)
                        assert_true(real ? fabs(to) <= fabs(from) / 256 : to == from);
                    else
                        assert_true(to == -1 || to == 0 || to == 1);
                    if (real && end == TP_DEMAND_DOWN)
                        assert_true(to < 0);
                    for (o.way = 0.125; o.way < 1; o.way += 0.125) {
                        double v = tp_demand_on_way(&x, &o, 1, at);
                        assert_true(v >= least && v <= most && (real || v == floor(v)));
                    }
                }
}

/* Elements at even distances, drawn as a row, are those drawn one by one; so are their residues. */
static void inputs_in_rows(void **state)
{
    enum { N = 300 };
    tp_arena *a = tp_arena_new(0);
    tp_domain *field = tp_field_new(a, (tp_field_options){.seed = 7});
    (void)state;
    for (int t = 0; t < TP_DTYPES; t++)
        for (int f = 0; f < TP_DEMAND_FAMILIES; f++)
            for (uint64_t step = 1; step < 1000; step = 7 * step + 3) {
                tp_demand_array x = tp_demand_array_of((tp_dtype)t, 2, (int64_t[]){40, 50}, 0);
                tp_demand_options o = {.family = (tp_demand_family)f, .seed = step};
                double row[N];
                uint64_t words[N];
                if (!tp_dtype_info((tp_dtype)t)->executable)
                    continue;
                tp_demand_inputs(&x, &o, 2, 5, step, N, row);
                tp_field_words(field, 2, 5, step, N, words);
                for (uint64_t i = 0; i < N; i++) {
                    assert_true(row[i] == tp_demand_on_way(&x, &o, 2, 5 + i * step));
                    assert_true(words[i] == tp_field_word(field, 2, 5 + i * step));
                }
            }
    tp_arena_free(a);
}

/* ---- what an element may cost ---- */

typedef struct long_loop {
    loaded *l;
    tp_demand_value v;
} long_loop;

static void ask_long_loop(void *arg)
{
    long_loop *x = arg;
    const tp_kernel *k = x->l->spec->kernels[0];
    int64_t *env = TP_NEWN(x->l->arena, int64_t, tp_sym_count(k->exprs) + 1), at[TP_MAX_RANK] = {0};
    for (uint32_t i = 0; i < k->nsizes; i++)
        env[k->sizes[i].sym] = k->sizes[i].min;
    tp_demand_options o = {.kernel = k,
                           .program = k->body,
                           .env = env,
                           .domain = tp_field_new(x->l->arena, (tp_field_options){.seed = 1}),
                           .budget = BUDGET};
    x->v = tp_demand_element(tp_demand_new(x->l->arena, &o), 0, at);
}

/* What the budget does not reach is not begun; what it begins takes memory, and ends before that is much. */
static void long_loops_cost_what_they_may(void **state)
{
    static const struct {
        const char *turns;
        int64_t work;
        size_t bytes;
    } LOOPS[] = {{"1000000000", 1000, (size_t)1 << 20}, {"9000000", BUDGET, (size_t)512 << 20}};
    (void)state;
    loaded *whole = load_file("tests/hostile/billion_copies.tile.json");
    for (size_t i = 0; i < sizeof LOOPS / sizeof *LOOPS; i++) {
        tp_arena *a = tp_arena_new(0);
        const char *text = tp_cstr(a, whole->source.text), *at = strstr(text, LOOPS[0].turns);
        assert_non_null(at);
        tp_str with = tp_printf(a, "%.*s%s%s", (int)(at - text), text, LOOPS[i].turns, at + strlen(LOOPS[0].turns));
        long_loop x = {.l = load_text(tp_cstr(a, with))};
        assert_non_null(x.l->spec);
        assert_true(tp_with_stack(ask_long_loop, &x));
        assert_int_equal(x.v.outcome, TP_DEMAND_TOO_FAR);
        if (x.v.work > LOOPS[i].work || tp_arena_used(x.l->arena) > LOOPS[i].bytes)
            fail_msg("%s turns: %lld operations, %zu bytes", LOOPS[i].turns, (long long)x.v.work,
                     tp_arena_used(x.l->arena));
        unload(x.l);
        tp_arena_free(a);
    }
    unload(whole);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_in_rows),
        cmocka_unit_test(inputs_on_a_way),
        cmocka_unit_test(like_the_machine),
        cmocka_unit_test(shared_arrays),
        cmocka_unit_test(random_kernels),
        cmocka_unit_test(random_vectors),
        cmocka_unit_test(long_loops_cost_what_they_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
