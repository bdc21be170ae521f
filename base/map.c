#include "base/map.h"
#include "base/assert.h"

/* FNV-1a (Fowler, Noll, Vo) by words, each spread over the whole: keys may be long. */
static uint32_t hash(tp_str key)
{
    uint64_t h = 14695981039346656037u ^ key.n, word;
    size_t i = 0;
    for (; i + sizeof word <= key.n; i += sizeof word) {
        memcpy(&word, key.p + i, sizeof word);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    word = 0;
    if (i < key.n)
        memcpy(&word, key.p + i, key.n - i);
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

static struct tp_map_entry *slot(const tp_map *m, tp_str key)
{
    uint32_t i = hash(key) & (m->cap - 1);
    while (m->at[i].key.p && !tp_str_eq(m->at[i].key, key))
        i = (i + 1) & (m->cap - 1);
    return &m->at[i];
}

uint32_t tp_map_get(const tp_map *m, tp_str key)
{
    return m->cap ? slot(m, key)->value : 0;
}

void tp_map_set(tp_arena *a, tp_map *m, tp_str key, uint32_t value)
{
    tp_assert(key.p); /* NULL marks a free entry */
    if (2 * m->len >= m->cap) {
        tp_map grown = {.cap = m->cap ? 2 * m->cap : 16, .len = m->len};
        grown.at = TP_NEWN(a, struct tp_map_entry, grown.cap);
        for (uint32_t i = 0; i < m->cap; i++)
            if (m->at[i].key.p)
                *slot(&grown, m->at[i].key) = m->at[i];
        *m = grown;
    }
    struct tp_map_entry *e = slot(m, key);
    m->len += !e->key.p;
    *e = (struct tp_map_entry){key, value};
}
