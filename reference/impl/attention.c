#include "reference/reference.h"

/* softmax(q @ k.T * scale) @ v per head (Vaswani et al., 2017); scale is 1 / sqrt(D).
 *
 * q is (H, S, D), k and v are (Hk, T, D): H / Hk query heads share a key head (Ainslie et al., 2023). Or all have a
 * batch in front. With "length" (a table of the batch), keys from there on are not seen; with "pages" (a table: batch,
 * page of the sequence), k and v are (Hk, N, page, D) (Kwon et al., 2023).
 *
 * Query s sees key t where all of these hold: "causal": t <= s; "window": s - t < window, or t < sinks (Xiao et al.,
 * 2023); "q_segments", "k_segments" (inputs (S) and (T)): they are equal. "soft_cap": c * tanh(score / c). */

typedef struct heads {
    const tp_operand *q, *k, *v, *q_segments, *k_segments;
    const char *scale, *window, *sinks, *cap, *length;
    const tp_table *pages;
    bool causal, batched;
} heads;

static const char *read_heads(const tp_builtin_call *c, heads *h)
{
    static const uint32_t NONE = UINT32_MAX;
    *h = (heads){.q = tp_builtin_input(c, "q", 0),
                 .k = tp_builtin_input(c, "k", 1),
                 .v = tp_builtin_input(c, "v", 2),
                 .q_segments = tp_builtin_input(c, "q_segments", NONE),
                 .k_segments = tp_builtin_input(c, "k_segments", NONE),
                 .scale = tp_builtin_text(c, "scale", NULL),
                 .window = tp_builtin_text(c, "window", NULL),
                 .sinks = tp_builtin_text(c, "sinks", "0"),
                 .cap = tp_builtin_text(c, "soft_cap", NULL),
                 .length = tp_builtin_text(c, "length", NULL),
                 .pages = tp_builtin_table(c, "pages"),
                 .causal = tp_builtin_flag(c, "causal")};
    const tp_operand *q = h->q, *k = h->k, *v = h->v;
    if (!q || !k || !v || (q->rank != 3 && q->rank != 4) || k->rank != q->rank || v->rank != q->rank)
        return "it needs inputs q, k and v, all of rank 3 or all of rank 4";
    h->batched = q->rank == 4;
    if (!h->batched && (h->pages || h->length))
        return "\"pages\" and \"length\" need q, k and v of rank 4";
    if (h->pages && h->pages->rank != 2)
        return "\"pages\" is a table of rank 2";
    if (!h->q_segments != !h->k_segments)
        return "\"q_segments\" and \"k_segments\" come together";
    return NULL;
}

/* s_ is (H, S, T), values_ (H, T, D). */
static void write_scores(tp_builtin_call *c, const heads *h, const char *keys)
{
    const char *all = tp_builtin_dim(c, h->q, 0), *shared = tp_builtin_dim(c, h->k, 0);
    tp_builtin_line(c, "head_ = iota(int32, (%s,), 0) // (%s // %s)", all, all, shared);
    tp_builtin_line(c, "s_ = dot(%.*s, take(%.*s, head_), contract=((2,), (2,)), batch=((0,), (0,)))",
                    TP_FMT(h->q->name), TP_FMT(h->k->name));
    if (h->scale)
        tp_builtin_line(c, "s_ = s_.astype(float32) * %s", h->scale);
    else
        tp_builtin_line(c, "s_ = s_.astype(float32) / sqrt(%s * full((%s, %s, %s), 1, float32))",
                        tp_builtin_dim(c, h->q, 2), all, tp_builtin_dim(c, h->q, 1), keys);
    tp_builtin_line(c, "values_ = take(%.*s, head_).astype(float32)", TP_FMT(h->v->name));
}

