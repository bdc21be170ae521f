/* Execution as evidence: replaying witnesses, and turning traps and
 * differences into findings at small sizes. */
#include <math.h>

#include "reference/reference.h"
#include "spec/table.h"
#include "verify/verify.h"

bool tp_traps(const char *rule)
{
    const tp_rule *row = tp_rule_find(tp_str_c(rule));
    return row && row->traps;
}

int tp_replay_witness(void *ctx, const tp_kernel *k, const int64_t *env, const char *rule, tp_trapped *out)
{
    enum { REPLAY_STEPS = 200000 };
    const size_t *max_memory = ctx;
    if (!tp_traps(rule) || !k->body)
        return -1;
    tp_arena *a = tp_arena_child_limited(k->arena, *max_memory);
    tp_case c = {.kernel = k, .env = tp_env_copy(a, k, env), .loc = k->doc->loc, .numbers = true};
    tp_cases cases = {.at = &c, .len = 1};
    tp_equiv_options o = {.max_memory = *max_memory, .max_steps = REPLAY_STEPS, .repeated = true};
    tp_kernel without = *k; /* only the machine's opinion is wanted */
    without.reference = (tp_reference){0};
    c.kernel = &without;
    tp_equiv *e = TP_NEW(a, tp_equiv);
    tp_equiv_run(a, &cases, &o, e);
    const tp_case_result *r = &e->cases.at[0];
    int answer = r->outcome == TP_TRAPPED ? (strcmp(r->trap.rule, rule) == 0 ? 1 : -1) : -1;
    if (r->outcome == TP_SKIPPED && r->steps > 0)
        answer = 0; /* it ran to the end */
    if (r->outcome == TP_TRAPPED && out) {
        *out = (tp_trapped){.arena = out->arena, .rule = r->trap.rule, .loc = r->trap.loc};
        out->message = tp_printf(out->arena, "%.*s", TP_FMT(r->trap.message));
        out->subject = tp_printf(out->arena, "%.*s", TP_FMT(r->trap.subject));
        out->origin = tp_printf(out->arena, "%.*s", TP_FMT(r->trap.origin));
        out->loc.pointer = tp_printf(out->arena, "%.*s", TP_FMT(r->trap.loc.pointer));
        for (uint32_t i = 0; i < r->trap.coordinates.len; i++)
            tp_push(out->arena, out->step, r->trap.coordinates.at[i]);
    }
    tp_arena_free(a);
    return answer;
}

/* ---- shrinking ---- */

static const tp_output_diff *worst_output(const tp_case_result *r, bool by_rounding);

static bool same_failure(const tp_case_result *a, const tp_case_result *b)
{
    return a->outcome == b->outcome && (a->outcome != TP_TRAPPED || (strcmp(a->trap.rule, b->trap.rule) == 0 &&
                                                                     tp_str_eq(a->trap.subject, b->trap.subject)));
}

static bool still_fails(tp_arena *a, tp_case *c, const tp_equiv_options *o, const tp_case_result *like,
                        tp_case_result *out)
{
    tp_str why;
    if (!tp_in_domain(c->kernel, c->env, &why) ||
        (c->kernel->ntables && !tp_tables_of_seed(a, c->kernel, c->env, NULL, 0, tp_case_table_seed(c))) ||
        (c->against && !tp_case_against(a, c, c->against->kernel, &why)))
        return false;
    tp_cases one = {.at = c, .len = 1};
    tp_equiv e;
    tp_equiv_run(a, &one, o, &e);
    *out = e.cases.at[0];
    return same_failure(out, like);
}

/* The same failure at smaller sizes: each size down to the least value that
 * still fails, by bisection over a handful of tries. */
static void shrink(tp_arena *a, const tp_equiv_options *o, tp_case_result *r)
{
    const tp_kernel *k = r->the_case->kernel;
    tp_case *c = TP_NEW(a, tp_case);
    int tries = 60;
    *c = *r->the_case;
    c->numbers = true; /* bits only where they alone told the difference */
    c->algebra = false;
    c->bits = r->outcome == TP_DIFFERENT && worst_output(r, false)->tier != TP_TIER_DIFFERENT;
    tp_case_result best = *r;
    for (int round = 0; round < 2 && !c->tables && !c->given; round++)
        for (uint32_t i = 0; i < k->nsizes; i++) {
            const tp_size *s = &k->sizes[i];
            if (s->kind != TP_SIZE_RANGE)
                continue;
            int64_t least = tp_size_least(s), lo = least, hi = c->env[s->sym];
            while (lo < hi && tries-- > 0) {
                int64_t mid = lo == least && hi - lo > s->multiple_of && round == 0
                                  ? least
                                  : lo + (hi - lo) / 2 / s->multiple_of * s->multiple_of;
                tp_case smaller = *c;
                tp_case_result now;
                smaller.env = tp_env_copy(a, k, c->env); /* tables of its own, too */
                smaller.env[s->sym] = mid;
                if (still_fails(a, &smaller, o, r, &now)) {
                    best = now;
                    hi = mid;
                    *c = smaller;
                } else {
                    lo = mid + s->multiple_of;
                }
            }
        }
    best.the_case = c;
    *r = best;
}

