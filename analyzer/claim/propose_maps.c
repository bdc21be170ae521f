/* Index maps that are right for another dimension or another operand: what a
 * permutation would mend is told by the same claim, with the other index. And
 * axes that count the blocks of a dimension which another one indexes. */
#include "analyzer/claim/claim.h"

static bool meets(tp_analysis *a, const tp_claim *c, const tp_operand *o, uint32_t d, tp_expr index)
{
    tp_claim other = *c;
    other.goal = tp_window_meets(a, o, d, index);
    return tp_claim_follows(a, &other);
}

static bool has_map(const tp_operand *o)
{
    return o->rank > 0 && !o->whole && o->dims[0].index_loc.end > o->dims[0].index_loc.start;
}

/* "(i, k)": the map with `at_d` in dimension d and `at_e` in e. */
static tp_str map_text(tp_analysis *a, const tp_operand *o, uint32_t d, tp_expr at_d, uint32_t e, tp_expr at_e)
{
    tp_buf b = {.arena = a->arena};
    for (uint32_t n = 0; n < o->rank; n++)
        tp_buf_printf(&b, "%s%.*s", n ? ", " : "(",
                      TP_FMT(tp_text(a, n == d   ? at_d
                                        : n == e ? at_e
                                                 : o->dims[n].index)));
    tp_buf_c(&b, ")");
    return tp_buf_view(&b);
}

/* What stands at two places, each at the other. */
static void propose_exchange(tp_analysis *a, tp_finding *f, tp_str title, tp_loc x, tp_loc y)
{
    tp_str text = a->k->source->text;
    if (x.start > y.start) {
        tp_loc first = y;
        y = x;
        x = first;
    }
    tp_edit edits[] = {{x.start, x.end, {text.p + y.start, y.end - y.start}},
                       {y.start, y.end, {text.p + x.start, x.end - x.start}}};
    tp_propose(a, f, title, edits, 2);
}

bool tp_propose_map_order(tp_analysis *a, tp_finding *f, const tp_claim *c, const tp_operand *o, uint32_t d)
{
    for (uint32_t e = 0; e < o->rank; e++) {
        if (e == d || tp_same(o->dims[d].index, o->dims[e].index) || !meets(a, c, o, d, o->dims[e].index) ||
            !meets(a, c, o, e, o->dims[d].index))
            continue;
        tp_str map = map_text(a, o, d, o->dims[e].index, e, o->dims[d].index);
        f->help =
            tp_message(a, "the index map of `%.*s` is in another order: `%.*s` meets the array in these dimensions",
                       TP_FMT(o->name), TP_FMT(map));
        propose_exchange(a, f, tp_message(a, "use the index_map `%.*s`", TP_FMT(map)), o->dims[d].index_loc,
                         o->dims[e].index_loc);
        return true;
    }
    return false;
}

static const tp_json *map_of(const tp_analysis *a, uint32_t operand)
{
    bool input = operand < a->k->ninputs;
    const tp_json *list = tp_json_get(a->k->doc, input ? "inputs" : "outputs");
    uint32_t at = input ? operand : operand - a->k->ninputs;
    return list && at < list->u.items.n ? tp_json_get(list->u.items.at[at], "index_map") : NULL;
}

static bool fit_each_other(tp_analysis *a, const tp_claim *c, const tp_operand *o, const tp_operand *p)
{
    for (uint32_t d = 0; d < o->rank; d++)
        if (!meets(a, c, o, d, p->dims[d].index) || !meets(a, c, p, d, o->dims[d].index))
            return false;
    return true;
}

bool tp_propose_map_exchange(tp_analysis *a, tp_finding *f, const tp_claim *c, uint32_t operand)
{
    const tp_operand *o = &a->k->operands[operand];
    for (uint32_t i = 0; i < a->k->ninputs + a->k->noutputs; i++) {
        const tp_operand *p = &a->k->operands[i];
        const tp_json *x = map_of(a, operand), *y = map_of(a, i);
        if (i == operand || !has_map(o) || !has_map(p) || p->rank != o->rank || !x || !y || !fit_each_other(a, c, o, p))
            continue;
        const tp_operand *first = i < operand ? p : o, *second = i < operand ? o : p;
        f->help = tp_message(a, "each has the index map of the other: exchange those of `%.*s` and `%.*s`",
                             TP_FMT(first->name), TP_FMT(second->name));
        propose_exchange(
            a, f,
            tp_message(a, "exchange the index maps of `%.*s` and `%.*s`", TP_FMT(first->name), TP_FMT(second->name)),
            x->loc, y->loc);
        return true;
    }
    return false;
}

/* Has dimension d as many blocks, by how both are written? */
static bool has_blocks(tp_analysis *a, const tp_operand *o, uint32_t d, tp_expr n)
{
    static const tp_expr_op QUOTIENTS[] = {TP_E_CDIV, TP_E_FLOORDIV};
    bool same = false;
    for (size_t i = 0; i < 2 && !same; i++)
        same =
            tp_same(tp_expr_normal(a->p, n), tp_expr_normal(a->p, mk(a, QUOTIENTS[i], o->shape[d], o->dims[d].block)));
    return same;
}

