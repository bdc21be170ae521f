/* From the records of the definedness analysis to findings. */
#include "analyzer/flow/internal.h"
#include "base/checked.h"

/* The code of the rule that a leak into a sink breaks. */
static const char *leak_rule(const tp_sink *s, const tp_leak *l)
{
    if (l->birth == TP_BIRTH_OUTSIDE)
        return TP_RULE_PADDING_LEAK;
    if (l->birth == TP_BIRTH_MASKED)
        return TP_RULE_UNDEFINED_SOURCE;
    bool untouched = l->birth == TP_BIRTH_OUTPUT && s->kind == TP_SINK_OUTPUT && l->operand == s->operand && !l->stored;
    return untouched ? TP_RULE_OUTPUT_COVERAGE : TP_RULE_UNINITIALIZED_USE;
}

tp_claim tp_use_claim(tp_analysis *a, const tp_flow *f, const tp_use *u)
{
    enum { PATH = 96 };
    tp_expr *premises = TP_NEWN(a->arena, tp_expr, PATH + TP_GRANTED + 1); /* and one of the rule's */
    tp_claim c = {.over_steps = true, .premises = premises, .subject = a->k->name, .given = f->given};
    c.loc = tp_body_loc(a, u->node, u->syntax);
    c.npremises = tp_conjuncts(a, u->path, premises, PATH);
    uint32_t windows = tp_meeting_windows(a, true, premises + c.npremises);
    c.npremises += windows;
    c.rests_on = windows ? TP_RULE_BLOCK_OUT_OF_BOUNDS : NULL;
    tp_flow_vars(a, f, u->rank, u->dims, &c);
    if (!u->exact)
        c.approximate = "whether this statement runs depends on data";
    c.executed = a->rule->traps;
    return c;
}

/* Of what the running rule speaks. */
static unsigned births_of_rule(const tp_analysis *a)
{
    if (strcmp(a->rule->code, TP_RULE_PADDING_LEAK) == 0)
        return 1 << TP_BIRTH_OUTSIDE;
    return strcmp(a->rule->code, TP_RULE_UNDEFINED_SOURCE) == 0 ? 1 << TP_BIRTH_MASKED
                                                                : 1 << TP_BIRTH_SCRATCH | 1 << TP_BIRTH_OUTPUT;
}

void tp_use_unknown(tp_analysis *a, const tp_claim *c, const char *reason)
{
    tp_claim_record(a, c, (tp_decision){.verdict = TP_UNKNOWN, .reason = tp_str_c(reason)}, NULL);
}

static const char *sink_text(const tp_sink *s)
{
    switch (s->kind) {
    case TP_SINK_BRANCH: return "a branch condition";
    case TP_SINK_BOUND: return "a loop bound";
    case TP_SINK_INDEX: return "an index";
    case TP_SINK_CHECK: return "the condition of a check";
    case TP_SINK_OUTPUT: break;
    }
    return "";
}

/* o[130, 0]: the element of the array at lane env. */
static tp_str element_text(tp_analysis *a, const tp_flow *f, const tp_operand *o, const int64_t *env)
{
    tp_buf b = {.arena = a->arena};
    uint32_t lane = 0;
    tp_buf_printf(&b, "%.*s[", TP_FMT(o->name));
    for (uint32_t d = 0; d < o->rank; d++) {
        const tp_dim *dim = &o->dims[d];
        int64_t index = 0, block = 1, lo = 0, at = 0, element;
        if (!o->whole) {
            tp_expr_eval(a->p, dim->index, env, &index);
            tp_expr_eval(a->p, dim->block, env, &block);
        }
        if (dim->kind == TP_DIM_ELEMENT) {
            tp_expr_eval(a->p, dim->pad_lo, env, &lo);
            block = 1;
        }
        if (dim->kind != TP_DIM_SQUEEZED)
            tp_expr_eval(a->p, f->lane[lane++], env, &at);
        bool known = tp_mul(index, block, &element) && tp_sub(element, lo, &element) && tp_add(element, at, &element);
        tp_buf_c(&b, d ? ", " : "");
        tp_buf_printf(&b, known ? "%lld" : "?", (long long)element);
    }
    tp_buf_c(&b, "]");
    return tp_buf_view(&b);
}

