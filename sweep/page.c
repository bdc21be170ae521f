/* A sweep as a page: a heat map for each two lists, with the forbidding rule in a cell. No scripts, no network. */
#include <math.h>

#include "report/page/page.h"
#include "cost/text.h"
#include "sweep/internal.h"

enum { SHADES = 10, MOST_MAPS = 16, MOST_ROWS = 64, MOST_COLUMNS = 48, BEST = 20 };

/* Contrast of the text stays over 4.5: a shade takes at most 45 % of the accent. */
static const char HEAT[] =
    ".heat{overflow-x:auto;margin:.6rem 0}.heat table{font-size:.8rem}.heat td,.heat th{padding:.15rem .35rem;"
    "white-space:nowrap}.heat td{text-align:right}.heat td.bad,.heat td.open{text-align:center}"
    ".h0{background:color-mix(in srgb,var(--a) 45%,var(--card))}.h1{background:color-mix(in srgb,var(--a) "
    "40%,var(--card))}.h2{background:color-mix(in srgb,var(--a) 35%,var(--card))}.h3{background:color-mix(in "
    "srgb,var(--a) 30%,var(--card))}.h4{background:color-mix(in srgb,var(--a) 25%,var(--card))}.h5{background:"
    "color-mix(in srgb,var(--a) 20%,var(--card))}.h6{background:color-mix(in srgb,var(--a) 15%,var(--card))}"
    ".h7{background:color-mix(in srgb,var(--a) 10%,var(--card))}.h8{background:color-mix(in srgb,var(--a) "
    "5%,var(--card))}.h9{background:var(--card)}td.best{outline:2px solid "
    "var(--ok);outline-offset:-2px;font-weight:700}";

typedef struct map {
    const tp_page *p;
    const tp_sweep *s;
    uint32_t rows, columns; /* axes; rows == columns: there is one list */
    double least, most;     /* seconds of legal shapes, or bytes of VMEM */
    bool by_time;
} map;

static double heat_of(const map *m, const tp_sweep_cell *c)
{
    return m->by_time ? (c->cost.known ? c->cost.seconds : -1) : (double)c->vmem;
}

static void find_range(map *m)
{
    m->least = HUGE_VAL;
    m->most = 0;
    for (uint32_t i = 0; i < m->s->ncells; i++) {
        double v = heat_of(m, &m->s->cells[i]);
        if (m->s->cells[i].said.verdict != TP_CELL_LEGAL || v < 0)
            continue;
        m->least = v < m->least ? v : m->least;
        m->most = v > m->most ? v : m->most;
    }
}

static int shade_of(const map *m, double v)
{
    if (v <= 0 || m->most <= m->least || m->least <= 0)
        return v <= m->least ? 0 : SHADES - 1;
    int shade = (int)(log(v / m->least) / log(m->most / m->least) * SHADES);
    return shade < 0 ? 0 : shade >= SHADES ? SHADES - 1 : shade;
}

static void write_cell(const map *m, uint32_t c)
{
    const tp_sweep_cell *cell = &m->s->cells[c];
    const char *rule = cell->said.nrules ? cell->said.rules[0] : "";
    double v = heat_of(m, cell);
    switch (cell->said.verdict) {
    case TP_CELL_FORBIDDEN: fprintf(m->p->out, "<td class=\"bad\">%s</td>", rule); return;
    case TP_CELL_UNKNOWN: fprintf(m->p->out, "<td class=\"open\">%s?</td>", rule); return;
    case TP_CELL_LEGAL: break;
    }
    fprintf(m->p->out, "<td class=\"h%d%s\">", v < 0 ? SHADES - 1 : shade_of(m, v), cell->pareto ? " best" : "");
    tp_html_put(m->p, v < 0        ? TP_S("legal")
                      : m->by_time ? tp_seconds_text(m->p->a, v)
                                   : tp_bytes_text(m->p->a, (int64_t)v));
    tp_html_raw(m->p, "</td>");
}

static void write_head(const map *m, uint32_t columns)
{
    tp_html_raw(m->p, "<thead><tr><th scope=\"col\">");
    if (m->rows != m->columns) {
        tp_html_put(m->p, m->s->axes[m->rows].name);
        tp_html_raw(m->p, " \\ ");
    }
    tp_html_put(m->p, m->s->axes[m->columns].name);
    tp_html_raw(m->p, "</th>");
    for (uint32_t x = 0; x < columns; x++) {
        tp_html_raw(m->p, "<th scope=\"col\">");
        tp_html_put(m->p, m->s->axes[m->columns].values[x]);
        tp_html_raw(m->p, "</th>");
    }
    tp_html_raw(m->p, "</tr></thead>");
}

