#include "cli/receipt.h"

#include <stdio.h>

#include "base/file.h"
#include "base/jsonc.h"
#include "cli/signature.h"

typedef struct json_object json;

/* ---- writing ---- */

bool tp_receipt_possible(const tp_cli *c)
{
    const char *partial = c->select.len || c->ignore.len ? "--select and --ignore leave rules out"
                          : c->baseline.len              ? "a baseline hides findings"
                          : c->changed_since.len         ? "--changed-since may leave the spec out"
                                                         : NULL;
    if (c->receipt.len && partial)
        tp_usage_error("--receipt vouches for all rules: %s", partial);
    if (c->sign.len && !c->receipt.len)
        return tp_usage_error("--sign is of a receipt: add --receipt FILE"), false;
    if (c->receipt.len && partial)
        return false;
    tp_signing_key *k = c->sign.len ? tp_signing_key_read(c, "sign", tp_cstr(c->arena, tp_option(&c->sign, ""))) : NULL;
    tp_signing_key_free(k); /* before the work is done: could it sign? */
    return k || !c->sign.len;
}

static json *rules(const tp_spec_report *s)
{
    json *list = json_object_new_array();
    size_t n;
    const tp_rule *const *all = tp_rules(&n);
    for (size_t r = 0; r < n; r++) {
        int64_t by[TP_GRADE_CVC5 + 1] = {0}, proven = 0;
        for (uint32_t i = 0; i < s->findings.len; i++) {
            const tp_finding *f = &s->findings.at[i];
            if (strcmp(f->rule, all[r]->code) != 0 || f->verdict != TP_PROVEN)
                continue;
            proven++;
            by[f->grade]++;
        }
        if (!proven)
            continue;
        json *o = json_object_new_object(), *grades = json_object_new_object();
        json_object_object_add(o, "rule", json_object_new_string(all[r]->code));
        json_object_object_add(o, "proven", json_object_new_int64(proven));
        for (int g = TP_GRADE_CERT; g <= TP_GRADE_CVC5; g++)
            if (by[g])
                json_object_object_add(grades, tp_grade_name((tp_grade)g), json_object_new_int64(by[g]));
        json_object_object_add(o, "grades", grades);
        json_object_array_add(list, o);
    }
    return list;
}

static json *suppressions(tp_arena *a, const tp_spec_report *s)
{
    json *list = json_object_new_array();
    for (uint32_t i = 0; i < s->findings.len; i++) {
        const tp_finding *f = &s->findings.at[i];
        if (!f->suppressed)
            continue;
        json *o = json_object_new_object();
        json_object_object_add(o, "rule", json_object_new_string(f->rule));
        json_object_object_add(o, "place", tp_jsonc_string(tp_place(a, s, f)));
        json_object_object_add(o, "reason", tp_jsonc_string(f->suppress_reason));
        json_object_array_add(list, o);
    }
    return list;
}

static json *equivalence(const tp_spec_report *s)
{
    const tp_equiv *e = s->equiv;
    json *o = json_object_new_object();
    json_object_object_add(o, "rounding", json_object_new_boolean(tp_tier_e1.holds(e)));
    json_object_object_add(o, "bits", json_object_new_boolean(tp_tier_e2.holds(e)));
    json_object_object_add(o, "algebra", json_object_new_boolean(tp_tier_e3.holds(e)));
    json_object_object_add(o, "all_sizes", json_object_new_boolean(s->equality.proven));
    json *open = json_object_new_array();
    tp_open_tiers tiers = tp_tiers_open(s->spec->kernels[0]->arena, e);
    for (uint32_t i = 0; i < tiers.len; i++)
        json_object_array_add(open, tp_jsonc_string(tiers.at[i]));
    json_object_object_add(o, "inconclusive", open);
    return o;
}

static json *contracts(const tp_kernel *k)
{
    json *list = json_object_new_array();
    for (uint32_t i = 0; i < k->ncontracts; i++)
        json_object_array_add(list, tp_jsonc_string(k->contracts[i].text));
    return list;
}

static json *body_of(tp_cli *c, tp_job *j)
{
    const tp_spec_report *s = &j->report;
    tp_counts n = tp_count(s);
    uint32_t certified = 0;
    for (uint32_t i = 0; i < s->findings.len; i++)
        certified += s->findings.at[i].verdict == TP_PROVEN && s->findings.at[i].grade == TP_GRADE_CERT;
    json *o = json_object_new_object(), *spec = json_object_new_object(), *checked = json_object_new_object();
    json_object_object_add(o, "tileproof_receipt", json_object_new_int(TP_RECEIPT_VERSION));
    json_object_object_add(o, "tool", json_object_new_string("tileproof " TP_VERSION));
    json_object_object_add(o, "semantics", json_object_new_int(TP_SEMANTICS_VERSION));
    json_object_object_add(spec, "name", tp_jsonc_string(s->name));
    json_object_object_add(spec, "sha256", tp_jsonc_string(tp_spec_digest(&j->ctx, s->spec)));
    json_object_object_add(o, "spec", spec);
    json_object_object_add(o, "target", tp_jsonc_string(s->spec->kernels[0]->target.name));
    json_object_object_add(o, "domain", tp_jsonc_string(tp_domain_text(c->arena, s)));
    json_object_object_add(checked, "proven", json_object_new_int64(n.proven));
    json_object_object_add(checked, "certified", json_object_new_int64(certified));
    json_object_object_add(checked, "cases", json_object_new_int64(n.tested));
    json_object_object_add(checked, "suppressed", json_object_new_int64(n.suppressed));
    json_object_object_add(o, "checked", checked);
    json_object_object_add(o, "rules", rules(s));
    json_object_object_add(o, "contracts", contracts(s->spec->kernels[0]));
    json_object_object_add(o, "inferred_sizes", json_object_new_boolean(tp_sizes_inferred(s->spec->doc)));
    json_object_object_add(o, "equivalence", equivalence(s));
    json_object_object_add(o, "allowed", suppressions(c->arena, s));
    return o;
}

