/* Reports and fixes in files. */
#include <stdio.h>

#include "base/file.h"
#include "cli/check.h"
#include "cli/patch.h"

/* The format of FORMAT=PATH; NULL after a message. */
static const tp_format *format_of(const tp_cli *c, tp_str wanted, tp_str *path)
{
    const char *equals = memchr(wanted.p, '=', wanted.n);
    tp_str name = {wanted.p, equals ? (size_t)(equals - wanted.p) : wanted.n};
    const tp_format *f = tp_format_find(name);
    *path = equals ? (tp_str){equals + 1, wanted.n - name.n - 1} : (tp_str){NULL, 0};
    if (!f || !path->n) {
        size_t n;
        const tp_format *const *all = tp_formats(&n);
        tp_buf names = {.arena = c->arena};
        for (size_t i = 0; i < n; i++)
            tp_buf_printf(&names, "%s %s", i + 1 == n ? " or" : i ? "," : "", all[i]->name);
        tp_usage_error("--output is FORMAT=PATH, not `%.*s`; FORMAT is%.*s", TP_FMT(wanted),
                       TP_FMT(tp_buf_view(&names)));
        return NULL;
    }
    return f;
}

bool tp_outputs_usable(const tp_cli *c)
{
    tp_str path;
    for (uint32_t i = 0; i < c->report.len; i++)
        if (!format_of(c, c->report.at[i], &path) || !tp_can_write(c, "output", path))
            return false;
    return true;
}

void tp_outputs_begin(tp_cli *c, tp_check_run *run, bool alone, bool print)
{
    tp_report *plain = TP_NEW(c->arena, tp_report); /* files have no colours */
    *plain = run->report;
    plain->color = false;
    run->writings = TP_NEWN(c->arena, tp_writing *, c->report.len + 1);
    for (uint32_t i = 0; i < c->report.len && print; i++) {
        tp_str path;
        tp_writing_begin(&run->writings[run->nwritings++], run->kept, format_of(c, c->report.at[i], &path), plain,
                         alone, NULL);
    }
    if (print && run->fix != TP_FIX_SHOW)
        tp_writing_begin(&run->writings[run->nwritings++], run->kept, run->format, &run->report, alone, stdout);
}

void tp_outputs_add(tp_check_run *run, const tp_spec_report *s, tp_arena *a)
{
    for (uint32_t i = 0; i < run->nwritings; i++)
        tp_writing_spec(run->writings[i], s, a);
}

typedef struct ending {
    tp_writing *w;
    const tp_report *report;
} ending;

static void end(void *ctx, FILE *out)
{
    const ending *e = ctx;
    if (!tp_writing_end(e->w, e->report, out))
        tp_leave_innermost(TP_E_MEMORY);
}

typedef struct file_ending {
    tp_cli *c;
    ending e;
    tp_str path, why;
    bool written;
} file_ending;

static void end_file(void *arg)
{
    file_ending *f = arg;
    f->written = tp_print_file(f->c->arena, tp_cstr(f->c->arena, f->path), end, &f->e, &f->why) == TP_OK;
}

/* Each whole or not at all. */
bool tp_outputs_end(tp_cli *c, tp_check_run *run)
{
    bool all = true;
    for (uint32_t i = 0; i < c->report.len && run->nwritings; i++) {
        file_ending f = {.c = c, .e = {run->writings[i], &run->report}, .why = TP_S("out of memory")};
        format_of(c, c->report.at[i], &f.path);
        if (tp_try(c->arena, end_file, &f) != TP_OK || !f.written) {
            tp_say(stderr, "tileproof: --output: %.*s", TP_FMT(f.why));
            all = false;
        }
    }
    return all;
}

bool tp_outputs_print(const tp_cli *c, const tp_check_run *run)
{
    bool whole = run->nwritings <= c->report.len || tp_writing_end(run->writings[c->report.len], &run->report, stdout);
    if (!whole)
        tp_say(stderr, "tileproof: the report is not whole: there is no room for temporary files, or no memory");
    return whole;
}

/* The spec's own text, or that of its kernel file. */
static tp_str part_of(const tp_source *s, int part)
{
    size_t main = tp_source_main(s);
    return part ? (tp_str){s->text.p + main + 1, s->text.n - main - 1} : (tp_str){s->text.p, main};
}

bool tp_write_fixes(tp_cli *c, const tp_check_run *run)
{
    bool all = true;
    for (uint32_t i = 0; i < run->njobs; i++) {
        const tp_job *j = &run->jobs[i];
        tp_str why;
        if (!j->fixed.n)
            continue;
        tp_source new = j->source;
        new.text = j->fixed;
        bool written = true;
        for (int part = 0; part < (new.kernel_file.n ? 2 : 1) && written; part++) {
            tp_str from = part_of(&j->source, part), to = part_of(&new, part), path = part ? new.kernel_file : j->file;
            if (run->fix == TP_FIX_SHOW && tp_str_eq(from, to))
                continue;
            if (run->fix == TP_FIX_SHOW)
                tp_write_patch(c->arena, part ? path : j->source.path, from, to, stdout);
            else
                written = tp_write_file(c->arena, tp_cstr(c->arena, path), &to, 1, &why) == TP_OK;
        }
        if (!written) {
            tp_say(stderr, "tileproof: --fix: %.*s", TP_FMT(why));
            all = false;
        } else if (run->fix != TP_FIX_SHOW) {
            tp_say(stderr, "tileproof: %.*s: %u fix%s written", TP_FMT(j->source.path), j->nfixes,
                   j->nfixes == 1 ? "" : "es");
        }
    }
    return all;
}
