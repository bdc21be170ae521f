/* mutate: does verify notice small defects in this kernel? */
#include <stdio.h>

#include "analyzer/analyze.h"
#include "base/budget.h"
#include "base/jsonc.h"
#include "base/rng.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/mutations.h"
#include "cli/score.h"
#include "cli/watchdog.h"
#include "cli/wider.h"
#include "verify/verify.h"

static const char SECOND_OPINION[] = "second opinion";

/* Who notices a changed spec. */
typedef struct verdict {
    const char *by;    /* a rule, E1, E2, TP703, SECOND_OPINION; NULL: nobody */
    const char *open;  /* a verdict short of a violation: "unknown TP404", "E3 inconclusive" */
    bool invalid;      /* it is no valid spec any more */
    bool same;         /* no case of verify, and no wider run, tells it from the kernel as it is */
    uint32_t runs;     /* wider ones, of which none told them apart; or up to the one that did */
    bool bounded;      /* their work was spent before there were as many as were asked for */
    const char *wider; /* that told them apart; NULL: none */
    bool loose;        /* allclose(rtol=1e-2, atol=1e-2) would notice, or the run cannot be finished */
    bool equal;        /* proven to be equal to the reference, for all sizes */
    bool masks;        /* … with finite masks for minus infinity */
    bool alike;        /* proven to leave the bits of the kernel as it is, for all sizes */
    bool refuted;      /* some case refutes such a proof */
} verdict;

static bool is_equal(const verdict *v)
{
    return v->equal || v->alike;
}

typedef struct judging {
    tp_job job;
    tp_prover_options prover;
    tp_equiv_options equiv;
    uint32_t cases, box;
    uint64_t digest, original;     /* of the numbers of all cases; original: of the kernel as it is */
    uint64_t shapes, first_shapes; /* of these cases' sizes; first: of the kernel as it is */
    tp_job *as_it_is;              /* the kernel without a defect */
    uint32_t wider;                /* runs */
    uint32_t defects;              /* of each kernel; 0: all */
    tp_str hints;                  /* text of the defect */
    bool overflows, now_overflows; /* the kernel as it is; this one */
    bool unstable;                 /* the kernel as it is, by TP703 */
    bool keeps_rules;              /* the kernel as it is: those on which equality rests are proven */
    bool cut, as_it_is_cut;        /* for its budget, not all was looked at */
    const tp_check_settings *s;    /* the budget of each changed spec */
    tp_watched_thread *watched;
    tp_progress *progress;
    struct json_object *specs, *list; /* of the document; of one kernel's defects; NULL: text is wanted */
    tp_findings found;                /* by the rules */
    verdict v;
} judging;

static void judge_rules(void *arg)
{
    judging *x = arg;
    tp_analysis_options o = {.prover = x->prover};
    tp_analysis_result r = {0};
    size_t n;
    o.only = tp_rules(&n);
    o.nonly = (uint32_t)n;
    tp_analyze(x->job.arena, x->job.report.spec, &o, &r);
    tp_equality q = tp_check_equality(x->job.arena, x->job.report.spec, &o, &r.findings);
    x->v.equal = q.proven;
    x->v.masks = q.masks;
    x->found = r.findings;
    for (uint32_t i = 0; i < r.findings.len; i++) {
        const tp_finding *f = &r.findings.at[i];
        if (!x->v.by && (f->verdict == TP_VIOLATED || f->verdict == TP_VACUOUS))
            x->v.by = f->rule;
        if (!x->v.open && f->verdict == TP_UNKNOWN)
            x->v.open = tp_printf(x->job.arena, "unknown %s", f->rule).p;
    }
}

/* Digests of two kernels say something together where the cases are the same. */
static void digest_case(judging *x, const tp_case_result *r)
{
    const tp_case *the_case = r->the_case;
    x->digest = (x->digest ^ r->digest ^ (uint64_t)r->outcome) * 0x100000001b3u;
    x->shapes = (x->shapes ^ the_case->seed) * 0x100000001b3u;
    for (uint32_t s = 0; s < the_case->kernel->nsizes; s++)
        x->shapes = (x->shapes ^ (uint64_t)the_case->env[the_case->kernel->sizes[s].sym]) * 0x100000001b3u;
}

