#include "kernels/receipt.h"

#include "base/digest.h"
#include "base/jsonc.h"
#include "spec/format.h"
#include "spec/scope.h"

static const char ALGORITHM[] = "ed25519";

tp_str tp_spec_digest(tp_ctx *c, const tp_spec *s)
{
    tp_buf b = {.arena = c->arena};
    tp_spec_format(c, s->doc, &b);
    return tp_sha256(c->arena, tp_buf_view(&b));
}

/* A part of the text without its layout; '/' as "\/". */
static void add_plainly(tp_buf *b, const char *p, size_t n)
{
    bool in_string = false;
    for (size_t i = 0; i < n; i++) {
        bool escape = in_string && p[i] == '\\', blank = strchr(" \t\r\n", p[i]) != NULL;
        if (in_string && p[i] == '/')
            tp_buf_c(b, "\\");
        if (in_string || !blank)
            tp_buf_add(b, p + i, escape ? 2 : 1);
        if (p[i] == '"')
            in_string = !in_string;
        i += escape;
    }
}

/* The body in its canonical form, which digest and signature are of: layout does not matter, order does. */
static tp_str canonical(tp_ctx *c, const tp_json *doc)
{
    tp_buf b = {.arena = c->arena};
    const char *text = c->source->text.p;
    for (uint32_t i = 0; i < doc->u.items.n; i++) {
        const tp_json *m = doc->u.items.at[i];
        if (tp_str_is(m->key, "digest") || tp_str_is(m->key, "signature"))
            continue;
        tp_buf_c(&b, b.n ? "," : "{");
        add_plainly(&b, text + m->key_loc.start, m->key_loc.end - m->key_loc.start);
        tp_buf_c(&b, ":");
        add_plainly(&b, text + m->loc.start, m->loc.end - m->loc.start);
    }
    tp_buf_c(&b, b.n ? "}" : "{}");
    return tp_buf_view(&b);
}

tp_str tp_receipt_sign(tp_arena *a, tp_str canonical_form)
{
    return tp_printf(a, "tileproof receipt %d\n%.*s", TP_RECEIPT_VERSION, TP_FMT(canonical_form));
}

tp_str tp_receipt_text(tp_arena *a, struct json_object *body, const tp_receipt_signer *signer)
{
    tp_str form = tp_jsonc_text(a, body, TP_JSONC_CANONICAL);
    json_object_object_add(body, "digest", tp_jsonc_string(tp_sha256(a, form)));
    if (signer) {
        struct json_object *o = json_object_new_object();
        json_object_object_add(o, "algorithm", json_object_new_string(ALGORITHM));
        json_object_object_add(o, "key", tp_jsonc_string(signer->key));
        json_object_object_add(o, "signature", tp_jsonc_string(signer->sign(signer->ctx, a, tp_receipt_sign(a, form))));
        json_object_object_add(body, "signature", o);
    }
    tp_str text = tp_printf(a, "%.*s\n", TP_FMT(tp_jsonc_text(a, body, TP_JSONC_PRETTY)));
    json_object_put(body);
    return text;
}

static tp_str suppressed_rules(tp_ctx *c, const tp_json *allowed)
{
    tp_buf b = {.arena = c->arena};
    uint32_t n = allowed && allowed->type == TP_J_ARRAY ? allowed->u.items.n : 0;
    tp_str last = {NULL, 0};
    for (uint32_t i = 0; i < n; i++) {
        tp_str rule = tp_member(c, allowed->u.items.at[i], "rule", TP_J_STRING, true)->u.string;
        if (!tp_str_eq(rule, last))
            tp_buf_printf(&b, "%s%.*s", b.n ? ", " : "", TP_FMT(rule));
        last = rule;
    }
    if (n)
        tp_buf_printf(&b, " (%u)", n);
    return tp_buf_view(&b);
}

