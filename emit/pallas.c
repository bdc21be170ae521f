#include "emit/pallas.h"

#include <ctype.h>

#include "emit/internal.h"

static const tp_json *entry(const emitter *e, const char *key, uint32_t i)
{
    return tp_json_get(e->k->doc, key)->u.items.at[i];
}

static const char *const KEYS[] = {"inputs", "outputs", "scratch"};

static const tp_json *declaration(const emitter *e, uint32_t operand)
{
    const tp_kernel *k = e->k;
    const tp_operand *o = &k->operands[operand];
    uint32_t first = o->role == TP_INPUT ? 0 : o->role == TP_OUTPUT ? k->ninputs : k->ninputs + k->noutputs;
    return entry(e, KEYS[o->role], operand - first);
}

void emit_shape(emitter *e, const tp_json *list, uint32_t without)
{
    emit_text(e, "(");
    for (uint32_t i = without; i < list->u.items.n; i++) {
        emit_text(e, i > without ? ", " : "");
        emit_expression(e, list->u.items.at[i]);
    }
    emit_text(e, list->u.items.n == without + 1 ? ",)" : ")");
}

/* The axes behind those of the devices. */
static uint32_t first_axis(const emitter *e)
{
    return tp_mesh_rank(e->k);
}

static void block_entry(emitter *e, const tp_json *v)
{
    if (v->type == TP_J_NULL) {
        emit_text(e, "None");
    } else if (v->type == TP_J_OBJECT) {
        const tp_json *padding = tp_json_get(v, "padding");
        emit_text(e, "pl.Element(");
        emit_expression(e, tp_json_get(v, "element"));
        if (padding) {
            emit_text(e, ", ");
            emit_shape(e, padding, 0);
        }
        emit_text(e, ")");
    } else {
        emit_expression(e, v);
    }
}

static void block_spec(emitter *e, uint32_t operand)
{
    const tp_operand *o = &e->k->operands[operand];
    const tp_json *v = declaration(e, operand), *blocks = tp_json_get(v, "block_shape"),
                  *map = tp_json_get(v, "index_map");
    static const char *const SPACES[] = {"VMEM", "SMEM", "ANY", "HBM", "SEMAPHORE"};
    uint32_t part = emit_device_dims(e->k, operand), first = first_axis(e);
    if (part && tp_is_far(o)) /* all that the device has of it */
        blocks = NULL;
    emit_text(e, "pl.BlockSpec(");
    if (blocks) {
        emit_text(e, "(");
        for (uint32_t i = part; i < blocks->u.items.n; i++) {
            emit_text(e, i > part ? ", " : "");
            block_entry(e, blocks->u.items.at[i]);
        }
        emit_text(e, blocks->u.items.n == part + 1 ? ",), lambda " : "), lambda ");
        for (uint32_t i = first; i < e->k->naxes; i++)
            emit_item(e, i > first, e->k->axes[i].name);
        for (uint32_t i = 0; i < e->k->nprefetched; i++) {
            emit_text(e, i || e->k->naxes > first ? ", " : "");
            emit_ref(e, e->k->tables[i].name);
        }
        emit_text(e, ": ");
        if (map)
            emit_shape(e, map, part);
        else
            emit_text(e, "()");
    }
    if (o->memory != TP_MEM_VMEM || !blocks)
        tp_buf_printf(e->b, "%smemory_space=%s", blocks ? ", " : "",
                      o->memory == TP_MEM_ANY ? "pl.ANY" : tp_printf(e->k->arena, "pltpu.%s", SPACES[o->memory]).p);
    if (o->buffers != 2)
        tp_buf_printf(e->b, ", pipeline_mode=pl.Buffered(%d%s)", o->buffers,
                      o->revisit_any ? ", revisit=pl.RevisitMode.ANY" : "");
    emit_text(e, ")");
}

static void operand_dtype(emitter *e, const tp_json *v)
{
    emit_dtype(e, tp_json_get(v, "dtype")->u.string);
}

static bool shape_line(emitter *e, const tp_size *s, tp_str array, const tp_expr *dims, uint32_t rank)
{
    for (uint32_t d = 0; d < rank; d++)
        if (tp_same(dims[d], s->expr)) {
            emit_text(e, "    ");
            emit_identifier(e, s->name);
            emit_text(e, " = ");
            emit_identifier(e, array);
            tp_buf_printf(e->b, ".shape[%u]\n", d);
            return true;
        }
    return false;
}

