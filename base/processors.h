/* What this machine has: threads that make sense, instruction sets, among those that the build knows
 * (base/vectorised.h). */
#ifndef TP_PROCESSORS_H
#define TP_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

/* Processors on which this process may run: its affinity, where the system tells it; at least 1. */
uint32_t tp_processors(void);
/* AVX2, and FMA beside it. */
bool tp_has_avx2(void);
/* AVX-512F. */
bool tp_has_avx512(void);

#endif
