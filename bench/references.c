/* CPU milliseconds of evaluating a spec's reference, once per line. usage: references SPEC REPEATS */
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "bench/timing.h"
#include "kernels/trial/equiv.h"
#include "reference/reference.h"

/* Of processors, of all threads. */
static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int main(int argc, char **argv)
{
    tp_arena *a = tp_arena_new(0);
    tp_source source = {.path = tp_str_c(argc == 3 ? argv[1] : "")};
    tp_ctx c = {.arena = a, .source = &source};
    tp_load_options o = {0};
    tp_spec *s;
    tp_str why;
    if (argc != 3 || tp_read_file(a, argv[1], TP_JSON_MAX_BYTES, &source.text, &why) != TP_OK ||
        tp_spec_load(&c, &o, &s) != TP_OK) {
        fprintf(stderr, "references: %.*s\n",
                TP_FMT(c.findings.len ? c.findings.at[0].message : TP_S("cannot be read")));
        return 3;
    }
    const tp_kernel *k = s->kernels[0];
    int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(k->exprs) + 1); /* the sizes are fixed */
    tp_tensor *arrays = TP_NEWN(a, tp_tensor, k->ninputs), *outputs = TP_NEWN(a, tp_tensor, k->noutputs);
    for (uint32_t i = 0; i < k->ninputs; i++) {
        int64_t dims[TP_MAX_RANK];
        if (!tp_operand_dims(k, &k->operands[i], env, dims, &why))
            return 3;
        arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        tp_fill(&arrays[i], TP_INPUT_SMALL, 0, 1, i);
    }
    for (int r = atoi(argv[2]); r > 0; r--) {
        tp_arena *own = tp_arena_child(a);
        tp_reference_request q = {.kernel = k, .env = env, .arrays = arrays, .outputs = outputs};
        double start = cpu_ms();
        if (tp_reference_run(own, &q) != TP_OK) {
            fprintf(stderr, "references: %.*s\n", TP_FMT(q.why));
            return 4;
        }
        printf("%.3f\n", cpu_ms() - start);
        tp_arena_free(own);
    }
    tp_arena_free(a);
    return 0;
}
