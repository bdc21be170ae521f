/* Preloaded by test_faults.c: things fail on demand.
 *   FAULTS=FILE  a page that says which call fails, and counts (faults.h)
 *   FAULT_Z3=HOW Z3_solver_check: unknown, sat, die, eat (all memory there is); send: spin
 */
#define _GNU_SOURCE
#include "tests/unit/shim/faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static fault_page *page;

/* ---- who asks ---- */

typedef struct range {
    uintptr_t from, to, base;
    int kind; /* of memory; -1: never fails */
} range;

enum { MOST_RANGES = 32 };
static range ranges[MOST_RANGES];
static int nranges;

static int kind_of(const char *name)
{
    static const struct {
        const char *part;
        int kind;
    } OBJECTS[] = {
        {"libjson-c", FAULT_JSON}, {"libc.so", FAULT_LIBC}, {"libz3", FAULT_SOLVER},    {"libstdc++", FAULT_SOLVER},
        {"libgmp", FAULT_OTHER},   {"libmd", FAULT_OTHER},  {"libcrypto", FAULT_OTHER},
    };
    if (!*name)
        return FAULT_MEMORY;
    for (size_t i = 0; i < sizeof OBJECTS / sizeof *OBJECTS; i++)
        if (strstr(name, OBJECTS[i].part))
            return OBJECTS[i].kind;
    return -1;
}

static int add_ranges(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + h->p_vaddr;
        if (h->p_type == PT_LOAD && (h->p_flags & PF_X) && nranges < MOST_RANGES)
            ranges[nranges++] = (range){from, from + h->p_memsz, info->dlpi_addr, kind_of(info->dlpi_name)};
    }
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *file = getenv("FAULTS");
    int fd = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
    dl_iterate_phdr(add_ranges, NULL);
    void *at = fd >= 0 ? mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (at != MAP_FAILED)
        page = at; /* from here on it counts */
}

static const range *caller_range(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    for (int i = 0; page && i < nranges; i++)
        if (at >= ranges[i].from && at < ranges[i].to)
            return &ranges[i];
    return NULL;
}

static int count(int kind, const range *r, const void *caller)
{
    long n = kind >= 0 ? atomic_fetch_add(&page->counts[kind], 1) + 1 : 0;
    int fails = n && kind == page->kind && page->at && (n == page->at || (page->lasting && n > page->at));
    if (fails && atomic_fetch_add(&page->fired, 1) == 0)
        page->where = (uintptr_t)caller - r->base;
    return fails;
}

/* Does this allocation fail? */
static int no_memory(const void *caller)
{
    const range *r = caller_range(caller);
    return r && count(r->kind, r, caller);
}

/* Does this call fail, which only those of the program itself do? */
static int fails(int kind, const void *caller, int with)
{
    const range *r = caller_range(caller);
    int yes = r && r->kind == FAULT_MEMORY && count(kind, r, caller);
    if (yes)
        errno = with;
    return yes;
}

#define CALLER __builtin_return_address(0)
/* real: the function that this one stands before */
#define REAL(name)                                                                                                     \
    static __typeof__(&name) real;                                                                                     \
    if (!real)                                                                                                         \
    real = (__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name)

/* ---- memory ---- */

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
    if (!no_memory(CALLER))
        return __libc_malloc(n);
    errno = ENOMEM;
    return NULL;
}

void *calloc(size_t n, size_t size)
{
    if (!no_memory(CALLER))
        return __libc_calloc(n, size);
    errno = ENOMEM;
    return NULL;
}

void *realloc(void *p, size_t n)
{
    if (!no_memory(CALLER))
        return __libc_realloc(p, n);
    errno = ENOMEM;
    return NULL;
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    REAL(mmap);
    if (fd < 0 ? no_memory(CALLER) : fails(FAULT_MAP, CALLER, ENOMEM)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return real(at, n, protection, flags, fd, offset);
}

/* ---- files ---- */

int open(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    REAL(open);
    return fails(FAULT_OPEN, CALLER, EMFILE) ? -1 : real(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    REAL(fopen);
    return fails(FAULT_OPEN, CALLER, EMFILE) ? NULL : real(path, mode);
}

ssize_t read(int fd, void *p, size_t n)
{
    REAL(read);
    return fails(FAULT_READ, CALLER, EIO) ? -1 : real(fd, p, n);
}

ssize_t write(int fd, const void *p, size_t n)
{
    REAL(write);
    return fd > 2 && fails(FAULT_WRITE, CALLER, ENOSPC) ? -1 : real(fd, p, n);
}

/* Spinning: in the program itself, not in a process that has limits of its own. */
ssize_t send(int fd, const void *p, size_t n, int flags)
{
    const char *how = getenv("FAULT_Z3");
    REAL(send);
    while (how && strcmp(how, "spin") == 0)
        ;
    return fails(FAULT_WRITE, CALLER, EPIPE) ? -1 : real(fd, p, n, flags);
}

int rename(const char *from, const char *to)
{
    REAL(rename);
    return fails(FAULT_RENAME, CALLER, EIO) ? -1 : real(from, to);
}

int fsync(int fd)
{
    REAL(fsync);
    return fails(FAULT_SYNC, CALLER, EIO) ? -1 : real(fd);
}

int fchmod(int fd, mode_t mode)
{
    REAL(fchmod);
    return fails(FAULT_MODE, CALLER, EPERM) ? -1 : real(fd, mode);
}

int getentropy(void *p, size_t n)
{
    REAL(getentropy);
    return fails(FAULT_RANDOM, CALLER, EIO) ? -1 : real(p, n);
}

/* ---- processes ---- */

pid_t fork(void)
{
    REAL(fork);
    return fails(FAULT_FORK, CALLER, EAGAIN) ? -1 : real();
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const *argv, char *const *environment)
{
    REAL(posix_spawnp);
    return fails(FAULT_FORK, CALLER, EAGAIN) ? EAGAIN : real(pid, file, actions, attributes, argv, environment);
}

int pipe(int fds[2])
{
    REAL(pipe);
    return fails(FAULT_PIPE, CALLER, EMFILE) ? -1 : real(fds);
}

int pipe2(int fds[2], int flags)
{
    REAL(pipe2);
    return fails(FAULT_PIPE, CALLER, EMFILE) ? -1 : real(fds, flags);
}

int socketpair(int domain, int type, int protocol, int fds[2])
{
    REAL(socketpair);
    return fails(FAULT_PIPE, CALLER, EMFILE) ? -1 : real(domain, type, protocol, fds);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *arg)
{
    REAL(pthread_create);
    return fails(FAULT_THREAD, CALLER, EAGAIN) ? EAGAIN : real(thread, attributes, start, arg);
}

/* ---- the solver ---- */

/* Not touched: it is the limit that is asked for. */
static void eat(void)
{
    enum { BITE = 16 << 20 };
    long eaten = 0;
    while (eaten < 1l << 36 && __libc_malloc(BITE))
        eaten += BITE;
    if (eaten > page->took)
        page->took = eaten;
    abort();
}

int Z3_solver_check(void *context, void *solver)
{
    const char *how = getenv("FAULT_Z3");
    REAL(Z3_solver_check);
    if (how && strcmp(how, "unknown") == 0)
        return 0;
    if (how && strcmp(how, "sat") == 0)
        return 1;
    if (how && page && strcmp(how, "eat") == 0)
        eat();
    if (how && strcmp(how, "die") == 0)
        abort();
    return real(context, solver);
}
