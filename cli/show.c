#include "cli/show.h"

#include <math.h>

enum { DEEP = 16 }; /* loops within loops that are named in a heading */

struct tp_show {
    tp_observer observer; /* first: see() casts */
    tp_arena *a;
    const tp_source *source;
    const tp_kernel *k;
    FILE *out;
    tp_strings names;   /* asked for */
    tp_str *value_name; /* per value of the body: the name by which it is shown; empty: it is not */
    bool *operand;      /* per operand: shown */
    bool *seen;         /* per name */
    tp_binding *at;     /* only steps with these coordinates */
    uint32_t nat, deep;
    tp_vid loops[DEEP]; /* variables of those that run */
    bool *fetched;      /* per operand: its window is told of when its padding is there, too */
    tp_str heading;     /* printed last */
    int64_t shown, left_out;
};

/* ---- a value as text: as NumPy prints arrays, of long dimensions the ends ---- */

enum { LONG = 8, END = 3 };

static tp_str number_text(tp_arena *a, const tp_contents *c, size_t i)
{
    const tp_dtype_row *row = tp_dtype_info(c->dtype);
    if (!tp_contents_defined(c, i))
        return TP_S("--");
    if (row->kind == TP_KIND_BOOL)
        return tp_get_i64(c->dtype, c->data, i) ? TP_S("true") : TP_S("false");
    if (row->kind != TP_KIND_FLOAT)
        return tp_printf(a, "%lld", (long long)tp_get_i64(c->dtype, c->data, i));
    double v = tp_get_f64(c->dtype, c->data, i);
    return tp_printf(a, "%.*g", c->dtype == TP_F64 ? 12 : 7, v == 0 ? fabs(v) : v);
}

typedef struct printing {
    tp_arena *a;
    const tp_contents *what;
    FILE *out;
    int width; /* of a number */
} printing;

/* Which index follows t in a dimension of n: those between the ends are left out. */
static int64_t next_shown(int64_t t, int64_t n)
{
    return n > LONG && t + 1 == END ? n - END : t + 1;
}

static void measure(printing *p, uint32_t d, size_t first)
{
    if (d == p->what->rank) {
        int n = (int)number_text(p->a, p->what, first).n;
        p->width = n > p->width ? n : p->width;
        return;
    }
    for (int64_t t = 0, n = p->what->dims[d]; t < n; t = next_shown(t, n))
        measure(p, d + 1, first * (size_t)n + (size_t)t);
}

static void print_part(const printing *p, uint32_t d, size_t first)
{
    if (d == p->what->rank) {
        fprintf(p->out, "%*s", p->width, tp_cstr(p->a, number_text(p->a, p->what, first)));
        return;
    }
    bool last = d + 1 == p->what->rank;
    fputc('[', p->out);
    for (int64_t t = 0, n = p->what->dims[d], next; t < n; t = next) {
        next = next_shown(t, n);
        print_part(p, d + 1, first * (size_t)n + (size_t)t);
        if (next < n && last)
            fputs(next > t + 1 ? " … " : " ", p->out);
        else if (next < n)
            fprintf(p->out, "%s\n%*s", next > t + 1 ? " …" : "", (int)d + 5, "");
    }
    fputc(']', p->out);
}

static void print_contents(tp_show *s, const tp_contents *c)
{
    tp_arena *work = tp_arena_child(s->a);
    printing p = {work, c, s->out, 0};
    fprintf(s->out, "%s[", tp_dtype_info(c->dtype)->name);
    for (uint32_t d = 0; d < c->rank; d++)
        fprintf(s->out, "%s%lld", d ? ", " : "", (long long)c->dims[d]);
    fprintf(s->out, "]%s", c->rank ? "\n    " : " ");
    measure(&p, 0, 0);
    print_part(&p, 0, 0);
    fputc('\n', s->out);
    tp_arena_free(work);
}

/* ---- following ---- */

static bool is_asked_for(const tp_show *s, const tp_event *e)
{
    for (uint32_t i = 0; i < s->nat; i++)
        for (uint32_t x = 0; x < s->k->naxes; x++)
            if (tp_str_eq(s->k->axes[x].name, s->at[i].name) && e->env[s->k->axes[x].sym] != s->at[i].value)
                return false;
    return true;
}

