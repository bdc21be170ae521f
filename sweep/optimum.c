/* That no shape of a sweep is better than its first one: what the file claims, and the check of it.
 *
 * Every shape is priced again, on its own, which is cheap. A bound for many shapes at once would need a proof that the
 * model is monotone, and padding makes it none. Shapes that are faster in the model have to be forbidden: the file
 * names a rule for each, and lint violates that rule again, by a counterexample that is replayed. Boxes, which the
 * sweep searches by, play no part in it.
 */
#include "kernels/receipt.h"
#include "spec/scope.h"
#include "sweep/internal.h"

static const char HELP[] = "`tileproof sweep SPEC --over LISTS --certificates FILE` makes one";

/* ---- a shape by itself ---- */

typedef enum shape_is { PRICED, OUTSIDE, NO_SPEC, NO_PRICE } shape_is;

typedef struct shape_call {
    sweep_worker *w;
    uint32_t cell;
    const char *rule; /* NULL: all */
    shape_is is;
    tp_sweep_cost cost;
    tp_sweep_opinion said;
} shape_call;

static void price(void *arg)
{
    shape_call *x = arg;
    const tp_sweep *s = x->w->run->s;
    tp_job j;
    sweep_load_cell(x->w, x->cell, &j);
    x->is = NO_SPEC;
    if (!j.report.valid)
        return;
    x->is = OUTSIDE;
    for (uint32_t k = 0; k < j.report.spec->nkernels; k++)
        if (!tp_sweep_possible(j.arena, j.report.spec->kernels[k], s->modelled, s->nmodelled))
            return;
    x->cost = tp_sweep_price(j.arena, j.report.spec, s->modelled, s->nmodelled);
    x->is = x->cost.known ? PRICED : NO_PRICE;
}

/* By proofs of our own, all rules of lint or one of them. */
static void judge(void *arg)
{
    shape_call *x = arg;
    tp_check_settings s = *x->w->run->o->lint;
    const tp_rule *one = x->rule ? tp_rule_find(tp_str_c(x->rule)) : NULL;
    s.analysis.prover.no_solver = true;
    if (one) {
        s.analysis.only = &one;
        s.analysis.nonly = 1;
    }
    tp_job j;
    sweep_check_cell(x->w, x->cell, &s, &j);
    x->said = sweep_opinion_of(x->w->arena, &j.report);
}

static void piece(sweep_worker *w, void (*fn)(void *), shape_call *x)
{
    if (sweep_piece(w, w->run->o->lint, fn, x) != TP_OK)
        tp_leave(w->run->s->arena, TP_E_MEMORY);
}

/* ---- writing ---- */

static void write_head(tp_buf *b, const tp_sweep *s, const tp_sweep_options *o, tp_str digest)
{
    tp_buf_printf(b, "{\"tileproof_optimum\": 1, \"tileproof\": \"" TP_VERSION "\", \"name\": ");
    tp_buf_json(b, s->name);
    tp_buf_printf(b, ",\n \"spec\": \"%.*s\",\n \"target\": ", TP_FMT(digest));
    tp_buf_json(b, o->lint->target);
    tp_buf_c(b, ",\n \"axes\": [");
    for (uint32_t i = 0; i < s->naxes; i++) {
        tp_buf_c(b, i ? ",\n  {\"name\": " : "\n  {\"name\": ");
        tp_buf_json(b, s->axes[i].name);
        tp_buf_c(b, ", \"values\": [");
        for (uint32_t v = 0; v < s->axes[i].n; v++) {
            tp_buf_c(b, v ? ", " : "");
            tp_buf_json(b, s->axes[i].values[v]);
        }
        tp_buf_c(b, "]}");
    }
    tp_buf_c(b, "],\n \"modelled_at\": {");
    sweep_json_model(b, s);
    tp_buf_c(b, "},\n");
}

/* A shape that might be better; false with a sentence where nothing says that it is not. */
static bool is_no_better(tp_sweep *s, shape_call *x, double best, tp_str *why)
{
    const tp_sweep_cell *cell = &s->cells[x->cell];
    tp_str name = tp_sweep_cell_name(s->arena, s, x->cell);
    if (cell->said.verdict == TP_CELL_FORBIDDEN || x->is == NO_SPEC || x->is == OUTSIDE ||
        (x->is == PRICED && x->cost.seconds >= best))
        return true;
    if (x->is == NO_PRICE)
        *why = tp_printf(s->arena, "%.*s may be better, and is not modelled: %s", TP_FMT(name), x->cost.why);
    else
        *why = tp_printf(s->arena, "%.*s would be better, and %s is undecided", TP_FMT(name),
                         cell->said.nrules ? cell->said.rules[0] : "a rule");
    return false;
}

