/* Integers that SMEM keeps from step to step, such as the slot of the next copy and a flag that the first one is under
 * way. Each such element is a variable of the walk; what it holds when a step begins, if it is defined, is a symbol of
 * its own. Of that symbol a range is guessed, the narrowest first, and proven with what steps leave undefined: a step
 * that begins with all of them in their ranges ends so. Of what is not shown the element has no meaning. Integers that
 * a loop carries and that are no function of its turn (carried.c) have symbols, too.
 *
 * Whether an element is defined is asked of memory (TP404). A load whose element may be undefined has no meaning.
 */
#include "analyzer/flow/internal.h"

enum { MOST_KEPT = 16, MOST_OF_ONE = 8 };

/* Ends of ranges, which only get wider: what was shown of a symbol holds then. */
static const int64_t LOWS[] = {0, -1, INT32_MIN}, HIGHS[] = {0, 1, 2, 3, 7, INT32_MAX};
enum { NLOWS = sizeof LOWS / sizeof *LOWS, NHIGHS = sizeof HIGHS / sizeof *HIGHS, NRANGES = NLOWS + NHIGHS - 1 };

static bool comes_into(const tp_statement *s, void *operand)
{
    return s->kind == TP_COPY_START && s->access->operand == *(const uint32_t *)operand;
}

/* Scratch of few int32, which steps of one device pass on; how many. What a copy comes into holds what that brings, now
 * or later, whatever was stored there meanwhile. */
static int64_t elements_of(const flow *f, uint32_t operand)
{
    const tp_operand *o = &f->k->operands[operand];
    int64_t n = 1, dim;
    if (o->role != TP_SCRATCH || o->memory != TP_MEM_SMEM || o->dtype != TP_I32 || o->scoped || !o->ref_rank ||
        tp_str_is(o->name, TP_PRNG_STATE) || tp_has_devices(f->k) ||
        tp_region_any(&f->p->statements, comes_into, &operand))
        return 0;
    for (uint32_t d = 0; d < o->ref_rank; d++) {
        if (!tp_expr_is_const(f->a->p, o->ref_shape[d], &dim) || dim < 1 || dim > MOST_OF_ONE)
            return 0;
        n *= dim;
    }
    return n <= MOST_OF_ONE ? n : 0;
}

void flow_set_range(flow *f, const tp_kept *k)
{
    if (!k)
        return;
    tp_var *v = &f->out->vars.at[k->var];
    v->lo = tp_const(f->a->p, LOWS[k->low]);
    v->hi = tp_const(f->a->p, HIGHS[k->high]);
    if (k->last.id) {
        f->out->vars.at[k->last_var].lo = v->lo;
        f->out->vars.at[k->last_var].hi = v->hi;
    }
}

void flow_make_kept(flow *f)
{
    for (uint32_t o = 0; f->keeps && o < tp_noperands(f->k); o++) {
        int64_t n = elements_of(f, o);
        if (f->out->kept.len + n > MOST_KEPT)
            return;
        for (int64_t e = 0; e < n; e++) {
            tp_kept k = {.operand = o, .value = -1, .known = true, .var = f->out->vars.len};
            if (f->k->naxes)
                k.turn = tp_sym(f->a->p, f->k->axes[f->k->naxes - 1].sym);
            int64_t rest = e, dim;
            for (uint32_t d = f->k->operands[o].ref_rank; d-- > 0; rest /= dim) {
                tp_expr_is_const(f->a->p, f->k->operands[o].ref_shape[d], &dim);
                k.at[d] = rest % dim;
            }
            k.head = flow_new_variable(f, "kept", tp_const(f->a->p, 1));
            tp_push(f->a->arena, f->out->kept, k);
            flow_set_range(f, &f->out->kept.at[f->nkept++]);
        }
    }
}

/* A symbol for what the loop carries in this value, one of the body's or a kept element. */
static void add_carried(flow *f, const tp_statement *loop, tp_vid value)
{
    if (f->out->kept.len >= MOST_KEPT || flow_kept_by(f, loop, (uint32_t)value))
        return;
    tp_kept k = {.loop = loop, .value = value, .known = true, .var = f->out->vars.len};
    k.head = flow_new_variable(f, "carried", tp_const(f->a->p, 1));
    tp_push(f->a->arena, f->out->kept, k);
    flow_set_range(f, &f->out->kept.at[f->out->kept.len - 1]);
}

