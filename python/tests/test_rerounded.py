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


def inverse(a):
    """Gauss and Jordan without pivots, of matrices whose diagonal is large."""
    def body(a_ref, o_ref):
        n = a_ref.shape[1]
        rows, columns = (jax.lax.broadcasted_iota(jnp.int32, (n, 2 * n), d) for d in range(2))

        def turn(j, w):
            row = jnp.sum(jnp.where(rows == j, w, 0), 0, keepdims=True)
            row = row / jnp.sum(jnp.where(columns[:1] == j, row, 0))
            return jnp.where(rows == j, row, w - jnp.sum(jnp.where(columns == j, w, 0), 1, keepdims=True) * row)

        o_ref[0] = jax.lax.fori_loop(0, n, turn, jnp.concatenate([a_ref[0], jnp.where(rows == columns, 1.0, 0.0)[:, :n]], 1))[:, n:]

    block = pl.BlockSpec((1, *a.shape[1:]), lambda i: (i, 0, 0))
    return pl.pallas_call(body, grid=(len(a),), in_specs=[block], out_specs=block, out_shape=jax.ShapeDtypeStruct(a.shape, a.dtype))(a)


def test_ties_that_leave_the_reference_without_a_value():
    report = tileproof.verify(inverse, jnp.linalg.inv, kernels.array(3, 8, 8) * 0.3 + 3 * jnp.eye(8), target="none")
    assert report.ok and "not with ties" in str(report), report


def test_ties_count_where_the_reference_has_a_value():
    def largest(x):
        def body(x_ref, o_ref):
            v = x_ref[...]
            places = jax.lax.broadcasted_iota(jnp.int32, v.shape, 1)
            o_ref[...] = jnp.max(jnp.where(v == jnp.max(v, axis=1, keepdims=True), places, -1), axis=1, keepdims=True)
        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((8, 1), jnp.int32))(x)

    report = tileproof.verify(lambda x: largest(x + 1), lambda x: jnp.argmax(x + 1, axis=1, keepdims=True).astype(jnp.int32), kernels.array(8, 128), target="none")
    assert not report.ok and "where each second element of a row" in str(report), report
