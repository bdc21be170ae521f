/* Pipelines: the loop of copies that computes what one does. */
#include "spec/pipeline_writer.h"

static tp_node *place(writer *w, tp_str array, uint32_t n, tp_node *const *subs)
{
    tp_node *kids[TP_MAX_RANK + 1] = {pipe_name(w, array)};
    for (uint32_t i = 0; i < n; i++)
        kids[i + 1] = subs[i];
    return pipe_node(w, TP_N_INDEX, TP_S(""), n + 1, kids);
}

static tp_node *all_of(writer *w, tp_str buffer)
{
    return place(w, buffer, 1, (tp_node *[]){pipe_node(w, TP_N_ELLIPSIS, TP_S(""), 0, NULL)});
}

static void copy(writer *w, tp_block *into, tp_node *from, tp_node *to)
{
    pipe_statement(w, into, TP_S_EXPR, NULL, pipe_node(w, TP_N_CALL, TP_S("copy"), 2, (tp_node *[]){from, to}));
}

static tp_node *part(writer *w, tp_node *start, tp_node *size, tp_node *block)
{
    tp_node *n = pipe_node(w, TP_N_CALL, TP_S("ds"), block ? 3 : 2, (tp_node *[]){start, size, block});
    n->of_pipeline = block != NULL;
    return n;
}

static tp_node *start_of(writer *w, const window *x, uint32_t d)
{
    const tp_node *b = x->block[d];
    if (!b || x->element[d] || pipe_is_number(b, 1) || pipe_is_number(x->index[d], 0))
        return x->index[d];
    return pipe_operator(w, TP_O_MUL, x->index[d], x->block[d]);
}

/* The copy of one block; `shorter`: of these dimensions what there is of the last one. */
static void move_block(writer *w, const window *x, const bool *shorter, tp_block *into)
{
    tp_node *far[TP_MAX_RANK] = {NULL}, *near[TP_MAX_RANK] = {NULL};
    uint32_t n = 0;
    bool whole = true;
    for (uint32_t d = 0; d < x->rank; d++) {
        const view *v = &x->views[d];
        if (v->kind == VIEW_ONE) {
            far[d] = v->at;
            continue;
        }
        pipe_stand_at(w, x->index_at[d]);
        tp_node *start = start_of(w, x, d);
        bool none = v->kind == VIEW_ALL || pipe_is_number(v->at, 0);
        tp_node *from = none ? start : pipe_is_number(start, 0) ? v->at : pipe_operator(w, TP_O_ADD, v->at, start);
        if (!x->block[d]) {
            far[d] = from;
            continue;
        }
        tp_node *size = shorter[d] ? pipe_operator(w, TP_O_MOD, v->extent, x->block[d]) : x->block[d];
        far[d] = part(w, from, size, shorter[d] ? x->block[d] : NULL);
        near[n++] =
            shorter[d] ? part(w, pipe_number(w, 0), size, x->block[d]) : pipe_node(w, TP_N_COLON, TP_S(""), 0, NULL);
        whole &= !shorter[d];
    }
    pipe_stand_at(w, x->name_string);
    tp_node *there = place(w, x->array, x->rank, far), *here = whole ? all_of(w, x->name) : place(w, x->name, n, near);
    copy(w, into, x->output ? here : there, x->output ? there : here);
}

/* From dimension d on: in arms where the array may end within the block. */
static void move(writer *w, const window *x, uint32_t d, bool *shorter, tp_block *into)
{
    while (d < x->rank && !x->cut[d])
        shorter[d++] = false;
    if (d == x->rank) {
        move_block(w, x, shorter, into);
        return;
    }
    pipe_stand_at(w, x->index_at[d]);
    tp_node *end = pipe_operator(w, TP_O_ADD, pipe_operator(w, TP_O_MUL, x->index[d], x->block[d]), x->block[d]),
            *fits_here = pipe_operator(w, TP_O_LE, end, x->views[d].extent),
            *divides = pipe_operator(w, TP_O_EQ, pipe_operator(w, TP_O_MOD, x->views[d].extent, x->block[d]),
                                     pipe_number(w, 0));
    tp_syntax *s = pipe_statement(w, into, TP_S_IF, NULL, pipe_operator(w, TP_O_OR, fits_here, divides));
    shorter[d] = false;
    move(w, x, d + 1, shorter, &s->body);
    shorter[d] = true;
    move(w, x, d + 1, shorter, &s->orelse);
}

static void move_window(writer *w, const window *x, tp_block *into)
{
    bool shorter[TP_MAX_RANK] = {false};
    move(w, x, 0, shorter, into);
}

/* scratch(shape, dtype) of its window, of so many buffers, as the value of a `with`; 0: what is in it is undefined */
static tp_node *scratch(writer *w, const window *x, int buffers)
{
    tp_node *dims[TP_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t d = 0; d < x->rank; d++)
        if (x->block[d])
            dims[n++] = x->block[d];
    tp_node *shape = pipe_node(w, TP_N_SEQUENCE, TP_S(""), n, dims);
    tp_node *call = pipe_node(w, TP_N_CALL, TP_S("scratch"), buffers && x->smem ? 4 : 3,
                              (tp_node *[]){shape, x->dtype, pipe_number(w, buffers), pipe_name(w, TP_S("smem"))});
    call->of_pipeline = true;
    return call;
}

