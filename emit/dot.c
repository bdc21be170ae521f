#include "emit/dot.h"

/* Inside a quoted string of DOT. */
static void put(tp_buf *b, tp_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"' || s.p[i] == '\\')
            tp_buf_c(b, "\\");
        tp_buf_add(b, &s.p[i], 1);
    }
}

static void put_list(tp_buf *b, const tp_kernel *k, const tp_expr *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        tp_buf_c(b, i ? ", " : "");
        put(b, tp_expr_text(k->exprs, at[i]));
    }
}

static void put_array(tp_buf *b, const tp_kernel *k, const tp_operand *o)
{
    static const char *const SHAPES[] = {"box", "box", "cylinder"};
    tp_buf_c(b, "  \"");
    put(b, o->name);
    tp_buf_printf(b, "\" [shape=%s, label=\"", SHAPES[o->role]);
    put(b, o->name);
    tp_buf_printf(b, "\\n%s[", tp_dtype_info(o->dtype)->name);
    put_list(b, k, tp_global_shape(o), tp_global_rank(o));
    tp_buf_printf(b, "]%s%s\"];\n", o->role == TP_SCRATCH ? "\\nscratch in " : "",
                  o->role == TP_SCRATCH ? tp_memory_name(o->memory) : "");
}

/* The window: block and index map. */
static void put_edge(tp_buf *b, const tp_kernel *k, const tp_operand *o)
{
    tp_expr block[TP_MAX_RANK], index[TP_MAX_RANK];
    for (uint32_t d = 0; d < o->rank && !o->whole && o->role != TP_SCRATCH; d++) {
        block[d] = o->dims[d].block;
        index[d] = o->dims[d].index;
    }
    bool in = o->role == TP_INPUT;
    tp_buf_c(b, in ? "  \"" : "  \"()\" -> \"");
    put(b, o->name);
    tp_buf_c(b, in ? "\" -> \"()\" [label=\"" : "\" [label=\"");
    if (o->role != TP_SCRATCH && !o->whole) {
        tp_buf_c(b, "[");
        put_list(b, k, block, o->rank);
        tp_buf_c(b, "] at (");
        put_list(b, k, index, o->rank);
        tp_buf_c(b, ")");
    }
    tp_buf_printf(b, "\"%s];\n", o->role == TP_SCRATCH ? ", dir=both, style=dashed" : "");
}

void tp_emit_dot(const tp_kernel *k, tp_buf *out)
{
    tp_buf_c(out, "digraph \"");
    put(out, k->name);
    tp_buf_c(out, "\" {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n"
                  "  \"()\" [shape=component, label=\"");
    put(out, k->name);
    for (uint32_t i = 0; i < k->naxes; i++) {
        tp_buf_c(out, "\\n");
        put(out, k->axes[i].name);
        tp_buf_c(out, " < ");
        put(out, tp_expr_text(k->exprs, k->axes[i].steps));
        tp_buf_c(out, k->axes[i].parallel ? " (parallel)" : "");
    }
    tp_buf_c(out, "\"];\n");
    for (uint32_t i = 0; i < k->ntables; i++) {
        tp_buf_c(out, "  \"");
        put(out, k->tables[i].name);
        tp_buf_printf(out, "\" [shape=note, label=\"");
        put(out, k->tables[i].name);
        tp_buf_printf(out, "\\n%s[", tp_dtype_info(k->tables[i].dtype)->name);
        put_list(out, k, k->tables[i].shape, k->tables[i].rank);
        tp_buf_c(out, "]\"];\n  \"");
        put(out, k->tables[i].name);
        tp_buf_c(out, "\" -> \"()\" [style=dotted];\n");
    }
    for (uint32_t i = 0; i < tp_noperands(k); i++)
        put_array(out, k, &k->operands[i]);
    for (uint32_t i = 0; i < tp_noperands(k); i++)
        put_edge(out, k, &k->operands[i]);
    tp_buf_c(out, "}\n");
}
