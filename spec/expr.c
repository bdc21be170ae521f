#include "base/assert.h"
#include "spec/expr.h"

#include "base/budget.h"
#include "base/checked.h"

typedef struct node {
    tp_expr_node n;
    uint32_t size; /* of the tree, saturating */
    uint32_t depth;
    tp_expr normal; /* memo of tp_expr_normal() */
    uint64_t names; /* bits of what is mentioned somewhere in it */
} node;

typedef struct symbol {
    tp_str name;
    tp_expr node;
} symbol;

/* With a part of the node's hash: those that differ in it need no look at the node. */
typedef struct slot {
    uint32_t id, tag; /* id 0: free */
} slot;

/* Bits of node.names: symbols share 63 of them. */
static const uint64_t READS = (uint64_t)1 << 63;

static uint64_t symbol_bit(uint32_t sym)
{
    return (uint64_t)1 << sym % 63;
}

struct tp_exprs {
    tp_arena *arena;
    tp_budget *budget;  /* the arena's; NULL: none */
    TP_VEC(node) nodes; /* nodes.at[0] is "no expression" */
    TP_VEC(symbol) syms;
    slot *table; /* open addressing over nodes */
    uint32_t table_cap;
    uint32_t max_tree, max_depth;
    bool overflowed;
};

enum { MAX_TREE = 10000, MAX_DEPTH = 300 };

tp_exprs *tp_exprs_new_limited(tp_arena *a, uint32_t max_tree, uint32_t max_depth)
{
    tp_exprs *p = TP_NEW(a, tp_exprs);
    p->arena = a;
    p->budget = tp_arena_budget(a);
    p->max_tree = max_tree;
    p->max_depth = max_depth;
    tp_push(a, p->nodes, (node){0});
    tp_push(a, p->nodes, ((node){.n = {.op = TP_E_TOO_LARGE}, .size = 1, .normal = {TP_TOO_LARGE}}));
    return p;
}

tp_exprs *tp_exprs_new(tp_arena *a)
{
    return tp_exprs_new_limited(a, MAX_TREE, MAX_DEPTH);
}

tp_arena *tp_exprs_arena(const tp_exprs *p)
{
    return p->arena;
}

bool tp_exprs_overflowed(const tp_exprs *p)
{
    return p->overflowed;
}

void tp_exprs_forget_overflow(tp_exprs *p)
{
    p->overflowed = false;
}

static uint64_t hash_node(const tp_expr_node *n)
{
    uint64_t h = (uint64_t)n->op * 0x9e3779b97f4a7c15u;
    uint64_t parts[] = {n->a.id, n->b.id, n->c.id, (uint64_t)n->value};
    for (int i = 0; i < 4; i++) {
        h ^= parts[i];
        h *= 0xbf58476d1ce4e5b9u;
        h ^= h >> 29;
    }
    return h;
}

static bool same_node(const tp_expr_node *a, const tp_expr_node *b)
{
    return a->op == b->op && a->a.id == b->a.id && a->b.id == b->b.id && a->c.id == b->c.id && a->value == b->value;
}

static void grow_table(tp_exprs *p)
{
    uint32_t cap = p->table_cap ? p->table_cap * 2 : 256;
    p->table = TP_NEWN(p->arena, slot, cap); /* may leave: the table is as it was then */
    p->table_cap = cap;
    for (uint32_t id = 1; id < p->nodes.len; id++) {
        uint64_t h = hash_node(&p->nodes.at[id].n), at = h & (cap - 1);
        while (p->table[at].id)
            at = (at + 1) & (cap - 1);
        p->table[at] = (slot){id, (uint32_t)(h >> 32)};
    }
}

static void count(const tp_exprs *p, uint32_t units)
{
    if (p->budget)
        p->budget->spent += units;
}