static void judge_case(judging *x, const tp_case_result *r, bool digest)
{
    verdict *v = &x->v;
    const char *by = NULL;
    if (digest)
        digest_case(x, r);
    if (r->outcome == TP_TRAPPED)
        by = r->trap.rule;
    else if (r->outcome == TP_DIFFERENT)
        by = "E2";
    v->loose |= r->outcome == TP_TRAPPED;
    v->refuted |= tp_equiv_refutes(r, v->masks);
    for (uint32_t i = 0; i < r->outputs.len; i++) {
        const tp_output_diff *d = &r->outputs.at[i];
        v->loose |= d->loose > 0;
        if (d->tier == TP_TIER_DIFFERENT)
            by = "E1";
        else if (!by && r->outcome == TP_EQUAL &&
                 ((d->rounding > 1 && !x->unstable) || (d->overflows && !x->overflows)))
            by = TP_RULE_NUMERICALLY_UNSTABLE;
        x->now_overflows |= d->overflows;
    }
    if (!v->by)
        v->by = by;
    if (!v->open && r->algebra.tier == TP_TIER_INCONCLUSIVE)
        v->open = "E3 inconclusive";
    if (!v->open && r->outcome == TP_SKIPPED)
        v->open = "not compared";
}

enum { FEW = 3 }; /* cases at block boundaries alone, to which none are added */

/* Execute the cases, and the box where `first`. */
static void judge_cases(judging *x, uint32_t per_kernel, bool first)
{
    const tp_spec *s = x->job.report.spec;
    tp_equiv e;
    tp_cases *cases = TP_NEW(x->job.arena, tp_cases);
    *cases = tp_cases_read(&x->job.ctx, s, per_kernel);
    tp_equiv_run(x->job.arena, cases, &x->equiv, &e);
    if (first && !x->v.by && e.equal)
        tp_equiv_box(&x->job.ctx, s, x->box, &x->equiv, &e);
    for (uint32_t i = 0; i < e.cases.len; i++)
        judge_case(x, &e.cases.at[i], first);
    if (!x->v.open && first && e.box.inconclusive)
        x->v.open = "E3 inconclusive";
    x->cut |= tp_budget_over(tp_arena_budget(x->job.arena)); /* which ends cases early, and not with a leave */
}

static void judge_few(void *arg)
{
    judging *x = arg;
    judge_cases(x, x->cases < FEW ? x->cases : FEW, true);
}

static void judge_more(void *arg)
{
    judging *x = arg;
    judge_cases(x, x->cases, false);
}

static void judge_statements(void *arg)
{
    judging *x = arg;
    tp_analysis_options o = {.prover = x->prover};
    x->v.alike = tp_does_the_same(&x->job, &x->found, x->as_it_is, &o);
}

/* What verify asks where equality is not proven and all cases agree. */
static void judge_far(void *arg)
{
    judging *x = arg;
    tp_equiv e = {.equal = 1};
    tp_search_far_case(x->job.arena, &x->job.report, &x->equiv, &e);
    for (uint32_t i = 0; i < e.cases.len; i++)
        judge_case(x, &e.cases.at[i], false);
    if (!x->v.by && (e.far_kernel || e.unexplained))
        x->v.by = SECOND_OPINION;
}

/* With half of what is left of the budget. */
static void part(judging *x, const char *what, void (*fn)(void *arg))
{
    tp_share share = {0.5, what, {NULL, 0}};
    tp_str why;
    x->cut |= !tp_within(x->job.arena, &share, fn, x, &why);
}

/* Few cases notice most; what they do not gets those of verify. Only the few are
 * the same ones for the kernel as it is: a number in a defect brings sizes of its own. */
