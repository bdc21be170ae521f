/* Products of bfloat16 by instructions that multiply words of two terms, and take and give 0 for what is subnormal. */
#ifndef TP_BFLOATS_H
#define TP_BFLOATS_H

#include <stdbool.h>

#include "domains/multiply.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include "domains/blocks.h"

/* Words of a group: two for terms t to t + 3, t and t + 1 in the first and the others in the second; or, split, the
 * even ones in the first and the odd ones in the second, the later one low. The first term is low but there. */
typedef struct tp_bfloat_blocks {
    bool split;
    size_t depth; /* groups of one pass */
    /* Before the first and after the last call of `sums` of a product; or NULL. */
    void (*begin)(void);
    void (*end)(void);
    /* to = from + the products of some groups of a panel of a and one of b, of so many of BLOCK rows and columns; what
     * is behind these may get anything. */
    void (*sums)(const tp_pair *a, const tp_pair *b, size_t groups, size_t high, size_t wide, part_of from, part_of to,
                 beside other);
} tp_bfloat_blocks;

/* As `bfloats` of a tp_multiplier. `widened` multiplies what `by` would round otherwise. */
void tp_multiply_bfloats(const tp_bfloat_blocks *by, size_t m, size_t n, size_t k, const tp_bfloat *a, tp_steps sa,
                         const tp_bfloat *b, tp_steps sb, float *r, const float *base, float *onto, tp_ahead *ahead,
                         void *room, tp_panels *rows, tp_panels *panels, tp_multiply_floats *widened);

/* VDPBF16PS, where it is faster than float32 is, and sums in this order. */
bool tp_has_avx512_bf16(void);
extern const tp_bfloat_blocks TP_BFLOAT_WORDS;
#endif

#endif
