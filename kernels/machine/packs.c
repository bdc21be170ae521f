/* Second operands of products of float32 that come again, as windows of an input that no step changes do: they are
 * packed once. What is packed lies side by side, where a window is rows far from each other. */
#include "domains/multiply.h"
#include "kernels/machine/internal.h"

enum {
    KNOWN = 1 << 10, /* operands of which is known that they were there, of a few at each place: */
    NEAR = 4,
    MOST = 1 << 25,  /* bytes of all that are kept, by all threads together, */
    PIECE = 1 << 22, /* ... which get memory by pieces of so many, where there are as many */
    LEAST = 1 << 12, /* elements of an operand that is worth it, */
    LEAST_ROWS = 24  /* ... and rows that it is multiplied by */
};

typedef struct pack {
    const float *at; /* NULL: none */
    size_t row, column, k, n;
    tp_panels panels;
} pack;

struct tp_packs {
    pack of[KNOWN];
    size_t bytes, most;
    char *next; /* memory of a piece, and what is left of it */
    size_t left;
};

/* Does it lie in an input that is the same as long as the grid runs? Then the number of that; -1: no. */
static int input_of(const tp_machine *m, const float *b)
{
    for (uint32_t i = 0; i < m->k->ninputs; i++) {
        const tp_tensor *a = m->refs[i].array;
        bool written = m->refs[i].shared != NULL;
        if ((uintptr_t)b - (uintptr_t)a->data >= a->n * tp_dtype_size(a->dtype))
            continue;
        for (uint32_t o = m->k->ninputs; o < m->k->ninputs + m->k->noutputs; o++)
            written |= m->k->operands[o].alias == (int)i;
        return written ? -1 : (int)i;
    }
    return -1;
}

/* Do several steps have the same window of it? */
static bool comes_again(const tp_machine *m, uint32_t input)
{
    const tp_operand *o = &m->k->operands[input];
    bool still = false;
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
    return p->at == q->at && p->row == q->row && p->column == q->column && p->k == q->k && p->n == q->n;
}

/* The same one; else one that may give way to it, or NULL. */
static pack *find_place(struct tp_packs *all, const pack *like)
{
    size_t place = (size_t)(((uint64_t)(uintptr_t)like->at * 0x9e3779b97f4a7c15u) >> 40);
    pack *free = NULL;
    for (size_t q = 0; q < NEAR; q++) {
        pack *p = &all->of[(place + q) % KNOWN];
        if (are_same(p, like))
            return p;
        if (!free && (!p->at || !p->panels.at))
            free = p;
    }
    return free;
}

bool tp_is_packed(const tp_machine *m, const tp_cells *b)
{
    if (!m->packs || b->rank != 2 || b->dtype != TP_F32 || b->flat_row)
        return false;
    size_t k = (size_t)b->dims[0], n = (size_t)b->dims[1];
    pack like = {b->data, b->viewed ? (size_t)b->pitch : n, 1, k, n, {NULL, false}};
    const pack *p = find_place(m->packs, &like);
    return p && p->panels.filled && are_same(p, &like);
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

tp_panels *tp_panels_of(tp_machine *m, size_t rows, const float *b, size_t row, size_t column, size_t k, size_t n)
{
    size_t bytes = (n + TP_WIDE - 1) / TP_WIDE * TP_WIDE * k * sizeof *b;
    int input = !tp_may_defer(m) || m->devices || rows < LEAST_ROWS || k * n < LEAST ? -1 : input_of(m, b);
    if (input < 0)
        return NULL;
    if (!m->packs) {
        size_t threads = m->request->threads ? m->request->threads : 1, left = tp_arena_left(m->arena) / 4;
        m->packs = TP_NEW(m->arena, struct tp_packs);
        m->packs->most = MOST / threads < left ? MOST / threads : left;
    }
    pack like = {b, row, column, k, n, {NULL, false}}, *p = find_place(m->packs, &like);
    if (!p)
        return NULL;
    bool known = are_same(p, &like);
    if (!known)
        *p = like;
    if (!p->panels.at && (known || comes_again(m, (uint32_t)input)))
        p->panels.at = keep(m, bytes, m->refs[input].array->n * sizeof *b);
    if (p->panels.at)
        m->refs[input].awaited = false; /* nobody looks at the window again */
    return p->panels.at ? &p->panels : NULL;
}
