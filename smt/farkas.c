/* Farkas' lemma: linear facts contradict each other exactly when a sum of them
 * with factors >= 0 is a negative constant. The factors come from a simplex
 * over doubles and count only when integers near them give such a sum exactly. */
#include <math.h>

#include "base/checked.h"
#include "smt/internal.h"

enum { MAX_ROWS = 80, CONSTANTS = UINT8_MAX, MAX_PIVOTS = 200, MAX_DENOMINATOR = 1000000 };

typedef struct tableau {
    uint32_t rows, columns;   /* one row per monomial, then the constants; one column per fact, then the right side */
    double *at;               /* rows * (columns + 1), and one more row: what each column gains */
    uint32_t basis[MAX_ROWS]; /* column of each row; `columns`: none yet */
    int pivots;
} tableau;

static double *row(const tableau *t, uint32_t i)
{
    return t->at + (size_t)i * (t->columns + 1);
}

/* A column that brings the rows without one closer to their right side: the
 * best; after a while the first, which cannot go round in circles. */
static uint32_t entering_column(const tableau *t)
{
    const double *gain = row(t, t->rows);
    uint32_t best = t->columns;
    double most = 1e-7;
    for (uint32_t j = 0; j < t->columns; j++)
        if (gain[j] > most) {
            best = j;
            most = gain[j];
            if (t->pivots > MAX_PIVOTS / 4)
                break;
        }
    return best;
}

/* Least ratio; among equals a row without a column, then the first column (Bland: no cycles). */
static uint32_t leaving_row(const tableau *t, uint32_t j)
{
    uint32_t best = t->rows;
    double least = (double)INFINITY;
    for (uint32_t i = 0; i < t->rows; i++) {
        double a = row(t, i)[j];
        if (a <= 1e-7)
            continue;
        double ratio = row(t, i)[t->columns] / a;
        bool same = best < t->rows && fabs(ratio - least) < 1e-12;
        bool first =
            same && (t->basis[best] != t->columns) && (t->basis[i] == t->columns || t->basis[i] < t->basis[best]);
        if ((!same && ratio < least) || first) {
            best = i;
            least = ratio < least ? ratio : least;
        }
    }
    return best;
}

static void subtract(double *restrict x, const double *restrict y, double times, uint32_t n)
{
    for (uint32_t c = 0; c < n; c++)
        x[c] -= times * y[c];
}

static void pivot(tableau *t, uint32_t r, uint32_t j)
{
    double *at = row(t, r), k = at[j];
    for (uint32_t c = 0; c <= t->columns; c++)
        at[c] /= k;
    for (uint32_t i = 0; i <= t->rows; i++) {
        double *x = row(t, i), f = x[j];
        if (i == r || f == 0)
            continue;
        subtract(x, at, f, t->columns + 1);
        x[j] = 0;
    }
    t->basis[r] = j;
    t->pivots++;
}

/* Is the sum with these factors a negative constant? In integers. */
static bool adds_up(const int64_t *coefs, uint32_t rows, uint32_t n, const int64_t *factor)
{
    for (uint32_t i = 0; i < rows; i++) {
        int64_t sum = 0, x;
        for (uint32_t j = 0; j < n; j++)
            if (factor[j] && (!tp_mul(coefs[(size_t)i * n + j], factor[j], &x) || !tp_add(sum, x, &sum)))
                return false;
        if (i + 1 < rows ? sum != 0 : sum >= 0)
            return false;
    }
    return true;
}

/* The denominator of the simplest fraction near x, by its continued fraction; 0: none. */
static int64_t denominator(double x)
{
    int64_t before = 0, q = 1;
    double rest = x;
    for (int k = 0; k < 24; k++) {
        if (fabs(x * (double)q - nearbyint(x * (double)q)) <= 1e-9 * fmax(x, 1))
            return q;
        rest = 1 / (rest - floor(rest));
        if (!(rest < MAX_DENOMINATOR) || (int64_t)rest > MAX_DENOMINATOR / q)
            return 0;
        int64_t next = (int64_t)rest * q + before;
        before = q;
        q = next;
    }
    return 0;
}

/* Integers in the ratios of the basic solution. */
static bool whole(const tableau *t, const double *scale, const int64_t *coefs, uint32_t n, const uint32_t *keep,
                  int64_t *factor)
{
    double value[MAX_ROWS], most = 0, least = (double)INFINITY;
    for (uint32_t i = 0; i < t->rows; i++) {
        value[i] = t->basis[i] < t->columns ? row(t, i)[t->columns] * scale[t->basis[i]] : 0;
        most = fmax(most, value[i]);
    }
    for (uint32_t i = 0; i < t->rows; i++) {
        value[i] = value[i] > most * 1e-11 ? value[i] : 0; /* else rounding */
        if (value[i] > 0)
            least = fmin(least, value[i]);
    }
    int64_t common = 1;
    for (uint32_t i = 0; i < t->rows && common; i++) {
        int64_t q = value[i] > 0 ? denominator(value[i] / least) : 1;
        if (q && q / tp_gcd(q, common) <= MAX_DENOMINATOR / common)
            common *= q / tp_gcd(q, common);
        else
            common = 0;
    }
    memset(factor, 0, n * sizeof *factor);
    for (uint32_t i = 0; i < t->rows; i++) {
        double x = value[i] / least * (double)common;
        if (value[i] > 0 && x < 1e15)
            factor[keep[t->basis[i]]] = (int64_t)nearbyint(x);
    }
    return common && adds_up(coefs, t->rows, n, factor);
}

