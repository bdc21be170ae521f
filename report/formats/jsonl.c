/* One JSON object per line and finding, proofs too: for jq and logs. */
#include "base/jsonc.h"
#include "report/writing.h"

static void write_spec(tp_writing *w, const tp_spec_report *s, tp_arena *a)
{
    for (uint32_t k = 0; k < s->findings.len; k++) {
        struct json_object *o = json_object_new_object(), *f = tp_finding_json(s->source, &s->findings.at[k]);
        json_object_object_add(o, "path", tp_jsonc_string(s->source->path));
        json_object_object_add(o, "kernel", tp_jsonc_string_or_null(s->name));
        json_object_object_foreach (f, key, value)
            json_object_object_add(o, key, json_object_get(value));
        fprintf(tp_part_out(w, 0), "%.*s\n", TP_FMT(tp_jsonc_text(a, o, TP_JSONC_PLAIN)));
        json_object_put(f);
        json_object_put(o);
    }
}

const tp_format tp_format_jsonl = {"jsonl", "one JSON object per finding and line", write_spec, NULL};