static tp_expr intern(tp_exprs *p, tp_expr_node n)
{
    count(p, 4);
    if ((p->nodes.len + 1) * 2 > p->table_cap)
        grow_table(p);
    uint64_t h = hash_node(&n);
    uint32_t at = (uint32_t)h & (p->table_cap - 1), tag = (uint32_t)(h >> 32);
    for (; p->table[at].id; at = (at + 1) & (p->table_cap - 1))
        if (p->table[at].tag == tag && same_node(&p->nodes.at[p->table[at].id].n, &n))
            return (tp_expr){p->table[at].id};
    node full = {.n = n, .size = 1};
    if (n.op == TP_E_SYM || n.op == TP_E_READ)
        full.names = symbol_bit((uint32_t)n.value) | (n.op == TP_E_READ ? READS : 0);
    tp_expr kids[] = {n.a, n.b, n.c};
    for (int i = 0; i < 3; i++) {
        const node *k = &p->nodes.at[kids[i].id];
        if (tp_expr_too_large(kids[i]))
            return kids[i];
        full.size += k->size;
        full.names |= k->names;
        full.depth = k->depth + 1 > full.depth ? k->depth + 1 : full.depth;
    }
    if (full.size > p->max_tree || full.depth > p->max_depth) {
        p->overflowed = true;
        return (tp_expr){TP_TOO_LARGE};
    }
    tp_push(p->arena, p->nodes, full);
    p->table[at] = (slot){p->nodes.len - 1, tag};
    return (tp_expr){p->nodes.len - 1};
}

tp_expr tp_const(tp_exprs *p, int64_t v)
{
    return intern(p, (tp_expr_node){.op = TP_E_CONST, .value = v});
}

tp_expr tp_sym_new(tp_exprs *p, tp_str name)
{
    uint32_t sym = p->syms.len;
    tp_push(p->arena, p->syms, ((symbol){.name = name}));
    p->syms.at[sym].node = intern(p, (tp_expr_node){.op = TP_E_SYM, .value = sym});
    return p->syms.at[sym].node;
}

struct tp_budget *tp_exprs_charge(tp_exprs *p, struct tp_budget *b)
{
    tp_budget *was = p->budget;
    if (was != b) /* other threads may evaluate now */
        p->budget = b;
    return was;
}

uint32_t tp_sym_count(const tp_exprs *p)
{
    return p->syms.len;
}

tp_str tp_sym_name(const tp_exprs *p, uint32_t sym)
{
    return p->syms.at[sym].name;
}

tp_expr tp_sym(const tp_exprs *p, uint32_t sym)
{
    count(p, 4);
    tp_assert(sym < p->syms.len);
    return p->syms.at[sym].node;
}

const tp_expr_node *tp_expr_get(const tp_exprs *p, tp_expr e)
{
    tp_assert(e.id < p->nodes.len);
    return &p->nodes.at[e.id].n;
}

uint32_t tp_expr_size(const tp_exprs *p, tp_expr e)
{
    return p->nodes.at[e.id].size;
}

bool tp_expr_is_const(const tp_exprs *p, tp_expr e, int64_t *v)
{
    const tp_expr_node *n = tp_expr_get(p, e);
    if (n->op == TP_E_CONST && v)
        *v = n->value;
    return e.id != 0 && n->op == TP_E_CONST;
}

static bool boolean_op(tp_expr_op op)
{
    return op == TP_E_NOT || (op >= TP_E_EQ && op <= TP_E_IMPLIES);
}

tp_expr_op tp_expr_opposite(tp_expr_op comparison)
{
    static const tp_expr_op PAIRS[][2] = {{TP_E_EQ, TP_E_NE}, {TP_E_LT, TP_E_GE}, {TP_E_LE, TP_E_GT}};
    for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++)
        for (int side = 0; side < 2; side++)
            if (comparison == PAIRS[i][side])
                return PAIRS[i][!side];
    return comparison;
}

bool tp_expr_is_bool(const tp_exprs *p, tp_expr e)
{
    const tp_expr_node *n = tp_expr_get(p, e);
    int64_t v;
    if (n->op == TP_E_ITE)
        return tp_expr_is_bool(p, n->b) && tp_expr_is_bool(p, n->c);
    return boolean_op(n->op) || (tp_expr_is_const(p, e, &v) && (v == 0 || v == 1));
}

bool tp_expr_mentions(const tp_exprs *p, tp_expr e, uint32_t sym)
{
    const tp_expr_node *n = tp_expr_get(p, e);
    count(p, 1);
    if (!(p->nodes.at[e.id].names & symbol_bit(sym)))
        return false;
    if (n->op == TP_E_SYM)
        return (uint32_t)n->value == sym;
    if (n->op == TP_E_READ && (uint32_t)n->value == sym)
        return true;
    return tp_expr_mentions(p, n->a, sym) || tp_expr_mentions(p, n->b, sym) || tp_expr_mentions(p, n->c, sym);
}

