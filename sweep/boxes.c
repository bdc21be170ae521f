/* Rules that hold for all sizes of a box hold for its cells. A box is the least
 * range of each listed size, with the greatest step, that has its cells; it may
 * have more. Where a rule is not proven there, its counterexamples are evaluated
 * at each cell, exactly; what they do not break gets smaller boxes. A box of one
 * cell is that cell, checked as lint checks it.
 */
#include "base/checked.h"
#include "spec/facts.h"
#include "sweep/internal.h"

typedef struct box {
    uint32_t *cells; /* with the first target; of one dtype combination */
    uint32_t n;
    struct box *next;
} box;

struct sweep_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    box *first;
    uint32_t working; /* threads that may still add boxes */
};

/* Of an axis: its values in a box. */
typedef struct extent {
    int64_t lo, hi, step; /* step: divides them all */
} extent;

typedef struct box_call {
    sweep_worker *w;
    box *b;
    bool *done; /* per cell of the box */
    tp_job job;
} box_call;

static void add_box(sweep_run *run, box *b)
{
    pthread_mutex_lock(&run->queue->lock);
    b->next = run->queue->first;
    run->queue->first = b;
    pthread_cond_signal(&run->queue->changed);
    pthread_mutex_unlock(&run->queue->lock);
}

static extent extent_of(const tp_sweep *s, const uint32_t *cells, uint32_t n, uint32_t axis)
{
    extent e = {INT64_MAX, -1, 0};
    for (uint32_t i = 0; i < n; i++) {
        int64_t v = s->axes[axis].numbers[tp_sweep_at(s, cells[i], axis)];
        e.lo = v < e.lo ? v : e.lo;
        e.hi = v > e.hi ? v : e.hi;
        e.step = tp_gcd(v, e.step);
    }
    return e;
}

/* The spec for all sizes of the box. */
static tp_str box_text(tp_arena *a, const tp_sweep *s, const box *b)
{
    tp_str values[TP_SWEEP_AXES];
    for (uint32_t i = 0; i < s->naxes; i++) {
        values[i] = s->axes[i].values[tp_sweep_at(s, b->cells[0], i)];
        if (s->axes[i].kind != TP_SWEEP_SIZE)
            continue;
        extent e = extent_of(s, b->cells, b->n, i);
        if (e.lo < e.hi)
            values[i] = tp_printf(a, "{\"min\": %lld, \"max\": %lld, \"multiple_of\": %lld}", (long long)e.lo,
                                  (long long)e.hi, (long long)e.step);
    }
    return tp_sweep_text(a, s, values);
}

/* ---- a counterexample at other cells ---- */

typedef struct trial {
    const tp_kernel *k;
    const tp_obligation *o;
    const tp_implicit_facts *facts;
    int64_t *env;
} trial;

static bool holds(const trial *t, tp_expr e)
{
    int64_t v;
    return tp_expr_eval(t->k->exprs, e, t->env, &v) == TP_EVAL_OK && v;
}

/* Inside their bounds: a step that the grid does not have becomes its last one. */
static bool settle_variables(const trial *t)
{
    for (uint32_t i = 0; i < t->o->nvars; i++) {
        const tp_var *x = &t->o->vars[i];
        int64_t lo, hi, *v = &t->env[x->sym];
        if (tp_expr_eval(t->k->exprs, x->lo, t->env, &lo) != TP_EVAL_OK ||
            tp_expr_eval(t->k->exprs, x->hi, t->env, &hi) != TP_EVAL_OK)
            return false;
        if (x->step && *v > hi)
            *v = hi;
        bool listed = !x->choices;
        for (uint32_t c = 0; c < x->nchoices; c++)
            listed |= x->choices[c] == *v;
        if (!listed || *v < lo || *v > hi || *v % x->multiple_of)
            return false;
    }
    return true;
}

