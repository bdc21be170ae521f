"""Everything that depends on how a JAX version spells its internals.

Tested with JAX 0.10; where 0.11 differs, the accessor here hides it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import sys
from typing import Any, Iterator

from . import pipelines
from .errors import NotFound

try:
    import jax
    import numpy as np
    from jax.extend.core import Literal
except ImportError as e:  # pragma: no cover - exercised by a subprocess test
    raise NotFound(f"JAX and NumPy are needed to read kernels ({e}); install them with `pip install 'tileproof[jax]'`") from None

VERSION = jax.__version__
PACKAGE = os.path.dirname(os.path.abspath(__file__))

# Equations that only call an inner jaxpr with their own operands: its parameter.
CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr",
         "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr", "remat2": "jaxpr", "remat": "jaxpr", "remat_opt": "fwd_jaxpr", "checkpoint": "jaxpr",
         "custom_vmap_call": "call", "composite": "jaxpr"}
# Kernels that are no pallas_call: nothing here says what they do.
OTHER_KERNELS = {"core_map", "mpmd_map", "run_state", "tpu_custom_call", "triton_kernel_call"}


def open_jaxpr(j: Any) -> Any:
    """The jaxpr inside a closed one, or itself."""
    return j.jaxpr if hasattr(j, "jaxpr") else j


def consts_of(j: Any) -> list[Any]:
    """Values of the constants of a (closed) jaxpr."""
    return list(getattr(j, "consts", ()))


def equations(j: Any) -> list[Any]:
    """The equations of a jaxpr, open or closed."""
    return list(open_jaxpr(j).eqns)


def inner_jaxprs(eqn: Any) -> Iterator[Any]:
    """Jaxprs among the parameters of an equation."""
    for value in eqn.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if hasattr(item, "eqns") or hasattr(item, "jaxpr"):
                yield item


def has_primitive(j: Any, names: tuple[str, ...]) -> bool:
    """Does an equation of the jaxpr, or of one below it, have one of these primitives?"""
    return any(e.primitive.name in names or any(has_primitive(k, names) for k in inner_jaxprs(e)) for e in equations(j))


def called(eqn: Any) -> Any:
    """The jaxpr that this equation calls with its own operands; None: it is no such call."""
    inner = eqn.params.get(CALLS.get(eqn.primitive.name, ""))
    if inner is None or len(open_jaxpr(inner).invars) != len(eqn.invars) or len(open_jaxpr(inner).outvars) != len(eqn.outvars):
        return None
    return inner


def is_literal(atom: Any) -> bool:
    """Is it a constant in place of a variable?"""
    return isinstance(atom, Literal) or hasattr(atom, "val")


def is_dropped(var: Any) -> bool:
    """Is it a result that nothing reads?"""
    return type(var).__name__ == "DropVar"


def is_ref(aval: Any) -> bool:
    """Is it the type of a ref?"""
    return hasattr(aval, "inner_aval") and type(aval).__name__.endswith("Ref")


def memory_space(aval: Any) -> str:
    """vmem, smem, any, hbm, semaphore; the default of a block is vmem."""
    space = str(getattr(aval, "memory_space", None)).lower().rsplit(".", 1)[-1]
    if space in ("none", "default", "vmem", "blocked"):
        return "vmem"
    return {"semaphore_mem": "semaphore"}.get(space, space)


def scratch_kind(dtype: str, aval: Any) -> tuple[str, str] | None:
    """What a buffer holds, or the kind of a semaphore, and the memory it is in; None: the language has no such scratch."""
    space = memory_space(aval)
    if space == "semaphore":
        kind = {"dma_sem": "dma_semaphore", "semaphore": "semaphore", "barrier_semaphore": "barrier_semaphore"}.get(dtype)
        return (kind, kind) if kind else None
    return (dtype, space) if space in ("vmem", "smem") and dtype.startswith(("float", "bfloat", "int", "uint", "bool")) else None


def written_refs(j: Any) -> set[int]:
    """Which parameters of a kernel's jaxpr it writes to, by number."""
    inner = open_jaxpr(j)
    written = [getattr(e, "input", getattr(e, "input_index", None)) for e in inner.effects if type(e).__name__ in ("WriteEffect", "AccumEffect")]
    return {n for n, var in enumerate(inner.invars) if any(w is var for w in written)} | {w for w in written if isinstance(w, int)}


