#include "spec/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

typedef struct scanner {
    tp_ctx *c;
    const char *p; /* text in which comments are blanked out */
    uint32_t i, n;
    bool comments;
    int depth;
    uint32_t values;
} scanner;

const char *tp_json_type_name(tp_json_type t)
{
    static const char *const NAMES[] = {"null",     "a boolean", "an integer", "a real number",
                                        "a string", "an array",  "an object"};
    return NAMES[t];
}

tp_json *tp_json_get(const tp_json *object, const char *key)
{
    for (uint32_t i = 0; object->type == TP_J_OBJECT && i < object->u.items.n; i++)
        if (tp_str_is(object->u.items.at[i]->key, key))
            return object->u.items.at[i];
    return NULL;
}

static tp_loc span(uint32_t from, uint32_t to, tp_str pointer)
{
    return (tp_loc){from, to > from ? to : from + 1, pointer};
}

/* Comments become spaces, so that offsets stay; trailing commas too. */
static void blank_comments(tp_ctx *c, char *t, uint32_t n)
{
    bool in_string = false;
    uint32_t comma = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (in_string) {
            if (t[i] == '\\' && i + 1 < n)
                i++;
            else if (t[i] == '"')
                in_string = false;
        } else if (t[i] == '/' && i + 1 < n && t[i + 1] == '/') {
            while (i < n && t[i] != '\n')
                t[i++] = ' ';
        } else if (t[i] == '/' && i + 1 < n && t[i + 1] == '*') {
            uint32_t from = i;
            while (i + 1 < n && !(i > from + 1 && t[i] == '*' && t[i + 1] == '/'))
                i++;
            if (i + 1 >= n)
                tp_raise(c, TP_RULE_SPEC_STRUCTURE, (tp_loc){from, from + 2, TP_S("")}, "close it with */",
                         "this comment never ends");
            for (uint32_t k = from; k < i + 2; k++)
                if (t[k] != '\n')
                    t[k] = ' ';
            i++;
        } else if (t[i] == ',') {
            comma = i;
        } else if ((t[i] == ']' || t[i] == '}') && comma != UINT32_MAX) {
            t[comma] = ' ';
            comma = UINT32_MAX;
        } else if (t[i] != ' ' && t[i] != '\n' && t[i] != '\t' && t[i] != '\r') {
            comma = UINT32_MAX;
            in_string = t[i] == '"';
        }
    }
}

static void check_text(scanner *s, tp_str text)
{
    for (uint32_t i = 0; i < text.n;) {
        uint32_t code, n = (uint32_t)tp_utf8(text, i, &code);
        if (n == 0)
            tp_raise(s->c, TP_RULE_SPEC_STRUCTURE, span(i, i + 1, TP_S("")), "save the file as UTF-8",
                     "byte 0x%02x is not valid UTF-8", (unsigned)(unsigned char)text.p[i]);
        unsigned char ch = (unsigned char)text.p[i];
        if (ch == TP_SOURCE_PART && i == tp_source_main(s->c->source))
            ch = ' ';
        if ((ch < 0x20 && ch != '\n' && ch != '\r' && ch != '\t') || ch == 0x7f)
            tp_raise(s->c, TP_RULE_SPEC_STRUCTURE, span(i, i + 1, TP_S("")), "remove it or write it as \\uXXXX",
                     "control character 0x%02x", (unsigned)ch);
        i += n;
    }
}

static void skip_space(scanner *s)
{
    while (s->i < s->n && strchr(" \t\r\n", s->p[s->i]) && s->p[s->i])
        s->i++;
}

