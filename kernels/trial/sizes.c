/* Values of a size that may tell something: its least one, the ends of blocks
 * that tile it, what lies around every constant that it meets, and a large one
 * where it bounds no block. */
#include "kernels/trial/equiv.h"
#include "kernels/trial/internal.h"

void tp_add_value(tp_values *v, const tp_size *s, int64_t x)
{
    x -= x % s->multiple_of;
    if (x < s->min || x > s->max || v->n == TP_MAX_VALUES)
        return;
    for (uint32_t i = 0; i < v->n; i++)
        if (v->at[i] == x)
            return;
    v->at[v->n++] = x;
}

/* ---- constants ---- */

/* What an expression is made of: sizes, axes (bits), and the integers written in it. */
typedef struct parts {
    uint64_t sizes, axes, counted; /* counted: sizes that bound the entries of a table */
    int64_t constants[TP_MAX_CONSTANTS];
    uint32_t n;
    bool divides; /* //, %, cdiv */
    bool lanes;   /* iota */
} parts;

typedef struct local {
    tp_str name;
    parts is;
} local;

typedef struct collector {
    tp_arena *arena;
    const tp_kernel *k;
    tp_constants *out;
    TP_VEC(local) locals;
} collector;

static void note(int64_t *at, uint32_t *n, int64_t c)
{
    for (uint32_t i = 0; i < *n; i++)
        if (at[i] == c)
            return;
    if (*n < TP_MAX_CONSTANTS && c >= 0 && c <= TP_SIZE_MAX)
        at[(*n)++] = c;
}

static void join(parts *into, const parts *p)
{
    into->sizes |= p->sizes;
    into->axes |= p->axes;
    into->counted |= p->counted;
    into->divides |= p->divides;
    into->lanes |= p->lanes;
    for (uint32_t i = 0; i < p->n; i++)
        note(into->constants, &into->n, p->constants[i]);
}

/* The constants of p, their differences, quotients and, where it divides,
 * products: 2 * n + 3 == 205 is n = 101, n // 4 == 2 begins at 8. */
static void note_all(const parts *p, int64_t *at, uint32_t *n)
{
    enum { TOGETHER = 6 }; /* of more constants each stands for itself */
    for (uint32_t i = 0; i < p->n; i++)
        note(at, n, p->constants[i]);
    for (uint32_t i = 0; i < p->n && p->n <= TOGETHER; i++) {
        int64_t v = p->constants[i];
        if (p->divides)
            note(at, n, 2 * v + 1);
        for (uint32_t j = 0; j < p->n; j++) {
            int64_t w = p->constants[j], product;
            if (i == j)
                continue;
            note(at, n, v - w);
            for (uint32_t u = 0; u < p->n && v > w; u++)
                if (p->constants[u] > 1 && (v - w) % p->constants[u] == 0)
                    note(at, n, (v - w) / p->constants[u]);
            if (w > 1 && v % w == 0)
                note(at, n, v / w);
            if (p->divides && i < j && !__builtin_mul_overflow(v, w, &product))
                note(at, n, product);
        }
    }
}

/* A comparison, a division or a minimum over p: its sizes and axes meet its
 * constants. An axis counts blocks of some sizes, whose elements it may speak of: k * 128 + iota == 999. */
static void meet(collector *c, const parts *p)
{
    enum { MOST_BLOCKS = 64 };
    const tp_kernel *k = c->k;
    tp_constants *out = c->out;
    for (uint32_t s = 0; s < k->nsizes && s < 64; s++) {
        bool counted = p->counted >> s & 1;
        for (uint32_t a = 0; a < k->naxes && tp_is_open_size(&k->sizes[s]); a++)
            counted |= (p->axes >> a & 1) && tp_expr_mentions(k->exprs, k->axes[a].steps, k->sizes[s].sym);
        if (p->sizes >> s & 1)
            note_all(p, out->sizes[s].at, &out->sizes[s].n);
        for (uint32_t i = 0; i < p->n && counted; i++) {
            if (p->constants[i] < MOST_BLOCKS)
                note(out->sizes[s].blocks, &out->sizes[s].nblocks, p->constants[i]);
            if (p->lanes)
                note(out->sizes[s].at, &out->sizes[s].n, p->constants[i]);
        }
    }
    for (uint32_t a = 0; a < k->naxes; a++)
        if (p->axes >> a & 1)
            note_all(p, out->axes[a].at, &out->axes[a].n);
}

