#include "spec/lower.h"
#include "base/checked.h"

#include <math.h>

_Noreturn void lower_fail(tp_lower *l, const tp_node *n, const char *help, const char *fmt, ...)
{
    tp_buf b = {.arena = l->c->arena};
    va_list ap;
    va_start(ap, fmt);
    tp_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    tp_raise(l->c, TP_RULE_SPEC_TYPE, tp_node_loc(l->c, n), help, "%.*s", TP_FMT(tp_buf_view(&b)));
}

const tp_value *lower_value(const tp_lower *l, tp_vid v)
{
    return &l->p->values.at[v];
}

tp_vid lower_new_value(tp_lower *l, tp_dtype dtype, uint32_t rank, const tp_expr *dims)
{
    tp_value v = {.dtype = dtype, .rank = rank, .dims = TP_NEWN(l->c->arena, tp_expr, rank)};
    if (rank)
        memcpy(v.dims, dims, rank * sizeof *dims);
    tp_push(l->c->arena, l->p->values, v);
    return (tp_vid)l->p->values.len - 1;
}

tp_vid lower_weak_int(tp_lower *l, tp_expr e)
{
    tp_vid v = lower_new_value(l, TP_WEAK_INT, 0, NULL);
    l->p->values.at[v].meaning = e;
    return v;
}

tp_inst *lower_emit(tp_lower *l, tp_prim prim, tp_vid out, uint32_t nargs, const tp_vid *args, const tp_node *n)
{
    tp_inst *i = TP_NEW(l->c->arena, tp_inst);
    i->prim = prim;
    i->out = out;
    i->nargs = nargs;
    i->args = TP_NEWN(l->c->arena, tp_vid, nargs);
    for (uint32_t a = 0; a < nargs; a++)
        i->args[a] = args[a];
    i->node = n;
    if (l->reference)
        lower_keep_lengths(l, prim, out, nargs, i->args, n);
    while (out >= 0 && l->made.len <= (uint32_t)out)
        tp_push(l->c->arena, l->made, NULL);
    if (out >= 0)
        l->made.at[out] = i;
    lower_statement(l, TP_COMPUTE)->inst = i;
    return i;
}

tp_vid lower_literal(tp_lower *l, tp_dtype dtype, double v, const tp_node *n)
{
    tp_vid out = lower_new_value(l, dtype, 0, NULL);
    lower_emit(l, TP_P_LITERAL, out, 0, NULL, n)->real = v;
    l->p->values.at[out].known = dtype == TP_WEAK_FLOAT;
    l->p->values.at[out].real = v;
    return out;
}

tp_dtype lower_dtype(const tp_lower *l, tp_dtype d)
{
    return l->reference && d < TP_DTYPES && tp_is_float(d) ? TP_F64 : d;
}

static bool same_shape_as_scalar(const tp_value *v)
{
    return v->rank == 0;
}

tp_vid lower_cast(tp_lower *l, tp_vid v, tp_dtype dtype, const tp_node *n)
{
    const tp_value *from = lower_value(l, v);
    if (from->dtype == dtype && !l->reference)
        return v;
    int64_t literal;
    if (from->dtype == TP_WEAK_INT && tp_expr_is_const(l->k->exprs, from->meaning, &literal) && !tp_is_float(dtype) &&
        (literal < tp_dtype_min(dtype) || literal > tp_dtype_max(dtype)))
        lower_fail(l, n, NULL, "%lld does not fit %s", (long long)literal, tp_dtype_info(dtype)->name);
    lower_check_literal(l, v, dtype, n);
    if (dtype < TP_DTYPES && !tp_dtype_info(dtype)->executable)
        lower_fail(l, n, "convert it to float32 or int32 first", "this build does not compute with %s",
                   tp_dtype_info(dtype)->name);
    tp_expr meaning = dtype == TP_I32 || dtype == TP_BOOL ? from->meaning : (tp_expr){0};
    tp_vid out = lower_new_value(l, lower_dtype(l, dtype), from->rank, from->dims);
    if (from->rank == 0 && (from->dtype == TP_WEAK_INT || from->dtype == TP_BOOL || from->dtype == TP_I32))
        l->p->values.at[out].meaning = meaning;
    lower_emit(l, TP_P_CAST, out, 1, &v, n)->integer = dtype;
    if (dtype == TP_WEAK_FLOAT)
        lower_fold_literal(l, TP_P_CAST, out, v, -1, n);
    return out;
}

