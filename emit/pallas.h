/* A kernel as the Python that declares it to JAX: pl.pallas_call, BlockSpecs,
 * index maps, scratch, the body with pl.when, fori_loop and while_loop. */
#ifndef TP_PALLAS_H
#define TP_PALLAS_H

#include "spec/kernel.h"

/* Print a module with one function, named after the kernel. */
void tp_emit_pallas(const tp_kernel *k, tp_buf *out);

#endif