/* ---- findings ---- */

static const char *slug_of(const char *name)
{
    const tp_rule *rule = tp_rule_find(tp_str_c(name));
    const tp_code *code = tp_code_find(tp_str_c(name));
    return rule ? rule->slug : code ? code->slug : "trap";
}

/* The entries of tables that the spec leaves open, where they are few: the case is one by them, too. */
static void name_entries(tp_arena *a, const tp_case *c, tp_witness *w)
{
    enum { FEW = 4 };
    for (uint32_t t = 0; t < c->kernel->ntables; t++) {
        const tp_table *table = &c->kernel->tables[t];
        const tp_table_data *d = tp_bound_table(c->env, table->sym);
        int64_t n = d && !table->contents ? tp_entries_of(d) : 0;
        for (int64_t i = 0; i < n && n <= FEW; i++) {
            tp_buf b = {.arena = a};
            int64_t rest = n, at = i;
            tp_buf_str(&b, table->name);
            for (uint32_t k = 0; k < d->rank; k++) {
                rest /= d->dims[k];
                tp_buf_printf(&b, "%s%lld", k ? ", " : "[", (long long)(at / rest));
                at %= rest;
            }
            tp_buf_c(&b, d->rank ? "]" : "");
            tp_push(a, w->tables, (tp_binding){tp_buf_view(&b), d->at[i]});
        }
    }
}

tp_witness *tp_witness_of_case(tp_arena *a, const tp_case *c)
{
    const tp_kernel *k = c->kernel;
    tp_witness *w = TP_NEW(a, tp_witness);
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (tp_is_open_size(&k->sizes[i]))
            tp_push(a, w->sizes, (tp_binding){k->sizes[i].name, c->env[k->sizes[i].sym]});
    name_entries(a, c, w);
    w->dtypes = tp_dtypes_text(k);
    w->replay = "executed";
    return w;
}

static tp_finding trap_finding(tp_arena *a, const tp_case_result *r)
{
    const tp_kernel *k = r->the_case->kernel;
    const tp_trap *t = &r->trap;
    tp_witness *w = tp_witness_of_case(a, r->the_case);
    int operand = t->subject.n ? tp_operand_find(k, t->subject) : -1;
    tp_finding f = {.rule = t->rule,
                    .slug = slug_of(t->rule),
                    .verdict = TP_VIOLATED,
                    .severity = TP_ERROR,
                    .subject = t->subject,
                    .message = t->message};
    f.loc = t->loc.end     ? t->loc
            : operand >= 0 ? k->operands[operand].loc
                           : (tp_loc){k->doc->loc.start, k->doc->loc.start + 1, TP_S("")};
    for (uint32_t i = 0; i < t->coordinates.len; i++)
        tp_push(a, w->step, t->coordinates.at[i]);
    f.witness = w;
    const tp_rule *rule = tp_rule_find(tp_str_c(t->rule));
    if (rule)
        f.help = tp_trap_help(rule, t->origin);
    return f;
}

static const tp_output_diff *worst_output(const tp_case_result *r, bool by_rounding)
{
    const tp_output_diff *d = &r->outputs.at[0];
    for (uint32_t i = 1; i < r->outputs.len; i++) {
        const tp_output_diff *o = &r->outputs.at[i];
        if (by_rounding ? o->rounding > d->rounding : o->ratio > d->ratio)
            d = o;
    }
    return d;
}

static tp_finding output_finding(const char *rule, const tp_case_result *r, const tp_output_diff *d)
{
    int operand = tp_operand_find(r->the_case->kernel, d->name);
    return (tp_finding){.rule = rule,
                        .slug = slug_of(rule),
                        .verdict = TP_VIOLATED,
                        .severity = TP_ERROR,
                        .subject = d->name,
                        .loc = r->the_case->kernel->operands[operand].loc};
}

