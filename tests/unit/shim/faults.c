/* Preloaded by test_faults.c: things fail on demand.
 *   FAULT_MALLOC=n  the n-th allocation (or mapping of memory) that the program itself makes
 *   FAULT_WRITE=n   the n-th write to a file (not to standard output or error)
 *   FAULT_Z3=HOW    Z3_solver_check: unknown, sat, die
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static long wanted(const char *name)
{
    const char *s = getenv(name);
    return s ? atol(s) : 0;
}

/* Is the caller the program, not a library? */
static int from_program(const void *caller)
{
    Dl_info here;
    if (dladdr(caller, &here) == 0 || !here.dli_fname)
        return 0;
    const char *name = strrchr(here.dli_fname, '/');
    return strcmp(name ? name + 1 : here.dli_fname, "tileproof") == 0;
}

static int busy; /* dladdr and dlsym allocate */

static int fails_now(const void *caller)
{
    static long count;
    static long at = -1;
    if (busy)
        return 0;
    busy = 1;
    if (at < 0)
        at = wanted("FAULT_MALLOC");
    int yes = at > 0 && from_program(caller) && ++count == at;
    busy = 0;
    return yes;
}

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);

void *malloc(size_t n)
{
    return fails_now(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails_now(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    static void *(*real)(void *, size_t, int, int, int, off_t);
    if (!real)
        real = (void *(*)(void *, size_t, int, int, int, off_t))(uintptr_t)dlsym(RTLD_NEXT, "mmap");
    if (fd < 0 && fails_now(__builtin_return_address(0))) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return real(at, n, protection, flags, fd, offset);
}

ssize_t write(int fd, const void *p, size_t n)
{
    static ssize_t (*real)(int, const void *, size_t);
    static long count;
    if (!real)
        real = (ssize_t(*)(int, const void *, size_t))(uintptr_t)dlsym(RTLD_NEXT, "write");
    if (fd > 2 && wanted("FAULT_WRITE") > 0 && ++count == wanted("FAULT_WRITE")) {
        errno = ENOSPC;
        return -1;
    }
    return real(fd, p, n);
}

int Z3_solver_check(void *context, void *solver)
{
    static int (*real)(void *, void *);
    const char *how = getenv("FAULT_Z3");
    if (!real)
        real = (int (*)(void *, void *))(uintptr_t)dlsym(RTLD_NEXT, "Z3_solver_check");
    if (how && strcmp(how, "unknown") == 0)
        return 0;
    if (how && strcmp(how, "sat") == 0)
        return 1;
    if (how && strcmp(how, "die") == 0)
        abort();
    return real(context, solver);
}
