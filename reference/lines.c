/* Writing the program of a builtin reference. */
#include <stdarg.h>

#include "reference/internal.h"

static const tp_json *argument(const tp_builtin_call *c, const char *key)
{
    return c->args && c->args->type == TP_J_OBJECT ? tp_json_get(c->args, key) : NULL;
}

const tp_operand *tp_builtin_input(const tp_builtin_call *c, const char *key, uint32_t otherwise)
{
    const tp_json *v = argument(c, key);
    if (!v)
        return otherwise < c->kernel->ninputs ? &c->kernel->operands[otherwise] : NULL;
    int i = v->type == TP_J_STRING ? tp_operand_find(c->kernel, v->u.string) : -1;
    return i >= 0 && (uint32_t)i < c->kernel->ninputs ? &c->kernel->operands[i] : NULL;
}

const tp_table *tp_builtin_table(const tp_builtin_call *c, const char *key)
{
    const tp_json *v = argument(c, key);
    int i = v && v->type == TP_J_STRING ? tp_table_find(c->kernel, v->u.string) : -1;
    return i >= 0 ? &c->kernel->tables[i] : NULL;
}

const char *tp_builtin_text(const tp_builtin_call *c, const char *key, const char *otherwise)
{
    const tp_json *v = argument(c, key);
    if (!v)
        return otherwise;
    if (v->type == TP_J_STRING)
        return tp_printf(c->arena, "(%.*s)", TP_FMT(v->u.string)).p;
    if (v->type == TP_J_INT)
        return tp_printf(c->arena, "(%lld)", (long long)v->u.integer).p;
    return v->type == TP_J_REAL ? tp_printf(c->arena, "(%.17g)", v->u.real).p : otherwise;
}

double tp_builtin_number(const tp_builtin_call *c, const char *key, double otherwise)
{
    const tp_json *v = argument(c, key);
    return !v ? otherwise : v->type == TP_J_REAL ? v->u.real : v->type == TP_J_INT ? (double)v->u.integer : otherwise;
}

bool tp_builtin_flag(const tp_builtin_call *c, const char *key)
{
    const tp_json *v = argument(c, key);
    return v && v->type == TP_J_BOOL && v->u.boolean;
}

const char *tp_builtin_output(const tp_builtin_call *c)
{
    return tp_cstr(c->arena, c->kernel->operands[c->kernel->ninputs].name);
}

const char *tp_builtin_dim(const tp_builtin_call *c, const tp_operand *o, uint32_t d)
{
    return tp_printf(c->arena, "(%.*s)", TP_FMT(tp_expr_text(c->kernel->exprs, o->shape[d]))).p;
}

static const char *shape_text(const tp_builtin_call *c, const tp_operand *x, bool last_only)
{
    tp_buf b = {.arena = c->arena};
    tp_buf_c(&b, "(");
    for (uint32_t d = 0; d < x->rank; d++)
        tp_buf_printf(&b, "%s,%s", last_only && d + 1 < x->rank ? "1" : tp_builtin_dim(c, x, d),
                      d + 1 < x->rank ? " " : "");
    tp_buf_c(&b, ")");
    return tp_cstr(c->arena, tp_buf_view(&b));
}

const char *tp_builtin_row_shape(const tp_builtin_call *c, const tp_operand *x)
{
    return shape_text(c, x, true);
}

const char *tp_builtin_shape(const tp_builtin_call *c, const tp_operand *x)
{
    return shape_text(c, x, false);
}

void tp_builtin_line(tp_builtin_call *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tp_push(c->arena, c->lines, tp_vprintf(c->arena, fmt, ap));
    va_end(ap);
}
