#include "cli/assess.h"

#include "base/jsonc.h"
#include "base/processors.h"
#include "base/version.h"
#include "cost/text.h"

static const char *advice_name(tp_advice a)
{
    switch (a) {
    case TP_KEEP: return "keep";
    case TP_EXPERIMENTAL: return "experimental";
    case TP_DROP: return "drop";
    }
    return "";
}

/* ---- the decision ---- */

static void hold(tp_assessment *x, tp_advice least, tp_str reason)
{
    x->advice = least > x->advice ? least : x->advice;
    tp_push(x->arena, x->reasons, reason);
}

static const tp_finding *first_of(const tp_assessment *x, tp_verdict v)
{
    for (uint32_t i = 0; i < x->report->findings.len; i++) {
        const tp_finding *f = &x->report->findings.at[i];
        if (f->verdict == v && !f->suppressed)
            return f;
    }
    return NULL;
}

static void judge_evidence(tp_assessment *x)
{
    const tp_finding *violated = first_of(x, TP_VIOLATED), *unknown = first_of(x, TP_UNKNOWN);
    if (violated || x->counts.violated || x->counts.vacuous)
        hold(x, TP_DROP,
             violated ? tp_printf(x->arena, "%s is violated: %.*s", violated->rule, TP_FMT(violated->message))
                      : TP_S("a rule is violated"));
    if (unknown || x->counts.unknown)
        hold(x, TP_EXPERIMENTAL,
             unknown ? tp_printf(x->arena, "%s is unknown: %.*s", unknown->rule, TP_FMT(unknown->message))
                     : TP_S("a rule is unknown"));
    if (x->counts.suppressed)
        hold(x, TP_EXPERIMENTAL, tp_printf(x->arena, "%u findings are suppressed", x->counts.suppressed));
    if (!x->report->equiv || !x->report->equiv->cases.len)
        hold(x, TP_EXPERIMENTAL, TP_S("nothing was compared: the spec has no reference, or no case could be executed"));
    else if (!x->report->equality.proven)
        hold(x, TP_EXPERIMENTAL,
             tp_printf(x->arena, "equality is tested, not proven for all sizes: %.*s",
                       TP_FMT(x->report->equality.reason)));
    if (x->open.n)
        hold(x, TP_EXPERIMENTAL, tp_printf(x->arena, "without a verdict: %.*s", TP_FMT(x->open)));
}

/* The one with the least gain, or that is not known. */
static const tp_kernel_assessment *worst_of(const tp_assessment *x)
{
    const tp_kernel_assessment *worst = NULL;
    for (uint32_t i = 0; i < x->at.len; i++) {
        const tp_kernel_assessment *c = &x->at.at[i];
        if (!c->known)
            return c;
        worst = !worst || c->gain < worst->gain ? c : worst;
    }
    return worst;
}

/* What keeps the gain down, in words. */
static tp_str cause_of(tp_arena *a, const tp_kernel_assessment *c)
{
    enum { LARGE_SHARE = 4, MANY_TIMES = 2 };
    if (c->bound == TP_BOUND_MEMORY && c->moved > MANY_TIMES * c->once)
        return tp_printf(a,
                         ": it moves %.3g times the bytes of its arrays; larger blocks, or another order of axes, "
                         "move less",
                         c->moved / c->once);
    if (c->issue * LARGE_SHARE > c->seconds)
        return tp_printf(a, ": its %lld steps take %.0f %% of the time to issue; larger blocks need fewer",
                         (long long)c->steps, 100 * c->issue / c->seconds);
    if (c->baseline.operations <= 1)
        return TP_S(": the reference is one operation, and there is nothing to fuse");
    if (c->bound == TP_BOUND_COMPUTE)
        return TP_S(": its products take most of the time, and take as long in the reference");
    return TP_S("");
}

