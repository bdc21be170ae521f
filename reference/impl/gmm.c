#include "reference/reference.h"

/* Rows from starts[g] below starts[g + 1] times matrix g (Gale et al., "MegaBlocks", 2022); x is (M, K), w (G, K, N),
 * starts a table of G + 1 rows. Rows of no group are 0. */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *x = tp_builtin_input(c, "x", 0), *w = tp_builtin_input(c, "w", 1);
    const tp_table *starts = tp_builtin_table(c, "starts");
    if (!x || !w || x->rank != 2 || w->rank != 3 || !starts || starts->rank != 1)
        return "it needs inputs x of rank 2 and w of rank 3, and the table \"starts\" of rank 1";
    const char *out = tp_builtin_output(c), *rows = tp_builtin_dim(c, x, 0);
    tp_builtin_line(c, "%s = zeros((%s, %s), float32)", out, rows, tp_builtin_dim(c, w, 2));
    tp_builtin_line(c, "row_ = arange(%s)[:, None]", rows);
    tp_builtin_line(c, "for g_ in range(%s):", tp_builtin_dim(c, w, 0));
    tp_builtin_line(c, "    mine_ = (row_ >= %.*s[g_]) & (row_ < %.*s[g_ + 1])", TP_FMT(starts->name),
                    TP_FMT(starts->name));
    tp_builtin_line(c, "    %s = where(mine_, %.*s @ %.*s[g_], %s)", out, TP_FMT(x->name), TP_FMT(w->name), out);
    return NULL;
}

const tp_builtin tp_builtin_gmm = {"gmm", "x, w, starts", "grouped matrix product: rows of group g times matrix g",
                                   write};
