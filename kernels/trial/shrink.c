/* Small blocks in place of those of the spec: edits of its text, read again as
 * any spec is. Whether the kernel still is what its reference says is for who
 * runs it to see; a body that knows its block by another name does not stand it. */
#include <ctype.h>

#include "base/checked.h"
#include "kernels/trial/internal.h"

enum {
    SMALL = 4,    /* of a block; more than one remainder, and even */
    WORTH_IT = 8, /* what is below stays: axis numbers are, too */
    MAX_DIGITS = 15
};

typedef struct shrinking {
    tp_ctx *c;
    const tp_spec *spec;
    tp_edits edits;
    tp_buf blocks;
} shrinking;

static void edit_number(shrinking *x, const tp_json *v, int64_t value)
{
    tp_edit e = {v->loc.start, v->loc.end, tp_printf(x->c->arena, "%lld", (long long)value)};
    if (v->u.integer != value)
        tp_push(x->c->arena, x->edits, e);
}

/* ---- blocks by name ---- */

static bool names(const tp_node *n, tp_str name)
{
    if (n->kind == TP_N_NAME && tp_str_eq(n->text, name))
        return true;
    for (uint32_t i = 0; i < n->nkids; i++)
        if (names(n->kids[i], name))
            return true;
    return false;
}

/* Is the size in one of the expressions under `key` of the inputs and outputs? */
static bool in_arrays(const shrinking *x, const char *key, tp_str name)
{
    static const char *const LISTS[] = {"inputs", "outputs"};
    for (int l = 0; l < 2; l++) {
        const tp_json *list = tp_json_get(x->spec->doc, LISTS[l]);
        for (uint32_t i = 0; list && i < list->u.items.n; i++) {
            const tp_json *dims = tp_json_get(list->u.items.at[i], key);
            for (uint32_t d = 0; dims && dims->type == TP_J_ARRAY && d < dims->u.items.n; d++)
                if (dims->u.items.at[d]->type == TP_J_STRING && names(tp_parse_expr(x->c, dims->u.items.at[d]), name))
                    return true;
        }
    }
    return false;
}

/* What all values of a fixed or chosen size are divided by; 1: it stays. */
static int64_t factor_of(const shrinking *x, const tp_size *s)
{
    int64_t all = s->min;
    if (s->kind != TP_SIZE_FIXED && s->kind != TP_SIZE_CHOICE)
        return 1;
    for (uint32_t i = 0; i < s->nchoices; i++)
        all = tp_gcd(all, s->choices[i]);
    bool block =
        all >= WORTH_IT && all % SMALL == 0 && in_arrays(x, "block_shape", s->name) && !in_arrays(x, "shape", s->name);
    return block ? all / SMALL : 1;
}

/* By how much the block shrinks that tiles a dimension of this size; 1: none does. */
static int64_t factor_along(const shrinking *x, const tp_kernel *k, const tp_size *s, const int64_t *factors)
{
    static const char *const LISTS[] = {"inputs", "outputs"};
    for (int l = 0; l < 2; l++) {
        const tp_json *list = tp_json_get(x->spec->doc, LISTS[l]);
        for (uint32_t i = 0; list && i < list->u.items.n; i++) {
            const tp_json *shape = tp_json_get(list->u.items.at[i], "shape"),
                          *block = tp_json_get(list->u.items.at[i], "block_shape");
            for (uint32_t d = 0; block && block->type == TP_J_ARRAY && d < block->u.items.n; d++) {
                const tp_json *extent = shape->u.items.at[d], *b = block->u.items.at[d];
                if (extent->type != TP_J_STRING || b->type != TP_J_STRING ||
                    !names(tp_parse_expr(x->c, extent), s->name))
                    continue;
                for (uint32_t n = 0; n < k->nsizes; n++)
                    if (factors[n] > 1 && names(tp_parse_expr(x->c, b), k->sizes[n].name))
                        return factors[n];
            }
        }
    }
    return 1;
}

static void say_block(shrinking *x, const tp_size *s, int64_t factor)
{
    tp_buf_printf(&x->blocks, "%s%.*s", x->blocks.n ? ", " : "", TP_FMT(s->name));
    if (s->kind == TP_SIZE_FIXED)
        tp_buf_printf(&x->blocks, "=%lld", (long long)(s->min / factor));
    for (uint32_t i = 0; i < s->nchoices; i++)
        tp_buf_printf(&x->blocks, "%s%lld", i ? ", " : " in {", (long long)(s->choices[i] / factor));
    tp_buf_c(&x->blocks, s->nchoices ? "}" : "");
}

