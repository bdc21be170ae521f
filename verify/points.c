/* Where to ask for a second opinion. */
#include "base/checked.h"
#include "base/rng.h"
#include "kernels/trial/equiv.h"
#include "spec/facts.h"
#include "spec/prepare.h"
#include "spec/table.h"
#include "kernels/trial/conditions.h"
#include "verify/opinion.h"

enum { ATTEMPTS = 60, MAX_ENTRIES = 1 << 16, PATIENCE = 1 << 22 };

/* What was aimed at: a size, or an index of a dimension of an output, at a value. */
typedef struct aim {
    uint32_t what, dim; /* dim 0: the size `what`; else dimension dim - 1 of output `what` */
    int64_t v;
} aim;

/* How contents of tables are found. */
typedef enum way { BY_REPAIRS, CAREFULLY, REGULARLY, WAYS } way;

typedef struct picker {
    tp_arena *arena;
    const tp_kernel *k;
    tp_rng rng;
    tp_numbers numbers;
    unsigned given; /* of the implicit facts, those that sizes have to keep */
    tp_implicit_facts facts;
    const tp_conditions *conditions; /* of the body; NULL: none are aimed at */
    TP_VEC(aim) aims;
    tp_look_list out;
    uint32_t most;
    int64_t patience; /* for searches that fail */
    way first;        /* in which tables were found last */
    uint64_t searches;
    bool telling; /* what is aimed at now */
    bool several; /* sizes are those of a few blocks */
} picker;

/* ---- sizes ---- */

static bool in_domain(const picker *p, const int64_t *env)
{
    tp_str why;
    int64_t holds;
    for (uint32_t i = 0; i < p->facts.len; i++)
        if ((p->facts.at[i].id & p->given) != 0 &&
            (tp_expr_eval(p->k->exprs, p->facts.at[i].says, env, &holds) != TP_EVAL_OK || !holds))
            return false;
    return tp_in_domain(p->k, env, &why);
}

/* The block that tiles the size; 1 when none does. */
static int64_t block_of(const tp_kernel *k, const tp_size *s, const int64_t *env)
{
    int64_t b = tp_largest_block(k, s, env);
    return b > 1 ? b : 1;
}

static int64_t nearest_size(const tp_size *s, int64_t v)
{
    v = v > s->max ? s->max : v;
    v -= v % s->multiple_of;
    return v < s->min ? tp_size_least(s) : v;
}

/* Around one block, or a few; what no block tiles may be a few blocks of something else. */
static int64_t modest(picker *p, const tp_size *s, const int64_t *env)
{
    enum { ALL = 8, FEW = 4 };
    int64_t b = block_of(p->k, s, env), m = s->multiple_of,
            near[ALL] = {2 * b + 1, 3 * b, b + 1, 2 * b, b - 1, 3, b, s->min},
            untiled[ALL] = {130, 300, 700, 2 * m, 2, 3, 5, s->min};
    size_t pick = tp_rng_below(&p->rng, p->several ? FEW : ALL);
    return nearest_size(s, b > 1 ? near[pick] : untiled[pick]);
}

/* Entries of all tables; MAX_ENTRIES when there are more. */
static int64_t entries(const tp_kernel *k, const int64_t *env)
{
    int64_t total = 0, n, x;
    for (uint32_t t = 0; t < k->ntables; t++) {
        n = 1;
        for (uint32_t d = 0; d < k->tables[t].rank; d++) {
            if (tp_expr_eval(k->exprs, k->tables[t].shape[d], env, &x) != TP_EVAL_OK || x < 0 || x > MAX_ENTRIES)
                return MAX_ENTRIES;
            n *= x;
        }
        total += n;
    }
    return total < MAX_ENTRIES ? total : MAX_ENTRIES;
}

static bool find_tables_by(picker *p, way by, int64_t *env, const tp_whereabouts *w, uint64_t seed, int64_t *work)
{
    const tp_table_entry *pinned = w ? w->pinned : NULL;
    uint32_t npinned = w ? w->npinned : 0;
    switch (by) {
    case BY_REPAIRS: return tp_tables_search(p->arena, p->k, env, pinned, npinned, seed, work, NULL);
    case CAREFULLY: return tp_tables_search_carefully(p->arena, p->k, env, pinned, npinned, seed, work);
    case REGULARLY: return tp_tables_search_regular(p->arena, p->k, env, pinned, npinned, seed, work);
    case WAYS: break;
    }
    return false;
}

