/* Which parts of a ref a TPU copies. Measured with libtpu 0.0.42, ahead of time (tests/oracle/tpu_copy_oracle.jsonl):
 * memory is tiled in the last two dimensions, and a copy takes whole tiles or a part of one. Of rows, `tile` to a tile,
 * `pack` of them in a word, it takes `size` from `start` where
 *  - tile divides start, and 8 divides size or the array ends there;
 *  - start is fixed, all lies in one tile, and pack divides start, and size or the array ends there;
 *  - start is not fixed, size is one of pack, 2 pack, ..., tile, and divides start and the array's rows.
 * Lanes are whole tiles of 128, or end with the array; of one dimension a tile are 128 words. A start that is not fixed
 * is a multiple where the compiler sees it (seen_multiple), and the array ends behind all of a dimension alone.
 */
#include "analyzer/flow/flow.h"
#include "spec/target.h"

typedef struct side {
    tp_analysis *a;
    tp_expr start, size, extent; /* start: no id, not known */
    bool fixed;                  /* the start is known where the kernel is compiled */
    bool strict; /* asked is what the compiler takes for certain, of what it sees; not what it may take if it saw all */
} side;

/* e = rest * what is returned, which is fixed; no id: e is no such product. */
static tp_expr last_factor(tp_analysis *a, tp_expr e, tp_expr *rest)
{
    const tp_expr_node *n = tp_expr_get(a->p, e);
    bool right = n->op == TP_E_MUL && tp_is_static(a, n->b);
    if (n->op != TP_E_MUL || (!right && !tp_is_static(a, n->a)))
        return (tp_expr){0};
    *rest = right ? n->a : n->b;
    return right ? n->b : n->a;
}

/* Does the compiler see that m divides e? A condition on sizes. It multiplies what is fixed, and looks through sums,
 * differences, remainders, minima and choices, of which m has to divide every part; not through maxima or quotients. */
static tp_expr seen_multiple(tp_analysis *a, tp_expr e, int64_t m)
{
    if (tp_is_static(a, e))
        return multiple(a, e, num(a, m));
    const tp_expr_node *n = tp_expr_get(a->p, e);
    tp_expr x = n->a, y = n->b;
    if (n->op == TP_E_NEG)
        return seen_multiple(a, x, m);
    if (n->op == TP_E_ITE)
        return both(a, seen_multiple(a, y, m), seen_multiple(a, n->c, m));
    if (n->op == TP_E_ADD || n->op == TP_E_SUB || n->op == TP_E_MOD || n->op == TP_E_MIN)
        return both(a, seen_multiple(a, x, m), seen_multiple(a, y, m));
    if (n->op != TP_E_MUL)
        return num(a, 0);
    tp_expr rest = e, product = num(a, 1);
    for (tp_expr by; (by = last_factor(a, rest, &rest)).id;)
        product = mk(a, TP_E_MUL, product, by);
    tp_expr seen = multiple(a, product, num(a, m));
    n = tp_expr_get(a->p, rest);
    x = n->op == TP_E_MUL ? n->a : rest;
    seen = either(a, seen, seen_multiple(a, x, m));
    return n->op == TP_E_MUL ? either(a, seen, seen_multiple(a, n->b, m)) : seen;
}

static tp_expr divides(const side *x, int64_t m)
{
    if (m == 1)
        return num(x->a, 1);
    if (!x->start.id)
        return num(x->a, 0);
    return x->strict && !x->fixed ? seen_multiple(x->a, x->start, m) : multiple(x->a, x->start, num(x->a, m));
}

/* Where the start is not known, that has to be all of the dimension. */
static tp_expr ends_there(const side *x)
{
    tp_analysis *a = x->a;
    return mk(a, TP_E_EQ, x->fixed ? mk(a, TP_E_ADD, x->start, x->size) : x->size, x->extent);
}

/* `unit` divides the start, and `least` the size, or the array ends there. */
static tp_expr in_units(const side *x, int64_t unit, int64_t least)
{
    tp_analysis *a = x->a;
    return both(a, divides(x, unit), either(a, multiple(a, x->size, num(a, least)), ends_there(x)));
}

static tp_expr within_a_tile(const side *x, int64_t tile, int64_t pack)
{
    tp_analysis *a = x->a;
    tp_expr goal = num(a, 0), t = num(a, tile);
    if (x->fixed) {
        tp_expr last = mk(a, TP_E_SUB, mk(a, TP_E_ADD, x->start, x->size), num(a, 1));
        goal = mk(a, TP_E_EQ, mk(a, TP_E_FLOORDIV, x->start, t), mk(a, TP_E_FLOORDIV, last, t));
        return both(a, goal, in_units(x, pack, pack));
    }
    for (int64_t n = pack; n <= tile; n *= 2) {
        tp_expr cut = both(a, mk(a, TP_E_EQ, x->size, num(a, n)), multiple(a, x->extent, num(a, n)));
        goal = either(a, goal, both(a, cut, divides(x, n)));
    }
    return goal;
}

