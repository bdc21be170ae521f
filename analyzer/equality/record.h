/* What the laws did, kept for the certificate (record.c), which derive.c writes. */
#ifndef TP_EQUALITY_RECORD_H
#define TP_EQUALITY_RECORD_H

#include "analyzer/equality/sum.h"

typedef struct kept_step {
    tp_law law;
    atom before, after;
    tp_expr count;  /* COUNT: in place of after */
    product around; /* NOTHING: likewise, the conditions around `before` */
    uint32_t k, t;
    const uint32_t *sides;
    const tp_exchange *exchanges;
    uint32_t nsides, nexchanges;
} kept_step;

struct record {
    TP_VEC(tp_side) sides;
    TP_VEC(uint32_t) questions; /* sides, in the order of questions */
    TP_VEC(tp_exchange) exchanges;
    TP_VEC(uint32_t) because; /* of exchanges: the newest side */
    TP_VEC(kept_step *) steps;
};

/* The record of s, made when first asked for. */
struct record *record_of(summary *s);

#endif
