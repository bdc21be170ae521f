#include "cli/patch.h"

#include "base/vec.h"

typedef TP_VEC(tp_str) lines; /* with their newlines */

enum { CONTEXT = 3, MAX_TABLE = 4 << 20 };

static lines lines_of(tp_arena *a, tp_str text)
{
    lines l = {0};
    for (size_t i = 0, n; i < text.n; i += n) {
        const char *end = memchr(text.p + i, '\n', text.n - i);
        n = end ? (size_t)(end - text.p) - i + 1 : text.n - i;
        tp_push(a, l, ((tp_str){text.p + i, n}));
    }
    return l;
}

/* A run of old lines [old, old + removed) that became [now, now + added). */
typedef struct change {
    uint32_t old, removed, now, added;
} change;
typedef TP_VEC(change) changes;

static void note(tp_arena *a, changes *list, uint32_t old, uint32_t now, bool removed)
{
    change *last = list->len ? &list->at[list->len - 1] : NULL;
    if (!last || last->old + last->removed != old || last->now + last->added != now) {
        tp_push(a, *list, ((change){.old = old, .now = now}));
        last = &list->at[list->len - 1];
    }
    last->removed += removed;
    last->added += !removed;
}

/* Longest common subsequence between the common head and tail; texts that
 * differ too widely change as one block. */
static changes compare(tp_arena *a, const lines *x, const lines *y)
{
    changes list = {0};
    uint32_t head = 0, n = x->len, m = y->len;
    while (head < n && head < m && tp_str_eq(x->at[head], y->at[head]))
        head++;
    while (n > head && m > head && tp_str_eq(x->at[n - 1], y->at[m - 1])) {
        n--;
        m--;
    }
    uint32_t rows = n - head + 1, columns = m - head + 1;
    if ((uint64_t)rows * columns > MAX_TABLE) {
        tp_push(a, list, ((change){head, n - head, head, m - head}));
        return list;
    }
    uint32_t *common = TP_NEWN(a, uint32_t, (size_t)rows * columns); /* of the rests from i and k */
    for (uint32_t i = rows - 1; i-- > 0;)
        for (uint32_t k = columns - 1; k-- > 0;) {
            uint32_t down = common[(i + 1) * columns + k], right = common[i * columns + k + 1];
            bool same = tp_str_eq(x->at[head + i], y->at[head + k]);
            common[i * columns + k] = same ? common[(i + 1) * columns + k + 1] + 1 : down > right ? down : right;
        }
    for (uint32_t i = 0, k = 0; i + 1 < rows || k + 1 < columns;) {
        if (i + 1 < rows && k + 1 < columns && tp_str_eq(x->at[head + i], y->at[head + k])) {
            i++;
            k++;
        } else if (i + 1 < rows && (k + 1 == columns || common[(i + 1) * columns + k] >= common[i * columns + k + 1])) {
            note(a, &list, head + i++, head + k, true);
        } else {
            note(a, &list, head + i, head + k++, false);
        }
    }
    return list;
}

static void print_lines(FILE *out, char sign, const lines *l, uint32_t from, uint32_t n)
{
    for (uint32_t i = from; i < from + n; i++) {
        fprintf(out, "%c%.*s", sign, TP_FMT(l->at[i]));
        if (l->at[i].p[l->at[i].n - 1] != '\n')
            fprintf(out, "\n\\ No newline at end of file\n");
    }
}

/* Changes [from, to), which share their context. */
static void print_hunk(FILE *out, const lines *x, const lines *y, const change *c, uint32_t from, uint32_t to)
{
    const change *last = &c[to - 1];
    uint32_t before = c[from].old < CONTEXT ? c[from].old : CONTEXT, end = last->old + last->removed;
    uint32_t after = x->len - end < CONTEXT ? x->len - end : CONTEXT, start = c[from].old - before;
    uint32_t now = c[from].now - before, nold = end + after - start, nnew = last->now + last->added + after - now;
    fprintf(out, "@@ -%u,%u +%u,%u @@\n", nold ? start + 1 : start, nold, nnew ? now + 1 : now, nnew);
    for (uint32_t i = from; i < to; i++) {
        print_lines(out, ' ', x, start, c[i].old - start);
        print_lines(out, '-', x, c[i].old, c[i].removed);
        print_lines(out, '+', y, c[i].now, c[i].added);
        start = c[i].old + c[i].removed;
    }
    print_lines(out, ' ', x, start, after);
}

/* Quoted as git and patch read it, where it holds what would end the line. */
static tp_str name_in_patch(tp_arena *a, tp_str path)
{
    tp_buf b = {.arena = a};
    if (tp_visible(a, path).p == path.p && !memchr(path.p, '"', path.n) && !memchr(path.p, '\\', path.n))
        return path;
    tp_buf_c(&b, "\"");
    for (size_t i = 0; i < path.n; i++) {
        unsigned char c = (unsigned char)path.p[i];
        bool plain = c >= ' ' && c < 127 && c != '"' && c != '\\';
        if (plain)
            tp_buf_add(&b, &path.p[i], 1);
        else
            tp_buf_printf(&b, "\\%03o", (unsigned)c);
    }
    tp_buf_c(&b, "\"");
    return tp_buf_view(&b);
}

void tp_write_patch(tp_arena *a, tp_str path, tp_str old, tp_str new, FILE *out)
{
    lines x = lines_of(a, old), y = lines_of(a, new);
    changes c = compare(a, &x, &y);
    tp_str quoted = name_in_patch(a, path);
    if (c.len)
        fprintf(out, "--- %.*s\n+++ %.*s\n", TP_FMT(quoted), TP_FMT(quoted));
    for (uint32_t i = 0, to; i < c.len; i = to) {
        for (to = i + 1; to < c.len && c.at[to].old - (c.at[to - 1].old + c.at[to - 1].removed) <= 2 * CONTEXT; to++)
            ;
        print_hunk(out, &x, &y, c.at, i, to);
    }
}
