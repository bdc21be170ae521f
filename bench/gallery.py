"""The gallery's kernels on arrays of realistic size, by receipt and without one: the engine beside jax.jit of a function
that says the same, beside NumPy, and beside the two interpreters of Pallas; all in this process, on one core, interleaved.
Medians of per-round ratios of CPU time, with outputs allocated anew in each call, as jit does, and with outputs that are
used again; the peaks of this core, the time of a step and the load in the same run. A side that takes more than ten times
as long as the engine is called once to three times. Kernels that compute more than they move are also timed on two cores. Needs
build/venv. Receipts are made once, in build/bench/receipts. bench/page.py makes a page of it.

    python bench/gallery.py [--rounds 9] [--json FILE] [--without-interpreters] [NAME ...]
"""

import argparse
import functools
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
CORES = os.sched_getaffinity(0)
ONE = {max(CORES)}
os.sched_setaffinity(0, ONE)
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "jax"), str(ROOT / "bench")]

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

import page  # noqa: E402
import pallas  # noqa: E402
import peers  # noqa: E402
from tileproof.library import compile as compile_kernel  # noqa: E402

jax.config.update("jax_platforms", "cpu")

PROGRAM = ROOT / "build" / "tileproof"
SCALE = 128**-0.5


def randoms(dtype, *shapes):
    r = np.random.default_rng(1)
    return [r.standard_normal(s, dtype=np.float32).astype(dtype) for s in shapes]


def softmax(s):
    return jax.nn.softmax(s, axis=-1)


def causal(q, k):
    s = jnp.einsum("hqd,hkd->hqk", q, k, preferred_element_type=jnp.float32) * SCALE
    n = s.shape[-1]
    return s, jnp.arange(n)[None, :] <= jnp.arange(n)[:, None]


def flash(q, k, v):
    g = q.shape[0] // k.shape[0]
    s, mask = causal(q, jnp.repeat(k, g, 0))
    p = softmax(jnp.where(mask, s, -jnp.inf))
    return jnp.einsum("hqk,hkd->hqd", p.astype(v.dtype), jnp.repeat(v, g, 0), preferred_element_type=jnp.float32).astype(q.dtype)


def scores(q, k, v, do, lse, di):
    s, mask = causal(q, k)
    p = jnp.where(mask, jnp.exp(s - lse), 0)
    return p, p * (jnp.einsum("hqd,hkd->hqk", do, v) - di)


def flash_dq(q, k, v, do, lse, di):
    return jnp.einsum("hqk,hkd->hqd", scores(q, k, v, do, lse, di)[1], k) * SCALE


def flash_dkv(q, k, v, do, lse, di):
    p, g = scores(q, k, v, do, lse, di)
    return jnp.einsum("hqk,hqd->hkd", g, q) * SCALE, jnp.einsum("hqk,hqd->hkd", p, do)


def paged(q, k, v, pages, length):
    b, p = pages.shape
    keys, values = (x[pages].reshape(b, p * 16, 128) for x in (k, v))
    s = jnp.einsum("bhd,bkd->bhk", q, keys) * SCALE
    s = jnp.where(jnp.arange(p * 16)[None, None] < length[:, None, None], s, -jnp.inf)
    return jnp.einsum("bhk,bkd->bhd", softmax(s), values)


def splash(window, q, k, v, q_segment, k_segment, work, fetch):
    s = 50 * jnp.tanh(jnp.einsum("hqd,hkd->hqk", q, k) * SCALE / 50)
    n = s.shape[-1]
    row, col = jnp.arange(n)[:, None], jnp.arange(n)[None]
    mask = (col <= row) & (row - col < window) & ((q_segment == k_segment) | (col == row))
    return jnp.einsum("hqk,hkd->hqd", softmax(jnp.where(mask, s, -jnp.inf)), v)


def rope(x, cosine, sine):
    a, b = x[..., :64], x[..., 64:]
    return jnp.concatenate((a * cosine - b * sine, b * cosine + a * sine), -1)


def block_sparse(x, w, row, column, last):
    m, nb = x.shape[0], last.shape[0]
    parts = jnp.einsum("mwk,wkn->wmn", x.reshape(m, -1, 128)[:, row], w)
    return jax.ops.segment_sum(parts, column, nb).transpose(1, 0, 2).reshape(m, nb * 128)


def grouped(x, w, starts, group, tiles, begin, final):
    return jax.lax.ragged_dot(x, w, starts[1:] - starts[:-1])


