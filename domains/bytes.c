/* Of a as unsigned integers, of b as signed ones; 128 more or less is added afterwards. */
#include "domains/bytes.h"

#include <string.h>

static size_t in_whole(size_t n, size_t part)
{
    return (n + part - 1) / part * part;
}

size_t tp_bytes_panels(size_t n, size_t k)
{
    return in_whole(n, TP_BYTE_LINES) * in_whole(k, TP_BYTES);
}

size_t tp_bytes_room(size_t m, size_t n, size_t k)
{
    return (in_whole(m, TP_BYTE_LINES) + in_whole(n, TP_BYTE_LINES)) * in_whole(k, TP_BYTES) +
           (n + k / 4 + 1) * sizeof(tp_quad) + TP_AHEAD_LINE;
}

/* What an operand's bytes are changed in: of each the highest bit, or none. */
static tp_quad highest(bool flip)
{
    return flip ? 0x80808080 : 0;
}

/* The last quad of a line, of some terms. */
static tp_quad last_of(const uint8_t *from, size_t term, size_t some, tp_quad high)
{
    tp_quad w = high & (((tp_quad)1 << 8 * some) - 1);
    for (size_t b = 0; b < some; b++)
        w ^= (tp_quad)from[b * term] << 8 * b;
    return w;
}

/* Four bytes, which are so far apart. */
static inline tp_quad joined(const uint8_t *p, size_t term)
{
    return (tp_quad)p[0] | (tp_quad)p[term] << 8 | (tp_quad)p[2 * term] << 16 | (tp_quad)p[3 * term] << 24;
}

/* Rows of k bytes as quads. */
TP_VECTORISED static void quad_rows(tp_quad *restrict to, const uint8_t *restrict from, tp_steps s, size_t rows,
                                    size_t k, bool flip)
{
    const tp_quad high = highest(flip);
    for (size_t i = 0; i < rows; i++, from += s.row) {
        for (size_t t = 0; t < k / 4 && s.column == 1; t++) {
            tp_quad w;
            memcpy(&w, from + 4 * t, sizeof w);
            to[t] = w ^ high;
        }
        for (size_t t = 0; t < k / 4 && s.column != 1; t++)
            to[t] = joined(from + 4 * t * s.column, s.column) ^ high;
        to += k / 4;
        if (k % 4)
            *to++ = last_of(from + k / 4 * 4 * s.column, s.column, k % 4, high);
    }
}

/* k rows of n bytes as rows of quads: each of four bytes below each other. */
TP_VECTORISED static void quad_columns(tp_quad *restrict to, const uint8_t *restrict from, tp_steps s, size_t k,
                                       size_t n, bool flip)
{
    const tp_quad high = highest(flip);
    size_t t = 0;
    for (; t + 4 <= k; t += 4, to += n, from += 4 * s.row) {
        for (size_t j = 0; j < n && s.column == 1; j++)
            to[j] = joined(from + j, s.row) ^ high;
        for (size_t j = 0; j < n && s.column != 1; j++)
            to[j] = joined(from + j * s.column, s.row) ^ high;
    }
    for (size_t j = 0; t < k && j < n; j++)
        to[j] = last_of(from + j * s.column, s.row, k - t, high);
}

TP_VECTORISED static void add_terms(uint32_t *restrict r, uint32_t of_row, const uint32_t *restrict of_column, size_t n)
{
    for (size_t j = 0; j < n; j++)
        r[j] += of_row - of_column[j];
}

/* What a and b differ from their quads by: a = quad - less, b = quad + more. */
typedef struct offsets {
    uint32_t less, more;
} offsets;

/* From sums over quads those over elements: (x - less) (y + more) = x y - less y + more x - less more. `room`: a word
 * for each column and each quad of a line. */
static void add_offsets(tp_multiply_quads *quads, offsets o, size_t m, size_t n, size_t k, const tp_quad *x,
                        const tp_quad *y, uint32_t *r, tp_quad *room)
{
    size_t terms = (k + 3) / 4;
    tp_quad *less = room + n;
    if (!o.less && !o.more)
        return;
    for (size_t t = 0; t < terms; t++)
        less[t] = o.less * 0x01010101;
    quads(1, n, terms, less, (tp_steps){terms, 1}, y, (tp_steps){n, 1}, room, NULL, NULL, NULL);
    for (size_t i = 0; i < m; i++, r += n) {
        uint32_t sum = 0;
        for (size_t t = 0; o.more && t < terms; t++)
            for (unsigned b = 0; b < 32; b += 8)
                sum += x[i * terms + t] >> b & 0xff;
        add_terms(r, o.more * (sum - (uint32_t)k * o.less), room, n);
    }
}

void tp_multiply_bytes(tp_multiply_quads *quads, size_t m, size_t n, size_t k, const uint8_t *a, tp_steps sa,
                       const uint8_t *b, tp_steps sb, tp_signs is_signed, uint32_t *r, const uint32_t *base,
                       uint32_t *onto, tp_ahead *ahead, void *room, tp_panels *panels)
{
    const offsets o = {is_signed.a ? 128 : 0, is_signed.b ? 0 : 128};
    const size_t terms = (k + 3) / 4;
    tp_quad *x = room, *next = x + m * terms, *y = panels ? panels->at : next;
    quad_rows(x, a, sa, m, k, o.less);
    if (!panels || !panels->filled)
        quad_columns(y, b, sb, k, n, o.more);
    quads(m, n, terms, x, (tp_steps){terms, 1}, y, (tp_steps){n, 1}, r, base, onto, ahead);
    add_offsets(quads, o, m, n, k, x, y, onto ? onto : r, panels ? next : y + terms * n);
    if (panels)
        panels->filled = true;
}
