/* Tier E5, the whole claim: each output of the kernel is that of the reference. */
#include "analyzer/equality/sum.h"
#include "base/budget.h"

typedef struct proving {
    summary *s;
    const tp_program *reference;
    tp_buf *print; /* not NULL: nothing is proven, only printed */
} proving;

static tp_str sum_text(summary *s, term t, bool kernel)
{
    enum { MOST = 400 };
    tp_buf b = {.arena = s->arena};
    s->strict = kernel;
    sum_print(s, &b, sum_limit(s, sum_of_term(s, t), kernel));
    tp_str text = tp_buf_view(&b);
    return text.n <= MOST ? text : tp_printf(s->arena, "%.*s...", MOST, text.p);
}

static _Noreturn void stop_at_difference(summary *s, const tp_operand *o, term kernel, term reference)
{
    s->out->detail = tp_printf(s->arena, "%.*s; in the reference %.*s", TP_FMT(sum_text(s, kernel, true)),
                               TP_FMT(sum_text(s, reference, false)));
    summary_stop(s, tp_printf(s->arena, "output `%.*s` is not shown to equal the reference", TP_FMT(o->name)));
}

static void print_terms(summary *s, const tp_operand *o, term kernel, term reference, tp_buf *b)
{
    tp_buf_printf(b, "%.*s\n  kernel    ", TP_FMT(o->name));
    s->strict = true;
    sum_print(s, b, sum_limit(s, sum_of_term(s, kernel), true));
    tp_buf_c(b, "\n  reference ");
    s->strict = false;
    sum_print(s, b, sum_limit(s, sum_of_term(s, reference), false));
    tp_buf_c(b, "\n");
}

/* The same where one of them wrote its last turn out, as steps of the grid do; which does so now. */
static bool equal_with_last_turns(summary *s, const premises *p, term *kernel, term *reference)
{
    term later = term_with_last_turns(s, *reference), late = term_with_last_turns(s, *kernel);
    if (later.id != reference->id && terms_equal(s, p, *kernel, later, true))
        *reference = later;
    else if (late.id != kernel->id && terms_equal(s, p, late, *reference, true))
        *kernel = late;
    else
        return false;
    return true;
}

typedef struct comparison {
    summary *s;
    const premises *p;
    term kernel, reference;
    bool equal;
} comparison;

static void compare_written_out(void *ctx)
{
    comparison *c = ctx;
    term kernel = term_written_out(c->s, c->kernel), reference = term_written_out(c->s, c->reference);
    if (kernel.id == c->kernel.id && reference.id == c->reference.id)
        return;
    record_open(c->s, TP_LAW_FEW);
    c->equal = terms_equal(c->s, c->p, kernel, reference, true);
}

/* The maximum of two columns is that over an axis of two. */
static bool equal_written_out(summary *s, const premises *p, term kernel, term reference)
{
    comparison c = {s, p, kernel, reference, false};
    return sum_try(s, false, compare_written_out, &c) && c.equal;
}

static void prove_all(void *arg)
{
    static const premises nothing = {.n = 0};
    proving *w = arg;
    summary *s = w->s;
    const tp_kernel *k = s->k;
    if (tp_is_connected(k))
        summary_stop(s, TP_S("devices write to each other's memory"));
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        if (tp_is_shard(&k->operands[i]))
            summary_stop(s, tp_printf(s->arena, "`%.*s` stays where it is, and each step sees a part of it",
                                      TP_FMT(k->operands[i].name)));
    literals_of(s, k->body, true);
    literals_of(s, w->reference, false);
    evaluation *body = evaluate_kernel(s), *reference = evaluate(s, w->reference, false);
    uint32_t compared = 0;
    for (uint32_t i = 0; i < k->noutputs; i++) {
        uint32_t operand = k->ninputs + i;
        const tp_operand *o = &k->operands[operand];
        tp_vid value = reference->p->operand_value[operand];
        tp_expr at[TP_MAX_RANK];
        s->node = NULL;
        s->syntax = NULL;
        if (o->discard || value < 0)
            continue;
        compared++;
        for (uint32_t d = 0; d < o->rank; d++)
            at[d] = summary_index(s, "e", o->shape[d]);
        term is = output_element(body, operand, at), wanted = with_turns(reference, element_of(reference, value, at));
        premises p = nothing;
        summary_fits(s, NULL, NULL);
        if (o->valid.id) { /* only these elements are compared */
            tp_expr *with = TP_NEWN(s->arena, tp_expr, tp_sym_count(s->p));
            for (uint32_t d = 0; d < o->rank; d++)
                with[o->element_syms[d]] = at[d];
            p = premises_with(s, &p, tp_expr_subst(s->p, o->valid, with, tp_sym_count(s->p)));
        }
        s->node = NULL;
        s->syntax = NULL;
        if (w->print) {
            print_terms(s, o, is, wanted, w->print);
            continue;
        }
        if (!terms_equal(s, &p, is, wanted, true) && !equal_with_last_turns(s, &p, &is, &wanted) &&
            !equal_written_out(s, &p, is, wanted))
            stop_at_difference(s, o, is, wanted);
        record_equal(s, &p, is, wanted, o->name);
    }
    if (compared == 0)
        summary_stop(s, TP_S("no output is compared with the reference"));
}