/* NAME = x.shape[0], where some array has that size as a dimension; false: an argument. */
static bool size_from_shapes(emitter *e, const tp_size *s)
{
    const tp_kernel *k = e->k;
    bool found = false;
    for (uint32_t i = 0; i < k->ninputs && !found; i++)
        found =
            shape_line(e, s, k->operands[i].name, tp_global_shape(&k->operands[i]), tp_global_rank(&k->operands[i]));
    for (uint32_t i = 0; i < k->ntables && !found; i++)
        found = !k->tables[i].prepared && shape_line(e, s, k->tables[i].name, k->tables[i].shape, k->tables[i].rank);
    return found;
}

/* Does the definition of one derived size name another that has no line yet? */
static bool waits(const emitter *e, const tp_node *n, const bool *done)
{
    const tp_size *s = n->kind == TP_N_NAME ? tp_size_find(e->k, n->text) : NULL;
    if (s && s->kind == TP_SIZE_DERIVED && !done[s - e->k->sizes])
        return true;
    for (uint32_t i = 0; i < n->nkids; i++)
        if (waits(e, n->kids[i], done))
            return true;
    return false;
}

static void derived_sizes(emitter *e)
{
    const tp_kernel *k = e->k;
    const tp_json *doc = tp_json_get(k->doc, "sizes");
    tp_ctx c = {.arena = k->arena, .source = k->source};
    bool *done = TP_NEWN(k->arena, bool, k->nsizes);
    for (bool progress = true; progress;) {
        progress = false;
        for (uint32_t i = 0; i < k->nsizes; i++) {
            if (k->sizes[i].kind != TP_SIZE_DERIVED || done[i])
                continue;
            const tp_node *n = tp_parse_expr(&c, tp_json_get(doc, tp_cstr(k->arena, k->sizes[i].name)));
            if (waits(e, n, done))
                continue;
            emit_text(e, "    ");
            emit_identifier(e, k->sizes[i].name);
            emit_text(e, " = ");
            emit_node(e, n, 0);
            emit_text(e, "\n");
            done[i] = progress = true;
        }
    }
}

static void sizes(emitter *e)
{
    const tp_kernel *k = e->k;
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (k->sizes[i].kind == TP_SIZE_RANGE)
            size_from_shapes(e, &k->sizes[i]);
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (k->sizes[i].kind == TP_SIZE_FIXED) {
            emit_text(e, "    ");
            emit_identifier(e, k->sizes[i].name);
            tp_buf_printf(e->b, " = %lld\n", (long long)k->sizes[i].min);
        }
    derived_sizes(e);
    for (uint32_t i = 0; i < k->nconstants; i++) {
        emit_text(e, "    ");
        emit_identifier(e, k->constants[i].name);
        emit_text(e, " = ");
        emit_node(e, k->constants[i].value, 0);
        emit_text(e, "\n");
    }
}

/* The kernel's name as that of a Python function. */
static void function_name(emitter *e)
{
    tp_str s = e->k->name;
    tp_buf name = {.arena = e->k->arena};
    if (isdigit((unsigned char)s.p[0]))
        tp_buf_c(&name, "kernel_");
    for (size_t i = 0; i < s.n; i++)
        tp_buf_add(&name, (unsigned char)s.p[i] < 128 && isalnum((unsigned char)s.p[i]) ? s.p + i : "_", 1);
    emit_identifier(e, tp_buf_view(&name));
}

/* Tables, then inputs: those of the call, or what the function takes. False: there are none. */
static bool arguments(emitter *e, bool call)
{
    bool any = false;
    for (uint32_t i = 0; i < e->k->ntables; i++)
        if (call ? i < e->k->nprefetched : !e->k->tables[i].prepared) {
            emit_item(e, any, e->k->tables[i].name);
            any = true;
        }
    for (uint32_t i = 0; i < e->k->ninputs; i++)
        if (call || e->k->operands[i].array < 0) {
            emit_item(e, any, tp_array_name(e->k, i));
            any = true;
        }
    return any;
}

