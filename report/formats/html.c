/* One self-contained page: no scripts, no network, light and dark. */
#include <math.h>

#include "report/blocks.h"

typedef struct page {
    const tp_report *r;
    tp_arena *a;
    FILE *out;
} page;

static void raw(const page *p, const char *text)
{
    fputs(text, p->out);
}

/* Text as text. */
static void put(const page *p, tp_str s)
{
    s = tp_visible(p->a, s);
    for (size_t i = 0; i < s.n; i++)
        switch (s.p[i]) {
        case '&': raw(p, "&amp;"); break;
        case '<': raw(p, "&lt;"); break;
        case '>': raw(p, "&gt;"); break;
        case '"': raw(p, "&quot;"); break;
        default: fputc(s.p[i], p->out);
        }
}

/* Text with `code` in backticks. */
static void prose(const page *p, tp_str s)
{
    bool code = false;
    for (size_t i = 0, start = 0; i <= s.n; i++) {
        if (i < s.n && s.p[i] != '`')
            continue;
        put(p, (tp_str){s.p + start, i - start});
        if (i < s.n && (code || memchr(s.p + i + 1, '`', s.n - i - 1))) {
            code = !code;
            raw(p, code ? "<code>" : "</code>");
        } else if (i < s.n) {
            raw(p, "`");
        }
        start = i + 1;
    }
}

static const char STYLE[] =
    ":root{color-scheme:light dark;--bg:#fbfbfa;--card:#fff;--ink:#1c1e21;--dim:#5b6169;--line:#dcdfe3;--ok:#1a6b34;"
    "--okbg:#e3f3e7;--bad:#a3131f;--badbg:#fbe6e7;--open:#7a4a00;--openbg:#fcf0d9;--note:#1d4f91;--notebg:#e5eefb;"
    "--a:#2f6fb3;--b:#cfe0f3}"
    "@media(prefers-color-scheme:dark){:root{--bg:#15171a;--card:#1d2024;--ink:#e7e9ec;--dim:#a5acb5;--line:#363b42;"
    "--ok:#7fd498;--okbg:#17301f;--bad:#ff9a9f;--badbg:#3a1a1d;--open:#f2c46d;--openbg:#362a12;--note:#9cc3f5;"
    "--notebg:#182838;--a:#6aa5e0;--b:#24415f}}"
    "*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.55 system-ui,sans-serif}"
    "main,header,footer{max-width:70rem;margin:0 auto;padding:0 "
    "1.25rem}header{padding-top:2rem}h1{font-size:1.7rem;margin:0}"
    "h2{font-size:1.35rem;margin:2.5rem 0 .25rem;padding-top:1rem;border-top:1px solid "
    "var(--line)}h3{font-size:1.05rem;"
    "margin:1.6rem 0 .5rem}p{margin:.35rem 0}.dim{color:var(--dim)}code,pre{font:.9em/1.5 "
    "ui-monospace,Consolas,monospace}"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;background:var(--card);font-size:.94rem}"
    "caption{text-align:left;color:var(--dim);padding:.25rem 0}th,td{text-align:left;padding:.35rem .7rem;border:1px "
    "solid "
    "var(--line);vertical-align:top}td.n{text-align:right;font-variant-numeric:tabular-nums}thead "
    "th{background:var(--bg)}"
    ".badge{display:inline-block;padding:.05rem "
    ".5rem;border-radius:.7rem;font-size:.82rem;font-weight:600;white-space:nowrap}"
    ".ok{color:var(--ok);background:var(--okbg)}.bad{color:var(--bad);background:var(--badbg)}.open{color:var(--open);"
    "background:var(--openbg)}.note{color:var(--note);background:var(--notebg)}"
    "article{background:var(--card);border:1px solid var(--line);border-left:4px solid var(--line);padding:.7rem 1rem;"
    "margin:.7rem 0;border-radius:.3rem}article.bad{border-left-color:var(--bad);background:var(--card);color:inherit}"
    "article.open{border-left-color:var(--open);background:var(--card);color:inherit}article.note{border-left-color:"
    "var(--note);background:var(--card);color:inherit}article h4{margin:0 0 .3rem;font-size:1rem;font-weight:600}"
    "pre{background:var(--bg);border:1px solid var(--line);padding:.5rem .7rem;overflow-x:auto;margin:.5rem 0}"
    "mark{background:var(--openbg);color:var(--open);font-weight:600;text-decoration:underline}ul{margin:.3rem "
    "0;padding-left:"
    "1.2rem}details>summary{cursor:pointer;color:var(--a)}.maps{display:flex;flex-wrap:wrap;gap:1.2rem}figure{margin:0}"
    "figcaption{font-size:.88rem;max-width:22rem}svg{display:block;max-width:100%;height:auto}svg text{font:9px "
    "ui-monospace,"
    "monospace;fill:var(--ink)}a{color:var(--a)}a:focus-visible,summary:focus-visible{outline:2px solid var(--a);"
    "outline-offset:2px}.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:1rem;background:var(--card)}"
    "footer{margin:3rem auto;color:var(--dim);font-size:.88rem}@media "
    "print{body{background:#fff}article{break-inside:avoid}}";

