/* What the rules of the page say and why, on the page itself: it is read without a network. */
#include <ctype.h>

#include "report/page/page.h"

void tp_html_code(const tp_page *p, const char *code)
{
    if (tp_rule_find(tp_str_c(code)))
        fprintf(p->out, "<a href=\"#rule-%s\">%s</a>", code, code);
    else
        tp_html_raw(p, code);
}

static void write_part(const tp_page *p, const char *what, const char *text, bool code)
{
    if (!text || !*text)
        return;
    fprintf(p->out, "<li>%s: ", what);
    tp_html_raw(p, code ? "<code>" : "");
    if (code)
        tp_html_put(p, tp_str_c(text));
    else
        tp_html_prose(p, tp_str_c(text));
    tp_html_raw(p, code ? "</code></li>\n" : "</li>\n");
}

void tp_html_about(const tp_page *p, const bool *used)
{
    size_t n;
    const tp_rule *const *rules = tp_rules(&n);
    bool any = false;
    for (size_t r = 0; r < n; r++) {
        const tp_rule *x = rules[r];
        if (!used[r])
            continue;
        tp_html_raw(p, any ? "" : "<div><h2 id=\"rules\">Rules</h2>\n");
        any = true;
        fprintf(p->out, "<h3 id=\"rule-%s\">%s %s</h3><p>", x->code, x->code, x->slug);
        tp_html_prose(p, tp_printf(p->a, "%c%s. %s", toupper(*x->title), x->title + 1, x->why));
        tp_html_raw(p, "</p><ul>\n");
        write_part(p, "breaks it", x->bad, true);
        write_part(p, "keeps it", x->good, true);
        write_part(p, "JAX", x->jax, false);
        tp_html_raw(p, "</ul>\n");
    }
    tp_html_raw(p, any ? "</div>\n" : "");
}
