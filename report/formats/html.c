/* One self-contained page: no scripts, no network, light and dark. */
#include <stdlib.h>

#include "cost/text.h"
#include "report/page/page.h"
#include "report/writing.h"

/* For the filters: what is the worst of it? */
static const char *class_of(const tp_spec_report *s)
{
    tp_counts c = tp_count(s);
    return !s->valid || c.violated + c.vacuous ? "is-bad" : c.unknown ? "is-open" : "is-ok";
}

static const char *badge_of(const tp_spec_report *s)
{
    tp_counts c = tp_count(s);
    if (!s->valid)
        return "<span class=\"badge bad\">not a valid spec</span>";
    return c.violated + c.vacuous ? "<span class=\"badge bad\">violated</span>"
           : c.unknown            ? "<span class=\"badge open\">unknown</span>"
                                  : "<span class=\"badge ok\">ok</span>";
}

static void name_of(const tp_page *p, const tp_spec_report *s)
{
    tp_html_put(p, s->name.n ? s->name : s->source->path);
}

/* ---- the index ---- */

static int grade_of(const tp_spec_report *s)
{
    tp_counts c = tp_count(s);
    return !s->valid ? 0 : c.violated + c.vacuous ? 1 : c.unknown ? 2 : 3;
}

/* A spec: where its row of the index and its section are. */
typedef struct entry {
    int grade;
    uint32_t spec;
    uint64_t row, row_end, section, section_end;
} entry;

typedef struct state {
    TP_VEC(entry) entries;
    tp_writing *record; /* the JSON record once more, for programs */
    bool quoted, escaped;
    bool *used; /* rules that some spec speaks of */
} state;
enum { SECTIONS, ROWS };

static int worst_first(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    return a->grade != b->grade ? (a->grade < b->grade ? -1 : 1) : a->spec < b->spec ? -1 : a->spec > b->spec;
}

/* The rules that are violated, or open, each once, with links to their first finding. */
static void write_open_rules(const tp_page *p, const tp_spec_report *s)
{
    bool any = false;
    for (uint32_t i = 0; i < s->findings.len; i++) {
        const tp_finding *f = &s->findings.at[i];
        bool again = !tp_is_standing(f) || !tp_is_shown(p->r, f);
        for (uint32_t k = 0; k < i && !again; k++)
            again = strcmp(s->findings.at[k].rule, f->rule) == 0 && tp_is_standing(&s->findings.at[k]);
        if (again)
            continue;
        fprintf(p->out, "%s<a href=\"#%.*s\">%s</a>", any ? ", " : "", TP_FMT(tp_html_anchor(p, s, f)), f->rule);
        any = true;
    }
}

/* In the model at usual sizes; nothing where there are no numbers. */
static void write_costs(const tp_page *p, const tp_usual_cost *c)
{
    bool timed = c && c->model.known && c->model.pipelined;
    fprintf(p->out, "<td class=\"n long cost%s\">", c ? " has" : "");
    if (timed)
        tp_html_put(p, tp_seconds_text(p->a, c->model.pipeline));
    tp_html_raw(p, "</td><td class=\"n long cost\">");
    const tp_cost_numbers *n = c ? &c->numbers : NULL;
    double once = n && n->ideal_in.known && n->ideal_out.known ? (double)n->ideal_in.n + (double)n->ideal_out.n : 0;
    if (once > 0 && n->bytes_in.known && n->bytes_out.known)
        fprintf(p->out, "%.3g", ((double)n->bytes_in.n + (double)n->bytes_out.n) / once);
    tp_html_raw(p, "</td>");
}

static void write_row(const tp_page *p, const tp_spec_report *s, const tp_usual_cost *cost)
{
    tp_counts c = tp_count(s);
    fprintf(p->out, "<tr class=\"%s\"><th scope=\"row\"><a href=\"#spec%u\">", class_of(s), p->spec);
    tp_html_breakable(p, s->name.n ? s->name : s->source->path);
    fprintf(p->out, "</a></th><td>%s</td><td>", badge_of(s));
    write_open_rules(p, s);
    fprintf(p->out, "</td><td class=\"n long\">%u</td><td class=\"n long\">", c.proven);
    if (s->vmem.limit && s->vmem.bytes >= 0)
        fprintf(p->out, "%.0f&nbsp;%%", 100.0 * (double)s->vmem.bytes / (double)s->vmem.limit);
    else
        tp_html_raw(p, s->vmem.limit ? "no bound" : "");
    tp_html_raw(p, "</td>");
    write_costs(p, cost);
    fprintf(p->out, "<td class=\"long ran%s\">", s->equiv ? " has" : "");
    if (s->equiv)
        fprintf(p->out, "%u of %u cases equal%s%s", c.tested, s->equiv->cases.len,
                s->equality.proven ? ", proven for all sizes" : "",
                tp_equiv_overflow(s->equiv) ? ", overflows in some" : "");
    tp_html_raw(p, "</td></tr>\n");
}

