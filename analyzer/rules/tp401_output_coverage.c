#include "analyzer/flow/flow.h"

/* ---- every block is in some run ---- */

/* i // n and i % n in two dimensions, or one of them alone. */
static void join_quotient(tp_analysis *a, const tp_operand *o, tp_expr *step)
{
    for (uint32_t n = 0; n < a->k->naxes; n++) {
        tp_expr sym = tp_sym(a->p, a->k->axes[n].sym), sum = {0};
        for (uint32_t d = 0; d < o->rank && !step[n].id; d++) {
            const tp_expr_node e = *tp_expr_get(a->p, o->dims[d].index);
            if ((e.op != TP_E_FLOORDIV && e.op != TP_E_MOD) || !tp_same(e.a, sym))
                continue;
            tp_expr part = e.op == TP_E_MOD ? a->part[d] : mk(a, TP_E_MUL, a->part[d], e.b);
            sum = sum.id ? mk(a, TP_E_ADD, sum, part) : part;
        }
        if (sum.id)
            step[n] = sum;
    }
}

/* The map reads column[e], and a contract says column[last[c]] == c: block c is
 * visited by step last[c]. */
static void find_inverse_table(tp_analysis *a, const tp_operand *o, uint32_t d, tp_expr *step)
{
    const tp_expr_node map = *tp_expr_get(a->p, o->dims[d].index);
    for (uint32_t x = 0; map.op == TP_E_READ && !map.b.id && x < a->k->ncontracts; x++) {
        const tp_contract *c = &a->k->contracts[x];
        const tp_expr_node fact = *tp_expr_get(a->p, c->fact);
        if (c->nbound != 1 || fact.op != TP_E_EQ)
            continue;
        tp_expr bound = tp_sym(a->p, c->bound[0]), read = tp_same(fact.b, bound) ? fact.a : fact.b;
        const tp_expr_node outer = *tp_expr_get(a->p, read);
        if ((!tp_same(fact.a, bound) && !tp_same(fact.b, bound)) || outer.op != TP_E_READ || outer.value != map.value)
            continue;
        tp_expr *with = TP_NEWN(a->arena, tp_expr, tp_sym_count(a->p));
        with[c->bound[0]] = a->part[d];
        for (uint32_t n = 0; n < a->k->naxes; n++)
            if (!step[n].id && tp_same(map.a, tp_sym(a->p, a->k->axes[n].sym)))
                step[n] = tp_expr_subst(a->p, outer.a, with, tp_sym_count(a->p));
    }
}

/* A step that visits block x, as expressions in x: found by the form of the
 * map, believed only when proven. */
static void find_witness(tp_analysis *a, const tp_operand *o, tp_expr *step)
{
    for (uint32_t d = 0; d < o->rank; d++)
        if (o->dims[d].kind != TP_DIM_ELEMENT)
            tp_split_digits(a, o->dims[d].index, a->part[d], step);
    join_quotient(a, o, step);
    for (uint32_t d = 0; d < o->rank; d++)
        find_inverse_table(a, o, d, step);
    for (uint32_t n = 0; n < a->k->naxes; n++) /* min(i, last), i if … else …: try x itself */
        for (uint32_t d = 0; d < o->rank && !step[n].id; d++)
            if (tp_expr_mentions(a->p, o->dims[d].index, a->k->axes[n].sym))
                step[n] = a->part[d];
    for (uint32_t n = 0; n < a->k->naxes; n++)
        if (!step[n].id)
            step[n] = num(a, 0);
}

/* Element windows: x is meant as an element; of the steps whose window starts
 * at or before it, the last: min((x - start of step 0) // stride, steps - 1). */
