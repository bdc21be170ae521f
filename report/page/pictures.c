/* Blocks by first visit, the pipeline, VMEM. Text in a picture is of 12 px or left out. */
#include "base/checked.h"
#include "report/blocks.h"
#include "report/page/page.h"

/* ---- blocks ---- */

/* A cell is wide enough for a number of four digits, or has none. */
typedef struct grid {
    uint32_t side, rim; /* of a cell; cells around the array */
    bool numbers;
} grid;

static grid grid_of(const tp_block_map *m)
{
    enum { WITH_NUMBERS = 9, SMALL = 20 };
    grid g = {.rim = 0};
    for (uint32_t i = 0; i < m->shown; i++)
        for (int64_t r = -1; r <= m->rows; r++)
            for (int64_t c = -1; c <= m->columns; c++)
                if ((r < 0 || r == m->rows || c < 0 || c == m->columns) && m->visits[tp_map_cell(m, i, r, c)])
                    g.rim = 1;
    uint32_t columns = m->columns + 2 * g.rim;
    g.numbers = columns <= WITH_NUMBERS;
    g.side = g.numbers ? 32 : columns <= SMALL ? 14 : 7;
    return g;
}

static void write_cell(const tp_page *p, const tp_block_map *m, grid g, uint32_t slice, int64_t r, int64_t c,
                       uint32_t most)
{
    size_t cell = tp_map_cell(m, slice, r, c);
    uint32_t v = m->visits[cell];
    bool outside = r < 0 || c < 0 || r == m->rows || c == m->columns;
    if (outside && !v)
        return;
    double shade = outside ? 0.5 : v == 1 ? 0.2 : 0.2 + 0.3 * (double)v / (double)most; /* as the key */
    fprintf(p->out, "<rect x=\"%ld\" y=\"%ld\" width=\"%u\" height=\"%u\" class=\"%s\"", (long)(c + g.rim) * g.side + 2,
            (long)(r + g.rim) * g.side + 2, g.side - 2, g.side - 2, outside ? "out" : "block");
    if (v)
        fprintf(p->out, " fill-opacity=\"%.2f\"", shade);
    if (g.numbers)
        tp_html_raw(p, "/>\n");
    else if (v)
        fprintf(p->out, "><title>step %u, %u visit%s</title></rect>\n", m->first[cell], v, v == 1 ? "" : "s");
    else
        tp_html_raw(p, "><title>never</title></rect>\n");
}

/* The middle of a cell along one side; of a last one, which the frame cuts, the middle of the larger part. */
static long middle(grid g, int64_t at, uint32_t last, double padding)
{
    double part = at + 1 == last ? padding >= 0.5 ? 1 - padding / 2 : (1 - padding) / 2 : 0.5;
    return (long)((double)((at + g.rim) * g.side) + part * g.side);
}

/* Over the hatching, on a ground of its own where that is. */
static void write_number(const tp_page *p, const tp_block_map *m, grid g, uint32_t slice, int64_t r, int64_t c)
{
    size_t cell = tp_map_cell(m, slice, r, c);
    bool outside = r < 0 || c < 0 || r == m->rows || c == m->columns;
    if (outside && !m->visits[cell])
        return;
    fprintf(p->out, "<text x=\"%ld\" y=\"%ld\">", middle(g, c, m->columns, m->column_padding) + 1,
            middle(g, r, m->rows, m->row_padding) + 5);
    if (m->visits[cell])
        fprintf(p->out, "%u</text>", m->first[cell]);
    else
        tp_html_raw(p, "&#8211;</text>\n");
}

/* What of the last blocks lies beyond the array is hatched; the frame is the array. */
static void write_frame(const tp_page *p, const tp_block_map *m, grid g)
{
    double x = g.rim * g.side + 1, y = x, w = m->columns * g.side, h = m->rows * g.side,
           right = m->column_padding * g.side, below = m->row_padding * g.side;
    if (right > 0)
        fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"url(#padding)\"/>",
                x + w - right, y, right, h);
    if (below > 0)
        fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"url(#padding)\"/>", x,
                y + h - below, w - right, below);
    fprintf(p->out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" stroke=\"var(--ink)\" "
            "stroke-width=\"1.5\"/>\n",
            x, y, w - right, h - below);
}

