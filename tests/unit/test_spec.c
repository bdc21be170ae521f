/* The foundations of a spec: expressions (printing and parsing are inverse,
 * values agree with an evaluator written from Python's definitions), JSON
 * positions, and the rounding of the 16-bit floats. Random parts print their
 * seed; TEST_SEED and TEST_TRIALS change them. */
#include "tests/unit/support.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "spec/scope.h"
#include "spec/syntax.h"

__extension__ typedef __int128 wide;

enum { SYMS = 4, TRIALS = 20000 };

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *given = getenv(variable);
    return given ? strtoull(given, NULL, 10) : otherwise;
}

/* ---- expressions ---- */

typedef struct tree tree;
struct tree {
    tp_expr_op op;
    tree *kid[3]; /* ITE: condition, then, else */
    int64_t value;
};

typedef struct forest {
    tp_arena *a;
    tp_rng rng;
} forest;

static unsigned pick(forest *f, unsigned n)
{
    return (unsigned)tp_rng_below(&f->rng, n);
}

static tree *node(forest *f, tp_expr_op op, tree *a, tree *b, tree *c)
{
    tree *t = TP_NEW(f->a, tree);
    *t = (tree){op, {a, b, c}, 0};
    return t;
}

static int64_t random_constant(forest *f)
{
    static const int64_t EXTREME[] = {INT64_MAX, INT64_MIN, INT64_MIN + 1, (int64_t)1 << 62, -((int64_t)1 << 31),
                                      63,        64};
    return pick(f, 12) ? (int64_t)pick(f, 12) - 3 : EXTREME[pick(f, sizeof EXTREME / sizeof *EXTREME)];
}

static tree *random_tree(forest *f, int depth, bool boolean)
{
    static const tp_expr_op INTEGER[] = {TP_E_ADD,   TP_E_SUB,      TP_E_MUL, TP_E_FLOORDIV, TP_E_MOD,  TP_E_BITAND,
                                         TP_E_BITOR, TP_E_BITXOR,   TP_E_SHL, TP_E_SHR,      TP_E_CDIV, TP_E_MIN,
                                         TP_E_MAX,   TP_E_ALIGN_UP, TP_E_NEG, TP_E_POW2,     TP_E_ITE};
    static const tp_expr_op BOOLEAN[] = {TP_E_EQ,  TP_E_NE, TP_E_LT,      TP_E_LE,  TP_E_GT, TP_E_GE,
                                         TP_E_AND, TP_E_OR, TP_E_IMPLIES, TP_E_NOT, TP_E_ITE};
    if (!boolean && (depth == 0 || pick(f, 4) == 0)) {
        bool constant = pick(f, 2);
        tree *t = node(f, constant ? TP_E_CONST : TP_E_SYM, NULL, NULL, NULL);
        t->value = constant ? random_constant(f) : (int64_t)pick(f, SYMS);
        return t;
    }
    tp_expr_op op = boolean ? BOOLEAN[depth == 0 ? pick(f, 6) : pick(f, 11)] : INTEGER[pick(f, 17)];
    int under = depth > 0 ? depth - 1 : 0;
    bool logical = op == TP_E_AND || op == TP_E_OR || op == TP_E_IMPLIES || op == TP_E_NOT;
    if (op == TP_E_ITE)
        return node(f, op, random_tree(f, under, true), random_tree(f, under, boolean), random_tree(f, under, boolean));
    tree *a = random_tree(f, under, logical);
    return node(f, op, a, op == TP_E_NEG || op == TP_E_NOT || op == TP_E_POW2 ? NULL : random_tree(f, under, logical),
                NULL);
}

static tp_expr build(tp_exprs *p, const tree *t)
{
    if (t->op == TP_E_CONST)
        return tp_const(p, t->value);
    if (t->op == TP_E_SYM)
        return tp_sym(p, (uint32_t)t->value);
    tp_expr a = build(p, t->kid[0]);
    if (!t->kid[1])
        return tp_op1(p, t->op, a);
    tp_expr b = build(p, t->kid[1]);
    return t->op == TP_E_ITE ? tp_ite(p, a, b, build(p, t->kid[2])) : tp_op2(p, t->op, a, b);
}

static tp_eval_error fits(wide v, int64_t *out)
{
    *out = (int64_t)v;
    return v >= INT64_MIN && v <= INT64_MAX ? TP_EVAL_OK : TP_EVAL_OVERFLOW;
}

