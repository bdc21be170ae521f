"""Executing verified kernels in this process: ctypes over libtileproof, on the memory of the caller's arrays."""

from __future__ import annotations

import ctypes
import json
import math
import os
import pathlib
import threading
from typing import TYPE_CHECKING, Any

from . import binary
from .errors import NotFound, TileproofError

if TYPE_CHECKING:
    import numpy as np

STATUS = ("ok", "usage", "input", "refused", "violated", "unknown", "limit", "memory", "internal")
OUTPUT = 1  # tileproof_role


class _Parameter(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("role", ctypes.c_int), ("dtype", ctypes.c_char_p), ("rank", ctypes.c_uint32)]


class _Array(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_char_p), ("rank", ctypes.c_uint32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p)]


class _Size(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_int64)]


class _Options(ctypes.Structure):
    _fields_ = [("sizes", ctypes.POINTER(_Size)), ("nsizes", ctypes.c_size_t), ("max_memory", ctypes.c_size_t),
                ("max_steps", ctypes.c_int64), ("seed", ctypes.c_uint64), ("unchecked", ctypes.c_int), ("threads", ctypes.c_uint)]


class _Finding(ctypes.Structure):
    _fields_ = [(n, ctypes.c_char_p) for n in ("rule", "slug", "verdict", "severity", "subject", "message", "help", "pointer")] + [
        ("line", ctypes.c_uint32), ("column", ctypes.c_uint32)]


_SINK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_Finding))


def _library() -> ctypes.CDLL:
    """$TILEPROOF_LIBRARY, beside the program, or what the loader finds."""
    named = os.environ.get("TILEPROOF_LIBRARY")
    beside = pathlib.Path(binary.program()).resolve().parent
    places = [named] if named else [str(p) for p in (beside / "libtileproof.so", beside / "release" / "libtileproof.so",
                                                     beside.parent / "lib" / "libtileproof.so") if p.exists()]
    for place in [*places, "libtileproof.so"]:
        try:
            return ctypes.CDLL(place)
        except OSError as e:
            why = e
    raise NotFound(f"the library libtileproof.so cannot be loaded: {why}; build it with `make libraries`, or set $TILEPROOF_LIBRARY")


def _as_array(x: Any) -> np.ndarray:
    """x itself, or its memory: by DLPack, by the buffer protocol or by __array__; what has none of them is copied."""
    import numpy as np

    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "__dlpack__"):
        try:
            return np.from_dlpack(x)
        except (BufferError, RuntimeError, TypeError, ValueError):  # a dtype that NumPy has not, another device
            pass
    return np.asarray(x)


def _empty(shape: list[int], dtype: np.dtype) -> np.ndarray:
    """An array that begins with a line of the cache, as JAX's do: rows of it are written line by line."""
    import numpy as np

    line, n = 64, math.prod(shape) * dtype.itemsize
    room = np.empty(n + line, np.uint8)
    first = -room.ctypes.data % line
    return room[first : first + n].view(dtype).reshape(shape)


_MOST_KINDS = 64  # of arrays of which descriptors are kept


class _Descriptors:
    """Arrays as the library takes them: what is the same in each call with arrays of these dtypes, shapes and strides. A call fills in
    where its arrays lie; it has the object for itself meanwhile."""

    def __init__(self, given: dict[str, np.ndarray]):
        self.arrays = (_Array * len(given))()
        self._each = list(self.arrays)
        for described, (name, x) in zip(self._each, given.items(), strict=True):
            if not x.dtype.isnative:
                raise TileproofError(f"the array `{name}` is not in the byte order of this machine")
            described.name, described.dtype, described.rank = name.encode(), x.dtype.name.encode(), x.ndim
            described.shape = x.ctypes.shape_as(ctypes.c_int64)
            described.strides = None if x.flags.c_contiguous else x.ctypes.strides_as(ctypes.c_int64)

    def fill(self, given: dict[str, np.ndarray]) -> None:
        for described, x in zip(self._each, given.values(), strict=True):
            described.data = x.__array_interface__["data"][0]


class _Kept:
    """For arrays of one kind: descriptors that no call uses now; shapes and dtypes of the outputs of such inputs, once somebody asked."""

    def __init__(self) -> None:
        self.descriptors: list[_Descriptors] = []
        self.outputs: list[tuple[list[int], np.dtype]] | None = None


