/* The client's side: documents, who is asked what, and nothing that takes long. */
#define _POSIX_C_SOURCE 200809L /* strndup */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "lsp/internal.h"

typedef struct request {
    struct request *next;
    json *message;
} request;

typedef struct document {
    struct document *next;
    char *uri;
    char *text;
    size_t n;
    int64_t version;
    bool changed;   /* since it was checked */
    bool failed;    /* what checked it ended, and would again */
    bool busy;      /* its child is at work: the check, or the first of the queue */
    bool asked;     /* the child has the first of the queue */
    tp_child child; /* of the text, unless it changed */
    request *queue;
} document;

typedef struct server {
    tp_wire wire;
    const tp_check_settings *settings;
    tp_arena *arena;
    tp_solver *solver; /* where documents have no processes of their own */
    document *documents;
    bool utf8, shut_down, gone, alone;
} server;

/* From the protocol, and from JSON-RPC. */
enum {
    REQUEST_CANCELLED = -32800,
    CONTENT_MODIFIED = -32801,
    NO_METHOD = -32601,
    NO_REQUEST = -32600,
    NO_JSON = -32700,
    INTERNAL = -32603
};

/* ---- messages ---- */

static void send(server *s, json *message)
{
    if (!tp_wire_write(&s->wire, message))
        s->gone = true;
}

static void answer_error(server *s, json *id, int code, const char *message)
{
    json *o = json_object_new_object(), *e = json_object_new_object();
    json_object_object_add(e, "code", json_object_new_int(code));
    json_object_object_add(e, "message", json_object_new_string(message));
    json_object_object_add(o, "id", json_object_get(id));
    json_object_object_add(o, "error", e);
    json_object_object_add(o, "jsonrpc", json_object_new_string("2.0"));
    send(s, o);
}

/* What is answered about a document that is not open. */
static json *nothing(tp_str method)
{
    return tp_str_is(method, "textDocument/codeAction") ? json_object_new_array() : NULL;
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

static void drop_request(request **at)
{
    request *r = *at;
    *at = r->next;
    json_object_put(r->message);
    free(r);
}

/* Its child, and what it was asked. */
static void end_work(server *s, document *d, int code, const char *why)
{
    tp_child_end(&d->child);
    d->busy = d->asked = false;
    while (d->queue) {
        answer_error(s, tp_lsp_member(d->queue->message, "id"), code, why);
        drop_request(&d->queue);
    }
}

static void set_text(server *s, document *d, tp_str t)
{
    char *copy = malloc(t.n + 1);
    if (!copy)
        return;
    memcpy(copy, t.p, t.n);
    copy[t.n] = '\0';
    end_work(s, d, CONTENT_MODIFIED, "the text has changed since");
    free(d->text);
    d->text = copy;
    d->n = t.n;
    d->changed = true;
    d->failed = false;
}

static void drop(server *s, document *d)
{
    for (document **at = &s->documents; *at; at = &(*at)->next)
        if (*at == d) {
            *at = d->next;
            break;
        }
    end_work(s, d, CONTENT_MODIFIED, "the document was closed");
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
        d->child.pid = -1;
        d->uri = name;
        d->next = s->documents;
        s->documents = d;
    }
    d->version = tp_lsp_number(item, "version");
    set_text(s, d, tp_lsp_string(item, "text"));
}

/* Whole texts only: that is what we ask for. */
static void change_document(server *s, json *params)
{
    document *d = find(s, params);
    json *changes = tp_lsp_member(params, "contentChanges");
    size_t n = changes && json_object_is_type(changes, json_type_array) ? json_object_array_length(changes) : 0;
    if (!d || !n)
        return;
    d->version = tp_lsp_number(tp_lsp_member(params, "textDocument"), "version");
    set_text(s, d, tp_lsp_string(json_object_array_get_idx(changes, n - 1), "text"));
}

static void close_document(server *s, json *params)
{
    document *d = find(s, params);
    if (!d)
        return;
    send(s, tp_lsp_diagnostics(d->uri, NULL, json_object_new_array()));
    drop(s, d);
}

/* ---- their checks ---- */

