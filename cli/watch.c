/* --watch: each check in a process of its own, again whenever something in the specs' folders has changed. */
#define _POSIX_C_SOURCE 200809L
#include "cli/watch.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 200, SETTLE_MS = 100 }; /* an editor writes in several steps */

static void wait_ms(int ms)
{
    struct timespec t = {0, ms * 1000000L};
    nanosleep(&t, NULL);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    return (h ^ v) * 0x9e3779b97f4a7c15u ^ (h >> 29);
}

static uint64_t mix_file(uint64_t h, const struct stat *st)
{
    h = mix(h, (uint64_t)st->st_ino);
    h = mix(h, (uint64_t)st->st_size);
    h = mix(h, (uint64_t)st->st_mtim.tv_sec);
    return mix(h, (uint64_t)st->st_mtim.tv_nsec);
}

/* Specs, bodies, settings and arrays that lie there; what a check writes elsewhere is nothing new. */
static bool is_read(const char *name)
{
    static const char *const ENDS[] = {".tile.json", ".tile.jsonc", ".tileproof.json", ".py", ".npy", ".safetensors"};
    for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++) {
        size_t n = strlen(name), k = strlen(ENDS[i]);
        if (n >= k && strcmp(name + n - k, ENDS[i]) == 0)
            return true;
    }
    return false;
}

static uint64_t mix_folder(tp_arena *a, uint64_t h, const char *folder)
{
    DIR *d = opendir(folder);
    uint64_t all = 0; /* in any order */
    if (!d)
        return mix(h, 1);
    for (struct dirent *e; (e = readdir(d));) {
        struct stat st;
        if (is_read(e->d_name) && stat(tp_printf(a, "%s/%s", folder, e->d_name).p, &st) == 0)
            all += mix_file(0, &st);
    }
    closedir(d);
    return mix(h, all);
}

static uint64_t state_of(tp_arena *a, const tp_strings *folders)
{
    uint64_t h = 0;
    tp_arena *scratch = tp_arena_child(a);
    for (uint32_t i = 0; i < folders->len; i++)
        h = mix_folder(scratch, h, folders->at[i].p);
    tp_arena_free(scratch);
    return h;
}

/* Of each spec its folder, once. */
static tp_strings folders_of(tp_arena *a, const tp_strings *specs)
{
    tp_strings out = {0};
    for (uint32_t i = 0; i < specs->len; i++) {
        size_t n = specs->at[i].n;
        while (n > 0 && specs->at[i].p[n - 1] != '/')
            n--;
        tp_str folder = n ? tp_printf(a, "%.*s", (int)n, specs->at[i].p) : TP_S(".");
        bool known = false;
        for (uint32_t k = 0; k < out.len && !known; k++)
            known = tp_str_eq(out.at[k], folder);
        if (!known)
            tp_push(a, out, folder);
    }
    return out;
}

/* Its exit code; a child that was killed counts as an internal error. */
static int check_once(tp_cli *c, bool execute)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) {
        tp_say(stderr, "tileproof: --watch: no process can be started: %s", strerror(errno));
        return TP_EXIT_INTERNAL;
    }
    if (pid == 0) {
        c->watch.len = 0;
        int code = tp_check_specs(c, execute);
        fflush(NULL);
        _exit(code);
    }
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return TP_EXIT_INTERNAL;
    return WIFEXITED(status) ? WEXITSTATUS(status) : TP_EXIT_INTERNAL;
}

int tp_watch_specs(tp_cli *c, bool execute)
{
    tp_strings specs = {0};
    if (!tp_expand_paths(c, &specs))
        return TP_EXIT_USAGE;
    for (uint32_t i = 0; i < specs.len; i++)
        if (tp_str_is(specs.at[i], "-"))
            return tp_usage_error("--watch cannot wait for changes of standard input: name a file or a folder");
    tp_strings folders = folders_of(c->arena, &specs);
    for (;;) {
        uint64_t before = state_of(c->arena, &folders);
        int code = check_once(c, execute);
        if (code == TP_EXIT_USAGE || code == TP_EXIT_INTERNAL) /* another try says the same */
            return code;
        tp_say(stderr, "tileproof: exit code %d; checks again when a file beside the specs changes, Ctrl-C ends", code);
        while (state_of(c->arena, &folders) == before)
            wait_ms(POLL_MS);
        wait_ms(SETTLE_MS);
        fputs("\n", stdout);
    }
}
