/* Operations that work element by element wait until somebody looks at the result. Then all that wait for each other
 * are computed together, strip by strip, so that what only they look at never leaves the first cache. Each element is
 * computed as it would be without waiting: the order of operations on it is the same. */
#include "base/assert.h"
#include "base/stream.h"
#include "base/strided.h"
#include "kernels/machine/internal.h"

enum {
    STRIP = 2048,     /* elements computed together: some strips of float32 share a first cache of 32 KiB */
    SHORT_ROW = 32,   /* rows of less than a 32nd of a strip: some at a time */
    WORTH_IT = STRIP, /* values of fewer elements are in the first cache anyway */
    MOST_PARTS = 2 * TP_MOST_WAITING + 2 /* a tree of three-way choices has twice as many leaves as inner nodes */
};

/* A value that the group reads or computes. */
typedef struct part {
    tp_vid value;
    const tp_inst *inst; /* NULL: it is read */
    tp_loop loop;        /* of inst, where it has one */
    uint32_t args[3];    /* parts */
    uint32_t looks;      /* places in the group that look at it, or at what is the same, */
    uint32_t through;    /* ... places anywhere that look at what is the same, but for one each */
    bool spared;         /* some of these are decided without it, as far as is known */
    uint32_t last;       /* ... the last of these parts */
    bool kept;           /* computed, and looked at elsewhere */
    bool linked;         /* computed in the pass of the part that looks at it, */
    uint32_t links;      /* ... for which it is so many of such steps; 0: it has a pass of its own kind */
    bool gathered;       /* read, short rows that do not lie side by side */
    bool single, same;   /* one element for all; each row is like the first, which then is all that is computed */
    ptrdiff_t ahead;     /* read: bytes from there to what is asked for; 0: nothing */
    char *to;            /* kept: its first element; else the buffer, NULL where it is looked at where it lies */
    size_t size;         /* of an element */
    tp_cells strip;      /* its elements of the strip at hand */
    ptrdiff_t pitch;     /* ... of several rows that do not lie side by side: bytes from one to the next, */
    bool by_rows;        /* ... and whether it is of that kind */
} part;

struct tp_group {
    part at[MOST_PARTS];
    uint32_t len;
    uint32_t *number;          /* per value: 1 + its part, or 0 */
    uint64_t *seen, round;     /* per value: the last walk that came to it, of so many */
    char *buffers[MOST_PARTS]; /* of a strip each; allocated on first use */
};

static size_t strip_of(const tp_machine *m)
{
    return m->request->strip ? m->request->strip : STRIP;
}

enum { NOT_KNOWN, IS_PURE, NOT_PURE };

static bool note_pure(const tp_statement *s, void *machine)
{
    tp_machine *m = machine;
    if (tp_computed(s))
        m->pure[s->inst->out] = tp_is_pure(m, s->inst) ? IS_PURE : NOT_PURE;
    return false;
}

void tp_fuse_prepare(tp_machine *m)
{
    if (!tp_may_defer(m))
        return;
    m->pure = TP_NEWN(m->arena, uint8_t, m->k->body->values.len);
    tp_region_any(m->body, note_pure, m);
    m->group = TP_NEW(m->arena, tp_group);
    m->group->number = TP_NEWN(m->arena, uint32_t, m->k->body->values.len);
    m->group->seen = TP_NEWN(m->arena, uint64_t, m->k->body->values.len);
    if (!m->uses)
        tp_uses_count(m);
    tp_sums_prepare(m);
}

bool tp_is_pure(const tp_machine *m, const tp_inst *i)
{
    tp_dtype from = i->nargs ? m->values[i->args[0]].dtype : TP_BOOL, to = m->values[i->out].dtype;
    if (m->pure && m->pure[i->out] != NOT_KNOWN)
        return m->pure[i->out] == IS_PURE;
    if (i->prim == TP_P_CAST)
        return from != TP_WEAK_INT && (tp_is_float(from) ? tp_is_float(to) : true);
    if (tp_prim_divides(i->prim))
        return tp_is_float(from);
    return i->prim == TP_P_WHERE || tp_prim_is_elementwise(i->prim);
}

