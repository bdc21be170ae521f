/* Fixes. What a rule (or guess.c) proposes is a guess until the changed text has been
 * checked from scratch: it becomes the fix of its finding when that finding is
 * gone and no other one is new. */
#include "base/budget.h"
#include "base/digest.h"
#include "smt/cache.h"
#include "verify/verify.h"

enum { MAX_TRIALS = 16, MAX_EXECUTED = 6, MAX_FIXES = 32 }; /* of one spec: hostile ones end, too */

/* Elements that a case moves which is executed for a rule's fix (kernels/trial): some 10 ms, and some 0.2 s. */
static const double LINT_EFFORT = 1 << 19, VERIFY_EFFORT = 1 << 23;
/* What they may take all the same, where there is more to do for an element: units of the budget, as many whatever was
 * spent before, so that a cache changes nothing; and turns of loops. */
enum { LINT_UNITS = TP_UNITS_PER_SECOND / 4, VERIFY_UNITS = 4 * TP_UNITS_PER_SECOND };
enum { FEW_STEPS = 1 << 16 };

/* Another one of its rule, at its place, about its subject. */
static bool is_like(const tp_finding *g, const tp_finding *f)
{
    return (tp_is_standing(g) || (f->verdict == TP_ADVICE && g->verdict == TP_ADVICE)) &&
           strcmp(g->rule, f->rule) == 0 && tp_str_eq(g->subject, f->subject) &&
           tp_str_eq(g->loc.pointer, f->loc.pointer);
}

static uint32_t count_like(const tp_findings *all, const tp_finding *f)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < all->len; i++)
        n += is_like(&all->at[i], f);
    return n;
}

static bool improves(const tp_findings *before, const tp_findings *after, const tp_finding *f)
{
    if (count_like(after, f) >= count_like(before, f))
        return false;
    for (uint32_t i = 0; i < after->len; i++)
        if (tp_is_standing(&after->at[i]) && count_like(after, &after->at[i]) > count_like(before, &after->at[i]))
            return false;
    return true;
}

/* What only an execution finds. */
static bool is_executed(const tp_finding *f)
{
    return !tp_rule_find(tp_str_c(f->rule)) && tp_has_guess(f) && strcmp(f->rule, TP_RULE_SPEC_TYPE) != 0;
}

/* Another text: the static rules, and with `execute` the cases; in an arena of its own below the job's. */
static void look_at_text(const tp_job *j, tp_str text, const tp_check_settings *s, bool execute, tp_solver *solver,
                         tp_job *trial)
{
    tp_check_settings rules = *s;
    rules.execute = execute;
    rules.analysis.prover.smt2_dir = NULL;
    rules.analysis.replay = NULL;             /* violated or unknown: no fix */
    rules.analysis.prover.recall = j->recall; /* most obligations of the other text are the same */
    tp_source other = j->source;
    other.text = text;
    tp_check_anew(trial, j->arena, other, &rules, solver);
    if (trial->report.out_of_memory) { /* that says nothing of the fix */
        tp_job_free(trial);
        tp_leave(j->arena, TP_E_MEMORY);
    }
}

/* The same where only verdicts count. */
static void try_text(const tp_job *j, tp_str text, const tp_check_settings *s, bool execute, tp_solver *solver,
                     tp_job *trial)
{
    tp_check_settings verdicts = *s;
    verdicts.analysis.verdicts_only = true;
    look_at_text(j, text, &verdicts, execute, solver, trial);
}

typedef struct watch {
    const tp_findings *before;
    const tp_finding *f;
    bool waivers; /* are for those of the whole analysis */
    bool failed;  /* whatever is found from now on, the trial does not improve() */
    bool another; /* for a finding that was not there before, whatever f is */
} watch;

/* By its own rule alone: most guesses fail there, and cheaply. */
static bool is_still_there(void *ctx, const tp_findings *found)
{
    watch *w = ctx;
    w->failed = count_like(found, w->f) >= count_like(w->before, w->f);
    return w->failed;
}

static bool is_another_there(void *ctx, const tp_findings *found, uint32_t from)
{
    watch *w = ctx;
    for (uint32_t i = from; i < found->len && !w->failed && !w->waivers; i++)
        w->failed = w->another = tp_is_standing(&found->at[i]) && count_like(w->before, &found->at[i]) == 0;
    return w->failed;
}

/* Does any finding stand? */
static bool is_open(const tp_job *j)
{
    for (uint32_t i = 0; i < j->report.findings.len; i++)
        if (tp_is_standing(&j->report.findings.at[i]))
            return true;
    return false;
}

