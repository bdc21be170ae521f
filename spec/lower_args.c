/* What all of the lowering reads: locals, arguments of calls, integers and dtypes that are known from the text. */
#include "spec/lower.h"

tp_vid lower_expr(tp_lower *l, const tp_node *n)
{
    return l->expr(l, n);
}

/* ---- locals ---- */

tp_local *lower_own_local(tp_lower *l, tp_str name)
{
    uint32_t i = tp_map_get(&l->newest, name);
    return i > l->base ? &l->locals.at[i - 1] : NULL;
}

/* Of the functions around the one that is expanded, from the innermost. */
static tp_local *find_outer(tp_lower *l, tp_str name)
{
    uint32_t i = tp_map_get(&l->newest, name);
    for (tp_frame *f = l->frame; f; f = f->lexical) {
        bool size = tp_size_find(l->k, name) != NULL; /* M, N = x.shape says what they are */
        if (!size && tp_map_get(&f->assigned, name) && !f->done && (f == l->frame || i <= f->base))
            tp_raise(l->c, TP_RULE_SPEC_NAME, tp_json_place(l->syntax->line), "give it another name in the function",
                     "`%.*s` is looked at before the function assigns it", TP_FMT(name));
        if (f == l->frame)
            continue;
        for (uint32_t k = f->nkept; f->done && k-- > 0;)
            if (tp_str_eq(f->kept[k].name, name))
                return &f->kept[k];
        while (!f->done && i > f->top)
            i = l->locals.at[i - 1].hides;
        if (!f->done && i > f->base)
            return &l->locals.at[i - 1];
    }
    return NULL;
}

tp_local *lower_find_local(tp_lower *l, tp_str name)
{
    tp_local *own = lower_own_local(l, name);
    if (own || !l->frame || !l->frame->lexical)
        return own;
    return find_outer(l, name);
}

const tp_syntax *lower_find_function(const tp_lower *l, tp_str name)
{
    for (uint32_t i = 0; i < l->functions.len; i++)
        if (tp_str_eq(l->functions.at[i]->value->text, name))
            return l->functions.at[i];
    return NULL;
}

void lower_push_local(tp_lower *l, tp_local local)
{
    local.hides = tp_map_get(&l->newest, local.name);
    tp_push(l->c->arena, l->locals, local);
    tp_map_set(l->c->arena, &l->newest, local.name, l->locals.len);
}

void lower_drop_locals(tp_lower *l, uint32_t n)
{
    for (; l->locals.len > n; l->locals.len--) {
        const tp_local *last = &l->locals.at[l->locals.len - 1];
        tp_map_set(l->c->arena, &l->newest, last->name, last->hides);
    }
}

/* ---- what the text says ---- */

tp_dtype lower_dtype_name(tp_lower *l, const tp_node *n)
{
    static const struct {
        const char *name;
        tp_dtype dtype;
    } PYTHON[] = {/* integers of references do not wrap */
                  {"int", TP_I32},
                  {"int_", TP_I32},
                  {"int64", TP_I32},
                  {"intp", TP_I32},
                  {"float", TP_F64}};
    for (uint32_t i = 0; n->kind == TP_N_NAME && i < l->k->ndtypes; i++)
        if (tp_str_eq(l->k->dtypes[i].name, n->text))
            return l->k->dtypes[i].choice;
    tp_dtype d = n->kind == TP_N_NAME ? tp_dtype_find(n->text) : TP_NO_DTYPE;
    for (size_t i = 0; i < sizeof PYTHON / sizeof *PYTHON && l->reference && n->kind == TP_N_NAME; i++)
        d = tp_str_is(n->text, PYTHON[i].name) ? PYTHON[i].dtype : d;
    if (d != TP_NO_DTYPE)
        return d;
    tp_str names[TP_DTYPES];
    for (int i = 0; i < TP_DTYPES; i++)
        names[i] = tp_str_c(tp_dtype_info((tp_dtype)i)->name);
    tp_str near = n->kind == TP_N_NAME ? tp_nearest(n->text, names, TP_DTYPES) : (tp_str){NULL, 0};
    lower_fail(l, n, tp_did_you_mean(l->c->arena, near, "", "write a dtype such as float32"),
               "a dtype is expected here");
}

tp_expr lower_static_int(tp_lower *l, const tp_node *n, const char *what)
{
    tp_vid v = lower_expr(l, n);
    const tp_value *x = lower_value(l, v);
    if (x->dtype != TP_WEAK_INT)
        lower_fail(l, n, "use sizes and integer literals", "%s must be known from the sizes; this is %.*s", what,
                   TP_FMT(lower_type_text(l, v)));
    return x->meaning;
}

