/* lint and verify. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "base/file.h"
#include "reference/reference.h"
#include "smt/certificates.h"

typedef struct settings {
    const tp_format *format;
    tp_str target;
    tp_analysis_options analysis;
    tp_equiv_options equiv;
    size_t max_memory;
    int64_t cases, box;
    bool required[5]; /* by EVIDENCE */
    bool execute;
} settings;

typedef TP_VEC(const tp_rule *) rules;

/* ---- required evidence ---- */

static const struct {
    const char *text;
    tp_evidence tier;
} EVIDENCE[] = {{"rounding=E1", TP_EVIDENCE_E1},
                {"bits=E2", TP_EVIDENCE_E2},
                {"algebra=E3", TP_EVIDENCE_E3},
                {"algebra=E4", TP_EVIDENCE_E4},
                {"algebra=E6", TP_EVIDENCE_E6}};
enum { NEVIDENCE = sizeof EVIDENCE / sizeof *EVIDENCE };

/* Which of them does --require name? False after a message. */
static bool read_required(const tp_cli *c, bool *required)
{
    for (uint32_t i = 0; i < c->require.len; i++)
        for (tp_str rest = c->require.at[i]; rest.n;) {
            const char *comma = memchr(rest.p, ',', rest.n);
            tp_str name = {rest.p, comma ? (size_t)(comma - rest.p) : rest.n};
            bool known = false;
            for (size_t k = 0; k < NEVIDENCE; k++)
                if (tp_str_is(name, EVIDENCE[k].text))
                    known = required[k] = true;
            if (!known) {
                tp_usage_error("--require: there is no evidence `%.*s`; there are rounding=E1, bits=E2, algebra=E3, "
                               "algebra=E4 and algebra=E6",
                               TP_FMT(name));
                return false;
            }
            rest = (tp_str){name.p + name.n + (comma ? 1 : 0), rest.n - name.n - (comma ? 1 : 0)};
        }
    return true;
}

static tp_str first_of(tp_str a, tp_str b)
{
    return a.n ? a : b;
}

static bool reached(const tp_spec_report *r, tp_evidence tier)
{
    return tier == TP_EVIDENCE_E6 ? r->equality.proven : tp_equiv_reaches(r->equiv, tier);
}

static tp_str missing_reason(const tp_spec_report *r, tp_evidence tier)
{
    const tp_equiv *e = r->equiv;
    switch (tier) {
    case TP_EVIDENCE_E1:
        for (uint32_t i = 0; i < e->cases.len; i++)
            if (e->cases.at[i].outcome == TP_SKIPPED)
                return e->cases.at[i].trap.message;
        return TP_S("");
    case TP_EVIDENCE_E2: return e->bits_reason;
    case TP_EVIDENCE_E3: return e->algebra_reason;
    case TP_EVIDENCE_E4:
        return first_of(first_of(e->algebra_reason, e->box_reason),
                        e->box.equal < e->box_shapes ? TP_S("not every shape of the box was run: raise --box")
                                                     : TP_S(""));
    case TP_EVIDENCE_E6: return r->equality.reason;
    }
    return TP_S("");
}

static void add_missing_evidence(tp_arena *a, tp_spec_report *r, const bool *required)
{
    const tp_kernel *k = r->spec->kernels[0];
    for (size_t i = 0; i < NEVIDENCE; i++) {
        if (!required[i] || reached(r, EVIDENCE[i].tier))
            continue;
        tp_finding f = {.rule = "TP704",
                        .slug = "evidence-missing",
                        .verdict = TP_UNKNOWN,
                        .severity = TP_WARNING,
                        .reason = missing_reason(r, EVIDENCE[i].tier)};
        f.loc = k->reference.loc.end ? k->reference.loc : (tp_loc){k->doc->loc.start, k->doc->loc.start + 1, TP_S("")};
        f.message = tp_printf(a, "%s was required and not reached", EVIDENCE[i].text);
        tp_push(a, r->findings, f);
    }
}

