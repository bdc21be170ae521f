/* The lines of a program, before they are parsed. */
#ifndef TP_LINES_H
#define TP_LINES_H

#include "spec/json.h"

/* Columns of indentation of n lines, on the context's arena; -1 for a line that says nothing: blank, a comment, an
 * import of numpy, jax, math or scipy, part of a docstring. Raises TP003. */
int *tp_indentations(tp_ctx *c, tp_json *const *lines, uint32_t n);

#endif
