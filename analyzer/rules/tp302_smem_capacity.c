#include "analyzer/claim/claim.h"

/* Bytes of an array in SMEM: the last dimension padded to 128 elements, the
 * others as they are (measured with the TPU compiler, libtpu 0.0.42). */
static tp_expr bytes_of(tp_analysis *a, const tp_operand *o)
{
    int bits = tp_storage_bits(o->dtype);
    tp_expr n = num(a, 1);
    for (uint32_t d = 0; d < o->rank; d++) {
        tp_expr extent = o->role == TP_SCRATCH ? o->shape[d] : o->dims[d].block;
        n = mk(a, TP_E_MUL, n, d + 1 == o->rank ? mk(a, TP_E_ALIGN_UP, extent, num(a, TP_LANES)) : extent);
    }
    if (o->rank == 0)
        n = num(a, TP_LANES);
    return bits < 8 ? mk(a, TP_E_FLOORDIV, n, num(a, 8 / bits)) : mk(a, TP_E_MUL, n, num(a, bits / 8));
}

static void check(tp_analysis *a)
{
    tp_expr total = num(a, 0);
    tp_loc loc = a->k->doc->loc;
    bool any = false;
    for (uint32_t i = tp_noperands(a->k); i-- > 0;) {
        const tp_operand *o = &a->k->operands[i];
        if (o->memory != TP_MEM_SMEM || o->implied) /* a table, which is counted below, or the state of the chip */
            continue;
        if (!o->scoped)
            total = mk(a, TP_E_ADD, total, mk(a, TP_E_MUL, num(a, tp_pipeline_buffers(a->k, o)), bytes_of(a, o)));
        loc = o->loc;
        any = true;
    }
    for (uint32_t i = 0; i < a->k->nprefetched; i++) {
        const tp_table *t = &a->k->tables[i];
        tp_expr n = num(a, t->rank ? tp_storage_bits(t->dtype) / 8 : 4 * TP_LANES);
        for (uint32_t d = 0; d < t->rank; d++)
            n = mk(a, TP_E_MUL, n,
                   d + 1 == t->rank ? mk(a, TP_E_ALIGN_UP, t->shape[d], num(a, TP_LANES)) : t->shape[d]);
        total = mk(a, TP_E_ADD, total, n);
        loc = any ? loc : t->loc;
        any = true;
    }
    if (!any)
        return;
    total = mk(a, TP_E_ADD, total, tp_most_alive(a, TP_MEM_SMEM, bytes_of));
    int64_t limit = a->k->target.smem_bytes;
    const int64_t *env;
    tp_claim c = {
        .goal = mk(a, TP_E_LE, total, num(a, limit)),
        .subject = TP_S("smem"),
        .loc = loc,
        .proven = tp_message(a, "tables and buffers in SMEM fit the %lld KiB of %.*s", (long long)(limit >> 10),
                             TP_FMT(a->k->target.name)),
        .violated = tp_message(a, "tables and buffers in SMEM do not fit the %lld KiB of %.*s",
                               (long long)(limit >> 10), TP_FMT(a->k->target.name)),
        .label = TP_S("rows padded to 128 elements"),
        .note = TP_S("JAX lowering and both interpreters accept it; only the TPU compiler fails"),
    };
    tp_finding *f = tp_claim_check(a, &c, &env);
    if (f->verdict != TP_VIOLATED)
        return;
    int64_t need = 0;
    tp_expr_eval(a->p, total, env, &need);
    f->witness->detail = tp_message(a, "they need %lld bytes; there are %lld", (long long)need, (long long)limit);
    f->help = TP_S("make the longest dimension of a table its last, or bound the sizes with \"max\"");
}

const tp_rule tp_rule_tp302_smem_capacity = {
    .code = "TP302",
    .slug = "smem-capacity",
    .title = "tables and buffers in SMEM fit the SMEM of the target",
    .severity = TP_ERROR,
    .hardware = true,
    .per_dtype = true,
    .why = "SMEM is 1 MiB (16 KiB on v2 and v3), and each row takes a multiple of 128 elements: a table of N x 1 takes "
           "128 times its data.",
    .bad = "\"shape\": [3000, 1], \"dtype\": \"int32\", \"memory_space\": \"smem\"   (1.5 MB)",
    .good = "\"shape\": [3000]",
    .jax = "Nothing before the TPU compiler, which runs out of SMEM.",
    .check = check,
};
