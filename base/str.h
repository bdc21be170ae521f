/* String views (pointer, length; never owned) and a growing text buffer. */
#ifndef TP_STR_H
#define TP_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

typedef struct tp_str {
    const char *p;
    size_t n;
} tp_str;

#define TP_S(literal) ((tp_str){(literal), sizeof(literal) - 1})
#define TP_FMT(s) (int)(s).n, (s).p /* for "%.*s" */

static inline tp_str tp_str_c(const char *c)
{
    return (tp_str){c, strlen(c)};
}

static inline bool tp_str_eq(tp_str a, tp_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool tp_str_is(tp_str a, const char *c)
{
    return tp_str_eq(a, tp_str_c(c));
}

/* Text on an arena; always NUL-terminated. */
typedef struct tp_buf {
    tp_arena *arena;
    char *p;
    size_t n, cap;
} tp_buf;

void tp_buf_add(tp_buf *b, const char *p, size_t n);
void tp_buf_str(tp_buf *b, tp_str s);
void tp_buf_c(tp_buf *b, const char *c);
void tp_buf_printf(tp_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tp_buf_vprintf(tp_buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Append `s` as a JSON string with its quotes. */
void tp_buf_json(tp_buf *b, tp_str s);
static inline tp_str tp_buf_view(const tp_buf *b)
{
    return (tp_str){b->p ? b->p : "", b->n};
}

/* The number that the digits spell, whatever the program's locale; as strtod(). */
double tp_real(const char *digits);
/* Formatted text on the arena. */
tp_str tp_printf(tp_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
tp_str tp_vprintf(tp_arena *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Takes the next item off a list with that separator; false: the list is empty. */
bool tp_list_next(tp_str *list, const char *separator, tp_str *item);
/* The line that begins at `from`, without its end. */
static inline tp_str tp_line_from(tp_str text, size_t from)
{
    const char *end = from < text.n ? memchr(text.p + from, '\n', text.n - from) : NULL;
    return (tp_str){text.p + from, end ? (size_t)(end - text.p) - from : text.n - from};
}
/* NUL-terminated copy on the arena. */
const char *tp_cstr(tp_arena *a, tp_str s);

/* Length of the UTF-8 sequence at s.p[at] and its code point; 0 when invalid. */
size_t tp_utf8(tp_str s, size_t at, uint32_t *code);
/* Text that is safe on a terminal and in one line: control, bidirectional and
 * zero-width characters become \u{202e}, invalid bytes \xff. Returns `s` itself
 * when there is nothing to do. */
tp_str tp_visible(tp_arena *a, tp_str s);
/* The same for what begins a line: a "::" or "##[" there, which runners of CI take for a command, is spelled out. */
tp_str tp_visible_line(tp_arena *a, tp_str s);

/* The candidate nearest to `word` by edit distance and not `word` itself, of several one that begins with it, or
 * {NULL,0} when none is near enough to be what the user meant. */
tp_str tp_nearest(tp_str word, const tp_str *candidates, size_t n);
/* The help for a name that is not known: "did you mean `near`?", between such marks; `otherwise` where none is near. */
const char *tp_did_you_mean(tp_arena *a, tp_str near, const char *mark, const char *otherwise);

#endif
