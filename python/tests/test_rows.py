"""Copies of a size known only at run time, and through reshapes that count whole dimensions as one, or one by its parts, as caches of pages
and rows of no group are written."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import kernels
import tileproof

FAR = pl.BlockSpec(memory_space=pl.ANY)
PAGES, PAGE = 4, 8
NEW, CACHE = kernels.array(12, 2, 128), kernels.array(PAGES, PAGE, 2, 128, seed=1)
SLICES = jnp.array([[3, 20], [0, 5], [5, 7]], jnp.int32)  # of each: first row of the cache, first new row, rows
ROWS = pltpu.VMEM((PAGE, 2, 128), jnp.float32)


def update(new, cache, slices, size=lambda n: n, at=lambda t: t, wait=True):
    """Rows of `new` into the cache, page by page, through a buffer."""

    def kernel(slices, new_ref, cache_in, cache_ref, rows, sem):
        i = pl.program_id(0)
        n = size(slices[2, i])
        pages = cache_ref.reshape(PAGES * PAGE, 2, 128)
        fetch = pltpu.make_async_copy(new_ref.at[pl.ds(slices[1, i], n)], rows.at[pl.ds(0, n)], sem)
        fetch.start()
        if wait:
            fetch.wait()
        put = pltpu.make_async_copy(rows.at[pl.ds(0, n)], pages.at[pl.ds(at(slices[0, i]), n)], sem)
        put.start()
        put.wait()

    grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(slices.shape[1],), in_specs=[FAR, FAR], out_specs=FAR,
                                        scratch_shapes=[ROWS, pltpu.SemaphoreType.DMA])
    return pl.pallas_call(kernel, grid_spec=grid, out_shape=jax.ShapeDtypeStruct(cache.shape, cache.dtype), input_output_aliases={2: 0})(slices, new, cache)


def naive(new, cache, slices):
    flat = cache.reshape(PAGES * PAGE, 2, 128)
    for to, of, n in np.asarray(slices).T.tolist():
        flat = flat.at[to:to + n].set(new[of:of + n])
    return flat.reshape(cache.shape)


def test_rows_of_a_cache_are_written_and_proven_for_the_call():
    report = tileproof.check(update, NEW, CACHE, SLICES)
    assert report.ok and not report.of("unknown"), report
    assert tileproof.assert_equivalent(update, lambda *_: naive(NEW, CACHE, SLICES), NEW, CACHE, SLICES, rtol=0, atol=0) == 1


def test_no_rows_at_all():
    slices = SLICES.at[2, 0].set(0)
    assert tileproof.assert_equivalent(update, lambda *_: naive(NEW, CACHE, slices), NEW, CACHE, slices, rtol=0, atol=0) == 1


def test_a_call_behind_one_that_jax_does_not_interpret_is_imported_with_its_tables():
    def twice(new, cache, slices):
        first = update(new, cache, slices)
        return update(new, first, slices + (first[0, 0, 0, 0] * 0).astype(jnp.int32))

    report = tileproof.check(twice, NEW, CACHE, SLICES)
    assert report.ok and len(report.specs) == 2 and not report.refused, report
    assert [t["contents"] for t in report.specs[1]["scalar_prefetch"]] == [np.asarray(SLICES).tolist()]


DEFECTS = {
    "more rows than the buffer has": ({"size": lambda n: n + 4}, "TP102"),
    "the cache is left": ({"at": lambda t: t + 8}, "TP102"),
    "nobody waits for the rows": ({"wait": False}, "TP504"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_found(defect):
    how, rule = DEFECTS[defect]
    report = tileproof.check(lambda *a: update(*a, **how), NEW, CACHE, SLICES)
    assert rule in [f.rule for f in report.of("violated")], report


def test_a_negative_size_is_no_empty_copy():
    report = tileproof.verify(lambda *a: update(*a, size=lambda n: n - 6), lambda *a: a[1], NEW, CACHE, SLICES)
    assert not report.ok and "the size of a copy" in str(report)


def moved(copy, x=kernels.array(4, 8, 128), scratch=(), out=None):
    def kernel(x_ref, o_ref, *rest):
        copy(x_ref, o_ref, *rest)

    out = jax.ShapeDtypeStruct(x.shape if out is None else out, x.dtype)
    return pl.pallas_call(kernel, in_specs=[FAR], out_specs=FAR, out_shape=out, scratch_shapes=list(scratch))(x)


def test_a_reshape_of_both_sides():
    def copy(x_ref, o_ref):
        pltpu.sync_copy(x_ref.reshape(32, 128).at[pl.ds(4, 28)], o_ref.reshape(32, 128).at[pl.ds(0, 28)])
        pltpu.sync_copy(x_ref.reshape(32, 128).at[pl.ds(0, 4)], o_ref.reshape(32, 128).at[pl.ds(28, 4)])

    fn = lambda x: moved(copy, x)  # noqa: E731
    x = kernels.array(4, 8, 128)
    assert tileproof.assert_equivalent(fn, lambda x: jnp.roll(x.reshape(32, 128), -4, 0).reshape(x.shape), x, rtol=0, atol=0) == 1
    report = tileproof.check(fn, x)
    assert report.ok, report


SPLITS = {
    "one part": (lambda x, o: pltpu.sync_copy(x.reshape(4, 2, 4, 128).at[1, 1], o.at[2, pl.ds(0, 4)]), lambda x, o: o.at[2, :4].set(x[1, 4:])),
    "parts of parts": (lambda x, o: pltpu.sync_copy(x.reshape(4, 2, 2, 2, 128).at[3, :, 1], o.reshape(4, 4, 2, 128).at[0, pl.ds(2, 2)]),
                       lambda x, o: o.at[0, 4:].set(x[3].reshape(2, 2, 2, 128)[:, 1].reshape(4, 128))),
    "every second part": (lambda x, o: pltpu.sync_copy(x.reshape(4, 4, 2, 128).at[0, pl.ds(0, 2, 2)], o.reshape(4, 4, 2, 128).at[1, pl.ds(1, 2)]),
                          lambda x, o: o.at[1, 2:6].set(x[0].reshape(4, 2, 128)[::2].reshape(4, 128))),
    "lanes of parts": (lambda x, o: pltpu.sync_copy(x.at[0].reshape(4, 2, 128).at[pl.ds(2, 2), 1, pl.ds(64, 64)], o.at[0, pl.ds(0, 2), pl.ds(0, 64)]),
                       lambda x, o: o.at[0, :2, :64].set(x[0].reshape(4, 2, 128)[2:, 1, 64:])),
}


@pytest.mark.parametrize("case", SPLITS)
def test_a_reshape_counts_parts_of_a_dimension(case):
    copy, naive = SPLITS[case]

    def both(x_ref, o_ref):
        pltpu.sync_copy(x_ref, o_ref)
        copy(x_ref, o_ref)

    x = kernels.array(4, 8, 128)
    assert tileproof.assert_equivalent(lambda x: moved(both, x), lambda x: naive(x, x), x, rtol=0, atol=0) == 1


def zeroed(begin, x=kernels.array(64, 256), last=0, rows=16):
    """Ones in rows `begin[0]` to `begin[1]`, zeros in the rows before them, tile by tile, as many at a time as `zeros` has, on one semaphore."""

    def kernel(begin_ref, x_ref, o_ref, zeros, sem):
        zeros[...] = jnp.zeros_like(zeros)
        tiles, out = zeros.reshape(-1, 8, 128), o_ref.reshape(-1, 8, 256)
        end = begin_ref[0] // 8

        def fill(i, filled):
            start = i * tiles.shape[0]
            n = jnp.minimum(start + tiles.shape[0], end) - start
            for lane in (0, 128):
                pltpu.make_async_copy(tiles.at[pl.ds(0, n)], out.at[pl.ds(start, n), :, lane:lane + 128], sem).start()
            return filled + n

        filled = jax.lax.fori_loop(0, pl.cdiv(end, tiles.shape[0]), fill, 0) - last
        rest = pl.ds(end, out.shape[0] - end)
        pltpu.sync_copy(x_ref.reshape(-1, 8, 256).at[rest], out.at[rest])
        pltpu.make_async_copy(out.at[pl.ds(0, filled)], out.at[pl.ds(0, filled)], sem).wait()

    grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(), in_specs=[FAR], out_specs=FAR,
                                        scratch_shapes=[pltpu.VMEM((rows, 128), jnp.float32), pltpu.SemaphoreType.DMA])
    return pl.pallas_call(kernel, grid_spec=grid, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(begin, x)


@pytest.mark.parametrize("begin", (0, 8, 40, 64))
def test_rows_of_no_group_are_zeroed_tile_by_tile(begin):
    begin = jnp.array([begin], jnp.int32)
    report = tileproof.check(zeroed, begin)
    assert report.ok and not {f.rule for f in report.of("unknown")} - {"TP104"}, report  # int32 of a loop whose turns a table tells
    x = kernels.array(64, 256)
    assert tileproof.assert_equivalent(zeroed, lambda b, x: jnp.where(jnp.arange(64)[:, None] < b[0], 0, x), begin, x, rtol=0, atol=0) == 1


def test_a_tile_that_nobody_waits_for_is_found():
    report = tileproof.check(lambda b: zeroed(b, last=1), jnp.array([40], jnp.int32))
    assert "TP502" in [f.rule for f in report.of("violated")], report


REFUSED = {
    "splits and merges": (lambda x, o: pltpu.sync_copy(x.reshape(8, 4, 128).reshape(2, 16, 128).at[0, pl.ds(0, 8)], o.at[0]), "does more than count.*copy the parts one by one"),
    "a part": (lambda x, o: pltpu.sync_copy(x.at[:, pl.ds(0, 4)].reshape(16, 128), o.reshape(32, 128).at[pl.ds(0, 16)]), "does more than count whole dimensions"),
    "one ref": (lambda x, o: pltpu.sync_copy(o.reshape(32, 128).at[pl.ds(0, 8)], o.reshape(32, 128).at[pl.ds(4, 8)]), "at once within one ref.*start it, and wait for it"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    copy, why = REFUSED[case]
    with pytest.raises(tileproof.Unsupported, match=why):
        tileproof.from_pallas(lambda x: moved(copy, x), kernels.array(4, 8, 128))


def test_a_store_through_a_bitcast_to_another_width():
    x = kernels.array(16, 128, dtype=jnp.bfloat16)

    def kernel(x_ref, o_ref):
        o_ref.bitcast(jnp.int32)[...] = pltpu.bitcast(x_ref[...] * 2, jnp.int32)

    fn = lambda x: kernels.whole(kernel, x)  # noqa: E731
    assert tileproof.assert_equivalent(fn, lambda x: x * 2, x, rtol=0, atol=0) == 1


def test_a_slot_read_through_a_bitcast_is_not_the_slot_in_flight():
    """Only what is used is read: the next block may be on its way to the other slot."""
    x = kernels.array(32, 128, dtype=jnp.bfloat16)

    def kernel(x_ref, o_ref, buf, sem):
        i, n = pl.program_id(0), pl.num_programs(0)

        def copy(t):
            return pltpu.make_async_copy(x_ref.at[pl.ds(t * 8, 8)], buf.at[t % 2], sem.at[t % 2])

        pl.when(i == 0)(lambda: copy(0).start())
        pl.when(i + 1 < n)(lambda: copy(i + 1).start())
        copy(i).wait()
        o_ref[...] = pltpu.bitcast(buf.bitcast(jnp.uint32)[i % 2], jnp.bfloat16) * 2

    def fn(x):
        return pl.pallas_call(kernel, grid=(4,), in_specs=[FAR], out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)), out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
                              scratch_shapes=[pltpu.VMEM((2, 8, 128), jnp.bfloat16), pltpu.SemaphoreType.DMA((2,))])(x)

    report = tileproof.check(fn, x)
    assert report.ok and not report.of("unknown"), report
    assert tileproof.assert_equivalent(fn, lambda x: x * 2, x, rtol=0, atol=0) == 1


def test_a_slot_is_cleared_through_a_reshape():
    """The other slot, in flight, is not touched."""
    x = kernels.array(2, 8, 128, dtype=jnp.bfloat16)

    def kernel(x_ref, o_ref, buf, sem):
        copy = pltpu.make_async_copy(x_ref.at[0], buf.at[0], sem)
        copy.start()
        buf.bitcast(jnp.int32).reshape(2, 4, 128)[1] = jnp.zeros((4, 128), jnp.int32)
        copy.wait()
        o_ref[...] = buf[...]

    def fn(x):
        return pl.pallas_call(kernel, in_specs=[FAR], out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
                              scratch_shapes=[pltpu.VMEM((2, 8, 128), jnp.bfloat16), pltpu.SemaphoreType.DMA])(x)

    report = tileproof.check(fn, x)
    assert report.ok and not report.of("unknown"), report
    assert tileproof.assert_equivalent(fn, lambda x: x.at[1].set(0), x, rtol=0, atol=0) == 1
