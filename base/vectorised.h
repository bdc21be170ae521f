/* Loops compiled for several instruction sets. */
#ifndef TP_VECTORISED_H
#define TP_VECTORISED_H

/* The same code for several instruction sets; the result does not depend on
 * which one runs. */
#ifndef TP_INSTRUCTIONS
#define TP_INSTRUCTIONS 2 /* the largest set that a build knows: 0 what every processor has, 1 AVX2, 2 AVX-512 */
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__) && TP_INSTRUCTIONS == 2
#define TP_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
/* For fma(): it is an instruction of the first two. */
#define TP_VECTORISED_FMA __attribute__((target_clones("avx512f", "fma", "default")))
#elif defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && TP_INSTRUCTIONS == 1
#define TP_VECTORISED __attribute__((target_clones("avx2", "default")))
#define TP_VECTORISED_FMA __attribute__((target_clones("fma", "default")))
#else
#define TP_VECTORISED
#define TP_VECTORISED_FMA
#endif

#endif
