/* Numbers at which something may happen: constants of the spec, and what
 * follows from its index maps. */
#include <ctype.h>

#include "verify/opinion.h"

enum { FAR = 1 << 24 };

static void note(tp_numbers *n, int64_t c)
{
    if (c < 3 || c > FAR)
        return;
    for (uint32_t i = 0; i < n->n; i++)
        if (n->at[i] == c)
            return;
    if (n->n == TP_MAX_NUMBERS)
        n->left_out++;
    else
        n->at[n->n++] = c;
}

/* Integers in a text, but for those in names and floats. */
static void note_text(tp_numbers *n, tp_str s)
{
    for (size_t i = 0; i < s.n;) {
        if (!isalnum((unsigned char)s.p[i]) && s.p[i] != '_' && s.p[i] != '.') {
            i++;
            continue;
        }
        bool digits = true;
        int64_t v = 0;
        for (; i < s.n && (isalnum((unsigned char)s.p[i]) || s.p[i] == '_' || s.p[i] == '.'); i++) {
            digits = digits && isdigit((unsigned char)s.p[i]);
            v = digits && v < FAR ? 10 * v + (s.p[i] - '0') : v;
        }
        if (digits)
            note(n, v);
    }
}

static void note_json(tp_numbers *n, const tp_json *v)
{
    if (v->type == TP_J_INT)
        note(n, v->u.integer);
    else if (v->type == TP_J_STRING)
        note_text(n, v->u.string);
    for (uint32_t i = 0; (v->type == TP_J_ARRAY || v->type == TP_J_OBJECT) && i < v->u.items.n; i++)
        note_json(n, v->u.items.at[i]);
}

static bool is_power_of_two(int64_t c)
{
    return (c & (c - 1)) == 0;
}

/* ---- what index maps say ---- */

/* Start of a window in a dimension, in elements. */
static bool start_of(const tp_kernel *k, const tp_dim *d, const int64_t *env, int64_t *start)
{
    int64_t block, pad = 0;
    if (tp_expr_eval(k->exprs, d->index, env, start) != TP_EVAL_OK ||
        tp_expr_eval(k->exprs, d->block, env, &block) != TP_EVAL_OK || block < 1 || *start > FAR || *start < -FAR ||
        block > FAR)
        return false;
    if (d->kind != TP_DIM_ELEMENT)
        *start *= block;
    else if (tp_expr_eval(k->exprs, d->pad_lo, env, &pad) == TP_EVAL_OK)
        *start -= pad;
    return true;
}

/* How far the windows of an output and of the input whose array it shares lie
 * apart in the middle of the grid. */
static void note_distances(tp_numbers *n, const tp_kernel *k, int64_t *env)
{
    int64_t steps, written, read;
    for (uint32_t x = 0; x < k->naxes; x++)
        env[k->axes[x].sym] = tp_expr_eval(k->exprs, k->axes[x].steps, env, &steps) == TP_EVAL_OK ? steps / 2 : 0;
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++) {
        const tp_operand *out = &k->operands[i];
        for (uint32_t d = 0; out->alias >= 0 && d < out->rank; d++)
            if (start_of(k, &out->dims[d], env, &written) && start_of(k, &k->operands[out->alias].dims[d], env, &read))
                note(n, written > read ? written - read : read - written);
    }
}

static void note_extents(tp_numbers *n, const tp_kernel *k, const int64_t *env)
{
    int64_t v;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        for (uint32_t d = 0; d < k->operands[i].rank; d++) {
            const tp_dim *x = &k->operands[i].dims[d];
            if (tp_expr_eval(k->exprs, x->block, env, &v) == TP_EVAL_OK)
                note(n, v);
            if (x->kind == TP_DIM_ELEMENT && tp_expr_eval(k->exprs, x->pad_lo, env, &v) == TP_EVAL_OK)
                note(n, v);
        }
}

/* Distances, then body and reference before the rest; what is no power of two
 * before what is. */
tp_numbers tp_numbers_of(tp_arena *a, const tp_kernel *k, const int64_t *env)
{
    static const char *const KEYS[] = {"kernel",          "reference", "grid",   "inputs",
                                       "outputs",         "scratch",   "sizes",  "where",
                                       "scalar_prefetch", "contracts", "prepare"};
    int64_t *at = tp_env_copy(a, k, env);
    tp_numbers all = {.n = 0}, sorted = {.n = 0};
    note_distances(&all, k, at);
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        const tp_json *v = tp_json_get(k->doc, KEYS[i]);
        if (v)
            note_json(&all, v);
    }
    note_extents(&all, k, env);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < all.n; i++)
            if (is_power_of_two(all.at[i]) == (pass == 1))
                sorted.at[sorted.n++] = all.at[i];
        sorted.unusual = pass ? sorted.unusual : sorted.n;
    }
    sorted.left_out = all.left_out;
    return sorted;
}
