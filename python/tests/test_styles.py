"""Calls in the styles of real libraries: each executed beside interpret=True."""

import functools

import jax
import jax.numpy as jnp
import kernels
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import tileproof

F32 = jnp.float32
X = kernels.array(16, 128)
ROWS = pl.BlockSpec((8, 128), lambda i: (i, 0))
call = functools.partial(pl.pallas_call, interpret=True)


def like(*shape, dtype=F32):
    return jax.ShapeDtypeStruct(shape, dtype)


def two_vmaps_of_a_sum_in_scratch(x):
    def kernel(x_ref, o_ref, acc):
        @pl.when(pl.program_id(0) == 0)
        def _():
            acc[...] = jnp.zeros_like(acc)

        acc[...] += jnp.sum(x_ref[...], axis=0, keepdims=True)

        @pl.when(pl.program_id(0) == pl.num_programs(0) - 1)
        def _():
            o_ref[...] = acc[...]

    one = call(kernel, out_shape=like(1, 128), grid=(2,), in_specs=[ROWS], out_specs=pl.BlockSpec((1, 128), lambda i: (0, 0)),
               scratch_shapes=[pltpu.VMEM((1, 128), F32)])
    return jax.vmap(jax.vmap(one))(jnp.stack([jnp.stack([x, -x]), jnp.stack([x * 2, x + 1])]))


def a_checkpointed_gradient(x):
    def kernel(f):
        return lambda *refs: refs[-1].__setitem__(..., f(*(r[...] for r in refs[:-1])))

    @jax.custom_vjp
    def sine(x):
        return call(kernel(jnp.sin), out_shape=like(*x.shape))(x)

    sine.defvjp(lambda x: (sine(x), x), lambda x, g: (call(kernel(lambda x, g: jnp.cos(x) * g), out_shape=like(*x.shape))(x, g),))
    return jax.grad(lambda x: jnp.sum(jax.checkpoint(sine)(x) ** 2))(x)


def a_partial_index_map_with_a_table(x):
    def block(offset, i, table):
        return table[i] + offset, 0

    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(2,), in_specs=[pl.BlockSpec((8, 128), functools.partial(block, -1))],
                                        out_specs=pl.BlockSpec((8, 128), lambda i, table: (i, 0)))
    body = lambda table, x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] * table[pl.program_id(0)].astype(F32))  # noqa: E731
    return call(body, out_shape=like(16, 128), grid_spec=spec)(jnp.array([2, 1], jnp.int32), x)


def a_table_for_each_row_of_vmap(x):
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(2,), in_specs=[pl.BlockSpec((8, 128), lambda g, i: (i[g], 0))],
                                        out_specs=pl.BlockSpec((8, 128), lambda g, i: (g, 0)))
    one = lambda a, i: call(lambda i, x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), out_shape=like(16, 128), grid_spec=spec)(i, a)  # noqa: E731
    return jax.vmap(one)(jnp.stack([x, -x]), jnp.array([[1, 0], [0, 1]], jnp.int32))


def dictionaries(x):
    def kernel(given, out):
        out["sum"][...] = given["a"][...] + given["b"][...]
        out["difference"][...] = given["a"][...] - given["b"][...]

    return call(kernel, out_shape={"sum": like(16, 128), "difference": like(16, 128)}, grid=2, in_specs=[{"a": ROWS, "b": ROWS}],
                out_specs={"sum": ROWS, "difference": ROWS})({"a": x, "b": x * 3})


def elements_with_padding(x):
    spec = pl.BlockSpec((pl.Element(24, padding=(8, 8)), pl.Element(128)), lambda i: (i * 8, 0))
    return call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[8:16]), out_shape=like(16, 128), grid=2, in_specs=[spec], out_specs=ROWS)(x)


def a_scan_with_results_in_the_body(x):
    def kernel(x_ref, o_ref):
        def step(carry, i):
            carry = carry * 0.9 + x_ref[i]
            return carry, carry

        last, every = lax.scan(step, jnp.zeros((128,), F32), jnp.arange(16))
        o_ref[...] = every + last[None]

    return call(kernel, out_shape=like(16, 128))(x)


def a_switch_by_the_step(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = lax.switch(pl.program_id(0), [lambda v: v + 1, lambda v: v * 2, lambda v: -v, jnp.abs], x_ref[...])

    return call(kernel, out_shape=like(64, 128), grid=4, in_specs=[pl.BlockSpec((16, 128), lambda i: (0, 0))], out_specs=pl.BlockSpec((16, 128), lambda i: (i, 0)))(x)


def scopes_and_names(x):
    @functools.partial(jax.jit, static_argnums=1)
    def inner(a, s):
        with jax.named_scope("inner"):
            return jnp.where(a > 0, a * s, a / s)

    def kernel(x_ref, o_ref):
        def scoped(s_ref):
            s_ref[...] = inner(x_ref[...], 3.0)
            o_ref[...] = s_ref[...] - 1

        pl.run_scoped(scoped, pltpu.VMEM((8, 128), F32))

    return jax.jit(call(kernel, out_shape=like(16, 128), grid=2, in_specs=[ROWS], out_specs=ROWS, name="scoped",
                        cost_estimate=pl.CostEstimate(flops=1, bytes_accessed=1, transcendentals=0)))(x)


CALLS = [two_vmaps_of_a_sum_in_scratch, a_checkpointed_gradient, a_partial_index_map_with_a_table, a_table_for_each_row_of_vmap, dictionaries,
         elements_with_padding, a_scan_with_results_in_the_body, a_switch_by_the_step, scopes_and_names]


@pytest.mark.parametrize("fn", CALLS, ids=lambda f: f.__name__)
def test_results(fn):
    assert tileproof.assert_equivalent(fn, fn, X, rtol=1e-5, atol=1e-5) > 0
    assert tileproof.check(fn, X, target="none").ok


def test_a_trap_without_a_line_names_the_call():
    def first_block(x):
        return call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), out_shape=like(16, 128), grid=1, in_specs=[ROWS], out_specs=ROWS)(x)

    with pytest.raises(AssertionError, match=r"no step writes o\[8, 0\]\n  --> .*test_styles.py:\d+: `return call") as e:
        tileproof.assert_equivalent(first_block, first_block, X)
    assert "kernel.tile.json" not in str(e.value)


