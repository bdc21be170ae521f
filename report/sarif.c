/* SARIF 2.1.0 (OASIS), in two profiles. Code scanning services show every
 * result as an alert, proofs and suppressed ones too, so they get neither. */
#include "base/jsonc.h"
#include "base/map.h"
#include "report/writing.h"

typedef struct json_object json;

static json *message(tp_str s)
{
    json *o = json_object_new_object();
    json_object_object_add(o, "text", tp_jsonc_string(s));
    return o;
}

/* A relative reference (RFC 3986): bytes outside of the unreserved set in hex. */
static tp_str uri_of(tp_arena *a, tp_str path)
{
    tp_buf b = {.arena = a};
    for (size_t i = 0; i < path.n; i++) {
        unsigned char c = (unsigned char)path.p[i];
        bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || memchr("-._~/", c, 5);
        if (plain)
            tp_buf_add(&b, (const char *)&c, 1);
        else
            tp_buf_printf(&b, "%%%02X", c);
    }
    return tp_buf_view(&b);
}

static json *artifact(tp_arena *a, tp_str path)
{
    json *o = json_object_new_object();
    json_object_object_add(o, "uri", tp_jsonc_string(uri_of(a, path)));
    return o;
}

static json *location(tp_arena *a, const tp_spec_report *s, const tp_finding *f)
{
    json *o = json_object_new_object(), *physical = json_object_new_object(), *region = json_object_new_object(),
         *logical = json_object_new_object(), *list = json_object_new_array();
    tp_linecol start = tp_linecol_of(s->source, f->loc.start), end = tp_linecol_of(s->source, f->loc.end);
    json_object_object_add(region, "startLine", json_object_new_int64(start.line));
    json_object_object_add(region, "startColumn", json_object_new_int64(start.column));
    if (f->loc.end > f->loc.start) {
        json_object_object_add(region, "endLine", json_object_new_int64(end.line));
        json_object_object_add(region, "endColumn", json_object_new_int64(end.column));
    }
    json_object_object_add(physical, "artifactLocation", artifact(a, tp_source_path(s->source, f->loc.start)));
    json_object_object_add(physical, "region", region);
    json_object_object_add(o, "physicalLocation", physical);
    if (f->loc.pointer.n) {
        json_object_object_add(logical, "fullyQualifiedName", tp_jsonc_string(tp_visible(a, f->loc.pointer)));
        json_object_array_add(list, logical);
        json_object_object_add(o, "logicalLocations", list);
    } else {
        json_object_put(logical);
        json_object_put(list);
    }
    return o;
}

static const char *level(const tp_report *r, const tp_finding *f)
{
    static const char *const LEVELS[] = {"note", "warning", "error"};
    return LEVELS[tp_shown_severity(r, f)];
}

static json *rule(tp_arena *a, const tp_finding *f)
{
    const tp_rule *known = tp_rule_find(tp_str_c(f->rule));
    json *o = json_object_new_object(), *properties = json_object_new_object(), *tags = json_object_new_array();
    json_object_object_add(o, "id", json_object_new_string(f->rule));
    json_object_object_add(o, "name", json_object_new_string(f->slug));
    json_object_object_add(o, "shortDescription", message(tp_str_c(tp_rule_title(f))));
    json_object_object_add(o, "fullDescription", message(tp_str_c(known ? known->why : tp_rule_title(f))));
    tp_str help =
        known ? tp_printf(a, "%s\n\nBad: %s\nGood: %s\nJAX: %s", known->why, known->bad, known->good, known->jax)
              : tp_str_c(tp_rule_title(f));
    tp_str markdown = known ? tp_printf(a, "%s\n\nBad:\n```\n%s\n```\nGood:\n```\n%s\n```\nJAX: %s", known->why,
                                        known->bad, known->good, known->jax)
                            : help;
    json *h = message(help);
    json_object_object_add(h, "markdown", tp_jsonc_string(markdown));
    json_object_object_add(o, "help", h);
    json_object_array_add(tags, json_object_new_string("tiled-kernels"));
    json_object_object_add(properties, "tags", tags);
    json_object_object_add(properties, "precision", json_object_new_string("very-high"));
    json_object_object_add(o, "properties", properties);
    return o;
}

/* SARIF's words for a verdict. */
static const char *kind(const tp_finding *f)
{
    switch (f->verdict) {
    case TP_PROVEN: return "pass";
    case TP_UNKNOWN: return "open";
    case TP_NOT_APPLICABLE: return "notApplicable";
    case TP_ASSUMED:
    case TP_ADVICE: return "informational";
    case TP_VIOLATED:
    case TP_VACUOUS:
    case TP_VERDICTS: break;
    }
    return "fail";
}

static json *fixes(tp_arena *a, const tp_spec_report *s, const tp_fix *f)
{
    json *list = json_object_new_array(), *o = json_object_new_object(), *changes = json_object_new_array(),
         *change = json_object_new_object(), *replacements = json_object_new_array();
    for (uint32_t i = 0; i < f->edits.len; i++) {
        const tp_edit *e = &f->edits.at[i];
        json *r = json_object_new_object(), *region = json_object_new_object(), *content = json_object_new_object();
        json_object_object_add(region, "byteOffset", json_object_new_int64(e->start));
        json_object_object_add(region, "byteLength", json_object_new_int64(e->end - e->start));
        json_object_object_add(content, "text", tp_jsonc_string(e->text));
        json_object_object_add(r, "deletedRegion", region);
        json_object_object_add(r, "insertedContent", content);
        json_object_array_add(replacements, r);
    }
    json_object_object_add(change, "artifactLocation", artifact(a, s->source->path));
    json_object_object_add(change, "replacements", replacements);
    json_object_array_add(changes, change);
    json_object_object_add(o, "description", message(f->title));
    json_object_object_add(o, "artifactChanges", changes);
    json_object_array_add(list, o);
    return list;
}