static const char *badge_of(const tp_spec_report *s)
{
    tp_counts c = tp_count(s);
    if (!s->valid)
        return "<span class=\"badge bad\">not a valid spec</span>";
    return c.violated + c.vacuous ? "<span class=\"badge bad\">violated</span>"
           : c.unknown            ? "<span class=\"badge open\">unknown</span>"
                                  : "<span class=\"badge ok\">ok</span>";
}

static void name_of(const page *p, const tp_spec_report *s)
{
    put(p, s->name.n ? s->name : s->source->path);
}

/* ---- the index ---- */

static void write_index(const page *p)
{
    raw(p, "<div class=\"scroll\"><table><caption>All specs</caption><thead><tr><th scope=\"col\">kernel</th><th "
           "scope=\"col\">verdict</th><th scope=\"col\">violated</th><th scope=\"col\">unknown</th><th "
           "scope=\"col\">proven</th><th scope=\"col\">VMEM</th><th scope=\"col\">executed</th></tr></thead><tbody>\n");
    for (uint32_t i = 0; i < p->r->specs.len; i++) {
        const tp_spec_report *s = &p->r->specs.at[i];
        tp_counts c = tp_count(s);
        fprintf(p->out, "<tr><th scope=\"row\"><a href=\"#spec%u\">", i);
        name_of(p, s);
        fprintf(
            p->out,
            "</a></th><td>%s</td><td class=\"n\">%u</td><td class=\"n\">%u</td><td class=\"n\">%u</td><td class=\"n\">",
            badge_of(s), c.violated + c.vacuous, c.unknown, c.proven);
        if (s->vmem.limit && s->vmem.bytes >= 0)
            fprintf(p->out, "%.0f&nbsp;%%", 100.0 * (double)s->vmem.bytes / (double)s->vmem.limit);
        else
            raw(p, s->vmem.limit ? "no bound" : "");
        raw(p, "</td><td>");
        if (s->equiv)
            fprintf(p->out, "%u cases%s", c.tested, s->equality.proven ? ", proven for all sizes" : "");
        raw(p, "</td></tr>\n");
    }
    raw(p, "</tbody></table></div>\n");
}

/* ---- findings ---- */

static void write_excerpt(const page *p, const tp_source *source, const tp_finding *f)
{
    tp_linecol at = tp_linecol_of(source, f->loc.start);
    tp_str line = tp_line_of(source, f->loc.start);
    size_t start = (size_t)(source->text.p + f->loc.start - line.p), end = start + (f->loc.end - f->loc.start);
    if (f->loc.end <= f->loc.start || start > line.n)
        return;
    end = end > line.n ? line.n : end;
    fprintf(p->out, "<pre><span class=\"dim\">%u | </span>", at.line);
    put(p, (tp_str){line.p, start});
    raw(p, "<mark>");
    put(p, (tp_str){line.p + start, end - start});
    raw(p, "</mark>");
    put(p, (tp_str){line.p + end, line.n - end});
    raw(p, "</pre>\n");
}

