#define _GNU_SOURCE /* getentropy */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
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

/* Mapped files by address: what a signal handler may look at. */
enum { MOST_KNOWN = 64 };
static struct {
    const char *_Atomic at;
    size_t n;
    const char *path;
} mapped[MOST_KNOWN];
static atomic_uint nmapped;

const char *tp_mapped_file_at(const void *address)
{
    const char *here = address;
    for (uint32_t i = 0; i < MOST_KNOWN; i++) {
        const char *at = mapped[i].at;
        if (at && here >= at && here < at + mapped[i].n)
            return mapped[i].path;
    }
    return NULL;
}

/* The newest ones; the names stay, whatever becomes of the arena. */
static void remember_mapping(const char *path, tp_str text)
{
    uint32_t slot = atomic_fetch_add(&nmapped, 1) % MOST_KNOWN;
    mapped[slot].at = NULL;
    mapped[slot].n = text.n;
    mapped[slot].path = path;
    mapped[slot].at = text.p;
}

tp_status tp_map_file(tp_arena *a, const char *path, tp_str *out, tp_str *why)
{
    struct stat st;
    int fd;
    tp_status s = open_regular(a, path, &fd, &st, why);
    if (s != TP_OK)
        return s;
    *out = (tp_str){NULL, 0};
    void *p = NULL;
    if (st.st_size > 0) {
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED)
            s = fail(a, why, "cannot map it");
        else
            *out = (tp_str){p, (size_t)st.st_size};
    }
    close(fd);
    if (out->n) {
        tp_arena_adopt(a, p, out->n);
        remember_mapping(tp_printf(a, "%s", path).p, *out);
    }
    return s;
}

bool tp_write_all(int fd, tp_str s)
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

/* ---- temporary files ---- */

/* Those that are being written: what a signal handler may look at. */
static const char *_Atomic unfinished[MOST_KNOWN];

void tp_remove_unfinished(void)
{
    for (uint32_t i = 0; i < MOST_KNOWN; i++) {
        const char *path = unfinished[i];
        if (path)
            unlink(path);
    }
}

static void remember_unfinished(const char *path)
{
    const char *none = NULL;
    for (uint32_t i = 0; i < MOST_KNOWN; i++, none = NULL)
        if (atomic_compare_exchange_strong(&unfinished[i], &none, path))
            return;
}

static void forget_unfinished(const char *path)
{
    const char *it = path;
    for (uint32_t i = 0; i < MOST_KNOWN; i++, it = path)
        if (atomic_compare_exchange_strong(&unfinished[i], &it, NULL))
            return;
}

/* A new file beside `path` of a name that nobody can have taken; -1: errno says why. */
static int open_temporary(tp_arena *a, const char *path, mode_t mode, const char **name)
{
    enum { TRIES = 100 };
    const char *slash = strrchr(path, '/');
    int fd = -1;
    for (int i = 0; i < TRIES && fd < 0 && (i == 0 || errno == EEXIST); i++) {
        uint64_t number;
        if (getentropy(&number, sizeof number) != 0)
            return -1;
        *name = tp_printf(a, "%.*s.tileproof-%016llx.tmp", slash ? (int)(slash + 1 - path) : 0, path,
                          (unsigned long long)number)
                    .p;
        remember_unfinished(*name); /* before it is there */
        fd = open(*name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0)
            forget_unfinished(*name);
    }
    return fd;
}

/* 0, or the first errno. The file is closed. */
static int fill(int fd, const tp_str *pieces, size_t n, const mode_t *mode)
{
    int wrong = 0;
    for (size_t i = 0; !wrong && i < n; i++)
        wrong = tp_write_all(fd, pieces[i]) ? 0 : errno;
    if (!wrong && mode)
        wrong = fchmod(fd, *mode & 07777) == 0 ? 0 : errno;
    if (!wrong)
        wrong = fsync(fd) == 0 ? 0 : errno;
    return close(fd) != 0 && !wrong ? errno : wrong;
}

const char *tp_real_path(tp_arena *a, const char *path)
{
    char *real = realpath(path, NULL);
    if (!real && errno == ENOMEM) /* it may well be there */
        tp_leave(a, TP_E_MEMORY);
    const char *copy = real ? tp_printf(a, "%s", real).p : NULL;
    free(real);
    return copy;
}

static tp_status cannot_write(tp_arena *a, const char *path, int wrong, tp_str *why)
{
    *why = tp_printf(a, "cannot write `%s`: %s", path, strerror(wrong));
    return TP_E_INPUT;
}

/* Its temporary file beside it could not be made. */
static tp_status cannot_begin(tp_arena *a, const char *path, int wrong, tp_str *why)
{
    const char *slash = strrchr(path, '/');
    int n = slash == path ? 1 : slash ? (int)(slash - path) : 1;
    *why = tp_printf(a, "cannot write `%s`: the folder `%.*s`: %s", path, n, slash ? path : ".", strerror(wrong));
    return TP_E_INPUT;
}