/* s_ is (B, H, S, T), values_ (B, H, T, D). */
static void write_batched_scores(tp_builtin_call *c, const heads *h, const char *keys)
{
    const char *all = tp_builtin_dim(c, h->q, 1), *shared = tp_builtin_dim(c, h->k, h->pages ? 0 : 1);
    const tp_operand *const from[] = {h->k, h->v};
    static const char *const TO[] = {"keys_", "values_"};
    tp_builtin_line(c, "head_ = iota(int32, (%s,), 0) // (%s // %s)", all, all, shared);
    for (int i = 0; i < 2; i++) {
        if (h->pages)
            tp_builtin_line(c, "%s = swapaxes(%.*s[:, %.*s], 0, 1).reshape(%s, %s, %s, %s).astype(float32)", TO[i],
                            TP_FMT(from[i]->name), TP_FMT(h->pages->name), tp_builtin_dim(c, h->q, 0), shared, keys,
                            tp_builtin_dim(c, from[i], 3));
        else
            tp_builtin_line(c, "%s = %.*s.astype(float32)", TO[i], TP_FMT(from[i]->name));
        tp_builtin_line(c, "%s = take(%s, head_, axis=1)", TO[i], TO[i]);
    }
    tp_builtin_line(c, "s_ = einsum('bhsd,bhtd->bhst', %.*s.astype(float32), keys_)", TP_FMT(h->q->name));
    if (h->scale)
        tp_builtin_line(c, "s_ = s_ * %s", h->scale);
    else
        tp_builtin_line(c, "s_ = s_ / sqrt(%s)", tp_builtin_dim(c, h->q, 3));
}

static void write_mask(tp_builtin_call *c, const heads *h, const char *queries, const char *keys)
{
    if (!h->causal && !h->window && !h->q_segments)
        return;
    tp_builtin_line(c, "row_, col_ = arange(%s)[:, None], arange(%s)[None, :]", queries, keys);
    tp_builtin_line(c, "seen_ = %s", h->causal ? "col_ <= row_" : "col_ >= 0 * row_");
    if (h->window)
        tp_builtin_line(c, "seen_ = seen_ & ((row_ - col_ < %s) | (col_ < %s))", h->window, h->sinks);
    if (h->q_segments)
        tp_builtin_line(c, "seen_ = seen_ & (%.*s[:, None] == %.*s[None, :])", TP_FMT(h->q_segments->name),
                        TP_FMT(h->k_segments->name));
    tp_builtin_line(c, "s_ = where(seen_[%s], s_, -inf)", h->batched ? "None, None" : "None");
}

static const char *write(tp_builtin_call *c)
{
    heads h;
    const char *wrong = read_heads(c, &h);
    if (wrong)
        return wrong;
    const char *queries = tp_builtin_dim(c, h.q, h.batched ? 2 : 1), *keys = tp_builtin_dim(c, h.k, h.batched ? 2 : 1);
    if (h.pages) /* pages of a sequence times the rows of one */
        keys = tp_printf(c->arena, "((%.*s) * %s)", TP_FMT(tp_expr_text(c->kernel->exprs, h.pages->shape[1])), keys).p;
    if (h.batched)
        write_batched_scores(c, &h, keys);
    else
        write_scores(c, &h, keys);
    if (h.cap)
        tp_builtin_line(c, "s_ = %s * tanh(s_ / %s)", h.cap, h.cap);
    write_mask(c, &h, queries, keys);
    if (h.length)
        tp_builtin_line(c, "s_ = where((arange(%s)[None, :] < %s[:, None])[:, None, None, :], s_, -inf)", keys,
                        h.length);
    tp_builtin_line(c, "%s = softmax(s_, axis=%d) @ values_", tp_builtin_output(c), h.batched ? 3 : 2);
    return NULL;
}

const tp_builtin tp_builtin_attention = {
    "attention", "q, k, v, causal, scale, window, sinks, soft_cap, q_segments, k_segments, length, pages",
    "softmax(q k^T / sqrt(D)) v per head: masks, segments, grouped heads, lengths, pages", write};
