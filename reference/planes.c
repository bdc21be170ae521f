/* What the values of a reference mean (domains/). */
#include "reference/internal.h"

tp_lanes tp_lanes_of_array(const array *a)
{
    tp_lanes x = {.dtype = a->dtype, .stored = TP_F64, .n = a->n, .data = a->at, .degree = a->meaning.degree};
    memcpy(x.plane, a->meaning.plane, sizeof x.plane);
    return x;
}

void tp_reference_make_room(evaluator *e, array *a)
{
    for (uint32_t p = 0; p < e->domain->nplanes && !a->room[p]; p++)
        a->room[p] = tp_take_room(e, a->n);
}

static void materialise(evaluator *e, array *a)
{
    if (a->meaning.plane[0])
        return;
    tp_lanes x = tp_lanes_of_array(a);
    tp_reference_make_room(e, a);
    e->domain->exact(e->domain, &x, a->room);
    memcpy(a->meaning.plane, a->room, sizeof a->room);
    a->meaning.degree = (tp_degree){0, 0};
    a->alike = e->domain->reals;
}

tp_lanes tp_lanes_of_result(evaluator *e, array *out)
{
    tp_reference_make_room(e, out);
    tp_lanes r = tp_lanes_of_array(out);
    memcpy(r.plane, out->room, sizeof r.plane);
    return r;
}

void tp_note_reference(array *out, const tp_lanes *r, bool any)
{
    out->meaning = (tp_planes){.degree = r->degree};
    out->alike = false;
    if (any)
        memcpy(out->meaning.plane, out->room, sizeof out->room);
}

bool tp_means_numbers(const evaluator *e, const array *a)
{
    return e->domain && e->domain->reals && (!a->meaning.plane[0] || a->alike);
}

static bool all_mean_numbers(const evaluator *e, const tp_inst *i)
{
    bool all = true;
    for (uint32_t a = 0; a < i->nargs; a++)
        all &= tp_means_numbers(e, &e->values[i->args[a]]);
    return all;
}

/* Of reductions, casts and the like, whose loops are others than the domain's. */
static void find_alike(const evaluator *e, const tp_inst *i)
{
    array *out = &e->values[i->out];
    out->alike = out->meaning.plane[0] && tp_is_float(out->dtype) && all_mean_numbers(e, i) &&
                 memcmp(out->meaning.plane[0], out->at, out->n * sizeof *out->at) == 0;
}

void tp_reference_copy(evaluator *e, tp_vid to_value, tp_vid from_value)
{
    array *to = &e->values[to_value];
    const array *from = &e->values[from_value];
    if (!e->domain)
        return;
    to->meaning = (tp_planes){.degree = from->meaning.degree};
    to->alike = from->alike;
    if (!from->meaning.plane[0])
        return;
    tp_reference_make_room(e, to);
    for (uint32_t p = 0; p < e->domain->nplanes; p++)
        memcpy(to->room[p], from->meaning.plane[p], from->n * 8);
    memcpy(to->meaning.plane, to->room, sizeof to->room);
}

void tp_reference_put_planes(evaluator *e, const tp_inst *i,
                             void (*put)(evaluator *e, const tp_inst *i, void *to, const void *from))
{
    array *to = &e->values[i->args[0]], *from = &e->values[i->args[1]];
    for (uint32_t a = 2; a < i->nargs; a++)
        tp_reference_decide(e, i->args[a]);
    if (!to->meaning.plane[0] && !from->meaning.plane[0])
        return;
    materialise(e, to);
    materialise(e, from);
    for (uint32_t p = 0; p < e->domain->nplanes; p++)
        put(e, i, to->meaning.plane[p], from->meaning.plane[p]);
    to->alike &= from->alike;
    to->meaning.degree = tp_degree_larger(to->meaning.degree, from->meaning.degree);
}

void tp_reference_decide(evaluator *e, tp_vid v)
{
    tp_lanes x = tp_lanes_of_array(&e->values[v]);
    if (e->domain && x.plane[0] && !e->domain->certain(e->domain, &x))
        e->undecided = true;
}

tp_planes tp_reference_meaning(evaluator *e, array *v)
{
    materialise(e, v);
    return v->meaning;
}

/* ---- moving: the same instruction over the planes, elements of 8 bytes ---- */

static void move(evaluator *e, const tp_inst *i)
{
    array *out = &e->values[i->out];
    uint32_t n = tp_moved_arguments(i);
    bool any = false;
    out->meaning = (tp_planes){.plane = {NULL}};
    out->alike = e->domain->reals;
    for (uint32_t a = 0; a < n; a++)
        any |= e->values[i->args[a]].meaning.plane[0] != NULL;
    if (!any)
        return;
    double **data = tp_take_room(e, n), *numbers = out->at;
    tp_reference_make_room(e, out);
    for (uint32_t a = 0; a < n; a++) {
        array *from = &e->values[i->args[a]];
        materialise(e, from);
        data[a] = from->at;
        out->alike &= from->alike;
        out->meaning.degree = tp_degree_larger(out->meaning.degree, from->meaning.degree);
    }
    for (uint32_t p = 0; p < e->domain->nplanes; p++) {
        for (uint32_t a = 0; a < n; a++)
            e->values[i->args[a]].at = e->values[i->args[a]].meaning.plane[p];
        out->at = out->room[p];
        tp_reference_data(e, i);
    }
    for (uint32_t a = 0; a < n; a++)
        e->values[i->args[a]].at = data[a];
    tp_give_room(e, data, n);
    out->at = numbers;
    memcpy(out->meaning.plane, out->room, sizeof out->room);
}

