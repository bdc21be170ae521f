/* Whole files in, whole files out. */
#ifndef TP_FILE_H
#define TP_FILE_H

#include <stdio.h>
#include <sys/types.h>

#include "base/str.h"

/* Read `path` ("-": standard input) into the arena. Folders, devices that
 * never end and files over `limit` bytes are refused. On failure *why holds
 * one sentence. */
tp_status tp_read_file(tp_arena *a, const char *path, size_t limit, tp_str *out, tp_str *why);

/* The absolute path without links; NULL: there is no such file, or it cannot be reached. */
const char *tp_real_path(tp_arena *a, const char *path);

/* Map a file read-only, as long as the arena lives. An empty file maps to
 * {NULL, 0}. */
tp_status tp_map_file(tp_arena *a, const char *path, tp_str *out, tp_str *why);
/* For a handler of SIGBUS: the file that was mapped there and has become
 * shorter since; NULL: none. Of the last 64 that were mapped. */
const char *tp_mapped_file_at(const void *address);

/* Write `n` pieces to `path` through a temporary file beside it and rename:
 * readers see the old content or the new one, never half of it. Links are
 * followed, the mode of a file that is there is kept. */
tp_status tp_write_file(tp_arena *a, const char *path, const tp_str *pieces, size_t n, tp_str *why);
/* The same of what `print` prints; it may leave through the arena, and then no file is written. */
tp_status tp_print_file(tp_arena *a, const char *path, void (*print)(void *ctx, FILE *out), void *ctx, tp_str *why);
/* A file that is filled where it lies: n bytes, 0 at first, of a temporary file beside `path`, mapped as long as the
 * arena lives. Its room on the disk is taken at once, so that no store into it fails for want of it. */
typedef struct tp_draft {
    char *at; /* NULL: this file system has no such files */
    size_t n;
    int fd;
    const char *path, *temporary;
    const mode_t *mode; /* of the file that is there; NULL: none is */
} tp_draft;
tp_status tp_draft_new(tp_arena *a, const char *path, size_t n, tp_draft *d, tp_str *why);
/* Move it to its path, as tp_write_file() does. Afterwards, also when that fails, it is no draft any more. */
tp_status tp_draft_publish(tp_arena *a, tp_draft *d, tp_str *why);
/* Nothing is left of it but the mapping; nothing happens to one that is none. */
void tp_draft_drop(tp_draft *d);
/* A new file that its owner alone may read; one that is there stays, and is an error. */
tp_status tp_write_secret(tp_arena *a, const char *path, tp_str text, tp_str *why);
/* All of it to a descriptor, however often that takes. False: errno says why. */
bool tp_write_all(int fd, tp_str s);
/* For a handler of a signal that ends the program: the temporary files of
 * writes that are not done. */
void tp_remove_unfinished(void);

#endif