void tp_expr_mark_symbols(const tp_exprs *p, tp_expr e, bool *marks)
{
    const tp_expr_node *n = tp_expr_get(p, e);
    count(p, 1);
    if (!p->nodes.at[e.id].names)
        return;
    if (n->op == TP_E_SYM || n->op == TP_E_READ)
        marks[n->value] = true;
    if (n->op == TP_E_SYM)
        return;
    tp_expr_mark_symbols(p, n->a, marks);
    tp_expr_mark_symbols(p, n->b, marks);
    tp_expr_mark_symbols(p, n->c, marks);
}

bool tp_expr_reads(const tp_exprs *p, tp_expr e)
{
    count(p, 1);
    return p->nodes.at[e.id].names & READS;
}

/* ---- evaluation ---- */

/* In two registers: a result by pointer would lie in memory, and cost each call a check of its stack; so do arrays and
 * results of others, which is why these are calls. */
typedef struct value {
    int64_t v;
    tp_eval_error error;
} value;

static inline value valued(bool ok, int64_t v)
{
    return (value){v, ok ? TP_EVAL_OK : TP_EVAL_OVERFLOW};
}

__attribute__((noinline)) static value eval_shift(tp_expr_op op, int64_t x, int64_t y)
{
    int64_t r = 0;
    if (y < 0)
        return (value){.error = TP_EVAL_DOMAIN};
    if (op == TP_E_SHR)
        return valued(true, y > 62 ? (x < 0 ? -1 : 0) : x >> y);
    if (x == 0)
        return valued(true, 0);
    /* in two halves: 1 << 63 has no value, -1 << 63 has one */
    bool ok = y <= 63 && tp_mul(x, (int64_t)1 << y / 2, &r) && tp_mul(r, (int64_t)1 << (y - y / 2), &r);
    return valued(ok, r);
}

__attribute__((noinline)) static value eval_division(tp_expr_op op, int64_t x, int64_t y)
{
    int64_t r = 0;
    bool ok;
    if (y == 0)
        return (value){.error = TP_EVAL_DIV_ZERO};
    if (op == TP_E_FLOORDIV)
        ok = tp_floordiv(x, y, &r);
    else if (op == TP_E_MOD)
        ok = tp_floormod(x, y, &r);
    else
        ok = tp_ceildiv(x, y, &r) && (op == TP_E_CDIV || tp_mul(r, y, &r));
    return valued(ok, r);
}

static inline value eval_op2(tp_expr_op op, int64_t x, int64_t y)
{
    int64_t r = 0;
    bool ok = true;
    switch (op) {
    case TP_E_ADD: ok = tp_add(x, y, &r); break;
    case TP_E_SUB: ok = tp_sub(x, y, &r); break;
    case TP_E_MUL: ok = tp_mul(x, y, &r); break;
    case TP_E_DIVISIONS: return eval_division(op, x, y);
    case TP_E_MIN: r = x < y ? x : y; break;
    case TP_E_MAX: r = x > y ? x : y; break;
    case TP_E_BITAND: r = x & y; break;
    case TP_E_BITOR: r = x | y; break;
    case TP_E_BITXOR: r = x ^ y; break;
    case TP_E_SHL:
    case TP_E_SHR: return eval_shift(op, x, y);
    case TP_E_EQ: r = x == y; break;
    case TP_E_NE: r = x != y; break;
    case TP_E_LT: r = x < y; break;
    case TP_E_LE: r = x <= y; break;
    case TP_E_GT: r = x > y; break;
    case TP_E_GE: r = x >= y; break;
    case TP_E_AND: r = x && y; break;
    case TP_E_OR: r = x || y; break;
    case TP_E_IMPLIES: r = !x || y; break;
    case TP_E_CONST:
    case TP_E_SYM:
    case TP_E_NEG:
    case TP_E_NOT:
    case TP_E_POW2:
    case TP_E_READ:
    case TP_E_TOO_LARGE:
    case TP_E_ITE: ok = false; break;
    }
    return valued(ok, r);
}

static value eval_op1(tp_expr_op op, int64_t x)
{
    int64_t r = 1; /* next power of two, 1 for x <= 1 */
    if (op == TP_E_NOT)
        return valued(true, !x);
    if (op == TP_E_NEG) {
        bool ok = tp_sub(0, x, &r);
        return valued(ok, r);
    }
    while (r < x)
        if (!tp_mul(r, 2, &r))
            return valued(false, 0);
    return valued(true, r);
}

