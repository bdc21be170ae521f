/* Copies in flight, and the semaphores that they are waited for on (docs/SPEC.md, rules 9 to 12). A copy is executed
 * where it is started; until it is settled, whoever looks at its destination or changes its source is a trap, so that
 * nobody can tell when it moved its bytes. */
#include "base/checked.h"
#include "kernels/machine/internal.h"

typedef struct flight {
    const tp_statement *start;
    int64_t step;
    uint32_t from, to, semaphore;
    tp_slice source, destination;
    size_t counter; /* element of the semaphore */
    int64_t number; /* of this copy, from 1 */
} flight;

struct tp_flights {
    TP_VEC(flight) all;
    int64_t copies;    /* started so far */
    int64_t **pending; /* per operand that is a semaphore, per element: bits started and not waited for; or its count */
};

void tp_flights_prepare(tp_machine *m)
{
    uint32_t n = tp_noperands(m->k);
    for (uint32_t i = 0; i < n; i++) {
        if (!tp_is_semaphore(&m->k->operands[i]) || m->devices)
            continue;
        if (!m->flights) {
            m->flights = TP_NEW(m->arena, tp_flights);
            m->flights->pending = TP_NEWN(m->arena, int64_t *, n);
        }
        m->flights->pending[i] = TP_NEWN(m->arena, int64_t, m->refs[i].cells.n);
    }
}

int64_t tp_slice_bits(const tp_machine *m, uint32_t operand, const tp_slice *s)
{
    int64_t n = tp_dtype_info(m->k->operands[operand].dtype)->bits;
    for (uint32_t d = 0; d < s->rank; d++)
        n *= s->size[d]; /* of a part of an array that is there */
    return n;
}

/* Numbers start + t stride, 0 <= t < size, of both: is one in both? */
static bool progressions_meet(int64_t a, int64_t na, int64_t sa, int64_t b, int64_t nb, int64_t sb)
{
    int64_t last_a = a + (na - 1) * sa, last_b = b + (nb - 1) * sb;
    if (na < 1 || nb < 1 || a > last_b || b > last_a)
        return false;
    if (sa == 1 || sb == 1) { /* one of them is an interval: the other's first number in it */
        int64_t lo = sa == 1 ? a : b, hi = sa == 1 ? last_a : last_b, x = sa == 1 ? b : a, s = sa == 1 ? sb : sa,
                last = sa == 1 ? last_b : last_a;
        int64_t first = x >= lo ? x : x + (lo - x + s - 1) / s * s;
        return first <= hi && first <= last;
    }
    for (int64_t t = 0; t < na; t++) {
        int64_t x = a + t * sa - b;
        if (x >= 0 && x % sb == 0 && x / sb < nb)
            return true;
    }
    return false;
}

bool tp_same_slice(const tp_slice *a, const tp_slice *b)
{
    bool same = !a->cut && !b->cut;
    for (uint32_t d = 0; d < a->rank; d++)
        same &= a->start[d] == b->start[d] && a->size[d] == b->size[d] && a->stride[d] == b->stride[d];
    return same;
}

bool tp_slices_meet(const tp_slice *a, const tp_slice *b)
{
    for (uint32_t d = 0; d < a->rank; d++)
        if (!progressions_meet(a->start[d], a->size[d], a->stride[d], b->start[d], b->size[d], b->stride[d]))
            return false;
    return true;
}

void tp_slice_bytes(const tp_machine *m, uint32_t operand, const tp_slice *s, tp_trap_side *side)
{
    const tp_cells *c = &m->refs[operand].cells;
    int64_t bits = tp_dtype_info(m->k->operands[operand].dtype)->bits, first = 0, last = s ? 0 : (int64_t)c->n - 1;
    for (uint32_t d = 0; s && d < c->rank; d++) {
        first = first * c->dims[d] + s->start[d];
        last = last * c->dims[d] + s->start[d] + (s->size[d] - 1) * s->stride[d];
    }
    side->operand = operand;
    side->first = first * bits / 8;
    side->end = ((last + 1) * bits + 7) / 8;
}

/* The copy flies on, with its destination or its source. */
static void tell_flight(tp_machine *m, const flight *f, bool destination)
{
    tp_trap_side s = {
        .kind = TP_SIDE_FLIES, .step = f->step, .statement = f->start, .copy = f->number, .acts = TP_NO_ACT};
    s.writes = destination;
    tp_slice_bytes(m, destination ? f->to : f->from, destination ? &f->destination : &f->source, &s);
    tp_tell_side(m, s);
}

/* What comes next is done by the statement at hand. */
static void tell_access(tp_machine *m, uint32_t operand, const tp_slice *part, bool writes)
{
    tp_trap_side s = {
        .kind = TP_SIDE_DOES, .step = m->step, .statement = m->at, .writes = writes, .acts = TP_ACTS_SO_FAR};
    tp_slice_bytes(m, operand, part, &s);
    tp_tell_side(m, s);
}

