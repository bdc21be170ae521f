/* Integers that a loop carries, such as the slot of the next copy: what each of them is at the head of turn number
 * `counter`. The first turns are followed one by one, and what they leave suggests a form: the value at entry, plus so
 * much a turn, modulo a small number or not. The proof is an induction over all that are carried at once: the form is
 * the value at entry in turn 0, and a turn that begins with the forms ends with those of the next one. A form that is
 * not kept is dropped, and with it what needed it.
 */
#include "analyzer/flow/internal.h"

enum { TURNS = 4, MOST_MODULUS = 8, FORMS = 12, SAMPLES = 6 };

/* A variable that the loop carries. */
typedef struct carry {
    tp_vid v;
    tp_expr seen[TURNS + 1]; /* at the head of the first turns, as far as they are known */
    uint32_t nseen;
    tp_expr form[FORMS]; /* guesses; the first one from `at` on is the present one */
    uint32_t nforms, at;
} carry;
typedef TP_VEC(carry) carries;

typedef struct loop {
    flow *f;
    const tp_statement *s;
    tp_expr counter, count, first; /* count, first value of a `for`'s variable: no id, unknown */
    const flow_state *entry;
    carries all;
    bool failed; /* a turn cannot be followed */
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
    flow_walk_turn(f, l->s,
                   l->first.id
                       ? tp_op2(f->a->p, TP_E_ADD, l->first, tp_op2(f->a->p, TP_E_MUL, number(l, l->s->by), turn))
                       : (tp_expr){0});
    flow_state after = f->now;
    f->now = before.now;
    f->quiet = before.quiet;
    f->path = before.path;
    f->path_exact = before.path_exact;
    f->entered = before.entered;
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
    bool any = true;
    for (int64_t t = 0; t < TURNS && any && !l->failed; t++) {
        for (uint32_t i = 0; i < l->all.len; i++)
            head[i] = l->all.at[i].nseen > t ? l->all.at[i].seen[t] : (tp_expr){0};
        flow_state after = walk_one(l, number(l, t), head);
        any = false;
        for (uint32_t i = 0; i < l->all.len; i++) {
            carry *c = &l->all.at[i];
            tp_expr m = after.values[c->v].meaning;
            if (c->nseen == t + 1 && m.id && !tp_expr_too_large(m)) {
                c->seen[c->nseen++] = tp_expr_normal(l->f->a->p, m);
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

/* Does the form agree with what was seen, at a few values of all symbols? Where tables are read, that is not asked. */
static bool agrees(const loop *l, const carry *c, tp_expr form)
{
    tp_exprs *p = l->f->a->p;
    int64_t *env = TP_NEWN(l->f->a->arena, int64_t, tp_sym_count(p)), is, was;
    for (int64_t k = 0; k < c->nseen; k++) {
        tp_expr here = at_turn(l, form, number(l, k));
        for (int64_t s = 0; s < SAMPLES && !tp_same(here, c->seen[k]); s++) {
            take_sample(l, s, env);
            if (tp_expr_eval(p, here, env, &is) == TP_EVAL_OK && tp_expr_eval(p, c->seen[k], env, &was) == TP_EVAL_OK &&
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

static void guess(const loop *l, carry *c)
{
    tp_exprs *p = l->f->a->p;
    if (c->nseen < 2)
        return;
    tp_expr by = tp_expr_normal(p, tp_op2(p, TP_E_SUB, c->seen[1], c->seen[0]));
    suggest(l, c, c->seen[0]);
    suggest(l, c, tp_op2(p, TP_E_ADD, c->seen[0], tp_op2(p, TP_E_MUL, by, l->counter)));
    for (int64_t m = 2; m <= MOST_MODULUS; m++)
        for (int64_t s = 1; s < m; s++)
            suggest(l, c,
                    tp_op2(p, TP_E_MOD, tp_op2(p, TP_E_ADD, c->seen[0], tp_op2(p, TP_E_MUL, number(l, s), l->counter)),
                           number(l, m)));
}

/* ---- proving ---- */

static tp_expr form_of(const carry *c)
{
    return c->at < c->nforms ? c->form[c->at] : (tp_expr){0};
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

/* Drop what is not kept, until all is. */
static void prove(loop *l)
{
    tp_exprs *p = l->f->a->p;
    tp_expr *head = TP_NEWN(l->f->a->arena, tp_expr, l->all.len), next = tp_op2(p, TP_E_ADD, l->counter, number(l, 1));
    for (uint32_t i = 0; i < l->all.len; i++) {
        carry *c = &l->all.at[i];
        while (form_of(c).id && !equal(l, at_turn(l, form_of(c), number(l, 0)), c->seen[0]))
            c->at++;
    }
    for (bool kept = false; !kept && !l->failed;) {
        bool any = false;
        for (uint32_t i = 0; i < l->all.len; i++) {
            head[i] = form_of(&l->all.at[i]);
            any |= head[i].id != 0;
        }
        if (!any)
            return;
        flow_state after = walk_one(l, l->counter, head);
        kept = true;
        for (uint32_t i = 0; i < l->all.len; i++) {
            carry *c = &l->all.at[i];
            if (!head[i].id || equal(l, at_turn(l, head[i], next), after.values[c->v].meaning))
                continue;
            kept = false;
            do
                c->at++;
            while (form_of(c).id && !equal(l, at_turn(l, form_of(c), number(l, 0)), c->seen[0]));
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
        head[i] = form_of(&l->all.at[i]);
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
    if (!k || !k->known || form_of(c).id || l->f->unrolled > 1)
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
            head[i] = head[i].id ? head[i] : form_of(&l->all.at[i]);
        }
        if (!any)
            return;
        flow_state after = walk_one(l, l->counter, head);
        for (uint32_t i = 0; i < l->all.len; i++)
            if (kept_form(l, &l->all.at[i]).id)
                settled &= flow_keep_in_range(l->f, flow_kept_by(l->f, l->s, (uint32_t)l->all.at[i].v),
                                              after.values[l->all.at[i].v].meaning);
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
    if (known->loop != l->s || !tp_same(known->path, f->path))
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

const tp_expr *flow_carry(flow *f, const tp_statement *s, const flow_state *entry, const bool *slots, tp_expr counter,
                          tp_expr count, tp_expr first)
{
    loop l = {.f = f, .s = s, .counter = counter, .count = count, .first = first, .entry = entry};
    uint32_t n = flow_nvalues(f);
    for (uint32_t v = 0; v < n; v++)
        if (slots[v] && is_followed(f, v) && entry->values[v].meaning.id)
            tp_push(f->a->arena, l.all,
                    ((carry){.v = (tp_vid)v, .nseen = 1, .seen = {tp_expr_normal(f->a->p, entry->values[v].meaning)}}));
    for (uint32_t i = 0; l.all.len && i < f->carried.len; i++)
        if (same_entry(&l, &f->carried.at[i]))
            return f->carried.at[i].form;
    tp_expr *form = TP_NEWN(f->a->arena, tp_expr, n), *known = TP_NEWN(f->a->arena, tp_expr, n);
    if (!l.all.len)
        return form;
    for (uint32_t v = 0; v < n; v++)
        known[v] = entry->values[v].meaning;
    see_turns(&l);
    for (uint32_t i = 0; i < l.all.len; i++)
        guess(&l, &l.all.at[i]);
    prove(&l);
    if (guess_search(&l))
        prove(&l);
    find_ranges(&l);
    for (uint32_t i = 0; i < l.all.len && !l.failed; i++) {
        tp_expr kept = kept_form(&l, &l.all.at[i]);
        form[l.all.at[i].v] = kept.id ? kept : form_of(&l.all.at[i]);
    }
    tp_push(f->a->arena, f->carried, ((flow_carried){s, f->path, known, form}));
    return form;
}
