/* What SMEM and loops keep, and copies in flight that are said over it: what the next step finds, against the numbers
 * that steps and turns make (next.c); guesses that read tables (joined.c); walks that cannot afford it (once.c). */
#include "analyzer/flow/flight.h"
#include "base/budget.h"
#include "base/rng.h"
#include "tests/unit/support.h"

enum { MOST_STEPS = 3, FLEETS = 4, TRIALS = 400, MOST_ROWS = 3 };

/* A walk of the only kernel of a spec, and what asks. */
static proof follow(loaded *l, const char *spec)
{
    static const tp_analysis_options none = {.nonly = 0};
    if (!l->spec)
        fail_msg("%.*s: %s", TP_FMT(l->ctx.findings.at[0].message), spec);
    proof x = {.a = tp_analysis_begin(l->arena, l->spec->kernels[0], &none), .grade = TP_GRADE_CERT};
    flow_walk_again(x.a);
    x.f = x.a->flow;
    assert_int_equal(x.f->gave_up.n, 0);
    flight_begin(&x);
    return x;
}

static tp_expr pick(tp_rng *rng, const tp_expr *from, uint32_t n)
{
    return from[tp_rng_below(rng, n)];
}

static void bind_rows(tp_arena *a, const tp_kernel *k, int64_t *env, int64_t n, int64_t bits)
{
    tp_table_data *d = TP_NEW(a, tp_table_data);
    *d = (tp_table_data){.rank = 1, .dims = {n}, .readable = n, .at = TP_NEWN(a, int64_t, n)};
    for (int64_t i = 0; i < n; i++)
        d->at[i] = bits >> i & 1;
    tp_bind_table(env, k->tables[0].sym, d);
}

/* ---- what the next step finds ---- */

/* What becomes of s, the first of two numbers that are kept, or of u; V is the step or the turn. */
static const char *const UPDATES[] = {"s",
                                      "u",
                                      "1 - s",
                                      "(s + 1) % 3",
                                      "u if s == 0 else s",
                                      "1 - s if V > 0 else s",
                                      "s if V % 2 == 0 else u",
                                      "0",
                                      "rows[V]",
                                      "s if rows[V] == 1 else 1 - u"};
enum { NUPDATES = sizeof UPDATES / sizeof *UPDATES };

static int64_t updated(uint32_t by, const int64_t *kept, int64_t v, int64_t row)
{
    int64_t s = kept[0], u = kept[1];
    switch (by) {
    case 0: return s;
    case 1: return u;
    case 2: return 1 - s;
    case 3: return ((s + 1) % 3 + 3) % 3;
    case 4: return s == 0 ? u : s;
    case 5: return v > 0 ? 1 - s : s;
    case 6: return v % 2 == 0 ? s : u;
    case 7: return 0;
    case 8: return row;
    default: return row == 1 ? s : 1 - u;
    }
}

typedef struct keeping {
    uint32_t by[2]; /* of UPDATES */
    int64_t first[2];
    bool loop; /* turns of a loop in each step, else steps */
} keeping;

static const char *update_text(tp_arena *a, uint32_t by, bool loop)
{
    tp_buf b = {.arena = a};
    for (const char *c = UPDATES[by]; *c; c++)
        tp_buf_printf(&b, "%c", *c == 'V' ? (loop ? 't' : 'i') : *c);
    return tp_cstr(a, tp_buf_view(&b));
}