typedef struct write_call {
    tp_cli *c;
    tp_job *j;
    tp_signing_key *key; /* NULL: nobody signs */
    tp_str text;
} write_call;

static tp_str sign(void *ctx, tp_arena *a, tp_str bytes)
{
    tp_str digits = tp_sign(a, ctx, bytes);
    if (!digits.n)
        tp_leave(a, TP_E_MEMORY);
    return digits;
}

static void make_text(void *arg)
{
    write_call *w = arg;
    tp_receipt_signer signer = {sign, w->key, w->key ? tp_signing_key_public(w->key) : TP_S("")};
    w->text = tp_receipt_text(w->j->arena, body_of(w->c, w->j), w->key ? &signer : NULL);
}

int tp_receipt_write(tp_cli *c, const char *path, const tp_check_run *run)
{
    if (run->njobs != 1)
        return tp_usage_error("no receipt was written: it is of one spec, not of %u", run->njobs);
    tp_job *j = &run->jobs[0];
    tp_report strict = run->report;
    tp_str why = TP_S("out of memory");
    write_call w = {.c = c, .j = j};
    strict.unknown = TP_UNKNOWN_FAIL;
    int code = tp_report_exit_code(&strict);
    const char *problem = code                                 ? "the kernel is not verified"
                          : j->report.spec->kernels[0]->expect ? "the spec expects defects"
                                                               : NULL;
    if (problem) {
        tp_say(stderr, "tileproof: no receipt was written: %s", problem);
        return code ? code : TP_EXIT_VIOLATED;
    }
    if (c->sign.len && !(w.key = tp_signing_key_read(c, "sign", tp_cstr(c->arena, tp_option(&c->sign, "")))))
        return TP_EXIT_USAGE;
    bool made = tp_try(j->arena, make_text, &w) == TP_OK;
    tp_signing_key_free(w.key);
    if (made && tp_write_file(c->arena, path, &w.text, 1, &why) == TP_OK)
        return TP_EXIT_OK;
    tp_say(stderr, "tileproof: --receipt: %.*s", TP_FMT(why));
    return TP_EXIT_INTERNAL;
}

typedef struct digest_call {
    tp_job *j;
    tp_str digest;
} digest_call;

static void digest(void *arg)
{
    digest_call *x = arg;
    x->digest = tp_spec_digest(&x->j->ctx, x->j->report.spec);
}

tp_str tp_job_digest(tp_cli *c, tp_job *j)
{
    digest_call x = {.j = j};
    if (tp_try(j->arena, digest, &x) != TP_OK)
        tp_leave(c->arena, TP_E_MEMORY);
    return x.digest;
}

/* ---- using ---- */

static void read_receipt(tp_ctx *ctx, void *into)
{
    *(tp_receipt *)into = tp_receipt_read(ctx);
}

typedef struct accept_call {
    tp_job *j;
    const tp_receipt *receipt;
    tp_str refusal;
} accept_call;

static void hold_against(void *arg)
{
    accept_call *call = arg;
    call->refusal = tp_receipt_refusal(&call->j->ctx, call->receipt, call->j->report.spec);
}

static int refuse(const char *path, const char *why)
{
    tp_usage_error("%s: %s", path, why);
    return TP_EXIT_INPUT;
}

/* Has somebody signed it who is trusted? *by: their name. */
static int hold_signature(tp_cli *c, const char *path, const tp_receipt *r, tp_str *by)
{
    const char *keys = tp_cstr(c->arena, tp_option(&c->trust, ""));
    int code = tp_trusted_name(c, keys, r->key, by);
    if (code)
        return code;
    if (!r->key.n)
        return refuse(path, "the receipt is not signed, and --trust asks for it: tileproof verify --receipt FILE "
                            "--sign KEY SPEC");
    if (!by->n) {
        tp_usage_error("%s: the receipt is signed by %.*s, which is not a key in `%s`", path, TP_FMT(r->key), keys);
        return TP_EXIT_INPUT;
    }
    bool asked, holds = tp_signature_holds(r->key, tp_receipt_sign(c->arena, r->canonical), r->signature, &asked);
    if (holds)
        return TP_EXIT_OK;
    if (!asked)
        tp_leave(c->arena, TP_E_MEMORY);
    return refuse(path, "the signature does not match the receipt: one of the two was changed");
}

int tp_receipt_accept(tp_cli *c, const char *path, tp_job *j, tp_receipt *out, tp_str *by)
{
    accept_call call = {.j = j, .receipt = out};
    *by = (tp_str){NULL, 0};
    if (!tp_read_own_file(c, "receipt", path, TP_RECEIPT_MAX_BYTES, read_receipt, out))
        return TP_EXIT_INPUT;
    int code = c->trust.len ? hold_signature(c, path, out, by) : TP_EXIT_OK;
    if (code)
        return code;
    if (tp_try(j->arena, hold_against, &call) != TP_OK)
        tp_leave(c->arena, TP_E_MEMORY);
    if (!call.refusal.n)
        return TP_EXIT_OK;
    tp_usage_error("%s: %.*s", path, TP_FMT(tp_visible(c->arena, call.refusal)));
    return TP_EXIT_INPUT;
}
