#include "smt/trust/own.h"

/* Larger than the prover's: what that could build can be followed through
 * substitutions. The depth bounds the recursion. */
enum { MAX_TREE = 100000, MAX_DEPTH = 1000, FIRST_CAP = 64 };

tp_own tp_own_new(tp_arena *a, const tp_exprs *from)
{
    tp_own w = {.arena = a, .from = from, .to = tp_exprs_new_limited(a, MAX_TREE, MAX_DEPTH), .cap = FIRST_CAP};
    w.source = TP_NEWN(a, uint32_t, w.cap);
    w.copy = TP_NEWN(a, uint32_t, w.cap);
    return w;
}

static uint32_t slot_of(const tp_own *w, uint32_t id)
{
    uint32_t slot = id * 2654435761u & (w->cap - 1);
    while (w->source[slot] && w->source[slot] != id)
        slot = (slot + 1) & (w->cap - 1);
    return slot;
}

static void remember(tp_own *w, uint32_t id, uint32_t copy)
{
    if ((w->used + 1) * 2 > w->cap) {
        tp_own larger = *w;
        larger.cap *= 2;
        larger.source = TP_NEWN(w->arena, uint32_t, larger.cap);
        larger.copy = TP_NEWN(w->arena, uint32_t, larger.cap);
        for (uint32_t i = 0; i < w->cap; i++)
            if (w->source[i]) {
                uint32_t slot = slot_of(&larger, w->source[i]);
                larger.source[slot] = w->source[i];
                larger.copy[slot] = w->copy[i];
            }
        *w = larger;
    }
    uint32_t slot = slot_of(w, id);
    w->source[slot] = id;
    w->copy[slot] = copy;
    w->used++;
}

tp_expr tp_own_copy(tp_own *w, tp_expr e)
{
    static const tp_expr TOO_LARGE = {TP_TOO_LARGE};
    if (!e.id || tp_expr_too_large(e))
        return e;
    uint32_t slot = slot_of(w, e.id);
    if (w->source[slot])
        return (tp_expr){w->copy[slot]};
    const tp_expr_node n = *tp_expr_get(w->from, e);
    tp_expr a = tp_own_copy(w, n.a), b = tp_own_copy(w, n.b), c = tp_own_copy(w, n.c), r;
    if (n.op == TP_E_CONST)
        r = tp_const(w->to, n.value);
    else if (n.op == TP_E_SYM)
        r = tp_sym_new(w->to, tp_sym_name(w->from, (uint32_t)n.value));
    else if ((n.op == TP_E_READ && !w->reads) || n.op == TP_E_TOO_LARGE)
        r = TOO_LARGE;
    else {
        uint32_t table = 0;
        if (n.op == TP_E_READ)
            tp_own_symbol(w, (uint32_t)n.value, &table);
        r = tp_expr_rebuild(w->to, &(tp_expr_node){.op = n.op, .value = table}, a, b, c);
    }
    remember(w, e.id, r.id);
    return r;
}

bool tp_own_symbol(tp_own *w, uint32_t sym, uint32_t *copy)
{
    if (sym >= tp_sym_count(w->from))
        return false;
    tp_expr e = tp_own_copy(w, tp_sym(w->from, sym));
    *copy = (uint32_t)tp_expr_get(w->to, e)->value;
    return true;
}
