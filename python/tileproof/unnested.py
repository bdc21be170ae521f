"""A kernel that is a pipeline, as the kernel without it.

Where all that a kernel does is one `emit_pipeline`, the same windows are those of a
pallas_call whose grid has the axes of the pipeline behind its own. JAX moves them
alike: an input comes in where its block changes, an output starts undefined and goes
out where its block changes, scratch stays as it is. What differs is the last step of
the pipeline, which sends every output out, and the first one, which has new windows:
it is the same where the call has one step, where its axes are parallel, since their
windows and scratch start anew, too, and where another step of the call has other blocks.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from . import devices, fields, pipelines
from . import jaxpr as jx
from . import rewriting as rw
from .pipelines import Pipeline


@dataclasses.dataclass
class Kernel:
    """A body that is a pipeline: what is computed before it, and the scopes around it."""

    before: list[Any]
    scoped: list[Any]  # variables of run_scoped
    names: list[str]
    pipeline: Pipeline


TABLES = ("int8", "int16", "int32", "uint8", "uint16", "bool")


def prefetched(eqn: Any, operands: list[Any] | None) -> tuple[Any, list[int]]:
    """The pallas_call equation with whole arrays of integers in SMEM, which the kernel only reads, as tables: where it is known what they hold
    (`operands`), and of a kernel with pipelines, whose bounds and index maps may read them. And which operand of the given equation each of its
    operands is: tables come first."""
    p, mapping, as_is = eqn.params, eqn.params.get("grid_mapping"), list(range(len(eqn.invars)))
    if mapping is None or devices.around(eqn):
        return eqn, as_is
    first, n_in, body, written = mapping.num_index_operands, mapping.num_inputs, jx.open_jaxpr(p["jaxpr"]), jx.written_refs(p["jaxpr"])
    aliased = {source for source, _ in p["input_output_aliases"]}
    bounds, has_pipelines = len(eqn.invars) - first - n_in, any(pipelines.is_pipeline(e) for e in rw.every_equation(p["jaxpr"]))
    known = [has_pipelines or (operands is not None and operands[bounds + first + n] is not None) for n in range(n_in)]
    more = [n for n, b in enumerate(mapping.block_mappings[:n_in]) if known[n] and first + n not in written | aliased and _is_table(b) and not (mapping.grid and _is_scalar(b))]
    if not more:
        return eqn, as_is
    inputs = [*more, *(n for n in range(n_in) if n not in more)]
    refs = [*range(first), *(first + n for n in inputs), *range(first + n_in, len(body.invars))]
    blocks = [b.replace(index_map_jaxpr=rw.closed(b.index_map_jaxpr.jaxpr.replace(invars=[*b.index_map_jaxpr.jaxpr.invars, *(body.invars[first + n] for n in more)])))
              for b in (mapping.block_mappings[n] for n in [*inputs[len(more):], *range(n_in, len(mapping.block_mappings))])]
    longer = dataclasses.replace(mapping, num_index_operands=first + len(more), num_inputs=n_in - len(more), block_mappings=tuple(blocks))
    names = [*jx.argument_names(body), *[""] * len(body.invars)][:len(body.invars)]
    moved = rw.made(body, [body.invars[n] for n in refs], body.eqns, body.outvars, _moved(body, refs), [names[n] for n in refs])
    order = [*range(bounds), *(bounds + n for n in refs[:first + n_in])]
    aliases = tuple((refs.index(source), target) for source, target in p["input_output_aliases"])
    return eqn.replace(invars=[eqn.invars[n] for n in order], params=p | {"grid_mapping": longer, "jaxpr": moved, "input_output_aliases": aliases}), order


def _moved(body: Any, refs: list[int]) -> Any:
    """The effects of the body, of which parameter n is refs[n] of those that it had."""
    return frozenset(e.replace(input_index=refs.index(e.input_index)) if isinstance(getattr(e, "input_index", None), int) else e for e in body.effects)


def _is_table(block: Any) -> bool:
    """Is it all of a small array of integers in SMEM?"""
    whole = [getattr(d, "block_size", None) for d in block.block_shape] == list(block.array_aval.shape)
    fixed = all(jx.is_literal(a) and a.val == 0 for a in block.index_map_jaxpr.jaxpr.outvars)
    return whole and fixed and jx.memory_space(block.block_aval) == "smem" and jx.dtype_name(block.array_aval) in TABLES and len(block.array_aval.shape) <= 3


def _is_scalar(block: Any) -> bool:
    """Is it a scalar in SMEM? The compiler takes one without a grid, or prefetched, and no window of a grid that is one (TP201)."""
    return not block.array_aval.shape and jx.memory_space(block.block_aval) == "smem"


def unnested(eqn: Any) -> Any:
    """The pallas_call equation without its pipeline; None: the kernel is not one, or not alike.

    Raises Unsupported for a pipeline that says more than is read.
    """
    p, mapping = eqn.params, eqn.params.get("grid_mapping")
    if mapping is None or not any(pipelines.is_pipeline(e) for e in rw.every_equation(p["jaxpr"])):
        return None
    if not mapping.grid and any(map(_is_scalar, mapping.block_mappings)):
        return None  # with a grid it would be another operand
    body = jx.open_jaxpr(p["jaxpr"])
    operands, written = body.invars[mapping.num_index_operands:], jx.written_refs(p["jaxpr"])
    kernel = _kernel(body, {v for n, v in enumerate(body.invars[:mapping.num_index_operands]) if n not in written})
    if kernel is None or not _fits(kernel.pipeline) or any(kernel.pipeline.offsets):
        return None
    if p["input_output_aliases"] and any(getattr(b.pipeline_mode, "use_lookahead", False) for b in kernel.pipeline.blocks):
        return None  # what is fetched that far ahead an alias may have changed
    at = _windowed(kernel.pipeline, operands, mapping)
    if at is None or not _starts_anew(kernel, p, mapping):
        return None
    for source, target in p["input_output_aliases"]:
        if (source - mapping.num_index_operands in at) != (mapping.num_inputs + target in at):
            return None  # windows of an array that the body changes by its other name
    return _written(eqn, body, kernel, at)


def _kernel(body: Any, tables: set[Any]) -> Kernel | None:
    """What the body is, where it is a pipeline and what is known before its first step."""
    before: list[Any] = []
    scoped: list[Any] = []
    names: list[str] = []
    meant: dict[Any, Any] = {}
    while True:
        acts = [n for n, e in enumerate(body.eqns) if not _is_known(e, meant, tables)]
        if len(acts) != 1 or any(not jx.is_literal(a) for a in body.outvars):
            return None
        eqns = [rw.renamed(e, meant) for e in body.eqns]
        before += eqns[:acts[0]]
        eqn = eqns[acts[0]]
        if pipelines.is_pipeline(eqn):
            fields.check_pipeline(eqn, jx.where(eqn))
            return Kernel(before, scoped, names, pipelines.read(eqn))
        if eqn.primitive.name != "run_scoped" or eqn.outvars:
            return None
        body = jx.open_jaxpr(eqn.params["jaxpr"])
        meant |= dict(zip(body.constvars, eqn.invars, strict=True))
        scoped += body.invars
        names += [*jx.argument_names(body), *[""] * len(body.invars)][:len(body.invars)]


def _is_known(eqn: Any, meant: dict[Any, Any], tables: set[Any]) -> bool:
    """Is it the same in every step of the pipeline? A table is that the kernel does not write."""
    return not eqn.effects or (eqn.primitive.name == "get" and meant.get(eqn.invars[0], eqn.invars[0]) in tables)


def _fits(pipeline: Pipeline) -> bool:
    """Do its last blocks end where JAX lets them? The body's writer says why not."""
    for b in pipeline.blocks:
        sizes = [getattr(d, "block_size", 1) for d in b.block_shape]
        if any(n % s and s % tile for s, n, tile in zip(sizes, b.array_aval.shape, jx.tiles_of(b.array_aval), strict=True)):
            return False
    return True