static void judge(void *arg)
{
    judging *x = arg;
    part(x, "the rules", judge_rules);
    part(x, "the cases", judge_few);
    if (!x->v.by && x->cases > FEW)
        part(x, "the cases", judge_more);
    if (!x->v.by && !x->v.equal && x->as_it_is && x->keeps_rules)
        part(x, "the statements", judge_statements);
    if (!x->v.by && !x->v.equal && !x->v.alike && x->cases > FEW)
        part(x, "the search for far differences", judge_far);
}

enum { WIDER_WORK = 1 << 29 }; /* a few seconds */

/* On other inputs and shapes than those of verify: what these did not tell
 * apart, they cannot judge. */
static void judge_wider(void *arg)
{
    judging *x = arg;
    tp_wider w;
    tp_wider_options o = {.runs = x->wider, .seed = x->equiv.seed + 1, .elements = (size_t)1 << 21, .work = WIDER_WORK};
    tp_ctx ctx = {.arena = x->job.arena, .source = &x->job.source};
    tp_compare_wider(&ctx, x->as_it_is->report.spec, x->job.report.spec, x->hints, &o, &w);
    x->v.same = !w.apart;
    x->v.runs = w.runs;
    x->v.bounded = w.bounded;
    x->v.wider = w.apart ? tp_cstr(x->job.arena, w.where) : NULL;
}

/* Of a part that was left in the middle. */
static void note_status(tp_cli *c, judging *x, tp_status st)
{
    x->cut |= st == TP_E_BUDGET;
    x->v.invalid |= st == TP_E_INPUT;
    if (st == TP_E_MEMORY && !x->v.by)
        x->v.open = "out of memory";
    if (x->cut && !x->v.by && !is_equal(&x->v))
        x->v.open = tp_budget_reason(c->arena, tp_arena_budget(x->job.arena)).p;
    x->v.same &= st == TP_OK;
}

static void judge_loaded(tp_cli *c, judging *x)
{
    tp_load_options o = {.target = {NULL, 0}};
    tp_spec *spec = NULL;
    tp_status loaded = tp_spec_load(&x->job.ctx, &o, &spec);
    if (loaded == TP_E_MEMORY)
        tp_leave(c->arena, loaded);
    x->job.report.spec = spec;
    note_status(c, x, loaded == TP_OK ? tp_try(x->job.arena, judge, x) : loaded);
}

/* hints: the text of the defect. */
static verdict judge_text(tp_cli *c, tp_str path, tp_str text, tp_str hints, judging *settings)
{
    judging x = *settings;
    x.digest = x.shapes = 0;
    x.now_overflows = false;
    x.job.arena = tp_arena_child(c->arena);
    x.job.source = (tp_source){.path = path, .text = text};
    tp_watched_begin(x.watched, &x.job.source.path);
    tp_job_begin(&x.job);
    x.job.ctx.read_from = x.s->read_from;
    x.job.ctx.nread_from = x.s->nread_from;
    tp_job_allow(&x.job, x.s);
    judge_loaded(c, &x);
    x.v.refuted |= x.v.alike && x.shapes == x.first_shapes && !x.as_it_is_cut && x.digest != x.original;
    /* which only wider runs can compare */
    bool other_cases = (x.shapes != x.first_shapes || x.as_it_is_cut) && x.wider > 0;
    x.v.same = !x.v.invalid && !x.v.by && !x.cut && (x.digest == x.original || other_cases);
    x.hints = hints;
    if (x.v.same && !is_equal(&x.v) && x.as_it_is)
        note_status(c, &x, tp_try(x.job.arena, judge_wider, &x));
    if (x.as_it_is_cut && x.as_it_is && !x.v.runs && !is_equal(&x.v) && !x.v.open) {
        x.v.same = false;
        x.v.open = "the kernel as it is was cut off";
    }
    tp_watched_end(x.watched);
    if (x.v.wider)
        x.v.wider = tp_cstr(c->arena, tp_printf(c->arena, "%s", x.v.wider));
    settings->digest = x.digest;
    settings->shapes = x.shapes;
    settings->now_overflows = x.now_overflows;
    settings->keeps_rules = x.as_it_is ? x.keeps_rules : !tp_equality_without(&x.found);
    settings->as_it_is_cut |= x.cut && !x.as_it_is;
    if (x.v.by) /* static texts, but for those of the arena */
        x.v.open = NULL;
    else if (x.v.open)
        x.v.open = tp_printf(c->arena, "%s", x.v.open).p;
    tp_job_free(&x.job);
    return x.v;
}

