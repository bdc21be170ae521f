/* json-c, which holds our JSON while it is made: from our strings, printed by
 * us. Where its memory runs out, the innermost tp_try() of the thread ends with
 * TP_E_MEMORY: json-c's own calls go on without what was lost, or abort. */
#ifndef TP_JSONC_H
#define TP_JSONC_H

#include <json-c/json.h>

#include "base/str.h"

/* Members without a space after ':' and ',' and line ends only where `pretty`. */
typedef enum tp_jsonc_style {
    TP_JSONC_PLAIN,
    TP_JSONC_CANONICAL, /* plain, '/' as "\/": what digests and signatures of receipts are of */
    TP_JSONC_PRETTY,
    TP_JSONC_SPACED, /* pretty, with a space after ':' */
} tp_jsonc_style;

/* The document as text, in the arena. */
tp_str tp_jsonc_text(tp_arena *a, struct json_object *o, tp_jsonc_style style);
/* The same of a part of one, `level` deep in it: its lines are indented so, but for the first. */
tp_str tp_jsonc_text_at(tp_arena *a, struct json_object *o, tp_jsonc_style style, unsigned level);

static inline struct json_object *tp_jsonc_made(struct json_object *o)
{
    if (!o)
        tp_leave_innermost(TP_E_MEMORY);
    return o;
}

static inline void tp_jsonc_require(int failure)
{
    if (failure)
        tp_leave_innermost(TP_E_MEMORY);
}

/* Whoever includes this cannot forget to look. */
#define json_object_new_object() tp_jsonc_made(json_object_new_object())
#define json_object_new_array() tp_jsonc_made(json_object_new_array())
#define json_object_new_boolean(v) tp_jsonc_made(json_object_new_boolean(v))
#define json_object_new_int(v) tp_jsonc_made(json_object_new_int(v))
#define json_object_new_int64(v) tp_jsonc_made(json_object_new_int64(v))
#define json_object_new_double_s(v, text) tp_jsonc_made(json_object_new_double_s(v, text))
#define json_object_new_string(text) tp_jsonc_made(json_object_new_string(text))
#define json_object_new_string_len(p, n) tp_jsonc_made(json_object_new_string_len(p, n))
#define json_object_object_add(o, key, v) tp_jsonc_require(json_object_object_add(o, key, v))
#define json_object_array_add(list, v) tp_jsonc_require(json_object_array_add(list, v))

static inline struct json_object *tp_jsonc_string(tp_str s)
{
    return json_object_new_string_len(s.p ? s.p : "", (int)s.n);
}

/* null for an empty string */
static inline struct json_object *tp_jsonc_string_or_null(tp_str s)
{
    return s.n ? tp_jsonc_string(s) : NULL;
}

#endif
