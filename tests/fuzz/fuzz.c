/* One reader under libFuzzer: READER=npy build/fuzz/fuzz CORPUS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const tp_reader_row *chosen;
    const char *name = getenv("READER");
    size_t count;
    const tp_reader_row *rows = tp_fuzz_readers(&count);
    for (size_t i = 0; i < count && !chosen; i++)
        if (name && strcmp(rows[i].name, name) == 0)
            chosen = &rows[i];
    if (!chosen) {
        fprintf(stderr, "READER names one of:");
        for (size_t i = 0; i < count; i++)
            fprintf(stderr, " %s", rows[i].name);
        fprintf(stderr, "\n");
        exit(2);
    }
    chosen->read(bytes, n);
    return 0;
}
