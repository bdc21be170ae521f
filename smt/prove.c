/* The order of engines, and the case split over finite choices. */
#include "base/assert.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/digest.h"
#include "smt/cache.h"
#include "smt/trust/certificates.h"
#include "smt/internal.h"
#include "spec/kernel.h"

enum {
    MAX_SPLIT = 256,
    LINEAR_RLIMIT = 200000,
    RAW_RLIMIT = 2000000,
    FIRST_POINTS = 1500,
    SEARCH_POINTS = 30000,
    FEW_POINTS = 2000,
    MANY_POINTS = 1 << 16,
    ENUMERATE_POINTS = 300000
};

tp_prover *tp_prover_new(tp_arena *a, tp_exprs *p, const tp_prover_options *o)
{
    tp_prover *v = TP_NEW(a, tp_prover);
    v->arena = a;
    v->scratch = tp_arena_child(a);
    v->p = p;
    if (o)
        v->o = *o;
    v->keys = v->o.cache || v->o.recall ? tp_arena_child(a) : NULL;
    v->solver = v->o.solver;
    return v;
}

void tp_prover_free(tp_prover *v)
{
    if (v && !v->o.solver)
        tp_solver_free(v->solver);
    if (v) {
        tp_arena_free(v->scratch);
        tp_arena_free(v->keys);
    }
}

const tp_prover_stats *tp_prover_get_stats(const tp_prover *v)
{
    return &v->stats;
}

static tp_decision decide_violated(tp_prover *v, const tp_obligation *o, int64_t *env)
{
    if (!o->any_case)
        tp_minimise(v, o, env);
    return (tp_decision){.verdict = TP_VIOLATED, .env = env};
}

static tp_decision decide_proven(tp_grade g)
{
    return (tp_decision){.verdict = TP_PROVEN, .grade = g};
}

static tp_decision proven_by(tp_prover *v, const tp_proof *proof)
{
    return (tp_decision){.verdict = TP_PROVEN, .grade = TP_GRADE_CERT, .proof = tp_proof_copy(v->arena, proof)};
}

/* The checker evaluates every case again, where that is not too long. */
static tp_decision proven_by_points(tp_prover *v, const tp_obligation *o)
{
    static const tp_proof POINTS = {.kind = TP_PROOF_POINTS};
    tp_decision d = decide_proven(TP_GRADE_EXACT);
    d.proof = tp_check_proof(v->scratch, v->p, o, &POINTS, NULL, NULL) ? &POINTS : NULL;
    return d;
}

/* Z3, linear then raw. A model counts only if exact arithmetic agrees. */
static tp_decision ask_z3(tp_prover *v, const tp_obligation *o, int64_t *env)
{
    tp_str reason = TP_S("");
    uint64_t most = v->o.rlimit ? v->o.rlimit : RAW_RLIMIT;
    tp_answer a = tp_ask_z3(v, o, true, most < LINEAR_RLIMIT ? most : LINEAR_RLIMIT, env, &reason);
    v->stats.linear += a == TP_UNSAT;
    if (a == TP_UNSAT)
        return decide_proven(TP_GRADE_Z3);
    if (a == TP_SAT && tp_refutes(v, o, env))
        return decide_violated(v, o, env);
    a = tp_ask_z3(v, o, false, most, env, &reason);
    v->stats.raw += a == TP_UNSAT;
    if (a == TP_UNSAT)
        return decide_proven(TP_GRADE_Z3);
    if (a == TP_SAT && tp_refutes(v, o, env))
        return decide_violated(v, o, env);
    if (a == TP_SAT)
        reason = TP_S("the formula uses operations that are only approximated for the solver");
    return (tp_decision){.verdict = TP_UNKNOWN, .reason = reason};
}

/* Undecided: the largest box of least sizes in which every case holds is worth
 * telling, and a case in it that does not decides. */
