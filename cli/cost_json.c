/* `cost --format json`: docs/COST.md lists the keys. */
#include "base/jsonc.h"
#include "base/version.h"
#include "cli/cost.h"

typedef struct json_object object;

static object *count(tp_cost_count n)
{
    object *o = json_object_new_object();
    if (n.known)
        json_object_object_add(o, "exact", json_object_new_int64(n.n));
    else
        json_object_object_add(o, "unknown", tp_jsonc_string(n.why));
    return o;
}

static object *form(const tp_costs *c, const tp_kernel *k, tp_form f)
{
    object *o = json_object_new_object();
    if (f.e.id)
        json_object_object_add(o, "exact", tp_jsonc_string(tp_expr_text(k->exprs, f.e)));
    else
        json_object_object_add(o, "unknown", tp_jsonc_string(f.why));
    (void)c;
    return o;
}

static object *number(tp_arena *a, double v)
{
    return json_object_new_double_s(v, tp_cstr(a, tp_printf(a, "%.6g", v)));
}

/* Buffers, and what of them is there from when on: bytes as closed forms, or, with n, as numbers. */
static void add_memory(object *o, const tp_costs *c, const tp_cost_kernel *x, const tp_cost_numbers *n)
{
    const tp_vmem_life *l = &tp_cost_forms_of(x->cost)->life;
    object *buffers = json_object_new_array(), *moments = json_object_new_array();
    for (uint32_t i = 0; i < l->buffers.len; i++) {
        const tp_vmem_buffer *b = &l->buffers.at[i];
        object *m = json_object_new_object();
        json_object_object_add(m, "name", tp_jsonc_string(b->operand->name));
        json_object_object_add(m, "buffers", json_object_new_int64(b->buffers));
        json_object_object_add(m, "bytes",
                               n ? count(n->vmem_buffers[i]) : form(c, x->kernel, (tp_form){.e = b->bytes}));
        json_object_array_add(buffers, m);
    }
    for (uint32_t i = 0; i < l->moments.len; i++) {
        const tp_vmem_moment *t = &l->moments.at[i];
        object *m = json_object_new_object(), *alive = json_object_new_array();
        for (uint32_t s = 0; s < t->nalive; s++)
            json_object_array_add(alive, tp_jsonc_string(x->kernel->operands[t->alive[s]].name));
        json_object_object_add(m, "line", json_object_new_int64(t->line));
        json_object_object_add(m, "ends", json_object_new_boolean(t->ends));
        json_object_object_add(m, "scoped", alive);
        json_object_object_add(m, "bytes",
                               n ? count(n->vmem_moments[i]) : form(c, x->kernel, (tp_form){.e = t->bytes}));
        json_object_array_add(moments, m);
    }
    json_object_object_add(o, "vmem_buffers", buffers);
    json_object_object_add(o, "vmem_moments", moments);
    if (n)
        json_object_object_add(o, "vmem_peak", json_object_new_int64(n->vmem_peak));
}

static object *forms(const tp_costs *c, const tp_cost_kernel *x)
{
    const tp_cost_forms *f = tp_cost_forms_of(x->cost);
    const tp_kernel *k = x->kernel;
    object *o = json_object_new_object(), *operands = json_object_new_array();
    json_object_object_add(o, "steps", form(c, k, f->steps));
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        object *m = json_object_new_object();
        json_object_object_add(m, "name", tp_jsonc_string(k->operands[i].name));
        json_object_object_add(m, "fetches", form(c, k, f->operands[i].fetches));
        json_object_object_add(m, "bytes_in", form(c, k, f->operands[i].bytes_in));
        json_object_object_add(m, "writes", form(c, k, f->operands[i].writes));
        json_object_object_add(m, "bytes_out", form(c, k, f->operands[i].bytes_out));
        json_object_array_add(operands, m);
    }
    json_object_object_add(o, "operands", operands);
    json_object_object_add(o, "bytes_in", form(c, k, f->bytes_in));
    json_object_object_add(o, "bytes_out", form(c, k, f->bytes_out));
    json_object_object_add(o, "once_in", form(c, k, f->ideal_in));
    json_object_object_add(o, "once_out", form(c, k, f->ideal_out));
    if (tp_is_connected(k)) {
        json_object_object_add(o, "link_copies", form(c, k, f->links));
        json_object_object_add(o, "link_bytes", form(c, k, f->bytes_linked));
    }
    json_object_object_add(o, "flops", form(c, k, f->flops));
    json_object_object_add(o, "dot_flops", form(c, k, f->dot_flops));
    json_object_object_add(o, "mxu_flops", form(c, k, f->mxu_flops));
    json_object_object_add(o, "transcendental", form(c, k, f->transcendental));
    json_object_object_add(o, "vmem_bytes", form(c, k, f->vmem));
    add_memory(o, c, x, NULL);
    return o;
}

