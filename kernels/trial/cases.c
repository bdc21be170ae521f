/* Which sizes to execute. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/rng.h"
#include "kernels/trial/equiv.h"
#include "kernels/trial/internal.h"
#include "spec/files.h"
#include "spec/scope.h"
#include "spec/prepare.h"
#include "spec/range.h"
#include "spec/table.h"
#include "spec/facts.h"

bool tp_in_domain(const tp_kernel *k, const int64_t *env, tp_str *why)
{
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *s = &k->sizes[i];
        if (!tp_is_open_size(s))
            continue;
        int64_t v = env[s->sym];
        bool listed = s->kind == TP_SIZE_RANGE;
        for (uint32_t c = 0; c < s->nchoices; c++)
            listed |= s->choices[c] == v;
        if (v < s->min || v > s->max || !listed) {
            *why = tp_printf(k->arena, "%.*s = %lld is outside its declared range", TP_FMT(s->name), (long long)v);
            return false;
        }
        if (s->kind == TP_SIZE_RANGE && v % s->multiple_of != 0) {
            *why = tp_printf(k->arena, "%.*s = %lld is not a multiple of %lld", TP_FMT(s->name), (long long)v,
                             (long long)s->multiple_of);
            return false;
        }
    }
    for (uint32_t i = 0; i < k->nwhere; i++) {
        int64_t holds;
        if (tp_expr_eval(k->exprs, k->where[i].expr, env, &holds) != TP_EVAL_OK || !holds) {
            *why = tp_printf(k->arena, "the fact \"%.*s\" does not hold", TP_FMT(k->where[i].text));
            return false;
        }
    }
    return true;
}

bool tp_in_proven_domain(tp_arena *a, const tp_kernel *k, const int64_t *env)
{
    tp_implicit_facts facts = {0};
    int64_t holds;
    tp_str why;
    tp_implicit_facts_of(a, k, &facts);
    for (uint32_t i = 0; i < facts.len; i++)
        if (tp_expr_eval(k->exprs, facts.at[i].says, env, &holds) != TP_EVAL_OK || !holds)
            return false;
    return tp_in_domain(k, env, &why);
}

int64_t tp_elements_of(const tp_kernel *k, const int64_t *env)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < tp_noperands(k); i++) {
        int64_t dims[TP_MAX_RANK], n = 1;
        tp_str why;
        if (!tp_operand_dims(k, &k->operands[i], env, dims, &why))
            return 0;
        for (uint32_t d = 0; d < k->operands[i].rank; d++)
            n *= dims[d] > 0 ? dims[d] : 1;
        total += n;
    }
    return total;
}

/* ---- "cases" ---- */

static const tp_json *find_dtype(tp_ctx *c, const tp_kernel *k, const tp_json *dtypes)
{
    for (uint32_t i = 0; dtypes && i < dtypes->u.items.n; i++) {
        const tp_json *m = dtypes->u.items.at[i];
        bool known = false, equal = false;
        for (uint32_t p = 0; p < k->ndtypes; p++)
            if (tp_str_eq(k->dtypes[p].name, m->key)) {
                known = true;
                equal = tp_dtype_find(m->u.string) == k->dtypes[p].choice;
            }
        if (!known)
            tp_raise(c, TP_RULE_SPEC_NAME, m->key_loc, NULL, "there is no dtype parameter `%.*s`", TP_FMT(m->key));
        if (!equal)
            return m;
    }
    return NULL;
}