def _windowed(pipeline: Pipeline, operands: list[Any], mapping: Any) -> list[int] | None:
    """By block of the pipeline: which operand of the call it is a window of, each of them once."""
    at: list[int] = []
    inside = pipeline.consts + [a for atoms in pipeline.captured for a in atoms]
    for n, ref in enumerate(pipeline.refs):
        array, transforms = jx.ref_and_transforms(ref)
        found = [k for k, var in enumerate(operands) if var is array.atom]
        if not found or any(a is array.atom for a in inside) or jx.memory_space(array.atom.aval) not in ("any", "hbm"):
            return None
        if (found[0] < mapping.num_inputs) != (n < pipeline.inputs) or found[0] >= mapping.num_inputs + mapping.num_outputs:
            return None
        if len(transforms) > 1 or any(_picked(t) is None for t in transforms) or mapping.block_mappings[found[0]].array_aval.shape != array.atom.aval.shape:
            return None
        if pipelines.is_trivial(pipeline, n) and not pipelines.is_at_zero(pipeline, n):
            return None
        at += found
    return at if len(set(at)) == len(at) else None


def _picked(view: Any) -> list[Any] | None:
    """By dimension of the array: the atom that picks one index of it; None where all are left. None for another view."""
    if jx.view_kind(view) != "indexer" or view.int_indexer_shape:
        return None
    picked: list[Any] = []
    for i, n in zip(view.indices, view.shape, strict=True):
        if type(i).__name__ != "Slice":
            picked.append(getattr(i, "atom", None))
            if picked[-1] is None:
                return None
        elif isinstance(i.start, int) and (i.start, i.size, i.stride) == (0, n, 1):
            picked.append(None)
        else:
            return None
    return picked