/* Tables as full as they may be, one by one: all of whose entries may be the greatest that is declared. A row that ends
 * in its first block hides what is wrong in the second. */
static void fill_up(const picker *p, int64_t *env, const tp_whereabouts *w)
{
    enum { MOST_ENTRIES = 4096 };
    tp_arena *work = tp_arena_child(p->arena);
    for (uint32_t t = 0; t < p->k->ntables; t++) {
        const tp_table *x = &p->k->tables[t];
        const tp_table_data *d = tp_bound_table(env, x->sym);
        int64_t lo, hi, n = tp_entries_of(d);
        bool fixed = !tp_table_is_open(x);
        int64_t operations = 0;
        tp_str why;
        for (uint32_t i = 0; w && i < w->npinned; i++)
            fixed |= w->pinned[i].table == t;
        tp_table_bounds(p->k, x, env, &lo, &hi);
        if (fixed || !x->max.id || hi >= tp_dtype_max(x->dtype) || n > MOST_ENTRIES)
            continue;
        int64_t *was = memcpy(TP_NEWN(work, int64_t, n + 1), d->at, (size_t)n * sizeof *was);
        for (int64_t i = 0; i < n; i++)
            d->at[i] = hi;
        if (tp_prepare(work, p->k, env, &operations, &why) == TP_PREPARED && tp_tables_hold(work, p->k, env, &why))
            continue;
        memcpy(d->at, was, (size_t)n * sizeof *was);
        tp_prepare(work, p->k, env, &operations, &why); /* of these it had computed the tables before */
    }
    tp_arena_free(work);
}

/* Contents for the tables, with the pinned entries of w (NULL: none). Where
 * there are some, a few looks at each entry find them, most often; a search
 * that fails goes on to its limit. The way that found some last is tried first.
 * Every so often they are the least: rows of length 1 and the like hide most; as often full ones. */
static bool find_tables(picker *p, int64_t *env, const tp_whereabouts *w)
{
    enum { LEAST_LOOKS = 1024, LOOKS = 8, AT_CONDITIONS = 16, LEAST_CONTENTS = 4 };
    uint64_t seed = p->searches++;
    bool full = seed % LEAST_CONTENTS == 1;
    if (!p->k->ntables)
        return true;
    int64_t n = entries(p->k, env), most = (LEAST_LOOKS + LOOKS * n) * (w ? AT_CONDITIONS : 1);
    bool found = false;
    seed = seed % LEAST_CONTENTS ? seed : 0;
    way first = tp_rng_below(&p->rng, 2) ? REGULARLY : p->first;
    most = most < p->patience / 2 ? most : p->patience / 2;
    for (int i = 0; i < WAYS && !found && n < MAX_ENTRIES && most >= LEAST_LOOKS; i++) {
        way by = (way)(((uint32_t)first + (uint32_t)i) % WAYS);
        int64_t rest = most;
        found = find_tables_by(p, by, env, w, seed, &rest);
        p->patience -= most - rest;
        p->first = found && by != REGULARLY ? by : p->first;
    }
    if (found && full)
        fill_up(p, env, w);
    return found;
}

/* All of them around one block, but for `size` (-1: none), which is near v. */
static void modest_sizes(picker *p, int size, int64_t v, int64_t *env)
{
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < p->k->nsizes; i++) {
            const tp_size *s = &p->k->sizes[i];
            if (s->kind == TP_SIZE_CHOICE && !pass)
                env[s->sym] = s->choices[tp_rng_below(&p->rng, s->nchoices)];
            else if (s->kind == TP_SIZE_RANGE && pass)
                env[s->sym] = (int)i == size ? nearest_size(s, v) : modest(p, s, env);
        }
}

/* A size of a table's shape, where that table is shorter than the longest one, as large as that: contracts tie tables
 * to each other entry by entry. */
