/* Which counters the nodes of a derivation bind. A symbol has one meaning within a
 * node: what is bound in it is no variable of the claim, is not bound again
 * further inside, and is not what an expression speaks of that is put into it. */
#ifndef TP_BINDERS_H
#define TP_BINDERS_H

#include "smt/trust/real.h"

typedef struct tp_binders {
    uint32_t *sym; /* counters, of the checker's pool */
    uint32_t n, words;
    uint64_t *bound; /* per node: a set of positions in `sym` */
} tp_binders;

/* Of nodes that refer to earlier ones only; stops where one binds what it may not. In f->arena. */
tp_binders tp_binders_of(tp_reals *f);
/* Would an index expression, put into that node, speak of a counter there? */
bool tp_binders_capture(tp_reals *f, const tp_binders *b, uint32_t node, tp_expr e);

#endif
