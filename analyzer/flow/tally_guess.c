/* What a counter holds at a place, as an expression: by class of step (the first few, residues, conditions of the body)
 * an affine one over axes, turns and sizes, of what was seen there at small sizes (tally.c). */
#include "analyzer/flow/tally.h"

enum {
    MOST_COLUMNS = 48,
    MOST_KEYS = 16,
    MOST_CLASSES = 48,
};

/* Large, and of two residues the product is an int64. */
static const int64_t PRIME = INT32_MAX;

static int64_t times(int64_t a, int64_t b)
{
    return a * b % PRIME;
}

static int64_t residue(int64_t a)
{
    a %= PRIME;
    return a < 0 ? a + PRIME : a;
}

static int64_t inverse(int64_t a)
{
    int64_t r = 1;
    for (int64_t e = PRIME - 2; e; e >>= 1, a = times(a, a))
        r = e & 1 ? times(r, a) : r;
    return r;
}

/* Linear equations modulo PRIME, reduced: row i has its first coefficient, 1, in column i. */
typedef struct equations {
    int64_t row[MOST_COLUMNS][MOST_COLUMNS + 1];
    bool has[MOST_COLUMNS];
} equations;

/* False: it contradicts the others. */
static bool add_equation(equations *q, uint32_t n, int64_t *row)
{
    for (uint32_t c = 0; c < n; c++) {
        if (!row[c])
            continue;
        int64_t by = q->has[c] ? row[c] : inverse(row[c]);
        for (uint32_t i = 0; i <= n; i++)
            row[i] = q->has[c] ? residue(row[i] - times(by, q->row[c][i])) : times(by, row[i]);
        if (!q->has[c]) {
            memcpy(q->row[c], row, (n + 1) * sizeof *row);
            return q->has[c] = true;
        }
    }
    return !row[n];
}

/* A solution, the least in absolute value that these residues may stand for, and zero where there is a choice. */
static void solve(const equations *q, uint32_t n, int64_t *out)
{
    for (uint32_t c = n; c-- > 0;) {
        int64_t v = q->has[c] ? q->row[c][n] : 0;
        for (uint32_t i = c + 1; q->has[c] && i < n; i++)
            v = residue(v - times(q->row[c][i], residue(out[i])));
        out[c] = v > PRIME / 2 ? v - PRIME : v;
    }
}

typedef struct guessing {
    tally *t;
    uint32_t place;
    tp_expr columns[MOST_COLUMNS], keys[MOST_KEYS];
    uint32_t ncolumns, nkeys;
    int64_t first; /* keys that are variables tell values below this from each other, and from the rest */
    bool variable[MOST_KEYS];
} guessing;

static void add_column(guessing *g, tp_expr e)
{
    e = tp_expr_normal(g->t->x->a->p, e);
    bool there = false;
    for (uint32_t i = 0; i < g->ncolumns; i++)
        there |= tp_same(g->columns[i], e);
    if (!there && g->ncolumns < MOST_COLUMNS)
        g->columns[g->ncolumns++] = e;
}

/* Is all that e speaks of known at the place: no turn of a loop that is not around it? */
static bool known_at(const guessing *g, tp_expr e)
{
    const proof *x = g->t->x;
    for (uint32_t i = 0; i < x->f->vars.len; i++) {
        uint32_t sym = x->f->vars.at[i].sym;
        bool around = false;
        for (uint32_t k = 0; k < g->place; k++) {
            const tp_flow_event *l = &x->f->events.at[k];
            around |= l->kind == TP_FLOW_LOOP && flight_loop_end(x->f, k) >= g->place &&
                      tp_expr_get(x->a->p, l->counter.start[0])->value == sym;
        }
        if (!around && tp_expr_mentions(x->a->p, e, sym))
            return false;
    }
    return !tp_expr_too_large(e);
}

/* Variables of the place, the inner ones first: turns, axes, sizes. */
static uint32_t variables_at(const guessing *g, tp_expr *out, uint32_t room, bool sizes)
{
    const proof *x = g->t->x;
    uint32_t n = 0;
    for (uint32_t i = x->f->vars.len; i-- > 0 && n < room;)
        if (known_at(g, tp_sym(x->a->p, x->f->vars.at[i].sym)))
            out[n++] = tp_sym(x->a->p, x->f->vars.at[i].sym);
    for (uint32_t i = x->a->k->naxes; i-- > 0 && n < room;)
        out[n++] = tp_sym(x->a->p, x->a->k->axes[i].sym);
    for (uint32_t i = 0; i < g->t->nany && n < room; i++)
        out[n++] = tp_sym(x->a->p, g->t->any[i].sym);
    for (uint32_t i = 0; sizes && i < x->a->nsizes && n < room; i++)
        out[n++] = tp_sym(x->a->p, x->a->vars[i].sym);
    return n;
}