tp_vid lower_coerce(tp_lower *l, tp_vid v, tp_dtype dtype, const tp_node *n)
{
    const tp_value *from = lower_value(l, v);
    if (from->dtype == dtype)
        return v;
    if (!tp_is_weak(from->dtype))
        lower_fail(l, n, tp_printf(l->c->arena, "write .astype(%s)", tp_dtype_info(dtype)->name).p,
                   "this is %.*s where %s is expected", TP_FMT(lower_type_text(l, v)), tp_dtype_info(dtype)->name);
    if (dtype == TP_BOOL)
        lower_fail(l, n, "compare it with something", "a number where a bool is expected");
    if (from->dtype == TP_WEAK_FLOAT && !tp_is_float(dtype))
        lower_fail(l, n, "write an integer, or convert the other side with .astype(float32)",
                   "a float literal meets %s", tp_dtype_info(dtype)->name);
    return lower_cast(l, v, dtype, n);
}

/* Are they the same for sizes that are multiples: with 8 * M for each M that is one of 8? */
static bool same_of_multiples(tp_lower *l, tp_expr a, tp_expr b)
{
    tp_exprs *p = l->k->exprs;
    uint32_t n = tp_sym_count(p);
    tp_expr *with = NULL;
    for (uint32_t i = 0; i < l->k->nsizes; i++) {
        const tp_size *s = &l->k->sizes[i];
        if (s->kind != TP_SIZE_RANGE || s->multiple_of < 2)
            continue;
        with = with ? with : TP_NEWN(l->c->arena, tp_expr, n);
        with[s->sym] = tp_op2(p, TP_E_MUL, tp_const(p, s->multiple_of), s->expr);
    }
    return with &&
           tp_same(tp_expr_normal(p, tp_expr_subst(p, a, with, n)), tp_expr_normal(p, tp_expr_subst(p, b, with, n)));
}

bool lower_same_dim(tp_lower *l, tp_expr a, tp_expr b)
{
    tp_exprs *p = l->k->exprs;
    if (tp_same(a, b) || tp_same(tp_expr_normal(p, a), tp_expr_normal(p, b)))
        return true;
    /* twice, so that facts may chain */
    for (int i = 0; i < 2 && l->nequal; i++) {
        a = tp_expr_subst(p, a, l->equal, l->nequal);
        b = tp_expr_subst(p, b, l->equal, l->nequal);
    }
    return (l->nequal && tp_same(tp_expr_normal(p, a), tp_expr_normal(p, b))) || same_of_multiples(l, a, b);
}

/* The least value that the declared sizes give an atom; -1: none is known, or it may be negative. */
static int64_t least(const tp_lower *l, tp_expr atom)
{
    for (uint32_t i = 0; i < l->k->nsizes; i++)
        if (tp_is_open_size(&l->k->sizes[i]) && tp_same(atom, l->k->sizes[i].expr))
            return l->k->sizes[i].min;
    return -1;
}

bool lower_never_negative(tp_lower *l, tp_expr e)
{
    tp_poly q;
    int64_t sum = 0;
    tp_poly_of(l->k->exprs, e, &q);
    for (uint32_t i = 0; q.ok && i < q.n; i++) {
        int64_t term = q.terms[i].coef;
        q.ok = q.terms[i].degree == 0 || term >= 0;
        for (uint32_t f = 0; q.ok && f < q.terms[i].degree; f++) {
            int64_t at_least = least(l, q.terms[i].factors[f]);
            q.ok = at_least >= 0 && tp_mul(term, at_least, &term);
        }
        q.ok = q.ok && tp_add(sum, term, &sum);
    }
    return q.ok && sum >= 0;
}