bool tp_fuse_may_wait(const tp_machine *m, const tp_inst *i)
{
    return m->group && i->out >= 0 && m->fixed[i->out] == TP_VARIES && tp_is_pure(m, i);
}

bool tp_fuse_defers(tp_machine *m, const tp_inst *i)
{
    if (!tp_fuse_may_wait(m, i))
        return false;
    tp_cells *out = &m->values[i->out];
    uint32_t n = tp_count_waiting(m, i);
    if (out->n < (m->request->strip ? 2 : WORTH_IT) || n > TP_MOST_WAITING)
        return false;
    for (uint32_t a = 0; a < i->nargs; a++)
        if (m->values[i->args[a]].state != TP_CLEAN || m->assigned[i->args[a]])
            return false;
    out->state = TP_CLEAN;
    tp_begin_waiting(m, out, i, n);
    return true;
}

/* The value that v is, lane for lane, if it is that of another; -1: it is its own, for all that is known. */
static tp_vid next_same(const tp_machine *m, tp_vid v)
{
    const tp_inst *i = m->values[v].waits;
    int which = i && tp_is_pure(m, i) ? tp_same_as_argument(m, i) : -1;
    return which < 0 ? -1 : i->args[which];
}

/* The value that v is, lane for lane, by masks that are decided: what no lane chooses need not be computed. */
static tp_vid same_value(const tp_machine *m, tp_vid v)
{
    for (tp_vid next; (next = next_same(m, v)) >= 0;)
        v = next;
    return v;
}

/* Places that look at v beside one, those left out that are decided without. */
static uint32_t more_looks(const tp_machine *m, tp_vid v)
{
    uint32_t spared = 1 + m->values[v].spared;
    return m->uses[v] > spared ? m->uses[v] - spared : 0;
}

static bool joins(const tp_machine *m, const tp_cells *c, const tp_cells *shape)
{
    return c->waits && tp_is_pure(m, c->waits) && tp_same_shape(c, shape);
}

/* Does this walk come to v for the first time? */
static bool is_new(tp_group *g, tp_vid v)
{
    bool new = g->seen[v] != g->round;
    g->seen[v] = g->round;
    return new;
}

/* Compute what the group reads and what waits for something else; true if there was any. */
static bool settle_leaves(tp_machine *m, const tp_cells *shape, tp_vid v)
{
    v = same_value(m, v);
    const tp_cells *c = &m->values[v];
    if (!c->waits || !is_new(m->group, v))
        return false;
    if (!joins(m, c, shape)) {
        tp_settle(m, v);
        return true;
    }
    bool any = false;
    for (uint32_t a = 0; a < c->waits->nargs; a++)
        any |= tp_product_of_rows(m, c->waits, a) || settle_leaves(m, shape, c->waits->args[a]);
    return any;
}

/* The part of v, behind those of its arguments. */
static uint32_t collect(tp_machine *m, tp_vid v)
{
    tp_group *g = m->group;
    uint32_t through = 0;
    bool spared = false;
    for (tp_vid next; (next = next_same(m, v)) >= 0; v = next)
        if (is_new(g, v)) {
            through += more_looks(m, v);
            spared |= m->values[v].spared != 0;
        }
    if (g->number[v]) {
        part *there = &g->at[g->number[v] - 1];
        there->through += through;
        there->spared |= spared;
        return g->number[v] - 1;
    }
    const tp_inst *i = m->values[v].waits;
    uint32_t args[3];
    for (uint32_t a = 0; i && a < i->nargs; a++)
        args[a] = collect(m, i->args[a]);
    tp_assert(g->len < MOST_PARTS);
    part *p = &g->at[g->len];
    p->value = v;
    p->inst = i;
    p->looks = p->last = 0;
    p->through = through;
    p->spared = spared || m->values[v].spared;
    for (uint32_t a = 0; i && a < i->nargs; a++) {
        p->args[a] = args[a];
        g->at[args[a]].looks++;
        g->at[args[a]].last = g->len;
    }
    g->len++;
    return (g->number[v] = g->len) - 1;
}

