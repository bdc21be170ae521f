/* Small domains, exactly: walk the grid for every size and see which blocks of
 * an output are visited. For maps whose inverse nobody can write down. */
#include "analyzer/claim/claim.h"

enum { MAX_STEPS = 4000000, MAX_BLOCKS = 1 << 22 };

typedef struct walker {
    tp_analysis *a;
    const tp_operand *o;
    int64_t *env, left; /* steps */
    int64_t blocks[TP_MAX_RANK];
    uint8_t *visited;
    tp_expr meets[TP_GRANTED]; /* sizes at which TP101 fails are not judged */
    uint32_t nmeets;
    tp_arena *work;
} walker;

static bool value(const walker *w, tp_expr e, int64_t *v)
{
    return tp_expr_eval(w->a->p, e, w->env, v) == TP_EVAL_OK;
}

/* 1: walked, 0: a window misses its array, -1: too many steps, or no value. */
static int walk_axis(walker *w, uint32_t axis)
{
    int64_t steps, index, at = 0;
    if (axis < w->a->k->naxes) {
        if (!value(w, w->a->k->axes[axis].steps, &steps))
            return -1;
        for (int64_t i = 0; i < steps; i++) {
            w->env[w->a->k->axes[axis].sym] = i;
            int r = walk_axis(w, axis + 1);
            if (r != 1)
                return r;
        }
        return 1;
    }
    tp_spend(w->work, 4);
    if (--w->left < 0)
        return -1;
    for (uint32_t i = 0; i < w->nmeets; i++)
        if (!value(w, w->meets[i], &index))
            return -1;
        else if (!index)
            return 0;
    for (uint32_t d = 0; d < w->o->rank; d++) {
        if (!value(w, w->o->dims[d].index, &index))
            return -1;
        if (index < 0 || index >= w->blocks[d])
            return 0;
        at = at * w->blocks[d] + index;
    }
    w->visited[at] = 1;
    return 1;
}

/* 1: every block is visited (or other rules speak), 0: block[] is not, -1: too large. */
static int walk_grid(walker *w, int64_t *block)
{
    int64_t count = 1, extent, size;
    for (uint32_t d = 0; d < w->o->rank; d++) {
        if (!value(w, w->o->shape[d], &extent) || !value(w, w->o->dims[d].block, &size) || size < 1)
            return -1; /* TP008 */
        w->blocks[d] = extent / size + (extent % size > 0);
        if (extent < 0 || w->blocks[d] > MAX_BLOCKS || (count *= w->blocks[d]) > MAX_BLOCKS)
            return -1;
    }
    for (uint32_t x = 0; x < w->a->k->naxes; x++)
        if (!value(w, w->a->k->axes[x].steps, &extent))
            return -1;
        else if (extent < 1)
            return 1; /* TP007 */
    w->visited = TP_NEWN(w->work, uint8_t, count);
    int r = walk_axis(w, 0);
    if (r != 1)
        return r == 0 ? 1 : -1;
    tp_spend(w->work, count / 8);
    for (int64_t b = 0; b < count; b++)
        if (!w->visited[b]) {
            for (uint32_t d = w->o->rank; d-- > 0; b /= w->blocks[d])
                block[d] = b % w->blocks[d];
            return 0;
        }
    return 1;
}

static int each_size(walker *w, uint32_t i, int64_t *block)
{
    int64_t lo, hi, holds;
    if (i == w->a->nsizes) {
        for (uint32_t f = 0; f < w->a->nwhere; f++)
            if (!value(w, w->a->where[f], &holds) || !holds)
                return 1; /* not in the domain */
        tp_arena_clear(w->work);
        return walk_grid(w, block);
    }
    const tp_var *x = &w->a->vars[i];
    if (!value(w, x->lo, &lo) || !value(w, x->hi, &hi))
        return -1;
    for (int64_t n = 0, v = lo; x->choices ? n < x->nchoices : v <= hi; n++, v += x->multiple_of) {
        w->env[x->sym] = x->choices ? x->choices[n] : v;
        tp_spend(w->work, 4);
        int r = --w->left < 0 ? -1 : each_size(w, i + 1, block);
        if (r != 1)
            return r;
    }
    return 1;
}

int tp_walk_coverage(tp_analysis *a, const tp_operand *o, int64_t *env, int64_t *block)
{
    if (tp_has_element_dims(o) || o->valid.id)
        return -1;
    walker w = {.a = a, .o = o, .env = env, .left = MAX_STEPS, .work = tp_arena_child(a->arena)};
    for (uint32_t t = 0; t < a->k->ntables; t++)
        tp_bind_table(env, a->k->tables[t].sym, a->k->tables[t].contents);
    w.nmeets = tp_meeting_windows(a, true, w.meets);
    int r = each_size(&w, 0, block);
    tp_arena_free(w.work);
    return r;
}
