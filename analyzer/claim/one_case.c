/* Kernels of one case: no size is open, the tables are given, and nothing that
 * steers depends on data. Which elements are undefined is then the same in
 * every run, so that one execution of the machine decides. */
#include "analyzer/claim/claim.h"

typedef struct taint {
    const tp_program *p;
    bool *values;         /* computed from data: what arrays hold */
    bool *refs;           /* ... and stored: by operand. Scratch holds none before */
    const tp_inst **made; /* by value: what computes it; NULL: a variable */
    const bool *bounded;  /* by value: 0 times it is 0, whatever is undefined */
    bool steers;          /* such a value decides what is read, written or executed */
    bool changed;
} taint;

static void mark(taint *t, tp_vid v)
{
    t->changed |= !t->values[v];
    t->values[v] = true;
}

static void mark_ref(taint *t, uint32_t operand, bool data)
{
    t->changed |= data && !t->refs[operand];
    t->refs[operand] |= data;
}

static void steer(taint *t, tp_vid v)
{
    t->steers |= v >= 0 && t->values[v];
}

/* What is no number of the text and of no index. */
static bool may_be_undefined(const taint *t, tp_vid v, int depth)
{
    enum { DEEPEST = 8 };
    const tp_inst *i = t->made[v];
    bool is_index = t->p->values.at[v].meaning.id != 0; /* ... or a number of the text: nothing computes that */
    bool may = i ? depth == DEEPEST || i->prim == TP_P_LOAD || i->prim == TP_P_MASKED_LOAD : !is_index;
    for (uint32_t n = 0; i && n < i->nargs && !may; n++)
        may = may_be_undefined(t, i->args[n], depth + 1);
    return may;
}

/* May defined numbers in that operand leave the result defined, though the other one is not: false beside `&`, true
 * beside `|`, 0 times what is bounded? */
static bool absorbs(const taint *t, const tp_inst *i, uint32_t operand)
{
    if (i->nargs != 2)
        return false;
    tp_vid other = i->args[1 - operand];
    bool of_bools = (i->prim == TP_P_AND || i->prim == TP_P_OR) && t->p->values.at[other].dtype == TP_BOOL;
    bool product = (i->prim == TP_P_MUL || tp_prim_info(i->prim)->class == TP_CLASS_CONTRACT) && t->bounded[other];
    return (of_bools || product) && may_be_undefined(t, other, 0);
}

/* Is each lane of x undefined only where that lane of `condition`, which is computed lane by lane, is? */
static bool shows_in(const taint *t, tp_vid x, tp_vid condition, int depth)
{
    enum { DEEPEST = 8 };
    const tp_inst *i = t->made[condition];
    bool found = x == condition;
    if (found || depth == DEEPEST || !i || tp_prim_info(i->prim)->class != TP_CLASS_ELEMENTWISE)
        return found;
    for (uint32_t n = 0; n < i->nargs && !found; n++)
        found = !(i->nargs == 2 && absorbs(t, i, 1 - n)) && shows_in(t, x, i->args[n], depth + 1);
    return found;
}

static bool is_literal(const taint *t, tp_vid x)
{
    const tp_inst *i = t->made[x];
    while (i && (i->prim == TP_P_BROADCAST || i->prim == TP_P_CAST))
        i = t->made[i->args[0]];
    return i && i->prim == TP_P_LITERAL;
}

/* where(x == 0, 1, x): which arm is taken makes no difference to what is undefined. */
static bool arms_are_alike(const taint *t, const tp_inst *i)
{
    bool alike = true;
    for (uint32_t arm = 1; arm < 3; arm++)
        alike &= is_literal(t, i->args[arm]) || shows_in(t, i->args[arm], i->args[0], 0);
    return alike;
}

static void visit_access(taint *t, const tp_kernel *k, const tp_access *a)
{
    for (uint32_t d = 0; d < k->operands[a->operand].ref_rank; d++)
        if (a->subs[d].kind != TP_SUB_FULL)
            steer(t, a->subs[d].start);
    if (a->guarded)
        steer(t, a->mask);
}

static void visit_inst(taint *t, const tp_kernel *k, const tp_inst *i)
{
    if (i->out >= 0)
        t->made[i->out] = i;
    bool any = i->prim == TP_P_LOAD && t->refs[i->access->operand];
    for (uint32_t n = 0; n < i->nargs; n++)
        any |= t->values[i->args[n]];
    if (any)
        mark(t, i->out);
    if (i->access)
        visit_access(t, k, i->access);
    for (uint32_t n = 0; n < i->nargs; n++)
        if (absorbs(t, i, n))
            steer(t, i->args[n]);
    switch (tp_prim_info(i->prim)->class) {
    case TP_CLASS_SELECT:
        if (!arms_are_alike(t, i))
            steer(t, i->args[0]);
        break;
    case TP_CLASS_MOVE:
        if (i->prim == TP_P_TAKE || i->prim == TP_P_ROLL)
            steer(t, i->args[1]);
        break;
    case TP_CLASS_MEMORY: /* a masked load by its mask, a table by its indices */
        for (uint32_t n = 0; n < i->nargs && (n == 0 || i->prim == TP_P_READ) && i->prim != TP_P_VARIABLE; n++)
            steer(t, i->args[n]);
        break;
    case TP_CLASS_CONVERT: /* undefined out of range */
        t->steers |= i->prim == TP_P_CAST && any && tp_is_float(t->p->values.at[i->args[0]].dtype) &&
                     !tp_is_float((tp_dtype)i->integer);
        break;
    case TP_CLASS_ELEMENTWISE: /* an integer that is divided by */
        if (tp_prim_divides(i->prim) && !tp_is_float(t->p->values.at[i->args[1]].dtype))
            steer(t, i->args[1]);
        break;
    case TP_CLASS_CONTRACT:
    case TP_CLASS_FOLD:
    case TP_CLASS_RUNNING:
    case TP_CLASS_SOURCE:
    case TP_CLASS_CONTROL:
    case TP_CLASS_SUGAR: break;
    }
}

