/* Where a load or a store may start; TP202 has copies. Registers are tiles of rows and lanes; a start that the program
 * computes has to be a multiple of the tile, and the TPU compiler has to see it (E2003). A start that is written as a
 * number, or follows from the sizes, may be any. Measured ahead of time (jax 0.10.2, libtpu 0.0.42):
 * tests/oracle/tpu_kernel_oracle.jsonl. Violated is where a step starts elsewhere: nobody can prove that. */
#include "analyzer/flow/flow.h"

static bool is_visible(const tp_analysis *a, tp_expr e, int64_t k);

static bool is_product_visible(const tp_analysis *a, tp_expr factor, tp_expr other, int64_t k)
{
    int64_t v;
    if (!tp_expr_is_const(a->p, factor, &v))
        return tp_is_static(a, factor) || is_visible(a, factor, k);
    for (; k > 1 && v % 2 == 0; v /= 2)
        k /= 2;
    return is_visible(a, other, k);
}

/* Does the compiler see that e is a multiple of k, a power of two, where it is one? It follows sums, products, extremes
 * and choices. */
static bool is_visible(const tp_analysis *a, tp_expr e, int64_t k)
{
    const tp_expr_node *n = tp_expr_get(a->p, e);
    tp_expr_op op = n->op;
    if (k == 1 || tp_is_static(a, e))
        return true;
    if (op == TP_E_MUL)
        return is_product_visible(a, n->a, n->b, k) || is_product_visible(a, n->b, n->a, k);
    if (op == TP_E_NEG)
        return is_visible(a, n->a, k);
    if (op == TP_E_ADD || op == TP_E_SUB || op == TP_E_MIN || op == TP_E_MAX || op == TP_E_MOD)
        return is_visible(a, n->a, k) && is_visible(a, n->b, k);
    return op == TP_E_ITE && is_visible(a, n->b, k) && is_visible(a, n->c, k);
}

/* Of a window: may the rows of its array be a multiple of n? The array has larger tiles only then. */
static bool array_has_rows(const tp_analysis *a, const tp_operand *o, int64_t n)
{
    int64_t rows;
    o = tp_part_of_device(a->arena, o);
    return o->role == TP_SCRATCH || o->rank < 2 || !tp_expr_is_const(a->p, o->shape[o->rank - 2], &rows) ||
           rows % n == 0;
}

/* Rows of the tile of a ref that has this many. */
static int64_t tile_rows(const tp_analysis *a, const tp_operand *o)
{
    int64_t rows, tile = TP_SUBLANES;
    bool known = tp_expr_is_const(a->p, o->ref_shape[o->ref_rank - 2], &rows);
    int bits = tp_storage_bits(o->dtype);
    if (!known)
        return tile;
    if (bits < 16 && rows % (256 / bits) == 0 && array_has_rows(a, o, 256 / bits))
        tile = 256 / bits;
    while (tile / 2 >= rows && tile > 1)
        tile /= 2;
    return tile;
}

/* The rows of the largest tile that such a ref has at some sizes. */
static int64_t most_rows(const tp_analysis *a, const tp_operand *o)
{
    int64_t rows;
    int bits = tp_storage_bits(o->dtype);
    return bits < 16 && !tp_expr_is_const(a->p, o->ref_shape[o->ref_rank - 2], &rows) ? 256 / bits : TP_SUBLANES;
}

/* The largest tile is that of rows which it divides: of the ref and, of a window, of its array. */
static tp_expr misses_rows(tp_analysis *a, const tp_operand *o, int64_t tile)
{
    tp_expr n = num(a, tile), misses = tp_op1(a->p, TP_E_NOT, multiple(a, o->ref_shape[o->ref_rank - 2], n));
    o = tp_part_of_device(a->arena, o);
    if (o->role == TP_SCRATCH || o->rank < 2)
        return misses;
    return either(a, misses, tp_op1(a->p, TP_E_NOT, multiple(a, o->shape[o->rank - 2], n)));
}

