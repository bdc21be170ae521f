#include "analyzer/internal.h"
#include "base/budget.h"
#include "base/map.h"

#include <stdlib.h>

#define X(name) extern const tp_rule tp_rule_##name;
#include "rules.inc"
#undef X

enum { QUERIES = 16, CPU_SECONDS = 4 };
static const double SHARE = 0.5; /* of the work that is left: for a rule, and for a claim of what the rule has left */

/* Sorted by code: file names sort that way. */
static const tp_rule *const RULES[] = {
#define X(name) &tp_rule_##name,
#include "rules.inc"
#undef X
};

const tp_rule *const *tp_rules(size_t *n)
{
    *n = sizeof RULES / sizeof *RULES;
    return RULES;
}

const tp_rule *tp_rule_find(tp_str name)
{
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++)
        if (tp_str_is(name, RULES[i]->code) || tp_str_is(name, RULES[i]->slug))
            return RULES[i];
    return NULL;
}

tp_str tp_text(tp_analysis *a, tp_expr e)
{
    return tp_expr_text(a->p, e);
}

tp_str tp_message(tp_analysis *a, const char *fmt, ...)
{
    tp_buf b = {.arena = a->arena};
    va_list ap;
    va_start(ap, fmt);
    tp_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    return tp_buf_view(&b);
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
    }
    visit(a, e, path, ctx);
}

/* ---- findings ---- */

tp_finding *tp_add_finding(tp_analysis *a, tp_verdict v, tp_str subject, tp_loc loc, tp_str message)
{
    tp_finding f = {.rule = a->rule->code,
                    .slug = a->rule->slug,
                    .verdict = v,
                    .severity = TP_NOTE,
                    .subject = subject,
                    .loc = loc,
                    .message = message};
    if (v == TP_VIOLATED || v == TP_VACUOUS)
        f.severity = a->rule->severity;
    else if (v == TP_UNKNOWN)
        f.severity = TP_WARNING;
    tp_push(a->arena, a->out->findings, f);
    return &a->out->findings.at[a->out->findings.len - 1];
}

tp_finding *tp_advise(tp_analysis *a, tp_str subject, tp_loc loc, tp_str message, tp_str help)
{
    tp_finding *f = tp_add_finding(a, TP_ADVICE, subject, loc, message);
    f->help = help;
    return f;
}

bool tp_violated(const tp_analysis *a, const char *rule, const tp_loc *at)
{
    const tp_findings *lists[] = {&a->out->findings, a->earlier};
    for (int l = 0; l < 2; l++)
        for (uint32_t i = 0; i < lists[l]->len; i++) {
            const tp_finding *f = &lists[l]->at[i];
            if (f->verdict == TP_VIOLATED && strcmp(f->rule, rule) == 0 && (!at || f->loc.start == at->start))
                return true;
        }
    return false;
}

bool tp_proved(const tp_analysis *a, const char *rule)
{
    const tp_findings *lists[] = {&a->out->findings, a->earlier};
    bool any = false;
    for (int l = 0; l < 2; l++)
        for (uint32_t i = 0; i < lists[l]->len; i++) {
            const tp_finding *f = &lists[l]->at[i];
            if (strcmp(f->rule, rule) != 0)
                continue;
            if (f->verdict != TP_PROVEN)
                return false;
            any = true;
        }
    return any;
}

const tp_witness *tp_make_witness(tp_analysis *a, const tp_claim *c, const int64_t *env)
{
    tp_witness *w = TP_NEW(a->arena, tp_witness);
    const tp_kernel *k = a->k;
    w->replay = "arithmetic";
    w->dtypes = tp_dtypes_text(k);
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (k->sizes[i].kind == TP_SIZE_RANGE || k->sizes[i].kind == TP_SIZE_CHOICE)
            tp_push(a->arena, w->sizes, (tp_binding){k->sizes[i].name, env[k->sizes[i].sym]});
    for (uint32_t i = 0; c->over_steps && i < k->naxes; i++)
        tp_push(a->arena, w->step, (tp_binding){k->axes[i].name, env[k->axes[i].sym]});
    return w;
}

