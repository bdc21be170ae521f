/* A kernel as the Python that declares it to JAX: pl.pallas_call, BlockSpecs,
 * index maps, scratch, the body with pl.when, fori_loop and while_loop. */
#ifndef TP_PALLAS_H
#define TP_PALLAS_H

#include "spec/kernel.h"

/* What of the kernel has no form in Python; empty: nothing. */
tp_str tp_emit_pallas_lacks(const tp_kernel *k);

/* Print a module with one function, named after the kernel. */
void tp_emit_pallas(const tp_kernel *k, tp_buf *out);

#endif