/* Of the cells that have the other lists' values of `base`. */
static void write_map(const map *m, uint32_t base)
{
    const tp_sweep *s = m->s;
    bool one = m->rows == m->columns;
    uint32_t rows = one ? 1 : s->axes[m->rows].n, columns = s->axes[m->columns].n;
    uint32_t shown_rows = rows < MOST_ROWS ? rows : MOST_ROWS,
             shown_columns = columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
    tp_html_raw(m->p, "<div class=\"heat\" tabindex=\"0\" role=\"region\" aria-label=\"heat map\"><table><caption>");
    for (uint32_t i = 0; i < s->naxes; i++)
        if (i != m->rows && i != m->columns) {
            tp_html_put(m->p, s->axes[i].name);
            tp_html_raw(m->p, " = ");
            tp_html_put(m->p, s->axes[i].values[tp_sweep_at(s, base, i)]);
            tp_html_raw(m->p, " ");
        }
    tp_html_raw(m->p, "</caption>");
    write_head(m, shown_columns);
    tp_html_raw(m->p, "<tbody>\n");
    for (uint32_t y = 0; y < shown_rows; y++) {
        tp_html_raw(m->p, "<tr><th scope=\"row\">");
        tp_html_put(m->p, one ? TP_S("") : s->axes[m->rows].values[y]);
        tp_html_raw(m->p, "</th>");
        for (uint32_t x = 0; x < shown_columns; x++) {
            uint32_t cell = tp_sweep_with(s, base, m->columns, x);
            write_cell(m, one ? cell : tp_sweep_with(s, cell, m->rows, y));
        }
        tp_html_raw(m->p, "</tr>\n");
    }
    tp_html_raw(m->p, "</tbody></table></div>\n");
    if (shown_rows < rows || shown_columns < columns)
        fprintf(m->p->out, "<p class=\"dim\">The first %u of %u rows and %u of %u columns; the CSV has all.</p>\n",
                shown_rows, rows, shown_columns, columns);
}

/* The two lists with the most values, the first of them downwards. */
static void choose_axes(map *m)
{
    const tp_sweep_axis *x = m->s->axes;
    m->rows = 0;
    m->columns = m->s->naxes > 1;
    for (uint32_t i = 2; i < m->s->naxes; i++) {
        if (x[i].n > x[m->rows].n && x[m->columns].n >= x[m->rows].n) {
            m->rows = m->columns;
            m->columns = i;
        } else if (x[i].n > x[m->columns].n) {
            m->columns = i;
        }
    }
}

static void write_maps(const tp_page *p, const tp_sweep *s)
{
    map m = {.p = p, .s = s};
    choose_axes(&m);
    for (uint32_t i = 0; i < s->ncells; i++)
        m.by_time |= s->cells[i].said.verdict == TP_CELL_LEGAL && s->cells[i].cost.known;
    find_range(&m);
    uint32_t size = s->axes[m.columns].n * (m.rows == m.columns ? 1 : s->axes[m.rows].n), maps = s->ncells / size;
    fprintf(p->out,
            "<h2>Shapes</h2><p>A cell has the %s of a legal shape, the stronger its colour the %s; else the rule that "
            "forbids it, or "
            "leaves it undecided (?). Framed: no legal shape is better in time, traffic or VMEM and no worse in the "
            "others.</p>\n",
            m.by_time ? "model time" : "VMEM", m.by_time ? "faster" : "smaller");
    for (uint32_t i = 0, n = 0; i < s->ncells && n < MOST_MAPS; i++)
        if (tp_sweep_at(s, i, m.rows) == 0 && tp_sweep_at(s, i, m.columns) == 0) {
            write_map(&m, i);
            n++;
        }
    if (maps > MOST_MAPS)
        fprintf(p->out, "<p class=\"dim\">The first %d of %u maps; the CSV has all.</p>\n", MOST_MAPS, maps);
}

