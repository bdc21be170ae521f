"""Primitives that are refused, in the words in which they are written in a
kernel, and what to write instead."""

from __future__ import annotations

from typing import Any

from . import jaxpr as jx
from .errors import Unsupported

RANDOM = "pass the random bits as an input"
SORT = "Mosaic lowers no sort: sort outside of the kernel, or keep a running maximum and `argmax`"
SEMAPHORE = "blocks that a BlockSpec brings in and out need none"
SCATTER = "Mosaic lowers no scatter: store through the ref, `ref[i] = v`, or select lanes, `jnp.where(iota == i, v, x)`"

WORDS: dict[str, tuple[str, str]] = {
    "semaphore_read": ("semaphore_read", SEMAPHORE),
    "device_id": ("the id of the device", "pass it as a prefetched scalar"),
    "random_bits": ("jax.random", RANDOM),
    "random_seed": ("jax.random", RANDOM), "random_wrap": ("jax.random", RANDOM), "random_unwrap": ("jax.random", RANDOM),
    "random_fold_in": ("jax.random", RANDOM), "prng_split": ("jax.random", RANDOM), "prng_join": ("jax.random", RANDOM),
    "stochastic_round": ("stochastic_round", "cast with `.astype`, or pass the random bits as an input"),
    "sort": ("sort", SORT), "top_k": ("top_k", SORT), "approx_top_k": ("approx_top_k", SORT),
    "scatter": ("scatter (`x.at[i].set(v)` of a value)", SCATTER), "scatter_add": ("scatter (`x.at[i].add(v)` of a value)", SCATTER),
    "scatter_mul": ("scatter (`x.at[i].multiply(v)` of a value)", SCATTER), "scatter_min": ("scatter (`x.at[i].min(v)` of a value)", SCATTER),
    "scatter_max": ("scatter (`x.at[i].max(v)` of a value)", SCATTER),
    "reduce": ("lax.reduce with a function of its own", "use jnp.sum, max, min, prod, any or all"),
    "empty_ref": ("a ref made in the body", "declare it in scratch_shapes"),
    "while": ("while", ""), "conv_general_dilated": ("a convolution", "write it as a sum of `jnp.dot` of shifted blocks"),
    "fft": ("fft", "write it as `jnp.dot` with a matrix of roots of unity that is an input"),
    "atan2": ("atan2", "compute it outside of the kernel"),
    "pallas_call": ("a pallas_call inside a kernel", "call it outside, or write its body here"),
    "core_map": ("core_map", "write it as a pallas_call"), "mpmd_map": ("mpmd_map", "write it as a pallas_call"),
    "matmul_push_rhs": ("the explicit matrix unit", "use jnp.dot"), "matmul_acc_lhs": ("the explicit matrix unit", "use jnp.dot"),
    "matmul_pop": ("the explicit matrix unit", "use jnp.dot"),
}

# kernels that are no pallas_call, by what starts them
OTHERS = {"mpmd_map": "pl.kernel", "core_map": "pl.core_map", "run_state": "pl.run_state, around pl.core_map", "tpu_custom_call": "a kernel that was lowered already",
          "triton_kernel_call": "a kernel that was lowered already"}


def other_kernel(eqn: Any) -> Unsupported:
    """The refusal of a kernel that is no pallas_call."""
    return Unsupported(f"{OTHERS[eqn.primitive.name]}, which is no pallas_call, is not supported", jx.where(eqn),
                       "write the same body as a pl.pallas_call: arrays with BlockSpec(memory_space=pl.ANY), cores as an axis of the grid, buffers in scratch_shapes")


def refused(name: str, place: str | None) -> Unsupported:
    """The refusal of a primitive."""
    word, remedy = WORDS.get(name.replace("-", "_"), (f"the primitive `{name}` (JAX {jx.VERSION})", "" if jx.lowered(name) else "Mosaic does not lower it: compute it outside of the kernel"))
    return Unsupported(f"{word} is not supported", place, remedy)
