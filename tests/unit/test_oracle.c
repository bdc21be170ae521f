/* TP201 and TP202 against what the real toolchain said (jax 0.10.2's TPU lowering and libtpu 0.0.42, ahead of time).
 * tpu_block_oracle.jsonl: a line's `grid` is that of its call; without one there is an axis for each dimension.
 * Expected: no disagreement on `accepted` (lowering) and none on `compiler_accepted_v4plus`.
 * tpu_copy_oracle.jsonl: copies between a part of one array or buffer and the whole of another, of the part's shape, or
 * (`part -> part`) a part of it; i is a grid axis of 4 steps, t a table, j a loop's variable. Expected: TP202 is not
 * violated by what is `taken`, and of few unknown; it is not proven of what is `refused`.
 * tpu_kernel_oracle.jsonl: kernels, by chip "ok" or what was refused. Expected: no rule is violated by what compiles,
 * and one is by what is refused, where a rule speaks of it (SILENT lists what none does). */
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

/* The extents of what subscripts ("ds(i * 8, 8), :, 3") take of an array, as JSON; "...": all of it. */
static void shape_of_part(const char *part, struct json_object *array, char *out)
{
    size_t d = 0;
    int depth = 0;
    const char *size = NULL;
    strcpy(out, "[");
    for (const char *c = part; strcmp(part, "...") != 0; c++) {
        depth += (*c == '(') - (*c == ')');
        if (depth == 1 && *c == ',' && !size)
            size = c + 1;
        if (depth > 0 || (*c && *c != ','))
            continue;
        const char *begin = part + strspn(part, " "), *comma = out[1] ? "," : "";
        if (*begin == ':')
            sprintf(out + strlen(out), "%s%s", comma, json_object_get_string(json_object_array_get_idx(array, d)));
        else if (strncmp(begin, "ds(", 3) == 0)
            sprintf(out + strlen(out), "%s%d", comma, atoi(size));
        d++;
        size = NULL;
        part = c + 1;
        if (!*c)
            break;
    }
    if (strcmp(part, "...") == 0)
        strcpy(out, json_object_get_string(array));
    else
        strcat(out, "]");
}

/* A declaration of an array or a buffer: of a part, where it has another place, all of it is. */
static void declare(char *into, const char *name, const char *dtype, const char *shape, bool far, bool smem)
{
    sprintf(into, "{\"name\":\"%s\",\"dtype\":\"%s\",\"shape\":%s,\"memory_space\":\"%s\"}", name, dtype, shape,
            far    ? "any"
            : smem ? "smem"
                   : "vmem");
}

static const char *member_of(struct json_object *o, const char *name)
{
    return json_object_get_string(json_object_object_get(o, name));
}

static void copy_text(struct json_object *line, const char *entry, char *out)
{
    struct json_object *from = json_object_object_get(line, "from"), *to = json_object_object_get(line, "to"),
                       *array = json_object_array_get_idx(from, 1), *other = json_object_array_get_idx(to, 1);
    const char *memory[] = {json_object_get_string(json_object_array_get_idx(from, 0)),
                            json_object_get_string(json_object_array_get_idx(to, 0))};
    const char *dtype = member_of(line, "dtype"), *how = member_of(line, "how"), *arrow = strstr(entry, " -> ");
    char take[128], side[2][256], shape[64], move[512], put[128] = "...", body[1200];
    snprintf(take, sizeof take, "%.*s", arrow ? (int)(arrow - entry) : (int)strlen(entry), entry);
    if (arrow)
        snprintf(put, sizeof put, "%s", arrow + 4);
    shape_of_part(take, array, shape);
    declare(side[0], "a", dtype, json_object_get_string(array), !strcmp(memory[0], "hbm"), !strcmp(memory[0], "smem"));
    declare(side[1], "b", dtype, other ? json_object_get_string(other) : shape, !strcmp(memory[1], "hbm"),
            !strcmp(memory[1], "smem"));
    bool in = strcmp(memory[0], "hbm") == 0, away = strcmp(memory[1], "hbm") == 0, sync = strcmp(how, "sync") == 0;
    snprintf(move, sizeof move, "(a[%s], b[%s]%s)\"", take, put, sync ? "" : ", sem");
    if (sync)
        snprintf(body, sizeof body, "\"copy%s", move);
    else if (strcmp(how, "start") == 0 || strcmp(how, "wait") == 0)
        snprintf(body, sizeof body, "\"copy_%s%s", how, move);
    else if (strcmp(how, "loop") == 0)
        snprintf(body, sizeof body, "\"for j in range(t[0]):\",\"    copy_start%s,\"    copy_wait%s", move, move);
    else
        snprintf(body, sizeof body, "\"copy_start%s,\"copy_wait%s", move, move);
    sprintf(out,
            "{\"tileproof\":1,\"name\":\"oracle\",\"target\":\"%s\",\"grid\":[{\"axis\":\"i\",\"steps\":4}],"
            "\"scalar_prefetch\":[{\"name\":\"t\",\"dtype\":\"int32\",\"shape\":[64]}],\"inputs\":[%s],"
            "\"outputs\":[%s],\"scratch\":[{\"name\":\"sem\",\"memory_space\":\"dma_semaphore\",\"shape\":[]}%s%s%s%s],"
            "\"kernel\":[%s]}",
            member_of(line, "target"), in ? side[0] : "",
            away ? side[1] : "{\"name\":\"o\",\"dtype\":\"float32\",\"shape\":[8,128]}", in ? "" : ",",
            in ? "" : side[0], away ? "" : ",", away ? "" : side[1], body);
}

