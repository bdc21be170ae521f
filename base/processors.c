#define _GNU_SOURCE
#include "base/processors.h"

#include <sched.h>
#include <unistd.h>

#include "base/vectorised.h"

uint32_t tp_processors(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint32_t)CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

bool tp_has_avx2(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return TP_INSTRUCTIONS >= 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

bool tp_has_avx512(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return TP_INSTRUCTIONS >= 2 && __builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}