static wide floor_div(wide x, wide y)
{
    wide q = x / y;
    return q * y != x && (x < 0) != (y < 0) ? q - 1 : q;
}

/* Python's value of t, or why 64 bits do not hold it. */
static tp_eval_error value_of(const tree *t, const int64_t *env, int64_t *out)
{
    int64_t x = 0, y = 0;
    tp_eval_error e;
    if (t->op == TP_E_CONST || t->op == TP_E_SYM)
        return *out = t->op == TP_E_CONST ? t->value : env[t->value], TP_EVAL_OK;
    if ((e = value_of(t->kid[0], env, &x)) != TP_EVAL_OK)
        return e;
    if (t->op == TP_E_ITE)
        return value_of(t->kid[x ? 1 : 2], env, out);
    if ((t->op == TP_E_AND && !x) || (t->op == TP_E_OR && x) || (t->op == TP_E_IMPLIES && !x))
        return *out = t->op != TP_E_AND, TP_EVAL_OK;
    if (t->kid[1] && (e = value_of(t->kid[1], env, &y)) != TP_EVAL_OK)
        return e;
    wide power = 1;
    switch (t->op) {
    case TP_E_ADD: return fits((wide)x + y, out);
    case TP_E_SUB: return fits((wide)x - y, out);
    case TP_E_MUL: return fits((wide)x * y, out);
    case TP_E_NEG: return fits(-(wide)x, out);
    case TP_E_FLOORDIV: return y ? fits(floor_div(x, y), out) : TP_EVAL_DIV_ZERO;
    case TP_E_MOD: return y ? fits(x - floor_div(x, y) * y, out) : TP_EVAL_DIV_ZERO;
    case TP_E_CDIV: return y ? fits(-floor_div(-(wide)x, y), out) : TP_EVAL_DIV_ZERO;
    case TP_E_ALIGN_UP:
        if (!y || fits(-floor_div(-(wide)x, y), &x) != TP_EVAL_OK) /* the quotient has to fit as well */
            return y ? TP_EVAL_OVERFLOW : TP_EVAL_DIV_ZERO;
        return fits((wide)x * y, out);
    case TP_E_MIN: return fits(x < y ? x : y, out);
    case TP_E_MAX: return fits(x > y ? x : y, out);
    case TP_E_BITAND: return fits(x & y, out);
    case TP_E_BITOR: return fits(x | y, out);
    case TP_E_BITXOR: return fits(x ^ y, out);
    case TP_E_SHL:
        return y < 0    ? TP_EVAL_DOMAIN
               : x == 0 ? fits(0, out)
               : y > 63 ? TP_EVAL_OVERFLOW
                        : fits((wide)x * ((wide)1 << y), out);
    case TP_E_SHR: return y < 0 ? TP_EVAL_DOMAIN : fits(y > 63 ? (x < 0 ? -1 : 0) : floor_div(x, (wide)1 << y), out);
    case TP_E_POW2:
        while (power < x)
            power *= 2;
        return fits(power, out);
    case TP_E_EQ: return fits(x == y, out);
    case TP_E_NE: return fits(x != y, out);
    case TP_E_LT: return fits(x < y, out);
    case TP_E_LE: return fits(x <= y, out);
    case TP_E_GT: return fits(x > y, out);
    case TP_E_GE: return fits(x >= y, out);
    case TP_E_NOT: return fits(!x, out);
    case TP_E_AND:
    case TP_E_OR:
    case TP_E_IMPLIES: return fits(y, out);
    case TP_E_CONST:
    case TP_E_SYM:
    case TP_E_READ:
    case TP_E_TOO_LARGE:
    case TP_E_ITE: break;
    }
    return TP_EVAL_DOMAIN;
}

/* A reader whose scope holds the sizes v0..v3. */
typedef struct parser {
    tp_exprs *p;
    tp_kernel k;
    tp_source source;
    tp_ctx ctx;
    tp_reader r;
    uint8_t done[SYMS];
    tp_expr out;
} parser;