static void write_finding(const page *p, const tp_spec_report *s, const tp_finding *f)
{
    static const char *const CLASSES[] = {"note", "open", "bad"};
    tp_severity severity = tp_shown_severity(p->r, f);
    const char *word = f->verdict == TP_UNKNOWN  ? "unknown"
                       : f->verdict == TP_ADVICE ? "advice"
                                                 : tp_verdict_name(f->verdict);
    tp_str story = tp_finding_story(p->a, f);
    fprintf(p->out, "<article class=\"%s\"><h4><span class=\"badge %s\">%s</span> %s ", CLASSES[severity],
            CLASSES[severity], s->valid ? word : "error", f->rule);
    prose(p, f->message);
    raw(p, "</h4>\n");
    write_excerpt(p, s->source, f);
    raw(p, "<ul>\n");
    for (size_t i = 0, end; i < story.n; i = end + 1) {
        for (end = i; end < story.n && story.p[end] != '\n';)
            end++;
        if (i == 0)
            continue; /* the heading */
        raw(p, "<li>");
        prose(p, (tp_str){story.p + i, end - i});
        raw(p, "</li>\n");
    }
    raw(p, "</ul></article>\n");
}

static void write_findings(const page *p, const tp_spec_report *s)
{
    bool any = false;
    for (int severity = TP_ERROR; severity >= TP_NOTE; severity--)
        for (uint32_t i = 0; i < s->findings.len; i++) {
            const tp_finding *f = &s->findings.at[i];
            if (!tp_is_shown(p->r, f) || (int)tp_shown_severity(p->r, f) != severity)
                continue;
            if (!any)
                raw(p, "<h3>Findings</h3>\n");
            any = true;
            write_finding(p, s, f);
        }
}

/* ---- rules ---- */

static void write_rules(const page *p, const tp_spec_report *s)
{
    size_t n;
    const tp_rule *const *rules = tp_rules(&n);
    raw(p, "<details><summary>What was decided</summary><div class=\"scroll\"><table><caption>Obligations by "
           "rule</caption><thead><tr><th scope=\"col\">rule</th><th scope=\"col\">says</th><th "
           "scope=\"col\">proven</th><th "
           "scope=\"col\">violated</th><th scope=\"col\">unknown</th><th scope=\"col\">allowed</th><th "
           "scope=\"col\">rests "
           "on</th></tr></thead><tbody>\n");
    for (size_t r = 0; r < n; r++) {
        unsigned proven = 0, violated = 0, unknown = 0, allowed = 0;
        tp_grade grade = TP_GRADE_NONE;
        tp_str given = {NULL, 0};
        for (uint32_t i = 0; i < s->findings.len; i++) {
            const tp_finding *f = &s->findings.at[i];
            if (strcmp(f->rule, rules[r]->code) != 0 || f->verdict == TP_ADVICE)
                continue;
            allowed += f->suppressed;
            proven += f->verdict == TP_PROVEN;
            violated += !f->suppressed && (f->verdict == TP_VIOLATED || f->verdict == TP_VACUOUS);
            unknown += !f->suppressed && f->verdict == TP_UNKNOWN;
            grade = f->grade > grade ? f->grade : grade;
            given = f->rests_on.n > given.n ? f->rests_on : given;
        }
        if (proven + violated + unknown + allowed == 0)
            continue;
        fprintf(p->out,
                "<tr><th scope=\"row\">%s</th><td>%s</td><td class=\"n\">%u%s%s%s</td><td class=\"n\">%u</td><td "
                "class=\"n\">%u</td><td class=\"n\">%u</td><td>",
                rules[r]->code, rules[r]->title, proven, proven ? " (" : "",
                proven && grade ? tp_grade_name(grade) : "", proven ? ")" : "", violated, unknown, allowed);
        put(p, given);
        raw(p, "</td></tr>\n");
    }
    raw(p, "</tbody></table></div></details>\n");
}

/* ---- pictures ---- */