/* The sign of a NaN says nothing. */
static tp_str number(tp_arena *a, double v)
{
    return isnan(v) ? TP_S("nan") : tp_printf(a, "%.9g", v);
}

static tp_str why_not_finite(double got)
{
    return isnan(got) ? TP_S("nan comes from 0 / 0, from inf - inf, and from arithmetic with another nan")
                      : TP_S("infinity comes from an overflow, a division by 0, or log(0)");
}

#define CLOSE 1e-6 /* relative: more than rounding leaves of float32, less than anybody sees */

static tp_finding difference_finding(tp_arena *a, const tp_case_result *r)
{
    const tp_output_diff *d = worst_output(r, false);
    tp_finding f = output_finding(TP_RULE_NOT_EQUIVALENT, r, d);
    const tp_kernel *k = r->the_case->kernel;
    tp_loc store = tp_last_store(k, (uint32_t)tp_operand_find(k, d->name));
    if (store.end > store.start)
        f.loc = store;
    tp_witness *w = tp_witness_of_case(a, r->the_case);
    f.message = tp_printf(a, "output `%.*s` differs from the reference", TP_FMT(d->name));
    bool numbers = d->tier == TP_TIER_DIFFERENT;
    double got = numbers ? d->got : r->bits.got, want = numbers ? d->want : r->bits.want;
    tp_str worst = numbers ? d->worst : r->bits.worst,
           says = tp_printf(a, "%.*s is %.*s, the %s says %.*s", TP_FMT(worst), TP_FMT(number(a, got)),
                            r->the_case->against ? "old one" : "reference", TP_FMT(number(a, want)));
    if (!numbers)
        w->detail = tp_printf(a, "on integers from -%lld to %lld, where nothing is rounded, %.*s",
                              (long long)r->bits.range, (long long)r->bits.range, TP_FMT(says));
    else if (isfinite(got) && isfinite(want))
        w->detail = tp_printf(a, "%.*s (max abs %.3g, max rel %.3g, %.3g ULP)", TP_FMT(says), d->max_abs, d->max_rel,
                              d->max_ulp);
    else
        w->detail = says;
    if (numbers && d->step.n)
        w->detail = tp_printf(a, "%.*s; written by step %.*s", TP_FMT(w->detail), TP_FMT(d->step));
    if (numbers && d->valueless && isfinite(want) && !isfinite(got))
        f.note = tp_printf(a, "%.*s; the kernel has no value there over the reals either", TP_FMT(why_not_finite(got)));
    else if (isfinite(want) && !isfinite(got))
        f.note = why_not_finite(got);
    else if (numbers && d->narrowed) {
        f.note =
            TP_S("the reference decides there by a number that it narrows first: under a comparison, a floor or the "
                 "like a cast is no identity");
        f.help = TP_S("narrow in the kernel what is decided by, as the reference does, or do not narrow it there");
    } else if (numbers && isinf(got) && isinf(want)) {
        f.note = TP_S("two infinities: the functions of reals may be equal, which have no value where a divisor is 0");
        f.help =
            TP_S("a sign is wrong, or it is that of a zero: -0.0 in the one, 0.0 in the other. Compute the divisor "
                 "as the reference does, or keep it away from 0 in both");
    } else if (numbers && isfinite(got) && d->max_rel < CLOSE && fabs(got - want) < CLOSE * fabs(want))
        f.note = TP_S("the numbers are close, but rounding does not explain the difference");
    else if (r->the_case->near)
        f.note =
            TP_S("these inputs lie next to a point where a comparison, a sign, a floor or the like changes its result");
    f.witness = w;
    return f;
}

/* Did ordinary inputs agree in every case in which this output differs? */
static bool is_seldom(const tp_equiv *e, tp_str output)
{
    for (uint32_t i = 0; i < e->cases.len; i++)
        for (uint32_t j = 0; j < e->cases.at[i].outputs.len; j++) {
            const tp_output_diff *d = &e->cases.at[i].outputs.at[j];
            if (d->tier == TP_TIER_DIFFERENT && tp_str_eq(d->name, output) && d->family == TP_INPUT_NORMAL)
                return false;
        }
    return true;
}

static void name_inputs(tp_arena *a, const tp_case_result *r, tp_finding *f)
{
    const tp_output_diff *d = worst_output(r, false);
    if (d->tier == TP_TIER_DIFFERENT && d->family != TP_INPUT_NORMAL)
        f->witness->detail = tp_printf(a, "%.*s; the inputs have %s there: with ordinary ones it agrees",
                                       TP_FMT(f->witness->detail), tp_input_words(d->family));
}

