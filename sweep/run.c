/* The cells of a sweep: hardware rules one by one, the others by boxes, on several threads. */
#include "sweep/internal.h"

/* ---- what a report says ---- */

void sweep_add_rule(tp_sweep_opinion *o, const char *code)
{
    uint32_t at = 0;
    while (at < o->nrules && strcmp(o->rules[at], code) < 0)
        at++;
    if ((at < o->nrules && strcmp(o->rules[at], code) == 0) || at == TP_SWEEP_RULES)
        return;
    if (o->nrules == TP_SWEEP_RULES)
        o->nrules--;
    memmove(o->rules + at + 1, o->rules + at, (o->nrules - at) * sizeof *o->rules);
    o->rules[at] = code;
    o->nrules++;
}

tp_sweep_opinion sweep_undecided(void)
{
    tp_sweep_opinion o = {.verdict = TP_CELL_UNKNOWN, .message = TP_S("its budget ended before a rule could be asked")};
    sweep_add_rule(&o, TP_RULE_BUDGET_SPENT);
    return o;
}

/* As an exit code counts it: what "allow" covers does not, nor does an entry that covers nothing. */
static bool is_verdict(const tp_finding *f, tp_sweep_verdict *v)
{
    if (!tp_is_standing(f) || (f->verdict == TP_VIOLATED && f->severity != TP_ERROR))
        return false;
    *v = f->verdict == TP_UNKNOWN ? TP_CELL_UNKNOWN : TP_CELL_FORBIDDEN;
    return true;
}

tp_sweep_opinion sweep_opinion_of(tp_arena *keep, const tp_spec_report *r)
{
    tp_sweep_opinion o = {.verdict = TP_CELL_LEGAL};
    const tp_finding *first = NULL;
    tp_sweep_verdict v;
    for (uint32_t i = 0; i < r->findings.len; i++)
        if (is_verdict(&r->findings.at[i], &v) && o.verdict != TP_CELL_FORBIDDEN)
            o.verdict = r->valid ? v : TP_CELL_FORBIDDEN;
    for (uint32_t i = 0; i < r->findings.len; i++) {
        const tp_finding *f = &r->findings.at[i];
        if (!is_verdict(f, &v) || (r->valid && v != o.verdict))
            continue;
        if (!first || strcmp(f->rule, first->rule) < 0)
            first = f;
        sweep_add_rule(&o, f->rule);
    }
    if (first) {
        o.message = tp_printf(keep, "%.*s", TP_FMT(first->message));
        if (first->witness)
            o.smallest = tp_printf(keep, "%.*s", TP_FMT(tp_witness_text(keep, first->witness)));
    }
    return o;
}

/* LEGAL < UNKNOWN < FORBIDDEN */
static int rank_of(tp_sweep_verdict v)
{
    return v == TP_CELL_LEGAL ? 0 : v == TP_CELL_UNKNOWN ? 1 : 2;
}

/* Codes of both, ascending, and the worse verdict; the first one's texts where it has some. */
static tp_sweep_opinion join(const tp_sweep_opinion *a, const tp_sweep_opinion *b)
{
    if (rank_of(a->verdict) != rank_of(b->verdict))
        return rank_of(a->verdict) > rank_of(b->verdict) ? *a : *b;
    bool b_first = b->nrules && (!a->nrules || strcmp(b->rules[0], a->rules[0]) < 0);
    tp_sweep_opinion o = b_first ? *b : *a;
    for (uint32_t i = 0; i < a->nrules; i++)
        sweep_add_rule(&o, a->rules[i]);
    for (uint32_t i = 0; i < b->nrules; i++)
        sweep_add_rule(&o, b->rules[i]);
    return o;
}

/* ---- one text ---- */