tp_obligation tp_claim_obligation(tp_analysis *a, const tp_claim *c)
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
    if (c->nextra) {
        tp_var *all = TP_NEWN(a->arena, tp_var, nvars + c->nextra);
        bool *wanted = TP_NEWN(a->arena, bool, c->nextra);
        memcpy(all, vars, nvars * sizeof *all);
        for (uint32_t i = c->nextra; i-- > 0;) { /* only those that are spoken of: an empty range would speak for all */
            uint32_t sym = c->extra[i].sym;
            wanted[i] = tp_expr_mentions(a->p, c->goal, sym);
            for (uint32_t k = 0; k < n && !wanted[i]; k++)
                wanted[i] = tp_expr_mentions(a->p, premises[k], sym);
            for (uint32_t k = i + 1; k < c->nextra && !wanted[i]; k++)
                wanted[i] = wanted[k] && (tp_expr_mentions(a->p, c->extra[k].lo, sym) ||
                                          tp_expr_mentions(a->p, c->extra[k].hi, sym));
        }
        for (uint32_t i = 0; i < c->nextra; i++)
            if (wanted[i])
                all[nvars++] = c->extra[i];
        vars = all;
    }
    return (tp_obligation){.vars = vars,
                           .nvars = nvars,
                           .premises = premises,
                           .npremises = n,
                           .goal = c->goal,
                           .name =
                               tp_printf(a->arena, "%s-%.*s", a->rule ? a->rule->code : "fact", TP_FMT(c->subject)).p};
}

static tp_decision decide_given(tp_analysis *a, const tp_claim *c)
{
    tp_obligation o = tp_claim_obligation(a, c);
    if (tp_exprs_overflowed(a->p)) /* something became the constant 0 */
        return (tp_decision){.verdict = TP_UNKNOWN, .reason = TP_S("an expression is too large")};
    return a->k->ntables ? tp_decide_reading(a, &o) : tp_prove(a->prover, &o);
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
    if (tp_within(a->arena, &share, decide_call, &x, &why))
        return x.d;
    if (!flagged)
        tp_exprs_forget_overflow(a->p);
    return (tp_decision){.verdict = TP_UNKNOWN, .reason = why};
}

bool tp_claim_follows(tp_analysis *a, const tp_claim *c)
{
    tp_obligation o = tp_claim_obligation(a, c);
    tp_table_reads reads;
    return !tp_exprs_overflowed(a->p) && tp_close_reads(a, &o, &reads, 0) &&
           tp_prove(a->quick, &o).verdict == TP_PROVEN;
}

/* What the claim reads of tables. */
static tp_table_reads reads_of(tp_analysis *a, const tp_claim *c)
{
    tp_obligation o = tp_claim_obligation(a, c);
    tp_table_reads reads = {.len = 0};
    if (a->k->ntables)
        tp_close_reads(a, &o, &reads, 0);
    return reads;
}

tp_str tp_claim_basis(tp_analysis *a, const tp_claim *c)
{
    tp_table_reads reads = reads_of(a, c);
    tp_str basis = tp_basis_join(a->arena, tp_str_c(tp_fact_names(c->given)), tp_table_basis(a, &reads));
    return c->rests_on ? tp_basis_join(a->arena, basis, tp_str_c(c->rests_on)) : basis;
}

/* 1: the machine trapped with this rule, 0: it ran to the end, -1: cannot say. */
static int replay(tp_analysis *a, const char *rule, const int64_t *env)
{
    return a->o->replay ? a->o->replay(a->o->replay_ctx, a->k, env, rule) : -1;
}

