/* For people: first line is the whole story, then the place, the smallest
 * case, what JAX does, and a fix that was re-proven. */
#include <math.h>

#include "report/writing.h"
#include "spec/facts.h"

typedef struct painter {
    FILE *out;
    bool color;
    tp_arena *arena;
} painter;

static tp_str safe(const painter *p, tp_str s)
{
    return tp_visible(p->arena, s);
}

static const char *paint(const painter *p, const char *code)
{
    return p->color ? code : "";
}
#define BOLD "\033[1m"
#define RED "\033[1;31m"
#define YELLOW "\033[1;33m"
#define BLUE "\033[1;34m"
#define GREEN "\033[1;32m"
#define PLAIN "\033[0m"

static const char *headline(const tp_finding *f, const char **color)
{
    *color = f->severity == TP_ERROR ? RED : f->severity == TP_WARNING ? YELLOW : BLUE;
    if (f->verdict == TP_UNKNOWN)
        return "unknown";
    if (f->verdict == TP_VACUOUS)
        return "vacuous";
    if (f->verdict == TP_ADVICE && f->severity == TP_NOTE)
        return "advice";
    return tp_severity_name(f->severity);
}

static int digits(uint32_t n)
{
    int d = 1;
    for (; n >= 10; n /= 10)
        d++;
    return d;
}

/* The line with carets under the place; long lines are cut around it. */
static void excerpt(const painter *p, const tp_source *s, const tp_finding *f, int margin)
{
    enum { WIDTH = 110 };
    tp_linecol at = tp_linecol_of(s, f->loc.start);
    tp_excerpt x = tp_excerpt_of(s, f, WIDTH);
    tp_str line = x.text;
    fprintf(p->out, "%s%*s |%s\n", paint(p, BLUE), margin, "", paint(p, PLAIN));
    fprintf(p->out, "%s%*u |%s %s", paint(p, BLUE), margin, at.line, paint(p, PLAIN), x.before ? "…" : "");
    for (size_t i = 0, n; i < line.n; i += n) { /* what cannot be shown takes one column: the carets stay in place */
        uint32_t code = 0;
        n = tp_utf8(line, i, &code);
        tp_str one = {line.p + i, n ? n : 1};
        if (one.p[0] == '\t' || safe(p, one).p == one.p)
            fwrite(one.p[0] == '\t' ? " " : one.p, 1, one.n, p->out);
        else
            fputs("\xef\xbf\xbd", p->out);
        n = one.n;
    }
    fprintf(p->out, "%s\n%s%*s |%s ", x.behind ? "…" : "", paint(p, BLUE), margin, "", paint(p, PLAIN));
    if (x.before)
        fputc(' ', p->out);
    for (size_t i = 0; i < x.start; i++)
        if (((unsigned char)line.p[i] & 0xc0) != 0x80)
            fputc(' ', p->out);
    fputs(paint(p, RED), p->out);
    for (size_t i = x.start; i < x.end; i++)
        if (((unsigned char)line.p[i] & 0xc0) != 0x80)
            fputc('^', p->out);
    if (x.start == x.end)
        fputc('^', p->out);
    fprintf(p->out, "%s%.*s%s\n", f->label.n ? " " : "", TP_FMT(safe(p, f->label)), paint(p, PLAIN));
}

static void print_note(const painter *p, int margin, const char *kind, tp_str text)
{
    if (text.n)
        fprintf(p->out, "%s%*s =%s %s: %.*s\n", paint(p, BLUE), margin, "", paint(p, PLAIN), kind,
                TP_FMT(safe(p, text)));
}

