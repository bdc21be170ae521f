/* Every command shown in the documentation is run, and prints what the page
 * shows: the blocks fenced as ```console, "$ " before a command, a line "…"
 * for output that is left out. */
#define _GNU_SOURCE
#include <glob.h>

#include "tests/unit/process.h"

typedef struct page {
    tp_arena *a;
    const char *path;
    char *line[4096];
    int n, commands;
} page;

static void read_page(page *p)
{
    tp_str text, why;
    assert_int_equal(tp_read_file(p->a, p->path, 1 << 20, &text, &why), TP_OK);
    char *rest = tp_writable(tp_cstr(p->a, text));
    for (char *l; (l = strsep(&rest, "\n")) && p->n < 4096;)
        p->line[p->n++] = l;
}

/* Output of a shell line, with the built program first in PATH. */
static char *output_of(page *p, const char *command)
{
    char self[4096];
    assert_non_null(realpath(TILEPROOF, self));
    *strrchr(self, '/') = '\0';
    const char *shell = tp_printf(p->a, "PATH=%s:$PATH; { %s; } 2>&1", self, command).p;
    FILE *f = popen(shell, "r");
    tp_buf b = {.arena = p->a};
    char piece[4096];
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;)
        tp_buf_add(&b, piece, n);
    pclose(f);
    return tp_writable(tp_cstr(p->a, tp_buf_view(&b)));
}

static bool ends_output(const char *line)
{
    return strncmp(line, "$ ", 2) == 0 || strncmp(line, "```", 3) == 0;
}

/* Advances *at past the command and the output shown for it. */
static void check_command(page *p, int *at)
{
    const char *command = p->line[*at] + 2;
    char *rest = output_of(p, command);
    bool skip = false;
    p->commands++;
    for (++*at; *at < p->n && !ends_output(p->line[*at]); ++*at) {
        const char *wanted = p->line[*at];
        if (strcmp(wanted, "…") == 0) {
            skip = true;
            continue;
        }
        char *got;
        do
            got = strsep(&rest, "\n");
        while (skip && got && strcmp(got, wanted) != 0);
        skip = false;
        if (!got || strcmp(got, wanted) != 0)
            fail_msg("%s:%d: `%s` prints \"%s\", the page says \"%s\"", p->path, *at + 1, command,
                     got ? got : "nothing more", wanted);
    }
    if (!skip && rest && rest[0])
        fail_msg("%s:%d: `%s` prints more: \"%.200s\"", p->path, *at + 1, command, rest);
}

/* What a page reads a command of a page has written, not a run of long ago. */
static void forget_files(void)
{
    static const char *const WRITTEN[] = {"build/*.certs", "build/*.json", "build/*.npy"};
    for (size_t i = 0; i < sizeof WRITTEN / sizeof *WRITTEN; i++) {
        glob_t g;
        if (glob(WRITTEN[i], 0, NULL, &g) == 0)
            for (size_t k = 0; k < g.gl_pathc; k++)
                assert_int_equal(unlink(g.gl_pathv[k]), 0);
        globfree(&g);
    }
}