static void follow_extents(picker *p, int64_t *env)
{
    enum { BEYOND = 300 };
    const tp_kernel *k = p->k;
    int64_t longest = 0, n;
    uint32_t seen = 0;
    const tp_size *pick = NULL;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t t = 0; t < k->ntables; t++)
            for (uint32_t d = 0; d < k->tables[t].rank; d++) {
                tp_expr extent = k->tables[t].shape[d];
                if (tp_expr_eval(k->exprs, extent, env, &n) != TP_EVAL_OK)
                    continue;
                longest = n > longest ? n : longest;
                for (uint32_t i = 0; pass && n < longest && i < k->nsizes; i++)
                    if (k->sizes[i].kind == TP_SIZE_RANGE && tp_expr_mentions(k->exprs, extent, k->sizes[i].sym) &&
                        tp_rng_below(&p->rng, ++seen) == 0)
                        pick = &k->sizes[i];
            }
    if (pick && env[pick->sym] < longest)
        env[pick->sym] = nearest_size(pick, longest * (1 + (int64_t)tp_rng_below(&p->rng, 2)) +
                                                (int64_t)tp_rng_below(&p->rng, BEYOND));
}

/* A size up to which entries of a table may lie just above a written number, so that one of them can be that number. */
static void reach_number(picker *p, int64_t *env)
{
    const tp_kernel *k = p->k;
    int64_t c = p->numbers.n ? p->numbers.at[tp_rng_below(&p->rng, p->numbers.n)] : 0;
    for (uint32_t t = 0; c && t < k->ntables; t++)
        for (uint32_t i = 0; k->tables[t].max.id && i < k->nsizes; i++) {
            const tp_size *s = &k->sizes[i];
            if (s->kind == TP_SIZE_RANGE && tp_expr_mentions(k->exprs, k->tables[t].max, s->sym) && env[s->sym] <= c)
                env[s->sym] = nearest_size(s, c + 1 + (int64_t)tp_rng_below(&p->rng, 2));
        }
}

/* A size of a table's shape other than `size`, as large as that: tables tie
 * their sizes together. */
static void follow_size(picker *p, int size, int64_t v, int64_t *env)
{
    uint32_t seen = 0;
    const tp_size *pick = NULL;
    for (uint32_t i = 0; i < p->k->nsizes; i++) {
        const tp_size *s = &p->k->sizes[i];
        bool of_table = false;
        for (uint32_t t = 0; t < p->k->ntables; t++)
            for (uint32_t d = 0; d < p->k->tables[t].rank; d++)
                of_table |= tp_expr_mentions(p->k->exprs, p->k->tables[t].shape[d], s->sym);
        if ((int)i != size && s->kind == TP_SIZE_RANGE && of_table && tp_rng_below(&p->rng, ++seen) == 0)
            pick = s;
    }
    if (pick)
        env[pick->sym] = nearest_size(pick, v + (int64_t)tp_rng_below(&p->rng, 300));
}

/* Sizes with `size` (-1: none) near v, the others modest, or for every other
 * attempt one of them large, too; NULL when none were found inside the domain. */
static int64_t *choose_sizes(picker *p, int size, int64_t v)
{
    enum { SEARCHES = 8 }; /* for tables */
    const tp_kernel *k = p->k;
    int64_t *env = TP_NEWN(p->arena, int64_t, tp_sym_count(k->exprs) + 1);
    for (int attempt = 0, searches = 0; attempt < ATTEMPTS && searches < SEARCHES; attempt++) {
        modest_sizes(p, size, v, env);
        if (size >= 0 && attempt % 2)
            follow_size(p, size, v, env);
        if (!in_domain(p, env))
            continue;
        if (find_tables(p, env, NULL))
            return env;
        searches++;
    }
    return NULL;
}

/* ---- elements ---- */

static bool extents(const tp_kernel *k, uint32_t output, const int64_t *env, int64_t *dims)
{
    const tp_operand *o = &k->operands[k->ninputs + output];
    for (uint32_t d = 0; d < o->rank; d++)
        if (tp_expr_eval(k->exprs, o->shape[d], env, &dims[d]) != TP_EVAL_OK || dims[d] < 1)
            return false;
    return !o->discard;
}

