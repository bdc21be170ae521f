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

int tp_processor_here(void)
{
#ifdef __linux__
    return sched_getcpu();
#else
    return -1;
#endif
}

void tp_go_beside(int processor, uint32_t after)
{
#ifdef __linux__
    cpu_set_t all, one;
    if (processor < 0 || sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) == 0)
        return;
    size_t to = (size_t)processor;
    for (after %= (uint32_t)CPU_COUNT(&all); after; after -= CPU_ISSET(to, &all) != 0)
        to = (to + 1) % CPU_SETSIZE;
    CPU_ZERO(&one);
    CPU_SET(to, &one);
    if (CPU_ISSET(to, &all) && sched_setaffinity(0, sizeof one, &one) == 0)
        sched_setaffinity(0, sizeof all, &all);
#else
    (void)processor, (void)after;
#endif
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
