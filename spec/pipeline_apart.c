/* Pipelines: what copies ahead would show. */
#include "spec/pipeline_writer.h"

typedef struct asked {
    writer *w;
    const window *x;
    const tp_block *step;
} asked;

static bool writes(const tp_node *n, void *ctx)
{
    const asked *a = ctx;
    bool copies = n->kind == TP_N_CALL && (tp_str_is(n->text, "copy") || tp_str_is(n->text, "copy_start"));
    bool stores = n->kind == TP_N_CALL && tp_str_is(n->text, "store");
    return (copies && pipe_is_of(pipe_argument(n, "dst", 1), a->x->array)) ||
           (stores && pipe_is_of(pipe_argument(n, "place", 0), a->x->array));
}

/* A copy that is in flight around the pipeline and touches what this window moves. */
static bool starts(const tp_node *n, void *ctx)
{
    const asked *a = ctx;
    return n->kind == TP_N_CALL && tp_str_is(n->text, "copy_start") &&
           (pipe_is_of(pipe_argument(n, "dst", 1), a->x->array) ||
            (a->x->output && pipe_is_of(pipe_argument(n, "src", 0), a->x->array)));
}

static bool makes(const tp_block *b, tp_str semaphore)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        for (uint32_t k = 0; s->kind == TP_S_WITH && k < s->target->nkids; k++)
            if (tp_str_eq(s->target->kids[k]->text, semaphore))
                return true;
        if (makes(&s->body, semaphore) || makes(&s->orelse, semaphore))
            return true;
    }
    return false;
}

static bool waits_for_others(const tp_node *n, void *ctx)
{
    const tp_node *sem = n->kind == TP_N_CALL && tp_str_is(n->text, "copy_wait") ? pipe_argument(n, "sem", 2) : NULL;
    const tp_node *base = sem && sem->kind == TP_N_INDEX ? sem->kids[0] : sem;
    return base && !makes(ctx, base->text);
}

static bool stores(const tp_syntax *s, void *ctx)
{
    const asked *a = ctx;
    return s->kind == TP_S_STORE && pipe_is_of(s->target, a->x->array);
}

_Noreturn static void fail_apart(writer *w, const window *x, const tp_syntax *s, const char *what)
{
    tp_raise(
        w->c, TP_RULE_SPEC_TYPE, tp_node_loc(w->c, s->value),
        "pipelines copy ahead, and what they see then is up to chance: pass two arrays, or run one after the other",
        "`%.*s` %s", TP_FMT(x->array), what);
}

/* Have both windows the same block in each step, and another one in each? Then no step reads what another one writes.
 */
static bool in_step(const writer *w, const window *a, const window *b)
{
    bool same = pipe_same(a->argument, b->argument);
    for (uint32_t d = 0; d < a->rank && same; d++)
        same = pipe_same(a->block[d], b->block[d]) && pipe_same(a->index[d], b->index[d]) && !a->element[d];
    for (uint32_t i = 0; i < w->naxes && same; i++) {
        same = !w->axes[i].moves;
        for (uint32_t d = 0; d < a->rank && !same; d++)
            same = a->index[d] && pipe_follows(w, a->index[d], &w->axes[i]);
    }
    return same;
}

/* What a prefetch sees depends on the buffers where anything that it reads is written meanwhile. */
void pipe_check_apart(writer *w, const tp_syntax *s)
{
    bool waits =
        pipe_find_node(&(walk){.functions = w->body, .test = waits_for_others, .ctx = &w->step}, &w->step) != NULL;
    for (uint32_t i = 0; i < w->nwindows; i++) {
        window *x = &w->windows[i];
        asked a = {w, x, &w->step};
        for (uint32_t k = 0; k < i; k++)
            if (x->output && tp_str_eq(w->windows[k].array, x->array) &&
                (k >= w->ninputs || !in_step(w, &w->windows[k], x)))
                fail_apart(w, x, s,
                           k >= w->ninputs ? "goes out by two windows of one pipeline"
                                           : "comes in and goes out in one pipeline");
        if (x->output &&
            pipe_find_node(&(walk){.functions = w->body, .test = pipe_is_name, .ctx = &x->array}, &w->step))
            fail_apart(w, x, s, "goes out in a pipeline whose step uses it");
        if (pipe_find_node(&(walk){.functions = w->body, .test = writes, .ctx = &a, .statement = stores}, &w->step))
            fail_apart(w, x, s, "comes in in a pipeline whose step writes it");
        bool flies = waits && pipe_find_node(&(walk){.test = starts, .ctx = &a}, w->body);
        for (uint32_t p = 0; waits && !flies && p < w->n; p++)
            flies = pipe_find_node(&(walk){.test = starts, .ctx = &a}, &w->all[p].body) != NULL;
        if (flies)
            fail_apart(w, x, s, "is moved by a pipeline whose step waits for copies, and by such a copy");
    }
}
