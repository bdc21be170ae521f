#define _POSIX_C_SOURCE 200809L /* strndup */
#include <stdlib.h>

#include "lsp/internal.h"
#include "spec/format.h"

typedef struct document {
    struct document *next;
    char *uri;
    char *text;
    size_t n;
    int64_t version;
    bool changed; /* since it was checked */
    bool tried;   /* its fixes, which take longer than finding what is wrong */
    tp_job job;   /* of the text, unless it changed */
} document;

typedef struct server {
    tp_wire wire;
    const tp_check_settings *settings;
    tp_arena *arena;
    tp_solver *solver;
    document *documents;
    bool utf8, shut_down, gone;
} server;

/* ---- messages ---- */

static void send(server *s, json *message)
{
    json_object_object_add(message, "jsonrpc", json_object_new_string("2.0"));
    if (!tp_wire_write(&s->wire, message))
        s->gone = true;
}

static void answer(server *s, json *id, json *result)
{
    json *o = json_object_new_object();
    json_object_object_add(o, "id", json_object_get(id));
    json_object_object_add(o, "result", result);
    send(s, o);
}

static void answer_error(server *s, json *id, int code, const char *message)
{
    json *o = json_object_new_object(), *e = json_object_new_object();
    json_object_object_add(e, "code", json_object_new_int(code));
    json_object_object_add(e, "message", json_object_new_string(message));
    json_object_object_add(o, "id", json_object_get(id));
    json_object_object_add(o, "error", e);
    send(s, o);
}

/* ---- documents ---- */

static document *find(server *s, json *params)
{
    tp_str uri = tp_lsp_string(tp_lsp_member(params, "textDocument"), "uri");
    for (document *d = s->documents; d; d = d->next)
        if (tp_str_is(uri, d->uri))
            return d;
    return NULL;
}

static void set_text(document *d, tp_str t)
{
    char *copy = malloc(t.n + 1);
    if (!copy)
        return;
    memcpy(copy, t.p, t.n);
    copy[t.n] = '\0';
    tp_job_free(&d->job); /* its source is the old text */
    free(d->text);
    d->text = copy;
    d->n = t.n;
    d->changed = true;
}

static void drop(server *s, document *d)
{
    for (document **at = &s->documents; *at; at = &(*at)->next)
        if (*at == d) {
            *at = d->next;
            break;
        }
    tp_job_free(&d->job);
    free(d->uri);
    free(d->text);
    free(d);
}

static void open_document(server *s, json *params)
{
    json *item = tp_lsp_member(params, "textDocument");
    tp_str uri = tp_lsp_string(item, "uri");
    document *d = find(s, params);
    if (!d) {
        d = calloc(1, sizeof *d);
        char *name = d ? strndup(uri.p, uri.n) : NULL;
        if (!name) {
            free(d);
            return;
        }
        d->uri = name;
        d->next = s->documents;
        s->documents = d;
    }
    d->version = json_object_get_int64(tp_lsp_member(item, "version"));
    set_text(d, tp_lsp_string(item, "text"));
}

/* Whole texts only: that is what we ask for. */
static void change_document(server *s, json *params)
{
    document *d = find(s, params);
    json *changes = tp_lsp_member(params, "contentChanges");
    size_t n = changes && json_object_is_type(changes, json_type_array) ? json_object_array_length(changes) : 0;
    if (!d || !n)
        return;
    d->version = json_object_get_int64(tp_lsp_member(tp_lsp_member(params, "textDocument"), "version"));
    set_text(d, tp_lsp_string(json_object_array_get_idx(changes, n - 1), "text"));
}

/* ---- diagnostics ---- */

static bool is_told(const tp_finding *f)
{
    return !f->suppressed && f->verdict != TP_PROVEN && f->verdict != TP_NOT_APPLICABLE && f->verdict != TP_ASSUMED;
}

static json *diagnostic(server *s, tp_arena *a, const document *d, const tp_finding *f)
{
    static const int SEVERITY[] = {[TP_NOTE] = 3, [TP_WARNING] = 2, [TP_ERROR] = 1};
    json *o = json_object_new_object();
    json_object_object_add(o, "range", tp_lsp_range((tp_str){d->text, d->n}, f->loc.start, f->loc.end, s->utf8));
    json_object_object_add(o, "severity", json_object_new_int(SEVERITY[f->severity]));
    json_object_object_add(o, "code", json_object_new_string(f->rule));
    json_object_object_add(o, "source", json_object_new_string("tileproof"));
    json_object_object_add(o, "message", tp_jsonc_string(tp_finding_story(a, f)));
    return o;
}

static json *diagnostics(server *s, const document *d)
{
    json *list = json_object_new_array();
    for (uint32_t i = 0; i < d->job.report.findings.len; i++)
        if (is_told(&d->job.report.findings.at[i]))
            json_object_array_add(list, diagnostic(s, d->job.arena, d, &d->job.report.findings.at[i]));
    return list;
}

