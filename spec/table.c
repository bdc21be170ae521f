#include "spec/table.h"

#include <math.h>

#include "base/checked.h"
#include "base/rng.h"
#include "spec/prepare.h"

static tp_table_data *data_of(const tp_kernel *k, const int64_t *env, uint32_t table)
{
    return tp_bound_table(env, k->tables[table].sym);
}

int64_t tp_tables_entries(const tp_kernel *k, const int64_t *env)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < k->ntables; i++)
        n += tp_entries_of(data_of(k, env, i));
    return n;
}

bool tp_tables_new(tp_arena *a, const tp_kernel *k, int64_t *env, tp_str *why)
{
    for (uint32_t i = 0; i < k->ntables; i++) {
        const tp_table *t = &k->tables[i];
        tp_table_data *d = TP_NEW(a, tp_table_data);
        int64_t n = 1;
        d->rank = t->rank;
        for (uint32_t x = 0; x < t->rank; x++) {
            tp_eval_error e = tp_expr_eval(k->exprs, t->shape[x], env, &d->dims[x]);
            if (e != TP_EVAL_OK || d->dims[x] < 0 || d->dims[x] > TP_TABLE_MAX_ENTRIES ||
                (n *= d->dims[x]) > TP_TABLE_MAX_ENTRIES) {
                *why = tp_printf(a, "the table `%.*s` has no shape that could be filled", TP_FMT(t->name));
                return false;
            }
        }
        d->readable = t->rank ? d->dims[0] : 1;
        d->at = TP_NEWN(a, int64_t, (size_t)n);
        if (t->contents && n)
            memcpy(d->at, t->contents->at, (size_t)n * sizeof *d->at);
        tp_bind_table(env, t->sym, d);
    }
    return true;
}

void tp_table_bounds(const tp_kernel *k, const tp_table *t, const int64_t *env, int64_t *lo, int64_t *hi)
{
    int64_t v, least = t->dtype == TP_BOOL ? 0 : tp_dtype_min(t->dtype),
               most = t->dtype == TP_BOOL ? 1 : tp_dtype_max(t->dtype);
    *lo = least;
    *hi = most;
    if (t->min.id && tp_expr_eval(k->exprs, t->min, env, &v) == TP_EVAL_OK && v > *lo)
        *lo = v > most ? most + 1 : v;
    if (t->max.id && tp_expr_eval(k->exprs, t->max, env, &v) == TP_EVAL_OK && v < *hi)
        *hi = v < least ? least - 1 : v;
}

/* ---- do they hold? ---- */

typedef struct check {
    tp_arena *arena;
    const tp_kernel *k;
    int64_t *env;
    tp_str why;
    bool quiet;                /* nobody asks why */
    bool before;               /* "prepare" did not run: what speaks of its results is left out */
    int64_t work, most;        /* entries and instances looked at; how many may be */
    const tp_contract *broken; /* a contract, with its bound symbols set in env; or NULL */
    const tp_contract *from;   /* the instances before this one are not looked at; or NULL */
    int64_t at[TP_TABLE_RANK];
} check;

static tp_str entry_text(check *c, uint32_t table, int64_t at)
{
    const tp_table_data *d = data_of(c->k, c->env, table);
    int64_t index[TP_TABLE_RANK];
    tp_buf b = {.arena = c->arena};
    for (uint32_t i = d->rank; i-- > 0; at /= d->dims[i] ? d->dims[i] : 1)
        index[i] = at % (d->dims[i] ? d->dims[i] : 1);
    tp_buf_str(&b, c->k->tables[table].name);
    for (uint32_t i = 0; i < d->rank; i++)
        tp_buf_printf(&b, "%s%lld", i ? ", " : "[", (long long)index[i]);
    tp_buf_c(&b, d->rank ? "]" : "");
    return tp_buf_view(&b);
}

/* The first dimension may be shorter than the array. */
static bool set_extent(check *c, uint32_t table)
{
    const tp_table *t = &c->k->tables[table];
    tp_table_data *d = data_of(c->k, c->env, table);
    int64_t n;
    if (!t->extent.id)
        return true;
    if (tp_expr_eval(c->k->exprs, t->extent, c->env, &n) != TP_EVAL_OK || n < 0 || n > d->dims[0]) {
        c->why = tp_printf(c->arena, "the extent of the table `%.*s` is not between 0 and its %lld entries",
                           TP_FMT(t->name), (long long)d->dims[0]);
        return false;
    }
    d->readable = n;
    return true;
}

