"""What cannot be imported: all of it at once, in the words of the kernel, and
nothing of it hides the verdicts of other calls."""

import jax
import jax.numpy as jnp
import kernels
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import tileproof

X = kernels.array(16, 128)
BLOCK = pl.BlockSpec((8, 128), lambda i: (i, 0))


def refused(x):
    """Four obstacles, one in a branch, one in a loop."""
    def kernel(x_ref, o_ref, sem):
        left = pl.semaphore_read(sem)

        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.sort(o_ref[...], axis=1)

        o_ref[...] = o_ref[...].at[3].set(2.0 * left)

        def turn(_, c):
            o_ref[...] = lax.top_k(o_ref[...], 128)[0]
            return c

        lax.fori_loop(0, 3, turn, 0)

    return pl.pallas_call(kernel, grid=(2,), in_specs=[BLOCK], out_specs=BLOCK, out_shape=x,
                          scratch_shapes=[pltpu.SemaphoreType.REGULAR])(x)


def shifted(x, by=1):
    def kernel(x_ref, o_ref, unused_semaphore):
        o_ref[...] = x_ref[...] + 1

    return pl.pallas_call(kernel, grid=(2,), in_specs=[pl.BlockSpec((8, 128), lambda i: (i + by, 0))], out_specs=BLOCK, out_shape=x,
                          scratch_shapes=[pltpu.SemaphoreType.REGULAR])(x)


WORDS = ["semaphore_read", "sort", "scatter (`x.at[i].set(v)` of a value)", "top_k"]


def test_all_obstacles_at_once():
    with pytest.raises(tileproof.Unsupported) as e:
        tileproof.from_pallas(refused, X)
    assert [o.what.removesuffix(" is not supported") for o in e.value.obstacles] == WORDS
    lines = [int(o.where.rpartition(":")[2]) for o in e.value.obstacles]
    assert lines == sorted(set(lines)) and all("test_refused.py:" in o.where and o.remedy for o in e.value.obstacles)
    assert "scratch" not in str(e.value) and "has 4 obstacles" in str(e.value)


@pytest.mark.parametrize("fn", [lambda x: shifted(refused(x)), lambda x: refused(shifted(x))])
def test_a_refused_call_hides_no_verdict(fn):
    report = tileproof.check(fn, X, target="none")
    assert [f.rule for f in report.of("violated")] == ["TP101"] and len(report.refused) == 1 and len(report.refused[0].obstacles) == 4
    text = str(report)
    assert not report.ok and "1 kernel, 1 violated" in text and "1 not imported" in text and "semaphore_read is not supported" in text
    assert "not imported" in report._repr_html_()


def test_a_call_that_is_not_judged_is_not_ok():
    report = tileproof.check(lambda x: shifted(refused(x), 0), X, target="none")
    assert not report.of("violated") and not report.ok
    with pytest.raises(tileproof.Unsupported, match="semaphore_read is not supported"):
        tileproof.assert_safe(lambda x: shifted(refused(x), 0), X, target="none")


def test_a_semaphore_that_nothing_uses_is_no_obstacle():
    assert tileproof.check(lambda x: shifted(x, 0), X, target="none").ok


def test_kernels_that_are_no_pallas_call_hide_no_verdict():
    def fn(x):
        @pl.kernel(out_type=x, mesh=pltpu.create_tensorcore_mesh("core", num_cores=1))
        def other(x_ref, o_ref):
            pltpu.sync_copy(x_ref, o_ref)

        return other(shifted(x))

    report = tileproof.check(fn, X, target="none")
    assert [f.rule for f in report.of("violated")] == ["TP101"] and "no pallas_call" in str(report.refused[0]) or "over a mesh" in str(report.refused[0])


def test_tables_behind_a_call_that_cannot_be_run():
    """The gather's table holds in one run; what stands in a branch that is not taken is listed."""
    fn, args = kernels.CALLS["gather by ids"]

    def both(ids, x):
        return fn(ids, lax.cond(ids[0] > 100, lambda v: fn(ids, v), lambda v: v, x))

    report = tileproof.check(both, *args, target="none")
    assert len(report.specs) == 1 and "not known: it did not run with these arguments" in str(report.refused[0])


