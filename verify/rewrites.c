#define _GNU_SOURCE /* memmem */
#include "verify/rewrites.h"

#include <stdarg.h>

enum { MOST_NAMES = 64, MOST_FACTORS = 8, MOST_NUMBERS = 24, LAST_RANK = 2 };

typedef struct writer {
    tp_ctx *c;
    uint8_t rank; /* the one that is wanted now */
    uint32_t most;
    tp_rewrites out;
    uint32_t naxes, ngiven, nnames, nrefs, nbuffers, nsizes, nentries, nfactors, nblocks, nfloats, nints; /* of: */
    tp_str names[MOST_NAMES]; /* axes, constants (which are given), then what the body assigned so far */
    bool counts[MOST_NAMES];  /* of a name: it is made of axes and positions */
    tp_str refs[MOST_NAMES];  /* operands and scratch, the buffers; then tables */
    tp_str sizes[MOST_NAMES];
    const tp_json *entries[MOST_FACTORS];  /* of index maps: what tables and axes make of a step */
    tp_str factors[MOST_FACTORS];          /* calls and names that the body multiplies by */
    tp_str blocks[MOST_FACTORS];           /* extents of blocks: numbers and names of sizes */
    double floats[MOST_NUMBERS];           /* that stand in the body or the reference */
    tp_str digits[MOST_NUMBERS];           /* of them, as they are written */
    int64_t ints[MOST_NUMBERS];            /* that stand there, or in blocks: from 2 on */
    uint32_t ntwins, twins[TP_MOST_TWINS]; /* how far behind what is rewritten others like it begin */
    const char *twins_are;
} writer;

/* ---- changed text ---- */

static tp_str text_of(const writer *w, const tp_node *n)
{
    tp_loc at = tp_node_loc(w->c, n);
    return (tp_str){w->c->source->text.p + at.start, at.end - at.start};
}

static bool is_wanted(const writer *w, uint8_t rank)
{
    return rank == w->rank && w->out.len < w->most;
}

static void put_text(writer *w, uint8_t rank, tp_loc at, tp_str after)
{
    tp_str text = w->c->source->text;
    if (after.n == at.end - at.start && memcmp(text.p + at.start, after.p, after.n) == 0)
        return;
    tp_rewrite r = {
        .edit = {at.start, at.end, after}, .place = at, .rank = rank, .ntwins = w->ntwins, .twins_are = w->twins_are};
    for (uint32_t i = 0; i < w->ntwins; i++)
        r.twins[i] = at.start + w->twins[i];
    tp_push(w->c->arena, w->out, r);
}

