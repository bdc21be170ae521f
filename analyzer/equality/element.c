/* What one element of a value is: programs at symbolic indices. */
#include "analyzer/equality/sum.h"

static const tp_value *value_of(const evaluation *v, tp_vid value)
{
    return &v->values.at[value];
}

static bool is_one(evaluation *v, tp_expr dim)
{
    int64_t n;
    return tp_expr_is_const(v->s->p, dim, &n) && n == 1;
}

static tp_expr plus(evaluation *v, tp_expr a, tp_expr b)
{
    return tp_op2(v->s->p, TP_E_ADD, a, b);
}

static tp_expr times(evaluation *v, tp_expr a, tp_expr b)
{
    return tp_op2(v->s->p, TP_E_MUL, a, b);
}

void evaluation_stop(evaluation *v, const char *why)
{
    if (!v->body)
        why = tp_printf(v->s->arena, "%s, in the reference", why).p;
    summary_stop(v->s, tp_str_c(why));
}

tp_expr scalar_of(evaluation *v, tp_vid value)
{
    const term_node *n = term_get(v->s, element_of(v, value, NULL));
    if (n->kind != T_INTEGER)
        evaluation_stop(v, "an index or a bound depends on data");
    return n->e;
}

/* ---- memory ---- */

/* After a number of turns, or in a turn as it began. */
static term turn_element(evaluation *v, const stored *c, const tp_expr *at)
{
    uint32_t rank = v->loops.at[c->loop - 1].rank;
    tp_expr lane[TP_MAX_RANK];
    if (rank == TP_MAX_RANK)
        evaluation_stop(v, "a loop over variables of so many dimensions");
    for (uint32_t d = 0; d < rank; d++)
        lane[d] = at[d];
    lane[rank] = c->turns;
    return term_element(v->s, T_TURN, c->loop - 1, rank + 1, lane);
}

/* Contents of a window or of scratch, which along some dimensions are those of lane 0. */
static term buffer_element(evaluation *v, term_kind kind, uint32_t operand, const tp_expr *at)
{
    const tp_operand *o = &v->s->k->operands[operand];
    tp_expr lane[TP_MAX_RANK];
    for (uint32_t d = 0; d < o->ref_rank; d++)
        lane[d] = v->uniform[operand][d] ? tp_const(v->s->p, 0) : at[d];
    return term_element(v->s, kind, operand, o->ref_rank, lane);
}

static term found_element(evaluation *v, uint32_t operand, const tp_expr *at)
{
    const tp_operand *o = &v->s->k->operands[operand];
    if (o->role != TP_INPUT)
        return buffer_element(v, T_BEFORE, operand, at);
    tp_expr element[TP_MAX_RANK];
    uint32_t lane = 0;
    for (uint32_t d = 0; d < o->rank; d++) {
        element[d] = tp_window_start(v->s->a, o, d);
        if (o->whole || o->dims[d].kind != TP_DIM_SQUEEZED)
            element[d] = plus(v, element[d], at[lane++]);
    }
    must_be_old(v->s, operand, element);
    return term_element(v->s, T_READ, operand, o->rank, element);
}

/* 1: it holds where p does (NULL: everywhere), -1: it does not, 0: neither is seen. */
static int decides_where(summary *s, const premises *p, tp_expr condition)
{
    int64_t truth;
    if (tp_expr_is_const(s->p, condition, &truth))
        return truth ? 1 : -1;
    return p ? summary_decides(s, p, condition) : 0;
}

/* `expand`: stores are told apart, else what the newest one of all leaves has a name. here: what holds; or NULL. */
static term stored_element(evaluation *v, const stored *c, uint32_t operand, const tp_expr *at, bool expand,
                           const premises *here)
{
    if (!c)
        return found_element(v, operand, at);
    const tp_operand *o = &v->s->k->operands[operand];
    tp_exprs *p = v->s->p;
    bool last = !expand && c == v->final[operand], partial = false;
    if (c->nothing) /* where nothing is known of it, what is older will do, too */
        return decides_where(v->s, here, condition_normal(v->s, c->path, false)) > 0
                   ? term_nothing(v->s)
                   : stored_element(v, c->older, operand, at, false, here);
    if (c->loop)
        return last ? buffer_element(v, T_AFTER, operand, at) : turn_element(v, c, at);
    tp_expr inside = c->path, lane[TP_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t d = 0; d < o->ref_rank; d++) {
        const tp_subscript *sub = &c->where->subs[d];
        if (sub->kind == TP_SUB_FULL) {
            lane[rank++] = at[d];
            continue;
        }
        partial = true;
        tp_expr offset = tp_op2(p, TP_E_SUB, at[d], scalar_of(v, sub->start));
        tp_expr size = sub->kind == TP_SUB_INT ? tp_const(p, 1) : sub->size;
        if (sub->kind == TP_SUB_SLICE && sub->stride != 1 && last)
            return buffer_element(v, T_AFTER, operand, at);
        if (sub->kind == TP_SUB_SLICE && sub->stride != 1)
            evaluation_stop(v, "a store with a stride");
        inside = tp_op2(p, TP_E_AND, inside, tp_op2(p, TP_E_GE, offset, tp_const(p, 0)));
        inside = tp_op2(p, TP_E_AND, inside, tp_op2(p, TP_E_LT, offset, size));
        if (sub->kind == TP_SUB_SLICE)
            lane[rank++] = offset;
    }
    int decided = last && !partial ? 0 : decides_where(v->s, here, condition_normal(v->s, inside, false));
    if (last && decided <= 0)
        return buffer_element(v, T_AFTER, operand, at);
    if (last) { /* what was stored to a part is read back, whatever other parts hold */
        term new = element_of(v, c->value, lane);
        return term_mentions(v->s, new, T_BEFORE, operand) ? buffer_element(v, T_AFTER, operand, at) : new;
    }
    if (decided < 0)
        return stored_element(v, c->older, operand, at, false, here);
    term new = element_of(v, c->value, lane);
    return decided ? new : term_select(v->s, inside, new, stored_element(v, c->older, operand, at, false, here));
}

