/* Copies in flight, exhaustively: every program of at most five copies and waits on two buffers, by an alphabet per
 * length, with lint's verdict for any number of steps against a search over all schedules of one to five of them. In
 * the search a copy ends at any time after its start, and then adds its bytes to its semaphore: nothing is said there
 * of settling, nor of the machine, which has to trap where some schedule goes wrong.
 *
 * Of programs that are the same but for the names of the buffers, or for the order of neighbours that have nothing to
 * do with each other, one is tried; of those that go wrong in their first step by the same first statements, the
 * shortest. TEST_EVERY=1: all of them (make boxes); else every so many, from the one that TEST_SEED names.
 *
 * One slot also goes through two loops: for each of any number of rows, or in each step, a loop of as many turns as a
 * table says, which a range, a test or a flag ends. There the search goes through all tables of few small entries. */
#include "tests/unit/replay.h"

enum { MOST_OPS = 5, MOST_STEPS = 5, MOST_ROWS = 3, MOST_TURNS = 3, EVERY = 9001 };

/* USE: a wait, then a read of its buffer. The others are of semaphores that count. */
typedef enum kind { START, WAIT, USE, SIGNAL, AWAIT } kind;
typedef enum when { ALWAYS, FIRST, LATER, NOT_LAST, LAST } when;
static const char *const GUARDS[] = {NULL, "i == 0", "i > 0", "i + 1 < num_programs(i)", "i == num_programs(i) - 1"};
static const char *const SLOTS[] = {"0", "1", "i % 2", "(i + 1) % 2"};
/* The same of a loop, which carries s, or of steps that keep it in SMEM. */
static const char *const GUARDS_IN_LOOP[] = {NULL, "i == 0", "i > 0", "i + 1 < N", "i == N - 1"};
static const char *const CARRIED[] = {"0", "1", "s", "1 - s"};
/* The same of turns in rows: of each row by itself, and of all of them. */
static const char *const GUARDS_IN_ROW[] = {NULL, "i == 0", "i > 0", "i + 1 < rows[g]", "i == rows[g] - 1"};
static const char *const GUARDS_IN_ROWS[] = {NULL, "g + i == 0", "g + i > 0", "g + 1 < N or i + 1 < rows[g]",
                                             "g == N - 1 and i == rows[g] - 1"};
/* NO_ROWS: steps, or turns of one loop. ALL: no row is empty. */
typedef enum row_kind { NO_ROWS, EACH, ALL } row_kind;
/* What ends the turns: their number; a test that counts them, `while i + 1 <= N`; a flag, which does not. */
typedef enum turns_end { BY_RANGE, BY_TEST, BY_FLAG, TURNS_END } turns_end;

typedef struct op {
    kind kind;
    when when;
    uint32_t slot;
} op;

/* What programs of a length are made of. */
typedef struct alphabet {
    uint32_t length, nkinds, nguards, nslots;
    kind kinds[3];
    when guards[5];
    uint32_t slots[4];
} alphabet;
static const alphabet ALPHABETS[] = {
    {3, 3, 5, 4, {START, WAIT, USE}, {ALWAYS, FIRST, LATER, NOT_LAST, LAST}, {0, 1, 2, 3}},
    {4, 2, 5, 3, {START, USE}, {ALWAYS, FIRST, LATER, NOT_LAST, LAST}, {0, 2, 3}},
    {5, 2, 3, 3, {START, USE}, {ALWAYS, FIRST, NOT_LAST}, {0, 2, 3}},
    {4, 2, 5, 3, {SIGNAL, AWAIT}, {ALWAYS, FIRST, LATER, NOT_LAST, LAST}, {0, 2, 3}},
    {5, 2, 4, 2, {START, WAIT}, {ALWAYS, FIRST, NOT_LAST, LAST}, {0, 1}},
};

typedef struct program {
    op ops[MOST_OPS];
    uint32_t n;
    bool one;      /* one semaphore for both buffers, else one each */
    bool carried;  /* steps are turns of a loop, which carries the slot */
    bool kept;     /* steps keep the slot in SMEM; turns, if it is carried */
    bool late;     /* and the first one of them does not turn it */
    row_kind by;   /* turns are those of a loop in a loop; carried, and not late */
    turns_end end; /* carried */
    bool steps;    /* rows are steps, which keep the slot in SMEM for each other */
} program;

