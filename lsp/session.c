/* One text of one document: what is wrong with it, and what can be asked about it. */
#include "lsp/internal.h"
#include "spec/format.h"

/* ---- diagnostics ---- */

static bool is_told(const tp_finding *f)
{
    return !f->suppressed && !tp_verdict_settled(f->verdict);
}

static json *diagnostic(const tp_session *s, tp_arena *a, const tp_finding *f)
{
    static const int SEVERITY[] = {[TP_NOTE] = 3, [TP_WARNING] = 2, [TP_ERROR] = 1};
    json *o = json_object_new_object();
    tp_loc place = f->loc;
    tp_str story = tp_finding_story(a, f);
    if (place.start >= s->text.n && s->job.source.kernel_file.n) { /* of another document: where this one names it */
        const char *text = tp_cstr(a, s->text), *key = strstr(text, "\"kernel_file\"");
        tp_linecol at = tp_linecol_of(&s->job.source, f->loc.start);
        place.start = key ? (uint32_t)(key - text) : 0;
        place.end = place.start + 13;
        story = tp_printf(a, "%.*s:%u:%u: %.*s", TP_FMT(s->job.source.kernel_file), at.line, at.column, TP_FMT(story));
    }
    json_object_object_add(o, "range", tp_lsp_range(s->text, place.start, place.end, s->utf8));
    json_object_object_add(o, "severity", json_object_new_int(SEVERITY[f->severity]));
    json_object_object_add(o, "code", json_object_new_string(f->rule));
    json_object_object_add(o, "source", json_object_new_string("tileproof"));
    json_object_object_add(o, "message", tp_jsonc_string(story));
    return o;
}

/* The body of a spec in a file of its own: what is wrong with it is said where the spec names it. */
static bool is_body(tp_str path)
{
    return path.n > 3 && memcmp(path.p + path.n - 3, ".py", 3) == 0;
}

static void check(void *arg)
{
    tp_session *s = arg;
    s->job.source = (tp_source){.path = tp_lsp_path(s->job.arena, tp_str_c(s->uri)), .text = s->text};
    tp_job_begin(&s->job);
    if (!is_body(s->job.source.path))
        tp_check_text(&s->job, s->settings, s->solver);
    s->diagnostics = json_object_new_array();
    for (uint32_t i = 0; i < s->job.report.findings.len; i++)
        if (is_told(&s->job.report.findings.at[i]))
            json_object_array_add(s->diagnostics, diagnostic(s, s->job.arena, &s->job.report.findings.at[i]));
}

json *tp_session_check(tp_session *s)
{
    s->job = (tp_job){.arena = tp_arena_child(s->arena)};
    s->tried = false;
    if (tp_try(s->job.arena, check, s) != TP_OK)
        tp_job_free(&s->job);
    json *list = s->diagnostics;
    s->diagnostics = NULL;
    return list;
}

void tp_session_end(tp_session *s)
{
    json_object_put(s->diagnostics);
    s->diagnostics = NULL;
    if (s->job.arena)
        tp_job_free(&s->job);
}

/* ---- requests ---- */

static json *hover(tp_session *s, json *params)
{
    tp_loc loc = {0, 0, TP_S("")};
    if (!s->job.arena)
        return NULL;
    tp_str text =
        tp_lsp_hover(s->job.arena, &s->job, tp_lsp_offset(s->text, tp_lsp_member(params, "position"), s->utf8), &loc);
    if (!text.n)
        return NULL;
    json *o = json_object_new_object(), *contents = json_object_new_object();
    json_object_object_add(contents, "kind", json_object_new_string("markdown"));
    json_object_object_add(contents, "value", tp_jsonc_string(text));
    json_object_object_add(o, "contents", contents);
    json_object_object_add(o, "range", tp_lsp_range(s->text, loc.start, loc.end, s->utf8));
    return o;
}

static json *workspace_edit(const tp_session *s, const tp_fix *fix)
{
    json *o = json_object_new_object(), *changes = json_object_new_object(), *edits = json_object_new_array();
    for (uint32_t i = 0; i < fix->edits.len; i++) {
        const tp_edit *e = &fix->edits.at[i];
        json *edit = json_object_new_object();
        json_object_object_add(edit, "range", tp_lsp_range(s->text, e->start, e->end, s->utf8));
        json_object_object_add(edit, "newText", tp_jsonc_string(e->text));
        json_object_array_add(edits, edit);
    }
    json_object_object_add(changes, s->uri, edits);
    json_object_object_add(o, "changes", changes);
    return o;
}

