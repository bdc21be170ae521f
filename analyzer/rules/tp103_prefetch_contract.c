#include "analyzer/flow/flow.h"

typedef struct place {
    tp_str subject;
    tp_loc loc;
    bool over_steps;
    tp_expr seen[32], paths[32]; /* reads, and where they are made */
    uint32_t nseen;
} place;

static const tp_table *table_of(const tp_analysis *a, uint32_t sym)
{
    for (uint32_t t = 0; t < a->k->ntables; t++)
        if (a->k->tables[t].sym == sym)
            return &a->k->tables[t];
    return NULL;
}

/* Entries of dimension d that may be read. */
static tp_expr readable(const tp_table *t, uint32_t d)
{
    return d == 0 && t->extent.id ? t->extent : t->shape[d];
}

/* t[j], which has an entry for each step of i: t[i] */
static bool propose_other_axis(tp_analysis *a, tp_finding *f, const tp_table *t, tp_expr index, tp_expr extent)
{
    tp_str text = a->k->source->text, read = tp_message(a, "%.*s[%.*s]", TP_FMT(t->name), TP_FMT(tp_text(a, index)));
    bool found = false;
    if (tp_expr_get(a->p, index)->op != TP_E_SYM || t->rank != 1)
        return false;
    for (uint32_t x = 0; x < a->k->naxes; x++) {
        const tp_axis *axis = &a->k->axes[x];
        if (!tp_same(tp_expr_normal(a->p, axis->steps), tp_expr_normal(a->p, extent)))
            continue;
        for (uint32_t at = f->loc.start; at + read.n <= f->loc.end; at++)
            if (memcmp(text.p + at, read.p, read.n) == 0) {
                tp_edit edit = {at, at + (uint32_t)read.n,
                                tp_message(a, "%.*s[%.*s]", TP_FMT(t->name), TP_FMT(axis->name))};
                f->help = tp_message(a, "it has an entry for each step of `%.*s`", TP_FMT(axis->name));
                tp_propose(a, f, tp_message(a, "read `%.*s`", TP_FMT(edit.text)), &edit, 1);
                found = true;
            }
    }
    return found;
}

/* t[p + 1]: t[p]; an axis with more steps than there are entries: as many. */
static void suggest(tp_analysis *a, tp_finding *f, const tp_table *t, tp_expr index, tp_expr extent)
{
    tp_str text = a->k->source->text, old = tp_text(a, index);
    tp_expr shifted = tp_without_constant(a, index);
    for (uint32_t at = f->loc.start; shifted.id && at + old.n <= f->loc.end; at++)
        if (memcmp(text.p + at, old.p, old.n) == 0) {
            tp_edit edit = {at, at + (uint32_t)old.n, tp_text(a, shifted)};
            tp_propose(a, f, tp_message(a, "read entry `%.*s`", TP_FMT(edit.text)), &edit, 1);
            break;
        }
    if (propose_other_axis(a, f, t, index, extent))
        return;
    for (uint32_t x = 0; x < a->k->naxes; x++) {
        const tp_axis *axis = &a->k->axes[x];
        if (!tp_same(index, tp_sym(a->p, axis->sym)))
            continue;
        tp_edit edit = tp_edit_expr(a, axis->steps_loc, tp_text(a, extent));
        f->help = tp_message(a, "there are only `%.*s` entries: give `%.*s` as many steps (a dynamic grid)",
                             TP_FMT(edit.text), TP_FMT(axis->name));
        tp_propose(a, f, tp_message(a, "give `%.*s` `%.*s` steps", TP_FMT(axis->name), TP_FMT(edit.text)), &edit, 1);
    }
}

static void decide(tp_analysis *a, tp_claim *c, const tp_table *t, uint32_t d, tp_expr index)
{
    tp_expr extent = readable(t, d);
    c->goal = both(a, mk(a, TP_E_GE, index, num(a, 0)), mk(a, TP_E_LT, index, extent));
    c->proven = tp_message(a, "`%.*s` is read inside its %.*s entries", TP_FMT(t->name), TP_FMT(tp_text(a, extent)));
    c->violated = tp_message(a, "`%.*s` can be read outside dimension %u", TP_FMT(t->name), d);
    c->label = tp_message(a, "entry %.*s of %.*s", TP_FMT(tp_text(a, index)), TP_FMT(tp_text(a, extent)));
    c->note = TP_S("JAX does not check the index; a TPU reads whatever lies behind the table in SMEM");
    const int64_t *env;
    tp_finding *f = tp_claim_check(a, c, &env);
    if (f->verdict != TP_VIOLATED)
        return;
    f->help = tp_help_entry(a, index, extent, env);
    suggest(a, f, t, index, extent);
}