static void read_sizes(tp_ctx *c, const tp_kernel *k, const tp_json *sizes, bool *given, int64_t *env)
{
    for (uint32_t i = 0; sizes && i < sizes->u.items.n; i++) {
        const tp_json *m = sizes->u.items.at[i];
        const tp_size *s = tp_size_find(k, m->key);
        if (!s)
            tp_raise(c, TP_RULE_SPEC_NAME, m->key_loc, NULL, "there is no size `%.*s`", TP_FMT(m->key));
        if (s->kind == TP_SIZE_DERIVED)
            tp_raise(c, TP_RULE_SPEC_VALUE, m->loc, "leave it out", "`%.*s` is derived from other sizes",
                     TP_FMT(m->key));
        if (s->kind == TP_SIZE_FIXED && s->min != m->u.integer)
            tp_raise(c, TP_RULE_SPEC_VALUE, m->loc, "leave it out", "`%.*s` is fixed at %lld", TP_FMT(m->key),
                     (long long)s->min);
        if (s->kind == TP_SIZE_FIXED)
            continue;
        env[s->sym] = m->u.integer;
        given[s - k->sizes] = true;
    }
}

/* ---- arrays from files ---- */

static void read_array(tp_ctx *c, const tp_kernel *k, const tp_case *x, const tp_json *m, tp_tensor *given)
{
    int i = tp_operand_find(k, m->key);
    int64_t dims[TP_MAX_RANK] = {0};
    tp_str why;
    if (i < 0 || (uint32_t)i >= k->ninputs)
        tp_raise(c, TP_RULE_SPEC_NAME, m->key_loc, NULL, "there is no input `%.*s`", TP_FMT(m->key));
    const tp_operand *o = &k->operands[i];
    if (o->array >= 0)
        tp_raise(c, TP_RULE_SPEC_VALUE, m->key_loc, NULL, "the array of `%.*s` is given as `%.*s`", TP_FMT(o->name),
                 TP_FMT(tp_array_name(k, (uint32_t)i)));
    if (tp_tensor_read(c->arena, tp_permitted_file(c, m), o->dtype, &given[i], &why) != TP_OK)
        tp_raise(c, TP_RULE_SPEC_VALUE, m->loc, "paths are relative to the spec", "cannot read `%.*s`: %.*s",
                 TP_FMT(m->u.string), TP_FMT(why));
    tp_tensor want = {.dtype = o->dtype, .rank = tp_global_rank(o)};
    bool fits = tp_operand_dims(k, o, x->env, dims, &why) && given[i].dtype == o->dtype && given[i].rank == want.rank;
    tp_global_dims(o, dims, want.dims);
    for (uint32_t d = 0; fits && d < want.rank; d++)
        fits = given[i].dims[d] == want.dims[d];
    if (!fits) {
        tp_raise(c, TP_RULE_SPEC_VALUE, m->loc, "give the sizes of the case as those of the arrays",
                 "the file holds %.*s, `%.*s` is %.*s here", TP_FMT(tp_tensor_text(c->arena, &given[i])),
                 TP_FMT(o->name), TP_FMT(tp_tensor_text(c->arena, &want)));
    }
    if (!tp_input_holds(c->arena, k, (uint32_t)i, x->env, &given[i], &why))
        tp_raise(c, TP_RULE_SPEC_VALUE, m->loc, "give other elements, or declare wider \"values\"", "%.*s",
                 TP_FMT(why));
}

static void read_arrays(tp_ctx *c, const tp_kernel *k, tp_case *x, const tp_json *inputs)
{
    tp_tensor *tensors = inputs ? TP_NEWN(c->arena, tp_tensor, k->ninputs + 1) : NULL;
    for (uint32_t i = 0; inputs && i < inputs->u.items.n; i++)
        read_array(c, k, x, inputs->u.items.at[i], tensors);
    x->given = tensors;
}

/* ---- tables ---- */

typedef TP_VEC(tp_table_entry) entry_list;

static int64_t entry_at(const tp_table_data *d, const int64_t *index)
{
    int64_t at = 0;
    for (uint32_t i = 0; i < d->rank && i < TP_TABLE_RANK; i++)
        at = at * d->dims[i] + index[i];
    return d->at[at];
}