static void write_index(const tp_page *p, tp_writing *w)
{
    const state *x = w->state;
    tp_html_raw(p, "<fieldset class=\"filter\"><legend>Show</legend>"
                   "<input type=\"radio\" name=\"show\" id=\"show-all\" checked><label for=\"show-all\">all</label>"
                   "<input type=\"radio\" name=\"show\" id=\"show-bad\"><label for=\"show-bad\">violated</label>"
                   "<input type=\"radio\" name=\"show\" id=\"show-open\"><label for=\"show-open\">unknown</label>"
                   "<input type=\"radio\" name=\"show\" id=\"show-ok\"><label for=\"show-ok\">ok</label></fieldset>\n");
    tp_html_raw(p,
                "<table class=\"wide\"><caption>All specs, worst first<span class=\"long cost\">; time: in the model "
                "at usual sizes, "
                "at least; traffic: bytes through those of each array, once</span></caption><thead><tr><th "
                "scope=\"col\">kernel</th><th scope=\"col\">verdict</th><th scope=\"col\">rules</th><th scope=\"col\" "
                "class=\"long\">proven</th><th scope=\"col\" class=\"long\">VMEM</th><th scope=\"col\" "
                "class=\"long cost\">time</th><th scope=\"col\" class=\"long cost\">traffic</th><th scope=\"col\" "
                "class=\"long ran\">executed</th></tr></thead><tbody>\n");
    for (uint32_t i = 0; i < x->entries.len; i++)
        tp_copy_piece(w, ROWS, x->entries.at[i].row, x->entries.at[i].row_end, p->out);
    tp_html_raw(p, "</tbody></table>\n");
}

/* ---- the page ---- */

static void write_section(const tp_page *p, const tp_spec_report *s, const tp_usual_cost *cost)
{
    fprintf(p->out, "<section class=\"%s\"><h2 id=\"spec%u\">", class_of(s), p->spec);
    name_of(p, s);
    fprintf(p->out, " %s</h2>\n<p class=\"dim\">", badge_of(s));
    tp_html_put(p, s->source->path);
    if (s->spec) {
        tp_html_raw(p, " &middot; target ");
        tp_html_put(p, s->spec->kernels[0]->target.name);
        tp_html_raw(p, "</p>\n<p>For all ");
        tp_html_put(p, tp_domain_text(p->a, s));
        tp_str but = tp_domain_but(s);
        tp_html_raw(p, but.n ? "; but " : "");
        tp_html_put(p, but);
    }
    tp_html_raw(p, "</p>\n");
    tp_html_findings(p, s);
    if (s->spec) {
        tp_html_verdicts(p, s);
        tp_html_equivalence(p, s);
        tp_html_maps(p, s);
        tp_html_pipeline(p, s);
        tp_html_lanes(p, s);
        if (cost)
            tp_html_cost(p, s, cost);
        tp_html_vmem(p, s);
        tp_html_source(p, s);
        tp_html_raw(p, "<h3>Proofs</h3>\n");
        tp_html_rules(p, s);
        const tp_kernel *k = s->spec->kernels[0];
        for (uint32_t c = 0; c < k->ncontracts; c++) {
            tp_html_raw(p, c ? "<br>" : "<p>Taken for granted: ");
            tp_html_put(p, k->contracts[c].id);
            tp_html_raw(p, " <code>");
            tp_html_put(p, k->contracts[c].text);
            tp_html_raw(p, c + 1 == k->ncontracts ? "</code></p>\n" : "</code>");
        }
    }
    if (s->sha256.n) {
        tp_html_raw(p, "<p class=\"dim\">sha256 <code>");
        tp_html_put(p, s->sha256);
        tp_html_raw(p, "</code></p>\n");
    }
    tp_html_raw(p, "</section>\n");
}

static void note_rules(state *x, tp_arena *a, const tp_spec_report *s)
{
    size_t n;
    const tp_rule *const *rules = tp_rules(&n);
    x->used = x->used ? x->used : TP_NEWN(a, bool, n);
    for (uint32_t i = 0; i < s->findings.len; i++)
        for (size_t r = 0; r < n; r++)
            x->used[r] |= strcmp(s->findings.at[i].rule, rules[r]->code) == 0;
}

static void begin_record(state *x, tp_writing *w)
{
    if (x->record)
        return;
    tp_writing_begin(&x->record, w->arena, &tp_format_json, w->r, w->alone, NULL);
    x->record->lean = true;
}

