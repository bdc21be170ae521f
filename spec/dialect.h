/* References as NumPy and JAX have them, said in the language's words. */
#ifndef TP_DIALECT_H
#define TP_DIALECT_H

#include "spec/syntax.h"

struct tp_kernel;

/* Rewrites a parsed reference of k in place, with what it allocates on the context's arena:
 * `np.exp(x)`, `np.float32`, `len(x)`, `x.max(1)`, `for i, row in enumerate(x):`, `y = y.at[i].set(v)`, …
 * Nodes keep their places in the source. Raises nothing: what it does not know stays as it is. */
void tp_translate_dialect(tp_ctx *c, const struct tp_kernel *k, tp_block *program);

#endif
