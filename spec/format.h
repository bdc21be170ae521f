/* Canonical text of a spec: key order, layout, expressions and statements. */
#ifndef TP_FORMAT_H
#define TP_FORMAT_H

#include "spec/json.h"

/* Print the spec in canonical form into *out. Raises TP001 and TP003 like the
 * reader; the meaning does not change. Call inside tp_try(). */
void tp_spec_format(tp_ctx *c, const tp_json *doc, tp_buf *out);

#endif
