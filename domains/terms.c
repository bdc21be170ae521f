/* Terms that are 0 on both sides of a product, as masks leave them. */
#include <stdbool.h>

#include "domains/multiply.h"

TP_VECTORISED static bool are_zero(const uint8_t *at, size_t n)
{
    uint8_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= at[i];
    return !any;
}

/* Terms of k, at least t, behind which all of a matrix are 0 in each bit: of n lines, each of k terms `term` elements
 * apart, where terms lie side by side, or lines do. */
static size_t terms_before_zeros(size_t size, const uint8_t *at, size_t term, size_t line, size_t n, size_t t, size_t k)
{
    if (line != 1 && term != 1)
        return k;
    if (line == 1)
        while (k > t && are_zero(at + (k - 1) * term * size, n * size))
            k--;
    for (size_t i = 0; line != 1 && i < n && t < k; i++, at += line * size)
        if (!are_zero(at + t * size, (k - t) * size))
            for (t = k; are_zero(at + (t - 1) * size, size);)
                t--;
    return line == 1 ? k : t;
}

size_t tp_terms_that_count(size_t size, size_t m, size_t n, size_t k, const void *a, tp_steps sa, const void *b,
                           tp_steps sb)
{
    size_t t = terms_before_zeros(size, b, sb.row, sb.column, n, 0, k);
    if (t < k)
        t = terms_before_zeros(size, a, sa.column, sa.row, m, t, k);
    t = (t / TP_GROUP + 1) * TP_GROUP;
    return t < k ? t : k;
}
