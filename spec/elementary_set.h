/* The elementary functions of spec/prims.def for one instruction set and one type; elementary.c includes this once for
 * each, with
 *   SET, ATTRIBUTE   suffix of the names, and what makes the compiler use the set
 *   NUMBER, REAL(c)  float or double, and a constant of it
 *   LANES, WORD      numbers in a vector, and the compiler's own type of one
 *   OF(f, u10)       SLEEF's function of vectors, f = exp, at most 1.0 ULP off by its documentation
 *                    (u15: 1.5; u35: 3.5, with which tanh takes 0.4 of the time)
 *   ROOT(x)          square root of a WORD, correctly rounded
 * What a row says over x and y is read with x and y as vectors. */
#define NAME_(x, set) x##_##set
#define NAME_OF(x, set) NAME_(x, set)
#define NAME(x) NAME_OF(x, SET)
#define vector NAME(vector)

#if LANES == 1
typedef NUMBER vector;
#else
typedef NUMBER vector __attribute__((vector_size(sizeof(NUMBER) * LANES), aligned(sizeof(NUMBER)), may_alias));
#endif

#define FUNCTION1(name, ulps)                                                                                          \
    ATTRIBUTE WORD OF(name, ulps)(WORD);                                                                               \
    static inline ATTRIBUTE vector NAME(name)(vector x)                                                                \
    {                                                                                                                  \
        return (vector)OF(name, ulps)((WORD)x);                                                                        \
    }
FUNCTION1(exp, u10)
FUNCTION1(exp2, u10)
FUNCTION1(expm1, u10)
FUNCTION1(log, u10)
FUNCTION1(log1p, u10)
FUNCTION1(log2, u10)
FUNCTION1(tanh, u35)
FUNCTION1(erf, u10)
FUNCTION1(erfc, u15)
FUNCTION1(sin, u10)
FUNCTION1(cos, u10)
FUNCTION1(tan, u10)
ATTRIBUTE WORD OF(pow, u10)(WORD, WORD);

#define exp(x) NAME(exp)(x)
#define exp2(x) NAME(exp2)(x)
#define expm1(x) NAME(expm1)(x)
#define log(x) NAME(log)(x)
#define log1p(x) NAME(log1p)(x)
#define log2(x) NAME(log2)(x)
#define tanh(x) NAME(tanh)(x)
#define erf(x) NAME(erf)(x)
#define erfc(x) NAME(erfc)(x)
#define sin(x) NAME(sin)(x)
#define cos(x) NAME(cos)(x)
#define tan(x) NAME(tan)(x)
#define pow(x, y) ((vector)OF(pow, u10)((WORD)(x), (WORD)(y)))
#define sqrt(x) ((vector)ROOT((WORD)(x)))

/* SLEEF's NaNs have another sign in each instruction set, which a bitcast shows: here all are the same. */
static inline ATTRIBUTE vector NAME(one_nan)(vector v)
{
#if LANES == 1
    return v == v ? v : (NUMBER)__builtin_nan("");
#else
    __typeof__(v == v) number = v == v;
    vector nan = (vector){0} + (NUMBER)__builtin_nan("");
    return (vector)(((__typeof__(number))v & number) | ((__typeof__(number))nan & ~number));
#endif
}

/* n elements from p, or n times p[0]; what is missing to a vector is 0. */
static inline ATTRIBUTE vector NAME(take)(const NUMBER *p, bool scalar, size_t n)
{
    NUMBER part[LANES] = {0};
    vector v;
    for (size_t i = 0; i < n; i++)
        part[i] = p[scalar ? 0 : i];
    memcpy(&v, part, sizeof v);
    return v;
}

/* Row q of an operand. */
static inline const NUMBER *NAME(line)(const void *data, size_t q, ptrdiff_t pitch)
{
    return (const NUMBER *)(const void *)((const char *)data + (ptrdiff_t)q * pitch);
}

#define LOOP(id, f)                                                                                                    \
    static ATTRIBUTE void NAME(id)(const tp_rows *rows, size_t n, const void *va, bool scalar_a, const void *vb,       \
                                   bool scalar_b, void *vr)                                                            \
    {                                                                                                                  \
        for (size_t q = 0; q < rows->n; q++) {                                                                         \
            const NUMBER *a = NAME(line)(va, q, rows->a), *b = vb ? NAME(line)(vb, q, rows->b) : NULL;                 \
            NUMBER *r = (NUMBER *)(void *)((char *)vr + (ptrdiff_t)q * rows->r);                                       \
            size_t at = 0;                                                                                             \
            for (; at + LANES <= n && !scalar_a && (!b || !scalar_b); at += LANES) {                                   \
                vector x = *(const vector *)(a + at), y = *(const vector *)(b ? b + at : a + at);                      \
                (void)y;                                                                                               \
                *(vector *)(r + at) = NAME(one_nan)(f);                                                                \
            }                                                                                                          \
            for (size_t some; at < n; at += some) {                                                                    \
                some = n - at < LANES ? n - at : LANES;                                                                \
                vector x = NAME(take)(scalar_a ? a : a + at, scalar_a, some),                                          \
                       y = b ? NAME(take)(scalar_b ? b : b + at, scalar_b, some) : x, v = NAME(one_nan)(f);            \
                (void)y;                                                                                               \
                memcpy(r + at, &v, some * sizeof *r);                                                                  \
            }                                                                                                          \
        }                                                                                                              \
    }
#define NO_LOOP(id, f)
#define TP_REAL(x, c) REAL(c)
#define ROW_EXACT NO_LOOP
#define ROW_ROUNDED NO_LOOP
#define ROW_ULPS(n) LOOP
#define UNARY(id, name, operands, result, f, i, expr, rounding, ...) ROW_##rounding(id, (f))
#define BINARY(id, name, operands, result, f, i, expr, rounding, ...) ROW_##rounding(id, (f))
#include "spec/prims.def"

#define ENTRY(id, f) [TP_P_##id] = NAME(id),
#undef ROW_ULPS
#define ROW_ULPS(n) ENTRY
static const tp_loop NAME(loops)[TP_PRIMS] = {
#define UNARY(id, name, operands, result, f, i, expr, rounding, ...) ROW_##rounding(id, (f))
#define BINARY(id, name, operands, result, f, i, expr, rounding, ...) ROW_##rounding(id, (f))
#include "spec/prims.def"
};

#undef exp
#undef exp2
#undef expm1
#undef log
#undef log1p
#undef log2
#undef tanh
#undef erf
#undef erfc
#undef sin
#undef cos
#undef tan
#undef pow
#undef sqrt
#undef NAME_
#undef NAME_OF
#undef NAME
#undef vector
#undef FUNCTION1
#undef LOOP
#undef NO_LOOP
#undef TP_REAL
#undef ENTRY
#undef ROW_EXACT
#undef ROW_ROUNDED
#undef ROW_ULPS
#undef SET
#undef ATTRIBUTE
#undef NUMBER
#undef REAL
#undef LANES
#undef WORD
#undef OF
#undef ROOT