static bool table_holds(check *c, uint32_t table)
{
    const tp_table *t = &c->k->tables[table];
    const tp_table_data *d = data_of(c->k, c->env, table);
    int64_t lo, hi, n = d->rank && d->dims[0] ? tp_entries_of(d) / d->dims[0] * d->readable : tp_entries_of(d);
    if (!set_extent(c, table))
        return false;
    tp_spend(c->arena, n / 4);
    c->work += n / 16; /* far cheaper than an instance */
    tp_table_bounds(c->k, t, c->env, &lo, &hi);
    for (int64_t i = 0; i < n; i++) {
        if (d->at[i] < lo || d->at[i] > hi)
            c->why = tp_printf(c->arena, "%.*s is %lld; declared are %lld to %lld", TP_FMT(entry_text(c, table, i)),
                               (long long)d->at[i], (long long)lo, (long long)hi);
        else if (t->contents && d->at[i] != t->contents->at[i])
            c->why = tp_printf(c->arena, "%.*s is %lld; the spec fixes it at %lld", TP_FMT(entry_text(c, table, i)),
                               (long long)d->at[i], (long long)t->contents->at[i]);
        else if (t->sorted && i && d->at[i] < d->at[i - 1])
            c->why = tp_printf(c->arena, "%.*s is %lld, less than the entry before it; declared is \"sorted\"",
                               TP_FMT(entry_text(c, table, i)), (long long)d->at[i]);
        else
            continue;
        return false;
    }
    return true;
}

static bool contract_holds(check *c, const tp_contract *x, uint32_t bound)
{
    int64_t n, holds;
    if (bound < x->nbound) {
        if (tp_expr_eval(c->k->exprs, x->extent[bound], c->env, &n) != TP_EVAL_OK)
            n = 0;
        for (int64_t i = c->from == x ? c->at[bound] : 0; i < n; i++) {
            tp_spend(c->arena, 8);
            if (++c->work > c->most) {
                c->why = tp_printf(c->arena, "%.*s has more than %lld instances to check", TP_FMT(x->id),
                                   (long long)c->most);
                return false;
            }
            c->env[x->bound[bound]] = i;
            if (!contract_holds(c, x, bound + 1))
                return false;
        }
        return true;
    }
    tp_eval_error e = tp_expr_eval(c->k->exprs, x->fact, c->env, &holds);
    c->from = NULL;                                       /* it is reached */
    if (e == TP_EVAL_TABLE || (e == TP_EVAL_OK && holds)) /* of entries that do not exist it says nothing */
        return true;
    c->broken = x;
    if (c->quiet)
        return false;
    tp_buf b = {.arena = c->arena};
    tp_buf_printf(&b, "the tables break %.*s (%.*s)", TP_FMT(x->id), TP_FMT(x->text));
    for (uint32_t i = 0; i < x->nbound; i++)
        tp_buf_printf(&b, "%s%.*s = %lld", i ? ", " : " at ", TP_FMT(tp_sym_name(c->k->exprs, x->bound[i])),
                      (long long)c->env[x->bound[i]]);
    c->why = tp_buf_view(&b);
    return false;
}

static bool all_hold(check *c, const tp_contract *x)
{
    int64_t n = 0;
    if (c->from || !tp_pairs_hold(c->arena, c->k, x, c->env, &n) || n * n > c->most - c->work)
        return contract_holds(c, x, 0);
    c->work += n * n; /* as if each pair had been looked at */
    return true;
}

static bool speaks_of_prepared(const tp_kernel *k, const tp_contract *x)
{
    bool any = false;
    for (uint32_t t = 0; t < k->ntables; t++) {
        any |= k->tables[t].prepared && tp_expr_mentions(k->exprs, x->fact, k->tables[t].sym);
        for (uint32_t b = 0; b < x->nbound; b++)
            any |= k->tables[t].prepared && tp_expr_mentions(k->exprs, x->extent[b], k->tables[t].sym);
    }
    return any;
}

static bool hold(check *c)
{
    c->broken = NULL;
    for (uint32_t i = 0; i < c->k->ntables && !c->before; i++)
        if (!set_extent(c, i))
            return false;
    for (uint32_t i = 0; i < c->k->ntables && !c->from; i++)
        if (!(c->before && c->k->tables[i].prepared) && !table_holds(c, i))
            return false;
    for (uint32_t i = c->from ? (uint32_t)(c->from - c->k->contracts) : 0; i < c->k->ncontracts; i++) {
        const tp_contract *x = &c->k->contracts[i];
        if (!(c->before && speaks_of_prepared(c->k, x)) && !all_hold(c, x))
            return false;
        c->from = NULL;
    }
    return true;
}

