/* Claims: decided within the budget, recorded with their witness. */
#include "analyzer/claim/claim.h"
#include "base/assert.h"
#include "base/budget.h"

enum { QUERIES = 16, CPU_SECONDS = 4 };
static const double SHARE = 0.5; /* of the work that the rule has left, for a claim */

tp_analysis *tp_analysis_begin(tp_arena *arena, const tp_kernel *k, const tp_analysis_options *o)
{
    tp_analysis *a = TP_NEW(arena, tp_analysis);
    tp_prover_options prover = o->prover;
    *a = (tp_analysis){.arena = arena, .k = k, .p = k->exprs, .o = o, .queries = QUERIES};
    prover.queries = &a->queries;
    prover.cpu_seconds = prover.rlimit ? 0 : CPU_SECONDS;
    a->work = tp_arena_child(arena);
    prover.smt2_name = tp_printf(a->work, "%.*s-%.*s", TP_FMT(k->name), TP_FMT(tp_dtypes_text(k))).p;
    a->prover = tp_prover_new(a->work, a->p, &prover);
    a->quick = tp_prover_new(
        a->work, a->p, &(tp_prover_options){.only_proof = true, .cache = o->prover.cache, .recall = o->prover.recall});
    a->search =
        tp_prover_new(a->work, a->p,
                      &(tp_prover_options){
                          .no_solver = true, .few_points = true, .cache = o->prover.cache, .recall = o->prover.recall});
    tp_domain_set_up(a);
    return a;
}

void tp_analysis_end(tp_analysis *a)
{
    tp_prover_free(a->prover);
    tp_prover_free(a->quick);
    tp_prover_free(a->search);
    tp_arena_free(a->work);
}

void tp_visit_subterms(tp_analysis *a, tp_expr e, tp_expr path, tp_subterm_visitor visit, void *ctx)
{
    tp_expr_node n = *tp_expr_get(a->p, e);
    if (!e.id || n.op == TP_E_CONST || n.op == TP_E_SYM)
        return;
    tp_visit_subterms(a, n.a, path, visit, ctx);
    if (n.op == TP_E_ITE) {
        tp_visit_subterms(a, n.b, both(a, path, n.a), visit, ctx);
        tp_visit_subterms(a, n.c, both(a, path, tp_op1(a->p, TP_E_NOT, n.a)), visit, ctx);
    } else {
        tp_expr lazy = path; /* right operand: evaluated only if the left one asks for it */
        if (n.op == TP_E_AND || n.op == TP_E_IMPLIES)
            lazy = both(a, path, n.a);
        else if (n.op == TP_E_OR)
            lazy = both(a, path, tp_op1(a->p, TP_E_NOT, n.a));
        tp_visit_subterms(a, n.b, lazy, visit, ctx);
        tp_visit_subterms(a, n.c, path, visit, ctx); /* the third index of an entry */
    }
    visit(a, e, path, ctx);
}

tp_witness *tp_make_witness(tp_analysis *a, const tp_claim *c, const int64_t *env)
{
    tp_witness *w = TP_NEW(a->arena, tp_witness);
    const tp_kernel *k = a->k;
    w->replay = "arithmetic";
    w->dtypes = tp_dtypes_text(k);
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (tp_is_open_size(&k->sizes[i]))
            tp_push(a->arena, w->sizes, (tp_binding){k->sizes[i].name, env[k->sizes[i].sym]});
    for (uint32_t i = 0; c->over_steps && i < k->naxes; i++)
        tp_push(a->arena, w->step, (tp_binding){k->axes[i].name, env[k->axes[i].sym]});
    return w;
}

/* Counts those of the list that are spoken of, and marks what their bounds mention: earlier ones, perhaps. */
static uint32_t count_wanted(tp_analysis *a, const tp_var *list, uint32_t n, bool *marks)
{
    uint32_t wanted = 0;
    for (uint32_t i = n; i-- > 0;)
        if (marks[list[i].sym]) {
            wanted++;
            tp_expr_mark_symbols(a->p, list[i].lo, marks);
            tp_expr_mark_symbols(a->p, list[i].hi, marks);
        }
    return wanted;
}

/* Those of the list that are spoken of by now: as many as were counted, where bounds mention earlier ones alone. */
static uint32_t count_marked(const tp_var *list, uint32_t n, const bool *marks)
{
    uint32_t marked = 0;
    for (uint32_t i = 0; i < n; i++)
        marked += marks[list[i].sym];
    return marked;
}

