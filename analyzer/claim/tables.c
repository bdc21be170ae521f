/* Claims that read prefetched tables. Each read becomes a variable of its own
 * (Ackermann's reduction): equal indices give equal entries, "values" are its
 * bounds, "sorted" and the contracts are instantiated at the entries that are
 * spoken of. What comes out reads no table, so the prover knows none; leaving
 * an instance out loses proofs, never soundness. */
#include "analyzer/claim/claim.h"
#include "spec/table.h"

enum {
    MAX_INSTANCES = 48,
    MAX_CANDIDATES = 8,
    MAX_PREMISES = 512,
    MAX_READABLE = 150,
    MAX_ASKED = 1500,
    QUICK_WORK = 100000
};

/* The entry that key (a read whose indices read nothing) stands for. */
typedef struct closing {
    tp_analysis *a;
    tp_table_reads *reads;
    tp_expr premises[MAX_PREMISES];
    uint32_t npremises;
} closing;

static const tp_table *table_of(const tp_analysis *a, tp_expr read)
{
    for (uint32_t t = 0; t < a->k->ntables; t++)
        if (a->k->tables[t].sym == (uint32_t)tp_expr_get(a->p, read)->value)
            return &a->k->tables[t];
    for (uint32_t i = 0; i < a->k->ninputs; i++)
        if (a->k->operands[i].entries && a->k->operands[i].entries->sym == (uint32_t)tp_expr_get(a->p, read)->value)
            return a->k->operands[i].entries;
    for (uint32_t i = 0; i < a->least.len; i++)
        if (a->least.at[i]->table.sym == (uint32_t)tp_expr_get(a->p, read)->value)
            return &a->least.at[i]->table;
    return NULL;
}

/* Does no case fill it? */
static bool is_least(const tp_analysis *a, const tp_table *t)
{
    bool any = false;
    for (uint32_t i = 0; i < a->least.len && !any; i++)
        any = t == &a->least.at[i]->table;
    return any;
}

/* Its number: that of a table, or behind those that of an input whose elements are read. */
static uint32_t number_of(const tp_analysis *a, const tp_table *t)
{
    for (uint32_t i = 0; i < a->k->ninputs; i++)
        if (a->k->operands[i].entries == t)
            return a->k->ntables + i;
    return (uint32_t)(t - a->k->tables);
}

static bool is_input(const tp_analysis *a, const tp_table *t)
{
    return number_of(a, t) >= a->k->ntables;
}

static tp_expr index_of(const tp_analysis *a, tp_expr read, uint32_t d)
{
    const tp_expr_node *n = tp_expr_get(a->p, read);
    return d == 0 ? n->a : d == 1 ? n->b : n->c;
}

static tp_expr entry(closing *c, tp_expr key)
{
    for (uint32_t i = 0; i < c->reads->len; i++)
        if (tp_same(c->reads->key[i], key))
            return c->reads->entry[i];
    if (c->reads->len == TP_MAX_READS) {
        c->reads->too_many = true;
        return num(c->a, 0);
    }
    c->reads->key[c->reads->len] = key;
    c->reads->entry[c->reads->len] = c->a->entries[c->reads->len];
    return c->reads->entry[c->reads->len++];
}

/* e without reads. */
static tp_expr close_reads(closing *c, tp_expr e)
{
    tp_exprs *p = c->a->p;
    if (!tp_expr_reads(p, e))
        return e;
    const tp_expr_node n = *tp_expr_get(p, e);
    tp_expr x = close_reads(c, n.a), y = close_reads(c, n.b), z = close_reads(c, n.c);
    tp_expr closed = tp_expr_rebuild(p, &n, x, y, z);
    return n.op == TP_E_READ ? entry(c, tp_expr_normal(p, closed)) : closed;
}

static void premise(closing *c, tp_expr e)
{
    int64_t v;
    e = close_reads(c, e);
    if (c->npremises < MAX_PREMISES && !(tp_expr_is_const(c->a->p, e, &v) && v))
        c->premises[c->npremises++] = e;
}

