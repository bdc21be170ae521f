/* Loops of references that are written as expressions: comprehensions, scan, fori_loop, map, vmap, …; and what loops
 * run over. */
#include "spec/lower.h"

/* ---- turns ---- */

void lower_begin_turns(tp_lower *l, tp_repeat *t, tp_region *body, tp_expr n)
{
    *t = (tp_repeat){.outer = l->turns,
                     .n = n,
                     .before = l->region,
                     .branch = l->branch,
                     .level = l->level,
                     .var = lower_new_variable(l, TP_I32, 0, NULL),
                     .lo = -1,
                     .by = 1,
                     .index = -1};
    l->turns = t;
    l->region = body;
    l->branch++;
    l->level++;
}

void lower_end_turns(tp_lower *l, tp_repeat *t, tp_region *body, tp_vid lo, tp_vid hi, int64_t by)
{
    l->region = t->before;
    l->turns = t->outer;
    l->branch--;
    l->level--;
    tp_statement *statement = lower_statement(l, TP_LOOP);
    statement->var = t->var;
    statement->lo = lo;
    statement->hi = hi;
    statement->by = by;
    statement->body = *body;
}

static tp_vid row_of_turn(tp_lower *l, const tp_repeat *t, const tp_node *n)
{
    if (t->index >= 0)
        return t->index;
    tp_vid row = t->lo < 0 ? t->var : lower_binary(l, TP_P_SUB, t->var, t->lo, n);
    tp_vid by = lower_weak_int(l, tp_const(l->k->exprs, t->by));
    return t->by == 1 ? row : lower_binary(l, TP_P_FLOORDIV, row, by, n);
}

static tp_vid int32(tp_lower *l, tp_expr e, const tp_node *n)
{
    return lower_cast(l, lower_weak_int(l, e), TP_I32, n);
}

void lower_end_counted(tp_lower *l, tp_repeat *t, tp_region *body, const tp_node *n)
{
    tp_region *inside = l->region;
    l->region = t->before;
    tp_vid lo = int32(l, tp_const(l->k->exprs, 0), n), hi = int32(l, t->n, n);
    l->region = inside;
    lower_end_turns(l, t, body, lo, hi, 1);
}

/* Not a literal. */
tp_vid lower_strong(tp_lower *l, tp_vid v, const tp_node *n)
{
    tp_dtype d = lower_value(l, v)->dtype;
    return d == TP_WEAK_INT ? lower_cast(l, v, TP_I32, n) : d == TP_WEAK_FLOAT ? lower_cast(l, v, TP_F64, n) : v;
}

tp_vid lower_new_rows(tp_lower *l, tp_repeat *t, tp_vid v, const tp_node *n)
{
    tp_expr dims[TP_MAX_RANK + 1];
    tp_vid args[3 + TP_MAX_RANK];
    v = lower_strong(l, v, n);
    const tp_value x = *lower_value(l, v);
    if (x.rank == TP_MAX_RANK || lower_is_ragged(l, v))
        lower_fail(l, n, "assign it to a part of an array", "a list of %.*s", TP_FMT(lower_type_text(l, v)));
    dims[0] = t->n;
    if (x.rank)
        memcpy(dims + 1, x.dims, x.rank * sizeof *dims);
    tp_vid rows = lower_new_variable(l, x.dtype, x.rank + 1, dims);
    tp_region *inside = l->region;
    l->region = t->before;
    lower_assign_slot(l, rows, lower_broadcast(l, lower_literal(l, x.dtype, 0, n), x.rank + 1, dims, n));
    l->region = inside;
    dims[0] = tp_const(l->k->exprs, 1);
    args[0] = rows;
    args[1] = lower_reshape(l, v, x.rank + 1, dims, n);
    args[2] = row_of_turn(l, t, n);
    for (uint32_t d = 0; d < x.rank; d++)
        args[3 + d] = lower_weak_int(l, tp_const(l->k->exprs, 0));
    tp_vid out = lower_new_value(l, x.dtype, x.rank + 1, lower_value(l, rows)->dims);
    lower_emit(l, TP_P_DYNAMIC_UPDATE, out, 3 + x.rank, args, n);
    lower_assign_slot(l, rows, out);
    return rows;
}