static void publish(server *s, const char *uri, const int64_t *version, json *list)
{
    json *o = json_object_new_object(), *params = json_object_new_object();
    json_object_object_add(params, "uri", json_object_new_string(uri));
    if (version)
        json_object_object_add(params, "version", json_object_new_int64(*version));
    json_object_object_add(params, "diagnostics", list);
    json_object_object_add(o, "method", json_object_new_string("textDocument/publishDiagnostics"));
    json_object_object_add(o, "params", params);
    send(s, o);
}

typedef struct check_call {
    server *s;
    document *d;
} check_call;

static void check(void *arg)
{
    check_call *c = arg;
    document *d = c->d;
    d->job.source = (tp_source){tp_lsp_path(d->job.arena, tp_str_c(d->uri)), {d->text, d->n}};
    tp_job_begin(&d->job);
    tp_check_text(&d->job, c->s->settings, c->s->solver);
    publish(c->s, d->uri, &d->version, diagnostics(c->s, d));
}

static void check_document(server *s, document *d)
{
    check_call c = {s, d};
    tp_job_free(&d->job);
    d->changed = d->tried = false;
    d->job = (tp_job){.arena = tp_arena_child(s->arena)};
    if (tp_try(d->job.arena, check, &c) != TP_OK)
        tp_job_free(&d->job);
}

/* The job of a document as it is now, or NULL. */
static const tp_job *job_of(server *s, document *d)
{
    if (d && d->changed)
        check_document(s, d);
    return d && d->job.arena ? &d->job : NULL;
}

static void try_fixes(void *arg)
{
    check_call *c = arg;
    tp_try_fixes(&c->d->job, c->s->settings, c->s->solver);
}

/* ---- requests ---- */

static json *initialize(server *s, json *params)
{
    json *result = json_object_new_object(), *can = json_object_new_object(), *info = json_object_new_object(),
         *sync = json_object_new_object(), *actions = json_object_new_object(), *kinds = json_object_new_array(),
         *encodings =
             tp_lsp_member(tp_lsp_member(tp_lsp_member(params, "capabilities"), "general"), "positionEncodings");
    for (size_t i = 0;
         encodings && json_object_is_type(encodings, json_type_array) && i < json_object_array_length(encodings); i++)
        s->utf8 |= strcmp(json_object_get_string(json_object_array_get_idx(encodings, i)), "utf-8") == 0;
    json_object_object_add(can, "positionEncoding", json_object_new_string(s->utf8 ? "utf-8" : "utf-16"));
    json_object_object_add(sync, "openClose", json_object_new_boolean(true));
    json_object_object_add(sync, "change", json_object_new_int(1));
    json_object_object_add(can, "textDocumentSync", sync);
    json_object_object_add(can, "hoverProvider", json_object_new_boolean(true));
    json_object_array_add(kinds, json_object_new_string("quickfix"));
    json_object_object_add(actions, "codeActionKinds", kinds);
    json_object_object_add(can, "codeActionProvider", actions);
    json_object_object_add(can, "documentFormattingProvider", json_object_new_boolean(true));
    json_object_object_add(info, "name", json_object_new_string("tileproof"));
    json_object_object_add(info, "version", json_object_new_string(TP_VERSION));
    json_object_object_add(result, "capabilities", can);
    json_object_object_add(result, "serverInfo", info);
    return result;
}

static json *hover(server *s, json *params)
{
    document *d = find(s, params);
    const tp_job *j = job_of(s, d);
    tp_loc loc = {0, 0, TP_S("")};
    if (!j)
        return NULL;
    tp_str all = {d->text, d->n};
    tp_str said = tp_lsp_hover(j->arena, j, tp_lsp_offset(all, tp_lsp_member(params, "position"), s->utf8), &loc);
    if (!said.n)
        return NULL;
    json *o = json_object_new_object(), *contents = json_object_new_object();
    json_object_object_add(contents, "kind", json_object_new_string("markdown"));
    json_object_object_add(contents, "value", tp_jsonc_string(said));
    json_object_object_add(o, "contents", contents);
    json_object_object_add(o, "range", tp_lsp_range(all, loc.start, loc.end, s->utf8));
    return o;
}

static json *workspace_edit(server *s, const document *d, const tp_fix *fix)
{
    json *o = json_object_new_object(), *changes = json_object_new_object(), *edits = json_object_new_array();
    for (uint32_t i = 0; i < fix->edits.len; i++) {
        const tp_edit *e = &fix->edits.at[i];
        json *edit = json_object_new_object();
        json_object_object_add(edit, "range", tp_lsp_range((tp_str){d->text, d->n}, e->start, e->end, s->utf8));
        json_object_object_add(edit, "newText", tp_jsonc_string(e->text));
        json_object_array_add(edits, edit);
    }
    json_object_object_add(changes, d->uri, edits);
    json_object_object_add(o, "changes", changes);
    return o;
}

