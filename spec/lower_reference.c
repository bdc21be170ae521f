/* Functions and methods of references: what people write in NumPy. */
#include <math.h>
#include <stdio.h>

#include "spec/lower.h"

/* Axes of an argument; none: all of them. */
static uint32_t axes_of(tp_lower *l, const tp_node *n, uint32_t rank, int64_t *axes)
{
    if (n)
        return lower_read_axes(l, n, rank, axes);
    for (uint32_t d = 0; d < rank; d++)
        axes[d] = d;
    return rank;
}

static tp_vid real_argument(tp_lower *l, const tp_node *n)
{
    tp_vid v = lower_promote(l, lower_expr(l, n), TP_F64, n);
    if (!tp_is_float(lower_value(l, v)->dtype))
        lower_fail(l, n, NULL, "an array is expected, not %.*s", TP_FMT(lower_type_text(l, v)));
    return v;
}

/* Over less elements than there are: `less` of them. */
static tp_vid average(tp_lower *l, tp_vid x, const int64_t *axes, uint32_t naxes, bool keep, int64_t less,
                      const tp_node *n)
{
    tp_expr count = tp_const(l->k->exprs, 1);
    for (uint32_t i = 0; i < naxes; i++)
        if (lower_length(l, x, (uint32_t)axes[i]) < 0)
            count = tp_op2(l->k->exprs, TP_E_MUL, count, lower_value(l, x)->dims[axes[i]]);
        else if (less)
            lower_fail(l, n, "write it out", "`ddof` of a slice whose size is not known from the sizes");
    if (less)
        count = tp_op2(l->k->exprs, TP_E_SUB, count, tp_const(l->k->exprs, less));
    tp_vid mean =
        lower_binary(l, TP_P_DIV, lower_fold(l, TP_P_SUM, x, axes, naxes, keep, n), lower_weak_int(l, count), n);
    for (uint32_t i = 0; i < naxes; i++)
        if (lower_length(l, x, (uint32_t)axes[i]) >= 0)
            mean = lower_binary(l, TP_P_DIV, mean, lower_length(l, x, (uint32_t)axes[i]), n);
    return mean;
}

/* mean, var, softmax, log_softmax, logsumexp */
static tp_vid call_normalising(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "axis", "keepdims", NULL}, *const VAR[] = {"x", "axis", "keepdims",
                                                                                         "ddof", NULL};
    const tp_node *args[4] = {NULL};
    lower_bind_args(l, n, 0, tp_str_is(n->text, "var") ? VAR : PARAMS, 1, args);
    int64_t less = args[3] ? lower_literal_int(l, args[3], "ddof") : 0;
    tp_vid x = real_argument(l, args[0]);
    uint32_t rank = lower_value(l, x)->rank;
    int64_t axes[TP_MAX_RANK];
    bool apart = tp_str_is(n->text, "log_softmax"), softmax = apart || tp_str_is(n->text, "softmax"),
         keep = lower_read_flag(l, args[2]);
    uint32_t naxes = 1;
    if (softmax && !args[1] && rank)
        axes[0] = rank - 1;
    else
        naxes = axes_of(l, args[1], rank, axes);
    if (tp_str_is(n->text, "mean"))
        return average(l, x, axes, naxes, keep, 0, n);
    if (tp_str_is(n->text, "var")) {
        tp_vid centred = lower_binary(l, TP_P_SUB, x, average(l, x, axes, naxes, true, 0, n), n);
        return average(l, lower_unary(l, TP_P_SQUARE, centred, n), axes, naxes, keep, less, n);
    }
    tp_vid max = lower_fold(l, TP_P_MAX, x, axes, naxes, true, n);
    if (n->prefixed && !softmax) /* of rows of -inf, -inf */
        max =
            lower_where(l, lower_unary(l, TP_P_IS_FINITE, max, n), max, lower_weak_int(l, tp_const(l->k->exprs, 0)), n);
    tp_vid below = lower_binary(l, TP_P_SUB, x, max, n), e = lower_unary(l, TP_P_EXP, below, n);
    tp_vid sum = lower_fold(l, TP_P_SUM, e, axes, naxes, softmax || keep, n);
    if (apart)
        return lower_binary(l, TP_P_SUB, below, lower_unary(l, TP_P_LOG, sum, n), n);
    if (softmax)
        return lower_binary(l, TP_P_DIV, e, sum, n);
    if (!keep)
        max = lower_reshape(l, max, lower_value(l, sum)->rank, lower_value(l, sum)->dims, n);
    return lower_binary(l, TP_P_ADD, lower_unary(l, TP_P_LOG, sum, n), max, n);
}

