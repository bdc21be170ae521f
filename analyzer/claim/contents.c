/* Do the promises about tables leave any? Contracts that contradict each other
 * would prove everything. Tables are looked for at sizes around every number
 * that the promises mention; where none is found the prover looks for the
 * contradiction. */
#include "analyzer/claim/claim.h"
#include "base/budget.h"
#include "spec/table.h"

enum {
    MAX_POINTS = 96,
    MAX_VALUES = 24,
    MAX_NAMED = 4,
    MAX_PROOFS = 8,
    MAX_OPEN = 2,
    POINT_WORK = 60000,
    ALL_WORK = 1200000
};
enum { LATER_WORK = POINT_WORK / 16 }; /* once tables were found: what else there is is told, and decides nothing */

typedef struct contents {
    tp_analysis *a;
    uint32_t nsyms;
    bool *spoken; /* by symbol: do the promises speak of it? Other sizes make no difference */
    int64_t *points[MAX_POINTS];
    uint32_t npoints;
    int64_t values[MAX_VALUES]; /* worth trying */
    uint32_t nvalues;
    int64_t work;                        /* left, in instances of contracts */
    uint32_t tried, found, proofs, open; /* open: proofs that ended without an answer */
    tp_buf none;                         /* sizes at which no tables can be */
    uint32_t nnone;
} contents;

static void add_value(contents *c, int64_t v)
{
    for (uint32_t i = 0; i < c->nvalues; i++)
        if (c->values[i] == v)
            return;
    if (v >= 0 && c->nvalues < MAX_VALUES)
        c->values[c->nvalues++] = v;
}

/* Values around the numbers in e; its symbols are spoken of. */
static void add_numbers(contents *c, tp_expr e)
{
    int64_t v;
    if (!e.id)
        return;
    if (tp_expr_is_const(c->a->p, e, &v)) {
        for (int64_t by = -1; by <= 1 && v > 1 && v < INT32_MAX; by++)
            add_value(c, v + by);
        return;
    }
    const tp_expr_node n = *tp_expr_get(c->a->p, e);
    if (n.op == TP_E_SYM)
        c->spoken[n.value] = true;
    add_numbers(c, n.a);
    add_numbers(c, n.b);
    add_numbers(c, n.c);
}

static void collect_values(contents *c)
{
    const tp_kernel *k = c->a->k;
    for (uint32_t i = 0; i < k->ncontracts; i++) {
        add_numbers(c, k->contracts[i].fact);
        for (uint32_t b = 0; b < k->contracts[i].nbound; b++)
            add_numbers(c, k->contracts[i].extent[b]);
    }
    for (uint32_t t = 0; t < k->ntables; t++) {
        add_numbers(c, k->tables[t].min);
        add_numbers(c, k->tables[t].max);
        add_numbers(c, k->tables[t].extent);
        for (uint32_t d = 0; d < k->tables[t].rank; d++)
            add_numbers(c, k->tables[t].shape[d]);
    }
    for (int64_t v = 0; v < 5; v++)
        add_value(c, v);
    for (int64_t v = 8; v <= 1 << 12; v *= 4)
        add_value(c, v);
}

static void add_point(contents *c, const int64_t *env)
{
    tp_spend(c->a->arena, 4 + c->npoints * c->a->nsizes);
    if (c->npoints == MAX_POINTS || !tp_domain_has(c->a, env))
        return;
    for (uint32_t i = 0; i < c->npoints; i++) {
        bool same = true;
        for (uint32_t s = 0; s < c->a->nsizes && same; s++)
            same = !c->spoken[c->a->vars[s].sym] || c->points[i][c->a->vars[s].sym] == env[c->a->vars[s].sym];
        if (same)
            return;
    }
    c->points[c->npoints] = TP_NEWN(c->a->arena, int64_t, c->nsyms);
    memcpy(c->points[c->npoints++], env, c->nsyms * sizeof *env);
}

