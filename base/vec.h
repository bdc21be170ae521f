/* Typed growable arrays on an arena: TP_VEC(int) v = {0}; tp_push(a, v, 3);
 * Growth leaves the old storage in the arena. The value is computed first: it may push onto v itself. */
#ifndef TP_VEC_H
#define TP_VEC_H

#include <string.h>

#include "base/arena.h"
#include "base/assert.h"

#define TP_VEC(T)                                                                                                      \
    struct {                                                                                                           \
        T *at;                                                                                                         \
        uint32_t len, cap;                                                                                             \
    }

#define tp_push(a, v, ...)                                                                                             \
    do {                                                                                                               \
        __typeof__(*(v).at) value_ = __VA_ARGS__;                                                                      \
        if ((v).len == (v).cap) {                                                                                      \
            uint32_t cap_ = (v).cap ? (v).cap * 2 : 4;                                                                 \
            void *new_ = tp_alloc_array((a), cap_, sizeof *(v).at);                                                    \
            if ((v).len)                                                                                               \
                memcpy(new_, (v).at, (v).len * sizeof *(v).at);                                                        \
            (v).at = new_;                                                                                             \
            (v).cap = cap_;                                                                                            \
            TP_FORBID(&(v).at[(v).len], (cap_ - (v).len) * sizeof *(v).at);                                            \
        }                                                                                                              \
        TP_ALLOW(&(v).at[(v).len], sizeof *(v).at);                                                                    \
        (v).at[(v).len++] = value_;                                                                                    \
    } while (0)

#endif
