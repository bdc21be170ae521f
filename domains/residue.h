/* Pairs of residues: a 64-bit word holds one modulo q in its upper half and
 * one modulo p = 2 q + 1 in the lower one. */
#ifndef TP_RESIDUE_H
#define TP_RESIDUE_H

#include "base/assert.h"
#include "domains/domain.h"

enum { TP_P = TP_FIELD_P, TP_Q = TP_FIELD_Q };

static inline uint64_t tp_word(uint64_t q, uint64_t p)
{
    return q << 32 | p;
}

static inline uint64_t tp_q_of(uint64_t w)
{
    return w >> 32;
}

static inline uint64_t tp_p_of(uint64_t w)
{
    return w & 0xffffffff;
}

/* Halves below their primes, or unknown. Strips compute on unknown words too, and
 * put what comes out aside: only results are words. */
static inline bool tp_is_word(uint64_t w)
{
    return w == TP_FIELD_UNKNOWN || (tp_q_of(w) < TP_Q && tp_p_of(w) < TP_P);
}

static inline uint64_t tp_residue_add(uint64_t x, uint64_t y)
{
    uint64_t q = tp_q_of(x) + tp_q_of(y), p = tp_p_of(x) + tp_p_of(y);
    return tp_word(q >= TP_Q ? q - TP_Q : q, p >= TP_P ? p - TP_P : p);
}

static inline uint64_t tp_residue_negative(uint64_t x)
{
    return tp_word(tp_q_of(x) ? TP_Q - tp_q_of(x) : 0, tp_p_of(x) ? TP_P - tp_p_of(x) : 0);
}

/* x modulo q = 2^29 + 399 and p = 2^30 + 799, for x below 2^62: two folds at
 * that bit, lifted over zero by multiples of the prime, and one subtraction;
 * the products with 399 and 799 by shifts, which vectors do faster. */
static inline uint64_t tp_fold_q(uint64_t x)
{
    uint64_t low = (1u << 29) - 1, high = x >> 29;
    x = (x & low) + ((uint64_t)TP_Q << 14) - ((high << 8) + (high << 7) + (high << 4) - high);
    high = x >> 29;
    x = (x & low) + TP_Q - ((high << 8) + (high << 7) + (high << 4) - high);
    return x >= TP_Q ? x - TP_Q : x;
}

static inline uint64_t tp_fold_p(uint64_t x)
{
    uint64_t low = (1u << 30) - 1, high = x >> 30;
    x = (x & low) + ((uint64_t)TP_P << 14) - ((high << 9) + (high << 8) + (high << 5) - high);
    high = x >> 30;
    x = (x & low) + TP_P - ((high << 9) + (high << 8) + (high << 5) - high);
    return x >= TP_P ? x - TP_P : x;
}

static inline uint64_t tp_residue_multiply(uint64_t x, uint64_t y)
{
    return tp_word(tp_fold_q(tp_q_of(x) * tp_q_of(y)), tp_fold_p(tp_p_of(x) * tp_p_of(y)));
}

/* splitmix64: Steele, Lea, Flood, OOPSLA 2014 */
static inline uint64_t tp_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A random function of three numbers. */
static inline uint64_t tp_random_word(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = tp_mix(tp_mix(tp_mix(a) ^ b) ^ c);
    return tp_word((tp_mix(h) >> 32) * TP_Q >> 32, (tp_mix(h ^ 0x70) >> 32) * TP_P >> 32);
}
/* Of c, c + step, c + 2 step, …: n of them. */
void tp_random_words(uint64_t a, uint64_t b, uint64_t c, uint64_t step, size_t n, uint64_t *r);

/* base^e modulo q and modulo p, each half for itself. */
uint64_t tp_residue_power(uint64_t base, uint64_t e);
/* One over x, which is 0 modulo neither prime; a half that is 0 stays 0. */
uint64_t tp_residue_inverse(uint64_t x);
/* Residue of a finite double, a fraction with a power of two below; 0 for others. */
uint64_t tp_residue_of(double x);

/* n words; what is TP_FIELD_UNKNOWN in an operand is unknown in the result,
 * which lies apart from the operands. */
void tp_residues_add(size_t n, const uint64_t *x, const uint64_t *y, uint64_t *r);
void tp_residues_subtract(size_t n, const uint64_t *x, const uint64_t *y, uint64_t *r);
void tp_residues_multiply(size_t n, const uint64_t *x, const uint64_t *y, uint64_t *r);
void tp_residues_multiply_p(size_t n, const uint64_t *x, const uint64_t *y,
                            uint64_t *r); /* the lower halves; 0 above */
/* Words apart: the upper halves, the lower ones; false: some are unknown. And together; q: NULL: 0. */
bool tp_residues_split(size_t n, const uint64_t *w, uint64_t *q, uint64_t *p);
void tp_residues_join(size_t n, const uint64_t *q, const uint64_t *p, uint64_t *w);
/* Sum; TP_FIELD_UNKNOWN when some word is. n below 2^31. */
uint64_t tp_residues_sum(size_t n, const uint64_t *x);

#endif
