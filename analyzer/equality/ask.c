/* Questions to the prover, each asked once; what follows from the premises about an index. */
#include "base/assert.h"
#include "analyzer/equality/internal.h"

enum { MAX_QUESTIONS = 1500 };

tp_expr summary_index(summary *s, const char *name, tp_expr extent)
{
    tp_expr e = tp_sym_new(s->p, tp_printf(s->arena, "%s%u", name, s->vars.len));
    tp_var x = {.sym = (uint32_t)tp_expr_get(s->p, e)->value,
                .lo = tp_const(s->p, 0),
                .hi = tp_expr_normal(s->p, tp_op2(s->p, TP_E_SUB, extent, tp_const(s->p, 1))),
                .multiple_of = 1,
                .step = true};
    tp_assert(!s->vars.len || s->vars.at[s->vars.len - 1].sym < x.sym); /* in order of birth */
    tp_push(s->arena, s->vars, x);
    return e;
}

tp_var summary_turn(const summary *s, const tp_axis *axis)
{
    tp_expr last = tp_op2(s->p, TP_E_SUB, axis->steps, tp_const(s->p, 1));
    return (tp_var){
        .sym = axis->sym, .lo = tp_const(s->p, 0), .hi = tp_expr_normal(s->p, last), .multiple_of = 1, .step = true};
}

blank blank_new(summary *s, uint32_t more)
{
    uint32_t n = tp_sym_count(s->p) + more;
    blank b = s->blanks.len ? s->blanks.at[--s->blanks.len] : (blank){NULL, 0};
    if (b.room < n)
        return (blank){TP_NEWN(s->arena, tp_expr, 2 * n), 2 * n};
    memset(b.with, 0, n * sizeof *b.with);
    return b;
}

void blank_done(summary *s, blank b)
{
    tp_push(s->arena, s->blanks, b);
}

premises premises_with(summary *s, const premises *p, tp_expr also)
{
    premises r = *p;
    if (r.n == sizeof r.at / sizeof *r.at)
        summary_stop(s, TP_S("there are too many cases"));
    r.at[r.n++] = also;
    return r;
}

typedef enum effort {
    QUICK,
    THOROUGH, /* with search and solvers, too */
    OF_SIZES, /* that, without a step of the grid at hand */
    LARGE,    /* THOROUGH, and hardly true without the implicit facts */
} effort;

/* All that a question may speak of, beside sizes: turns of other phases, to which counters of folds may run, and all
 * indices. Those of which it does not speak are not said to be there. */
static void note_variables(summary *s, effort how, tp_claim *c)
{
    uint32_t axes = how == OF_SIZES ? s->k->naxes : 0;
    tp_var *all = TP_NEWN(s->arena, tp_var, axes + s->others.len + s->vars.len + 1);
    c->extra = all;
    for (uint32_t a = 0; a < axes; a++)
        all[c->nextra++] = summary_turn(s, &s->k->axes[a]);
    for (uint32_t i = 0; i < s->others.len; i++)
        all[c->nextra++] = s->others.at[i];
    for (uint32_t i = 0; i < s->vars.len; i++)
        all[c->nextra++] = s->vars.at[i];
}

/* No, too, where it speaks of a counter under the name that a finished fold has for it: laws that work on such folds
 * ask as they do on opened ones, and the name has no range. */
static bool ask(summary *s, const premises *p, tp_expr goal, effort how)
{
    tp_expr copy[48];
    int64_t v;
    goal = condition_normal(s, goal, false);
    if (tp_expr_is_const(s->p, goal, &v))
        return v != 0;
    uint32_t key[52] = {goal.id, how}, len = 2;
    for (uint32_t i = 0; i < p->n; i++)
        key[len++] = p->at[i].id;
    tp_buf b = {.arena = s->arena};
    tp_buf_str(&b, (tp_str){(const char *)key, len * sizeof *key});
    tp_str text = tp_buf_view(&b);
    uint32_t answer = tp_map_get(&s->answers, text), number = 0;
    if (answer > 1)
        record_side_again(s, answer - 2);
    if (answer)
        return answer > 1;
    if (++s->questions > MAX_QUESTIONS)
        summary_stop(s, TP_S("too many conditions have to be decided"));
    memcpy(copy, p->at, p->n * sizeof *copy);
    tp_claim c = {.goal = goal,
                  .over_steps = how != OF_SIZES,
                  .premises = copy,
                  .npremises = p->n,
                  .subject = TP_S("equality"),
                  .large = how == LARGE};
    note_variables(s, how, &c);
    bool asked = tp_claim_has_ranges(s->a, &c), yes = asked && tp_claim_follows(s->a, &c);
    if (yes || (asked && how != QUICK)) { /* by the prover that keeps the books */
        tp_decision d = tp_claim_decide(s->a, &c);
        yes = d.verdict == TP_PROVEN;
        s->out->given |= yes ? c.given : 0;
        s->out->obligations += yes;
        s->out->certified += yes && d.grade == TP_GRADE_CERT;
        if (yes && d.grade > s->out->grade)
            s->out->grade = d.grade;
        number = yes ? record_side(s, &c, d) : 0;
    }
    tp_map_set(s->arena, &s->answers, text, yes ? 2 + number : 1);
    return yes;
}

bool summary_follows(summary *s, const premises *p, tp_expr goal)
{
    return ask(s, p, goal, QUICK);
}

