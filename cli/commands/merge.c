/* JSON reports of the shards of a run, put together: the bytes of the report of one run of all specs. */
#include <limits.h>
#include <stdio.h>

#include "base/file.h"
#include "base/jsonc.h"
#include "cli/cli.h"

typedef struct json_object json;

/* A report of a run with --shard. */
typedef struct piece {
    const char *path;
    json *report, *specs, *positions;
    int64_t index, of, all, exit;
} piece;

static const size_t MOST_BYTES = (size_t)1 << 30;

static bool refuse(const piece *p, const char *why)
{
    tp_usage_error("%s: %s", p->path, why);
    return false;
}

static json *member(json *o, const char *key, json_type type)
{
    json *v = NULL;
    return o && json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &v) &&
                   json_object_is_type(v, type)
               ? v
               : NULL;
}

/* A number that is not negative; -1: there is none. */
static int64_t number(json *o, const char *key)
{
    json *v = member(o, key, json_type_int);
    return v ? json_object_get_int64(v) : -1;
}

static bool parse(piece *p, tp_str text)
{
    enum { MOST_DEPTH = 64 };
    struct json_tokener *t = json_tokener_new_ex(MOST_DEPTH);
    if (t)
        json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    p->report = t && text.n < INT_MAX ? json_tokener_parse_ex(t, text.p, (int)text.n) : NULL;
    size_t end = t && p->report ? json_tokener_get_parse_end(t) : 0;
    if (t)
        json_tokener_free(t);
    while (p->report && end < text.n && (text.p[end] == '\n' || text.p[end] == ' '))
        end++;
    return (p->report && end == text.n) || refuse(p, "it is no JSON");
}

static bool read_piece(tp_cli *c, piece *p)
{
    tp_str text, why;
    if (tp_read_file(c->arena, p->path, MOST_BYTES, &text, &why) != TP_OK)
        return refuse(p, tp_cstr(c->arena, why));
    if (!parse(p, text))
        return false;
    json *version = member(p->report, "tileproof", json_type_string),
         *shard = member(p->report, "shard", json_type_object);
    p->specs = member(p->report, "specs", json_type_array);
    p->positions = member(shard, "positions", json_type_array);
    if (!version || number(p->report, "schema") != TP_REPORT_SCHEMA || !p->specs ||
        !member(p->report, "summary", json_type_object))
        return refuse(p, "it is no JSON report of tileproof lint or verify");
    if (strcmp(json_object_get_string(version), TP_VERSION) != 0)
        return refuse(p, "it was written by another version of tileproof: let one version write all of them");
    p->index = number(shard, "index");
    p->of = number(shard, "of");
    p->all = number(shard, "specs");
    p->exit = number(shard, "exit");
    if (!p->positions || p->of < 1 || p->index < 1 || p->index > p->of || p->all < 0 || p->exit < 0 ||
        json_object_array_length(p->positions) != json_object_array_length(p->specs))
        return refuse(p, "it does not say which specs it is of: write it with --shard I/N --format json");
    return true;
}

/* Each shard once, all of one run. */
static bool belong_together(tp_cli *c, const piece *all, uint32_t n)
{
    bool *seen = TP_NEWN(c->arena, bool, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const piece *p = &all[i];
        if (p->of != all[0].of || p->all != all[0].all)
            return refuse(p, tp_printf(c->arena,
                                       "it is of a run of %lld specs in %lld shards, and %s of one of %lld in %lld",
                                       (long long)p->all, (long long)p->of, all[0].path, (long long)all[0].all,
                                       (long long)all[0].of)
                                 .p);
        if (p->of != n)
            return refuse(p, tp_printf(c->arena, "it is one of %lld shards, and %u %s named: name all of them",
                                       (long long)p->of, n, n == 1 ? "is" : "are")
                                 .p);
        if (seen[p->index])
            return refuse(p,
                          tp_printf(c->arena, "it is shard %lld, which another file is, too", (long long)p->index).p);
        seen[p->index] = true;
    }
    return true;
}