/* So many steps or turns; of rows in each. */
typedef struct extent {
    int64_t n[MOST_ROWS + 1];
    uint32_t rows;
} extent;

static bool happens(when w, int64_t i, int64_t n)
{
    return w == ALWAYS || (w == FIRST && i == 0) || (w == LATER && i > 0) || (w == NOT_LAST && i + 1 < n) ||
           (w == LAST && i + 1 == n);
}

static uint32_t buffer_of(const program *p, const op *o, int64_t i)
{
    return o->slot < 2 ? o->slot : (uint32_t)((p->late && i ? i - 1 : i) + o->slot) % 2;
}

/* ---- all schedules ---- */

enum { FAULT_502 = 1, FAULT_504 = 2, FAULT_404 = 4, IN_FIRST_STEP = 8, MOST_STATES = 20000 };

/* Behind some statements: copies that did not end yet, by buffer and semaphore; what the semaphores have. */
typedef struct moment {
    uint8_t flying[2][2], count[2];
    bool written[2];
} moment;

typedef struct search {
    const program *p;
    moment seen[MOST_STATES];
    uint32_t nseen;
    unsigned faults; /* of all schedules */
} search;

static void reach(search *x, uint32_t from, const moment *s)
{
    for (uint32_t i = from; i < x->nseen; i++)
        if (memcmp(&x->seen[i], s, sizeof *s) == 0)
            return;
    assert_true(x->nseen < MOST_STATES);
    x->seen[x->nseen++] = *s;
}

/* What the statement makes of one state. False: a schedule that ends there. */
static bool execute(search *x, const op *o, int64_t i, moment *s)
{
    uint32_t b = buffer_of(x->p, o, i), sem = x->p->one ? 0 : b;
    unsigned first = i == 0 ? IN_FIRST_STEP : 0;
    if (o->kind == SIGNAL) {
        s->count[sem]++;
        return true;
    }
    bool flies = s->flying[b][0] || s->flying[b][1];
    if (o->kind == START) {
        if (flies)
            x->faults |= FAULT_504 | first;
        s->flying[b][sem]++;
        s->written[b] = true;
        return true;
    }
    if (!s->count[sem]) { /* blocked; for ever, if no copy will end here */
        if (!s->flying[0][sem] && !s->flying[1][sem])
            x->faults |= FAULT_502 | first;
        return false;
    }
    s->count[sem]--;
    if (o->kind == USE && flies)
        x->faults |= FAULT_504 | first;
    else if (o->kind == USE && !s->written[b])
        x->faults |= FAULT_404 | first;
    return true;
}

/* The states from `from` on, and what they become when copies end. */
static void end_copies(search *x, uint32_t from)
{
    for (uint32_t i = from; i < x->nseen; i++)
        for (uint32_t b = 0; b < 2; b++)
            for (uint32_t sem = 0; sem < 2; sem++) {
                moment s = x->seen[i];
                if (!s.flying[b][sem])
                    continue;
                s.flying[b][sem]--;
                s.count[sem]++;
                reach(x, from, &s);
            }
}

/* One step: the i-th of n, or of its row, and how many there were before. */
static uint32_t take_step(search *x, int64_t i, int64_t n, int64_t before, uint32_t from)
{
    for (uint32_t k = 0; k < x->p->n; k++) {
        if (!happens(x->p->ops[k].when, i, n))
            continue;
        end_copies(x, from);
        uint32_t end = x->nseen;
        for (uint32_t at = from; at < end; at++) {
            moment s = x->seen[at];
            if (execute(x, &x->p->ops[k], before, &s))
                reach(x, end, &s);
        }
        from = end;
    }
    return from;
}

/* Everything that may go wrong in so many steps. */
static unsigned all_schedules(const program *p, const extent *e)
{
    static search x;
    uint32_t from = 0;
    int64_t before = 0;
    x.p = p;
    x.nseen = 1;
    x.faults = 0;
    memset(&x.seen[0], 0, sizeof x.seen[0]);
    for (uint32_t r = 0; r < e->rows; r++)
        for (int64_t i = 0; i < e->n[r]; i++)
            from = take_step(&x, i, e->n[r], before++, from);
    for (uint32_t at = from; at < x.nseen; at++) {
        static const moment nothing;
        if (memcmp(x.seen[at].flying, nothing.flying, sizeof nothing.flying) != 0 || x.seen[at].count[0] ||
            x.seen[at].count[1])
            x.faults |= FAULT_502;
    }
    return x.faults;
}

