/* Two texts as a unified diff, as `patch` reads it. */
#ifndef TP_PATCH_H
#define TP_PATCH_H

#include <stdio.h>

#include "base/str.h"

void tp_write_patch(tp_arena *a, tp_str path, tp_str old, tp_str new, FILE *out);

#endif
