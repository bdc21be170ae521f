/* Two texts as a unified diff, as `patch` reads it. */
#ifndef TP_PATCH_H
#define TP_PATCH_H

#include <stdio.h>

#include "base/str.h"

/* `path` is the name of both sides; nothing where the texts are the same. Temporary memory is in `a`. */
void tp_write_patch(tp_arena *a, tp_str path, tp_str old, tp_str new, FILE *out);

#endif
