#include "cli/certificates.h"

#include <stdio.h>

#include "base/file.h"
#include "base/version.h"
#include "kernels/receipt.h"

/* ---- writing ---- */

typedef struct section_call {
    tp_job *j;
    const tp_check_settings *s;
    tp_certificate_section about;
    tp_str text;
} section_call;

static void describe(void *arg)
{
    section_call *call = arg;
    tp_job *j = call->j;
    const tp_spec *spec = j->report.spec;
    tp_certificate_section *about = &call->about;
    *about = (tp_certificate_section){.name = spec->name,
                                      .sha256 = tp_spec_digest(&j->ctx, spec),
                                      .target = spec->kernels[0]->target.name,
                                      .tool = TP_S("tileproof " TP_VERSION),
                                      .command = call->s->execute ? TP_S("verify") : TP_S("lint")};
    for (size_t i = 0; i < call->s->analysis.nonly; i++)
        tp_push(j->arena, about->rules, tp_str_c(call->s->analysis.only[i]->code));
    for (uint32_t i = 0; i < spec->nkernels; i++)
        tp_push(j->arena, about->dtypes, tp_dtypes_text(spec->kernels[i]));
    call->text = tp_certificates_section(j->certificates, about);
}

/* The text of a job's section; empty: the job has no spec. */
static tp_str section_text(tp_cli *c, tp_job *j, const tp_check_settings *s)
{
    section_call call = {.j = j, .s = s};
    if (!j->report.valid)
        return (tp_str){NULL, 0};
    if (tp_try(j->arena, describe, &call) != TP_OK)
        tp_leave(c->arena, TP_E_MEMORY);
    return call.text;
}

bool tp_certificates_write(tp_cli *c, const tp_check_run *run)
{
    tp_str why;
    tp_buf all = {.arena = c->arena};
    tp_buf_str(&all, tp_certificates_header(c->arena));
    for (uint32_t i = 0; i < run->njobs; i++)
        tp_buf_str(&all, section_text(c, &run->jobs[i], &run->s));
    tp_str text = tp_buf_view(&all);
    if (tp_write_file(c->arena, tp_cstr(c->arena, tp_option(&c->certificates, "")), &text, 1, &why) == TP_OK)
        return true;
    tp_say(stderr, "tileproof: --certificates: %.*s", TP_FMT(why));
    return false;
}

/* ---- holding a section against its spec ---- */

static bool same_list(const tp_str *a, uint32_t na, const tp_str *b, uint32_t nb)
{
    bool same = na == nb;
    for (uint32_t i = 0; same && i < na; i++)
        same = tp_str_eq(a[i], b[i]);
    return same;
}

static int refuse(tp_cli *c, tp_str path, uint32_t line, tp_str what)
{
    tp_say(stdout, "%.*s:%u: refused: %.*s", TP_FMT(path), line, TP_FMT(tp_visible(c->arena, what)));
    return TP_EXIT_VIOLATED;
}

/* The rules that the section names, in its order; false: there is no such rule. */
static bool read_rules(tp_cli *c, const tp_certificate_section *s, tp_analysis_options *o)
{
    const tp_rule **rules = TP_NEWN(c->arena, const tp_rule *, s->rules.len + 1);
    for (uint32_t i = 0; i < s->rules.len; i++)
        if (!(rules[i] = tp_rule_find(s->rules.at[i])))
            return false;
    o->only = rules;
    o->nonly = s->rules.len;
    return true;
}

/* The lines of a text that this program wrote. */
typedef struct derived {
    tp_arena *arena;
    tp_str rows;
    TP_VEC(tp_certificate) at;
} derived;

static void read_rows(void *arg)
{
    derived *d = arg;
    for (size_t from = 0; from < d->rows.n;) {
        const char *end = memchr(d->rows.p + from, '\n', d->rows.n - from);
        size_t n = end ? (size_t)(end - d->rows.p) - from : d->rows.n - from;
        tp_source source = {TP_S("derived"), {d->rows.p + from, n}};
        tp_ctx ctx = {.arena = d->arena, .source = &source};
        tp_push(d->arena, d->at, tp_certificate_read(&ctx));
        from += n + 1;
    }
}

static tp_str label(tp_cli *c, const char *what, const tp_certificate *k)
{
    return tp_printf(c->arena, "%s: %.*s %.*s", what, TP_FMT(k->entry.spec), TP_FMT(k->entry.obligation));
}

