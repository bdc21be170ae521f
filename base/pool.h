/* Arenas that wait for their next run, with their memory. Any thread may take one and give it back; whoever has it, has
 * it alone.
 */
#ifndef TP_POOL_H
#define TP_POOL_H

#include "base/arena.h"

typedef struct tp_pool tp_pool;

/* NULL: no memory. */
tp_pool *tp_pool_new(void);
/* ... and the arenas that wait in it. NULL is allowed. */
void tp_pool_free(tp_pool *p);

/* An empty arena of at most `limit` bytes, one that waits or a new one; NULL: no memory. */
tp_arena *tp_pool_take(tp_pool *p, size_t limit);
/* Everything in it is forgotten. */
void tp_pool_give(tp_pool *p, tp_arena *a);

#endif
