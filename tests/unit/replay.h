/* A kernel of few operands on the machine, at its sizes. */
#ifndef TP_TEST_REPLAY_H
#define TP_TEST_REPLAY_H

#include "kernels/trial/equiv.h"
#include "tests/unit/support.h"

static inline tp_status run_at(tp_arena *a, const tp_kernel *k, const int64_t *env, tp_trap *trap)
{
    tp_tensor arrays[4];
    tp_str why;
    assert_true(k->ninputs + k->noutputs <= 4);
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        assert_true(tp_operand_dims(k, &k->operands[i], env, dims, &why));
        arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        tp_fill_random(&arrays[i], 1, i);
    }
    return tp_machine_run(
        a, &(tp_run_request){.kernel = k, .env = env, .arrays = arrays, .max_steps = 100000, .seed = 1}, trap, NULL);
}

/* The replay of lint: 1, it traps by this rule; 0, it runs through; -1, it does not say. */
static inline int replay(void *ctx, const tp_kernel *k, const int64_t *env, const char *rule, tp_trapped *out)
{
    (void)ctx;
    (void)out;
    tp_arena *a = tp_arena_new(0);
    tp_trap trap;
    tp_status st = run_at(a, k, env, &trap);
    int answer = st == TP_OK ? 0 : st == TP_E_TRAP && strcmp(trap.rule, rule) == 0 ? 1 : -1;
    tp_arena_free(a);
    return answer;
}

#endif