static value eval_node(const tp_exprs *p, const tp_expr_node *n, const int64_t *env);

/* Half of all nodes are leaves: those cost no call. */
static inline value eval(const tp_exprs *p, tp_expr e, const int64_t *env)
{
    const tp_expr_node *n = &p->nodes.at[e.id].n;
    if (n->op == TP_E_CONST)
        return valued(true, n->value);
    if (n->op == TP_E_SYM)
        return valued(true, env[n->value]);
    return eval_node(p, n, env);
}

tp_eval_error tp_expr_eval(const tp_exprs *p, tp_expr e, const int64_t *env, int64_t *out)
{
    count(p, 1);
    value r = eval(p, e, env);
    if (r.error == TP_EVAL_OK)
        *out = r.v;
    return r.error;
}

__attribute__((noinline)) static value eval_read(const tp_exprs *p, const tp_expr_node *n, const int64_t *env)
{
    const tp_table_data *t = tp_bound_table(env, (uint32_t)n->value);
    const tp_expr index[] = {n->a, n->b, n->c};
    int64_t at = 0;
    if (!t)
        return (value){.error = TP_EVAL_TABLE};
    for (uint32_t d = 0; d < t->rank; d++) {
        count(p, 1);
        value i = eval(p, index[d], env);
        if (i.error != TP_EVAL_OK)
            return i;
        if (i.v < 0 || i.v >= t->dims[d] || (d == 0 && i.v >= t->readable))
            return (value){.error = TP_EVAL_TABLE};
        at = at * t->dims[d] + i.v;
    }
    return valued(true, t->at[at]);
}

static value eval_node(const tp_exprs *p, const tp_expr_node *n, const int64_t *env)
{
    count(p, 1);
    if (n->op == TP_E_READ)
        return eval_read(p, n, env);
    if (n->op == TP_E_TOO_LARGE)
        return (value){.error = TP_EVAL_TOO_LARGE};
    value x = eval(p, n->a, env);
    if (x.error != TP_EVAL_OK)
        return x;
    if (n->op == TP_E_ITE)
        return eval(p, x.v ? n->b : n->c, env);
    if ((n->op == TP_E_AND && !x.v) || (n->op == TP_E_OR && x.v) || (n->op == TP_E_IMPLIES && !x.v))
        return valued(true, n->op != TP_E_AND);
    if (n->op == TP_E_NEG || n->op == TP_E_NOT || n->op == TP_E_POW2)
        return eval_op1(n->op, x.v);
    value y = eval(p, n->b, env);
    return y.error != TP_EVAL_OK ? y : eval_op2(n->op, x.v, y.v);
}

const char *tp_eval_error_text(tp_eval_error e)
{
    switch (e) {
    case TP_EVAL_OVERFLOW: return "overflows 64 bits";
    case TP_EVAL_DIV_ZERO: return "divides by zero";
    case TP_EVAL_DOMAIN: return "shifts by a negative amount";
    case TP_EVAL_TOO_LARGE: return "is too large an expression";
    case TP_EVAL_TABLE: return "reads outside a table";
    case TP_EVAL_OK: break;
    }
    return "is fine";
}

/* ---- building ---- */

tp_expr tp_op1(tp_exprs *p, tp_expr_op op, tp_expr a)
{
    int64_t v;
    tp_assert(a.id && (op == TP_E_NEG || op == TP_E_NOT || op == TP_E_POW2));
    if (tp_expr_is_const(p, a, &v)) {
        value r = eval_op1(op, v);
        if (r.error == TP_EVAL_OK)
            return tp_const(p, r.v);
    }
    return intern(p, (tp_expr_node){.op = op, .a = a});
}

tp_expr tp_op2(tp_exprs *p, tp_expr_op op, tp_expr a, tp_expr b)
{
    int64_t x, y;
    tp_assert(a.id && b.id && op >= TP_E_ADD);
    bool cx = tp_expr_is_const(p, a, &x), cy = tp_expr_is_const(p, b, &y);
    value r = cx && cy ? eval_op2(op, x, y) : valued(false, 0);
    if (r.error == TP_EVAL_OK)
        return tp_const(p, r.v);
    if (cy && ((y == 0 && (op == TP_E_ADD || op == TP_E_SUB)) ||
               (y == 1 && (op == TP_E_MUL || op == TP_E_FLOORDIV || op == TP_E_CDIV))))
        return a;
    if (cx && ((x == 0 && op == TP_E_ADD) || (x == 1 && op == TP_E_MUL)))
        return b;
    return intern(p, (tp_expr_node){.op = op, .a = a, .b = b});
}

