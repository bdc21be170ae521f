/* Which operations a TPU has, and for which dtypes. Measured ahead of time (jax 0.10.2, libtpu 0.0.42): spec/mosaic.def
 * has what the lowering and the compiler say of each primitive and cast. Dots need a 32-bit accumulator.
 * float16 is neither loaded nor stored. */
#include "analyzer/flow/flow.h"

typedef struct place {
    const tp_inst *inst;
    const tp_syntax *syntax;
    const tp_value *values;
    bool *lanes; /* by value: made of an iota */
} place;

static void add_refusal(tp_analysis *a, tp_loc loc, tp_str help, tp_str what)
{
    tp_finding *f = tp_add_finding(a, TP_VIOLATED, a->k->name, loc, what);
    tp_witness *w = TP_NEW(a->arena, tp_witness);
    w->replay = "arithmetic";
    w->dtypes = tp_dtypes_text(a->k);
    f->witness = w;
    f->label = tp_message(a, "%.*s does not support this", TP_FMT(a->k->target.name));
    f->help = help;
}

static void refuse(tp_analysis *a, const place *at, const char *help, tp_str what)
{
    add_refusal(a, tp_body_loc(a, at->inst->node, at->syntax), help ? tp_str_c(help) : TP_S(""), what);
}

static const char *name_of(tp_dtype d)
{
    return tp_dtype_info(d)->name;
}

static void check_dot(tp_analysis *a, const place *at, tp_dtype in, tp_dtype out)
{
    const tp_inst *i = at->inst;
    if (i->ncontract != 1 || i->nbatch > 1 || !at->values[i->out].rank)
        refuse(
            a, at,
            i->ncontract == 1 && i->nbatch <= 1 ? "multiply and sum: `sum(x * y)`"
                                                : "reshape to one dimension, or loop over the batch",
            tp_message(
                a,
                "a dot over %u dimensions, in %u of a batch, with a result of rank %u is not lowered by Mosaic on %.*s",
                i->ncontract, i->nbatch, at->values[i->out].rank, TP_FMT(a->k->target.name)));
    else if (!tp_prim_compiles(TP_P_DOT, in, a->k->target.generation))
        refuse(a, at, "convert the operands to bfloat16 or float32",
               tp_message(a, "no dot of %s operands on %.*s", name_of(in), TP_FMT(a->k->target.name)));
    else if (tp_dtype_info(out)->bits != 32)
        refuse(a, at,
               tp_is_float(in) ? "add preferred_element_type=float32 and convert afterwards"
                               : "add preferred_element_type=int32 and convert afterwards",
               tp_message(a, "a dot of %s into %s: the accumulator has 32 bits", name_of(in), name_of(out)));
}

static void check_cast(tp_analysis *a, const place *at, tp_dtype in, tp_dtype out)
{
    int generation = a->k->target.generation;
    const char *help = NULL;
    if (tp_is_scale(out))
        help = "give the kernel scales that are converted already";
    else if (tp_cast_compiles(in, TP_F32, generation) && tp_cast_compiles(TP_F32, out, generation))
        help = "convert to float32 first";
    else if (tp_cast_compiles(in, TP_I32, generation) && tp_cast_compiles(TP_I32, out, generation))
        help = "convert to int32 first";
    refuse(a, at, help,
           tp_message(a, "no cast of %s to %s on %.*s", name_of(in), name_of(out), TP_FMT(a->k->target.name)));
}

/* Of a value; a ref has strides. */
static bool is_strided(const tp_inst *i)
{
    for (uint32_t n = 0; i->prim == TP_P_SLICE && n < i->nints; n++)
        if (i->ints[n] != 1)
            return true;
    return false;
}