def _around(of_view: Any, of_block: Any, picked: list[Any]) -> list[Any]:
    """One entry for each dimension of the array: of what the view picks, in order of the others of what the block has."""
    rest = iter(of_block)
    return [of_view(a) if a is not None else next(rest) for a in picked]


def _starts_anew(kernel: Kernel, p: dict[str, Any], mapping: Any) -> bool:
    """Does nothing that a step of the call left in a window or in a scope reach another one?"""
    declared = fields.compiler_param(p, "dimension_semantics")
    own = [a for a in range(len(mapping.grid)) if a not in mapping.vmapped_dims]
    kept = [n for n, a in enumerate(own) if mapping.grid[a] != 1 and (declared is None or n >= len(declared) or "parallel" not in jx.word(declared[n]))]
    if not kept:
        return True
    moving = [n for n, a in enumerate(own) if mapping.grid[a] != 1][-1]
    if not isinstance(mapping.grid[own[moving]], int):
        return False
    if moving not in kept:
        return True
    if kernel.scoped:
        return False
    ids = {e.outvars[0] for e in kernel.before if e.primitive.name == "program_id" and e.params["axis"] == moving}
    return all(any(a in ids for a in _index(kernel.pipeline, n, len(own))[1] if not jx.is_literal(a)) for n in kernel.pipeline.outputs)


def _index(pipeline: Pipeline, n: int, outer: int) -> tuple[list[Any], list[Any]]:
    """What the index map of the n-th block computes by atoms around the pipeline, behind so many axes, and its results: with what a view picks."""
    j = rw.shifted(pipeline.blocks[n].index_map_jaxpr.jaxpr, outer)
    names = dict(zip(j.constvars, pipeline.captured[n], strict=True))
    results = [rw.meant(a, names) for a in j.outvars]
    return [rw.renamed(e, names) for e in j.eqns], _around(lambda a: a, results, _view(pipeline, n))


