/* The checker's own copies of expressions: a pool with limits of its own, in
 * which nothing that a prover built, folded or forgot can matter.
 */
#ifndef TP_OWN_H
#define TP_OWN_H

#include "spec/expr.h"

typedef struct tp_own {
    tp_arena *arena;
    const tp_exprs *from;
    tp_exprs *to;
    uint32_t *source, *copy; /* open addressing: ids in `from` and their copies' */
    uint32_t cap, used;
    bool reads; /* entries of tables are judged, as functions of their indices */
} tp_own;

tp_own tp_own_new(tp_arena *a, const tp_exprs *from);
/* The copy of e; no expression of none. What cannot be judged, an entry of a
 * table (but see `reads`) or what is too large, becomes TP_E_TOO_LARGE. */
tp_expr tp_own_copy(tp_own *w, tp_expr e);
/* The copy of a symbol, by number; false: there is no such symbol. */
bool tp_own_symbol(tp_own *w, uint32_t sym, uint32_t *copy);

#endif
