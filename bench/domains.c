/* What the scalar domains cost: checked execution with values over the reals
 * (E1) and with residues (E3), as ratios to plain checked execution of the
 * same kernel on the same arrays. usage: domains SPEC NAME=VALUE… [-- SPEC …] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "bench/timing.h"
#include "kernels/trial/equiv.h"

enum { REPEATS = 5 };

static bool takes_exponents(const tp_statement *s, void *ctx)
{
    (void)ctx;
    return s->kind == TP_COMPUTE &&
           (s->inst->prim == TP_P_EXP || s->inst->prim == TP_P_TANH || s->inst->prim == TP_P_SILU);
}

/* Milliseconds of one run; mode 0: plain, 1: rounding, 2: field. */
static double run_once(const tp_kernel *k, const int64_t *env, int mode, bool polynomial)
{
    tp_arena *a = tp_arena_new(0);
    uint32_t n = k->ninputs + k->noutputs;
    tp_tensor *arrays = tp_alloc_array(a, n, sizeof *arrays);
    tp_planes *planes = tp_alloc_array(a, n, sizeof *planes);
    tp_domain *d = mode == 0   ? NULL
                   : mode == 1 ? tp_rounding_new(a)
                               : tp_field_new(a, (tp_field_options){.seed = 1, .polynomial = polynomial});
    memset(planes, 0, n * sizeof *planes);
    for (uint32_t i = 0; i < n; i++) {
        int64_t dims[TP_MAX_RANK];
        tp_str why;
        if (!tp_operand_dims(k, &k->operands[i], env, dims, &why))
            exit(1);
        arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        if (i < k->ninputs) /* the pages of outputs are fresh in all three modes */
            tp_fill(&arrays[i], TP_INPUT_SMALL, 0, 1, i);
        if (mode == 2 && i < k->ninputs && tp_is_float(arrays[i].dtype)) {
            planes[i].plane[0] = tp_alloc_array(a, arrays[i].n, 8);
            tp_field_fill(d, i, arrays[i].n, planes[i].plane[0]);
        }
    }
    tp_run_request r = {
        .kernel = k, .env = env, .arrays = arrays, .max_steps = TP_MAX_STEPS, .domain = d, .meanings = planes};
    tp_trap trap;
    double start = now_ms();
    if (tp_machine_run(a, &r, &trap, NULL) != TP_OK) {
        fprintf(stderr, "%.*s\n", TP_FMT(trap.message));
        exit(1);
    }
    double ms = now_ms() - start;
    tp_arena_free(a);
    return ms;
}

int main(int argc, char **argv)
{
    tp_arena *a = tp_arena_new(0);
    double worst[3] = {0};
    for (int at = 1; at < argc; at++) {
        tp_source source = {.path = tp_str_c(argv[at])};
        tp_ctx c = {.arena = a, .source = &source};
        tp_load_options o = {0};
        tp_spec *s;
        tp_str why;
        if (tp_read_file(a, argv[at], TP_JSON_MAX_BYTES, &source.text, &why) != TP_OK ||
            tp_spec_load(&c, &o, &s) != TP_OK)
            return 1;
        const tp_kernel *k = s->kernels[0];
        int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(k->exprs));
        for (at++; at < argc && strcmp(argv[at], "--") != 0; at++) {
            char *eq = strchr(argv[at], '=');
            const tp_size *z = eq ? tp_size_find(k, (tp_str){argv[at], (size_t)(eq - argv[at])}) : NULL;
            if (!z)
                return 1;
            env[z->sym] = atoll(eq + 1);
        }
        double t[3][REPEATS];
        for (int r = 0; r < REPEATS; r++) /* side by side: the machine's noise hits all three */
            for (int mode = 0; mode < 3; mode++)
                t[mode][r] = run_once(k, env, mode, !tp_region_any(&k->body->statements, takes_exponents, NULL));
        double plain = median(t[0], REPEATS), e1 = median(t[1], REPEATS) / plain, e3 = median(t[2], REPEATS) / plain;
        printf("  %-20.*s plain %8.1f ms   E1 %.1fx   E3 %.1fx\n", TP_FMT(k->name), plain, e1, e3);
        worst[1] = e1 > worst[1] ? e1 : worst[1];
        worst[2] = e3 > worst[2] ? e3 : worst[2];
    }
    printf("domains: at most %.1fx (E1), %.1fx (E3) of plain checked execution\n", worst[1], worst[2]);
    return 0;
}