static void find_element_witness(tp_analysis *a, const tp_operand *o, tp_expr *step)
{
    for (uint32_t d = 0; d < o->rank; d++)
        for (uint32_t n = 0; n < a->k->naxes && o->dims[d].kind == TP_DIM_ELEMENT; n++) {
            if (!tp_expr_mentions(a->p, o->dims[d].index, a->k->axes[n].sym) || step[n].id)
                continue;
            uint32_t axis = a->k->axes[n].sym;
            tp_expr zero = tp_expr_replace(a->p, tp_window_start(a, o, d), axis, num(a, 0)),
                    one = tp_expr_replace(a->p, tp_window_start(a, o, d), axis, num(a, 1));
            tp_expr stride = tp_expr_normal(a->p, mk(a, TP_E_SUB, one, zero));
            int64_t c;
            if (tp_expr_is_const(a->p, stride, &c) && c < 0) { /* backwards: the first such step */
                tp_expr back = mk(a, TP_E_CDIV, mk(a, TP_E_SUB, zero, a->part[d]), num(a, -c));
                step[n] = mk(a, TP_E_MAX, back, num(a, 0));
                continue;
            }
            step[n] = mk(a, TP_E_MIN, mk(a, TP_E_FLOORDIV, mk(a, TP_E_SUB, a->part[d], zero), stride),
                         mk(a, TP_E_SUB, a->k->axes[n].steps, num(a, 1)));
        }
}

/* Parts are elements in Element dimensions and where "valid" picks elements,
 * else blocks. */
static bool by_element(const tp_operand *o, uint32_t d)
{
    return o->valid.id || o->dims[d].kind == TP_DIM_ELEMENT;
}

/* Is part x in this step's window? */
static tp_expr holds(tp_analysis *a, const tp_operand *o, uint32_t d, tp_expr x)
{
    if (!by_element(o, d))
        return mk(a, TP_E_EQ, o->dims[d].index, x);
    tp_expr start = tp_window_start(a, o, d);
    return both(a, mk(a, TP_E_LE, start, x), mk(a, TP_E_LT, x, mk(a, TP_E_ADD, start, o->dims[d].block)));
}

/* Where parts are elements of Blocked dimensions, x stands for a block number
 * in the witness: that of the element. */
static void block_of_element(tp_analysis *a, const tp_operand *o, tp_expr *step)
{
    tp_expr *with = TP_NEWN(a->arena, tp_expr, tp_sym_count(a->p));
    for (uint32_t d = 0; d < o->rank; d++)
        if (by_element(o, d) && o->dims[d].kind != TP_DIM_ELEMENT)
            with[tp_expr_get(a->p, a->part[d])->value] = mk(a, TP_E_FLOORDIV, a->part[d], o->dims[d].block);
    for (uint32_t n = 0; n < a->k->naxes; n++)
        step[n] = tp_expr_subst(a->p, step[n], with, tp_sym_count(a->p));
}

static bool some_step_visits(tp_analysis *a, const tp_operand *o, int64_t *env, const int64_t *block, int64_t *budget,
                             uint32_t axis)
{
    int64_t steps, here;
    if (axis == a->k->naxes) {
        for (uint32_t d = 0; d < o->rank; d++)
            if (tp_expr_eval(a->p, holds(a, o, d, num(a, block[d])), env, &here) != TP_EVAL_OK || !here)
                return false;
        return true;
    }
    if (tp_expr_eval(a->p, a->k->axes[axis].steps, env, &steps) != TP_EVAL_OK)
        return true; /* cannot say: not a counterexample */
    for (int64_t i = 0; i < steps; i++) {
        env[a->k->axes[axis].sym] = i;
        tp_spend(a->arena, 4);
        if (--*budget < 0 || some_step_visits(a, o, env, block, budget, axis + 1))
            return true;
    }
    return false;
}

/* cdiv for // in the steps of each axis that has it, and in all. */
static void propose_cdiv(tp_analysis *a, tp_finding *f)
{
    tp_edit edits[TP_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t x = 0; x < a->k->naxes && n < TP_MAX_RANK; x++) {
        const tp_axis *axis = &a->k->axes[x];
        tp_expr_node steps = *tp_expr_get(a->p, axis->steps);
        if (steps.op != TP_E_FLOORDIV)
            continue;
        tp_str text = tp_text(a, mk(a, TP_E_CDIV, steps.a, steps.b));
        tp_propose_expr(a, f, axis->steps_loc, text);
        edits[n++] = tp_edit_expr(a, axis->steps_loc, text);
    }
    if (n > 1)
        tp_propose(a, f, TP_S("use `cdiv` instead of `//` in the grid"), edits, n);
}