bool summary_proves(summary *s, const premises *p, tp_expr goal)
{
    return ask(s, p, goal, THOROUGH);
}

bool summary_proves_large(summary *s, tp_expr goal)
{
    static const premises nothing = {.n = 0};
    return ask(s, &nothing, goal, LARGE);
}

bool summary_proves_of_sizes(summary *s, tp_expr goal)
{
    static const premises nothing = {.n = 0};
    return ask(s, &nothing, goal, OF_SIZES);
}

int summary_decides(summary *s, const premises *p, tp_expr condition)
{
    if (summary_follows(s, p, condition))
        return 1;
    return summary_follows(s, p, condition_normal(s, condition, true)) ? -1 : 0;
}

int summary_is_decided(summary *s, tp_expr condition)
{
    static const premises nothing = {.n = 0};
    int64_t v;
    if (tp_expr_is_const(s->p, condition, &v))
        return v ? 1 : -1;
    return tp_expr_reads(s->p, condition) ? summary_decides(s, &nothing, condition) : 0;
}

bool at_most_one_point(summary *s, const premises *p, tp_expr condition, const uint32_t *sym, const tp_expr *extent,
                       uint32_t n)
{
    tp_expr *first = TP_NEWN(s->arena, tp_expr, n), *second = TP_NEWN(s->arena, tp_expr, n);
    for (uint32_t i = 0; i < n; i++) {
        first[i] = summary_index(s, "p", extent[i]);
        second[i] = summary_index(s, "q", extent[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t symbols = tp_sym_count(s->p);
        tp_expr *at_first = TP_NEWN(s->arena, tp_expr, symbols), *at_second = TP_NEWN(s->arena, tp_expr, symbols);
        for (uint32_t k = 0; k < n; k++) {
            at_first[sym[k]] = first[k];
            at_second[sym[k]] = k < i ? first[k] : second[k];
        }
        premises both = *p;
        for (uint32_t k = 0; k < p->n; k++) {
            both.at[k] = tp_expr_subst(s->p, p->at[k], at_first, symbols);
            both = premises_with(s, &both, tp_expr_subst(s->p, p->at[k], at_second, symbols));
        }
        both = premises_with(s, &both, tp_expr_subst(s->p, condition, at_first, symbols));
        both = premises_with(s, &both, tp_expr_subst(s->p, condition, at_second, symbols));
        if (!summary_proves(s, &both, tp_op2(s->p, TP_E_GE, first[i], second[i])))
            return false;
    }
    return true;
}

static tp_expr exchange(summary *s, tp_expr from, tp_expr to)
{
    record_exchange(s, from, to);
    return to;
}

/* The entry of a table at indices that are what they are under the guards: maps are clamped there, too. */
static tp_expr entry_under(summary *s, const premises *p, tp_expr e)
{
    const tp_expr_node n = *tp_expr_get(s->p, e);
    tp_expr index[] = {n.a, n.b, n.c};
    uint32_t rank = 0;
    for (; rank < 3 && index[rank].id; rank++)
        index[rank] = index_under(s, p, index[rank]);
    return tp_read(s->p, (uint32_t)n.value, rank, index);
}

/* Where the guards say which argument is smaller, min and max are one of them;
 * where they decide a condition, a choice is its arm; where they say that an
 * entry of a table is one of its own indices, it is that. */
tp_expr index_under(summary *s, const premises *p, tp_expr e)
{
    const tp_expr_node n = *tp_expr_get(s->p, e);
    if (!e.id || n.op == TP_E_CONST || n.op == TP_E_SYM)
        return e;
    if (n.op == TP_E_ITE) {
        int truth = summary_decides(s, p, condition_normal(s, n.a, false));
        return truth ? exchange(s, e, index_under(s, p, truth > 0 ? n.b : n.c)) : e;
    }
    if (n.op == TP_E_READ) {
        const tp_expr index[] = {n.a, n.b, n.c};
        for (int i = 0; i < 3 && index[i].id; i++) /* a counter rather than what is equal to it here */
            if (tp_expr_get(s->p, index[i])->op == TP_E_SYM &&
                summary_proves(s, p, tp_op2(s->p, TP_E_EQ, e, index[i]))) /* by a contract */
                return exchange(s, e, index[i]);
        return entry_under(s, p, e);
    }
    if (n.op == TP_E_NEG || n.op == TP_E_NOT)
        return tp_op1(s->p, n.op, index_under(s, p, n.a));
    if (n.op < TP_E_ADD)
        return e; /* powers of 2, and what is too large */
    tp_expr a = index_under(s, p, n.a), b = index_under(s, p, n.b);
    if (n.op == TP_E_MIN || n.op == TP_E_MAX) {
        bool min = n.op == TP_E_MIN;
        if (summary_follows(s, p, tp_op2(s->p, TP_E_LE, a, b)))
            return exchange(s, tp_op2(s->p, n.op, a, b), min ? a : b);
        if (summary_follows(s, p, tp_op2(s->p, TP_E_GE, a, b)))
            return exchange(s, tp_op2(s->p, n.op, a, b), min ? b : a);
    }
    return tp_op2(s->p, n.op, a, b);
}

tp_expr index_under_guards(summary *s, tp_expr e, void *ctx)
{
    return index_under(s, ctx, e);
}