static tp_decision check_box(tp_prover *v, const tp_obligation *o, tp_decision unknown, int64_t *env)
{
    tp_var *vars = TP_NEWN(v->arena, tp_var, o->nvars + 1);
    tp_obligation box = *o;
    int64_t largest = 0, lo, hi, length, last;
    box.vars = vars;
    for (int64_t side = 2; side <= 64; side *= 2) {
        for (uint32_t i = 0; i < o->nvars; i++) {
            vars[i] = o->vars[i];
            bool range = !vars[i].step && !vars[i].choices && tp_expr_is_const(v->p, vars[i].lo, &lo) &&
                         tp_expr_is_const(v->p, vars[i].hi, &hi);
            if (range && tp_mul(side, vars[i].multiple_of, &length) && tp_add(lo, length - 1, &last) && last < hi)
                vars[i].hi = tp_const(v->p, last);
        }
        int r = tp_enumerate(v, &box, ENUMERATE_POINTS, env);
        if (r == 0)
            return decide_violated(v, o, env);
        if (r < 0)
            break;
        largest = side;
    }
    if (largest)
        unknown.reason = tp_printf(v->arena, "%.*s; it holds for the %lld least values of every size",
                                   TP_FMT(unknown.reason), (long long)largest);
    return unknown;
}

/* Z3, and the second solver where there is one: it confirms, decides what Z3
 * left open, or contradicts, and then nothing counts. */
static tp_decision ask_solvers(tp_prover *v, const tp_obligation *o, int64_t *env)
{
    tp_str reason;
    tp_decision d = {.verdict = TP_UNKNOWN, .reason = TP_S("no solver was asked")};
    if (v->o.queries && !*v->o.queries) {
        d.reason = TP_S("the work budget of the spec is spent: too many queries ended without an answer");
        return d;
    }
    if (!v->o.no_z3)
        d = ask_z3(v, o, env);
    if (v->o.queries && d.verdict == TP_UNKNOWN)
        --*v->o.queries;
    if (!v->o.second || d.verdict == TP_VIOLATED)
        return d;
    tp_answer second = tp_external_check(v, o, &reason);
    if (second == TP_UNSAT)
        return decide_proven(d.verdict == TP_PROVEN ? TP_GRADE_Z3_CVC5 : TP_GRADE_CVC5);
    if (second == TP_UNDECIDED)
        tp_note_unsteady(v);
    if (second == TP_UNDECIDED && v->o.no_z3)
        d.reason = reason;
    if (second != TP_SAT || d.verdict != TP_PROVEN || tp_smt2_approximates(v, o))
        return d;
    const char *file = tp_emit_smt2(v, o, v->o.smt2_dir ? v->o.smt2_dir : ".", "unknown");
    v->stats.disagreement = tp_str_c(file);
    return (tp_decision){.verdict = TP_UNKNOWN, .reason = tp_printf(v->arena, "the solvers disagree: %s", file)};
}

/* Of what outgrew the pool nothing is known. */
static bool too_large(const tp_obligation *o)
{
    bool yes = tp_expr_too_large(o->goal);
    for (uint32_t i = 0; i < o->npremises; i++)
        yes |= tp_expr_too_large(o->premises[i]);
    for (uint32_t i = 0; i < o->nvars; i++)
        yes |= tp_expr_too_large(o->vars[i].lo) || tp_expr_too_large(o->vars[i].hi);
    return yes;
}

/* All points, where they are few. */
static bool is_proven_by_few(tp_prover *v, const tp_obligation *o, int64_t *env, tp_decision *d)
{
    int few = v->o.only_solver || v->o.only_proof ? -1 : tp_enumerate(v, o, FEW_POINTS, env);
    v->stats.enumerated += few == 1;
    if (few == 1)
        *d = proven_by_points(v, o);
    return few == 1;
}

