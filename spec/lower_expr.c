#include "spec/lower.h"

#include <math.h>

/* Names a program can use, for "did you mean". */
_Noreturn static void unknown_name(tp_lower *l, const tp_node *n)
{
    const tp_kernel *k = l->k;
    tp_names names = {0};
    for (uint32_t i = l->base; i < l->locals.len; i++)
        tp_push(l->c->arena, names, (tp_name){.name = l->locals.at[i].name, .kind = TP_NAME_LOCAL});
    for (uint32_t i = 0; i < tp_noperands(k); i++)
        tp_push(l->c->arena, names, (tp_name){.name = k->operands[i].name, .kind = TP_NAME_LOCAL});
    for (uint32_t i = 0; i < k->ntables; i++)
        tp_push(l->c->arena, names, (tp_name){.name = k->tables[i].name, .kind = TP_NAME_LOCAL});
    for (uint32_t i = 0; i < k->naxes; i++)
        tp_push(l->c->arena, names, (tp_name){.name = k->axes[i].name, .kind = TP_NAME_LOCAL});
    for (uint32_t i = 0; i < k->nsizes; i++)
        tp_push(l->c->arena, names, (tp_name){.name = k->sizes[i].name, .kind = TP_NAME_LOCAL});
    for (uint32_t i = 0; i < k->nconstants; i++)
        tp_push(l->c->arena, names, (tp_name){.name = k->constants[i].name, .kind = TP_NAME_LOCAL});
    tp_scope_unknown(l->c, &names, TP_NAME_LOCAL, tp_node_loc(l->c, n), n->text);
}

tp_vid lower_axis_value(tp_lower *l, tp_prim prim, int axis, const tp_node *n)
{
    tp_vid out = lower_new_value(l, TP_I32, 0, NULL);
    const tp_axis *a = &l->k->axes[axis];
    l->p->values.at[out].meaning = prim == TP_P_PROGRAM_ID ? tp_sym(l->k->exprs, a->sym) : a->steps;
    lower_emit(l, prim, out, 0, NULL, n)->integer = axis;
    return out;
}

static tp_vid lower_operand_name(tp_lower *l, int operand, const tp_node *n)
{
    const tp_operand *o = &l->k->operands[operand];
    if (!l->reference)
        lower_fail(l, n, tp_printf(l->c->arena, "write %.*s[...]", TP_FMT(o->name)).p,
                   "`%.*s` is a ref: read it before using it", TP_FMT(o->name));
    if (o->role == TP_SCRATCH)
        lower_fail(l, n, "a reference sees whole arrays only", "`%.*s` is scratch of the kernel", TP_FMT(o->name));
    if (l->global[operand] < 0)
        lower_fail(l, n, "begin with zeros(shape)", "output `%.*s` is used before it is assigned", TP_FMT(o->name));
    return l->global[operand];
}

static tp_vid index_of(tp_lower *l, tp_vid v, const tp_node *n)
{
    const tp_value *x = lower_value(l, v);
    if (x->rank != 0 || (x->dtype != TP_WEAK_INT && x->dtype != TP_I32))
        lower_fail(l, n, "an index is a size, a literal or an int32 scalar", "%.*s cannot index a ref",
                   TP_FMT(lower_type_text(l, v)));
    return v;
}

static tp_vid index_value(tp_lower *l, const tp_node *n)
{
    return index_of(l, lower_expr(l, n), n);
}

static tp_vid lower_entry(tp_lower *l, int table, const tp_vid *index, uint32_t given, const tp_node *n)
{
    tp_vid out = lower_new_value(l, TP_I32, 0, NULL);
    lower_emit(l, TP_P_READ, out, given, index, n)->integer = table;
    return out;
}

