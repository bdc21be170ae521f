/* include/tileproof.h over spec/ and kernels/. */
#include "lib/handle.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/version.h"
#include "kernels/call.h"
#include "kernels/receipt.h"
#include "spec/files.h"

const char *tileproof_version(void)
{
    return TP_VERSION;
}

const char *tileproof_status_name(tileproof_status s)
{
    static const char *const NAMES[] = {"ok",      "usage", "input",  "refused", "violated",
                                        "unknown", "limit", "memory", "internal"};
    return (unsigned)s < sizeof NAMES / sizeof *NAMES ? NAMES[s] : "unknown status";
}

tileproof_status tp_public_status(tp_status st)
{
    switch (st) {
    case TP_OK: return TILEPROOF_OK;
    case TP_E_USAGE: return TILEPROOF_USAGE;
    case TP_E_INPUT: return TILEPROOF_INPUT;
    case TP_E_TRAP: return TILEPROOF_VIOLATED;
    case TP_E_LIMIT:
    case TP_E_BUDGET: return TILEPROOF_LIMIT;
    case TP_E_MEMORY: return TILEPROOF_MEMORY;
    case TP_E_INTERNAL: break;
    }
    return TILEPROOF_INTERNAL;
}

/* ---- findings ---- */

static const char *text(tp_arena *a, tp_str s)
{
    return s.n ? tp_cstr(a, s) : "";
}

void tp_tell_finding(tp_arena *a, const tp_listener *l, const tp_source *source, const tp_finding *f)
{
    if (!l->sink)
        return;
    tp_linecol at = {0, 0};
    if (source->text.n && f->loc.end)
        at = tp_linecol_of(source, f->loc.start);
    tileproof_finding out = {
        .rule = f->rule,
        .slug = f->slug,
        .verdict = tp_verdict_name(f->verdict),
        .severity = tp_severity_name(f->severity),
        .subject = text(a, f->subject),
        .message = text(a, f->message),
        .help = text(a, f->help),
        .pointer = text(a, f->loc.pointer),
        .line = at.line,
        .column = at.column,
    };
    l->sink(l->context, &out);
}

void tp_tell_error(tp_arena *a, const tp_listener *l, tp_str message)
{
    tileproof_finding out = {.verdict = "violated",
                             .severity = "error",
                             .subject = "",
                             .message = text(a, message),
                             .help = "",
                             .pointer = ""};
    if (l->sink)
        l->sink(l->context, &out);
}

/* ---- loading ---- */

static void describe(tileproof_kernel *h)
{
    const tp_kernel *k = h->spec->kernels[0];
    h->name = tp_cstr(h->arena, h->spec->name);
    h->chip = tp_cstr(h->arena, k->target.name);
    h->parameters = TP_NEWN(h->arena, tileproof_parameter, k->ninputs + k->noutputs + k->ntables);
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        if (k->operands[i].array < 0)
            h->parameters[h->nparameters++] =
                (tileproof_parameter){tp_cstr(h->arena, k->operands[i].name),
                                      k->operands[i].role == TP_INPUT ? TILEPROOF_INPUT_ARRAY : TILEPROOF_OUTPUT_ARRAY,
                                      tp_dtype_info(k->operands[i].dtype)->name, k->operands[i].rank};
    for (uint32_t i = 0; i < k->ntables; i++)
        if (!k->tables[i].prepared)
            h->parameters[h->nparameters++] =
                (tileproof_parameter){tp_cstr(h->arena, k->tables[i].name), TILEPROOF_TABLE,
                                      tp_dtype_info(k->tables[i].dtype)->name, k->tables[i].rank};
}

typedef struct load_call {
    tileproof_kernel *h;
    const char *path; /* NULL: the text below */
    const char *text;
    size_t n;
    const char *target;
    tp_listener listener;
    tp_status st;
} load_call;