static tp_decision decide_now(tp_prover *v, const tp_obligation *o)
{
    int64_t *env = TP_NEWN(v->arena, int64_t, tp_sym_count(v->p));
    tp_decision d;
    if (too_large(o))
        return (tp_decision){.verdict = TP_UNKNOWN, .reason = TP_S("an expression is too large")};
    for (int thorough = 0; thorough < 2; thorough++) {
        /* what follows from the body is asked thousands of times, and nobody asks for its proof: a few points cost less
         * than a search for one */
        if (thorough && o->any_case && is_proven_by_few(v, o, env, &d))
            return d;
        bool again = v->briefly_tried && !thorough;
        const tp_proof *proof = v->o.only_solver || v->distrust || again ? NULL : tp_refute(v, o, !thorough);
        if (proof)
            return proven_by(v, proof);
        tp_arena_clear(v->scratch);
        if (v->brief)
            return (tp_decision){.verdict = TP_UNKNOWN};
        if (o->any_case && !thorough && tp_search_near(v, o, env))
            return decide_violated(v, o, env);
        if (!v->o.only_proof && tp_search(v, o, thorough ? SEARCH_POINTS : FIRST_POINTS, env)) {
            v->stats.searched++;
            return decide_violated(v, o, env);
        }
    }
    if (v->o.only_proof)
        return (tp_decision){.verdict = TP_UNKNOWN, .reason = TP_S("only a proof of our own was wanted")};
    if (!o->any_case && is_proven_by_few(v, o, env, &d))
        return d;
    d = (tp_decision){.verdict = TP_UNKNOWN, .reason = TP_S("no solver was allowed")};
    if (!v->o.no_solver)
        d = ask_solvers(v, o, env);
    if (d.verdict != TP_UNKNOWN || v->o.only_solver || v->o.few_points)
        return d;
    int all = tp_enumerate(v, o, ENUMERATE_POINTS, env);
    v->stats.enumerated += all >= 0;
    if (all == 1)
        return proven_by_points(v, o);
    if (all == 0)
        return decide_violated(v, o, env);
    return check_box(v, o, d, env);
}

static tp_decision decide(tp_prover *v, const tp_obligation *given)
{
    int64_t *multiple = TP_NEWN(v->arena, int64_t, given->nvars + 1);
    const tp_proof *nodes[2 * TP_MAX_BOUNDS]; /* without their kid yet */
    uint32_t n = 0;
    const tp_obligation *o = tp_with_bounds(v, given, nodes, &n);
    const tp_obligation *divided = o = tp_with_divisors(v, o, nodes, &n);
    o = tp_with_quotients(v, divided, multiple);
    tp_decision d = decide_now(v, o);
    tp_arena_clear(v->scratch);
    for (uint32_t i = o->nvars; i-- > 0;) {
        if (multiple[i] <= 1)
            continue;
        uint32_t sym = divided->vars[i].sym, quotient = o->vars[i].sym;
        if (d.verdict == TP_VIOLATED)
            d.env[sym] = d.env[quotient] * multiple[i];
        tp_proof node = {.kind = TP_PROOF_MULTIPLE, .number = sym, .sym = quotient, .factor = multiple[i]};
        if (d.proof)
            d.proof = tp_proof_node(v->arena, node, &d.proof, 1);
    }
    while (n-- > 0) {
        if (d.verdict == TP_VIOLATED && nodes[n]->kind == TP_PROOF_DIVIDED)
            d.env[nodes[n]->number] = d.env[nodes[n]->sym] * d.env[tp_expr_get(v->p, nodes[n]->value)->value];
        if (d.proof)
            d.proof = tp_proof_node(v->arena, *nodes[n], &d.proof, 1);
    }
    return d;
}

/* Every combination of the choice variables that the obligation mentions, with
 * their values put in: what is left is mostly linear. */
typedef struct splitter {
    tp_prover *v;
    const tp_obligation *o;
    uint32_t split[16], nsplit;
    tp_expr *with;
    uint32_t nsyms;
} splitter;

static tp_obligation substitute(splitter *s)
{
    tp_prover *v = s->v;
    const tp_obligation *o = s->o;
    tp_obligation r = {.name = o->name, .npremises = o->npremises, .any_case = o->any_case};
    tp_var *vars = TP_NEWN(v->arena, tp_var, o->nvars);
    tp_expr *premises = TP_NEWN(v->arena, tp_expr, o->npremises);
    for (uint32_t i = 0; i < o->nvars; i++) {
        if (s->with[o->vars[i].sym].id)
            continue;
        tp_var x = o->vars[i];
        x.lo = tp_expr_subst(v->p, x.lo, s->with, s->nsyms);
        x.hi = tp_expr_subst(v->p, x.hi, s->with, s->nsyms);
        vars[r.nvars++] = x;
    }
    for (uint32_t i = 0; i < o->npremises; i++)
        premises[i] = tp_expr_subst(v->p, o->premises[i], s->with, s->nsyms);
    r.vars = vars;
    r.premises = premises;
    r.goal = tp_expr_subst(v->p, o->goal, s->with, s->nsyms);
    return r;
}