static void write_slice(const tp_page *p, const tp_operand *o, const tp_block_map *m, grid g, uint32_t slice,
                        uint32_t most)
{
    uint32_t width = (m->columns + 2 * g.rim) * g.side + 3, height = (m->rows + 2 * g.rim) * g.side + 3;
    tp_html_raw(p, "<div>");
    fprintf(p->out, "<svg role=\"img\" viewBox=\"0 0 %u %u\" width=\"%u\" height=\"%u\"><title>Blocks of ", width,
            height, width, height);
    tp_html_put(p, o->name);
    tp_html_put(p, m->title[slice]);
    fprintf(p->out, ", %u by %u</title>\n", m->rows, m->columns);
    for (int64_t r = -1; r <= m->rows; r++)
        for (int64_t c = -1; c <= m->columns; c++)
            write_cell(p, m, g, slice, r, c, most);
    write_frame(p, m, g);
    tp_html_raw(p, g.numbers ? "<g class=\"at over\">\n" : "");
    for (int64_t r = -1; r <= m->rows && g.numbers; r++)
        for (int64_t c = -1; c <= m->columns; c++)
            write_number(p, m, g, slice, r, c);
    tp_html_raw(p, g.numbers ? "</g></svg>" : "</svg>");
    if (m->title[slice].n) {
        tp_html_raw(p, "<code>");
        tp_html_put(p, m->title[slice]);
        tp_html_raw(p, "</code>");
    }
    tp_html_raw(p, "</div>\n");
}

static void write_map(const tp_page *p, const tp_operand *o, const tp_block_map *m)
{
    tp_visits n = tp_map_visits(m);
    grid g = grid_of(m);
    tp_html_raw(p, "<figure><div class=\"slices\">");
    for (uint32_t i = 0; i < m->shown; i++)
        write_slice(p, o, m, g, i, n.most ? n.most : 1);
    tp_html_raw(p, "</div><figcaption><code>");
    tp_html_put(p, o->name);
    fprintf(p->out, "</code>, %s", o->role == TP_INPUT ? "input" : "output");
    if (m->shown < m->slices)
        fprintf(p->out, ", %u of %u slices", m->shown, m->slices);
    tp_html_raw(p, ": ");
    if (n.never)
        fprintf(p->out, "%llu of %llu blocks never, ", (unsigned long long)n.never, (unsigned long long)n.blocks);
    if (n.most > 1)
        fprintf(p->out, "%llu of %llu blocks again and again, up to %u times", (unsigned long long)n.again,
                (unsigned long long)n.blocks, n.most);
    else
        tp_html_raw(p, n.never ? "the others once" : "each block once");
    if (m->outside)
        fprintf(p->out, "; %u of %u steps outside the array", m->outside, m->steps);
    tp_html_raw(p, "</figcaption></figure>\n");
}

/* Windows that are not drawn. */
static void write_left_out(const tp_page *p, const tp_kernel *k, const bool *left_out, bool headed)
{
    bool any = false;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        const tp_operand *o = &k->operands[i];
        if (!left_out[i] || o->whole || !o->rank || tp_has_element_dims(o) || tp_is_far(o))
            continue;
        tp_html_raw(p, any || headed ? "" : "<h3>Blocks</h3>");
        tp_html_raw(p, any ? ", <code>" : "<p class=\"dim\">Not drawn: <code>");
        tp_html_put(p, o->name);
        tp_html_raw(p, "</code>");
        any = true;
    }
    if (any)
        fprintf(p->out, ". Pictures have at most %d blocks along a side, and %d steps.</p>\n", TP_MAP_SIDE,
                TP_MAP_STEPS);
}

