#include "analyzer/flow.h"

static void check(tp_analysis *a)
{
    tp_check_leaks(a, "every element of `%.*s` is written in the run of its block");
}

const tp_rule tp_rule_tp401_output_coverage = {
    .code = "TP401",
    .slug = "output-coverage",
    .title = "every element of every output is written, on all paths",
    .severity = TP_ERROR,
    .per_dtype = true,
    .why = "The output array starts as garbage. A block that no step visits, or an element that the body does not write "
           "before its block is copied out, keeps it.",
    .bad = "\"if k == num_programs(k) - 2:\", \"    o[...] = acc[...]\"",
    .good = "\"if k == num_programs(k) - 1:\", \"    o[...] = acc[...]\"",
    .jax = "Nothing is reported at any stage. The interpreters fill outputs with NaN, or with an extreme integer.",
    .check = check,
};
