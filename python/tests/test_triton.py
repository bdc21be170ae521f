"""Kernels for GPUs by way of Triton, those that JAX ships among them: imported, judged, executed beside interpret=True."""

import functools

import jax
import jax.numpy as jnp
import kernels
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu
from jax.experimental.pallas.ops.gpu import attention, decode_attention, layer_norm, rms_norm, softmax

import tileproof

F32 = jnp.float32
call = functools.partial(pl.pallas_call, interpret=True, compiler_params=plgpu.CompilerParams(num_warps=4))
ROWS = kernels.array(2, 3, 300)
ROW = kernels.array(300)
HEADS = kernels.array(1, 128, 2, 64)


def like(*shape):
    return jax.ShapeDtypeStruct(shape, F32)


def normed(x, w, b):
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * w + b


def gradient(f):
    return jax.grad(lambda *a: (f(*a) ** 2).sum(), argnums=(0, 1, 2))


SHIPPED = {
    "softmax": (functools.partial(softmax.softmax, interpret=True), (ROWS,)),
    "layer_norm": (functools.partial(layer_norm.layer_norm, interpret=True), (ROWS, ROW, ROW)),
    "layer_norm backwards": (gradient(functools.partial(layer_norm.layer_norm, interpret=True)), (ROWS, ROW, ROW)),
    "rms_norm": (functools.partial(rms_norm.rms_norm, interpret=True), (ROWS, ROW, ROW)),
    "rms_norm backwards": (gradient(functools.partial(rms_norm.rms_norm, interpret=True)), (ROWS, ROW, ROW)),
    "attention": (functools.partial(attention.mha, segment_ids=None, causal=True, interpret=True), (HEADS,) * 3),
    "decode": (functools.partial(decode_attention.mqa, interpret=True), (kernels.array(2, 16, 64), kernels.array(2, 256, 64), kernels.array(2, 256, 64))),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped(name):
    fn, args = SHIPPED[name]
    report = tileproof.check(fn, *args)
    assert report.ok, report
    assert tileproof.assert_equivalent(fn, fn, *args, rtol=1e-4, atol=1e-4) > 0


def doubled(keep):
    """Each program its 128 elements of an array that none owns."""
    def kernel(x_ref, o_ref):
        at = pl.program_id(0) * 128 + jnp.arange(128)
        mask = keep(at)
        plgpu.store(o_ref.at[at], plgpu.load(x_ref.at[at], mask=mask) * 2, mask=mask)

    return call(kernel, out_shape=like(300), grid=3)


def test_programs_share_an_array():
    right = doubled(lambda at: at < 300)
    report = tileproof.verify(right, lambda x: x * 2, ROW)
    assert report.ok, report
    assert tileproof.assert_equivalent(right, right, ROW) > 0


def test_a_mask_that_keeps_one_too_many():
    report = tileproof.check(doubled(lambda at: at <= 300), ROW)
    assert not report.ok and "TP102" in str(report), report


def tile(x_ref, o_ref):
    r, c = jnp.arange(4), jnp.arange(16)
    mask = (r[:, None] < 3) & (c[None, :] < 10)
    plgpu.store(o_ref.at[r[:, None], c[None, :]], plgpu.load(x_ref.at[r[:, None], c[None, :]], mask=mask, other=0.0) + 1, mask=mask)


def test_two_dimensions():
    fn = call(tile, out_shape=like(3, 10))
    x = kernels.array(3, 10)
    assert tileproof.check(fn, x).ok
    assert tileproof.assert_equivalent(fn, fn, x) > 0


BLOCK = pl.BlockSpec((128,), lambda i: (i,))


def hanging(keep, doubled=True):
    """Blocks of 128 in 300 elements: what hangs over is other memory."""
    def kernel(x_ref, o_ref):
        mask = pl.program_id(0) * 128 + jnp.arange(128) < keep
        plgpu.store(o_ref, plgpu.load(x_ref, mask=mask) * 2 if doubled else x_ref[...] * 2, mask=mask)

    return call(kernel, out_shape=like(300), grid=3, in_specs=[BLOCK], out_specs=BLOCK)


def test_blocks_that_hang_over_under_a_mask():
    report = tileproof.verify(hanging(300), lambda x: x * 2, ROW)
    assert report.ok and not report.of("unknown"), report
    assert tileproof.assert_equivalent(hanging(300), lambda x: x * 2, ROW) == 1


@pytest.mark.parametrize("fn", [hanging(301), hanging(300, doubled=False)])
def test_blocks_that_hang_over_and_are_read(fn):
    assert "TP102" in [f.rule for f in tileproof.check(fn, ROW).of("violated")]


def shared(last):
    """Two programs write parts of one block: rows 0 to 4, and those behind."""
    def kernel(x_ref, o_ref):
        row = jnp.arange(8)[:, None]
        mine = jnp.where(pl.program_id(1) == 0, row < 5, row >= last)
        plgpu.store(o_ref, x_ref[...] * 2, mask=jnp.broadcast_to(mine, (8, 16)))

    block = pl.BlockSpec((8, 16), lambda i, j: (i, 0))
    return call(kernel, out_shape=like(16, 16), grid=(2, 2), in_specs=[block], out_specs=block)


def test_programs_share_a_block():
    x = kernels.array(16, 16)
    assert tileproof.assert_equivalent(shared(5), lambda x: x * 2, x) == 1
    assert not tileproof.check(shared(5), x).of("violated")
    with pytest.raises(AssertionError, match="TP403"):
        tileproof.assert_equivalent(shared(4), lambda x: x * 2, x)


def test_below_an_optimised_remat():
    @functools.partial(jax.custom_vjp)
    def f(x):
        return doubled(lambda at: at < 300)(x)

    f.defvjp(lambda x: (f(x), None), lambda _, g: (g * 2,), optimize_remat=True)
    fn = jax.grad(lambda x: f(x).sum())
    assert len(tileproof.from_pallas(fn, ROW)) == 1
    assert tileproof.assert_equivalent(fn, lambda x: jnp.full_like(x, 2), ROW) == 1


REFUSED = {
    "a gather": (lambda x_ref, o_ref: o_ref.__setitem__(..., plgpu.load(x_ref.at[(jnp.arange(300) * 7) % 300], mask=jnp.arange(300) < 9)), r"not start \+ arange\(n\)"),
    "backwards": (lambda x_ref, o_ref: plgpu.store(o_ref.at[jnp.arange(300)[::-1]], x_ref[...], mask=jnp.arange(300) < 9), r"not start \+ arange\(n\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    kernel, says = REFUSED[name]
    with pytest.raises(tileproof.Unsupported, match=says):
        tileproof.check(call(kernel, out_shape=like(300), grid=3), ROW)
