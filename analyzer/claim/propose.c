#include <ctype.h>

#include "analyzer/claim/claim.h"

void tp_propose(tp_analysis *a, tp_finding *f, tp_str title, const tp_edit *edits, uint32_t n)
{
    tp_fix fix = {.title = title};
    for (uint32_t i = 0; i < n; i++)
        tp_push(a->arena, fix.edits, edits[i]);
    tp_push(a->arena, f->proposals, fix);
}

tp_str tp_source_text(const tp_analysis *a, tp_loc at)
{
    tp_str text = {a->k->source->text.p + at.start, at.end - at.start};
    if (text.n >= 2 && text.p[0] == '"')
        text = (tp_str){text.p + 1, text.n - 2};
    return text;
}

static bool is_integer(tp_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!isdigit((unsigned char)s.p[i]))
            return false;
    return s.n > 0;
}

/* An expression stands in a string, an integer may stand by itself. */
tp_edit tp_edit_expr(const tp_analysis *a, tp_loc at, tp_str text)
{
    tp_str old = {a->k->source->text.p + at.start, at.end - at.start};
    bool quoted = old.n >= 2 && old.p[0] == '"', bare = is_integer(old);
    if (quoted)
        return (tp_edit){at.start + 1, at.end - 1, text};
    return (tp_edit){at.start, at.end,
                     bare && !is_integer(text) ? tp_printf(a->arena, "\"%.*s\"", TP_FMT(text)) : text};
}

void tp_propose_expr(tp_analysis *a, tp_finding *f, tp_loc at, tp_str text)
{
    tp_edit edit = tp_edit_expr(a, at, text);
    tp_propose(a, f, tp_message(a, "use `%.*s`", TP_FMT(text)), &edit, 1);
}

tp_expr tp_without_constant(tp_analysis *a, tp_expr index)
{
    tp_poly *p = TP_NEW(a->arena, tp_poly), rest = {.ok = true};
    tp_poly_of(a->p, index, p);
    for (uint32_t i = 0; p->ok && i < p->n; i++)
        if (p->terms[i].degree > 0)
            tp_poly_add_term(&rest, &p->terms[i]);
    return p->ok && rest.n > 0 && rest.n < p->n ? tp_poly_expr(a->p, &rest) : (tp_expr){0};
}

void tp_propose_semantics(tp_analysis *a, tp_finding *f, uint32_t axis, const char *word)
{
    const tp_json *grid = tp_json_get(a->k->doc, "grid"), *semantics = tp_json_get(grid->u.items.at[axis], "semantics");
    if (semantics)
        tp_propose(a, f, tp_message(a, "declare `%.*s` `\"%s\"`", TP_FMT(a->k->axes[axis].name), word),
                   &(tp_edit){semantics->loc.start, semantics->loc.end, tp_message(a, "\"%s\"", word)}, 1);
}

void tp_propose_order(tp_analysis *a, tp_finding *f, uint32_t out, uint32_t in)
{
    const tp_json *grid = tp_json_get(a->k->doc, "grid");
    tp_edit edits[TP_MAX_RANK];
    if (in - out >= TP_MAX_RANK)
        return;
    for (uint32_t x = out; x <= in; x++) {
        tp_loc at = grid->u.items.at[x]->loc, from = grid->u.items.at[x < in ? x + 1 : out]->loc;
        edits[x - out] = (tp_edit){at.start, at.end, tp_source_text(a, from)};
    }
    tp_propose(a, f,
               tp_message(a, "move `%.*s` behind `%.*s`", TP_FMT(a->k->axes[out].name), TP_FMT(a->k->axes[in].name)),
               edits, in - out + 1);
}

void tp_propose_far(tp_analysis *a, tp_finding *f, const tp_operand *o)
{
    tp_edit edit = {o->loc.end, o->loc.end, TP_S(", \"memory_space\": \"any\"")};
    tp_propose(a, f, tp_message(a, "let `%.*s` stay where it is: `\"memory_space\": \"any\"`", TP_FMT(o->name)), &edit,
               1);
}

