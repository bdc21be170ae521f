/* exp, log, tanh and their kin over rows of float32 and float64, by SLEEF: its deterministic functions ("finz"), which
 * give the same bits on every processor and are at most 1.0 ULP off, tanh 3.5, erfc 1.5, by its documentation. */
#ifndef TP_ELEMENTARY_H
#define TP_ELEMENTARY_H

#include <stdbool.h>
#include <stddef.h>

#include "spec/program.h"

/* Rows of a loop, and of each of its arrays bytes from one to the next. */
typedef struct tp_rows {
    size_t n;
    ptrdiff_t a, b, r;
} tp_rows;

static const tp_rows TP_ONE_ROW = {1, 0, 0, 0};

/* r[i] = f(a[i], b[i]) of n numbers of one type in each row; a scalar operand has one element in each; b: NULL for
 * functions of one operand. */
typedef void (*tp_loop)(const tp_rows *rows, size_t n, const void *a, bool scalar_a, const void *b, bool scalar_b,
                        void *r);

typedef struct tp_elementary {
    const char *name; /* of the instruction set */
    bool (*runs_here)(void);
    const tp_loop *loops, *doubles; /* per primitive, over float32 and float64; NULL: it is none of these functions */
} tp_elementary;

/* All of this build, the fastest first; the last runs everywhere. A build without SLEEF has none. */
const tp_elementary *tp_elementaries(size_t *n);
/* The loop of a primitive over float32 or float64 on this processor, or NULL. */
tp_loop tp_elementary_here(tp_prim p, tp_dtype d);

#endif