term contents_element(evaluation *v, const stored *c, uint32_t operand, const tp_expr *at)
{
    return stored_element(v, c, operand, at, true, NULL);
}

static term loaded_element(evaluation *v, const tp_inst *i, const tp_expr *at)
{
    const tp_operand *o = &v->s->k->operands[i->access->operand];
    tp_expr lane[TP_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t d = 0; d < o->ref_rank; d++) {
        const tp_subscript *sub = &i->access->subs[d];
        if (sub->kind == TP_SUB_FULL) {
            lane[d] = at[rank++];
            continue;
        }
        lane[d] = scalar_of(v, sub->start);
        if (sub->kind == TP_SUB_SLICE)
            lane[d] = plus(v, lane[d], times(v, at[rank++], tp_const(v->s->p, sub->stride)));
    }
    premises here = {.n = 0}; /* elsewhere nobody looks at it */
    int64_t always;
    if (v->s->turned && v->under.at[i->out].id && !tp_expr_is_const(v->s->p, v->under.at[i->out], &always))
        here = premises_with(v->s, &here, condition_normal(v->s, v->under.at[i->out], false));
    return stored_element(v, v->loaded.at[i->out], i->access->operand, lane, false, here.n ? &here : NULL);
}

/* When a turn makes its choice. */
static tp_expr choice_of(evaluation *v, const stored *c, const tp_expr *at)
{
    tp_expr lane[TP_MAX_RANK];
    if (c->update)
        return in_update(v, c->update, at, lane);
    const term_node n = *term_get(v->s, element_of(v, c->condition, at));
    if (n.kind != T_INTEGER)
        evaluation_stop(v, "a loop whose choice depends on data");
    return n.e;
}

/* What turn n adds to what it finds there, where `new` is such a sum, and no other turn has a part in it; no id: it is
 * not. holds: the turn makes its choice. */
static term added_in_turn(evaluation *v, const stored *c, const tp_expr *at, tp_expr holds, term new)
{
    static const premises nothing = {.n = 0};
    summary *s = v->s;
    premises here = premises_with(s, &nothing, holds);
    const term_node whole = *term_get(s, new);
    for (int k = 0; k < 2 && whole.kind == T_APPLY && whole.prim == TP_P_ADD; k++) {
        const term_node found = *term_get(s, whole.arg[k]);
        bool same = found.kind == T_TURN && found.rank > 0 && tp_same(found.at[found.rank - 1], tp_sym(s->p, c->turn));
        for (uint32_t d = 0; same && d + 1 < found.rank; d++)
            same = summary_proves(s, &here, tp_op2(s->p, TP_E_EQ, found.at[d], at[d]));
        if (same && !term_mentions(s, whole.arg[1 - k], T_TURN, found.operand))
            return whole.arg[1 - k];
    }
    return (term){0};
}

/* The law of a choice in every turn: what is y(n) after the turn n for which a
 * condition of indices holds, and else stays x, is x + sum of [condition(n)]
 * (y(n) - x), given that it holds for one turn at most, or that y(n) - x is what turn n adds to what it finds. */
static term chosen_element(evaluation *v, const stored *c, const tp_expr *at, term new)
{
    static const premises nothing = {.n = 0};
    summary *s = v->s;
    term before = variable_element(v, c->older, at);
    tp_expr holds = condition_normal(s, choice_of(v, c, at), c->otherwise);
    term part = added_in_turn(v, c, at, holds, new);
    if (!part.id && !at_most_one_point(s, &nothing, holds, &c->turn, &c->turns, 1))
        evaluation_stop(v, "a loop in which several turns may make the choice");
    part = part.id ? part : term_apply(s, TP_P_SUB, new, before, (term){0}, 0);
    term more = term_select(s, holds, part, term_real(s, 0));
    return term_apply(s, TP_P_ADD, before, term_fold(s, TP_P_SUM, c->turn, c->turns, more), (term){0}, 0);
}

/* What was there before the loop, and the values of all turns. The extreme of no turn has no value: where there may be
 * none, what was there before is one of the values. */