/* Of primitives that the lowering has no rule for: the same with others. */
static const char *rewrite(tp_prim p)
{
    static const char *const TEXTS[TP_PRIMS] = {
        [TP_P_EXPM1] = "write `exp(x) - 1`, which has fewer digits where x is near 0",
        [TP_P_ERFC] = "write `1 - erf(x)`, which has fewer digits where x is large",
        [TP_P_PROD] = "multiply slice by slice, each from a number on: `p = p * slice(x, (0, t), (n, t + 1))`",
        [TP_P_FLIP] =
            "multiply by a matrix of 0 and 1: `dot(x, (row + column == n - 1).astype(float32))`; blocks turn in an "
            "index map",
        [TP_P_TAKE] = "multiply by a matrix of 0 and 1: `dot((index == lane).astype(float32), x)`; or let a prefetched "
                      "table pick "
                      "the block",
        [TP_P_DYNAMIC_SLICE] = "slice a ref: write the value to scratch, `buf[...] = x`, and load `buf[ds(i, n), :]`",
        [TP_P_DYNAMIC_UPDATE] = "write the value to scratch and store a part, `buf[ds(i, n), :] = v`, or select: "
                                "`where(iota == i, v, x)`",
        [TP_P_CUMSUM] = "multiply by a triangle of ones: `dot(x, (row <= column).astype(float32))`",
        [TP_P_CUMPROD] = "double the reach: `x = x * where(lane >= k, roll(x, k, axis=a), 1)` for k = 1, 2, 4, ...",
        [TP_P_CUMMAX] =
            "double the reach: `x = maximum(x, where(lane >= k, roll(x, k, axis=a), -inf))` for k = 1, 2, 4, ...",
        [TP_P_CUMMIN] =
            "double the reach: `x = minimum(x, where(lane >= k, roll(x, k, axis=a), inf))` for k = 1, 2, 4, ...",
    };
    return TEXTS[p];
}

/* The rule for gather takes one lane for each lane. An index that is made of an iota is a slice in other words. */
static bool gathers(const place *at)
{
    const tp_inst *i = at->inst;
    return i->prim == TP_P_TAKE && at->values[i->args[0]].rank >= 2 && at->values[i->args[1]].rank >= 1 &&
           !at->lanes[i->args[1]];
}

/* Masks of 8-bit integers from v5 on: those of v4 choose among 8-bit values alone. Scalars were not measured but for
 * their width. */
static bool computes(const tp_analysis *a, const place *at, tp_dtype d)
{
    tp_prim p = at->inst->prim;
    int generation = a->k->target.generation;
    bool narrow = tp_dtype_info(d)->bits <= 8 && d != TP_BOOL, scalar = !at->values[at->inst->out].rank;
    if (scalar && !narrow && !tp_prim_reduces(p))
        return d != TP_F16 && d != TP_F64;
    if (narrow && tp_prim_compares(p) && generation < 5)
        return false;
    return tp_prim_compiles(p, d, generation);
}

static void refuse_dtype(tp_analysis *a, const place *at, tp_dtype in)
{
    tp_prim p = at->inst->prim;
    bool integer = !tp_is_float(in) && in != TP_I32 && tp_prim_lowering(p)->since[TP_I32];
    refuse(a, at,
           integer        ? "convert to int32 first"
           : in != TP_F32 ? "convert to float32 first"
                          : NULL,
           tp_message(a, "no `%s` of %s on %.*s", tp_prim_info(p)->name, name_of(in), TP_FMT(a->k->target.name)));
}

static void check_inst(tp_analysis *a, const place *at)
{
    const tp_inst *i = at->inst;
    const tp_lowering *l = tp_prim_lowering(i->prim);
    tp_dtype in = i->nargs ? at->values[i->args[0]].dtype : at->values[i->out].dtype, out = at->values[i->out].dtype;
    bool table = tp_prim_is_elementwise(i->prim) || tp_prim_reduces(i->prim);
    if (i->prim == TP_P_LOAD && out == TP_F16 && a->k->operands[i->access->operand].memory == TP_MEM_VMEM)
        refuse(a, at, "give the kernel bfloat16 or float32",
               tp_message(a, "no load of float16 on %.*s", TP_FMT(a->k->target.name)));
    else if (i->prim == TP_P_DOT)
        check_dot(a, at, in, out);
    else if (!l->becomes && (table || tp_prim_scans(i->prim)))
        tp_add_finding(
            a, TP_UNKNOWN, a->k->name, tp_body_loc(a, i->node, at->syntax),
            tp_message(a, "could not decide: %.*s has `%s`", TP_FMT(a->k->target.name), tp_prim_info(i->prim)->name))
            ->reason = TP_S("the primitive was not measured (spec/mosaic.def)");
    else if (l->becomes && (l->missing[0] || gathers(at)))
        refuse(a, at, rewrite(i->prim),
               tp_message(a, "`%s` is not lowered by Mosaic on %.*s", tp_prim_info(i->prim)->name,
                          TP_FMT(a->k->target.name)));
    else if (i->prim == TP_P_CAST && !tp_is_weak(in) && (at->values[i->out].rank || tp_is_scale(out)) &&
             !tp_cast_compiles(in, out, a->k->target.generation))
        check_cast(a, at, in, out);
    else if (is_strided(i))
        refuse(a, at, "slice a ref with a stride: `x_ref[pl.ds(0, n, stride=2), :]`",
               tp_message(a, "a slice of a value with a stride is not lowered by Mosaic on %.*s",
                          TP_FMT(a->k->target.name)));
    else if (i->prim == TP_P_IOTA && tp_is_float(out))
        refuse(a, at, "make an int32 iota and convert it", tp_message(a, "no iota of %s", name_of(out)));
    else if (table && !tp_is_weak(in) && !computes(a, at, in))
        refuse_dtype(a, at, in);
}

