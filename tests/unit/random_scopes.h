/* Random bodies, as text: buffers and tables that come and go. Scopes in loops and branches, places that depend on the
 * step and on turns, places beyond a ref under a mask, mutable tables. */
#ifndef TP_RANDOM_SCOPES_H
#define TP_RANDOM_SCOPES_H

#include "tests/unit/random_body.h"

enum { MOST_NAMES = 12, LANES = 4 };

typedef struct scoped {
    maker *g;
    const char *readable[MOST_NAMES], *turn[MOST_NAMES];
    int nreadable, nturns, made;
    bool table; /* c is a mutable table */
} scoped;

static const char *scoped_integer(scoped *s, int depth)
{
    maker *g = s->g;
    const char *e;
    int kind = pick(g, 8);
    if (s->nturns && kind < 3)
        e = s->turn[pick(g, s->nturns)];
    else if (s->table && kind == 7)
        e = pick(g, 2) ? "c[0]" : "c[i % 4]";
    else
        e = (const char *const[]){"i", "j", "0", "1", "2", "M", "N", "num_programs(i)"}[pick(g, 8)];
    if (!depth || pick(g, 5) < 3)
        return e;
    const char *f = scoped_integer(s, 0);
    switch (pick(g, 7)) {
    case 0: return text(g, "(%s + %s)", e, f);
    case 1: return text(g, "(%s - %s)", e, f);
    case 2: return text(g, "(%s %% 3)", e);
    case 3: return text(g, "(%s // 2)", e);
    case 4: return text(g, "min(%s, %s)", e, f);
    case 5: return text(g, "max(%s, %s)", e, f);
    default: return text(g, "(%s * 2)", e);
    }
}

static const char *scoped_condition(scoped *s, int depth)
{
    maker *g = s->g;
    const char *c = text(g, "%s %s %s", scoped_integer(s, 1), (const char *const[]){"==", "<", ">=", "!="}[pick(g, 4)],
                         scoped_integer(s, 1));
    return depth && pick(g, 4) == 0 ? text(g, "(%s) %s (%s)", c, pick(g, 2) ? "and" : "or", scoped_condition(s, 0)) : c;
}

/* Where a place of n lanes begins: mostly inside. */
static const char *scoped_start(scoped *s, int n)
{
    maker *g = s->g;
    switch (n == LANES ? 0 : pick(g, 12)) {
    case 0:
    case 1:
    case 2:
    case 3: return text(g, "%d", pick(g, LANES - n + 1));
    case 4: return scoped_integer(s, 1);
    case 5:
    case 6: return text(g, "min(max(%s, 0), %d)", scoped_integer(s, 1), LANES - n);
    default: return text(g, "(%s %% %d)", scoped_integer(s, 1), LANES - n + 1);
    }
}

static const char *scoped_mask(scoped *s, int n)
{
    return text(s->g, "(iota(int32, (%d,), 0) %s %s)", n, (const char *const[]){"<", "<", ">=", "=="}[pick(s->g, 4)],
                scoped_integer(s, 1));
}

static const char *scoped_value(scoped *s, int n, int depth)
{
    maker *g = s->g;
    const char *from = s->readable[pick(g, s->nreadable)], *v;
    switch (pick(g, 8)) {
    case 0: v = text(g, "full((%d,), 1.0, float32)", n); break;
    case 1: v = text(g, "load(%s[ds(%s, %d)], %s, other=0.0)", from, scoped_start(s, n), n, scoped_mask(s, n)); break;
    case 2: v = text(g, "load(%s[ds(%s, %d)], %s)", from, scoped_start(s, n), n, scoped_mask(s, n)); break;
    case 3: {
        const char *at = scoped_integer(s, 1);
        v = text(g, "load(%s[ds(%s, %d)], iota(int32, (%d,), 0) + %s < 4, other=0.0)", from, at, n, n,
                 pick(g, 4) ? at : scoped_integer(s, 0));
        break;
    }
    default: v = text(g, "%s[ds(%s, %d)]", from, scoped_start(s, n), n); break;
    }
    if (!depth || pick(g, 3))
        return v;
    const char *w = scoped_value(s, n, 0);
    switch (pick(g, 6)) {
    case 0: return text(g, "(%s + %s)", v, w);
    case 1: return text(g, "roll(%s, %s, 0)", v, scoped_integer(s, 0));
    case 2: return text(g, "flip(%s, 0)", v);
    case 3: return text(g, "cumsum(%s, axis=0)", v);
    default: return text(g, "where(%s, %s, %s)", scoped_mask(s, n), v, w);
    }
}

static void scoped_statements(scoped *s, int depth, int count);

