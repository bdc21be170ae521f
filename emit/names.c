/* Which names live on behind a branch, a loop or a `with`: what the functions that stand for them hand in and out. */
#include "emit/internal.h"

static bool has(const emit_names *list, tp_str s)
{
    for (uint32_t i = 0; i < list->len; i++)
        if (tp_str_eq(list->at[i], s))
            return true;
    return false;
}

/* Names that these statements assign, nested ones included. */
static void collect(const tp_block *s, tp_arena *a, emit_names *list)
{
    for (uint32_t i = 0; i < s->len; i++) {
        const tp_syntax *x = s->at[i];
        if (x->kind == TP_S_PIPELINE) /* what its step assigns stays there */
            continue;
        if (x->kind == TP_S_ASSIGN && !has(list, x->target->text))
            tp_push(a, *list, x->target->text);
        for (uint32_t k = 0; x->kind == TP_S_UNPACK && k < x->target->nkids; k++)
            if (!has(list, x->target->kids[k]->text))
                tp_push(a, *list, x->target->kids[k]->text);
        collect(&x->body, a, list);
        collect(&x->orelse, a, list);
    }
}

/* Names that are there behind these statements and that these assign: a `with` is no block of its own. */
static void collect_lasting(const tp_block *s, tp_arena *a, emit_names *list)
{
    for (uint32_t i = 0; i < s->len; i++) {
        const tp_syntax *x = s->at[i];
        emit_names both = {0}, other = {0};
        const tp_block one = {.at = (tp_syntax **)&s->at[i], .len = 1};
        if (x->kind == TP_S_WITH) {
            collect_lasting(&x->body, a, list);
            continue;
        }
        if (!x->body.len)
            collect(&one, a, &both);
        if (x->kind == TP_S_IF) {
            collect_lasting(&x->body, a, &both);
            collect_lasting(&x->orelse, a, &other);
        }
        for (uint32_t n = 0; n < both.len; n++)
            if (!has(list, both.at[n]) && (x->kind != TP_S_IF || has(&other, both.at[n])))
                tp_push(a, *list, both.at[n]);
    }
}

/* Those of the names that exist already. */
emit_names emit_known_of(emitter *e, const emit_names *all)
{
    emit_names given = {0};
    for (uint32_t i = 0; i < all->len; i++)
        for (uint32_t k = 0; k < e->known.len; k++)
            if (tp_str_eq(e->known.at[k], all->at[i]) && !has(&given, all->at[i]))
                tp_push(e->k->arena, given, all->at[i]);
    return given;
}

/* What lives on after a branch or loop: names that it assigns and that exist
 * already, or that both arms of a branch define. */
emit_names emit_carry_names(emitter *e, const tp_syntax *s)
{
    emit_names all = {0}, then = {0}, other = {0}, out = {0}, lasting = {0};
    tp_arena *a = e->k->arena;
    if (s->kind == TP_S_WITH)
        collect_lasting(&s->body, a, &lasting);
    collect(&s->body, a, &then);
    collect(&s->orelse, a, &other);
    collect(&s->body, a, &all);
    collect(&s->orelse, a, &all);
    emit_names known = emit_known_of(e, &all);
    for (uint32_t i = 0; i < all.len; i++)
        if (has(&known, all.at[i]) || has(&lasting, all.at[i]) ||
            (s->kind == TP_S_IF && has(&then, all.at[i]) && has(&other, all.at[i])))
            tp_push(a, out, all.at[i]);
    return out;
}