/* ---- computing ---- */

static void elementwise(evaluator *e, const tp_inst *i)
{
    array *out = &e->values[i->out];
    tp_lanes args[3], r = tp_lanes_of_result(e, out);
    const tp_lanes *at[3];
    for (uint32_t a = 0; a < i->nargs && a < 3; a++) {
        args[a] = tp_lanes_of_array(&e->values[i->args[a]]);
        at[a] = &args[a];
    }
    tp_note_reference(out, &r, tp_domain_compute(e->domain, i, &r, at));
    find_alike(e, i);
}

bool tp_reference_by_domain(evaluator *e, const tp_inst *i)
{
    array *out = &e->values[i->out];
    tp_prim p = i->prim;
    if (tp_prim_info(p)->class != TP_CLASS_ELEMENTWISE || p == TP_P_INTEGER_POW || !tp_is_float(out->dtype) ||
        !tp_is_float(e->values[i->args[0]].dtype) || !all_mean_numbers(e, i))
        return false;
    tp_lanes args[2], r = tp_lanes_of_result(e, out);
    const tp_lanes *at[2];
    for (uint32_t a = 0; a < i->nargs && a < 2; a++) {
        args[a] = tp_lanes_of_array(&e->values[i->args[a]]);
        at[a] = &args[a];
    }
    r.data = r.plane[0];
    tp_note_reference(out, &r, tp_domain_compute(e->domain, i, &r, at));
    memcpy(out->at, r.plane[0], out->n * sizeof *out->at);
    out->alike = true;
    return true;
}

static void reduce(evaluator *e, const tp_inst *i)
{
    array *out = &e->values[i->out];
    const array *a = &e->values[i->args[0]];
    uint32_t kept[TP_MAX_RANK], reduced[TP_MAX_RANK], nkept = 0, nreduced = 0;
    for (uint32_t d = 0; d < a->rank; d++) {
        bool gone = false;
        for (uint32_t k = 0; k < i->nints; k++)
            gone |= i->ints[k] == (int64_t)d;
        if (gone)
            reduced[nreduced++] = d;
        else
            kept[nkept++] = d;
    }
    tp_groups g;
    size_t *base = tp_offsets(e, a, kept, nkept, &g.nout), *offset = tp_offsets(e, a, reduced, nreduced, &g.nin);
    g.base = base;
    g.offset = offset;
    tp_lanes x = tp_lanes_of_array(a), r = tp_lanes_of_result(e, out);
    tp_note_reference(out, &r, e->domain->reduce(e->domain, i->prim, &r, &x, &g));
    find_alike(e, i);
    tp_give_room(e, base, g.nout + 1);
    tp_give_room(e, offset, g.nin + 1);
}

static void scan(evaluator *e, const tp_inst *i)
{
    array *out = &e->values[i->out];
    const array *a = &e->values[i->args[0]];
    tp_lanes x = tp_lanes_of_array(a), r = tp_lanes_of_result(e, out);
    size_t stride[TP_MAX_RANK], n = (size_t)a->dims[i->ints[0]], rows, step;
    uint32_t others[TP_MAX_RANK], k = 0;
    bool any = false;
    for (uint32_t d = 0; d < a->rank; d++)
        if (d != (uint32_t)i->ints[0])
            others[k++] = d;
    tp_strides(a, stride);
    step = stride[i->ints[0]];
    size_t *base = tp_offsets(e, a, others, k, &rows);
    for (size_t row = 0; n && row < rows; row++)
        any |= e->domain->scan(e->domain, tp_prim_of(i->prim), &r, &x, base[row] + (i->reverse ? (n - 1) * step : 0),
                               i->reverse ? -(ptrdiff_t)step : (ptrdiff_t)step, n);
    tp_give_room(e, base, rows + 1);
    tp_note_reference(out, &r, any);
    find_alike(e, i);
}

void tp_reference_planes(evaluator *e, const tp_inst *i)
{
    array *out = &e->values[i->out];
    switch (tp_prim_info(i->prim)->class) {
    case TP_CLASS_ELEMENTWISE:
    case TP_CLASS_SELECT:
    case TP_CLASS_CONVERT: elementwise(e, i); return;
    case TP_CLASS_FOLD: reduce(e, i); return;
    case TP_CLASS_RUNNING: scan(e, i); return;
    case TP_CLASS_MOVE:
        for (uint32_t a = tp_moved_arguments(i); a < i->nargs; a++) /* indices and shifts */
            tp_reference_decide(e, i->args[a]);
        if (i->prim == TP_P_RESHAPE)
            tp_reference_copy(e, i->out, i->args[0]);
        else
            move(e, i);
        return;
    case TP_CLASS_SOURCE:
        if (i->prim == TP_P_LITERAL)
            elementwise(e, i);
        else
            out->meaning.plane[0] = NULL;
        return;
    case TP_CLASS_MEMORY: /* references have variables and tables */
        if (i->prim == TP_P_VARIABLE) {
            tp_reference_copy(e, i->out, i->args[0]);
            return;
        }
        for (uint32_t a = 0; a < i->nargs; a++)
            tp_reference_decide(e, i->args[a]);
        out->meaning.plane[0] = NULL;
        return;
    case TP_CLASS_CONTRACT: /* with its numbers */
    case TP_CLASS_CONTROL:
    case TP_CLASS_SUGAR: return;
    }
}
