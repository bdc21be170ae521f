/* Derivations as lines of a file of certificates. */
#include "smt/trust/rows.h"

static const char *const KINDS[TP_REAL_KINDS] = {"integer", "ratio", "number", "read", "if",
                                                 "fold",    "over",  "scan",   "held", "apply"};

/* ---- writing ---- */

static json *integer(int64_t v)
{
    return json_object_new_int64(v);
}

static void add(json *array, json *value)
{
    json_object_array_add(array, value);
}

static json *counter_of(tp_row_writer *w, const tp_real_node *r, uint32_t i)
{
    json *pair = json_object_new_array();
    add(pair, tp_row_of_symbol(w, r->counter[i]));
    add(pair, tp_row_of_expr(w, r->extent[i]));
    return pair;
}

static json *real_of(tp_row_writer *w, const tp_real_node *r)
{
    json *row = json_object_new_array(), *counters = json_object_new_array();
    add(row, json_object_new_string(KINDS[r->kind]));
    if (r->kind == TP_REAL_NUMBER || r->kind == TP_REAL_FOLD || r->kind == TP_REAL_OVER || r->kind == TP_REAL_APPLY)
        add(row, tp_jsonc_string(r->op));
    if (r->kind == TP_REAL_INTEGER || r->kind == TP_REAL_IF || r->kind == TP_REAL_HELD)
        add(row, tp_row_of_expr(w, r->e));
    if (r->kind == TP_REAL_RATIO) {
        add(row, integer(r->num));
        add(row, integer(r->den));
    }
    if (r->kind == TP_REAL_READ)
        add(row, integer(r->operand));
    for (uint32_t d = 0; d < r->rank; d++)
        add(row, tp_row_of_expr(w, r->at[d]));
    for (uint32_t i = 0; i < r->counters; i++)
        add(counters, counter_of(w, r, i));
    if (r->counters)
        add(row, counters);
    else
        json_object_put(counters);
    if (r->kind == TP_REAL_APPLY)
        add(row, integer(r->number));
    for (uint32_t i = 0; i < r->nargs; i++)
        add(row, integer(r->arg[i]));
    return row;
}

static json *step_of(tp_row_writer *w, const tp_law_step *s)
{
    json *row = json_object_new_array(), *sides = json_object_new_array(), *exchanges = json_object_new_array();
    add(row, json_object_new_string(tp_law_info(s->law)->name));
    add(row, integer(s->from));
    add(row, integer(s->to));
    add(row, integer(s->k));
    add(row, integer(s->t));
    for (uint32_t i = 0; i < s->nsides; i++)
        add(sides, integer(s->sides[i]));
    for (uint32_t i = 0; i < s->nexchanges; i++) {
        json *pair = json_object_new_array();
        add(pair, tp_row_of_expr(w, s->exchanges[i].from));
        add(pair, tp_row_of_expr(w, s->exchanges[i].to));
        add(exchanges, pair);
    }
    add(row, sides);
    add(row, exchanges);
    return row;
}

static void put_list(json *o, const char *key, json *list)
{
    json_object_object_add(o, key, list);
}

static json *row_of(tp_row_writer *w, const tp_derivation *d)
{
    json *row = json_object_new_object(), *vars = json_object_new_array(), *premises = json_object_new_array(),
         *reals = json_object_new_array(), *sides = json_object_new_array(), *steps = json_object_new_array();
    for (uint32_t i = 0; i < d->nvars; i++)
        add(vars, tp_row_of_variable(w, &d->vars[i]));
    for (uint32_t i = 0; i < d->npremises; i++)
        add(premises, tp_row_of_expr(w, d->premises[i]));
    for (uint32_t i = 0; i < d->nreals; i++)
        add(reals, real_of(w, &d->reals[i]));
    for (uint32_t i = 0; i < d->nsides; i++)
        add(sides, tp_row_of_side(w, &d->sides[i]));
    for (uint32_t i = 0; i < d->nsteps; i++)
        add(steps, step_of(w, &d->steps[i]));
    put_list(row, "variables", vars);
    put_list(row, "premises", premises);
    put_list(row, "reals", reals);
    put_list(row, "sides", sides);
    put_list(row, "steps", steps);
    put_list(row, "kernel", integer(d->kernel));
    put_list(row, "reference", integer(d->reference));
    return row;
}

static tp_certificate_entry entry_of(tp_arena *a, tp_str spec, tp_str output)
{
    return (tp_certificate_entry){spec, tp_printf(a, "derivation of %.*s", TP_FMT(output)), TP_S("cert")};
}

