/* Regular contents for tables that contracts tie together. */
#include <stdlib.h>

#include "base/checked.h"
#include "base/rng.h"
#include "spec/table.h"

/* Entry i: what its contracts ask of it; the least; i; the greatest but for entry 0; spread evenly over all that it may
 * be; at random, ascending where the table is sorted; then with each constant c of the contracts: i / c, i c, i c / 2,
 * all multiples of c among others at random; then, sampled evenly, the entries of each other table. */
typedef enum form { CHOSEN, LEAST, COUNT, GREATEST, EVEN, RANDOM, FORMS } form;
typedef enum form_of_constant { OVER, TIMES, HALVES, EDGES, FORMS_OF_CONSTANT } form_of_constant;
enum { CONSTANTS = 4, MOST_FORMS = 64 };

typedef struct regular {
    tp_arena *arena;
    const tp_kernel *k;
    int64_t *env;
    const tp_table_entry *fixed;
    uint32_t nfixed;
    bool *done;   /* by table: it has contents */
    int64_t rest; /* of the work */
    int64_t constants[CONSTANTS];
    uint32_t nconstants;
    tp_rng rng;
    bool shuffled; /* forms come in an order by chance */
} regular;

static void find_constants(regular *g, tp_expr e)
{
    if (!e.id)
        return;
    const tp_expr_node n = *tp_expr_get(g->k->exprs, e);
    bool fresh = n.op == TP_E_CONST && n.value > 1 && g->nconstants < CONSTANTS;
    for (uint32_t i = 0; i < g->nconstants; i++)
        fresh &= g->constants[i] != n.value;
    if (fresh)
        g->constants[g->nconstants++] = n.value;
    find_constants(g, n.a);
    find_constants(g, n.b);
    find_constants(g, n.c);
}

/* Part i of n - 1 of the way from lo to hi. */
static int64_t evenly(int64_t lo, int64_t hi, int64_t i, int64_t n)
{
    return n > 1 ? lo + (int64_t)((double)(hi - lo) * (double)i / (double)(n - 1)) : lo;
}