/* ---- counting ---- */

typedef struct tally {
    const char *name;
    uint32_t n;
} tally;
typedef TP_VEC(tally) tallies;

static void tally_one(tp_arena *a, tallies *t, const char *name)
{
    for (uint32_t i = 0; i < t->len; i++)
        if (strcmp(t->at[i].name, name) == 0) {
            t->at[i].n++;
            return;
        }
    tp_push(a, *t, (tally){name, 1});
}

static void print_tallies(const char *title, const tallies *t)
{
    printf("%s", title);
    for (uint32_t i = 0; i < t->len; i++)
        printf("%s %s %u", i ? "," : "", t->at[i].name, t->at[i].n);
    printf("\n");
}

static const char *rule_name(const char *by)
{
    const tp_rule *r = tp_rule_find(tp_str_c(by));
    return r ? r->code : by; /* outlives the spec that it was found in */
}

/* `most` of them by the seed, in their order; 0: all. */
static void choose_some(tp_arena *a, tp_mutations *all, uint32_t most, uint64_t seed)
{
    tp_rng rng = tp_rng_new(seed, all->len);
    bool *taken = TP_NEWN(a, bool, all->len + 1);
    uint32_t n = 0;
    if (!most || most >= all->len)
        return;
    for (uint32_t left = most; left > 0;) {
        uint64_t i = tp_rng_below(&rng, all->len);
        left -= !taken[i];
        taken[i] = true;
    }
    for (uint32_t i = 0; i < all->len; i++)
        if (taken[i])
            all->at[n++] = all->at[i];
    all->len = n;
}

static tp_fate fate_of(const verdict *v)
{
    return v->by         ? TP_FATE_NOTICED
           : is_equal(v) ? TP_FATE_EQUAL
           : v->same     ? TP_FATE_NOT_APART
           : v->open     ? TP_FATE_OPEN
                         : TP_FATE_SURVIVES;
}

/* What is unknown of it, what tells, or why it is equal that is not proven to be the reference; NULL: nothing. */
static const char *says_of(const verdict *v)
{
    return v->by || v->equal ? NULL
           : v->alike        ? "leaves the bits of the kernel as it is"
           : v->open         ? v->open
                             : v->wider;
}

/* Does an execution refute the proof? */
static bool is_contradicted(const verdict *v)
{
    bool trapped =
        v->by && v->by[0] == 'T' && strcmp(v->by, TP_RULE_NUMERICALLY_UNSTABLE) != 0 && !tp_rule_find(tp_str_c(v->by));
    return is_equal(v) && (v->refuted || trapped);
}

typedef struct planting {
    tp_job *j;
    tp_mutations all;
} planting;

static void plant(void *arg)
{
    planting *p = arg;
    p->all = tp_mutations_of(&p->j->ctx, p->j->report.spec->doc);
}

/* Each is a whole spec. False after a message. */
static bool all_mutations(tp_cli *c, planting *p)
{
    tp_arena *a = p->j->arena;
    if (tp_try(a, plant, p) == TP_OK)
        return true;
    tp_say(stderr, "tileproof: %.*s: the defects are too many: %.*s", TP_FMT(p->j->source.path),
           TP_FMT(tp_budget_reason(c->arena, tp_arena_budget(a))));
    return false;
}