def conv(x, w):
    n = x.shape[0] - 8
    return sum(x[8 - i : 8 - i + n] * w[i] for i in range(4))


def gated(q, k, v, g):
    since = jnp.cumsum(jax.nn.log_sigmoid(g), 1)
    n = q.shape[1]
    w = jnp.where(jnp.arange(n)[None] <= jnp.arange(n)[:, None], jnp.exp(since - since.transpose(0, 2, 1)), 0)
    return jnp.einsum("hqk,hkd->hqd", jnp.einsum("hqd,hkd->hqk", q, k) * w, v)


def stencil(x):
    return (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[1:-1, 1:-1]) * 0.2


def cross_entropy(x, label):
    return jax.nn.logsumexp(x, 1, keepdims=True) - jnp.take_along_axis(x, label, 1)


def rmsnorm(x, w):
    return x * jax.lax.rsqrt(jnp.mean(x * x, 1, keepdims=True) + 1e-6) * w


def layernorm(x, g, b):
    c = x - x.mean(1, keepdims=True)
    return c * jax.lax.rsqrt((c * c).mean(1, keepdims=True) + 1e-5) * g + b


def bias_gelu(x, b):
    return jax.nn.gelu(x + b, approximate=True)


def wide(a, b):
    return jnp.matmul(a, b, preferred_element_type=jnp.float32)


def int8(x, y, row, column):
    return jnp.matmul(x, y, preferred_element_type=jnp.int32).astype(jnp.float32) * row * column


def swiglu(x, gate, up):
    return (jax.nn.silu(wide(x, gate)) * wide(x, up)).astype(x.dtype)


def attention_like(h, s, extra=0):
    return randoms(np.float32, *[(h, s, 128)] * (3 + extra))


def backward(h, s):
    q, k, v, do = attention_like(h, s, 1)
    sc, mask = causal(q, k)
    lse = jax.nn.logsumexp(jnp.where(mask, sc, -jnp.inf), -1, keepdims=True)
    return [q, k, v, do, np.asarray(lse), randoms(np.float32, (h, s, 1))[0]]


def paged_inputs(b, p, n):
    r = np.random.default_rng(2)
    return [*randoms(np.float32, (b, 8, 128), (n, 16, 128), (n, 16, 128)), r.integers(0, n, (b, p), np.int32),
            r.integers(8 * p, 16 * p + 1, (b,), np.int32)]


