/* Which block shapes a TPU takes. Two sets of rules, told apart:
 *  - lowering: jax 0.10.2, jax/_src/pallas/mosaic/lowering.py,
 *    _check_block_mappings; rejected before anything is compiled;
 *  - compiler: what the TPU compiler rejects afterwards (measured ahead of
 *    time with libtpu 0.0.42): E2002 for 8- and 4-bit rows, scalar windows of a grid,
 *    rank-1 float16 windows, low Element padding, wider rank-1 tiles on v2, v3.
 */
#include "analyzer/claim/claim.h"
#include "base/checked.h"

typedef struct tiling {
    tp_analysis *a;
    const tp_operand *o;
    tp_expr last, rows, array_last, array_rows; /* rank >= 2: the last two dimensions */
} tiling;

static tiling tiling_of(tp_analysis *a, const tp_operand *o)
{
    tiling t = {.a = a, .o = o};
    if (o->rank >= 1) {
        t.last = o->dims[o->rank - 1].block;
        t.array_last = o->shape[o->rank - 1];
    }
    if (o->rank >= 2) {
        t.rows = o->dims[o->rank - 2].block;
        t.array_rows = o->shape[o->rank - 2];
    }
    return t;
}

/* b == extent or b % tile == 0 */
static tp_expr full_or_multiple(tp_analysis *a, tp_expr b, tp_expr extent, int64_t tile)
{
    if (tp_same(tp_expr_normal(a->p, b), tp_expr_normal(a->p, extent)))
        return num(a, 1);
    return either(a, mk(a, TP_E_EQ, b, extent), multiple(a, b, num(a, tile)));
}

/* Elements of a row of registers; 0: elements of 64 bits have no rows. */
static int64_t row_of(const tp_operand *o)
{
    return TP_LANES * (32 / tp_storage_bits(o->dtype));
}

/* Without a row only the whole dimension is legal for certain. */
static tp_expr rank1_goal(tp_analysis *a, const tiling *t)
{
    int64_t least = row_of(t->o), v;
    if (least == 0)
        return mk(a, TP_E_EQ, t->last, t->array_last);
    tp_expr g = full_or_multiple(a, t->last, t->array_last, 1024);
    if (tp_expr_is_const(a->p, t->last, &v)) /* only a constant can be checked for being a power of two at once */
        return v >= least && (v & (v - 1)) == 0 ? num(a, 1) : g;
    for (int64_t p = least; p < 1024; p *= 2)
        g = either(a, g, mk(a, TP_E_EQ, t->last, num(a, p)));
    return g;
}

/* Structural reasons, decided by looking. */
static const char *lowering_structure(tp_analysis *a, const tp_operand *o)
{
    uint32_t element = 0, blocked = 0;
    for (uint32_t d = 0; d < o->rank; d++) {
        element += o->dims[d].kind == TP_DIM_ELEMENT;
        blocked += o->dims[d].kind == TP_DIM_BLOCKED;
    }
    if (o->rank == 0)
        return "a rank-0 window outside SMEM";
    if (tp_is_far(o) && !tp_trivial_window(a, o))
        return "an operand in any/hbm takes no blocks: the window must be the whole array";
    if (element && blocked)
        return "Element and Blocked dimensions cannot be mixed: write a block n of the others as `{\"element\": n}`, "
               "its index in elements";
    return NULL;
}

static const char *compiler_structure(tp_analysis *a, const tp_operand *o)
{
    int64_t lo;
    if (o->rank == 0 && o->memory == TP_MEM_SMEM && a->k->naxes > 0) /* without a grid there are no windows */
        return "scalar windows of a grid are not implemented";
    if (o->dtype == TP_F16 && o->rank == 1 && o->memory == TP_MEM_VMEM)
        return "float16 windows of rank 1 are not supported";
    for (uint32_t d = 0; d < o->rank; d++)
        if (o->dims[d].kind == TP_DIM_ELEMENT && !(tp_expr_is_const(a->p, o->dims[d].pad_lo, &lo) && lo == 0))
            return "low padding of an Element dimension is not supported";
    return NULL;
}

