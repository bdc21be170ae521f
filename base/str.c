#define _POSIX_C_SOURCE 200809L /* locales of a thread */
#include "base/str.h"
#include "base/assert.h"

#include <ctype.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

void tp_buf_add(tp_buf *b, const char *p, size_t n)
{
    tp_assert(b->p ? b->n < b->cap : !b->n && !b->cap); /* there is room for the NUL */
    if (b->n + n + 1 > b->cap) {
        size_t cap = b->cap ? b->cap * 2 : 128;
        while (cap < b->n + n + 1)
            cap *= 2;
        char *q = tp_alloc(b->arena, cap);
        if (b->n)
            memcpy(q, b->p, b->n);
        b->p = q;
        b->cap = cap;
    }
    if (n)
        memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = '\0';
}

void tp_buf_str(tp_buf *b, tp_str s)
{
    tp_buf_add(b, s.p, s.n);
}

void tp_buf_c(tp_buf *b, const char *c)
{
    tp_buf_add(b, c, strlen(c));
}

/* Numbers look the same in every program that uses the library: 0.5, never 0,5. */
static locale_t c_locale;

static void open_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t enter_c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_c_locale);
    return uselocale(c_locale);
}

double tp_real(const char *digits)
{
    locale_t before = enter_c_locale();
    double v = strtod(digits, NULL);
    uselocale(before);
    return v;
}

__attribute__((format(printf, 3, 0))) static int format(char *to, size_t n, const char *fmt, va_list ap)
{
    locale_t before = enter_c_locale();
    int length = vsnprintf(to, n, fmt, ap);
    uselocale(before);
    return length;
}

void tp_buf_vprintf(tp_buf *b, const char *fmt, va_list ap)
{
    char small[256];
    va_list again;
    va_copy(again, ap);
    int n = format(small, sizeof small, fmt, ap);
    if (n > 0 && (size_t)n < sizeof small) {
        tp_buf_add(b, small, (size_t)n);
    } else if (n > 0) {
        char *big = tp_alloc(b->arena, (size_t)n + 1);
        format(big, (size_t)n + 1, fmt, again);
        tp_buf_add(b, big, (size_t)n);
    }
    va_end(again);
}

void tp_buf_printf(tp_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tp_buf_vprintf(b, fmt, ap);
    va_end(ap);
}

size_t tp_utf8(tp_str s, size_t at, uint32_t *code)
{
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s.p + at;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (n == 0 || n > s.n - at)
        return 0;
    uint32_t c = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));
    for (size_t k = 1; k < n; k++) {
        if ((p[k] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[k] & 0x3fu);
    }
    *code = c;
    bool surrogate = c >= 0xd800 && c <= 0xdfff;
    return c >= LEAST[n] && !surrogate && c <= 0x10ffff ? n : 0;
}

static bool is_invisible(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

tp_str tp_visible(tp_arena *a, tp_str s)
{
    tp_buf b = {.arena = a};
    uint32_t code = 0;
    size_t clean = 0;
    for (size_t i = 0, n; i < s.n; i += n ? n : 1) {
        n = tp_utf8(s, i, &code);
        if (n && !is_invisible(code))
            continue;
        tp_buf_add(&b, s.p + clean, i - clean);
        if (n)
            tp_buf_printf(&b, "\\u{%x}", (unsigned)code);
        else
            tp_buf_printf(&b, "\\x%02x", (unsigned)(unsigned char)s.p[i]);
        clean = i + (n ? n : 1);
    }
    if (clean == 0)
        return s;
    tp_buf_add(&b, s.p + clean, s.n - clean);
    return tp_buf_view(&b);
}

tp_str tp_visible_line(tp_arena *a, tp_str s)
{
    size_t at = 0;
    s = tp_visible(a, s);
    while (at < s.n && s.p[at] == ' ')
        at++;
    tp_str rest = {s.p + at, s.n - at};
    bool command = (rest.n >= 2 && memcmp(rest.p, "::", 2) == 0) || (rest.n >= 3 && memcmp(rest.p, "##[", 3) == 0);
    return command ? tp_printf(a, "%.*s\\u{%x}%.*s", (int)at, s.p, (unsigned)rest.p[0], (int)(rest.n - 1), rest.p + 1)
                   : s;
}

void tp_buf_json(tp_buf *b, tp_str s)
{
    tp_buf_c(b, "\"");
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '"' || c == '\\')
            tp_buf_printf(b, "\\%c", c);
        else if (c == '\n')
            tp_buf_c(b, "\\n");
        else if (c == '\t')
            tp_buf_c(b, "\\t");
        else if (c < 0x20 || c == 0x7f)
            tp_buf_printf(b, "\\u%04x", c);
        else
            tp_buf_add(b, s.p + i, 1);
    }
    tp_buf_c(b, "\"");
}

tp_str tp_vprintf(tp_arena *a, const char *fmt, va_list ap)
{
    tp_buf b = {.arena = a};
    tp_buf_vprintf(&b, fmt, ap);
    return tp_buf_view(&b);
}

tp_str tp_printf(tp_arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tp_str s = tp_vprintf(a, fmt, ap);
    va_end(ap);
    return s;
}

bool tp_list_next(tp_str *list, const char *separator, tp_str *item)
{
    if (list->n == 0)
        return false;
    size_t n = 0, width = strlen(separator);
    while (n < list->n && (n + width > list->n || memcmp(list->p + n, separator, width) != 0))
        n++;
    size_t next = n < list->n ? n + width : n;
    *item = (tp_str){list->p, n};
    *list = (tp_str){list->p + next, list->n - next};
    return true;
}

const char *tp_cstr(tp_arena *a, tp_str s)
{
    char *c = tp_alloc(a, s.n + 1);
    if (s.n)
        memcpy(c, s.p, s.n);
    return c;
}

/* Levenshtein distance with case differences at no cost; words over 63 bytes
 * are not compared. */
static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t distance(tp_str a, tp_str b)
{
    enum { MAX = 64 };
    size_t rows[3][MAX + 1], *before = rows[0], *last = rows[1], *row = rows[2];
    if (a.n > MAX || b.n > MAX)
        return MAX;
    for (size_t j = 0; j <= b.n; j++)
        last[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t d = last[j - 1] + !same_letter(a.p[i - 1], b.p[j - 1]);
            if (last[j] + 1 < d)
                d = last[j] + 1;
            if (row[j - 1] + 1 < d)
                d = row[j - 1] + 1;
            if (i > 1 && j > 1 && same_letter(a.p[i - 1], b.p[j - 2]) && same_letter(a.p[i - 2], b.p[j - 1]) &&
                before[j - 2] + 1 < d)
                d = before[j - 2] + 1; /* two letters the wrong way round */
            row[j] = d;
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[b.n];
}

static bool begins(tp_str s, tp_str with)
{
    return with.n && s.n >= with.n && memcmp(s.p, with.p, with.n) == 0;
}

tp_str tp_nearest(tp_str word, const tp_str *candidates, size_t n)
{
    tp_str best = {NULL, 0};
    size_t limit = word.n / 3 + 1, best_distance = limit + 1;
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(word, candidates[i]);
        bool longer = d == best_distance && begins(candidates[i], word) && !begins(best, word);
        if (d > 0 && (d < best_distance || longer) && d < candidates[i].n) {
            best_distance = d;
            best = candidates[i];
        }
    }
    return best;
}

const char *tp_did_you_mean(tp_arena *a, tp_str near, const char *mark, const char *otherwise)
{
    return near.n ? tp_printf(a, "did you mean %s%.*s%s?", mark, TP_FMT(near), mark).p : otherwise;
}
