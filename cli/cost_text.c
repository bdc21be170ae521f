/* `cost` for people: tables of at most 80 columns; each block says whether it is exact or a model. */
#include <stdio.h>

#include "base/checked.h"
#include "cli/cost.h"

enum { WIDTH = 80 };

/* 1234567 as 1,234,567. */
static const char *digits(tp_arena *a, int64_t n)
{
    char plain[32];
    int len = snprintf(plain, sizeof plain, "%lld", (long long)n);
    tp_buf b = {.arena = a};
    for (int i = 0; i < len; i++) {
        tp_buf_add(&b, plain + i, 1);
        if ((len - i - 1) % 3 == 0 && i + 1 < len && plain[i] != '-')
            tp_buf_c(&b, ",");
    }
    return tp_cstr(a, tp_buf_view(&b));
}

/* In a column; what is too long for it is rounded, and JSON has all of it. */
static const char *count(tp_arena *a, tp_cost_count n, size_t width)
{
    const char *all = n.known ? digits(a, n.n) : "unknown";
    return strlen(all) <= width ? all : tp_printf(a, "~%.6g", (double)n.n).p;
}

static const char *seconds(tp_arena *a, double s)
{
    static const struct {
        double from, scale;
        const char *unit;
    } UNITS[] = {{1, 1, "s"}, {1e-3, 1e3, "ms"}, {1e-6, 1e6, "us"}, {0, 1e9, "ns"}};
    size_t u = 0;
    while (s < UNITS[u].from && u + 1 < sizeof UNITS / sizeof *UNITS)
        u++;
    return tp_printf(a, "%.3g %s", s * UNITS[u].scale, UNITS[u].unit).p;
}

/* A text over several lines, broken at blanks. */
static void fold(tp_buf *b, tp_str text, size_t first, size_t indent)
{
    size_t column = first;
    for (tp_str rest = text, word; rest.n;) {
        const char *blank = memchr(rest.p, ' ', rest.n);
        bool begins = column == first && rest.p == text.p;
        word = (tp_str){rest.p, blank ? (size_t)(blank - rest.p) : rest.n};
        rest = (tp_str){rest.p + word.n + (blank != NULL), rest.n - word.n - (blank != NULL)};
        if (!begins && column + 1 + word.n > WIDTH) {
            tp_buf_printf(b, "\n%*s", (int)indent, "");
            column = indent;
            begins = true;
        }
        tp_buf_printf(b, "%s%.*s", begins ? "" : " ", TP_FMT(word));
        column += word.n + !begins;
    }
    tp_buf_c(b, "\n");
}

static tp_str name_of(tp_arena *a, tp_str name)
{
    return tp_visible(a, name);
}

/* ---- closed forms ---- */

static void add_form(tp_buf *b, const tp_kernel *k, const char *label, tp_form f)
{
    enum { COLUMN = 22 };
    int64_t zero;
    if (f.e.id && tp_expr_is_const(k->exprs, f.e, &zero) && zero == 0)
        return;
    tp_buf_printf(b, "  %-*s", COLUMN - 2, label);
    if (strlen(label) > COLUMN - 3)
        tp_buf_printf(b, "\n%*s", COLUMN, "");
    fold(b,
         f.e.id ? tp_expr_text(k->exprs, f.e)
                : tp_printf(b->arena, "no closed form: %.*s", TP_FMT(tp_visible(b->arena, f.why))),
         COLUMN, COLUMN);
}

