/* Pipelines: axes and windows, as declared and as a statement runs them. */
#include "base/checked.h"
#include "spec/pipeline_writer.h"

/* ---- one of them: axes ---- */

/* Read once, before the first step: what a step changes is not part of it. */
static bool is_loaded(const tp_node *n, void *ctx)
{
    writer *w = ctx;
    const tp_name *base =
        n->kind == TP_N_INDEX && n->kids[0]->kind == TP_N_NAME ? tp_scope_find(&w->r->names, n->kids[0]->text) : NULL;
    tp_prim p = n->kind == TP_N_CALL ? tp_prim_find(n->text) : TP_PRIMS;
    return (n->kind == TP_N_INDEX && (!base || base->kind != TP_NAME_TABLE)) ||
           (p != TP_PRIMS && tp_prim_info(p)->class == TP_CLASS_MEMORY);
}

static void check_steady(writer *w, const tp_node *n)
{
    const tp_node *load = pipe_find_with_calls(&(walk){.functions = w->body, .test = is_loaded, .ctx = w}, n);
    if (load)
        tp_raise(w->c, TP_RULE_SPEC_TYPE, tp_node_loc(w->c, load),
                 "assign it to a name before the pipeline runs, or read a table that is not mutable",
                 "a pipeline copies ahead: its steps and index maps read sizes, axes, names and tables");
}

/* The number that a size or a quotient of sizes is at least; -1: not known. */
static int64_t least(writer *w, const tp_node *n)
{
    if (n->kind == TP_N_INT)
        return n->integer;
    if (n->kind == TP_N_NAME) {
        const tp_size *s = tp_size_find(w->r->k, n->text);
        int64_t v;
        return !s ? -1 : tp_is_open_size(s) ? tp_size_least(s) : tp_expr_is_const(w->r->k->exprs, s->expr, &v) ? v : -1;
    }
    if (n->kind == TP_N_CALL && n->nkids == 2 && tp_str_is(n->text, "cdiv") && least(w, n->kids[1]) >= 1)
        return least(w, n->kids[0]) >= 1 ? 1 : least(w, n->kids[0]);
    if (n->kind == TP_N_BINARY && n->op == TP_O_FLOORDIV && n->kids[1]->kind == TP_N_INT && n->kids[1]->integer > 0)
        return least(w, n->kids[0]) < 0 ? -1 : least(w, n->kids[0]) / n->kids[1]->integer;
    return -1;
}

void pipe_read_axes(writer *w, const tp_pipeline *p)
{
    const tp_json *grid = tp_json_get(p->declared, "grid");
    w->naxes = grid ? grid->u.items.n : 0;
    for (uint32_t i = 0; i < w->naxes; i++) {
        const tp_json *v = grid->u.items.at[i], *string = tp_json_get(v, "axis");
        axis *a = &w->axes[i];
        pipe_stand_at(w, string);
        *a = (axis){.name = string->u.string, .named = pipe_name(w, string->u.string)};
        for (uint32_t k = 0; k < i; k++)
            if (tp_str_eq(w->axes[k].name, a->name))
                tp_raise(w->c, TP_RULE_SPEC_NAME, string->loc, "choose another name", "the name `%.*s` is taken",
                         TP_FMT(a->name));
        a->steps = pipe_expression(w, tp_json_get(v, "steps"), "\"steps\"");
        pipe_count_steps(w->outer, &a->steps);
        check_steady(w, a->steps);
        for (uint32_t k = 0; k <= i; k++)
            if (pipe_mentions(a->steps, w->axes[k].name))
                tp_raise(w->c, TP_RULE_SPEC_NAME, tp_json_get(v, "steps")->loc,
                         "steps do not depend on axes of the same grid", "`%.*s` is an axis of this pipeline",
                         TP_FMT(w->axes[k].name));
        a->literal = a->steps->kind == TP_N_INT ? a->steps->integer : 0;
        a->moves = !pipe_is_number(a->steps, 1);
        a->runs = least(w, a->steps) >= 1;
    }
}

/* ---- one of them: windows ---- */

static tp_expr size_of(writer *w, const tp_node *n)
{
    return tp_int_expr_of(w->r, n, TP_NAME_SIZE, false);
}

/* K // D: what a device has of a dimension that is cut along these axes, as read_shards.c reads it, which says what is
 * wrong with them. */