static tp_decision decide_split(splitter *s, uint32_t depth)
{
    if (depth == s->nsplit) {
        tp_obligation o = substitute(s);
        tp_decision d = decide(s->v, &o);
        for (uint32_t i = 0; d.verdict == TP_VIOLATED && i < s->nsplit; i++)
            tp_expr_is_const(s->v->p, s->with[s->o->vars[s->split[i]].sym], &d.env[s->o->vars[s->split[i]].sym]);
        return d;
    }
    tp_prover *v = s->v;
    tp_spend(v->scratch, 100);
    const tp_var *x = &s->o->vars[s->split[depth]];
    const tp_proof **cases = TP_NEWN(v->arena, const tp_proof *, x->nchoices);
    tp_decision all = decide_proven(TP_GRADE_CERT);
    bool complete = true;
    for (uint32_t i = 0; i < x->nchoices; i++) {
        s->with[x->sym] = tp_const(v->p, x->choices[i]);
        tp_decision d = decide_split(s, depth + 1);
        if (d.verdict == TP_VIOLATED || (v->brief && d.verdict == TP_UNKNOWN))
            return s->with[x->sym] = (tp_expr){0}, d;
        if (d.verdict == TP_UNKNOWN)
            all = d;
        else if (all.verdict == TP_PROVEN && d.grade > all.grade)
            all.grade = d.grade;
        cases[i] = d.proof;
        complete &= d.proof != NULL;
    }
    s->with[x->sym] = (tp_expr){0};
    if (complete)
        all.proof = tp_proof_node(v->arena, (tp_proof){.kind = TP_PROOF_CHOICES, .number = x->sym}, cases, x->nchoices);
    return all;
}

/* Our own proofs count when the checker accepts them. It should always; when
 * it does not, the others decide. */
static tp_decision check_decision(tp_prover *v, splitter *s, tp_decision d)
{
    bool accepted = d.verdict != TP_PROVEN || !d.proof || tp_check_proof(v->scratch, v->p, s->o, d.proof, NULL, NULL);
    tp_arena_clear(v->scratch);
    if (accepted)
        return d;
    v->stats.rejected += tp_check_claim(v->scratch, v->p, s->o, NULL); /* one of no values has no proof */
    tp_arena_clear(v->scratch);
    v->distrust = true;
    d = decide_split(s, 0);
    v->distrust = false;
    d.proof = NULL;
    d.grade = d.grade == TP_GRADE_CERT ? TP_GRADE_EXACT : d.grade;
    return d;
}

static tp_decision decide_anew(tp_prover *v, const tp_obligation *o)
{
    splitter s = {.v = v, .o = o, .nsyms = tp_sym_count(v->p)};
    uint32_t cases = 1;
    s.with = TP_NEWN(v->arena, tp_expr, s.nsyms);
    for (uint32_t i = 0; i < o->nvars && s.nsplit < 16; i++)
        if (o->vars[i].choices && cases * o->vars[i].nchoices <= MAX_SPLIT && tp_concerns(v, o, o->vars[i].sym)) {
            cases *= o->vars[i].nchoices;
            s.split[s.nsplit++] = i;
        }
    v->briefly_tried &= !s.nsplit; /* else the other cases were not tried */
    tp_decision d = check_decision(v, &s, decide_split(&s, 0));
    for (uint32_t i = 0; d.verdict == TP_VIOLATED && i < o->nvars; i++) /* choices nobody mentioned */
        if (o->vars[i].choices && d.env[o->vars[i].sym] == 0)
            d.env[o->vars[i].sym] = o->vars[i].choices[0];
    if (d.verdict == TP_VIOLATED && !tp_refutes(v, o, d.env)) /* of the obligation as it was given */
        d = (tp_decision){.verdict = TP_UNKNOWN, .reason = TP_S("a counterexample was lost in rewriting")};
    if (d.verdict == TP_VIOLATED && o->any_case)
        tp_remember_case(v, d.env);
    return d;
}