bool lower_same_shape(tp_lower *l, const tp_value *a, uint32_t rank, const tp_expr *dims)
{
    if (a->rank != rank)
        return false;
    for (uint32_t d = 0; d < rank; d++)
        if (!lower_same_dim(l, a->dims[d], dims[d]))
            return false;
    return true;
}

tp_str lower_shape_text(tp_lower *l, uint32_t rank, const tp_expr *dims)
{
    tp_buf b = {.arena = l->c->arena};
    tp_buf_c(&b, "(");
    for (uint32_t d = 0; d < rank; d++) {
        tp_buf_c(&b, d ? ", " : "");
        tp_expr_print(&b, l->k->exprs, dims[d]);
    }
    tp_buf_c(&b, ")");
    return tp_buf_view(&b);
}

tp_str lower_type_text(tp_lower *l, tp_vid v)
{
    const tp_value *x = lower_value(l, v);
    const char *name = x->dtype == TP_WEAK_INT     ? "an integer literal"
                       : x->dtype == TP_WEAK_FLOAT ? "a float literal"
                                                   : tp_dtype_info(x->dtype)->name;
    if (x->rank == 0)
        return tp_str_c(name);
    return tp_printf(l->c->arena, "%s%.*s", name, TP_FMT(lower_shape_text(l, x->rank, x->dims)));
}

const char *lower_suggest_equal(tp_lower *l, tp_expr a, tp_expr b)
{
    if (tp_expr_is_const(l->k->exprs, a, NULL) && tp_expr_is_const(l->k->exprs, b, NULL))
        return NULL;
    return tp_printf(l->c->arena, "if they are equal, add \"%.*s == %.*s\" to \"where\"",
                     TP_FMT(tp_expr_text(l->k->exprs, a)), TP_FMT(tp_expr_text(l->k->exprs, b)))
        .p;
}

tp_vid lower_promote(tp_lower *l, tp_vid v, tp_dtype dtype, const tp_node *n)
{
    tp_dtype from = lower_value(l, v)->dtype;
    if (!l->reference || tp_is_weak(from) || tp_is_weak(dtype) || tp_is_float(from) || dtype == from ||
        dtype == TP_BOOL)
        return v;
    return lower_cast(l, v, tp_is_float(dtype) ? TP_F64 : TP_I32, n);
}

tp_vid lower_reshape(tp_lower *l, tp_vid v, uint32_t rank, const tp_expr *dims, const tp_node *n)
{
    tp_vid out = lower_new_value(l, lower_value(l, v)->dtype, rank, dims);
    lower_emit(l, TP_P_RESHAPE, out, 1, &v, n);
    return out;
}

tp_vid lower_of_rank(tp_lower *l, tp_vid v, uint32_t rank, const tp_node *n)
{
    const tp_value *x = lower_value(l, v);
    tp_expr dims[TP_MAX_RANK];
    uint32_t more = rank - x->rank;
    if (!l->reference || !x->rank || x->rank >= rank)
        return v;
    int32_t from[TP_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++) {
        dims[d] = d < more ? tp_const(l->k->exprs, 1) : x->dims[d - more];
        from[d] = d < more ? -1 : (int32_t)(d - more);
    }
    tp_vid out = lower_reshape(l, v, rank, dims, n);
    lower_lengths(l, out, v, from);
    return out;
}

tp_vid lower_broadcast(tp_lower *l, tp_vid v, uint32_t rank, const tp_expr *dims, const tp_node *n)
{
    v = lower_of_rank(l, v, rank, n);
    const tp_value *x = lower_value(l, v);
    int64_t one;
    if (lower_same_shape(l, x, rank, dims))
        return v;
    if (!same_shape_as_scalar(x)) {
        if (x->rank != rank)
            lower_fail(l, n, "use expand_dims or reshape", "shape %.*s cannot be broadcast to %.*s: the ranks differ",
                       TP_FMT(lower_shape_text(l, x->rank, x->dims)), TP_FMT(lower_shape_text(l, rank, dims)));
        for (uint32_t d = 0; d < rank; d++)
            if (!lower_same_dim(l, x->dims[d], dims[d]) &&
                !(tp_expr_is_const(l->k->exprs, x->dims[d], &one) && one == 1))
                lower_fail(l, n, lower_suggest_equal(l, x->dims[d], dims[d]),
                           "shapes %.*s and %.*s are not provably equal", TP_FMT(lower_shape_text(l, x->rank, x->dims)),
                           TP_FMT(lower_shape_text(l, rank, dims)));
    }
    tp_vid out = lower_new_value(l, x->dtype, rank, dims);
    lower_emit(l, TP_P_BROADCAST, out, 1, &v, n);
    return out;
}