static void load(void *arg)
{
    load_call *c = arg;
    tileproof_kernel *h = c->h;
    tp_target known;
    tp_str why;
    h->target = c->target ? tp_printf(h->arena, "%s", c->target) : TP_S("");
    h->source.path = c->path ? tp_printf(h->arena, "%s", c->path) : TP_S("<memory>");
    h->ctx = (tp_ctx){.arena = h->arena, .source = &h->source};
    if (h->target.n && !tp_target_find(h->target, &known)) {
        tp_tell_error(h->arena, &c->listener, tp_printf(h->arena, "unknown target `%s`", c->target));
        c->st = TP_E_USAGE;
        return;
    }
    if (c->path && tp_read_file(h->arena, c->path, TP_JSON_MAX_BYTES, &h->source.text, &why) != TP_OK) {
        tp_tell_error(h->arena, &c->listener, why);
        c->st = TP_E_INPUT;
        return;
    }
    if (!c->path && c->n > TP_JSON_MAX_BYTES) {
        tp_tell_error(h->arena, &c->listener, TP_S("the text is too long for a spec"));
        c->st = TP_E_INPUT;
        return;
    }
    if (!c->path) {
        tp_buf copy = {.arena = h->arena};
        tp_buf_add(&copy, c->text, c->n);
        h->source.text = tp_buf_view(&copy);
    }
    tp_load_options options = {.target = h->target};
    tp_source_complete(&h->ctx, &h->source);
    c->st = tp_spec_load(&h->ctx, &options, &h->spec);
    for (uint32_t i = 0; i < h->ctx.findings.len; i++)
        tp_tell_finding(h->arena, &c->listener, &h->source, &h->ctx.findings.at[i]);
    if (c->st == TP_OK)
        describe(h);
}

static tileproof_status open_kernel(load_call *c, tileproof_kernel **out)
{
    if (!out || (!c->path && !c->text && c->n))
        return TILEPROOF_USAGE;
    *out = NULL;
    tp_status st = TP_E_MEMORY;
    c->h = calloc(1, sizeof *c->h);
    if (c->h) {
        c->h->arena = tp_arena_new((size_t)4 << 30);
        c->h->pool = tp_pool_new();
    }
    if (c->h && c->h->arena && c->h->pool)
        st = tp_try(c->h->arena, load, c);
    if (st == TP_OK)
        st = c->st;
    if (st == TP_OK)
        *out = c->h;
    else
        tileproof_free(c->h);
    return tp_public_status(st);
}

tileproof_status tileproof_load(const char *text, size_t n, const char *target, tileproof_sink sink, void *context,
                                tileproof_kernel **kernel)
{
    load_call c = {.text = text, .n = n, .target = target, .listener = {sink, context}};
    return open_kernel(&c, kernel);
}

tileproof_status tileproof_load_file(const char *path, const char *target, tileproof_sink sink, void *context,
                                     tileproof_kernel **kernel)
{
    load_call c = {.path = path, .target = target, .listener = {sink, context}};
    return path ? open_kernel(&c, kernel) : TILEPROOF_USAGE;
}

void tileproof_free(tileproof_kernel *kernel)
{
    if (!kernel)
        return;
    tp_pool_free(kernel->pool);
    tp_arena_free(kernel->arena);
    free(kernel);
}

const char *tileproof_name(const tileproof_kernel *kernel)
{
    return kernel->name;
}

const char *tileproof_target(const tileproof_kernel *kernel)
{
    return kernel->chip;
}

size_t tileproof_nparameters(const tileproof_kernel *kernel)
{
    return kernel->nparameters;
}

int tileproof_get_parameter(const tileproof_kernel *kernel, size_t i, tileproof_parameter *parameter)
{
    if (i >= kernel->nparameters)
        return 0;
    *parameter = kernel->parameters[i];
    return 1;
}

/* ---- receipts ---- */

typedef struct accept_call {
    tileproof_kernel *h;
    tp_arena *arena;
    tp_ctx receipt, spec;
    tp_str refusal;
} accept_call;

static void accept(void *arg)
{
    accept_call *c = arg;
    tp_receipt r = tp_receipt_read(&c->receipt);
    c->refusal = tp_receipt_refusal(&c->spec, &r, c->h->spec);
}

