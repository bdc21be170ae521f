#include "analyzer/merge.h"

#include <stdlib.h>
#include <string.h>

/* What is computed from a division by zero, or from a block of no elements,
 * has no value that could be judged. */
static void explain_undefined(tp_findings *f)
{
    static const struct {
        const char *rule, *reason;
    } CAUSES[] = {{TP_RULE_DIVISION_BY_ZERO, "it depends on a divisor that can be zero: see " TP_RULE_DIVISION_BY_ZERO},
                  {TP_RULE_EXTENT, "it depends on an extent that can be too small: see " TP_RULE_EXTENT}};
    const char *reason = NULL;
    for (size_t c = 0; c < 2 && !reason; c++)
        for (uint32_t i = 0; i < f->len; i++)
            if (f->at[i].verdict == TP_VIOLATED && strcmp(f->at[i].rule, CAUSES[c].rule) == 0)
                reason = CAUSES[c].reason;
    for (uint32_t i = 0; reason && i < f->len; i++)
        if (f->at[i].verdict == TP_UNKNOWN)
            f->at[i].reason = tp_str_c(reason);
}

/* What is masked for one window is open where the index map gives another: the map comes first. */
static void explain_wrong_maps(tp_arena *a, tp_findings *f)
{
    const tp_finding *wrong = NULL;
    for (uint32_t i = 0; i < f->len && !wrong; i++)
        if (f->at[i].verdict == TP_VIOLATED && strcmp(f->at[i].rule, TP_RULE_BLOCK_OUT_OF_BOUNDS) == 0)
            wrong = &f->at[i];
    for (uint32_t i = 0; i < f->len && wrong; i++) {
        tp_finding *g = &f->at[i];
        if (g->verdict == TP_UNKNOWN &&
            (strcmp(g->rule, TP_RULE_PADDING_LEAK) == 0 || strcmp(g->rule, TP_RULE_UNINITIALIZED_USE) == 0 ||
             strcmp(g->rule, TP_RULE_OUTPUT_COVERAGE) == 0))
            g->reason =
                tp_printf(a, "the index map of `%.*s` leaves its array: see " TP_RULE_BLOCK_OUT_OF_BOUNDS "%s%.*s",
                          TP_FMT(wrong->subject), g->reason.n ? "; " : "", TP_FMT(g->reason));
    }
}

/* Where nobody knows whether the domain is empty, every proof is given TP006. */
static void rest_on_domain(tp_arena *a, tp_findings *f)
{
    bool open = false;
    for (uint32_t i = 0; i < f->len; i++)
        open |= f->at[i].verdict == TP_UNKNOWN && strcmp(f->at[i].rule, TP_RULE_EMPTY_DOMAIN) == 0;
    for (uint32_t i = 0; i < f->len && open; i++)
        if (f->at[i].verdict == TP_PROVEN)
            f->at[i].rests_on = tp_basis_join(a, f->at[i].rests_on, TP_S(TP_RULE_EMPTY_DOMAIN));
}

static int gravity(tp_verdict v)
{
    return v == TP_VIOLATED ? 3 : v == TP_VACUOUS ? 2 : v == TP_UNKNOWN ? 1 : 0;
}

/* What is violated for one dtype is not told again as open for another. */
static bool is_same(const tp_finding *a, const tp_finding *b)
{
    if (a->claim.n && tp_str_eq(a->claim, b->claim))
        return true;
    if (a->verdict == b->verdict)
        return a->verdict == TP_PROVEN || tp_str_eq(a->message, b->message);
    return a->verdict == TP_PROVEN || b->verdict == TP_PROVEN;
}

/* One that is violated stands for another one: under its precondition both are proven. What would require the
 * precondition of the other one is tried after its own. */
static void one_precondition(tp_arena *arena, tp_finding *stays, const tp_finding *other)
{
    if (stays->verdict != TP_VIOLATED || other->verdict == TP_PROVEN || tp_str_eq(stays->holds_when, other->holds_when))
        return;
    stays->holds_when = (tp_str){NULL, 0};
    for (uint32_t i = 0; i < other->proposals.len; i++)
        if (other->proposals.at[i].requires.n)
            tp_push(arena, stays->proposals, other->proposals.at[i]);
}