static void signature(emitter *e)
{
    const tp_kernel *k = e->k;
    tp_buf nothing = {.arena = k->arena}, *out = e->b;
    emit_text(e, "def ");
    function_name(e);
    emit_text(e, "(");
    emit_text(e, arguments(e, false) ? ", *" : "*");
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *s = &k->sizes[i];
        e->b = &nothing;
        bool found = s->kind == TP_SIZE_RANGE && size_from_shapes(e, s);
        e->b = out;
        if (s->kind == TP_SIZE_CHOICE)
            emit_item(e, true, s->name), tp_buf_printf(out, "=%lld", (long long)s->choices[s->nchoices - 1]);
        else if (s->kind == TP_SIZE_RANGE && !found)
            emit_item(e, true, s->name);
    }
    for (uint32_t p = 0; p < k->ndtypes; p++) {
        bool found = false;
        for (uint32_t i = 0; i < k->ninputs && !found; i++)
            found = tp_str_eq(tp_json_get(declaration(e, i), "dtype")->u.string, k->dtypes[p].name);
        if (!found)
            emit_item(e, true, k->dtypes[p].name),
                tp_buf_printf(out, "=jnp.%s", tp_dtype_info(k->dtypes[p].choice)->name);
    }
    tp_buf_c(out, ", interpret=False):\n");
}

static void dtypes(emitter *e)
{
    for (uint32_t p = 0; p < e->k->ndtypes; p++)
        for (uint32_t i = 0; i < e->k->ninputs; i++)
            if (tp_str_eq(tp_json_get(declaration(e, i), "dtype")->u.string, e->k->dtypes[p].name)) {
                emit_text(e, "    ");
                emit_identifier(e, e->k->dtypes[p].name);
                emit_text(e, " = ");
                emit_identifier(e, e->k->operands[i].name);
                emit_text(e, ".dtype\n");
                break;
            }
}

/* The state of random bits, and the barrier between devices. */
static bool is_the_chips(const tp_operand *o)
{
    return (o->implied && tp_str_is(o->name, TP_PRNG_STATE)) || o->memory == TP_MEM_BARRIER;
}

static void given_ref(emitter *e, const tp_table *t)
{
    tp_buf_printf(e->b, "%.*s_given_ref", TP_FMT(t->name));
}

/* [at0, at1] */
static void entry_of(emitter *e, const tp_table *t)
{
    for (uint32_t d = 0; d < t->rank; d++)
        tp_buf_printf(e->b, "%sat%u", d ? ", " : "[", d);
    emit_text(e, "]");
}

/* interpret=True forgets from step to step what is written to a prefetched ref: a mutable table is scratch, filled in
 * the first step. */
static void take_given(emitter *e, const tp_table *t)
{
    const tp_kernel *k = e->k;
    int depth = 2;
    for (uint32_t i = first_axis(e); i < k->naxes; i++) {
        emit_text(e, i > first_axis(e) ? " & (" : "\n        @pl.when((");
        emit_identifier(e, k->axes[i].name);
        emit_text(e, " == 0)");
    }
    if (k->naxes > first_axis(e)) {
        emit_text(e, ")\n        def _():\n");
        depth++;
    }
    for (uint32_t d = 0; d < t->rank; d++, depth++)
        tp_buf_printf(e->b, "%*s@pl.loop(0, %.*s_given_ref.shape[%u])\n%*sdef _(at%u):\n", 4 * depth, "",
                      TP_FMT(t->name), d, 4 * depth, "", d);
    tp_buf_printf(e->b, "%*s", 4 * depth, "");
    emit_ref(e, t->name);
    entry_of(e, t);
    emit_text(e, " = ");
    given_ref(e, t);
    entry_of(e, t);
    emit_text(e, "\n");
}

