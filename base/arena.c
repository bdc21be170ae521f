#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "base/arena.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "base/budget.h"

typedef struct chunk {
    struct chunk *next;
    size_t size, used;
    size_t dirty; /* bytes from the start on that are not zero: it was used before */
    void *map;    /* large ones: where they are mapped, NULL for the others */
    size_t map_size;
} chunk;

typedef struct mapping {
    struct mapping *next; /* in the arena itself */
    void *at;
    size_t size;
} mapping;

typedef struct catcher {
    struct catcher *outer;
    tp_arena *before;   /* whose tp_try() was the innermost of the thread, */
    const void *thread; /* ... of this one */
    jmp_buf env;
    tp_status status;
} catcher;

struct tp_arena {
    chunk *chunks;
    mapping *mappings;
    size_t limit, used;
    bool of_budget; /* the limit is what the budget left */
    tp_refusal refusal;
    catcher *top;
    tp_arena *parent, *children, *sibling;
    tp_budget *budget; /* the parent's, or one that lives in this arena */
};

static _Thread_local tp_arena *innermost;

enum { ALIGN = 64, SMALL = 256, LEAST = 16, CHUNK = 1 << 18, LARGE = 1 << 22, HUGE_PAGE = 1 << 21 };

/* Mapped chunks that nobody uses, of all threads: pages that the system zeroes anew cost more than to clear what is
 * handed out again, and most of it need not be cleared. */
enum { SPARE = 32, MOST_SPARE = 2 * SPARE * LARGE };
static _Atomic(chunk *) spare[SPARE];
static _Atomic(size_t) spare_bytes;

tp_arena *tp_arena_new(size_t limit)
{
    tp_arena *a = calloc(1, sizeof *a);
    if (a)
        a->limit = limit;
    return a;
}

tp_arena *tp_arena_child(tp_arena *parent)
{
    tp_arena *a = tp_arena_new(0);
    if (!a) {
        parent->refusal = TP_REFUSED_BY_SYSTEM;
        tp_leave(parent, TP_E_MEMORY);
    }
    a->parent = parent;
    a->budget = parent->budget;
    a->sibling = parent->children;
    parent->children = a;
    return a;
}

tp_arena *tp_arena_child_limited(tp_arena *parent, size_t limit)
{
    tp_arena *a = tp_arena_child(parent);
    const tp_budget *b = a->budget;
    size_t left = !b || !b->max_bytes ? SIZE_MAX : b->max_bytes > b->bytes ? (b->max_bytes - b->bytes) / 4 * 3 : 0;
    a->of_budget = !limit || left <= limit;
    a->limit = !a->of_budget ? limit : left ? left : 1;
    return a;
}

tp_arena *tp_arena_part(tp_arena *whole)
{
    size_t left = tp_arena_left(whole);
    tp_arena *a = tp_arena_child(whole);
    a->of_budget = whole->of_budget;
    a->limit = left == SIZE_MAX ? 0 : left;
    return a;
}

void tp_arena_join(tp_arena *parent, tp_arena *a)
{
    tp_assert(!a->parent && !a->top);
    a->parent = parent;
    a->budget = NULL;
    a->sibling = parent->children;
    parent->children = a;
}

void tp_arena_set_limit(tp_arena *a, size_t limit)
{
    a->limit = limit;
}

void tp_arena_adopt(tp_arena *a, void *at, size_t size)
{
    mapping *m = tp_alloc(a, sizeof *m);
    *m = (mapping){a->mappings, at, size};
    a->mappings = m;
}

void tp_arena_set_budget(tp_arena *a, tp_budget *b)
{
    a->budget = b;
    for (chunk *c = a->chunks; b && c; c = c->next)
        b->bytes += c->size;
}

tp_budget *tp_arena_budget(const tp_arena *a)
{
    return a->budget;
}

void tp_charge(tp_arena *a, int64_t units)
{
    tp_assert(units >= 0);
    if (a->budget)
        a->budget->spent += units;
}

void tp_spend(tp_arena *a, int64_t units)
{
    tp_budget *b = a->budget;
    tp_assert(units >= 0);
    if (!b)
        return;
    b->spent += units;
    if (b->spent >= b->look)
        tp_budget_look(b);
    if (tp_budget_over(b))
        tp_leave(a, TP_E_BUDGET);
}

static bool put_aside(chunk *c)
{
    c->dirty = c->dirty > c->used ? c->dirty : c->used;
    if (atomic_fetch_add(&spare_bytes, c->map_size) + c->map_size <= MOST_SPARE)
        for (int i = 0; i < SPARE; i++) {
            chunk *none = NULL;
            if (atomic_compare_exchange_strong(&spare[i], &none, c))
                return true;
        }
    atomic_fetch_sub(&spare_bytes, c->map_size);
    return false;
}