/* Are the prepared tables what the program makes of the others? It writes to room of its own. */
static bool are_prepared(check *c)
{
    const tp_kernel *k = c->k;
    tp_table_data **was = TP_NEWN(c->arena, tp_table_data *, k->ntables + 1);
    if (!k->prepare)
        return true;
    for (uint32_t t = 0; t < k->ntables; t++) {
        was[t] = data_of(k, c->env, t);
        if (!k->tables[t].prepared)
            continue;
        tp_table_data *d = TP_NEW(c->arena, tp_table_data);
        *d = *was[t];
        d->at = TP_NEWN(c->arena, int64_t, (size_t)tp_entries_of(d) + 1);
        tp_bind_table(c->env, k->tables[t].sym, d);
    }
    bool same = tp_prepare(c->arena, k, c->env, &c->work, &c->why) == TP_PREPARED;
    for (uint32_t t = 0; t < k->ntables; t++) {
        const tp_table_data *is = data_of(k, c->env, t);
        tp_bind_table(c->env, k->tables[t].sym, was[t]);
        if (same && memcmp(is->at, was[t]->at, (size_t)tp_entries_of(is) * sizeof *is->at) != 0) {
            same = false;
            c->why =
                tp_printf(c->arena, "the table `%.*s` is not what \"prepare\" computes", TP_FMT(k->tables[t].name));
        }
    }
    return same;
}

bool tp_tables_are_prepared(tp_arena *a, const tp_kernel *k, int64_t *env)
{
    check c = {.arena = a, .k = k, .env = env};
    for (uint32_t t = 0; t < k->ntables; t++)
        if (!data_of(k, env, t))
            return true;
    return are_prepared(&c);
}

bool tp_tables_hold(tp_arena *a, const tp_kernel *k, int64_t *env, tp_str *why)
{
    check c = {.arena = a, .k = k, .env = env, .most = TP_TABLES_WORK};
    bool ok = are_prepared(&c) && hold(&c);
    *why = c.why;
    return ok;
}

/* ---- finding some ---- */

/* An entry and what it was. */
typedef struct change {
    int64_t *entry, old;
} change;

typedef struct finder {
    check c;
    tp_rng rng;
    bool **fixed; /* per table and entry */
    bool **moved; /* the same: by an earlier repair of this round */
    bool careful; /* repairs of up to two entries, by what the fact asks of them */
    bool spread;  /* sorted tables begin anywhere */
    TP_VEC(change) log;
} finder;

static int64_t offset_of(const tp_table_data *d, const int64_t *index)
{
    int64_t at = 0;
    for (uint32_t i = 0; i < d->rank; i++) {
        if (index[i] < 0 || index[i] >= d->dims[i])
            return -1;
        at = at * d->dims[i] + index[i];
    }
    return at;
}

/* What an entry of a table may hold where contracts say so, too: declared
 * bounds, narrowed by comparisons with a read of it. A hint, no more. */
typedef struct span {
    int64_t lo, hi; /* declared */
    int64_t from, to;
} span;

/* The side of a comparison that has no reads: its values at the first and the
 * last instance, the least or the greatest of them. */
static bool limit(const finder *f, const tp_contract *x, tp_expr e, bool greatest, int64_t *out)
{
    bool any = false;
    for (int last = 0; last < 2; last++) {
        int64_t n, v;
        for (uint32_t b = 0; b < x->nbound; b++) {
            if (tp_expr_eval(f->c.k->exprs, x->extent[b], f->c.env, &n) != TP_EVAL_OK || n < 1)
                return false;
            f->c.env[x->bound[b]] = last ? n - 1 : 0;
        }
        if (tp_expr_eval(f->c.k->exprs, e, f->c.env, &v) != TP_EVAL_OK)
            return false;
        *out = !any || (v > *out) == greatest ? v : *out;
        any = true;
    }
    return true;
}