static const char *keeping_spec(tp_arena *a, const keeping *k)
{
    const char *margin = k->loop ? "    " : "";
    return tp_printf(
               a,
               "{\"tileproof\": 1, \"name\": \"keeps\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}}, "
               "\"grid\": [{\"axis\": \"i\", \"steps\": \"N\"}], \"scalar_prefetch\": [{\"name\": \"rows\", "
               "\"dtype\": \"int32\", \"shape\": [\"N\"], \"values\": {\"min\": 0, \"max\": 1}}], \"inputs\": "
               "[{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [4, 4, 2], \"memory_space\": \"any\"}], "
               "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [2]}], \"scratch\": [{\"name\": "
               "\"buf\", \"dtype\": \"float32\", \"shape\": [2]}, {\"name\": \"sem\", \"memory_space\": "
               "\"dma_semaphore\", \"shape\": [1]}, {\"name\": \"state\", \"dtype\": \"int32\", \"shape\": [2], "
               "\"memory_space\": \"smem\"}], \"kernel\": [\"if i == 0:\", \"    o[...] = 0\", \"%s\", \"%sstate[0] = "
               "%lld\", \"%sstate[1] = %lld\", \"%s\", \"%ss = state[0]\", \"%su = state[1]\", \"%scopy_start(x[s, "
               "u, :], buf[...], sem[0])\", \"%scopy_wait(x[s, u, :], buf[...], sem[0])\", \"%sstate[0] = %s\", "
               "\"%sstate[1] = %s\"]}",
               k->loop ? "pass" : "if i == 0:", k->loop ? "" : "    ", (long long)k->first[0], k->loop ? "" : "    ",
               (long long)k->first[1], k->loop ? "for t in range(N):" : "pass", margin, margin, margin, margin, margin,
               update_text(a, k->by[0], k->loop), margin, update_text(a, k->by[1], k->loop))
        .p;
}

/* Elements of SMEM as steps begin, or as turns do; the numbers of the kept. False: one of them is not followed. */
static bool find_kept(const proof *x, bool loop, uint32_t *at)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->f->kept.len; i++) {
        const tp_kept *k = &x->f->kept.at[i];
        if ((k->loop != NULL) == loop && (!loop || k->value >= (tp_vid)x->a->k->body->values.len) && n < 2)
            at[n++] = i;
    }
    return n == 2 && x->f->kept.at[at[0]].left.id && x->f->kept.at[at[1]].left.id;
}

/* Copies said over numbers, such as s, u, the step, N and a table entry. */
static fleet some_copies(proof *x, tp_rng *rng, const tp_expr *numbers, uint32_t n)
{
    static const tp_expr_op COMPARE[] = {TP_E_EQ, TP_E_NE, TP_E_LT}, JOIN[] = {TP_E_AND, TP_E_OR},
                            ADD[] = {TP_E_ADD, TP_E_SUB, TP_E_MUL, TP_E_MIN};
    tp_exprs *p = x->a->p;
    fleet all = {0};
    for (uint32_t i = 0; i < FLEETS; i++) {
        flight y = {.event = {.kind = TP_FLOW_START}};
        tp_expr part[2], sum[6];
        for (uint32_t k = 0; k < 2; k++)
            part[k] = tp_op2(p, COMPARE[tp_rng_below(rng, 3)], pick(rng, numbers, n), pick(rng, numbers, n));
        for (uint32_t k = 0; k < 6; k++)
            sum[k] = tp_op2(p, ADD[tp_rng_below(rng, 4)], pick(rng, numbers, n), pick(rng, numbers, n));
        y.guard = tp_op2(p, JOIN[tp_rng_below(rng, 2)], part[0], part[1]);
        y.event.place = (tp_place){.rank = 1, .known = true, .start = {sum[0]}, .size = {sum[1]}, .stride = {1}};
        y.event.from = (tp_place){.rank = 1, .known = true, .start = {sum[2]}, .size = {sum[3]}, .stride = {1}};
        y.event.counter = (tp_place){.rank = 1, .known = true, .start = {sum[4]}, .size = {sum[4]}, .stride = {1}};
        y.event.bits = sum[5];
        tp_push(x->a->arena, all, y);
    }
    return all;
}

static int64_t value(const proof *x, tp_expr e, const int64_t *env)
{
    int64_t v;
    assert_int_equal(tp_expr_eval(x->a->p, e, env, &v), TP_EVAL_OK);
    return v;
}

/* Are they the same copies, each by its own numbers? */
static bool same_copies(const proof *x, const fleet *a, const int64_t *at_a, const fleet *b, const int64_t *at_b)
{
    bool same = a->len == b->len;
    for (uint32_t i = 0; i < a->len && same; i++) {
        const flight *y = &a->at[i], *z = &b->at[i];
        const tp_expr all[][2] = {{y->guard, z->guard},
                                  {y->event.bits, z->event.bits},
                                  {y->event.place.start[0], z->event.place.start[0]},
                                  {y->event.place.size[0], z->event.place.size[0]},
                                  {y->event.from.start[0], z->event.from.start[0]},
                                  {y->event.from.size[0], z->event.from.size[0]},
                                  {y->event.counter.start[0], z->event.counter.start[0]},
                                  {y->event.counter.size[0], z->event.counter.size[0]}};
        for (size_t k = 0; k < sizeof all / sizeof *all && same; k++)
            same = value(x, all[k][0], at_a) == value(x, all[k][1], at_b);
    }
    return same;
}

