/* The record as JSON: schema version 1, docs/report.schema.json. */
#include <math.h>

#include "base/jsonc.h"
#include "report/writing.h"
#include "spec/facts.h"
#include "spec/range.h"
#include "spec/table.h"

typedef struct json_object json;

static json *number(double v)
{
    char digits[40];
    if (!isfinite(v)) /* JSON has no infinity */
        return json_object_new_string(isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
    snprintf(digits, sizeof digits, "%.9g", v);
    return json_object_new_double_s(v, digits);
}

static json *strings(const tp_str *at, uint32_t n)
{
    json *list = json_object_new_array();
    for (uint32_t i = 0; i < n; i++)
        json_object_array_add(list, tp_jsonc_string_or_null(at[i]));
    return list;
}

static json *bindings(const tp_binding *at, uint32_t n)
{
    json *o = json_object_new_object();
    for (uint32_t i = 0; i < n; i++) {
        json *name = tp_jsonc_string(at[i].name); /* brings the final zero */
        json_object_object_add(o, json_object_get_string(name), json_object_new_int64(at[i].value));
        json_object_put(name);
    }
    return o;
}

static json *witness(const tp_witness *w)
{
    if (!w)
        return NULL;
    json *o = json_object_new_object();
    json_object_object_add(o, "sizes", bindings(w->sizes.at, w->sizes.len));
    json_object_object_add(o, "step", bindings(w->step.at, w->step.len));
    if (w->tables.len)
        json_object_object_add(o, "tables", bindings(w->tables.at, w->tables.len));
    json_object_object_add(o, "dtypes", tp_jsonc_string_or_null(w->dtypes));
    json_object_object_add(o, "replay", json_object_new_string(w->replay));
    json_object_object_add(o, "detail", tp_jsonc_string_or_null(w->detail));
    return o;
}

static json *rests_on(tp_str ids)
{
    json *a = json_object_new_array();
    for (size_t i = 0, end; i < ids.n; i = end + 2) { /* "F2, TP101" */
        for (end = i; end < ids.n && ids.p[end] != ',';)
            end++;
        json_object_array_add(a, tp_jsonc_string((tp_str){ids.p + i, end - i}));
    }
    return a;
}

/* Byte spans of the text as it was read. */
static json *fix(const tp_fix *f)
{
    if (!f)
        return NULL;
    json *o = json_object_new_object(), *edits = json_object_new_array();
    for (uint32_t i = 0; i < f->edits.len; i++) {
        json *e = json_object_new_object();
        json_object_object_add(e, "start", json_object_new_int64(f->edits.at[i].start));
        json_object_object_add(e, "end", json_object_new_int64(f->edits.at[i].end));
        json_object_object_add(e, "text", tp_jsonc_string(f->edits.at[i].text));
        json_object_array_add(edits, e);
    }
    json_object_object_add(o, "title", tp_jsonc_string(f->title));
    json_object_object_add(o, "narrows_sizes", json_object_new_boolean(f->requires.n > 0));
    json_object_object_add(o, "edits", edits);
    return o;
}

json *tp_finding_json(const tp_source *source, const tp_finding *f)
{
    json *o = json_object_new_object();
    tp_linecol at = tp_linecol_of(source, f->loc.start);
    const char *grade = tp_grade_name(f->grade);
    json_object_object_add(o, "rule", json_object_new_string(f->rule));
    json_object_object_add(o, "slug", json_object_new_string(f->slug));
    json_object_object_add(o, "verdict", json_object_new_string(tp_verdict_name(f->verdict)));
    json_object_object_add(o, "grade", grade ? json_object_new_string(grade) : NULL);
    json_object_object_add(o, "severity", json_object_new_string(tp_severity_name(f->severity)));
    json_object_object_add(o, "subject", tp_jsonc_string_or_null(f->subject));
    json_object_object_add(o, "pointer", tp_jsonc_string(f->loc.pointer));
    if (source->kernel_file.n)
        json_object_object_add(o, "file", tp_jsonc_string(tp_source_path(source, f->loc.start)));
    json_object_object_add(o, "line", json_object_new_int64(at.line));
    json_object_object_add(o, "column", json_object_new_int64(at.column));
    json_object_object_add(o, "message", tp_jsonc_string(f->message));
    json_object_object_add(o, "reason", tp_jsonc_string_or_null(f->reason));
    json_object_object_add(o, "note", tp_jsonc_string_or_null(f->note));
    json_object_object_add(o, "help", tp_jsonc_string_or_null(f->help));
    json_object_object_add(o, "holds_when", tp_jsonc_string_or_null(f->holds_when));
    json_object_object_add(o, "rests_on", rests_on(f->rests_on));
    json_object_object_add(o, "witness", witness(f->witness));
    json_object_object_add(o, "fix", fix(f->fix));
    json_object_object_add(o, "suppressed", f->suppressed ? tp_jsonc_string(f->suppress_reason) : NULL);
    return o;
}

/* "values": between what elements of inputs lie, where any says it. */
static void add_values(json *o, const tp_kernel *k)
{
    json *values = NULL;
    for (uint32_t i = 0; i < k->ninputs; i++) {
        tp_str text = tp_range_text(k->arena, k, &k->operands[i]);
        if (!text.n)
            continue;
        values = values ? values : json_object_new_array();
        json_object_array_add(values, tp_jsonc_string(text));
    }
    if (values)
        json_object_object_add(o, "values", values);
}

/* "arrays": {"y": "x"} where the array of `y` is that of `x`. */
static void add_arrays(json *o, const tp_kernel *k)
{
    json *arrays = NULL;
    for (uint32_t i = 0; i < k->ninputs; i++) {
        if (tp_array_of(k, i) == i)
            continue;
        arrays = arrays ? arrays : json_object_new_object();
        json_object_object_add(arrays, tp_cstr(k->arena, k->operands[i].name), tp_jsonc_string(tp_array_name(k, i)));
    }
    if (arrays)
        json_object_object_add(o, "arrays", arrays);
}

static json *domain(const tp_spec *spec)
{
    const tp_kernel *k = spec->kernels[0];
    json *o = json_object_new_object(), *sizes = json_object_new_object(), *where = json_object_new_array(),
         *facts = json_object_new_array();
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *s = &k->sizes[i];
        json *v = NULL;
        if (s->kind == TP_SIZE_FIXED)
            v = json_object_new_int64(s->min);
        else if (s->kind == TP_SIZE_DERIVED)
            v = tp_jsonc_string(tp_expr_text(k->exprs, s->expr));
        else {
            v = json_object_new_object();
            json_object_object_add(v, "min", json_object_new_int64(s->min));
            json_object_object_add(v, "max", json_object_new_int64(s->max));
            if (s->kind == TP_SIZE_RANGE && s->multiple_of > 1)
                json_object_object_add(v, "multiple_of", json_object_new_int64(s->multiple_of));
            json *in = s->kind == TP_SIZE_CHOICE ? json_object_new_array() : NULL;
            for (uint32_t c = 0; c < s->nchoices; c++)
                json_object_array_add(in, json_object_new_int64(s->choices[c]));
            if (in)
                json_object_object_add(v, "in", in);
        }
        json_object_object_add(sizes, tp_cstr(k->arena, s->name), v);
    }
    for (uint32_t i = 0; i < k->nwhere; i++)
        json_object_array_add(where, tp_jsonc_string(k->where[i].text));
    tp_implicit_facts implicit;
    tp_implicit_facts_of(k->arena, k, &implicit);
    for (unsigned id = TP_FACT_F1; id <= TP_FACT_F2; id++) {
        json *f = json_object_new_object(), *says = json_object_new_array();
        json_object_object_add(f, "id", json_object_new_string(tp_fact_names(id)));
        json_object_object_add(f, "text", json_object_new_string(tp_fact_text(id)));
        for (uint32_t i = 0; i < implicit.len; i++) /* what the sizes' bounds do not say already */
            if (implicit.at[i].id == id)
                json_object_array_add(says, tp_jsonc_string(tp_expr_text(k->exprs, implicit.at[i].says)));
        json_object_object_add(f, "says", says);
        json_object_array_add(facts, f);
    }
    json_object_object_add(o, "sizes", sizes);
    json_object_object_add(o, "where", where);
    json_object_object_add(o, "facts", facts);
    json *contracts = json_object_new_array();
    for (uint32_t i = 0; i < k->ncontracts; i++) {
        json *c = json_object_new_object();
        json_object_object_add(c, "id", tp_jsonc_string(k->contracts[i].id));
        json_object_object_add(c, "text", tp_jsonc_string(k->contracts[i].text));
        json_object_array_add(contracts, c);
    }
    json_object_object_add(o, "contracts", contracts);
    add_values(o, k);
    add_arrays(o, k);
    json_object_object_add(o, "origin", json_object_new_string(tp_sizes_inferred(k->doc) ? "inferred" : "declared"));
    return o;
}

