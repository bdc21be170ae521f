/* What a report amounts to. */
#include "cost/text.h"
#include "report/report.h"

bool tp_is_open(const tp_finding *f)
{
    return f->verdict == TP_VIOLATED || f->verdict == TP_UNKNOWN || f->verdict == TP_VACUOUS;
}

bool tp_is_standing(const tp_finding *f)
{
    return tp_is_open(f) && !f->suppressed;
}

bool tp_is_internal(const tp_finding *f)
{
    return strcmp(f->rule, TP_RULE_DISAGREEMENT) == 0;
}

tp_counts tp_count(const tp_spec_report *s)
{
    tp_counts c = {0};
    if (s->counted)
        return *s->counted;
    for (uint32_t i = 0; i < s->findings.len; i++) {
        const tp_finding *f = &s->findings.at[i];
        c.suppressed += f->suppressed;
        if (f->suppressed)
            continue;
        c.proven += f->verdict == TP_PROVEN;
        c.violated += f->verdict == TP_VIOLATED && f->severity == TP_ERROR;
        c.stale += f->verdict == TP_VIOLATED && f->severity != TP_ERROR;
        c.unknown += f->verdict == TP_UNKNOWN;
        c.vacuous += f->verdict == TP_VACUOUS;
        c.advice += f->verdict == TP_ADVICE;
        c.assumed += f->verdict == TP_ASSUMED;
    }
    c.tested = s->equiv ? s->equiv->equal : 0;
    return c;
}

bool tp_is_clean(const tp_spec_report *s)
{
    tp_counts c = tp_count(s);
    return s->valid && c.violated + c.vacuous + c.unknown + c.stale == 0;
}

int tp_report_exit_code(const tp_report *r)
{
    bool internal = false, input = false;
    tp_counts all = {0};
    for (uint32_t i = 0; i < r->specs.len; i++) {
        const tp_spec_report *s = &r->specs.at[i];
        tp_counts c = s->valid ? tp_count(s) : (tp_counts){0};
        internal |= s->internal_error;
        input |= !s->valid;
        all.unknown += c.unknown;
        all.violated += c.violated + c.vacuous;
        all.stale += c.stale;
    }
    if (internal)
        return TP_EXIT_INTERNAL;
    if (input)
        return TP_EXIT_INPUT;
    if (r->fail_on == TP_FAIL_NEVER)
        return TP_EXIT_OK;
    if (all.violated || (all.stale && r->fail_on == TP_FAIL_ON_WARNING))
        return TP_EXIT_VIOLATED;
    return all.unknown && r->unknown == TP_UNKNOWN_FAIL ? TP_EXIT_UNKNOWN : TP_EXIT_OK;
}

static void bindings(tp_buf *b, const tp_binding *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        tp_buf_printf(b, "%s%.*s = %lld", b->n ? ", " : "", TP_FMT(at[i].name), (long long)at[i].value);
}

tp_str tp_witness_text(tp_arena *a, const tp_witness *w)
{
    tp_buf b = {.arena = a};
    bindings(&b, w->sizes.at, w->sizes.len);
    if (w->dtypes.n)
        tp_buf_printf(&b, "%s%.*s", b.n ? ", " : "", TP_FMT(w->dtypes));
    return tp_buf_view(&b);
}

tp_str tp_case_text(tp_arena *a, const tp_case *c)
{
    tp_str sizes = tp_sizes_text(a, c->kernel, c->env), dtypes = tp_dtypes_text(c->kernel);
    return tp_printf(a, "%.*s%s%.*s", TP_FMT(sizes), sizes.n && dtypes.n ? ", " : "", TP_FMT(dtypes));
}

tp_str tp_case_phrase(tp_arena *a, const tp_case *c)
{
    tp_str text = tp_case_text(a, c);
    return text.n ? tp_printf(a, "case %.*s", TP_FMT(text)) : TP_S("the only case");
}