/* Is what the kernel has there a number? No input tells why it is none. */
static bool is_number(const tp_case_result *r)
{
    const tp_output_diff *d = worst_output(r, false);
    return d->tier != TP_TIER_DIFFERENT || isfinite(d->got);
}

static bool orders(const tp_statement *s, void *ctx)
{
    (void)ctx;
    return s->kind == TP_COMPUTE && (s->inst->prim == TP_P_ARGMAX || s->inst->prim == TP_P_ARGMIN);
}

/* A place that a reference orders by: of equal elements the first one counts. */
static void name_order(const tp_case_result *r, tp_finding *f)
{
    const tp_kernel *k = r->the_case->kernel;
    const tp_operand *o = &k->operands[tp_operand_find(k, f->subject)];
    tp_str why;
    const tp_program *reference = tp_is_float(o->dtype) ? NULL : tp_reference_program(k->arena, k, &why);
    if (reference && !f->note.n && tp_region_any(&reference->statements, orders, NULL))
        f->note = TP_S("of equal elements the reference takes the first, as argmax, argmin, sort and top_k do");
}

/* Where the two part; the shrunk case is run once more for its residues. */
static void add_blame(tp_arena *a, const tp_equiv_options *o, const tp_case_result *r, tp_finding *f)
{
    tp_case c = *r->the_case;
    tp_cases one = {.at = &c, .len = 1};
    tp_equiv e;
    c.numbers = c.algebra = true;
    c.bits = false;
    tp_equiv_run(a, &one, o, &e);
    tp_case_result *again = &e.cases.at[0];
    tp_equiv_blame(a, o, again);
    const tp_blame *b = &again->blame;
    const tp_operand *blamed = &c.kernel->operands[c.kernel->ninputs + b->output];
    if ((b->constant && !is_number(r)) || !b->evidence.n ||
        !tp_str_eq(blamed->name, f->subject)) /* of others residues may differ by an oracle alone */
        return;
    tp_buf text = {.arena = a};
    tp_buf_printf(&text, "%.*s", TP_FMT(b->evidence));
    if (b->step.n)
        tp_buf_printf(&text, "; first in step %.*s", TP_FMT(b->step));
    bool there = b->loc.end > b->loc.start; /* its line is shown */
    if (b->statement.n && !there)
        tp_buf_printf(&text, ", read by `%.*s`", TP_FMT(b->statement));
    f->note = tp_buf_view(&text);
    f->help = b->hint;
    if (there) {
        f->loc = b->loc;
        f->label = TP_S("reads elements that take part in only one of the two");
    }
}

/* Is anything rounded to fewer bits than float32 has? */
static bool computes_narrowly(const tp_kernel *k)
{
    bool narrow = false;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs + k->nscratch; i++)
        narrow |= tp_is_float(k->operands[i].dtype) && tp_dtype_info(k->operands[i].dtype)->bits < 32;
    for (uint32_t v = 0; v < k->body->values.len; v++) {
        tp_dtype t = k->body->values.at[v].dtype;
        narrow |= !tp_is_weak(t) && tp_is_float(t) && tp_dtype_info(t)->bits < 32;
    }
    return narrow;
}

/* Equal over the reals, and yet far off. */
static tp_finding unstable_finding(tp_arena *a, const tp_case_result *r)
{
    const tp_output_diff *d = worst_output(r, true);
    tp_finding f = output_finding(TP_RULE_NUMERICALLY_UNSTABLE, r, d);
    f.message =
        tp_printf(a, "output `%.*s` equals the reference over the reals, but rounding costs %.3g times the %stolerance",
                  TP_FMT(d->name), d->rounding, r->the_case->kernel->tolerance > 0 ? "declared " : "");
    f.witness = tp_witness_of_case(a, r->the_case);
    f.witness->detail = tp_printf(a, "max abs %.3g, max rel %.3g, %.3g ULP", d->max_abs, d->max_rel, d->max_ulp);
    f.help = computes_narrowly(r->the_case->kernel)
                 ? TP_S("accumulate in float32 and cast at the end, or declare a \"tolerance\"")
                 : TP_S("it computes in float32 already: perhaps terms nearly cancel; write their difference another "
                        "way, leave such sizes out, or declare a \"tolerance\"");
    return f;
}