static tp_node *part_of(writer *w, tp_node *extent, const tp_json *cut)
{
    tp_exprs *p = w->r->k->exprs;
    const tp_json *grid = tp_json_get(w->r->k->doc, "grid");
    tp_node *by_each = extent, *all = NULL;
    uint32_t n = cut->type == TP_J_STRING ? 1 : cut->type == TP_J_ARRAY ? cut->u.items.n : 0;
    for (uint32_t i = 0; i < n; i++) {
        const tp_json *along = cut->type == TP_J_STRING ? cut : cut->u.items.at[i];
        int at = along->type == TP_J_STRING ? tp_axis_find(w->r->k, along->u.string) : -1;
        if (at < 0)
            continue;
        tp_node *steps = pipe_expression(w, tp_json_get(grid->u.items.at[at], "steps"), "\"steps\"");
        by_each = pipe_operator(w, TP_O_FLOORDIV, by_each, steps);
        all = all ? pipe_operator(w, TP_O_MUL, all, steps) : steps;
    }
    if (!all)
        return extent;
    tp_expr back = tp_op2(p, TP_E_MUL, tp_expr_normal(p, size_of(w, by_each)), size_of(w, all));
    bool exact = tp_same(tp_expr_normal(p, back), tp_expr_normal(p, size_of(w, extent)));
    return exact ? by_each : pipe_operator(w, TP_O_FLOORDIV, extent, all);
}

static tp_node *extent_of(writer *w, const tp_json *array, uint32_t d)
{
    const tp_json *cuts = tp_member(w->c, array, "shard", TP_J_ARRAY, false);
    tp_node *extent = pipe_expression(w, tp_json_get(array, "shape")->u.items.at[d], "a dimension");
    return cuts && d < cuts->u.items.n ? part_of(w, extent, cuts->u.items.at[d]) : extent;
}

/* An index of an argument, as it is before the first step. */
static tp_node *once(writer *w, tp_node *n, tp_block *into)
{
    if (n->kind == TP_N_INT || n->kind == TP_N_NAME)
        return n;
    w->at = *n;
    tp_node *kept = pipe_name(w, pipe_fresh(w, TP_S("at")));
    pipe_statement(w, into, TP_S_ASSIGN, kept, n);
    return kept;
}

static void read_view(writer *w, window *x, const tp_node *arg, const tp_json *array, tp_block *into)
{
    uint32_t given = arg->kind == TP_N_INDEX ? arg->nkids - 1 : 0, d = 0;
    bool rest = given == 0;
    for (uint32_t i = 1; i <= given; i++) {
        tp_node *n = arg->kids[i];
        uint32_t fill = n->kind == TP_N_ELLIPSIS && !rest ? x->rank + 1 - given : 1;
        bool part = n->kind == TP_N_CALL && tp_str_is(n->text, "ds");
        rest |= n->kind == TP_N_ELLIPSIS;
        if (given > x->rank + rest || d + fill > x->rank)
            break;
        if (n->kind == TP_N_SLICE || (part && n->nkids != 2))
            tp_raise(w->c, TP_RULE_SPEC_TYPE, tp_node_loc(w->c, n), "write ds(start, size)",
                     "an argument of a pipeline is cut by indices and by ds(start, size)");
        for (; fill; fill--, d++)
            x->views[d] = n->kind == TP_N_ELLIPSIS || n->kind == TP_N_COLON ? (view){VIEW_ALL, NULL, NULL}
                          : part                                            ? (view){VIEW_PART, n->kids[0], n->kids[1]}
                                                                            : (view){VIEW_ONE, n, NULL};
    }
    if (given && d != x->rank)
        tp_raise(w->c, TP_RULE_SPEC_TYPE, tp_node_loc(w->c, arg), "one subscript for each dimension, or `...`",
                 "%u subscript%s for `%.*s` of rank %u", given, given == 1 ? "" : "s", TP_FMT(x->array), x->rank);
    for (d = 0; d < x->rank; d++) {
        view *v = &x->views[d];
        v->kind = given ? v->kind : VIEW_ALL;
        if (v->kind == VIEW_ALL)
            v->extent = extent_of(w, array, d);
        else
            v->at = once(w, v->at, into);
    }
}

