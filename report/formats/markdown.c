/* Markdown: a table of specs and what is wrong, for step summaries and pull requests. */
#include <string.h>

#include "report/writing.h"

/* Backticks from `at` on. */
static size_t run_of(tp_str s, size_t at)
{
    size_t n = 0;
    while (at + n < s.n && s.p[at + n] == '`')
        n++;
    return n;
}

/* Where the code that begins at the lone backtick `at` ends: at the next one that stands alone; s.n: nowhere. */
static size_t end_of_code(tp_str s, size_t at)
{
    for (size_t i = at + 1, n; i < s.n; i += n ? n : 1)
        if ((n = run_of(s, i)) == 1)
            return i;
    return s.n;
}

/* Between longer runs of backticks than there are in it. */
static void put_code(FILE *out, tp_str s)
{
    size_t longest = 0, n;
    for (size_t i = 0; i < s.n; i += n ? n : 1)
        if ((n = run_of(s, i)) > longest)
            longest = n;
    const char *blank = s.n && (s.p[0] == '`' || s.p[s.n - 1] == '`') ? " " : "";
    for (size_t i = 0; i <= longest; i++)
        fputc('`', out);
    fputs(blank, out);
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '|')
            fputs("\\|", out); /* a table's own */
        else
            fputc(s.p[i] == '\n' ? ' ' : s.p[i], out);
    fputs(blank, out);
    for (size_t i = 0; i <= longest; i++)
        fputc('`', out);
}

/* Plain words; `code` stays code, nothing else in them is markup, and nobody is called. */
static void put(FILE *out, tp_str s)
{
    for (size_t i = 0, n; i < s.n; i += n) {
        char c = s.p[i] == '\n' ? ' ' : s.p[i];
        n = run_of(s, i);
        size_t end = n == 1 ? end_of_code(s, i) : s.n;
        if (end < s.n) {
            put_code(out, (tp_str){s.p + i + 1, end - i - 1});
            n = end - i + 1;
            continue;
        }
        for (size_t k = 0; k < n; k++)
            fputs("\\`", out);
        if (n)
            continue;
        n = 1;
        if (c == '<')
            fputs("&lt;", out);
        else if (c == '&')
            fputs("&amp;", out);
        else if (c == '@')
            fputs("@<!-- -->", out);
        else if (strchr("\\*_{}[]|#>!~$", c))
            fprintf(out, "\\%c", c);
        else
            fputc(c, out);
    }
}

/* A fence that the text does not contain. */
static void fence(FILE *out, tp_str s)
{
    size_t longest = 2, here = 0;
    for (size_t i = 0; i < s.n; i++) {
        here = s.p[i] == '`' ? here + 1 : 0;
        longest = here > longest ? here : longest;
    }
    for (size_t i = 0; i <= longest; i++)
        fputc('`', out);
    fputc('\n', out);
}

static void write_row(const tp_spec_report *s, tp_arena *a, FILE *out)
{
    tp_counts c = tp_count(s);
    fputs("| ", out);
    put(out, tp_visible(a, s->name.n ? s->name : s->source->path));
    if (!s->valid) {
        fputs(" | not a valid spec | | | |\n", out);
        return;
    }
    fprintf(out, " | %s | %u | %u | %u |",
            c.violated + c.vacuous ? "**violated**"
            : c.unknown            ? "unknown"
                                   : "ok",
            c.violated + c.vacuous, c.unknown, c.proven);
    if (s->equiv) {
        fprintf(out, " %u cases%s%s", c.tested, s->equality.proven ? ", proven for all sizes" : "",
                tp_equiv_overflow(s->equiv) ? ", overflows in some" : "");
        if (s->equiv->coverage.text.n)
            fputs("; ", out);
        put(out, s->equiv->coverage.text);
        fputs(" |", out);
    } else
        fputs(" not executed |", out);
    fputc('\n', out);
}

/* What the row speaks of. */
static void write_domain(const tp_spec_report *s, tp_arena *a, FILE *out)
{
    tp_str but = tp_domain_but(s);
    fputs("\n- ", out);
    put(out, tp_visible(a, s->name));
    fputs(": for all ", out);
    put(out, tp_visible(a, tp_domain_text(a, s)));
    fputs(but.n ? "; but " : "", out);
    put(out, tp_visible(a, but));
    if (s->equality.proven && s->opinion.asked) {
        fputs("; second opinion: ", out);
        put(out, tp_visible(a, tp_opinion_text(a, &s->opinion)));
    }
}

static void write_finding(const tp_shown_finding *x, tp_arena *a, FILE *out)
{
    static const char *const NAMES[] = {"advice", "warning", "error"};
    enum { WIDTH = 200 };
    const tp_finding *f = x->finding;
    tp_linecol at = tp_linecol_of(x->spec->source, f->loc.start);
    tp_excerpt e = tp_excerpt_of(x->spec->source, f, WIDTH);
    tp_str story = tp_finding_story(a, f), line = tp_visible(a, e.text);
    fprintf(out, "\n### %s %s: ", NAMES[x->severity], f->rule);
    put(out, tp_visible(a, f->message));
    fputs("\n\n", out);
    put(out, tp_visible(a, x->spec->source->path));
    fprintf(out, ", line %u\n\n", at.line);
    fence(out, line);
    fprintf(out, "%s%.*s%s\n", e.before ? "…" : "", TP_FMT(line), e.behind ? "…" : "");
    fence(out, line);
    for (size_t i = 0, end; i < story.n; i = end + 1) { /* the first line is the heading */
        for (end = i; end < story.n && story.p[end] != '\n';)
            end++;
        if (i == 0)
            continue;
        fputs("\n- ", out);
        put(out, (tp_str){story.p + i, end - i});
    }
    fputc('\n', out);
}

enum { FINDINGS, ROWS = FINDINGS + TP_ERROR + 1, DOMAINS };
_Static_assert((int)DOMAINS < (int)TP_PARTS, "a part for each");

static void write_spec(tp_writing *w, const tp_spec_report *s, tp_arena *a)
{
    uint32_t n;
    const tp_shown_finding *all = tp_shown_findings(a, w->r, s, &n);
    write_row(s, a, tp_part_out(w, ROWS));
    if (s->spec)
        write_domain(s, a, tp_part_out(w, DOMAINS));
    for (uint32_t i = 0; i < n; i++)
        write_finding(&all[i], a, tp_part_out(w, FINDINGS + all[i].severity));
}

static void write_end(tp_writing *w, const tp_report *r, FILE *out)
{
    (void)r;
    fputs(
        "## tileproof\n\n| kernel | verdict | violated | unknown | proven | executed |\n|---|---|---:|---:|---:|---|\n",
        out);
    tp_copy_part(w, ROWS, out);
    tp_copy_part(w, DOMAINS, out);
    fputc('\n', out);
    for (uint32_t severity = TP_ERROR + 1; severity-- > 0;)
        tp_copy_part(w, FINDINGS + severity, out);
}

const tp_format tp_format_markdown = {"markdown", "a table of specs and the findings, for step summaries", write_spec,
                                      write_end};