/* In each step of a run with so many, and these rows. */
static void look_at_run(proof *x, const keeping *how, const uint32_t *kept, tp_expr turn, const fleet *found,
                        const fleet *left, int64_t n, int64_t rows, const char *spec)
{
    tp_arena *a = tp_arena_new(0);
    const tp_kernel *k = x->a->k;
    uint32_t nsyms = tp_sym_count(x->a->p), sym[2];
    int64_t *env = TP_NEWN(a, int64_t, nsyms), *next = TP_NEWN(a, int64_t, nsyms), now[2], then[2];
    for (uint32_t i = 0; i < x->f->kept.len; i++) /* of steps around the loop */
        env[tp_expr_get(x->a->p, x->f->kept.at[i].head)->value] = 1;
    env[k->sizes[0].sym] = n;
    bind_rows(a, k, env, n, rows);
    for (uint32_t i = 0; i < 2; i++) {
        sym[i] = (uint32_t)tp_expr_get(x->a->p, x->f->kept.at[kept[i]].head)->value;
        now[i] = how->first[i];
    }
    for (int64_t v = 0; v < n; v++) {
        env[tp_expr_get(x->a->p, turn)->value] = v;
        for (uint32_t i = 0; i < 2; i++) {
            env[sym[i]] = v ? now[i] : 0; /* what a first step finds is not told */
            then[i] = updated(how->by[i], now, v, rows >> v & 1);
        }
        memcpy(next, env, nsyms * sizeof *env);
        memcpy(now, then, sizeof now);
        next[sym[0]] = now[0];
        next[sym[1]] = now[1];
        if (!same_copies(x, left, env, found, next))
            fail_msg("step %lld of %lld, rows %lld: the next one finds other copies: %s", (long long)v, (long long)n,
                     (long long)rows, spec);
    }
    tp_arena_free(a);
}

static void what_is_left_is_what_the_next_step_finds(void **state)
{
    (void)state;
    unsigned programs = 0, followed = 0;
    tp_rng rng = tp_rng_new(setting("TEST_SEED", 1), 1);
    for (uint32_t i = 0; i < 2 * NUPDATES * NUPDATES; i++) {
        keeping how = {.by = {i / 2 % NUPDATES, i / 2 / NUPDATES}, .first = {i % 3 == 1, i % 5 > 2}, .loop = i % 2};
        tp_arena *text = tp_arena_new(0);
        const char *spec = keeping_spec(text, &how);
        loaded *l = load_text(spec);
        proof x = follow(l, spec);
        uint32_t kept[2];
        programs++;
        if (find_kept(&x, how.loop, kept)) {
            tp_exprs *p = x.a->p;
            tp_expr turn = x.f->kept.at[kept[0]].turn, around = tp_sym(p, x.a->k->axes[0].sym);
            tp_expr numbers[] = {x.f->kept.at[kept[0]].head,
                                 x.f->kept.at[kept[1]].head,
                                 x.f->kept.at[0].head, /* of steps, in a loop: it stays as it is */
                                 turn,
                                 around,
                                 tp_sym(p, x.a->k->sizes[0].sym),
                                 tp_read(p, x.a->k->tables[0].sym, 1, &around)};
            fleet found = some_copies(&x, &rng, numbers, sizeof numbers / sizeof *numbers);
            assert_true(fleet_is_followed(&x, turn, &found) && fleet_step_ends(&x, turn));
            fleet left = fleet_left_for_next(&x, turn, &found);
            followed++;
            for (int64_t n = 1; n <= MOST_STEPS; n++)
                for (int64_t rows = 0; rows < 1 << n; rows++)
                    look_at_run(&x, &how, kept, turn, &found, &left, n, rows, spec);
        }
        tp_analysis_end(x.a);
        unload(l);
        tp_arena_free(text);
    }
    print_message("kept: %u programs, %u followed\n", programs, followed);
    assert_true(4 * followed >= 3 * programs);
}

