/* How many threads make sense. */
#ifndef TP_PROCESSORS_H
#define TP_PROCESSORS_H

#include <stdint.h>

/* Processors on which this process may run: its affinity, where the system tells it; at least 1. */
uint32_t tp_processors(void);

#endif
