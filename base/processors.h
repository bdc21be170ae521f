/* What this machine has: threads that make sense, instruction sets, among those that the build knows
 * (base/vectorised.h). */
#ifndef TP_PROCESSORS_H
#define TP_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

/* Processors on which this process may run: its affinity, where the system tells it; at least 1. */
uint32_t tp_processors(void);
/* Where the caller runs now; -1: not known. */
int tp_processor_here(void);
/* A new thread goes to the processor that is so many after that one among those that it may run on, and from there
 * wherever the system wants it: without this it may wait beside its maker until loads are balanced, for 20 ms and more,
 * though another processor is idle. */
void tp_go_beside(int processor, uint32_t after);
/* AVX2, and FMA beside it. */
bool tp_has_avx2(void);
/* AVX-512F. */
bool tp_has_avx512(void);

#endif
