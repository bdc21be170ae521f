"""`pltpu.emit_pipeline` as one equation of a kernel, as JAX's own primitive has it.

By default JAX traces a pipeline as the loop that moves its windows: buffers,
semaphores, a branch for each of them in each step. With a flag of its own it binds
`emit_pipeline_p`, whose lowering makes that same loop: the body as a jaxpr, the
grid and the BlockSpecs as a GridMapping. kept() traces with that flag, which is
part of the keys of JAX's caches: what is traced here is never run by others.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
from typing import Any, Iterator

try:
    from jax._src.pallas.mosaic import pipeline as emitter
except ImportError:  # a JAX without Mosaic has no pipelines
    emitter = None


class _Config:
    """JAX's configuration as pipeline.py reads it: the flag is its own."""

    def __init__(self, real: Any) -> None:
        self.real, self.use_emit_pipeline_primitive = real, _Flag()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class _Flag:
    value = False


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """While this holds, what is traced keeps its pipelines as equations. A JAX that has no such primitive traces as it does."""
    flag = getattr(getattr(emitter, "config", None), "use_emit_pipeline_primitive", None)
    if flag is None or not hasattr(emitter, "_emit_pipeline") or isinstance(emitter.config, _Config):
        yield
        return
    config, spelled_out = emitter.config, emitter._emit_pipeline
    own = _Config(config)

    def one_equation(body: Any, **how: Any) -> Any:
        """JAX's function behind emit_pipeline(), which knows `scratches` and `allocations`; the primitive takes the refs alone."""
        def pipeline(*refs: Any, scratches: Any = None, **more: Any) -> Any:
            if not flag.value or any(v is not None for v in more.values()) or how.get("_explicit_indices"):
                return spelled_out(body, **how)(*refs, scratches=scratches, **more)
            own.use_emit_pipeline_primitive.value = True
            try:
                bound = emitter.emit_pipeline(_with_scratches(body, len(refs), scratches or ()), **how)
            finally:
                own.use_emit_pipeline_primitive.value = False
            try:
                bound(*refs)  # returns an empty list, where JAX returns nothing
            except Exception:  # noqa: BLE001  what the primitive does not take; a mistake of the caller is one there, too
                return spelled_out(body, **how)(*refs, scratches=scratches)
            return None
        return pipeline

    emitter.config, emitter._emit_pipeline = own, one_equation
    try:
        with flag(True):
            yield
    finally:
        emitter.config, emitter._emit_pipeline = config, spelled_out


def _with_scratches(body: Any, windows: int, scratches: Any) -> Any:
    """The body as a function of its windows, which JAX traces under its name and theirs."""
    def step(*given: Any) -> Any:
        return body(*given, *scratches)

    inner = body
    while isinstance(inner, functools.partial):
        inner = inner.func
    if hasattr(inner, "__code__"):
        step.__wrapped__ = inner  # type: ignore[attr-defined]
    with contextlib.suppress(TypeError, ValueError):  # a callable that does not say
        first = [p.replace(default=p.empty) for p in inspect.signature(body).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:windows]
        if len(first) == windows:
            step.__signature__ = inspect.Signature(first)  # type: ignore[attr-defined]
    return step


@dataclasses.dataclass(frozen=True)
class Pipeline:
    """What one `emit_pipeline` equation says. Atoms are those of the jaxpr that it stands in."""

    grid: tuple[Any, ...]  # integers, or atoms that say how many steps there are
    blocks: list[Any]  # BlockMappings, of inputs and outputs
    captured: list[list[Any]]  # by block: the atoms that its index map reads, constvars of its jaxpr
    refs: list[Any]  # by block: the array; a view of it has `ref` and `transforms`
    inputs: int  # how many of the blocks are inputs
    body: Any  # the jaxpr of one step: its parameters are the windows
    consts: list[Any]  # the atoms that its constvars stand for
    offsets: tuple[Any, ...]  # by axis: what is added to its index, an integer or an atom

    @property
    def outputs(self) -> list[int]:
        return list(range(self.inputs, len(self.blocks)))


def is_pipeline(eqn: Any) -> bool:
    """Is the equation a pltpu.emit_pipeline?"""
    return eqn.primitive.name == "emit_pipeline"


