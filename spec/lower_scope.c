/* `with`: scratch of a part of the body. Its operands were read with the others (read_operands.c). */
#include "spec/lower.h"

bool *lower_open(tp_lower *l)
{
    bool *open = TP_NEWN(l->c->arena, bool, tp_noperands(l->k));
    for (uint32_t i = 0; i < tp_noperands(l->k); i++)
        open[i] = !l->k->operands[i].scoped;
    return open;
}

void lower_check_open(tp_lower *l, uint32_t operand, const tp_node *n)
{
    if (!l->open[operand])
        lower_fail(l, n, "use it within that `with`; a function has a `with` of its own",
                   "`%.*s` is there within its `with` alone", TP_FMT(n->text));
}

static bool same_text(tp_lower *l, const tp_node *a, const tp_node *b)
{
    tp_buf x = {.arena = l->c->arena}, y = {.arena = l->c->arena};
    tp_print_node(&x, a);
    tp_print_node(&y, b);
    return tp_str_eq(tp_buf_view(&x), tp_buf_view(&y));
}

tp_scope lower_scope_of(tp_lower *l, const tp_syntax *s)
{
    tp_scope scope = {.n = s->target->nkids};
    if (l->reference)
        lower_fail(l, s->value, "a reference makes values: zeros(shape, dtype)", "a reference has no scratch");
    for (uint32_t i = 0; i < scope.n; i++) { /* another body of the kernel may make others */
        int at = tp_operand_find(l->k, s->target->kids[i]->text);
        if (at < 0 || !l->k->operands[at].scoped || (i && (uint32_t)at != scope.first + i) ||
            !same_text(l, l->k->operands[at].scoped, s->value->kids[i]))
            lower_fail(l, s->value->kids[i], NULL, "the kernel has no such buffer");
        scope.first = (uint32_t)at - i;
    }
    return scope;
}
