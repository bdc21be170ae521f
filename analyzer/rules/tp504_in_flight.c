#include "analyzer/flow/flow.h"

static void check(tp_analysis *a)
{
    tp_check_flights(a, false, "nothing reads the destination of a copy in flight, and nothing writes either side",
                     "memory is used while a copy in flight moves it");
}

const tp_rule tp_rule_tp504_in_flight = {
    .code = "TP504",
    .slug = "in-flight",
    .title = "no memory is used while a copy moves it",
    .severity = TP_ERROR,
    .follows = true,
    .traps = true,
    .for_equality = true,
    .why = "A copy reads its source and writes its destination at any time between its start and the wait that settles "
           "it. What is read there before, or written, is right on one chip and wrong on the next.",
    .bad = "\"copy_start(x[...], buf[...], sem)\", \"o[...] = buf[...]\", \"copy_wait(x[...], buf[...], sem)\"",
    .good = "\"copy_start(x[...], buf[...], sem)\", \"copy_wait(x[...], buf[...], sem)\", \"o[...] = buf[...]\"",
    .jax =
        "interpret=True copies at the start, so that the bug is invisible; the TPU interpreter with dma_execution_mode "
        "\"on_wait\" shows old contents.",
    .trap_help = "wait for the copy first, or use another buffer",
    .check = check,
};