static tp_str inconclusive(tp_ctx *c, const tp_json *doc)
{
    tp_buf b = {.arena = c->arena};
    const tp_json *equivalence = tp_json_get(doc, "equivalence"),
                  *list = equivalence && equivalence->type == TP_J_OBJECT
                              ? tp_member(c, equivalence, "inconclusive", TP_J_ARRAY, false)
                              : NULL;
    for (uint32_t i = 0; list && i < list->u.items.n; i++) {
        tp_expect_type(c, list->u.items.at[i], TP_J_STRING, "an inconclusive tier");
        tp_buf_printf(&b, "%s%.*s", i ? "; " : "", TP_FMT(list->u.items.at[i]->u.string));
    }
    return tp_buf_view(&b);
}

static void read_signature(tp_ctx *c, const tp_json *doc, tp_receipt *r)
{
    const tp_json *o = tp_member(c, doc, "signature", TP_J_OBJECT, false);
    if (!o)
        return;
    const tp_json *algorithm = tp_member(c, o, "algorithm", TP_J_STRING, true);
    if (!tp_str_is(algorithm->u.string, ALGORITHM))
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, algorithm->loc, "verify again", "signatures by `%.*s` cannot be read here",
                 TP_FMT(algorithm->u.string));
    r->key = tp_member(c, o, "key", TP_J_STRING, true)->u.string;
    r->signature = tp_member(c, o, "signature", TP_J_STRING, true)->u.string;
}

tp_receipt tp_receipt_read(tp_ctx *c)
{
    const tp_json *doc = tp_json_parse(c, false);
    const tp_json *version = doc->type == TP_J_OBJECT ? tp_json_get(doc, "tileproof_receipt") : NULL;
    if (!version || version->type != TP_J_INT)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, doc->loc, "`tileproof verify --receipt FILE SPEC` makes one",
                 "this is not a receipt");
    if (version->u.integer != TP_RECEIPT_VERSION)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, version->loc, "verify again",
                 "receipts of version %lld cannot be read here", (long long)version->u.integer);
    const tp_json *spec = tp_member(c, doc, "spec", TP_J_OBJECT, true),
                  *checked = tp_member(c, doc, "checked", TP_J_OBJECT, true);
    tp_receipt r = {
        .doc = doc,
        .tool = tp_member(c, doc, "tool", TP_J_STRING, true)->u.string,
        .semantics = tp_member(c, doc, "semantics", TP_J_INT, true)->u.integer,
        .target = tp_member(c, doc, "target", TP_J_STRING, true)->u.string,
        .domain = tp_member(c, doc, "domain", TP_J_STRING, true)->u.string,
        .name = tp_member(c, spec, "name", TP_J_STRING, true)->u.string,
        .spec = tp_member(c, spec, "sha256", TP_J_STRING, true)->u.string,
        .proven = tp_member(c, checked, "proven", TP_J_INT, true)->u.integer,
        .cases = tp_member(c, checked, "cases", TP_J_INT, true)->u.integer,
        .inconclusive = inconclusive(c, doc),
    };
    r.canonical = canonical(c, doc);
    read_signature(c, doc, &r);
    r.suppressed = suppressed_rules(c, tp_json_get(doc, "allowed"));
    const tp_json *digest = tp_member(c, doc, "digest", TP_J_STRING, true);
    if (!tp_str_eq(tp_sha256(c->arena, r.canonical), digest->u.string))
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, digest->loc, "verify again",
                 "the receipt was changed after it was written");
    return r;
}

tp_str tp_receipt_refusal(tp_ctx *c, const tp_receipt *r, const tp_spec *s)
{
    tp_arena *a = c->arena;
    const tp_kernel *k = s->kernels[0];
    if (r->semantics != TP_SEMANTICS_VERSION)
        return tp_printf(a, "the receipt was made for another version of the semantics (%lld, here %d): verify again",
                         (long long)r->semantics, TP_SEMANTICS_VERSION);
    if (!tp_str_eq(r->name, s->name))
        return tp_printf(a, "the receipt is for `%.*s`, not for `%.*s`", TP_FMT(r->name), TP_FMT(s->name));
    if (!tp_str_eq(r->spec, tp_spec_digest(c, s)))
        return TP_S("the spec was changed since the receipt was written: verify again");
    if (!tp_str_eq(r->target, k->target.name))
        return tp_printf(a, "the receipt is for %.*s, not for %.*s: verify for that target", TP_FMT(r->target),
                         TP_FMT(k->target.name));
    return (tp_str){NULL, 0};
}