def read(eqn: Any) -> Pipeline:
    """The parts of the equation, operands in the order in which JAX binds them."""
    p, mapping, atoms = eqn.params, eqn.params["grid_mapping"], iter(eqn.invars)

    def take(n: int) -> list[Any]:
        return [next(atoms) for _ in range(n)]

    captured = [take(len(b.index_map_jaxpr.jaxpr.constvars)) for b in mapping.block_mappings]
    grid = tuple(d if isinstance(d, int) else next(atoms) for d in mapping.grid)
    offsets = tuple(d if isinstance(d, int) else next(atoms) for d in p["_static_grid_offsets"])
    consts = take(p["body_consts_len"])
    args = p["args_tree"].unflatten([_Atom(a) for a in atoms])
    refs, _ = emitter.tracing_registry.flatten(args, emitter.is_transformed_ref)
    return Pipeline(grid, list(mapping.block_mappings), captured, refs, mapping.num_inputs, p["body_jaxpr"], consts, offsets)


def spelled_out(eqn: Any, near: Any) -> Any:
    """The jaxpr of the loop that JAX makes of the equation, over the same operands: copies that run ahead, their semaphores, slots that change. Each
    of its steps is one `pipeline_body` equation. `near`: a mesh for which it is traced. Raises what JAX raises."""
    from jax._src import api_util, linear_util, source_info_util
    from jax._src.interpreters import partial_eval

    p, mapping = eqn.params, eqn.params["grid_mapping"]
    counts = [len(b.index_map_jaxpr.jaxpr.constvars) for b in mapping.block_mappings]
    how = {key: p[key] for key in ("tiling", "core_axis", "core_axis_name", "dimension_semantics", "trace_scopes", "no_pipelining")}

    def loop(*operands: Any) -> tuple[()]:
        given = iter(operands)
        captured = [[next(given) for _ in range(n)] for n in counts]
        grid = tuple(d if isinstance(d, int) else next(given) for d in mapping.grid)
        offsets = tuple(d if isinstance(d, int) else next(given) for d in p["_static_grid_offsets"])
        consts = [next(given) for _ in range(p["body_consts_len"])]
        refs, _ = emitter.tracing_registry.flatten(p["args_tree"].unflatten(list(given)), emitter.is_transformed_ref)
        specs = [b.replace(index_map_jaxpr=type(b.index_map_jaxpr)(b.index_map_jaxpr.jaxpr, c)).to_block_spec() for b, c in zip(mapping.block_mappings, captured, strict=True)]

        def step(indices: Any, *windows: Any) -> Any:
            flat, tree = emitter.tracing_registry.flatten((indices, consts, windows))
            return emitter.pipeline_body_p.bind(*flat, jaxpr=p["body_jaxpr"], in_tree=tree, num_inputs=mapping.num_inputs)

        run = emitter._emit_pipeline(step, grid=grid, in_specs=specs[:mapping.num_inputs], out_specs=specs[mapping.num_inputs:], _grid_offsets=offsets, _explicit_indices=True, **how)
        with emitter.pallas_core.tracing_grid_env(mapping.grid, ()):
            run(*refs)
        return ()

    avals = [a.aval for a in eqn.invars]
    made = linear_util.wrap_init(loop, debug_info=api_util.debug_info("emit_pipeline", loop, avals, {}))
    with near, source_info_util.user_context(eqn.source_info.traceback):
        return partial_eval.trace_to_jaxpr_dynamic(made, avals)[0]


