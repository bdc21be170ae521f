/* Integers that a loop carries, such as the slot of the next copy: what each of them is at the head of turn number
 * `counter`. The first turns are followed one by one, and what they leave suggests a form: the value at entry, plus so
 * much a turn, modulo a small number or not. The proof is an induction over all that are carried at once: the form is
 * the value at entry in turn 0, and a turn that begins with the forms ends with those of the next one. A form that is
 * not kept is dropped, and with it what needed it.
 */
#include "analyzer/flow/internal.h"

enum { TURNS = 4, MOST_MODULUS = 8, FORMS = 12, SAMPLES = 6, SAMPLES_BY_TEST = 60 /* few turns follow others */ };

/* A variable that the loop carries. */
typedef struct carry {
    tp_vid v;
    tp_expr seen[TURNS + 1]; /* at the head of the first turns, as far as they are known */
    uint32_t nseen;
    tp_expr form[FORMS];         /* guesses; the first one from `at` on is the present one */
    uint32_t nforms, at, nplain; /* nplain: those before the ones modulo a number */
    bool weak;                   /* it is kept where the test passes, alone */
} carry;
typedef TP_VEC(carry) carries;

typedef struct loop {
    flow *f;
    const tp_statement *s;
    tp_expr counter, count, first; /* count, first value of a `for`'s variable: no id, unknown */
    const flow_state *entry;
    carries all;
    bool failed;                /* a turn cannot be followed */
    bool plain;                 /* forms modulo a number are left for later */
    flow_turn turn;             /* of a `while`: when the turn that was walked is executed, and another one behind it */
    tp_expr follows[TURNS + 1]; /* ... by number, of the first turns: when it follows the one before; no id: always */
} loop;

static tp_expr at_turn(const loop *l, tp_expr e, tp_expr turn)
{
    tp_exprs *p = l->f->a->p;
    return tp_expr_normal(p, tp_expr_replace(p, e, (uint32_t)tp_expr_get(p, l->counter)->value, turn));
}

static tp_expr number(const loop *l, int64_t n)
{
    return tp_const(l->f->a->p, n);
}

/* Walks one turn, number `turn`, for integers alone; nothing else of the walk changes. */
static flow_state walk_one(loop *l, tp_expr turn, const tp_expr *head)
{
    flow *f = l->f;
    flow before = *f;
    bool *quiet = TP_NEWN(f->a->arena, bool, tp_noperands(f->k));
    memcpy(quiet, f->quiet, tp_noperands(f->k) * sizeof *quiet);
    f->quiet = quiet;
    f->noting = true;
    f->recording = false;
    f->now = flow_copy_state(f, l->entry);
    for (uint32_t i = 0; i < l->all.len; i++)
        f->now.values[l->all.at[i].v] = (flow_value){.meaning = head[i]};
    if (l->count.id)
        f->path = flow_and(f, f->path, flow_compare(f, TP_E_GT, l->count, turn));
    l->turn = flow_walk_turn(
        f, l->s,
        l->first.id ? tp_op2(f->a->p, TP_E_ADD, l->first, tp_op2(f->a->p, TP_E_MUL, number(l, l->s->by), turn))
                    : (tp_expr){0});
    flow_state after = f->now;
    f->now = before.now;
    f->quiet = before.quiet;
    f->path = before.path;
    f->certain = before.certain;
    f->entered = before.entered;
    f->behind = before.behind;
    f->syntax = before.syntax;
    f->noting = before.noting;
    f->recording = before.recording;
    f->work = before.work;
    l->failed |= f->out->gave_up.n != 0;
    f->out->gave_up = (tp_str){NULL, 0};
    return after;
}

/* ---- guessing ---- */

/* Not a number: what is read of a table, or of an input with "values", or what a loop searches. */
static bool is_table(const flow *f, uint32_t sym)
{
    bool any = false;
    for (uint32_t i = 0; i < f->k->ntables && !any; i++)
        any = f->k->tables[i].sym == sym;
    for (uint32_t i = 0; i < f->k->ninputs && !any; i++)
        any = f->k->operands[i].entries && f->k->operands[i].entries->sym == sym;
    for (uint32_t i = 0; i < f->a->least.len && !any; i++)
        any = f->a->least.at[i]->table.sym == sym;
    return any;
}

