#define _GNU_SOURCE /* memmem */
#include <string.h>

#include "reference/internal.h"

#include "builtins.inc" /* REGISTRY, of reference/impl */

const tp_builtin *const *tp_builtins(size_t *n)
{
    *n = REGISTRY_SIZE;
    return REGISTRY;
}

const tp_builtin *tp_builtin_find(tp_str name)
{
    for (size_t i = 0; i < REGISTRY_SIZE; i++)
        if (tp_str_is(name, REGISTRY[i]->name))
            return REGISTRY[i];
    return NULL;
}

typedef struct lowering {
    tp_ctx ctx;
    const tp_kernel *k;
    const tp_json *lines;
    tp_program *p;
} lowering;

static void lower(void *arg)
{
    lowering *l = arg;
    l->p = tp_lower_reference(&l->ctx, l->k, l->lines);
}

/* Does `usage`, names with ", " between them, have this one? */
static bool has_argument(const char *usage, tp_str name)
{
    for (const char *at = usage; (at = memmem(at, strlen(at), name.p, name.n)) != NULL; at++)
        if ((at == usage || at[-1] == ' ') && (at[name.n] == ',' || at[name.n] == '\0'))
            return name.n > 0;
    return false;
}

static void check_arguments(evaluator *e, const tp_builtin *b, const tp_json *args)
{
    for (uint32_t i = 0; args && args->type == TP_J_OBJECT && i < args->u.items.n; i++) {
        tp_str name = args->u.items.at[i]->key;
        if (!has_argument(b->usage, name))
            tp_give_up(e, tp_printf(e->arena, "builtin \"%s\" has no argument \"%.*s\"; it has %s", b->name,
                                    TP_FMT(name), b->usage));
    }
}

/* The kernel, with arrays that are cut among devices as they are before. */
static const tp_kernel *with_whole_arrays(evaluator *e)
{
    uint32_t n = tp_noperands(e->k);
    tp_kernel *k = TP_NEW(e->arena, tp_kernel);
    *k = *e->k;
    k->operands = TP_NEWN(e->arena, tp_operand, n);
    memcpy(k->operands, e->k->operands, n * sizeof *k->operands);
    for (uint32_t i = 0; i < n; i++)
        if (k->operands[i].global_shape) {
            k->operands[i].rank = k->operands[i].global_rank;
            k->operands[i].shape = k->operands[i].global_shape;
        }
    return k;
}

const tp_program *tp_builtin_program(evaluator *e)
{
    const tp_builtin *b = tp_builtin_find(e->k->reference.name);
    tp_builtin_call c = {
        .arena = e->arena, .kernel = with_whole_arrays(e), .args = tp_json_get(e->k->reference.builtin, "args")};
    tp_json list = {.type = TP_J_ARRAY};
    if (!b)
        tp_give_up(e, tp_printf(e->arena, "there is no builtin reference \"%.*s\"", TP_FMT(e->k->reference.name)));
    if (e->k->noutputs != 1)
        tp_give_up(e, TP_S("a builtin reference has one output"));
    check_arguments(e, b, c.args);
    const char *wrong = b->write(&c);
    if (wrong)
        tp_give_up(e, tp_printf(e->arena, "builtin \"%s\": %s", b->name, wrong));
    list.u.items.n = c.lines.len;
    list.u.items.at = TP_NEWN(e->arena, tp_json *, c.lines.len);
    for (uint32_t i = 0; i < c.lines.len; i++) {
        list.u.items.at[i] = TP_NEW(e->arena, tp_json);
        list.u.items.at[i]->type = TP_J_STRING;
        list.u.items.at[i]->u.string = c.lines.at[i];
    }
    lowering *l = TP_NEW(e->arena, lowering);
    *l = (lowering){.ctx = {.arena = e->arena, .source = e->k->source}, .k = e->k, .lines = &list};
    tp_status st = tp_try(e->arena, lower, l);
    if (st == TP_E_INPUT)
        tp_give_up(e, tp_printf(e->arena, "builtin \"%s\" does not fit these operands: %.*s", b->name,
                                TP_FMT(l->ctx.findings.at[0].message)));
    if (st != TP_OK)
        tp_leave(e->arena, st);
    return l->p;
}