static void kernel_function(emitter *e)
{
    const tp_kernel *k = e->k;
    emit_text(e, "    def kernel(");
    for (uint32_t i = 0; i < k->nprefetched + tp_noperands(k); i++) {
        if (i >= k->nprefetched && is_the_chips(&k->operands[i - k->nprefetched]))
            continue;
        if (i >= k->nprefetched && k->operands[i - k->nprefetched].scoped) /* the last ones: of a `with` in the body */
            break;
        emit_text(e, i ? ", " : "");
        if (i < k->nprefetched && k->tables[i].is_mutable)
            given_ref(e, &k->tables[i]);
        else
            emit_ref(e, i < k->nprefetched ? k->tables[i].name : k->operands[i - k->nprefetched].name);
    }
    emit_text(e, "):\n");
    if (tp_has_devices(k))
        emit_device(e);
    for (uint32_t i = first_axis(e); i < k->naxes; i++) {
        emit_text(e, "        ");
        emit_identifier(e, k->axes[i].name);
        tp_buf_printf(e->b, " = pl.program_id(%u)\n", i - first_axis(e));
    }
    for (uint32_t t = 0; t < k->nprefetched; t++)
        if (k->tables[t].is_mutable)
            take_given(e, &k->tables[t]);
    e->indent = 2;
    emit_text(e, k->naxes ? "\n" : "");
    emit_block(e, &k->body->syntax);
    emit_text(e, "\n");
}

static void specs(emitter *e, const char *key, uint32_t first, uint32_t n)
{
    tp_buf_printf(e->b, "            %s=[\n", key);
    for (uint32_t i = first; i < first + n; i++) {
        emit_text(e, "                ");
        block_spec(e, i);
        emit_text(e, ",\n");
    }
    emit_text(e, "            ],\n");
}

static void grid_spec(emitter *e)
{
    const tp_kernel *k = e->k;
    const tp_json *axes = tp_json_get(k->doc, "grid");
    tp_buf_printf(
        e->b,
        "        grid_spec=pltpu.PrefetchScalarGridSpec(\n            num_scalar_prefetch=%u,\n            grid=(",
        k->nprefetched);
    e->outside = true;
    for (uint32_t i = first_axis(e); i < k->naxes; i++) {
        emit_expression(e, tp_json_get(axes->u.items.at[i], "steps"));
        emit_text(e, i + 1 < k->naxes ? ", " : k->naxes == first_axis(e) + 1 ? "," : "");
    }
    e->outside = false;
    emit_text(e, "),\n");
    specs(e, "in_specs", 0, k->ninputs);
    specs(e, "out_specs", k->ninputs, k->noutputs);
    uint32_t first = k->ninputs + k->noutputs;
    bool scratch = first < tp_noperands(k) && !k->operands[first].scoped;
    emit_text(e, scratch ? "            scratch_shapes=[\n" : "");
    for (uint32_t i = first; i < tp_noperands(k) && !k->operands[i].scoped; i++) {
        if (is_the_chips(&k->operands[i]))
            continue;
        const tp_json *v = k->operands[i].implied
                               ? entry(e, "scalar_prefetch", (uint32_t)tp_table_find(k, k->operands[i].name))
                               : declaration(e, i);
        emit_text(e, "                ");
        emit_scratch(e, &k->operands[i]);
        emit_text(e, "(");
        emit_shape(e, tp_json_get(v, "shape"), 0);
        if (!tp_is_semaphore(&k->operands[i])) {
            emit_text(e, ", ");
            operand_dtype(e, v);
        }
        emit_text(e, "),\n");
    }
    emit_text(e, scratch ? "            ],\n        ),\n" : "        ),\n");
}

static void compiler_params(emitter *e)
{
    const tp_kernel *k = e->k;
    uint32_t first = first_axis(e);
    const char *comma = "";
    if (k->naxes == first && !k->vmem_limit && !tp_has_barrier(k))
        return;
    emit_text(e, "        compiler_params=pltpu.CompilerParams(");
    if (k->naxes > first) {
        emit_text(e, "dimension_semantics=(");
        for (uint32_t i = first; i < k->naxes; i++)
            tp_buf_printf(e->b, "%s%s%s", i > first ? ", " : "",
                          k->axes[i].per_core   ? "pltpu.GridDimensionSemantics.CORE_PARALLEL"
                          : k->axes[i].parallel ? "\"parallel\""
                                                : "\"arbitrary\"",
                          k->naxes == first + 1 ? "," : "");
        emit_text(e, ")");
        comma = ", ";
    }
    if (k->vmem_limit) {
        tp_buf_printf(e->b, "%svmem_limit_bytes=%lld", comma, (long long)k->vmem_limit);
        comma = ", ";
    }
    if (tp_has_barrier(k))
        tp_buf_printf(e->b, "%scollective_id=0", comma);
    emit_text(e, "),\n");
}

