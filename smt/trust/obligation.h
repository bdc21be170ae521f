/* What is to be proven: for all values of the variables inside their bounds,
 * if the premises hold then the goal holds.
 */
#ifndef TP_OBLIGATION_H
#define TP_OBLIGATION_H

#include "base/finding.h"
#include "spec/expr.h"

typedef struct tp_var {
    uint32_t sym;
    tp_expr lo, hi;         /* bounds, over variables that come earlier; inclusive */
    int64_t multiple_of;    /* 1: none */
    tp_expr quotient;       /* a symbol for the prover's own use; none: no rewriting of divisibility */
    const int64_t *choices; /* finite: the values, ascending; else NULL */
    uint32_t nchoices;
    bool step; /* a grid axis rather than a size */
} tp_var;

typedef struct tp_obligation {
    const tp_var *vars;
    uint32_t nvars;
    const tp_expr *premises;
    uint32_t npremises;
    tp_expr goal;
    const char *name; /* for --emit-smt2: "TP101-x-0" */
    bool any_case;    /* nobody looks at the counterexample: it need not be a small one */
} tp_obligation;

#endif