def uses(j: Any, number: int) -> bool:
    """Does a kernel's jaxpr do anything with this parameter?"""
    inner = open_jaxpr(j)
    return any(v is inner.invars[number] for e in inner.eqns for v in e.invars)


def dtype_name(aval: Any) -> str:
    """The name of the dtype, as the spec has it: float32."""
    return str(getattr(aval, "dtype", aval))


def word(value: Any) -> str:
    """A member of an enumeration, or a string, as one lower-case word."""
    return str(value.name if hasattr(value, "name") else value).lower().rsplit(".", 1)[-1]


def is_jnp(name: str, eqn: Any) -> bool:
    """Is what this equation calls jax.numpy's function of that name, not another one that is called so?"""
    operands = [jax.ShapeDtypeStruct(a.aval.shape, a.aval.dtype, weak_type=getattr(a.aval, "weak_type", False)) for a in eqn.invars]
    try:
        traced = jax.make_jaxpr(getattr(jax.numpy, name))(*operands)
    except TypeError:
        return False
    here = str(open_jaxpr(called(eqn)))
    return any(e.params.get("name") == name and called(e) is not None and str(open_jaxpr(called(e))) == here for e in equations(traced))


def view_kind(transform: Any) -> str:
    """indexer, reshape, transpose, bitcast, or the class of another view of a ref."""
    name = type(transform).__name__
    return {"NDIndexer": "indexer", "ReshapeTransform": "reshape", "RefReshaper": "reshape", "TransposeTransform": "transpose",
            "RefTransposer": "transpose", "BitcastTransform": "bitcast", "RefBitcaster": "bitcast"}.get(name, name)


def is_whole(index: Any, extent: int, leaf: Any) -> bool:
    """Does one index of an indexer take all of its dimension?"""
    return type(index).__name__ == "Slice" and not isinstance(index.start, leaf) and index.start == 0 and index.size == extent and index.stride == 1


def exchanged(view: Any, indexer: Any, lead: int, shape: tuple[int, ...]) -> list[Any]:
    """The indexer of `lead` leading dimensions, which the view in front of it leaves alone, in front of the view of an array of this shape."""
    from jax._src.state.indexing import NDIndexer, Slice

    taken = indexer.indices[:lead]
    first = NDIndexer((*taken, *(Slice(0, n, 1) for n in shape[lead:])), shape, ())
    if view_kind(view) == "reshape":
        view = type(view)((*(i.size for i in taken if type(i).__name__ == "Slice"), *view.shape[lead:]))
    return [first, view]


def width(dtype: Any) -> int:
    """Bytes of an element."""
    return int(jax.numpy.dtype(dtype).itemsize)


def where(eqn: Any) -> str | None:
    """folder/file.py:line of the user's code that made this equation."""
    try:
        from jax._src import source_info_util

        frames = source_info_util.user_frames(eqn.source_info.traceback)
        frame = next((f for f in frames if os.path.dirname(f.file_name) != PACKAGE), None)  # not what listens to calls
    except Exception:  # noqa: BLE001  positions are a courtesy
        return None
    if frame is None:
        return None
    return f"{_path(frame.file_name)}:{frame.start_line}"


def lines(eqn: Any) -> list[str]:
    """The same place, then those of the calls that led there, as far as they are the user's."""
    try:
        from jax._src import source_info_util

        codes, at = eqn.source_info.traceback.raw_frames()
        users = [source_info_util.is_user_filename(c.co_filename) and os.path.dirname(c.co_filename) != PACKAGE for c in codes]
        first = users.index(True)
        end = users.index(False, first) if False in users[first:] else len(users)
        frames = [source_info_util.raw_frame_to_frame(codes[n], at[n]) for n in range(first, end)]
    except Exception:  # noqa: BLE001  positions are a courtesy
        return []
    return [f"{_path(f.file_name)}:{f.start_line}" for f in frames]