static void add_forms(tp_buf *b, const tp_cost_kernel *x)
{
    const tp_cost_forms *f = tp_cost_forms_of(x->cost);
    const tp_kernel *k = x->kernel;
    tp_buf_c(b, "\nClosed forms (exact, for all sizes at which every axis has a step)\n");
    add_form(b, k, "steps", f->steps);
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        const tp_operand *o = &k->operands[i];
        tp_str name = name_of(b->arena, o->name);
        add_form(b, k, tp_printf(b->arena, "%.*s fetches", TP_FMT(name)).p, f->operands[i].fetches);
        add_form(b, k, tp_printf(b->arena, "%.*s bytes in", TP_FMT(name)).p, f->operands[i].bytes_in);
        add_form(b, k, tp_printf(b->arena, "%.*s writes", TP_FMT(name)).p, f->operands[i].writes);
        add_form(b, k, tp_printf(b->arena, "%.*s bytes out", TP_FMT(name)).p, f->operands[i].bytes_out);
    }
    add_form(b, k, "copies over links", f->links);
    add_form(b, k, "bytes over links", f->bytes_linked);
    add_form(b, k, "FLOPs", f->flops);
    add_form(b, k, "FLOPs of dots", f->dot_flops);
    add_form(b, k, "dots on MXU tiles", f->mxu_flops);
    add_form(b, k, "transcendental", f->transcendental);
    add_form(b, k, "VMEM bytes", f->vmem);
    for (uint32_t i = 1; i < f->life.moments.len; i++) /* what is there from a `with` on */
        if (!f->life.moments.at[i].ends)
            add_form(b, k, tp_printf(b->arena, "VMEM from line %u", f->life.moments.at[i].line).p,
                     (tp_form){.e = f->life.moments.at[i].bytes});
}

/* ---- counts ---- */

typedef TP_VEC(tp_str) reasons;

static void note(tp_arena *a, reasons *r, tp_cost_count n)
{
    for (uint32_t i = 0; i < r->len; i++)
        if (tp_str_eq(r->at[i], n.why))
            return;
    if (!n.known)
        tp_push(a, *r, n.why);
}

static const char *ratio(tp_arena *a, tp_cost_count moved, tp_cost_count once)
{
    return moved.known && once.known && once.n > 0 ? tp_printf(a, "%.4g", (double)moved.n / (double)once.n).p : "-";
}

static void traffic_row(tp_buf *b, tp_str name, const char *way, tp_cost_count copies, tp_cost_count bytes,
                        tp_cost_count once)
{
    tp_buf_printf(b, "  %-14.*s %-4s %13s %17s %16s %8s\n", TP_FMT(name), way, count(b->arena, copies, 13),
                  count(b->arena, bytes, 17), count(b->arena, once, 16), ratio(b->arena, bytes, once));
}

static bool moves(tp_cost_count copies)
{
    return !copies.known || copies.n > 0;
}

static void add_traffic(tp_buf *b, const tp_cost_numbers *n, reasons *why)
{
    tp_buf_printf(b, "  %-14s %-4s %13s %17s %16s %8s\n", "traffic (exact)", "", "copies", "bytes", "array once",
                  "ratio");
    for (uint32_t i = 0; i < n->noperands; i++) {
        const tp_operand_cost *o = &n->operands[i];
        tp_str name = name_of(b->arena, o->operand->name);
        bool input = o->operand->role == TP_INPUT;
        if (input || moves(o->fetches))
            traffic_row(b, name, "in", o->fetches, o->bytes_in, o->array);
        if (!input || moves(o->writes))
            traffic_row(b, name, "out", o->writes, o->bytes_out, o->array);
        note(b->arena, why, o->bytes_in);
        note(b->arena, why, o->bytes_out);
    }
    tp_buf_printf(b, "  %-14s %-4s %13s %17s %16s %8s\n", "all", "in", "", count(b->arena, n->bytes_in, 17),
                  count(b->arena, n->ideal_in, 16), ratio(b->arena, n->bytes_in, n->ideal_in));
    tp_buf_printf(b, "  %-14s %-4s %13s %17s %16s %8s\n", "all", "out", "", count(b->arena, n->bytes_out, 17),
                  count(b->arena, n->ideal_out, 16), ratio(b->arena, n->bytes_out, n->ideal_out));
}

