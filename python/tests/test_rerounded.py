"""Integers that floats decide: where rounding may turn them, and where it may not."""

import jax
import jax.numpy as jnp
import kernels
import numpy as np
import pytest
from jax.experimental import pallas as pl

import tileproof
from tileproof import rerounded

X = kernels.array(64, 256, dtype=jnp.bfloat16)


def scale(v, axis):
    return jnp.maximum(jnp.max(jnp.abs(v), axis=axis, keepdims=True), 1e-6) / 127.0


def quantised(x, to_integer=jnp.round):
    def body(x_ref, q_ref):
        v = x_ref[...].astype(jnp.float32)
        q_ref[...] = jnp.clip(to_integer(v / scale(v, 1)), -127, 127).astype(jnp.int8)

    rows = pl.BlockSpec((32, 128), lambda i, g: (i, g))
    return pl.pallas_call(body, grid=(2, 2), in_specs=[rows], out_specs=rows, out_shape=jax.ShapeDtypeStruct(x.shape, jnp.int8))(x)


def naive(x):
    v = x.astype(jnp.float32).reshape(64, 2, 128)
    return jnp.clip(jnp.round(v / scale(v, 2)), -127, 127).astype(jnp.int8).reshape(64, 256)


def test_ties_of_a_quantiser():
    assert tileproof.assert_equivalent(quantised, naive, X) == 1


@pytest.mark.parametrize("other", [jnp.floor, lambda v: jnp.round(v + 2.0**-8), lambda v: jnp.round(v * (1 + 2.0**-10))])
def test_what_is_no_rounding(other):
    with pytest.raises(AssertionError, match="result 0 differs"):
        tileproof.assert_equivalent(lambda x: quantised(x, other), naive, X, blame=False)


def test_exact_quotients_stay():
    """Halves of integers are exact, whatever rounds."""
    n = jnp.arange(64, dtype=jnp.float32)
    for found in rerounded.integers(lambda v: jnp.floor(v / 2).astype(jnp.int32), (n,)):
        assert np.array_equal(found[0], np.arange(64) // 2)


def test_a_decision_of_rounding_may_be_either():
    n = jnp.arange(1, 65, dtype=jnp.float32)
    found = [f[0] for f in rerounded.integers(lambda v: jnp.floor(jnp.exp(jnp.log(v))).astype(jnp.int32), (n,))]
    assert len({tuple(f) for f in found}) > 1 and all(np.abs(f - np.arange(1, 65)).max() <= 1 for f in found)
