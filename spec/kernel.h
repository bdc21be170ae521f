/* The data model: one kernel, typed and normalised, for one choice of its
 * dtype parameters. Read-only after tp_spec_load().
 */
#ifndef TP_KERNEL_H
#define TP_KERNEL_H

#include "base/dtype.h"
#include "base/finding.h"
#include "spec/expr.h"
#include "spec/json.h"
#include "spec/limits.h"
#include "spec/program.h"
#include "spec/target.h"

enum {
    TP_FORMAT_VERSION = 1,
};
/* No number in "sizes" is larger: sums of a few of them have room in 64 bits. */
#define TP_SIZE_LIMIT ((int64_t)1 << 60)

typedef enum tp_size_kind { TP_SIZE_FIXED, TP_SIZE_RANGE, TP_SIZE_CHOICE, TP_SIZE_DERIVED } tp_size_kind;

typedef struct tp_size {
    tp_str name;
    tp_loc loc;
    tp_size_kind kind;
    int64_t min, max, multiple_of; /* RANGE; min and max also for CHOICE */
    int64_t *choices;              /* CHOICE: ascending */
    uint32_t nchoices;
    tp_expr expr; /* FIXED: constant; DERIVED: its definition; else its symbol */
    uint32_t sym; /* RANGE and CHOICE */
} tp_size;

/* A number with a name, of bodies and references: a literal, or what is written over sizes. */
typedef struct tp_named_number {
    tp_str name;
    const tp_node *value;
} tp_named_number;

typedef struct tp_axis {
    tp_str name;
    tp_loc loc, steps_loc;
    tp_expr steps; /* over sizes and tables */
    uint32_t sym;
    bool parallel;
    bool per_core; /* parallel, one index for each core: semantics core_parallel */
    bool device;   /* parallel, one index for each device of a ring, or of a line of a mesh: semantics device */
} tp_axis;

typedef enum tp_role { TP_INPUT, TP_OUTPUT, TP_SCRATCH } tp_role;
typedef enum tp_memory {
    TP_MEM_VMEM,
    TP_MEM_SMEM,
    TP_MEM_ANY,
    TP_MEM_HBM,
    TP_MEM_SEMAPHORE,
    TP_MEM_DMA_SEMAPHORE,
    TP_MEM_BARRIER /* a semaphore that is there before a device enters the kernel */
} tp_memory;
const char *tp_memory_name(tp_memory m);
typedef enum tp_dim_kind { TP_DIM_BLOCKED, TP_DIM_SQUEEZED, TP_DIM_ELEMENT } tp_dim_kind;

typedef struct tp_dim {
    tp_dim_kind kind;
    tp_expr block;          /* extent of the window; 1 when squeezed */
    tp_expr pad_lo, pad_hi; /* ELEMENT */
    tp_expr index;          /* index map of this dimension, over sizes, axes and tables */
    tp_loc loc, index_loc, shape_loc;
} tp_dim;

/* Scratch of bodies with random bits: two words of the seed, and how many draws there were. */
#define TP_PRNG_STATE "prng_state"

struct tp_table;
/* An end of "values": a number of floats, or an expression over sizes. */
typedef struct tp_end {
    bool given;
    tp_expr expr; /* no id: `number` */
    double number;
} tp_end;

/* An array with its BlockSpec, or a scratch buffer (shape only). */
typedef struct tp_operand {
    tp_role role;
    tp_str name;
    tp_loc loc;
    tp_dtype dtype;
    tp_memory memory;
    uint32_t rank;
    tp_expr *shape;
    tp_dim *dims;          /* inputs and outputs: `rank` entries */
    bool whole;            /* no block_shape: the window is the whole array */
    bool constant_map;     /* every index is a literal */
    int buffers;           /* pipeline buffers as declared; 2 by default. Scratch: 1, of a pipeline's window so many, 0:
                              nothing is stored there */
    bool discard;          /* an output that nobody reads: scratch by another name */
    bool revisit_any;      /* an output whose windows are restored when the grid returns to them */
    bool implied;          /* scratch that "scratch" does not list: a mutable table, TP_PRNG_STATE */
    const tp_node *scoped; /* scratch of a `with`, there within it alone: scratch(…) of the body; or NULL */
    int alias;             /* an output: the input with which it shares its array; -1: none */
    int array;             /* an input: the earlier one whose array is its own, too; -1: it has one of its own */
    tp_expr valid;         /* condition on sizes and element_syms; none: every element is */
    tp_loc valid_loc;      /* of its text */
    tp_end least, most;    /* an input: between what its elements lie; spec/range.h says it for sizes */
    tp_loc values_loc;
    struct tp_table *entries; /* of integers, and no output is aliased to them: what proofs know of them; or NULL */
    uint32_t element_syms[TP_MAX_RANK]; /* d0, d1, … in `valid` */
    uint32_t ref_rank;                  /* what the body sees: squeezed dims dropped */
    tp_expr *ref_shape;
    /* An array with a "shard", as callers and references have it; NULL: as `shape` has it. In `shape` each dimension
     * that is cut among devices is several: how many there are along each axis, squeezed, and what one of them has. */
    tp_expr *global_shape;
    uint32_t global_rank;
    uint32_t *global_dim; /* by dimension of `shape`: of which it is a part */
} tp_operand;

