/* Does a changed kernel do what it did, at all sizes? */
#include "analyzer/alike.h"

#include "analyzer/analyze.h"
#include "verify/verify.h"

/* What they say of a body whose waits name other places than the copies that end there: that they cannot say it. The
 * machine looks at the bytes alone. */
static const char *const OF_COPIES[] = {TP_RULE_OUTPUT_COVERAGE, TP_RULE_UNINITIALIZED_USE, TP_RULE_PADDING_LEAK,
                                        TP_RULE_DMA_SEMAPHORE,   TP_RULE_UNDEFINED_SOURCE,  TP_RULE_IN_FLIGHT};

static bool is_of_copies(const tp_finding *f)
{
    bool is = false;
    for (size_t i = 0; i < sizeof OF_COPIES / sizeof *OF_COPIES; i++)
        is |= strcmp(f->rule, OF_COPIES[i]) == 0;
    return is && f->verdict == TP_UNKNOWN;
}

static bool rules_hold(tp_arena *a, const tp_findings *all, bool waits)
{
    tp_findings some = {0};
    for (uint32_t i = 0; i < all->len; i++)
        if (!waits || !is_of_copies(&all->at[i]))
            tp_push(a, some, all->at[i]);
    return !tp_equality_without(&some);
}

bool tp_does_the_same(tp_job *new, const tp_findings *found, const tp_job *old, const tp_analysis_options *o)
{
    const tp_spec *s = new->report.spec, *was = old->report.spec;
    const tp_json *body = tp_json_get(s->doc, "kernel"), *other = tp_json_get(was->doc, "kernel");
    tp_ctx there = old->ctx;
    there.arena = new->arena;
    there.findings = (tp_findings){0};
    bool loops = tp_json_get(s->doc, "pipelines") != NULL; /* which the reader writes with the operands */
    bool semantics, same = body && other && !loops && tp_same_but_body(new->arena, was, s, &semantics), waits = false;
    for (uint32_t i = 0; same && i < s->nkernels; i++) {
        const tp_kernel *k = s->kernels[i];
        tp_alike r = tp_bodies_alike(new->arena, k, tp_lower_body(&new->ctx, k, tp_parse_program(&new->ctx, body)),
                                     tp_lower_body(&there, k, tp_parse_program(&there, other)), o);
        same = r.shown && (semantics || (r.plain && !r.waits));
        waits |= r.waits;
    }
    return same && rules_hold(new->arena, found, waits);
}
