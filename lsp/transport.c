#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lsp/internal.h"

json *tp_lsp_member(json *o, const char *key)
{
    json *v = NULL;
    if (o && json_object_is_type(o, json_type_object))
        json_object_object_get_ex(o, key, &v);
    return v;
}

tp_str tp_lsp_text(json *v)
{
    if (!v || !json_object_is_type(v, json_type_string))
        return TP_S("");
    return (tp_str){json_object_get_string(v), (size_t)json_object_get_string_len(v)};
}

tp_str tp_lsp_string(json *o, const char *key)
{
    return tp_lsp_text(tp_lsp_member(o, key));
}

int64_t tp_lsp_number(json *o, const char *key)
{
    json *v = tp_lsp_member(o, key);
    return v && json_object_is_type(v, json_type_int) ? json_object_get_int64(v) : 0;
}

json *tp_lsp_answer(json *id, json *result)
{
    json *o = json_object_new_object();
    json_object_object_add(o, "id", json_object_get(id));
    json_object_object_add(o, "result", result);
    json_object_object_add(o, "jsonrpc", json_object_new_string("2.0"));
    return o;
}

json *tp_lsp_diagnostics(const char *uri, const int64_t *version, json *list)
{
    json *o = json_object_new_object(), *params = json_object_new_object();
    json_object_object_add(params, "uri", json_object_new_string(uri));
    if (version)
        json_object_object_add(params, "version", json_object_new_int64(*version));
    json_object_object_add(params, "diagnostics", list ? list : json_object_new_array());
    json_object_object_add(o, "method", json_object_new_string("textDocument/publishDiagnostics"));
    json_object_object_add(o, "params", params);
    json_object_object_add(o, "jsonrpc", json_object_new_string("2.0"));
    return o;
}

static tp_wire_status more(tp_wire *w)
{
    if (w->n == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 65536;
        char *grown = cap <= 2 * (size_t)TP_LSP_MAX_MESSAGE ? realloc(w->buffer, cap) : NULL;
        if (!grown)
            return TP_WIRE_BROKEN;
        w->buffer = grown;
        w->cap = cap;
    }
    ssize_t n;
    do
        n = read(w->in, w->buffer + w->n, w->cap - w->n);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return TP_WIRE_CLOSED;
    w->n += (size_t)n;
    return TP_WIRE_OK;
}

/* Value of Content-Length among the headers; -1: none. */
static long content_length(const char *headers, size_t n)
{
    static const char NAME[] = "content-length:";
    for (size_t at = 0; at < n;) {
        const char *end = memmem(headers + at, n - at, "\r\n", 2);
        size_t line = end ? (size_t)(end - headers) - at : n - at;
        if (line > sizeof NAME - 1 && strncasecmp(headers + at, NAME, sizeof NAME - 1) == 0) {
            char digits[24];
            snprintf(digits, sizeof digits, "%.*s", (int)(line - sizeof NAME + 1), headers + at + sizeof NAME - 1);
            long v = strtol(digits, NULL, 10);
            return v >= 0 && v <= TP_LSP_MAX_MESSAGE ? v : -1;
        }
        at += line + 2;
    }
    return -1;
}

tp_wire_status tp_wire_read(tp_wire *w, json **message)
{
    enum { MAX_HEADERS = 4096 };
    const char *blank;
    *message = NULL;
    while (!(blank = w->n ? memmem(w->buffer, w->n, "\r\n\r\n", 4) : NULL)) {
        tp_wire_status st = w->n > MAX_HEADERS ? TP_WIRE_BROKEN : more(w);
        if (st != TP_WIRE_OK)
            return st;
    }
    size_t head = (size_t)(blank - w->buffer) + 4;
    long length = content_length(w->buffer, head - 4);
    if (length < 0)
        return TP_WIRE_BROKEN;
    while (w->n < head + (size_t)length) {
        tp_wire_status st = more(w);
        if (st != TP_WIRE_OK)
            return st;
    }
    struct json_tokener *t = json_tokener_new_ex(128);
    if (!t)
        tp_leave_innermost(TP_E_MEMORY);
    *message = json_tokener_parse_ex(t, w->buffer + head, (int)length);
    json_tokener_free(t);
    memmove(w->buffer, w->buffer + head + length, w->n - head - (size_t)length);
    w->n -= head + (size_t)length;
    return TP_WIRE_OK;
}

bool tp_wire_waiting(const tp_wire *w)
{
    struct pollfd p = {.fd = w->in, .events = POLLIN};
    return w->n > 0 || poll(&p, 1, 0) > 0;
}

bool tp_wire_write(tp_wire *w, json *message)
{
    tp_arena *a = tp_arena_new(0);
    if (!a)
        tp_leave_innermost(TP_E_MEMORY);
    tp_str body = tp_jsonc_text(a, message, TP_JSONC_PLAIN),
           text = tp_printf(a, "Content-Length: %zu\r\n\r\n%.*s", body.n, TP_FMT(body));
    size_t offset = 0;
    bool ok = true;
    while (ok && offset < text.n) {
        ssize_t wrote = write(w->out, text.p + offset, text.n - offset);
        if (wrote < 0 && errno == EINTR)
            continue;
        ok = wrote > 0;
        offset += ok ? (size_t)wrote : 0;
    }
    tp_arena_free(a);
    json_object_put(message);
    return ok;
}

void tp_wire_free(tp_wire *w)
{
    free(w->buffer);
}
