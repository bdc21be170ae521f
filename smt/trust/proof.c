#include "smt/trust/proof.h"
#include "base/assert.h"

static void mark(const tp_line *lines, uint32_t number, uint32_t *new)
{
    if (number == 0 || new[number])
        return;
    const tp_line *l = &lines[number - 1];
    new[number] = 1;
    for (int i = 0; i < 4; i++)
        mark(lines, l->refs[i], new);
    for (uint32_t i = 0; i < l->nproducts; i++)
        for (uint32_t k = 0; k < l->products[i].n; k++)
            mark(lines, l->products[i].refs[k], new);
}

/* The lines that the last one needs, renumbered. */
static void copy_lines(tp_arena *a, const tp_proof *from, tp_proof *to)
{
    uint32_t *new = TP_NEWN(a, uint32_t, (size_t)from->nlines + 1), n = 0;
    mark(from->lines, from->nlines, new);
    for (uint32_t i = 1; i <= from->nlines; i++)
        if (new[i])
            new[i] = ++n;
    tp_line *lines = TP_NEWN(a, tp_line, n);
    for (uint32_t i = 1; i <= from->nlines; i++) {
        if (!new[i])
            continue;
        tp_line *l = &lines[new[i] - 1];
        *l = from->lines[i - 1];
        for (int k = 0; k < 4; k++)
            l->refs[k] = new[l->refs[k]];
        tp_product *products = TP_NEWN(a, tp_product, l->nproducts);
        for (uint32_t p = 0; p < l->nproducts; p++) {
            products[p] = l->products[p];
            for (uint32_t k = 0; k < products[p].n; k++)
                products[p].refs[k] = new[products[p].refs[k]];
        }
        l->products = products;
    }
    to->lines = lines;
    to->nlines = n;
}

const tp_proof *tp_proof_copy(tp_arena *a, const tp_proof *p)
{
    tp_proof *copy = TP_NEW(a, tp_proof);
    const tp_proof **kids = TP_NEWN(a, const tp_proof *, p->nkids);
    *copy = *p;
    if (p->kind == TP_PROOF_LINES)
        copy_lines(a, p, copy);
    for (uint32_t i = 0; i < p->nkids; i++)
        kids[i] = tp_proof_copy(a, p->kids[i]);
    copy->kids = kids;
    return copy;
}

/* How many kids a proof of this kind has; CHOICES: one for each. */
static uint32_t kids_of(tp_proof_kind kind)
{
    switch (kind) {
    case TP_PROOF_SPLIT: return 2;
    case TP_PROOF_MULTIPLE:
    case TP_PROOF_DIVIDED:
    case TP_PROOF_BOUND:
    case TP_PROOF_REFUTE:
    case TP_PROOF_LET: return 1;
    case TP_PROOF_CHOICES:
    case TP_PROOF_LINES:
    case TP_PROOF_ABSURD:
    case TP_PROOF_POINTS:
    case TP_PROOF_KINDS: break;
    }
    return 0;
}

const tp_proof *tp_proof_node(tp_arena *a, tp_proof n, const tp_proof *const *kids, uint32_t nkids)
{
    tp_assert(!nkids || n.kind == TP_PROOF_CHOICES || nkids == kids_of(n.kind)); /* none yet: they come later */
    tp_proof *node = TP_NEW(a, tp_proof);
    const tp_proof **list = TP_NEWN(a, const tp_proof *, nkids);
    for (uint32_t i = 0; i < nkids; i++)
        list[i] = kids[i];
    *node = n;
    node->kids = list;
    node->nkids = nkids;
    return node;
}
