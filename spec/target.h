/* The chips a kernel can be checked for. Rows in targets.def. */
#ifndef TP_TARGET_H
#define TP_TARGET_H

#include "base/str.h"
#include "spec/json.h"

typedef struct tp_target {
    tp_str name;
    bool checked;       /* false for "none": the hardware rules are off */
    int generation;     /* 2 … 8 */
    int cores;          /* TensorCores per chip */
    bool megacore;      /* `parallel` axes may be split over the cores */
    int64_t vmem_bytes; /* physical, per core */
    int64_t vmem_limit; /* default scoped limit; 0: not measured, physical is used */
    int64_t smem_bytes;
    int64_t hbm_bytes;                    /* per core */
    double hbm_bandwidth;                 /* bytes per second and core */
    double bf16_flops;                    /* peak per second and core */
    double int8_ops, fp8_flops, int4_ops; /* the same of other dtypes; 0: none that is public */
    int mxu;                              /* side of the matrix unit */
    bool measured;                        /* limit measured with the real compiler */
} tp_target;

/* Lanes and sublanes of every TPU generation (jax: jax/_src/tpu_info.py). */
enum { TP_LANES = 128, TP_SUBLANES = 8 };

#define TP_DEFAULT_TARGET "tpu-v5e"

/* By name or alias. */
bool tp_target_find(tp_str name, tp_target *out);
/* The name that was meant; empty: none is near. */
tp_str tp_target_nearest(tp_str name);
const tp_target *tp_targets(size_t *n);
const char *tp_target_aliases(size_t i);
/* Raises TP002 or TP001 for an unknown name or a malformed inline target. */
tp_target tp_target_read(tp_ctx *c, const tp_json *v);
_Noreturn void tp_target_unknown(tp_ctx *c, tp_loc loc, tp_str name);
/* Bytes of VMEM a kernel's declared buffers may take. */
int64_t tp_target_vmem(const tp_target *t);
/* Cores that one kernel runs on: those of a megacore chip, else 1. */
int tp_target_cores(const tp_target *t);

#endif
