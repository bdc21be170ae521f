/* lint and verify: all specs of a call. */
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "cli/certificates.h"
#include "cli/interrupt.h"
#include "cli/receipt.h"
#include "cli/results.h"
#include "cli/watch.h"
#include "report/plot.h"
#include "smt/cache.h"

static void print_totals(const tp_report *report, bool execute)
{
    tp_counts t = {0};
    uint32_t clean = 0;
    for (uint32_t i = 0; i < report->specs.len; i++) {
        tp_counts k = tp_count(&report->specs.at[i]);
        clean += tp_is_clean(&report->specs.at[i]);
        t.violated += k.violated;
        t.proven += k.proven;
        t.unknown += k.unknown;
        t.tested += k.tested;
        t.assumed += k.assumed;
    }
    printf("%u specs, %u clean: %u violated, %u proven, %u unknown", report->specs.len, clean, t.violated, t.proven,
           t.unknown);
    if (t.assumed)
        printf(", %u assumed", t.assumed);
    if (execute)
        printf(", %u cases tested", t.tested);
    putchar('\n');
}

/* Per rule, in the order of the codes. */
static void print_statistics(const tp_report *report)
{
    size_t n;
    const tp_rule *const *rules = tp_rules(&n);
    printf("%-30s %8s %8s %8s %8s %10s\n", "rule", "proven", "cert", "violated", "unknown", "suppressed");
    for (size_t r = 0; r < n; r++) {
        uint32_t by[TP_VERDICTS] = {0}, certified = 0, suppressed = 0, shown = 0;
        for (uint32_t i = 0; i < report->specs.len; i++)
            for (uint32_t k = 0; k < report->specs.at[i].findings.len; k++) {
                const tp_finding *f = &report->specs.at[i].findings.at[k];
                if (strcmp(f->rule, rules[r]->code) != 0)
                    continue;
                shown += f->verdict != TP_NOT_APPLICABLE && f->verdict != TP_ADVICE;
                suppressed += f->suppressed;
                by[f->verdict] += !f->suppressed;
                certified += f->verdict == TP_PROVEN && f->grade == TP_GRADE_CERT;
            }
        if (shown)
            printf("%s %-24s %8u %8u %8u %8u %10u\n", rules[r]->code, rules[r]->slug, by[TP_PROVEN], certified,
                   by[TP_VIOLATED] + by[TP_VACUOUS], by[TP_UNKNOWN], suppressed);
    }
}

/* Where the CPU time of verify went. */
static void print_tiers(const tp_spec_report *s)
{
    const struct {
        const char *what;
        double ms;
    } tiers[] = {{"rules", s->tier_ms.rules},
                 {"E1", s->tier_ms.e1},
                 {"E2", s->tier_ms.e2},
                 {"E3", s->tier_ms.e3},
                 {"E4", s->tier_ms.e4},
                 {"E5", s->tier_ms.e5},
                 {"second opinion", s->tier_ms.opinion}};
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++)
        fprintf(stderr, "%s%s %.1f", i ? ", " : "              of CPU: ", tiers[i].what, tiers[i].ms);
    fputc('\n', stderr);
}

static void print_timings(const tp_report *report, bool execute)
{
    double sum = 0;
    for (uint32_t i = 0; i < report->specs.len; i++) {
        const tp_spec_report *s = &report->specs.at[i];
        char cost[96] = "";
        if (s->most_units)
            snprintf(cost, sizeof cost, "  (%.1f ms of CPU, %.1f %% of --timeout, %zu MiB)", s->cpu_ms,
                     100 * (double)s->units / (double)s->most_units, s->memory >> 20);
        tp_say(stderr, "%9.1f ms  %.*s%s", s->ms, TP_FMT(s->source->path), cost);
        if (execute && s->valid)
            print_tiers(s);
        sum += s->ms;
    }
    tp_say(stderr, "%9.1f ms  all specs, added up", sum);
}

enum { MOST_CACHE_BYTES = 256 << 20 };

static bool open_cache(tp_cli *c, tp_check_run *run)
{
    tp_str text;
    if (!tp_cache_usable(c, tp_cstr(c->arena, tp_option(&c->cache, "")), &text))
        return false;
    run->cache = tp_cache_new(c->arena, text, MOST_CACHE_BYTES);
    run->s.analysis.prover.cache = run->cache;
    return true;
}

/* A cache that cannot be written is no reason to fail. */
static void close_cache(tp_cli *c, tp_check_run *run)
{
    tp_str text = tp_cache_text(run->cache, c->arena), why;
    if (text.n && tp_write_file(c->arena, tp_cstr(c->arena, tp_option(&c->cache, "")), &text, 1, &why) != TP_OK)
        tp_say(stderr, "tileproof: --cache: %.*s", TP_FMT(why));
    if (c->timings.len) {
        tp_cache_counts n = tp_cache_count(run->cache);
        tp_say(stderr, "cache: %u entries, %u used, %u refused, %u new", n.entries, n.hits, n.refused, n.learned);
    }
    tp_cache_free(run->cache);
}

/* Are reports all that is made of the specs? */
static bool can_go_by_spec(const tp_cli *c, const tp_check_run *run)
{
    return run->fix == TP_FIX_NONE && !c->baseline.len && !c->playback.len && !c->receipt.len && !c->certificates.len &&
           !c->statistics.len && !c->plot.len;
}