/* ---- where the strips lie ---- */

static char *buffer(tp_machine *m, uint32_t slot)
{
    enum { LINE = 64, LONGEST = 8 };
    char **at = &m->group->buffers[slot];
    if (!*at) /* of odd lengths: not all in the same lines of the cache */
        *at = tp_alloc_array(m->arena, (strip_of(m) * LONGEST + (slot % 8 + 1) * LINE), 1);
    return *at;
}

/* Where a group goes: to cells, to somebody who reads it row by row, or both. */
typedef struct sink {
    const tp_cells *to; /* of the group's shape; without data: they need not stay */
    bool streams;       /* past the caches, */
    bool at_once;       /* ... as it is computed; else by way of a buffer */
    bool again;         /* it goes on waiting: who looks at it later computes it again */
    tp_row_reader read; /* NULL: nobody */
    void *ctx;
} sink;

/* ---- parts that are computed in one pass ---- */

static bool links(const tp_machine *m, const part *p)
{
    tp_link_does unused;
    return p->inst && tp_link_of(p->inst->prim, &unused) && m->values[p->value].dtype == TP_F32;
}

/* Is the part linked to the one that looks at it? Then what it reads is read until `last`. */
static bool joins_pass(const tp_machine *m, part *p)
{
    return links(m, p) && !p->kept && p->looks == 1 && m->values[p->value].n > 1;
}

static void link_part(tp_group *g, part *p, uint32_t last)
{
    p->linked = true;
    for (uint32_t a = 0; a < p->inst->nargs; a++) {
        part *arg = &g->at[p->args[a]];
        arg->last = arg->last > last ? arg->last : last;
    }
}

/* Link what can be to part `root`, from `p` on; steps of the pass, of which there are so many so far. One side may be a
 * chain of such parts, and the other, beside it, one operation on values that are there. */
static uint32_t link_from(tp_machine *m, part *p, uint32_t root, uint32_t steps)
{
    tp_group *g = m->group;
    part *x = &g->at[p->args[0]], *y = &g->at[p->args[1]];
    if (x == y)
        return steps + 2;
    bool left = joins_pass(m, x), right = joins_pass(m, y);
    if (steps + 5 > TP_MOST_LINKS || (!left && !right))
        return steps + 2;
    if (left && right) {
        link_part(g, y, root);
        steps += 2;
    }
    part *chain = left ? x : y;
    link_part(g, chain, root);
    return link_from(m, chain, root, steps + 1);
}

static void find_links(tp_machine *m, const sink *s)
{
    tp_group *g = m->group;
    for (uint32_t k = g->len; k-- > 0;) {
        part *p = &g->at[k];
        p->links = 0;
        if (!links(m, p) || p->linked)
            continue;
        uint32_t steps = link_from(m, p, k, 0);
        p->links = steps > 2 || (s->at_once && k + 1 == g->len) ? steps : 0;
    }
}

/* Which parts ask for what lies ahead of them. */
static void find_leaders(tp_machine *m)
{
    const tp_cells *read[MOST_PARTS];
    part *of[MOST_PARTS];
    uint32_t n = 0;
    for (part *p = m->group->at; p < m->group->at + m->group->len; p++) {
        p->ahead = 0;
        if (p->inst)
            continue;
        read[n] = &m->values[p->value];
        of[n++] = p;
    }
    for (uint32_t k = 0; k < n; k++)
        of[k]->ahead = tp_ahead_of(read, n, k);
}

/* What is the same in each row, once all that is kept is known. Short rows are computed some at a time in any case. */
static void find_same(const tp_machine *m, bool short_rows)
{
    tp_group *g = m->group;
    for (part *p = g->at; p < g->at + g->len; p++) {
        const tp_cells *c = &m->values[p->value];
        bool computed = p->inst && !p->kept && !p->linked;
        p->single = p->inst ? computed : tp_is_single(c);
        p->same = p->inst ? computed : c->viewed && !c->flat_row && c->pitch == 0;
        for (uint32_t a = 0; p->inst && a < p->inst->nargs; a++) {
            p->single &= g->at[p->args[a]].single;
            p->same &= g->at[p->args[a]].single || g->at[p->args[a]].same;
        }
        p->same &= !p->single && !short_rows;
    }
}

