/* Literals. Over the reals a literal is the number that is written. Irrational
 * numbers cannot be written, and importers print float32: where equality is not
 * seen otherwise, a literal that is the rounding of a number the two programs
 * may mean is taken for it, and the proof lists the pair. */
#include "analyzer/equality/sum.h"
#include "spec/constants.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- collecting ---- */

static void add_literal(summary *s, double v)
{
    v = fabs(v);
    for (uint32_t i = 0; i < s->literals.len; i++)
        if (s->literals.at[i] == v)
            return;
    tp_push(s->arena, s->literals, v);
}

static bool look_at(const tp_statement *statement, void *ctx)
{
    summary *s = ctx;
    if (statement->kind == TP_COMPUTE && statement->inst->prim == TP_P_LITERAL && isfinite(statement->inst->real))
        add_literal(s, statement->inst->real);
    return false;
}

void literals_of(summary *s, const tp_program *p, bool body)
{
    tp_region_any(&p->statements, look_at, s);
    s->float64 |= body && tp_program_has(p, TP_F64);
    add_literal(s, SUMMARY_GELU_CUBE);
    add_literal(s, SUMMARY_GELU_SCALE);
}

/* ---- what is meant ---- */

/* As short as it can be told. */
static tp_str number_text(summary *s, double v)
{
    char text[32];
    for (int digits = 1; digits < 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            return tp_printf(s->arena, "%s", text);
    }
    return tp_printf(s->arena, "%.17g", v);
}

static void take_for(summary *s, double v, tp_str other)
{
    record_open(s, TP_LAW_MEANT);
    tp_str pair = tp_printf(s->arena, "%.*s = %.*s", TP_FMT(number_text(s, v)), TP_FMT(other));
    for (uint32_t i = 0; i < s->out->constants.len; i++)
        if (tp_str_eq(s->out->constants.at[i], pair))
            return;
    tp_push(s->arena, s->out->constants, pair);
}

static uint32_t square_root_of(summary *s, int64_t n)
{
    return sum_square_root(s, sum_constant(s, n));
}

/* A simple number of which v is the rounding. */
static bool simple_meaning(summary *s, double v, uint32_t *out)
{
    static const double LN2 = 0.6931471805599453;
    bool printed = tp_constant_printed(v) && !s->float64;
    if (v == LN2 || (printed && (float)v == (float)LN2)) {
        *out = sum_log2e(s, sum_constant(s, 1), -1);
        take_for(s, v, TP_S("ln(2)"));
        return true;
    }
    const tp_constant c = tp_constant_of(v, s->float64);
    if (c.kind == TP_CONSTANT_EXACT || c.kind == TP_CONSTANT_OTHER ||
        (!printed && fabs(tp_constant_value(&c) - v) > 0x1p-52 * v))
        return false;
    const char *times = c.times_log2e ? " log2(e)" : "";
    tp_str text;
    switch (c.kind) {
    case TP_CONSTANT_FRACTION: {
        product p = product_of((int64_t)c.a, (int64_t)c.b);
        *out = sum_intern(s, &p, 1);
        text = c.b == 1 && c.a == 1 ? tp_str_c(times + 1) : tp_printf(s->arena, "%.0f/%.0f%s", c.a, c.b, times);
        break;
    }
    case TP_CONSTANT_ROOT:
        *out = square_root_of(s, (int64_t)c.a);
        text = tp_printf(s->arena, "sqrt(%.0f)%s", c.a, times);
        break;
    case TP_CONSTANT_INVERSE_ROOT:
        *out = sum_inverse(s, square_root_of(s, (int64_t)c.a));
        text = tp_printf(s->arena, "1/sqrt(%.0f)%s", c.a, times);
        break;
    case TP_CONSTANT_EXACT:
    case TP_CONSTANT_OTHER: return false;
    }
    if (c.times_log2e)
        *out = sum_log2e(s, *out, 1);
    take_for(s, v, text);
    return true;
}

/* The decimal of few digits of which a float32 is the rounding, as 0.134145: people write such. */
static bool short_decimal(summary *s, double v, uint32_t *out)
{
    enum { FEW = 6 };
    char text[32];
    for (int digits = 1; digits <= FEW && tp_constant_printed(v) && !s->float64; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        double decimal = strtod(text, NULL);
        if ((float)decimal != (float)v)
            continue;
        *out = sum_number(s, decimal);
        if (decimal != v)
            take_for(s, v, tp_printf(s->arena, "%s", text));
        return true;
    }
    return false;
}

/* Of a v that was printed from a float32: the one literal of which it is the
 * rounding, else the float32. */
static double source_constant(summary *s, double v)
{
    double found = 0;
    if (!tp_constant_printed(v) || s->float64)
        return v;
    for (uint32_t i = 0; i < s->literals.len; i++) {
        double y = s->literals.at[i];
        if (tp_constant_printed(y) || (float)y != (float)v || y == v)
            continue;
        if (found != 0)
            return v; /* which one? */
        found = y;
    }
    return found != 0 ? found : (double)(float)v;
}

/* A literal of the programs of which v is the root, as people write sqrt(2 / pi) and 0.79788456; 0: there is none. */
static double square_among_literals(const summary *s, double v)
{
    for (uint32_t i = 0; i < s->literals.len; i++) {
        double root = sqrt(s->literals.at[i]);
        if (s->literals.at[i] != v && (s->float64 ? fabs(root - v) <= 0x1p-52 * v : (float)root == (float)v))
            return s->literals.at[i];
    }
    return 0;
}

static uint32_t as_rounding(summary *s, double v)
{
    double other = source_constant(s, v);
    uint32_t x;
    int64_t num, den;
    if (other == (double)(float)v && simple_meaning(s, v, &x))
        return x;
    if (other == (double)(float)v && short_decimal(s, v, &x))
        return x;
    if (other != v)
        take_for(s, v, number_text(s, other));
    if (!literal_fraction(other, &num, &den) && simple_meaning(s, other, &x))
        return x;
    double square = square_among_literals(s, other);
    if (square != 0) {
        take_for(s, other, tp_printf(s->arena, "sqrt(%.*s)", TP_FMT(number_text(s, square))));
        return sum_square_root(s, sum_literal(s, square));
    }
    return sum_number(s, other);
}

uint32_t sum_literal(summary *s, double v)
{
    int64_t num, den;
    uint32_t x = !s->roundings || (literal_fraction(fabs(v), &num, &den) && !tp_constant_printed(fabs(v)))
                     ? sum_number(s, fabs(v))
                     : as_rounding(s, fabs(v));
    return v < 0 ? sum_add(s, sum_constant(s, 0), x, -1) : x;
}

bool literals_may_be_rounded(const summary *s)
{
    int64_t num, den;
    bool any = false;
    for (uint32_t i = 0; i < s->literals.len; i++)
        any |= !literal_fraction(s->literals.at[i], &num, &den) || tp_constant_printed(s->literals.at[i]);
    return any;
}
