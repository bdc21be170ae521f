"""Parameters of the primitives that a body may hold: a closed list, as
fields.py is for the call. A parameter that is not on it is refused."""

from __future__ import annotations

from typing import Any

from .. import jaxpr as jx
from ..errors import Unsupported

# How exactly, where, or in which order something is done: not what.
NEUTRAL = {"accuracy", "precision", "sharding", "out_sharding", "unroll", "weak_type", "cache_modifier", "eviction_policy", "is_volatile",
           "indices_are_sorted", "unique_indices", "_split_transpose", "collective_axes"}
READ: dict[str, set[str]] = {
    "argmax": {"axes", "index_dtype"}, "argmin": {"axes", "index_dtype"}, "bitcast_convert_type": {"new_dtype"}, "bitcast": {"ty"},
    "broadcast_in_dim": {"shape", "broadcast_dimensions"}, "broadcast_to": {"shape"}, "concatenate": {"dimension"}, "stack": {"axis"},
    "convert_element_type": {"new_dtype"}, "cumsum": {"axis", "reverse"}, "cumprod": {"axis", "reverse"}, "cummax": {"axis", "reverse"},
    "cummin": {"axis", "reverse"}, "dot_general": {"dimension_numbers", "preferred_element_type"}, "dynamic_slice": {"slice_sizes"},
    "expand_dims": {"dimensions"}, "gather": {"dimension_numbers", "slice_sizes", "mode", "fill_value"}, "integer_pow": {"y"},
    "iota": {"dtype", "shape", "dimension"}, "mul": {"out_dtype"}, "pad": {"padding_config"}, "program_id": {"axis"}, "num_programs": {"axis"},
    "reduce_and": {"axes"}, "reduce_max": {"axes"}, "reduce_min": {"axes"}, "reduce_or": {"axes"}, "reduce_prod": {"axes"},
    "reduce_sum": {"axes"}, "repeat": {"axis", "repeats"}, "reshape": {"new_sizes", "dimensions"}, "rev": {"dimensions"},
    "roll": {"axis", "stride", "stride_axis"}, "round": {"rounding_method"}, "slice": {"start_indices", "limit_indices", "strides"},
    "split": {"axis", "sizes"}, "squeeze": {"dimensions"}, "tile": {"reps"}, "transpose": {"permutation"}, "multiple_of": {"values"},
    "reciprocal": {"approx", "full_range"}, "reduce_precision": {"exponent_bits", "mantissa_bits"},
    "reduce": {"computation", "jaxpr", "consts", "dimensions"}, "unstack": {"axis"}, "platform_index": {"platforms"},
    "pack_elementwise": {"packed_dtype"}, "unpack_elementwise": {"index", "packed_dtype", "unpacked_dtype"},
    "run_scoped": {"jaxpr", "ref_transforms"}, "dma_start": {"tree", "add", "device_id_type", "priority"}, "dma_wait": {"tree", "device_id_type", "insert_dummy_device"},
    "axis_index": {"axis_name"}, "get_barrier_semaphore": set(),
    "semaphore_signal": {"args_tree", "device_id_type"}, "semaphore_wait": {"args_tree"},
    "cond": {"branches", "branches_platforms"}, "scan": {"jaxpr", "length", "num_carry", "num_consts", "reverse"},
    "while": {"body_jaxpr", "body_nconsts", "cond_jaxpr", "cond_nconsts"},
    "top_k": {"axis", "k"}, "sort": {"dimension", "is_stable", "num_keys"},  # of references
    "scatter": {"dimension_numbers", "mode", "update_consts", "update_jaxpr"}, "scatter_add": {"dimension_numbers", "mode", "update_consts", "update_jaxpr"},
    "prng_random_bits": {"shape"}, "get": {"tree"}, "swap": {"tree"}, "addupdate": {"tree"}, "masked_load": {"args_tree"}, "masked_swap": {"args_tree"},
}
# Refused by name; printing; primitives that another jaxpr defines, which is read in their place; on a list of its own in fields.py.
FREE = {"pallas_call", "debug_print", "debug_callback", "check", "threefry2x32", "pvary", "optimization_barrier", "emit_pipeline", "pipeline_body"}


def check(eqn: Any, place: str | None) -> None:
    """Refuse a parameter that nobody reads, and values that are not expressed."""
    name = eqn.primitive.name
    if name in FREE or name in jx.CALLS:
        return
    unknown = set(eqn.params) - READ.get(name.replace("-", "_"), set()) - NEUTRAL
    if unknown:
        raise Unsupported(f"the parameter `{min(unknown)}` of the primitive `{name}`, which this importer does not know (JAX {jx.VERSION})", place)
    if name == "run_scoped" and eqn.params["collective_axes"]:
        raise Unsupported("a buffer that cores share is not supported", place)
    if name == "run_scoped" and any(eqn.params.get("ref_transforms", ())):
        raise Unsupported("run_scoped of a transformed ref is not supported", place, "allocate the whole buffer, and index it")
    if name == "mul" and eqn.params.get("out_dtype") is not None and jx.dtype_name(eqn.invars[0].aval) != jx.dtype_name(eqn.outvars[0].aval):
        raise Unsupported("a product of another dtype than its factors", place)