/* Is this a case of the obligation, and does it break the goal? In exact arithmetic. */
static bool breaks(const trial *t)
{
    int64_t v;
    if (!settle_variables(t))
        return false;
    for (uint32_t i = 0; i < t->o->npremises; i++)
        if (!holds(t, t->o->premises[i]))
            return false;
    for (uint32_t i = 0; i < t->facts->len; i++)
        if (!holds(t, t->facts->at[i].says))
            return false;
    return tp_expr_eval(t->k->exprs, t->o->goal, t->env, &v) == TP_EVAL_OK && v == 0;
}

static tp_str case_text(tp_arena *a, const trial *t)
{
    tp_witness w = {.dtypes = tp_dtypes_text(t->k)};
    for (uint32_t i = 0; i < t->k->nsizes; i++)
        if (tp_is_open_size(&t->k->sizes[i]))
            tp_push(a, w.sizes, (tp_binding){t->k->sizes[i].name, t->env[t->k->sizes[i].sym]});
    for (uint32_t i = 0; i < t->k->naxes; i++)
        for (uint32_t v = 0; v < t->o->nvars; v++)
            if (t->o->vars[v].sym == t->k->axes[i].sym)
                tp_push(a, w.step, (tp_binding){t->k->axes[i].name, t->env[t->k->axes[i].sym]});
    return tp_witness_text(a, &w);
}

static void forbid(box_call *x, uint32_t i, const trial *t, const tp_finding *f)
{
    tp_sweep_opinion *o = &x->w->run->others_say[x->b->cells[i]];
    bool first = o->verdict != TP_CELL_FORBIDDEN || strcmp(f->rule, o->rules[0]) < 0;
    if (o->verdict != TP_CELL_FORBIDDEN)
        o->nrules = 0;
    o->verdict = TP_CELL_FORBIDDEN;
    sweep_add_rule(o, f->rule);
    if (first) {
        o->message = tp_printf(x->w->arena, "%.*s", TP_FMT(f->message));
        o->smallest = tp_printf(x->w->arena, "%.*s", TP_FMT(case_text(x->w->piece, t)));
    }
    x->done[i] = true;
}

/* tp_analysis_options.refuted */
static void try_elsewhere(void *ctx, const tp_kernel *k, const tp_obligation *o, const int64_t *env,
                          const tp_finding *f)
{
    box_call *x = ctx;
    const tp_sweep *s = x->w->run->s;
    uint32_t syms = tp_sym_count(k->exprs);
    tp_implicit_facts facts = {0};
    tp_implicit_facts_of(x->w->piece, k, &facts);
    trial t = {k, o, &facts, TP_NEWN(x->w->piece, int64_t, syms)};
    if (k->allow) /* it may cover the finding; the report knows */
        return;
    for (uint32_t i = 0; i < x->b->n; i++) {
        memcpy(t.env, env, syms * sizeof *env);
        for (uint32_t a = 0; a < s->naxes; a++) {
            const tp_size *size = s->axes[a].kind == TP_SWEEP_SIZE ? tp_size_find(k, s->axes[a].name) : NULL;
            if (size && size->kind == TP_SIZE_RANGE)
                t.env[size->sym] = s->axes[a].numbers[tp_sweep_at(s, x->b->cells[i], a)];
        }
        if (breaks(&t))
            forbid(x, i, &t, f);
    }
}

/* ---- smaller boxes ---- */

static box *part_of(tp_arena *a, const box_call *x, int axis, uint32_t below, bool lower)
{
    const tp_sweep *s = x->w->run->s;
    box *b = TP_NEW(a, box);
    b->cells = TP_NEWN(a, uint32_t, x->b->n);
    for (uint32_t i = 0; i < x->b->n; i++)
        if (!x->done[i] && (axis < 0 || (tp_sweep_at(s, x->b->cells[i], (uint32_t)axis) < below) == lower))
            b->cells[b->n++] = x->b->cells[i];
    return b;
}