/* Rules named by a comma separated list; false after a message. */
static bool parse_rules(tp_cli *c, const tp_strings *lists, rules *out)
{
    for (uint32_t i = 0; i < lists->len; i++)
        for (tp_str rest = lists->at[i]; rest.n;) {
            const char *comma = memchr(rest.p, ',', rest.n);
            tp_str name = {rest.p, comma ? (size_t)(comma - rest.p) : rest.n};
            const tp_rule *r = tp_rule_find(name);
            if (!r) {
                tp_usage_error("there is no rule `%.*s`; `tileproof rules` lists them", TP_FMT(name));
                return false;
            }
            tp_push(c->arena, *out, r);
            rest = (tp_str){name.p + name.n + (comma ? 1 : 0), rest.n - name.n - (comma ? 1 : 0)};
        }
    return true;
}

static bool select_rules(tp_cli *c, tp_analysis_options *o)
{
    rules wanted = {0}, unwanted = {0}, chosen = {0};
    if (!parse_rules(c, &c->select, &wanted) || !parse_rules(c, &c->ignore, &unwanted))
        return false;
    size_t n;
    const tp_rule *const *all = tp_rules(&n);
    for (size_t i = 0; i < n; i++) {
        bool take = wanted.len == 0;
        for (uint32_t k = 0; k < wanted.len; k++)
            take |= wanted.at[k] == all[i];
        for (uint32_t k = 0; k < unwanted.len; k++)
            take &= unwanted.at[k] != all[i];
        if (take)
            tp_push(c->arena, chosen, all[i]);
    }
    o->only = chosen.at ? chosen.at : all;
    o->nonly = chosen.len;
    return true;
}

static bool read_solvers(tp_cli *c, tp_prover_options *o)
{
    tp_str list = tp_option(&c->solvers, "z3");
    bool z3 = tp_str_is(list, "z3"), cvc5 = tp_str_is(list, "cvc5"),
         both = tp_str_is(list, "z3,cvc5") || tp_str_is(list, "cvc5,z3");
    if (!z3 && !cvc5 && !both)
        return tp_usage_error("--solvers is z3, cvc5 or z3,cvc5, not `%.*s`", TP_FMT(list)), false;
    o->no_z3 = cvc5;
    o->second = z3 ? NULL : "cvc5";
    if (o->second && !tp_external_found(c->arena, o->second))
        return tp_usage_error("--solvers: there is no program cvc5 on the PATH; install it (apt-get install cvc5)"),
               false;
    return true;
}

static bool read_settings(tp_cli *c, settings *s, tp_report *report)
{
    tp_str format = tp_option(&c->format, "full"), unknown = tp_option(&c->unknown, s->execute ? "fail" : "warn");
    int64_t memory, seed, rlimit;
    tp_target ignored;
    s->format = tp_format_find(format);
    s->target = tp_option(&c->target, "");
    if (!s->format)
        return tp_usage_error("there is no format `%.*s`; there are full, concise, json, jsonl, html, markdown, sarif, "
                              "sarif-full, github, gitlab and junit",
                              TP_FMT(format)),
               false;
    if (s->target.n && !tp_target_find(s->target, &ignored))
        return tp_usage_error("unknown target `%.*s`; `tileproof targets` lists them", TP_FMT(s->target)), false;
    if (!tp_option_number(&c->rlimit, "rlimit", 1000, 4000000000, 0, &rlimit) ||
        !tp_option_number(&c->max_memory, "max-memory", 1, 1 << 20, 2048, &memory) ||
        !tp_option_number(&c->cases, "cases", 0, 1000, 6, &s->cases) ||
        !tp_option_number(&c->box, "box", 0, 100000, 8, &s->box) ||
        !tp_option_number(&c->seed, "seed", 0, INT64_MAX, 0, &seed) ||
        !tp_option_number(&c->max_steps, "max-steps", 1, INT64_MAX, TP_MAX_STEPS, &s->equiv.max_steps) ||
        !tp_use_color(c, &report->color) || !select_rules(c, &s->analysis))
        return false;
    if (tp_str_is(unknown, "fail"))
        report->unknown = TP_UNKNOWN_FAIL;
    else if (tp_str_is(unknown, "ignore"))
        report->unknown = TP_UNKNOWN_IGNORE;
    else if (!tp_str_is(unknown, "warn"))
        return tp_usage_error("--unknown is fail, warn or ignore, not `%.*s`", TP_FMT(unknown)), false;
    if (!read_required(c, s->required))
        return false;
    if (!read_solvers(c, &s->analysis.prover) || !tp_playback_usable(c))
        return false;
    if (c->emit_smt2.len) {
        s->analysis.prover.smt2_dir = tp_cstr(c->arena, tp_option(&c->emit_smt2, ""));
        if (mkdir(s->analysis.prover.smt2_dir, 0777) != 0 && errno != EEXIST)
            return tp_usage_error("--emit-smt2: cannot make the folder `%s`: %s", s->analysis.prover.smt2_dir,
                                  strerror(errno)),
                   false;
    }
    s->max_memory = (size_t)memory << 20;
    s->equiv.seed = (uint64_t)seed;
    s->equiv.max_memory = s->max_memory;
    s->analysis.prover.rlimit = (uint64_t)rlimit;
    s->analysis.replay = tp_replay_witness;
    s->analysis.replay_ctx = &s->max_memory;
    report->quiet = c->quiet.len > 0;
    report->verbose = c->verbose.len > 0;
    return true;
}