_Noreturn static void raise_unexpected(scanner *s, tp_str pointer, const char *wanted)
{
    if (s->i >= s->n)
        tp_raise(s->c, TP_RULE_SPEC_STRUCTURE, span(s->n ? s->n - 1 : 0, s->n, pointer), "the file may be cut off",
                 "the text ends where %s is expected", wanted);
    uint32_t end = s->i + 1;
    while (end < s->n && end < s->i + 20 &&
           strchr("+-._abcdefghijklmnopqrstuvwxyz"
                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
                  s->p[end]))
        end++;
    while (end < s->n && ((unsigned char)s->p[end] & 0xc0) == 0x80) /* a whole character */
        end++;
    tp_str word = {s->p + s->i, end - s->i};
    const char *help = NULL;
    if (tp_str_is(word, "NaN") || tp_str_is(word, "Infinity") || tp_str_is(word, "-Infinity"))
        help = "JSON has no number of this form";
    else if (s->p[s->i] == '\'')
        help = "JSON strings take double quotes";
    else if (s->p[s->i] == '/' && !s->comments)
        help = "comments are allowed only in files named *.tile.jsonc";
    else if ((s->p[s->i] == '}' || s->p[s->i] == ']') && !s->comments)
        help = "a comma before a closing bracket is allowed only in files named *.tile.jsonc";
    else if (wanted[0] == '`' && wanted[1] == ',' && s->p[s->i] && strchr("\"[{", s->p[s->i]))
        help = "a comma is missing before it";
    tp_raise(s->c, TP_RULE_SPEC_STRUCTURE, span(s->i, end, pointer), help, "found `%.*s` where %s is expected",
             TP_FMT(word), wanted);
}

/* Raw extent of the string at s->i, quotes included. */
static tp_loc scan_string(scanner *s, tp_str pointer)
{
    uint32_t from = s->i++;
    while (s->i < s->n && s->p[s->i] != '"') {
        bool ends_line = s->p[s->i] == '\n' || (s->p[s->i] == '\r' && s->i + 1 < s->n && s->p[s->i + 1] == '\n');
        if ((s->p[s->i] == '\n' || s->p[s->i] == '\r' || s->p[s->i] == '\t') && !(s->comments && ends_line))
            tp_raise(s->c, TP_RULE_SPEC_STRUCTURE, span(s->i, s->i + 1, pointer),
                     "write \\n or \\t, or close the string", "a raw %s inside a string",
                     s->p[s->i] == '\t' ? "tab" : "line break");
        if (s->p[s->i] == '\\') {
            s->i++;
            if (s->i >= s->n)
                break;
            if (!strchr("\"\\/bfnrtu", s->p[s->i]))
                tp_raise(s->c, TP_RULE_SPEC_STRUCTURE, span(s->i - 1, s->i + 1, pointer), "write \\\\ for a backslash",
                         "unknown escape after `\\`");
        }
        s->i++;
    }
    if (s->i >= s->n)
        tp_raise(s->c, TP_RULE_SPEC_STRUCTURE, span(from, from + 1, pointer), "the file may be cut off",
                 "this string never ends");
    s->i++;
    return span(from, s->i, pointer);
}

/* Four hexadecimal digits at p, of which `n` bytes are there. */
static bool hex_unit(const char *p, uint32_t n, uint32_t *unit)
{
    *unit = 0;
    for (uint32_t i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef0123456789ABCDEF", *at = i < n && p[i] ? strchr(digits, p[i]) : NULL;
        if (!at)
            return false;
        *unit = *unit << 4 | (uint32_t)((at - digits) & 15);
    }
    return true;
}

static size_t put_utf8(char *to, uint32_t code)
{
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char LEAD[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)(LEAD[n] | code);
    return n;
}

/* The character after "\u"; halves of surrogate pairs are none. Bytes used, 0: it is wrong. */
static uint32_t unicode_escape(const char *p, uint32_t n, uint32_t *code)
{
    uint32_t low;
    if (!hex_unit(p, n, code))
        return 0;
    if (*code < 0xd800 || *code > 0xdfff)
        return 4;
    if (*code >= 0xdc00 || n < 10 || p[4] != '\\' || p[5] != 'u' || !hex_unit(p + 6, n - 6, &low) || low < 0xdc00 ||
        low > 0xdfff)
        return 0;
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return 10;
}

/* The raw string, without its quotes, whose escapes scan_string() has seen. */
static bool decode(const char *p, uint32_t n, char *to, size_t *len)
{
    static const char LETTERS[] = "bfnrt", MEANT[] = "\b\f\n\r\t";
    *len = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t code, used;
        if (p[i] != '\\') {
            to[(*len)++] = p[i];
        } else if (p[++i] != 'u') {
            const char *at = strchr(LETTERS, p[i]);
            to[(*len)++] = at ? MEANT[at - LETTERS] : p[i];
        } else {
            if (!(used = unicode_escape(p + i + 1, n - i - 1, &code)))
                return false;
            *len += put_utf8(to + *len, code);
            i += used;
        }
    }
    return true;
}

