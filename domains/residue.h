/* Pairs of residues: a 64-bit word holds one modulo q in its upper half and
 * one modulo p = 2 q + 1 in the lower one. */
#ifndef TP_RESIDUE_H
#define TP_RESIDUE_H

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

static inline uint64_t tp_residue_add(uint64_t x, uint64_t y)
{
    uint64_t q = tp_q_of(x) + tp_q_of(y), p = tp_p_of(x) + tp_p_of(y);
    return tp_word(q >= TP_Q ? q - TP_Q : q, p >= TP_P ? p - TP_P : p);
}

static inline uint64_t tp_residue_negative(uint64_t x)
{
    return tp_word(tp_q_of(x) ? TP_Q - tp_q_of(x) : 0, tp_p_of(x) ? TP_P - tp_p_of(x) : 0);
}

/* x modulo 2^bits + excess, for x below 2^62: two folds at that bit, lifted
 * over zero by multiples of the prime, and one subtraction; no division. */
static inline uint64_t tp_fold(uint64_t x, int bits, uint64_t excess)
{
    uint64_t modulus = ((uint64_t)1 << bits) + excess, low = ((uint64_t)1 << bits) - 1;
    x = (x & low) + (modulus << 14) - (x >> bits) * excess;
    x = (x & low) + modulus - (x >> bits) * excess;
    return x >= modulus ? x - modulus : x;
}

static inline uint64_t tp_fold_q(uint64_t x)
{
    return tp_fold(x, 29, TP_Q - (1 << 29));
}

static inline uint64_t tp_fold_p(uint64_t x)
{
    return tp_fold(x, 30, TP_P - (1 << 30));
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
/* Sum; TP_FIELD_UNKNOWN when some word is. n below 2^31. */
uint64_t tp_residues_sum(size_t n, const uint64_t *x);

#endif
