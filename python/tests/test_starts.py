"""Starts and bounds that are expressions: what is added to them keeps its place."""

import jax
import jax.numpy as jnp
import kernels
import pytest
from jax import lax
from jax.experimental import pallas as pl

import tileproof
from tileproof import capture

X = kernels.array(64, 128)


def stepped(read, out=(8, 128), steps=3):
    """One block per step, read from the whole input at a place that depends on the step."""
    def fn(x):
        def kernel(x_ref, o_ref):
            o_ref[...] = read(x_ref, pl.program_id(0))

        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((steps * out[0], out[1]), x.dtype), grid=(steps,),
                              in_specs=[pl.BlockSpec(x.shape, lambda i: (0, 0))], out_specs=pl.BlockSpec(out, lambda i: (i, 0)))(x)
    return fn


STARTS = {
    "of a view, a bit operation": lambda x, i: x.at[pl.ds(i & 1, 40)][pl.ds(i + 2, 8)],
    "of a view, a choice": lambda x, i: x.at[pl.ds(jnp.where(i > 1, 8, 4), 40)][pl.ds(i + 2, 8)],
    "in a view, a bit operation": lambda x, i: x.at[pl.ds(i + 2, 40)][pl.ds(i | 4, 8)],
    "in a view, a shift": lambda x, i: x.at[pl.ds(i + 2, 40)][pl.ds(i << 2, 8)],
    "in a strided view": lambda x, i: x.at[pl.ds(i | 1, 30, 2)][pl.ds(i ^ 1, 8)],
    "of a view behind a reshape": lambda x, i: x.reshape(8, 8, 128)[i & 3, pl.ds(0, 8)] + x.reshape(8, 8, 128).at[i | 2][...],
    "a slice behind a reshape": lambda x, i: x.reshape(8, 8, 128)[pl.ds(i | 1, 2)].reshape(16, 128)[:8],
    "of a scan's counter": lambda x, i: lax.scan(lambda c, v: ((c[0] + 1, c[1] * 0.5 + v * c[0]), None), (i * 2 + 1, jnp.zeros((8, 128))),
                                                 x[...].reshape(8, 8, 128))[0][1],
    "of a loop, a bit operation": lambda x, i: lax.fori_loop(i & 1, (i & 1) + 3, lambda t, v: v + x[pl.ds(t, 8)], jnp.zeros((8, 128))),
    "of a loop, both": lambda x, i: lax.fori_loop(i | 1, (i << 1) + 4, lambda t, v: v + x[pl.ds(t, 8)] * t, jnp.zeros((8, 128))),
    "of a dynamic slice": lambda x, i: lax.dynamic_slice(x[...], (i ^ 3, 0), (8, 128)),
    "of an update": lambda x, i: lax.dynamic_update_slice(x[pl.ds(0, 8)], x[pl.ds(8, 2)] * 2, (i | 1, 0)),
    "an index of bits": lambda x, i: x[pl.ds((i & 1) * 8 + (i >> 1), 8)],
}


@pytest.mark.parametrize("name", STARTS)
def test_starts(name):
    fn = stepped(STARTS[name])
    want = capture.calls(fn, X).value
    assert tileproof.assert_equivalent(fn, lambda _: want, X, rtol=2e-5, atol=2e-5) == 1


def divided(index, table):
    """A block map that divides by what a table holds."""
    from jax.experimental.pallas import tpu as pltpu

    def fn(t, x):
        def kernel(t_ref, x_ref, o_ref):
            o_ref[...] = x_ref[...]

        grid_spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(4,), in_specs=[pl.BlockSpec((8, 128), lambda i, t: (index(i, t), 0))],
                                                 out_specs=pl.BlockSpec((8, 128), lambda i, t: (i, 0)))
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((32, 128), x.dtype), grid_spec=grid_spec)(t, x)
    return fn, jnp.array(table, jnp.int32)


@pytest.mark.parametrize("index, table", [(lambda i, t: lax.div(i, t[0]) + 3, [-2]), (lambda i, t: lax.rem(i, t[0]), [-2]), (lambda i, t: lax.rem(t[i], t[4]) + 2, [-3, 3, 5, -5, -3]),
                                          (lambda i, t: lax.div(t[i], 2) + 2, [-3, 3, 1, -1]), (lambda i, t: (i ^ 3) + (t[0] & 1), [-3])])
def test_quotients_in_index_maps_truncate(index, table):
    fn, t = divided(index, table)
    want = capture.calls(fn, t, X).value
    assert tileproof.assert_equivalent(fn, lambda *_: want, t, X) == 1