/* Where residues tell which counter it is, the sums are a part of the turns: x // m. */
static void add_quotients(tp_analysis *a, tp_expr sub, tp_expr path, void *ctx)
{
    (void)path;
    guessing *g = ctx;
    int64_t m;
    const tp_expr_node n = *tp_expr_get(a->p, sub);
    if (n.op == TP_E_MOD && tp_expr_is_const(a->p, n.b, &m) && m <= MOST_ELEMENTS && known_at(g, n.a))
        add_column(g, tp_op2(a->p, TP_E_FLOORDIV, n.a, n.b));
}

/* What an affine guess is made of: what statements count, by variables and by how often loops turn. */
static void find_columns(guessing *g)
{
    enum { ROOM = 24 };
    proof *x = g->t->x;
    tp_exprs *p = x->a->p;
    tp_expr factor[ROOM] = {tp_const(p, 1)}, unit[ROOM] = {tp_const(p, 1)};
    uint32_t nunits = 1, nfactors = 1 + variables_at(g, factor + 1, ROOM / 2, true);
    int64_t v;
    for (uint32_t i = 0; i < x->f->events.len; i++) {
        const tp_flow_event *e = &x->f->events.at[i];
        if (tally_counts(g->t, e) && !tp_expr_is_const(p, tp_expr_normal(p, tally_amount(g->t, e)), &v) &&
            known_at(g, e->bits) && nunits < ROOM)
            unit[nunits++] = e->bits;
        if (e->kind == TP_FLOW_LOOP && e->bits.id && known_at(g, e->bits) && nfactors < ROOM)
            factor[nfactors++] = e->bits;
    }
    for (uint32_t u = 0; u < nunits; u++)
        for (uint32_t k = 0; k < nfactors; k++)
            add_column(g, tp_op2(p, TP_E_MUL, unit[u], factor[k]));
    for (uint32_t i = 0; g->t->before && i < x->f->events.len; i++)
        for (uint32_t d = 0; tally_counts(g->t, &x->f->events.at[i]) && d < x->f->events.at[i].counter.rank; d++)
            tp_visit_subterms(x->a, x->f->events.at[i].counter.start[d], tp_const(p, 1), add_quotients, g);
}

static void add_key(guessing *g, tp_expr e, bool variable)
{
    bool there = !known_at(g, e);
    for (uint32_t i = 0; i < g->nkeys; i++)
        there |= tp_same(g->keys[i], e);
    if (there || g->nkeys == MOST_KEYS)
        return;
    g->variable[g->nkeys] = variable;
    g->keys[g->nkeys++] = e;
}

/* x % m, if no key is that of x and a constant. */
static void add_residues(tp_analysis *a, tp_expr sub, tp_expr path, void *ctx)
{
    (void)path;
    guessing *g = ctx;
    int64_t m;
    const tp_expr_node n = *tp_expr_get(a->p, sub);
    if (n.op != TP_E_MOD || !tp_expr_is_const(a->p, n.b, &m) || m > MOST_ELEMENTS)
        return;
    for (uint32_t i = 0; i < g->nkeys; i++) {
        const tp_expr_node k = *tp_expr_get(a->p, g->keys[i]);
        int64_t by;
        if (k.op == TP_E_MOD && tp_same(k.b, n.b) &&
            tp_expr_is_const(a->p, tp_expr_normal(a->p, tp_op2(a->p, TP_E_SUB, k.a, n.a)), &by))
            return;
    }
    add_key(g, sub, false);
}

/* What tells classes of steps from each other, the finer the higher the level. */
static void find_keys(guessing *g, bool first, bool residues, bool conditions)
{
    enum { ROOM = 96 };
    const proof *x = g->t->x;
    tp_exprs *p = x->a->p;
    tp_expr all[ROOM];
    g->nkeys = 0;
    uint32_t n = first ? variables_at(g, all, MOST_KEYS, false) : 0;
    for (uint32_t i = 0; i < n; i++)
        add_key(g, all[i], true);
    for (uint32_t i = 0; i < x->f->events.len; i++) {
        const tp_flow_event *e = &x->f->events.at[i];
        if (!tally_counts(g->t, e))
            continue;
        for (uint32_t d = 0; residues && d < e->counter.rank; d++)
            tp_visit_subterms(x->a, e->counter.start[d], tp_const(p, 1), add_residues, g);
        if (residues)
            tp_visit_subterms(x->a, e->path, tp_const(p, 1), add_residues, g);
        n = conditions ? tp_conjuncts(x->a, e->path, all, ROOM) : 0;
        for (uint32_t k = 0; k < n; k++)
            add_key(g, all[k], false);
        for (uint32_t d = 0; conditions && g->t->nany && d < e->counter.rank; d++)
            add_key(g, tp_op2(p, TP_E_LT, g->t->at[d], e->counter.start[d]), false);
    }
}

