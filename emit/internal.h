/* Shared by the files of emit/. */
#ifndef TP_EMIT_INTERNAL_H
#define TP_EMIT_INTERNAL_H

#include "spec/kernel.h"

typedef struct emitter emitter;
struct emitter {
    const tp_kernel *k;
    tp_buf *b;
    int indent;
    TP_VEC(tp_str) known; /* locals of the enclosing statements, for what branches and loops carry */
    unsigned functions;   /* of branches and loops, for their names */
    bool outside;         /* grid steps: tables are arrays, not refs */
    TP_VEC(const struct tp_pipeline *) pipelines;     /* whose steps are being written, the outermost first */
    void (*pipeline)(emitter *e, const tp_syntax *s); /* emit_pipeline() */
    bool (*steps)(emitter *e, tp_str axis);           /* emit_steps() */
};

void emit_text(emitter *e, const char *text);
/* A name of the spec in Python: words and modules of Python get an underscore. */
void emit_identifier(emitter *e, tp_str s);
/* The same after a comma, if one is wanted. */
void emit_item(emitter *e, bool comma, tp_str s);
/* x_ref */
void emit_ref(emitter *e, tp_str s);
/* The constructor of such scratch. */
void emit_scratch(emitter *e, const tp_operand *o);
/* jnp.float32, or a dtype parameter */
void emit_dtype(emitter *e, tp_str name);
/* An expression, in parentheses if its operator binds less than `power`. */
void emit_node(emitter *e, const tp_node *n, int power);
/* An integer expression of the spec: a JSON string or integer. */
void emit_expression(emitter *e, const tp_json *v);
void emit_block(emitter *e, const tp_block *s);
/* The argument of a call by its keyword or position; NULL: it has none. */
tp_node *emit_argument(const tp_node *call, const char *keyword, uint32_t position);
/* [i, pl.ds(…), :] of a subscripted ref. */
void emit_subscripts(emitter *e, const tp_node *place);
/* pallas_copy.c: the call n as a statement that moves data or counts it; false: it is none, and nothing is written. */
bool emit_movement(emitter *e, const tp_node *n);

/* The same: a ref, or a part of one, as it is handed to a copy or a pipeline. */
void emit_side(emitter *e, const tp_node *place);
/* pallas_pipeline.c, by way of the emitter: a PIPELINE statement; how many steps an axis has, where pl.num_programs()
 * does not say it: false, and nothing is written, where it does. */
void emit_pipeline(emitter *e, const tp_syntax *s);
bool emit_steps(emitter *e, tp_str axis);

/* (8, 128): a list of integer expressions, but for so many at its front. */
void emit_shape(emitter *e, const tp_json *list, uint32_t without);

/* pallas_devices.c: how many first dimensions of the operand are those of devices: each has one element of them. */
uint32_t emit_device_dims(const tp_kernel *k, uint32_t operand);
/* "(8, 128)": what a device has of the operand, whose shape is `list`; the extent of one dimension of it. */
void emit_part_shape(emitter *e, uint32_t operand, const tp_json *list);
void emit_part_extent(emitter *e, const tp_operand *o, uint32_t d);
/* Names in the body: where the device is, and its barrier. */
void emit_device(emitter *e);
/* `call` on each device. */
void emit_shard_map(emitter *e);
/* pallas_prepare.c: the function of "prepare", and its call; nothing without it. */
void emit_prepare(emitter *e);

/* names.c: what lives on behind a branch, loop or `with`: names that it assigns and that exist already, that both arms
 * of a branch define, or that a `with` defines. */
typedef TP_VEC(tp_str) emit_names;
emit_names emit_carry_names(emitter *e, const tp_syntax *s);
/* Those of the names that exist already. */
emit_names emit_known_of(emitter *e, const emit_names *all);

#endif