static void see_turns(loop *l)
{
    tp_expr *head = TP_NEWN(l->f->a->arena, tp_expr, l->all.len);
    bool any = true, chosen = false; /* cases of cases grow fast, and the first ones are told by one turn */
    for (int64_t t = 0; t < TURNS && any && !chosen && !l->failed; t++) {
        for (uint32_t i = 0; i < l->all.len; i++)
            head[i] = l->all.at[i].nseen > t ? l->all.at[i].seen[t] : (tp_expr){0};
        flow_state after = walk_one(l, number(l, t), head);
        l->follows[t + 1] = l->turn.again;
        any = false;
        for (uint32_t i = 0; i < l->all.len; i++) {
            carry *c = &l->all.at[i];
            tp_expr m = after.values[c->v].meaning;
            if (c->nseen == t + 1 && m.id && !tp_expr_too_large(m) && !flow_speaks_of_last(l->f, m)) {
                c->seen[c->nseen++] = tp_expr_normal(l->f->a->p, m);
                chosen |= l->turn.again.id && tp_expr_get(l->f->a->p, c->seen[t + 1])->op == TP_E_ITE;
                any = true;
            }
        }
    }
}

/* Values of all symbols, number `sample`; those of the walk's variables whose bounds are numbers lie in them. */
static void take_sample(const loop *l, int64_t sample, int64_t *env)
{
    const flow *f = l->f;
    int64_t lo, hi;
    for (uint32_t i = 0; i < tp_sym_count(f->a->p); i++)
        env[i] = is_table(f, i) ? 0 : 1 + (i * 7 + sample * 5) % 11;
    for (uint32_t i = 0; i < f->out->vars.len; i++) {
        const tp_var *v = &f->out->vars.at[i];
        if (tp_expr_is_const(f->a->p, v->lo, &lo) && tp_expr_is_const(f->a->p, v->hi, &hi) && lo <= hi)
            env[v->sym] = lo + env[v->sym] % (hi - lo + 1);
    }
}

static const tp_table *table_of(const flow *f, int64_t sym)
{
    for (uint32_t i = 0; i < f->k->ntables; i++)
        if ((int64_t)f->k->tables[i].sym == sym)
            return &f->k->tables[i];
    return NULL;
}

/* Something for an entry of a table, within its bounds: the same for the same text. */
static int64_t entry_in_sample(const flow *f, const tp_table *t, tp_expr read, int64_t sample)
{
    enum { MANY = 11 };
    int64_t lo = 0, hi = 0, v = (read.id * 7 + sample * 5 + sample / MANY * read.id) % MANY;
    bool bounded = t->min.id && t->max.id && tp_expr_is_const(f->a->p, t->min, &lo) &&
                   tp_expr_is_const(f->a->p, t->max, &hi) && lo <= hi && hi - lo < INT32_MAX;
    return bounded ? lo + v * (hi - lo) / (MANY - 1) : 1 + v;
}

/* e with a number for each entry that it reads; of what else is read nothing is made up. */
static tp_expr in_sample(const flow *f, tp_expr e, int64_t sample)
{
    tp_exprs *p = f->a->p;
    const tp_expr_node n = *tp_expr_get(p, e);
    const tp_table *t = n.op == TP_E_READ ? table_of(f, n.value) : NULL;
    if (!tp_expr_reads(p, e))
        return e;
    if (n.op == TP_E_READ)
        return t && !t->contents ? tp_const(p, entry_in_sample(f, t, e, sample)) : e;
    tp_expr a = in_sample(f, n.a, sample), b = n.b.id ? in_sample(f, n.b, sample) : n.b;
    return tp_expr_rebuild(p, &n, a, b, n.c.id ? in_sample(f, n.c, sample) : n.c);
}

/* Its value at these values of symbols. Tables count where a test ends the loop, which may look at them. */
static bool evaluate(const loop *l, tp_expr e, int64_t sample, const int64_t *env, int64_t *v)
{
    if (l->s->kind == TP_WHILE)
        e = in_sample(l->f, e, sample);
    return tp_expr_eval(l->f->a->p, e, env, v) == TP_EVAL_OK;
}

