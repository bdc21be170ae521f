#include "analyzer/flow/flow.h"
#include "base/checked.h"

enum { GUARDS = 64 };

static tp_expr lies_in(tp_analysis *a, tp_expr at, tp_expr extent)
{
    return both(a, mk(a, TP_E_GE, at, num(a, 0)), mk(a, TP_E_LT, at, extent));
}

/* The claim of a place whose lanes count where its mask holds; false: the mask is not known. */
static bool guard_claim(tp_analysis *a, const tp_use *u, tp_claim *c)
{
    if (!u->guard.id) {
        c->approximate = "the mask is not known for all sizes";
        return false;
    }
    tp_expr *premises = TP_NEWN(a->arena, tp_expr, c->npremises + GUARDS + 1);
    memcpy(premises, c->premises, c->npremises * sizeof *premises);
    c->premises = premises;
    c->npremises += tp_conjuncts(a, u->guard, premises + c->npremises, GUARDS);
    tp_expr at = u->along.id ? mk(a, TP_E_ADD, u->value, mk(a, TP_E_MUL, u->along, num(a, u->stride))) : u->value;
    c->goal = lies_in(a, at, u->extent);
    return true;
}

/* A number, where it is one, else code. */
static tp_str text_of(tp_analysis *a, tp_expr e)
{
    tp_expr normal = tp_expr_normal(a->p, e);
    return tp_expr_is_const(a->p, normal, NULL) ? tp_text(a, normal) : tp_message(a, "`%.*s`", TP_FMT(tp_text(a, e)));
}

static tp_str last_of(tp_analysis *a, tp_expr extent)
{
    return text_of(a, mk(a, TP_E_SUB, extent, num(a, 1)));
}

/* What keeps a start, which is `start` in the case env, in its place: an entry of a table; without its constant; or how
 * far it may go, as `size` elements from there on are used. */
static tp_str advice_of(tp_analysis *a, const tp_claim *c, const tp_use *u, tp_expr size, int64_t start,
                        const int64_t *env)
{
    tp_expr most = mk(a, TP_E_SUB, u->extent, size), starts = mk(a, TP_E_ADD, most, num(a, 1));
    tp_str entry = tp_help_entry(a, u->value, starts, env);
    tp_expr rest = tp_without_constant(a, u->value);
    tp_claim shifted = *c;
    int64_t by, n = 0;
    if (entry.n)
        return entry;
    shifted.goal = rest.id ? lies_in(a, rest, starts) : c->goal;
    if (rest.id && tp_expr_is_const(a->p, tp_expr_normal(a->p, mk(a, TP_E_SUB, u->value, rest)), &by) &&
        tp_claim_decide(a, &shifted).verdict == TP_PROVEN)
        return tp_message(a, "begin %lld %s (re-checked: then it stays inside)", (long long)(by < 0 ? -by : by),
                          by < 0 ? "later" : "earlier");
    int64_t extent, from_end;
    if (tp_expr_is_const(a->p, tp_expr_normal(a->p, u->value), &from_end) &&
        tp_expr_is_const(a->p, tp_expr_normal(a->p, u->extent), &extent) &&
        tp_expr_is_const(a->p, tp_expr_normal(a->p, size), &n) && from_end < 0 && from_end + extent >= 0 &&
        n <= -from_end)
        return tp_message(a, "count from the start, %lld: a ref has no indices from its end",
                          (long long)(from_end + extent));
    if (tp_expr_is_const(a->p, tp_expr_normal(a->p, size), &n) && n == 1)
        return tp_message(a, "keep it from 0 to %.*s%s", TP_FMT(text_of(a, most)),
                          u->turn ? ", or let the loop take fewer turns" : "");
    if (tp_expr_is_const(a->p, tp_expr_normal(a->p, u->value), &n) && n == 0)
        return tp_message(a, "the dimension is too short for it: take fewer than %.*s elements",
                          TP_FMT(text_of(a, size)));
    return start < 0 ? TP_S("keep the start at 0 or above, and mask what is then there twice")
                     : tp_message(a,
                                  "keep the start at %.*s or below, and mask what is then there twice; or take parts "
                                  "that divide the dimension",
                                  TP_FMT(text_of(a, most)));
}

/* What counts the turns: of a `while` over a range, what its last statement steps. NULL: it has no name. */
static const tp_node *counter_of(const tp_syntax *loop)
{
    const tp_node *n = loop->kind == TP_S_WHILE ? loop->body.at[loop->body.len - 1]->target : loop->target;
    return n && n->kind == TP_N_NAME ? n : NULL;
}

/* The detail, and in which turns of the loops around it. */
static tp_str with_turns(tp_analysis *a, const tp_use *u, const int64_t *env, tp_str detail)
{
    for (const tp_flow_turn *t = u->turn; t; t = t->outer) {
        const tp_node *name = counter_of(t->loop);
        int64_t at;
        if (t->variable.id && name && tp_expr_eval(a->p, t->variable, env, &at) == TP_EVAL_OK)
            detail = tp_message(a, "%.*s; %.*s = %lld", TP_FMT(detail), TP_FMT(name->text), (long long)at);
    }
    return detail;
}