static term joined_turns(evaluation *v, const stored *c, term before, term new)
{
    summary *s = v->s;
    tp_exprs *p = s->p;
    if (c->by == TP_P_ADD || c->some) {
        tp_prim fold = c->by == TP_P_ADD ? TP_P_SUM : c->by == TP_P_MAXIMUM ? TP_P_MAX : TP_P_MIN;
        return term_apply(s, c->by, before, term_fold(s, fold, c->turn, c->turns, new), (term){0}, 0);
    }
    if (term_get(s, before)->infinite)
        evaluation_stop(v, "a maximum over a loop that may have no turns");
    tp_expr one = tp_const(p, 1), more = plus(v, c->turns, one), u = summary_index(s, "n", more);
    uint32_t n = tp_sym_count(p);
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n);
    with[c->turn] = tp_op2(p, TP_E_SUB, u, one);
    term all = term_select(s, tp_op2(p, TP_E_GE, u, one), term_subst(s, new, with, n), before);
    return term_fold(s, c->by == TP_P_MAXIMUM ? TP_P_MAX : TP_P_MIN, (uint32_t)tp_expr_get(p, u)->value, more, all);
}

term variable_element(evaluation *v, const stored *c, const tp_expr *at)
{
    if (!c)
        evaluation_stop(v, "a variable without a value");
    if (c->loop)
        return turn_element(v, c, at);
    int64_t truth;
    bool decided = tp_expr_is_const(v->s->p, condition_normal(v->s, c->path, false), &truth);
    if (decided && !truth)
        return variable_element(v, c->older, at);
    tp_expr lane[TP_MAX_RANK];
    if (c->update)
        in_update(v, c->update, at, lane);
    term new = element_of(v, c->value, c->update ? lane : at);
    if (c->turns.id && c->by == TP_P_WHERE) {
        new = chosen_element(v, c, at, new);
    } else if (c->turns.id) {
        new = joined_turns(v, c, variable_element(v, c->older, at), new);
    }
    if (decided || (!c->older && !c->turns.id && !c->update)) /* it is read only where some arm gave it a value */
        return new;
    return term_select(v->s, c->path, new, variable_element(v, c->older, at));
}

/* ---- moves ---- */

/* Where lane `at` of a roll comes from; of known sizes by a choice, which conditions on the lane decide. */
static tp_expr rolled_lane(evaluation *v, tp_expr at, tp_expr shift, tp_expr extent)
{
    tp_exprs *p = v->s->p;
    int64_t by, n;
    tp_expr from = tp_op2(p, TP_E_SUB, at, shift);
    if (!tp_expr_is_const(p, shift, &by) || !tp_expr_is_const(p, extent, &n) || by <= -n || by >= n)
        return tp_op2(p, TP_E_MOD, from, extent);
    tp_expr other = plus(v, from, tp_const(p, by < 0 ? -n : n));
    return by < 0 ? tp_ite(p, tp_op2(p, TP_E_LT, from, extent), from, other)
                  : tp_ite(p, tp_op2(p, TP_E_GE, from, tp_const(p, 0)), from, other);
}

static term move(evaluation *v, const tp_inst *i, const tp_expr *at)
{
    const tp_value *x = value_of(v, i->args[0]);
    tp_exprs *p = v->s->p;
    tp_expr from[TP_MAX_RANK];
    for (uint32_t d = 0; d < x->rank && i->prim != TP_P_RESHAPE; d++) {
        bool axis = d == (uint32_t)i->integer;
        from[d] = at[d];
        if (i->prim == TP_P_BROADCAST)
            from[d] = is_one(v, x->dims[d]) ? tp_const(p, 0) : at[d];
        else if (i->prim == TP_P_SLICE)
            from[d] = plus(v, i->starts[d], times(v, at[d], tp_const(p, i->ints[d])));
        else if (i->prim == TP_P_TILE)
            from[d] = is_one(v, i->starts[d]) ? at[d]
                      : is_one(v, x->dims[d]) ? tp_const(p, 0)
                                              : tp_op2(p, TP_E_MOD, at[d], x->dims[d]);
        else if (i->prim == TP_P_REPEAT && !is_one(v, i->starts[d]))
            from[d] = tp_op2(p, TP_E_FLOORDIV, at[d], i->starts[d]);
        else if (i->prim == TP_P_FLIP && axis)
            from[d] = tp_op2(p, TP_E_SUB, tp_op2(p, TP_E_SUB, x->dims[d], tp_const(p, 1)), at[d]);
        else if (i->prim == TP_P_ROLL && axis)
            from[d] = rolled_lane(v, at[d], scalar_of(v, i->args[1]), x->dims[d]);
    }
    if (i->prim == TP_P_TRANSPOSE)
        for (uint32_t d = 0; d < i->nints; d++)
            from[i->ints[d]] = at[d];
    if (i->prim == TP_P_RESHAPE)
        reshaped_place(v, i, at, from);
    return element_of(v, i->args[0], from);
}

static term concatenation(evaluation *v, const tp_inst *i, const tp_expr *at, uint32_t part, tp_expr start)
{
    tp_exprs *p = v->s->p;
    uint32_t axis = (uint32_t)i->integer;
    const tp_value *x = value_of(v, i->args[part]);
    tp_expr from[TP_MAX_RANK], end = plus(v, start, x->dims[axis]);
    memcpy(from, at, x->rank * sizeof *from);
    from[axis] = tp_op2(p, TP_E_SUB, at[axis], start);
    term here = element_of(v, i->args[part], from);
    return part + 1 == i->nargs
               ? here
               : term_select(v->s, tp_op2(p, TP_E_LT, at[axis], end), here, concatenation(v, i, at, part + 1, end));
}

