/* Pipelines as the loops that they stand for: names, declarations, statements. */
#include "spec/pipeline_writer.h"

/* ---- names ---- */

static void take(writer *w, tp_str text)
{
    if (!tp_map_get(&w->taken, text))
        tp_map_set(w->c->arena, &w->taken, text, 1);
}

tp_str pipe_fresh(writer *w, tp_str wish)
{
    tp_str text = wish;
    for (uint32_t i = 1; tp_map_get(&w->taken, text); i++)
        text = tp_printf(w->c->arena, "%.*s_%u", TP_FMT(wish), i);
    take(w, text);
    return text;
}

static bool take_name(const tp_node *n, void *ctx)
{
    if (n->kind == TP_N_NAME || n->kind == TP_N_CALL || n->kind == TP_N_KEYWORD)
        take(ctx, n->text);
    return false;
}

static const tp_json *entry_named(const tp_json *list, tp_str text)
{
    for (uint32_t i = 0; list && list->type == TP_J_ARRAY && i < list->u.items.n; i++) {
        const tp_json *v = list->u.items.at[i], *found = v->type == TP_J_OBJECT ? tp_json_get(v, "name") : NULL;
        if (found && found->type == TP_J_STRING && tp_str_eq(found->u.string, text))
            return v;
    }
    return NULL;
}

const tp_json *pipe_array_named(writer *w, tp_str text, bool *output)
{
    const tp_json *v = entry_named(tp_json_get(w->r->k->doc, "inputs"), text);
    *output = !v;
    return v ? v : entry_named(tp_json_get(w->r->k->doc, "outputs"), text);
}

/* Names of pipelines and of their windows belong to the spec's namespace; several pipelines may have an axis of one
 * name. */
static void declare(writer *w, const tp_json *string, bool is_axis)
{
    uint32_t before = w->declared.len;
    tp_scope_add(w->c, &w->declared, string->u.string, TP_NAME_LOCAL, 0, string->loc);
    if (is_axis)
        tp_push(w->c->arena, w->axis_names, w->declared.at[w->declared.len = before]);
}

/* Axes, which are declared by themselves, are no names of anything else. */
static void check_axis_names(writer *w)
{
    for (uint32_t i = 0; i < w->axis_names.len; i++) {
        uint32_t before = w->declared.len;
        tp_scope_add(w->c, &w->declared, w->axis_names.at[i].name, TP_NAME_LOCAL, 0, w->axis_names.at[i].loc);
        w->declared.len = before;
    }
}

static void declare_others(writer *w)
{
    static const char *const OTHERS[] = {"inputs", "outputs", "scratch"};
    for (uint32_t i = 0; i < w->r->names.len; i++)
        tp_push(w->c->arena, w->declared, w->r->names.at[i]);
    for (size_t k = 0; k < 3; k++) {
        const tp_json *list = tp_json_get(w->r->k->doc, OTHERS[k]);
        for (uint32_t i = 0; list && list->type == TP_J_ARRAY && i < list->u.items.n; i++) {
            const tp_json *v = list->u.items.at[i], *string = v->type == TP_J_OBJECT ? tp_json_get(v, "name") : NULL;
            if (string && string->type == TP_J_STRING)
                tp_push(w->c->arena, w->declared, ((tp_name){.name = string->u.string, .loc = string->loc}));
        }
    }
}

/* ---- declarations ---- */

static void find_statements(writer *w, tp_block *b)
{
    for (uint32_t i = 0; i < b->len; i++) {
        tp_syntax *s = b->at[i];
        w->nstatements++;
        for (uint32_t p = 0; p < w->n && s->kind == TP_S_EXPR && s->value->kind == TP_N_CALL; p++)
            if (tp_str_eq(w->all[p].name, s->value->text)) {
                s->kind = TP_S_PIPELINE;
                s->pipeline = &w->all[p];
            }
        find_statements(w, &s->body);
        find_statements(w, &s->orelse);
    }
}

static const char *const LISTS[] = {"inputs", "outputs"};