static tp_str source_text(tp_analysis *a, const tp_leak *l)
{
    const tp_operand *o = &a->k->operands[l->operand];
    switch (l->birth) {
    case TP_BIRTH_OUTSIDE:
        if (l->dim == o->rank)
            return tp_message(a, "elements of `%.*s` that are not valid", TP_FMT(o->name));
        return tp_message(a, "elements of the window of `%.*s` outside dimension %u (%.*s)", TP_FMT(o->name),
                          tp_global_dim(o, l->dim), TP_FMT(tp_text(a, o->shape[l->dim])));
    case TP_BIRTH_SCRATCH: return tp_message(a, "unwritten elements of scratch `%.*s`", TP_FMT(o->name));
    case TP_BIRTH_MASKED: return tp_message(a, "masked-off lanes of a load of `%.*s`", TP_FMT(o->name));
    case TP_BIRTH_OUTPUT: return tp_message(a, "unwritten elements of the output window of `%.*s`", TP_FMT(o->name));
    }
    return TP_S("undefined elements");
}

/* What the lanes may hold, for the reduction that they go through. */
static tp_str neutral(tp_analysis *a, const tp_leak *l)
{
    return flow_neutral(a, l->through, a->k->operands[l->operand].dtype);
}

/* A read, and the name of the local that it is assigned to; empty: none. */
typedef struct masked {
    const tp_node *read;
    tp_str name;
} masked;

/* The call of where() whose first arm it is; NULL: there is none. */
static const tp_node *mask_around(const tp_node *n, const masked *m)
{
    const tp_node *found = NULL, *arm = n && n->kind == TP_N_CALL && n->nkids == 3 ? n->kids[1] : NULL;
    if (arm && tp_str_is(n->text, "where") &&
        (arm == m->read || (m->name.n && arm->kind == TP_N_NAME && tp_str_eq(arm->text, m->name))))
        return n;
    for (uint32_t i = 0; n && i < n->nkids && !found; i++)
        found = mask_around(n->kids[i], m);
    return found;
}

static const tp_node *mask_in_block(const tp_block *b, masked *m)
{
    const tp_node *found = NULL;
    for (uint32_t i = 0; i < b->len && !found; i++) {
        const tp_syntax *s = b->at[i];
        if (s->kind == TP_S_ASSIGN && s->value == m->read)
            m->name = s->target->text;
        found = mask_around(s->value, m);
        found = found ? found : mask_in_block(&s->body, m);
        found = found ? found : mask_in_block(&s->orelse, m);
    }
    return found;
}

/* k * bk + iota(int32, (bm, bk), 1) < K */
static tp_str inside_text(tp_analysis *a, const tp_leak *l)
{
    const tp_operand *o = &a->k->operands[l->operand];
    if (l->dim == o->rank) /* "valid" */
        return (tp_str){NULL, 0};
    const tp_dim *dim = &o->dims[l->dim];
    tp_buf b = {.arena = a->arena};
    uint32_t lane = 0;
    bool whole = l->read && l->read->nkids == 2 && l->read->kids[1]->kind == TP_N_ELLIPSIS;
    if (!whole || dim->kind != TP_DIM_BLOCKED || o->ref_rank == 0)
        return (tp_str){NULL, 0};
    for (uint32_t d = 0; d < l->dim; d++)
        lane += o->dims[d].kind != TP_DIM_SQUEEZED;
    tp_expr start = mk(a, TP_E_MUL, dim->index, dim->block);
    int64_t zero;
    if (!tp_expr_is_const(a->p, tp_expr_normal(a->p, start), &zero) || zero)
        tp_buf_printf(&b, "%.*s + ", TP_FMT(tp_text(a, start)));
    tp_buf_c(&b, "iota(int32, (");
    for (uint32_t d = 0; d < o->ref_rank; d++)
        tp_buf_printf(&b, "%s%.*s", d ? ", " : "", TP_FMT(tp_text(a, o->ref_shape[d])));
    tp_buf_printf(&b, "%s), %u) < %.*s", o->ref_rank == 1 ? "," : "", lane, TP_FMT(tp_text(a, o->shape[l->dim])));
    return tp_buf_view(&b);
}

/* where(inside, x[...], 0); under a mask that leaves such elements out but not all of them its condition is what is
 * wrong, or lacks a part. */
