/* E4: every shape of a box of small sizes. */
#include <math.h>
#include <stdlib.h>

#include "base/checked.h"
#include "kernels/trial/equiv.h"
#include "kernels/trial/internal.h"

enum { BOX_ELEMENTS = 1 << 17, SMALL_BLOCK = 4, MAX_SHAPES = 200000, MOST_CONSTANT = 16, MOST_COUNTED = 8, TILE = 128 };

/* All up to two small blocks and one; the ends of larger ones; small numbers and
 * constants that it meets for a size that no block tiles. */
static void box_values(const tp_kernel *k, const tp_constants *all, const tp_size *s, const int64_t *env, tp_values *v)
{
    int64_t block = tp_largest_block(k, s, env), step = s->multiple_of;
    *v = (tp_values){.n = 0};
    for (uint32_t i = 0; s->kind == TP_SIZE_CHOICE && i < s->nchoices && i < TP_MAX_VALUES; i++)
        v->at[v->n++] = s->choices[i];
    if (s->kind == TP_SIZE_CHOICE)
        return;
    if (block > 1 << 12)
        block = 0;
    int64_t least = tp_size_least(s),
            ends[] = {least, step, block - step, block, block + step, 2 * block, 2 * block + step},
            few[] = {least, least + step, 3, SMALL_BLOCK + 1, 2 * SMALL_BLOCK + 1};
    for (int64_t x = step; block && block <= SMALL_BLOCK && x <= 2 * block + step && x <= 9 * step; x += step)
        tp_add_value(v, s, x);
    for (size_t e = 0; block && e < sizeof ends / sizeof *ends; e++)
        if (ends[e] > 0)
            tp_add_value(v, s, ends[e]);
    for (size_t e = 0; !block && e < sizeof few / sizeof *few; e++)
        tp_add_value(v, s, few[e]);
    const tp_met *c = &all->sizes[s - k->sizes];
    for (uint32_t i = 0; i < c->nblocks && block && block <= TILE; i++) /* steps that the kernel counts to */
        for (int64_t more = 0; more < 2 && c->blocks[i] > 1 && c->blocks[i] < MOST_COUNTED; more++)
            tp_add_value(v, s, (c->blocks[i] + more) * block + step);
    for (uint32_t i = 0; i < c->n && !block; i++)
        for (int64_t d = -1; d <= 1 && c->at[i] < MOST_CONSTANT; d++)
            tp_add_value(v, s, c->at[i] + d * step);
}

/* Elements that a reference computes: it may be far more than it reads and writes. */
static double elements_of_reference(const tp_kernel *k, const int64_t *env)
{
    const tp_program *p = k->reference.program;
    double total = 0;
    for (uint32_t v = 0; p && v < p->values.len; v++) {
        const tp_value *x = &p->values.at[v];
        double elements = 1;
        int64_t n;
        for (uint32_t d = 0; d < x->rank; d++)
            elements *= tp_expr_eval(k->exprs, x->dims[d], env, &n) == TP_EVAL_OK ? (double)n : 1;
        total += elements;
    }
    return total;
}

/* Of scratch, which has no blocks, all. */
static double window_of(const tp_kernel *k, const tp_operand *o, const int64_t *env)
{
    double window = 1;
    int64_t n;
    for (uint32_t d = 0; d < o->rank; d++) {
        tp_expr extent = o->role == TP_SCRATCH ? o->shape[d] : o->dims[d].block;
        window *= tp_expr_eval(k->exprs, extent, env, &n) == TP_EVAL_OK ? (double)n : 1;
    }
    return window;
}

/* Elements that a step moves. Of arrays that stay where they are it is what its scratch holds; without any, not much.
 */
static double moved_in_step(const tp_kernel *k, const int64_t *env)
{
    enum { LITTLE = 4096 };
    double windows = 0, far = 0, scratch = 0;
    for (uint32_t i = 0; i < tp_noperands(k); i++) {
        const tp_operand *o = &k->operands[i];
        *(o->role == TP_SCRATCH ? &scratch : tp_is_far(o) ? &far : &windows) += window_of(k, o, env);
    }
    return windows + fmin(far, scratch > 0 ? scratch : LITTLE);
}

double tp_effort_of(const tp_kernel *k, const int64_t *env)
{
    enum { PER_ELEMENT = 32 }; /* more than usual references compute for each that is moved */
    double steps = 1;
    int64_t n;
    for (uint32_t i = 0; i < k->naxes; i++) /* those that a table says: one */
        steps *= tp_expr_eval(k->exprs, k->axes[i].steps, env, &n) == TP_EVAL_OK ? (double)n : 1;
    return fmax((double)tp_elements_of(k, env) + steps * moved_in_step(k, env),
                elements_of_reference(k, env) / PER_ELEMENT) +
           (k->ntables ? 16000 : 1000);
}

