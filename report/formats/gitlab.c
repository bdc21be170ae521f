/* GitLab code quality: a JSON array of issues. */
#include "base/jsonc.h"
#include "base/map.h"
#include "report/report.h"

static void write_gitlab(const tp_report *r, FILE *out)
{
    static const char *const SEVERITIES[] = {"info", "minor", "major"};
    tp_arena *a = tp_arena_child(r->arena);
    uint32_t n;
    const tp_shown *all = tp_shown_findings(a, r, &n);
    tp_map keys = {0};
    struct json_object *list = json_object_new_array();
    for (uint32_t i = 0; i < n; i++) {
        const tp_finding *f = all[i].finding;
        struct json_object *o = json_object_new_object(), *location = json_object_new_object(),
                           *lines = json_object_new_object();
        json_object_object_add(lines, "begin",
                               json_object_new_int64(tp_linecol_of(all[i].spec->source, f->loc.start).line));
        json_object_object_add(location, "path", tp_jsonc_string(tp_visible(a, all[i].spec->source->path)));
        json_object_object_add(location, "lines", lines);
        json_object_object_add(o, "description", tp_jsonc_string(tp_finding_story(a, f)));
        json_object_object_add(o, "check_name", tp_jsonc_string(tp_printf(a, "%s %s", f->rule, f->slug)));
        tp_str print = tp_fingerprint(a, all[i].spec, f);
        uint32_t again = tp_map_get(&keys, print); /* they have to differ */
        tp_map_set(a, &keys, print, again + 1);
        json_object_object_add(o, "fingerprint", tp_jsonc_string(tp_printf(a, "%.*s%02u", TP_FMT(print), again)));
        json_object_object_add(o, "severity", json_object_new_string(SEVERITIES[all[i].severity]));
        json_object_object_add(o, "location", location);
        json_object_array_add(list, o);
    }
    fprintf(out, "%.*s\n", TP_FMT(tp_jsonc_text(a, list, TP_JSONC_PRETTY)));
    json_object_put(list);
    tp_arena_free(a);
}

const tp_format tp_format_gitlab = {"gitlab", "code quality report of GitLab", write_gitlab, false};