static void witness(const painter *p, int margin, const tp_witness *w)
{
    tp_str sizes = tp_witness_text(p->arena, w);
    tp_buf b = {.arena = p->arena};
    tp_buf_printf(&b, "%.*s", TP_FMT(sizes));
    for (uint32_t i = 0; i < w->step.len; i++)
        tp_buf_printf(&b, "%s%.*s = %lld",
                      i     ? ", "
                      : b.n ? "   at step "
                            : "at step ",
                      TP_FMT(w->step.at[i].name), (long long)w->step.at[i].value);
    for (uint32_t i = 0; i < w->tables.len; i++)
        tp_buf_printf(&b, "%s%.*s = %lld",
                      i     ? ", "
                      : b.n ? "   with "
                            : "with ",
                      TP_FMT(w->tables.at[i].name), (long long)w->tables.at[i].value);
    if (!b.n)
        tp_buf_c(&b, "the only case");
    tp_buf_printf(&b, "   [%s]",
                  strcmp(w->replay, "executed") == 0 ? "confirmed by execution" : "confirmed by exact arithmetic");
    print_note(p, margin, "smallest case", tp_buf_view(&b));
    print_note(p, margin, "there", w->detail);
}

/* What was missing; behind a semicolon there is how far it got. */
static tp_str missing(const tp_finding *f)
{
    const char *end = f->reason.n ? memchr(f->reason.p, ';', f->reason.n) : NULL;
    return end ? (tp_str){f->reason.p, (size_t)(end - f->reason.p)} : f->reason;
}

/* Findings of one rule on one subject fold after two, and so do those that are undecided for one reason. */
static bool same_kind(const tp_finding *a, const tp_finding *b)
{
    bool alike = tp_str_eq(a->subject, b->subject) ||
                 (a->verdict == TP_UNKNOWN && a->reason.n && tp_str_eq(missing(a), missing(b)));
    return alike && strcmp(a->rule, b->rule) == 0 && a->verdict == b->verdict;
}

static bool same_fix(const tp_fix *a, const tp_fix *b)
{
    if (!a || !b || a->edits.len != b->edits.len)
        return false;
    for (uint32_t i = 0; i < a->edits.len; i++)
        if (a->edits.at[i].start != b->edits.at[i].start || !tp_str_eq(a->edits.at[i].text, b->edits.at[i].text))
            return false;
    return true;
}

/* One cause: a rule, and one change that removes both. */
static bool same_cause(const tp_finding *a, const tp_finding *b)
{
    return strcmp(a->rule, b->rule) == 0 && a->verdict == b->verdict && !a->suppressed && !b->suppressed &&
           same_fix(a->fix, b->fix);
}

/* Is it told with an earlier one? */
static bool told_before(const tp_spec_report *s, const tp_finding *f)
{
    for (const tp_finding *g = s->findings.at; g < f; g++)
        if (same_cause(g, f))
            return true;
    return false;
}

/* Is a finding on its subject between them? */
static bool is_listed(const tp_finding *from, const tp_finding *f)
{
    for (const tp_finding *g = from + 1; g < f; g++)
        if (same_cause(g, f) && tp_str_eq(g->subject, f->subject))
            return true;
    return false;
}

/* What the same change removes: "`y` (line 29), `o` (line 38)". */
static tp_str also(const painter *p, const tp_spec_report *s, const tp_finding *f)
{
    tp_buf b = {.arena = p->arena};
    for (const tp_finding *g = f + 1; g < s->findings.at + s->findings.len; g++)
        if (same_cause(f, g) && !tp_str_eq(f->subject, g->subject) && !is_listed(f, g))
            tp_buf_printf(&b, "%s`%.*s` (line %u)", b.n ? ", " : "", TP_FMT(g->subject),
                          tp_linecol_of(s->source, g->loc.start).line);
    return tp_buf_view(&b);
}

