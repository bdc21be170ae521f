/* The rounding domain against MPFR, the field domain against correct and wrong
 * algebra. TEST_SEED and TEST_TRIALS (elements) choose the random ones. */
#include <glob.h>
#include <math.h>

#include "base/file.h"
#include "base/rng.h"
#include "domains/residue.h"
#include "kernels/trial/equiv.h"
#include "reference/reference.h"
#include "tests/unit/exact_domain.h"
#include "tests/unit/support.h"

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *s = getenv(name);
    return s && *s ? strtoull(s, NULL, 10) : otherwise;
}

/* ---- rounding: every primitive ---- */

enum { LANES = 64 };

static double magnitude(tp_rng *rng, int spread)
{
    double m = 1 + (double)(tp_rng_next(rng) >> 12) * 0x1p-52;
    return ldexp(tp_rng_below(rng, 2) ? m : -m, (int)tp_rng_below(rng, (uint64_t)(2 * spread + 1)) - spread);
}

/* An argument for which p is defined, mostly. */
static double argument(tp_rng *rng, tp_prim p)
{
    double v = magnitude(rng, tp_rng_below(rng, 8) ? 4 : 40);
    bool positive = p == TP_P_LOG || p == TP_P_LOG2 || p == TP_P_SQRT || p == TP_P_RSQRT || p == TP_P_POW;
    switch (tp_rng_below(rng, 24)) {
    case 0: return 0; /* the reals have one zero */
    case 1: v = trunc(v); break;
    case 2: v = (double)(float)v; break;
    case 3: v = ldexp(v, -1030); break;
    default: break;
    }
    return v == 0 ? 0 : positive ? fabs(v) : v;
}

static double slack(tp_rng *rng, double v)
{
    static const double RELATIVE[] = {0, 0, 0x1p-53, 0x1p-40, 0x1p-20, 0x1p-8, 0.5, 2};
    return fabs(v) * RELATIVE[tp_rng_below(rng, sizeof RELATIVE / sizeof *RELATIVE)];
}

/* A true value within the bound: exactly v + part * b. */
static void true_value(mpfr_ptr r, tp_rng *rng, double v, double b)
{
    double part = tp_rng_below(rng, 4) ? (double)tp_rng_below(rng, 2049) / 1024 - 1 : tp_rng_below(rng, 2) ? 1 : -1;
    mpfr_set_d(r, b, MPFR_RNDN);
    mpfr_mul_d(r, r, part, MPFR_RNDN);
    mpfr_add_d(r, r, v, MPFR_RNDN);
}

typedef struct operand {
    float data[LANES];
    double v[LANES], b[LANES];
    uint64_t exact[LANES];
    tp_lanes lanes;
} operand;

static void make_operand(operand *o, exact_domain *e, tp_rng *rng, tp_prim p)
{
    bool planes = tp_rng_below(rng, 4) != 0;
    o->lanes = (tp_lanes){.dtype = TP_F32, .stored = TP_F32, .n = LANES, .data = o->data};
    for (size_t i = 0; i < LANES; i++) {
        o->v[i] = argument(rng, p);
        o->data[i] = (float)o->v[i];
        o->b[i] = planes ? slack(rng, o->v[i]) : 0;
        if (!planes)
            o->v[i] = (double)(o->data[i] = o->data[i] == 0 ? 0 : o->data[i]);
        o->exact[i] = exact_new(e);
        true_value(exact_at(e, o->exact[i]), rng, o->v[i], o->b[i]);
    }
    if (planes) {
        o->lanes.plane[0] = o->v;
        o->lanes.plane[1] = o->b;
    }
}

static uint64_t one_primitive(tp_prim p, uint32_t nargs, tp_rng *rng, tp_arena *a, uint64_t *decided)
{
    static operand x, y;
    exact_domain e = exact_make();
    tp_domain *d = tp_rounding_new(a);
    float data[LANES];
    uint8_t bits[LANES];
    double v[LANES], b[LANES];
    bool to_bool = tp_prim_info(p)->to_bool;
    int64_t exponent = (int64_t)tp_rng_below(rng, 9) - 3;
    make_operand(&x, &e, rng, p);
    make_operand(&y, &e, rng, p);
    for (size_t i = 0; i < LANES; i++) {
        double r = p == TP_P_INTEGER_POW ? pow((double)x.data[i], (double)exponent)
                                         : tp_meaning_f64(p, (double)x.data[i], (double)y.data[i]);
        data[i] = (float)r;
        bits[i] = r != 0;
    }
    tp_lanes out = {
        .dtype = to_bool ? TP_BOOL : TP_F32, .n = LANES, .data = to_bool ? (void *)bits : data, .plane = {v, b}};
    out.stored = out.dtype;
    const tp_lanes *args[] = {&x.lanes, &y.lanes};
    bool any = d->elementwise(d, p, exponent, &out, args, nargs);
    mpfr_t r;
    mpfr_init2(r, EXACT_BITS);
    for (size_t i = 0; i < LANES; i++) {
        double value = any ? v[i] : to_bool ? bits[i] : (double)data[i], bound = any ? b[i] : 0;
        exact_operation(p, exponent, r, exact_at(&e, x.exact[i]), exact_at(&e, y.exact[i]));
        *decided += bound < HUGE_VAL;
        if (!exact_within(r, value, bound))
            fail_msg("%s(%a +- %a, %a +- %a) = %a +- %a", tp_prim_info(p)->name, x.v[i], x.b[i], y.v[i], y.b[i], value,
                     bound);
    }
    mpfr_clear(r);
    exact_drop(&e);
    return LANES;
}

