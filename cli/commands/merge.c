/* JSON reports of the shards of a run, put together: the bytes of the report of one run of all specs. */
#include <limits.h>
#include <stdio.h>

#include "base/file.h"
#include "base/jsonc.h"
#include "base/spool.h"
#include "cli/cli.h"

typedef struct json_object json;

static const size_t MOST_BYTES = (size_t)1 << 30; /* from a pipe */

typedef TP_VEC(tp_str) texts;

/* A report of a run with --shard. Its specs stay text until they are printed: memory holds one of them. */
typedef struct piece {
    const char *path;
    json *report; /* without its specs */
    texts specs;
    json *positions;
    int64_t index, of, all, exit;
} piece;

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

/* All of the text as one value; NULL: it is none. */
static json *parse(tp_cli *c, tp_str text)
{
    enum { MOST_DEPTH = 64 };
    struct json_tokener *t = json_tokener_new_ex(MOST_DEPTH);
    if (t)
        json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    tp_arena *a = tp_arena_child(c->arena);
    json *o =
        t && text.n < INT_MAX ? json_tokener_parse_ex(t, tp_cstr(a, text), (int)text.n + 1) : NULL; /* its 0, too */
    bool whole = o && json_tokener_get_parse_end(t) == text.n;
    tp_arena_free(a);
    if (t)
        json_tokener_free(t);
    if (!whole)
        json_object_put(o);
    return whole ? o : NULL;
}

/* ---- values in their text, that are not parsed yet ---- */

typedef struct cursor {
    tp_str text;
    size_t at;
} cursor;

static char peek(cursor *c)
{
    while (c->at < c->text.n && memchr(" \n\r\t", c->text.p[c->at], 4))
        c->at++;
    return c->at < c->text.n ? c->text.p[c->at] : '\0';
}

static bool take(cursor *c, char sign)
{
    bool is = peek(c) == sign;
    c->at += is;
    return is;
}

/* The next value: up to a comma or bracket that is not in it. Whether it is one, its parser says. */
static tp_str next_value(cursor *c)
{
    size_t depth = 0, from;
    bool quoted = false;
    peek(c);
    for (from = c->at; c->at < c->text.n; c->at++) {
        char x = c->text.p[c->at];
        if (quoted) {
            c->at += x == '\\';
            quoted = x != '"';
        } else if (x == '"') {
            quoted = true;
        } else if (x == '{' || x == '[') {
            depth++;
        } else if (x == '}' || x == ']' || x == ',' || x == ':') {
            if (!depth)
                break;
            depth -= x == '}' || x == ']';
        }
    }
    size_t end = c->at < c->text.n ? c->at : c->text.n;
    while (end > from && memchr(" \n\r\t", c->text.p[end - 1], 4))
        end--;
    return (tp_str){c->text.p + from, end - from};
}

static bool read_specs(tp_cli *c, cursor *in, texts *specs)
{
    if (!take(in, '['))
        return false;
    if (take(in, ']'))
        return true;
    do
        tp_push(c->arena, *specs, next_value(in));
    while (take(in, ','));
    return take(in, ']');
}

/* The members; of "specs" their places. */
static bool read_members(tp_cli *c, cursor *in, piece *p)
{
    bool ok = take(in, '{');
    if (!ok || take(in, '}'))
        return ok;
    do {
        json *key = parse(c, next_value(in)), *value = NULL;
        ok = key && json_object_is_type(key, json_type_string) && take(in, ':');
        if (ok && strcmp(json_object_get_string(key), "specs") == 0 && peek(in) == '[') {
            ok = read_specs(c, in, &p->specs);
            value = ok ? json_object_new_array() : NULL;
        } else if (ok) {
            tp_str text = next_value(in);
            value = parse(c, text);
            ok = value || tp_str_is(text, "null");
        }
        if (ok)
            json_object_object_add(p->report, json_object_get_string(key), value);
        json_object_put(key);
    } while (ok && take(in, ','));
    return ok && take(in, '}') && peek(in) == '\0' && in->at == in->text.n;
}