/* ---- einsum ---- */

enum { MAX_LETTERS = 52 };

typedef struct term {
    tp_vid v;
    char letters[TP_MAX_RANK + 1]; /* one per dimension */
} term;

static void drop_letters(tp_lower *l, term *x, const char *kept, const tp_node *n)
{
    int64_t axes[TP_MAX_RANK];
    uint32_t naxes = 0, rank = 0;
    char left[TP_MAX_RANK + 1] = {0};
    for (uint32_t d = 0; x->letters[d]; d++)
        if (strchr(kept, x->letters[d]))
            left[rank++] = x->letters[d];
        else
            axes[naxes++] = d;
    if (naxes)
        x->v = lower_fold(l, TP_P_SUM, x->v, axes, naxes, false, n);
    memcpy(x->letters, left, sizeof left);
}

/* With its dimensions in that order; a letter that it lacks: a dimension of 1. */
static tp_vid arrange(tp_lower *l, const term *x, const char *order, const tp_node *n)
{
    const tp_value *t = lower_value(l, x->v);
    tp_expr dims[2 * TP_MAX_RANK], all[2 * TP_MAX_RANK];
    int64_t perm[TP_MAX_RANK];
    int32_t at[TP_MAX_RANK], from[2 * TP_MAX_RANK];
    uint32_t rank = 0, full = 0;
    bool moved = false;
    for (uint32_t i = 0; order[i]; i++) {
        const char *letter = strchr(x->letters, order[i]);
        from[full] = letter ? (int32_t)(letter - x->letters) : -1;
        all[full++] = letter ? t->dims[letter - x->letters] : tp_const(l->k->exprs, 1);
        if (!letter)
            continue;
        at[rank] = (int32_t)(letter - x->letters);
        perm[rank] = at[rank];
        dims[rank] = t->dims[perm[rank]];
        moved |= perm[rank] != (int64_t)rank;
        rank++;
    }
    if (full > TP_MAX_RANK)
        lower_fail(l, n, NULL, "an intermediate result has rank %u; at most %d", full, TP_MAX_RANK);
    tp_vid v = x->v;
    if (moved) {
        v = lower_new_value(l, t->dtype, rank, dims);
        tp_inst *inst = lower_emit(l, TP_P_TRANSPOSE, v, 1, &x->v, n);
        memcpy(inst->ints, perm, rank * sizeof *perm);
        inst->nints = rank;
        lower_lengths(l, v, x->v, at);
    }
    if (full == rank)
        return v;
    tp_vid wide = lower_reshape(l, v, full, all, n);
    lower_lengths(l, wide, x->v, from);
    return wide;
}

/* Sums over the letters that `kept` lacks. */
static term product_of(tp_lower *l, term a, term b, const char *kept, const tp_node *n)
{
    int64_t pairs[4 * TP_MAX_RANK];
    uint32_t ncontract = 0, nbatch = 0, rank = 0;
    char own[2 * MAX_LETTERS + 1], order[3 * TP_MAX_RANK + 1] = {0};
    snprintf(own, sizeof own, "%s%s", kept, b.letters);
    drop_letters(l, &a, own, n);
    snprintf(own, sizeof own, "%s%s", kept, a.letters);
    drop_letters(l, &b, own, n);
    for (uint32_t batch = 0; batch < 2; batch++)
        for (uint32_t d = 0; a.letters[d]; d++) {
            const char *at = strchr(b.letters, a.letters[d]);
            if (!at || (strchr(kept, a.letters[d]) != NULL) != (batch == 1))
                continue;
            pairs[2 * (ncontract + nbatch)] = d;
            pairs[2 * (ncontract + nbatch) + 1] = at - b.letters;
            ncontract += !batch;
            nbatch += batch;
            if (batch)
                order[rank++] = a.letters[d];
        }
    for (uint32_t d = 0; a.letters[d]; d++)
        if (!strchr(b.letters, a.letters[d]))
            order[rank++] = a.letters[d];
    for (uint32_t d = 0; b.letters[d]; d++)
        if (!strchr(a.letters, b.letters[d]))
            order[rank++] = b.letters[d];
    term r = {0};
    if (rank > TP_MAX_RANK)
        lower_fail(l, n, NULL, "an intermediate result has rank %u; at most %d", rank, TP_MAX_RANK);
    memcpy(r.letters, order, rank);
    r.v = ncontract ? lower_dot(l, a.v, b.v, pairs, ncontract, nbatch, lower_value(l, a.v)->dtype, n)
                    : lower_binary(l, TP_P_MUL, arrange(l, &a, order, n), arrange(l, &b, order, n), n);
    return r;
}

