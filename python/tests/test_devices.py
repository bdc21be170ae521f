"""Kernels on several devices, as authors write them: under shard_map, each device writes to its neighbours."""

import functools
import inspect
import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu import all_gather as published
from jax.sharding import PartitionSpec as P

import kernels
import tileproof
from tileproof import binary
from test_emit import emitted, run_here

D = 4
pytestmark = pytest.mark.skipif(jax.device_count() < D, reason=f"needs {D} devices: XLA_FLAGS=--xla_force_host_platform_device_count={D}")
FAR = pl.BlockSpec(memory_space=pl.ANY)
DMA, REGULAR = pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.REGULAR


def ring(n=D):
    return jax.sharding.Mesh(np.array(jax.devices()[:n]), ("x",))


def spread(call, mesh, inside, outside):
    return lambda *args: jax.shard_map(call, mesh=mesh, in_specs=inside, out_specs=outside, check_vma=False)(*args)


def collective(**how):
    return {"compiler_params": pltpu.CompilerParams(collective_id=0), **how}


def neighbours(n=D):
    me = lax.axis_index("x")
    return me, lax.rem(me + n - 1, n), lax.rem(me + 1, n)


def meet(left, right):
    barrier = pltpu.get_barrier_semaphore()
    for other in (left, right):
        pl.semaphore_signal(barrier, 1, device_id=(other,), device_id_type=pl.DeviceIdType.MESH)
    pl.semaphore_wait(barrier, 2)


def all_gather(wait="wait", semaphores=D - 1, interpret=False):
    """JAX's documentation: each device hands on what it got last; a semaphore for each step."""
    def kernel(input_ref, output_ref, local_sem, send_sem, recv_sems):
        step = pl.program_id(0)
        me, _, right = neighbours()
        slot = lax.rem(me - step + D, D)

        @pl.when(step == 0)
        def _():
            local = pltpu.make_async_copy(input_ref, output_ref.at[me], local_sem)
            local.start()
            local.wait()

        remote = pltpu.make_async_remote_copy(src_ref=output_ref.at[slot], dst_ref=output_ref.at[slot], send_sem=send_sem,
                                              recv_sem=recv_sems.at[lax.rem(step, semaphores)], device_id=(right,), device_id_type=pl.DeviceIdType.MESH)
        remote.start()
        getattr(remote, wait)()

    def call(x):
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((D, *x.shape), x.dtype), grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=0, in_specs=[FAR], out_specs=FAR, scratch_shapes=[DMA, DMA, DMA((semaphores,))], grid=(D - 1,)), interpret=interpret)(x)

    return spread(call, ring(), P("x"), P("x"))


def gathered(x):
    return jnp.tile(x.reshape(1, D, -1, x.shape[1]), (D, 1, 1, 1)).reshape(D * D, -1, x.shape[1])


def all_reduce(capacity=True, barrier=True, interpret=False):
    """JAX's documentation: partial values go round in two slots of an array in HBM; a neighbour says when one is free."""
    def kernel(x_ref, o_ref, hbm, copy_sem, recv_sem, send_sem, capacity_sem, received):
        step = pl.program_id(0)
        working = lax.rem(step, 2)
        receiving = 1 - working
        me, left, right = neighbours()

        @pl.when(step == 0)
        def _():
            if barrier:
                meet(left, right)
            o_ref[...] = jnp.zeros_like(o_ref)
            received[...] = jnp.zeros_like(received)
            first = pltpu.make_async_remote_copy(x_ref, hbm.at[working], send_sem, recv_sem.at[working], device_id=(right,))
            first.start()
            first.wait()

        if capacity:
            pl.semaphore_signal(capacity_sem, 1, device_id=(left,))
        local = pltpu.make_async_copy(hbm.at[working], received, copy_sem)
        local.start()
        if capacity:
            pl.semaphore_wait(capacity_sem, 1)
        remote = pltpu.make_async_remote_copy(hbm.at[working], hbm.at[receiving], send_sem, recv_sem.at[receiving], device_id=(right,))
        remote.start()
        local.wait()
        o_ref[...] += received[...]
        remote.wait()

    def call(x):
        out, _ = pl.pallas_call(
            kernel, out_shape=[jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct((2, *x.shape), x.dtype)], grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=0, in_specs=[pl.BlockSpec(memory_space=pltpu.VMEM)], out_specs=[pl.BlockSpec(memory_space=pltpu.VMEM), FAR],
                scratch_shapes=[DMA, DMA((2,)), DMA, REGULAR, pltpu.VMEM(x.shape, x.dtype)], grid=(D,)),
            interpret=interpret, **(collective() if barrier else {}))(x)
        return out

    return spread(call, ring(), P("x"), P(None))