/* null: none */
static json *bound(int64_t bytes)
{
    return bytes < 0 ? NULL : json_object_new_int64(bytes);
}

static json *memory(const tp_memory_table *t)
{
    if (!t->limit)
        return NULL;
    json *o = json_object_new_object(), *v = json_object_new_object(), *rows = json_object_new_array();
    for (uint32_t i = 0; i < t->rows.len; i++) {
        json *r = json_object_new_object();
        json_object_object_add(r, "name", tp_jsonc_string(t->rows.at[i].name));
        json_object_object_add(r, "buffers", json_object_new_int(t->rows.at[i].buffers));
        json_object_object_add(r, "data_bytes", bound(t->rows.at[i].data_bytes));
        json_object_object_add(r, "padded_bytes", bound(t->rows.at[i].padded_bytes));
        json_object_object_add(r, "bytes", bound(t->rows.at[i].bytes));
        json_object_array_add(rows, r);
    }
    json_object_object_add(v, "bytes", bound(t->bytes));
    json_object_object_add(v, "limit", json_object_new_int64(t->limit));
    json_object_object_add(v, "buffers", rows);
    json_object_object_add(o, "vmem", v);
    return o;
}

/* Worst error of each block; null when there is no grid of blocks. */
static json *error_blocks(const tp_output_diff *d)
{
    if (!d->rank)
        return NULL;
    json *o = json_object_new_object(), *shape = json_object_new_array(), *worst = json_object_new_array();
    size_t n = 1;
    for (uint32_t i = 0; i < d->rank; i++) {
        json_object_array_add(shape, json_object_new_int64(d->blocks[i]));
        n *= (size_t)d->blocks[i];
    }
    for (size_t i = 0; i < n; i++)
        json_object_array_add(worst, number(d->block_ulp[i]));
    json_object_object_add(o, "shape", shape);
    json_object_object_add(o, "max_ulp", worst);
    return o;
}