static void steer_device(taint *t, const tp_statement *s)
{
    for (uint32_t i = 0; i < TP_MAX_MESH; i++)
        steer(t, s->device[i]);
}

static void visit(taint *t, const tp_kernel *k, const tp_region *r)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        switch (s->kind) {
        case TP_COMPUTE: visit_inst(t, k, s->inst); break;
        case TP_ASSIGN:
            if (t->values[s->value])
                mark(t, s->var);
            break;
        case TP_COPY_WAIT:
            visit_access(t, k, s->semaphore);
            visit_access(t, k, s->access);
            break;
        case TP_COPY_START:
        case TP_PUT:
            if (s->semaphore)
                visit_access(t, k, s->semaphore);
            if (s->arrival)
                visit_access(t, k, s->arrival);
            steer_device(t, s);
            visit_access(t, k, s->access);
            mark_ref(t, s->access->operand, t->values[s->value]);
            break;
        case TP_SIGNAL:
        case TP_AWAIT:
            visit_access(t, k, s->semaphore);
            steer(t, s->value);
            steer_device(t, s);
            break;
        case TP_LOOP:
            steer(t, s->lo);
            steer(t, s->hi);
            break;
        case TP_ENTER: /* undefined, or zero, whatever the data */
        case TP_LEAVE:
        case TP_IF:
        case TP_WHILE:
        case TP_ASSERT: break;
        }
        visit(t, k, &s->test);
        if (s->kind == TP_IF || s->kind == TP_WHILE || s->kind == TP_ASSERT)
            steer(t, s->value);
        visit(t, k, &s->body);
        visit(t, k, &s->orelse);
    }
}

static bool steered_by_data(tp_analysis *a)
{
    taint t = {.p = a->k->body,
               .values = TP_NEWN(a->arena, bool, a->k->body->values.len),
               .bounded = tp_bounded_values(a->arena, a->p, a->k->body),
               .made = TP_NEWN(a->arena, const tp_inst *, a->k->body->values.len),
               .refs = TP_NEWN(a->arena, bool, tp_noperands(a->k) + 1)};
    for (uint32_t i = 0; i < tp_noperands(a->k); i++)
        t.refs[i] = a->k->operands[i].role != TP_SCRATCH;
    do {
        t.changed = false;
        visit(&t, a->k, &a->k->body->statements);
    } while (t.changed && !t.steers);
    return t.steers;
}

/* Elements of all arrays together are few. */
static bool small(tp_analysis *a, const int64_t *env)
{
    const int64_t MOST = (int64_t)1 << 22;
    int64_t total = 0;
    for (uint32_t i = 0; i < a->k->ninputs + a->k->noutputs; i++) {
        const tp_operand *o = &a->k->operands[i];
        int64_t n = 1, extent;
        for (uint32_t d = 0; d < o->rank; d++)
            if (tp_expr_eval(a->p, o->shape[d], env, &extent) != TP_EVAL_OK || extent < 0 || extent > MOST ||
                (n *= extent ? extent : 1) > MOST)
                return false;
        total += n;
    }
    return total <= MOST;
}

bool tp_runs_to_the_end(tp_analysis *a)
{
    if (a->one_case)
        return a->one_case > 0;
    a->one_case = -1;
    if (!a->o->replay || !a->k->body || a->nsizes)
        return false;
    int64_t *env = TP_NEWN(a->arena, int64_t, tp_sym_count(a->p));
    for (uint32_t t = 0; t < a->k->ntables; t++) {
        if (!a->k->tables[t].contents)
            return false;
        tp_bind_table(env, a->k->tables[t].sym, a->k->tables[t].contents);
    }
    a->only = (tp_trapped){.arena = a->arena};
    if (small(a, env) && !steered_by_data(a) && a->o->replay(a->o->replay_ctx, a->k, env, a->rule->code, &a->only) == 0)
        a->one_case = 1;
    return a->one_case > 0;
}

bool tp_traps_there(const tp_analysis *a, tp_str subject, const tp_loc *loc, const tp_trapped *t)
{
    bool other = tp_operand_find(a->k, t->subject) >= 0 && tp_operand_find(a->k, subject) >= 0 &&
                 !tp_str_eq(subject, t->subject);
    return !other && (!t->loc.pointer.n || tp_str_eq(loc->pointer, t->loc.pointer));
}

void tp_tell_only_trap(tp_analysis *a, uint32_t from)
{
    tp_findings *all = &a->out->findings;
    for (uint32_t i = from; i < all->len; i++) {
        tp_finding *f = &all->at[i];
        if (f->verdict != TP_UNKNOWN || !a->rule->traps || tp_runs_to_the_end(a) || !a->only.rule ||
            strcmp(a->only.rule, a->rule->code) != 0 || !a->only.loc.pointer.n ||
            !tp_traps_there(a, f->subject, &f->loc, &a->only))
            continue;
        f->verdict = TP_VIOLATED;
        f->severity = a->rule->severity;
        f->reason = (tp_str){NULL, 0};
        f->witness = TP_NEW(a->arena, tp_witness);
        f->witness->replay = "executed";
        f->witness->dtypes = tp_dtypes_text(a->k);
        tp_say_trap(a->rule, &a->only, f);
        return;
    }
}