/* 1, too, for blocks larger than any array: there is one, without edges. */
static int64_t block_extent(const tp_kernel *k, uint32_t output, uint32_t d, const int64_t *env)
{
    int64_t b;
    const tp_expr block = k->operands[k->ninputs + output].dims[d].block;
    return tp_expr_eval(k->exprs, block, env, &b) == TP_EVAL_OK && b > 0 && b <= INT32_MAX ? b : 1;
}

/* Somewhere in a dimension: at its ends, at an edge of a block, at a constant, or anywhere. */
static int64_t some_index(picker *p, int64_t extent, int64_t block)
{
    int64_t blocks = extent / block + (extent % block != 0), b = (int64_t)tp_rng_below(&p->rng, (uint64_t)blocks),
            c = p->numbers.n ? p->numbers.at[tp_rng_below(&p->rng, p->numbers.n)] : 0, i;
    switch (tp_rng_below(&p->rng, 6)) {
    case 0: i = extent - 1; break;
    case 1: i = b * block; break;
    case 2: i = b * block + block - 1; break;
    case 3: i = c + (int64_t)tp_rng_below(&p->rng, 3) - 1; break;
    case 4: i = 0; break;
    default: i = (int64_t)tp_rng_below(&p->rng, (uint64_t)extent);
    }
    return i >= 0 && i < extent ? i : (int64_t)tp_rng_below(&p->rng, (uint64_t)extent);
}

/* One point at these sizes; dimension `dim` (-1: none) at index v. */
static void add_point(picker *p, int64_t *env, uint32_t output, int dim, int64_t v, bool directed, tp_str about)
{
    tp_look x = {
        .kernel = p->k, .env = env, .output = output, .directed = directed, .telling = p->telling, .about = about};
    const tp_operand *o = &p->k->operands[p->k->ninputs + output];
    int64_t dims[TP_MAX_RANK];
    if (!env || p->out.list.len >= p->most || !extents(p->k, output, env, dims) || (dim >= 0 && v >= dims[dim]))
        return;
    for (int tries = 0; tries < 20; tries++) {
        for (uint32_t d = 0; d < o->rank; d++)
            x.at[d] = (int)d == dim ? v : some_index(p, dims[d], block_extent(p->k, output, d, env));
        if (!tp_element_valid(p->k, o, env, x.at))
            continue;
        tp_push(p->arena, p->out.list, x);
        return;
    }
}

static tp_str size_text(picker *p, const tp_size *s, int64_t v)
{
    return tp_printf(p->arena, "%.*s = %lld", TP_FMT(s->name), (long long)v);
}

/* "M = 300, N = 5": all that vary. */
static tp_str sizes_text(picker *p, const int64_t *env)
{
    tp_buf b = {.arena = p->arena};
    for (uint32_t i = 0; i < p->k->nsizes; i++)
        if (p->k->sizes[i].kind == TP_SIZE_RANGE)
            tp_buf_printf(&b, "%s%.*s = %lld", b.n ? ", " : "", TP_FMT(p->k->sizes[i].name),
                          (long long)env[p->k->sizes[i].sym]);
    return tp_buf_view(&b);
}

static void note_unplaced(picker *p, tp_str at)
{
    for (uint32_t i = 0; i < p->out.unplaced.len; i++)
        if (tp_str_eq(p->out.unplaced.at[i], at))
            return;
    tp_push(p->arena, p->out.unplaced, at);
}

/* Is it to be tried? Not twice, and not beyond the limit. */
static bool is_new(picker *p, aim x, tp_str name)
{
    for (uint32_t i = 0; i < p->aims.len; i++)
        if (p->aims.at[i].what == x.what && p->aims.at[i].dim == x.dim && p->aims.at[i].v == x.v)
            return false;
    tp_push(p->arena, p->aims, x);
    if (p->out.list.len < p->most)
        return true;
    if (!p->out.left_out++)
        p->out.left_out_at =
            x.dim ? tp_printf(p->arena, "index %lld of dimension %u of %.*s", (long long)x.v, x.dim - 1, TP_FMT(name))
                  : tp_printf(p->arena, "%.*s = %lld", TP_FMT(name), (long long)x.v);
    return false;
}