typedef struct corner {
    int64_t elements;
    uint32_t at[16];
} corner;

static int by_size(const void *a, const void *b)
{
    const corner *x = a, *y = b;
    int c = memcmp(x->at, y->at, sizeof x->at);
    return x->elements != y->elements ? (x->elements > y->elements) - (x->elements < y->elements) : c;
}

/* Values of all open sizes at position `at` of the box; false outside the domain. */
static bool enter(const tp_kernel *k, const uint32_t *open, uint32_t n, const tp_values *v, const uint32_t *at,
                  int64_t *env)
{
    tp_str why;
    for (uint32_t i = 0; i < n; i++)
        env[k->sizes[open[i]].sym] = v[i].at[at[i]];
    return tp_in_domain(k, env, &why);
}

/* "W = 1, D = 128": sizes that have other values in the domain, and one in all cases. */
static tp_str constants_text(tp_arena *a, const tp_kernel *k, const uint32_t *open, uint32_t n, const tp_cases *cases)
{
    tp_buf text = {.arena = a};
    for (uint32_t i = 0; cases->len && i < n; i++) {
        const tp_size *s = &k->sizes[open[i]];
        int64_t first = cases->at[0].env[s->sym], least = tp_size_least(s);
        bool varies = s->kind == TP_SIZE_CHOICE ? s->nchoices < 2 : s->max < least + s->multiple_of; /* it cannot */
        for (uint32_t x = 1; x < cases->len && !varies; x++)
            varies = cases->at[x].env[s->sym] != first;
        if (!varies)
            tp_buf_printf(&text, "%s%.*s = %lld", text.n ? ", " : "", TP_FMT(s->name), (long long)first);
    }
    return tp_buf_view(&text);
}

tp_box tp_cases_box(tp_ctx *c, const tp_kernel *k, uint32_t least, double most_effort)
{
    enum { OPEN = 16 };
    uint32_t open[OPEN], n = 0;
    tp_values v[OPEN];
    TP_VEC(corner) corners = {0};
    int64_t *env = TP_NEWN(c->arena, int64_t, tp_sym_count(k->exprs));
    tp_box box = {.shapes = 0};
    tp_buf text = {.arena = c->arena};
    const tp_constants *constants = tp_constants_of(c->arena, k);
    for (int pass = 0; pass < 2; pass++) /* choices first: blocks depend on them */
        for (uint32_t i = 0; i < k->nsizes; i++) {
            const tp_size *s = &k->sizes[i];
            if (s->kind != (pass ? TP_SIZE_RANGE : TP_SIZE_CHOICE))
                continue;
            if (n == OPEN)
                return box;
            box_values(k, constants, s, env, &v[n]);
            if (v[n].n == 0)
                return box;
            env[s->sym] = v[n].at[0];
            tp_buf_printf(&text, "%s%.*s in {", n ? ", " : "", TP_FMT(s->name));
            for (uint32_t e = 0; e < v[n].n; e++)
                tp_buf_printf(&text, "%s%lld", e ? ", " : "", (long long)v[n].at[e]);
            tp_buf_c(&text, "}");
            open[n++] = i;
        }
    corner at = {0};
    double total = 0;
    bool whole = false;
    for (uint32_t steps = 0; steps < MAX_SHAPES && !whole; steps++) {
        if (enter(k, open, n, v, at.at, env) && (at.elements = tp_elements_of(k, env)) > 0 &&
            at.elements <= BOX_ELEMENTS) {
            tp_push(c->arena, corners, at);
            total += tp_effort_of(k, env);
        }
        uint32_t d = n;
        while (d-- > 0) {
            if (++at.at[d] < v[d].n)
                break;
            at.at[d] = 0;
        }
        whole = d == UINT32_MAX;
    }
    box.shapes = corners.len + !whole; /* there are more */
    box.text = tp_buf_view(&text);
    if (corners.len)
        qsort(corners.at, corners.len, sizeof *corners.at, by_size);
    /* the smallest shapes are the least telling: spread over all of them */
    double part = total > most_effort ? most_effort / total : 1;
    uint32_t take = (uint32_t)fmin(corners.len, fmax(least, corners.len * part));
    for (uint32_t i = 0; i < take; i++) {
        const corner *x =
            &corners.at[take == corners.len ? i : (uint64_t)i * (corners.len - 1) / (take > 1 ? take - 1 : 1)];
        tp_case one = {.kernel = k, .loc = k->doc->loc, .generated = true, .algebra = true, .seed = i};
        one.env = TP_NEWN(c->arena, int64_t, tp_sym_count(k->exprs));
        enter(k, open, n, v, x->at, one.env);
        if (tp_case_tables(c, k, &one, NULL))
            tp_push(c->arena, box.cases, one);
    }
    box.constants = constants_text(c->arena, k, open, n, &box.cases);
    return box;
}
