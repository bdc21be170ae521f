/* One place of a kernel written otherwise: the small changes that undo what authors get wrong. */
#ifndef TP_REWRITES_H
#define TP_REWRITES_H

#include "spec/kernel.h"

enum { TP_MOST_TWINS = 8 };
typedef struct tp_rewrite {
    tp_edit edit;
    uint32_t ntwins, twins[TP_MOST_TWINS]; /* where, behind it, the same change is made: of what is written alike, */
    const char *twins_are;                 /* ... "blocks", or a copy and its wait: "statements" */
    tp_edit also;                          /* another place that changes with it, behind it; its text empty: none */
    tp_str title;                          /* of both; empty: it is told by its edit */
    tp_loc
        place; /* what it changes: an expression, a statement, an index map or an entry of one, the steps of an axis */
    uint8_t rank; /* 0: an operator, a number by one; then names; then terms and factors that are added */
} tp_rewrite;
typedef TP_VEC(tp_rewrite) tp_rewrites;

/* Those of the spec, which `doc` is the parsed text of, by rank, and then in the order of the text or against it; at
 * most `most`. Some do not type, and most are wrong: what they do is for others to find out. */
tp_rewrites tp_rewrites_of(tp_ctx *c, const tp_json *doc, uint32_t most);

#endif