/* Why no step was found; where a table says which block a step visits, a contract may say which step visits a block. */
static tp_str not_found(tp_analysis *a, const tp_operand *o)
{
    for (uint32_t d = 0; d < o->rank; d++) {
        const tp_expr_node map = *tp_expr_get(a->p, o->dims[d].index);
        tp_str table = map.op == TP_E_READ ? tp_sym_name(a->p, (uint32_t)map.value) : (tp_str){0};
        if (table.n && !map.b.id && !by_element(o, d))
            return tp_message(a,
                              "no contract tells which step visits a block; one that does: a table `at` with "
                              "`forall b < %.*s: %.*s[at[b]] == b`",
                              TP_FMT(tp_text(a, mk(a, TP_E_CDIV, o->shape[d], o->dims[d].block))), TP_FMT(table));
    }
    return TP_S("which step visits a block could not be told from the map");
}

/* Is there a step within the grid whose window has all parts x? As guessed by the form of the maps. */
static tp_expr is_visited(tp_analysis *a, const tp_operand *o, tp_expr *step)
{
    tp_expr goal = num(a, 1), *with = TP_NEWN(a->arena, tp_expr, tp_sym_count(a->p));
    find_element_witness(a, o, step);
    find_witness(a, o, step);
    block_of_element(a, o, step);
    for (uint32_t n = 0; n < a->k->naxes; n++) /* a step that is told by another axis: any of its turns will do */
        with[a->k->axes[n].sym] = num(a, 0);
    for (uint32_t n = 0; n < a->k->naxes; n++)
        step[n] = tp_expr_subst(a->p, step[n], with, tp_sym_count(a->p));
    for (uint32_t n = 0; n < a->k->naxes; n++) {
        with[a->k->axes[n].sym] = step[n];
        goal = both(a, goal, both(a, mk(a, TP_E_GE, step[n], num(a, 0)), mk(a, TP_E_LT, step[n], a->k->axes[n].steps)));
    }
    for (uint32_t d = 0; d < o->rank; d++)
        goal = both(a, goal, tp_expr_subst(a->p, holds(a, o, d, tp_part_symbols(a)[d]), with, tp_sym_count(a->p)));
    return goal;
}

/* Do the entries exist that the step was told by? The kernel does not read them, and a claim is granted what it reads.
 */
static bool step_is_readable(tp_analysis *a, const tp_claim *c, const tp_expr *step)
{
    bool good = true;
    for (uint32_t n = 0; n < a->k->naxes && good; n++) {
        tp_claim exists = *c;
        exists.goal = tp_readable(a, step[n]);
        good = !tp_expr_reads(a->p, step[n]) || tp_claim_decide(a, &exists).verdict == TP_PROVEN;
    }
    return good;
}

/* Do both stand in the map of one dimension? */
static bool meets_another(tp_analysis *a, const tp_operand *o, uint32_t axis)
{
    for (uint32_t d = 0; d < o->rank; d++)
        for (uint32_t n = 0; n < a->k->naxes; n++)
            if (n != axis && tp_expr_mentions(a->p, o->dims[d].index, a->k->axes[axis].sym) &&
                tp_expr_mentions(a->p, o->dims[d].index, a->k->axes[n].sym))
                return true;
    return false;
}

/* j * phase, j if phase == 1 else 0: is every block visited at one step of an axis, its last or its first? *c gets the
 * goal; `otherwise` where it is not shown. */
static tp_decision decide_at_an_end(tp_analysis *a, const tp_operand *o, tp_claim *c, tp_decision otherwise)
{
    const tp_expr goal = c->goal;
    for (uint32_t n = 0; n < a->k->naxes; n++)
        for (int last = 1; last >= 0 && meets_another(a, o, n); last--) {
            tp_expr step[TP_MAX_AXES] = {{0}};
            tp_operand there = *o;
            there.dims = TP_NEWN(a->arena, tp_dim, o->rank);
            step[n] = last ? mk(a, TP_E_SUB, a->k->axes[n].steps, num(a, 1)) : num(a, 0);
            for (uint32_t d = 0; d < o->rank; d++) {
                there.dims[d] = o->dims[d];
                there.dims[d].index =
                    tp_expr_normal(a->p, tp_expr_replace(a->p, o->dims[d].index, a->k->axes[n].sym, step[n]));
            }
            c->goal = is_visited(a, &there, step);
            tp_decision d = tp_claim_decide(a, c);
            if (d.verdict == TP_PROVEN && step_is_readable(a, c, step))
                return d;
        }
    c->goal = goal;
    return otherwise;
}