static term pad(evaluation *v, const tp_inst *i, const tp_expr *at)
{
    tp_exprs *p = v->s->p;
    const tp_value *x = value_of(v, i->args[0]);
    tp_expr inside = tp_const(p, 1), from[TP_MAX_RANK];
    for (uint32_t d = 0; d < x->rank; d++) {
        from[d] = tp_op2(p, TP_E_SUB, at[d], i->starts[d]);
        inside = tp_op2(p, TP_E_AND, inside, tp_op2(p, TP_E_GE, from[d], tp_const(p, 0)));
        inside = tp_op2(p, TP_E_AND, inside, tp_op2(p, TP_E_LT, from[d], x->dims[d]));
    }
    return term_select(v->s, inside, element_of(v, i->args[0], from), element_of(v, i->args[1], NULL));
}

static term take_element(evaluation *v, const tp_inst *i, const tp_expr *at)
{
    const tp_value *x = value_of(v, i->args[0]), *y = value_of(v, i->args[1]);
    uint32_t axis = (uint32_t)i->integer;
    tp_exprs *p = v->s->p;
    tp_expr from[TP_MAX_RANK];
    const term_node index = *term_get(v->s, element_of(v, i->args[1], at + axis));
    if (index.kind != T_INTEGER)
        evaluation_stop(v, "take with an index from data");
    static const premises nothing = {.n = 0};
    tp_expr inside =
        tp_op2(p, TP_E_AND, tp_op2(p, TP_E_GE, index.e, tp_const(p, 0)), tp_op2(p, TP_E_LT, index.e, x->dims[axis]));
    if (!v->body && !summary_proves(v->s, &nothing, inside)) /* of the body: TP102 */
        evaluation_stop(v, "take with an index that may be outside");
    for (uint32_t d = 0; d < x->rank; d++)
        from[d] = d < axis ? at[d] : d == axis ? index.e : at[d + y->rank - 1];
    return element_of(v, i->args[0], from);
}

/* A part that begins at an index from the sizes, the step or a loop. */
static term slice_element(evaluation *v, const tp_inst *i, const tp_expr *at)
{
    static const premises nothing = {.n = 0};
    const tp_value *x = value_of(v, i->args[0]), *y = value_of(v, i->out);
    tp_exprs *p = v->s->p;
    tp_expr from[TP_MAX_RANK], inside = tp_const(p, 1);
    for (uint32_t d = 0; d < x->rank; d++) {
        tp_expr start = scalar_of(v, i->args[1 + d]),
                last = tp_op2(p, TP_E_MUL, tp_op2(p, TP_E_SUB, y->dims[d], tp_const(p, 1)), tp_const(p, i->ints[d]));
        from[d] = plus(v, start, times(v, at[d], tp_const(p, i->ints[d])));
        inside = tp_op2(p, TP_E_AND, inside, tp_op2(p, TP_E_GE, start, tp_const(p, 0)));
        inside = tp_op2(p, TP_E_AND, inside, tp_op2(p, TP_E_LT, plus(v, start, last), x->dims[d]));
    }
    if (!summary_proves(v->s, &nothing, inside))
        evaluation_stop(v, "an index that may be outside of its array");
    return element_of(v, i->args[0], from);
}

/* Is element `at` in the part that is written? *lane: where in it. The part lies inside, or the summary stops. */
tp_expr in_update(evaluation *v, const tp_inst *i, const tp_expr *at, tp_expr *lane)
{
    static const premises nothing = {.n = 0};
    const tp_value *x = value_of(v, i->args[0]), *y = value_of(v, i->args[1]);
    tp_exprs *p = v->s->p;
    tp_expr covers = tp_const(p, 1), inside = tp_const(p, 1), zero = tp_const(p, 0);
    for (uint32_t d = 0; d < x->rank; d++) {
        tp_expr start = scalar_of(v, i->args[2 + d]);
        lane[d] = tp_op2(p, TP_E_SUB, at[d], start);
        inside = tp_op2(p, TP_E_AND, inside, tp_op2(p, TP_E_GE, start, zero));
        inside = tp_op2(p, TP_E_AND, inside, tp_op2(p, TP_E_LE, plus(v, start, y->dims[d]), x->dims[d]));
        if (is_one(v, y->dims[d])) {
            covers = tp_op2(p, TP_E_AND, covers, tp_op2(p, TP_E_EQ, lane[d], zero));
            continue;
        }
        covers = tp_op2(p, TP_E_AND, covers, tp_op2(p, TP_E_GE, lane[d], zero));
        covers = tp_op2(p, TP_E_AND, covers, tp_op2(p, TP_E_LT, lane[d], y->dims[d]));
    }
    if (!summary_proves(v->s, &nothing, inside))
        evaluation_stop(v, "an index that may be outside of its array");
    return covers;
}

static term update_element(evaluation *v, const tp_inst *i, const tp_expr *at)
{
    tp_expr lane[TP_MAX_RANK];
    int64_t truth;
    tp_expr covers = condition_normal(v->s, in_update(v, i, at, lane), false);
    bool decided = tp_expr_is_const(v->s->p, covers, &truth);
    if (decided && !truth)
        return element_of(v, i->args[0], at);
    term new = element_of(v, i->args[1], lane);
    return decided ? new : term_select(v->s, covers, new, element_of(v, i->args[0], at));
}

/* ---- folds ---- */

