/* Summaries against execution. A summary says what an output element is, as a
 * term and as a normal form; both are evaluated here, point by point, and must
 * be what the machine computes over the reals (value and bound of E1), on
 * random kernels, on the examples of the semantics and on the gallery. And the
 * proofs of equality: how many kernels of the gallery, and none of a kernel
 * that differs. TEST_SEED and TEST_TRIALS; of kernels and examples of laws a sample, TEST_EVERY=1: all
 * (make attention). */
#define _GNU_SOURCE
#include <glob.h>
#include <math.h>

#include "kernels/trial/equiv.h"
#include "reference/reference.h"
#include "tests/unit/files.h"
#include "tests/unit/random_body.h"
#include "tests/unit/random_loops.h"
#include "tests/unit/term_values.h"

enum { TRIALS = 2000, ELEMENTS = 12, PROVEN = 45 }; /* kv_cache_update among them, where TP405 asks a solver */

/* ---- comparing with the machine ---- */

typedef struct counts {
    unsigned kernels, summarised, rolled, turned, stopped, runs, left;
    int sampled; /* elements of each output */
    uint64_t elements, checked;
} counts;

typedef struct job {
    tp_arena *a;
    const tp_kernel *k;
    const int64_t *env;
    tp_tensor *arrays; /* as the machine left them */
    tp_planes *planes; /* of E1 */
    tp_rng *rng;
    const char *name;
    summary *s;
    counts *n;
} job;

static void one_output(job *j, evaluation *v, uint32_t operand)
{
    const tp_kernel *k = j->k;
    const tp_operand *o = &k->operands[operand];
    tp_expr at[TP_MAX_RANK];
    for (uint32_t d = 0; d < o->rank; d++)
        at[d] = summary_index(j->s, "e", o->shape[d]);
    term t = output_element(v, operand, at);
    static const premises nothing = {.n = 0};
    t = term_decide(j->s, t, &nothing);
    if (term_mentions(j->s, t, T_BEFORE, UINT32_MAX)) { /* what a step before left, of which nothing is known */
        j->n->left++;
        return;
    }
    j->s->strict = true;
    uint32_t normal = sum_of_term(j->s, t);
    j->s->strict = false;
    const tp_tensor *out = &j->arrays[operand];
    for (int i = 0; i < j->n->sampled && out->n; i++) {
        size_t e = tp_rng_below(j->rng, out->n), rest = e;
        point p = {.s = j->s, .env = TP_NEWN(j->a, int64_t, tp_sym_count(k->exprs)), .arrays = j->arrays};
        for (uint32_t s = 0; s < k->nsizes; s++)
            if (k->sizes[s].kind == TP_SIZE_RANGE || k->sizes[s].kind == TP_SIZE_CHOICE)
                p.env[k->sizes[s].sym] = j->env[k->sizes[s].sym];
        for (uint32_t x = 0; x < k->ntables; x++)
            p.env[k->tables[x].sym] = j->env[k->tables[x].sym];
        for (uint32_t d = o->rank; d-- > 0; rest /= (size_t)out->dims[d])
            p.env[tp_expr_get(k->exprs, at[d])->value] = (int64_t)(rest % (size_t)out->dims[d]);
        double real = ((double *)j->planes[operand].plane[0])[e], bound = ((double *)j->planes[operand].plane[1])[e];
        j->n->elements++;
        if (!tp_is_compared(k, o, tp_writable(j->env), out, e) || !(bound <= 1e-3 * (1 + fabs(real))))
            continue;
        double as_term = term_at(&p, t), as_sum = sum_at(&p, normal), room = bound + 1e-7 * (1 + fabs(real));
        if (!(fabs(as_term - real) <= room) && !(isinf(real) && as_term == real)) {
            tp_buf b = {.arena = j->a};
            term_print(j->s, &b, t);
            fail_msg("%s: element %zu is %.17g +- %g, its term %.17g%s: %.*s", j->name, e, real, bound, as_term,
                     p.unknown ? " (without a value)" : "", TP_FMT(tp_buf_view(&b)));
        }
        if (isnan(as_sum)) /* a choice by data, of which the other arm has no value */
            continue;
        if (!(fabs(as_sum - real) <= room) && isfinite(real)) {
            tp_buf b = {.arena = j->a};
            sum_print(j->s, &b, normal);
            fail_msg("%s: element %zu is %.17g +- %g, its normal form %.17g: %.*s", j->name, e, real, bound, as_sum,
                     TP_FMT(tp_buf_view(&b)));
        }
        j->n->checked++;
    }
}

