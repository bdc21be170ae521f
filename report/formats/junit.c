/* JUnit XML: a test case per obligation. Proofs are tests that pass. */
#include "report/writing.h"

/* Text of XML 1.0; what it cannot hold was made visible before. */
static void put(FILE *out, tp_str s)
{
    for (size_t i = 0; i < s.n; i++)
        switch (s.p[i]) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\n': fputs("&#10;", out); break;
        default: fputc(s.p[i], out);
        }
}

typedef enum outcome { PASSED, FAILED, SKIPPED, BROKEN } outcome;

static outcome outcome_of(const tp_report *r, const tp_spec_report *s, const tp_finding *f)
{
    if (!s->valid || tp_is_internal(f))
        return BROKEN;
    if (f->suppressed)
        return SKIPPED;
    if (f->verdict == TP_UNKNOWN)
        return r->unknown == TP_UNKNOWN_FAIL ? FAILED : SKIPPED;
    return (f->verdict == TP_VIOLATED || f->verdict == TP_VACUOUS) && f->severity == TP_ERROR ? FAILED : PASSED;
}

static void write_case(const tp_report *r, const tp_spec_report *s, const tp_finding *f, uint32_t number, tp_arena *a,
                       FILE *out)
{
    outcome o = outcome_of(r, s, f);
    tp_linecol at = tp_linecol_of(s->source, f->loc.start);
    fputs("    <testcase classname=\"", out);
    put(out, tp_visible(a, s->name.n ? s->name : s->source->path));
    fprintf(out, "\" name=\"%s %s", f->rule, f->slug);
    if (f->subject.n) {
        fputc(' ', out);
        put(out, tp_visible(a, f->subject));
    }
    fprintf(out, " [%u]\" file=\"", number);
    put(out, tp_visible(a, s->source->path));
    fprintf(out, "\" line=\"%u\"", at.line);
    if (o == PASSED) {
        fputs("/>\n", out);
        return;
    }
    fprintf(out, ">\n      <%s message=\"", o == BROKEN ? "error" : o == FAILED ? "failure" : "skipped");
    put(out, f->suppressed ? tp_printf(a, "allowed: %.*s", TP_FMT(tp_visible(a, f->suppress_reason)))
                           : tp_visible(a, f->message));
    fputc('"', out);
    if (o != SKIPPED)
        fprintf(out, " type=\"%s\"", f->rule);
    fputc('>', out);
    put(out, tp_finding_story(a, f));
    fprintf(out, "</%s>\n    </testcase>\n", o == BROKEN ? "error" : o == FAILED ? "failure" : "skipped");
}

static void write_spec(tp_writing *w, const tp_spec_report *s, tp_arena *a)
{
    unsigned n[4] = {0}, *all = w->state = w->state ? w->state : TP_NEWN(w->arena, unsigned, 4);
    FILE *out = tp_part_out(w, 0);
    for (uint32_t i = 0; i < s->findings.len; i++)
        n[outcome_of(w->r, s, &s->findings.at[i])]++;
    for (int i = 0; i < 4; i++)
        all[i] += n[i];
    fputs("  <testsuite name=\"", out);
    put(out, tp_visible(a, s->source->path));
    fprintf(out, "\" tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"%u\">\n", s->findings.len, n[FAILED],
            n[BROKEN], n[SKIPPED]);
    for (uint32_t k = 0; k < s->findings.len; k++)
        write_case(w->r, s, &s->findings.at[k], k + 1, a, out);
    fputs("  </testsuite>\n", out);
}

static void write_end(tp_writing *w, const tp_report *r, FILE *out)
{
    const unsigned none[4] = {0}, *all = w->state ? w->state : none;
    (void)r;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tileproof\" tests=\"%u\" failures=\"%u\" "
            "errors=\"%u\" skipped=\"%u\">\n",
            all[PASSED] + all[FAILED] + all[SKIPPED] + all[BROKEN], all[FAILED], all[BROKEN], all[SKIPPED]);
    tp_copy_part(w, 0, out);
    fputs("</testsuites>\n", out);
}

const tp_format tp_format_junit = {"junit", "JUnit XML, a test case per obligation", write_spec, write_end};