/* ---- lint and the machine ---- */

/* What is before the statements: the slot, kept in SMEM or not; the loop around, if there is one. */
static const char *before(tp_arena *a, const program *p)
{
    const char *margin = p->by && !p->steps ? "    " : "", *count = p->by ? "rows[g]" : "N";
    tp_buf b = {.arena = a};
    if (!p->carried)
        return p->kept ? ", \"if i == 0:\", \"    state[0] = 0\", \"s = state[0]\"" : "";
    if (p->steps)
        tp_buf_printf(&b, ", \"if g == 0:\", \"    state[0] = 0\"%s", p->kept ? "" : ", \"s = state[0]\"");
    else
        tp_buf_printf(&b, ", \"%s\"", p->kept ? "state[0] = 0" : "s = full((), 0, int32)");
    if (p->by && !p->steps)
        tp_buf_printf(&b, ", \"for g in range(N):\"");
    if (p->end)
        tp_buf_printf(&b, ", \"%si = full((), 0, int32)\"", margin);
    if (p->end == BY_FLAG)
        tp_buf_printf(&b, ", \"%sdone = full((), 0, int32)\", \"%swhile (done == 0) & (i < %s):\"", margin, margin,
                      count);
    else if (p->end)
        tp_buf_printf(&b, ", \"%swhile i + 1 <= %s:\"", margin, count);
    else
        tp_buf_printf(&b, ", \"%sfor i in range(%s):\"", margin, count);
    if (p->kept)
        tp_buf_printf(&b, ", \"%s    s = state[0]\"", margin);
    return tp_buf_view(&b).p;
}

static const char *guard_of(const program *p, when w)
{
    return (p->by == EACH ? GUARDS_IN_ROW : p->by == ALL ? GUARDS_IN_ROWS : p->carried ? GUARDS_IN_LOOP : GUARDS)[w];
}

static const char *spec_of(tp_arena *a, const program *p)
{
    const char *turn = p->by && !p->steps ? "        " : p->carried ? "    " : "";
    tp_buf b = {.arena = a};
    for (uint32_t k = 0; k < p->n; k++) {
        const op *o = &p->ops[k];
        const char *slot = p->carried || p->kept ? CARRIED[o->slot] : SLOTS[o->slot];
        const char *margin = tp_printf(a, "%s%s", turn, o->when == ALWAYS ? "" : "    ").p;
        if (o->when != ALWAYS)
            tp_buf_printf(&b, ", \"%sif %s:\"", turn, guard_of(p, o->when));
        if (o->kind == SIGNAL || o->kind == AWAIT)
            tp_buf_printf(&b, ", \"%ssemaphore_%s(count[%s])\"", margin, o->kind == SIGNAL ? "signal" : "wait",
                          p->one ? "0" : slot);
        else
            tp_buf_printf(&b, ", \"%scopy_%s(x[...], buf[%s, :], sem[%s])\"", margin,
                          o->kind == START ? "start" : "wait", slot, p->one ? "0" : slot);
        if (o->kind == USE)
            tp_buf_printf(&b, ", \"%so[...] += buf[%s, :]\"", margin, slot);
    }
    if (p->carried && !p->kept)
        tp_buf_printf(&b, ", \"%ss = %s\"", turn, p->late ? "1 - s if i > 0 else s" : "1 - s");
    if (p->kept)
        tp_buf_printf(&b, ", \"%sstate[0] = %s\"", turn, p->late ? "1 - s if i > 0 else s" : "1 - s");
    if (p->end == BY_FLAG)
        tp_buf_printf(&b, ", \"%sdone = where(i + 1 < %s, done, 1)\"", turn, p->by ? "rows[g]" : "N");
    if (p->end)
        tp_buf_printf(&b, ", \"%si = i + 1\"", turn);
    if (p->steps && !p->kept)
        tp_buf_printf(&b, ", \"state[0] = s\"");
    return tp_printf(a,
                     "{\"tileproof\": 1, \"name\": \"box\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}}, "
                     "\"grid\": [{\"axis\": \"%s\", \"steps\": \"%s\"}], %s\"inputs\": [{\"name\": \"x\", \"dtype\": "
                     "\"int32\", \"shape\": [2], \"memory_space\": \"any\"}], \"outputs\": [{\"name\": \"o\", "
                     "\"dtype\": \"int32\", \"shape\": [\"%s\"], \"block_shape\": [2], \"index_map\": [\"%s\"]}], "
                     "\"scratch\": [{\"name\": \"buf\", \"dtype\": \"int32\", \"shape\": [2, 2]}, {\"name\": \"sem\", "
                     "\"memory_space\": \"dma_semaphore\", \"shape\": [2]}, {\"name\": \"count\", \"memory_space\": "
                     "\"semaphore\", \"shape\": [2]}, {\"name\": \"state\", \"dtype\": \"int32\", \"shape\": [1], "
                     "\"memory_space\": \"smem\"}], \"kernel\": [\"o[...] = 0\"%s%.*s]}",
                     p->steps     ? "g"
                     : p->carried ? "t"
                                  : "i",
                     p->carried && !p->steps ? "1" : "N",
                     p->by ? tp_printf(a,
                                       "\"scalar_prefetch\": [{\"name\": \"rows\", \"dtype\": \"int32\", \"shape\": "
                                       "[\"N\"], \"values\": {\"min\": %d, \"max\": 1000}}], ",
                                       p->by == ALL)
                                 .p
                           : "",
                     p->carried && !p->steps ? "2" : "2 * N",
                     p->steps     ? "g"
                     : p->carried ? "t"
                                  : "i",
                     before(a, p), TP_FMT(tp_buf_view(&b)))
        .p;
}