/* Is there an input of the same array type? */
static const tp_operand *twin_of(tp_analysis *a, const tp_operand *o)
{
    for (uint32_t i = 0; i < a->k->ninputs; i++) {
        const tp_operand *x = &a->k->operands[i];
        bool same = x->dtype == o->dtype && x->rank == o->rank;
        for (uint32_t d = 0; d < o->rank && same; d++)
            same = tp_same(x->shape[d], o->shape[d]);
        if (same)
            return x;
    }
    return NULL;
}

/* Does a table say which block of the output a step writes? */
static bool is_picked(tp_analysis *a, const tp_operand *o)
{
    bool picked = false;
    for (uint32_t d = 0; d < o->rank; d++)
        picked |= tp_expr_reads(a->p, o->dims[d].index);
    return picked;
}

/* Where a table picks the blocks, no grid visits all of them: they are those of an array that is given. */
static tp_str remedy(tp_analysis *a, const tp_operand *o)
{
    bool plain = true;
    for (uint32_t d = 0; d < o->rank; d++) {
        tp_expr_op op = tp_expr_get(a->p, o->dims[d].index)->op;
        plain &= op == TP_E_SYM || op == TP_E_CONST;
    }
    const tp_operand *x = is_picked(a, o) ? twin_of(a, o) : NULL;
    if (x)
        return tp_message(
            a,
            "let it share the array of `%.*s` (`alias`, in JAX input_output_aliases): blocks that no step "
            "visits then keep its data",
            TP_FMT(x->name));
    return plain ? TP_S("make the grid visit every block: cdiv instead of // in the number of steps")
                 : TP_S("no step's index_map gives that block: change the index_map, or the number of steps");
}

/* What no step writes then stays what it was. */
static void propose_alias(tp_analysis *a, tp_finding *f, const tp_operand *o)
{
    const tp_operand *x = is_picked(a, o) ? twin_of(a, o) : NULL;
    if (!x)
        return;
    tp_edit edit = {o->loc.end, o->loc.end, tp_message(a, ", \"alias\": \"%.*s\"", TP_FMT(x->name))};
    tp_propose(a, f,
               tp_message(a, "let `%.*s` share the array of `%.*s`: `\"alias\": \"%.*s\"`", TP_FMT(o->name),
                          TP_FMT(x->name), TP_FMT(x->name)),
               &edit, 1);
}