static void shrink_blocks(shrinking *x)
{
    const tp_kernel *k = x->spec->kernels[0];
    const tp_json *sizes = tp_json_get(x->spec->doc, "sizes");
    int64_t *factors = TP_NEWN(x->c->arena, int64_t, k->nsizes);
    for (uint32_t i = 0; i < k->nsizes; i++)
        factors[i] = factor_of(x, &k->sizes[i]);
    for (uint32_t i = 0; i < k->nsizes; i++) { /* in the order of the text */
        const tp_size *s = &k->sizes[i];
        const tp_json *v = sizes->u.items.at[i], *in = v->type == TP_J_OBJECT ? tp_json_get(v, "in") : NULL;
        if (factors[i] > 1)
            say_block(x, s, factors[i]);
        if (s->kind == TP_SIZE_FIXED)
            edit_number(x, v, s->min / factors[i]);
        for (uint32_t n = 0; in && n < in->u.items.n; n++)
            edit_number(x, in->u.items.at[n], in->u.items.at[n]->u.integer / factors[i]);
        if (s->kind != TP_SIZE_RANGE)
            continue;
        int64_t along = factor_along(x, k, s, factors);
        for (uint32_t n = 0; n < v->u.items.n; n++) {
            const tp_json *m = v->u.items.at[n];
            if (tp_str_is(m->key, "multiple_of"))
                edit_number(x, m, m->u.integer / tp_gcd(m->u.integer, along));
            else if (tp_str_is(m->key, "min"))
                edit_number(x, m, m->u.integer / along + (m->u.integer % along > 0));
        }
    }
}

/* ---- every number ---- */

static int64_t common_factor(const tp_kernel *k)
{
    int64_t all = 0, b;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        for (uint32_t d = 0; d < k->operands[i].rank && !k->operands[i].whole; d++) {
            tp_expr block = k->operands[i].dims[d].block;
            if (tp_expr_is_const(k->exprs, block, &b) && b >= WORTH_IT)
                all = tp_gcd(all, b);
            for (uint32_t s = 0; s < k->nsizes; s++)
                for (uint32_t c = 0; k->sizes[s].kind == TP_SIZE_CHOICE && c < k->sizes[s].nchoices; c++)
                    if (tp_expr_mentions(k->exprs, block, k->sizes[s].sym))
                        all = tp_gcd(all, k->sizes[s].choices[c]);
        }
    return all % SMALL == 0 && all > SMALL ? all / SMALL : 1;
}

static bool in_a_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* The integers of bytes [from, to): in JSON and inside of its strings alike. */
static void shrink_numbers(shrinking *x, uint32_t from, uint32_t to, int64_t factor)
{
    const char *text = x->c->source->text.p;
    for (uint32_t at = from; at < to; at++) {
        if (!isdigit((unsigned char)text[at]) || in_a_word(text[at - 1]))
            continue;
        uint32_t end = at;
        int64_t value = 0;
        for (; end < to && isdigit((unsigned char)text[end]) && end - at < MAX_DIGITS; end++)
            value = value * 10 + (text[end] - '0');
        if ((end == to || !in_a_word(text[end])) && value >= WORTH_IT && value % factor == 0) {
            tp_edit e = {at, end, tp_printf(x->c->arena, "%lld", (long long)(value / factor))};
            tp_push(x->c->arena, x->edits, e);
        }
        while (end < to && in_a_word(text[end]))
            end++;
        at = end;
    }
}

static void shrink_all(shrinking *x)
{
    static const char *const PARTS[] = {"sizes",  "where",   "contracts", "prepare", "grid",     "scalar_prefetch",
                                        "inputs", "outputs", "scratch",   "kernel",  "reference"};
    int64_t factor = common_factor(x->spec->kernels[0]);
    const tp_json *doc = x->spec->doc;
    for (uint32_t i = 0; factor > 1 && i < doc->u.items.n; i++)
        for (size_t p = 0; p < sizeof PARTS / sizeof *PARTS; p++)
            if (tp_str_is(doc->u.items.at[i]->key, PARTS[p]))
                shrink_numbers(x, doc->u.items.at[i]->loc.start, doc->u.items.at[i]->loc.end, factor);
    tp_buf_printf(&x->blocks, "all numbers that %lld divides are divided by it", (long long)factor);
}

tp_spec *tp_shrunk(tp_ctx *c, const tp_spec *s, tp_shrink_mode how, tp_str *blocks)
{
    shrinking x = {.c = c, .spec = s, .blocks = {.arena = c->arena}};
    if (how == TP_SHRINK_BLOCKS)
        shrink_blocks(&x);
    else
        shrink_all(&x);
    if (!x.edits.len)
        return NULL;
    tp_source *source = TP_NEW(c->arena, tp_source);
    *source = *c->source;
    source->text = tp_apply_edits(c->arena, c->source->text, &x.edits);
    tp_ctx inner = {.arena = c->arena, .source = source};
    tp_load_options o = {.target = {NULL, 0}};
    tp_spec *out = NULL;
    *blocks = tp_buf_view(&x.blocks);
    return tp_spec_load(&inner, &o, &out) == TP_OK ? out : NULL;
}
