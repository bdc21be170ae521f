/* A body in a file of its own: places point into it, what is made of the text is made of both, and only files below the
 * folder of the spec are read. */
#define _GNU_SOURCE
#include "tests/unit/files.h"

#include <unistd.h>

static const char SPEC[] =
    "{\n  \"tileproof\": 1,\n  \"name\": \"k\",\n  \"target\": \"none\",\n  \"sizes\": {\"N\": {\"min\": 1}},\n"
    "  \"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(N, 8)\"}],\n"
    "  \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"N\", 128], \"block_shape\": [8, 128], "
    "\"index_map\": [\"i\", 0]}],\n"
    "  \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"N\", 128], \"block_shape\": [8, 128], "
    "\"index_map\": [\"i\", 0]}],\n"
    "  \"kernel_file\": \"%s\",\n  \"reference\": [\"o = x * 2\"]\n}\n";
static const char GOOD[] = "# doubles \"x\" \\ here\nv = x[...]\nif i >= 0:\n    v = v * 2.0\no[...] = v\n";

static void put_text(place *p, const char *name, const char *text)
{
    put(p, name, text, strlen(text));
}

static void put_spec(place *p, const char *file)
{
    put_text(p, "k.tile.json", tp_printf(p->a, SPEC, file).p);
}

static void expect(const outcome *o, int code, const char *text)
{
    if (o->exit != code || (text && !strstr(o->out.p, text) && !strstr(o->err.p, text)))
        fail_msg("exit %d, expected %d and \"%s\": %s%s", o->exit, code, text ? text : "", o->out.p, o->err.p);
}

static void places_point_into_it(void **state)
{
    place *p = *state;
    put_spec(p, "k.tile.py");
    put_text(p, "k.tile.py", GOOD);
    outcome o = RUN_IN(p->a, p->dir, "verify", "-q", "k.tile.json");
    expect(&o, 0, "0 violated");
    put_text(p, "k.tile.py", "# here: \\\nv = x[...]\nif i >= 0:\n    v = w * 2.0\no[...] = v\n");
    o = RUN_IN(p->a, p->dir, "lint", "-q", "k.tile.json");
    expect(&o, 3, "--> k.tile.py:4:9\n  |\n4 |     v = w * 2.0\n  |         ^");
    o = RUN_IN(p->a, p->dir, "lint", "-q", "--format", "concise", "k.tile.json");
    expect(&o, 3, "k.tile.py:4:9: ");
    o = RUN_IN(p->a, p->dir, "lint", "--format", "json", "k.tile.json");
    expect(&o, 3, "\"file\":\"k.tile.py\"");
    put_text(p, "k.tile.py", "v = x[...]\n\no[...] = v * 3.0\n");
    o = RUN_IN(p->a, p->dir, "verify", "-q", "k.tile.json");
    expect(&o, 1, "--> k.tile.py:3:1\n  |\n3 | o[...] = v * 3.0\n  | ^^^^^^^^^^^^^^^^\n");
    put_text(p, "k.tile.json", "{\"tileproof\": 2, \"kernel_file\": \"k.tile.py\"}");
    o = RUN_IN(p->a, p->dir, "lint", "-q", "k.tile.json");
    expect(&o, 3, "--> k.tile.json:1:15");
}

/* float32[1, 128] */
static void put_zeros(place *p, const char *name)
{
    char bytes[128 + 512] = "\x93NUMPY\x01";
    const char *header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 128), }";
    memset(bytes + 10, ' ', 118);
    bytes[8] = 118;
    memcpy(bytes + 10, header, strlen(header));
    bytes[127] = '\n';
    put(p, name, bytes, sizeof bytes);
}

/* What was said of another body says nothing of this one. */
static void digests_are_of_both(void **state)
{
    place *p = *state;
    put_spec(p, "k.tile.py");
    put_text(p, "k.tile.py", GOOD);
    if (system(tp_printf(p->a,
                         "cd %s && git init -q . && git add . && git -c user.name=t -c user.email=t@t commit -qm x",
                         p->dir)
                   .p) != 0)
        skip(); /* no git here */
    outcome o = RUN_IN(p->a, p->dir, "verify", "-q", "k.tile.json", "--receipt", "r.json");
    expect(&o, 0, NULL);
    o = RUN_IN(p->a, p->dir, "lint", "-q", "k.tile.json", "--certificates", "certs");
    expect(&o, 0, NULL);
    o = RUN_IN(p->a, p->dir, "recheck", "certs", "k.tile.json");
    expect(&o, 0, NULL);
    o = RUN_IN(p->a, p->dir, "lint", "--changed-since", "HEAD", "k.tile.json");
    expect(&o, 0, "0 specs");
    put_zeros(p, "x.npy");
    o = RUN_IN(p->a, p->dir, "run", "k.tile.json", "--receipt", "r.json", "--input", "x=x.npy", "--output", "o=o.npy");
    expect(&o, 0, NULL);
    put_text(p, "k.tile.py", "o[...] = x[...] * 2.0\n");
    o = RUN_IN(p->a, p->dir, "run", "k.tile.json", "--receipt", "r.json", "--input", "x=x.npy", "--output", "o=o.npy");
    expect(&o, 3, "the spec was changed since the receipt was written");
    o = RUN_IN(p->a, p->dir, "recheck", "certs", "k.tile.json");
    assert_int_not_equal(o.exit, 0);
    o = RUN_IN(p->a, p->dir, "lint", "--changed-since", "HEAD", "k.tile.json");
    expect(&o, 0, "k.tile.json");
}

static void others_are_not_read(void **state)
{
    static const struct {
        const char *file, *says;
    } ROWS[] = {{"/etc/passwd", "is not below the folder of the spec"},
                {"../k.tile.py", "is not below the folder of the spec"},
                {"link.tile.py", "is not below the folder of the spec"},
                {"missing.tile.py", "cannot read `missing.tile.py`"},
                {"sub", "it is a folder"},
                {"bytes.tile.py", "control character"},
                {"empty.tile.py", "the body has no statements"}};
    place *p = *state;
    assert_int_equal(symlink("/etc/passwd", path_in(p, "link.tile.py")), 0);
    assert_int_equal(mkdir(path_in(p, "sub"), 0700), 0);
    put_text(p, "bytes.tile.py", "o[...] = x[...]\x1e");
    put_text(p, "empty.tile.py", "");
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        put_spec(p, ROWS[i].file);
        outcome o = RUN_IN(p->a, p->dir, "lint", "-q", "k.tile.json");
        expect(&o, 3, ROWS[i].says);
    }
    put_text(p, "k.tile.json",
             "{\"tileproof\": 1, \"name\": \"k\", \"kernel_file\": \"empty.tile.py\", \"kernel\": []}");
    outcome o = RUN_IN(p->a, p->dir, "lint", "-q", "k.tile.json");
    expect(&o, 3, "both hold a body");
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_PLACE(places_point_into_it), IN_PLACE(digests_are_of_both),
                                       IN_PLACE(others_are_not_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