void tp_certificates_add_derivation(tp_certificates *c, tp_str spec, tp_str output, const tp_derivation *d)
{
    tp_arena *work = tp_arena_child(tp_exprs_arena(d->p));
    tp_row_writer w = {.arena = work, .p = d->p, .nodes = json_object_new_array()};
    json *row = row_of(&w, d);
    json_object_object_add(row, "spec", tp_jsonc_string(spec));
    json_object_object_add(row, "derivation", tp_jsonc_string(output));
    json_object_object_add(row, "nodes", w.nodes);
    tp_certificates_row(c, entry_of(work, spec, output), row);
    json_object_put(row);
    tp_arena_free(work);
}

/* ---- reading ---- */

_Noreturn static void wrong(tp_row_reader *r, const tp_json *at, const char *what)
{
    tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, at->loc, NULL, "%s", what);
}

static void read_counters(tp_row_reader *r, const tp_json *list, tp_real_node *n)
{
    n->counters = list->u.items.n;
    if (n->counters > TP_REAL_COUNTERS || n->counters == 0)
        wrong(r, list, "a fold has one counter or more, not too many");
    for (uint32_t i = 0; i < n->counters; i++) {
        const tp_json *pair = tp_row_item(r, list, i, TP_J_ARRAY);
        n->counter[i] = tp_row_symbol(r, tp_row_item(r, pair, 0, TP_J_INT));
        n->extent[i] = tp_row_expr(r, tp_row_item(r, pair, 1, TP_J_INT));
        if (pair->u.items.n != 2)
            wrong(r, pair, "a counter is a symbol with its extent");
    }
}

static tp_real_node read_real(tp_row_reader *r, const tp_json *row)
{
    tp_str name = tp_row_item(r, row, 0, TP_J_STRING)->u.string;
    tp_real_node n = {.kind = TP_REAL_KINDS};
    uint32_t at = 1, most;
    for (int k = 0; k < TP_REAL_KINDS; k++)
        if (tp_str_is(name, KINDS[k]))
            n.kind = (tp_real_kind)k;
    if (n.kind == TP_REAL_KINDS)
        wrong(r, row, "there is no such node");
    if (n.kind == TP_REAL_NUMBER || n.kind == TP_REAL_FOLD || n.kind == TP_REAL_OVER || n.kind == TP_REAL_APPLY)
        n.op = tp_row_item(r, row, at++, TP_J_STRING)->u.string;
    if (n.kind == TP_REAL_INTEGER || n.kind == TP_REAL_IF || n.kind == TP_REAL_HELD)
        n.e = tp_row_expr(r, tp_row_item(r, row, at++, TP_J_INT));
    if (n.kind == TP_REAL_RATIO) {
        n.num = tp_row_item(r, row, at++, TP_J_INT)->u.integer;
        n.den = tp_row_item(r, row, at++, TP_J_INT)->u.integer;
    }
    if (n.kind == TP_REAL_READ) {
        n.operand = tp_row_small(r, tp_row_item(r, row, at++, TP_J_INT));
        for (; at < row->u.items.n && n.rank < TP_REAL_RANK; at++)
            n.at[n.rank++] = tp_row_expr(r, tp_row_item(r, row, at, TP_J_INT));
    }
    if (n.kind == TP_REAL_FOLD || n.kind == TP_REAL_OVER || n.kind == TP_REAL_SCAN)
        read_counters(r, tp_row_item(r, row, at++, TP_J_ARRAY), &n);
    if (n.kind == TP_REAL_APPLY)
        n.number = tp_row_item(r, row, at++, TP_J_INT)->u.integer;
    most = tp_real_arity(n.kind);
    for (; at < row->u.items.n && n.nargs < most; at++)
        n.arg[n.nargs++] = tp_row_small(r, tp_row_item(r, row, at, TP_J_INT));
    if (at != row->u.items.n)
        wrong(r, row, "this list is too long");
    return n;
}

