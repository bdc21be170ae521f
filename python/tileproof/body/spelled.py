"""Primitives that the language has not, spelled out in those that it has."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import jaxpr as jx
from ..errors import Unsupported
from ..refusals import WORDS
from .elementwise import Elementwise
from .values import Value, number, shape_text

# lax.reduce by one operation: the reduction, how the start joins it, the start that changes nothing
MONOIDS = {"add": ("sum", "{} + {}", 0.0), "mul": ("prod", "{} * {}", 1.0), "max": ("max", "maximum({}, {})", -np.inf), "min": ("min", "minimum({}, {})", np.inf),
           "or": ("any", "{} | {}", 0.0), "and": ("all", "{} & {}", 1.0)}
PAIRS = ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F))


class Spelled(Elementwise):
    """Each as JAX defines it, where both are defined."""

    def named(self, x: Value) -> Value:
        """The value under a name: it is written several times."""
        x = self.strong(x)
        return x if self.cheap(x) else self.assign(x)

    def do_reciprocal(self, eqn: Any) -> None:
        """approx: with the digits of bfloat16, as JAX interprets it."""
        x = self.strong(self.read(eqn.invars[0]))
        if not eqn.params["approx"]:
            self.finish(eqn, Value(f"1.0 / {x.operand()}", atom=False))
            return
        self.finish(eqn, Value(f"(1.0 / {x.operand()}.astype(bfloat16)).astype({x.dtype})"))

    def do_reduce_precision(self, eqn: Any) -> None:
        x, digits = self.strong(self.read(eqn.invars[0])), (eqn.params["exponent_bits"], eqn.params["mantissa_bits"])
        have = {"float32": (8, 23), "bfloat16": (8, 7), "float16": (5, 10), "float64": (11, 52)}.get(x.dtype, (0, 0))
        if digits[0] >= have[0] and digits[1] >= have[1]:
            self.env[eqn.outvars[0]] = x
        elif x.dtype == "float32" and digits == (8, 7):
            self.finish(eqn, Value(f"{x.operand()}.astype(bfloat16).astype(float32)"))
        else:
            raise Unsupported(f"reduce_precision to {digits[0]} bits of exponent and {digits[1]} of mantissa is not supported", self.place,
                              "cast to the narrower dtype and back, with `.astype`")

    def do_population_count(self, eqn: Any) -> None:
        x = self.strong(self.read(eqn.invars[0]))
        self.finish(eqn, self.bits_set(self.unsigned(x), x.dtype))

    def do_clz(self, eqn: Any) -> None:
        """The bits that are not set once each set bit is copied to the right."""
        x = self.strong(self.read(eqn.invars[0]))
        v = self.assign(self.unsigned(x))
        for k in (1, 2, 4, 8, 16):
            v = self.assign(Value(f"{v.text} | shift_right_logical({v.text}, {k})", x.shape, "uint32"))
        self.finish(eqn, Value(f"{self.width(x.dtype)} - {self.bits_set(v, x.dtype).text}", atom=False))

    def width(self, dtype: str) -> int:
        if not dtype.startswith(("int", "uint")) or dtype.endswith(("4", "64")) or dtype in ("int2", "uint2"):
            raise Unsupported(f"the bits of {dtype} are not supported", self.place, "cast to int32 first")
        return int(dtype.lstrip("uint"))

    def unsigned(self, x: Value) -> Value:
        """The bits of an integer of at most 32 as a uint32."""
        bits = self.width(x.dtype)
        own = x.operand() if x.dtype.startswith("uint") else f"bitcast({x.text}, uint{bits})"
        return Value(own if bits == 32 else f"{own}.astype(uint32)", x.shape, "uint32")

    def bits_set(self, x: Value, dtype: str) -> Value:
        v = self.named(x)
        for shift, mask in PAIRS:
            other = f"shift_right_logical({v.text}, {shift})"
            v = self.assign(Value(f"({v.text} & {mask}) + ({other} & {mask})", x.shape, "uint32"))
        for shift in (8, 16):
            v = self.assign(Value(f"{v.text} + shift_right_logical({v.text}, {shift})", x.shape, "uint32"))
        return Value(f"({v.text} & 63).astype({dtype})", x.shape, dtype)

    def do_reduce(self, eqn: Any) -> None:
        """lax.reduce, where its function is one operation of both parameters."""
        inner = jx.open_jaxpr(eqn.params["jaxpr"])
        names = [e.primitive.name for e in inner.eqns]
        dtype = jx.dtype_name(eqn.invars[0].aval)
        simple = len(eqn.invars) == 2 and len(inner.eqns) == 1 and names[0] in MONOIDS and set(inner.eqns[0].invars) == set(inner.invars)
        if not simple or (dtype == "bool") != (names[0] in ("or", "and")):
            raise Unsupported(f"{WORDS['reduce'][0]} is not supported", self.place, WORDS["reduce"][1])
        reduction, join, neutral = MONOIDS[names[0]]
        x, start = self.strong(self.read(eqn.invars[0])), self.read(eqn.invars[1])
        axes = tuple(map(int, eqn.params["dimensions"]))
        text = f"{reduction}({x.text}, axis={axes[0] if len(axes) == 1 else shape_text(axes)})"
        if start.number is not None and float(start.number) == neutral:
            self.finish(eqn, Value(text))
        else:
            self.finish(eqn, Value(join.format(text, start.operand() if join[0] == "{" else start.text), atom=join[0] != "{"))

    def do_roll(self, eqn: Any) -> None:
        """With a stride, row n goes n strides farther: bit by bit of how far."""
        x, shift = self.strong(self.read(eqn.invars[0])), self.read(eqn.invars[1])
        axis, stride = eqn.params["axis"], eqn.params.get("stride")
        if stride is None:
            self.finish(eqn, Value(f"roll({x.text}, {shift.text}, axis={axis})"))
            return
        extent = x.shape[axis]
        lanes = f"iota(int32, {shape_text(x.shape)}, {eqn.params['stride_axis']})"
        far = self.assign(Value(f"({lanes} * {stride} + {shift.operand()}) % {extent}", x.shape))
        for bit in range((extent - 1).bit_length()):
            x = self.named(x)
            x = self.assign(Value(f"where((({far.text} >> {bit}) & 1) == 1, roll({x.text}, {1 << bit}, axis={axis}), {x.text})", x.shape, x.dtype))
        self.env[eqn.outvars[0]] = x

    def do_unstack(self, eqn: Any) -> None:
        x, axis = self.named(self.read(eqn.invars[0])), eqn.params["axis"]
        for n, var in enumerate(eqn.outvars):
            if not jx.is_dropped(var):
                self.env[var] = self.assign(Value(f"take({x.text}, {n}, axis={axis})", tuple(var.aval.shape), x.dtype))

    def do_platform_index(self, eqn: Any) -> None:
        """A kernel for TPUs is meant."""
        platforms = list(eqn.params["platforms"])
        n = next((n for n, names in enumerate(platforms) if names is not None and "tpu" in names), None)
        n = next((n for n, names in enumerate(platforms) if names is None), 0) if n is None else n
        self.env[eqn.outvars[0]] = number(n, "int32")

    # ---- views of the bits ----

    def do_bitcast(self, eqn: Any) -> None:
        """pltpu.bitcast: rows are packed into, or taken out of, wider elements."""
        x = self.strong(self.read(eqn.invars[0]))
        self.finish(eqn, self.rewidth(x, jx.dtype_name(eqn.outvars[0].aval)))

    def do_bitcast_convert_type(self, eqn: Any) -> None:
        x, out = self.strong(self.read(eqn.invars[0])), eqn.outvars[0].aval
        if tuple(x.shape) != tuple(out.shape):
            raise Unsupported("lax.bitcast_convert_type between dtypes of different width is not supported", self.place, "use pltpu.bitcast")
        self.finish(eqn, Value(f"bitcast({x.text}, {jx.dtype_name(out)})"))

    def rewidth(self, x: Value, dtype: str) -> Value:
        """The value with its bits read as another dtype; of another width: along the last dimension but one."""
        have, want = jx.width(x.dtype), jx.width(dtype)
        if have == want:
            return Value(f"bitcast({x.text}, {dtype})", x.shape, dtype)
        if max(have, want) > 4 or "int4" in x.dtype + dtype or "bool" in (x.dtype, dtype) or len(x.shape) < 2:
            raise Unsupported(f"a bitcast of {x.dtype} to {dtype} is not supported", self.place, "shift and mask the bits of an int32")
        return self.unpacked(x, dtype, have // want) if have > want else self.packed(x, dtype, want // have)

    def packed(self, x: Value, dtype: str, parts: int) -> Value:
        """Elements of `parts` rows each, the first in the lowest bits."""
        bits, rows = 8 * jx.width(x.dtype), x.shape[-2] // parts
        shape = (*x.shape[:-2], rows, x.shape[-1])
        u = self.assign(Value(f"bitcast({x.text}, uint{bits}).astype(uint32)", x.shape, "uint32"))
        u = self.assign(Value(f"reshape({u.text}, {shape_text((*x.shape[:-2], rows, parts, x.shape[-1]))})", (), "uint32"))
        axis = len(x.shape) - 1
        taken = [f"take({u.text}, {p}, axis={axis})" for p in range(parts)]
        text = " | ".join([taken[0], *(f"({t} << {bits * (p + 1)})" for p, t in enumerate(taken[1:]))])
        return self.bits_as(Value(text, shape, "uint32", atom=False), dtype)

    def bits_as(self, u: Value, dtype: str) -> Value:
        """The lowest bits of a uint32 as another dtype."""
        bits = 8 * jx.width(dtype)
        own = u if bits == 32 else Value(f"{u.operand()}.astype(uint{bits})", u.shape, f"uint{bits}")
        return own if dtype == own.dtype else Value(f"bitcast({own.text}, {dtype})", u.shape, dtype)

    def unpacked(self, x: Value, dtype: str, parts: int) -> Value:
        """`parts` rows of narrower elements from each row."""
        have, bits = 8 * jx.width(x.dtype), 8 * jx.width(dtype)
        own = x.operand() if x.dtype == f"uint{have}" else f"bitcast({x.text}, uint{have})"
        u = self.assign(Value(own if have == 32 else f"{own}.astype(uint32)", x.shape, "uint32"))
        rows = [f"(shift_right_logical({u.text}, {bits * p}) & {(1 << bits) - 1}).astype(uint{bits})" for p in range(parts)]
        rows = [self.assign(Value(r, x.shape, f"uint{bits}")).text for r in rows]
        shape = (*x.shape[:-2], x.shape[-2] * parts, x.shape[-1])
        text = f"reshape(stack([{', '.join(rows)}], axis={len(x.shape) - 1}), {shape_text(shape)})"
        return Value(text if dtype == f"uint{bits}" else f"bitcast({text}, {dtype})", shape, dtype)

    def do_pack_elementwise(self, eqn: Any) -> None:
        """The operands' narrowed elements side by side, the first in the lowest bits."""
        xs, narrow = [self.strong(self.read(a)) for a in eqn.invars], str(np.dtype(eqn.params["packed_dtype"]))
        bits, out = jx.width(narrow) * 8, jx.dtype_name(eqn.outvars[0].aval)
        if out != "uint32" or bits not in (8, 16):
            raise Unsupported(f"pack_elementwise of {xs[0].dtype} to {narrow} is not supported", self.place, "shift and mask the bits of an int32")
        parts = [f"bitcast({x.operand()}.astype(bfloat16), uint16).astype(uint32)" if narrow == "bfloat16"
                 else f"({x.operand() if x.dtype == 'uint32' else f'bitcast({x.text}, uint32)'} & {(1 << bits) - 1})" for x in xs]
        self.finish(eqn, Value(" | ".join([parts[0], *(f"({p} << {bits * (n + 1)})" for n, p in enumerate(parts[1:]))]), atom=False))

    def do_unpack_elementwise(self, eqn: Any) -> None:
        x, p = self.strong(self.read(eqn.invars[0])), eqn.params
        narrow, out = str(np.dtype(p["packed_dtype"])), jx.dtype_name(eqn.outvars[0].aval)
        bits = jx.width(narrow) * 8
        if jx.width(x.dtype) != 4 or bits not in (8, 16) or out not in ("float32", "int32", "uint32"):
            raise Unsupported(f"unpack_elementwise of {narrow} to {out} is not supported", self.place, "shift and mask the bits of an int32")
        u = x.operand() if x.dtype == "uint32" else f"bitcast({x.text}, uint32)"
        part = f"(shift_right_logical({u}, {bits * p['index']}) & {(1 << bits) - 1}).astype(uint{bits})"
        own = part if narrow == f"uint{bits}" else f"bitcast({part}, {narrow})"
        self.finish(eqn, Value(f"{own}.astype({out})"))