typedef enum trial_result {
    FAILS,
    DIFFERS, /* it would stand, but results differ from the reference, */
    TRAPS,   /* or an execution breaks another rule */
    AGREES,  /* results agree, but some other finding is new */
    STANDS
} trial_result;

/* Is it a difference, and the only one? Then a text whose results differ anywhere does not mend it. */
static bool is_only_difference(const tp_job *j, const tp_finding *f)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->report.findings.len; i++)
        n += strcmp(j->report.findings.at[i].rule, TP_RULE_NOT_EQUIVALENT) == 0;
    return n == 1 && strcmp(f->rule, TP_RULE_NOT_EQUIVALENT) == 0 && f->verdict == TP_VIOLATED;
}

static bool has_waivers(const tp_job *j)
{
    const tp_spec *s = j->report.spec;
    return s && (s->kernels[0]->allow || s->kernels[0]->expect);
}

/* Something else is wrong, and what nothing uses may be what is missing. */
static bool is_unused(const tp_finding *f)
{
    return f->verdict == TP_ADVICE && strcmp(f->rule, TP_RULE_UNUSED_OPERAND) == 0;
}

/* Which findings are not there any more: gone[i] of the i-th. What an execution finds is not looked at. */
static void note_gone(const tp_findings *before, const tp_findings *after, bool *gone)
{
    for (uint32_t i = 0; i < before->len; i++)
        gone[i] = tp_rule_find(tp_str_c(before->at[i].rule)) &&
                  (tp_is_standing(&before->at[i]) || is_unused(&before->at[i])) &&
                  count_like(after, &before->at[i]) < count_like(before, &before->at[i]);
}

/* The trials of one spec. */
typedef struct trier {
    tp_job *j;
    const tp_check_settings *s;
    tp_solver *solver;
    uint32_t trials, executed; /* so far */
    bool slow;                 /* some case of a rule's fix took more than it may: no more are executed */
    bool repaired;             /* a repair was looked for, of a difference or a trap: one is dear enough */
    bool *gone;                /* by the last fix that stands: note_gone() */
    TP_VEC(tp_str) others;     /* texts with a finding that was not there before: several findings propose the same */
    TP_VEC(tp_str) agreed;     /* texts of rules' fixes that few cases agree with */
    TP_VEC(const char *) open; /* rules that do not hold after the last fix that stands: note_open() */
} trier;

static bool has_text(const tp_str *list, uint32_t n, tp_str text)
{
    for (uint32_t i = 0; i < n; i++)
        if (tp_str_eq(list[i], text))
            return true;
    return false;
}

static bool is_violated(const tp_findings *all, const char *rule)
{
    for (uint32_t i = 0; i < all->len; i++)
        if (all->at[i].verdict == TP_VIOLATED && strcmp(all->at[i].rule, rule) == 0)
            return true;
    return false;
}

/* Which rules a case may break that says nothing of the change: what is violated, and what is proven only where that
 * holds. */
static void note_open(trier *t, const tp_findings *all)
{
    t->open.len = 0;
    for (uint32_t i = 0; i < all->len; i++) {
        const tp_finding *f = &all->at[i];
        bool is_open = f->verdict == TP_VIOLATED;
        for (uint32_t g = 0; g < all->len && f->verdict == TP_PROVEN && f->rests_on.n && !is_open; g++)
            is_open = all->at[g].verdict == TP_VIOLATED && tp_basis_names(f->rests_on, all->at[g].rule);
        if (is_open)
            tp_push(t->j->arena, t->open, f->rule);
    }
}

/* A text that is refused hides what else is wrong: what mends it has to leave nothing. `another`: it has a finding that
 * was not there before. */
static trial_result whole_trial(trier *t, tp_str text, const tp_finding *f, bool *another)
{
    const tp_job *j = t->j;
    const tp_check_settings *s = t->s;
    tp_job trial;
    tp_check_settings all = *s;
    watch w = {.before = &j->report.findings, .f = f, .waivers = has_waivers(j)};
    all.equiv.until_different = is_only_difference(j, f);
    all.analysis.alone = j->report.valid ? tp_rule_find(tp_str_c(f->rule)) : NULL;
    all.analysis.enough_alone = is_still_there;
    all.analysis.enough = all.analysis.alone ? is_another_there : NULL;
    all.analysis.enough_ctx = &w;
    try_text(j, text, &all, is_executed(f), t->solver, &trial);
    const tp_equiv *was = j->report.equiv, *is = trial.report.equiv;
    bool differs = is && ((all.equiv.until_different && is->different) || (was && is->trapped > was->trapped)),
         sound = trial.report.valid && !trial.report.internal_error && !differs && !w.failed;
    for (uint32_t i = 0; i < trial.report.findings.len; i++)
        differs |= trial.report.findings.at[i].verdict == TP_VIOLATED;
    bool better =
        sound && (j->report.valid ? improves(&j->report.findings, &trial.report.findings, f) : !is_open(&trial));
    trial_result result = better ? STANDS : sound && is_executed(f) && !differs ? AGREES : FAILS;
    if (better) {
        note_gone(&j->report.findings, &trial.report.findings, t->gone);
        note_open(t, &trial.report.findings);
    }
    *another = w.another;
    tp_job_free(&trial);
    return result;
}

