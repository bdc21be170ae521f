/* tileproof with the prover (libtileproof-verify). */
#ifndef TILEPROOF_VERIFY_H
#define TILEPROOF_VERIFY_H

#include "tileproof.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tileproof_verify_options {
    int lint_only;     /* prove the static rules, execute nothing */
    int report_proven; /* the sink hears of proofs, too */
    uint32_t cases;    /* generated cases per dtype combination; 0: 6 */
    uint64_t rlimit;   /* of Z3, per hard query; 0: the default */
    uint64_t seed;
    size_t max_memory; /* bytes for the arrays of one case; 0: 2 GiB */
} tileproof_verify_options;

/* Prove the rules for all sizes and execute the kernel against its reference
 * (docs/REPORTS.md says what that establishes). TILEPROOF_OK: nothing is
 * violated and nothing is open; unless `lint_only`, the kernel then counts as
 * verified. TILEPROOF_VIOLATED, TILEPROOF_UNKNOWN: the sink hears of every
 * finding. Hard queries are asked by a process that is forked for the call, which waits for its end.
 * `options` may be NULL. */
TILEPROOF_API tileproof_status tileproof_verify(tileproof_kernel *kernel, const tileproof_verify_options *options,
                                                tileproof_sink sink, void *context);

#ifdef __cplusplus
}
#endif

#endif
