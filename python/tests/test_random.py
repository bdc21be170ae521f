"""Kernels that draw random bits: imported, judged by the stand-in for the chip's generator, which the report names."""

import jax
import jax.numpy as jnp
import kernels
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import tileproof

X = kernels.array(16, 256)


def dropout(x, seeded=True, semantics="parallel"):
    def kernel(x_ref, o_ref):
        i = pl.program_id(0)

        @pl.when(jnp.logical_or(i == 0, seeded))
        def _():
            pltpu.prng_seed(7, i)

        keep = (pltpu.prng_random_bits((8, 256)) & 255) >= 64
        o_ref[...] = jnp.where(keep, x_ref[...] / 0.75, 0.0)

    block = pl.BlockSpec((8, 256), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(2,), in_specs=[block], out_specs=block, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
                          compiler_params=pltpu.CompilerParams(dimension_semantics=(semantics,)))(x)


def test_the_stand_in_is_named():
    report = tileproof.check(dropout, X)
    assert report.ok, report
    assert "TP907" in {f.rule for f in report.findings}, report


def test_a_seed_does_not_outlive_a_parallel_step():
    report = tileproof.check(lambda x: dropout(x, seeded=False), X)
    assert {f.rule for f in report.findings if f.verdict == "violated"} == {"TP404"}, report
    assert tileproof.check(lambda x: dropout(x, False, "arbitrary"), X).ok