/* Files of obligations and proofs are of what was done, not of what was remembered. */
static bool remembers(const tp_prover *v)
{
    return v->keys && !v->o.smt2_dir && !v->o.certificates && !v->o.only_solver;
}

/* What a short proof decides costs less than its entry in a cache's file. */
static tp_decision decide_briefly(tp_prover *v, const tp_obligation *o)
{
    v->brief = true;
    tp_decision d = decide_anew(v, o);
    v->brief = false;
    return d;
}

/* By the cache's file, or anew for it. */
static tp_decision decide_for_cache(tp_prover *v, const tp_obligation *o, tp_str text)
{
    tp_decision d;
    bool asks = text.n && v->o.cache && tp_cache_count(v->o.cache).entries;
    tp_str key = asks ? tp_sha256(v->keys, text) : (tp_str){NULL, 0};
    bool known = asks && tp_cache_find(v, o, key, &d);
    tp_arena_clear(v->scratch);
    v->briefly_tried = true;
    if (known)
        return d;
    d = decide_anew(v, o);
    if (text.n && v->o.cache && tp_cache_learns(&d))
        tp_cache_learn(v, o, asks ? key : tp_sha256(v->keys, text), &d);
    tp_arena_clear(v->scratch);
    return d;
}

/* Few values of its variables, whatever the premises leave of them? */
static bool has_few_points(const tp_prover *v, const tp_obligation *o)
{
    int64_t points = 1, span;
    for (uint32_t i = 0; i < o->nvars && points > 0 && points <= MANY_POINTS; i++) {
        const tp_var *x = &o->vars[i];
        bool ranges = !x->choices && x->lo.id && x->hi.id;
        if (!x->choices && (!ranges || !tp_sub(tp_interval_of(v, o, x->hi).hi, tp_interval_of(v, o, x->lo).lo, &span)))
            return false;
        int64_t values = x->choices ? (int64_t)x->nchoices : span / x->multiple_of + 1;
        points *= values > MANY_POINTS ? MANY_POINTS + 1 : values;
    }
    return points <= MANY_POINTS;
}

/* What follows from the body is asked thousands of times, and nobody asks for its proof or for which case it is: of few
 * points all are tried before anything is looked for. */
static bool is_decided_by_few(tp_prover *v, const tp_obligation *o, tp_decision *d)
{
    if (!o->any_case || v->o.only_solver || v->o.only_proof || v->o.certificates || !has_few_points(v, o))
        return false;
    int64_t *env = TP_NEWN(v->arena, int64_t, tp_sym_count(v->p));
    int few = tp_enumerate(v, o, FEW_POINTS, env);
    tp_arena_clear(v->scratch);
    v->stats.enumerated += few == 1;
    if (few == 1)
        *d = decide_proven(TP_GRADE_EXACT);
    if (few == 0) {
        *d = (tp_decision){.verdict = TP_VIOLATED, .env = env};
        tp_remember_case(v, env);
    }
    return few >= 0;
}

/* Most of what is asked was asked before, by the rounds of an analysis or by a text that differs in one place: the text
 * costs less than the shortest proof. */
static tp_decision decide_or_remember(tp_prover *v, const tp_obligation *o)
{
    tp_decision d;
    tp_buf *text = &v->memo.text;
    text->arena = v->arena;
    text->n = 0;
    bool keyed = tp_obligation_text(v, o, text);
    size_t n = text->n;
    tp_recall_key(v, o, text);
    if (keyed && tp_recall_find(v, o, tp_buf_view(text), &d))
        return d;
    if (!is_decided_by_few(v, o, &d)) {
        d = decide_briefly(v, o);
        if (d.verdict != TP_PROVEN)
            d = decide_for_cache(v, o, (tp_str){keyed ? text->p : NULL, keyed ? n : 0});
    }
    if (keyed)
        tp_recall_add(v, o, tp_buf_view(text), &d);
    tp_arena_clear(v->keys);
    return d;
}

