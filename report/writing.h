/* A report while it is written: spec by spec, so that memory need hold no more than one of them. */
#ifndef TP_WRITING_H
#define TP_WRITING_H

#include "base/spool.h"
#include "report/report.h"

enum { TP_PARTS = 5 };

struct tp_writing {
    const tp_format *format;
    const tp_report *r; /* how it is to be written; its specs are those at hand, or none */
    tp_arena *arena;    /* of what is kept until the end */
    FILE *out;          /* of a format that needs no end: where it goes at once; NULL: to its part 0 */
    bool alone;         /* a report of one spec */
    bool lean; /* JSON: without members that are null, empty lists, errors by blocks that are all 0, and equal cases */
    uint32_t specs; /* before the one at hand */
    tp_spool *parts[TP_PARTS];
    void *state; /* the format's own, NULL at first, in the arena */
};

/* What is written there comes out at the end, as the format puts its parts together. */
FILE *tp_part_out(tp_writing *w, uint32_t part);
uint64_t tp_part_length(tp_writing *w, uint32_t part);
/* A part as it is. */
void tp_copy_part(tp_writing *w, uint32_t part, FILE *out);
void tp_copy_piece(tp_writing *w, uint32_t part, uint64_t from, uint64_t to, FILE *out);
/* An element of a list in JSON: a line of its own, behind a comma. tp_copy_list() prints lists, one behind the other,
 * without the first comma, from `first` down to `last`, and the end of their lines; nothing where there are none. */
void tp_add_element(tp_writing *w, uint32_t part, struct json_object *o, unsigned level, tp_arena *a);
void tp_copy_list(tp_writing *w, uint32_t first, uint32_t last, unsigned level, FILE *out);
/* `"key":value` at the level, behind `before`. */
void tp_put_member(FILE *out, const char *before, const char *key, struct json_object *value, unsigned level,
                   tp_arena *a);

#endif