/* ---- elementwise operations ---- */

static bool class_accepts(tp_operand_class c, tp_dtype d)
{
    switch (c) {
    case TP_OC_FLOATS: return tp_is_float(d);
    case TP_OC_INTS: return tp_is_int(d);
    case TP_OC_NUMBERS: return d != TP_BOOL;
    case TP_OC_LOGICAL: return !tp_is_float(d);
    case TP_OC_ANY: return true;
    }
    return false;
}

_Noreturn void lower_fail_scale(tp_lower *l, const char *what, tp_dtype d, const tp_node *n)
{
    lower_fail(l, n, "convert it first with .astype(float32)", "`%s` of %s, which holds scales and has no arithmetic",
               what, tp_dtype_info(d)->name);
}

static void check_class(tp_lower *l, tp_prim prim, tp_vid v, const tp_node *n)
{
    static const char *const WANT[] = {"floats", "integers", "numbers", "bools or integers", "values"};
    const tp_prim_row *row = tp_prim_info(prim);
    tp_dtype d = lower_value(l, v)->dtype;
    if (d < TP_DTYPES && !tp_dtype_info(d)->executable)
        lower_fail(l, n, NULL, "this build does not compute with %s", tp_dtype_info(d)->name);
    if (tp_is_scale(d) && !tp_prim_compares(prim))
        lower_fail_scale(l, row->name, d, n);
    if (!class_accepts(row->operands, d)) {
        const char *help = d == TP_BOOL       ? "use where(c, 1, 0) or .astype(int32)"
                           : prim == TP_P_DIV ? "use // or .astype(float32)"
                                              : NULL;
        lower_fail(l, n, help, "`%s` takes %s, not %.*s", row->name, WANT[row->operands],
                   TP_FMT(lower_type_text(l, v)));
    }
}

/* The dtype in which a reference computes what is defined for others than this one. */
static tp_dtype computes_in(const tp_lower *l, tp_prim prim, tp_dtype d)
{
    tp_operand_class class = tp_prim_info(prim)->operands;
    if (!l->reference || tp_is_weak(d) || tp_is_float(d))
        return d;
    return class == TP_OC_FLOATS ? TP_F64 : class == TP_OC_NUMBERS && d == TP_BOOL ? TP_I32 : d;
}

tp_vid lower_unary(tp_lower *l, tp_prim prim, tp_vid a, const tp_node *n)
{
    if (l->reference && prim == TP_P_ABS && lower_value(l, a)->dtype == TP_BOOL)
        return a;
    a = lower_promote(l, a, computes_in(l, prim, lower_value(l, a)->dtype), n);
    const tp_value *x = lower_value(l, a);
    if (prim == TP_P_NEG && x->dtype == TP_WEAK_INT)
        return lower_weak_int(l, tp_op1(l->k->exprs, TP_E_NEG, x->meaning));
    if (x->dtype == TP_WEAK_INT && tp_prim_info(prim)->operands == TP_OC_FLOATS)
        a = lower_cast(l, a, TP_WEAK_FLOAT, n);
    else if (x->dtype == TP_WEAK_INT)
        a = lower_cast(l, a, TP_I32, n);
    check_class(l, prim, a, n);
    x = lower_value(l, a);
    tp_vid out = lower_new_value(l, tp_prim_info(prim)->to_bool ? TP_BOOL : x->dtype, x->rank, x->dims);
    if (prim == TP_P_NEG && x->dtype == TP_I32 && x->meaning.id)
        l->p->values.at[out].meaning = tp_op1(l->k->exprs, TP_E_NEG, lower_value(l, a)->meaning);
    lower_emit(l, prim, out, 1, &a, n);
    lower_fold_literal(l, prim, out, a, -1, n);
    return out;
}