static void judge_gain(tp_assessment *x)
{
    const tp_kernel_assessment *worst = worst_of(x);
    double best = 0;
    if (!worst || !worst->known) {
        hold(x, TP_EXPERIMENTAL,
             tp_printf(x->arena, "the model does not know: %.*s", TP_FMT(worst ? worst->why : TP_S("no sizes"))));
        return;
    }
    for (uint32_t i = 0; i < x->at.len; i++)
        best = x->at.at[i].gain > best ? x->at.at[i].gain : best;
    if (worst->gain >= x->least_gain)
        return;
    tp_str where = x->at.len > 1 ? tp_printf(x->arena, " at %.*s", TP_FMT(worst->text)) : TP_S("");
    if (worst->gain < 1)
        hold(x, best < 1 ? TP_DROP : TP_EXPERIMENTAL,
             tp_printf(x->arena, "slower than its reference in the model%.*s, a gain of %.3g%.*s", TP_FMT(where),
                       worst->gain, TP_FMT(cause_of(x->arena, worst))));
    else
        hold(x, TP_EXPERIMENTAL,
             tp_printf(x->arena, "a gain of %.3g in the model%.*s, below %.3g%.*s", worst->gain, TP_FMT(where),
                       x->least_gain, TP_FMT(cause_of(x->arena, worst))));
}

void tp_assess(tp_assessment *x)
{
    x->advice = TP_KEEP;
    judge_evidence(x);
    judge_gain(x);
}

/* ---- for people ---- */

static void add_line(tp_buf *b, const char *label, tp_str text)
{
    tp_buf_printf(b, "  %-11s  %.*s\n", label, TP_FMT(tp_visible_line(b->arena, text)));
}

/* What took the time there, and what did not take part. */
static void add_here(tp_buf *b, const tp_measured *m)
{
    tp_arena *a = b->arena;
    if (!m->runs)
        return;
    if (!m->known) {
        add_line(b, "  here", tp_printf(a, "not measured: %.*s", TP_FMT(m->why)));
        return;
    }
    add_line(b, "  here",
             tp_printf(a, "at %.*s%s, the least of %u, which decides nothing:", TP_FMT(m->text),
                       m->tables ? ", tables by chance" : "", m->runs));
    add_line(b, "    kernel",
             tp_printf(a, "%.*s: machine, %s, %s for exp, %u thread%s", TP_FMT(tp_seconds_text(a, m->seconds)),
                       m->instruction_set, m->elementary, m->threads, m->threads == 1 ? "" : "s"));
    add_line(b, "    reference",
             tp_printf(a, "%.*s: evaluator, float64, 1 thread", TP_FMT(tp_seconds_text(a, m->reference_seconds))));
}

static void add_model(tp_buf *b, const tp_kernel_assessment *c)
{
    tp_arena *a = b->arena;
    tp_buf_printf(b, "  at %.*s\n", TP_FMT(tp_visible_line(a, c->text)));
    if (!c->known) {
        add_line(b, "  model", tp_printf(a, "unknown: %.*s", TP_FMT(c->why)));
        return;
    }
    add_line(b, "  kernel",
             tp_printf(a, "%.*s: %lld steps, %.*s moved", TP_FMT(tp_seconds_text(a, c->seconds)), (long long)c->steps,
                       TP_FMT(tp_bytes_text(a, (int64_t)c->moved))));
    add_line(b, "  reference",
             tp_printf(a, "%.*s: %u operation%s, %.*s moved", TP_FMT(tp_seconds_text(a, c->baseline.seconds)),
                       c->baseline.operations, c->baseline.operations == 1 ? "" : "s",
                       TP_FMT(tp_bytes_text(a, c->baseline.bytes))));
    add_line(b, "  gain", tp_printf(a, "%.3g", c->gain));
}

static void add_assessed(tp_buf *b, const tp_kernel_assessment *c)
{
    add_model(b, c);
    add_here(b, &c->here);
}