/* Is turn number k executed, for these values? */
static bool is_executed(const loop *l, int64_t k, int64_t sample, const int64_t *env)
{
    int64_t yes = 1;
    for (int64_t i = 1; i <= k && yes; i++)
        yes = !l->follows[i].id || (evaluate(l, l->follows[i], sample, env, &yes) && yes);
    return yes;
}

/* Does the form agree with what was seen, at a few values of all symbols? */
static bool agrees(const loop *l, const carry *c, tp_expr form)
{
    tp_exprs *p = l->f->a->p;
    int64_t *env = TP_NEWN(l->f->a->arena, int64_t, tp_sym_count(p)), is, was,
            most = l->follows[1].id ? SAMPLES_BY_TEST : SAMPLES;
    for (int64_t k = 0; k < c->nseen; k++) {
        tp_expr here = at_turn(l, form, number(l, k));
        for (int64_t s = 0; s < most && !tp_same(here, c->seen[k]); s++) {
            take_sample(l, s, env);
            for (uint32_t i = 0; i < l->f->k->ntables; i++)
                tp_bind_table(env, l->f->k->tables[i].sym, l->f->k->tables[i].contents);
            if (is_executed(l, k, s, env) && evaluate(l, here, s, env, &is) && evaluate(l, c->seen[k], s, env, &was) &&
                is != was)
                return false;
        }
    }
    return true;
}

static void suggest(const loop *l, carry *c, tp_expr form)
{
    if (c->nforms < FORMS && agrees(l, c, form))
        c->form[c->nforms++] = tp_expr_normal(l->f->a->p, form);
}

/* In a `while`, by as much as it changes in one of the cases of a turn: the others may be those after which it ends. */
static void suggest_cases(const loop *l, carry *c, tp_expr e)
{
    tp_exprs *p = l->f->a->p;
    const tp_expr_node n = *tp_expr_get(p, e);
    int64_t by;
    if (n.op == TP_E_ITE) {
        suggest_cases(l, c, n.b);
        suggest_cases(l, c, n.c);
    } else if (tp_expr_is_const(p, tp_expr_normal(p, tp_op2(p, TP_E_SUB, e, c->seen[0])), &by) && by) {
        suggest(l, c, tp_op2(p, TP_E_ADD, c->seen[0], tp_op2(p, TP_E_MUL, number(l, by), l->counter)));
    }
}

/* Is another thing in some case, or modulo a number, within it? */
static bool is_cased(const tp_exprs *p, tp_expr e)
{
    const tp_expr_node n = *tp_expr_get(p, e);
    if (n.op == TP_E_ITE || n.op == TP_E_MOD)
        return true;
    return (n.a.id && is_cased(p, n.a)) || (n.b.id && is_cased(p, n.b)) || (n.c.id && is_cased(p, n.c));
}

static void guess(const loop *l, carry *c)
{
    tp_exprs *p = l->f->a->p;
    if (c->nseen < 2)
        return;
    tp_expr by = tp_expr_normal(p, tp_op2(p, TP_E_SUB, c->seen[1], c->seen[0]));
    suggest(l, c, c->seen[0]);
    if (l->turn.again.id)
        suggest_cases(l, c, c->seen[1]);
    if (!l->turn.again.id || !is_cased(p, by))
        suggest(l, c, tp_op2(p, TP_E_ADD, c->seen[0], tp_op2(p, TP_E_MUL, by, l->counter)));
    c->nplain = c->nforms;
    for (int64_t m = 2; m <= MOST_MODULUS; m++)
        for (int64_t s = 1; s < m; s++)
            suggest(l, c,
                    tp_op2(p, TP_E_MOD, tp_op2(p, TP_E_ADD, c->seen[0], tp_op2(p, TP_E_MUL, number(l, s), l->counter)),
                           number(l, m)));
}

/* ---- proving ---- */

static tp_expr form_of(const loop *l, const carry *c)
{
    return c->at < (l->plain ? c->nplain : c->nforms) ? c->form[c->at] : (tp_expr){0};
}

