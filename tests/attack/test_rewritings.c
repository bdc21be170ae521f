/* Kernels of the gallery and of tests/kernels, written otherwise: operands
 * swapped, masks and maxima in other words, differences as sums, factors
 * distributed. Over the reals they are what they were: none may be accused. And
 * with one small defect: none of which execution refutes may be proven. How many
 * rewritings stay proven is counted. TEST_SEED, TEST_TRIALS. */
#define _GNU_SOURCE
#include <glob.h>

#include "base/rng.h"
#include "cli/mutations.h"
#include "spec/syntax.h"
#include "tests/attack/attack.h"

enum { TRIALS = 25, MOST_CHANGES = 4 };

/* ---- kernels ---- */

static void all_kernels(glob_t *found)
{
    assert_int_equal(glob("examples/[!b]*/*.tile.json", 0, NULL, found), 0);
    assert_int_equal(glob("tests/kernels/*.tile.json", GLOB_APPEND, NULL, found), 0);
}

/* ---- rewriting ---- */

typedef struct change {
    size_t from, to;
    tp_str text;
} change;

typedef struct rewriter {
    tp_ctx *c;
    TP_VEC(change) all;
} rewriter;

static tp_str text_at(const rewriter *r, const tp_node *n)
{
    tp_loc at = tp_node_loc(r->c, n);
    return (tp_str){r->c->source->text.p + at.start, at.end - at.start};
}

static void offer(rewriter *r, const tp_node *n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void offer(rewriter *r, const tp_node *n, const char *fmt, ...)
{
    tp_loc at = tp_node_loc(r->c, n);
    va_list ap;
    va_start(ap, fmt);
    change one = {at.start, at.end, tp_vprintf(r->c->arena, fmt, ap)};
    va_end(ap);
    tp_push(r->c->arena, r->all, one);
}

static void rewrite_binary(rewriter *r, const tp_node *n)
{
    tp_str a = text_at(r, n->kids[0]), b = text_at(r, n->kids[1]);
    const tp_node *right = n->kids[1];
    switch (n->op) {
    case TP_O_MUL:
        if (right->kind == TP_N_BINARY && (right->op == TP_O_ADD || right->op == TP_O_SUB))
            offer(r, n, "((%.*s) * (%.*s) %s (%.*s) * (%.*s))", TP_FMT(a), TP_FMT(text_at(r, right->kids[0])),
                  tp_operator_text(right->op), TP_FMT(a), TP_FMT(text_at(r, right->kids[1])));
        offer(r, n, "((%.*s) * (%.*s))", TP_FMT(b), TP_FMT(a));
        break;
    case TP_O_ADD:
    case TP_O_BITAND:
    case TP_O_BITOR: offer(r, n, "((%.*s) %s (%.*s))", TP_FMT(b), tp_operator_text(n->op), TP_FMT(a)); break;
    case TP_O_SUB: offer(r, n, "((%.*s) + (-(%.*s)))", TP_FMT(a), TP_FMT(b)); break;
    case TP_O_LT:
        offer(r, n, "((%.*s) > (%.*s))", TP_FMT(b), TP_FMT(a));
        offer(r, n, "(~((%.*s) >= (%.*s)))", TP_FMT(a), TP_FMT(b));
        break;
    case TP_O_LE:
        offer(r, n, "((%.*s) >= (%.*s))", TP_FMT(b), TP_FMT(a));
        offer(r, n, "(~((%.*s) < (%.*s)))", TP_FMT(b), TP_FMT(a));
        break;
    case TP_O_EQ: offer(r, n, "(~((%.*s) != (%.*s)))", TP_FMT(a), TP_FMT(b)); break;
    case TP_O_TRUEDIV: offer(r, n, "((%.*s) * (1 / (%.*s)))", TP_FMT(a), TP_FMT(b)); break;
    default: break; /* nothing to offer */
    }
}

static void rewrite_call(rewriter *r, const tp_node *n)
{
    if (tp_str_is(n->text, "where") && n->nkids == 3)
        offer(r, n, "where(~(%.*s), %.*s, %.*s)", TP_FMT(text_at(r, n->kids[0])), TP_FMT(text_at(r, n->kids[2])),
              TP_FMT(text_at(r, n->kids[1])));
    if (n->nkids == 2 && (tp_str_is(n->text, "maximum") || tp_str_is(n->text, "minimum"))) {
        tp_str a = text_at(r, n->kids[0]), b = text_at(r, n->kids[1]);
        offer(r, n, "%.*s(%.*s, %.*s)", TP_FMT(n->text), TP_FMT(b), TP_FMT(a));
        offer(r, n, "where((%.*s) %s (%.*s), %.*s, %.*s)", TP_FMT(a), tp_str_is(n->text, "maximum") ? ">" : "<",
              TP_FMT(b), TP_FMT(a), TP_FMT(b));
    }
    if (tp_str_is(n->text, "rsqrt") && n->nkids == 1)
        offer(r, n, "(1 / sqrt(%.*s))", TP_FMT(text_at(r, n->kids[0])));
    if (tp_str_is(n->text, "cdiv") && n->nkids == 2) {
        tp_str a = text_at(r, n->kids[0]), b = text_at(r, n->kids[1]);
        offer(r, n, "((%.*s + %.*s - 1) // %.*s)", TP_FMT(a), TP_FMT(b), TP_FMT(b));
    }
}

static void rewrite_expression(rewriter *r, const tp_node *n)
{
    if (!n)
        return;
    if (n->kind == TP_N_BINARY)
        rewrite_binary(r, n);
    if (n->kind == TP_N_CALL)
        rewrite_call(r, n);
    for (uint32_t i = 0; i < n->nkids && n->kind != TP_N_SEQUENCE && n->kind != TP_N_KEYWORD; i++)
        rewrite_expression(r, n->kids[i]);
}

static void rewrite_block(rewriter *r, const tp_block *b)
{
    for (uint32_t i = 0; i < b->len; i++) {
        rewrite_expression(r, b->at[i]->value);
        rewrite_block(r, &b->at[i]->body);
        rewrite_block(r, &b->at[i]->orelse);
    }
}

/* The text with one change, or NULL where it offers none. */
static const char *rewritten(tp_arena *a, tp_rng *rng, const char *text)
{
    loaded *l = load_text(text);
    rewriter r = {.c = &l->ctx};
    const char *out = NULL;
    const tp_json *body = l->spec ? tp_json_get(l->spec->doc, "kernel") : NULL;
    if (body) {
        tp_block b = tp_parse_program(r.c, body);
        rewrite_block(&r, &b);
        const tp_json *grid = tp_json_get(l->spec->doc, "grid");
        for (uint32_t i = 0; grid && i < grid->u.items.n; i++) {
            const tp_json *steps = tp_json_get(grid->u.items.at[i], "steps");
            if (steps && steps->type == TP_J_STRING)
                rewrite_expression(&r, tp_parse_expr(r.c, steps));
        }
    }
    if (r.all.len) {
        const change *x = &r.all.at[tp_rng_below(rng, r.all.len)];
        out = tp_cstr(a, tp_printf(a, "%.*s%.*s%s", (int)x->from, text, TP_FMT(x->text), text + x->to));
    }
    unload(l);
    return out;
}

static const char *read_kernel(tp_arena *a, const char *path)
{
    tp_str text, why;
    assert_int_equal(tp_read_file(a, path, TP_JSON_MAX_BYTES, &text, &why), TP_OK);
    return tp_cstr(a, text);
}

static void right_rewritings(void **state)
{
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS);
    unsigned members = 0, refused = 0, proven = 0, accused = 0, executed = 0;
    glob_t found;
    (void)state;
    all_kernels(&found);
    for (uint64_t t = 0; t < trials; t++) {
        tp_arena *a = tp_arena_new(0);
        tp_rng rng = tp_rng_new(seed, t + 0x726577);
        const char *path = found.gl_pathv[(t + seed * 7) % found.gl_pathc], *text = read_kernel(a, path);
        for (uint64_t n = 1 + tp_rng_below(&rng, MOST_CHANGES); n > 0; n--) {
            const char *next = rewritten(a, &rng, text);
            text = next ? next : text;
        }
        judged v = judge_text(text, BY_PROOF | (t % 8 == 0 ? BY_EXECUTION : 0));
        members++;
        refused += v.refused;
        proven += v.proven || v.listed;
        executed += v.executed;
        accused += v.accused;
        if (v.accused) /* print_error() cuts long texts */
            fprintf(stderr, "%s, seed %llu: a right rewriting is accused: %s\n%s\n", path, (unsigned long long)seed,
                    v.why, text);
        tp_arena_free(a);
    }
    globfree(&found);
    print_message("rewritings: seed %llu: of %u, %u are no valid specs, %u are proven, %u executed, %u accused\n",
                  (unsigned long long)seed, members, refused, proven, executed, accused);
    assert_int_equal(accused, 0);
    assert_true(proven * 2 > members);
}

