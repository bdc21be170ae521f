/* What a spec rests on and nobody can check. */
#include "verify/verify.h"

void tp_add_assumed_sizes(tp_arena *a, tp_spec_report *r)
{
    const tp_kernel *k = r->spec->kernels[0];
    if (!tp_sizes_inferred(k->doc))
        return;
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *z = &k->sizes[i];
        if (!tp_is_open_size(z))
            continue;
        tp_finding f = {.rule = TP_RULE_SIZES_INFERRED,
                        .slug = tp_code_find(TP_S(TP_RULE_SIZES_INFERRED))->slug,
                        .verdict = TP_ASSUMED,
                        .severity = TP_NOTE,
                        .subject = z->name,
                        .loc = z->loc};
        f.message = tp_printf(
            a, "`%.*s` is inferred from calls: it is assumed that the function is this kernel at every such size",
            TP_FMT(z->name));
        tp_push(a, r->findings, f);
    }
}