static tp_str entry_text(tp_arena *a, tp_str table, uint32_t rank, const int64_t *index)
{
    tp_buf b = {.arena = a};
    tp_buf_str(&b, table);
    for (uint32_t i = 0; i < rank; i++)
        tp_buf_printf(&b, "%s%lld", i ? ", " : "[", (long long)index[i]);
    tp_buf_c(&b, rank ? "]" : "");
    return tp_buf_view(&b);
}

/* Nested lists, as deep as the table has dimensions. */
static void read_entries(tp_ctx *c, const tp_kernel *k, const tp_table_data *d, uint32_t table, const tp_json *v,
                         uint32_t dim, int64_t *index, entry_list *out)
{
    const tp_table *t = &k->tables[table];
    if (dim < d->rank && dim < TP_TABLE_RANK) {
        tp_expect_type(c, v, TP_J_ARRAY, "a dimension of a table");
        if (v->u.items.n != d->dims[dim])
            tp_raise(c, TP_RULE_SPEC_VALUE, v->loc, NULL,
                     "%u entr%s in dimension %u of a table; at these sizes it has %lld", v->u.items.n,
                     v->u.items.n == 1 ? "y" : "ies", dim, (long long)d->dims[dim]);
        for (uint32_t i = 0; i < v->u.items.n; i++) {
            index[dim] = i;
            read_entries(c, k, d, table, v->u.items.at[i], dim + 1, index, out);
        }
        return;
    }
    if (v->type != TP_J_BOOL)
        tp_expect_type(c, v, TP_J_INT, "an entry of a table");
    tp_table_entry e = {.table = table, .value = v->type == TP_J_BOOL ? v->u.boolean : v->u.integer};
    if (t->contents && entry_at(d, index) != e.value)
        tp_raise(c, TP_RULE_SPEC_VALUE, v->loc, "leave the table out of the case, or its \"contents\" out of the spec",
                 "%.*s is %lld here; the spec fixes it at %lld", TP_FMT(entry_text(c->arena, t->name, d->rank, index)),
                 (long long)e.value, (long long)entry_at(d, index));
    memcpy(e.index, index, sizeof e.index);
    tp_push(c->arena, *out, e);
}

uint64_t tp_case_table_seed(const tp_case *x)
{
    return x->seed + 1;
}

bool tp_tables_of_seed(tp_arena *a, const tp_kernel *k, int64_t *env, const tp_table_entry *fixed, uint32_t nfixed,
                       uint64_t seed)
{
    int64_t work = 200000; /* most that are found at all take a third of it */
    return tp_tables_find(a, k, env, fixed, nfixed, seed, NULL) ||
           ((seed & TP_CAREFUL_SEED) && tp_tables_search_carefully(a, k, env, fixed, nfixed, seed, &work));
}

/* All contracts hold, and yet these entries were not reached. */
static tp_str why_not_found(const tp_kernel *k, const entry_list *given)
{
    bool prepared = false;
    for (uint32_t i = 0; i < given->len; i++)
        prepared |= k->tables[given->at[i].table].prepared;
    return prepared ? TP_S("no inputs of \"prepare\" were found of which it computes these entries")
                    : TP_S("no contents of the other tables were found with which the contracts hold");
}

