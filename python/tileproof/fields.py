"""Every field of what JAX says about one pallas_call, and what becomes of it.

A closed list: a field that the importer reads, a field that cannot change what
the kernel computes or which rule it breaks, or a field that must have its
neutral value. One that is not listed is refused: a newer JAX may mean something
by it.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Iterable

from . import devices
from . import jaxpr as jx
from .errors import Unsupported


@dataclasses.dataclass(frozen=True)
class Neutral:
    """No spec says it; any other value than these is refused."""

    values: tuple[Any, ...]
    what: str  # a kernel with another value is …


@dataclasses.dataclass(frozen=True)
class Among:
    """A mapping of which no spec says anything; any other key than these is refused."""

    keys: dict[str, str]  # and what each is about
    what: str


READ = "read"  # by importer.py

PALLAS_CALL: dict[str, Any] = {
    "jaxpr": READ, "grid_mapping": READ, "input_output_aliases": READ, "compiler_params": READ, "name": READ, "name_and_src_info": READ,
    "out_avals": READ,  # must be the arrays of the outputs' blocks
    "mesh": Neutral((None,), "a pallas_call over a mesh"),
    "backend": Neutral((None, "mosaic_tpu", "triton"), "a kernel for another backend"),
    "interpret": "which program executes it",
    "debug": "printing", "cost_estimate": "a hint for XLA's scheduler", "metadata": "words for a profile",
    devices.MESH: READ, devices.CUTS: READ,  # ours
}
GRID_MAPPING: dict[str, Any] = {
    "grid": READ, "vmapped_dims": READ, "block_mappings": READ, "num_index_operands": READ, "num_inputs": READ, "num_outputs": READ,
    "scratch_avals": READ,  # must be the last parameters of the jaxpr
    "grid_names": "reach the body by axis_index alone",
    "index_map_tree": "how the parameters of index maps are nested", "index_map_avals": "the parameters of every index_map_jaxpr",
    "get_grid_indices": Neutral((None,), "a grid with indices of its own"),
    "local_grid_env": Neutral((None,), "a grid with an environment of its own"),
    "debug": "printing",
}
BLOCK_MAPPING: dict[str, Any] = {
    "block_shape": READ, "transformed_block_aval": READ, "index_map_jaxpr": READ, "array_aval": READ, "pipeline_mode": READ,
    "index_map_out_tree": "how the results of the index map are nested", "origin": "its name in messages", "debug": "printing",
    "transforms": Neutral(((), []), "a block behind transforms"),
}
BUFFERED: dict[str, Any] = {
    "buffer_count": READ, "revisit": READ,
    "use_lookahead": Neutral((False,), "a pipeline that looks ahead"),
}
COMPILER_PARAMS: dict[str, Any] = {
    "dimension_semantics": READ, "vmem_limit_bytes": READ,
    "allow_input_fusion": "which producers XLA may compute on the way in", "has_side_effects": "XLA keeps a call that nobody reads",
    "collective_id": "which barrier semaphore the compiler gives it: kernels that communicate in other ways need another one",
    "flags": Among({"XLA_TPU_FORCE_LP_LLO_SCHEDULER": "which scheduler orders the instructions"}, "a kernel with compiler flags of its own"),
    "internal_scratch_in_bytes": Neutral((None,), "a kernel that sets the compiler's share of VMEM"),
    "serialization_format": "how the program is stored", "disable_bounds_checks": "checks at run time, none of the rules",
    "disable_semaphore_checks": "checks at run time, none of the rules", "skip_device_barrier": "when the kernel starts",
    "allow_collective_id_without_custom_barrier": "see collective_id", "shape_invariant_numerics": "the order of sums inside one operation",
    "use_tc_tiling_on_sc": Neutral((None,), "a kernel for SparseCores"), "needs_layout_passes": "how vectors lie in registers",
    "fuse_transposed_lhs_in_matmul": "how vectors lie in registers",
}
TRITON_PARAMS: dict[str, Any] = {
    "num_warps": "how many threads share one program", "num_stages": "how loads are pipelined",
}
EMIT_PIPELINE: dict[str, Any] = {
    "grid_mapping": READ, "body_jaxpr": READ, "body_consts_len": READ, "args_tree": READ,
    "_num_extra_dynamic": "how many of the offsets are operands", "_static_grid_offsets": READ,
    "core_axis": "how the grid was divided, which the offsets say", "core_axis_name": "how the grid was divided, which the offsets say",
    "dimension_semantics": "which axis is divided among cores", "trace_scopes": "names in a profile",
    "tiling": Neutral((None,), "a pipeline for SparseCores"), "no_pipelining": "when copies are waited for",
}
ELEMENT: dict[str, Any] = {"block_size": READ, "padding": READ}
BLOCKED: dict[str, Any] = {"block_size": READ}


def _check(kind: str, table: dict[str, Any], names: Iterable[str], value: Callable[[str], Any], place: str | None) -> None:
    for name in names:
        rule = table.get(name)
        if rule is None:
            raise Unsupported(f"the field `{name}` of {kind}, which this importer does not know (JAX {jx.VERSION})", place)
        if isinstance(rule, Neutral) and not any(_equal(value(name), v) for v in rule.values):
            raise Unsupported(f"{rule.what} ({name} = {value(name)!r})", place)
        if isinstance(rule, Among) and not set(value(name) or {}) <= rule.keys.keys():
            raise Unsupported(f"{rule.what} ({name} = {value(name)!r})", place)


def _equal(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and a == b) or (isinstance(b, dict) and not isinstance(a, bool) and hasattr(a, "items") and dict(a) == b)


def check(kind: str, table: dict[str, Any], record: Any, place: str | None) -> None:
    """Refuse what the table refuses and what it does not list, of a dataclass."""
    _check(kind, table, [f.name for f in dataclasses.fields(record)], lambda n: getattr(record, n), place)


def check_call(eqn: Any, place: str | None) -> None:
    """Refuse a pallas_call equation that says more than the importer reads."""
    p = eqn.params
    _check("pallas_call", PALLAS_CALL, p, p.__getitem__, place)
    if type(p.get("interpret")).__name__ == "InterpretGPUParams":
        raise Unsupported("a kernel for GPUs", place)
    g = p["grid_mapping"]
    check("GridMapping", GRID_MAPPING, g, place)
    for b in g.block_mappings:
        check("BlockMapping", BLOCK_MAPPING, b, place)
    tpu_params(p, place)
    body = jx.open_jaxpr(p["jaxpr"])
    if body.constvars:
        raise Unsupported("a kernel that captures refs or constants; pass them as inputs", place)
    n = g.num_index_operands + g.num_inputs + g.num_outputs
    shapes = [(tuple(v.aval.shape), jx.dtype_name(v.aval)) for v in body.invars[n:]]
    arrays = [(tuple(b.array_aval.shape), jx.dtype_name(b.array_aval)) for b in g.block_mappings[g.num_inputs:]]
    if (len(g.block_mappings) != g.num_inputs + g.num_outputs or len(eqn.invars) != n - g.num_outputs + given_bounds(g)
            or [(tuple(a.shape), jx.dtype_name(a)) for a in g.scratch_avals] != shapes
            or [(tuple(a.shape), jx.dtype_name(a)) for a in p.get("out_avals", [v.aval for v in eqn.outvars])] != arrays):
        raise Unsupported("a pallas_call whose operands, blocks and results do not fit together", place)


def given_bounds(mapping: Any) -> int:
    """How many bounds of the grid are operands of the call. Those of a pipeline that has become the grid (unnested.py) are expressions."""
    return sum(not isinstance(d, (int, jx.np.integer)) and not hasattr(d, "jaxpr") for d in mapping.grid)


def check_pipeline(eqn: Any, place: str | None) -> None:
    """Refuse an emit_pipeline equation that says more than is read."""
    p, mapping = eqn.params, eqn.params["grid_mapping"]
    _check("emit_pipeline", EMIT_PIPELINE, p, p.__getitem__, place)
    check("GridMapping", GRID_MAPPING, mapping, place)
    if mapping.vmapped_dims:
        raise Unsupported("a pipeline under vmap", place)
    for b in mapping.block_mappings:
        check("BlockMapping", BLOCK_MAPPING, b, place)
        if any(any(getattr(d, "padding", ())) for d in b.block_shape):
            raise Unsupported("an Element block with padding in a pipeline, which JAX leaves out, is not supported", place, "begin at the element itself")
        if jx.has_primitive(b.index_map_jaxpr, ("program_id",)):
            raise Unsupported("an index map of a pipeline that asks for a program id", place, "use its parameters; take the program ids of the kernel outside of it")
        if b.pipeline_mode is not None and buffers(b.pipeline_mode, place, ahead=True).get("revisit"):
            raise Unsupported("a window of a pipeline that is revisited", place)


def for_triton(p: dict[str, Any]) -> bool:
    """Is the call for GPUs by way of Triton? Its grid has no order, and what a mask leaves out is not touched."""
    params = p.get("compiler_params")
    if isinstance(params, dict) and params:
        return set(params) == {"triton"}
    return p.get("backend") == "triton" or type(params).__module__.startswith("jax._src.pallas.triton.")


def tpu_params(p: dict[str, Any], place: str | None = None) -> Any:
    """The compiler parameters for TPUs; None: there are none."""
    params = p.get("compiler_params")
    if for_triton(p):
        if not isinstance(params, dict) and params is not None:
            check("CompilerParams", TRITON_PARAMS, params, place)
        return None
    if isinstance(params, dict):
        others = set(params) - {"mosaic_tpu", "mosaic"}
        if others:
            raise Unsupported(f"compiler parameters for {', '.join(sorted(map(str, others)))}", place)
        params = params.get("mosaic_tpu", params.get("mosaic"))
    if params is None:
        return None
    if not type(params).__module__.startswith("jax._src.pallas.mosaic."):
        raise Unsupported(f"compiler parameters of {type(params).__module__}: the kernel is for another chip", place)
    check("CompilerParams", COMPILER_PARAMS, params, place)
    return params


def compiler_param(p: dict[str, Any], key: str) -> Any:
    """The field of the call's compiler_params; None: it has none."""
    return getattr(tpu_params(p), key, None)