/* What a and b are together over the integers; no id: nothing to say. */
static tp_expr meaning_of(tp_lower *l, tp_prim prim, tp_vid a, tp_vid b)
{
    tp_exprs *p = l->k->exprs;
    const tp_value *x = lower_value(l, a), *y = lower_value(l, b);
    tp_expr_op op = tp_prim_expr(prim);
    if (op == TP_E_CONST || !x->meaning.id || !y->meaning.id)
        return (tp_expr){0};
    if (x->dtype != TP_BOOL || y->dtype != TP_BOOL || tp_prim_compares(prim))
        return tp_op2(p, op, x->meaning, y->meaning);
    return prim == TP_P_AND  ? tp_op2(p, TP_E_AND, x->meaning, y->meaning)
           : prim == TP_P_OR ? tp_op2(p, TP_E_OR, x->meaning, y->meaning)
                             : (tp_expr){0};
}

/* Is it, or one side of it, a dot that has the dtype of its operands? */
static bool has_narrow_dot(const tp_node *n)
{
    bool typed = false;
    if (n->kind != TP_N_CALL || !tp_str_is(n->text, "dot"))
        return n->kind == TP_N_BINARY && (has_narrow_dot(n->kids[0]) || has_narrow_dot(n->kids[1]));
    for (uint32_t i = 0; i < n->nkids; i++)
        typed |= n->kids[i]->kind == TP_N_KEYWORD && tp_str_is(n->kids[i]->text, "preferred_element_type");
    return !typed;
}

static const char *how_to_unify(tp_lower *l, tp_dtype x, tp_dtype y, const tp_node *n)
{
    tp_dtype wide = tp_dtype_info(x)->bits >= tp_dtype_info(y)->bits ? x : y;
    if (has_narrow_dot(n))
        return tp_printf(l->c->arena, "let the dot have %s, in which it accumulates: preferred_element_type=%s",
                         tp_dtype_info(wide)->name, tp_dtype_info(wide)->name)
            .p;
    return tp_printf(l->c->arena, "convert one side with .astype(%s) or .astype(%s)", tp_dtype_info(x)->name,
                     tp_dtype_info(y)->name)
        .p;
}

tp_dtype lower_unify(tp_lower *l, tp_vid *a, tp_vid *b, const tp_node *n)
{
    tp_dtype x = lower_value(l, *a)->dtype, y = lower_value(l, *b)->dtype;
    bool pair = n->kind == TP_N_BINARY || (n->kind == TP_N_CALL && n->nkids >= 2);
    const tp_node *na = pair ? n->kids[0] : n, *nb = pair ? n->kids[1] : n;
    if (x == y)
        return x;
    if (l->reference) {
        tp_dtype wide = tp_is_float(x) || tp_is_float(y) || x == TP_WEAK_FLOAT || y == TP_WEAK_FLOAT ? TP_F64 : TP_I32;
        *a = lower_promote(l, *a, wide, na);
        *b = lower_promote(l, *b, wide, nb);
        x = lower_value(l, *a)->dtype;
        y = lower_value(l, *b)->dtype;
        if (x == y)
            return x;
    }
    if (tp_is_weak(x) && tp_is_weak(y)) {
        *a = lower_cast(l, *a, TP_WEAK_FLOAT, na);
        *b = lower_cast(l, *b, TP_WEAK_FLOAT, nb);
        return TP_WEAK_FLOAT;
    }
    if (!tp_is_weak(x) && !tp_is_weak(y))
        lower_fail(l, n, how_to_unify(l, x, y, n), "the operands are %.*s and %.*s", TP_FMT(lower_type_text(l, *a)),
                   TP_FMT(lower_type_text(l, *b)));
    if (tp_is_weak(x))
        *a = lower_coerce(l, *a, y, na);
    else
        *b = lower_coerce(l, *b, x, nb);
    return tp_is_weak(x) ? y : x;
}

