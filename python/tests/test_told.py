"""What is told of a defect: names and lines of Python, and what to write."""

import re

import jax
import jax.numpy as jnp
import kernels
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import tileproof
from tileproof import engine, importer
from tileproof import jaxpr as jx

F32 = jnp.float32
X, Y = kernels.array(64, 256), kernels.array(64, 256, seed=1)


def line_of(text):
    """The line of this file that has the text, but for the one that asks."""
    return next(n for n, line in enumerate(open(__file__), 1) if text in line and "line_of(" not in line)


def found(report, rule):
    return next(f for f in report.of("violated") if f.rule == rule)


def total_of_exponents(x):
    def body(x_ref, o_ref, m_ref, l_ref):
        @pl.when(pl.program_id(1) == 0)
        def _():
            m_ref[...] = jnp.full_like(m_ref, -1e30)
            l_ref[...] = jnp.zeros_like(l_ref)
            o_ref[...] = jnp.zeros_like(o_ref)

        m_prev = m_ref[...]
        m_next = jnp.maximum(m_prev, jnp.max(x_ref[...], axis=1, keepdims=True))
        p = jnp.exp(x_ref[...] - m_next)
        o_ref[...] = jnp.exp(m_prev - m_next) * o_ref[...] + jnp.sum(p * x_ref[...], axis=1, keepdims=True)
        l_ref[...] = l_ref[...] + jnp.sum(p, axis=1, keepdims=True)  # not scaled
        m_ref[...] = m_next

        @pl.when(pl.program_id(1) == pl.num_programs(1) - 1)
        def _():
            o_ref[...] = o_ref[...] / l_ref[...]

    column = pltpu.VMEM((8, 1), F32)
    return pl.pallas_call(body, grid=(8, 2), in_specs=[pl.BlockSpec((8, 128), lambda i, k: (i, k))], out_specs=pl.BlockSpec((8, 1), lambda i, k: (i, 0)),
                          out_shape=jax.ShapeDtypeStruct((64, 1), F32), scratch_shapes=[column, column])(x)


def test_a_sum_that_is_not_rescaled():
    report = tileproof.verify(total_of_exponents, lambda x: jnp.sum(jax.nn.softmax(x, 1) * x, 1, keepdims=True), X)
    f = found(report, "TP701")
    assert f.python.endswith(f":{line_of('# not scaled')}") and "exp(m_prev - m_next)" in f.help, report
    assert not re.search(r"\bv\d", f.help + f.note), f