def step_of(eqn: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Of a `pipeline_body` equation: the indices of the step, what its body captures, and its windows, views of buffers."""
    indices, consts, windows = eqn.params["in_tree"].unflatten([_Atom(a) for a in eqn.invars])
    return list(indices), list(consts), list(windows)


class _Atom:
    """An operand in the place where a view has it."""

    def __init__(self, atom: Any) -> None:
        self.atom = atom


def is_trivial(pipeline: Pipeline, n: int) -> bool:
    """Is the n-th window all of its array, by an index map that no axis changes? JAX copies it once, by one buffer, whatever the map says."""
    block = pipeline.blocks[n]
    j = block.index_map_jaxpr.jaxpr
    moving = {v for v, d in zip(j.invars, pipeline.grid, strict=True) if d != 1}
    whole = all(type(b).__name__ == "Blocked" and b.block_size == d for b, d in zip(block.block_shape, block.array_aval.shape, strict=True))
    if not whole or not moving:
        return whole
    used = [*j.outvars, *(a for e in j.eqns for a in e.invars)]
    return not any(v in moving for v in used if not hasattr(v, "val")) and not any(hasattr(v.aval, "inner_aval") for v in j.constvars)


def is_at_zero(pipeline: Pipeline, n: int) -> bool:
    """Does the index map of the n-th window say 0, as it stands?"""
    j = pipeline.blocks[n].index_map_jaxpr.jaxpr
    still = {v for v, d in zip(j.invars, pipeline.grid, strict=True) if d == 1}
    return all(a.val == 0 if hasattr(a, "val") else a in still for a in j.outvars)


def changes(pipeline: Pipeline, n: int) -> tuple[int, bool]:
    """The last axis that the index map of the n-th window reads (-1: none), and whether its block is another one in each turn of the loop over that axis."""
    if is_trivial(pipeline, n):
        return -1, True
    j = pipeline.blocks[n].index_map_jaxpr.jaxpr
    made = {v: e for e in j.eqns for v in e.outvars}
    moving = [k for k, d in enumerate(pipeline.grid) if d != 1]
    needs = {k for k in moving for v in [j.invars[k]] if any(v is a for a in [*j.outvars, *(a for e in j.eqns for a in e.invars)])}
    last = max(needs, default=-1)
    if any(hasattr(v.aval, "inner_aval") for v in j.constvars) and moving:
        last = moving[-1] if not needs else last

    before = [k for k in moving if k <= last]
    named = {k for k in before if any(_stride(out, k, j, made) for out in j.outvars)}
    return last, last in named and (isinstance(pipeline.grid[last], int) or named == set(before)) or last == -1


def _stride(atom: Any, axis: int, j: Any, made: dict[Any, Any]) -> int:
    """k where the atom is k times the axis plus something that no axis changes; 0: it is not that, or k is not known."""
    if atom is j.invars[axis]:
        return 1
    eqn = made.get(atom) if not hasattr(atom, "val") else None
    if eqn is None or eqn.primitive.name not in ("add", "sub", "mul", "multiple_of"):
        return 0
    found = [_stride(a, axis, j, made) for a in eqn.invars]
    others = [a for a, k in zip(eqn.invars, found, strict=True) if not k]
    if len(others) != len(found) - 1 or any(not hasattr(a, "val") and all(a is not c for c in j.constvars) for a in others):
        return 0
    if eqn.primitive.name != "mul":
        return max(found)
    return max(found) * abs(int(others[0].val)) if hasattr(others[0], "val") else 0


def in_step(pipeline: Pipeline, a: int, b: int) -> bool:
    """Have two windows of one array the same block in each step, and another one in each, so that no step reads what another one writes?"""
    first, second = pipeline.blocks[a], pipeline.blocks[b]
    j = first.index_map_jaxpr.jaxpr
    alike = (str(j) == str(second.index_map_jaxpr.jaxpr) and str(first.block_shape) == str(second.block_shape)
             and all(x is y for x, y in zip(pipeline.captured[a], pipeline.captured[b], strict=True)))
    made = {v: e for e in j.eqns for v in e.outvars}
    starts = [getattr(x, "start", x) for x in first.index_map_out_tree.unflatten(j.outvars)]
    sizes = [int(d.block_size) if type(d).__name__ in ("BoundedSlice", "Element") else 1 for d in first.block_shape]
    moved = [None if isinstance(s, int) else {k for k in range(len(pipeline.grid)) if _stride(s, k, j, made) >= n} for s, n in zip(starts, sizes, strict=True)]
    return alike and all(n == 1 or any(k in axes for axes in moved if axes) for k, n in enumerate(pipeline.grid))


def buffered(count: int) -> Any:
    """So many buffers."""
    return emitter.pallas_core.Buffered(count)
