/* Writing past the caches: for results that would only push out what is needed sooner. */
#ifndef TP_STREAM_H
#define TP_STREAM_H

#include <stddef.h>

/* memcpy(); whole lines of the cache go straight to memory where the processor can. Other threads see them for certain
 * once tp_stream_end() was called by this one. */
void tp_stream(void *to, const void *from, size_t n);
void tp_stream_end(void);
/* Bytes of the last cache that a thread may hope for. */
size_t tp_last_cache(void);

#endif
