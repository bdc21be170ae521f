/* Numbers as they are written. */
#include "analyzer/equality/sum.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool literal_fraction(double v, int64_t *num, int64_t *den)
{
    enum { MOST = 1000000 };
    char text[40];
    for (*den = 1; *den <= MOST; *den *= 10) { /* its decimal */
        double n = round(v * (double)*den);
        snprintf(text, sizeof text, "%.0fe-%d", n, (int)lround(log10((double)*den)));
        if (fabs(n) < 1e9 && strtod(text, NULL) == v) {
            *num = (int64_t)n;
            return true;
        }
    }
    for (*den = 1; *den <= (int64_t)1 << 40; *den *= 2) { /* few bits */
        double n = v * (double)*den;
        if (n == trunc(n) && fabs(n) < 4096) {
            *num = (int64_t)n;
            return true;
        }
    }
    return false;
}

uint32_t sum_number(summary *s, double v)
{
    product p = product_of(1, 1);
    if (!literal_fraction(v, &p.num, &p.den))
        return sum_of_atom(s, &(atom){.kind = ATOM_REAL, .real = v}, 1);
    product_reduce(s, &p);
    return sum_intern(s, &p, p.num != 0);
}