static void narrow(const finder *f, const tp_contract *x, tp_expr e, uint32_t sym, span *s)
{
    const tp_exprs *p = f->c.k->exprs;
    const tp_expr_node n = *tp_expr_get(p, e);
    int64_t v;
    if (n.op == TP_E_AND || n.op == TP_E_OR)
        narrow(f, x, n.a, sym, s);
    if (n.op == TP_E_AND || n.op == TP_E_OR || n.op == TP_E_IMPLIES)
        narrow(f, x, n.b, sym, s);
    bool less = n.op == TP_E_LT || n.op == TP_E_LE, more = n.op == TP_E_GT || n.op == TP_E_GE;
    for (int side = 0; side < 2 && (less || more); side++) {
        tp_expr read = side ? n.b : n.a, other = side ? n.a : n.b;
        const tp_expr_node *r = tp_expr_get(p, read);
        if (r->op != TP_E_READ || (uint32_t)r->value != sym || tp_expr_reads(p, other))
            continue;
        bool upper = less == (side == 0);
        if (!limit(f, x, other, upper, &v))
            continue;
        int64_t strict = n.op == TP_E_LT || n.op == TP_E_GT;
        if (!(upper ? tp_sub(v, strict, &v) : tp_add(v, strict, &v)))
            continue;
        if (upper && v < s->to)
            s->to = v;
        if (!upper && v > s->from)
            s->from = v;
    }
}

static span span_of(const finder *f, uint32_t table)
{
    enum { NEAR = 7, FAR = 4096 };
    span s;
    tp_table_bounds(f->c.k, &f->c.k->tables[table], f->c.env, &s.lo, &s.hi);
    s.from = s.lo;
    s.to = s.hi;
    for (uint32_t i = 0; i < f->c.k->ncontracts; i++)
        narrow(f, &f->c.k->contracts[i], f->c.k->contracts[i].fact, f->c.k->tables[table].sym, &s);
    bool open = s.to >= tp_dtype_max(f->c.k->tables[table].dtype); /* nobody said what is much */
    if (s.lo > s.hi)                                               /* nothing will do */
        s.lo = s.hi;
    if (s.from > s.to)
        s.from = s.lo, s.to = s.hi;
    if (s.from < 0 && s.to >= 0 && s.from <= tp_dtype_min(f->c.k->tables[table].dtype))
        s.from = 0;
    int64_t most = open ? NEAR : FAR;
    if ((uint64_t)s.to - (uint64_t)s.from > (uint64_t)most)
        s.to = s.from + most;
    return s;
}

/* Start values. */
typedef enum style { LEAST, RAMP, NEAR_LEAST, UNIFORM, GREATEST, ENDS, ALONG, SPARSE, STYLES } style;

static int64_t value_of(finder *f, style how, const span *s, int64_t i, int64_t row, int64_t previous)
{
    int64_t lo = s->lo, hi = s->hi, least = lo > 0 ? lo : hi < 0 ? hi : 0, small = hi - least < 7 ? hi - least : 7;
    uint64_t wide = (uint64_t)(s->to - s->from) + 1;
    switch (how) {
    case RAMP: return small > 0 ? least + i % (small + 1) : least;
    case NEAR_LEAST: return small > 0 ? least + (int64_t)tp_rng_below(&f->rng, (uint64_t)small + 1) : least;
    case UNIFORM: return s->from + (int64_t)tp_rng_below(&f->rng, wide);
    case GREATEST: return s->to;
    case ENDS: {
        int64_t by = wide > 2 ? (int64_t)tp_rng_below(&f->rng, 2) : 0;
        return tp_rng_below(&f->rng, 2) ? s->to - by : s->from + by;
    }
    case ALONG: return s->from + i % row % (int64_t)wide;
    case SPARSE: { /* ascending along a row, some left out, until there are no more */
        int64_t v = (i % row ? previous + 1 : s->from) + (int64_t)tp_rng_below(&f->rng, 2);
        return v < s->to ? v : s->to;
    }
    case LEAST:
    case STYLES: break;
    }
    return least;
}

/* Round 0: the least, 1: ascending ones, then random ones near the least; with
 * `any`: a style by chance, so that tables differ over all that they may hold. */