static void find_array(writer *w, window *x, const tp_node *arg, tp_block *into)
{
    const tp_node *base = arg->kind == TP_N_INDEX ? arg->kids[0] : arg;
    bool output = false;
    const tp_json *array = base->kind == TP_N_NAME ? pipe_array_named(w, base->text, &output) : NULL,
                  *space = array ? tp_member(w->c, array, "memory_space", TP_J_STRING, false) : NULL;
    if (!space || (!tp_str_is(space->u.string, "any") && !tp_str_is(space->u.string, "hbm")))
        tp_raise(w->c, TP_RULE_SPEC_TYPE, tp_node_loc(w->c, arg),
                 array ? "add \"memory_space\": \"any\" to it, without a block_shape"
                       : "pass an input or an output in any or hbm, x or x[e, :, :]",
                 "a pipeline moves blocks of arrays in any or hbm");
    x->array = base->text;
    x->argument = arg;
    if (x->output && !output)
        tp_raise(w->c, TP_RULE_SPEC_TYPE, tp_node_loc(w->c, arg), "pass an output of the kernel",
                 "`%.*s` is an input; the pipeline's output `%.*s` writes it", TP_FMT(x->array), TP_FMT(x->name));
    const tp_json *shape = tp_member(w->c, array, "shape", TP_J_ARRAY, true),
                  *dtype = tp_member(w->c, array, "dtype", TP_J_STRING, true);
    x->rank = shape->u.items.n;
    if (!x->rank || x->rank > TP_MAX_RANK)
        tp_raise(w->c, TP_RULE_SPEC_VALUE, shape->loc, NULL, "a pipeline moves arrays of 1 to %d dimensions",
                 TP_MAX_RANK);
    pipe_stand_at(w, x->name_string);
    x->dtype = pipe_name(w, dtype->u.string);
    read_view(w, x, arg, array, into);
}

/* What surely divides a size, or the quotient of one by a divisor of it; else 1. */
static int64_t divisor_of(writer *w, tp_expr e)
{
    tp_exprs *p = w->r->k->exprs;
    const tp_expr_node *n = tp_expr_get(p, e);
    int64_t by;
    for (uint32_t s = 0; s < w->r->k->nsizes; s++) {
        const tp_size *size = &w->r->k->sizes[s];
        if (size->kind == TP_SIZE_RANGE && size->multiple_of > 1 && tp_same(size->expr, e))
            return size->multiple_of;
    }
    if ((n->op != TP_E_FLOORDIV && n->op != TP_E_CDIV) || !tp_expr_is_const(p, n->b, &by) || by < 1)
        return 1;
    int64_t of = divisor_of(w, n->a);
    return of % by == 0 ? of / by : 1;
}

/* Does the number b divide the extent for all sizes, or are they alike? What does not show is cut off at run time. */
static bool fits(writer *w, const tp_node *extent, const tp_node *block)
{
    tp_exprs *p = w->r->k->exprs;
    tp_expr e = size_of(w, extent), b = size_of(w, block);
    int64_t n;
    if (tp_same(tp_expr_normal(p, e), tp_expr_normal(p, b)))
        return true;
    if (!tp_expr_is_const(p, tp_expr_normal(p, b), &n) || n < 1)
        return false;
    tp_poly q;
    tp_poly_of(p, e, &q);
    for (uint32_t i = 0; q.ok && i < q.n; i++) {
        int64_t of = q.terms[i].coef;
        for (uint32_t f = 0; q.ok && f < q.terms[i].degree; f++)
            q.ok = tp_mul(of, divisor_of(w, q.terms[i].factors[f]), &of);
        q.ok = q.ok && of % n == 0;
    }
    return q.ok;
}

/* The extent in {"element": 16}, whose index counts elements; any other block dimension is returned as it is. Windows
 * of it may overlap, which copies that go out at the same time must not. */
static const tp_json *read_element(writer *w, window *x, uint32_t d, const tp_json *b)
{
    if (!b || b->type != TP_J_OBJECT)
        return b;
    tp_check_members(w->c, b, TP_OBJECT_ELEMENT);
    if (tp_json_get(b, "padding") || x->output)
        tp_raise(w->c, TP_RULE_SPEC_STRUCTURE, b->loc,
                 x->output ? "write the extent of the block; the index map counts in blocks"
                           : "begin at the element itself",
                 x->output ? "an output of a pipeline has no Element dimension"
                           : "an Element dimension of a pipeline has no padding");
    if (x->views[d].kind == VIEW_PART)
        tp_raise(w->c, TP_RULE_SPEC_STRUCTURE, b->loc, "pass the whole array, and add the start to the index",
                 "an Element dimension of a part of `%.*s`", TP_FMT(x->array));
    x->element[d] = true;
    const tp_json *extent = tp_json_get(b, "element");
    if (!extent)
        tp_raise(w->c, TP_RULE_SPEC_STRUCTURE, b->loc, "write {\"element\": 16}",
                 "the key \"element\" is missing here");
    return extent;
}