/* The value of an instruction, which must fit where it is an integer. Those of a reference do not wrap. */
static term require_fits(evaluation *v, const tp_inst *i, term t)
{
    tp_dtype d = value_of(v, i->out)->dtype;
    if (v->body && !tp_is_float(d) && d != TP_BOOL && !tp_is_weak(d))
        summary_must_fit(v->s, t, d);
    return t;
}

/* Does the place ascend by one from point to point, and is no place at which there is a value above `other`? */
static bool places_are_below(evaluation *v, tp_expr place, tp_expr other, uint32_t sym, term value, tp_prim fold)
{
    summary *s = v->s;
    tp_exprs *p = s->p;
    tp_expr offset = tp_expr_normal(p, tp_op2(p, TP_E_SUB, place, tp_sym(p, sym)));
    premises inside = {.n = 0};
    for (term_node n = *term_get(s, value); n.kind == T_SELECT; n = *term_get(s, value)) {
        bool out_no = term_is_least(s, n.arg[1], fold), out_yes = !out_no && term_is_least(s, n.arg[0], fold);
        if (!out_no && !out_yes)
            break;
        inside = premises_with(s, &inside, condition_normal(s, n.e, out_yes));
        value = n.arg[!out_no];
    }
    return !tp_expr_mentions(p, offset, sym) && !tp_expr_mentions(p, other, sym) &&
           summary_proves(s, &inside, tp_op2(p, TP_E_GE, other, place));
}

/* The law: the least of the places t where v(t) is the extreme of all v, and
 * of a number above all of them, is the first place of that extreme. No id: it is no such. */
static term first_of_equals(evaluation *v, const tp_inst *choice, const tp_expr *at, tp_expr counter, tp_expr extent)
{
    summary *s = v->s;
    const tp_inst *test = choice && choice->prim == TP_P_WHERE ? v->by.at[choice->args[0]] : NULL;
    if (!test || test->prim != TP_P_EQ || !tp_is_float(value_of(v, test->args[0])->dtype))
        return (term){0};
    uint32_t sym = (uint32_t)tp_expr_get(s->p, counter)->value;
    const term_node place = *term_get(s, element_of(v, choice->args[1], at)),
                    other = *term_get(s, element_of(v, choice->args[2], at));
    for (int k = 0; k < 2 && place.kind == T_INTEGER && other.kind == T_INTEGER; k++) {
        term value = element_of(v, test->args[k], at);
        const term_node all = *term_get(s, element_of(v, test->args[!k], at));
        if (all.kind != T_FOLD || (all.prim != TP_P_MAX && all.prim != TP_P_MIN) || !tp_same(all.e, extent))
            continue;
        uint32_t n = tp_sym_count(s->p);
        tp_expr *with = TP_NEWN(s->arena, tp_expr, n);
        with[all.sym] = counter;
        if (term_subst(s, all.arg[0], with, n).id == value.id &&
            places_are_below(v, place.e, other.e, sym, value, all.prim))
            return term_first(s, all.prim == TP_P_MAX ? TP_P_ARGMAX : TP_P_ARGMIN, sym, extent, value,
                              term_integer(s, place.e));
    }
    return (term){0};
}

static term reduce(evaluation *v, const tp_inst *i, const tp_expr *at)
{
    const tp_value *x = value_of(v, i->args[0]);
    bool keepdims = value_of(v, i->out)->rank == x->rank, along[TP_MAX_RANK] = {false};
    tp_expr from[TP_MAX_RANK], counter[TP_MAX_RANK];
    uint32_t to = 0;
    if (v->body && !tp_is_float(x->dtype) && i->prim == TP_P_PROD)
        evaluation_stop(v, "a product of integers may wrap around");
    for (uint32_t k = 0; k < i->nints; k++) {
        counter[k] = summary_index(v->s, "t", x->dims[i->ints[k]]);
        along[i->ints[k]] = true;
        from[i->ints[k]] = counter[k];
    }
    for (uint32_t d = 0; d < x->rank; d++)
        if (!along[d])
            from[d] = at[keepdims ? d : to++];
    if (i->prim == TP_P_MIN && i->nints == 1) {
        tp_expr extent = tp_expr_normal(v->s->p, x->dims[i->ints[0]]);
        term first = first_of_equals(v, v->by.at[i->args[0]], from, counter[0], extent);
        if (first.id)
            return first;
    }
    term body = element_of(v, i->args[0], from);
    if (prim_of_first(i->prim) != TP_PRIMS)
        return require_fits(v, i,
                            term_first(v->s, i->prim, (uint32_t)tp_expr_get(v->s->p, counter[0])->value,
                                       x->dims[i->ints[0]], body, term_integer(v->s, counter[0])));
    for (uint32_t k = i->nints; k-- > 0;)
        body = term_fold(v->s, i->prim, (uint32_t)tp_expr_get(v->s->p, counter[k])->value, x->dims[i->ints[k]], body);
    return i->prim == TP_P_SUM ? require_fits(v, i, body) : body;
}

