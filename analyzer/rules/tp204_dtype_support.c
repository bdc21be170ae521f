/* Which operations a TPU has for which dtypes. Measured ahead of time with the
 * TPU compiler (jax 0.10.2, libtpu 0.0.42), v4 to 7x: dots need a 32-bit
 * accumulator and float32, bfloat16 or (from v5e) 8- and 4-bit operands;
 * elementwise arithmetic knows float32, bfloat16, int32, uint32, int16;
 * reductions float32, bfloat16, int32; nothing computes in float16 or float64. */
#include "analyzer/flow/flow.h"

typedef struct place {
    const tp_inst *inst;
    const tp_syntax *syntax;
} place;

static void refuse(tp_analysis *a, const place *at, const char *help, tp_str what)
{
    tp_loc loc = tp_body_loc(a, at->inst->node, at->syntax);
    tp_finding *f = tp_add_finding(a, TP_VIOLATED, a->k->name, loc, what);
    tp_witness *w = TP_NEW(a->arena, tp_witness);
    w->replay = "arithmetic";
    w->dtypes = tp_dtypes_text(a->k);
    f->witness = w;
    f->label = tp_message(a, "%.*s does not support this", TP_FMT(a->k->target.name));
    if (help)
        f->help = tp_str_c(help);
}

static const char *name_of(tp_dtype d)
{
    return tp_dtype_info(d)->name;
}

static bool dot_operands(const tp_analysis *a, tp_dtype d)
{
    int bits = tp_dtype_info(d)->bits, generation = a->k->target.generation;
    if (d == TP_F32 || (d == TP_BF16 && generation >= 4))
        return true;
    bool narrow = d == TP_I8 || d == TP_I4 || d == TP_F8E5M2 || d == TP_F8E4M3FN || d == TP_F8E4M3B11;
    return narrow && bits <= 8 && generation >= 5;
}

static void check_dot(tp_analysis *a, const place *at, tp_dtype in, tp_dtype out)
{
    if (!dot_operands(a, in))
        refuse(a, at, "convert the operands to bfloat16 or float32",
               tp_message(a, "no dot of %s operands on %.*s", name_of(in), TP_FMT(a->k->target.name)));
    else if (tp_dtype_info(out)->bits != 32)
        refuse(a, at,
               tp_is_float(in) ? "add preferred_element_type=float32 and convert afterwards"
                               : "add preferred_element_type=int32 and convert afterwards",
               tp_message(a, "a dot of %s into %s: the accumulator has 32 bits", name_of(in), name_of(out)));
}

/* Elementwise operations that compile (measured with libtpu 0.0.42): of 16-bit
 * integers all but minimum, maximum and shifts; of 8-bit ones the bitwise ones,
 * and from v5 on == and !=. */
static bool computes(const tp_analysis *a, tp_prim p, tp_dtype d)
{
    bool shift = p == TP_P_SHL || p == TP_P_SHR || p == TP_P_SHR_LOGICAL,
         bitwise = p == TP_P_AND || p == TP_P_OR || p == TP_P_XOR || p == TP_P_INVERT;
    if (d == TP_I16)
        return !shift && p != TP_P_MINIMUM && p != TP_P_MAXIMUM;
    if (d == TP_I8 || d == TP_U8)
        return bitwise || ((p == TP_P_EQ || p == TP_P_NE) && a->k->target.generation >= 5);
    return d == TP_F32 || d == TP_BF16 || d == TP_I32 || d == TP_U32 || d == TP_BOOL;
}

static void check_inst(tp_analysis *a, const place *at)
{
    const tp_inst *i = at->inst;
    const tp_value *values = a->k->body->values.at;
    tp_dtype in = i->nargs ? values[i->args[0]].dtype : values[i->out].dtype, out = values[i->out].dtype;
    bool reduction = tp_prim_reduces(i->prim);
    if (i->prim == TP_P_DOT) {
        check_dot(a, at, in, out);
    } else if (reduction && i->prim != TP_P_ANY && i->prim != TP_P_ALL && in != TP_F32 && in != TP_BF16 &&
               in != TP_I32) {
        refuse(a, at, "convert to float32 or int32 first",
               tp_message(a, "no reduction of %s on %.*s", name_of(in), TP_FMT(a->k->target.name)));
    } else if ((i->prim == TP_P_IS_FINITE || i->prim == TP_P_ARGMAX || i->prim == TP_P_ARGMIN) && in == TP_BF16) {
        refuse(a, at, "convert to float32 first", tp_message(a, "no %s of bfloat16", tp_prim_info(i->prim)->name));
    } else if (i->prim == TP_P_IOTA && tp_is_float(out)) {
        refuse(a, at, "make an int32 iota and convert it", tp_message(a, "no iota of %s", name_of(out)));
    } else if (tp_prim_is_elementwise(i->prim) && !tp_is_weak(in) && !computes(a, i->prim, in)) {
        refuse(a, at, tp_is_float(in) ? "convert to float32 first" : "convert to int32 first",
               tp_message(a, "no `%s` of %s on %.*s", tp_prim_info(i->prim)->name, name_of(in),
                          TP_FMT(a->k->target.name)));
    }
}

static void check_region(tp_analysis *a, const tp_region *r)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        if (s->kind == TP_COMPUTE)
            check_inst(a, &(place){s->inst, s->syntax});
        check_region(a, &s->body);
        check_region(a, &s->orelse);
        check_region(a, &s->test);
    }
}

static void check(tp_analysis *a)
{
    uint32_t before = a->out->findings.len;
    if (!a->k->body)
        return;
    check_region(a, &a->k->body->statements);
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
           "and "
           "the matrix unit accumulates in 32 bits.",
    .bad = "\"acc[...] += dot(a, b)\"   of bfloat16 blocks",
    .good = "\"acc[...] += dot(a, b, preferred_element_type=float32)\"",
    .jax = "interpret=True computes it. The TPU lowering fails with an internal verifier's text (\"please file a "
           "bug\"), or the "
           "compiler does.",
    .check = check,
};
