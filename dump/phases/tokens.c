/* What the lexer makes of body and reference. */
#include "dump/dump.h"

static void put_token(void *ctx, const char *kind, tp_str text)
{
    tp_buf_printf(ctx, " %s`%.*s`", kind, TP_FMT(text));
}

static void put_lines(tp_ctx *c, const tp_json *doc, const char *member, tp_buf *b)
{
    const tp_json *lines = tp_json_get(doc, member);
    for (uint32_t i = 0; lines && lines->type == TP_J_ARRAY && i < lines->u.items.n; i++) {
        tp_buf_printf(b, "%s %u:", member, i + 1);
        if (lines->u.items.at[i]->type == TP_J_STRING)
            tp_each_token(c, lines->u.items.at[i], put_token, b);
        tp_buf_c(b, "\n");
    }
}

static void print(tp_ctx *c, const tp_kernel *k, tp_buf *b)
{
    put_lines(c, k->doc, "kernel", b);
    put_lines(c, k->doc, "reference", b);
}

const tp_dump tp_dump_tokens = {"tokens", "what the lexer makes of body and reference", print};
