/* What this processor can do at best, measured in some 50 ms: what a run is held against. */
#ifndef TP_PEAKS_H
#define TP_PEAKS_H

typedef struct tp_peaks {
    const char *instruction_set; /* of matrix products: "avx512", "avx2", "portable" */
    const char *elementary;      /* of exp and its kin: the same, or "libm" */
    const char *bfloats_by;      /* instructions that multiply bfloat16: "AMX", "VDPBF16PS", or those of float32 */
    const char *integers_by;     /* ... 8-bit integers: "AMX", "VNNI", or those of 16-bit ones */
    double flops;                /* float32 per second and core, fused multiply-adds counted as two */
    double bytes;                /* per second and core: read and written by a copy that no cache holds */
} tp_peaks;

/* No memory for the copy: its rate is 0. */
tp_peaks tp_peaks_measure(void);

#endif
