/* Fixes for findings that no rule of the analyzer makes: a body that does not type, and results that are no numbers.
 * Each is a small change of the statement in question, of a kind that authors forget; that it helps is for the trial
 * to say (fix.c). */
#define _GNU_SOURCE /* memmem */
#include <ctype.h>

#include "verify/verify.h"

enum { MAX_GUESSES = 12 };

typedef struct guesser {
    tp_job *j;
    tp_finding *f;
    const tp_json *doc;
    tp_str text;
    uint32_t from, to; /* the line of the body: bytes of the text */
} guesser;

typedef struct parse_call {
    tp_ctx ctx;
    const tp_json *doc;
} parse_call;

static void parse(void *arg)
{
    parse_call *p = arg;
    p->doc = tp_json_parse(&p->ctx, true); /* it was read before: a text without comments is read alike */
}

static void add(guesser *g, tp_str title, const tp_edit *edits, uint32_t n)
{
    tp_fix fix = {.title = title};
    for (uint32_t i = 0; i < n; i++)
        tp_push(g->j->arena, fix.edits, edits[i]);
    if (n && g->f->proposals.len < MAX_GUESSES)
        tp_push(g->j->arena, g->f->proposals, fix);
}

static bool begins(const guesser *g, uint32_t at, const char *word)
{
    size_t n = strlen(word);
    return at + n <= g->to && memcmp(g->text.p + at, word, n) == 0 &&
           (at == g->from || !(isalnum((unsigned char)g->text.p[at - 1]) || g->text.p[at - 1] == '_'));
}

/* Where the argument that starts here ends: at its comma, or the parenthesis that closes the call; `to`: nowhere. */
static uint32_t end_of_argument(const guesser *g, uint32_t at)
{
    for (int depth = 0; at < g->to; at++) {
        char c = g->text.p[at];
        if (depth == 0 && (c == ',' || c == ')'))
            return at;
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    }
    return g->to;
}

static uint32_t end_of_call(const guesser *g, uint32_t at)
{
    while ((at = end_of_argument(g, at)) < g->to && g->text.p[at] == ',')
        at++;
    return at;
}

static tp_str part(const guesser *g, uint32_t from, uint32_t to)
{
    while (from < to && g->text.p[from] == ' ')
        from++;
    return (tp_str){g->text.p + from, to - from};
}

static bool names(tp_str s, const char *word)
{
    return s.n && memmem(s.p, s.n, word, strlen(word)) != NULL;
}

/* dot(a, b)  ->  dot(a, b, preferred_element_type=int32) */
static void guess_accumulator(guesser *g, const char *dtype)
{
    for (uint32_t at = g->from; at < g->to; at++) {
        uint32_t end = begins(g, at, "dot(") ? end_of_call(g, at + 4) : g->to;
        if (end == g->to || names(part(g, at, end), "preferred_element_type"))
            continue;
        tp_edit edit = {end, end, tp_printf(g->j->arena, ", preferred_element_type=%s", dtype)};
        add(g, tp_printf(g->j->arena, "let dot accumulate: preferred_element_type=%s", dtype), &edit, 1);
    }
}

/* dot(a, b)  ->  dot(a, transpose(b)) */
static void guess_transpose(guesser *g)
{
    for (uint32_t at = g->from; at < g->to; at++) {
        if (!begins(g, at, "dot("))
            continue;
        uint32_t start[] = {0, at + 4}, end[] = {0, end_of_argument(g, at + 4)};
        start[0] = end[1] + 1;
        end[0] = end_of_argument(g, start[0]);
        for (int n = 0; n < 2 && end[0] < g->to; n++) { /* the second operand first: it is mostly that one */
            tp_str operand = part(g, start[n], end[n]);
            tp_edit edit = {(uint32_t)(operand.p - g->text.p), end[n],
                            tp_printf(g->j->arena, "transpose(%.*s)", TP_FMT(operand))};
            add(g, tp_printf(g->j->arena, "use `%.*s`", TP_FMT(edit.text)), &edit, 1);
        }
    }
}

/* axis=0  ->  axis=1 */
static void guess_axis(guesser *g)
{
    static const char WORD[] = "axis=";
    for (uint32_t at = g->from; at < g->to; at++) {
        uint32_t digit = at + (uint32_t)strlen(WORD);
        if (!begins(g, at, WORD) || digit >= g->to || !isdigit((unsigned char)g->text.p[digit]))
            continue;
        for (int other = 0; other < 3; other++) {
            tp_edit edit = {digit, digit + 1, tp_printf(g->j->arena, "%d", other)};
            if (edit.text.p[0] != g->text.p[digit])
                add(g, tp_printf(g->j->arena, "reduce over axis=%d", other), &edit, 1);
        }
    }
}