/* A size near v, and an element there of every output. */
static void aim_at_size(picker *p, uint32_t size, int64_t v)
{
    const tp_size *s = &p->k->sizes[size];
    if (s->kind != TP_SIZE_RANGE || v < 1 || nearest_size(s, v) != v || !is_new(p, (aim){size, 0, v}, s->name))
        return;
    int64_t *env = choose_sizes(p, (int)size, v);
    if (!env)
        note_unplaced(p, size_text(p, s, v));
    for (uint32_t o = 0; env && o < p->k->noutputs; o++)
        add_point(p, env, o, -1, 0, true, size_text(p, s, v));
}

/* No sizes make the dimension as large, as far as is seen at once. */
static bool is_beyond_extent(const tp_kernel *k, const tp_operand *o, uint32_t d, int64_t v)
{
    const tp_expr_node *n = tp_expr_get(k->exprs, o->shape[d]);
    if (n->op == TP_E_CONST)
        return v >= n->value;
    for (uint32_t i = 0; n->op == TP_E_SYM && i < k->nsizes; i++)
        if (k->sizes[i].kind == TP_SIZE_RANGE && k->sizes[i].sym == (uint32_t)n->value)
            return v >= k->sizes[i].max;
    return false;
}

/* An element of an output with index v in a dimension: the size that it is
 * made of just large enough, or larger. */
static void aim_at_index(picker *p, uint32_t output, uint32_t d, int64_t v)
{
    const tp_kernel *k = p->k;
    const tp_operand *o = &k->operands[k->ninputs + output];
    int64_t dims[TP_MAX_RANK], *env = NULL;
    if (v < 0 || is_beyond_extent(k, o, d, v) || !is_new(p, (aim){output, d + 1, v}, o->name))
        return;
    for (uint32_t i = 0; i < k->nsizes && !env; i++) {
        const tp_size *s = &k->sizes[i];
        if (s->kind != TP_SIZE_RANGE || !tp_expr_mentions(k->exprs, o->shape[d], s->sym))
            continue;
        int64_t room[] = {0, s->multiple_of, 300}, want = v + 1 + room[tp_rng_below(&p->rng, 3)];
        want = tp_size_above(s, want);
        env = choose_sizes(p, (int)i, want);
        if (!env && want <= s->max)
            note_unplaced(p, size_text(p, s, want));
        if (env && (!extents(k, output, env, dims) || dims[d] <= v))
            env = NULL;
        if (env)
            add_point(p, env, output, (int)d, v, true, size_text(p, s, env[s->sym]));
    }
    if (env)
        return;
    env = choose_sizes(p, -1, 0); /* a fixed extent */
    add_point(p, env, output, (int)d, v, true, TP_S("sizes around one block"));
}

/* ---- conditions of the body ---- */

/* First and last index of the window of an output in a dimension, in the step of env. */
static bool window_of(const tp_kernel *k, uint32_t output, uint32_t d, const int64_t *env, int64_t *lo, int64_t *hi)
{
    const tp_dim *x = &k->operands[k->ninputs + output].dims[d];
    int64_t block, pad = 0, dims[TP_MAX_RANK];
    if (!extents(k, output, env, dims) || tp_expr_eval(k->exprs, x->index, env, lo) != TP_EVAL_OK ||
        tp_expr_eval(k->exprs, x->block, env, &block) != TP_EVAL_OK ||
        (x->kind == TP_DIM_ELEMENT && tp_expr_eval(k->exprs, x->pad_lo, env, &pad) != TP_EVAL_OK))
        return false;
    bool fits = x->kind == TP_DIM_ELEMENT ? tp_sub(*lo, pad, lo) : tp_mul(*lo, block, lo);
    if (!fits || *lo < 0 || *lo >= dims[d] || block < 1)
        return false;
    *hi = block < dims[d] - *lo ? *lo + block - 1 : dims[d] - 1;
    return true;
}

/* Are these lanes those of the output's ref? */
static bool same_lanes(const tp_kernel *k, tp_vid lanes, uint32_t output, const int64_t *env)
{
    const tp_operand *o = &k->operands[k->ninputs + output];
    const tp_value *v = lanes >= 0 ? &k->body->values.at[lanes] : NULL;
    int64_t a, b;
    if (!v || v->rank != o->ref_rank)
        return false;
    for (uint32_t d = 0; d < v->rank; d++)
        if (tp_expr_eval(k->exprs, v->dims[d], env, &a) != TP_EVAL_OK ||
            tp_expr_eval(k->exprs, o->ref_shape[d], env, &b) != TP_EVAL_OK || a != b)
            return false;
    return true;
}

