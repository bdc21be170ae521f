/* --changed-since: git tells what differs from a revision. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/check.h"
#include "spec/files.h"

extern char **environ;

/* Standard output of a git command; false after a message. */
static bool git(tp_cli *c, const char *const *args, tp_str *out)
{
    int pipes[2], status = 0;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    tp_buf b = {.arena = c->arena};
    char piece[4096];
    if (pipe(pipes) != 0)
        return tp_usage_error("--changed-since: cannot make a pipe"), false;
    bool failed = posix_spawn_file_actions_init(&actions) != 0;
    if (!failed) {
        failed = posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO) ||
                 posix_spawn_file_actions_addclose(&actions, pipes[0]) ||
                 posix_spawn_file_actions_addclose(&actions, pipes[1]) ||
                 posix_spawnp(&pid, "git", &actions, NULL, tp_writable(args), environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(pipes[1]);
    ssize_t n = 0;
    while (!failed && ((n = read(pipes[0], piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0)
            tp_buf_add(&b, piece, (size_t)n);
    close(pipes[0]);
    while (!failed && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    *out = tp_buf_view(&b);
    if (failed)
        return tp_usage_error("--changed-since needs git, which cannot be started"), false;
    if (n < 0) /* a list cut off would leave specs out */
        return tp_usage_error("--changed-since: what git says cannot be read"), false;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) /* its own message stands above */
        return tp_usage_error("--changed-since: git did not say what changed"), false;
    return true;
}

/* Names end with NUL. */
static void add_names(tp_cli *c, tp_str folder, tp_str names, tp_strings *out)
{
    for (size_t at = 0; at < names.n;) {
        size_t n = strnlen(names.p + at, names.n - at);
        const char *real =
            tp_real_path(c->arena, tp_printf(c->arena, "%.*s/%.*s", TP_FMT(folder), (int)n, names.p + at).p);
        if (real) /* else it was deleted */
            tp_push(c->arena, *out, tp_str_c(real));
        at += n + 1;
    }
}

/* The file with the body of a spec, as the system finds it; NULL: there is none. */
static const char *kernel_file(tp_cli *c, tp_str path)
{
    tp_source source = {.path = path};
    tp_str why, file = {NULL, 0};
    if (tp_read_file(c->arena, tp_cstr(c->arena, path), TP_JSON_MAX_BYTES, &source.text, &why) == TP_OK)
        file = tp_kernel_file(c->arena, &source);
    return file.n ? tp_real_path(c->arena, tp_cstr(c->arena, file)) : NULL;
}

bool tp_changed_since(tp_cli *c, tp_str revision, tp_strings *paths)
{
    tp_str top, changed, added;
    tp_strings names = {0};
    if (revision.n == 0 || revision.p[0] == '-')
        return tp_usage_error("--changed-since takes a revision, e.g. origin/main"), false;
    const char *rev = tp_cstr(c->arena, revision);
    if (!git(c, (const char *const[]){"git", "rev-parse", "--show-toplevel", NULL}, &top))
        return false;
    while (top.n && top.p[top.n - 1] == '\n')
        top.n--;
    const char *root = tp_cstr(c->arena, top);
    if (!git(c, (const char *const[]){"git", "-C", root, "diff", "--name-only", "-z", rev, "--", NULL}, &changed) ||
        !git(c, (const char *const[]){"git", "-C", root, "ls-files", "-o", "--exclude-standard", "-z", NULL}, &added))
        return false;
    add_names(c, top, changed, &names);
    add_names(c, top, added, &names);
    tp_strings selection = {0};
    for (uint32_t i = 0; i < paths->len; i++) {
        const char *real = tp_real_path(c->arena, tp_cstr(c->arena, paths->at[i]));
        bool keep = !real; /* what is not there is reported as such */
        const char *body = keep ? NULL : kernel_file(c, paths->at[i]);
        for (uint32_t n = 0; n < names.len && !keep; n++)
            keep = tp_str_is(names.at[n], real) || (body && tp_str_is(names.at[n], body));
        if (keep)
            tp_push(c->arena, selection, paths->at[i]);
    }
    *paths = selection;
    return true;
}