static void read_blocks(writer *w, window *x)
{
    const tp_json *block = tp_member(w->c, x->declared, "block_shape", TP_J_ARRAY, false),
                  *map = tp_member(w->c, x->declared, "index_map", TP_J_ARRAY, false);
    uint32_t rank = 0, at = 0, left = 0, cuts = 0;
    for (uint32_t d = 0; d < x->rank; d++)
        rank += x->views[d].kind != VIEW_ONE;
    if (!block != !map)
        tp_raise(w->c, TP_RULE_SPEC_STRUCTURE, (block ? block : map)->loc,
                 "write both, or none: the window is then the whole array",
                 block ? "block_shape without index_map" : "index_map without block_shape");
    if (block && (block->u.items.n != rank || map->u.items.n != rank)) {
        const tp_json *wrong = block->u.items.n != rank ? block : map;
        tp_raise(w->c, TP_RULE_SPEC_STRUCTURE, wrong->loc, "one entry per dimension of what the pipeline is given",
                 "%s has %u entr%s, the array has rank %u", wrong == block ? "block_shape" : "index_map",
                 wrong->u.items.n, wrong->u.items.n == 1 ? "y" : "ies", rank);
    }
    x->whole = true;
    for (uint32_t d = 0; d < x->rank; d++) {
        view *v = &x->views[d];
        if (v->kind == VIEW_ONE)
            continue;
        const tp_json *b = block ? block->u.items.at[at] : NULL, *m = map ? map->u.items.at[at] : NULL;
        at++;
        pipe_stand_at(w, m && m->type != TP_J_INT && m->type != TP_J_STRING ? x->name_string : m ? m : x->name_string);
        x->index_at[d] = m ? m : x->name_string;
        x->index[d] = m ? pipe_expression(w, m, "an index") : pipe_number(w, 0);
        pipe_count_steps(w, &x->index[d]);
        check_steady(w, x->index[d]);
        b = read_element(w, x, d, b);
        x->block[d] = !b ? v->extent : b->type == TP_J_NULL ? NULL : pipe_expression(w, b, "a block dimension");
        left += x->block[d] != NULL;
        if (v->kind == VIEW_PART && x->block[d] && !fits(w, v->extent, x->block[d]))
            tp_raise(w->c, TP_RULE_SPEC_VALUE, (b ? b : x->name_string)->loc,
                     "JAX would copy on to the end of the last tile, behind the part",
                     "a part of `%.*s` of which this block is no divisor", TP_FMT(x->array));
        x->cut[d] = x->block[d] && !x->element[d] && !fits(w, v->extent, x->block[d]);
        cuts += x->cut[d];
        x->whole &= x->block[d] && !x->element[d] &&
                    tp_same(tp_expr_normal(w->r->k->exprs, size_of(w, x->block[d])),
                            tp_expr_normal(w->r->k->exprs, size_of(w, v->extent)));
    }
    if (cuts > TP_MAX_PIPELINE_CUTS)
        tp_raise(w->c, TP_RULE_SPEC_VALUE, x->name_string->loc,
                 "give sizes of which the blocks are divisors, with \"multiple_of\"",
                 "the last blocks of a window may end behind its array in more than %d dimensions",
                 TP_MAX_PIPELINE_CUTS);
    if (!left)
        tp_raise(w->c, TP_RULE_SPEC_VALUE, x->name_string->loc, "leave one dimension, of 1 element perhaps",
                 "a window of a pipeline has at least one dimension");
}

static bool runs_another(const tp_block *b)
{
    bool found = false;
    for (uint32_t i = 0; i < b->len && !found; i++)
        found = b->at[i]->kind == TP_S_PIPELINE || runs_another(&b->at[i]->body) || runs_another(&b->at[i]->orelse);
    return found;
}