static void summarise(void *arg)
{
    job *j = arg;
    evaluation *v = evaluate_kernel(j->s);
    for (uint32_t i = 0; i < j->k->noutputs; i++)
        if (!j->k->operands[j->k->ninputs + i].discard)
            one_output(j, v, j->k->ninputs + i);
}

/* Runs the kernel at env with E1; when it does not trap, compares. */
static void compare(tp_arena *a, const tp_kernel *k, const int64_t *env, tp_tensor *arrays, const char *name,
                    tp_rng *rng, counts *n)
{
    tp_planes planes[16] = {{{NULL}}};
    tp_run_stats stats = {0};
    tp_trap trap;
    tp_equality out;
    tp_analysis_options o = {.prover = {.no_solver = true}};
    tp_run_request q = {.kernel = k,
                        .env = env,
                        .arrays = arrays,
                        .max_steps = 20000,
                        .domain = tp_rounding_new(a),
                        .meanings = planes};
    n->kernels++;
    if (!k->body || tp_machine_run(a, &q, &trap, &stats) != TP_OK || stats.undecided)
        return;
    n->runs++;
    bool may_roll = true;
    for (int how = 0; how < 3; how++) {
        const turned_loops *turned = how == 2 ? loops_as_axes(a, k, &o, !o.waits_named) : NULL;
        if (how == 2 ? !turned : !may_roll)
            continue;
        job j = {a, k, env, arrays, planes, rng, name, summary_new(a, turned ? turned->k : k, &o, &out), n};
        j.s->rolled = how == 1;
        j.s->turned = turned;
        tp_status st = tp_try(a, summarise, &j);
        summary_end(j.s);
        may_roll = j.s->may_roll;
        n->summarised += st == TP_OK;
        n->stopped += st != TP_OK;
        n->rolled += how == 1 && st == TP_OK;
        n->turned += how == 2 && st == TP_OK;
        if (st != TP_OK && getenv("TEST_REASONS"))
            print_message("%s stopped: %.*s\n", name, TP_FMT(out.reason));
    }
}

static void print_counts(const char *what, const counts *n)
{
    print_message("%s: %u kernels, %u run to the end, of which %u are summarised, %u of them with loops rolled, %u "
                  "with loops as axes; %llu elements, %llu compared\n",
                  what, n->kernels, n->runs, n->summarised, n->rolled, n->turned, (unsigned long long)n->elements,
                  (unsigned long long)n->checked);
}

static void random_arrays(tp_arena *a, const tp_kernel *k, const int64_t *env, uint64_t seed, tp_tensor *arrays)
{
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        tp_str why;
        assert_true(tp_operand_dims(k, &k->operands[i], env, dims, &why));
        arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        tp_fill_random(&arrays[i], seed, tp_array_of(k, i));
    }
}

static counts random_kernels(const char *(*make)(maker *g), uint64_t trials)
{
    uint64_t seed = setting("TEST_SEED", 1);
    counts n = {.sampled = ELEMENTS};
    for (uint64_t t = 0; t < trials; t++) {
        maker g = {.a = tp_arena_new(0), .rng = tp_rng_new(seed, t + 0x73756d)};
        const char *spec = make(&g);
        loaded *l = load_text(spec);
        if (l->spec) {
            const tp_kernel *k = l->spec->kernels[0];
            int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs));
            tp_tensor arrays[16];
            tp_str why;
            for (uint32_t s = 0; s < k->nsizes; s++)
                env[k->sizes[s].sym] =
                    k->sizes[s].min + (int64_t)tp_rng_below(&g.rng, (uint64_t)(k->sizes[s].max - k->sizes[s].min) + 1);
            if (tp_in_domain(k, env, &why)) {
                random_arrays(l->arena, k, env, t, arrays);
                compare(l->arena, k, env, arrays, spec, &g.rng, &n);
            }
        }
        unload(l);
        tp_arena_free(g.a);
    }
    print_message("summaries: seed %llu\n", (unsigned long long)seed);
    return n;
}

