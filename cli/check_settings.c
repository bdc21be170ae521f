/* The options of lint and verify, understood. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "cli/check.h"

typedef TP_VEC(const tp_rule *) rules;

/* Which of them does --require name? False after a message. */
static bool read_required(const tp_cli *c, bool *required)
{
    for (uint32_t i = 0; i < c->require.len; i++)
        for (tp_str rest = c->require.at[i], name; tp_list_next(&rest, ",", &name);) {
            bool known = false;
            for (size_t k = 0; k < TP_NEVIDENCE; k++) {
                tp_evidence_names e = tp_evidence_at(k);
                bool old = e.old && tp_str_is(name, e.old);
                if (old)
                    fprintf(stderr, "tileproof: --require: %s is the old name of %s\n", e.old, e.text);
                if (old || tp_str_is(name, e.text))
                    known = required[k] = true;
            }
            if (!known) {
                tp_buf all = {.arena = c->arena};
                for (size_t k = 0; k < TP_NEVIDENCE; k++)
                    tp_buf_printf(&all, "%s%s",
                                  k == 0                 ? ""
                                  : k + 1 < TP_NEVIDENCE ? ", "
                                                         : " and ",
                                  tp_evidence_at(k).text);
                tp_usage_error("--require: there is no evidence `%.*s`; there are %.*s", TP_FMT(name),
                               TP_FMT(tp_buf_view(&all)));
                return false;
            }
        }
    return true;
}

/* Rules named by a comma separated list; false after a message. */
static bool parse_rules(tp_cli *c, const tp_strings *lists, rules *out)
{
    for (uint32_t i = 0; i < lists->len; i++)
        for (tp_str rest = lists->at[i], name; tp_list_next(&rest, ",", &name);) {
            const tp_rule *r = tp_rule_find(name);
            if (!r) {
                const tp_code *code = tp_code_find(name);
                if (code)
                    tp_usage_error("`%s` is found by other means than a rule of lint: it cannot be selected or ignored",
                                   code->code);
                else
                    tp_refuse_rule(name);
                return false;
            }
            tp_push(c->arena, *out, r);
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
    if (o->second && !tp_external_exists(c->arena, o->second))
        return tp_usage_error("--solvers: there is no program cvc5 on the PATH; install it (apt-get install cvc5)"),
               false;
    return true;
}

/* --unknown says what an undecided rule is, --fail-on from where on a run fails: without the former, the latter
 * says both. */
static bool read_fail_level(const tp_cli *c, bool execute, tp_report *report)
{
    tp_str level = tp_option(&c->fail_on, ""), unknown = tp_option(&c->unknown, "");
    bool never = tp_str_is(level, "never"), error = tp_str_is(level, "error"), warning = tp_str_is(level, "warning"),
         strict = warning || tp_str_is(level, "unknown");
    if (level.n && !never && !error && !strict)
        return tp_usage_error("--fail-on is error, unknown, warning or never, not `%.*s`", TP_FMT(level)), false;
    if (unknown.n && !tp_str_is(unknown, "fail") && !tp_str_is(unknown, "warn") && !tp_str_is(unknown, "ignore"))
        return tp_usage_error("--unknown is fail, warn or ignore, not `%.*s`", TP_FMT(unknown)), false;
    if (strict && unknown.n && !tp_str_is(unknown, "fail"))
        return tp_usage_error("--fail-on %.*s and --unknown %.*s contradict each other: leave one out", TP_FMT(level),
                              TP_FMT(unknown)),
               false;
    if (!unknown.n)
        unknown = strict || (execute && !level.n) ? TP_S("fail") : TP_S("warn");
    report->unknown = tp_str_is(unknown, "fail")     ? TP_UNKNOWN_FAIL
                      : tp_str_is(unknown, "ignore") ? TP_UNKNOWN_IGNORE
                                                     : TP_UNKNOWN_WARN;
    report->fail_on = never || c->exit_zero.len ? TP_FAIL_NEVER : warning ? TP_FAIL_ON_WARNING : TP_FAIL_ON_ERROR;
    return true;
}

bool tp_check_read_settings(tp_cli *c, bool execute, tp_check_run *run)
{
    tp_check_settings *s = &run->s;
    tp_report *report = &run->report;

    tp_str format = tp_option(&c->format, "full");
    int64_t memory, seed, rlimit;
    tp_check_defaults(s, execute);
    run->format = tp_format_find(format);
    if (!run->format)
        return tp_usage_error("there is no format `%.*s`; there are full, concise, json, jsonl, html, markdown, sarif, "
                              "sarif-full, github, gitlab, junit and rdjson",
                              TP_FMT(format)),
               false;
    if (!tp_use_target(c, &s->target) || !tp_option_number(&c->rlimit, "rlimit", 1000, 4000000000, 0, &rlimit) ||
        !tp_option_number(&c->max_memory, "max-memory", 1, 1 << 20, 2048, &memory) || !tp_use_budget(c, s) ||
        !tp_option_number(&c->cases, "cases", 0, 1000, 6, &s->cases) ||
        !tp_option_number(&c->box, "box", 0, 100000, 8, &s->box) ||
        !tp_option_number(&c->jobs, "jobs", 0, 256, 0, &run->threads) ||
        !tp_option_number(&c->seed, "seed", 0, INT64_MAX, 0, &seed) ||
        !tp_option_number(&c->max_steps, "max-steps", 1, INT64_MAX, TP_MAX_STEPS, &s->equiv.max_steps) ||
        !tp_use_color(c, &report->color) || !select_rules(c, &s->analysis))
        return false;
    s->read_from = c->allow_path.at;
    s->nread_from = c->allow_path.len;
    if (!read_fail_level(c, execute, report))
        return false;
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
    tp_str plot = tp_option(&c->plot, "auto");
    if (!tp_str_is(plot, "auto") && !tp_str_is(plot, "unicode") && !tp_str_is(plot, "ascii"))
        return tp_usage_error("--plot is auto, unicode or ascii, not `%.*s`", TP_FMT(plot)), false;
    if (c->fix.len && c->diff.len)
        return tp_usage_error("--fix writes and --diff only shows: choose one"), false;
    for (uint32_t i = 0; i < c->paths.len && (c->fix.len || c->diff.len); i++)
        if (tp_str_is(c->paths.at[i], "-"))
            return tp_usage_error("--fix and --diff take files, not standard input"), false;
    report->sweep_page = tp_option(&c->sweep_page, "");
    for (size_t i = 0; i < report->sweep_page.n; i++)
        if (strchr(":?#", report->sweep_page.p[i]))
            return tp_usage_error("--sweep-page is the path of a file, without `%c`", report->sweep_page.p[i]), false;
    run->fix = c->fix.len ? TP_FIX_WRITE : c->diff.len ? TP_FIX_SHOW : TP_FIX_NONE;
    s->unsafe_fixes = c->unsafe_fixes.len > 0;
    s->max_memory = (size_t)memory << 20;
    s->equiv.seed = (uint64_t)seed;
    s->equiv.max_memory = s->max_memory;
    s->analysis.prover.rlimit = (uint64_t)rlimit;
    report->quiet = c->quiet.len > 0;
    report->verbose = c->verbose.len > 0;
    return true;
}
