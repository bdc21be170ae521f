/* --shard I/N: the specs of one of several runs that together check all. */
#include "base/digest.h"
#include "base/file.h"
#include "cli/check.h"
#include "spec/json.h"

enum { MOST_SHARDS = 100000 };

static bool read_shard(const tp_cli *c, tp_shard *s)
{
    tp_str text = tp_option(&c->shard, ""), of = tp_after(text, '/');
    const tp_strings index = {.at = &(tp_str){text.p, text.n - of.n - (of.n > 0)}, .len = 1},
                     all = {.at = &of, .len = 1};
    int64_t i = 0, n = 0;
    if (!of.n)
        return tp_usage_error("--shard is I/N, such as 1/8, not `%.*s`", TP_FMT(text)), false;
    if (!tp_option_number(&all, "shard I/N, N", 1, MOST_SHARDS, 1, &n) ||
        !tp_option_number(&index, "shard I/N, I", 1, n, 1, &i))
        return false;
    s->index = (uint32_t)i;
    s->of = (uint32_t)n;
    return true;
}

/* A number that depends on what is in the file alone; of one that cannot be read on its name. */
static uint32_t share_of(const tp_cli *c, tp_str path, uint32_t of)
{
    tp_arena *a = tp_arena_child(c->arena);
    tp_str text, why, digest;
    bool read = tp_read_file(a, tp_cstr(a, path), TP_JSON_MAX_BYTES, &text, &why) == TP_OK;
    digest = tp_sha256(a, read ? text : path);
    uint64_t n = 0;
    for (size_t i = 0; i < 15; i++) /* hex digits */
        n = n << 4 | (uint64_t)(digest.p[i] <= '9' ? digest.p[i] - '0' : digest.p[i] - 'a' + 10);
    tp_arena_free(a);
    return (uint32_t)(n % of);
}

bool tp_shard_paths(tp_cli *c, tp_strings *paths, tp_shard *s)
{
    tp_strings selection = {0};
    if (!read_shard(c, s))
        return false;
    s->specs = paths->len;
    s->positions = TP_NEWN(c->arena, uint32_t, paths->len + 1);
    for (uint32_t i = 0; i < paths->len; i++) {
        if (tp_str_is(paths->at[i], "-"))
            return tp_usage_error("--shard goes by the contents of files: name some in place of `-`"), false;
        if (share_of(c, paths->at[i], s->of) + 1 != s->index)
            continue;
        s->positions[selection.len] = i;
        tp_push(c->arena, selection, paths->at[i]);
    }
    *paths = selection;
    return true;
}
