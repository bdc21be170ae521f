/* Two versions of a kernel: do they compute the same? */
#include <stdlib.h>

#include "base/budget.h"
#include "kernels/machine/machine.h"
#include "spec/facts.h"
#include "verify/verify.h"

/* What says how a kernel is called and judged, not what it computes. */
static bool is_beside(tp_str key)
{
    static const char *const BESIDE[] = {"tileproof", "name",    "description", "target", "reference",
                                         "tolerance", "cases",   "allow",       "expect", "vmem_limit_bytes",
                                         "$schema",   "$comment"};
    for (size_t i = 0; i < sizeof BESIDE / sizeof *BESIDE; i++)
        if (tp_str_is(key, BESIDE[i]))
            return true;
    return key.n > 1 && key.p[0] == 'x' && key.p[1] == '-';
}

static bool json_same(const tp_json *a, const tp_json *b)
{
    if (!a || !b || a->type != b->type)
        return a == b;
    switch (a->type) {
    case TP_J_NULL: return true;
    case TP_J_BOOL: return a->u.boolean == b->u.boolean;
    case TP_J_INT: return a->u.integer == b->u.integer;
    case TP_J_REAL: return memcmp(&a->u.real, &b->u.real, sizeof a->u.real) == 0;
    case TP_J_STRING: return tp_str_eq(a->u.string, b->u.string);
    case TP_J_ARRAY:
    case TP_J_OBJECT: break;
    }
    bool same = a->u.items.n == b->u.items.n;
    for (uint32_t i = 0; same && i < a->u.items.n; i++)
        same = tp_str_eq(a->u.items.at[i]->key, b->u.items.at[i]->key) && json_same(a->u.items.at[i], b->u.items.at[i]);
    return same;
}

static bool is_beside_grid_and_body(tp_str key)
{
    return is_beside(key) || tp_str_is(key, "grid") || tp_str_is(key, "kernel");
}

static bool is_semantics(tp_str key)
{
    return tp_str_is(key, "semantics");
}

/* Every member of one, but for those beside, is the same in the other. */
static bool members_in(tp_arena *a, const tp_json *one, const tp_json *other, bool (*beside)(tp_str key))
{
    for (uint32_t i = 0; i < one->u.items.n; i++) {
        const tp_json *m = one->u.items.at[i];
        if (!beside(m->key) && !json_same(m, tp_json_get(other, tp_cstr(a, m->key))))
            return false;
    }
    return true;
}

static bool members_same(tp_arena *a, const tp_json *x, const tp_json *y, bool (*beside)(tp_str key))
{
    return members_in(a, x, y, beside) && members_in(a, y, x, beside);
}

bool tp_same_program(tp_arena *a, const tp_spec *old, const tp_spec *new)
{
    return members_same(a, old->doc, new->doc, is_beside);
}

bool tp_same_but_body(tp_arena *a, const tp_spec *old, const tp_spec *new, bool *semantics)
{
    const tp_json *x = tp_json_get(old->doc, "grid"), *y = tp_json_get(new->doc, "grid");
    *semantics = json_same(x, y);
    bool same = members_same(a, old->doc, new->doc, is_beside_grid_and_body) &&
                (*semantics || (x && y && x->u.items.n == y->u.items.n));
    for (uint32_t i = 0; same && !*semantics && i < x->u.items.n; i++)
        same = members_same(a, x->u.items.at[i], y->u.items.at[i], is_semantics);
    return same;
}

bool tp_same_reference(const tp_spec *old, const tp_spec *new)
{
    return json_same(tp_json_get(old->doc, "reference"), tp_json_get(new->doc, "reference"));
}

/* ---- for all sizes: both are what the old reference says ---- */

/* The text of the new spec with the reference of the old one. */
static tp_str with_reference(tp_arena *a, const tp_job *old, const tp_job *new)
{
    const tp_json *from = tp_json_get(old->report.spec->doc, "reference"), *doc = new->report.spec->doc,
                  *to = tp_json_get(doc, "reference");
    tp_str text = new->source.text, was = {old->source.text.p + from->loc.start, from->loc.end - from->loc.start};
    uint32_t start = to ? to->loc.start : doc->loc.start + 1, end = to ? to->loc.end : start;
    tp_buf b = {.arena = a};
    tp_buf_str(&b, (tp_str){text.p, start});
    tp_buf_c(&b, to ? "" : "\"reference\": ");
    tp_buf_str(&b, was);
    tp_buf_c(&b, to ? "" : ",");
    tp_buf_str(&b, (tp_str){text.p + end, text.n - end});
    return tp_buf_view(&b);
}

/* Sizes of which the arrays' shapes or the reference speak must mean the same
 * in both; ranges may differ: then it is about the sizes of both. */