/* Results that are looked at elsewhere go to their own memory, all else to buffers, each free again after its last
 * reader. The last one goes to the sink. */
static void place_parts(tp_machine *m, bool short_rows, const sink *s)
{
    tp_group *g = m->group;
    uint32_t spare[MOST_PARTS], nspare = 0, slot[MOST_PARTS];
    for (uint32_t b = MOST_PARTS; b-- > 0;)
        spare[nspare++] = b;
    for (uint32_t k = 0; k < g->len; k++) {
        part *p = &g->at[k];
        p->linked = false;
        p->kept = p->inst && (k + 1 == g->len || m->fixed[p->value] != TP_VARIES ||
                              m->uses[p->value] + p->through > p->looks + m->values[p->value].spared);
    }
    find_links(m, s);
    find_same(m, short_rows);
    for (uint32_t k = 0; k < g->len; k++) {
        part *p = &g->at[k];
        const tp_cells *c = &m->values[p->value];
        p->size = tp_dtype_size(c->dtype);
        p->strip.dtype = c->dtype; /* all else of it is 0 */
        p->strip.n = tp_is_single(c) ? 1 : c->n;
        p->strip.data = c->data;
        p->loop = p->inst && tp_prim_is_elementwise(p->inst->prim)
                      ? tp_elementwise_loop(p->inst->prim, m->values[p->inst->args[0]].dtype)
                      : NULL;
        p->gathered = !p->inst && c->viewed && short_rows && !tp_is_single(c);
        bool buffered = p->gathered || (p->inst && !p->kept && !p->linked) ||
                        (k + 1 == g->len && (!s->to->data || (s->streams && !s->at_once)));
        p->to = p->kept ? c->own : NULL;
        if (buffered)
            p->to = buffer(m, slot[k] = spare[--nspare]);
        for (uint32_t a = 0; p->inst && a < p->inst->nargs; a++) {
            part *arg = &g->at[p->args[a]];
            bool again = false; /* the same part twice: free it once */
            for (uint32_t b = 0; b < a; b++)
                again |= p->args[b] == p->args[a];
            if (arg->last == k && !again && (arg->gathered || (arg->inst && !arg->kept && !arg->linked)))
                spare[nspare++] = slot[p->args[a]];
        }
    }
}

/* Some elements of each value: those from `from` on, which is element `at` of row `line`. */
typedef struct strip {
    size_t from, n, row, line, at;
} strip;

/* The strip of what is read: where it lies, or some rows side by side. */
static void read_strip(const tp_cells *c, part *p, const strip *t)
{
    p->by_rows = false;
    if (tp_is_single(c))
        return;
    p->strip.n = t->n;
    if (!c->viewed) {
        p->strip.data = (char *)c->data + t->from * p->size;
        return;
    }
    p->pitch = c->pitch * (ptrdiff_t)p->size;
    const char *first = (const char *)c->data + (ptrdiff_t)t->line * p->pitch;
    if (p->gathered) {
        int64_t dims[2] = {(int64_t)(t->n / t->row), (int64_t)t->row};
        tp_move(p->size, 2, dims, p->to, (ptrdiff_t[]){(ptrdiff_t)t->row, 1}, first,
                (ptrdiff_t[]){c->pitch, !c->flat_row});
        p->strip.data = p->to;
        return;
    }
    p->by_rows = t->n > t->row;
    if (c->flat_row)
        p->strip.n = 1;
    p->strip.data = tp_writable(c->flat_row ? first : first + t->at * p->size);
}

