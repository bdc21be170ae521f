"""assert_equivalent passes only where every pallas_call ran in the engine, and
says how many did; every primitive that calls is entered or refused."""

import jax
import jax.numpy as jnp
import kernels
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.sharding import Mesh, PartitionSpec

import tileproof

X = kernels.array(8, 128)
wrong = kernels.elementwise(lambda v: jnp.exp(v) * 1.01)
exp = kernels.elementwise(jnp.exp)


@jax.custom_jvp
def by_jvp(x):
    return wrong(x)


by_jvp.defjvp(lambda p, t: (by_jvp(*p), t[0]))


@jax.custom_vjp
def by_vjp(x):
    return wrong(x)


by_vjp.defvjp(lambda x: (wrong(x), x), lambda x, ct: (ct,))

ENTERED = {
    "jit": jax.jit(wrong), "checkpoint": jax.checkpoint(wrong), "custom_jvp": by_jvp, "custom_vjp": by_vjp,
    "cond": lambda x: lax.cond(x[0, 0] > -100, wrong, jnp.exp, x), "switch": lambda x: lax.switch(jnp.int32(7), [jnp.exp, jnp.sin, wrong], x),
    "while": lambda x: lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, wrong(c[1])), (0, x))[1],
    "while, in the test": lambda x: lax.while_loop(lambda c: (wrong(c[1])[0, 0] > -9) & (c[0] < 1), lambda c: (c[0] + 1, wrong(c[1])), (0, x))[1],
    "scan": lambda x: lax.scan(lambda c, _: (wrong(c), None), x, None, length=1)[0],
    "scan, stacked": lambda x: lax.scan(lambda c, v: (c, wrong(v)), 0, x[None], reverse=True)[1][0],
    "map": lambda x: lax.map(wrong, x[None])[0], "nested": jax.jit(jax.checkpoint(lambda x: lax.cond(True, jax.jit(by_vjp), jnp.exp, x))),
    "composite": lambda x: lax.composite(wrong, "own.exp")(x), "named": jax.named_call(wrong, name="exp"),
    "one device": lambda x: jax.shard_map(wrong, mesh=Mesh(np.array(jax.devices()[:1]), ("a",)), in_specs=PartitionSpec("a"),
                                          out_specs=PartitionSpec("a"), check_vma=False)(x),
}


@pytest.mark.parametrize("name", ENTERED)
def test_a_wrong_kernel_is_found_below(name):
    with pytest.raises(AssertionError, match="differs from the reference"):
        tileproof.assert_equivalent(ENTERED[name], jnp.exp, X)


def test_how_many_ran():
    assert tileproof.assert_equivalent(exp, jnp.exp, X) == 1
    assert tileproof.assert_equivalent(lambda x: lax.fori_loop(0, 3, lambda _, v: exp(v) * 0.1, x), lambda x: jnp.exp(jnp.exp(jnp.exp(x) * 0.1) * 0.1) * 0.1, X) == 3


def test_nothing_ran():
    with pytest.raises(AssertionError, match="0 calls ran in the engine"):
        tileproof.assert_equivalent(jnp.exp, jnp.exp, X)
    with pytest.raises(tileproof.NoPallasCall, match="reaches no pallas_call"):
        tileproof.assert_equivalent(jnp.exp, jnp.exp, X)


@pytest.mark.parametrize("fn", [lambda x: lax.cond(x[0, 0] > 100, wrong, exp, x), lambda x: lax.fori_loop(0, (x[0, 0] > 100).astype(int), lambda _, v: wrong(v), exp(x))])
def test_a_call_that_did_not_run_is_named(fn):
    with pytest.raises(AssertionError, match=r"1 of 2 pallas_calls did not run.*kernels\.py:\d+.*branch that is not taken"):
        tileproof.assert_equivalent(fn, jnp.exp, X)


def test_a_scan_without_turns_keeps_its_shapes():
    with pytest.raises(tileproof.NotExecuted, match="1 of 1 pallas_calls did not run"):
        tileproof.assert_equivalent(lambda x: lax.scan(lambda c, v: (c, wrong(v)), 0, x[None][:0])[1], lambda x: x[None][:0], X)


def test_a_function_without_results():
    def nothing(x):
        exp(x)

    with pytest.raises(AssertionError, match="returns nothing"):
        tileproof.assert_equivalent(nothing, lambda x: None, X)


def test_primitives_that_are_not_entered_are_named():
    fn = jax.custom_derivatives.linear_call
    with pytest.raises(tileproof.Unsupported, match="below the primitive `linear_call`, which is not entered"):
        tileproof.assert_equivalent(lambda x: fn(lambda r, v: exp(v), lambda r, v: v, (), x), jnp.exp, X)


def test_both_results_of_a_function_that_jit_traced_once():
    def pair(x):
        def kernel(x_ref, o_ref, p_ref):
            o_ref[...] = x_ref[...] + 1
            p_ref[...] = x_ref[...] + 2

        return pl.pallas_call(kernel, out_shape=(x, x))(x)

    shared = jax.jit(pair)

    def fn(x):  # one equation: first both results are used, then one of them
        a, b = shared(x)
        return a, b, shared(b)[0]

    assert tileproof.assert_equivalent(fn, lambda x: (x + 1, x + 2, x + 3), X) == 2


def test_kernels_that_are_no_pallas_call_are_not_passed_over():
    from jax.experimental.pallas import tpu as pltpu

    def fn(x):
        mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)

        @pl.kernel(out_type=x, mesh=mesh)
        def other(x_ref, o_ref):
            pltpu.sync_copy(x_ref, o_ref)

        return other(exp(x))

    with pytest.raises(tileproof.Unsupported, match="no pallas_call|over a mesh"):
        tileproof.assert_equivalent(fn, jnp.exp, X)
    assert not tileproof.check(fn, X).ok


def test_arguments_get_the_dtypes_of_jax():
    assert tileproof.assert_equivalent(exp, jnp.exp, np.array(X, np.float64)) == 1