/* Equal indices, equal entries; ascending indices, ascending entries. */
static void relate(closing *c, uint32_t i, uint32_t j)
{
    tp_analysis *a = c->a;
    const tp_table *t = table_of(a, c->reads->key[i]);
    tp_expr equal = num(a, 1), x = c->reads->entry[i], y = c->reads->entry[j];
    if (t != table_of(a, c->reads->key[j]))
        return;
    for (uint32_t d = 0; d < t->rank; d++)
        equal = both(a, equal, mk(a, TP_E_EQ, index_of(a, c->reads->key[i], d), index_of(a, c->reads->key[j], d)));
    premise(c, mk(a, TP_E_IMPLIES, equal, mk(a, TP_E_EQ, x, y)));
    if (!t->sorted)
        return;
    tp_expr at = index_of(a, c->reads->key[i], 0), other = index_of(a, c->reads->key[j], 0);
    premise(c, mk(a, TP_E_IMPLIES, mk(a, TP_E_LE, at, other), mk(a, TP_E_LE, x, y)));
    premise(c, mk(a, TP_E_IMPLIES, mk(a, TP_E_LE, other, at), mk(a, TP_E_LE, y, x)));
}

/* e has a value as far as its reads go: each that must be evaluated is of an
 * entry that exists. `and`, `or` and `implies` may be decided by either side;
 * whoever evaluates more of them than this meets TP103. */
static tp_expr readable_within(tp_analysis *a, tp_expr e, uint32_t most)
{
    const tp_expr_node n = *tp_expr_get(a->p, e);
    if (!tp_expr_reads(a->p, e) || tp_expr_size(a->p, e) > most) /* without it less is known */
        return num(a, 1);
    tp_expr x = readable_within(a, n.a, most), y = readable_within(a, n.b, most), z = readable_within(a, n.c, most);
    if (n.op == TP_E_ITE)
        return tp_and(a->p, x, tp_ite(a->p, n.a, y, z));
    tp_expr all = tp_and(a->p, x, tp_and(a->p, y, z));
    if (n.op == TP_E_AND || n.op == TP_E_OR || n.op == TP_E_IMPLIES) {
        tp_expr no = tp_op1(a->p, TP_E_NOT, n.a);
        tp_expr left = n.op == TP_E_OR ? n.a : no, right = n.op == TP_E_AND ? tp_op1(a->p, TP_E_NOT, n.b) : n.b;
        return tp_or(a->p, all, tp_or(a->p, tp_and(a->p, x, left), tp_and(a->p, y, right)));
    }
    const tp_table *t = n.op == TP_E_READ ? table_of(a, e) : NULL;
    for (uint32_t d = 0; t && d < t->rank; d++) {
        tp_expr index = index_of(a, e, d), extent = d == 0 && t->extent.id ? t->extent : t->shape[d];
        all = tp_and(a->p, all, tp_and(a->p, mk(a, TP_E_GE, index, num(a, 0)), mk(a, TP_E_LT, index, extent)));
    }
    return all;
}

static tp_expr readable(tp_analysis *a, tp_expr e)
{
    return readable_within(a, e, MAX_READABLE);
}

tp_expr tp_readable(tp_analysis *a, tp_expr e)
{
    return tp_expr_size(a->p, e) > MAX_ASKED && tp_expr_reads(a->p, e) ? num(a, 0) : readable_within(a, e, MAX_ASKED);
}

/* ---- contracts ---- */

typedef struct instance {
    const tp_contract *x;
    const tp_table
        *least; /* what a search finds: its first number is that of an entry, another one that of a table's */
    tp_expr at[TP_TABLE_RANK][MAX_CANDIDATES]; /* values worth trying for each bound symbol */
    uint32_t n[TP_TABLE_RANK];
} instance;

/* A read of the fact against an entry of the claim: an index i + 1 against e
 * says that i = e - 1 is worth trying. */
static void match(closing *c, instance *m, tp_expr fact, tp_expr key)
{
    tp_analysis *a = c->a;
    for (uint32_t d = 0; d < table_of(a, key)->rank; d++)
        for (uint32_t b = 0; b < m->x->nbound; b++) {
            tp_expr bound = tp_sym(a->p, m->x->bound[b]),
                    rest = tp_expr_normal(a->p, mk(a, TP_E_SUB, index_of(a, fact, d), bound));
            int64_t apart;
            if (!tp_expr_is_const(a->p, rest, &apart))
                continue;
            if (m->least && (table_of(a, key) == m->least ? b || apart : !b))
                continue;
            tp_expr at = tp_expr_normal(a->p, mk(a, TP_E_SUB, index_of(a, key, d), rest));
            bool known = false;
            for (uint32_t i = 0; i < m->n[b]; i++)
                known |= tp_same(m->at[b][i], at);
            if (!known && m->n[b] < MAX_CANDIDATES)
                m->at[b][m->n[b]++] = at;
        }
}

static void match_reads(closing *c, instance *m, tp_expr e, uint32_t nkeys)
{
    const tp_expr_node n = *tp_expr_get(c->a->p, e);
    if (!e.id)
        return;
    match_reads(c, m, n.a, nkeys);
    match_reads(c, m, n.b, nkeys);
    match_reads(c, m, n.c, nkeys);
    for (uint32_t i = 0; n.op == TP_E_READ && i < nkeys; i++)
        if (table_of(c->a, e) == table_of(c->a, c->reads->key[i]))
            match(c, m, e, c->reads->key[i]);
}

