/* Matrix products of 8-bit integers and of bfloat16 by tiles of the processor (AMX), where it has them and the system
 * lets this process use them. */
#ifndef TP_AMX_H
#define TP_AMX_H

#include <stdbool.h>

#include "domains/bfloats.h"
#include "domains/multiply.h"

/* Asks the system for the tiles' registers the first time; the answer stays. */
bool tp_has_amx(void);
/* As `bytes` of a tp_multiplier; only where tp_has_amx(). */
void tp_multiply_bytes_amx(size_t m, size_t n, size_t k, const uint8_t *a, tp_steps sa, const uint8_t *b, tp_steps sb,
                           tp_signs is_signed, uint32_t *r, const uint32_t *base, uint32_t *onto, tp_ahead *ahead,
                           void *room, tp_panels *panels);
#if defined(__x86_64__) && defined(__GNUC__)
/* By tiles; only where tp_has_amx(). */
extern const tp_bfloat_blocks TP_BFLOAT_TILES;
#endif

#endif
