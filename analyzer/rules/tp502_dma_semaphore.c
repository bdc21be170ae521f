#include "analyzer/flow/flow.h"

static void check(tp_analysis *a)
{
    tp_check_flights(a, true, "every copy is waited for, and every wait ends",
                     "a copy is not waited for, or a wait does not end");
}

const tp_rule tp_rule_tp502_dma_semaphore = {
    .code = "TP502",
    .slug = "dma-semaphore",
    .title = "every copy that is started is waited for, and no wait lasts for ever",
    .severity = TP_ERROR,
    .follows = true,
    .traps = true,
    .for_equality = true,
    .why = "A wait for more bytes than the copies in flight bring stops the machine for good. A copy that nobody waits "
           "for may end after the kernel, and leaves its bytes on the semaphore for the next one.",
    .bad = "\"copy_start(x[...], buf[...], sem)\"   without `copy_wait`",
    .good = "\"copy_start(x[...], buf[...], sem)\", \"copy_wait(x[...], buf[...], sem)\"",
    .jax = "The TPU interpreter looks at semaphores when the kernel ends, and waits for ever where nobody signals; "
           "interpret=True executes copies where they are started and notices nothing.",
    .trap_help = "start and wait for the same copies under the same conditions, on the same semaphore, and within one "
                 "step of each parallel axis",
    .check = check,
};