static void guess(finder *f, uint32_t table, int round, bool any)
{
    const tp_table *t = &f->c.k->tables[table];
    tp_table_data *d = data_of(f->c.k, f->c.env, table);
    span s = span_of(f, table);
    int64_t n = tp_entries_of(d), row = d->rank && d->dims[d->rank - 1] > 0 ? d->dims[d->rank - 1] : 1;
    tp_spend(f->c.arena, 2 * n);
    f->c.work += n;
    style how = round == 0 ? LEAST : round == 1 ? RAMP : NEAR_LEAST;
    if (any)
        how = (style)tp_rng_below(&f->rng, STYLES);
    if (f->spread && t->sorted) { /* over all that is declared */
        s.from = s.lo, s.to = s.hi;
        how = UNIFORM;
    }
    if (any && d->rank > 1 && tp_rng_below(&f->rng, 2)) /* a list in each row */
        how = tp_rng_below(&f->rng, 2) ? ALONG : SPARSE;
    for (int64_t i = 0; i < n; i++) {
        int64_t v = value_of(f, how, &s, i, row, i ? d->at[i - 1] : 0);
        if (!f->fixed[table][i])
            d->at[i] = v;
    }
    if (!t->sorted)
        return;
    int64_t floor = s.lo, ceiling = s.hi;
    for (int64_t i = 0; i < n; i++) { /* no less than what comes before, … */
        if (!f->fixed[table][i] && d->at[i] < floor)
            d->at[i] = floor;
        floor = d->at[i];
    }
    for (int64_t i = n; i-- > 0;) { /* … no more than what is fixed behind */
        if (!f->fixed[table][i] && d->at[i] > ceiling)
            d->at[i] = ceiling;
        ceiling = d->at[i];
    }
}

/* The reads of a fact, and the values of what they could be compared with. */
typedef struct repair {
    struct {
        uint32_t table;
        int64_t at;
    } reads[16];
    uint32_t nreads;
    int64_t values[32];
    uint32_t nvalues;
    tp_expr sides[16][2]; /* of its comparisons */
    uint32_t nsides;
} repair;

static void collect(finder *f, tp_expr e, repair *r)
{
    const tp_expr_node n = *tp_expr_get(f->c.k->exprs, e);
    int64_t v, index[TP_TABLE_RANK] = {0};
    const tp_expr kids[] = {n.a, n.b, n.c};
    if (!e.id)
        return;
    for (int i = 0; i < 3; i++)
        collect(f, kids[i], r);
    for (int i = 0; i < 2 && n.op >= TP_E_EQ && n.op <= TP_E_GE; i++)
        for (int64_t by = -1; by <= 1 && r->nvalues < 30; by++)
            if (tp_expr_eval(f->c.k->exprs, kids[i], f->c.env, &v) == TP_EVAL_OK && tp_add(v, by, &v))
                r->values[r->nvalues++] = v;
    if (n.op >= TP_E_EQ && n.op <= TP_E_GE && r->nsides < 16) {
        r->sides[r->nsides][0] = n.a;
        r->sides[r->nsides++][1] = n.b;
    }
    if (n.op != TP_E_READ || r->nreads == 16)
        return;
    for (uint32_t t = 0; t < f->c.k->ntables; t++) {
        const tp_table_data *d = data_of(f->c.k, f->c.env, t);
        if (f->c.k->tables[t].sym != (uint32_t)n.value)
            continue;
        bool known = true;
        for (uint32_t i = 0; i < d->rank; i++)
            known &= tp_expr_eval(f->c.k->exprs, kids[i], f->c.env, &index[i]) == TP_EVAL_OK;
        int64_t at = known ? offset_of(d, index) : -1;
        if (at >= 0 && !f->fixed[t][at]) {
            r->reads[r->nreads].table = t;
            r->reads[r->nreads++].at = at;
        }
    }
}

/* May a table hold this there, as far as it alone is concerned? */
static bool may_be(const finder *f, uint32_t table, int64_t at, int64_t v)
{
    const tp_table *t = &f->c.k->tables[table];
    const tp_table_data *d = data_of(f->c.k, f->c.env, table);
    int64_t lo, hi;
    tp_table_bounds(f->c.k, t, f->c.env, &lo, &hi);
    return v >= lo && v <= hi &&
           (!t->sorted || ((at == 0 || d->at[at - 1] <= v) && (at + 1 >= tp_entries_of(d) || v <= d->at[at + 1])));
}

/* Make the broken instance true by changing one entry, if that can be done. */
static bool mend(finder *f)
{
    const tp_contract *x = f->c.broken;
    repair r = {.nreads = 0};
    int64_t holds;
    tp_spend(f->c.arena, 100);
    if (!x)
        return false;
    collect(f, x->fact, &r);
    for (uint32_t tries = 0; r.nreads && r.nvalues && tries < 64; tries++) {
        uint32_t which = (uint32_t)tp_rng_below(&f->rng, r.nreads);
        tp_table_data *d = data_of(f->c.k, f->c.env, r.reads[which].table);
        int64_t *entry = &d->at[r.reads[which].at], old = *entry, to = r.values[tp_rng_below(&f->rng, r.nvalues)];
        if (!may_be(f, r.reads[which].table, r.reads[which].at, to))
            continue;
        *entry = to;
        f->c.work++;
        if (tp_expr_eval(f->c.k->exprs, x->fact, f->c.env, &holds) == TP_EVAL_OK && holds)
            return true;
        *entry = old;
    }
    return false;
}