static json *output_diff(const tp_output_diff *d)
{
    json *o = json_object_new_object();
    json_object_object_add(o, "name", tp_jsonc_string(d->name));
    json_object_object_add(o, "max_abs", number(d->max_abs));
    json_object_object_add(o, "max_rel", number(d->max_rel));
    json_object_object_add(o, "max_ulp", number(d->max_ulp));
    json_object_object_add(o, "verdict", json_object_new_string(tp_tier_name(d->tier)));
    json_object_object_add(o, "reason", tp_jsonc_string_or_null(d->reason));
    json_object_object_add(o, "ratio", number(d->ratio));
    json_object_object_add(o, "tolerance_ratio", number(d->rounding));
    json_object_object_add(o, "compared", json_object_new_int64((int64_t)d->compared));
    json_object_object_add(o, "differing", json_object_new_int64((int64_t)d->differing));
    json *ulps = json_object_new_array();
    for (uint32_t i = 0; i < TP_ULP_BUCKETS; i++)
        json_object_array_add(ulps, json_object_new_int64((int64_t)d->ulps[i]));
    json_object_object_add(o, "ulp_histogram", ulps);
    json_object_object_add(o, "blocks", error_blocks(d));
    json_object_object_add(o, "worst", tp_jsonc_string_or_null(d->worst));
    json_object_object_add(o, "got", number(d->got));
    json_object_object_add(o, "want", number(d->want));
    json_object_object_add(o, "step", tp_jsonc_string_or_null(d->step));
    return o;
}