static void primitives_stay_within_their_bounds(void **state)
{
    static const struct {
        tp_prim p;
        uint32_t nargs;
    } ROWS[] = {
#define UNARY(id, name, operands, ...)                                                                                 \
    {TP_P_##id, TP_OC_##operands == TP_OC_LOGICAL || TP_OC_##operands == TP_OC_INTS ? 0 : 1},
#define BINARY(id, name, operands, ...)                                                                                \
    {TP_P_##id, TP_OC_##operands == TP_OC_LOGICAL || TP_OC_##operands == TP_OC_INTS ? 0 : 2},
#include "spec/prims.def"
        {TP_P_INTEGER_POW, 1},
    };
    uint64_t seed = number_of("TEST_SEED", 1), trials = number_of("TEST_TRIALS", 200000), done = 0, decided = 0;
    tp_rng rng = tp_rng_new(seed, 0x646f6d);
    (void)state;
    print_message("domains: seed %llu\n", (unsigned long long)seed);
    tp_arena *a = tp_arena_new(0);
    while (done < trials) {
        for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
            if (ROWS[i].nargs)
                done += one_primitive(ROWS[i].p, ROWS[i].nargs, &rng, a, &decided);
        tp_arena_clear(a);
    }
    tp_arena_free(a);
    print_message("domains: %llu elements of primitives against MPFR, %llu with a finite bound: 0 outside\n",
                  (unsigned long long)done, (unsigned long long)decided);
    assert_true(decided > done / 2);
}

/* Where a row says that there is a real value, is there one; elsewhere none? */
static void domains_of_rows_are_those_of_their_meaning(void **state)
{
    static const double POINTS[] = {-3, -1.5, -1, -0.75, -0.25, 0, 0.25, 0.75, 1, 1.5, 3};
    enum { N = sizeof POINTS / sizeof *POINTS };
    (void)state;
    for (int p = 0; p < TP_PRIMS; p++) {
        const tp_prim_row *r = tp_prim_info((tp_prim)p);
        bool floats = r->operands == TP_OC_FLOATS || r->operands == TP_OC_NUMBERS;
        for (int i = 0; i < N * N && floats && r->class == TP_CLASS_ELEMENTWISE && r->domain.kind != TP_DOMAIN_PARTIAL;
             i++) {
            double x = POINTS[i / N], v = tp_meaning_f64((tp_prim)p, x, POINTS[i % N]), least = r->domain.least;
            bool everywhere = r->domain.kind == TP_DOMAIN_REALS, pole = r->domain.kind == TP_DOMAIN_ABOVE && x == least;
            bool right = pole ? isinf(v) : everywhere || x >= least ? isfinite(v) : isnan(v);
            if (!right)
                fail_msg("%s at %g, %g is %g: the domain of its row says otherwise", r->name, x, POINTS[i % N], v);
        }
    }
}

/* ---- rounding: folds and dot ---- */

static void check_array(const exact_domain *e, const uint64_t *want, const tp_lanes *out, const float *data, bool any,
                        const char *what)
{
    for (size_t i = 0; i < out->n; i++) {
        double v = any ? ((const double *)out->plane[0])[i] : (double)data[i],
               b = any ? ((const double *)out->plane[1])[i] : 0;
        if (!exact_within(exact_at(e, want[i]), v, b))
            fail_msg("%s: %a +- %a, truly %a", what, v, b, mpfr_get_d(exact_at(e, want[i]), MPFR_RNDN));
    }
}

static uint64_t one_fold(tp_rng *rng, tp_arena *a)
{
    static const tp_prim FOLDS[] = {TP_P_SUM, TP_P_PROD, TP_P_MAX, TP_P_MIN};
    static operand x, y;
    exact_domain e = exact_make();
    tp_domain *d = tp_rounding_new(a), *domains[] = {d, &e.base};
    double v[LANES], b[LANES];
    uint64_t exact[LANES], unused[LANES];
    float data[LANES] = {0}; /* not what a machine computes; a plane does not depend on it */
    size_t base[8], offset[8];
    tp_prim p = FOLDS[tp_rng_below(rng, 4)];
    make_operand(&x, &e, rng, TP_P_ADD);
    make_operand(&y, &e, rng, TP_P_ADD);
    memset(data, 0x55, sizeof data);
    tp_lanes ex = {.dtype = TP_F32, .stored = TP_F32, .n = LANES, .plane = {x.exact}}, ey = ex,
             out = {.dtype = TP_F32, .stored = TP_F32, .n = 8, .data = data, .plane = {v, b}}, want = out;
    ey.plane[0] = y.exact;
    want.plane[0] = exact;
    want.plane[1] = unused;
    bool rows = tp_rng_below(rng, 2);
    for (size_t i = 0; i < 8; i++) {
        base[i] = rows ? 8 * i : i;
        offset[i] = rows ? i : 8 * i;
    }
    tp_groups g = {8, 8, base, offset};
    bool any = d->reduce(d, p, &out, &x.lanes, &g);
    domains[1]->reduce(domains[1], p, &want, &ex, &g);
    check_array(&e, exact, &out, data, any, tp_prim_info(p)->name);
    out.n = want.n = LANES;
    for (size_t i = 0; i < 8; i++) {
        ptrdiff_t step = rows ? 1 : -1;
        size_t start = rows ? 8 * i : 8 * i + 7;
        any = d->scan(d, p, &out, &x.lanes, start, step, 8);
        domains[1]->scan(domains[1], p, &want, &ex, start, step, 8);
    }
    check_array(&e, exact, &out, data, true, "running fold");
    /* dot takes data as double */
    double xd[LANES], yd[LANES];
    for (size_t i = 0; i < LANES; i++) {
        xd[i] = x.lanes.plane[0] ? x.v[i] : (double)x.data[i];
        yd[i] = y.lanes.plane[0] ? y.v[i] : (double)y.data[i];
    }
    tp_lanes lx = x.lanes, ly = y.lanes;
    lx.stored = ly.stored = TP_F64;
    lx.data = xd;
    ly.data = yd;
    tp_dot_shape s = {tp_rng_below(rng, 2) ? 1 : 4, 4, 4, 4};
    out.n = want.n = s.batch * 16;
    lx.n = ly.n = ex.n = ey.n = s.batch * 16;
    any = d->dot(d, s, &out, &lx, &ly);
    domains[1]->dot(domains[1], s, &want, &ex, &ey);
    check_array(&e, exact, &out, data, any, "dot");
    exact_drop(&e);
    return 8 + LANES + out.n;
}

static void folds_stay_within_their_bounds(void **state)
{
    uint64_t trials = number_of("TEST_TRIALS", 100000), done = 0;
    tp_rng rng = tp_rng_new(number_of("TEST_SEED", 1), 0x666f6c);
    (void)state;
    tp_arena *a = tp_arena_new(0);
    while (done < trials) {
        done += one_fold(&rng, a);
        tp_arena_clear(a);
    }
    tp_arena_free(a);
    print_message("domains: %llu elements of folds and products against MPFR: 0 outside\n", (unsigned long long)done);
}

/* ---- rounding: whole kernels ---- */

typedef struct loading {
    loaded *l;
    tp_box box;
    uint32_t least;
} loading;

static void boxes(void *arg)
{
    loading *x = arg;
    x->box = tp_cases_box(&x->l->ctx, x->l->spec->kernels[x->l->spec->nkernels - 1], x->least, 0);
}

/* Kernel or reference on the same inputs in both domains; every element of
 * every output. */
static uint64_t compare_outputs(const tp_kernel *k, tp_planes *rounding, tp_planes *exact, const tp_tensor *shapes,
                                const exact_domain *e, const char *who)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < k->noutputs; i++) {
        uint32_t o = k->ninputs + i;
        if (k->operands[o].discard || !tp_is_float(k->operands[o].dtype))
            continue;
        const double *v = rounding[o].plane[0], *b = rounding[o].plane[1];
        const uint64_t *x = exact[o].plane[0];
        for (size_t j = 0; j < shapes[i].n; j++, n++)
            if (!exact_within(exact_at(e, x[j]), v[j], b[j]))
                fail_msg("%.*s: %s of `%.*s`, element %zu: %a +- %a, truly %a", TP_FMT(k->name), who,
                         TP_FMT(k->operands[o].name), j, v[j], b[j], mpfr_get_d(exact_at(e, x[j]), MPFR_RNDN));
    }
    return n;
}

