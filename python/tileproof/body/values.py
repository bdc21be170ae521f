"""Values and refs as text, literals, shapes."""

from __future__ import annotations

import ast
import dataclasses
import functools
from typing import Any

import numpy as np

from ..errors import Unsupported
from .bounds import Bounds


@dataclasses.dataclass(frozen=True)
class Lanes:
    """What an array holds: start + stride * (the lane along one dimension)."""

    dim: int
    start: str = "0"
    stride: int = 1

    def plus(self, text: str) -> "Lanes":
        return dataclasses.replace(self, start=add_text(self.start, text, 1))

    def along(self, dim: int | None) -> "Lanes | None":
        return None if dim is None else dataclasses.replace(self, dim=dim)


def counting(name: str, values: "list[Value]") -> "Lanes | None":
    """What an operation makes of an array that counts and of scalars."""
    arrays = [v for v in values if v.shape and v.splat is None]
    scalars = [v.splat if v.splat is not None else v for v in values if not v.shape or v.splat is not None]
    if len(arrays) != 1 or len(scalars) != 1 or arrays[0].lanes is None or scalars[0].dtype != "int32":
        return None
    lanes, scalar = arrays[0].lanes, scalars[0]
    if name == "add":
        return lanes.plus(scalar.text)
    if name == "sub" and values[0] is arrays[0]:
        return dataclasses.replace(lanes, start=f"{summand(lanes.start)} - {factor(scalar.text)}")
    if name == "mul" and scalar.number is not None and scalar.number > 0:
        return Lanes(lanes.dim, add_text("0", lanes.start, int(scalar.number)), lanes.stride * int(scalar.number))
    return None


@dataclasses.dataclass
class Value:
    """Text of a value; `atom` needs no parentheses."""

    text: str
    shape: tuple[int, ...] = ()
    dtype: str = "int32"
    atom: bool = True
    literal: bool = False  # a weak number: adopts the dtype of its partner
    number: float | int | None = None  # … and which
    splat: "Value | None" = None  # an array whose lanes are all this scalar
    truth: "Value | None" = None  # an integer that was made from this bool
    lanes: "Lanes | None" = None  # an array of int32 that counts
    bounds: Bounds | None = None  # an int32: between which numbers it lies in any step
    divisor: int = 1  # an int32: what is claimed to divide it

    def within(self) -> Bounds | None:
        """Its bounds; a number is its own."""
        return (int(self.number), int(self.number)) if self.number is not None and self.dtype == "int32" else self.bounds

    def indexes(self, n: int) -> bool:
        """Is it surely from 0 below n?"""
        within = self.within()
        return within is not None and 0 <= within[0] and within[1] < n

    def operand(self) -> str:
        return self.text if self.atom else f"({self.text})"


@dataclasses.dataclass
class Ref:
    """A ref, seen through the index transforms so far."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    table: bool = False
    slot: tuple[Any, ...] = ()  # where it is a part of what has this name: the parts of that, as Memory.compose() has them


class Unread(Value):
    """What an equation that cannot be read would give: a value, or a ref."""

    def __init__(self, shape: tuple[int, ...], dtype: str):
        super().__init__("unread", shape, dtype)
        self.name, self.table, self.slot = "unread", False, ()


def fitting(f: float, dtype: str) -> float:
    """f, or the infinity or NaN that it becomes in a float type: in a spec that is an error unless written as such."""
    if not dtype.startswith(("float", "bfloat")):
        return f
    import jax.numpy as jnp

    with np.errstate(over="ignore"):
        there = float(np.float64(f).astype(jnp.dtype(dtype)))
    return f if np.isfinite(there) else there


def number(value: Any, dtype: str) -> Value:
    """A scalar constant. Raises Unsupported for a complex one."""
    v = np.asarray(value)
    if dtype == "bool":
        return Value("True" if bool(v) else "False", (), "bool")
    if "int" in v.dtype.name and dtype.startswith(("int", "uint")):
        return Value(str(int(v)), (), dtype, atom=int(v) >= 0, literal=True, number=int(v))
    if v.dtype.kind == "c":
        raise Unsupported("complex numbers are not supported", None, "compute the real and the imaginary part")
    f = fitting(float(v), dtype)
    if f != f:
        return Value("nan", (), dtype, literal=True, number=f)
    if f in (float("inf"), float("-inf")):
        return Value("inf" if f > 0 else "-inf", (), dtype, atom=f > 0, literal=True, number=f)
    with np.errstate(over="ignore"):  # what the kernel computes with, to the last digit: 0.1 in float32 is another number
        text = repr(f if dtype == "float64" else float(np.float32(f)))
    if not any(c in text for c in ".en"):
        text += ".0"
    return Value(text, (), dtype, atom=not text.startswith("-"), literal=True, number=f)


def shape_text(shape: tuple[int, ...]) -> str:
    """The shape as a tuple of the language: (8,), (8, 128)."""
    return "(" + ", ".join(str(int(d)) for d in shape) + ("," if len(shape) == 1 else "") + ")"


def axes_text(axes: tuple[int, ...]) -> str:
    """Axes as the language takes them: a number, or a tuple of several."""
    return str(axes[0]) if len(axes) == 1 else shape_text(axes)


@functools.lru_cache(maxsize=4096)
def _operator(text: str) -> Any:
    """The operator that an expression consists of; None: it is an atom."""
    tree = ast.parse(text, mode="eval").body
    if isinstance(tree, (ast.Name, ast.Constant, ast.Call, ast.Subscript, ast.Attribute, ast.Tuple, ast.List)):
        return None
    return type(tree.op) if isinstance(tree, ast.BinOp) else type(tree)


def factor(text: str) -> str:
    """The text where any operator may stand beside it."""
    return text if _operator(text) is None else f"({text})"


def summand(text: str) -> str:
    """The text where a + stands beside it."""
    return text if _operator(text) in (None, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod) else f"({text})"


def add_text(start: str, more: str, stride: int) -> str:
    """start + stride * more, both texts of integers."""
    if stride != 1:
        more = f"{stride} * {factor(more)}" if not more.isdigit() else str(int(more) * stride)
    if start.lstrip("-").isdigit() and more.isdigit():
        return str(int(start) + int(more))
    if more == "0":
        return start
    if start == "0":
        return more
    return f"{summand(start)} + {summand(more)}"