static json *algebra_of_case(const tp_algebra *x)
{
    json *o = json_object_new_object();
    bool equal = x->tier == TP_TIER_EQUAL;
    json_object_object_add(o, "verdict", json_object_new_string(tp_tier_name(x->tier)));
    json_object_object_add(o, "false_acceptance_log2", equal && isfinite(x->chance) ? number(-x->chance) : NULL);
    json_object_object_add(o, "maxima", json_object_new_string(x->ordered ? "ordered" : "oracle"));
    json_object_object_add(o, "uninterpreted_functions", json_object_new_boolean(x->tags));
    json_object_object_add(o, "worst", tp_jsonc_string_or_null(x->worst));
    json_object_object_add(o, "reason", tp_jsonc_string_or_null(x->reason));
    return o;
}

static json *bits_of_case(const tp_bits *x)
{
    json *o = json_object_new_object();
    json_object_object_add(o, "verdict", json_object_new_string(tp_tier_name(x->tier)));
    json_object_object_add(o, "integers_up_to", json_object_new_int64(x->range));
    json_object_object_add(o, "worst", tp_jsonc_string_or_null(x->worst));
    json_object_object_add(o, "reason", tp_jsonc_string_or_null(x->reason));
    return o;
}

static json *counts(const tp_tier_counts *n)
{
    json *o = json_object_new_object();
    json_object_object_add(o, "equal", json_object_new_int64(n->equal));
    json_object_object_add(o, "different", json_object_new_int64(n->different));
    json_object_object_add(o, "inconclusive", json_object_new_int64(n->inconclusive));
    json_object_object_add(o, "not_applicable", json_object_new_int64(n->none));
    return o;
}

static json *opinion(const tp_opinion *x)
{
    json *o = json_object_new_object(), *places = json_object_new_array();
    for (uint32_t i = 0; i < x->places.len; i++)
        json_object_array_add(places, tp_jsonc_string(x->places.at[i]));
    json_object_object_add(o, "equal", json_object_new_int64(x->equal));
    json_object_object_add(o, "within_bounds", json_object_new_int64(x->close));
    json_object_object_add(o, "different", json_object_new_int64(x->different));
    json_object_object_add(o, "inconclusive", json_object_new_int64(x->unsure));
    json_object_object_add(o, "not_reached", json_object_new_int64(x->not_reached));
    json_object_object_add(o, "sizes", tp_jsonc_string_or_null(x->reached));
    json_object_object_add(o, "first_not_reached", tp_jsonc_string_or_null(x->far));
    json_object_object_add(o, "not_reached_places", places);
    json_object_object_add(o, "left_out", json_object_new_int64(x->left_out));
    json_object_object_add(o, "first_left_out", tp_jsonc_string_or_null(x->left_out_at));
    json_object_object_add(o, "constants_left_out", json_object_new_int64(x->numbers_left_out));
    json_object_object_add(o, "seed", json_object_new_int64((int64_t)x->seed));
    return o;
}

static json *case_text(const tp_case *c)
{
    return tp_jsonc_string(tp_case_text(c->kernel->arena, c));
}