static term scan(evaluation *v, const tp_inst *i, const tp_expr *at)
{
    const tp_value *x = value_of(v, i->args[0]);
    uint32_t axis = (uint32_t)i->ints[0];
    tp_exprs *p = v->s->p;
    tp_expr from[TP_MAX_RANK], one = tp_const(p, 1);
    if (v->body && !tp_is_float(x->dtype) && i->prim == TP_P_CUMPROD)
        evaluation_stop(v, "a product of integers may wrap around");
    tp_expr extent = i->reverse ? tp_op2(p, TP_E_SUB, x->dims[axis], at[axis]) : plus(v, at[axis], one);
    tp_expr counter = summary_index(v->s, "t", extent);
    memcpy(from, at, x->rank * sizeof *from);
    from[axis] = i->reverse ? plus(v, at[axis], counter) : counter;
    term all = term_fold(v->s, tp_prim_of(i->prim), (uint32_t)tp_expr_get(p, counter)->value, extent,
                         element_of(v, i->args[0], from));
    return i->prim == TP_P_CUMSUM ? require_fits(v, i, all) : all;
}

static term multiply(evaluation *v, const tp_inst *i, const tp_expr *at)
{
    tp_expr counter[TP_MAX_RANK];
    term side[2];
    uint32_t to = i->nbatch;
    for (uint32_t k = 0; k < i->ncontract; k++)
        counter[k] = summary_index(v->s, "t", value_of(v, i->args[0])->dims[i->ints[2 * k]]);
    for (uint32_t a = 0; a < 2; a++) {
        const tp_value *x = value_of(v, i->args[a]);
        bool in_pair[TP_MAX_RANK] = {false};
        tp_expr from[TP_MAX_RANK];
        for (uint32_t k = 0; k < i->ncontract + i->nbatch; k++) {
            uint32_t d = (uint32_t)i->ints[2 * k + a];
            in_pair[d] = true;
            from[d] = k < i->ncontract ? counter[k] : at[k - i->ncontract];
        }
        for (uint32_t d = 0; d < x->rank; d++)
            if (!in_pair[d])
                from[d] = at[to++];
        side[a] = element_of(v, i->args[a], from);
    }
    term body = term_apply(v->s, TP_P_MUL, side[0], side[1], (term){0}, 0);
    for (uint32_t k = i->ncontract; k-- > 0;)
        body = term_fold(v->s, TP_P_SUM, (uint32_t)tp_expr_get(v->s->p, counter[k])->value,
                         value_of(v, i->args[0])->dims[i->ints[2 * k]], body);
    return require_fits(v, i, body);
}

/* ---- elementwise ---- */

/* An integer of the dtype must hold it: numbers here have no width. */
static term in_dtype(evaluation *v, tp_dtype d, tp_expr e)
{
    tp_exprs *p = v->s->p;
    if (d != TP_BOOL && !tp_is_weak(d)) {
        tp_expr goal = tp_op2(p, TP_E_AND, tp_op2(p, TP_E_GE, e, tp_const(p, tp_dtype_min(d))),
                              tp_op2(p, TP_E_LE, e, tp_const(p, tp_dtype_max(d))));
        if (!summary_proves_large(v->s, goal))
            evaluation_stop(v, "an integer may wrap around");
    }
    return term_integer(v->s, e);
}

/* An integer type that may not hold what the other one does; int32 of a reference does not wrap. */
static bool loses_integers(tp_dtype from, tp_dtype d)
{
    return d != TP_BOOL && !tp_is_float(d) && !tp_is_weak(d) && (d != TP_I32 || from == TP_U32);
}

/* Casts of floats to integers round towards 0. */
static term without_fraction(summary *s, term x)
{
    if (term_is_whole(s, x))
        return x;
    term below = term_apply(s, TP_P_LT, x, term_real(s, 0), (term){0}, 0);
    return term_apply(s, TP_P_WHERE, below, term_apply(s, TP_P_CEIL, x, (term){0}, (term){0}, 0),
                      term_apply(s, TP_P_FLOOR, x, (term){0}, (term){0}, 0), 0);
}

static term cast(evaluation *v, const tp_inst *i, term x)
{
    tp_dtype from = value_of(v, i->args[0])->dtype, to = value_of(v, i->out)->dtype;
    summary *s = v->s;
    const term_node n = *term_get(s, x);
    if (n.kind == T_NOTHING)
        return x;
    term zero = term_real(s, 0), one = term_real(s, 1);
    const tp_dtype written = (tp_dtype)i->integer;
    if (!v->body && tp_is_float(to)) /* computed in float64, but for the types that are written */
        to = written;
    /* integers of a reference do not wrap, but what is cast to such types does, as in NumPy */
    if (!v->body && loses_integers(from, written) && from != TP_BOOL && !tp_is_weak(from)) {
        if (n.kind == T_INTEGER)
            return in_dtype(v, written, n.e);
        if (tp_is_float(from))
            x = without_fraction(s, x);
        if (!summary_lies_in(s, x, written))
            evaluation_stop(v, "a number is cast to an integer type that may not hold it");
        return x;
    }
    if (v->body && from == TP_WEAK_FLOAT)
        return term_literal(s, x, to);
    if (from == to || from == TP_WEAK_FLOAT) /* literals are the numbers that are written */
        return x;
    if (from == TP_BOOL)
        return term_apply(s, TP_P_WHERE, x, one, zero, 0);
    if (to == TP_BOOL)
        return term_apply(s, TP_P_NE, x, zero, (term){0}, 0);
    if (tp_is_float(to))
        return tp_is_weak(to) ? x : term_narrow(s, x, to);
    if (tp_is_float(from)) {
        if (n.kind == T_INTEGER)
            return in_dtype(v, to, n.e);
        x = without_fraction(s, x);
        if (v->body && !summary_lies_in(s, x, to))
            evaluation_stop(v, "a float is cast to an integer that may not hold it");
        return x;
    }
    if (n.kind == T_INTEGER)
        return in_dtype(v, to, n.e);
    if (v->body && !tp_is_weak(from) && !summary_lies_in(s, x, to))
        evaluation_stop(v, "an integer may wrap around");
    return x;
}