tp_str tp_sweep_optimum(tp_sweep *s, const tp_sweep_options *o, tp_str digest, tp_str *why)
{
    tp_buf b = {.arena = s->arena};
    sweep_run run = {.s = s, .o = o};
    sweep_worker w = {.run = &run, .arena = s->arena};
    uint32_t n, runs = 0;
    const uint32_t *legal = tp_sweep_best(s->arena, s, &n);
    const tp_sweep_cost *best = n ? &s->cells[legal[0]].cost : NULL;
    bool fine = best && best->known;
    if (!fine)
        *why = n ? tp_printf(s->arena, "no legal shape is modelled: %s", best->why) : TP_S("no shape is legal");
    if (fine) {
        write_head(&b, s, o, digest);
        tp_buf_printf(&b, " \"best\": %u,\n \"model_seconds\": %.16e,\n \"forbidden\": [", legal[0], best->seconds);
    }
    const char *rule = NULL; /* of the run that is open */
    for (uint32_t c = 0, first = 0; c <= s->ncells && fine; c++) {
        const char *here = NULL;
        shape_call x = {.w = &w, .cell = c};
        if (c < s->ncells && c != legal[0]) {
            piece(&w, price, &x);
            fine = is_no_better(s, &x, best->seconds, why);
            if (x.is == NO_PRICE || (x.is == PRICED && x.cost.seconds < best->seconds))
                here = s->cells[c].said.nrules ? s->cells[c].said.rules[0] : NULL;
        }
        if (rule && rule != here)
            tp_buf_printf(&b, "%s\n  [\"%s\", %u, %u]", runs++ ? "," : "", rule, first, c - 1);
        if (rule != here)
            first = c;
        rule = here;
    }
    tp_buf_c(&b, "]}\n");
    tp_arena_free(w.piece);
    return fine ? tp_buf_view(&b) : (tp_str){NULL, 0};
}

/* ---- checking ---- */

static const tp_json *member_of(tp_ctx *c, const tp_json *doc, const char *key, tp_json_type type)
{
    return tp_member(c, doc, key, type, true);
}

/* The lists of the file, as --over has them. */
static tp_str *over_of(tp_ctx *c, const tp_json *axes)
{
    tp_str *over = TP_NEWN(c->arena, tp_str, axes->u.items.n + 1);
    for (uint32_t i = 0; i < axes->u.items.n; i++) {
        tp_expect_type(c, axes->u.items.at[i], TP_J_OBJECT, "a list of the sweep");
        const tp_json *values = member_of(c, axes->u.items.at[i], "values", TP_J_ARRAY);
        tp_buf b = {.arena = c->arena};
        tp_buf_str(&b, member_of(c, axes->u.items.at[i], "name", TP_J_STRING)->u.string);
        for (uint32_t v = 0; v < values->u.items.n; v++) {
            tp_expect_type(c, values->u.items.at[v], TP_J_STRING, "a value of a list");
            tp_buf_c(&b, v ? "|" : "=");
            tp_buf_str(&b, values->u.items.at[v]->u.string);
        }
        over[i] = tp_buf_view(&b);
    }
    return over;
}

static tp_binding *sizes_of(tp_ctx *c, const tp_json *sizes)
{
    tp_binding *at = TP_NEWN(c->arena, tp_binding, sizes->u.items.n + 1);
    for (uint32_t i = 0; i < sizes->u.items.n; i++) {
        tp_expect_type(c, sizes->u.items.at[i], TP_J_INT, "a size of the model");
        at[i] = (tp_binding){sizes->u.items.at[i]->key, sizes->u.items.at[i]->u.integer};
    }
    return at;
}

/* The rule that the file names for each shape; NULL: none. */
static const char **rules_of(tp_ctx *c, const tp_json *list, uint32_t ncells)
{
    const char **rules = TP_NEWN(c->arena, const char *, ncells);
    for (uint32_t i = 0; i < list->u.items.n; i++) {
        const tp_json *row = list->u.items.at[i];
        tp_expect_type(c, row, TP_J_ARRAY, "a run of forbidden shapes");
        tp_json *const *at = row->u.items.at;
        bool fine = row->u.items.n == 3 && at[0]->type == TP_J_STRING && at[1]->type == TP_J_INT &&
                    at[2]->type == TP_J_INT && at[1]->u.integer >= 0 && at[1]->u.integer <= at[2]->u.integer &&
                    at[2]->u.integer < ncells;
        const tp_rule *rule = fine ? tp_rule_find(at[0]->u.string) : NULL;
        if (!rule)
            tp_raise(c, TP_RULE_SPEC_VALUE, row->loc, HELP,
                     "a run is a rule and the first and last number of shapes that the sweep has");
        for (int64_t n = at[1]->u.integer; n <= at[2]->u.integer; n++)
            rules[n] = rule->code;
    }
    return rules;
}

typedef struct recheck {
    tp_sweep s;
    sweep_run run;
    sweep_worker w;
    const char **rules;
    tp_sweep_rechecked *out;
} recheck;

__attribute__((format(printf, 2, 3))) static bool refuse(recheck *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    r->out->refusal = tp_vprintf(r->s.arena, fmt, ap);
    va_end(ap);
    return false;
}