/* What the contract says at these values of its bound symbols. */
static tp_expr contract_fact(tp_analysis *a, const tp_contract *x, tp_expr guard, const tp_expr *with)
{
    tp_expr fact = tp_expr_subst(a->p, x->fact, with, tp_sym_count(a->p));
    return mk(a, TP_E_IMPLIES, both(a, guard, readable(a, fact)), fact);
}

static void instantiate(closing *c, const instance *m, uint32_t bound, tp_expr guard, tp_expr *with, uint32_t *budget)
{
    tp_analysis *a = c->a;
    uint32_t n = tp_sym_count(a->p);
    if (bound == m->x->nbound) {
        if (*budget) {
            --*budget;
            premise(c, contract_fact(a, m->x, guard, with));
        }
        return;
    }
    tp_spend(a->arena, 20);
    for (uint32_t i = 0; i < m->n[bound]; i++) {
        tp_expr at = m->at[bound][i], extent = tp_expr_subst(a->p, m->x->extent[bound], with, n);
        with[m->x->bound[bound]] = at;
        instantiate(c, m, bound + 1, both(a, guard, both(a, mk(a, TP_E_GE, at, num(a, 0)), mk(a, TP_E_LT, at, extent))),
                    with, budget);
    }
    with[m->x->bound[bound]] = (tp_expr){0};
}

static bool speaks_of(const tp_analysis *a, tp_expr e, const tp_table *t)
{
    return t && tp_expr_mentions(a->p, e, t->sym);
}

static void instantiate_contract(closing *c, const tp_contract *x, const tp_table *least, uint32_t nkeys,
                                 uint32_t *budget)
{
    tp_analysis *a = c->a;
    instance m = {.x = x, .least = least};
    bool any = false;
    for (uint32_t i = 0; i < nkeys; i++)
        any |= speaks_of(a, m.x->fact, table_of(a, c->reads->key[i]));
    if (!any)
        return;
    match_reads(c, &m, m.x->fact, nkeys);
    tp_expr *with = TP_NEWN(a->arena, tp_expr, tp_sym_count(a->p));
    instantiate(c, &m, 0, num(a, 1), with, budget);
}

static void instantiate_contracts(closing *c)
{
    const tp_analysis *a = c->a;
    uint32_t budget = MAX_INSTANCES, nkeys = c->reads->len;
    for (uint32_t x = 0; x < a->k->ncontracts; x++)
        instantiate_contract(c, &a->k->contracts[x], NULL, nkeys, &budget);
    for (uint32_t i = 0; i < a->least.len; i++) {
        bool read = false;
        for (uint32_t r = 0; r < nkeys && !read; r++)
            read = table_of(a, c->reads->key[r]) == &a->least.at[i]->table;
        budget = MAX_INSTANCES;
        for (uint32_t x = 0; x < TP_LEAST_FACTS && read; x++)
            instantiate_contract(c, &a->least.at[i]->facts[x], &a->least.at[i]->table, nkeys, &budget);
    }
}

/* ---- obligations ---- */

/* What an entry of t may hold: its dtype, and "values". */
typedef struct bounds {
    tp_expr dtype_lo, dtype_hi, lo, hi;
} bounds;

static bounds bounds_of(tp_analysis *a, const tp_table *t)
{
    bool flag = t->dtype == TP_BOOL;
    bounds b = {num(a, flag ? 0 : tp_dtype_min(t->dtype)), num(a, flag ? 1 : tp_dtype_max(t->dtype)), {0}, {0}};
    b.lo = !t->min.id                             ? b.dtype_lo
           : tp_expr_is_const(a->p, t->min, NULL) ? t->min
                                                  : mk(a, TP_E_MAX, t->min, b.dtype_lo);
    b.hi = !t->max.id                             ? b.dtype_hi
           : tp_expr_is_const(a->p, t->max, NULL) ? t->max
                                                  : mk(a, TP_E_MIN, t->max, b.dtype_hi);
    return b;
}

/* Is there a value between them at all sizes? Else an entry that no step reads
 * (a table without entries) would prove whatever is claimed at that size. */
static bool never_empty(tp_analysis *a, const tp_table *t, const bounds *b)
{
    if (is_least(a, t))
        return true;
    int8_t *known = &a->bounded[number_of(a, t)];
    if (!*known)
        *known = tp_claim_follows(a, &(tp_claim){.goal = mk(a, TP_E_LE, b->lo, b->hi)}) ? 1 : -1;
    return *known > 0;
}