static void check_region(tp_analysis *a, const tp_region *r, bool *lanes)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        if (s->kind == TP_COMPUTE) {
            lanes[s->inst->out] = s->inst->prim == TP_P_IOTA;
            for (uint32_t n = 0; n < s->inst->nargs; n++)
                lanes[s->inst->out] |= lanes[s->inst->args[n]];
            check_inst(a, &(place){s->inst, s->syntax, a->k->body->values.at, lanes});
        }
        check_region(a, &s->body, lanes);
        check_region(a, &s->orelse, lanes);
        check_region(a, &s->test, lanes);
    }
}

static tp_str text_of(const tp_json *object, const char *key)
{
    const tp_json *v = tp_json_get(object, key);
    return v && v->type == TP_J_STRING ? v->u.string : TP_S("");
}

/* The statements of the body, or of the step of the pipeline that the entry names; NULL: of none. */
static const tp_json *lines_of(const tp_json *doc, const tp_json *entry)
{
    const tp_json *all = tp_json_get(doc, "pipelines"), *n = tp_json_get(entry, "pipeline");
    if (!n)
        return tp_json_get(doc, "kernel");
    bool known =
        all && all->type == TP_J_ARRAY && n->type == TP_J_INT && n->u.integer >= 0 && n->u.integer < all->u.items.n;
    return known ? tp_json_get(all->u.items.at[n->u.integer], "kernel") : NULL;
}

/* What an importer wrote in other words, {"statement": 3, "what": …, "instead": …}, with "pipeline": 0 in the step of
 * one: the body shows no trace of it. */
static void check_imported(tp_analysis *a)
{
    const tp_json *python = tp_json_get(a->k->doc, "x-python"),
                  *list = python && python->type == TP_J_OBJECT ? tp_json_get(python, "not_lowered") : NULL;
    for (uint32_t i = 0; list && list->type == TP_J_ARRAY && i < list->u.items.n; i++) {
        const tp_json *entry = list->u.items.at[i],
                      *at = entry->type == TP_J_OBJECT ? tp_json_get(entry, "statement") : NULL;
        if (!at || at->type != TP_J_INT)
            continue;
        const tp_json *lines = lines_of(a->k->doc, entry);
        bool known = lines && lines->type == TP_J_ARRAY && at->u.integer >= 0 && at->u.integer < lines->u.items.n;
        add_refusal(a, tp_json_place(known ? lines->u.items.at[at->u.integer] : entry), text_of(entry, "instead"),
                    tp_message(a, "%.*s is not lowered by Mosaic on %.*s", TP_FMT(text_of(entry, "what")),
                               TP_FMT(a->k->target.name)));
    }
}

static void check(tp_analysis *a)
{
    uint32_t before = a->out->findings.len;
    if (!a->k->body)
        return;
    check_imported(a);
    check_region(a, &a->k->body->statements, TP_NEWN(a->arena, bool, a->k->body->values.len));
    if (a->out->findings.len == before)
        tp_add_finding(a, TP_PROVEN, a->k->name, a->k->doc->loc,
                       tp_message(a, "%.*s has every operation of the body for its dtypes", TP_FMT(a->k->target.name)))
            ->grade = TP_GRADE_EXACT;
}

const tp_rule tp_rule_tp204_dtype_support = {
    .code = "TP204",
    .slug = "dtype-support",
    .title = "the chip has every operation of the body for its dtypes",
    .severity = TP_ERROR,
    .hardware = true,
    .per_dtype = true,
    .why = "A TPU loads and stores more types than it computes with; narrow integers and float16 have to be converted, "
           "and the matrix unit accumulates in 32 bits. JAX's lowering has no rule for some primitives: erfc, expm1, "
           "running sums, reversal, gathers.",
    .bad = "\"acc[...] += dot(a, b)\"   of bfloat16 blocks",
    .good = "\"acc[...] += dot(a, b, preferred_element_type=float32)\"",
    .jax = "interpret=True computes it. The TPU lowering fails with an internal verifier's text (\"please file a "
           "bug\"), or the "
           "compiler does.",
    .check = check,
};
