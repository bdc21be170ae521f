"""Every kernel of kernels.py: imported, judged without an accusation, executed
in the checked engine with the results of interpret=True."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import kernels
import numpy as np
import pytest
from jax.experimental import pallas as pl

import tileproof
from tileproof import capture
from tileproof.importer import Names
from tileproof.vocabulary import DTYPES


@pytest.mark.parametrize("name", kernels.CALLS)
def test_same_results(name):
    fn, args = kernels.CALLS[name]
    want = capture.calls(fn, *args).value
    tileproof.assert_equivalent(fn, lambda *_: want, *args, rtol=2e-5, atol=2e-5 if "bfloat16" not in name else 1e-2)


@pytest.mark.parametrize("name", kernels.CALLS)
def test_correct_kernels_are_not_accused(name):
    fn, args = kernels.CALLS[name]
    report = tileproof.check(fn, *args, target="none")
    assert report.ok, report


def planted(index, rows=256):
    def call(x):
        from jax.experimental import pallas as pl

        def kernel(x_ref, o_ref):
            o_ref[...] = x_ref[...]

        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((256, 128), x.dtype), grid=(4,),
                              in_specs=[pl.BlockSpec((64, 128), index)], out_specs=pl.BlockSpec((64, 128), lambda i: (i, 0)))(x)
    return call, jnp.ones((rows, 128))


def test_a_planted_bug_names_operand_line_and_case():
    fn, x = planted(lambda i: (i * 64, 0))
    with pytest.raises(AssertionError) as e:
        tileproof.assert_safe(fn, x)
    text = str(e.value)
    assert "violated[TP101]" in text and "operand `x`" in text and "test_import.py:" in text and "step i = 1" in text and "use `i`" in text


def test_stores_through_views():  # which interpret=True of JAX 0.10 does not do
    x = kernels.array(16, 128)
    tileproof.assert_equivalent(kernels.stores_through_views, lambda x: jnp.concatenate([x[8:], x[4:12]]), x, rtol=0, atol=0)


def test_literals_that_overflow_are_infinite():  # as JAX makes them; a spec has to say so
    from tileproof.body.values import number

    assert number(-1e39, "float32").text == "-inf"
    assert number(-1e30, "float16").text == "-inf"
    assert number(65519.0, "float16").text == "65519.0" and number(65520.0, "float16").text == "inf"
    assert number(3.4e38, "bfloat16").text == "inf" and number(-1e30, "bfloat16").text == "-1.0000000150474662e+30"
    assert number(-1e39, "float64").text == "-1e+39"


def test_no_operand_takes_a_word_of_the_language():
    """A bias is often `b1_ref`, and b1 is a type."""
    source = (Path(__file__).parents[2] / "spec/scope.c").read_text()
    reserved = source[source.index("static bool is_reserved(") :]
    words = re.findall(r'"(\w+)"', reserved[: reserved.index("};")])
    assert "matmul" in words and not [w for w in [*words, *DTYPES, *DTYPES.values()] if Names().take(f"{w}_ref", "x") == w]

    def kernel(x_ref, b1_ref, f32_ref, o_ref):
        o_ref[...] = x_ref[...] + b1_ref[...] * f32_ref[...]

    x = kernels.array(8, 128)
    fn = kernels.pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))
    assert tileproof.check(fn, x, x, x).ok


def test_compiler_params_come_along():
    fn, args = kernels.CALLS["asks for VMEM"]
    spec = tileproof.from_pallas(fn, *args)[0]
    assert spec["vmem_limit_bytes"] == 64 << 20 and spec["grid"][0]["semantics"] == "parallel"


def test_writes_to_an_input_are_refused():
    def body(x_ref, o_ref):
        x_ref[:, 64:] = jnp.zeros((8, 64), jnp.float32)
        o_ref[...] = x_ref[...]

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    fn = pl.pallas_call(body, grid=(2,), in_specs=[block], out_specs=block, out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32))
    with pytest.raises(tileproof.Unsupported, match="writes to the block of its input `x`"):
        tileproof.from_pallas(fn, jnp.ones((16, 128)))


def test_open_tables_need_contracts():
    fn, args = kernels.CALLS["gather by ids"]
    assert tileproof.check(fn, *args, target="none").ok
    open_tables = tileproof.check(fn, *args, target="none", tables=False)
    assert [f.rule for f in open_tables.of("violated")] == ["TP101"]
    assert "values={\"ids\": (0, 2)}" in open_tables.of("violated")[0].help
    assert "the table `ids` is open and no contract says what it holds" in str(open_tables) and "0 <= ids[a] and ids[a] < 3" in str(open_tables)


def test_contracts_are_inferred_from_what_tables_hold():
    fn, (ids, x) = kernels.CALLS["gather by ids"]
    report = tileproof.check(fn, ids, x, target="none", tables="inferred")
    assert report.ok and "contents" not in report.specs[0]["scalar_prefetch"][0] and "inferred from one call" in str(report)
    assert report.specs[0]["contracts"] == [{"id": "inferred_1", "fact": "forall a < 3: 0 <= ids[a] and ids[a] < 3"}]
    assert any("inferred_1" in f["rests_on"] for f in report.reports[0]["specs"][0]["findings"])
    wrong = tileproof.check(fn, ids + 3, x, target="none", tables="inferred")  # what is seen is not what is wanted
    assert "ids[a] <= 5" in wrong.specs[0]["contracts"][0]["fact"] and [f.rule for f in wrong.of("violated")] == ["TP101"]
    shapes = tileproof.check(fn, ids, jax.ShapeDtypeStruct(x.shape, x.dtype), target="none", tables="inferred")
    assert shapes.specs[0]["contracts"] == report.specs[0]["contracts"]


def test_inferred_contracts_with_symbolic_sizes():
    fn, _ = kernels.CALLS["gather by ids"]
    spec, = tileproof.generalise(fn, lambda N, B: (jnp.arange(B, dtype=jnp.int32) % N, jnp.zeros((N, 1, 128))), tables="inferred", N=6, B=4)
    assert [c["fact"] for c in spec["contracts"]] == ["forall a < B: 0 <= ids[a] and ids[a] < N", "forall a < B - 1: ids[a] <= ids[a + 1]"]
    spec, = tileproof.generalise(fn, lambda N, B: (jnp.arange(B, dtype=jnp.int32) % N, jnp.zeros((N, 1, 128))), N=6, B=4)
    assert "contracts" not in spec and len(spec["x-python"]["open"]["ids"]) == 2


def test_sentences():
    with pytest.raises(tileproof.NoPallasCall, match="reaches no pallas_call"):
        tileproof.check(lambda x: x + 1, jnp.ones(3))
    with pytest.raises(tileproof.Unsupported, match=r"sort is not supported \(.*test_import.py:\d+\); Mosaic lowers no sort"):
        tileproof.check(kernels.elementwise(lambda v: jnp.sort(v, axis=1)), kernels.SAMPLE)


def test_report_is_readable():
    fn, x = planted(lambda i: (i + 1, 0))
    report = tileproof.check(fn, x)
    assert not report.ok and "1 violated" in str(report) and "<table>" in report._repr_html_()


def test_checked_decorator():
    fn, x = planted(lambda i: (i, 1))
    with pytest.raises(AssertionError, match="TP101"):
        tileproof.checked(fn)(x)


def test_wrong_results_are_found():
    fn, args = kernels.CALLS["elementwise exp"]
    with pytest.raises(AssertionError, match="differs from the reference"):
        tileproof.assert_equivalent(fn, lambda v: jnp.exp(v) * 1.01, *args)


def test_undefined_values_trap_at_a_statement_of_python():
    fn, x = planted(lambda i: (i, 0), rows=200)
    with pytest.raises(AssertionError, match=r"TP501.*\n.*test_import\.py:\d+: `o_ref\[\.\.\.\] = x_ref\[\.\.\.\]` at step i=3"):
        tileproof.assert_equivalent(fn, lambda v: np.zeros((256, 128)), x)


def mean_of_rows(x):
    def kernel(x_ref, o_ref):
        e = jnp.exp(x_ref[...])
        total = e.sum(axis=1, keepdims=True) * 1.01
        o_ref[...] = e / total

    return kernels.whole(kernel, x)


def test_a_difference_names_the_worst_element_and_the_statement():
    with pytest.raises(AssertionError) as e:
        tileproof.assert_equivalent(mean_of_rows, lambda x: jnp.exp(x) / jnp.exp(x).sum(1, keepdims=True), kernels.SAMPLE)
    text = str(e.value)
    assert "of 2048 elements; the worst is [" in text
    assert "violated[TP701]" in text and "test_import.py:" in text and ": `total = e.sum(axis=1, keepdims=True) * 1.01`" in text


def test_a_difference_that_verify_cannot_place_names_the_stores():
    """The reference is a Fourier transform: no program of the language."""
    with pytest.raises(AssertionError, match=r"differs from the reference in .*\n  written at .*test_import\.py:\d+: `o_ref\[\.\.\.\] = e / total`$"):
        tileproof.assert_equivalent(mean_of_rows, lambda x: jnp.abs(jnp.fft.fft(x)), kernels.SAMPLE)


def splash(q, k, v):
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel, splash_attention_mask

    n = q.shape[1]
    mask = splash_attention_mask.MultiHeadMask([splash_attention_mask.CausalMask((n, n))] * q.shape[0])
    sizes = splash_attention_kernel.BlockSizes(block_q=128, block_kv=128, block_kv_compute=128)
    return splash_attention_kernel.make_splash_mha(mask, block_sizes=sizes, head_shards=1, q_seq_shards=1)(q, k, v)


@pytest.mark.parametrize("around", [lambda f: f, jax.jit, jax.checkpoint, lambda f: lambda *a: jax.lax.cond(a[0][0, 0, 0] > 0, f, f, *a),
                                    lambda f: lambda q, *a: jax.lax.scan(lambda c, _: (f(c, *a), None), q, None, length=2)[0]])
def test_tables_that_no_argument_changes_are_fixed_without_arrays(around):
    x = jax.ShapeDtypeStruct((2, 256, 128), jnp.float32)
    report = tileproof.check(around(splash), x, x, x)
    assert report.ok and not report.of("unknown") and all("contents" in t for s in report.specs for t in s["scalar_prefetch"])
    assert not tileproof.check(around(splash), x, x, x, tables=False).ok


def test_tables_of_arguments_stay_open_without_arrays():
    fn, args = kernels.CALLS["gather by ids"]
    assert "contents" not in tileproof.from_pallas(fn, *(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in args))[0]["scalar_prefetch"][0]


@pytest.mark.parametrize("name", ["take rows, outside", "take rows, clipped", "take columns, outside"])
def test_what_a_take_does_outside_is_no_violation(name):
    fn, args = kernels.CALLS[name]
    report = tileproof.check(fn, *args, target="none")
    assert report.ok, report


def test_a_take_that_fills_is_none_that_clips():
    _, args = kernels.CALLS["take rows, clipped"]
    report = tileproof.verify(kernels.CALLS["take rows, clipped"][0], lambda x, n: jnp.nan_to_num(jnp.take(x, n, axis=0), nan=7.0), *args, target="none")
    assert not report.ok, report


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32"])
def test_a_power_by_integers_is_one_of_floats(dtype):
    def fn(x, n):
        return kernels.whole(lambda x_ref, n_ref, o_ref: o_ref.__setitem__(..., x_ref[...] ** n_ref[...]), x, n, out=(x.shape, x.dtype))

    x, n = jnp.abs(kernels.array(8, 128)) + 1, jnp.arange(8 * 128, dtype=jnp.int32).reshape(8, 128) % 5
    assert tileproof.assert_equivalent(fn, lambda x, n: x ** n, x, n.astype(dtype)) == 1
    assert tileproof.check(fn, x, n.astype(dtype), target="none").ok


def test_axes_of_a_grid_may_have_names():
    def fn(x, axis="i"):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] + (jax.lax.axis_index(axis) + 10 * jax.lax.axis_index("j")).astype(jnp.float32)

        block = pl.BlockSpec((8, 128), lambda i, j: (i, j))
        return pl.pallas_call(body, grid=(("i", 2), ("j", 3)), in_specs=[block], out_specs=block, out_shape=x)(x)

    def same(x):
        return x + jnp.arange(16)[:, None] // 8 + 10 * (jnp.arange(384) // 128)

    x = kernels.array(16, 384)
    assert tileproof.verify(fn, same, x).ok and not tileproof.verify(fn, lambda x: same(x) + 1, x).ok
    assert tileproof.assert_equivalent(jax.vmap(fn), jax.vmap(same), jnp.stack([x, x])) == 1
    assert tileproof.verify(lambda x: fn(x, ("i", "j")), lambda x: same(x) + 2 * (jnp.arange(16)[:, None] // 8) + jnp.arange(384) // 128, x).ok