static void repeat_first(const tp_cells *c, size_t n)
{
    size_t size = tp_dtype_size(c->dtype);
    int64_t rest = (int64_t)n - 1;
    tp_move(size, 1, &rest, (char *)c->data + size, (ptrdiff_t[]){1}, c->data, (ptrdiff_t[]){0});
}

/* The operation of p once for some elements, which lie side by side or are one for all; it has no loop of its own. */
static void compute_side_by_side(const part *p, tp_cells *out, const tp_cells *const *args)
{
    const tp_inst *i = p->inst;
    if (i->prim == TP_P_WHERE)
        tp_choose_numbers(out, args[0], args[1], args[2]);
    else if (i->prim == TP_P_CAST)
        tp_convert_numbers(out, args[0]);
    else
        tp_elementwise_numbers(i, out, args[0], args[1]);
}

/* Bytes from a row of the strip to the next. */
static ptrdiff_t step_of(const part *p, size_t row)
{
    return p->by_rows ? p->pitch : p->strip.n == 1 ? 0 : (ptrdiff_t)(row * p->size);
}

/* Some whole rows, of which not all lie side by side. */
static void compute_rows(tp_group *g, part *p, size_t row, size_t n)
{
    const part *of[3] = {NULL, NULL, NULL};
    tp_cells out = p->strip, from[3];
    const tp_cells *args[3] = {NULL, NULL, NULL};
    ptrdiff_t step = step_of(p, row), steps[3];
    bool flat = true;
    for (uint32_t a = 0; a < p->inst->nargs; a++) {
        of[a] = &g->at[p->args[a]];
        from[a] = of[a]->strip;
        from[a].n = of[a]->strip.n == 1 ? 1 : row;
        steps[a] = step_of(of[a], row);
        args[a] = &from[a];
        flat &= from[a].n == 1;
    }
    out.n = flat ? 1 : row;
    for (size_t r = 0; r < n / row; r++) {
        compute_side_by_side(p, &out, args);
        if (flat)
            repeat_first(&out, row);
        out.data = (char *)out.data + step;
        for (uint32_t a = 0; a < p->inst->nargs; a++)
            from[a].data = (char *)from[a].data + steps[a];
    }
}

/* The loop of p over the strip, once for all rows. */
static void run_loop(const tp_group *g, part *p, size_t row)
{
    bool two = p->inst->nargs > 1;
    const part *x = &g->at[p->args[0]], *y = two ? &g->at[p->args[1]] : x;
    size_t n = p->strip.n;
    bool one_x = x->strip.n == 1, one_y = y->strip.n == 1, constant = one_x && one_y;
    const void *of_y = two ? y->strip.data : NULL;
    if (p->by_rows || x->by_rows || y->by_rows) {
        tp_rows rows = {n / row, step_of(x, row), two ? step_of(y, row) : 0, step_of(p, row)};
        p->loop(&rows, row, x->strip.data, one_x, of_y, two && one_y, p->strip.data);
        return;
    }
    if (constant) /* once for all elements of the strip */
        p->strip.n = 1;
    p->loop(&TP_ONE_ROW, p->strip.n, x->strip.data, one_x && !constant, of_y, two && one_y && !constant, p->strip.data);
    if (constant && p->kept)
        repeat_first(&p->strip, n);
}

/* A step of a pass that reads x, row by row. */
static tp_link read_link(tp_link_does does, const part *x, size_t row, bool *by_rows)
{
    *by_rows |= x->by_rows;
    return (tp_link){does, x->strip.n == 1, x->strip.data, step_of(x, row), x->ahead};
}