tp_expr tp_ite(tp_exprs *p, tp_expr c, tp_expr a, tp_expr b)
{
    int64_t v;
    tp_assert(a.id && b.id && c.id);
    if (tp_expr_is_const(p, c, &v))
        return v ? a : b;
    return intern(p, (tp_expr_node){.op = TP_E_ITE, .a = c, .b = a, .c = b});
}

tp_expr tp_read(tp_exprs *p, uint32_t table, uint32_t rank, const tp_expr *index)
{
    tp_expr_node n = {.op = TP_E_READ, .value = table};
    tp_assert(rank <= TP_TABLE_RANK && table < p->syms.len);
    if (rank > 0)
        n.a = index[0];
    if (rank > 1)
        n.b = index[1];
    if (rank > 2)
        n.c = index[2];
    return intern(p, n);
}

tp_expr tp_expr_rebuild(tp_exprs *p, const tp_expr_node *n, tp_expr a, tp_expr b, tp_expr c)
{
    if (n->op == TP_E_READ)
        return tp_read(p, (uint32_t)n->value, 3, (tp_expr[]){a, b, c});
    return c.id ? tp_ite(p, a, b, c) : b.id ? tp_op2(p, n->op, a, b) : tp_op1(p, n->op, a);
}

tp_expr tp_expr_subst(tp_exprs *p, tp_expr e, const tp_expr *with, uint32_t n)
{
    count(p, 4);
    if (!e.id)
        return e;
    tp_expr_node k = *tp_expr_get(p, e);
    if (k.op == TP_E_CONST || k.op == TP_E_TOO_LARGE)
        return e;
    if (k.op == TP_E_SYM)
        return (uint64_t)k.value < n && with[k.value].id ? with[k.value] : e;
    tp_expr a = tp_expr_subst(p, k.a, with, n), b = tp_expr_subst(p, k.b, with, n), c = tp_expr_subst(p, k.c, with, n);
    return tp_expr_rebuild(p, &k, a, b, c);
}

tp_expr tp_expr_replace(tp_exprs *p, tp_expr e, uint32_t sym, tp_expr by)
{
    tp_expr *with = TP_NEWN(p->arena, tp_expr, sym + 1);
    with[sym] = by;
    return tp_expr_subst(p, e, with, sym + 1);
}

/* ---- polynomial normal form ---- */

static int compare_terms(const tp_term *a, const tp_term *b)
{
    if (a->degree != b->degree)
        return a->degree > b->degree ? -1 : 1;
    for (uint32_t i = 0; i < a->degree; i++)
        if (a->factors[i].id != b->factors[i].id)
            return a->factors[i].id < b->factors[i].id ? -1 : 1;
    return 0;
}

static bool term_holds(const tp_term *t)
{
    for (uint32_t k = 1; k < t->degree && t->degree <= TP_POLY_MAX_DEGREE; k++)
        if (t->factors[k - 1].id > t->factors[k].id)
            return false;
    return t->degree <= TP_POLY_MAX_DEGREE;
}

/* q += coef * monomial, which is not before the term `from`; where it is, or would be. */
static uint32_t add_monomial(tp_poly *q, const tp_term *monomial, int64_t coef, uint32_t from)
{
    int order = -1;
    uint32_t i = from;
    if (!q->ok || coef == 0)
        return from;
    while (i < q->n && (order = compare_terms(&q->terms[i], monomial)) < 0)
        i++;
    if (i < q->n && order == 0) {
        q->ok = tp_add(q->terms[i].coef, coef, &q->terms[i].coef);
        if (q->ok && q->terms[i].coef == 0) {
            memmove(&q->terms[i], &q->terms[i + 1], (q->n - i - 1) * sizeof *monomial);
            q->n--;
        }
        return i;
    }
    if (q->n == TP_POLY_MAX_TERMS) {
        q->ok = false;
        return i;
    }
    memmove(&q->terms[i + 1], &q->terms[i], (q->n - i) * sizeof *monomial);
    q->terms[i] = *monomial;
    q->terms[i].coef = coef;
    q->n++;
    return i;
}

