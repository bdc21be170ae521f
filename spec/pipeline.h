/* "pipelines": kernels inside of the kernel, `pltpu.emit_pipeline`. A statement of the body runs one: name(x, y, o).
 *
 * What it computes is what a loop of copies does, and the reader writes that loop: at the turn that changes its block
 * an input comes in, behind the last turn of its block an output goes out. Who lowers, executes and proves the body
 * sees the loop alone. JAX copies ahead while other steps compute; bodies that could see that are refused. */
#ifndef TP_PIPELINE_H
#define TP_PIPELINE_H

#include "spec/scope.h"

typedef struct tp_pipeline {
    tp_str name;
    const tp_json *declared; /* its object */
    tp_block body;           /* one step, as it is written: pipelines in it are statements, and not written out */
} tp_pipeline;

/* Find the statements of `body`, which is parsed, that run pipelines of the spec, and write the loops under them.
 * Raises TP001 to TP005. */
void tp_write_pipelines(tp_reader *r, tp_block *body);
/* Where its step assigns the name; NULL: nowhere. */
const tp_node *tp_pipeline_assigns(const tp_pipeline *p, tp_str name);

#endif