static parser *new_parser(tp_arena *a)
{
    parser *q = TP_NEW(a, parser);
    q->p = tp_exprs_new(a);
    q->k = (tp_kernel){.arena = a, .exprs = q->p, .sizes = TP_NEWN(a, tp_size, SYMS), .nsizes = SYMS};
    q->source.path = TP_S("expression");
    q->ctx = (tp_ctx){.arena = a, .source = &q->source};
    q->r = (tp_reader){.c = &q->ctx, .k = &q->k, .size_state = q->done};
    for (uint32_t i = 0; i < SYMS; i++) {
        q->done[i] = 2; /* read */
        q->k.sizes[i] = (tp_size){.name = tp_printf(a, "v%u", i), .kind = TP_SIZE_RANGE, .sym = i};
        q->k.sizes[i].expr = tp_sym_new(q->p, q->k.sizes[i].name);
        tp_scope_add(&q->ctx, &q->r.names, q->k.sizes[i].name, TP_NAME_SIZE, i, (tp_loc){0});
    }
    return q;
}

static void parse_now(void *arg)
{
    parser *q = arg;
    q->out = tp_read_int_expr(&q->r, tp_json_parse(&q->ctx, false), TP_NAME_SIZE, "test");
}

static tp_expr parse(parser *q, tp_str text)
{
    tp_buf json = {.arena = q->ctx.arena};
    tp_buf_json(&json, text);
    q->source.text = tp_buf_view(&json);
    if (tp_try(q->ctx.arena, parse_now, q) != TP_OK)
        fail_msg("%.*s: %s", TP_FMT(text), q->ctx.findings.at[0].message.p);
    return q->out;
}

static void expressions(void **state)
{
    (void)state;
    uint64_t seed = number_from("TEST_SEED", 1), trials = number_from("TEST_TRIALS", TRIALS);
    unsigned defined = 0, overflowed = 0, normal_failed = 0;
    print_message("expressions: %llu from seed %llu\n", (unsigned long long)trials, (unsigned long long)seed);
    for (uint64_t trial = 0; trial < trials; trial++) {
        tp_arena *a = tp_arena_new(0);
        forest f = {a, tp_rng_new(seed, trial)};
        parser *q = new_parser(a);
        tree *t = random_tree(&f, 4, false);
        tp_expr e = build(q->p, t);
        assert_false(tp_exprs_overflowed(q->p));

        tp_str text = tp_expr_text(q->p, e);
        if (!tp_same(parse(q, text), e))
            fail_msg("trial %llu: %.*s parses as %.*s", (unsigned long long)trial, TP_FMT(text),
                     TP_FMT(tp_expr_text(q->p, q->out)));

        tp_expr normal = tp_expr_normal(q->p, e);
        for (int point = 0; point < 4; point++) {
            int64_t env[SYMS], want = 0, got = 0, again = 0;
            for (int i = 0; i < SYMS; i++)
                env[i] = random_constant(&f);
            tp_eval_error expected = value_of(t, env, &want), actual = tp_expr_eval(q->p, e, env, &got);
            if (expected != actual || (!expected && want != got))
                fail_msg("trial %llu: %.*s is %lld (%s), not %lld (%s)", (unsigned long long)trial, TP_FMT(text),
                         (long long)want, tp_eval_error_text(expected), (long long)got, tp_eval_error_text(actual));
            defined += !expected;
            overflowed += expected == TP_EVAL_OVERFLOW;
            if (expected)
                continue;
            if (tp_expr_eval(q->p, normal, env, &again) != TP_EVAL_OK) /* reordered sums may overflow on the way */
                normal_failed++;
            else if (again != want)
                fail_msg("trial %llu: normal form %.*s of %.*s is %lld, not %lld", (unsigned long long)trial,
                         TP_FMT(tp_expr_text(q->p, normal)), TP_FMT(text), (long long)again, (long long)want);
        }
        tp_arena_free(a);
    }
    print_message("expressions: %u values, %u overflows, %u normal forms without a value\n", defined, overflowed,
                  normal_failed);
    assert_true(defined > trials && overflowed > 0 && normal_failed * 50 < defined);
}