static bool read_piece(tp_cli *c, piece *p)
{
    tp_str text, why;
    bool piped = strcmp(p->path, "-") == 0;
    if ((piped ? tp_read_file(c->arena, p->path, MOST_BYTES, &text, &why)
               : tp_map_file(c->arena, p->path, &text, &why)) != TP_OK)
        return refuse(p, tp_cstr(c->arena, why));
    cursor in = {.text = text};
    p->report = json_object_new_object();
    if (!read_members(c, &in, p))
        return refuse(p, "it is no JSON");
    json *version = member(p->report, "tileproof", json_type_string),
         *shard = member(p->report, "shard", json_type_object);
    p->positions = member(shard, "positions", json_type_array);
    if (!version || number(p->report, "schema") != TP_REPORT_SCHEMA || !member(p->report, "specs", json_type_array) ||
        !member(p->report, "summary", json_type_object))
        return refuse(p, "it is no JSON report of tileproof lint or verify");
    if (strcmp(json_object_get_string(version), TP_VERSION) != 0)
        return refuse(p, "it was written by another version of tileproof: let one version write all of them");
    p->index = number(shard, "index");
    p->of = number(shard, "of");
    p->all = number(shard, "specs");
    p->exit = number(shard, "exit");
    if (!p->positions || p->of < 1 || p->index < 1 || p->index > p->of || p->all < 0 || p->exit < 0 ||
        json_object_array_length(p->positions) != p->specs.len)
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

typedef struct placed {
    const piece *of;
    tp_str text;
} placed;

/* The specs in the order of the run; NULL after a message. */
static placed *place_specs(tp_cli *c, const piece *all, uint32_t n)
{
    size_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += all[i].specs.len;
    if (count != (size_t)all[0].all)
        return refuse(&all[0], tp_printf(c->arena, "the shards have %zu specs in all, and the run had %lld", count,
                                         (long long)all[0].all)
                                   .p),
               NULL;
    placed *at = TP_NEWN(c->arena, placed, count + 1);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < all[i].specs.len; k++) {
            json *position = json_object_array_get_idx(all[i].positions, k);
            int64_t place = json_object_is_type(position, json_type_int) ? json_object_get_int64(position) : -1;
            if (place < 0 || place >= (int64_t)count || at[place].of)
                return refuse(&all[i], "its positions are not those of a shard of this run"), NULL;
            at[place] = (placed){&all[i], all[i].specs.at[k]};
        }
    return at;
}

static bool print_spec(tp_cli *c, const placed *s, bool first, FILE *out)
{
    json *o = parse(c, s->text);
    if (!o)
        return refuse(s->of, "it is no JSON");
    tp_arena *a = tp_arena_child(c->arena);
    fprintf(out, "%s\n    %.*s", first ? "" : ",", TP_FMT(tp_jsonc_text_at(a, o, TP_JSONC_PRETTY, 2)));
    tp_arena_free(a);
    json_object_put(o);
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
    json *sum = json_object_new_object();
    placed *at = NULL;
    bool whole = belong_together(c, all, n) && (at = place_specs(c, all, n)) && add_summaries(all, n, sum);
    tp_spool *specs = tp_spool_new(c->arena); /* nothing is printed of what turns out to be none */
    for (int64_t i = 0; whole && i < all[0].all; i++)
        whole = print_spec(c, &at[i], i == 0, tp_spool_out(specs));
    uint64_t bytes = tp_spool_length(specs);
    bool lost = tp_spool_lost(specs);
    if (whole && !lost) {
        printf("{\n  \"tileproof\":\"" TP_VERSION "\",\n  \"schema\":%d,\n  \"specs\":[", TP_REPORT_SCHEMA);
        lost = !tp_spool_copy(specs, 0, bytes, stdout);
        printf("%s],\n  \"summary\":%.*s\n}\n", bytes ? "\n  " : "",
               TP_FMT(tp_jsonc_text_at(c->arena, sum, TP_JSONC_PRETTY, 1)));
    }
    tp_spool_free(specs);
    json_object_put(sum);
    if (whole && lost)
        tp_say(stderr, "tileproof: the report is not whole: there is no room for temporary files, or no memory");
    return !whole ? TP_EXIT_INPUT : lost ? TP_EXIT_INTERNAL : exit_code(all, n);
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
