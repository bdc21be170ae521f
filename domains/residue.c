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

uint64_t tp_residue_of(double x)
{
    int e;
    if (x == 0 || !isfinite(x))
        return 0;
    if (x == 1)
        return tp_word(1, 1);
    int64_t m = (int64_t)ldexp(frexp(x, &e), 53);
    uint64_t size = (uint64_t)(m < 0 ? -m : m), whole = tp_word(size % TP_Q, size % TP_P);
    uint64_t two = e < 53 ? tp_word((TP_Q + 1) / 2, (TP_P + 1) / 2) : tp_word(2, 2); /* a half, or 2 */
    uint64_t r = tp_residue_multiply(whole, tp_residue_power(two, (uint64_t)(e < 53 ? 53 - e : e - 53)));
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