static json *code_actions(server *s, json *params)
{
    document *d = find(s, params);
    const tp_job *j = job_of(s, d);
    json *list = json_object_new_array(), *range = tp_lsp_member(params, "range");
    if (j && j->report.valid && !d->tried) {
        check_call c = {s, d};
        tp_try(j->arena, try_fixes, &c);
        d->tried = true;
    }
    for (uint32_t i = 0; j && i < j->report.findings.len; i++) {
        const tp_finding *f = &j->report.findings.at[i];
        tp_str all = {d->text, d->n};
        uint32_t from = tp_lsp_offset(all, tp_lsp_member(range, "start"), s->utf8),
                 to = tp_lsp_offset(all, tp_lsp_member(range, "end"), s->utf8);
        if (!f->fix || !is_told(f) || from > f->loc.end || to < f->loc.start)
            continue;
        json *o = json_object_new_object(), *of = json_object_new_array();
        json_object_object_add(o, "title",
                               tp_jsonc_string(tp_printf(j->arena, "%s: %.*s", f->rule, TP_FMT(f->fix->title))));
        json_object_object_add(o, "kind", json_object_new_string("quickfix"));
        json_object_array_add(of, diagnostic(s, j->arena, d, f));
        json_object_object_add(o, "diagnostics", of);
        json_object_object_add(o, "isPreferred", json_object_new_boolean(!f->fix->narrows));
        json_object_object_add(o, "edit", workspace_edit(s, d, f->fix));
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
static json *formatting(server *s, json *params)
{
    document *d = find(s, params);
    tp_arena *a = d ? tp_arena_new((size_t)1 << 30) : NULL;
    if (!a)
        return NULL;
    json *list = NULL;
    tp_source source = {.path = TP_S(""), .text = {d->text, d->n}};
    format_call f = {{.arena = a, .source = &source}, {.arena = a}};
    if (tp_try(a, format_text, &f) == TP_OK) {
        json *edit = json_object_new_object();
        json_object_object_add(edit, "range", tp_lsp_range(source.text, 0, (uint32_t)d->n, s->utf8));
        json_object_object_add(edit, "newText", tp_jsonc_string(tp_buf_view(&f.out)));
        list = json_object_new_array();
        json_object_array_add(list, edit);
    }
    tp_arena_free(a);
    return list;
}

static void close_document(server *s, json *params)
{
    document *d = find(s, params);
    if (!d)
        return;
    publish(s, d->uri, NULL, json_object_new_array());
    drop(s, d);
}

/* False: the client said exit. */
static bool handle(server *s, json *message)
{
    tp_str method = tp_lsp_string(message, "method");
    json *id = tp_lsp_member(message, "id"), *params = tp_lsp_member(message, "params");
    if (!method.n)
        return true; /* an answer to nothing that we asked */
    if (tp_str_is(method, "exit"))
        return false;
    if (tp_str_is(method, "textDocument/didOpen"))
        open_document(s, params);
    else if (tp_str_is(method, "textDocument/didChange"))
        change_document(s, params);
    else if (tp_str_is(method, "textDocument/didClose"))
        close_document(s, params);
    else if (!id)
        return true; /* a notification that we need not know */
    else if (s->shut_down)
        answer_error(s, id, -32600, "the server was shut down");
    else if (tp_str_is(method, "initialize"))
        answer(s, id, initialize(s, params));
    else if (tp_str_is(method, "shutdown")) {
        s->shut_down = true;
        answer(s, id, NULL);
    } else if (tp_str_is(method, "textDocument/hover"))
        answer(s, id, hover(s, params));
    else if (tp_str_is(method, "textDocument/codeAction"))
        answer(s, id, code_actions(s, params));
    else if (tp_str_is(method, "textDocument/formatting"))
        answer(s, id, formatting(s, params));
    else
        answer_error(s, id, -32601, "the server has no such method");
    return true;
}

static void serve(void *arg)
{
    server *s = arg;
    json *message;
    tp_wire_status st;
    s->solver = tp_solver_new(s->arena);
    while (!s->gone && (st = tp_wire_read(&s->wire, &message)) == TP_WIRE_OK) {
        bool more = true;
        if (message)
            more = handle(s, message);
        else
            answer_error(s, NULL, -32700, "the message is no JSON");
        json_object_put(message);
        if (!more)
            return;
        if (tp_wire_waiting(&s->wire))
            continue; /* someone is typing: only the last text counts */
        for (document *d = s->documents; d; d = d->next)
            if (d->changed)
                check_document(s, d);
    }
}

int tp_lsp_serve(int in, int out, const tp_check_settings *settings)
{
    server s = {.wire = {.in = in, .out = out}, .settings = settings, .arena = tp_arena_new(0)};
    if (!s.arena)
        return TP_EXIT_INTERNAL;
    tp_status st = tp_try(s.arena, serve, &s);
    while (s.documents)
        drop(&s, s.documents);
    if (s.solver)
        tp_solver_free(s.solver);
    tp_wire_free(&s.wire);
    tp_arena_free(s.arena);
    return st != TP_OK ? TP_EXIT_INTERNAL : s.shut_down ? TP_EXIT_OK : TP_EXIT_VIOLATED;
}