static bool refuted_by_past_case(const tp_prover *v, const tp_obligation *o, tp_decision *d)
{
    if (v->o.only_solver || !o->any_case || !v->past.n)
        return false;
    *d = (tp_decision){.verdict = TP_VIOLATED, .env = TP_NEWN(v->arena, int64_t, tp_sym_count(v->p))};
    return tp_refuted_before(v, o, d->env);
}

/* Every variable once, its bounds over those before it, its choices ascending; goal and premises are there. */
static bool is_ordered(const tp_prover *v, const tp_obligation *o)
{
    for (uint32_t i = 0; i < o->npremises; i++)
        if (!o->premises[i].id)
            return false;
    for (uint32_t i = 0; i < o->nvars; i++)
        if (o->vars[i].multiple_of < 1 || !o->vars[i].nchoices != !o->vars[i].choices)
            return false;
    for (uint32_t i = 0; i < o->nvars; i++)
        for (uint32_t c = 1; c < o->vars[i].nchoices; c++)
            if (o->vars[i].choices[c - 1] >= o->vars[i].choices[c])
                return false;
    for (uint32_t i = 0; i < o->nvars; i++)
        for (uint32_t k = i; k < o->nvars; k++)
            if ((k > i && o->vars[k].sym == o->vars[i].sym) || tp_expr_mentions(v->p, o->vars[i].lo, o->vars[k].sym) ||
                tp_expr_mentions(v->p, o->vars[i].hi, o->vars[k].sym))
                return false;
    return o->goal.id != 0;
}

bool tp_decision_holds(const tp_decision *d)
{
    switch (d->verdict) {
    case TP_PROVEN: return d->grade != TP_GRADE_NONE && (d->grade != TP_GRADE_CERT || d->proof || d->recalled);
    case TP_VIOLATED: return d->env != NULL;
    case TP_UNKNOWN: return d->reason.n > 0;
    case TP_VACUOUS:
    case TP_ASSUMED:
    case TP_NOT_APPLICABLE:
    case TP_ADVICE:
    case TP_VERDICTS: break;
    }
    return false;
}

tp_decision tp_prove(tp_prover *v, const tp_obligation *o)
{
    tp_assert(is_ordered(v, o));
    double start = tp_wall_seconds();
    bool flagged = tp_exprs_overflowed(v->p);
    v->stats.obligations++;
    v->brief = v->briefly_tried = v->distrust = false; /* an earlier call may have left in the middle */
    tp_spend(v->scratch, 100);
    tp_str key = tp_memo_key(v, o);
    tp_decision d;
    if (!tp_memo_find(v, key, &d)) {
        if (!refuted_by_past_case(v, o, &d))
            d = remembers(v) ? decide_or_remember(v, o) : is_decided_by_few(v, o, &d) ? d : decide_anew(v, o);
        tp_memo_add(v, key, &d);
    }
    tp_assert(tp_decision_holds(&d) && (d.verdict != TP_VIOLATED || tp_refutes(v, o, d.env)));
    if (!flagged)
        tp_exprs_forget_overflow(v->p); /* what grew too large here is not in the answer */
    v->stats.certified += d.verdict == TP_PROVEN && d.grade == TP_GRADE_CERT;
    v->stats.unknown += d.verdict == TP_UNKNOWN;
    if (v->o.smt2_dir && !too_large(o))
        tp_emit_smt2(v, o, v->o.smt2_dir,
                     d.verdict == TP_PROVEN     ? "unsat"
                     : d.verdict == TP_VIOLATED ? "sat"
                                                : "unknown");
    if (v->o.certificates && d.verdict == TP_PROVEN)
        tp_certificates_add(v->o.certificates, v->p, v->o.smt2_name, o, d.proof, d.grade);
    d.ms = 1e3 * (tp_wall_seconds() - start);
    if (v->o.times)
        tp_push(v->o.times->arena, v->o.times->ms, d.ms);
    return d;
}