static tp_str equality_text(const tp_assessment *x)
{
    const tp_equiv *e = x->report->equiv;
    const char *shown = x->report->equality.proven ? "proven over the reals, for all sizes; " : "";
    return e && e->cases.len ? tp_printf(x->arena, "%s%u of %u cases agree", shown, e->equal, e->cases.len)
                             : TP_S("not compared");
}

tp_str tp_assessment_text(const tp_assessment *x)
{
    tp_buf b = {.arena = x->arena};
    tp_buf_printf(&b, "%.*s, %.*s: %s\n", TP_FMT(tp_visible_line(x->arena, x->report->name)),
                  TP_FMT(tp_visible_line(x->arena, x->report->spec->kernels[0]->target.name)), advice_name(x->advice));
    for (uint32_t i = 0; i < x->reasons.len; i++)
        add_line(&b, i ? "" : "because", x->reasons.at[i]);
    add_line(&b, "rules",
             tp_printf(x->arena, "%u proven, %u violated, %u unknown", x->counts.proven, x->counts.violated,
                       x->counts.unknown));
    add_line(&b, "equality", equality_text(x));
    for (uint32_t i = 0; i < x->at.len; i++)
        add_assessed(&b, &x->at.at[i]);
    tp_buf_c(&b, "Times are a model, per core. Of the reference, products, reductions and running sums are operations\n"
                 "of their own, and elementwise ones are fused with them; docs/COST.md says what is left out.\n");
    return tp_buf_view(&b);
}

/* ---- for programs ---- */

typedef struct json_object object;

static object *number(double v)
{
    char text[32];
    snprintf(text, sizeof text, "%.9g", v);
    return json_object_new_double_s(v, text);
}

static object *sizes_of(tp_arena *a, const tp_kernel *k, const int64_t *env)
{
    object *o = json_object_new_object();
    for (uint32_t i = 0; i < k->nsizes && env; i++)
        if (tp_is_open_size(&k->sizes[i]))
            json_object_object_add(o, tp_cstr(a, k->sizes[i].name), json_object_new_int64(env[k->sizes[i].sym]));
    return o;
}

/* What this machine or this build could not take part with. */
static object *fallbacks_of(const tp_measured *m)
{
    object *o = json_object_new_array();
    if (m && strcmp(m->instruction_set, "portable") == 0)
        json_object_array_add(o, json_object_new_string("portable code instead of vector instructions"));
    if (m && strcmp(m->elementary, "libm") == 0)
        json_object_array_add(o, json_object_new_string("the C library's exp instead of vectors of it"));
    if (m && m->threads == 1 && tp_processors() > 1)
        json_object_array_add(o, json_object_new_string("no leading parallel axis has enough for more threads"));
    return o;
}

static object *path_of(const char *engine, const tp_measured *m, uint32_t threads, double seconds)
{
    object *o = json_object_new_object();
    json_object_object_add(o, "engine", json_object_new_string(engine));
    json_object_object_add(o, "instruction_set", m ? json_object_new_string(m->instruction_set) : NULL);
    json_object_object_add(o, "elementary_functions", m ? json_object_new_string(m->elementary) : NULL);
    json_object_object_add(o, "threads", json_object_new_int64(threads));
    json_object_object_add(o, "fallbacks", fallbacks_of(m));
    json_object_object_add(o, "seconds", number(seconds));
    return o;
}

static object *here_of(tp_arena *a, const tp_kernel *k, const tp_measured *m)
{
    object *o = json_object_new_object();
    json_object_object_add(o, "decides", json_object_new_boolean(false));
    json_object_object_add(o, "runs", json_object_new_int64(m->runs));
    if (!m->known) {
        json_object_object_add(o, "unknown", tp_jsonc_string(m->why));
        return o;
    }
    json_object_object_add(o, "sizes", sizes_of(a, k, m->env));
    json_object_object_add(o, "tables_chosen", json_object_new_boolean(m->tables));
    json_object_object_add(o, "kernel", path_of("machine", m, m->threads, m->seconds));
    json_object_object_add(o, "reference", path_of("evaluator", NULL, 1, m->reference_seconds));
    return o;
}

