/* From JSON to kernels: the top level of a spec. */
#include "spec/scope.h"
#include "base/assert.h"

tp_str tp_dtypes_text(const tp_kernel *k)
{
    tp_buf b = {.arena = k->arena};
    for (uint32_t i = 0; i < k->ndtypes; i++)
        tp_buf_printf(&b, "%s%.*s=%s", i ? ", " : "", TP_FMT(k->dtypes[i].name),
                      tp_dtype_info(k->dtypes[i].choice)->name);
    return tp_buf_view(&b);
}

uint32_t tp_kernel_of_witness(const tp_spec *s, const tp_witness *w)
{
    for (uint32_t i = 0; i < s->nkernels; i++)
        if (tp_str_eq(tp_dtypes_text(s->kernels[i]), w->dtypes))
            return i;
    return 0;
}

static void check_version(tp_ctx *c, const tp_json *doc)
{
    const tp_json *v = tp_member(c, doc, "tileproof", TP_J_INT, true);
    if (v->u.integer != TP_FORMAT_VERSION)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, v->loc, "this build reads format version 1",
                 "format version %lld is not known", (long long)v->u.integer);
}

static void read_where(tp_reader *r, const tp_json *v)
{
    if (!v)
        return;
    r->k->where = TP_NEWN(r->c->arena, tp_fact, v->u.items.n);
    r->k->nwhere = v->u.items.n;
    for (uint32_t i = 0; i < v->u.items.n; i++) {
        const tp_json *f = v->u.items.at[i];
        tp_expect_type(r->c, f, TP_J_STRING, "a fact of \"where\"");
        tp_expr e = tp_int_expr_of(r, tp_parse_expr(r->c, f), TP_NAME_SIZE, true);
        r->k->where[i] = (tp_fact){e, f->u.string, f->loc};
    }
}

/* May a constant be defined by this? Numbers, sizes, constants before it, operators and functions of numbers. */
static void check_constant(tp_reader *r, const tp_node *n)
{
    bool known = n->kind == TP_N_NAME &&
                 (tp_size_find(r->k, n->text) || tp_named_number_find(r->k, n->text) || tp_str_is(n->text, "inf"));
    bool plain = n->kind == TP_N_INT || n->kind == TP_N_FLOAT || n->kind == TP_N_UNARY || n->kind == TP_N_BINARY ||
                 n->kind == TP_N_CALL;
    if (!known && !plain)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, tp_node_loc(r->c, n),
                 "use numbers, sizes and constants before it, as in \"D ** -0.5\"",
                 n->kind == TP_N_NAME ? "`%.*s` is no size and no constant" : "this is no number", TP_FMT(n->text));
    for (uint32_t i = 0; plain && n->kind != TP_N_INT && n->kind != TP_N_FLOAT && i < n->nkids; i++)
        check_constant(r, n->kids[i]);
}

static void read_constants(tp_reader *r, const tp_json *v)
{
    uint32_t n = v ? v->u.items.n : 0;
    if (n > TP_MAX_SIZES)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, NULL, "more than %d constants", TP_MAX_SIZES);
    r->k->constants = TP_NEWN(r->c->arena, tp_named_number, n);
    for (uint32_t i = 0; i < n; i++) {
        const tp_json *m = v->u.items.at[i];
        tp_node *value;
        if (m->type == TP_J_STRING) {
            value = tp_parse_expr(r->c, m);
        } else {
            if (m->type != TP_J_INT && m->type != TP_J_REAL)
                tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, m->loc, "write a number or \"D ** -0.5\"",
                         "a constant is a number or an expression, not %s", tp_json_type_name(m->type));
            value = tp_number_node(r->c, m);
        }
        check_constant(r, value);
        tp_scope_add(r->c, &r->names, m->key, TP_NAME_CONSTANT, i, m->key_loc);
        r->k->constants[r->k->nconstants++] = (tp_named_number){m->key, value};
    }
}

