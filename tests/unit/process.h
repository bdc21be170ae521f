/* Run the program as a user does: a process with limits, its output kept. */
#ifndef TP_TEST_PROCESS_H
#define TP_TEST_PROCESS_H

#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/unit/support.h"

#if defined(__SANITIZE_ADDRESS__)
enum { SLOWDOWN = 20, LIMIT_MEMORY = 0 };
#else
enum { SLOWDOWN = 1, LIMIT_MEMORY = 1 };
#endif

typedef struct outcome {
    int exit; /* -1: ended by a signal */
    tp_str out, err;
    bool slow; /* by that of the limit on processor time */
} outcome;

enum { MAX_ARGS = 96, CPU_SECONDS = 60 };

static unsigned wall_seconds = 600; /* what waits for ever costs no CPU */

/* In `folder` (NULL: here). */
static inline outcome run_program(tp_arena *a, const char *program, const char *folder, const char *stdin_path,
                                  size_t memory_mib, const char *const *args)
{
    char out[] = "/tmp/tileproof-test-out-XXXXXX", err[] = "/tmp/tileproof-test-err-XXXXXX";
    int fds[2] = {mkstemp(out), mkstemp(err)}, status = 0;
    char self[4096], *argv[MAX_ARGS + 2] = {self};
    assert_non_null(realpath(program, self));
    for (int i = 0; args[i]; i++) {
        assert_true(i < MAX_ARGS);
        argv[i + 1] = tp_writable(args[i]);
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit cpu = {CPU_SECONDS * SLOWDOWN, CPU_SECONDS * SLOWDOWN + 1},
                      memory = {memory_mib << 20, memory_mib << 20};
        int in = open(stdin_path ? stdin_path : "/dev/null", O_RDONLY);
        dup2(in, 0);
        dup2(fds[0], 1);
        dup2(fds[1], 2);
        setrlimit(RLIMIT_CPU, &cpu);
        alarm(wall_seconds * SLOWDOWN);
        if (LIMIT_MEMORY && memory_mib) /* what may be written; a thread's heap reserves 128 MiB of addresses first */
            setrlimit(RLIMIT_DATA, &memory);
        if (!folder || chdir(folder) == 0)
            execv(self, argv);
        _exit(127);
    }
    assert_true(pid > 0);
    waitpid(pid, &status, 0);
    close(fds[0]);
    close(fds[1]);
    outcome o = {.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                 .slow = WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU};
    tp_str why;
    assert_int_equal(tp_read_file(a, out, 64 << 20, &o.out, &why), TP_OK);
    assert_int_equal(tp_read_file(a, err, 64 << 20, &o.err, &why), TP_OK);
    unlink(out);
    unlink(err);
    return o;
}

static inline outcome run_in(tp_arena *a, const char *folder, const char *stdin_path, size_t memory_mib,
                             const char *const *args)
{
    return run_program(a, TILEPROOF, folder, stdin_path, memory_mib, args);
}

static inline outcome run_limited(tp_arena *a, const char *stdin_path, size_t memory_mib, const char *const *args)
{
    return run_in(a, NULL, stdin_path, memory_mib, args);
}

/* Arguments end with NULL. */
#define RUN_IN(arena, folder, ...) run_in(arena, folder, NULL, 6144, (const char *const[]){__VA_ARGS__, NULL})
#define RUN(arena, ...) run_limited(arena, NULL, 6144, (const char *const[]){__VA_ARGS__, NULL})

static inline bool contains(tp_str s, const char *part)
{
    return memmem(s.p, s.n, part, strlen(part)) != NULL;
}

/* The record of --format json; fails the test when it is not JSON. */
static inline struct json_object *record_of(tp_arena *a, const outcome *o)
{
    struct json_object *r = json_tokener_parse(tp_cstr(a, o->out));
    if (!r)
        fail_msg("the output is not JSON: %.200s %.200s", tp_cstr(a, o->out), tp_cstr(a, o->err));
    return r;
}

static inline struct json_object *member(struct json_object *o, const char *key)
{
    struct json_object *v = NULL;
    json_object_object_get_ex(o, key, &v);
    return v;
}

static inline const char *string_of(struct json_object *o, const char *key)
{
    struct json_object *v = member(o, key);
    return v ? json_object_get_string(v) : "";
}

/* Does a finding of this verdict say that the spec is wrong? */
static inline bool is_bad(const char *verdict)
{
    return strcmp(verdict, "violated") == 0 || strcmp(verdict, "vacuous") == 0;
}

/* ... or leave it open? */
static inline bool is_open(const char *verdict)
{
    return is_bad(verdict) || strcmp(verdict, "unknown") == 0;
}

#endif