/* ---- careful repairs ---- */

static void undo(finder *f, uint32_t mark)
{
    while (f->log.len > mark) {
        f->log.len--;
        *f->log.at[f->log.len].entry = f->log.at[f->log.len].old;
    }
}

static void note_change(finder *f, int64_t *entry, int64_t to)
{
    tp_push(f->c.arena, f->log, ((change){entry, *entry}));
    *entry = to;
}

/* In a sorted table its neighbours give way. */
static bool assign(finder *f, uint32_t table, int64_t at, int64_t to)
{
    const tp_table *t = &f->c.k->tables[table];
    tp_table_data *d = data_of(f->c.k, f->c.env, table);
    int64_t lo, hi, n = tp_entries_of(d);
    tp_table_bounds(f->c.k, t, f->c.env, &lo, &hi);
    if (to < lo || to > hi || to == d->at[at] || f->fixed[table][at])
        return false;
    note_change(f, &d->at[at], to);
    for (int64_t i = at + 1; t->sorted && i < n && d->at[i] < to; i++)
        if (f->fixed[table][i])
            return false;
        else
            note_change(f, &d->at[i], to);
    for (int64_t i = at; t->sorted && i-- > 0 && d->at[i] > to;)
        if (f->fixed[table][i])
            return false;
        else
            note_change(f, &d->at[i], to);
    return true;
}

static bool fact_holds(finder *f, const tp_contract *x)
{
    int64_t holds;
    f->c.work++;
    tp_spend(f->c.arena, 8);
    return tp_expr_eval(f->c.k->exprs, x->fact, f->c.env, &holds) == TP_EVAL_OK && holds;
}

static bool difference(const finder *f, const tp_expr *sides, int64_t *d)
{
    int64_t a, b;
    return tp_expr_eval(f->c.k->exprs, sides[0], f->c.env, &a) == TP_EVAL_OK &&
           tp_expr_eval(f->c.k->exprs, sides[1], f->c.env, &b) == TP_EVAL_OK && tp_sub(a, b, d);
}

/* Where the two sides meet, if they are linear in the entry. */
static bool intersect(finder *f, int64_t *entry, const tp_expr *sides, int64_t *v)
{
    int64_t d, e, old = *entry;
    bool known = difference(f, sides, &d);
    *entry = old + 1;
    known = known && difference(f, sides, &e);
    *entry = old;
    if (!known || d == e || d > INT32_MAX || d < -INT32_MAX)
        return false;
    *v = old + (int64_t)floor(-(double)d / (double)(e - d));
    return true;
}

static bool settle(finder *f, const tp_contract *x, bool again);

static bool settle_by(finder *f, const tp_contract *x, uint32_t table, int64_t at, int64_t to, bool again)
{
    uint32_t mark = f->log.len;
    if (assign(f, table, at, to) && (fact_holds(f, x) || (again && settle(f, x, false)))) {
        f->moved[table][at] = true;
        return true;
    }
    undo(f, mark);
    return false;
}

/* Any value, the one of the entry before it first: neighbours are near each other, mostly. */
static bool look(finder *f, const tp_contract *x, uint32_t table, int64_t at, int64_t lo, int64_t hi)
{
    enum { LOOKS = 1024 };
    const tp_table_data *d = data_of(f->c.k, f->c.env, table);
    int64_t from = at > 0 && d->at[at - 1] > lo && d->at[at - 1] <= hi ? d->at[at - 1] : lo;
    for (int64_t n = 0, v = from; n < LOOKS && n <= hi - lo; n++, v = v < hi ? v + 1 : lo)
        if (settle_by(f, x, table, at, v, false))
            return true;
    return false;
}

