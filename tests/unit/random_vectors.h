/* Random specs for vectors of lanes (demand/fold.c): sums, products and maxima
 * over lanes that lie in a row, apart, reversed, taken by an index, over the edge of an
 * array, in the state that steps carry. */
#ifndef TP_RANDOM_VECTORS_H
#define TP_RANDOM_VECTORS_H

#include "tests/unit/random_body.h"

/* An index of 8 lanes below 8: also one that is even at its ends only. */
static const char *lanes_index(maker *g)
{
    int any = 2 + pick(g, 5);
    switch (pick(g, 6)) {
    case 0: return "(iota(int32, (8,), 0) * 3 % 8)";
    case 1: return "(7 - iota(int32, (8,), 0))";
    case 2: return text(g, "where(iota(int32, (8,), 0) == %d, 5, iota(int32, (8,), 0))", any);
    case 3: return "((iota(int32, (8,), 0) + i) % 8)";
    case 4: return "(n[...] % 8)";
    default: return text(g, "minimum(iota(int32, (8,), 0), %d)", any);
    }
}

static const char *lanes_mask(maker *g)
{
    int d = pick(g, 2);
    switch (pick(g, 5)) {
    case 0: return text(g, "(iota(int32, (8, 8), %d) < %d)", d, pick(g, 9));
    case 1: return text(g, "(i * 8 + iota(int32, (8, 8), %d) < M)", d);
    case 2: return "(iota(int32, (8, 8), 0) >= iota(int32, (8, 8), 1))";
    case 3: return "(x[...] > 0)";
    default: return text(g, "((iota(int32, (8, 8), %d) + i) %% 3 == 0)", d);
    }
}

/* A value of shape (8, 8). */
static const char *lanes_value(maker *g, int depth)
{
    static const char *const LEAVES[] = {
        "x[...]", "y[...]", "s[...]", "where(inside, x[...], 0)", "where(inside, y[...], 1)", "w[...]"};
    static const char *const FOLDS[] = {"sum", "max", "min", "prod"}, *const RUNNING[] = {"cumsum", "cummax",
                                                                                          "cumprod"};
    if (depth == 0)
        return LEAVES[pick(g, 6)];
    const char *v = lanes_value(g, depth - 1);
    int d = pick(g, 2), cut = 1 + pick(g, 7);
    switch (pick(g, 22)) {
    case 0: return text(g, "transpose(%s)", v);
    case 1: return text(g, "(%s %s %s)", v, pick(g, 2) ? "+" : "*", lanes_value(g, depth - 1));
    case 2:
    case 3: return text(g, "dot(%s, %s, contract=([%d], [%d]))", v, lanes_value(g, depth - 1), d, pick(g, 2));
    case 4:
    case 5: return text(g, "broadcast_to(%s(%s, axis=%d, keepdims=True), (8, 8))", FOLDS[pick(g, 4)], v, d);
    case 6: return text(g, "broadcast_to(sum(%s, axis=(0, 1), keepdims=True), (8, 8))", v);
    case 7: return text(g, "%s(%s, axis=%d%s)", RUNNING[pick(g, 3)], v, d, pick(g, 2) ? ", reverse=True" : "");
    case 8: return text(g, "flip(%s, axis=%d)", v, d);
    case 9: return text(g, "roll(%s, %s, axis=%d)", v, pick(g, 2) ? "i" : "3", d);
    case 10:
    case 11: return text(g, "take(%s, %s, axis=%d)", v, lanes_index(g), d);
    case 12: return text(g, "slice(tile(%s, (1, 2)), (0, %d), (8, %d))", v, cut, cut + 8);
    case 13:
        return text(g, "slice(concatenate([%s, %s], axis=%d), (0, 0), (%s), (%s))", v, lanes_value(g, depth - 1), d,
                    d ? "8, 16" : "16, 8", d ? "1, 2" : "2, 1");
    case 14: return text(g, "reshape(reshape(%s, (64,)), (8, 8))", v);
    case 15: return text(g, "broadcast_to(reshape(sum(reshape(%s, (2, 4, 8)), axis=(0, 1)), (1, 8)), (8, 8))", v);
    case 16: return text(g, "where(%s, %s, %s)", lanes_mask(g), v, lanes_value(g, depth - 1));
    case 17: return text(g, "(%s).astype(bfloat16).astype(float32)", v);
    case 18: return text(g, "exp(%s * 0.125)", v);
    case 19: return text(g, "reshape(transpose(reshape(%s, (8, 2, 4)), (1, 0, 2)), (8, 8))", v);
    case 20: return text(g, "(%s - broadcast_to(slice(%s, (%d, 0), (%d, 8)), (8, 8)))", v, v, cut, cut + 1);
    default: return text(g, "where(%s, %s, 0)", lanes_mask(g), v);
    }
}

static const char *make_lanes_spec(maker *g)
{
    bool over = pick(g, 2);
    const char *edge = over ? "" : ", \"valid\": \"d0 < M\"";
    g->body = (tp_buf){.arena = g->a};
    line(g, "inside = (i * 8 + iota(int32, (8, 8), 0) < M) & (iota(int32, (8, 8), 1) < N)");
    line(g, "if i == 0:");
    line(g, pick(g, 8) ? "    s[...] = 0" : "    s[...] = x[...]");
    if (pick(g, 3) == 0) {
        line(g, text(g, "for t in range(%d):", 1 + pick(g, 3)));
        line(g, text(g, "    s[...] = s[...] * 0.5 + %s", lanes_value(g, 1)));
    }
    line(g, text(g, "o[...] = %s", lanes_value(g, 3)));
    line(g, text(g, "s[...] = s[...] * 0.5 + %s", lanes_value(g, 2)));
    if (pick(g, 4) == 0)
        line(g, text(g, "o[...] = o[...] + %s", lanes_value(g, 2)));
    return text(
        g,
        "{\"tileproof\": 1, \"name\": \"lanes\", \"target\": \"none\", \"sizes\": {\"M\": {\"min\": 1}, \"N\": "
        "{\"min\": 1, \"max\": 8}}, \"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(M, 8)\"}], \"inputs\": ["
        "{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"M\", \"N\"], \"block_shape\": [8, 8], "
        "\"index_map\": [\"i\", 0]%s}, "
        "{\"name\": \"y\", \"dtype\": \"float32\", \"shape\": [\"M\", \"N\"], \"block_shape\": [8, 8], "
        "\"index_map\": [\"cdiv(M, 8) - 1 - i\", 0]}, "
        "{\"name\": \"w\", \"dtype\": \"float32\", \"shape\": [8, 8]}, "
        "{\"name\": \"n\", \"dtype\": \"int32\", \"shape\": [8]}], "
        "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"M\", 8], \"block_shape\": [8, 8], "
        "\"index_map\": [\"i\", 0]}], \"scratch\": [{\"name\": \"s\", \"dtype\": \"float32\", \"shape\": [8, "
        "8]}], \"kernel\": [%s], \"reference\": [\"o = broadcast_to(sum(w), (M, 8))\"]}",
        edge, tp_buf_view(&g->body).p);
}

#endif