void tp_html_maps(const tp_page *p, const tp_spec_report *s)
{
    tp_str sizes;
    int64_t *env = tp_map_sizes(p->a, s, &sizes);
    const tp_kernel *k = s->spec->kernels[0];
    bool any = false;
    size_t cells = 0;
    bool left_out[TP_MAX_OPERANDS] = {false};
    for (uint32_t i = 0; env && i < k->ninputs + k->noutputs; i++) {
        tp_block_map m;
        bool drawn = tp_map_blocks(p->a, k, &k->operands[i], env, &m);
        left_out[i] = !drawn || (cells += tp_map_cell(&m, m.shown, -1, -1)) > TP_MAP_CELLS;
        if (left_out[i])
            continue;
        if (!any) {
            tp_html_raw(p, "<h3>Blocks</h3><p class=\"dim\">At ");
            tp_html_put(p, sizes.n ? sizes : TP_S("the only shape"));
            tp_html_raw(p,
                        ". The number in a block is that of the first grid step in it.</p><p class=\"legend\"><span "
                        "class=\"item\"><span class=\"key once\"></span>visited once</span><span class=\"item\"><span "
                        "class=\"key more\"></span>more often</span><span class=\"item\"><span "
                        "class=\"key\"></span>never</span><span class=\"item\"><span class=\"key padding\"></span>"
                        "padding beyond the array, which the frame shows</span><span class=\"item\"><span "
                        "class=\"key outside\"></span>window outside</span></p><div "
                        "class=\"maps\">\n");
        }
        any = true;
        write_map(p, &k->operands[i], &m);
    }
    if (any)
        tp_html_raw(p, "</div>\n");
    write_left_out(p, k, left_out, any);
}

/* ---- VMEM ---- */

/* The whole limit as a bar, or all that is asked for where that is more. */
static void write_bar(const tp_page *p, const tp_memory_table *v)
{
    double all = (double)(v->bytes > v->limit ? v->bytes : v->limit);
    fprintf(p->out, "<p><strong>%.1f of %.0f KiB, %.0f&nbsp;%%</strong></p><div class=\"bar%s\" aria-hidden=\"true\">",
            (double)v->bytes / 1024, (double)v->limit / 1024, 100 * (double)v->bytes / (double)v->limit,
            v->bytes > v->limit ? " over" : "");
    for (uint32_t i = 0; i < v->rows.len; i++)
        fprintf(p->out, "<i%s style=\"width:%.2f%%\"></i>", i % 2 ? " class=\"odd\"" : "",
                100 * (double)v->rows.at[i].bytes / all);
    fprintf(p->out, "<b style=\"left:calc(%.2f%% - 2px)\"></b></div>\n", 100 * (double)v->limit / all);
}

void tp_html_vmem(const tp_page *p, const tp_spec_report *s)
{
    const tp_memory_table *v = &s->vmem;
    int64_t most = 1;
    if (!v->limit || !v->rows.len)
        return;
    tp_html_raw(p, "<h3>VMEM</h3>\n");
    if (v->bytes >= 0)
        write_bar(p, v);
    tp_html_raw(p, "<table class=\"wide\"><caption>At the largest sizes");
    if (v->dtypes.n) {
        tp_html_raw(p, ", ");
        tp_html_put(p, v->dtypes);
    }
    tp_html_raw(p, "; hatched: padding to whole tiles; line: the limit. Temporaries of the compiler are not "
                   "modelled</caption><thead><tr><th scope=\"col\">buffer</th><th scope=\"col\">KiB</th><th "
                   "scope=\"col\">copies</th><th scope=\"col\">padding</th><th scope=\"col\" "
                   "class=\"share long\">share</th></tr></thead><tbody>\n");
    for (uint32_t i = 0; i < v->rows.len; i++)
        most = v->rows.at[i].bytes > most ? v->rows.at[i].bytes : most;
    for (uint32_t i = 0; i < v->rows.len; i++) {
        const tp_memory_row *m = &v->rows.at[i];
        tp_html_raw(p, "<tr><th scope=\"row\">");
        tp_html_put(p, m->name);
        if (m->bytes < 0) {
            fprintf(p->out, "</th><td>no bound</td><td class=\"n\">%d</td><td></td><td class=\"long\"></td></tr>\n",
                    m->buffers);
            continue;
        }
        fprintf(p->out, "</th><td class=\"n\">%.1f</td><td class=\"n\">%d x %.1f</td><td class=\"n\">%.0f&nbsp;%%</td>",
                (double)m->bytes / 1024, m->buffers, (double)m->padded_bytes / 1024, 100 * tp_padding_share(m));
        fprintf(p->out,
                "<td class=\"share long\"><i style=\"width:%.1f%%\"><u style=\"width:%.0f%%\"></u></i></td></tr>\n",
                100 * (double)m->bytes / (double)most, 100 * tp_padding_share(m));
    }
    tp_html_raw(p, "</tbody></table>\n");
    tp_html_memory(p, s);
}