/* "step i = 0, j = 2; t = 1": of the grid, then of the loops that run. */
static tp_str heading_of(const tp_show *s, const tp_event *e)
{
    tp_buf b = {.arena = s->a};
    tp_buf_printf(&b, "step %.*s", TP_FMT(tp_coordinates_text(s->a, s->k, e->env)));
    for (uint32_t i = 0; i < s->deep && i < DEEP; i++) {
        tp_contents c = tp_contents_of_value(e, s->loops[i]);
        for (uint32_t n = 0; n < s->k->body->names.len; n++)
            if (s->k->body->names.at[n].value == s->loops[i])
                tp_buf_printf(&b, "; %.*s = %lld", TP_FMT(s->k->body->names.at[n].name),
                              (long long)tp_get_i64(c.dtype, c.data, 0));
    }
    return tp_buf_view(&b);
}

static void show(tp_show *s, const tp_event *e, tp_str name, const tp_contents *c)
{
    for (uint32_t i = 0; i < s->names.len; i++)
        s->seen[i] |= tp_str_eq(s->names.at[i], name);
    if (s->shown == TP_SHOW_MOST) {
        s->left_out++;
        return;
    }
    s->shown++;
    tp_str heading = heading_of(s, e);
    if (!tp_str_eq(heading, s->heading))
        fprintf(s->out, "%.*s\n", TP_FMT(tp_visible_line(s->a, heading)));
    s->heading = heading;
    fprintf(s->out, "  ");
    if (e->statement)
        fprintf(s->out,
                "%.*s: ", TP_FMT(tp_visible_line(s->a, tp_statement_place(s->a, s->source, e->statement->syntax))));
    fprintf(s->out, "%.*s = ", TP_FMT(tp_visible_line(s->a, name)));
    print_contents(s, c);
}

static void show_value(tp_show *s, const tp_event *e, tp_vid v)
{
    if (v < 0 || !s->value_name[v].n)
        return;
    tp_contents c = tp_contents_of_value(e, v);
    show(s, e, s->value_name[v], &c);
}

static void show_operand(tp_show *s, const tp_event *e, uint32_t operand)
{
    if (!s->operand[operand])
        return;
    tp_contents c = tp_contents_of_operand(e, operand);
    show(s, e, s->k->operands[operand].name, &c);
}

/* Before the first statement of the step. */
static void show_fetched(tp_show *s, const tp_event *e)
{
    tp_event before = *e;
    before.statement = NULL;
    for (uint32_t i = 0; i < s->k->ninputs + s->k->noutputs; i++) {
        if (s->fetched[i] && is_asked_for(s, e))
            show_operand(s, &before, i);
        s->fetched[i] = false;
    }
}

static void see_statement_done(tp_show *s, const tp_event *e)
{
    const tp_statement *x = e->statement;
    if (x->kind == TP_LOOP)
        s->deep--;
    if (!is_asked_for(s, e))
        return;
    if (x->kind == TP_COMPUTE)
        show_value(s, e, x->inst->out);
    else if (x->kind == TP_ASSIGN)
        show_value(s, e, x->var);
    else if (x->kind == TP_PUT)
        show_operand(s, e, x->access->operand);
}

static void see(tp_observer *o, const tp_event *e)
{
    tp_show *s = (tp_show *)o;
    switch (e->kind) {
    case TP_EVENT_STATEMENT:
        show_fetched(s, e);
        if (e->statement->kind == TP_LOOP && s->deep++ < DEEP)
            s->loops[s->deep - 1] = e->statement->var;
        return;
    case TP_EVENT_STATEMENT_DONE: see_statement_done(s, e); return;
    case TP_EVENT_FETCH: s->fetched[e->operand] = true; return;
    case TP_EVENT_COPY_DONE:
        if (is_asked_for(s, e))
            show_operand(s, e, e->operand);
        return;
    case TP_EVENT_STEP:
    case TP_EVENT_STEP_DONE:
    case TP_EVENT_WRITE:
    case TP_EVENT_MOVED:
    case TP_EVENT_STAY:
    case TP_EVENT_COUNT:
    case TP_EVENT_SIGNAL:
    case TP_EVENT_WAIT:
    case TP_EVENT_SIDE:
    case TP_EVENT_TRAP:
    case TP_EVENT_COPY: return;
    }
}