/* Letters of one operand or of the result; returns what stands after them. */
static const char *read_letters(tp_lower *l, const tp_node *text, const char *at, char *into, uint32_t most)
{
    uint32_t count = 0;
    for (; (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == ' '; at++) {
        if (*at == ' ')
            continue;
        if (count == most || memchr(into, *at, count))
            lower_fail(l, text, "one letter per dimension, all different", "the letters of an operand of this einsum");
        into[count++] = *at;
    }
    into[count] = '\0';
    return at;
}

/* The letters, with some for what `...` stands for: the dimensions that an operand has besides, the last ones alike. */
static const char *spell_out(tp_lower *l, const tp_node *text, const term *x, uint32_t count)
{
    const char *at = tp_cstr(l->c->arena, text->text), *end = strstr(at, "->");
    char free_letters[TP_MAX_RANK + 1] = {0};
    uint32_t rest[9] = {0}, most = 0;
    if (!strstr(at, "..."))
        return at;
    if (!end)
        lower_fail(l, text, "write the result: \"...ij,...jk->...ik\"", "an einsum with `...` and without a result");
    for (int letter = 'A', n = 0; letter <= 'Z' && n < TP_MAX_RANK; letter++)
        if (!strchr(at, letter))
            free_letters[n++] = (char)letter;
    uint32_t i = 0, letters = 0;
    for (const char *c = at; c <= end && i < count; c++) {
        letters += *c != ' ' && *c != '.' && *c != ',' && c < end;
        if (*c != ',' && c < end)
            continue;
        uint32_t rank = lower_value(l, x[i].v)->rank;
        rest[i] = rank > letters ? rank - letters : 0;
        most = rest[i] > most ? rest[i] : most;
        i++;
        letters = 0;
    }
    if (strlen(free_letters) < most)
        lower_fail(l, text, "use small letters", "an einsum with too many letters");
    tp_buf b = {.arena = l->c->arena};
    i = 0;
    for (const char *c = at; *c; c++) {
        bool dots = strncmp(c, "...", 3) == 0;
        i += *c == ',';
        if (dots)
            tp_buf_printf(&b, "%.*s", (int)(c > end ? most : rest[i]), free_letters + (c > end ? 0 : most - rest[i]));
        else
            tp_buf_printf(&b, "%c", *c);
        c += dots ? 2 : 0;
    }
    return tp_cstr(l->c->arena, tp_buf_view(&b));
}

static void once(const term *x, uint32_t count, char *out)
{
    uint32_t n = 0;
    for (int letter = 'A'; letter <= 'z'; letter++) {
        uint32_t times = 0;
        for (uint32_t i = 0; i < count; i++)
            times += strchr(x[i].letters, letter) != NULL;
        if (times == 1 && n < TP_MAX_RANK)
            out[n++] = (char)letter;
    }
}

static tp_vid call_einsum(tp_lower *l, const tp_node *n)
{
    const tp_node *text = n->nkids ? n->kids[0] : NULL;
    if (!text || text->kind != TP_N_STRING || n->nkids < 2 || n->nkids > 8)
        lower_fail(l, n, "write einsum(\"ij,jk->ik\", a, b)", "einsum takes letters and arrays");
    uint32_t count = n->nkids - 1;
    term x[8];
    char out[TP_MAX_RANK + 1] = {0};
    tp_dtype wide = TP_I32;
    bool implied = false, bools = true;
    for (uint32_t i = 0; i < count; i++) {
        x[i].v = lower_expr(l, n->kids[i + 1]);
        bools &= lower_value(l, x[i].v)->dtype == TP_BOOL;
        wide = tp_is_float(lower_value(l, x[i].v)->dtype) ? TP_F64 : wide;
    }
    if (bools)
        lower_fail(l, n, "write x.astype(int)", "an einsum of bools is one of bools in NumPy, which counts nothing");
    const char *at = spell_out(l, text, x, count);
    for (uint32_t i = 0; i < count; i++) {
        at = read_letters(l, text, at, x[i].letters, TP_MAX_RANK);
        x[i].v = lower_promote(l, x[i].v, wide, n->kids[i + 1]);
        if (strlen(x[i].letters) != lower_value(l, x[i].v)->rank || tp_is_weak(lower_value(l, x[i].v)->dtype))
            lower_fail(l, n->kids[i + 1], NULL, "this is %.*s, and has the letters `%s`",
                       TP_FMT(lower_type_text(l, x[i].v)), x[i].letters);
        implied = i + 1 == count && !*at;
        if (!implied && *at != (i + 1 < count ? ',' : '-'))
            lower_fail(l, text, "write \"ij,jk->ik\"", "the letters of %u operands and of the result are expected",
                       count);
        at += !implied;
    }
    if (implied) /* the letters that stand once, in their order */
        once(x, count, out);
    else if (*at != '>' || *read_letters(l, text, at + 1, out, TP_MAX_RANK))
        lower_fail(l, text, "write \"ij,jk->ik\"", "the letters of the result are expected after `->`");
    for (uint32_t i = 1; i < count; i++) {
        char kept[8 * TP_MAX_RANK + 1] = {0};
        snprintf(kept, sizeof kept, "%s", out);
        for (uint32_t k = i + 1; k < count; k++)
            strncat(kept, x[k].letters, TP_MAX_RANK);
        x[0] = product_of(l, x[0], x[i], kept, n);
    }
    drop_letters(l, &x[0], out, n);
    for (uint32_t d = 0; out[d]; d++)
        if (!strchr(x[0].letters, out[d]))
            lower_fail(l, text, NULL, "no operand has the letter `%c`", out[d]);
    return arrange(l, &x[0], out, n);
}

/* ---- arrays ---- */

static tp_vid iota(tp_lower *l, uint32_t rank, const tp_expr *dims, uint32_t d, const tp_node *n)
{
    tp_vid out = lower_new_value(l, TP_I32, rank, dims);
    lower_emit(l, TP_P_IOTA, out, 0, NULL, n)->integer = d;
    return out;
}

/* An integer that the sizes do not tell. Expressions have no effects: it may be lowered once more. */
static bool is_counted(tp_lower *l, const tp_node *n)
{
    if (n->kind == TP_N_SEQUENCE || n->kind == TP_N_KEYWORD)
        return false;
    const tp_value *x = lower_value(l, lower_expr(l, n));
    return !x->rank && tp_is_int(x->dtype) && !tp_is_weak(x->dtype);
}

/* arange(n), arange(lo, hi), arange(lo, hi, step) */
static tp_vid call_arange(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"start", "stop", "step", NULL};
    const tp_node *args[3];
    tp_exprs *p = l->k->exprs;
    lower_bind_args(l, n, 0, PARAMS, 1, args);
    int64_t step = args[2] ? lower_literal_int(l, args[2], "the step") : 1;
    if (!step || (args[2] && !args[1]))
        lower_fail(l, n, "write arange(lo, hi, step)", "a step without its bounds, or of 0");
    if (step != 1) {
        tp_expr lo = lower_static_int(l, args[0], "the start"), hi = lower_static_int(l, args[1], "the end");
        tp_expr span = step > 0 ? tp_op2(p, TP_E_SUB, hi, lo) : tp_op2(p, TP_E_SUB, lo, hi);
        tp_expr count = tp_expr_normal(p, tp_op2(p, TP_E_CDIV, span, tp_const(p, step > 0 ? step : -step)));
        tp_vid by = lower_binary(l, TP_P_MUL, iota(l, 1, &count, 0, n), lower_weak_int(l, tp_const(p, step)), n);
        return lower_binary(l, TP_P_ADD, by, lower_weak_int(l, lo), n);
    }
    if (is_counted(l, args[0]) || (args[1] && is_counted(l, args[1]))) {
        tp_vid from = lower_expr(l, args[0]);
        if (!args[1])
            return lower_ragged_count(l, from, n);
        tp_vid counted = lower_ragged_count(l, lower_binary(l, TP_P_SUB, lower_expr(l, args[1]), from, n), n);
        return lower_binary(l, TP_P_ADD, counted, from, n);
    }
    tp_expr lo = args[1] ? lower_static_int(l, args[0], "the start") : tp_const(p, 0),
            hi = lower_static_int(l, args[1] ? args[1] : args[0], "the end"),
            extent = tp_expr_normal(p, tp_op2(p, TP_E_SUB, hi, lo));
    tp_vid v = iota(l, 1, &extent, 0, n);
    return args[1] ? lower_binary(l, TP_P_ADD, v, lower_weak_int(l, lo), n) : v;
}

