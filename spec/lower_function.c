/* Functions of programs, which are expanded where they are called. Those of a reference see the names of the functions
 * around them, with the values that these have at the time of the call, as in Python. */
#include "spec/lower.h"

/* ---- definitions ---- */

tp_thing *lower_new_function(tp_lower *l, tp_function f)
{
    tp_thing *x = TP_NEW(l->c->arena, tp_thing);
    tp_function *own = TP_NEW(l->c->arena, tp_function);
    *own = f;
    *x = (tp_thing){.kind = TP_THING_FUNCTION, .value = -1, .function = own};
    return x;
}

/* Parameters, with defaults as they are now. */
static tp_thing *written_function(tp_lower *l, const tp_node *node, uint32_t nparameters, const tp_block *body)
{
    tp_thing **defaults = TP_NEWN(l->c->arena, tp_thing *, nparameters);
    for (uint32_t i = 0; i < nparameters; i++) {
        const tp_node *p = node->kids[i];
        if (p->kind != TP_N_KEYWORD)
            continue;
        defaults[i] = lower_frozen(l, lower_object(l, p->kids[0]), p);
        if (defaults[i]->kind == TP_THING_TUPLE || defaults[i]->kind == TP_THING_ROWS ||
            (defaults[i]->kind == TP_THING_VALUE && lower_value(l, defaults[i]->value)->rank))
            lower_fail(l, p, "pass it where the function is called",
                       "a default that is an array or a list lives on between calls");
    }
    l->frame->seen = true;
    return lower_new_function(l, (tp_function){.kind = TP_FUNCTION_WRITTEN,
                                               .text = node->kind == TP_N_CALL ? node->text : TP_S("lambda"),
                                               .node = node,
                                               .nparameters = nparameters,
                                               .body = body,
                                               .defaults = defaults,
                                               .frame = l->frame});
}

tp_thing *lower_lambda(tp_lower *l, const tp_node *n)
{
    return written_function(l, n, n->nkids - 1, NULL);
}

void lower_def(tp_lower *l, const tp_syntax *s, const tp_place *b)
{
    const tp_node *f = s->value;
    tp_names none = {0};
    if (l->reference) {
        tp_thing *function = written_function(l, f, f->nkids, &s->body);
        tp_local *old = lower_own_local(l, f->text);
        lower_check_local(l, f);
        if (tp_operand_find(l->k, f->text) >= 0 || (old && (!old->object || old->loop_variable)))
            tp_raise(l->c, TP_RULE_SPEC_NAME, tp_node_loc(l->c, f), "choose another name", "`%.*s` is already taken",
                     TP_FMT(f->text));
        lower_bind(l, f, NULL, function, f, b);
        return;
    }
    if (l->level || l->calls)
        lower_fail(l, f, "define it before the first statement that uses it",
                   "functions are defined at the outer level");
    lower_check_local(l, f);
    if (lower_find_function(l, f->text) || lower_find_local(l, f->text))
        tp_raise(l->c, TP_RULE_SPEC_NAME, tp_node_loc(l->c, f), "choose another name", "`%.*s` is already taken",
                 TP_FMT(f->text));
    for (uint32_t i = 0; i < f->nkids; i++) {
        if (f->kids[i]->kind != TP_N_NAME)
            lower_fail(l, f->kids[i], "pass it where the function is called", "defaults are for references");
        lower_check_local(l, f->kids[i]);
        tp_scope_add(l->c, &none, f->kids[i]->text, TP_NAME_LOCAL, 0, tp_node_loc(l->c, f->kids[i]));
    }
    tp_push(l->c->arena, l->functions, s);
}

/* ---- calls ---- */

/* By parameter: what is passed, or its default. */
static tp_thing **bind_arguments(tp_lower *l, const tp_function *f, const tp_arguments *args, const tp_node *n)
{
    tp_thing **out = TP_NEWN(l->c->arena, tp_thing *, f->nparameters);
    if (args->len > f->nparameters || (args->len < f->nparameters && !l->reference))
        lower_fail(l, n, NULL, "`%.*s` takes %u argument%s, not %u", TP_FMT(f->text), f->nparameters,
                   f->nparameters == 1 ? "" : "s", args->len);
    for (uint32_t i = 0; i < args->len; i++) {
        const tp_argument *a = &args->at[i];
        uint32_t at = i;
        if (a->keyword.n)
            for (at = 0; at < f->nparameters && !tp_str_eq(f->node->kids[at]->text, a->keyword);)
                at++;
        if (at == f->nparameters)
            lower_fail(l, n, NULL, "`%.*s` has no argument `%.*s`", TP_FMT(f->text), TP_FMT(a->keyword));
        if (out[at])
            lower_fail(l, n, NULL, "argument `%.*s` is given twice", TP_FMT(f->node->kids[at]->text));
        out[at] = a->object;
    }
    for (uint32_t i = 0; i < f->nparameters; i++) {
        out[i] = out[i] ? out[i] : f->defaults ? f->defaults[i] : NULL;
        if (!out[i])
            lower_fail(l, n, NULL, "`%.*s` needs the argument `%.*s`", TP_FMT(f->text), TP_FMT(f->node->kids[i]->text));
    }
    return out;
}

