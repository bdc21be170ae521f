/* A sweep for a terminal of 80 columns. */
#include <stdio.h>

#include "cost/text.h"
#include "sweep/internal.h"

enum { WIDTH = 80, BEST = 20 };

/* Words, in lines of WIDTH columns after an indent. */
static void wrap(FILE *out, int indent, tp_str text)
{
    int column = indent;
    fprintf(out, "%*s", indent, "");
    for (tp_str word; tp_list_next(&text, " ", &word);) {
        int n = 0;
        for (size_t i = 0; i < word.n; i++)
            n += ((unsigned char)word.p[i] & 0xc0) != 0x80; /* columns, not bytes */
        if (column > indent && column + 1 + n > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        fprintf(out, "%s%.*s", column > indent ? " " : "", TP_FMT(word));
        column += n + (column > indent);
    }
    fputc('\n', out);
}

static int width_of(const tp_sweep_axis *x)
{
    size_t n = x->name.n;
    for (uint32_t i = 0; i < x->n; i++)
        n = x->values[i].n > n ? x->values[i].n : n;
    return (int)n;
}

tp_str sweep_model_text(tp_arena *a, const tp_sweep *s)
{
    tp_buf b = {.arena = a};
    for (uint32_t i = 0; i < s->nmodelled; i++)
        tp_buf_printf(&b, "%s%.*s = %lld", i ? ", " : "", TP_FMT(s->modelled[i].name), (long long)s->modelled[i].value);
    return tp_buf_view(&b);
}

tp_str sweep_lists_text(tp_arena *a, const tp_sweep *s)
{
    tp_buf b = {.arena = a};
    for (uint32_t i = 0; i < s->naxes; i++)
        tp_buf_printf(&b, "%s%.*s", i ? ", " : "", TP_FMT(s->axes[i].name));
    return tp_buf_view(&b);
}

static void write_row(tp_arena *a, const tp_sweep *s, uint32_t c, FILE *out)
{
    const tp_sweep_cell *cell = &s->cells[c];
    fputs(cell->pareto ? "  *" : "   ", out);
    for (uint32_t i = 0; i < s->naxes; i++)
        fprintf(out, " %*.*s", width_of(&s->axes[i]), TP_FMT(s->axes[i].values[tp_sweep_at(s, c, i)]));
    fprintf(out, " %11.*s %11.*s %11.*s", TP_FMT(tp_bytes_text(a, cell->vmem)),
            TP_FMT(cell->cost.known ? tp_bytes_text(a, cell->cost.bytes) : TP_S("?")),
            TP_FMT(cell->cost.known ? tp_seconds_text(a, cell->cost.seconds) : TP_S("?")));
    if (s->measured)
        fprintf(out, " %11.*s",
                TP_FMT(!cell->here.tried ? TP_S("")
                       : cell->here.why  ? TP_S("failed")
                                         : tp_seconds_text(a, cell->here.seconds)));
    fprintf(out, "  %s\n", cell->cost.known ? cell->cost.bound : "");
}

/* The best, and behind them what of the Pareto list is not among these. */
static void write_best(tp_arena *a, const tp_sweep *s, FILE *out)
{
    uint32_t n, shown = 0;
    const uint32_t *best = tp_sweep_best(a, s, &n);
    if (!n)
        return;
    fputc('\n', out);
    if (s->nmodelled)
        wrap(out, 0, tp_printf(a, "legal, best first by the model's time at %.*s", TP_FMT(sweep_model_text(a, s))));
    else
        wrap(out, 0, TP_S("legal, best first by the model's time"));
    fputs("   ", out);
    for (uint32_t i = 0; i < s->naxes; i++)
        fprintf(out, " %*.*s", width_of(&s->axes[i]), TP_FMT(s->axes[i].name));
    fprintf(out, " %11s %11s %11s", "VMEM", "traffic", "model time");
    fprintf(out, s->measured ? " %11s  bound by\n" : "%s  bound by\n", s->measured ? "here" : "");
    for (uint32_t r = 0; r < n && shown < BEST; r++, shown++)
        write_row(a, s, best[r], out);
    for (uint32_t r = BEST, pareto = 0; r < n && pareto < BEST; r++)
        if (s->cells[best[r]].pareto) {
            write_row(a, s, best[r], out);
            shown++;
            pareto++;
        }
    if (n > shown)
        fprintf(out, "    and %u more, which --format csv lists\n", n - shown);
    fputs("  * no legal shape here is better in one of the three and no worse in the others\n", out);
    for (uint32_t r = 0; r < n; r++)
        if (!s->cells[best[r]].cost.known) {
            wrap(out, 2, tp_printf(a, "? not modelled for some: %s", s->cells[best[r]].cost.why));
            break;
        }
    if (s->measured)
        wrap(out, 2, TP_S("here: this machine's processor time by one thread, which says nothing of a chip"));
    for (uint32_t r = 0; r < s->measured; r++)
        if (s->cells[best[r]].here.why) {
            wrap(out, 2,
                 tp_printf(a, "failed, e.g. %.*s: %s", TP_FMT(tp_sweep_cell_name(a, s, best[r])),
                           s->cells[best[r]].here.why));
            break;
        }
}

static void write_group(tp_arena *a, const tp_sweep *s, const tp_sweep_group *g, FILE *out)
{
    const tp_rule *rule = tp_rule_find(tp_str_c(g->rule));
    const tp_code *code = tp_code_find(tp_str_c(g->rule));
    fprintf(out, "  %s %s: %u shape%s\n", g->rule,
            rule   ? rule->slug
            : code ? code->slug
                   : "",
            g->cells, g->cells == 1 ? "" : "s");
    wrap(out, 4,
         tp_printf(a, "e.g. %.*s: %.*s", TP_FMT(tp_sweep_cell_name(a, s, g->first)),
                   TP_FMT(tp_visible(a, g->said.message))));
    if (g->said.smallest.n)
        wrap(out, 4, tp_printf(a, "smallest case: %.*s", TP_FMT(g->said.smallest)));
}

static void write_groups(tp_arena *a, const tp_sweep *s, tp_sweep_verdict v, FILE *out)
{
    bool any = false;
    for (uint32_t i = 0; i < s->groups.len; i++) {
        if (s->groups.at[i].verdict != v)
            continue;
        if (!any)
            fprintf(out, "\n%s, by the first rule\n", tp_sweep_verdict_name(v));
        any = true;
        write_group(a, s, &s->groups.at[i], out);
    }
}

void sweep_write_table(const tp_sweep *s, FILE *out)
{
    tp_arena *a = tp_arena_child(s->arena);
    wrap(out, 0,
         tp_printf(a, "%.*s: %u shape%s of %.*s: %u legal, %u forbidden, %u unknown", TP_FMT(tp_visible(a, s->name)),
                   s->ncells, s->ncells == 1 ? "" : "s", TP_FMT(sweep_lists_text(a, s)),
                   tp_sweep_count(s, TP_CELL_LEGAL), tp_sweep_count(s, TP_CELL_FORBIDDEN),
                   tp_sweep_count(s, TP_CELL_UNKNOWN)));
    write_best(a, s, out);
    write_groups(a, s, TP_CELL_FORBIDDEN, out);
    write_groups(a, s, TP_CELL_UNKNOWN, out);
    tp_arena_free(a);
}