static tp_vid fill_shape(tp_lower *l, tp_dtype d, double value, uint32_t rank, const tp_expr *dims, const tp_node *n)
{
    return lower_broadcast(l, lower_literal(l, lower_dtype(l, d), value, n), rank, dims, n);
}

/* A shape, of which extents may be lengths of slices: length[d], else -1. */
static uint32_t read_extents(tp_lower *l, const tp_node *n, tp_expr *dims, tp_vid *length)
{
    bool list = n->kind == TP_N_SEQUENCE, like = n->kind == TP_N_ATTRIBUTE && tp_str_is(n->text, "shape");
    uint32_t rank = list ? n->nkids : 1;
    if (like) {
        rank = lower_read_dims(l, n, dims);
        for (uint32_t d = 0; d < TP_MAX_RANK; d++)
            length[d] = d < rank ? lower_length_of(l, n->kids[0], d) : -1;
        return rank;
    }
    for (uint32_t d = 0; d < TP_MAX_RANK; d++)
        length[d] = -1;
    const tp_thing *tuple = !list && n->kind != TP_N_CALL && n->kind != TP_N_INT ? l->special(l, n) : NULL;
    if (tuple && tuple->kind == TP_THING_TUPLE) /* x.shape[:2], a name of one */
        return lower_read_dims(l, n, dims);
    for (uint32_t d = 0; d < rank && rank <= TP_MAX_RANK; d++) {
        const tp_node *extent = list ? n->kids[d] : n;
        if (is_counted(l, extent)) {
            tp_vid counted = lower_ragged_count(l, lower_expr(l, extent), extent);
            length[d] = lower_length(l, counted, 0);
            dims[d] = lower_value(l, counted)->dims[0];
        } else {
            dims[d] = lower_static_int(l, extent, "a dimension");
        }
    }
    return rank <= TP_MAX_RANK ? rank : lower_read_dims(l, n, dims); /* which refuses it */
}