static void put(writer *w, uint8_t rank, tp_loc at, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static void put(writer *w, uint8_t rank, tp_loc at, const char *fmt, ...)
{
    va_list ap;
    if (!is_wanted(w, rank))
        return;
    va_start(ap, fmt);
    put_text(w, rank, at, tp_vprintf(w->c->arena, fmt, ap));
    va_end(ap);
}

/* Where an expression stands, as the operand of what binds with `power`, and whether parentheses are around it there:
 * its own, or those of a call. */
typedef struct place {
    tp_loc at;
    int power;
    bool enclosed;
    tp_loc with_parens;
} place;

static place place_of(const writer *w, const tp_node *n, int power)
{
    tp_loc at = tp_node_loc(w->c, n);
    tp_str text = w->c->source->text;
    uint32_t from = at.start, to = at.end;
    while (from && text.p[from - 1] == ' ')
        from--;
    while (to < text.n && text.p[to] == ' ')
        to++;
    bool enclosed = from && to < text.n && text.p[from - 1] == '(' && text.p[to] == ')';
    return (place){at, power, enclosed, {from - enclosed, to + enclosed, at.pointer}};
}

static place place_of_kid(const writer *w, const tp_node *n, uint32_t i)
{
    return place_of(w, n->kids[i], tp_kid_power(n, i));
}

/* An expression whose own operator binds with `power`, in parentheses only where it needs some. */
static void put_at(writer *w, uint8_t rank, place p, int power, tp_str text)
{
    bool needs = power < p.power, has = p.enclosed && p.power > 0;
    if (is_wanted(w, rank))
        put_text(w, rank, has && !needs ? p.with_parens : p.at,
                 needs && !has ? tp_printf(w->c->arena, "(%.*s)", TP_FMT(text)) : text);
}

/* A node as operand i of an operator. */
static tp_str operand(const writer *w, const tp_node *n, tp_operator o, uint32_t i)
{
    bool parens = tp_node_power(n) < tp_operand_power(o, i);
    return parens ? tp_printf(w->c->arena, "(%.*s)", TP_FMT(text_of(w, n))) : text_of(w, n);
}

/* The operator between operands that bind tightly enough. */
static void put_operator(writer *w, uint8_t rank, place p, tp_str a, tp_operator o, tp_str b)
{
    if (is_wanted(w, rank))
        put_at(w, rank, p, TP_OPERATOR_ROWS[o].left,
               tp_printf(w->c->arena, "%.*s %s %.*s", TP_FMT(a), tp_operator_text(o), TP_FMT(b)));
}

static void put_inverse(writer *w, place p, const tp_node *n)
{
    if (is_wanted(w, 0))
        put_at(w, 0, p, TP_POWER_UNARY, tp_printf(w->c->arena, "~%.*s", TP_FMT(operand(w, n, TP_O_INVERT, 0))));
}

/* ---- what stands in the program ---- */

static bool has_name(const tp_str *list, uint32_t n, tp_str name)
{
    bool found = false;
    for (uint32_t i = 0; i < n && !found; i++)
        found = tp_str_eq(list[i], name);
    return found;
}

static void add_name(writer *w, tp_str name, bool counts)
{
    if (has_name(w->names, w->nnames, name) || w->nnames == MOST_NAMES)
        return;
    w->counts[w->nnames] = counts;
    w->names[w->nnames++] = name;
}

static void add_float(writer *w, const tp_node *n)
{
    for (uint32_t i = 0; i < w->nfloats; i++)
        if (memcmp(&w->floats[i], &n->real, sizeof n->real) == 0)
            return;
    if (w->nfloats == MOST_NUMBERS)
        return;
    w->digits[w->nfloats] = n->text;
    w->floats[w->nfloats++] = n->real;
}

static void add_int(writer *w, int64_t v)
{
    for (uint32_t i = 0; i < w->nints; i++)
        if (w->ints[i] == v)
            return;
    if (v >= 2 && w->nints < MOST_NUMBERS)
        w->ints[w->nints++] = v;
}

static void collect_numbers(writer *w, const tp_node *n)
{
    if (!n)
        return;
    if (n->kind == TP_N_FLOAT)
        add_float(w, n);
    if (n->kind == TP_N_INT)
        add_int(w, n->integer);
    for (uint32_t i = 0; i < n->nkids; i++)
        collect_numbers(w, n->kids[i]);
}

static void collect_factors(writer *w, const tp_node *n)
{
    for (uint32_t i = 0; n && i < n->nkids; i++) {
        const tp_node *kid = n->kids[i];
        if (n->kind == TP_N_BINARY && n->op == TP_O_MUL && w->nfactors < MOST_FACTORS &&
            (kid->kind == TP_N_CALL || kid->kind == TP_N_NAME) && !has_name(w->factors, w->nfactors, text_of(w, kid)))
            w->factors[w->nfactors++] = text_of(w, kid);
        collect_factors(w, kid);
    }
}

static void collect_from(writer *w, const tp_block *b, bool factors)
{
    for (uint32_t i = 0; i < b->len; i++) {
        collect_numbers(w, b->at[i]->value);
        if (factors)
            collect_factors(w, b->at[i]->value);
        collect_from(w, &b->at[i]->body, factors);
        collect_from(w, &b->at[i]->orelse, factors);
    }
}

static const tp_json *items(const tp_json *doc, const char *member)
{
    const tp_json *list = tp_json_get(doc, member);
    return list && list->type == TP_J_ARRAY ? list : NULL;
}

/* An extent of a block: 128, or bk. */
static void add_block(writer *w, const tp_json *v)
{
    tp_str text = {w->c->source->text.p + v->loc.start, v->loc.end - v->loc.start};
    if (v->type == TP_J_INT)
        add_int(w, v->u.integer);
    if (v->type == TP_J_STRING) {
        bool sum = strpbrk(tp_cstr(w->c->arena, v->u.string), " +-*/%()") != NULL;
        text = sum ? tp_printf(w->c->arena, "(%.*s)", TP_FMT(v->u.string)) : v->u.string;
    }
    bool tells = v->type == TP_J_STRING || (v->type == TP_J_INT && v->u.integer > 1);
    if (tells && w->nblocks < MOST_FACTORS && !has_name(w->blocks, w->nblocks, text))
        w->blocks[w->nblocks++] = text;
}

static void add_entry(writer *w, const tp_json *e)
{
    bool has = e->type != TP_J_STRING || !memchr(e->u.string.p, '[', e->u.string.n);
    for (uint32_t i = 0; i < w->nentries && !has; i++)
        has = tp_str_eq(w->entries[i]->u.string, e->u.string);
    if (!has && w->nentries < MOST_FACTORS)
        w->entries[w->nentries++] = e;
}

static void collect_operands(writer *w, const tp_json *doc)
{
    const tp_json *sizes = tp_json_get(doc, "sizes");
    for (uint32_t i = 0; sizes && sizes->type == TP_J_OBJECT && i < sizes->u.items.n && i < MOST_NAMES; i++)
        w->sizes[w->nsizes++] = sizes->u.items.at[i]->key;
    static const char *const LISTS[] = {"inputs", "outputs", "scratch", "scalar_prefetch"};
    enum { BUFFERS = 3 }; /* of these lists */
    for (size_t l = 0; l < sizeof LISTS / sizeof *LISTS; l++) {
        const tp_json *list = items(doc, LISTS[l]);
        for (uint32_t i = 0; list && i < list->u.items.n; i++) {
            const tp_json *o = list->u.items.at[i], *name = tp_json_get(o, "name"), *block = items(o, "block_shape"),
                          *map = items(o, "index_map");
            for (uint32_t d = 0; map && d < map->u.items.n; d++)
                add_entry(w, map->u.items.at[d]);
            if (name && name->type == TP_J_STRING && w->nrefs < MOST_NAMES)
                w->refs[w->nrefs++] = name->u.string;
            for (uint32_t d = 0; block && d < block->u.items.n; d++)
                add_block(w, block->u.items.at[d]);
        }
        w->nbuffers = l < BUFFERS ? w->nrefs : w->nbuffers;
    }
}

/* ---- expressions ---- */

/* Another operator in the place of one; of the same power only its own bytes change. */
static void exchange(writer *w, const tp_node *n, place p, tp_operator other)
{
    tp_loc a = tp_node_loc(w->c, n->kids[0]), b = tp_node_loc(w->c, n->kids[1]);
    const char *old = tp_operator_text(n->op);
    tp_str text = w->c->source->text, between = {text.p + a.end, b.start - a.end};
    const char *found = memmem(between.p, between.n, old, strlen(old));
    if (found && TP_OPERATOR_ROWS[n->op].left == TP_OPERATOR_ROWS[other].left) {
        uint32_t from = (uint32_t)(found - text.p);
        tp_loc token = {from, from + (uint32_t)strlen(old), p.at.pointer};
        put(w, 0, token, "%s", tp_operator_text(other));
    } else {
        put_operator(w, 1, p, operand(w, n->kids[0], other, 0), other, operand(w, n->kids[1], other, 1));
    }
}

static void rewrite_number(writer *w, const tp_node *n, place p);

/* The number that decides where a == b holds: the 1 of `i == 1` and the 2 of `i == n - 2`. */
static void rewrite_deciding_number(writer *w, const tp_node *n)
{
    const tp_node *b = n->kids[1];
    bool shifted = b->kind == TP_N_BINARY && (b->op == TP_O_ADD || b->op == TP_O_SUB);
    if (b->kind == TP_N_INT)
        rewrite_number(w, b, place_of_kid(w, n, 1));
    else if (shifted && b->kids[1]->kind == TP_N_INT)
        rewrite_number(w, b->kids[1], place_of_kid(w, b, 1));
}

/* Other comparisons, what was meant more often first: `i >= 0` would be `i == 0` and not `i <= 0`, `i == 1` be
 * `i == 0` and not `i < 1`, and `i == n - 2` be `i == n - 1` and not `i != n - 2`. */
static void rewrite_comparison(writer *w, const tp_node *n, place p)
{
    static const tp_operator OTHERS[][6] = {
        {TP_O_LT, TP_O_LE, TP_O_GT, TP_O_GE, TP_O_EQ, TP_O_NE}, {TP_O_LE, TP_O_LT, TP_O_EQ, TP_O_GE, TP_O_GT, TP_O_NE},
        {TP_O_GT, TP_O_GE, TP_O_LT, TP_O_NE, TP_O_LE, TP_O_EQ}, {TP_O_GE, TP_O_GT, TP_O_EQ, TP_O_LE, TP_O_LT, TP_O_NE},
        {TP_O_EQ, TP_O_NE, TP_O_LE, TP_O_GE, TP_O_LT, TP_O_GT}, {TP_O_NE, TP_O_EQ, TP_O_LT, TP_O_GT, TP_O_LE, TP_O_GE}};
    if (n->op == TP_O_EQ)
        rewrite_deciding_number(w, n);
    if (n->op == TP_O_EQ && n->kids[1]->kind != TP_N_INT)
        put(w, 0, tp_node_loc(w->c, n->kids[1]), "0");
    for (size_t k = 0; k < 6; k++)
        for (size_t i = 1; OTHERS[k][0] == n->op && i < 6; i++)
            exchange(w, n, p, OTHERS[k][i]);
    tp_str a = operand(w, n->kids[0], n->op, 0), b = operand(w, n->kids[1], TP_O_ADD, 0); /* as of - */
    for (int i = 0; i < 2; i++)
        put_operator(w, 1, p, a, n->op, tp_printf(w->c->arena, "%.*s %c 1", TP_FMT(b), "+-"[i]));
}

static void rewrite_operator(writer *w, const tp_node *n, place p)
{
    static const tp_operator COUNT[] = {TP_O_ADD, TP_O_SUB, TP_O_MUL, TP_O_TRUEDIV, TP_O_FLOORDIV, TP_O_MOD},
                             JOIN[] = {TP_O_BITAND, TP_O_BITOR};
    static const struct {
        const tp_operator *at;
        size_t n;
    } CLASSES[] = {{COUNT, 6}, {JOIN, 2}};
    bool of_class = false;
    if (tp_operator_compares(n->op)) {
        rewrite_comparison(w, n, p);
        return;
    }
    bool by_one = n->kids[1]->kind == TP_N_INT && n->kids[1]->integer == 1; /* nobody means x * 1 or x % 1 */
    for (size_t k = 0; k < sizeof CLASSES / sizeof *CLASSES && !of_class; k++) {
        for (size_t i = 0; i < CLASSES[k].n; i++)
            of_class |= CLASSES[k].at[i] == n->op;
        for (size_t i = 0; of_class && i < CLASSES[k].n; i++)
            if (CLASSES[k].at[i] != n->op && (!by_one || CLASSES[k].at[i] == TP_O_ADD || CLASSES[k].at[i] == TP_O_SUB))
                exchange(w, n, p, CLASSES[k].at[i]);
    }
    if (n->op == TP_O_SUB || n->op == TP_O_TRUEDIV)
        put_operator(w, 0, p, operand(w, n->kids[1], n->op, 0), n->op, operand(w, n->kids[0], n->op, 1));
    for (uint32_t i = 0; n->op == TP_O_MUL && i < 2; i++) { /* (a + b) * c  ->  a * c + b, a + b * c */
        const tp_node *sum = n->kids[i], *factor = n->kids[!i];
        for (uint32_t t = 0; sum->kind == TP_N_BINARY && (sum->op == TP_O_ADD || sum->op == TP_O_SUB) && t < 2; t++) {
            tp_str scaled = tp_printf(w->c->arena, "%.*s * %.*s", TP_FMT(operand(w, sum->kids[t], TP_O_MUL, 0)),
                                      TP_FMT(operand(w, factor, TP_O_MUL, 1))),
                   other = operand(w, sum->kids[!t], sum->op, !t);
            put_operator(w, 0, p, t ? other : scaled, sum->op, t ? scaled : other);
        }
    }
    for (uint32_t i = 0; n->op == TP_O_ADD && i < 2; i++) /* a sum that is not scaled as its sibling is */
        for (uint32_t f = 0; (n->kids[i]->kind == TP_N_NAME || n->kids[i]->kind == TP_N_INDEX) && f < w->nfactors; f++)
            put_operator(w, 0, place_of_kid(w, n, i), text_of(w, n->kids[i]), TP_O_MUL, w->factors[f]);
    for (uint32_t i = 0; of_class && i < 2; i++)
        put_at(w, 1, p, tp_node_power(n->kids[i]), text_of(w, n->kids[i]));
}

/* f(a, b), t[a, b]  ->  f(b, a), t[b, a] */
static void exchange_kids(writer *w, const tp_node *n, uint32_t i)
{
    tp_loc a = tp_node_loc(w->c, n->kids[i]), b = tp_node_loc(w->c, n->kids[i + 1]), both = {a.start, b.end, a.pointer};
    put(w, 0, both, "%.*s, %.*s", TP_FMT(text_of(w, n->kids[i + 1])), TP_FMT(text_of(w, n->kids[i])));
}

/* Positions in a block become positions in the array: iota(…) + j * bk. */
static void add_start_of_block(writer *w, const tp_node *n, place p)
{
    for (uint32_t x = 0; x < w->naxes; x++)
        for (uint32_t b = 0; b < w->nblocks; b++)
            put_operator(w, 1, p, text_of(w, n), TP_O_ADD,
                         tp_printf(w->c->arena, "%.*s * %.*s", TP_FMT(w->names[x]), TP_FMT(w->blocks[b])));
}

/* Is it made of axes and positions, of nothing that memory has? */
static bool is_position(const writer *w, const tp_node *n)
{
    return tp_node_is_position(n, w->names, w->counts, w->nnames, false);
}

static void rewrite_call(writer *w, const tp_node *n, place p)
{
    static const char *const ALIKE[][2] = {{"exp", "exp2"},   {"sum", "max"}, {"max", "min"},  {"maximum", "minimum"},
                                           {"rsqrt", "sqrt"}, {"sin", "cos"}, {"log", "log2"}, {"argmax", "argmin"}};
    tp_loc name = {p.at.start, p.at.start + (uint32_t)n->text.n, p.at.pointer};
    uint8_t rank = is_position(w, n) ? 2 : 0; /* who clamps a position mistakes what it is clamped by, not the side */
    for (size_t i = 0; i < sizeof ALIKE / sizeof *ALIKE; i++)
        for (int side = 0; side < 2; side++)
            if (tp_str_is(n->text, ALIKE[i][side]))
                put(w, rank, name, "%s", ALIKE[i][!side]);
    for (uint32_t i = 1; i < n->nkids && i < 3; i++) /* operands of dot, arms of where */
        if ((tp_str_is(n->text, "where") && i == 2) || (tp_str_is(n->text, "dot") && i == 1))
            exchange_kids(w, n, i - 1);
    if (tp_str_is(n->text, "iota"))
        add_start_of_block(w, n, p);
    if (tp_str_is(n->text, "where") && n->nkids == 3)
        put_inverse(w, place_of_kid(w, n, 0), n->kids[0]);
}

static void rewrite_number(writer *w, const tp_node *n, place p)
{
    tp_loc at = p.at;
    if (n->kind == TP_N_INT) {
        put(w, 0, at, "%lld", (long long)n->integer + 1);
        if (n->integer > 0)
            put(w, 0, at, "%lld", (long long)n->integer - 1);
        for (uint32_t i = 0; i < w->naxes; i++)
            put(w, 1, at, "%.*s", TP_FMT(w->names[i]));
        for (uint32_t i = 0; i < w->nints; i++)
            put(w, 1, at, "%lld", (long long)w->ints[i]);
        if (n->integer == 0) /* of a mask in front of a maximum */
            put_at(w, 1, p, TP_POWER_UNARY, TP_S("-inf"));
        return;
    }
    /* what stands for infinity is seldom mistaken; where all that counts is near 0, many other numbers will do */
    uint8_t rank = n->real > 1e6;
    for (int v = 0; v < 2; v++)
        put(w, rank, at, "%d.0", v);
    put_at(w, rank, p, TP_POWER_UNARY, tp_printf(w->c->arena, "-%.*s", TP_FMT(n->text)));
    put_operator(w, rank, p, TP_S("1.0"), TP_O_TRUEDIV, n->text);
    for (uint32_t i = 0; i < w->nfloats; i++)
        put(w, rank, at, "%.*s", TP_FMT(w->digits[i]));
    for (uint32_t i = 0; i < w->nrefs; i++)
        put(w, 1, at, "%.*s[...]", TP_FMT(w->refs[i]));
}

/* Another name; a step, a distance or a factor that is missing. */
/* Of the block that a table picks, in place of a number that counts. */
static void put_entries(writer *w, place p)
{
    for (uint32_t i = 0; i < w->nentries && is_wanted(w, 1); i++)
        put_at(w, 1, p, tp_node_power(tp_parse_expr(w->c, w->entries[i])), w->entries[i]->u.string);
}

static void rewrite_value(writer *w, const tp_node *n, place p)
{
    if (!is_wanted(w, 1) && !is_wanted(w, 2))
        return;
    tp_loc at = p.at;
    tp_str factor = operand(w, n, TP_O_MUL, 0);
    bool counts = is_position(w, n);
    for (uint32_t i = 0; n->kind == TP_N_NAME && has_name(w->sizes, w->nsizes, n->text) && i < w->nsizes; i++)
        put(w, 1, at, "%.*s", TP_FMT(w->sizes[i]));
    for (uint32_t i = 0; i < w->nnames; i++)
        if (w->counts[i] == counts)
            put(w, 1, at, "%.*s", TP_FMT(w->names[i]));
    for (uint32_t i = 0; counts && i < w->nints; i++)
        put_operator(w, 1, p, factor, TP_O_MUL, tp_printf(w->c->arena, "%lld", (long long)w->ints[i]));
    if (counts) {
        put_entries(w, p);
        put_operator(w, 1, p, operand(w, n, TP_O_ADD, 0), TP_O_ADD, TP_S("1"));
        put_operator(w, 1, p, operand(w, n, TP_O_SUB, 0), TP_O_SUB, TP_S("1"));
        return;
    }
    for (uint32_t i = 0; i < w->nfloats; i++)
        put_operator(w, 2, p, factor, TP_O_MUL, w->digits[i]);
    for (uint32_t i = 0; i < w->nbuffers; i++)
        put_operator(w, 2, p, factor, TP_O_MUL, tp_printf(w->c->arena, "%.*s[...]", TP_FMT(w->refs[i])));
    for (uint32_t i = w->naxes; i < w->nnames; i++)
        if (!w->counts[i]) {
            put_operator(w, 2, p, factor, TP_O_MUL, w->names[i]);
            put_operator(w, 2, p, factor, TP_O_TRUEDIV, w->names[i]);
        }
}

static void rewrite_kid(writer *w, const tp_node *n, uint32_t i);

static void rewrite_expression(writer *w, const tp_node *n, place p)
{
    switch (n->kind) {
    case TP_N_INT:
    case TP_N_FLOAT: rewrite_number(w, n, p); return;
    case TP_N_NAME: rewrite_value(w, n, p); return;
    case TP_N_BINARY: rewrite_operator(w, n, p); break;
    case TP_N_CALL: rewrite_call(w, n, p); break;
    case TP_N_UNARY:
        put_at(w, 0, p, tp_node_power(n->kids[0]), text_of(w, n->kids[0]));
        if (tp_str_is(text_of(w, n->kids[0]), "inf"))
            put(w, 1, p.at, "0");
        break;
    case TP_N_INDEX:
        for (uint32_t i = 0; i < w->nrefs; i++)
            put(w, 1, tp_node_loc(w->c, n->kids[0]), "%.*s", TP_FMT(w->refs[i]));
        for (uint32_t i = 2; i < n->nkids; i++)
            exchange_kids(w, n, i - 1);
        for (uint32_t i = 1; i < n->nkids; i++)
            rewrite_kid(w, n, i);
        rewrite_value(w, n, p);
        return;
    case TP_N_KEYWORD:
        if (tp_str_is(n->text, "axis") && n->kids[0]->kind == TP_N_INT)
            put(w, 0, p.at, "axis=%d", n->kids[0]->integer == 0);
        return;
    case TP_N_METHOD: rewrite_kid(w, n, 0); return;
    case TP_N_SEQUENCE: return; /* a shape */
    case TP_N_TERNARY:
    case TP_N_SLICE: break;
    case TP_N_STRING:
    case TP_N_ATTRIBUTE:
    case TP_N_ELLIPSIS:
    case TP_N_COLON:
    case TP_N_ABSENT:
    case TP_N_LAMBDA:
    case TP_N_APPLY:
    case TP_N_COMPREHENSION: return;
    }
    for (uint32_t i = 0; i < n->nkids; i++)
        rewrite_kid(w, n, i);
}

static void rewrite_kid(writer *w, const tp_node *n, uint32_t i)
{
    if (n->kids[i])
        rewrite_expression(w, n->kids[i], place_of_kid(w, n, i));
}

/* ---- statements ---- */

static void rewrite_store(writer *w, const tp_syntax *s)
{
    tp_loc target = tp_node_loc(w->c, s->target), value = tp_node_loc(w->c, s->value),
           between = {target.end, value.start, target.pointer};
    place all = place_of(w, s->value, 0);
    put(w, 0, between, "%s", s->augmented ? " = " : " += ");
    if (!s->augmented) /* the other arm may be what is missing */
        put_operator(w, 1, all, text_of(w, s->target), TP_O_ADD, operand(w, s->value, TP_O_ADD, 1));
    if (s->value->kind != TP_N_NAME && s->value->kind != TP_N_INDEX)
        rewrite_value(w, s->value, all);
}

static bool mentions(const tp_node *n, tp_str name)
{
    bool any = n && n->kind == TP_N_NAME && tp_str_eq(n->text, name);
    for (uint32_t i = 0; n && i < n->nkids && !any; i++)
        any = mentions(n->kids[i], name);
    return any;
}

/* Does a store into a ref, that the other statement reads? */
static bool stores_for(const tp_syntax *a, const tp_syntax *b)
{
    const tp_node *ref = a->kind == TP_S_STORE && a->target->kind == TP_N_INDEX ? a->target->kids[0] : NULL;
    return ref && ref->kind == TP_N_NAME && (b->kind == TP_S_STORE || b->kind == TP_S_ASSIGN) &&
           mentions(b->value, ref->text);
}

/* Its text, without what it is indented by. */
static tp_str statement_of(const writer *w, const tp_syntax *s)
{
    tp_str text = {w->c->source->text.p + s->line->loc.start + 1, s->line->loc.end - s->line->loc.start - 2};
    while (text.n && *text.p == ' ')
        text = (tp_str){text.p + 1, text.n - 1};
    return text;
}

/* m[...] = t; l[...] = l[...] * exp(m[...] - t)  ->  in the other order */
static void exchange_statements(writer *w, const tp_syntax *a, const tp_syntax *b)
{
    enum { QUOTE = '"' };
    const tp_loc first = a->line->loc, second = b->line->loc;
    const char *text = w->c->source->text.p;
    if (!is_wanted(w, 0) || second.start <= first.end || (!stores_for(a, b) && !stores_for(b, a)) ||
        memchr(text + first.end, QUOTE, second.start - first.end)) /* a statement over several lines */
        return;
    tp_str one = {text + first.start, first.end - first.start},
           other = {text + second.start, second.end - second.start},
           between = {text + first.end, second.start - first.end};
    tp_rewrite r = {.edit = {first.start, second.end,
                             tp_printf(w->c->arena, "%.*s%.*s%.*s", TP_FMT(other), TP_FMT(between), TP_FMT(one))},
                    .title = tp_printf(w->c->arena, "put `%.*s` before `%.*s`", TP_FMT(statement_of(w, b)),
                                       TP_FMT(statement_of(w, a))),
                    .place = {first.start, second.end, first.pointer}};
    tp_push(w->c->arena, w->out, r);
}

/* The arguments of a call of that name; empty: it is none. */
static tp_str arguments_of(const writer *w, const tp_node *n, const char *name)
{
    bool is = n && n->kind == TP_N_CALL && tp_str_is(n->text, name);
    return is ? (tp_str){text_of(w, n).p + n->text.n, text_of(w, n).n - n->text.n} : (tp_str){0};
}

/* A copy that b->at[i] starts, and the waits behind it that name the same: all of them at once. */
static void rewrite_copy(writer *w, const tp_block *b, uint32_t i)
{
    tp_str wait, start = arguments_of(w, b->at[i]->value, "copy_start");
    for (uint32_t j = i + 1; start.n && j < b->len && w->ntwins < TP_MOST_TWINS; j++)
        if (wait = arguments_of(w, b->at[j]->value, "copy_wait"), tp_str_eq(start, wait))
            w->twins[w->ntwins++] = (uint32_t)(wait.p - start.p);
    w->twins_are = "statements";
    if (w->ntwins)
        rewrite_expression(w, b->at[i]->value, place_of(w, b->at[i]->value, 0));
    w->ntwins = 0;
}

static void rewrite_block(writer *w, const tp_block *b)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        if (i + 1 < b->len)
            exchange_statements(w, s, b->at[i + 1]);
        rewrite_copy(w, b, i);
        if (s->value)
            rewrite_expression(w, s->value, place_of(w, s->value, 0));
        if (s->kind == TP_S_IF)
            put_inverse(w, place_of(w, s->value, 0), s->value);
        if (s->kind == TP_S_STORE)
            rewrite_store(w, s);
        if (s->kind == TP_S_ASSIGN && s->value->kind == TP_N_CALL)
            rewrite_value(w, s->value, place_of(w, s->value, 0));
        if (s->kind == TP_S_ASSIGN && s->target->kind == TP_N_NAME)
            add_name(w, s->target->text, is_position(w, s->value));
        rewrite_block(w, &s->body);
        rewrite_block(w, &s->orelse);
    }
}

