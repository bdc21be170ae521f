#include "base/checked.h"
#include "analyzer/claim/claim.h"

/* index / block when the text of the map is a multiple of the block. */
static tp_expr divided_by_block(tp_analysis *a, tp_expr index, tp_expr block)
{
    tp_poly *p = TP_NEW(a->arena, tp_poly), quotient = {.ok = true};
    int64_t b;
    tp_poly_of(a->p, index, p);
    bool constant = tp_expr_is_const(a->p, block, &b);
    if (!p->ok || p->n == 0 || (constant && b <= 1))
        return (tp_expr){0};
    block = tp_expr_normal(a->p, block);
    for (uint32_t i = 0; i < p->n; i++) {
        tp_term t = p->terms[i];
        if (constant) {
            if (t.coef % b != 0)
                return (tp_expr){0};
            t.coef /= b;
        } else {
            uint32_t k = 0;
            while (k < t.degree && !tp_same(t.factors[k], block))
                k++;
            if (k == t.degree)
                return (tp_expr){0};
            memmove(&t.factors[k], &t.factors[k + 1], (t.degree - k - 1) * sizeof *t.factors);
            t.degree--;
        }
        tp_poly_add_term(&quotient, &t);
    }
    return tp_poly_expr(a->p, &quotient);
}

static bool holds_with(tp_analysis *a, const tp_claim *c, const tp_operand *o, uint32_t d, tp_expr index)
{
    tp_claim fixed = *c;
    if (!index.id)
        return false;
    fixed.goal = tp_window_meets(a, o, d, index);
    return tp_claim_decide(a, &fixed).verdict == TP_PROVEN;
}

/* A change of the map, proven before it is named. */
static void suggest(tp_analysis *a, tp_finding *f, const tp_claim *c, const tp_operand *o, uint32_t operand, uint32_t d)
{
    const tp_dim *dim = &o->dims[d];
    tp_expr by_block = dim->kind == TP_DIM_BLOCKED ? divided_by_block(a, dim->index, dim->block) : (tp_expr){0};
    tp_expr shifted[] = {tp_without_constant(a, dim->index), mk(a, TP_E_SUB, dim->index, num(a, 1)),
                         mk(a, TP_E_ADD, dim->index, num(a, 1))};
    if (holds_with(a, c, o, d, by_block)) {
        f->note =
            TP_S("this map returns elements; index maps return block indices, which are multiplied by block_shape");
        f->help = tp_message(a, "use `%.*s` (re-checked: then proven)", TP_FMT(tp_text(a, by_block)));
        tp_propose_expr(a, f, dim->index_loc, tp_text(a, by_block));
        return;
    }
    bool exchanged = tp_propose_map_order(a, f, c, o, d) || tp_propose_map_exchange(a, f, c, operand);
    tp_propose_axis(a, f, o);
    if (exchanged)
        return;
    tp_propose_fewer(a, f, c, o, d);
    for (size_t i = 0; i < sizeof shifted / sizeof *shifted && !f->help.n; i++)
        if (holds_with(a, c, o, d, shifted[i])) {
            f->help = tp_message(a, "use `%.*s` (re-checked: then proven)", TP_FMT(tp_text(a, shifted[i])));
            tp_propose_expr(a, f, dim->index_loc, tp_text(a, shifted[i]));
        }
    for (uint32_t x = 0; x < a->k->naxes; x++) { /* cdiv(M, 128) + 1 steps */
        const tp_axis *axis = &a->k->axes[x];
        tp_expr fewer =
            tp_expr_mentions(a->p, dim->index, axis->sym) ? tp_without_constant(a, axis->steps) : (tp_expr){0};
        if (fewer.id)
            tp_propose_expr(a, f, axis->steps_loc, tp_text(a, fewer));
    }
}

static tp_str describe(tp_analysis *a, const tp_operand *o, uint32_t d, const int64_t *env)
{
    int64_t index = 0, block = 0, extent = 0, lo = 0;
    const tp_dim *dim = &o->dims[d];
    tp_expr_eval(a->p, dim->index, env, &index);
    tp_expr_eval(a->p, dim->block, env, &block);
    tp_expr_eval(a->p, o->shape[d], env, &extent);
    int64_t from, to;
    bool element = dim->kind == TP_DIM_ELEMENT;
    if (element)
        tp_expr_eval(a->p, dim->pad_lo, env, &lo);
    if (!(element ? tp_sub(index, lo, &from) : tp_mul(index, block, &from)) || !tp_add(from, block, &to) ||
        !tp_sub(to, 1, &to))
        return tp_message(a, "the window at index %lld ends beyond 64 bits; dimension %u has %lld", (long long)index, d,
                          (long long)extent);
    if (element)
        return tp_message(a, "the window covers elements %lld..%lld; dimension %u has %lld", (long long)from,
                          (long long)to, d, (long long)extent);
    return tp_message(a, "block index %lld wants elements %lld..%lld; dimension %u has %lld", (long long)index,
                      (long long)from, (long long)to, d, (long long)extent);
}

static void check(tp_analysis *a)
{
    for (uint32_t i = 0; i < a->k->ninputs + a->k->noutputs; i++) {
        const tp_operand *o = tp_part_of_device(a->arena, &a->k->operands[i]);
        for (uint32_t d = 0; d < o->rank && !o->whole; d++) {
            const tp_dim *dim = &o->dims[d];
            const int64_t *env;
            tp_claim c = {
                .goal = tp_window_meets(a, o, d, dim->index),
                .over_steps = true,
                .subject = o->name,
                .loc = dim->index_loc,
                .proven = tp_message(a, "every block of `%.*s` meets the array in dimension %u", TP_FMT(o->name), d),
                .violated = tp_message(a, "operand `%.*s` can be %s outside dimension %u", TP_FMT(o->name),
                                       o->role == TP_INPUT ? "read" : "written", d),
                .label = dim->kind == TP_DIM_BLOCKED
                             ? tp_message(a, "the last valid block index is cdiv(%.*s, %.*s) - 1",
                                          TP_FMT(tp_text(a, o->shape[d])), TP_FMT(tp_text(a, dim->block)))
                             : TP_S("the window leaves the array"),
            };
            tp_finding *f = tp_claim_check(a, &c, &env);
            if (f->verdict != TP_VIOLATED)
                continue;
            f->witness->detail = describe(a, o, d, env);
            suggest(a, f, &c, o, i, d);
            if (!f->help.n && dim->kind != TP_DIM_ELEMENT)
                f->help = tp_help_entry(a, dim->index, mk(a, TP_E_CDIV, o->shape[d], dim->block), env);
            if (!f->note.n)
                f->note = TP_S("JAX does not report this: TPU lowering accepts it, interpret=True clamps the index and "
                               "uses other data");
        }
    }
}

const tp_rule tp_rule_tp101_block_out_of_bounds = {
    .code = "TP101",
    .slug = "block-out-of-bounds",
    .title = "every window meets its array, for all steps and sizes",
    .severity = TP_ERROR,
    .traps = true,
    .for_equality = true,
    .why = "A window must meet its array in at least one element. The hardware copies whatever lies at the computed "
           "address; nothing checks it.",
    .bad = "\"block_shape\": [128], \"index_map\": [\"i * 128\"]   (elements, not blocks)",
    .good = "\"block_shape\": [128], \"index_map\": [\"i\"]",
    .jax = "Lowering and the TPU compiler accept it silently. interpret=True clamps the start to the last block and "
           "returns wrong numbers; the TPU interpreter raises, for the executed shape only.",
    .check = check,
};