/* The table of that name, or -1; a mutable one is a ref of the body, and what is given in references. */
static int table_of(const tp_lower *l, tp_str name)
{
    int table = tp_table_find(l->k, name);
    if (table >= 0 && l->k->tables[table].given && !l->reference)
        tp_raise(l->c, TP_RULE_SPEC_NAME, tp_json_place(l->syntax->line),
                 "copy what is needed to a table of \"scalar_prefetch\"",
                 "`%.*s` is an input of \"prepare\": the kernel does not see it", TP_FMT(name));
    return table >= 0 && l->k->tables[table].is_mutable && !l->reference && !l->given ? -1 : table;
}

/* An entry of a prefetched table; in a reference a table is a whole array. */
static tp_vid lower_table(tp_lower *l, int table, const tp_node *n, tp_node *const *index, uint32_t given)
{
    const tp_table *t = &l->k->tables[table];
    tp_vid args[TP_TABLE_RANK];
    if (l->reference && !given)
        return l->p->table_value[table];
    if (given != t->rank)
        lower_fail(l, n,
                   t->rank ? tp_printf(l->c->arena, "read one entry: %.*s[…] with %u scalar%s", TP_FMT(t->name),
                                       t->rank, t->rank == 1 ? "" : "s")
                                 .p
                           : "write its bare name",
                   "%u %s for the table `%.*s` of rank %u", given, given == 1 ? "index" : "indices", TP_FMT(t->name),
                   t->rank);
    for (uint32_t d = 0; d < given; d++)
        args[d] = index_value(l, index[d]);
    return lower_entry(l, table, args, given, n);
}

/* What it is defined by; a literal in the place of its name. */
static tp_vid lower_constant(tp_lower *l, const tp_named_number *constant, const tp_node *n)
{
    uint32_t base = l->base;
    tp_frame none = {0}, *frame = l->frame;
    l->base = l->locals.len; /* it sees no locals */
    l->frame = &none;
    tp_vid v = lower_expr(l, constant->value);
    l->base = base;
    l->frame = frame;
    if (!tp_is_weak(lower_value(l, v)->dtype))
        lower_fail(l, n, "use numbers, sizes and functions of numbers", "the constant `%.*s` is %.*s",
                   TP_FMT(constant->name), TP_FMT(lower_type_text(l, v)));
    return v;
}

static tp_vid lower_name(tp_lower *l, const tp_node *n)
{
    const tp_kernel *k = l->k;
    tp_local *local = n->prefixed ? NULL : lower_find_local(l, n->text);
    if (local && l->reference)
        lower_check_shared(l, local->changed, n);
    if (local)
        return local->value;
    if (tp_str_is(n->text, "True") || tp_str_is(n->text, "False"))
        return lower_literal(l, TP_BOOL, n->text.n == 4, n);
    if (tp_str_is(n->text, "inf") || tp_str_is(n->text, "nan"))
        return lower_literal(l, TP_WEAK_FLOAT, n->text.p[0] == 'i' ? (double)INFINITY : (double)NAN, n);
    const tp_size *size = tp_size_find(k, n->text);
    if (size)
        return lower_weak_int(l, size->expr);
    const tp_named_number *constant = tp_named_number_find(k, n->text);
    if (constant)
        return lower_constant(l, constant, n);
    int operand = tp_operand_find(k, n->text), axis = tp_axis_find(k, n->text), table = table_of(l, n->text);
    if (table >= 0)
        return lower_table(l, table, n, NULL, 0);
    if (operand >= 0) {
        if (l->reference)
            lower_check_shared(l, l->operand_changed[operand], n);
        return lower_operand_name(l, operand, n);
    }
    if (axis >= 0 && l->reference)
        lower_fail(l, n, "a reference is a program over whole arrays", "`%.*s` is a grid axis", TP_FMT(n->text));
    if (axis >= 0)
        return lower_axis_value(l, TP_P_PROGRAM_ID, axis, n);
    for (uint32_t i = 0; i < k->ndtypes; i++)
        if (tp_str_eq(k->dtypes[i].name, n->text))
            lower_fail(l, n, NULL, "`%.*s` is a dtype, not a value", TP_FMT(n->text));
    unknown_name(l, n);
}

/* ---- refs ---- */

