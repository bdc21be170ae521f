"""Kernels that move their own data, as authors write them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import kernels
import tileproof
from tileproof.body import bounds

X = kernels.array(32, 128)
FAR = pl.BlockSpec(memory_space=pl.ANY)
ROWS = pl.BlockSpec((8, 128), lambda i: (i, 0))
SLOTS = [pltpu.VMEM((2, 8, 128), jnp.float32), pltpu.SemaphoreType.DMA((2,))]


def call(kernel, x, out_specs=ROWS, scratch=SLOTS, grid=4):
    return pl.pallas_call(kernel, grid=(grid,), in_specs=[FAR], out_specs=out_specs, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), scratch_shapes=scratch)(x)


def block(ref, i):
    return ref.at[pl.ds(i * 8, 8), :]


def double_buffered(x, wait=True, slot=lambda i: i % 2):
    def kernel(x_ref, o_ref, buf, sem):
        i, n = pl.program_id(0), pl.num_programs(0)

        def copy(t):
            return pltpu.make_async_copy(block(x_ref, t), buf.at[slot(t)], sem.at[slot(t)])

        pl.when(i == 0)(lambda: copy(0).start())
        pl.when(i + 1 < n)(lambda: copy(i + 1).start())
        if wait:
            copy(i).wait()
        o_ref[...] = buf[slot(i)] * 2

    return call(kernel, x)


def in_and_out(x):
    def kernel(x_ref, o_ref, buf):
        i = pl.program_id(0)
        pltpu.sync_copy(block(x_ref, i), buf)
        buf[...] = buf[...] * 2
        pltpu.sync_copy(buf, block(o_ref, i))

    return call(kernel, x, FAR, [pltpu.VMEM((8, 128), jnp.float32)])


def in_a_loop(x):
    def kernel(x_ref, o_ref, buf, sem):
        def copy(t):
            return pltpu.make_async_copy(block(x_ref, t), buf.at[t % 2], sem.at[t % 2])

        copy(0).start()

        def turn(t, _):
            pl.when(t + 1 < 4)(lambda: copy(t + 1).start())
            copy(t).wait()
            o_ref[pl.ds(t * 8, 8), :] = buf[t % 2] * 2
            return 0

        jax.lax.fori_loop(0, 4, turn, 0)

    return call(kernel, x, pl.BlockSpec((32, 128), lambda i: (0, 0)), grid=1)


def a_loop_of_starts(x, waits=4):
    def kernel(x_ref, o_ref, buf, sem):
        def copy(t):
            return pltpu.make_async_copy(block(x_ref, t), buf.at[t], sem)

        jax.lax.fori_loop(0, 4, lambda t, _: [copy(t).start()] and 0, 0)
        jax.lax.fori_loop(0, waits, lambda t, _: [copy(t).wait()] and 0, 0)
        o_ref[...] = buf[pl.program_id(0)] * 2

    return call(kernel, x, scratch=[pltpu.VMEM((4, 8, 128), jnp.float32), pltpu.SemaphoreType.DMA])


def counted(x):
    def kernel(x_ref, o_ref, count):
        pl.semaphore_signal(count, 2)
        pl.semaphore_wait(count, 2)
        pltpu.sync_copy(block(x_ref, pl.program_id(0)), o_ref)
        o_ref[...] = o_ref[...] * 2

    return call(kernel, x, scratch=[pltpu.SemaphoreType.REGULAR])


def scoped(x):
    def kernel(x_ref, o_ref):
        def body(buf):
            pltpu.sync_copy(block(x_ref, pl.program_id(0)), buf)
            o_ref[...] = buf[...] * 2

        pl.run_scoped(body, pltpu.VMEM((8, 128), jnp.float32))

    return call(kernel, x, scratch=[])


@pytest.mark.parametrize("fn", [double_buffered, in_and_out, in_a_loop, a_loop_of_starts, counted, scoped])
def test_copies_are_imported_and_equal(fn):
    report = tileproof.verify(fn, lambda x: x * 2, X)
    assert report.ok, report
    tileproof.assert_equivalent(fn, lambda x: x * 2, X)


def test_buffers_of_a_scope_have_the_names_of_its_author():
    [spec] = tileproof.from_pallas(scoped, X)
    assert any(line.strip() == "with scratch((8, 128), float32) as buf:" for line in spec["kernel"]), spec["kernel"]


@pytest.mark.parametrize(("fn", "rule"), [
    (lambda x: double_buffered(x, wait=False), "TP504"),
    (lambda x: double_buffered(x, slot=lambda i: i * 0), "TP504"),
    (lambda x: a_loop_of_starts(x, waits=3), "TP504"),
])
def test_what_is_wrong_with_copies_is_found(fn, rule):
    report = tileproof.check(fn, X)
    assert rule in [f.rule for f in report.of("violated")]


def overlapped(x, body):
    """A copy in a scope of its own, by `body(copy, o_ref, buf)`."""
    def kernel(x_ref, o_ref):
        def scope(buf, sem):
            body(pltpu.make_async_copy(block(x_ref, pl.program_id(0)), buf, sem), o_ref, buf)

        pl.run_scoped(scope, pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA)

    return call(kernel, x, scratch=[])


def waits_late(copy, o_ref, buf):
    copy.start()
    o_ref[...] = jnp.ones((8, 128), jnp.float32)
    copy.wait()
    o_ref[...] = buf[...] * 2 * o_ref[...]


def test_a_copy_in_a_scope():
    report = tileproof.verify(lambda x: overlapped(x, waits_late), lambda x: x * 2, X)
    assert report.ok and not report.of("unknown"), report


def reads_early(copy, o_ref, buf):
    copy.start()
    o_ref[...] = buf[...] * 2
    copy.wait()


def test_a_scoped_buffer_that_is_read_in_flight():
    assert "TP504" in [f.rule for f in tileproof.check(lambda x: overlapped(x, reads_early), X).of("violated")]


def never_waits(copy, o_ref, buf):
    copy.start()
    o_ref[...] = jnp.zeros((8, 128), jnp.float32)


def waits_twice(copy, o_ref, buf):
    waits_late(copy, o_ref, buf)
    copy.wait()


def waits_in_a_branch(copy, o_ref, buf):
    copy.start()
    pl.when(pl.program_id(0) >= 0)(copy.wait)
    o_ref[...] = buf[...] * 2


@pytest.mark.parametrize("body", [never_waits, waits_twice])
def test_a_scope_whose_copies_do_not_end_with_it(body):
    assert "TP502" in [f.rule for f in tileproof.check(lambda x: overlapped(x, body), X).of("violated")]


def test_a_scope_whose_copy_is_waited_for_in_a_branch():
    report = tileproof.verify(lambda x: overlapped(x, waits_in_a_branch), lambda x: x * 2, X)
    assert report.ok and not report.of("unknown"), report


def turn_by_turn(x, settle=True):
    """A buffer, a semaphore and a counter for each turn of a loop."""
    def kernel(x_ref, o_ref):
        def turn(t, total):
            def scope(buf, sem, count):
                copy = pltpu.make_async_copy(block(x_ref, t), buf, sem.at[1])
                copy.start()
                copy.wait()
                pl.semaphore_signal(count, 2)
                pl.semaphore_wait(count, 2 if settle else 1)
                return total + buf[...]

            return pl.run_scoped(scope, pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA((2,)), pltpu.SemaphoreType.REGULAR)

        o_ref[...] = jax.lax.fori_loop(0, 2, turn, jnp.zeros((8, 128), jnp.float32))

    return call(kernel, x, scratch=[])


def test_scopes_in_a_loop():
    def plain(x):
        rows = x.reshape(-1, 8, 128)
        return jnp.broadcast_to(rows[0] + rows[1], rows.shape).reshape(x.shape)

    report = tileproof.verify(turn_by_turn, plain, X)
    assert report.ok and not report.of("unknown"), report
    assert "TP502" in [f.rule for f in tileproof.check(lambda x: turn_by_turn(x, settle=False), X).of("violated")]


def scattered(cache, rows, slots, by_output):
    """New rows to their places in a cache, in place, whichever of its two names the author writes."""

    def kernel(slot, rows_ref, cache_ref, o_ref, sem):
        i, at = pl.program_id(0), o_ref if by_output else cache_ref
        copy = pltpu.make_async_copy(block(rows_ref, i), block(at, slot[i]), sem)
        copy.start()
        copy.wait()

    grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(2,), in_specs=[FAR, FAR], out_specs=FAR, scratch_shapes=[pltpu.SemaphoreType.DMA])
    return pl.pallas_call(kernel, grid_spec=grid, out_shape=jax.ShapeDtypeStruct(cache.shape, cache.dtype), input_output_aliases={2: 0})(slots, rows, cache)


@pytest.mark.parametrize("by_output", [True, False])
def test_an_array_that_copies_change_in_place(by_output):
    rows, slots = kernels.array(16, 128) + 1, jnp.array([3, 1], jnp.int32)
    fn = lambda cache, rows: scattered(cache, rows, slots, by_output)  # noqa: E731
    assert tileproof.check(fn, X, rows).ok
    report = tileproof.verify(fn, lambda cache, rows: cache.at[24:32].set(rows[:8]).at[8:16].set(rows[8:]), X, rows)
    assert report.ok, report


def rows_in_tiles(x, rows, tile=8):
    """Blocks of so many rows, by copies of what is left of the array, as kernels write it."""
    def kernel(x_ref, o_ref, buf):
        i = pl.program_id(0)
        n = jnp.minimum(rows - i * tile, tile)
        pltpu.sync_copy(x_ref.at[pl.ds(i * tile, n), :], buf.at[pl.ds(0, n), :])
        buf[...] = buf[...] * 2
        pltpu.sync_copy(buf.at[pl.ds(0, n), :], o_ref.at[pl.ds(i * tile, n), :])

    return call(kernel, x, FAR, [pltpu.VMEM((tile, 128), jnp.float32)], pl.cdiv(rows, tile))


def test_a_copy_whose_size_no_step_changes_is_one_copy():
    [whole] = tileproof.from_pallas(lambda x: rows_in_tiles(x, 32), X)
    assert sum("copy(" in line for line in whole["kernel"]) == 2 and not any("for " in line for line in whole["kernel"]), whole["kernel"]
    [ragged] = tileproof.from_pallas(lambda x: rows_in_tiles(x, 30), kernels.array(30, 128))
    assert sum("for " in line for line in ragged["kernel"]) == 2, ragged["kernel"]
    assert tileproof.verify(lambda x: rows_in_tiles(x, 32), lambda x: x * 2, X).ok
    tileproof.assert_equivalent(lambda x: rows_in_tiles(x, 30), lambda x: x * 2, kernels.array(30, 128))


def test_bounds_hold_what_an_operation_makes_of_every_number_within():
    made = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "max": max, "min": min, "//": lambda a, b: a // b, "%": lambda a, b: a % b,
            "div": lambda a, b: int(a / b), "rem": lambda a, b: a - b * int(a / b)}
    between = [(lo, hi) for lo in range(-4, 5) for hi in range(lo, 5)]
    exact = 0
    for name, f in made.items():
        for a in between:
            for b in between:
                found = bounds.of(name, [a, b])
                if found is not None:
                    results = [f(x, y) for x in range(a[0], a[1] + 1) for y in range(b[0], b[1] + 1)]
                    assert found[0] <= min(results) and max(results) <= found[1], (name, a, b, found)
                    exact += found == (min(results), max(results))
    for a in between:
        assert bounds.of("neg", [a]) == (-a[1], -a[0])
        for lo, hi in between:
            assert bounds.of("clamp", [(lo, lo), a, (hi, hi)]) == (min(max(a[0], lo), hi), min(max(a[1], lo), hi))
    assert exact > 11000
    assert bounds.of("mul", [(0, 2**16), (0, 2**16)]) is None and bounds.of("add", [(0, 1), None]) is None


@pytest.mark.parametrize("one", [np.uint32(1), np.int8(1)])
def test_an_index_that_is_a_number_of_another_type(one):
    def kernel(x_ref, o_ref, buf):
        pltpu.sync_copy(block(x_ref, pl.program_id(0)), buf.at[one])
        o_ref[...] = buf[one] * 2

    assert tileproof.verify(lambda x: call(kernel, x, scratch=[pltpu.VMEM((2, 8, 128), jnp.float32)]), lambda x: x * 2, X).ok