/* Where in a window: at the lane that was found, else at the end; anywhere; at its start. */
typedef enum spot { AT_LANE, ANYWHERE, AT_START } spot;

static void add_in_window(picker *p, const tp_whereabouts *w, uint32_t output, spot where)
{
    tp_look x = {.kernel = p->k, .env = w->env, .output = output, .directed = true, .telling = true};
    const tp_operand *o = &p->k->operands[p->k->ninputs + output];
    bool lanes = where == AT_LANE && same_lanes(p->k, w->lanes, output, w->env);
    int64_t lo, hi, extent[TP_MAX_RANK], from[TP_MAX_RANK], to[TP_MAX_RANK];
    if (p->out.list.len >= p->most || !extents(p->k, output, w->env, extent))
        return;
    bool written = tp_is_far(o) && tp_condition_writes(p->conditions, p->k->ninputs + output, w, &p->rng, from, to);
    for (uint32_t d = 0, lane_axis = 0; d < o->rank; d++) {
        if (!window_of(p->k, output, d, w->env, &lo, &hi))
            return;
        if (written && from[d] < extent[d]) {
            lo = from[d];
            hi = to[d] < extent[d] ? to[d] : extent[d] - 1;
        }
        bool squeezed = o->dims[d].kind == TP_DIM_SQUEEZED;
        x.at[d] = where == AT_START  ? lo
                  : where == AT_LANE ? hi
                                     : lo + (int64_t)tp_rng_below(&p->rng, (uint64_t)(hi - lo) + 1);
        if (lanes && !squeezed && lo + w->lane[lane_axis] <= hi)
            x.at[d] = lo + w->lane[lane_axis];
        lane_axis += !squeezed;
    }
    x.about = sizes_text(p, w->env);
    if (tp_element_valid(p->k, o, w->env, x.at))
        tp_push(p->arena, p->out.list, x);
}

static void add_at(picker *p, const tp_whereabouts *w, spot where)
{
    for (uint32_t o = 0; o < p->k->noutputs; o++)
        add_in_window(p, w, o, where);
}

/* One more step along an axis: in its sizes, or in ones that are larger by a block. */
static bool next_step(picker *p, uint32_t axis, int64_t *env)
{
    const tp_kernel *k = p->k;
    int64_t steps, at = ++env[k->axes[axis].sym];
    if (tp_expr_eval(k->exprs, k->axes[axis].steps, env, &steps) == TP_EVAL_OK && at < steps)
        return true;
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *s = &k->sizes[i];
        if (s->kind == TP_SIZE_RANGE && tp_expr_mentions(k->exprs, k->axes[axis].steps, s->sym))
            env[s->sym] = nearest_size(s, env[s->sym] + block_of(k, s, env));
    }
    return tp_expr_eval(k->exprs, k->axes[axis].steps, env, &steps) == TP_EVAL_OK && at < steps && in_domain(p, env) &&
           find_tables(p, env, NULL);
}

/* Where the step after it writes: it shows there what was carried on. */
static void add_after(picker *p, const tp_whereabouts *w)
{
    const tp_kernel *k = p->k;
    for (uint32_t x = 0; x < k->naxes; x++) {
        tp_whereabouts after = *w;
        if (k->axes[x].parallel)
            continue;
        after.env = tp_env_copy(p->arena, k, w->env);
        if (next_step(p, x, after.env))
            add_at(p, &after, AT_LANE);
    }
}

/* What tells most first. */
static void add_places(picker *p, const tp_whereabouts *w)
{
    add_at(p, w, AT_LANE);
    add_after(p, w);
    add_at(p, w, ANYWHERE);
    add_at(p, w, AT_START);
}

