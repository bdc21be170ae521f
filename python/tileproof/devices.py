"""shard_map around a kernel: which device has which part of an array, and kernels that reach other devices."""

from __future__ import annotations

import functools
import math
from typing import Any, Iterator

from . import jaxpr as jx
from .jaxpr import np

Mesh = tuple[tuple[str, int], ...]  # names and sizes of its axes; devices are numbered along them, the last axis is fastest
Cut = tuple[tuple[str, ...], ...]  # of an array: by dimension, the axes of the mesh along which it is cut
MESH = "devices"  # the parameter of a pallas_call, beside JAX's own, that says where it runs
CUTS = "cuts"  # another: of its operands and of its results, how shard_map cuts the array of which each is a device's part; None: it is of no such array


def mesh_of(eqn: Any) -> Mesh:
    """Of a shard_map."""
    return tuple((str(name), int(n)) for name, n in eqn.params["mesh"].shape.items())


def here() -> Mesh:
    """Of the shard_map that is being traced."""
    import jax

    return tuple((str(name), int(n)) for name, n in jax.sharding.get_abstract_mesh().shape.items())


def count(mesh: Mesh) -> int:
    """How many devices the mesh has."""
    return math.prod(n for _, n in mesh)


def sizes(mesh: Mesh) -> tuple[int, ...]:
    """How many it has along each axis."""
    return tuple(n for _, n in mesh)


def around(call: Any) -> Mesh:
    """The devices of a pallas_call that knows of them."""
    return call.params.get(MESH, ())


def _equations(j: Any) -> Iterator[Any]:
    for eqn in jx.equations(j):
        yield eqn
        for inner in jx.inner_jaxprs(eqn):
            yield from _equations(inner)


def _names_a_device(eqn: Any) -> bool:
    if eqn.primitive.name == "dma_start":
        return jx.transforms_of(eqn, 0)[0][4] is not None
    if eqn.primitive.name == "semaphore_signal":
        return jx.transforms_of(eqn, 0, "args_tree")[0][3] is not None
    return eqn.primitive.name in ("axis_index", "get_barrier_semaphore")


def _cut(spec: Any, rank: int) -> Cut:
    return tuple((names,) if isinstance(names, str) else tuple(map(str, names or ())) for names in [*spec, *[None] * (rank - len(spec))])


@functools.lru_cache(maxsize=64)
def cuts_below(eqn: Any) -> dict[int, tuple[tuple[Cut | None, ...], tuple[Cut | None, ...]]]:
    """Of a shard_map, by pallas_call below it: how its operands are cut that are arguments of the shard_map as they are, and its results that are those
    of the shard_map and of each device. A call that stands at two places has none."""
    found: dict[int, tuple[tuple[Cut | None, ...], tuple[Cut | None, ...]]] = {}

    def walk(j: Any, given: dict[Any, Cut], wanted: dict[Any, Cut]) -> None:
        for e in jx.equations(j):
            if e.primitive.name == "pallas_call":
                ins, outs = [None if jx.is_literal(a) else given.get(a) for a in e.invars], [wanted.get(v) for v in e.outvars]
                for source, target in e.params["input_output_aliases"]:  # one array
                    if ins[source] != outs[target]:
                        ins[source] = outs[target] = None
                none = ((None,) * len(ins), (None,) * len(outs))
                found[id(e)] = none if id(e) in found else (tuple(ins), tuple(outs))
            elif (inner := jx.called(e)) is not None:
                k = jx.open_jaxpr(inner)
                walk(inner, {p: given[a] for p, a in zip(k.invars, e.invars, strict=True) if not jx.is_literal(a) and a in given},
                     {r: wanted[v] for r, v in zip(k.outvars, e.outvars, strict=True) if not jx.is_literal(r) and v in wanted})
            else:
                for inner in jx.inner_jaxprs(e):
                    walk(inner, {}, {})

    body, names = jx.open_jaxpr(eqn.params["jaxpr"]), {name for name, _ in mesh_of(eqn)}
    ends = {v: _cut(spec, len(v.aval.shape)) for v, spec in zip(body.outvars, eqn.params["out_specs"], strict=True) if not jx.is_literal(v)}
    walk(body, {v: _cut(spec, len(v.aval.shape)) for v, spec in zip(body.invars, eqn.params["in_specs"], strict=True)},
         {v: cut for v, cut in ends.items() if {name for along in cut for name in along} == names})
    return found