/* ---- small defects ---- */

static void planted_defects(void **state)
{
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS);
    unsigned members = 0, refused = 0, accused = 0, proven = 0, refuted = 0;
    glob_t found;
    (void)state;
    all_kernels(&found);
    for (uint64_t t = 0; t < trials; t++) {
        tp_arena *a = tp_arena_new(0);
        tp_rng rng = tp_rng_new(seed, t + 0x646566);
        const char *path = found.gl_pathv[(t + seed * 11) % found.gl_pathc];
        loaded *l = load_text(read_kernel(a, path));
        assert_non_null(l->spec);
        tp_mutations all = tp_mutations_of(&l->ctx, l->spec->doc);
        const tp_mutation *m = &all.at[tp_rng_below(&rng, all.len)];
        judged v = judge_text(tp_cstr(a, m->text), EXECUTE_PROVEN);
        members++;
        refused += v.refused;
        accused += v.accused;
        proven += v.proven;
        refuted += v.proven && v.refuted;
        if (v.proven && v.refuted)
            print_error("%s, seed %llu: PROVEN, and a case differs (%s: %.*s -> %.*s): %s\n%.*s\n", path,
                        (unsigned long long)seed, m->kind, TP_FMT(m->before), TP_FMT(m->after), v.why, TP_FMT(m->text));
        else if (v.proven && getenv("TEST_VERBOSE"))
            print_message("  equal: %s (%s: %.*s -> %.*s)\n", strrchr(path, '/') + 1, m->kind, TP_FMT(m->before),
                          TP_FMT(m->after));
        unload(l);
        tp_arena_free(a);
    }
    globfree(&found);
    print_message(
        "defects: seed %llu: of %u, %u are no valid specs, %u are accused by rules, %u proven, of which %u are "
        "refuted by execution\n",
        (unsigned long long)seed, members, refused, accused, proven, refuted);
    assert_int_equal(refuted, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(right_rewritings), cmocka_unit_test(planted_defects)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