static bool is_beaten(recheck *r, uint32_t cell, double best)
{
    shape_call x = {.w = &r->w, .cell = cell, .rule = r->rules[cell]};
    piece(&r->w, price, &x);
    if (x.is == NO_SPEC) {
        r->out->forbidden++;
        return true;
    }
    if (x.is == OUTSIDE || (x.is == PRICED && x.cost.seconds >= best)) {
        r->out->outside += x.is == OUTSIDE;
        r->out->slower += x.is == PRICED;
        return true;
    }
    tp_str name = tp_sweep_cell_name(r->s.arena, &r->s, cell);
    if (!x.rule)
        return refuse(r, "%.*s %s, and the file names no rule that forbids it", TP_FMT(name),
                      x.is == PRICED ? "is faster in the model" : "is not modelled");
    piece(&r->w, judge, &x);
    if (x.said.verdict == TP_CELL_LEGAL)
        return refuse(r, "%.*s %s, and %s does not forbid it", TP_FMT(name),
                      x.is == PRICED ? "is faster in the model" : "is not modelled", x.rule);
    r->out->forbidden += x.said.verdict == TP_CELL_FORBIDDEN;
    r->out->open += x.said.verdict == TP_CELL_UNKNOWN;
    return true;
}

static bool best_is_as_stated(recheck *r, const tp_json *best, const tp_json *seconds)
{
    if (best->u.integer < 0 || best->u.integer >= r->s.ncells)
        return refuse(r, "the sweep has no shape %lld", (long long)best->u.integer);
    shape_call x = {.w = &r->w, .cell = (uint32_t)best->u.integer};
    piece(&r->w, price, &x);
    r->out->best = tp_sweep_cell_name(r->s.arena, &r->s, x.cell);
    r->out->seconds = x.cost.seconds;
    if (x.is != PRICED || x.cost.seconds != seconds->u.real)
        return refuse(r, "%.*s takes %.17g s in the model, and the file says %.17g", TP_FMT(r->out->best),
                      x.is == PRICED ? x.cost.seconds : 0.0, seconds->u.real);
    piece(&r->w, judge, &x);
    if (x.said.verdict == TP_CELL_FORBIDDEN)
        return refuse(r, "%.*s is forbidden by %s", TP_FMT(r->out->best), x.said.nrules ? x.said.rules[0] : "a rule");
    r->out->open += x.said.verdict == TP_CELL_UNKNOWN;
    return true;
}

void tp_sweep_recheck(tp_ctx *c, const tp_job *j, const tp_check_settings *lint, tp_str digest, tp_sweep_rechecked *out)
{
    const tp_json *doc = tp_json_parse(c, false);
    const tp_json *version = doc->type == TP_J_OBJECT ? tp_json_get(doc, "tileproof_optimum") : NULL;
    if (!version || version->type != TP_J_INT || version->u.integer != 1)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, doc->loc, HELP,
                 "this is no claim about a best shape that can be read here");
    const tp_json *axes = member_of(c, doc, "axes", TP_J_ARRAY), *sizes = member_of(c, doc, "modelled_at", TP_J_OBJECT),
                  *best = member_of(c, doc, "best", TP_J_INT), *seconds = member_of(c, doc, "model_seconds", TP_J_REAL),
                  *forbidden = member_of(c, doc, "forbidden", TP_J_ARRAY);
    tp_str why, *over = over_of(c, axes);
    recheck r = {.out = out};
    tp_check_settings settings = *lint;
    settings.target = member_of(c, doc, "target", TP_J_STRING)->u.string;
    *out = (tp_sweep_rechecked){0};
    if (!tp_str_eq(member_of(c, doc, "spec", TP_J_STRING)->u.string, digest)) {
        out->refusal = TP_S("it is of another spec, or the spec was changed since");
        return;
    }
    if (!tp_sweep_read(c->arena, j, over, axes->u.items.n, &r.s, &why) ||
        !tp_sweep_model(&r.s, j, sizes_of(c, sizes), sizes->u.items.n, &why)) {
        out->refusal = why;
        return;
    }
    if (r.s.nmodelled != sizes->u.items.n) {
        out->refusal = TP_S("it does not say every size of the model");
        return;
    }
    tp_sweep_options o = {.lint = &settings};
    r.run = (sweep_run){.s = &r.s, .o = &o};
    r.w = (sweep_worker){.run = &r.run, .arena = c->arena};
    r.rules = rules_of(c, forbidden, r.s.ncells);
    out->shapes = r.s.ncells;
    out->sizes = sweep_model_text(c->arena, &r.s);
    out->lists = sweep_lists_text(c->arena, &r.s);
    bool fine = best_is_as_stated(&r, best, seconds);
    for (uint32_t i = 0; i < r.s.ncells && fine; i++)
        fine = i == best->u.integer || is_beaten(&r, i, seconds->u.real);
    out->internal_error = r.run.internal_error;
    tp_arena_free(r.w.piece);
}
