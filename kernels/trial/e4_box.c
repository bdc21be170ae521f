/* Tier E4: E3 on every shape of a box, with small blocks where that suffices. */
#include "kernels/trial/internal.h"
#include "kernels/trial/trial.h"

/* Elements that are moved for all dtype combinations together. */
static const double SMALL_EFFORT = 1 << 24, FULL_EFFORT = 1 << 23;
enum { LEAST_SMALL = 8 };

typedef struct boxing {
    tp_ctx c; /* of a temporary arena */
    const tp_spec *spec;
    const tp_equiv_options *o;
    tp_shrink_mode how;
    tp_equiv e;
    bool equal;
    uint32_t out_of_memory;
    tp_str left_out;
} boxing;

static void box_with_small_blocks(void *arg)
{
    boxing *x = arg;
    const tp_spec *small = tp_shrunk(&x->c, x->spec, x->how, &x->e.blocks);
    for (uint32_t i = 0; small && i < small->nkernels; i++) {
        tp_box box = tp_cases_box(&x->c, small->kernels[i], LEAST_SMALL, SMALL_EFFORT / small->nkernels);
        x->e.box_shapes += box.shapes;
        x->e.box_text = box.text;
        x->e.box_constants = box.constants.n ? box.constants : x->e.box_constants;
        x->equal = box.cases.len > 0;
        for (uint32_t n = 0; n < box.cases.len && x->equal; n++) {
            tp_case_result r = {.the_case = &box.cases.at[n]};
            tp_trial_case(x->c.arena, &box.cases.at[n], x->o, &r);
            tp_note_algebra(&r.algebra, &x->e, &x->e.box, &x->e.box_reason);
            x->out_of_memory += r.out_of_memory;
            x->left_out = r.out_of_memory ? r.left_out : x->left_out;
            x->equal = r.algebra.tier == TP_TIER_EQUAL;
        }
        if (!x->equal)
            return;
    }
}

/* All of it, or nothing: false. */
static bool small_box(tp_ctx *c, const tp_spec *s, tp_shrink_mode how, const tp_equiv_options *o, tp_equiv *out)
{
    tp_arena *work = tp_arena_child_limited(c->arena, o->max_memory);
    tp_equiv_options quick = *o; /* what differs with small blocks is looked at with the spec's */
    quick.no_hunt = true;
    boxing x = {.c = {.arena = work, .source = c->source}, .spec = s, .o = &quick, .how = how, .e = *out};
    tp_status st = tp_try(work, box_with_small_blocks, &x);
    out->out_of_memory += x.out_of_memory + (st == TP_E_MEMORY);
    if (st == TP_E_MEMORY)
        out->left_out = tp_trial_left_out(c->arena, work, o);
    else if (x.out_of_memory)
        out->left_out = tp_trial_keep(c->arena, x.left_out);
    bool equal = st == TP_OK && x.equal;
    if (equal) {
        x.e.out_of_memory = out->out_of_memory;
        x.e.left_out = out->left_out;
        x.e.box_reason = out->box_reason;
        x.e.box_text = tp_printf(c->arena, "%.*s", TP_FMT(x.e.box_text));
        x.e.box_constants = tp_printf(c->arena, "%.*s", TP_FMT(x.e.box_constants));
        x.e.blocks = tp_printf(c->arena, "%.*s", TP_FMT(x.e.blocks));
        *out = x.e;
    }
    tp_arena_free(work);
    return equal;
}

void tp_equiv_box(tp_ctx *c, const tp_spec *s, uint32_t least, const tp_equiv_options *o, tp_equiv *out)
{
    for (int how = 0; how < TP_SHRINK_MODES; how++)
        if (small_box(c, s, (tp_shrink_mode)how, o, out))
            return;
    for (uint32_t i = 0; i < s->nkernels && out->equal; i++) {
        tp_box *box = TP_NEW(c->arena, tp_box);
        *box = tp_cases_box(c, s->kernels[i], least, FULL_EFFORT / s->nkernels);
        out->box_shapes += box->shapes;
        out->box_text = box->text;
        out->box_constants = box->constants.n ? box->constants : out->box_constants;
        for (uint32_t n = 0; n < box->cases.len; n++) {
            tp_case_result r = {.the_case = &box->cases.at[n]};
            tp_trial_case(c->arena, &box->cases.at[n], o, &r);
            tp_note_algebra(&r.algebra, out, &out->box, &out->box_reason);
            out->out_of_memory += r.out_of_memory;
            out->left_out = r.out_of_memory ? r.left_out : out->left_out;
            if (r.algebra.unexplained && !out->unexplained) {
                tp_case_result *copy = TP_NEW(c->arena, tp_case_result);
                *copy = r;
                out->unexplained = copy;
            }
            if (r.outcome != TP_DIFFERENT)
                continue;
            out->different++;
            tp_push(c->arena, out->cases, r);
        }
    }
}

static bool holds(const tp_equiv *e)
{
    return tp_tier_e3.holds(e) && tp_tier_all_equal(&e->box) && e->box.equal == e->box_shapes && !e->box_constants.n;
}

static tp_str missing(const tp_equiv *e, const tp_kernel *k)
{
    if (e->algebra_reason.n || e->box_reason.n)
        return e->algebra_reason.n ? e->algebra_reason : e->box_reason;
    if (e->box_constants.n)
        return TP_S("a size took only one value in the box: see the line box");
    if (e->box.equal == e->box_shapes)
        return TP_S("");
    return k->ntables ? TP_S("not every shape of the box was run: raise --box; or no tables were found for some shapes")
                      : TP_S("not every shape of the box was run: raise --box");
}

const tp_tier_evidence tp_tier_e4 = {"algebra=E4", NULL, holds, missing};