static void read_axis(tp_reader *r, tp_axis *axis, const tp_json *v, uint32_t i)
{
    tp_check_members(r->c, v, TP_OBJECT_AXIS);
    const tp_json *name = tp_member(r->c, v, "axis", TP_J_STRING, true);
    const tp_json *steps = tp_json_get(v, "steps"), *semantics = tp_member(r->c, v, "semantics", TP_J_STRING, false);
    if (!steps)
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, v->loc, "write {\"axis\": \"i\", \"steps\": \"cdiv(M, bm)\"}",
                 "the key \"steps\" is missing here");
    axis->name = name->u.string;
    axis->loc = name->loc;
    axis->steps_loc = steps->loc;
    axis->steps = tp_read_int_expr(r, steps, TP_NAME_SIZE | TP_NAME_TABLE, "\"steps\"");
    axis->per_core = semantics && tp_str_is(semantics->u.string, "core_parallel");
    axis->device = semantics && tp_str_is(semantics->u.string, "device");
    axis->parallel = axis->per_core || axis->device || (semantics && tp_str_is(semantics->u.string, "parallel"));
    if (semantics && !axis->parallel && !tp_str_is(semantics->u.string, "arbitrary"))
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, semantics->loc,
                 "\"arbitrary\", \"parallel\", \"core_parallel\" or \"device\"", "unknown semantics \"%.*s\"",
                 TP_FMT(semantics->u.string));
    if (axis->device && i && !axis[-1].device)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, semantics->loc, "move it in front", "axes of devices are the first ones");
    if (axis->device && i >= TP_MAX_MESH)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, semantics->loc, "fold two of them into one",
                 "a mesh has at most %d axes of devices", TP_MAX_MESH);
    tp_sym_new(r->k->exprs, axis->name);
    axis->sym = tp_sym_count(r->k->exprs) - 1;
    tp_scope_add(r->c, &r->names, axis->name, TP_NAME_AXIS, i, name->loc);
}

static void read_grid(tp_reader *r, const tp_json *v)
{
    if (!v)
        return;
    if (v->u.items.n > TP_MAX_AXES)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, v->loc, NULL, "more than %d grid axes", TP_MAX_AXES);
    r->k->naxes = v->u.items.n;
    r->k->axes = TP_NEWN(r->c->arena, tp_axis, v->u.items.n);
    for (uint32_t i = 0; i < v->u.items.n; i++)
        read_axis(r, &r->k->axes[i], v->u.items.at[i], i);
}

static void read_reference(tp_reader *r, const tp_json *v)
{
    if (!v)
        return;
    r->k->reference.loc = v->loc;
    if (v->type == TP_J_ARRAY) {
        r->k->reference.program = tp_lower_reference(r->c, r->k, v);
        return;
    }
    if (v->type != TP_J_OBJECT)
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, v->loc, NULL,
                 "a reference is an array of lines or {\"builtin\": …}, not %s", tp_json_type_name(v->type));
    tp_check_members(r->c, v, TP_OBJECT_BUILTIN);
    r->k->reference.name = tp_member(r->c, v, "builtin", TP_J_STRING, true)->u.string;
    r->k->reference.builtin = v;
}

static bool is_blank(tp_str s)
{
    size_t n = 0;
    while (n < s.n && strchr(" \t\r\n", s.p[n]) && s.p[n])
        n++;
    return n == s.n;
}

/* "allow" or "expect" */
static const tp_json *read_waivers(tp_ctx *c, const tp_json *doc, const char *key)
{
    const tp_json *list = tp_member(c, doc, key, TP_J_ARRAY, false);
    for (uint32_t i = 0; list && i < list->u.items.n; i++) {
        const tp_json *a = list->u.items.at[i];
        tp_check_members(c, a, TP_OBJECT_WAIVER);
        tp_member(c, a, "rule", TP_J_STRING, true);
        tp_member(c, a, "at", TP_J_STRING, false);
        const tp_json *reason = tp_member(c, a, "reason", TP_J_STRING, true);
        if (is_blank(reason->u.string))
            tp_raise(c, TP_RULE_SPEC_STRUCTURE, reason->loc, "give the reason why this finding is accepted",
                     "an empty reason");
    }
    return list;
}