static void random_bodies(void **state)
{
    uint64_t trials = setting("TEST_TRIALS", TRIALS);
    counts n = random_kernels(make_spec, trials);
    (void)state;
    print_counts("summaries of random kernels", &n);
    assert_true(n.summarised > trials / 50);
}

static void random_loops(void **state)
{
    uint64_t trials = setting("TEST_TRIALS", TRIALS) / 10;
    counts n = random_kernels(make_loops, trials);
    (void)state;
    print_counts("summaries of random kernels with loops", &n);
    assert_true(n.turned > trials / 20);
}

/* ---- pairs of programs ---- */

/* An expression of the shape of x and y, (M, N). */
typedef struct node {
    enum {
        X,
        Y,
        NUMBER,
        ADD,
        SUB,
        MUL,
        NEG,
        EXP,
        RATIO,
        SUM,
        MAX,
        MASK,
        POSITIVE,
        LEFT,     /* exp of what a mask leaves */
        SHARE,    /* in the sum of its row */
        FAR_LEFT, /* the same two with a finite mask */
        FAR_SHARE,
        LARGER,
        LESSER,
        SIZE,
        CHOSEN,   /* the larger one, by a comparison */
        LOGISTIC, /* and through tanh, and by its sign */
        BY_TANH,
        BY_SIGN,
        BELOW_CHOSEN /* the lesser one */
    } kind;
    int k; /* of NUMBER and of masks */
    const struct node *a, *b;
} node;

/* Some of them say the same, for all M and N. */
static const char *const MASKS[] = {"iota(int32, (M, N), 1) < N - 1",
                                    "iota(int32, (M, N), 1) <= N - 2",
                                    "iota(int32, (M, N), 1) >= 1",
                                    "iota(int32, (M, N), 1) > 0",
                                    "iota(int32, (M, N), 0) == 0",
                                    "iota(int32, (M, N), 0) < 1",
                                    "iota(int32, (M, N), 1) < N",
                                    "iota(int32, (M, N), 0) >= 0",
                                    "x > 0",
                                    "~(x <= 0)"};
static const char *const BODY_MASKS[] = {"x[...] > 0", "~(x[...] <= 0)"};
enum { NMASKS = 10 };

static const char *mask_of(int k, bool body)
{
    return body && k >= 8 ? BODY_MASKS[k - 8] : MASKS[k];
}

static const node *make(maker *g, int kind, int k, const node *a, const node *b)
{
    node *n = TP_NEW(g->a, node);
    *n = (node){.kind = kind, .k = k, .a = a, .b = b};
    return n;
}

/* May it be 0 / 0, so that a comparison of it says nothing? */
static bool may_be_no_number(const node *n)
{
    return n && (n->kind == SHARE || n->kind == FAR_SHARE || may_be_no_number(n->a) || may_be_no_number(n->b));
}

static const node *expression(maker *g, int depth)
{
    int kind = depth ? pick(g, BY_TANH) : pick(g, 3);
    const node *a = kind > NUMBER ? expression(g, depth - 1) : NULL;
    bool two = kind == ADD || kind == SUB || kind == MUL || kind == RATIO || kind == MASK || kind == POSITIVE ||
               kind == LARGER || kind == LESSER || kind == CHOSEN;
    bool masks = kind == MASK || kind == LEFT || kind == SHARE;
    const node *b = two ? expression(g, depth - 1) : NULL;
    if (kind == CHOSEN && (may_be_no_number(a) || may_be_no_number(b)))
        kind = ADD;
    return make(g, kind, masks ? pick(g, NMASKS) : 1 + pick(g, 3), a, b);
}

