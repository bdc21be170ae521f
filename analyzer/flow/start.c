/* Statements in front of the body that give memory a value: where, and which one. */
#include "analyzer/flow/internal.h"

/* ---- which value ---- */

tp_str flow_neutral(tp_analysis *a, tp_prim by, tp_dtype dtype)
{
    while (by != TP_PRIMS && (tp_prim_info(by)->class == TP_CLASS_FOLD || tp_prim_info(by)->class == TP_CLASS_RUNNING))
        by = tp_prim_of(by);
    bool least = by == TP_P_MAXIMUM;
    if (least || by == TP_P_MINIMUM) {
        if (!tp_is_float(dtype))
            return tp_message(a, "%lld", (long long)(least ? tp_dtype_min(dtype) : tp_dtype_max(dtype)));
        if (tp_dtype_info(dtype)->specials == TP_SPECIALS_IEEE)
            return least ? TP_S("-inf") : TP_S("inf");
        return tp_message(a, "%s%.9g", least ? "-" : "", tp_dtype_largest(dtype));
    }
    if (by == TP_P_AND || by == TP_P_OR)
        return dtype == TP_BOOL ? by == TP_P_AND ? TP_S("True") : TP_S("False")
                                : tp_message(a, "%lld",
                                             by == TP_P_OR             ? 0
                                             : tp_dtype_min(dtype) < 0 ? -1
                                                                       : (long long)tp_dtype_max(dtype));
    return by == TP_P_MUL ? TP_S("1") : TP_S("0");
}

/* What the body does with one operand. */
typedef struct accumulator {
    tp_analysis *a;
    uint32_t operand;
    const tp_inst **made; /* by value: what computes it; NULL: a variable */
    tp_str value;         /* a constant that the body gives all of it; empty: none so far */
    tp_prim into, any;    /* by which it is updated, and which comes to it; TP_PRIMS: none so far */
} accumulator;

static const tp_inst *behind_shapes(const accumulator *x, tp_vid v)
{
    const tp_inst *i = x->made[v];
    while (i && (i->prim == TP_P_CAST || i->prim == TP_P_BROADCAST || i->prim == TP_P_RESHAPE))
        i = x->made[i->args[0]];
    return i;
}

/* Does one of its arguments show the operand? */
static bool takes(const accumulator *x, const tp_inst *i)
{
    bool any = false;
    for (uint32_t n = 0; n < i->nargs && !any; n++) {
        const tp_inst *arg = behind_shapes(x, i->args[n]);
        any = arg && arg->prim == TP_P_LOAD && arg->access->operand == x->operand;
    }
    return any;
}

static bool is_constant(const accumulator *x, tp_vid v)
{
    const tp_value *value = &x->a->k->body->values.at[v];
    const tp_inst *i = x->made[v];
    int64_t integer;
    if (!i)
        return value->known || (value->meaning.id && tp_expr_is_const(x->a->p, value->meaning, &integer));
    bool all = i->prim == TP_P_LITERAL || (i->nargs && (tp_prim_is_elementwise(i->prim) || i->prim == TP_P_BROADCAST ||
                                                        i->prim == TP_P_CAST || i->prim == TP_P_RESHAPE));
    for (uint32_t n = 0; n < i->nargs && all; n++)
        all = is_constant(x, i->args[n]);
    return all;
}

/* The value that a statement of the block assigns to a local; NULL: none does, or several do. */
static const tp_node *assigned(const tp_block *b, tp_str name, uint32_t *times)
{
    const tp_node *found = NULL;
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        if (s->kind == TP_S_ASSIGN && tp_str_eq(s->target->text, name)) {
            found = s->value;
            ++*times;
        }
        const tp_node *within = assigned(&s->body, name, times), *other = assigned(&s->orelse, name, times);
        found = within ? within : other ? other : found;
    }
    return *times == 1 ? found : NULL;
}

static bool names_a_local(const tp_program *p, const tp_node *n)
{
    bool any = false;
    for (uint32_t i = 0; i < p->names.len && n->kind == TP_N_NAME && !any; i++)
        any = tp_str_eq(p->names.at[i].name, n->text);
    for (uint32_t i = 0; i < n->nkids && !any; i++)
        any = n->kids[i] && names_a_local(p, n->kids[i]);
    return any;
}

static bool is_whole(const tp_node *target)
{
    return target && target->kind == TP_N_INDEX && target->nkids == 2 && target->kids[1]->kind == TP_N_ELLIPSIS;
}

