"""Arrays of one number: cast, and carried by loops, they are what JAX makes of them."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl

import tileproof

SHAPE = (8, 128)
X = jax.ShapeDtypeStruct(SHAPE, jnp.float32)


def full(value, dtype, to):
    return jnp.full(SHAPE, value, dtype).astype(to).astype(jnp.float32)


def carried(x):
    """A turn sees what the turn before left, in an array of it, too."""
    return x + lax.fori_loop(0, 5, lambda t, c: (jnp.full(SHAPE, c[1]), c[1] + 1.0), (jnp.zeros(SHAPE), 0.0))[0]


def carried_while(x):
    return x + lax.while_loop(lambda c: c[1] < 4.0, lambda c: (jnp.full(SHAPE, c[1]), c[1] + 1.0), (jnp.zeros(SHAPE), 0.0))[0]


def counted(x):
    return x + lax.fori_loop(0, 4, lambda t, c: c + 1, 0).astype(jnp.float32)


def counted_while(x):
    return x + lax.while_loop(lambda c: c < 3, lambda c: c + 1, 0).astype(jnp.float32)


# A body, and what it is not.
BODIES = {
    "300 as a byte": (lambda x: x + full(300, jnp.int32, jnp.uint8), lambda x: x + 300),
    "-1 without a sign": (lambda x: x + full(-1, jnp.int32, jnp.uint8), lambda x: x - 1),
    "2.7 as an integer": (lambda x: x + full(2.7, jnp.float32, jnp.int32), lambda x: x + 2.7),
    "2 as a bool": (lambda x: x + full(2, jnp.int32, bool), lambda x: x + 2),
    "0.3 in few bits": (lambda x: jnp.where(x + 0.3005 > full(0.3, jnp.float32, jnp.bfloat16), 1.0, 0.0), lambda x: jnp.where(x + 0.3005 > 0.3, 1.0, 0.0)),
    "carried": (carried, lambda x: x + 5),
    "carried by while": (carried_while, lambda x: x + 4),
    "counted": (counted, lambda x: x + 3),
    "counted by while": (counted_while, lambda x: x + 2),
}


def kernel(body):
    def write(x_ref, o_ref):
        o_ref[...] = body(x_ref[...])

    return lambda x: pl.pallas_call(write, out_shape=X)(x)


@pytest.mark.parametrize("name", BODIES)
def test_as_jax_computes(name):
    body, other = BODIES[name]
    x = np.zeros(SHAPE, np.float32)
    tileproof.assert_equivalent(kernel(body), body, x)
    assert not tileproof.verify(kernel(body), other, X).ok
    assert not tileproof.verify(kernel(other), body, X).ok


def test_a_shift_that_keeps_the_sign_of_what_has_none_is_refused():
    u = jax.ShapeDtypeStruct(SHAPE, jnp.uint32)

    def write(x_ref, o_ref):
        o_ref[...] = lax.shift_right_arithmetic(x_ref[...], jnp.full(SHAPE, 4, jnp.uint32))

    with pytest.raises(tileproof.Unsupported, match="shift_right_arithmetic of unsigned integers"):
        tileproof.from_pallas(pl.pallas_call(write, out_shape=u), u)


@pytest.mark.parametrize("sum_of, ok", [(lambda x, y: x.astype(jnp.int32) + y, True), (lambda x, y: (x + y).astype(jnp.int32), False)])
def test_a_reference_that_wraps_is_executed_where_it_does(sum_of, ok):
    def write(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...].astype(jnp.int32) + y_ref[...].astype(jnp.int32)

    def fn(x, y):
        return pl.pallas_call(write, out_shape=jax.ShapeDtypeStruct(SHAPE, jnp.int32))(x, y)

    bytes_ = jax.ShapeDtypeStruct(SHAPE, jnp.int8)
    assert tileproof.verify(fn, sum_of, bytes_, bytes_).ok == ok


def test_what_a_proof_takes_for_granted_is_told():
    report = tileproof.verify(kernel(lambda x: jnp.maximum(x, -1e30)), lambda x: x, X)
    assert "; finite masks are minus infinity" in str(report)
    report = tileproof.verify(kernel(lambda x: x.astype(jnp.bfloat16).astype(jnp.float32) * 2), lambda x: x * 2, X)
    assert "; casts are the identity" in str(report)


# Numbers that several operations make, and the one that is meant: float32 rounds each of them.
MEANT = {
    "an inverse root": (lambda x: x * (1 / jnp.sqrt(96)), lambda x: x * 96**-0.5, True),
    "the next of it": (lambda x: x * (1 / jnp.sqrt(96)), lambda x: x * (96**-0.5 * (1 + 2**-23)), False),
    "of pi": (lambda x: jnp.tanh(jnp.sqrt(2 / jnp.pi) * x), lambda x: jnp.tanh(0.7978845608 * x), True),
    "cancelled": (lambda x: x * ((jnp.float32(1) + 1e-8) - 1), lambda x: x * 1e-8, False),
    "a root in the reference": (lambda x: x * math.sqrt(2 / math.pi), lambda x: x * jnp.sqrt(2 / jnp.pi), True),
    "norms": (
        lambda x: x / jnp.maximum(jnp.sqrt(jnp.sum(x * x, -1, keepdims=True)), 1e-12),
        lambda x: x * lax.rsqrt(jnp.maximum(jnp.sum(x * x, -1, keepdims=True), 1e-24)),
        True,
    ),
}


@pytest.mark.parametrize("name", MEANT)
def test_what_is_meant(name):
    body, reference, same = MEANT[name]
    assert ("all sizes: proven" in str(tileproof.verify(kernel(body), reference, X))) == same