static const char *text_of(maker *g, const node *n, bool body)
{
    const char *a = n->a ? text_of(g, n->a, body) : "", *b = n->b ? text_of(g, n->b, body) : "";
    switch (n->kind) {
    case X: return body ? "x[...]" : "x";
    case Y: return body ? "y[...]" : "y";
    case NUMBER: return text(g, "full((M, N), %d, float32)", n->k);
    case ADD: return text(g, "(%s + %s)", a, b);
    case SUB: return text(g, "(%s - %s)", a, b);
    case MUL: return text(g, "(%s * %s)", a, b);
    case NEG: return text(g, "(-%s)", a);
    case EXP: return text(g, "exp(%s * 0.25)", a);
    case RATIO: return text(g, "(%s / exp(%s * 0.25))", a, b);
    case SUM: return text(g, "broadcast_to(sum(%s, axis=1, keepdims=True), (M, N))", a);
    case MAX: return text(g, "broadcast_to(max(%s, axis=1, keepdims=True), (M, N))", a);
    case MASK: return text(g, "where(%s, %s, %s)", mask_of(n->k, body), a, b);
    case LEFT: return text(g, "where(%s, exp(%s * 0.25), 0.0)", mask_of(n->k, body), a);
    case FAR_LEFT: return text(g, "exp(where(%s, %s * 0.25, -1e30))", mask_of(n->k, body), a);
    case SHARE: {
        const char *e = text(g, "where(%s, exp(%s * 0.25), 0.0)", mask_of(n->k, body), a);
        return text(g, "(%s / sum(%s, axis=1, keepdims=True))", e, e);
    }
    case FAR_SHARE: {
        const char *w = text(g, "where(%s, %s * 0.25, -1e30)", mask_of(n->k, body), a);
        const char *e = text(g, "exp(%s - max(%s, axis=1, keepdims=True))", w, w);
        return text(g, "(%s / sum(%s, axis=1, keepdims=True))", e, e);
    }
    case POSITIVE: return text(g, "where(%s > 0, %s, %s)", a, b, a);
    case LARGER: return text(g, "maximum(%s, %s)", a, b);
    case LESSER: return text(g, "minimum(%s, %s)", a, b);
    case SIZE: return text(g, "abs(%s)", a);
    case CHOSEN: return text(g, "where(%s %s %s, %s, %s)", a, n->k & 1 ? ">" : ">=", b, a, b);
    case BELOW_CHOSEN: return text(g, "where(%s %s %s, %s, %s)", a, n->k & 1 ? "<" : "<=", b, a, b);
    case LOGISTIC: return text(g, "logistic(%s * 0.25)", a);
    case BY_TANH: return text(g, "(0.5 * tanh(%s * 0.125) + 0.5)", a);
    case BY_SIGN: return text(g, "(where(%s >= 0, 1, exp(-abs(%s) * 0.25)) / (1 + exp(-abs(%s) * 0.25)))", a, a, a);
    }
    return "";
}

