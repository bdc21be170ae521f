/* A sweep as data, and the list of all formats. */
#include <stdio.h>

#include "sweep/internal.h"

/* ---- csv: RFC 4180, but for line ends ---- */

static void csv_text(FILE *out, tp_str s)
{
    bool quoted = false;
    for (size_t i = 0; i < s.n; i++)
        quoted |= strchr(",\"\n\r", s.p[i]) != NULL;
    if (quoted)
        fputc('"', out);
    for (size_t i = 0; i < s.n; i++)
        fprintf(out, s.p[i] == '"' ? "\"\"" : "%c", s.p[i]);
    if (quoted)
        fputc('"', out);
}

static void write_csv(const tp_sweep *s, FILE *out)
{
    for (uint32_t i = 0; i < s->naxes; i++) {
        csv_text(out, s->axes[i].name);
        fputc(',', out);
    }
    fprintf(out, "verdict,rules,vmem_bytes,traffic_bytes,flops,model_us,bound,pareto,case%s\n",
            s->measured ? ",measured_us" : "");
    for (uint32_t c = 0; c < s->ncells; c++) {
        const tp_sweep_cell *cell = &s->cells[c];
        for (uint32_t i = 0; i < s->naxes; i++) {
            csv_text(out, s->axes[i].values[tp_sweep_at(s, c, i)]);
            fputc(',', out);
        }
        fprintf(out, "%s,", tp_sweep_verdict_name(cell->said.verdict));
        for (uint32_t r = 0; r < cell->said.nrules; r++)
            fprintf(out, "%s%s", r ? " " : "", cell->said.rules[r]);
        if (cell->vmem >= 0)
            fprintf(out, ",%lld", (long long)cell->vmem);
        else
            fputc(',', out);
        if (cell->cost.known) {
            fprintf(out, ",%lld,", (long long)cell->cost.bytes);
            if (cell->cost.flops >= 0)
                fprintf(out, "%lld", (long long)cell->cost.flops);
            fprintf(out, ",%.6g,%s,%d,", cell->cost.seconds * 1e6, cell->cost.bound, cell->pareto);
        } else {
            fputs(",,,,,0,", out);
        }
        csv_text(out, cell->said.smallest);
        if (s->measured)
            fputc(',', out);
        if (cell->here.tried && !cell->here.why)
            fprintf(out, "%.6g", cell->here.seconds * 1e6);
        fputc('\n', out);
    }
}

/* ---- json ---- */

static void json_value(tp_buf *b, const tp_sweep_axis *x, uint32_t value)
{
    if (x->kind == TP_SWEEP_SIZE || x->kind == TP_SWEEP_CONSTANT)
        tp_buf_str(b, x->values[value]);
    else
        tp_buf_json(b, x->values[value]);
}

static void json_axes(tp_buf *b, const tp_sweep *s)
{
    static const char *const KINDS[] = {"size", "constant", "dtype", "target"};
    for (uint32_t i = 0; i < s->naxes; i++) {
        tp_buf_c(b, i ? ", {\"name\": " : "{\"name\": ");
        tp_buf_json(b, s->axes[i].name);
        tp_buf_printf(b, ", \"kind\": \"%s\", \"values\": [", KINDS[s->axes[i].kind]);
        for (uint32_t v = 0; v < s->axes[i].n; v++) {
            tp_buf_c(b, v ? ", " : "");
            json_value(b, &s->axes[i], v);
        }
        tp_buf_c(b, "]}");
    }
}

void sweep_json_model(tp_buf *b, const tp_sweep *s)
{
    for (uint32_t i = 0; i < s->nmodelled; i++) {
        tp_buf_c(b, i ? ", " : "");
        tp_buf_json(b, s->modelled[i].name);
        tp_buf_printf(b, ": %lld", (long long)s->modelled[i].value);
    }
}