static json *all_sizes(const tp_equiv *e, const tp_equality *q, const tp_opinion *x)
{
    const tp_case_result *overflow = tp_equiv_overflow(e);
    json *o = json_object_new_object(), *rules = json_object_new_array(),
         *pairs = strings(q->constants.at, q->proven ? q->constants.len : 0);
    size_t n;
    const tp_rule *const *all = tp_rules(&n);
    for (size_t i = 0; q->proven && i < n; i++)
        if (all[i]->for_equality)
            json_object_array_add(rules, json_object_new_string(all[i]->code));
    for (unsigned id = TP_FACT_F1; q->proven && id <= TP_FACT_F2; id++)
        if (q->given & id)
            json_object_array_add(rules, json_object_new_string(tp_fact_names(id)));
    json_object_object_add(o, "verdict", json_object_new_string(q->proven ? "proven" : "unknown"));
    json_object_object_add(o, "grade", q->proven ? json_object_new_string(tp_grade_name(q->grade)) : NULL);
    json_object_object_add(o, "obligations", json_object_new_int64(q->obligations));
    json_object_object_add(o, "with_certificate", json_object_new_int64(q->certified));
    json_object_object_add(o, "rests_on", rules);
    json_object_object_add(o, "finite_masks", json_object_new_boolean(q->proven && q->masks));
    json_object_object_add(o, "outputs", json_object_new_int64(q->proven ? q->outputs : 0));
    json_object_object_add(o, "derivations_replayed", json_object_new_int64(q->proven ? q->replayed : 0));
    json_object_object_add(o, "rewriting", q->proven ? tp_jsonc_string(q->rewriting) : NULL);
    json_object_object_add(o, "casts_are_identity", json_object_new_boolean(q->proven && q->casts));
    json_object_object_add(o, "constants_taken_as_equal", pairs);
    json_object_object_add(o, "overflows_in", overflow ? case_text(overflow->the_case) : NULL);
    json_object_object_add(o, "second_opinion", x->asked ? opinion(x) : NULL);
    json_object_object_add(o, "reason", tp_jsonc_string_or_null(q->reason));
    json_object_object_add(o, "detail", tp_jsonc_string_or_null(q->detail));
    return o;
}

static json *algebra(const tp_equiv *e, const tp_equality *q, const tp_opinion *x)
{
    json *o = json_object_new_object(), *box = counts(&e->box);
    const char *tier = q->proven ? "E5" : tp_tier_e4.holds(e) ? "E4" : tp_tier_e3.holds(e) ? "E3" : NULL;
    json_object_object_add(box, "shapes", json_object_new_int64((int64_t)e->box_shapes));
    json_object_object_add(box, "sizes", tp_jsonc_string_or_null(e->box_text));
    json_object_object_add(box, "blocks", tp_jsonc_string_or_null(e->blocks));
    json_object_object_add(box, "held", tp_jsonc_string_or_null(e->box_constants));
    json_object_object_add(o, "tier", tier ? json_object_new_string(tier) : NULL);
    json_object_object_add(o, "cases", counts(&e->algebra));
    json_object_object_add(o, "box", box);
    json_object_object_add(o, "all_sizes", all_sizes(e, q, x));
    json_object_object_add(o, "false_acceptance_log2", isfinite(e->chance) ? number(-e->chance) : NULL);
    json_object_object_add(o, "maxima", json_object_new_string(e->ordered ? "ordered" : "oracle"));
    json_object_object_add(o, "uninterpreted_functions", json_object_new_boolean(e->tags));
    json_object_object_add(o, "reason",
                           tp_jsonc_string_or_null(e->algebra_reason.n ? e->algebra_reason : e->box_reason));
    return o;
}

