/* A spec of a few parts in a temporary folder, and what a command said of it. */
#ifndef TP_TEST_SPECS_H
#define TP_TEST_SPECS_H

#include "tests/unit/files.h"

/* Two grid steps too many when `extra`: TP101. */
static inline const char *put_spec(place *p, const char *name, const char *extra, const char *more)
{
    tp_str s = tp_printf(
        p->a,
        "{\n  \"tileproof\": 1,\n  \"name\": \"copy\",\n  \"target\": \"none\",\n  \"sizes\": {\"N\": {\"min\": 1}},\n"
        "  \"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(N, 8)\"}],\n"
        "  \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"N\"], \"block_shape\": [8], "
        "\"index_map\": [\"i%s\"]}],\n"
        "  \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"N\"], \"block_shape\": [8], "
        "\"index_map\": [\"i\"]}],\n"
        "  \"kernel\": [\"o[...] = x[...]\"]%s\n}\n",
        extra, more);
    return put(p, name, s.p, s.n);
}

/* A body that goes on until its budget is spent. */
static const char ENDLESS[] =
    "{\"tileproof\": 1, \"name\": \"endless\", \"sizes\": {}, \"grid\": [], \"inputs\": [{\"name\": \"x\", \"dtype\": "
    "\"float32\", \"shape\": [8, 128], \"block_shape\": [8, 128], \"index_map\": [0, 0]}], \"outputs\": [{\"name\": "
    "\"o\", \"dtype\": \"float32\", \"shape\": [8, 128], \"block_shape\": [8, 128], \"index_map\": [0, 0]}], "
    "\"kernel\": [\"i = full((), 0, int32)\", \"while i >= 0:\", \"    i = i * 1\", \"o[...] = x[...]\"], "
    "\"reference\": [\"o = x\"]}";

static inline void expect_exit(const outcome *o, int exit)
{
    if (o->exit != exit)
        fail_msg("exit %d, expected %d: %.*s%.*s", o->exit, exit, TP_FMT(o->out), TP_FMT(o->err));
}

static inline void text(place *p, const char *name, const char *s)
{
    put(p, name, s, strlen(s));
}

#endif
