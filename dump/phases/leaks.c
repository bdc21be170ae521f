/* What of the body's values is undefined, and where that would show. */
#include "analyzer/flow/flow.h"
#include "dump/dump.h"

static const char *const BORN[] = {"outside", "in scratch", "in an output", "under a mask"};
static const char *const SINKS[] = {"output", "branch", "bound", "index", "check"};
static const char *const USES[] = {"int32", "divisor", "slice", "table", "take"};

static void put_path(tp_exprs *p, const char *word, tp_expr path, bool exact, tp_buf *b)
{
    int64_t v;
    if (!path.id || (tp_expr_is_const(p, path, &v) && v))
        return;
    tp_buf_printf(b, " %s %.*s%s", word, TP_FMT(tp_expr_text(p, path)), exact ? "" : " (not exact)");
}

static void put_sink(const tp_kernel *k, const tp_sink *s, tp_buf *b)
{
    tp_buf_printf(b, "sink %s", SINKS[s->kind]);
    if (s->kind == TP_SINK_OUTPUT)
        tp_buf_printf(b, " %.*s", TP_FMT(k->operands[s->operand].name));
    put_path(k->exprs, "where", s->path, s->exact, b);
    tp_buf_printf(b, ": %u ways to be undefined\n", s->leaks.len);
    for (uint32_t i = 0; i < s->leaks.len; i++) {
        const tp_leak *l = &s->leaks.at[i];
        tp_buf_printf(b, "  born %s of %.*s", BORN[l->birth], TP_FMT(k->operands[l->operand].name));
        if (l->through != TP_PRIMS)
            tp_buf_printf(b, ", through %s", tp_prim_info(l->through)->name);
        put_path(k->exprs, "where", l->when, l->exact, b);
        tp_buf_c(b, "\n");
    }
}

static void put_use(const tp_kernel *k, const tp_use *u, tp_buf *b)
{
    tp_buf_printf(b, "use %s ", USES[u->kind]);
    tp_buf_str(b, u->value.id ? tp_expr_text(k->exprs, u->value) : TP_S("of data"));
    put_path(k->exprs, "where", u->path, u->exact, b);
    tp_buf_c(b, "\n");
}

static void print(tp_ctx *c, const tp_kernel *k, tp_buf *b)
{
    tp_analysis_options o = {.nonly = 0};
    tp_analysis *a = tp_analysis_begin(c->arena, k, &o);
    const tp_flow *f = tp_flow_of(a);
    if (f && tp_flow_no_memory(f).n)
        tp_buf_printf(b, "given up: %.*s\n", TP_FMT(tp_flow_no_memory(f)));
    for (uint32_t i = 0; f && i < f->vars.len; i++) {
        tp_buf_c(b, "variable ");
        tp_dump_var(b, k->exprs, &f->vars.at[i]);
        tp_buf_c(b, "\n");
    }
    for (uint32_t i = 0; f && i < f->sinks.len; i++)
        put_sink(k, &f->sinks.at[i], b);
    for (uint32_t i = 0; f && i < f->uses.len; i++)
        put_use(k, &f->uses.at[i], b);
    tp_analysis_end(a);
}

const tp_dump tp_dump_leaks = {"leaks", "what of the body's values is undefined, and where that would show", print};