/* Line by line; the first that differs is told as what it is. */
static int compare(tp_cli *c, tp_str path, const tp_section_read *s, const derived *d)
{
    uint32_t n = s->rows.len;
    for (uint32_t i = 0; i < n || i < d->at.len; i++) {
        const tp_certificate *has = i < n ? &s->rows.at[i] : NULL, *wanted = i < d->at.len ? &d->at.at[i] : NULL;
        uint32_t line = s->line + 1 + (i < n ? i : n);
        if (has && wanted && tp_str_eq(has->statement, wanted->statement)) {
            if (!has->proof && wanted->proof)
                return refuse(c, path, line, label(c, "the proof is missing", has));
            continue;
        }
        for (uint32_t k = i + 1; wanted && k < n; k++)
            if (tp_str_eq(s->rows.at[k].statement, wanted->statement))
                return refuse(c, path, line, label(c, "this is not an obligation of the spec", has));
        for (uint32_t k = i + 1; has && k < d->at.len; k++)
            if (tp_str_eq(d->at.at[k].statement, has->statement))
                return refuse(c, path, line, label(c, "an obligation of the spec is missing", wanted));
        return refuse(c, path, line,
                      !wanted ? label(c, "this is not an obligation of the spec", has)
                      : !has  ? label(c, "an obligation of the spec is missing", wanted)
                              : label(c, "this is not what the spec asks for; it asks for", wanted));
    }
    return TP_EXIT_OK;
}

static int derive_and_compare(tp_cli *c, tp_str path, const tp_section_read *s, tp_job *j, tp_check_settings *settings)
{
    settings->proofs_only = true;
    j->certificates = tp_certificates_new(j->arena);
    tp_check_text(j, settings, NULL);
    if (j->report.internal_error)
        return tp_job_exit_code(c, j, TP_UNKNOWN_WARN);
    derived d = {.arena = j->arena, .rows = tp_certificates_rows(j->certificates)};
    if (tp_try(j->arena, read_rows, &d) != TP_OK)
        tp_leave(c->arena, TP_E_MEMORY);
    return compare(c, path, s, &d);
}

static bool names(const tp_certificate_section *s, const tp_rule *rule)
{
    for (uint32_t i = 0; i < s->rules.len; i++)
        if (tp_rule_find(s->rules.at[i]) == rule)
            return true;
    return false;
}

/* The shorter list: of the rules that were asked, or of the others. */
static void put_rules(tp_buf *b, const tp_certificate_section *s, const tp_analysis_options *all)
{
    size_t left_out = 0, n = 0;
    for (size_t i = 0; i < all->nonly; i++)
        left_out += !names(s, all->only[i]);
    bool few = 2 * left_out > all->nonly;
    for (size_t i = 0; left_out && i < all->nonly; i++)
        if (names(s, all->only[i]) == few)
            tp_buf_printf(b, "%s%s", n++ ? ", " : few ? ", of " : ", without ", all->only[i]->code);
    tp_buf_c(b, few ? " only" : "");
}

static tp_str limits_of(tp_cli *c, tp_str spec, const tp_certificate_section *s)
{
    tp_check_settings all;
    tp_job j = {0};
    tp_buf b = {.arena = c->arena};
    tp_check_defaults(&all, tp_str_is(s->command, "verify"));
    put_rules(&b, s, &all.analysis);
    tp_job_load(c, &j, spec, &all);
    if (j.report.valid && !tp_str_eq(j.report.spec->kernels[0]->target.name, s->target))
        tp_buf_printf(&b, ", for %.*s in place of the spec's chip", TP_FMT(tp_visible(c->arena, s->target)));
    tp_job_free(&j);
    return tp_buf_view(&b);
}

int tp_section_covers(tp_cli *c, tp_str path, const tp_section_read *s, tp_str spec, tp_str *limits)
{
    tp_check_settings settings;
    tp_job j = {0}, again = {0};
    section_call now = {.j = &j, .s = &settings};
    const tp_certificate_section *about = s->about;
    *limits = TP_S("");
    tp_check_defaults(&settings, tp_str_is(about->command, "verify"));
    if (!read_rules(c, about, &settings.analysis))
        return refuse(c, path, s->line, TP_S("it names a rule that does not exist in this version"));
    settings.target = about->target;
    tp_job_load(c, &j, spec, &settings);
    int code = tp_job_exit_code(c, &j, TP_UNKNOWN_WARN);
    if (code == TP_EXIT_OK) {
        j.certificates = tp_certificates_new(j.arena);
        if (tp_try(j.arena, describe, &now) != TP_OK)
            tp_leave(c->arena, TP_E_MEMORY);
        const char *other = !tp_str_eq(about->sha256, now.about.sha256) ? "it was written for another text of the spec"
                            : !tp_str_eq(about->name, now.about.name)   ? "it was written for another spec"
                            : !tp_str_eq(about->tool, now.about.tool)   ? "it was written by another version"
                            : !same_list(about->dtypes.at, about->dtypes.len, now.about.dtypes.at, now.about.dtypes.len)
                                ? "it was written for other combinations of dtypes"
                                : NULL;
        if (other)
            code = refuse(c, path, s->line, tp_printf(c->arena, "%s: write the certificates again", other));
    }
    if (code == TP_EXIT_OK) {
        again = (tp_job){.arena = tp_arena_child(c->arena), .source = j.source};
        tp_job_begin(&again);
        code = derive_and_compare(c, path, s, &again, &settings);
        tp_job_free(&again);
    }
    tp_job_free(&j);
    if (code == TP_EXIT_OK)
        *limits = limits_of(c, spec, about);
    return code;
}
