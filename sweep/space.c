/* The space of a sweep: lists of values, and the text that each cell stands for. */
#include <stdlib.h>

#include "base/checked.h"
#include "sweep/sweep.h"

typedef struct reader {
    tp_arena *arena;
    const tp_kernel *k;
    tp_sweep *s;
    tp_str why;
} reader;

__attribute__((format(printf, 2, 3))) static bool refuse(reader *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    r->why = tp_vprintf(r->arena, fmt, ap);
    va_end(ap);
    return false;
}

/* A whole number from 0 to 2^30; the text is nothing else. */
static bool whole_number(tp_str s, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9' || s.n > 10)
            return false;
        *out = *out * 10 + (s.p[i] - '0');
    }
    return s.n > 0 && *out <= TP_SIZE_MAX;
}

static void add_value(tp_sweep_axis *x, tp_str text, int64_t number)
{
    x->values[x->n] = text;
    if (x->numbers)
        x->numbers[x->n] = number;
    x->n++;
}

/* lo:hi or lo:hi:step, both ends included. */
static bool read_range(reader *r, tp_sweep_axis *x, tp_str text)
{
    uint32_t n = 0;
    int64_t v[3] = {0, 0, 1};
    bool fine = text.p[text.n - 1] != ':';
    for (tp_str rest = text, item; fine && tp_list_next(&rest, ":", &item); n++)
        fine = n < 3 && whole_number(item, &v[n]);
    if (!fine)
        return refuse(r, "--over %.*s: a range is LOW:HIGH or LOW:HIGH:STEP, in whole numbers up to 2^30, not `%.*s`",
                      TP_FMT(x->name), TP_FMT(text));
    if (v[2] < 1)
        return refuse(r, "--over %.*s: the step of `%.*s` is 0; it is at least 1", TP_FMT(x->name), TP_FMT(text));
    if (v[0] > v[1])
        return refuse(r, "--over %.*s: the range `%.*s` is empty: its low end is above its high end", TP_FMT(x->name),
                      TP_FMT(text));
    int64_t count = (v[1] - v[0]) / v[2] + 1;
    if (count > TP_SWEEP_MAX)
        return refuse(r, "--over %.*s: `%.*s` has %lld values; a sweep has at most %d combinations", TP_FMT(x->name),
                      TP_FMT(text), (long long)count, TP_SWEEP_MAX);
    x->values = TP_NEWN(r->arena, tp_str, count);
    x->numbers = TP_NEWN(r->arena, int64_t, count);
    for (int64_t i = 0; i < count; i++)
        add_value(x, tp_printf(r->arena, "%lld", (long long)(v[0] + i * v[2])), v[0] + i * v[2]);
    return true;
}

/* A number as JSON spells it. */
static bool is_number(reader *r, tp_str text)
{
    char *end;
    const char *copy = tp_cstr(r->arena, text);
    if (!text.n || text.n > 40 || !strchr("-0123456789", copy[0]))
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (!strchr("-+0123456789.eE", copy[i]))
            return false;
    strtod(copy, &end);
    return !*end;
}

static bool read_item(reader *r, tp_sweep_axis *x, tp_str item)
{
    int64_t number = 0;
    tp_target target;
    switch (x->kind) {
    case TP_SWEEP_SIZE:
        if (!whole_number(item, &number))
            return refuse(r, "--over %.*s: `%.*s` is no whole number up to 2^30", TP_FMT(x->name), TP_FMT(item));
        item = tp_printf(r->arena, "%lld", (long long)number);
        break;
    case TP_SWEEP_CONSTANT:
        if (!is_number(r, item))
            return refuse(r, "--over %.*s: `%.*s` is no number", TP_FMT(x->name), TP_FMT(item));
        break;
    case TP_SWEEP_DTYPE:
        if (tp_dtype_find(item) == TP_NO_DTYPE)
            return refuse(r, "--over %.*s: there is no dtype `%.*s`", TP_FMT(x->name), TP_FMT(item));
        item = tp_str_c(tp_dtype_info(tp_dtype_find(item))->name);
        break;
    case TP_SWEEP_TARGET:
        if (!tp_target_find(item, &target))
            return refuse(r, "--over target: there is no target `%.*s`; `tileproof targets` lists them", TP_FMT(item));
        item = target.name;
        break;
    }
    for (uint32_t i = 0; i < x->n; i++)
        if (tp_str_eq(x->values[i], item))
            return refuse(r, "--over %.*s: %.*s is listed twice", TP_FMT(x->name), TP_FMT(item));
    add_value(x, item, number);
    return true;
}