static uint64_t one_case(const tp_case *c)
{
    const tp_kernel *k = c->kernel;
    tp_arena *a = tp_arena_new(0);
    uint32_t n = k->ninputs + k->noutputs;
    uint64_t done = 0;
    tp_tensor *arrays = TP_NEWN(a, tp_tensor, n), *want = TP_NEWN(a, tp_tensor, k->noutputs);
    exact_domain e = exact_make();
    tp_domain *domains[] = {tp_rounding_new(a), &e.base};
    tp_planes *kernel[2], *reference[2];
    tp_run_stats stats = {0};
    bool undecided = false, trapped = false; /* at no steps, say: that is for others to judge */
    for (uint32_t i = 0; i < n; i++) {
        int64_t dims[TP_MAX_RANK];
        tp_str why;
        assert_true(tp_operand_dims(k, &k->operands[i], c->env, dims, &why));
        arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        tp_fill_random(&arrays[i], c->seed, i);
        if (i < k->ninputs)
            tp_keep_values(k, c->env, i, &arrays[i]);
    }
    for (int d = 0; d < 2; d++) {
        tp_trap trap;
        kernel[d] = TP_NEWN(a, tp_planes, n);
        reference[d] = TP_NEWN(a, tp_planes, n);
        tp_run_request r = {.kernel = k,
                            .env = c->env,
                            .arrays = arrays,
                            .seed = c->seed,
                            .max_steps = 1000000,
                            .domain = domains[d],
                            .meanings = kernel[d]};
        tp_reference_request q = {.kernel = k,
                                  .env = c->env,
                                  .arrays = arrays,
                                  .domain = domains[d],
                                  .meanings = reference[d],
                                  .outputs = want};
        tp_status st = tp_machine_run(a, &r, &trap, &stats);
        trapped |= st == TP_E_TRAP;
        assert_true(st == TP_OK || st == TP_E_TRAP);
        assert_int_equal(tp_reference_run(a, &q), TP_OK);
        undecided |= stats.undecided || q.undecided;
    }
    if (!undecided && !trapped) {
        done += compare_outputs(k, kernel[0], kernel[1], &arrays[k->ninputs], &e, "the kernel's result");
        done += compare_outputs(k, reference[0], reference[1], want, &e, "the reference's result");
    }
    exact_drop(&e);
    tp_arena_free(a);
    return done;
}