/* ---- guesses that read tables ---- */

typedef enum truth { NO, YES, NOTHING } truth;

/* Either side may decide. */
static truth decided(const proof *x, tp_expr e, const int64_t *env)
{
    const tp_expr_node n = *tp_expr_get(x->a->p, e);
    int64_t v;
    if (n.op == TP_E_NOT) {
        truth a = decided(x, n.a, env);
        return a == NOTHING ? a : a == NO ? YES : NO;
    }
    if (n.op == TP_E_AND || n.op == TP_E_OR) {
        truth a = decided(x, n.a, env), b = decided(x, n.b, env), stops = n.op == TP_E_AND ? NO : YES;
        return a == stops || b == stops ? stops : a == NOTHING ? a : b;
    }
    return tp_expr_eval(x->a->p, e, env, &v) != TP_EVAL_OK ? NOTHING : v ? YES : NO;
}

/* Does the guard say something in each case, and where it holds all entries exist that the place reads? */
static bool is_readable(const proof *x, const flight *y)
{
    tp_arena *a = tp_arena_new(0);
    const tp_kernel *k = x->a->k;
    int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(x->a->p)), v;
    bool good = true;
    for (int64_t n = 1; n <= MOST_ROWS && good; n++)
        for (int64_t rows = 0; rows < 1 << n && good; rows++) {
            env[k->sizes[0].sym] = n;
            bind_rows(a, k, env, n, rows);
            for (int64_t i = 0; i < n && good; i++) {
                env[k->axes[0].sym] = i;
                truth is = decided(x, y->guard, env);
                good =
                    is != NOTHING && (is == NO || tp_expr_eval(x->a->p, y->event.from.start[0], env, &v) == TP_EVAL_OK);
            }
        }
    tp_arena_free(a);
    return good;
}

static tp_expr some_guard(tp_exprs *p, tp_rng *rng, const tp_expr *atoms, uint32_t n, uint32_t depth)
{
    tp_expr a = depth ? some_guard(p, rng, atoms, n, depth - 1) : pick(rng, atoms, n);
    uint64_t how = tp_rng_below(rng, depth ? 5 : 4);
    if (how == 0)
        return tp_op1(p, TP_E_NOT, a);
    return how == 1 || !depth ? a
                              : tp_op2(p, how == 2 ? TP_E_OR : TP_E_AND, a, some_guard(p, rng, atoms, n, depth - 1));
}

static const char READS[] =
    "{\"tileproof\": 1, \"name\": \"reads\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}}, \"grid\": "
    "[{\"axis\": \"i\", \"steps\": \"N\"}], \"scalar_prefetch\": [{\"name\": \"rows\", \"dtype\": \"int32\", "
    "\"shape\": [\"N\"], \"values\": {\"min\": 0, \"max\": 1}}], \"inputs\": [{\"name\": \"x\", \"dtype\": "
    "\"float32\", \"shape\": [\"2 * N\", 4], \"memory_space\": \"any\"}], \"outputs\": [{\"name\": \"o\", "
    "\"dtype\": \"float32\", \"shape\": [\"2 * N\", 4], \"block_shape\": [2, 4], \"index_map\": [\"i\", 0]}], "
    "\"scratch\": [{\"name\": \"buf\", \"dtype\": \"float32\", \"shape\": [2, 4]}, {\"name\": \"sem\", "
    "\"memory_space\": \"dma_semaphore\", \"shape\": []}], \"kernel\": [\"copy_start(x[ds(2 * i, 2), :], buf[...], "
    "sem)\", "
    "\"copy_wait(x[ds(2 * i, 2), :], buf[...], sem)\", \"o[...] = buf[...]\"]}";