typedef struct tp_fact {
    tp_expr expr;
    tp_str text;
    tp_loc loc;
} tp_fact;

/* A prefetched array of integers: index maps, grid steps and the body read it;
 * reads are int32. */
typedef struct tp_table {
    tp_str name;
    tp_loc loc;
    tp_dtype dtype;
    uint32_t rank;
    tp_expr shape[TP_TABLE_RANK];
    tp_expr extent;   /* entries of the first dimension that may be read; none: all */
    tp_expr min, max; /* bounds of every readable entry; none: the dtype's */
    tp_loc values_loc, extent_loc;
    bool sorted;     /* rank 1: ascending */
    bool given;      /* an input of "prepare": contracts and the reference read it */
    bool prepared;   /* "prepare" computes it */
    bool is_mutable; /* the body sees scratch of this name, which begins with the contents */
    const tp_json *name_string;
    const tp_table_data *contents; /* fixed by the spec; NULL: any that keep the promises */
    uint32_t sym;
} tp_table;

/* What holds for the contents of tables: for all bound symbols from 0 below
 * their extents, the fact. */
typedef struct tp_contract {
    tp_str id, text;
    tp_loc loc;
    uint32_t nbound;
    uint32_t bound[TP_TABLE_RANK]; /* symbols */
    tp_expr extent[TP_TABLE_RANK]; /* over sizes, tables and earlier bound symbols */
    tp_expr fact;
} tp_contract;

typedef struct tp_dtype_param {
    tp_str name;
    tp_dtype choice;
} tp_dtype_param;

/* A naive program, or the name of a builtin with arguments. */
typedef struct tp_reference {
    tp_program *program; /* NULL for a builtin or when there is none */
    const tp_json *builtin;
    tp_str name;
    tp_loc loc;
} tp_reference;

typedef struct tp_kernel {
    tp_arena *arena;
    const tp_source *source;
    tp_exprs *exprs;
    uint32_t nsyms; /* its own symbols, the first ones; proofs add others */
    const tp_json *doc;
    tp_str name, description;
    tp_target target;
    bool target_defaulted;
    int64_t vmem_limit; /* asked of the compiler, bytes; 0: its default */
    tp_dtype_param *dtypes;
    uint32_t ndtypes;
    tp_size *sizes;
    uint32_t nsizes;
    tp_named_number *constants;
    uint32_t nconstants;
    tp_fact *where;
    uint32_t nwhere;
    tp_table *tables;
    uint32_t ntables, nprefetched; /* those of "scalar_prefetch" come first */
    const tp_block *prepare;       /* computes tables from others; NULL: none */
    tp_contract *contracts;
    uint32_t ncontracts;
    tp_axis *axes;
    uint32_t naxes;
    tp_operand *operands; /* inputs, then outputs, then scratch */
    uint32_t ninputs, noutputs, nscratch;
    tp_program *body; /* NULL: no kernel given */
    tp_reference reference;
    double tolerance;              /* of rounding, by the author; 0: ours */
    const tp_json *cases;          /* NULL or an array */
    const tp_json *allow, *expect; /* findings that may, that must appear; NULL or an array */
} tp_kernel;

