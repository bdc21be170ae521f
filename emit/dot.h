/* A kernel as a graph for Graphviz: arrays, their windows, what the body reads
 * and writes. */
#ifndef TP_DOT_H
#define TP_DOT_H

#include "spec/kernel.h"

void tp_emit_dot(const tp_kernel *k, tp_buf *out);

#endif