/* ---- what was asked for ---- */

/* Marks what bears the name; false: nothing does. */
static bool find(tp_show *s, tp_str name)
{
    int operand = tp_operand_find(s->k, name);
    if (operand >= 0) {
        s->operand[operand] = true;
        return true;
    }
    bool found = false;
    const tp_program *body = s->k->body;
    for (uint32_t i = 0; i < body->names.len; i++)
        if (!body->names.at[i].loop_variable && tp_str_eq(body->names.at[i].name, name)) {
            s->value_name[body->names.at[i].value] = name;
            found = true;
        }
    return found;
}

static void no_name(const tp_show *s, tp_str name)
{
    tp_buf names = {.arena = s->a};
    const tp_program *body = s->k->body;
    for (uint32_t i = 0; i < tp_noperands(s->k); i++)
        tp_buf_printf(&names, " %.*s", TP_FMT(s->k->operands[i].name));
    for (uint32_t i = 0; i < body->names.len; i++) {
        bool again = body->names.at[i].loop_variable; /* headings have them */
        for (uint32_t j = 0; j < i; j++)
            again |= tp_str_eq(body->names.at[j].name, body->names.at[i].name);
        if (!again)
            tp_buf_printf(&names, " %.*s", TP_FMT(body->names.at[i].name));
    }
    tp_usage_error("--show: the body has no operand or local `%.*s`; it has%.*s", TP_FMT(name),
                   TP_FMT(tp_buf_view(&names)));
}

static bool read_at(tp_cli *c, tp_show *s)
{
    s->nat = c->at.len;
    s->at = TP_NEWN(s->a, tp_binding, s->nat);
    if (!tp_option_bindings(&c->at, "at", "i=0", INT64_MAX, s->at))
        return false;
    for (uint32_t i = 0; i < s->nat; i++) {
        bool found = false;
        for (uint32_t x = 0; x < s->k->naxes; x++)
            found |= tp_str_eq(s->k->axes[x].name, s->at[i].name);
        if (!found) {
            tp_usage_error("--at: the grid has no axis `%.*s`", TP_FMT(s->at[i].name));
            return false;
        }
    }
    return true;
}

tp_show *tp_show_new(tp_cli *c, const tp_source *source, const tp_kernel *k, FILE *out)
{
    tp_show *s = TP_NEW(c->arena, tp_show);
    *s = (tp_show){.observer = {see, true}, .a = c->arena, .source = source, .k = k, .out = out};
    s->value_name = TP_NEWN(s->a, tp_str, k->body->values.len);
    s->operand = TP_NEWN(s->a, bool, tp_noperands(k));
    s->fetched = TP_NEWN(s->a, bool, tp_noperands(k));
    for (uint32_t i = 0; i < c->show.len; i++) {
        tp_str list = c->show.at[i], name;
        while (tp_list_next(&list, ",", &name)) {
            if (!find(s, name)) {
                no_name(s, name);
                return NULL;
            }
            tp_push(s->a, s->names, name);
        }
    }
    s->seen = TP_NEWN(s->a, bool, s->names.len);
    return read_at(c, s) ? s : NULL;
}

tp_observer *tp_show_observer(tp_show *s)
{
    return &s->observer;
}

void tp_show_close(tp_show *s)
{
    if (s->left_out)
        fprintf(s->out, "and %lld further values; --at AXIS=STEP shows those of one step\n", (long long)s->left_out);
    for (uint32_t i = 0; i < s->names.len; i++)
        if (!s->seen[i])
            fprintf(s->out, "%.*s: nothing is written to it in %s\n", TP_FMT(tp_visible_line(s->a, s->names.at[i])),
                    s->nat ? "this step" : "this run");
}