/* Never fails: the inputs may never be that large. */
static void add_overflow(tp_arena *a, const tp_equiv *e, tp_findings *into)
{
    for (uint32_t i = 0; i < e->cases.len; i++)
        for (uint32_t j = 0; j < e->cases.at[i].outputs.len; j++) {
            const tp_case_result *r = &e->cases.at[i];
            const tp_output_diff *d = &r->outputs.at[j];
            if (r->outcome != TP_EQUAL || !d->overflows)
                continue;
            tp_finding f = output_finding(TP_RULE_NUMERICALLY_UNSTABLE, r, d);
            f.verdict = TP_ADVICE;
            f.severity = TP_NOTE;
            bool far = tp_input_is_far(d->overflows_on);
            f.message = tp_printf(a, "output `%.*s` is %s, where the reference has a finite number", TP_FMT(d->name),
                                  far ? "infinite, NaN or 0 on inputs far from 0, of one sign each"
                                      : "infinite or NaN on inputs of magnitudes up to 128");
            f.witness = tp_witness_of_case(a, r->the_case);
            f.help = far ? TP_S("subtract the maximum itself before exp: a running one begins at -inf, or at a mask "
                                "like -1e30. Or state in the description how far from 0 inputs may be")
                         : TP_S("subtract the maximum before exp, or state in the description how large inputs may be");
            tp_push(a, *into, f);
            return;
        }
}

/* What was asked for and not done is never passed over: a listed case that was
 * skipped, or no case compared at all. */
static void add_not_compared(tp_arena *a, const tp_equiv *e, const tp_kernel *k, tp_str spent, tp_findings *into)
{
    bool none = e->equal + e->different + e->trapped == 0;
    for (uint32_t i = 0; i < e->cases.len; i++) {
        const tp_case_result *r = &e->cases.at[i];
        bool listed = r->the_case->loc.start != k->doc->loc.start;
        if (r->outcome != TP_SKIPPED || (!listed && !none))
            continue;
        tp_finding f = {.rule = TP_RULE_NOT_COMPARED,
                        .slug = slug_of(TP_RULE_NOT_COMPARED),
                        .verdict = TP_UNKNOWN,
                        .severity = TP_WARNING,
                        .reason = r->trap.message};
        f.loc = listed                 ? r->the_case->loc
                : k->reference.loc.end ? k->reference.loc
                                       : (tp_loc){k->doc->loc.start, k->doc->loc.start + 1, TP_S("")};
        f.message = none ? TP_S("no case was compared with the reference")
                         : tp_printf(a, "the case %.*s was not compared with the reference",
                                     TP_FMT(tp_case_text(a, r->the_case)));
        tp_push(a, *into, f);
        if (none)
            return;
    }
    if (none && e->cases.len == 0) {
        tp_finding f = {.rule = TP_RULE_NOT_COMPARED,
                        .slug = slug_of(TP_RULE_NOT_COMPARED),
                        .verdict = TP_UNKNOWN,
                        .severity = TP_WARNING,
                        .reason = spent.n ? spent : TP_S("no small sizes inside the domain were found"),
                        .help = spent.n ? TP_S("") : TP_S("list some in \"cases\"")};
        f.loc = (tp_loc){k->doc->loc.start, k->doc->loc.start + 1, TP_S("")};
        f.message = TP_S("no case was compared with the reference");
        tp_push(a, *into, f);
    }
}

/* Residues that differ are no agreement, even where no numbers tell; but a proof
 * settles it where the tier lacks a law (a root of a square is a random residue)
 * or a comparison (numbers that tie). */
static void add_unexplained(tp_arena *a, const tp_equiv *e, bool proven, tp_findings *into)
{
    const tp_case_result *r = e->unexplained;
    if (!r || e->different || (proven && (r->algebra.tags || r->algebra.tied)))
        return;
    const tp_kernel *k = r->the_case->kernel;
    const tp_operand *o = &k->operands[k->ninputs + r->algebra.output];
    tp_finding f = {.rule = TP_RULE_EVIDENCE_MISSING,
                    .slug = slug_of(TP_RULE_EVIDENCE_MISSING),
                    .verdict = TP_UNKNOWN,
                    .severity = TP_WARNING,
                    .subject = o->name,
                    .loc = o->loc,
                    .reason = r->algebra.reason,
                    .witness = tp_witness_of_case(a, r->the_case)};
    f.message = tp_printf(a, "output `%.*s` may differ from the reference: their residues differ", TP_FMT(o->name));
    f.help = TP_S("perhaps a term too small to show in numbers, or two constants that are almost equal; if both mean "
                  "the same, write them alike");
    tp_push(a, *into, f);
}

