#include "base/digest.h"

#include <sys/types.h>

#include <sha256.h>

tp_str tp_sha256(tp_arena *a, tp_str bytes)
{
    SHA2_CTX c;
    uint8_t digest[SHA256_DIGEST_LENGTH];
    tp_buf b = {.arena = a};
    SHA256Init(&c);
    SHA256Update(&c, (const uint8_t *)bytes.p, bytes.n);
    SHA256Final(digest, &c);
    for (size_t i = 0; i < sizeof digest; i++)
        tp_buf_printf(&b, "%02x", digest[i]);
    return tp_buf_view(&b);
}
