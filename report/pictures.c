#include <math.h>

#include "base/checked.h"
#include "report/blocks.h"
#include "report/html.h"

/* ---- pictures ---- */

static void write_map(const tp_page *p, const tp_operand *o, const tp_block_map *m)
{
    enum { SIDE = 26 };
    uint32_t never = 0, again = 0, most = 1;
    for (uint32_t i = 0; i < m->rows * m->columns; i++) {
        never += m->visits[i] == 0;
        again += m->visits[i] > 1;
        most = m->visits[i] > most ? m->visits[i] : most;
    }
    tp_html_raw(p, "<figure><svg role=\"img\" viewBox=\"0 0 ");
    fprintf(p->out, "%u %u\" width=\"%u\" height=\"%u\"><title>", m->columns * SIDE + 2, m->rows * SIDE + 2,
            m->columns * SIDE + 2, m->rows * SIDE + 2);
    tp_html_put(p, o->name);
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
    tp_html_raw(p, "</svg><figcaption><code>");
    tp_html_put(p, o->name);
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
    tp_html_raw(p, "</figcaption></figure>\n");
}

void tp_html_maps(const tp_page *p, const tp_spec_report *s)
{
    tp_str sizes;
    int64_t *env = tp_map_sizes(p->a, s, &sizes);
    const tp_kernel *k = s->spec->kernels[0];
    bool any = false;
    uint32_t cells = 0, left_out = 0;
    for (uint32_t i = 0; env && i < k->ninputs + k->noutputs; i++) {
        tp_block_map m;
        if (!tp_map_blocks(p->a, k, &k->operands[i], env, &m))
            continue;
        if ((cells += m.rows * m.columns) > TP_MAP_CELLS) {
            left_out++;
            continue;
        }
        if (!any) {
            tp_html_raw(p, "<h3>Blocks</h3><p class=\"dim\">The number of the first step in each block, at ");
            tp_html_put(p, sizes.n ? sizes : TP_S("the only shape"));
            tp_html_raw(p, ". Darker: visited more often. Dashed: partly outside the array.</p><div class=\"maps\">\n");
        }
        any = true;
        write_map(p, &k->operands[i], &m);
    }
    if (any)
        tp_html_raw(p, "</div>\n");
    if (left_out)
        fprintf(p->out, "<p class=\"dim\">%u more operands are not drawn.</p>\n", left_out);
}

void tp_html_vmem(const tp_page *p, const tp_spec_report *s)
{
    const tp_memory_table *v = &s->vmem;
    if (!v->limit || !v->rows.len)
        return;
    double scale = 640.0 / (double)(v->bytes > v->limit ? v->bytes : v->limit), x = 0;
    tp_html_raw(p, "<h3>VMEM</h3>\n");
    if (v->bytes >= 0) {
        fprintf(p->out,
                "<svg role=\"img\" viewBox=\"0 0 642 34\" width=\"642\" height=\"34\"><title>%.0f of %.0f "
                "KiB</title><rect x=\"1\" y=\"1\" width=\"%.1f\" height=\"24\" fill=\"none\" stroke=\"var(--dim)\"/>",
                (double)v->bytes / 1024, (double)v->limit / 1024, (double)v->limit * scale);
        for (uint32_t i = 0; i < v->rows.len; i++) {
            const tp_memory_row *m = &v->rows.at[i];
            const char *color = v->bytes > v->limit ? "bad" : "a";
            double w = (double)m->bytes * scale, padding = tp_padding_share(m);
            tp_html_raw(p, "<g><title>");
            tp_html_put(p, m->name);
            fprintf(p->out,
                    ", %.0f %% padding</title><rect x=\"%.1f\" y=\"1\" width=\"%.1f\" height=\"24\" fill=\"var(--%s)\" "
                    "fill-opacity=\"0.25\" stroke=\"var(--card)\"/><rect x=\"%.1f\" y=\"1\" width=\"%.1f\" "
                    "height=\"24\" fill=\"var(--%s)\" fill-opacity=\"%.2f\"/></g>",
                    100 * padding, x + 1, w > 0.5 ? w : 0.5, color, x + 1, w * (1 - padding), color, i % 2 ? 0.6 : 0.9);
            x += w;
        }
        tp_html_raw(p, "</svg>\n");
    }
    tp_html_raw(p, "<div class=\"scroll\"><table><caption>At the largest sizes");
    if (v->dtypes.n) {
        tp_html_raw(p, ", ");
        tp_html_put(p, v->dtypes);
    }
    tp_html_raw(p,
                "; pale: padding to whole tiles; temporaries of the compiler are not modelled</caption><thead><tr><th "
                "scope=\"col\">buffer</th><th scope=\"col\">copies</th><th scope=\"col\">KiB each</th><th "
                "scope=\"col\">padding</th><th scope=\"col\">KiB</th></tr></thead><tbody>\n");
    for (uint32_t i = 0; i < v->rows.len; i++) {
        const tp_memory_row *m = &v->rows.at[i];
        tp_html_raw(p, "<tr><th scope=\"row\">");
        tp_html_put(p, m->name);
        fprintf(p->out, "</th><td class=\"n\">%d</td>", m->buffers);
        if (m->bytes >= 0)
            fprintf(p->out,
                    "<td class=\"n\">%.1f</td><td class=\"n\">%.0f&nbsp;%%</td><td class=\"n\">%.1f</td></tr>\n",
                    (double)m->padded_bytes / 1024, 100 * tp_padding_share(m), (double)m->bytes / 1024);
        else
            tp_html_raw(p, "<td>no bound</td><td></td><td>no bound</td></tr>\n");
    }
    if (v->bytes >= 0)
        fprintf(
            p->out,
            "<tr><th scope=\"row\">together</th><td></td><td></td><td></td><td class=\"n\">%.1f of %.0f</td></tr>\n",
            (double)v->bytes / 1024, (double)v->limit / 1024);
    tp_html_raw(p, "</tbody></table></div>\n");
}