/* With the claim's further variables, but only those that are spoken of: an empty range would speak for all. */
static const tp_var *with_extra(tp_analysis *a, const tp_claim *c, const tp_expr *premises, uint32_t npremises,
                                uint32_t *nvars)
{
    bool *marks = TP_NEWN(a->arena, bool, tp_sym_count(a->p));
    tp_expr_mark_symbols(a->p, c->goal, marks);
    for (uint32_t i = 0; i < npremises; i++)
        tp_expr_mark_symbols(a->p, premises[i], marks);
    uint32_t wanted = count_wanted(a, c->walk, c->nwalk, marks);
    wanted += count_wanted(a, c->extra, c->nextra, marks);
    tp_assert(wanted == count_marked(c->walk, c->nwalk, marks) + count_marked(c->extra, c->nextra, marks));
    tp_var *all = TP_NEWN(a->arena, tp_var, *nvars + wanted);
    memcpy(all, a->vars, *nvars * sizeof *all);
    for (uint32_t i = 0; i < c->nextra + c->nwalk; i++) {
        const tp_var *v = i < c->nextra ? &c->extra[i] : &c->walk[i - c->nextra];
        if (marks[v->sym])
            all[(*nvars)++] = *v;
    }
    return all;
}

/* Is each symbol of it a table or a variable, which has a range? Where all points are tried, another one is 0. */
static bool has_ranges(tp_analysis *a, const tp_obligation *o)
{
    bool *marks = TP_NEWN(a->arena, bool, tp_sym_count(a->p)), all = true;
    tp_expr_mark_symbols(a->p, o->goal, marks);
    for (uint32_t i = 0; i < o->npremises; i++)
        tp_expr_mark_symbols(a->p, o->premises[i], marks);
    for (uint32_t i = 0; i < o->nvars; i++) {
        tp_expr_mark_symbols(a->p, o->vars[i].lo, marks);
        tp_expr_mark_symbols(a->p, o->vars[i].hi, marks);
    }
    for (uint32_t i = 0; i < o->nvars; i++)
        marks[o->vars[i].sym] = false;
    for (uint32_t i = 0; i < a->k->ntables; i++)
        marks[a->k->tables[i].sym] = false;
    for (uint32_t i = 0; i < a->k->ninputs; i++)
        if (a->k->operands[i].entries)
            marks[a->k->operands[i].entries->sym] = false;
    for (uint32_t i = 0; i < a->least.len; i++)
        marks[a->least.at[i]->table.sym] = false;
    for (uint32_t i = 0; i < tp_sym_count(a->p); i++)
        all &= !marks[i];
    return all;
}

static tp_obligation obligation(tp_analysis *a, const tp_claim *c)
{
    uint32_t n = 0;
    tp_expr *premises = TP_NEWN(a->arena, tp_expr, a->nwhere + a->facts.len + c->npremises + 1);
    for (uint32_t i = 0; i < a->nwhere; i++)
        premises[n++] = a->where[i];
    for (uint32_t i = 0; i < a->facts.len; i++)
        if (a->facts.at[i].id & c->given)
            premises[n++] = a->facts.at[i].says;
    for (uint32_t i = 0; i < c->npremises; i++)
        premises[n++] = c->premises[i];
    const tp_var *vars = a->vars;
    uint32_t nvars = c->over_steps ? a->nvars : a->nsizes;
    if (c->nextra + c->nwalk)
        vars = with_extra(a, c, premises, n, &nvars);
    return (tp_obligation){.vars = vars,
                           .nvars = nvars,
                           .premises = premises,
                           .npremises = n,
                           .goal = c->goal,
                           .any_case = c->any_case && !tp_has_entries(a->k), /* tables are filled for small cases */
                           .name =
                               tp_printf(a->arena, "%s-%.*s", a->rule ? a->rule->code : "fact", TP_FMT(c->subject)).p};
}

tp_obligation tp_claim_obligation(tp_analysis *a, const tp_claim *c)
{
    tp_obligation o = obligation(a, c);
    tp_assert(has_ranges(a, &o));
    return o;
}

bool tp_claim_has_ranges(tp_analysis *a, const tp_claim *c)
{
    tp_obligation o = obligation(a, c);
    return has_ranges(a, &o);
}

static tp_decision decide_given(tp_analysis *a, tp_claim *c)
{
    tp_obligation o = tp_claim_obligation(a, c);
    if (tp_exprs_overflowed(a->p)) /* something became the constant 0 */
        return (tp_decision){.verdict = TP_UNKNOWN, .reason = TP_S("an expression is too large")};
    if (tp_has_entries(a->k))
        return c->only_proof ? tp_claim_proof(a, c) : tp_decide_reading(a, &o, &c->held);
    return tp_prove(a->prover, &o);
}

