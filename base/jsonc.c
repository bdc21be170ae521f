#include "base/jsonc.h"

typedef struct printer {
    tp_buf out;
    tp_jsonc_style style;
} printer;

static bool pretty(const printer *p)
{
    return p->style == TP_JSONC_PRETTY || p->style == TP_JSONC_SPACED;
}

static void new_line(printer *p, unsigned level)
{
    static const char BLANKS[] = "                                ";
    if (!pretty(p))
        return;
    tp_buf_c(&p->out, "\n");
    for (unsigned n = 2 * level, most = sizeof BLANKS - 1; n; n -= n < most ? n : most)
        tp_buf_add(&p->out, BLANKS, n < most ? n : most);
}

static void print_string(printer *p, const char *s, size_t n)
{
    static const char SHORT[] = "\b\n\r\t\f\"\\", LETTERS[] = "bnrtf\"\\";
    size_t from = 0;
    tp_buf_c(&p->out, "\"");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c > '\\' || (c > '/' && c < '\\')) /* most are such */
            continue;
        const char *at = c ? strchr(SHORT, c) : NULL;
        bool slash = c == '/' && p->style == TP_JSONC_CANONICAL;
        if (c >= 0x20 && !at && !slash)
            continue;
        tp_buf_add(&p->out, s + from, i - from);
        from = i + 1;
        if (at || slash)
            tp_buf_add(&p->out, (const char[]){'\\', slash ? '/' : LETTERS[at - SHORT]}, 2);
        else
            tp_buf_printf(&p->out, "\\u%04x", c);
    }
    tp_buf_add(&p->out, s + from, n - from);
    tp_buf_c(&p->out, "\"");
}

static void print_value(printer *p, struct json_object *o, unsigned level);

static void print_object(printer *p, struct json_object *o, unsigned level)
{
    bool first = true;
    tp_buf_c(&p->out, "{");
    json_object_object_foreach (o, key, value) {
        tp_buf_c(&p->out, first ? "" : ",");
        first = false;
        new_line(p, level + 1);
        print_string(p, key, strlen(key));
        tp_buf_c(&p->out, p->style == TP_JSONC_SPACED ? ": " : ":");
        print_value(p, value, level + 1);
    }
    if (!first)
        new_line(p, level);
    tp_buf_c(&p->out, "}");
}

static void print_array(printer *p, struct json_object *o, unsigned level)
{
    size_t n = json_object_array_length(o);
    tp_buf_c(&p->out, "[");
    for (size_t i = 0; i < n; i++) {
        tp_buf_c(&p->out, i ? "," : "");
        new_line(p, level + 1);
        print_value(p, json_object_array_get_idx(o, i), level + 1);
    }
    if (n)
        new_line(p, level);
    tp_buf_c(&p->out, "]");
}

/* Certificates are numbers for the most part: printf takes six times as long. */
static void print_integer(printer *p, int64_t v)
{
    char text[24];
    size_t at = sizeof text;
    uint64_t left = v < 0 ? -(uint64_t)v : (uint64_t)v;
    do
        text[--at] = (char)('0' + left % 10);
    while (left /= 10);
    if (v < 0)
        text[--at] = '-';
    tp_buf_add(&p->out, text + at, sizeof text - at);
}

static void print_value(printer *p, struct json_object *o, unsigned level)
{
    switch (json_object_get_type(o)) {
    case json_type_null: tp_buf_c(&p->out, "null"); return;
    case json_type_boolean: tp_buf_c(&p->out, json_object_get_boolean(o) ? "true" : "false"); return;
    case json_type_double: { /* short: it keeps the digits that it was made of */
        const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
        if (!text)
            tp_leave(p->out.arena, TP_E_MEMORY);
        tp_buf_c(&p->out, text);
        return;
    }
    case json_type_int: {
        int64_t v = json_object_get_int64(o);
        if (v == INT64_MAX) /* or more: numbers without a sign */
            tp_buf_printf(&p->out, "%llu", (unsigned long long)json_object_get_uint64(o));
        else
            print_integer(p, v);
        return;
    }
    case json_type_string: print_string(p, json_object_get_string(o), (size_t)json_object_get_string_len(o)); return;
    case json_type_object: print_object(p, o, level); return;
    case json_type_array: print_array(p, o, level); return;
    }
}

tp_str tp_jsonc_text_at(tp_arena *a, struct json_object *o, tp_jsonc_style style, unsigned level)
{
    printer p = {.out = {.arena = a}, .style = style};
    print_value(&p, o, level);
    return tp_buf_view(&p.out);
}

tp_str tp_jsonc_text(tp_arena *a, struct json_object *o, tp_jsonc_style style)
{
    return tp_jsonc_text_at(a, o, style, 0);
}