tp_finding *tp_claim_record(tp_analysis *a, const tp_claim *c, tp_decision d, const int64_t **env)
{
    int replayed = d.verdict == TP_VIOLATED ? replay(a, a->rule->code, d.env) : -1;
    if (d.verdict == TP_VIOLATED && c->approximate && replayed != 1)
        d = (tp_decision){.verdict = TP_UNKNOWN, .reason = tp_str_c(c->approximate), .ms = d.ms};
    tp_finding *f =
        tp_add_finding(a, d.verdict, c->subject, c->loc, d.verdict == TP_VIOLATED ? c->violated : c->proven);
    f->grade = d.verdict == TP_PROVEN ? d.grade : TP_GRADE_NONE;
    f->ms = d.ms;
    f->reason = d.reason.n ? tp_message(a, "%.*s", TP_FMT(d.reason)) : (tp_str){NULL, 0};
    f->rests_on = tp_claim_basis(a, c);
    if (env)
        *env = d.verdict == TP_VIOLATED ? d.env : NULL;
    if (d.verdict == TP_UNKNOWN)
        f->message = tp_message(a, "could not decide: %.*s", TP_FMT(c->proven));
    if (d.verdict == TP_VIOLATED) {
        tp_witness *w = (tp_witness *)(uintptr_t)tp_make_witness(a, c, d.env);
        f->witness = w;
        tp_table_reads reads = reads_of(a, c);
        tp_witness_tables(a, &reads, d.env, w);
        f->holds_when = tp_holds_when(a, c, d.env);
        if (f->holds_when.n)
            tp_propose_where(a, f, f->holds_when);
        f->label = c->label;
        f->note = c->note;
        if (replayed == 1)
            w->replay = "executed";
        if (replayed == 0) {
            a->out->contradiction = true;
            f->reason = TP_S("the machine runs its smallest case to the end");
        }
    }
    return f;
}

tp_finding *tp_claim_check(tp_analysis *a, tp_claim *c, const int64_t **env)
{
    tp_decision d = tp_claim_decide(a, c);
    return tp_claim_record(a, c, d, env);
}

/* ---- running ---- */

/* What is computed from a division by zero, or from a block of no elements,
 * has no value that could be judged. */
static void explain_undefined(tp_findings *f)
{
    static const struct {
        const char *rule, *reason;
    } CAUSES[] = {{"TP105", "a division by zero comes before it: see TP105"},
                  {"TP008", "an extent without meaning comes before it: see TP008"}};
    const char *reason = NULL;
    for (size_t c = 0; c < 2 && !reason; c++)
        for (uint32_t i = 0; i < f->len; i++)
            if (f->at[i].verdict == TP_VIOLATED && strcmp(f->at[i].rule, CAUSES[c].rule) == 0)
                reason = CAUSES[c].reason;
    for (uint32_t i = 0; reason && i < f->len; i++)
        if (f->at[i].verdict == TP_UNKNOWN)
            f->at[i].reason = tp_str_c(reason);
}

/* What is masked for one window is open where the index map gives another: the map comes first. */
static void explain_wrong_maps(tp_arena *a, tp_findings *f)
{
    const tp_finding *wrong = NULL;
    for (uint32_t i = 0; i < f->len && !wrong; i++)
        if (f->at[i].verdict == TP_VIOLATED && strcmp(f->at[i].rule, "TP101") == 0)
            wrong = &f->at[i];
    for (uint32_t i = 0; i < f->len && wrong; i++) {
        tp_finding *g = &f->at[i];
        if (g->verdict == TP_UNKNOWN &&
            (strcmp(g->rule, "TP501") == 0 || strcmp(g->rule, "TP404") == 0 || strcmp(g->rule, "TP401") == 0))
            g->reason = tp_printf(a, "the index map of `%.*s` leaves its array: see TP101%s%.*s",
                                  TP_FMT(wrong->subject), g->reason.n ? "; " : "", TP_FMT(g->reason));
    }
}

static bool selected(const tp_analysis_options *o, const tp_rule *r)
{
    for (size_t i = 0; o->only && i < o->nonly; i++)
        if (o->only[i] == r)
            return true;
    return !o->only;
}

static void keep_open(tp_findings *f)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->len; i++)
        if (f->at[i].verdict != TP_PROVEN)
            f->at[n++] = f->at[i];
    f->len = n;
}

/* Where nobody knows whether the domain is empty, every proof is given TP006. */
static void rest_on_domain(tp_arena *a, tp_findings *f)
{
    bool open = false;
    for (uint32_t i = 0; i < f->len; i++)
        open |= f->at[i].verdict == TP_UNKNOWN && strcmp(f->at[i].rule, "TP006") == 0;
    for (uint32_t i = 0; i < f->len && open; i++)
        if (f->at[i].verdict == TP_PROVEN)
            f->at[i].rests_on = tp_basis_join(a, f->at[i].rests_on, TP_S("TP006"));
}