static void check_read(tp_analysis *a, tp_expr sub, tp_expr path, void *ctx)
{
    place *at = ctx;
    const tp_expr_node n = *tp_expr_get(a->p, sub);
    const tp_expr index[] = {n.a, n.b, n.c};
    if (n.op != TP_E_READ)
        return;
    for (uint32_t i = 0; i < at->nseen; i++)
        if (tp_same(at->seen[i], sub) && tp_same(at->paths[i], path))
            return;
    if (at->nseen < 32) {
        at->seen[at->nseen] = sub;
        at->paths[at->nseen++] = path;
    }
    const tp_table *t = table_of(a, (uint32_t)n.value);
    for (uint32_t d = 0; d < t->rank; d++) {
        tp_expr premises[] = {path};
        tp_claim c = {
            .over_steps = at->over_steps, .subject = at->subject, .loc = at->loc, .premises = premises, .npremises = 1};
        decide(a, &c, t, d, index[d]);
    }
}

static void visit(tp_analysis *a, tp_expr e, tp_str subject, tp_loc loc, bool over_steps)
{
    place at = {.subject = subject, .loc = loc, .over_steps = over_steps};
    tp_visit_subterms(a, e, num(a, 1), check_read, &at);
}

static void check_use(tp_analysis *a, const tp_flow *f, const tp_use *u)
{
    const tp_table *t = &a->k->tables[u->operand];
    tp_claim c = tp_use_claim(a, f, u);
    c.subject = t->name;
    if (u->value.id) {
        decide(a, &c, t, u->dim, u->value);
        return;
    }
    c.proven = tp_message(a, "`%.*s` is read inside its entries", TP_FMT(t->name));
    tp_use_unknown(a, &c, "the index depends on data, or its int32 arithmetic may overflow");
}

static void check(tp_analysis *a)
{
    const tp_kernel *k = a->k;
    if (!k->ntables)
        return;
    const tp_flow *f = tp_flow_of(a);
    tp_flow_gave_up(a, f, true);
    for (uint32_t t = 0; t < k->ntables; t++)
        if (k->tables[t].extent.id)
            visit(a, k->tables[t].extent, k->tables[t].name, k->tables[t].extent_loc, false);
    for (uint32_t x = 0; x < k->naxes; x++)
        visit(a, k->axes[x].steps, k->axes[x].name, k->axes[x].steps_loc, false);
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        const tp_operand *o = &k->operands[i];
        for (uint32_t d = 0; d < o->rank && !o->whole; d++)
            visit(a, o->dims[d].index, o->name, o->dims[d].index_loc, true);
    }
    for (uint32_t i = 0; f && i < f->uses.len; i++)
        if (f->uses.at[i].kind == TP_USE_TABLE)
            check_use(a, f, &f->uses.at[i]);
}

const tp_rule tp_rule_tp103_prefetch_contract = {
    .code = "TP103",
    .slug = "prefetch-contract",
    .title = "prefetched tables are read inside their entries",
    .severity = TP_ERROR,
    .follows = true,
    .traps = true,
    .for_equality = true,
    .per_dtype = true,
    .why = "A prefetched table lies in SMEM and its entries steer index maps. An entry that was never written, or that "
           "lies past the end, sends the window anywhere. \"values\", \"sorted\", \"extent\" and contracts declare "
           "what the entries hold; a run checks them on the real tables.",
    .bad = "\"index_map\": [\"table[i + 1]\"]   with as many entries as steps",
    .good = "\"shape\": [\"steps + 1\"], \"values\": {\"min\": 0, \"max\": \"blocks - 1\"}",
    .jax = "Nothing: interpret=True clamps the index, the device reads what lies behind the table.",
    .check = check,
};