static void write_map(const page *p, const tp_operand *o, const tp_block_map *m)
{
    enum { SIDE = 26 };
    uint32_t never = 0, again = 0, most = 1;
    for (uint32_t i = 0; i < m->rows * m->columns; i++) {
        never += m->visits[i] == 0;
        again += m->visits[i] > 1;
        most = m->visits[i] > most ? m->visits[i] : most;
    }
    raw(p, "<figure><svg role=\"img\" viewBox=\"0 0 ");
    fprintf(p->out, "%u %u\" width=\"%u\" height=\"%u\"><title>", m->columns * SIDE + 2, m->rows * SIDE + 2,
            m->columns * SIDE + 2, m->rows * SIDE + 2);
    put(p, o->name);
    fprintf(p->out, ": %u by %u blocks, %u never visited, %u visited again</title>\n", m->rows, m->columns, never,
            again);
    for (uint32_t r = 0; r < m->rows; r++)
        for (uint32_t c = 0; c < m->columns; c++) {
            uint32_t v = m->visits[r * m->columns + c];
            bool rim = (m->ragged_row && r + 1 == m->rows) || (m->ragged_column && c + 1 == m->columns);
            fprintf(p->out,
                    "<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" fill=\"%s\" fill-opacity=\"%.2f\" "
                    "stroke=\"var(--a)\"%s/>",
                    c * SIDE + 2, r * SIDE + 2, SIDE - 3, SIDE - 3, v ? "var(--a)" : "none",
                    v ? 0.12 + 0.38 * (double)v / (double)most : 0.0, rim ? " stroke-dasharray=\"3 2\"" : "");
            if (v)
                fprintf(p->out, "<text x=\"%u\" y=\"%u\" text-anchor=\"middle\">%u</text>\n", c * SIDE + SIDE / 2,
                        r * SIDE + SIDE / 2 + 4, m->first[r * m->columns + c]);
            else
                fprintf(p->out, "<text x=\"%u\" y=\"%u\" text-anchor=\"middle\">&#8211;</text>\n", c * SIDE + SIDE / 2,
                        r * SIDE + SIDE / 2 + 4);
        }
    raw(p, "</svg><figcaption><code>");
    put(p, o->name);
    fprintf(p->out, "</code>, %s: ", o->role == TP_INPUT ? "input" : "output");
    uint32_t all = m->rows * m->columns;
    if (never)
        fprintf(p->out, "%u of %u blocks never, ", never, all);
    if (most > 1)
        fprintf(p->out, "%u of %u blocks again and again, up to %u times", again, all, most);
    else
        fputs(never ? "the others once" : "each block once", p->out);
    if (m->outside)
        fprintf(p->out, "; %u of %u steps outside the array", m->outside, m->steps);
    raw(p, "</figcaption></figure>\n");
}

static void write_maps(const page *p, const tp_spec_report *s)
{
    tp_str sizes;
    int64_t *env = tp_map_sizes(p->a, s, &sizes);
    const tp_kernel *k = s->spec->kernels[0];
    bool any = false;
    for (uint32_t i = 0; env && i < k->ninputs + k->noutputs; i++) {
        tp_block_map m;
        if (!tp_map_blocks(p->a, k, &k->operands[i], env, &m))
            continue;
        if (!any) {
            raw(p, "<h3>Blocks</h3><p class=\"dim\">The number of the first step in each block, at ");
            put(p, sizes.n ? sizes : TP_S("the only shape"));
            raw(p, ". Darker: visited more often. Dashed: partly outside the array.</p><div class=\"maps\">\n");
        }
        any = true;
        write_map(p, &k->operands[i], &m);
    }
    if (any)
        raw(p, "</div>\n");
}