static void scoped_store(scoped *s)
{
    maker *g = s->g;
    const char *to = s->readable[1 + pick(g, s->nreadable - 1)]; /* not x */
    int n = 1 + pick(g, LANES);
    switch (pick(g, 8)) {
    case 0:
    case 1: line(g, text(g, "%s[ds(%s, %d)] = %s", to, scoped_start(s, n), n, scoped_value(s, n, 1))); break;
    case 2:
        line(g, text(g, "store(%s[ds(%s, %d)], %s, %s)", to, scoped_start(s, n), n, scoped_value(s, n, 1),
                     scoped_mask(s, n)));
        break;
    case 3: {
        const char *at = scoped_integer(s, 1);
        line(g, text(g, "store(%s[ds(%s, 4)], %s, iota(int32, (4,), 0) < 4 - %s)", to, at, scoped_value(s, 4, 1),
                     pick(g, 4) ? at : scoped_integer(s, 0)));
        break;
    }
    case 4:
        if (s->table) {
            line(g, text(g, "c[%s] = min(max(%s, 0), 3)", scoped_start(s, 1), scoped_integer(s, 1)));
            break;
        } /* fall through */
    default: line(g, text(g, "%s[...] = %s", to, scoped_value(s, 4, 1))); break;
    }
}

static void scoped_inside(scoped *s, int depth, int count)
{
    int readable = s->nreadable;
    s->g->indent++;
    scoped_statements(s, depth - 1, count);
    s->g->indent--;
    s->nreadable = readable;
}

static void scoped_statement(scoped *s, int depth)
{
    maker *g = s->g;
    const char *name = text(g, "%s%d", "q", ++s->made);
    bool room = s->nreadable < MOST_NAMES && s->nturns < MOST_NAMES;
    int kind = depth && room ? pick(g, 12) : 0;
    if (kind < 4) {
        scoped_store(s);
    } else if (kind < 6) {
        line(g, text(g, "if %s:", scoped_condition(s, 1)));
        scoped_inside(s, depth, 1 + pick(g, 2));
        if (pick(g, 2)) {
            line(g, "else:");
            scoped_inside(s, depth, 1);
        }
    } else if (kind < 9) {
        bool counts = pick(g, 4) == 0;
        const char *end = pick(g, 2) ? text(g, "%d", 1 + pick(g, 3)) : pick(g, 2) ? "M" : scoped_integer(s, 1);
        if (counts)
            line(g, text(g, "%s = full((), %d, int32)", name, pick(g, 2)));
        line(g, counts ? text(g, "while %s < %s:", name, end)
                       : text(g, "for %s in range(%s, %s):", name, pick(g, 2) ? "0" : scoped_integer(s, 0), end));
        s->turn[s->nturns++] = name;
        scoped_inside(s, depth, 1 + pick(g, 2));
        if (counts)
            line(g, text(g, "    %s = %s + 1", name, name));
        s->nturns--;
    } else {
        line(g, text(g, "with scratch((4,), float32) as %s:", name));
        s->readable[s->nreadable++] = name;
        scoped_inside(s, depth, 2 + pick(g, 2));
        s->nreadable--;
    }
}

static void scoped_statements(scoped *s, int depth, int count)
{
    for (int k = 0; k < count; k++)
        scoped_statement(s, depth);
}

static const char *make_scoped(maker *g)
{
    scoped s = {.g = g, .readable = {"x", "o", "s"}, .nreadable = 3, .table = pick(g, 3) == 0};
    const char *map = pick(g, 4) ? "i" : "M - 1 - i", *parallel = pick(g, 4) ? "arbitrary" : "parallel";
    const char *table =
        "\"scalar_prefetch\": [{\"name\": \"c\", \"dtype\": \"int32\", \"shape\": [4], \"mutable\": true, "
        "\"values\": {\"min\": 0, \"max\": 3}}], ";
    g->body = (tp_buf){.arena = g->a};
    scoped_statements(&s, 3, 2 + pick(g, 3));
    if (pick(g, 4))
        line(g, text(g, "o[...] = %s", scoped_value(&s, LANES, 1)));
    return text(g,
                "{\"tileproof\": 1, \"name\": \"scoped\", \"target\": \"none\", \"sizes\": {\"M\": {\"min\": 1, "
                "\"max\": 4}, \"N\": {\"min\": 1, \"max\": 3}}, %s\"grid\": [{\"axis\": \"i\", \"steps\": \"M\", "
                "\"semantics\": \"%s\"}, {\"axis\": \"j\", \"steps\": \"N\"}], \"inputs\": [{\"name\": \"x\", "
                "\"dtype\": \"float32\", \"shape\": [\"4 * M - %d\"], \"block_shape\": [4], \"index_map\": [\"i\"]}], "
                "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"4 * M\"], \"block_shape\": [4], "
                "\"index_map\": [\"%s\"]}], \"scratch\": [{\"name\": \"s\", \"dtype\": \"float32\", \"shape\": [4]}], "
                "\"kernel\": [%.*s]}",
                s.table ? table : "", parallel, pick(g, 2), map, (int)g->body.n, tp_buf_view(&g->body).p);
}

#endif
