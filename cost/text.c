#include "cost/text.h"

/* Of the spec's first case; 0: it says nothing. */
static int64_t of_case(const tp_kernel *k, tp_str name)
{
    const tp_json *first = k->cases && k->cases->u.items.n ? k->cases->u.items.at[0] : NULL;
    const tp_json *sizes = first && first->type == TP_J_OBJECT ? tp_json_get(first, "sizes") : NULL;
    for (uint32_t i = 0; sizes && sizes->type == TP_J_OBJECT && i < sizes->u.items.n; i++)
        if (tp_str_eq(sizes->u.items.at[i]->key, name) && sizes->u.items.at[i]->type == TP_J_INT)
            return sizes->u.items.at[i]->u.integer;
    return 0;
}

/* The nearest value to `wish`; of a few, the largest. */
static int64_t nearest(const tp_size *z, int64_t wish)
{
    if (z->kind == TP_SIZE_CHOICE)
        return z->max;
    int64_t v = z->max < wish ? z->max : wish;
    v -= v % z->multiple_of;
    return v < z->min ? tp_size_least(z) : v;
}

/* Is some dimension of that extent cut into blocks of several elements? Then it counts rows, not heads. */
static bool is_tiled(const tp_kernel *k, const tp_size *z)
{
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        const tp_operand *o = &k->operands[i];
        for (uint32_t d = 0; d < o->rank; d++) {
            int64_t block;
            bool one = tp_expr_is_const(k->exprs, o->dims[d].block, &block) && block == 1;
            if (o->shape[d].id == tp_sym(k->exprs, z->sym).id && o->dims[d].block.id != o->shape[d].id && !one)
                return true;
        }
    }
    return false;
}

int64_t tp_typical_size(const tp_kernel *k, const tp_size *z, int64_t wish)
{
    enum { FEW = 16 };
    int64_t v = of_case(k, z->name);
    return nearest(z, v > 0 && v <= FEW && !is_tiled(k, z) ? v : wish);
}

tp_str tp_sizes_text(tp_arena *a, const tp_kernel *k, const int64_t *env)
{
    tp_buf b = {.arena = a};
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (tp_is_open_size(&k->sizes[i]))
            tp_buf_printf(&b, "%s%.*s = %lld", b.n ? ", " : "", TP_FMT(k->sizes[i].name),
                          (long long)env[k->sizes[i].sym]);
    return tp_buf_view(&b);
}

tp_str tp_bytes_text(tp_arena *a, int64_t bytes)
{
    static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    int u = 0;
    while (v >= 1024 && u < 6) {
        v /= 1024;
        u++;
    }
    return bytes < 0 ? TP_S("no bound") : tp_printf(a, u ? "%.2f %s" : "%.0f %s", v, UNITS[u]);
}

tp_str tp_seconds_text(tp_arena *a, double seconds)
{
    return seconds < 1e-6   ? tp_printf(a, "%.1f ns", seconds * 1e9)
           : seconds < 1e-3 ? tp_printf(a, "%.2f us", seconds * 1e6)
           : seconds < 1    ? tp_printf(a, "%.3f ms", seconds * 1e3)
                            : tp_printf(a, "%.3f s", seconds);
}