static void entry_variable(tp_analysis *a, const tp_table *t, tp_expr symbol, tp_var *v)
{
    bounds b = bounds_of(a, t);
    bool sure = never_empty(a, t, &b);
    *v = (tp_var){.sym = (uint32_t)tp_expr_get(a->p, symbol)->value, .multiple_of = 1, .step = true};
    v->lo = sure ? b.lo : b.dtype_lo;
    v->hi = sure ? b.hi : b.dtype_hi;
}

/* Bounds that may contradict each other hold for entries that exist. */
static void bound_entry(closing *c, tp_expr key, tp_expr symbol)
{
    tp_analysis *a = c->a;
    const tp_table *t = table_of(a, key);
    bounds b = bounds_of(a, t);
    if (!never_empty(a, t, &b) && !is_input(a, t)) /* TP006 asks this of tables alone */
        premise(c, mk(a, TP_E_IMPLIES, readable(a, key),
                      both(a, mk(a, TP_E_LE, b.lo, symbol), mk(a, TP_E_LE, symbol, b.hi))));
}

/* Did what was built here grow too large? It is thrown away. `flagged`: it
 * was so already, and stays. */
static bool take_overflow(tp_analysis *a, bool flagged)
{
    bool yes = tp_exprs_overflowed(a->p);
    if (!flagged)
        tp_exprs_forget_overflow(a->p);
    return yes;
}

bool tp_close_reads(tp_analysis *a, tp_obligation *o, tp_table_reads *reads, int rounds)
{
    closing c = {.a = a, .reads = reads};
    bool flagged = tp_exprs_overflowed(a->p);
    *reads = (tp_table_reads){.len = 0};
    tp_var *vars = TP_NEWN(a->arena, tp_var, o->nvars + TP_MAX_READS);
    tp_expr goal = close_reads(&c, o->goal);
    for (uint32_t i = 0; i < o->npremises; i++)
        premise(&c, o->premises[i]);
    for (uint32_t i = a->nsizes; i < o->nvars; i++) {
        close_reads(&c, o->vars[i].lo);
        close_reads(&c, o->vars[i].hi);
    }
    if (!reads->len)
        return !take_overflow(a, flagged);
    premise(&c, readable(a, o->goal));
    for (uint32_t i = 0; i < o->npremises; i++)
        premise(&c, readable(a, o->premises[i]));
    for (uint32_t i = a->nsizes; i < o->nvars; i++)
        premise(&c, readable(a, o->vars[i].hi));
    for (int round = 0; round < rounds; round++) {
        for (uint32_t t = 0; t < a->k->ntables && round == 0; t++) /* an extent lies inside its table */
            if (tp_expr_reads(a->p, a->k->tables[t].extent)) {
                premise(&c, mk(a, TP_E_GE, a->k->tables[t].extent, num(a, 0)));
                premise(&c, mk(a, TP_E_LE, a->k->tables[t].extent, a->k->tables[t].shape[0]));
            }
        instantiate_contracts(&c);
    }
    for (uint32_t i = 0; i < reads->len; i++)
        bound_entry(&c, reads->key[i], reads->entry[i]);
    for (uint32_t i = 0; i < reads->len; i++)
        for (uint32_t j = 0; j < i; j++)
            relate(&c, i, j);
    if (take_overflow(a, flagged) || reads->too_many)
        return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->nvars; i++) {
        for (uint32_t r = 0; i == a->nsizes && r < reads->len; r++)
            entry_variable(a, table_of(a, reads->key[r]), reads->entry[r], &vars[n++]);
        vars[n] = o->vars[i];
        vars[n].lo = close_reads(&c, o->vars[i].lo);
        vars[n++].hi = close_reads(&c, o->vars[i].hi);
    }
    for (uint32_t r = 0; o->nvars == a->nsizes && r < reads->len; r++)
        entry_variable(a, table_of(a, reads->key[r]), reads->entry[r], &vars[n++]);
    tp_expr *premises = TP_NEWN(a->arena, tp_expr, c.npremises);
    if (c.npremises)
        memcpy(premises, c.premises, c.npremises * sizeof *premises);
    o->vars = vars;
    o->nvars = n;
    o->premises = premises;
    o->npremises = c.npremises;
    o->goal = goal;
    return true;
}

/* ---- counterexamples ---- */

static bool holds(const tp_analysis *a, tp_expr e, const int64_t *env, bool *value)
{
    int64_t v;
    if (tp_expr_eval(a->p, e, env, &v) != TP_EVAL_OK)
        return false;
    *value = v != 0;
    return true;
}