typedef struct tally {
    uint64_t every, at, programs, right, wrong, proven, violated, unknown_right, unknown_wrong, unsound, alarms,
        machine;
} tally;

static void tell(const char *what, const char *spec, uint64_t *n)
{
    if (++*n <= 3)
        printf("%s\n%s\n", what, spec);
}

static const struct {
    const char *rule;
    unsigned fault;
} RULES[] = {{"TP404", FAULT_404}, {"TP502", FAULT_502}, {"TP504", FAULT_504}};

static tp_analysis_result lint(loaded *l, tp_prover_options prover, bool *open, bool *bad)
{
    static const tp_rule *only[3];
    for (uint32_t i = 0; i < 3; i++)
        only[i] = tp_rule_find(tp_str_c(RULES[i].rule));
    tp_analysis_result r =
        analyze(l, (tp_analysis_options){.prover = prover, .replay = replay, .only = only, .nonly = 3});
    *open = *bad = false;
    for (uint32_t i = 0; i < r.findings.len; i++) {
        *open |= r.findings.at[i].verdict != TP_PROVEN;
        *bad |= r.findings.at[i].verdict == TP_VIOLATED;
    }
    return r;
}

/* Extents: that many steps, or rows of 0 to 3, or 1 to 3 turns. The next one; false: that was the last. */
static bool next_extent(const program *p, extent *e)
{
    if (!p->by)
        return ++e->n[0] <= MOST_STEPS;
    for (uint32_t r = 0; r < e->rows; r++) {
        if (e->n[r]++ < MOST_TURNS)
            return true;
        e->n[r] = p->by == ALL;
    }
    e->n[e->rows] = p->by == ALL;
    return ++e->rows <= MOST_ROWS;
}

/* What may go wrong there by all schedules. */
static unsigned faults_of(const program *p, const extent *e)
{
    extent whole = {.rows = 1};
    for (uint32_t r = 0; r < e->rows; r++)
        whole.n[0] += e->n[r];
    return all_schedules(p, p->by == EACH ? e : &whole) & ~(unsigned)IN_FIRST_STEP;
}

static void bind_extent(tp_arena *a, const tp_kernel *k, const extent *e, int64_t *env)
{
    tp_table_data *d = TP_NEW(a, tp_table_data);
    *d = (tp_table_data){.rank = 1, .dims = {e->rows}, .readable = e->rows, .at = TP_NEWN(a, int64_t, e->rows)};
    memcpy(d->at, e->n, e->rows * sizeof *d->at);
    env[k->sizes[0].sym] = k->ntables ? e->rows : e->n[0];
    if (k->ntables)
        tp_bind_table(env, k->tables[0].sym, d);
}