/* The text of a stored constant, as it may stand in front of the body. */
static tp_str stored_text(const accumulator *x, const tp_statement *s)
{
    const tp_program *p = x->a->k->body;
    const tp_node *n =
        s->syntax && s->syntax->kind == TP_S_STORE && !s->syntax->augmented && is_whole(s->syntax->target)
            ? s->syntax->value
            : NULL;
    tp_buf b = {.arena = x->a->arena};
    uint32_t times = 0;
    if (n && n->kind == TP_N_NAME && names_a_local(p, n))
        n = assigned(&p->syntax, n->text, &times);
    if (!n || names_a_local(p, n))
        return (tp_str){NULL, 0};
    tp_print_node(&b, n);
    return tp_buf_view(&b);
}

static bool look(const tp_statement *s, void *ctx)
{
    accumulator *x = ctx;
    if (tp_computed(s)) {
        x->made[s->inst->out] = s->inst;
        if ((s->inst->prim == TP_P_MAXIMUM || s->inst->prim == TP_P_MINIMUM) && takes(x, s->inst))
            x->any = s->inst->prim;
    }
    if (s->kind != TP_PUT || s->access->operand != x->operand)
        return false;
    if (!x->value.n && is_constant(x, s->value))
        x->value = stored_text(x, s);
    const tp_inst *i = behind_shapes(x, s->value);
    if (i && x->into != TP_P_ADD && takes(x, i))
        x->into = i->prim == TP_P_SUB ? TP_P_ADD : i->prim;
    return false;
}

/* The body's own, wherever it gives it; else the identity of what it does with the operand. */
static tp_str start_value(tp_analysis *a, uint32_t operand)
{
    const tp_program *p = a->k->body;
    accumulator x = {.a = a, .operand = operand, .into = TP_PRIMS, .any = TP_PRIMS};
    x.made = TP_NEWN(a->arena, const tp_inst *, p->values.len);
    tp_region_any(&p->statements, look, &x);
    if (x.value.n)
        return x.value;
    return flow_neutral(a, x.into == TP_P_ADD || x.any == TP_PRIMS ? x.into : x.any, a->k->operands[operand].dtype);
}

/* ---- where ---- */

/* Where a table says which block a step writes: the condition under which a step is the first one on its block. */
static tp_str new_block(tp_analysis *a, const tp_operand *o)
{
    for (uint32_t d = 0; o->role == TP_OUTPUT && d < o->rank; d++) {
        const tp_expr_node map = *tp_expr_get(a->p, o->dims[d].index);
        for (uint32_t x = 0; x < a->k->naxes && map.op == TP_E_READ; x++) {
            tp_expr step = tp_sym(a->p, a->k->axes[x].sym);
            if (a->k->axes[x].parallel || !tp_same(map.a, step) || map.b.id)
                continue;
            tp_expr before = mk(a, TP_E_MAX, mk(a, TP_E_SUB, step, num(a, 1)), num(a, 0)), index = o->dims[d].index,
                    last = tp_expr_replace(a->p, index, a->k->axes[x].sym, before);
            return tp_message(a, "%.*s == 0 or %.*s != %.*s", TP_FMT(a->k->axes[x].name), TP_FMT(tp_text(a, index)),
                              TP_FMT(tp_text(a, last)));
        }
    }
    return (tp_str){0};
}

/* The first of the fastest axes along which no output changes its block, and all behind it; naxes: there is none. */
static uint32_t reduction_axes(tp_analysis *a)
{
    uint32_t first = 0;
    for (uint32_t i = a->k->ninputs; i < a->k->ninputs + a->k->noutputs; i++) {
        bool mentioned[TP_MAX_AXES];
        tp_map_tells_axes(a, &a->k->operands[i], mentioned);
        for (uint32_t x = first; x < a->k->naxes; x++)
            first = mentioned[x] ? x + 1 : first;
    }
    return first;
}

/* "j == 0 and k == 0": the first step along these axes and all behind them, or the last; empty: cores share the steps
 * of one of them. */