static void expect_values(tp_ctx *c, const tp_json *object, tp_json_type type, const char *what)
{
    for (uint32_t i = 0; object && i < object->u.items.n; i++)
        tp_expect_type(c, object->u.items.at[i], type, what);
}

/* Their structure; what they mean is the business of who executes them. */
static const tp_json *read_cases(tp_ctx *c, const tp_json *doc)
{
    const tp_json *list = tp_member(c, doc, "cases", TP_J_ARRAY, false);
    for (uint32_t i = 0; list && i < list->u.items.n; i++) {
        const tp_json *v = list->u.items.at[i];
        tp_check_members(c, v, TP_OBJECT_CASE);
        expect_values(c, tp_member(c, v, "sizes", TP_J_OBJECT, false), TP_J_INT, "a size");
        expect_values(c, tp_member(c, v, "dtypes", TP_J_OBJECT, false), TP_J_STRING, "a dtype");
        expect_values(c, tp_member(c, v, "inputs", TP_J_OBJECT, false), TP_J_STRING, "a path");
        tp_member(c, v, "tables", TP_J_OBJECT, false);
        tp_member(c, v, "seed", TP_J_INT, false);
    }
    return list;
}

/* The name heads lines of reports: one printable line. */
static tp_str read_name(tp_ctx *c, const tp_json *v)
{
    tp_str s = v->u.string;
    if (s.n == 0)
        tp_raise(c, TP_RULE_SPEC_VALUE, v->loc, "name the kernel", "an empty name");
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            tp_raise(c, TP_RULE_SPEC_VALUE, v->loc, "a name is one line of text", "a control character in the name");
    return s;
}

static tp_kernel *read_kernel(tp_ctx *c, const tp_json *doc, const tp_load_options *o, const tp_dtype_param *dtypes,
                              uint32_t n)
{
    tp_kernel *k = TP_NEW(c->arena, tp_kernel);
    tp_reader r = {.c = c, .k = k};
    k->arena = c->arena;
    k->source = c->source;
    k->exprs = tp_exprs_new(c->arena);
    k->doc = doc;
    k->name = read_name(c, tp_member(c, doc, "name", TP_J_STRING, true));
    const tp_json *description = tp_member(c, doc, "description", TP_J_STRING, false),
                  *target = tp_json_get(doc, "target");
    k->description = description ? description->u.string : TP_S("");
    k->target_defaulted = !target && !o->target.n;
    if (target)
        k->target = tp_target_read(c, target);
    if (!target || o->target.n)
        tp_target_find(o->target.n ? o->target : TP_S(TP_DEFAULT_TARGET), &k->target);
    const tp_json *limit = tp_member(c, doc, "vmem_limit_bytes", TP_J_INT, false);
    if (limit && limit->u.integer < 1)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, limit->loc, NULL, "\"vmem_limit_bytes\" is an integer of at least 1");
    if (limit) /* what the compiler is asked for, as far as there is that much */
        k->target.vmem_limit = limit->u.integer < k->target.vmem_bytes ? limit->u.integer : k->target.vmem_bytes;
    k->vmem_limit = limit ? limit->u.integer : 0;
    const tp_json *tolerance = tp_json_get(doc, "tolerance");
    k->tolerance = !tolerance ? 0 : tolerance->type == TP_J_INT ? (double)tolerance->u.integer : tolerance->u.real;
    if (tolerance &&
        ((tolerance->type != TP_J_INT && tolerance->type != TP_J_REAL) || !(k->tolerance > 0 && k->tolerance <= 1)))
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, tolerance->loc, NULL, "\"tolerance\" is a number above 0, at most 1");
    k->dtypes = TP_NEWN(c->arena, tp_dtype_param, n);
    memcpy(k->dtypes, dtypes, n * sizeof *dtypes);
    k->ndtypes = n;
    const tp_json *params = tp_json_get(doc, "dtypes");
    for (uint32_t i = 0; i < n; i++)
        tp_scope_add(c, &r.names, k->dtypes[i].name, TP_NAME_DTYPE, i, params->u.items.at[i]->key_loc);
    tp_read_sizes(&r, tp_member(c, doc, "sizes", TP_J_OBJECT, false));
    read_where(&r, tp_member(c, doc, "where", TP_J_ARRAY, false));
    read_constants(&r, tp_member(c, doc, "constants", TP_J_OBJECT, false));
    tp_read_tables(&r);
    read_grid(&r, tp_member(c, doc, "grid", TP_J_ARRAY, false));
    tp_read_operands(&r);
    tp_read_contracts(&r);
    if (k->noutputs == 0)
        tp_raise(c, TP_RULE_SPEC_VALUE, tp_member(c, doc, "outputs", TP_J_ARRAY, true)->loc,
                 "name the arrays that the kernel writes", "a kernel has at least one output");
    const tp_json *body = tp_json_get(doc, "kernel");
    bool empty = body && body->type == TP_J_ARRAY && (body->u.items.n == 0 || body->u.items.indented);
    for (uint32_t i = 0; empty && i < body->u.items.n; i++)
        empty = is_blank(body->u.items.at[i]->u.string);
    if (empty)
        tp_raise(c, TP_RULE_SPEC_VALUE, body->loc,
                 "write the statements, or leave \"kernel\" out to check the windows only",
                 "the body has no statements");
    if (body)
        k->body = tp_lower_body(c, k, r.body.len ? r.body : tp_parse_program(c, body));
    read_reference(&r, tp_json_get(doc, "reference"));
    k->cases = read_cases(c, doc);
    k->allow = read_waivers(c, doc, "allow");
    k->expect = read_waivers(c, doc, "expect");
    k->nsyms = tp_sym_count(k->exprs);
    return k;
}

