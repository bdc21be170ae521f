/* E4 with small blocks: tests/blocks/, with what to expect under "x-test": what
 * stands in place of the blocks (null: they stay), how many shapes are equal,
 * whether some shape differs. */
#include <glob.h>

#include "kernels/trial/equiv.h"
#include "tests/unit/support.h"

typedef struct boxed {
    loaded *l;
    tp_equiv e;
} boxed;

static void run_box(void *arg)
{
    boxed *x = arg;
    tp_equiv_options o = {.max_memory = (size_t)1 << 30, .max_steps = 1000000};
    x->e = (tp_equiv){.equal = 1};
    tp_equiv_box(&x->l->ctx, x->l->spec, 8, &o, &x->e);
}

static void check_file(const char *path)
{
    boxed x = {.l = load_file(path)};
    assert_non_null(x.l->spec);
    const tp_json *want = tp_json_get(x.l->spec->doc, "x-test"), *blocks = tp_json_get(want, "blocks");
    assert_int_equal(tp_try(x.l->arena, run_box, &x), TP_OK);
    tp_str expected = blocks->type == TP_J_STRING ? blocks->u.string : TP_S("");
    if (!tp_str_eq(x.e.blocks, expected))
        fail_msg("%s: blocks \"%.*s\", not \"%.*s\"", path, TP_FMT(x.e.blocks), TP_FMT(expected));
    if (x.e.box.equal != tp_json_get(want, "equal")->u.integer)
        fail_msg("%s: %u shapes are equal", path, x.e.box.equal);
    if ((x.e.different > 0) != tp_json_get(want, "differs")->u.boolean)
        fail_msg("%s: %u shapes differ", path, x.e.different);
    unload(x.l);
}

static void small_blocks_stand_or_nothing_is_said_of_them(void **state)
{
    glob_t g;
    (void)state;
    assert_int_equal(glob("tests/blocks/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++)
        check_file(g.gl_pathv[i]);
    globfree(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_blocks_stand_or_nothing_is_said_of_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