/* Of two indices the one that is meant, where "values" tell; no id: they do not. */
static tp_expr decided_extreme(summary *s, tp_prim prim, tp_expr a, tp_expr b)
{
    if (prim != TP_P_MAXIMUM && prim != TP_P_MINIMUM)
        return (tp_expr){0};
    int below = summary_is_decided(s, tp_op2(s->p, TP_E_LE, a, b));
    return !below ? (tp_expr){0} : (below > 0) == (prim == TP_P_MINIMUM) ? a : b;
}

/* An integer of indices is one; no id: it is not seen to be. b has no id where the operation has one operand. */
static tp_expr of_indices(evaluation *v, const tp_inst *i, tp_expr a, tp_expr b)
{
    tp_exprs *p = v->s->p;
    tp_expr r = tp_const(p, 1), minus = b.id ? r : tp_op1(p, TP_E_NEG, a);
    if (i->prim == TP_P_NEG)
        return minus;
    if (i->prim == TP_P_ABS)
        return tp_op2(p, TP_E_MAX, a, minus);
    if (i->prim == TP_P_SQUARE)
        return times(v, a, a);
    if (i->prim == TP_P_INTEGER_POW) {
        for (int64_t k = 0; k < i->integer && i->integer <= 4; k++)
            r = times(v, r, a);
        return i->integer < 0 || i->integer > 4 ? (tp_expr){0} : r;
    }
    r = b.id ? decided_extreme(v->s, i->prim, a, b) : (tp_expr){0};
    return r.id || !b.id || tp_prim_expr(i->prim) == TP_E_CONST ? r : tp_op2(p, tp_prim_expr(i->prim), a, b);
}

/* Arithmetic on integers: those over indices are known not to wrap, those from data must fit. */
static term integers(evaluation *v, const tp_inst *i, term a, term b)
{
    summary *s = v->s;
    const term_node x = *term_get(s, a), y = b.id ? *term_get(s, b) : x;
    tp_dtype d = value_of(v, i->out)->dtype;
    bool compares = tp_prim_info(i->prim)->to_bool || d == TP_BOOL,
         indices = x.kind == T_INTEGER && y.kind == T_INTEGER, reads = indices && tp_expr_reads(s->p, x.e);
    if (compares)
        return term_apply(s, i->prim, a, b, (term){0}, 0);
    reads |= indices && tp_expr_reads(s->p, y.e);
    term t = b.id && (!indices || reads) ? integer_of_data(s, i->prim, d, a, b) : (term){0};
    tp_expr e = indices && !t.id ? of_indices(v, i, x.e, b.id ? y.e : (tp_expr){0}) : (tp_expr){0};
    if (indices && t.id && term_get(s, t)->kind == T_INTEGER)
        e = term_get(s, t)->e;
    if (e.id)
        return in_dtype(v, d, e);
    if (i->prim == TP_P_MAXIMUM || i->prim == TP_P_MINIMUM)
        return term_apply(s, i->prim, a, b, (term){0}, 0);
    if (i->prim == TP_P_ADD || i->prim == TP_P_SUB || i->prim == TP_P_MUL || i->prim == TP_P_NEG || i->prim == TP_P_ABS)
        return require_fits(v, i, term_apply(s, i->prim, a, b, (term){0}, 0));
    if (i->prim == TP_P_SQUARE)
        return require_fits(v, i, term_apply(s, TP_P_MUL, a, a, (term){0}, 0));
    if (!t.id)
        evaluation_stop(v, "arithmetic on integers from data");
    return i->prim == TP_P_SHL ? require_fits(v, i, t) : t; /* of the others no result is longer than what it is of */
}

static void arguments_of(evaluation *v, const tp_inst *i, const tp_expr *at, term *arg)
{
    for (uint32_t k = 0; k < i->nargs && k < 3; k++)
        arg[k] = element_of(v, i->args[k], at);
}

static term elementwise(evaluation *v, const tp_inst *i, const tp_expr *at)
{
    term arg[3] = {{0}, {0}, {0}};
    arguments_of(v, i, at, arg);
    if (!tp_is_float(value_of(v, i->args[0])->dtype))
        return integers(v, i, arg[0], arg[1]);
    return term_apply(v->s, i->prim, arg[0], arg[1], (term){0}, i->prim == TP_P_INTEGER_POW ? i->integer : 0);
}

static term select(evaluation *v, const tp_inst *i, const tp_expr *at)
{
    summary *s = v->s;
    term arg[3] = {{0}, {0}, {0}};
    arguments_of(v, i, at, arg);
    const term_node c = *term_get(s, arg[0]), a = *term_get(s, arg[1]), b = *term_get(s, arg[2]);
    if (!tp_is_float(value_of(v, i->out)->dtype) && value_of(v, i->out)->dtype != TP_BOOL && c.kind == T_INTEGER &&
        a.kind == T_INTEGER && b.kind == T_INTEGER) {
        int truth = summary_is_decided(s, c.e);
        return truth ? arg[truth > 0 ? 1 : 2] : term_integer(s, tp_ite(s->p, c.e, a.e, b.e));
    }
    return term_apply(s, i->prim, arg[0], arg[1], arg[2], 0);
}

