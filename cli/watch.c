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

/* Of each file that is read its number, length and time, as the folder lists them. */
static void list_folder(tp_buf *b, const char *folder)
{
    DIR *d = opendir(folder);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        struct stat st;
        if (is_read(e->d_name) && stat(tp_printf(b->arena, "%s/%s", folder, e->d_name).p, &st) == 0)
            tp_buf_printf(b, "%llu %lld %lld.%09ld\n", (unsigned long long)st.st_ino, (long long)st.st_size,
                          (long long)st.st_mtim.tv_sec, (long)st.st_mtim.tv_nsec);
    }
    closedir(d);
}

static tp_str state_of(tp_arena *a, const tp_strings *folders)
{
    tp_buf b = {.arena = a};
    for (uint32_t i = 0; i < folders->len; i++)
        list_folder(&b, folders->at[i].p);
    return tp_buf_view(&b);
}

static void wait_for_change(tp_arena *a, const tp_strings *folders, tp_str before)
{
    tp_arena *scratch = tp_arena_child(a);
    while (tp_str_eq(state_of(scratch, folders), before)) {
        tp_arena_clear(scratch);
        wait_ms(POLL_MS);
    }
    tp_arena_free(scratch);
    wait_ms(SETTLE_MS);
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
        tp_arena *once = tp_arena_child(c->arena);
        tp_str before = state_of(once, &folders);
        int code = check_once(c, execute);
        if (code == TP_EXIT_USAGE || code == TP_EXIT_INTERNAL) /* another try says the same */
            return code;
        tp_say(stderr, "tileproof: exit code %d; checks again when a file beside the specs changes, Ctrl-C ends", code);
        wait_for_change(c->arena, &folders, before);
        tp_arena_free(once);
        fputs("\n", stdout);
    }
}