static void write_spec(tp_writing *w, const tp_spec_report *s, tp_arena *a)
{
    state *x = w->state = w->state ? w->state : TP_NEW(w->arena, state);
    begin_record(x, w);
    tp_writing_spec(x->record, s, a);
    entry e = {
        .grade = grade_of(s), .spec = w->specs, .row = tp_part_length(w, ROWS), .section = tp_part_length(w, SECTIONS)};
    tp_usual_cost cost;
    bool known = s->spec && tp_usual_cost_of(a, s, &cost);
    write_row(&(tp_page){w->r, a, tp_part_out(w, ROWS), w->specs}, s, known ? &cost : NULL);
    write_section(&(tp_page){w->r, a, tp_part_out(w, SECTIONS), w->specs}, s, known ? &cost : NULL);
    note_rules(x, w->arena, s);
    e.row_end = tp_part_length(w, ROWS);
    e.section_end = tp_part_length(w, SECTIONS);
    tp_push(w->arena, x->entries, e);
}

/* Data, no script: without layout, and a "<" in it is written as an escape. */
static void put_record(const tp_page *p, state *x, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (!x->quoted && (c == ' ' || c == '\n'))
            continue;
        if (c == '"' && !x->escaped)
            x->quoted = !x->quoted;
        x->escaped = c == '\\' && !x->escaped;
        if (c == '<')
            tp_html_raw(p, "\\u003c");
        else
            fputc(c, p->out);
    }
}

static void write_record(const tp_page *p, state *x, const tp_report *r)
{
    enum { PIECE = 1 << 14 };
    char piece[PIECE];
    tp_spool *record = tp_spool_new(p->a);
    bool whole = tp_writing_end(x->record, r, tp_spool_out(record));
    tp_html_raw(p, "<script type=\"application/json\" id=\"record\">");
    for (uint64_t from = 0, n; (n = tp_spool_read(record, from, piece, PIECE)); from += n)
        put_record(p, x, piece, n);
    tp_html_raw(p, "</script>\n");
    whole &= !tp_spool_lost(record);
    tp_spool_free(record);
    if (!whole)
        tp_leave(p->a, TP_E_MEMORY);
}

/* A page that `sweep` wrote; the option keeps it a path. */
static void write_sweep(const tp_page *p)
{
    if (!p->r->sweep_page.n)
        return;
    tp_html_raw(p, "<p><a href=\"");
    tp_html_put(p, p->r->sweep_page);
    tp_html_raw(p, "\">Other block shapes</a>, by tileproof sweep</p>");
}

static void write_end(tp_writing *w, const tp_report *r, FILE *out)
{
    tp_page p = {.r = r, .a = tp_arena_child(w->arena), .out = out};
    state *x = w->state = w->state ? w->state : TP_NEW(w->arena, state);
    tp_counts t = {0};
    uint32_t clean = 0;
    for (uint32_t i = 0; i < r->specs.len; i++) {
        tp_counts c = tp_count(&r->specs.at[i]);
        t.violated += c.violated + c.vacuous;
        t.unknown += c.unknown;
        t.proven += c.proven;
        clean += tp_is_clean(&r->specs.at[i]);
    }
    tp_html_raw(
        &p,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" "
        "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"><meta "
        "name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>tileproof");
    if (r->specs.len == 1) {
        tp_html_raw(&p, ": ");
        name_of(&p, &r->specs.at[0]);
    }
    tp_html_raw(&p, "</title><style>");
    for (size_t i = 0; tp_page_style[i]; i++)
        tp_html_raw(&p, tp_page_style[i]);
    fprintf(out,
            "</style></head><body><a class=\"skip\" href=\"#main\">To the findings</a><header><h1>tileproof</h1><p>%u "
            "spec%s",
            r->specs.len, r->specs.len == 1 ? "" : "s");
    if (r->specs.len > 1)
        fprintf(out, ", %u clean", clean);
    fprintf(out, ": %u violated, %u unknown, %u proven</p>", t.violated, t.unknown, t.proven);
    write_sweep(&p);
    tp_html_raw(&p, "</header><main id=\"main\">\n");
    tp_html_raw(&p, tp_page_patterns);
    if (x->entries.len)
        qsort(x->entries.at, x->entries.len, sizeof *x->entries.at, worst_first);
    if (r->specs.len > 1)
        write_index(&p, w);
    for (uint32_t i = 0; i < x->entries.len; i++)
        tp_copy_piece(w, SECTIONS, x->entries.at[i].section, x->entries.at[i].section_end, out);
    begin_record(x, w);
    if (x->used)
        tp_html_about(&p, x->used);
    write_record(&p, x, r);
    tp_html_raw(
        &p,
        "</main><footer><p>tileproof " TP_VERSION ". F1: each array has fewer than 2^31 elements. F2: each array "
        "dimension is at most 2^30. cert: each arithmetic step "
        "has a certificate; exact: decided by tables, text or every case; z3: by a solver. Proofs hold for all sizes "
        "of the spec; cases for what was run.</p></footer></body></html>\n");
    tp_arena_free(p.a);
}

const tp_format tp_format_html = {"html", "one self-contained page with pictures", write_spec, write_end};
