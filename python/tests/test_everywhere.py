"""assert_equivalent at the sizes and inputs that verify picks: kernels that are
right in the call that was given and wrong at others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import ShapeDtypeStruct as Shape
from jax.experimental import pallas as pl

import tileproof
from tileproof import everywhere


def rows(body, tail=lambda o, x: None):
    """A kernel over blocks of 64 rows; `tail` runs in the body, too."""
    def kernel(x_ref, o_ref):
        o_ref[...] = body(x_ref[...])
        tail(o_ref, x_ref)

    def fn(x):
        block = pl.BlockSpec((64, 128), lambda i: (i, 0))
        return pl.pallas_call(kernel, out_shape=Shape(x.shape, x.dtype), grid=(pl.cdiv(x.shape[0], 64),), in_specs=[block], out_specs=block)(x)

    return fn


def third_block(o_ref, x_ref):
    @pl.when(pl.program_id(0) == 2)
    def _():
        o_ref[...] = x_ref[...] + 1


def arguments(M):
    return (Shape((M, 128), jnp.float32),)


def test_right_everywhere():
    used = tileproof.assert_equivalent_at_sizes(rows(jnp.tanh), jnp.tanh, arguments, M=128)
    assert used.cases == used.picked >= 6 and used.runs == used.calls > used.cases
    assert str(used) == f"{used.cases} of {used.picked} cases, {used.runs} runs, {used.calls} calls in the engine"


def test_wrong_in_a_later_case():
    fn = rows(jnp.tanh, third_block)
    x = jnp.asarray(np.random.default_rng(0).standard_normal((128, 128)), jnp.float32)
    assert tileproof.assert_equivalent(fn, jnp.tanh, x) == 1  # the call that was given
    with pytest.raises(AssertionError, match=r"^at M = \d+, .* inputs: .*differs from the reference"):
        tileproof.assert_equivalent_at_sizes(fn, jnp.tanh, arguments, M=128)


def test_wrong_on_later_inputs():
    fn = rows(lambda v: jnp.where(v == 0, 1.0, v))
    with pytest.raises(AssertionError, match=r"(zeros|ties|constant) inputs: .*differs"):
        tileproof.assert_equivalent_at_sizes(fn, lambda v: v, arguments, M=128)


def test_the_budget_is_kept_and_said():
    used = tileproof.assert_equivalent_at_sizes(rows(jnp.tanh), jnp.tanh, arguments, M=128, seconds=0)
    assert used.cases == used.runs == 1 and used.picked > 5


def test_sizes_at_which_the_reference_raises_are_named():
    def reference(x):
        return jax.lax.top_k(x.T, 2)[0].T[:1] * 0 + x  # there is no second row of one

    used = tileproof.assert_equivalent_at_sizes(rows(lambda v: v), reference, arguments, M=128)
    assert used.cases > 5 and "; not where the reference raises, as at M = 1: ValueError: k argument to top_k" in str(used)
    with pytest.raises(tileproof.TileproofError, match="the reference raises at M = .*: KeyError"):
        tileproof.assert_equivalent_at_sizes(rows(lambda v: v), lambda x: {}["x"], arguments, M=128)


def test_arrays_stay_as_they_are():
    seen = []

    def given(M):
        return (np.full((M, 128), 7.0, np.float32),)

    def reference(x):
        seen.append((x.shape[0], float(jnp.max(x))))
        return x + 1

    used = tileproof.assert_equivalent_at_sizes(rows(lambda v: v + 1), reference, given, M=128)
    assert used.runs == used.cases == len({m for m, _ in seen}) and {v for _, v in seen} == {7.0}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "int8", "bool"])
def test_arguments_of_every_dtype(dtype):
    a, b = everywhere.filled([Shape((3, 5), jnp.dtype(dtype)), Shape((), jnp.dtype(dtype))], "ties", 4)
    assert a.shape == (3, 5) and b.shape == () and a.dtype == b.dtype == jnp.dtype(dtype)
    assert np.array_equal(a, everywhere.filled([Shape((3, 5), jnp.dtype(dtype))], "ties", 4)[0])
    assert jax.numpy.asarray(a).dtype == jnp.dtype(dtype)