static bool read_list(reader *r, tp_sweep_axis *x, tp_str text)
{
    uint32_t count = 1;
    for (size_t i = 0; i < text.n; i++)
        count += text.p[i] == '|';
    if (!text.n || text.p[text.n - 1] == '|')
        return refuse(r, "--over %.*s: a value is missing; write %.*s=64|128 or %.*s=64:512:64", TP_FMT(x->name),
                      TP_FMT(x->name), TP_FMT(x->name));
    if (count > TP_SWEEP_MAX)
        return refuse(r, "--over %.*s: %u values; a sweep has at most %d combinations", TP_FMT(x->name), count,
                      TP_SWEEP_MAX);
    x->values = TP_NEWN(r->arena, tp_str, count);
    x->numbers = x->kind == TP_SWEEP_SIZE ? TP_NEWN(r->arena, int64_t, count) : NULL;
    for (tp_str rest = text, item; tp_list_next(&rest, "|", &item);)
        if (!read_item(r, x, item))
            return false;
    return true;
}

/* ---- names ---- */

static const tp_json *definition(const tp_kernel *k, const char *section, tp_str name)
{
    const tp_json *all = tp_json_get(k->doc, section);
    for (uint32_t i = 0; all && all->type == TP_J_OBJECT && i < all->u.items.n; i++)
        if (tp_str_eq(all->u.items.at[i]->key, name))
            return all->u.items.at[i];
    return NULL;
}

static bool unknown_name(reader *r, tp_str name)
{
    TP_VEC(tp_str) names = {0};
    tp_buf list = {.arena = r->arena};
    const char *const SECTIONS[] = {"sizes", "constants", "dtypes"};
    for (int s = 0; s < 3; s++) {
        const tp_json *all = tp_json_get(r->k->doc, SECTIONS[s]);
        for (uint32_t i = 0; all && i < all->u.items.n; i++)
            tp_push(r->arena, names, all->u.items.at[i]->key);
    }
    tp_push(r->arena, names, TP_S("target"));
    for (uint32_t i = 0; i < names.len; i++)
        tp_buf_printf(&list, "%s%.*s", i ? ", " : "", TP_FMT(names.at[i]));
    tp_str near = tp_nearest(name, names.at, names.len);
    return refuse(r,
                  near.n ? "--over: the spec has no size, constant or dtype `%.*s`; did you mean `%.*s`?"
                         : "--over: the spec has no size, constant or dtype `%.*s`; it has %.*s",
                  TP_FMT(name), TP_FMT(near.n ? near : tp_buf_view(&list)));
}

static bool find_name(reader *r, tp_sweep_axis *x)
{
    const tp_json *v;
    const tp_size *size = tp_size_find(r->k, x->name);
    x->kind = TP_SWEEP_TARGET;
    if ((v = definition(r->k, "sizes", x->name))) {
        x->kind = TP_SWEEP_SIZE;
        if (size && size->kind == TP_SIZE_DERIVED)
            return refuse(r, "--over: size `%.*s` is derived from others; list these", TP_FMT(x->name));
    } else if ((v = definition(r->k, "constants", x->name))) {
        x->kind = TP_SWEEP_CONSTANT;
    } else if ((v = definition(r->k, "dtypes", x->name))) {
        x->kind = TP_SWEEP_DTYPE;
    } else if (!tp_str_is(x->name, "target")) {
        return unknown_name(r, x->name);
    }
    x->place = v ? v->loc : (tp_loc){0};
    return true;
}