static json *rounding(const tp_equiv *e)
{
    json *o = json_object_new_object();
    json_object_object_add(o, "tier", tp_tier_e1.holds(e) ? json_object_new_string("E1") : NULL);
    json_object_object_add(o, "cases", json_object_new_int64(e->equal));
    json_object_object_add(o, "worst_ratio", e->worst ? number(e->worst->ratio) : NULL);
    json_object_object_add(o, "tolerance_ratio", e->unstable ? number(e->unstable->rounding) : NULL);
    return o;
}

static json *bits(const tp_equiv *e)
{
    json *o = json_object_new_object();
    json_object_object_add(o, "tier", tp_tier_e2.holds(e) ? json_object_new_string("E2") : NULL);
    json_object_object_add(o, "cases", counts(&e->bits));
    json_object_object_add(o, "reason", tp_jsonc_string_or_null(e->bits_reason));
    return o;
}

static void add_covered(json *o, const tp_coverage_count *c)
{
    for (int k = 0; k < TP_POINT_KINDS; k++) {
        json *of = json_object_new_object();
        json_object_object_add(of, "covered", json_object_new_int64(c->covered[k]));
        json_object_object_add(of, "points", json_object_new_int64(c->points[k]));
        json_object_object_add(o, tp_point_kind_name((tp_point_kind)k), of);
    }
    json_object_object_add(o, "gaps", strings(c->gaps.at, c->gaps.len));
}

/* What the cases went through. */
static json *coverage(const tp_coverage_summary *c)
{
    json *o = json_object_new_object(), *each = json_object_new_array(), *pairs = json_object_new_object();
    add_covered(o, &c->any);
    for (uint32_t i = 0; i < c->each.len; i++) {
        json *one = json_object_new_object();
        json_object_object_add(one, "dtypes", tp_jsonc_string_or_null(c->each.at[i].dtypes));
        add_covered(one, &c->each.at[i]);
        json_object_array_add(each, one);
    }
    json_object_object_add(o, "by_dtypes", each);
    json_object_object_add(pairs, "covered", json_object_new_int64((int64_t)c->pairs.covered));
    json_object_object_add(pairs, "pairs", json_object_new_int64((int64_t)c->pairs.pairs));
    json_object_object_add(pairs, "gaps", strings(c->pairs.gaps.at, c->pairs.gaps.len));
    json_object_object_add(pairs, "unnamed", json_object_new_int64((int64_t)c->pairs.unnamed));
    json_object_object_add(o, "pairs", pairs);
    return o;
}

/* What a case ran on beside its sizes: `run --fill` does it again. */
static void add_inputs(json *o, const tp_equiv *e, const tp_case_result *r)
{
    const tp_case *c = r->the_case;
    json *families = json_object_new_array();
    tp_str tables = tp_tables_text(c->kernel->arena, c->kernel, c->env);
    for (int f = 0; f < TP_INPUT_FAMILIES; f++)
        if (f == TP_INPUT_NORMAL ? c->numbers
                                 : (c->families & TP_INPUT_BIT(f)) || (f == TP_INPUT_FRACTIONS && r->fractions))
            json_object_array_add(families, json_object_new_string(tp_input_name((tp_input_family)f)));
    json_object_object_add(o, "entry", c->listed ? json_object_new_int64(c->listed - 1) : NULL);
    json_object_object_add(o, "seed", json_object_new_int64((int64_t)(e->seed + c->seed)));
    json_object_object_add(o, "inputs", families);
    json_object_object_add(o, "tables", tables.n ? json_tokener_parse(tp_cstr(c->kernel->arena, tables)) : NULL);
}

