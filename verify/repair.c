/* Which place of the kernel makes it differ from its reference? The one that, written otherwise, makes it agree: small
 * changes of one place each are tried on a few elements by the evaluator of demand/, and what mends those is proposed
 * as a fix, which fix.c holds against cases and rules. The idea: Debroy and Wong, "Using mutation to automatically
 * suggest fixes for faulty programs", ICST 2010. */
#include <math.h>
#include <stdlib.h>

#include "base/budget.h"
#include "demand/demand.h"
#include "reference/reference.h"
#include "verify/rewrites.h"
#include "verify/verify.h"

enum {
    MOST_REWRITES = 6000,
    MOST_CASES = 2,
    ALIKE = 3, /* elements of a case that a rewrite has to mend, and that it has to leave as they are */
    ELEMENTS = 2 * ALIKE * MOST_CASES,
    LOOKED_AT = 48,        /* elements of an output among which they are found */
    PROPOSED = 4,          /* as many as fix.c executes */
    MOST_ROUNDS = 2,       /* of inputs */
    PER_ELEMENT = 4 << 20, /* operations */
    MOST_WORK = 100 << 20, /* operations, of all rewrites together */
    LOOKING = 6,           /* an output of a case takes at most such a part of them, until elements are found */
    WORK_MIB = 256
};
static const tp_demand_family ROUNDS[MOST_ROUNDS] = {TP_DEMAND_SMALL, TP_DEMAND_ROWS};

/* An element that a rewrite has to bring to what the reference says. */
typedef struct target {
    const tp_kernel *kernel; /* of a case that differs */
    uint32_t number;         /* of its dtype combination */
    const int64_t *env;
    uint32_t output;
    int64_t at[TP_MAX_RANK];
    tp_demand_value want[MOST_ROUNDS];
    bool differs;
    int64_t work; /* of the kernel, in the first round */
} target;

typedef struct repair {
    tp_job *j;
    tp_finding *f;
    uint32_t proposed, ntargets;
    target targets[ELEMENTS];
    int64_t rest; /* of the work */
} repair;

static tp_demand_value element(repair *r, tp_arena *a, const tp_kernel *k, const tp_program *p, bool reference,
                               const target *t, int round)
{
    tp_demand_options o = {.kernel = k,
                           .program = p,
                           .reference = reference,
                           .env = t->env,
                           .domain = tp_rounding_new(a),
                           .seed = (uint64_t)round,
                           .family = ROUNDS[round],
                           .budget = PER_ELEMENT};
    tp_demand_value v = tp_demand_element(tp_demand_new(a, &o), t->output, t->at);
    r->rest -= v.work + 1;
    return v;
}

/* Over the reals, within the bounds of both as far as these are small, or a tolerance: cases decide later. */
static bool is_same(const tp_demand_value *got, const tp_demand_value *want)
{
    static const double TOLERANCE = 1e-6;
    double v, w, bound;
    memcpy(&v, &got->plane[0], sizeof v);
    memcpy(&bound, &got->plane[1], sizeof bound);
    memcpy(&w, &want->plane[0], sizeof w);
    double near = TOLERANCE * fmax(TOLERANCE, fabs(w));
    if (got->outcome != TP_DEMAND_VALUE)
        return false;
    return got->number == want->number || fabs(v - w) <= (bound < near ? near : fmin(bound, 100 * near));
}

/* ---- elements ---- */

typedef struct examination {
    repair *r;
    tp_arena *work;
    const tp_program *reference;
    target *t;
    bool tells; /* the reference says something about it */
} examination;

/* Does the kernel differ there, in any round? */
static void examine(void *arg)
{
    examination *x = arg;
    target *t = x->t;
    t->differs = false;
    t->work = 0;
    for (int round = 0; round < MOST_ROUNDS; round++) {
        t->want[round] = element(x->r, x->work, t->kernel, x->reference, true, t, round);
        if (t->want[round].outcome != TP_DEMAND_VALUE || isnan(t->want[round].number)) /* it says nothing there */
            return;
        t->want[round].why = (tp_str){0}; /* its memory goes */
        tp_demand_value got = element(x->r, x->work, t->kernel, t->kernel->body, false, t, round);
        t->differs |= !is_same(&got, &t->want[round]);
        t->work += round == 0 ? got.work : 0;
    }
    x->tells = true;
}

/* Memory is that of one element: many large ones take no more than one of them. */
static bool tells(repair *r, const tp_program *reference, target *t)
{
    examination x = {r, tp_arena_child_limited(r->j->arena, (size_t)WORK_MIB << 20), reference, t, false};
    tp_status st = tp_try(x.work, examine, &x);
    tp_arena_free(x.work);
    if (st == TP_E_BUDGET)
        r->rest = 0;
    return st == TP_OK && x.tells;
}

/* Of each case some elements that differ, and some that do not: is there room for such a one? */
static bool is_wanted(const repair *r, const int64_t *env, bool differs)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->ntargets; i++)
        n += r->targets[i].env == env && r->targets[i].differs == differs;
    return r->ntargets < ELEMENTS && n < ALIKE;
}