static void write_histogram(const tp_page *p, const tp_output_diff *d)
{
    uint64_t most = 1;
    for (uint32_t i = 0; i < TP_ULP_BUCKETS; i++)
        most = d->ulps[i] > most ? d->ulps[i] : most;
    fprintf(p->out, "<figure><svg role=\"img\" viewBox=\"0 0 %d 74\" width=\"%d\" height=\"74\"><title>Errors of ",
            TP_ULP_BUCKETS * 22 + 4, TP_ULP_BUCKETS * 22 + 4);
    tp_html_put(p, d->name);
    tp_html_raw(p, " in units of the last place</title>\n");
    for (uint32_t i = 0; i < TP_ULP_BUCKETS; i++) {
        double h = d->ulps[i] ? 4 + 50 * log1p((double)d->ulps[i]) / log1p((double)most) : 0;
        fprintf(
            p->out,
            "<rect x=\"%u\" y=\"%.1f\" width=\"18\" height=\"%.1f\" fill=\"var(--a)\" fill-opacity=\"0.6\"><title>%llu "
            "elements</title></rect><text x=\"%u\" y=\"70\" text-anchor=\"middle\">%u</text>\n",
            i * 22 + 4, 58 - h, h, (unsigned long long)d->ulps[i], i * 22 + 13, i);
    }
    tp_html_raw(p, "</svg><figcaption><code>");
    tp_html_put(p, d->name);
    fprintf(
        p->out,
        "</code>: elements by error, bucket k up to 2<sup>k-1</sup> units of the last place, at most %.3g; logarithmic "
        "height</figcaption></figure>\n",
        d->max_ulp);
}

/* ---- the pipeline ---- */

/* One box per step: a copy, or a window that is still there. */
static void write_lane(const tp_page *p, const tp_copies *l, uint32_t operand, uint32_t row, bool output)
{
    enum { SIDE = 18, LEFT = 110 };
    for (uint32_t i = 0; i < l->shown; i++) {
        bool copied = l->copied[operand * l->shown + i];
        fprintf(p->out,
                "<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" fill=\"%s\" fill-opacity=\"0.6\" "
                "stroke=\"var(--line)\"><title>step "
                "%llu: %s</title></rect>",
                LEFT + i * SIDE, row * (SIDE + 4) + 2, SIDE - 2, SIDE - 2, copied ? "var(--a)" : "none",
                (unsigned long long)l->step[i], copied ? (output ? "written back" : "fetched") : "kept");
    }
}

