/* kernels/machine/schedule.c: what a run did, played in units, is an order that the kernel may take; of a trap the
 * order in which it happens. Checked by counting alone: at each unit a counter has what came by then, and no wait takes
 * more. And the page that draws it (tests/devices/schedules.json says what stands there), which stays small. */
#define _GNU_SOURCE
#include "report/played.h"
#include "tests/unit/changes.h"

/* Comes to a counter, or is taken from it. */
typedef struct change {
    int64_t unit, n; /* n > 0: comes */
    uint32_t counter;
} change;

static int by_unit(const void *a, const void *b)
{
    const change *x = a, *y = b;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return x->n > 0 && y->n < 0 ? -1 : x->n < 0 && y->n > 0;
}

/* Acts of a device follow each other, each in a unit of its own, and no counter is ever below 0. */
static void check_run(tp_arena *a, const tp_schedule *s)
{
    TP_VEC(change) all = {0};
    int64_t *last = TP_NEWN(a, int64_t, s->devices + 1), *has = TP_NEWN(a, int64_t, s->ncounters + 1);
    bool *stands = TP_NEWN(a, bool, s->devices + 1);
    for (uint32_t i = 0; i < s->devices; i++)
        last[i] = -1;
    for (uint32_t i = 0; i < s->ndeeds; i++) {
        const tp_deed *d = &s->deeds[i];
        assert_true(d->device < s->devices && d->there < s->devices);
        stands[d->device] |= d->done < 0;
        assert_true(stands[d->device] == (d->done < 0));
        if (d->done < 0)
            continue;
        assert_true(d->reached > last[d->device] && d->done >= d->reached && d->done < s->units);
        last[d->device] = d->done;
        if (d->kind == TP_ACT_WAIT)
            tp_push(a, all, ((change){d->done, -d->n, d->counter}));
        else if (d->kind == TP_ACT_SIGNAL)
            tp_push(a, all, ((change){d->done + 1, d->n, d->counter}));
        else
            tp_push(a, all, ((change){d->done + TP_UNITS_THERE, d->n - (d->arrived < 0), d->counter}));
        if (d->sent != TP_NO_COUNTER)
            tp_push(a, all, ((change){d->done + TP_UNITS_SENT, d->n - (d->was_sent < 0), d->sent}));
        if (d->kind == TP_ACT_START && d->arrived >= 0)
            assert_true(d->arrived == d->done + TP_UNITS_THERE && d->was_sent <= d->arrived);
        if (d->kind == TP_ACT_START && d->waited >= 0)
            assert_true(d->arrived >= 0 && d->waited >= d->arrived);
    }
    if (all.len)
        qsort(all.at, all.len, sizeof *all.at, by_unit);
    for (uint32_t i = 0; i < all.len; i++) {
        has[all.at[i].counter] += all.at[i].n;
        assert_true(has[all.at[i].counter] >= 0);
    }
}

static void set_sizes(const tp_kernel *k, int64_t devices, int64_t *env)
{
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *z = &k->sizes[i];
        int64_t n = tp_str_is(z->name, "D") ? devices : tp_str_is(z->name, "R") ? 5 : 3;
        if (z->kind == TP_SIZE_CHOICE)
            env[z->sym] = z->choices[0];
        else if (z->kind == TP_SIZE_RANGE)
            env[z->sym] = n < tp_size_least(z) ? tp_size_least(z) : n > z->max ? z->max : n - n % z->multiple_of;
    }
}

static tp_played played(const loaded *l, int64_t devices)
{
    const tp_kernel *k = l->spec->kernels[0];
    int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs) + 1);
    set_sizes(k, devices, env);
    return tp_play_at(l->arena, k, env);
}