/* ---- windows and grid ---- */

/* The string is one more, or one less. */
static void put_by_one(writer *w, uint8_t rank, const tp_json *string, const tp_node *n)
{
    tp_str whole = {w->c->source->text.p + string->loc.start + 1, string->loc.end - string->loc.start - 2};
    if (tp_node_power(n) < tp_operand_power(TP_O_ADD, 0)) /* as of - */
        whole = tp_printf(w->c->arena, "(%.*s)", TP_FMT(whole));
    put(w, rank, string->loc, "\"%.*s + 1\"", TP_FMT(whole));
    put(w, rank, string->loc, "\"%.*s - 1\"", TP_FMT(whole));
}

static void rewrite_map(writer *w, const tp_json *map)
{
    for (uint32_t i = 0; i < map->u.items.n; i++) {
        const tp_json *e = map->u.items.at[i], *next = i + 1 < map->u.items.n ? map->u.items.at[i + 1] : NULL;
        tp_str text = {w->c->source->text.p + e->loc.start, e->loc.end - e->loc.start};
        if (next) {
            tp_loc both = {e->loc.start, next->loc.end, e->loc.pointer};
            put(w, 0, both, "%.*s, %.*s", (int)(next->loc.end - next->loc.start),
                w->c->source->text.p + next->loc.start, TP_FMT(text));
        }
        for (uint32_t a = 0; a < w->naxes; a++)
            put(w, 1, e->loc, "\"%.*s\"", TP_FMT(w->names[a]));
        for (uint32_t a = 0; a < w->nentries; a++)
            put(w, 1, e->loc, "\"%.*s\"", TP_FMT(w->entries[a]->u.string));
        if (e->type != TP_J_STRING)
            continue;
        put(w, 1, e->loc, "0");
        const tp_node *n = tp_parse_expr(w->c, e);
        if (n->kind != TP_N_NAME || !is_position(w, n)) /* else rewrite_value() does */
            put_by_one(w, 1, e, n);
        rewrite_expression(w, n, place_of(w, n, 0));
    }
}