static bool same_extents(const tp_sweep *s, const box *a, const box *b)
{
    for (uint32_t i = 0; i < s->naxes; i++) {
        if (s->axes[i].kind != TP_SWEEP_SIZE)
            continue;
        extent x = extent_of(s, a->cells, a->n, i), y = extent_of(s, b->cells, b->n, i);
        if (x.lo != y.lo || x.hi != y.hi || x.step != y.step)
            return false;
    }
    return true;
}

/* Where the listed values of the box part in two halves, on the axis that has most of them. */
static int widest_axis(tp_arena *a, const tp_sweep *s, const box *b, uint32_t *middle)
{
    int best = -1;
    uint32_t most = 1;
    for (uint32_t i = 0; i < s->naxes; i++) {
        if (s->axes[i].kind != TP_SWEEP_SIZE)
            continue;
        bool *seen = TP_NEWN(a, bool, s->axes[i].n);
        uint32_t n = 0;
        for (uint32_t c = 0; c < b->n; c++) {
            uint32_t v = tp_sweep_at(s, b->cells[c], i);
            n += !seen[v];
            seen[v] = true;
        }
        if (n <= most)
            continue;
        most = n;
        best = (int)i;
        *middle = 0;
        for (uint32_t half = n / 2; half || !seen[*middle]; (*middle)++)
            half -= seen[*middle];
    }
    return best;
}

/* What is left of the box: itself, where it needs less room now, else two halves. */
static void split(box_call *x)
{
    sweep_run *run = x->w->run;
    tp_arena *a = x->w->arena;
    box *rest = part_of(a, x, -1, 0, false);
    uint32_t middle = 0;
    if (!rest->n)
        return;
    if (!same_extents(run->s, rest, x->b)) {
        add_box(run, rest);
        return;
    }
    int axis = widest_axis(x->w->piece, run->s, rest, &middle);
    for (int half = 0; half < 2; half++) {
        box *b = part_of(a, x, axis, middle, half == 0);
        if (b->n)
            add_box(run, b);
    }
}

/* ---- one box ---- */

static bool nothing_open(const tp_spec_report *r)
{
    for (uint32_t i = 0; i < r->findings.len; i++)
        if (tp_is_standing(&r->findings.at[i]))
            return false;
    return r->valid && !r->internal_error;
}

static void check_one(box_call *x)
{
    sweep_run *run = x->w->run;
    tp_check_settings s = run->others;
    s.analysis.replay_ctx = &s.max_memory;
    sweep_check(x->w, &x->job, box_text(x->w->piece, run->s, x->b), &s);
    run->others_say[x->b->cells[0]] = sweep_opinion_of(x->w->arena, &x->job.report);
    run->alone++;
}

static void check_many(box_call *x)
{
    sweep_run *run = x->w->run;
    tp_check_settings s = run->box;
    s.analysis.refuted = try_elsewhere;
    s.analysis.refuted_ctx = x;
    sweep_check(x->w, &x->job, box_text(x->w->piece, run->s, x->b), &s);
    run->boxes++;
    bool proven = nothing_open(&x->job.report);
    for (uint32_t i = 0; i < x->b->n && proven; i++)
        run->others_say[x->b->cells[i]].verdict = TP_CELL_LEGAL;
    if (!proven)
        split(x);
}

static void check_box(void *arg)
{
    box_call *x = arg;
    x->done = TP_NEWN(x->w->piece, bool, x->b->n);
    if (x->b->n == 1)
        check_one(x);
    else
        check_many(x);
}

/* NULL: there is none, and nobody will add one. */
static box *next_box(sweep_queue *q, bool done_with_one)
{
    pthread_mutex_lock(&q->lock);
    q->working -= done_with_one;
    while (!q->first && q->working)
        pthread_cond_wait(&q->changed, &q->lock);
    box *b = q->first;
    if (b) {
        q->first = b->next;
        q->working++;
    } else {
        pthread_cond_broadcast(&q->changed);
    }
    pthread_mutex_unlock(&q->lock);
    return b;
}