/* Row of a monomial; a new one is added. MAX_ROWS: too many. */
static uint32_t row_of(const tp_term **monomials, uint32_t *n, const tp_term *t)
{
    for (uint32_t i = 0; i < *n; i++)
        if (tp_same_monomial(monomials[i], t))
            return i;
    if (*n + 1 >= MAX_ROWS)
        return MAX_ROWS;
    monomials[*n] = t;
    return (*n)++;
}

/* A monomial that only comes with one sign cannot cancel: facts with it are of
 * no use, and then perhaps others. The number of facts that stay, in `keep`. */
static uint32_t prune(const int64_t *coefs, uint32_t rows, uint32_t n, uint32_t *keep)
{
    uint32_t count = n;
    for (uint32_t j = 0; j < n; j++)
        keep[j] = j;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < rows; i++) {
            const int64_t *c = &coefs[(size_t)i * n];
            bool above = false, below = false;
            for (uint32_t j = 0; j < count; j++) {
                above |= c[keep[j]] > 0;
                below |= c[keep[j]] < 0;
            }
            if (above == below)
                continue;
            uint32_t left = 0;
            for (uint32_t j = 0; j < count; j++)
                if (c[keep[j]] == 0)
                    keep[left++] = keep[j];
            again |= left < count;
            count = left;
        }
    }
    return count;
}

/* Look for the factors among the facts in `keep`. */
static bool look(tp_arena *a, const int64_t *coefs, uint32_t rows, uint32_t n, const uint32_t *keep, uint32_t kept,
                 int64_t *factor)
{
    tableau t = {.rows = rows + 1, .columns = kept, .at = TP_NEWN(a, double, (size_t)(rows + 2) * (kept + 1))};
    double *scale = TP_NEWN(a, double, kept), *gain = row(&t, t.rows);
    for (uint32_t j = 0; j < kept; j++) {
        double most = 1, constant = fabs((double)coefs[(size_t)rows * n + keep[j]]);
        for (uint32_t i = 0; i < rows; i++)
            most = fmax(most, fabs((double)coefs[(size_t)i * n + keep[j]]));
        if (constant < 1e6) /* next to 2^31 the coefficients would look like nothing */
            most = fmax(most, constant);
        scale[j] = 1 / most;
    }
    for (uint32_t i = 0; i < t.rows; i++)
        for (uint32_t j = 0; j < kept; j++) {
            row(&t, i)[j] = (double)coefs[(size_t)i * n + keep[j]] * scale[j] * (i == rows ? -1 : 1);
            gain[j] += row(&t, i)[j];
        }
    row(&t, rows)[kept] = 1;
    for (uint32_t i = 0; i < t.rows; i++)
        t.basis[i] = kept;
    while (t.pivots < MAX_PIVOTS) {
        uint32_t j = entering_column(&t), r = j < kept ? leaving_row(&t, j) : t.rows;
        if (r == t.rows)
            break;
        tp_spend(a, t.rows * (kept + 1) / 8);
        pivot(&t, r, j);
    }
    return whole(&t, scale, coefs, n, keep, factor);
}

bool tp_farkas(tp_arena *a, const tp_linear_fact *facts, uint32_t n, uint32_t fresh, int64_t *factor)
{
    const tp_term *monomials[MAX_ROWS];
    uint32_t rows = 0, *keep = TP_NEWN(a, uint32_t, n);
    size_t terms = 0, at = 0;
    for (uint32_t j = 0; j < n; j++)
        terms += facts[j].n;
    uint8_t *row = tp_alloc_unset(a, terms); /* of each term */
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t k = 0; k < facts[j].n; k++) {
            const tp_term *x = &facts[j].terms[k];
            uint32_t i = x->degree ? row_of(monomials, &rows, x) : CONSTANTS;
            if (i == MAX_ROWS)
                return false;
            row[at++] = (uint8_t)i;
        }
    int64_t *coefs = TP_NEWN(a, int64_t, (size_t)(rows + 1) * n); /* the constants are in the last row */
    at = 0;
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t k = 0; k < facts[j].n; k++, at++)
            coefs[(size_t)(row[at] == CONSTANTS ? rows : row[at]) * n + j] = facts[j].terms[k].coef;
    tp_spend(a, (int64_t)rows * n / 4);
    uint32_t count = prune(coefs, rows, n, keep);
    if (count == 0 || keep[count - 1] < fresh)
        return false;
    return look(a, coefs, rows, n, keep, count, factor);
}