/* Contents of the tables for the counterexample env of the closed obligation,
 * bound there, and checked against o, the original. False: none was found. */
static bool tables_for(tp_analysis *a, const tp_obligation *o, const tp_table_reads *reads, int64_t *env,
                       tp_contract_at *broken)
{
    tp_table_entry fixed[TP_MAX_READS];
    uint32_t n = 0;
    *broken = (tp_contract_at){NULL, {0}};
    for (uint32_t r = 0; r < reads->len; r++) {
        const tp_table *t = table_of(a, reads->key[r]);
        tp_table_entry *e = &fixed[n];
        if (is_least(a, t) || is_input(a, t)) /* executions find out what arrays do */
            return false;
        int64_t extent = 0;
        bool inside = true;
        *e = (tp_table_entry){.table = (uint32_t)(t - a->k->tables)};
        for (uint32_t d = 0; d < t->rank && inside; d++)
            inside = tp_expr_eval(a->p, index_of(a, reads->key[r], d), env, &e->index[d]) == TP_EVAL_OK &&
                     tp_expr_eval(a->p, t->shape[d], env, &extent) == TP_EVAL_OK && e->index[d] >= 0 &&
                     e->index[d] < extent;
        tp_expr_eval(a->p, reads->entry[r], env, &e->value);
        n += inside; /* TP103 speaks of the others */
    }
    bool quick = a->prover == a->search; /* what need not be there */
    int64_t work = quick ? QUICK_WORK : TP_TABLES_WORK;
    if (!tp_tables_search(a->arena, a->k, env, fixed, n, 0, &work, broken))
        return false;
    bool value = true;
    for (uint32_t i = 0; i < o->npremises; i++)
        if (!holds(a, o->premises[i], env, &value) || !value)
            return false;
    return holds(a, o->goal, env, &value) && !value;
}

tp_expr tp_contract_instance(tp_analysis *a, const tp_contract *x, const tp_expr *at)
{
    uint32_t n = tp_sym_count(a->p);
    tp_expr *with = TP_NEWN(a->arena, tp_expr, n), guard = num(a, 1);
    for (uint32_t b = 0; b < x->nbound; b++) {
        tp_expr extent = tp_expr_subst(a->p, x->extent[b], with, n);
        guard = both(a, guard, both(a, mk(a, TP_E_GE, at[b], num(a, 0)), mk(a, TP_E_LT, at[b], extent)));
        with[x->bound[b]] = at[b];
    }
    return contract_fact(a, x, guard, with);
}

static tp_expr instance_of(tp_analysis *a, const tp_contract_at *x)
{
    tp_expr at[TP_TABLE_RANK] = {{0}};
    for (uint32_t b = 0; b < x->contract->nbound; b++)
        at[b] = num(a, x->at[b]);
    return tp_contract_instance(a, x->contract, at);
}

/* ---- tables whose contents the spec fixes ---- */

typedef struct pinned {
    tp_analysis *a;
    tp_obligation o;
    int64_t *env;  /* tables, and the variables set so far */
    tp_expr *with; /* … as constants */
    bool *indexes; /* per symbol: does an index depend on it? */
    int64_t budget;
    TP_VEC(uint32_t *) done; /* what was left of the obligation, as ids: equal ones are decided once */
    tp_decision worst;
} pinned;

static void mark_indices(pinned *x, tp_expr e, bool inside)
{
    const tp_expr_node n = *tp_expr_get(x->a->p, e);
    if (!e.id)
        return;
    if (n.op == TP_E_SYM && inside)
        x->indexes[n.value] = true;
    mark_indices(x, n.a, inside || n.op == TP_E_READ);
    mark_indices(x, n.b, inside || n.op == TP_E_READ);
    mark_indices(x, n.c, inside || n.op == TP_E_READ);
}

/* e with what is known put in; reads at known places become numbers. */
static tp_expr substitute(pinned *x, tp_expr e)
{
    tp_exprs *p = x->a->p;
    const tp_expr_node n = *tp_expr_get(p, e);
    int64_t v;
    if (!e.id || n.op == TP_E_CONST)
        return e;
    if (n.op == TP_E_SYM)
        return x->with[n.value].id ? x->with[n.value] : e;
    tp_expr a = substitute(x, n.a);
    if (n.op == TP_E_ITE && tp_expr_is_const(p, a, &v))
        return substitute(x, v ? n.b : n.c);
    if ((n.op == TP_E_AND || n.op == TP_E_IMPLIES) && tp_expr_is_const(p, a, &v) && !v)
        return num(x->a, n.op == TP_E_IMPLIES);
    if (n.op == TP_E_OR && tp_expr_is_const(p, a, &v) && v)
        return a;
    tp_expr b = substitute(x, n.b), c = substitute(x, n.c);
    tp_expr put = tp_expr_rebuild(p, &n, a, b, c);
    return n.op == TP_E_READ && tp_expr_eval(p, put, x->env, &v) == TP_EVAL_OK ? num(x->a, v) : put;
}