/* Bytes that a mapped chunk has room for. */
static size_t room_of(const chunk *c)
{
    return (size_t)((const char *)c->map + c->map_size - (const char *)(c + 1)) - ALIGN;
}

/* One with room for so much, and not for much more; NULL: none. */
static chunk *take_spare(size_t size)
{
    for (int i = 0; i < SPARE; i++) {
        chunk *c = atomic_exchange(&spare[i], NULL);
        if (!c)
            continue;
        atomic_fetch_sub(&spare_bytes, c->map_size);
        if (room_of(c) >= size && room_of(c) / 2 <= size + LARGE) {
            c->used = 0;
            return c;
        }
        if (!put_aside(c))
            munmap(c->map, c->map_size);
    }
    return NULL;
}

static void chunk_free(tp_arena *a, chunk *c)
{
    TP_ALLOW(c + 1, c->size + ALIGN);
    if (a->budget) {
        tp_assert(a->budget->bytes >= c->size);
        a->budget->bytes -= c->size;
    }
    if (c->map && put_aside(c))
        return;
    if (c->map)
        munmap(c->map, c->map_size);
    else
        free(c);
}

static void unmap_all(tp_arena *a)
{
    for (mapping *m = a->mappings; m; m = m->next)
        munmap(m->at, m->size);
    a->mappings = NULL;
}

void tp_arena_free(tp_arena *a)
{
    if (!a)
        return;
    while (a->children)
        tp_arena_free(a->children);
    for (tp_arena **p = a->parent ? &a->parent->children : NULL; p && *p; p = &(*p)->sibling)
        if (*p == a) {
            *p = a->sibling;
            break;
        }
    unmap_all(a);
    if (!a->parent || a->parent->budget != a->budget)
        a->budget = NULL; /* it lives in one of these chunks */
    for (chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        chunk_free(a, c);
    }
    free(a);
}

void tp_arena_clear(tp_arena *a)
{
    unmap_all(a);
    chunk *keep = a->chunks;
    for (chunk *c = keep ? keep->next : NULL, *next; c; c = next) {
        next = c->next;
        chunk_free(a, c);
    }
    if (keep && keep->map && keep->size > LARGE) { /* others may use it */
        chunk_free(a, keep);
        a->chunks = NULL;
    } else if (keep) {
        keep->dirty = keep->dirty > keep->used ? keep->dirty : keep->used;
        keep->next = NULL;
        keep->used = 0;
    }
    a->used = 0;
}

size_t tp_arena_left(const tp_arena *a)
{
    return !a->limit ? SIZE_MAX : a->limit > a->used ? a->limit - a->used : 1;
}

size_t tp_arena_used(const tp_arena *a)
{
    return a->used;
}

_Noreturn void tp_leave_innermost(tp_status st)
{
    if (!innermost)
        abort(); /* a caller forgot tp_try(): no way to report */
    innermost->top->status = st;
    longjmp(innermost->top->env, 1);
}

/* Does a tp_try() of this thread catch what leaves the arena? */
static bool catches(const tp_arena *a)
{
    return a->top && a->top->thread == &innermost;
}

_Noreturn void tp_leave(tp_arena *a, tp_status st)
{
    for (tp_refusal by = a->refusal; !catches(a) && a->parent; a->refusal = st == TP_E_MEMORY ? by : a->refusal)
        a = a->parent;
    if (!catches(a)) { /* an arena of its own, or another thread's */
        if (innermost && st == TP_E_MEMORY)
            innermost->refusal = a->refusal;
        tp_leave_innermost(st);
    }
    a->top->status = st;
    longjmp(a->top->env, 1);
}

tp_status tp_try(tp_arena *a, void (*fn)(void *ctx), void *ctx)
{
    catcher here = {.outer = a->top, .before = innermost, .thread = &innermost, .status = TP_OK};
    a->top = &here;
    innermost = a;
    if (setjmp(here.env) == 0)
        fn(ctx);
    tp_assert(a->top == &here); /* they nest */
    a->top = here.outer;
    innermost = here.before;
    return here.status;
}

tp_refusal tp_arena_refusal(const tp_arena *a)
{
    return a->refusal;
}

static void note_refusal(tp_arena *a)
{
    if (a->of_budget && a->budget)
        a->budget->refused = true;
    a->refusal = a->of_budget ? TP_REFUSED_BY_BUDGET : TP_REFUSED_BY_LIMIT;
}

void tp_arena_refuse_share(tp_arena *a, const tp_arena *share)
{
    if (share->refusal != TP_REFUSED_BY_SYSTEM)
        note_refusal(a);
}

