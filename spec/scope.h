/* The one namespace of a spec, and integer expressions read in it. */
#ifndef TP_SCOPE_H
#define TP_SCOPE_H

#include "spec/kernel.h"
#include "spec/members.h"

typedef enum tp_name_kind {
    TP_NAME_SIZE = 1,
    TP_NAME_AXIS = 2,
    TP_NAME_OPERAND = 4,
    TP_NAME_DTYPE = 8,
    TP_NAME_LOCAL = 16,
    TP_NAME_ELEMENT = 32, /* d0, d1, … inside "valid", i of a forall; index is the symbol */
    TP_NAME_TABLE = 64,
    TP_NAME_CONSTANT = 128,
    TP_NAME_GIVEN = 512,   /* an input of "prepare" */
    TP_NAME_MUTABLE = 256, /* a table that the body writes */
} tp_name_kind;

typedef struct tp_name {
    tp_str name;
    tp_name_kind kind;
    uint32_t index; /* into the kernel's array of that kind; locals: lowering's */
    tp_loc loc;
} tp_name;

typedef TP_VEC(tp_name) tp_names;

/* Everything the readers of one kernel share. */
typedef struct tp_reader {
    tp_ctx *c;
    tp_kernel *k;
    tp_names names;
    const tp_json *sizes; /* the "sizes" object, while it is being read */
    uint8_t *size_state;  /* 0 not read, 1 being read, 2 done */
    tp_block body;        /* "kernel", where its operands had to be known before; else empty */
} tp_reader;

const tp_name *tp_scope_find(const tp_names *names, tp_str name);
/* Declare a name; raises TP002 when it is taken, reserved or malformed. */
void tp_scope_add(tp_ctx *c, tp_names *names, tp_str name, tp_name_kind kind, uint32_t index, tp_loc loc);
/* Raise TP002 for an unknown name, with the nearest known one of `kinds`. */
_Noreturn void tp_scope_unknown(tp_ctx *c, const tp_names *names, unsigned kinds, tp_loc loc, tp_str name);

/* Integer expression of a JSON string or integer; `kinds` (SIZE | AXIS) says
 * which names it may use. */
tp_expr tp_read_int_expr(tp_reader *r, const tp_json *v, unsigned kinds, const char *what);
/* The same from a parsed node. `boolean`: a fact is wanted. */
tp_expr tp_int_expr_of(tp_reader *r, const tp_node *n, unsigned kinds, bool boolean);

/* Read size number i (derived sizes pull others in). Defined in read_sizes.c. */
void tp_read_size(tp_reader *r, uint32_t i);
void tp_read_sizes(tp_reader *r, const tp_json *v);
/* Prefetched tables, and what is promised about them: read_tables.c. */
void tp_read_tables(tp_reader *r);
void tp_read_contracts(tp_reader *r);
/* Operands: read_operands.c. */
void tp_read_operands(tp_reader *r);
/* "shard" of an array whose other members are read: read_shards.c. */
void tp_read_shard(tp_reader *r, tp_operand *o, const tp_json *v);
tp_dtype tp_read_dtype(tp_reader *r, const tp_json *v);

/* JSON helpers shared by the readers; each raises TP001 with the place. */
const tp_json *tp_member(tp_ctx *c, const tp_json *object, const char *key, tp_json_type type, bool required);
void tp_expect_type(tp_ctx *c, const tp_json *v, tp_json_type type, const char *what);
/* Refuse members outside `known` (x-…, $… are ignored); `later` are keys of
 * the language that this build does not read. Both end with NULL. */
void tp_check_keys(tp_ctx *c, const tp_json *object, const char *const *known, const char *const *later,
                   const char *what);

#endif