/* A single element that differs by more than the bounds of its numbers is no agreement, either. */
static void add_far_difference(tp_arena *a, const tp_equiv *e, tp_findings *into)
{
    const tp_kernel *k = e->far_kernel;
    if (!k || e->different || e->trapped)
        return;
    const tp_operand *o = &k->operands[k->ninputs + e->far_output];
    tp_finding f = {.rule = TP_RULE_EVIDENCE_MISSING,
                    .slug = slug_of(TP_RULE_EVIDENCE_MISSING),
                    .verdict = TP_UNKNOWN,
                    .severity = TP_WARNING,
                    .subject = o->name,
                    .loc = o->loc,
                    .reason = e->far_reason};
    f.message = tp_printf(a, "output `%.*s` may differ from the reference at large sizes", TP_FMT(o->name));
    f.help = TP_S("list a case near these sizes in \"cases\"");
    tp_push(a, *into, f);
}

/* Cases ran, and yet nothing of an output was looked at. */
static void add_nothing_compared(tp_arena *a, const tp_equiv *e, const tp_kernel *k, tp_findings *into)
{
    uint32_t discarded = 0;
    tp_finding f = {.rule = TP_RULE_NOT_COMPARED,
                    .slug = slug_of(TP_RULE_NOT_COMPARED),
                    .verdict = TP_UNKNOWN,
                    .severity = TP_WARNING,
                    .loc = {k->doc->loc.start, k->doc->loc.start + 1, TP_S("")}};
    if (e->equal == 0)
        return;
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++) {
        const tp_operand *o = &k->operands[i];
        discarded += o->discard;
        if (o->discard || tp_equiv_compared(e, o->name))
            continue;
        tp_finding one = f;
        one.subject = o->name;
        one.loc = o->loc;
        one.message = tp_printf(a, "no element of output `%.*s` was compared with the reference", TP_FMT(o->name));
        one.help = o->valid.id ? TP_S("\"valid\" holds for none of its elements in any case") : TP_S("");
        tp_push(a, *into, one);
    }
    if (discarded < k->noutputs)
        return;
    f.message = TP_S("nothing was compared with the reference: every output is marked \"discard\"");
    tp_push(a, *into, f);
}

void tp_add_execution_findings(tp_arena *a, const tp_equiv *e, const tp_kernel *k, const tp_equiv_options *o,
                               bool proven, tp_str spent, tp_findings *into)
{
    add_not_compared(a, e, k, spent, into);
    add_nothing_compared(a, e, k, into);
    add_unexplained(a, e, proven, into);
    add_far_difference(a, e, into);
    add_overflow(a, e, into);
    for (uint32_t i = 0; i < e->cases.len; i++) {
        tp_case_result r = e->cases.at[i];
        bool unstable = r.outcome == TP_EQUAL && r.outputs.len && worst_output(&r, true)->rounding > 1;
        if (r.outcome != TP_TRAPPED && r.outcome != TP_DIFFERENT && !unstable)
            continue;
        tp_finding (*make)(tp_arena *, const tp_case_result *) = r.outcome == TP_TRAPPED ? trap_finding
                                                                 : unstable              ? unstable_finding
                                                                                         : difference_finding;
        tp_finding f = make(a, &r);
        bool known = false;
        for (uint32_t j = 0; j < into->len; j++)
            known |= into->at[j].verdict == TP_VIOLATED && strcmp(into->at[j].rule, f.rule) == 0 &&
                     (tp_str_eq(into->at[j].subject, f.subject) || into->at[j].loc.start == f.loc.start ||
                      tp_str_eq(into->at[j].message, f.message));
        if (known)
            continue;
        if (!unstable)
            shrink(a, o, &r);
        f = make(a, &r);
        for (uint32_t j = 0; j < into->len; j++) /* a case that was made small is the one that lint found */
            known |= into->at[j].verdict == TP_VIOLATED && strcmp(into->at[j].rule, f.rule) == 0 &&
                     tp_str_eq(into->at[j].message, f.message);
        if (known)
            continue;
        bool seldom = r.outcome == TP_DIFFERENT && is_seldom(e, f.subject);
        if (seldom)
            name_inputs(a, &r, &f);
        if (r.outcome == TP_DIFFERENT && !r.the_case->near && !f.help.n) {
            add_blame(a, o, &r, &f);
            name_order(&r, &f);
            f.help = seldom ? TP_S("") : f.help; /* what is in a wrong place differs with any numbers */
        }
        tp_push(a, *into, f);
    }
}