static bool is_alike(const writer *w, const tp_json *a, const tp_json *b)
{
    const char *text = w->c->source->text.p;
    return a && b && a->loc.end - a->loc.start == b->loc.end - b->loc.start &&
           memcmp(text + a->loc.start, text + b->loc.start, a->loc.end - a->loc.start) == 0;
}

/* Each input has the index map of the other. */
static void exchange_maps(writer *w, const tp_json *x, const tp_json *y)
{
    const tp_json *a = items(x, "index_map"), *b = items(y, "index_map"), *first = tp_json_get(x, "name"),
                  *second = tp_json_get(y, "name");
    if (!a || !b || a->u.items.n != b->u.items.n || is_alike(w, a, b) || !is_wanted(w, 0) || !first || !second ||
        first->type != TP_J_STRING || second->type != TP_J_STRING)
        return;
    const char *text = w->c->source->text.p;
    tp_rewrite r = {
        .edit = {a->loc.start, a->loc.end, {text + b->loc.start, b->loc.end - b->loc.start}},
        .also = {b->loc.start, b->loc.end, {text + a->loc.start, a->loc.end - a->loc.start}},
        .title = tp_printf(w->c->arena, "exchange the index maps of `%.*s` and `%.*s`", TP_FMT(first->u.string),
                           TP_FMT(second->u.string)),
        .place = a->loc,
    };
    tp_push(w->c->arena, w->out, r);
}

