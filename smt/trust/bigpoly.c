#include "smt/trust/bigpoly.h"
#include "base/assert.h"

enum { MAX_TERMS = 2000, MAX_BITS = 8192, BLOCK = 64 };

_Static_assert(sizeof(long) >= sizeof(int64_t), "GMP takes long");

void tp_bigs_spend(tp_bigs *b, int64_t work)
{
    b->budget -= work;
    if (b->budget < 0)
        tp_leave(b->arena, TP_E_INPUT);
}

void tp_bigs_free(tp_bigs *b)
{
    for (uint32_t i = 0; i < b->numbers.len; i++)
        for (int k = 0; k < BLOCK; k++)
            mpz_clear(&b->numbers.at[i][k]);
}

/* A new number, 0. */
static mpz_ptr number(tp_bigs *b)
{
    if (b->numbers.len == 0 || b->used == BLOCK) {
        mpz_ptr block = TP_NEWN(b->arena, __mpz_struct, BLOCK);
        for (int i = 0; i < BLOCK; i++)
            mpz_init(&block[i]);
        tp_push(b->arena, b->numbers, block);
        b->used = 0;
    }
    return &b->numbers.at[b->numbers.len - 1][b->used++];
}

/* Powers of powers would fill the memory. */
static mpz_ptr limit(tp_bigs *b, mpz_ptr z)
{
    if (mpz_sizeinbase(z, 2) > MAX_BITS)
        tp_leave(b->arena, TP_E_INPUT);
    return z;
}

static int compare(const tp_bigterm *s, const tp_bigterm *t)
{
    if (s->degree != t->degree)
        return s->degree > t->degree ? -1 : 1;
    for (uint32_t i = 0; i < s->degree; i++)
        if (s->atoms[i] != t->atoms[i])
            return s->atoms[i] < t->atoms[i] ? -1 : 1;
    return 0;
}

/* Terms in order, none of them 0, the atoms of each ascending. */
static bool is_ordered(const tp_bigpoly *x)
{
    for (uint32_t i = 0; i < x->len; i++) {
        if (mpz_sgn(x->at[i].coef) == 0 || (i && compare(&x->at[i - 1], &x->at[i]) >= 0))
            return false;
        for (uint32_t k = 1; k < x->at[i].degree; k++)
            if (x->at[i].atoms[k - 1] > x->at[i].atoms[k])
                return false;
    }
    return true;
}

/* x += scale * t; scale NULL: 1 */
static void add_term(tp_bigs *b, tp_bigpoly *x, const tp_bigterm *t, mpz_srcptr scale)
{
    uint32_t i = 0;
    int by = 1;
    while (i < x->len && (by = compare(&x->at[i], t)) < 0)
        i++;
    tp_bigs_spend(b, 1 + i / 4);
    if (i < x->len && by == 0) {
        mpz_ptr sum = number(b);
        mpz_set(sum, x->at[i].coef);
        if (scale)
            mpz_addmul(sum, t->coef, scale);
        else
            mpz_add(sum, sum, t->coef);
        x->at[i].coef = limit(b, sum);
        if (mpz_sgn(sum) == 0) {
            memmove(&x->at[i], &x->at[i + 1], (x->len - i - 1) * sizeof *t);
            x->len--;
        }
        return;
    }
    tp_bigterm new = *t;
    if (scale) {
        new.coef = number(b);
        mpz_mul(new.coef, t->coef, scale);
        limit(b, new.coef);
    }
    if (mpz_sgn(new.coef) == 0)
        return;
    tp_bigs_spend(b, x->len > MAX_TERMS ? b->budget + 1 : 1);
    tp_push(b->arena, *x, new);
    memmove(&x->at[i + 1], &x->at[i], (x->len - 1 - i) * sizeof new);
    x->at[i] = new;
}

tp_bigpoly tp_big_constant(tp_bigs *b, int64_t v)
{
    tp_bigpoly x = {0};
    mpz_ptr z = number(b);
    mpz_set_si(z, v);
    add_term(b, &x, &(tp_bigterm){.coef = z}, NULL);
    return x;
}

tp_bigpoly tp_big_plus(tp_bigs *b, const tp_bigpoly *x, const tp_bigpoly *y, int64_t scale)
{
    tp_bigpoly sum = {0};
    mpz_ptr k = scale == 1 ? NULL : number(b);
    if (k)
        mpz_set_si(k, scale);
    for (uint32_t i = 0; i < x->len; i++)
        add_term(b, &sum, &x->at[i], NULL);
    for (uint32_t i = 0; i < y->len; i++)
        add_term(b, &sum, &y->at[i], k);
    tp_assert(is_ordered(&sum));
    return sum;
}