/* What devices send to each other: all of them, and each on average. */
static void add_links(tp_buf *b, const tp_kernel *k, const tp_cost_numbers *n, reasons *why)
{
    if (!tp_is_connected(k))
        return;
    const char *each = "";
    if (n->bytes_linked.known && n->devices.known && n->devices.n > 0)
        each = tp_printf(b->arena, "%.10g bytes from each of %lld devices, on average",
                         (double)n->bytes_linked.n / (double)n->devices.n, (long long)n->devices.n)
                   .p;
    tp_buf_printf(b, "  %-14s %-4s %13s %17s  %s\n", "links (exact)", "", count(b->arena, n->links, 13),
                  count(b->arena, n->bytes_linked, 17), each);
    note(b->arena, why, n->bytes_linked);
}

static void line(tp_buf *b, const char *label, tp_cost_count n, const char *more)
{
    tp_buf_printf(b, "  %-33s %17s%s%s\n", label, count(b->arena, n, 17), *more ? "  " : "", more);
}

static void add_operations(tp_buf *b, const tp_kernel *k, const tp_cost_numbers *n, reasons *why)
{
    const char *used = "", *intensity = "";
    bool flops = n->flops.known && n->bytes_in.known && n->bytes_out.known;
    double bytes = (double)n->bytes_in.n + (double)n->bytes_out.n;
    if (n->mxu_flops.known && n->dot_flops.known && n->mxu_flops.n > 0)
        used = tp_printf(b->arena, "%.1f %% of it used", 100 * (double)n->dot_flops.n / (double)n->mxu_flops.n).p;
    if (flops && bytes > 0)
        intensity = tp_printf(b->arena, "%.4g for each byte", (double)n->flops.n / bytes).p;
    line(b, "steps (exact)", n->steps, "");
    line(b, "FLOPs (exact)", n->flops, intensity);
    line(b, "FLOPs of dots (exact)", n->dot_flops, "");
    if (k->target.mxu)
        line(b, tp_printf(b->arena, "dots on %d x %d tiles (exact)", k->target.mxu, k->target.mxu).p, n->mxu_flops,
             used);
    line(b, "transcendental (exact)", n->transcendental, "");
    note(b->arena, why, n->steps);
    note(b->arena, why, n->flops);
    note(b->arena, why, n->vmem);
}

/* ---- memory ---- */

/* The line of the body with the `with` that makes it; 0: it is there in all steps. */
static uint32_t line_of(const tp_kernel *k, const tp_vmem_life *l, const tp_operand *o)
{
    for (uint32_t i = 0; o->scoped && i < l->moments.len; i++)
        for (uint32_t x = 0; x < l->moments.at[i].nalive; x++)
            if (&k->operands[l->moments.at[i].alive[x]] == o)
                return l->moments.at[i].line;
    return 0;
}

static void add_memory(tp_buf *b, const tp_kernel *k, const tp_vmem_life *l, const tp_cost_numbers *n)
{
    tp_buf_printf(b, "  %-14s %7s %10s %17s  %s\n", "VMEM (exact)", "buffers", "each", "bytes", "is there");
    for (uint32_t i = 0; i < l->buffers.len; i++) {
        const tp_vmem_buffer *x = &l->buffers.at[i];
        tp_cost_count one = n->vmem_buffers[i], all = one;
        uint32_t line = line_of(k, l, x->operand);
        all.known = all.known && tp_mul(one.n, x->buffers, &all.n);
        tp_buf_printf(b, "  %-14.*s %7u %10s %17s  %s\n", TP_FMT(name_of(b->arena, x->operand->name)), x->buffers,
                      count(b->arena, one, 10), count(b->arena, all, 17),
                      line ? tp_printf(b->arena, "from line %u on", line).p : "in all steps");
    }
    const tp_vmem_moment *peak = &l->moments.at[n->vmem_peak];
    const char *from =
                   peak->line ? tp_printf(b->arena, "%sfrom line %u on", n->vmem_limit ? ", " : "", peak->line).p : "",
               *limit = n->vmem_limit ? tp_printf(b->arena, "of %s", digits(b->arena, n->vmem_limit)).p : "";
    line(b, "at most, as " TP_RULE_VMEM_CAPACITY, n->vmem, tp_printf(b->arena, "%s%s", limit, from).p);
}

/* ---- the model ---- */

