/* .npy (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html)
 * and safetensors (8-byte header length, JSON header, data). */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include <json-c/json.h>

#include "base/assert.h"
#include "base/file.h"
#include "base/tensor.h"

/* The file's own element type, which may be wider than what we compute with. */
typedef struct stored {
    char kind; /* 'f' 'i' 'u' 'b' 'V' */
    size_t size;
    bool big, fortran;
    uint32_t rank;
    int64_t dims[TP_TENSOR_MAX_RANK];
} stored;

static tp_status no(tp_arena *a, tp_str *why, const char *what)
{
    *why = tp_printf(a, "%s", what);
    return TP_E_INPUT;
}

/* Does NumPy write it as bytes without a meaning? They are the type that is asked for. */
static bool is_void(tp_dtype d)
{
    tp_cell cell = tp_dtype_info(d)->cell;
    return cell == TP_CELL_BF16 || cell == TP_CELL_F8 || cell == TP_CELL_I4 || cell == TP_CELL_U4;
}

/* ml_dtypes calls float8_e5m2 a float of one byte, as no other. */
static bool has_no_meaning(const stored *s)
{
    return s->kind == 'V' || (s->kind == 'f' && s->size == 1);
}

static tp_dtype dtype_of(const stored *s, tp_dtype wanted)
{
    if (has_no_meaning(s))
        return wanted < TP_DTYPES && is_void(wanted) && tp_dtype_size(wanted) == s->size ? wanted : TP_NO_DTYPE;
    for (int d = 0; d < TP_DTYPES; d++) {
        const tp_dtype_row *row = tp_dtype_info((tp_dtype)d);
        char kind = row->kind == TP_KIND_FLOAT  ? 'f'
                    : row->kind == TP_KIND_INT  ? 'i'
                    : row->kind == TP_KIND_UINT ? 'u'
                                                : 'b';
        if (!is_void((tp_dtype)d) && row->executable && kind == s->kind && (size_t)row->bits == 8 * s->size)
            return (tp_dtype)d;
    }
    return TP_NO_DTYPE;
}

/* Element count, or false when it does not fit. */
static bool count(const stored *s, size_t *n)
{
    *n = 1;
    for (uint32_t d = 0; d < s->rank; d++)
        if (s->dims[d] < 0 || __builtin_mul_overflow(*n, (size_t)s->dims[d], n))
            return false;
    size_t bytes;
    return !__builtin_mul_overflow(*n, s->size, &bytes);
}

static tp_status from_bytes(tp_arena *a, const stored *s, tp_str data, tp_dtype wanted, tp_tensor *out, tp_str *why)
{
    size_t n;
    tp_dtype dtype = dtype_of(s, wanted);
    if (dtype == TP_NO_DTYPE && has_no_meaning(s) && s->size <= 2) {
        *why = tp_printf(a, "it holds %s-byte void elements; they are read as %s only where the spec says so",
                         s->size == 2 ? "two" : "one", s->size == 2 ? "bfloat16" : "float8, int4 or uint4");
        return TP_E_INPUT;
    }
    if (dtype == TP_NO_DTYPE) {
        *why = tp_printf(a, "its element type (%c%zu) is not one that kernels compute with", s->kind, s->size);
        return TP_E_INPUT;
    }
    if (!count(s, &n) || data.n < n * s->size) {
        *why = tp_printf(a, "the data is cut off: %zu bytes are there", data.n);
        return TP_E_INPUT;
    }
    *out = (tp_tensor){.dtype = dtype, .rank = s->rank, .n = n};
    memcpy(out->dims, s->dims, sizeof s->dims);
    bool aligned = (uintptr_t)data.p % s->size == 0;
    if (!s->big && !s->fortran && aligned) { /* as it lies; never written to */
        out->data = tp_writable(data.p);
        return TP_OK;
    }
    char *copy = tp_alloc_array(a, n, s->size);
    out->data = copy;
    int64_t at[TP_TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < n; i++) {
        size_t from = i;
        if (s->fortran) {
            from = 0;
            for (uint32_t d = s->rank; d-- > 0;)
                from = from * (size_t)s->dims[d] + (size_t)at[d];
        }
        for (size_t b = 0; b < s->size; b++)
            copy[i * s->size + b] = data.p[from * s->size + (s->big ? s->size - 1 - b : b)];
        for (uint32_t d = s->rank; d-- > 0;) {
            if (++at[d] < s->dims[d])
                break;
            at[d] = 0;
        }
    }
    return TP_OK;
}