bool tp_case_tables(tp_ctx *c, const tp_kernel *k, tp_case *x, const tp_json *given)
{
    entry_list fixed = {0};
    tp_str why = {NULL, 0};
    if (!k->ntables)
        return true;
    if (!tp_tables_new(c->arena, k, x->env, &why))
        tp_raise(c, TP_RULE_SPEC_VALUE, x->loc, NULL, "%.*s", TP_FMT(why));
    if (!given && !tp_prepare_keeps(c->arena, k, x->env, tp_case_table_seed(x), &why)) {
        tp_str at = tp_tables_text(c->arena, k, x->env);
        tp_raise(c, TP_RULE_SPEC_VALUE, tp_json_get(k->doc, "prepare")->loc,
                 "mend it; or refuse such inputs: check(condition, \"text\") in the program, \"values\", contracts",
                 "%.*s%s%.*s", TP_FMT(why), at.n && at.n < 400 ? ", as of " : "", at.n < 400 ? (int)at.n : 0, at.p);
    }
    for (uint32_t i = 0; given && i < given->u.items.n; i++) {
        const tp_json *m = given->u.items.at[i];
        int table = tp_table_find(k, m->key);
        int64_t index[TP_TABLE_RANK] = {0};
        if (table < 0)
            tp_raise(c, TP_RULE_SPEC_NAME, m->key_loc, NULL, "there is no table `%.*s`", TP_FMT(m->key));
        read_entries(c, k, tp_bound_table(x->env, k->tables[table].sym), (uint32_t)table, m, 0, index, &fixed);
        x->tables = true;
    }
    if (tp_tables_of_seed(c->arena, k, x->env, fixed.at, fixed.len, tp_case_table_seed(x)))
        return true;
    int64_t operations = 0;
    if (tp_prepare(c->arena, k, x->env, &operations, &why) == TP_PREPARED && tp_tables_hold(c->arena, k, x->env, &why))
        why = why_not_found(k, &fixed);
    if (given)
        tp_raise(c, TP_RULE_SPEC_VALUE, given->loc, "contracts hold for the tables of every case",
                 "these tables cannot be completed: %.*s", TP_FMT(why));
    return false;
}

/* What is picked for a spec, kernel by kernel. */
typedef struct picking {
    tp_ctx *c;
    const tp_spec *spec;
    tp_cases *out;
    tp_picker *picker;
    tp_coverage **coverage; /* by kernel */
    uint32_t turn;          /* kernels take turns in what is added */
} picking;

/* One of the kernels at these sizes; `env`: NULL when they are picked here. */
static void add_case(picking *p, uint32_t kernel, const tp_json *v, uint32_t number, const int64_t *env)
{
    tp_ctx *c = p->c;
    tp_cases *out = p->out;
    const tp_kernel *k = p->spec->kernels[kernel];
    tp_case x = {
        .kernel = k, .loc = v ? v->loc : k->doc->loc, .listed = v ? number + 1 : 0, .coverage = p->coverage[kernel]};
    const tp_json *seed = v ? tp_json_get(v, "seed") : NULL;
    bool *given = TP_NEWN(c->arena, bool, k->nsizes);
    tp_str why = {NULL, 0};
    x.env = TP_NEWN(c->arena, int64_t, tp_sym_count(k->exprs));
    x.seed = seed ? (uint64_t)seed->u.integer : number;
    if (v)
        read_sizes(c, k, tp_json_get(v, "sizes"), given, x.env);
    for (uint32_t i = 0; i < k->nsizes; i++)
        x.generated |= !given[i] && tp_is_open_size(&k->sizes[i]);
    for (uint32_t i = 0; env && i < k->nsizes; i++)
        if (tp_is_open_size(&k->sizes[i]))
            x.env[k->sizes[i].sym] = env[p->spec->kernels[0]->sizes[i].sym];
    tp_rng rng = tp_rng_new(x.seed, 0x73697a65);
    if (x.generated && !env && !tp_pick(p->picker, k, given, &rng, v ? 0 : number, x.env)) {
        if (v)
            tp_raise(c, TP_RULE_SPEC_VALUE, v->loc, "give all sizes",
                     "no small sizes were found that complete this case");
        return;
    }
    if (!x.generated && !tp_in_domain(k, x.env, &why))
        tp_raise(c, TP_RULE_SPEC_VALUE, x.loc, "a case lies inside the declared domain",
                 "this case is outside the domain: %.*s", TP_FMT(why));
    if (!tp_case_tables(c, k, &x, v ? tp_json_get(v, "tables") : NULL)) {
        if (v)
            tp_raise(c, TP_RULE_SPEC_VALUE, v->loc, "give \"tables\" in the case",
                     "no table contents were found that satisfy the contracts");
        return;
    }
    read_arrays(c, k, &x, v ? tp_json_get(v, "inputs") : NULL);
    x.numbers = true;
    x.algebra = x.bits = number == 0 && !env && !x.given; /* the dear ones once for every dtype combination */
    if (x.algebra)
        x.families = TP_INPUT_BIT(TP_INPUT_WIDE) | TP_INPUT_BIT(TP_INPUT_CANCEL);
    for (uint32_t i = 0; i < out->len && !k->ntables; i++)
        if (out->at[i].kernel == k && !v && memcmp(out->at[i].env, x.env, k->nsyms * sizeof *x.env) == 0)
            return; /* the same sizes again */
    tp_push(c->arena, *out, x);
    tp_picker_note(p->picker, k, x.env);
}