/* Where an entry is an axis or 0: which axis, naxes for 0; false: it is something else. */
static bool bare_entry(const writer *w, const tp_json *e, uint32_t *axis)
{
    *axis = w->naxes;
    for (uint32_t x = 0; x < w->naxes && e->type == TP_J_STRING; x++)
        if (tp_str_eq(e->u.string, w->names[x]))
            *axis = x;
    return *axis < w->naxes || (e->type == TP_J_INT && e->u.integer == 0) ||
           (e->type == TP_J_STRING && tp_str_is(e->u.string, "0"));
}

/* ["i", "k"]  ->  ["k", "j"]: two entries that are axes or 0 are others, each axis once. */
static void rewrite_two_entries(writer *w, const tp_json *map, uint32_t p, uint32_t q)
{
    uint32_t n = map->u.items.n, old[TP_MAX_RANK], now[TP_MAX_RANK];
    for (uint32_t d = 0; d < n; d++)
        if (!bare_entry(w, map->u.items.at[d], &old[d]))
            return;
    for (uint32_t a = 0; a <= w->naxes; a++)
        for (uint32_t b = 0; b <= w->naxes; b++) {
            tp_buf text = {.arena = w->c->arena};
            bool once = a != old[p] && b != old[q] && (a != b || a == w->naxes);
            bool exchanged = q == p + 1 && a == old[q] && b == old[p]; /* rewrite_map() does that */
            memcpy(now, old, sizeof now);
            now[p] = a;
            now[q] = b;
            for (uint32_t d = 0; d < n && once; d++)
                once = d == p || d == q || now[d] == w->naxes || (now[d] != a && now[d] != b);
            if (!once || exchanged)
                continue;
            for (uint32_t d = 0; d < n; d++)
                if (now[d] == w->naxes)
                    tp_buf_printf(&text, "%s0", d ? ", " : "[");
                else
                    tp_buf_printf(&text, "%s\"%.*s\"", d ? ", " : "[", TP_FMT(w->names[now[d]]));
            put(w, 1, map->loc, "%.*s]", TP_FMT(tp_buf_view(&text)));
        }
}

