/* Operands of products that come again, as windows of an input that no step changes do: they are packed once. What is
 * packed lies side by side, where a window is rows far from each other. */
#include "domains/multiply.h"
#include "kernels/machine/internal.h"

enum {
    KNOWN = 1 << 10, /* operands of which is known that they were there, of a few at each place: */
    NEAR = 4,
    MOST = 1 << 25,  /* bytes of all that are kept, by all threads together, */
    PIECE = 1 << 22, /* ... which get memory by pieces of so many, where there are as many */
    LEAST = 1 << 12, /* elements of an operand that is worth it, */
    LEAST_LINES = 24 /* ... and its lines, where whole panels of them are packed; or those that it is multiplied by */
};

typedef struct pack {
    const void *at; /* NULL: none */
    tp_packing how;
    tp_dtype dtype;
    bool turned;
    size_t pitch, lines, k;
    tp_panels panels;
} pack;

struct tp_packs {
    pack of[KNOWN];
    size_t bytes, most;
    char *next; /* memory of a piece, and what is left of it */
    size_t left;
};

/* Does it lie in an input that is the same as long as the grid runs? Then the number of that; -1: no. */
static int input_of(const tp_machine *m, const void *at)
{
    for (uint32_t i = 0; i < m->k->ninputs; i++) {
        const tp_tensor *a = m->refs[i].array;
        bool written = m->refs[i].shared != NULL;
        if ((uintptr_t)at - (uintptr_t)a->data >= a->n * tp_dtype_size(a->dtype))
            continue;
        for (uint32_t o = m->k->ninputs; o < m->k->ninputs + m->k->noutputs; o++)
            written |= m->k->operands[o].alias == (int)i;
        return written ? -1 : (int)i;
    }
    return -1;
}

/* Do several steps have the same window of it, which lies there? */
static bool comes_again(tp_machine *m, uint32_t input, const void *at)
{
    const tp_operand *o = &m->k->operands[input];
    bool still = at == m->refs[input].cells.data && tp_window_stays(m, &m->refs[input]);
    for (uint32_t a = 0; a < m->k->naxes && !tp_is_far(o); a++) {
        bool any = false;
        for (uint32_t d = 0; d < o->rank; d++)
            any |= tp_expr_mentions(m->k->exprs, o->dims[d].index, m->k->axes[a].sym);
        still |= !any && m->grid.steps[a] > 1;
    }
    return still;
}

static bool are_same(const pack *p, const pack *q)
{
    return p->at == q->at && p->how == q->how && p->dtype == q->dtype && p->turned == q->turned &&
           p->pitch == q->pitch && p->lines == q->lines && p->k == q->k;
}

/* One of the places for what lies there. */
static pack *place_of(struct tp_packs *all, const void *at, size_t q)
{
    return &all->of[((size_t)(((uint64_t)(uintptr_t)at * 0x9e3779b97f4a7c15u) >> 40) + q) % KNOWN];
}

/* The same one; else one that may give way to it, or NULL. */
static pack *find_place(struct tp_packs *all, const pack *like)
{
    pack *free = NULL;
    for (size_t q = 0; q < NEAR; q++) {
        pack *p = place_of(all, like->at, q);
        if (are_same(p, like))
            return p;
        if (!free && (!p->at || !p->panels.at))
            free = p;
    }
    return free;
}

static size_t pitch_of(const tp_cells *c)
{
    return c->viewed ? (size_t)c->pitch : (size_t)c->dims[1];
}

bool tp_is_packed(const tp_machine *m, const tp_cells *c)
{
    for (size_t q = 0; m->packs && c->rank == 2 && !c->flat_row && q < NEAR; q++) {
        const pack *p = place_of(m->packs, c->data, q);
        if (p->at == c->data && p->panels.filled && p->pitch == pitch_of(c) && p->lines * p->k == c->n)
            return true;
    }
    return false;
}

static size_t bytes_of(const pack *p)
{
    return p->how == TP_BYTES_OF_B    ? tp_bytes_panels(p->lines, p->k)
           : p->how == TP_FLOATS_OF_B ? (p->lines + TP_WIDE - 1) / TP_WIDE * TP_WIDE * p->k * sizeof(float)
                                      : tp_bfloats_panels(p->lines, p->k);
}

/* Memory of `bytes`, which is kept as long as the grid runs; NULL: that would be too much. */
static char *keep(tp_machine *m, size_t bytes, size_t whole)
{
    enum { LINE = 64 };
    struct tp_packs *all = m->packs;
    if (bytes > all->left) {
        size_t piece = whole < PIECE ? whole : PIECE;
        piece = piece > bytes ? piece : bytes;
        if (all->bytes + piece > all->most)
            return NULL;
        all->next = tp_alloc_unset(m->arena, piece + LINE);
        all->next += (LINE - (uintptr_t)all->next % LINE) % LINE;
        all->left = piece;
        all->bytes += piece;
    }
    char *at = all->next;
    all->next += bytes;
    all->left -= bytes;
    return at;
}

tp_panels *tp_panels_of(tp_machine *m, tp_packing how, const tp_cells *c, bool turned, size_t lines, size_t k,
                        size_t others)
{
    bool worth = how != TP_NOT_PACKED && lines * k >= LEAST && (how == TP_FLOATS_OF_B ? others : lines) >= LEAST_LINES;
    int input = !worth || !tp_may_defer(m) || m->devices || c->rank != 2 || c->flat_row ? -1 : input_of(m, c->data);
    if (input < 0)
        return NULL;
    if (!m->packs) {
        size_t threads = m->request->threads ? m->request->threads : 1, left = tp_arena_left(m->arena) / 4;
        m->packs = TP_NEW(m->arena, struct tp_packs);
        m->packs->most = MOST / threads < left ? MOST / threads : left;
    }
    pack like = {c->data, how, c->dtype, turned, pitch_of(c), lines, k, {NULL, false}},
         *p = find_place(m->packs, &like);
    if (!p)
        return NULL;
    bool known = are_same(p, &like);
    if (!known)
        *p = like;
    if (!p->panels.at && (known || comes_again(m, (uint32_t)input, c->data))) {
        size_t bytes = bytes_of(&like);
        p->panels.at = keep(m, bytes, m->refs[input].array->n / (lines * k) * bytes);
    }
    if (p->panels.at)
        m->refs[input].awaited = false; /* nobody looks at the window again */
    return p->panels.at ? &p->panels : NULL;
}