def check_buffers(eqn: Any) -> None:
    """The compiler's own pipeline has one or two buffers of a block; more belong to emit_pipeline."""
    for block in eqn.params["grid_mapping"].block_mappings:
        mode = block.pipeline_mode
        if type(mode).__name__ == "Buffered" and mode.buffer_count > 2 and not mode.use_lookahead:
            raise Unsupported(f"{mode.buffer_count} buffers of a block of a pallas_call, which TPU lowering refuses", jx.where(eqn), "give it one or two; emit_pipeline takes more")


def buffers(mode: Any, place: str | None, ahead: bool = False) -> dict[str, Any]:
    """pl.Buffered as fields of an operand. `ahead`: may a block be fetched as soon as a buffer is free?"""
    if type(mode).__name__ != "Buffered":
        raise Unsupported(f"a block with the pipeline mode {type(mode).__name__}", place)
    check("Buffered", BUFFERED | ({"use_lookahead": "when a block is fetched"} if ahead else {}), mode, place)
    out: dict[str, Any] = {"buffers": int(mode.buffer_count)}
    revisit = jx.word(mode.revisit)
    if revisit == "any":
        out["revisit"] = "any"
    elif revisit not in ("none", "immediate"):
        raise Unsupported(f"the revisit mode {revisit}", place)
    return out