static void rewrite_pairs_of_entries(writer *w, const tp_json *map)
{
    for (uint32_t p = 0; is_wanted(w, 1) && map->u.items.n <= TP_MAX_RANK && p < map->u.items.n; p++)
        for (uint32_t q = p + 1; q < map->u.items.n; q++)
            rewrite_two_entries(w, map, p, q);
}

static void rewrite_steps(writer *w, const tp_json *steps)
{
    if (steps->type == TP_J_INT) {
        put(w, 0, steps->loc, "%lld", (long long)steps->u.integer + 1);
        if (steps->u.integer > 1)
            put(w, 0, steps->loc, "%lld", (long long)steps->u.integer - 1);
    } else if (steps->type == TP_J_STRING) {
        const tp_node *n = tp_parse_expr(w->c, steps);
        put_by_one(w, 0, steps, n);
        rewrite_expression(w, n, place_of(w, n, 0));
    }
}

/* Inputs whose blocks and index maps are written alike, of one BlockSpec perhaps: all of them at once. */
static void rewrite_twins(writer *w, const tp_json *inputs)
{
    for (uint32_t i = 0; inputs && i < inputs->u.items.n; i++) {
        const tp_json *one = inputs->u.items.at[i], *map = items(one, "index_map");
        for (uint32_t j = i + 1; map && j < inputs->u.items.n && w->ntwins < TP_MOST_TWINS; j++) {
            const tp_json *other = inputs->u.items.at[j], *its = items(other, "index_map");
            if (is_alike(w, map, its) && is_alike(w, items(one, "block_shape"), items(other, "block_shape")))
                w->twins[w->ntwins++] = its->loc.start - map->loc.start;
        }
        w->twins_are = "blocks";
        if (w->ntwins)
            rewrite_map(w, map);
        w->ntwins = 0;
    }
}