tp_bigpoly tp_big_times(tp_bigs *b, const tp_bigpoly *x, const tp_bigpoly *y)
{
    tp_bigpoly product = {0};
    for (uint32_t i = 0; i < x->len; i++)
        for (uint32_t k = 0; k < y->len; k++) {
            const tp_bigterm *s = &x->at[i], *u = &y->at[k];
            tp_bigterm t = {.coef = s->coef, .degree = s->degree + u->degree};
            t.atoms = TP_NEWN(b->arena, uint32_t, t.degree);
            tp_bigs_spend(b, t.degree);
            for (uint32_t n = 0, l = 0, r = 0; n < t.degree; n++)
                t.atoms[n] =
                    r == u->degree || (l < s->degree && s->atoms[l] <= u->atoms[r]) ? s->atoms[l++] : u->atoms[r++];
            add_term(b, &product, &t, u->coef);
        }
    tp_assert(is_ordered(&product));
    return product;
}

/* A total order; 0: the same polynomial. */
static int order(const tp_bigpoly *x, const tp_bigpoly *y)
{
    for (uint32_t i = 0; i < x->len && i < y->len; i++) {
        int by = compare(&x->at[i], &y->at[i]);
        if (by || (by = mpz_cmp(x->at[i].coef, y->at[i].coef)))
            return by;
    }
    return x->len == y->len ? 0 : x->len < y->len ? -1 : 1;
}

bool tp_big_same(const tp_bigpoly *x, const tp_bigpoly *y)
{
    return order(x, y) == 0;
}

mpz_srcptr tp_big_value(tp_bigs *b, const tp_bigpoly *x)
{
    if (x->len == 0)
        return number(b);
    return x->len == 1 && x->at[0].degree == 0 ? x->at[0].coef : NULL;
}

/* ---- expressions ---- */

static tp_bigpoly atom_poly(tp_bigs *b, tp_bigatom a)
{
    uint32_t i = 0;
    for (; i < b->atoms.len; i++) {
        const tp_bigatom *o = &b->atoms.at[i];
        if (a.op == o->op && a.sym == o->sym && tp_big_same(&a.args[0], &o->args[0]) &&
            tp_big_same(&a.args[1], &o->args[1]) && tp_big_same(&a.args[2], &o->args[2]))
            break;
    }
    tp_bigs_spend(b, 1 + i);
    if (i == b->atoms.len)
        tp_push(b->arena, b->atoms, a);
    tp_bigpoly x = {0};
    mpz_ptr one = number(b);
    uint32_t *id = TP_NEW(b->arena, uint32_t);
    *id = i;
    mpz_set_ui(one, 1);
    add_term(b, &x, &(tp_bigterm){.coef = one, .degree = 1, .atoms = id}, NULL);
    return x;
}

/* Move the terms by*q of x, `by` a positive constant or an atom, to the quotient. */
static void divide(tp_bigs *b, tp_bigpoly *x, const tp_bigpoly *by, tp_bigpoly *quotient)
{
    mpz_srcptr k = tp_big_value(b, by);
    tp_bigpoly rest = {0};
    bool is_atom = by->len == 1 && by->at[0].degree == 1 && mpz_cmp_ui(by->at[0].coef, 1) == 0;
    if (!(k && mpz_sgn(k) > 0) && !is_atom)
        return;
    for (uint32_t i = 0; i < x->len; i++) {
        tp_bigterm t = x->at[i];
        uint32_t at = 0;
        while (!k && at < t.degree && t.atoms[at] != by->at[0].atoms[0])
            at++;
        if (k ? !mpz_divisible_p(t.coef, k) : at == t.degree) {
            add_term(b, &rest, &t, NULL);
            continue;
        }
        tp_bigterm q = {.coef = number(b), .degree = k ? t.degree : t.degree - 1};
        q.atoms = TP_NEWN(b->arena, uint32_t, q.degree);
        for (uint32_t n = 0, m = 0; m < t.degree; m++)
            if (k || m != at)
                q.atoms[n++] = t.atoms[m];
        if (k)
            mpz_divexact(q.coef, t.coef, k);
        else
            mpz_set(q.coef, t.coef);
        add_term(b, quotient, &q, NULL);
    }
    *x = rest;
}

/* An operation on constants. */
static bool fold(tp_bigs *b, tp_expr_op op, const tp_bigpoly *args, tp_bigpoly *out)
{
    tp_expr e[3] = {{0}, {0}, {0}}, r;
    int64_t v;
    int n = op == TP_E_NOT || op == TP_E_POW2 ? 1 : op == TP_E_ITE ? 3 : 2;
    for (int i = 0; i < n; i++) {
        mpz_srcptr z = tp_big_value(b, &args[i]);
        if (!z || !mpz_fits_slong_p(z))
            return false;
        e[i] = tp_const(b->exprs, mpz_get_si(z));
    }
    r = n == 1   ? tp_op1(b->exprs, op, e[0])
        : n == 2 ? tp_op2(b->exprs, op, e[0], e[1])
                 : tp_ite(b->exprs, e[0], e[1], e[2]);
    if (!tp_expr_is_const(b->exprs, r, &v))
        return false;
    *out = tp_big_constant(b, v);
    return true;
}