/* It waits for more than comes, or is left with what nobody takes. */
static void tell_count(tp_machine *m, tp_trap_side_kind kind, uint32_t semaphore, int64_t needs, int64_t has)
{
    int64_t unit = m->k->operands[semaphore].memory == TP_MEM_DMA_SEMAPHORE ? 8 : 1;
    tp_tell_side(m, (tp_trap_side){.kind = kind,
                                   .step = m->step,
                                   .statement = m->at,
                                   .operand = semaphore,
                                   .acts = TP_NO_ACT,
                                   .needs = needs / unit,
                                   .counts = has / unit});
}

static tp_str copy_text(tp_machine *m, const flight *f)
{
    tp_str step = tp_origin_step_text(m, f->step);
    return tp_printf(m->arena, "the copy from `%.*s` to `%.*s` that line %u started%.*s",
                     TP_FMT(m->k->operands[f->from].name), TP_FMT(m->k->operands[f->to].name), f->start->syntax->number,
                     TP_FMT(step));
}

/* Is this part of the operand in flight, as a destination or (of a write) as a source? */
static void look(tp_machine *m, uint32_t operand, const tp_slice *s, bool writes, const char *what)
{
    tp_spend(m->arena, 4 * (int64_t)m->flights->all.len);
    tp_exec_spend(m, m->flights->all.len);
    for (uint32_t i = 0; i < m->flights->all.len; i++) {
        const flight *f = &m->flights->all.at[i];
        bool destination = f->to == operand && (!s || tp_slices_meet(&f->destination, s)),
             source = writes && f->from == operand && (!s || tp_slices_meet(&f->source, s));
        if (!destination && !source)
            continue;
        tell_access(m, operand, s, writes);
        tell_flight(m, f, destination);
        tp_trap_raise(m, TP_RULE_IN_FLIGHT, m->k->operands[operand].name,
                      "`%.*s` is %s while %.*s is in flight: it %s these elements",
                      TP_FMT(m->k->operands[operand].name), what, TP_FMT(copy_text(m, f)),
                      destination ? "writes" : "reads");
    }
}

void tp_flight_touch(tp_machine *m, uint32_t operand, const tp_slice *s, bool writes)
{
    if (m->devices)
        tp_exchange_touch(m, operand, s, writes);
    if (m->flights && m->flights->all.len)
        look(m, operand, s, writes, writes ? "written" : "read");
}

void tp_flight_window(tp_machine *m, uint32_t operand)
{
    if (m->devices)
        tp_exchange_touch(m, operand, NULL, true);
    if (m->flights && m->flights->all.len)
        look(m, operand, NULL, true, "moved to another window");
}

void tp_flight_sides(tp_machine *m, const tp_statement *s, const tp_slice *source, const tp_slice *destination)
{
    tp_str name = m->k->operands[s->access->operand].name;
    if (tp_slices_meet(source, destination))
        tp_trap_raise(m, TP_RULE_IN_FLIGHT, name, "a copy within `%.*s` writes elements that it reads", TP_FMT(name));
}

static void tell_now(tp_machine *m, uint32_t semaphore, size_t counter)
{
    int64_t n = m->flights->pending[semaphore][counter];
    bool bits = m->k->operands[semaphore].memory == TP_MEM_DMA_SEMAPHORE;
    tp_tell(m, (tp_event){.kind = TP_EVENT_COUNT, .operand = semaphore, .element = counter, .count = bits ? n / 8 : n});
}

void tp_flight_start(tp_machine *m, const tp_statement *s, const tp_slice *source, const tp_slice *destination,
                     size_t counter)
{
    int64_t bits = tp_slice_bits(m, s->access->operand, destination);
    int64_t *pending = &m->flights->pending[s->semaphore->operand][counter];
    tp_spend(m->arena, 16);
    if (!bits) /* nothing is moved */
        return;
    if (!tp_add(*pending, bits, pending))
        tp_trap_raise(m, TP_RULE_DMA_SEMAPHORE, m->k->operands[s->semaphore->operand].name,
                      "the bytes in flight on `%.*s` exceed 2^60", TP_FMT(m->k->operands[s->semaphore->operand].name));
    tp_push(m->arena, m->flights->all,
            ((flight){s, m->step, s->from->operand, s->access->operand, s->semaphore->operand, *source, *destination,
                      counter, ++m->flights->copies}));
    tp_tell(m, (tp_event){.kind = TP_EVENT_COPY,
                          .operand = s->access->operand,
                          .from = s->from->operand,
                          .bits = bits,
                          .copy = m->flights->copies,
                          .semaphore = s->semaphore->operand,
                          .element = counter,
                          .sent = TP_NO_OPERAND,
                          .statement = s});
    tell_now(m, s->semaphore->operand, counter);
}