void tp_poly_add_term(tp_poly *q, const tp_term *t)
{
    tp_assert(term_holds(t));
    add_monomial(q, t, t->coef, 0);
}

void tp_poly_copy(tp_poly *to, const tp_poly *from)
{
    memcpy(to->terms, from->terms, from->n * sizeof *from->terms);
    to->n = from->n;
    to->ok = from->ok;
}

void tp_poly_constant(tp_poly *q, int64_t c)
{
    q->n = c != 0;
    q->ok = true;
    q->terms[0].coef = c;
    q->terms[0].degree = 0;
}

void tp_poly_add(tp_poly *a, const tp_poly *b, int64_t scale)
{
    uint32_t at = 0;
    a->ok = a->ok && b->ok;
    for (uint32_t i = 0; a->ok && i < b->n; i++) { /* both are ordered */
        int64_t coef;
        a->ok = tp_mul(b->terms[i].coef, scale, &coef);
        at = add_monomial(a, &b->terms[i], coef, at);
    }
}

void tp_poly_mul(const tp_poly *a, const tp_poly *b, tp_poly *out)
{
    out->n = 0;
    out->ok = a->ok && b->ok;
    for (uint32_t i = 0; out->ok && i < a->n; i++)
        for (uint32_t j = 0; out->ok && j < b->n; j++) {
            tp_term t = a->terms[i];
            const tp_term *u = &b->terms[j];
            if (t.degree + u->degree > TP_POLY_MAX_DEGREE || !tp_mul(t.coef, u->coef, &t.coef)) {
                out->ok = false;
                return;
            }
            for (uint32_t k = 0; k < u->degree; k++) { /* keep factors sorted */
                uint32_t at = t.degree++;
                while (at > 0 && t.factors[at - 1].id > u->factors[k].id) {
                    t.factors[at] = t.factors[at - 1];
                    at--;
                }
                t.factors[at] = u->factors[k];
            }
            tp_poly_add_term(out, &t);
        }
}

/* t / b for every term that has b as a factor; the others stay in `rest`. */
static void divide_terms(tp_exprs *p, const tp_poly *a, tp_expr b, tp_poly *quotient, tp_poly *rest)
{
    int64_t c = 0;
    bool constant = tp_expr_is_const(p, b, &c);
    quotient->n = rest->n = 0;
    quotient->ok = rest->ok = a->ok && (!constant || c > 0);
    for (uint32_t i = 0; rest->ok && i < a->n; i++) {
        tp_term t = a->terms[i];
        uint32_t at = 0;
        while (!constant && at < t.degree && !tp_same(t.factors[at], b))
            at++;
        if (constant ? t.coef % c != 0 : at == t.degree) {
            tp_poly_add_term(rest, &t);
            continue;
        }
        if (constant) {
            t.coef /= c;
        } else {
            memmove(&t.factors[at], &t.factors[at + 1], (t.degree - at - 1) * sizeof *t.factors);
            t.degree--;
        }
        tp_poly_add_term(quotient, &t);
    }
}

/* (b*q + r) // b = q + r // b and (b*q + r) % b = r % b, for every b but 0,
 * where neither side has a value. */
static tp_expr normal_quotient(tp_exprs *p, tp_expr_op op, tp_expr a, tp_expr b)
{
    tp_poly x, q, r;
    tp_poly_of(p, a, &x);
    divide_terms(p, &x, b, &q, &r);
    if (!q.ok || !r.ok || q.n == 0)
        return tp_op2(p, op, a, b);
    tp_expr rest = r.n ? tp_op2(p, op, tp_poly_expr(p, &r), b) : tp_const(p, 0);
    return op == TP_E_MOD ? rest : tp_op2(p, TP_E_ADD, tp_poly_expr(p, &q), rest);
}