static void propose_mask(tp_analysis *a, tp_finding *f, const tp_leak *l)
{
    tp_str inside = inside_text(a, l);
    if (!inside.n) {
        f->help = TP_S("select before use: `where(in_range, value, neutral_element)`");
        return;
    }
    tp_buf read = {.arena = a->arena};
    tp_print_node(&read, l->read);
    tp_str mask =
        tp_message(a, "where(%.*s, %.*s, %.*s)", TP_FMT(inside), TP_FMT(tp_buf_view(&read)), TP_FMT(neutral(a, l)));
    f->help = tp_message(a, "select before use: `%.*s`", TP_FMT(mask));
    masked m = {.read = l->read};
    const tp_node *around = mask_in_block(&a->k->body->syntax, &m);
    if (around) {
        tp_loc at = tp_body_loc(a, around->kids[0], NULL);
        tp_str was = tp_source_text(a, at);
        f->help = tp_message(a, "the mask `%.*s` does not leave them out: `%.*s` does", TP_FMT(was), TP_FMT(inside));
        tp_edit edit = {at.start, at.end, inside};
        tp_propose(a, f, tp_message(a, "mask by `%.*s`", TP_FMT(inside)), &edit, 1);
        edit.text = tp_message(a, "(%.*s) & (%.*s)", TP_FMT(was), TP_FMT(inside));
        tp_propose(a, f, tp_message(a, "mask by `%.*s`, too", TP_FMT(inside)), &edit, 1);
    } else {
        tp_propose_expr(a, f, f->loc, mask);
    }
}

/* load(x, mask)  ->  load(x, mask, other=0) */
static void propose_other(tp_analysis *a, tp_finding *f, const tp_leak *l)
{
    tp_str call = tp_source_text(a, f->loc), other = tp_message(a, "other=%.*s", TP_FMT(neutral(a, l)));
    if (call.n < 5 || memcmp(call.p, "load(", 5) != 0 || call.p[call.n - 1] != ')')
        return;
    tp_edit edit = {f->loc.end - 1, f->loc.end - 1, tp_message(a, ", %.*s", TP_FMT(other))};
    tp_propose(a, f, tp_message(a, "add `%.*s`", TP_FMT(other)), &edit, 1);
}

/* The fastest axis of several steps, where it is parallel: what a step leaves in scratch the next one does not find. */
static const tp_axis *forgetful_axis(const tp_analysis *a)
{
    for (uint32_t x = a->k->naxes; x-- > 0;) {
        int64_t steps;
        if (!tp_expr_is_const(a->p, a->k->axes[x].steps, &steps) || steps != 1)
            return a->k->axes[x].parallel ? &a->k->axes[x] : NULL;
    }
    return NULL;
}

static void advise(tp_analysis *a, tp_finding *f, const tp_leak *l)
{
    if (l->birth == TP_BIRTH_OUTSIDE) {
        f->note = TP_S("JAX does not report this: the hardware reads whatever lies there, interpret=True shows NaN for "
                       "floats and nothing for integers");
        propose_mask(a, f, l);
    } else if (l->birth == TP_BIRTH_MASKED) {
        f->help = tp_message(a, "give these lanes a value: `other=%.*s`", TP_FMT(neutral(a, l)));
        propose_other(a, f, l);
    } else if (strcmp(f->rule, TP_RULE_OUTPUT_COVERAGE) == 0) {
        flow_advise_store(a, f, l->operand);
    } else if (tp_str_is(a->k->operands[l->operand].name, TP_PRNG_STATE)) {
        f->help = TP_S("call prng_seed before prng_random_bits; with `\"parallel\"` axes in each step");
    } else if (a->k->operands[l->operand].implied) {
        f->help = TP_S("a mutable table holds its contents from the first step on, as long as no parallel coordinate "
                       "changes: drop `\"parallel\"`");
    } else {
        const tp_axis *x = l->birth == TP_BIRTH_SCRATCH ? forgetful_axis(a) : NULL;
        tp_str when = flow_first_on_block(a, l->operand);
        f->help = x        ? tp_message(a,
                                        "scratch does not last from one step of the parallel axis `%.*s` to the next: declare "
                                               "`%.*s` `\"arbitrary\"`, or initialise it in each step",
                                        TP_FMT(x->name), TP_FMT(x->name))
                  : when.n ? tp_message(a, "initialise it in the first step on each block: `if %.*s:`", TP_FMT(when))
                           : tp_str_c(a->rule->trap_help);
        for (uint32_t y = 0; x && &a->k->axes[y] < x; y++)
            if (!a->k->axes[y].parallel) { /* that one is meant to be the faster */
                tp_propose_order(a, f, y, (uint32_t)(x - a->k->axes));
                break;
            }
        if (x)
            tp_propose_semantics(a, f, (uint32_t)(x - a->k->axes), "arbitrary");
        flow_propose_start(a, f, l->operand);
    }
}