static void check_visited(tp_analysis *a, const tp_operand *o)
{
    enum { BUDGET = 2000000 };
    const tp_expr *x = tp_part_symbols(a);
    tp_expr premises[TP_MAX_AXES + 1 + TP_GRANTED], step[TP_MAX_AXES] = {{0}};
    tp_var blocks[TP_MAX_RANK];
    tp_claim c = {.goal = is_visited(a, o, step),
                  .premises = premises,
                  .subject = o->name,
                  .loc = o->loc,
                  .extra = blocks,
                  .nextra = o->rank,
                  .proven = tp_message(a, "every element of `%.*s` lies in the window of some step", TP_FMT(o->name)),
                  .violated = tp_message(a, "some elements of `%.*s` lie in no step's window", TP_FMT(o->name)),
                  .note = TP_S("JAX does not report this; the interpreters leave NaN (or an extreme integer) there")};
    for (uint32_t d = 0; d < o->rank; d++) {
        blocks[d] =
            (tp_var){.sym = (uint32_t)tp_expr_get(a->p, x[d])->value, .lo = num(a, 0), .multiple_of = 1, .step = true};
        tp_expr count = by_element(o, d) ? o->shape[d] : mk(a, TP_E_CDIV, o->shape[d], o->dims[d].block);
        blocks[d].hi = tp_whole_dimension(a, o, d) && !by_element(o, d) ? num(a, 0) : mk(a, TP_E_SUB, count, num(a, 1));
    }
    c.npremises = tp_nonempty_grid(a, premises);
    if (o->valid.id)
        premises[c.npremises++] = tp_valid_part(a, o);
    uint32_t nmeeting = tp_meeting_windows(a, false, premises + c.npremises);
    c.npremises += nmeeting;
    bool steps = a->k->naxes == 0 || tp_is_proven(a, TP_RULE_ZERO_STEP);
    c.rests_on = nmeeting ? steps ? TP_RULE_BLOCK_OUT_OF_BOUNDS : TP_RULE_ZERO_STEP ", " TP_RULE_BLOCK_OUT_OF_BOUNDS
                 : steps  ? NULL
                          : TP_RULE_ZERO_STEP;
    tp_decision d = tp_claim_decide(a, &c);
    if (d.verdict == TP_PROVEN && !step_is_readable(a, &c, step))
        d = (tp_decision){.verdict = TP_UNKNOWN,
                          .reason = TP_S("the table that tells which step visits a block may have no entry for it")};
    int64_t block[TP_MAX_RANK], budget = BUDGET;
    if (d.verdict == TP_VIOLATED) { /* that step does not visit it: does another one? */
        uint32_t n = tp_sym_count(a->p);
        int64_t *env = TP_NEWN(a->arena, int64_t, n);
        memcpy(env, d.env, n * sizeof *env);
        for (uint32_t i = 0; i < o->rank; i++)
            tp_expr_eval(a->p, x[i], env, &block[i]);
        if (some_step_visits(a, o, env, block, &budget, 0) || budget < 0)
            d = (tp_decision){.verdict = TP_UNKNOWN, .reason = not_found(a, o)};
    }
    if (d.verdict == TP_UNKNOWN) {
        int64_t *env = TP_NEWN(a->arena, int64_t, tp_sym_count(a->p));
        int covered = tp_walk_coverage(a, o, env, block);
        if (covered == 1)
            d = (tp_decision){.verdict = TP_PROVEN, .grade = TP_GRADE_EXACT};
        else if (covered == 0)
            d = (tp_decision){.verdict = TP_VIOLATED, .env = env};
        else
            d = decide_at_an_end(a, o, &c, d);
    }
    tp_finding *f = tp_claim_record(a, &c, d, NULL);
    if (f->verdict != TP_VIOLATED)
        return;
    tp_buf b = {.arena = a->arena};
    tp_buf_printf(&b, "no step visits %s (", o->rank && by_element(o, 0) ? "element" : "block");
    for (uint32_t i = 0; i < o->rank; i++)
        tp_buf_printf(&b, "%s%lld", i ? ", " : "", (long long)block[i]);
    tp_buf_c(&b, ")");
    f->witness->detail = tp_buf_view(&b);
    f->help = remedy(a, o);
    propose_cdiv(a, f);
    propose_alias(a, f, o);
    tp_propose_axis(a, f, o);
}

static void check(tp_analysis *a)
{
    for (uint32_t i = a->k->ninputs; i < a->k->ninputs + a->k->noutputs; i++) {
        const tp_operand *o = &a->k->operands[i];
        if (!o->whole && !o->discard && o->alias < 0) /* else the input's data stay */
            check_visited(a, o);
    }
    tp_check_leaks(a, "every block is written whole before it is copied out to");
}

const tp_rule tp_rule_tp401_output_coverage = {
    .code = "TP401",
    .slug = "output-coverage",
    .title = "every element of every output is written, on all paths",
    .severity = TP_ERROR,
    .traps = true,
    .for_equality = true,
    .per_dtype = true,
    .why =
        "The output array starts as garbage. A block that no step visits, or an element that the body does not write "
        "before its block is copied out, keeps it.",
    .bad = "\"steps\": \"M // 128\"   or   \"if k == num_programs(k) - 2:\", \"    o[...] = acc[...]\"",
    .good = "\"steps\": \"cdiv(M, 128)\"   and   \"if k == num_programs(k) - 1:\", \"    o[...] = acc[...]\"",
    .jax = "Nothing is reported at any stage. The interpreters fill outputs with NaN, or with an extreme integer.",
    .trap_help = "make the grid visit every block (cdiv instead of //), and write it on all paths",
    .check = check,
};