static bool sizes_agree(tp_arena *a, const tp_kernel *old, const tp_kernel *new, tp_str *why)
{
    const tp_kernel *both[] = {old, new};
    for (int t = 0; t < 2; t++)
        for (uint32_t i = 0; i < both[t]->nsizes; i++) {
            const tp_size *x = &both[t]->sizes[i], *y = tp_size_find(both[!t], x->name);
            bool ranges = y && x->kind == TP_SIZE_RANGE && y->kind == TP_SIZE_RANGE;
            const char *name = tp_cstr(a, x->name);
            bool constant = tp_speaks_of(tp_json_get(both[t]->doc, "constants"), x->name);
            if (ranges || (tp_size_is_free(both[t], x->name) && !constant) ||
                (y && json_same(tp_json_get(tp_json_get(old->doc, "sizes"), name),
                                tp_json_get(tp_json_get(new->doc, "sizes"), name))))
                continue;
            *why = tp_printf(a, "the size `%.*s` is not the same in both", TP_FMT(x->name));
            return false;
        }
    return true;
}

/* The old reference is read in the new spec: what it names means the same there. */
static bool names_agree(tp_arena *a, const tp_kernel *old, const tp_kernel *new, tp_str *why)
{
    const tp_json *was = tp_json_get(old->doc, "constants"), *is = tp_json_get(new->doc, "constants");
    for (uint32_t i = 0; i < old->nconstants; i++) {
        const char *name = tp_cstr(a, old->constants[i].name);
        if (tp_size_is_free(old, old->constants[i].name) ||
            json_same(tp_json_get(was, name), is ? tp_json_get(is, name) : NULL))
            continue;
        *why = tp_printf(a, "the constant `%s` is not the same in both", name);
        return false;
    }
    for (uint32_t i = 0; i < old->ntables; i++) {
        const tp_table *x = &old->tables[i];
        int at = tp_table_find(new, x->name);
        bool same = at >= 0 && new->tables[at].dtype == x->dtype &&new->tables[at].rank == x->rank;
        for (uint32_t d = 0; same && d < x->rank; d++)
            same = tp_str_eq(tp_expr_text(old->exprs, x->shape[d]), tp_expr_text(new->exprs, new->tables[at].shape[d]));
        if (same || tp_size_is_free(old, x->name))
            continue;
        *why = tp_printf(a, "the table `%.*s` is not the same array in both", TP_FMT(x->name));
        return false;
    }
    return true;
}

/* Inputs and outputs by name, dtype and shape; a builtin reference may take them in their order. */
static bool arrays_agree(tp_arena *a, const tp_kernel *old, const tp_kernel *new, tp_str *why)
{
    bool same = old->ninputs == new->ninputs && old->noutputs == new->noutputs,
         ordered = tp_json_get(old->doc, "reference")->type == TP_J_OBJECT;
    for (uint32_t i = 0; same && i < old->ninputs + old->noutputs; i++) {
        const tp_operand *x = &old->operands[i];
        int at = tp_operand_find(new, x->name);
        const tp_operand *y = at < 0 ? NULL : &new->operands[at];
        same = y && y->role == x->role && y->dtype == x->dtype && tp_global_rank(y) == tp_global_rank(x) &&
               (!ordered || at == (int)i) && tp_str_eq(tp_array_name(old, i), tp_array_name(new, (uint32_t)at));
        for (uint32_t d = 0; same && d < tp_global_rank(x); d++)
            same = tp_str_eq(tp_expr_text(old->exprs, tp_global_shape(x)[d]),
                             tp_expr_text(new->exprs, tp_global_shape(y)[d]));
        if (!same) {
            *why = tp_printf(a, "`%.*s` is not the same array in both", TP_FMT(x->name));
            return false;
        }
    }
    if (!same)
        *why = TP_S("they do not have the same arrays");
    return same;
}

typedef struct proof {
    const tp_job *old, *new;
    const tp_check_settings *s;
    tp_job spliced;
    bool proven;
    tp_equality both; /* what the two take for granted */
    tp_str why;
} proof;

static bool proves(tp_arena *a, proof *p, const tp_spec *s, const tp_findings *findings, const char *which)
{
    tp_equality q = tp_check_equality(a, s, &p->s->analysis, findings);
    if (!q.proven)
        p->why = tp_printf(a, "the %s one is not proven to be the old reference: %.*s", which, TP_FMT(q.reason));
    tp_equality_join(a, &p->both, &q);
    return q.proven;
}

static void prove(void *arg)
{
    proof *p = arg;
    const tp_spec *old = p->old->report.spec, *new = p->new->report.spec;
    tp_arena *a = p->spliced.arena;
    p->why = TP_S("the old one has no reference");
    if (!tp_json_get(old->doc, "reference") || !sizes_agree(a, old->kernels[0], new->kernels[0], &p->why) ||
        !names_agree(a, old->kernels[0], new->kernels[0], &p->why))
        return;
    p->why = TP_S("they do not have the same dtypes");
    if (old->nkernels != new->nkernels)
        return;
    for (uint32_t k = 0; k < old->nkernels; k++)
        if (!arrays_agree(a, old->kernels[k], new->kernels[k], &p->why))
            return;
    p->spliced.source = p->new->source;
    p->spliced.source.text = with_reference(a, p->old, p->new);
    tp_job_begin(&p->spliced);
    tp_job_load_text(&p->spliced, p->s->target);
    p->why = TP_S("the old reference does not fit the new spec");
    p->proven = p->spliced.report.valid && proves(a, p, old, &p->old->report.findings, "old") &&
                proves(a, p, p->spliced.report.spec, &p->new->report.findings, "new");
}

