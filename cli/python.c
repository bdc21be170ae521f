/* Commands that the Python package carries out. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"

int tp_python(tp_cli *c, const char *subcommand)
{
    static const char START[] =
        "import sys\n"
        "sys.path[:] = [p for p in sys.path if p]\n" /* not the working folder, whatever lies there */
        "try:\n"
        "    from tileproof.command import main\n"
        "except ImportError as e:\n"
        "    print(f'tileproof: the Python package is not installed ({e}): pip install ./python', file=sys.stderr)\n"
        "    sys.exit(2)\n"
        "sys.exit(main(sys.argv[1:]))\n";
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    const char *named = getenv("TILEPROOF_PYTHON"), *python = named && *named ? named : "python3";
    const char **args = TP_NEWN(c->arena, const char *, c->paths.len + 5);
    if (n > 0) {
        self[n] = '\0';
        setenv("TILEPROOF", self, 0);
    }
    args[0] = python;
    args[1] = "-c";
    args[2] = START;
    args[3] = subcommand;
    for (uint32_t i = 0; i < c->paths.len; i++)
        args[4 + i] = tp_cstr(c->arena, c->paths.at[i]);
    execvp(python, tp_writable(args));
    return tp_usage_error("cannot run `%s`: %s; set TILEPROOF_PYTHON to a Python that has the package", python,
                          strerror(errno));
}
