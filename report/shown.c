#include <stdlib.h>

#include "base/digest.h"
#include "report/report.h"
#include "spec/facts.h"
#include "spec/range.h"

bool tp_is_shown(const tp_report *r, const tp_finding *f)
{
    return !f->suppressed && !tp_verdict_settled(f->verdict) &&
           (f->verdict != TP_UNKNOWN || r->unknown != TP_UNKNOWN_IGNORE);
}

tp_severity tp_shown_severity(const tp_report *r, const tp_finding *f)
{
    if (f->verdict == TP_UNKNOWN)
        return r->unknown == TP_UNKNOWN_FAIL ? TP_ERROR : TP_WARNING;
    return f->severity;
}

enum { RANKS = 4 };

/* Causes come before what follows from them. */
static int rank_of(const tp_finding *f)
{
    switch (f->verdict) {
    case TP_ADVICE: return 3;
    case TP_UNKNOWN:
    case TP_ASSUMED: return 2;
    case TP_VIOLATED:
    case TP_VACUOUS:
    case TP_PROVEN:
    case TP_NOT_APPLICABLE:
    case TP_VERDICTS: break;
    }
    return f->follows;
}

const tp_shown_finding *tp_shown_findings(tp_arena *a, const tp_report *r, const tp_spec_report *s, uint32_t *n)
{
    TP_VEC(tp_shown_finding) all = {0};
    for (int rank = 0; rank < RANKS; rank++)
        for (uint32_t k = 0; k < s->findings.len; k++)
            if (rank_of(&s->findings.at[k]) == rank && tp_is_shown(r, &s->findings.at[k]))
                tp_push(a, all, ((tp_shown_finding){s, &s->findings.at[k], tp_shown_severity(r, &s->findings.at[k])}));
    *n = all.len;
    return all.at;
}

bool tp_inside_character(tp_str text, size_t at)
{
    return at < text.n && ((unsigned char)text.p[at] & 0xc0) == 0x80;
}

tp_excerpt tp_excerpt_of(const tp_source *s, const tp_finding *f, size_t width)
{
    enum { BEFORE = 40, ROOM = 30 };
    tp_str line = tp_line_of(s, f->loc.start);
    size_t column = s->text.n ? (size_t)(s->text.p + f->loc.start - line.p) : 0, from = 0,
           length = f->loc.end > f->loc.start ? f->loc.end - f->loc.start : 0;
    column = column < line.n ? column : line.n;
    if (column > width - ROOM)
        for (from = column - BEFORE; from < column && tp_inside_character(line, from);)
            from++;
    size_t shown = line.n - from < width ? line.n - from : width;
    for (int back = 0; back < 3 && shown && tp_inside_character(line, from + shown);
         back++) /* no character is longer */
        shown--;
    size_t start = column - from < shown ? column - from : shown, end = length < shown - start ? start + length : shown;
    return (tp_excerpt){{line.p + from, shown}, start, end, from > 0, from + shown < line.n};
}

static void say(tp_buf *b, const char *before, tp_str text)
{
    if (text.n)
        tp_buf_printf(b, "%s%.*s", before, TP_FMT(tp_visible(b->arena, text)));
}

tp_str tp_shown_help(const tp_finding *f)
{
    return f->fix && !f->fix->requires.n ? (tp_str){NULL, 0} : f->help;
}

tp_str tp_shown_precondition(tp_arena *a, const tp_finding *f)
{
    if (!f->holds_when.n || (f->fix && tp_str_eq(f->fix->requires, f->holds_when)))
        return (tp_str){NULL, 0};
    return tp_printf(a, "%.*s (re-checked: then proven)", TP_FMT(f->holds_when));
}

tp_str tp_shown_fix(tp_arena *a, const tp_finding *f)
{
    if (!f->fix)
        return (tp_str){NULL, 0};
    return tp_printf(a, "%.*s (all rules re-checked; %s writes it)", TP_FMT(f->fix->title),
                     f->fix->requires.n ? "--fix --unsafe-fixes" : "--fix");
}

tp_str tp_finding_story(tp_arena *a, const tp_finding *f)
{
    tp_buf b = {.arena = a};
    say(&b, "", f->message);
    say(&b, "\nwhy: ", f->verdict == TP_UNKNOWN ? f->reason : (tp_str){NULL, 0});
    if (f->witness) {
        tp_str sizes = tp_witness_text(a, f->witness);
        say(&b, "\nsmallest case: ", sizes.n ? sizes : TP_S("the only one"));
        for (uint32_t i = 0; i < f->witness->step.len; i++)
            tp_buf_printf(&b, "%s%.*s = %lld", i ? ", " : " at step ",
                          TP_FMT(tp_visible(a, f->witness->step.at[i].name)), (long long)f->witness->step.at[i].value);
        if (strcmp(f->witness->replay, "executed") == 0)
            tp_buf_c(&b, " (confirmed by execution)");
        say(&b, "\nthere: ", f->witness->detail);
    }
    say(&b, "\nholds when: ", tp_shown_precondition(a, f));
    say(&b, "\nnote: ", f->note);
    say(&b, "\nhelp: ", tp_shown_help(f));
    say(&b, "\nfix: ", tp_shown_fix(a, f));
    return tp_buf_view(&b);
}

tp_str tp_fingerprint(tp_arena *a, const tp_spec_report *s, const tp_finding *f)
{
    tp_str key = tp_printf(a, "%s\n%.*s\n%.*s\n%.*s", f->rule, TP_FMT(s->name.n ? s->name : s->source->path),
                           TP_FMT(tp_place(a, s, f)), TP_FMT(f->subject));
    return (tp_str){tp_sha256(a, key).p, 32};
}

