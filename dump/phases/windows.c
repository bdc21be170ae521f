/* The windows of each step, as expressions. */
#include "analyzer/claim/claim.h"
#include "dump/dump.h"

static void put_operand(tp_analysis *a, const tp_operand *o, tp_buf *b)
{
    static const char *const ROLES[] = {"input", "output", "scratch"};
    tp_buf_printf(b, "%s %.*s: ", ROLES[o->role], TP_FMT(o->name));
    tp_dump_type(b, o->dtype, a->p, o->rank, o->shape);
    tp_buf_printf(b, " in %s\n", tp_memory_name(o->memory));
    for (uint32_t d = 0; o->role != TP_SCRATCH && d < o->rank; d++)
        tp_buf_printf(b, "  dimension %u: %.*s from %.*s; meets its array where %.*s\n", d,
                      TP_FMT(tp_expr_text(a->p, o->dims[d].block)),
                      TP_FMT(tp_expr_text(a->p, tp_window_start(a, o, d))),
                      TP_FMT(tp_expr_text(a->p, tp_window_meets(a, o, d, o->dims[d].index))));
}

static void print(tp_ctx *c, const tp_kernel *k, tp_buf *b)
{
    tp_analysis_options o = {.nonly = 0};
    tp_analysis *a = tp_analysis_begin(c->arena, k, &o);
    for (uint32_t i = 0; i < a->nvars; i++) {
        tp_buf_c(b, i < a->nsizes ? "size " : "axis ");
        tp_dump_var(b, a->p, &a->vars[i]);
        tp_buf_c(b, "\n");
    }
    for (uint32_t i = 0; i < a->nwhere; i++)
        tp_buf_printf(b, "fact %.*s\n", TP_FMT(tp_expr_text(a->p, a->where[i])));
    for (uint32_t i = 0; i < tp_noperands(k); i++)
        put_operand(a, &k->operands[i], b);
    tp_analysis_end(a);
}

const tp_dump tp_dump_windows = {"windows", "sizes, axes and the window of each operand in a step", print};
