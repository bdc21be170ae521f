/* The sizes at which costs are modelled. */
#include "cost/text.h"
#include "sweep/internal.h"

static bool is_listed(const tp_sweep *s, tp_str name)
{
    for (uint32_t i = 0; i < s->naxes; i++)
        if (s->axes[i].kind == TP_SWEEP_SIZE && tp_str_eq(s->axes[i].name, name))
            return true;
    return false;
}

static bool may_be(const tp_size *z, int64_t v)
{
    bool listed = z->kind != TP_SIZE_CHOICE;
    for (uint32_t i = 0; i < z->nchoices; i++)
        listed |= z->choices[i] == v;
    return listed && v >= z->min && v <= z->max && (z->kind != TP_SIZE_RANGE || v % z->multiple_of == 0);
}

static void choose(tp_sweep *s, const tp_kernel *k, int64_t wish)
{
    s->nmodelled = 0;
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (tp_is_open_size(&k->sizes[i]) && !is_listed(s, k->sizes[i].name))
            s->modelled[s->nmodelled++] = (tp_binding){k->sizes[i].name, tp_typical_size(k, &k->sizes[i], wish)};
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
    for (int64_t wish = TP_TYPICAL_SIZE; wish; wish /= 2) {
        choose(s, k, wish);
        if (!take(s, k, given, n, why))
            return false;
        if (tp_sweep_possible(s->arena, k, s->modelled, s->nmodelled))
            break;
    }
    return true;
}