/* One entry moved to where a comparison is decided; with `again` a second one after it. */
static bool settle(finder *f, const tp_contract *x, bool again)
{
    static const int64_t BY[] = {0, 1, -1};
    repair r = {.nreads = 0};
    collect(f, x->fact, &r);
    uint32_t first = r.nreads ? (uint32_t)tp_rng_below(&f->rng, r.nreads) : 0;
    for (int moved = 0; moved < 2 && f->c.work <= f->c.most; moved++)
        for (uint32_t n = 0; n < r.nreads; n++) {
            uint32_t i = moved ? (n + first) % r.nreads : n;
            uint32_t table = r.reads[i].table;
            int64_t at = r.reads[i].at, v, lo, hi, *entry = &data_of(f->c.k, f->c.env, table)->at[at];
            if (f->moved[table][at] != (moved == 1))
                continue;
            for (uint32_t c = 0; c < r.nsides; c++)
                for (int by = 0; by < 3; by++)
                    if (intersect(f, entry, r.sides[c], &v) && settle_by(f, x, table, at, v + BY[by], again))
                        return true;
            tp_table_bounds(f->c.k, &f->c.k->tables[table], f->c.env, &lo, &hi);
            if (again && !f->c.k->tables[table].sorted && look(f, x, table, at, lo, hi)) /* an index */
                return true;
        }
    return false;
}

static bool mend_carefully(finder *f)
{
    f->log.len = 0;
    tp_spend(f->c.arena, 100);
    return f->c.broken && settle(f, f->c.broken, true);
}

/* Mend instance by instance, going on from the one that was mended; what that
 * broke of those before, or of a table alone, is found when all are looked at
 * once more. */
static bool repair_all(finder *f)
{
    enum { MENDS = 200, CAREFUL = 64 };
    int64_t left = (MENDS + tp_tables_entries(f->c.k, f->c.env)) * (f->careful ? CAREFUL : 1);
    f->c.from = NULL;
    while (left-- > 0 && f->c.work <= f->c.most) {
        bool all = !f->c.from;
        if (hold(&f->c)) {
            if (all)
                return true;
            continue; /* from the first one */
        }
        if (f->careful ? !mend_carefully(f) : !mend(f))
            return false;
        f->c.from = f->c.broken;
        for (uint32_t b = 0; b < f->c.broken->nbound; b++)
            f->c.at[b] = f->c.env[f->c.broken->bound[b]];
    }
    return false;
}

bool tp_tables_find(tp_arena *a, const tp_kernel *k, int64_t *env, const tp_table_entry *fixed, uint32_t nfixed,
                    uint64_t seed, tp_contract_at *broken)
{
    int64_t work = TP_TABLES_WORK;
    return tp_tables_search(a, k, env, fixed, nfixed, seed, &work, broken);
}

/* Room for all tables, and what is fixed in them. */
static bool begin(finder *f, const tp_table_entry *fixed, uint32_t nfixed)
{
    const tp_kernel *k = f->c.k;
    tp_arena *a = f->c.arena;
    tp_str why;
    if (!tp_tables_new(a, k, f->c.env, &why))
        return false;
    f->fixed = TP_NEWN(a, bool *, k->ntables);
    f->moved = TP_NEWN(a, bool *, k->ntables);
    for (uint32_t t = 0; t < k->ntables; t++) {
        size_t n = (size_t)tp_entries_of(data_of(k, f->c.env, t));
        f->fixed[t] = TP_NEWN(a, bool, n + 1);
        f->moved[t] = TP_NEWN(a, bool, n + 1);
        for (size_t i = 0; !tp_table_is_open(&k->tables[t]) && i < n; i++)
            f->fixed[t][i] = true;
    }
    for (uint32_t i = 0; i < nfixed; i++) {
        tp_table_data *d = data_of(k, f->c.env, fixed[i].table);
        int64_t at = offset_of(d, fixed[i].index);
        if (at >= 0 && k->tables[fixed[i].table].prepared) /* asked of the result */
            continue;
        if (at < 0 || (f->fixed[fixed[i].table][at] && d->at[at] != fixed[i].value))
            return false;
        f->fixed[fixed[i].table][at] = true;
        d->at[at] = fixed[i].value;
    }
    return true;
}

/* Are these entries what they must be? */
static bool has_entries(const finder *f, const tp_table_entry *fixed, uint32_t nfixed)
{
    bool all = true;
    for (uint32_t i = 0; i < nfixed && all; i++) {
        const tp_table_data *d = data_of(f->c.k, f->c.env, fixed[i].table);
        all = d->at[offset_of(d, fixed[i].index)] == fixed[i].value;
    }
    return all;
}

/* Contents of the open tables in this round, and what "prepare" makes of them. *why: what is wrong with the program,
 * which fails, or breaks a contract, on contents that it does not refuse. False: nothing that keeps all contracts. */
