#include "base/checked.h"
#include "report/blocks.h"

#include "cost/cost.h"
#include "cost/text.h"

static bool value(const tp_kernel *k, tp_expr e, const int64_t *env, int64_t *v)
{
    return tp_expr_eval(k->exprs, e, env, v) == TP_EVAL_OK;
}

/* Steps of the grid; -1: not known, or so many that a few more are beyond 2^63. */
static int64_t all_steps(const tp_kernel *k, const int64_t *env)
{
    int64_t all = 1, n;
    for (uint32_t a = 0; a < k->naxes; a++)
        if (!value(k, k->axes[a].steps, env, &n) || n < 0 || !tp_mul(all, n, &all) || all > INT64_MAX / 2)
            return -1;
    return all;
}

/* The same; -1: too many to walk. */
static int64_t steps_of(const tp_kernel *k, const int64_t *env)
{
    int64_t all = all_steps(k, env);
    return all <= TP_MAP_STEPS ? all : -1;
}

/* Near n. */
static void set_size(const tp_size *s, int64_t n, int64_t *env)
{
    int64_t v = n < s->min ? s->min : n > s->max ? s->max : n;
    env[s->sym] = v - v % s->multiple_of >= s->min ? v - v % s->multiple_of : tp_size_least(s);
}

static void set_sizes(const tp_kernel *k, int64_t n, int64_t *env)
{
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (k->sizes[i].kind == TP_SIZE_CHOICE)
            env[k->sizes[i].sym] = k->sizes[i].choices[0];
        else if (k->sizes[i].kind == TP_SIZE_RANGE)
            set_size(&k->sizes[i], n, env);
}

static void bind_contents(const tp_kernel *k, int64_t *env)
{
    for (uint32_t t = 0; t < k->ntables; t++)
        tp_bind_table(env, k->tables[t].sym, k->tables[t].contents);
}

void tp_sizes_of_witness(const tp_kernel *k, const tp_witness *w, int64_t *env)
{
    bind_contents(k, env);
    set_sizes(k, 1, env);
    tp_bind_sizes(k, w, env);
}

static bool from_witness(const tp_spec_report *s, const tp_kernel *k, int64_t *env)
{
    for (uint32_t i = 0; i < s->findings.len; i++) {
        const tp_finding *f = &s->findings.at[i];
        if (f->verdict != TP_VIOLATED || f->suppressed || !f->witness || !f->witness->sizes.len)
            continue;
        tp_sizes_of_witness(k, f->witness, env);
        return steps_of(k, env) > 1;
    }
    return false;
}

/* How much there is to see in so many blocks, or steps, in a row: several tell more than one, and many are no picture.
 */
static int interest(int64_t n)
{
    static const int OF[] = {0, 0, 4, 6, 6, 6, 3, 3, 3};
    return n < (int64_t)(sizeof OF / sizeof *OF) ? OF[n] : n < 13 ? 1 : n <= TP_MAP_SIDE ? 0 : -20;
}

/* Of the pictures at these sizes; -1: there are none. */
static int worth(const tp_kernel *k, const int64_t *env)
{
    enum { ENOUGH_STEPS = 60, RAGGED = 3, BASE = 10000 };
    int64_t n, extent, width, steps = steps_of(k, env);
    int all = BASE;
    tp_str why;
    if (steps < 1 || !tp_in_domain(k, env, &why))
        return -1;
    for (uint32_t x = 0; x < k->naxes; x++)
        all += value(k, k->axes[x].steps, env, &n) ? interest(n) : 0;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        for (uint32_t d = 0; d < k->operands[i].rank && !k->operands[i].whole; d++)
            if (value(k, k->operands[i].shape[d], env, &extent) &&
                value(k, k->operands[i].dims[d].block, env, &width) && width > 0 && tp_ceildiv(extent, width, &n))
                all += interest(n) + (n > 1 && extent % width ? RAGGED : 0);
    return all - (steps > ENOUGH_STEPS ? 5 : 0);
}

