#include "spec/elementary.h"

#include <string.h>

#include "base/assert.h"
#include "base/processors.h"

#ifdef TP_SLEEF
#include <math.h>

/* The C library's names stand for SLEEF's functions of vectors from here on. sleef.h declares only what the flags of
 * this compilation allow; the functions of each set are declared where they are called. */

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define SET avx512_f32
#define ATTRIBUTE __attribute__((target("avx512f")))
#define NUMBER float
#define REAL(c) c##f
#define LANES 16
#define WORD __m512
#define OF(name, ulps) Sleef_finz_##name##f16_##ulps##avx512f
#define ROOT(x) _mm512_sqrt_ps(x)
#include "spec/elementary_set.h"

#define SET avx512_f64
#define ATTRIBUTE __attribute__((target("avx512f")))
#define NUMBER double
#define REAL(c) c
#define LANES 8
#define WORD __m512d
#define OF(name, ulps) Sleef_finz_##name##d8_##ulps##avx512f
#define ROOT(x) _mm512_sqrt_pd(x)
#include "spec/elementary_set.h"

#define SET avx2_f32
#define ATTRIBUTE __attribute__((target("avx2")))
#define NUMBER float
#define REAL(c) c##f
#define LANES 8
#define WORD __m256
#define OF(name, ulps) Sleef_finz_##name##f8_##ulps##avx2
#define ROOT(x) _mm256_sqrt_ps(x)
#include "spec/elementary_set.h"

#define SET avx2_f64
#define ATTRIBUTE __attribute__((target("avx2")))
#define NUMBER double
#define REAL(c) c
#define LANES 4
#define WORD __m256d
#define OF(name, ulps) Sleef_finz_##name##d4_##ulps##avx2
#define ROOT(x) _mm256_sqrt_pd(x)
#include "spec/elementary_set.h"

#endif

static bool always(void)
{
    return true;
}

static float root_f32(float x)
{
    return sqrtf(x);
}

static double root_f64(double x)
{
    return sqrt(x);
}

#define SET portable_f32
#define ATTRIBUTE
#define NUMBER float
#define REAL(c) c##f
#define LANES 1
#define WORD float
#define OF(name, ulps) Sleef_finz_##name##f1_##ulps##purecfma
#define ROOT(x) root_f32(x)
#include "spec/elementary_set.h"

#define SET portable_f64
#define ATTRIBUTE
#define NUMBER double
#define REAL(c) c
#define LANES 1
#define WORD double
#define OF(name, ulps) Sleef_finz_##name##d1_##ulps##purecfma
#define ROOT(x) root_f64(x)
#include "spec/elementary_set.h"

static const tp_elementary SETS[] = {
#if defined(__x86_64__) && defined(__GNUC__)
    {"avx512", tp_has_avx512, loops_avx512_f32, loops_avx512_f64},
    {"avx2", tp_has_avx2, loops_avx2_f32, loops_avx2_f64},
#endif
    {"portable", always, loops_portable_f32, loops_portable_f64},
};

const tp_elementary *tp_elementaries(size_t *n)
{
    *n = sizeof SETS / sizeof *SETS;
    return SETS;
}
#else
const tp_elementary *tp_elementaries(size_t *n)
{
    *n = 0;
    return NULL;
}
#endif

static const tp_elementary *fastest(void)
{
    size_t n;
    const tp_elementary *all = tp_elementaries(&n);
    for (size_t i = 0; i < n; i++)
        if (all[i].runs_here())
            return &all[i];
    static const tp_loop NONE[TP_PRIMS] = {NULL};
    static const tp_elementary LIBM = {"libm", NULL, NONE, NONE};
    return &LIBM;
}

tp_loop tp_elementary_here(tp_prim p, tp_dtype d)
{
    static const tp_elementary *_Atomic here; /* whoever comes first asks the processor, and all get the same answer */
    const tp_elementary *set = here;
    tp_assert(d == TP_F32 || d == TP_F64);
    if (!set)
        here = set = fastest();
    return (d == TP_F32 ? set->loops : set->doubles)[p];
}