static void whole_kernels_stay_within_their_bounds(void **state)
{
    static const char *const FOLDERS[] = {"examples/elementwise", "examples/reduction", "examples/sequence",
                                          "tests/equality",       "examples/matmul",    "examples/attention",
                                          "examples/moe"};
    bool all = number_of("TEST_TRIALS", 0) >= 1000000; /* minutes of MPFR */
    glob_t g;
    uint64_t done = 0;
    uint32_t kernels = 0;
    (void)state;
    for (size_t f = 0; f < (all ? 6 : 4); f++) {
        char pattern[64];
        snprintf(pattern, sizeof pattern, "%s/*.tile.json", FOLDERS[f]);
        assert_int_equal(glob(pattern, 0, NULL, &g), 0);
        for (size_t i = 0; i < g.gl_pathc; i++, kernels++) {
            loading x = {.l = load_file(g.gl_pathv[i]), .least = all ? 3 : 1};
            assert_non_null(x.l->spec);
            assert_int_equal(tp_try(x.l->arena, boxes, &x), TP_OK);
            for (uint32_t c = 0; c < x.box.cases.len; c++)
                done += one_case(&x.box.cases.at[c]);
            unload(x.l);
        }
        globfree(&g);
    }
    print_message("domains: %llu elements of %u whole kernels and their references against MPFR: 0 outside\n",
                  (unsigned long long)done, kernels);
    assert_true(kernels >= 15);
}

/* ---- field: the arithmetic ---- */

/* Words against remainders of integers; edges (0, 1, the largest) among them. */
static void residues_are_remainders(void **state)
{
    enum { N = 64 };
    tp_rng rng = tp_rng_new(number_of("TEST_SEED", 1), 0x726573);
    (void)state;
    for (int t = 0; t < 2000; t++) {
        uint64_t x[N], y[N], sum[N], difference[N], product[N], lower[N], q = 0, p = 0;
        for (size_t i = 0; i < N; i++) {
            uint64_t edge[] = {0, 1, TP_Q - 1, tp_rng_below(&rng, TP_Q)},
                     edge_p[] = {0, 1, TP_P - 1, tp_rng_below(&rng, TP_P)};
            x[i] = tp_word(edge[tp_rng_below(&rng, 4)], edge_p[tp_rng_below(&rng, 4)]);
            y[i] = tp_word(edge[tp_rng_below(&rng, 4)], edge_p[tp_rng_below(&rng, 4)]);
            q += tp_q_of(x[i]);
            p += tp_p_of(x[i]);
        }
        assert_true(tp_residues_sum(N, x) == tp_word(q % TP_Q, p % TP_P));
        tp_residues_add(N, x, y, sum);
        tp_residues_subtract(N, x, y, difference);
        tp_residues_multiply(N, x, y, product);
        tp_residues_multiply_p(N, x, y, lower);
        for (size_t i = 0; i < N; i++) {
            uint64_t xq = tp_q_of(x[i]), xp = tp_p_of(x[i]), yq = tp_q_of(y[i]), yp = tp_p_of(y[i]);
            assert_true(sum[i] == tp_word((xq + yq) % TP_Q, (xp + yp) % TP_P));
            assert_true(difference[i] == tp_word((xq + TP_Q - yq) % TP_Q, (xp + TP_P - yp) % TP_P));
            assert_true(product[i] == tp_word(xq * yq % TP_Q, xp * yp % TP_P));
            assert_true(lower[i] == xp * yp % TP_P);
        }
        uint64_t inverse = tp_residue_inverse(x[0]), one = tp_residue_multiply(x[0], inverse);
        assert_true(one == tp_word(tp_q_of(x[0]) != 0, tp_p_of(x[0]) != 0));
        int64_t whole = (int64_t)tp_rng_below(&rng, (uint64_t)1 << 53) - ((int64_t)1 << 52);
        uint64_t size = (uint64_t)(whole < 0 ? -whole : whole), w = tp_residue_of((double)whole);
        assert_true((whole < 0 ? tp_residue_negative(w) : w) == tp_word(size % TP_Q, size % TP_P));
        w = tp_residue_multiply(tp_residue_of((double)whole / 8), tp_word(8, 8));
        assert_true(w == tp_residue_of((double)whole));
    }
    uint64_t unknown[2] = {TP_FIELD_UNKNOWN, tp_word(1, 1)}, r[2];
    tp_residues_add(2, unknown, unknown, r);
    assert_true(r[0] == TP_FIELD_UNKNOWN && r[1] == tp_word(2, 2));
    assert_true(tp_residues_sum(2, unknown) == TP_FIELD_UNKNOWN);
}