static bool equal(const loop *l, tp_expr a, tp_expr b)
{
    tp_exprs *p = l->f->a->p;
    if (!a.id || !b.id)
        return false;
    a = tp_expr_normal(p, a);
    b = tp_expr_normal(p, b);
    return tp_same(a, b) || flow_holds(l->f, tp_op2(p, TP_E_EQ, a, b), 0, NULL);
}

/* Does a turn leave the form of the next one? Where the test of a `while` says that there is one, if not always. */
static bool is_kept(const loop *l, carry *c, tp_expr next, tp_expr left)
{
    flow *f = l->f;
    tp_expr outer = f->path;
    if (l->turn.goes.id)
        f->path = flow_and(f, outer, l->turn.goes);
    bool kept = equal(l, next, left);
    c->weak = false;
    if (!kept && c->at < c->nplain && l->turn.again.id) {
        f->path = flow_and(f, f->path, l->turn.again);
        kept = c->weak = flow_is_false(f, f->path) || equal(l, next, left);
    }
    f->path = outer;
    return kept;
}

/* Drop what is not kept, until all is. */
static void prove(loop *l)
{
    tp_exprs *p = l->f->a->p;
    tp_expr *head = TP_NEWN(l->f->a->arena, tp_expr, l->all.len), next = tp_op2(p, TP_E_ADD, l->counter, number(l, 1));
    for (uint32_t i = 0; i < l->all.len; i++) {
        carry *c = &l->all.at[i];
        while (form_of(l, c).id && !equal(l, at_turn(l, form_of(l, c), number(l, 0)), c->seen[0]))
            c->at++;
    }
    for (bool kept = false; !kept && !l->failed;) {
        bool any = false;
        for (uint32_t i = 0; i < l->all.len; i++) {
            head[i] = form_of(l, &l->all.at[i]);
            any |= head[i].id != 0;
        }
        if (!any)
            return;
        flow_state after = walk_one(l, l->counter, head);
        kept = true;
        for (uint32_t i = 0; i < l->all.len; i++) {
            carry *c = &l->all.at[i];
            if (!head[i].id || is_kept(l, c, at_turn(l, head[i], next), after.values[c->v].meaning))
                continue;
            kept = false;
            do
                c->at++;
            while (form_of(l, c).id && !equal(l, at_turn(l, form_of(l, c), number(l, 0)), c->seen[0]));
        }
    }
}

/* ---- searches ---- */

/* One that has no form yet may be what the loop searches. True: that is a new guess. */
static bool guess_search(loop *l)
{
    const flow_search *x = l->s->kind == TP_LOOP ? &l->f->search[l->s->var] : NULL;
    tp_expr *head = TP_NEWN(l->f->a->arena, tp_expr, l->all.len);
    bool any = false;
    for (uint32_t i = 0; i < l->all.len; i++)
        head[i] = form_of(l, &l->all.at[i]);
    for (uint32_t i = 0; i < l->all.len && x && x->found.id && !l->failed; i++) {
        carry *c = &l->all.at[i];
        if (head[i].id || c->nforms == FORMS)
            continue;
        head[i] = x->found;
        flow_state after = walk_one(l, l->counter, head);
        head[i] = (tp_expr){0};
        tp_expr form = flow_search_form(l->f, l->s, c->seen[0], after.values[c->v].meaning, l->counter);
        c->at = c->nforms;
        if (form.id)
            c->form[c->nforms++] = form;
        any |= form.id != 0;
    }
    return any;
}

/* ---- no function of the turn ---- */

/* What the symbol of a kept integer says of it at the head of a turn; no id: nothing. */
static tp_expr kept_form(const loop *l, const carry *c)
{
    tp_exprs *p = l->f->a->p;
    const tp_kept *k = flow_kept_by(l->f, l->s, (uint32_t)c->v);
    if (!k || !k->known || form_of(l, c).id || l->f->unrolled > 1)
        return (tp_expr){0};
    return tp_ite(p, tp_op2(p, TP_E_EQ, l->counter, number(l, 0)), c->seen[0], k->head);
}