static int gravity(tp_verdict v)
{
    return v == TP_VIOLATED ? 3 : v == TP_VACUOUS ? 2 : v == TP_UNKNOWN ? 1 : 0;
}

/* The findings over all dtype combinations. */
typedef struct merged {
    tp_findings all;
    tp_map first;          /* by rule, place and subject: index + 1 of the first */
    TP_VEC(uint32_t) next; /* index + 1 of the next one with that rule, place and subject */
} merged;

static bool is_same(const tp_finding *a, const tp_finding *b)
{
    if (a->verdict == b->verdict)
        return a->verdict == TP_PROVEN || tp_str_eq(a->message, b->message);
    return a->verdict == TP_PROVEN || b->verdict == TP_PROVEN;
}

/* One finding per rule and place: the worst over the dtype combinations. */
static void merge(tp_arena *arena, merged *m, const tp_findings *more)
{
    for (uint32_t i = 0; i < more->len; i++) {
        const tp_finding *f = &more->at[i];
        tp_str key = tp_printf(arena, "%s %u %.*s", f->rule, f->loc.start, TP_FMT(f->subject));
        uint32_t same = tp_map_get(&m->first, key), last = 0;
        while (same && !is_same(&m->all.at[same - 1], f)) {
            last = same;
            same = m->next.at[same - 1];
        }
        if (!same) {
            tp_push(arena, m->all, *f);
            tp_push(arena, m->next, 0);
            if (last)
                m->next.at[last - 1] = m->all.len;
            else
                tp_map_set(arena, &m->first, key, m->all.len);
        } else if (gravity(f->verdict) > gravity(m->all.at[same - 1].verdict)) {
            m->all.at[same - 1] = *f;
        } else {
            tp_finding *first = &m->all.at[same - 1];
            first->grade = f->grade > first->grade ? f->grade : first->grade;
            if (first->verdict == TP_PROVEN && f->verdict == TP_PROVEN)
                first->rests_on = tp_basis_join(arena, first->rests_on, f->rests_on);
        }
    }
}

/* What is wrong comes before what is open, and that before the rest; of what is wrong, causes before what follows from
 * them: no value, no steps, a window beside its array, an order of steps, then what reaches a result. */
static int precedence(const tp_finding *f)
{
    static const char *const ORDER[] = {"TP006", "TP105", "TP008", "TP007", "TP104", "TP103", "TP101", "TP405",
                                        "TP403", "TP402", "TP406", "TP204", "TP205", "TP201", "TP301", "TP302"};
    enum { RULES_IN_ORDER = sizeof ORDER / sizeof *ORDER };
    int n = 0;
    if (f->verdict != TP_VIOLATED && f->verdict != TP_VACUOUS)
        return RULES_IN_ORDER + (f->verdict == TP_UNKNOWN ? 1 : 2);
    while (n < RULES_IN_ORDER && strcmp(f->rule, ORDER[n]) != 0)
        n++;
    return n;
}

static int by_cause_and_place(const void *a, const void *b)
{
    const tp_finding *x = *(const tp_finding *const *)a, *y = *(const tp_finding *const *)b;
    if (precedence(x) != precedence(y))
        return precedence(x) - precedence(y);
    if (x->loc.start != y->loc.start)
        return x->loc.start < y->loc.start ? -1 : 1;
    int rule = strcmp(x->rule, y->rule);
    return rule ? rule : x < y ? -1 : x > y;
}

static tp_findings sorted(tp_arena *arena, const tp_findings *f)
{
    const tp_finding **order = TP_NEWN(arena, const tp_finding *, f->len);
    tp_findings out = {0};
    for (uint32_t i = 0; i < f->len; i++)
        order[i] = &f->at[i];
    qsort(order, f->len, sizeof *order, by_cause_and_place);
    for (uint32_t i = 0; i < f->len; i++)
        tp_push(arena, out, *order[i]);
    return out;
}