/* ---- suppressions ---- */

static bool covers(const tp_json *allow, const tp_finding *f)
{
    tp_str rule = tp_json_get(allow, "rule")->u.string;
    const tp_json *at = tp_json_get(allow, "at");
    if (!tp_str_is(rule, f->rule) && !tp_str_is(rule, f->slug))
        return false;
    if (!at || at->u.string.n == 0)
        return true;
    tp_str a = at->u.string, p = f->loc.pointer;
    return p.n >= a.n && memcmp(p.p, a.p, a.n) == 0 && (p.n == a.n || p.p[a.n] == '/');
}

static void apply_allow(tp_job *j)
{
    const tp_json *allow = j->report.spec->kernels[0]->allow;
    for (uint32_t i = 0; allow && i < allow->u.items.n; i++) {
        const tp_json *a = allow->u.items.at[i];
        bool used = false;
        for (uint32_t k = 0; k < j->report.findings.len; k++) {
            tp_finding *f = &j->report.findings.at[k];
            if ((f->verdict != TP_VIOLATED && f->verdict != TP_UNKNOWN && f->verdict != TP_VACUOUS &&
                 f->verdict != TP_ADVICE) ||
                !covers(a, f))
                continue;
            f->suppressed = used = true;
            f->suppress_reason = tp_json_get(a, "reason")->u.string;
        }
        if (used)
            continue;
        tp_finding stale = {
            .rule = "TP901", .slug = "stale-allow", .verdict = TP_VIOLATED, .severity = TP_WARNING, .loc = a->loc};
        stale.message = TP_S("this entry of \"allow\" suppresses nothing");
        stale.help = TP_S("remove it");
        tp_push(j->arena, j->report.findings, stale);
    }
}

/* ---- one spec ---- */

typedef struct check_call {
    tp_job *job;
    const settings *s;
} check_call;

/* What the reader of specs cannot know: the rules and the builtin references. */
static void check_registries(tp_job *j)
{
    const tp_kernel *k = j->report.spec->kernels[0];
    size_t n;
    if (k->reference.builtin && !tp_builtin_find(k->reference.name)) {
        const tp_builtin *const *all = tp_builtins(&n);
        tp_buf names = {.arena = j->arena};
        for (size_t i = 0; i < n; i++)
            tp_buf_printf(&names, "%s%s", i ? ", " : "there are ", all[i]->name);
        tp_raise(&j->ctx, "TP002", tp_json_get(k->reference.builtin, "builtin")->loc, tp_buf_view(&names).p,
                 "there is no builtin reference \"%.*s\"", TP_FMT(k->reference.name));
    }
    for (uint32_t i = 0; k->allow && i < k->allow->u.items.n; i++) {
        const tp_json *rule = tp_json_get(k->allow->u.items.at[i], "rule");
        const tp_trap_rule *traps = tp_trap_rules(&n);
        bool known = tp_rule_find(rule->u.string) != NULL;
        for (size_t t = 0; t < n; t++)
            known |= tp_str_is(rule->u.string, traps[t].code) || tp_str_is(rule->u.string, traps[t].slug);
        if (!known)
            tp_raise(&j->ctx, "TP002", rule->loc, "`tileproof rules` lists them", "there is no rule \"%.*s\"",
                     TP_FMT(rule->u.string));
    }
}