/* Size by size the value with most to see. */
static bool climb(const tp_kernel *k, int64_t *env)
{
    static const int64_t STARTS[] = {300, 1000, 100, 20, 4, 2, 1},
                         TRIED[] = {1,   2,   3,   4,   5,   6,   8,    12,   20,   33,   48,   68,   100, 136,
                                    200, 260, 300, 400, 520, 680, 1000, 1300, 2100, 2600, 4100, 5200, 8300};
    int best = -1;
    for (size_t i = 0; i < sizeof STARTS / sizeof *STARTS && best < 0; i++) {
        set_sizes(k, STARTS[i], env);
        best = worth(k, env);
    }
    for (int round = 0; round < 2 && best >= 0; round++)
        for (uint32_t i = 0; i < k->nsizes; i++) {
            const tp_size *z = &k->sizes[i];
            for (size_t t = 0; t < sizeof TRIED / sizeof *TRIED && z->kind == TP_SIZE_RANGE; t++) {
                int64_t before = env[z->sym];
                set_size(z, TRIED[t], env);
                int now = worth(k, env);
                if (now > best)
                    best = now;
                else
                    env[z->sym] = before;
            }
        }
    return best >= 0;
}

/* Does the spec leave open what some table holds? */
static bool has_open_tables(const tp_kernel *k)
{
    bool open = false;
    for (uint32_t t = 0; t < k->ntables; t++)
        open |= !k->tables[t].contents;
    return open;
}

/* Where tables decide and the spec does not say what they hold, a case that was run knows. */
static bool from_case(const tp_spec_report *s, const tp_kernel *k, int64_t *env)
{
    int best = -1;
    for (uint32_t i = 0; has_open_tables(k) && s->equiv && i < s->equiv->cases.len; i++) {
        const tp_case *c = s->equiv->cases.at[i].the_case;
        int now = c->kernel == k ? worth(k, c->env) : -1;
        if (now <= best)
            continue;
        best = now;
        memcpy(env, c->env, k->nsyms * sizeof *env);
    }
    return best >= 0;
}

/* There are many steps at any sizes: few as they may be. */
static bool take_long(const tp_kernel *k, int64_t *env)
{
    static const int64_t STARTS[] = {1, 8, 128, 1024};
    tp_str why;
    for (size_t i = 0; i < sizeof STARTS / sizeof *STARTS && !has_open_tables(k); i++) {
        set_sizes(k, STARTS[i], env);
        if (tp_in_domain(k, env, &why) && all_steps(k, env) > 0)
            return true;
    }
    return false;
}

int64_t *tp_map_sizes(tp_arena *a, const tp_spec_report *s, tp_str *text)
{
    const tp_kernel *k = s->spec->kernels[0];
    int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(k->exprs) + 1);
    bind_contents(k, env);
    bool found = from_witness(s, k, env) || from_case(s, k, env), chosen = false;
    if (!found && climb(k, env)) {
        found = true;
        chosen = has_open_tables(k) && tp_tables_of_seed(a, k, env, NULL, 0, 1);
    }
    found = found || take_long(k, env);
    *text = tp_sizes_text(a, k, env);
    if (chosen)
        *text = tp_printf(a, "%.*s%stables by chance", TP_FMT(*text), text->n ? ", " : "");
    return found ? env : NULL;
}

/* The two dimensions with most to see: the last ones of more than one block. */
static uint32_t shown_dimensions(const tp_operand *o, const int64_t *blocks, uint32_t *shown)
{
    uint32_t n = 0;
    for (uint32_t d = o->rank; d-- > 0 && n < 2;)
        if (blocks[d] > 1)
            shown[n++] = d;
    for (uint32_t d = o->rank; d-- > 0 && n < 2;)
        if (blocks[d] <= 1)
            shown[n++] = d;
    return n;
}

static void set_step(const tp_kernel *k, int64_t *env, int64_t step)
{
    for (uint32_t x = k->naxes; x-- > 0;) {
        int64_t n = 1;
        value(k, k->axes[x].steps, env, &n);
        env[k->axes[x].sym] = step % n;
        step /= n;
    }
}

size_t tp_map_cell(const tp_block_map *m, uint32_t slice, int64_t row, int64_t column)
{
    return ((size_t)slice * (m->rows + 2) + (size_t)(row + 1)) * (m->columns + 2) + (size_t)(column + 1);
}