/* Subscripts of one place that are arrays: along which dimension of their shape each runs. */
typedef struct arrays {
    uint32_t n, rank, first, last; /* of the ref: dimensions of the first and the last index that is no slice */
    uint32_t indices;              /* how many are no slices */
    bool fit;
} arrays;

static void note_index(arrays *all, uint32_t d)
{
    all->first = all->indices++ ? all->first : d;
    all->last = d;
}

static tp_subscript array_sub(tp_lower *l, const tp_node *n, tp_vid v, arrays *all)
{
    uint32_t dim, rank;
    tp_subscript s = lower_lanes(l, n, v, &dim, &rank);
    all->fit &= dim == all->n && (!all->n || rank == all->rank);
    all->rank = rank;
    all->n++;
    return s;
}

/* As in NumPy, the place has the shape of the arrays where they stand: n of them of rank n, the i-th along dimension
 * i. */
static void check_arrays(tp_lower *l, const tp_node *n, const arrays *all)
{
    if (all->n && (!all->fit || all->n != all->rank))
        lower_fail(l, n, "index n dimensions by n arrays: x[rows[:, None], columns[None, :]]",
                   "these arrays index %u dimension%s, and their shape has rank %u or another order", all->n,
                   all->n == 1 ? "" : "s", all->rank);
    if (all->n && all->last - all->first + 1 != all->indices)
        lower_fail(l, n, "write ds(start, n) for the arrays",
                   "a slice stands between indices that are arrays or scalars");
}

static tp_subscript lower_sub(tp_lower *l, const tp_node *n, tp_expr extent, uint32_t d, arrays *all)
{
    static const char *const PARAMS[] = {"start", "size", "stride", NULL};
    if (n->kind == TP_N_COLON)
        return (tp_subscript){TP_SUB_FULL, -1, extent, 1};
    if (n->kind == TP_N_SLICE) {
        tp_subscript s = {.kind = TP_SUB_SLICE};
        lower_slice(l, n, extent, &s.start, &s.size, &s.stride);
        return s;
    }
    if (n->kind != TP_N_CALL || !tp_str_is(n->text, "ds")) {
        tp_vid v = lower_expr(l, n);
        note_index(all, d);
        if (lower_value(l, v)->rank && tp_is_int(lower_value(l, v)->dtype))
            return array_sub(l, n, v, all);
        return (tp_subscript){TP_SUB_INT, index_of(l, v, n), tp_const(l->k->exprs, 1), 1};
    }
    const tp_node *args[3];
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    tp_subscript s = {TP_SUB_SLICE, index_value(l, args[0]), lower_static_int(l, args[1], "the size of a slice"), 1};
    if (n->of_pipeline)
        s.block = lower_static_int(l, args[2], "the size of a block");
    else if (args[2])
        s.stride = lower_literal_int(l, args[2], "the stride of a slice");
    if (s.stride < 1)
        lower_fail(l, args[2], NULL, "a stride is at least 1");
    return s;
}

/* An array that stays where it is and is an output's as well has one name in the body: the output's. Where that moves
 * block by block, no other way leads to its elements. */
static void check_name(tp_lower *l, uint32_t operand, const tp_node *n)
{
    lower_check_open(l, operand, n);
    for (uint32_t i = l->k->ninputs; i < l->k->ninputs + l->k->noutputs; i++) {
        const tp_operand *o = &l->k->operands[i];
        if (o->alias == (int)operand && tp_is_far(&l->k->operands[operand]))
            lower_fail(l, n,
                       tp_printf(l->c->arena,
                                 tp_is_far(o) ? "write `%.*s`, which holds its elements"
                                              : "give it the blocks of `%.*s`, and read these",
                                 TP_FMT(o->name))
                           .p,
                       "`%.*s` shares its array with the output `%.*s`", TP_FMT(l->k->operands[operand].name),
                       TP_FMT(o->name));
    }
}