tileproof_status tileproof_accept(tileproof_kernel *kernel, const char *receipt, size_t n, tileproof_sink sink,
                                  void *context)
{
    tp_listener l = {sink, context};
    if (!kernel || !receipt || n > TP_RECEIPT_MAX_BYTES)
        return TILEPROOF_USAGE;
    tp_arena *a = tp_arena_new((size_t)1 << 30);
    if (!a)
        return TILEPROOF_MEMORY;
    tp_source source = {.path = TP_S("<receipt>"), .text = {receipt, n}};
    accept_call c = {.h = kernel,
                     .arena = a,
                     .receipt = {.arena = a, .source = &source},
                     .spec = {.arena = a, .source = &kernel->source}};
    tp_status st = tp_try(a, accept, &c);
    tileproof_status result = tp_public_status(st);
    for (uint32_t i = 0; st == TP_E_INPUT && i < c.receipt.findings.len; i++)
        tp_tell_finding(a, &l, &source, &c.receipt.findings.at[i]);
    if (st == TP_OK && c.refusal.n) {
        tp_tell_error(a, &l, c.refusal);
        result = TILEPROOF_REFUSED;
    }
    kernel->verified |= result == TILEPROOF_OK;
    tp_arena_free(a);
    return result;
}

int tileproof_is_verified(const tileproof_kernel *kernel)
{
    return kernel->verified;
}

/* ---- running ---- */

typedef struct run_call {
    const tileproof_kernel *h;
    const tileproof_array *arrays;
    size_t n;
    const tileproof_run_options *o;
    tp_listener listener;
    tp_call call;
    tp_status st;
} run_call;

static const tileproof_array *array_named(const run_call *c, tp_str name)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->arrays[i].name && tp_str_is(name, c->arrays[i].name))
            return &c->arrays[i];
    return NULL;
}

/* The caller's memory, described; false with *why. */
static bool view(tp_arena *a, const tileproof_array *x, tp_tensor *out, tp_str *why)
{
    *out = (tp_tensor){.dtype = x->dtype ? tp_dtype_find(tp_str_c(x->dtype)) : TP_DTYPES, .rank = x->rank, .n = 1};
    if (out->dtype == TP_DTYPES)
        *why = tp_printf(a, "`%s` has the unknown dtype `%s`", x->name, x->dtype ? x->dtype : "");
    else if (x->rank > TP_TENSOR_MAX_RANK || (x->rank && !x->shape))
        *why = tp_printf(a, "`%s` has no shape, or more than %d dimensions", x->name, TP_TENSOR_MAX_RANK);
    else
        why->n = 0;
    for (uint32_t d = 0; d < x->rank && !why->n; d++) {
        out->dims[d] = x->shape[d];
        if (x->shape[d] < 0 || __builtin_mul_overflow(out->n, (size_t)x->shape[d], &out->n) || out->n > SIZE_MAX / 16)
            *why = tp_printf(a, "`%s` has no such shape", x->name);
    }
    if (!why->n && out->n && !x->data)
        *why = tp_printf(a, "`%s` has no data", x->name);
    return !why->n;
}

/* Elements of the caller's array from or to C order without gaps. */
static void copy(const tileproof_array *x, const tp_tensor *t, bool out)
{
    size_t size = tp_dtype_size(t->dtype);
    int64_t at[TP_TENSOR_MAX_RANK] = {0};
    char *flat = t->data;
    if (!x->strides && t->n) {
        memcpy(out ? x->data : flat, out ? flat : x->data, t->n * size);
        return;
    }
    for (size_t i = 0; i < t->n; i++, flat += size) {
        char *theirs = x->data;
        for (uint32_t d = 0; d < t->rank; d++)
            theirs += at[d] * x->strides[d];
        memcpy(out ? theirs : flat, out ? flat : theirs, size);
        for (uint32_t d = t->rank; d-- > 0 && ++at[d] == t->dims[d];)
            at[d] = 0;
    }
}

/* Does the machine take the caller's memory as it is? */
static bool is_plain(const tileproof_array *x, tp_dtype dtype)
{
    return !x->strides && (uintptr_t)x->data % tp_dtype_size(dtype) == 0;
}

/* Bytes of a contiguous array; of one with strides, which may lie anywhere: none known. */
static bool may_overlap(const tileproof_array *x, const tileproof_array *y, size_t y_bytes)
{
    size_t bytes = x->dtype ? tp_dtype_size(tp_dtype_find(tp_str_c(x->dtype))) : 1;
    for (uint32_t d = 0; d < x->rank; d++)
        bytes *= (size_t)x->shape[d];
    uintptr_t a = (uintptr_t)x->data, b = (uintptr_t)y->data;
    return x->strides || (a < b + y_bytes && b < a + bytes);
}