/* Those that differ first, the cheap ones of them before the others. */
static int by_difference(const void *a, const void *b)
{
    const target *x = a, *y = b;
    return x->differs != y->differs ? y->differs - x->differs : (x->work > y->work) - (x->work < y->work);
}

/* The i-th of the elements that are looked at in n: all, or the first, the last, and then points that are spread over
 * each dimension otherwise, so that few of them tell rows from columns (Halton, 1960). */
static void place(int64_t i, int64_t n, uint32_t rank, const int64_t *dims, int64_t *at)
{
    static const int64_t PRIMES[] = {2, 3, 5, 7, 11, 13, 17, 19};
    int64_t rest = i;
    for (uint32_t d = rank; d-- > 0; rest /= dims[d]) {
        double share = 0, part = 1;
        int64_t prime = PRIMES[d % (sizeof PRIMES / sizeof *PRIMES)];
        for (int64_t digits = i - 1; digits > 0; digits /= prime)
            share += (part /= (double)prime) * (double)(digits % prime);
        at[d] = n <= LOOKED_AT ? rest % dims[d]
                : i == 0       ? 0
                : i == 1       ? dims[d] - 1
                               : (int64_t)(share * (double)dims[d]);
    }
}

static void find_in_output(repair *r, const tp_program *reference, target t)
{
    const tp_operand *o = &t.kernel->operands[t.kernel->ninputs + t.output];
    int64_t dims[TP_MAX_RANK], n = 1;
    tp_str why;
    if (o->discard || !tp_operand_dims(t.kernel, o, t.env, dims, &why))
        return;
    for (uint32_t d = 0; d < o->rank; d++)
        n *= dims[d];
    int64_t least = r->rest - MOST_WORK / LOOKING;
    for (int64_t i = 0; i < LOOKED_AT && i < n && r->rest > least; i++) {
        place(i, n, o->rank, dims, t.at);
        if (!is_wanted(r, t.env, true) && !is_wanted(r, t.env, false))
            return;
        if (tells(r, reference, &t) && is_wanted(r, t.env, t.differs))
            r->targets[r->ntargets++] = t;
    }
}

static void find_in_case(repair *r, const tp_case *c)
{
    tp_str why;
    target t = {.kernel = c->kernel, .env = c->env};
    const tp_spec *s = r->j->report.spec;
    const tp_program *reference = tp_reference_program(r->j->arena, t.kernel, &why);
    while (t.number < s->nkernels && s->kernels[t.number] != t.kernel)
        t.number++;
    if (!reference || !t.kernel->body || t.number == s->nkernels)
        return;
    for (t.output = 0; t.output < t.kernel->noutputs; t.output++)
        find_in_output(r, reference, t);
}

/* Does the finding speak of such a case? */
static bool is_of_finding(const tp_finding *f, const tp_case_result *r)
{
    bool differs = strcmp(f->rule, TP_RULE_NOT_EQUIVALENT) == 0;
    return differs ? r->outcome == TP_DIFFERENT : r->outcome == TP_TRAPPED && strcmp(r->trap.rule, f->rule) == 0;
}

/* In the first and in the last case of the finding. */
static void find_targets(repair *r)
{
    const tp_equiv *e = r->j->report.equiv;
    const tp_case *first = NULL, *last = NULL;
    for (uint32_t i = 0; i < e->cases.len; i++) {
        const tp_case *c = e->cases.at[i].the_case;
        if (!is_of_finding(r->f, &e->cases.at[i]) || c->against || c->near)
            continue;
        first = first ? first : c;
        last = c;
    }
    if (first)
        find_in_case(r, first);
    if (last != first)
        find_in_case(r, last);
    qsort(r->targets, r->ntargets, sizeof *r->targets, by_difference);
}

/* ---- rewrites ---- */

typedef struct trial {
    repair *r;
    tp_arena *work;
    const tp_rewrite *rewrite;
    bool mends;
} trial;

/* Then sizes and tables of the one mean the same in the other. */
static bool has_symbols_of(const tp_kernel *k, const tp_kernel *other)
{
    bool same = k->nsyms <= other->nsyms;
    for (uint32_t i = 0; i < k->nsyms && same; i++)
        same = tp_str_eq(tp_sym_name(k->exprs, i), tp_sym_name(other->exprs, i));
    return same;
}

/* The change, and the same of what is written alike. */
static tp_edits edits_of(tp_arena *a, const tp_rewrite *w)
{
    tp_edits edits = {0};
    tp_push(a, edits, w->edit);
    for (uint32_t i = 0; i < w->ntwins; i++) {
        tp_edit e = {w->twins[i], w->twins[i] + (w->edit.end - w->edit.start), w->edit.text};
        tp_push(a, edits, e);
    }
    if (w->also.text.n)
        tp_push(a, edits, w->also);
    return edits;
}

