/* Random specs with bodies, as text. They start from the idioms of real kernels
 * (initialise, mask, accumulate, flush), with parts left out or changed. */
#ifndef TP_RANDOM_BODY_H
#define TP_RANDOM_BODY_H

#include <ctype.h>

#include "base/rng.h"
#include "tests/unit/support.h"

typedef struct maker {
    tp_arena *a;
    tp_rng rng;
    int naxes, b;
    const char *axis[3];
    tp_buf body;
    int indent, locals;
    unsigned arms; /* names defined in both arms of an if */
    bool pure;     /* values of inputs only: what each primitive does to padding */
    bool alias;    /* x and o share their array */
} maker;

static int pick(maker *g, int n)
{
    return (int)tp_rng_below(&g->rng, (uint64_t)n);
}

static const char *text(maker *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static const char *text(maker *g, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tp_str s = tp_vprintf(g->a, fmt, ap);
    va_end(ap);
    return s.p;
}

static const char *any_axis(maker *g)
{
    return g->axis[pick(g, g->naxes)];
}

/* A condition on the step. */
static const char *scalar_condition(maker *g)
{
    const char *a = any_axis(g), *b = any_axis(g), *last = g->axis[g->naxes - 1];
    switch (pick(g, 10)) {
    case 0: return text(g, "%s == num_programs(%s) - 1", last, last);
    case 1: return text(g, "%s > 0", a);
    case 2: return text(g, "%s == 0 and %s == 0", a, b);
    case 3: return text(g, "%s + %s == 1", a, b);
    case 4: return text(g, "%s < num_programs(%s) - 1", a, a);
    case 5: return text(g, "M > %d", pick(g, 5));
    case 6: return text(g, "%s %% 2 == 0", a);
    case 7: return "sum(x[...]) > 0";
    default: return text(g, "%s == 0", last);
    }
}

/* A mask of shape (b, b). */
static const char *mask(maker *g, int depth)
{
    int b = g->b;
    const char *a = any_axis(g);
    if (depth > 0 && pick(g, 5) == 0)
        return text(g, "(%s %s %s)", mask(g, depth - 1), pick(g, 2) ? "&" : "|", mask(g, depth - 1));
    switch (pick(g, 17)) {
    case 13: return text(g, "(lax_rem(iota(int32, (%d, %d), %d) + %s, 3) != 1)", b, b, pick(g, 2), a);
    case 14: return text(g, "(lax_div(iota(int32, (%d, %d), %d) * 3, 2) < M)", b, b, pick(g, 2));
    case 15:
        return text(g, "((iota(int32, (%d, %d), %d) %s %d) < %s)", b, b, pick(g, 2),
                    (const char *const[]){"^", "<<", ">>", "&", "|"}[pick(g, 5)], 1 + pick(g, 2),
                    pick(g, 2) ? "M" : "2");
    case 9:
        return text(g, "((%s * %d + iota(int32, (%d, %d), %d)) // %d < %s)", a, b, b, b, pick(g, 2), 1 + pick(g, 3),
                    pick(g, 2) ? "M" : "N");
    case 10: return text(g, "((iota(int32, (%d, %d), %d) + %s) %% %d == 0)", b, b, pick(g, 2), a, 2 + pick(g, 2));
    case 11:
        return text(g, "(maximum(iota(int32, (%d, %d), 0), iota(int32, (%d, %d), 1)) < abs(%d - %s))", b, b, b, b,
                    pick(g, 4), a);
    case 12:
        return text(g, "((iota(int8, (%d, %d), %d) * %d) < %d)", b, b, pick(g, 2), 40 + 20 * pick(g, 3),
                    50 * pick(g, 3));
    case 0: return text(g, "(iota(int32, (%d, %d), %d) < %d)", b, b, pick(g, 2), pick(g, b + 1));
    case 1: return text(g, "(%s * %d + iota(int32, (%d, %d), %d) <= M)", a, b, b, b, pick(g, 2));
    case 2: return text(g, "(iota(int32, (%d, %d), 0) >= iota(int32, (%d, %d), 1))", b, b, b, b);
    case 3: return text(g, "(~(%s * %d + iota(int32, (%d, %d), %d) >= N))", a, b, b, b, pick(g, 2));
    case 4: return "(x[...] > 0)";
    case 5: return text(g, "(iota(int32, (%d, %d), %d) < M - %s * %d)", b, b, pick(g, 2), a, b);
    default:
        return text(g, "(%s * %d + iota(int32, (%d, %d), %d) < %s)", a, b, b, b, pick(g, 2), pick(g, 2) ? "M" : "N");
    }
}

/* Lanes of a value of shape (b, b) moved about. */
static const char *moved(maker *g, const char *v)
{
    int b = g->b, axis = pick(g, 2), cut = 1 + pick(g, b - 1), down = pick(g, 2);
    switch (pick(g, 10)) {
    case 8:
        return text(g, "slice(reshape(tile(%s, (1, 2)), (%d, %d)), (%d, 0), (%d, %d))", v, 2 * b, b, cut, cut + b, b);
    case 0: return text(g, "flip(%s, axis=%d)", v, axis);
    case 1: return text(g, "roll(%s, %d, axis=%d)", v, pick(g, 5) - 2, axis);
    case 2: return text(g, "roll(%s, %s, axis=%d)", v, any_axis(g), axis);
    case 3:
        return text(g, "%s(%s, axis=%d%s)", (const char *const[]){"cumsum", "cummax", "cummin", "cumprod"}[pick(g, 4)],
                    v, axis, pick(g, 2) ? ", reverse=True" : "");
    case 4: return text(g, "slice(tile(%s, (1, 2)), (0, %d), (%d, %d))", v, cut, b, b + cut);
    case 5: return text(g, "slice(repeat(%s, 2, axis=1), (0, %d), (%d, %d))", v, cut, b, b + cut);
    case 6: return text(g, "slice(pad(%s, 1, ((1, 0), (0, 1))), (%d, 1), (%d, %d))", v, down, b + down, b + 1);
    case 7: return text(g, "squeeze(slice(stack([%s, y[...]], axis=1), (0, 1, 0), (%d, 2, %d)), 1)", v, b, b);
    default:
        return text(g, "concatenate([slice(%s, (0, 0), (%d, %d)), slice(y[...], (%d, %d), (%d, %d))], axis=%d)", v,
                    axis ? b : cut, axis ? cut : b, axis ? 0 : cut, axis ? cut : 0, b, b, axis);
    }
}

/* A function of one float, from the rows of spec/prims.def. */
static const char *unary(maker *g)
{
    for (;;) {
        const tp_prim_row *row = tp_prim_info((tp_prim)pick(g, TP_PRIMS));
        bool floats = row->operands == TP_OC_FLOATS || row->operands == TP_OC_NUMBERS;
        if (row->class == TP_CLASS_ELEMENTWISE && row->nargs == 1 && floats && !row->to_bool &&
            isalpha((unsigned char)*row->name))
            return row->name;
    }
}

/* A value of shape (b, b). */
static const char *value(maker *g, int depth)
{
    static const char *const LEAVES[] = {"x[...]", "x[...]", "y[...]", "y[...]", "s[...]", "o[...]"};
    if (depth == 0 && g->locals && pick(g, 3) == 0)
        return "v";
    if (depth == 0)
        return LEAVES[pick(g, g->pure ? 4 : 6)];
    if (pick(g, 6) == 0) { /* one of many that spread padding alike */
        static const char *const FORMS[] = {"-%s",
                                            "clip(%s, 0, 1)",
                                            "(%s ** 2)",
                                            "(%s / 3)",
                                            "(%s // 2)",
                                            "(%s % 2)",
                                            "pow(abs(%s), 2)",
                                            "is_finite(%s).astype(float32)",
                                            "bitcast(bitcast(%s, int32), float32)",
                                            "bitcast(shift_right_logical(bitcast(%s, int32), 1), float32)",
                                            "(%s).astype(bfloat16).astype(float32)"};
        int forms = (int)(sizeof FORMS / sizeof *FORMS), form = pick(g, forms + 24);
        if (form >= forms)
            return text(g, pick(g, 4) ? "%s(%s)" : "%s(broadcast_to(max(%s, axis=1, keepdims=True), (%d, %d)))",
                        unary(g), value(g, depth - 1), g->b, g->b);
        const char *at = strstr(FORMS[form], "%s");
        return text(g, "%.*s%s%s", (int)(at - FORMS[form]), FORMS[form], value(g, depth - 1), at + 2);
    }
    switch (pick(g, 24)) {
    case 22: {
        const char *from = LEAVES[pick(g, g->pure ? 4 : 6)], *kept = mask(g, 1);
        if (pick(g, 2))
            return text(g, "load(%s, %s)", from, kept);
        return text(g, "load(%s, %s, other=%s)", from, kept, pick(g, 2) ? "1" : value(g, depth - 1));
    }
    case 20:
    case 21: return moved(g, value(g, depth - 1));
    case 16:
        return text(g, "(%s + prod(%s, axis=%d, keepdims=True))", value(g, depth - 1), value(g, depth - 1), pick(g, 2));
    case 17:
        return text(g, "where(%s(%s, axis=%d, keepdims=True), %s, %s)", pick(g, 2) ? "any" : "all", mask(g, 1),
                    pick(g, 2), value(g, depth - 1), value(g, depth - 1));
    case 18:
        return text(g, "(%s + %s(%s, axis=%d, keepdims=True).astype(float32))", value(g, depth - 1),
                    pick(g, 2) ? "argmax" : "argmin", value(g, depth - 1), pick(g, 2));
    case 19:
        return text(g, pick(g, 2) ? "(zeros((%d, %d), float32) + %s)" : "(full((%d, %d), 2, float32) * %s)", g->b, g->b,
                    value(g, depth - 1));
    case 0: return text(g, "(%s %s %s)", value(g, depth - 1), pick(g, 2) ? "+" : "*", value(g, depth - 1));
    case 1: return text(g, "where(%s, %s, %s)", mask(g, 1), value(g, depth - 1), value(g, depth - 1));
    case 2: return text(g, "dot(%s, %s)", value(g, depth - 1), value(g, depth - 1));
    case 3:
        return text(g, "(%s + sum(%s, axis=%d, keepdims=True))", value(g, depth - 1), value(g, depth - 1), pick(g, 2));
    case 4: return text(g, "transpose(%s)", value(g, depth - 1));
    case 5:
        return text(g, "maximum(%s, max(%s, axis=%d, keepdims=True))", value(g, depth - 1), value(g, depth - 1),
                    pick(g, 2));
    case 6: return text(g, "(%s * %s.astype(float32))", value(g, depth - 1), mask(g, 1));
    case 7: return text(g, "reshape(reshape(%s, (%d,)), (%d, %d))", value(g, depth - 1), g->b * g->b, g->b, g->b);
    case 8:
        return text(g, "dot(%s, %s, contract=([%d], [%d]))", value(g, depth - 1), value(g, depth - 1), pick(g, 2),
                    pick(g, 2));
    case 9:
        return text(g, "(%s + expand_dims(%s(%s, axis=%d), %d))", value(g, depth - 1), pick(g, 2) ? "sum" : "min",
                    value(g, depth - 1), pick(g, 2), pick(g, 2));
    case 10: return text(g, "squeeze(expand_dims(%s, 1), 1)", value(g, depth - 1));
    case 11:
        return text(g, "where(sum(%s.astype(int32), axis=%d, keepdims=True) > %d, %s, %s)", mask(g, 1), pick(g, 2),
                    pick(g, g->b), value(g, depth - 1), value(g, depth - 1));
    default: return text(g, "where(%s, %s, 0)", mask(g, 1), value(g, depth - 1));
    }
}

/* Clean wherever the windows of x and y follow (i, j): every lane outside is masked. */
static const char *careful(maker *g)
{
    int b = g->b;
    const char *in = text(g, "((i * %d + iota(int32, (%d, %d), 0) < M) & (%s * %d + iota(int32, (%d, %d), 1) < N))", b,
                          b, b, g->naxes > 1 ? "j" : "0", b, b, b);
    switch (pick(g, 5)) {
    case 0: return text(g, "dot(where(%s, x[...], 0), where(%s, y[...], 0))", in, in);
    case 1: return text(g, "dot(x[...], where(%s, y[...], 0), contract=([1], [1]))", in);
    case 2: return text(g, "where(%s, x[...] * y[...], 0)", in);
    case 3: return text(g, "(x[...] + sum(where(%s, y[...], 0), axis=%d, keepdims=True))", in, pick(g, 2));
    default: return text(g, "transpose(where(%s, x[...], 1))", in);
    }
}

static void line(maker *g, const char *s)
{
    tp_buf_printf(&g->body, "%s\"%*s%s\"", g->body.n ? ", " : "", 4 * g->indent, "", s);
}

static void statement(maker *g, int depth)
{
    int b = g->b;
    if (pick(g, 16) == 0) {
        line(g, text(g, "check(max(%s) == 0 or True, 'always')", value(g, 1)));
        return;
    }
    if (pick(g, 16) == 0) {
        line(g, text(g, "while max(s[...]) < %d:", pick(g, 3)));
        g->indent++;
        line(g, text(g, "s[...] = %s", value(g, 1)));
        line(g, "s[...] = 9");
        g->indent--;
        return;
    }
    if (pick(g, 16) == 0) {
        line(g, text(g, "if %s:", scalar_condition(g)));
        line(g, text(g, "    w%u = %s", g->arms, value(g, 1)));
        line(g, "else:");
        line(g, text(g, "    w%u = %s", g->arms, value(g, 1)));
        line(g, text(g, "s[...] = w%u", g->arms++));
        return;
    }
    if (pick(g, 16) == 0) {
        line(g, text(g, "store(%s[...], %s, %s)", pick(g, 2) ? "s" : "o", value(g, 1), mask(g, 1)));
        return;
    }
    switch (pick(g, depth > 0 ? 12 : 10)) {
    case 7:
        if (!g->locals && g->indent)
            line(g, text(g, "s[%s %% %d, :] = x[%d, :]", any_axis(g), b, pick(g, b)));
        else
            line(g, text(g, "v = %s", value(g, 1)));
        g->locals |= !g->indent;
        break;
    case 8: line(g, text(g, "s[ds(min(%s, %d), %d), :] = x[ds(0, %d), :]", any_axis(g), pick(g, b), 1, 1)); break;
    case 9:
        line(g, text(g, "for t in range(%d, %s):", pick(g, 2), pick(g, 2) ? "M" : text(g, "%s + 1", any_axis(g))));
        g->indent++;
        line(g, g->locals && pick(g, 2) ? "v = v + s[...]"
                : pick(g, 2)            ? text(g, "s[t %% %d, :] = y[t %% %d, :]", b, b)
                                        : text(g, "s[...] = where(%s, s[...], %s)", mask(g, 0), value(g, 1)));
        g->indent--;
        break;
    case 0: line(g, text(g, "s[...] = %s", value(g, 1 + pick(g, 2)))); break;
    case 1: line(g, text(g, "s[...] += %s", value(g, 1 + pick(g, 2)))); break;
    case 2: line(g, text(g, "o[...] = %s", value(g, pick(g, 3)))); break;
    case 3: line(g, text(g, "o[...] += %s", value(g, 1))); break;
    case 4: {
        int from = pick(g, b), n = 1 + pick(g, b - from);
        line(g, text(g, "%s[ds(%d, %d), :] = %s[ds(%d, %d), :]", pick(g, 2) ? "s" : "o", from, n,
                     pick(g, 2) ? "x" : "s", pick(g, b - n + 1), n));
        break;
    }
    case 5: line(g, text(g, "s[...] = %d", pick(g, 2))); break;
    case 6:
        line(g,
             text(g, "for t in range(%d, %s):", pick(g, 2), pick(g, 2) ? text(g, "%d", b) : text(g, "min(%d, M)", b)));
        g->indent++;
        line(g, pick(g, 2) ? "s[t, :] = x[t, :]" : "o[t, :] = s[t, :] + y[t, :]");
        g->indent--;
        break;
    default:
        line(g, text(g, "if %s:", scalar_condition(g)));
        g->indent++;
        statement(g, depth - 1);
        g->indent--;
        if (pick(g, 2)) {
            line(g, "else:");
            g->indent++;
            statement(g, depth - 1);
            g->indent--;
        }
        break;
    }
}

/* Initialise, accumulate, flush: mostly right. */
static void idiom(maker *g)
{
    const char *last = g->axis[g->naxes - 1];
    if (pick(g, 8)) {
        line(g, text(g, "if %s:", pick(g, 5) ? text(g, "%s == 0", last) : scalar_condition(g)));
        g->indent++;
        line(g, pick(g, 8) ? "s[...] = 0" : "s[ds(0, 1), :] = 0");
        g->indent--;
    }
    if (pick(g, 6) == 0)
        statement(g, 2);
    line(g, text(g, "s[...] += %s", pick(g, 3) ? careful(g) : value(g, 2)));
    if (pick(g, 3)) {
        line(g,
             text(g, "if %s:", pick(g, 5) ? text(g, "%s == num_programs(%s) - 1", last, last) : scalar_condition(g)));
        g->indent++;
        line(g, pick(g, 4) ? "o[...] = s[...]" : text(g, "o[...] = %s", value(g, 1)));
        g->indent--;
    } else {
        line(g, "o[...] = s[...] + x[...]");
    }
}

static const char *dimension_map(maker *g, int d)
{
    if (d < g->naxes && pick(g, 8))
        return g->axis[d];
    switch (pick(g, 4)) {
    case 0: return any_axis(g);
    case 1: return text(g, "%s // 2", any_axis(g));
    case 2: return text(g, "%s %% 2", any_axis(g));
    default: return "0";
    }
}

/* Its last keys. "valid" is often one element only: then a trap tells about that element. */
static const char *output_keys(maker *g)
{
    if (g->alias)
        return text(g, ", \"alias\": \"x\", \"buffers\": %d", 1 + pick(g, 3));
    if (pick(g, 8) == 0)
        return ", \"buffers\": 1, \"revisit\": \"any\"";
    if (g->pure && pick(g, 4))
        return text(g, ", \"valid\": \"d0 == %d and d1 == %d\"", pick(g, 4), pick(g, 4));
    return pick(g, 8) ? "" : ", \"valid\": \"d0 < 3\"";
}

static const char *make_spec(maker *g)
{
    static const char *const AXES[] = {"i", "j", "k"};
    tp_buf t = {.arena = g->a};
    g->naxes = 1 + pick(g, 3);
    g->pure = pick(g, 3) == 0;
    g->alias = pick(g, 6) == 0;
    g->b = 2 + pick(g, 2);
    g->body = (tp_buf){.arena = g->a};
    for (int n = 0; n < 3; n++)
        g->axis[n] = AXES[n];
    tp_buf_c(&t, "{\"tileproof\": 1, \"name\": \"random\", \"target\": \"none\", \"sizes\": ");
    if (pick(g, 8) == 0) /* one case */
        tp_buf_printf(&t, "{\"M\": %d, \"N\": %d}, ", 1 + pick(g, 7), 1 + pick(g, 6));
    else
        tp_buf_printf(&t, "{\"M\": {\"min\": %d, \"max\": %d}, \"N\": {\"min\": 1, \"max\": %d%s}}, ", 1 + pick(g, 3),
                      4 + pick(g, 4), 4 + pick(g, 3), pick(g, 4) ? "" : ", \"multiple_of\": 2");
    tp_buf_c(&t, "\"grid\": [");
    for (int n = 0; n < g->naxes; n++) {
        const char *extent = n == 0 ? "M" : n == 1 ? "N" : pick(g, 2) ? "M" : "N";
        tp_buf_printf(&t, "%s{\"axis\": \"%s\", \"steps\": \"%s\", \"semantics\": \"%s\"}", n ? ", " : "", AXES[n],
                      pick(g, 12)  ? text(g, "cdiv(%s, %d)", extent, g->b)
                      : pick(g, 2) ? text(g, "%s // %d", extent, g->b)
                                   : "2",
                      n + 1 < g->naxes && pick(g, 2) ? "parallel" : "arbitrary");
    }
    const char *inputs[] = {"x", "y"};
    tp_buf_c(&t, "], \"inputs\": [");
    for (int n = 0; n < 2; n++) /* mapped by axes that run over the same size */
        tp_buf_printf(&t,
                      "%s{\"name\": \"%s\", \"dtype\": \"float32\", \"shape\": [\"M\", \"N\"], \"block_shape\": [%d, "
                      "%d], \"index_map\": [\"%s\", \"%s\"]%s}",
                      n ? ", " : "", inputs[n], g->b, g->b,
                      pick(g, 8)   ? "i"
                      : pick(g, 2) ? text(g, "cdiv(M, %d) - 1 - i", g->b)
                                   : "i // 2",
                      g->naxes > 1 && pick(g, 8) ? "j" : "0",
                      g->alias && n == 0 ? text(g, ", \"buffers\": %d", 1 + pick(g, 3))
                      : pick(g, 8)       ? ""
                      : pick(g, 2)       ? ", \"valid\": \"d0 < 3\""
                                         : ", \"valid\": \"d0 + d1 < M\"");
    tp_buf_printf(&t,
                  "], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"%s\", \"%s\"], "
                  "\"block_shape\": [%d, %d], \"index_map\": [\"%s\", \"%s\"]%s}], ",
                  g->alias || pick(g, 8) ? "M" : "2", g->alias || (g->naxes > 1 && pick(g, 6)) ? "N" : "2", g->b, g->b,
                  dimension_map(g, 0), dimension_map(g, 1), output_keys(g));
    tp_buf_printf(&t, "\"scratch\": [{\"name\": \"s\", \"dtype\": \"float32\", \"shape\": [%d, %d]}], \"kernel\": [",
                  g->b, g->b);
    if (g->pure) {
        line(g, text(g, "o[...] = %s", value(g, 1 + pick(g, 3))));
    } else if (pick(g, 4)) {
        idiom(g);
    } else {
        int n = 1 + pick(g, 4);
        for (int k = 0; k < n; k++)
            statement(g, 2);
    }
    tp_buf_str(&t, tp_buf_view(&g->body));
    tp_buf_c(&t, "]}");
    return tp_buf_view(&t).p;
}

#endif