tp_access *lower_place(tp_lower *l, const tp_node *n, uint32_t *rank, tp_expr *dims)
{
    const tp_node *base = n->kids[0];
    int operand = base->kind == TP_N_NAME && !lower_find_local(l, base->text) ? tp_operand_find(l->k, base->text) : -1;
    if (operand < 0 && base->kind == TP_N_NAME && table_of(l, base->text) >= 0)
        lower_fail(l, base, "add \"mutable\": true to it, or write to scratch", "the table `%.*s` is read-only",
                   TP_FMT(base->text));
    if (base->kind == TP_N_NAME && operand < 0 && !lower_find_local(l, base->text) && !tp_size_find(l->k, base->text) &&
        tp_axis_find(l->k, base->text) < 0)
        unknown_name(l, base);
    if (operand < 0)
        lower_fail(l, base, "assign a ref, or make a new value with where", "this is not a ref");
    check_name(l, (uint32_t)operand, base);
    const tp_operand *o = &l->k->operands[operand];
    uint32_t given = n->nkids - 1, ellipsis = 0;
    for (uint32_t i = 1; i <= given; i++)
        ellipsis += n->kids[i]->kind == TP_N_ELLIPSIS;
    if (ellipsis > 1)
        lower_fail(l, n, NULL, "more than one `...` in a subscript");
    if (given - ellipsis > o->ref_rank || (!ellipsis && given != o->ref_rank))
        lower_fail(l, n, tp_printf(l->c->arena, "write %.*s[...] for the whole block", TP_FMT(o->name)).p,
                   "%u subscript%s for the ref `%.*s` of rank %u", given - ellipsis, given - ellipsis == 1 ? "" : "s",
                   TP_FMT(o->name), o->ref_rank);
    tp_access *a = TP_NEW(l->c->arena, tp_access);
    a->operand = (uint32_t)operand;
    a->subs = TP_NEWN(l->c->arena, tp_subscript, o->ref_rank);
    arrays all = {.fit = true};
    uint32_t d = 0;
    for (uint32_t i = 1; i <= given; i++)
        if (n->kids[i]->kind == TP_N_ELLIPSIS)
            for (uint32_t fill = o->ref_rank - (given - 1); fill-- > 0; d++)
                a->subs[d] = (tp_subscript){TP_SUB_FULL, -1, o->ref_shape[d], 1};
        else
            a->subs[d] = lower_sub(l, n->kids[i], o->ref_shape[d], d, &all), d++;
    check_arrays(l, n, &all);
    *rank = 0;
    for (d = 0; d < o->ref_rank; d++)
        if (a->subs[d].kind != TP_SUB_INT)
            dims[(*rank)++] = a->subs[d].size;
    return a;
}

tp_access *lower_access(tp_lower *l, const tp_node *n, uint32_t *rank, tp_expr *dims)
{
    tp_access *a = lower_place(l, n, rank, dims);
    const tp_operand *o = &l->k->operands[a->operand];
    if (tp_is_semaphore(o))
        lower_fail(l, n->kids[0], "semaphore_signal and semaphore_wait change it",
                   "`%.*s` is a semaphore: the body cannot read or write it", TP_FMT(o->name));
    if (tp_is_far(o) && l->k->target.generation)
        lower_fail(l, n->kids[0], "copy it to scratch first: copy(x[...], buffer[...]); or give it a block_shape",
                   "`%.*s` is in %s: the body cannot read or write it directly", TP_FMT(o->name),
                   tp_memory_name(o->memory));
    return a;
}

tp_vid lower_load(tp_lower *l, tp_access *access, uint32_t rank, const tp_expr *dims, const tp_node *n)
{
    tp_vid out = lower_new_value(l, l->k->operands[access->operand].dtype, rank, dims);
    lower_emit(l, TP_P_LOAD, out, access->guarded, &access->mask, n)->access = access;
    return out;
}

/* ---- operators ---- */

