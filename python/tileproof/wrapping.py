"""Integers of a jnp function that wrap around. Those of a spec's reference do not: a hash, a generator of random
numbers or a difference of bytes would be another function there."""

from __future__ import annotations

import itertools
import math
from typing import Any

from . import jaxpr as jx
from .jaxpr import np

Interval = tuple[int, int]

# What is expected of integers that are given: bytes take all their numbers, wider ones count something and are small.
GIVEN = {4: 2**3, 8: 2**7, 16: 2**10, 32: 2**15, 64: 2**15}
ARITHMETIC = {"add", "sub", "add_any", "mul", "neg", "abs", "not", "integer_pow", "square", "iota", "shift_left", "dot_general", "reduce_sum", "cumsum", "reduce_prod",
              "cumprod", "convert_element_type", "shift_right_logical"}


def place(closed: Any) -> str | None:
    """file.py:12 of the first operation whose result its type may not hold though what is given is small; "" where
    the line is not known, None where there is none."""
    return _walk(closed, [_given(v.aval) for v in jx.open_jaxpr(closed).invars])[0]


def _bits(aval: Any) -> int:
    """Of an integer; 0: another type."""
    dtype = jx.dtype_name(aval)
    return int(dtype.lstrip("uint")) if dtype.startswith(("int", "uint")) else 0


def range_of(dtype: Any) -> Interval:
    """The least and the greatest number of an integer type, or of bool; its name, or what has it."""
    bits = _bits(dtype)
    return (-2**(bits - 1), 2**(bits - 1) - 1) if jx.dtype_name(dtype).startswith("int") else (0, 2**max(bits, 1) - 1)


def _given(aval: Any) -> Interval:
    if not _bits(aval):
        return 0, 1  # a bool; of floats nobody asks
    (lo, hi), most = range_of(aval), GIVEN[_bits(aval)]
    return max(lo, -most), min(hi, most if lo else 2 * most)


def _walk(j: Any, given: list[Interval]) -> tuple[str | None, list[Interval]]:
    """That, and where the results lie."""
    inner = jx.open_jaxpr(j)
    of = dict(zip(inner.invars, given, strict=True))
    of |= {v: _of_constant(c, v.aval) for v, c in zip(inner.constvars, jx.consts_of(j), strict=True)}

    def read(atom: Any) -> Interval:
        return _of_constant(atom.val, atom.aval) if jx.is_literal(atom) else of.get(atom, _given(atom.aval))

    for eqn in jx.equations(j):
        operands, below = [read(a) for a in eqn.invars], jx.called(eqn)
        for part in [below] if below is not None else jx.inner_jaxprs(eqn):
            found, results = _walk(part, operands if below is not None else [_given(v.aval) for v in jx.open_jaxpr(part).invars])
            if found is not None:
                return found, []
            of |= dict(zip(eqn.outvars, results, strict=True)) if below is not None else {}
        aval = eqn.outvars[0].aval if eqn.outvars else None
        if aval is None or eqn.outvars[0] in of or not _bits(aval):
            continue
        (lo, hi), (least, most) = _interval(eqn, operands), range_of(aval)
        if eqn.primitive.name in ARITHMETIC and not least <= lo <= hi <= most:
            return jx.where(eqn) or "", []
        of[eqn.outvars[0]] = max(lo, least), min(hi, most)
    return None, [read(a) for a in inner.outvars]


def _of_constant(value: Any, aval: Any) -> Interval:
    a = np.asarray(value)
    return (int(a.min()), int(a.max())) if a.size and a.dtype.kind in "iub" else _given(aval)


def _interval(eqn: Any, operands: list[Interval]) -> Interval:
    """Where the first result lies, by what the primitive computes; an integer."""
    name, params, aval = eqn.primitive.name, eqn.params, eqn.outvars[0].aval
    lows, highs = [o[0] for o in operands], [o[1] for o in operands]
    before = eqn.invars[0].aval if eqn.invars else aval
    if name in ("add", "add_any"):
        return sum(lows), sum(highs)
    if name == "sub":
        return lows[0] - highs[1], highs[0] - lows[1]
    if name in ("mul", "dot_general"):
        terms = math.prod(before.shape[d] for d in params["dimension_numbers"][0][0]) if name == "dot_general" else 1
        products = [terms * x * y for x, y in itertools.product(*operands)]
        return min(products), max(products)
    if name in ("neg", "not"):
        return -highs[0] - (name == "not"), -lows[0] - (name == "not")
    if name in ("abs", "integer_pow", "reduce_prod", "cumprod"):
        power = {"abs": 1, "integer_pow": params.get("y", 1)}.get(name, math.prod(before.shape))
        most = max(-lows[0], highs[0]) ** min(int(power), 64)
        return (0 if name == "abs" or power % 2 == 0 else -most if lows[0] < 0 else 0), most
    if name == "shift_left":
        return lows[0] << max(0, min(highs[1], 64)) if lows[0] < 0 else 0, max(highs[0], 0) << max(0, min(highs[1], 64))
    if name == "shift_right_logical":  # of a negative number: as if it had no sign
        return 0, (2 ** _bits(before) - 1 if lows[0] < 0 else highs[0]) >> max(0, min(lows[1], 64))
    if name in ("reduce_sum", "cumsum"):
        terms = math.prod(before.shape[d] for d in params["axes"]) if name == "reduce_sum" else before.shape[params["axis"]]
        return min(lows[0], terms * lows[0]), max(highs[0], terms * highs[0])
    if name in ("max", "min"):
        best = max if name == "max" else min
        return best(lows), best(highs)
    if name == "clamp":
        return min(max(lows[1], lows[0]), highs[2]), min(max(highs[1], lows[0]), highs[2])
    if name == "iota":
        return 0, max(params["shape"][params["dimension"]] - 1, 0)
    if name == "square":
        return 0, max(lows[0] ** 2, highs[0] ** 2)
    if name in ("argmax", "argmin"):
        return 0, max([1, *before.shape])
    if name == "convert_element_type":
        return operands[0] if _bits(before) or jx.dtype_name(before) == "bool" else _given(aval)
    if name in ("and", "or", "xor"):
        bits = max(max(-lo - 1 if lo < 0 else 0, hi).bit_length() for lo, hi in operands)
        return -(2**bits) if min(lows) < 0 else 0, 2**bits - 1
    alike = [o for a, o in zip(eqn.invars, operands, strict=True) if jx.dtype_name(a.aval) == jx.dtype_name(aval)]
    return (min(o[0] for o in alike), max(o[1] for o in alike)) if alike else _given(aval)