static tp_str decode_string(scanner *s, tp_loc loc)
{
    const char *raw = s->p + loc.start + 1;
    uint32_t n = loc.end - loc.start - 2;
    size_t len;
    if (!memchr(raw, '\\', n)) /* nothing to decode */
        return (tp_str){raw, n};
    char *copy = tp_alloc(s->c->arena, n + 1); /* escapes are longer than what they mean */
    if (!decode(raw, n, copy, &len))
        tp_raise(s->c, TP_RULE_SPEC_STRUCTURE, loc, "\\u takes four hexadecimal digits, surrogates in pairs",
                 "this string has a bad escape");
    if (memchr(copy, '\0', len))
        tp_raise(s->c, TP_RULE_SPEC_STRUCTURE, loc, NULL, "this string has a NUL character");
    return (tp_str){copy, len};
}

static tp_str child_pointer(scanner *s, tp_str parent, tp_str key)
{
    tp_buf b = {.arena = s->c->arena};
    tp_buf_str(&b, parent);
    tp_buf_c(&b, "/");
    for (size_t i = 0; i < key.n; i++) {
        if (key.p[i] == '~')
            tp_buf_c(&b, "~0");
        else if (key.p[i] == '/')
            tp_buf_c(&b, "~1");
        else
            tp_buf_add(&b, key.p + i, 1);
    }
    return tp_buf_view(&b);
}

static const char *skip_digits(const char *p)
{
    return p + strspn(p, "0123456789");
}

/* digits, a fraction, an exponent, each with a digit; no zero before other digits */
static bool is_real(const char *p)
{
    const char *end = skip_digits(p += *p == '-');
    bool good = end > p && (*p != '0' || end == p + 1);
    if (*end == '.') {
        good &= skip_digits(end + 1) > end + 1;
        end = skip_digits(end + 1);
    }
    if (*end == 'e' || *end == 'E') {
        p = end + 1 + (end[1] == '+' || end[1] == '-');
        end = skip_digits(p);
        good &= end > p;
    }
    return good && !*end;
}

static void scan_number(scanner *s, tp_json *v)
{
    uint32_t from = s->i;
    bool real = false;
    while (s->i < s->n && s->p[s->i] && strchr("+-.eE0123456789", s->p[s->i])) {
        real |= strchr(".eE", s->p[s->i]) != NULL;
        s->i++;
    }
    v->loc = span(from, s->i, v->loc.pointer);
    const char *text = tp_cstr(s->c->arena, (tp_str){s->p + from, s->i - from});
    const char *digits = text + (*text == '-');
    bool good = !digits[strspn(digits, "0123456789")] && (digits[0] != '0' || !digits[1]);
    if (real && (good = is_real(text)))
        v->u.real = tp_real(text);
    if (!good)
        tp_raise(s->c, TP_RULE_SPEC_STRUCTURE, v->loc, "JSON numbers look like 12, -3 or 1.5e3", "`%s` is not a number",
                 text);
    v->type = real ? TP_J_REAL : TP_J_INT;
    if (real && !isfinite(v->u.real))
        tp_raise(s->c, TP_RULE_SPEC_STRUCTURE, v->loc, NULL, "`%s` is too large for a double", text);
    if (real)
        return;
    errno = 0;
    v->u.integer = strtoll(text, NULL, 10);
    if (errno == ERANGE)
        tp_raise(s->c, TP_RULE_SPEC_STRUCTURE, v->loc, NULL, "integer `%s` does not fit 64 bits", text);
}

static tp_json *scan_value(scanner *s, tp_str pointer);

