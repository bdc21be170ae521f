/* What changed between two versions of a spec, beyond the text. */
#include <stdio.h>

#include "analyzer/claim/windows.h"
#include "base/budget.h"
#include "cli/check.h"
#include "cli/watchdog.h"

typedef struct diff {
    tp_check_run *run; /* of the old and the new one */
    tp_arena *arena;
    bool changed, different;
    uint32_t introduced;
} diff;

/* The findings of one report that the other does not have, by rule, place and subject. */
static uint32_t print_only(diff *d, int in, const char *word)
{
    const tp_spec_report *ours = &d->run->report.specs.at[in], *theirs = &d->run->report.specs.at[1 - in];
    uint32_t count = 0;
    for (uint32_t i = 0; i < ours->findings.len; i++) {
        const tp_finding *f = &ours->findings.at[i];
        tp_str place = tp_place(d->arena, ours, f);
        bool both = !tp_is_standing(f);
        for (uint32_t k = 0; k < theirs->findings.len && !both; k++) {
            const tp_finding *g = &theirs->findings.at[k];
            both = tp_is_standing(g) && strcmp(f->rule, g->rule) == 0 && tp_str_eq(f->subject, g->subject) &&
                   tp_str_eq(place, tp_place(d->arena, theirs, g));
        }
        if (both)
            continue;
        printf("%s %s[%s] %.*s\n", word, tp_verdict_name(f->verdict), f->rule,
               TP_FMT(tp_visible(d->arena, f->message)));
        count++;
    }
    d->changed |= count > 0;
    return count;
}

static void print_change(diff *d, const char *what, tp_str old, tp_str new)
{
    if (tp_str_eq(old, new))
        return;
    printf("%s: %.*s -> %.*s\n", what, TP_FMT(tp_visible(d->arena, old)), TP_FMT(tp_visible(d->arena, new)));
    d->changed = true;
}

static tp_str memory_text(diff *d, const tp_memory_table *t)
{
    if (!t->limit)
        return TP_S("not computed");
    if (t->bytes < 0)
        return tp_printf(d->arena, "no bound, of %lld bytes", (long long)t->limit);
    return tp_printf(d->arena, "%lld of %lld bytes", (long long)t->bytes, (long long)t->limit);
}

static tp_str facts_text(diff *d, const tp_kernel *k)
{
    tp_buf b = {.arena = d->arena};
    for (uint32_t i = 0; i < k->ncontracts; i++)
        tp_buf_printf(&b, "%s%.*s: %.*s", i ? "; " : "", TP_FMT(k->contracts[i].id), TP_FMT(k->contracts[i].text));
    return b.n ? tp_buf_view(&b) : TP_S("none");
}

static tp_str window_text(diff *d, const tp_kernel *k, const tp_operand *o)
{
    tp_buf b = {.arena = d->arena};
    for (uint32_t i = 0; i < o->rank && !o->whole; i++)
        tp_buf_printf(&b, "%s%.*s", i ? ", " : "[", TP_FMT(tp_expr_text(k->exprs, o->dims[i].block)));
    tp_buf_c(&b, o->whole ? "the whole array" : "] at (");
    for (uint32_t i = 0; i < o->rank && !o->whole; i++)
        tp_buf_printf(&b, "%s%.*s", i ? ", " : "", TP_FMT(tp_expr_text(k->exprs, o->dims[i].index)));
    tp_buf_c(&b, o->whole ? "" : ")");
    return tp_buf_view(&b);
}

static tp_str grid_text(diff *d, const tp_kernel *k)
{
    tp_buf b = {.arena = d->arena};
    for (uint32_t i = 0; i < k->naxes; i++)
        tp_buf_printf(&b, "%s%.*s < %.*s%s", i ? ", " : "", TP_FMT(k->axes[i].name),
                      TP_FMT(tp_expr_text(k->exprs, k->axes[i].steps)), k->axes[i].parallel ? " parallel" : "");
    return b.n ? tp_buf_view(&b) : TP_S("one step");
}

/* Are windows of one name the same, whatever their text? For all dtype combinations, which share the maps. */
static void compare_operands(diff *d, const tp_kernel *old, const tp_kernel *new)
{
    tp_analysis_options o = d->run->s.analysis;
    uint32_t same = 0, all = old->ninputs + old->noutputs;
    for (uint32_t i = 0; i < all; i++) {
        const tp_operand *x = &old->operands[i];
        int at = tp_operand_find(new, x->name);
        if (at < 0 || new->operands[at].role != x->role) {
            printf("operand `%.*s`: gone\n", TP_FMT(x->name));
            d->changed = true;
            continue;
        }
        const tp_operand *y = &new->operands[at];
        tp_same_result r = tp_same_windows(d->arena, &o, old, x, new, y);
        tp_str was = window_text(d, old, x), is = window_text(d, new, y);
        same += r.same == TP_SAME;
        if (tp_str_eq(was, is) && r.same == TP_SAME)
            continue;
        d->changed = true;
        printf("windows of `%.*s`: %.*s -> %.*s: %s", TP_FMT(x->name), TP_FMT(was), TP_FMT(is),
               r.same == TP_SAME       ? "the same for all sizes"
               : r.same == TP_NOT_TOLD ? "not told apart"
                                       : "different");
        if (r.witness)
            printf(", e.g. with %.*s", TP_FMT(tp_witness_text(d->arena, r.witness)));
        printf(r.reason.n ? " (%.*s)\n" : "%.*s\n", TP_FMT(r.reason));
    }
    for (uint32_t i = 0; i < new->ninputs + new->noutputs; i++)
        if (tp_operand_find(old, new->operands[i].name) < 0) {
            printf("operand `%.*s`: new\n", TP_FMT(new->operands[i].name));
            d->changed = true;
        }
    if (same == all && new->ninputs + new->noutputs == all)
        printf("the same windows for all sizes of the old spec\n");
}