/* The same function, written otherwise. */
static const node *rewritten(maker *g, const node *n)
{
    const node *a = n->a ? rewritten(g, n->a) : NULL, *b = n->b ? rewritten(g, n->b) : NULL,
               *zero = make(g, NUMBER, 0, NULL, NULL);
    const node *same = make(g, n->kind, n->k, a, b);
    if (pick(g, 3) == 0)
        return same;
    switch (n->kind) {
    case ADD:
        if (a->kind == ADD)
            return make(g, ADD, 0, a->a, make(g, ADD, 0, a->b, b));
        return make(g, ADD, 0, b, a);
    case SUB: return make(g, ADD, 0, a, make(g, NEG, 0, b, NULL));
    case MUL:
        if (b->kind == ADD || b->kind == SUB)
            return make(g, b->kind, 0, make(g, MUL, 0, a, b->a), make(g, MUL, 0, a, b->b));
        return make(g, MUL, 0, b, a);
    case NEG: return make(g, SUB, 0, zero, a);
    case EXP:
        if (a->kind == ADD)
            return make(g, MUL, 0, make(g, EXP, 0, a->a, NULL), make(g, EXP, 0, a->b, NULL));
        return same;
    case RATIO: return make(g, MUL, 0, a, make(g, EXP, 0, make(g, NEG, 0, b, NULL), NULL));
    case SUM:
        if (a->kind == ADD || a->kind == SUB)
            return make(g, a->kind, 0, make(g, SUM, 0, a->a, NULL), make(g, SUM, 0, a->b, NULL));
        if (pick(g, 2)) { /* in two parts */
            int k = pick(g, NMASKS);
            return make(g, ADD, 0, make(g, SUM, 0, make(g, MASK, k, a, zero), NULL),
                        make(g, SUM, 0, make(g, MASK, k ^ pick(g, 2), zero, a), NULL));
        }
        return same;
    case LEFT: return make(g, FAR_LEFT, n->k ^ pick(g, 2), a, NULL);
    case SHARE: return make(g, FAR_SHARE, n->k ^ pick(g, 2), a, NULL);
    case MASK:
        if (pick(g, 2))
            return make(g, MASK, n->k ^ 1, a, b); /* the other spelling */
        return make(g, ADD, 0, make(g, MASK, n->k, a, zero), make(g, MASK, n->k, zero, b));
    case LARGER:
        if (pick(g, 2) && !may_be_no_number(n))
            return make(g, CHOSEN, pick(g, 2), a, b);
        return make(g, NEG, 0, make(g, LESSER, 0, make(g, NEG, 0, a, NULL), make(g, NEG, 0, b, NULL)), NULL);
    case LESSER:
        if (pick(g, 2) && !may_be_no_number(n))
            return make(g, BELOW_CHOSEN, pick(g, 2), a, b);
        return make(g, SUB, 0, make(g, ADD, 0, a, b), make(g, LARGER, 0, a, b));
    case SIZE:
        if (pick(g, 2))
            return make(g, LARGER, 0, a, make(g, NEG, 0, a, NULL));
        return may_be_no_number(n) ? same : make(g, CHOSEN, pick(g, 2), make(g, NEG, 0, a, NULL), a);
    case CHOSEN: return make(g, pick(g, 2) ? LARGER : CHOSEN, pick(g, 2), b, a);
    case LOGISTIC: return make(g, pick(g, 2) && !may_be_no_number(n) ? BY_SIGN : BY_TANH, 0, a, NULL);
    default: return same;
    }
}

/* One place changed: another function, as a rule. */
static const node *spoilt(maker *g, const node *n, int *left)
{
    if (*left < 0)
        return n;
    if ((*left)-- == 0) {
        switch (n->kind) {
        case X:
        case Y: return make(g, n->kind == X ? Y : X, 0, NULL, NULL);
        case NUMBER: return make(g, NUMBER, n->k + 1, NULL, NULL);
        case MASK:
        case LEFT:
        case SHARE:
        case FAR_LEFT:
        case FAR_SHARE: return make(g, n->kind, (n->k + 2) % NMASKS, n->a, n->b);
        case LARGER:
        case LESSER: return make(g, n->kind == LARGER ? LESSER : LARGER, 0, n->a, n->b);
        case CHOSEN:
        case BELOW_CHOSEN: return make(g, n->kind == CHOSEN ? BELOW_CHOSEN : CHOSEN, n->k, n->a, n->b);
        case LOGISTIC:
        case BY_TANH:
        case BY_SIGN: return make(g, n->kind == LOGISTIC ? BY_TANH : LOGISTIC, 0, make(g, NEG, 0, n->a, NULL), NULL);
        case SIZE:
        case SUM:
        case MAX: return make(g, n->kind == SUM ? MAX : SUM, 0, n->a, NULL);
        case NEG: return n->a;
        case EXP: return make(g, NEG, 0, n->a, NULL);
        default: return make(g, n->kind == ADD ? SUB : ADD, 0, n->a, n->b);
        }
    }
    const node *a = n->a ? spoilt(g, n->a, left) : NULL, *b = n->b ? spoilt(g, n->b, left) : NULL;
    return make(g, n->kind, n->k, a, b);
}

typedef struct pair {
    loaded *l;
    bool proven, different, undecided;
} pair;