static json *result(const tp_report *r, tp_arena *a, const tp_spec_report *s, const tp_finding *f, uint32_t index,
                    bool full)
{
    json *o = json_object_new_object(), *places = json_object_new_array(), *prints = json_object_new_object();
    const char *word = full ? kind(f) : "fail";
    bool fails = strcmp(word, "fail") == 0;
    json_object_object_add(o, "ruleId", json_object_new_string(f->rule));
    json_object_object_add(o, "ruleIndex", json_object_new_int64(index));
    json_object_object_add(o, "kind", json_object_new_string(word));
    json_object_object_add(o, "level", json_object_new_string(fails ? level(r, f) : "none"));
    tp_str story = tp_finding_story(a, f);
    if (!full && f->verdict == TP_UNKNOWN)
        story = tp_printf(a, "not decided: %.*s", TP_FMT(story));
    json_object_object_add(o, "message", message(story));
    json_object_array_add(places, location(a, s, f));
    json_object_object_add(o, "locations", places);
    json_object_object_add(prints, "primaryLocationLineHash", tp_jsonc_string(tp_fingerprint(a, s, f)));
    json_object_object_add(prints, "tileproof/v1", tp_jsonc_string(tp_fingerprint(a, s, f)));
    json_object_object_add(o, "partialFingerprints", prints);
    if (!full)
        return o;
    if (f->suppressed) {
        json *list = json_object_new_array(), *one = json_object_new_object();
        json_object_object_add(one, "kind", json_object_new_string("inSource"));
        json_object_object_add(one, "status", json_object_new_string("accepted"));
        json_object_object_add(one, "justification", tp_jsonc_string(tp_visible(a, f->suppress_reason)));
        json_object_array_add(list, one);
        json_object_object_add(o, "suppressions", list);
    }
    if (f->fix)
        json_object_object_add(o, "fixes", fixes(a, s, f->fix));
    json_object_object_add(o, "properties", tp_finding_json(s->source, f));
    return o;
}

static json *driver(json *rules)
{
    json *tool = json_object_new_object(), *o = json_object_new_object();
    json_object_object_add(o, "name", json_object_new_string("tileproof"));
    json_object_object_add(o, "semanticVersion", json_object_new_string(TP_VERSION));
    json_object_object_add(o, "rules", rules);
    json_object_object_add(tool, "driver", o);
    return tool;
}

static json *file_of(tp_arena *a, const tp_spec_report *s)
{
    json *o = json_object_new_object(), *hashes = json_object_new_object();
    json_object_object_add(o, "location", artifact(a, s->source->path));
    if (s->sha256.n) {
        json_object_object_add(hashes, "sha-256", tp_jsonc_string(s->sha256));
        json_object_object_add(o, "hashes", hashes);
    } else {
        json_object_put(hashes);
    }
    return o;
}

/* The rules that results name, each once. */
typedef struct named {
    tp_map numbers; /* from 1 */
    json *rules;
} named;

static named *named_in(tp_writing *w)
{
    if (!w->state) {
        named *n = w->state = TP_NEW(w->arena, named);
        n->rules = json_object_new_array();
    }
    return w->state;
}

enum { RESULTS, ARTIFACTS, LEVEL = 4 };

void tp_sarif_spec(tp_writing *w, const tp_spec_report *s, bool full, tp_arena *a)
{
    named *known = named_in(w);
    for (uint32_t k = 0; k < s->findings.len; k++) {
        const tp_finding *f = &s->findings.at[k];
        if (!full && !tp_is_shown(w->r, f))
            continue;
        uint32_t number = tp_map_get(&known->numbers, tp_str_c(f->rule));
        if (!number) {
            json_object_array_add(known->rules, rule(a, f));
            number = (uint32_t)json_object_array_length(known->rules);
            tp_map_set(w->arena, &known->numbers, tp_str_c(f->rule), number);
        }
        tp_add_element(w, RESULTS, result(w->r, a, s, f, number - 1, full), LEVEL, a);
    }
    if (full)
        tp_add_element(w, ARTIFACTS, file_of(a, s), LEVEL, a);
}

void tp_sarif_end(tp_writing *w, bool full, FILE *out)
{
    tp_arena *a = tp_arena_child(w->arena);
    tp_put_member(out, "{", "$schema", json_object_new_string("https://json.schemastore.org/sarif-2.1.0.json"), 1, a);
    tp_put_member(out, ",", "version", json_object_new_string("2.1.0"), 1, a);
    fputs(",\n  \"runs\":[\n    {", out);
    tp_put_member(out, "", "tool", driver(named_in(w)->rules), 3, a);
    if (full) {
        fputs(",\n      \"artifacts\":[", out);
        tp_copy_list(w, ARTIFACTS, ARTIFACTS, LEVEL, out);
        fputs("]", out);
    }
    tp_put_member(out, ",", "columnKind", json_object_new_string("unicodeCodePoints"), 3, a);
    fputs(",\n      \"results\":[", out);
    tp_copy_list(w, RESULTS, RESULTS, LEVEL, out);
    fputs("]\n    }\n  ]\n}\n", out);
    tp_arena_free(a);
}
