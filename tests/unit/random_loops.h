/* Random kernels whose bodies have loops of any number of turns, one in the other perhaps: accumulators, slots of
 * buffers, variables that turns hand on, copies. */
#ifndef TP_TEST_RANDOM_LOOPS_H
#define TP_TEST_RANDOM_LOOPS_H

#include "tests/unit/random_body.h"

static const char *const LOOP_BEFORE[] = {
    "acc[...] = 0",
    "acc[...] = x[...]",
    "buf[0, :] = x[...]",
    "buf[...] = 0",
    "m[...] = x[...] * 3",
    "v = x[...] * 0.5",
    "v = acc[...]",
    "w = acc[...]",
    "k = i % 2",
    "w = x[...] + i.astype(float32)",
    "k = full((), 1, int32)",
    "for u in range(2):\n    w = v\n    v = acc[...]",
    "if i == 1:\n    w = acc[...]",
    "if i > 0:\n    acc[...] = 1",
    "if i > 0:\n    w = w + 1",
    "copy_start(h[i, :], buf[0, :], sem[0])\ncopy_wait(h[i, :], buf[0, :], sem[0])",
};
static const char *const LOOP_TURN[] = {
    "acc[...] += x[...]",
    "acc[...] += v",
    "acc[...] += w * 2",
    "acc[...] += k.astype(float32)",
    "acc[...] += t.astype(float32)",
    "acc[...] = acc[...] * 0.5 + x[...]",
    "v = v * 0.5",
    "v = v + x[...]",
    "m[...] = maximum(m[...], x[...] * t.astype(float32))",
    "buf[k, :] = x[...] + t.astype(float32)",
    "acc[...] += buf[k, :]",
    "acc[...] += buf[1 - k, :]",
    "k = 1 - k",
    "k = 1 - k",
    "k = (t + i) % 2",
    "if t > 0:\n    acc[...] += m[...]",
    "if t + 1 < N:\n    acc[...] += 1\nelse:\n    v = v * 3",
    "acc[...] = m[...]",
    "copy_start(h[t % 3, :], buf[k, :], sem[k])\ncopy_wait(h[t % 3, :], buf[k, :], sem[k])",
    "copy_start(h[t % 3, :], buf[t % 2, :], sem[0])\ncopy_wait(h[t % 3, :], buf[t % 2, :], sem[0])\nacc[...] += buf[t "
    "% 2, :]",
    "with scratch((4,), float32) as part:\n    copy(h[t % 3, :], part[...])\n    acc[...] += part[...]",
    "for u in range(2):\n    acc[...] += x[...] * (u + 1)",
};
static const char *const BETWEEN[] = {"acc[...] *= 2", "v = v * 0.5", "m[...] = acc[...]", "k = 1 - k"};
static const char *const LOOP_BEHIND[] = {
    "o[...] = acc[...]",
    "o[...] = acc[...] + v",
    "o[...] = acc[...] + m[...]",
    "o[...] = buf[k, :]",
    "o[...] = acc[...] + k.astype(float32)",
    "o[...] = acc[...] * w",
    "acc[...] *= 2",
    "m[...] = acc[...]",
    "if i > 0:\n    w = acc[...]",
    "for u in range(2):\n    w = v\n    v = acc[...]",
};
static const char *const TURNS[] = {"range(N)",     "range(N + 1)", "range(i + 1)",   "range(N - i)",   "range(1, N)",
                                    "range(N - 1)", "range(i, N)",  "range(0, N, 2)", "range(N, 0, -1)"};
static const char *const INNER_TURNS[] = {"range(N)", "range(M)", "range(r)", "range(M + r)", "range(r, M)"};

static void write_line(maker *g, const char *text)
{
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        tp_buf_printf(&g->body, "%s\"%*s%.*s\"", tp_buf_view(&g->body).n ? ", " : "", g->indent, "", (int)n, at);
        at += n + (at[n] == '\n');
    }
}

#define WRITE_SOME(g, list, most)                                                                                      \
    for (int some_ = pick(g, most); some_-- > 0;)                                                                      \
    write_line(g, (list)[pick(g, (int)(sizeof(list) / sizeof *(list)))])

/* A spec over the sizes N from 0 to 4, M from 0 to 3, and B, the number of steps, to 3. */
static const char *make_loops(maker *g)
{
    g->body = (tp_buf){.arena = g->a};
    write_line(g, pick(g, 2) ? "acc[...] = 0" : "if i == 0:\n    acc[...] = 0");
    write_line(g, "v = x[...]");
    write_line(g, "w = x[...] + 1");
    write_line(g, "k = full((), 0, int32)");
    WRITE_SOME(g, LOOP_BEFORE, 4);
    bool nested = pick(g, 3) == 0;
    if (nested) {
        write_line(g, tp_printf(g->a, "for r in %s:", TURNS[pick(g, 9)]).p);
        g->indent += 4;
        WRITE_SOME(g, LOOP_BEFORE, 3);
    }
    write_line(g, tp_printf(g->a, "for t in %s:", nested ? INNER_TURNS[pick(g, 5)] : TURNS[pick(g, 9)]).p);
    g->indent += 4;
    write_line(g, LOOP_TURN[pick(g, 6)]);
    WRITE_SOME(g, LOOP_TURN, 4);
    g->indent -= 4;
    if (nested) {
        if (pick(g, 2))
            write_line(g, BETWEEN[pick(g, 4)]);
        g->indent -= 4;
    }
    WRITE_SOME(g, LOOP_BEHIND, 3);
    write_line(g, LOOP_BEHIND[pick(g, 6)]);
    return tp_printf(
               g->a,
               "{\"tileproof\": 1, \"name\": \"loops\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 0, \"max\": "
               "4}, \"M\": {\"min\": 0, \"max\": 3}, \"B\": {\"min\": 1, \"max\": 3}}, \"grid\": [{\"axis\": \"i\", "
               "\"steps\": \"B\"%s}], \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"4 * B\"], "
               "\"block_shape\": [4], \"index_map\": [\"i\"]}, {\"name\": \"h\", \"dtype\": \"float32\", \"shape\": "
               "[3, 4], \"memory_space\": \"any\"}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", "
               "\"shape\": [\"4 * B\"], \"block_shape\": [4], \"index_map\": [\"i\"]}], \"scratch\": [{\"name\": "
               "\"acc\", \"dtype\": \"float32\", \"shape\": [4]}, {\"name\": \"m\", \"dtype\": \"float32\", \"shape\": "
               "[4]}, {\"name\": \"buf\", \"dtype\": \"float32\", \"shape\": [2, 4]}, {\"name\": \"sem\", "
               "\"memory_space\": \"dma_semaphore\", \"shape\": [2]}], \"kernel\": [%.*s]}",
               pick(g, 2) ? ", \"semantics\": \"parallel\"" : "", TP_FMT(tp_buf_view(&g->body)))
        .p;
}

#endif