/* Number of combinations of dtype choices; checks the "dtypes" object. */
static uint32_t count_combinations(tp_ctx *c, const tp_json *params)
{
    uint32_t total = 1;
    for (uint32_t i = 0; params && i < params->u.items.n; i++) {
        const tp_json *p = params->u.items.at[i];
        tp_expect_type(c, p, TP_J_ARRAY, "a dtype parameter");
        if (p->u.items.n == 0)
            tp_raise(c, TP_RULE_SPEC_VALUE, p->loc, "list at least one dtype", "a dtype parameter without choices");
        for (uint32_t j = 0; j < p->u.items.n; j++)
            for (uint32_t l = 0; l < j; l++)
                if (p->u.items.at[j]->type == TP_J_STRING && p->u.items.at[l]->type == TP_J_STRING &&
                    tp_str_eq(p->u.items.at[j]->u.string, p->u.items.at[l]->u.string))
                    tp_raise(c, TP_RULE_SPEC_VALUE, p->u.items.at[j]->loc, "list it once", "\"%.*s\" is listed twice",
                             TP_FMT(p->u.items.at[j]->u.string));
        total *= p->u.items.n < TP_MAX_DTYPE_COMBINATIONS ? p->u.items.n : TP_MAX_DTYPE_COMBINATIONS + 1;
        if (total > TP_MAX_DTYPE_COMBINATIONS)
            tp_raise(c, TP_RULE_SPEC_VALUE, params->loc, NULL, "more than %d combinations of dtypes",
                     TP_MAX_DTYPE_COMBINATIONS);
    }
    return total;
}

typedef struct load_call {
    tp_ctx *c;
    const tp_load_options *o;
    tp_spec *spec;
} load_call;

/* A program in one string is its lines. */
static void split_program(tp_ctx *c, const tp_json *doc, const char *key)
{
    tp_json *v = tp_json_get(doc, key);
    if (v && v->type == TP_J_STRING)
        *v = *tp_json_lines(c, v);
}