static unsigned disagreements_of(struct json_object *line, const char *which, unsigned *copies, unsigned *unknown)
{
    bool taken = strcmp(which, "taken") == 0;
    char text[4096];
    unsigned wrong = 0;
    struct json_object *all = json_object_object_get(line, which);
    for (size_t i = 0; i < json_object_array_length(all); i++, ++*copies) {
        copy_text(line, json_object_get_string(json_object_array_get_idx(all, i)), text);
        loaded *l = load_text(text);
        if (!l->spec)
            fail_msg("%s: %s", text, tp_cstr(l->arena, l->ctx.findings.at[0].message));
        tp_analysis_result r = analyze_with(l, "TP202", (tp_prover_options){0});
        bool clean = true, violated = false;
        for (uint32_t k = 0; k < r.findings.len; k++) {
            clean &= r.findings.at[k].verdict == TP_PROVEN;
            violated |= r.findings.at[k].verdict == TP_VIOLATED;
        }
        unknown[taken] += !clean && !violated;
        if ((taken ? violated : clean) && ++wrong < 10)
            print_message("%s, but %s: %s\n", which, clean ? "clean" : "violated", text);
        unload(l);
    }
    return wrong;
}

static void agrees_with_every_copy(void **state)
{
    (void)state;
    unsigned copies = 0, wrong = 0, unknown[2] = {0};
    static char line[65536];
    FILE *f = fopen("tests/oracle/tpu_copy_oracle.jsonl", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        struct json_object *o = json_tokener_parse(line);
        assert_non_null(o);
        wrong += disagreements_of(o, "taken", &copies, unknown) + disagreements_of(o, "refused", &copies, unknown);
        json_object_put(o);
    }
    fclose(f);
    print_message("copy oracle: %u copies, %u disagreements; unknown: %u taken, %u refused\n", copies, wrong,
                  unknown[1], unknown[0]);
    assert_true(copies > 2500 && unknown[1] < 25 && unknown[0] < 150);
    assert_int_equal(wrong, 0);
}

/* Refusals that no rule speaks of. */
static bool is_silent(const char *refusal)
{
    static const char *const SILENT[] = {"shape cast", "stride",    "scalar",    "primitive dynamic_",
                                         "mixed dot",  "lowering:", "compiler:", "precision"};
    for (size_t i = 0; i < sizeof SILENT / sizeof *SILENT; i++)
        if (strncmp(refusal, SILENT[i], strlen(SILENT[i])) == 0)
            return true;
    return false;
}

/* What the hardware rules say of a spec: the first that is violated, NULL, or "unknown". */
static const char *judged(struct json_object *spec, const char *target)
{
    static const char *const CODES[] = {"TP201", "TP202", "TP203", "TP204", "TP205", "TP301", "TP302"};
    const tp_rule *only[7];
    json_object_object_add(spec, "target", json_object_new_string(target));
    loaded *l = load_text(json_object_to_json_string_ext(spec, JSON_C_TO_STRING_NOSLASHESCAPE));
    if (!l->spec) { /* what the language refuses is no wrong "ok" */
        unload(l);
        return "unknown";
    }
    for (size_t i = 0; i < 7; i++)
        only[i] = tp_rule_find(tp_str_c(CODES[i]));
    tp_analysis_result r = analyze(l, (tp_analysis_options){.only = only, .nonly = 7});
    const char *said = NULL;
    for (uint32_t i = 0; i < r.findings.len; i++) {
        const tp_finding *f = &r.findings.at[i];
        if (f->verdict == TP_VIOLATED && (!said || strcmp(said, "unknown") == 0))
            said = f->rule;
        else if (f->verdict == TP_UNKNOWN && !said)
            said = "unknown";
    }
    unload(l);
    return said;
}

static void agrees_with_every_kernel(void **state)
{
    (void)state;
    unsigned kernels = 0, accused = 0, clean = 0, undecided = 0, silent = 0, disagreements = 0;
    static char line[1 << 16];
    FILE *f = fopen("tests/oracle/tpu_kernel_oracle.jsonl", "r");
    assert_non_null(f);
    for (; fgets(line, sizeof line, f); kernels++) {
        struct json_object *o = json_tokener_parse(line), *spec, *answers, *name;
        json_object_object_get_ex(o, "spec", &spec);
        json_object_object_get_ex(o, "name", &name);
        json_object_object_get_ex(o, "answers", &answers);
        json_object_object_foreach (answers, target, answer) {
            const char *truth = json_object_get_string(answer), *said = judged(spec, target);
            bool compiles = strcmp(truth, "ok") == 0, violated = said && strcmp(said, "unknown") != 0;
            accused += !compiles && violated;
            clean += compiles && !said;
            undecided += said && !violated;
            bool quiet = !compiles && !said && is_silent(truth);
            silent += quiet;
            if (compiles ? violated : !said && !quiet) {
                if (disagreements++ < 40)
                    print_message("%s on %s: the compiler says %s, the rules %s\n", json_object_get_string(name),
                                  target, truth, said ? said : "nothing");
            }
        }
        json_object_put(o);
    }
    fclose(f);
    print_message("kernel oracle: %u kernels, %u answers refused and accused, %u compiled and clean, %u undecided, %u "
                  "refused by what no rule speaks of, %u disagreements\n",
                  kernels, accused, clean, undecided, silent, disagreements);
    assert_true(kernels > 300);
    assert_int_equal(disagreements, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_every_kernel),
                                       cmocka_unit_test(agrees_with_every_line),
                                       cmocka_unit_test(agrees_with_every_copy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
