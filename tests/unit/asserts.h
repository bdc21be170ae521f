/* Invariants that headers state are checked in builds with TP_ASSERTS: a violation of each kind, planted in a child,
 * ends it. Other builds have no checks, and nothing to test. Each plant holds when it is left out: what it builds on is
 * checked by the same call before it. With TEST_VERBOSE the checks that fail are printed.
 */
#ifndef TP_TEST_ASSERTS_H
#define TP_TEST_ASSERTS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "tests/unit/support.h"

#define SPEC                                                                                                           \
    "{\"tileproof\": 1, \"name\": \"k\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}}, "                     \
    "\"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(N, 8)\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": "             \
    "\"float32\", "                                                                                                    \
    "\"shape\": [\"N\"], \"block_shape\": [8], \"index_map\": [\"i\"]}], \"outputs\": [{\"name\": \"o\", \"dtype\": "  \
    "\"float32\", \"shape\": [\"N\"], \"block_shape\": [8], \"index_map\": [\"i\"]}], \"kernel\": [\"o[...] = x[...] " \
    "+ 1\"], "                                                                                                         \
    "\"reference\": [\"o = x + 1\"]}"

typedef struct planted {
    const char *name;
    void (*plant)(loaded *);
} planted;

#define PLANT(f)                                                                                                       \
    {                                                                                                                  \
#f, f                                                                                                          \
    }

static void expect_noticed(const planted *p, size_t n)
{
    if (!tp_asserts())
        skip();
    for (size_t i = 0; i < n; i++) {
        pid_t pid = fork();
        int status;
        if (pid == 0) {
            loaded *l = load_text(SPEC);
            if (getenv("TEST_VERBOSE"))
                fprintf(stderr, "%s: ", p[i].name);
            else
                close(STDERR_FILENO);
            p[i].plant(l);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        /* the sanitizer exits, tp_assert() aborts; any other end is a defect of the plant */
        if (WIFSIGNALED(status) ? WTERMSIG(status) != SIGABRT : WEXITSTATUS(status) == 0)
            fail_msg("%s: a planted violation is not noticed", p[i].name);
    }
}

#endif