static parts of_symbols(const collector *c, tp_expr e)
{
    parts p = {.n = 0};
    for (uint32_t s = 0; s < c->k->nsizes && s < 64; s++)
        if (tp_is_open_size(&c->k->sizes[s]) && tp_expr_mentions(c->k->exprs, e, c->k->sizes[s].sym))
            p.sizes |= (uint64_t)1 << s;
    for (uint32_t a = 0; a < c->k->naxes; a++)
        if (tp_expr_mentions(c->k->exprs, e, c->k->axes[a].sym))
            p.axes |= (uint64_t)1 << a;
    return p;
}

/* A read of a table: what its bounds and its contracts speak of. */
static parts of_table(const collector *c, const tp_table *t)
{
    parts p = {.n = 0};
    const tp_expr bounds[] = {t->min, t->max};
    for (uint32_t i = 0; i < 2; i++)
        if (bounds[i].id)
            p.sizes |= of_symbols(c, bounds[i]).sizes;
    for (uint32_t i = 0; i < c->k->ncontracts; i++)
        if (tp_expr_mentions(c->k->exprs, c->k->contracts[i].fact, t->sym))
            p.sizes |= of_symbols(c, c->k->contracts[i].fact).sizes;
    p.counted = p.sizes;
    return p;
}

static parts of_expr(collector *c, tp_expr e)
{
    parts p = {.n = 0};
    if (!e.id || tp_expr_size(c->k->exprs, e) > 500)
        return p;
    const tp_expr_node n = *tp_expr_get(c->k->exprs, e);
    if (n.op == TP_E_CONST)
        note(p.constants, &p.n, n.value);
    if (n.op == TP_E_SYM)
        return of_symbols(c, e);
    if (n.op == TP_E_CONST)
        return p;
    for (uint32_t t = 0; n.op == TP_E_READ && t < c->k->ntables; t++)
        if (c->k->tables[t].sym == (uint32_t)n.value)
            p = of_table(c, &c->k->tables[t]);
    const tp_expr kids[] = {n.a, n.b, n.c};
    for (int i = 0; i < 3; i++) {
        parts kid = of_expr(c, kids[i]);
        join(&p, &kid);
    }
    bool divides = n.op == TP_E_FLOORDIV || n.op == TP_E_MOD || n.op == TP_E_CDIV || n.op == TP_E_ALIGN_UP;
    p.divides |= divides;
    if (divides || n.op == TP_E_MIN || n.op == TP_E_MAX || (n.op >= TP_E_EQ && n.op <= TP_E_GE))
        meet(c, &p);
    return p;
}

static parts of_name(const collector *c, tp_str name)
{
    parts p = {.n = 0};
    const tp_size *s = tp_size_find(c->k, name);
    int64_t fixed;
    for (uint32_t i = c->locals.len; i-- > 0;)
        if (tp_str_eq(c->locals.at[i].name, name))
            return c->locals.at[i].is;
    if (s && tp_expr_is_const(c->k->exprs, s->expr, &fixed))
        note(p.constants, &p.n, fixed);
    else if (s)
        return of_symbols(c, s->expr);
    for (uint32_t a = 0; a < c->k->naxes; a++)
        if (tp_str_eq(c->k->axes[a].name, name))
            p.axes |= (uint64_t)1 << a;
    int table = tp_table_find(c->k, name);
    return table < 0 ? p : of_table(c, &c->k->tables[table]);
}

static bool meets(const tp_node *n, bool *divides)
{
    static const char *const CALLS[] = {"min", "max", "minimum", "maximum", "clip", "cdiv"};
    *divides = (n->kind == TP_N_BINARY && (n->op == TP_O_FLOORDIV || n->op == TP_O_MOD)) ||
               (n->kind == TP_N_CALL && tp_str_is(n->text, "cdiv"));
    bool found = *divides || (n->kind == TP_N_BINARY && tp_operator_compares(n->op));
    for (size_t i = 0; n->kind == TP_N_CALL && i < sizeof CALLS / sizeof *CALLS; i++)
        found |= tp_str_is(n->text, CALLS[i]);
    return found;
}