static void equal_polynomials_have_one_normal_form(void **state)
{
    (void)state;
    static const struct {
        const char *left, *right;
        bool same;
    } CASES[] = {
        {"(v0 + v1) * (v0 - v1)", "v0 * v0 - v1 * v1", true},
        {"2 * (v0 + 3) - 6", "v0 + v0", true},
        {"v0 * (v1 + v2) * v3", "v3 * v0 * v2 + v1 * v3 * v0", true},
        {"(v0 + v1) // v2", "(v1 + v0) // v2", true},
        {"min(v0, v1 + 1)", "min(1 + v1, v0)", true},
        {"cdiv(v0 + v0, 2 * v1)", "cdiv(2 * v0, v1 + v1)", true},
        {"v0 - v0", "0", true},
        {"-(v0 - v1)", "v1 - v0", true},
        {"v0 // 2 * 2", "v0", false},
        {"v0 * v1", "v0 + v1", false},
        {"max(v0, v1)", "min(v0, v1)", false},
    };
    tp_arena *a = tp_arena_new(0);
    parser *q = new_parser(a);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        tp_expr left = tp_expr_normal(q->p, parse(q, tp_str_c(CASES[i].left)));
        tp_expr right = tp_expr_normal(q->p, parse(q, tp_str_c(CASES[i].right)));
        if (tp_same(left, right) != CASES[i].same)
            fail_msg("%s and %s: expected %s", CASES[i].left, CASES[i].right, CASES[i].same ? "the same" : "different");
    }
    tp_arena_free(a);
}

/* ---- JSON positions ---- */

typedef struct placed {
    tp_json_type type;
    uint32_t start, end;
    int64_t integer;
    bool boolean;
    tp_str string;
} placed;

typedef struct writer {
    forest f;
    tp_buf text;
    TP_VEC(placed) values;  /* in document order */
    TP_VEC(uint32_t) where; /* of the last string: source offset of each decoded byte, and of the end */
    bool comments;
} writer;

static void write_space(writer *w)
{
    static const char *const SPACE[] = {" ", "\n", "\r\n", "\t", "  ", "// \"note\" \xc3\xa9\n", "/* , [ */", "/**/"};
    while (pick(&w->f, 3) == 0)
        tp_buf_c(&w->text, SPACE[pick(&w->f, w->comments ? 8 : 5)]);
}

