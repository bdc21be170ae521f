/* Numbers by name: a hash table on an arena. Keys are not copied. */
#ifndef TP_MAP_H
#define TP_MAP_H

#include "base/str.h"

typedef struct tp_map {
    struct tp_map_entry {
        tp_str key;
        uint32_t value;
    } * at;
    uint32_t len, cap;
} tp_map;

/* The number under `key`; 0 when there is none. */
uint32_t tp_map_get(const tp_map *m, tp_str key);
/* value 0: there is none any more. */
void tp_map_set(tp_arena *a, tp_map *m, tp_str key, uint32_t value);

#endif
