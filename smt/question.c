/* An obligation as a question: bounds, premises and the negated goal. */
#include "smt/question.h"

#include "base/vec.h"
#include "smt/internal.h"

/* Terms for atoms, and of what else occurs twice, are made once. */
typedef struct builder {
    tp_prover *v;
    const tp_obligation *o;
    bool linear;
    TP_VEC(int64_t) words;
    uint32_t n;                /* instructions */
    uint32_t fresh;            /* constants of their own so far */
    tp_map known;              /* one more than the instruction, by expression and as what */
    TP_VEC(tp_term) monomials; /* opaque products and their constants */
    TP_VEC(uint32_t) products;
} builder;

typedef uint32_t made; /* the number of an instruction */

static void put(builder *q, int64_t word)
{
    tp_push(q->v->scratch, q->words, word);
}

/* The operands of it follow. */
static made begin(builder *q, tp_question_op op, uint32_t operands)
{
    tp_spend(q->v->scratch, 1);
    put(q, op);
    put(q, operands);
    return q->n++;
}

static made apply(builder *q, tp_question_op op, uint32_t n, const made *operands)
{
    made m = begin(q, op, n);
    for (uint32_t i = 0; i < n; i++)
        put(q, operands[i]);
    return m;
}

static made with1(builder *q, tp_question_op op, made a)
{
    return apply(q, op, 1, &a);
}

static made with2(builder *q, tp_question_op op, made a, made b)
{
    return apply(q, op, 2, (made[]){a, b});
}

static made with3(builder *q, tp_question_op op, made a, made b, made c)
{
    return apply(q, op, 3, (made[]){a, b, c});
}

static made number(builder *q, int64_t v)
{
    made m = begin(q, TP_Q_NUMBER, 1);
    put(q, v);
    return m;
}

static made constant(builder *q, char kind, uint32_t id)
{
    made m = begin(q, TP_Q_CONSTANT, 2);
    put(q, kind);
    put(q, id);
    return m;
}

static void say(builder *q, made a)
{
    with1(q, TP_Q_ASSERT, a);
}

static made arith(builder *q, tp_expr e);
static made formula(builder *q, tp_expr e);

/* What was made of the expression. */
typedef struct key {
    uint32_t id;
    enum { AS_ATOM, AS_TERM, AS_FORMULA } as;
} key;

static bool is_made(const builder *q, const key *k, made *m)
{
    uint32_t n = tp_map_get(&q->known, (tp_str){(const char *)k, sizeof *k});
    *m = n - 1;
    return n != 0;
}

static void keep(builder *q, const key *k, made m)
{
    key *own = TP_NEW(q->v->scratch, key);
    *own = *k;
    tp_map_set(q->v->scratch, &q->known, (tp_str){(const char *)own, sizeof *own}, m + 1);
}

/* x = n.a // n.b or cdiv(n.a, n.b), for a positive divisor. */
static void say_quotient(builder *q, const tp_expr_node *n, tp_expr e, made x)
{
    tp_expr bq = tp_op2(q->v->p, TP_E_MUL, n->b, e);
    made a = arith(q, n->a), b = arith(q, n->b), zero = number(q, 0), one = number(q, 1);
    made r = arith(q, tp_op2(q->v->p, TP_E_SUB, bq, n->a)); /* b*x - a: in (-b, 0] for floor, in [0, b) for ceiling */
    bool up = n->op == TP_E_CDIV;
    made facts[4];
    facts[0] = with2(q, up ? TP_Q_GE : TP_Q_LE, r, zero);
    facts[1] = up ? with2(q, TP_Q_LT, r, b) : with2(q, TP_Q_GT, r, with1(q, TP_Q_MINUS, b));
    uint32_t nfacts = 2;
    int64_t k;
    if (!tp_expr_is_const(q->v->p, n->b, &k)) { /* the first quotients, which opaque products hide */
        tp_question_op below = up ? TP_Q_LE : TP_Q_LT;
        made low = with2(q, below, a, zero), high = with2(q, below, a, b);
        facts[nfacts++] = with2(q, TP_Q_IFF, low, with2(q, below, x, zero));
        facts[nfacts++] = with2(q, TP_Q_IFF, high, with2(q, below, x, one));
    }
    made all = apply(q, TP_Q_AND, nfacts, facts);
    bool positive = tp_interval_of(q->v, q->o, n->b).lo >= 1;
    say(q, positive ? all : with2(q, TP_Q_IMPLIES, with2(q, TP_Q_GE, b, one), all));
}

