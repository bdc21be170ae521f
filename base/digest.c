#include "base/digest.h"

#include <sys/types.h>

#include <sha256.h>

tp_str tp_sha256(tp_arena *a, tp_str bytes)
{
    SHA2_CTX c;
    static const char DIGITS[] = "0123456789abcdef";
    uint8_t digest[SHA256_DIGEST_LENGTH];
    char *text = tp_alloc(a, 2 * sizeof digest + 1);
    SHA256Init(&c);
    SHA256Update(&c, (const uint8_t *)bytes.p, bytes.n);
    SHA256Final(digest, &c);
    for (size_t i = 0; i < sizeof digest; i++) {
        text[2 * i] = DIGITS[digest[i] >> 4];
        text[2 * i + 1] = DIGITS[digest[i] & 15];
    }
    return (tp_str){text, 2 * sizeof digest};
}