static tp_session session_of(server *s, document *d)
{
    return (tp_session){.arena = s->arena,
                        .solver = s->solver,
                        .settings = s->settings,
                        .uri = d->uri,
                        .text = {d->text, d->n},
                        .version = d->version,
                        .utf8 = s->utf8};
}

static void begin_check(server *s, document *d)
{
    tp_session session = session_of(s, d);
    d->changed = false;
    if (s->alone) {
        send(s, tp_lsp_diagnostics(d->uri, &d->version, tp_session_check(&session)));
        tp_session_end(&session);
    } else if (tp_child_start(&d->child, &session)) {
        d->busy = true;
    } else { /* no process to be had: from now on everything is done here */
        s->alone = true;
        begin_check(s, d);
    }
}

static void answer_here(server *s, document *d, json *message)
{
    tp_session session = session_of(s, d);
    json_object_put(tp_session_check(&session));
    send(s, tp_lsp_answer(tp_lsp_member(message, "id"), tp_session_answer(&session, message)));
    tp_session_end(&session);
}

/* The first of the queue goes to the child, once it has nothing else to do. */
static void ask_next(document *d)
{
    if (d->busy || !d->queue)
        return;
    d->busy = d->asked = true;
    tp_wire_write(&d->child.wire, json_object_get(d->queue->message)); /* an error shows when we read */
}

static void child_has_failed(server *s, document *d)
{
    json *list = json_object_new_array(), *o = json_object_new_object();
    json_object_object_add(o, "range", tp_lsp_range((tp_str){d->text, d->n}, 0, 0, s->utf8));
    json_object_object_add(o, "severity", json_object_new_int(1));
    json_object_object_add(o, "source", json_object_new_string("tileproof"));
    json_object_object_add(o, "message",
                           json_object_new_string("the check of this text ended before it was done: tileproof ran out "
                                                  "of memory or has a defect; `tileproof lint` says more"));
    json_object_array_add(list, o);
    end_work(s, d, INTERNAL, "the check of this text ended before it was done");
    d->failed = true;
    send(s, tp_lsp_diagnostics(d->uri, &d->version, list));
}

/* Diagnostics, or the answer to the first of the queue. */
static void hear_child(server *s, document *d)
{
    json *message;
    if (tp_wire_read(&d->child.wire, &message) != TP_WIRE_OK || !message) {
        child_has_failed(s, d);
        return;
    }
    send(s, message);
    if (d->asked)
        drop_request(&d->queue);
    d->busy = d->asked = false;
    ask_next(d);
}

static void ask(server *s, json *message)
{
    document *d = find(s, tp_lsp_member(message, "params"));
    json *id = tp_lsp_member(message, "id");
    if (!d) {
        send(s, tp_lsp_answer(id, nothing(tp_lsp_string(message, "method"))));
        return;
    }
    if (d->child.pid <= 0 && !d->failed && !s->alone)
        begin_check(s, d);
    if (s->alone && d->child.pid <= 0) {
        answer_here(s, d, message);
        return;
    }
    request *r = d->failed ? NULL : calloc(1, sizeof *r), **end = &d->queue;
    if (!r) {
        answer_error(s, id, INTERNAL, "the check of this text ended before it was done");
        return;
    }
    while (*end)
        end = &(*end)->next;
    r->message = json_object_get(message);
    *end = r;
    ask_next(d);
}

/* A child that works on it is ended; the rest of its queue is asked of another one. */
static void cancel(server *s, json *params)
{
    json *id = tp_lsp_member(params, "id");
    for (document *d = s->documents; d; d = d->next)
        for (request **at = &d->queue; *at; at = &(*at)->next) {
            if (!json_object_equal(id, tp_lsp_member((*at)->message, "id")))
                continue;
            answer_error(s, id, REQUEST_CANCELLED, "cancelled");
            bool at_work = at == &d->queue && d->asked;
            drop_request(at);
            if (at_work) {
                tp_child_end(&d->child);
                d->busy = d->asked = false;
                if (d->queue)
                    begin_check(s, d);
            }
            return;
        }
}

/* ---- the client ---- */