def running_sums(x, semantics="arbitrary"):
    def body(x_ref, o_ref, carry_ref):
        @pl.when(pl.program_id(1) == 0)
        def _():
            carry_ref[...] = jnp.zeros_like(carry_ref)
        o_ref[...] = x_ref[...] + carry_ref[...]
        carry_ref[...] += x_ref[...]

    rows = pl.BlockSpec((8, 128), lambda i, k: (i, k))
    return pl.pallas_call(body, grid=(8, 2), in_specs=[rows], out_specs=rows, out_shape=jax.ShapeDtypeStruct(x.shape, F32), scratch_shapes=[pltpu.VMEM((8, 128), F32)],
                          compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", semantics)))(x)


def test_scratch_that_a_parallel_axis_forgets():
    def naive(x):
        return jnp.concatenate([x[:, :128], x[:, :128] + x[:, 128:]], 1)

    assert tileproof.verify(running_sums, naive, X).ok
    report = tileproof.verify(lambda x: running_sums(x, "parallel"), naive, X)
    assert 'declare `k` `"arbitrary"` in dimension_semantics' in found(report, "TP404").help, report


def copied(x, waits=True):
    def body(x_ref, o_ref, buf, sem):
        copy = pltpu.make_async_copy(x_ref, buf, sem)
        copy.start()  # in flight
        if waits:
            copy.wait()
        o_ref[...] = buf[...] * 2  # too early
        if not waits:
            copy.wait()

    return pl.pallas_call(body, in_specs=[pl.BlockSpec(memory_space=pl.ANY)], out_shape=jax.ShapeDtypeStruct(x.shape, F32),
                          scratch_shapes=[pltpu.VMEM(x.shape, F32), pltpu.SemaphoreType.DMA])(x)


def test_a_buffer_that_is_read_in_flight():
    assert tileproof.check(copied, X).ok
    f = found(tileproof.check(lambda x: copied(x, False), X), "TP504")
    assert "`buf` is read while the copy" in f.message and f"test_told.py:{line_of('# in flight')} started" in f.message, f
    assert f.python.endswith(f":{line_of('# too early')}") and "wait for the copy first" in f.help, f


def test_an_index_map_that_two_operands_share():
    """No single change mends both; what depends on a wrong block says more than what is weighted by it."""
    def naive(x, y, z):
        return x * y - z

    def calls(at):
        def call(x, y, z):
            def body(x_ref, y_ref, z_ref, o_ref):
                o_ref[...] = x_ref[...] * y_ref[...] - z_ref[...]

            tables, rows = pl.BlockSpec((8, 256), at), pl.BlockSpec((8, 256), lambda i: (i, 0))
            return pl.pallas_call(body, grid=8, in_specs=[rows, tables, tables], out_specs=rows, out_shape=jax.ShapeDtypeStruct(x.shape, F32))(x, y, z)
        return call

    Z = kernels.array(64, 256, seed=2)
    assert tileproof.verify(calls(lambda i: (i, 0)), naive, X, Y, Z).ok
    f = found(tileproof.verify(calls(lambda i: (0, 0)), naive, X, Y, Z), "TP701")  # the first block
    assert "depends on y" in f.note and f"its index map is at {f.python.rpartition(':')[0]}:{line_of('# the first block')}" in f.note, f


def piped(x, steps=8):
    def outer(x_ref, o_ref):
        def inner(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2
        rows = pl.BlockSpec((8, 256), lambda i: (i, 0))
        pltpu.emit_pipeline(inner, grid=(steps,), in_specs=[rows], out_specs=[rows])(x_ref, o_ref)  # the steps

    whole = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(outer, in_specs=[whole], out_specs=whole, out_shape=jax.ShapeDtypeStruct(x.shape, F32))(x)


def test_the_grid_of_a_pipeline_is_where_it_is_made():
    assert tileproof.check(piped, X).ok
    f = found(tileproof.check(lambda x: piped(x, 7), X), "TP401")
    assert f.grid.endswith(f":{line_of('# the steps')}"), f


@pytest.mark.parametrize("by_copy", [False, True])
def test_a_difference_names_what_writes_the_output(by_copy):
    """Also where the function is more than the call, and only executed."""
    def call(at, x):
        def body(at_ref, x_ref, o_ref, sem):
            if by_copy:
                pltpu.async_copy(x_ref.at[pl.ds(0, 8)], o_ref, sem).wait()  # by copy
            else:
                o_ref[...] = x_ref[:8]  # by store

        spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(1,), in_specs=[pl.BlockSpec(memory_space=pl.ANY if by_copy else pltpu.VMEM)],
                                            out_specs=pl.BlockSpec((8, 256), lambda i, at: (0, 0)), scratch_shapes=[pltpu.SemaphoreType.DMA])
        return pl.pallas_call(body, grid_spec=spec, out_shape=jax.ShapeDtypeStruct((8, 256), F32))(at, x) + 0

    report = tileproof.verify(call, lambda at, x: jax.lax.dynamic_slice(x, (at[0], 0), (8, 256)), jnp.array([8]), X)
    assert not report.ok and f"test_told.py:{line_of('# by copy' if by_copy else '# by store')}" in str(report), report


def test_what_writes_a_part_of_an_output():
    def halves(x, second=128):
        def body(x_ref, o_ref):
            o_ref[:, :128] = x_ref[:, :128]  # one half
            o_ref[:, second:second + 128] = x_ref[:, 128:] * 2  # the other
        rows = pl.BlockSpec((8, 256), lambda i: (i, 0))
        return pl.pallas_call(body, grid=8, in_specs=[rows], out_specs=rows, out_shape=jax.ShapeDtypeStruct(x.shape, F32))(x)

    assert tileproof.check(halves, X).ok
    f = found(tileproof.check(lambda x: halves(x, 0), X), "TP401")
    assert f.note.startswith("written at") and all(f"test_told.py:{line_of(text)}" in f.note for text in ("# one half", "# the other")), f


def doubled_by_rows(x, turns):
    """Row by row, in so many turns beside so many rows of 4: 64 are all."""
    def body(x_ref, o_ref):
        def outer(i, _):
            def inner(j, _):
                at = pl.ds(i * 4 + j, 1)
                o_ref[at, :] = x_ref[at, :] * 2

            lax.fori_loop(0, 4, inner, None)

        lax.fori_loop(0, turns, outer, None)  # so many blocks of 4

    return kernels.whole(body, x)


def test_an_access_says_in_which_turns_it_leaves_its_ref():
    assert tileproof.check(lambda x: doubled_by_rows(x, 16), X).ok
    text = str(found(tileproof.check(lambda x: doubled_by_rows(x, 17), X), "TP102"))
    inner, outer = line_of("lax.fori_loop(0, 4, inner"), line_of("# so many blocks of 4")
    assert re.search(rf"there: elements 64\.\.64; the dimension has 64; turn 0 of the loop at \S*test_told.py:{inner}; turn 16 of the loop at \S*test_told.py:{outer}\n", text), text


def rotated(x, c, s):
    def body(x_ref, c_ref, s_ref, o_ref):
        x = x_ref[...]
        o_ref[...] = x * c_ref[...] + jnp.roll(x, 64, axis=1) * s_ref[...]

    both = pl.BlockSpec((16, 128), lambda h, i: (h, 0))  # the angles of another row
    rows = pl.BlockSpec((None, 16, 128), lambda h, i: (h, i, 0))
    return pl.pallas_call(body, grid=(2, 2), in_specs=[rows, both, both], out_specs=rows, out_shape=jax.ShapeDtypeStruct((2, 32, 128), F32))(x, c, s)


def test_one_blockspec_of_two_operands_is_mended_at_both():
    args = kernels.array(2, 32, 128), kernels.array(32, 128, seed=1), kernels.array(32, 128, seed=2)
    finding = found(tileproof.verify(rotated, lambda x, c, s: x * c + jnp.roll(x, 64, axis=2) * s, *args), "TP701")
    assert finding.python.endswith(f"test_told.py:{line_of('the angles of another row')}"), finding
    assert re.match(r'write `(\w+)` in place of `(\w+)`, in the 2 blocks that are written alike: then results agree, and all rules hold', finding.help), finding


def in_two_passes(x):
    """The first pass sums, the second one divides; both have the window of the block, which the first leaves unwritten."""
    def body(x_ref, o_ref, sum_ref):
        @pl.when((pl.program_id(0) == 0) & (pl.program_id(1) == 0))
        def _():
            sum_ref[...] = jnp.zeros_like(sum_ref)

        @pl.when(pl.program_id(0) == 0)
        def _():
            sum_ref[...] += x_ref[...].sum(0, keepdims=True)

        @pl.when(pl.program_id(0) == 1)
        def _():
            o_ref[...] = x_ref[...] / sum_ref[...]  # in the second pass

    block = pl.BlockSpec((8, 256), lambda p, t: (t, 0))
    return pl.pallas_call(body, grid=(2, 8), in_specs=[block], out_specs=block, out_shape=jax.ShapeDtypeStruct(x.shape, F32),
                          scratch_shapes=[pltpu.VMEM((1, 256), F32)])(x)


def test_a_consequence_names_no_line_of_the_spec():
    f = found(tileproof.check(in_two_passes, X), "TP401")
    assert re.match(rf"the fix of TP402 of `o` removes this, too; written at .*test_told\.py:{line_of('# in the second pass')}: ", f.note), f


def total(x):
    def body(x_ref, o_ref, acc_ref):
        acc_ref[...] += x_ref[...]

        @pl.when(pl.program_id(1) == pl.num_programs(1) - 1)
        def _():
            o_ref[...] = acc_ref[...]

    return pl.pallas_call(body, grid=(8, 2), in_specs=[pl.BlockSpec((8, 128), lambda i, k: (i, k))], out_specs=pl.BlockSpec((8, 128), lambda i, k: (i, 0)),
                          out_shape=jax.ShapeDtypeStruct((64, 128), F32), scratch_shapes=[pltpu.VMEM((8, 128), F32)])(x)


def test_a_fix_that_was_tried_is_told():
    f = found(tileproof.check(total, X), "TP404")
    assert f.help == "start with `acc[...] = 0` under `@pl.when(pl.program_id(1) == 0)` (all rules re-checked)", f


def test_what_calls_share_is_told_once():
    text = str(tileproof.check(lambda x: total(total(total(jnp.tile(x, (1, 1)))[:, :128].repeat(2, 1)).repeat(2, 1)), X))
    assert text.count("violated[TP404]") == 1 and "the same 2 more times" in text, text


def test_a_line_of_two_statements_is_quoted_whole():
    def far(x):
        rows = pl.BlockSpec((8, 256), lambda i: (i + 8, 0)); out = pl.BlockSpec((8, 256), lambda i: (i, 0))  # noqa: E702  far rows
        return pl.pallas_call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), grid=8, in_specs=[rows], out_specs=out, out_shape=jax.ShapeDtypeStruct(x.shape, F32))(x)

    assert ": `rows = pl.BlockSpec((8, 256), lambda i: (i + 8, 0)); out = " in str(found(tileproof.check(far, X), "TP101"))


