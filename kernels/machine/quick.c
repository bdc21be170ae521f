/* Operations on few elements, of which only the loop is left to do at each step: most statements of a body compute an
 * index, or a row. Where anything is not as usual, nothing is done here, and the long way says why. */
#include "base/assert.h"
#include "kernels/machine/internal.h"
#include "spec/table.h"

typedef enum quick_way { BY_LOOP = 1, BY_DIVISION, BY_LOAD, BY_VIEW, BY_TABLE, BY_AXIS, AT_ONCE } quick_way;

/* In one line of the cache. */
struct tp_quick {
    quick_way way; /* 0: none */
    bool ends;     /* it may be that nothing is left to do */
    const tp_inst *inst;
    tp_cells *out, *a, *b; /* its result, and arguments of a loop; NULL: it has one argument */
    tp_loop loop;
    tp_due due;
};

enum { FEW = 2048 }; /* more may wait for who looks at them */

static tp_loop loop_of(const tp_machine *m, const tp_inst *i, bool divides)
{
    const tp_cells *out = &m->values[i->out];
    if (!tp_prim_is_elementwise(i->prim) || i->nargs < 1 || i->nargs > 2 || !out->n ||
        out->n >= (m->request->strip ? 2 : FEW) || m->fixed[i->out] != TP_VARIES)
        return NULL;
    for (uint32_t a = 0; a < i->nargs; a++)
        if (m->values[i->args[a]].n != 1 && !tp_same_shape(&m->values[i->args[a]], out))
            return NULL;
    tp_dtype d = m->values[i->args[0]].dtype;
    if (!divides)
        return tp_elementwise_loop(i->prim, d);
    return m->values[i->args[1]].n == 1 ? tp_division_loop(i->prim, d) : NULL;
}

static tp_quick quick_of(const tp_machine *m, const tp_inst *i)
{
    size_t n = m->values[i->out].n;
    for (uint32_t a = 0; a < i->nargs; a++)
        n += m->values[i->args[a]].n;
    tp_quick q = {.inst = i, .out = &m->values[i->out], .due = {tp_work_of(m, i), 8 + (int64_t)n / 32}};
    bool divides = i->nargs && tp_prim_divides(i->prim) && !tp_is_float(m->values[i->args[0]].dtype);
    bool number = q.out->dtype == TP_F32 || q.out->dtype == TP_F64 || q.out->n == 1;
    q.loop = number || !divides ? loop_of(m, i, divides) : NULL;
    q.ends = m->fixed[i->out] != TP_VARIES || (m->repeats && m->repeats[i->out]);
    q.a = q.loop ? &m->values[i->args[0]] : NULL;
    q.b = q.loop && i->nargs > 1 ? &m->values[i->args[1]] : NULL;
    bool floats = tp_is_float(m->values[i->out].dtype) && m->fixed[i->out] == TP_VARIES;
    if (q.loop && number) /* of others the range may be enough */
        q.way = divides ? BY_DIVISION : BY_LOOP;
    else if (i->prim == TP_P_LOAD && !i->nargs && !i->access->guarded)
        q.way = BY_LOAD;
    else if (floats && (i->prim == TP_P_BROADCAST || i->prim == TP_P_SLICE))
        q.way = BY_VIEW;
    else if (floats && !m->added[i->out] && !m->chosen[i->out] && (i->prim == TP_P_DOT || tp_prim_reduces(i->prim)))
        q.way = AT_ONCE;
    else if (i->prim == TP_P_READ || i->prim == TP_P_PROGRAM_ID)
        q.way = i->prim == TP_P_READ ? BY_TABLE : BY_AXIS;
    return q;
}

static void find(tp_machine *m, const tp_region *r)
{
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        if (tp_computed(s)) {
            m->quick[s->inst->out] = quick_of(m, s->inst);
            m->due[s->inst->out] = m->quick[s->inst->out].due;
        }
        find(m, &s->test);
        find(m, &s->body);
        find(m, &s->orelse);
    }
}

void tp_quick_prepare(tp_machine *m)
{
    if (!tp_may_defer(m) || m->joined || m->request->counts)
        return;
    m->quick = TP_NEWN(m->arena, tp_quick, m->k->body->values.len);
    m->due = TP_NEWN(m->arena, tp_due, m->k->body->values.len);
    m->charged = tp_arena_budget(m->arena) || m->request->max_work;
    find(m, m->body);
}

static bool is_there(const tp_cells *c)
{
    return !c->waits && c->state == TP_CLEAN;
}

