#include "base/finding.h"
#include "base/assert.h"

static const char *const VERDICTS[] = {"proven",  "violated",       "unknown", "vacuous",
                                       "assumed", "not-applicable", "advice"};

const char *tp_verdict_name(tp_verdict v)
{
    return VERDICTS[v];
}

bool tp_verdict_settled(tp_verdict v)
{
    return v == TP_PROVEN || v == TP_NOT_APPLICABLE || v == TP_ASSUMED;
}

const char *tp_severity_name(tp_severity s)
{
    return s == TP_ERROR ? "error" : s == TP_WARNING ? "warning" : "note";
}

const char *tp_grade_name(tp_grade g)
{
    static const char *const NAMES[] = {NULL, "cert", "exact", "z3+cvc5", "z3", "cvc5"};
    return NAMES[g];
}

size_t tp_source_main(const tp_source *s)
{
    const char *end = s->kernel_file.n ? memchr(s->text.p, TP_SOURCE_PART, s->text.n) : NULL;
    return end ? (size_t)(end - s->text.p) : s->text.n;
}

tp_str tp_source_path(const tp_source *s, uint32_t offset)
{
    return offset > tp_source_main(s) ? s->kernel_file : s->path;
}

tp_linecol tp_linecol_of(const tp_source *s, uint32_t offset)
{
    tp_linecol lc = {1, 1};
    size_t main = tp_source_main(s);
    for (uint32_t i = offset > main ? (uint32_t)main + 1 : 0; i < offset && i < s->text.n; i++) {
        unsigned char c = (unsigned char)s->text.p[i];
        if (c == '\n') {
            lc.line++;
            lc.column = 1;
        } else if ((c & 0xc0) != 0x80) {
            lc.column++;
        }
    }
    return lc;
}

tp_str tp_line_of(const tp_source *s, uint32_t offset)
{
    size_t at = offset < s->text.n ? offset : s->text.n, from = at, to = at;
    while (from > 0 && s->text.p[from - 1] != '\n' && s->text.p[from - 1] != TP_SOURCE_PART)
        from--;
    while (to < s->text.n && s->text.p[to] != '\n' && s->text.p[to] != '\r' && s->text.p[to] != TP_SOURCE_PART)
        to++;
    return (tp_str){s->text.p + from, to - from};
}

const tp_code *tp_codes(size_t *n)
{
    static const tp_code ROWS[] = {
#define X(code, slug, source, title, why) {code, slug, TP_CODE_##source, title, why},
#include "base/codes.def"
#undef X
    };
    *n = sizeof ROWS / sizeof *ROWS;
    return ROWS;
}

const tp_code *tp_code_find(tp_str name)
{
    size_t n;
    const tp_code *rows = tp_codes(&n);
    for (size_t i = 0; i < n; i++)
        if (tp_str_is(name, rows[i].code) || tp_str_is(name, rows[i].slug))
            return &rows[i];
    return NULL;
}

_Noreturn void tp_raise(tp_ctx *c, const char *code, tp_loc loc, const char *help, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tp_str message = tp_vprintf(c->arena, fmt, ap);
    va_end(ap);
    tp_finding f = {
        .rule = code,
        .slug = tp_code_find(tp_str_c(code))->slug,
        .verdict = TP_VIOLATED,
        .severity = TP_ERROR,
        .loc = loc,
        .message = message,
        .help = help ? tp_printf(c->arena, "%s", help) : (tp_str){NULL, 0},
    };
    tp_push(c->arena, c->findings, f);
    tp_leave(c->arena, TP_E_INPUT);
}

tp_str tp_apply_edits(tp_arena *a, tp_str text, const tp_edits *edits)
{
    tp_buf b = {.arena = a};
    uint32_t at = 0;
    for (uint32_t i = 0; i < edits->len; i++) {
        const tp_edit *e = &edits->at[i];
        tp_assert(at <= e->start && e->start <= e->end && e->end <= text.n);
        tp_buf_add(&b, text.p + at, e->start - at);
        tp_buf_str(&b, e->text);
        at = e->end;
    }
    tp_buf_add(&b, text.p + at, text.n - at);
    return tp_buf_view(&b);
}

static int basis_order(tp_str a, tp_str b)
{
    static const char ORDER[] = "FTC"; /* facts, rules (TP…), contracts */
    const char *p = memchr(ORDER, a.p[0], 3), *q = memchr(ORDER, b.p[0], 3);
    if (a.p[0] != b.p[0] && p && q)
        return p < q ? -1 : 1;
    if (a.n != b.n) /* C2 before C10 */
        return a.n < b.n ? -1 : 1;
    return memcmp(a.p, b.p, a.n);
}

bool tp_basis_names(tp_str list, const char *id)
{
    for (tp_str one; tp_list_next(&list, ", ", &one);)
        if (tp_str_eq(one, tp_str_c(id)))
            return true;
    return false;
}

tp_str tp_basis_join(tp_arena *a, tp_str x, tp_str y)
{
    TP_VEC(tp_str) ids = {0};
    tp_buf b = {.arena = a};
    tp_str lists[] = {x, y};
    for (int l = 0; l < 2; l++)
        for (tp_str id; tp_list_next(&lists[l], ", ", &id);) {
            uint32_t at = 0;
            while (at < ids.len && basis_order(ids.at[at], id) < 0)
                at++;
            if (at < ids.len && basis_order(ids.at[at], id) == 0)
                continue;
            tp_push(a, ids, id);
            memmove(&ids.at[at + 1], &ids.at[at], (ids.len - 1 - at) * sizeof id);
            ids.at[at] = id;
        }
    for (uint32_t i = 0; i < ids.len; i++)
        tp_buf_printf(&b, "%s%.*s", i ? ", " : "", TP_FMT(ids.at[i]));
    return tp_buf_view(&b);
}