static tp_prim binary_prim(tp_operator o)
{
    switch (o) {
    case TP_O_ADD: return TP_P_ADD;
    case TP_O_SUB: return TP_P_SUB;
    case TP_O_MUL: return TP_P_MUL;
    case TP_O_TRUEDIV: return TP_P_DIV;
    case TP_O_FLOORDIV: return TP_P_FLOORDIV;
    case TP_O_MOD: return TP_P_MOD;
    case TP_O_EQ: return TP_P_EQ;
    case TP_O_NE: return TP_P_NE;
    case TP_O_LT: return TP_P_LT;
    case TP_O_LE: return TP_P_LE;
    case TP_O_GT: return TP_P_GT;
    case TP_O_GE: return TP_P_GE;
    case TP_O_AND:
    case TP_O_BITAND: return TP_P_AND;
    case TP_O_OR:
    case TP_O_BITOR: return TP_P_OR;
    case TP_O_BITXOR: return TP_P_XOR;
    case TP_O_SHL: return TP_P_SHL;
    case TP_O_SHR: return TP_P_SHR;
    case TP_O_IMPLIES:
    case TP_O_IS: /* of objects: lower_object.c */
    case TP_O_ISNOT:
    case TP_O_MATMUL:
    case TP_O_POW: /* read apart: it wants an integer */
    case TP_O_NEG:
    case TP_O_INVERT:
    case TP_O_NOT:
    case TP_OPERATOR_COUNT: break;
    }
    return TP_PRIMS;
}

static void want_scalar_bool(tp_lower *l, tp_vid v, const tp_node *n, const char *op)
{
    const tp_value *x = lower_value(l, v);
    if (x->dtype != TP_BOOL || x->rank != 0)
        lower_fail(l, n, "use & | ~ on arrays", "`%s` takes scalar bools, not %.*s", op, TP_FMT(lower_type_text(l, v)));
}

static tp_vid lower_power(tp_lower *l, const tp_node *n)
{
    tp_vid a = lower_expr(l, n->kids[0]), b = lower_expr(l, n->kids[1]);
    const tp_value *x = lower_value(l, a), *y = lower_value(l, b);
    int64_t e;
    if (y->dtype != TP_WEAK_INT || !tp_expr_is_const(l->k->exprs, y->meaning, &e))
        return lower_binary(l, TP_P_POW, a, b, n);
    if (e < -TP_MAX_POWER || e > TP_MAX_POWER)
        lower_fail(l, n->kids[1], "use pow(x, y)", "an integer exponent is between -%d and %d", TP_MAX_POWER,
                   TP_MAX_POWER);
    if (!tp_is_float(x->dtype) && e < 0)
        lower_fail(l, n->kids[1], "convert to a float first", "an integer to a negative power");
    if (x->dtype == TP_BOOL)
        lower_fail(l, n, NULL, "`**` takes numbers, not bools");
    if (x->dtype == TP_WEAK_INT) {
        tp_expr r = tp_const(l->k->exprs, 1);
        for (int64_t i = 0; i < e; i++)
            r = tp_op2(l->k->exprs, TP_E_MUL, r, x->meaning);
        return lower_weak_int(l, r);
    }
    tp_vid out = lower_new_value(l, x->dtype, x->rank, x->dims);
    lower_emit(l, TP_P_INTEGER_POW, out, 1, &a, n)->integer = e;
    lower_fold_power(l, out, a, e, n);
    return out;
}

static tp_vid lower_operator(tp_lower *l, const tp_node *n)
{
    if (n->op == TP_O_POW)
        return lower_power(l, n);
    if (n->op == TP_O_MATMUL) {
        tp_vid left = lower_expr(l, n->kids[0]);
        return lower_matmul(l, left, lower_expr(l, n->kids[1]), n);
    }
    tp_prim prim = binary_prim(n->op);
    if (prim == TP_PRIMS)
        lower_fail(l, n, NULL, "`%s` is not an operator of bodies", tp_operator_text(n->op));
    tp_vid a = lower_expr(l, n->kids[0]), b = lower_expr(l, n->kids[1]);
    if (n->op == TP_O_AND || n->op == TP_O_OR) {
        want_scalar_bool(l, a, n->kids[0], tp_operator_text(n->op));
        want_scalar_bool(l, b, n->kids[1], tp_operator_text(n->op));
    }
    return lower_binary(l, prim, a, b, n);
}