static tp_expr rows(const side *x, int64_t tile, int64_t pack)
{
    return either(x->a, in_units(x, tile, TP_SUBLANES), within_a_tile(x, tile, pack));
}

/* 8- and 4-bit types have taller tiles where they divide the rows, except in narrow arrays, of 8 lanes and not of 16.
 */
static tp_expr rows_of_bytes(const side *x, const tp_operand *o, int64_t pack)
{
    enum { NARROW = 16 };
    tp_analysis *a = x->a;
    int64_t tall = TP_SUBLANES * pack;
    tp_expr is_tall = multiple(a, x->extent, num(a, tall)), taller = rows(x, tall, pack),
            usual = rows(x, TP_SUBLANES, pack);
    tp_expr goal = both(a, mk(a, TP_E_IMPLIES, is_tall, taller), either(a, is_tall, usual));
    if (!tp_is_far(o))
        return goal;
    tp_expr narrow = mk(a, TP_E_LT, o->ref_shape[o->ref_rank - 1], num(a, NARROW));
    tp_expr there = x->strict ? both(a, goal, usual) : either(a, goal, usual);
    return both(a, mk(a, TP_E_IMPLIES, narrow, there), either(a, narrow, goal));
}

/* Where one tile has all lanes, rows of 32 bits lie one behind the other; of rows of 16 bits v7x takes some parts, of
 * all rows v2 and v3. These take two words where later ones take one. */
static tp_expr rows_goal(const side *x, const tp_operand *o)
{
    tp_analysis *a = x->a;
    int generation = a->k->target.generation;
    int64_t pack = 32 / tp_storage_bits(o->dtype);
    if (pack >= 4 && generation > 3)
        return rows_of_bytes(x, o, pack);
    tp_expr usual = rows(x, TP_SUBLANES, generation <= 3 ? 2 * pack : pack),
            one_tile = mk(a, TP_E_LE, o->ref_shape[o->ref_rank - 1], num(a, TP_LANES));
    if (generation > 3 && pack == 1)
        return either(a, one_tile, usual);
    if (generation > 3 && generation < 7)
        return usual;
    tp_expr whole = both(a, divides(x, TP_SUBLANES), multiple(a, x->size, num(a, TP_SUBLANES)));
    return x->strict ? both(a, usual, either(a, whole, tp_op1(a->p, TP_E_NOT, one_tile))) : either(a, usual, one_tile);
}

static tp_expr goal_of(const side *x, const tp_operand *o, uint32_t dim)
{
    int64_t lanes = o->ref_rank == 1 ? TP_LANES * (32 / tp_storage_bits(o->dtype)) : TP_LANES;
    if (o->ref_rank == 1 && x->a->k->target.generation <= 3)
        lanes *= 2;
    return dim + 1 == o->ref_rank ? in_units(x, lanes, lanes) : rows_goal(x, o);
}

/* A pipeline copies of a block within which the array ends up to the end of the last tile; JAX asks then that blocks
 * are whole tiles of what it takes for them (jax/_src/pallas/mosaic/tpu_info.py, infer_tiling). */
static tp_expr is_whole_tiles(tp_analysis *a, const tp_operand *o, const tp_use *u)
{
    int64_t pack = (32 / tp_storage_bits(o->dtype)) * (a->k->target.generation < 4 ? 2 : 1);
    if (u->dim + 1 == o->ref_rank)
        return multiple(a, u->size, num(a, o->ref_rank == 1 ? pack * TP_LANES : TP_LANES));
    tp_expr usual = multiple(a, u->size, num(a, pack > TP_SUBLANES ? pack : TP_SUBLANES)),
            few = both(a, mk(a, TP_E_LE, u->extent, num(a, 4)), multiple(a, u->size, num(a, 4)));
    return pack <= 4 ? either(a, usual, few) : usual;
}

static tp_expr whole_goal(const side *x, const tp_operand *o, const tp_use *u)
{
    tp_expr goal = goal_of(x, o, u->dim);
    return u->cut ? both(x->a, goal, is_whole_tiles(x->a, o, u)) : goal;
}