static object *counts(const tp_costs *c, const tp_cost_kernel *k, const tp_cost_case *x)
{
    const tp_cost_numbers *n = &x->numbers;
    object *o = json_object_new_object(), *operands = json_object_new_array();
    json_object_object_add(o, "steps", count(n->steps));
    for (uint32_t i = 0; i < n->noperands; i++) {
        const tp_operand_cost *p = &n->operands[i];
        object *m = json_object_new_object();
        json_object_object_add(m, "name", tp_jsonc_string(p->operand->name));
        json_object_object_add(m, "fetches", count(p->fetches));
        json_object_object_add(m, "bytes_in", count(p->bytes_in));
        json_object_object_add(m, "writes", count(p->writes));
        json_object_object_add(m, "bytes_out", count(p->bytes_out));
        json_object_object_add(m, "array_bytes", count(p->array));
        json_object_array_add(operands, m);
    }
    json_object_object_add(o, "operands", operands);
    json_object_object_add(o, "bytes_in", count(n->bytes_in));
    json_object_object_add(o, "bytes_out", count(n->bytes_out));
    json_object_object_add(o, "once_in", count(n->ideal_in));
    json_object_object_add(o, "once_out", count(n->ideal_out));
    if (n->devices.n || !n->devices.known) {
        json_object_object_add(o, "devices", count(n->devices));
        json_object_object_add(o, "link_copies", count(n->links));
        json_object_object_add(o, "link_bytes", count(n->bytes_linked));
    }
    json_object_object_add(o, "flops", count(n->flops));
    json_object_object_add(o, "dot_flops", count(n->dot_flops));
    json_object_object_add(o, "mxu_flops", count(n->mxu_flops));
    json_object_object_add(o, "transcendental", count(n->transcendental));
    json_object_object_add(o, "vmem_bytes", count(n->vmem));
    json_object_object_add(o, "vmem_limit_bytes", json_object_new_int64(n->vmem_limit));
    add_memory(o, c, k, n);
    return o;
}

static object *model(tp_arena *a, const tp_cost_model *m)
{
    object *o = json_object_new_object();
    json_object_object_add(o, "target", tp_jsonc_string(m->target->name));
    json_object_object_add(o, "vmem_fits", json_object_new_boolean(m->fits));
    if (!m->known) {
        json_object_object_add(o, "unknown", tp_jsonc_string(m->why));
        return o;
    }
    json_object_object_add(o, "memory_seconds", number(a, m->memory));
    json_object_object_add(o, "compute_seconds", number(a, m->compute));
    json_object_object_add(o, "roofline_seconds", number(a, m->roofline));
    json_object_object_add(o, "pipeline_seconds", m->pipelined ? number(a, m->pipeline) : NULL);
    json_object_object_add(o, "bubble_seconds", m->pipelined ? number(a, m->bubbles) : NULL);
    json_object_object_add(o, "issued_seconds", m->pipelined ? number(a, m->issued) : NULL);
    json_object_object_add(o, "bound", json_object_new_string(tp_bound_name(m->bound)));
    json_object_object_add(o, "flops_per_byte", number(a, m->intensity));
    json_object_object_add(o, "ridge_flops_per_byte", m->ridge > 0 ? number(a, m->ridge) : NULL);
    json_object_object_add(o, "mxu_flops", number(a, m->mxu_flops));
    json_object_object_add(o, "float32_at_bfloat16_peak", json_object_new_boolean(m->f32_peak));
    return o;
}

static object *sizes_of(tp_arena *a, const tp_case *x)
{
    object *o = json_object_new_object();
    for (uint32_t i = 0; i < x->kernel->nsizes; i++) {
        const tp_size *s = &x->kernel->sizes[i];
        if (tp_is_open_size(s))
            json_object_object_add(o, tp_cstr(a, s->name), json_object_new_int64(x->env[s->sym]));
    }
    return o;
}

static object *case_of(const tp_costs *c, const tp_cost_kernel *k, const tp_cost_case *x)
{
    object *o = json_object_new_object(), *models = json_object_new_array();
    size_t n;
    tp_targets(&n);
    json_object_object_add(o, "sizes", sizes_of(c->arena, x->at));
    json_object_object_add(o, "tables_chosen", json_object_new_boolean(x->tables));
    json_object_object_add(o, "executed", json_object_new_boolean(x->executed));
    json_object_object_add(o, "counts", counts(c, k, x));
    object *unfused = json_object_new_object();
    json_object_object_add(unfused, x->unfused.known ? "model" : "unknown",
                           x->unfused.known ? json_object_new_int64(x->unfused.n) : tp_jsonc_string(x->unfused.why));
    json_object_object_add(o, "unfused_bytes", unfused);
    for (size_t t = 0; t < n; t++)
        json_object_array_add(models, model(c->arena, &x->models[t]));
    json_object_object_add(o, "model", models);
    return o;
}

tp_str tp_cost_json(const tp_costs *c)
{
    object *doc = json_object_new_object(), *kernels = json_object_new_array();
    json_object_object_add(doc, "tileproof_cost", json_object_new_int(TP_COST_VERSION));
    json_object_object_add(doc, "tool", json_object_new_string("tileproof " TP_VERSION));
    json_object_object_add(doc, "path", tp_jsonc_string(c->path));
    json_object_object_add(doc, "name", tp_jsonc_string(c->name));
    for (uint32_t i = 0; i < c->kernels.len; i++) {
        const tp_cost_kernel *k = &c->kernels.at[i];
        object *o = json_object_new_object(), *dtypes = json_object_new_object(), *cases = json_object_new_array();
        for (uint32_t d = 0; d < k->kernel->ndtypes; d++)
            json_object_object_add(dtypes, tp_cstr(c->arena, k->kernel->dtypes[d].name),
                                   json_object_new_string(tp_dtype_info(k->kernel->dtypes[d].choice)->name));
        json_object_object_add(o, "dtypes", dtypes);
        json_object_object_add(o, "target", tp_jsonc_string(k->kernel->target.name));
        json_object_object_add(o, "closed_forms", forms(c, k));
        for (uint32_t x = 0; x < k->cases.len; x++)
            json_object_array_add(cases, case_of(c, k, &k->cases.at[x]));
        json_object_object_add(o, "cases", cases);
        json_object_array_add(kernels, o);
    }
    json_object_object_add(doc, "kernels", kernels);
    tp_str text = tp_printf(c->arena, "%.*s\n", TP_FMT(tp_jsonc_text(c->arena, doc, TP_JSONC_SPACED)));
    json_object_put(doc);
    return text;
}
