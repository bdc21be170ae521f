/* Objects of references that are no arrays: functions, lists, None, texts. They are there while a reference is
 * lowered, and leave no trace in programs. */
#ifndef TP_THING_H
#define TP_THING_H

#include "spec/program.h"

typedef struct tp_thing tp_thing;
typedef TP_VEC(tp_thing *) tp_things;
typedef struct tp_frame tp_frame;
typedef struct tp_repeat tp_repeat;

typedef enum tp_thing_kind {
    TP_THING_VALUE,    /* value */
    TP_THING_TUPLE,    /* items: a tuple, or a list */
    TP_THING_ROWS,     /* a list with one element for each turn of a loop: the rows of value, a variable */
    TP_THING_FUNCTION, /* function */
    TP_THING_NONE,
    TP_THING_TEXT, /* text */
} tp_thing_kind;

typedef enum tp_function_kind {
    TP_FUNCTION_WRITTEN, /* def or lambda */
    TP_FUNCTION_WORD,    /* of the language: text */
    TP_FUNCTION_PARTIAL, /* inner, with arguments before others */
    TP_FUNCTION_VMAP,    /* inner, along axes */
} tp_function_kind;

typedef struct tp_argument {
    tp_str keyword; /* empty: by its place */
    tp_thing *object;
} tp_argument;
typedef TP_VEC(tp_argument) tp_arguments;

typedef struct tp_function tp_function;
struct tp_function {
    tp_function_kind kind;
    tp_str text;
    const tp_node *node;        /* WRITTEN: the DEF's value or the LAMBDA */
    uint32_t nparameters;       /* of its kids */
    const tp_block *body;       /* DEF; NULL: the last kid of `node` */
    tp_thing **defaults;        /* by parameter: its value when the function was defined; NULL: none */
    tp_frame *frame;            /* where it was defined: what it sees besides its own locals */
    const tp_function *inner;   /* PARTIAL, VMAP */
    tp_arguments arguments;     /* PARTIAL */
    const tp_thing *axes, *out; /* VMAP; NULL: 0 */
};

struct tp_thing {
    tp_thing_kind kind;
    tp_vid value;
    tp_things items;
    const tp_function *function;
    tp_str text;
    uint32_t memory;  /* VALUE, ROWS: of what it may share elements with; 0: nothing */
    tp_repeat *turns; /* lists: the loop they are made in */
    tp_repeat *open;  /* ROWS: the loop that appends to it */
    uint32_t branch;  /* lists: how many branches are around it */
};

/* The locals of one call. */
struct tp_frame {
    tp_frame *lexical;     /* of the function around this one; NULL: none */
    uint32_t base, top;    /* its locals are from base, and while it waits for a call below top */
    bool done;             /* it has returned */
    tp_map assigned;       /* names that it assigns somewhere: they are its locals everywhere */
    struct tp_local *kept; /* done: its locals as they were */
    uint32_t nkept;
    uint32_t branch;  /* branches around the call */
    const void *last; /* the tp_block that it ends with: behind it, it returns */
    bool seen;        /* functions were defined in it */
};

/* A loop that is lowered. */
struct tp_repeat {
    tp_repeat *outer;
    tp_vid var, lo; /* the counter, and where it begins; lo < 0: at 0 */
    int64_t by;
    tp_vid index;            /* the row of a list that belongs to the turn; < 0: (var - lo) / by */
    tp_expr n;               /* how many turns; no id where the sizes do not tell it */
    tp_region *before;       /* the region that it stands in */
    uint32_t branch, level;  /* around it */
    uint32_t memory;         /* of what it runs over; 0: it shares its elements with nothing */
    const tp_syntax *syntax; /* NULL: of an expression */
};

#endif
