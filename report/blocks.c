#include "base/checked.h"
#include "report/blocks.h"

static bool value(const tp_kernel *k, tp_expr e, const int64_t *env, int64_t *v)
{
    return tp_expr_eval(k->exprs, e, env, v) == TP_EVAL_OK;
}

/* Steps of the grid; -1: not known, or too many. */
static int64_t steps_of(const tp_kernel *k, const int64_t *env)
{
    int64_t all = 1, n;
    for (uint32_t a = 0; a < k->naxes; a++) {
        if (!value(k, k->axes[a].steps, env, &n) || n < 0 || n > TP_MAP_STEPS)
            return -1;
        all *= n;
        if (all > TP_MAP_STEPS)
            return -1;
    }
    return all;
}

/* Every size near n. */
static void set_sizes(const tp_kernel *k, int64_t n, int64_t *env)
{
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *s = &k->sizes[i];
        int64_t v = n < s->min ? s->min : n > s->max ? s->max : n;
        if (s->kind == TP_SIZE_CHOICE)
            env[s->sym] = s->choices[0];
        else if (s->kind == TP_SIZE_RANGE)
            env[s->sym] = v - v % s->multiple_of >= s->min ? v - v % s->multiple_of : tp_size_least(s);
    }
}

static void bind_contents(const tp_kernel *k, int64_t *env)
{
    for (uint32_t t = 0; t < k->ntables; t++)
        tp_bind_table(env, k->tables[t].sym, k->tables[t].contents);
}

static bool from_witness(const tp_spec_report *s, const tp_kernel *k, int64_t *env)
{
    for (uint32_t i = 0; i < s->findings.len; i++) {
        const tp_finding *f = &s->findings.at[i];
        if (f->verdict != TP_VIOLATED || f->suppressed || !f->witness || !f->witness->sizes.len)
            continue;
        set_sizes(k, 1, env);
        for (uint32_t b = 0; b < f->witness->sizes.len; b++) {
            const tp_size *z = tp_size_find(k, f->witness->sizes.at[b].name);
            if (z && (z->kind == TP_SIZE_RANGE || z->kind == TP_SIZE_CHOICE))
                env[z->sym] = f->witness->sizes.at[b].value;
        }
        return steps_of(k, env) > 1;
    }
    return false;
}

/* Can the blocks of every operand be drawn? */
static bool few_blocks(const tp_kernel *k, const int64_t *env)
{
    int64_t extent, width;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        for (uint32_t d = 0; d < k->operands[i].rank && !k->operands[i].whole; d++)
            if (value(k, k->operands[i].shape[d], env, &extent) &&
                value(k, k->operands[i].dims[d].block, env, &width) && width > 0 && extent / width >= TP_MAP_SIDE)
                return false;
    return true;
}

int64_t *tp_map_sizes(tp_arena *a, const tp_spec_report *s, tp_str *text)
{
    static const int64_t TRIED[] = {1000, 300, 100, 20, 4, 2, 1};
    const tp_kernel *k = s->spec->kernels[0];
    int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(k->exprs) + 1);
    tp_str why;
    bind_contents(k, env);
    bool found = from_witness(s, k, env);
    for (int any = 0; any < 2 && !found; any++) /* better without some pictures than without all */
        for (size_t i = 0; i < sizeof TRIED / sizeof *TRIED && !found; i++) {
            set_sizes(k, TRIED[i], env);
            found = steps_of(k, env) > 0 && tp_in_domain(k, env, &why) && (any || few_blocks(k, env));
        }
    tp_buf b = {.arena = a};
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (k->sizes[i].kind == TP_SIZE_RANGE || k->sizes[i].kind == TP_SIZE_CHOICE)
            tp_buf_printf(&b, "%s%.*s = %lld", b.n ? ", " : "", TP_FMT(k->sizes[i].name),
                          (long long)env[k->sizes[i].sym]);
    *text = tp_buf_view(&b);
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