tp_vid lower_element(tp_lower *l, tp_vid v, uint32_t axis, tp_vid index, bool stays, const tp_node *n)
{
    const tp_value x = *lower_value(l, v);
    tp_expr dims[TP_MAX_RANK], left[TP_MAX_RANK], *from = TP_NEWN(l->c->arena, tp_expr, x.rank);
    tp_vid args[1 + TP_MAX_RANK] = {v};
    if (lower_is_ragged(l, v))
        lower_fail(l, n, "loop over its elements", "a slice whose size is not known from the sizes");
    for (uint32_t d = 0, k = 0; d < x.rank; d++) {
        dims[d] = d == axis ? tp_const(l->k->exprs, 1) : x.dims[d];
        args[1 + d] = d == axis ? index : lower_weak_int(l, tp_const(l->k->exprs, 0));
        if (d != axis)
            left[k++] = x.dims[d];
    }
    tp_vid out = lower_new_value(l, x.dtype, x.rank, dims);
    tp_inst *inst = lower_emit(l, TP_P_DYNAMIC_SLICE, out, 1 + x.rank, args, n);
    inst->starts = from;
    inst->nints = x.rank;
    for (uint32_t d = 0; d < x.rank; d++)
        inst->ints[d] = 1;
    return stays ? out : lower_reshape(l, out, x.rank - 1, left, n);
}

/* ---- what a loop runs over ---- */

typedef enum source_kind { SOURCE_RANGE, SOURCE_ARRAY, SOURCE_ITEMS, SOURCE_ZIP, SOURCE_COUNTED } source_kind;

struct tp_series {
    source_kind kind;
    const tp_node *node;
    tp_vid lo, hi;     /* RANGE */
    int64_t by;        /* RANGE */
    tp_thing *object;  /* ARRAY, ITEMS */
    tp_series **parts; /* ZIP; COUNTED: one */
    uint32_t nparts;
    tp_expr first; /* COUNTED */
    bool backwards;
};

static tp_vid bound(tp_lower *l, const tp_node *n)
{
    tp_vid v = lower_expr(l, n);
    const tp_value *x = lower_value(l, v);
    if (x->rank || (x->dtype != TP_WEAK_INT && !tp_is_int(x->dtype)))
        lower_fail(l, n, "use sizes, literals or integer scalars", "a loop bound is an integer scalar, not %.*s",
                   TP_FMT(lower_type_text(l, v)));
    return x->dtype == TP_WEAK_INT ? v : lower_copy_of_slot(l, lower_promote(l, v, TP_I32, n), n);
}

static void range_source(tp_lower *l, tp_series *s, const tp_node *n)
{
    tp_vid zero = lower_weak_int(l, tp_const(l->k->exprs, 0));
    s->kind = SOURCE_RANGE;
    if (n->nkids < 1 || n->nkids > 3)
        lower_fail(l, n, "write: for t in range(lo, hi):", "a range has one to three arguments");
    s->lo = n->nkids == 1 ? zero : bound(l, n->kids[0]);
    s->hi = bound(l, n->kids[n->nkids == 1 ? 0 : 1]);
    s->by = n->nkids == 3 ? lower_literal_int(l, n->kids[2], "the step of a range") : 1;
    if (!s->by)
        lower_fail(l, n->kids[2], NULL, "the step of a range is not zero");
}

static tp_series *part_source(tp_lower *l, tp_series *s, const tp_node *n, uint32_t count)
{
    s->nparts = count;
    s->parts = TP_NEWN(l->c->arena, tp_series *, count);
    for (uint32_t i = 0; i < count; i++)
        s->parts[i] = lower_source(l, n->kids[i]);
    return s;
}

