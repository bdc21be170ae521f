/* Pieces of text that several phases print. */
#include "dump/dump.h"

void tp_dump_type(tp_buf *b, tp_dtype dtype, tp_exprs *p, uint32_t rank, const tp_expr *dims)
{
    tp_buf_c(b, dtype < TP_DTYPES ? tp_dtype_info(dtype)->name : "weak");
    for (uint32_t i = 0; i < rank; i++)
        tp_buf_printf(b, "%s%.*s%s", i ? ", " : "[", TP_FMT(tp_expr_text(p, dims[i])), i + 1 == rank ? "]" : "");
}

void tp_dump_var(tp_buf *b, tp_exprs *p, const tp_var *v)
{
    tp_str name = tp_sym_name(p, v->sym);
    tp_buf_printf(b, "%.*s <= %.*s <= %.*s", TP_FMT(tp_expr_text(p, v->lo)), TP_FMT(name),
                  TP_FMT(tp_expr_text(p, v->hi)));
    if (v->multiple_of > 1)
        tp_buf_printf(b, ", %.*s %% %lld == 0", TP_FMT(name), (long long)v->multiple_of);
}