class Stack:
    """The running Python frames, innermost first, as JAX reads a traceback: its own ends where a jit begins."""

    def __init__(self) -> None:
        frame, self.frames = sys._getframe(1), []
        while frame:
            self.frames.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back  # type: ignore[assignment]

    def raw_frames(self) -> tuple[list[Any], list[int]]:
        return [code for code, _ in self.frames], [at for _, at in self.frames]


def called_here(closed: Any) -> Any:
    """The jaxpr with the code that runs now as the place of its equations. It is to be read, not to be evaluated."""
    try:
        eqns = [e.replace(source_info=e.source_info.replace(traceback=Stack())) for e in closed.jaxpr.eqns]
        return closed.replace(jaxpr=closed.jaxpr.replace(eqns=eqns))
    except Exception:  # noqa: BLE001  positions are a courtesy
        return closed


def defined(j: Any) -> str | None:
    """folder/file.py:line of the Python function that was traced; None: JAX's own, or not known."""
    info = str(getattr(getattr(open_jaxpr(j), "debug_info", None), "func_src_info", None) or "")
    file, _, line = info.partition(" at ")[2].rpartition(":")
    return f"{_path(file)}:{line}" if file and line.isdigit() and "/jax/_src/" not in file else None


def written(j: Any) -> str | None:
    """folder/file.py:line of what a traced function computes last, where its own file has it; else of the function."""
    place = defined(j)
    file = place.rpartition(":")[0] if place else ""
    steps = (where(eqn) for eqn in reversed(equations(j)))
    return next((s for s in steps if s and s.rpartition(":")[0] == file), place)


def _path(file: str) -> str:
    """As one would type it here: from the working folder, where it lies below."""
    inside = os.path.relpath(file) if os.path.isabs(file) else file
    return file if inside.startswith(os.pardir + os.sep) else inside


def argument_names(j: Any) -> list[str]:
    """Names of the parameters of the Python function that was traced."""
    info = getattr(open_jaxpr(j), "debug_info", None)
    return [str(n) if n is not None else "" for n in getattr(info, "arg_names", None) or ()]


def traced_name(j: Any) -> str:
    """Name of the Python function that was traced; "": not known."""
    return str(getattr(getattr(open_jaxpr(j), "debug_info", None), "func_src_info", None) or "").split(" at ")[0]


def function_name(eqn: Any) -> str:
    """Name of a pallas_call: name=…, else of its kernel."""
    name = eqn.params.get("name") or getattr(eqn.params.get("name_and_src_info"), "name", None)
    if not name and "jaxpr" not in eqn.params:
        return eqn.primitive.name
    if not name:
        name = traced_name(eqn.params["jaxpr"]) or "kernel"
    return name


def transforms_of(eqn: Any, count: int, tree: str = "tree") -> tuple[list[Any], Any]:
    """Index transforms of a get, swap or addupdate with `count` leading
    operands, traced values in their places."""
    class Leaf:
        def __init__(self, atom: Any):
            self.atom = atom

    leaves = [Leaf(a) for a in eqn.invars[count:]]
    return list(jax.tree_util.tree_unflatten(eqn.params[tree], leaves)), Leaf


def ref_and_transforms(x: Any) -> tuple[Any, list[Any]]:
    """The ref behind a view of it, and the index transforms."""
    transforms: list[Any] = []
    while hasattr(x, "transforms"):
        transforms = [*x.transforms, *transforms]
        x = x.ref
    return x, transforms


def is_true(x: Any) -> bool:
    """A literal that is true; traced values are not."""
    return bool(getattr(x, "val", x)) if not hasattr(x, "aval") or hasattr(x, "val") else False


def masked_of(eqn: Any) -> tuple[list[Any], Any, Any, Any]:
    """The same of a load or store with a mask: transforms, Leaf, the operand
    (None of a load), the mask; what stands for `other` of a load is the operand."""
    transforms, leaf = transforms_of(eqn, 0, "args_tree")
    _, inner, third, fourth = transforms
    other, mask = (third, fourth) if eqn.primitive.name == "masked_swap" else (fourth, third)
    return list(inner), leaf, other and other.atom, mask and mask.atom


