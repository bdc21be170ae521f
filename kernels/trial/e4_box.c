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

/* The text of the result goes with its memory. */
static void note(tp_arena *keep, const tp_algebra *x, tp_equiv *out)
{
    tp_str before = out->box_reason;
    tp_note_algebra(x, out, &out->box, &out->box_reason);
    if (!before.n)
        out->box_reason = tp_trial_keep(keep, out->box_reason);
}

static tp_result_use take_small(void *ctx, tp_case_result *r)
{
    boxing *x = ctx;
    note(x->c.arena, &r->algebra, &x->e);
    x->out_of_memory += r->out_of_memory;
    x->left_out = r->out_of_memory ? tp_trial_keep(x->c.arena, r->left_out) : x->left_out;
    x->equal = r->algebra.tier == TP_TIER_EQUAL;
    return x->equal ? TP_RESULT_DROP : TP_RESULT_STOP;
}

/* The small spec once more. */
typedef struct small_again {
    const tp_team *team; /* of the spec with its own blocks */
    const tp_source *source;
    tp_shrink_mode how;
} small_again;

static const tp_spec *read_small(const void *ctx, tp_arena *a)
{
    const small_again *x = ctx;
    tp_ctx c = {.arena = a, .source = x->source};
    tp_str blocks;
    const tp_spec *s = x->team->read(x->team->ctx, a);
    return s ? tp_shrunk(&c, s, x->how, &blocks) : NULL;
}

static void box_with_small_blocks(void *arg)
{
    boxing *x = arg;
    const tp_spec *small = tp_shrunk(&x->c, x->spec, x->how, &x->e.blocks);
    small_again again = {x->o->team, x->c.source, x->how};
    tp_equiv_options o = *x->o;
    tp_team team = o.team ? *o.team : (tp_team){.threads = 1};
    team.spec = small;
    team.read = read_small;
    team.ctx = &again;
    o.team = &team;
    for (uint32_t i = 0; small && i < small->nkernels; i++) {
        tp_box box = tp_cases_box(&x->c, small->kernels[i], LEAST_SMALL, SMALL_EFFORT / small->nkernels);
        x->e.box_shapes += box.shapes;
        x->e.box_text = box.text;
        x->e.box_constants = box.constants.n ? box.constants : x->e.box_constants;
        x->equal = box.cases.len > 0;
        tp_trial_cases(x->c.arena, &box.cases, &o, take_small, x);
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

typedef struct full_box {
    tp_arena *a;
    tp_equiv *out;
} full_box;

static tp_result_use take_full(void *ctx, tp_case_result *r)
{
    const full_box *x = ctx;
    tp_equiv *out = x->out;
    bool unexplained = r->algebra.unexplained && !out->unexplained, different = r->outcome == TP_DIFFERENT;
    note(x->a, &r->algebra, out);
    out->out_of_memory += r->out_of_memory;
    out->left_out = r->out_of_memory ? tp_trial_keep(x->a, r->left_out) : out->left_out;
    if (unexplained) {
        tp_case_result *copy = TP_NEW(x->a, tp_case_result);
        *copy = *r;
        out->unexplained = copy;
    }
    if (different) {
        out->different++;
        tp_push(x->a, out->cases, *r);
    }
    return unexplained || different ? TP_RESULT_KEEP : TP_RESULT_DROP;
}

void tp_equiv_box(tp_ctx *c, const tp_spec *s, uint32_t least, const tp_equiv_options *o, tp_equiv *out)
{
    full_box full = {c->arena, out};
    for (int how = 0; how < TP_SHRINK_MODES; how++)
        if (small_box(c, s, (tp_shrink_mode)how, o, out))
            return;
    for (uint32_t i = 0; i < s->nkernels && out->equal; i++) {
        tp_box *box = TP_NEW(c->arena, tp_box);
        *box = tp_cases_box(c, s->kernels[i], least, FULL_EFFORT / s->nkernels);
        out->box_shapes += box->shapes;
        out->box_text = box->text;
        out->box_constants = box->constants.n ? box->constants : out->box_constants;
        tp_trial_cases(c->arena, &box->cases, o, take_full, &full);
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