static tp_bigpoly operation(tp_bigs *b, tp_bigatom a)
{
    tp_bigpoly *x = &a.args[0], *y = &a.args[1], result = {0}, quotient = {0};
    bool divides = a.op == TP_E_FLOORDIV || a.op == TP_E_CDIV || a.op == TP_E_MOD;
    if ((a.op == TP_E_MIN || a.op == TP_E_MAX) && order(x, y) > 0) {
        tp_bigpoly t = *x;
        *x = *y;
        *y = t;
    }
    if (divides)
        divide(b, x, y, &quotient);
    bool exact = divides && quotient.len && x->len == 0; /* b*q // b = q, b*q % b = 0 */
    if (!exact && !fold(b, a.op, a.args, &result))
        result = atom_poly(b, a);
    return a.op == TP_E_MOD ? result : tp_big_plus(b, &quotient, &result, 1);
}

tp_bigpoly tp_big_of(tp_bigs *b, tp_expr e, const tp_expr *with, uint32_t count)
{
    tp_expr_node n = *tp_expr_get(b->exprs, e);
    tp_bigs_spend(b, 1);
    if (!e.id)
        return (tp_bigpoly){0};
    if (n.op == TP_E_TOO_LARGE) /* no polynomial is it */
        tp_leave(b->arena, TP_E_INPUT);
    if (n.op == TP_E_CONST)
        return tp_big_constant(b, n.value);
    if (n.op == TP_E_SYM) {
        if ((uint64_t)n.value < count && with[n.value].id)
            return tp_big_of(b, with[n.value], with, count);
        return atom_poly(b, (tp_bigatom){.op = TP_E_SYM, .sym = (uint32_t)n.value});
    }
    tp_bigpoly x = tp_big_of(b, n.a, with, count), y = tp_big_of(b, n.b, with, count),
               z = tp_big_of(b, n.c, with, count), zero = {0};
    if (n.op == TP_E_READ) /* of which only the indices are known */
        return atom_poly(b, (tp_bigatom){.op = n.op, .sym = (uint32_t)n.value, .args = {x, y, z}});
    mpz_srcptr condition = n.op == TP_E_ITE ? tp_big_value(b, &x) : NULL;
    if (n.op == TP_E_ADD || n.op == TP_E_SUB)
        return tp_big_plus(b, &x, &y, n.op == TP_E_ADD ? 1 : -1);
    if (n.op == TP_E_MUL)
        return tp_big_times(b, &x, &y);
    if (n.op == TP_E_NEG)
        return tp_big_plus(b, &zero, &x, -1);
    if (n.op == TP_E_ALIGN_UP) { /* cdiv(x, y) * y */
        z = operation(b, (tp_bigatom){.op = TP_E_CDIV, .args = {x, y, zero}});
        return tp_big_times(b, &z, &y);
    }
    if (condition)
        return mpz_sgn(condition) ? y : z;
    return operation(b, (tp_bigatom){.op = n.op, .args = {x, y, z}});
}

/* ---- text ---- */

static void print_entry(tp_buf *out, tp_bigs *b, const tp_bigatom *a)
{
    for (int i = 0; i < 3; i++) {
        tp_buf_c(out, i ? ", " : "[");
        tp_big_print(out, b, &a->args[i]);
    }
    tp_buf_c(out, "]");
}

/* Brackets that are always right rather than few. */
static void print_atom(tp_buf *out, tp_bigs *b, const tp_bigatom *a)
{
    bool infix = a->op >= TP_E_ADD && a->op < TP_E_CDIV;
    if (a->op == TP_E_SYM || a->op == TP_E_READ) {
        tp_buf_str(out, tp_sym_name(b->exprs, a->sym));
        if (a->op == TP_E_READ)
            print_entry(out, b, a);
        return;
    }
    const char *op = a->op == TP_E_ITE ? "if" : a->op == TP_E_NOT ? "not" : tp_expr_op_text(a->op);
    if (!infix)
        tp_buf_c(out, op);
    for (int i = 0; i < (a->op == TP_E_ITE ? 3 : a->op < TP_E_ADD ? 1 : 2); i++) {
        if (i && infix)
            tp_buf_printf(out, " %s ", op);
        else if (i)
            tp_buf_c(out, ", ");
        if (infix || i == 0)
            tp_buf_c(out, "(");
        tp_big_print(out, b, &a->args[i]);
        if (infix)
            tp_buf_c(out, ")");
    }
    if (!infix)
        tp_buf_c(out, ")");
}

void tp_big_print(tp_buf *out, tp_bigs *b, const tp_bigpoly *x)
{
    for (uint32_t i = 0; i < x->len; i++) {
        const tp_bigterm *t = &x->at[i];
        bool minus = mpz_sgn(t->coef) < 0, one = mpz_cmpabs_ui(t->coef, 1) == 0 && t->degree;
        char *digits = TP_NEWN(b->arena, char, mpz_sizeinbase(t->coef, 10) + 2);
        mpz_get_str(digits, 10, t->coef);
        tp_buf_c(out, i ? (minus ? " - " : " + ") : minus ? "-" : "");
        tp_buf_c(out, one ? "" : digits + minus);
        for (uint32_t k = 0; k < t->degree; k++) {
            tp_buf_c(out, k || !one ? "*" : "");
            print_atom(out, b, &b->atoms.at[t->atoms[k]]);
        }
    }
    if (x->len == 0)
        tp_buf_c(out, "0");
}