static tp_claim claim_of(tp_analysis *a, const tp_flow *f, const tp_sink *s, const tp_leak *l)
{
    const tp_operand *source = &a->k->operands[l->operand];
    enum { PATH = 128, WHEN = 96, OF_RULE = 8 };
    tp_expr *premises = TP_NEWN(a->arena, tp_expr, PATH + WHEN + TP_GRANTED + OF_RULE);
    tp_claim c = {.goal = num(a, 0), .over_steps = true, .premises = premises, .given = f->given};
    bool output = s->kind == TP_SINK_OUTPUT;
    tp_str target =
        output ? tp_message(a, "output `%.*s`", TP_FMT(a->k->operands[s->operand].name)) : tp_str_c(sink_text(s));
    c.npremises = tp_conjuncts(a, s->path, premises, PATH);
    c.npremises += tp_conjuncts(a, l->when, premises + c.npremises, WHEN);
    uint32_t nmeeting = tp_meeting_windows(a, true, premises + c.npremises);
    c.npremises += nmeeting;
    c.rests_on = nmeeting ? TP_RULE_BLOCK_OUT_OF_BOUNDS : NULL;
    tp_flow_vars(a, f, s->rank, s->dims, &c);
    c.subject = output ? a->k->operands[s->operand].name : source->name;
    c.origin = source->name;
    c.loc = tp_body_loc(a, l->read, s->syntax);
    if (!l->read && output)
        c.loc = a->k->operands[s->operand].loc;
    if (strcmp(a->rule->code, TP_RULE_OUTPUT_COVERAGE) == 0)
        c.violated = tp_message(a, "an element of output `%.*s` can be unwritten when its block is copied out",
                                TP_FMT(source->name));
    else
        c.violated = tp_message(a, "%.*s can reach %.*s", TP_FMT(source_text(a, l)), TP_FMT(target));
    c.proven = tp_message(a, "%.*s never reach %.*s", TP_FMT(source_text(a, l)), TP_FMT(target));
    c.label = TP_S("");
    if (l->birth == TP_BIRTH_OUTSIDE && l->dim == source->rank)
        c.label = tp_message(a, "undefined unless %.*s", TP_FMT(tp_text(a, source->valid)));
    else if (l->birth == TP_BIRTH_OUTSIDE)
        c.label = tp_message(a, "undefined outside the %.*s of dimension %u", TP_FMT(tp_text(a, source->shape[l->dim])),
                             tp_global_dim(source, l->dim));
    if (f->in_flight.n)
        c.approximate =
            tp_printf(a->arena,
                      "what a copy leaves is known where " TP_RULE_IN_FLIGHT " is proven, and it is not: %.*s",
                      TP_FMT(f->in_flight))
                .p;
    else if (!s->exact || !l->exact)
        c.approximate = "only a necessary condition for it is known";
    else if (f->copies)
        c.approximate = "what a copy leaves is there once it has been waited for, which is asked by " TP_RULE_IN_FLIGHT;
    return c;
}

static bool is_of_rule(const tp_analysis *a, const tp_sink *s, const tp_leak *l)
{
    return strcmp(leak_rule(s, l), a->rule->code) == 0;
}

/* Those that c's finding hides, since they are of the same source and place. */
static void add_beside(tp_analysis *a, const tp_flow *f, const tp_leak *own, tp_claim *c)
{
    TP_VEC(tp_claim) beside = {0};
    for (uint32_t i = 0; i < f->sinks.len; i++)
        for (uint32_t j = 0; j < f->sinks.at[i].leaks.len; j++) {
            const tp_leak *l = &f->sinks.at[i].leaks.at[j];
            if (l == own || !is_of_rule(a, &f->sinks.at[i], l))
                continue;
            tp_claim other = claim_of(a, f, &f->sinks.at[i], l);
            if (other.loc.start == c->loc.start && tp_str_eq(other.subject, c->subject))
                tp_push(a->arena, beside, other);
        }
    c->beside = beside.at;
    c->nbeside = beside.len;
}

