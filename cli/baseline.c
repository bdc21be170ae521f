/* A baseline: what was found when a project began to use the checker, so that
 * only new findings fail it. Entries name rule, kernel and place, no lines. */
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/jsonc.h"
#include "cli/check.h"
#include "spec/scope.h"

enum { MAX_BYTES = 16 << 20 };

static tp_baseline_entry entry_of(tp_arena *a, const tp_spec_report *s, const tp_finding *f)
{
    return (tp_baseline_entry){tp_str_c(f->rule), s->name, tp_place(a, s, f), f->subject, false, false};
}

static bool same(const tp_baseline_entry *x, const tp_baseline_entry *y)
{
    return tp_str_eq(x->rule, y->rule) && tp_str_eq(x->kernel, y->kernel) && tp_str_eq(x->place, y->place) &&
           tp_str_eq(x->subject, y->subject);
}

/* ---- reading ---- */

static void read_entries(tp_ctx *c, void *into)
{
    static const char *const KEYS[] = {"rule", "kernel", "place", "subject", NULL};
    tp_baseline *b = into;
    const tp_json *doc = tp_json_parse(c, false);
    const tp_json *version = doc->type == TP_J_OBJECT ? tp_json_get(doc, "tileproof_baseline") : NULL;
    if (!version || version->type != TP_J_INT || version->u.integer != 1)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, doc->loc, "`tileproof baseline write` makes one",
                 "this is not a baseline of version 1");
    const tp_json *list = tp_member(c, doc, "findings", TP_J_ARRAY, true);
    for (uint32_t i = 0; i < list->u.items.n; i++) {
        const tp_json *e = list->u.items.at[i];
        tp_str value[4];
        tp_expect_type(c, e, TP_J_OBJECT, "an entry of \"findings\"");
        tp_check_keys(c, e, KEYS, NULL, "an entry of \"findings\"");
        for (int k = 0; KEYS[k]; k++)
            value[k] = tp_member(c, e, KEYS[k], TP_J_STRING, true)->u.string;
        tp_push(c->arena, *b, ((tp_baseline_entry){value[0], value[1], value[2], value[3], false, false}));
    }
}

bool tp_baseline_read(tp_cli *c, const char *path, tp_baseline *b)
{
    return tp_read_own_file(c, "baseline", path, MAX_BYTES, read_entries, b);
}

/* ---- writing ---- */

static void see_version(tp_ctx *c, void *into)
{
    const tp_json *doc = tp_json_parse(c, false);
    *(bool *)into = doc->type == TP_J_OBJECT && tp_json_get(doc, "tileproof_baseline");
}

bool tp_baseline_replaceable(tp_cli *c, const char *path)
{
    struct stat st;
    bool ours = false;
    if (stat(path, &st) != 0 || st.st_size == 0)
        return true;
    if (!tp_read_own_file(c, "baseline", path, MAX_BYTES, see_version, &ours))
        return false;
    if (!ours)
        tp_usage_error("`%s` is not a baseline and is left unchanged: name another file", path);
    return ours;
}

bool tp_baseline_write(tp_cli *c, const char *path, const tp_report *r)
{
    struct json_object *o = json_object_new_object(), *list = json_object_new_array();
    tp_baseline written = {0};
    json_object_object_add(o, "tileproof_baseline", json_object_new_int(1));
    for (uint32_t i = 0; i < r->specs.len; i++)
        for (uint32_t k = 0; k < r->specs.at[i].findings.len; k++) {
            const tp_finding *f = &r->specs.at[i].findings.at[k];
            if (!tp_is_standing(f) || tp_is_internal(f))
                continue;
            tp_baseline_entry e = entry_of(c->arena, &r->specs.at[i], f);
            bool again = false;
            for (uint32_t w = 0; w < written.len && !again; w++)
                again = same(&written.at[w], &e);
            if (again)
                continue;
            tp_push(c->arena, written, e);
            struct json_object *entry = json_object_new_object();
            json_object_object_add(entry, "rule", tp_jsonc_string(e.rule));
            json_object_object_add(entry, "kernel", tp_jsonc_string(e.kernel));
            json_object_object_add(entry, "place", tp_jsonc_string(e.place));
            json_object_object_add(entry, "subject", tp_jsonc_string(e.subject));
            json_object_array_add(list, entry);
        }
    json_object_object_add(o, "findings", list);
    tp_str text = tp_printf(c->arena, "%.*s\n", TP_FMT(tp_jsonc_text(c->arena, o, TP_JSONC_SPACED))), why;
    json_object_put(o);
    bool wrote = tp_write_file(c->arena, path, &text, 1, &why) == TP_OK;
    if (!wrote)
        tp_say(stderr, "tileproof: cannot write the baseline: %.*s", TP_FMT(why));
    else
        tp_say(stdout, "%s: %u finding%s", path, written.len, written.len == 1 ? "" : "s");
    return wrote;
}

/* ---- using ---- */

static const tp_spec_report *spec_named(const tp_report *r, tp_str name)
{
    for (uint32_t i = 0; i < r->specs.len; i++)
        if (r->specs.at[i].valid && tp_str_eq(r->specs.at[i].name, name))
            return &r->specs.at[i];
    return NULL;
}

uint32_t tp_baseline_apply(tp_baseline *b, const tp_check_settings *s, const tp_report *r)
{
    uint32_t stale = 0;
    for (uint32_t i = 0; i < r->specs.len; i++)
        for (uint32_t k = 0; k < r->specs.at[i].findings.len && b->len; k++) {
            tp_finding *f = &r->specs.at[i].findings.at[k];
            if (!tp_is_standing(f) || tp_is_internal(f) || !r->specs.at[i].valid)
                continue;
            tp_baseline_entry e = entry_of(r->arena, &r->specs.at[i], f);
            for (uint32_t n = 0; n < b->len; n++)
                if (same(&b->at[n], &e)) {
                    f->suppressed = b->at[n].used = true;
                    f->suppress_reason = TP_S("in the baseline");
                }
        }
    for (uint32_t n = 0; n < b->len; n++) {
        const tp_spec_report *spec = spec_named(r, b->at[n].kernel);
        b->at[n].stale = !b->at[n].used && spec && tp_looked_for(s, spec, b->at[n].rule);
        stale += b->at[n].stale;
    }
    return stale;
}