static void finding(const painter *p, const tp_spec_report *s, const tp_finding *f, uint32_t more)
{
    const char *color, *head = headline(f, &color);
    tp_linecol at = tp_linecol_of(s->source, f->loc.start);
    int margin = digits(at.line);
    fprintf(p->out, "%s%s[%s]%s%s: %.*s%s\n", paint(p, color), head, f->rule, paint(p, PLAIN), paint(p, BOLD),
            TP_FMT(safe(p, f->message)), paint(p, PLAIN));
    fprintf(p->out, "%s%*s-->%s %.*s:%u:%u\n", paint(p, BLUE), margin, "", paint(p, PLAIN),
            TP_FMT(safe(p, tp_source_path(s->source, f->loc.start))), at.line, at.column);
    if (s->source->text.n)
        excerpt(p, s->source, f, margin);
    if (f->witness)
        witness(p, margin, f->witness);
    print_note(p, margin, "why", f->reason);
    print_note(p, margin, "note", f->note);
    print_note(p, margin, "holds when", tp_shown_precondition(p->arena, f));
    print_note(p, margin, "help", tp_shown_help(f));
    print_note(p, margin, "fix", tp_shown_fix(p->arena, f));
    print_note(p, margin, "also", also(p, s, f));
    if (more)
        fprintf(p->out, "%*s = %u more finding%s of this kind; --format json lists all\n", margin, "", more,
                more == 1 ? "" : "s");
    fputc('\n', p->out);
}

static void findings(const painter *p, const tp_report *r, const tp_spec_report *s)
{
    uint32_t n;
    const tp_shown_finding *all = tp_shown_findings(p->arena, r, s, &n);
    for (uint32_t i = 0; i < n; i++) {
        const tp_finding *f = all[i].finding;
        uint32_t before = 0, after = 0;
        if (told_before(s, f))
            continue;
        for (uint32_t j = 0; j < n; j++)
            if (j != i && !same_cause(f, all[j].finding) && same_kind(f, all[j].finding))
                before += j<i, after += j> i;
        if (before + after >= 2 && before > 0)
            continue;
        finding(p, s, f, before + after >= 2 ? after : 0);
    }
}

/* Of what a proof rests on: is any of it violated? Then it says nothing yet. */
static bool rests_on_violated(const tp_spec_report *s, tp_str rests)
{
    for (uint32_t i = 0; i < s->findings.len; i++)
        if (s->findings.at[i].verdict == TP_VIOLATED && tp_basis_names(rests, s->findings.at[i].rule))
            return true;
    return false;
}

/* Verdict per rule, with the subjects it covers. */
static void matrix(const painter *p, const tp_spec_report *s)
{
    static const char *const PROVEN[] = {"proven",          "proven(cert)", "proven(exact)",
                                         "proven(z3+cvc5)", "proven(z3)",   "proven(cvc5)"};
    size_t n;
    const tp_rule *const *rules = tp_rules(&n);
    for (size_t k = 0; k < n; k++) {
        tp_buf subjects = {.arena = p->arena};
        uint32_t counts[TP_VERDICTS] = {0}, total = 0;
        tp_grade grade = TP_GRADE_NONE; /* the weakest */
        tp_str rests = {NULL, 0};
        for (uint32_t i = 0; i < s->findings.len; i++) {
            const tp_finding *f = &s->findings.at[i];
            if (strcmp(f->rule, rules[k]->code) != 0)
                continue;
            counts[f->verdict]++;
            total++;
            grade = f->grade > grade ? f->grade : grade;
            rests = tp_basis_join(p->arena, rests, f->rests_on);
            bool again = false;
            for (const tp_finding *g = s->findings.at; g < f && !again; g++)
                again = strcmp(g->rule, f->rule) == 0 && tp_str_eq(g->subject, f->subject);
            if (!again && subjects.n < 60)
                tp_buf_printf(&subjects, " %.*s", TP_FMT(f->subject));
        }
        if (!total)
            continue;
        const char *verdict = counts[TP_VIOLATED]  ? "violated"
                              : counts[TP_VACUOUS] ? "vacuous"
                              : counts[TP_UNKNOWN] ? "unknown"
                              : counts[TP_ADVICE]  ? "advice"
                                                   : PROVEN[grade];
        const char *color = counts[TP_VIOLATED] || counts[TP_VACUOUS] ? RED : counts[TP_UNKNOWN] ? YELLOW : GREEN;
        const char *what = counts[TP_ADVICE] ? "finding" : "obligation";
        fprintf(p->out, "  %s %-22s %s%-13s%s %3u %s%s %.*s%s%.*s%s\n", rules[k]->code, rules[k]->slug, paint(p, color),
                verdict, paint(p, PLAIN), total, what, total == 1 ? " " : "s", TP_FMT(tp_buf_view(&subjects)),
                rests.n ? "  given " : "", TP_FMT(rests), rests_on_violated(s, rests) ? ", which is violated" : "");
    }
}