static parts of_node(collector *c, const tp_node *n)
{
    parts p = {.n = 0};
    bool divides;
    if (n->kind == TP_N_INT)
        note(p.constants, &p.n, n->integer);
    if (n->kind == TP_N_NAME)
        return of_name(c, n->text);
    for (uint32_t i = 0; i < n->nkids; i++) {
        parts kid = of_node(c, n->kids[i]);
        join(&p, &kid);
    }
    bool met = meets(n, &divides);
    p.divides |= divides;
    p.lanes |= n->kind == TP_N_CALL && tp_str_is(n->text, "iota");
    if (met)
        meet(c, &p);
    return p;
}

static void of_block(collector *c, const tp_block *b)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        parts p = {.n = 0};
        if (s->value)
            p = of_node(c, s->value);
        if (s->kind == TP_S_FOR || s->kind == TP_S_WHILE)
            meet(c, &p);
        if (s->target && s->target->kind == TP_N_NAME) {
            local l = {s->target->text, p};
            tp_push(c->arena, c->locals, l);
        }
        of_block(c, &s->body);
        of_block(c, &s->orelse);
    }
}

const tp_constants *tp_constants_of(tp_arena *a, const tp_kernel *k)
{
    collector c = {.arena = a, .k = k, .out = TP_NEW(a, tp_constants)};
    c.out->sizes = TP_NEWN(a, tp_met, k->nsizes + 1);
    c.out->axes = TP_NEWN(a, tp_met, k->naxes + 1);
    for (uint32_t i = 0; i < k->nwhere; i++)
        of_expr(&c, k->where[i].expr);
    for (uint32_t i = 0; i < k->naxes; i++)
        of_expr(&c, k->axes[i].steps);
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        for (uint32_t d = 0; d < k->operands[i].rank; d++) {
            of_expr(&c, k->operands[i].shape[d]);
            of_expr(&c, k->operands[i].dims[d].index);
        }
    if (k->body)
        of_block(&c, &k->body->syntax);
    c.locals.len = 0;
    if (k->reference.program)
        of_block(&c, &k->reference.program->syntax);
    return c.out;
}

/* ---- the values of one size ---- */

enum { MOST_SYMBOLS = 256 };

/* What a dimension grows by with s, where it grows evenly and all other ranges are least: 128 for a dimension of
 * 128 * s; 1 where nothing is known. */
static int64_t growth(const tp_kernel *k, tp_expr shape, const tp_size *s, const int64_t *env)
{
    int64_t at[MOST_SYMBOLS], d[3];
    if (s->kind != TP_SIZE_RANGE || tp_expr_get(k->exprs, shape)->op == TP_E_SYM || k->nsyms > MOST_SYMBOLS)
        return 1;
    memcpy(at, env, k->nsyms * sizeof *at);
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (k->sizes[i].kind == TP_SIZE_RANGE)
            at[k->sizes[i].sym] = tp_size_least(&k->sizes[i]);
    for (int64_t i = 0; i < 3; i++) {
        at[s->sym] = (i + 1) * s->multiple_of;
        if (tp_expr_eval(k->exprs, shape, at, &d[i]) != TP_EVAL_OK)
            return 1;
    }
    int64_t each = (d[1] - d[0]) / s->multiple_of;
    return d[2] - d[1] == d[1] - d[0] && each > 1 ? each : 1;
}

int64_t tp_largest_block(const tp_kernel *k, const tp_size *s, const int64_t *env)
{
    int64_t block = 0, b;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        for (uint32_t d = 0; d < k->operands[i].rank; d++) {
            const tp_operand *o = &k->operands[i];
            if (!o->whole && tp_expr_mentions(k->exprs, o->shape[d], s->sym) &&
                !tp_expr_mentions(k->exprs, o->dims[d].block, s->sym) &&
                tp_expr_eval(k->exprs, o->dims[d].block, env, &b) == TP_EVAL_OK && b > 0 && b <= 1 << 16) {
                int64_t each = growth(k, o->shape[d], s, env);
                b = (b + each - 1) / each;
                block = b > block ? b : block;
            }
        }
    return block;
}

/* Steps of the axis where s is x, and every other size what env says, or its
 * least where that is nothing yet; negative: none. */
static int64_t steps_at(const tp_kernel *k, const tp_axis *axis, const tp_size *s, int64_t x, int64_t *env)
{
    int64_t steps;
    env[s->sym] = x;
    return tp_expr_eval(k->exprs, axis->steps, env, &steps) == TP_EVAL_OK ? steps : -1;
}

/* The least x above which the axis has as many steps as `steps`: they do not
 * fall while s grows. 0: there is none up to MOST. */