static void judge_pair(void *arg)
{
    pair *p = arg;
    const tp_kernel *k = p->l->spec->kernels[0];
    tp_analysis_options o = {.prover = {.no_solver = true}};
    tp_equiv_options run = {.max_memory = (size_t)1 << 30, .max_steps = 1000, .seed = 3};
    tp_equality q;
    tp_equiv e;
    tp_str why;
    o.waits_named = tp_waits_name_copies(p->l->arena, k, &o);
    tp_prove_equality(p->l->arena, k, tp_reference_program(p->l->arena, k, &why), &o, &q);
    p->proven = q.proven;
    tp_cases cases = {0};
    for (int64_t m = 1; m <= 3; m++)
        for (int64_t n = 1; n <= 4; n++) {
            tp_case c = {.kernel = k,
                         .env = TP_NEWN(p->l->arena, int64_t, tp_sym_count(k->exprs)),
                         .loc = k->doc->loc,
                         .numbers = true};
            c.env[k->sizes[0].sym] = m;
            c.env[k->sizes[1].sym] = n;
            tp_push(p->l->arena, cases, c);
        }
    tp_equiv_run(p->l->arena, &cases, &run, &e);
    for (uint32_t i = 0; i < e.cases.len; i++)
        p->different |= tp_equiv_refutes(&e.cases.at[i], q.masks || !q.proven);
    p->undecided = e.equal == 0 && e.different == 0;
}

static void pairs_of_programs(void **state)
{
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS) / 5, correct = 0, shown = 0,
             wrong = 0;
    (void)state;
    for (uint64_t t = 0; t < trials; t++) {
        maker g = {.a = tp_arena_new(0), .rng = tp_rng_new(seed, t + 0x70616972)};
        const node *n = expression(&g, 3);
        int left = pick(&g, 6);
        bool same = t % 2 == 0;
        const node *other = same ? rewritten(&g, rewritten(&g, n)) : spoilt(&g, rewritten(&g, n), &left);
        const char *spec =
            text(&g,
                 "{\"tileproof\": 1, \"name\": \"pair\", \"target\": \"none\", \"sizes\": {\"M\": {\"min\": 1, "
                 "\"max\": 64}, \"N\": {\"min\": 1, \"max\": 64}}, \"inputs\": [{\"name\": \"x\", \"dtype\": "
                 "\"float32\", \"shape\": [\"M\", \"N\"]}, {\"name\": \"y\", \"dtype\": \"float32\", \"shape\": "
                 "[\"M\", \"N\"]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"M\", "
                 "\"N\"]}], \"kernel\": [\"o[...] = %s\"], \"reference\": [\"o = %s\"]}",
                 text_of(&g, n, true), text_of(&g, other, false));
        pair p = {.l = load_text(spec)};
        if (!p.l->spec)
            fail_msg("%s: %.*s", spec, TP_FMT(p.l->ctx.findings.at[0].message));
        assert_int_equal(tp_try(p.l->arena, judge_pair, &p), TP_OK);
        if (p.proven && p.different)
            fail_msg("seed %llu: proven equal, and different: %s", (unsigned long long)seed, spec);
        if (same && p.different)
            fail_msg("seed %llu: a correct rewriting is different: %s", (unsigned long long)seed, spec);
        correct += same;
        shown += same && p.proven;
        wrong += p.different;
        unload(p.l);
        tp_arena_free(g.a);
    }
    print_message("pairs: of %llu programs and their rewritings %llu are proven equal; of %llu that differ none\n",
                  (unsigned long long)correct, (unsigned long long)shown, (unsigned long long)wrong);
    assert_true(shown * 5 > correct * 2 && wrong > trials / 5);
}

/* ---- the gallery ---- */

typedef struct gallery_job {
    loaded *l;
    const char *path;
    counts *n;
    unsigned *proven, *kernels;
    bool broken;
    tp_equality equality;
} gallery_job;

/* Kernels of the gallery that are not proven equal for all sizes. */
static bool is_known_to_be_open(const char *path)
{
    static const char *const OPEN[] = {"/ragged_paged_attention.", "/threefry_dropout.", "/moe_router.",
                                       "/gated_delta_rule."};
    for (size_t i = 0; i < sizeof OPEN / sizeof *OPEN; i++)
        if (strstr(path, OPEN[i]))
            return true;
    return strncmp(path, "examples/", 9) != 0;
}

