/* Vectors: rooms for lanes, and those of them that were filled, by what they
 * are. Nothing here evaluates anything. */
#include "base/assert.h"
#include "demand/internal.h"

buffer *demand_room(tp_demand *d, int64_t n)
{
    int log = 4;
    while (log < 47 && (int64_t)1 << log < n)
        log++;
    buffer *b = d->rooms[log];
    if (b) {
        d->rooms[log] = b->next;
        return b;
    }
    b = TP_NEW(d->arena, buffer);
    b->log = log;
    b->v = tp_alloc_unset(d->arena, sizeof *b->v << log);
    for (int p = 0; p < TP_MAX_PLANES; p++)
        b->plane[p] = tp_alloc_unset(d->arena, sizeof *b->plane[p] << log);
    b->has_planes = tp_alloc_unset(d->arena, sizeof *b->has_planes << log);
    return b;
}

void demand_room_back(tp_demand *d, buffer *b)
{
    b->next = d->rooms[b->log];
    d->rooms[b->log] = b;
}

/* ---- which are there ---- */

static bool same_vector(const vector *x, const vector *y)
{
    return x->id == y->id && x->given == y->given && x->lanes.first == y->lanes.first &&
           x->lanes.step == y->lanes.step && x->lanes.n == y->lanes.n;
}

static vector **bucket_of(vectors *all, const vector *x)
{
    uint64_t h = ((uint64_t)x->lanes.first * 0x9e3779b97f4a7c15u + x->id) * 0xbf58476d1ce4e5b9u;
    h ^= ((uint64_t)x->lanes.step * 31 + (uint64_t)x->lanes.n) * 0x94d049bb133111ebu;
    return &all->bucket[(h ^ h >> 29) % VECTOR_BUCKETS];
}

static void add_vector(vectors *all, vector *x)
{
    vector **b = bucket_of(all, x);
    x->next = *b;
    *b = x;
    all->lanes += x->lanes.n;
}

vector *demand_new_vector(tp_demand *d, const vector *like)
{
    vector *x = d->free_vectors;
    if (x)
        d->free_vectors = x->next;
    else
        x = TP_NEW(d->arena, vector);
    *x = *like;
    x->room = demand_room(d, like->lanes.n);
    x->pins = 1;
    return x;
}

void demand_drop_vector(tp_demand *d, vector *x)
{
    demand_room_back(d, x->room);
    x->next = d->free_vectors;
    d->free_vectors = x;
}

/* The older ones make room, but for those that somebody looks at. */
static void grow_old(tp_demand *d)
{
    vectors stay = {0};
    for (int i = 0; i < VECTOR_BUCKETS; i++)
        for (vector *x = d->old.bucket[i], *next; x; x = next) {
            next = x->next;
            if (x->pins)
                add_vector(&stay, x);
            else
                demand_drop_vector(d, x);
        }
    d->old = d->young;
    d->young = stay;
}

vector *demand_known_vector(tp_demand *d, const vector *like)
{
    for (vector *x = *bucket_of(&d->young, like); x; x = x->next)
        if (same_vector(x, like))
            return x;
    for (vector **at = bucket_of(&d->old, like), *x; (x = *at); at = &x->next)
        if (same_vector(x, like)) {
            *at = x->next;
            add_vector(&d->young, x);
            return x;
        }
    return NULL;
}

void demand_release(tp_demand *d, vector *x)
{
    tp_assert(!x || x->pins); /* somebody looked at it */
    if (x && --x->pins == 0 && !x->known)
        demand_drop_vector(d, x);
}

void demand_release_all(tp_demand *d)
{
    for (int i = 0; i < VECTOR_BUCKETS; i++) {
        for (vector *x = d->young.bucket[i]; x; x = x->next)
            x->pins = 0;
        for (vector *x = d->old.bucket[i]; x; x = x->next)
            x->pins = 0;
    }
}

void demand_keep_vector(tp_demand *d, vector *x)
{
    if (d->young.lanes + x->lanes.n > VECTOR_LANES)
        grow_old(d);
    x->known = true;
    add_vector(&d->young, x);
}

/* ---- lanes of one ---- */

tp_lanes demand_vector_lanes(const vector *x, tp_dtype t)
{
    tp_lanes r = {.dtype = t, .stored = TP_F64, .n = (size_t)x->lanes.n, .data = x->room->v};
    for (int p = 0; p < TP_MAX_PLANES && x->some; p++)
        r.plane[p] = x->room->plane[p];
    return r;
}

/* Planes that say what the number says. */
static void mean(tp_demand *d, vector *x, tp_dtype t, int64_t lane)
{
    void *planes[TP_MAX_PLANES] = {&x->room->plane[0][lane], &x->room->plane[1][lane]};
    d->domain->exact(d->domain, &(tp_lanes){.dtype = t, .stored = TP_F64, .n = 1, .data = &x->room->v[lane]}, planes);
}

void demand_mean_all(tp_demand *d, vector *x, tp_dtype t)
{
    void *planes[TP_MAX_PLANES] = {x->room->plane[0], x->room->plane[1]};
    tp_lanes lanes = {.dtype = t, .stored = TP_F64, .n = (size_t)x->lanes.n, .data = x->room->v};
    if (!x->some && x->lanes.n)
        d->domain->exact(d->domain, &lanes, planes);
}

/* Which lanes have planes; where some have, the others get theirs. */
void demand_settle(tp_demand *d, vector *x, tp_dtype t)
{
    size_t n = (size_t)x->lanes.n;
    x->some = memchr(x->room->has_planes, true, n) != NULL;
    x->all = memchr(x->room->has_planes, false, n) == NULL;
    for (int64_t i = 0; x->some && !x->all && i < x->lanes.n; i++)
        if (!x->room->has_planes[i])
            mean(d, x, t, i);
}
