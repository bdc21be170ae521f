/* Matrix products r[m][n] = a[m][k] b[k][n], r without gaps: of each element one term after the other in ascending k,
 * from 0. Of float32 a product and its sum are rounded once, together (fma, IEEE 754-2008, 5.4.1), of others each for
 * itself. The result does not depend on the instruction set. r does not overlap. With `onto`, which lies as r does,
 * onto[m][n] becomes base[m][n], which may be the same memory, plus the element of the product, and r holds nothing in
 * particular. `ahead`, or NULL: all of it is asked for beside the work, evenly.
 *
 * bfloat16, whose products are exact in float32, is summed otherwise, as TDPBF16PS does it (Intel SDM 2): of each
 * TP_GROUP terms, in ascending order, the even ones have a sum and the odd ones, from 0, with fma; the sum of these two
 * is added to the element, from 0. */
#ifndef TP_MULTIPLY_H
#define TP_MULTIPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ahead.h"
#include "base/vectorised.h"

/* Two 16-bit integers, the first of them low: terms 2 t and 2 t + 1 of an element of a or b. An odd last one has a 0
 * beside it. */
typedef uint32_t tp_pair;
typedef uint64_t tp_modulo_p, tp_modulo_q;
/* The bits of a bfloat16, which are the upper half of a float32's; and that float32. */
typedef uint16_t tp_bfloat;
typedef float tp_widened;

enum { TP_GROUP = 32 }; /* terms */

/* Elements from a row of a matrix to the next, and from a column to the next; modulo 2^64 for those that lie before. */
typedef struct tp_steps {
    size_t row, column;
} tp_steps;

/* Are the 8-bit integers of a, and of b, signed? */
typedef struct tp_signs {
    bool a, b;
} tp_signs;

/* Room for an operand, packed for products with the same one, from a line of the cache on: of float32, and of bfloat16
 * as float32, for b, with k rows of so many elements as n and up to the next multiple of TP_WIDE. */
typedef struct tp_panels {
    void *at;
    bool filled; /* nobody looks at the operand itself then, but at one of float32 */
} tp_panels;

enum { TP_WIDE = 32 };

/* panels: NULL, or room for b, which may be filled afterwards */
typedef void tp_multiply_floats(size_t m, size_t n, size_t k, const float *a, tp_steps sa, const float *b, tp_steps sb,
                                float *r, const float *base, float *onto, tp_ahead *ahead, tp_panels *panels);

typedef struct tp_multiplier {
    const char *name; /* of the instruction set */
    bool (*runs_here)(void);
    tp_multiply_floats *f32;
    tp_multiply_floats *widened; /* of bfloat16s, in their order */
    void (*f64)(size_t m, size_t n, size_t k, const double *a, tp_steps sa, const double *b, tp_steps sb, double *r,
                const double *base, double *onto, tp_ahead *ahead);
    /* modulo 2^32 */
    void (*u32)(size_t m, size_t n, size_t k, const uint32_t *a, tp_steps sa, const uint32_t *b, tp_steps sb,
                uint32_t *r, const uint32_t *base, uint32_t *onto, tp_ahead *ahead);
    /* of elements below TP_FIELD_P, and below TP_FIELD_Q: a number below 2^47 which is the product modulo that */
    void (*p)(size_t m, size_t n, size_t k, const tp_modulo_p *a, tp_steps sa, const tp_modulo_p *b, tp_steps sb,
              tp_modulo_p *r, const tp_modulo_p *base, tp_modulo_p *onto, tp_ahead *ahead);
    void (*q)(size_t m, size_t n, size_t k, const tp_modulo_q *a, tp_steps sa, const tp_modulo_q *b, tp_steps sb,
              tp_modulo_q *r, const tp_modulo_q *base, tp_modulo_q *onto, tp_ahead *ahead);
    /* k pairs; r: sums */
    void (*pairs)(size_t m, size_t n, size_t k, const tp_pair *a, tp_steps sa, const tp_pair *b, tp_steps sb,
                  tp_pair *r, const tp_pair *base, tp_pair *onto, tp_ahead *ahead);
    /* 8-bit integers; r: sums modulo 2^32. `room` has tp_bytes_room() bytes. panels: NULL, or room for b, of
     * tp_bytes_panels() bytes. NULL: this set has no instruction for them. */
    void (*bytes)(size_t m, size_t n, size_t k, const uint8_t *a, tp_steps sa, const uint8_t *b, tp_steps sb,
                  tp_signs is_signed, uint32_t *r, const uint32_t *base, uint32_t *onto, tp_ahead *ahead, void *room,
                  tp_panels *panels);
    bool (*bytes_run_here)(void); /* where bytes are and the set runs */
    const char *bytes_by;         /* name of their instructions; NULL: none */
    /* The same numbers from their bits; `room` has tp_bfloats_room() bytes. rows, panels: NULL, or room for a, for b,
     * of tp_bfloats_panels() bytes. NULL: this set has no instruction for them. */
    void (*bfloats)(size_t m, size_t n, size_t k, const tp_bfloat *a, tp_steps sa, const tp_bfloat *b, tp_steps sb,
                    float *r, const float *base, float *onto, tp_ahead *ahead, void *room, tp_panels *rows,
                    tp_panels *panels);
    const char *bfloats_by; /* name of the instructions for bfloat16: its own, or those of float32 */
} tp_multiplier;

/* All of this build, the fastest first; the last runs everywhere. */
const tp_multiplier *tp_multipliers(size_t *n);
/* The fastest that runs on this processor. */
const tp_multiplier *tp_multiplier_here(void);

/* Terms without those at the end that are products of two numbers +0, but for some: one makes +0 of a sum that is -0,
 * and the others change nothing. Whole groups; elements of `size` bytes. */
size_t tp_terms_that_count(size_t size, size_t m, size_t n, size_t k, const void *a, tp_steps sa, const void *b,
                           tp_steps sb);
/* Of room for a product of 8-bit integers, from a word on; and for one of bfloat16s. */
size_t tp_bytes_room(size_t m, size_t n, size_t k);
size_t tp_bfloats_room(size_t m, size_t n, size_t k);
/* Of an operand that is packed: so many columns of bytes, or lines of bfloat16, of k terms. */
size_t tp_bytes_panels(size_t n, size_t k);
size_t tp_bfloats_panels(size_t lines, size_t k);
/* Without gaps; terms that are 0 on both sides at the end are left out, as they are of those below. */
void tp_multiply_f64(size_t m, size_t n, size_t k, const double *a, const double *b, double *r);
/* Modulo TP_FIELD_P, of elements below it. */
void tp_multiply_p(size_t m, size_t n, size_t k, const uint64_t *a, const uint64_t *b, uint64_t *r);
/* Modulo TP_FIELD_Q. */
void tp_multiply_q(size_t m, size_t n, size_t k, const uint64_t *a, const uint64_t *b, uint64_t *r);

#endif
