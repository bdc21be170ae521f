/* The elementary functions of spec/prims.def for one instruction set; elementary.c includes this once for each, with
 *   SET, ATTRIBUTE   suffix of the names, and what makes the compiler use the set
 *   LANES, WORD      float32s in a vector, and the compiler's own type of one
 *   OF(f, u10)       SLEEF's function of vectors, f = expf, at most 1.0 ULP off by its documentation
 *                    (u15: 1.5; u35: 3.5, with which tanh takes 0.4 of the time)
 *   ROOT(x)          square root of a WORD, correctly rounded
 * What a row says over x and y is read with x and y as vectors. */
#define NAME_(x, set) x##_##set
#define NAME_OF(x, set) NAME_(x, set)
#define NAME(x) NAME_OF(x, SET)
#define vector NAME(vector)

#if LANES == 1
typedef float vector;
#else
typedef float vector __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
#endif

#define FUNCTION1(name, ulps)                                                                                          \
    ATTRIBUTE WORD OF(name, ulps)(WORD);                                                                               \
    static inline ATTRIBUTE vector NAME(name)(vector x)                                                                \
    {                                                                                                                  \
        return (vector)OF(name, ulps)((WORD)x);                                                                        \
    }
FUNCTION1(expf, u10)
FUNCTION1(exp2f, u10)
FUNCTION1(expm1f, u10)
FUNCTION1(logf, u10)
FUNCTION1(log1pf, u10)
FUNCTION1(log2f, u10)
FUNCTION1(tanhf, u35)
FUNCTION1(erff, u10)
FUNCTION1(erfcf, u15)
FUNCTION1(sinf, u10)
FUNCTION1(cosf, u10)
FUNCTION1(tanf, u10)
ATTRIBUTE WORD OF(powf, u10)(WORD, WORD);

#define exp(x) NAME(expf)(x)
#define exp2(x) NAME(exp2f)(x)
#define expm1(x) NAME(expm1f)(x)
#define log(x) NAME(logf)(x)
#define log1p(x) NAME(log1pf)(x)
#define log2(x) NAME(log2f)(x)
#define tanh(x) NAME(tanhf)(x)
#define erf(x) NAME(erff)(x)
#define erfc(x) NAME(erfcf)(x)
#define sin(x) NAME(sinf)(x)
#define cos(x) NAME(cosf)(x)
#define tan(x) NAME(tanf)(x)
#define pow(x, y) ((vector)OF(powf, u10)((WORD)(x), (WORD)(y)))
#define sqrt(x) ((vector)ROOT((WORD)(x)))

/* n elements from p, or n times p[0]; what is missing to a vector is 0. */
static inline ATTRIBUTE vector NAME(take)(const float *p, bool scalar, size_t n)
{
    float part[LANES] = {0};
    vector v;
    for (size_t i = 0; i < n; i++)
        part[i] = p[scalar ? 0 : i];
    memcpy(&v, part, sizeof v);
    return v;
}

/* Row q of an operand. */
static inline const float *NAME(line)(const void *data, size_t q, ptrdiff_t pitch)
{
    return (const float *)(const void *)((const char *)data + (ptrdiff_t)q * pitch);
}

#define LOOP(id, f)                                                                                                    \
    static ATTRIBUTE void NAME(id)(const tp_rows *rows, size_t n, const void *va, bool scalar_a, const void *vb,       \
                                   bool scalar_b, void *vr)                                                            \
    {                                                                                                                  \
        for (size_t q = 0; q < rows->n; q++) {                                                                         \
            const float *a = NAME(line)(va, q, rows->a), *b = vb ? NAME(line)(vb, q, rows->b) : NULL;                  \
            float *r = (float *)(void *)((char *)vr + (ptrdiff_t)q * rows->r);                                         \
            size_t at = 0;                                                                                             \
            for (; at + LANES <= n && !scalar_a && (!b || !scalar_b); at += LANES) {                                   \
                vector x = *(const vector *)(a + at), y = *(const vector *)(b ? b + at : a + at);                      \
                (void)y;                                                                                               \
                *(vector *)(r + at) = f;                                                                               \
            }                                                                                                          \
            for (size_t some; at < n; at += some) {                                                                    \
                some = n - at < LANES ? n - at : LANES;                                                                \
                vector x = NAME(take)(scalar_a ? a : a + at, scalar_a, some),                                          \
                       y = b ? NAME(take)(scalar_b ? b : b + at, scalar_b, some) : x, v = f;                           \
                (void)y;                                                                                               \
                memcpy(r + at, &v, some * sizeof *r);                                                                  \
            }                                                                                                          \
        }                                                                                                              \
    }
#define NO_LOOP(id, f)
#define TP_REAL(x, c) c##f
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
#undef LANES
#undef WORD
#undef OF
#undef ROOT