/* The residue of a double is its whole number, halved or doubled one bit at a time; of the largest, the least, and
 * numbers of any exponent. */
static void residues_of_doubles(void **state)
{
    tp_rng rng = tp_rng_new(number_of("TEST_SEED", 1), 0x646f75);
    (void)state;
    for (int t = 0; t < 4000; t++) {
        int64_t whole = (int64_t)tp_rng_below(&rng, (uint64_t)1 << (1 + tp_rng_below(&rng, 53)));
        int shift = (int)tp_rng_below(&rng, 2046) - 1074;
        double v = ldexp((double)whole, shift);
        if (t < 4) {
            whole = (int64_t[]){1, 1, ((int64_t)1 << 53) - 1, ((int64_t)1 << 53) - 1}[t];
            shift = (int[]){-1074, 1023, 971, -1074}[t];
            v = ldexp((double)whole, shift);
        }
        if (!isfinite(v))
            continue;
        uint64_t q = (uint64_t)whole % TP_Q, p = (uint64_t)whole % TP_P;
        for (int i = shift; i < 0; i++) {
            q = (q + (q % 2 ? TP_Q : 0)) / 2;
            p = (p + (p % 2 ? TP_P : 0)) / 2;
        }
        for (int i = 0; i < shift; i++) {
            q = 2 * q % TP_Q;
            p = 2 * p % TP_P;
        }
        assert_true(tp_residue_of(v) == tp_word(q, p));
        assert_true(tp_residue_of(-v) == tp_word(q ? TP_Q - q : 0, p ? TP_P - p : 0));
    }
}

/* ---- field: correct rewritings of random expressions ---- */

typedef struct term term;
struct term {
    enum { VARIABLE, CONSTANT, OPERATION } kind;
    tp_prim p;
    double number; /* of a constant */
    uint32_t variable;
    const term *a, *b;
};

typedef struct algebra {
    tp_arena *arena;
    tp_rng rng;
    tp_domain *d;
    double point[8];
    uint64_t residue[8];
} algebra;

static uint32_t pick(algebra *x, uint32_t n)
{
    return (uint32_t)tp_rng_below(&x->rng, n);
}

static const term *op(algebra *x, tp_prim p, const term *a, const term *b)
{
    term *t = TP_NEW(x->arena, term);
    *t = (term){.kind = OPERATION, .p = p, .a = a, .b = b};
    return t;
}

static const term *constant(algebra *x, double v)
{
    term *t = TP_NEW(x->arena, term);
    *t = (term){.kind = CONSTANT, .number = v};
    return t;
}

static const term *polynomial(algebra *x, int depth)
{
    static const tp_prim OPS[] = {TP_P_ADD, TP_P_SUB, TP_P_MUL, TP_P_ADD};
    if (depth == 0 || pick(x, 5) == 0) {
        term *t = TP_NEW(x->arena, term);
        *t = (term){.kind = pick(x, 4) ? VARIABLE : CONSTANT, .variable = pick(x, 8), .number = 1 + pick(x, 3)};
        return t;
    }
    return op(x, OPS[pick(x, 4)], polynomial(x, depth - 1), polynomial(x, depth - 1));
}

/* Functions only of polynomials: a tower of exponentials is outside the fragment. */
static const term *expression(algebra *x, int depth)
{
    static const tp_prim FUNCTIONS[] = {TP_P_EXP, TP_P_TANH, TP_P_LOGISTIC, TP_P_SILU, TP_P_EXP, TP_P_EXP};
    if (depth == 0 || pick(x, 6) == 0)
        return polynomial(x, 2);
    if (pick(x, 4) == 0)
        return op(x, FUNCTIONS[pick(x, 6)], polynomial(x, 2), NULL);
    tp_prim p = pick(x, 4) == 0 ? TP_P_DIV : pick(x, 2) ? TP_P_ADD : TP_P_MUL;
    return op(x, p, expression(x, depth - 1), expression(x, depth - 1));
}

