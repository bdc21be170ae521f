/* Kernels in sequence, by name: a layer of experts is moe_router, row_gather, grouped_matmul and moe_combine; what a
 * host makes between them (the order of tokens, the schedule of groups) is made here. Compared with a dense layer. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/tensor.h"
#include "tests/unit/files.h"

enum { TOKENS = 90, WIDTH = 128, EXPERTS = 4, ROWS = 2 * TOKENS, TILE = 128, MOST_STEPS = EXPERTS + ROWS / TILE + 2 };

static const char *give(place *p, const char *name, const tp_tensor *t)
{
    const char *path = tp_printf(p->a, "%s/%s.npy", p->dir, name).p;
    tp_str why;
    assert_int_equal(tp_tensor_write(p->a, tp_str_c(path), tp_str_c(name), t, &why), TP_OK);
    return tp_printf(p->a, "%s=%s", name, path).p;
}

static tp_tensor tensor(place *p, tp_dtype dtype, uint32_t rank, const int64_t *dims)
{
    return tp_tensor_new(p->a, dtype, rank, dims);
}

static tp_tensor integers(place *p, uint32_t n, const int32_t *values)
{
    tp_tensor t = tensor(p, TP_I32, 1, (int64_t[]){n});
    memcpy(t.data, values, n * sizeof *values);
    return t;
}

static tp_tensor floats(place *p, tp_rng *rng, uint32_t rank, const int64_t *dims)
{
    tp_tensor t = tensor(p, TP_F32, rank, dims);
    for (size_t i = 0; i < t.n; i++)
        ((float *)t.data)[i] = (float)tp_rng_normal(rng) / 8;
    return t;
}

static tp_tensor result(place *p, const char *name, tp_dtype dtype)
{
    tp_tensor t;
    tp_str why;
    assert_int_equal(tp_tensor_read(p->a, tp_str_c(tp_printf(p->a, "%s/%s.npy", p->dir, name).p), dtype, &t, &why),
                     TP_OK);
    return t;
}

static const char *out(place *p, const char *name)
{
    return tp_printf(p->a, "%s=%s/%s.npy", name, p->dir, name).p;
}

static void ran(place *p, const outcome *o, const char *kernel)
{
    if (o->exit != 0)
        fail_msg("%s: exit %d: %s%s", kernel, o->exit, tp_cstr(p->a, o->out), tp_cstr(p->a, o->err));
}

/* Rows of the same expert one after the other, and the steps of grouped_matmul: those of each tile of rows in the order
 * of groups. */
typedef struct schedule {
    int32_t ids[ROWS], place[2 * TOKENS], starts[EXPERTS + 1];
    int32_t group[MOST_STEPS], tiles[MOST_STEPS], begin[MOST_STEPS + 1], final[(ROWS + TILE - 1) / TILE];
    uint32_t steps;
} schedule;

static schedule schedule_of(const int32_t *expert)
{
    schedule s = {.steps = 0};
    int32_t n = 0;
    for (int32_t e = 0; e < EXPERTS; e++) {
        s.starts[e] = n;
        for (int32_t t = 0; t < TOKENS; t++)
            for (int32_t j = 0; j < 2; j++)
                if (expert[2 * t + j] == e) {
                    s.ids[n] = t;
                    s.place[j * TOKENS + t] = n++;
                }
    }
    s.starts[EXPERTS] = n;
    assert_int_equal(n, ROWS);
    for (int32_t e = 0, row = 0; e < EXPERTS; e++)
        while (row < s.starts[e + 1]) {
            int32_t tile = row / TILE, end = (tile + 1) * TILE < s.starts[e + 1] ? (tile + 1) * TILE : s.starts[e + 1];
            s.group[s.steps] = e;
            s.tiles[s.steps] = tile;
            s.begin[s.steps] = row;
            s.final[tile] = (int32_t)s.steps++;
            row = s.begin[s.steps] = end;
        }
    return s;
}

static double dense(const tp_tensor *x, const tp_tensor *w, int64_t token, int64_t expert, int64_t column)
{
    double sum = 0;
    for (int64_t d = 0; d < WIDTH; d++)
        sum += (double)((const float *)x->data)[token * WIDTH + d] *
               (double)((const float *)w->data)[(expert * WIDTH + d) * WIDTH + column];
    return sum;
}

