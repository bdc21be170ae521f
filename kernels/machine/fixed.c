/* What needs no computing at each step: values that do not depend on it, and masks that are all true or all false by
 * the range of the integers in them. Both only save time; work is counted as if everything were computed. */
#include "base/checked.h"
#include "kernels/machine/internal.h"

/* ---- values that do not depend on the step ---- */

static bool looks_outside(tp_prim p)
{
    return p == TP_P_LOAD || p == TP_P_MASKED_LOAD || p == TP_P_PROGRAM_ID || p == TP_P_READ || p == TP_P_VARIABLE;
}

static void find_fixed(tp_machine *m, const tp_region *r)
{
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        if (tp_computed(s)) {
            bool fixed = !looks_outside(s->inst->prim);
            for (uint32_t a = 0; a < s->inst->nargs; a++)
                fixed &= m->fixed[s->inst->args[a]] != TP_VARIES;
            m->fixed[s->inst->out] = fixed ? TP_TO_BE_FIXED : TP_VARIES;
            m->assigned[s->inst->out] = s->inst->prim == TP_P_VARIABLE;
        }
        find_fixed(m, &s->test);
        find_fixed(m, &s->body);
        find_fixed(m, &s->orelse);
    }
}

void tp_fixed_prepare(tp_machine *m)
{
    uint32_t n = m->k->body->values.len;
    m->fixed = TP_NEWN(m->arena, uint8_t, n);
    m->assigned = TP_NEWN(m->arena, bool, n);
    for (uint32_t v = 0; v < n; v++) /* sizes and constants, which no statement computes */
        m->fixed[v] = m->k->body->values.at[v].dtype == TP_WEAK_INT && !m->k->body->values.at[v].variable ? TP_IS_FIXED
                                                                                                          : TP_VARIES;
    find_fixed(m, m->body);
    for (uint32_t v = 0; v < n; v++)
        m->assigned[v] |= m->k->body->values.at[v].variable;
}

/* Of a fixed value of integers. */
static void find_range(tp_cells *c)
{
    if (c->dtype != TP_I32 || !c->n || c->state != TP_CLEAN || c->waits || c->viewed)
        return;
    const int32_t *at = c->data;
    int32_t lo = at[0], hi = at[0];
    for (size_t e = 1; e < c->n; e++) {
        lo = at[e] < lo ? at[e] : lo;
        hi = at[e] > hi ? at[e] : hi;
    }
    c->ranged = true;
    c->lo = lo;
    c->hi = hi;
}

void tp_fixed_note(tp_machine *m, const tp_inst *i)
{
    tp_cells *c = &m->values[i->out];
    if (m->fixed[i->out] != TP_TO_BE_FIXED || c->state != TP_CLEAN || (c->waits && c->ranged))
        return; /* what waits with a range may be computed inside of a strip, and nowhere be kept */
    m->fixed[i->out] = TP_IS_FIXED;
    find_range(c);
}

bool tp_is_fixed(const tp_machine *m, const tp_inst *i)
{
    return m->fixed[i->out] == TP_IS_FIXED &&
           (!m->domain || (!tp_is_float(m->values[i->out].dtype) && !m->values[i->out].meaning.plane[0]));
}

/* ---- ranges ---- */

/* False: nothing is known, or the value may be another when it is looked at again. */
static bool range_of(const tp_machine *m, tp_vid v, int64_t *lo, int64_t *hi)
{
    const tp_cells *c = &m->values[v];
    if (c->state != TP_CLEAN || m->assigned[v] || (c->dtype != TP_I32 && c->dtype != TP_BOOL))
        return false;
    if (c->n == 1 && !c->waits) {
        *lo = *hi = tp_get_i64(c->dtype, c->data, 0);
        return true;
    }
    *lo = c->lo;
    *hi = c->hi;
    return c->ranged;
}

/* Of two ranges: 1: surely, 0: surely not, -1: that depends on the lane. */
static int compare(tp_prim p, const int64_t *a, const int64_t *b)
{
    switch (p) {
    case TP_P_LT: return a[1] < b[0] ? 1 : a[0] >= b[1] ? 0 : -1;
    case TP_P_LE: return a[1] <= b[0] ? 1 : a[0] > b[1] ? 0 : -1;
    case TP_P_GT: return a[0] > b[1] ? 1 : a[1] <= b[0] ? 0 : -1;
    case TP_P_GE: return a[0] >= b[1] ? 1 : a[1] < b[0] ? 0 : -1;
    case TP_P_EQ: return a[1] < b[0] || a[0] > b[1] ? 0 : a[0] == a[1] && b[0] == b[1] && a[0] == b[0] ? 1 : -1;
    case TP_P_NE: return a[1] < b[0] || a[0] > b[1] ? 1 : a[0] == a[1] && b[0] == b[1] && a[0] == b[0] ? 0 : -1;
    case TP_P_ADD:
    case TP_P_SUB:
    case TP_P_MUL:
    case TP_P_DIV:
    case TP_P_FLOORDIV:
    case TP_P_MOD:
    case TP_P_LAX_DIV:
    case TP_P_LAX_REM:
    case TP_P_POW:
    case TP_P_MAXIMUM:
    case TP_P_MINIMUM:
    case TP_P_AND:
    case TP_P_OR:
    case TP_P_XOR:
    case TP_P_SHL:
    case TP_P_SHR:
    case TP_P_SHR_LOGICAL:
#define UNARY(id, ...) case TP_P_##id:
#define STRUCT(id, ...) case TP_P_##id:
#include "spec/prims.def"
    case TP_PRIMS: break;
    }
    return -1;
}