/* The same function, spelled otherwise at this node. */
static const term *rewritten(algebra *x, const term *t)
{
    const term *a = t->a, *b = t->b, *one = constant(x, 1);
    switch (t->p) {
    case TP_P_ADD:
        if (pick(x, 2) && a->kind == OPERATION && a->p == TP_P_ADD)
            return op(x, TP_P_ADD, a->a, op(x, TP_P_ADD, a->b, b));
        return pick(x, 2) ? op(x, TP_P_ADD, b, a) : op(x, TP_P_SUB, a, op(x, TP_P_NEG, b, NULL));
    case TP_P_SUB: return op(x, TP_P_ADD, a, op(x, TP_P_MUL, constant(x, -1), b));
    case TP_P_MUL:
        if (b->kind == OPERATION && (b->p == TP_P_ADD || b->p == TP_P_SUB))
            return op(x, b->p, op(x, TP_P_MUL, a, b->a), op(x, TP_P_MUL, a, b->b));
        if (a->kind == OPERATION && b->kind == OPERATION && a->p == TP_P_EXP && b->p == TP_P_EXP)
            return op(x, TP_P_EXP, op(x, TP_P_ADD, a->a, b->a), NULL);
        return op(x, TP_P_MUL, b, a);
    case TP_P_DIV:
        if (a->kind == OPERATION && a->p == TP_P_ADD)
            return op(x, TP_P_ADD, op(x, TP_P_DIV, a->a, b), op(x, TP_P_DIV, a->b, b));
        return op(x, TP_P_MUL, a, op(x, TP_P_DIV, one, b));
    case TP_P_EXP:
        if (a->kind == OPERATION && a->p == TP_P_ADD)
            return op(x, TP_P_MUL, op(x, TP_P_EXP, a->a, NULL), op(x, TP_P_EXP, a->b, NULL));
        if (a->kind == OPERATION && a->p == TP_P_SUB)
            return op(x, TP_P_DIV, op(x, TP_P_EXP, a->a, NULL), op(x, TP_P_EXP, a->b, NULL));
        return op(x, TP_P_DIV, one, op(x, TP_P_EXP, op(x, TP_P_NEG, a, NULL), NULL));
    case TP_P_TANH: {
        const term *s = op(x, TP_P_LOGISTIC, op(x, TP_P_ADD, a, a), NULL);
        return op(x, TP_P_SUB, op(x, TP_P_ADD, s, s), one);
    }
    case TP_P_LOGISTIC:
        return op(x, TP_P_DIV, one, op(x, TP_P_ADD, one, op(x, TP_P_EXP, op(x, TP_P_NEG, a, NULL), NULL)));
    case TP_P_SILU: return op(x, TP_P_MUL, op(x, TP_P_LOGISTIC, a, NULL), a);
    default: return t;
    }
}

static const term *rewrite(algebra *x, const term *t)
{
    if (t->kind != OPERATION)
        return t;
    term *r = TP_NEW(x->arena, term);
    *r = *t;
    r->a = rewrite(x, t->a);
    r->b = t->b ? rewrite(x, t->b) : NULL;
    return pick(x, 3) ? r : rewritten(x, r);
}

/* One operation changed: another function, as a rule. */
static const term *spoilt(algebra *x, const term *t, int *left)
{
    if (t->kind != OPERATION || *left < 0)
        return t;
    term *r = TP_NEW(x->arena, term);
    *r = *t;
    if ((*left)-- == 0) {
        r->p = t->p == TP_P_ADD ? TP_P_SUB : t->p == TP_P_MUL ? TP_P_ADD : t->p == TP_P_EXP ? TP_P_LOGISTIC : TP_P_ADD;
        if (!t->b && r->p == TP_P_ADD)
            r->b = constant(x, 1);
        return r;
    }
    r->a = spoilt(x, t->a, left);
    r->b = t->b ? spoilt(x, t->b, left) : NULL;
    return r;
}

typedef struct answer {
    double data;
    uint64_t residue;
} answer;

static answer evaluate(algebra *x, const term *t)
{
    double r;
    uint64_t w;
    if (t->kind == VARIABLE)
        return (answer){x->point[t->variable], x->residue[t->variable]};
    tp_lanes out = {.dtype = TP_F64, .stored = TP_F64, .n = 1, .data = &r, .plane = {&w}};
    if (t->kind == CONSTANT) {
        r = t->number;
        x->d->exact(x->d, &out, out.plane);
        return (answer){r, w};
    }
    answer a = evaluate(x, t->a), b = t->b ? evaluate(x, t->b) : a;
    tp_lanes la = {.dtype = TP_F64, .stored = TP_F64, .n = 1, .data = &a.data, .plane = {&a.residue}}, lb = la;
    lb.data = &b.data;
    lb.plane[0] = &b.residue;
    r = tp_meaning_f64(t->p, a.data, b.data);
    x->d->elementwise(x->d, t->p, 0, &out, (const tp_lanes *const[]){&la, &lb}, t->b ? 2 : 1);
    return (answer){r, w};
}