/* An output of a verified kernel is computed where the caller wants it. */
static void *place(void *ctx, tp_str name, const tp_tensor *shape)
{
    const run_call *c = ctx;
    const tileproof_array *x = array_named(c, name);
    tp_tensor theirs;
    tp_str why;
    if (!c->h->verified || !x || !view(c->call.arena, x, &theirs, &why) || theirs.dtype != shape->dtype ||
        theirs.n != shape->n || !is_plain(x, shape->dtype))
        return NULL;
    for (size_t i = 0; i < c->n; i++)
        if (&c->arrays[i] != x && (!view(c->call.arena, &c->arrays[i], &theirs, &why) ||
                                   may_overlap(&c->arrays[i], x, shape->n * tp_dtype_size(shape->dtype))))
            return NULL;
    return x->data;
}

static tp_status fetch(void *ctx, tp_str name, tp_dtype wanted, tp_tensor *out, tp_str *why)
{
    run_call *c = ctx;
    tp_arena *a = c->call.arena;
    const tileproof_array *x = array_named(c, name);
    (void)wanted;
    if (!x) {
        *why = tp_printf(a, "no array `%.*s` was given", TP_FMT(name));
        return TP_E_USAGE;
    }
    if (!view(a, x, out, why))
        return TP_E_USAGE;
    if (is_plain(x, out->dtype) && out->n) {
        out->data = x->data;
        return TP_OK;
    }
    out->data = tp_alloc_array(a, out->n ? out->n : 1, tp_dtype_size(out->dtype));
    copy(x, out, false);
    return TP_OK;
}

/* Every output has memory of the right kind before anything is executed. */
static bool outputs_fit(run_call *c)
{
    const tp_kernel *k = c->call.kernel;
    tp_arena *a = c->call.arena;
    tp_str why = {NULL, 0};
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs && !why.n; i++) {
        const tileproof_array *x = array_named(c, k->operands[i].name);
        tp_tensor theirs, *ours = &c->call.arrays[i];
        if (!x) {
            why = tp_printf(a, "no array `%.*s` was given", TP_FMT(k->operands[i].name));
        } else if (view(a, x, &theirs, &why)) {
            bool same = theirs.dtype == ours->dtype && theirs.rank == ours->rank;
            for (uint32_t d = 0; d < ours->rank && same; d++)
                same = theirs.dims[d] == ours->dims[d];
            if (!same)
                why = tp_printf(a, "output `%.*s` is %.*s, its array is %.*s", TP_FMT(k->operands[i].name),
                                TP_FMT(tp_tensor_text(a, ours)), TP_FMT(tp_tensor_text(a, &theirs)));
        }
    }
    if (why.n)
        tp_tell_error(a, &c->listener, why);
    return !why.n;
}

static void tell_trap(run_call *c, const tp_trap *t)
{
    tp_finding f = {.rule = t->rule,
                    .slug = "trap",
                    .verdict = TP_VIOLATED,
                    .severity = TP_ERROR,
                    .subject = t->subject,
                    .message = t->message,
                    .loc = t->loc};
    if (t->rule)
        tp_tell_finding(c->call.arena, &c->listener, &c->h->source, &f);
    else
        tp_tell_error(c->call.arena, &c->listener, t->message);
}

static void bind(run_call *c)
{
    tp_arena *a = c->call.arena;
    tp_binding *sizes = TP_NEWN(a, tp_binding, c->o->nsizes);
    for (size_t i = 0; i < c->o->nsizes; i++)
        sizes[i] = (tp_binding){tp_str_c(c->o->sizes[i].name), c->o->sizes[i].value};
    c->call.sizes = sizes;
    c->call.nsizes = (uint32_t)c->o->nsizes;
    c->st = tp_call_bind(&c->call);
    if (c->st != TP_OK)
        tp_tell_error(a, &c->listener, c->call.why);
}