/* ---- which inputs on which case ---- */

/* Axes that are walked in order and have no second step, over which nothing is carried, of those from `first` on. An
 * axis of which a table says the number of steps is none of them. */
static uint32_t count_single_steps(const tp_case *x, uint32_t first)
{
    const tp_kernel *k = x->kernel;
    uint32_t single = 0;
    int64_t n;
    for (uint32_t i = first; i < k->naxes; i++)
        single += !k->axes[i].parallel && tp_expr_eval(k->exprs, k->axes[i].steps, x->env, &n) == TP_EVAL_OK && n < 2;
    return single;
}

/* Is something carried over every axis that is walked in order? */
static bool carries(const tp_case *x)
{
    return !count_single_steps(x, 0);
}

/* Elements moved by what may always run once more. */
static const double CHEAP = 1 << 17;

/* Is a the better case for the placed families? Something is carried from step
 * to step; then the largest of the cheap ones, else the least dear. */
static bool tells_more(const tp_case *a, double cost, const tp_case *b, double other)
{
    if (carries(a) != carries(b))
        return carries(a);
    if ((cost <= CHEAP) != (other <= CHEAP))
        return cost <= CHEAP;
    return cost <= CHEAP ? cost > other : cost < other;
}

static bool takes_largest(const tp_statement *s, void *unused)
{
    (void)unused;
    return s->kind == TP_COMPUTE && (s->inst->prim == TP_P_MAX || s->inst->prim == TP_P_ARGMAX);
}

static bool takes_smallest(const tp_statement *s, void *unused)
{
    (void)unused;
    return s->kind == TP_COMPUTE && (s->inst->prim == TP_P_MIN || s->inst->prim == TP_P_ARGMIN);
}

/* Of a maximum over many steps few inputs tell what the last one does: those
 * whose largest elements lie there. */
static uint32_t extremes_in_the_last_step(const tp_case *x)
{
    const tp_program *body = x->kernel->body;
    uint32_t axes = x->kernel->naxes;
    if (!body || count_single_steps(x, axes ? axes - 1 : 0)) /* over the fastest axis: others may have one step */
        return 0;
    return tp_region_any(&body->statements, takes_largest, NULL)    ? TP_INPUT_BIT(TP_INPUT_ASCENDING)
           : tp_region_any(&body->statements, takes_smallest, NULL) ? TP_INPUT_BIT(TP_INPUT_DESCENDING)
                                                                    : 0;
}

/* All of the placed families run on one case of each dtype combination, or,
 * where that is dear, each on one combination of the spec; another one on each
 * of the other cheap cases, and of most cases the order in which a maximum moves
 * in every step. */
