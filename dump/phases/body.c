/* The typed program of a body: one line a statement or an instruction. */
#include "dump/dump.h"

typedef struct printer {
    const tp_kernel *k;
    const tp_program *p;
    tp_buf *b;
    tp_dump_note note; /* NULL: none */
    const void *ctx;
} printer;

static void put_region(const printer *x, const tp_region *r, int depth);

static void put_value(const printer *x, tp_vid v)
{
    const tp_value *t = &x->p->values.at[v];
    if (t->dtype == TP_WEAK_INT)
        tp_buf_str(x->b, tp_expr_text(x->k->exprs, t->meaning));
    else
        tp_buf_printf(x->b, "%%%d", (int)v);
}

static void put_access(const printer *x, const tp_access *a)
{
    const tp_operand *o = &x->k->operands[a->operand];
    tp_buf_printf(x->b, "%.*s[", TP_FMT(o->name));
    for (uint32_t d = 0; d < o->ref_rank; d++) {
        const tp_subscript *s = &a->subs[d];
        tp_buf_c(x->b, d ? ", " : "");
        if (s->kind == TP_SUB_FULL) {
            tp_buf_c(x->b, ":");
            continue;
        }
        put_value(x, s->start);
        if (s->kind == TP_SUB_SLICE)
            tp_buf_printf(x->b, " : %.*s by %lld", TP_FMT(tp_expr_text(x->k->exprs, s->size)), (long long)s->stride);
    }
    tp_buf_c(x->b, "]");
}

static void put_numbers(const printer *x, const tp_inst *i)
{
    for (uint32_t n = 0; n < i->nints; n++)
        tp_buf_printf(x->b, "%s%lld", n ? ", " : " {", (long long)i->ints[n]);
    tp_buf_c(x->b, i->nints ? "}" : "");
    if (i->prim == TP_P_LITERAL)
        tp_buf_printf(x->b, " %.17g", i->real);
    else if (i->integer)
        tp_buf_printf(x->b, " #%lld", (long long)i->integer);
    tp_buf_c(x->b, i->reverse ? " reversed" : "");
}

static void put_inst(const printer *x, const tp_inst *i)
{
    const tp_value *t = &x->p->values.at[i->out];
    tp_buf_printf(x->b, "%%%d: ", (int)i->out);
    tp_dump_type(x->b, t->dtype, x->k->exprs, t->rank, t->dims);
    tp_buf_printf(x->b, " = %s", tp_prim_info(i->prim)->name);
    for (uint32_t n = 0; n < i->nargs; n++) {
        tp_buf_c(x->b, n ? ", " : " ");
        put_value(x, i->args[n]);
    }
    if (i->access) {
        tp_buf_c(x->b, " ");
        put_access(x, i->access);
    }
    put_numbers(x, i);
    if (x->note)
        tp_buf_printf(x->b, "    -- %s", x->note(x->ctx, i));
}

static void put_device(const printer *x, const tp_statement *s)
{
    for (uint32_t i = 0; i < TP_MAX_MESH && s->device[i] >= 0; i++) {
        tp_buf_c(x->b, i ? ", " : " of device ");
        put_value(x, s->device[i]);
    }
    if (s->arrival) {
        tp_buf_c(x->b, ", there on ");
        put_access(x, s->arrival);
    }
}

static void put_statement(const printer *x, const tp_statement *s, int depth)
{
    tp_buf_printf(x->b, "%*s", 2 * depth, "");
    switch (s->kind) {
    case TP_COMPUTE: put_inst(x, s->inst); break;
    case TP_ASSIGN:
        tp_buf_printf(x->b, "%%%d := ", (int)s->var);
        put_value(x, s->value);
        break;
    case TP_PUT:
        put_access(x, s->access);
        tp_buf_c(x->b, " := ");
        put_value(x, s->value);
        break;
    case TP_COPY_START:
    case TP_COPY_WAIT:
        tp_buf_c(x->b, s->kind == TP_COPY_START ? "start " : "wait for ");
        put_access(x, s->from);
        tp_buf_c(x->b, " to ");
        put_access(x, s->access);
        tp_buf_c(x->b, " on ");
        put_access(x, s->semaphore);
        put_device(x, s);
        break;
    case TP_SIGNAL:
    case TP_AWAIT:
        tp_buf_c(x->b, s->kind == TP_SIGNAL ? "signal " : "await ");
        put_access(x, s->semaphore);
        tp_buf_c(x->b, " by ");
        put_value(x, s->value);
        put_device(x, s);
        break;
    case TP_ENTER:
    case TP_LEAVE:
        tp_buf_c(x->b, s->kind == TP_ENTER ? "enter" : "leave");
        for (uint32_t o = s->scope.first; o < s->scope.first + s->scope.n; o++)
            tp_buf_printf(x->b, " %.*s", TP_FMT(x->k->operands[o].name));
        break;
    case TP_IF:
    case TP_ASSERT:
        tp_buf_c(x->b, s->kind == TP_IF ? "if " : "check ");
        put_value(x, s->value);
        break;
    case TP_LOOP:
        tp_buf_printf(x->b, "for %%%d from ", (int)s->var);
        put_value(x, s->lo);
        tp_buf_c(x->b, " below ");
        put_value(x, s->hi);
        tp_buf_printf(x->b, " by %lld", (long long)s->by);
        break;
    case TP_WHILE:
        tp_buf_c(x->b, "while ");
        put_value(x, s->value);
        tp_buf_c(x->b, ", after\n");
        put_region(x, &s->test, depth + 2);
        tp_buf_printf(x->b, "%*sdo", 2 * depth, "");
        break;
    }
    tp_buf_c(x->b, "\n");
    put_region(x, &s->body, depth + 1);
    if (s->orelse.len) {
        tp_buf_printf(x->b, "%*selse\n", 2 * depth, "");
        put_region(x, &s->orelse, depth + 1);
    }
}

static void put_region(const printer *x, const tp_region *r, int depth)
{
    for (uint32_t i = 0; i < r->len; i++)
        put_statement(x, &r->at[i], depth);
}

void tp_dump_region(const tp_kernel *k, const tp_region *r, tp_dump_note note, const void *ctx, tp_buf *b)
{
    put_region(&(printer){k, k->body, b, note, ctx}, r, 0);
}

static void print(tp_ctx *c, const tp_kernel *k, tp_buf *b)
{
    (void)c;
    if (k->body)
        tp_dump_region(k, &k->body->statements, NULL, NULL, b);
}

const tp_dump tp_dump_body = {"body", "the typed program of the body", print};
