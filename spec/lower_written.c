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

/* Where the statements are said to be. */
typedef struct position {
    const tp_json *source;
    uint32_t from, to;
} position;

static void move_node(tp_node *n, const position *to)
{
    n->source = to->source;
    n->from = to->from;
    n->to = to->to;
    for (uint32_t i = 0; i < n->nkids; i++)
        move_node(n->kids[i], to);
}

static void move_block(const tp_block *b, const position *to)
{
    for (uint32_t i = 0; i < b->len; i++) {
        tp_syntax *s = b->at[i];
        tp_node *nodes[] = {s->target, s->note, s->value};
        s->line = to->source;
        s->number = 0;
        for (size_t k = 0; k < 3; k++)
            if (nodes[k])
                move_node(nodes[k], to);
        move_block(&s->body, to);
        move_block(&s->orelse, to);
    }
}

static tp_block parse(tp_lower *l, const position *at, tp_str text)
{
    TP_VEC(tp_json *) lines = {0};
    for (size_t from = 0, to; from <= text.n; from = to + 1) {
        const char *end = from < text.n ? memchr(text.p + from, '\n', text.n - from) : NULL;
        to = end ? (size_t)(end - text.p) : text.n;
        tp_json *line = TP_NEW(l->c->arena, tp_json);
        *line = *at->source;
        line->u.string = (tp_str){text.p + from, to - from};
        tp_push(l->c->arena, lines, line);
    }
    tp_json all = {.type = TP_J_ARRAY, .loc = at->source->loc, .u.items = {.at = lines.at, .n = lines.len}};
    tp_block block = tp_parse_program(l->c, &all);
    move_block(&block, at);
    return block;
}

tp_block lower_parse_written(tp_lower *l, const tp_node *at, tp_str text)
{
    position here = {at->source, at->from, at->to};
    return parse(l, &here, text);
}

void lower_written_at(tp_lower *l, const tp_json *at, tp_str text)
{
    position here = {at, 0, (uint32_t)at->u.string.n};
    tp_block block = parse(l, &here, text);
    l->statements(l, &block, l->region);
}

void lower_written(tp_lower *l, const tp_node *at, tp_str text)
{
    const tp_syntax *syntax = l->syntax;
    position here = {at->source, at->from, at->to};
    tp_block block = parse(l, &here, text);
    l->statements(l, &block, l->region);
    l->syntax = syntax;
}

tp_vid lower_written_value(tp_lower *l, const tp_node *at, tp_str text)
{
    position here = {at->source, at->from, at->to};
    tp_block block = parse(l, &here, text);
    tp_node call = {.kind = TP_N_CALL, .source = at->source, .from = at->from, .to = at->to};
    uint32_t known = l->functions.len;
    tp_push(l->c->arena, l->functions, block.at[0]);
    tp_thing *out = l->expand(l, block.at[0], &call);
    l->functions.len = known;
    return out->value;
}
