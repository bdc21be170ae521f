/* What a spec rests on and nobody can check. */
#include "verify/verify.h"

static tp_finding assumed(const char *rule, tp_str subject, tp_loc loc)
{
    return (tp_finding){.rule = rule,
                        .slug = tp_code_find(tp_str_c(rule))->slug,
                        .verdict = TP_ASSUMED,
                        .severity = TP_NOTE,
                        .subject = subject,
                        .loc = loc};
}

static void add_sizes(tp_arena *a, tp_spec_report *r, const tp_kernel *k)
{
    if (!tp_sizes_inferred(k->doc))
        return;
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *z = &k->sizes[i];
        if (!tp_is_open_size(z))
            continue;
        tp_finding f = assumed(TP_RULE_SIZES_INFERRED, z->name, z->loc);
        f.message = tp_printf(
            a, "`%.*s` is inferred from calls: it is assumed that the function is this kernel at every such size",
            TP_FMT(z->name));
        tp_push(a, r->findings, f);
    }
}

void tp_add_assumed(tp_arena *a, tp_spec_report *r)
{
    const tp_kernel *k = r->spec->kernels[0];
    int state = tp_operand_find(k, TP_S(TP_PRNG_STATE));
    add_sizes(a, r, k);
    if (state < 0 || !k->operands[state].implied)
        return;
    tp_finding f = assumed(TP_RULE_RANDOM_BITS, k->operands[state].name, k->operands[state].loc);
    f.message = TP_S("the bits of prng_random_bits are assumed to be those of threefry2x32, which stands in for the "
                     "generator of the chip");
    tp_push(a, r->findings, f);
}
