/* The first Ctrl-C ends the work, and what was done by then is reported; the second one ends the program. */
#ifndef TP_INTERRUPT_H
#define TP_INTERRUPT_H

#include <stdbool.h>

/* From now on the first SIGINT is noted: all budgets are over (base/budget.h), and tp_budget_interrupted(). */
void tp_interrupt_allow(void);
/* For the handler: it was the first one, and somebody waits for it. */
bool tp_interrupt_noted(void);

#endif
