#include "lsp/internal.h"

/* Bytes of the character at `at`, and the protocol's units for it. */
static size_t step(tp_str text, size_t at, bool utf8, uint32_t *units)
{
    uint32_t code = 0;
    size_t n = tp_utf8(text, at, &code);
    if (n == 0)
        n = 1;
    *units = utf8 ? (uint32_t)n : code > 0xffff ? 2 : 1;
    return n;
}

static json *position_of(tp_str text, uint32_t offset, bool utf8)
{
    uint32_t line = 0, character = 0, units;
    size_t from = 0;
    offset = offset < text.n ? offset : (uint32_t)text.n;
    for (size_t i = 0; i < offset; i++)
        if (text.p[i] == '\n') {
            line++;
            from = i + 1;
        }
    for (size_t i = from; i < offset; i += step(text, i, utf8, &units), character += units)
        units = 0;
    json *o = json_object_new_object();
    json_object_object_add(o, "line", json_object_new_int64(line));
    json_object_object_add(o, "character", json_object_new_int64(character));
    return o;
}

json *tp_lsp_range(tp_str text, uint32_t start, uint32_t end, bool utf8)
{
    json *o = json_object_new_object();
    json_object_object_add(o, "start", position_of(text, start, utf8));
    json_object_object_add(o, "end", position_of(text, end, utf8));
    return o;
}

uint32_t tp_lsp_offset(tp_str text, json *position, bool utf8)
{
    int64_t line = tp_lsp_number(position, "line"), character = tp_lsp_number(position, "character");
    size_t at = 0;
    for (; line > 0 && at < text.n; at++)
        line -= text.p[at] == '\n';
    while (character > 0 && at < text.n && text.p[at] != '\n') {
        uint32_t units;
        at += step(text, at, utf8, &units);
        character -= units;
    }
    return (uint32_t)at;
}

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

tp_str tp_lsp_path(tp_arena *a, tp_str uri)
{
    static const char SCHEME[] = "file://";
    tp_buf b = {.arena = a};
    if (uri.n < sizeof SCHEME - 1 || memcmp(uri.p, SCHEME, sizeof SCHEME - 1) != 0)
        return uri;
    for (size_t i = sizeof SCHEME - 1; i < uri.n; i++) {
        bool escaped = uri.p[i] == '%' && i + 2 < uri.n && hex(uri.p[i + 1]) >= 0 && hex(uri.p[i + 2]) >= 0;
        char c = escaped ? (char)(hex(uri.p[i + 1]) * 16 + hex(uri.p[i + 2])) : uri.p[i];
        tp_buf_add(&b, &c, 1);
        i += escaped ? 2 : 0;
    }
    return tp_buf_view(&b);
}