static void write_vmem(const page *p, const tp_spec_report *s)
{
    const tp_memory_table *v = &s->vmem;
    if (!v->limit || !v->rows.len)
        return;
    double scale = 640.0 / (double)(v->bytes > v->limit ? v->bytes : v->limit), x = 0;
    raw(p, "<h3>VMEM</h3>\n");
    if (v->bytes >= 0) {
        fprintf(p->out,
                "<svg role=\"img\" viewBox=\"0 0 642 34\" width=\"642\" height=\"34\"><title>%.0f of %.0f "
                "KiB</title><rect x=\"1\" y=\"1\" width=\"%.1f\" height=\"24\" fill=\"none\" stroke=\"var(--dim)\"/>",
                (double)v->bytes / 1024, (double)v->limit / 1024, (double)v->limit * scale);
        for (uint32_t i = 0; i < v->rows.len; i++) {
            double w = (double)v->rows.at[i].bytes * scale;
            fprintf(p->out,
                    "<rect x=\"%.1f\" y=\"1\" width=\"%.1f\" height=\"24\" fill=\"var(--%s)\" fill-opacity=\"%.2f\" "
                    "stroke=\"var(--card)\"><title>",
                    x + 1, w > 0.5 ? w : 0.5, v->bytes > v->limit ? "bad" : "a", i % 2 ? 0.45 : 0.75);
            put(p, v->rows.at[i].name);
            raw(p, "</title></rect>");
            x += w;
        }
        raw(p, "</svg>\n");
    }
    raw(p, "<div class=\"scroll\"><table><caption>At the largest sizes");
    if (v->dtypes.n) {
        raw(p, ", ");
        put(p, v->dtypes);
    }
    raw(p, "; temporaries of the compiler are not modelled</caption><thead><tr><th scope=\"col\">buffer</th><th "
           "scope=\"col\">copies</th><th scope=\"col\">KiB each</th><th scope=\"col\">KiB</th></tr></thead><tbody>\n");
    for (uint32_t i = 0; i < v->rows.len; i++) {
        const tp_memory_row *m = &v->rows.at[i];
        raw(p, "<tr><th scope=\"row\">");
        put(p, m->name);
        fprintf(p->out, "</th><td class=\"n\">%d</td>", m->buffers);
        if (m->bytes >= 0)
            fprintf(p->out, "<td class=\"n\">%.1f</td><td class=\"n\">%.1f</td></tr>\n", (double)m->padded_bytes / 1024,
                    (double)m->bytes / 1024);
        else
            raw(p, "<td>no bound</td><td>no bound</td></tr>\n");
    }
    if (v->bytes >= 0)
        fprintf(p->out, "<tr><th scope=\"row\">together</th><td></td><td></td><td class=\"n\">%.1f of %.0f</td></tr>\n",
                (double)v->bytes / 1024, (double)v->limit / 1024);
    raw(p, "</tbody></table></div>\n");
}

/* ---- equivalence ---- */

static void write_histogram(const page *p, const tp_output_diff *d)
{
    uint64_t most = 1;
    for (uint32_t i = 0; i < TP_ULP_BUCKETS; i++)
        most = d->ulps[i] > most ? d->ulps[i] : most;
    fprintf(p->out, "<figure><svg role=\"img\" viewBox=\"0 0 %d 74\" width=\"%d\" height=\"74\"><title>Errors of ",
            TP_ULP_BUCKETS * 22 + 4, TP_ULP_BUCKETS * 22 + 4);
    put(p, d->name);
    raw(p, " in units of the last place</title>\n");
    for (uint32_t i = 0; i < TP_ULP_BUCKETS; i++) {
        double h = d->ulps[i] ? 4 + 50 * log1p((double)d->ulps[i]) / log1p((double)most) : 0;
        fprintf(
            p->out,
            "<rect x=\"%u\" y=\"%.1f\" width=\"18\" height=\"%.1f\" fill=\"var(--a)\" fill-opacity=\"0.6\"><title>%llu "
            "elements</title></rect><text x=\"%u\" y=\"70\" text-anchor=\"middle\">%u</text>\n",
            i * 22 + 4, 58 - h, h, (unsigned long long)d->ulps[i], i * 22 + 13, i);
    }
    raw(p, "</svg><figcaption><code>");
    put(p, d->name);
    fprintf(
        p->out,
        "</code>: elements by error, bucket k up to 2<sup>k-1</sup> units of the last place, at most %.3g; logarithmic "
        "height</figcaption></figure>\n",
        d->max_ulp);
}

static void write_equivalence(const page *p, const tp_spec_report *s)
{
    const tp_equiv *e = s->equiv;
    const tp_equality *q = &s->equality;
    if (!e)
        return;
    raw(p, "<h3>Against the reference</h3><div class=\"scroll\"><table><caption>What was compared</caption><tbody>\n");
    fprintf(p->out,
            "<tr><th scope=\"row\">cases</th><td>%u equal, %u different, %u trapped, %u not run; seed %llu</td></tr>\n",
            e->equal, e->different, e->trapped, e->skipped, (unsigned long long)e->seed);
    raw(p, "<tr><th scope=\"row\">all sizes</th><td>");
    if (q->proven)
        fprintf(p->out,
                "<span class=\"badge ok\">proven</span> over the reals, given the rules: %u obligations, %u with "
                "certificate",
                q->obligations, q->certified);
    else {
        raw(p, "<span class=\"badge note\">not shown</span> ");
        prose(p, q->reason);
    }
    uint32_t shapes = e->algebra.equal + e->box.equal;
    fprintf(p->out, "</td></tr>\n<tr><th scope=\"row\">algebra</th><td>%s%u shape%s",
            shapes ? "equal over the reals at " : "decided at ", shapes, shapes == 1 ? "" : "s");
    if (shapes && e->chance < HUGE_VAL)
        fprintf(p->out, "; false acceptance &le; 2<sup>-%.0f</sup>", e->chance);
    raw(p, "</td></tr>\n<tr><th scope=\"row\">rounding</th><td>");
    if (e->worst)
        fprintf(p->out, "worst distance %.3g of the certified bound", e->worst->ratio);
    if (e->unstable)
        fprintf(p->out, "; computed numbers off by %.3g of the tolerance", e->unstable->rounding);
    fprintf(p->out,
            "</td></tr>\n<tr><th scope=\"row\">bits</th><td>identical on exact inputs in %u "
            "case%s</td></tr></tbody></table></div>\n",
            e->bits.equal, e->bits.equal == 1 ? "" : "s");
    raw(p, "<div class=\"maps\">\n");
    for (uint32_t i = 0; i < e->cases.len && i < 1; i++)
        for (uint32_t o = 0; o < e->cases.at[i].outputs.len; o++)
            write_histogram(p, &e->cases.at[i].outputs.at[o]);
    raw(p, "</div>\n");
}

