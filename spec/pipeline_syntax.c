/* Pipelines: nodes and statements of the language, and walks over them. */
#include "spec/pipeline_writer.h"

tp_node *pipe_node(writer *w, tp_node_kind kind, tp_str text, uint32_t n, tp_node *const *kids)
{
    tp_node *x = TP_NEW(w->c->arena, tp_node);
    *x = (tp_node){.kind = kind, .source = w->at.source, .from = w->at.from, .to = w->at.to, .text = text, .nkids = n};
    x->kids = TP_NEWN(w->c->arena, tp_node *, n + 1);
    for (uint32_t i = 0; i < n; i++)
        x->kids[i] = kids[i];
    return x;
}

tp_node *pipe_name(writer *w, tp_str text)
{
    return pipe_node(w, TP_N_NAME, text, 0, NULL);
}

tp_node *pipe_number(writer *w, int64_t v)
{
    tp_node *x = pipe_node(w, TP_N_INT, TP_S(""), 0, NULL);
    x->integer = v;
    return x;
}

tp_node *pipe_operator(writer *w, tp_operator o, tp_node *a, tp_node *b)
{
    tp_node *x = pipe_node(w, TP_N_BINARY, TP_S(""), 2, (tp_node *[]){a, b});
    x->op = o;
    return x;
}

tp_syntax *pipe_statement(writer *w, tp_block *into, tp_stmt_kind kind, tp_node *target, tp_node *value)
{
    tp_syntax *s = TP_NEW(w->c->arena, tp_syntax);
    *s = (tp_syntax){.kind = kind, .line = w->at.source, .target = target, .value = value};
    tp_push(w->c->arena, *into, s);
    return s;
}

/* What is made from here on stands at this string or number. */
void pipe_stand_at(writer *w, const tp_json *v)
{
    w->at = (tp_node){.source = v, .to = v->type == TP_J_STRING ? (uint32_t)v->u.string.n : 1};
}

tp_node *pipe_expression(writer *w, const tp_json *v, const char *what)
{
    if (v->type == TP_J_INT)
        return tp_number_node(w->c, v);
    if (v->type != TP_J_STRING)
        tp_raise(w->c, TP_RULE_SPEC_STRUCTURE, v->loc, NULL, "%s is an integer or an expression, not %s", what,
                 tp_json_type_name(v->type));
    return tp_parse_expr(w->c, v);
}

bool pipe_is_number(const tp_node *n, int64_t v)
{
    return n->kind == TP_N_INT && n->integer == v;
}

/* ---- walks over what is written ---- */

const tp_node *pipe_find_in_node(const tp_node *n, node_test test, void *ctx)
{
    if (!n || test(n, ctx))
        return n;
    for (uint32_t i = 0; n->kind != TP_N_INT && n->kind != TP_N_FLOAT && i < n->nkids; i++) {
        const tp_node *found = pipe_find_in_node(n->kids[i], test, ctx);
        if (found)
            return found;
    }
    return NULL;
}

static bool test_with_calls(const tp_node *n, void *ctx)
{
    const walk *f = ctx;
    bool found = f->test(n, f->ctx);
    for (uint32_t i = 0; !found && n->kind == TP_N_CALL && f->functions && i < f->functions->len; i++) {
        const tp_syntax *s = f->functions->at[i];
        walk deeper = *f;
        if (s->kind == TP_S_DEF && tp_str_eq(s->value->text, n->text) && deeper.depth++ < TP_MAX_CALLS)
            found = pipe_find_node(&deeper, &s->body) != NULL;
    }
    return found;
}

const tp_node *pipe_find_with_calls(const walk *f, const tp_node *n)
{
    walk here = *f;
    return pipe_find_in_node(n, test_with_calls, &here);
}

const tp_node *pipe_find_node(const walk *f, const tp_block *b)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        const tp_node *parts[] = {s->target, s->note, s->value}, *found = NULL;
        if (f->statement && f->statement(s, f->ctx))
            return s->target;
        for (size_t k = 0; k < 3 && !found; k++)
            found = pipe_find_with_calls(f, parts[k]);
        if (!found)
            found = pipe_find_node(f, &s->body);
        if (!found)
            found = pipe_find_node(f, &s->orelse);
        if (found)
            return found;
    }
    return NULL;
}

bool pipe_same(const tp_node *a, const tp_node *b)
{
    if (!a || !b || a->kind != b->kind || a->op != b->op || !tp_str_eq(a->text, b->text))
        return a == b;
    if (a->kind == TP_N_INT)
        return a->integer == b->integer;
    bool same = a->kind != TP_N_FLOAT && a->nkids == b->nkids; /* no index is one */
    for (uint32_t i = 0; same && i < a->nkids; i++)
        same = pipe_same(a->kids[i], b->kids[i]);
    return same;
}

bool pipe_is_name(const tp_node *n, void *text)
{
    return n->kind == TP_N_NAME && tp_str_eq(n->text, *(const tp_str *)text);
}

bool pipe_mentions(const tp_node *n, tp_str text)
{
    return pipe_find_in_node(n, pipe_is_name, &text) != NULL;
}

bool pipe_follows(const writer *w, const tp_node *n, const axis *a)
{
    if (n->kind == TP_N_NAME && tp_str_eq(n->text, a->name))
        return true;
    for (int i = 0; n->kind == TP_N_BINARY && n->op == TP_O_MUL && i < 2; i++)
        if (n->kids[i]->kind == TP_N_INT && n->kids[i]->integer > 0)
            return pipe_follows(w, n->kids[1 - i], a);
    if (n->kind != TP_N_BINARY || (n->op != TP_O_ADD && n->op != TP_O_SUB))
        return false;
    bool left = pipe_follows(w, n->kids[0], a), right = pipe_follows(w, n->kids[1], a);
    for (uint32_t i = 0; i < w->naxes; i++)
        if (pipe_mentions(n->kids[left ? 1 : 0], w->axes[i].name))
            return false;
    return left != right;
}

/* The argument of a call by its keyword or position; NULL: it has none. */
const tp_node *pipe_argument(const tp_node *call, const char *keyword, uint32_t position)
{
    for (uint32_t i = 0; i < call->nkids; i++)
        if (call->kids[i]->kind == TP_N_KEYWORD && tp_str_is(call->kids[i]->text, keyword))
            return call->kids[i]->kids[0];
    return position < call->nkids && call->kids[position]->kind != TP_N_KEYWORD ? call->kids[position] : NULL;
}

bool pipe_is_of(const tp_node *place, tp_str array)
{
    return place && (place->kind == TP_N_INDEX ? pipe_is_name(place->kids[0], &array) : pipe_is_name(place, &array));
}

static const tp_node *assigns(const tp_block *b, tp_str text)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        bool binds = s->kind == TP_S_ASSIGN || s->kind == TP_S_UNPACK;
        const tp_node *found = binds ? pipe_find_in_node(s->target, pipe_is_name, &text) : NULL;
        if (!found)
            found = assigns(&s->body, text);
        if (!found)
            found = assigns(&s->orelse, text);
        if (found)
            return found;
    }
    return NULL;
}

const tp_node *tp_pipeline_assigns(const tp_pipeline *p, tp_str name)
{
    return assigns(&p->body, name);
}
