/* What a prover has decided, for the same question again: about half of a spec's obligations are asked more than once.
 * Expressions are hash-consed, so an obligation is the numbers of its expressions and variables. */
#include "base/assert.h"
#include "smt/internal.h"

enum { MOST_BYTES = 16 << 20, MOST_RECALLED = 8 << 20 };

tp_str tp_memo_key(tp_prover *v, const tp_obligation *o)
{
    tp_buf *b = &v->memo.key;
    b->arena = v->arena;
    b->n = 0;
    uint32_t sizes[3] = {o->nvars, o->npremises, o->any_case};
    tp_buf_add(b, (const char *)sizes, sizeof sizes);
    for (uint32_t i = 0; i < o->nvars; i++) {
        const tp_var *x = &o->vars[i];
        uint32_t ids[6] = {x->sym, x->lo.id, x->hi.id, x->quotient.id, x->nchoices, x->step};
        tp_buf_add(b, (const char *)ids, sizeof ids);
        tp_buf_add(b, (const char *)&x->multiple_of, sizeof x->multiple_of);
        if (x->nchoices)
            tp_buf_add(b, (const char *)x->choices, x->nchoices * sizeof *x->choices);
    }
    for (uint32_t i = 0; i < o->npremises; i++)
        tp_buf_add(b, (const char *)&o->premises[i].id, sizeof o->premises[i].id);
    tp_buf_add(b, (const char *)&o->goal.id, sizeof o->goal.id);
    return tp_buf_view(b);
}

bool tp_memo_find(tp_prover *v, tp_str key, tp_decision *d)
{
    uint32_t number = tp_map_get(&v->memo.numbers, key);
    tp_assert(number <= v->memo.decisions.len && v->memo.nsyms.len == v->memo.decisions.len);
    if (!number)
        return false;
    *d = v->memo.decisions.at[number - 1];
    if (d->env) { /* callers write to theirs; symbols may have come since */
        int64_t *env = TP_NEWN(v->arena, int64_t, tp_sym_count(v->p));
        memcpy(env, d->env, v->memo.nsyms.at[number - 1] * sizeof *env);
        d->env = env;
    }
    return true;
}

void tp_memo_add(tp_prover *v, tp_str key, const tp_decision *d)
{
    tp_memo *m = &v->memo;
    tp_decision copy = *d;
    uint32_t nsyms = d->env ? tp_sym_count(v->p) : 0;
    size_t bytes = key.n + nsyms * sizeof *d->env + sizeof *d;
    if (m->bytes + bytes > MOST_BYTES)
        return;
    m->bytes += bytes;
    if (d->env) {
        copy.env = TP_NEWN(v->arena, int64_t, nsyms);
        memcpy(copy.env, d->env, nsyms * sizeof *copy.env);
    }
    char *kept = TP_NEWN(v->arena, char, key.n);
    memcpy(kept, key.p, key.n);
    tp_push(v->arena, m->decisions, copy);
    tp_push(v->arena, m->nsyms, nsyms);
    tp_map_set(v->arena, &m->numbers, (tp_str){kept, key.n}, m->decisions.len);
}

/* ---- for several provers ---- */

typedef struct recalled {
    tp_verdict verdict;
    tp_grade grade;
    int64_t *values; /* VIOLATED: by variable */
    tp_str reason;
} recalled;

struct tp_recall {
    tp_arena *arena;
    tp_map numbers; /* of decisions, from 1 */
    TP_VEC(recalled) decisions;
    size_t bytes;
};

tp_recall *tp_recall_new(tp_arena *a)
{
    tp_recall *r = TP_NEW(a, tp_recall);
    r->arena = a;
    return r;
}

void tp_recall_key(const tp_prover *v, const tp_obligation *o, tp_buf *text)
{
    tp_buf_add(text, v->o.few_points ? "f" : "-", 1);
    for (uint32_t i = 0; i < o->nvars; i++)
        tp_buf_add(text, &"-sqb"[o->vars[i].step + 2 * (o->vars[i].quotient.id != 0)], 1);
}

bool tp_recall_find(tp_prover *v, const tp_obligation *o, tp_str key, tp_decision *d)
{
    const tp_recall *r = v->o.recall;
    uint32_t number = r ? tp_map_get(&r->numbers, key) : 0;
    if (!number)
        return false;
    const recalled *x = &r->decisions.at[number - 1];
    *d = (tp_decision){.verdict = x->verdict, .grade = x->grade, .reason = x->reason, .recalled = true};
    if (x->values) {
        d->env = TP_NEWN(v->arena, int64_t, tp_sym_count(v->p));
        for (uint32_t i = 0; i < o->nvars; i++)
            d->env[o->vars[i].sym] = x->values[i];
    }
    return true;
}

typedef struct addition {
    const tp_prover *v;
    const tp_obligation *o;
    tp_str key;
    const tp_decision *d;
} addition;

static void add_recalled(void *arg)
{
    const addition *add = arg;
    const tp_prover *v = add->v;
    const tp_obligation *o = add->o;
    const tp_decision *d = add->d;
    tp_recall *r = v->o.recall;
    recalled x = {.verdict = d->verdict, .grade = d->grade};
    if (d->reason.n)
        x.reason = tp_printf(r->arena, "%.*s", TP_FMT(d->reason));
    if (d->env)
        x.values = TP_NEWN(r->arena, int64_t, o->nvars + 1);
    for (uint32_t i = 0; d->env && i < o->nvars; i++)
        x.values[i] = d->env[o->vars[i].sym];
    char *kept = tp_alloc_unset(r->arena, add->key.n);
    memcpy(kept, add->key.p, add->key.n);
    r->bytes += add->key.n + sizeof x + o->nvars * sizeof *x.values;
    tp_push(r->arena, r->decisions, x);
    tp_map_set(r->arena, &r->numbers, (tp_str){kept, add->key.n}, r->decisions.len);
}

/* What a solver left open depends on what was left to it. What there is no room for is not remembered: the arena may be
 * another job's, and nothing leaves to there. */
void tp_recall_add(tp_prover *v, const tp_obligation *o, tp_str key, const tp_decision *d)
{
    tp_recall *r = v->o.recall;
    bool open = d->verdict == TP_UNKNOWN && !v->o.only_proof && !v->o.no_solver;
    if (r && !open && r->bytes + key.n <= MOST_RECALLED)
        tp_try(r->arena, add_recalled, &(addition){v, o, key, d});
}
