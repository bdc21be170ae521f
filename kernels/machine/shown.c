/* Loads that show the memory of an operand instead of moving it: where all that looks at the value, and at values that
 * may be computed from it later, is over before anything can write to that memory. */
#include "kernels/machine/internal.h"

enum {
    LONGEST = 256, /* statements after a load that are looked at, nested ones included */
    MOST_VALUES = 64
};

/* What one load leads to. */
typedef struct trail {
    const tp_kernel *k;
    const bool *chosen; /* per value: a product that may wait, too; NULL: none */
    uint32_t operand;
    tp_vid values[MOST_VALUES]; /* those that may look at the memory when they are looked at themselves */
    uint32_t len;
    uint32_t *number;   /* per value: 1 + its place among these, or 0 */
    const uint32_t *of; /* per value: places of the program that look at it */
    uint32_t open;      /* such places of values on the trail, without those that were seen */
    uint32_t seen;
    uint32_t statements;
    bool written; /* the memory, perhaps */
    bool failed;  /* a place may look at it after that, or the trail is too long */
} trail;

/* Do writes to `w` change what `r` shows? */
static bool same_memory(const tp_kernel *k, uint32_t w, uint32_t r)
{
    return w == r || k->operands[w].alias == (int)r || k->operands[r].alias == (int)w;
}

/* ---- every place that looks at a value, in the order in which a statement does ---- */

typedef void (*looker)(void *ctx, tp_vid v);

static void look_through(const tp_kernel *k, const tp_access *a, looker look, void *ctx)
{
    for (uint32_t d = 0; a && d < k->operands[a->operand].ref_rank; d++)
        if (a->subs[d].kind != TP_SUB_FULL)
            look(ctx, a->subs[d].start);
}

/* Those of the statement itself, before it writes, and those after that. */
static void looks_before(const tp_kernel *k, const tp_statement *s, looker look, void *ctx)
{
    for (uint32_t a = 0; s->kind == TP_COMPUTE && a < s->inst->nargs; a++)
        look(ctx, s->inst->args[a]);
    if (s->kind == TP_COMPUTE)
        look_through(k, s->inst->access, look, ctx);
    if (s->kind == TP_LOOP) {
        look(ctx, s->lo);
        look(ctx, s->hi);
    }
    if (s->kind != TP_COMPUTE && s->kind != TP_LOOP && s->value >= 0)
        look(ctx, s->value);
    look_through(k, s->access, look, ctx);
}

static void looks_after(const tp_kernel *k, const tp_statement *s, looker look, void *ctx)
{
    look_through(k, s->from, look, ctx);
    look_through(k, s->semaphore, look, ctx);
    look_through(k, s->arrival, look, ctx);
    for (uint32_t i = 0; i < TP_MAX_MESH && s->device[i] >= 0; i++)
        look(ctx, s->device[i]);
}

/* ---- the trail of a load ---- */

static void on_trail(trail *t, tp_vid v)
{
    if (t->number[v])
        return;
    t->failed |= t->len == MOST_VALUES;
    if (t->failed)
        return;
    t->values[t->len++] = v;
    t->number[v] = t->len;
    t->open += t->of[v];
}

static void see(void *ctx, tp_vid v)
{
    trail *t = ctx;
    if (!t->number[v])
        return;
    t->seen++;
    t->open--;
    t->failed |= t->written;
}

/* It reads its arguments at once, and its result has memory of its own. */
static bool computes_at_once(const trail *t, const tp_inst *i)
{
    return (i->prim == TP_P_DOT && !(t->chosen && t->chosen[i->out])) || tp_prim_reduces(i->prim) ||
           tp_prim_scans(i->prim);
}

