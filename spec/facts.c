#include "spec/facts.h"
#include "base/assert.h"

const char *tp_fact_names(unsigned ids)
{
    static const char *const NAMES[] = {"", "F1", "F2", "F1, F2"};
    return NAMES[ids & TP_FACTS_ALL];
}

const char *tp_fact_text(unsigned id)
{
    return id == TP_FACT_F1 ? "each array has fewer than 2^31 elements" : "each array dimension is at most 2^30";
}

/* Does e mention a size whose author wants it above 2^30? */
static bool mentions_large(const tp_kernel *k, tp_expr e)
{
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (tp_is_open_size(&k->sizes[i]) && k->sizes[i].max > TP_SIZE_MAX &&
            tp_expr_mentions(k->exprs, e, k->sizes[i].sym))
            return true;
    return false;
}

/* The greatest value of a number, or of a size by its own bounds; -1: another expression. */
static int64_t greatest(const tp_kernel *k, tp_expr e)
{
    int64_t v;
    if (tp_expr_is_const(k->exprs, e, &v))
        return v < 0 ? 0 : v;
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (tp_is_open_size(&k->sizes[i]) && tp_same(e, k->sizes[i].expr))
            return k->sizes[i].max;
    return -1;
}

static void add(tp_arena *a, tp_implicit_facts *out, unsigned id, tp_expr says)
{
    for (uint32_t i = 0; i < out->len; i++)
        if (out->at[i].id == id && tp_same(out->at[i].says, says))
            return;
    tp_push(a, *out, ((tp_implicit_fact){id, says}));
}

static void of_dimensions(tp_arena *a, const tp_kernel *k, const tp_operand *o, tp_implicit_facts *out)
{
    const tp_expr *shape = tp_global_shape(o);
    for (uint32_t d = 0; d < tp_global_rank(o); d++) {
        int64_t most = greatest(k, shape[d]);
        if ((most < 0 || most > TP_SIZE_MAX) && !mentions_large(k, shape[d]))
            add(a, out, TP_FACT_F2, tp_op2(k->exprs, TP_E_LE, shape[d], tp_const(k->exprs, TP_SIZE_MAX)));
    }
}

static void of_elements(tp_arena *a, const tp_kernel *k, const tp_operand *o, tp_implicit_facts *out)
{
    int64_t most = 1;
    tp_expr elements = tp_const(k->exprs, 1);
    const tp_expr *shape = tp_global_shape(o);
    for (uint32_t d = 0; d < tp_global_rank(o); d++) {
        int64_t m = greatest(k, shape[d]);
        most = most < 0 || m < 0 || m > INT32_MAX || (m && most > INT32_MAX / m) ? -1 : most * m;
        elements = tp_op2(k->exprs, TP_E_MUL, elements, shape[d]);
    }
    if (most < 0)
        add(a, out, TP_FACT_F1, tp_op2(k->exprs, TP_E_LE, elements, tp_const(k->exprs, INT32_MAX)));
}

bool tp_facts_among(const tp_implicit_facts *facts, unsigned id)
{
    for (uint32_t i = 0; i < facts->len; i++)
        if (facts->at[i].id == id)
            return true;
    return false;
}

void tp_implicit_facts_of(tp_arena *a, const tp_kernel *k, tp_implicit_facts *out)
{
    *out = (tp_implicit_facts){0};
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        of_dimensions(a, k, &k->operands[i], out);
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        of_elements(a, k, &k->operands[i], out);
    for (uint32_t i = 1; tp_asserts() && i < out->len; i++)
        tp_assert(out->at[i - 1].id >= out->at[i].id); /* F2 first */
}
