#include "domains/residue.h"

#include <math.h>

#include "domains/multiply.h"

uint64_t tp_residue_power(uint64_t base, uint64_t e)
{
    uint64_t r = tp_word(1, 1);
    for (; e; e >>= 1, base = tp_residue_multiply(base, base))
        if (e & 1)
            r = tp_residue_multiply(r, base);
    return r;
}

uint64_t tp_residue_inverse(uint64_t x)
{
    return tp_word(tp_q_of(tp_residue_power(x, TP_Q - 2)), tp_p_of(tp_residue_power(x, TP_P - 2)));
}

/* x / 2^bits modulo an odd prime below 2^31, for x below it and 1 <= bits <= 32; `lift` * prime is -1 modulo 2^32:
 * so many times the prime is added that the bits are 0 (Montgomery, Math. Comp. 44, 1985). */
static inline uint64_t shift_below(uint64_t x, unsigned bits, uint64_t prime, uint64_t lift)
{
    uint64_t r = (x + (x * lift & (((uint64_t)1 << bits) - 1)) * prime) >> bits;
    return r >= prime ? r - prime : r;
}

static const uint64_t LIFT_P = 4003350305, LIFT_Q = 709100177;

/* x / 2^n */
static uint64_t shift_right(uint64_t x, unsigned n)
{
    uint64_t q = tp_q_of(x), p = tp_p_of(x);
    for (unsigned bits; n; n -= bits) {
        bits = n < 32 ? n : 32;
        q = shift_below(q, bits, TP_Q, LIFT_Q);
        p = shift_below(p, bits, TP_P, LIFT_P);
    }
    return tp_word(q, p);
}

uint64_t tp_residue_of(double x)
{
    int e;
    if (x == 0 || !isfinite(x))
        return 0;
    if (x == 1)
        return tp_word(1, 1);
    int64_t m = (int64_t)(frexp(x, &e) * 0x1p53);
    uint64_t size = (uint64_t)(m < 0 ? -m : m), whole = tp_word(tp_fold_q(size), tp_fold_p(size));
    uint64_t r = e < 53 ? shift_right(whole, (unsigned)(53 - e))
                        : tp_residue_multiply(whole, tp_residue_power(tp_word(2, 2), (uint64_t)(e - 53)));
    return m < 0 ? tp_residue_negative(r) : r;
}

static inline uint64_t result(uint64_t x, uint64_t y, uint64_t r)
{
    uint64_t w = ((x != TP_FIELD_UNKNOWN) & (y != TP_FIELD_UNKNOWN)) ? r : TP_FIELD_UNKNOWN;
    tp_assert(tp_is_word(w));
    return w;
}

TP_VECTORISED void tp_residues_add(size_t n, const uint64_t *x, const uint64_t *y, uint64_t *restrict r)
{
    for (size_t i = 0; i < n; i++)
        r[i] = result(x[i], y[i], tp_residue_add(x[i], y[i]));
}

TP_VECTORISED void tp_residues_subtract(size_t n, const uint64_t *x, const uint64_t *y, uint64_t *restrict r)
{
    for (size_t i = 0; i < n; i++)
        r[i] = result(x[i], y[i], tp_residue_add(x[i], tp_residue_negative(y[i])));
}

TP_VECTORISED void tp_residues_multiply(size_t n, const uint64_t *x, const uint64_t *y, uint64_t *restrict r)
{
    for (size_t i = 0; i < n; i++)
        r[i] = result(x[i], y[i], tp_residue_multiply(x[i], y[i]));
}

TP_VECTORISED void tp_residues_multiply_p(size_t n, const uint64_t *x, const uint64_t *y, uint64_t *restrict r)
{
    for (size_t i = 0; i < n; i++)
        r[i] = result(x[i], y[i], tp_fold_p(tp_p_of(x[i]) * tp_p_of(y[i])));
}

TP_VECTORISED uint64_t tp_residues_sum(size_t n, const uint64_t *x)
{
    tp_assert(n >> 31 == 0);
    uint64_t q = 0, p = 0, unknown = 0;
    for (size_t i = 0; i < n; i++) {
        q += tp_q_of(x[i]);
        p += tp_p_of(x[i]);
        unknown |= x[i] == TP_FIELD_UNKNOWN ? 1 : 0;
    }
    return unknown ? TP_FIELD_UNKNOWN : tp_word(q % TP_Q, p % TP_P);
}

TP_VECTORISED void tp_random_words(uint64_t a, uint64_t b, uint64_t c, uint64_t step, size_t n, uint64_t *r)
{
    for (size_t i = 0; i < n; i++)
        r[i] = tp_random_word(a, b, c + i * step);
}

TP_VECTORISED bool tp_residues_split(size_t n, const uint64_t *w, uint64_t *restrict q, uint64_t *restrict p)
{
    uint64_t unknown = 0;
    for (size_t i = 0; i < n; i++) {
        unknown |= w[i] == TP_FIELD_UNKNOWN ? 1 : 0;
        q[i] = tp_q_of(w[i]);
        p[i] = tp_p_of(w[i]);
    }
    return !unknown;
}

TP_VECTORISED void tp_residues_join(size_t n, const uint64_t *q, const uint64_t *p, uint64_t *restrict w)
{
    for (size_t i = 0; i < n; i++)
        w[i] = tp_word(q ? q[i] : 0, p[i]);
}