static bool read_axis(reader *r, tp_str text)
{
    const char *equals = memchr(text.p, '=', text.n);
    tp_sweep *s = r->s;
    if (!equals || equals == text.p)
        return refuse(r, "--over takes NAME=VALUES, e.g. --over bm=64:512:64,bn=128|256, not `%.*s`", TP_FMT(text));
    if (s->naxes == TP_SWEEP_AXES)
        return refuse(r, "--over: more than %d names", TP_SWEEP_AXES);
    tp_sweep_axis *x = &s->axes[s->naxes];
    *x = (tp_sweep_axis){.name = {text.p, (size_t)(equals - text.p)}};
    tp_str values = {equals + 1, text.n - x->name.n - 1};
    for (uint32_t i = 0; i < s->naxes; i++)
        if (tp_str_eq(s->axes[i].name, x->name))
            return refuse(r, "--over: `%.*s` is listed twice", TP_FMT(x->name));
    if (!find_name(r, x))
        return false;
    bool range = x->kind == TP_SWEEP_SIZE && values.n && memchr(values.p, ':', values.n);
    if (!(range ? read_range(r, x, values) : read_list(r, x, values)))
        return false;
    s->naxes++;
    return true;
}

/* ---- facts that a list contradicts ---- */

/* A fact that speaks of one listed size alone has to hold for all its values; one that speaks of others, too, leaves
 * cells without sizes, and they are forbidden (TP006). */
static bool fact_allows(reader *r, const tp_kernel *k, const tp_fact *f, const tp_sweep_axis *x)
{
    const tp_size *size = tp_size_find(k, x->name);
    uint32_t n = tp_sym_count(k->exprs);
    bool *marks = TP_NEWN(r->arena, bool, n);
    int64_t *env = TP_NEWN(r->arena, int64_t, n), holds;
    tp_expr_mark_symbols(k->exprs, f->expr, marks);
    if (size->kind != TP_SIZE_RANGE || !marks[size->sym])
        return true;
    for (uint32_t i = 0; i < n; i++)
        if (marks[i] && i != size->sym)
            return true;
    for (uint32_t i = 0; i < x->n; i++) {
        env[size->sym] = x->numbers[i];
        if (tp_expr_eval(k->exprs, f->expr, env, &holds) != TP_EVAL_OK || !holds)
            return refuse(
                r, "--over %.*s: %.*s contradicts \"where\": `%.*s`; list values that it allows, or drop the fact",
                TP_FMT(x->name), TP_FMT(x->values[i]), TP_FMT(f->text));
    }
    return true;
}

static bool facts_allow(reader *r, const tp_job *j)
{
    tp_str values[TP_SWEEP_AXES];
    for (uint32_t i = 0; i < r->s->naxes; i++)
        values[i] = r->s->axes[i].kind == TP_SWEEP_SIZE ? TP_S("{\"min\": 0}") : (tp_str){NULL, 0};
    tp_job open = {.arena = tp_arena_child(r->arena), .source = j->source};
    open.source.text = tp_sweep_text(open.arena, r->s, values);
    tp_job_begin(&open);
    tp_job_load_text(&open, (tp_str){NULL, 0});
    bool fine = true;
    const tp_kernel *k = open.report.valid ? open.report.spec->kernels[0] : NULL;
    for (uint32_t f = 0; k && f < k->nwhere && fine; f++)
        for (uint32_t i = 0; i < r->s->naxes && fine; i++)
            fine = r->s->axes[i].kind != TP_SWEEP_SIZE || fact_allows(r, k, &k->where[f], &r->s->axes[i]);
    tp_arena_free(open.arena);
    return fine;
}

