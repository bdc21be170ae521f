#define _XOPEN_SOURCE 700
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static tp_status fail(tp_arena *a, tp_str *why, const char *what)
{
    *why = tp_printf(a, "%s: %s", what, strerror(errno));
    return TP_E_INPUT;
}

static tp_status open_regular(tp_arena *a, const char *path, int *fd, struct stat *st, tp_str *why)
{
    /* O_NONBLOCK: a named pipe without a writer must not hang us */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0)
        return fail(a, why, "cannot open it");
    if (fstat(*fd, st) != 0) {
        tp_status s = fail(a, why, "cannot inspect it");
        close(*fd);
        return s;
    }
    if (!S_ISREG(st->st_mode)) {
        *why = tp_printf(a, S_ISDIR(st->st_mode) ? "it is a folder, not a file" : "it is not a regular file");
        close(*fd);
        return TP_E_INPUT;
    }
    return TP_OK;
}

static tp_status slurp(tp_arena *a, int fd, size_t limit, tp_str *out, tp_str *why)
{
    tp_buf b = {.arena = a};
    char piece[1 << 14];
    for (;;) {
        ssize_t n = read(fd, piece, sizeof piece);
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(a, why, "cannot read it");
        if (b.n + (size_t)n > limit) {
            *why = tp_printf(a, "it is larger than the limit of %zu bytes", limit);
            return TP_E_INPUT;
        }
        tp_buf_add(&b, piece, (size_t)n);
    }
    *out = tp_buf_view(&b);
    return TP_OK;
}

tp_status tp_read_file(tp_arena *a, const char *path, size_t limit, tp_str *out, tp_str *why)
{
    struct stat st;
    int fd = STDIN_FILENO;
    if (strcmp(path, "-") == 0)
        return slurp(a, fd, limit, out, why);
    tp_status s = open_regular(a, path, &fd, &st, why);
    if (s != TP_OK)
        return s;
    if ((uint64_t)st.st_size > limit) {
        *why = tp_printf(a, "it has %lld bytes; the limit is %zu", (long long)st.st_size, limit);
        s = TP_E_INPUT;
    } else {
        s = slurp(a, fd, limit, out, why);
    }
    close(fd);
    return s;
}

tp_status tp_map_file(tp_arena *a, const char *path, tp_str *out, tp_str *why)
{
    struct stat st;
    int fd;
    tp_status s = open_regular(a, path, &fd, &st, why);
    if (s != TP_OK)
        return s;
    *out = (tp_str){NULL, 0};
    if (st.st_size > 0) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED)
            s = fail(a, why, "cannot map it");
        else
            *out = (tp_str){p, (size_t)st.st_size};
    }
    close(fd);
    if (out->n)
        tp_arena_adopt(a, (void *)(uintptr_t)out->p, out->n);
    return s;
}

static bool write_all(int fd, tp_str s)
{
    while (s.n) {
        ssize_t n = write(fd, s.p, s.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        s.p += n;
        s.n -= (size_t)n;
    }
    return true;
}

tp_status tp_write_file(tp_arena *a, const char *path, const tp_str *pieces, size_t n, tp_str *why)
{
    struct stat st;
    bool there = stat(path, &st) == 0;
    char *real = there ? realpath(path, NULL) : NULL; /* through a link, not in place of it */
    if (real)
        path = tp_printf(a, "%s", real).p;
    free(real);
    const char *tmp = tp_printf(a, "%s.tmp-%ld", path, (long)getpid()).p;
    if (there && !S_ISREG(st.st_mode)) { /* rename would replace a device */
        *why =
            tp_printf(a, "cannot write `%s`: it is %s", path, S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
        return TP_E_INPUT;
    }
    int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        *why = tp_printf(a, "cannot write `%s`: %s", path, strerror(errno));
        return TP_E_INPUT;
    }
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = write_all(fd, pieces[i]);
    ok = (!there || fchmod(fd, st.st_mode & 07777) == 0) && ok;
    ok = fsync(fd) == 0 && ok;
    ok = close(fd) == 0 && ok;
    if (ok && rename(tmp, path) == 0)
        return TP_OK;
    *why = tp_printf(a, "cannot write `%s`: %s", path, strerror(errno));
    unlink(tmp);
    return TP_E_INPUT;
}