static void try_fixes(void *arg)
{
    tp_session *s = arg;
    tp_try_fixes(&s->job, s->settings, s->solver);
}

static json *code_actions(tp_session *s, json *params)
{
    json *list = json_object_new_array(), *range = tp_lsp_member(params, "range");
    const tp_job *j = s->job.arena ? &s->job : NULL;
    if (j && j->report.valid && !s->tried) {
        tp_try(j->arena, try_fixes, s);
        s->tried = true;
    }
    uint32_t from = tp_lsp_offset(s->text, tp_lsp_member(range, "start"), s->utf8),
             to = tp_lsp_offset(s->text, tp_lsp_member(range, "end"), s->utf8);
    for (uint32_t i = 0; j && i < j->report.findings.len; i++) {
        const tp_finding *f = &j->report.findings.at[i];
        if (!f->fix || !is_told(f) || from > f->loc.end || to < f->loc.start)
            continue;
        json *o = json_object_new_object(), *of = json_object_new_array();
        json_object_object_add(o, "title",
                               tp_jsonc_string(tp_printf(j->arena, "%s: %.*s", f->rule, TP_FMT(f->fix->title))));
        json_object_object_add(o, "kind", json_object_new_string("quickfix"));
        json_object_array_add(of, diagnostic(s, j->arena, f));
        json_object_object_add(o, "diagnostics", of);
        json_object_object_add(o, "isPreferred", json_object_new_boolean(!f->fix->requires.n));
        json_object_object_add(o, "edit", workspace_edit(s, f->fix));
        json_object_array_add(list, o);
    }
    return list;
}

typedef struct format_call {
    tp_ctx ctx;
    tp_buf out;
} format_call;

static void format_text(void *arg)
{
    format_call *f = arg;
    tp_spec_format(&f->ctx, tp_json_parse(&f->ctx, false), &f->out);
}

/* NULL: the text cannot be read, or has comments, which would be lost. */
static json *format_edits(tp_session *s)
{
    tp_arena *a = tp_arena_new((size_t)1 << 30);
    if (!a)
        return NULL;
    json *list = NULL;
    tp_source source = {.path = TP_S(""), .text = s->text};
    format_call f = {{.arena = a, .source = &source}, {.arena = a}};
    if (tp_try(a, format_text, &f) == TP_OK) {
        json *edit = json_object_new_object();
        json_object_object_add(edit, "range", tp_lsp_range(s->text, 0, (uint32_t)s->text.n, s->utf8));
        json_object_object_add(edit, "newText", tp_jsonc_string(tp_buf_view(&f.out)));
        list = json_object_new_array();
        json_object_array_add(list, edit);
    }
    tp_arena_free(a);
    return list;
}

static json *completion(tp_session *s, json *params)
{
    tp_source source = {.path = tp_lsp_path(s->arena, tp_str_c(s->uri)), .text = s->text};
    return tp_lsp_complete(s->arena, &source, tp_lsp_offset(s->text, tp_lsp_member(params, "position"), s->utf8));
}

bool tp_session_knows(tp_str method)
{
    return tp_str_is(method, "textDocument/completion") || tp_str_is(method, "textDocument/hover") ||
           tp_str_is(method, "textDocument/codeAction") || tp_str_is(method, "textDocument/formatting");
}

typedef struct answer_call {
    tp_session *s;
    json *request, *result;
} answer_call;

static void answer_now(void *arg)
{
    answer_call *c = arg;
    tp_str method = tp_lsp_string(c->request, "method");
    json *params = tp_lsp_member(c->request, "params");
    if (tp_str_is(method, "textDocument/hover"))
        c->result = hover(c->s, params);
    else if (tp_str_is(method, "textDocument/completion"))
        c->result = completion(c->s, params);
    else if (tp_str_is(method, "textDocument/codeAction"))
        c->result = code_actions(c->s, params);
    else
        c->result = format_edits(c->s);
}

json *tp_session_answer(tp_session *s, json *request)
{
    answer_call c = {s, request, NULL};
    if (!s->job.arena)
        answer_now(&c);
    else
        tp_try(s->job.arena, answer_now, &c); /* out of memory: null */
    return c.result;
}