static void json_cell(tp_buf *b, const tp_sweep *s, uint32_t c)
{
    const tp_sweep_cell *cell = &s->cells[c];
    tp_buf_c(b, "{\"at\": {");
    for (uint32_t i = 0; i < s->naxes; i++) {
        tp_buf_c(b, i ? ", " : "");
        tp_buf_json(b, s->axes[i].name);
        tp_buf_c(b, ": ");
        json_value(b, &s->axes[i], tp_sweep_at(s, c, i));
    }
    tp_buf_printf(b, "}, \"verdict\": \"%s\", \"rules\": [", tp_sweep_verdict_name(cell->said.verdict));
    for (uint32_t r = 0; r < cell->said.nrules; r++)
        tp_buf_printf(b, "%s\"%s\"", r ? ", " : "", cell->said.rules[r]);
    tp_buf_c(b, "], \"case\": ");
    if (cell->said.smallest.n)
        tp_buf_json(b, cell->said.smallest);
    else
        tp_buf_c(b, "null");
    if (cell->vmem >= 0)
        tp_buf_printf(b, ", \"vmem_bytes\": %lld", (long long)cell->vmem);
    else
        tp_buf_c(b, ", \"vmem_bytes\": null");
    if (cell->cost.known)
        tp_buf_printf(b, ", \"traffic_bytes\": %lld, \"model_seconds\": %.9g, \"bound\": \"%s\", \"pareto\": %s",
                      (long long)cell->cost.bytes, cell->cost.seconds, cell->cost.bound,
                      cell->pareto ? "true" : "false");
    if (cell->cost.known && cell->cost.flops >= 0)
        tp_buf_printf(b, ", \"flops\": %lld", (long long)cell->cost.flops);
    if (cell->here.tried && !cell->here.why)
        tp_buf_printf(b, ", \"measured_seconds\": %.9g", cell->here.seconds);
    if (cell->here.why) {
        tp_buf_c(b, ", \"not_measured\": ");
        tp_buf_json(b, tp_str_c(cell->here.why));
    }
    tp_buf_c(b, "}");
}

static void write_json(const tp_sweep *s, FILE *out)
{
    tp_arena *a = tp_arena_child(s->arena);
    tp_buf b = {.arena = a};
    tp_buf_c(&b, "{\"tileproof\": \"" TP_VERSION "\", \"sweep\": 1, \"name\": ");
    tp_buf_json(&b, s->name);
    tp_buf_c(&b, ",\n \"axes\": [");
    json_axes(&b, s);
    tp_buf_c(&b, "],\n \"modelled_at\": {");
    sweep_json_model(&b, s);
    tp_buf_printf(&b, "},\n \"legal\": %u, \"forbidden\": %u, \"unknown\": %u,\n \"cells\": [\n",
                  tp_sweep_count(s, TP_CELL_LEGAL), tp_sweep_count(s, TP_CELL_FORBIDDEN),
                  tp_sweep_count(s, TP_CELL_UNKNOWN));
    fprintf(out, "%.*s", TP_FMT(tp_buf_view(&b)));
    for (uint32_t c = 0; c < s->ncells; c++) {
        b.n = 0;
        tp_buf_c(&b, "  ");
        json_cell(&b, s, c);
        fprintf(out, "%.*s%s\n", TP_FMT(tp_buf_view(&b)), c + 1 < s->ncells ? "," : "");
    }
    fputs(" ]}\n", out);
    tp_arena_free(a);
}

/* ---- search spaces: the legal shapes, best first ---- */

static void write_space(const tp_sweep *s, FILE *out, bool python)
{
    tp_arena *a = tp_arena_child(s->arena);
    uint32_t n;
    const uint32_t *best = tp_sweep_best(a, s, &n);
    fputs(python ? "SHAPES = [\n" : "[\n", out);
    for (uint32_t r = 0; r < n; r++) {
        tp_buf b = {.arena = a};
        for (uint32_t i = 0; i < s->naxes; i++) {
            tp_buf_c(&b, i ? ", " : "");
            tp_buf_json(&b, s->axes[i].name);
            tp_buf_c(&b, ": ");
            json_value(&b, &s->axes[i], tp_sweep_at(s, best[r], i));
        }
        fprintf(out, python ? "    {%.*s},\n" : r + 1 < n ? "  {%.*s},\n" : "  {%.*s}\n", TP_FMT(tp_buf_view(&b)));
    }
    fputs("]\n", out);
    tp_arena_free(a);
}

static void write_space_json(const tp_sweep *s, FILE *out)
{
    write_space(s, out, false);
}

static void write_space_python(const tp_sweep *s, FILE *out)
{
    write_space(s, out, true);
}

static const tp_sweep_format FORMATS[] = {{"table", sweep_write_table}, {"csv", write_csv},
                                          {"json", write_json},         {"html", sweep_write_page},
                                          {"space", write_space_json},  {"python", write_space_python}};

const tp_sweep_format *tp_sweep_formats(size_t *n)
{
    *n = sizeof FORMATS / sizeof *FORMATS;
    return FORMATS;
}

const tp_sweep_format *tp_sweep_format_find(tp_str name)
{
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++)
        if (tp_str_is(name, FORMATS[i].name))
            return &FORMATS[i];
    return NULL;
}