/* The specs in the order of the run. */
static bool place_specs(tp_cli *c, const piece *all, uint32_t n, json *into)
{
    size_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += json_object_array_length(all[i].specs);
    if (count != (size_t)all[0].all)
        return refuse(&all[0], tp_printf(c->arena, "the shards have %zu specs in all, and the run had %lld", count,
                                         (long long)all[0].all)
                                   .p);
    json **at = TP_NEWN(c->arena, json *, count + 1);
    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < json_object_array_length(all[i].specs); k++) {
            json *position = json_object_array_get_idx(all[i].positions, k);
            int64_t place = json_object_is_type(position, json_type_int) ? json_object_get_int64(position) : -1;
            if (place < 0 || place >= (int64_t)count || at[place])
                return refuse(&all[i], "its positions are not those of a shard of this run");
            at[place] = json_object_array_get_idx(all[i].specs, k);
        }
    for (size_t k = 0; k < count; k++)
        json_object_array_add(into, json_object_get(at[k]));
    return true;
}

static bool add_summaries(const piece *all, uint32_t n, json *into)
{
    json_object_object_foreach (member(all[0].report, "summary", json_type_object), key, unused) {
        int64_t sum = 0;
        (void)unused;
        for (uint32_t i = 0; i < n; i++) {
            int64_t v = number(member(all[i].report, "summary", json_type_object), key);
            if (v < 0 || __builtin_add_overflow(sum, v, &sum))
                return refuse(&all[i], "its summary does not count what the others count");
        }
        json_object_object_add(into, key, json_object_new_int64(sum));
    }
    return true;
}

/* That of one run of all: the gravest, as tp_report_exit_code() orders them. */
static int exit_code(const piece *all, uint32_t n)
{
    static const int GRAVEST_FIRST[] = {TP_EXIT_INTERNAL, TP_EXIT_INPUT, TP_EXIT_VIOLATED, TP_EXIT_UNKNOWN};
    for (size_t e = 0; e < sizeof GRAVEST_FIRST / sizeof *GRAVEST_FIRST; e++)
        for (uint32_t i = 0; i < n; i++)
            if (all[i].exit == GRAVEST_FIRST[e])
                return GRAVEST_FIRST[e];
    return TP_EXIT_OK;
}

static int merge(tp_cli *c, piece *all, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!read_piece(c, &all[i]))
            return TP_EXIT_INPUT;
    json *o = json_object_new_object(), *specs = json_object_new_array(), *sum = json_object_new_object();
    json_object_object_add(o, "tileproof", json_object_new_string(TP_VERSION));
    json_object_object_add(o, "schema", json_object_new_int(TP_REPORT_SCHEMA));
    json_object_object_add(o, "specs", specs);
    json_object_object_add(o, "summary", sum);
    bool whole = belong_together(c, all, n) && place_specs(c, all, n, specs) && add_summaries(all, n, sum);
    if (whole)
        printf("%.*s\n", TP_FMT(tp_jsonc_text(c->arena, o, TP_JSONC_PRETTY)));
    json_object_put(o);
    return whole ? exit_code(all, n) : TP_EXIT_INPUT;
}

static int run(tp_cli *c)
{
    uint32_t n = c->paths.len;
    if (!n)
        return tp_usage_error("merge takes the JSON reports of all shards of a run: tileproof merge REPORT…");
    piece *all = TP_NEWN(c->arena, piece, n);
    for (uint32_t i = 0; i < n; i++)
        all[i].path = tp_cstr(c->arena, c->paths.at[i]);
    int code = merge(c, all, n);
    for (uint32_t i = 0; i < n; i++)
        json_object_put(all[i].report);
    return code;
}

const tp_command tp_command_merge = {"merge", 'p', "REPORT…", "put the JSON reports of the shards of a run together",
                                     run};