/* What a start in this dimension has to be a multiple of; 1: anything goes. `lanes_move`: the start along the lanes is
 * computed, too. */
static int64_t tile_of(tp_analysis *a, const tp_use *u, bool lanes_move)
{
    const tp_operand *o = &a->k->operands[u->operand];
    int bits = tp_storage_bits(o->dtype);
    int64_t size, lanes;
    if (u->dim + 1 == o->ref_rank)
        return o->ref_rank == 1 ? TP_LANES * (32 / bits) : TP_LANES;
    if (u->dim + 2 != o->ref_rank)
        return 1;
    bool one = tp_expr_is_const(a->p, u->size, &size) && size == 1,
         narrow = tp_expr_is_const(a->p, o->ref_shape[o->ref_rank - 1], &lanes) && lanes <= TP_LANES;
    return bits == 32 && ((one && !lanes_move) || narrow) ? 1 : tile_rows(a, o);
}

/* Where sizes decide the tile, there may be a smaller one: of few rows, and of few lanes none. */
static tp_expr aligned(tp_analysis *a, const tp_use *u, int64_t tile)
{
    const tp_operand *o = &a->k->operands[u->operand];
    tp_expr goal = multiple(a, u->value, num(a, tile));
    if (u->dim + 1 == o->ref_rank)
        return goal;
    tp_expr rows = o->ref_shape[o->ref_rank - 2], lanes = o->ref_shape[o->ref_rank - 1];
    for (int64_t few = TP_SUBLANES / 2; few && !tp_expr_is_const(a->p, rows, NULL); few /= 2)
        goal = either(a, goal, both(a, mk(a, TP_E_LE, rows, num(a, few)), multiple(a, u->value, num(a, few))));
    int64_t most = most_rows(a, o);
    if (most > tile && tile >= TP_SUBLANES)
        goal = both(a, goal, either(a, misses_rows(a, o, most), multiple(a, u->value, num(a, most))));
    if (tp_storage_bits(o->dtype) == 32 && !tp_expr_is_const(a->p, lanes, NULL))
        goal = either(a, goal, mk(a, TP_E_LE, lanes, num(a, TP_LANES)));
    return goal;
}

static void check_start(tp_analysis *a, const tp_flow *f, const tp_use *u, bool lanes_move)
{
    const tp_operand *o = &a->k->operands[u->operand];
    if (o->memory != TP_MEM_VMEM || u->guarded || u->stride != 1 || tp_storage_bits(o->dtype) > 32)
        return;
    int64_t tile = tile_of(a, u, lanes_move);
    if (tile == 1 || (u->value.id && tp_is_static(a, u->value)))
        return;
    bool lanes = u->dim + 1 == o->ref_rank;
    int64_t most = lanes ? 1 : most_rows(a, o), seen = most > tile ? most : tile;
    tp_claim c = tp_use_claim(a, f, u);
    c.subject = o->name;
    c.proven = tp_message(
        a, "this access of `%.*s` starts at multiples of %lld in dimension %u%s", TP_FMT(o->name), (long long)tile,
        u->dim, seen > tile ? tp_printf(a->arena, ", of %lld where that divides the rows", (long long)seen).p : "");
    c.violated =
        tp_message(a, "this access of `%.*s` can start between the tiles of dimension %u", TP_FMT(o->name), u->dim);
    c.label = tp_message(a, "the start has to be a multiple of %lld", (long long)seen);
    c.note = TP_S("JAX lowering and both interpreters accept it; the TPU compiler fails with E2003, unless multiple_of "
                  "claims what is not so");
    if (!u->value.id && is_visible(a, u->text, seen)) {
        c.goal = num(a, 1);
        tp_claim_check(a, &c, NULL);
        return;
    }
    if (!u->value.id) {
        tp_use_unknown(a, &c, "the start depends on data: the compiler refuses it where no multiple_of claims it");
        return;
    }
    c.goal = aligned(a, u, tile);
    bool visible = is_visible(a, u->value, seen);
    if (!visible && seen > tile && is_visible(a, u->value, tile)) {
        tp_claim never = c;
        never.goal = misses_rows(a, o, seen);
        visible = tp_claim_decide(a, &never).verdict == TP_PROVEN;
    }
    if (!visible && tp_claim_decide(a, &c).verdict != TP_VIOLATED) {
        tp_use_unknown(a, &c, "the compiler does not see it where no multiple_of claims it");
        return;
    }
    c.unconditional = !visible; /* no bound on sizes makes the compiler see it */
    if (tp_expr_reads(a->p, u->value))
        c.approximate = "the start depends on a table: the compiler refuses it where no multiple_of claims it";
    const int64_t *env;
    tp_finding *found = tp_claim_check(a, &c, &env);
    if (found->verdict != TP_VIOLATED)
        return;
    int64_t start = 0;
    tp_expr_eval(a->p, u->value, env, &start);
    found->witness->detail = tp_message(a, "it starts at %lld", (long long)start);
    found->help = lanes ? TP_S("slice whole tiles and `roll`, or select by an iota")
                  : tp_storage_bits(o->dtype) < 32
                      ? TP_S("slice whole tiles, or keep the rows in a float32 or int32 buffer")
                      : TP_S("slice whole tiles, or one row at a time");
}