static tp_expr normal_atom(tp_exprs *p, tp_expr e)
{
    tp_expr_node n = *tp_expr_get(p, e);
    if (n.op == TP_E_SYM || n.op == TP_E_CONST)
        return e;
    tp_expr a = tp_expr_normal(p, n.a);
    tp_expr b = n.b.id ? tp_expr_normal(p, n.b) : n.b, c = n.c.id ? tp_expr_normal(p, n.c) : n.c;
    if ((n.op == TP_E_MIN || n.op == TP_E_MAX) && a.id > b.id) { /* commutative */
        tp_expr t = a;
        a = b;
        b = t;
    }
    if (n.op == TP_E_FLOORDIV || n.op == TP_E_CDIV || n.op == TP_E_MOD)
        return normal_quotient(p, n.op, a, b);
    if (n.op == TP_E_ALIGN_UP) /* its meaning */
        return tp_op2(p, TP_E_MUL, normal_quotient(p, TP_E_CDIV, a, b), b);
    return tp_expr_rebuild(p, &n, a, b, c);
}

void tp_poly_of(tp_exprs *p, tp_expr e, tp_poly *out)
{
    tp_expr_node n = *tp_expr_get(p, e);
    out->n = 0;
    out->ok = true;
    count(p, 4);
    if (n.op == TP_E_TOO_LARGE) {
        out->ok = false;
    } else if (n.op == TP_E_CONST) {
        tp_poly_constant(out, n.value);
    } else if (n.op == TP_E_ADD || n.op == TP_E_SUB || n.op == TP_E_MUL) {
        tp_poly x, y, *first = n.op == TP_E_MUL ? &x : out;
        tp_poly_of(p, n.a, first);
        tp_poly_of(p, n.b, &y);
        count(p, n.op == TP_E_MUL ? 4 + x.n * y.n * 16 : 16 + 4 * (first->n + y.n));
        if (n.op == TP_E_MUL)
            tp_poly_mul(&x, &y, out);
        else
            tp_poly_add(out, &y, n.op == TP_E_ADD ? 1 : -1);
    } else if (n.op == TP_E_NEG) {
        tp_poly x;
        tp_poly_of(p, n.a, &x);
        tp_poly_add(out, &x, -1);
    } else {
        tp_expr atom = normal_atom(p, e);
        tp_expr_op op = tp_expr_get(p, atom)->op;
        if (op == TP_E_CONST || op == TP_E_ADD || op == TP_E_SUB || op == TP_E_MUL || op == TP_E_NEG ||
            op == TP_E_TOO_LARGE)
            tp_poly_of(p, atom, out); /* normalising uncovered a polynomial */
        else
            tp_poly_add_term(out, &(tp_term){.coef = 1, .degree = 1, .factors = {atom}});
    }
}

/* Terms in order, none of them 0, the factors of each ascending. */
static bool is_ordered(const tp_poly *q)
{
    for (uint32_t i = 0; i < q->n; i++) {
        const tp_term *t = &q->terms[i];
        if (t->coef == 0 || !term_holds(t) || (i && compare_terms(t - 1, t) >= 0))
            return false;
    }
    return q->n <= TP_POLY_MAX_TERMS;
}

tp_expr tp_poly_expr(tp_exprs *p, const tp_poly *q)
{
    tp_assert(is_ordered(q));
    tp_expr sum = {0};
    for (uint32_t i = 0; i < q->n; i++) {
        const tp_term *t = &q->terms[i];
        int64_t coef = t->coef;
        bool minus = coef < 0 && sum.id && coef != INT64_MIN;
        tp_expr m = tp_const(p, minus ? -coef : coef);
        for (uint32_t k = 0; k < t->degree; k++)
            m = tp_op2(p, TP_E_MUL, m, t->factors[k]);
        sum = sum.id ? tp_op2(p, minus ? TP_E_SUB : TP_E_ADD, sum, m) : m;
    }
    return sum.id ? sum : tp_const(p, 0);
}

tp_expr tp_expr_normal(tp_exprs *p, tp_expr e)
{
    if (!e.id || p->nodes.at[e.id].normal.id)
        return p->nodes.at[e.id].normal;
    tp_poly q;
    tp_poly_of(p, e, &q);
    tp_expr r = q.ok ? tp_poly_expr(p, &q) : normal_atom(p, e);
    if (tp_expr_too_large(r))
        r = e; /* equal to itself, if to nothing else */
    p->nodes.at[e.id].normal = r;
    p->nodes.at[r.id].normal = r;
    if (tp_asserts() && q.ok && !tp_expr_too_large(r)) { /* a normal form is its own */
        tp_poly again;
        tp_poly_of(p, r, &again);
        tp_assert(!again.ok || tp_same(tp_poly_expr(p, &again), r));
    }
    return r;
}