/* max(x, axis=1)  ->  max(x, axis=1, keepdims=True) */
static void guess_keepdims(guesser *g)
{
    static const char *const REDUCTIONS[] = {"sum(", "max(", "min(", "mean(", "prod(", "argmax(", "argmin("};
    for (uint32_t at = g->from; at < g->to; at++)
        for (size_t i = 0; i < sizeof REDUCTIONS / sizeof *REDUCTIONS; i++) {
            uint32_t end = begins(g, at, REDUCTIONS[i]) ? end_of_call(g, at + (uint32_t)strlen(REDUCTIONS[i])) : g->to;
            tp_str call = part(g, at, end);
            if (end == g->to || !names(call, "axis=") || names(call, "keepdims"))
                continue;
            tp_edit edit = {end, end, TP_S(", keepdims=True")};
            add(g, tp_printf(g->j->arena, "keep the dimension: `%.*s, keepdims=True)`", TP_FMT(call)), &edit, 1);
        }
}

/* o[...] = acc[...]  ->  o[...] = acc[...].astype(T), the dtype of o as it is written */
static void guess_cast(guesser *g)
{
    static const char *const LISTS[] = {"outputs", "scratch"};
    tp_str value = part(g, g->f->loc.start, g->f->loc.end), store = part(g, g->from, g->to);
    for (size_t l = 0; l < 2; l++) {
        const tp_json *list = tp_json_get(g->doc, LISTS[l]);
        for (uint32_t i = 0; list && list->type == TP_J_ARRAY && i < list->u.items.n; i++) {
            const tp_json *name = tp_json_get(list->u.items.at[i], "name"),
                          *dtype = tp_json_get(list->u.items.at[i], "dtype");
            if (!name || !dtype || name->type != TP_J_STRING || dtype->type != TP_J_STRING ||
                store.n <= name->u.string.n || memcmp(store.p, name->u.string.p, name->u.string.n) != 0 ||
                store.p[name->u.string.n] != '[')
                continue;
            tp_edit edit = {g->f->loc.start, g->f->loc.end,
                            tp_printf(g->j->arena, names(value, " ") ? "(%.*s).astype(%.*s)" : "%.*s.astype(%.*s)",
                                      TP_FMT(value), TP_FMT(dtype->u.string))};
            add(g,
                tp_printf(g->j->arena, "cast to the dtype of `%.*s`: `%.*s`", TP_FMT(name->u.string),
                          TP_FMT(edit.text)),
                &edit, 1);
        }
    }
}

/* The shape of scratch that the line names: that of another block. */
static void guess_scratch(guesser *g)
{
    static const char *const LISTS[] = {"outputs", "inputs"};
    const tp_json *scratch = tp_json_get(g->doc, "scratch");
    for (uint32_t i = 0; scratch && scratch->type == TP_J_ARRAY && i < scratch->u.items.n; i++) {
        const tp_json *name = tp_json_get(scratch->u.items.at[i], "name"),
                      *shape = tp_json_get(scratch->u.items.at[i], "shape");
        if (!name || !shape || name->type != TP_J_STRING ||
            !names(part(g, g->from, g->to), tp_cstr(g->j->arena, name->u.string)))
            continue;
        for (size_t l = 0; l < 2; l++) {
            const tp_json *list = tp_json_get(g->doc, LISTS[l]);
            for (uint32_t k = 0; list && list->type == TP_J_ARRAY && k < list->u.items.n; k++) {
                const tp_json *block = tp_json_get(list->u.items.at[k], "block_shape"),
                              *of = tp_json_get(list->u.items.at[k], "name");
                if (!block || !of || of->type != TP_J_STRING)
                    continue;
                tp_edit edit = {shape->loc.start, shape->loc.end, part(g, block->loc.start, block->loc.end)};
                add(g,
                    tp_printf(g->j->arena, "give `%.*s` the shape of the block of `%.*s`", TP_FMT(name->u.string),
                              TP_FMT(of->u.string)),
                    &edit, 1);
            }
        }
    }
}

static void guess_types(guesser *g)
{
    bool integers = names(g->f->message, "int8") || names(g->f->message, "int32");
    guess_accumulator(g, integers ? "int32" : "float32");
    guess_keepdims(g);
    guess_cast(g);
    guess_axis(g);
    guess_transpose(g);
    guess_scratch(g);
}