void tp_html_lanes(const tp_page *p, const tp_spec_report *s)
{
    enum { SIDE = 18, LEFT = 110 };
    const tp_kernel *k = s->spec->kernels[0];
    tp_copies l;
    tp_str sizes;
    int64_t *env = tp_map_sizes(p->a, s, &sizes);
    if (!env || !tp_map_lanes(p->a, k, env, &l) || l.steps < 2)
        return;
    uint32_t operands = k->ninputs + k->noutputs, height = operands * (SIDE + 4) + 4;
    tp_html_raw(p, "<h3>Pipeline</h3><p class=\"dim\">Filled: a copy between HBM and VMEM in this step. Empty: the "
                   "window is the one of "
                   "the step before, and nothing is copied. At ");
    tp_html_put(p, sizes.n ? sizes : TP_S("the only shape"));
    fprintf(p->out, ", %s%u of %llu steps.</p>\n", l.shown < l.steps ? "the first and last, " : "", l.shown,
            (unsigned long long)l.steps);
    fprintf(p->out,
            "<div class=\"scroll\"><svg role=\"img\" viewBox=\"0 0 %u %u\" width=\"%u\" height=\"%u\"><title>Copies by "
            "step</title>\n",
            LEFT + l.shown * SIDE + 150, height, LEFT + l.shown * SIDE + 150, height);
    for (uint32_t o = 0; o < operands; o++) {
        const tp_operand *x = &k->operands[o];
        tp_str name = x->name.n > 12 ? tp_printf(p->a, "%.*s…", 11, x->name.p) : x->name;
        fprintf(p->out, "<text x=\"2\" y=\"%u\">%s ", o * (SIDE + 4) + 15, x->role == TP_INPUT ? "in" : "out");
        tp_html_put(p, name);
        tp_html_raw(p, "</text>");
        write_lane(p, &l, o, o, x->role == TP_OUTPUT);
        fprintf(p->out, "<text x=\"%u\" y=\"%u\">%llu copies</text>\n", LEFT + l.shown * SIDE + 6, o * (SIDE + 4) + 15,
                (unsigned long long)l.copies[o]);
    }
    tp_html_raw(p, "</svg></div>\n");
}

/* ---- errors ---- */

/* The worst error of each block. */
static void write_error_map(const tp_page *p, const tp_output_diff *d)
{
    enum { SIDE = 22, MOST = 30 };
    int64_t columns = d->rank ? d->blocks[d->rank - 1] : 0, rows = 1;
    for (uint32_t i = 0; i + 1 < d->rank && rows <= MOST; i++)
        if (!tp_mul(rows, d->blocks[i], &rows))
            return;
    if (!d->block_ulp || columns < 1 || columns > MOST || rows < 1 || rows > MOST || rows * columns < 2)
        return;
    double worst = 0;
    for (int64_t i = 0; i < rows * columns; i++)
        worst = d->block_ulp[i] > worst ? d->block_ulp[i] : worst;
    fprintf(p->out,
            "<figure><svg role=\"img\" viewBox=\"0 0 %lld %lld\" width=\"%lld\" height=\"%lld\"><title>Worst error by "
            "block of ",
            (long long)columns * SIDE + 2, (long long)rows * SIDE + 2, (long long)columns * SIDE + 2,
            (long long)rows * SIDE + 2);
    tp_html_put(p, d->name);
    tp_html_raw(p, "</title>\n");
    for (int64_t i = 0; i < rows * columns; i++)
        fprintf(p->out,
                "<rect x=\"%lld\" y=\"%lld\" width=\"%d\" height=\"%d\" fill=\"var(--bad)\" fill-opacity=\"%.2f\" "
                "stroke=\"var(--line)\"><title>%.3g ULP</title></rect>\n",
                (long long)(i % columns) * SIDE + 2, (long long)(i / columns) * SIDE + 2, SIDE - 2, SIDE - 2,
                worst > 0 ? 0.05 + 0.75 * d->block_ulp[i] / worst : 0.0, d->block_ulp[i]);
    tp_html_raw(p, "</svg><figcaption><code>");
    tp_html_put(p, d->name);
    fprintf(p->out, "</code>: worst error of each block, darkest %.3g ULP</figcaption></figure>\n", worst);
}

void tp_html_errors(const tp_page *p, const tp_output_diff *d)
{
    write_histogram(p, d);
    write_error_map(p, d);
}