/* Where a call has come to. */
typedef struct call {
    tp_frame frame, *outer;
    const tp_syntax *syntax;
    tp_region *region;
    uint32_t base;
    tp_thing *returned;
    bool *open;
} call;

static void begin_call(tp_lower *l, call *c, const tp_function *f, const tp_node *n)
{
    if (l->calls == TP_MAX_CALLS)
        lower_fail(l, n, "functions are expanded where they are called; they cannot call themselves",
                   "calls of functions are nested too deep");
    c->outer = l->frame;
    c->syntax = l->syntax;
    c->region = l->region;
    c->base = l->base;
    c->returned = l->returned;
    c->open = l->open;
    tp_frame *frame = TP_NEW(l->c->arena, tp_frame);
    *frame = (tp_frame){.lexical = f->frame, .base = l->locals.len, .branch = l->branch};
    if (f->body)
        lower_note_assigned(l, f->body, 1, &frame->assigned);
    l->frame->top = l->locals.len;
    l->frame = frame;
    l->open = lower_open(l); /* a function sees no buffers of a `with` around its call */
    l->base = l->locals.len;
    l->calls++;
    l->level++;
    l->returned = NULL;
}

static tp_thing *end_call(tp_lower *l, call *c)
{
    tp_thing *result = l->returned;
    tp_frame *frame = l->frame;
    if (frame->seen) {
        frame->nkept = l->locals.len - frame->base;
        frame->kept = TP_NEWN(l->c->arena, tp_local, frame->nkept);
        if (frame->nkept)
            memcpy(frame->kept, &l->locals.at[frame->base], frame->nkept * sizeof *frame->kept);
    }
    frame->done = true;
    lower_drop_locals(l, frame->base);
    l->level--;
    l->calls--;
    l->returned = c->returned;
    l->open = c->open;
    l->base = c->base;
    l->frame = c->outer;
    l->region = c->region;
    l->syntax = c->syntax;
    return result;
}

static bool is_named_again(const tp_arguments *args, tp_str keyword)
{
    for (uint32_t i = 0; keyword.n && i < args->len; i++)
        if (tp_str_eq(args->at[i].keyword, keyword))
            return true;
    return false;
}

tp_thing *lower_apply(tp_lower *l, const tp_function *f, const tp_arguments *args, const tp_node *n)
{
    call c;
    tp_arguments all = {0};
    tp_place place = {.at = 0};
    if (f->kind == TP_FUNCTION_PARTIAL) {
        const tp_arguments *both[] = {&f->arguments, args};
        for (int named = 0; named < 2; named++)
            for (int k = 0; k < 2; k++)
                for (uint32_t i = 0; i < both[k]->len; i++)
                    if ((both[k]->at[i].keyword.n > 0) == named && (k || !is_named_again(args, both[k]->at[i].keyword)))
                        tp_push(l->c->arena, all, both[k]->at[i]);
        return l->call(l, f->inner, &all, n);
    }
    lower_spend_statement(l, n);
    tp_thing **values = bind_arguments(l, f, args, n);
    begin_call(l, &c, f, n);
    if (f->body)
        lower_note_assigned(l, f->body, 0, &place.nested);
    uint32_t named = l->p->names.len;             /* which parameters are not */
    for (uint32_t i = 0; i < f->nparameters; i++) /* a parameter is a local of its own, as wide as what is passed */
        lower_define(l, f->node->kids[i], n, values[i], &place);
    l->p->names.len = named;
    l->frame->last = f->body;
    if (f->body)
        l->statements(l, f->body, l->region);
    else
        l->returned = lower_object(l, f->node->kids[f->node->nkids - 1]);
    if (l->returned)
        l->returned = lower_frozen(l, l->returned, n);
    return end_call(l, &c);
}

tp_thing *lower_expand(tp_lower *l, const tp_syntax *function, const tp_node *n)
{
    const tp_node *head = function->value;
    tp_arguments args = lower_arguments(l, n, 0);
    tp_function f = {.kind = TP_FUNCTION_WRITTEN,
                     .text = head->text,
                     .node = head,
                     .nparameters = head->nkids,
                     .body = &function->body};
    return lower_apply(l, &f, &args, n);
}