/* Tables as the condition asks for them, or any; then a step in them. */
static bool place_tables(picker *p, const tp_conditions *cs, uint32_t c, bool want, tp_whereabouts *w, int attempt)
{
    if (!p->k->ntables)
        return true;
    if (attempt % 2 == 1 && tp_condition_pin(cs, c, w) && !tp_condition_solve(cs, c, want, TP_SOLVE_TABLES, &p->rng, w))
        w->npinned = 0;
    if (!find_tables(p, w->env, w))
        return false;
    w->npinned = 0;
    return tp_condition_solve(cs, c, want, TP_SOLVE_STEP, &p->rng, w);
}

/* Sizes and a step for which the condition is what it should be, and elements
 * there. Where none were found for it, it may hold nowhere; where only tables are missing, that is said. */
static void aim_at_condition(picker *p, const tp_conditions *cs, uint32_t c, bool want)
{
    enum { SEARCHES = 6 };
    tp_str without = {0};
    for (int attempt = 0; attempt < SEARCHES; attempt++) {
        tp_whereabouts w = {.env = TP_NEWN(p->arena, int64_t, tp_sym_count(p->k->exprs) + 1)};
        modest_sizes(p, -1, 0, w.env);
        if (!tp_condition_solve(cs, c, want, TP_SOLVE_STEP | TP_SOLVE_SIZES, &p->rng, &w))
            continue;
        if (without.n)
            follow_extents(p, w.env);
        if (attempt % 3 == 1 && cs->list.at[c].detail)
            reach_number(p, w.env);
        if (!in_domain(p, w.env))
            continue;
        if (place_tables(p, cs, c, want, &w, attempt)) {
            add_places(p, &w);
            return;
        }
        without = sizes_text(p, w.env);
    }
    if (without.n)
        note_unplaced(p, without);
}

/* Those of the body, or details, in some rounds: tables differ each time. */
static void aim_at_conditions(picker *p, bool details, int rounds)
{
    tp_conditions cs = tp_conditions_of(p->arena, p->k);
    p->conditions = &cs;
    p->patience = PATIENCE;
    for (int round = 0; round < rounds; round++) {
        p->several = round == 0;
        for (uint32_t c = 0; c < cs.list.len; c++)
            for (int want = 1; want >= 0 && cs.list.at[c].detail == details; want--)
                aim_at_condition(p, &cs, c, want);
    }
    p->several = false;
    p->conditions = NULL;
}

/* ---- all of it ---- */

/* What is worth trying of a constant and a block, the most telling first. */
static uint32_t around(int64_t c, int64_t b, int round, int64_t *v)
{
    switch (round) {
    case 0: v[0] = c, v[1] = c * b; return b > 1 ? 2 : 1;
    case 1: v[0] = c + 1, v[1] = c * b + b - 1; return b > 1 ? 2 : 1;
    case 2: v[0] = c - 1, v[1] = (c + 1) * b; return b > 1 ? 2 : 1;
    case 3: v[0] = (c + 2) * b + 1, v[1] = c * b - 1; return b > 1 ? 2 : 0;
    default: return 0;
    }
}

static void aim_at_number(picker *p, int64_t c, int round, const int64_t *env)
{
    const tp_kernel *k = p->k;
    int64_t v[2];
    for (uint32_t o = 0; o < k->noutputs; o++)
        for (uint32_t d = 0; d < k->operands[k->ninputs + o].rank; d++)
            for (uint32_t i = 0, n = around(c, block_extent(k, o, d, env), round, v); i < n; i++)
                aim_at_index(p, o, d, v[i]);
    for (uint32_t s = 0; s < k->nsizes; s++)
        if (k->sizes[s].kind == TP_SIZE_RANGE)
            for (uint32_t i = 0, n = around(c, block_of(k, &k->sizes[s], env), round, v); i < n; i++)
                aim_at_size(p, s, v[i]);
}

/* Edges of blocks, thousands of blocks, the declared maximum. */
static void aim_at_blocks(picker *p, const int64_t *env)
{
    const tp_kernel *k = p->k;
    for (uint32_t s = 0; s < k->nsizes; s++) {
        int64_t b = block_of(k, &k->sizes[s], env), far[] = {b, b + 1, 2 * b, 1025 * b + 1, k->sizes[s].max};
        for (size_t i = 0; k->sizes[s].kind == TP_SIZE_RANGE && i < sizeof far / sizeof *far; i++)
            aim_at_size(p, s, far[i]);
    }
    for (uint32_t o = 0; o < k->noutputs; o++)
        for (uint32_t d = 0; d < k->operands[k->ninputs + o].rank; d++) {
            int64_t b = block_extent(k, o, d, env), edge[] = {b - 1, b, 2 * b - 1, 2 * b};
            for (size_t i = 0; b > 1 && i < sizeof edge / sizeof *edge; i++)
                aim_at_index(p, o, d, edge[i]);
        }
}