/* Does each step store to all of the window before anything else names it? Then none of them sees what it held. */
static bool is_filled(writer *w, const tp_pipeline *p, tp_str name)
{
    walk named = {.functions = w->body, .test = pipe_is_name, .ctx = &name};
    for (uint32_t i = 0; i < p->body.len; i++) {
        const tp_syntax *s = p->body.at[i];
        const tp_node *place = s->kind == TP_S_STORE && !s->augmented ? s->target : NULL;
        if (place && place->nkids == 2 && place->kids[1]->kind == TP_N_ELLIPSIS && pipe_is_of(place, name))
            return !pipe_find_with_calls(&named, s->value);
        const tp_block one = {.at = (tp_syntax **)&p->body.at[i], .len = 1};
        if (pipe_find_node(&named, &one) || runs_another(&one)) /* whose step sees the window, too */
            return false;
    }
    return false;
}

/* Which axis moves it last, and whether its turns have blocks of their own, or need none. */
static void find_level(writer *w, window *x, bool filled)
{
    bool named_all = true, named_last = false;
    x->level = -1;
    for (uint32_t i = 0; i < w->naxes; i++)
        for (uint32_t d = 0; d < x->rank; d++)
            if (x->index[d] && pipe_mentions(x->index[d], w->axes[i].name))
                x->level = (int)i;
    for (int i = 0; i <= x->level; i++) {
        bool named = false;
        for (uint32_t d = 0; d < x->rank; d++)
            named |= x->index[d] && pipe_follows(w, x->index[d], &w->axes[i]);
        named_all &= named || !w->axes[i].moves;
        named_last = named;
    }
    x->certain = x->level < 0 || (named_last && (named_all || w->axes[x->level].literal > 1)) || filled;
    x->whole &= x->level < 0;
}

static void read_buffers(writer *w, window *x)
{
    const tp_json *n = tp_member(w->c, x->declared, "buffers", TP_J_INT, false);
    int most = x->output ? 2 : TP_MAX_BUFFERS; /* of three, a block could go out twice at a time */
    if (n && (n->u.integer < 1 || n->u.integer > most))
        tp_raise(w->c, TP_RULE_SPEC_VALUE, n->loc, NULL, "\"buffers\" of an %s of a pipeline is 1 to %d",
                 x->output ? "output" : "input", most);
    tp_member(w->c, x->declared, "lookahead", TP_J_BOOL, false);
    x->buffers = x->whole ? 1 : n ? (int)n->u.integer : 2;
}

static void read_space(writer *w, window *x)
{
    const tp_json *space = tp_member(w->c, x->declared, "memory_space", TP_J_STRING, false);
    x->smem = space && tp_str_is(space->u.string, "smem");
    if (space && !x->smem && !tp_str_is(space->u.string, "vmem"))
        tp_raise(w->c, TP_RULE_SPEC_VALUE, space->loc, "vmem or smem", "no memory space of a window of a pipeline");
}

void pipe_read_windows(writer *w, const tp_pipeline *p, const tp_syntax *s, tp_block *into)
{
    const tp_json *lists[] = {tp_json_get(p->declared, "inputs"), tp_json_get(p->declared, "outputs")};
    w->ninputs = lists[0] ? lists[0]->u.items.n : 0;
    w->nwindows = w->ninputs + (lists[1] ? lists[1]->u.items.n : 0);
    w->windows = TP_NEWN(w->c->arena, window, w->nwindows + 1);
    if (s->value->nkids != w->nwindows)
        tp_raise(w->c, TP_RULE_SPEC_TYPE, tp_node_loc(w->c, s->value), "pass its inputs, then its outputs",
                 "the pipeline `%.*s` takes %u array%s, not %u", TP_FMT(p->name), w->nwindows,
                 w->nwindows == 1 ? "" : "s", s->value->nkids);
    for (uint32_t i = 0; i < w->nwindows; i++) {
        window *x = &w->windows[i];
        x->output = i >= w->ninputs;
        x->declared = lists[x->output]->u.items.at[x->output ? i - w->ninputs : i];
        x->name_string = tp_json_get(x->declared, "name");
        x->name = x->name_string->u.string;
        if (tp_map_get(&w->opened, x->name))
            x->name = pipe_fresh(w, x->name);
        else
            tp_map_set(w->c->arena, &w->opened, x->name, 1);
        find_array(w, x, s->value->kids[i], into);
        read_blocks(w, x);
        find_level(w, x, x->output && is_filled(w, p, x->name_string->u.string));
        read_buffers(w, x);
        read_space(w, x);
    }
}