static void follow(trail *t, const tp_region *r, uint32_t from, bool nested)
{
    for (uint32_t n = from; n < r->len && !t->failed && (nested || t->open); n++) {
        const tp_statement *s = &r->at[n];
        uint32_t seen = t->seen;
        t->failed |= ++t->statements > LONGEST;
        looks_before(t->k, s, see, t);
        if (s->kind == TP_COMPUTE && t->seen > seen && !computes_at_once(t, s->inst))
            on_trail(t, s->inst->out);
        follow(t, &s->test, 0, true);
        follow(t, &s->body, 0, true);
        follow(t, &s->orelse, 0, true);
        t->written |=
            (tp_writes(s) && same_memory(t->k, s->access->operand, t->operand)) || tp_bounds_scope(s, t->operand);
        looks_after(t->k, s, see, t);
        bool turns = s->kind == TP_LOOP || s->kind == TP_WHILE;
        t->failed |= turns && t->written && t->seen > seen; /* in the next turn that is later */
    }
}

static void decide(trail *t, const tp_region *r, uint32_t at, bool *shows)
{
    const tp_inst *i = r->at[at].inst;
    trail fresh = {.k = t->k, .chosen = t->chosen, .operand = i->access->operand, .number = t->number, .of = t->of};
    *t = fresh;
    on_trail(t, i->out);
    follow(t, r, at + 1, false);
    shows[i->out] = !t->failed && !t->open;
    for (uint32_t v = 0; v < t->len; v++)
        t->number[t->values[v]] = 0;
}

static void each_load(trail *t, const tp_region *r, bool *shows)
{
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        if (s->kind == TP_COMPUTE && s->inst->prim == TP_P_LOAD && !s->inst->access->guarded)
            decide(t, r, n, shows);
        each_load(t, &s->test, shows);
        each_load(t, &s->body, shows);
        each_load(t, &s->orelse, shows);
    }
}

static void count(void *ctx, tp_vid v)
{
    ((uint32_t *)ctx)[v]++;
}

static void count_looks(const tp_kernel *k, const tp_region *r, uint32_t *of)
{
    for (uint32_t n = 0; n < r->len; n++) {
        looks_before(k, &r->at[n], count, of);
        looks_after(k, &r->at[n], count, of);
        count_looks(k, &r->at[n].test, of);
        count_looks(k, &r->at[n].body, of);
        count_looks(k, &r->at[n].orelse, of);
    }
}

void tp_shown_prepare(tp_machine *m)
{
    if (!tp_may_box(m) || (!m->domain && m->request->coverage))
        return;
    uint32_t n = m->k->body->values.len;
    uint32_t *of = TP_NEWN(m->arena, uint32_t, n);
    m->shows = TP_NEWN(m->arena, bool, n);
    count_looks(m->k, m->body, of);
    each_load(&(trail){.k = m->k, .chosen = m->chosen, .number = TP_NEWN(m->arena, uint32_t, n), .of = of}, m->body,
              m->shows);
}

/* ---- while the grid runs ---- */

bool tp_show_slice(tp_machine *m, const tp_inst *i, const tp_cells *ref, const tp_slice *s)
{
    tp_cells *out = &m->values[i->out];
    size_t own[TP_MAX_RANK], first = 0;
    ptrdiff_t stride[TP_MAX_RANK], pitch;
    if (!m->shows || !m->shows[i->out] || m->domain || s->cut || !out->n || !out->rank ||
        out->dims[out->rank - 1] != s->size[s->rank - 1])
        return false;
    tp_strides_of(ref, own);
    for (uint32_t d = 0; d < s->rank; d++) {
        stride[d] = s->size[d] > 1 ? (ptrdiff_t)own[d] * (ptrdiff_t)s->stride[d] : 0;
        first += own[d] * (size_t)s->start[d];
    }
    int64_t row = s->size[s->rank - 1];
    if ((row > 1 && stride[s->rank - 1] != 1) || !tp_one_pitch(s->rank, s->size, stride, &pitch))
        return false;
    bool line = pitch == (ptrdiff_t)row || out->n == (size_t)row;
    if (!line && row < tp_short_row(m))
        return false;
    out->state = TP_CLEAN;
    out->viewed = !line;
    out->flat_row = false;
    out->pitch = pitch;
    out->data = (char *)ref->data + first * tp_dtype_size(out->dtype);
    return true;
}