summary *summary_new(tp_arena *arena, const tp_kernel *k, const tp_analysis_options *o, tp_equality *out)
{
    summary *s = TP_NEW(arena, summary);
    tp_analysis_options *own = TP_NEW(arena, tp_analysis_options);
    *own = *o;
    own->prover.no_solver = true; /* many small questions: what needs a solver is left open */
    *s = (summary){
        .arena = arena, .a = tp_analysis_begin(arena, k, own), .k = k, .p = k->exprs, .out = out, .laws = &sum_laws};
    s->a->stores_at_start = !o->waits_named;
    tp_push(arena, s->phases, s->a);
    s->o = &own->prover;
    s->scan_law = scan_by_law;
    s->positive = TP_NEWN(arena, bool, tp_noperands(k));
    *out = (tp_equality){.grade = TP_GRADE_CERT};
    return s;
}

void summary_end(summary *s)
{
    for (uint32_t i = 0; i < s->phases.len; i++)
        tp_analysis_end(s->phases.at[i]);
}

/* How a proof is tried. */
typedef struct way {
    bool roundings, rolled;
    const turned_loops *turned;
} way;

static summary *summary_by(tp_arena *a, const tp_kernel *k, const tp_analysis_options *o, way by, tp_equality *out)
{
    summary *s = summary_new(a, by.turned ? by.turned->k : k, o, out);
    s->roundings = by.roundings;
    s->rolled = by.rolled;
    s->turned = by.turned;
    return s;
}

/* Once; false: literals that are taken for what they may mean could help. */
static bool try_to_prove(tp_arena *a, const tp_kernel *k, const tp_program *reference, const tp_analysis_options *o,
                         way by, tp_equality *out, bool *may_roll)
{
    proving w = {.s = summary_by(a, k, o, by, out), .reference = reference};
    tp_status st = tp_try(a, prove_all, &w);
    bool overflowed = tp_exprs_overflowed(k->exprs);
    summary_end(w.s);
    if (st == TP_E_MEMORY)
        tp_leave(a, st);
    out->proven = st == TP_OK && !overflowed;
    if (st == TP_E_BUDGET)
        out->reason = tp_budget_or(a, out->reason);
    else if (!out->proven && !out->reason.n)
        out->reason = TP_S("an expression is too large");
    *may_roll = w.s->may_roll;
    return out->proven || !literals_may_be_rounded(w.s);
}

void tp_prove_equality(tp_arena *a, const tp_kernel *k, const tp_program *reference, const tp_analysis_options *o,
                       tp_equality *out)
{
    way by = {.rolled = false};
    bool may_roll = true;
    for (int n = 0; n < 3; n++) {
        if (n == 2)
            by = (way){.turned = loops_as_axes(a, k, o, !o->waits_named)};
        if (n == 2 ? !by.turned : !may_roll)
            continue;
        by.roundings = false;
        if (!try_to_prove(a, k, reference, o, by, out, &may_roll)) {
            by.roundings = true;
            try_to_prove(a, k, reference, o, by, out, &may_roll);
        }
        if (out->proven)
            return;
        by.rolled = true;
    }
}

/* false: another try could come further. */
static bool print_terms_of(tp_arena *a, const tp_kernel *k, const tp_program *reference, const tp_analysis_options *o,
                           way by, tp_buf *b)
{
    tp_equality out;
    proving w = {summary_by(a, k, o, by, &out), reference, b};
    tp_status st = tp_try(a, prove_all, &w);
    summary_end(w.s);
    if (st == TP_E_MEMORY)
        tp_leave(a, st);
    if (st != TP_OK)
        tp_buf_printf(b, "stopped: %.*s\n", TP_FMT(out.reason));
    return st == TP_OK;
}

void tp_print_terms(tp_arena *a, const tp_kernel *k, const tp_program *reference, const tp_analysis_options *o,
                    tp_buf *b)
{
    tp_buf text = {.arena = a};
    const turned_loops *turned;
    if (!print_terms_of(a, k, reference, o, (way){.rolled = false}, &text)) {
        text = (tp_buf){.arena = a};
        if (!print_terms_of(a, k, reference, o, (way){.rolled = true}, &text) &&
            (turned = loops_as_axes(a, k, o, !o->waits_named))) {
            text = (tp_buf){.arena = a};
            print_terms_of(a, k, reference, o, (way){.turned = turned}, &text);
        }
    }
    tp_buf_str(b, tp_buf_view(&text));
}