static void spread_families(const tp_spec *s, tp_cases *cases)
{
    enum { THRESHOLDS_EVERY = 4 };
    for (uint32_t n = 0; n < s->nkernels; n++) {
        tp_case *best = NULL;
        double least = 0;
        uint32_t far =
            tp_has_exponentials(s->kernels[n]) ? TP_INPUT_BIT(TP_INPUT_FAR) | TP_INPUT_BIT(TP_INPUT_FAR_OTHERS) : 0;
        uint32_t thresholds = tp_has_thresholds(s->kernels[n]) ? TP_INPUT_BIT(TP_INPUT_THRESHOLDS) : 0;
        for (uint32_t i = 0; i < cases->len; i++) {
            tp_case *x = &cases->at[i];
            if (x->kernel != s->kernels[n] || x->given)
                continue;
            double cost = tp_effort_of(x->kernel, x->env);
            if (cost <= CHEAP)
                x->families |= TP_INPUT_BIT(TP_INPUT_FIRST_PLACED + i % TP_INPUT_PLACED) |
                               (i % THRESHOLDS_EVERY == 0 ? thresholds : 0);
            if (cost <= 8 * CHEAP)
                x->families |= extremes_in_the_last_step(x);
            if (best && !tells_more(x, cost, best, least))
                continue;
            best = x;
            least = cost;
        }
        if (best && least <= CHEAP) /* the first case may have rows of one element */
            best->families |= TP_INPUT_BIT(TP_INPUT_WIDE);
        if (best)
            best->families |= thresholds | (least <= CHEAP || n == 0 ? far : 0);
        for (uint32_t f = 0; best && f < TP_INPUT_PLACED; f++)
            if (least <= CHEAP || f % s->nkernels == n)
                best->families |= TP_INPUT_BIT(TP_INPUT_FIRST_PLACED + f);
    }
}

enum { ONE_SIGN = TP_INPUT_BIT(TP_INPUT_SIGNS) | TP_INPUT_BIT(TP_INPUT_OPPOSITE) };

/* Long rows of one sign: what counts or adds in a narrow type leaves it there. On the cheapest such case of each dtype
 * combination. */
static void add_signs_of_long_rows(const tp_spec *s, tp_cases *cases)
{
    for (uint32_t n = 0; n < s->nkernels; n++) {
        tp_case *best = NULL;
        double least = 8 * CHEAP;
        for (uint32_t i = 0; i < cases->len; i++) {
            tp_case *x = &cases->at[i];
            if (x->kernel != s->kernels[n] || x->given || !tp_large_here(x->kernel, x->env) ||
                tp_effort_of(x->kernel, x->env) > least)
                continue;
            best = x;
            least = tp_effort_of(x->kernel, x->env);
        }
        if (best)
            best->families |= ONE_SIGN;
    }
}

/* Decisions are looked at on one case of each dtype combination, that with most elements of those that cost little. */
static void mark_boundaries(const tp_spec *s, tp_cases *cases)
{
    static const double LITTLE = 1 << 14;
    for (uint32_t n = 0; n < s->nkernels; n++) {
        tp_case *best = NULL;
        double least = HUGE_VAL;
        for (uint32_t i = 0; i < cases->len; i++)
            if (cases->at[i].kernel == s->kernels[n] && !cases->at[i].given)
                least = fmin(least, tp_effort_of(s->kernels[n], cases->at[i].env));
        for (uint32_t i = 0; i < cases->len; i++) {
            tp_case *x = &cases->at[i];
            if (x->kernel == s->kernels[n] && !x->given && tp_effort_of(x->kernel, x->env) <= fmax(LITTLE, 2 * least) &&
                (!best || tp_case_elements(x) > tp_case_elements(best)))
                best = x;
        }
        if (best)
            best->boundaries = true;
    }
}

/* A tp_take_case: the kernels of the spec take turns. */
static bool take(void *ctx, const int64_t *env, uint64_t seed)
{
    picking *p = ctx;
    uint32_t before = p->out->len, turn = p->turn++;
    add_case(p, turn % p->spec->nkernels, NULL, seed ? (uint32_t)seed - 1 : 1000 + turn, env);
    return p->out->len > before;
}

