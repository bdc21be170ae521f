#ifndef TP_LSP_INTERNAL_H
#define TP_LSP_INTERNAL_H

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
json *tp_lsp_position(tp_str text, uint32_t offset, bool utf8);
json *tp_lsp_range(tp_str text, uint32_t start, uint32_t end, bool utf8);
uint32_t tp_lsp_offset(tp_str text, json *position, bool utf8);
/* "file:///a%20b" -> "/a b"; other schemes stay as they are. */
tp_str tp_lsp_path(tp_arena *a, tp_str uri);

/* ---- hover.c ---- */

/* What to know about the thing at this offset, as Markdown; empty: nothing. *loc: what it is about. */
tp_str tp_lsp_hover(tp_arena *a, const tp_job *j, uint32_t offset, tp_loc *loc);

json *tp_lsp_member(json *o, const char *key);
tp_str tp_lsp_string(json *o, const char *key);

#endif