static tp_law_step read_step(tp_row_reader *r, const tp_json *row)
{
    tp_arena *a = r->c->arena;
    tp_str name = tp_row_item(r, row, 0, TP_J_STRING)->u.string;
    const tp_json *sides = tp_row_item(r, row, 5, TP_J_ARRAY), *exchanges = tp_row_item(r, row, 6, TP_J_ARRAY);
    tp_law_step s = {.law = TP_ALL_LAWS,
                     .from = tp_row_small(r, tp_row_item(r, row, 1, TP_J_INT)),
                     .to = tp_row_small(r, tp_row_item(r, row, 2, TP_J_INT)),
                     .k = tp_row_small(r, tp_row_item(r, row, 3, TP_J_INT)),
                     .t = tp_row_small(r, tp_row_item(r, row, 4, TP_J_INT)),
                     .nsides = sides->u.items.n,
                     .nexchanges = exchanges->u.items.n};
    for (int law = 0; law < TP_ALL_LAWS; law++)
        if (tp_str_is(name, tp_law_info((tp_law)law)->name))
            s.law = (tp_law)law;
    if (s.law == TP_ALL_LAWS || row->u.items.n != 7)
        wrong(r, row, "there is no such law");
    uint32_t *number = TP_NEWN(a, uint32_t, s.nsides + 1);
    tp_exchange *pair = TP_NEWN(a, tp_exchange, s.nexchanges + 1);
    for (uint32_t i = 0; i < s.nsides; i++)
        number[i] = tp_row_small(r, tp_row_item(r, sides, i, TP_J_INT));
    for (uint32_t i = 0; i < s.nexchanges; i++) {
        const tp_json *two = tp_row_item(r, exchanges, i, TP_J_ARRAY);
        pair[i].from = tp_row_expr(r, tp_row_item(r, two, 0, TP_J_INT));
        pair[i].to = tp_row_expr(r, tp_row_item(r, two, 1, TP_J_INT));
    }
    s.sides = number;
    s.exchanges = pair;
    return s;
}

tp_certificate tp_row_derivation(tp_row_reader *r, const tp_json *doc)
{
    static const char *const NAMES[] = {"spec",  "derivation", "nodes", "variables", "premises",
                                        "reals", "sides",      "steps", "kernel",    "reference"};
    tp_arena *a = r->c->arena;
    tp_row_members(r, doc, NAMES, sizeof NAMES / sizeof *NAMES);
    tp_row_nodes(r, tp_row_member(r, doc, "nodes", TP_J_ARRAY));
    const tp_json *vars = tp_row_member(r, doc, "variables", TP_J_ARRAY),
                  *premises = tp_row_member(r, doc, "premises", TP_J_ARRAY),
                  *reals = tp_row_member(r, doc, "reals", TP_J_ARRAY),
                  *sides = tp_row_member(r, doc, "sides", TP_J_ARRAY),
                  *steps = tp_row_member(r, doc, "steps", TP_J_ARRAY);
    tp_real_node *real = TP_NEWN(a, tp_real_node, reals->u.items.n + 1);
    tp_side *side = TP_NEWN(a, tp_side, sides->u.items.n + 1);
    tp_law_step *step = TP_NEWN(a, tp_law_step, steps->u.items.n + 1);
    for (uint32_t i = 0; i < reals->u.items.n; i++)
        real[i] = read_real(r, tp_row_item(r, reals, i, TP_J_ARRAY));
    for (uint32_t i = 0; i < sides->u.items.n; i++)
        side[i] = tp_row_side(r, tp_row_item(r, sides, i, TP_J_OBJECT));
    for (uint32_t i = 0; i < steps->u.items.n; i++)
        step[i] = read_step(r, tp_row_item(r, steps, i, TP_J_ARRAY));
    tp_derivation *d = TP_NEW(a, tp_derivation);
    *d = (tp_derivation){.p = r->p,
                         .vars = tp_row_variables(r, vars),
                         .nvars = vars->u.items.n,
                         .premises = tp_row_exprs(r, premises),
                         .npremises = premises->u.items.n,
                         .reals = real,
                         .nreals = reals->u.items.n,
                         .sides = side,
                         .nsides = sides->u.items.n,
                         .steps = step,
                         .nsteps = steps->u.items.n,
                         .kernel = tp_row_small(r, tp_row_member(r, doc, "kernel", TP_J_INT)),
                         .reference = tp_row_small(r, tp_row_member(r, doc, "reference", TP_J_INT))};
    if (tp_exprs_overflowed(r->p))
        wrong(r, doc, "an expression is too large");
    return (tp_certificate){.exprs = r->p,
                            .entry = entry_of(a, tp_row_member(r, doc, "spec", TP_J_STRING)->u.string,
                                              tp_row_member(r, doc, "derivation", TP_J_STRING)->u.string),
                            .derivation = d,
                            .statement = r->c->source->text};
}