/* A difference that was seen refutes a proof that there is none: ours, not the kernel, is wrong. */
static void contradict(tp_job *j)
{
    tp_equality *q = &j->report.equality;
    for (uint32_t i = 0; i < j->report.findings.len && q->proven; i++)
        if (strcmp(j->report.findings.at[i].rule, "TP701") == 0) {
            *q = (tp_equality){.reason = TP_S("internal error: a proof of equality, and a case that differs")};
            j->report.internal_error = true;
        }
}

static void check_loaded(void *arg)
{
    check_call *call = arg;
    tp_job *j = call->job;
    const settings *s = call->s;
    tp_analysis_result r = {0};
    check_registries(j);
    tp_analyze(j->arena, j->report.spec, &s->analysis, &r);
    j->report.findings = r.findings;
    j->report.vmem = r.vmem;
    j->report.stats = r.stats;
    j->report.internal_error |= r.contradiction;
    bool vacuous = false;
    for (uint32_t i = 0; i < r.findings.len; i++)
        vacuous |= r.findings.at[i].verdict == TP_VACUOUS;
    if (s->execute && !vacuous) {
        tp_equiv *e = TP_NEW(j->arena, tp_equiv);
        tp_cases *cases = TP_NEW(j->arena, tp_cases);
        *cases = tp_cases_read(&j->ctx, j->report.spec, (uint32_t)s->cases);
        tp_equiv_run(j->arena, cases, &s->equiv, e);
        for (uint32_t i = 0; i < j->report.spec->nkernels && e->equal && s->box; i++) {
            tp_box *box = TP_NEW(j->arena, tp_box);
            *box = tp_cases_box(&j->ctx, j->report.spec->kernels[i], (uint32_t)s->box);
            tp_equiv_box(j->arena, box, &s->equiv, e);
        }
        j->report.equiv = e;
        j->report.equality = tp_check_equality(j->arena, j->report.spec, &s->analysis, &r.findings);
        tp_add_execution_findings(j->arena, e, j->report.spec->kernels[0], &s->equiv, &j->report.findings);
        contradict(j);
        add_missing_evidence(j->arena, &j->report, s->required);
    }
    apply_allow(j);
}

static void check_one(tp_cli *c, tp_job *j, tp_str path, const settings *s)
{
    tp_job_load(c, j, path, s->target);
    if (!j->report.valid)
        return;
    check_call call = {j, s};
    tp_status st = tp_try(j->arena, check_loaded, &call);
    if (st == TP_E_INPUT) { /* a malformed case */
        j->report.findings = j->ctx.findings;
        j->report.valid = false;
        j->report.spec = NULL;
    } else if (st != TP_OK) {
        tp_finding f = {.rule = "TP902",
                        .slug = "out-of-memory",
                        .verdict = TP_UNKNOWN,
                        .severity = TP_WARNING,
                        .message = TP_S("memory ran out before the check was done")};
        tp_push(j->arena, j->report.findings, f);
        j->report.internal_error = true;
    }
}

/* ---- reports in files ---- */

/* The format of FORMAT=PATH; NULL after a message. */
static const tp_format *format_of(tp_str wanted, tp_str *path)
{
    const char *equals = memchr(wanted.p, '=', wanted.n);
    tp_str name = {wanted.p, equals ? (size_t)(equals - wanted.p) : wanted.n};
    const tp_format *f = tp_format_find(name);
    *path = equals ? (tp_str){equals + 1, wanted.n - name.n - 1} : (tp_str){NULL, 0};
    if (!f || !path->n) {
        size_t n;
        const tp_format *const *all = tp_formats(&n);
        fprintf(stderr, "tileproof: --output is FORMAT=PATH, not `%.*s`; FORMAT is", TP_FMT(wanted));
        for (size_t i = 0; i < n; i++)
            fprintf(stderr, "%s %s", i + 1 == n ? " or" : i ? "," : "", all[i]->name);
        fprintf(stderr, "\n");
        return NULL;
    }
    return f;
}

static bool outputs_usable(const tp_cli *c)
{
    tp_str path;
    for (uint32_t i = 0; i < c->report.len; i++)
        if (!format_of(c->report.at[i], &path))
            return false;
    return true;
}

