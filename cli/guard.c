/* What a run reads it does not write over: spec, settings, baseline, arrays, receipt. What it could not write ends it
 * before the work is done. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/check.h"
#include "smt/cache.h"

static bool same_file(tp_cli *c, tp_str x, tp_str y)
{
    struct stat a, b;
    if (tp_str_eq(x, y))
        return true;
    return stat(tp_cstr(c->arena, x), &a) == 0 && stat(tp_cstr(c->arena, y), &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

void tp_guard_reads(tp_cli *c, tp_run_files *g, tp_str path)
{
    if (path.n && !tp_str_is(path, "-"))
        tp_push(c->arena, g->reads, path);
}

bool tp_guard_writes(tp_cli *c, tp_run_files *g, const char *option, tp_str path)
{
    const char *why = NULL;
    for (uint32_t i = 0; i < g->reads.len && !why; i++)
        if (same_file(c, path, g->reads.at[i]))
            why = "is read by this run, and would be overwritten";
    for (uint32_t i = 0; i < g->writes.len && !why; i++)
        if (same_file(c, path, g->writes.at[i]))
            why = "would be written twice by this run";
    tp_push(c->arena, g->writes, path);
    if (why)
        tp_usage_error("--%s: `%.*s` %s: name another file", option, TP_FMT(path), why);
    return !why;
}

bool tp_can_write(const tp_cli *c, const char *option, tp_str path)
{
    struct stat st;
    const char *file = tp_cstr(c->arena, path), *slash = strrchr(file, '/');
    const char *folder = !slash ? "." : slash == file ? "/" : tp_printf(c->arena, "%.*s", (int)(slash - file), file).p;
    const char *why = NULL;
    if (stat(file, &st) == 0)
        why = S_ISDIR(st.st_mode) ? "it is a folder" : !S_ISREG(st.st_mode) ? "it is not a regular file" : NULL;
    else if (errno != ENOENT)
        why = strerror(errno);
    if (!why && (stat(folder, &st) != 0 || access(folder, W_OK | X_OK) != 0)) {
        tp_usage_error("--%s: cannot write `%s`: the folder `%s`: %s", option, file, folder, strerror(errno));
        return false;
    }
    if (why)
        tp_usage_error("--%s: cannot write `%s`: %s", option, file, why);
    return !why;
}

bool tp_may_write(tp_cli *c, tp_run_files *g, const char *option, tp_str path)
{
    return tp_guard_writes(c, g, option, path) && tp_can_write(c, option, path);
}

tp_str tp_after(tp_str s, char sign)
{
    const char *at = s.n ? memchr(s.p, sign, s.n) : NULL;
    return at ? (tp_str){at + 1, s.n - (size_t)(at - s.p) - 1} : (tp_str){NULL, 0};
}

bool tp_guard_check(tp_cli *c, const tp_strings *specs)
{
    tp_run_files g = {0};
    bool ok = true;
    for (uint32_t i = 0; i < specs->len; i++)
        tp_guard_reads(c, &g, specs->at[i]);
    tp_guard_reads(c, &g, c->config_file ? tp_str_c(c->config_file) : TP_S(""));
    tp_guard_reads(c, &g, tp_option(&c->baseline, ""));
    tp_guard_reads(c, &g, tp_option(&c->sign, ""));
    tp_guard_reads(c, &g, tp_option(&c->cache_key, ""));
    for (uint32_t i = 0; ok && i < c->report.len; i++)
        ok = tp_guard_writes(c, &g, "output", tp_after(c->report.at[i], '='));
    for (uint32_t i = 0; ok && i < c->playback.len; i++)
        ok = tp_guard_writes(c, &g, "playback", tp_after(c->playback.at[i], '='));
    if (ok && c->receipt.len)
        ok = tp_may_write(c, &g, "receipt", tp_option(&c->receipt, ""));
    if (ok && c->certificates.len)
        ok = tp_may_write(c, &g, "certificates", tp_option(&c->certificates, ""));
    if (ok && c->cache.len)
        ok = tp_guard_writes(c, &g, "cache", tp_option(&c->cache, ""));
    return ok;
}

bool tp_cache_usable(tp_cli *c, const char *path, tp_str *text)
{
    struct stat st;
    tp_str why = {NULL, 0};
    *text = (tp_str){NULL, 0};
    if (stat(path, &st) != 0)
        return true; /* there is none yet */
    if (tp_map_file(c->arena, path, text, &why) != TP_OK)
        return tp_usage_error("--cache: `%s` cannot be read: %.*s", path, TP_FMT(why)), false;
    if (text->n && !tp_is_cache(*text))
        return tp_usage_error("--cache: `%s` is not a cache and is left unchanged: name another file", path), false;
    return true;
}
