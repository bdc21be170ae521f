"""Integers of a jnp function that wrap around. Those of a spec's reference do not: a hash or a generator of random
numbers would be another function there."""

from __future__ import annotations

import math
from typing import Any

from . import jaxpr as jx
from .jaxpr import np

# Integers of 32 bits that are given count something, and are drawn small; those of 8 bits are drawn so that none wraps.
SMALL = 2**15


def place(closed: Any) -> str | None:
    """file.py:12 of the first operation on 32 bits whose result leaves them though what is given is small; "" where the
    line is not known, None where there is none."""
    return _walk(closed, [_default(v.aval) for v in jx.open_jaxpr(closed).invars])[0]


def _default(aval: Any) -> int:
    """The largest magnitude that is expected of a value of which nothing else is known."""
    bits = _bits(aval)
    return 2**(bits - 1) if 1 < bits <= 16 else 1 if bits == 1 else SMALL


def _bits(aval: Any) -> int:
    dtype = jx.dtype_name(aval)
    return 1 if dtype == "bool" else int(dtype.lstrip("uint")) if dtype.startswith(("int", "uint")) else 0


def _walk(j: Any, given: list[int]) -> tuple[str | None, list[int]]:
    """That, and magnitudes of the results."""
    inner = jx.open_jaxpr(j)
    of = dict(zip(inner.invars, given, strict=True))
    of |= {v: _largest(c) for v, c in zip(inner.constvars, jx.consts_of(j), strict=True)}

    def read(atom: Any) -> int:
        return _largest(atom.val) if jx.is_literal(atom) else of.get(atom, _default(atom.aval))

    for eqn in jx.equations(j):
        operands = [read(a) for a in eqn.invars]
        below = jx.called(eqn)
        parts = [below] if below is not None else list(jx.inner_jaxprs(eqn))
        for part in parts:
            params = jx.open_jaxpr(part).invars
            found, results = _walk(part, operands if below is not None and len(params) == len(operands) else [_default(v.aval) for v in params])
            if found is not None:
                return found, []
            if below is not None and len(results) == len(eqn.outvars):
                of |= dict(zip(eqn.outvars, results, strict=True))
        if parts or not _bits(eqn.outvars[0].aval):
            continue
        out = _magnitude(eqn, operands)
        dtype = jx.dtype_name(eqn.outvars[0].aval)
        below_zero = dtype.startswith("uint") and eqn.primitive.name in ("sub", "neg")
        if _bits(eqn.outvars[0].aval) == 32 and (out > 2**31 or below_zero):
            return jx.where(eqn) or "", []
        of[eqn.outvars[0]] = out
    return None, [read(a) for a in inner.outvars]


def _largest(value: Any) -> int:
    a = np.asarray(value)
    return int(np.abs(a.astype(np.float64)).max()) if a.size and a.dtype.kind in "iub" else SMALL


def _magnitude(eqn: Any, operands: list[int]) -> int:
    """Of the first result, by what the primitive computes."""
    name, params, aval = eqn.primitive.name, eqn.params, eqn.outvars[0].aval
    if name in ("add", "sub", "add_any"):
        return sum(operands)
    if name == "mul":
        return math.prod(operands)
    if name == "integer_pow":
        return operands[0] ** min(int(params["y"]), 64)
    if name == "shift_left":
        return operands[0] << min(operands[1], 64) if jx.is_literal(eqn.invars[1]) else operands[0]
    if name == "dot_general":
        contracted = math.prod(eqn.invars[0].aval.shape[d] for d in params["dimension_numbers"][0][0])
        return math.prod(operands) * contracted
    if name in ("reduce_sum", "cumsum"):
        return operands[0] * max(1, math.prod(eqn.invars[0].aval.shape) // max(1, math.prod(aval.shape) if name == "reduce_sum" else 1))
    if name in ("iota", "argmax", "argmin"):
        return max([1, *(aval.shape if name == "iota" else eqn.invars[0].aval.shape)])
    if name == "convert_element_type" and not _bits(eqn.invars[0].aval):
        return SMALL
    if name in ("and", "or", "xor", "not"):
        return 2 ** max(o.bit_length() for o in operands)
    return max([*operands, 1])