static json *initialize(server *s, json *params)
{
    json *result = json_object_new_object(), *can = json_object_new_object(), *info = json_object_new_object(),
         *sync = json_object_new_object(), *actions = json_object_new_object(), *kinds = json_object_new_array(),
         *encodings =
             tp_lsp_member(tp_lsp_member(tp_lsp_member(params, "capabilities"), "general"), "positionEncodings");
    size_t n = encodings && json_object_is_type(encodings, json_type_array) ? json_object_array_length(encodings) : 0;
    for (size_t i = 0; i < n; i++)
        s->utf8 |= tp_str_is(tp_lsp_text(json_object_array_get_idx(encodings, i)), "utf-8");
    json_object_object_add(can, "positionEncoding", json_object_new_string(s->utf8 ? "utf-8" : "utf-16"));
    json_object_object_add(sync, "openClose", json_object_new_boolean(true));
    json_object_object_add(sync, "change", json_object_new_int(1));
    json_object_object_add(can, "textDocumentSync", sync);
    json_object_object_add(can, "hoverProvider", json_object_new_boolean(true));
    json_object_object_add(can, "completionProvider", json_object_new_object());
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

static void handle_request(server *s, tp_str method, json *id, json *message)
{
    if (s->shut_down) {
        answer_error(s, id, NO_REQUEST, "the server was shut down");
    } else if (tp_str_is(method, "initialize")) {
        send(s, tp_lsp_answer(id, initialize(s, tp_lsp_member(message, "params"))));
    } else if (tp_str_is(method, "shutdown")) {
        s->shut_down = true;
        send(s, tp_lsp_answer(id, NULL));
    } else if (tp_session_knows(method)) {
        ask(s, message);
    } else {
        answer_error(s, id, NO_METHOD, "the server has no such method");
    }
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
    else if (tp_str_is(method, "$/cancelRequest"))
        cancel(s, params);
    else if (id)
        handle_request(s, method, id, message);
    return true;
}

/* False: the client said exit, or has gone. *closed: it will say no more. */
static bool hear_client(server *s, bool *closed)
{
    json *message;
    tp_wire_status st = tp_wire_read(&s->wire, &message);
    bool more = true;
    *closed = st == TP_WIRE_CLOSED;
    if (st != TP_WIRE_OK)
        return st == TP_WIRE_CLOSED;
    if (message)
        more = handle(s, message);
    else
        answer_error(s, NULL, NO_JSON, "the message is not JSON");
    json_object_put(message);
    return more;
}

static bool somebody_waits(const server *s)
{
    for (const document *d = s->documents; d; d = d->next)
        if (d->queue)
            return true;
    return false;
}

/* Until the client or a child has something to say. After the client's last
 * word only what it asked before is waited for, while it is there to read it. */
static bool wait_for_all(server *s, bool closed)
{
    nfds_t n = 1;
    for (const document *d = s->documents; d; d = d->next)
        n++;
    struct pollfd *p = calloc(n, sizeof *p);
    if (!p)
        return false;
    p[0] = closed ? (struct pollfd){.fd = s->wire.out} : (struct pollfd){.fd = s->wire.in, .events = POLLIN};
    n = 1;
    for (const document *d = s->documents; d; d = d->next)
        p[n++] = (struct pollfd){.fd = d->child.pid > 0 ? d->child.wire.in : -1, .events = POLLIN};
    int ready;
    while ((ready = poll(p, n, -1)) < 0 && errno == EINTR)
        ;
    n = 1;
    for (document *d = s->documents; d; d = d->next)
        if (p[n++].revents)
            hear_child(s, d);
    bool gone = ready < 0 || (closed && p[0].revents);
    free(p);
    return !gone;
}

static void serve(void *arg)
{
    server *s = arg;
    bool closed = false;
    s->solver = tp_solver_new(s->arena);
    while (!s->gone && (!closed || somebody_waits(s))) {
        if (!closed && tp_wire_waiting(&s->wire)) { /* someone is typing: only the last text counts */
            if (!hear_client(s, &closed))
                return;
            continue;
        }
        for (document *d = s->documents; d; d = d->next)
            if (d->changed)
                begin_check(s, d);
        if (!wait_for_all(s, closed))
            return;
    }
}

int tp_lsp_serve(int in, int out, const tp_check_settings *settings, bool alone)
{
    server s = {.wire = {.in = in, .out = out}, .settings = settings, .arena = tp_arena_new(0), .alone = alone};
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