def test_obstacles_of_symbolic_sizes(capsys, tmp_path, monkeypatch):
    from tileproof import command

    (tmp_path / "two_kernels.py").write_text("import test_refused as t\n\n\ndef fn(x):\n    return t.shifted(t.refused(x), 0)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert command.main(["import", "two_kernels:fn", "--arg", "f32[M,128]", "--sym", "M=16", "-o", str(tmp_path)]) == 3
    said = capsys.readouterr()
    assert "not imported: the kernel `kernel` has 4 obstacles" in said.err and "kernel.tile.json" in said.out


def test_a_scoped_buffer_that_is_read_first():
    """What the turn before left there is gone."""
    report = tileproof.check(lambda x: kernels.scoped(x, first=False), kernels.array(8, 128))
    assert [f.rule for f in report.of("violated")] == ["TP404"], report


REWRITES = {
    "sort": (lambda x: jnp.sort(x, axis=1), "sort is not supported.*argmax"), "argsort": (lambda x: jnp.argsort(x, axis=1).astype(x.dtype), "sort is not"),
    "top_k": (lambda x: lax.top_k(x, 128)[0], "top_k is not"), "scatter": (lambda x: x.at[3].set(2.0), "scatter.*jnp.where"),
    "scatter-mul": (lambda x: x.at[:, ::2].multiply(2.0), r"scatter \(`x.at\[i\].multiply.*jnp.where"),
    "scatter-add": (lambda x: x.at[:, 5].add(2.0), r"scatter \(`x.at\[i\].add"), "reduce": (lambda x: x + lax.reduce(x, 0.0, lambda a, b: a + b * b, (0, 1)), "use jnp.sum"),
    "precision": (lambda x: lax.reduce_precision(x, 5, 10), "5 bits of exponent and 10 of mantissa is not supported.*astype"),
    "gather": (lambda x: x + x[3, lax.iota(jnp.int32, 128)], "take_along_axis"),
    "complex": (lambda x: jnp.abs(x + 1j), "complex numbers are not supported.*imaginary part"),
    "atan2": (lambda x: jnp.arctan2(x, x + 1), "atan2 is not supported.*outside of the kernel"),
    "not for TPUs": (lambda x: jnp.sinh(x), "`sinh`.*Mosaic does not lower it"),
    "random": (lambda x: x + jax.random.uniform(jax.random.key(0), x.shape), "random is not supported.*random bits as an input"),
}


@pytest.mark.parametrize("name", REWRITES)
def test_what_to_write_instead(name):
    fn, words = REWRITES[name]
    with pytest.raises(tileproof.Unsupported, match=words):
        tileproof.from_pallas(kernels.elementwise(fn), X)


def test_a_prefetched_float():
    call = pl.pallas_call(lambda t_ref, x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] * t_ref[0]), out_shape=X,
                          grid_spec=pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(2,), in_specs=[pl.BlockSpec((8, 128), lambda i, t: (i, 0))],
                                                                 out_specs=pl.BlockSpec((8, 128), lambda i, t: (i, 0))))
    with pytest.raises(tileproof.Unsupported, match=r"prefetched `t` of float32.*as an input, pl.BlockSpec\(memory_space=pltpu.SMEM\)"):
        tileproof.from_pallas(lambda t, x: call(t, x), jnp.ones(1), X)


@pytest.mark.parametrize(("name", "words"), [("kernel", "^pl.kernel, which is no pallas_call.*as a pl.pallas_call: arrays with"), ("core_map", "^pl.run_state, around pl.core_map, which")])
def test_kernels_over_a_mesh_of_cores(name, words):
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)

    def by_state(x):
        @pl.run_state
        def inner(refs):
            pl.core_map(mesh)(lambda: pltpu.sync_copy(*refs))
        return inner((x, x))[1]

    fn = pl.kernel(lambda x_ref, o_ref: pltpu.sync_copy(x_ref, o_ref), out_type=X, mesh=mesh) if name == "kernel" else by_state
    with pytest.raises(tileproof.Unsupported, match=words):
        tileproof.from_pallas(fn, X)


def test_a_reference_is_told_nothing_of_lowering():
    call = kernels.elementwise(lambda x: x + 1)
    report = tileproof.verify(call, lambda x: x + 1 + 0 * jnp.linalg.cholesky(jnp.eye(2))[0, 1], X)
    assert "`cholesky` of a reference" in str(report) and "Mosaic" not in str(report) and report.ok, report