/* Another finding says so, and has a fix of its own perhaps. */
static bool is_known_trap(const trier *t, const tp_finding *f, const char *rule)
{
    bool known = is_executed(f) && is_violated(&t->j->report.findings, rule);
    for (uint32_t i = 0; i < t->open.len && !is_executed(f); i++)
        known |= strcmp(t->open.at[i], rule) == 0;
    return known;
}

typedef enum few_cases {
    FEW_SILENT, /* nothing was compared */
    FEW_AGREE,
    FEW_DIFFER,
    FEW_TRAP
} few_cases;

/* A few cases alone: most changes of what is computed differ in each. */
static few_cases run_few_cases(const trier *t, tp_str text, const tp_finding *f)
{
    static const tp_rule *const NONE[1];
    tp_check_settings few = *t->s;
    tp_job trial;
    few.cases = 1;
    few.box = 0;
    few.effort = is_executed(f) ? 0 : t->s->execute ? VERIFY_EFFORT : LINT_EFFORT;
    few.at = f->witness;
    few.equiv.max_steps = is_executed(f) ? few.equiv.max_steps : FEW_STEPS;
    few.cases_only = few.equiv.until_different = few.equiv.verified_alone = true;
    few.analysis.only = NONE;
    few.analysis.nonly = 0;
    try_text(t->j, text, &few, true, t->solver, &trial);
    const tp_equiv *e = trial.report.valid && !trial.report.internal_error ? trial.report.equiv : NULL;
    few_cases answer = e && e->equal ? FEW_AGREE : FEW_SILENT;
    for (uint32_t i = 0; e && i < e->cases.len; i++) {
        const tp_case_result *r = &e->cases.at[i];
        if (r->outcome == TP_DIFFERENT)
            answer = FEW_DIFFER;
        else if (r->outcome == TP_TRAPPED && answer != FEW_DIFFER && !is_known_trap(t, f, r->trap.rule))
            answer = FEW_TRAP;
    }
    tp_job_free(&trial);
    return answer;
}

/* Of a rule's finding its own case is among them, which trapped before. Loops of the body may turn for long: then they
 * say nothing. */
static few_cases try_few_cases(trier *t, tp_str text, const tp_finding *f)
{
    tp_budget *b = tp_arena_budget(t->j->arena);
    if (is_executed(f))
        return run_few_cases(t, text, f);
    if (t->slow)
        return FEW_SILENT;
    bool cut = b && b->cut;
    int64_t share = b ? b->limit : 0, most = t->s->execute ? VERIFY_UNITS : LINT_UNITS;
    if (b && share - b->spent > most)
        b->limit = b->spent + most;
    few_cases answer = run_few_cases(t, text, f);
    tp_budget_close(b, share);
    t->slow = b && b->cut && !cut;
    if (b && !tp_budget_over(b))
        b->cut = cut;
    return answer;
}

/* Is it, or what is undecided without an execution, violated in the text as it is? */
static bool was_violated(const tp_findings *before, const tp_finding *f)
{
    for (uint32_t i = 0; i < before->len; i++)
        if (before->at[i].verdict == TP_VIOLATED && is_like(&before->at[i], f))
            return true;
    return false;
}

/* Sizes are given up for a kernel that is right in those that are left: where something is violated still, there has to
 * be something to do about it. */
static bool narrows_well(const trier *t, tp_str text)
{
    tp_job trial;
    bool well = true;
    look_at_text(t->j, text, t->s, false, t->solver, &trial);
    for (uint32_t i = 0; i < trial.report.findings.len; i++) {
        const tp_finding *f = &trial.report.findings.at[i];
        bool violated = f->verdict == TP_VIOLATED || was_violated(&t->j->report.findings, f);
        well &= !tp_is_standing(f) || !violated || f->proposals.len > 0;
    }
    tp_job_free(&trial);
    return well;
}

