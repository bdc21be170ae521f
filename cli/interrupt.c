#include "cli/interrupt.h"

#include <stdatomic.h>

#include "base/budget.h"

static atomic_bool allowed;

void tp_interrupt_allow(void)
{
    allowed = true;
}

bool tp_interrupt_noted(void)
{
    bool first = allowed && !tp_budget_interrupted();
    if (first)
        tp_budget_interrupt();
    return first;
}
