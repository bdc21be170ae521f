#include "report/page/page.h"

void tp_html_raw(const tp_page *p, const char *text)
{
    fputs(text, p->out);
}

static void put(const tp_page *p, tp_str s, const char *quote)
{
    s = tp_visible(p->a, s);
    for (size_t i = 0; i < s.n; i++)
        switch (s.p[i]) {
        case '&': tp_html_raw(p, "&amp;"); break;
        case '<': tp_html_raw(p, "&lt;"); break;
        case '>': tp_html_raw(p, "&gt;"); break;
        case '"': tp_html_raw(p, quote); break;
        default: fputc(s.p[i], p->out);
        }
}

void tp_html_put(const tp_page *p, tp_str s)
{
    put(p, s, "&quot;");
}

void tp_html_content(const tp_page *p, tp_str s)
{
    put(p, s, "\"");
}

void tp_html_breakable(const tp_page *p, tp_str s)
{
    for (tp_str rest = s; rest.n;) {
        const char *mark = memchr(rest.p, '_', rest.n);
        tp_str word = {rest.p, mark ? (size_t)(mark - rest.p) + 1 : rest.n};
        rest = (tp_str){rest.p + word.n, rest.n - word.n};
        tp_html_put(p, word);
        tp_html_raw(p, mark ? "<wbr>" : "");
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

const char *tp_html_class(const tp_finding *f)
{
    switch (f->verdict) {
    case TP_PROVEN: return f->suppressed ? "note" : "ok";
    case TP_VIOLATED:
    case TP_VACUOUS: return f->suppressed ? "note" : "bad";
    case TP_UNKNOWN: return f->suppressed ? "note" : "open";
    case TP_ASSUMED:
    case TP_NOT_APPLICABLE:
    case TP_ADVICE:
    case TP_VERDICTS: break;
    }
    return "note";
}

tp_str tp_html_anchor(const tp_page *p, const tp_spec_report *s, const tp_finding *f)
{
    return tp_printf(p->a, "f%u-%zu", p->spec, (size_t)(f - s->findings.at));
}