static trial_result try_one(trier *t, tp_str text, const tp_finding *f, const tp_fix *fix, bool *another)
{
    if (is_executed(f) ? try_few_cases(t, text, f) >= FEW_DIFFER : has_text(t->others.at, t->others.len, text))
        return FAILS;
    trial_result result = whole_trial(t, text, f, another);
    if (result == STANDS && fix->requires.n && !narrows_well(t, text))
        return FAILS;
    if (result != STANDS || is_executed(f) || f->verdict == TP_ADVICE || /* it is proven to compute the same */
        has_text(t->agreed.at, t->agreed.len, text))
        return result;
    few_cases few = try_few_cases(t, text, f);
    if (few >= FEW_DIFFER)
        return few == FEW_DIFFER ? DIFFERS : TRAPS;
    tp_push(t->j->arena, t->agreed, text);
    return result;
}

/* With half of what the budget leaves. `undecided`: that did not suffice. */
static trial_result try_within_share(trier *t, tp_str text, const tp_finding *f, const tp_fix *fix, bool *undecided)
{
    tp_budget *b = tp_arena_budget(t->j->arena);
    if (tp_budget_over(b))
        return *undecided = true, FAILS;
    int64_t share = tp_budget_share(b, 0.5);
    bool cut = b && b->cut, another = false;
    if (b)
        b->cut = false;
    trial_result result = try_one(t, text, f, fix, &another);
    tp_budget_close(b, share);
    *undecided = b && b->cut;
    if (another && !*undecided)
        tp_push(t->j->arena, t->others, text);
    if (b)
        b->cut |= cut;
    return *undecided ? FAILS : result;
}

/* Names a trial by all that decides how it ends. */
static tp_str trial_key(const tp_job *j, tp_str text, const tp_finding *f, const tp_check_settings *s)
{
    const tp_prover_options *o = &s->analysis.prover;
    tp_buf b = {.arena = j->arena};
    tp_buf_printf(&b, "trial of " TP_VERSION " %.*s %s %.*s %.*s %.*s %llu %d %d %s", TP_FMT(s->target), f->rule,
                  TP_FMT(f->loc.pointer), TP_FMT(f->subject), TP_FMT(j->report.sha256), (unsigned long long)o->rlimit,
                  o->no_z3, o->no_solver, o->second ? o->second : "");
    for (uint32_t i = 0; i < s->analysis.nonly; i++)
        tp_buf_printf(&b, " %s", s->analysis.only[i]->code);
    tp_buf_c(&b, "\n");
    tp_buf_str(&b, text);
    return tp_sha256(j->arena, tp_buf_view(&b));
}

/* Most guesses fail, again and again: that is remembered. A mark that lies hides a fix, no finding. */
static trial_result try_or_failed_before(trier *t, const tp_finding *f, const tp_fix *fix)
{
    const tp_job *j = t->j;
    const tp_check_settings *s = t->s;
    struct tp_cache *cache = is_executed(f) ? NULL : s->analysis.prover.cache;
    tp_str text = tp_apply_edits(j->arena, j->source.text, &fix->edits);
    tp_str key = cache ? trial_key(j, text, f, s) : (tp_str){NULL, 0};
    if (cache && tp_cache_marked(cache, key))
        return FAILS;
    bool undecided = false;
    trial_result result = try_within_share(t, text, f, fix, &undecided);
    if (cache && result == FAILS && !undecided)
        tp_cache_mark(cache, key);
    return result;
}

/* What became of the fixes of one finding. */
typedef struct fixing {
    const tp_fix *survivor; /* the first that stands, else the first one after which results agree */
    tp_str differs;         /* the title of the first after which they do not, */
    bool open;              /* ... and something else is violated then: that may be why; */
    tp_str traps;           /* or an execution breaks another rule */
} fixing;

static void try_proposals(trier *t, tp_finding *f, uint32_t from, bool narrows, fixing *x)
{
    for (uint32_t p = from; p < f->proposals.len && !x->survivor && t->trials < MAX_TRIALS; p++) {
        const tp_fix *fix = &f->proposals.at[p];
        if ((fix->requires.n > 0) != narrows || (is_executed(f) && ++t->executed > MAX_EXECUTED))
            continue;
        t->trials++;
        trial_result result = try_or_failed_before(t, f, fix);
        if (result == STANDS)
            f->fix = fix;
        if (result == STANDS || result == AGREES)
            x->survivor = fix;
        if (result == DIFFERS && !x->differs.n) {
            x->differs = fix->title;
            x->open = t->open.len > 0;
        }
        if (result == TRAPS && !x->traps.n)
            x->traps = fix->title;
    }
}