static void one_of_gallery(void *arg)
{
    gallery_job *g = arg;
    tp_arena *a = g->l->arena;
    const tp_spec *s = g->l->spec;
    size_t nrules;
    tp_analysis_options o = {.only = tp_rules(&nrules)};
    tp_analysis_result r = {0};
    tp_equality q;
    tp_str why;
    o.nonly = nrules;
    const tp_program *reference = tp_reference_program(a, s->kernels[0], &why);
    if (reference) {
        allow_work(g->l);
        o.waits_named = tp_waits_name_copies(a, s->kernels[0], &o);
        tp_prove_equality(a, s->kernels[0], reference, &o, &q);
        if (q.proven) /* else no rule matters */
            tp_analyze(a, s, &o, &r);
        tp_arena_set_budget(a, NULL);
        bool proven = q.proven && !tp_equality_without(&r.findings);
        *g->proven += proven;
        ++*g->kernels;
        g->equality = q;
        assert_int_equal(q.certified, q.obligations);
        if (!proven && !g->broken && !is_known_to_be_open(g->path))
            fail_msg("%s: %.*s", g->path, TP_FMT(q.proven ? TP_S("a rule is not proven") : q.reason));
        if (!proven && !g->broken)
            print_message("equality: %s: %.*s\n", g->path, TP_FMT(q.proven ? TP_S("a rule is not proven") : q.reason));
        if (proven && g->broken)
            print_message("equality: %s is equal, and what is wrong with it is another thing\n", g->path);
    }
    tp_cases cases = tp_cases_read(&g->l->ctx, s, 0);
    for (uint32_t i = 0; i < cases.len && i < 1 && !g->broken; i++) {
        tp_tensor arrays[16];
        tp_rng rng = tp_rng_new(1, i);
        random_arrays(a, cases.at[i].kernel, cases.at[i].env, i, arrays);
        compare(a, cases.at[i].kernel, cases.at[i].env, arrays, g->path, &rng, g->n);
    }
}

static void gallery(void **state)
{
    static const char *const PATTERNS[] = {"examples/[!b]*/*.tile.json", "examples/broken/*.tile.json"};
    (void)state;
    for (int broken = 0; broken < 2; broken++) {
        glob_t found;
        counts n = {.sampled = 2}; /* large folds */
        unsigned proven = 0, kernels = 0;
        sample some = sample_of(broken ? 8 : 2);
        assert_int_equal(glob(PATTERNS[broken], 0, NULL, &found), 0);
        for (size_t i = 0; i < found.gl_pathc; i++) {
            if (!is_taken(&some))
                continue;
            loaded *l = load_file(found.gl_pathv[i]);
            assert_non_null(l->spec);
            gallery_job g = {l, found.gl_pathv[i], &n, &proven, &kernels, broken != 0, {0}};
            assert_int_equal(tp_try(l->arena, one_of_gallery, &g), TP_OK);
            unload(l);
        }
        globfree(&found);
        print_sample(broken ? "broken kernels" : "kernels of the gallery", &some);
        if (!broken)
            print_counts("summaries of the gallery", &n);
        print_message("equality for all sizes: %u of %u %s kernels\n", proven, kernels, broken ? "broken" : "gallery");
        if (!broken && some.every == 1)
            assert_int_equal(proven, PROVEN);
    }
}

/* ---- laws, one by one ---- */

/* tests/equality: "x-test": {"proven": …, "says": a part of what stops the proof, whatever the rules say, "taken": a
 * pair of constants that were taken as equal, or "" where there is none, "casts": were they taken for the identity?,
 * "replayed": the laws of its derivation, which is replayed in full}. */