/* ---- npy ---- */

static const char *value_of(const char *header, const char *key)
{
    const char *p = strstr(header, key);
    if (!p)
        return NULL;
    p = strchr(p, ':');
    for (p = p ? p + 1 : NULL; p && *p == ' ';)
        p++;
    return p;
}

static bool parse_header(const char *header, stored *s)
{
    const char *descr = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'"),
               *shape = value_of(header, "'shape'");
    if (!descr || !order || !shape || descr[0] != '\'' || !strchr("<>|=", descr[1]) || shape[0] != '(')
        return false;
    s->big = descr[1] == '>';
    s->kind = descr[2];
    s->size = (size_t)strtoul(descr + 3, NULL, 10);
    s->fortran = strncmp(order, "True", 4) == 0;
    if (!strchr("fiubV", s->kind) || s->size < 1 || s->size > 16)
        return false;
    if (s->size == 1)
        s->big = false;
    for (const char *p = shape + 1; *p && *p != ')';) {
        char *end;
        if (*p == ' ' || *p == ',') {
            p++;
            continue;
        }
        if (!isdigit((unsigned char)*p) || s->rank == TP_TENSOR_MAX_RANK)
            return false;
        s->dims[s->rank++] = strtoll(p, &end, 10);
        p = end;
    }
    return true;
}

static tp_status read_npy(tp_arena *a, tp_str file, tp_dtype wanted, tp_tensor *out, tp_str *why)
{
    if (file.n < 10 || memcmp(file.p, "\x93NUMPY", 6) != 0)
        return no(a, why, "it is not a .npy file (the magic bytes are missing)");
    const unsigned char *u = (const unsigned char *)file.p;
    size_t start = u[6] == 1 ? 10 : 12, length = u[8] | (size_t)u[9] << 8;
    if (u[6] < 1 || u[6] > 3)
        return no(a, why, "its .npy version is not 1, 2 or 3");
    if (u[6] > 1 && file.n >= 12)
        length |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
    if (file.n < start || length > file.n - start || length > (1 << 20))
        return no(a, why, "its header is cut off");
    stored s = {0};
    const char *header = tp_cstr(a, (tp_str){file.p + start, length});
    if (strlen(header) != length || !parse_header(header, &s))
        return no(a, why, "its header is not a plain array of numbers");
    return from_bytes(a, &s, (tp_str){file.p + start + length, file.n - start - length}, wanted, out, why);
}

/* ---- safetensors ---- */

static const struct {
    const char *name;
    char kind;
    size_t size;
    tp_dtype dtype;
} SAFE[] = {{"F64", 'f', 8, TP_F64},        {"F32", 'f', 4, TP_F32},       {"F16", 'f', 2, TP_F16},
            {"BF16", 'V', 2, TP_BF16},      {"I8", 'i', 1, TP_I8},         {"I16", 'i', 2, TP_I16},
            {"I32", 'i', 4, TP_I32},        {"U8", 'u', 1, TP_U8},         {"U16", 'u', 2, TP_U16},
            {"U32", 'u', 4, TP_U32},        {"BOOL", 'b', 1, TP_BOOL},     {"F8_E4M3", 'V', 1, TP_F8E4M3FN},
            {"F8_E5M2", 'V', 1, TP_F8E5M2}, {"F8_E8M0", 'V', 1, TP_F8E8M0}};