/* Each whole or not at all. False after a message. */
static bool write_outputs(tp_cli *c, const tp_report *report)
{
    bool all = true;
    for (uint32_t i = 0; i < c->report.len; i++) {
        tp_str path, why = TP_S("out of memory"), text = {NULL, 0};
        const tp_format *f = format_of(c->report.at[i], &path);
        tp_report plain = *report;
        char *buffer = NULL;
        FILE *out = open_memstream(&buffer, &text.n);
        plain.color = false;
        if (out)
            f->write(&plain, out);
        bool whole = out && fclose(out) == 0;
        text.p = buffer;
        whole = whole && tp_write_file(c->arena, tp_cstr(c->arena, path), &text, 1, &why) == TP_OK;
        if (!whole)
            fprintf(stderr, "tileproof: --output: %.*s\n", TP_FMT(why));
        free(buffer);
        all &= whole;
    }
    return all;
}

/* False after a message. */
static bool write_certificates(tp_cli *c, const tp_certificates *certificates)
{
    tp_str why, text;
    if (!certificates)
        return true;
    text = tp_certificates_text(certificates);
    if (tp_write_file(c->arena, tp_cstr(c->arena, tp_option(&c->certificates, "")), &text, 1, &why) == TP_OK)
        return true;
    fprintf(stderr, "tileproof: --certificates: %.*s\n", TP_FMT(why));
    return false;
}

int tp_check_specs(tp_cli *c, bool execute)
{
    settings s = {.execute = execute};
    tp_report report = {.arena = c->arena};
    tp_strings paths = {0};
    if (!outputs_usable(c) || !read_settings(c, &s, &report) || !tp_expand_paths(c, &paths))
        return TP_EXIT_USAGE;
    s.analysis.prover.solver = tp_solver_new(c->arena);
    if (c->certificates.len)
        s.analysis.prover.certificates = tp_certificates_new(c->arena);
    tp_job *jobs = TP_NEWN(c->arena, tp_job, paths.len);
    for (uint32_t i = 0; i < paths.len; i++) {
        check_one(c, &jobs[i], paths.at[i], &s);
        tp_push(c->arena, report.specs, jobs[i].report);
        report.specs.at[i].source = &jobs[i].source;
    }
    tp_solver_free(s.analysis.prover.solver);
    s.format->write(&report, stdout);
    if (paths.len > 1 && !report.quiet && tp_str_is(tp_option(&c->format, "full"), "full")) {
        tp_counts t = {0};
        uint32_t clean = 0;
        for (uint32_t i = 0; i < report.specs.len; i++) {
            tp_counts k = tp_count(&report.specs.at[i]);
            clean += report.specs.at[i].valid && k.violated + k.vacuous + k.unknown == 0;
            t.violated += k.violated;
            t.proven += k.proven;
            t.unknown += k.unknown;
            t.tested += k.tested;
        }
        printf("%u specs, %u clean: %u violated, %u proven, %u unknown%s", report.specs.len, clean, t.violated,
               t.proven, t.unknown, execute ? "" : "\n");
        if (execute)
            printf(", %u cases tested\n", t.tested);
    }
    int code = tp_report_exit_code(&report);
    for (uint32_t i = 0; i < report.specs.len; i++)
        if (report.specs.at[i].stats.disagreement.n) {
            fprintf(stderr, "tileproof: internal error: the solvers disagree on %.*s; please report it\n",
                    TP_FMT(report.specs.at[i].stats.disagreement));
            code = TP_EXIT_INTERNAL;
        }
    for (uint32_t i = 0; i < report.specs.len; i++)
        if (report.specs.at[i].stats.smt2_error.n) {
            fprintf(stderr, "tileproof: --emit-smt2: %.*s\n", TP_FMT(report.specs.at[i].stats.smt2_error));
            code = TP_EXIT_INTERNAL;
            break;
        }
    bool wrote = write_outputs(c, &report);
    wrote &= tp_write_playback(c, &report, s.max_memory);
    for (uint32_t i = 0; i < paths.len; i++)
        tp_job_free(&jobs[i]);
    return wrote && write_certificates(c, s.analysis.prover.certificates) ? code : TP_EXIT_INTERNAL;
}