/* Judge the kernel without a defect. False after a message: what notices it would be said to notice every defect. */
static bool judge_as_it_is(tp_cli *c, tp_job *j, judging *settings)
{
    settings->original = 0;
    settings->as_it_is_cut = settings->unstable = false;
    settings->overflows = true;
    settings->as_it_is = NULL;
    verdict v = judge_text(c, j->source.path, j->source.text, TP_S(""), settings);
    settings->as_it_is = j;
    settings->original = settings->digest;
    settings->first_shapes = settings->shapes;
    settings->overflows = settings->now_overflows;
    settings->unstable = v.by && strcmp(v.by, TP_RULE_NUMERICALLY_UNSTABLE) == 0;
    if (!v.by || settings->unstable)
        return true;
    tp_say(stderr, "tileproof: %.*s: no defects are planted: %s rejects the kernel as it is; mend it first",
           TP_FMT(j->source.path), rule_name(v.by));
    return false;
}

/* What is told of one defect; not of one that is no valid spec. */
static void tell(tp_cli *c, judging *x, const tp_defect *d)
{
    tp_progress_clear(x->progress);
    if (x->list)
        json_object_array_add(x->list, tp_score_json_defect(d));
    else if (c->verbose.len || !d->by || d->contradicted)
        tp_score_print_defect(d);
    fflush(stdout);
}

static void judge_defects(tp_cli *c, const tp_mutations *all, judging *x, tp_score *s)
{
    tallies by = {0}, kinds = {0};
    x->progress->of = all->len;
    for (uint32_t i = 0; i < all->len; i++) {
        const tp_mutation *m = &all->at[i];
        x->progress->done = i;
        verdict v = judge_text(c, x->as_it_is->source.path, m->text, m->after, x);
        if (tp_budget_interrupted())
            break;
        if (v.invalid) {
            s->invalid++;
            continue;
        }
        tp_defect d = {.mutation = m,
                       .fate = fate_of(&v),
                       .by = v.by ? rule_name(v.by) : NULL,
                       .says = says_of(&v),
                       .runs = v.runs,
                       .bounded = v.bounded,
                       .loose = v.loose,
                       .contradicted = is_contradicted(&v)};
        tp_score_count(s, &d);
        tally_one(c->arena, &kinds, m->kind);
        if (d.by)
            tally_one(c->arena, &by, d.by);
        tell(c, x, &d);
    }
    if (x->list)
        return;
    print_tallies("  noticed by", &by);
    tp_score_print(s, kinds.len);
}

static void add_to_document(judging *x, const tp_score *s)
{
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "path", tp_jsonc_string(x->as_it_is->source.path));
    json_object_object_add(o, "name", tp_jsonc_string(x->as_it_is->report.name));
    json_object_object_add(o, "defects", x->list);
    json_object_object_add(o, "counts", tp_score_json(s));
    json_object_array_add(x->specs, o);
}

static int mutate_one(tp_cli *c, tp_str path, judging *settings, tp_score *total)
{
    tp_job j = {0};
    planting planted = {.j = &j};
    tp_score s = {.specs = 1};
    tp_watched_begin(settings->watched, &path);
    tp_job_load(c, &j, path, settings->s);
    if (tp_job_exit_code(c, &j, TP_UNKNOWN_WARN) != TP_EXIT_OK || !all_mutations(c, &planted)) {
        tp_job_free(&j);
        return TP_EXIT_INPUT;
    }
    if (!judge_as_it_is(c, &j, settings)) {
        tp_job_free(&j);
        return TP_EXIT_VIOLATED;
    }
    choose_some(c->arena, &planted.all, settings->defects, settings->equiv.seed);
    settings->list = settings->specs ? json_object_new_array() : NULL;
    if (!settings->list)
        tp_say(stdout, "%.*s", TP_FMT(j.report.name));
    judge_defects(c, &planted.all, settings, &s);
    if (settings->list)
        add_to_document(settings, &s);
    tp_score_add(total, &s);
    tp_job_free(&j);
    return TP_EXIT_OK;
}