static tp_str end_step(tp_analysis *a, uint32_t first, bool last)
{
    tp_buf axes = {.arena = a->arena};
    for (uint32_t x = first; x < a->k->naxes; x++) {
        tp_str name = a->k->axes[x].name;
        if (a->k->axes[x].parallel)
            continue;
        tp_buf_printf(&axes, "%s%.*s == ", axes.n ? " and " : "", TP_FMT(name));
        if (last)
            tp_buf_printf(&axes, "num_programs(%.*s) - 1", TP_FMT(name));
        else
            tp_buf_c(&axes, "0");
    }
    return first < a->k->naxes && !a->k->axes[first].parallel ? tp_buf_view(&axes) : (tp_str){NULL, 0};
}

static tp_str first_step(tp_analysis *a, uint32_t first)
{
    return end_step(a, first, false);
}

/* What is known of the branches in which a body stores into an operand. */
typedef struct guarded {
    tp_str operand;
    const tp_syntax *branch; /* the only one, by its condition; */
    uint32_t branches;       /* how many: without one, several, or none */
} guarded;

static void find_guard(guarded *g, const tp_block *b, const tp_syntax *branch)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        const tp_node *to = s->kind == TP_S_STORE && s->target->kind == TP_N_INDEX ? s->target->kids[0] : NULL;
        if (to && tp_str_eq(to->text, g->operand) && (!branch || branch != g->branch)) {
            g->branch = branch;
            g->branches += branch ? 1 : 2;
        }
        find_guard(g, &s->body, s->kind == TP_S_IF ? s : branch);
        find_guard(g, &s->orelse, s->kind == TP_S_IF ? NULL : branch);
    }
}

void flow_advise_store(tp_analysis *a, tp_finding *f, uint32_t operand)
{
    guarded g = {.operand = a->k->operands[operand].name};
    f->help = TP_S("write every element of the block before it is copied out, on all paths");
    find_guard(&g, &a->k->body->syntax, NULL);
    if (g.branches != 1)
        return;
    tp_loc at = tp_body_loc(a, g.branch->value, g.branch);
    tp_str when = tp_source_text(a, at), last = end_step(a, reduction_axes(a), true);
    f->help = tp_message(a, "it is written only where `%.*s`: write it on all paths", TP_FMT(when));
    if (!last.n)
        return;
    tp_edit edit = {at.start, at.end, last};
    f->help = tp_message(a, "it is written only where `%.*s`: write it in the last step on each block, where `%.*s`",
                         TP_FMT(when), TP_FMT(last));
    tp_propose(a, f, tp_message(a, "write it where `%.*s`, not where `%.*s`", TP_FMT(last), TP_FMT(when)), &edit, 1);
}

tp_str flow_first_on_block(tp_analysis *a, uint32_t operand)
{
    tp_str when = new_block(a, &a->k->operands[operand]);
    return when.n ? when : first_step(a, reduction_axes(a));
}

/* ---- the statements ---- */

typedef struct start {
    tp_str name, value;
    uint32_t at;   /* of the text: where the body begins */
    tp_str margin; /* between its lines */
} start;

static void propose(tp_analysis *a, tp_finding *f, const start *s, tp_str when)
{
    if (!when.n)
        return;
    tp_edit edit = {s->at, s->at,
                    tp_message(a, "\"if %.*s:\",%.*s\"    %.*s[...] = %.*s\",%.*s", TP_FMT(when), TP_FMT(s->margin),
                               TP_FMT(s->name), TP_FMT(s->value), TP_FMT(s->margin))};
    tp_propose(a, f,
               tp_message(a, "start with `if %.*s: %.*s[...] = %.*s`", TP_FMT(when), TP_FMT(s->name), TP_FMT(s->value)),
               &edit, 1);
}

void flow_propose_start(tp_analysis *a, tp_finding *f, uint32_t operand)
{
    const tp_json *body = tp_json_get(a->k->doc, "kernel");
    tp_str text = a->k->source->text;
    if (!body || body->type != TP_J_ARRAY || !body->u.items.n)
        return;
    uint32_t from = body->loc.start + 1, own = reduction_axes(a);
    start s = {a->k->operands[operand].name, start_value(a, operand), from, {NULL, 0}};
    while (s.at < text.n && strchr(" \n\r\t", text.p[s.at]))
        s.at++;
    s.margin = (tp_str){text.p + from, s.at - from};
    propose(a, f, &s, new_block(a, &a->k->operands[operand]));
    propose(a, f, &s, first_step(a, own));
    for (uint32_t first = 0; first < a->k->naxes; first++)
        if (first != own)
            propose(a, f, &s, first_step(a, first));
}
