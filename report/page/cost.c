/* What the kernel costs at usual sizes (docs/COST.md): traffic by operand, and where it stands under the roofline. */
#include <math.h>

#include "cost/text.h"
#include "report/page/page.h"

/* ---- traffic ---- */

static void write_bytes(const tp_page *p, tp_cost_count n, const char *look)
{
    fprintf(p->out, "<td class=\"%s\">", look);
    tp_html_put(p, n.known ? tp_bytes_text(p->a, n.n) : TP_S("unknown"));
    tp_html_raw(p, "</td>");
}

static void write_row(const tp_page *p, tp_str name, tp_cost_count in, tp_cost_count out, tp_cost_count once)
{
    tp_html_raw(p, "<tr><th scope=\"row\">");
    tp_html_put(p, name);
    tp_html_raw(p, "</th>");
    write_bytes(p, in, "n");
    write_bytes(p, out, "n");
    write_bytes(p, once, "n long");
    if (in.known && out.known && once.known && once.n > 0)
        fprintf(p->out, "<td class=\"n\">%.3g</td></tr>\n", ((double)in.n + (double)out.n) / (double)once.n);
    else
        tp_html_raw(p, "<td></td></tr>\n");
}

static void write_traffic(const tp_page *p, const tp_cost_numbers *n)
{
    tp_html_raw(p, "<table><caption>Bytes between HBM and VMEM, exact; ratio: through those of the array, once"
                   "</caption><thead><tr><th scope=\"col\">operand</th><th scope=\"col\">in</th><th "
                   "scope=\"col\">out</th><th scope=\"col\" class=\"long\">once</th><th "
                   "scope=\"col\">ratio</th></tr></thead><tbody>\n");
    for (uint32_t i = 0; i < n->noperands; i++) {
        const tp_operand_cost *o = &n->operands[i];
        write_row(p, o->operand->name, o->bytes_in, o->bytes_out, o->array);
    }
    tp_cost_count once = {.known = n->ideal_in.known && n->ideal_out.known, .n = n->ideal_in.n + n->ideal_out.n};
    write_row(p, TP_S("all"), n->bytes_in, n->bytes_out, once);
    tp_html_raw(p, "</tbody></table>\n");
}

/* ---- the roofline ---- */

/* Both axes count decades. */
enum { CHART_LEFT = 44, DECADE_X = 46, DECADES = 5, CHART_TOP = 22, DECADE_Y = 32, FIRST_X = -1 };

typedef struct chart {
    const tp_page *p;
    double top; /* decade of FLOP/s at the upper edge */
} chart;

static double clamp(double v, double lo, double hi)
{
    return fmin(fmax(v, lo), hi);
}

static double x_of(double intensity)
{
    return CHART_LEFT + DECADE_X * clamp(log10(intensity) - FIRST_X, 0, DECADES);
}

static double y_of(const chart *c, double rate)
{
    return CHART_TOP + DECADE_Y * clamp(c->top - log10(rate), 0, DECADES);
}

static void write_axes(const chart *c)
{
    static const char *const RATES[] = {"", "k", "M", "G", "T", "P", "E"}, *const INTENSITIES[] = {"0.1", "1",  "10",
                                                                                                   "100", "1k", "10k"};
    _Static_assert(sizeof INTENSITIES / sizeof *INTENSITIES == DECADES + 1 && FIRST_X == -1, "a label for each decade");
    int right = CHART_LEFT + DECADES * DECADE_X, bottom = CHART_TOP + DECADES * DECADE_Y;
    fprintf(c->p->out, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"var(--dim)\"/>\n", CHART_LEFT, CHART_TOP,
            bottom, right);
    for (int d = 0; d <= DECADES; d++) {
        int decade = (int)c->top - d;
        fprintf(c->p->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s%s</text>", CHART_LEFT - 4,
                CHART_TOP + d * DECADE_Y + 4,
                decade % 3 == 0   ? "1"
                : decade % 3 == 1 ? "10"
                                  : "100",
                decade >= 0 && decade / 3 < 7 ? RATES[decade / 3] : "");
        fprintf(c->p->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>", CHART_LEFT + d * DECADE_X,
                bottom + 16, INTENSITIES[d]);
    }
    fprintf(c->p->out,
            "<text x=\"%d\" y=\"12\">FLOP/s</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">FLOPs per byte</text>\n",
            0, right, bottom + 32);
}

static void write_mark(const chart *c, double intensity, double rate, const char *look, const char *title)
{
    fprintf(c->p->out,
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" %s><title>%s: %.4g FLOPs per byte, %.4g FLOP/s</title></circle>\n",
            x_of(intensity), y_of(c, rate), look, title, intensity, rate);
}