static void print_document(tp_cli *c, const judging *x, const tp_score *total)
{
    struct json_object *doc = json_object_new_object();
    json_object_object_add(doc, "tileproof_mutate", json_object_new_int(1));
    json_object_object_add(doc, "tool", json_object_new_string("tileproof " TP_VERSION));
    json_object_object_add(doc, "seed", json_object_new_int64((int64_t)x->equiv.seed));
    json_object_object_add(doc, "partial", json_object_new_boolean(tp_budget_interrupted()));
    json_object_object_add(doc, "specs", x->specs);
    json_object_object_add(doc, "counts", tp_score_json(total));
    tp_str text = tp_jsonc_text(c->arena, doc, TP_JSONC_SPACED);
    printf("%.*s\n", TP_FMT(text));
    json_object_put(doc);
}

static bool read_format(tp_cli *c, judging *x)
{
    tp_str format = tp_option(&c->defect_list, "full");
    bool json = tp_str_is(format, "json");
    if (!json && !tp_str_is(format, "full")) {
        tp_usage_error("--format: mutate has no format `%.*s`; it has full and json", TP_FMT(format));
        return false;
    }
    x->specs = json ? json_object_new_array() : NULL;
    return true;
}

static int run(tp_cli *c)
{
    tp_strings paths = {0};
    int64_t cases, box, memory, seed, wider, defects;
    judging settings = {.v = {0}};
    tp_score total = {0};
    int code = TP_EXIT_OK;
    tp_check_settings s;
    tp_watched_thread here = tp_watched_here();
    tp_watchdog guard;
    tp_check_defaults(&s, true);
    s.read_from = c->allow_path.at;
    s.nread_from = c->allow_path.len;
    if (!tp_option_number(&c->cases, "cases", 0, 1000, 6, &cases) ||
        !tp_option_number(&c->box, "box", 0, 100000, 8, &box) ||
        !tp_option_number(&c->wider, "wider", 0, 100000, 40, &wider) ||
        !tp_option_number(&c->defects, "defects", 0, 1000000, 0, &defects) ||
        !tp_option_number(&c->seed, "seed", 0, INT64_MAX, 0, &seed) ||
        !tp_option_number(&c->max_memory, "max-memory", 1, 1 << 20, 2048, &memory) || !tp_use_budget(c, &s) ||
        !tp_expand_paths(c, &paths) || !read_format(c, &settings))
        return TP_EXIT_USAGE;
    settings.cases = (uint32_t)cases;
    settings.box = (uint32_t)box;
    settings.wider = (uint32_t)wider;
    settings.defects = (uint32_t)defects;
    settings.equiv =
        (tp_equiv_options){.seed = (uint64_t)seed, .max_memory = (size_t)memory << 20, .max_steps = 100000};
    settings.prover.solver = tp_solver_new(c->arena);
    tp_solver_start(settings.prover.solver);
    settings.s = &s;
    settings.watched = &here;
    tp_progress progress = {.shown = tp_progress_wanted(c), .parts = "defects"};
    settings.progress = &progress;
    tp_interrupt_allow();
    tp_watchdog_start(&guard, &here, 1, s.timeout, &progress);
    for (uint32_t i = 0; i < paths.len && !tp_budget_interrupted(); i++)
        code = tp_worse_exit(code, mutate_one(c, paths.at[i], &settings, &total));
    tp_watchdog_stop(&guard);
    tp_solver_free(settings.prover.solver);
    if (settings.specs)
        print_document(c, &settings, &total);
    else if (paths.len > 1)
        tp_score_print_total(&total);
    if (total.contradicted)
        tp_say(stderr,
               "tileproof: internal error: %u defects are proven equal and executed differently; please report it",
               total.contradicted);
    if (tp_budget_interrupted()) {
        tp_say(stderr, "tileproof: interrupted: the result is partial, of %u defects", total.planted);
        return TP_EXIT_INTERRUPTED;
    }
    return total.contradicted ? TP_EXIT_INTERNAL : code;
}

const tp_command tp_command_mutate = {"mutate", 'm', "SPEC…",
                                      "plant small defects in a kernel and say which rule or tier notices each", run};