/* The steps of p, and of what is linked to it, in order; how many there are. */
static uint32_t lay_links(const tp_group *g, const part *p, size_t row, tp_link *to, bool *by_rows)
{
    const part *x = &g->at[p->args[0]], *y = &g->at[p->args[1]];
    tp_link_does right, of_term;
    uint32_t n = 0;
    tp_link_of(p->inst->prim, &right);
    if (!x->linked && y->linked) {
        n = lay_links(g, y, row, to, by_rows);
        to[n++] = read_link(right + TP_LINK_LEFT, x, row, by_rows);
        return n;
    }
    if (x->linked)
        n = lay_links(g, x, row, to, by_rows);
    else
        to[n++] = read_link(TP_LINK_SUM, x, row, by_rows);
    if (!y->linked) {
        to[n++] = read_link(right, y, row, by_rows);
        return n;
    }
    tp_link_of(y->inst->prim, &of_term);
    to[n++] = read_link(TP_LINK_TERM, &g->at[y->args[0]], row, by_rows);
    to[n++] = read_link(of_term + TP_LINK_OF_TERM, &g->at[y->args[1]], row, by_rows);
    to[n++] = (tp_link){.does = right + TP_LINK_BOTH};
    return n;
}

static void run_links(const tp_group *g, const part *p, size_t row, bool streams)
{
    tp_link all[TP_MOST_LINKS];
    bool by_rows = p->by_rows;
    uint32_t n = lay_links(g, p, row, all, &by_rows);
    tp_assert(n == p->links);
    size_t length = by_rows ? row : p->strip.n;
    tp_links_run(all, n, p->strip.n / length, length, p->strip.data, step_of(p, row), streams);
}

/* For what lies ahead of the strip; passes of links ask beside their work. */
static void ask_ahead(const part *p, size_t row)
{
    if (!p->ahead)
        return;
    size_t length = p->by_rows ? row : p->strip.n;
    tp_ahead a = {.n = 1};
    a.part[0] =
        (tp_ahead_part){(const char *)p->strip.data + p->ahead, p->pitch, p->strip.n / length, length * p->size};
    tp_ahead_ask(&a, SIZE_MAX);
}

static void compute_strip(tp_group *g, part *p, size_t row, bool streams)
{
    if (p->linked)
        return;
    if (p->links) {
        run_links(g, p, row, streams);
        return;
    }
    for (uint32_t a = 0; a < p->inst->nargs; a++)
        ask_ahead(&g->at[p->args[a]], row);
    if (p->loop) {
        run_loop(g, p, row);
        return;
    }
    const tp_inst *i = p->inst;
    const tp_cells *args[3] = {NULL, NULL, NULL};
    size_t n = p->strip.n;
    bool constant = true, by_rows = p->by_rows;
    for (uint32_t a = 0; a < i->nargs; a++) {
        args[a] = &g->at[p->args[a]].strip;
        constant &= args[a]->n == 1;
        by_rows |= g->at[p->args[a]].by_rows;
    }
    if (by_rows) {
        compute_rows(g, p, row, n);
        return;
    }
    if (constant)
        p->strip.n = 1;
    compute_side_by_side(p, &p->strip, args);
    if (constant && p->kept)
        repeat_first(&p->strip, n);
}

/* Where the strip of the last part goes. */
static void place_last(part *p, const tp_cells *to, const strip *t)
{
    p->by_rows = to->viewed && t->n > t->row;
    p->pitch = to->pitch * (ptrdiff_t)p->size;
    p->strip.data = (char *)to->data + (to->viewed ? (ptrdiff_t)t->line * p->pitch + (ptrdiff_t)(t->at * p->size)
                                                   : (ptrdiff_t)(t->from * p->size));
}

/* The strip of the last part from its buffer to where it goes. */
static void stream_strip(const part *p, const tp_cells *to, const strip *t)
{
    part at = *p;
    place_last(&at, to, t);
    size_t row = (at.by_rows ? t->row : t->n) * p->size;
    for (size_t r = 0; r < t->n * p->size; r += row, at.strip.data = (char *)at.strip.data + at.pitch)
        tp_stream(at.strip.data, (const char *)p->to + r, row);
}