def test_a_bounded_slice_is_refused_with_what_to_write():
    spec = pl.BlockSpec((pl.BoundedSlice(8), 128), lambda i: (pl.ds(i * 8, 8), 0))
    call = pl.pallas_call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), out_shape=jax.ShapeDtypeStruct((40, 128), jnp.float32), grid=(5,), in_specs=[spec],
                          out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)))
    with pytest.raises(tileproof.Unsupported, match="BoundedSlice in the block of `x`.*give the size as a number"):
        tileproof.from_pallas(call, kernels.array(40, 128))


def test_an_approximate_reciprocal_has_the_digits_of_bfloat16():
    fn = kernels.elementwise(lambda x: pl.reciprocal(jnp.abs(x) + 1, approx=True))
    assert tileproof.assert_equivalent(fn, lambda x: 1 / (jnp.abs(x) + 1), X, rtol=2 ** -7, atol=0) == 1
    with pytest.raises(AssertionError, match="differs"):
        tileproof.assert_equivalent(fn, lambda x: 1 / (jnp.abs(x) + 1), X, rtol=2 ** -12, atol=0)


def test_packed_elements():
    """Which JAX does not interpret: two bfloat16, or four int8, in one word."""
    import numpy as np

    def bits(x):
        return np.asarray(x.astype(jnp.bfloat16)).view(np.uint16).astype(np.uint32)

    def pack(x_ref, o_ref):
        o_ref[...] = pltpu.pack_elementwise([x_ref[...], x_ref[...] * 2], packed_dtype=jnp.bfloat16)

    def unpack(x_ref, o_ref):
        word = x_ref[...]
        o_ref[...] = (pltpu.unpack_elementwise(word, index=1, packed_dtype=jnp.bfloat16, unpacked_dtype=jnp.float32)
                      + pltpu.unpack_elementwise(word, index=2, packed_dtype=jnp.int8, unpacked_dtype=jnp.int32).astype(jnp.float32))

    tileproof.assert_equivalent(lambda x: kernels.whole(pack, x, out=((16, 128), jnp.uint32)), lambda x: bits(x) | bits(x * 2) << 16, X, rtol=0, atol=0)
    words = np.asarray(bits(X) << 16 | bits(X) >> 3)
    want = X.astype(jnp.bfloat16).astype(jnp.float32) + (words >> 16 & 255).astype(np.uint8).view(np.int8)
    tileproof.assert_equivalent(lambda x: kernels.whole(unpack, x, out=((16, 128), jnp.float32)), lambda x: want, jnp.asarray(words), rtol=0, atol=0)


@pytest.mark.parametrize("given", [pl.BlockSpec(memory_space=pl.ANY), BLOCK], ids=["any", "block"])
def test_an_array_with_blocks_may_be_one_that_the_kernel_does_not_look_at(given):
    def kernel(x_ref, cache_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    out = pl.BlockSpec((8, 128), lambda i: (2 * i, 0))
    fn = pl.pallas_call(kernel, grid=(2,), in_specs=[BLOCK, given if given is not BLOCK else out], out_specs=out,
                        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32), input_output_aliases={1: 0}, interpret=True)
    cache = jnp.arange(32 * 128, dtype=jnp.float32).reshape(32, 128)
    assert tileproof.check(fn, X, cache, target="none").ok
    assert tileproof.assert_equivalent(fn, lambda x, c: c.at[:8].set(2 * x[:8]).at[16:24].set(2 * x[8:]), X, cache, rtol=0, atol=0) == 1


def test_an_array_with_blocks_is_not_read_where_it_stays():
    def kernel(x_ref, cache_ref, o_ref, row, sem):
        copy = pltpu.make_async_copy(cache_ref.at[pl.ds(0, 8), :], row, sem)
        copy.start()
        copy.wait()
        o_ref[...] = x_ref[...] + row[...]

    fn = pl.pallas_call(kernel, grid=(2,), in_specs=[BLOCK, pl.BlockSpec(memory_space=pl.ANY)], out_specs=BLOCK, out_shape=jax.ShapeDtypeStruct(X.shape, X.dtype),
                        input_output_aliases={1: 0}, scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA])
    with pytest.raises(tileproof.Unsupported, match="an alias of `cache`, which stays where it is, with the blocks of `o` .*give `cache` the BlockSpec of `o`"):
        tileproof.check(fn, X, X, target="none")