tp_visits tp_map_visits(const tp_block_map *m)
{
    tp_visits n = {.blocks = (uint64_t)m->shown * m->rows * m->columns};
    for (uint32_t i = 0; i < m->shown; i++)
        for (uint32_t r = 0; r < m->rows; r++)
            for (uint32_t c = 0; c < m->columns; c++) {
                uint32_t v = m->visits[tp_map_cell(m, i, r, c)];
                n.never += v == 0;
                n.again += v > 1;
                n.all += v;
                n.most = v > n.most ? v : n.most;
            }
    return n;
}

/* The dimensions of an operand as they are drawn. */
typedef struct layout {
    int64_t blocks[TP_MAX_RANK];
    double padding[TP_MAX_RANK];
    uint32_t row, column;
    bool flat; /* there is one dimension */
} layout;

static bool lay_out(const tp_kernel *k, const tp_operand *o, const int64_t *env, layout *l)
{
    int64_t extent, width;
    uint32_t shown[2] = {0, 0};
    for (uint32_t d = 0; d < o->rank; d++) {
        if (!value(k, o->shape[d], env, &extent) || !value(k, o->dims[d].block, env, &width) || width < 1 || extent < 1)
            return false;
        tp_ceildiv(extent, width, &l->blocks[d]); /* of two positive ones: it is there */
        l->padding[d] = extent % width ? 1 - (double)(extent % width) / (double)width : 0;
    }
    l->flat = shown_dimensions(o, l->blocks, shown) < 2;
    l->column = shown[0] > shown[1] || l->flat ? shown[0] : shown[1];
    l->row = l->flat ? l->column : shown[0] + shown[1] - l->column;
    return l->blocks[l->column] <= TP_MAP_SIDE && (l->flat || l->blocks[l->row] <= TP_MAP_SIDE);
}

static bool is_drawn(const layout *l, uint32_t d)
{
    return d == l->column || (d == l->row && !l->flat);
}

/* "[2, :, :]" */
static tp_str slice_title(tp_arena *a, const tp_operand *o, const layout *l, uint32_t slice)
{
    int64_t at[TP_MAX_RANK] = {0};
    for (uint32_t d = o->rank; d-- > 0;)
        if (!is_drawn(l, d)) {
            at[d] = slice % l->blocks[d];
            slice = (uint32_t)(slice / l->blocks[d]);
        }
    tp_buf b = {.arena = a};
    for (uint32_t d = 0; d < o->rank; d++)
        if (is_drawn(l, d))
            tp_buf_printf(&b, "%s:", d ? ", " : "[");
        else
            tp_buf_printf(&b, "%s%lld", d ? ", " : "[", (long long)at[d]);
    tp_buf_c(&b, "]");
    return tp_buf_view(&b);
}

static bool map_of(tp_arena *a, const tp_operand *o, const layout *l, tp_block_map *map)
{
    int64_t slices = 1;
    for (uint32_t d = 0; d < o->rank; d++)
        if (!is_drawn(l, d) && (!tp_mul(slices, l->blocks[d], &slices) || slices > UINT32_MAX))
            return false;
    *map = (tp_block_map){.columns = (uint32_t)l->blocks[l->column],
                          .rows = l->flat ? 1 : (uint32_t)l->blocks[l->row],
                          .slices = (uint32_t)slices,
                          .shown = slices < TP_MAP_SLICES ? (uint32_t)slices : TP_MAP_SLICES,
                          .column_padding = l->padding[l->column],
                          .row_padding = l->flat ? 0 : l->padding[l->row]};
    size_t cells = tp_map_cell(map, map->shown, -1, -1);
    map->first = TP_NEWN(a, uint32_t, cells);
    map->visits = TP_NEWN(a, uint32_t, cells);
    map->title = TP_NEWN(a, tp_str, map->shown);
    for (uint32_t i = 0; i < map->shown && slices > 1; i++)
        map->title[i] = slice_title(a, o, l, i);
    return true;
}

static int64_t onto_rim(int64_t index, uint32_t blocks)
{
    return index < 0 ? -1 : index > blocks ? blocks : index;
}

/* The slice that holds the block; UINT32_MAX: none that is there. */
static uint32_t slice_of(const tp_block_map *m, const tp_operand *o, const layout *l, const int64_t *index)
{
    int64_t slice = 0;
    for (uint32_t d = 0; d < o->rank; d++) {
        if (is_drawn(l, d))
            continue;
        if (index[d] < 0 || index[d] >= l->blocks[d])
            return UINT32_MAX;
        slice = slice * l->blocks[d] + index[d];
    }
    return slice < m->shown ? (uint32_t)slice : UINT32_MAX;
}