/* The ranges of those that have no form: what a turn leaves is in them. */
static void find_ranges(loop *l)
{
    tp_expr *head = TP_NEWN(l->f->a->arena, tp_expr, l->all.len);
    for (bool settled = false; !settled && !l->failed;) {
        bool any = false;
        settled = true;
        for (uint32_t i = 0; i < l->all.len; i++) {
            head[i] = kept_form(l, &l->all.at[i]);
            any |= head[i].id != 0;
            head[i] = head[i].id ? head[i] : form_of(l, &l->all.at[i]);
        }
        if (!any)
            return;
        flow_state after = walk_one(l, l->counter, head);
        tp_expr outer = l->f->path;
        if (l->turn.goes.id)
            l->f->path = flow_and(l->f, outer, l->turn.goes);
        for (uint32_t i = 0; i < l->all.len; i++)
            if (kept_form(l, &l->all.at[i]).id)
                settled &= flow_keep_in_range(l->f, flow_kept_by(l->f, l->s, (uint32_t)l->all.at[i].v),
                                              after.values[l->all.at[i].v].meaning);
        l->f->path = outer;
        if (!settled) /* loops in this one rest on it */
            l->f->carried.len = 0;
        for (uint32_t i = 0; i < l->all.len && !settled; i++)
            flow_set_range(l->f, flow_kept_by(l->f, l->s, (uint32_t)l->all.at[i].v));
    }
}

/* ---- once for each way into a loop ---- */

static bool same_entry(const loop *l, const flow_carried *known)
{
    const flow *f = l->f;
    if (known->loop != l->s || !tp_same(known->path, f->path) || !tp_same(known->behind, f->behind))
        return false;
    for (uint32_t v = 0; v < flow_nvalues(f); v++)
        if (!tp_same(known->entry[v], l->entry->values[v].meaning))
            return false;
    return true;
}

/* An integer that decides something, or what SMEM keeps. */
static bool is_followed(const flow *f, uint32_t v)
{
    return v >= f->p->values.len || (f->feeds[v] && !f->p->values.at[v].rank);
}

/* Does a test that was taken for exact hold in each turn that is executed? It was, where it let the first turn begin,
 * and where it let another one follow. */
static bool test_holds(loop *l, tp_expr enters)
{
    flow *f = l->f;
    tp_exprs *p = f->a->p;
    tp_expr *head = TP_NEWN(f->a->arena, tp_expr, l->all.len), *with = flow_identity(f), outer = f->path;
    for (uint32_t i = 0; i < l->all.len; i++) {
        tp_expr kept = kept_form(l, &l->all.at[i]);
        head[i] = kept.id ? kept : form_of(l, &l->all.at[i]);
    }
    flow_state after = walk_one(l, l->counter, head);
    tp_expr goes = l->turn.goes, again = l->turn.again;
    if (l->failed || !goes.id || !enters.id || !again.id)
        return false;
    with[tp_expr_get(p, l->counter)->value] = tp_op2(p, TP_E_ADD, l->counter, number(l, 1));
    for (uint32_t i = 0; i < l->all.len; i++) {
        const tp_kept *k = kept_form(l, &l->all.at[i]).id ? flow_kept_by(f, l->s, (uint32_t)l->all.at[i].v) : NULL;
        uint32_t sym = k ? (uint32_t)tp_expr_get(p, k->head)->value : 0;
        if (k && tp_expr_mentions(p, goes, sym)) {
            with[sym] = after.values[k->value].meaning;
            if (!with[sym].id)
                return false;
        }
    }
    bool first = flow_holds(f, tp_op2(p, TP_E_IMPLIES, enters, at_turn(l, goes, number(l, 0))), 0, NULL);
    f->path = flow_and(f, outer, goes);
    tp_expr next = tp_expr_normal(p, tp_expr_subst(p, goes, with, tp_sym_count(p)));
    bool later = first && flow_holds(f, tp_op2(p, TP_E_IMPLIES, again, next), 0, NULL);
    f->path = outer;
    return later;
}