def mapped(out, *maps):
    """A copy of the first of several arrays, with these index maps."""
    def body(x_ref, *refs):
        refs[-1][...] = x_ref[...]

    return lambda *arrays: pl.pallas_call(body, grid=(2, 2), in_specs=[pl.BlockSpec((32, 128), m) for m in maps], out_specs=pl.BlockSpec((32, 128), out),
                                          out_shape=jax.ShapeDtypeStruct(X.shape, F32))(*arrays)


@pytest.mark.parametrize("out, maps, want", [
    (lambda row, col: (row, col), [lambda row, col: (row, col)], ["row", "col"]),
    (lambda row, col: (row, col), [lambda row, _: (row, 0), lambda *_: (0, 0)], ["row", "col"]),  # who ignores it says nothing
    (lambda *step: step, [lambda *step: step], ["i", "j"]),
    (lambda row, c: (row, c), [lambda row, b: (row, b)], ["row", "j"]),  # not all of one mind
    (lambda j, c: (j, c), [lambda j, b: (j, b)], ["j", "k"]),
    (lambda x, col: (x, col), [lambda x, col: (x, col)], ["i", "col"]),  # as an operand
    (lambda cdiv, v1: (cdiv, v1), [lambda cdiv, v1: (cdiv, v1)], ["i", "j"]),  # words of the language, and of the importer
])
def test_axes_are_called_as_index_maps_call_them(out, maps, want):
    (spec,) = tileproof.from_pallas(mapped(out, *maps), *[X] * len(maps))
    assert [a["axis"] for a in spec["grid"]] == want
    assert tileproof.check(mapped(out, *maps), *[X] * len(maps)).ok


