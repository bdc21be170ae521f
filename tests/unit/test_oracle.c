/* TP201 against what the real toolchain said: every line of
 * tests/oracle/tpu_block_oracle.jsonl (measured with jax 0.10.2's TPU lowering
 * and libtpu 0.0.42, ahead of time). A line's `grid` is that of its call; without
 * one there is an axis for each dimension. Expected: no disagreement on
 * `accepted` (lowering) and none on `compiler_accepted_v4plus`. */
#include "tests/unit/support.h"

#include <json-c/json.h>

static void spec_text(struct json_object *line, char *out, size_t room)
{
    struct json_object *shape, *block, *dtype, *memory, *map;
    json_object_object_get_ex(line, "array_shape", &shape);
    json_object_object_get_ex(line, "block_shape", &block);
    json_object_object_get_ex(line, "dtype", &dtype);
    json_object_object_get_ex(line, "memory_space", &memory);
    json_object_object_get_ex(line, "index_map", &map);
    char grid[512] = "", index[128] = "";
    bool identity = strcmp(json_object_get_string(map), "identity") == 0;
    for (size_t d = 0; d < json_object_array_length(shape); d++) {
        struct json_object *b = json_object_array_get_idx(block, d);
        const char *extent = json_object_get_string(json_object_array_get_idx(shape, d));
        char size[32] = "1", *g = grid + strlen(grid), *x = index + strlen(index);
        if (json_object_is_type(b, json_type_int))
            snprintf(size, sizeof size, "%s", json_object_get_string(b));
        snprintf(g, sizeof grid - (size_t)(g - grid), "%s{\"axis\":\"i%zu\",\"steps\":\"cdiv(%s,%s)\"}", d ? "," : "",
                 d, extent, size);
        snprintf(x, sizeof index - (size_t)(x - index), identity ? "%s\"i%zu\"" : "%s0", d ? "," : "", d);
    }
    struct json_object *given;
    for (size_t n = 0; json_object_object_get_ex(line, "grid", &given) && n < json_object_array_length(given); n++) {
        char *g = grid + strlen(grid);
        snprintf(g, sizeof grid - (size_t)(g - grid), "%s{\"axis\":\"g%zu\",\"steps\":%s}", *grid ? "," : "", n,
                 json_object_get_string(json_object_array_get_idx(given, n)));
    }
    snprintf(out, room,
             "{\"tileproof\":1,\"name\":\"oracle\",\"target\":\"tpu-v5e\",\"grid\":[%s],\"inputs\":[{\"name\":\"x\","
             "\"dtype\":\"%s\",\"shape\":%s,"
             "\"block_shape\":%s,\"index_map\":[%s],\"memory_space\":\"%s\"}],"
             "\"outputs\":[{\"name\":\"o\",\"dtype\":\"float32\",\"shape\":[8,128]}]}",
             grid, json_object_get_string(dtype), json_object_to_json_string_ext(shape, 0),
             json_object_to_json_string_ext(block, 0), index, json_object_get_string(memory));
}

static bool rejected_by(loaded *l, const tp_analysis_result *r, const char *who)
{
    for (uint32_t i = 0; i < r->findings.len; i++)
        if (r->findings.at[i].verdict != TP_PROVEN && strstr(tp_cstr(l->arena, r->findings.at[i].message), who))
            return true;
    return false;
}

static void agrees_with_every_line(void **state)
{
    (void)state;
    char line[8192], text[8192];
    unsigned lines = 0, compiled = 0, disagreements = 0;
    FILE *f = fopen("tests/oracle/tpu_block_oracle.jsonl", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        struct json_object *o = json_tokener_parse(line), *accepted, *compiler;
        json_object_object_get_ex(o, "accepted", &accepted);
        spec_text(o, text, sizeof text);
        loaded *l = load_text(text);
        if (!l->spec)
            fail_msg("line %u does not load: %s", lines + 1, tp_cstr(l->arena, l->ctx.findings.at[0].message));
        tp_analysis_result r = analyze_with(l, "TP201", (tp_prover_options){0});
        bool lowering = !rejected_by(l, &r, "the TPU lowering rejects"),
             both = lowering && !rejected_by(l, &r, "the TPU compiler rejects");
        bool wrong = lowering != json_object_get_boolean(accepted);
        if (json_object_object_get_ex(o, "compiler_accepted_v4plus", &compiler)) {
            compiled++;
            wrong |= both != json_object_get_boolean(compiler);
        }
        if (wrong && ++disagreements < 10)
            print_message("disagreement (lowering %d, compiler %d): %s", lowering, both, line);
        lines++;
        unload(l);
        json_object_put(o);
    }
    fclose(f);
    print_message("block oracle: %u lines, %u of them compiled, %u disagreements\n", lines, compiled, disagreements);
    assert_true(lines > 500);
    assert_int_equal(disagreements, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_every_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