def test_open_tables_of_a_mask_name_operands_and_extents():
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as kernel
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks

    blocks = kernel.BlockSizes(block_q=128, block_kv=128, block_kv_compute=128)
    attention = kernel.make_splash_mha(masks.MultiHeadMask([masks.CausalMask((256, 256))] * 2), head_shards=1, q_seq_shards=1, block_sizes=blocks)
    arrays = [like(2, 256, 128)] * 3
    report = tileproof.check(lambda q, k, v: attention(q, k, v), *arrays, tables=False)
    assert {f.rule for f in report.of("violated")} == {"TP101"}  # any contents: any block
    assert all("values" in f.help for f in report.of("violated"))
    assert "TP501" in {f.rule for f in report.of("proven")} and not report.of("unknown")  # given that the blocks meet
    assert all("()" not in f.message and "``" not in f.message for f in report.findings)
    assert tileproof.check(lambda q, k, v: attention(q, k, v), *arrays).ok


def on_a_value(f):
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.broadcast_to(f(x_ref[...], pl.program_id(0)), x_ref.shape)

    return lambda x: pl.pallas_call(kernel, grid=(2,), out_shape=like(8, 128))(x)



@pytest.mark.parametrize("f", [
    lambda x, i: jnp.take(x, i, axis=0),
    lambda x, i: x[i],
    lambda x, i: lax.dynamic_update_slice(x, x[:1] * 2, (i, 0)),
    lambda x, i: jnp.take_along_axis(x, jnp.zeros((8, 128), jnp.int32) + i, axis=0),
    lambda x, i: lax.scan(lambda c, row: (c + row, None), jnp.zeros(128), x)[0],
    lambda x, i: lax.scan(lambda c, _: (c + x[0], c), jnp.zeros(128), None, length=8)[1],
    lambda x, i: lax.scan(lambda c, _: (c + x[0], None), jnp.zeros(128), None, length=8)[0],
    lambda x, i: lax.fori_loop(0, 8, lambda t, c: c + x[0] * t, jnp.zeros(128)),
    lambda x, i: lax.erfc(x),
    lambda x, i: 1 - lax.erf(x),
], ids=["take", "row", "update", "take_along_axis", "scan over an array", "scan with results", "scan of a carry", "fori_loop", "erfc", "erf"])
def test_what_is_imported_in_other_words_is_lowered_or_told(f):
    fn, x = on_a_value(f), like(8, 128)
    try:
        jax.export.export(jax.jit(fn), platforms=["tpu"])(x)
        lowered = True
    except (NotImplementedError, ValueError):
        lowered = False
    findings = tileproof.check(fn, x).of("violated")
    assert [f.rule for f in findings] == ([] if lowered else ["TP204"])
    assert lowered or "test_styles.py:" in findings[0].python and "lambda x, i" in str(findings[0]) and findings[0].help


@pytest.mark.parametrize("turns", [15, 31, 63, 1000])
def test_a_loop_is_judged_however_many_turns_it_has(turns):
    """A linear recurrence over the rows of a block, whose state goes on from block to block."""
    def recurrence(x, a, more=0):
        def kernel(x_ref, a_ref, o_ref, h_ref):
            @pl.when(pl.program_id(0) == 0)
            def _():
                h_ref[...] = jnp.zeros_like(h_ref)

            def turn(t, h):
                h = a_ref[t] * h + x_ref[t]
                o_ref[t] = h
                return h

            h_ref[0] = lax.fori_loop(0, turns + more, turn, h_ref[0])

        rows = pl.BlockSpec((turns, 128), lambda i: (i, 0))
        return call(kernel, grid=(4,), in_specs=[rows, rows], out_specs=rows, out_shape=like(4 * turns, 128), scratch_shapes=[pltpu.VMEM((1, 128), F32)])(x, a)

    args = like(4 * turns, 128), like(4 * turns, 128)
    report = tileproof.check(recurrence, *args, target="none")
    assert report.ok and not report.of("unknown"), report
    for more, rule in (1, "TP102"), (-1, "TP401"):
        wrong = tileproof.check(functools.partial(recurrence, more=more), *args, target="none")
        assert rule in {f.rule for f in wrong.of("violated")}, wrong