static tp_decision decide_with_facts(tp_analysis *a, tp_claim *c)
{
    if (c->large && tp_facts_among(&a->facts, TP_FACT_F2) && !tp_claim_follows(a, c))
        c->given |= TP_FACT_F2;
    tp_decision d = decide_given(a, c);
    for (unsigned broken; d.verdict == TP_VIOLATED && (broken = tp_domain_broken(a, d.env) & ~c->given) != 0;) {
        c->given |= broken;
        d = decide_given(a, c);
        if (d.verdict == TP_UNKNOWN)
            d.reason = tp_message(a, "%.*s; the case that was found breaks fact %s, %s", TP_FMT(d.reason),
                                  tp_fact_names(broken), tp_fact_text(broken));
    }
    return d;
}

typedef struct claim_call {
    tp_analysis *a;
    tp_claim *c;
    tp_decision d;
} claim_call;

static void decide_call(void *arg)
{
    claim_call *x = arg;
    x->d = decide_with_facts(x->a, x->c);
}

/* One claim may cost half of what is left: the others want to be decided, too. */
tp_decision tp_claim_decide(tp_analysis *a, tp_claim *c)
{
    claim_call x = {.a = a, .c = c};
    bool flagged = tp_exprs_overflowed(a->p);
    tp_share share = {SHARE, a->rule ? a->rule->code : "following the body", c->subject};
    tp_str why;
    if (!tp_within(a->arena, &share, decide_call, &x, &why))
        x.d = (tp_decision){.verdict = TP_UNKNOWN, .reason = why};
    if (!flagged) /* what grew too large on the way is nobody else's */
        tp_exprs_forget_overflow(a->p);
    if (a->o->listener) {
        tp_obligation o = tp_claim_obligation(a, c);
        a->o->listener(a->o->listener_ctx, share.what, &o, &x.d);
    }
    return x.d;
}

bool tp_claim_follows(tp_analysis *a, const tp_claim *c)
{
    tp_obligation o = tp_claim_obligation(a, c);
    tp_table_reads reads;
    return !tp_exprs_overflowed(a->p) && tp_close_reads(a, &o, &reads, 0) &&
           tp_prove(a->quick, &o).verdict == TP_PROVEN;
}

tp_decision tp_claim_proof(tp_analysis *a, const tp_claim *c)
{
    tp_obligation o = tp_claim_obligation(a, c);
    tp_table_reads reads;
    if (tp_claim_follows(a, c))
        return (tp_decision){.verdict = TP_PROVEN, .grade = TP_GRADE_CERT};
    o.any_case = true;
    if (tp_exprs_overflowed(a->p) || !tp_close_reads(a, &o, &reads, 1))
        return (tp_decision){.verdict = TP_UNKNOWN};
    return tp_prove(a->prover, &o);
}

/* What the claim reads of tables. */
static tp_table_reads reads_of(tp_analysis *a, const tp_claim *c)
{
    tp_obligation o = tp_claim_obligation(a, c);
    tp_table_reads reads = {.len = 0};
    if (tp_has_entries(a->k))
        tp_close_reads(a, &o, &reads, 0);
    return reads;
}

tp_str tp_claim_basis(tp_analysis *a, const tp_claim *c)
{
    tp_table_reads reads = reads_of(a, c);
    tp_str basis = tp_basis_join(a->arena, tp_str_c(tp_fact_names(c->given)), tp_table_basis(a, &reads));
    basis = tp_basis_join(a->arena, basis, c->held);
    return c->rests_on ? tp_basis_join(a->arena, basis, tp_str_c(c->rests_on)) : basis;
}

/* 1: the machine trapped with this rule, 0: it ran to the end, -1: cannot say, or another place trapped first. `t` is
 * the trap. */
static int replay(tp_analysis *a, const tp_claim *c, const int64_t *env, tp_trapped *t)
{
    int answer = a->o->replay ? a->o->replay(a->o->replay_ctx, a->k, env, a->rule->code, t) : -1;
    bool of_origin = c->origin.n && tp_str_eq(c->origin, c->subject); /* whatever it is that it gets to */
    bool meant = tp_traps_there(a, of_origin ? t->subject : c->subject, c->executed ? &c->loc : &t->loc, t) &&
                 (!c->origin.n || !t->origin.n || tp_str_eq(c->origin, t->origin));
    return answer == 1 && !meant ? -1 : answer;
}

/* Where only a necessary condition is known, the step that satisfies it need not be the one that traps: the machine
 * says which one does. Returns the environment of that step. */