bool tp_map_blocks(tp_arena *a, const tp_kernel *k, const tp_operand *o, int64_t *env, tp_block_map *map)
{
    int64_t blocks[TP_MAX_RANK], extent, width, index[TP_MAX_RANK], before[TP_MAX_RANK];
    uint32_t shown[2] = {0, 0};
    bool ragged[TP_MAX_RANK];
    if (o->whole || o->rank == 0 || tp_has_element_dims(o))
        return false;
    for (uint32_t d = 0; d < o->rank; d++) {
        if (!value(k, o->shape[d], env, &extent) || !value(k, o->dims[d].block, env, &width) || width < 1 || extent < 1)
            return false;
        tp_ceildiv(extent, width, &blocks[d]); /* of two positive ones: it is there */
        ragged[d] = extent % width != 0;
    }
    uint32_t n = shown_dimensions(o, blocks, shown);
    uint32_t column = shown[0] > shown[1] || n < 2 ? shown[0] : shown[1],
             row = n < 2 ? column : shown[0] + shown[1] - column;
    if (blocks[column] > TP_MAP_SIDE || (n == 2 && blocks[row] > TP_MAP_SIDE))
        return false;
    *map = (tp_block_map){.columns = (uint32_t)blocks[column], .rows = n < 2 ? 1 : (uint32_t)blocks[row]};
    map->ragged_column = ragged[column];
    map->ragged_row = n == 2 && ragged[row];
    map->first = TP_NEWN(a, uint32_t, map->rows * map->columns);
    map->visits = TP_NEWN(a, uint32_t, map->rows * map->columns);
    int64_t steps = steps_of(k, env);
    bool stays = false; /* in the block of the step before */
    for (int64_t s = 0; s < steps; s++) {
        bool inside = true, same = stays;
        set_step(k, env, s);
        for (uint32_t d = 0; d < o->rank; d++) {
            if (!value(k, o->dims[d].index, env, &index[d]))
                return false;
            inside &= index[d] >= 0 && index[d] < blocks[d];
            same &= index[d] == before[d];
        }
        memcpy(before, index, o->rank * sizeof *index);
        map->steps++;
        stays = inside;
        if (!inside) {
            map->outside++;
            continue;
        }
        uint32_t cell = (uint32_t)(n < 2 ? index[column] : index[row] * blocks[column] + index[column]);
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

bool tp_map_lanes(tp_arena *a, const tp_kernel *k, int64_t *env, tp_copies *l)
{
    int64_t steps = steps_of(k, env);
    uint32_t operands = k->ninputs + k->noutputs;
    bool known = true;
    if (steps < 1)
        return false;
    *l = (tp_copies){.steps = (uint64_t)steps, .shown = steps < TP_LANE_STEPS ? (uint32_t)steps : TP_LANE_STEPS};
    l->step = TP_NEWN(a, uint64_t, l->shown);
    l->copied = TP_NEWN(a, bool, (size_t)operands * l->shown);
    l->copies = TP_NEWN(a, uint64_t, operands);
    for (uint32_t i = 0; i < l->shown; i++) /* the last third are the last steps */
        l->step[i] = i < 2 * l->shown / 3 || l->steps == l->shown ? i + 1 : l->steps - l->shown + i + 1;
    for (uint32_t o = 0; o < operands && known; o++)
        for (int64_t s = 0; s < steps && known; s++) {
            const tp_operand *x = &k->operands[o];
            bool copied = x->role == TP_INPUT ? s == 0 || moves(k, x, env, s, &known)
                                              : s + 1 == steps || moves(k, x, env, s + 1, &known);
            l->copies[o] += copied;
            for (uint32_t i = 0; i < l->shown; i++)
                if (l->step[i] == (uint64_t)s + 1)
                    l->copied[o * l->shown + i] = copied;
        }
    return known;
}

double tp_padding_share(const tp_memory_row *m)
{
    return m->padded_bytes > 0 ? 1 - (double)m->data_bytes / (double)m->padded_bytes : 0;
}