static void memory(const painter *p, const tp_spec_report *s)
{
    const tp_memory_table *t = &s->vmem;
    if (!t->limit)
        return;
    fprintf(p->out, "  vmem, at the largest sizes%s%.*s:\n", t->dtypes.n ? ", " : "", TP_FMT(t->dtypes));
    for (uint32_t i = 0; i < t->rows.len; i++) {
        const tp_memory_row *m = &t->rows.at[i];
        if (m->bytes < 0)
            fprintf(p->out, "    %-12.*s too large for 64 bits\n", TP_FMT(m->name));
        else
            fprintf(p->out, "    %-12.*s %d x %10.1f KiB\n", TP_FMT(m->name), m->buffers,
                    (double)m->padded_bytes / 1024);
    }
    if (t->bytes >= 0)
        fprintf(p->out, "    together     %.1f KiB of %.0f KiB; compiler temporaries are not modelled\n",
                (double)t->bytes / 1024, (double)t->limit / 1024);
}

static void domain(const painter *p, const tp_spec_report *s)
{
    const tp_kernel *k = s->spec->kernels[0];
    tp_str sizes = tp_domain_text(p->arena, s);
    fprintf(p->out, "  for all %.*s%s   target %.*s%s\n", TP_FMT(sizes),
            tp_sizes_inferred(k->doc) ? " (inferred from several calls)" : "", TP_FMT(k->target.name),
            k->target_defaulted ? " (default)" : "");
    tp_str but = tp_domain_but(s);
    if (but.n)
        fprintf(p->out, "  but %.*s\n", TP_FMT(but));
}

/* E3 and E4: what holds over the reals. */
static void algebra_line(const painter *p, const tp_equiv *e)
{
    uint32_t equal = e->algebra.equal + e->box.equal,
             open = e->algebra.inconclusive + e->algebra.none + e->box.inconclusive + e->box.none;
    tp_str why = e->algebra_reason.n ? e->algebra_reason : e->box_reason;
    fprintf(p->out, "    algebra    ");
    if (!equal) {
        fprintf(p->out, "not decided: %.*s\n", TP_FMT(why.n ? why : TP_S("not run")));
        return;
    }
    fprintf(p->out, "equal over the reals at %u shape%s", equal, equal == 1 ? "" : "s");
    if (e->box.equal)
        fprintf(p->out, ", among them %.*s", TP_FMT(tp_box_share_text(p->arena, e)));
    if (e->blocks.n)
        fprintf(p->out, " (%.*s)", TP_FMT(e->blocks));
    if (e->chance < HUGE_VAL)
        fprintf(p->out, "; false acceptance <= 2^-%.0f", e->chance);
    if (e->ordered)
        fputs("; maxima ordered by the data", p->out);
    if (e->tags)
        fputs("; some functions uninterpreted", p->out);
    if (open)
        fprintf(p->out, "; not decided at %u: %.*s", open, TP_FMT(why));
    fputc('\n', p->out);
}

/* What the cases went through, and which shapes were in the box. */
static void coverage_lines(const painter *p, const tp_equiv *e)
{
    if (e->coverage.text.n)
        fprintf(p->out, "    coverage   %.*s\n", TP_FMT(e->coverage.text));
    if (e->coverage.pairs_text.n)
        fprintf(p->out, "    sizes      %.*s\n", TP_FMT(e->coverage.pairs_text));
    if (e->box.equal && e->box_text.n)
        fprintf(p->out, "    box        %.*s%s%.*s\n", TP_FMT(e->box_text), e->box_constants.n ? "; held: " : "",
                TP_FMT(e->box_constants));
}

