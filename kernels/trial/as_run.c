/* The kernel once more, on the same inputs, as `run` executes it: without a domain and without counting what is
 * covered. There the machine waits with operations, looks at rows where they lie and skips what ranges decide; the
 * numbers have to be those that were verified. */
#include <math.h>

#include "kernels/trial/trial.h"

bool tp_trial_same_numbers(const tp_trial *x, const tp_tensor *verified, const tp_tensor *run, tp_str *where)
{
    const tp_kernel *k = x->c->kernel;
    for (uint32_t i = 0; i < k->noutputs; i++) {
        const tp_operand *o = &k->operands[k->ninputs + i];
        const tp_tensor *v = &verified[i], *r = &run[i];
        bool same = memcmp(v->data, r->data, v->n * tp_dtype_size(v->dtype)) == 0;
        for (size_t j = 0; !same && tp_trial_compares(k, i) && j < v->n; j++) {
            double a = tp_get_f64(v->dtype, v->data, j), b = tp_get_f64(r->dtype, r->data, j);
            if (a == b || (isnan(a) && isnan(b)) || !tp_is_compared(k, o, x->c->env, v, j))
                continue;
            tp_str at = tp_element_name(x->work, o, v, j);
            *where = tp_printf(x->keep, "%.*s is %.17g as it was verified, and %.17g as `run` executes the kernel",
                               TP_FMT(at), a, b);
            return false;
        }
    }
    return true;
}

/* The arrays of e as they were before the run: inputs that it wrote to are filled again. */
static tp_sides arrays_again(const tp_trial *x, const tp_sides *e, tp_input_family family)
{
    const tp_kernel *k = x->c->kernel;
    tp_sides plain = {.garbage = e->garbage, .n = e->n, .arrays = TP_NEWN(x->work, tp_tensor, e->n)};
    tp_str why;
    for (uint32_t i = 0; i < e->n; i++) {
        const tp_tensor *t = &e->arrays[i];
        plain.arrays[i] = i < k->ninputs ? *t : tp_tensor_new(x->work, t->dtype, t->rank, t->dims);
        if (k->operands[i].alias >= 0 && tp_trial_arrays(x, family, 0, &plain, &why))
            return plain;
    }
    return plain;
}

void tp_trial_as_run(const tp_trial *x, const tp_sides *e, tp_input_family family)
{
    const tp_kernel *k = x->c->kernel;
    tp_sides plain = arrays_again(x, e, family);
    tp_trap trap = {.step = -1};
    tp_run_request request = {.kernel = k,
                              .env = x->c->env,
                              .arrays = plain.arrays,
                              .seed = x->o->seed + x->c->seed,
                              .max_steps = x->o->max_steps,
                              .garbage = e->garbage};
    tp_status st = tp_trial_run(x, &request, &trap, NULL);
    if (st == TP_E_TRAP)
        x->r->as_run =
            tp_printf(x->keep, "the case does not trap as it was verified, and does as `run` executes it: %.*s",
                      TP_FMT(trap.message));
    else if (st == TP_OK)
        tp_trial_same_numbers(x, e->arrays + k->ninputs, plain.arrays + k->ninputs, &x->r->as_run);
}
