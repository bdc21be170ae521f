#include "cli/wider.h"

#include <ctype.h>
#include <math.h>

#include "base/rng.h"

enum { MOST_NUMBERS = 32, TRIES = 12, FEW_STEPS = 64, MANY_STEPS = 640, LARGEST = 1 << 16, RUN_PART = 8 };

static const char *const FAMILIES[TP_INPUT_FAMILIES] = {
    [TP_INPUT_NORMAL] = "normal",
    [TP_INPUT_WIDE] = "wide",
    [TP_INPUT_CANCEL] = "cancelling",
    [TP_INPUT_INTEGERS] = "integer",
    [TP_INPUT_SMALL] = "small",
    [TP_INPUT_ASCENDING] = "ascending",
    [TP_INPUT_DESCENDING] = "descending",
    [TP_INPUT_SPIKES] = "spiked",
    [TP_INPUT_TIES] = "tied",
    [TP_INPUT_ZEROS] = "zero",
    [TP_INPUT_CONSTANT] = "constant",
    [TP_INPUT_SIGNS] = "one-signed",
    [TP_INPUT_POWERS] = "power-of-two",
    [TP_INPUT_LARGE] = "large",
    [TP_INPUT_OPPOSITE] = "oppositely signed",
    [TP_INPUT_THRESHOLDS] = "threshold",
    [TP_INPUT_FAR] = "far",
    [TP_INPUT_FAR_OTHERS] = "far",
    [TP_INPUT_FRACTIONS] = "fractional",
};

typedef struct pair {
    tp_ctx *c;
    tp_arena *memory; /* of one run */
    const tp_kernel *k[2];
    tp_rng rng;
    int64_t number[MOST_NUMBERS];
    uint32_t nnumbers, nhints; /* hints: those of the change stand first */
    int64_t work;              /* of both kernels' runs so far */
    const tp_wider_options *o;
    tp_wider *out;
} pair;

/* ---- shapes ---- */

static void note_number(pair *p, int64_t n)
{
    bool known = n < 2 || n > LARGEST || p->nnumbers == MOST_NUMBERS;
    for (uint32_t i = 0; i < p->nnumbers && !known; i++)
        known = p->number[i] == n;
    if (!known)
        p->number[p->nnumbers++] = n;
}

static void note_numbers(pair *p, tp_str text)
{
    for (size_t i = 0; i < text.n;) {
        int64_t n = 0;
        bool part = i > 0 && (isalnum((unsigned char)text.p[i - 1]) || text.p[i - 1] == '.' || text.p[i - 1] == '_');
        size_t from = i;
        while (i < text.n && isdigit((unsigned char)text.p[i]) && n <= LARGEST)
            n = n * 10 + (text.p[i++] - '0');
        if (i > from && !part)
            note_number(p, n);
        i += i == from;
    }
}

/* Numbers of the change first, then those of the spec. */
static void find_numbers(pair *p, tp_str hints)
{
    note_numbers(p, hints);
    p->nhints = p->nnumbers;
    note_numbers(p, p->c->source->text);
}

static int64_t below(pair *p, int64_t n)
{
    return (int64_t)tp_rng_below(&p->rng, (uint64_t)n);
}

static int64_t any_number(pair *p)
{
    return p->nnumbers ? p->number[below(p, p->nnumbers)] : 2;
}

/* A number of the change, if it has some, or its successor: what comes after it. */
static int64_t nearby_number(pair *p)
{
    int64_t n = p->nhints && below(p, 4) ? p->number[below(p, p->nhints)] : any_number(p);
    return n + below(p, 3);
}

/* A number or a product with its neighbours, a few blocks and a rest, or less than ten. */
static int64_t any_extent(pair *p, bool wide)
{
    if (!wide)
        return 1 + below(p, 9);
    int64_t near = below(p, 4) - 1;
    switch (below(p, 5)) {
    case 0: return nearby_number(p) + near;
    case 1: return any_number(p) * (1 + below(p, 5)) + near;
    case 2:
    case 3: return nearby_number(p) * any_number(p) + near;
    default: return 1 + below(p, 4 * any_number(p));
    }
}