/* The memory of the last piece is used again, unless that was left in the middle. */
tp_status sweep_piece(sweep_worker *w, const tp_check_settings *s, void (*fn)(void *), void *ctx)
{
    if (!w->piece) {
        tp_budget_begin(&w->budget, s->timeout, s->memory_mib);
        w->piece = tp_arena_new(0);
        if (!w->piece)
            return TP_E_MEMORY;
        tp_arena_set_budget(w->piece, &w->budget);
    }
    w->budget.timeout = s->timeout;
    tp_budget_renew(&w->budget);
    if (w->run->o->unit)
        w->run->o->unit(w->run->o->ctx, w->index);
    tp_status st = tp_try(w->piece, fn, ctx);
    if (st == TP_E_MEMORY && tp_budget_over(&w->budget))
        st = TP_E_BUDGET;
    if (st == TP_OK && !w->budget.cut) {
        tp_arena_clear(w->piece);
    } else {
        tp_arena_free(w->piece);
        w->piece = NULL;
    }
    return st;
}

void sweep_check(sweep_worker *w, tp_job *j, tp_str text, const tp_check_settings *s)
{
    *j = (tp_job){.arena = w->piece, .source = *w->run->s->source};
    j->source.text = text;
    tp_job_begin(j);
    tp_check_text(j, s, w->solver);
    if (j->report.internal_error || j->report.stats.disagreement.n)
        w->run->internal_error = true;
}

void sweep_check_cell(sweep_worker *w, uint32_t cell, const tp_check_settings *settings, tp_job *j)
{
    tp_check_settings s = *settings;
    tp_str target, text = tp_sweep_cell_text(w->piece, w->run->s, cell, &target);
    if (target.n)
        s.target = target;
    s.analysis.replay_ctx = &s.max_memory;
    sweep_check(w, j, text, &s);
}

void sweep_load_cell(sweep_worker *w, uint32_t cell, tp_job *j)
{
    tp_str target;
    *j = (tp_job){.arena = w->piece, .source = *w->run->s->source};
    j->source.text = tp_sweep_cell_text(j->arena, w->run->s, cell, &target);
    tp_job_begin(j);
    tp_job_load_text(j, target.n ? target : w->run->o->lint->target);
}

typedef struct cell_call {
    sweep_worker *w;
    uint32_t cell;
    tp_job job;
} cell_call;

static void check_cell(void *arg)
{
    cell_call *x = arg;
    const sweep_run *run = x->w->run;
    sweep_check_cell(x->w, x->cell, &run->hardware, &x->job);
    tp_sweep_cell *cell = &run->s->cells[x->cell];
    cell->said = sweep_opinion_of(x->w->arena, &x->job.report);
    if (x->job.report.valid && cell->said.verdict != TP_CELL_FORBIDDEN)
        cell->cost = tp_sweep_price(x->w->piece, x->job.report.spec, run->s->modelled, run->s->nmodelled);
    cell->vmem = x->job.report.valid && x->job.report.vmem.limit ? x->job.report.vmem.bytes : -1;
}

static void *check_cells(void *arg)
{
    sweep_worker *w = arg;
    cell_call x = {.w = w};
    while (!w->run->failed && !tp_budget_interrupted() &&
           (x.cell = atomic_fetch_add(&w->run->next, 1)) < w->run->s->ncells) {
        tp_status st = sweep_piece(w, &w->run->hardware, check_cell, &x);
        if (st == TP_E_BUDGET)
            w->run->s->cells[x.cell].said = sweep_undecided();
        else if (st != TP_OK)
            w->run->failed = true;
    }
    return NULL;
}

static void *check_boxes(void *arg)
{
    sweep_boxes_work(arg);
    return NULL;
}

/* ---- all of them ---- */

static void together(sweep_worker *workers, uint32_t n, void *(*fn)(void *))
{
    uint32_t started = 1;
    while (started < n && pthread_create(&workers[started].thread, NULL, fn, &workers[started]) == 0)
        started++;
    fn(&workers[0]); /* this thread works, too, even where no other could be had */
    for (uint32_t i = 1; i < started; i++)
        pthread_join(workers[i].thread, NULL);
}

/* Of the rules that lint looks at, those of the hardware or the others. TP006 is asked for each cell: what a box has
 * points for says nothing of a cell. Advice forbids nothing. */