def test_no_axis_is_called_as_a_size():
    def rows(x):
        return pl.pallas_call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), grid=(x.shape[0] // 8,), in_specs=[pl.BlockSpec((8, 128), lambda n: (n, 0))],
                              out_specs=pl.BlockSpec((8, 128), lambda n: (n, 0)), out_shape=jax.ShapeDtypeStruct(x.shape, F32))(x)

    for size, axis in (("n", "i"), ("i", "n"), ("M", "n")):
        (spec,) = tileproof.generalise(rows, lambda **at: (jax.ShapeDtypeStruct((at[size], 128), F32),), **{size: 64})
        assert [a["axis"] for a in spec["grid"]] == [axis] and list(spec["sizes"]) == [size]


def test_what_the_engine_refuses_names_no_file_that_is_gone():
    (site,) = jx.sites(jx.trace(total_of_exponents, (X,)))
    spec = importer.from_equation(site.equation)
    spec["kernel"][-1] = spec["kernel"][-1].replace("/", "/ nothing /")
    with pytest.raises(tileproof.TileproofError) as e:
        engine.run(spec, site.equation, [X])
    assert "error[TP002]" in str(e.value) and "test_told.py:" in str(e.value) and "/tmp" not in str(e.value) and ".tile.json" not in str(e.value), e.value


def test_an_index_from_the_end():
    """interpret=True gives the last row; a TPU reads what lies before the block."""
    def body(x_ref, o_ref):
        for r in range(8):
            o_ref[r] = x_ref[r] - x_ref[-1]

    rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
    x = jax.ShapeDtypeStruct((16, 128), jnp.float32)
    report = tileproof.check(lambda x: pl.pallas_call(body, grid=(2,), in_specs=[rows], out_specs=rows, out_shape=x)(x), x)
    finding = found(report, "TP102")
    assert "count from the start, 7: a ref has no indices from its end" in finding.help and "counts a negative start from the end" in finding.note, finding
    assert "the same 7 more times" in str(report), report


def test_no_accumulator_is_blamed_where_nothing_adds_up():
    def body(x_ref, o_ref):
        o_ref[0:4] = x_ref[1:5] + 1
        o_ref[4:8] = x_ref[1:5] - 1

    rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
    x = jax.ShapeDtypeStruct((16, 128), jnp.float32)

    def naive(x):
        half = x.reshape(2, 8, 128)[:, :4]
        return jnp.concatenate([half + 1, half - 1], 1).reshape(16, 128)

    finding = found(tileproof.verify(lambda x: pl.pallas_call(body, grid=(2,), in_specs=[rows], out_specs=rows, out_shape=x)(x), naive, x), "TP701")
    assert "accumulator" not in finding.help, finding


def test_a_truth_that_turned_is_not_close():
    """1 in place of 0, wherever the two differ: of a 0 no number is a small part."""
    def kernel(x):
        return pl.pallas_call(lambda x_ref, o_ref: o_ref.__setitem__(..., jnp.where(x_ref[...] >= 3, 1, 0)), out_shape=x)(x)

    text = str(tileproof.verify(kernel, lambda x: (x == 3).astype(jnp.int32), jnp.arange(1024, dtype=jnp.int32).reshape(8, 128) % 9))
    assert "is 1, the reference says 0" in text and "write `==` in place of `>=`" in text and "close" not in text, text