static bool starts_computed(const tp_analysis *a, const tp_access *access)
{
    for (uint32_t d = 0; access && d < a->k->operands[access->operand].ref_rank; d++) {
        if (access->subs[d].kind == TP_SUB_FULL)
            continue;
        const tp_value *start = &a->k->body->values.at[access->subs[d].start];
        if (start->dtype != TP_WEAK_INT || !tp_is_static(a, start->meaning))
            return true;
    }
    return false;
}

static bool is_asked(const tp_statement *s, void *ctx)
{
    const tp_access *all[] = {s->inst ? s->inst->access : NULL, s->access, s->from};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (starts_computed(ctx, all[i]))
            return true;
    return false;
}

/* Without a computed start nobody needs the flow, which a sweep would follow again for each shape. */
static void check(tp_analysis *a)
{
    if (!a->k->body || !tp_region_any(&a->k->body->statements, is_asked, a))
        return;
    const tp_flow *f = tp_flow_of(a);
    for (uint32_t i = 0; f && i < f->uses.len; i++)
        if (f->uses.at[i].kind == TP_USE_SLICE) {
            const tp_use *u = &f->uses.at[i], *next = u + 1; /* the next dimension of the same access */
            bool moves = i + 1 < f->uses.len && next->kind == TP_USE_SLICE && next->node == u->node &&
                         next->dim == u->dim + 1 && !(next->value.id && tp_is_static(a, next->value));
            check_start(a, f, u, moves);
        }
}

const tp_rule tp_rule_tp203_load_alignment = {
    .code = "TP203",
    .slug = "load-alignment",
    .title = "loads and stores whose start is computed begin at a tile",
    .severity = TP_ERROR,
    .follows = true,
    .hardware = true,
    .per_dtype = true,
    .as_written = true,
    .why =
        "A TPU loads and stores registers of 8 rows (32 of 8-bit types) by 128 lanes. Where the program computes the "
        "start of a slice, it has to be a multiple of that; single rows of 32-bit types may start anywhere, and so "
        "may slices of rows of at most 128 of their lanes, and slices of leading dimensions.",
    .bad = "\"x[:, ds(t * 64, 64)]\"",
    .good = "\"x[:, ds(t * 128, 128)]\"",
    .jax = "Lowering and both interpreters accept any start; the TPU compiler fails with E2003, \"cannot statically "
           "prove that index in dimension 1 is a multiple of 128\".",
    .check = check,
};