void tp_propose_where(tp_analysis *a, tp_finding *f, tp_str fact)
{
    const tp_json *where = tp_json_get(a->k->doc, "where"), *sizes = tp_json_get(a->k->doc, "sizes");
    tp_edit edit = {.text = tp_message(a, ",\n  \"where\": [\"%.*s\"]", TP_FMT(fact))};
    if (where && where->u.items.n) {
        edit.start = where->u.items.at[where->u.items.n - 1]->loc.end;
        edit.text = tp_message(a, ", \"%.*s\"", TP_FMT(fact));
    } else if (where) {
        edit.start = where->loc.start + 1;
        edit.text = tp_message(a, "\"%.*s\"", TP_FMT(fact));
    } else if (sizes) {
        edit.start = sizes->loc.end;
    } else {
        return;
    }
    edit.end = edit.start;
    tp_propose(a, f, tp_message(a, "require `%.*s`", TP_FMT(fact)), &edit, 1);
    f->proposals.at[f->proposals.len - 1].requires = fact;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

void tp_propose_everywhere(tp_analysis *a, tp_finding *f, int64_t old, int64_t value)
{
    static const char *const KEYS[] = {"grid", "inputs", "outputs", "scratch", "kernel"};
    enum { PARTS = sizeof KEYS / sizeof *KEYS };
    const tp_json *parts[PARTS];
    tp_fix fix = {.title = tp_message(a, "use %lld instead of %lld", (long long)value, (long long)old)};
    tp_str was = tp_message(a, "%lld", (long long)old), now = tp_message(a, "%lld", (long long)value),
           text = a->k->source->text;
    for (size_t i = 0; i < PARTS; i++)
        parts[i] = tp_json_get(a->k->doc, KEYS[i]);
    for (uint32_t at = 1; at + was.n < text.n; at++) {
        if (memcmp(text.p + at, was.p, was.n) != 0 || in_word(text.p[at - 1]) || in_word(text.p[at + was.n]))
            continue;
        bool inside = false;
        for (size_t i = 0; i < PARTS; i++)
            inside |= parts[i] && at > parts[i]->loc.start && at < parts[i]->loc.end;
        if (inside)
            tp_push(a->arena, fix.edits, ((tp_edit){at, at + (uint32_t)was.n, now}));
    }
    if (fix.edits.len > 1)
        tp_push(a->arena, f->proposals, fix);
}

/* t[5, 0]; empty: no value. */
static tp_str entry_text(tp_analysis *a, const tp_table *t, const tp_expr *index, const int64_t *env)
{
    tp_buf b = {.arena = a->arena};
    int64_t at;
    tp_buf_str(&b, t->name);
    for (uint32_t d = 0; d < t->rank; d++) {
        if (tp_expr_eval(a->p, index[d], env, &at) != TP_EVAL_OK)
            return (tp_str){NULL, 0};
        tp_buf_printf(&b, "%s%lld", d ? ", " : "[", (long long)at);
    }
    tp_buf_c(&b, t->rank ? "]" : "");
    return tp_buf_view(&b);
}

tp_str tp_help_entry(tp_analysis *a, tp_expr index, tp_expr extent, const int64_t *env)
{
    const tp_expr_node n = *tp_expr_get(a->p, index);
    const tp_expr indices[TP_TABLE_RANK] = {n.a, n.b, n.c};
    tp_str most = tp_text(a, mk(a, TP_E_SUB, extent, num(a, 1))), name = {NULL, 0};
    for (uint32_t t = 0; t < a->k->ntables && n.op == TP_E_READ; t++) {
        const tp_table *table = &a->k->tables[t];
        int64_t value;
        if (table->sym != (uint32_t)n.value)
            continue;
        if (!table->contents)
            name = table->name;
        else if (tp_expr_eval(a->p, index, env, &value) == TP_EVAL_OK)
            return tp_message(a, "`%.*s` is given as %lld: give a number from 0 to %.*s",
                              TP_FMT(entry_text(a, table, indices, env)), (long long)value, TP_FMT(most));
    }
    for (uint32_t i = 0; i < a->k->ninputs && n.op == TP_E_READ; i++) /* integers in SMEM */
        if (a->k->operands[i].entries && a->k->operands[i].entries->sym == (uint32_t)n.value)
            name = a->k->operands[i].name;
    return name.n ? tp_message(a, "declare what `%.*s` holds: `\"values\": {\"min\": 0, \"max\": \"%.*s\"}`",
                               TP_FMT(name), TP_FMT(most))
                  : name;
}