static term convert(evaluation *v, const tp_inst *i, const tp_expr *at)
{
    if (i->prim != TP_P_CAST)
        evaluation_stop(v, "bitcast is not summarised");
    return cast(v, i, element_of(v, i->args[0], at));
}

static term source(evaluation *v, const tp_inst *i, const tp_expr *at)
{
    const tp_value *x = value_of(v, i->out);
    if (i->prim == TP_P_LITERAL)
        return v->body ? term_literal(v->s, term_real(v->s, i->real), x->dtype) : term_real(v->s, i->real);
    if (i->prim != TP_P_IOTA)
        return term_integer(v->s, x->meaning);
    return v->body && tp_is_float(x->dtype) ? term_narrow(v->s, term_integer(v->s, at[i->integer]), x->dtype)
                                            : in_dtype(v, x->dtype, at[i->integer]);
}

static term entry_of(evaluation *v, const tp_inst *i)
{
    tp_expr index[TP_TABLE_RANK];
    for (uint32_t d = 0; d < i->nargs; d++)
        index[d] = scalar_of(v, i->args[d]);
    return term_integer(v->s, tp_read(v->s->p, v->s->k->tables[i->integer].sym, i->nargs, index));
}

static term compute(evaluation *v, const tp_inst *i, const tp_expr *at)
{
    switch (tp_prim_info(i->prim)->class) {
    case TP_CLASS_ELEMENTWISE: return elementwise(v, i, at);
    case TP_CLASS_SELECT: return select(v, i, at);
    case TP_CLASS_CONVERT: return convert(v, i, at);
    case TP_CLASS_FOLD: return reduce(v, i, at);
    case TP_CLASS_RUNNING: return scan(v, i, at);
    case TP_CLASS_CONTRACT: return multiply(v, i, at);
    case TP_CLASS_SOURCE: return source(v, i, at);
    case TP_CLASS_MOVE:
        return i->prim == TP_P_TAKE             ? take_element(v, i, at)
               : i->prim == TP_P_DYNAMIC_SLICE  ? slice_element(v, i, at)
               : i->prim == TP_P_DYNAMIC_UPDATE ? update_element(v, i, at)
               : i->prim == TP_P_PAD            ? pad(v, i, at)
               : i->prim == TP_P_CONCATENATE    ? concatenation(v, i, at, 0, tp_const(v->s->p, 0))
                                                : move(v, i, at);
    case TP_CLASS_MEMORY: /* a masked load: by TP503, lanes without the mask are not looked at */
        return i->prim == TP_P_LOAD          ? loaded_element(v, i, at)
               : i->prim == TP_P_MASKED_LOAD ? element_of(v, i->args[1], at)
               : i->prim == TP_P_VARIABLE    ? variable_element(v, v->loaded.at[i->out], at)
                                             : entry_of(v, i);
    case TP_CLASS_CONTROL:
    case TP_CLASS_SUGAR: break;
    }
    evaluation_stop(v, tp_prim_info(i->prim)->name);
}

/* Inputs and tables of a reference have no instruction. */
static term given_element(evaluation *v, tp_vid value, const tp_expr *at)
{
    const tp_kernel *k = v->s->k;
    for (uint32_t o = 0; !v->body && o < k->ninputs; o++)
        if (v->p->operand_value[o] == value)
            return term_element(v->s, T_READ, o, k->operands[o].rank, at);
    for (uint32_t t = 0; !v->body && t < k->ntables; t++)
        if (v->p->table_value[t] == value)
            return term_integer(v->s, tp_read(v->s->p, k->tables[t].sym, k->tables[t].rank, at));
    evaluation_stop(v, "a value of a loop");
}

term element_of(evaluation *v, tp_vid value, const tp_expr *at)
{
    summary *s = v->s;
    const tp_value *x = value_of(v, value);
    if (x->dtype == TP_WEAK_INT)
        return term_integer(s, x->meaning);
    uint32_t key[1 + TP_MAX_RANK] = {(uint32_t)value};
    tp_expr index[TP_MAX_RANK];
    for (uint32_t d = 0; d < x->rank; d++) {
        index[d] = tp_expr_normal(s->p, at[d]);
        key[d + 1] = index[d].id;
    }
    tp_buf b = {.arena = s->arena};
    tp_buf_str(&b, (tp_str){(const char *)key, (x->rank + 1) * sizeof *key});
    tp_str text = tp_buf_view(&b);
    uint32_t id = tp_map_get(&v->elements, text);
    if (id)
        return (term){id};
    const tp_node *outer = s->node;
    const tp_inst *i = v->by.at[value];
    if (i && v->body)
        s->node = i->node;
    term t = i ? compute(v, i, index) : given_element(v, value, index);
    tp_str why = v->body ? term_overflows(s, t, x->dtype) : (tp_str){NULL, 0};
    if (why.n)
        evaluation_stop(v, why.p);
    s->node = outer;
    tp_map_set(s->arena, &v->elements, text, t.id);
    return t;
}