def spelled_out(eqn: Any) -> Any:
    """The jaxpr of a primitive that JAX itself defines by others; None: it is none."""
    name, shapes = eqn.primitive.name, [shape_of(a.aval) for a in eqn.invars]
    try:
        if name == "threefry2x32":
            from jax._src.random.threefry2x32 import _threefry2x32_lowering as rounds

            return jax.make_jaxpr(lambda k1, k2, x1, x2: rounds(k1, k2, x1, x2, use_rolled_loops=False))(*shapes)
        if name in ("erf_inv", "nextafter"):  # as its lowering for TPUs does
            from jax._src.pallas import utils

            return jax.make_jaxpr(utils.erf_inv_lowering_helper if name == "erf_inv" else utils.nextafter_lowering_helper)(*shapes)
    except (ImportError, AttributeError):
        return None
    return None


@functools.cache
def _lowered() -> set[str]:
    try:
        from jax._src.pallas.mosaic import lowering
    except ImportError:
        return set()
    tables = [getattr(lowering, n) for n in dir(lowering) if n.startswith("lowering_rules")]
    return {p.name for table in tables for rules in table.values() for p in rules}


def lowered(name: str) -> bool:
    """Does JAX's lowering for TPUs know this primitive? True where that cannot be asked."""
    return not _lowered() or name in _lowered()


def fill_of(eqn: Any) -> Any:
    """What a gather that fills gives for an index outside: by default not a number, or the lowest integer."""
    dtype = eqn.invars[0].aval.dtype
    if eqn.params.get("fill_value") is not None:
        return np.asarray(eqn.params["fill_value"], dtype)
    if jax.numpy.issubdtype(dtype, jax.numpy.inexact):
        return np.asarray(np.nan, dtype)
    if dtype == bool:
        return np.asarray(True)
    info = jax.numpy.iinfo(dtype)
    return np.asarray(info.min or info.max, dtype)


def folded(eqn: Any, numbers: list[Any]) -> Any:
    """The value of an equation whose operands are numbers, also while a function is traced around it. Of float32 it is the
    one of float64, to be rounded where it is written, if roundings alone part the two: `1 / sqrt(96)` is `96 ** -0.5`."""

    def by(wide: bool) -> Any:
        given = [np.asarray(x, np.float64 if wide else dtype_name(a.aval)) for x, a in zip(numbers, eqn.invars, strict=True)]
        with jax.ensure_compile_time_eval(), jax.enable_x64(wide or jax.config.jax_enable_x64):
            return eqn.primitive.bind(*given, **eqn.params)

    value = by(False)
    if any(dtype_name(a.aval) != "float32" for a in (*eqn.invars, *eqn.outvars)) or not np.isfinite(value):
        return value
    meant = by(True)
    return meant if abs(float(meant) - float(value)) <= 2**-21 * abs(float(value)) else value


def bind(eqn: Any, values: list[Any]) -> list[Any]:
    """Evaluate one equation."""
    made = eqn.primitive.get_bind_params(eqn.params)
    subfuns, params = made if isinstance(made, tuple) else ((), made)
    results = eqn.primitive.bind(*subfuns, *values, **params)
    return list(results) if eqn.primitive.multiple_results else [results]


def quick(fn: Any) -> Any:
    """fn, compiled as a whole for each shape. What runs once compiles in a tenth of the time so, most of it operation
    by operation; each still rounds to its type."""
    cpu = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True, "xla_allow_excess_precision": False}
    return jax.jit(fn, compiler_options=cpu if jax.default_backend() == "cpu" else {})


def shape_of(aval: Any) -> Any:
    """An argument with the shape and dtype of a value."""
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def leaves(args: Any) -> list[Any]:
    """The arrays of nested arguments, in JAX's order."""
    return jax.tree_util.tree_leaves(args)


@contextlib.contextmanager
def _placed() -> Iterator[None]:
    """While this holds, calls and statements of kernels have their own lines, also where the backward pass makes them:
    JAX gives all that it makes there the line of what is differentiated."""
    from jax._src import source_info_util as info
    from jax._src.pallas import pallas_call as calls

    def here(f: Any) -> Any:
        @functools.wraps(f)
        def run(*args: Any, **how: Any) -> Any:
            given = info._source_info_context.context
            info._source_info_context.context = info.SourceInfo(None, given.name_stack)
            try:
                return f(*args, **how)
            finally:
                info._source_info_context.context = given

        return run

    placed = {"_trace_kernel_to_jaxpr": here, "_pallas_call": lambda f: lambda *args, **how: here(f(*args, **how))}
    old = {name: getattr(calls, name) for name in placed if hasattr(calls, name)}
    for name, f in old.items():
        setattr(calls, name, placed[name](f))
    try:
        yield
    finally:
        for name, f in old.items():
            setattr(calls, name, f)