static int64_t value_of(pair *p, const tp_size *s, bool wide)
{
    if (s->kind == TP_SIZE_CHOICE)
        return s->choices[below(p, s->nchoices)];
    int64_t least = tp_size_least(s), v = any_extent(p, wide);
    v = v / s->multiple_of * s->multiple_of;
    return v < least ? least : v > s->max ? s->max / s->multiple_of * s->multiple_of : v;
}

/* A size that is not fixed or one of few. */
static uint32_t any_range(pair *p)
{
    const tp_kernel *k = p->k[0];
    uint32_t n = 0, chosen = 0;
    for (uint32_t s = 0; s < k->nsizes; s++)
        if (k->sizes[s].kind == TP_SIZE_RANGE && below(p, ++n) == 0)
            chosen = s;
    return chosen;
}

/* Sizes of which one or two are wide; both kernels', which name them alike. */
static bool shape(pair *p, int64_t *env[2])
{
    const tp_kernel *k = p->k[0];
    uint32_t lead = any_range(p), second = any_range(p);
    tp_str why;
    size_t total = 0;
    for (uint32_t s = 0; s < k->nsizes; s++)
        if (tp_is_open_size(&k->sizes[s]))
            env[0][k->sizes[s].sym] = value_of(p, &k->sizes[s], s == lead || s == second);
    if (!tp_in_domain(k, env[0], &why))
        return false;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        double n = 1;
        if (!tp_operand_dims(k, &k->operands[i], env[0], dims, &why))
            return false;
        for (uint32_t d = 0; d < k->operands[i].rank; d++)
            n *= (double)dims[d];
        total += n > (double)p->o->elements ? p->o->elements : (size_t)n;
    }
    for (uint32_t s = 0; s < k->nsizes; s++)
        if (tp_is_open_size(&k->sizes[s]))
            env[1][p->k[1]->sizes[s].sym] = env[0][k->sizes[s].sym];
    return total <= p->o->elements;
}

/* ---- running ---- */

static tp_status run(pair *p, int which, const int64_t *env, tp_input_family family, uint64_t seed, int64_t most,
                     tp_tensor *arrays)
{
    const tp_kernel *k = p->k[which];
    tp_trap trap;
    tp_str why;
    tp_run_stats stats = {0};
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        if (!tp_operand_dims(k, &k->operands[i], env, dims, &why))
            return TP_E_LIMIT;
        arrays[i] = tp_tensor_new(p->memory, k->operands[i].dtype, k->operands[i].rank, dims);
        tp_spend(p->memory, 2 * (int64_t)arrays[i].n);
        if (i < k->ninputs && tp_dtype_info(arrays[i].dtype)->executable)
            tp_fill_input(k, env, i, &arrays[i], family, 8, seed);
    }
    tp_run_request q = {.kernel = k,
                        .env = env,
                        .arrays = arrays,
                        .seed = seed,
                        .max_steps = most,
                        .max_work = p->o->work / RUN_PART,
                        .garbage = (tp_garbage)(family % (TP_GARBAGE_QUIET + 1))};
    tp_status st = tp_machine_run(p->memory, &q, &trap, &stats);
    p->work += stats.work;
    return st;
}

static void apart(pair *p, const int64_t *env, tp_input_family family, tp_str element)
{
    const tp_kernel *k = p->k[0];
    tp_buf b = {.arena = p->c->arena};
    for (uint32_t s = 0; s < k->nsizes; s++)
        if (tp_is_open_size(&k->sizes[s]))
            tp_buf_printf(&b, "%.*s = %lld, ", TP_FMT(k->sizes[s].name), (long long)env[k->sizes[s].sym]);
    tp_buf_printf(&b, "%s inputs: %.*s", FAMILIES[family], TP_FMT(element));
    p->out->apart = true;
    p->out->where = tp_buf_view(&b);
}