/* The entry of a table; false: there is none, or an index is another kind of integer. */
static bool look_up(const tp_machine *m, const tp_inst *i, int64_t *entry)
{
    const tp_table_data *d = tp_bound_table(m->env, m->k->tables[i->integer].sym);
    int64_t at = 0;
    for (uint32_t x = 0; x < i->nargs; x++) {
        const tp_cells *c = &m->values[i->args[x]];
        if (c->state != TP_CLEAN || c->dtype != TP_I32)
            return false;
        int64_t index = *(const int32_t *)c->data;
        if (index < 0 || index >= (x ? d->dims[x] : d->readable))
            return false;
        at = at * d->dims[x] + index;
    }
    *entry = d->at[at];
    return true;
}

const tp_quick *tp_quick_of(const tp_machine *m, const tp_inst *i)
{
    return m->quick && i->out >= 0 ? &m->quick[i->out] : NULL;
}

bool tp_quick_ends(const tp_machine *m, const tp_inst *i)
{
    return m->quick && i->out >= 0 && m->quick[i->out].ends;
}

static void account(tp_machine *m, const tp_quick *q)
{
    tp_quick_pay(m, q->due);
    tp_assert(!q->out->waits);
    q->out->ranged = false;
    q->out->spared = 0;
}

static void begin(tp_machine *m, const tp_quick *q)
{
    account(m, q);
    q->out->state = TP_CLEAN;
    q->out->viewed = false;
    q->out->data = q->out->own;
}

/* An operand of rows of so many elements. */
typedef struct side {
    const void *data;
    ptrdiff_t pitch; /* bytes from a row to the next */
    bool one;        /* a row is one element */
} side;

static side side_of(const tp_cells *c, size_t row)
{
    ptrdiff_t size = (ptrdiff_t)tp_dtype_size(c->dtype);
    if (c->n == 1)
        return (side){c->data, 0, row != 1};
    return (side){c->data, (c->viewed ? c->pitch : (ptrdiff_t)row) * size, c->viewed && c->flat_row};
}

/* Are the arguments of its loop there? */
static bool may_loop(const tp_quick *q)
{
    return is_there(q->a) && (!q->b || is_there(q->b));
}

static void run_loop(const tp_quick *q)
{
    const tp_cells *a = q->a, *b = q->b;
    const tp_cells *out = q->out;
    if (out->n == 1) {
        q->loop(&TP_ONE_ROW, 1, a->data, false, b ? b->data : NULL, false, out->data);
        return;
    }
    bool rows = a->viewed || (b && b->viewed);
    size_t row = rows && out->rank ? (size_t)out->dims[out->rank - 1] : out->n, n = out->n / row;
    side x = side_of(a, row), y = b ? side_of(b, row) : (side){NULL, 0, false};
    tp_rows of = {n, x.pitch, y.pitch, (ptrdiff_t)(row * tp_dtype_size(out->dtype))};
    q->loop(rows ? &of : &TP_ONE_ROW, row, x.data, x.one, y.data, y.one, out->data);
}

static bool by_loop(tp_machine *m, const tp_quick *q)
{
    if (!may_loop(q) || (q->way == BY_DIVISION && *(const int32_t *)q->b->data == 0))
        return false;
    begin(m, q);
    run_loop(q);
    return true;
}

bool tp_quick_settles(tp_machine *m, tp_vid v)
{
    const tp_quick *q = m->quick ? &m->quick[v] : NULL;
    if (!q || !q->loop || q->way == BY_DIVISION || q->inst != q->out->waits || !may_loop(q))
        return false;
    tp_end_waiting(m, q->out);
    q->out->viewed = false;
    q->out->data = q->out->own;
    run_loop(q);
    return true;
}

static bool by_view(tp_machine *m, const tp_quick *q)
{
    if (!is_there(&m->values[q->inst->args[0]]) || !tp_view(m, q->inst))
        return false;
    account(m, q);
    return true;
}

tp_quickly tp_quick_exec(tp_machine *m, const tp_quick *q)
{
    int64_t entry;
    if (q->ends && tp_quick_is_there(m, q->inst)) {
        tp_quick_pay(m, q->due);
        return TP_DONE;
    }
    switch (q->way) {
    case BY_LOOP:
    case BY_DIVISION: return by_loop(m, q) ? TP_DONE : TP_NOT_QUICK;
    case BY_VIEW: return by_view(m, q) ? TP_DONE : TP_NOT_QUICK;
    case BY_LOAD: begin(m, q); return TP_LOAD_NOW;
    case AT_ONCE: account(m, q); return TP_COMPUTE_NOW;
    case BY_TABLE:
        if (!look_up(m, q->inst, &entry))
            return TP_NOT_QUICK;
        begin(m, q);
        *(int32_t *)q->out->data = (int32_t)entry;
        return TP_DONE;
    case BY_AXIS:
        begin(m, q);
        *(int32_t *)q->out->data = (int32_t)m->env[m->k->axes[q->inst->integer].sym];
        return TP_DONE;
    }
    return TP_NOT_QUICK;
}