/* The body in a file of its own becomes "kernel". */
static void join_kernel_file(tp_ctx *c, tp_json *doc)
{
    const tp_json *v = tp_member(c, doc, "kernel_file", TP_J_STRING, false), *other = tp_json_get(doc, "kernel");
    const tp_source *s = c->source;
    if (!v)
        return;
    if (other)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, other->key_loc, "keep one of the two",
                 "\"kernel\" and \"kernel_file\" both hold a body");
    if (!s->kernel_file.n)
        tp_raise(c, TP_RULE_SPEC_VALUE, v->loc, "write the body into \"kernel\"",
                 "the kernel file is not at hand here");
    uint32_t from = (uint32_t)tp_source_main(s) + 1, to = (uint32_t)s->text.n;
    tp_json *body = TP_NEW(c->arena, tp_json), **items = TP_NEWN(c->arena, tp_json *, doc->u.items.n + 1);
    *body = (tp_json){.type = TP_J_STRING, .loc = {from - 1, to + 1, TP_S("/kernel_file")}, .verbatim = true};
    body->key = TP_S("kernel");
    body->key_loc = v->key_loc;
    body->u.string = (tp_str){s->text.p + from, to - from};
    memcpy(items, doc->u.items.at, doc->u.items.n * sizeof *items);
    items[doc->u.items.n++] = body;
    doc->u.items.at = items;
}

static void load(void *arg)
{
    load_call *l = arg;
    tp_ctx *c = l->c;
    tp_str path = c->source->path;
    bool comments = path.n > 6 && memcmp(path.p + path.n - 6, ".jsonc", 6) == 0;
    tp_json *doc = tp_json_parse(c, comments);
    tp_expect_type(c, doc, TP_J_OBJECT, "a spec");
    check_version(c, doc);
    tp_check_members(c, doc, TP_OBJECT_SPEC);
    join_kernel_file(c, doc);
    split_program(c, doc, "kernel");
    split_program(c, doc, "reference");
    const tp_json *pipelines = tp_json_get(doc, "pipelines");
    for (uint32_t i = 0; pipelines && pipelines->type == TP_J_ARRAY && i < pipelines->u.items.n; i++)
        if (pipelines->u.items.at[i]->type == TP_J_OBJECT)
            split_program(c, pipelines->u.items.at[i], "kernel");
    const tp_json *prepare = tp_json_get(doc, "prepare");
    if (prepare && prepare->type == TP_J_OBJECT)
        split_program(c, prepare, "program");
    const tp_json *params = tp_member(c, doc, "dtypes", TP_J_OBJECT, false);
    tp_spec *spec = TP_NEW(c->arena, tp_spec);
    spec->doc = doc;
    spec->nkernels = count_combinations(c, params);
    spec->kernels = TP_NEWN(c->arena, tp_kernel *, spec->nkernels);
    uint32_t n = params ? params->u.items.n : 0;
    tp_dtype_param *binding = TP_NEWN(c->arena, tp_dtype_param, n);
    tp_reader none = {.c = c};
    for (uint32_t combo = 0; combo < spec->nkernels; combo++) {
        uint32_t rest = combo;
        for (uint32_t i = n; i-- > 0;) {
            const tp_json *p = params->u.items.at[i];
            binding[i].name = p->key;
            binding[i].choice = tp_read_dtype(&none, p->u.items.at[rest % p->u.items.n]);
            rest /= p->u.items.n;
        }
        spec->kernels[combo] = read_kernel(c, doc, l->o, binding, n);
        tp_assert(tp_kernel_holds(spec->kernels[combo]));
    }
    spec->name = spec->kernels[0]->name;
    l->spec = spec;
}

tp_status tp_spec_load(tp_ctx *c, const tp_load_options *o, tp_spec **out)
{
    load_call l = {.c = c, .o = o};
    tp_status st = tp_try(c->arena, load, &l);
    *out = st == TP_OK ? l.spec : NULL;
    return st;
}

bool tp_sizes_inferred(const tp_json *doc)
{
    const tp_json *python = tp_json_get(doc, "x-python");
    return python && python->type == TP_J_OBJECT && tp_json_get(python, "inferred");
}