/* All index maps, one by one. */
static void rewrite_maps(writer *w, const tp_json *doc, void (*rewrite)(writer *, const tp_json *))
{
    static const char *const LISTS[] = {"inputs", "outputs"};
    for (size_t l = 0; l < sizeof LISTS / sizeof *LISTS; l++) {
        const tp_json *list = items(doc, LISTS[l]);
        for (uint32_t i = 0; list && i < list->u.items.n; i++) {
            const tp_json *map = items(list->u.items.at[i], "index_map");
            if (map)
                rewrite(w, map);
        }
    }
}

static void rewrite_around(writer *w, const tp_json *doc)
{
    const tp_json *grid = items(doc, "grid"), *inputs = items(doc, "inputs");
    rewrite_maps(w, doc, rewrite_map);
    rewrite_twins(w, inputs);
    for (uint32_t i = 0; inputs && i < inputs->u.items.n; i++)
        for (uint32_t j = i + 1; j < inputs->u.items.n; j++)
            exchange_maps(w, inputs->u.items.at[i], inputs->u.items.at[j]);
    rewrite_maps(w, doc, rewrite_pairs_of_entries);
    for (uint32_t i = 0; grid && i < grid->u.items.n; i++) {
        const tp_json *steps = tp_json_get(grid->u.items.at[i], "steps");
        if (steps)
            rewrite_steps(w, steps);
    }
}