static object *json_of(tp_arena *a, const tp_kernel_assessment *c)
{
    object *o = json_object_new_object(), *dtypes = json_object_new_object();
    const tp_kernel *k = c->kernel;
    for (uint32_t d = 0; d < k->ndtypes; d++)
        json_object_object_add(dtypes, tp_cstr(a, k->dtypes[d].name),
                               json_object_new_string(tp_dtype_info(k->dtypes[d].choice)->name));
    json_object_object_add(o, "sizes", sizes_of(a, k, c->env));
    json_object_object_add(o, "dtypes", dtypes);
    if (c->here.runs)
        json_object_object_add(o, "here", here_of(a, k, &c->here));
    if (!c->known) {
        json_object_object_add(o, "unknown", tp_jsonc_string(c->why));
        return o;
    }
    json_object_object_add(o, "kernel_seconds", number(c->seconds));
    json_object_object_add(o, "issue_seconds", number(c->issue));
    json_object_object_add(o, "steps", json_object_new_int64(c->steps));
    json_object_object_add(o, "reference_seconds", number(c->baseline.seconds));
    json_object_object_add(o, "reference_operations", json_object_new_int64(c->baseline.operations));
    json_object_object_add(o, "reference_bytes", json_object_new_int64(c->baseline.bytes));
    json_object_object_add(o, "gain", number(c->gain));
    return o;
}

tp_str tp_assessment_json(const tp_assessment *x)
{
    object *doc = json_object_new_object(), *reasons = json_object_new_array(), *at = json_object_new_array(),
           *rules = json_object_new_object(), *equality = json_object_new_object();
    const tp_equiv *e = x->report->equiv;
    json_object_object_add(doc, "tileproof_assessment", json_object_new_int(TP_ASSESSMENT_VERSION));
    json_object_object_add(doc, "tool", json_object_new_string("tileproof " TP_VERSION));
    json_object_object_add(doc, "path", tp_jsonc_string(x->report->source->path));
    json_object_object_add(doc, "name", tp_jsonc_string(x->report->name));
    json_object_object_add(doc, "target", tp_jsonc_string(x->report->spec->kernels[0]->target.name));
    json_object_object_add(doc, "advice", json_object_new_string(advice_name(x->advice)));
    for (uint32_t i = 0; i < x->reasons.len; i++)
        json_object_array_add(reasons, tp_jsonc_string(x->reasons.at[i]));
    json_object_object_add(doc, "reasons", reasons);
    json_object_object_add(doc, "least_gain", number(x->least_gain));
    json_object_object_add(rules, "proven", json_object_new_int64(x->counts.proven));
    json_object_object_add(rules, "violated", json_object_new_int64(x->counts.violated));
    json_object_object_add(rules, "unknown", json_object_new_int64(x->counts.unknown));
    json_object_object_add(rules, "suppressed", json_object_new_int64(x->counts.suppressed));
    json_object_object_add(doc, "rules", rules);
    json_object_object_add(equality, "proven", json_object_new_boolean(x->report->equality.proven));
    json_object_object_add(equality, "cases", json_object_new_int64(e ? e->cases.len : 0));
    json_object_object_add(equality, "equal", json_object_new_int64(e ? e->equal : 0));
    json_object_object_add(equality, "without_verdict", x->open.n ? tp_jsonc_string(x->open) : NULL);
    json_object_object_add(doc, "equality", equality);
    for (uint32_t i = 0; i < x->at.len; i++)
        json_object_array_add(at, json_of(x->arena, &x->at.at[i]));
    json_object_object_add(doc, "at", at);
    tp_str text = tp_printf(x->arena, "%.*s\n", TP_FMT(tp_jsonc_text(x->arena, doc, TP_JSONC_SPACED)));
    json_object_put(doc);
    return text;
}