static void run_strip(tp_machine *m, const sink *s, const strip *t)
{
    tp_group *g = m->group;
    part *last = &g->at[g->len - 1];
    for (part *p = g->at; p <= last; p++) {
        if (!p->inst) {
            read_strip(&m->values[p->value], p, t);
            continue;
        }
        p->strip.n = t->n;
        p->by_rows = false;
        p->strip.data = p->kept ? p->to + t->from * p->size : p->to;
        if (p == last && s->to->data && (!s->streams || s->at_once))
            place_last(p, s->to, t);
        else if (p == last)
            p->strip.data = p->to;
        bool once = p->same && t->n > t->row;
        if (once)
            p->strip.n = t->row;
        compute_strip(g, p, t->row, p == last && s->at_once);
        if (once) {
            p->by_rows = true;
            p->pitch = 0;
        }
    }
    if (s->streams && !s->at_once)
        stream_strip(last, s->to, t);
    for (size_t at = 0, some, rows; s->read && at < t->n; at += some * rows) {
        size_t first = (t->at + at) % t->row;
        some = t->row - first < t->n - at ? t->row - first : t->n - at;
        rows = some == t->row ? (t->n - at) / some : 1;
        s->read(s->ctx, t->line + (t->at + at) / t->row, first, (const char *)last->strip.data + at * last->size, some,
                rows);
    }
}

static bool reads_rows(const tp_machine *m)
{
    bool any = false;
    for (const part *p = m->group->at; p < m->group->at + m->group->len; p++)
        any |= !p->inst && m->values[p->value].viewed && !tp_is_single(&m->values[p->value]);
    return any;
}

/* A strip is a piece of a row, or some rows, where what is read or written does not lie side by side. */
static void run_group(tp_machine *m, const sink *s)
{
    const tp_cells *to = s->to;
    size_t row = to->rank ? (size_t)to->dims[to->rank - 1] : 1, most = strip_of(m), n;
    bool rows = to->viewed || reads_rows(m), short_rows = rows && !to->viewed && SHORT_ROW * row <= most,
         whole_rows = row <= most && (rows || s->read);
    find_leaders(m);
    place_parts(m, short_rows, s);
    for (size_t from = 0; from < to->n; from += n) {
        n = to->n - from < most ? to->n - from : most;
        if (whole_rows)
            n -= n % row;
        else if ((rows || s->read) && n > row - from % row)
            n = row - from % row;
        tp_ahead_beside(m, n);
        run_strip(m, s, &(strip){from, n, row, from / row, from % row});
    }
}

/* Does it compute as much as it reads? If not, it waits for memory all the time, and nothing is left to write beside.
 */
static bool computes_enough(const tp_machine *m)
{
    uint32_t read = 0, computed = 0;
    for (const part *p = m->group->at; p < m->group->at + m->group->len; p++) {
        const tp_cells *c = &m->values[p->value];
        bool again = c->viewed && (c->flat_row || c->pitch == 0); /* one row, or one element of each, is in the cache */
        computed += p->inst != NULL;
        read += !p->inst && !again && c->n == m->values[m->group->at[m->group->len - 1].value].n;
    }
    return computed >= read;
}

/* Is the last part of the group a pass of links over whole lines? */
static bool streams_at_once(const tp_machine *m, const tp_cells *to)
{
    bool rows = to->viewed || reads_rows(m); /* then pieces begin where rows do */
    size_t row = rows ? (size_t)to->dims[to->rank - 1] : to->n;
    ptrdiff_t pitch = to->viewed ? to->pitch * (ptrdiff_t)sizeof(float) : 0;
    return links(m, &m->group->at[m->group->len - 1]) && tp_links_stream(to->data, row, pitch) &&
           tp_links_stream(to->data, strip_of(m), pitch);
}

/* Compute v, which waits, to the sink; what else is looked at later to where it belongs. */
static void compute_group(tp_machine *m, tp_vid v, const sink *s)
{
    tp_group *g = m->group;
    g->round++;
    collect(m, v);
    sink to = *s;
    to.streams &= computes_enough(m);
    to.at_once = to.streams && streams_at_once(m, s->to);
    run_group(m, &to);
    for (uint32_t k = 0; k < g->len; k++) {
        part *p = &g->at[k];
        tp_cells *c = &m->values[p->value];
        bool elsewhere = k + 1 == g->len && s->to->data != c->own, stays = p->kept && !elsewhere;
        g->number[p->value] = 0;
        bool again = p->spared || m->fixed[p->value] != TP_VARIES || /* a mask's, in time; a later step's */
                     (s->again && k + 1 == g->len);
        if (!p->inst || (!stays && again))
            continue;
        tp_end_waiting(m, c);
        if (!stays) /* nobody looks at it again */
            continue;
        c->data = c->own;
        c->viewed = false;
    }
    g->len = 0;
}