tp_rewrites tp_rewrites_of(tp_ctx *c, const tp_json *doc, uint32_t most)
{
    writer w = {.c = c, .most = most};
    const tp_json *grid = items(doc, "grid"), *body = items(doc, "kernel"), *reference = items(doc, "reference"),
                  *constants = tp_json_get(doc, "constants");
    tp_block program = {0};
    if (body)
        program = tp_parse_program(c, body);
    collect_from(&w, &program, true);
    if (reference) {
        tp_block naive = tp_parse_program(c, reference);
        collect_from(&w, &naive, false);
    }
    collect_operands(&w, doc);
    for (uint32_t i = 0; grid && i < grid->u.items.n; i++) {
        const tp_json *name = tp_json_get(grid->u.items.at[i], "axis");
        if (name && name->type == TP_J_STRING)
            add_name(&w, name->u.string, true);
    }
    w.naxes = w.nnames;
    for (uint32_t i = 0; constants && constants->type == TP_J_OBJECT && i < constants->u.items.n; i++)
        add_name(&w, constants->u.items.at[i]->key, false);
    w.ngiven = w.nnames;
    for (w.rank = 0; w.rank <= LAST_RANK; w.rank++) {
        w.nnames = w.ngiven;
        uint32_t from = w.out.len;
        rewrite_around(&w, doc);
        rewrite_block(&w, &program);
        for (uint32_t a = from, b = w.out.len; w.rank == LAST_RANK && a + 1 < b;
             a++) { /* what is near the output first */
            tp_rewrite last = w.out.at[--b];
            w.out.at[b] = w.out.at[a];
            w.out.at[a] = last;
        }
    }
    return w.out;
}
