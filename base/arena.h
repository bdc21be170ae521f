/* Memory of one run: a bump arena. Everything a run allocates lives until
 * tp_arena_free(); there is no per-object free. An allocation never returns
 * NULL: when memory (or the arena's byte limit) runs out, the arena leaves
 * through its innermost tp_try(), or a parent's, or else the thread's, with
 * TP_E_MEMORY.
 */
#ifndef TP_ARENA_H
#define TP_ARENA_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct tp_arena tp_arena;

/* New arena that may hold at most `limit` bytes (0: no limit). NULL when the
 * first allocation fails. */
tp_arena *tp_arena_new(size_t limit);
/* An arena for temporary work: running out leaves through `parent`; freeing
 * the parent frees it too. */
tp_arena *tp_arena_child(tp_arena *parent);
/* The same with a limit of its own, for runs whose arrays may be large: at most
 * `limit` bytes, and no more than most of what the budget leaves. */
tp_arena *tp_arena_child_limited(tp_arena *parent, size_t limit);
/* A child for work whose memory goes back before the parent's: it may take what the parent may. */
tp_arena *tp_arena_part(tp_arena *whole);
/* Who refused, where tp_try() on this arena ended with TP_E_MEMORY: what to do about it depends on that. */
typedef enum tp_refusal {
    TP_REFUSED_BY_SYSTEM,
    TP_REFUSED_BY_LIMIT, /* of its own, or of an arena below it */
    TP_REFUSED_BY_BUDGET /* the limit was what the budget leaves */
} tp_refusal;
tp_refusal tp_arena_refusal(const tp_arena *a);
/* `share` had a part of what `a` may hold, and ended with TP_E_MEMORY: what it refused, `a` did. */
void tp_arena_refuse_share(tp_arena *a, const tp_arena *share);
/* `a`, from tp_arena_new(), becomes a child of `parent`: it is freed with it. It is on nobody's account, until
 * tp_arena_set_budget(). */
void tp_arena_join(tp_arena *parent, tp_arena *a);
/* Let the arena hold at most `limit` bytes (0: no limit). */
void tp_arena_set_limit(tp_arena *a, size_t limit);
void tp_arena_free(tp_arena *a);
/* munmap() these bytes when the arena is freed. */
void tp_arena_adopt(tp_arena *a, void *at, size_t size);
/* Forget everything allocated so far; the memory is used again. */
void tp_arena_clear(tp_arena *a);

/* The same, and keep all of the memory, in one piece: what was allocated since the last time can be allocated again
 * without asking the system. */
void tp_arena_reset(tp_arena *a);

/* What is done with this arena, and with children that it gets from now on, is
 * on account of the budget, which lives in the arena or longer; memory that the
 * system maps from files is not. NULL: on nobody's. */
struct tp_budget;
void tp_arena_set_budget(tp_arena *a, struct tp_budget *b);
/* NULL: none. */
struct tp_budget *tp_arena_budget(const tp_arena *a);
/* So much work was done; goes on however much that is. */
void tp_charge(tp_arena *a, int64_t units);
/* The same, and leaves with TP_E_BUDGET where the share is spent. Nothing may
 * be half done where it is called. */
void tp_spend(tp_arena *a, int64_t units);

/* `n` zeroed bytes, aligned to 64; fewer than 256 bytes to 16. */
void *tp_alloc(tp_arena *a, size_t n);
/* The same, holding anything: for what is written before it is read. */
void *tp_alloc_unset(tp_arena *a, size_t n);
/* Zeroed array; `count * size` is checked for overflow. */
void *tp_alloc_array(tp_arena *a, size_t count, size_t size);
/* Bytes that its limit leaves; SIZE_MAX: it has none. */
size_t tp_arena_left(const tp_arena *a);
/* Bytes handed out so far. */
size_t tp_arena_used(const tp_arena *a);

#define TP_NEW(a, T) ((T *)tp_alloc((a), sizeof(T)))
#define TP_NEWN(a, T, n) ((T *)tp_alloc_array((a), (size_t)(n), sizeof(T)))

/* For interfaces that ask for writable memory: what is only read there all the same, or memory that the caller owns.
 * The one place that drops const. */
static inline void *tp_writable(const void *p)
{
    return (void *)(uintptr_t)p;
}

/* Run fn(ctx). tp_leave() (and exhausted memory) inside it return here with
 * their status. Nests: the innermost tp_try catches. */
tp_status tp_try(tp_arena *a, void (*fn)(void *ctx), void *ctx);
_Noreturn void tp_leave(tp_arena *a, tp_status st);
/* The same for code without an arena, which libraries call back or which calls
 * them: through the innermost tp_try() of this thread, of whatever arena. */
_Noreturn void tp_leave_innermost(tp_status st);

#endif