/* Never nothing about a changed program. */
static void compare_results(diff *d)
{
    tp_job *old = &d->run->jobs[0], *new = &d->run->jobs[1];
    if (tp_same_program(d->arena, old->report.spec, new->report.spec))
        return;
    tp_versions v = tp_compare_versions(d->arena, old, new, &d->run->s);
    d->changed = true;
    d->different = v.verdict == TP_VERSIONS_DIFFERENT;
    switch (v.verdict) {
    case TP_VERSIONS_PROVEN:
        printf("results: equal over the reals for all sizes that both have, by proof (both are what the old reference "
               "says%.*s), and on %u cases",
               TP_FMT(v.terms), v.cases);
        break;
    case TP_VERSIONS_TESTED:
        printf("results: equal over the reals on %u cases; not proven for all sizes (%.*s)", v.cases,
               TP_FMT(tp_visible(d->arena, v.why_not_proven)));
        break;
    case TP_VERSIONS_DIFFERENT:
        printf("results: different, e.g. with %.*s: %.*s\n", TP_FMT(tp_witness_text(d->arena, v.witness)),
               TP_FMT(tp_visible(d->arena, v.witness->detail)));
        return;
    case TP_VERSIONS_NOT_COMPARED:
        printf("results: not compared: %.*s\n", TP_FMT(tp_visible(d->arena, v.why_not_run)));
        return;
    }
    if (v.open)
        printf("; %u more could not be compared (%.*s)", v.open, TP_FMT(tp_visible(d->arena, v.why_not_run)));
    printf("\n");
}

static void compare(void *arg)
{
    diff *d = arg;
    const tp_spec_report *s = d->run->report.specs.at;
    const tp_kernel *old = s[0].spec->kernels[0], *new = s[1].spec->kernels[0];
    d->introduced = print_only(d, 1, "introduced:");
    print_only(d, 0, "fixed:");
    print_change(d, "target", old->target.name, new->target.name);
    print_change(d, "domain", tp_domain_text(d->arena, &s[0]), tp_domain_text(d->arena, &s[1]));
    print_change(d, "contracts", facts_text(d, old), facts_text(d, new));
    print_change(d, "grid", grid_text(d, old), grid_text(d, new));
    print_change(d, "VMEM", memory_text(d, &s[0].vmem), memory_text(d, &s[1].vmem));
    compare_operands(d, old, new);
    if (!tp_same_reference(s[0].spec, s[1].spec)) {
        printf("reference: changed\n");
        d->changed = true;
    }
    compare_results(d);
    if (!d->changed)
        printf("no verdict, window, bound or result changed\n");
}

/* On a budget of its own; an exit code. */
static int compare_within_budget(diff *d)
{
    tp_budget b;
    tp_watchdog guard;
    tp_watched_thread here = tp_watched_here();
    tp_budget_begin(&b, d->run->s.timeout, d->run->s.memory_mib);
    tp_budget_at(&b, "the comparison", TP_S(""));
    d->arena = tp_arena_child(d->arena);
    tp_arena_set_budget(d->arena, &b);
    tp_watchdog_start(&guard, &here, 1, d->run->s.timeout, NULL);
    tp_watched_begin(&here, &d->run->jobs[1].source.path);
    tp_status st = tp_try(d->arena, compare, d);
    tp_watchdog_stop(&guard);
    bool incomplete = st == TP_E_BUDGET || b.cut;
    if (incomplete)
        printf("the comparison is incomplete: %.*s\n", TP_FMT(tp_budget_reason(d->run->report.arena, &b)));
    tp_arena_free(d->arena);
    if (st != TP_OK && st != TP_E_BUDGET)
        tp_leave(d->run->report.arena, st);
    return d->introduced || d->different ? TP_EXIT_VIOLATED : incomplete ? TP_EXIT_UNKNOWN : TP_EXIT_OK;
}

static int run(tp_cli *c)
{
    tp_check_run r;
    if (c->paths.len != 2)
        return tp_usage_error("diff takes an old and a new spec");
    int code = tp_check_begin(c, false, false, &r);
    if (code)
        return code;
    diff d = {.run = &r, .arena = c->arena};
    if (r.njobs != 2) {
        code = tp_usage_error("diff takes two specs, not folders");
    } else if (!r.report.specs.at[0].valid || !r.report.specs.at[1].valid) {
        r.report.quiet = true; /* of what cannot be read alone */
        tp_write_report(tp_format_find(TP_S("full")), &r.report, stderr);
        code = TP_EXIT_INPUT;
    } else {
        code = compare_within_budget(&d);
    }
    tp_check_end(c, &r);
    return code;
}

const tp_command tp_command_diff = {
    "diff", 'd', "[OPTIONS] OLD NEW",
    "findings introduced and fixed, memory, windows, results; exit 1 if a finding is new or a result differs", run};