def ragged_rows(q, k, v, first, length, pages):
    """Rows of q from first[s] below first[s + 1] are the last ones of sequence s."""
    n, p = pages.shape
    h, t = q.shape[:2]
    keys, values = (jnp.repeat(x[pages].transpose(2, 0, 1, 3, 4).reshape(x.shape[1], n * p * 16, 128), h // x.shape[1], 0) for x in (k, v))
    of = jnp.searchsorted(first, jnp.arange(t), side="right") - 1
    last = jnp.arange(t) + length[of] - first[of + 1]
    place = jnp.arange(n * p * 16)
    seen = (place[None] // (p * 16) == of[:, None]) & (place[None] % (p * 16) <= last[:, None])
    s = jnp.where(seen, jnp.einsum("htd,hkd->htk", q, keys) * SCALE, -jnp.inf)
    return jnp.einsum("htk,hkd->htd", softmax(s), values)


def ragged_rows_inputs(heads, group, t, n, p, stored):
    r = np.random.default_rng(11)
    first = np.concatenate(([0], np.sort(r.choice(np.arange(1, t), n - 1, replace=False)), [t])).astype(np.int32)
    length = np.minimum(np.diff(first) + r.integers(0, 8 * p, n), 16 * p).astype(np.int32)
    kv = (stored, heads, 16, 128)
    return [*randoms(np.float32, (heads * group, t, 128), kv, kv), first, length, r.integers(0, stored, (n, p), np.int32)]


def splash_tables(s, window):
    """Tiles with an element that is seen, and the keys to fetch meanwhile."""
    t = s // 128
    i, j = np.arange(t)[:, None], np.arange(t)[None]
    work = ((j <= i) & ((i - j - 1) * 128 + 1 < window)).astype(np.int32)
    fetch = np.where(work, j, np.where(work.any(1, keepdims=True), np.clip(j, i - 4, i), 0)).astype(np.int32)
    return work, np.maximum(fetch, 0).astype(np.int32)


def splash_inputs(h, s, window):
    return [*attention_like(h, s), np.zeros((s, 1), np.int32), np.zeros((1, s), np.int32), *splash_tables(s, window)]


def sparse_inputs(m, kb, nb, w):
    r = np.random.default_rng(3)
    column = np.sort(np.concatenate((np.arange(nb), r.integers(0, nb, w - nb)))).astype(np.int32)
    last = (np.searchsorted(column, np.arange(nb), "right") - 1).astype(np.int32)
    return [*randoms(np.float32, (m, 128 * kb), (w, 128, 128)), r.integers(0, kb, w, np.int32), column, last]


def grouped_inputs(m, g, k, n):
    r = np.random.default_rng(4)
    starts = np.concatenate(([0], np.sort(r.integers(0, m + 1, g - 1)), [m])).astype(np.int32)
    edges = sorted({*range(0, m + 1, 128), *starts.tolist()})
    begin = np.array(edges, np.int32)
    tiles = (begin[:-1] // 128).astype(np.int32)
    group = (np.searchsorted(starts, begin[:-1], "right") - 1).astype(np.int32)
    final = (np.searchsorted(tiles, np.arange(-(-m // 128)), "right") - 1).astype(np.int32)
    return [*randoms(np.float32, (m, k), (g, k, n)), starts, group, tiles, begin, final]


def int8_inputs(n):
    r = np.random.default_rng(5)
    return [r.integers(-128, 128, (n, n), np.int8), r.integers(-128, 128, (n, n), np.int8), *randoms(np.float32, (n, 1), (1, n))]


def entropy_inputs(n, v):
    return [*randoms(np.float32, (n, v)), np.random.default_rng(6).integers(0, v, (n, 1), np.int32)]


def adamw(correction, g, p, m, v):
    first, second = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    step = first * correction[0, 0] / (jnp.sqrt(second * correction[0, 1]) + 1e-8)
    return p - 1e-3 * (step + 0.01 * p), first, second


def dropout(key, x):
    keep = jax.random.bernoulli(jax.random.wrap_key_data(key, impl="threefry2x32"), 0.75, x.shape)
    return jnp.where(keep, x / 0.75, 0)


def scaled(x, w, sx, sw):
    return (jnp.matmul(x, w, preferred_element_type=jnp.float32) * sx * sw).astype(jnp.bfloat16)


def grouped_weights(x, w, scale):
    a, b = x.astype(jnp.float32).reshape(x.shape[0], -1, 256), w.astype(jnp.float32).reshape(-1, 256, w.shape[1])
    return (jnp.einsum("mgk,gkn->mgn", a, b) * scale[:, 0]).sum(1).astype(x.dtype)


def router(x, gate):
    top, expert = jax.lax.top_k(wide(x, gate), 2)
    return softmax(top), expert


def combine(y, weight, place):
    return (y[place, 0] * weight.transpose(1, 0, 2)).sum(0)[:, None]


def recurrence(a, x):
    def turn(h, now):
        h = now[0] * h + now[1]
        return h, h

    return jax.lax.scan(turn, jnp.zeros_like(x[:, 0]), (a.swapaxes(0, 1), x.swapaxes(0, 1)))[1].swapaxes(0, 1)


def delta_rule(q, k, v, alpha, beta):
    k = k * jax.lax.rsqrt((k * k).sum(-1, keepdims=True) + 1e-6)

    def turn(s, now):
        q, k, v, a, b = now
        s = s * jax.nn.sigmoid(a)[:, None]
        s = s + (k * jax.nn.sigmoid(b))[..., None] * (v - jnp.einsum("hk,hkv->hv", k, s))[:, None]
        return s, jnp.einsum("hk,hkv->hv", q, s)

    rows = [x.swapaxes(0, 1) for x in (q, k, v, alpha, beta)]
    return jax.lax.scan(turn, jnp.zeros((q.shape[0], 128, 128)), rows)[1].swapaxes(0, 1)


def decode(q, keys, values, live):
    s = jnp.einsum("bkgd,bksd->bkgs", q, keys) * SCALE
    return jnp.einsum("bkgs,bksd->bkgd", softmax(jnp.where(live[:, None, None], s, -jnp.inf)), values)


def ragged(q, k, v, pages, length, last):
    b, p = pages.shape
    keys, values = (x[:, pages].reshape(x.shape[0], b, p * 16, 128).swapaxes(0, 1) for x in (k, v))
    return decode(q, keys, values, jnp.arange(p * 16)[None] < length[:, None])


def cached(q, k, v, length, last):
    return decode(q, k, v, jnp.arange(k.shape[2])[None] < length[:, None])


def sliding(window, sinks, q, k, v):
    s = jnp.einsum("hqd,hkd->hqk", q, k) * SCALE
    row, col = jnp.arange(s.shape[1])[:, None], jnp.arange(s.shape[2])[None]
    seen = (col <= row) & ((row - col < window) | (col < sinks))
    return jnp.einsum("hqk,hkd->hqd", softmax(jnp.where(seen, s, -jnp.inf)), v)


def update_cache(new, cache, page, slot):
    return cache.at[page, slot].set(new[:, 0])


def ragged_inputs(b, heads, group, p, n):
    r = np.random.default_rng(8)
    length = r.integers(8 * p, 16 * p + 1, (b,), np.int32)
    return [*randoms(np.float32, (b, heads, group, 128), (heads, n, 16, 128), (heads, n, 16, 128)), r.integers(0, n, (b, p), np.int32), length,
            (length - 1) // 16]


def cached_inputs(b, heads, group, s):
    length = np.random.default_rng(9).integers(s // 2, s + 1, (b,), np.int32)
    return [*randoms(np.float32, (b, heads, group, 128), (b, heads, s, 128), (b, heads, s, 128)), length, (length - 1) // 128]


def cache_inputs(b, n):
    r = np.random.default_rng(10)
    return [*randoms(np.float32, (b, 1, 128), (n, 16, 128)), np.sort(r.permutation(n)[:b]).astype(np.int32), r.integers(0, 16, b, np.int32)]


def scatter(new, cache, slot):
    return cache.at[slot].set(new)


def scatter_inputs(n, slots):
    return [*randoms(np.float32, (n, 8, 128), (slots, 8, 128)), np.random.default_rng(13).permutation(slots)[:n].astype(np.int32)]


def active_blocks(x, w, active, *worklist):
    kb, nb = active.shape
    return x @ jnp.where((active != 0)[:, None, :, None], w.reshape(kb, 128, nb, 128), 0).reshape(w.shape)


def active_inputs(m, kb, nb):
    """Half of the blocks of w, at least one in each column, by columns."""
    active = (np.random.default_rng(14).random((kb, nb)) < 0.5).astype(np.int32)
    active[0] = 1
    column, row = np.nonzero(active.T)
    place = np.zeros((kb, nb), np.int32)
    place[row, column] = np.arange(len(row))
    last = np.searchsorted(column, np.arange(nb), "right") - 1
    return [*randoms(np.float32, (m, 128 * kb), (128 * kb, 128 * nb)), active, place, *(x.astype(np.int32) for x in (row, column, last))]


def adamw_inputs():
    *_, v = arrays = randoms(np.float32, BIG, BIG, BIG, BIG)
    return [np.array([[1.25, 1.5]], np.float32), *arrays[:3], v * v]


def float8_inputs(n):
    return [*randoms(ml_dtypes.float8_e4m3fn, (n, n), (n, n)), *randoms(np.float32, (n, 1), (1, n))]


def int4_inputs(n):
    r = np.random.default_rng(11)
    return [*randoms(ml_dtypes.bfloat16, (n, n)), r.integers(-8, 8, (n, n)).astype(ml_dtypes.int4), *randoms(np.float32, (n // 256, 1, n))]


def combine_inputs(m, d):
    place = np.random.default_rng(12).permutation(2 * m).reshape(2, m).astype(np.int32)
    return [*randoms(np.float32, (2 * m, 1, d), (m, 2, 1)), place]


def recurrence_inputs(*shape):
    a, x = randoms(np.float32, shape, shape)
    return [np.float32(0.99) / (1 + np.exp(-a)), x]


BF16, F32 = ml_dtypes.bfloat16, np.float32
N = 1024
BIG = (4096, 4096)
# name, spec, sizes that shapes leave open, inputs, function, outputs' shapes (None: as the function's)
CASES = {
    "add_vectors": ("elementwise/add_vectors", {}, lambda: randoms(F32, (1 << 20,), (1 << 20,)), jnp.add),
    "add_2d": ("elementwise/add_2d", {}, lambda: randoms(F32, BIG, BIG), jnp.add),
    "column_scale": ("elementwise/column_scale", {}, lambda: randoms(F32, BIG, (1, 4096)), jnp.multiply),
    "bias_gelu": ("elementwise/bias_gelu", {}, lambda: randoms(F32, BIG, (1, 4096)), bias_gelu),
    "transpose": ("elementwise/transpose", {}, lambda: randoms(F32, BIG), jnp.transpose),
    "rope": ("elementwise/rope", {"bs": 256}, lambda: randoms(F32, (16, 2048, 128), (2048, 64), (2048, 64)), rope),
    "in_place_update": ("elementwise/in_place_update", {}, lambda: randoms(F32, BIG, BIG), lambda w, g: w - g * 0.01),
    "row_gather": ("elementwise/row_gather", {}, lambda: [*randoms(F32, (8192, 1, 512)), np.random.default_rng(7).integers(0, 8192, 2048, np.int32)],
                   lambda x, ids: x[ids]),
    "matmul": ("matmul/matmul", {"bk": 256}, lambda: randoms(F32, (N, N), (N, N)), jnp.matmul),
    "matmul:bf16": ("matmul/matmul", {"bk": 256}, lambda: randoms(BF16, (N, N), (N, N)), jnp.matmul),
    "matmul_relu": ("matmul/matmul_relu", {"bm": 256}, lambda: randoms(F32, (N, N), (N, N)), lambda x, y: jnp.maximum(x @ y, 0)),
    "matmul_relu:bf16": ("matmul/matmul_relu", {"bm": 256}, lambda: randoms(BF16, (N, N), (N, N)), lambda x, y: jnp.maximum(x @ y, 0)),
    "batched_matmul": ("matmul/batched_matmul", {}, lambda: randoms(F32, (8, 512, 512), (8, 512, 512)), jnp.matmul),
    "matmul_relu_dx": ("matmul/matmul_relu_dx", {"bm": 256}, lambda: randoms(F32, (N, N), (N, N), (N, N)),
                       lambda dy, y, w: jnp.where(y > 0, dy, 0) @ w.T),
    "matmul_relu_dw": ("matmul/matmul_relu_dw", {"bm": 256}, lambda: randoms(F32, (N, N), (N, N), (N, N)),
                       lambda x, dy, y: x.T @ jnp.where(y > 0, dy, 0)),
    "swiglu": ("matmul/swiglu", {"bm": 256}, lambda: randoms(F32, (N, N), (N, N), (N, N)), swiglu),
    "int8_matmul": ("matmul/int8_matmul", {"bm": 256}, lambda: int8_inputs(N), int8),
    "block_sparse_matmul": ("matmul/block_sparse_matmul", {}, lambda: sparse_inputs(N, 16, 16, 64), block_sparse),
    "grouped_matmul": ("matmul/grouped_matmul", {}, lambda: grouped_inputs(2048, 8, N, N), grouped),
    "reduce_sum": ("reduction/reduce_sum", {}, lambda: randoms(F32, BIG), lambda x: x.sum(0, keepdims=True)),
    "softmax_rows": ("reduction/softmax_rows", {}, lambda: randoms(F32, BIG), softmax),
    "rmsnorm": ("reduction/rmsnorm", {}, lambda: randoms(F32, BIG, (4096,)), rmsnorm),
    "layernorm": ("reduction/layernorm", {}, lambda: randoms(F32, BIG, (1, 4096), (1, 4096)), layernorm),
    "cross_entropy": ("reduction/cross_entropy", {"bn": 256}, lambda: entropy_inputs(N, 32000), cross_entropy),
    "flash_attention": ("attention/flash_attention", {"bq": 256, "Hk": 1, "G": 4},
                        lambda: randoms(F32, (4, 2048, 128), (1, 2048, 128), (1, 2048, 128)), flash),
    "flash_attention:bf16": ("attention/flash_attention", {"bq": 256, "Hk": 1, "G": 4},
                             lambda: randoms(BF16, (4, 2048, 128), (1, 2048, 128), (1, 2048, 128)), flash),
    "flash_attention_dq": ("attention/flash_attention_dq", {"bq": 256}, lambda: backward(4, N), flash_dq),
    "flash_attention_dkv": ("attention/flash_attention_dkv", {"bq": 256}, lambda: backward(4, N), flash_dkv),
    "paged_attention": ("attention/paged_attention", {}, lambda: paged_inputs(32, 64, 2048), paged),
    "splash_attention": ("attention/splash_attention", {"W": 512}, lambda: splash_inputs(4, 2048, 512), functools.partial(splash, 512)),
    "prefix_sum": ("sequence/prefix_sum", {"bn": 256}, lambda: randoms(F32, (4096, N)), lambda x: jnp.cumsum(x, 0)),
    "causal_conv1d": ("sequence/causal_conv1d", {}, lambda: randoms(F32, (4104, N), (4, N)), conv),
    "gated_linear_attention": ("sequence/gated_linear_attention", {}, lambda: [*attention_like(4, 2048), randoms(F32, (4, 2048, 1))[0]], gated),
    "stencil_2d": ("sequence/stencil_2d", {}, lambda: randoms(F32, (2050, 2050)), stencil),
    "adamw": ("elementwise/adamw", {}, adamw_inputs, adamw),
    "threefry_dropout": ("elementwise/threefry_dropout", {}, lambda: [np.array([1, 2], np.uint32), *randoms(F32, (2048, 2048))], dropout),
    "float8_matmul": ("matmul/float8_matmul", {}, lambda: float8_inputs(N), scaled),
    "int4_matmul": ("matmul/int4_matmul", {}, lambda: int4_inputs(N), grouped_weights),
    "matmul_double_buffered": ("matmul/matmul_double_buffered", {}, lambda: randoms(F32, (N, N), (N, N)), jnp.matmul),
    "moe_router": ("moe/moe_router", {}, lambda: randoms(F32, (8192, N), (N, 64)), router),
    "moe_combine": ("moe/moe_combine", {}, lambda: combine_inputs(2048, N), combine),
    "linear_recurrence": ("sequence/linear_recurrence", {}, lambda: recurrence_inputs(4, 2048, N), recurrence),
    "gated_delta_rule": ("sequence/gated_delta_rule", {}, lambda: [*attention_like(4, 512), *randoms(F32, (4, 512, 1), (4, 512, 1))], delta_rule),
    "ragged_paged_decode": ("attention/ragged_paged_decode", {}, lambda: ragged_inputs(16, 2, 8, 64, 1024), ragged),
    "ragged_paged_attention": ("attention/ragged_paged_attention", {}, lambda: ragged_rows_inputs(2, 4, 256, 8, 16, 256), ragged_rows),
    "grouped_query_decode": ("attention/grouped_query_decode", {}, lambda: cached_inputs(8, 4, 8, 2048), cached),
    "sliding_window_attention": ("attention/sliding_window_attention", {"W": 512, "Z": 4}, lambda: attention_like(4, 2048),
                                 functools.partial(sliding, 512, 4)),
    "matmul_pipeline": ("matmul/matmul_pipeline", {"bk": 512}, lambda: randoms(F32, (N, N), (N, N)), jnp.matmul),
    "active_blocks_matmul": ("matmul/active_blocks_matmul", {}, lambda: active_inputs(N, 16, 16), active_blocks),
    "paged_decode": ("attention/paged_decode", {}, lambda: paged_inputs(32, 64, 2048), paged),
    "kv_cache_scatter": ("attention/kv_cache_scatter", {}, lambda: scatter_inputs(1024, 8192), scatter),
    "kv_cache_update": ("attention/kv_cache_update", {}, lambda: cache_inputs(256, 4096), update_cache),
}


def receipt_of(spec):
    made = ROOT / "build" / "bench" / "receipts" / f"{spec.name.split('.')[0]}.json"
    if not made.exists() or made.stat().st_mtime < max(spec.stat().st_mtime, PROGRAM.stat().st_mtime):
        made.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([PROGRAM, "verify", "-q", "--receipt", made, spec], check=True, stdout=subprocess.DEVNULL)
    return made


def clock(f):
    """CPU and wall time, ms."""
    wall, cpu = time.perf_counter(), time.process_time()
    f()
    return (time.process_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3


def difference(got, want):
    """The worst, as a share of the root of the mean square."""
    want = np.asarray(want, np.float64)
    return float(np.max(np.abs(np.asarray(got).astype(np.float64) - want)) / (np.sqrt(np.mean(want * want)) + 1e-30))


def compiled_ones(interpreters):
    """The calls, and the names of the errors of those that fail, which is a result."""
    calls, failed = {}, {}
    for name, compiled in interpreters.items():
        try:
            calls[name] = compiled()
        except Exception as e:  # noqa: BLE001
            failed[name] = type(e).__name__
    return calls, failed


def goes_on(times, fresh, turn):
    """One that takes ten times as long as the engine needs no more than three rounds, nor more than three seconds."""
    return not turn or statistics.median(t[0] for t in times) < 10 * statistics.median(t[0] for t in fresh) or (turn < 3 and sum(t[1] for t in times) < 3e3)


def in_rounds(sides, rounds):
    """CPU and wall time of each side, round by round, in an order of its own: what one does to the system's free pages is paid by the
    next one, so that none may always follow the same other. An interpreter that fails has the name of its error."""
    times = {side: [] for side in sides}
    for i in range(rounds):
        order = [s for s in sides if isinstance(times[s], list) and len(times[s]) == i and goes_on(times[s], times["fresh"], i)]
        random.Random(i).shuffle(order)
        for side in order:
            try:
                times[side].append(clock(sides[side]))
            except Exception as e:  # noqa: BLE001
                if side not in INTERPRETERS:
                    raise
                times[side] = type(e).__name__
    return times


def busy():
    """Seconds that all processors worked since they started."""
    numbers = [int(n) for n in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return (sum(numbers[:3]) + sum(numbers[5:8])) / os.sysconf("SC_CLK_TCK")


def on_cores(one, two, rounds):
    """Wall time of one thread and of two on all cores, turn by turn, and the share of the processors that other work took meanwhile."""
    os.sched_setaffinity(0, CORES)
    try:
        again = max(1, round(50 / clock(one)[1]))  # 50 ms at least: the scheduler has to find the other core
        before, mine, start = busy(), time.process_time(), time.perf_counter()
        times = [[clock(lambda f=f: [f() for _ in range(again)])[1] / again for f in (one, two)] for _ in range(rounds)]
        took = time.perf_counter() - start
        return {"ms": times, "others": max(0.0, busy() - before - time.process_time() + mine) / took / len(CORES)}
    finally:
        os.sched_setaffinity(0, ONE)


def as_bytes(out):
    return [x.tobytes() for x in (out if isinstance(out, tuple) else (out,))]


def numpy_side(function, inputs, want):
    """The call and how far off it is; None where NumPy has no such function."""
    call = peers.by_numpy(sys.modules[__name__], function, inputs)
    try:
        return call, worst_of(call(), want)
    except AttributeError:
        return None, None


def worst_of(got, want):
    return max(map(difference, *((x if isinstance(x, tuple) else (x,)) for x in (got, want))))


def measure(name, rounds, with_interpreters):
    where, sizes, make, function = CASES[name]
    spec = ROOT / "examples" / f"{where}.tile.json"
    inputs = make()
    jitted = jax.jit(function)
    on_device = [jnp.asarray(x) for x in inputs]
    want = jax.block_until_ready(jitted(*on_device))
    by_threads = {n: compile_kernel(spec, receipt_of(spec), sizes=sizes, threads=n) for n in THREADS}
    kernel, two = by_threads[1], by_threads[2]
    unverified = compile_kernel(spec, unchecked=True, sizes=sizes, threads=1)
    out = kernel(*inputs)
    by_numpy, off = numpy_side(function, inputs, want)
    interpreters, failed = compiled_ones(peers.interpreters(spec, sizes, inputs, pallas)) if with_interpreters else ({}, {})
    sides = {
        "jit": lambda: jax.block_until_ready(jitted(*on_device)),
        "fresh": lambda: kernel(*inputs),
        "no receipt": lambda: unverified(*inputs),
        "reused": lambda: kernel(*inputs, out=out),
        "two threads": lambda: two(*inputs, out=out),
    } | ({"numpy": by_numpy} if by_numpy else {}) | interpreters | EXTRA.get(name, lambda *_: {})(inputs, out)
    for side in sides:
        if side not in INTERPRETERS:
            sides[side]()  # warm
    times = in_rounds(sides, rounds)
    outs = out if isinstance(out, tuple) else (out,)
    row = {"kernel": name, "ms": times | failed, "worst": worst_of(out, want), "numpy_worst": off, "load": os.getloadavg()[0],
           "bytes": sum(x.nbytes for x in (*inputs, *outs)),
           "same_bits": all(as_bytes(k(*inputs)) == as_bytes(out) for k in by_threads.values())}
    return row, lambda: on_cores(sides["reused"], sides["two threads"], rounds)


def copy_beside(inputs, out):
    """A copy of one input to memory that is there: what moves a byte costs."""
    to = np.empty_like(inputs[0])
    to[:] = 0
    return {"copy": lambda: np.copyto(to, inputs[0])}


def dense_beside(inputs, out):
    """The same kernel where all tiles are worked on, and where the half that a causal window leaves empty is not."""
    spec = ROOT / "examples" / "attention" / "splash_attention.tile.json"
    *arrays, work, fetch = inputs
    t, window = work.shape[0], 1408  # of 256 tiles 126 have an element that is seen
    sparse = splash_tables(128 * t, window)
    dense = np.ones_like(work), np.broadcast_to(np.arange(t, dtype=np.int32), (t, t)).copy()
    kernel = compile_kernel(spec, receipt_of(spec), sizes={"W": window}, threads=1)
    results = [kernel(*arrays, *tables) for tables in (dense, sparse)]
    assert (results[0] == results[1]).all()
    return {"all tiles": lambda: kernel(*arrays, *dense, out=results[0]), "half the tiles": lambda: kernel(*arrays, *sparse, out=results[1])}


THREADS = (1, 2, 7, 16)
INTERPRETERS = ("interpret=True", "InterpretParams()")
EXTRA = {"add_2d": copy_beside, "splash_attention": dense_beside}


STEP = {
    "tileproof": 1, "name": "steps", "target": "tpu-v5e", "sizes": {"S": {"min": 1, "max": 10**7}},
    "grid": [{"axis": "i", "steps": "S"}],
    "inputs": [{"name": "x", "dtype": "float32", "shape": [8, 128], "block_shape": [8, 128], "index_map": [0, 0]}],
    "outputs": [{"name": "o", "dtype": "float32", "shape": [8, 128], "block_shape": [8, 128], "index_map": [0, 0]}],
    "kernel": ["if i == 0:", "    o[...] = 0", "o[...] += x[...]"],
    "reference": ["o = x * S"],
}


def steps(rounds):
    """Microseconds of CPU time for a step that adds 1024 numbers, by receipt and without one, by the number of steps."""
    file = ROOT / "build" / "bench" / "steps.tile.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text() != json.dumps(STEP):
        file.write_text(json.dumps(STEP))
    x = np.ones((8, 128), np.float32)
    o = np.empty_like(x)
    calls, times = {}, {}
    for n in (10**2, 10**3, 10**4, 10**5, 10**6):
        for right, how in (("receipt", {"receipt": receipt_of(file)}), ("no receipt", {"unchecked": True})):
            kernel = compile_kernel(file, sizes={"S": n}, threads=1, **how)
            again = max(1, 10**4 // n)
            calls[right, n] = lambda kernel=kernel, again=again: [kernel(x, out=o) for _ in range(again)], again
            kernel(x, out=o)
            assert (o == n).all()
    for _ in range(rounds):
        for (right, n), (call, again) in calls.items():
            times.setdefault(right, {}).setdefault(n, []).append(clock(call)[0] / again / n * 1e3)
    return {right: {n: statistics.median(us) for n, us in by.items()} for right, by in times.items()}


def peaks():
    """What this core can do at best, by the instructions that the engine uses and by others: bench/peaks.c, the best of three."""
    found = [json.loads(subprocess.run([ROOT / "build" / "bench" / "peaks"], check=True, capture_output=True, text=True).stdout) for _ in range(3)]
    return {k: v if isinstance(v, str) else max(f[k] for f in found) for k, v in found[0].items()}


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--json", type=pathlib.Path)
    p.add_argument("--without-interpreters", action="store_true")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    record = {"commit": commit, "processor": processor(), "jax": jax.__version__, "numpy": np.__version__, "rounds": a.rounds, "load": [os.getloadavg()[0]],
              "peaks": peaks(), "steps_us": steps(a.rounds), "rows": []}
    print(page.peaks_line(record), *page.steps_lines(record), sep="\n", flush=True)
    for name in a.names or CASES:
        row, by_two = measure(name, a.rounds, not a.without_interpreters)
        if len(CORES) > 1 and not page.moves_more(row, record):
            row["cores"] = by_two()
        record["rows"].append(row)
        print(page.line(row), flush=True)
    record["load"].append(os.getloadavg()[0])
    again = peaks()
    record["peaks"] |= {k: max(v, again[k]) for k, v in record["peaks"].items() if not isinstance(v, str)}
    print(page.summary(record))
    if a.json:
        a.json.write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