static tp_expr compiler_goal(tp_analysis *a, const tiling *t)
{
    int bits = tp_dtype_info(t->o->dtype)->bits, gen = a->k->target.generation;
    if (t->o->rank == 1 && gen <= 3 && row_of(t->o) > 0)
        return full_or_multiple(a, t->last, t->array_last, 2 * row_of(t->o));
    if (t->o->rank < 2 || gen <= 3 || bits > 8 || t->o->dtype == TP_BOOL)
        return num(a, 1);
    int64_t tile = 256 / bits; /* 32 rows of 8 bits, 64 of 4 */
    tp_expr strict = full_or_multiple(a, t->rows, t->array_rows, tile);
    tp_expr exempt = tp_op1(a->p, TP_E_NOT, multiple(a, t->array_rows, num(a, tile)));
    if (bits == 8)
        exempt = either(a, exempt, mk(a, TP_E_LT, t->array_last, num(a, TP_LANES)));
    return either(a, strict, exempt);
}

/* Larger, where it is declared: as a size of its own, here, or everywhere. */
static void propose_block(tp_analysis *a, tp_finding *f, const tp_operand *o, uint32_t d, int64_t old, int64_t next)
{
    tp_loc at = o->dims[d].loc;
    const tp_size *named = tp_size_find(a->k, tp_source_text(a, at));
    if (named && named->kind == TP_SIZE_FIXED)
        tp_propose_expr(a, f, named->loc, tp_message(a, "%lld", (long long)next));
    if (!o->whole)
        tp_propose_expr(a, f, at, tp_message(a, "%lld", (long long)next));
    tp_propose_everywhere(a, f, old, next);
    if (!o->whole)
        tp_propose_expr(a, f, at, tp_text(a, o->shape[d]));
}

/* The next legal block for a constant one, re-proven; tile 0: there is none. */
static void suggest_block(tp_analysis *a, tp_finding *f, const tp_claim *c, const tp_operand *o, uint32_t d,
                          int64_t tile)
{
    int64_t b;
    if (!tp_expr_is_const(a->p, o->dims[d].block, &b) || b < 1)
        return;
    tp_claim fixed = *c;
    int64_t next;
    if (!tp_ceildiv(b, tile, &next) || !tp_mul(next, tile, &next))
        return;
    fixed.goal = full_or_multiple(a, num(a, next), o->shape[d], tile);
    if (next == b || tp_claim_decide(a, &fixed).verdict != TP_PROVEN)
        return;
    propose_block(a, f, o, d, b, next);
    int64_t whole;
    bool all = tp_expr_is_const(a->p, o->shape[d], &whole) && whole == next;
    f->help = all ? tp_message(a, "use the whole dimension, %lld", (long long)whole)
                  : tp_message(a, "use %lld (a multiple of %lld), or the whole dimension %.*s", (long long)next,
                               (long long)tile, TP_FMT(tp_text(a, o->shape[d])));
}

static bool check_goal(tp_analysis *a, const tp_operand *o, uint32_t d, tp_expr goal, int64_t tile, const char *who,
                       const char *requirement)
{
    tp_claim c = {
        .goal = goal,
        .subject = o->name,
        .loc = o->whole ? o->loc : o->dims[d].loc,
        .proven = tp_message(a, "dimension %u of the block of `%.*s` is legal for the %s", d, TP_FMT(o->name), who),
        .violated = tp_message(a, "the %s rejects dimension %u of the block of `%.*s`", who, d, TP_FMT(o->name)),
        .label = tp_message(a, "%.*s is neither %s nor the whole dimension (%.*s)",
                            TP_FMT(tp_text(a, o->dims[d].block)), requirement, TP_FMT(tp_text(a, o->shape[d]))),
    };
    tp_finding *f = tp_claim_check(a, &c, NULL);
    if (f->verdict != TP_VIOLATED)
        return true;
    suggest_block(a, f, &c, o, d, tile);
    if (strcmp(who, "TPU lowering") == 0)
        f->note = TP_S("JAX reports it only when it lowers for a TPU; interpret=True runs the kernel");
    else
        f->note = TP_S("JAX lowering accepts it; the TPU compiler (on a machine with a TPU) fails with E2002");
    return false;
}

