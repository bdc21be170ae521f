#ifndef TP_LSP_INTERNAL_H
#define TP_LSP_INTERNAL_H

#include <sys/types.h>

#include "base/jsonc.h"
#include "lsp/lsp.h"

typedef struct json_object json;

/* ---- transport.c: messages between headers ---- */

typedef struct tp_wire {
    int in, out;
    char *buffer; /* bytes that were read and not used */
    size_t n, cap;
} tp_wire;

enum { TP_LSP_MAX_MESSAGE = 64 << 20 };

typedef enum tp_wire_status { TP_WIRE_OK, TP_WIRE_CLOSED, TP_WIRE_BROKEN } tp_wire_status;
/* The next message; the caller releases it. NULL in *message with TP_WIRE_OK:
 * its body is no JSON. */
tp_wire_status tp_wire_read(tp_wire *w, json **message);
/* Is there something to read already? */
bool tp_wire_waiting(const tp_wire *w);
/* Takes the message. False when the client has gone. */
bool tp_wire_write(tp_wire *w, json *message);
void tp_wire_free(tp_wire *w);

/* ---- position.c: byte offsets and the protocol's lines and characters ---- */

/* Characters are UTF-16 code units, or bytes where the client can. */
json *tp_lsp_range(tp_str text, uint32_t start, uint32_t end, bool utf8);
uint32_t tp_lsp_offset(tp_str text, json *position, bool utf8);
/* "file:///a%20b" -> "/a b"; other schemes stay as they are. */
tp_str tp_lsp_path(tp_arena *a, tp_str uri);

/* ---- hover.c ---- */

/* What to know about the thing at this offset, as Markdown; empty: nothing. *loc: what it is about. */
tp_str tp_lsp_hover(tp_arena *a, const tp_job *j, uint32_t offset, tp_loc *loc);

/* ---- completion.c ---- */

/* Items for the place at this offset, the caller's; the client leaves those that begin otherwise out. */
json *tp_lsp_complete(tp_arena *a, const tp_source *source, uint32_t offset);
/* What an operation is elsewhere. */
tp_str tp_lsp_operation(tp_arena *a, tp_prim p);

/* ---- session.c: one text of one document ---- */

typedef struct tp_session {
    tp_arena *arena;   /* of the check, whose own is below it */
    tp_solver *solver; /* NULL: as tp_check_text() has it */
    const tp_check_settings *settings;
    const char *uri;
    tp_str text;
    int64_t version;
    bool utf8;
    bool tried; /* its fixes, which take longer than finding what is wrong */
    tp_job job; /* without an arena: it could not be checked */
    json *diagnostics;
} tp_session;
/* Its diagnostics, the caller's; NULL when memory ran out. */
json *tp_session_check(tp_session *s);
/* Is it a request about a document? */
bool tp_session_knows(tp_str method);
/* The result, the caller's; NULL: null. After tp_session_check(). */
json *tp_session_answer(tp_session *s, json *request);
void tp_session_end(tp_session *s);

/* ---- child.c: a session in a process of its own ---- */

typedef struct tp_child {
    pid_t pid;    /* -1: none */
    tp_wire wire; /* it sends its diagnostics, then takes a request at a time and answers it */
} tp_child;
/* False: there can be no process. What the session points to need not stay. */
bool tp_child_start(tp_child *c, tp_session *s);
/* Whatever it is doing, and the solvers that it started. */
void tp_child_end(tp_child *c);

/* ---- messages (transport.c): what is not there, or of another type, is NULL, empty or 0 ---- */

json *tp_lsp_member(json *o, const char *key);
tp_str tp_lsp_text(json *v);
tp_str tp_lsp_string(json *o, const char *key);
int64_t tp_lsp_number(json *o, const char *key);
/* Both take what they are given, but for the id. A list that is NULL is empty. */
json *tp_lsp_answer(json *id, json *result);
json *tp_lsp_diagnostics(const char *uri, const int64_t *version, json *list);

#endif