static void correct_rewritings_agree_and_wrong_ones_do_not(void **state)
{
    uint64_t seed = number_of("TEST_SEED", 1), correct = 0, wrong = 0, seen = 0, trials = 3000;
    (void)state;
    for (uint64_t n = 0; n < trials; n++) {
        algebra x = {.arena = tp_arena_new(0), .rng = tp_rng_new(seed, n)};
        x.d = tp_field_new(x.arena, (tp_field_options){.seed = seed + n});
        tp_field_fill(x.d, 0, 8, x.residue);
        for (int i = 0; i < 8; i++)
            x.point[i] = 0.25 + (double)pick(&x, 100) / 200;
        const term *t = expression(&x, 4), *same = rewrite(&x, rewrite(&x, t));
        int left = (int)pick(&x, 6);
        const term *other = spoilt(&x, t, &left);
        answer want = evaluate(&x, t), got = evaluate(&x, same), bad = evaluate(&x, other);
        bool known = want.residue != TP_FIELD_UNKNOWN && got.residue != TP_FIELD_UNKNOWN && isfinite(want.data);
        if (known && fabs(want.data) < 1e6) {
            if ((uint32_t)want.residue != (uint32_t)got.residue)
                fail_msg("seed %llu, expression %llu: a correct rewriting has another residue (%.17g, %.17g)",
                         (unsigned long long)seed, (unsigned long long)n, want.data, got.data);
            correct++;
            if (left < 0 && isfinite(bad.data) && fabs(bad.data - want.data) > 1e-9 * (1 + fabs(want.data))) {
                wrong++;
                seen += (uint32_t)bad.residue != (uint32_t)want.residue;
            }
        }
        tp_arena_free(x.arena);
    }
    print_message("domains: %llu correct rewritings agree; of %llu wrong ones %llu differ\n",
                  (unsigned long long)correct, (unsigned long long)wrong, (unsigned long long)seen);
    assert_true(correct >= 1000 && wrong >= 500 && seen == wrong);
}

/* ---- E3 on an online softmax ---- */

typedef struct edit {
    const char *from, *to;
    tp_tier tier; /* DIFFERENT: also where the numbers do not show it */
} edit;

static const edit EDITS[] = {
    {"l[...] * decay + sum(p", "l[...] + sum(p", TP_TIER_DIFFERENT},
    {"acc[...] * decay + dot", "acc[...] + dot", TP_TIER_DIFFERENT},
    {"exp(m[...] - top)", "exp(top - m[...])", TP_TIER_DIFFERENT},
    {"decay = exp(m[...] - top)", "decay = exp(m[...] - top) * exp(m[...] - top)", TP_TIER_DIFFERENT},
    {"acc[...] / l[...]", "acc[...] / (l[...] + 1)", TP_TIER_DIFFERENT},
    {"acc[...] / l[...]", "acc[...]", TP_TIER_DIFFERENT},
    {"* 0.08838834764831845", "* 0.0625", TP_TIER_DIFFERENT},
    {"* 0.08838834764831845", "* 0.0884", TP_TIER_DIFFERENT},
    {"p = exp(s - top)", "p = exp2(s - top)", TP_TIER_DIFFERENT},
    {"col <= row", "col < row + 2", TP_TIER_DIFFERENT},
    {"sum(p, axis=1", "max(p, axis=1", TP_TIER_DIFFERENT},
    {"dot(p.astype", "dot((p * p).astype", TP_TIER_DIFFERENT},
    {"    m[...] = top", "    m[...] = m[...]", TP_TIER_DIFFERENT},
    {"j * bk + iota(int32, (bk, 128), 0) < S", "j * bk + iota(int32, (bk, 128), 0) < S - 1", TP_TIER_DIFFERENT},
    /* the same function over the reals */
    {"p = exp(s - top)", "p = exp(s) * exp(0 - top)", TP_TIER_EQUAL},
    {"p = exp(s - top)", "p = exp2((s - top) * 1.4426950408889634)", TP_TIER_EQUAL},
    {"* 0.08838834764831845", "* 0.088388346", TP_TIER_EQUAL},
    {"acc[...] / l[...]", "acc[...] * (1 / l[...])", TP_TIER_EQUAL},
    {"top = maximum(m[...], max(s, axis=1, keepdims=True))", "top = maximum(m[...], max(s, axis=1, keepdims=True)) + 1",
     TP_TIER_EQUAL},
};

static tp_str replaced(tp_arena *a, tp_str text, const char *from, const char *to)
{
    tp_buf b = {.arena = a};
    const char *whole = tp_cstr(a, text), *at = strstr(whole, from);
    if (!at)
        fail_msg("no %s", from);
    tp_buf_add(&b, whole, (size_t)(at - whole));
    tp_buf_c(&b, to);
    tp_buf_c(&b, at + strlen(from));
    return tp_buf_view(&b);
}

static loaded *load_changed(const char *path, const char *from, const char *to)
{
    tp_arena *a = tp_arena_new(0);
    tp_str text, why;
    assert_int_equal(tp_read_file(a, path, TP_JSON_MAX_BYTES, &text, &why), TP_OK);
    if (from)
        text = replaced(a, text, from, to);
    loaded *l = load_text(tp_cstr(a, text));
    tp_arena_free(a);
    assert_non_null(l->spec);
    return l;
}

static const tp_kernel *with_dtype(const loaded *l, const char *dtypes)
{
    for (uint32_t i = 0; i < l->spec->nkernels; i++)
        if (tp_str_is(tp_dtypes_text(l->spec->kernels[i]), dtypes))
            return l->spec->kernels[i];
    fail_msg("no %s", dtypes);
    return NULL;
}

