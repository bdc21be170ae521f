/* Internal to spec/dialect*.c. */
#ifndef TP_DIALECT_NODES_H
#define TP_DIALECT_NODES_H

#include "base/map.h"
#include "spec/dialect.h"
#include "spec/kernel.h"

typedef struct dialect {
    tp_ctx *c;
    const tp_kernel *k;
    tp_map names; /* that the program uses: ASSIGNED or READ */
} dialect;

typedef enum use { READ = 1, ASSIGNED } use;
/* Nodes and statements at the place of another. */
tp_node *dialect_node(dialect *d, const tp_node *at, tp_node_kind kind, tp_str text, uint32_t nkids,
                      tp_node *const *kids);
tp_node *dialect_name(dialect *d, const tp_node *at, tp_str text);
/* No function of the program. */
tp_node *dialect_call(dialect *d, const tp_node *at, const char *name, uint32_t nargs, tp_node *const *args);
tp_syntax *dialect_statement(dialect *d, const tp_syntax *at, tp_stmt_kind kind, tp_node *target, tp_node *value);

/* dialect_outputs.c */
/* Inputs that change within loops and branches or in parts begin as what they are, outputs that are assigned in parts
 * as zeros. */
void dialect_begin_arrays(dialect *d, tp_block *program);
/* A program of functions alone: the last one, of arrays of the spec, gives the outputs. */
void dialect_call_last(dialect *d, tp_block *program);

#endif