tp_series *lower_source(tp_lower *l, const tp_node *n)
{
    tp_series *s = TP_NEW(l->c->arena, tp_series);
    bool word = n->kind == TP_N_CALL && (n->prefixed || !lower_find_local(l, n->text));
    s->node = n;
    if (word && tp_str_is(n->text, "range")) {
        range_source(l, s, n);
    } else if (word && tp_str_is(n->text, "reversed") && n->nkids == 1) {
        s = lower_source(l, n->kids[0]);
        s->backwards = !s->backwards;
    } else if (word && tp_str_is(n->text, "enumerate") && (n->nkids == 1 || n->nkids == 2)) {
        const tp_node *first = n->nkids == 2 ? n->kids[1] : NULL;
        s->kind = SOURCE_COUNTED;
        first = first && first->kind == TP_N_KEYWORD ? first->kids[0] : first;
        s->first = first ? lower_static_int(l, first, "where the count begins") : tp_const(l->k->exprs, 0);
        return part_source(l, s, n, 1);
    } else if (word && tp_str_is(n->text, "zip") && n->nkids) {
        s->kind = SOURCE_ZIP;
        return part_source(l, s, n, n->nkids);
    } else {
        s->object = lower_frozen(l, lower_object(l, n), n);
        s->kind = s->object->kind == TP_THING_TUPLE ? SOURCE_ITEMS : SOURCE_ARRAY;
        if (s->kind == SOURCE_ARRAY && s->object->kind != TP_THING_ROWS)
            lower_object_value(l, s->object, n);
        if (s->kind == SOURCE_ARRAY && !lower_value(l, s->object->value)->rank)
            lower_fail(l, n,
                       "write: for t in range(lo, hi):", "a loop runs over range(...) or over values in parentheses");
    }
    return s;
}

uint32_t lower_source_memory(const tp_series *s)
{
    uint32_t memory = s->object ? s->object->memory : 0;
    for (uint32_t i = 0; i < s->nparts && !memory; i++)
        memory = lower_source_memory(s->parts[i]);
    return memory;
}

tp_expr lower_source_count(tp_lower *l, const tp_series *s)
{
    tp_exprs *p = l->k->exprs;
    tp_expr n = {0};
    switch (s->kind) {
    case SOURCE_RANGE: {
        const tp_value *lo = lower_value(l, s->lo), *hi = lower_value(l, s->hi);
        if (lo->dtype != TP_WEAK_INT || hi->dtype != TP_WEAK_INT)
            return n;
        tp_expr span =
            s->by > 0 ? tp_op2(p, TP_E_SUB, hi->meaning, lo->meaning) : tp_op2(p, TP_E_SUB, lo->meaning, hi->meaning);
        int64_t by = s->by > 0 ? s->by : -s->by;
        return tp_expr_normal(p, by == 1 ? span : tp_op2(p, TP_E_CDIV, span, tp_const(p, by)));
    }
    case SOURCE_ARRAY: return lower_value(l, s->object->value)->dims[0];
    case SOURCE_ITEMS: return tp_const(p, s->object->items.len);
    case SOURCE_ZIP:
    case SOURCE_COUNTED: break;
    }
    for (uint32_t i = 0; i < s->nparts; i++) {
        tp_expr other = lower_source_count(l, s->parts[i]);
        if (!other.id || (i && !lower_same_dim(l, n, other)))
            lower_fail(l, s->node, "loop over the indices: for i in range(n):",
                       "these are not known to have one number of elements");
        n = other;
    }
    return n;
}