/* zeros(shape[, dtype]), ones(shape[, dtype]) */
static tp_vid call_fill(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"shape", "dtype", NULL};
    const tp_node *args[2];
    tp_expr dims[TP_MAX_RANK];
    lower_bind_args(l, n, 0, PARAMS, 1, args);
    tp_vid length[TP_MAX_RANK];
    uint32_t rank = read_extents(l, args[0], dims, length);
    tp_vid out = fill_shape(l, args[1] ? lower_dtype_name(l, args[1]) : TP_F32, n->text.p[0] == 'o', rank, dims, n);
    for (uint32_t d = 0; d < rank; d++)
        if (length[d] >= 0)
            lower_length_set(l, out, d, length[d]);
    return out;
}

/* zeros_like(x), ones_like(x), full_like(x, value) */
static tp_vid call_like(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "value", NULL};
    const tp_node *args[2];
    bool full = n->text.p[0] == 'f';
    lower_bind_args(l, n, 0, PARAMS, full ? 2 : 1, args);
    tp_vid v = lower_expr(l, args[0]);
    const tp_value x = *lower_value(l, v);
    if (args[1] && !full)
        lower_fail(l, args[1], "use full_like", "`%.*s` takes one array", TP_FMT(n->text));
    if (tp_is_weak(x.dtype))
        lower_fail(l, args[0], NULL, "an array is expected, not %.*s", TP_FMT(lower_type_text(l, v)));
    tp_vid out =
        full ? lower_broadcast(l, lower_coerce(l, lower_expr(l, args[1]), x.dtype, args[1]), x.rank, x.dims, args[1])
             : fill_shape(l, x.dtype, n->text.p[0] == 'o', x.rank, x.dims, n);
    if (lower_is_ragged(l, v))
        lower_lengths(l, out, v, NULL);
    return out;
}

