/* What a step or a turn sets where a condition of indices holds, and else keeps. */
#include "analyzer/equality/internal.h"

kept_or_set match_choice(summary *s, term t, bool (*is_kept)(void *ctx, term t), term_kind kind, uint32_t operand,
                         void *ctx)
{
    tp_exprs *p = s->p;
    const term_node n = *term_get(s, t);
    if (is_kept(ctx, t))
        return (kept_or_set){.holds = tp_const(p, 0)};
    if (n.kind != T_SELECT || !term_mentions(s, t, kind, operand))
        return (kept_or_set){.holds = tp_const(p, 1), .value = t};
    kept_or_set yes = match_choice(s, n.arg[0], is_kept, kind, operand, ctx),
                no = match_choice(s, n.arg[1], is_kept, kind, operand, ctx);
    tp_expr one = tp_op2(p, TP_E_AND, n.e, yes.holds),
            other = tp_op2(p, TP_E_AND, condition_normal(s, n.e, true), no.holds);
    return (kept_or_set){.holds = condition_normal(s, tp_op2(p, TP_E_OR, one, other), false),
                         .value = !yes.value.id  ? no.value
                                  : !no.value.id ? yes.value
                                                 : term_select(s, n.e, yes.value, no.value)};
}