static void judge(const program *p, tally *t)
{
    tp_arena *a = tp_arena_new(0);
    const char *spec = spec_of(a, p);
    loaded *l = load_text(spec);
    bool open, bad;
    assert_non_null(l->spec);
    tp_analysis_result r = lint(l, (tp_prover_options){.only_proof = true}, &open, &bad);
    if (open && !bad) /* searches and solvers, where they are of use */
        r = lint(l, (tp_prover_options){.rlimit = 300000}, &open, &bad);
    const tp_kernel *k = l->spec->kernels[0];
    int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs));
    unsigned faults = 0;
    extent e = {.rows = 1, .n = {p->by != EACH}};
    do {
        unsigned here = faults_of(p, &e);
        tp_trap trap;
        bind_extent(a, k, &e, env);
        if ((run_at(a, k, env, &trap) == TP_E_TRAP) != (here != 0))
            tell("the machine differs from the schedules", spec, &t->machine);
        faults |= here;
    } while (next_extent(p, &e));
    for (uint32_t i = 0; i < 3; i++) {
        bool given = RULES[i].fault == FAULT_404 && (faults & FAULT_504); /* it rests on TP504 */
        if (!open_for(&r, RULES[i].rule) && (faults & RULES[i].fault) && !given)
            tell(RULES[i].rule, spec, &t->unsound);
    }
    if (bad && !faults)
        tell("false alarm", spec, &t->alarms);
    for (uint32_t i = 0; getenv("TEST_OPEN") && i < r.findings.len && open && !bad; i++)
        if (r.findings.at[i].verdict == TP_UNKNOWN)
            printf("%s: %s unknown, %.*s\n%s\n", faults ? "wrong" : "right", r.findings.at[i].rule,
                   TP_FMT(r.findings.at[i].reason), spec);
    t->programs++;
    t->right += !faults;
    t->wrong += faults != 0;
    t->proven += !open;
    t->violated += bad;
    t->unknown_right += open && !bad && !faults;
    t->unknown_wrong += open && !bad && faults;
    unload(l);
    tp_arena_free(a);
}

/* ---- all programs ---- */

static bool exclude(when a, when b)
{
    return (a == FIRST && b == LATER) || (a == LATER && b == FIRST) || (a == LAST && b == NOT_LAST) ||
           (a == NOT_LAST && b == LAST);
}

/* Does their order not matter? */
static bool commute(const program *p, const op *a, const op *b)
{
    bool apart = (a->slot < 2) == (b->slot < 2) && a->slot != b->slot;
    return exclude(a->when, b->when) ||
           (apart && (!p->one || (a->kind == b->kind && (a->kind == START || a->kind == SIGNAL))));
}

static uint32_t rank(const op *o)
{
    return (o->kind * 5 + o->when) * 4 + o->slot;
}

static bool has(const program *p, bool starts)
{
    bool any = false;
    for (uint32_t k = 0; k < p->n; k++)
        any |= (p->ops[k].kind == START || p->ops[k].kind == SIGNAL) == starts;
    return any;
}

/* p, which is whole if it is as long as that, and all that goes on from it. */
static void extend(program *p, const alphabet *by, tally *t)
{
    bool ends = false;
    for (int64_t n = 1; n <= 3 && p->n && !ends; n++)
        ends = all_schedules(p, &(extent){.n = {n}, .rows = 1}) & IN_FIRST_STEP;
    /* the shorter ones were tried with the alphabet before, which has at least as many letters */
    bool whole = p->n == by->length || (by == ALPHABETS && p->n);
    if (whole && has(p, true) && has(p, false) && (!ends || by == ALPHABETS) && t->at++ % t->every == 0)
        judge(p, t);
    if (ends || p->n == by->length)
        return;
    for (uint32_t i = 0; i < by->nkinds * by->nguards * by->nslots; i++) {
        op o = {by->kinds[i / by->nslots / by->nguards], by->guards[i / by->nslots % by->nguards],
                by->slots[i % by->nslots]};
        const op *last = p->n ? &p->ops[p->n - 1] : NULL;
        if ((!last && o.slot % 2) || (last && commute(p, last, &o) && rank(last) > rank(&o)))
            continue; /* buffers exchanged, neighbours exchanged */
        p->ops[p->n++] = o;
        extend(p, by, t);
        p->n--;
    }
}