static void guesses_read_entries_that_exist(void **state)
{
    (void)state;
    loaded *l = load_text(READS);
    proof x = follow(l, READS);
    tp_exprs *p = x.a->p;
    uint32_t rows = x.a->k->tables[0].sym, at = 0;
    tp_expr i = tp_sym(p, x.a->k->axes[0].sym), size = tp_sym(p, x.a->k->sizes[0].sym), one = tp_const(p, 1),
            next = tp_op2(p, TP_E_ADD, i, one), before = tp_op2(p, TP_E_SUB, i, one),
            last = tp_op2(p, TP_E_SUB, size, one);
    const tp_expr index[] = {i, next, before, last, size, tp_read(p, rows, 1, &i)};
    enum { ENTRIES = sizeof index / sizeof *index, CONDITIONS = 3 };
    tp_expr read[ENTRIES], atom[ENTRIES + CONDITIONS] = {tp_op2(p, TP_E_LT, next, size), tp_op2(p, TP_E_GE, i, one),
                                                         tp_op2(p, TP_E_GT, size, one)};
    for (uint32_t r = 0; r < ENTRIES; r++) {
        read[r] = tp_read(p, rows, 1, &index[r]);
        atom[CONDITIONS + r] = tp_op2(p, TP_E_EQ, read[r], one);
    }
    while (x.f->events.at[at].kind != TP_FLOW_START)
        at++;
    tp_rng rng = tp_rng_new(setting("TEST_SEED", 1), 2);
    unsigned trials = (unsigned)setting("TEST_TRIALS", TRIALS), accepted = 0, right = 0;
    x.guessing = true;
    for (unsigned t = 0; t < trials; t++) {
        fleet all = {0};
        flight y = {.guard = some_guard(p, &rng, atom, ENTRIES + CONDITIONS, 2), .event = x.f->events.at[at]};
        y.event.from.start[0] = tp_rng_below(&rng, 2) ? pick(&rng, read, ENTRIES) : i;
        tp_push(l->arena, all, y);
        x.questions = 0;
        bool taken = fleet_is_readable(&x, &all), good = is_readable(&x, &y);
        accepted += taken;
        right += good;
        if (taken && !good)
            fail_msg("a guess reads what does not exist: trial %u", t);
    }
    print_message("guesses that read tables: %u, %u readable, %u of these accepted\n", trials, right, accepted);
    assert_true(2 * accepted > right && 4 * right < 3 * trials);
    /* what they are asked for: where an entry is read that does not exist, all follows */
    tp_expr outside = tp_op2(p, TP_E_EQ, tp_read(p, rows, 1, &size), one);
    assert_true(fleet_follows(&x, &outside, 1, tp_const(p, 0)));
    tp_analysis_end(x.a);
    unload(l);
}

/* Of what a question rests on: the goal, what is given, what is assumed, and how it is asked. */
static void a_question_is_asked_once(void **state)
{
    (void)state;
    loaded *l = load_text(READS);
    proof x = follow(l, READS);
    tp_exprs *p = x.a->p;
    tp_expr i = tp_sym(p, x.a->k->axes[0].sym), size = tp_sym(p, x.a->k->sizes[0].sym), one = tp_const(p, 1),
            more = tp_op2(p, TP_E_LT, tp_op2(p, TP_E_ADD, i, one), size), less = tp_op2(p, TP_E_LT, i, size);
    for (int again = 0; again < 2; again++) {
        assert_false(fleet_follows(&x, NULL, 0, more));
        assert_true(fleet_follows(&x, NULL, 0, less));
        assert_true(fleet_follows(&x, &more, 1, more));
        assert_false(fleet_follows(&x, &less, 1, more));
        assert_int_equal(x.questions, 4);
    }
    x.assumed = more;
    assert_true(fleet_follows(&x, NULL, 0, more));
    x.assumed = (tp_expr){0};
    assert_false(fleet_follows(&x, NULL, 0, more));
    assert_int_equal(x.questions, 5);
    x.quick = true;
    assert_false(fleet_follows(&x, NULL, 0, more));
    assert_int_equal(x.questions, 6);
    x.questions = UINT32_MAX; /* what was answered still is */
    x.quick = false;
    assert_true(fleet_follows(&x, NULL, 0, less));
    assert_false(fleet_follows(&x, &less, 1, tp_op2(p, TP_E_GE, i, tp_const(p, 0))));
    tp_analysis_end(x.a);
    unload(l);
}

