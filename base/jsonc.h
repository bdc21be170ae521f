/* json-c, which writes our JSON, from our strings. */
#ifndef TP_JSONC_H
#define TP_JSONC_H

#include <json-c/json.h>

#include "base/str.h"

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