/* Is there an array of which proofs know between what its entries lie? */
static inline bool tp_has_entries(const tp_kernel *k)
{
    bool any = k->ntables > 0;
    for (uint32_t i = 0; i < k->ninputs; i++)
        any |= k->operands[i].entries != NULL;
    return any;
}
static inline uint32_t tp_noperands(const tp_kernel *k)
{
    return k->ninputs + k->noutputs + k->nscratch;
}
static inline bool tp_has_element_dims(const tp_operand *o)
{
    for (uint32_t d = 0; o->role != TP_SCRATCH && d < o->rank; d++)
        if (o->dims[d].kind == TP_DIM_ELEMENT)
            return true;
    return false;
}
/* The input that stands for the array of operand i, which has several windows where others name it in "array". */
static inline uint32_t tp_array_of(const tp_kernel *k, uint32_t i)
{
    return k->operands[i].array >= 0 ? (uint32_t)k->operands[i].array : i;
}
/* What callers call that array. */
static inline tp_str tp_array_name(const tp_kernel *k, uint32_t i)
{
    return k->operands[tp_array_of(k, i)].name;
}
/* Does the spec say what is to be computed? */
static inline bool tp_has_reference(const tp_kernel *k)
{
    return k->reference.program || k->reference.builtin;
}
/* The array as callers, references and findings have it. */
static inline uint32_t tp_global_rank(const tp_operand *o)
{
    return o->global_shape ? o->global_rank : o->rank;
}
static inline const tp_expr *tp_global_shape(const tp_operand *o)
{
    return o->global_shape ? o->global_shape : o->shape;
}
static inline uint32_t tp_global_dim(const tp_operand *o, uint32_t d)
{
    return o->global_shape ? o->global_dim[d] : d;
}
/* Its extents, or the indices of an element, from those in memory, where the extents are `dims`. */
void tp_global_dims(const tp_operand *o, const int64_t *dims, int64_t *global);
void tp_global_index(const tp_operand *o, const int64_t *dims, const int64_t *at, int64_t *global);
/* Does dimension d count devices, along an axis? */
static inline bool tp_is_cut(const tp_operand *o, uint32_t d)
{
    return o->global_shape && d + 1 < o->rank && o->global_dim[d] == o->global_dim[d + 1];
}
/* What a device has of it, as an array of its own, with the numbers of dimensions that are written; o itself, where it
 * is not cut. */
const tp_operand *tp_part_of_device(tp_arena *a, const tp_operand *o);
/* How many devices dimension d of the whole array is cut among: a product over axes; 1: it is not cut. */
tp_expr tp_shards_of(const tp_kernel *k, const tp_operand *o, uint32_t d);
/* Is it what the types above say, within spec/limits.h? For tp_assert(). */
bool tp_kernel_holds(const tp_kernel *k);
/* The values in env of k's own symbols, in `a`: env may be older than symbols that proofs have added, which have room
 * and are 0. */
int64_t *tp_env_copy(tp_arena *a, const tp_kernel *k, const int64_t *env);
/* Does the operand stay where it is, as a whole, for copies of the body to move parts of it? */
static inline bool tp_is_far(const tp_operand *o)
{
    return o->memory == TP_MEM_ANY || o->memory == TP_MEM_HBM;
}
/* Is its ref the part of such an array that belongs to one device? */
static inline bool tp_is_shard(const tp_operand *o)
{
    return tp_is_far(o) && !o->whole;
}
static inline bool tp_has_shards(const tp_kernel *k)
{
    bool any = false;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        any |= tp_is_shard(&k->operands[i]);
    return any;
}
/* Axes of devices, which are the first ones: one for a ring, several for a mesh, whose devices are numbered along them,
 * the last one fastest. */
static inline uint32_t tp_mesh_rank(const tp_kernel *k)
{
    uint32_t n = 0;
    while (n < k->naxes && k->axes[n].device)
        n++;
    return n;
}
static inline bool tp_has_devices(const tp_kernel *k)
{
    return tp_mesh_rank(k) > 0;
}
/* What a reader calls the device of that number, at values of the sizes: "3"; "(1, 0)" on a mesh. */
tp_str tp_device_name(tp_arena *a, const tp_kernel *k, const int64_t *env, int64_t number);
/* Does a device write to the memory of another one, or count on its semaphores? */
static inline bool tp_is_connected(const tp_kernel *k)
{
    return k->body && k->body->connected;
}
/* An output that stays where it is and begins with what its input holds. */
static inline bool tp_begins_as_input(const tp_operand *o)
{
    return tp_is_far(o) && o->role == TP_OUTPUT && o->alias >= 0;
}
/* Where no copy is disturbed in flight (TP504), it may be taken for a store at its start or at the wait that ends it.
 * Who follows values for all sizes takes the first for what is copied out to an array, and the second for what is
 * copied in: then what the store needs is known. Where waits do not name the sides of what they end, it is the first
 * for all of them (`at_start`). */