/* 2^k and its neighbours. */
static void aim_at_powers(picker *p)
{
    static const int64_t POWERS[] = {1 << 12, 1 << 16, 1 << 8, 1 << 20, 1 << 24};
    const tp_kernel *k = p->k;
    for (size_t i = 0; i < sizeof POWERS / sizeof *POWERS; i++)
        for (int64_t side = 0; side < 3; side++) {
            int64_t v = POWERS[i] + (side == 2 ? -1 : side);
            for (uint32_t s = 0; s < k->nsizes; s++)
                aim_at_size(p, s, v);
            for (uint32_t o = 0; o < k->noutputs; o++)
                for (uint32_t d = 0; d < k->operands[k->ninputs + o].rank; d++)
                    aim_at_index(p, o, d, v);
        }
}

/* Conditions and numbers, `directed` places each; then a few for details of conditions. */
static void aim_directed(picker *p, uint32_t directed)
{
    const tp_kernel *k = p->k;
    int64_t *env = NULL;
    for (int attempt = 0; !env && attempt < 8; attempt++)
        env = choose_sizes(p, -1, 0);
    if (!env) {
        note_unplaced(p, TP_S("any sizes"));
        return;
    }
    p->numbers = tp_numbers_of(p->arena, k, env);
    p->out.numbers_left_out = p->numbers.left_out;
    aim_at_conditions(p, false, k->ntables ? 3 : 2);
    p->patience = PATIENCE;
    p->most = p->out.list.len + directed;
    for (int round = 0; round < 4; round++)
        for (uint32_t i = 0; i < p->numbers.unusual; i++) {
            p->telling = round < 2;
            aim_at_number(p, p->numbers.at[i], round, env);
        }
    p->telling = false;
    aim_at_blocks(p, env);
    aim_at_powers(p);
    for (int round = 0; round < 4; round++)
        for (uint32_t i = p->numbers.unusual; i < p->numbers.n; i++)
            aim_at_number(p, p->numbers.at[i], round, env);
    for (uint32_t i = 0; i < p->numbers.n; i++)
        for (uint32_t j = i; j < p->numbers.n; j++)
            aim_at_number(p, p->numbers.at[i] * p->numbers.at[j], 0, env);
    p->most = p->out.list.len + directed / 2;
    aim_at_conditions(p, true, 1);
}

static void aim_at_random(picker *p)
{
    const tp_kernel *k = p->k;
    for (uint32_t i = 0; i < 4 * p->most && p->out.list.len < p->most; i++) {
        int size = k->nsizes ? (int)tp_rng_below(&p->rng, k->nsizes) : -1;
        const tp_size *s = size >= 0 ? &k->sizes[size] : NULL;
        if (s && s->kind != TP_SIZE_RANGE)
            s = NULL;
        int64_t v = 1 + (int64_t)tp_rng_below(&p->rng, (uint64_t)1 << (3 + tp_rng_below(&p->rng, 13)));
        int64_t *env = choose_sizes(p, s ? size : -1, v);
        add_point(p, env, (uint32_t)tp_rng_below(&p->rng, k->noutputs), -1, 0, false,
                  s && env ? size_text(p, s, env[s->sym]) : TP_S("sizes around one block"));
    }
}

tp_look_list tp_points(tp_arena *a, const tp_kernel *k, const tp_opinion_options *o, uint32_t random, uint32_t directed)
{
    picker p = {.arena = a,
                .k = k,
                .given = o->facts,
                .rng = tp_rng_new(o->seed, 0x706f696e7473),
                .most = random,
                .patience = PATIENCE / 4};
    tp_implicit_facts_of(a, k, &p.facts);
    aim_at_random(&p);
    p.most += directed;
    aim_directed(&p, directed);
    return p.out;
}
