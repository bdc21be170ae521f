/* prng_seed and prng_random_bits. What a chip draws is its secret; a documented stand-in takes its place: threefry2x32
 * (Salmon et al., 2011) with the seed as its key, on the number of the draw and the place of the element. The state is
 * scratch, so that the rules of scratch say where it is undefined. */
#include "spec/lower.h"

void lower_seed(tp_lower *l, const tp_node *n)
{
    tp_buf b = {.arena = l->c->arena};
    if (n->nkids < 1 || n->nkids > 2)
        lower_fail(l, n, NULL, "prng_seed takes one or two seeds, not %u", n->nkids);
    for (uint32_t i = 0; i < 2; i++) {
        tp_buf_printf(&b, TP_PRNG_STATE "[%u] = full((), ", i);
        if (i < n->nkids && n->kids[i]->kind == TP_N_KEYWORD)
            lower_fail(l, n->kids[i], NULL, "prng_seed has no parameter `%.*s`", TP_FMT(n->kids[i]->text));
        if (i < n->nkids)
            tp_print_node(&b, n->kids[i]);
        else
            tp_buf_c(&b, "0");
        tp_buf_c(&b, ", int32).astype(uint32)\n");
    }
    tp_buf_c(&b, TP_PRNG_STATE "[2] = 0");
    lower_written(l, n, tp_buf_view(&b));
}

/* The place of an element in row-major order. */
static void write_place(tp_lower *l, tp_buf *b, uint32_t rank, const tp_expr *dims, tp_str shape)
{
    tp_buf_c(b, rank ? "" : "zeros((), uint32)");
    for (uint32_t d = 0; d < rank; d++) {
        tp_buf_printf(b, "%siota(uint32, %.*s, %u)", d ? " + " : "", TP_FMT(shape), d);
        for (uint32_t k = d + 1; k < rank; k++)
            tp_buf_printf(b, " * (%.*s)", TP_FMT(tp_expr_text(l->k->exprs, dims[k])));
    }
}

tp_vid lower_random_bits(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"shape", NULL};
    static const char *const TURNS[] = {"(13, 15, 26, 6)", "(17, 29, 16, 24)"};
    const tp_node *args[1];
    tp_expr dims[TP_MAX_RANK];
    tp_buf shape = {.arena = l->c->arena}, b = {.arena = l->c->arena};
    if (l->reference)
        lower_fail(l, n, "compare what does not depend on the bits, or make the bits an input",
                   "a reference draws no random bits");
    lower_bind_args(l, n, 0, PARAMS, 1, args);
    uint32_t rank = lower_read_dims(l, args[0], dims);
    tp_buf_c(&shape, "(");
    for (uint32_t d = 0; d < rank; d++)
        tp_buf_printf(&shape, "%.*s,", TP_FMT(tp_expr_text(l->k->exprs, dims[d])));
    tp_buf_c(&shape, ")");
    tp_str of = tp_buf_view(&shape), x = lower_free_name(l, TP_S("prng_x")), y = lower_free_name(l, TP_S("prng_y")),
           r = lower_free_name(l, TP_S("prng_r"));
    tp_str key[3];
    for (uint32_t i = 0; i < 3; i++)
        key[i] = lower_free_name(l, tp_printf(l->c->arena, "prng_k%u", i));
    tp_buf_printf(&b, "def prng_draw():\n    %.*s = " TP_PRNG_STATE "[0]\n    %.*s = " TP_PRNG_STATE "[1]\n",
                  TP_FMT(key[0]), TP_FMT(key[1]));
    tp_buf_printf(&b, "    %.*s = %.*s ^ %.*s ^ 466688986\n", TP_FMT(key[2]), TP_FMT(key[0]), TP_FMT(key[1]));
    tp_buf_printf(&b, "    %.*s = zeros(%.*s, uint32) + " TP_PRNG_STATE "[2] + %.*s\n", TP_FMT(x), TP_FMT(of),
                  TP_FMT(key[0]));
    tp_buf_printf(&b, "    %.*s = ", TP_FMT(y));
    write_place(l, &b, rank, dims, of);
    tp_buf_printf(&b, " + %.*s\n", TP_FMT(key[1]));
    for (uint32_t i = 0; i < 5; i++) {
        tp_buf_printf(&b, "    for %.*s in %s:\n        %.*s = %.*s + %.*s\n", TP_FMT(r), TURNS[i % 2], TP_FMT(x),
                      TP_FMT(x), TP_FMT(y));
        tp_buf_printf(&b, "        %.*s = (%.*s << %.*s | %.*s >> 32 - %.*s) ^ %.*s\n", TP_FMT(y), TP_FMT(y), TP_FMT(r),
                      TP_FMT(y), TP_FMT(r), TP_FMT(x));
        tp_buf_printf(&b, "    %.*s = %.*s + %.*s\n    %.*s = %.*s + %.*s + %u\n", TP_FMT(x), TP_FMT(x),
                      TP_FMT(key[(i + 1) % 3]), TP_FMT(y), TP_FMT(y), TP_FMT(key[(i + 2) % 3]), i + 1);
    }
    tp_buf_printf(&b, "    " TP_PRNG_STATE "[2] = " TP_PRNG_STATE "[2] + 1\n    return bitcast(%.*s ^ %.*s, int32)",
                  TP_FMT(x), TP_FMT(y));
    return lower_written_value(l, n, tp_buf_view(&b));
}
