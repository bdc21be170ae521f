#include <stdarg.h>

#include "reference/internal.h"

/* build/gen/builtins.inc has one X(name) per file of reference/impl. */
#define X(name) extern const tp_builtin tp_builtin_##name;
#include "builtins.inc"
#undef X

static const tp_builtin *const BUILTINS[] = {
#define X(name) &tp_builtin_##name,
#include "builtins.inc"
#undef X
};

const tp_builtin *const *tp_builtins(size_t *n)
{
    *n = sizeof BUILTINS / sizeof *BUILTINS;
    return BUILTINS;
}

const tp_builtin *tp_builtin_find(tp_str name)
{
    for (size_t i = 0; i < sizeof BUILTINS / sizeof *BUILTINS; i++)
        if (tp_str_is(name, BUILTINS[i]->name))
            return BUILTINS[i];
    return NULL;
}

/* ---- writing a program ---- */

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
    tp_buf b = {.arena = c->arena};
    va_list ap;
    va_start(ap, fmt);
    tp_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    tp_push(c->arena, c->lines, tp_buf_view(&b));
}

/* ---- lowering it ---- */

typedef struct lowering {
    tp_ctx ctx;
    const tp_kernel *k;
    const tp_json *lines;
    tp_program *p;
} lowering;

static void lower(void *arg)
{
    lowering *l = arg;
    l->p = tp_lower_reference(&l->ctx, l->k, l->lines);
}

const tp_program *tp_builtin_program(evaluator *e)
{
    const tp_builtin *b = tp_builtin_find(e->k->reference.name);
    tp_builtin_call c = {.arena = e->arena, .kernel = e->k, .args = tp_json_get(e->k->reference.builtin, "args")};
    tp_json list = {.type = TP_J_ARRAY};
    if (!b)
        tp_give_up(e, tp_printf(e->arena, "there is no builtin reference \"%.*s\"", TP_FMT(e->k->reference.name)));
    if (e->k->noutputs != 1)
        tp_give_up(e, TP_S("a builtin reference has one output"));
    const char *wrong = b->write(&c);
    if (wrong)
        tp_give_up(e, tp_printf(e->arena, "builtin \"%s\": %s", b->name, wrong));
    list.u.items.n = c.lines.len;
    list.u.items.at = TP_NEWN(e->arena, tp_json *, c.lines.len);
    for (uint32_t i = 0; i < c.lines.len; i++) {
        list.u.items.at[i] = TP_NEW(e->arena, tp_json);
        list.u.items.at[i]->type = TP_J_STRING;
        list.u.items.at[i]->u.string = c.lines.at[i];
    }
    lowering *l = TP_NEW(e->arena, lowering);
    *l = (lowering){.ctx = {.arena = e->arena, .source = e->k->source}, .k = e->k, .lines = &list};
    tp_status st = tp_try(e->arena, lower, l);
    if (st == TP_E_INPUT)
        tp_give_up(e, tp_printf(e->arena, "builtin \"%s\" does not fit these operands: %.*s", b->name,
                                TP_FMT(l->ctx.findings.at[0].message)));
    if (st != TP_OK)
        tp_leave(e->arena, st);
    return l->p;
}