/* Make the group of v one of which every other value is there; false: v is none. */
static bool gather_group(tp_machine *m, tp_vid v)
{
    const tp_cells *c = &m->values[v];
    if (!m->group || !joins(m, c, c) || same_value(m, v) != v)
        return false;
    do
        m->group->round++;
    while (settle_leaves(m, c, v));
    return c->waits && same_value(m, v) == v;
}

bool tp_fuse_settles(tp_machine *m, tp_vid v)
{
    if (!gather_group(m, v))
        return false;
    tp_cells own = m->values[v];
    own.data = own.own;
    own.viewed = false;
    compute_group(m, v, &(sink){.to = &own});
    return true;
}

/* Does anything that the group would read lie where `to` does? Not if each element may lie where its own does. */
static bool overlaps(const tp_machine *m, tp_vid v, const tp_cells *to, bool in_place)
{
    v = same_value(m, v);
    const tp_cells *c = &m->values[v];
    if (!is_new(m->group, v))
        return false;
    if (c->waits) {
        bool any = false;
        for (uint32_t a = 0; a < c->waits->nargs; a++)
            any |= overlaps(m, c->waits->args[a], to, in_place);
        return any;
    }
    bool same = in_place && c->data == to->data && !c->viewed && !to->viewed && tp_same_shape(c, to) &&
                tp_dtype_size(c->dtype) == tp_dtype_size(to->dtype);
    return !same && tp_overlap(c, to);
}

bool tp_fuse_disturbs(tp_machine *m, tp_vid v, const tp_cells *to)
{
    if (!gather_group(m, v))
        return true;
    m->group->round++;
    return overlaps(m, v, to, true);
}

bool tp_fuse_stores(tp_machine *m, tp_vid v, tp_cells *to, bool streams)
{
    const tp_cells *c = &m->values[v];
    if (!tp_same_shape(c, to) || c->dtype != to->dtype || !c->waits || !m->group || m->uses[v] != 1 ||
        !gather_group(m, v))
        return false;
    m->group->round++;
    if (overlaps(m, v, to, false))
        return false;
    compute_group(m, v, &(sink){.to = to, .streams = streams});
    to->state = TP_CLEAN;
    return true;
}

/* Is it one operation on what is there, and too long for the first cache? Then to keep it costs more than to compute it
 * again. */
static bool costs_little(const tp_machine *m, tp_vid v)
{
    const tp_cells *c = &m->values[v];
    tp_link_does unused;
    bool one = c->waits && c->dtype == TP_F32 && c->n > 4 * strip_of(m) && tp_link_of(c->waits->prim, &unused);
    for (uint32_t a = 0; one && a < 2; a++)
        one = !m->values[c->waits->args[a]].waits;
    return one;
}

bool tp_fuse_reads(tp_machine *m, tp_vid v, size_t multiple, tp_row_reader read, void *ctx)
{
    const tp_cells *c = &m->values[v];
    if (!m->group || !c->waits || !c->rank || (strip_of(m) % multiple && (size_t)c->dims[c->rank - 1] > strip_of(m)))
        return false;
    tp_vid is = same_value(m, v);
    if (!m->values[is].waits || !gather_group(m, is))
        return false;
    tp_cells to = m->values[is];
    bool stays = more_looks(m, is) > 0, again = v == is && stays && costs_little(m, is);
    for (tp_vid w = v; w != is; w = next_same(m, w))
        stays |= more_looks(m, w) > 0;
    to.data = stays && !again ? to.own : NULL;
    to.viewed = false;
    compute_group(m, v, &(sink){.to = &to, .again = again, .read = read, .ctx = ctx});
    return true;
}
