/* Sums of products: keys and arithmetic. */
#include "smt/trust/real_sum.h"

#include <stdlib.h>

#include "base/checked.h"

enum { MAX_PRODUCTS = 128, MAX_POWER = 8 };

void tp_reals_stop(tp_reals *f, const char *why)
{
    f->why = tp_str_c(why);
    tp_leave(f->arena, TP_E_INPUT);
}

/* ---- keys ---- */

int tp_real_by_text(const void *a, const void *b)
{
    const tp_str *x = a, *y = b;
    size_t n = x->n < y->n ? x->n : y->n;
    int order = n ? memcmp(x->p, y->p, n) : 0;
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

static void put_sorted(tp_buf *b, tp_str *at, uint32_t n)
{
    qsort(at, n, sizeof *at, tp_real_by_text);
    for (uint32_t i = 0; i < n; i++) {
        tp_buf_c(b, i ? "," : "");
        tp_buf_str(b, at[i]);
    }
}

/* x % c = x - c*(x // c), for a constant c other than 0. */
static tp_expr without_remainders(tp_exprs *p, tp_expr e)
{
    const tp_expr_node n = *tp_expr_get(p, e);
    int64_t by;
    if (!e.id || n.op == TP_E_CONST || n.op == TP_E_SYM || tp_expr_too_large(e))
        return e;
    tp_expr a = without_remainders(p, n.a), b = without_remainders(p, n.b), c = without_remainders(p, n.c);
    if (n.op == TP_E_MOD && tp_expr_is_const(p, b, &by) && by != 0)
        return tp_op2(p, TP_E_SUB, a, tp_op2(p, TP_E_MUL, b, tp_op2(p, TP_E_FLOORDIV, a, b)));
    return tp_expr_rebuild(p, &n, a, b, c);
}

tp_bigpoly tp_real_polynomial(tp_reals *f, tp_expr e, const scope *s)
{
    if (!e.id || tp_expr_too_large(e))
        tp_reals_stop(f, "an index expression is too large");
    e = without_remainders(f->own.to, e);
    return tp_big_of(&f->big, e, s ? s->with : NULL, s ? s->n : 0);
}

/* Atoms by their numbers: the same text is the same polynomial. */
static tp_str key_of(tp_reals *f, tp_expr e, const scope *s)
{
    tp_bigpoly q = tp_real_polynomial(f, e, s);
    tp_buf b = {.arena = f->arena};
    for (uint32_t i = 0; i < q.len; i++) {
        char *digits = TP_NEWN(f->arena, char, mpz_sizeinbase(q.at[i].coef, 10) + 2);
        tp_buf_c(&b, mpz_get_str(digits, 10, q.at[i].coef));
        for (uint32_t k = 0; k < q.at[i].degree; k++)
            tp_buf_printf(&b, ".%u", q.at[i].atoms[k]);
        tp_buf_c(&b, ";");
    }
    return tp_buf_view(&b);
}

tp_str tp_reals_key(tp_reals *f, tp_expr e)
{
    return key_of(f, e, NULL);
}

static tp_expr negative_index(tp_reals *f, tp_expr e)
{
    return tp_op1(f->own.to, TP_E_NEG, e);
}

tp_str tp_real_guard_key(tp_reals *f, const guard *g, const scope *s)
{
    tp_str key = key_of(f, g->e, s), minus;
    if (g->kind != 0) { /* x == 0 is -x == 0 */
        minus = key_of(f, negative_index(f, g->e), s);
        key = tp_real_by_text(&minus, &key) < 0 ? minus : key;
    }
    return tp_printf(f->arena, "%d:%.*s", g->kind, TP_FMT(key));
}

static tp_str form_key(tp_reals *f, const form *x, const scope *s);

tp_str tp_real_product_key(tp_reals *f, const product *p, const scope *s)
{
    tp_str parts[TP_REAL_GUARDS + TP_REAL_FACTORS];
    tp_buf b = {.arena = f->arena};
    for (uint32_t i = 0; i < p->nguards; i++)
        parts[i] = s ? tp_real_guard_key(f, &p->guard[i], s) : p->guard[i].key;
    tp_buf_c(&b, "[");
    put_sorted(&b, parts, p->nguards);
    for (uint32_t i = 0; i < p->nfactors; i++)
        parts[i] =
            tp_printf(f->arena, "%.*s^%d", TP_FMT(s ? tp_real_atom_key(f, p->factor[i].atom, s) : p->factor[i].key),
                      p->factor[i].power);
    tp_buf_c(&b, "]<");
    put_sorted(&b, parts, p->nfactors);
    tp_buf_c(&b, ">");
    if (p->exponent)
        tp_buf_printf(&b, "e(%.*s)", TP_FMT(form_key(f, p->exponent, s)));
    return tp_buf_view(&b);
}

static tp_str form_key(tp_reals *f, const form *x, const scope *s)
{
    tp_str *parts = TP_NEWN(f->arena, tp_str, x->n + 1);
    tp_buf b = {.arena = f->arena};
    tp_bigs_spend(&f->big, x->n + 1);
    for (uint32_t i = 0; i < x->n; i++)
        parts[i] = tp_printf(f->arena, "%lld/%lld%.*s", (long long)x->at[i].num, (long long)x->at[i].den,
                             TP_FMT(s ? tp_real_product_key(f, &x->at[i], s) : x->at[i].key));
    put_sorted(&b, parts, x->n);
    return tp_buf_view(&b);
}

static bool is_symmetric(tp_str op)
{
    return tp_str_is(op, "maximum") || tp_str_is(op, "minimum") || tp_str_is(op, "==") || tp_str_is(op, "!=");
}

static scope inside(tp_reals *f, const atom *a, const scope *s)
{
    scope r = {.n = tp_sym_count(f->own.to), .depth = s ? s->depth : 0};
    r.with = TP_NEWN(f->arena, tp_expr, r.n);
    if (s && s->n)
        memcpy(r.with, s->with, s->n * sizeof *r.with);
    for (uint32_t i = 0; i < a->counters; i++) {
        if (r.depth == f->bound.len)
            tp_reals_stop(f, "sums are nested too deeply");
        r.with[a->counter[i]] = f->bound.at[r.depth++];
    }
    return r;
}

static void put_fold(tp_reals *f, tp_buf *b, const atom *a, const scope *s)
{
    scope in = inside(f, a, s);
    tp_str keys[TP_REAL_GUARDS];
    for (uint32_t i = 0; i < a->counters; i++) /* an extent speaks of earlier counters only */
        tp_buf_printf(b, "%.*s ", TP_FMT(key_of(f, a->extent[i], &in)));
    for (uint32_t i = 0; i < a->nguards; i++)
        keys[i] = tp_real_guard_key(f, &a->guard[i], &in);
    tp_buf_c(b, "|");
    put_sorted(b, keys, a->nguards);
    tp_buf_printf(b, "}%.*s", TP_FMT(form_key(f, a->arg[0], &in)));
}

tp_str tp_real_atom_key(tp_reals *f, const atom *a, const scope *s)
{
    tp_buf b = {.arena = f->arena};
    tp_str args[3];
    tp_buf_printf(&b, "(%d %.*s %lld ", a->kind, TP_FMT(a->op), (long long)a->number);
    switch (a->kind) {
    case TP_REAL_INTEGER:
    case TP_REAL_HELD: tp_buf_str(&b, key_of(f, a->e, s)); break;
    case TP_REAL_READ:
        tp_buf_printf(&b, "%u", a->operand);
        for (uint32_t d = 0; d < a->rank; d++)
            tp_buf_printf(&b, ",%.*s", TP_FMT(key_of(f, a->at[d], s)));
        break;
    case TP_REAL_FOLD: put_fold(f, &b, a, s); break;
    case TP_REAL_SCAN: /* it begins outside of its turns */
        put_fold(f, &b, a, s);
        tp_buf_printf(&b, "from{%.*s}", TP_FMT(form_key(f, a->arg[1], s)));
        break;
    case TP_REAL_APPLY:
        for (uint32_t i = 0; i < a->nargs; i++)
            args[i] = form_key(f, a->arg[i], s);
        if (is_symmetric(a->op) && a->nargs == 2)
            qsort(args, 2, sizeof *args, tp_real_by_text);
        for (uint32_t i = 0; i < a->nargs; i++)
            tp_buf_printf(&b, "{%.*s}", TP_FMT(args[i]));
        break;
    case TP_REAL_RATIO:
    case TP_REAL_NUMBER:
    case TP_REAL_IF:
    case TP_REAL_OVER:
    case TP_REAL_KINDS: break;
    }
    tp_buf_c(&b, ")");
    tp_bigs_spend(&f->big, 1);
    return tp_buf_view(&b);
}

bool tp_reals_same(tp_reals *f, const form *a, const form *b)
{
    return tp_str_eq(form_key(f, a, NULL), form_key(f, b, NULL));
}

/* ---- arithmetic ---- */

void tp_real_reduce(tp_reals *f, product *p)
{
    if (p->den == 0 || p->num == INT64_MIN || p->den == INT64_MIN)
        tp_reals_stop(f, "a coefficient is too large");
    int64_t d = tp_gcd(p->num, p->den);
    p->num /= d ? d : 1;
    p->den /= d ? d : 1;
    if (p->den < 0) {
        p->num = -p->num;
        p->den = -p->den;
    }
}

form *tp_real_form_of(tp_reals *f, const product *at, uint32_t n)
{
    form *x = TP_NEW(f->arena, form);
    *x = (form){TP_NEWN(f->arena, product, n + 1), n};
    if (n)
        memcpy(x->at, at, n * sizeof *at);
    for (uint32_t i = 0; i < n; i++)
        x->at[i].key = tp_real_product_key(f, &x->at[i], NULL);
    return x;
}

const form *tp_real_constant(tp_reals *f, int64_t num, int64_t den)
{
    product p = {.num = num, .den = den};
    tp_real_reduce(f, &p);
    return tp_real_form_of(f, &p, num != 0);
}

static void add_coefficient(tp_reals *f, product *to, const product *p)
{
    int64_t a, b;
    if (!tp_mul(to->num, p->den, &a) || !tp_mul(p->num, to->den, &b) || !tp_add(a, b, &to->num) ||
        !tp_mul(to->den, p->den, &to->den))
        tp_reals_stop(f, "a coefficient is too large");
    tp_real_reduce(f, to);
}

guard tp_real_negate(tp_reals *f, guard g)
{
    tp_exprs *p = f->own.to;
    if (g.kind == 0)
        g.e = tp_op2(p, TP_E_SUB, negative_index(f, g.e), tp_const(p, 1));
    else
        g.kind = 3 - g.kind;
    g.key = tp_real_guard_key(f, &g, NULL);
    return g;
}

void tp_real_drop_guard(product *p, uint32_t i)
{
    memmove(&p->guard[i], &p->guard[i + 1], (p->nguards - i - 1) * sizeof *p->guard);
    memset(&p->guard[--p->nguards], 0, sizeof *p->guard);
}

bool tp_real_has_guard(const product *p, tp_str key)
{
    for (uint32_t i = 0; i < p->nguards; i++)
        if (tp_str_eq(p->guard[i].key, key))
            return true;
    return false;
}

/* [g] x + [not g] x: which guard of a is it? nguards: none. */
static uint32_t complement(tp_reals *f, const product *a, const product *b)
{
    uint32_t only = a->nguards;
    if (a->num != b->num || a->den != b->den || a->nguards != b->nguards)
        return a->nguards;
    for (uint32_t i = 0; i < a->nguards; i++)
        if (!tp_real_has_guard(b, a->guard[i].key)) {
            if (only != a->nguards)
                return a->nguards;
            only = i;
        }
    if (only == a->nguards || !tp_real_has_guard(b, tp_real_negate(f, a->guard[only]).key))
        return a->nguards;
    product x = *a, y = *b;
    x.nguards = y.nguards = 0;
    return tp_str_eq(tp_real_product_key(f, &x, NULL), tp_real_product_key(f, &y, NULL)) ? only : a->nguards;
}

static bool merge_once(tp_reals *f, form *x)
{
    for (uint32_t i = 0; i < x->n; i++)
        for (uint32_t k = i + 1; k < x->n; k++) {
            uint32_t g = complement(f, &x->at[i], &x->at[k]);
            if (g == x->at[i].nguards)
                continue;
            tp_real_drop_guard(&x->at[i], g);
            x->at[i].key = tp_real_product_key(f, &x->at[i], NULL);
            x->at[k] = x->at[--x->n];
            return true;
        }
    return false;
}

const form *tp_real_collect(tp_reals *f, const product *at, uint32_t n)
{
    form *x = tp_real_form_of(f, at, n);
    do {
        uint32_t count = 0;
        tp_bigs_spend(&f->big, (int64_t)x->n * x->n / 8 + 1);
        for (uint32_t i = 0; i < x->n; i++) {
            uint32_t k = 0;
            while (k < count && !tp_str_eq(x->at[k].key, x->at[i].key))
                k++;
            if (k < count)
                add_coefficient(f, &x->at[k], &x->at[i]);
            else
                x->at[count++] = x->at[i];
        }
        x->n = count;
        for (uint32_t i = 0; i < x->n;)
            if (x->at[i].num == 0)
                x->at[i] = x->at[--x->n];
            else
                i++;
    } while (merge_once(f, x));
    return x;
}

const form *tp_real_plus(tp_reals *f, const form *a, const form *b, int64_t scale)
{
    if (a->n + b->n > MAX_PRODUCTS)
        tp_reals_stop(f, "a sum has too many terms");
    product *at = TP_NEWN(f->arena, product, a->n + b->n + 1);
    memcpy(at, a->at, a->n * sizeof *at);
    for (uint32_t i = 0; i < b->n; i++) {
        at[a->n + i] = b->at[i];
        if (!tp_mul(b->at[i].num, scale, &at[a->n + i].num))
            tp_reals_stop(f, "a coefficient is too large");
    }
    return tp_real_collect(f, at, a->n + b->n);
}

bool tp_real_add_guard(tp_reals *f, product *p, guard g)
{
    if (tp_real_has_guard(p, g.key))
        return true;
    if (tp_real_has_guard(p, tp_real_negate(f, g).key))
        return false;
    if (p->nguards == TP_REAL_GUARDS)
        tp_reals_stop(f, "a product has too many conditions");
    p->guard[p->nguards++] = g;
    return true;
}

static bool is_comparison(const atom *a)
{
    static const char *const NAMES[] = {"==", "!=", "<", "<=", ">", ">="};
    for (int i = 0; a->kind == TP_REAL_APPLY && i < 6; i++)
        if (tp_str_is(a->op, NAMES[i]))
            return true;
    return false;
}

void tp_real_add_factor(tp_reals *f, product *p, tp_real_factor x)
{
    for (uint32_t i = 0; i < p->nfactors; i++) {
        if (!tp_str_eq(p->factor[i].key, x.key))
            continue;
        int both = p->factor[i].power + x.power;
        if (is_comparison(x.atom) && p->factor[i].power > 0 && x.power > 0)
            both = 1; /* 0 or 1 */
        if (abs(both) > MAX_POWER)
            tp_reals_stop(f, "a power is too large");
        p->factor[i].power = both;
        if (both == 0)
            p->factor[i] = p->factor[--p->nfactors];
        return;
    }
    if (p->nfactors == TP_REAL_FACTORS)
        tp_reals_stop(f, "a product has too many factors");
    p->factor[p->nfactors++] = x;
}

bool tp_real_times_product(tp_reals *f, product *p, const product *by)
{
    if (!tp_mul(p->num, by->num, &p->num) || !tp_mul(p->den, by->den, &p->den))
        tp_reals_stop(f, "a coefficient is too large");
    tp_real_reduce(f, p);
    for (uint32_t i = 0; i < by->nguards; i++)
        if (!tp_real_add_guard(f, p, by->guard[i]))
            return false;
    for (uint32_t i = 0; i < by->nfactors; i++)
        tp_real_add_factor(f, p, by->factor[i]);
    if (by->exponent)
        p->exponent = p->exponent ? tp_real_plus(f, p->exponent, by->exponent, 1) : by->exponent;
    if (p->exponent && p->exponent->n == 0)
        p->exponent = NULL;
    return true;
}

const form *tp_real_times(tp_reals *f, const form *a, const form *b)
{
    uint32_t n = 0;
    if (a->n * b->n > MAX_PRODUCTS)
        tp_reals_stop(f, "a product has too many terms");
    product *at = TP_NEWN(f->arena, product, a->n * b->n + 1);
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < b->n; k++) {
            at[n] = a->at[i];
            n += tp_real_times_product(f, &at[n], &b->at[k]);
        }
    return tp_real_collect(f, at, n);
}

const form *tp_real_negative(tp_reals *f, const form *x)
{
    return tp_real_plus(f, tp_real_constant(f, 0, 1), x, -1);
}

const form *tp_reals_under(tp_reals *f, const form *x, guard g)
{
    product *at = TP_NEWN(f->arena, product, x->n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        at[n] = x->at[i];
        n += tp_real_add_guard(f, &at[n], g);
    }
    return tp_real_collect(f, at, n);
}