/* The range of the result of `p`; false where it says nothing that anybody asks for. */
static bool combine(tp_prim p, tp_dtype d, const int64_t *a, const int64_t *b, int64_t *out)
{
    bool bits = d == TP_BOOL;
    int decided;
    switch (p) {
    case TP_P_BROADCAST:
    case TP_P_RESHAPE: out[0] = a[0], out[1] = a[1]; return true;
    case TP_P_ADD: out[0] = a[0] + b[0], out[1] = a[1] + b[1]; break;
    case TP_P_SUB: out[0] = a[0] - b[1], out[1] = a[1] - b[0]; break;
    case TP_P_AND: out[0] = a[0] & b[0], out[1] = a[1] & b[1]; return bits && out[0] == out[1];
    case TP_P_OR: out[0] = a[0] | b[0], out[1] = a[1] | b[1]; return bits && out[0] == out[1];
    case TP_P_LT:
    case TP_P_LE:
    case TP_P_GT:
    case TP_P_GE:
    case TP_P_EQ:
    case TP_P_NE:
        decided = compare(p, a, b);
        out[0] = out[1] = decided;
        return decided >= 0;
    case TP_P_MUL:
    case TP_P_DIV:
    case TP_P_FLOORDIV:
    case TP_P_MOD:
    case TP_P_LAX_DIV:
    case TP_P_LAX_REM:
    case TP_P_POW:
    case TP_P_MAXIMUM:
    case TP_P_MINIMUM:
    case TP_P_XOR:
    case TP_P_SHL:
    case TP_P_SHR:
    case TP_P_SHR_LOGICAL:
    case TP_P_TRANSPOSE:
    case TP_P_CONCATENATE:
    case TP_P_SLICE:
    case TP_P_PAD:
    case TP_P_TILE:
    case TP_P_REPEAT:
    case TP_P_ROLL:
    case TP_P_FLIP:
    case TP_P_TAKE:
    case TP_P_DYNAMIC_SLICE:
    case TP_P_DYNAMIC_UPDATE:
#define UNARY(id, ...) case TP_P_##id:
#define MOVE(...)
#define STRUCT(id, ...) case TP_P_##id:
#include "spec/prims.def"
    case TP_PRIMS: return false;
    }
    return !bits && out[0] >= INT32_MIN && out[1] <= INT32_MAX; /* no lane wraps */
}

/* Its numbers are often looked at by masks alone, which their range decides. */
static bool counts_later(tp_machine *m, const tp_inst *i)
{
    tp_cells *out = &m->values[i->out];
    if (i->prim != TP_P_IOTA || !tp_may_defer(m) || out->dtype != TP_I32 || out->n <= 1 ||
        out->dims[i->integer] > INT32_MAX)
        return false;
    out->state = TP_CLEAN;
    out->ranged = true;
    out->lo = 0;
    out->hi = (int32_t)(out->dims[i->integer] - 1);
    tp_begin_waiting(m, out, i, 1);
    return true;
}

bool tp_range_decides(tp_machine *m, const tp_inst *i)
{
    if (counts_later(m, i))
        return true;
    int64_t a[2], b[2] = {0, 0}, r[2] = {0, 0};
    if (!tp_may_defer(m) || i->out < 0 || i->nargs < 1 || i->nargs > 2)
        return false;
    tp_cells *out = &m->values[i->out];
    uint32_t waiting = tp_count_waiting(m, i);
    if (out->n <= 1 || waiting > TP_MOST_WAITING || (out->dtype != TP_I32 && out->dtype != TP_BOOL) ||
        !range_of(m, i->args[0], &a[0], &a[1]) || (i->nargs > 1 && !range_of(m, i->args[1], &b[0], &b[1])) ||
        !combine(i->prim, m->values[i->args[0]].dtype, a, b, r))
        return false;
    out->state = TP_CLEAN;
    out->ranged = true;
    out->lo = (int32_t)r[0];
    out->hi = (int32_t)r[1];
    tp_begin_waiting(m, out, i, waiting);
    for (uint32_t n = 0; n < i->nargs && out->dtype == TP_BOOL; n++)
        m->values[i->args[n]].spared++;
    return true;
}

int tp_decide_mask(const tp_machine *m, tp_vid v)
{
    const tp_cells *c = &m->values[v];
    return c->dtype == TP_BOOL && c->waits && c->ranged && c->lo == c->hi ? c->lo : -1;
}