static void check_side(tp_analysis *a, const tp_flow *f, const tp_use *u)
{
    const tp_operand *o = &a->k->operands[u->operand];
    tp_claim c = tp_use_claim(a, f, u);
    c.subject = o->name;
    c.proven = tp_message(a, "what is copied of `%.*s` along dimension %u are whole tiles, or lies in one",
                          TP_FMT(o->name), u->dim);
    c.violated = tp_message(a, "this copy cuts through tiles of `%.*s` along dimension %u", TP_FMT(o->name), u->dim);
    c.label = tp_message(a, "%.*s %s of %.*s", TP_FMT(tp_text(a, u->size)),
                         u->dim + 1 == o->ref_rank ? "lanes" : "rows", TP_FMT(tp_text(a, u->extent)));
    c.note = TP_S("JAX lowering accepts it; the TPU compiler (on a machine with a TPU) refuses it");
    side x = {.a = a, .start = u->text, .size = u->size, .extent = u->extent, .strict = true};
    x.fixed = u->value.id && tp_is_static(a, u->value);
    tp_claim taken = c;
    taken.goal = whole_goal(&x, o, u);
    tp_decision d = tp_claim_decide(a, &taken);
    if (d.verdict == TP_PROVEN) {
        tp_claim_record(a, &taken, d, NULL);
        return;
    }
    if (!u->value.id) {
        tp_use_unknown(a, &c, "the start depends on data");
        return;
    }
    x.start = u->value;
    x.strict = false;
    c.goal = whole_goal(&x, o, u);
    d = tp_claim_decide(a, &c);
    if (d.verdict == TP_PROVEN)
        tp_use_unknown(a, &c,
                       x.fixed ? "which tiles such an array or buffer has on this chip was not measured"
                               : "they are, but the TPU compiler does not see it; it takes them where "
                                 "pl.multiple_of says so");
    else
        tp_claim_record(a, &c, d, NULL);
}

/* What no start mends: strides, and one lane. */
static const char *structure(const tp_use *u, const tp_operand *o)
{
    if (u->stride > 1)
        return "the TPU lowering rejects strided copies";
    return u->stride == 0 && u->dim + 1 == o->ref_rank ? "the TPU compiler copies no single lane" : NULL;
}

static void check_structure(tp_analysis *a, const tp_use *u, const char *why)
{
    const tp_operand *o = &a->k->operands[u->operand];
    tp_finding *f = tp_add_finding(a, TP_VIOLATED, o->name, tp_body_loc(a, u->node, u->syntax),
                                   tp_message(a, "%s, of dimension %u of `%.*s`", why, u->dim, TP_FMT(o->name)));
    f->witness = TP_NEW(a->arena, tp_witness);
    f->witness->replay = "arithmetic";
    f->witness->dtypes = tp_dtypes_text(a->k);
}

static bool is_copy(const tp_statement *s, void *ctx)
{
    (void)ctx;
    return s->from || s->kind == TP_COPY_START || s->kind == TP_COPY_WAIT;
}

/* Without a copy nobody needs the flow, which a sweep would follow again for each shape. */
static void check(tp_analysis *a)
{
    if (!a->k->body || !tp_region_any(&a->k->body->statements, is_copy, NULL))
        return;
    const tp_flow *f = tp_flow_of(a);
    tp_flow_gave_up(a, f, false);
    for (uint32_t i = 0; f && i < f->uses.len; i++) {
        const tp_use *u = &f->uses.at[i];
        const tp_operand *o = &a->k->operands[u->operand];
        const char *why = u->kind == TP_USE_MOVED ? structure(u, o) : NULL;
        if (why)
            check_structure(a, u, why);
        else if (u->kind == TP_USE_MOVED && u->dim + 2 >= o->ref_rank && tp_storage_bits(o->dtype) <= 32)
            check_side(a, f, u); /* no chip has wider types: TP204 */
    }
}

const tp_rule tp_rule_tp202_slice_alignment = {
    .code = "TP202",
    .slug = "slice-alignment",
    .title = "copies move whole tiles, or parts of one",
    .severity = TP_ERROR,
    .follows = true,
    .hardware = true,
    .per_dtype = true,
    .why = "Memory is tiled in the last two dimensions: 128 lanes, and 8 rows (of 8-bit types 32, of 4-bit types 64 "
           "where they "
           "divide the array's). A copy moves whole tiles or a part of one, and the compiler has to see that it does.",
    .bad = "\"copy_start(x[ds(step * 4, 8), :], buf[...], sem)\"",
    .good = "\"copy_start(x[ds(step * 8, 8), :], buf[...], sem)\"",
    .jax = "Lowering accepts it; the TPU compiler fails (\"Offsets along tiled dimensions must be aligned to tiles\"). "
           "The interpreters run it.",
    .check = check,
};