typedef struct step_class {
    int64_t key[MOST_KEYS];
    equations q;
    uint32_t n;
    tp_expr fit;
} step_class;

static bool key_of(const guessing *g, const int64_t *env, int64_t *key)
{
    bool good = true;
    for (uint32_t i = 0; i < g->nkeys && good; i++) {
        good = tally_evaluates(g->t, g->keys[i], env, &key[i]);
        if (g->variable[i] && key[i] > g->first)
            key[i] = g->first;
    }
    return good;
}

/* The class of these values; a new one, if there is none. NULL: too many. */
static step_class *class_of(const guessing *g, step_class *all, uint32_t *n, const int64_t *env)
{
    int64_t key[MOST_KEYS] = {0};
    if (!key_of(g, env, key))
        return NULL;
    for (uint32_t i = 0; i < *n; i++)
        if (memcmp(all[i].key, key, sizeof key) == 0)
            return &all[i];
    if (*n == MOST_CLASSES)
        return NULL;
    memset(&all[*n], 0, sizeof *all);
    memcpy(all[*n].key, key, sizeof key);
    return &all[(*n)++];
}

static tp_expr condition_of(const guessing *g, const step_class *c)
{
    tp_exprs *p = g->t->x->a->p;
    tp_expr all = tp_const(p, 1);
    for (uint32_t i = 0; i < g->nkeys; i++) {
        tp_expr_op op = g->variable[i] && c->key[i] == g->first ? TP_E_GE : TP_E_EQ;
        tp_expr one = !g->variable[i] && tp_expr_is_bool(p, g->keys[i])
                          ? (c->key[i] ? g->keys[i] : tp_op1(p, TP_E_NOT, g->keys[i]))
                          : tp_op2(p, op, g->keys[i], tp_const(p, c->key[i]));
        all = tp_op2(p, TP_E_AND, all, one);
    }
    return all;
}

static void fit_class(const guessing *g, step_class *c)
{
    tp_exprs *p = g->t->x->a->p;
    int64_t by[MOST_COLUMNS];
    tp_expr sum = tp_const(p, 0);
    solve(&c->q, g->ncolumns, by);
    for (uint32_t i = 0; i < g->ncolumns; i++)
        sum = tp_op2(p, TP_E_ADD, sum, tp_op2(p, TP_E_MUL, tp_const(p, by[i]), g->columns[i]));
    c->fit = tp_expr_normal(p, sum);
}

/* What was seen at the place as an expression, by these keys; no id: it is none. */
static tp_expr fit_by_classes(const guessing *g)
{
    const sightings *seen = &g->t->seen[g->place];
    step_class *all = TP_NEWN(g->t->work, step_class, MOST_CLASSES);
    uint32_t n = 0, most = 0;
    for (uint32_t i = 0; i < seen->len; i++) {
        step_class *c = class_of(g, all, &n, seen->at[i].env);
        int64_t row[MOST_COLUMNS + 1];
        for (uint32_t k = 0; c && k < g->ncolumns; k++) {
            if (!tally_evaluates(g->t, g->columns[k], seen->at[i].env, &row[k]))
                return (tp_expr){0};
            row[k] = residue(row[k]);
        }
        row[g->ncolumns] = residue(seen->at[i].held);
        if (!c || !add_equation(&c->q, g->ncolumns, row))
            return (tp_expr){0};
        c->n++;
    }
    for (uint32_t i = 0; i < n; i++) {
        fit_class(g, &all[i]);
        most = all[i].n > all[most].n ? i : most;
    }
    tp_expr e = n ? all[most].fit : tp_const(g->t->x->a->p, 0);
    for (uint32_t i = 0; i < n; i++)
        if (!tp_same(all[i].fit, all[most].fit))
            e = tp_ite(g->t->x->a->p, condition_of(g, &all[i]), all[i].fit, e);
    for (uint32_t i = 0; i < seen->len; i++) { /* not only modulo PRIME */
        int64_t v;
        if (!tally_evaluates(g->t, e, seen->at[i].env, &v) || v != seen->at[i].held)
            return (tp_expr){0};
    }
    return e;
}

tp_expr tally_guess(tally *t, uint32_t place)
{
    static const struct {
        int64_t first;
        bool residues, conditions;
    } LEVELS[] = {{0, false, false}, {1, false, false}, {0, true, false},  {1, true, false},
                  {0, false, true},  {0, true, true},   {1, false, true},  {1, true, true},
                  {2, false, false}, {2, true, false},  {3, false, false}, {3, true, true}};
    guessing g = {.t = t, .place = place};
    tp_expr e = {0};
    find_columns(&g);
    for (uint32_t i = 0; i < sizeof LEVELS / sizeof *LEVELS && !e.id; i++) {
        g.first = LEVELS[i].first;
        find_keys(&g, g.first > 0, LEVELS[i].residues, LEVELS[i].conditions);
        e = fit_by_classes(&g);
    }
    return e;
}