void sweep_boxes_work(sweep_worker *w)
{
    box_call x = {.w = w};
    for (bool again = false; (x.b = next_box(w->run->queue, again)); again = true) {
        if (w->run->failed || tp_budget_interrupted())
            continue;
        tp_status st = sweep_piece(w, x.b->n == 1 ? &w->run->others : &w->run->box, check_box, &x);
        for (uint32_t i = 0; i < x.b->n && st == TP_E_BUDGET; i++)
            w->run->others_say[x.b->cells[i]] = sweep_undecided();
        w->run->failed |= st != TP_OK && st != TP_E_BUDGET;
    }
}

/* ---- the first boxes ---- */

/* Is it the cell with the first target, and allowed for some? */
static bool is_wanted(const tp_sweep *s, uint32_t cell, int target)
{
    if (target < 0)
        return s->cells[cell].said.verdict != TP_CELL_FORBIDDEN;
    bool any = false;
    for (uint32_t t = 0; t < s->axes[target].n; t++)
        any |= s->cells[tp_sweep_with(s, cell, (uint32_t)target, t)].said.verdict != TP_CELL_FORBIDDEN;
    return any && tp_sweep_at(s, cell, (uint32_t)target) == 0;
}

/* Number of the combination of what is no size. */
static uint32_t combination(const tp_sweep *s, uint32_t cell)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->naxes; i++)
        if (s->axes[i].kind == TP_SWEEP_DTYPE || s->axes[i].kind == TP_SWEEP_CONSTANT)
            n = n * s->axes[i].n + tp_sweep_at(s, cell, i);
    return n;
}

static box *box_of(tp_arena *a, const uint32_t *cells, uint32_t n)
{
    box *b = TP_NEW(a, box);
    b->n = n;
    b->cells = TP_NEWN(a, uint32_t, n);
    memcpy(b->cells, cells, n * sizeof *cells);
    return b;
}

void sweep_boxes_begin(sweep_run *run)
{
    tp_sweep *s = run->s;
    int target = tp_sweep_axis_of(s, TP_SWEEP_TARGET);
    uint32_t combinations = 1, n = 0, *all = TP_NEWN(s->arena, uint32_t, s->ncells), *count = NULL, *start = NULL;
    run->queue = TP_NEW(s->arena, sweep_queue);
    pthread_mutex_init(&run->queue->lock, NULL);
    pthread_cond_init(&run->queue->changed, NULL);
    for (uint32_t i = 0; i < s->naxes; i++)
        if (s->axes[i].kind == TP_SWEEP_DTYPE || s->axes[i].kind == TP_SWEEP_CONSTANT)
            combinations *= s->axes[i].n;
    count = TP_NEWN(s->arena, uint32_t, combinations + 1);
    start = TP_NEWN(s->arena, uint32_t, combinations + 1);
    for (uint32_t c = 0; c < s->ncells; c++)
        if (is_wanted(s, c, target))
            count[combination(s, c)]++;
    for (uint32_t i = 0; i < combinations; i++)
        start[i + 1] = start[i] + count[i];
    for (uint32_t c = 0; c < s->ncells; c++)
        if (is_wanted(s, c, target))
            all[start[combination(s, c)] + --count[combination(s, c)]] = c;
    for (uint32_t i = 0; i < combinations; i++) {
        n = start[i + 1] - start[i];
        if (n && !s->expects)
            add_box(run, box_of(s->arena, all + start[i], n));
        for (uint32_t c = 0; s->expects && c < n; c++)
            add_box(run, box_of(s->arena, all + start[i] + c, 1));
    }
}

void sweep_boxes_end(sweep_run *run)
{
    pthread_mutex_destroy(&run->queue->lock);
    pthread_cond_destroy(&run->queue->changed);
}