/* The two largest logits of a token, in double. */
static void route(const tp_tensor *x, const tp_tensor *gate, int64_t token, int32_t best[2], double weight[2])
{
    double score[EXPERTS];
    for (int e = 0; e < EXPERTS; e++) {
        score[e] = 0;
        for (int64_t d = 0; d < WIDTH; d++)
            score[e] += (double)((const float *)x->data)[token * WIDTH + d] *
                        (double)((const float *)gate->data)[d * EXPERTS + e];
    }
    best[0] = best[1] = -1;
    for (int e = 0; e < EXPERTS; e++)
        if (best[0] < 0 || score[e] > score[best[0]])
            best[0] = e;
    for (int e = 0; e < EXPERTS; e++)
        if (e != best[0] && (best[1] < 0 || score[e] > score[best[1]]))
            best[1] = e;
    weight[1] = 1 / (1 + exp(score[best[0]] - score[best[1]]));
    weight[0] = 1 - weight[1];
}

static void a_layer_of_experts(void **state)
{
    place *p = *state;
    tp_rng rng = tp_rng_new(11, 0);
    tp_tensor x = floats(p, &rng, 2, (int64_t[]){TOKENS, WIDTH}),
              w = floats(p, &rng, 3, (int64_t[]){EXPERTS, WIDTH, WIDTH}),
              gate = floats(p, &rng, 2, (int64_t[]){WIDTH, EXPERTS});
    outcome o = RUN(p->a, "run", "moe_router", "--input", give(p, "x", &x), "--input", give(p, "gate", &gate),
                    "--output", out(p, "weight"), "--output", out(p, "expert"));
    ran(p, &o, "moe_router");
    tp_tensor weight = result(p, "weight", TP_F32), expert = result(p, "expert", TP_I32);
    schedule s = schedule_of(expert.data);

    tp_tensor ids = integers(p, ROWS, s.ids), rows = x;
    rows.rank = 3;
    memcpy(rows.dims, ((int64_t[]){TOKENS, 1, WIDTH}), 3 * sizeof *rows.dims);
    o = RUN(p->a, "run", "row_gather", "--input", give(p, "ids", &ids), "--input", give(p, "x", &rows), "--output",
            out(p, "o"));
    ran(p, &o, "row_gather");

    tp_tensor sorted = result(p, "o", TP_F32), starts = integers(p, EXPERTS + 1, s.starts),
              group = integers(p, s.steps, s.group), tiles = integers(p, s.steps, s.tiles),
              begin = integers(p, s.steps + 1, s.begin), final = integers(p, (ROWS + TILE - 1) / TILE, s.final);
    sorted.rank = 2;
    sorted.dims[1] = WIDTH;
    o = RUN(p->a, "run", "grouped_matmul", "--input", give(p, "starts", &starts), "--input", give(p, "group", &group),
            "--input", give(p, "tiles", &tiles), "--input", give(p, "begin", &begin), "--input",
            give(p, "final", &final), "--input", give(p, "x", &sorted), "--input", give(p, "w", &w), "--output",
            out(p, "o"));
    ran(p, &o, "grouped_matmul");

    tp_tensor y = result(p, "o", TP_F32), back = tensor(p, TP_I32, 2, (int64_t[]){2, TOKENS});
    memcpy(back.data, s.place, sizeof s.place);
    y.rank = weight.rank = 3;
    y.dims[2] = WIDTH;
    y.dims[1] = weight.dims[2] = 1;
    o = RUN(p->a, "run", "moe_combine", "--input", give(p, "place", &back), "--input", give(p, "y", &y), "--input",
            give(p, "weight", &weight), "--output", out(p, "o"));
    ran(p, &o, "moe_combine");

    tp_tensor combined = result(p, "o", TP_F32);
    double worst = 0;
    for (int64_t t = 0; t < TOKENS; t++) {
        int32_t best[2];
        double part[2];
        route(&x, &gate, t, best, part);
        for (int j = 0; j < 2; j++)
            assert_int_equal(((const int32_t *)expert.data)[2 * t + j], best[j]);
        for (int64_t n = 0; n < WIDTH; n++) {
            double want = part[0] * dense(&x, &w, t, best[0], n) + part[1] * dense(&x, &w, t, best[1], n);
            worst = fmax(worst, fabs(want - (double)((const float *)combined.data)[t * WIDTH + n]));
        }
    }
    print_message("a layer of %d experts on %d tokens, %u steps: off by at most %.2g\n", EXPERTS, TOKENS, s.steps,
                  worst);
    assert_true(worst < 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_PLACE(a_layer_of_experts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