static int64_t least_with(const tp_kernel *k, const tp_axis *axis, const tp_size *s, int64_t steps, int64_t *env)
{
    enum { MOST = 1 << 20 };
    int64_t m = s->multiple_of, low = tp_size_least(s) / m - 1, high = low + 1,
            most = (s->max < MOST ? s->max : MOST) / m;
    while (high < most && steps_at(k, axis, s, high * m, env) < steps) {
        low = high;
        high = 2 * high + 1 < most ? 2 * high + 1 : most;
    }
    if (high > most || steps_at(k, axis, s, high * m, env) < steps)
        return 0;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (steps_at(k, axis, s, middle * m, env) < steps)
            low = middle;
        else
            high = middle;
    }
    return high * m;
}

/* An axis that meets the constant c: the ends of c steps, and one, two and three more. */
static void add_steps(const tp_kernel *k, const tp_axis *axis, const tp_met *met, const tp_size *s, const int64_t *env,
                      tp_values *v)
{
    enum { FEW = 3 }; /* so many steps take blocks and their neighbours */
    int64_t at[MOST_SYMBOLS];
    if (k->nsyms > MOST_SYMBOLS || !tp_expr_mentions(k->exprs, axis->steps, s->sym))
        return;
    memcpy(at, env, k->nsyms * sizeof *at);
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (tp_is_open_size(&k->sizes[i]) && at[k->sizes[i].sym] < k->sizes[i].min)
            at[k->sizes[i].sym] = k->sizes[i].min;
    for (uint32_t i = 0; i < met->n; i++)
        for (int64_t more = 1; more <= 3 && met->at[i] + more >= FEW; more++) {
            int64_t x = least_with(k, axis, s, met->at[i] + more, at);
            if (x && more == 1)
                tp_add_value(v, s, x - s->multiple_of);
            if (x)
                tp_add_value(v, s, x);
        }
}

static bool in_shapes(const tp_kernel *k, const tp_size *s)
{
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        for (uint32_t d = 0; d < k->operands[i].rank; d++)
            if (tp_expr_mentions(k->exprs, k->operands[i].shape[d], s->sym))
                return true;
    return false;
}

/* More than 256: of an iota that long bfloat16 lacks a number, and a count of all elements is odd beyond 256, which
 * bfloat16 lacks and bytes wrap. */
enum { LARGE = 259 };

bool tp_large_here(const tp_kernel *k, const int64_t *env)
{
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *s = &k->sizes[i];
        if (s->kind == TP_SIZE_RANGE && env[s->sym] > 256 && in_shapes(k, s) && !tp_largest_block(k, s, env))
            return true;
    }
    return false;
}

tp_values tp_telling_values(const tp_kernel *k, const tp_constants *all, const tp_size *s, const int64_t *env)
{
    tp_values v = {.n = 0};
    if (s->kind == TP_SIZE_CHOICE) {
        for (uint32_t i = 0; i < s->nchoices && i < TP_MAX_VALUES; i++)
            v.at[v.n++] = s->choices[i];
        return v;
    }
    const tp_met *c = &all->sizes[s - k->sizes];
    int64_t step = s->multiple_of, block = tp_largest_block(k, s, env), least = tp_size_least(s);
    int64_t edges[] = {block + 1, block, block - 1, 2 * block + 1, 2 * block + step};
    for (int e = 0; e < 5 && block; e++)
        tp_add_value(&v, s, edges[e]);
    tp_add_value(&v, s, least);
    tp_add_value(&v, s, least + step);
    if (!block && in_shapes(k, s))
        tp_add_value(&v, s, s->max < LARGE ? s->max : LARGE + step - 1);
    for (uint32_t i = 0; i < c->n; i++)
        for (int64_t d = -1; d <= 1; d++)
            tp_add_value(&v, s, c->at[i] + d * (d < 0 && c->at[i] % step ? 0 : step));
    for (uint32_t i = 0; i < c->nblocks && block; i++) { /* as entries of a table */
        tp_add_value(&v, s, c->blocks[i] * block);
        tp_add_value(&v, s, c->blocks[i] * block + 1);
        tp_add_value(&v, s, (c->blocks[i] + 1) * block + 1);
    }
    for (uint32_t a = 0; a < k->naxes; a++)
        add_steps(k, &k->axes[a], &all->axes[a], s, env, &v);
    int64_t small[] = {3, 8, 130};
    for (int e = 0; e < 3; e++)
        tp_add_value(&v, s, small[e]);
    return v;
}