/* tril(x, k), triu(x, k): what lies on and below, above diagonal k; 0 elsewhere. */
static tp_vid call_triangle(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "k", NULL};
    const tp_node *args[2];
    lower_bind_args(l, n, 0, PARAMS, 1, args);
    tp_vid v = lower_expr(l, args[0]);
    const tp_value x = *lower_value(l, v);
    tp_expr k = args[1] ? lower_static_int(l, args[1], "the number of a diagonal") : tp_const(l->k->exprs, 0);
    if (x.rank < 2)
        lower_fail(l, args[0], NULL, "`%.*s` takes arrays of rank 2 or more", TP_FMT(n->text));
    tp_vid row = iota(l, x.rank, x.dims, x.rank - 2, n), column = iota(l, x.rank, x.dims, x.rank - 1, n);
    lower_lengths(l, row, v, NULL);
    lower_lengths(l, column, v, NULL);
    tp_vid last = lower_binary(l, TP_P_ADD, row, lower_weak_int(l, k), n);
    tp_vid in = lower_binary(l, n->text.p[3] == 'l' ? TP_P_LE : TP_P_GE, column, last, n);
    if (x.dtype == TP_BOOL)
        return lower_binary(l, TP_P_AND, in, v, n);
    return lower_where(l, in, v, lower_weak_int(l, tp_const(l->k->exprs, 0)), n);
}

static tp_vid call_swapaxes(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "axis1", "axis2", NULL};
    const tp_node *args[3];
    tp_expr dims[TP_MAX_RANK];
    lower_bind_args(l, n, 0, PARAMS, 3, args);
    tp_vid v = lower_expr(l, args[0]);
    const tp_value x = *lower_value(l, v);
    int64_t a = lower_read_axis(l, args[1], x.rank), b = lower_read_axis(l, args[2], x.rank);
    for (uint32_t d = 0; d < x.rank; d++)
        dims[d] = x.dims[d == (uint32_t)a ? b : d == (uint32_t)b ? a : (int64_t)d];
    tp_vid out = lower_new_value(l, x.dtype, x.rank, dims);
    tp_inst *inst = lower_emit(l, TP_P_TRANSPOSE, out, 1, &v, n);
    int32_t from[TP_MAX_RANK];
    for (uint32_t d = 0; d < x.rank; d++) {
        inst->ints[d] = d == (uint32_t)a ? b : d == (uint32_t)b ? a : (int64_t)d;
        from[d] = (int32_t)inst->ints[d];
    }
    inst->nints = x.rank;
    lower_lengths(l, out, v, from);
    return out;
}

/* moveaxis(x, from, to) */
static tp_vid call_moveaxis(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"a", "source", "destination", NULL};
    const tp_node *args[3];
    tp_expr dims[TP_MAX_RANK];
    int32_t from[TP_MAX_RANK];
    lower_bind_args(l, n, 0, PARAMS, 3, args);
    tp_vid v = lower_expr(l, args[0]);
    const tp_value x = *lower_value(l, v);
    int64_t a = lower_read_axis(l, args[1], x.rank), b = lower_read_axis(l, args[2], x.rank);
    for (int64_t d = 0, k = 0; d < x.rank; d++) {
        k += k == a;
        from[d] = (int32_t)(d == b ? a : k++);
        dims[d] = x.dims[from[d]];
    }
    tp_vid out = lower_new_value(l, x.dtype, x.rank, dims);
    tp_inst *inst = lower_emit(l, TP_P_TRANSPOSE, out, 1, &v, n);
    for (uint32_t d = 0; d < x.rank; d++)
        inst->ints[d] = from[d];
    inst->nints = x.rank;
    lower_lengths(l, out, v, from);
    return out;
}

