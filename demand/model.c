/* Which primitives are modelled. The list is complete: a new row of
 * spec/prims.def without a float and an integer meaning must be entered here,
 * and is not modelled before. */
#include "demand/internal.h"

#define UNARY(id, ...) case TP_P_##id:
#define BINARY UNARY

model demand_model(tp_prim p)
{
    switch (p) {
#include "spec/prims.def"
    case TP_P_INTEGER_POW:
    case TP_P_CAST:
    case TP_P_BITCAST:
    case TP_P_LITERAL: return MODEL_LANES;
    case TP_P_SUM:
    case TP_P_PROD:
    case TP_P_MAX:
    case TP_P_MIN:
    case TP_P_ANY:
    case TP_P_ALL:
    case TP_P_ARGMAX:
    case TP_P_ARGMIN: return MODEL_REDUCTION;
    case TP_P_CUMSUM:
    case TP_P_CUMPROD:
    case TP_P_CUMMAX:
    case TP_P_CUMMIN: return MODEL_RUNNING;
    case TP_P_IOTA:
    case TP_P_BROADCAST:
    case TP_P_TRANSPOSE:
    case TP_P_CONCATENATE:
    case TP_P_SLICE:
    case TP_P_PAD:
    case TP_P_TILE:
    case TP_P_REPEAT:
    case TP_P_ROLL:
    case TP_P_FLIP:
    case TP_P_DYNAMIC_SLICE:
    case TP_P_DYNAMIC_UPDATE:
    case TP_P_TAKE: return MODEL_MOVED;
    case TP_P_WHERE:
    case TP_P_DOT:
    case TP_P_RESHAPE:
    case TP_P_LOAD:
    case TP_P_MASKED_LOAD:
    case TP_P_READ:
    case TP_P_PROGRAM_ID:
    case TP_P_NUM_PROGRAMS:
    case TP_P_VARIABLE: return MODEL_OWN;
    case TP_P_CLIP:
    case TP_P_MULTIPLE_OF: /* these are others by the time they get here */
    case TP_P_ZEROS:
    case TP_P_FULL:
    case TP_P_EXPAND_DIMS:
    case TP_P_STACK:
    case TP_P_SQUEEZE:
    case TP_P_MASKED_STORE:
    case TP_P_PRNG_SEED:
    case TP_P_PRNG_RANDOM_BITS:
    case TP_P_COPY:
    case TP_P_COPY_START:
    case TP_P_COPY_WAIT:
    case TP_P_SEMAPHORE_SIGNAL:
    case TP_P_SEMAPHORE_WAIT:
    case TP_P_STORE:
    case TP_P_COND:
    case TP_P_SCAN:
    case TP_P_CHECK:
    case TP_PRIMS: break;
    }
    return MODEL_NONE;
}
