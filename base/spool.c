#define _GNU_SOURCE /* fopencookie, O_TMPFILE */
#include "base/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { MOST_IN_MEMORY = 1 << 20, PIECE = 1 << 16 };

struct tp_spool {
    FILE *out;
    char *at; /* its first bytes: all of them, until there is a file */
    size_t room;
    int file; /* -1: there is none. No stream: append() holds the lock of one, and opening a second one waits for all */
    uint64_t n;
    bool lost;
};

static bool keep_in_memory(tp_spool *s, const char *bytes, size_t n)
{
    size_t used = (size_t)s->n;
    if (s->room - used < n) {
        size_t room = s->room * 2 > used + n ? s->room * 2 : used + n;
        char *grown = realloc(s->at, room);
        if (!grown)
            return false;
        s->at = grown;
        s->room = room;
    }
    memcpy(s->at + used, bytes, n);
    return true;
}

/* A file without a name; -1: there is no room for one. */
static int open_unnamed(void)
{
    char name[] = P_tmpdir "/tileproof-XXXXXX";
    int fd = open(P_tmpdir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (fd = mkostemp(name, O_CLOEXEC)) >= 0) /* not every file system has such files */
        unlink(name);
    return fd;
}

static bool move_to_file(tp_spool *s)
{
    s->file = open_unnamed();
    if (s->file < 0 || !tp_write_all(s->file, (tp_str){s->at, (size_t)s->n}))
        return false;
    free(s->at);
    s->at = NULL;
    return true;
}

static ssize_t append(void *cookie, const char *bytes, size_t n)
{
    tp_spool *s = cookie;
    if (!s->lost && s->file < 0 && s->n + n > MOST_IN_MEMORY)
        s->lost = !move_to_file(s);
    if (!s->lost)
        s->lost = !(s->file >= 0 ? tp_write_all(s->file, (tp_str){bytes, n}) : keep_in_memory(s, bytes, n));
    if (s->lost)
        return 0; /* an error to the stream */
    s->n += n;
    return (ssize_t)n;
}

tp_spool *tp_spool_new(tp_arena *a)
{
    tp_spool *s = TP_NEW(a, tp_spool);
    s->file = -1;
    s->out = fopencookie(s, "w", (cookie_io_functions_t){.write = append});
    if (!s->out)
        tp_leave(a, TP_E_MEMORY);
    return s;
}

void tp_spool_free(tp_spool *s)
{
    fclose(s->out);
    if (s->file >= 0)
        close(s->file);
    free(s->at);
}

FILE *tp_spool_out(tp_spool *s)
{
    return s->out;
}

uint64_t tp_spool_length(tp_spool *s)
{
    s->lost |= fflush(s->out) != 0;
    return s->n;
}

bool tp_spool_lost(const tp_spool *s)
{
    return s->lost;
}

size_t tp_spool_read(tp_spool *s, uint64_t from, char *to, size_t n)
{
    uint64_t length = tp_spool_length(s);
    n = from >= length ? 0 : n < length - from ? n : (size_t)(length - from);
    if (s->lost || !n)
        return 0;
    if (s->file < 0) {
        memcpy(to, s->at + from, n);
        return n;
    }
    ssize_t got;
    do
        got = pread(s->file, to, n, (off_t)from);
    while (got < 0 && errno == EINTR);
    s->lost |= got <= 0;
    return got > 0 ? (size_t)got : 0;
}

bool tp_spool_copy(tp_spool *s, uint64_t from, uint64_t n, FILE *out)
{
    char piece[PIECE];
    while (n) {
        size_t got = tp_spool_read(s, from, piece, n < PIECE ? (size_t)n : PIECE);
        if (!got || fwrite(piece, 1, got, out) != got)
            return false;
        from += got;
        n -= got;
    }
    return !s->lost;
}