static tp_vid call_matmul(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"a", "b", NULL};
    const tp_node *args[2];
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    tp_vid a = lower_expr(l, args[0]);
    return lower_matmul(l, a, lower_expr(l, args[1]), n);
}

/* logical_and(a, b), logical_not(a), of bools or numbers */
static tp_vid call_logical(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"x1", "x2", NULL}, *const ONE[] = {"x", NULL};
    const tp_node *args[2];
    char which = n->text.p[strlen("logical_")];
    lower_bind_args(l, n, 0, which == 'n' ? ONE : PARAMS, which == 'n' ? 1 : 2, args);
    tp_vid a = lower_truths(l, lower_expr(l, args[0]), args[0]);
    if (which == 'n')
        return lower_unary(l, TP_P_INVERT, a, n);
    return lower_binary(l,
                        which == 'a'   ? TP_P_AND
                        : which == 'o' ? TP_P_OR
                                       : TP_P_XOR,
                        a, lower_truths(l, lower_expr(l, args[1]), args[1]), n);
}

/* int(x): towards zero, as astype does; what the sizes tell they still tell. */
static tp_vid call_int(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", NULL};
    const tp_node *args[1];
    double number;
    lower_bind_args(l, n, 0, PARAMS, 1, args);
    tp_vid v = lower_expr(l, args[0]);
    const tp_value *x = lower_value(l, v);
    if (x->rank)
        lower_fail(l, n, "write x.astype(int)", "int() is of scalars");
    if (x->dtype == TP_WEAK_FLOAT && lower_number(l, v, &number) && fabs(number) < 1e15)
        return lower_weak_int(l, tp_const(l->k->exprs, (int64_t)number));
    if (x->dtype == TP_WEAK_INT || x->dtype == TP_I32)
        return v;
    return lower_cast(l, x->dtype == TP_WEAK_FLOAT ? lower_cast(l, v, TP_F64, n) : v, TP_I32, n);
}

#define REFERENCE_FUNCTIONS(X)                                                                                         \
    X("matmul", call_matmul)                                                                                           \
    X("softmax", call_normalising)                                                                                     \
    X("log_softmax", call_normalising)                                                                                 \
    X("logsumexp", call_normalising)                                                                                   \
    X("mean", call_normalising)                                                                                        \
    X("var", call_normalising)                                                                                         \
    X("einsum", call_einsum)                                                                                           \
    X("arange", call_arange)                                                                                           \
    X("zeros", call_fill)                                                                                              \
    X("ones", call_fill)                                                                                               \
    X("zeros_like", call_like)                                                                                         \
    X("ones_like", call_like)                                                                                          \
    X("full_like", call_like)                                                                                          \
    X("tril", call_triangle)                                                                                           \
    X("triu", call_triangle)                                                                                           \
    X("swapaxes", call_swapaxes)                                                                                       \
    X("moveaxis", call_moveaxis)                                                                                       \
    X("logical_and", call_logical)                                                                                     \
    X("logical_or", call_logical)                                                                                      \
    X("logical_xor", call_logical)                                                                                     \
    X("logical_not", call_logical)                                                                                     \
    X("int", call_int)                                                                                                 \
    X("tensordot", lower_tensordot)                                                                                    \
    X("inner", lower_tensordot)

const char *const *tp_reference_functions(size_t *n)
{
#define NAME(name, call) name,
    static const char *const NAMES[] = {REFERENCE_FUNCTIONS(NAME)};
#undef NAME
    *n = sizeof NAMES / sizeof *NAMES;
    return NAMES;
}

bool lower_is_function_word(const tp_lower *l, tp_str name)
{
    size_t count;
    const char *const *all = tp_reference_functions(&count);
    bool word = tp_prim_find(name) != TP_PRIMS || tp_str_is(name, "ds") || tp_str_is(name, "load");
    for (size_t i = 0; i < count && !word; i++)
        word = tp_str_is(name, all[i]);
    return l->reference && word;
}

tp_vid lower_reference_call(tp_lower *l, const tp_node *n)
{
#define CALL(name, call)                                                                                               \
    if (tp_str_is(n->text, name))                                                                                      \
        return call(l, n);
    REFERENCE_FUNCTIONS(CALL)
#undef CALL
    return -1;
}

