"""Kernels as people write them, each with a naive reference, for test_written.py: labels, rows of a table and segments among their inputs."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

RANDOM = np.random.default_rng(0)
F32 = jnp.float32


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def integers(most, *shape):
    return RANDOM.integers(0, most, shape).astype(np.int32)


def group_norm(x, g, b):
    n, h, c = x.shape

    def body(x_ref, g_ref, b_ref, o_ref):
        x = x_ref[...].reshape(h, 8, c // 8)
        count = h * (c // 8)
        mean = jnp.sum(x, axis=(0, 2), keepdims=True) / count
        centred = x - mean
        var = jnp.sum(centred * centred, axis=(0, 2), keepdims=True) / count
        y = centred * lax.rsqrt(var + 1e-5)
        o_ref[...] = y.reshape(h, c) * g_ref[...][None, :] + b_ref[...][None, :]

    row, rows = pl.BlockSpec((c,), lambda i: (0,)), pl.BlockSpec((None, h, c), lambda i: (i, 0, 0))
    return pl.pallas_call(body, grid=(n,), in_specs=[rows, row, row], out_specs=rows, out_shape=jax.ShapeDtypeStruct(x.shape, F32))(x, g, b)


def naive_group_norm(x, g, b):
    n, h, c = x.shape
    y = x.reshape(n, h, 8, c // 8)
    mean = y.mean((1, 3), keepdims=True)
    return ((y - mean) / jnp.sqrt(((y - mean) ** 2).mean((1, 3), keepdims=True) + 1e-5)).reshape(n, h, c) * g + b


def depthwise_conv(x, w):
    n, h, width, c = x.shape

    def body(x_ref, w_ref, o_ref):
        acc = jnp.zeros((h - 2, width - 2, c), F32)
        for i in range(3):
            for j in range(3):
                acc += x_ref[i:i + h - 2, j:j + width - 2, :] * w_ref[i, j, :]
        o_ref[...] = acc

    return pl.pallas_call(body, grid=(n,), in_specs=[pl.BlockSpec((None, h, width, c), lambda i: (i, 0, 0, 0)), pl.BlockSpec((3, 3, c), lambda i: (0, 0, 0))],
                          out_specs=pl.BlockSpec((None, h - 2, width - 2, c), lambda i: (i, 0, 0, 0)),
                          out_shape=jax.ShapeDtypeStruct((n, h - 2, width - 2, c), F32))(x, w)


def naive_depthwise_conv(x, w):
    h, width = x.shape[1] - 2, x.shape[2] - 2
    return sum(x[:, i:i + h, j:j + width, :] * w[i, j] for i in range(3) for j in range(3))


def segment_sum(x, ids):
    def body(id_ref, x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        hot = (lax.broadcasted_iota(jnp.int32, (16, 8), 1) == id_ref[...]).astype(F32)
        o_ref[...] += lax.dot_general(hot, x_ref[...], (((0,), (0,)), ((), ())), preferred_element_type=F32)

    return pl.pallas_call(body, grid=(x.shape[0] // 16,), in_specs=[pl.BlockSpec((16, 1), lambda i: (i, 0)), pl.BlockSpec((16, 128), lambda i: (i, 0))],
                          out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)), out_shape=jax.ShapeDtypeStruct((8, 128), F32))(ids, x)


def naive_segment_sum(x, ids):
    return jax.ops.segment_sum(x, ids[:, 0], num_segments=8)


def welford(x):
    n, d = x.shape

    def body(x_ref, mean_ref, var_ref, m_ref, s_ref):
        j = pl.program_id(1)

        @pl.when(j == 0)
        def _():
            m_ref[...] = jnp.zeros_like(m_ref)
            s_ref[...] = jnp.zeros_like(s_ref)

        x = x_ref[...]
        here = x.mean(1, keepdims=True)
        before = (j * 128).astype(F32)
        delta = here - m_ref[...]
        s_ref[...] += ((x - here) ** 2).sum(1, keepdims=True) + delta * delta * before * 128 / (before + 128)
        m_ref[...] += delta * 128 / (before + 128)

        @pl.when(j == pl.num_programs(1) - 1)
        def _():
            mean_ref[...] = m_ref[...]
            var_ref[...] = s_ref[...] / d

    o = pl.BlockSpec((8, 1), lambda i, j: (i, 0))
    return pl.pallas_call(body, grid=(n // 8, d // 128), in_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j))], out_specs=[o, o],
                          out_shape=[jax.ShapeDtypeStruct((n, 1), F32)] * 2, scratch_shapes=[pltpu.VMEM((8, 1), F32)] * 2)(x)


def naive_welford(x):
    mean = x.mean(1, keepdims=True)
    return mean, ((x - mean) ** 2).mean(1, keepdims=True)


def label_smoothing(x, y):
    n, v = x.shape

    def body(x_ref, y_ref, o_ref):
        x = x_ref[...]
        top = x.max(1, keepdims=True)
        total = top + jnp.log(jnp.exp(x - top).sum(1, keepdims=True))
        hit = lax.broadcasted_iota(jnp.int32, x.shape, 1) == y_ref[...]
        picked = jnp.sum(jnp.where(hit, x, 0.0), 1, keepdims=True)
        o_ref[...] = total - 0.9 * picked - 0.1 * (x.sum(1, keepdims=True) / v)

    column = pl.BlockSpec((8, 1), lambda i: (i, 0))
    return pl.pallas_call(body, grid=(n // 8,), in_specs=[pl.BlockSpec((8, v), lambda i: (i, 0)), column], out_specs=column,
                          out_shape=jax.ShapeDtypeStruct((n, 1), F32))(x, y)


def naive_label_smoothing(x, y):
    p = jax.nn.log_softmax(x, -1)
    return -(0.9 * jnp.take_along_axis(p, y, 1) + 0.1 * p.mean(-1, keepdims=True))


def embedding_gradient(ids, g):
    def body(id_ref, g_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)

        def one(t, _):
            row = o_ref[pl.ds(id_ref[t], 1), :]
            o_ref[pl.ds(id_ref[t], 1), :] = row + g_ref[pl.ds(t, 1), :]

        lax.fori_loop(0, 24, one, None)

    return pl.pallas_call(body, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)], out_specs=pl.BlockSpec(memory_space=pltpu.VMEM),
                          out_shape=jax.ShapeDtypeStruct((32, 128), F32))(ids, g)


def naive_embedding_gradient(ids, g):
    return jnp.zeros((32, 128), F32).at[ids].add(g)


def matmul_gelu(x, w, b):
    def body(x_ref, w_ref, b_ref, o_ref, acc):
        k = pl.program_id(1)

        @pl.when(k == 0)
        def _():
            acc[...] = jnp.zeros_like(acc)

        acc[...] += jnp.dot(x_ref[...], w_ref[...], preferred_element_type=F32)

        @pl.when(k == pl.num_programs(1) - 1)
        def _():
            z = acc[...] + b_ref[...]
            o_ref[...] = 0.5 * z * (1 + lax.erf(z * 0.7071067811865476))

    return pl.pallas_call(body, grid=(2, 2), in_specs=[pl.BlockSpec((32, 128), lambda i, k: (i, k)), pl.BlockSpec((128, 128), lambda i, k: (k, 0)),
                                                       pl.BlockSpec((1, 128), lambda i, k: (0, 0))],
                          out_specs=pl.BlockSpec((32, 128), lambda i, k: (i, 0)), out_shape=jax.ShapeDtypeStruct((64, 128), F32),
                          scratch_shapes=[pltpu.VMEM((32, 128), F32)])(x, w, b)


def naive_matmul_gelu(x, w, b):
    return jax.nn.gelu(x @ w + b, approximate=False)


# function: its arguments; defects, text of the source and what stands in its place, all of them named at that statement
KERNELS = {
    "group_norm": ((floats(2, 32, 128), floats(128), floats(128)),
                   [("keepdims=True) / count\n        centred", "keepdims=True) / (count - 1)\n        centred"), ("var + 1e-5", "var + 1e-3"),
                    ("+ b_ref[...][None, :]", "+ 2 * b_ref[...][None, :]")]),
    "depthwise_conv": ((floats(1, 6, 10, 128), floats(3, 3, 128)),
                       [("w_ref[i, j, :]", "w_ref[j, i, :]"), ("o_ref[...] = acc\n", "o_ref[...] = acc + 1e-2\n"), ("acc += x_ref[i:", "acc -= x_ref[i:")]),
    "segment_sum": ((floats(64, 128), integers(8, 64, 1)),
                    [("== id_ref[...]", "== id_ref[...] + 1"), ("o_ref[...] += lax.dot", "o_ref[...] = lax.dot"), ("o_ref[...] += lax.dot", "o_ref[...] += 1.5 * lax.dot")]),
    "welford": ((floats(16, 512),),
                [("* before * 128 /", "* before /"), ("delta * 128 / (before + 128)\n\n", "delta * 128 / (before + 1)\n\n"), ("s_ref[...] / d", "s_ref[...] / (d - 1)")]),
    "label_smoothing": ((floats(32, 128), integers(128, 32, 1)),
                        [("keepdims=True) / v)", "keepdims=True) / (v - 1))"), ("0.9 * picked", "0.8 * picked"), ("hit, x, 0.0", "hit, x, 1.0")]),
    "embedding_gradient": ((integers(32, 24), floats(24, 128)),
                           [("= row + g_ref", "= g_ref"), ("g_ref[pl.ds(t, 1), :]", "g_ref[pl.ds(jnp.maximum(t - 1, 0), 1), :]"), ("fori_loop(0, 24", "fori_loop(0, 23")]),
    "matmul_gelu": ((floats(64, 256), floats(256, 128), floats(1, 128)),
                    [("k == pl.num_programs(1) - 1)\n        def _():\n            z", "k == 0)\n        def _():\n            z"), ("+ b_ref[...]\n            o", "- b_ref[...]\n            o"),
                     ("z * 0.7071067811865476", "z * 0.5")]),
}
