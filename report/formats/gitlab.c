/* GitLab code quality: a JSON array of issues. */
#include "base/jsonc.h"
#include "base/map.h"
#include "report/writing.h"

/* An issue in part 0; its fingerprint ends with a number that is known at the end: how many before it have the same. */
typedef struct issue {
    char print[33];
    tp_severity severity;
    uint64_t from, number, to;
} issue;
typedef TP_VEC(issue) issues;

/* Two digits that are written at the end, and what is in their place until then. */
#define DIGITS "00"

static void write_spec(tp_writing *w, const tp_spec_report *s, tp_arena *a)
{
    static const char *const SEVERITIES[] = {"info", "minor", "major"};
    issues *kept = w->state = w->state ? w->state : TP_NEW(w->arena, issues);
    uint32_t n;
    const tp_shown_finding *all = tp_shown_findings(a, w->r, s, &n);
    for (uint32_t i = 0; i < n; i++) {
        const tp_finding *f = all[i].finding;
        struct json_object *o = json_object_new_object(), *location = json_object_new_object(),
                           *lines = json_object_new_object();
        json_object_object_add(lines, "begin", json_object_new_int64(tp_linecol_of(s->source, f->loc.start).line));
        json_object_object_add(location, "path", tp_jsonc_string(tp_visible(a, s->source->path)));
        json_object_object_add(location, "lines", lines);
        json_object_object_add(o, "description", tp_jsonc_string(tp_finding_story(a, f)));
        json_object_object_add(o, "check_name", tp_jsonc_string(tp_printf(a, "%s %s", f->rule, f->slug)));
        tp_str print = tp_fingerprint(a, s, f);
        json_object_object_add(o, "fingerprint", tp_jsonc_string(tp_printf(a, "%.*s" DIGITS, TP_FMT(print))));
        size_t before = tp_jsonc_text_at(a, o, TP_JSONC_PRETTY, 1).n - (sizeof DIGITS "\"\n  }" - 1);
        json_object_object_add(o, "severity", json_object_new_string(SEVERITIES[all[i].severity]));
        json_object_object_add(o, "location", location);
        issue x = {.severity = all[i].severity, .from = tp_part_length(w, 0)};
        snprintf(x.print, sizeof x.print, "%.*s", TP_FMT(print));
        x.number = x.from + before;
        fprintf(tp_part_out(w, 0), "%.*s", TP_FMT(tp_jsonc_text_at(a, o, TP_JSONC_PRETTY, 1)));
        x.to = tp_part_length(w, 0);
        tp_push(w->arena, *kept, x);
        json_object_put(o);
    }
}

static void write_end(tp_writing *w, const tp_report *r, FILE *out)
{
    const issues none = {0}, *kept = w->state ? w->state : &none;
    tp_arena *a = tp_arena_child(w->arena);
    tp_map before = {0};
    bool any = false;
    (void)r;
    fputs("[", out);
    for (uint32_t severity = TP_ERROR + 1; severity-- > 0;)
        for (uint32_t i = 0; i < kept->len; i++) {
            const issue *x = &kept->at[i];
            if (x->severity != severity)
                continue;
            uint32_t again = tp_map_get(&before, tp_str_c(x->print)); /* they have to differ */
            tp_map_set(a, &before, tp_str_c(x->print), again + 1);
            fputs(any ? ",\n  " : "\n  ", out);
            tp_copy_piece(w, 0, x->from, x->number, out);
            fprintf(out, "%02u", again);
            tp_copy_piece(w, 0, x->number + sizeof DIGITS - 1, x->to, out);
            any = true;
        }
    fputs(any ? "\n]\n" : "]\n", out);
    tp_arena_free(a);
}

const tp_format tp_format_gitlab = {"gitlab", "code quality report of GitLab", write_spec, write_end};
