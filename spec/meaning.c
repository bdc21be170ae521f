/* The scalar meanings of spec/prims.def at double. */
#include <math.h>

#include "base/vectorised.h"
#include "spec/program.h"

#define TP_REAL(x, c) c
#define TP_WRAP(x, op, y) 0
#define TP_UNSIGNED(x) (int64_t)(x)
#define TP_PYMOD(r, y) ((r) != 0 && ((r) < 0) != ((y) < 0) ? (r) + (y) : (r))
#define UNARY(id, name, operands, result, f, i, ...)                                                                   \
    case TP_P_##id:                                                                                                    \
        return f;
#define BINARY UNARY

double tp_meaning_f64(tp_prim p, double x, double y)
{
    switch (p) {
#define STRUCT(id, ...) case TP_P_##id:
#include "spec/prims.def"
    case TP_PRIMS: break;
    }
    return (double)NAN;
}

#define UNARY(id, name, operands, result, f, i, ...)                                                                   \
    case TP_P_##id:                                                                                                    \
        for (size_t e = 0; e < n; e++) {                                                                               \
            double x = a[e * step_a];                                                                                  \
            (void)x;                                                                                                   \
            out[e] = f;                                                                                                \
        }                                                                                                              \
        return true;
#define BINARY(id, name, operands, result, f, i, ...)                                                                  \
    case TP_P_##id:                                                                                                    \
        for (size_t e = 0; e < n; e++) {                                                                               \
            double x = a[e * step_a], y = b[e * step_b];                                                               \
            (void)x, (void)y;                                                                                          \
            out[e] = f;                                                                                                \
        }                                                                                                              \
        return true;

TP_VECTORISED bool tp_meaning_row_f64(tp_prim p, size_t n, const double *a, size_t step_a, const double *b,
                                      size_t step_b, double *restrict out)
{
    switch (p) {
#define STRUCT(id, ...) case TP_P_##id:
#include "spec/prims.def"
    case TP_PRIMS: break;
    }
    return false;
}