/* Other contents of the tables where there are most entries, as far as that is cheap. */
static void add_tables(picking *p)
{
    enum { LARGEST = 3, CONTENTS = 5 };
    const tp_kernel *k = p->spec->kernels[0];
    const int64_t *largest[LARGEST] = {NULL};
    int64_t most[LARGEST] = {0};
    for (uint32_t i = 0; k->ntables && i < p->out->len; i++) {
        const tp_case *x = &p->out->at[i];
        int64_t n = x->kernel == k && tp_effort_of(k, x->env) <= CHEAP ? tp_tables_entries(k, x->env) : 0;
        bool known = n == 0;
        for (int l = 0; l < LARGEST; l++)
            known |= most[l] == n;
        for (int l = 0; l < LARGEST && !known; l++)
            if (n > most[l]) {
                memmove(&most[l + 1], &most[l], (size_t)(LARGEST - l - 1) * sizeof *most);
                memmove(&largest[l + 1], &largest[l], (size_t)(LARGEST - l - 1) * sizeof *largest);
                most[l] = n;
                largest[l] = x->env;
                break;
            }
    }
    for (uint64_t i = 0; i < LARGEST * CONTENTS; i++)
        if (largest[i % LARGEST])
            take(p, largest[i % LARGEST], 4000 + i);
}

/* More than boundaries: every value, pairs, and ways through the kernel that no case takes. */
static void add_more(picking *p)
{
    const tp_kernel *k = p->spec->kernels[0];
    tp_pick_more(p->c->arena, p->picker, take, p);
    if (!k->body)
        return;
    tp_coverage *dry = tp_coverage_new(p->c->arena, k);
    for (uint32_t i = 0; i < p->out->len; i++)
        tp_run_dry(p->out->at[i].kernel == k ? k : NULL, p->out->at[i].env, 2 * TP_DRY_EFFORT, dry);
    tp_pick_ways(p->c->arena, p->picker, dry, take, p);
    add_tables(p);
}

enum { FEW = 3 }; /* who asks for no more cases than this wants none beside them */

static picking picking_of(tp_ctx *c, const tp_spec *s, tp_cases *out)
{
    picking p = {.c = c, .spec = s, .out = out, .picker = tp_picker_new(c->arena, s->kernels[0])};
    p.coverage = TP_NEWN(c->arena, tp_coverage *, s->nkernels);
    return p;
}

/* Sizes one past a block; of others not the least ones, with which a softmax along the wrong axis is right. */
static bool few_sizes(picking *p, const tp_kernel *k, double most_effort, int64_t *env)
{
    enum { SOME = 3 };
    tp_arena *a = p->c->arena;
    tp_str why;
    tp_rng rng = tp_rng_new(0, 0x73697a65);
    if (!tp_pick(p->picker, k, TP_NEWN(a, bool, k->nsizes), &rng, 0, env))
        return false;
    int64_t *more = tp_env_copy(a, k, env);
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *s = &k->sizes[i];
        int64_t some = tp_size_above(s, SOME);
        if (s->kind == TP_SIZE_RANGE && env[s->sym] < some && some <= s->max)
            more[s->sym] = some;
    }
    if (tp_in_domain(k, more, &why) && tp_effort_of(k, more) <= most_effort)
        memcpy(env, more, tp_sym_count(k->exprs) * sizeof *env);
    return true;
}

/* The same sizes with one of them otherwise. */
static void add_with(picking *p, uint32_t kernel, const int64_t *env, const tp_size *s, int64_t value)
{
    const tp_kernel *k = p->spec->kernels[0];
    int64_t *one = tp_env_copy(p->c->arena, k, env);
    tp_str why;
    one[s->sym] = value;
    if (value != env[s->sym] && tp_in_domain(k, one, &why))
        add_case(p, kernel, NULL, 0, one);
}

/* Another size's name may do in place of a size's own where both are alike: each other choice, */
static void add_choices(picking *p, uint32_t kernel, const int64_t *env)
{
    const tp_kernel *k = p->spec->kernels[0];
    for (uint32_t i = 0; i < k->nsizes; i++)
        for (uint32_t c = 0; c < k->sizes[i].nchoices; c++)
            add_with(p, kernel, env, &k->sizes[i], k->sizes[i].choices[c]);
}