static bool safe_entry(struct json_object *entry, stored *s, tp_dtype *dtype, int64_t *from, int64_t *to)
{
    struct json_object *type, *shape, *offsets;
    if (!json_object_object_get_ex(entry, "dtype", &type) || !json_object_object_get_ex(entry, "shape", &shape) ||
        !json_object_object_get_ex(entry, "data_offsets", &offsets) || !json_object_is_type(type, json_type_string) ||
        !json_object_is_type(shape, json_type_array) || !json_object_is_type(offsets, json_type_array) ||
        json_object_array_length(offsets) != 2 || json_object_array_length(shape) > TP_TENSOR_MAX_RANK)
        return false;
    s->rank = (uint32_t)json_object_array_length(shape);
    for (uint32_t d = 0; d < s->rank; d++)
        s->dims[d] = json_object_get_int64(json_object_array_get_idx(shape, d));
    *from = json_object_get_int64(json_object_array_get_idx(offsets, 0));
    *to = json_object_get_int64(json_object_array_get_idx(offsets, 1));
    for (size_t i = 0; i < sizeof SAFE / sizeof *SAFE; i++)
        if (strcmp(json_object_get_string(type), SAFE[i].name) == 0) {
            s->kind = SAFE[i].kind;
            s->size = SAFE[i].size;
            *dtype = SAFE[i].dtype;
            return true;
        }
    return false;
}

static tp_status read_safetensors(tp_arena *a, tp_str file, tp_str name, tp_tensor *out, tp_str *why)
{
    uint64_t length = 0;
    for (size_t i = 0; i < 8 && file.n >= 8; i++)
        length |= (uint64_t)(unsigned char)file.p[i] << (8 * i);
    if (file.n < 10 || length < 2 || length > file.n - 8 || length > (100 << 20))
        return no(a, why, "it is not a safetensors file (its header length is wrong)");
    const char *header = tp_cstr(a, (tp_str){file.p + 8, (size_t)length});
    struct json_tokener *tok = json_tokener_new_ex(32);
    struct json_object *root = tok ? json_tokener_parse_ex(tok, header, (int)length) : NULL, *entry = NULL;
    json_tokener_free(tok);
    stored s = {0};
    tp_dtype dtype = TP_NO_DTYPE;
    int64_t from = 0, to = 0;
    tp_status st = TP_OK;
    const char *member = tp_cstr(a, name);
    if (!root || !json_object_is_type(root, json_type_object))
        st = no(a, why, "its safetensors header is not valid JSON");
    else if (!json_object_object_get_ex(root, member, &entry)) {
        tp_buf b = {.arena = a};
        tp_buf_printf(&b, "it has no tensor \"%s\"; it has", member);
        json_object_object_foreach (root, key, value) {
            (void)value;
            if (strcmp(key, "__metadata__") != 0 && b.n < 400)
                tp_buf_printf(&b, " %s", key);
        }
        *why = tp_buf_view(&b);
        st = TP_E_INPUT;
    } else if (!safe_entry(entry, &s, &dtype, &from, &to))
        st = no(a, why, "the entry of this tensor is not understood (dtype, shape or data_offsets)");
    else if (from < 0 || to < from || (uint64_t)to > file.n - 8 - length)
        st = no(a, why, "the tensor's data lies outside the file");
    json_object_put(root);
    if (st != TP_OK)
        return st;
    st = from_bytes(a, &s, (tp_str){file.p + 8 + length + from, (size_t)(to - from)}, dtype, out, why);
    if (st == TP_OK && (uint64_t)(to - from) != out->n * s.size)
        st = no(a, why, "the tensor's data_offsets do not match its shape");
    return st;
}

tp_status tp_tensor_read(tp_arena *a, tp_str path, tp_dtype wanted, tp_tensor *out, tp_str *why)
{
    const char *hash = path.n ? memchr(path.p, '#', path.n) : NULL;
    tp_str file_name = hash ? (tp_str){path.p, (size_t)(hash - path.p)} : path, file;
    bool safe = file_name.n > 12 && memcmp(file_name.p + file_name.n - 12, ".safetensors", 12) == 0;
    if (safe && !hash)
        return no(a, why, "name the tensor: FILE.safetensors#NAME");
    tp_status st = tp_map_file(a, tp_cstr(a, file_name), &file, why);
    if (st != TP_OK)
        return st;
    if (safe)
        return read_safetensors(a, file, (tp_str){hash + 1, path.n - file_name.n - 1}, out, why);
    return read_npy(a, file, wanted, out, why);
}

/* ---- writing ---- */

