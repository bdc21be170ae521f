/* Calls after the first: again SPEC RECEIPT. They take no memory, and several threads
 * may make them with one handle. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "frame.h"

enum { M = 600, N = 1500, CALLERS = 4, TIMES = 20 };

#ifdef COUNT
static atomic_long requests;

/* What the library asks of the system comes by here. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *malloc(size_t n)
{
    requests++;
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t size)
{
    requests++;
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n)
{
    requests++;
    return __libc_realloc(p, n);
}
void *mmap(void *at, size_t n, int protection, int flags, int file, off_t offset)
{
    requests++;
    return (void *)syscall(SYS_mmap, at, n, protection, flags, file, offset);
}
#endif

static float x[M * N], y[M * N];
static tileproof_kernel *kernel;

static void call(float *o, unsigned threads, int64_t rows, tileproof_status want)
{
    const tileproof_run_options options = {.threads = threads};
    expect(add(kernel, M, N, x, y, o, NULL, rows, &options) == want, "calls of several threads have another status");
}

static void *caller(void *out)
{
    float *o = out;
    for (int time = 0; time < TIMES; time++) {
        for (size_t i = 0; i < M * N; i++)
            o[i] = -1;
        call(o, time % 3 == 2 ? 2 : 1, M, TILEPROOF_OK);
        for (size_t i = 0; i < M * N; i++)
            expect(o[i] == x[i] + y[i], "calls of several threads are wrong");
        call(o, 1, M - 1, TILEPROOF_INPUT);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static float out[CALLERS][M * N];
    pthread_t threads[CALLERS];
    kernel = load(argc, argv);
    accept_receipt(kernel, argv);
    for (size_t i = 0; i < M * N; i++) {
        x[i] = (float)(i % 1000);
        y[i] = (float)(i % 77);
    }
#ifdef COUNT
    for (unsigned threads_of_call = 1; threads_of_call <= 2; threads_of_call++) {
        call(out[0], threads_of_call, M, TILEPROOF_OK);
        long before = requests;
        for (int time = 0; time < TIMES; time++)
            call(out[0], threads_of_call, M, TILEPROOF_OK);
        expect(requests == before, threads_of_call == 1 ? "calls after the first take memory"
                                                        : "calls of two threads take memory after the first");
    }
#endif
    for (int i = 0; i < CALLERS; i++)
        expect(pthread_create(&threads[i], NULL, caller, out[i]) == 0, "no thread");
    for (int i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    tileproof_free(kernel);
    return broken;
}