/* ... and each size at its least. */
static void add_least(picking *p, uint32_t kernel, const int64_t *env)
{
    const tp_kernel *k = p->spec->kernels[0];
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (k->sizes[i].kind == TP_SIZE_RANGE)
            add_with(p, kernel, env, &k->sizes[i], tp_size_least(&k->sizes[i]));
}

tp_cases tp_cases_few(tp_ctx *c, const tp_spec *s, const tp_witness *at, double most_effort)
{
    tp_cases all = {0}, out = {0};
    picking p = picking_of(c, s, &all);
    uint32_t kernel = at ? tp_kernel_of_witness(s, at) : 0;
    int64_t *env = TP_NEWN(c->arena, int64_t, tp_sym_count(s->kernels[0]->exprs));
    tp_str why;
    if (at)
        tp_bind_sizes(s->kernels[0], at, env);
    bool is_at = at && tp_in_domain(s->kernels[0], env, &why);
    if (is_at) {
        add_case(&p, kernel, NULL, FEW, env); /* other numbers than those below: a sign may hide a difference */
        add_choices(&p, kernel, env);
    }
    if (few_sizes(&p, s->kernels[0], most_effort, env)) {
        add_case(&p, kernel, NULL, 0, env);
        if (!is_at)
            add_choices(&p, kernel, env);
        add_least(&p, kernel, env);
    }
    for (uint32_t i = 1; i < FEW && s->kernels[kernel]->ntables; i++) /* tables of one draw may hide a difference */
        add_case(&p, kernel, NULL, i, NULL);
    for (uint32_t i = 0; i < all.len; i++) {
        tp_case *x = &all.at[i];
        double effort = tp_effort_of(x->kernel, x->env);
        x->algebra = x->bits = false;
        x->families = 3 * effort <= most_effort ? ONE_SIGN : 0; /* or a 0 at the wrong place may be right by chance */
        if (effort <= most_effort)
            tp_push(c->arena, out, *x);
    }
    return out;
}

bool tp_cases_hold(const tp_cases *cases)
{
    tp_str why;
    for (uint32_t i = 0; i < cases->len; i++)
        if (!tp_in_domain(cases->at[i].kernel, cases->at[i].env, &why) ||
            (cases->at[i].algebra && !cases->at[i].numbers))
            return false;
    return true;
}

tp_cases tp_cases_read(tp_ctx *c, const tp_spec *s, uint32_t per_kernel)
{
    tp_cases out = {0};
    picking p = picking_of(c, s, &out);
    const tp_json *list = s->kernels[0]->cases;
    for (uint32_t k = 0; k < s->nkernels; k++)
        p.coverage[k] = tp_coverage_new(c->arena, s->kernels[k]);
    for (uint32_t i = 0; list && i < list->u.items.n; i++) {
        const tp_json *v = list->u.items.at[i];
        uint32_t before = out.len;
        for (uint32_t k = 0; k < s->nkernels; k++)
            if (!find_dtype(c, s->kernels[k], tp_json_get(v, "dtypes")))
                add_case(&p, k, v, i, NULL);
        if (out.len == before)
            tp_raise(c, TP_RULE_SPEC_VALUE, v->loc, NULL, "no combination of dtype choices fits this case");
    }
    for (uint32_t k = 0; k < s->nkernels; k++)
        for (uint32_t i = 0; i < per_kernel && i < FEW; i++)
            add_case(&p, k, NULL, i, NULL);
    if (per_kernel > FEW)
        add_more(&p);
    for (uint32_t k = 0; k < s->nkernels; k++)
        for (uint32_t i = FEW; i < per_kernel; i++)
            add_case(&p, k, NULL, i, NULL);
    spread_families(s, &out);
    add_signs_of_long_rows(s, &out);
    mark_boundaries(s, &out);
    tp_assert(tp_cases_hold(&out));
    return out;
}