def reduced(x):
    return x.reshape(D, -1, x.shape[1]).sum(0)


def reduce_scatter(slots=2, interpret=False):
    """Half of a shard goes left, half of it right; each device adds its part on the way."""
    def kernel(x_ref, o_ref, part, send, recv, free):
        me, left, right = neighbours()
        half = x_ref.shape[1] // 2
        meet(left, right)
        for way, (there, back) in enumerate(((right, left), (left, right))):
            rows = pl.ds(way * half, half)
            sign = 1 if way == 0 else -1
            chunk = lambda s: lax.rem(me + sign * (-1 - s) + 3 * D, D)  # noqa: B023, E731
            part[way, 0] = x_ref[chunk(0), rows]
            for s in range(D - 1):
                source, target = s % slots, (s + 1) % slots
                if s > 0:
                    pl.semaphore_wait(free.at[way], 1)
                copy = pltpu.make_async_remote_copy(part.at[way, source], part.at[way, target], send.at[way], recv.at[way, target], device_id={"x": there})
                copy.start()
                copy.wait()
                if s < D - 2:
                    pl.semaphore_signal(free.at[way], 1, device_id={"x": back})
                part[way, target] += x_ref[chunk(s + 1), rows]
            o_ref[rows, :] = part[way, (D - 1) % slots]

    def call(x):
        chunks = x.reshape(D, -1, x.shape[1])
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(chunks.shape[1:], x.dtype), in_specs=[pl.BlockSpec(memory_space=pltpu.VMEM)], scratch_shapes=[
            pltpu.VMEM((2, 2, chunks.shape[1] // 2, x.shape[1]), x.dtype), DMA((2,)), DMA((2, 2)), REGULAR((2,))], interpret=interpret, **collective())(chunks)

    return spread(call, ring(), P("x"), P("x"))


def scattered(x):
    return x.reshape(D, -1, x.shape[1]).sum(0)


def permute(to=lambda me: lax.rem(me + 1, D), kind=pl.DeviceIdType.LOGICAL, interpret=False):
    """`lax.ppermute`; the output is a window, which goes out when the kernel ends."""
    def kernel(x_ref, o_ref, send, recv):
        copy = pltpu.make_async_remote_copy(x_ref, o_ref, send, recv, device_id=to(lax.axis_index("x")), device_id_type=kind)
        copy.start()
        copy.wait()

    def call(x):
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), scratch_shapes=[DMA, DMA], interpret=interpret)(x)

    return spread(call, ring(), P("x"), P("x"))


def permuted(x):
    return jnp.roll(x, x.shape[0] // D, axis=0)


def torus(down=1, interpret=False):
    """Two axes: the shard goes to the next row of the mesh, and there to the next column."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("r", "c"))

    def kernel(x_ref, o_ref, buf, send, recv):
        r, c = lax.axis_index("r"), lax.axis_index("c")
        first = pltpu.make_async_remote_copy(x_ref, buf, send, recv.at[0], device_id=(lax.rem(r + down, 2) if down == 1 else r + 1, c))
        first.start()
        first.wait()
        then = pltpu.make_async_remote_copy(buf, o_ref, send, recv.at[1], device_id={"c": lax.rem(c + 1, 2)})
        then.start()
        then.wait()

    def call(x):
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), in_specs=[FAR], out_specs=FAR,
                              scratch_shapes=[pltpu.VMEM(x.shape, x.dtype), DMA, DMA((2,))], interpret=interpret)(x)

    return spread(call, mesh, P("r", "c"), P("r", "c"))


def turned(x):
    m, n = x.shape[0] // 2, x.shape[1] // 2
    return jnp.roll(x, (m, n), (0, 1))


def twice_met(interpret=False):
    """A second barrier on a semaphore of a part of the body: what neighbours send here may come before this device begins that part."""
    def kernel(x_ref, o_ref, send, recv):
        _, left, right = neighbours()
        meet(left, right)
        copy = pltpu.make_async_remote_copy(x_ref, o_ref, send, recv, device_id=(right,))
        copy.start()
        copy.wait()

        @functools.partial(pl.run_scoped, second=REGULAR)
        def _(second):
            for other in (left, right):
                pl.semaphore_signal(second, 1, device_id=(other,))
            pl.semaphore_wait(second, 2)

    def call(x):
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), in_specs=[FAR], out_specs=FAR, scratch_shapes=[DMA, DMA],
                              interpret=interpret, **collective())(x)

    return spread(call, ring(), P("x"), P("x"))


X = kernels.array(D * 16, 128)
CASES = {"all_gather": (all_gather, gathered), "all_reduce": (all_reduce, reduced), "reduce_scatter": (reduce_scatter, scattered),
         "permute": (permute, permuted), "twice_met": (twice_met, permuted), "torus": (torus, turned)}


@pytest.mark.parametrize("name", CASES)
def test_collectives_are_imported_and_equal(name):
    make, reference = CASES[name]
    report = tileproof.verify(make(), reference, X)
    assert report.ok, report
    assert not report.refused and list(report.compared.values()) == ["tested"]


@pytest.mark.parametrize("name", CASES)
def test_jax_agrees(name):
    make, reference = CASES[name]
    got = jax.jit(make(interpret=pltpu.InterpretParams()))(X)
    np.testing.assert_allclose(np.asarray(got), np.asarray(reference(X)), rtol=1e-5, atol=1e-5)


def test_the_kernels_of_jax_are_imported():
    """Its all-gather counts what comes at all steps on one semaphore: right only if copies arrive in the order in which
    they were started, of which nobody is told."""
    for memory in (pl.ANY, pltpu.VMEM):
        report = tileproof.check(lambda x: published.all_gather(x, mesh=ring(), axis_name="x", memory_space=memory), X)  # noqa: B023
        assert not report.refused and [f.rule for f in report.of("violated")] == ["TP504"], report
        assert "in the order of their starts" in str(report)


@pytest.mark.parametrize(("make", "rule"), [
    (lambda: all_gather(wait="wait_send"), "TP504"),
    (lambda: all_gather(wait="wait_recv"), "TP502"),
    (lambda: all_gather(semaphores=1), "TP504"),
    (lambda: all_reduce(capacity=False), "TP504"),
    (lambda: reduce_scatter(slots=1), "TP504"),
    (lambda: permute(to=lambda me: me + 1), "TP102"),
    (lambda: permute(to=lambda me: me * 0), "TP504"),
    (lambda: torus(down=2), "violated"),
], ids=["not waited for what comes", "not waited for what goes", "one semaphore", "no capacity", "one slot", "no such device", "all to one", "off the torus"])
def test_what_is_wrong_between_devices_is_found(make, rule, request):
    report = tileproof.check(make(), X)
    assert any(rule in (f.rule, f.verdict) for f in report.of("violated")), report
    if request.node.callspec.id in ("one semaphore", "not waited for what comes"):
        assert ("in the order of their starts" in str(report)) == (request.node.callspec.id == "one semaphore"), report


def test_a_result_that_is_said_to_be_everywhere_is():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * lax.axis_index("x").astype(jnp.float32)

    fn = spread(lambda x: pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x), ring(), P(), P())
    with pytest.raises(AssertionError, match="says is the same on the devices 0 and 1"):
        tileproof.assert_equivalent(fn, lambda x: x, X)


def test_partition_specs_are_kept():
    """What is a device's part of an array of shard_map is imported as that array; other operands, and results that all devices have, are by device."""
    spec, = tileproof.from_pallas(torus(), X)
    for entry in (*spec["inputs"], *spec["outputs"]):
        assert entry["shape"] == list(X.shape) and entry["shard"] == ["r", "c"] and "block_shape" not in entry
    spec, = tileproof.from_pallas(reduce_scatter(), X)
    assert "shard" not in spec["inputs"][0] and spec["inputs"][0]["shape"][0] == D  # reshaped before the call
    assert spec["outputs"][0]["shard"] == ["d", None]
    spec, = tileproof.from_pallas(all_reduce(), X)
    assert spec["inputs"][0]["shard"] == ["d", None] and spec["outputs"][0]["shape"] == [D, 16, 128]


@pytest.mark.parametrize("name", ["permute", "torus"])
def test_a_reference_reads_the_whole_arrays(name, tmp_path):
    make, reference = CASES[name]
    for naive, code in ((reference, 0), (lambda x: x * 1, 1)):
        spec, = tileproof.from_pallas(make(), X, reference=naive)
        (path := tmp_path / "kernel.tile.json").write_text(json.dumps(spec))
        assert binary.run("verify", str(path)).returncode == code


def test_sizes_of_cut_arrays_are_inferred(tmp_path):
    spec, = tileproof.generalise(permute(), lambda M: (jax.ShapeDtypeStruct((M, 128), jnp.float32),), M=64)
    assert spec["sizes"]["M"]["multiple_of"] == D and spec["inputs"][0]["shape"] == ["M", 128] and spec["inputs"][0]["shard"] == ["d", None]
    (path := tmp_path / "kernel.tile.json").write_text(json.dumps(spec))
    assert binary.run("lint", str(path), "--ignore", "TP301").returncode == 0


def test_what_all_devices_have_is_one_array():
    def kernel(x_ref, row_ref, o_ref, send, recv):
        copy = pltpu.make_async_remote_copy(x_ref, o_ref, send, recv, device_id=(neighbours()[2],))
        copy.start()
        copy.wait()
        o_ref[...] += row_ref[...]

    def call(x, row):
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), scratch_shapes=[DMA, DMA])(x, row)

    fn, row = spread(call, ring(), (P(None, "x"), P()), P(None, "x")), kernels.array(1, 128)
    wide = kernels.array(8, D * 128)
    spec, = tileproof.from_pallas(fn, wide, row)
    assert spec["inputs"][1] == {"name": "row", "dtype": "float32", "shape": [1, 128]} and spec["outputs"][0]["shard"] == [None, "d"]
    report = tileproof.verify(fn, lambda x, row: jnp.roll(x, 128, axis=1) + jnp.tile(row, (1, D)), wide, row)
    assert report.ok, report