/* ---- the page ---- */

static void write_spec(const page *p, uint32_t i)
{
    const tp_spec_report *s = &p->r->specs.at[i];
    fprintf(p->out, "<section><h2 id=\"spec%u\">", i);
    name_of(p, s);
    fprintf(p->out, " %s</h2>\n<p class=\"dim\">", badge_of(s));
    put(p, s->source->path);
    if (s->spec) {
        raw(p, " &middot; target ");
        put(p, s->spec->kernels[0]->target.name);
        raw(p, "</p>\n<p>For all ");
        put(p, tp_domain_text(p->a, s->spec));
    }
    raw(p, "</p>\n");
    write_findings(p, s);
    if (s->spec) {
        write_maps(p, s);
        write_vmem(p, s);
        write_equivalence(p, s);
        raw(p, "<h3>Proofs</h3>\n");
        write_rules(p, s);
        const tp_kernel *k = s->spec->kernels[0];
        for (uint32_t c = 0; c < k->ncontracts; c++) {
            raw(p, c ? "<br>" : "<p>Taken for granted: ");
            put(p, k->contracts[c].id);
            raw(p, " <code>");
            put(p, k->contracts[c].text);
            raw(p, c + 1 == k->ncontracts ? "</code></p>\n" : "</code>");
        }
    }
    if (s->sha256.n) {
        raw(p, "<p class=\"dim\">sha256 <code>");
        put(p, s->sha256);
        raw(p, "</code></p>\n");
    }
    raw(p, "</section>\n");
}

static void write_html(const tp_report *r, FILE *out)
{
    page p = {r, tp_arena_child(r->arena), out};
    tp_counts t = {0};
    for (uint32_t i = 0; i < r->specs.len; i++) {
        tp_counts c = tp_count(&r->specs.at[i]);
        t.violated += c.violated + c.vacuous;
        t.unknown += c.unknown;
        t.proven += c.proven;
    }
    raw(&p,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" "
        "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"><meta "
        "name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>tileproof");
    if (r->specs.len == 1) {
        raw(&p, ": ");
        name_of(&p, &r->specs.at[0]);
    }
    raw(&p, "</title><style>");
    raw(&p, STYLE);
    fprintf(out,
            "</style></head><body><a class=\"skip\" href=\"#main\">To the findings</a><header><h1>tileproof</h1><p>%u "
            "spec%s: %u violated, %u unknown, %u proven</p></header><main id=\"main\">\n",
            r->specs.len, r->specs.len == 1 ? "" : "s", t.violated, t.unknown, t.proven);
    if (r->specs.len > 1)
        write_index(&p);
    for (uint32_t i = 0; i < r->specs.len; i++)
        write_spec(&p, i);
    raw(&p,
        "</main><footer><p>tileproof " TP_VERSION
        ". F2: every array dimension is at most 2^30. cert: each arithmetic step "
        "has a certificate; exact: decided by tables, text or every case; z3: by a solver. Proofs hold for all sizes "
        "of the spec; cases for what was run.</p></footer></body></html>\n");
    tp_arena_free(p.a);
}

const tp_format tp_format_html = {"html", "one self-contained page with pictures", write_html};