/* The value of a non-polynomial operation: a fresh constant with its defining
 * facts. What cannot be defined stays free: sound for proofs. */
static made atom(builder *q, tp_expr e)
{
    tp_expr_node n = *tp_expr_get(q->v->p, e);
    key k = {e.id, AS_ATOM};
    made x;
    if (is_made(q, &k, &x))
        return x;
    x = n.op == TP_E_SYM ? constant(q, 's', (uint32_t)n.value) : constant(q, 'a', e.id);
    keep(q, &k, x);
    if (n.op == TP_E_FLOORDIV || n.op == TP_E_CDIV) {
        say_quotient(q, &n, e, x);
    } else if (n.op == TP_E_MIN || n.op == TP_E_MAX) {
        made l = arith(q, n.a), r = arith(q, n.b);
        made first = with2(q, n.op == TP_E_MIN ? TP_Q_LE : TP_Q_GE, l, r);
        say(q, with2(q, TP_Q_EQ, x, with3(q, TP_Q_ITE, first, l, r)));
    } else if (n.op == TP_E_ITE) {
        made when = formula(q, n.a), then = arith(q, n.b), other = arith(q, n.c);
        say(q, with2(q, TP_Q_EQ, x, with3(q, TP_Q_ITE, when, then, other)));
    } else if (n.op == TP_E_POW2) {
        made a = arith(q, n.a), one = number(q, 1);
        say(q, with2(q, TP_Q_GE, x, a));
        say(q, with2(q, TP_Q_GE, x, one));
        made is_one = with2(q, TP_Q_EQ, x, one), twice = with2(q, TP_Q_ADD, a, a);
        say(q, with2(q, TP_Q_OR, is_one, with2(q, TP_Q_LT, x, twice)));
    } else if (n.op != TP_E_SYM && tp_expr_is_bool(q->v->p, e)) {
        made holds = formula(q, e), one = number(q, 1), zero = number(q, 0);
        say(q, with2(q, TP_Q_EQ, x, with3(q, TP_Q_ITE, holds, one, zero)));
    }
    return x;
}

static made product(builder *q, const tp_term *t)
{
    made factors[TP_POLY_MAX_DEGREE];
    for (uint32_t i = 0; i < t->degree; i++)
        factors[i] = atom(q, t->factors[i]);
    if (t->degree == 1)
        return factors[0];
    if (!q->linear)
        return apply(q, TP_Q_MUL, t->degree, factors);
    for (uint32_t i = 0; i < q->monomials.len; i++)
        if (tp_same_monomial(&q->monomials.at[i], t))
            return q->products.at[i];
    made fresh = constant(q, 'm', q->monomials.len);
    tp_push(q->v->scratch, q->monomials, *t);
    tp_push(q->v->scratch, q->products, fresh);
    return fresh;
}

static made of_poly(builder *q, const tp_poly *p)
{
    made parts[TP_POLY_MAX_TERMS + 1];
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        made k = number(q, p->terms[i].coef);
        if (p->terms[i].degree == 0)
            parts[n++] = k;
        else if (p->terms[i].coef == 1)
            parts[n++] = product(q, &p->terms[i]);
        else
            parts[n++] = with2(q, TP_Q_MUL, k, product(q, &p->terms[i]));
    }
    return n == 0 ? number(q, 0) : n == 1 ? parts[0] : apply(q, TP_Q_ADD, n, parts);
}

static made new_term(builder *q, tp_expr e)
{
    tp_poly p;
    if (tp_expr_too_large(e)) { /* it may be anything, and another thing each time */
        q->fresh++;
        return begin(q, TP_Q_FRESH, 0);
    }
    tp_poly_of(q->v->p, tp_rewrite_div(q->v, q->o, e), &p);
    return p.ok ? of_poly(q, &p) : constant(q, 'b', e.id); /* too large: free */
}

