/* Finding the parts of a kernel by their names. */
#include "spec/kernel.h"

const tp_size *tp_size_find(const tp_kernel *k, tp_str name)
{
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (tp_str_eq(k->sizes[i].name, name))
            return &k->sizes[i];
    return NULL;
}

int tp_axis_find(const tp_kernel *k, tp_str name)
{
    for (uint32_t i = 0; i < k->naxes; i++)
        if (tp_str_eq(k->axes[i].name, name))
            return (int)i;
    return -1;
}

int tp_table_find(const tp_kernel *k, tp_str name)
{
    for (uint32_t i = 0; i < k->ntables; i++)
        if (tp_str_eq(k->tables[i].name, name))
            return (int)i;
    return -1;
}

int tp_operand_find(const tp_kernel *k, tp_str name)
{
    for (uint32_t i = 0; i < tp_noperands(k); i++)
        if (tp_str_eq(k->operands[i].name, name))
            return (int)i;
    return -1;
}

const tp_named_number *tp_named_number_find(const tp_kernel *k, tp_str name)
{
    for (uint32_t i = 0; i < k->nconstants; i++)
        if (tp_str_eq(k->constants[i].name, name))
            return &k->constants[i];
    return NULL;
}

tp_expr tp_shards_of(const tp_kernel *k, const tp_operand *o, uint32_t d)
{
    tp_expr n = tp_const(k->exprs, 1);
    for (uint32_t i = 0; i < o->rank; i++)
        if (tp_is_cut(o, i) && o->global_dim[i] == d)
            n = tp_op2(k->exprs, TP_E_MUL, n, o->shape[i]);
    return n;
}

const tp_operand *tp_part_of_device(tp_arena *a, const tp_operand *o)
{
    if (!o->global_shape)
        return o;
    tp_operand *part = TP_NEW(a, tp_operand);
    *part = *o;
    part->shape = TP_NEWN(a, tp_expr, o->global_rank);
    part->dims = TP_NEWN(a, tp_dim, o->global_rank);
    part->rank = 0;
    part->global_shape = NULL;
    for (uint32_t d = 0; d < o->rank; d++)
        if (!tp_is_cut(o, d)) {
            part->shape[part->rank] = o->shape[d];
            part->dims[part->rank++] = o->dims[d];
        }
    return part;
}

void tp_global_dims(const tp_operand *o, const int64_t *dims, int64_t *global)
{
    for (uint32_t d = 0; d < tp_global_rank(o); d++)
        global[d] = 1;
    for (uint32_t d = 0; d < o->rank; d++)
        global[tp_global_dim(o, d)] *= dims[d];
}

void tp_global_index(const tp_operand *o, const int64_t *dims, const int64_t *at, int64_t *global)
{
    for (uint32_t d = 0; d < tp_global_rank(o); d++)
        global[d] = 0;
    for (uint32_t d = 0; d < o->rank; d++)
        global[tp_global_dim(o, d)] = global[tp_global_dim(o, d)] * dims[d] + at[d];
}

static bool size_holds(const tp_size *s)
{
    for (uint32_t i = 1; i < s->nchoices; i++)
        if (s->choices[i - 1] >= s->choices[i])
            return false;
    return s->expr.id && (s->kind == TP_SIZE_CHOICE) == (s->nchoices > 0) &&
           (s->kind != TP_SIZE_RANGE || s->multiple_of >= 1); /* no size between min and max: TP006 says so */
}

/* Of no axis? Sizes, shapes and numbers of steps are the same in every step. */
static bool is_fixed(const tp_kernel *k, tp_expr e)
{
    for (uint32_t i = 0; i < k->naxes; i++)
        if (tp_expr_mentions(k->exprs, e, k->axes[i].sym))
            return false;
    return true;
}

static bool operand_holds(const tp_kernel *k, const tp_operand *o, tp_role role)
{
    uint32_t squeezed = 0;
    if (o->role != role || o->rank > TP_MAX_RANK)
        return false;
    for (uint32_t d = 0; d < o->rank; d++) {
        const tp_dim *x = role == TP_SCRATCH ? NULL : &o->dims[d];
        int64_t one;
        bool narrow = x && x->kind == TP_DIM_SQUEEZED;
        if (!o->shape[d].id || !is_fixed(k, o->shape[d]) || (x && !is_fixed(k, x->block)) ||
            (narrow && !(tp_expr_is_const(k->exprs, x->block, &one) && one == 1)))
            return false;
        squeezed += narrow;
    }
    if (o->array >= 0 && (role != TP_INPUT || &k->operands[o->array] >= o || k->operands[o->array].array >= 0 ||
                          k->operands[o->array].rank != o->rank || k->operands[o->array].dtype != o->dtype))
        return false;
    return o->ref_rank + squeezed == o->rank && o->buffers >= 0 && o->array >= -1 && o->alias >= -1 &&
           o->alias < (int)k->ninputs && (role == TP_OUTPUT || (o->alias < 0 && !o->discard && !o->revisit_any));
}