def checked(most):
    def kernel(x_ref, o_ref):
        pl.debug_check(pl.program_id(0) < most, "too many steps")
        o_ref[...] = x_ref[...]

    return pl.pallas_call(kernel, grid=(2,), in_specs=[BLOCK], out_specs=BLOCK, out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32))


def test_a_debug_check_is_one():
    assert tileproof.assert_equivalent(checked(2), lambda x: x, X) == 1
    with pytest.raises(AssertionError, match=r"trap\[TP107\]: check failed: debug_check"):
        tileproof.assert_equivalent(checked(1), lambda x: x, X)


def test_scratch_in_hbm_is_refused_with_a_remedy():
    def fn(x):
        far = pl.BlockSpec(memory_space=pl.ANY)
        return pl.pallas_call(lambda x_ref, o_ref, s: pltpu.sync_copy(x_ref, o_ref), in_specs=[far], out_specs=far, out_shape=x, scratch_shapes=[pltpu.HBM((16, 128), jnp.float32)])(x)

    with pytest.raises(tileproof.Unsupported, match=r"scratch `s` in hbm is not supported \(.*test_refused.py:\d+\); make it an output that the caller drops"):
        tileproof.from_pallas(fn, X)


SMEM, ANY = pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pl.ANY)


def chosen(i, x):
    """A copy of one of two arrays."""
    def kernel(i_ref, x_hbm, y_hbm, o_ref, sem):
        pltpu.async_copy(pl.select_ref(i_ref[0], x_hbm, y_hbm), o_ref, sem).wait()

    return pl.pallas_call(kernel, in_specs=[SMEM, ANY, ANY], out_shape=x, scratch_shapes=[pltpu.SemaphoreType.DMA])(i, x, x)


def said(x):
    """No outputs at all."""
    pl.pallas_call(lambda x_ref: pl.debug_print("{}", x_ref[0, 0]), out_shape=())(x)
    return x


def in_smem(i):
    return pl.pallas_call(lambda i_ref, o_ref: o_ref.__setitem__(0, i_ref[0] + 1), in_specs=[SMEM], out_specs=SMEM, out_shape=i, input_output_aliases={0: 0})(i)


def counted(n, x):
    return pl.pallas_call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), grid=(n,), in_specs=[BLOCK], out_specs=BLOCK, out_shape=x)(x)


NUMBERS = jnp.zeros(1, jnp.int32)
CALLS = {
    "one of several refs": (chosen, (NUMBERS, X), r"pl.select_ref is not supported \(.*test_refused.py:\d+\); start and wait for a copy of each ref"),
    "no outputs": (said, (X,), r"a kernel without outputs is not supported \(.*test_refused.py:\d+\); return what it computes"),
    "an alias in SMEM": (in_smem, (NUMBERS,), "an alias of `i` with `o` in SMEM is not supported.*drop it from input_output_aliases"),
    "a stride of 0": (lambda x: kernels.whole(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[pl.ds(0, 16, 0), :]), x), (X,), "a slice of `x` of stride 0 is not supported.*jnp.broadcast_to"),
    "steps in an array": (counted, (NUMBERS + 2, X), r"a number of steps of the axis `i` that is an array of shape \(1,\).*`n\[0\]`"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_refused_with_what_to_write(name):
    fn, args, words = CALLS[name]
    with pytest.raises(tileproof.Unsupported, match=words):
        tileproof.check(fn, *args)


def test_a_number_of_steps_may_be_a_number_of_python():
    assert tileproof.check(counted, 2, X, target="none").ok
    assert {f.rule for f in tileproof.check(counted, 3, X, target="none").of("violated")} == {"TP101"}


def test_a_body_that_does_nothing():
    """What it leaves unwritten is said, not that it has no statements."""
    fn = pl.pallas_call(lambda x_ref, o_ref: None, out_shape=X, input_output_aliases={0: 0})
    assert [f.rule for f in tileproof.check(fn, X).of("violated")] == ["TP401"]