static void write_best(const tp_page *p, const tp_sweep *s)
{
    uint32_t n;
    const uint32_t *best = tp_sweep_best(p->a, s, &n);
    if (!n)
        return;
    tp_html_raw(p, "<h2>Best</h2><p>By the model's time");
    tp_html_raw(p, s->nmodelled ? " at " : "");
    tp_html_put(p, sweep_model_text(p->a, s));
    tp_html_raw(p, ", a bound from below: vector units and latencies are left out.</p>\n<div class=\"heat\" "
                   "tabindex=\"0\" role=\"region\" aria-label=\"best shapes\"><table><thead><tr><th "
                   "scope=\"col\">shape</th><th scope=\"col\">VMEM</th><th scope=\"col\">traffic</th><th "
                   "scope=\"col\">model time</th><th scope=\"col\">bound by</th>");
    tp_html_raw(p, s->measured ? "<th scope=\"col\">this machine</th>" : "");
    tp_html_raw(p, "</tr></thead><tbody>\n");
    for (uint32_t i = 0; i < n && i < BEST; i++) {
        const tp_sweep_cell *c = &s->cells[best[i]];
        fprintf(p->out, "<tr><th scope=\"row\">");
        tp_html_put(p, tp_sweep_cell_name(p->a, s, best[i]));
        fprintf(p->out, "</th><td>%.*s</td><td>%.*s</td><td>%.*s</td><td>%s</td>", TP_FMT(tp_bytes_text(p->a, c->vmem)),
                TP_FMT(c->cost.known ? tp_bytes_text(p->a, c->cost.bytes) : TP_S("not modelled")),
                TP_FMT(c->cost.known ? tp_seconds_text(p->a, c->cost.seconds) : TP_S("not modelled")),
                c->cost.known ? c->cost.bound : "");
        if (s->measured) {
            tp_html_raw(p, "<td>");
            tp_html_put(p, !c->here.tried ? TP_S("")
                           : c->here.why  ? tp_printf(p->a, "failed: %s", c->here.why)
                                          : tp_seconds_text(p->a, c->here.seconds));
            tp_html_raw(p, "</td>");
        }
        tp_html_raw(p, "</tr>\n");
    }
    tp_html_raw(p, "</tbody></table></div>\n");
    tp_html_raw(p, s->measured ? "<p class=\"dim\">This machine: processor time of one thread. It says nothing of a "
                                 "chip.</p>\n"
                               : "");
}

static void write_groups(const tp_page *p, const tp_sweep *s)
{
    tp_html_raw(p, s->groups.len ? "<h2>Not legal</h2>\n" : "");
    for (uint32_t i = 0; i < s->groups.len; i++) {
        const tp_sweep_group *g = &s->groups.at[i];
        const tp_rule *rule = tp_rule_find(tp_str_c(g->rule));
        const char *word = tp_sweep_verdict_name(g->verdict);
        fprintf(p->out, "<article class=\"%s\"><h4><span class=\"badge %s\">%s</span> %s %s: %u shape%s</h4><p>",
                g->verdict == TP_CELL_FORBIDDEN ? "is-error" : "is-warning",
                g->verdict == TP_CELL_FORBIDDEN ? "bad" : "open", word, g->rule, rule ? rule->slug : "", g->cells,
                g->cells == 1 ? "" : "s");
        tp_html_put(p, tp_sweep_cell_name(p->a, s, g->first));
        tp_html_raw(p, ": ");
        tp_html_prose(p, g->said.message);
        tp_html_raw(p, "</p>");
        if (g->said.smallest.n) {
            tp_html_raw(p, "<p class=\"dim\">smallest case: ");
            tp_html_put(p, g->said.smallest);
            tp_html_raw(p, "</p>");
        }
        if (rule) {
            tp_html_raw(p, "<p class=\"dim\">");
            tp_html_prose(p, tp_printf(p->a, "%s asks: %s. %s", rule->code, rule->title, rule->why));
            tp_html_raw(p, "</p>");
        }
        tp_html_raw(p, "</article>\n");
    }
}

void sweep_write_page(const tp_sweep *s, FILE *out)
{
    tp_page p = {NULL, tp_arena_child(s->arena), out};
    tp_html_raw(
        &p,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" "
        "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"><meta "
        "name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>tileproof sweep: ");
    tp_html_put(&p, s->name);
    tp_html_raw(&p, "</title><style>");
    for (size_t i = 0; tp_page_style[i]; i++)
        tp_html_raw(&p, tp_page_style[i]);
    tp_html_raw(&p, HEAT);
    tp_html_raw(&p, "</style></head><body><a class=\"skip\" href=\"#main\">To the shapes</a><header><h1>");
    tp_html_put(&p, s->name);
    fprintf(out, "</h1><p>%u shapes: %u legal, %u forbidden, %u unknown</p></header><main id=\"main\">\n", s->ncells,
            tp_sweep_count(s, TP_CELL_LEGAL), tp_sweep_count(s, TP_CELL_FORBIDDEN), tp_sweep_count(s, TP_CELL_UNKNOWN));
    write_maps(&p, s);
    write_best(&p, s);
    write_groups(&p, s);
    tp_html_raw(&p, "</main><footer><p>tileproof " TP_VERSION
                    ". Legal: every rule is proven, for all sizes that are not listed. Time is that of a "
                    "model.</p></footer></body></html>\n");
    tp_arena_free(p.a);
}
