/* Memory that is looked at soon: asked for a little at a time beside other work, so that it comes while that runs.
 * Asking changes nothing but when it is there. */
#ifndef TP_AHEAD_H
#define TP_AHEAD_H

#include <stddef.h>
#include <stdint.h>

enum { TP_AHEAD_PARTS = 16, TP_AHEAD_LINE = 64 };

typedef struct tp_ahead_part {
    const char *at;
    ptrdiff_t pitch;    /* bytes from a row to the next */
    size_t rows, bytes; /* ... and those of a row */
} tp_ahead_part;

typedef struct tp_ahead {
    tp_ahead_part part[TP_AHEAD_PARTS];
    uint32_t n, now;  /* parts, and the one at hand: */
    size_t row, byte; /* what of it was asked for */
    size_t lines;     /* of the cache, in all parts */
} tp_ahead;

/* Ask for so many lines more, as far as there are. */
static inline void tp_ahead_ask(tp_ahead *a, size_t lines)
{
    while (lines && a->now < a->n) {
        const tp_ahead_part *p = &a->part[a->now];
        const char *row = p->at + (ptrdiff_t)a->row * p->pitch;
        for (; lines && a->byte < p->bytes; a->byte += TP_AHEAD_LINE, lines--)
            __builtin_prefetch(row + a->byte, 0, 2);
        if (a->byte < p->bytes)
            return;
        a->byte = 0;
        if (++a->row == p->rows) {
            a->row = 0;
            a->now++;
        }
    }
}

#endif