static made new_formula(builder *q, tp_expr e)
{
    tp_expr_node n = *tp_expr_get(q->v->p, e);
    tp_question_op op = TP_Q_EQ;
    switch (n.op) {
    case TP_E_CONST: return begin(q, n.value ? TP_Q_TRUE : TP_Q_FALSE, 0);
    case TP_E_NOT: return with1(q, TP_Q_NOT, formula(q, n.a));
    case TP_E_AND: op = TP_Q_AND; break;
    case TP_E_OR: op = TP_Q_OR; break;
    case TP_E_IMPLIES: op = TP_Q_IMPLIES; break;
    case TP_E_ITE: op = TP_Q_ITE; break;
    case TP_E_LT: op = TP_Q_LT; break;
    case TP_E_LE: op = TP_Q_LE; break;
    case TP_E_GT: op = TP_Q_GT; break;
    case TP_E_GE: op = TP_Q_GE; break;
    case TP_E_EQ:
    case TP_E_NE: break;
    case TP_E_SYM: /* an integer that is not 0 */
    case TP_E_READ:
    case TP_E_TOO_LARGE:
    case TP_E_POW2:
    case TP_E_RING:
    case TP_E_DIVISIONS:
    case TP_E_BITS:
    case TP_E_EXTREMES: {
        made value = arith(q, e), zero = number(q, 0);
        return with1(q, TP_Q_NOT, with2(q, TP_Q_EQ, value, zero));
    }
    }
    bool logic = op == TP_Q_AND || op == TP_Q_OR || op == TP_Q_IMPLIES || op == TP_Q_ITE;
    made a = logic ? formula(q, n.a) : arith(q, n.a), b = logic ? formula(q, n.b) : arith(q, n.b);
    if (op == TP_Q_ITE)
        return with3(q, op, a, b, formula(q, n.c));
    made m = with2(q, op, a, b);
    return n.op == TP_E_NE ? with1(q, TP_Q_NOT, m) : m;
}

/* Once, but for what holds a constant of its own: that is another each time. */
static made once(builder *q, tp_expr e, bool as_formula)
{
    key k = {e.id, as_formula ? AS_FORMULA : AS_TERM};
    uint32_t before = q->fresh;
    made m;
    if (is_made(q, &k, &m))
        return m;
    m = as_formula ? new_formula(q, e) : new_term(q, e);
    if (q->fresh == before)
        keep(q, &k, m);
    return m;
}

static made arith(builder *q, tp_expr e)
{
    return once(q, e, false);
}

static made formula(builder *q, tp_expr e)
{
    return once(q, e, true);
}

static void say_bounds(builder *q, const tp_var *x)
{
    made s = atom(q, tp_sym(q->v->p, x->sym));
    if (x->lo.id)
        say(q, with2(q, TP_Q_GE, s, arith(q, x->lo)));
    if (x->hi.id)
        say(q, with2(q, TP_Q_LE, s, arith(q, x->hi)));
    if (x->multiple_of > 1) {
        made factor = number(q, x->multiple_of);
        say(q, with2(q, TP_Q_EQ, s, with2(q, TP_Q_MUL, factor, constant(q, 'k', x->sym))));
    }
    if (x->choices) {
        made *any = TP_NEWN(q->v->scratch, made, x->nchoices);
        for (uint32_t i = 0; i < x->nchoices; i++)
            any[i] = with2(q, TP_Q_EQ, s, number(q, x->choices[i]));
        say(q, apply(q, TP_Q_OR, x->nchoices, any));
    }
}

tp_question tp_question_of(tp_prover *v, const tp_obligation *o, bool linear)
{
    builder q = {.v = v, .o = o, .linear = linear};
    for (uint32_t i = 0; i < o->nvars; i++)
        say_bounds(&q, &o->vars[i]);
    for (uint32_t i = 0; i < o->npremises; i++)
        say(&q, formula(&q, o->premises[i]));
    say(&q, with1(&q, TP_Q_NOT, formula(&q, o->goal)));
    if (linear) {
        tp_facts facts = {0};
        tp_collect_facts(v, o, o->goal, &facts);
        made zero = number(&q, 0);
        for (uint32_t i = 0; i < facts.polys.len; i++)
            say(&q, with2(&q, TP_Q_GE, of_poly(&q, facts.polys.at[i]), zero));
    }
    for (uint32_t i = 0; i < o->nvars; i++)
        with1(&q, TP_Q_WANTED, atom(&q, tp_sym(v->p, o->vars[i].sym)));
    return (tp_question){.n = q.n, .nwanted = o->nvars, .nwords = q.words.len, .words = q.words.at};
}
