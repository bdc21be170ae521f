/* JSON with positions. A strict scanner of our own reads the text first and
 * records where everything is; json-c then decodes the values. The scanner is
 * there because json-c keeps the last of two equal keys, clamps integers,
 * accepts control characters and knows no positions. */
#ifndef TP_JSON_H
#define TP_JSON_H

#include "base/finding.h"

typedef enum tp_json_type {
    TP_J_NULL,
    TP_J_BOOL,
    TP_J_INT,
    TP_J_REAL,
    TP_J_STRING,
    TP_J_ARRAY,
    TP_J_OBJECT
} tp_json_type;

typedef struct tp_json tp_json;
struct tp_json {
    tp_json_type type;
    tp_loc loc;
    tp_loc key_loc; /* of a member's key */
    tp_str key;     /* decoded; members only */
    bool verbatim;  /* a string that stands in the text without escapes */
    bool part;      /* a line of a longer string: its loc has a byte on either side, where quotes would be */
    union {
        bool boolean;
        int64_t integer;
        double real;
        tp_str string; /* decoded */
        struct {
            tp_json **at;
            uint32_t n;
            bool indented; /* the lines of one string */
        } items;           /* arrays and objects */
    } u;
};

enum {
    TP_JSON_MAX_BYTES = 8 << 20,
    TP_JSON_MAX_DEPTH = 128,
    TP_JSON_MAX_KEYS = 4096, /* of one object */
    TP_JSON_MAX_VALUES = 500000,
};

/* Parse c->source. `comments`: // and slash-star comments, trailing commas and
 * line breaks inside strings are allowed (*.tile.jsonc). Raises TP001 on anything else that is not
 * strict JSON. The tree lives in the arena. */
tp_json *tp_json_parse(tp_ctx *c, bool comments);

/* Member of an object, or NULL; NULL of anything else. */
tp_json *tp_json_get(const tp_json *object, const char *key);
const char *tp_json_type_name(tp_json_type t);
/* Place of bytes [from, to) of a decoded string inside the source text. */
tp_loc tp_json_inside(const tp_ctx *c, const tp_json *string, size_t from, size_t to);

/* Where a finding about a whole string points: at it and its quotes, or at a line of a longer string. */
tp_loc tp_json_place(const tp_json *v);

/* The lines of a string, as an array of strings with their places in the source; line ends are not part of them. */
tp_json *tp_json_lines(tp_ctx *c, const tp_json *string);

#endif
