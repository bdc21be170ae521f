#include "report/plot.h"

#include "cost/text.h"
#include "report/blocks.h"
#include "report/usual.h"

typedef struct plotter {
    tp_arena *a;
    FILE *out;
    bool unicode;
} plotter;

static const char *sign(const plotter *p, const char *unicode, const char *ascii)
{
    return p->unicode ? unicode : ascii;
}

static void label(const plotter *p, tp_str name)
{
    tp_str s = tp_visible(p->a, name);
    fprintf(p->out, "  %.*s%*s", TP_FMT(s), s.n < 14 ? (int)(14 - s.n) : 1, "");
}

/* A number per block: how many times it is visited; what lies partly outside is bracketed. */
static void plot_slice(const plotter *p, const tp_operand *o, const tp_block_map *m, uint32_t slice)
{
    for (uint32_t r = 0; r < m->rows; r++) {
        label(p, r ? TP_S("") : tp_printf(p->a, "%.*s%.*s", TP_FMT(o->name), TP_FMT(m->title[slice])));
        for (uint32_t c = 0; c < m->columns; c++) {
            uint32_t v = m->visits[tp_map_cell(m, slice, r, c)];
            bool rim = (m->row_padding > 0 && r + 1 == m->rows) || (m->column_padding > 0 && c + 1 == m->columns);
            if (v == 0)
                fputs(sign(p, rim ? "(·)" : " · ", rim ? "(-)" : " - "), p->out);
            else
                fprintf(p->out, rim ? "(%s)" : " %s ", v > 9 ? "+" : (const char[]){(char)('0' + v), '\0'});
        }
        fputc('\n', p->out);
    }
}

/* A few slices: the rest of them are named. */
static void plot_map(const plotter *p, const tp_operand *o, const tp_block_map *m)
{
    enum { SLICES = 3 };
    uint32_t n = m->shown < SLICES ? m->shown : SLICES;
    for (uint32_t i = 0; i < n; i++)
        plot_slice(p, o, m, i);
    if (n < m->slices) {
        label(p, TP_S(""));
        fprintf(p->out, "%u of %u slices\n", n, m->slices);
    }
}

static void plot_maps(const plotter *p, const tp_spec_report *s, int64_t *env)
{
    const tp_kernel *k = s->spec->kernels[0];
    bool any = false;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        tp_block_map m;
        if (!tp_map_blocks(p->a, k, &k->operands[i], env, &m) || m.columns > 36)
            continue;
        if (!any)
            fprintf(p->out, "  how often each block comes, (n): partly outside the array, + more than nine times\n");
        any = true;
        plot_map(p, &k->operands[i], &m);
    }
}

static void plot_copies(const plotter *p, const tp_spec_report *s, int64_t *env)
{
    const tp_kernel *k = s->spec->kernels[0];
    tp_copies l;
    if (!tp_map_lanes(p->a, k, env, &l) || l.steps < 2)
        return;
    fprintf(p->out, "  copies by step, %u of %llu steps\n", l.shown, (unsigned long long)l.steps);
    for (uint32_t o = 0; o < k->ninputs + k->noutputs; o++) {
        label(p, k->operands[o].name);
        if (!l.counted[o]) {
            fputs("by the body, not counted\n", p->out);
            continue;
        }
        for (uint32_t i = 0; i < l.shown; i++)
            fputs(tp_copied_for(&l, o, tp_step_in_slot(&l, i)) ? sign(p, "█", "#") : sign(p, "·", "."), p->out);
        fprintf(p->out, "  %llu%s\n", (unsigned long long)l.copies[o],
                tp_is_far(&k->operands[o]) ? " by the body" : "");
    }
}

static void plot_vmem(const plotter *p, const tp_spec_report *s)
{
    enum { WIDTH = 50 };
    const tp_memory_table *v = &s->vmem;
    if (!v->limit || v->bytes < 0)
        return;
    fprintf(p->out, "  VMEM, of %.0f KiB\n", (double)v->limit / 1024);
    for (uint32_t i = 0; i < v->rows.len; i++) {
        const tp_memory_row *m = &v->rows.at[i];
        double share = (double)m->bytes / (double)v->limit, padding = tp_padding_share(m);
        label(p, m->name);
        for (int c = 0; c < WIDTH && c < (int)(share * WIDTH + 0.5); c++)
            fputs(c < share * WIDTH * (1 - padding) ? sign(p, "█", "#") : sign(p, "░", "-"), p->out);
        fprintf(p->out, " %.1f %%", 100 * share);
        if (padding >= 0.005)
            fprintf(p->out, ", %.0f %% of it padding", 100 * padding);
        fputc('\n', p->out);
    }
}

static void plot_time(const plotter *p, const char *name, double seconds, double longest)
{
    enum { WIDTH = 50 };
    label(p, tp_str_c(name));
    for (int c = 0; c < (int)(seconds / longest * WIDTH + 0.5); c++)
        fputs(sign(p, "█", "#"), p->out);
    fprintf(p->out, " %.*s\n", TP_FMT(tp_seconds_text(p->a, seconds)));
}

/* What HBM and the matrix unit take, and the kernel, in which one waits for the other. */
static void plot_roofline(const plotter *p, const tp_spec_report *s)
{
    tp_usual_cost c;
    const tp_cost_model *m = &c.model;
    if (!tp_usual_cost_of(p->a, s, &c) || !m->known || !m->pipelined || m->pipeline <= 0)
        return;
    fprintf(p->out, "  model of %.*s%s%.*s", TP_FMT(m->target->name), c.sizes.n ? ", at " : "", TP_FMT(c.sizes));
    if (m->intensity > 0)
        fprintf(p->out, ": %.3g FLOPs for each byte", m->intensity);
    if (m->ridge > 0)
        fprintf(p->out, "; from %.3g on the matrix unit would bind", m->ridge);
    fputc('\n', p->out);
    plot_time(p, "HBM", m->memory, m->pipeline);
    if (m->compute > 0)
        plot_time(p, "MXU", m->compute, m->pipeline);
    plot_time(p, "pipeline", m->pipeline, m->pipeline);
}

void tp_write_plot(const tp_report *r, bool unicode, FILE *out)
{
    for (uint32_t i = 0; i < r->specs.len; i++) {
        const tp_spec_report *s = &r->specs.at[i];
        plotter p = {tp_arena_child(r->arena), out, unicode};
        tp_str sizes;
        int64_t *env = s->valid ? tp_map_sizes(p.a, s, &sizes) : NULL;
        if (s->valid)
            fprintf(out, "%.*s%s%.*s\n", TP_FMT(tp_visible_line(p.a, s->name)), env && sizes.n ? ", at " : "",
                    env ? (int)sizes.n : 0, env ? sizes.p : "");
        if (env) {
            plot_maps(&p, s, env);
            plot_copies(&p, s, env);
        }
        if (s->valid) {
            plot_vmem(&p, s);
            plot_roofline(&p, s);
        }
        tp_arena_free(p.a);
    }
}