static void compare(pair *p, int64_t *env, tp_input_family family, const tp_tensor *a, const tp_tensor *b)
{
    const tp_kernel *k = p->k[0];
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs && !p->out->apart; i++) {
        size_t size = tp_dtype_size(a[i].dtype);
        for (size_t e = 0; e < a[i].n && !k->operands[i].discard && !p->out->apart; e++) {
            bool same = memcmp((const char *)a[i].data + e * size, (const char *)b[i].data + e * size, size) == 0;
            if (!same && tp_is_compared(k, &k->operands[i], env, &a[i], e) &&
                !(isnan(tp_get_f64(a[i].dtype, a[i].data, e)) && isnan(tp_get_f64(b[i].dtype, b[i].data, e))))
                apart(p, env, family, tp_element_name(p->memory, &k->operands[i], &a[i], e));
        }
    }
}

/* One shape, one family of inputs; false where the first kernel does not run to the end. */
static bool run_both(pair *p, uint32_t number)
{
    tp_input_family family = (tp_input_family)(number % TP_INPUT_FRACTIONS); /* these are for references */
    int64_t *env[2], most = number % 4 == 3 ? MANY_STEPS : FEW_STEPS;
    tp_tensor *arrays[2];
    tp_ctx ctx = {.arena = p->memory, .source = p->c->source};
    for (int w = 0; w < 2; w++) {
        env[w] = TP_NEWN(p->memory, int64_t, tp_sym_count(p->k[w]->exprs) + 1);
        arrays[w] = TP_NEWN(p->memory, tp_tensor, p->k[w]->ninputs + p->k[w]->noutputs);
    }
    if (!shape(p, env))
        return false;
    for (int w = 0; w < 2; w++) {
        tp_case x = {.kernel = p->k[w], .env = env[w], .seed = TP_CAREFUL_SEED + number, .loc = p->k[w]->doc->loc};
        if (!tp_case_tables(&ctx, p->k[w], &x, NULL))
            return false;
    }
    if (run(p, 0, env[0], family, p->o->seed + number, most, arrays[0]) != TP_OK)
        return false;
    tp_status st = run(p, 1, env[1], family, p->o->seed + number, 2 * most, arrays[1]);
    if (st == TP_E_TRAP)
        apart(p, env[0], family, TP_S("a trap"));
    else if (st == TP_OK)
        compare(p, env[0], family, arrays[0], arrays[1]);
    return st == TP_OK || st == TP_E_TRAP;
}

typedef struct attempt {
    pair *p;
    uint32_t number;
    bool ran;
} attempt;

static void try_one(void *arg)
{
    attempt *t = arg;
    t->ran = run_both(t->p, t->number);
}

void tp_compare_wider(tp_ctx *c, const tp_spec *kernel, const tp_spec *other, tp_str hints, const tp_wider_options *o,
                      tp_wider *out)
{
    *out = (tp_wider){0};
    for (uint32_t i = 0; i < kernel->nkernels && i < other->nkernels && !out->apart; i++) {
        pair p = {
            .c = c, .k = {kernel->kernels[i], other->kernels[i]}, .rng = tp_rng_new(o->seed, i), .o = o, .out = out};
        uint32_t ran = 0;
        find_numbers(&p, hints);
        for (uint32_t t = 0; t < o->runs * TRIES && ran < o->runs && p.work < o->work && !out->apart; t++) {
            p.memory = tp_arena_child(c->arena);
            tp_arena_set_limit(p.memory, (size_t)1 << 30);
            attempt x = {&p, ran + 1, false};
            tp_status st = tp_try(p.memory, try_one, &x);
            ran += st == TP_OK && x.ran;
            tp_arena_free(p.memory);
            if (st == TP_E_BUDGET)
                p.work = o->work;
        }
        out->runs += ran;
        out->bounded |= p.work >= o->work;
    }
}
