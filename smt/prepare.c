/* Obligations made ready for the exact engine: what premises say about single
 * variables becomes part of the variables. Each step has its node in the proof. */
#include "base/checked.h"
#include "smt/internal.h"
#include "spec/kernel.h"

bool tp_concerns(const tp_prover *v, const tp_obligation *o, uint32_t sym)
{
    bool yes = tp_expr_mentions(v->p, o->goal, sym);
    for (uint32_t i = 0; i < o->npremises && !yes; i++)
        yes = tp_expr_mentions(v->p, o->premises[i], sym);
    for (uint32_t i = 0; i < o->nvars && !yes; i++)
        yes = (o->vars[i].hi.id && tp_expr_mentions(v->p, o->vars[i].hi, sym)) ||
              (o->vars[i].lo.id && tp_expr_mentions(v->p, o->vars[i].lo, sym));
    return yes;
}

/* What x is known to be a multiple of: as declared, and by premises x % m == 0. */
static int64_t known_multiple(tp_prover *v, const tp_obligation *o, const tp_var *x)
{
    int64_t all = x->multiple_of, m, zero;
    if (!x->quotient.id || x->step || x->choices)
        return 1;
    for (uint32_t i = 0; i < o->npremises; i++) {
        const tp_expr_node *e = tp_expr_get(v->p, o->premises[i]), *l = tp_expr_get(v->p, e->a);
        if (e->op != TP_E_EQ || l->op != TP_E_MOD || !tp_expr_is_const(v->p, e->b, &zero) || zero != 0 ||
            !tp_same(l->a, tp_sym(v->p, x->sym)) || !tp_expr_is_const(v->p, l->b, &m) || m < 1 || m > TP_SIZE_MAX)
            continue;
        int64_t a = all, b = m; /* least common multiple */
        while (b) {
            int64_t r = a % b;
            a = b;
            b = r;
        }
        if (all / a <= TP_SIZE_MAX / m)
            all = all / a * m;
    }
    return all;
}

/* Such a size is written as m times its quotient: divisibility becomes a
 * matter of coefficients. */
const tp_obligation *tp_with_quotients(tp_prover *v, const tp_obligation *o, int64_t *multiple)
{
    uint32_t n = tp_sym_count(v->p);
    tp_expr *with = NULL;
    for (uint32_t i = 0; i < o->nvars; i++) {
        multiple[i] = tp_concerns(v, o, o->vars[i].sym) ? known_multiple(v, o, &o->vars[i]) : 1;
        if (multiple[i] == 1)
            continue;
        with = with ? with : TP_NEWN(v->arena, tp_expr, n);
        with[o->vars[i].sym] = tp_op2(v->p, TP_E_MUL, tp_const(v->p, multiple[i]), o->vars[i].quotient);
    }
    if (!with)
        return o;
    tp_obligation *r = TP_NEW(v->arena, tp_obligation);
    tp_var *vars = TP_NEWN(v->arena, tp_var, o->nvars);
    tp_expr *premises = TP_NEWN(v->arena, tp_expr, o->npremises);
    *r = *o;
    for (uint32_t i = 0; i < o->nvars; i++) {
        tp_var *x = &vars[i];
        *x = o->vars[i];
        if (with[x->sym].id) {
            tp_expr m = tp_const(v->p, multiple[i]);
            x->lo = tp_op2(v->p, TP_E_CDIV, x->lo, m);
            x->hi = tp_op2(v->p, TP_E_FLOORDIV, x->hi, m);
            x->sym = (uint32_t)tp_expr_get(v->p, x->quotient)->value;
            x->multiple_of = 1;
        } else {
            x->lo = tp_expr_subst(v->p, x->lo, with, n);
            x->hi = tp_expr_subst(v->p, x->hi, with, n);
        }
    }
    for (uint32_t i = 0; i < o->npremises; i++)
        premises[i] = tp_expr_subst(v->p, o->premises[i], with, n);
    r->vars = vars;
    r->premises = premises;
    r->goal = tp_expr_subst(v->p, o->goal, with, n);
    return r;
}

/* What premise e says about variable x alone: x <= c or x >= c. */
static bool constant_bound(const tp_prover *v, tp_expr e, uint32_t sym, bool upper, int64_t *c)
{
    const tp_expr_node *n = tp_expr_get(v->p, e), *l = tp_expr_get(v->p, n->a);
    if (l->op != TP_E_SYM || (uint32_t)l->value != sym || !tp_expr_is_const(v->p, n->b, c))
        return false;
    bool less = n->op == TP_E_LE || n->op == TP_E_LT, strict = n->op == TP_E_LT || n->op == TP_E_GT;
    if (n->op != TP_E_EQ && less != upper)
        return false;
    return (less || n->op == TP_E_EQ || n->op == TP_E_GE || n->op == TP_E_GT) &&
           (!strict || tp_add(*c, upper ? -1 : 1, c));
}

