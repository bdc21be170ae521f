/* "inputs", "outputs", "scratch": arrays with their BlockSpecs. */
#define _GNU_SOURCE
#include "spec/pipeline.h"

const char *tp_memory_name(tp_memory m)
{
    static const char *const NAMES[] = {
        "vmem", "smem", "any", "hbm", "semaphore", "dma_semaphore", "barrier_semaphore"};
    return NAMES[m];
}

static bool names_semaphore(tp_str name)
{
    bool named = false;
    for (tp_memory m = TP_MEM_SEMAPHORE; m <= TP_MEM_BARRIER; m++)
        named |= tp_str_is(name, tp_memory_name(m));
    return named;
}

/* The dtype, or parameter, of that name, which stands at `loc`. */
static tp_dtype dtype_named(tp_reader *r, tp_str text, tp_loc loc)
{
    const tp_name *name = tp_scope_find(&r->names, text);
    if (name && name->kind == TP_NAME_DTYPE)
        return r->k->dtypes[name->index].choice;
    tp_dtype d = tp_dtype_find(text);
    if (d != TP_NO_DTYPE)
        return d;
    tp_str names[TP_DTYPES];
    for (int i = 0; i < TP_DTYPES; i++)
        names[i] = tp_str_c(tp_dtype_info((tp_dtype)i)->name);
    static const char *const SHORT[][2] = {{"fp32", "float32"},  {"f32", "float32"},  {"float", "float32"},
                                           {"bf16", "bfloat16"}, {"fp16", "float16"}, {"f16", "float16"},
                                           {"half", "float16"},  {"f64", "float64"},  {"double", "float64"},
                                           {"int", "int32"},     {"i32", "int32"},    {"i8", "int8"},
                                           {"u8", "uint8"},      {"i4", "int4"},      {"fp8", "float8_e4m3fn"}};
    tp_str near = tp_nearest(text, names, TP_DTYPES);
    for (size_t i = 0; i < sizeof SHORT / sizeof *SHORT; i++)
        near = tp_str_is(text, SHORT[i][0]) ? tp_str_c(SHORT[i][1]) : near;
    tp_raise(r->c, TP_RULE_SPEC_NAME, loc,
             tp_did_you_mean(r->c->arena, near, "\"",
                             "one of float32, bfloat16, float16, int32, int8, bool, …, or a parameter of \"dtypes\""),
             "unknown dtype \"%.*s\"", TP_FMT(text));
}

tp_dtype tp_read_dtype(tp_reader *r, const tp_json *v)
{
    tp_expect_type(r->c, v, TP_J_STRING, "a dtype");
    return dtype_named(r, v->u.string, v->loc);
}

static tp_memory read_memory(tp_reader *r, const tp_json *o, bool scratch)
{
    static const tp_memory WINDOWS[] = {TP_MEM_VMEM, TP_MEM_SMEM, TP_MEM_ANY, TP_MEM_HBM},
                           BUFFERS[] = {TP_MEM_VMEM, TP_MEM_SMEM, TP_MEM_DMA_SEMAPHORE, TP_MEM_SEMAPHORE,
                                        TP_MEM_BARRIER};
    const tp_json *v = tp_member(r->c, o, "memory_space", TP_J_STRING, false);
    if (!v)
        return TP_MEM_VMEM;
    for (int i = 0; i < (scratch ? 5 : 4); i++) {
        tp_memory m = (scratch ? BUFFERS : WINDOWS)[i];
        if (tp_str_is(v->u.string, tp_memory_name(m)))
            return m;
    }
    tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, v->loc,
             scratch ? "vmem, smem, dma_semaphore, semaphore or barrier_semaphore" : "vmem, smem, any or hbm",
             "unknown memory space \"%.*s\"", TP_FMT(v->u.string));
}

/* What every operand begins as. */
static tp_operand new_operand(tp_role role, tp_str name, tp_loc loc)
{
    return (tp_operand){.role = role,
                        .name = name,
                        .loc = loc,
                        .dtype = TP_NO_DTYPE,
                        .memory = TP_MEM_VMEM,
                        .buffers = role == TP_SCRATCH ? 1 : 2,
                        .alias = -1,
                        .array = -1};
}