static tp_str write_string(writer *w)
{
    static const struct {
        const char *raw, *decoded;
    } PIECES[] = {{"a", "a"},
                  {"N + 1", "N + 1"},
                  {"\\n", "\n"},
                  {"\\\"", "\""},
                  {"\\\\", "\\"},
                  {"\\/", "/"},
                  {"\xc3\xa9", "\xc3\xa9"},
                  {"\\u00e9", "\xc3\xa9"},
                  {"\\u0041", "A"},
                  {"//", "//"},
                  {"\xe2\x82\xac", "\xe2\x82\xac"},
                  {"\\u20ac", "\xe2\x82\xac"},
                  {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
                  {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
                  {"\\t", "\t"},
                  {",]", ",]"}};
    tp_buf decoded = {.arena = w->f.a};
    w->where.len = 0;
    tp_buf_c(&w->text, "\"");
    while (pick(&w->f, 6)) {
        unsigned i = pick(&w->f, sizeof PIECES / sizeof *PIECES);
        size_t raw = strlen(PIECES[i].raw), n = strlen(PIECES[i].decoded);
        for (size_t b = 0; b < n; b++) /* bytes of one escape share a place; other text maps byte by byte */
            tp_push(w->f.a, w->where, (uint32_t)(w->text.n + (PIECES[i].raw[0] == '\\' ? 0 : b)));
        tp_buf_add(&w->text, PIECES[i].raw, raw);
        tp_buf_c(&decoded, PIECES[i].decoded);
    }
    tp_push(w->f.a, w->where, (uint32_t)w->text.n);
    tp_buf_c(&w->text, "\"");
    return tp_buf_view(&decoded);
}

static void write_value(writer *w, int depth)
{
    unsigned kind = pick(&w->f, depth > 0 ? 7 : 5);
    uint32_t at = w->values.len;
    placed v = {.start = (uint32_t)w->text.n};
    tp_push(w->f.a, w->values, v);
    if (kind == 0) {
        v.type = TP_J_NULL;
        tp_buf_c(&w->text, "null");
    } else if (kind == 1) {
        v.type = TP_J_BOOL;
        v.boolean = pick(&w->f, 2);
        tp_buf_c(&w->text, v.boolean ? "true" : "false");
    } else if (kind == 2) {
        v.type = TP_J_INT;
        v.integer = random_constant(&w->f);
        tp_buf_printf(&w->text, "%lld", (long long)v.integer);
    } else if (kind == 3) {
        v.type = TP_J_REAL;
        tp_buf_c(&w->text, "-1.5e-3");
    } else if (kind == 4) {
        v.type = TP_J_STRING;
        v.string = write_string(w);
    } else {
        bool object = kind == 6;
        v.type = object ? TP_J_OBJECT : TP_J_ARRAY;
        tp_buf_c(&w->text, object ? "{" : "[");
        unsigned n = pick(&w->f, 5);
        for (unsigned i = 0; i < n; i++) {
            write_space(w);
            if (object) {
                tp_buf_printf(&w->text, "\"k%u\"", i);
                write_space(w);
                tp_buf_c(&w->text, ":");
                write_space(w);
            }
            write_value(w, depth - 1);
            write_space(w);
            if (i + 1 < n || (w->comments && pick(&w->f, 4) == 0))
                tp_buf_c(&w->text, ",");
        }
        write_space(w);
        tp_buf_c(&w->text, object ? "}" : "]");
    }
    v.end = (uint32_t)w->text.n;
    w->values.at[at] = v;
}

typedef struct json_call {
    tp_ctx *c;
    bool comments;
    tp_json *out;
} json_call;

static void parse_json(void *arg)
{
    json_call *call = arg;
    call->out = tp_json_parse(call->c, call->comments);
}

static uint32_t compare_values(const writer *w, uint32_t at, const tp_json *v)
{
    const placed *want = &w->values.at[at++];
    assert_int_equal(v->type, want->type);
    assert_int_equal(v->loc.start, want->start);
    assert_int_equal(v->loc.end, want->end);
    if (v->type == TP_J_INT)
        assert_true(v->u.integer == want->integer);
    if (v->type == TP_J_BOOL)
        assert_int_equal(v->u.boolean, want->boolean);
    if (v->type == TP_J_REAL)
        assert_true(v->u.real == -1.5e-3);
    if (v->type == TP_J_STRING)
        assert_true(tp_str_eq(v->u.string, want->string));
    for (uint32_t i = 0; v->type >= TP_J_ARRAY && i < v->u.items.n; i++)
        at = compare_values(w, at, v->u.items.at[i]);
    return at;
}

static void every_json_value_has_its_place(void **state)
{
    (void)state;
    uint64_t seed = number_from("TEST_SEED", 1);
    for (uint64_t trial = 0; trial < 4000; trial++) {
        tp_arena *a = tp_arena_new(0);
        writer w = {.f = {a, tp_rng_new(seed, trial)}, .text = {.arena = a}, .comments = trial & 1};
        write_space(&w);
        write_value(&w, 4);
        write_space(&w);
        tp_source source = {.path = TP_S("random"), .text = tp_buf_view(&w.text)};
        tp_ctx ctx = {.arena = a, .source = &source};
        json_call call = {.c = &ctx, .comments = w.comments};
        if (tp_try(a, parse_json, &call) != TP_OK)
            fail_msg("seed %llu trial %llu: %.*s: %s", (unsigned long long)seed, (unsigned long long)trial,
                     TP_FMT(source.text), ctx.findings.at[0].message.p);
        assert_int_equal(compare_values(&w, 0, call.out), w.values.len);
        tp_arena_free(a);
    }
}

static void places_inside_strings(void **state)
{
    (void)state;
    for (uint64_t trial = 0; trial < 4000; trial++) {
        tp_arena *a = tp_arena_new(0);
        writer w = {.f = {a, tp_rng_new(number_from("TEST_SEED", 1), trial)}, .text = {.arena = a}};
        tp_str decoded = write_string(&w);
        tp_source source = {.path = TP_S("random"), .text = tp_buf_view(&w.text)};
        tp_ctx ctx = {.arena = a, .source = &source};
        json_call call = {.c = &ctx};
        assert_int_equal(tp_try(a, parse_json, &call), TP_OK);
        for (size_t from = 0; from < decoded.n; from++) {
            if (((unsigned char)decoded.p[from] & 0xc0) == 0x80)
                continue; /* inside a code point */
            size_t to = from + 1;
            while (to < decoded.n && ((unsigned char)decoded.p[to] & 0xc0) == 0x80)
                to++;
            tp_loc place = tp_json_inside(&ctx, call.out, from, to);
            if (place.start != w.where.at[from] || place.end != w.where.at[to])
                fail_msg("%.*s: bytes %zu to %zu are at %u to %u, not at %u to %u", TP_FMT(source.text), from, to,
                         w.where.at[from], w.where.at[to], place.start, place.end);
        }
        tp_arena_free(a);
    }
}

static void columns_count_code_points(void **state)
{
    (void)state;
    tp_source s = {.path = TP_S("text"), .text = TP_S("ab\n\xc3\xa9\xe2\x82\xacz\r\n\nq")};
    static const struct {
        uint32_t offset, line, column;
    } CASES[] = {{0, 1, 1}, {1, 1, 2}, {2, 1, 3}, {3, 2, 1}, {5, 2, 2}, {8, 2, 3}, {11, 3, 1}, {12, 4, 1}, {13, 4, 2}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        tp_linecol at = tp_linecol_of(&s, CASES[i].offset);
        assert_int_equal(at.line, CASES[i].line);
        assert_int_equal(at.column, CASES[i].column);
    }
}

/* ---- 16-bit floats ---- */

typedef struct half {
    const char *name;
    uint16_t (*from_f64)(double);
    uint16_t (*from_f32)(float);
    float (*to_f32)(uint16_t);
    uint16_t infinity;
} half;

static void check_rounding(const half *h, double d, uint16_t want)
{
    for (int negative = 0; negative < 2; negative++) {
        double x = negative ? -d : d;
        uint16_t bits = (uint16_t)(want | (negative ? 0x8000u : 0));
        if (h->from_f64(x) != bits)
            fail_msg("%s: %a rounds to %#x, not %#x", h->name, x, bits, h->from_f64(x));
        if ((double)(float)x == x && h->from_f32((float)x) != bits)
            fail_msg("%s from float32: %a rounds to %#x, not %#x", h->name, x, bits, h->from_f32((float)x));
    }
}

/* Every value is a fixed point; between neighbours the nearer one wins and the
 * middle goes to the even one. Above the largest, the "neighbour" is where the
 * next one would stand, and rounding there gives infinity. */
static void half_rounding(void **state)
{
    (void)state;
    static const half HALVES[] = {
        {"bfloat16", tp_bf16_from_f64, tp_bf16_from_f32, tp_bf16_to_f32, 0x7f80},
        {"float16", tp_f16_from_f64, tp_f16_from_f32, tp_f16_to_f32, 0x7c00},
    };
    for (size_t i = 0; i < 2; i++) {
        const half *h = &HALVES[i];
        for (uint16_t u = 0; u < h->infinity; u++) {
            double lo = (double)h->to_f32(u);
            bool last = u + 1 == h->infinity;
            double hi = last ? lo + (lo - (double)h->to_f32((uint16_t)(u - 1))) : (double)h->to_f32((uint16_t)(u + 1));
            double middle = lo + (hi - lo) / 2; /* exact: both have few bits */
            assert_true(lo < hi);
            check_rounding(h, lo, u);
            check_rounding(h, middle, u & 1 ? (uint16_t)(u + 1) : u);
            check_rounding(h, nextafter(middle, 0), u);
            check_rounding(h, nextafter(middle, hi), (uint16_t)(u + 1));
            check_rounding(h, (double)nextafterf((float)middle, 0.0f), u);
            check_rounding(h, (double)nextafterf((float)middle, (float)hi), (uint16_t)(u + 1));
        }
        check_rounding(h, (double)INFINITY, h->infinity);
        check_rounding(h, 1e300, h->infinity);
        for (uint32_t u = (uint32_t)h->infinity + 1; u < 0x8000u; u++)
            assert_true(isnan(h->to_f32((uint16_t)u)) && isnan(h->to_f32((uint16_t)(u | 0x8000u))));
        assert_true(isnan(h->to_f32(h->from_f64((double)NAN))) && isnan(h->to_f32(h->from_f32(NAN))));
    }
}

/* A program that uses the library may have set a locale with decimal commas. */
static void numbers_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "pt_BR.UTF-8", "ru_RU.UTF-8"};
    bool found = false;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES && !found; i++)
        found = setlocale(LC_ALL, NAMES[i]) != NULL;
    if (!found)
        skip(); /* none is installed */
    tp_arena *a = tp_arena_new(0);
    char plain[8];
    snprintf(plain, sizeof plain, "%.1f", 0.5);
    double read = tp_real("0.5");
    tp_str written = tp_printf(a, "%.1f", 0.5);
    setlocale(LC_ALL, "C");
    assert_string_equal(plain, "0,5");
    assert_true(read == 0.5);
    assert_true(tp_str_is(written, "0.5"));
    tp_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_do_not_depend_on_the_locale),
        cmocka_unit_test(expressions),
        cmocka_unit_test(equal_polynomials_have_one_normal_form),
        cmocka_unit_test(every_json_value_has_its_place),
        cmocka_unit_test(places_inside_strings),
        cmocka_unit_test(columns_count_code_points),
        cmocka_unit_test(half_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
