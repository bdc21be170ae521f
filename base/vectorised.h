/* Loops compiled for several instruction sets. */
#ifndef TP_VECTORISED_H
#define TP_VECTORISED_H

/* The same code for several instruction sets; the result does not depend on
 * which one runs. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define TP_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
/* For fma(): it is an instruction of the first two. */
#define TP_VECTORISED_FMA __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define TP_VECTORISED
#define TP_VECTORISED_FMA
#endif

#endif