const tp_obligation *tp_with_bounds(tp_prover *v, const tp_obligation *o, const tp_proof **nodes, uint32_t *n)
{
    tp_var *vars = NULL;
    for (uint32_t i = 0; i < o->nvars && *n < TP_MAX_BOUNDS; i++) {
        int64_t lo, hi, c;
        const tp_var *x = &o->vars[i];
        if (x->choices || !tp_expr_is_const(v->p, x->lo, &lo) || !tp_expr_is_const(v->p, x->hi, &hi))
            continue;
        int64_t given[2] = {lo, hi}, best[2] = {lo, hi};
        for (uint32_t k = 0; k < o->npremises; k++)
            for (int upper = 0; upper < 2; upper++)
                if (constant_bound(v, o->premises[k], x->sym, upper, &c))
                    best[upper] = upper ? (c < best[1] ? c : best[1]) : c > best[0] ? c : best[0];
        for (uint32_t upper = 0; upper < 2; upper++) {
            if (best[upper] == given[upper])
                continue;
            if (!vars) {
                vars = TP_NEWN(v->arena, tp_var, o->nvars);
                memcpy(vars, o->vars, o->nvars * sizeof *vars);
            }
            *(upper ? &vars[i].hi : &vars[i].lo) = tp_const(v->p, best[upper]);
            tp_proof node = {.kind = TP_PROOF_BOUND, .number = x->sym, .side = upper, .factor = best[upper]};
            nodes[(*n)++] = tp_proof_node(v->arena, node, NULL, 0);
        }
    }
    if (!vars)
        return o;
    tp_obligation *r = TP_NEW(v->arena, tp_obligation);
    *r = *o;
    r->vars = vars;
    return r;
}

/* A premise s % t == 0 for sizes s >= 0 and t >= 1. */
static bool divides(const tp_prover *v, const tp_obligation *o, tp_expr e, const tp_var **s, const tp_var **t)
{
    int64_t zero, lo, hi;
    const tp_expr_node *n = tp_expr_get(v->p, e), *l = tp_expr_get(v->p, n->a);
    if (n->op != TP_E_EQ || l->op != TP_E_MOD || !tp_expr_is_const(v->p, n->b, &zero) || zero != 0)
        return false;
    *s = *t = NULL;
    for (uint32_t i = 0; i < o->nvars; i++) {
        const tp_var *x = &o->vars[i];
        if (x->step || x->choices || !tp_expr_is_const(v->p, x->lo, &lo) || !tp_expr_is_const(v->p, x->hi, &hi))
            continue;
        if (lo >= 0 && x->quotient.id && x->multiple_of == 1 && tp_same(l->a, tp_sym(v->p, x->sym)))
            *s = x;
        if (lo >= 1 && tp_same(l->b, tp_sym(v->p, x->sym)))
            *t = x;
    }
    return *s && *t && *s != *t;
}

const tp_obligation *tp_with_divisors(tp_prover *v, const tp_obligation *o, const tp_proof **nodes, uint32_t *count)
{
    uint32_t n = tp_sym_count(v->p);
    const tp_var *s, *t;
    for (uint32_t i = 0; i < o->npremises && *count < TP_MAX_BOUNDS + 4; i++) {
        if (!divides(v, o, o->premises[i], &s, &t))
            continue;
        tp_obligation *r = TP_NEW(v->arena, tp_obligation);
        tp_var *vars = TP_NEWN(v->arena, tp_var, o->nvars);
        tp_expr *premises = TP_NEWN(v->arena, tp_expr, o->npremises + 2), *with = TP_NEWN(v->arena, tp_expr, n);
        tp_expr divisor = tp_sym(v->p, t->sym), product = tp_op2(v->p, TP_E_MUL, divisor, s->quotient);
        int64_t lo = tp_expr_get(v->p, s->lo)->value;
        uint32_t quotient = (uint32_t)tp_expr_get(v->p, s->quotient)->value;
        with[s->sym] = product;
        for (uint32_t k = 0; k < o->nvars; k++) {
            vars[k] = o->vars[k];
            vars[k].lo = tp_expr_subst(v->p, vars[k].lo, with, n);
            vars[k].hi = tp_expr_subst(v->p, vars[k].hi, with, n);
            if (&o->vars[k] == s)
                vars[k] = (tp_var){.sym = quotient, .lo = tp_const(v->p, lo >= 1), .hi = s->hi, .multiple_of = 1};
        }
        for (uint32_t k = 0; k < o->npremises; k++)
            premises[k] = tp_expr_subst(v->p, o->premises[k], with, n);
        premises[o->npremises] = tp_op2(v->p, TP_E_GE, product, s->lo);
        premises[o->npremises + 1] = tp_op2(v->p, TP_E_LE, product, s->hi);
        *r = *o;
        r->vars = vars;
        r->premises = premises;
        r->npremises = o->npremises + 2;
        r->goal = tp_expr_subst(v->p, o->goal, with, n);
        tp_proof node = {.kind = TP_PROOF_DIVIDED, .number = s->sym, .sym = quotient, .value = divisor};
        nodes[(*count)++] = tp_proof_node(v->arena, node, NULL, 0);
        o = r;
        i = UINT32_MAX; /* again from the first */
    }
    return o;
}