bool tp_map_blocks(tp_arena *a, const tp_kernel *k, const tp_operand *o, int64_t *env, tp_block_map *map)
{
    int64_t index[TP_MAX_RANK], before[TP_MAX_RANK];
    layout l;
    if (o->whole || o->rank == 0 || tp_has_element_dims(o) || !lay_out(k, o, env, &l) || !map_of(a, o, &l, map))
        return false;
    int64_t steps = steps_of(k, env);
    if (steps < 0)
        return false;
    for (int64_t s = 0; s < steps; s++) {
        bool inside = true, same = s > 0; /* in the block of the step before */
        set_step(k, env, s);
        for (uint32_t d = 0; d < o->rank; d++) {
            if (!value(k, o->dims[d].index, env, &index[d]))
                return false;
            inside &= index[d] >= 0 && index[d] < l.blocks[d];
            same &= s > 0 && index[d] == before[d];
        }
        memcpy(before, index, o->rank * sizeof *index);
        map->steps++;
        map->outside += !inside;
        uint32_t slice = slice_of(map, o, &l, index);
        if (slice == UINT32_MAX)
            continue;
        size_t cell = tp_map_cell(map, slice, l.flat ? 0 : onto_rim(index[l.row], map->rows),
                                  onto_rim(index[l.column], map->columns));
        if (!map->first[cell])
            map->first[cell] = (uint32_t)s + 1;
        map->visits[cell] += !same;
    }
    return true;
}

/* Is the block of o another one in `step` than in the step before? */
static bool moves(const tp_kernel *k, const tp_operand *o, int64_t *env, int64_t step, bool *known)
{
    int64_t before[TP_MAX_RANK], now;
    bool moved = false;
    set_step(k, env, step - 1);
    for (uint32_t d = 0; d < o->rank && !o->whole; d++)
        *known &= value(k, o->dims[d].index, env, &before[d]);
    set_step(k, env, step);
    for (uint32_t d = 0; d < o->rank && !o->whole && *known; d++) {
        *known &= value(k, o->dims[d].index, env, &now);
        moved |= now != before[d];
    }
    return moved;
}

uint32_t tp_window_lead(const tp_operand *o)
{
    return o->buffers < 2 ? 0 : o->role == TP_INPUT ? (uint32_t)o->buffers - 1 : 1;
}

int64_t tp_step_in_slot(const tp_copies *l, int64_t slot)
{
    return slot < 0 ? slot : slot < l->shown ? (int64_t)l->step[slot] - 1 : (int64_t)l->steps + slot - l->shown;
}

static bool is_kept(const tp_copies *l, int64_t step, uint64_t *at)
{
    uint64_t s = (uint64_t)step, last = l->kept - l->first;
    if (step < 0 || s >= l->steps || (s >= l->first && s < l->steps - last))
        return false;
    *at = s < l->first ? s : l->first + s - (l->steps - last);
    return true;
}

uint32_t tp_copied_for(const tp_copies *l, uint32_t operand, int64_t step)
{
    uint64_t at;
    return is_kept(l, step, &at) ? l->copied[operand * l->kept + at] : 0;
}

uint64_t tp_run_of(const tp_copies *l, uint32_t operand, int64_t step)
{
    uint64_t at;
    return is_kept(l, step, &at) ? l->run[operand * l->kept + at] : 0;
}

static uint64_t kept_step(const tp_copies *l, uint64_t at)
{
    return at < l->first ? at : l->steps - l->kept + at;
}

/* Copies of windows, step by step. `all`: of all steps, which the kept ones alone do not tell. False: an index is not
 * known. */
static bool map_windows(const tp_kernel *k, int64_t *env, uint32_t operand, uint64_t all, tp_copies *l)
{
    const tp_operand *x = &k->operands[operand];
    bool known = true, input = x->role == TP_INPUT;
    uint32_t *copied = &l->copied[operand * l->kept];
    uint64_t *run = &l->run[operand * l->kept], before = 0;
    for (uint64_t at = 0; at < l->kept && known; at++) {
        int64_t s = (int64_t)kept_step(l, at);
        copied[at] = input ? s == 0 || moves(k, x, env, s, &known)
                           : s + 1 == (int64_t)l->steps || moves(k, x, env, s + 1, &known);
        run[at] = input ? before + copied[at] - 1 : before;
        before += copied[at];
    }
    l->copies[operand] = l->kept == l->steps ? before : all;
    for (uint64_t at = l->kept; at-- > l->first && l->kept < l->steps;) /* the last window is the last one */
        run[at] = at + 1 == l->kept ? all - 1 : run[at + 1] - copied[input ? at + 1 : at];
    return known;
}