int64_t lower_literal_int(tp_lower *l, const tp_node *n, const char *what)
{
    int64_t v;
    tp_expr e = lower_static_int(l, n, what);
    if (!tp_expr_is_const(l->k->exprs, e, &v))
        lower_fail(l, n, NULL, "%s must be a literal integer", what);
    return v;
}

/* ---- arguments ---- */

static const char *takes(tp_lower *l, const char *const *params)
{
    tp_buf b = {.arena = l->c->arena};
    tp_buf_c(&b, "it takes ");
    for (uint32_t i = 0; params[i]; i++)
        tp_buf_printf(&b, "%s%s", i ? ", " : "", params[i]);
    return tp_buf_view(&b).p;
}

void lower_bind_args(tp_lower *l, const tp_node *n, uint32_t first, const char *const *params, uint32_t required,
                     const tp_node **out)
{
    uint32_t count = 0;
    while (params[count])
        out[count++] = NULL;
    for (uint32_t i = first; i < n->nkids; i++) {
        const tp_node *arg = n->kids[i];
        uint32_t at = i - first;
        if (arg->kind == TP_N_KEYWORD) {
            for (at = 0; at < count && !tp_str_is(arg->text, params[at]);)
                at++;
            if (at == count)
                lower_fail(l, arg, takes(l, params), "`%.*s` has no argument `%.*s`", TP_FMT(n->text),
                           TP_FMT(arg->text));
            arg = arg->kids[0];
        } else if (at >= count) {
            lower_fail(l, arg, NULL, "`%.*s` takes at most %u argument%s", TP_FMT(n->text), count,
                       count == 1 ? "" : "s");
        }
        if (out[at])
            lower_fail(l, arg, NULL, "argument `%s` is given twice", params[at]);
        out[at] = arg;
    }
    for (uint32_t i = 0; i < required; i++)
        if (!out[i])
            lower_fail(l, n, takes(l, params), "`%.*s` needs the argument `%s`", TP_FMT(n->text), params[i]);
}

int64_t lower_read_axis(tp_lower *l, const tp_node *n, uint32_t rank)
{
    int64_t axis = lower_literal_int(l, n, "an axis");
    if (axis < 0)
        axis += rank;
    if (axis < 0 || axis >= rank)
        lower_fail(l, n, NULL, "axis %lld of a value of rank %u", (long long)axis, rank);
    return axis;
}

/* Axes of a list or a single axis into ints[]; returns how many. */
uint32_t lower_read_axes(tp_lower *l, const tp_node *n, uint32_t rank, int64_t *ints)
{
    const tp_node *const *items = n->kind == TP_N_SEQUENCE ? (const tp_node *const *)n->kids : &n;
    uint32_t count = n->kind == TP_N_SEQUENCE ? n->nkids : 1;
    if (count > rank && count)
        lower_fail(l, n, NULL, "%u axes of a value of rank %u", count, rank);
    for (uint32_t i = 0; i < count; i++) {
        ints[i] = lower_read_axis(l, items[i], rank);
        for (uint32_t j = 0; j < i; j++)
            if (ints[j] == ints[i])
                lower_fail(l, items[i], NULL, "axis %lld appears twice", (long long)ints[i]);
    }
    return count;
}

bool lower_read_flag(tp_lower *l, const tp_node *n)
{
    if (!n)
        return false;
    const tp_inst *made = NULL;
    if (l->reference) { /* a name may stand for it */
        tp_vid v = lower_expr(l, n);
        made = lower_value(l, v)->dtype == TP_BOOL && (uint32_t)v < l->made.len ? l->made.at[v] : NULL;
    }
    if (made && made->prim == TP_P_LITERAL)
        return made->real != 0;
    if (n->kind != TP_N_NAME || (!tp_str_is(n->text, "True") && !tp_str_is(n->text, "False")))
        lower_fail(l, n, NULL, "True or False is expected");
    return tp_str_is(n->text, "True");
}

void lower_check_note(tp_lower *l, const tp_node *note, tp_vid v)
{
    const tp_value *x = lower_value(l, v);
    const tp_node *type = note->kind == TP_N_INDEX ? note->kids[0] : note;
    tp_dtype d = lower_dtype(l, lower_dtype_name(l, type));
    uint32_t rank = note->kind == TP_N_INDEX ? note->nkids - 1 : 0;
    tp_expr dims[TP_MAX_RANK];
    for (uint32_t i = 0; i < rank && i < TP_MAX_RANK; i++)
        dims[i] = lower_static_int(l, note->kids[i + 1], "a dimension");
    if (d != x->dtype || rank > TP_MAX_RANK || !lower_same_shape(l, x, rank, dims))
        lower_fail(l, note, "correct the note or the statement", "the note does not fit: the value is %.*s",
                   TP_FMT(lower_type_text(l, v)));
}