/* x.at[i].set(v), x.at[i].add(v): x with another part */
static tp_vid updated(tp_lower *l, const tp_node *n)
{
    static const struct {
        const char *name;
        tp_prim prim;
    } ROWS[] = {{"set", TP_PRIMS},      {"add", TP_P_ADD},     {"subtract", TP_P_SUB},
                {"multiply", TP_P_MUL}, {"mul", TP_P_MUL},     {"divide", TP_P_DIV},
                {"max", TP_P_MAXIMUM},  {"min", TP_P_MINIMUM}, {"power", TP_P_POW}};
    const tp_node *place = n->kids[0];
    if (tp_str_is(n->text, "add") && n->nkids == 2 && place->nkids == 2 && place->kids[1]->kind == TP_N_NAME) {
        const tp_value *by = lower_value(l, lower_expr(l, place->kids[1]));
        if (by->rank == 1 && tp_is_int(by->dtype)) { /* an element may come several times */
            tp_node *kids[] = {place->kids[0]->kids[0], place->kids[1], n->kids[1]},
                    *call = TP_NEW(l->c->arena, tp_node);
            *call = *n;
            call->kind = TP_N_CALL;
            call->prefixed = true;
            call->text = TP_S("scatter_add");
            call->nkids = 3;
            call->kids = TP_NEWN(l->c->arena, tp_node *, 3);
            memcpy(call->kids, kids, sizeof kids);
            return lower_expr(l, call);
        }
    }
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        if (!tp_str_is(n->text, ROWS[i].name) || n->nkids != 2 || n->kids[1]->kind == TP_N_KEYWORD)
            continue;
        tp_vid old = lower_expr(l, place->kids[0]->kids[0]), v = lower_expr(l, n->kids[1]),
               mask = lower_value(l, old)->rank ? lower_mask_of(l, old, place) : -1;
        if (mask >= 0 && !lower_value(l, v)->rank)
            return lower_masked_with(
                l, old, mask, ROWS[i].prim != TP_PRIMS ? lower_binary(l, ROWS[i].prim, old, v, n) : v, n->kids[1]);
        if (ROWS[i].prim != TP_PRIMS)
            v = lower_binary(l, ROWS[i].prim, lower_value_part(l, old, place), v, n);
        return lower_value_with(l, old, place, v, n->kids[1]);
    }
    lower_fail(l, n, "write .at[i].set(v) or .at[i].add(v)", "`.at[…].%.*s` is not known here", TP_FMT(n->text));
}

/* x.f(a, b) is f(x, a, b); x.reshape(2, 3) and x.transpose(1, 0) take what f takes as a tuple. */
tp_vid lower_reference_method(tp_lower *l, const tp_node *n)
{
    static const char *const NAMES[] = {"sum",    "max",  "min",     "prod",      "any",     "all",     "argmax",
                                        "argmin", "mean", "var",     "cumsum",    "clip",    "take",    "repeat",
                                        "round",  "dot",  "squeeze", "transpose", "reshape", "swapaxes"};
    const tp_node *x = n->kids[0];
    if (tp_str_is(n->text, "copy") && n->nkids == 1)
        return lower_expr(l, x);
    if (x->kind == TP_N_INDEX && x->kids[0]->kind == TP_N_ATTRIBUTE && tp_str_is(x->kids[0]->text, "at"))
        return updated(l, n);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (!tp_str_is(n->text, NAMES[i]) || (tp_str_is(n->text, "take") && n->nkids == 2)) /* of all in a row */
            continue;
        tp_node *call = TP_NEW(l->c->arena, tp_node);
        *call = *n;
        call->kind = TP_N_CALL;
        call->prefixed = true;
        bool packs = (tp_str_is(n->text, "reshape") || tp_str_is(n->text, "transpose")) && n->nkids > 2;
        if (packs) {
            tp_node *tuple = TP_NEW(l->c->arena, tp_node);
            *tuple = *n;
            tuple->kind = TP_N_SEQUENCE;
            tuple->kids = n->kids + 1;
            tuple->nkids = n->nkids - 1;
            call->kids = TP_NEWN(l->c->arena, tp_node *, 2);
            call->kids[0] = n->kids[0];
            call->kids[1] = tuple;
            call->nkids = 2;
        }
        return lower_expr(l, call);
    }
    return -1;
}
