#include "analyzer/claim/claim.h"

static void fill_table(tp_analysis *a, const tp_vmem_sum *s)
{
    tp_memory_table t = {
        .limit = tp_target_vmem(&a->k->target), .bytes = tp_at_largest(a, s->total), .dtypes = tp_dtypes_text(a->k)};
    for (uint32_t i = 0; i < s->bytes.len; i++) {
        const tp_operand *o = s->operands.at[i];
        int64_t one = tp_at_largest(a, s->bytes.at[i]);
        int buffers = tp_pipeline_buffers(a->k, o);
        tp_push(a->arena, t.rows,
                (tp_memory_row){.name = o->name,
                                .buffers = buffers,
                                .data_bytes = tp_at_largest(a, tp_data_bytes(a, o)),
                                .padded_bytes = one,
                                .bytes = one < 0 || one > INT64_MAX / buffers ? -1 : one * buffers});
    }
    tp_memory_table *best = &a->out->vmem;
    if (!best->limit || t.bytes < 0 || (best->bytes >= 0 && t.bytes > best->bytes))
        *best = t;
}

static tp_str size_text(tp_analysis *a, int64_t bytes)
{
    if (bytes >= 1 << 20)
        return tp_message(a, "%.2f MiB", (double)bytes / (1 << 20));
    if (bytes >= 1 << 10)
        return tp_message(a, "%.1f KiB", (double)bytes / 1024);
    return tp_message(a, "%lld bytes", (long long)bytes);
}

/* A side of the largest block, halved as often as it takes; rows first, since lanes that are full copy best. */
static void propose_smaller(tp_analysis *a, tp_finding *f, const tp_operand *o, int64_t need, int64_t limit)
{
    for (uint32_t d = 0; d < o->rank && o->dims; d++) {
        const tp_dim *dim = &o->dims[d];
        const tp_size *size = tp_size_find(a->k, tp_source_text(a, dim->loc));
        int64_t block, least = d + 1 == o->rank ? TP_LANES : 8, parts = 2;
        if (dim->kind != TP_DIM_BLOCKED || !tp_expr_is_const(a->p, dim->block, &block))
            continue;
        while (need / parts > limit)
            parts *= 2;
        for (; block / parts >= least && block % parts == 0; parts *= 2) {
            tp_loc at = size && size->kind == TP_SIZE_FIXED ? size->loc : dim->loc;
            tp_edit edit = tp_edit_expr(a, at, tp_message(a, "%lld", (long long)(block / parts)));
            tp_str what =
                size ? tp_message(a, "`%.*s`", TP_FMT(size->name))
                     : tp_message(a, "dimension %u of the block of `%.*s`", tp_global_dim(o, d), TP_FMT(o->name));
            tp_propose(
                a, f, tp_message(a, "shrink %.*s from %lld to %.*s", TP_FMT(what), (long long)block, TP_FMT(edit.text)),
                &edit, 1);
            tp_propose_everywhere(a, f, block, block / parts);
        }
    }
}

/* Do the buffers of all sizes fit so many bytes? */
static bool all_fit(tp_analysis *a, tp_expr total, int64_t bytes)
{
    tp_claim c = {.goal = mk(a, TP_E_LE, total, num(a, bytes))};
    return tp_claim_decide(a, &c).verdict == TP_PROVEN;
}

/* Where some sizes need `need` bytes, more than the limit. */
static tp_str what_to_do(tp_analysis *a, tp_expr total, int64_t need)
{
    int64_t most = a->k->target.vmem_bytes, ask = all_fit(a, total, need) ? need : most;
    if (need > most)
        return TP_S("make blocks smaller");
    if (ask == most && !all_fit(a, total, most))
        return TP_S("make blocks smaller, or bound the sizes that they grow with");
    return tp_message(a, "make blocks smaller, or ask the compiler for more: `\"vmem_limit_bytes\": %lld`",
                      (long long)ask);
}

static void check(tp_analysis *a)
{
    tp_vmem_sum s = tp_vmem_add_up(a);
    int64_t limit = tp_target_vmem(&a->k->target);
    fill_table(a, &s);
    tp_claim c = {
        .goal = mk(a, TP_E_LE, s.total, num(a, limit)),
        .subject = TP_S("vmem"),
        .loc = a->k->ninputs + a->k->noutputs ? a->k->operands[0].loc : a->k->doc->loc,
        .proven = tp_message(a, "the declared buffers fit the %.*s of VMEM of %.*s", TP_FMT(size_text(a, limit)),
                             TP_FMT(a->k->target.name)),
        .violated = tp_message(a, "the declared buffers do not fit the VMEM of %.*s", TP_FMT(a->k->target.name)),
        .label = TP_S("windows (times pipeline buffers) and scratch, padded to tiles"),
    };
    const int64_t *env;
    tp_finding *f = tp_claim_check(a, &c, &env);
    if (f->verdict != TP_VIOLATED)
        return;
    int64_t need = 0;
    tp_expr_eval(a->p, s.total, env, &need);
    tp_buf b = {.arena = a->arena};
    tp_buf_printf(&b, "declared buffers need %.*s, %.*s more than the %.*s there are:", TP_FMT(size_text(a, need)),
                  TP_FMT(size_text(a, need - limit)), TP_FMT(size_text(a, limit)));
    int64_t most = -1;
    const tp_operand *largest = NULL;
    for (uint32_t i = 0; i < s.bytes.len; i++) {
        int64_t one = 0;
        int buffers = tp_pipeline_buffers(a->k, s.operands.at[i]);
        tp_expr_eval(a->p, s.bytes.at[i], env, &one);
        tp_buf_printf(&b, " %.*s %dx%.*s", TP_FMT(s.operands.at[i]->name), buffers, TP_FMT(size_text(a, one)));
        if (one > most && s.operands.at[i]->dims) {
            most = one;
            largest = s.operands.at[i];
        }
    }
    if (largest)
        propose_smaller(a, f, largest, need, limit);
    f->witness->detail = tp_buf_view(&b);
    f->note = TP_S("JAX lowering and both interpreters accept it; only the TPU compiler fails (E1001). Compiler "
                   "temporaries come on top");
    if (!f->holds_when.n)
        f->help = what_to_do(a, s.total, need);
}

const tp_rule tp_rule_tp301_vmem_capacity = {
    .code = "TP301",
    .slug = "vmem-capacity",
    .title = "windows and scratch fit the VMEM of the target",
    .severity = TP_ERROR,
    .hardware = true,
    .per_dtype = true,
    .why = "Blocks live in VMEM, usually two copies each so that copies overlap with computing. Exceeding the limit is "
           "a proof that the kernel cannot be compiled; staying below it speaks of the declared buffers only.",
    .bad = "\"block_shape\": [2048, 2048], float32, three operands: 6 x 16 MiB",
    .good = "\"block_shape\": [512, 512]",
    .jax = "Lowering and interpreters say nothing; the TPU compiler ends with E1001.",
    .check = check,
};