/* jnp.exp(x), pl.program_id(0): the function alone is meant. */
static void refuse_prefix(tp_lower *l, const tp_node *n)
{
    static const char *const PREFIXES[] = {"np", "jnp", "lax", "jax", "pl", "pltpu", "math"};
    const tp_node *x = n->kids[0];
    tp_node call = *n;
    call.kind = TP_N_CALL;
    call.kids++;
    call.nkids--;
    for (size_t i = 0; i < sizeof PREFIXES / sizeof *PREFIXES; i++) {
        if (x->kind != TP_N_NAME || !tp_str_is(x->text, PREFIXES[i]) || lower_find_local(l, x->text))
            continue;
        if (tp_str_is(n->text, "program_id"))
            lower_call(l, &call); /* says what to write */
        lower_fail(l, x, tp_printf(l->c->arena, "write %.*s(…)", TP_FMT(n->text)).p, "functions have no prefix here");
    }
}

static tp_vid lower_method(tp_lower *l, const tp_node *n)
{
    refuse_prefix(l, n);
    tp_vid own = l->reference ? lower_reference_method(l, n) : -1;
    if (own >= 0)
        return own;
    if (!tp_str_is(n->text, "astype") || n->nkids != 2)
        lower_fail(l, n,
                   tp_prim_find(n->text) != TP_PRIMS ? tp_printf(l->c->arena, "write %.*s(x, …)", TP_FMT(n->text)).p
                                                     : "the one method is v.astype(dtype)",
                   "`.%.*s` with %u argument%s is not known", TP_FMT(n->text), n->nkids - 1,
                   n->nkids - 1 == 1 ? "" : "s");
    return lower_cast(l, lower_expr(l, n->kids[0]), lower_dtype_name(l, n->kids[1]), n);
}

/* Is it a scalar index, by its form? */
static bool selects_one(const tp_node *n)
{
    return n->kind != TP_N_COLON && n->kind != TP_N_SLICE && n->kind != TP_N_ELLIPSIS &&
           !(n->kind == TP_N_CALL && tp_str_is(n->text, "ds")) && !(n->kind == TP_N_NAME && tp_str_is(n->text, "None"));
}

/* References: t[i, j] of a table is an entry; other subscripts are those of an array. */
static bool is_entry(tp_lower *l, int table, const tp_node *n, tp_vid *index)
{
    bool entry = n->nkids - 1 == l->k->tables[table].rank;
    for (uint32_t i = 1; i < n->nkids; i++)
        entry &= selects_one(n->kids[i]);
    for (uint32_t i = 1; i < n->nkids && entry; i++) {
        index[i - 1] = lower_expr(l, n->kids[i]);
        const tp_value *x = lower_value(l, index[i - 1]);
        entry = x->rank == 0 && (x->dtype == TP_WEAK_INT || tp_is_int(x->dtype));
        if (entry && x->dtype != TP_WEAK_INT)
            index[i - 1] = lower_promote(l, index[i - 1], TP_I32, n->kids[i]);
    }
    return entry;
}

/* x.shape[d], known from the sizes */
static tp_vid lower_extent(tp_lower *l, const tp_node *n)
{
    const tp_node *x = n->kids[0]->kids[0];
    uint32_t rank;
    const tp_expr *dims = lower_shape_of(l, x, &rank);
    if (n->nkids != 2)
        lower_fail(l, n, NULL, "one index is expected");
    int64_t d = lower_read_axis(l, n->kids[1], rank);
    tp_vid length = lower_length_of(l, x, (uint32_t)d);
    return length >= 0 ? length : lower_weak_int(l, dims[d]);
}

