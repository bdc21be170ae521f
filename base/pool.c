#include "base/pool.h"
#include "base/assert.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MOST = 256 }; /* that wait; more are freed */

struct tp_pool {
    pthread_mutex_t lock;
    tp_arena *waiting[MOST];
    unsigned n;
};

tp_pool *tp_pool_new(void)
{
    tp_pool *p = calloc(1, sizeof *p);
    if (p && pthread_mutex_init(&p->lock, NULL) != 0) {
        free(p);
        return NULL;
    }
    return p;
}

void tp_pool_free(tp_pool *p)
{
    if (!p)
        return;
    while (p->n)
        tp_arena_free(p->waiting[--p->n]);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

tp_arena *tp_pool_take(tp_pool *p, size_t limit)
{
    pthread_mutex_lock(&p->lock);
    tp_arena *a = p->n ? p->waiting[--p->n] : NULL;
    pthread_mutex_unlock(&p->lock);
    if (!a)
        return tp_arena_new(limit);
    tp_arena_set_limit(a, limit);
    return a;
}

void tp_pool_give(tp_pool *p, tp_arena *a)
{
    tp_arena_reset(a);
    pthread_mutex_lock(&p->lock);
    for (uint32_t i = 0; tp_asserts() && i < p->n; i++)
        tp_assert(p->waiting[i] != a); /* whoever has it, has it alone */
    bool room = p->n < MOST;
    if (room)
        p->waiting[p->n++] = a;
    pthread_mutex_unlock(&p->lock);
    if (!room)
        tp_arena_free(a);
}
