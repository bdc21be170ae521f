/* SHA-256 in hex (FIPS 180-4, by libmd). */
#ifndef TP_DIGEST_H
#define TP_DIGEST_H

#include "base/str.h"

/* 64 digits, in the arena. */
tp_str tp_sha256(tp_arena *a, tp_str bytes);

#endif
