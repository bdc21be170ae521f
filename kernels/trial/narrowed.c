/* What a reference decides by numbers that it narrows first, as floor(x.astype(bfloat16)) does. Over the reals casts
 * are the identity, so that its value there is that of floor(x). Where its own number is another one, and the kernel
 * does not have that number either, the two are different functions. */
#include <math.h>

#include "domains/domain.h"
#include "kernels/trial/trial.h"

typedef struct narrowing {
    const tp_program *p;
    bool *narrowed; /* by value: comes of a written cast to few bits */
    bool more, decides;
} narrowing;

static void mark(narrowing *x, tp_vid v, bool narrowed)
{
    x->more |= narrowed && !x->narrowed[v];
    x->narrowed[v] |= narrowed;
}

static bool trace(const tp_statement *s, void *ctx)
{
    narrowing *x = ctx;
    const tp_inst *i = s->kind == TP_COMPUTE && s->inst->out >= 0 ? s->inst : NULL;
    bool narrowed = false;
    for (uint32_t a = 0; i && a < i->nargs; a++)
        narrowed |= x->narrowed[i->args[a]];
    bool casts = i && i->prim == TP_P_CAST, of_float = casts && tp_is_float(x->p->values.at[i->args[0]].dtype),
         to_float = casts && tp_is_float((tp_dtype)i->integer);
    x->decides |= narrowed && (tp_decides(i->prim) || (of_float && !to_float));
    if (i)
        mark(x, i->out, narrowed || (to_float && tp_dtype_info((tp_dtype)i->integer)->bits < 32));
    if (s->kind == TP_ASSIGN)
        mark(x, s->var, x->narrowed[s->value]);
    return false;
}

/* Does the reference decide by what it narrows? */
static bool decides_by_narrowed(tp_arena *work, const tp_kernel *k)
{
    const tp_program *p = k->reference.program;
    narrowing x = {.p = p, .narrowed = p ? TP_NEWN(work, bool, p->values.len + 1) : NULL, .more = p != NULL};
    while (x.more && !x.decides) {
        x.more = false;
        tp_region_any(&p->statements, trace, &x);
    }
    return x.decides;
}

void tp_trial_hold_narrowed(const tp_trial *x, const tp_sides *e, uint32_t i, tp_result got, tp_result want,
                            const tp_tensor **single, tp_output_diff *d)
{
    static const double PART = 0x1p-3; /* of the output's size: more than what casts cost where nothing is decided */
    const tp_kernel *k = x->c->kernel;
    const tp_operand *o = &k->operands[k->ninputs + i];
    const double *real = want.meaning->plane[0], *number = want.data->data;
    if (d->tier != TP_TIER_EQUAL || x->c->against || !decides_by_narrowed(x->work, k))
        return;
    double size = tp_size_of(k, o, x->c->env, &want);
    bool is_float = tp_is_float(got.data->dtype);
    for (size_t j = 0; j < want.data->n; j++) {
        double g = tp_get_f64(got.data->dtype, got.data->data, j), scale = fmax(fabs(real[j]), size),
               most = is_float ? PART * scale : 0.5;
        bool other = fabs(number[j] - real[j]) > most && fabs(number[j] - g) > most; /* no NaN */
        if (!other || !tp_is_compared(k, o, x->c->env, got.data, j))
            continue;
        if (!*single)
            *single = tp_trial_in_single(x, e);
        if (!*single || (*single)[i].n != want.data->n)
            return;
        if (!(fabs(((const double *)(*single)[i].data)[j] - number[j]) <= most)) /* float32 would not have it, either */
            continue;
        d->tier = TP_TIER_DIFFERENT;
        d->narrowed = true;
        d->differing++;
        d->ratio = HUGE_VAL;
        d->max_abs = fabs(number[j] - g);
        d->max_rel = d->max_abs / fmax(fabs(number[j]), size);
        d->got = g;
        d->want = number[j];
        d->worst = tp_element_name(x->keep, o, got.data, j);
        return;
    }
}
