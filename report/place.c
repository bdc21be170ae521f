#include "report/report.h"
#include "spec/json.h"

/* "~1" is "/", "~0" is "~" (RFC 6901). */
static tp_str unescape(tp_arena *a, tp_str token)
{
    tp_buf b = {.arena = a};
    for (size_t i = 0; i < token.n; i++) {
        bool escape = token.p[i] == '~' && i + 1 < token.n;
        tp_buf_add(&b, escape ? (token.p[i + 1] == '1' ? "/" : "~") : &token.p[i], 1);
        i += escape;
    }
    return tp_buf_view(&b);
}

/* An operand, an axis: by its name. A statement, a fact: by its text. */
static tp_str name_of(const tp_json *element, bool of_statements, tp_str number)
{
    const tp_json *name = element->type == TP_J_OBJECT ? tp_json_get(element, "name") : NULL;
    if (!name && element->type == TP_J_OBJECT)
        name = tp_json_get(element, "axis");
    if (name && name->type == TP_J_STRING)
        return name->u.string;
    return of_statements && element->type == TP_J_STRING ? element->u.string : number;
}

static bool holds_statements(tp_str pointer)
{
    static const char *const KEYS[] = {"/kernel", "/reference", "/where"};
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (tp_str_is(pointer, KEYS[i]))
            return true;
    return false;
}

tp_str tp_place(tp_arena *a, const tp_spec_report *s, const tp_finding *f)
{
    const tp_json *at = s->spec ? s->spec->doc : NULL;
    tp_str pointer = f->loc.pointer.p ? f->loc.pointer : TP_S("");
    tp_buf b = {.arena = a};
    for (size_t i = 0, n; i < pointer.n; i += n) {
        for (n = 1; i + n < pointer.n && pointer.p[i + n] != '/'; n++)
            ;
        tp_str token = unescape(a, (tp_str){pointer.p + i + 1, n - 1});
        const tp_json *next = NULL;
        if (at && at->type == TP_J_OBJECT) {
            next = tp_json_get(at, tp_cstr(a, token));
        } else if (at && at->type == TP_J_ARRAY) {
            uint32_t k = 0;
            for (size_t d = 0; d < token.n && k < at->u.items.n; d++)
                k = k * 10 + (uint32_t)(token.p[d] - '0');
            next = k < at->u.items.n ? at->u.items.at[k] : NULL;
            if (next)
                token = name_of(next, holds_statements((tp_str){pointer.p, i}), token);
        }
        tp_buf_printf(&b, "/%.*s", TP_FMT(token));
        at = next;
    }
    return b.n ? tp_buf_view(&b) : TP_S("");
}