/* A point of the domain, then each size at each value, alone, with another, with all. */
static void choose_points(contents *c, const int64_t *first)
{
    int64_t *env = TP_NEWN(c->a->arena, int64_t, c->nsyms);
    const tp_var *x = c->a->vars;
    uint32_t n = c->a->nsizes;
    add_point(c, first);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t v = 0; v < c->nvalues; v++) {
            memcpy(env, first, c->nsyms * sizeof *env);
            env[x[i].sym] = c->values[v];
            add_point(c, env);
        }
    for (uint32_t v = 0; v < c->nvalues; v++)
        for (uint32_t i = 0; i < n; i++) {
            memcpy(env, first, c->nsyms * sizeof *env);
            for (uint32_t k = 0; k < n; k++)
                env[x[k].sym] = c->values[v];
            add_point(c, env);
            for (uint32_t k = 0; k < i; k++) {
                memcpy(env, first, c->nsyms * sizeof *env);
                env[x[i].sym] = env[x[k].sym] = c->values[v];
                add_point(c, env);
            }
        }
}

/* Few enough entries to fill. */
static bool small(const tp_analysis *a, const int64_t *env)
{
    int64_t total = 0;
    for (uint32_t t = 0; t < a->k->ntables; t++) {
        int64_t n = 1, extent;
        for (uint32_t d = 0; d < a->k->tables[t].rank; d++)
            if (tp_expr_eval(a->p, a->k->tables[t].shape[d], env, &extent) != TP_EVAL_OK || extent < 0 ||
                extent > POINT_WORK || (n *= extent) > POINT_WORK)
                return false;
        total += n;
    }
    return total <= POINT_WORK;
}

/* Instances of every contract at its first and last values, a mention of each
 * table's first entry: the prover adds what it misses. `at`: the sizes, or NULL
 * for all. */
static tp_decision contradiction(contents *c, const int64_t *at)
{
    tp_analysis *a = c->a;
    tp_expr *premises = TP_NEWN(a->arena, tp_expr, a->nsizes + a->k->ntables + 2 * a->k->ncontracts + 1);
    tp_claim none = {.goal = num(a, 0), .premises = premises, .subject = TP_S("contents"), .given = TP_FACTS_ALL};
    for (uint32_t i = 0; at && i < a->nsizes; i++)
        premises[none.npremises++] = mk(a, TP_E_EQ, tp_sym(a->p, a->vars[i].sym), num(a, at[a->vars[i].sym]));
    for (uint32_t t = 0; t < a->k->ntables; t++) {
        const tp_table *table = &a->k->tables[t];
        tp_expr zero[TP_TABLE_RANK] = {num(a, 0), num(a, 0), num(a, 0)}, some = num(a, 1);
        for (uint32_t d = 0; d < table->rank; d++)
            some =
                both(a, some, mk(a, TP_E_GE, d == 0 && table->extent.id ? table->extent : table->shape[d], num(a, 1)));
        premises[none.npremises++] =
            mk(a, TP_E_IMPLIES, some, mk(a, TP_E_GE, tp_read(a->p, table->sym, table->rank, zero), num(a, INT32_MIN)));
    }
    for (uint32_t x = 0; x < a->k->ncontracts; x++) {
        const tp_contract *contract = &a->k->contracts[x];
        tp_expr low[TP_TABLE_RANK] = {{0}}, high[TP_TABLE_RANK] = {{0}};
        tp_expr *with = TP_NEWN(a->arena, tp_expr, tp_sym_count(a->p));
        for (uint32_t b = 0; b < contract->nbound; b++) {
            tp_expr extent = tp_expr_subst(a->p, contract->extent[b], with, tp_sym_count(a->p));
            low[b] = num(a, 0);
            with[contract->bound[b]] = high[b] = mk(a, TP_E_SUB, extent, num(a, 1));
        }
        premises[none.npremises++] = tp_contract_instance(a, contract, low);
        if (contract->nbound)
            premises[none.npremises++] = tp_contract_instance(a, contract, high);
    }
    tp_prover *prover = a->prover; /* a search for what need not be there: no solver */
    a->prover = a->search;
    tp_decision d = tp_claim_decide(a, &none);
    a->prover = prover;
    return d;
}