/* Already said: the same source read at the same place. */
static bool is_reported(const tp_analysis *a, uint32_t from, const tp_claim *c)
{
    for (uint32_t i = from; i < a->out->findings.len; i++) {
        const tp_finding *f = &a->out->findings.at[i];
        if (f->verdict != TP_PROVEN && f->loc.start == c->loc.start && tp_str_eq(f->subject, c->subject))
            return true;
    }
    return false;
}

static bool not_known(tp_analysis *a, const tp_flow *f, tp_str why, bool traps)
{
    if (!why.n)
        return false;
    if (traps && tp_runs_to_the_end(a)) {
        tp_add_finding(a, TP_PROVEN, a->k->name, a->k->doc->loc, tp_message(a, "%s, in the only run", a->rule->title))
            ->grade = TP_GRADE_EXACT;
        return true;
    }
    tp_loc loc = f->in_flight_at ? tp_body_loc(a, NULL, f->in_flight_at) : a->k->doc->loc;
    tp_finding *unknown = tp_add_finding(a, TP_UNKNOWN, a->k->name, loc,
                                         tp_message(a, "could not decide: %s for the body", a->rule->title));
    unknown->reason = why;
    return true;
}

bool tp_flow_gave_up(tp_analysis *a, const tp_flow *f, bool traps)
{
    return f && not_known(a, f, f->gave_up, traps);
}

typedef struct tally {
    uint32_t open;
    bool kept; /* kept_unwritten() */
    tp_grade grade;
    tp_str rests_on;
} tally;

/* An element of the output window that nobody wrote and a statement copied back
 * (a store under a mask does): TP404 tells it, and TP401 may not say that all is written. */
static bool kept_unwritten(const tp_sink *s, const tp_leak *l)
{
    return s->kind == TP_SINK_OUTPUT && l->birth == TP_BIRTH_OUTPUT && l->operand == s->operand && l->stored;
}

/* An element of an output that stays where it is, and that nobody wrote. */
static bool never_written(const tp_analysis *a, const tp_sink *s, const tp_leak *l)
{
    return s->kind == TP_SINK_OUTPUT && l->birth == TP_BIRTH_OUTPUT && l->operand == s->operand && !l->stored &&
           !l->read && tp_is_far(&a->k->operands[s->operand]);
}

/* Of what is not proven, or refuted for sure, the only run tells, if there is one. */
static tp_decision decide_or_run(tp_analysis *a, tp_claim *c)
{
    tp_decision d = tp_claim_decide(a, c);
    if (d.verdict != TP_PROVEN && (d.verdict == TP_UNKNOWN || c->approximate) && tp_runs_to_the_end(a))
        d = (tp_decision){.verdict = TP_PROVEN, .grade = TP_GRADE_EXACT};
    return d;
}

static void check_sink(tp_analysis *a, const tp_flow *f, const tp_sink *s, bool exact, uint32_t from, tally *t)
{
    for (uint32_t i = 0; i < s->leaks.len; i++) {
        const tp_leak *l = &s->leaks.at[i];
        const int64_t *env;
        bool kept = strcmp(a->rule->code, TP_RULE_OUTPUT_COVERAGE) == 0 && kept_unwritten(s, l);
        if ((!is_of_rule(a, s, l) && !kept) || (l->exact && s->exact) != exact)
            continue;
        tp_claim c = claim_of(a, f, s, l);
        if (!kept && is_reported(a, from, &c))
            continue;
        bool far = never_written(a, s, l) && !tp_is_shard(&a->k->operands[s->operand]);
        c.only_proof = far; /* contents of tables that break it cost more than a proof that all is written */
        tp_decision d = decide_or_run(a, &c);
        if (d.verdict != TP_PROVEN && far && flow_all_written(a, f, s->operand, &t->grade, &t->rests_on))
            continue;
        c.only_proof = false;
        if (d.verdict != TP_PROVEN && far && tp_has_entries(a->k))
            d = decide_or_run(a, &c);
        if (d.verdict == TP_PROVEN) {
            t->rests_on = tp_basis_join(a->arena, t->rests_on, tp_claim_basis(a, &c));
            t->grade = d.grade > t->grade ? d.grade : t->grade;
            continue;
        }
        t->open++;
        t->kept |= kept;
        if (kept)
            continue;
        if (d.verdict == TP_VIOLATED && !a->o->verdicts_only)
            add_beside(a, f, l, &c);
        tp_finding *found = tp_claim_record(a, &c, d, &env);
        if (found->verdict != TP_VIOLATED)
            continue;
        if (s->kind == TP_SINK_OUTPUT && !found->witness->detail.n)
            found->witness->detail = tp_message(
                a, strcmp(a->rule->code, TP_RULE_OUTPUT_COVERAGE) == 0 ? "%.*s is not written" : "%.*s depends on them",
                TP_FMT(element_text(a, f, &a->k->operands[s->operand], env)));
        advise(a, found, l);
    }
}