/* docs/GALLERY.md says which kernel covers which family: every family has a row, and every name in it a kernel. */
static void families_have_kernels(void **state)
{
    static const char *const FAMILIES[] = {"elementwise",
                                           "fused matmul",
                                           "custom_vjp end to end",
                                           "quantised matmul",
                                           "dropout",
                                           "norms",
                                           "softmax and losses",
                                           "flash attention",
                                           "splash attention",
                                           "sliding window with sinks",
                                           "grouped-query decode",
                                           "paged and ragged attention",
                                           "grouped matmul",
                                           "mixture of experts",
                                           "block-sparse matmul",
                                           "grid shrinking",
                                           "convolution",
                                           "stencil",
                                           "scans",
                                           "linear recurrences",
                                           "gather and cache update",
                                           "optimizer in place"};
    page *p = calloc(1, sizeof *p);
    (void)state;
    p->a = tp_arena_new(0);
    p->path = "docs/GALLERY.md";
    read_page(p);
    int at = 0, kernels = 0;
    while (at < p->n && strcmp(p->line[at], "## Families") != 0)
        at++;
    for (size_t f = 0; f < sizeof FAMILIES / sizeof *FAMILIES; f++) {
        int row = at, named = 0;
        while (row < p->n &&
               strncmp(p->line[row], tp_printf(p->a, "| %s", FAMILIES[f]).p, 2 + strlen(FAMILIES[f])) != 0)
            row++;
        if (row == p->n)
            fail_msg("%s: no row for %s", p->path, FAMILIES[f]);
        char *rest = p->line[row];
        for (char *name; strsep(&rest, "`") && (name = strsep(&rest, "`")); named++) {
            glob_t g;
            if (glob(tp_printf(p->a, "examples/[!b]*/%s.tile.json", name).p, 0, NULL, &g) != 0)
                fail_msg("%s: %s names `%s`, which is no kernel", p->path, FAMILIES[f], name);
            globfree(&g);
        }
        if (!named)
            fail_msg("%s: %s has no kernel", p->path, FAMILIES[f]);
        kernels += named;
    }
    assert_true(kernels >= 30);
    tp_arena_free(p->a);
    free(p);
}

static void pages_show_what_commands_print(void **state)
{
    (void)state;
    forget_files();
    static const char *const PAGES[] = {"README.md",       "docs/SPEC.md",      "docs/DESIGN.md",     "docs/HACKING.md",
                                        "docs/REPORTS.md", "docs/GALLERY.md",   "docs/TUTORIAL.md",   "docs/CI.md",
                                        "docs/PROVEN.md",  "docs/EMBEDDING.md", "docs/EQUIVALENCE.md"};
    int commands = 0;
    for (size_t i = 0; i < sizeof PAGES / sizeof *PAGES; i++) {
        page *p = calloc(1, sizeof *p);
        p->a = tp_arena_new(0);
        p->path = PAGES[i];
        read_page(p);
        for (int at = 0; at < p->n; at++)
            if (strcmp(p->line[at], "```console") == 0)
                for (at++; at < p->n && strncmp(p->line[at], "```", 3) != 0;) {
                    assert_true(strncmp(p->line[at], "$ ", 2) == 0);
                    check_command(p, &at);
                }
        commands += p->commands;
        tp_arena_free(p->a);
        free(p);
    }
    print_message("docs: %d commands\n", commands);
    assert_true(commands >= 6);
}

static char *balanced(char *from)
{
    int depth = 0;
    for (char *c = from; *c; c++) {
        depth += *c == '{';
        depth -= *c == '}';
        if (depth == 0)
            return c + 1;
    }
    return NULL;
}

/* ```json blocks that are whole specs lint clean. */
static void specs_in_pages_are_clean(void **state)
{
    (void)state;
    static const char *const PAGES[] = {"README.md", "docs/SPEC.md", "docs/TUTORIAL.md"};
    tp_arena *a = tp_arena_new(0);
    int specs = 0;
    for (size_t i = 0; i < sizeof PAGES / sizeof *PAGES; i++) {
        tp_str text, why;
        assert_int_equal(tp_read_file(a, PAGES[i], 1 << 20, &text, &why), TP_OK);
        char *at = tp_writable(tp_cstr(a, text));
        while ((at = strstr(at, "```json\n{\n  \"tileproof\": 1"))) {
            char *from = strchr(at, '{'), *to = balanced(from), path[] = "/tmp/tileproof-doc-XXXXXX.tile.json";
            int fd = mkstemps(path, (int)strlen(".tile.json"));
            assert_int_equal(write(fd, from, (size_t)(to - from)), to - from);
            close(fd);
            outcome o = RUN(a, "verify", path);
            if (o.exit != 0)
                fail_msg("%s: %s", PAGES[i], tp_cstr(a, o.out));
            unlink(path);
            specs++;
            at = to;
        }
    }
    tp_arena_free(a);
    assert_true(specs >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pages_show_what_commands_print),
                                       cmocka_unit_test(families_have_kernels),
                                       cmocka_unit_test(specs_in_pages_are_clean)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