static void read_declaration(writer *w, tp_pipeline *p, const tp_json *v)
{
    static const tp_object OBJECTS[] = {TP_OBJECT_PIPELINE_INPUT, TP_OBJECT_PIPELINE_OUTPUT};
    tp_check_members(w->c, v, TP_OBJECT_PIPELINE);
    const tp_json *string = tp_member(w->c, v, "name", TP_J_STRING, true), *body = tp_json_get(v, "kernel"),
                  *grid = tp_member(w->c, v, "grid", TP_J_ARRAY, false);
    *p = (tp_pipeline){string->u.string, v, {0}};
    declare(w, string, false);
    if (grid && grid->u.items.n > TP_MAX_AXES)
        tp_raise(w->c, TP_RULE_SPEC_VALUE, grid->loc, NULL, "more than %d axes of a pipeline", TP_MAX_AXES);
    for (uint32_t i = 0; grid && i < grid->u.items.n; i++) {
        tp_check_members(w->c, grid->u.items.at[i], TP_OBJECT_PIPELINE_AXIS);
        declare(w, tp_member(w->c, grid->u.items.at[i], "axis", TP_J_STRING, true), true);
        if (!tp_json_get(grid->u.items.at[i], "steps"))
            tp_raise(w->c, TP_RULE_SPEC_STRUCTURE, grid->u.items.at[i]->loc,
                     "write {\"axis\": \"k\", \"steps\": \"cdiv(K, bk)\"}", "the key \"steps\" is missing here");
    }
    for (int list = 0; list < 2; list++) {
        const tp_json *all = tp_member(w->c, v, LISTS[list], TP_J_ARRAY, false);
        for (uint32_t i = 0; all && i < all->u.items.n; i++) {
            tp_check_members(w->c, all->u.items.at[i], OBJECTS[list]);
            declare(w, tp_member(w->c, all->u.items.at[i], "name", TP_J_STRING, true), false);
        }
    }
    if (!body)
        tp_raise(w->c, TP_RULE_SPEC_STRUCTURE, v->loc, "write the statements of one step",
                 "the key \"kernel\" is missing here");
    p->body = tp_parse_program(w->c, body);
    if (!p->body.len)
        tp_raise(w->c, TP_RULE_SPEC_VALUE, body->loc, "write the statements of one step", "the pipeline does nothing");
}

/* ---- one of them: its step ---- */

void pipe_count_steps(const writer *w, tp_node **at)
{
    tp_node *n = *at;
    bool asks = n->kind == TP_N_CALL && tp_str_is(n->text, "num_programs") && n->nkids == 1;
    for (const writer *of = w; of && asks; of = of->outer)
        for (uint32_t i = 0; i < of->naxes; i++)
            if (n->kids[0]->kind == TP_N_NAME && tp_str_eq(n->kids[0]->text, of->axes[i].name)) {
                *at = of->axes[i].steps;
                return;
            }
    for (uint32_t i = 0; n->kind != TP_N_INT && n->kind != TP_N_FLOAT && i < n->nkids; i++)
        if (n->kids[i])
            pipe_count_steps(w, &n->kids[i]);
}

/* Windows as the loop has them. */
static void rename_node(const writer *w, tp_node *n)
{
    for (const writer *of = w; of && n; of = of->outer)
        for (uint32_t i = 0; n->kind == TP_N_NAME && i < of->nwindows; i++)
            if (tp_str_eq(n->text, of->windows[i].name_string->u.string)) {
                n->text = of->windows[i].name;
                return;
            }
    for (uint32_t i = 0; n && n->kind != TP_N_INT && n->kind != TP_N_FLOAT && i < n->nkids; i++)
        rename_node(w, n->kids[i]);
}

/* The step's names as the loop has them. */
static void rename_block(const writer *w, tp_block *b)
{
    for (uint32_t i = 0; i < b->len; i++) {
        tp_syntax *s = b->at[i];
        tp_node **parts[] = {&s->target, &s->note, &s->value};
        for (size_t k = 0; k < 3; k++)
            if (*parts[k]) {
                rename_node(w, *parts[k]);
                pipe_count_steps(w, parts[k]);
            }
        s->number = w->number;
        rename_block(w, &s->body);
        rename_block(w, &s->orelse);
    }
}

/* ---- all of them ---- */

static void write_under(writer *w, tp_block *b);