bool tp_sweep_read(tp_arena *a, const tp_job *j, const tp_str *over, uint32_t n, tp_sweep *s, tp_str *why)
{
    const tp_kernel *k = j->report.spec->kernels[0];
    reader r = {.arena = a, .k = k, .s = s};
    *s = (tp_sweep){.arena = a, .name = j->report.name, .source = &j->source, .expects = k->expect != NULL};
    bool fine = true;
    for (uint32_t i = 0; i < n && fine; i++)
        for (tp_str rest = over[i], item; fine && tp_list_next(&rest, ",", &item);)
            fine = read_axis(&r, item);
    int64_t cells = 1;
    for (uint32_t i = 0; i < s->naxes && fine; i++)
        if (!tp_mul(cells, s->axes[i].n, &cells))
            cells = INT64_MAX;
    if (fine && !s->naxes)
        fine = refuse(&r, "--over is missing: the names and values to go through, e.g. --over bm=64:512:64,bn=128|256");
    if (fine && cells > TP_SWEEP_MAX)
        fine = refuse(&r, "--over: %s%lld combinations; a sweep has at most %d", cells == INT64_MAX ? "more than " : "",
                      (long long)cells, TP_SWEEP_MAX);
    if (fine && (fine = facts_allow(&r, j))) {
        s->ncells = (uint32_t)cells;
        s->cells = TP_NEWN(a, tp_sweep_cell, cells);
    }
    *why = r.why;
    return fine;
}

/* ---- cells ---- */

uint32_t tp_sweep_at(const tp_sweep *s, uint32_t cell, uint32_t axis)
{
    for (uint32_t i = s->naxes; i-- > axis + 1;)
        cell /= s->axes[i].n;
    return cell % s->axes[axis].n;
}

uint32_t tp_sweep_with(const tp_sweep *s, uint32_t cell, uint32_t axis, uint32_t value)
{
    uint32_t stride = 1;
    for (uint32_t i = s->naxes; i-- > axis + 1;)
        stride *= s->axes[i].n;
    return cell - tp_sweep_at(s, cell, axis) * stride + value * stride;
}

int tp_sweep_axis_of(const tp_sweep *s, tp_sweep_kind kind)
{
    for (uint32_t i = 0; i < s->naxes; i++)
        if (s->axes[i].kind == kind)
            return (int)i;
    return -1;
}

tp_str tp_sweep_cell_name(tp_arena *a, const tp_sweep *s, uint32_t cell)
{
    tp_buf b = {.arena = a};
    for (uint32_t i = 0; i < s->naxes; i++)
        tp_buf_printf(&b, "%s%.*s = %.*s", i ? ", " : "", TP_FMT(s->axes[i].name),
                      TP_FMT(s->axes[i].values[tp_sweep_at(s, cell, i)]));
    return tp_buf_view(&b);
}

tp_str tp_sweep_text(tp_arena *a, const tp_sweep *s, const tp_str *values)
{
    tp_edit edits[TP_SWEEP_AXES];
    tp_edits list = {.at = edits, .cap = TP_SWEEP_AXES};
    for (uint32_t i = 0; i < s->naxes; i++) {
        const tp_sweep_axis *x = &s->axes[i];
        uint32_t at = list.len;
        if (x->kind == TP_SWEEP_TARGET || !values[i].p)
            continue;
        for (; at > 0 && edits[at - 1].start > x->place.start; at--)
            edits[at] = edits[at - 1];
        edits[at] = (tp_edit){x->place.start, x->place.end,
                              x->kind == TP_SWEEP_DTYPE ? tp_printf(a, "[\"%.*s\"]", TP_FMT(values[i])) : values[i]};
        list.len++;
    }
    return tp_apply_edits(a, s->source->text, &list);
}

tp_str tp_sweep_cell_text(tp_arena *a, const tp_sweep *s, uint32_t cell, tp_str *target)
{
    tp_str values[TP_SWEEP_AXES];
    *target = (tp_str){NULL, 0};
    for (uint32_t i = 0; i < s->naxes; i++) {
        values[i] = s->axes[i].values[tp_sweep_at(s, cell, i)];
        if (s->axes[i].kind == TP_SWEEP_TARGET)
            *target = values[i];
    }
    return tp_sweep_text(a, s, values);
}

const char *tp_sweep_verdict_name(tp_sweep_verdict v)
{
    switch (v) {
    case TP_CELL_LEGAL: return "legal";
    case TP_CELL_FORBIDDEN: return "forbidden";
    case TP_CELL_UNKNOWN: return "unknown";
    }
    return "unknown";
}
