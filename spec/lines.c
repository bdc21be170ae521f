#define _GNU_SOURCE /* memmem */
#include "spec/lines.h"

static bool begins(tp_str text, const char *with)
{
    size_t n = strlen(with);
    return text.n >= n && memcmp(text.p, with, n) == 0;
}

/* Of what references write before functions. */
static bool is_import(tp_str text)
{
    static const char *const MODULES[] = {"numpy",     "jax",    "math",       "scipy",
                                          "functools", "typing", "__future__", "typing_extensions"};
    size_t word = begins(text, "import ") ? strlen("import ") : begins(text, "from ") ? strlen("from ") : 0;
    bool known = false;
    tp_str module = {text.p + word, text.n - word};
    for (size_t i = 0; word && i < sizeof MODULES / sizeof *MODULES; i++)
        known |= begins(module, MODULES[i]);
    /* whose functions mean something else without their prefix */
    bool other = text.p[0] == 'f' && (begins(module, "jax.lax") || begins(module, "scipy"));
    return known && !other;
}

/* The quotes that begin a string which is a statement; NULL: none do. */
static const char *docstring(tp_str text)
{
    return begins(text, "\"\"\"") ? "\"\"\"" : begins(text, "'''") ? "'''" : NULL;
}

/* Does text stand at p and behind it, comments aside? */
static bool says_more(tp_str text, const char *p)
{
    while (p < text.p + text.n && *p == ' ')
        p++;
    return p < text.p + text.n && *p != '#';
}

int *tp_indentations(tp_ctx *c, tp_json *const *lines, uint32_t n)
{
    int *columns = TP_NEWN(c->arena, int, n);
    const char *open = NULL;
    uint32_t opened = 0;
    bool names = false; /* of an import, in parentheses */
    for (uint32_t k = 0; k < n; k++) {
        tp_str t = lines[k]->u.string;
        size_t i = 0;
        while (i < t.n && t.p[i] == ' ')
            i++;
        tp_str text = {t.p + i, t.n - i};
        names = names || (!open && is_import(text) && memchr(text.p, '(', text.n));
        columns[k] = i == t.n || text.p[0] == '#' || names || is_import(text) || open ? -1 : (int)i;
        if (names) {
            names = !memchr(text.p, ')', text.n);
            continue;
        }
        const char *quotes = open ? open : docstring(text);
        if (quotes) {
            tp_str behind = open ? text : (tp_str){text.p + 3, text.n - 3};
            const char *end = memmem(behind.p, behind.n, quotes, 3);
            opened = open ? opened : k;
            open = end ? NULL : quotes;
            columns[k] = end && says_more(behind, end + 3) ? (int)i : -1;
        } else if (i < t.n && t.p[i] == '\t') {
            tp_raise(c, TP_RULE_SPEC_SYNTAX, tp_json_inside(c, lines[k], i, i + 1), "indent with spaces",
                     "a tab in the indentation");
        }
    }
    if (open)
        tp_raise(c, TP_RULE_SPEC_SYNTAX, lines[opened]->loc, "end it with the quotes that begin it",
                 "this string never ends");
    return columns;
}