/* Room for a shape, which is written at `loc`. */
static void set_rank(tp_reader *r, tp_operand *o, uint32_t rank, tp_loc loc)
{
    if (rank > TP_MAX_RANK)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, loc, NULL, "rank %u; at most %d dimensions are read", rank, TP_MAX_RANK);
    o->rank = rank;
    o->shape = TP_NEWN(r->c->arena, tp_expr, rank);
    o->dims = TP_NEWN(r->c->arena, tp_dim, rank);
}

static void read_shape(tp_reader *r, tp_operand *o, const tp_json *v)
{
    set_rank(r, o, v->u.items.n, v->loc);
    for (uint32_t d = 0; d < o->rank; d++) {
        o->shape[d] = tp_read_int_expr(r, v->u.items.at[d], TP_NAME_SIZE, "a dimension");
        o->dims[d].shape_loc = v->u.items.at[d]->loc;
    }
}

static void read_element(tp_reader *r, tp_dim *dim, const tp_json *v)
{
    tp_check_members(r->c, v, TP_OBJECT_ELEMENT);
    const tp_json *n = tp_json_get(v, "element"), *pad = tp_member(r->c, v, "padding", TP_J_ARRAY, false);
    if (!n)
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, v->loc, "write {\"element\": n, \"padding\": [lo, hi]}",
                 "an Element dimension needs \"element\"");
    if (pad && pad->u.items.n != 2)
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, pad->loc, NULL, "\"padding\" has two entries, low and high");
    dim->kind = TP_DIM_ELEMENT;
    dim->block = tp_read_int_expr(r, n, TP_NAME_SIZE, "\"element\"");
    dim->pad_lo = pad ? tp_read_int_expr(r, pad->u.items.at[0], TP_NAME_SIZE, "padding") : tp_const(r->k->exprs, 0);
    dim->pad_hi = pad ? tp_read_int_expr(r, pad->u.items.at[1], TP_NAME_SIZE, "padding") : tp_const(r->k->exprs, 0);
}

static void read_block(tp_reader *r, tp_operand *o, const tp_json *block, const tp_json *map)
{
    tp_exprs *p = r->k->exprs;
    if (block && block->u.items.n != o->rank)
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, block->loc, "one entry per array dimension",
                 "block_shape has %u entr%s, the array has rank %u", block->u.items.n,
                 block->u.items.n == 1 ? "y" : "ies", o->rank);
    if (block && !map && o->rank)
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, block->loc, "add \"index_map\" with one expression per dimension",
                 "block_shape without index_map");
    if (map && !block)
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, map->loc,
                 "add \"block_shape\", or remove the map: the window is then the whole array",
                 "index_map without block_shape");
    if (map && map->u.items.n != o->rank)
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, map->loc, "one expression per array dimension",
                 "index_map has %u entr%s, the array has rank %u", map->u.items.n, map->u.items.n == 1 ? "y" : "ies",
                 o->rank);
    o->whole = !block;
    o->constant_map = true;
    for (uint32_t d = 0; d < o->rank; d++) {
        tp_dim *dim = &o->dims[d];
        const tp_json *b = block ? block->u.items.at[d] : NULL, *m = map ? map->u.items.at[d] : NULL;
        dim->kind = TP_DIM_BLOCKED;
        dim->loc = b ? b->loc : o->loc;
        dim->index_loc = m ? m->loc : o->loc;
        dim->index =
            m ? tp_read_int_expr(r, m, TP_NAME_SIZE | TP_NAME_AXIS | TP_NAME_TABLE, "an index") : tp_const(p, 0);
        o->constant_map &= tp_expr_is_const(p, dim->index, NULL);
        if (!b) {
            dim->block = o->shape[d];
        } else if (b->type == TP_J_NULL) {
            dim->kind = TP_DIM_SQUEEZED;
            dim->block = tp_const(p, 1);
        } else if (b->type == TP_J_OBJECT) {
            read_element(r, dim, b);
        } else {
            dim->block = tp_read_int_expr(r, b, TP_NAME_SIZE, "a block dimension");
        }
    }
}

static void set_ref_shape(tp_reader *r, tp_operand *o)
{
    o->ref_shape = TP_NEWN(r->c->arena, tp_expr, o->rank);
    for (uint32_t d = 0; d < o->rank; d++)
        if (o->role == TP_SCRATCH)
            o->ref_shape[o->ref_rank++] = o->shape[d];
        else if (o->dims[d].kind != TP_DIM_SQUEEZED)
            o->ref_shape[o->ref_rank++] = o->dims[d].block;
}

