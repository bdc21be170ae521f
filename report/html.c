#include "report/html.h"

void tp_html_raw(const tp_page *p, const char *text)
{
    fputs(text, p->out);
}

/* Text as text. */
void tp_html_put(const tp_page *p, tp_str s)
{
    s = tp_visible(p->a, s);
    for (size_t i = 0; i < s.n; i++)
        switch (s.p[i]) {
        case '&': tp_html_raw(p, "&amp;"); break;
        case '<': tp_html_raw(p, "&lt;"); break;
        case '>': tp_html_raw(p, "&gt;"); break;
        case '"': tp_html_raw(p, "&quot;"); break;
        default: fputc(s.p[i], p->out);
        }
}

/* Text with `code` in backticks. */
void tp_html_prose(const tp_page *p, tp_str s)
{
    bool code = false;
    for (size_t i = 0, start = 0; i <= s.n; i++) {
        if (i < s.n && s.p[i] != '`')
            continue;
        tp_html_put(p, (tp_str){s.p + start, i - start});
        if (i < s.n && (code || memchr(s.p + i + 1, '`', s.n - i - 1))) {
            code = !code;
            tp_html_raw(p, code ? "<code>" : "</code>");
        } else if (i < s.n) {
            tp_html_raw(p, "`");
        }
        start = i + 1;
    }
}