/* All that was started on this counter is there: which of them a wait was for is not known before. */
static void settle(tp_machine *m, uint32_t semaphore, size_t counter)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->flights->all.len; i++) {
        const flight *f = &m->flights->all.at[i];
        if (f->semaphore != semaphore || f->counter != counter)
            m->flights->all.at[kept++] = *f;
        else
            tp_tell(m, (tp_event){.kind = TP_EVENT_COPY_DONE, .operand = f->to, .from = f->from, .copy = f->number});
    }
    m->flights->all.len = kept;
}

static void tell_deed(tp_machine *m, tp_event_kind kind, const tp_statement *s, int64_t n, size_t counter)
{
    tp_tell(m,
            (tp_event){.kind = kind, .operand = s->semaphore->operand, .element = counter, .bits = n, .statement = s});
}

void tp_flight_wait(tp_machine *m, const tp_statement *s, int64_t elements, size_t counter)
{
    const tp_operand *semaphore = &m->k->operands[s->semaphore->operand];
    int64_t *pending = &m->flights->pending[s->semaphore->operand][counter], bits = 0;
    tp_spend(m->arena, 16 + m->flights->all.len);
    if (!tp_mul(elements, tp_dtype_info(m->k->operands[s->access->operand].dtype)->bits, &bits))
        bits = INT64_MAX; /* more than anybody brings */
    tell_deed(m, TP_EVENT_WAIT, s, bits, counter);
    if (bits > *pending) {
        tell_count(m, TP_SIDE_WAITS, s->semaphore->operand, bits, *pending);
        tp_trap_raise(m, TP_RULE_DMA_SEMAPHORE, semaphore->name,
                      "waits for %lld bytes on `%.*s`; the copies in flight there bring %lld: it waits for ever",
                      (long long)(bits / 8), TP_FMT(semaphore->name), (long long)(*pending / 8));
    }
    *pending -= bits;
    tell_now(m, s->semaphore->operand, counter);
    if (bits && !*pending)
        settle(m, s->semaphore->operand, counter);
}

void tp_flight_count(tp_machine *m, const tp_statement *s, int64_t n, size_t counter)
{
    const tp_operand *semaphore = &m->k->operands[s->semaphore->operand];
    int64_t *count = &m->flights->pending[s->semaphore->operand][counter];
    tp_spend(m->arena, 16);
    tell_deed(m, s->kind == TP_SIGNAL ? TP_EVENT_SIGNAL : TP_EVENT_WAIT, s, n, counter);
    if (s->kind == TP_AWAIT && n > *count) {
        tell_count(m, TP_SIDE_WAITS, s->semaphore->operand, n, *count);
        tp_trap_raise(m, TP_RULE_DMA_SEMAPHORE, semaphore->name,
                      "waits for %lld on `%.*s`, which has %lld: it waits for ever", (long long)n,
                      TP_FMT(semaphore->name), (long long)*count);
    }
    *count += s->kind == TP_SIGNAL ? n : -n;
    if (*count > INT32_MAX)
        tp_trap_raise(m, TP_RULE_DMA_SEMAPHORE, semaphore->name, "`%.*s` counts beyond 2^31 - 1",
                      TP_FMT(semaphore->name));
    tell_now(m, s->semaphore->operand, counter);
}

_Noreturn static void not_waited_for(tp_machine *m, const flight *f, const char *when)
{
    m->at = f->start;
    tell_flight(m, f, true);
    tp_trap_raise(m, TP_RULE_DMA_SEMAPHORE, m->k->operands[f->semaphore].name, "%.*s is not waited for %s",
                  TP_FMT(copy_text(m, f)), when);
}

static void refuse_counts(tp_machine *m, uint32_t from, uint32_t to, const char *when)
{
    for (uint32_t i = from; i < to; i++)
        for (size_t e = 0; m->flights->pending[i] && e < m->refs[i].cells.n; e++)
            if (m->flights->pending[i][e]) {
                tell_count(m, TP_SIDE_LEFT, i, 0, m->flights->pending[i][e]);
                tp_trap_raise(m, TP_RULE_DMA_SEMAPHORE, m->k->operands[i].name, "`%.*s` is left at %lld %s",
                              TP_FMT(m->k->operands[i].name), (long long)m->flights->pending[i][e], when);
            }
}

void tp_refuse_flights(tp_machine *m, const char *when)
{
    if (!m->flights)
        return;
    m->at = NULL;
    if (m->flights->all.len)
        not_waited_for(m, &m->flights->all.at[0], when);
    refuse_counts(m, 0, tp_noperands(m->k), when);
}

void tp_flight_leave(tp_machine *m, tp_scope scope)
{
    static const char WHEN[] = "when its `with` ends";
    if (m->devices)
        tp_exchange_end_scope(m, scope, WHEN);
    for (uint32_t i = 0; m->flights && i < m->flights->all.len; i++) {
        const flight *f = &m->flights->all.at[i];
        if (tp_in_scope(scope, f->from) || tp_in_scope(scope, f->to) || tp_in_scope(scope, f->semaphore))
            not_waited_for(m, f, WHEN);
    }
    if (m->flights)
        refuse_counts(m, scope.first, scope.first + scope.n, WHEN);
}
