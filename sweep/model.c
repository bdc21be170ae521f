/* The sizes at which costs are modelled. */
#include "sweep/internal.h"

enum { TYPICAL = 4096, FEW = 16 };

static bool is_listed(const tp_sweep *s, tp_str name)
{
    for (uint32_t i = 0; i < s->naxes; i++)
        if (s->axes[i].kind == TP_SWEEP_SIZE && tp_str_eq(s->axes[i].name, name))
            return true;
    return false;
}

/* The nearest value to `wish`; of a few, the largest. */
static int64_t typical(const tp_size *z, int64_t wish)
{
    if (z->kind == TP_SIZE_CHOICE)
        return z->max;
    int64_t v = z->max < wish ? z->max : wish;
    v -= v % z->multiple_of;
    return v < z->min ? tp_size_least(z) : v;
}

static bool may_be(const tp_size *z, int64_t v)
{
    bool listed = z->kind != TP_SIZE_CHOICE;
    for (uint32_t i = 0; i < z->nchoices; i++)
        listed |= z->choices[i] == v;
    return listed && v >= z->min && v <= z->max && (z->kind != TP_SIZE_RANGE || v % z->multiple_of == 0);
}

/* Of the spec's first case; 0: it says nothing. */
static int64_t of_case(const tp_kernel *k, tp_str name)
{
    const tp_json *first = k->cases && k->cases->u.items.n ? k->cases->u.items.at[0] : NULL;
    const tp_json *sizes = first && first->type == TP_J_OBJECT ? tp_json_get(first, "sizes") : NULL;
    for (uint32_t i = 0; sizes && sizes->type == TP_J_OBJECT && i < sizes->u.items.n; i++)
        if (tp_str_eq(sizes->u.items.at[i]->key, name) && sizes->u.items.at[i]->type == TP_J_INT)
            return sizes->u.items.at[i]->u.integer;
    return 0;
}

/* What is small in the first case counts heads, groups or the like, and stays. */
static int64_t wish_of(const tp_kernel *k, const tp_size *z, int64_t wish)
{
    int64_t v = of_case(k, z->name);
    return v > 0 && v <= FEW ? v : wish;
}

static void choose(tp_sweep *s, const tp_kernel *k, int64_t wish)
{
    s->nmodelled = 0;
    for (uint32_t i = 0; i < k->nsizes; i++)
        if ((k->sizes[i].kind == TP_SIZE_RANGE || k->sizes[i].kind == TP_SIZE_CHOICE) &&
            !is_listed(s, k->sizes[i].name))
            s->modelled[s->nmodelled++] =
                (tp_binding){k->sizes[i].name, typical(&k->sizes[i], wish_of(k, &k->sizes[i], wish))};
}

/* What was given takes the place of what was chosen. */
static bool take(tp_sweep *s, const tp_kernel *k, const tp_binding *given, uint32_t n, tp_str *why)
{
    for (uint32_t g = 0; g < n; g++) {
        uint32_t at = 0;
        while (at < s->nmodelled && !tp_str_eq(s->modelled[at].name, given[g].name))
            at++;
        if (at == s->nmodelled) {
            *why = tp_printf(s->arena,
                             is_listed(s, given[g].name) ? "--size %.*s: --over lists it"
                                                         : "--size: the spec has no size `%.*s` to choose",
                             TP_FMT(given[g].name));
            return false;
        }
        if (!may_be(tp_size_find(k, given[g].name), given[g].value)) {
            *why = tp_printf(s->arena, "--size %.*s: %lld is outside the sizes of the spec", TP_FMT(given[g].name),
                             (long long)given[g].value);
            return false;
        }
        s->modelled[at].value = given[g].value;
    }
    return true;
}

bool tp_sweep_model(tp_sweep *s, const tp_job *j, const tp_binding *given, uint32_t n, tp_str *why)
{
    const tp_kernel *k = j->report.spec->kernels[0];
    s->modelled = TP_NEWN(s->arena, tp_binding, k->nsizes + 1);
    /* less, until arrays of the spec as it stands are not too large for a device */
    for (int64_t wish = TYPICAL; wish; wish /= 2) {
        choose(s, k, wish);
        if (!take(s, k, given, n, why))
            return false;
        if (tp_sweep_possible(s->arena, k, s->modelled, s->nmodelled))
            break;
    }
    return true;
}
