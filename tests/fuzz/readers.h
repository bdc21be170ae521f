/* Every reader of bytes that people did not write themselves, what is written
 * about a spec and what executes one, as a function of those bytes. None may crash, leak, hang, or write outside its
 * memory. tests/fuzz/fuzz.c drives one with libFuzzer, test_fuzz.c replays the corpus. */
#ifndef TP_FUZZ_READERS_H
#define TP_FUZZ_READERS_H

#include <stddef.h>
#include <stdint.h>

typedef struct tp_reader_row {
    const char *name; /* and its folder in tests/fuzz/corpus */
    void (*read)(const uint8_t *bytes, size_t n);
} tp_reader_row;
const tp_reader_row *tp_fuzz_readers(size_t *n);

#endif