/* What the body copies. */
static void map_far(tp_cost *cost, const tp_kernel *k, int64_t *env, uint32_t operand, int64_t *work, tp_copies *l)
{
    for (uint64_t at = 0; at < l->kept && l->counted[operand]; at++) {
        set_step(k, env, (int64_t)kept_step(l, at));
        tp_cost_count n = tp_cost_step_copies(cost, env, operand, work);
        l->counted[operand] = n.known && n.n >= 0 && n.n <= UINT32_MAX;
        l->copied[operand * l->kept + at] = l->counted[operand] ? (uint32_t)n.n : 0;
        l->copies[operand] += l->kept == l->steps ? l->copied[operand * l->kept + at] : 0;
    }
}

/* Copies of all steps, where they are not walked. */
static bool count_all(const tp_operand_cost *x, uint64_t *all)
{
    *all = x->fetches.known && x->writes.known ? (uint64_t)x->fetches.n + (uint64_t)x->writes.n : 0;
    return x->fetches.known && x->writes.known;
}

static void new_lanes(tp_arena *a, const tp_kernel *k, uint64_t steps, tp_copies *l)
{
    uint32_t operands = k->ninputs + k->noutputs;
    bool few = steps <= TP_MAP_STEPS;
    *l = (tp_copies){.steps = steps,
                     .first = few ? steps : TP_LANE_ENDS,
                     .kept = few ? steps : 2 * TP_LANE_ENDS,
                     .shown = steps < TP_LANE_STEPS ? (uint32_t)steps : TP_LANE_STEPS,
                     .lead = 1};
    l->step = TP_NEWN(a, uint64_t, l->shown);
    l->copied = TP_NEWN(a, uint32_t, (size_t)operands * l->kept);
    l->run = TP_NEWN(a, uint64_t, (size_t)operands * l->kept);
    l->copies = TP_NEWN(a, uint64_t, operands);
    l->counted = TP_NEWN(a, bool, operands);
    for (uint32_t i = 0; i < l->shown; i++) /* the last third are the last steps */
        l->step[i] = i < 2 * l->shown / 3 || l->steps == l->shown ? i + 1 : l->steps - l->shown + i + 1;
}

bool tp_map_lanes(tp_arena *a, const tp_kernel *k, int64_t *env, tp_copies *l)
{
    int64_t steps = all_steps(k, env), work = TP_COST_GLANCE;
    bool counted = steps > TP_MAP_STEPS;
    if (steps < 1)
        return false;
    new_lanes(a, k, (uint64_t)steps, l);
    for (uint32_t o = 0; o < k->ninputs + k->noutputs; o++)
        counted |= tp_is_far(&k->operands[o]);
    tp_cost *cost = counted ? tp_cost_new(a, k) : NULL;
    tp_cost_numbers n = {0};
    if (l->kept < l->steps)
        n = tp_cost_at(cost, a, &(tp_cost_request){.env = env, .work = TP_COST_GLANCE});
    for (uint32_t o = 0; o < k->ninputs + k->noutputs; o++) {
        const tp_operand *x = &k->operands[o];
        uint64_t all = 0;
        l->counted[o] = !n.noperands || count_all(&n.operands[o], &all);
        l->copies[o] = all;
        if (tp_is_far(x))
            map_far(cost, k, env, o, &work, l);
        else if (!l->counted[o] || (l->kept < l->steps && !all) || tp_window_lead(x) > TP_LANE_ENDS / 2 ||
                 !map_windows(k, env, o, all, l))
            return false;
        else if (x->role == TP_INPUT && tp_window_lead(x) > l->lead)
            l->lead = tp_window_lead(x);
    }
    return true;
}

double tp_padding_share(const tp_memory_row *m)
{
    return m->padded_bytes > 0 ? 1 - (double)m->data_bytes / (double)m->padded_bytes : 0;
}