static tp_vid lower_attribute(tp_lower *l, const tp_node *n)
{
    bool ndim = tp_str_is(n->text, "ndim"), size = tp_str_is(n->text, "size");
    if (l->reference && (ndim || size)) {
        uint32_t rank;
        const tp_expr *dims = lower_shape_of(l, n->kids[0], &rank);
        tp_expr e = tp_const(l->k->exprs, ndim ? rank : 1);
        for (uint32_t d = 0; d < rank && size; d++)
            e = tp_op2(l->k->exprs, TP_E_MUL, e, dims[d]);
        return lower_weak_int(l, e);
    }
    if (!tp_str_is(n->text, "T"))
        lower_fail(l, n, tp_str_is(n->text, "shape") ? "write x.shape[0]" : "the attributes are x.T and x.shape[0]",
                   "`.%.*s` is not a value", TP_FMT(n->text));
    tp_node *call = TP_NEW(l->c->arena, tp_node);
    *call = *n;
    call->kind = TP_N_CALL;
    call->prefixed = true;
    call->text = TP_S("transpose");
    return lower_call(l, call);
}

static tp_vid lower_subscript(tp_lower *l, const tp_node *n)
{
    tp_expr dims[TP_MAX_RANK];
    tp_vid index[TP_TABLE_RANK];
    uint32_t rank;
    const tp_node *base = n->kids[0];
    bool free = base->kind == TP_N_NAME && !lower_find_local(l, base->text);
    int table = free ? table_of(l, base->text) : -1;
    if (base->kind == TP_N_ATTRIBUTE && tp_str_is(base->text, "shape"))
        return lower_extent(l, n);
    if (table >= 0 && !l->reference)
        return lower_table(l, table, n, n->kids + 1, n->nkids - 1);
    if (table >= 0 && is_entry(l, table, n, index))
        return lower_entry(l, table, index, n->nkids - 1, n);
    if (l->reference || !free)
        return lower_value_part(l, lower_expr(l, base), n);
    tp_access *access = lower_access(l, n, &rank, dims);
    return lower_load(l, access, rank, dims, n);
}

tp_vid lower_any(tp_lower *l, const tp_node *n)
{
    const tp_thing *special = l->reference ? l->special(l, n) : NULL;
    if (special)
        return lower_object_value(l, special, n);
    switch (n->kind) {
    case TP_N_INT: return lower_weak_int(l, tp_const(l->k->exprs, n->integer));
    case TP_N_FLOAT: return lower_literal(l, TP_WEAK_FLOAT, n->real, n);
    case TP_N_NAME: return lower_name(l, n);
    case TP_N_INDEX: return lower_subscript(l, n);
    case TP_N_METHOD: return lower_method(l, n);
    case TP_N_BINARY: return lower_operator(l, n);
    case TP_N_CALL:
        if (tp_str_is(n->text, "num_programs")) {
            int axis = n->nkids == 1 && n->kids[0]->kind == TP_N_NAME ? tp_axis_find(l->k, n->kids[0]->text) : -1;
            if (axis < 0 || l->reference)
                lower_fail(l, n, "write num_programs(k) with the name of a grid axis",
                           "num_programs takes one grid axis");
            return lower_axis_value(l, TP_P_NUM_PROGRAMS, axis, n);
        }
        return lower_call(l, n);
    case TP_N_UNARY: {
        tp_vid a = lower_expr(l, n->kids[0]);
        if (n->op == TP_O_NOT)
            want_scalar_bool(l, a, n->kids[0], "not");
        return lower_unary(l, n->op == TP_O_NEG ? TP_P_NEG : TP_P_INVERT, a, n);
    }
    case TP_N_TERNARY: return lower_conditional(l, n, lower_expr(l, n->kids[0]));
    case TP_N_ATTRIBUTE: return lower_attribute(l, n);
    case TP_N_LAMBDA:
    case TP_N_COMPREHENSION: lower_fail(l, n, "write it out, or as a def", "this is a form of references");
    case TP_N_APPLY: lower_fail(l, n, "functions are called by their names", "a call of what is no name");
    case TP_N_STRING:
    case TP_N_SEQUENCE:
    case TP_N_KEYWORD:
    case TP_N_ELLIPSIS:
    case TP_N_COLON:
    case TP_N_SLICE:
    case TP_N_ABSENT: break;
    }
    lower_fail(l, n, NULL, "this is not a value");
}
