/* Internal to spec/pipeline*.c: from the declaration of a pipeline to the loop that it stands for. */
#ifndef TP_PIPELINE_WRITER_H
#define TP_PIPELINE_WRITER_H

#include "base/map.h"
#include "spec/pipeline.h"

typedef struct axis {
    tp_str name;
    tp_node *named, *steps;
    bool moves;      /* it has not just one step */
    bool runs;       /* it surely has a step */
    int64_t literal; /* its steps where they are a number; else 0 */
} axis;

/* What the argument of a pipeline leaves of one dimension of its array: one index, all, or a part. */
typedef enum view_kind { VIEW_ONE, VIEW_ALL, VIEW_PART } view_kind;
typedef struct view {
    view_kind kind;
    tp_node *at;     /* ONE: the index; PART: where it starts */
    tp_node *extent; /* ALL, PART */
} view;

typedef struct window {
    const tp_json *declared, *name_string;
    tp_str name;  /* of its buffer in the loop */
    tp_str array; /* of the kernel */
    tp_node *dtype;
    bool output;
    const tp_node *argument; /* the array or the part of it that the statement passes */
    uint32_t rank;           /* of the array */
    view views[TP_MAX_RANK];
    tp_node *block[TP_MAX_RANK], *index[TP_MAX_RANK]; /* by dimension of the array; ONE: none. No block: squeezed */
    const tp_json *index_at[TP_MAX_RANK];
    bool cut[TP_MAX_RANK];     /* the last block may end behind the array */
    bool element[TP_MAX_RANK]; /* the index counts elements */
    bool smem;
    bool whole;   /* it is all of what the argument leaves, in every step */
    int level;    /* the last axis that moves it; -1: none */
    bool certain; /* each turn of that axis has another block */
    int buffers;
    tp_node *before[TP_MAX_RANK]; /* outputs that are not certain: names of the block of the turn before */
} window;

typedef struct writer writer;
struct writer {
    tp_reader *r;
    tp_ctx *c;
    tp_pipeline *all;
    bool *used;
    uint32_t n;
    tp_map taken, opened; /* names; those of windows that stand for themselves */
    tp_names declared, axis_names;
    const tp_block *body;
    uint32_t depth, nstatements, nruns;
    const tp_pipeline *path[TP_MAX_PIPELINE_DEPTH];
    tp_node at;      /* where nodes that are made here are said to be */
    uint32_t number; /* the line of the body that runs the pipeline */
    axis axes[TP_MAX_AXES];
    uint32_t naxes;
    window *windows;
    uint32_t nwindows, ninputs;
    tp_block step;
    const writer *outer; /* of the pipeline whose step runs this one; it has windows and axes that the step sees, too */
};

/* pipeline_syntax.c: nodes and statements that stand where w->at is */
tp_node *pipe_node(writer *w, tp_node_kind kind, tp_str text, uint32_t n, tp_node *const *kids);
tp_node *pipe_name(writer *w, tp_str text);
tp_node *pipe_number(writer *w, int64_t v);
tp_node *pipe_operator(writer *w, tp_operator o, tp_node *a, tp_node *b);
/* A new statement at the end of the block. */
tp_syntax *pipe_statement(writer *w, tp_block *into, tp_stmt_kind kind, tp_node *target, tp_node *value);
/* What is made from here on stands at this string or number. */
void pipe_stand_at(writer *w, const tp_json *v);
/* An integer, or the expression of a string. Raises TP001, TP003. */
tp_node *pipe_expression(writer *w, const tp_json *v, const char *what);
bool pipe_is_number(const tp_node *n, int64_t v);

typedef bool (*node_test)(const tp_node *n, void *ctx);
/* The first node in n, n included, that the test holds for; NULL: none. */
const tp_node *pipe_find_in_node(const tp_node *n, node_test test, void *ctx);

typedef struct walk {
    const tp_block *functions; /* where the functions are that it may call; NULL: none are looked into */
    node_test test;
    void *ctx;
    uint32_t depth;
    bool (*statement)(const tp_syntax *s, void *ctx); /* found is the target of one that this holds for; NULL: none */
} walk;
/* The first node of the block, and of the functions that it calls, that a test holds for; NULL: none. */
const tp_node *pipe_find_node(const walk *f, const tp_block *b);
/* The first call, or other node, in n that the test holds for, there or in what it calls. */
const tp_node *pipe_find_with_calls(const walk *f, const tp_node *n);
/* Are they written alike? NULL: nothing is. */
bool pipe_same(const tp_node *a, const tp_node *b);
/* A test: is it the name that ctx, a tp_str, has? */
bool pipe_is_name(const tp_node *n, void *text);
bool pipe_mentions(const tp_node *n, tp_str text);
/* Is the index the axis, or a multiple of it, plus what no axis of the pipeline changes? Then it is another one in each
 * turn. */
bool pipe_follows(const writer *w, const tp_node *n, const axis *a);
/* The argument of a call by its keyword or position; NULL: it has none. */
const tp_node *pipe_argument(const tp_node *call, const char *keyword, uint32_t position);
/* Is the place the array, or a part of it? */
bool pipe_is_of(const tp_node *place, tp_str array);

/* pipeline.c */
/* The name, or one like it that nothing has. */
tp_str pipe_fresh(writer *w, tp_str wish);
/* num_programs() of axes of this pipeline and of those around it, as what "steps" says. */
void pipe_count_steps(const writer *w, tp_node **at);
/* The input or output of the kernel; NULL: there is none of that name. */
const tp_json *pipe_array_named(writer *w, tp_str text, bool *output);

/* pipeline_windows.c: the axes of p, and its windows over what statement s passes; what is computed once goes to
 * `into`. Raise TP001 to TP005. */
void pipe_read_axes(writer *w, const tp_pipeline *p);
void pipe_read_windows(writer *w, const tp_pipeline *p, const tp_syntax *s, tp_block *into);

/* pipeline_loop.c: the loops over w->axes, with what the windows move around w->step. */
void pipe_write_loop(writer *w, tp_block *into);

/* pipeline_apart.c: TP004 at s where the step could see that blocks are copied ahead. */
void pipe_check_apart(writer *w, const tp_syntax *s);

#endif
