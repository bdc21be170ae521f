/* Statements that a spec says in one word, written in the language. */
#include "spec/lower.h"

tp_str lower_free_name(const tp_lower *l, tp_str wish)
{
    const tp_kernel *k = l->k;
    tp_str name = wish;
    for (uint32_t n = 1;; n++) {
        bool taken = tp_size_find(k, name) || tp_named_number_find(k, name) || tp_axis_find(k, name) >= 0 ||
                     tp_table_find(k, name) >= 0 || tp_operand_find(k, name) >= 0;
        for (uint32_t i = 0; i < k->ndtypes; i++)
            taken |= tp_str_eq(k->dtypes[i].name, name);
        for (uint32_t i = 0; i < l->locals.len; i++)
            taken |= tp_str_eq(l->locals.at[i].name, name);
        if (!taken)
            return name;
        name = tp_printf(l->c->arena, "%.*s_%u", TP_FMT(wish), n);
    }
}

static void move_node(tp_node *n, const tp_json *to)
{
    n->source = to;
    n->from = 0;
    n->to = (uint32_t)to->u.string.n;
    for (uint32_t i = 0; i < n->nkids; i++)
        move_node(n->kids[i], to);
}

static void move_block(const tp_block *b, const tp_json *to)
{
    for (uint32_t i = 0; i < b->len; i++) {
        tp_syntax *s = b->at[i];
        tp_node *nodes[] = {s->target, s->note, s->value};
        s->line = to;
        s->number = 0;
        for (size_t k = 0; k < 3; k++)
            if (nodes[k])
                move_node(nodes[k], to);
        move_block(&s->body, to);
        move_block(&s->orelse, to);
    }
}

void lower_written(tp_lower *l, const tp_json *at, tp_str text)
{
    TP_VEC(tp_json *) lines = {0};
    for (size_t from = 0, to; from <= text.n; from = to + 1) {
        const char *end = from < text.n ? memchr(text.p + from, '\n', text.n - from) : NULL;
        to = end ? (size_t)(end - text.p) : text.n;
        tp_json *line = TP_NEW(l->c->arena, tp_json);
        *line = *at;
        line->u.string = (tp_str){text.p + from, to - from};
        tp_push(l->c->arena, lines, line);
    }
    tp_json all = {.type = TP_J_ARRAY, .loc = at->loc, .u.items = {.at = lines.at, .n = lines.len}};
    tp_block block = tp_parse_program(l->c, &all);
    move_block(&block, at);
    lower_statements(l, &block, l->region);
}