static void merge(tp_arena *arena, tp_merger *m, const tp_findings *more)
{
    for (uint32_t i = 0; i < more->len; i++) {
        const tp_finding *f = &more->at[i];
        tp_str key = tp_printf(arena, "%s %u %.*s", f->rule, f->loc.start, TP_FMT(f->subject));
        uint32_t same = tp_map_get(&m->first, key), last = 0;
        while (same && !is_same(&m->all.at[same - 1], f)) {
            last = same;
            same = m->next.at[same - 1];
        }
        if (!same) {
            tp_push(arena, m->all, *f);
            tp_push(arena, m->next, 0);
            if (last)
                m->next.at[last - 1] = m->all.len;
            else
                tp_map_set(arena, &m->first, key, m->all.len);
        } else if (gravity(f->verdict) > gravity(m->all.at[same - 1].verdict)) {
            tp_finding graver = *f;
            one_precondition(arena, &graver, &m->all.at[same - 1]);
            m->all.at[same - 1] = graver;
        } else {
            tp_finding *first = &m->all.at[same - 1];
            one_precondition(arena, first, f);
            first->grade = f->grade > first->grade ? f->grade : first->grade;
            if (first->verdict == TP_PROVEN && f->verdict == TP_PROVEN)
                first->rests_on = tp_basis_join(arena, first->rests_on, f->rests_on);
        }
    }
}

/* What is wrong comes before what is open, and that before the rest; of what is wrong, causes before what follows from
 * them: no value, no steps, a window beside its array, an order of steps, then what reaches a result. */
static int precedence(const tp_finding *f)
{
    static const char *const ORDER[] = {TP_RULE_EMPTY_DOMAIN,
                                        TP_RULE_DIVISION_BY_ZERO,
                                        TP_RULE_EXTENT,
                                        TP_RULE_ZERO_STEP,
                                        TP_RULE_INDEX_OVERFLOW,
                                        TP_RULE_PREFETCH_CONTRACT,
                                        TP_RULE_BLOCK_OUT_OF_BOUNDS,
                                        TP_RULE_ALIAS_HAZARD,
                                        TP_RULE_PARALLEL_RACE,
                                        TP_RULE_NONCONSECUTIVE_REVISIT,
                                        TP_RULE_OVERLAPPING_OUTPUT,
                                        TP_RULE_DTYPE_SUPPORT,
                                        TP_RULE_CORE_PARALLEL,
                                        TP_RULE_BLOCK_TILING,
                                        TP_RULE_VMEM_CAPACITY,
                                        TP_RULE_SMEM_CAPACITY};
    enum { RULES_IN_ORDER = sizeof ORDER / sizeof *ORDER };
    int n = 0;
    if (f->verdict != TP_VIOLATED && f->verdict != TP_VACUOUS)
        return RULES_IN_ORDER + (f->verdict == TP_UNKNOWN ? 1 : 2);
    while (n < RULES_IN_ORDER && strcmp(f->rule, ORDER[n]) != 0)
        n++;
    return n;
}

static int by_cause_and_place(const void *a, const void *b)
{
    const tp_finding *x = *(const tp_finding *const *)a, *y = *(const tp_finding *const *)b;
    if (precedence(x) != precedence(y))
        return precedence(x) - precedence(y);
    if (x->loc.start != y->loc.start)
        return x->loc.start < y->loc.start ? -1 : 1;
    int rule = strcmp(x->rule, y->rule);
    return rule ? rule : x < y ? -1 : x > y;
}

static tp_findings sort_findings(tp_arena *arena, const tp_findings *f)
{
    const tp_finding **order = TP_NEWN(arena, const tp_finding *, f->len);
    tp_findings out = {0};
    for (uint32_t i = 0; i < f->len; i++)
        order[i] = &f->at[i];
    qsort(order, f->len, sizeof *order, by_cause_and_place);
    for (uint32_t i = 0; i < f->len; i++)
        tp_push(arena, out, *order[i]);
    return out;
}

void tp_merge(tp_arena *arena, tp_merger *m, tp_findings *more)
{
    explain_undefined(more);
    explain_wrong_maps(arena, more);
    merge(arena, m, more);
}

tp_findings tp_merged_findings(tp_arena *arena, tp_merger *m)
{
    rest_on_domain(arena, &m->all);
    return sort_findings(arena, &m->all);
}