/* Those that keep the sizes first. A fix after which results differ from the reference is none; something else is wrong
 * then, which a change of one place may mend. */
static const tp_fix *find_fix(trier *t, tp_finding *f)
{
    fixing x = {.survivor = NULL};
    uint32_t own = f->proposals.len;
    try_proposals(t, f, 0, false, &x);
    if ((x.differs.n || x.traps.n) && !x.survivor && t->s->execute && !t->repaired) {
        t->repaired = true;
        tp_propose_repairs(t->j, f);
        try_proposals(t, f, own, false, &x);
    }
    if (x.differs.n && !x.survivor)
        f->help = tp_printf(t->j->arena, "to %.*s would remove this, but results then differ from the reference%s",
                            TP_FMT(x.differs), x.open ? "; what else is violated may be why" : "");
    else if (x.traps.n && !x.survivor)
        f->help = tp_printf(t->j->arena, "to %.*s would remove this, but executions then break another rule",
                            TP_FMT(x.traps));
    try_proposals(t, f, 0, true, &x);
    return x.survivor;
}

/* f is a consequence of another finding: that one's fix removes it, and nothing else is to be done about it. */
static void say_consequence(const tp_job *j, tp_finding *f, const tp_finding *cause)
{
    tp_str subject = cause->subject, note = f->note;
    f->note = tp_printf(j->arena, "the fix of %s%s%.*s%s in line %u removes this, too%s%.*s", cause->rule,
                        subject.n ? " of `" : "", TP_FMT(subject), subject.n ? "`" : "",
                        tp_linecol_of(&j->source, cause->loc.start).line, note.n ? "; " : "", TP_FMT(note));
    f->help = (tp_str){NULL, 0};
    f->fix = NULL;
    f->follows = true;
}

void tp_try_fixes(tp_job *j, const tp_check_settings *s, tp_solver *solver)
{
    tp_findings *all = &j->report.findings;
    tp_guess_fixes(j);
    trier t = {.j = j, .s = s, .solver = solver, .gone = TP_NEWN(j->arena, bool, all->len)};
    for (uint32_t i = 0; i < all->len; i++)
        t.repaired |= strcmp(all->at[i].rule, TP_RULE_NOT_EQUIVALENT) == 0;
    const tp_finding **cause = TP_NEWN(j->arena, const tp_finding *, all->len);
    for (uint32_t i = 0; i < all->len; i++) {
        tp_finding *f = &all->at[i];
        bool open = tp_is_standing(f) || (f->verdict == TP_ADVICE && !f->suppressed);
        if (cause[i] && strcmp(cause[i]->rule, f->rule) != 0) {
            say_consequence(j, f, cause[i]);
            continue;
        }
        const tp_fix *survivor = open ? find_fix(&t, f) : NULL;
        if (survivor)
            tp_blame_repair(j, f, f->fix ? f->fix : survivor);
        for (uint32_t g = 0; g < all->len && f->fix && !f->fix->requires.n; g++) {
            bool is_new = g != i && t.gone[g] && !cause[g];
            cause[g] = is_new ? f : cause[g];
            if (is_new && g < i && (!all->at[g].fix || all->at[g].fix->requires.n))
                say_consequence(j, &all->at[g], f);
        }
        if (!survivor && cause[i])
            say_consequence(j, f, cause[i]);
    }
}

static const tp_fix *first_fix(const tp_job *j, const tp_check_settings *s)
{
    for (uint32_t i = 0; i < j->report.findings.len; i++) {
        const tp_finding *f = &j->report.findings.at[i];
        if (f->fix && !f->suppressed && (!f->fix->requires.n || s->unsafe_fixes))
            return f->fix;
    }
    return NULL;
}

/* The first fix, into j->fixed; false: there is none. */
static bool fix_once(tp_job *j, const tp_check_settings *s, bool execute, tp_solver *solver)
{
    tp_job trial;
    tp_str text = j->fixed.n ? j->fixed : j->source.text;
    look_at_text(j, text, s, execute, solver, &trial);
    tp_try_fixes(&trial, s, solver);
    const tp_fix *fix = first_fix(&trial, s);
    if (fix) {
        j->fixed = tp_apply_edits(j->arena, text, &fix->edits);
        j->nfixes++;
    }
    tp_job_free(&trial);
    return fix != NULL;
}

void tp_fix_text(tp_job *j, const tp_check_settings *s, tp_solver *solver)
{
    for (uint32_t n = 0; n < MAX_FIXES; n++)
        if (!fix_once(j, s, false, solver) && (!s->execute || !fix_once(j, s, true, solver)))
            return;
}
