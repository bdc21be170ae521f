/* Kernel and reference as the proof of equality for all sizes sees them. */
#include "analyzer/analyze.h"
#include "analyzer/equality/equality.h"
#include "dump/dump.h"
#include "reference/reference.h"

static void print(tp_ctx *c, const tp_kernel *k, tp_buf *b)
{
    tp_str why = TP_S("there is no body");
    const tp_program *reference = k->body ? tp_reference_program(c->arena, k, &why) : NULL;
    tp_analysis_options o = {.nonly = 0};
    o.waits_named = reference && tp_waits_name_copies(c->arena, k, &o);
    if (reference)
        tp_print_terms(c->arena, k, reference, &o, b);
    else
        tp_buf_printf(b, "none: %.*s\n", TP_FMT(why));
}

const tp_dump tp_dump_terms = {"terms", "the normal forms of kernel and reference, output by output", print};