/* exp(e)  ->  exp(e - max(e, axis=1, keepdims=True)) */
static void guess_maximum(guesser *g)
{
    for (uint32_t at = g->from; at < g->to; at++) {
        uint32_t end = begins(g, at, "exp(") ? end_of_argument(g, at + 4) : g->to;
        tp_str e = part(g, at + 4, end);
        if (end == g->to || names(e, "max"))
            continue;
        for (int axis = 1; axis >= 0; axis--) {
            tp_edit edit = {end, end, tp_printf(g->j->arena, " - max(%.*s, axis=%d, keepdims=True)", TP_FMT(e), axis)};
            add(g, tp_printf(g->j->arena, "subtract the maximum first: `exp(%.*s%.*s)`", TP_FMT(e), TP_FMT(edit.text)),
                &edit, 1);
        }
    }
}

/* Lines of the body, one after the other. */
static void each_line(guesser *g, void (*guess)(guesser *g))
{
    const tp_json *body = tp_json_get(g->doc, "kernel");
    for (uint32_t i = 0; body && body->type == TP_J_ARRAY && i < body->u.items.n; i++) {
        g->from = body->u.items.at[i]->loc.start + 1;
        g->to = body->u.items.at[i]->loc.end - 1;
        guess(g);
    }
}

/* -inf  ->  -1e30, wherever the body has it: -inf minus a maximum over no elements but -inf is no number */
static void guess_finite_mask(guesser *g)
{
    enum { MOST = 16 };
    tp_edit edits[MOST];
    uint32_t n = 0;
    const tp_json *body = tp_json_get(g->doc, "kernel");
    for (uint32_t at = body->loc.start; at + 4 < body->loc.end && n < MOST; at++)
        if (memcmp(g->text.p + at, "-inf", 4) == 0 && !isalnum((unsigned char)g->text.p[at + 4]))
            edits[n++] = (tp_edit){at, at + 4, TP_S("-1e30")};
    add(g, TP_S("mask with -1e30 instead of -inf: a row that is masked entirely then stays finite"), edits, n);
}

/* A shift by the maximum cancels where the reference divides by a sum of exponentials; elsewhere it would be tried in
 * vain. */
static bool normalises(const guesser *g)
{
    const tp_json *reference = tp_json_get(g->doc, "reference");
    tp_str text = reference ? part(g, reference->loc.start, reference->loc.end) : TP_S("");
    return names(text, "softmax") || names(text, "logsumexp") || names(text, "attention") || names(text, "max(");
}

static void guess_for(guesser *g)
{
    const tp_json *body = tp_json_get(g->doc, "kernel");
    bool types = strcmp(g->f->rule, TP_RULE_SPEC_TYPE) == 0,
         no_number =
             strcmp(g->f->rule, TP_RULE_NOT_EQUIVALENT) == 0 && (names(g->f->note, "inf") || names(g->f->note, "nan"));
    if (!body || body->type != TP_J_ARRAY || g->f->proposals.len)
        return;
    for (uint32_t i = 0; i < body->u.items.n && types; i++) {
        const tp_json *line = body->u.items.at[i];
        if (line->loc.start > g->f->loc.start || line->loc.end < g->f->loc.end)
            continue;
        g->from = line->loc.start + 1;
        g->to = line->loc.end - 1;
        guess_types(g);
    }
    if (no_number)
        guess_finite_mask(g);
    if ((no_number || strcmp(g->f->rule, TP_RULE_NUMERICALLY_UNSTABLE) == 0) && normalises(g))
        each_line(g, guess_maximum);
    if (strcmp(g->f->rule, TP_RULE_NOT_EQUIVALENT) == 0 && g->f->verdict == TP_VIOLATED)
        tp_propose_repairs(g->j, g->f);
}

void tp_guess_fixes(tp_job *j)
{
    parse_call p = {{.arena = j->arena, .source = &j->source}, NULL};
    bool any = false;
    for (uint32_t i = 0; i < j->report.findings.len; i++)
        any |= tp_has_guess(&j->report.findings.at[i]);
    if (!any || tp_try(j->arena, parse, &p) != TP_OK)
        return;
    for (uint32_t i = 0; i < j->report.findings.len; i++) {
        guesser g = {.j = j, .f = &j->report.findings.at[i], .doc = p.doc, .text = j->source.text};
        if (tp_has_guess(g.f))
            guess_for(&g);
    }
}

bool tp_has_guess(const tp_finding *f)
{
    return strcmp(f->rule, TP_RULE_SPEC_TYPE) == 0 || strcmp(f->rule, TP_RULE_NOT_EQUIVALENT) == 0 ||
           strcmp(f->rule, TP_RULE_NUMERICALLY_UNSTABLE) == 0;
}