/* A `with` of the windows that `here` holds for; what is under it. */
static tp_block *open_windows(writer *w, const bool *here, tp_block *into)
{
    tp_node **names = TP_NEWN(w->c->arena, tp_node *, w->nwindows + 1),
            **made = TP_NEWN(w->c->arena, tp_node *, w->nwindows + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->nwindows; i++)
        if (here[i]) {
            pipe_stand_at(w, w->windows[i].name_string);
            names[n] = pipe_name(w, w->windows[i].name);
            made[n++] = scratch(w, &w->windows[i], w->windows[i].buffers);
        }
    if (!n)
        return into;
    return &pipe_statement(w, into, TP_S_WITH, pipe_node(w, TP_N_SEQUENCE, TP_S(""), n, names),
                           pipe_node(w, TP_N_SEQUENCE, TP_S(""), n, made))
                ->body;
}

/* Is this turn's block of the output another one than that of the turn before? Then the window holds nothing. */
static void watch(writer *w, window *x, tp_block *into)
{
    tp_node *changed = NULL;
    pipe_stand_at(w, x->name_string);
    for (uint32_t d = 0; d < x->rank; d++)
        if (x->index[d]) {
            tp_node *one = pipe_operator(w, TP_O_NE, x->before[d], x->index[d]);
            changed = changed ? pipe_operator(w, TP_O_OR, changed, one) : one;
        }
    tp_syntax *s = pipe_statement(w, into, TP_S_IF, NULL, changed);
    tp_node *empty = pipe_name(w, pipe_fresh(w, TP_S("nothing")));
    tp_block *with =
        &pipe_statement(w, &s->body, TP_S_WITH, pipe_node(w, TP_N_SEQUENCE, TP_S(""), 1, (tp_node *[]){empty}),
                        pipe_node(w, TP_N_SEQUENCE, TP_S(""), 1, (tp_node *[]){scratch(w, x, 0)}))
             ->body;
    copy(w, with, all_of(w, empty->text), all_of(w, x->name));
    for (uint32_t d = 0; d < x->rank; d++)
        if (x->index[d])
            pipe_statement(w, &s->body, TP_S_ASSIGN, x->before[d],
                           pipe_node(w, TP_N_CALL, TP_S("full"), 3,
                                     (tp_node *[]){pipe_node(w, TP_N_SEQUENCE, TP_S(""), 0, NULL), x->index[d],
                                                   pipe_name(w, TP_S("int32"))}));
}

/* Outputs whose index map tells in each turn anew whether the block is another one: no block is -1. */
static void begin_watch(writer *w, window *x, tp_block *into)
{
    pipe_stand_at(w, x->name_string);
    for (uint32_t d = 0; d < x->rank; d++)
        if (x->index[d]) {
            x->before[d] = pipe_name(w, pipe_fresh(w, TP_S("before")));
            tp_node *none = pipe_number(w, 1);
            none = pipe_node(w, TP_N_UNARY, TP_S(""), 1, &none);
            none->op = TP_O_NEG;
            pipe_statement(w, into, TP_S_ASSIGN, x->before[d],
                           pipe_node(w, TP_N_CALL, TP_S("full"), 3,
                                     (tp_node *[]){pipe_node(w, TP_N_SEQUENCE, TP_S(""), 0, NULL), none,
                                                   pipe_name(w, TP_S("int32"))}));
        }
}

/* The loops over the axes from `level` + 1 on, and the step in the last one. */
static void turns(writer *w, int level, tp_block *into)
{
    bool *here = TP_NEWN(w->c->arena, bool, w->nwindows + 1);
    for (uint32_t i = 0; i < w->nwindows; i++) {
        window *x = &w->windows[i];
        here[i] = x->level == level && (x->certain || !x->output);
        if (x->level == level && !here[i])
            watch(w, x, into);
    }
    tp_block *under = open_windows(w, here, into);
    for (uint32_t i = 0; i < w->ninputs; i++)
        if (here[i])
            move_window(w, &w->windows[i], under);
    if (level + 1 < (int)w->naxes) {
        const axis *a = &w->axes[level + 1];
        w->at = *a->named;
        tp_syntax *loop = pipe_statement(w, under, TP_S_FOR, a->named,
                                         pipe_node(w, TP_N_CALL, TP_S("range"), 1, (tp_node *[]){a->steps}));
        turns(w, level + 1, &loop->body);
    } else {
        for (uint32_t i = 0; i < w->step.len; i++)
            tp_push(w->c->arena, *under, w->step.at[i]);
    }
    for (uint32_t i = w->ninputs; i < w->nwindows; i++)
        if (w->windows[i].level == level)
            move_window(w, &w->windows[i], under);
}

/* Without a step nothing is copied: `if` all axes behind the first window that they do not move have one. */
static tp_block *guard(writer *w, tp_block *into)
{
    tp_node *all = NULL;
    int first = (int)w->naxes;
    for (uint32_t i = 0; i < w->nwindows; i++)
        first = w->windows[i].level + 1 < first ? w->windows[i].level + 1 : first;
    for (int i = first; i < (int)w->naxes; i++)
        if (!w->axes[i].runs) {
            w->at = *w->axes[i].named;
            tp_node *one = pipe_operator(w, TP_O_GT, w->axes[i].steps, pipe_number(w, 0));
            all = all ? pipe_operator(w, TP_O_AND, all, one) : one;
        }
    return all ? &pipe_statement(w, into, TP_S_IF, NULL, all)->body : into;
}

void pipe_write_loop(writer *w, tp_block *into)
{
    bool *watched = TP_NEWN(w->c->arena, bool, w->nwindows + 1);
    into = guard(w, into);
    for (uint32_t i = 0; i < w->nwindows; i++) {
        watched[i] = w->windows[i].output && !w->windows[i].certain;
        if (watched[i])
            begin_watch(w, &w->windows[i], into);
    }
    turns(w, -1, open_windows(w, watched, into));
}
