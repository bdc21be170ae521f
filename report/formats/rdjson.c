/* Reviewdog diagnostic format (rdjson): what a bot says of the lines of a
 * change, with edits that it can offer. Columns count bytes, from 1. */
#include "base/jsonc.h"
#include "report/writing.h"

static struct json_object *position(const tp_source *s, uint32_t offset)
{
    struct json_object *o = json_object_new_object();
    tp_str line = tp_line_of(s, offset);
    size_t column = s->text.n ? (size_t)(s->text.p + (offset < s->text.n ? offset : s->text.n) - line.p) : 0;
    json_object_object_add(o, "line", json_object_new_int64(tp_linecol_of(s, offset).line));
    json_object_object_add(o, "column", json_object_new_int64((int64_t)column + 1));
    return o;
}

static struct json_object *range(const tp_source *s, uint32_t start, uint32_t end)
{
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "start", position(s, start));
    json_object_object_add(o, "end", position(s, end));
    return o;
}

/* Each suggestion is one replacement: edits that belong together become one, with what lies between them. */
static struct json_object *suggestion(tp_arena *a, const tp_source *s, const tp_fix *fix)
{
    struct json_object *o = json_object_new_object();
    uint32_t start = fix->edits.at[0].start, end = fix->edits.at[fix->edits.len - 1].end;
    tp_str text = tp_apply_edits(a, s->text, &fix->edits);
    json_object_object_add(o, "range", range(s, start, end));
    json_object_object_add(o, "text", tp_jsonc_string((tp_str){text.p + start, text.n - (s->text.n - end) - start}));
    return o;
}

static struct json_object *diagnostic(tp_arena *a, const tp_shown_finding *shown)
{
    static const char *const SEVERITIES[] = {"INFO", "WARNING", "ERROR"};
    const tp_finding *f = shown->finding;
    const tp_source *source = shown->spec->source;
    struct json_object *o = json_object_new_object(), *location = json_object_new_object(),
                       *code = json_object_new_object();
    json_object_object_add(o, "message", tp_jsonc_string(tp_finding_story(a, f)));
    json_object_object_add(location, "path", tp_jsonc_string(tp_visible(a, source->path)));
    json_object_object_add(location, "range", range(source, f->loc.start, f->loc.end));
    json_object_object_add(o, "location", location);
    json_object_object_add(o, "severity", json_object_new_string(SEVERITIES[shown->severity]));
    json_object_object_add(code, "value", json_object_new_string(f->rule));
    json_object_object_add(o, "code", code);
    if (f->fix && f->fix->edits.len) {
        struct json_object *list = json_object_new_array();
        json_object_array_add(list, suggestion(a, source, f->fix));
        json_object_object_add(o, "suggestions", list);
    }
    return o;
}

static void write_spec(tp_writing *w, const tp_spec_report *s, tp_arena *a)
{
    uint32_t n;
    const tp_shown_finding *all = tp_shown_findings(a, w->r, s, &n);
    for (uint32_t i = 0; i < n; i++)
        tp_add_element(w, all[i].severity, diagnostic(a, &all[i]), 2, a);
}

static void write_end(tp_writing *w, const tp_report *r, FILE *out)
{
    struct json_object *source = json_object_new_object();
    tp_arena *a = tp_arena_child(w->arena);
    (void)r;
    json_object_object_add(source, "name", json_object_new_string("tileproof"));
    tp_put_member(out, "{", "source", source, 1, a);
    fputs(",\n  \"diagnostics\":[", out);
    tp_copy_list(w, TP_ERROR, 0, 2, out);
    fputs("]\n}\n", out);
    tp_arena_free(a);
}

const tp_format tp_format_rdjson = {"rdjson", "diagnostics for reviewdog, with suggestions", write_spec, write_end};
