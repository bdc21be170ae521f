#include "spec/files.h"

#include <string.h>

#include "base/file.h"

/* The folder of the spec, with its slash; empty: the working folder. */
static tp_str folder_of(const tp_source *s)
{
    size_t n = s->path.n;
    while (n > 0 && s->path.p[n - 1] != '/')
        n--;
    return (tp_str){s->path.p, n};
}

static bool leads_outward(tp_str path)
{
    for (size_t at = 0, n; at < path.n; at += n + 1) {
        for (n = 0; at + n < path.n && path.p[at + n] != '/';)
            n++;
        if (n == 2 && memcmp(path.p + at, "..", 2) == 0)
            return true;
    }
    return path.n > 0 && path.p[0] == '/';
}

/* Both without links. */
static bool is_below(tp_arena *a, tp_str folder, const char *file)
{
    const char *real = tp_real_path(a, folder.n ? tp_cstr(a, folder) : ".");
    size_t n = real ? strlen(real) : 0;
    return n && strncmp(file, real, n) == 0 && (file[n] == '/' || n == 1);
}

tp_str tp_permitted_file(tp_ctx *c, const tp_json *m)
{
    tp_str named = m->u.string, folder = folder_of(c->source);
    const char *hash = named.n ? memchr(named.p, '#', named.n) : NULL;
    tp_str file = {named.p, hash ? (size_t)(hash - named.p) : named.n}, tensor = {named.p + file.n, named.n - file.n};
    bool absolute = file.n && file.p[0] == '/', outward = leads_outward(file);
    tp_str joined = absolute ? file : tp_printf(c->arena, "%.*s%.*s", TP_FMT(folder), TP_FMT(file));
    const char *found = outward && !c->nread_from ? NULL : tp_real_path(c->arena, tp_cstr(c->arena, joined));
    bool may = found && is_below(c->arena, folder, found);
    for (uint32_t i = 0; found && i < c->nread_from && !may; i++)
        may = is_below(c->arena, c->read_from[i], found);
    tp_str real = tp_printf(c->arena, "%s%.*s", may ? found : "", TP_FMT(tensor));
    bool missing = !found && !outward; /* the reader says so */
    if (!may && !missing)
        tp_raise(c, TP_RULE_SPEC_VALUE, m->loc, "put it beside the spec, or allow its folder: --allow-path DIR",
                 "`%.*s` is not below the folder of the spec", TP_FMT(named));
    return may ? real : tp_printf(c->arena, "%.*s%.*s", TP_FMT(joined), TP_FMT(tensor));
}

/* ---- the file of the body ---- */

static bool is_jsonc(tp_str path)
{
    return path.n > 6 && memcmp(path.p + path.n - 6, ".jsonc", 6) == 0;
}

static const tp_json *kernel_file_of(tp_ctx *c)
{
    static const char KEY[] = "\"kernel_file\"";
    tp_str t = c->source->text;
    bool found = false;
    for (size_t i = 0; i + sizeof KEY - 1 <= t.n && !found; i++)
        found = t.p[i] == '"' && memcmp(t.p + i, KEY, sizeof KEY - 1) == 0;
    if (!found)
        return NULL;
    const tp_json *doc = tp_json_parse(c, is_jsonc(c->source->path)),
                  *v = doc->type == TP_J_OBJECT ? tp_json_get(doc, "kernel_file") : NULL;
    return v && v->type == TP_J_STRING ? v : NULL; /* else the reader says what is wrong */
}

void tp_source_complete(tp_ctx *c, tp_source *source)
{
    const tp_json *v = kernel_file_of(c);
    tp_str text, why;
    if (!v)
        return;
    if (source->path.n && source->path.p[0] == '<')
        tp_raise(c, TP_RULE_SPEC_VALUE, v->loc, "write the body into \"kernel\"",
                 "a spec that is no file has no folder with a kernel file");
    tp_str path = tp_permitted_file(c, v);
    if (tp_read_file(c->arena, tp_cstr(c->arena, path), TP_JSON_MAX_BYTES, &text, &why) != TP_OK)
        tp_raise(c, TP_RULE_SPEC_VALUE, v->loc, "the file lies in the folder of the spec or below it",
                 "cannot read `%.*s`: %.*s", TP_FMT(v->u.string), TP_FMT(why));
    if (memchr(text.p, TP_SOURCE_PART, text.n) || source->text.n + text.n >= TP_JSON_MAX_BYTES)
        tp_raise(c, TP_RULE_SPEC_VALUE, v->loc, "a kernel file is text, in all at most 8 MiB with its spec",
                 "`%.*s` holds a control character or is too large", TP_FMT(v->u.string));
    tp_buf both = {.arena = c->arena};
    tp_buf_str(&both, source->text);
    tp_buf_add(&both, (char[]){TP_SOURCE_PART}, 1);
    tp_buf_str(&both, text);
    source->text = tp_buf_view(&both);
    source->kernel_file = tp_printf(c->arena, "%.*s%.*s", TP_FMT(folder_of(source)), TP_FMT(v->u.string));
}

typedef struct search {
    tp_ctx ctx;
    tp_str found;
} search;

static void find(void *arg)
{
    search *s = arg;
    const tp_json *v = kernel_file_of(&s->ctx);
    if (v)
        s->found = tp_printf(s->ctx.arena, "%.*s%.*s", TP_FMT(folder_of(s->ctx.source)), TP_FMT(v->u.string));
}

tp_str tp_kernel_file(tp_arena *a, const tp_source *source)
{
    search s = {.ctx = {.arena = a, .source = source}};
    tp_try(a, find, &s);
    return s.found;
}
