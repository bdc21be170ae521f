/* What a prover has decided, for the same question again: about half of a spec's obligations are asked more than once.
 * Expressions are hash-consed, so an obligation is the numbers of its expressions and variables. */
#include "smt/internal.h"

enum { MOST_BYTES = 16 << 20 };

tp_str tp_memo_key(tp_prover *v, const tp_obligation *o)
{
    tp_buf *b = &v->memo.key;
    b->arena = v->arena;
    b->n = 0;
    uint32_t sizes[2] = {o->nvars, o->npremises};
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