/* Loops, in loops and in steps: turns of one, of rows, the slot carried or in SMEM, by all that ends the turns. */
enum { NSHAPES = 2 * TURNS_END * 5 };

static program shape(uint32_t number)
{
    program p = {.carried = true, .kept = number % 2, .end = number / 2 % TURNS_END};
    uint32_t rows = number / 2 / TURNS_END;
    p.by = rows < 3 ? rows : rows - 2;
    p.steps = rows >= 3;
    return p;
}

/* The program of two buffers that is right, and those that differ from it in one statement. */
static void near_right(program *p, tally *t)
{
    static const op RIGHT[] = {{START, FIRST, 2}, {START, NOT_LAST, 3}, {USE, ALWAYS, 2}};
    const alphabet *by = ALPHABETS;
    enum { N = 3, NEAR = 4 /* so many times as often */ };
    for (uint32_t where = 0; where <= N; where++)
        for (uint32_t more = 0; more < 3; more++) /* one fewer, another one, one more */
            for (uint32_t i = 0; i < (more ? by->nkinds * by->nguards * by->nslots : 1); i++) {
                op o = {by->kinds[i / by->nslots / by->nguards], by->guards[i / by->nslots % by->nguards],
                        by->slots[i % by->nslots]};
                p->n = 0;
                for (uint32_t k = 0; k <= N; k++) {
                    if (k == where && more)
                        p->ops[p->n++] = o;
                    if (k < N && (k != where || more == 2))
                        p->ops[p->n++] = RIGHT[k];
                }
                if ((more == 2 || where < N) && t->at++ % (t->every > NEAR ? t->every / NEAR : 1) == 0)
                    judge(p, t);
            }
}

static void lint_says_what_all_schedules_do(void **unused)
{
    (void)unused;
    tally t = {.every = setting("TEST_EVERY", EVERY)};
    t.at = setting("TEST_SEED", 1);
    for (uint32_t one = 0; one < 2; one++)
        for (uint32_t i = 0; i < sizeof ALPHABETS / sizeof *ALPHABETS; i++)
            extend(&(program){.one = one}, &ALPHABETS[i], &t);
    for (uint32_t one = 0; one < 2; one++)
        for (uint32_t i = 0; i < 2; i++) {
            extend(&(program){.one = one, .carried = true}, &ALPHABETS[i], &t);
            extend(&(program){.one = one, .kept = true}, &ALPHABETS[i], &t);
            extend(&(program){.one = one, .carried = true, .kept = true}, &ALPHABETS[i], &t);
            extend(&(program){.one = one, .carried = true, .late = true}, &ALPHABETS[i], &t);
            extend(&(program){.one = one, .kept = true, .late = true}, &ALPHABETS[i], &t);
            extend(&(program){.one = one, .carried = true, .kept = true, .late = true}, &ALPHABETS[i], &t);
            for (uint32_t n = 0; n < NSHAPES; n++) {
                program p = shape(n);
                p.one = one;
                if (p.end == BY_FLAG ? p.by == EACH && !p.kept : !p.steps) /* the others are near_right() alone */
                    extend(&p, &ALPHABETS[i], &t);
            }
        }
    for (uint32_t one = 0; one < 2; one++)
        for (uint32_t n = 0; n < NSHAPES; n++) {
            program p = shape(n);
            p.one = one;
            near_right(&p, &t);
        }
    print_message(
        "flight box: %llu programs, %llu right, %llu wrong; %llu proven, %llu violated, unknown: %llu right, %llu "
        "wrong; %llu unsound, %llu false alarms, %llu that the machine sees otherwise\n",
        (unsigned long long)t.programs, (unsigned long long)t.right, (unsigned long long)t.wrong,
        (unsigned long long)t.proven, (unsigned long long)t.violated, (unsigned long long)t.unknown_right,
        (unsigned long long)t.unknown_wrong, (unsigned long long)t.unsound, (unsigned long long)t.alarms,
        (unsigned long long)t.machine);
    assert_int_equal(t.unsound + t.alarms + t.machine, 0);
    assert_true(50 * (t.unknown_right + t.unknown_wrong) <= t.programs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lint_says_what_all_schedules_do)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