int tp_check_begin(tp_cli *c, bool execute, bool print, tp_check_run *run)
{
    tp_strings paths = {0};
    *run = (tp_check_run){.report.arena = c->arena};
    if (!tp_check_read_settings(c, execute, run) || !tp_expand_paths(c, &paths) ||
        (c->changed_since.len && !tp_changed_since(c, tp_option(&c->changed_since, ""), &paths)) ||
        (c->shard.len && !tp_shard_paths(c, &paths, &run->report.shard)) || !tp_guard_check(c, &paths) ||
        (c->cache.len && !open_cache(c, run)) || (c->cache_key.len && !tp_results_begin(c, run)))
        return TP_EXIT_USAGE;
    run->njobs = paths.len;
    run->jobs = TP_NEWN(c->arena, tp_job, paths.len);
    run->by_spec = print && can_go_by_spec(c, run);
    run->kept = tp_arena_new(0); /* of no thread */
    if (!run->kept)
        tp_leave(c->arena, TP_E_MEMORY);
    tp_outputs_begin(c, run, paths.len == 1, print);
    if (print) /* else nothing partial is of use */
        tp_interrupt_allow();
    if (!tp_check_all(c, run, &paths))
        tp_leave(c->arena, TP_E_MEMORY);
    for (uint32_t i = 0; i < run->njobs; i++) {
        tp_push(c->arena, run->report.specs, run->jobs[i].report);
        run->report.specs.at[i].source = &run->jobs[i].source;
    }
    return TP_EXIT_OK;
}

void tp_check_end(tp_cli *c, tp_check_run *run)
{
    if (run->cache)
        close_cache(c, run);
    tp_results_end(run);
    for (uint32_t i = 0; i < run->njobs; i++)
        tp_job_free(&run->jobs[i]);
    tp_arena_free(run->kept);
}

/* What is wrong with the tool, not with a spec; an exit code. */
static int report_internal(const tp_report *report, int code)
{
    for (uint32_t i = 0; i < report->specs.len; i++)
        if (report->specs.at[i].stats.disagreement.n) {
            tp_say(stderr, "tileproof: internal error: the solvers disagree on %.*s; please report it",
                   TP_FMT(report->specs.at[i].stats.disagreement));
            code = TP_EXIT_INTERNAL;
        }
    for (uint32_t i = 0; i < report->specs.len; i++)
        if (report->specs.at[i].stats.smt2_error.n) {
            tp_say(stderr, "tileproof: --emit-smt2: %.*s", TP_FMT(report->specs.at[i].stats.smt2_error));
            return TP_EXIT_INTERNAL;
        }
    return code;
}

/* What the terminal is said to read. */
static bool use_unicode(tp_str style)
{
    const char *const NAMES[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    if (!tp_str_is(style, "auto"))
        return tp_str_is(style, "unicode");
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const char *value = getenv(NAMES[i]);
        if (value && *value)
            return strstr(value, "UTF-8") || strstr(value, "utf8");
    }
    return false;
}

/* A patch has no room for specs that cannot be read. */
static void tell_refused(const tp_report *report)
{
    tp_report refused = {.arena = report->arena, .quiet = true};
    for (uint32_t i = 0; i < report->specs.len; i++)
        if (!report->specs.at[i].valid)
            tp_push(report->arena, refused.specs, report->specs.at[i]);
    tp_write_report(tp_format_find(TP_S("full")), &refused, stderr);
}

int tp_check_specs(tp_cli *c, bool execute)
{
    tp_check_run run;
    tp_baseline baseline = {0};
    if (c->watch.len)
        return tp_watch_specs(c, execute);
    if (c->dump.len)
        return tp_dump_specs(c, execute);
    if (!tp_outputs_usable(c) || !tp_receipt_possible(c) ||
        (c->baseline.len && !tp_baseline_read(c, tp_cstr(c->arena, tp_option(&c->baseline, "")), &baseline)))
        return TP_EXIT_USAGE;
    int code = tp_check_begin(c, execute, true, &run);
    if (code)
        return code;
    tp_report *report = &run.report;
    uint32_t stale = tp_baseline_apply(&baseline, &run.s, report);
    bool fixed = tp_write_fixes(c, &run);
    if (run.fix == TP_FIX_SHOW) {
        tell_refused(report);
        code = tp_report_exit_code(report);
        tp_check_end(c, &run);
        return code;
    }
    for (uint32_t i = 0; i < report->specs.len && !run.by_spec; i++)
        tp_outputs_add(&run, &report->specs.at[i], c->arena);
    bool printed = tp_outputs_print(c, &run);
    bool people = tp_str_is(tp_option(&c->format, "full"), "full");
    if (run.njobs != 1 && people)
        print_totals(report, execute);
    if (c->statistics.len && people)
        print_statistics(report);
    if (c->plot.len && people)
        tp_write_plot(report, use_unicode(tp_option(&c->plot, "auto")), stdout);
    if (c->timings.len)
        print_timings(report, execute);
    if (stale && !report->quiet)
        tp_say(stderr, "tileproof: %u %s of the baseline suppress%s nothing; `tileproof baseline write` renews it",
               stale, stale == 1 ? "entry" : "entries", stale == 1 ? "es" : "");
    code = report_internal(report, tp_report_exit_code(report));
    bool wrote = true;
    if (!report->interrupted) {
        wrote = tp_outputs_end(c, &run);
        wrote &= tp_write_playback(c, report, run.s.max_memory);
        wrote &= c->certificates.len == 0 || tp_certificates_write(c, &run);
    } else {
        tp_say(stderr, "tileproof: interrupted: the report is partial, of %u of %u specs", report->specs.len,
               report->interrupted);
        code = code == TP_EXIT_INTERNAL ? code : TP_EXIT_INTERRUPTED;
    }
    if (c->receipt.len && code == TP_EXIT_OK)
        code = tp_receipt_write(c, tp_cstr(c->arena, tp_option(&c->receipt, "")), &run);
    else if (c->receipt.len)
        tp_say(stderr, "tileproof: no receipt was written: the kernel is not verified");
    tp_check_end(c, &run);
    return printed && wrote && fixed ? code : TP_EXIT_INTERNAL;
}
