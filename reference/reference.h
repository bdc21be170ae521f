/* Naive whole-array programs: what a kernel must equal. No tiles, no grid, no
 * blocks; plain loops in float64. Shares with the machine only the meaning of
 * the scalar operations in spec/prims.def.
 */
#ifndef TP_REFERENCE_H
#define TP_REFERENCE_H

#include "base/tensor.h"
#include "spec/kernel.h"

/* Evaluate k's reference on the inputs (arrays[i] for input i; input dtypes
 * enter exactly). outputs[j] is filled with a float64 tensor per output, the
 * value before rounding to the output's dtype; integers are exact up to 2^53.
 * TP_E_INPUT with *why when the reference cannot be evaluated. */
tp_status tp_reference_run(tp_arena *a, const tp_kernel *k, const int64_t *env, const tp_tensor *arrays,
                           tp_tensor *outputs, tp_str *why);

/* One naive function by name: `file name = descriptor name` in reference/impl. */
typedef struct tp_builtin {
    const char *name;
    const char *usage; /* arguments, e.g. "a, b" */
    const char *summary;
    /* args: the "args" object or NULL. Returns NULL or what is wrong. */
    const char *(*run)(tp_arena *a, const tp_kernel *k, const tp_json *args, const tp_tensor *arrays, tp_tensor *out);
} tp_builtin;
const tp_builtin *tp_builtin_find(tp_str name);
const tp_builtin *const *tp_builtins(size_t *n);

/* Input named by member `key` of args (by default input number `otherwise`);
 * NULL when there is none. */
const tp_tensor *tp_builtin_input(const tp_kernel *k, const tp_json *args, const char *key, uint32_t otherwise,
                                  const tp_tensor *arrays);
/* Element of any executable dtype as double. */
static inline double tp_at(const tp_tensor *t, size_t i)
{
    return tp_get_f64(t->dtype, t->data, i);
}

#endif