static json *one_case(const tp_equiv *e, const tp_case_result *r)
{
    static const char *const NAMES[] = {"equal", "different", "trapped", "skipped"};
    const tp_kernel *k = r->the_case->kernel;
    json *c = json_object_new_object(), *sizes = json_object_new_object(), *outputs = json_object_new_array();
    for (uint32_t s = 0; s < k->nsizes; s++)
        if (tp_is_open_size(&k->sizes[s]))
            json_object_object_add(sizes, tp_cstr(k->arena, k->sizes[s].name),
                                   json_object_new_int64(r->the_case->env[k->sizes[s].sym]));
    for (uint32_t d = 0; d < r->outputs.len; d++)
        json_object_array_add(outputs, output_diff(&r->outputs.at[d]));
    json_object_object_add(c, "sizes", sizes);
    json_object_object_add(c, "dtypes", tp_jsonc_string_or_null(tp_dtypes_text(k)));
    add_inputs(c, e, r);
    json_object_object_add(c, "outcome", json_object_new_string(NAMES[r->outcome]));
    json_object_object_add(c, "steps", json_object_new_int64(r->steps));
    json_object_object_add(c, "trap", r->outcome == TP_TRAPPED ? json_object_new_string(r->trap.rule) : NULL);
    json_object_object_add(c, "message", tp_jsonc_string_or_null(r->trap.message));
    json_object_object_add(c, "outputs", outputs);
    json_object_object_add(c, "algebra", r->outputs.len ? algebra_of_case(&r->algebra) : NULL);
    json_object_object_add(c, "bits", r->outputs.len ? bits_of_case(&r->bits) : NULL);
    return c;
}

/* lean: without cases that are equal; the tiers count them, and their seeds make them again. */
static json *equivalence(const tp_equiv *e, const tp_equality *q, const tp_opinion *x, bool lean)
{
    if (!e)
        return NULL;
    json *o = json_object_new_object(), *cases = json_object_new_array();
    for (uint32_t i = 0; i < e->cases.len; i++)
        if (!lean || e->cases.at[i].outcome != TP_EQUAL)
            json_object_array_add(cases, one_case(e, &e->cases.at[i]));
    json_object_object_add(
        o, "verdict",
        json_object_new_string(e->different + e->trapped || (e->unstable && e->unstable->rounding > 1) ? "violated"
                               : e->equal                                                              ? "tested"
                                                                                                       : "unknown"));
    json_object_object_add(o, "tested", json_object_new_int64(e->equal));
    json_object_object_add(o, "seed", json_object_new_int64((int64_t)e->seed));
    json_object_object_add(o, "algebra", algebra(e, q, x));
    json_object_object_add(o, "rounding", rounding(e));
    json_object_object_add(o, "bits", bits(e));
    json_object_object_add(o, "coverage", coverage(&e->coverage));
    json_object_object_add(o, "left_out_for_memory", json_object_new_int64(e->out_of_memory));
    json_object_object_add(o, "cases", cases);
    return o;
}

static json *spec(const tp_spec_report *s, bool lean)
{
    json *o = json_object_new_object(), *list = json_object_new_array();
    json_object_object_add(o, "path", tp_jsonc_string(s->source->path));
    json_object_object_add(o, "name", tp_jsonc_string_or_null(s->name));
    json_object_object_add(o, "sha256", tp_jsonc_string_or_null(s->sha256));
    json_object_object_add(o, "target", s->spec ? tp_jsonc_string(s->spec->kernels[0]->target.name) : NULL);
    json_object_object_add(o, "domain", s->spec ? domain(s->spec) : NULL);
    json_object_object_add(o, "status", json_object_new_string(s->valid ? "ok" : "invalid"));
    for (uint32_t i = 0; i < s->findings.len; i++)
        json_object_array_add(list, tp_finding_json(s->source, &s->findings.at[i]));
    json_object_object_add(o, "findings", list);
    json_object_object_add(o, "memory", memory(&s->vmem));
    json_object_object_add(o, "equivalence", equivalence(s->equiv, &s->equality, &s->opinion, lean));
    return o;
}