static bool reads_by_index(const tp_exprs *p, tp_expr e)
{
    if (!e.id || !tp_expr_reads(p, e))
        return false;
    const tp_expr_node n = *tp_expr_get(p, e);
    return (n.op == TP_E_READ && n.a.id) || reads_by_index(p, n.a) || reads_by_index(p, n.b) || reads_by_index(p, n.c);
}

/* "valid": a condition on the element indices d0, d1, …, sizes and tables of one number. */
static void read_valid(tp_reader *r, tp_operand *o, const tp_json *v)
{
    if (o->global_shape)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, "drop one of the two",
                 "\"valid\" together with \"shard\" is not supported by this build");
    uint32_t mark = r->names.len;
    for (uint32_t d = 0; d < o->rank; d++) {
        tp_str name = tp_printf(r->c->arena, "d%u", d);
        const tp_name *owner = tp_scope_find(&r->names, name);
        if (owner)
            tp_raise(r->c, TP_RULE_SPEC_NAME, owner->loc, "rename it: d0, d1, … are the element indices in \"valid\"",
                     "`%.*s` is taken", TP_FMT(name));
        o->element_syms[d] = (uint32_t)tp_expr_get(r->k->exprs, tp_sym_new(r->k->exprs, name))->value;
        tp_push(r->c->arena, r->names, (tp_name){.name = name, .kind = TP_NAME_ELEMENT, .index = o->element_syms[d]});
    }
    o->valid_loc = v->loc;
    o->valid = tp_int_expr_of(r, tp_parse_expr(r->c, v), TP_NAME_SIZE | TP_NAME_ELEMENT | TP_NAME_TABLE, true);
    r->names.len = mark;
    if (reads_by_index(r->k->exprs, o->valid)) /* whether there is an entry for each element nobody asks */
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, "compare the element indices with sizes and tables of one number",
                 "entries of tables in \"valid\" are not supported by this build");
}

static tp_end read_bound(tp_reader *r, const tp_operand *o, const tp_json *v)
{
    tp_end b = {.given = v != NULL};
    if (!v)
        return b;
    if (v->type == TP_J_REAL && tp_is_float(o->dtype))
        b.number = v->u.real;
    else
        b.expr = tp_read_int_expr(r, v, TP_NAME_SIZE, "an end of \"values\"");
    if (v->type == TP_J_REAL && !tp_dtype_holds(o->dtype, b.number))
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, NULL, "%.9g is infinite as %s", b.number,
                 tp_dtype_info(o->dtype)->name);
    return b;
}

/* A number that is written. */
static bool is_number(tp_reader *r, const tp_end *b, double *out)
{
    int64_t v;
    bool literal = b->expr.id && tp_expr_is_const(r->k->exprs, b->expr, &v);
    *out = literal ? (double)v : b->number;
    return b->given && (literal || !b->expr.id);
}

/* "values": between what the elements lie. */
static void read_values(tp_reader *r, tp_operand *o, const tp_json *v)
{
    double least, most;
    tp_check_members(r->c, v, TP_OBJECT_ELEMENTS);
    if (o->dtype == TP_BOOL)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, "leave it out", "\"values\" of bools");
    o->values_loc = v->loc;
    o->least = read_bound(r, o, tp_json_get(v, "min"));
    o->most = read_bound(r, o, tp_json_get(v, "max"));
    if (is_number(r, &o->least, &least) && is_number(r, &o->most, &most) && least > most)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, NULL, "no number is at least %.9g and at most %.9g", least, most);
    if (tp_is_float(o->dtype) || o->rank > TP_TABLE_RANK)
        return;
    o->entries = TP_NEW(r->c->arena, tp_table);
    *o->entries = (tp_table){.name = o->name,
                             .loc = o->loc,
                             .dtype = o->dtype,
                             .rank = o->rank,
                             .min = o->least.expr,
                             .max = o->most.expr,
                             .values_loc = v->loc};
    for (uint32_t d = 0; d < o->rank; d++)
        o->entries->shape[d] = o->shape[d];
    o->entries->sym = (uint32_t)tp_expr_get(r->k->exprs, tp_sym_new(r->k->exprs, o->name))->value;
}

