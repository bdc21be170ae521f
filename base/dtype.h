/* Element types: names, widths, exact conversion. Rows in dtypes.def. */
#ifndef TP_DTYPE_H
#define TP_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

typedef enum tp_kind { TP_KIND_FLOAT, TP_KIND_INT, TP_KIND_UINT, TP_KIND_BOOL } tp_kind;

/* How an element lies in the memory of the engines; NONE: they do not compute with its dtype. */
typedef enum tp_cell {
    TP_CELL_NONE,
    TP_CELL_F32,
    TP_CELL_F64,
    TP_CELL_BF16,
    TP_CELL_F16,
    TP_CELL_F8, /* one byte, of the row's format */
    TP_CELL_I4, /* one byte, the value in its low half and nothing in the other, as ml_dtypes has it */
    TP_CELL_U4,
    TP_CELL_I8,
    TP_CELL_I16,
    TP_CELL_I32,
    TP_CELL_I64,
    TP_CELL_U8,
    TP_CELL_U16,
    TP_CELL_U32,
    TP_CELL_BOOL,
} tp_cell;

/* What a float type has beside finite numbers. */
typedef enum tp_specials {
    TP_SPECIALS_NONE, /* no float type */
    TP_SPECIALS_IEEE, /* infinities and NaNs */
    TP_SPECIALS_FN,   /* no infinity: all ones is NaN, which what overflows becomes */
    TP_SPECIALS_FNUZ, /* nor a negative zero: its code is the only NaN */
    TP_SPECIALS_FNU,  /* powers of two: no sign and no zero either */
} tp_specials;

typedef enum tp_dtype {
#define X(id, ...) TP_##id,
#include "base/dtypes.def"
#undef X
    TP_DTYPES,
    /* Types of Python-like literals and sizes, which adopt the type of the
     * other operand; scalars only, held as int64 and double. */
    TP_WEAK_INT = TP_DTYPES,
    TP_WEAK_FLOAT,
    TP_NO_DTYPE,
} tp_dtype;

typedef struct tp_dtype_row {
    const char *name, *brief;
    int bits;
    tp_kind kind;
    tp_cell cell;
    bool executable;          /* has a cell */
    double roundoff, largest; /* of a float type; else 0 */
    int least;                /* exponent of its smallest normal number */
    tp_specials specials;
} tp_dtype_row;

const tp_dtype_row *tp_dtype_info(tp_dtype d);
/* By name or short name; TP_NO_DTYPE when unknown. */
tp_dtype tp_dtype_find(tp_str name);
/* Bytes of one element in memory (weak types: 8; 4-bit types: 1). */
size_t tp_dtype_size(tp_dtype d);
bool tp_is_float(tp_dtype d);
bool tp_is_int(tp_dtype d); /* signed, unsigned or weak; not bool */
bool tp_is_weak(tp_dtype d);
/* Does it hold scales only: powers of two, with which nobody computes? */
bool tp_is_scale(tp_dtype d);
/* Range of an integer type (or bool). */
int64_t tp_dtype_min(tp_dtype d);
int64_t tp_dtype_max(tp_dtype d);
/* Unit roundoff 2^-p of a float type (F32: 2^-24); of any other that of double, in which it is computed with. */
double tp_dtype_roundoff(tp_dtype d);
/* Largest finite number of a float type; of any other that of double. */
double tp_dtype_largest(tp_dtype d);

/* Does `v` stay a number when it is rounded to float type `d`? Of a type without a cell, whose rounding no engine
 * knows: is it within the finite numbers? */
bool tp_dtype_holds(tp_dtype d, double v);
/* A number for float type `d` that `v`, of moderate size, stands for: v, or what `d` has nearest to it where 8 bits are
 * too few: cut to its largest; of scales the size alone, and 1 for 0. */
double tp_dtype_moderate(tp_dtype d, double v);

/* Round to nearest even, as ml_dtypes does: overflow gives infinity, a NaN
 * stays a (quiet) NaN with its sign. From double: one rounding. */
uint16_t tp_bf16_from_f32(float f);
uint16_t tp_bf16_from_f64(double d);
float tp_bf16_to_f32(uint16_t h);
uint16_t tp_f16_from_f32(float f);
uint16_t tp_f16_from_f64(double d);
float tp_f16_to_f32(uint16_t h);
/* The same for the types of 8 bits: what overflows is infinity or NaN, as the row's specials say. Bit by bit what
 * ml_dtypes 0.6.0 makes of a float32; from double one rounding, where ml_dtypes rounds to float32 first. */
uint8_t tp_f8_from_f32(tp_dtype d, float f);
float tp_f8_to_f32(tp_dtype d, uint8_t code);

/* Element `i` of packed data as a double (exact for every executable type). */
double tp_get_f64(tp_dtype d, const void *data, size_t i);
/* The same for integers and bool. */
int64_t tp_get_i64(tp_dtype d, const void *data, size_t i);
/* Store with one rounding; integers wrap, bool is `v != 0`. */
void tp_put_f64(tp_dtype d, void *data, size_t i, double v);
void tp_put_i64(tp_dtype d, void *data, size_t i, int64_t v);

/* The same for n elements from `from` on. To float: one rounding. To int64: of integers and bool only. */
void tp_get_row_f32(tp_dtype d, const void *data, size_t from, size_t n, float *to);
void tp_get_row_f64(tp_dtype d, const void *data, size_t from, size_t n, double *to);
void tp_get_row_i64(tp_dtype d, const void *data, size_t from, size_t n, int64_t *to);
void tp_put_row_f32(tp_dtype d, void *data, size_t to, size_t n, const float *from);
void tp_put_row_f64(tp_dtype d, void *data, size_t to, size_t n, const double *from);
void tp_put_row_i64(tp_dtype d, void *data, size_t to, size_t n, const int64_t *from);

#endif
