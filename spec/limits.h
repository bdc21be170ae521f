/* How large a spec may be. Each number stands here and nowhere else: the reader
 * refuses what is larger (TP005, TP003), and whoever sizes an array by one of
 * them names it. */
#ifndef TP_LIMITS_H
#define TP_LIMITS_H

enum {
    TP_MAX_RANK = 8,           /* dimensions of an array or a value */
    TP_TABLE_RANK = 3,         /* dimensions of a table */
    TP_MAX_AXES = 16,          /* of a grid */
    TP_MAX_MESH = 3,           /* axes of devices */
    TP_MAX_OPERANDS = 256,     /* inputs, outputs and scratch together */
    TP_MAX_TABLES = 32,        /* prefetched */
    TP_MAX_CONTENTS = 1 << 20, /* entries of a table that are written out */
    TP_MAX_CONTRACTS = 64,     /* facts on tables */
    TP_MAX_BOUND = 8,          /* variables of one `forall` */
    TP_MAX_NAME = 64,          /* characters */
    TP_MAX_BUFFERS = 16,       /* of a window */
    TP_MAX_POWER = 16,         /* an integer exponent in a body, either way */
    TP_MAX_SIZES = 256,        /* symbols */
    TP_MAX_CHOICES = 64,       /* values that a size may be limited to */
    TP_MAX_DTYPE_COMBINATIONS = 64,
    TP_SIZE_MAX = 1 << 30,      /* default upper end of a size: fact F2 */
    TP_MAX_LISTED = 16,         /* elements that a comprehension of a reference writes out */
    TP_MAX_ZIPPED = 16,         /* what a loop of a reference runs over at a time */
    TP_MAX_PIPELINES = 32,      /* that a spec declares */
    TP_MAX_PIPELINE_RUNS = 64,  /* statements that run one, each time that the loops have it */
    TP_MAX_PIPELINE_CUTS = 4,   /* dimensions of a window whose last block may end behind the array */
    TP_MAX_PIPELINE_DEPTH = 4,  /* of pipelines in one another */
    TP_MAX_CALLS = 16,          /* depth of functions that call functions */
    TP_MAX_STATEMENTS = 200000, /* of a body, after calls are written out */
    TP_MAX_SYNTAX_DEPTH = 200,  /* of one expression's text, in brackets and operators */
    TP_MAX_SYNTAX_NODES = 20000,
};

#endif