static bool same_arrays(tp_reader *r, const tp_operand *x, const tp_operand *y)
{
    bool same = x->rank == y->rank && x->dtype == y->dtype;
    for (uint32_t d = 0; same && d < x->rank; d++)
        same = tp_same(tp_expr_normal(r->k->exprs, x->shape[d]), tp_expr_normal(r->k->exprs, y->shape[d]));
    return same;
}

/* "array": what elements of the other input are, those of this one are, too. */
static void read_array(tp_reader *r, tp_operand *o, const tp_json *v)
{
    static const char *const ITS_OWN[] = {"values", "valid", "shard"};
    const tp_json *name = tp_member(r->c, v, "array", TP_J_STRING, false);
    tp_operand *x = r->k->operands;
    if (!name)
        return;
    while (x < o && !tp_str_eq(x->name, name->u.string))
        x++;
    if (x == o)
        tp_raise(r->c, TP_RULE_SPEC_NAME, name->loc, "an input that stands before this one",
                 "there is no input `%.*s` before `%.*s`", TP_FMT(name->u.string), TP_FMT(o->name));
    for (size_t i = 0; i < sizeof ITS_OWN / sizeof *ITS_OWN; i++)
        if (tp_json_get(v, ITS_OWN[i]))
            tp_raise(r->c, TP_RULE_SPEC_VALUE, tp_json_get(v, ITS_OWN[i])->key_loc, "say it there",
                     "\"%s\" of `%.*s`, whose array is that of `%.*s`", ITS_OWN[i], TP_FMT(o->name), TP_FMT(x->name));
    if (x->valid.id || x->global_shape)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, name->loc, NULL,
                 "\"array\" of an input with \"%s\" is not supported by this build", x->valid.id ? "valid" : "shard");
    if (!same_arrays(r, x, o))
        tp_raise(r->c, TP_RULE_SPEC_TYPE, name->loc, "give both the same shape and dtype",
                 "`%.*s` cannot be the array of `%.*s`: shape or dtype differ", TP_FMT(x->name), TP_FMT(o->name));
    o->array = x->array >= 0 ? x->array : (int)(x - r->k->operands);
    o->least = x->least;
    o->most = x->most;
    o->values_loc = x->values_loc;
    o->entries = x->entries;
}

/* "revisit": what happens when the grid returns to a window. */
static void read_revisit(tp_reader *r, tp_operand *o, const tp_json *v)
{
    const tp_json *mode = tp_member(r->c, v, "revisit", TP_J_STRING, false);
    if (!mode || tp_str_is(mode->u.string, "immediate"))
        return;
    if (!tp_str_is(mode->u.string, "any"))
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, mode->loc, "immediate or any", "unknown revisit mode \"%.*s\"",
                 TP_FMT(mode->u.string));
    if (o->buffers != 1)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, mode->loc, "add \"buffers\": 1",
                 "\"revisit\": \"any\" needs a single buffer; `%.*s` has %d", TP_FMT(o->name), o->buffers);
    o->revisit_any = true;
}

/* How many of its first dimensions are those of devices: one element, that of this device along an axis of devices.
 * Each axis has at most one, in the order of the grid. */
static uint32_t device_dims(tp_reader *r, const tp_operand *o)
{
    uint32_t n = 0;
    for (uint32_t x = 0; x < tp_mesh_rank(r->k) && n < o->rank; x++) {
        const tp_dim *d = &o->dims[n];
        int64_t block = 0;
        bool one = d->kind == TP_DIM_SQUEEZED ||
                   (d->kind == TP_DIM_BLOCKED && tp_expr_is_const(r->k->exprs, d->block, &block) && block == 1);
        n += one && tp_same(tp_expr_normal(r->k->exprs, d->index), tp_sym(r->k->exprs, r->k->axes[x].sym));
    }
    return n;
}

