#include "analyzer/claim/claim.h"

enum { FACTOR = 16, LEAST = 64 << 10 }; /* worth a word: 16 times its elements, and 64 KiB */

static void check(tp_analysis *a)
{
    for (uint32_t i = 0; i < a->k->ninputs + a->k->noutputs; i++) {
        const tp_operand *o = tp_part_of_device(a->arena, &a->k->operands[i]);
        if (o->memory != TP_MEM_VMEM || o->rank < 2)
            continue;
        int64_t padded = tp_at_largest(a, tp_padded_bytes(a, o)), plain = tp_at_largest(a, tp_data_bytes(a, o));
        if (plain < 1 || padded < LEAST || padded / plain < FACTOR)
            continue;
        tp_finding *f = tp_advise(a, o->name, o->dims[o->rank - 1].loc,
                                  tp_message(a, "a window of `%.*s` takes %lld times the memory of its elements",
                                             TP_FMT(o->name), (long long)(padded / plain)),
                                  TP_S("make the last dimension of the block a multiple of 128 (transpose the array), "
                                       "or keep several such columns in one array"));
        f->note =
            tp_message(a, "%lld bytes of VMEM for %lld bytes of elements: the last dimension is padded to 128 lanes",
                       (long long)padded, (long long)plain);
    }
}

const tp_rule tp_rule_tp601_padding_waste = {
    .code = "TP601",
    .slug = "padding-waste",
    .title = "windows that are mostly padding",
    .severity = TP_NOTE,
    .hardware = true,
    .per_dtype = true,
    .why =
        "VMEM holds tiles of 8 rows and 128 lanes (more rows for narrow dtypes). A window of one column takes a whole "
        "tile for each eight elements, and is copied and computed at that size.",
    .bad = "\"block_shape\": [512, 1]   256 KiB for 2 KiB of float32",
    .good = "\"block_shape\": [1, 512]   on the transposed array",
    .jax = "Nothing is reported.",
    .check = check,
};
