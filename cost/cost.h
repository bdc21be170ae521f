/* What a kernel costs at given sizes: the bytes that its windows and copies
 * move, its operations, its VMEM; and, as a model, the time on a chip.
 *
 * Counts are exact and are those of the machine (tp_run_stats) that goes through
 * the grid in order: a window is fetched when its index differs from that of the
 * step before, an output window is written once for each run of equal indices
 * (docs/SPEC.md, "The machine"). They hold where the rules do: of a window that
 * misses its array (TP101) no count means anything, and integers of bodies are
 * taken not to wrap.
 *
 * A count either has a closed form in the sizes, which is evaluated, or is summed
 * up over those axes and loops on which it depends, within a bound of work; or it
 * is not known, and `why` says so. A cost belongs to one thread at a time; it
 * adds expressions to the kernel's pool.
 */
#ifndef TP_COST_H
#define TP_COST_H

#include "base/vec.h"
#include "spec/kernel.h"

/* A number that was counted, or why there is none. */
typedef struct tp_cost_count {
    bool known;
    int64_t n;
    tp_str why; /* in the arena of the cost; static */
} tp_cost_count;

/* The same for all sizes; `e` holds where every axis has a step. */
typedef struct tp_form {
    tp_expr e; /* over sizes; id 0: there is none */
    tp_str why;
} tp_form;

/* Which of the peaks of a chip bounds a dot: that of the wider operand. */
typedef enum tp_peak { TP_PEAK_F32, TP_PEAK_BF16, TP_PEAK_INT8, TP_PEAK_FP8, TP_PEAK_INT4, TP_PEAKS } tp_peak;

/* An input or output: traffic between its array in HBM and VMEM or SMEM, by windows and by copies of the body. */
typedef struct tp_operand_cost {
    const tp_operand *operand;
    tp_cost_count fetches, fetched,
        bytes_in; /* times, elements, bytes as the chip stores them (4-bit types: half a byte) */
    tp_cost_count writes, written, bytes_out;
    tp_cost_count array; /* bytes of the array: what a perfect kernel moves once, in or out */
} tp_operand_cost;

typedef struct tp_dot_cost {
    tp_peak peak;
    tp_cost_count executions;
    tp_cost_count batch, m, k, n; /* of one execution: `batch` products of m x k by k x n */
} tp_dot_cost;

/* A jump from a step to the next: the axis that counts on, while all faster ones begin again. By axis, of naxes + 1:
 * [0] is the first step. */
typedef struct tp_jump {
    tp_cost_count steps;               /* that begin so */
    tp_cost_count bytes_in, bytes_out; /* that windows move because of it; writes of what the step before had */
} tp_jump;

/* What lies in VMEM: windows with the buffers of the pipeline, and scratch, in whole tiles of the target. */
typedef struct tp_vmem_buffer {
    const tp_operand *operand;
    uint32_t buffers;
    tp_expr bytes; /* of one of them */
} tp_vmem_buffer;

/* A time in a step. The first begins with it, and has what is there in all steps: windows and scratch of the grid. */
typedef struct tp_vmem_moment {
    uint32_t line; /* of the body: a `with` begins there, or ends that began there; 0: the first moment */
    bool ends;
    uint32_t *alive, nalive; /* scratch of `with` that is there, too: operands, in the order in which they began */
    tp_expr bytes;           /* of all that is there */
} tp_vmem_moment;

/* Moments in the order of the body: those of arms that exclude each other one after the other, those of loops once. */
typedef struct tp_vmem_life {
    TP_VEC(tp_vmem_buffer) buffers;
    TP_VEC(tp_vmem_moment) moments;
    tp_expr lasting; /* bytes of what is there in all steps */
} tp_vmem_life;
/* In the arena; adds expressions to the kernel's pool. */
tp_vmem_life tp_vmem_life_of(tp_arena *a, const tp_kernel *k);

typedef struct tp_cost_numbers {
    tp_cost_count steps;
    tp_operand_cost *operands; /* inputs, then outputs */
    uint32_t noperands;
    tp_cost_count bytes_in, bytes_out; /* of all operands */
    tp_cost_count flops;               /* of floats, and of every dot: two for each product and sum (as tp_run_stats) */
    tp_cost_count dot_flops;           /* of these, in dots */
    tp_cost_count mxu_flops;           /* of dots whose m is a multiple of 8, and k and n of the target's matrix unit */
    tp_cost_count transcendental;      /* elements of exp, tanh and the like (tp_prim_transcendental) */
    tp_dot_cost *dots;
    uint32_t ndots;
    tp_jump *jumps;
    uint32_t njumps;
    tp_cost_count vmem;       /* windows with their buffers, and scratch, in whole tiles: what TP301 adds up */
    tp_cost_count vmem_of[2]; /* [1]: the same on generations 2 and 3, whose tiles are twice as large; [0]: on others */
    int64_t vmem_limit;
    tp_cost_count *vmem_buffers;       /* by buffer of tp_vmem_life: bytes of one */
    tp_cost_count *vmem_moments;       /* by moment of it: bytes */
    uint32_t vmem_peak;                /* the first moment with the most of them */
    tp_cost_count ideal_in, ideal_out; /* bytes, each array once */
    tp_cost_count links, bytes_linked; /* copies to other devices, by all of them together; their bytes */
    tp_cost_count devices;             /* ... of kernels that make such copies, how many there are; else 0 */
} tp_cost_numbers;