static inline bool tp_stores_here(const tp_operand *operands, const tp_statement *s, bool at_start)
{
    bool starts = at_start || tp_is_far(&operands[s->access->operand]);
    return s->kind == TP_PUT || (s->kind == TP_COPY_START && starts) || (s->kind == TP_COPY_WAIT && !starts);
}
/* A copy from a part of a buffer to a part of the same one. */
static inline bool tp_copies_within(const tp_statement *s)
{
    return (s->kind == TP_PUT || s->kind == TP_COPY_START) && s->from && s->from->operand == s->access->operand;
}
/* Scratch that counts: what its cells hold is nobody's business. */
static inline bool tp_is_semaphore(const tp_operand *o)
{
    return o->memory == TP_MEM_SEMAPHORE || o->memory == TP_MEM_DMA_SEMAPHORE || o->memory == TP_MEM_BARRIER;
}
static inline bool tp_has_barrier(const tp_kernel *k)
{
    bool any = false;
    for (uint32_t i = 0; i < tp_noperands(k); i++)
        any |= k->operands[i].memory == TP_MEM_BARRIER;
    return any;
}
/* "T=bfloat16, U=int8"; empty without parameters. */
tp_str tp_dtypes_text(const tp_kernel *k);
/* Does each case choose a value? Others are fixed, or follow from those. */
static inline bool tp_is_open_size(const tp_size *s)
{
    return s->kind == TP_SIZE_RANGE || s->kind == TP_SIZE_CHOICE;
}
const tp_size *tp_size_find(const tp_kernel *k, tp_str name);
/* What a witness says of sizes that this kernel leaves open, into env; it may be of another text. */
void tp_bind_sizes(const tp_kernel *k, const tp_witness *w, int64_t *env);
/* x >= 0, rounded up to a multiple that a RANGE may have; it may be above s->max. */
int64_t tp_size_above(const tp_size *s, int64_t x);
/* The least value: of a RANGE the least multiple of s->multiple_of that is no less than s->min. */
int64_t tp_size_least(const tp_size *s);
/* NULL: there is none of that name. */
const tp_named_number *tp_named_number_find(const tp_kernel *k, tp_str name);
/* Index of a table, or -1. */
int tp_table_find(const tp_kernel *k, tp_str name);
int tp_axis_find(const tp_kernel *k, tp_str name);
/* Index of an operand by name, or -1. */
int tp_operand_find(const tp_kernel *k, tp_str name);

/* positions.c: is its meaning over axes of the grid? */
bool tp_names_axes(const tp_kernel *k, tp_vid v);
/* positions.c: does the body compare integers of this input with positions, which come of iota or of program ids? */
bool tp_names_positions(const tp_kernel *k, uint32_t input);
/* data.c: by value of p, the body or a reference: does it come of what this input holds (-1: any), through memory,
 * too? In `a`. */
bool *tp_comes_of(tp_arena *a, const tp_kernel *k, const tp_program *p, int input);

/* One spec file: a kernel per combination of its dtype choices. */
typedef struct tp_spec {
    const tp_json *doc;
    tp_str name;
    tp_kernel **kernels;
    uint32_t nkernels;
} tp_spec;

/* Which of the kernels has the dtypes of the witness; else the first one. */
uint32_t tp_kernel_of_witness(const tp_spec *s, const tp_witness *w);

typedef struct tp_load_options {
    tp_str target; /* overrides the spec's; empty: none */
} tp_load_options;

/* "x-python": {"inferred": …}: the sizes were generalised from calls, not declared. */
bool tp_sizes_inferred(const tp_json *doc);

/* Read c->source into *out. On TP_E_INPUT c->findings holds the error. */
tp_status tp_spec_load(tp_ctx *c, const tp_load_options *o, tp_spec **out);

#endif