static void select_rules(tp_arena *a, tp_check_settings *s, bool hardware)
{
    const tp_rule **rules = TP_NEWN(a, const tp_rule *, s->analysis.nonly + 1);
    size_t n = 0;
    for (size_t i = 0; i < s->analysis.nonly; i++) {
        const tp_rule *r = s->analysis.only[i];
        bool here = r->hardware == hardware || (hardware && strcmp(r->code, TP_RULE_EMPTY_DOMAIN) == 0);
        if (here && r->severity != TP_NOTE)
            rules[n++] = r;
    }
    s->analysis.only = rules;
    s->analysis.nonly = n;
}

static void join_all(sweep_run *run)
{
    tp_sweep *s = run->s;
    int target = tp_sweep_axis_of(s, TP_SWEEP_TARGET);
    for (uint32_t i = 0; i < s->ncells; i++) {
        uint32_t base = target < 0 ? i : tp_sweep_with(s, i, (uint32_t)target, 0);
        s->cells[i].said = join(&s->cells[i].said, &run->others_say[base]);
    }
}

void tp_sweep_run(tp_sweep *s, const tp_sweep_options *o)
{
    sweep_run run = {.s = s, .o = o, .hardware = *o->lint, .others = *o->lint};
    uint32_t n = o->threads ? o->threads : 1;
    n = n < s->ncells ? n : s->ncells;
    sweep_worker *workers = TP_NEWN(s->arena, sweep_worker, n);
    run.hardware.analysis.verdicts_only = run.others.analysis.verdicts_only = true;
    select_rules(s->arena, &run.hardware, true);
    select_rules(s->arena, &run.others, false);
    run.box = run.others;
    run.box.timeout = run.box.timeout ? 1 : 0;
    run.box.analysis.replay = NULL;
    run.others_say = TP_NEWN(s->arena, tp_sweep_opinion, s->ncells);
    s->kept = TP_NEWN(s->arena, tp_arena *, n);
    for (s->nkept = 0; s->nkept < n; s->nkept++) {
        tp_arena *own = s->kept[s->nkept] = tp_arena_new(0); /* no child: its thread leaves through its own tp_try() */
        if (!own)
            tp_leave(s->arena, TP_E_MEMORY);
        workers[s->nkept] =
            (sweep_worker){.run = &run, .index = s->nkept, .arena = own, .solver = tp_solver_new(s->arena)};
        tp_solver_start(workers[s->nkept].solver);
    }
    together(workers, n, check_cells);
    if (!run.failed) {
        sweep_boxes_begin(&run);
        together(workers, n, check_boxes);
        sweep_boxes_end(&run);
        join_all(&run);
    }
    for (uint32_t i = 0; i < n; i++) {
        tp_solver_free(workers[i].solver);
        tp_arena_free(workers[i].piece);
    }
    s->boxes = run.boxes;
    s->alone = run.alone;
    s->internal_error = run.internal_error;
    if (run.failed)
        tp_leave(s->arena, TP_E_MEMORY);
}

void tp_sweep_free(tp_sweep *s)
{
    for (uint32_t i = 0; i < s->nkept; i++)
        tp_arena_free(s->kept[i]);
    s->nkept = 0;
}

typedef struct lint_call {
    sweep_worker *w;
    uint32_t cell;
    tp_sweep_opinion said;
} lint_call;

static void lint_cell(void *arg)
{
    lint_call *x = arg;
    tp_job j;
    sweep_check_cell(x->w, x->cell, x->w->run->o->lint, &j);
    x->said = sweep_opinion_of(x->w->arena, &j.report);
}

tp_sweep_opinion tp_sweep_lint(tp_sweep *s, const tp_sweep_options *o, uint32_t cell)
{
    sweep_run run = {.s = s, .o = o};
    sweep_worker w = {.run = &run, .arena = s->arena, .solver = tp_solver_new(s->arena)};
    lint_call x = {.w = &w, .cell = cell};
    tp_status st = sweep_piece(&w, o->lint, lint_cell, &x);
    if (st == TP_E_BUDGET)
        x.said = sweep_undecided();
    tp_arena_free(w.piece);
    tp_solver_free(w.solver);
    s->internal_error |= run.internal_error;
    if (st != TP_OK && st != TP_E_BUDGET)
        tp_leave(s->arena, TP_E_MEMORY);
    return x.said;
}