static void add_model(tp_buf *b, const tp_cost_case *x)
{
    size_t n;
    bool f32 = false, same = true;
    tp_targets(&n);
    for (size_t t = 0; t < n; t++)
        same = same && !x->models[t].known && tp_str_eq(x->models[t].why, x->models[0].why);
    if (same) {
        tp_buf_c(b, "  model: unknown, for want of the above\n");
        return;
    }
    tp_buf_printf(b, "  %-10s %9s %9s %9s %9s %8s %-8s %s\n", "model", "HBM", "MXU", "roofline", "pipeline", "bubbles",
                  "bound", "VMEM");
    for (size_t t = 0; t < n; t++) {
        const tp_cost_model *m = &x->models[t];
        const char *fits = m->fits ? "fits" : "over";
        tp_buf_printf(b, "  %-10.*s ", TP_FMT(m->target->name));
        f32 |= m->known && m->f32_peak;
        if (!m->known) {
            tp_buf_printf(b, "unknown: %.*s\n", TP_FMT(tp_visible(b->arena, m->why)));
            continue;
        }
        const char *bubbles =
            m->pipelined && m->pipeline > 0 ? tp_printf(b->arena, "%.1f %%", 100 * m->bubbles / m->pipeline).p : "-";
        tp_buf_printf(b, "%9s %9s %9s %9s %8s %-8s %s\n", seconds(b->arena, m->memory), seconds(b->arena, m->compute),
                      seconds(b->arena, m->roofline), m->pipelined ? seconds(b->arena, m->pipeline) : "unknown",
                      bubbles, tp_bound_name(m->bound), fits);
    }
    if (f32)
        tp_buf_c(b, "  no peak is public for products of float32: that of bfloat16 bounds theirs\n");
}

static void add_case(tp_buf *b, const tp_kernel *k, const tp_vmem_life *life, const tp_cost_case *x)
{
    reasons why = {0};
    tp_buf_c(b, "\n");
    tp_buf_c(b, "At ");
    fold(b, x->text.n ? x->text : TP_S("its only sizes"), 3, 3);
    if (x->tables)
        tp_buf_c(b, "  (contents of tables: found so that the contracts hold)\n");
    if (x->executed)
        tp_buf_c(b, "  (what depends on data: counted by the machine on the inputs of this case)\n");
    add_traffic(b, &x->numbers, &why);
    add_links(b, k, &x->numbers, &why);
    tp_buf_printf(b, "  %-33s %17s", "reference, unfused (model)", count(b->arena, x->unfused, 17));
    if (x->unfused.known)
        tp_buf_c(b, "  bytes in and out\n");
    else
        tp_buf_printf(b, "  %.*s\n", TP_FMT(tp_visible(b->arena, x->unfused.why)));
    add_operations(b, k, &x->numbers, &why);
    for (uint32_t i = 0; i < why.len; i++) {
        tp_buf_c(b, "  unknown: ");
        fold(b, tp_visible(b->arena, why.at[i]), 11, 11);
    }
    add_memory(b, k, life, &x->numbers);
    add_model(b, x);
}

tp_str tp_cost_text(const tp_costs *c)
{
    tp_buf b = {.arena = c->arena};
    for (uint32_t i = 0; i < c->kernels.len; i++) {
        const tp_cost_kernel *k = &c->kernels.at[i];
        tp_str dtypes = tp_dtypes_text(k->kernel);
        tp_buf_printf(&b, "%s%.*s, %.*s%s%.*s\n", i ? "\n" : "", TP_FMT(tp_visible(c->arena, c->name)),
                      TP_FMT(tp_visible(c->arena, k->kernel->target.name)), dtypes.n ? ", " : "", TP_FMT(dtypes));
        add_forms(&b, k);
        for (uint32_t x = 0; x < k->cases.len; x++)
            add_case(&b, k->kernel, &tp_cost_forms_of(k->cost)->life, &k->cases.at[x]);
    }
    tp_buf_c(&b, "\nTimes are a model, per core: what HBM and the MXU take at their peaks.\n"
                 "docs/COST.md says what it leaves out.\n");
    return tp_buf_view(&b);
}