/* A temporary file for what is to be at `path`. */
static tp_status begin(tp_arena *a, const char *path, tp_draft *d, tp_str *why)
{
    struct stat st;
    bool there = stat(path, &st) == 0;
    const char *real = there ? tp_real_path(a, path) : NULL; /* through a link, not in place of it */
    *d = (tp_draft){.path = real ? real : path, .temporary = ""};
    if (there && !S_ISREG(st.st_mode)) { /* rename would replace a device */
        *why = tp_printf(a, "cannot write `%s`: it is %s", d->path,
                         S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
        return TP_E_INPUT;
    }
    if (there) {
        mode_t *mode = tp_alloc(a, sizeof *mode);
        *mode = st.st_mode;
        d->mode = mode;
    }
    d->fd = open_temporary(a, d->path, 0666, &d->temporary);
    if (d->fd >= 0)
        return TP_OK;
    d->temporary = "";
    return cannot_begin(a, d->path, errno, why);
}

static tp_status publish(tp_arena *a, tp_draft *d, const tp_str *pieces, size_t n, tp_str *why)
{
    int wrong = fill(d->fd, pieces, n, d->mode);
    if (!wrong && rename(d->temporary, d->path) != 0)
        wrong = errno;
    if (wrong)
        unlink(d->temporary);
    forget_unfinished(d->temporary);
    d->temporary = "";
    return wrong ? cannot_write(a, d->path, wrong, why) : TP_OK;
}

tp_status tp_write_file(tp_arena *a, const char *path, const tp_str *pieces, size_t n, tp_str *why)
{
    tp_draft d;
    tp_status st = begin(a, path, &d, why);
    return st == TP_OK ? publish(a, &d, pieces, n, why) : st;
}

typedef struct printing {
    void (*print)(void *ctx, FILE *out);
    void *ctx;
    FILE *out;
    int wrong; /* errno of the first failure */
} printing;

static void print(void *arg)
{
    printing *p = arg;
    p->print(p->ctx, p->out);
    errno = 0;
    if (fflush(p->out) != 0 || ferror(p->out))
        p->wrong = errno ? errno : EIO;
}

tp_status tp_print_file(tp_arena *a, const char *path, void (*fn)(void *ctx, FILE *out), void *ctx, tp_str *why)
{
    tp_draft d;
    tp_status st = begin(a, path, &d, why);
    if (st != TP_OK)
        return st;
    int own = dup(d.fd);
    printing p = {fn, ctx, own >= 0 ? fdopen(own, "w") : NULL, errno};
    if (p.out) {
        p.wrong = 0;
        st = tp_try(a, print, &p);
        if (fclose(p.out) != 0 && !p.wrong)
            p.wrong = errno;
    } else if (own >= 0) {
        close(own);
    }
    if (st == TP_OK && !p.wrong)
        return publish(a, &d, NULL, 0, why);
    tp_draft_drop(&d);
    if (st != TP_OK)
        tp_leave(a, st);
    return cannot_write(a, d.path, p.wrong, why);
}

/* ---- files that are filled where they lie ---- */

tp_status tp_draft_new(tp_arena *a, const char *path, size_t n, tp_draft *d, tp_str *why)
{
    tp_status st = begin(a, path, d, why);
    if (st != TP_OK)
        return st;
    int wrong = n > INT64_MAX ? EFBIG : posix_fallocate(d->fd, 0, (off_t)n);
    void *at = wrong ? MAP_FAILED : mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, 0);
    if (at == MAP_FAILED) {
        tp_draft_drop(d);
        return wrong == ENOSPC || wrong == EDQUOT || wrong == EFBIG ? cannot_write(a, d->path, wrong, why) : TP_OK;
    }
    d->at = at;
    d->n = n;
    tp_arena_adopt(a, at, n);
    remember_mapping(d->path, (tp_str){d->at, n});
    return TP_OK;
}

tp_status tp_draft_publish(tp_arena *a, tp_draft *d, tp_str *why)
{
    int wrong = msync(d->at, d->n, MS_SYNC) == 0 ? 0 : errno;
    if (!wrong)
        return publish(a, d, NULL, 0, why);
    tp_draft_drop(d);
    return cannot_write(a, d->path, wrong, why);
}

void tp_draft_drop(tp_draft *d)
{
    if (!d->temporary || !*d->temporary)
        return;
    close(d->fd);
    unlink(d->temporary);
    forget_unfinished(d->temporary);
    d->temporary = "";
}

tp_status tp_write_secret(tp_arena *a, const char *path, tp_str text, tp_str *why)
{
    const char *tmp = "";
    int fd = open_temporary(a, path, 0600, &tmp);
    if (fd < 0) {
        return cannot_begin(a, path, errno, why);
    }
    int wrong = fill(fd, &text, 1, NULL);
    bool linked = !wrong && link(tmp, path) == 0; /* rename() would replace what is there */
    if (!linked)
        *why = tp_printf(a, "cannot write `%s`: %s", path, strerror(wrong ? wrong : errno));
    unlink(tmp);
    forget_unfinished(tmp);
    return linked ? TP_OK : TP_E_INPUT;
}