static int64_t anywhere(regular *g, int64_t lo, int64_t hi)
{
    return lo < hi ? lo + (int64_t)tp_rng_below(&g->rng, (uint64_t)hi - (uint64_t)lo + 1) : lo;
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static int64_t by_constant(form_of_constant how, int64_t i, int64_t c, int64_t hi)
{
    int64_t v = 0;
    switch (how) {
    case OVER: return i / c;
    case TIMES:
    case EDGES: return tp_mul(i, c, &v) ? v : hi;
    case HALVES: return tp_mul(i, c / 2, &v) ? v : hi;
    case FORMS_OF_CONSTANT: break;
    }
    return v;
}

static int64_t entry_of(regular *g, form how, bool sorted, int64_t i, int64_t n, int64_t lo, int64_t hi)
{
    switch (how) {
    case CHOSEN:
    case LEAST: return lo;
    case COUNT: return clamp(i, lo, hi);
    case GREATEST: return i == 0 ? lo : hi;
    case EVEN: return evenly(lo, hi, i, n);
    case RANDOM: /* sorted: between its even place and the next one's */
        return sorted ? anywhere(g, evenly(lo, hi, i, n), evenly(lo, hi, i + 1 < n ? i + 1 : i, n))
                      : anywhere(g, lo, hi);
    case FORMS: break;
    }
    return lo;
}

static int ascending(const void *x, const void *y)
{
    const int64_t *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

static void fill_by_constant(regular *g, form_of_constant how, int64_t c, tp_table_data *d, int64_t lo, int64_t hi)
{
    int64_t n = tp_entries_of(d), edges = hi / c + 2;
    for (int64_t i = 0; i < n; i++)
        d->at[i] = how == EDGES && i >= edges ? anywhere(g, lo, hi) : clamp(by_constant(how, i, c, hi), lo, hi);
    if (how == EDGES)
        qsort(d->at, (size_t)n, sizeof *d->at, ascending);
}

/* Entries of another table that has contents, at even distances; false: it has none. */
static bool sample(const regular *g, uint32_t from, tp_table_data *d, int64_t lo, int64_t hi)
{
    const tp_table_data *other = tp_bound_table(g->env, g->k->tables[from].sym);
    int64_t n = tp_entries_of(d), m = tp_entries_of(other);
    for (int64_t i = 0; i < n && g->done[from] && m > 0; i++)
        d->at[i] = clamp(other->at[evenly(0, m - 1, i, n)], lo, hi);
    return g->done[from] && m > 0;
}

static bool fill_by(regular *g, uint32_t table, uint32_t how, int64_t lo, int64_t hi)
{
    const tp_table *t = &g->k->tables[table];
    tp_table_data *d = tp_bound_table(g->env, t->sym);
    uint32_t beyond = how - FORMS, of_constants = FORMS_OF_CONSTANT * g->nconstants;
    int64_t n = tp_entries_of(d);
    if (t->contents)
        memcpy(d->at, t->contents->at, (size_t)n * sizeof *d->at);
    else if (how >= FORMS + of_constants)
        return sample(g, beyond - of_constants, d, lo, hi);
    else if (how >= FORMS)
        fill_by_constant(g, (form_of_constant)(beyond % FORMS_OF_CONSTANT), g->constants[beyond / FORMS_OF_CONSTANT], d,
                         lo, hi);
    for (int64_t i = 0; i < n && how < FORMS && !t->contents; i++)
        d->at[i] = entry_of(g, (form)how, t->sorted, i, n, lo, hi);
    return true;
}

/* False: the table has no such entry. */
static bool put_fixed(const regular *g, const tp_table_entry *f, tp_table_data *d)
{
    int64_t at = 0;
    for (uint32_t x = 0; x < d->rank; x++) {
        if (f->index[x] < 0 || f->index[x] >= d->dims[x])
            return false;
        at = at * d->dims[x] + f->index[x];
    }
    for (int64_t i = at; g->k->tables[f->table].sorted && i-- > 0 && d->at[i] > f->value;)
        d->at[i] = f->value;
    for (int64_t i = at, n = tp_entries_of(d); i < n && (i == at || g->k->tables[f->table].sorted); i++)
        d->at[i] = i == at || d->at[i] < f->value ? f->value : d->at[i];
    return true;
}

/* False: it breaks what the table alone says. */
static bool fill(regular *g, uint32_t table, uint32_t how)
{
    const tp_table *t = &g->k->tables[table];
    tp_table_data *d = tp_bound_table(g->env, t->sym);
    int64_t lo, hi, n = tp_entries_of(d);
    tp_table_bounds(g->k, t, g->env, &lo, &hi);
    g->rest -= n / 16 + 1;
    tp_spend(g->arena, n / 2);
    if (lo > hi || !fill_by(g, table, how, lo, hi))
        return false;
    bool fits = true;
    for (uint32_t f = 0; f < g->nfixed; f++)
        fits &= g->fixed[f].table != table || put_fixed(g, &g->fixed[f], d);
    for (int64_t i = 1; i < n && t->sorted; i++)
        fits &= d->at[i - 1] <= d->at[i];
    return fits;
}

/* All instances of a contract, from its bound symbol number `bound` on. */
static bool holds(regular *g, const tp_contract *x, uint32_t bound)
{
    int64_t n, v;
    if (bound == x->nbound) {
        tp_eval_error e = tp_expr_eval(g->k->exprs, x->fact, g->env, &v);
        return e == TP_EVAL_TABLE || (e == TP_EVAL_OK && v);
    }
    if (tp_expr_eval(g->k->exprs, x->extent[bound], g->env, &n) != TP_EVAL_OK)
        n = 0;
    for (int64_t i = 0; i < n; i++) {
        tp_spend(g->arena, 8);
        g->env[x->bound[bound]] = i;
        if (--g->rest < 0 || !holds(g, x, bound + 1))
            return false;
    }
    return true;
}

/* Does a contract speak of this table, and else of tables alone that have contents? */
static bool completes(const regular *g, const tp_contract *x, uint32_t table)
{
    const tp_exprs *p = g->k->exprs;
    bool all = tp_expr_mentions(p, x->fact, g->k->tables[table].sym);
    for (uint32_t t = 0; t < g->k->ntables; t++)
        all &= t == table || g->done[t] || !tp_expr_mentions(p, x->fact, g->k->tables[t].sym);
    return all;
}

/* The table that completes most contracts; of those, the one of which most speak. */
static uint32_t next_table(const regular *g)
{
    enum { WHOLE = 64 };
    uint32_t best = g->k->ntables, most = 0;
    for (uint32_t t = 0; t < g->k->ntables; t++) {
        uint32_t value = 1;
        for (uint32_t i = 0; i < g->k->ncontracts; i++) {
            const tp_contract *x = &g->k->contracts[i];
            value += completes(g, x, t) ? WHOLE : tp_expr_mentions(g->k->exprs, x->fact, g->k->tables[t].sym) ? 1 : 0;
        }
        if (!g->done[t] && value > most) {
            most = value;
            best = t;
        }
    }
    return best;
}

/* Do the contracts that the table completes hold at index i of their one bound symbol? */
static bool fits_at(regular *g, uint32_t table, int64_t i)
{
    int64_t n, v;
    for (uint32_t c = 0; c < g->k->ncontracts; c++) {
        const tp_contract *x = &g->k->contracts[c];
        if (x->nbound != 1 || !completes(g, x, table) ||
            tp_expr_eval(g->k->exprs, x->extent[0], g->env, &n) != TP_EVAL_OK || i >= n)
            continue;
        g->env[x->bound[0]] = i;
        tp_eval_error e = tp_expr_eval(g->k->exprs, x->fact, g->env, &v);
        if (e != TP_EVAL_TABLE && (e != TP_EVAL_OK || !v))
            return false;
    }
    return true;
}

static const tp_table_entry *fixed_at(const regular *g, uint32_t table, int64_t i)
{
    for (uint32_t f = 0; f < g->nfixed; f++)
        if (g->fixed[f].table == table && g->k->tables[table].rank == 1 && g->fixed[f].index[0] == i)
            return &g->fixed[f];
    return NULL;
}

/* Entry by entry the first value that the contracts allow, from that of the entry before it on. */
static bool choose(regular *g, uint32_t table)
{
    const tp_table *t = &g->k->tables[table];
    tp_table_data *d = tp_bound_table(g->env, t->sym);
    int64_t lo, hi, n = tp_entries_of(d), v;
    tp_table_bounds(g->k, t, g->env, &lo, &hi);
    if (t->contents || lo > hi)
        return false;
    v = lo;
    for (int64_t i = 0; i < n; i++) {
        const tp_table_entry *fixed = fixed_at(g, table, i);
        int64_t first = v;
        if (fixed && t->sorted && fixed->value < v)
            return false;
        v = fixed ? fixed->value : v;
        for (d->at[i] = v; !fits_at(g, table, i); d->at[i] = v) {
            tp_spend(g->arena, 8);
            v = v < hi ? v + 1 : lo;
            if (fixed || v == first || (v == lo && t->sorted) || --g->rest < 0)
                return false;
        }
    }
    return true;
}

/* Forms in the order in which they are tried. */
static uint32_t order_forms(regular *g, uint32_t *order)
{
    uint32_t n = FORMS + FORMS_OF_CONSTANT * g->nconstants + g->k->ntables;
    n = n < MOST_FORMS ? n : MOST_FORMS;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; g->shuffled && i > 2; i--) { /* what contracts ask for stays the first */
        uint32_t j = 1 + (uint32_t)tp_rng_below(&g->rng, i - 1), last = order[i - 1];
        order[i - 1] = order[j];
        order[j] = last;
    }
    return n;
}

/* Do the contracts hold that this table completes? None: *any is false. */
static bool hold_completed(regular *g, uint32_t table, bool *any)
{
    *any = false;
    for (uint32_t c = 0; c < g->k->ncontracts; c++) {
        const tp_contract *x = &g->k->contracts[c];
        if (!completes(g, x, table))
            continue;
        *any = true;
        if (!holds(g, x, 0))
            return false;
    }
    return true;
}

static bool find(regular *g)
{
    uint32_t table = next_table(g), order[MOST_FORMS];
    if (table == g->k->ntables)
        return true;
    for (uint32_t i = 0, n = order_forms(g, order); i < n && g->rest > 0; i++) {
        bool any, fits = order[i] == CHOSEN ? choose(g, table) : fill(g, table, order[i]);
        fits = fits && hold_completed(g, table, &any) && (any || order[i] != CHOSEN);
        g->done[table] = true;
        if (fits && find(g))
            return true;
        g->done[table] = false;
    }
    return false;
}

bool tp_tables_search_regular(tp_arena *a, const tp_kernel *k, int64_t *env, const tp_table_entry *fixed,
                              uint32_t nfixed, uint64_t seed, int64_t *work)
{
    regular g = {.arena = a,
                 .k = k,
                 .env = env,
                 .fixed = fixed,
                 .nfixed = nfixed,
                 .rest = *work,
                 .rng = tp_rng_new(seed, 0x72656775),
                 .shuffled = seed != 0};
    tp_str why;
    g.done = TP_NEWN(a, bool, k->ntables + 1);
    if (k->prepare || !tp_tables_new(a, k, env, &why))
        return false;
    for (uint32_t i = 0; i < k->ncontracts; i++)
        find_constants(&g, k->contracts[i].fact);
    bool found = find(&g) && tp_tables_hold(a, k, env, &why);
    *work = g.rest > 0 ? g.rest : 0;
    return found;
}