static void write_one(writer *w, tp_syntax *s)
{
    const tp_pipeline *p = s->pipeline;
    for (uint32_t i = 0; i < w->depth; i++)
        if (w->path[i] == p)
            tp_raise(w->c, TP_RULE_SPEC_TYPE, tp_node_loc(w->c, s->value), "run another one, or write a loop",
                     "the pipeline `%.*s` runs itself", TP_FMT(p->name));
    if (w->depth == TP_MAX_PIPELINE_DEPTH)
        tp_raise(w->c, TP_RULE_SPEC_TYPE, tp_node_loc(w->c, s->value), "write the innermost ones as loops",
                 "pipelines in one another, more than %d deep", TP_MAX_PIPELINE_DEPTH);
    if (w->nruns++ == TP_MAX_PIPELINE_RUNS)
        tp_raise(w->c, TP_RULE_SPEC_VALUE, tp_node_loc(w->c, s->value), "write a loop around one statement",
                 "pipelines are run by more than %d statements, those in one another written out",
                 TP_MAX_PIPELINE_RUNS);
    w->path[w->depth++] = p;
    w->used[p - w->all] = true;
    tp_block step = tp_parse_program(w->c, tp_json_get(p->declared, "kernel"));
    find_statements(w, &step);
    if (w->nstatements > TP_MAX_STATEMENTS)
        tp_raise(w->c, TP_RULE_SPEC_VALUE, tp_node_loc(w->c, s->value), NULL,
                 "the pipelines expand to more than %d statements", TP_MAX_STATEMENTS);
    writer one = *w; /* its axes and windows; names and counts go on */
    one.outer = w;
    one.nwindows = one.ninputs = one.naxes = 0;
    one.number = w->depth == 1 ? s->number : w->number;
    pipe_read_axes(&one, p);
    pipe_read_windows(&one, p, s, &s->body);
    rename_block(&one, &step);
    write_under(&one, &step);
    one.step = step;
    pipe_check_apart(&one, s);
    pipe_write_loop(&one, &s->body);
    w->taken = one.taken;
    w->opened = one.opened;
    w->nstatements = one.nstatements;
    w->nruns = one.nruns;
    w->depth--;
}

static void write_under(writer *w, tp_block *b)
{
    for (uint32_t i = 0; i < b->len; i++)
        if (b->at[i]->kind == TP_S_PIPELINE) {
            write_one(w, b->at[i]);
        } else {
            write_under(w, &b->at[i]->body);
            write_under(w, &b->at[i]->orelse);
        }
}

void tp_write_pipelines(tp_reader *r, tp_block *body)
{
    const tp_json *list = tp_member(r->c, r->k->doc, "pipelines", TP_J_ARRAY, false);
    writer w = {.r = r, .c = r->c, .n = list ? list->u.items.n : 0, .body = body};
    if (w.n > TP_MAX_PIPELINES)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, list->loc, NULL, "more than %d pipelines", TP_MAX_PIPELINES);
    w.all = TP_NEWN(r->c->arena, tp_pipeline, w.n + 1);
    w.used = TP_NEWN(r->c->arena, bool, w.n + 1);
    declare_others(&w);
    for (uint32_t i = 0; i < w.n; i++)
        read_declaration(&w, &w.all[i], list->u.items.at[i]);
    check_axis_names(&w);
    for (uint32_t i = 0; i < w.n; i++)
        find_statements(&w, &w.all[i].body);
    find_statements(&w, body);
    for (uint32_t i = 0; i < w.declared.len; i++)
        take(&w, w.declared.at[i].name);
    pipe_find_node(&(walk){.test = take_name, .ctx = &w}, body);
    for (uint32_t i = 0; i < w.n; i++)
        pipe_find_node(&(walk){.test = take_name, .ctx = &w}, &w.all[i].body);
    write_under(&w, body);
    for (uint32_t i = 0; i < w.n; i++)
        if (!w.used[i])
            tp_raise(r->c, TP_RULE_SPEC_VALUE, w.all[i].declared->loc,
                     tp_printf(r->c->arena, "write %.*s(…) into the body, or remove it", TP_FMT(w.all[i].name)).p,
                     "no statement runs the pipeline `%.*s`", TP_FMT(w.all[i].name));
}