static bool constant_index(const tp_analysis *a, tp_expr e)
{
    const tp_expr_node n = *tp_expr_get(a->p, e);
    if (!e.id)
        return true;
    if (n.op == TP_E_READ)
        return false; /* outside its table, or not pinned down */
    return constant_index(a, n.a) && constant_index(a, n.b) && constant_index(a, n.c);
}

static void decide_rest(pinned *x, const uint32_t *rest, uint32_t nrest)
{
    tp_analysis *a = x->a;
    tp_obligation o = x->o;
    tp_var *vars = TP_NEWN(a->arena, tp_var, nrest);
    tp_expr *premises = TP_NEWN(a->arena, tp_expr, x->o.npremises);
    uint32_t *key = TP_NEWN(a->arena, uint32_t, x->o.npremises + 2 * nrest + 2), nkey = 1;
    int64_t v;
    o.goal = substitute(x, o.goal);
    if (tp_expr_is_const(a->p, o.goal, &v) && v)
        return;
    o.npremises = 0;
    for (uint32_t i = 0; i < x->o.npremises; i++) {
        tp_expr e = substitute(x, x->o.premises[i]);
        if (tp_expr_is_const(a->p, e, &v) && !v)
            return;
        if (!tp_expr_is_const(a->p, e, &v) && constant_index(a, e))
            premises[o.npremises++] = e;
    }
    for (uint32_t i = 0; i < nrest; i++) {
        vars[i] = x->o.vars[rest[i]];
        vars[i].lo = substitute(x, vars[i].lo);
        vars[i].hi = substitute(x, vars[i].hi);
        key[nkey++] = vars[i].lo.id;
        key[nkey++] = vars[i].hi.id;
    }
    o.vars = vars;
    o.nvars = nrest;
    o.premises = premises;
    key[nkey++] = o.goal.id;
    for (uint32_t i = 0; i < o.npremises; i++)
        key[nkey++] = premises[i].id;
    key[0] = nkey;
    tp_spend(a->arena, x->done.len * 8);
    for (uint32_t i = 0; i < x->done.len; i++)
        if (memcmp(x->done.at[i], key, nkey * sizeof *key) == 0)
            return;
    tp_push(a->arena, x->done, key);
    if (!constant_index(a, o.goal)) {
        x->worst = (tp_decision){.verdict = TP_UNKNOWN,
                                 .reason = TP_S("a table is read outside its entries: see " TP_RULE_PREFETCH_CONTRACT)};
        return;
    }
    if (take_overflow(a, false)) {
        x->worst = (tp_decision){.verdict = TP_UNKNOWN, .reason = TP_S("an expression is too large")};
        return;
    }
    tp_decision d = tp_prove(a->prover, &o);
    if (d.verdict == TP_PROVEN) {
        if (x->worst.verdict == TP_PROVEN && d.grade > x->worst.grade)
            x->worst.grade = d.grade;
        return;
    }
    x->worst = d;
    if (d.verdict != TP_VIOLATED)
        return;
    for (uint32_t i = 0; i < x->o.nvars; i++)
        if (x->with[x->o.vars[i].sym].id)
            d.env[x->o.vars[i].sym] = x->env[x->o.vars[i].sym];
    for (uint32_t t = 0; t < a->k->ntables; t++)
        d.env[a->k->tables[t].sym] = x->env[a->k->tables[t].sym];
}

/* Variables on which an index depends, one value after the other. */
static void each_index(pinned *x, uint32_t i, uint32_t *rest, uint32_t nrest)
{
    const tp_var *var = &x->o.vars[i];
    int64_t lo, hi;
    tp_spend(x->a->arena, 20);
    if (x->worst.verdict != TP_PROVEN)
        return;
    if (i == x->o.nvars) {
        decide_rest(x, rest, nrest);
        return;
    }
    if (!x->indexes[var->sym]) {
        rest[nrest] = i;
        each_index(x, i + 1, rest, nrest + 1);
        return;
    }
    tp_expr from = substitute(x, var->lo), to = substitute(x, var->hi);
    if (!tp_expr_is_const(x->a->p, from, &lo) || !tp_expr_is_const(x->a->p, to, &hi)) {
        x->worst =
            (tp_decision){.verdict = TP_UNKNOWN, .reason = TP_S("the index of a table has no bounds to enumerate")};
        return;
    }
    for (int64_t n = 0, v = lo; var->choices ? n < var->nchoices : v <= hi; n++, v++) {
        int64_t value = var->choices ? var->choices[n] : v;
        if (value % var->multiple_of)
            continue;
        if (--x->budget < 0) {
            x->worst = (tp_decision){.verdict = TP_UNKNOWN, .reason = TP_S("the tables are read at too many places")};
            return;
        }
        x->env[var->sym] = value;
        x->with[var->sym] = num(x->a, value);
        each_index(x, i + 1, rest, nrest);
        x->with[var->sym] = (tp_expr){0};
    }
}