static json *shard(const tp_report *r)
{
    json *o = json_object_new_object(), *positions = json_object_new_array();
    for (uint32_t i = 0; i < r->specs.len; i++)
        json_object_array_add(positions, json_object_new_int64(r->shard.positions[i]));
    json_object_object_add(o, "index", json_object_new_int64(r->shard.index));
    json_object_object_add(o, "of", json_object_new_int64(r->shard.of));
    json_object_object_add(o, "specs", json_object_new_int64(r->shard.specs));
    json_object_object_add(o, "positions", positions);
    json_object_object_add(o, "exit", json_object_new_int(tp_report_exit_code(r)));
    return o;
}

static bool is_nothing(json *o)
{
    return !o || (json_object_is_type(o, json_type_array) && json_object_array_length(o) == 0);
}

/* Errors by blocks, of which there is none. */
static bool is_flat(json *o)
{
    json *worst;
    if (!json_object_is_type(o, json_type_object) || !json_object_object_get_ex(o, "max_ulp", &worst) ||
        !json_object_is_type(worst, json_type_array))
        return false;
    for (size_t i = 0; i < json_object_array_length(worst); i++)
        if (json_object_get_double(json_object_array_get_idx(worst, i)) != 0)
            return false;
    return true;
}

static void drop_nothing(json *o)
{
    if (json_object_is_type(o, json_type_array))
        for (size_t i = 0; i < json_object_array_length(o); i++)
            drop_nothing(json_object_array_get_idx(o, i));
    if (!json_object_is_type(o, json_type_object))
        return;
    json_object_object_foreach (o, key, value) {
        if (is_nothing(value) || is_flat(value))
            json_object_object_del(o, key);
        else
            drop_nothing(value);
    }
}

static void write_spec(tp_writing *w, const tp_spec_report *s, tp_arena *a)
{
    json *o = spec(s, w->lean);
    if (w->lean)
        drop_nothing(o);
    tp_add_element(w, 0, o, 2, a);
}

static json *summary(const tp_report *r)
{
    json *sum = json_object_new_object();
    tp_counts total = {0};
    for (uint32_t i = 0; i < r->specs.len; i++) {
        tp_counts c = tp_count(&r->specs.at[i]);
        total.proven += c.proven;
        total.violated += c.violated;
        total.unknown += c.unknown;
        total.vacuous += c.vacuous;
        total.assumed += c.assumed;
        total.suppressed += c.suppressed;
        total.tested += c.tested;
        total.advice += c.advice;
    }
    json_object_object_add(sum, "specs", json_object_new_int64(r->specs.len));
    json_object_object_add(sum, "proven", json_object_new_int64(total.proven));
    json_object_object_add(sum, "violated", json_object_new_int64(total.violated));
    json_object_object_add(sum, "unknown", json_object_new_int64(total.unknown));
    json_object_object_add(sum, "vacuous", json_object_new_int64(total.vacuous));
    json_object_object_add(sum, "assumed", json_object_new_int64(total.assumed));
    json_object_object_add(sum, "tested", json_object_new_int64(total.tested));
    json_object_object_add(sum, "suppressed", json_object_new_int64(total.suppressed));
    json_object_object_add(sum, "advice", json_object_new_int64(total.advice));
    return sum;
}

static void write_end(tp_writing *w, const tp_report *r, FILE *out)
{
    tp_arena *a = tp_arena_child(w->arena);
    tp_put_member(out, "{", "tileproof", json_object_new_string(TP_VERSION), 1, a);
    tp_put_member(out, ",", "schema", json_object_new_int(TP_REPORT_SCHEMA), 1, a);
    if (r->interrupted)
        tp_put_member(out, ",", "interrupted", json_object_new_int64(r->interrupted), 1, a);
    if (r->shard.of)
        tp_put_member(out, ",", "shard", shard(r), 1, a);
    fputs(",\n  \"specs\":[", out);
    tp_copy_list(w, 0, 0, 2, out);
    tp_put_member(out, "],", "summary", summary(r), 1, a);
    fputs("\n}\n", out);
    tp_arena_free(a);
}

const tp_format tp_format_json = {"json", "the whole record, for programs (docs/report.schema.json)", write_spec,
                                  write_end};