tp_thing *lower_source_item(tp_lower *l, const tp_series *s, tp_vid index, const tp_node *n)
{
    tp_thing *items[TP_MAX_ZIPPED];
    tp_vid at = index;
    if (s->backwards)
        at = lower_binary(
            l, TP_P_SUB,
            lower_weak_int(l, tp_op2(l->k->exprs, TP_E_SUB, lower_source_count(l, s), tp_const(l->k->exprs, 1))), index,
            n);
    switch (s->kind) {
    case SOURCE_RANGE:
        at = s->by == 1 ? at : lower_binary(l, TP_P_MUL, at, lower_weak_int(l, tp_const(l->k->exprs, s->by)), n);
        return lower_value_object(l, lower_binary(l, TP_P_ADD, at, s->lo, n));
    case SOURCE_ARRAY: {
        tp_thing *x = lower_value_object(l, lower_element(l, s->object->value, 0, at, false, n));
        x->memory = lower_value(l, x->value)->rank ? s->object->memory : 0;
        return x;
    }
    case SOURCE_ITEMS: {
        double i;
        if (lower_number(l, at, &i) && i >= 0 && i < s->object->items.len)
            return s->object->items.at[(uint32_t)i];
        lower_fail(l, n, "loop over the list alone", "a list and an array of unknown length are taken together");
    }
    case SOURCE_ZIP:
    case SOURCE_COUNTED: break;
    }
    uint32_t counted = s->kind == SOURCE_COUNTED;
    if (s->nparts + counted > TP_MAX_ZIPPED)
        lower_fail(l, s->node, NULL, "at most %d arrays at a time", TP_MAX_ZIPPED);
    if (counted)
        items[0] = lower_value_object(l, lower_binary(l, TP_P_ADD, at, lower_weak_int(l, s->first), n));
    for (uint32_t i = 0; i < s->nparts; i++)
        items[i + counted] = lower_source_item(l, s->parts[i], at, n);
    return lower_tuple(l, s->nparts + counted, items);
}

bool lower_source_lists(const tp_series *s)
{
    bool found = s->kind == SOURCE_ITEMS;
    for (uint32_t i = 0; i < s->nparts && !found; i++)
        found = lower_source_lists(s->parts[i]);
    return found;
}

bool lower_source_items(tp_lower *l, const tp_series *s, tp_things *items)
{
    int64_t n;
    tp_expr count = lower_source_count(l, s);
    if (!count.id || !tp_expr_is_const(l->k->exprs, count, &n) || (n > TP_MAX_LISTED && !lower_source_lists(s)))
        return false;
    for (int64_t i = 0; i < n; i++) {
        tp_thing *x = lower_source_item(l, s, lower_weak_int(l, tp_const(l->k->exprs, i)), s->node);
        tp_push(l->c->arena, *items, x);
    }
    return true;
}

bool lower_source_range(const tp_series *s, tp_vid *lo, tp_vid *hi, int64_t *by)
{
    *lo = s->lo;
    *hi = s->hi;
    *by = s->by;
    return s->kind == SOURCE_RANGE && !s->backwards;
}

/* ---- comprehensions ---- */

void lower_bind_names(tp_lower *l, const tp_node *target, tp_thing *x, const tp_place *b)
{
    if (target->kind == TP_N_NAME) {
        lower_check_local(l, target);
        lower_define(l, target, target, x, b);
        return;
    }
    if (target->kind != TP_N_SEQUENCE || x->kind != TP_THING_TUPLE || x->items.len != target->nkids)
        lower_fail(l, target, NULL, "these names do not fit what the loop runs over");
    for (uint32_t i = 0; i < target->nkids; i++)
        lower_bind_names(l, target->kids[i], x->items.at[i], b);
}

/* The names of a comprehension are its own, and functions in it see them. */
static tp_frame *begin_frame(tp_lower *l)
{
    tp_frame *outer = l->frame, *own = TP_NEW(l->c->arena, tp_frame);
    *own = (tp_frame){.lexical = outer, .base = l->locals.len};
    outer->top = l->locals.len;
    l->frame = own;
    l->base = l->locals.len;
    return outer;
}

static void end_frame(tp_lower *l, tp_frame *outer, uint32_t base)
{
    tp_frame *own = l->frame;
    own->nkept = l->locals.len - own->base;
    own->kept = TP_NEWN(l->c->arena, tp_local, own->nkept);
    if (own->nkept)
        memcpy(own->kept, &l->locals.at[own->base], own->nkept * sizeof *own->kept);
    own->done = true;
    lower_drop_locals(l, own->base);
    l->frame = outer;
    l->base = base;
}

