/* tileproof: tiled kernel specs, loaded and executed.
 *
 * This library reads specs and receipts and executes kernels on arrays of the
 * caller's; it needs no solver. libtileproof-verify (tileproof_verify.h) is the
 * same and the prover. A program links one of the two.
 *
 * No function prints, exits, changes the locale or keeps state outside its
 * arguments. Different handles may be used by different threads at the same
 * time, and tileproof_run() of one handle by several; everything else of one
 * handle by one thread at a time. Strings are UTF-8; those handed to
 * a sink live until it returns, those of a handle as long as the handle.
 */
#ifndef TILEPROOF_H
#define TILEPROOF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TILEPROOF_API __attribute__((visibility("default")))

/* "0.1.0": the version of the library that is linked. */
TILEPROOF_API const char *tileproof_version(void);

typedef enum tileproof_status {
    TILEPROOF_OK = 0,
    TILEPROOF_USAGE,    /* an argument is missing or means nothing */
    TILEPROOF_INPUT,    /* a spec, a receipt or an array is not valid, or they do not fit each other */
    TILEPROOF_REFUSED,  /* the kernel is not verified, or its receipt does not cover it */
    TILEPROOF_VIOLATED, /* a rule is violated: by the spec, or by the kernel while it ran */
    TILEPROOF_UNKNOWN,  /* a rule could be neither proven nor refuted */
    TILEPROOF_LIMIT,    /* a limit of the options was reached */
    TILEPROOF_MEMORY,   /* memory ran out */
    TILEPROOF_INTERNAL  /* tileproof contradicts itself: please report it */
} tileproof_status;
/* "usage", "input", …; never NULL. */
TILEPROOF_API const char *tileproof_status_name(tileproof_status s);

/* Something to know. Errors about arguments have neither rule nor place. */
typedef struct tileproof_finding {
    const char *rule;      /* such as TP101; NULL for an error about arguments */
    const char *slug;      /* "block-out-of-bounds"; NULL likewise */
    const char *verdict;   /* "violated", "proven", "unknown", … (docs/REPORTS.md) */
    const char *severity;  /* "error", "warning", "note" */
    const char *subject;   /* operand, axis or size; may be "" */
    const char *message;   /* one line */
    const char *help;      /* may be "" */
    const char *pointer;   /* JSON pointer into the spec; may be "" */
    uint32_t line, column; /* from 1; 0: no place */
} tileproof_finding;
typedef void (*tileproof_sink)(void *context, const tileproof_finding *finding);

/* ---- kernels ---- */

typedef struct tileproof_kernel tileproof_kernel;

/* Read a spec from memory: `n` bytes of JSON, which may be freed afterwards.
 * `target` replaces the chip that the spec names; NULL: keep it. Problems go to
 * the sink (NULL: nowhere). On TILEPROOF_OK the caller owns *kernel. */
TILEPROOF_API tileproof_status tileproof_load(const char *text, size_t n, const char *target, tileproof_sink sink,
                                              void *context, tileproof_kernel **kernel);
TILEPROOF_API tileproof_status tileproof_load_file(const char *path, const char *target, tileproof_sink sink,
                                                   void *context, tileproof_kernel **kernel);
/* NULL is allowed. */
TILEPROOF_API void tileproof_free(tileproof_kernel *kernel);

TILEPROOF_API const char *tileproof_name(const tileproof_kernel *kernel);
TILEPROOF_API const char *tileproof_target(const tileproof_kernel *kernel);

typedef enum tileproof_role { TILEPROOF_INPUT_ARRAY, TILEPROOF_OUTPUT_ARRAY, TILEPROOF_TABLE } tileproof_role;
typedef struct tileproof_parameter {
    const char *name;
    tileproof_role role;
    const char *dtype; /* of the first dtype combination */
    uint32_t rank;
} tileproof_parameter;
/* Inputs, outputs and prefetched tables, in this order. False past the last. */
TILEPROOF_API size_t tileproof_nparameters(const tileproof_kernel *kernel);
TILEPROOF_API int tileproof_get_parameter(const tileproof_kernel *kernel, size_t i, tileproof_parameter *parameter);

/* ---- receipts ---- */

/* Hold a receipt of `tileproof verify --receipt` against the kernel: its text,
 * target and the version of the semantics. On TILEPROOF_OK the kernel counts as
 * verified; TILEPROOF_REFUSED: the sink hears why. The receipt's digest notices
 * accidents, not forgers. */
TILEPROOF_API tileproof_status tileproof_accept(tileproof_kernel *kernel, const char *receipt, size_t n,
                                                tileproof_sink sink, void *context);
TILEPROOF_API int tileproof_is_verified(const tileproof_kernel *kernel);

/* ---- running ---- */

/* Memory of the caller's. */
typedef struct tileproof_array {
    const char *name;       /* of the parameter */
    const char *dtype;      /* "float32", "bfloat16", "int8", … as in specs */
    uint32_t rank;          /* at most 8 */
    const int64_t *shape;   /* `rank` extents */
    const int64_t *strides; /* `rank` steps in bytes; NULL: C order, without gaps */
    void *data;             /* of inputs it is only read */
} tileproof_array;

typedef struct tileproof_size {
    const char *name;
    int64_t value;
} tileproof_size;

typedef struct tileproof_run_options {
    const tileproof_size *sizes; /* that the shapes of the arrays do not determine */
    size_t nsizes;
    size_t max_memory; /* bytes, the caller's arrays not counted; 0: 2 GiB */
    int64_t max_steps; /* of the grid; 0: 10^8 */
    uint64_t seed;     /* order of the steps of parallel axes; 0: as the grid counts */
    int unchecked;     /* run a kernel that is not verified */
    unsigned threads;  /* at most so many share the steps of leading parallel axes, with the same results; 0: one per
                        * processor that the process may use */
} tileproof_run_options;

/* Execute the kernel: `arrays` has every input and table, and every output.
 * Sizes follow from the shapes; they must lie in the domain of the spec, tables
 * must keep their contracts (TILEPROOF_INPUT). Every access is checked
 * (TILEPROOF_VIOLATED). Inputs are read where they lie. Outputs of a kernel
 * that is not verified are written when, and only when, TILEPROOF_OK is
 * returned. Those of a verified one are computed in the caller's memory if they
 * are aligned, have no strides and overlap no other array of the call: after a
 * failure they hold anything. The handle keeps the memory of its runs: calls
 * after the first, of the same sizes, take none. `options` may be NULL. */
TILEPROOF_API tileproof_status tileproof_run(const tileproof_kernel *kernel, const tileproof_array *arrays, size_t n,
                                             const tileproof_run_options *options, tileproof_sink sink, void *context);

/* What tileproof_run() would want for the output `name`, with the inputs, tables and sizes of `arrays` and `options`,
 * where outputs may be absent: *dtype (of static duration), *rank, and as many extents in `shape`, which has room
 * for 8. What inputs and tables hold is not looked at: whether it keeps the contracts, tileproof_run() says. */
TILEPROOF_API tileproof_status tileproof_output_shape(const tileproof_kernel *kernel, const char *name,
                                                      const tileproof_array *arrays, size_t n,
                                                      const tileproof_run_options *options, const char **dtype,
                                                      uint32_t *rank, int64_t *shape, tileproof_sink sink,
                                                      void *context);

#ifdef __cplusplus
}
#endif

#endif
