/* kernels/machine/order.c against all orders: small programs of signals, waits and copies of two or three devices,
 * whose every interleaving is searched. A copy is in flight in some of them beside a place of a device exactly where
 * the runs with something left out say so. The seed is printed; TEST_SEED and TEST_TRIALS change it. */
#include "base/rng.h"
#include "kernels/machine/order.h"
#include "tests/unit/support.h"

enum { TRIALS = 1500, DEVICES = 3, COUNTERS = 2, ACTS = 4, COPIES = DEVICES * ACTS, STATES = 1 << 18 };

typedef struct moment {
    uint8_t at[DEVICES];
    int8_t count[DEVICES][COUNTERS];
    uint8_t begun[COPIES], sent[COPIES], arrived[COPIES]; /* of a copy's units: counted one by one */
} moment;

typedef struct search {
    const tp_order *o;
    moment *seen;
    uint32_t *hash, n;
    bool beside[2][COPIES][DEVICES][ACTS + 1]; /* the source, the destination is in flight while a device is there */
    bool full;
} search;

static void visit(search *s, const moment *m)
{
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < sizeof *m; i++)
        h = (h ^ ((const uint8_t *)m)[i]) * 1099511628211u;
    uint32_t slot = (uint32_t)(h >> 20) % (2 * STATES);
    for (; s->hash[slot]; slot = (slot + 1) % (2 * STATES))
        if (memcmp(&s->seen[s->hash[slot] - 1], m, sizeof *m) == 0)
            return;
    if (s->n == STATES) {
        s->full = true;
        return;
    }
    s->seen[s->n++] = *m;
    s->hash[slot] = s->n;
    for (uint32_t c = 0; c < s->o->copies.len; c++)
        for (uint32_t d = 0; d < s->o->devices; d++) {
            s->beside[0][c][d][m->at[d]] |= m->begun[c] && m->sent[c] < s->o->copies.at[c].n;
            s->beside[1][c][d][m->at[d]] |= m->begun[c] && m->arrived[c] < s->o->copies.at[c].n;
        }
}

static void next_of_device(search *s, const moment *from, uint32_t d)
{
    const tp_acts *acts = &s->o->acts[d];
    if (from->at[d] == acts->len)
        return;
    const tp_act *a = &acts->at[from->at[d]];
    moment m = *from;
    int8_t *count = &m.count[a->device][a->counter];
    if (a->kind == TP_ACT_WAIT && *count < a->n)
        return;
    if (a->kind == TP_ACT_START)
        m.begun[a->copy] = 1;
    else
        *count = (int8_t)(*count + (a->kind == TP_ACT_WAIT ? -a->n : a->n));
    m.at[d]++;
    visit(s, &m);
}

static void next_of_copy(search *s, const moment *from, uint32_t c)
{
    const tp_shipment *x = &s->o->copies.at[c];
    if (from->begun[c] && from->sent[c] < x->n) {
        moment m = *from;
        m.sent[c]++;
        if (x->sent != TP_NO_COUNTER)
            m.count[x->from][x->sent]++;
        visit(s, &m);
    }
    if (from->arrived[c] < from->sent[c]) { /* what arrives has been read */
        moment m = *from;
        m.arrived[c]++;
        m.count[x->to][x->arrived]++;
        visit(s, &m);
    }
}

static void make(tp_order *o, tp_arena *a, tp_rng *r)
{
    tp_order_begin(o, a, 2 + (uint32_t)tp_rng_below(r, 2), COUNTERS);
    for (uint32_t d = 0; d < o->devices; d++) {
        uint64_t n = tp_rng_below(r, ACTS + 1);
        for (uint64_t i = 0; i < n; i++) {
            uint32_t other = (uint32_t)tp_rng_below(r, o->devices), counter = (uint32_t)tp_rng_below(r, COUNTERS);
            int64_t by = 1 + (int64_t)tp_rng_below(r, 3);
            switch (tp_rng_below(r, 5)) {
            case 0:
            case 1: tp_order_wait(o, a, d, counter, by); break;
            case 2: tp_order_signal(o, a, d, other, counter, by); break;
            case 3:
                tp_order_start(o, a,
                               (tp_shipment){.from = d,
                                             .to = other,
                                             .sent = (uint32_t)tp_rng_below(r, COUNTERS),
                                             .arrived = counter,
                                             .n = by});
                break;
            case 4:
                tp_order_start(o, a,
                               (tp_shipment){.from = d, .to = d, .sent = TP_NO_COUNTER, .arrived = counter, .n = by});
                break;
            }
        }
    }
}

/* Is copy c in flight while the device is at this place, in some order? */
static bool may_be_beside(tp_order *o, tp_arena *a, bool destination, size_t c, uint32_t d, size_t at)
{
    size_t reached[DEVICES];
    bool source = !destination && o->copies.at[c].sent != TP_NO_COUNTER;
    tp_order_reach(o, a, (tp_omission){TP_NO_DEVICE, 0, true, source, c, false}, reached);
    if (reached[o->copies.at[c].from] <= o->copies.at[c].started)
        return false; /* it never begins */
    return at <= reached[d] && (int64_t)at > tp_order_before(o, a, o->copies.at[c].from, o->copies.at[c].started, d);
}

static void all_orders_agree(void **state)
{
    (void)state;
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS);
    tp_rng r = tp_rng_new(seed, 0x6f72646572);
    search s = {.seen = calloc(STATES, sizeof *s.seen), .hash = calloc((size_t)2 * STATES, sizeof *s.hash)};
    size_t beside = 0, apart = 0, left = 0;
    for (uint64_t trial = 0; trial < trials; trial++) {
        tp_arena *a = tp_arena_new(0);
        tp_order o;
        make(&o, a, &r);
        memset(s.hash, 0, (size_t)2 * STATES * sizeof *s.hash);
        memset(s.beside, 0, sizeof s.beside);
        s.o = &o;
        s.n = 0;
        s.full = false;
        moment first;
        memset(&first, 0, sizeof first);
        visit(&s, &first);
        for (uint32_t i = 0; i < s.n && !s.full; i++) {
            for (uint32_t d = 0; d < o.devices; d++)
                next_of_device(&s, &s.seen[i], d);
            for (uint32_t c = 0; c < o.copies.len; c++)
                next_of_copy(&s, &s.seen[i], c);
        }
        left += s.full;
        for (uint32_t c = 0; c < o.copies.len && !s.full; c++)
            for (uint32_t d = 0; d < o.devices; d++)
                for (size_t at = 0; at <= o.acts[d].len; at++)
                    for (uint32_t side = 0; side < 2; side++) {
                        bool is = s.beside[side][c][d][at], said = may_be_beside(&o, a, side, c, d, at);
                        if (is != said)
                            fail_msg("trial %llu: %s of copy %u beside device %u after %zu acts: %d, said %d",
                                     (unsigned long long)trial, side ? "destination" : "source", c, d, at, is, said);
                        *(is ? &beside : &apart) += 1;
                    }
        tp_arena_free(a);
    }
    free(s.seen);
    free(s.hash);
    printf("order: seed %llu: %zu places beside a copy, %zu apart, %zu programs too large\n", (unsigned long long)seed,
           beside, apart, left);
    assert_true(beside > 1000 && apart > 1000 && left < 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_orders_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