static void written_examples(void **state)
{
    glob_t found;
    counts n = {.sampled = 2};
    unsigned wrong = 0;
    (void)state;
    sample some = sample_of(4);
    assert_int_equal(glob("tests/equality/*.tile.json", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (!is_taken(&some))
            continue;
        unsigned proven = 0, kernels = 0;
        loaded *l = load_file(found.gl_pathv[i]);
        assert_non_null(l->spec);
        gallery_job g = {l, found.gl_pathv[i], &n, &proven, &kernels, false, {0}};
        assert_int_equal(tp_try(l->arena, one_of_gallery, &g), TP_OK);
        const tp_json *want = tp_json_get(tp_json_get(l->spec->doc, "x-test"), "proven");
        if ((proven > 0) != want->u.boolean)
            wrong++, print_error("%s: %s\n", found.gl_pathv[i], proven ? "proven" : "not proven");
        const tp_json *says = tp_json_get(tp_json_get(l->spec->doc, "x-test"), "says");
        if (says && !strstr(tp_cstr(l->arena, g.equality.reason), tp_cstr(l->arena, says->u.string)))
            fail_msg("%s: \"%.*s\" does not say \"%.*s\"", found.gl_pathv[i], TP_FMT(g.equality.reason),
                     TP_FMT(says->u.string));
        const tp_json *taken = tp_json_get(tp_json_get(l->spec->doc, "x-test"), "taken"),
                      *casts = tp_json_get(tp_json_get(l->spec->doc, "x-test"), "casts"),
                      *replayed = tp_json_get(tp_json_get(l->spec->doc, "x-test"), "replayed");
        bool listed = taken && taken->u.string.n == 0 && g.equality.constants.len == 0;
        for (uint32_t c = 0; taken && c < g.equality.constants.len; c++)
            listed |= tp_str_eq(g.equality.constants.at[c], taken->u.string);
        if ((taken && !listed) || (casts && casts->u.boolean != g.equality.casts))
            fail_msg("%s: %s", found.gl_pathv[i], casts ? "casts" : "constants that were taken as equal");
        const char *trust = tp_cstr(l->arena, tp_equality_trust(l->arena, &g.equality));
        if (replayed && !strstr(trust, tp_printf(l->arena, "(%.*s), ", TP_FMT(replayed->u.string)).p))
            fail_msg("%s: not replayed by %.*s: %s", found.gl_pathv[i], TP_FMT(replayed->u.string), trust);
        unload(l);
    }
    globfree(&found);
    assert_int_equal(wrong, 0);
    print_sample("examples of laws", &some);
    print_counts("summaries of the examples of laws", &n);
}

/* ---- every primitive ---- */

/* The examples of the semantics, on other inputs. */
static void semantics(void **state)
{
    glob_t found;
    counts n = {.sampled = 6};
    (void)state;
    assert_int_equal(glob("tests/semantics/*.tile.json", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        tp_arena *a = tp_arena_new(0);
        loaded *l = load_file(found.gl_pathv[i]);
        const tp_kernel *k = l->spec ? l->spec->kernels[0] : NULL;
        if (k && k->ntables == 0) {
            const tp_json *test = tp_json_get(l->spec->doc, "x-test"),
                          *sizes = test ? tp_json_get(test, "sizes") : NULL;
            int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(k->exprs) + 1);
            tp_tensor arrays[16];
            tp_rng rng = tp_rng_new(1, i);
            for (uint32_t s = 0; s < k->nsizes; s++)
                if (k->sizes[s].kind == TP_SIZE_RANGE || k->sizes[s].kind == TP_SIZE_CHOICE)
                    env[k->sizes[s].sym] = k->sizes[s].min;
            for (uint32_t s = 0; sizes && s < sizes->u.items.n; s++)
                env[tp_size_find(k, sizes->u.items.at[s]->key)->sym] = sizes->u.items.at[s]->u.integer;
            random_arrays(a, k, env, i, arrays);
            compare(a, k, env, arrays, found.gl_pathv[i], &rng, &n);
        }
        unload(l);
        tp_arena_free(a);
    }
    globfree(&found);
    print_counts("summaries of the semantics' examples", &n);
    assert_true(n.summarised > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_bodies),     cmocka_unit_test(random_loops),
                                       cmocka_unit_test(pairs_of_programs), cmocka_unit_test(semantics),
                                       cmocka_unit_test(written_examples),  cmocka_unit_test(gallery)};
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