/* Where the spec fixes all tables: at every place where they are read, the
 * claim without them. */
static tp_decision decide_pinned(tp_analysis *a, const tp_obligation *o)
{
    enum { BUDGET = 20000 };
    uint32_t n = tp_sym_count(a->p);
    pinned x = {.a = a, .o = *o, .budget = BUDGET, .worst = {.verdict = TP_PROVEN, .grade = TP_GRADE_EXACT}};
    x.env = TP_NEWN(a->arena, int64_t, n);
    x.with = TP_NEWN(a->arena, tp_expr, n);
    x.indexes = TP_NEWN(a->arena, bool, n);
    for (uint32_t t = 0; t < a->k->ntables; t++)
        tp_bind_table(x.env, a->k->tables[t].sym, a->k->tables[t].contents);
    mark_indices(&x, o->goal, false);
    for (uint32_t i = 0; i < o->npremises; i++)
        mark_indices(&x, o->premises[i], false);
    for (uint32_t i = 0; i < o->nvars; i++) {
        mark_indices(&x, o->vars[i].lo, false);
        mark_indices(&x, o->vars[i].hi, false);
    }
    for (uint32_t i = o->nvars; i-- > 0;) /* and what their bounds depend on */
        for (uint32_t k = 0; k < i && x.indexes[o->vars[i].sym]; k++)
            if (tp_expr_mentions(a->p, o->vars[i].hi, o->vars[k].sym) ||
                tp_expr_mentions(a->p, o->vars[i].lo, o->vars[k].sym))
                x.indexes[o->vars[k].sym] = true;
    each_index(&x, 0, TP_NEWN(a->arena, uint32_t, o->nvars + 1), 0);
    return x.worst;
}

static bool reads_something(const tp_analysis *a, const tp_obligation *o)
{
    bool any = tp_expr_reads(a->p, o->goal);
    for (uint32_t i = 0; i < o->npremises; i++)
        any |= tp_expr_reads(a->p, o->premises[i]);
    for (uint32_t i = 0; i < o->nvars; i++)
        any |= tp_expr_reads(a->p, o->vars[i].hi);
    return any;
}

static bool is_read(const tp_analysis *a, const tp_obligation *o, const tp_table *t)
{
    bool read = t && speaks_of(a, o->goal, t);
    for (uint32_t n = 0; n < o->npremises && t && !read; n++)
        read = speaks_of(a, o->premises[n], t);
    for (uint32_t n = 0; n < o->nvars && t && !read; n++)
        read = speaks_of(a, o->vars[n].lo, t) || speaks_of(a, o->vars[n].hi, t);
    return read;
}

/* Does the spec fix all that is read? */
static bool all_pinned(const tp_analysis *a, const tp_obligation *o)
{
    for (uint32_t t = 0; t < a->k->ntables; t++)
        if (!a->k->tables[t].contents)
            return false;
    for (uint32_t i = 0; i < a->k->ninputs; i++)
        if (is_read(a, o, a->k->operands[i].entries))
            return false;
    for (uint32_t i = 0; i < a->least.len; i++)
        if (is_read(a, o, &a->least.at[i]->table))
            return false;
    return true;
}

/* A counterexample for which no tables can be filled breaks some instance of a
 * contract that was left out: add it and ask again. */