def _view(pipeline: Pipeline, n: int) -> list[Any]:
    """_picked() of the n-th array, whether it is a view or not."""
    array, transforms = jx.ref_and_transforms(pipeline.refs[n])
    return _picked(transforms[0]) or [] if transforms else [None] * len(array.atom.aval.shape)


def _written(eqn: Any, body: Any, kernel: Kernel, at: list[int]) -> Any:
    """The equation with a longer grid, the windows of the pipeline, and its body."""
    p, mapping, pipeline = eqn.params, eqn.params["grid_mapping"], kernel.pipeline
    tables = body.invars[:mapping.num_index_operands]
    blocks, params, outer = list(mapping.block_mappings), list(body.invars), len(mapping.grid) - len(mapping.vmapped_dims)
    axes = [*_axes(mapping.block_mappings[0], len(mapping.grid))]
    inner = [*_axes(pipeline.blocks[0], len(pipeline.grid))]
    for n, block in enumerate(blocks):
        j = block.index_map_jaxpr.jaxpr
        own = len(mapping.grid)
        blocks[n] = block.replace(index_map_jaxpr=rw.closed(j.replace(invars=[*j.invars[:own], *inner, *j.invars[own:]])))
    for n, k in enumerate(at):
        j = pipeline.blocks[n].index_map_jaxpr.jaxpr
        eqns, results = _index(pipeline, n, outer)
        lifted = rw.made(j, [*axes, *j.invars, *tables], rw.needed([*kernel.before, *eqns], results), results)
        shape = _around(lambda _: None, pipeline.blocks[n].block_shape, _view(pipeline, n))
        blocks[k] = dataclasses.replace(pipeline.blocks[n], block_shape=tuple(shape), array_aval=blocks[k].array_aval, index_map_jaxpr=rw.closed(lifted),
                                        pipeline_mode=_buffers(pipeline, n))
        params[len(tables) + k] = pipeline.body.invars[n]
    grid = [d if isinstance(d, int) else rw.closed(rw.made(body, [*axes, *inner, *tables], rw.needed(kernel.before, [d]), [d])) for d in pipeline.grid]
    steps = rw.shifted(pipeline.body, outer)
    meant = dict(zip(steps.constvars, pipeline.consts, strict=True))
    eqns = [*kernel.before, *(rw.renamed(e, meant) for e in steps.eqns)]
    names = [*jx.argument_names(body), *[""] * len(body.invars)][:len(body.invars)] + kernel.names
    whole = rw.made(body, [*params, *kernel.scoped], eqns, [], rw.renamed_effects(steps.effects, meant), names)
    longer = dataclasses.replace(mapping, grid=(*mapping.grid, *grid), block_mappings=tuple(blocks), grid_names=None,
                                 scratch_avals=(*mapping.scratch_avals, *(v.aval for v in kernel.scoped)))
    return eqn.replace(params=p | {"jaxpr": whole, "grid_mapping": longer, "compiler_params": _semantics(p, len(grid))})


def _axes(block: Any, n: int) -> list[Any]:
    return block.index_map_jaxpr.jaxpr.invars[:n]


def _buffers(pipeline: Pipeline, n: int) -> Any:
    """How many buffers the window has: one where it never moves. How far ahead they are filled is seen by aliases alone."""
    block = pipeline.blocks[n]
    if pipelines.is_trivial(pipeline, n):
        return pipelines.buffered(1)
    return block.pipeline_mode and pipelines.buffered(block.pipeline_mode.buffer_count)


def _semantics(p: dict[str, Any], more: int) -> Any:
    """The compiler's parameters; the axes of a pipeline are sequential on its core."""
    params, tpu = p["compiler_params"], fields.tpu_params(p)
    declared = getattr(tpu, "dimension_semantics", None)
    if declared is None:
        return params
    longer = dataclasses.replace(tpu, dimension_semantics=(*declared, *["arbitrary"] * more))
    return {key: longer for key in params} if isinstance(params, dict) else longer