/* ---- the pipeline ---- */

/* In a slot one step is computed, windows of later steps come in, those of the step before go out; one picture has
 * SLOTS of them, as a telephone is wide. */
enum { SLOT = 20, LEFT = 84, SLOTS = 11, LANE = 24 };

static void write_lane_name(const tp_page *p, uint32_t row, const char *kind, tp_str name)
{
    enum { WIDTH = 7 };
    fprintf(p->out, "<text x=\"0\" y=\"%u\">%s ", row * LANE + 16, kind);
    tp_html_put(p, name.n > WIDTH ? tp_printf(p->a, "%.*s…", WIDTH - 1, name.p) : name);
    tp_html_raw(p, "</text>");
}

/* A copy of the body is in its own step; so is that of a window with one buffer, before or behind what is computed. */
static void write_transfer(const tp_page *p, const tp_operand *o, const tp_copies *l, uint32_t operand, uint32_t row,
                           int64_t slot, uint32_t column)
{
    bool far = tp_is_far(o), out = o->role == TP_OUTPUT;
    int64_t lead = far ? 0 : tp_window_lead(o), step = tp_step_in_slot(l, slot) + (out ? -lead : lead);
    uint32_t n = tp_copied_for(l, operand, step);
    if (!n || (!lead && (slot < 0 || slot >= l->shown)))
        return;
    bool half = !lead && !far;
    fprintf(p->out, "<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" class=\"%s\"><title>",
            LEFT + column * SLOT + (half && out ? SLOT / 2 : 0), row * LANE + 3, half ? SLOT / 2 - 2 : SLOT - 2,
            LANE - 6, out ? "back" : "moved");
    if (far)
        fprintf(p->out, "copied %u time%s in", n, n == 1 ? "" : "s");
    else
        tp_html_raw(p, out ? "written back after" : "fetched for");
    fprintf(p->out, " step %lld</title></rect>", (long long)step + 1);
}

static void write_compute(const tp_page *p, const tp_copies *l, uint32_t row, int64_t slot, uint32_t column)
{
    if (slot < 0 || slot >= l->shown)
        return;
    fprintf(p->out, "<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" class=\"step\"/>", LEFT + column * SLOT,
            row * LANE + 3, SLOT - 2, LANE - 6);
    if (l->step[slot] < 100)
        fprintf(p->out, "<text x=\"%u\" y=\"%u\" class=\"at\">%llu</text>\n", LEFT + column * SLOT + SLOT / 2 - 1,
                row * LANE + 16, (unsigned long long)l->step[slot]);
    else
        fprintf(p->out, "<text x=\"%u\" y=\"%u\" class=\"at\">·</text>\n", LEFT + column * SLOT + SLOT / 2 - 1,
                row * LANE + 16);
}

/* The slots from `from` on. */
static void write_slots(const tp_page *p, const tp_kernel *k, const tp_copies *l, int64_t from, int64_t to)
{
    uint32_t operands = k->ninputs + k->noutputs, width = LEFT + SLOTS * SLOT, height = (operands + 1) * LANE + 2;
    fprintf(p->out,
            "<svg role=\"img\" viewBox=\"0 0 %u %u\" width=\"%u\" height=\"%u\"><title>Copies and steps %lld to "
            "%lld</title>\n",
            width, height, width, height, (long long)(from < 0 ? 1 : from + 1), (long long)to);
    for (uint32_t row = 0; row <= operands; row++) {
        bool compute = row == k->ninputs;
        uint32_t operand = row < k->ninputs ? row : row - 1;
        const tp_operand *x = compute ? NULL : &k->operands[operand];
        write_lane_name(p, row, compute ? "" : x->role == TP_INPUT ? "in" : "out", compute ? TP_S("compute") : x->name);
        for (int64_t slot = from; slot < to; slot++)
            if (compute)
                write_compute(p, l, row, slot, (uint32_t)(slot - from));
            else
                write_transfer(p, x, l, operand, row, slot, (uint32_t)(slot - from));
    }
    tp_html_raw(p, "</svg>\n");
}