/* Is it i // 2 or i * 2 of a symbol? */
static bool is_multiple(tp_analysis *a, tp_expr_node at)
{
    return (at.op == TP_E_FLOORDIV || at.op == TP_E_MUL) && tp_expr_get(a->p, at.a)->op == TP_E_SYM &&
           tp_expr_get(a->p, at.b)->op == TP_E_CONST;
}

/* Is it 0, an axis or a multiple of one, and none that counts the blocks of its dimension? */
static bool is_doubtful(tp_analysis *a, const tp_operand *o, uint32_t d)
{
    tp_expr_node at = *tp_expr_get(a->p, o->dims[d].index);
    bool right = o->dims[d].kind == TP_DIM_ELEMENT || (at.op != TP_E_SYM && at.op != TP_E_CONST && !is_multiple(a, at));
    for (uint32_t x = 0; x < a->k->naxes && !right; x++)
        right = at.op == TP_E_SYM && at.value == a->k->axes[x].sym && has_blocks(a, o, d, a->k->axes[x].steps);
    return !right;
}

static void propose_index(tp_analysis *a, tp_finding *f, const tp_operand *o, uint32_t d, tp_expr index)
{
    tp_edit edit = tp_edit_expr(a, o->dims[d].index_loc, tp_text(a, index));
    if (!tp_same(index, o->dims[d].index))
        tp_propose(a, f, tp_message(a, "use the index_map `%.*s`", TP_FMT(map_text(a, o, d, index, d, index))), &edit,
                   1);
}

void tp_propose_axis(tp_analysis *a, tp_finding *f, const tp_operand *o)
{
    for (uint32_t d = 0; d < o->rank && has_map(o); d++) {
        if (!is_doubtful(a, o, d))
            continue;
        if (has_blocks(a, o, d, num(a, 1)) || tp_same(o->shape[d], o->dims[d].block))
            propose_index(a, f, o, d, num(a, 0));
        for (uint32_t x = 0; x < a->k->naxes; x++) {
            bool taken = !has_blocks(a, o, d, a->k->axes[x].steps);
            for (uint32_t e = 0; e < o->rank && !taken; e++)
                taken = e != d && tp_expr_mentions(a->p, o->dims[e].index, a->k->axes[x].sym);
            if (!taken)
                propose_index(a, f, o, d, tp_sym(a->p, a->k->axes[x].sym));
        }
    }
}

/* How many steps come to a block: a size, or a number; none: neither. */
static tp_expr steps_to_a_block(tp_analysis *a, tp_expr steps, tp_expr blocks)
{
    int64_t s, b;
    if (tp_expr_is_const(a->p, steps, &s) && tp_expr_is_const(a->p, blocks, &b))
        return b > 0 && s > b && s % b == 0 ? num(a, s / b) : (tp_expr){0};
    for (uint32_t i = 0; i < a->k->nsizes; i++) {
        tp_expr size = a->k->sizes[i].expr;
        if (tp_same(tp_expr_normal(a->p, steps), tp_expr_normal(a->p, mk(a, TP_E_MUL, blocks, size))))
            return size;
    }
    return (tp_expr){0};
}

static bool is_read_by_a_map(tp_analysis *a, uint32_t table)
{
    bool any = false;
    for (uint32_t i = 0; i < a->k->ninputs + a->k->noutputs; i++)
        for (uint32_t d = 0; d < a->k->operands[i].rank && !a->k->operands[i].whole && !any; d++)
            any = tp_expr_mentions(a->p, a->k->operands[i].dims[d].index, table);
    return any;
}

void tp_propose_fewer(tp_analysis *a, tp_finding *f, const tp_claim *c, const tp_operand *o, uint32_t d)
{
    const tp_dim *dim = &o->dims[d];
    const tp_expr_node at = *tp_expr_get(a->p, dim->index);
    for (uint32_t x = 0; x < a->k->naxes && at.op == TP_E_SYM && dim->kind != TP_DIM_ELEMENT; x++) {
        const tp_axis *axis = &a->k->axes[x];
        if (at.value != axis->sym)
            continue;
        for (uint32_t t = 0; t < a->k->ntables; t++) {
            const tp_table *table = &a->k->tables[t];
            tp_expr entry = table->rank == 1 ? tp_read(a->p, table->sym, 1, &dim->index) : (tp_expr){0};
            if (entry.id && !is_read_by_a_map(a, table->sym) &&
                tp_same(tp_expr_normal(a->p, table->shape[0]), tp_expr_normal(a->p, axis->steps)) &&
                meets(a, c, o, d, entry))
                tp_propose_expr(a, f, dim->index_loc, tp_text(a, entry));
        }
        tp_expr per = steps_to_a_block(a, axis->steps, mk(a, TP_E_CDIV, o->shape[d], dim->block)), one = {0};
        if (!per.id)
            continue;
        tp_expr by[] = {mk(a, TP_E_FLOORDIV, dim->index, per), mk(a, TP_E_MOD, dim->index, o->shape[d])};
        for (size_t i = 0; i < 2; i++)
            if (meets(a, c, o, d, by[i])) {
                tp_propose_expr(a, f, dim->index_loc, tp_text(a, by[i]));
                one = one.id ? one : by[i];
            }
        if (one.id && !f->help.n)
            f->help = tp_message(a, "`%.*s` steps of `%.*s` come to one block: use `%.*s`", TP_FMT(tp_text(a, per)),
                                 TP_FMT(axis->name), TP_FMT(tp_text(a, one)));
    }
}
