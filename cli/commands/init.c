/* A spec to start from, and the same with a defect. */
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"

static const char SPEC[] =
    "{\n"
    "  \"tileproof\": 1,\n"
    "  \"name\": \"%s\",\n"
    "  // the chip whose rules hold; `tileproof targets` lists them, \"none\" turns them off\n"
    "  \"target\": \"tpu-v5e\",\n"
    "  // every combination is checked\n"
    "  \"dtypes\": {\"T\": [\"bfloat16\", \"float32\"]},\n"
    "  // symbols: what is proven is proven for all of their values. Numbers are fixed.\n"
    "  \"sizes\": {\"M\": {\"min\": 1}, \"N\": {\"min\": 1}, \"K\": {\"min\": 1}, \"bm\": 256, \"bn\": 256, \"bk\": "
    "512},\n"
    "  // the last axis is fastest; steps of a parallel axis may run at the same time\n"
    "  \"grid\": [\n"
    "    {\"axis\": \"i\", \"steps\": \"cdiv(M, bm)\", \"semantics\": \"parallel\"},\n"
    "    {\"axis\": \"j\", \"steps\": \"cdiv(N, bn)\", \"semantics\": \"parallel\"},\n"
    "    {\"axis\": \"k\", \"steps\": \"cdiv(K, bk)\", \"semantics\": \"arbitrary\"}\n"
    "  ],\n"
    "  // index maps count in blocks, as BlockSpecs do\n"
    "  \"inputs\": [\n"
    "    {\"name\": \"x\", \"dtype\": \"T\", \"shape\": [\"M\", \"K\"], \"block_shape\": [\"bm\", \"bk\"], "
    "\"index_map\": [\"i\", \"k\"]},\n"
    "    {\"name\": \"y\", \"dtype\": \"T\", \"shape\": [\"K\", \"N\"], \"block_shape\": [\"bk\", \"bn\"], "
    "\"index_map\": [\"k\", \"j\"]}\n"
    "  ],\n"
    "  \"outputs\": [\n"
    "    {\"name\": \"o\", \"dtype\": \"T\", \"shape\": [\"M\", \"N\"], \"block_shape\": [\"bm\", \"bn\"], "
    "\"index_map\": [\"i\", \"j\"]}\n"
    "  ],\n"
    "  \"scratch\": [{\"name\": \"acc\", \"dtype\": \"float32\", \"shape\": [\"bm\", \"bn\"]}],\n"
    "  // the body, in the Python of a Pallas kernel; what lies outside an array is undefined%s\n"
    "  \"kernel\": [\n"
    "    \"if k == 0:\",\n"
    "    \"    acc[...] = 0\",\n"
    "%s"
    "    \"acc[...] += dot(a, b, preferred_element_type=float32)\",\n"
    "    \"if k == num_programs(k) - 1:\",\n"
    "    \"    o[...] = acc[...].astype(T)\",\n"
    "  ],\n"
    "  // what it must equal: a program over whole arrays\n"
    "  \"reference\": [\"o = matmul(x, y)\"],\n"
    "}\n";

static const char MASKED[] = "    \"a = where(k * bk + iota(int32, (bm, bk), 1) < K, x[...], 0)\",\n"
                             "    \"b = where(k * bk + iota(int32, (bk, bn), 0) < K, y[...], 0)\",\n",
                  UNMASKED[] = "    \"a = x[...]\",\n    \"b = y[...]\",\n";

static bool is_name(tp_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!(s.p[i] == '_' || (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= 'A' && s.p[i] <= 'Z') ||
              (i > 0 && s.p[i] >= '0' && s.p[i] <= '9')))
            return false;
    return s.n > 0 && s.n < 100;
}

static int write_one(tp_cli *c, const char *name, const char *remark, const char *lines)
{
    tp_str path = tp_printf(c->arena, "%s.tile.jsonc", name), text = tp_printf(c->arena, SPEC, name, remark, lines),
           why;
    if (access(path.p, F_OK) == 0)
        return tp_usage_error("`%s` exists already: choose another name", path.p);
    if (tp_write_file(c->arena, path.p, &text, 1, &why) != TP_OK) {
        tp_say(stderr, "tileproof: %.*s", TP_FMT(why));
        return TP_EXIT_INPUT;
    }
    return TP_EXIT_OK;
}

static int run(tp_cli *c)
{
    tp_str name = c->paths.len ? c->paths.at[0] : TP_S("my_kernel");
    if (c->paths.len > 1 || !is_name(name))
        return tp_usage_error("init takes one name of letters, digits and `_`");
    const char *good = tp_cstr(c->arena, name), *bad = tp_printf(c->arena, "%s_broken", good).p;
    int code = write_one(c, good, "", MASKED);
    if (code == TP_EXIT_OK)
        code = write_one(c, bad, ": here it is not masked", UNMASKED);
    if (code == TP_EXIT_OK)
        printf("%s.tile.jsonc         a matrix product to start from: tileproof verify %s.tile.jsonc\n"
               "%s.tile.jsonc  the same with a defect: tileproof lint %s.tile.jsonc\n",
               good, good, bad, bad);
    return code;
}

const tp_command tp_command_init = {"init", 'n', "[NAME]", "write a spec to start from, and a broken twin", run};
