#include "base/assert.h"
#include "analyzer/claim/claim.h"

tp_expr tp_window_meets(tp_analysis *a, const tp_operand *o, uint32_t d, tp_expr index)
{
    const tp_dim *dim = &o->dims[d];
    if (dim->kind != TP_DIM_ELEMENT) {
        tp_expr last = mk(a, TP_E_SUB, mk(a, TP_E_CDIV, o->shape[d], dim->block), num(a, 1));
        return both(a, mk(a, TP_E_GE, index, num(a, 0)), mk(a, TP_E_LE, index, last));
    }
    tp_expr start = mk(a, TP_E_SUB, index, dim->pad_lo), end = mk(a, TP_E_ADD, start, dim->block);
    tp_expr inside =
        both(a, mk(a, TP_E_GE, index, num(a, 0)), mk(a, TP_E_LE, end, mk(a, TP_E_ADD, o->shape[d], dim->pad_hi)));
    return both(a, inside, both(a, mk(a, TP_E_LT, start, o->shape[d]), mk(a, TP_E_GT, end, num(a, 0))));
}

const char *tp_apart(const tp_operand *o)
{
    return tp_has_element_dims(o) ? TP_RULE_OVERLAPPING_OUTPUT : NULL;
}

void tp_proven_by_map(tp_analysis *a, const tp_operand *o, const tp_claim *c)
{
    tp_finding *f = tp_add_finding(a, TP_PROVEN, o->name, c->loc, c->proven);
    f->grade = TP_GRADE_EXACT;
    f->rests_on = tp_apart(o) ? tp_str_c(tp_apart(o)) : (tp_str){NULL, 0};
}

tp_expr tp_window_start(tp_analysis *a, const tp_operand *o, uint32_t d)
{
    const tp_dim *dim = &o->dims[d];
    if (o->whole)
        return num(a, 0);
    return dim->kind == TP_DIM_ELEMENT ? mk(a, TP_E_SUB, dim->index, dim->pad_lo)
                                       : mk(a, TP_E_MUL, dim->index, dim->block);
}

/* e at the first or the last step of the grid. */
static tp_expr at_corner(tp_analysis *a, tp_expr e, bool last)
{
    tp_expr *with = TP_NEWN(a->arena, tp_expr, tp_sym_count(a->p));
    for (uint32_t x = 0; x < a->k->naxes; x++)
        with[a->k->axes[x].sym] = last ? mk(a, TP_E_SUB, a->k->axes[x].steps, num(a, 1)) : num(a, 0);
    return tp_expr_subst(a->p, e, with, tp_sym_count(a->p));
}

/* The findings of TP101 are complete when another rule asks. */
static void find_meeting(tp_analysis *a)
{
    tp_expr *premises = TP_NEWN(a->arena, tp_expr, TP_GRANTED);
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->k->ninputs + a->k->noutputs; i++) {
        const tp_operand *o = &a->k->operands[i];
        for (uint32_t d = 0; d < o->rank && !o->whole; d++) {
            bool fails = tp_is_violated(a, TP_RULE_BLOCK_OUT_OF_BOUNDS, &o->dims[d].index_loc);
            tp_expr meets = fails ? tp_window_meets(a, o, d, o->dims[d].index) : (tp_expr){0};
            for (int which = 0; fails && which < 3 && n < TP_GRANTED; which++)
                premises[n++] = which ? at_corner(a, meets, which == 2) : meets;
        }
    }
    a->meeting_rule = a->rule;
    a->meeting = premises;
    a->nmeeting = n;
}

static bool speaks_of_step(tp_analysis *a, tp_expr e)
{
    bool speaks = false;
    for (uint32_t x = 0; x < a->k->naxes; x++)
        speaks |= tp_expr_mentions(a->p, e, a->k->axes[x].sym);
    return speaks;
}

uint32_t tp_meeting_windows(tp_analysis *a, bool over_steps, tp_expr *premises)
{
    uint32_t n = 0;
    if (!a->out || !a->earlier) /* a body is followed, and nothing judged */
        return 0;
    if (!a->meeting || a->meeting_rule != a->rule)
        find_meeting(a);
    tp_assert(a->nmeeting <= TP_GRANTED);
    for (uint32_t i = 0; i < a->nmeeting; i++)
        if (over_steps || !speaks_of_step(a, a->meeting[i]))
            premises[n++] = a->meeting[i];
    return n;
}

/* index = c * axis + something without axes, c not 0 */
static bool tells(tp_analysis *a, tp_expr index, uint32_t axis)
{
    tp_poly *p = TP_NEW(a->arena, tp_poly);
    bool found = false;
    tp_poly_of(a->p, index, p);
    for (uint32_t i = 0; i < p->n; i++) {
        const tp_term *t = &p->terms[i];
        const tp_expr sym = tp_sym(a->p, a->k->axes[axis].sym);
        if (t->degree == 1 && tp_same(t->factors[0], sym)) {
            found = true;
            continue;
        }
        for (uint32_t k = 0; k < t->degree; k++)
            for (uint32_t x = 0; x < a->k->naxes; x++)
                if (tp_expr_mentions(a->p, t->factors[k], a->k->axes[x].sym))
                    return false;
    }
    return p->ok && found;
}