static void write_names(const tp_page *p, const tp_kernel *k, bool (*is_named)(const tp_operand *o))
{
    bool any = false;
    for (uint32_t o = 0; o < k->ninputs + k->noutputs; o++) {
        if (!is_named(&k->operands[o]))
            continue;
        tp_html_raw(p, any ? ", <code>" : " <code>");
        tp_html_put(p, k->operands[o].name);
        tp_html_raw(p, "</code>");
        any = true;
    }
}

static bool has_one_buffer(const tp_operand *o)
{
    return !tp_is_far(o) && !tp_window_lead(o);
}

/* Windows that come in or go out in another way than with two buffers. */
static void write_exceptions(const tp_page *p, const tp_kernel *k)
{
    bool single = false, far = false;
    if (tp_has_devices(k)) {
        tp_html_raw(p, " Steps along <code>");
        for (uint32_t i = 0; i < tp_mesh_rank(k); i++) {
            tp_html_raw(p, i ? "</code>, <code>" : "");
            tp_html_put(p, k->axes[i].name);
        }
        tp_html_raw(
            p, "</code> are devices, which work at the same time; a copy to another one is marked where it starts.");
    }
    for (uint32_t o = 0; o < k->ninputs + k->noutputs; o++) {
        const tp_operand *x = &k->operands[o];
        single |= has_one_buffer(x);
        far |= tp_is_far(x);
        if (tp_is_far(x) || x->role == TP_OUTPUT || x->buffers < 3)
            continue;
        tp_html_raw(p, " <code>");
        tp_html_put(p, x->name);
        fprintf(p->out, "</code> comes in %u steps ahead, into %d buffers.", tp_window_lead(x), x->buffers);
    }
    if (single) {
        tp_html_raw(p, " With one buffer, a step waits for its copies (half a square):");
        write_names(p, k, has_one_buffer);
        tp_html_raw(p, ".");
    }
    if (far) {
        tp_html_raw(p, " Copied by the body, in the steps that are marked:");
        write_names(p, k, tp_is_far);
        tp_html_raw(p, ".");
    }
}

void tp_html_pipeline(const tp_page *p, const tp_spec_report *s)
{
    const tp_kernel *k = s->spec->kernels[0];
    tp_copies l;
    tp_str sizes;
    int64_t *env = tp_map_sizes(p->a, s, &sizes);
    if (!env || !tp_map_lanes(p->a, k, env, &l) || l.steps < 2)
        return;
    tp_html_raw(p, "<h3>Pipeline</h3><p class=\"dim\">At ");
    tp_html_put(p, sizes.n ? sizes : TP_S("the only shape"));
    fprintf(p->out,
            ", %s%u of %llu steps. Windows come in one step ahead and go out one step behind. A gap: the window "
            "of the step before is kept, and nothing is copied.",
            l.shown < l.steps ? "the first and last, " : "", l.shown, (unsigned long long)l.steps);
    write_exceptions(p, k);
    tp_html_raw(p, " Widths are not times.</p>\n<div class=\"maps\">\n");
    for (int64_t from = -(int64_t)l.lead; from <= l.shown; from += SLOTS)
        write_slots(p, k, &l, from, from + SLOTS < l.shown + 1 ? from + SLOTS : l.shown + 1);
    tp_html_raw(p, "</div><p class=\"dim\">Copies in all steps: ");
    for (uint32_t o = 0; o < k->ninputs + k->noutputs; o++) {
        tp_html_raw(p, o ? ", <code>" : "<code>");
        tp_html_put(p, k->operands[o].name);
        if (!l.counted[o])
            tp_html_raw(p, "</code> by the body, not counted");
        else
            fprintf(p->out, "</code> %llu%s", (unsigned long long)l.copies[o],
                    tp_is_far(&k->operands[o]) ? " by the body" : "");
    }
    tp_html_raw(p, "</p>\n");
}