/* Into v: whether it is proven, what that takes for granted, or why not. */
static void compare_by_proof(tp_arena *a, const tp_job *old, const tp_job *new, const tp_check_settings *s,
                             tp_versions *v)
{
    proof p = {.old = old, .new = new, .s = s};
    p.spliced.arena = tp_arena_child(a);
    tp_status st = tp_try(p.spliced.arena, prove, &p);
    v->verdict = st == TP_OK && p.proven ? TP_VERSIONS_PROVEN : TP_VERSIONS_TESTED;
    v->terms = tp_printf(a, "%s%s%.*s", p.both.given ? "; given " : "", tp_fact_names(p.both.given),
                         TP_FMT(tp_equality_terms(a, &p.both)));
    v->why_not_proven = st == TP_OK ? tp_printf(a, "%.*s", TP_FMT(p.why)) : tp_budget_or(a, TP_S("memory ran out"));
    tp_job_free(&p.spliced);
}

/* ---- by execution ---- */

static const tp_kernel *of_dtypes(const tp_spec *s, const tp_kernel *like)
{
    for (uint32_t k = 0; k < s->nkernels; k++) {
        bool same = true;
        for (uint32_t i = 0; same && i < like->ninputs + like->noutputs; i++) {
            int at = tp_operand_find(s->kernels[k], like->operands[i].name);
            same = at < 0 || s->kernels[k]->operands[at].dtype == like->operands[i].dtype;
        }
        if (same)
            return s->kernels[k];
    }
    return NULL;
}

static int by_elements(const void *a, const void *b)
{
    int64_t x = tp_case_elements(a), y = tp_case_elements(b);
    return (x > y) - (x < y);
}

/* The cases of the new spec at which the old one is defined, small ones first. */
static tp_cases shared_cases(tp_job *old, tp_job *new, const tp_check_settings *s, tp_str *why)
{
    tp_arena *a = new->arena;
    tp_cases all = tp_cases_read(&new->ctx, new->report.spec, (uint32_t)s->cases), some = {0};
    for (uint32_t i = 0; i < all.len; i++) {
        const tp_kernel *k = of_dtypes(old->report.spec, all.at[i].kernel);
        if (!k)
            *why = TP_S("they do not have the same dtypes");
        else if (!k->body || !all.at[i].kernel->body)
            *why = TP_S("one of them has no body");
        else if (tp_case_against(a, &all.at[i], k, why))
            tp_push(a, some, all.at[i]);
    }
    if (some.len)
        qsort(some.at, some.len, sizeof *some.at, by_elements);
    return some;
}

typedef struct execution {
    tp_job *old, *new;
    const tp_check_settings *s;
    tp_versions *out;
} execution;

static void execute(void *arg)
{
    execution *x = arg;
    tp_arena *a = x->new->arena;
    tp_cases *cases = TP_NEW(a, tp_cases);
    tp_equiv *e = TP_NEW(a, tp_equiv);
    tp_findings found = {0};
    x->out->why_not_run = TP_S("no case was found that both have");
    *cases = shared_cases(x->old, x->new, x->s, &x->out->why_not_run);
    tp_equiv_run(a, cases, &x->s->equiv, e);
    for (uint32_t i = 0; i < e->cases.len; i++) {
        const tp_case_result *r = &e->cases.at[i];
        bool ran = r->outcome == TP_EQUAL || r->outcome == TP_DIFFERENT,
             open = !ran || r->algebra.tier == TP_TIER_INCONCLUSIVE;
        if (open && x->out->open++ == 0)
            x->out->why_not_run = ran ? r->algebra.reason : r->trap.message;
        x->out->cases += r->outcome == TP_EQUAL && !open;
        if (r->outcome != TP_DIFFERENT)
            continue;
        tp_equiv one = {.different = 1};
        tp_push(a, one.cases, *r);
        tp_add_execution_findings(a, &one, r->the_case->kernel, &x->s->equiv, false, TP_S(""), &found);
        break;
    }
    for (uint32_t i = 0; i < found.len; i++)
        if (strcmp(found.at[i].rule, TP_RULE_NOT_EQUIVALENT) == 0)
            x->out->witness = found.at[i].witness;
}

tp_versions tp_compare_versions(tp_arena *a, tp_job *old, tp_job *new, const tp_check_settings *s)
{
    tp_versions v = {.verdict = TP_VERSIONS_NOT_COMPARED};
    execution x = {old, new, s, &v};
    tp_status st = tp_try(new->arena, execute, &x);
    if (st != TP_OK)
        v.why_not_run =
            tp_budget_or(new->arena, st == TP_E_MEMORY ? TP_S("memory ran out") : TP_S("its cases cannot be read"));
    if (v.witness)
        v.verdict = TP_VERSIONS_DIFFERENT;
    else if (v.cases)
        compare_by_proof(a, old, new, s, &v);
    return v;
}