static bool try_prepared(finder *f, const tp_table_entry *fixed, uint32_t nfixed, int round, bool any, tp_str *why)
{
    const tp_kernel *k = f->c.k;
    tp_str said = {NULL, 0};
    *why = said;
    if (!begin(f, fixed, nfixed))
        return false;
    for (uint32_t t = 0; t < k->ntables; t++)
        if (tp_table_is_open(&k->tables[t]))
            guess(f, t, round, any);
    f->c.before = true;
    bool found = repair_all(f);
    f->c.before = false;
    f->c.from = NULL;
    tp_prepared ran = found ? tp_prepare(f->c.arena, k, f->c.env, &f->c.work, &said) : TP_PREPARE_REFUSES;
    if (ran == TP_PREPARED && hold(&f->c))
        return true;
    if (ran == TP_PREPARED) { /* once more, for the words */
        f->c.quiet = false;
        hold(&f->c);
        f->c.quiet = true;
        said = f->c.why;
    }
    if (ran != TP_PREPARE_REFUSES)
        *why = said;
    return false;
}

static bool search_prepared(finder *f, const tp_table_entry *fixed, uint32_t nfixed, uint64_t seed)
{
    enum { ROUNDS = 48, VARIED = 24 };
    bool found = false;
    tp_str why;
    for (int round = 0; round < ROUNDS && !found && f->c.work <= f->c.most; round++)
        found = try_prepared(f, fixed, nfixed, seed ? round - VARIED : round, seed && round < VARIED, &why) &&
                has_entries(f, fixed, nfixed);
    return found;
}

bool tp_prepare_keeps(tp_arena *a, const tp_kernel *k, int64_t *env, uint64_t seed, tp_str *why)
{
    enum { DRAWS = 24, LEAST_FORMS = 2 }; /* the least, ascending ones, then by chance */
    finder f = {.c = {.arena = a, .k = k, .env = env, .quiet = true, .most = TP_TABLES_WORK / 4},
                .rng = tp_rng_new(seed, 0x70726570)};
    *why = (tp_str){NULL, 0};
    for (int i = 0; k->prepare && i < DRAWS && !why->n && f.c.work <= f.c.most; i++)
        try_prepared(&f, NULL, 0, i, i >= LEAST_FORMS, why);
    return !why->n;
}

bool tp_tables_search(tp_arena *a, const tp_kernel *k, int64_t *env, const tp_table_entry *fixed, uint32_t nfixed,
                      uint64_t seed, int64_t *work, tp_contract_at *broken)
{
    enum { ROUNDS = 24, VARIED = 6 };
    finder f = {.c = {.arena = a, .k = k, .env = env, .quiet = true, .most = *work},
                .rng = tp_rng_new(seed, 0x7461626c)};
    bool found = false;
    if (broken)
        broken->contract = NULL;
    if (!begin(&f, fixed, nfixed))
        return false;
    found = k->prepare && search_prepared(&f, fixed, nfixed, seed);
    for (int round = 0; round < ROUNDS && !found && !k->prepare && f.c.work <= f.c.most; round++) {
        for (uint32_t t = 0; t < k->ntables; t++)
            guess(&f, t, seed ? round - VARIED : round, seed && round < VARIED); /* a seed asks for variety */
        found = repair_all(&f);
    }
    *work -= f.c.work;
    if (found)
        return true;
    for (uint32_t b = 0; broken && (broken->contract = f.c.broken) && b < f.c.broken->nbound; b++)
        broken->at[b] = env[f.c.broken->bound[b]];
    return false;
}

bool tp_tables_search_carefully(tp_arena *a, const tp_kernel *k, int64_t *env, const tp_table_entry *fixed,
                                uint32_t nfixed, uint64_t seed, int64_t *work)
{
    enum { ROUNDS = 8 };
    finder f = {.c = {.arena = a, .k = k, .env = env, .quiet = true, .most = *work},
                .rng = tp_rng_new(seed, 0x63617265)};
    bool found = false;
    if (k->prepare || !begin(&f, fixed, nfixed))
        return false;
    f.careful = true;
    for (int round = 0; round < ROUNDS && !found && f.c.work < *work; round++) {
        f.c.most = f.c.work + (*work - f.c.work) / (ROUNDS - round); /* each its share of what is left */
        f.spread = ((uint64_t)round + seed) % 2;
        for (uint32_t t = 0; t < k->ntables; t++) {
            guess(&f, t, round < 2 ? 0 : round, false);
            memset(f.moved[t], 0, (size_t)tp_entries_of(data_of(k, env, t)));
        }
        found = repair_all(&f);
    }
    *work -= f.c.work;
    return found;
}
