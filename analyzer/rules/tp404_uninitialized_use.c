#include "analyzer/flow/flow.h"

static void check(tp_analysis *a)
{
    tp_check_leaks(a, "no unwritten memory reaches output");
}

const tp_rule tp_rule_tp404_uninitialized_use = {
    .code = "TP404",
    .slug = "uninitialized-use",
    .title = "no value from unwritten scratch or an unwritten output window is used",
    .severity = TP_ERROR,
    .follows = true,
    .traps = true,
    .for_equality = true,
    .per_dtype = true,
    .why =
        "Scratch and output windows hold whatever was there before. An output window is never preloaded, and scratch "
        "loses its contents when a parallel coordinate changes.",
    .bad = "\"acc[...] += dot(a, b, ...)\"   without `acc[...] = 0` in the first step",
    .good = "\"if k == 0:\", \"    acc[...] = 0\"",
    .jax = "Nothing is reported at any stage. Both interpreters start with NaN for floats and with an extreme integer, "
           "so that integer kernels look right.",
    .trap_help =
        "initialise it before it is read: in the first step on each block, where the reduction axis is 0, or in "
        "every step where each has a block of its own",
    .check = check,
};