bool lower_number(const tp_lower *l, tp_vid v, double *number)
{
    const tp_value *x = lower_value(l, v);
    const tp_inst *made = (uint32_t)v < l->made.len ? l->made.at[v] : NULL;
    int64_t i;
    if (x->dtype == TP_WEAK_INT && tp_expr_is_const(l->k->exprs, x->meaning, &i)) {
        *number = (double)i;
        return i > -((int64_t)1 << 53) && i < ((int64_t)1 << 53);
    }
    if (x->rank || !made || made->prim != TP_P_LITERAL)
        return false;
    *number = made->real;
    return true;
}

/* References: NumPy's bools are bools after + and * and the like, too. Python's add up: of two scalars it is not known
 * whose they are, unless they are written there. */
static tp_prim of_bools(tp_lower *l, tp_prim prim, tp_vid a, tp_vid b, const tp_node *n)
{
    double number;
    bool scalars = !lower_value(l, a)->rank && !lower_value(l, b)->rank;
    if (prim == TP_P_ADD && scalars && lower_number(l, a, &number) && lower_number(l, b, &number))
        return prim;
    if (prim == TP_P_ADD && scalars)
        lower_fail(l, n, "write a | b, or int(a) + int(b)",
                   "a sum of two bools: in NumPy it is a bool, of Python's own bools a number");
    return prim == TP_P_ADD || prim == TP_P_MAXIMUM   ? TP_P_OR
           : prim == TP_P_MUL || prim == TP_P_MINIMUM ? TP_P_AND
                                                      : prim;
}

tp_vid lower_binary(tp_lower *l, tp_prim prim, tp_vid a, tp_vid b, const tp_node *n)
{
    tp_exprs *p = l->k->exprs;
    if (l->reference && lower_value(l, a)->dtype == TP_BOOL && lower_value(l, b)->dtype == TP_BOOL)
        prim = of_bools(l, prim, a, b, n);
    const tp_prim_row *row = tp_prim_info(prim);
    tp_expr meaning = meaning_of(l, prim, a, b);
    bool weak = lower_value(l, a)->dtype == TP_WEAK_INT && lower_value(l, b)->dtype == TP_WEAK_INT;
    if (tp_exprs_overflowed(p))
        lower_fail(l, n, NULL, "this integer expression is too large");
    if (weak && meaning.id && !row->to_bool)
        return lower_weak_int(l, meaning);
    if (weak && row->operands == TP_OC_FLOATS) {
        a = lower_cast(l, a, TP_WEAK_FLOAT, n);
        b = lower_cast(l, b, TP_WEAK_FLOAT, n);
    } else if (weak && !row->to_bool) {
        lower_fail(l, n, NULL, "`%s` is not defined on integer literals and sizes", row->name);
    }
    tp_dtype d = lower_unify(l, &a, &b, n);
    if (computes_in(l, prim, d) != d) {
        a = lower_promote(l, a, computes_in(l, prim, d), n);
        b = lower_promote(l, b, computes_in(l, prim, d), n);
        d = computes_in(l, prim, d);
    }
    check_class(l, prim, a, n);
    a = lower_of_rank(l, a, lower_value(l, b)->rank, n);
    b = lower_of_rank(l, b, lower_value(l, a)->rank, n);
    const tp_value *x = lower_value(l, a), *y = lower_value(l, b);
    const tp_value *shape = x->rank >= y->rank ? x : y;
    if (x->rank && y->rank) { /* scalars stay scalars: the engines splat them */
        uint32_t rank = shape->rank;
        tp_expr dims[TP_MAX_RANK];
        int64_t one;
        for (uint32_t i = 0; i < rank; i++)
            dims[i] = x->rank == y->rank && tp_expr_is_const(p, x->dims[i], &one) && one == 1 ? y->dims[i]
                      : x->rank >= y->rank                                                    ? x->dims[i]
                                                                                              : y->dims[i];
        tp_vid wide[2] = {lower_broadcast(l, a, rank, dims, n), lower_broadcast(l, b, rank, dims, n)};
        lower_any_length(l, a, wide[0]);
        lower_any_length(l, b, wide[1]);
        a = wide[0];
        b = wide[1];
        shape = lower_value(l, a);
    }
    tp_vid out = lower_new_value(l, row->to_bool ? TP_BOOL : d, shape->rank, shape->dims);
    if (shape->rank == 0 && (d == TP_I32 || d == TP_BOOL || d == TP_WEAK_INT))
        l->p->values.at[out].meaning = meaning;
    lower_emit(l, prim, out, 2, (tp_vid[]){a, b}, n);
    lower_fold_literal(l, prim, out, a, b, n);
    return out;
}