/* Is its ref the part of the array that belongs to this device: [null, …] at [d, 0, …]? */
static bool is_of_device(tp_reader *r, const tp_operand *o)
{
    int64_t start = 0;
    uint32_t first = device_dims(r, o);
    bool is = first > 0;
    for (uint32_t d = 0; d < o->rank; d++)
        is &= d < first ? o->dims[d].kind == TP_DIM_SQUEEZED
                        : o->dims[d].kind == TP_DIM_BLOCKED &&
                              tp_expr_is_const(r->k->exprs, o->dims[d].index, &start) && !start &&
                              tp_same(tp_expr_normal(r->k->exprs, o->dims[d].block),
                                      tp_expr_normal(r->k->exprs, o->shape[d]));
    return is;
}

/* "block_shape [null, null, …]<between>, index_map ["r", "c", …": how a part of one device is written. */
static const char *written_part(tp_reader *r, const char *between, const char *rest)
{
    tp_buf b = {.arena = r->c->arena};
    uint32_t rank = tp_mesh_rank(r->k);
    tp_buf_printf(&b, "block_shape [");
    for (uint32_t x = 0; x < rank; x++)
        tp_buf_printf(&b, "null, ");
    tp_buf_printf(&b, "…]%s, index_map [", between);
    for (uint32_t x = 0; x < rank; x++)
        tp_buf_printf(&b, "\"%.*s\", ", TP_FMT(r->k->axes[x].name));
    tp_buf_printf(&b, "%s]", rest);
    return tp_printf(r->c->arena, "%.*s", TP_FMT(tp_buf_view(&b))).p;
}

static void check_devices(tp_reader *r, const tp_operand *o, const tp_json *v)
{
    uint32_t rank = tp_mesh_rank(r->k);
    if (o->memory == TP_MEM_BARRIER && (!rank || o->rank))
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, "shape [], and a first axis with \"semantics\": \"device\"",
                 "a barrier semaphore is one counter of a kernel that runs on several devices");
    const tp_json *block = tp_json_get(v, "block_shape");
    if (o->global_shape && tp_is_far(o) && block)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, block->loc, "leave \"block_shape\" and \"index_map\" out",
                 "`%.*s` stays where it is: its ref is all that a device has of it", TP_FMT(o->name));
    if (o->global_shape)
        return;
    if (rank && tp_is_shard(o) && !is_of_device(r, o))
        tp_raise(r->c, TP_RULE_SPEC_VALUE, block->loc, written_part(r, " with all of the other dimensions", "0, …"),
                 "`%.*s` stays where it is: its block is the part of one device", TP_FMT(o->name));
    if (rank && o->role == TP_OUTPUT && device_dims(r, o) < rank)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, tp_json_get(v, "name")->loc, written_part(r, "", "…"),
                 "a device writes its own part of `%.*s`, along %s of devices", TP_FMT(o->name),
                 rank > 1 ? "first dimensions, one for each axis" : "a first dimension");
}

static void read_operand(tp_reader *r, tp_operand *o, const tp_json *v, tp_role role, uint32_t index)
{
    static const tp_object OBJECTS[] = {TP_OBJECT_INPUT, TP_OBJECT_OUTPUT, TP_OBJECT_SCRATCH};
    const tp_json *space = role == TP_SCRATCH && v->type == TP_J_OBJECT ? tp_json_get(v, "memory_space") : NULL;
    bool counts = space && space->type == TP_J_STRING && names_semaphore(space->u.string);
    const tp_json *typed = counts ? tp_json_get(v, "dtype") : NULL;
    if (typed)
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, typed->loc, "remove it", "a semaphore has no dtype; it counts");
    tp_check_members(r->c, v, counts ? TP_OBJECT_SEMAPHORE : OBJECTS[role]);
    const tp_json *name = tp_member(r->c, v, "name", TP_J_STRING, true);
    const tp_json *buffers = tp_member(r->c, v, "buffers", TP_J_INT, false);
    const tp_json *discard = tp_member(r->c, v, "discard", TP_J_BOOL, false);
    const tp_json *valid = tp_member(r->c, v, "valid", TP_J_STRING, false),
                  *shard = role == TP_SCRATCH ? NULL : tp_member(r->c, v, "shard", TP_J_ARRAY, false);
    *o = new_operand(role, name->u.string, name->loc);
    o->memory = read_memory(r, v, role == TP_SCRATCH);
    if (buffers) {
        if (buffers->u.integer < 1 || buffers->u.integer > TP_MAX_BUFFERS)
            tp_raise(r->c, TP_RULE_SPEC_VALUE, buffers->loc, NULL, "\"buffers\" is 1 to %d", TP_MAX_BUFFERS);
        o->buffers = (int)buffers->u.integer;
    }
    tp_scope_add(r->c, &r->names, o->name, TP_NAME_OPERAND, index, name->loc);
    const tp_json *dtype = tp_member(r->c, v, "dtype", TP_J_STRING, !counts);
    o->dtype = counts ? TP_I32 : tp_read_dtype(r, dtype);
    read_shape(r, o, tp_member(r->c, v, "shape", TP_J_ARRAY, true));
    if (role != TP_SCRATCH)
        read_block(r, o, tp_member(r->c, v, "block_shape", TP_J_ARRAY, false),
                   tp_member(r->c, v, "index_map", TP_J_ARRAY, false));
    if (shard)
        tp_read_shard(r, o, shard);
    set_ref_shape(r, o);
    check_devices(r, o, v);
    o->discard = discard && discard->u.boolean;
    if (valid)
        read_valid(r, o, valid);
    if (role == TP_INPUT && tp_json_get(v, "values"))
        read_values(r, o, tp_member(r->c, v, "values", TP_J_OBJECT, false));
    if (role == TP_INPUT)
        read_array(r, o, v);
    read_revisit(r, o, v);
}

