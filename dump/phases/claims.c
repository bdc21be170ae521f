/* What the rules ask of the prover, and its answers. */
#include "dump/dump.h"

typedef struct listener {
    tp_exprs *p;
    tp_buf *b;
} listener;

static void hear(void *ctx, const char *rule, const tp_obligation *o, const tp_decision *d)
{
    const listener *x = ctx;
    const char *grade = tp_grade_name(d->grade);
    tp_buf_printf(x->b, "%s %s%s%s%s: %.*s\n", rule, tp_verdict_name(d->verdict), d->verdict == TP_PROVEN ? "(" : "",
                  d->verdict == TP_PROVEN && grade ? grade : "", d->verdict == TP_PROVEN ? ")" : "",
                  TP_FMT(tp_expr_text(x->p, o->goal)));
    for (uint32_t i = 0; i < o->npremises; i++)
        tp_buf_printf(x->b, "  given %.*s\n", TP_FMT(tp_expr_text(x->p, o->premises[i])));
    for (uint32_t i = 0; i < o->nvars; i++) {
        tp_buf_c(x->b, "  for all ");
        tp_dump_var(x->b, x->p, &o->vars[i]);
        tp_buf_c(x->b, "\n");
    }
}

static void print(tp_ctx *c, const tp_kernel *k, tp_buf *b)
{
    listener x = {k->exprs, b};
    tp_analysis_options o = {.listener = hear, .listener_ctx = &x};
    tp_analysis_result out = {.contradiction = false};
    tp_kernel only = *k, *one = &only;
    tp_analyze(c->arena, &(tp_spec){.doc = k->doc, .name = k->name, .kernels = &one, .nkernels = 1}, &o, &out);
}

const tp_dump tp_dump_claims = {"claims", "what the rules ask of the prover, and its answers", print};