/* Whatever is started, signalled and waited for is done, and every copy is waited for. */
static void runs_are_played_to_their_end(void **state)
{
    static const char *const PATTERNS[] = {"tests/devices/*.tile.json", "tests/copies/*.tile.json",
                                           "examples/matmul/matmul_double_buffered.tile.json"};
    unsigned runs = 0, copies = 0, stalls = 0;
    (void)state;
    for (size_t p = 0; p < sizeof PATTERNS / sizeof *PATTERNS; p++) {
        glob_t g;
        assert_int_equal(glob(PATTERNS[p], 0, NULL, &g), 0);
        for (size_t i = 0; i < g.gl_pathc; i++)
            for (int64_t devices = 1; devices <= (p ? 1 : 8); devices++) {
                loaded *l = load_file(g.gl_pathv[i]);
                tp_played x = l->spec ? played(l, devices) : (tp_played){0};
                const tp_schedule *s = x.schedule;
                runs += s != NULL;
                if (s && x.rule)
                    fail_msg("%s: traps with %s", g.gl_pathv[i], x.rule);
                assert_true(!s || !s->full);
                for (uint32_t n = 0; s && n < s->ndeeds; n++) {
                    const tp_deed *d = &s->deeds[n];
                    assert_true(d->done >= 0 && (d->kind != TP_ACT_START || d->waited >= 0));
                    copies += d->kind == TP_ACT_START;
                    stalls += d->done > d->reached;
                }
                if (s)
                    check_run(l->arena, s);
                unload(l);
            }
        globfree(&g);
    }
    print_message("%u runs, %u copies, %u stalls\n", runs, copies, stalls);
    assert_true(runs >= 70 && copies >= 500 && stalls >= 200);
}

static const tp_deed *copy_of(const tp_schedule *s, int64_t number)
{
    for (uint32_t i = 0; i < s->ndeeds; i++)
        if (s->deeds[i].kind == TP_ACT_START && s->deeds[i].copy == number)
            return &s->deeds[i];
    return NULL;
}

static size_t acts_done(const tp_schedule *s, uint32_t device)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->ndeeds; i++)
        n += s->deeds[i].device == device && s->deeds[i].done >= 0;
    return n;
}

/* What the sides say is so when the play ends. */
static void check_moment(const tp_schedule *s, const char *what)
{
    const tp_trap_side *one = &s->sides[0], *other = s->nsides > 1 ? &s->sides[1] : NULL;
    assert_true(s->nsides > 0);
    if (one->kind == TP_SIDE_DOES && (!s->stopped || acts_done(s, one->device) != one->acts))
        fail_msg("%s: device %u does not come to it: %zu acts of %zu", what, one->device, acts_done(s, one->device),
                 one->acts);
    if (other && other->kind == TP_SIDE_FLIES) {
        const tp_deed *c = copy_of(s, other->copy);
        assert_non_null(c);
        assert_true(c->statement == other->statement && c->device == other->device);
        if (c->done < 0 || c->waited >= 0 || (other->writes && c->arrived >= 0))
            fail_msg("%s: copy %lld is not in flight then", what, (long long)other->copy);
        assert_true(one->operand == other->operand && one->there == other->there);
        assert_true(one->first < other->end && other->first < one->end && (one->writes || other->writes));
    }
    if (other && other->kind == TP_SIDE_OUTSIDE)
        assert_int_equal(acts_done(s, other->device), 0);
    for (uint32_t i = 0; i < s->nsides; i++)
        if (s->sides[i].kind == TP_SIDE_WAITS) {
            assert_true(s->sides[i].needs > s->sides[i].counts);
            uint32_t at = s->first[s->sides[i].device];
            while (at && s->deeds[at - 1].done >= 0)
                at = s->deeds[at - 1].next;
            assert_true(at && s->deeds[at - 1].kind == TP_ACT_WAIT && s->deeds[at - 1].reached >= 0);
            assert_true(s->deeds[at - 1].statement == s->sides[i].statement);
        }
}

/* Of each planted defect, at the smallest number of devices at which it is one. */
static void defects_have_a_schedule(place *p, const char *file, int64_t most, unsigned *two_sided, unsigned *stuck)
{
    struct json_object *all = json_object_from_file(file), *entries = member(all, "defects");
    for (size_t i = 0; i < json_object_array_length(entries); i++) {
        struct json_object *entry = json_object_array_get_idx(entries, i);
        const char *rule = string_of(entry, "rule");
        if (strcmp(rule, TP_RULE_IN_FLIGHT) != 0 && strcmp(rule, TP_RULE_DMA_SEMAPHORE) != 0)
            continue;
        const char *in = string_of(entry, "in");
        tp_str file_of = tp_printf(p->a, "%s%s.tile.json", strchr(in, '/') ? "" : "examples/*/", in),
               text = changed(p, file_of.p, member(entry, "change"));
        for (int64_t devices = 1; devices <= most; devices++) {
            loaded *l = load_text(tp_cstr(p->a, text));
            tp_played x = l->spec ? played(l, devices) : (tp_played){0};
            bool found = x.schedule && x.rule;
            if (found) {
                check_run(l->arena, x.schedule);
                check_moment(x.schedule, json_object_to_json_string(entry));
                *two_sided += x.schedule->nsides == 2 && x.schedule->sides[1].kind == TP_SIDE_FLIES;
                *stuck += x.schedule->sides[0].kind == TP_SIDE_WAITS;
            }
            unload(l);
            if (found)
                break;
        }
    }
    json_object_put(all);
}

