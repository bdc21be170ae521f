/* What the laws did is written down while they do it. */
#include "analyzer/equality/record.h"

struct record *record_of(summary *s)
{
    if (!s->record)
        s->record = TP_NEW(s->arena, struct record);
    return s->record;
}

record_mark record_here(summary *s)
{
    struct record *r = record_of(s);
    return (record_mark){r->questions.len, r->exchanges.len};
}

uint32_t record_side(summary *s, tp_claim *c, tp_decision d)
{
    struct record *r = record_of(s);
    tp_push(s->arena, r->sides, ((tp_side){tp_claim_obligation(s->a, c), d.proof}));
    tp_push(s->arena, r->questions, r->sides.len - 1);
    return r->sides.len - 1;
}

void record_side_again(summary *s, uint32_t number)
{
    tp_push(s->arena, record_of(s)->questions, number);
}

void record_exchange(summary *s, tp_expr from, tp_expr to)
{
    struct record *r = record_of(s);
    tp_push(s->arena, r->exchanges, ((tp_exchange){from, to}));
    tp_push(s->arena, r->because, r->questions.len ? r->questions.at[r->questions.len - 1] : 0);
}

void record_forget(summary *s, record_mark m)
{
    record_of(s)->exchanges.len = m.exchanges;
    record_of(s)->because.len = m.exchanges;
}

void record_open(summary *s, tp_law law)
{
    s->out->open |= (uint64_t)1 << law;
}

static kept_step *new_step(summary *s, tp_law law, record_mark m)
{
    struct record *r = record_of(s);
    kept_step *x = TP_NEW(s->arena, kept_step);
    uint32_t *sides = TP_NEWN(s->arena, uint32_t, r->questions.len - m.sides + 1);
    tp_exchange *exchanges = TP_NEWN(s->arena, tp_exchange, r->exchanges.len - m.exchanges + 1);
    *x = (kept_step){.law = law, .nsides = 0, .nexchanges = r->exchanges.len - m.exchanges};
    for (uint32_t i = m.sides; i < r->questions.len; i++) {
        bool again = false;
        for (uint32_t k = 0; k < x->nsides && !again; k++)
            again = sides[k] == r->questions.at[i];
        if (!again)
            sides[x->nsides++] = r->questions.at[i];
    }
    for (uint32_t i = 0; i < x->nexchanges; i++)
        exchanges[i] = r->exchanges.at[m.exchanges + i];
    x->sides = sides;
    x->exchanges = exchanges;
    tp_push(s->arena, r->steps, x);
    return x;
}

void record_fold(summary *s, tp_law law, const atom *before, const atom *after, uint32_t k, uint32_t t, record_mark m)
{
    kept_step *x = new_step(s, law, m);
    x->before = *before;
    x->after = *after;
    x->k = k;
    x->t = t;
}

void record_truth(summary *s, tp_expr condition, record_mark m)
{
    record_exchange(s, condition, tp_const(s->p, 1));
    new_step(s, TP_LAW_HOLDS, m);
    record_forget(s, m);
}

void record_nothing(summary *s, const product *around, const atom *f, record_mark m)
{
    kept_step *x = new_step(s, TP_LAW_NOTHING, m);
    x->before = *f;
    x->around.nguards = around->nguards;
    memcpy(x->around.guard, around->guard, sizeof around->guard);
}

void record_count(summary *s, const atom *f, tp_expr end, record_mark m)
{
    kept_step *x = new_step(s, TP_LAW_COUNT, m);
    x->before = *f;
    x->count = end;
}
