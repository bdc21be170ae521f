#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef TP_ASSERTS
_Noreturn void tp_assert_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "tileproof: internal error: %s:%d: %s does not hold\n", file, line, what);
    abort();
}
#endif
