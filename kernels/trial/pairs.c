/* All-pairs: which values of two sizes stand together in some case. */
#include <stdlib.h>

#include "base/assert.h"
#include "kernels/trial/equiv.h"
#include "kernels/trial/internal.h"

enum { MOST_VALUES = 256, MOST_NAMED = 256, SHOWN = 4 };

typedef TP_VEC(int64_t) value_list;

typedef struct pairing {
    tp_arena *a;
    const tp_cases *cases;
    const tp_kernel *k; /* of the first case: sizes are the same in all */
    value_list *values; /* per size: worth a case, or of a case; ascending */
    bool **taken;       /* per size and value: by some case */
    int64_t *env;       /* of k, to ask "where" */
    tp_pairs out;
} pairing;

static int64_t value_in(const tp_case *c, uint32_t size)
{
    return c->env[c->kernel->sizes[size].sym];
}

static void add(pairing *p, uint32_t size, int64_t x)
{
    value_list *v = &p->values[size];
    for (uint32_t i = 0; i < v->len; i++)
        if (v->at[i] == x)
            return;
    if (v->len < MOST_VALUES)
        tp_push(p->a, *v, x);
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Were the blocks of case n chosen by an earlier one? Telling values depend on nothing else. */
static bool known_choices(const pairing *p, uint32_t n)
{
    for (uint32_t e = 0; e < n; e++) {
        bool same = true;
        for (uint32_t s = 0; s < p->k->nsizes && same; s++)
            same =
                p->k->sizes[s].kind != TP_SIZE_CHOICE || value_in(&p->cases->at[e], s) == value_in(&p->cases->at[n], s);
        if (same)
            return true;
    }
    return false;
}

static void collect_values(pairing *p)
{
    const tp_constants *all = tp_constants_of(p->a, p->k);
    for (uint32_t n = 0; n < p->cases->len; n++) {
        const tp_case *c = &p->cases->at[n];
        bool known = known_choices(p, n);
        for (uint32_t s = 0; s < p->k->nsizes; s++) {
            if (!tp_is_open_size(&p->k->sizes[s]))
                continue;
            add(p, s, value_in(c, s));
            tp_values v = {.n = 0};
            if (!known && c->kernel == p->k)
                v = tp_telling_values(p->k, all, &p->k->sizes[s], c->env);
            for (uint32_t i = 0; i < v.n; i++)
                add(p, s, v.at[i]);
        }
    }
    for (uint32_t s = 0; s < p->k->nsizes; s++)
        if (p->values[s].len)
            qsort(p->values[s].at, p->values[s].len, sizeof(int64_t), ascending);
}

static uint32_t place(const value_list *v, int64_t x)
{
    const int64_t *at = v->len ? bsearch(&x, v->at, v->len, sizeof x, ascending) : NULL;
    return at ? (uint32_t)(at - v->at) : UINT32_MAX;
}

/* Does "where" forbid the pair, whatever the other sizes are? */
static bool is_forbidden(pairing *p, uint32_t i, int64_t x, uint32_t j, int64_t y)
{
    const tp_kernel *k = p->k;
    p->env[k->sizes[i].sym] = x;
    p->env[k->sizes[j].sym] = y;
    for (uint32_t w = 0; w < k->nwhere; w++) {
        bool alone = true;
        int64_t holds;
        for (uint32_t s = 0; s < k->nsizes && alone; s++)
            alone = s == i || s == j || !tp_is_open_size(&k->sizes[s]) ||
                    !tp_expr_mentions(k->exprs, k->where[w].expr, k->sizes[s].sym);
        if (alone && (tp_expr_eval(k->exprs, k->where[w].expr, p->env, &holds) != TP_EVAL_OK || !holds))
            return true;
    }
    return false;
}

static void name(pairing *p, tp_str gap)
{
    if (p->out.gaps.len < MOST_NAMED)
        tp_push(p->a, p->out.gaps, gap);
    else
        p->out.unnamed++;
}

static void note_taken(pairing *p)
{
    for (uint32_t s = 0; s < p->k->nsizes; s++) {
        p->taken[s] = TP_NEWN(p->a, bool, p->values[s].len + 1);
        for (uint32_t n = 0; n < p->cases->len && tp_is_open_size(&p->k->sizes[s]); n++) {
            uint32_t at = place(&p->values[s], value_in(&p->cases->at[n], s));
            if (at != UINT32_MAX)
                p->taken[s][at] = true;
        }
        for (uint32_t v = 0; v < p->values[s].len; v++)
            if (!p->taken[s][v])
                name(p, tp_printf(p->a, "%.*s = %lld", TP_FMT(p->k->sizes[s].name), (long long)p->values[s].at[v]));
    }
}

/* All pairs of two sizes; a value that no case takes was named before. */
static void count_pairs(pairing *p, uint32_t i, uint32_t j)
{
    const value_list *v = &p->values[i], *w = &p->values[j];
    bool *seen = TP_NEWN(p->a, bool, (size_t)v->len * w->len + 1);
    for (uint32_t n = 0; n < p->cases->len; n++) {
        uint32_t x = place(v, value_in(&p->cases->at[n], i)), y = place(w, value_in(&p->cases->at[n], j));
        if (x != UINT32_MAX && y != UINT32_MAX)
            seen[(size_t)x * w->len + y] = true;
    }
    for (uint32_t x = 0; x < v->len; x++)
        for (uint32_t y = 0; y < w->len; y++) {
            bool covered = seen[(size_t)x * w->len + y];
            if (!covered && is_forbidden(p, i, v->at[x], j, w->at[y]))
                continue;
            p->out.pairs++;
            p->out.covered += covered;
            if (!covered && p->taken[i][x] && p->taken[j][y])
                name(p, tp_printf(p->a, "%.*s = %lld with %.*s = %lld", TP_FMT(p->k->sizes[i].name),
                                  (long long)v->at[x], TP_FMT(p->k->sizes[j].name), (long long)w->at[y]));
        }
}

static tp_str text_of(const pairing *p)
{
    const tp_pairs *o = &p->out;
    tp_buf b = {.arena = p->a};
    uint64_t rest = o->unnamed + (o->gaps.len > SHOWN ? o->gaps.len - SHOWN : 0);
    tp_buf_printf(&b, "%llu of %llu pairs of values", (unsigned long long)o->covered, (unsigned long long)o->pairs);
    for (uint32_t i = 0; i < o->gaps.len && i < SHOWN; i++)
        tp_buf_printf(&b, "%s%.*s", i ? ", " : "; no case has ", TP_FMT(o->gaps.at[i]));
    if (rest)
        tp_buf_printf(&b, ", and %llu more", (unsigned long long)rest);
    return tp_buf_view(&b);
}

tp_pairs tp_pairs_of(tp_arena *a, const tp_cases *cases, tp_str *text)
{
    pairing p = {.a = a, .cases = cases, .k = cases->len ? cases->at[0].kernel : NULL};
    *text = TP_S("");
    if (!p.k)
        return p.out;
    p.values = TP_NEWN(a, value_list, p.k->nsizes + 1);
    p.taken = TP_NEWN(a, bool *, p.k->nsizes + 1);
    p.env = tp_env_copy(a, p.k, cases->at[0].env);
    collect_values(&p);
    note_taken(&p);
    for (uint32_t i = 0; i < p.k->nsizes; i++)
        for (uint32_t j = i + 1; j < p.k->nsizes; j++)
            if (tp_is_open_size(&p.k->sizes[i]) && tp_is_open_size(&p.k->sizes[j]))
                count_pairs(&p, i, j);
    tp_assert(p.out.covered <= p.out.pairs);
    if (p.out.pairs)
        *text = text_of(&p);
    return p.out;
}