static const int64_t *tell_trap(tp_analysis *a, const tp_trapped *t, const int64_t *env, tp_witness *w)
{
    int64_t *there = TP_NEWN(a->arena, int64_t, tp_sym_count(a->p));
    memcpy(there, env, tp_sym_count(a->p) * sizeof *there);
    w->step.len = 0;
    for (uint32_t i = 0; i < t->step.len; i++) {
        tp_push(a->arena, w->step, t->step.at[i]);
        for (uint32_t x = 0; x < a->k->naxes; x++)
            if (tp_str_eq(a->k->axes[x].name, t->step.at[i].name))
                there[a->k->axes[x].sym] = t->step.at[i].value;
    }
    w->detail = t->message;
    return there;
}

/* Why a counterexample counts for nothing: the claim is not all that the rule asks, and what became of its case. */
static tp_str only_approximate(tp_analysis *a, const tp_claim *c, int replayed, const tp_trapped *t)
{
    if (replayed == 0)
        return tp_message(a, "%s, and the case that was tried does not trap", c->approximate);
    if (t->rule && strcmp(t->rule, a->rule->code) != 0)
        return tp_message(a, "%s, and the case that was tried traps by %s first", c->approximate, t->rule);
    return tp_message(a, t->rule ? "%s, and the case that was tried traps at another place first" : "%s",
                      c->approximate);
}

tp_finding *tp_claim_record(tp_analysis *a, const tp_claim *c, tp_decision d, const int64_t **env)
{
    tp_trapped trap = {.arena = a->arena};
    int replayed = d.verdict == TP_VIOLATED ? replay(a, c, d.env, &trap) : -1;
    if (d.verdict == TP_VIOLATED && c->approximate && replayed != 1)
        d = (tp_decision){.verdict = TP_UNKNOWN, .reason = only_approximate(a, c, replayed, &trap), .ms = d.ms};
    if (d.verdict == TP_UNKNOWN && c->executed && tp_runs_to_the_end(a))
        d = (tp_decision){.verdict = TP_PROVEN, .grade = TP_GRADE_EXACT, .ms = d.ms};
    tp_finding *f =
        tp_add_finding(a, d.verdict, c->subject, c->loc, d.verdict == TP_VIOLATED ? c->violated : c->proven);
    f->claim = c->proven;
    f->grade = d.verdict == TP_PROVEN ? d.grade : TP_GRADE_NONE;
    f->ms = d.ms;
    f->reason = d.reason.n ? tp_message(a, "%.*s", TP_FMT(d.reason)) : (tp_str){NULL, 0};
    f->rests_on = tp_claim_basis(a, c);
    if (env)
        *env = d.verdict == TP_VIOLATED ? d.env : NULL;
    if (d.verdict == TP_UNKNOWN)
        f->message = tp_message(a, "could not decide: %.*s", TP_FMT(c->proven));
    if (d.verdict == TP_VIOLATED) {
        tp_witness *w = tp_make_witness(a, c, d.env);
        bool told = c->approximate && trap.step.len;
        f->witness = w;
        tp_table_reads reads = reads_of(a, c);
        tp_witness_tables(a, &reads, told ? tell_trap(a, &trap, d.env, w) : d.env, w);
        if (!a->o->verdicts_only && c->goal.id && !c->unconditional) /* several questions have no goal */
            f->holds_when = tp_holds_when(a, c, d.env);
        if (f->holds_when.n)
            tp_propose_where(a, f, f->holds_when);
        f->label = c->label;
        f->note = c->note;
        if (replayed == 1)
            w->replay = "executed";
        if (replayed == 0) {
            a->out->contradiction = true;
            f->reason = TP_S("its smallest case was executed, and did not trap");
        }
        if (a->o->refuted && !a->k->ntables && !c->approximate) {
            tp_obligation o = tp_claim_obligation(a, c);
            a->o->refuted(a->o->refuted_ctx, a->k, &o, d.env, f);
        }
    }
    return f;
}

tp_finding *tp_claim_check(tp_analysis *a, tp_claim *c, const int64_t **env)
{
    tp_decision d = tp_claim_decide(a, c);
    return tp_claim_record(a, c, d, env);
}

bool tp_is_static(const tp_analysis *a, tp_expr e)
{
    uint32_t n = tp_sym_count(a->p);
    bool *marks = TP_NEWN(a->arena, bool, n);
    tp_expr_mark_symbols(a->p, e, marks);
    for (uint32_t i = 0; i < a->k->nsizes; i++)
        if (a->k->sizes[i].kind == TP_SIZE_RANGE || a->k->sizes[i].kind == TP_SIZE_CHOICE)
            marks[a->k->sizes[i].sym] = false;
    for (uint32_t i = 0; i < n; i++)
        if (marks[i])
            return false;
    return !tp_expr_reads(a->p, e);
}