tp_vid lower_truth(tp_lower *l, tp_vid v, const tp_node *n)
{
    const tp_value *x = lower_value(l, v);
    bool integer = l->reference && x->rank == 0 && (x->dtype == TP_WEAK_INT || tp_is_int(x->dtype));
    return integer ? lower_binary(l, TP_P_NE, v, lower_weak_int(l, tp_const(l->k->exprs, 0)), n) : v;
}

tp_vid lower_truths(tp_lower *l, tp_vid v, const tp_node *n)
{
    const tp_value *x = lower_value(l, v);
    bool number = l->reference && x->dtype != TP_BOOL;
    return number ? lower_binary(l, TP_P_NE, v, lower_weak_int(l, tp_const(l->k->exprs, 0)), n) : v;
}

tp_vid lower_where(tp_lower *l, tp_vid c, tp_vid x, tp_vid y, const tp_node *n)
{
    tp_vid v[3] = {c, x, y};
    const tp_node *args[3] = {n, n, n};
    for (uint32_t i = 0; i < 3 && tp_str_is(n->text, "where") && n->nkids == 3; i++)
        args[i] = n->kids[i]->kind == TP_N_KEYWORD ? n : n->kids[i];
    tp_dtype dx = lower_value(l, v[1])->dtype, dy = lower_value(l, v[2])->dtype;
    v[0] = lower_truths(l, v[0], args[0]);
    if (lower_value(l, v[0])->dtype != TP_BOOL)
        lower_fail(l, args[0], "compare it with something", "the condition of where is a bool, not %.*s",
                   TP_FMT(lower_type_text(l, v[0])));
    if (l->reference && tp_is_weak(dx) && tp_is_weak(dy)) {
        dx = dy = dx == TP_WEAK_INT && dy == TP_WEAK_INT ? TP_I32 : TP_F64;
        for (uint32_t i = 1; i < 3; i++)
            v[i] = lower_cast(l, v[i], dx, args[i]);
    }
    if (tp_is_weak(dx) && tp_is_weak(dy))
        lower_fail(l, n, "give one arm a dtype, e.g. full((), 1, float32)", "where of two literals has no dtype");
    if (l->reference && !tp_is_weak(dx) && !tp_is_weak(dy))
        lower_unify(l, &v[1], &v[2], n);
    else if (tp_is_weak(dx))
        v[1] = lower_coerce(l, v[1], dy, args[1]);
    else
        v[2] = lower_coerce(l, v[2], dx, args[2]);
    uint32_t rank = 0, most = 0;
    tp_expr dims[TP_MAX_RANK];
    int64_t one;
    for (int i = 0; i < 3; i++)
        most = lower_value(l, v[i])->rank > most ? lower_value(l, v[i])->rank : most;
    for (int i = 0; i < 3; i++)
        v[i] = lower_of_rank(l, v[i], most, args[i]);
    for (int i = 0; i < 3; i++) {
        const tp_value *part = lower_value(l, v[i]);
        if (part->rank > rank) {
            rank = part->rank;
            memcpy(dims, part->dims, rank * sizeof *dims);
        }
        for (uint32_t d = 0; d < rank && part->rank == rank; d++)
            if (tp_expr_is_const(l->k->exprs, dims[d], &one) && one == 1)
                dims[d] = part->dims[d];
    }
    for (int i = 0; i < 3; i++)
        if (lower_value(l, v[i])->rank) {
            tp_vid wide = lower_broadcast(l, v[i], rank, dims, args[i]);
            lower_any_length(l, v[i], wide);
            v[i] = wide;
        }
    tp_vid out = lower_new_value(l, lower_value(l, v[1])->dtype, rank, dims);
    lower_emit(l, TP_P_WHERE, out, 3, v, n);
    return out;
}
