/* Numbers of 8 bits as others, by a table of all of them. */
#ifndef TP_LOOKUP_H
#define TP_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

enum { TP_CODES = 256 };

/* to[i] = table[from[i]] of n elements; none of them overlap. */
void tp_look_up(uint16_t *restrict to, const uint8_t *restrict from, size_t n, const uint16_t table[TP_CODES]);

#endif
