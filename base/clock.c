#define _POSIX_C_SOURCE 200809L
#include "base/clock.h"

#include <time.h>

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double tp_wall_seconds(void)
{
    return seconds(CLOCK_MONOTONIC);
}

double tp_thread_seconds(void)
{
    return seconds(CLOCK_THREAD_CPUTIME_ID);
}

double tp_process_seconds(void)
{
    return seconds(CLOCK_PROCESS_CPUTIME_ID);
}