static _Noreturn void refuse(tp_arena *a)
{
    note_refusal(a);
    tp_leave(a, TP_E_MEMORY);
}

/* Large chunks in huge pages, where the system has them: one fault for 2 MiB. */
static chunk *chunk_map(size_t size)
{
    size_t map_size = size + 2 * HUGE_PAGE;
    void *map = mmap(NULL, map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    chunk *c = (chunk *)(((uintptr_t)map + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
#ifdef MADV_HUGEPAGE
    madvise(c, size, MADV_HUGEPAGE); /* advice: without it all is the same, only slower */
#endif
    c->map = map;
    c->map_size = map_size;
    return c;
}

/* What is allocated in it is cleared then: most chunks stay nearly empty. */
static chunk *chunk_small(size_t size)
{
    chunk *c = malloc(size + sizeof *c + ALIGN);
    if (c)
        *c = (chunk){.dirty = size};
    return c;
}

/* Past the limit the spec is over. What is said of that needs some room, too. */
static void take_room(tp_arena *a, size_t size)
{
    enum { LAST_WORDS = 32 << 20 };
    tp_budget *b = a->budget;
    if (!b)
        return;
    bool over = b->end != TP_BUDGET_OPEN;
    if (b->max_bytes && b->bytes + size > b->max_bytes + (over ? LAST_WORDS : 0)) {
        b->end = over ? b->end : TP_BUDGET_MEMORY;
        tp_leave(a, over ? TP_E_MEMORY : TP_E_BUDGET);
    }
    b->bytes += size;
    b->most_bytes = b->bytes > b->most_bytes ? b->bytes : b->most_bytes;
}

static chunk *chunk_new(tp_arena *a, size_t want)
{
    size_t least = a->used < CHUNK ? CHUNK : a->used < LARGE ? a->used : LARGE, size = want > least ? want : least;
    take_room(a, size);
    chunk *c = size >= SIZE_MAX / 2      ? NULL
               : size < LARGE            ? chunk_small(size)
               : !(c = take_spare(size)) ? chunk_map(size + sizeof *c + ALIGN)
                                         : c;
    if (!c) {
        if (a->budget)
            a->budget->bytes -= size;
        a->refusal = TP_REFUSED_BY_SYSTEM;
        tp_leave(a, TP_E_MEMORY);
    }
    c->size = size;
    if (want > least && a->chunks) { /* keep filling the small chunk */
        c->next = a->chunks->next;
        a->chunks->next = c;
    } else {
        c->next = a->chunks;
        a->chunks = c;
    }
    return c;
}

static void *allocate(tp_arena *a, size_t n, bool zeroed)
{
    if (n > SIZE_MAX / 2)
        refuse(a);
    size_t align = n < SMALL ? LEAST : ALIGN, need = n ? (n + align - 1) & ~(align - 1) : LEAST;
    if (a->limit && (need > a->limit || a->used > a->limit - need))
        refuse(a);
    chunk *c = a->chunks;
    size_t from = c ? (c->used + align - 1) & ~(align - 1) : 0;
    if (!c || from > c->size || c->size - from < need) {
        c = chunk_new(a, need);
        from = 0;
    }
    uintptr_t base = ((uintptr_t)(c + 1) + ALIGN - 1) / ALIGN * ALIGN;
    void *p = (char *)c + (base - (uintptr_t)c) + from;
    TP_ALLOW(p, need);
    if (zeroed && from < c->dirty)
        memset(p, 0, c->dirty - from < need ? c->dirty - from : need);
    c->used = from + need;
    a->used += need;
    tp_assert(c->used <= c->size);
    tp_charge(a, 1 + (int64_t)(need / 64)); /* it is zeroed, and probably written */
    return p;
}

void *tp_alloc(tp_arena *a, size_t n)
{
    return allocate(a, n, true);
}

void *tp_alloc_unset(tp_arena *a, size_t n)
{
    return allocate(a, n, false);
}

/* One chunk for all that was used; gaps between small and large pieces included, or nearly so. */
static void make_whole(void *arena)
{
    tp_arena *a = arena;
    for (chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        a->chunks = next;
        chunk_free(a, c);
    }
    chunk_new(a, a->used + a->used / 8);
}

void tp_arena_reset(tp_arena *a)
{
    unmap_all(a);
    if (a->chunks && a->chunks->next && tp_try(a, make_whole, a) != TP_OK)
        tp_arena_clear(a); /* it is only slower */
    for (chunk *c = a->chunks; c; c = c->next) {
        c->dirty = c->dirty > c->used ? c->dirty : c->used;
        c->used = 0;
    }
    a->used = 0;
}

void *tp_alloc_array(tp_arena *a, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        refuse(a);
    return tp_alloc(a, count * size);
}