const char *tp_rule_title(const tp_finding *f)
{
    const tp_rule *rule = tp_rule_find(tp_str_c(f->rule));
    const tp_code *code = tp_code_find(tp_str_c(f->rule));
    return rule ? rule->title : code ? code->title : f->slug;
}

static bool cites_elements(const tp_spec_report *s)
{
    for (uint32_t i = 0; i < s->findings.len; i++)
        if (s->findings.at[i].rests_on.n >= 2 && memcmp(s->findings.at[i].rests_on.p, "F1", 2) == 0) /* sorted */
            return true;
    return s->equality.proven && (s->equality.given & TP_FACT_F1);
}

tp_str tp_domain_text(tp_arena *a, const tp_spec_report *s)
{
    const tp_spec *spec = s->spec;
    const tp_kernel *k = spec->kernels[0];
    tp_buf b = {.arena = a};
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *z = &k->sizes[i];
        const char *sep = b.n ? ", " : "";
        if (z->kind == TP_SIZE_RANGE && z->max == TP_SIZE_MAX)
            tp_buf_printf(&b, "%s%lld <= %.*s <= 2^30", sep, (long long)z->min, TP_FMT(z->name));
        else if (z->kind == TP_SIZE_RANGE)
            tp_buf_printf(&b, "%s%lld <= %.*s <= %lld", sep, (long long)z->min, TP_FMT(z->name), (long long)z->max);
        else if (z->kind == TP_SIZE_CHOICE) {
            tp_buf_printf(&b, "%s%.*s in {", sep, TP_FMT(z->name));
            for (uint32_t c = 0; c < z->nchoices; c++)
                tp_buf_printf(&b, "%s%lld", c ? ", " : "", (long long)z->choices[c]);
            tp_buf_c(&b, "}");
        }
        if (z->kind == TP_SIZE_RANGE && z->multiple_of > 1)
            tp_buf_printf(&b, " (multiple of %lld)", (long long)z->multiple_of);
    }
    for (uint32_t i = 0; i < k->nwhere; i++)
        tp_buf_printf(&b, "%s%.*s", b.n ? ", " : "", TP_FMT(k->where[i].text));
    for (uint32_t i = 0; i < k->ninputs; i++) {
        const tp_operand *o = &k->operands[i];
        tp_str said = o->array >= 0
                          ? tp_printf(a, "the array of %.*s is %.*s", TP_FMT(o->name), TP_FMT(tp_array_name(k, i)))
                          : tp_range_text(a, k, o);
        tp_buf_printf(&b, "%s%.*s", b.n && said.n ? ", " : "", TP_FMT(said));
    }
    tp_implicit_facts facts;
    tp_implicit_facts_of(a, k, &facts);
    for (uint32_t i = 0; i < facts.len; i++)
        if (facts.at[i].id == TP_FACT_F2)
            tp_buf_printf(&b, "%s%.*s (F2)", b.n ? ", " : "", TP_FMT(tp_expr_text(k->exprs, facts.at[i].says)));
    if (cites_elements(s))
        tp_buf_printf(&b, "%s%s (F1)", b.n ? ", " : "", tp_fact_text(TP_FACT_F1));
    for (uint32_t c = 0; c < spec->nkernels && spec->nkernels > 1; c++)
        tp_buf_printf(&b, "%s%.*s", c ? " or " : b.n ? ", " : "", TP_FMT(tp_dtypes_text(spec->kernels[c])));
    return b.n ? tp_buf_view(&b) : TP_S("(one shape)");
}

tp_str tp_domain_but(const tp_spec_report *s)
{
    for (uint32_t i = 0; i < s->findings.len; i++)
        if (strcmp(s->findings.at[i].rule, TP_RULE_EMPTY_DOMAIN) == 0 && s->findings.at[i].verdict == TP_PROVEN &&
            s->findings.at[i].note.n)
            return s->findings.at[i].note;
    return (tp_str){NULL, 0};
}

tp_str tp_box_share_text(tp_arena *a, const tp_equiv *e)
{
    const char *box = e->box_constants.n ? "part of a box" : "box";
    if (!e->box.equal)
        return TP_S("");
    if (e->box.equal == e->box_shapes)
        return tp_printf(a, "all %u of a %s", e->box.equal, box);
    return tp_printf(a, "%u of the %llu of a %s", e->box.equal, (unsigned long long)e->box_shapes, box);
}

tp_str tp_opinion_text(tp_arena *a, const tp_opinion *o)
{
    tp_buf b = {.arena = a};
    tp_buf_printf(&b, "%u equal", o->equal);
    if (o->reached.n)
        tp_buf_printf(&b, " at sizes up to %.*s", TP_FMT(o->reached));
    if (o->close)
        tp_buf_printf(&b, ", %u within rounding", o->close);
    tp_buf_printf(&b, " (seed %llu)", (unsigned long long)o->seed);
    if (o->not_reached)
        tp_buf_printf(&b, "; %u not reached (%.*s)", o->not_reached, TP_FMT(o->far));
    else if (!o->equal && o->far.n)
        tp_buf_printf(&b, " (%.*s)", TP_FMT(o->far));
    if (o->left_out)
        tp_buf_printf(&b, "; %u places left out, from %.*s on", o->left_out, TP_FMT(o->left_out_at));
    if (o->numbers_left_out)
        tp_buf_printf(&b, "; %u constants left out", o->numbers_left_out);
    return tp_buf_view(&b);
}