static void check_duplicate(scanner *s, tp_json **items, uint32_t n, tp_str key, tp_loc loc)
{
    if (n >= TP_JSON_MAX_KEYS)
        tp_raise(s->c, TP_RULE_SPEC_STRUCTURE, loc, NULL, "an object with more than %d keys", TP_JSON_MAX_KEYS);
    for (uint32_t i = 0; i < n; i++)
        if (tp_str_eq(items[i]->key, key)) {
            tp_linecol first = tp_linecol_of(s->c->source, items[i]->key_loc.start);
            tp_raise(s->c, TP_RULE_SPEC_STRUCTURE, loc, "remove one of the two",
                     "key \"%.*s\" appears twice; the first is at line %u, column %u", TP_FMT(key), first.line,
                     first.column);
        }
}

static void scan_items(scanner *s, tp_json *v, char close)
{
    bool object = close == '}';
    TP_VEC(tp_json *) items = {0};
    uint32_t open = s->i++;
    if (++s->depth > TP_JSON_MAX_DEPTH)
        tp_raise(s->c, TP_RULE_SPEC_STRUCTURE, span(open, open + 1, v->loc.pointer), NULL,
                 "nested more than %d levels deep", TP_JSON_MAX_DEPTH);
    skip_space(s);
    while (s->i >= s->n || s->p[s->i] != close || items.len) {
        tp_json *item;
        if (object) {
            if (s->i >= s->n || s->p[s->i] != '"')
                raise_unexpected(s, v->loc.pointer, items.len ? "a key" : "a key or `}`");
            tp_loc kloc = scan_string(s, v->loc.pointer);
            tp_str key = decode_string(s, kloc);
            check_duplicate(s, items.at, items.len, key, kloc);
            skip_space(s);
            if (s->i >= s->n || s->p[s->i] != ':')
                raise_unexpected(s, v->loc.pointer, "`:`");
            s->i++;
            item = scan_value(s, child_pointer(s, v->loc.pointer, key));
            item->key = key;
            item->key_loc = kloc;
        } else {
            item = scan_value(s, tp_printf(s->c->arena, "%.*s/%u", TP_FMT(v->loc.pointer), items.len));
        }
        tp_push(s->c->arena, items, item);
        skip_space(s);
        if (s->i < s->n && s->p[s->i] == ',') {
            s->i++;
            skip_space(s);
            if (s->i < s->n && s->p[s->i] == close)
                raise_unexpected(s, v->loc.pointer, object ? "a key" : "a value");
        } else if (s->i < s->n && s->p[s->i] == close) {
            break;
        } else {
            raise_unexpected(s, v->loc.pointer, object ? "`,` or `}`" : "`,` or `]`");
        }
    }
    s->i++;
    s->depth--;
    v->type = object ? TP_J_OBJECT : TP_J_ARRAY;
    v->u.items.at = items.at;
    v->u.items.n = items.len;
    v->loc.end = s->i;
}

static tp_json *scan_value(scanner *s, tp_str pointer)
{
    static const struct {
        const char *word;
        tp_json_type type;
        bool value;
    } WORDS[] = {{"null", TP_J_NULL, false}, {"true", TP_J_BOOL, true}, {"false", TP_J_BOOL, false}};
    skip_space(s);
    if (++s->values > TP_JSON_MAX_VALUES)
        tp_raise(s->c, TP_RULE_SPEC_STRUCTURE, span(s->i, s->i + 1, pointer), NULL, "more than %d JSON values",
                 TP_JSON_MAX_VALUES);
    tp_json *v = TP_NEW(s->c->arena, tp_json);
    v->loc = span(s->i, s->i + 1, pointer);
    if (s->i >= s->n)
        raise_unexpected(s, pointer, "a value");
    char ch = s->p[s->i];
    if (ch == '{' || ch == '[') {
        scan_items(s, v, ch == '{' ? '}' : ']');
        return v;
    }
    if (ch == '"') {
        v->type = TP_J_STRING;
        v->loc = scan_string(s, pointer);
        v->u.string = decode_string(s, v->loc);
        return v;
    }
    if ((ch >= '0' && ch <= '9') || (ch == '-' && s->i + 1 < s->n && s->p[s->i + 1] >= '0' && s->p[s->i + 1] <= '9')) {
        scan_number(s, v);
        return v;
    }
    for (size_t w = 0; w < 3; w++) {
        size_t n = strlen(WORDS[w].word);
        if (s->n - s->i >= n && memcmp(s->p + s->i, WORDS[w].word, n) == 0) {
            v->type = WORDS[w].type;
            v->u.boolean = WORDS[w].value;
            s->i += (uint32_t)n;
            v->loc.end = s->i;
            return v;
        }
    }
    raise_unexpected(s, pointer, "a value");
}