static void check_slice(tp_analysis *a, const tp_flow *f, const tp_use *u)
{
    const tp_operand *o = &a->k->operands[u->operand];
    tp_expr span = mk(a, TP_E_MUL, mk(a, TP_E_SUB, u->size, num(a, 1)), num(a, u->stride));
    tp_claim c = tp_use_claim(a, f, u);
    c.subject = o->name;
    c.proven = tp_message(a, "this access of `%.*s` stays inside dimension %u", TP_FMT(o->name), u->dim);
    c.violated = tp_message(a, "this access of `%.*s` can leave dimension %u", TP_FMT(o->name), u->dim);
    c.label = tp_message(a, "dimension %u of the ref has %.*s", u->dim, TP_FMT(tp_text(a, u->extent)));
    c.note = TP_S("interpret=True clamps the start and uses other data; a TPU accesses whatever lies there");
    if (!u->value.id) {
        tp_use_unknown(a, &c, "the start depends on data, or its int32 arithmetic may overflow");
        return;
    }
    if (u->guarded && guard_claim(a, u, &c)) {
        c.note = TP_S("the mask does not leave these lanes out");
        tp_finding *lanes = tp_claim_check(a, &c, NULL);
        if (lanes->verdict == TP_VIOLATED)
            lanes->help = tp_message(a, "let the mask keep elements 0 to %.*s alone", TP_FMT(last_of(a, u->extent)));
        return;
    }
    c.goal = both(a, mk(a, TP_E_GE, u->value, num(a, 0)), mk(a, TP_E_LT, mk(a, TP_E_ADD, u->value, span), u->extent));
    if (!tp_expr_is_const(a->p, u->size, NULL)) /* an empty slice touches nothing */
        c.premises[c.npremises++] = mk(a, TP_E_GE, u->size, num(a, 1));
    const int64_t *env;
    tp_finding *found = tp_claim_check(a, &c, &env);
    if (found->verdict != TP_VIOLATED || found->witness->detail.n)
        return;
    int64_t start = 0, size = 1, extent = 0, last;
    tp_expr_eval(a->p, u->value, env, &start);
    tp_expr_eval(a->p, u->size, env, &size);
    tp_expr_eval(a->p, u->extent, env, &extent);
    if (start < 0)
        found->note =
            TP_S("interpret=True counts a negative start from the end; a TPU accesses whatever lies before the array");
    found->witness->detail = tp_last(start, size, u->stride, &last)
                                 ? tp_message(a, "elements %lld..%lld; the dimension has %lld", (long long)start,
                                              (long long)last, (long long)extent)
                                 : tp_message(a, "elements from %lld to beyond 2^63; the dimension has %lld",
                                              (long long)start, (long long)extent);
    found->witness->detail = with_turns(a, u, env, found->witness->detail);
    found->help = advice_of(a, &c, u, u->stride == 1 ? u->size : mk(a, TP_E_ADD, span, num(a, 1)), start, env);
}

/* The claim of a number that counts from 0 below the extent; help: where it does not. */
static void check_index(tp_analysis *a, const tp_use *u, tp_claim *c, const char *unknown, tp_str help)
{
    if (!u->value.id) {
        tp_use_unknown(a, c, unknown);
        return;
    }
    c->goal = lies_in(a, u->value, u->extent);
    tp_finding *f = tp_claim_check(a, c, NULL);
    if (f->verdict == TP_VIOLATED)
        f->help = help;
}

static void check_take(tp_analysis *a, const tp_flow *f, const tp_use *u)
{
    tp_claim c = tp_use_claim(a, f, u);
    c.proven = TP_S("every index of `take` is in range");
    c.violated = TP_S("an index of `take` can be out of range");
    c.label = tp_message(a, "there are %.*s", TP_FMT(tp_text(a, u->extent)));
    c.note = TP_S("jnp.take fills with NaN or clamps, by its mode; a TPU reads what lies there");
    check_index(a, u, &c, "the index depends on data, or its int32 arithmetic may overflow",
                tp_message(a, "keep it from 0 to %.*s", TP_FMT(last_of(a, u->extent))));
}

static void check_device(tp_analysis *a, const tp_flow *f, const tp_use *u)
{
    tp_claim c = tp_use_claim(a, f, u);
    c.subject = a->k->axes[u->dim].name;
    c.proven = tp_message(a, "the device that is named here is one of `%.*s`", TP_FMT(c.subject));
    c.violated = tp_message(a, "there may be no device of that number: `%.*s` is less than %.*s", TP_FMT(c.subject),
                            TP_FMT(tp_text(a, u->extent)));
    c.note = TP_S("a coordinate beyond its axis is not checked: on a mesh it names a device of another row");
    check_index(
        a, u, &c, "the device depends on data, or its int32 arithmetic may overflow",
        tp_message(a, "take it modulo %.*s: behind the last device comes the first", TP_FMT(text_of(a, u->extent))));
}

static void check(tp_analysis *a)
{
    const tp_flow *f = tp_flow_of(a);
    tp_flow_gave_up(a, f, true);
    for (uint32_t i = 0; f && i < f->uses.len; i++)
        if (f->uses.at[i].kind == TP_USE_SLICE)
            check_slice(a, f, &f->uses.at[i]);
        else if (f->uses.at[i].kind == TP_USE_TAKE)
            check_take(a, f, &f->uses.at[i]);
        else if (f->uses.at[i].kind == TP_USE_DEVICE)
            check_device(a, f, &f->uses.at[i]);
}

const tp_rule tp_rule_tp102_slice_out_of_bounds = {
    .code = "TP102",
    .slug = "slice-out-of-bounds",
    .title = "every slice of a ref in the body stays inside it",
    .severity = TP_ERROR,
    .follows = true,
    .traps = true,
    .for_equality = true,
    .per_dtype = true,
    .why = "A dynamic slice that starts too far reads or overwrites whatever lies behind the window in VMEM.",
    .bad = "\"x[ds(t * 16, 16), :]\"   with 100 rows and t up to cdiv(100, 16) - 1",
    .good = "\"x[ds(min(t * 16, 84), 16), :]\", or a size that 16 divides",
    .jax = "Static slices are checked while tracing. Dynamic ones are not: interpret=True clamps the start; the TPU "
           "interpreter raises, for the executed shape only.",
    .check = check,
};