/* Scratch in SMEM that no entry of "scratch" declares. */
static tp_operand implied_scratch(tp_reader *r, tp_str name, tp_loc loc, tp_dtype dtype, uint32_t rank,
                                  const tp_expr *shape)
{
    tp_operand o = new_operand(TP_SCRATCH, name, loc);
    o.dtype = dtype;
    o.memory = TP_MEM_SMEM;
    o.implied = true;
    set_rank(r, &o, rank, loc);
    for (uint32_t d = 0; d < rank; d++) {
        o.shape[d] = shape[d];
        o.dims[d].shape_loc = loc;
    }
    set_ref_shape(r, &o);
    return o;
}

static void note_random(void *found, const char *kind, tp_str text)
{
    *(bool *)found |=
        strcmp(kind, "name") == 0 && (tp_str_is(text, "prng_seed") || tp_str_is(text, "prng_random_bits"));
}

static bool asks_for_bits(tp_reader *r, const tp_json *body)
{
    bool found = false;
    for (uint32_t i = 0; body && body->type == TP_J_ARRAY && i < body->u.items.n && !found; i++)
        if (body->u.items.at[i]->type == TP_J_STRING &&
            memmem(body->u.items.at[i]->u.string.p, body->u.items.at[i]->u.string.n, "prng_", 5))
            tp_each_token(r->c, body->u.items.at[i], note_random, &found);
    return found;
}

/* Does the body ask for random bits? What pipelines are was read before. */
static bool is_random(tp_reader *r)
{
    const tp_json *pipelines = tp_json_get(r->k->doc, "pipelines");
    bool found = asks_for_bits(r, tp_json_get(r->k->doc, "kernel"));
    for (uint32_t i = 0; pipelines && i < pipelines->u.items.n && !found; i++)
        found = asks_for_bits(r, tp_json_get(pipelines->u.items.at[i], "kernel"));
    return found;
}

