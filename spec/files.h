/* Files that a spec names: the one that holds its body, arrays of its cases. */
#ifndef TP_FILES_H
#define TP_FILES_H

#include "spec/json.h"

/* FILE or FILE#TENSOR, named by the string m, as the system finds it: below the
 * folder of the spec or one of c->read_from, wherever links lead. What lies
 * elsewhere is not looked at: raises TP005. */
tp_str tp_permitted_file(tp_ctx *c, const tp_json *m);
/* "kernel_file" of that text, relative to the working folder; empty: it names none. */
tp_str tp_kernel_file(tp_arena *a, const tp_source *source);
/* Puts the text of "kernel_file" behind that of the spec, so that what is made
 * of the text, digests too, is made of both. `source` is c's. Raises TP005
 * where the file is missing, too large or elsewhere. */
void tp_source_complete(tp_ctx *c, tp_source *source);

#endif