static void run(void *arg)
{
    run_call *c = arg;
    tp_trap trap = {0};
    tp_run_stats stats;
    bind(c);
    if (c->st == TP_OK && !outputs_fit(c))
        c->st = TP_E_INPUT;
    if (c->st != TP_OK)
        return;
    c->st = tp_call_run(&c->call, c->o->seed, c->o->max_steps ? c->o->max_steps : TP_MAX_STEPS, c->o->threads, &trap,
                        &stats);
    if (c->st != TP_OK)
        tell_trap(c, &trap);
    const tp_kernel *k = c->call.kernel;
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs && c->st == TP_OK; i++) {
        const tileproof_array *x = array_named(c, k->operands[i].name);
        if (x->data != c->call.arrays[i].data)
            copy(x, &c->call.arrays[i], true);
    }
}

static const tileproof_run_options DEFAULTS;

tileproof_status tileproof_run(const tileproof_kernel *kernel, const tileproof_array *arrays, size_t n,
                               const tileproof_run_options *options, tileproof_sink sink, void *context)
{
    run_call c = {
        .h = kernel, .arrays = arrays, .n = n, .o = options ? options : &DEFAULTS, .listener = {sink, context}};
    if (!kernel || (n && !arrays) || (c.o->nsizes && !c.o->sizes))
        return TILEPROOF_USAGE;
    tp_arena *a = tp_pool_take(kernel->pool, c.o->max_memory ? c.o->max_memory : (size_t)2048 << 20);
    if (!a)
        return TILEPROOF_MEMORY;
    tileproof_status result = TILEPROOF_REFUSED;
    c.call =
        (tp_call){.arena = a, .spec = kernel->spec, .fetch = fetch, .place = place, .ctx = &c, .pool = kernel->pool};
    if (!kernel->verified && !c.o->unchecked) {
        tp_tell_error(a, &c.listener,
                      TP_S("the kernel is not verified: accept a receipt, verify it, or run it unchecked"));
    } else {
        tp_status st = tp_try(a, run, &c);
        result = tp_public_status(st == TP_OK ? c.st : st);
    }
    tp_pool_give(kernel->pool, a);
    return result;
}

/* ---- shapes ---- */

typedef struct shape_call {
    run_call base;
    const char *name;
    const tp_tensor *found;
} shape_call;

/* Nothing is computed, so that no output needs memory. */
static void *nowhere(void *ctx, tp_str name, const tp_tensor *shape)
{
    (void)name, (void)shape;
    return ctx;
}

static void find_shape(void *arg)
{
    shape_call *c = arg;
    run_call *r = &c->base;
    bind(r);
    const tp_kernel *k = r->call.kernel;
    for (uint32_t i = 0; r->st == TP_OK && i < k->noutputs; i++)
        if (tp_str_is(k->operands[k->ninputs + i].name, c->name))
            c->found = &r->call.arrays[k->ninputs + i];
    if (r->st != TP_OK || c->found)
        return;
    r->st = TP_E_USAGE;
    tp_tell_error(r->call.arena, &r->listener, tp_printf(r->call.arena, "the kernel has no output `%s`", c->name));
}

tileproof_status tileproof_output_shape(const tileproof_kernel *kernel, const char *name, const tileproof_array *arrays,
                                        size_t n, const tileproof_run_options *options, const char **dtype,
                                        uint32_t *rank, int64_t *shape, tileproof_sink sink, void *context)
{
    shape_call c = {.base = {.h = kernel,
                             .arrays = arrays,
                             .n = n,
                             .o = options ? options : &DEFAULTS,
                             .listener = {sink, context}},
                    .name = name};
    if (!kernel || !name || !dtype || !rank || !shape || (n && !arrays) || (c.base.o->nsizes && !c.base.o->sizes))
        return TILEPROOF_USAGE;
    tp_arena *a = tp_pool_take(kernel->pool, c.base.o->max_memory ? c.base.o->max_memory : (size_t)2048 << 20);
    if (!a)
        return TILEPROOF_MEMORY;
    c.base.call =
        (tp_call){.arena = a, .spec = kernel->spec, .fetch = fetch, .place = nowhere, .ctx = &c.base, .measures = true};
    tp_status st = tp_try(a, find_shape, &c);
    st = st == TP_OK ? c.base.st : st;
    if (st == TP_OK) {
        *dtype = tp_dtype_info(c.found->dtype)->name;
        *rank = c.found->rank;
        for (uint32_t d = 0; d < c.found->rank; d++)
            shape[d] = c.found->dims[d];
    }
    tp_pool_give(kernel->pool, a);
    return tp_public_status(st);
}