static tp_str npy_header(tp_arena *a, const tp_tensor *t)
{
    const tp_dtype_row *row = tp_dtype_info(t->dtype);
    char kind = is_void(t->dtype)            ? 'V'
                : row->kind == TP_KIND_FLOAT ? 'f'
                : row->kind == TP_KIND_INT   ? 'i'
                : row->kind == TP_KIND_UINT  ? 'u'
                                             : 'b';
    tp_buf h = {.arena = a}, b = {.arena = a};
    tp_buf_printf(&h, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (", row->bits <= 8 ? '|' : '<', kind,
                  tp_dtype_size(t->dtype));
    for (uint32_t d = 0; d < t->rank; d++)
        tp_buf_printf(&h, "%lld%s", (long long)t->dims[d], t->rank == 1 ? "," : d + 1 < t->rank ? ", " : "");
    tp_buf_c(&h, "), }");
    while ((10 + h.n + 1) % 64)
        tp_buf_c(&h, " ");
    tp_buf_c(&h, "\n");
    tp_buf_add(&b, "\x93NUMPY\x01\x00", 8);
    tp_buf_add(&b, (const char[]){(char)(h.n & 0xff), (char)(h.n >> 8)}, 2);
    tp_buf_str(&b, tp_buf_view(&h));
    return tp_buf_view(&b);
}

/* NULL: the format has no such type. */
static const char *safe_type(tp_dtype d)
{
    for (size_t i = 0; i < sizeof SAFE / sizeof *SAFE; i++)
        if (SAFE[i].dtype == d)
            return SAFE[i].name;
    return NULL;
}

static tp_str safe_header(tp_arena *a, tp_str name, const tp_tensor *t)
{
    tp_buf h = {.arena = a}, b = {.arena = a};
    tp_buf_c(&h, "{");
    tp_buf_json(&h, name);
    tp_buf_printf(&h, ":{\"dtype\":\"%s\",\"shape\":[", safe_type(t->dtype));
    for (uint32_t d = 0; d < t->rank; d++)
        tp_buf_printf(&h, "%s%lld", d ? "," : "", (long long)t->dims[d]);
    tp_buf_printf(&h, "],\"data_offsets\":[0,%zu]}}", t->n * tp_dtype_size(t->dtype));
    while (h.n % 8)
        tp_buf_c(&h, " ");
    for (size_t i = 0; i < 8; i++)
        tp_buf_add(&b, (const char[]){(char)((uint64_t)h.n >> (8 * i) & 0xff)}, 1);
    tp_buf_str(&b, tp_buf_view(&h));
    return tp_buf_view(&b);
}

static tp_status header_of(tp_arena *a, tp_str path, tp_str name, const tp_tensor *t, tp_str *out, tp_str *why)
{
    bool safe = path.n > 12 && memcmp(path.p + path.n - 12, ".safetensors", 12) == 0;
    if (safe && !safe_type(t->dtype)) {
        *why = tp_printf(a, "safetensors has no %s; write a .npy file", tp_dtype_info(t->dtype)->name);
        return TP_E_INPUT;
    }
    *out = safe ? safe_header(a, name, t) : npy_header(a, t);
    return TP_OK;
}

tp_status tp_tensor_write(tp_arena *a, tp_str path, tp_str name, const tp_tensor *t, tp_str *why)
{
    tp_assert(tp_tensor_holds(t));
    tp_str pieces[2] = {{NULL, 0}, {t->data, t->n * tp_dtype_size(t->dtype)}};
    tp_status st = header_of(a, path, name, t, &pieces[0], why);
    return st == TP_OK ? tp_write_file(a, tp_cstr(a, path), pieces, 2, why) : st;
}

tp_status tp_tensor_draft(tp_arena *a, tp_str path, tp_str name, tp_tensor *t, tp_draft *d, tp_str *why)
{
    tp_str header;
    tp_status st = header_of(a, path, name, t, &header, why);
    if (st == TP_OK)
        st = tp_draft_new(a, tp_cstr(a, path), header.n + t->n * tp_dtype_size(t->dtype), d, why);
    if (st == TP_OK && d->at) {
        memcpy(d->at, header.p, header.n);
        t->data = d->at + header.n;
    }
    return st;
}