/* E5 */
static void all_sizes_line(const painter *p, const tp_spec_report *s, bool verbose)
{
    const tp_equality *q = &s->equality;
    fprintf(p->out, "    all sizes  ");
    if (q->proven) {
        fprintf(p->out, "proven over the reals, given the rules above%s%s: %u obligation%s", q->given ? " and " : "",
                tp_fact_names(q->given), q->obligations, q->obligations == 1 ? "" : "s");
        if (q->certified < q->obligations)
            fprintf(p->out, ", %u of them with certificate", q->certified);
        else if (q->obligations)
            fputs(", each with certificate", p->out);
        fprintf(p->out, "%.*s", TP_FMT(tp_equality_terms(p->arena, q)));
        const tp_case_result *overflow = tp_equiv_overflow(s->equiv);
        if (overflow)
            fprintf(p->out, "; overflows in %.*s", TP_FMT(tp_case_phrase(p->arena, overflow->the_case)));
        fprintf(p->out, "\n    rewriting  %.*s", TP_FMT(q->rewriting));
    } else {
        fprintf(p->out, "not shown: %.*s", TP_FMT(q->reason));
        if (q->loc.end > q->loc.start) {
            tp_linecol at = tp_linecol_of(s->source, q->loc.start);
            fprintf(p->out, " (line %u)", at.line);
        }
        if (verbose && q->detail.n)
            fprintf(p->out, "\n               %.*s", TP_FMT(q->detail));
    }
    fputc('\n', p->out);
}

/* E1 */
static void rounding_line(const painter *p, const tp_equiv *e, const tp_kernel *k)
{
    fprintf(p->out, "    rounding   ");
    if (!e->worst || !e->unstable) {
        fputs("nothing to compare\n", p->out);
        return;
    }
    fprintf(p->out,
            "within the certified bound on %u case%s (worst ratio %.2g); computed numbers off by at most %.3g, %.2g "
            "ULP, %.2g of the %stolerance",
            e->equal, e->equal == 1 ? "" : "s", e->worst->ratio, e->unstable->max_abs, e->unstable->max_ulp,
            e->unstable->rounding, k->tolerance > 0 ? "declared " : "");
    if (e->unstable->allowed > 1)
        fprintf(p->out, ", which is %.2g times as wide here: the reference loses as much in float32",
                e->unstable->allowed);
    if (e->fractions)
        fprintf(p->out, "; %u case%s where the reference has a number alone, as between 0 and 1", e->fractions,
                e->fractions == 1 ? "" : "s");
    fputc('\n', p->out);
}

/* E2 */
static void bits_line(const painter *p, const tp_equiv *e)
{
    fprintf(p->out, "    bits       ");
    if (e->bits.equal)
        fprintf(p->out, "identical on exact inputs in %u case%s\n", e->bits.equal, e->bits.equal == 1 ? "" : "s");
    else
        fprintf(p->out, "not applicable: %.*s\n", TP_FMT(e->bits_reason.n ? e->bits_reason : TP_S("not run")));
}

