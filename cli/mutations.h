/* Small defects of the kinds that authors make, planted into a spec. */
#ifndef TP_MUTATIONS_H
#define TP_MUTATIONS_H

#include "spec/kernel.h"

typedef struct tp_mutation {
    const char *kind; /* "mask dropped" */
    uint32_t line;    /* of the file, from 1 */
    tp_str before, after;
    tp_str text; /* of the whole changed spec */
} tp_mutation;
typedef TP_VEC(tp_mutation) tp_mutations;

/* Every defect that fits somewhere in the spec; `doc` is the parsed source.
 * What they do is not known: some do not parse, some are no defects. */
tp_mutations tp_mutations_of(tp_ctx *c, const tp_json *doc);
#endif