/* Forms of all that are carried. */
static void find_forms(loop *l)
{
    for (uint32_t i = 0; i < l->all.len; i++) {
        carry *c = &l->all.at[i];
        c->nseen = 1;
        c->nforms = c->at = c->nplain = 0;
    }
    see_turns(l);
    for (uint32_t i = 0; i < l->all.len; i++)
        guess(l, &l->all.at[i]);
    l->plain = l->follows[1].id; /* what a test ends has mostly such forms, and each that is wrong costs */
    prove(l);
    for (uint32_t i = 0; i < l->all.len && l->plain; i++)
        l->all.at[i].at = form_of(l, &l->all.at[i]).id ? l->all.at[i].at : 0;
    if (l->plain) {
        l->plain = false;
        prove(l);
    }
    if (guess_search(l))
        prove(l);
    find_ranges(l);
}

const tp_expr *flow_carry(flow *f, const tp_statement *s, const flow_state *entry, const bool *slots, tp_expr counter,
                          tp_expr count, tp_expr first, tp_expr enters, bool *weak)
{
    loop l = {.f = f, .s = s, .counter = counter, .count = count, .first = first, .entry = entry};
    uint32_t n = flow_nvalues(f);
    for (uint32_t v = 0; v < n; v++)
        if (slots[v] && is_followed(f, v) && entry->values[v].meaning.id)
            tp_push(f->a->arena, l.all,
                    ((carry){.v = (tp_vid)v, .nseen = 1, .seen = {tp_expr_normal(f->a->p, entry->values[v].meaning)}}));
    for (uint32_t i = 0; l.all.len && i < f->carried.len; i++)
        if (same_entry(&l, &f->carried.at[i])) {
            *weak = f->carried.at[i].weak;
            if (s->kind == TP_WHILE)
                f->fits[s->value] = f->carried.at[i].fits;
            return f->carried.at[i].form;
        }
    tp_expr *form = TP_NEWN(f->a->arena, tp_expr, n), *known = TP_NEWN(f->a->arena, tp_expr, n);
    if (s->kind == TP_WHILE)
        f->fits[s->value] = false;
    if (!l.all.len)
        return form;
    for (uint32_t v = 0; v < n; v++)
        known[v] = entry->values[v].meaning;
    bool tested = s->kind == TP_WHILE;
    if (tested)
        f->fits[s->value] = true;
    find_forms(&l);
    if (tested && !test_holds(&l, enters)) {
        f->fits[s->value] = false;
        if (l.turn.goes.id) /* it was made use of, perhaps */
            find_forms(&l);
    }
    for (uint32_t i = 0; i < l.all.len && !l.failed; i++) {
        tp_expr kept = kept_form(&l, &l.all.at[i]);
        form[l.all.at[i].v] = kept.id ? kept : form_of(&l, &l.all.at[i]);
        *weak |= !kept.id && l.all.at[i].weak;
    }
    tp_push(f->a->arena, f->carried,
            ((flow_carried){s, f->path, f->behind, *weak, tested && f->fits[s->value], known, form}));
    return form;
}

void flow_retire_carried(flow *f, tp_expr counter)
{
    for (uint32_t i = f->nkept; i < f->out->kept.len; i++) {
        uint32_t sym = (uint32_t)tp_expr_get(f->a->p, f->out->kept.at[i].head)->value;
        if (!tp_same(f->out->kept.at[i].turn, counter))
            continue;
        for (uint32_t o = 0; o < tp_noperands(f->k); o++)
            f->now.refs[o] = flow_retire(f, &f->now.refs[o], sym, 1);
        for (uint32_t v = 0; v < flow_nvalues(f); v++)
            f->now.values[v].leaks = flow_retire(f, &f->now.values[v].leaks, sym, 1);
        flow_forget_zeros(f, sym);
    }
}

void flow_forget_carried(flow *f, tp_expr counter)
{
    flow_retire_carried(f, counter);
    for (uint32_t i = f->nkept; i < f->out->kept.len; i++)
        for (uint32_t v = 0; v < flow_nvalues(f) && tp_same(f->out->kept.at[i].turn, counter); v++) {
            tp_expr *is = &f->now.values[v].meaning;
            uint32_t sym = (uint32_t)tp_expr_get(f->a->p, f->out->kept.at[i].head)->value;
            if (is->id && tp_expr_mentions(f->a->p, *is, sym))
                *is = (tp_expr){0};
        }
}