/* "alias": the output shares its array with an input of equal shape and dtype. */
static void read_alias(tp_reader *r, tp_operand *o, const tp_json *v)
{
    const tp_json *name = tp_member(r->c, v, "alias", TP_J_STRING, false);
    if (!name)
        return;
    tp_operand *x = NULL;
    for (uint32_t i = 0; i < r->k->ninputs && !x; i++)
        if (tp_str_eq(r->k->operands[i].name, name->u.string)) {
            x = &r->k->operands[i];
            x->entries = NULL; /* later steps read what is stored there */
            o->alias = (int)i;
        }
    if (!x)
        tp_raise(r->c, TP_RULE_SPEC_NAME, name->loc, "an output is aliased to an input", "there is no input `%.*s`",
                 TP_FMT(name->u.string));
    for (uint32_t i = r->k->ninputs; i < r->k->ninputs + r->k->noutputs; i++)
        if (&r->k->operands[i] != o && r->k->operands[i].alias == o->alias)
            tp_raise(r->c, TP_RULE_SPEC_VALUE, name->loc, NULL, "`%.*s` is aliased twice", TP_FMT(x->name));
    for (uint32_t i = 0; i < r->k->ninputs; i++)
        if (r->k->operands[i].array == o->alias || (i == (uint32_t)o->alias && x->array >= 0))
            tp_raise(r->c, TP_RULE_SPEC_VALUE, name->loc,
                     "leave \"array\" out: what is called with one array twice copies it",
                     "`%.*s` is aliased, and its array is that of another input", TP_FMT(x->name));
    if (!same_arrays(r, x, o))
        tp_raise(r->c, TP_RULE_SPEC_TYPE, name->loc, "give both the same shape and dtype",
                 "`%.*s` cannot share its array with `%.*s`: shape or dtype differ", TP_FMT(o->name), TP_FMT(x->name));
    if (o->discard || o->valid.id || x->valid.id)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, name->loc, "drop one of the two",
                 "\"alias\" together with \"%s\" is not supported by this build", o->discard ? "discard" : "valid");
    bool blocks = o->memory == TP_MEM_VMEM && x->memory == TP_MEM_VMEM;
    if (!blocks && !(tp_is_far(x) && (tp_is_far(o) || o->memory == TP_MEM_VMEM)))
        tp_raise(r->c, TP_RULE_SPEC_VALUE, name->loc, NULL,
                 "\"alias\" is supported for blocks in vmem, and with an input that stays in any or hbm");
}

/* ---- scratch of a part of the body: with scratch(shape, dtype) as name ---- */

typedef struct scoped {
    const tp_node *name, *buffer;
} scoped;
typedef TP_VEC(scoped) scoped_list;

static void collect_scoped(tp_ctx *c, const tp_block *b, scoped_list *into)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        for (uint32_t k = 0; s->kind == TP_S_WITH && k < s->target->nkids; k++)
            tp_push(c->arena, *into, ((scoped){s->target->kids[k], s->value->kids[k]}));
        collect_scoped(c, &s->body, into);
        collect_scoped(c, &s->orelse, into);
    }
}

static bool begins_with(tp_str line)
{
    size_t i = 0;
    while (i < line.n && line.p[i] == ' ')
        i++;
    return line.n - i > 4 && memcmp(line.p + i, "with", 4) == 0;
}

/* What is wrong with a body is said after what is wrong with the operands: it is parsed here only where it has such a
 * part. */
static scoped_list find_scoped(tp_reader *r, const tp_json *body)
{
    scoped_list found = {0};
    bool any = false;
    for (uint32_t i = 0; body && body->type == TP_J_ARRAY && i < body->u.items.n && !any; i++) {
        const tp_json *line = body->u.items.at[i];
        any = line->type == TP_J_STRING && begins_with(line->u.string);
    }
    const tp_json *pipelines = tp_json_get(r->k->doc, "pipelines");
    if (pipelines && !body)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, pipelines->key_loc, "write the body that runs them",
                 "pipelines without \"kernel\"");
    any |= pipelines != NULL;
    if (any) {
        r->body = tp_parse_program(r->c, body);
        tp_write_pipelines(r, &r->body);
        collect_scoped(r->c, &r->body, &found);
    }
    return found;
}