def trace(fn: Any, args: tuple[Any, ...]) -> Any:
    """The closed jaxpr of fn(*args); args are arrays or shapes with dtypes. What asks JAX which TPU this is, is told a v5e where there is none."""
    with pipelines.kept(), _placed():
        try:
            return jax.make_jaxpr(fn)(*args)
        except ValueError as e:
            if not str(e).startswith("Unsupported TPU device kind"):
                raise
        with jax.sharding.use_abstract_mesh(_no_tpu()):
            return jax.make_jaxpr(fn)(*args)


def loop_of(eqn: Any) -> Any:
    """The jaxpr of the loop that JAX makes of an `emit_pipeline` equation. Raises what JAX raises."""
    return pipelines.spelled_out(eqn, jax.sharding.use_abstract_mesh(_no_tpu()))


def _no_tpu() -> Any:
    """A device to trace for."""
    from jax.sharding import AbstractDevice, AbstractMesh

    return AbstractMesh((1,), ("device",), abstract_device=AbstractDevice("TPU v5 lite", 1, "tpu"))


def tiles_of(aval: Any) -> tuple[int, ...]:
    """By dimension: the multiple of elements to which a copy of the end of an array in HBM is rounded up."""
    from jax._src.pallas.mosaic import tpu_info

    with jax.sharding.use_abstract_mesh(_no_tpu()):
        return tuple(tpu_info.infer_tiling(aval))


def is_made_in(eqn: Any, file: str) -> bool:
    """Did a file of JAX, named by the end of its path, make this equation?"""
    traceback = eqn.source_info.traceback
    return traceback is not None and any(f.file_name.endswith(file) for f in getattr(traceback, "frames", ()))


@dataclasses.dataclass(frozen=True)
class Site:
    """Where a pallas_call stands. Equations may be shared (jit traces a function
    once), so a site is the way to it: per equation on it, which inner jaxpr."""

    path: tuple[tuple[int, int], ...]
    equation: Any
    used: list[bool]  # which of its results anybody uses


def step_into(eqn: Any, inner: Any) -> tuple[int, int]:
    """One step of a Site's path."""
    return id(eqn), id(inner)


def sites(j: Any, live: list[bool] | None = None, path: tuple[tuple[int, int], ...] = (), mesh: Any = (), cuts: Any = None) -> Iterator[Site]:
    """Every pallas_call below j, depth first, and every kernel that is none
    (OTHER_KERNELS). `live`: which results of j are used (None: all); `mesh`, `cuts`: of the shard_map around it."""
    from . import devices

    inner = open_jaxpr(j)
    used = {a for a, alive in zip(inner.outvars, live or [True] * len(inner.outvars), strict=True) if alive and not is_literal(a)}
    for eqn in inner.eqns:
        used.update(a for a in eqn.invars if not is_literal(a))
    for eqn in inner.eqns:
        results = [not is_dropped(v) and v in used for v in eqn.outvars]
        name = eqn.primitive.name
        if name == "pallas_call" or name in OTHER_KERNELS:
            yield Site((*path, step_into(eqn, None)), devices.on_devices(eqn, mesh, (cuts or {}).get(id(eqn))) if mesh else eqn, results)
            continue
        around, below = mesh, cuts
        if name == "shard_map":  # of one inside of another nothing is known but the devices
            around, below = mesh + devices.mesh_of(eqn), None if mesh else devices.cuts_below(eqn)
        callee = called(eqn)
        for k in inner_jaxprs(eqn):
            yield from sites(k, results if k is callee else None, (*path, step_into(eqn, k)), around, below)


def pallas_calls(j: Any) -> Iterator[tuple[Any, list[bool]]]:
    """Every pallas_call equation below j, and which of its results anybody uses."""
    return ((s.equation, s.used) for s in sites(j))