typedef struct tp_operand_forms {
    tp_form fetches, bytes_in, writes, bytes_out;
} tp_operand_forms;
typedef struct tp_cost_forms {
    tp_form steps;
    tp_operand_forms *operands;
    tp_form bytes_in, bytes_out, flops, dot_flops, mxu_flops, transcendental, vmem, ideal_in, ideal_out, links,
        bytes_linked;
    tp_vmem_life life;
} tp_cost_forms;

typedef struct tp_cost tp_cost;

/* Turns of the sums that have no closed form, all together; beyond it a count is not known. */
enum { TP_COST_WORK = 1 << 22, TP_COST_GLANCE = 1 << 18 /* for a page, or one of many shapes */ };

/* Prepares the counts of k. `a` holds the cost and its texts. Leaves with TP_E_MEMORY. */
tp_cost *tp_cost_new(tp_arena *a, const tp_kernel *k);
const tp_cost_forms *tp_cost_forms_of(const tp_cost *c);
/* The counts where sizes and tables are as in env (as tp_expr_eval() has it; axes do not matter). Numbers are in `a`.
 * `work`: turns of sums, 0: TP_COST_WORK. `counting`: no closed form is looked at, for tests. */
typedef struct tp_cost_request {
    const int64_t *env;
    int64_t work;
    bool counting;
} tp_cost_request;
tp_cost_numbers tp_cost_at(tp_cost *c, tp_arena *a, const tp_cost_request *r);

/* How often the body copies from and to an operand without windows in one step, whose axes are in env, too. *work:
 * turns of sums that are left. */
tp_cost_count tp_cost_step_copies(tp_cost *c, const int64_t *env, uint32_t operand, int64_t *work);

/* Bytes that the windows of each input and output move, without what the body copies; bytes[] by operand. `work` as
 * above. False: something is not known. Of `a` nothing stays taken. */
bool tp_cost_windows_move(tp_arena *a, const tp_kernel *k, const int64_t *env, int64_t work, double *bytes);

/* What of an operand's traffic is not known becomes these numbers, of an execution; sums follow. */
void tp_cost_put_moved(tp_cost_numbers *n, uint32_t operand, int64_t fetches, int64_t fetched, int64_t writes,
                       int64_t written);

/* Bytes that the reference moves, as a model: each of its operations, in whole arrays, reads its operands from HBM and
 * writes its result there. Floats on the way have four bytes, as those of operands are declared; other shapes of a
 * value and its repetition take nothing. Not known for references with loops or branches. */
tp_cost_count tp_cost_unfused(tp_cost *c, tp_arena *a, const tp_program *reference, const int64_t *env);

/* The reference on one core of a chip, as a model of what a compiler makes of it: every product, reduction and running
 * sum is an operation of its own, which reads its operands from HBM and writes its result there; what is elementwise
 * or moves elements is computed with who reads it, or writes an output. Each takes the longer of its bytes at the
 * bandwidth and its products at the peak, and nothing else: a bound from below. Floats on the way are as wide as the
 * widest among the operands. Not known for references with loops or branches. */
typedef struct tp_cost_baseline {
    bool known;
    tp_str why; /* static */
    uint32_t operations;
    int64_t bytes;
    double seconds;
} tp_cost_baseline;
tp_cost_baseline tp_cost_baseline_of(tp_cost *c, tp_arena *a, const tp_program *reference, const int64_t *env,
                                     const tp_target *t);

/* ---- the model ----
 *
 * A step's copies run beside the computation of the step before it (one fetch
 * ahead, one write behind, as Pallas' pipeline does with two buffers), at the
 * bandwidth of HBM; the matrix unit runs at its peak on whole tiles. Left out:
 * vector, scalar and transcendental units, latency, issue of steps and copies,
 * conflicts in VMEM, and what XLA does around the kernel. So times are bounds
 * from below. Sources of rates: spec/targets.def.
 */
/* What it takes to issue a step, which the times above leave out: measured on a v5e (docs/COST.md). */
#define TP_STEP_SECONDS 0.34e-6

typedef enum tp_bound { TP_BOUND_UNKNOWN, TP_BOUND_MEMORY, TP_BOUND_COMPUTE } tp_bound;
const char *tp_bound_name(tp_bound b);

typedef struct tp_cost_model {
    const tp_target *target;
    bool known;      /* else `why`: a count or a rate is missing */
    bool f32_peak;   /* products of float32 are held against the peak of bfloat16, which bounds theirs */
    tp_str why;      /* static, or of the numbers */
    double memory;   /* seconds: all bytes at the bandwidth of HBM */
    double compute;  /* seconds: dots on whole tiles at the peaks of their dtypes */
    double roofline; /* the larger of the two */
    bool pipelined;  /* the two below are known */
    double pipeline; /* with the first fetch, the last write, and steps in which one waits for the other */
    double bubbles;  /* pipeline - roofline */
    double issued;   /* the pipeline where each step takes the core TP_STEP_SECONDS more */
    tp_bound bound;
    double mxu_flops; /* on tiles of this chip */
    double intensity; /* FLOPs per byte; 0 where no byte moves */
    double ridge;     /* FLOPs per byte from which on the peak of the first dot bounds; 0: unknown */
    bool fits;        /* VMEM, at this chip's tiles and limit */
} tp_cost_model;

/* On one core of the chip. */
tp_cost_model tp_cost_on(const tp_cost *c, const tp_cost_numbers *n, const tp_target *t);

#endif