/* Integers that are assigned there, in any turn, and those of SMEM that are stored to. */
static void add_assigned(flow *f, const tp_statement *loop, const tp_region *r)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        const tp_value *x = s->kind == TP_ASSIGN ? &f->p->values.at[s->var] : NULL;
        if (x && x->dtype == TP_I32 && !x->rank && f->feeds[s->var])
            add_carried(f, loop, s->var);
        for (uint32_t k = 0; tp_writes(s) && k < f->nkept; k++)
            if (f->out->kept.at[k].operand == s->access->operand && f->kept_feeds[s->access->operand])
                add_carried(f, loop, flow_kept_value(f, k));
        add_assigned(f, loop, &s->test);
        add_assigned(f, loop, &s->body);
        add_assigned(f, loop, &s->orelse);
    }
}

void flow_make_carried(flow *f, const tp_region *r)
{
    for (uint32_t i = 0; f->keeps && i < r->len && !tp_has_devices(f->k); i++) {
        const tp_statement *s = &r->at[i];
        if (s->kind == TP_LOOP || s->kind == TP_WHILE) {
            add_assigned(f, s, &s->test);
            add_assigned(f, s, &s->body);
        }
        flow_make_carried(f, &s->body);
        flow_make_carried(f, &s->orelse);
    }
}

tp_kept *flow_kept_by(flow *f, const tp_statement *loop, uint32_t value)
{
    for (uint32_t i = f->nkept; i < f->out->kept.len; i++)
        if (f->out->kept.at[i].loop == loop && (uint32_t)f->out->kept.at[i].value == value)
            return &f->out->kept.at[i];
    return NULL;
}

void flow_end_turn(flow *f, const tp_statement *loop, uint32_t value, tp_expr head)
{
    tp_kept *k = flow_kept_by(f, loop, value);
    if (!k)
        return;
    k->used |= head.id && tp_expr_mentions(f->a->p, head, (uint32_t)tp_expr_get(f->a->p, k->head)->value);
    k->left = f->now.values[value].meaning;
}

/* *at becomes the first end from there on within which e lies. False: it does not lie within the last one. */
static bool find_end(flow *f, tp_expr_op op, tp_expr e, const int64_t *ends, uint32_t n, uint32_t *at)
{
    tp_exprs *p = f->a->p;
    while (*at < n && !flow_holds(f, tp_op2(p, op, e, tp_const(p, ends[*at])), 0, NULL))
        ++*at;
    return *at < n;
}

bool flow_keep_in_range(flow *f, tp_kept *k, tp_expr e)
{
    uint32_t low = k->low, high = k->high;
    if (!k->known)
        return true;
    k->known = e.id && find_end(f, TP_E_GE, e, LOWS, NLOWS, &low) && find_end(f, TP_E_LE, e, HIGHS, NHIGHS, &high);
    bool kept = k->known && low == k->low && high == k->high;
    k->low = k->known ? low : k->low;
    k->high = k->known ? high : k->high;
    return kept;
}

uint32_t flow_kept_work(const flow *f)
{
    return f->out->kept.len * NRANGES;
}

bool flow_keeps(const flow *f, const tp_statement *s)
{
    bool any = false;
    for (uint32_t i = 0; i < f->nkept && !any; i++)
        any = f->out->kept.at[i].operand == s->access->operand;
    return any;
}

void flow_begin_kept(flow *f)
{
    for (uint32_t i = 0; i < f->nkept; i++)
        f->now.values[flow_kept_value(f, i)].meaning =
            f->out->kept.at[i].known && (!f->noting || f->settling) ? f->out->kept.at[i].head : (tp_expr){0};
}

/* e of the lanes of the ref, at this element. */
static tp_expr at_element(flow *f, const tp_kept *k, tp_expr e)
{
    tp_expr *at = flow_identity(f);
    for (uint32_t d = 0; d < f->k->operands[k->operand].ref_rank; d++)
        at[flow_lane_sym(f, d)] = tp_const(f->a->p, k->at[d]);
    return tp_expr_normal(f->a->p, tp_expr_subst(f->a->p, e, at, tp_sym_count(f->a->p)));
}

void flow_store_kept(flow *f, uint32_t operand, tp_expr inside, tp_expr value)
{
    tp_exprs *p = f->a->p;
    for (uint32_t i = 0; i < f->nkept; i++) {
        const tp_kept *k = &f->out->kept.at[i];
        flow_value *now = &f->now.values[flow_kept_value(f, i)];
        if (k->operand != operand)
            continue;
        tp_expr there = at_element(f, k, inside), is = value.id ? at_element(f, k, value) : value;
        if (flow_is_false(f, there))
            continue;
        if (is.id && !flow_is_true(f, there))
            is = now->meaning.id ? tp_ite(p, there, is, now->meaning) : (tp_expr){0};
        now->meaning = tp_expr_too_large(is) ? (tp_expr){0} : is;
    }
}