static tp_case_result run_one(loaded *l, const tp_kernel *k, const char *const *names, const int64_t *values,
                              uint32_t n)
{
    tp_case c = {.kernel = k, .numbers = true, .algebra = true, .loc = k->doc->loc};
    tp_equiv e;
    tp_equiv_options o = {.max_memory = (size_t)2 << 30, .max_steps = 1000000};
    c.env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs));
    for (uint32_t i = 0; i < n; i++)
        c.env[tp_size_find(k, tp_str_c(names[i]))->sym] = values[i];
    tp_cases one = {.at = &c, .len = 1};
    tp_equiv_run(l->arena, &one, &o, &e);
    return e.cases.at[0];
}

static void residues_judge_an_online_softmax(void **state)
{
    static const char *const NAMES[] = {"Hk", "G", "S", "bq"};
    static const int64_t SIZES[] = {1, 1, 300, 128};
    unsigned caught = 0, silent = 0;
    (void)state;
    for (size_t i = 0; i < sizeof EDITS / sizeof *EDITS; i++) {
        loaded *l = load_changed("examples/attention/flash_attention.tile.json", EDITS[i].from, EDITS[i].to);
        tp_case_result r = run_one(l, with_dtype(l, "T=float32"), NAMES, SIZES, 4);
        bool differs =
            r.algebra.tier == TP_TIER_DIFFERENT || (r.algebra.worst.n && r.algebra.tier == TP_TIER_INCONCLUSIVE);
        if (EDITS[i].tier == TP_TIER_DIFFERENT ? !differs : r.algebra.tier != TP_TIER_EQUAL)
            fail_msg("%s -> %s: %s %s", EDITS[i].from, EDITS[i].to, tp_tier_name(r.algebra.tier),
                     r.algebra.reason.n ? tp_cstr(l->arena, r.algebra.reason) : "");
        caught += differs;
        silent += !differs;
        unload(l);
    }
    print_message("domains: %u algebra bugs of an online softmax caught, %u correct variants pass\n", caught, silent);
    assert_true(caught >= 10);
}

/* Constants of a kernel beside 0.044715. */
static void residues_judge_constants(void **state)
{
    static const char *const NAMES[] = {"M", "N"}, WRITTEN[] = "0.044714998453855515";
    static const int64_t SIZES[] = {3, 3};
    static const edit CONSTANTS[] = {{WRITTEN, WRITTEN, TP_TIER_EQUAL},
                                     {WRITTEN, "0.044715", TP_TIER_EQUAL},
                                     {WRITTEN, "0.04471499", TP_TIER_DIFFERENT},
                                     {WRITTEN, "0.044715002179145813", TP_TIER_DIFFERENT}};
    (void)state;
    for (size_t i = 0; i < sizeof CONSTANTS / sizeof *CONSTANTS; i++) {
        loaded *l = load_changed("tests/equality/constant_decimal_as_float32.tile.json", WRITTEN, CONSTANTS[i].to);
        tp_case_result r = run_one(l, l->spec->kernels[0], NAMES, SIZES, 2);
        if ((r.algebra.tier == TP_TIER_EQUAL) != (CONSTANTS[i].tier == TP_TIER_EQUAL))
            fail_msg("%s: %s", CONSTANTS[i].to, tp_tier_name(r.algebra.tier));
        unload(l);
    }
}

/* ---- E1: one term of 512 ---- */

static void one_missing_term_is_seen(void **state)
{
    static const char *const NAMES[] = {"M", "N", "K", "bk"};
    static const int64_t SIZES[] = {256, 256, 512, 256};
    (void)state;
    loaded *l = load_changed("examples/matmul/matmul.tile.json", "where(k * bk + iota(int32, (bm, bk), 1) < K, x",
                             "where(k * bk + iota(int32, (bm, bk), 1) != 77, x");
    tp_case_result r = run_one(l, with_dtype(l, "T=bfloat16"), NAMES, SIZES, 4);
    const tp_output_diff *d = &r.outputs.at[0];
    uint64_t close = 0;
    for (uint32_t b = 0; b < 2; b++)
        close += d->ulps[b];
    print_message(
        "domains: one of 512 terms dropped, bfloat16: %llu of %llu elements differ over the reals; %llu are within "
        "half an ULP\n",
        (unsigned long long)d->differing, (unsigned long long)d->compared, (unsigned long long)close);
    assert_true(d->compared == 65536 && d->differing * 100 >= d->compared * 99);
    assert_int_equal(r.algebra.tier, TP_TIER_DIFFERENT);
    unload(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(primitives_stay_within_their_bounds),
        cmocka_unit_test(domains_of_rows_are_those_of_their_meaning),
        cmocka_unit_test(folds_stay_within_their_bounds),
        cmocka_unit_test(whole_kernels_stay_within_their_bounds),
        cmocka_unit_test(residues_are_remainders),
        cmocka_unit_test(residues_of_doubles),
        cmocka_unit_test(correct_rewritings_agree_and_wrong_ones_do_not),
        cmocka_unit_test(residues_judge_an_online_softmax),
        cmocka_unit_test(residues_judge_constants),
        cmocka_unit_test(one_missing_term_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
