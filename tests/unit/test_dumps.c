/* --dump: the texts of one kernel, phase by phase, against tests/dumps/PHASE.txt (TEST_WRITE=1 writes them: their diff
 * is the review); tokens give back the text that they were made of; all phases print every kernel of the gallery. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "dump/dump.h"
#include "tests/unit/files.h"

#define KERNEL "tests/dumps/block_sums.tile.json"

static void texts_are_as_recorded(void **state)
{
    place *p = *state;
    size_t n;
    const tp_dump *const *all = tp_dumps(&n);
    for (size_t i = 0; i < n; i++) {
        const char *path = tp_printf(p->a, "tests/dumps/%s.txt", all[i]->name).p;
        outcome o = RUN(p->a, "lint", KERNEL, tp_printf(p->a, "--dump=%s", all[i]->name).p);
        tp_str recorded, why;
        assert_int_equal(o.exit, 0);
        if (getenv("TEST_WRITE"))
            assert_int_equal(tp_write_file(p->a, path, &o.out, 1, &why), TP_OK);
        assert_int_equal(tp_read_file(p->a, path, 1 << 20, &recorded, &why), TP_OK);
        if (!tp_str_eq(o.out, recorded))
            fail_msg("--dump=%s of " KERNEL " is not what %s has:\n%.*s", all[i]->name, path, TP_FMT(o.out));
    }
}

static void join(void *ctx, const char *kind, tp_str text)
{
    tp_buf *b = ctx;
    assert_non_null(kind);
    tp_buf_printf(b, "%s%.*s", b->n ? " " : "", TP_FMT(text));
}

/* An index map is one expression: its tokens, with blanks between, are the same expression. */
static void tokens_give_back_the_text(tp_ctx *c, const tp_json *string)
{
    tp_buf joined = {.arena = c->arena}, before = {.arena = c->arena}, after = {.arena = c->arena};
    tp_json again = *string;
    tp_each_token(c, string, join, &joined);
    again.u.string = tp_buf_view(&joined);
    tp_print_node(&before, tp_parse_expr(c, string));
    tp_print_node(&after, tp_parse_expr(c, &again));
    assert_true(tp_str_eq(tp_buf_view(&before), tp_buf_view(&after)));
}

static void look_at(const char *path)
{
    loaded *l = load_file(path);
    size_t n;
    const tp_dump *const *all = tp_dumps(&n);
    assert_non_null(l->spec);
    for (size_t i = 0; i < n; i++)
        assert_true(tp_dump_text(&l->ctx, l->spec, all[i]).n > 20);
    const tp_json *inputs = tp_json_get(l->spec->doc, "inputs");
    for (uint32_t i = 0; inputs && i < inputs->u.items.n; i++) {
        const tp_json *map = tp_json_get(inputs->u.items.at[i], "index_map");
        for (uint32_t d = 0; map && map->type == TP_J_ARRAY && d < map->u.items.n; d++)
            if (map->u.items.at[d]->type == TP_J_STRING)
                tokens_give_back_the_text(&l->ctx, map->u.items.at[d]);
    }
    unload(l);
}

static void every_kernel_has_every_text(void **state)
{
    (void)state;
    static const char *const KERNELS[] = {"attention/flash_attention", "elementwise/row_gather",
                                          "matmul/grouped_matmul", "reduction/layernorm", "sequence/stencil_2d"};
    for (size_t i = 0; i < sizeof KERNELS / sizeof *KERNELS; i++) {
        char path[128];
        snprintf(path, sizeof path, "examples/%s.tile.json", KERNELS[i]);
        look_at(path);
    }
}

static void phases_are_named(void **state)
{
    place *p = *state;
    outcome o = RUN(p->a, "lint", KERNEL, "--dump=body,nothing");
    assert_int_equal(o.exit, 2);
    assert_true(
        contains(o.err, "there is no phase `nothing`; there are body, claims, leaks, plan, terms, tokens, windows"));
    o = RUN(p->a, "verify", "tests/bad/case_huge.tile.json", "--dump", "tokens,body");
    assert_int_equal(o.exit, 0);
    o = RUN(p->a, "lint", "tests/dumps/tokens.txt", "--dump", "body");
    assert_int_equal(o.exit, 3);
    assert_int_equal(o.out.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_PLACE(texts_are_as_recorded), cmocka_unit_test(every_kernel_has_every_text),
                                       IN_PLACE(phases_are_named)};
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