tp_decision tp_decide_reading(tp_analysis *a, const tp_obligation *given, tp_str *basis)
{
    enum { ROUNDS = 12 };
    tp_expr *premises = TP_NEWN(a->arena, tp_expr, given->npremises + ROUNDS);
    tp_obligation o = *given, closed_one;
    tp_table_reads reads;
    tp_decision d = {.verdict = TP_UNKNOWN};
    double ms = 0;
    if (reads_something(a, given) && all_pinned(a, given))
        return decide_pinned(a, given);
    if (given->npremises)
        memcpy(premises, given->premises, given->npremises * sizeof *premises);
    o.premises = premises;
    int rounds = 0; /* of instances: none, then what fits */
    for (int round = 0; round < ROUNDS; round++) {
        tp_contract_at broken;
        closed_one = o;
        bool fits = tp_close_reads(a, &closed_one, &reads, rounds);
        while (!fits && rounds > 0)
            fits = tp_close_reads(a, &closed_one, &reads, --rounds);
        if (!fits)
            return (tp_decision){.verdict = TP_UNKNOWN, .reason = TP_S("it reads too many table entries"), .ms = ms};
        d = tp_prove(a->prover, &closed_one);
        ms += d.ms;
        d.ms = ms;
        bool found = d.verdict == TP_VIOLATED && tables_for(a, given, &reads, d.env, &broken);
        if (d.verdict == TP_PROVEN)
            *basis = tp_basis_join(a->arena, *basis, tp_table_basis(a, &reads));
        if (found || d.verdict == TP_PROVEN)
            return d;
        if (round < 2 && (a->k->ncontracts || a->least.len) && reads.len) {
            rounds = round + 1;
            continue;
        }
        if (d.verdict != TP_VIOLATED)
            return d;
        if (!reads.len) { /* true whatever the tables hold, but they cannot be replayed */
            for (uint32_t t = 0; t < a->k->ntables; t++)
                tp_bind_table(d.env, a->k->tables[t].sym, NULL);
            return d;
        }
        if (!broken.contract)
            break;
        premises[o.npremises++] = instance_of(a, &broken);
        if (take_overflow(a, false))
            break;
    }
    for (uint32_t r = 0; r < reads.len; r++)
        if (!is_least(a, table_of(a, reads.key[r])) && is_input(a, table_of(a, reads.key[r])))
            return (tp_decision){.verdict = TP_UNKNOWN,
                                 .reason = tp_message(a, "it depends on what `%.*s` holds, within its \"values\"",
                                                      TP_FMT(table_of(a, reads.key[r])->name)),
                                 .ms = ms};
    return (tp_decision){
        .verdict = TP_UNKNOWN,
        .reason = TP_S("no table contents were found that satisfy the contracts and complete the counterexample"),
        .ms = ms};
}

void tp_witness_tables(tp_analysis *a, const tp_table_reads *reads, const int64_t *env, tp_witness *w)
{
    for (uint32_t r = 0; r < reads->len; r++) {
        const tp_table *t = table_of(a, reads->key[r]);
        tp_buf b = {.arena = a->arena};
        int64_t at = 0, v;
        bool known = tp_expr_eval(a->p, reads->key[r], env, &v) == TP_EVAL_OK;
        tp_buf_str(&b, t->name);
        for (uint32_t d = 0; d < t->rank; d++) {
            tp_expr_eval(a->p, index_of(a, reads->key[r], d), env, &at);
            tp_buf_printf(&b, "%s%lld", d ? ", " : "[", (long long)at);
        }
        tp_buf_c(&b, t->rank ? "]" : "");
        tp_str name = tp_buf_view(&b);
        for (uint32_t i = 0; i < w->tables.len; i++)
            known &= !tp_str_eq(w->tables.at[i].name, name);
        if (known)
            tp_push(a->arena, w->tables, (tp_binding){name, v});
    }
    w->contents = tp_tables_text(a->arena, a->k, env);
}

tp_str tp_table_basis(tp_analysis *a, const tp_table_reads *reads)
{
    tp_buf b = {.arena = a->arena};
    bool table = false;
    for (uint32_t r = 0; r < reads->len; r++)
        table |= !is_least(a, table_of(a, reads->key[r])) && !is_input(a, table_of(a, reads->key[r]));
    if (table)
        tp_buf_c(&b, TP_RULE_PREFETCH_CONTRACT);
    for (uint32_t i = 0; i < a->k->ninputs; i++) {
        bool any = false;
        for (uint32_t r = 0; r < reads->len; r++)
            any |= table_of(a, reads->key[r]) == a->k->operands[i].entries;
        if (any)
            tp_buf_printf(&b, "%svalues of %.*s", b.n ? ", " : "", TP_FMT(a->k->operands[i].name));
    }
    for (uint32_t x = 0; x < a->k->ncontracts; x++) {
        bool any = false;
        for (uint32_t r = 0; r < reads->len; r++)
            any |= speaks_of(a, a->k->contracts[x].fact, table_of(a, reads->key[r]));
        if (any)
            tp_buf_printf(&b, ", %.*s", TP_FMT(a->k->contracts[x].id));
    }
    return tp_buf_view(&b);
}