static void pallas_call(emitter *e)
{
    const tp_kernel *k = e->k;
    bool alias = false;
    tp_buf_printf(e->b, "    %s pl.pallas_call(\n        kernel,\n        out_shape=[\n",
                  tp_has_devices(k) ? "call =" : "return");
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++) {
        const tp_json *v = declaration(e, i);
        emit_text(e, "            jax.ShapeDtypeStruct(");
        emit_part_shape(e, i, tp_json_get(v, "shape"));
        emit_text(e, ", ");
        operand_dtype(e, v);
        tp_buf_printf(e->b, "),  # %.*s%s\n", TP_FMT(k->operands[i].name),
                      k->operands[i].discard ? ", which is not used" : "");
        alias |= k->operands[i].alias >= 0;
    }
    emit_text(e, "        ],\n");
    grid_spec(e);
    if (alias) {
        emit_text(e, "        input_output_aliases={");
        for (uint32_t i = k->ninputs, any = 0; i < k->ninputs + k->noutputs; i++)
            if (k->operands[i].alias >= 0)
                tp_buf_printf(e->b, "%s%u: %u", any++ ? ", " : "", (uint32_t)k->operands[i].alias + k->nprefetched,
                              i - k->ninputs);
        emit_text(e, "},\n");
    }
    compiler_params(e);
    emit_text(e, "        interpret=interpret,\n    )");
    if (tp_has_devices(k)) {
        emit_text(e, "\n");
        emit_shard_map(e);
        return;
    }
    emit_text(e, "(");
    arguments(e, true);
    emit_text(e, ")\n");
}

/* The text inside a docstring: nothing in it ends the string. */
static void docstring(emitter *e, tp_str text)
{
    for (uint32_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '"' || c == '\\')
            tp_buf_c(e->b, "\\");
        tp_buf_add(e->b, (unsigned char)c < ' ' && c != '\n' ? " " : &c, 1);
    }
}

static bool is_guarded_load(const tp_statement *s, void *ctx)
{
    (void)ctx;
    return s->kind == TP_COMPUTE && s->inst->prim == TP_P_LOAD && s->inst->access->guarded;
}

void tp_emit_pallas(const tp_kernel *k, tp_buf *out)
{
    bool guarded = k->body && tp_region_any(&k->body->statements, is_guarded_load, NULL);
    emitter e = {.k = k, .b = out, .pipeline = emit_pipeline, .steps = emit_steps};
    tp_buf_printf(out, "\"\"\"%.*s%s", TP_FMT(k->name), k->description.n ? ": " : "");
    docstring(&e, k->description);
    emit_text(&e, "\"\"\"\n\nimport jax\nimport jax.numpy as jnp\n");
    emit_text(&e, tp_mesh_rank(k) > 1 ? "import numpy as np\n" : "");
    emit_text(&e, "from jax import lax\nfrom jax.experimental import pallas as pl\nfrom jax.experimental.pallas import "
                  "tpu as pltpu\n");
    emit_text(&e, guarded ? "from jax.experimental.pallas import triton as plgpu\n\n\n" : "\n\n");
    signature(&e);
    emit_text(&e, "    \"\"\"Returns [");
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++)
        tp_buf_printf(out, "%s%.*s", i > k->ninputs ? ", " : "", TP_FMT(k->operands[i].name));
    emit_text(&e, "].\"\"\"\n");
    dtypes(&e);
    sizes(&e);
    emit_prepare(&e);
    for (uint32_t i = 0; i < k->nprefetched; i++) {
        emit_text(&e, "    ");
        emit_identifier(&e, k->tables[i].name);
        emit_text(&e, k->tables[i].rank ? " = " : " = jnp.reshape(");
        emit_identifier(&e, k->tables[i].name);
        emit_text(&e, k->tables[i].rank ? ".astype(jnp.int32)\n" : ", (1,)).astype(jnp.int32)\n");
    }
    emit_text(&e, "\n");
    kernel_function(&e);
    pallas_call(&e);
}