static void name_point(contents *c, const int64_t *env)
{
    const tp_kernel *k = c->a->k;
    const char *sep = c->none.n ? "; " : "";
    if (++c->nnone > MAX_NAMED)
        return;
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (tp_is_open_size(&k->sizes[i])) {
            tp_buf_printf(&c->none, "%s%.*s = %lld", sep, TP_FMT(k->sizes[i].name), (long long)env[k->sizes[i].sym]);
            sep = ", ";
        }
}

static void try_point(contents *c, int64_t *env)
{
    tp_analysis *a = c->a;
    int64_t allowed = c->found ? LATER_WORK : POINT_WORK, most = c->work < allowed ? c->work : allowed, left = most;
    bool fill = small(a, env) && most > 0;
    c->tried++;
    tp_spend(a->arena, 100);
    if (fill) {
        c->work -= allowed / 8;
        if (tp_tables_search(a->arena, a->k, env, NULL, 0, 0, &left, NULL)) {
            c->found++;
            return;
        }
        c->work -= most;
    }
    bool enough = c->found && (c->open == MAX_OPEN || c->nnone > MAX_NAMED);
    if (!enough && c->proofs++ < MAX_PROOFS) {
        tp_decision d = contradiction(c, env);
        c->open += d.verdict == TP_UNKNOWN;
        if (d.verdict == TP_PROVEN)
            name_point(c, env);
        c->found += d.verdict == TP_VIOLATED; /* with tables */
    }
}

static void try_points(void *arg)
{
    contents *c = arg;
    for (uint32_t i = 0; i < c->npoints; i++)
        try_point(c, c->points[i]);
}

void tp_check_contents(tp_analysis *a, const int64_t *point)
{
    const tp_table *t = &a->k->tables[0];
    tp_loc loc = a->k->ncontracts ? a->k->contracts[0].loc : t->values_loc.end ? t->values_loc : t->loc;
    static const tp_share SHARE = {0.5, "looking for tables", {NULL, 0}};
    tp_str why;
    contents c = {.a = a, .nsyms = tp_sym_count(a->p), .work = ALL_WORK, .none = {.arena = a->arena}};
    c.spoken = TP_NEWN(a->arena, bool, c.nsyms);
    collect_values(&c);
    choose_points(&c, point);
    tp_prover *prover = a->prover;
    if (!tp_within(a->arena, &SHARE, try_points, &c, &why))
        a->prover = prover;
    if (c.found) {
        tp_finding *f =
            tp_add_finding(a, TP_PROVEN, t->name, loc,
                           tp_message(a, "tables that satisfy the contracts were found at %u of %u choices of sizes",
                                      c.found, c.tried));
        f->grade = TP_GRADE_EXACT;
        if (c.nnone)
            f->note =
                tp_message(a, "no table contents satisfy the contracts at %.*s%s: claims about such sizes are vacuous",
                           TP_FMT(tp_buf_view(&c.none)), c.nnone > MAX_NAMED ? ", …" : "");
        return;
    }
    tp_decision d = contradiction(&c, NULL);
    if (d.verdict == TP_PROVEN) {
        tp_finding *f = tp_add_finding(a, TP_VACUOUS, t->name, loc,
                                       TP_S("no table contents satisfy the contracts: every claim would be vacuous"));
        f->help = TP_S("\"values\", \"sorted\", \"extent\", contracts and \"where\" contradict each other: remove one");
        f->grade = d.grade;
        a->vacuous = true;
        return;
    }
    tp_finding *f = tp_add_finding(a, TP_UNKNOWN, t->name, loc,
                                   TP_S("could not decide whether any table contents satisfy the contracts"));
    f->reason = tp_message(
        a, "neither contents (at %u choices of sizes) nor a contradiction were found: every claim may be vacuous",
        c.tried);
    f->help = TP_S("let \"prepare\" compute the tables, give their \"contents\", or simplify the contracts");
}