tp_json *tp_json_parse(tp_ctx *c, bool comments)
{
    tp_str text = c->source->text;
    scanner s = {.c = c, .p = text.p, .n = (uint32_t)tp_source_main(c->source), .comments = comments};
    check_text(&s, text);
    if (comments) {
        char *copy = tp_alloc(c->arena, text.n + 1);
        memcpy(copy, text.p, text.n);
        blank_comments(c, copy, s.n);
        s.p = copy;
    }
    if (s.n >= 3 && memcmp(s.p, "\xef\xbb\xbf", 3) == 0)
        s.i = 3;
    tp_json *v = scan_value(&s, TP_S(""));
    skip_space(&s);
    if (s.i < s.n)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, span(s.i, s.i + 1, TP_S("")), NULL,
                 "more text after the end of the JSON value");
    return v;
}

/* Bytes of the source from which the decoded character at t[i] comes, and how many it gives. */
static uint32_t raw_length(const char *t, uint32_t i, bool verbatim, uint32_t *bytes)
{
    *bytes = 1;
    if (verbatim || t[i] != '\\')
        return 1;
    if (t[i + 1] != 'u')
        return 2;
    unsigned long code = strtoul((char[]){t[i + 2], t[i + 3], t[i + 4], t[i + 5], 0}, NULL, 16);
    bool pair = code >= 0xd800 && code < 0xdc00;
    *bytes = pair ? 4 : code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
    return pair ? 12 : 6;
}

tp_loc tp_json_inside(const tp_ctx *c, const tp_json *string, size_t from, size_t to)
{
    const char *t = c->source->text.p;
    uint32_t i = string->loc.start + 1, start = i, end = i, bytes;
    size_t room = string->loc.end - 1 > i ? string->loc.end - 1 - i : 0, most = to < room ? to : room, decoded = 0;
    if (string->verbatim || !memchr(t + i, '\\', most)) { /* as it lies */
        start += (uint32_t)(from < most ? from : most);
        end += (uint32_t)most;
        decoded = to;
    }
    for (; i < string->loc.end - 1 && decoded < to; decoded += bytes) {
        if (decoded <= from)
            start = i;
        i += raw_length(t, i, string->verbatim, &bytes);
        end = i;
        if (decoded + bytes <= from)
            start = i;
    }
    if (end <= start)
        end = start + 1;
    return (tp_loc){start, end, string->loc.pointer};
}

tp_loc tp_json_place(const tp_json *v)
{
    return v->part ? (tp_loc){v->loc.start + 1, v->loc.end - 1, v->loc.pointer} : v->loc;
}

tp_json *tp_json_lines(tp_ctx *c, const tp_json *string)
{
    const char *t = c->source->text.p;
    tp_str all = string->u.string;
    TP_VEC(tp_json *) lines = {0};
    uint32_t raw = string->loc.start + 1, bytes;
    for (size_t i = 0; i <= all.n; i++) {
        size_t from = i;
        uint32_t begin = raw;
        for (; i < all.n && all.p[i] != '\n'; i += bytes)
            raw += raw_length(t, raw, string->verbatim, &bytes);
        size_t to = i > from && all.p[i - 1] == '\r' ? i - 1 : i;
        tp_json *line = TP_NEW(c->arena, tp_json);
        *line = (tp_json){.type = TP_J_STRING,
                          .loc = {begin - 1, raw + 1, string->loc.pointer},
                          .verbatim = string->verbatim,
                          .part = true};
        line->u.string = (tp_str){all.p + from, to - from};
        tp_push(c->arena, lines, line);
        if (i < all.n)
            raw += raw_length(t, raw, string->verbatim, &bytes);
    }
    tp_json *out = TP_NEW(c->arena, tp_json);
    *out = *string;
    out->type = TP_J_ARRAY;
    out->u.items.at = lines.at;
    out->u.items.n = lines.len;
    out->u.items.indented = true;
    return out;
}