static void traps_have_an_order(void **state)
{
    unsigned of_devices[2] = {0}, of_one[2] = {0};
    defects_have_a_schedule(*state, "tests/devices/defects.json", 8, &of_devices[0], &of_devices[1]);
    defects_have_a_schedule(*state, "tests/copies/defects.json", 1, &of_one[0], &of_one[1]);
    print_message("several devices: %u meet a copy, %u wait for ever; one: %u and %u\n", of_devices[0], of_devices[1],
                  of_one[0], of_one[1]);
    assert_true(of_devices[0] >= 15 && of_devices[1] >= 5 && of_one[0] >= 50 && of_one[1] >= 20);
}

/* ---- the page ---- */

static void what_the_page_says(void **state)
{
    place *p = *state;
    struct json_object *all = json_object_from_file("tests/devices/schedules.json");
    assert_true(json_object_array_length(all) >= 8);
    for (size_t i = 0; i < json_object_array_length(all); i++) {
        struct json_object *entry = json_object_array_get_idx(all, i), *says = member(entry, "says");
        tp_str text = changed(p, tp_printf(p->a, "%s.tile.json", string_of(entry, "in")).p, member(entry, "change"));
        outcome o = RUN(p->a, "lint", "--format", "html", put(p, "k.tile.json", text.p, text.n));
        for (size_t k = 0; k < json_object_array_length(says); k++) {
            const char *part = json_object_get_string(json_object_array_get_idx(says, k));
            if (!contains(o.out, part))
                fail_msg("%s: the page does not say %s", json_object_to_json_string(entry), part);
        }
    }
    json_object_put(all);
}

/* With D devices, each of which sends to all the others. */
static const char *exchange(place *p, int64_t devices)
{
    struct json_object *spec = json_object_from_file("tests/devices/all_to_all.tile.json"),
                       *sizes = json_object_new_object();
    json_object_object_add(sizes, "D", json_object_new_int64(devices));
    json_object_object_add(sizes, "N", json_object_new_int(3));
    json_object_object_add(spec, "sizes", sizes);
    const char *text = json_object_to_json_string(spec), *path = put(p, "k.tile.json", text, strlen(text));
    json_object_put(spec);
    return path;
}

static void pages_stay_small(void **state)
{
    enum { MOST = 400 << 10 };
    place *p = *state;
    outcome o = RUN(p->a, "lint", "--format", "html", exchange(p, 48));
    assert_true(contains(o.out, "8 of 48 devices are drawn") && contains(o.out, "copies have no room"));
    assert_true(contains(o.out, "The first 33 and the last 11 of ") && o.out.n < MOST);
    o = RUN(p->a, "lint", "--format", "html", exchange(p, 100));
    assert_true(contains(o.out, "Not drawn: 100 devices; at most 64 are executed.") && o.out.n < MOST);
    static const char SPEC[] =
        "{\"tileproof\":1,\"name\":\"k\",\"target\":\"none\",\"grid\":[],\"inputs\":[{\"name\":\"x\",\"dtype\":"
        "\"float32\",\"shape\":[8],\"memory_space\":\"any\"}],\"outputs\":[{\"name\":\"o\",\"dtype\":\"float32\","
        "\"shape\":[8],\"memory_space\":\"any\"}],\"scratch\":[{\"name\":\"done\",\"memory_space\":\"dma_semaphore\","
        "\"shape\":[]}],\"kernel\":[\"for i in range(20000):\",\"    copy_start(x[...], o[...], done)\",\"    "
        "copy_wait(x[...], o[...], done)\"]}";
    o = RUN(p->a, "lint", "--format", "html", put(p, "long.tile.json", SPEC, sizeof SPEC - 1));
    assert_true(contains(o.out, "the first 16384 copies, signals and waits are there") && o.out.n < MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(runs_are_played_to_their_end), IN_PLACE(traps_have_an_order),
                                       IN_PLACE(what_the_page_says), IN_PLACE(pages_stay_small)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
