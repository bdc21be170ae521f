/* What a reference decides by numbers that it narrows first, as floor(x.astype(bfloat16)) does. Over the reals casts
 * are the identity, so that its value there is that of floor(x). Where its own number is another one, and the kernel
 * does not have that number either, the two are different functions. Of numbers that are inputs as they are given:
 * arithmetic before the cast, or behind it, rounds in a kernel otherwise than in the reference, and may decide. */
#include <math.h>

#include "domains/domain.h"
#include "kernels/trial/trial.h"

typedef struct narrowing {
    const tp_program *p;
    bool *rounded; /* by value: arithmetic may have rounded it; */
    bool *few;     /* ... it comes of a number of few bits, of the kind that is looked for */
    bool decides;
} narrowing;

static bool is_narrow(tp_dtype d)
{
    return tp_is_float(d) && !tp_is_weak(d) && tp_dtype_info(d)->bits < 32;
}

static bool rounds(const tp_inst *i)
{
    const tp_prim_row *info = tp_prim_info(i->prim);
    bool adds = info->class == TP_CLASS_FOLD || info->class == TP_CLASS_RUNNING;
    return info->class == TP_CLASS_CONTRACT || (adds && i->prim != TP_P_MAX && i->prim != TP_P_MIN) ||
           (info->class == TP_CLASS_ELEMENTWISE && info->rounding.kind != TP_ROUND_EXACT);
}

static bool mark(bool *marks, tp_vid v, bool marked)
{
    bool is_new = marked && !marks[v];
    marks[v] |= marked;
    return is_new;
}

static bool any_of(const bool *marks, const tp_inst *i)
{
    bool any = false;
    for (uint32_t a = 0; i && a < i->nargs; a++)
        any |= marks[i->args[a]];
    return any;
}

static bool trace_rounding(const tp_statement *s, void *ctx)
{
    narrowing *x = ctx;
    const tp_inst *i = tp_computed(s);
    if (s->kind == TP_ASSIGN)
        return mark(x->rounded, s->var, x->rounded[s->value]);
    return i && mark(x->rounded, i->out, rounds(i) || any_of(x->rounded, i));
}

/* Does it decide by its arguments, as a comparison, or a cast of floats to integers? */
static bool decides(const narrowing *x, const tp_inst *i)
{
    return tp_decides(i->prim) || (i->prim == TP_P_CAST && tp_is_float(x->p->values.at[i->args[0]].dtype) &&
                                   !tp_is_float((tp_dtype)i->integer));
}

/* `few`: by a written cast, and nothing else has rounded it. */
static bool trace_narrowing(const tp_statement *s, void *ctx)
{
    narrowing *x = ctx;
    const tp_inst *i = tp_computed(s);
    if (s->kind == TP_ASSIGN)
        return mark(x->few, s->var, x->few[s->value] && !x->rounded[s->var]);
    if (!i || any_of(x->rounded, i))
        return false;
    bool narrowed = any_of(x->few, i), casts = i->prim == TP_P_CAST && is_narrow((tp_dtype)i->integer);
    x->decides |= narrowed && decides(x, i);
    return mark(x->few, i->out, !rounds(i) && (narrowed || casts));
}

/* `few`: arithmetic has rounded it, too. */
static bool trace_blurring(const tp_statement *s, void *ctx)
{
    narrowing *x = ctx;
    const tp_inst *i = tp_computed(s);
    if (s->kind == TP_ASSIGN)
        return mark(x->few, s->var, x->few[s->value]);
    if (!i)
        return false;
    bool blurred = any_of(x->few, i), casts = i->prim == TP_P_CAST,
         narrow = is_narrow(casts ? (tp_dtype)i->integer : x->p->values.at[i->out].dtype);
    x->decides |= blurred && decides(x, i);
    return mark(x->few, i->out,
                tp_is_float(x->p->values.at[i->out].dtype) &&
                    (blurred || (narrow && (rounds(i) || (casts && any_of(x->rounded, i))))));
}

/* Does the reference decide by numbers of few bits that `visit` finds? */
static bool decides_by(tp_arena *work, const tp_kernel *k, bool (*visit)(const tp_statement *s, void *ctx))
{
    const tp_program *p = k->reference.program;
    if (!p)
        return false;
    narrowing x = {
        .p = p, .rounded = TP_NEWN(work, bool, p->values.len + 1), .few = TP_NEWN(work, bool, p->values.len + 1)};
    tp_region_settle(&p->statements, trace_rounding, &x);
    tp_region_settle(&p->statements, visit, &x);
    return x.decides;
}

bool tp_rounding_decides(tp_arena *work, const tp_kernel *k)
{
    return decides_by(work, k, trace_blurring);
}

void tp_trial_hold_narrowed(const tp_trial *x, const tp_sides *e, uint32_t i, tp_result got, tp_result want,
                            const tp_tensor **single, tp_output_diff *d)
{
    static const double PART = 0x1p-3; /* of the output's size: more than what casts cost where nothing is decided */
    const tp_kernel *k = x->c->kernel;
    const tp_operand *o = &k->operands[k->ninputs + i];
    const double *real = want.meaning->plane[0], *number = want.data->data;
    if (d->tier != TP_TIER_EQUAL || x->c->against || !decides_by(x->work, k, trace_narrowing))
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