static void add_stats(tp_arena *arena, tp_prover_stats *to, const tp_prover_stats *s)
{
    if (s->disagreement.n)
        to->disagreement = tp_printf(arena, "%.*s", TP_FMT(s->disagreement));
    if (s->smt2_error.n)
        to->smt2_error = tp_printf(arena, "%.*s", TP_FMT(s->smt2_error));
    to->obligations += s->obligations;
    to->certified += s->certified;
    to->rejected += s->rejected;
    to->searched += s->searched;
    to->linear += s->linear;
    to->raw += s->raw;
    to->enumerated += s->enumerated;
    to->unknown += s->unknown;
}

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
    a->quick = tp_prover_new(a->work, a->p, &(tp_prover_options){.only_proof = true, .cache = o->prover.cache});
    a->search = tp_prover_new(a->work, a->p,
                              &(tp_prover_options){.no_solver = true, .few_points = true, .cache = o->prover.cache});
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

/* The rule could not say all that it has to say. */
static void add_undecided(tp_analysis *a, const tp_rule *rule)
{
    a->rule = rule;
    tp_finding *f = tp_add_finding(a, TP_UNKNOWN, (tp_str){NULL, 0},
                                   (tp_loc){a->k->doc->loc.start, a->k->doc->loc.start + 1, TP_S("")},
                                   tp_message(a, "could not decide: %s", rule->title));
    f->reason = tp_budget_reason(a->arena, tp_arena_budget(a->arena));
}

static void check_rule(void *arg)
{
    tp_analysis *a = arg;
    a->rule->check(a);
}

/* Leaves nothing of an analysis that was left in the middle. */
static tp_analysis *begin_again(tp_analysis *old)
{
    tp_analysis *a = tp_analysis_begin(old->arena, old->k, old->o);
    a->out = old->out;
    a->earlier = old->earlier;
    a->queries = old->queries;
    add_stats(a->arena, &a->out->stats, tp_prover_get_stats(old->prover));
    tp_analysis_end(old);
    return a;
}

/* With half of what is left; what a rule may not spend is left to the others. */
static tp_analysis *run_rule(tp_analysis *a, const tp_rule *rule)
{
    tp_budget *b = tp_arena_budget(a->arena);
    if (b && b->end != TP_BUDGET_OPEN)
        return add_undecided(a, rule), a;
    int64_t share = tp_budget_share(b, SHARE);
    uint32_t place = tp_budget_at(b, rule->code, (tp_str){NULL, 0});
    a->rule = rule;
    tp_prover *prover = a->prover;
    tp_status st = tp_try(a->arena, check_rule, a);
    a->prover = prover; /* left in the middle, it may stand for another one */
    if (st == TP_E_BUDGET)
        add_undecided(a, rule);
    else if (st != TP_OK)
        tp_leave(a->arena, st);
    tp_budget_back(b, place);
    tp_budget_close(b, share);
    return st == TP_E_BUDGET && b->end == TP_BUDGET_OPEN ? begin_again(a) : a;
}

void tp_analyze(tp_arena *arena, const tp_spec *s, const tp_analysis_options *o, tp_analysis_result *out)
{
    merged all = {0};
    for (uint32_t c = 0; c < s->nkernels; c++) {
        tp_analysis *a = tp_analysis_begin(arena, s->kernels[c], o);
        a->out = out;
        a->earlier = &all.all;
        out->findings = (tp_findings){0};
        for (size_t r = 0; r < sizeof RULES / sizeof *RULES && !a->vacuous; r++) {
            const tp_rule *rule = RULES[r];
            bool asked = selected(o, rule);
            if ((!asked && r > 0) || (c > 0 && !rule->per_dtype) || (rule->hardware && !a->k->target.checked))
                continue;
            a = run_rule(a, rule);
            if (!asked) /* TP006: on an empty domain nothing is proven, whatever was asked for */
                keep_open(&out->findings);
        }
        add_stats(arena, &out->stats, tp_prover_get_stats(a->prover));
        tp_analysis_end(a);
        explain_undefined(&out->findings);
        explain_wrong_maps(arena, &out->findings);
        merge(arena, &all, &out->findings);
        if (a->vacuous)
            break;
    }
    rest_on_domain(arena, &all.all);
    out->findings = sorted(arena, &all.all);
}