tp_expr flow_load_kept(flow *f, uint32_t operand, tp_expr inside)
{
    tp_exprs *p = f->a->p;
    tp_expr all = {0};
    for (uint32_t i = f->nkept; i-- > 0;) {
        const tp_kept *k = &f->out->kept.at[i];
        if (k->operand != operand)
            continue;
        tp_expr there = at_element(f, k, inside), is = f->now.values[flow_kept_value(f, i)].meaning;
        if (flow_is_false(f, there))
            continue;
        if (!is.id)
            return is;
        all = all.id && !flow_is_true(f, there) ? tp_ite(p, there, is, all) : is;
    }
    return all;
}

bool flow_widen_kept(flow *f)
{
    tp_exprs *p = f->a->p;
    bool changed = f->doubted_now;
    f->doubted_now = false;
    for (uint32_t i = 0; i < f->nkept; i++) {
        tp_kept *k = &f->out->kept.at[i];
        tp_expr left = f->now.values[flow_kept_value(f, i)].meaning;
        changed |= k->known && !flow_keep_in_range(f, k, left);
        k->left = k->known ? tp_expr_normal(p, left) : (tp_expr){0};
    }
    for (uint32_t i = 0; i < f->nkept && changed; i++) /* after all are asked, with the ranges as they were */
        flow_set_range(f, &f->out->kept.at[i]);
    if (changed)
        f->carried.len = 0; /* they rest on what has changed */
    return changed;
}

/* ---- bounds that sizes and tables give ---- */

/* Another one at other steps? */
static bool is_steady(const flow *f, tp_expr e)
{
    const tp_expr_node n = *tp_expr_get(f->a->p, e);
    bool size = n.op != TP_E_SYM;
    for (uint32_t i = 0; i < f->a->nvars && n.op == TP_E_SYM && !size; i++)
        size = f->a->vars[i].sym == (uint32_t)n.value && !f->a->vars[i].step;
    return size && (!n.a.id || is_steady(f, n.a)) && (!n.b.id || is_steady(f, n.b)) && (!n.c.id || is_steady(f, n.c));
}

static bool follows(flow *f, tp_expr given, tp_expr goal)
{
    tp_expr outer = f->path;
    f->path = flow_and(f, given, f->behind);
    bool yes = flow_holds(f, goal, 0, NULL);
    f->path = outer;
    return yes;
}

/* Is it less than that in each step? Then there is a number that is: it counts for nothing else that there be one. What
 * a step leaves is, if what it finds was; what is stored at first, too. */
static bool stays_below(flow *f, const tp_kept *k, tp_expr below)
{
    tp_exprs *p = f->a->p;
    tp_expr lo = f->out->vars.at[k->var].lo;
    return is_steady(f, below) && follows(f, flow_yes(f), tp_readable(f->a, below)) &&
           follows(f, flow_yes(f), tp_op2(p, TP_E_LT, lo, below)) &&
           follows(f, flow_guard(f, tp_op2(p, TP_E_LT, k->head, below), false), tp_op2(p, TP_E_LT, k->left, below));
}

/* True: that is its bound. */
static bool try_end(flow *f, tp_kept *k, tp_expr end, bool itself)
{
    tp_exprs *p = f->a->p;
    tp_expr below = itself ? end : tp_op2(p, TP_E_ADD, end, tp_const(p, 1));
    if (!tp_expr_is_const(p, end, NULL) && stays_below(f, k, below))
        k->below = below;
    return k->below.id != 0;
}

/* What choices in e, and minima, compare numbers with. */
static void try_ends(flow *f, tp_kept *k, tp_expr e, bool chooses)
{
    const tp_expr_node n = *tp_expr_get(f->a->p, e);
    if (!e.id || k->below.id)
        return;
    if (n.op == TP_E_MIN && (try_end(f, k, n.a, false) || try_end(f, k, n.b, false)))
        return;
    bool less = n.op == TP_E_LT || n.op == TP_E_GE, more = n.op == TP_E_GT || n.op == TP_E_LE;
    if (chooses && (less || more) && (try_end(f, k, n.b, less) || try_end(f, k, n.a, more)))
        return;
    try_ends(f, k, n.a, chooses || n.op == TP_E_ITE);
    try_ends(f, k, n.b, chooses);
    try_ends(f, k, n.c, chooses);
}

void flow_bound_kept(flow *f)
{
    for (uint32_t i = 0; i < f->nkept; i++)
        if (f->out->kept.at[i].known && f->out->kept.at[i].left.id)
            try_ends(f, &f->out->kept.at[i], f->out->kept.at[i].left, false);
}