@functools.lru_cache(maxsize=256)
def on_devices(call: Any, mesh: Mesh, cuts: Any = None) -> Any:
    """The pallas_call on these devices. One that knows nothing of them is the same on each, and stays as it is."""
    if call.primitive.name != "pallas_call" or not any(_names_a_device(e) for e in _equations(call.params["jaxpr"])):
        return call
    return call.replace(params={**call.params, MESH: mesh, CUTS: cuts or ((None,) * len(call.invars), (None,) * len(call.outvars))})


def extents(part: Any, cut: Cut, mesh: Mesh) -> tuple[int, ...]:
    """The shape of the array of which a device has a part of this shape."""
    along = dict(mesh)
    return tuple(int(n) * math.prod(along[name] for name in names) for n, names in zip(part, cut, strict=True))


def laid_out(values: Any, cut: Cut | None, mesh: Mesh) -> np.ndarray:
    """What all devices have, by device in front, as the array that is cut; else by the axes of the mesh in front."""
    shape = np.shape(values)[1:]
    return np.reshape(values, (*sizes(mesh), *shape)) if cut is None else whole(values, cut, mesh, extents(shape, cut, mesh))


def by_device(array: Any, cut: Cut | None, mesh: Mesh) -> np.ndarray:
    """The same back."""
    return np.reshape(array, (count(mesh), *np.shape(array)[len(mesh):])) if cut is None else shards(array, cut, mesh)


def _part(shape: tuple[int, ...], spec: Any, mesh: Mesh, device: int) -> tuple[slice, ...]:
    """Where the shard of a device lies in the whole."""
    at = dict(zip([name for name, _ in mesh], np.unravel_index(device, [n for _, n in mesh]), strict=True))
    sizes, out = dict(mesh), []
    for extent, names in zip(shape, [*spec, *[None] * (len(shape) - len(spec))], strict=True):
        index, n = 0, 1
        for name in (names,) if isinstance(names, str) else names or ():
            index, n = index * sizes[name] + int(at[name]), n * sizes[name]
        out.append(slice(index * (extent // n), (index + 1) * (extent // n)))
    return tuple(out)


def shards(whole: Any, spec: Any, mesh: Mesh) -> np.ndarray:
    """The shards of an array, by device: the first dimension is that of the devices."""
    array = np.asarray(whole)
    return np.stack([array[_part(array.shape, spec, mesh, d)] for d in range(count(mesh))])


def whole(parts: Any, spec: Any, mesh: Mesh, shape: tuple[int, ...]) -> np.ndarray:
    """The array of these shards. Raises AssertionError where devices that have the same part say different things of it,
    but for rounding."""
    from .api import difference

    array = np.asarray(parts)
    out, first = np.zeros(shape, array.dtype), dict[str, int]()
    for d in range(count(mesh)):
        part = _part(shape, spec, mesh, d)
        if (before := first.setdefault(str(part), d)) == d:
            out[part] = array[d]
        elif said := difference([array[d]], [array[before]], None, None):
            raise AssertionError(f"a result that shard_map says is the same on the devices {before} and {d} (out_specs: {spec}): {said.replace('the reference', f'device {before}')}")
    return out


def on_each(fn: Any, mesh: Mesh) -> Any:
    """fn of the values of one device as a function of those of all, by device in front."""
    import jax

    if not mesh:
        return fn
    sizes, each = [n for _, n in mesh], fn
    for name, _ in reversed(mesh):
        each = jax.vmap(each, axis_name=name, axis_size=dict(mesh)[name])

    def run(*values: Any) -> Any:
        results = each(*[jax.numpy.reshape(v, (*sizes, *np.shape(v)[1:])) for v in values])
        return [jax.numpy.reshape(r, (count(mesh), *r.shape[len(sizes):])) for r in results]

    return run