class Compiled:
    """A kernel, loaded once, to be called on arrays.

    Calling takes the inputs, then the prefetched tables, in the order of the spec, or by name: NumPy arrays, and what
    gives its memory by DLPack, by the buffer protocol or as an array (JAX arrays on a CPU, memoryviews), which is read
    where it lies. It returns the output (several: a tuple): `out`, or new NumPy arrays. What `out` holds after an error
    is undefined. Several threads may call one object at the same time.
    """

    def __init__(self, spec: Any, receipt: Any = None, *, unchecked: bool = False, sizes: dict[str, int] | None = None, threads: int = 0):
        self._lib = _library()
        self._lib.tileproof_get_parameter.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(_Parameter)]
        self._lib.tileproof_nparameters.argtypes = [ctypes.c_void_p]
        self._lib.tileproof_nparameters.restype = ctypes.c_size_t
        self._lib.tileproof_free.argtypes = [ctypes.c_void_p]
        self._handle = ctypes.c_void_p()
        self._heard = threading.local()
        self._sink = _SINK(self._hear)
        text = json.dumps(spec).encode() if isinstance(spec, dict) else pathlib.Path(spec).read_bytes()
        self._check(self._lib.tileproof_load(text, ctypes.c_size_t(len(text)), None, self._sink, None, ctypes.byref(self._handle)))
        if receipt is not None:
            proof = pathlib.Path(receipt).read_bytes()
            self._check(self._lib.tileproof_accept(self._handle, proof, ctypes.c_size_t(len(proof)), self._sink, None))
        self.parameters = []
        for i in range(self._lib.tileproof_nparameters(self._handle)):
            p = _Parameter()
            self._lib.tileproof_get_parameter(self._handle, i, ctypes.byref(p))
            self.parameters.append((p.name.decode(), p.role))
        self._names = [n for n, role in self.parameters if role != OUTPUT]
        self._outputs = [n for n, role in self.parameters if role == OUTPUT]
        self._sizes = (_Size * len(sizes or {}))(*[(k.encode(), v) for k, v in (sizes or {}).items()])
        self._kept: dict[Any, _Kept] = {}
        self._options = _Options(self._sizes, len(self._sizes), 0, 0, 0, unchecked, threads)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._lib.tileproof_free(self._handle)

    def _hear(self, _context: Any, finding: Any) -> None:
        f = finding.contents
        self._heard.said = [*getattr(self._heard, "said", []), (f"[{f.rule.decode()}] " if f.rule else "") + f.message.decode()]

    def _check(self, status: int) -> None:
        if not status:
            return
        said, self._heard.said = getattr(self._heard, "said", []), []
        raise TileproofError(f"{STATUS[status] if status < len(STATUS) else status}: {'; '.join(said) or 'no reason was given'}")

    def _described(self, given: dict[str, np.ndarray]) -> tuple[_Kept, _Descriptors]:
        """What is kept for arrays of this kind, and descriptors of these: who asked gives them back there."""
        kind = tuple([(name, x.dtype, x.shape, x.strides) for name, x in given.items()])
        kept = self._kept.get(kind)
        if kept is None:
            if len(self._kept) >= _MOST_KINDS:
                self._kept.clear()
            kept = self._kept.setdefault(kind, _Kept())
        try:
            now = kept.descriptors.pop()
        except IndexError:  # several threads at the same time
            now = _Descriptors(given)
        now.fill(given)
        return kept, now

    def _new_outputs(self, given: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        kept, now = self._described(given)
        if kept.outputs is None:
            kept.outputs = [self._shape_of(name, now.arrays) for name in self._outputs]
        kept.descriptors.append(now)
        return tuple([_empty(*o) for o in kept.outputs])

    def _shape_of(self, name: str, arrays: Any) -> tuple[list[int], np.dtype]:
        import ml_dtypes  # noqa: F401  NumPy knows its names from here on
        import numpy as np

        dtype, rank, shape = ctypes.c_char_p(), ctypes.c_uint32(), (ctypes.c_int64 * 8)()
        self._check(self._lib.tileproof_output_shape(
            self._handle, name.encode(), arrays, ctypes.c_size_t(len(arrays)), ctypes.byref(self._options), ctypes.byref(dtype),
            ctypes.byref(rank), shape, self._sink, None))
        return shape[:rank.value], np.dtype(dtype.value.decode())

    def __call__(self, *inputs: Any, out: Any = None, **named: Any) -> Any:
        if len(inputs) > len(self._names):
            raise TileproofError(f"{len(inputs)} arrays were given; the kernel takes {len(self._names)}: {', '.join(self._names)}")
        for name in named:
            if name not in self._names[len(inputs):]:
                raise TileproofError(f"`{name}` is given twice" if name in self._names else f"the kernel takes no `{name}`; it takes {', '.join(self._names)}")
        given = {name: _as_array(x) for name, x in {**dict(zip(self._names, inputs)), **named}.items()}
        if out is None:
            made = self._new_outputs(given)
            out = made if len(made) != 1 else made[0]
        results = dict(zip(self._outputs, out if isinstance(out, tuple) else (out,)))
        for name, x in results.items():
            if not x.flags.writeable:
                raise TileproofError(f"the array for the output `{name}` is read-only")
        kept, now = self._described({**given, **results})
        status = self._lib.tileproof_run(self._handle, now.arrays, ctypes.c_size_t(len(now.arrays)), ctypes.byref(self._options), self._sink, None)
        kept.descriptors.append(now)
        self._check(status)
        return out


def compile(spec: Any, receipt: Any = None, *, unchecked: bool = False, sizes: dict[str, int] | None = None,  # noqa: A001
            threads: int = 0) -> Compiled:
    """The kernel of a spec (path or object) for calls on arrays; `receipt`: path of what `verify --receipt` wrote.
    `unchecked` runs a kernel that nobody verified; every access is checked all the same. `threads` share the steps of leading
    parallel axes, with the same results; 0: one for each processor that the process may use."""
    return Compiled(spec, receipt, unchecked=unchecked, sizes=sizes, threads=threads)
