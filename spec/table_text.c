/* Contents of tables as nested lists. */
#include "spec/table.h"

static const int64_t *list(tp_buf *b, const tp_table_data *d, uint32_t dim, const int64_t *at)
{
    if (dim == d->rank) {
        tp_buf_printf(b, "%lld", (long long)*at);
        return at + 1;
    }
    tp_buf_c(b, "[");
    for (int64_t i = 0; i < d->dims[dim]; i++) {
        tp_buf_c(b, i ? ", " : "");
        at = list(b, d, dim + 1, at);
    }
    tp_buf_c(b, "]");
    return at;
}

tp_str tp_tables_text(tp_arena *a, const tp_kernel *k, const int64_t *env)
{
    enum { MAX_SHOWN = 4096 };
    tp_buf b = {.arena = a};
    int64_t total = 0;
    tp_buf_c(&b, "{");
    for (uint32_t t = 0; t < k->ntables; t++) {
        const tp_table_data *d = tp_bound_table(env, k->tables[t].sym);
        if (!d || (total += tp_entries_of(d)) > MAX_SHOWN)
            return (tp_str){NULL, 0};
        tp_buf_printf(&b, "%s\"%.*s\": ", t ? ", " : "", TP_FMT(k->tables[t].name));
        list(&b, d, 0, d->at);
    }
    tp_buf_c(&b, "}");
    return k->ntables ? tp_buf_view(&b) : (tp_str){NULL, 0};
}
