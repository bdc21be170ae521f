/* `cost`: what its files share. */
#ifndef TP_CLI_COST_H
#define TP_CLI_COST_H

#include "cost/cost.h"
#include "kernels/trial/equiv.h"

enum { TP_COST_VERSION = 1, TP_COST_TARGETS = 64 };

/* A kernel at some sizes. */
typedef struct tp_cost_case {
    const tp_case *at;
    tp_str text;   /* its sizes and dtypes */
    bool executed; /* what depends on data was counted by the machine, on the inputs of the case */
    bool tables;   /* the contents of tables were found, not given */
    tp_cost_numbers numbers;
    tp_cost_count unfused;                 /* bytes */
    tp_cost_model models[TP_COST_TARGETS]; /* by row of targets.def */
} tp_cost_case;

/* A dtype combination. */
typedef struct tp_cost_kernel {
    const tp_kernel *kernel;
    tp_cost *cost;
    TP_VEC(tp_cost_case) cases;
} tp_cost_kernel;

typedef struct tp_costs {
    tp_arena *arena;
    tp_str path, name;
    TP_VEC(tp_cost_kernel) kernels;
} tp_costs;

/* Both write one document, in the arena. */
tp_str tp_cost_text(const tp_costs *c);
tp_str tp_cost_json(const tp_costs *c);

#endif
