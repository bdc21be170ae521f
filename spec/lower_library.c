/* Functions of NumPy and JAX that are written in the language. */
#include "spec/lower.h"

static const struct {
    const char *name, *text;
} LIBRARY[] = {
    {"eye", "def eye(N, M=None, k=0):\n"
            "    m = N if M is None else M\n"
            "    return (arange(N)[:, None] + k == arange(m)).astype(float32)"},
    {"identity", "def identity(n):\n"
                 "    return (arange(n)[:, None] == arange(n)).astype(float32)"},
    {"take_along_axis", /* of each place, the one element whose number is the index */
     "def take_along_axis(arr, indices, axis):\n"
     "    check(all((indices >= 0) & (indices < arr.shape[axis])), 'take_along_axis: an index outside of its "
     "dimension')\n"
     "    a = swapaxes(arr, axis, -1)\n"
     "    i = swapaxes(indices, axis, -1)\n"
     "    hot = i[..., None] == arange(a.shape[-1])\n"
     "    return swapaxes(sum(where(hot, a[..., None, :], 0), axis=-1), axis, -1)"},
    {"diff", "def diff(a, n=1, axis=-1):\n"
             "    check(n == 1, 'diff: n is 1')\n"
             "    m = a.shape[axis]\n"
             "    return take(a, arange(1, m), axis) - take(a, arange(m - 1), axis)"},
    {"segment_sum", /* numbers of no segment are left out */
     "def segment_sum(data, segment_ids, num_segments):\n"
     "    hot = segment_ids == arange(num_segments)[:, None]\n"
     "    for extent in data.shape[1:]:\n"
     "        hot = hot[..., None]\n"
     "    return sum(where(hot, data, 0), axis=1)"},
    {"bincount", "def bincount(x, weights=None, minlength=0):\n"
                 "    check(all((x >= 0) & (x < minlength)), 'bincount: a number that is not below minlength')\n"
                 "    hot = x == arange(minlength)[:, None]\n"
                 "    if weights is None:\n"
                 "        return sum(hot, axis=1)\n"
                 "    return sum(where(hot, weights, 0), axis=1)"},
    {"sort", /* an element goes to the place that is the number of those before it; of itself it is known that it is not
              */
     "def sort(a, axis=-1):\n"
     "    v = swapaxes(a, axis, -1)\n"
     "    check(all(v == v), 'sort: an element is no number')\n"
     "    i = arange(v.shape[-1])\n"
     "    one, other = v[..., :, None], v[..., None, :]\n"
     "    place = sum(((other < one) & (i != i[:, None])) | ((other == one) & (i < i[:, None])), axis=-1)\n"
     "    hot = place[..., None, :] == i[:, None]\n"
     "    return swapaxes(sum(where(hot, other, 0), axis=-1), axis, -1)"},
    {"top_k", "def top_k(operand, k):\n"
              "    check(all(operand == operand), 'top_k: an element is no number')\n"
              "    i = arange(operand.shape[-1])\n"
              "    one, other = operand[..., :, None], operand[..., None, :]\n"
              "    place = sum(((other > one) & (i != i[:, None])) | ((other == one) & (i < i[:, None])), axis=-1)\n"
              "    hot = place[..., None, :] == arange(k)[:, None]\n"
              "    return sum(where(hot, other, 0), axis=-1), sum(where(hot, i, 0), axis=-1)"},
    {"argsort", "def argsort(a, axis=-1):\n"
                "    v = swapaxes(a, axis, -1)\n"
                "    check(all(v == v), 'argsort: an element is no number')\n"
                "    i = arange(v.shape[-1])\n"
                "    one, other = v[..., :, None], v[..., None, :]\n"
                "    place = sum(((other < one) & (i != i[:, None])) | ((other == one) & (i < i[:, None])), axis=-1)\n"
                "    hot = place[..., None, :] == i[:, None]\n"
                "    return swapaxes(sum(where(hot, i, 0), axis=-1), axis, -1)"},
    {"median",
     "def median(a, axis=None, keepdims=False):\n"
     "    v = reshape(a, -1) if axis is None else swapaxes(a, axis, -1)\n"
     "    check(not keepdims or axis is not None, 'median: keepdims with an axis')\n"
     "    s = sort(v)\n"
     "    n = v.shape[-1]\n"
     "    middle = (s[..., (n - 1) // 2] + s[..., n // 2]) / 2\n"
     "    if keepdims:\n"
     "        return swapaxes(middle[..., None], axis, -1)\n"
     "    return middle if axis is None or a.ndim == 1 else swapaxes(middle[..., None], axis, -1).squeeze(axis)"},
    {"select", "def select(condlist, choicelist, default=0):\n"
               "    check(len(condlist) == len(choicelist), 'select: one choice for each condition')\n"
               "    out = default\n"
               "    for c, v in reversed([p for p in zip(condlist, choicelist)]):\n"
               "        out = where(c, v, out)\n"
               "    return out"},
    {"segment_max", /* of nothing -inf */
     "def segment_max(data, segment_ids, num_segments):\n"
     "    hot = segment_ids == arange(num_segments)[:, None]\n"
     "    for extent in data.shape[1:]:\n"
     "        hot = hot[..., None]\n"
     "    return max(where(hot, data, -inf), axis=1)"},
    {"segment_min", "def segment_min(data, segment_ids, num_segments):\n"
                    "    return -segment_max(-data, segment_ids, num_segments)"},
    {"diag", "def diag(v):\n"
             "    i = arange(v.shape[0])\n"
             "    if v.ndim == 1:\n"
             "        return where(i[:, None] == i, v, 0)\n"
             "    check(v.ndim == 2 and v.shape[0] == v.shape[1], 'diag: of a vector or a square matrix')\n"
             "    return sum(where(i[:, None] == i, v, 0), axis=1)"},
    {"heaviside", "def heaviside(x1, x2):\n"
                  "    return where(x1 < 0, 0.0, where(x1 > 0, 1.0, where(x1 == 0, x2, x1)))"},
    {"fliplr", "def fliplr(m):\n"
               "    return flip(m, 1)"},
    {"flipud", "def flipud(m):\n"
               "    return flip(m, 0)"},
    {"rot90", "def rot90(m, k=1):\n"
              "    check(k == 1, 'rot90: k is 1')\n"
              "    return flip(swapaxes(m, 0, 1), 0)"},
    {"trunc", "def trunc(x):\n"
              "    return where(x < 0, ceil(x), floor(x))"},
    {"log10", "def log10(x):\n"
              "    return log(x) / log(10.0)"},
    {"hypot", "def hypot(x1, x2):\n"
              "    return sqrt(x1 * x1 + x2 * x2)"},
    {"ptp", "def ptp(a, axis=None):\n"
            "    v = reshape(a, -1) if axis is None else swapaxes(a, axis, 0)\n"
            "    check(axis is None or a.ndim <= 2, 'ptp: of rank 1 or 2')\n"
            "    return max(v, axis=0) - min(v, axis=0)"},
    {"trace", "def trace(a):\n"
              "    check(a.ndim == 2, 'trace: of a matrix')\n"
              "    return sum(where(arange(a.shape[0])[:, None] == arange(a.shape[1]), a, 0))"},
    {"tri", "def tri(N, M=None, k=0):\n"
            "    m = N if M is None else M\n"
            "    return (arange(m) <= arange(N)[:, None] + k).astype(float32)"},
    {"searchsorted", "def searchsorted(a, v, side='left'):\n"
                     "    check(all(a[:-1] <= a[1:]), 'searchsorted: the elements do not ascend')\n"
                     "    if side == 'left':\n"
                     "        return sum(a < v[..., None], axis=-1)\n"
                     "    return sum(a <= v[..., None], axis=-1)"},
    {"scatter_add", /* x.at[i].add(v) */
     "def scatter_add(x, i, v):\n"
     "    check(all(i >= 0), 'a negative index')\n"
     "    return x + segment_sum(v, i, x.shape[0])"},
    {"added_at", /* by np.add.at(x, i, v) */
     "def added_at(x, i, v):\n"
     "    check(all((i >= 0) & (i < x.shape[0])), 'add.at: an index outside of its array')\n"
     "    return segment_sum(v, i, x.shape[0])"},
    {"pad_one", "def pad_one(array, before, after, axis, mode, value):\n"
                "    n = array.shape[axis]\n"
                "    i = arange(-before, n + after)\n"
                "    if mode == 'constant':\n"
                "        moved = swapaxes(take(array, clip(i, 0, n - 1), axis), axis, -1)\n"
                "        return swapaxes(where((i >= 0) & (i < n), moved, value), axis, -1)\n"
                "    if mode == 'edge':\n"
                "        return take(array, clip(i, 0, n - 1), axis)\n"
                "    if mode == 'wrap':\n"
                "        return take(array, i % n, axis)\n"
                "    if mode == 'symmetric':\n"
                "        j = i % (2 * n)\n"
                "        return take(array, where(j < n, j, 2 * n - 1 - j), axis)\n"
                "    check(mode == 'reflect', 'pad: this mode is not known here')\n"
                "    check(n > 1, 'pad: nothing to reflect')\n"
                "    j = i % (2 * n - 2)\n"
                "    return take(array, where(j < n, j, 2 * n - 2 - j), axis)"},
    {"pad_each", "def pad_each(array, pad_width, mode='constant', constant_values=0):\n"
                 "    check(len(pad_width) == array.ndim, 'pad: one pair for each dimension')\n"
                 "    for d, w in enumerate(pad_width):\n"
                 "        array = pad_one(array, w[0], w[1], d, mode, constant_values)\n"
                 "    return array"},
    {"pad_all", "def pad_all(array, pad_width, mode='constant', constant_values=0):\n"
                "    for d, extent in enumerate(array.shape):\n"
                "        array = pad_one(array, pad_width[0], pad_width[1], d, mode, constant_values)\n"
                "    return array"},
    {"softplus", "def softplus(x):\n"
                 "    return maximum(x, 0) + log1p(exp(-abs(x)))"},
    {"log_sigmoid", "def log_sigmoid(x):\n"
                    "    return -softplus(-x)"},
    {"logaddexp", "def logaddexp(x1, x2):\n"
                  "    return where(x1 == x2, x1 + log(2.0), maximum(x1, x2) + log1p(exp(-abs(x1 - x2))))"},
    {"leaky_relu", "def leaky_relu(x, negative_slope=0.01):\n"
                   "    return where(x >= 0, x, negative_slope * x)"},
    {"elu", "def elu(x, alpha=1.0):\n"
            "    return where(x > 0, x, alpha * expm1(where(x > 0, 0, x)))"},
    {"relu6", "def relu6(x):\n"
              "    return minimum(maximum(x, 0), 6)"},
    {"hard_tanh", "def hard_tanh(x):\n"
                  "    return minimum(maximum(x, -1), 1)"},
    {"gelu_exact", "def gelu_exact(x):\n"
                   "    return 0.5 * x * erfc(-x / sqrt(2.0))"},
    {"isnan", "def isnan(x):\n"
              "    return x != x"},
    {"isinf", "def isinf(x):\n"
              "    return abs(x) == inf"},
    {"clamp", "def clamp(lo, x, hi):\n"
              "    return minimum(maximum(x, lo), hi)"},
    {"vdot", "def vdot(a, b):\n"
             "    return reshape(a, -1) @ reshape(b, -1)"},
    {"count_nonzero", "def count_nonzero(a):\n"
                      "    return sum(a != 0)"},
};

tp_thing *lower_library(tp_lower *l, const tp_node *n)
{
    for (size_t i = 0; i < sizeof LIBRARY / sizeof *LIBRARY; i++) {
        if (!tp_str_is(n->text, LIBRARY[i].name))
            continue;
        tp_block written = lower_parse_written(l, n, tp_str_c(LIBRARY[i].text));
        const tp_syntax *s = written.at[0];
        tp_arguments args = lower_arguments(l, n, 0);
        tp_function f = {.kind = TP_FUNCTION_WRITTEN,
                         .text = s->value->text,
                         .node = s->value,
                         .nparameters = s->value->nkids,
                         .body = &s->body,
                         .defaults = TP_NEWN(l->c->arena, tp_thing *, s->value->nkids)};
        for (uint32_t k = 0; k < f.nparameters; k++)
            if (s->value->kids[k]->kind == TP_N_KEYWORD)
                f.defaults[k] = lower_object(l, s->value->kids[k]->kids[0]);
        return lower_apply(l, &f, &args, n);
    }
    return NULL;
}