static bool table_holds(const tp_kernel *k, const tp_table *t)
{
    for (uint32_t d = 0; d < t->rank && t->rank <= TP_TABLE_RANK; d++)
        if (!is_fixed(k, t->shape[d]))
            return false;
    return t->rank <= TP_TABLE_RANK && (!t->sorted || t->rank == 1) && (!t->contents || t->contents->rank == t->rank);
}

/* Extents are over symbols bound before. */
static bool contract_holds(const tp_kernel *k, const tp_contract *c)
{
    for (uint32_t i = 0; i < c->nbound && c->nbound <= TP_TABLE_RANK; i++)
        for (uint32_t later = i; later < c->nbound; later++)
            if (tp_expr_mentions(k->exprs, c->extent[i], c->bound[later]))
                return false;
    return c->nbound <= TP_TABLE_RANK && c->fact.id && is_fixed(k, c->fact);
}

bool tp_kernel_holds(const tp_kernel *k)
{
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (!size_holds(&k->sizes[i]))
            return false;
    for (uint32_t i = 0; i < k->naxes; i++)
        if (!is_fixed(k, k->axes[i].steps) || ((k->axes[i].per_core || k->axes[i].device) && !k->axes[i].parallel) ||
            (k->axes[i].device && (i >= TP_MAX_MESH || (i && !k->axes[i - 1].device))))
            return false;
    for (uint32_t i = 0; i < tp_noperands(k); i++) {
        tp_role role = i < k->ninputs ? TP_INPUT : i < k->ninputs + k->noutputs ? TP_OUTPUT : TP_SCRATCH;
        if (!operand_holds(k, &k->operands[i], role))
            return false;
    }
    for (uint32_t i = 0; i < k->ntables; i++)
        if (!table_holds(k, &k->tables[i]))
            return false;
    for (uint32_t i = 0; i < k->ncontracts; i++)
        if (!contract_holds(k, &k->contracts[i]))
            return false;
    return k->naxes <= TP_MAX_AXES && k->ntables <= TP_MAX_TABLES && k->ncontracts <= TP_MAX_CONTRACTS;
}

void tp_bind_sizes(const tp_kernel *k, const tp_witness *w, int64_t *env)
{
    for (uint32_t i = 0; i < w->sizes.len; i++) {
        const tp_size *s = tp_size_find(k, w->sizes.at[i].name);
        if (s && tp_is_open_size(s))
            env[s->sym] = w->sizes.at[i].value;
    }
}

int64_t tp_size_above(const tp_size *s, int64_t x)
{
    int64_t over = s->multiple_of > 1 ? x % s->multiple_of : 0;
    return over ? x - over + s->multiple_of : x;
}

int64_t tp_size_least(const tp_size *s)
{
    return tp_size_above(s, s->min); /* both at most TP_SIZE_LIMIT */
}

tp_str tp_device_name(tp_arena *a, const tp_kernel *k, const int64_t *env, int64_t number)
{
    uint32_t rank = tp_mesh_rank(k);
    int64_t at[TP_MAX_MESH], left = number, n;
    tp_buf b = {.arena = a};
    if (rank < 2)
        return tp_printf(a, "%lld", (long long)number);
    for (uint32_t i = rank; i-- > 0; left /= n) {
        if (tp_expr_eval(k->exprs, k->axes[i].steps, env, &n) != TP_EVAL_OK || n < 1)
            return tp_printf(a, "%lld", (long long)number);
        at[i] = left % n;
    }
    for (uint32_t i = 0; i < rank; i++)
        tp_buf_printf(&b, "%s%lld", i ? ", " : "(", (long long)at[i]);
    tp_buf_c(&b, ")");
    return tp_buf_view(&b);
}

int64_t *tp_env_copy(tp_arena *a, const tp_kernel *k, const int64_t *env)
{
    int64_t *copy = TP_NEWN(a, int64_t, tp_sym_count(k->exprs));
    memcpy(copy, env, k->nsyms * sizeof *copy);
    return copy;
}
