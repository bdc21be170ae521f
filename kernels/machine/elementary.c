#include "kernels/machine/elementary.h"

#include <string.h>

#include "base/processors.h"

#ifdef TP_SLEEF
#include <math.h>

/* The C library's names stand for SLEEF's functions of vectors from here on. sleef.h declares only what the flags of
 * this compilation allow; the functions of each set are declared where they are called. */

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define SET avx512
#define ATTRIBUTE __attribute__((target("avx512f")))
#define LANES 16
#define WORD __m512
#define OF(name, ulps) Sleef_finz_##name##16_##ulps##avx512f
#define ROOT(x) _mm512_sqrt_ps(x)
#include "kernels/machine/elementary_set.h"

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f");
}

#define SET avx2
#define ATTRIBUTE __attribute__((target("avx2")))
#define LANES 8
#define WORD __m256
#define OF(name, ulps) Sleef_finz_##name##8_##ulps##avx2
#define ROOT(x) _mm256_sqrt_ps(x)
#include "kernels/machine/elementary_set.h"

#endif

static bool always(void)
{
    return true;
}

static float root(float x)
{
    return sqrtf(x);
}

#define SET portable
#define ATTRIBUTE
#define LANES 1
#define WORD float
#define OF(name, ulps) Sleef_finz_##name##1_##ulps##purecfma
#define ROOT(x) root(x)
#include "kernels/machine/elementary_set.h"

static const tp_elementary SETS[] = {
#if defined(__x86_64__) && defined(__GNUC__)
    {"avx512", has_avx512, loops_avx512},
    {"avx2", tp_has_avx2, loops_avx2},
#endif
    {"portable", always, loops_portable},
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

static const tp_loop *fastest(void)
{
    size_t n;
    const tp_elementary *all = tp_elementaries(&n);
    for (size_t i = 0; i < n; i++)
        if (all[i].runs_here())
            return all[i].loops;
    static const tp_loop NONE[TP_PRIMS] = {NULL};
    return NONE;
}

tp_loop tp_elementary_here(tp_prim p)
{
    static const tp_loop *_Atomic here; /* whoever comes first asks the processor, and all get the same answer */
    const tp_loop *loops = here;
    if (!loops)
        here = loops = fastest();
    return loops[p];
}
