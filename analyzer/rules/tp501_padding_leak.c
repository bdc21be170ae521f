#include "analyzer/flow/flow.h"

static void check(tp_analysis *a)
{
    tp_check_leaks(a, "nothing from outside an array reaches output");
}

const tp_rule tp_rule_tp501_padding_leak = {
    .code = "TP501",
    .slug = "padding-leak",
    .title = "no element from outside an array reaches a result or a decision",
    .severity = TP_ERROR,
    .follows = true,
    .traps = true,
    .for_equality = true,
    .per_dtype = true,
    .why = "The last block of an uneven dimension reaches past the array; those elements are undefined, not zero. A "
           "single one in a sum spoils the whole row. Only a select removes them: garbage times a mask of 0 is NaN "
           "when the garbage "
           "is.",
    .bad = "\"acc[...] += dot(x[...], y[...], ...)\"   with K not a multiple of the block",
    .good = "\"a = where(k * bk + iota(int32, (bm, bk), 1) < K, x[...], 0)\" before the dot",
    .jax = "Nothing is reported at any stage. interpret=True pads with NaN for floats; integers look right by luck.",
    .trap_help =
        "mask the edge before it is used: `where(k * bk + iota(int32, shape, dim) < K, x[...], 0)`; multiplying "
        "by a mask does not remove it",
    .check = check,
};