static void equivalence(const painter *p, const tp_report *r, const tp_spec_report *s)
{
    const tp_equiv *e = s->equiv;
    if (!e) {
        if (s->spec->kernels[0]->body)
            fprintf(p->out,
                    "  body                       not executed: tileproof verify runs it against the reference\n");
        return;
    }
    if (e->different + e->trapped == 0 && e->equal) {
        fprintf(p->out, "  equivalence  %stested%s on %u case%s (seed %llu)\n", paint(p, GREEN), paint(p, PLAIN),
                e->equal, e->equal == 1 ? "" : "s", (unsigned long long)e->seed);
        algebra_line(p, e);
        all_sizes_line(p, s, r->verbose);
        if (s->equality.proven && s->opinion.asked)
            fprintf(p->out, "    elements   second opinion: %.*s\n", TP_FMT(tp_opinion_text(p->arena, &s->opinion)));
        rounding_line(p, e, s->spec->kernels[0]);
        bits_line(p, e);
        coverage_lines(p, e);
        if (e->out_of_memory)
            fprintf(p->out, "    left out   %u of these: %.*s\n", e->out_of_memory, TP_FMT(e->left_out));
    } else {
        fprintf(p->out, "  equivalence  %u equal, %u different, %u trapped\n", e->equal, e->different, e->trapped);
    }
    for (uint32_t i = 0; i < e->cases.len; i++) {
        const tp_case_result *c = &e->cases.at[i];
        static const char *const NAMES[] = {"equal", "different", "trapped", "skipped"};
        if (!r->verbose && c->outcome != TP_SKIPPED)
            continue;
        fprintf(p->out, "    %-9s %.*s", NAMES[c->outcome], TP_FMT(tp_case_text(p->arena, c->the_case)));
        for (uint32_t o = 0; o < c->outputs.len; o++)
            fprintf(p->out, "   %.*s: %.3g of the bound, %.2g ULP", TP_FMT(c->outputs.at[o].name),
                    c->outputs.at[o].ratio, c->outputs.at[o].max_ulp);
        if (c->outcome == TP_SKIPPED || c->outcome == TP_TRAPPED)
            fprintf(p->out, "   %.*s", TP_FMT(c->trap.message));
        fputc('\n', p->out);
    }
}

static void summary_line(const painter *p, const tp_spec_report *s)
{
    tp_counts c = tp_count(s);
    fprintf(p->out, "%.*s: %u violated, %u proven, %u unknown", TP_FMT(tp_visible_line(p->arena, s->source->path)),
            c.violated, c.proven, c.unknown);
    if (c.vacuous)
        fprintf(p->out, ", %u vacuous", c.vacuous);
    if (c.advice)
        fprintf(p->out, ", %u advice", c.advice);
    if (c.assumed)
        fprintf(p->out, ", %u assumed", c.assumed);
    if (c.suppressed)
        fprintf(p->out, ", %u suppressed", c.suppressed);
    if (c.stale)
        fprintf(p->out, ", %u stale allow", c.stale);
    if (s->equiv)
        fprintf(p->out, ", %u tested", c.tested);
    fputc('\n', p->out);
}

static void write_spec(tp_writing *w, const tp_spec_report *s, tp_arena *a)
{
    const tp_report *r = w->r;
    painter p = {.out = tp_part_out(w, 0), .color = r->color, .arena = a};
    findings(&p, r, s);
    if (s->valid && !r->quiet) {
        bool bad = tp_count(s).violated + tp_count(s).vacuous > 0;
        fprintf(p.out, "%s%.*s%s  %s\n", paint(&p, BOLD), TP_FMT(tp_visible_line(p.arena, s->name)), paint(&p, PLAIN),
                bad                   ? "violated"
                : tp_count(s).unknown ? "undecided"
                                      : "ok");
        domain(&p, s);
        if (!bad || r->verbose || w->alone)
            matrix(&p, s);
        if (r->verbose || (!bad && w->alone))
            memory(&p, s);
        equivalence(&p, r, s);
        if (r->verbose)
            fprintf(p.out,
                    "  facts   F1: each array has fewer than 2^31 elements; F2: each array dimension is at most "
                    "2^30\n  prover  %u obligations: %u with "
                    "certificate, %u by counterexample search, %u by Z3 (linear), %u by Z3 (raw), %u enumerated, "
                    "%u unknown\n",
                    s->stats.obligations, s->stats.certified, s->stats.searched, s->stats.linear, s->stats.raw,
                    s->stats.enumerated, s->stats.unknown);
    }
    if (s->valid && (!r->quiet || w->alone || !tp_is_clean(s)))
        summary_line(&p, s);
}

const tp_format tp_format_full = {"full", "for people: excerpts, smallest cases, fixes", write_spec, NULL};