def test_one_call_under_two_cuts_is_by_device():
    def kernel(x_ref, o_ref, send, recv):
        copy = pltpu.make_async_remote_copy(x_ref, o_ref, send, recv, device_id=(neighbours()[2],))
        copy.start()
        copy.wait()

    @jax.jit
    def call(x):
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), scratch_shapes=[DMA, DMA])(x)

    fn, x = spread(lambda x: call(call(x)), ring(), P("x"), P("x")), kernels.array(D * 8, 128)
    report = tileproof.verify(fn, lambda x: jnp.roll(x, 2 * 8, axis=0), x)
    assert report.ok, report


def test_shards_that_know_nothing_of_each_other_are_kernels_of_one_device():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    fn = spread(lambda x: pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x) + lax.axis_index("x"), ring(), P("x"), P("x"))
    spec, = tileproof.from_pallas(fn, X)
    assert "semantics" not in json.dumps(spec)
    report = tileproof.verify(fn, lambda x: x * 2 + jnp.repeat(jnp.arange(D), x.shape[0] // D)[:, None], X)
    assert report.ok, report


def test_kernels_that_running_code_makes_are_heard_with_their_mesh():
    with tileproof.verifying(fail=False) as seen:
        jax.jit(torus(interpret=pltpu.InterpretParams()))(X)
    assert not seen.report.refused and [g["semantics"] for s in seen.report.specs for g in s["grid"]] == ["device", "device"], seen.report


DECLARED = sorted((pathlib.Path(__file__).resolve().parents[2] / "tests" / "devices").glob("*.tile.json"))


@pytest.mark.parametrize("path", DECLARED, ids=lambda p: p.name.split(".")[0])
def test_emitted_kernels_do_the_same_in_jax_and_come_back(path, tmp_path):
    spec, sizes = json.loads(path.read_text()), {"D": D, "N": 128} | ({"R": 2, "C": 2} if path.name.startswith("mesh") else {"R": 5})
    arrays = {i["name"]: np.array(kernels.array(*(eval(str(n), {}, sizes) for n in i["shape"]))) for i in spec["inputs"]}
    want = run_here(path, spec, arrays, {}, {n: sizes[n] for n in spec["sizes"]}, tmp_path, "--unchecked")
    written = emitted(path, tmp_path)
    fn = functools.partial(written, **{n: sizes[n] for n, p in inspect.signature(written).parameters.items()  # what no shape says
                                       if p.kind is p.KEYWORD_ONLY and p.default is p.empty})
    for mode in ("on_wait", "eager"):
        got = jax.jit(lambda *a: fn(*a, interpret=pltpu.InterpretParams(dma_execution_mode=mode)))(*arrays.values())  # noqa: B023
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-5, atol=1e-5, err_msg=mode)
    report = tileproof.verify(fn, lambda *_: [jnp.asarray(w) for w in want], *map(jnp.asarray, arrays.values()))
    assert report.ok, report
    if "shard" in spec["inputs"][0]:
        back, = report.specs
        for role in ("inputs", "outputs"):
            assert [x["shard"] for x in back[role]] == [x["shard"] for x in spec[role]]
            assert [x["shape"] for x in back[role]] == [[eval(str(n), {}, sizes) for n in x["shape"]] for x in spec[role]]


def test_what_shard_map_does_not_say_is_not_emitted(tmp_path):
    spec = {"tileproof": 1, "name": "rows", "grid": [{"axis": "d", "steps": 4, "semantics": "device"}],
            "inputs": [{"name": "x", "dtype": "float32", "shape": [32, 128], "block_shape": [8, 128], "index_map": ["d", 0]}],
            "outputs": [{"name": "o", "dtype": "float32", "shape": [4, 8, 128], "block_shape": [None, 8, 128], "index_map": ["d", 0, 0]}], "kernel": ["o[...] = x[...]"]}
    path = tmp_path / "rows.tile.json"
    path.write_text(json.dumps(spec))
    done = binary.run("emit", "pallas", str(path))
    assert done.returncode == 3 and "`x` has no dimension of devices" in done.stderr and not done.stdout