static void where_no_more_is_asked_that_is_the_reason(void **state)
{
    (void)state;
    proof x = {.questions = 0}, asked = {.questions = UINT32_MAX};
    assert_false(fleet_fails(&x, "a copy is in flight", NULL));
    assert_string_equal(x.why.p, "a copy is in flight");
    assert_false(fleet_fails(&asked, "a copy is in flight", NULL));
    assert_string_equal(asked.why.p, "it takes too many questions to follow what is in flight");
}

/* ---- walks that cannot afford it ---- */

typedef enum outcome { GAVE_UP, WITHOUT, WITH, OUTCOMES } outcome;

typedef struct walk {
    loaded *l;
    outcome is;
} walk;

/* The slot is known where SMEM is followed, and there alone. */
static void walk_kernel(void *arg)
{
    static const tp_analysis_options none = {.nonly = 0};
    walk *w = arg;
    tp_analysis *a = tp_analysis_begin(w->l->arena, w->l->spec->kernels[0], &none);
    flow_walk_again(a);
    const tp_flow *f = a->flow;
    w->is = f->gave_up.n ? GAVE_UP : f->kept.len ? WITH : WITHOUT;
    bool any = false;
    for (uint32_t i = 0; i < f->uses.len; i++) {
        const tp_use *u = &f->uses.at[i];
        if (u->kind != TP_USE_SLICE || !tp_str_is(a->k->operands[u->operand].name, "buf"))
            continue;
        any = true;
        assert_int_equal(u->value.id != 0, f->kept.len != 0);
    }
    assert_int_equal(any, w->is != GAVE_UP);
    tp_analysis_end(a);
}

static void a_walk_that_is_too_dear_is_made_without_what_is_kept(void **state)
{
    (void)state;
    enum { KEPT = 8 };
    tp_arena *text = tp_arena_new(0);
    tp_buf b = {.arena = text};
    for (uint32_t i = 0; i < KEPT; i++)
        tp_buf_printf(&b, ", \"if i == 0:\", \"    state[%u] = 1\", \"state[%u] = min(state[%u] + state[%u], %u)\"", i,
                      i, i, i ? i - 1 : 0, i);
    const char *spec =
        tp_printf(text,
                  "{\"tileproof\": 1, \"name\": \"dear\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}}, "
                  "\"grid\": [{\"axis\": \"i\", \"steps\": \"N\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": "
                  "\"float32\", \"shape\": [2]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": "
                  "[2]}], \"scratch\": [{\"name\": \"buf\", \"dtype\": \"float32\", \"shape\": [8, 2]}, {\"name\": "
                  "\"state\", \"dtype\": \"int32\", \"shape\": [8], \"memory_space\": \"smem\"}], \"kernel\": "
                  "[\"o[...] = x[...]\"%.*s, \"buf[state[7], :] = x[...]\"]}",
                  TP_FMT(tp_buf_view(&b)))
            .p;
    unsigned seen[OUTCOMES] = {0};
    outcome last = GAVE_UP;
    for (int64_t limit = 1000; last != WITH && limit < INT64_C(1) << 40; limit += limit / 8) {
        walk w = {.l = load_text(spec)};
        tp_budget budget;
        assert_non_null(w.l->spec);
        tp_budget_begin(&budget, 0, 0);
        budget.limit = limit;
        tp_arena_set_budget(w.l->arena, &budget);
        assert_int_equal(tp_try(w.l->arena, walk_kernel, &w), TP_OK);
        assert_true(w.is >= last); /* with more work more is known */
        seen[last = w.is]++;
        unload(w.l);
    }
    print_message("walks: %u gave up, %u without what is kept, %u with it\n", seen[GAVE_UP], seen[WITHOUT], seen[WITH]);
    assert_true(seen[GAVE_UP] && seen[WITHOUT] && seen[WITH]);
    tp_arena_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_is_what_the_next_step_finds),
        cmocka_unit_test(guesses_read_entries_that_exist),
        cmocka_unit_test(a_question_is_asked_once),
        cmocka_unit_test(where_no_more_is_asked_that_is_the_reason),
        cmocka_unit_test(a_walk_that_is_too_dear_is_made_without_what_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