static bool structural(tp_analysis *a, const tp_operand *o, const char *why, const char *who)
{
    if (why) {
        tp_finding *f = tp_add_finding(a, TP_VIOLATED, o->name, o->loc,
                                       tp_message(a, "the %s rejects `%.*s`: %s", who, TP_FMT(o->name), why));
        tp_witness *w = TP_NEW(a->arena, tp_witness);
        w->replay = "arithmetic";
        w->dtypes = tp_dtypes_text(a->k);
        f->witness = w;
    }
    return !why;
}

static void check_operand(tp_analysis *a, const tp_operand *o)
{
    static const char LOWERING[] = "TPU lowering", COMPILER[] = "TPU compiler";
    tiling t = tiling_of(a, o);
    uint32_t last = o->rank - 1;
    if (o->memory != TP_MEM_SMEM || !tp_trivial_window(a, o)) {
        bool ok = structural(a, o, lowering_structure(a, o), LOWERING);
        if (ok && o->rank == 1)
            ok = check_goal(
                a, o, 0, rank1_goal(a, &t), row_of(o) ? 1024 : 0, LOWERING,
                row_of(o)
                    ? tp_message(a, "a multiple of 1024, a power of two of at least %lld,", (long long)row_of(o)).p
                    : "a block of elements of at most 32 bits");
        if (ok && o->rank >= 2) {
            bool lanes = check_goal(a, o, last, full_or_multiple(a, t.last, t.array_last, TP_LANES), TP_LANES, LOWERING,
                                    "a multiple of 128");
            ok = check_goal(a, o, last - 1, full_or_multiple(a, t.rows, t.array_rows, TP_SUBLANES), TP_SUBLANES,
                            LOWERING, "a multiple of 8") &&
                 lanes;
        }
        if (!ok)
            return;
    }
    if (!structural(a, o, compiler_structure(a, o), COMPILER))
        return;
    tp_expr goal = compiler_goal(a, &t);
    int64_t always;
    if (!tp_expr_is_const(a->p, goal, &always) || !always)
        check_goal(a, o, o->rank == 1 ? 0 : last - 1, goal,
                   o->rank == 1 ? 2 * row_of(o) : 256 / tp_dtype_info(o->dtype)->bits, COMPILER,
                   "a multiple of the tile");
}

static void check(tp_analysis *a)
{
    for (uint32_t i = 0; i < a->k->ninputs + a->k->noutputs; i++)
        if (!tp_has_devices(a->k) || !tp_is_shard(&a->k->operands[i])) /* that is all of the array on its device */
            check_operand(a, tp_part_of_device(a->arena, &a->k->operands[i]));
}

const tp_rule tp_rule_tp201_block_tiling = {
    .code = "TP201",
    .slug = "block-tiling",
    .title = "block shapes are legal for the target's tiling",
    .severity = TP_ERROR,
    .hardware = true,
    .per_dtype = true,
    .why = "Registers are tiles of 8 sublanes by 128 lanes. The last two dimensions of a block must be multiples of "
           "(8, 128) or the whole dimension; rank-1 blocks have rules of their own; rows of 8- and 4-bit types need 32 "
           "and 64 where the array's rows are divisible by that.",
    .bad = "\"shape\": [\"M\", \"N\"], \"block_shape\": [8, 64]",
    .good = "\"shape\": [\"M\", \"N\"], \"block_shape\": [8, 128]",
    .jax = "Lowering for TPU rejects (8, 128) violations; the rules for 8- and 4-bit rows are checked by the TPU "
           "compiler only. interpret=True accepts all of them.",
    .check = check,
};