bool tp_map_tells_axes(tp_analysis *a, const tp_operand *o, bool *mentioned)
{
    bool all = true;
    for (uint32_t x = 0; x < a->k->naxes; x++) {
        bool separates = false;
        mentioned[x] = false;
        for (uint32_t d = 0; d < o->rank && !o->whole; d++) {
            mentioned[x] |= tp_expr_mentions(a->p, o->dims[d].index, a->k->axes[x].sym);
            separates |= tells(a, o->dims[d].index, x);
        }
        all &= separates || !mentioned[x];
    }
    return all;
}

static const tp_expr *step_symbols(tp_analysis *a, int which)
{
    tp_expr **other = &a->other[which - 1];
    if (!*other) {
        *other = TP_NEWN(a->arena, tp_expr, a->k->naxes + 1);
        for (uint32_t x = 0; x < a->k->naxes; x++)
            (*other)[x] =
                tp_sym_new(a->p, tp_printf(a->arena, "%.*s%s", TP_FMT(a->k->axes[x].name), which == 1 ? "'" : "\""));
    }
    return *other;
}

tp_expr tp_at_step(tp_analysis *a, tp_expr e, int which)
{
    if (which == 0)
        return e;
    const tp_expr *symbols = step_symbols(a, which);
    tp_expr *with = TP_NEWN(a->arena, tp_expr, tp_sym_count(a->p));
    for (uint32_t x = 0; x < a->k->naxes; x++)
        with[a->k->axes[x].sym] = symbols[x];
    return tp_expr_subst(a->p, e, with, tp_sym_count(a->p));
}

tp_str tp_axes_text(tp_analysis *a, const tp_expr *step, const int64_t *env)
{
    tp_buf b = {.arena = a->arena};
    for (uint32_t x = 0; x < a->k->naxes; x++) {
        int64_t v = 0;
        tp_expr_eval(a->p, step[a->k->axes[x].sym], env, &v);
        tp_buf_printf(&b, "%s%.*s = %lld", x ? ", " : "", TP_FMT(a->k->axes[x].name), (long long)v);
    }
    return tp_buf_view(&b);
}

tp_str tp_step_text(tp_analysis *a, int which, const int64_t *env)
{
    tp_expr *step = TP_NEWN(a->arena, tp_expr, tp_sym_count(a->p));
    for (uint32_t x = 0; x < a->k->naxes; x++)
        step[a->k->axes[x].sym] = tp_at_step(a, tp_sym(a->p, a->k->axes[x].sym), which);
    return tp_axes_text(a, step, env);
}

const tp_var *tp_step_vars(tp_analysis *a, int steps, uint32_t *n)
{
    tp_var *all = TP_NEWN(a->arena, tp_var, 2 * a->k->naxes + 1);
    *n = 0;
    for (int s = 1; s <= steps; s++)
        for (uint32_t x = 0; x < a->k->naxes; x++) {
            all[*n] = a->vars[a->nsizes + x];
            all[(*n)++].sym = (uint32_t)tp_expr_get(a->p, step_symbols(a, s)[x])->value;
        }
    return all;
}

const tp_expr *tp_part_symbols(tp_analysis *a)
{
    if (!a->part) {
        a->part = TP_NEWN(a->arena, tp_expr, TP_MAX_RANK);
        for (uint32_t d = 0; d < TP_MAX_RANK; d++)
            a->part[d] = tp_sym_new(a->p, tp_printf(a->arena, "part%u", d));
    }
    return a->part;
}

tp_expr tp_valid_part(tp_analysis *a, const tp_operand *o)
{
    const tp_expr *part = tp_part_symbols(a);
    tp_expr *at = TP_NEWN(a->arena, tp_expr, tp_sym_count(a->p));
    for (uint32_t d = 0; d < o->rank; d++)
        at[o->element_syms[d]] = part[d];
    return tp_expr_subst(a->p, o->valid, at, tp_sym_count(a->p));
}

void tp_name_element(tp_analysis *a, const tp_operand *o, tp_claim *c, tp_var *vars, tp_expr *premises)
{
    const tp_expr *part = tp_part_symbols(a);
    for (uint32_t d = 0; d < o->rank; d++) {
        vars[d] = (tp_var){
            .sym = (uint32_t)tp_expr_get(a->p, part[d])->value, .lo = num(a, 0), .multiple_of = 1, .step = true};
        vars[d].hi = mk(a, TP_E_SUB, o->shape[d], num(a, 1));
        premises[d] = mk(a, TP_E_GE, o->shape[d], num(a, 1));
    }
    c->extra = vars;
    c->nextra = o->rank;
    c->premises = premises;
    c->npremises = o->rank;
    if (o->valid.id)
        premises[c->npremises++] = tp_valid_part(a, o);
}

uint32_t tp_nonempty_grid(tp_analysis *a, tp_expr *premises)
{
    uint32_t n = 0;
    for (uint32_t x = 0; x < a->k->naxes; x++)
        premises[n++] = mk(a, TP_E_GE, a->k->axes[x].steps, num(a, 1));
    return n;
}