static void try_rewrite(void *arg)
{
    trial *t = arg;
    repair *r = t->r;
    tp_source source = r->j->source;
    tp_ctx c = {.arena = t->work, .source = &source};
    tp_load_options options = {.target = {NULL, 0}};
    tp_edits edits = edits_of(t->work, t->rewrite);
    tp_spec *spec = NULL;
    source.text = tp_apply_edits(t->work, source.text, &edits);
    if (tp_spec_load(&c, &options, &spec) != TP_OK || spec->nkernels != r->j->report.spec->nkernels)
        return;
    for (uint32_t i = 0; i < spec->nkernels; i++)
        if (!spec->kernels[i]->body || !has_symbols_of(spec->kernels[i], r->j->report.spec->kernels[i]))
            return;
    for (int round = 0; round < MOST_ROUNDS; round++)
        for (uint32_t i = 0; i < r->ntargets; i++) {
            const target *at = &r->targets[i];
            const tp_kernel *k = spec->kernels[at->number];
            tp_demand_value got = element(r, t->work, k, k->body, false, at, round);
            if (!is_same(&got, &at->want[round]))
                return;
        }
    t->mends = true;
}

/* Without the blanks around it; those within, as of an index map over several lines, become one. */
static tp_str on_one_line(tp_arena *a, tp_str s)
{
    char *out = tp_alloc(a, s.n);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        bool blank = strchr(" \n\t\r", s.p[i]) != NULL;
        if (!blank)
            out[n++] = s.p[i];
        else if (n && out[n - 1] != ' ')
            out[n++] = ' ';
    }
    return (tp_str){out, n && out[n - 1] == ' ' ? n - 1 : n};
}

static void propose(repair *r, const tp_rewrite *w)
{
    tp_arena *a = r->j->arena;
    tp_str old = {r->j->source.text.p + w->edit.start, w->edit.end - w->edit.start};
    tp_fix fix = {.title = tp_printf(a, "write `%.*s` in place of `%.*s`", TP_FMT(on_one_line(a, w->edit.text)),
                                     TP_FMT(on_one_line(a, old))),
                  .edits = edits_of(a, w)};
    if (w->title.n)
        fix.title = w->title;
    if (w->ntwins)
        fix.title =
            tp_printf(a, "%.*s, in the %u %s that are written alike", TP_FMT(fix.title), w->ntwins + 1, w->twins_are);
    tp_push(r->j->arena, r->f->proposals, fix);
}

static void search(void *arg)
{
    repair *r = arg;
    tp_arena *a = r->j->arena;
    find_targets(r);
    if (!r->ntargets || !r->targets[0].differs)
        return;
    tp_rewrites all = tp_rewrites_of(&r->j->ctx, r->j->report.spec->doc, MOST_REWRITES);
    uint8_t rank = UINT8_MAX; /* of the first that helps: what is less simple is not looked at then */
    for (uint32_t i = 0; i < all.len && r->rest > 0 && r->proposed < PROPOSED && all.at[i].rank <= rank; i++) {
        trial t = {r, tp_arena_child_limited(a, (size_t)WORK_MIB << 20), &all.at[i], false};
        tp_status st = tp_try(t.work, try_rewrite, &t);
        tp_arena_free(t.work);
        if (st == TP_E_BUDGET)
            return;
        if (st == TP_OK && t.mends) {
            propose(r, &all.at[i]);
            r->proposed++;
            rank = all.at[i].rank;
        }
    }
}

static void on_own_stack(void *arg)
{
    repair *r = arg;
    (void)tp_try(r->j->arena, search, r); /* what was found by then is proposed */
}

void tp_propose_repairs(tp_job *j, tp_finding *f)
{
    repair r = {.j = j, .f = f, .rest = MOST_WORK};
    if (j->report.equiv)
        tp_with_stack(on_own_stack, &r);
}

/* ---- blame ---- */

/* The innermost JSON value around an offset: its pointer. */
static const tp_json *value_at(const tp_json *v, uint32_t at)
{
    bool has = v->type == TP_J_ARRAY || v->type == TP_J_OBJECT;
    for (uint32_t i = 0; has && i < v->u.items.n; i++) {
        const tp_json *item = v->u.items.at[i];
        if (item->loc.start <= at && at < item->loc.end)
            return value_at(item, at);
    }
    return v;
}

void tp_blame_repair(tp_job *j, tp_finding *f, const tp_fix *fix)
{
    bool alike = fix->edits.len > 0;
    for (uint32_t i = 1; i < fix->edits.len; i++)
        alike &= tp_str_eq(fix->edits.at[i].text, fix->edits.at[0].text);
    if (strcmp(f->rule, TP_RULE_NOT_EQUIVALENT) != 0 || !alike || !j->report.valid)
        return;
    const tp_edit *e = &fix->edits.at[0];
    const tp_json *place = value_at(j->report.spec->doc, e->start);
    f->loc = (tp_loc){e->start, e->end, place->loc.pointer};
    f->label = TP_S("written otherwise, results agree");
    f->help = tp_printf(j->arena, "%.*s: then results agree%s", TP_FMT(fix->title),
                        f->fix ? ", and all rules hold" : " in the cases that were tried");
}