static void read_scoped(tp_reader *r, tp_operand *o, const scoped *s, uint32_t index)
{
    static const tp_memory COUNTERS[] = {TP_MEM_DMA_SEMAPHORE, TP_MEM_SEMAPHORE}, SPACES[] = {TP_MEM_VMEM, TP_MEM_SMEM};
    const tp_node *call = s->buffer;
    tp_loc loc = tp_node_loc(r->c, s->name);
    bool made = call->of_pipeline; /* scratch(shape, dtype, buffers), or with smem behind them */
    if (call->nkids < 2 || call->nkids > (made ? 4u : 3u) || call->kids[0]->kind != TP_N_SEQUENCE ||
        call->kids[1]->kind != TP_N_NAME)
        tp_raise(r->c, TP_RULE_SPEC_TYPE, tp_node_loc(r->c, call),
                 "write scratch((8, 128), float32), scratch((n,), int32, smem) or scratch((2,), dma_semaphore)",
                 "a buffer has a shape in parentheses, and a dtype or the name of a kind of semaphore");
    *o = new_operand(TP_SCRATCH, s->name->text, loc);
    o->scoped = call;
    tp_scope_add(r->c, &r->names, o->name, TP_NAME_OPERAND, index, loc);
    for (size_t i = 0; i < 2; i++)
        if (tp_str_is(call->kids[1]->text, tp_memory_name(COUNTERS[i]))) {
            o->memory = COUNTERS[i];
            o->dtype = TP_I32;
        }
    bool known = false;
    if (made)
        o->buffers = (int)call->kids[2]->integer;
    if (made && call->nkids == 4)
        o->memory = TP_MEM_SMEM;
    bool spaced = call->nkids == 3 && !made;
    for (size_t i = 0; i < 2 && spaced; i++)
        if (call->kids[2]->kind == TP_N_NAME && tp_str_is(call->kids[2]->text, tp_memory_name(SPACES[i]))) {
            o->memory = SPACES[i];
            known = true;
        }
    if (spaced && (!known || o->dtype != TP_NO_DTYPE))
        tp_raise(r->c, TP_RULE_SPEC_TYPE, tp_node_loc(r->c, call->kids[2]), "vmem or smem; semaphores have none",
                 "this is no memory space of a buffer");
    if (o->dtype == TP_NO_DTYPE)
        o->dtype = dtype_named(r, call->kids[1]->text, tp_node_loc(r->c, call->kids[1]));
    const tp_node *shape = call->kids[0];
    set_rank(r, o, shape->nkids, tp_node_loc(r->c, shape));
    for (uint32_t d = 0; d < o->rank; d++) {
        o->shape[d] = tp_int_expr_of(r, shape->kids[d], TP_NAME_SIZE, false);
        o->dims[d].shape_loc = tp_node_loc(r->c, shape->kids[d]);
    }
    set_ref_shape(r, o);
}

void tp_read_operands(tp_reader *r)
{
    scoped_list parts = find_scoped(r, tp_json_get(r->k->doc, "kernel"));
    static const char *const KEYS[] = {"inputs", "outputs", "scratch"};
    const tp_json *lists[3];
    uint32_t counts[3], total = 0;
    for (int i = 0; i < 3; i++) {
        lists[i] = tp_member(r->c, r->k->doc, KEYS[i], TP_J_ARRAY, false);
        counts[i] = lists[i] ? lists[i]->u.items.n : 0;
        total += counts[i];
    }
    uint32_t listed = counts[2];
    for (uint32_t t = 0; t < r->k->ntables; t++)
        counts[2] += r->k->tables[t].is_mutable;
    bool random = is_random(r);
    counts[2] += random;
    total += counts[2] - listed + parts.len;
    if (total > TP_MAX_OPERANDS)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, r->k->doc->loc, NULL, "more than %d operands", TP_MAX_OPERANDS);
    r->k->operands = TP_NEWN(r->c->arena, tp_operand, total);
    r->k->ninputs = counts[0];
    r->k->noutputs = counts[1];
    r->k->nscratch = counts[2] + parts.len;
    uint32_t at = 0;
    for (int i = 0; i < 3; i++)
        for (uint32_t j = 0; j < (i == TP_SCRATCH ? listed : counts[i]); j++, at++)
            read_operand(r, &r->k->operands[at], lists[i]->u.items.at[j], (tp_role)i, at);
    for (uint32_t t = 0; t < r->k->ntables; t++)
        if (r->k->tables[t].is_mutable)
            r->k->operands[at++] = implied_scratch(r, r->k->tables[t].name, r->k->tables[t].loc, r->k->tables[t].dtype,
                                                   r->k->tables[t].rank, r->k->tables[t].shape);
    if (random) {
        tp_expr words = tp_const(r->k->exprs, 3);
        tp_loc loc = tp_json_get(r->k->doc, "kernel")->loc;
        tp_scope_add(r->c, &r->names, TP_S(TP_PRNG_STATE), TP_NAME_OPERAND, at, loc);
        r->k->operands[at++] = implied_scratch(r, TP_S(TP_PRNG_STATE), loc, TP_U32, 1, &words);
    }
    for (uint32_t j = 0; j < parts.len; j++, at++)
        read_scoped(r, &r->k->operands[at], &parts.at[j], at);
    for (uint32_t j = 0; j < counts[1]; j++)
        read_alias(r, &r->k->operands[counts[0] + j], lists[1]->u.items.at[j]);
}