static tp_thing *list_comprehension(tp_lower *l, const tp_node *n, const tp_things *items)
{
    tp_thing *out = lower_tuple(l, 0, NULL);
    for (uint32_t i = 0; i < items->len; i++) {
        bool truth = true;
        tp_vid v;
        lower_spend_statement(l, n);
        lower_bind_names(l, n->kids[1], items->at[i], NULL);
        for (uint32_t c = 3; c < n->nkids && truth; c++)
            if (!lower_known(l, n->kids[c], &truth, &v))
                lower_fail(l, n->kids[c], "use where", "which elements the list has depends on data");
        if (!truth)
            continue;
        tp_thing *x = lower_frozen(l, lower_object(l, n->kids[0]), n->kids[0]);
        if (n->prefixed && x->kind != TP_THING_TUPLE)
            lower_fail(l, n->kids[0], "fill an array in a loop",
                       "a list of joined lists whose lengths depend on sizes");
        for (uint32_t k = 0; n->prefixed && k < x->items.len; k++)
            tp_push(l->c->arena, out->items, x->items.at[k]);
        if (!n->prefixed)
            tp_push(l->c->arena, out->items, x);
    }
    return out;
}

tp_thing *lower_comprehension(tp_lower *l, const tp_node *n)
{
    tp_series *s = lower_source(l, n->kids[2]); /* outside of its names */
    uint32_t base = l->base;
    tp_things items = {0};
    bool listed = lower_source_items(l, s, &items);
    tp_frame *outer = begin_frame(l);
    tp_thing *out = NULL;
    if (listed) {
        out = list_comprehension(l, n, &items);
    } else {
        tp_expr count = lower_source_count(l, s);
        tp_repeat t;
        tp_region body = {0};
        if (n->prefixed)
            lower_fail(l, n, "fill an array in a loop", "a list of joined lists whose lengths depend on sizes");
        if (n->nkids > 3)
            lower_fail(l, n->kids[3], "use where", "which elements the list has depends on data");
        if (!count.id)
            lower_fail(l, n->kids[2], "loop, and assign to a part of an array",
                       "how many elements this list has is not known from the sizes");
        lower_begin_turns(l, &t, &body, count);
        lower_bind_names(l, n->kids[1], lower_source_item(l, s, t.var, n->kids[2]), NULL);
        tp_thing *x = lower_object(l, n->kids[0]);
        out = TP_NEW(l->c->arena, tp_thing);
        *out = (tp_thing){.kind = TP_THING_ROWS};
        out->value = lower_new_rows(l, &t, lower_object_value(l, x, n->kids[0]), n);
        lower_end_counted(l, &t, &body, n);
    }
    end_frame(l, outer, base);
    return out;
}

/* ---- lists that grow ---- */

static bool contains(const tp_thing *x, const tp_thing *list)
{
    bool found = x == list;
    for (uint32_t i = 0; i < x->items.len && !found; i++)
        found = contains(x->items.at[i], list);
    return found;
}

void lower_append(tp_lower *l, const tp_node *n)
{
    tp_thing *list = lower_find_local(l, n->kids[0]->text)->object,
             *x = lower_frozen(l, lower_object(l, n->kids[1]), n->kids[1]);
    if (contains(x, list))
        lower_fail(l, n, NULL, "a list that contains itself");
    if (list->kind == TP_THING_TUPLE && list->turns == l->turns && list->branch == l->branch) {
        tp_push(l->c->arena, list->items, x);
        return;
    }
    bool rows = list->kind == TP_THING_TUPLE && !list->items.len && l->turns && list->turns == l->turns->outer &&
                list->branch == l->turns->branch && l->branch == l->turns->branch + 1 && l->turns->n.id;
    if (!rows)
        lower_fail(l, n, "make an array and assign its rows: o[i] = …",
                   "a list of a reference gets one element in each turn of one loop over a range of sizes");
    lower_check_lasting(l, n->kids[0]->text, x->memory);
    list->value = lower_new_rows(l, l->turns, lower_object_value(l, x, n->kids[1]), n);
    list->memory = x->memory;
    list->open = l->turns;
    list->kind = TP_THING_ROWS;
}