/* The kernel under what HBM and the matrix unit allow; hollow: as if each array moved once, at the roof. */
static void write_roofline(const tp_page *p, const tp_cost_numbers *n, const tp_cost_model *m)
{
    double bandwidth = m->target->hbm_bandwidth, peak = m->ridge * bandwidth, flops = (double)n->flops.n,
           once = (double)n->ideal_in.n + (double)n->ideal_out.n, most = peak > 0 ? peak : bandwidth * 1e4;
    chart c = {p, ceil(log10(most))};
    int width = CHART_LEFT + DECADES * DECADE_X + 12, height = CHART_TOP + DECADES * DECADE_Y + 38;
    fprintf(p->out, "<figure><svg role=\"img\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\"><title>Roofline of ",
            width, height, width, height);
    tp_html_put(p, m->target->name);
    tp_html_raw(p, "</title>\n");
    write_axes(&c);
    double first = pow(10, FIRST_X), last = pow(10, FIRST_X + DECADES), lowest = pow(10, c.top - DECADES),
           from = fmax(first, lowest / bandwidth), to = peak > 0 ? fmin(m->ridge, last) : last;
    fprintf(p->out, "<path d=\"M%.1f %.1fL%.1f %.1f%s\" fill=\"none\" stroke=\"var(--a)\" stroke-width=\"2\"/>\n",
            x_of(from), y_of(&c, bandwidth * from), x_of(to), y_of(&c, bandwidth * to),
            peak > 0 && to < last ? tp_cstr(p->a, tp_printf(p->a, "H%.1f", x_of(last))) : "");
    if (once > 0 && n->ideal_in.known && n->ideal_out.known) {
        double roof = bandwidth * flops / once;
        write_mark(&c, flops / once, peak > 0 ? fmin(roof, peak) : roof,
                   "fill=\"var(--card)\" stroke=\"var(--ink)\" stroke-width=\"2\"", "each array once");
    }
    write_mark(&c, m->intensity, flops / m->pipeline, "fill=\"var(--bad)\"", "the kernel");
    fprintf(p->out,
            "</svg><figcaption>Filled: the kernel, with its bubbles; hollow: each array moved once, at the roof%s"
            "</figcaption></figure>\n",
            peak > 0 ? "" : ". No dots: the matrix unit rests");
}

/* ---- all of it ---- */

static void write_flops(const tp_page *p, double n)
{
    static const char *const UNITS[] = {"", "k", "M", "G", "T", "P", "E"};
    size_t u = 0;
    for (; n >= 1000 && u + 1 < sizeof UNITS / sizeof *UNITS; u++)
        n /= 1000;
    fprintf(p->out, ". %.4g&nbsp;%sFLOPs", n, UNITS[u]);
}

static void write_model(const tp_page *p, const tp_cost_numbers *n, const tp_cost_model *m)
{
    tp_html_raw(p, "<p>Model, one core of ");
    tp_html_put(p, m->target->name);
    if (!m->known || !m->pipelined) {
        tp_html_raw(p, ": unknown, because ");
        tp_html_put(p, m->why);
        tp_html_raw(p, ".</p>\n");
        return;
    }
    tp_html_raw(p, ": at least <strong>");
    tp_html_put(p, tp_seconds_text(p->a, m->pipeline));
    fprintf(p->out, "</strong>; %s binds", m->bound == TP_BOUND_COMPUTE ? "the matrix unit" : "HBM");
    if (m->pipeline > 0 && m->bubbles > 0.005 * m->pipeline)
        fprintf(p->out, ", and waits in %.0f&nbsp;%% of it", 100 * m->bubbles / m->pipeline);
    write_flops(p, (double)n->flops.n);
    fprintf(p->out, ", %.4g for each byte.", m->intensity);
    tp_html_raw(p, m->f32_peak ? " The peak is that of bfloat16, which bounds float32.</p>\n" : "</p>\n");
}

void tp_html_cost(const tp_page *p, const tp_spec_report *s, const tp_usual_cost *c)
{
    const tp_kernel *k = s->spec->kernels[0];
    tp_str dtypes = tp_dtypes_text(k);
    const tp_cost_numbers *n = &c->numbers;
    const tp_cost_model *m = &c->model;
    tp_html_raw(p, "<h3>Cost</h3><p class=\"dim\">At ");
    tp_html_put(p, c->sizes.n ? c->sizes : TP_S("the only shape"));
    tp_html_raw(p, dtypes.n ? ", " : "");
    tp_html_put(p, dtypes);
    tp_html_raw(p, "; <code>tileproof cost</code> counts at others, and on every chip.</p>\n");
    if (k->target.checked)
        write_model(p, n, m);
    tp_html_raw(p, "<div class=\"maps\">\n");
    write_traffic(p, n);
    if (k->target.checked && m->known && m->pipelined && m->pipeline > 0 && m->intensity > 0)
        write_roofline(p, n, m);
    tp_html_raw(p, "</div>\n");
}
