"""Functions of which only the results are compared: the change that makes them agree is named, and its line."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import tileproof

X = np.random.default_rng(0).standard_normal((16, 256)).astype(np.float32)
TILE = pl.BlockSpec((8, 128), lambda i, j: (i, j))
COLUMN = pl.BlockSpec((8, 1), lambda i, j: (i, 0))


def softmax(x, reset=0, power=1):
    """In two calls: sums of exponentials, then quotients."""
    def sums(x_ref, s_ref):
        @pl.when(pl.program_id(1) >= reset)  # reset
        def _():
            s_ref[...] = jnp.zeros_like(s_ref)
        s_ref[...] += jnp.exp(x_ref[...]).sum(1, keepdims=True)

    def right_sums(x_ref, s_ref):
        @pl.when(pl.program_id(1) == 0)
        def _():
            s_ref[...] = jnp.zeros_like(s_ref)
        s_ref[...] += jnp.exp(x_ref[...]).sum(1, keepdims=True)

    def quotients(x_ref, s_ref, o_ref):
        o_ref[...] = jnp.exp(x_ref[...]) * s_ref[...] if power > 0 else jnp.exp(x_ref[...]) / s_ref[...]  # quotient

    m, n = x.shape
    grid = (m // 8, n // 128)
    s = pl.pallas_call(right_sums if reset is None else sums, grid=grid, in_specs=[TILE], out_specs=COLUMN, out_shape=jax.ShapeDtypeStruct((m, 1), x.dtype))(x)
    return pl.pallas_call(quotients, grid=grid, in_specs=[TILE, COLUMN], out_specs=TILE, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, s)


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(n for n, line in enumerate(lines) if text in line)


@pytest.mark.parametrize("given,place,change", [
    (dict(power=-1), "# reset", "write `==` in place of `>=`"),
    (dict(reset=None), "# quotient", "write `/` in place of `*`"),
])
def test_of_two_calls(given, place, change):
    def two(x):
        return softmax(x, **given)

    tier = next(t for t in tileproof.verify(two, lambda x: jax.nn.softmax(x, axis=1), X).tiers if t.name == "executed")
    assert tier.verdict == "violated" and f"test_parting.py:{line_of(softmax, place)}" in tier.text and change in tier.text, tier


def test_right_ones_are_not_changed():
    assert tileproof.verify(lambda x: softmax(x, reset=None, power=-1), lambda x: jax.nn.softmax(x, axis=1), X).ok


def test_an_array_that_is_given_twice():
    def shift(x):
        def body(x_ref, before_ref, o_ref):
            o_ref[...] = x_ref[...] - before_ref[...] * jnp.where(pl.program_id(0) == 1, 0, 1)  # first

        block = pl.BlockSpec((8, 256), lambda i: (i, 0))
        before = pl.BlockSpec((8, 256), lambda i: (jnp.maximum(i - 1, 0), 0))
        return pl.pallas_call(body, grid=(2,), in_specs=[block, before], out_specs=block, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, x)

    with pytest.raises(AssertionError, match=rf"test_parting\.py:{line_of(shift, '# first')}.*\n(.*\n)*  help: write .*: then results agree, and all rules hold"):
        tileproof.assert_equivalent(shift, lambda x: jnp.concatenate([x[:8], x[8:] - x[:8]]), X)


def test_the_table_of_a_call_in_a_loop():
    """What is changed is the call of every turn, with the tables of that turn."""
    def rows(t, x):
        def body(t_ref, x_ref, o_ref):
            o_ref[...] = -x_ref[...]  # sign

        grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(2,), in_specs=[pl.BlockSpec((8, 256), lambda i, t: (t[i], 0))],
                                            out_specs=pl.BlockSpec((8, 256), lambda i, t: (i, 0)))
        call = pl.pallas_call(body, grid_spec=grid, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))
        return jax.lax.scan(lambda x, t: (call(t, x), None), x, t)[0]

    t = np.array([[1, 0], [0, 1], [1, 1]], np.int32)
    with pytest.raises(AssertionError, match=rf"test_parting\.py:{line_of(rows, '# sign')}"):
        tileproof.assert_equivalent(rows, lambda t, x: jnp.concatenate([x[:8], x[:8]]), t, X)


def test_the_kernel_of_a_backward_pass():
    """Its statements are where they are written, and not where the function is differentiated."""
    def call(body, *xs):
        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(xs[0].shape, xs[0].dtype))(*xs)

    def forward(x_ref, o_ref):
        o_ref[...] = x_ref[...] * x_ref[...] * x_ref[...]

    def backward(x_ref, g_ref, o_ref):
        o_ref[...] = g_ref[...] * 3.0 + x_ref[...] * x_ref[...]  # product

    @jax.custom_vjp
    def cube(x):
        return call(forward, x)

    cube.defvjp(lambda x: (cube(x), x), lambda x, g: (call(backward, x, g),))
    place = line_of(test_the_kernel_of_a_backward_pass, "# product")
    with pytest.raises(AssertionError, match=rf"test_parting\.py:{place}: .*\n  help: in backward, write .* then results agree with these arguments"):
        tileproof.assert_equivalent(jax.grad(lambda x: cube(x).sum()), lambda x: 3 * x * x, X)


def test_a_change_that_agrees_by_luck_is_not_named():
    """On ones x * x + 2 is x + 2, too."""
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * x_ref[...] + 3.0

    def same(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    def call(body, x):
        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    with pytest.raises(AssertionError) as e:
        tileproof.assert_equivalent(lambda x: call(same, call(kernel, x)), lambda x: x + 2.0, jnp.ones((8, 128)))
    assert "then results agree" not in str(e.value)


def test_the_call_of_a_backward_pass():
    """It is where it is written, like its statements."""
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + x_ref[...]

    def call(x, at):
        return pl.pallas_call(kernel, grid=(2,), in_specs=[pl.BlockSpec((64, 128), lambda i: (i + at, 0))],  # call
                              out_specs=pl.BlockSpec((64, 128), lambda i: (i, 0)), out_shape=jax.ShapeDtypeStruct((128, 128), x.dtype))(x)

    @jax.custom_vjp
    def double(x):
        return call(x, 0)

    double.defvjp(lambda x: (call(x, 0), None), lambda _, g: (call(g, 1),))
    for fn in (jax.grad(lambda x: double(x).sum()), jax.grad(lambda x: jax.checkpoint(double)(x).sum()), jax.jit(jax.grad(lambda x: double(x).sum()))):
        specs = tileproof.from_pallas(fn, jax.ShapeDtypeStruct((128, 128), jnp.float32))
        place = f"test_parting.py:{line_of(test_the_call_of_a_backward_pass, '# call')}"
        assert {s["x-python"]["call"].rpartition("/")[2] for s in specs} == {place}
        assert len(specs) > 1


def test_a_carry_that_is_not_rescaled():
    """The others are set to their next values when all are computed, so that what rescales them is there to be tried."""
    def attention(q, k):
        def body(q_ref, k_ref, o_ref):
            def turn(t, carry):
                m, l, acc = carry
                k = k_ref[pl.ds(8 * t, 8), :]
                s = q_ref[...] @ k.T
                top = jnp.maximum(m, s.max(1, keepdims=True))
                p, a = jnp.exp(s - top), jnp.exp(m - top)
                return top, a * l + p.sum(1, keepdims=True), acc + p @ k  # carry

            start = jnp.full((8, 1), -1e30), jnp.zeros((8, 1)), jnp.zeros((8, 8))
            _, l, acc = jax.lax.fori_loop(0, 4, turn, start)
            o_ref[...] = acc / l

        return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype))(q, k)

    found = next(f for f in tileproof.verify(attention, lambda q, k: jax.nn.softmax(q @ k.T, axis=1) @ k, X[:8, :8], X[:16, :16].reshape(32, 8)).findings
                 if f.verdict == "violated" and f.rule == "TP701")
    place = line_of(test_a_carry_that_is_not_rescaled, "# carry")
    assert f"test_parting.py:{place}" in found.python and "* jnp.exp(" in found.help and "then results agree" in found.help, found


def test_a_change_that_agrees_with_ties_only_is_not_named():
    """The two largest of each row share it: with ties three or four did. Where the first is kept in place of the others, they do not, on ties."""
    def body(x_ref, o_ref):
        p = jax.nn.softmax(x_ref[...], axis=-1)
        first = p.max(-1, keepdims=True)
        second = jnp.where(p == first, -1.0, p).max(-1, keepdims=True)
        o_ref[...] = jnp.where(p >= second, p / (first + second), 0.0)

    def gates(x):
        p = jax.nn.softmax(x, -1)
        best, at = jax.lax.top_k(p, 2)
        return jnp.where(jax.nn.one_hot(at, x.shape[1]).sum(1) > 0, p / best.sum(-1, keepdims=True), 0.0)

    rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
    x = np.random.default_rng(0).standard_normal((16, 128)).astype(np.float32)
    report = tileproof.verify(lambda x: pl.pallas_call(body, grid=(2,), in_specs=[rows], out_specs=rows, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x), gates, x)
    assert not report.ok and "where each second element" in str(report) and "then results agree" not in str(report), report