/* All sinks of one output, or all others; sure leaks first: what is
 * only bounded must not hide them. */
static tally check_sinks(tp_analysis *a, const tp_flow *f, bool outputs, uint32_t operand, uint32_t from)
{
    tally t = {.grade = TP_GRADE_NONE, .rests_on = flow_basis(a, f, births_of_rule(a))};
    if (a->received) {
        t.grade = a->received_grade;
        t.rests_on = tp_basis_join(a->arena, t.rests_on, a->received_by);
    }
    if (f->copies)
        t.rests_on = tp_basis_join(a->arena, t.rests_on, TP_S(TP_RULE_IN_FLIGHT));
    bool written = outputs && strcmp(a->rule->code, TP_RULE_OUTPUT_COVERAGE) == 0; /* which no step does, without any */
    if (written && a->k->naxes && !tp_is_proven(a, TP_RULE_ZERO_STEP))
        t.rests_on = tp_basis_join(a->arena, t.rests_on, TP_S(TP_RULE_ZERO_STEP));
    for (int exact = 1; exact >= 0; exact--)
        for (uint32_t i = 0; i < f->sinks.len; i++) {
            const tp_sink *s = &f->sinks.at[i];
            if ((s->kind == TP_SINK_OUTPUT) == outputs && (!outputs || s->operand == operand))
                check_sink(a, f, s, exact, from, &t);
        }
    return t;
}

static const tp_flow *flow_of_memory(tp_analysis *a)
{
    const tp_flow *f = tp_flow_of(a);
    return f && f->memory ? f->memory : f;
}

void tp_check_leaks(tp_analysis *a, const char *proven)
{
    const tp_flow *f = flow_of_memory(a);
    uint32_t from = a->out->findings.len;
    bool by_execution = f && tp_flow_no_memory(f).n && tp_runs_to_the_end(a);
    if (!f || (!by_execution && not_known(a, f, tp_flow_no_memory(f), false)))
        return;
    for (uint32_t o = a->k->ninputs; o < a->k->ninputs + a->k->noutputs; o++) {
        const tp_operand *out = &a->k->operands[o];
        if (out->discard)
            continue;
        tally t = by_execution ? (tally){.grade = TP_GRADE_EXACT} : check_sinks(a, f, true, o, from);
        if (t.kept)
            tp_add_finding(a, TP_UNKNOWN, out->name, out->loc,
                           tp_message(a, "could not decide: %s `%.*s`", proven, TP_FMT(out->name)))
                ->reason = TP_S("unwritten elements are copied out to it: see " TP_RULE_UNINITIALIZED_USE);
        if (t.open)
            continue;
        tp_finding *ok =
            tp_add_finding(a, TP_PROVEN, out->name, out->loc, tp_message(a, "%s `%.*s`", proven, TP_FMT(out->name)));
        ok->grade = t.grade == TP_GRADE_NONE ? TP_GRADE_EXACT : t.grade; /* no arithmetic at all */
        ok->rests_on = t.rests_on;
    }
    if (!by_execution)
        check_sinks(a, f, false, 0, from);
}

bool tp_never_reaches(tp_analysis *a, uint32_t from)
{
    const tp_flow *f = flow_of_memory(a);
    if (!f || tp_flow_no_memory(f).n)
        return false;
    for (uint32_t i = 0; i < f->sinks.len; i++)
        for (uint32_t n = 0; n < f->sinks.at[i].leaks.len; n++) {
            const tp_leak *l = &f->sinks.at[i].leaks.at[n];
            if (l->operand < from)
                continue;
            tp_claim c = claim_of(a, f, &f->sinks.at[i], l);
            if (tp_claim_decide(a, &c).verdict != TP_PROVEN)
                return false;
        }
    return true;
}
