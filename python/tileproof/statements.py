"""Jaxprs as text of the spec language: bodies and index maps.

A value that is used once and is short stands where it is used; every other one
gets a name. Reads of refs are statements of their own, in order.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

import numpy as np

from . import jaxpr as jx
from .errors import Unsupported

LONGEST_INLINE = 72


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

    def operand(self) -> str:
        return self.text if self.atom else f"({self.text})"


@dataclasses.dataclass
class Ref:
    """A ref, seen through the index transforms so far."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    table: bool = False


def number(value: Any, dtype: str) -> Value:
    """A scalar constant."""
    v = np.asarray(value)
    if dtype == "bool":
        return Value("True" if bool(v) else "False", (), "bool")
    if v.dtype.kind in "iu" and dtype.startswith(("int", "uint")):
        return Value(str(int(v)), (), dtype, atom=int(v) >= 0, literal=True, number=int(v))
    f = float(v)
    if f != f:
        return Value("nan", (), dtype, literal=True, number=f)
    if f in (float("inf"), float("-inf")):
        return Value("inf" if f > 0 else "-inf", (), dtype, atom=f > 0, literal=True, number=f)
    text = repr(f)
    for digits in range(1, 17):
        short = f"{f:.{digits}g}"
        if np.float32(short) == np.float32(f) if dtype != "float64" else float(short) == f:
            text = short
            break
    if not any(c in text for c in ".en"):
        text += ".0"
    return Value(text, (), dtype, atom=not text.startswith("-"), literal=True, number=f)


UNARY = {
    "abs": "abs", "sign": "sign", "exp": "exp", "exp2": "exp2", "log": "log", "log1p": "log1p", "expm1": "expm1", "sqrt": "sqrt",
    "rsqrt": "rsqrt", "tanh": "tanh", "erf": "erf", "erfc": "erfc", "logistic": "logistic", "sin": "sin", "cos": "cos", "tan": "tan",
    "floor": "floor", "ceil": "ceil", "is_finite": "is_finite", "square": "square",
}
INFIX = {
    "add": "+", "add_any": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "shift_left": "<<",
    "shift_right_arithmetic": ">>", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}
FUNCTION2 = {"max": "maximum", "min": "minimum", "rem": "lax_rem", "pow": "pow", "shift_right_logical": "shift_right_logical"}
REDUCE = {"reduce_sum": "sum", "reduce_max": "max", "reduce_min": "min", "reduce_prod": "prod", "reduce_or": "any", "reduce_and": "all"}
RUNNING = {"cumsum", "cumprod", "cummax", "cummin"}
IDENTITY = {"stop_gradient", "copy", "copy_p", "multiple_of", "optimization_barrier", "reduce_precision", "pvary"}
ELEMENTWISE = set(UNARY) | set(INFIX) | set(FUNCTION2) | {"div", "neg", "not", "select_n", "clamp", "integer_pow", "convert_element_type", "round"}


class Writer:
    """Statements of one kernel body."""

    def __init__(self, axes: list[str], taken: set[str]):
        self.axes, self.taken = axes, set(taken)
        self.lines: list[str] = []
        self.places: list[str | None] = []
        self.indent = 0
        self.place: str | None = None
        self.count = 0
        self.env: dict[Any, Value | Ref] = {}
        self.uses: dict[Any, int] = {}

    # ---- lines and names ----

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)
        self.places.append(self.place)

    def name(self, stem: str = "v") -> str:
        while True:
            self.count += 1
            name = f"{stem}{self.count}"
            if name not in self.taken:
                self.taken.add(name)
                return name

    def assign(self, value: Value, stem: str = "v") -> Value:
        """Give the value a name."""
        name = self.name(stem)
        self.line(f"{name} = {self.typed(value)}")
        return dataclasses.replace(value, text=name, atom=True, literal=False, number=None, splat=None)

    def typed(self, value: Value) -> str:
        """Text with a dtype and the full shape of its own."""
        if value.splat is not None:
            return f"full({shape_text(value.shape)}, {value.splat.text}, {value.dtype})"
        if value.literal:
            return f"full((), {value.text}, {value.dtype})"
        return value.text

    def strong(self, value: Value) -> Value:
        if value.splat is not None or value.literal:
            return dataclasses.replace(value, text=self.typed(value), atom=True, literal=False, number=None, splat=None)
        return value

    # ---- jaxprs ----

    def read(self, atom: Any) -> Any:
        if jx.is_literal(atom):
            return number(atom.val, jx.dtype_name(atom.aval))
        return self.env[atom]

    def bind(self, params: list[Any], values: list[Any]) -> None:
        for p, v in zip(params, values):
            self.env[p] = v

    def count_uses(self, j: Any) -> None:
        for eqn in jx.equations(j):
            for a in eqn.invars:
                if not jx.is_literal(a):
                    self.uses[a] = self.uses.get(a, 0) + 1
        for a in jx.open_jaxpr(j).outvars:
            if not jx.is_literal(a):
                self.uses[a] = self.uses.get(a, 0) + 1

    def run(self, j: Any, values: list[Any]) -> list[Any]:
        """Write the jaxpr's statements; the values of its results."""
        inner = jx.open_jaxpr(j)
        for var, const in zip(inner.constvars, jx.consts_of(j)):
            self.env[var] = self.constant(const, var.aval)
        self.bind(inner.invars, values)
        self.count_uses(j)
        for eqn in jx.equations(j):
            self.place = jx.where(eqn) or self.place
            self.equation(eqn)
        return [self.read(a) for a in inner.outvars]

    def constant(self, const: Any, aval: Any) -> Value:
        a = np.asarray(const)
        dtype = jx.dtype_name(aval)
        if a.ndim == 0:
            return number(a, dtype)
        flat = a.reshape(-1)
        if flat.size and (flat == flat[0]).all():
            return Value("", a.shape, dtype, splat=number(flat[0], dtype))
        raise Unsupported(f"a constant array of shape {a.shape} in the body; pass it as an input", self.place)

    def finish(self, eqn: Any, value: Value) -> None:
        """Bind the only result: in place when short and used once, else by name."""
        var = eqn.outvars[0]
        if not self.uses.get(var, 0):
            return
        value.shape, value.dtype = tuple(var.aval.shape), jx.dtype_name(var.aval)
        once = self.uses.get(var, 0) <= 1
        simple = value.splat is not None or value.literal or (value.atom and value.text.isidentifier())
        if not simple and not (once and len(value.text) <= LONGEST_INLINE):
            truth = value.truth
            value = self.assign(value)
            value.truth = truth
        self.env[var] = value

    def equation(self, eqn: Any) -> None:
        name = eqn.primitive.name
        handler: Callable[[Any], None] | None = getattr(self, "do_" + name, None)
        if handler:
            handler(eqn)
        elif name in IDENTITY and len(eqn.invars) == 1:
            if name == "reduce_precision":
                raise Unsupported("`reduce_precision`", self.place)
            self.env[eqn.outvars[0]] = self.read(eqn.invars[0])
        elif name in jx.INLINED:
            self.inline(eqn)
        elif name in ELEMENTWISE:
            self.elementwise(eqn)
        elif name in REDUCE:
            axes = tuple(int(a) for a in eqn.params["axes"])
            x = self.strong(self.read(eqn.invars[0]))
            self.finish(eqn, Value(f"{REDUCE[name]}({x.text}, axis={axes_text(axes)})"))
        elif name in RUNNING:
            x = self.strong(self.read(eqn.invars[0]))
            reverse = ", reverse=True" if eqn.params["reverse"] else ""
            self.finish(eqn, Value(f"{name}({x.text}, axis={eqn.params['axis']}{reverse})"))
        elif name in ("argmax", "argmin"):
            x = self.strong(self.read(eqn.invars[0]))
            self.finish(eqn, Value(f"{name}({x.text}, axis={axes_text(tuple(eqn.params['axes']))})"))
        else:
            raise Unsupported(f"the primitive `{name}`", self.place)

    def inline(self, eqn: Any) -> None:
        values = [self.read(a) for a in eqn.invars]
        label = str(eqn.params.get("name", ""))
        inner = next(jx.inner_jaxprs(eqn))
        idiom = {"floor_divide": "//", "remainder": "%"}.get(label)
        if idiom and len(values) == 2 and len(eqn.outvars) == 1 and jx.dtype_name(eqn.outvars[0].aval).startswith(("int", "uint")):
            a, b = self.pair(values)
            self.finish(eqn, Value(f"{a.operand()} {idiom} {b.operand()}", atom=False))
            return
        # what is used several times inside is named first
        self.count_uses(inner)
        params = jx.open_jaxpr(inner).invars
        named = [self.assign(v) if isinstance(v, Value) and not self.cheap(v) and self.uses.get(p, 0) > 1 else v
                 for p, v in zip(params, values)]
        place = self.place
        results = self.run(inner, named)
        self.place = place
        for var, value in zip(eqn.outvars, results):
            if jx.is_dropped(var):
                continue
            if isinstance(value, Value) and not self.cheap(value) and self.uses.get(var, 0) > 1:
                value = self.assign(value)
            self.env[var] = value

    @staticmethod
    def cheap(v: Value) -> bool:
        return v.literal or v.splat is not None or (v.atom and v.text.replace("_", "a").isalnum())

    # ---- elementwise ----

    def pair(self, values: list[Value]) -> tuple[Value, ...]:
        """Operands of an elementwise operation: lanes that are all one scalar
        are written as that scalar where a partner brings the shape."""
        arrays = [v for v in values if v.shape and v.splat is None]
        out = list(values)
        for i, v in enumerate(values):
            if v.splat is None:
                continue
            if arrays:
                out[i] = v.splat
            else:
                out[i] = self.strong(v)
                arrays.append(out[i])
        if all(v.literal for v in out):
            out[0] = self.strong(out[0])
        return tuple(out)

    def elementwise(self, eqn: Any) -> None:
        name = eqn.primitive.name
        values = [self.read(a) for a in eqn.invars]
        shape = tuple(eqn.outvars[0].aval.shape)
        dtype = jx.dtype_name(eqn.outvars[0].aval)
        if all(v.number is not None for v in values):
            folded = eqn.primitive.bind(*[np.asarray(v.number, jx.dtype_name(a.aval)) for v, a in zip(values, eqn.invars)], **eqn.params)
            self.env[eqn.outvars[0]] = number(folded, dtype)
            return
        if shape and all(v.splat is not None or not v.shape for v in values) and name != "select_n":
            scalars = [v.splat if v.splat is not None else v for v in values]
            if not all(s.literal for s in scalars):
                inner = self.operation(eqn, scalars)
                self.env[eqn.outvars[0]] = Value("", shape, dtype, splat=self.assign(dataclasses.replace(inner, shape=(), dtype=dtype)))
                return
        self.finish(eqn, self.operation(eqn, values))

    def operation(self, eqn: Any, values: list[Value]) -> Value:
        name = eqn.primitive.name
        if name == "select_n":
            return self.select(values)
        if name == "convert_element_type":
            return self.convert(eqn, values[0])
        if name == "clamp":
            lo, x, hi = values
            lo, hi = (v.splat if v.splat is not None else v for v in (lo, hi))
            return Value(f"clip({self.strong(x).text}, {lo.text}, {hi.text})")
        values = list(self.pair(values))
        if name == "integer_pow":
            return Value(f"{values[0].operand()} ** {eqn.params['y']}", atom=False)
        if name == "neg":
            return Value(f"-{values[0].operand()}", atom=False)
        if name == "not":
            return Value(f"~{values[0].operand()}", atom=False)
        if name == "round":
            if int(eqn.params["rounding_method"]) != 1:
                raise Unsupported("rounding of ties away from zero", self.place)
            return Value(f"round({values[0].text})")
        if name in UNARY:
            return Value(f"{UNARY[name]}({values[0].text})")
        if name == "div":
            if jx.dtype_name(eqn.outvars[0].aval).startswith(("int", "uint")):
                return Value(f"lax_div({values[0].text}, {values[1].text})")
            return Value(f"{values[0].operand()} / {values[1].operand()}", atom=False)
        if name in FUNCTION2:
            return Value(f"{FUNCTION2[name]}({values[0].text}, {values[1].text})")
        return Value(f"{values[0].operand()} {INFIX[name]} {values[1].operand()}", atom=False)

    def select(self, values: list[Value]) -> Value:
        if len(values) != 3 or values[0].dtype != "bool":
            raise Unsupported("a select between more than two values", self.place)
        c, no, yes = values
        if c.splat is not None:
            c = c.splat
        shaped = bool(c.shape)
        arms = []
        for v in (yes, no):
            arms.append(v.splat if v.splat is not None and shaped else v if v.splat is None else self.strong(v))
        if not shaped and not any(a.shape for a in arms):
            shaped = True
        if all(a.literal for a in arms):
            arms[0] = self.strong(arms[0])
        return Value(f"where({c.text}, {arms[0].text}, {arms[1].text})")

    def convert(self, eqn: Any, x: Value) -> Value:
        to = jx.dtype_name(eqn.outvars[0].aval)
        if x.splat is not None:
            return Value("", splat=self.convert(eqn, x.splat))
        if x.number is not None and (to.startswith(("float", "bfloat", "int", "uint"))):
            return number(x.number, to)
        if x.dtype == to:
            return dataclasses.replace(x)
        if to == "bool" and x.truth is not None:
            return dataclasses.replace(x.truth)
        made = Value(f"{x.operand()}.astype({to})")
        if x.dtype == "bool":
            made.truth = x
        return made

    # ---- shapes ----

    def do_broadcast_in_dim(self, eqn: Any) -> None:
        x = self.read(eqn.invars[0])
        shape, dims = tuple(eqn.params["shape"]), tuple(eqn.params["broadcast_dimensions"])
        if not x.shape or x.splat is not None:
            scalar = x.splat if x.splat is not None else x
            if not self.cheap(scalar):
                scalar = self.assign(scalar)
            self.env[eqn.outvars[0]] = Value("", shape, jx.dtype_name(eqn.outvars[0].aval), splat=scalar) if shape else x
            return
        between = tuple(x.shape[dims.index(d)] if d in dims else 1 for d in range(len(shape)))
        text, atom = x.text, x.atom
        if between != x.shape:
            text, atom = f"reshape({text}, {shape_text(between)})", True
        if between != shape:
            text, atom = f"broadcast_to({text}, {shape_text(shape)})", True
        self.finish(eqn, Value(text, atom=atom))

    def reshaped(self, eqn: Any) -> None:
        x = self.read(eqn.invars[0])
        shape = tuple(eqn.outvars[0].aval.shape)
        if x.splat is not None:
            self.env[eqn.outvars[0]] = dataclasses.replace(x, shape=shape) if shape else x.splat
        elif not shape and x.shape:
            self.finish(eqn, Value(f"reshape({x.text}, ())"))
        elif not x.shape:
            self.env[eqn.outvars[0]] = Value("", shape, x.dtype, splat=x if self.cheap(x) else self.assign(x)) if shape else x
        else:
            self.finish(eqn, Value(f"reshape({x.text}, {shape_text(shape)})"))

    def do_reshape(self, eqn: Any) -> None:
        if eqn.params.get("dimensions") is not None:
            raise Unsupported("a reshape with dimensions", self.place)
        self.reshaped(eqn)

    def do_squeeze(self, eqn: Any) -> None:
        self.reshaped(eqn)

    def do_expand_dims(self, eqn: Any) -> None:
        self.reshaped(eqn)

    def do_broadcast_to(self, eqn: Any) -> None:
        x = self.read(eqn.invars[0])
        shape = tuple(eqn.outvars[0].aval.shape)
        if not x.shape or x.splat is not None:
            self.env[eqn.outvars[0]] = Value("", shape, jx.dtype_name(eqn.outvars[0].aval), splat=x.splat if x.splat is not None else x)
        else:
            self.finish(eqn, Value(f"broadcast_to({x.text}, {shape_text(shape)})"))

    def do_transpose(self, eqn: Any) -> None:
        x = self.strong(self.read(eqn.invars[0]))
        self.finish(eqn, Value(f"transpose({x.text}, {shape_text(tuple(eqn.params['permutation']))})"))

    def do_concatenate(self, eqn: Any) -> None:
        parts = [self.strong(self.read(a)).text for a in eqn.invars]
        self.finish(eqn, Value(f"concatenate([{', '.join(parts)}], axis={eqn.params['dimension']})"))

    def do_stack(self, eqn: Any) -> None:
        parts = [self.strong(self.read(a)).text for a in eqn.invars]
        self.finish(eqn, Value(f"stack([{', '.join(parts)}], axis={eqn.params.get('axis', 0)})"))

    def do_slice(self, eqn: Any) -> None:
        x = self.strong(self.read(eqn.invars[0]))
        starts, limits, strides = (eqn.params[k] for k in ("start_indices", "limit_indices", "strides"))
        tail = f", {shape_text(tuple(strides))}" if strides is not None and any(s != 1 for s in strides) else ""
        self.finish(eqn, Value(f"slice({x.text}, {shape_text(tuple(starts))}, {shape_text(tuple(limits))}{tail})"))

    def do_split(self, eqn: Any) -> None:
        x = self.strong(self.read(eqn.invars[0]))
        if not x.atom or not self.cheap(x):
            x = self.assign(x)
        axis, at = eqn.params["axis"], 0
        for var, size in zip(eqn.outvars, eqn.params["sizes"]):
            starts = [0] * len(x.shape)
            limits = list(x.shape)
            starts[axis], limits[axis] = at, at + int(size)
            at += int(size)
            if not jx.is_dropped(var):
                part = Value(f"slice({x.text}, {shape_text(tuple(starts))}, {shape_text(tuple(limits))})", tuple(var.aval.shape), x.dtype)
                self.env[var] = self.assign(part)

    def do_pad(self, eqn: Any) -> None:
        x, value = self.strong(self.read(eqn.invars[0])), self.read(eqn.invars[1])
        config = eqn.params["padding_config"]
        if any(lo < 0 or hi < 0 or inner for lo, hi, inner in config):
            raise Unsupported("a pad with negative or interior padding", self.place)
        widths = ", ".join(f"({lo}, {hi})" for lo, hi, _ in config)
        self.finish(eqn, Value(f"pad({x.text}, {value.text}, ({widths}{',' if len(config) == 1 else ''}))"))

    def do_rev(self, eqn: Any) -> None:
        x = self.strong(self.read(eqn.invars[0]))
        text = x.text
        for axis in eqn.params["dimensions"]:
            text = f"flip({text}, axis={axis})"
        self.finish(eqn, Value(text))

    def do_tile(self, eqn: Any) -> None:
        x = self.strong(self.read(eqn.invars[0]))
        reps = tuple(eqn.params["reps"])
        if all(r == 1 for r in reps):
            self.env[eqn.outvars[0]] = x
        else:
            self.finish(eqn, Value(f"tile({x.text}, {shape_text(reps)})"))

    def do_repeat(self, eqn: Any) -> None:
        """pltpu.repeat: the whole, several times."""
        x = self.strong(self.read(eqn.invars[0]))
        reps = [1] * len(x.shape)
        reps[eqn.params["axis"]] = eqn.params["repeats"]
        self.finish(eqn, Value(f"tile({x.text}, {shape_text(tuple(reps))})"))

    def do_roll(self, eqn: Any) -> None:
        x, shift = self.strong(self.read(eqn.invars[0])), self.read(eqn.invars[1])
        if eqn.params.get("stride") is not None:
            raise Unsupported("a roll with a stride", self.place)
        self.finish(eqn, Value(f"roll({x.text}, {shift.text}, axis={eqn.params['axis']})"))

    def do_bitcast_convert_type(self, eqn: Any) -> None:
        x = self.strong(self.read(eqn.invars[0]))
        if tuple(x.shape) != tuple(eqn.outvars[0].aval.shape):
            raise Unsupported("a bitcast between dtypes of different width", self.place)
        self.finish(eqn, Value(f"bitcast({x.text}, {jx.dtype_name(eqn.outvars[0].aval)})"))

    do_bitcast = do_bitcast_convert_type

    def clamped(self, start: Value, extent: int, size: int) -> Value:
        """JAX moves a window that would leave the array back inside."""
        if start.number is not None:
            return number(min(max(int(start.number), 0), extent - size), "int32")
        value = Value(f"clip({start.text}, 0, {extent - size})", (), "int32")
        return value if extent == size else self.assign(value)

    def do_dynamic_slice(self, eqn: Any) -> None:
        x = self.strong(self.read(eqn.invars[0]))
        text = x.text
        for d, (atom, size) in enumerate(zip(eqn.invars[1:], eqn.params["slice_sizes"])):
            if size == x.shape[d]:
                continue
            start = self.clamped(self.read(atom), x.shape[d], size)
            text = f"take({text}, iota(int32, ({size},), 0) + {start.operand()}, axis={d})"
        self.finish(eqn, Value(text, atom=text != x.text or x.atom))

    def do_dynamic_update_slice(self, eqn: Any) -> None:
        x, update = (self.strong(self.read(a)) for a in eqn.invars[:2])
        shape = shape_text(x.shape)
        widths = ", ".join(f"(0, {n - k})" for n, k in zip(x.shape, update.shape))
        text, masks = f"pad({update.text}, 0, ({widths}{',' if len(x.shape) == 1 else ''}))", []
        if x.dtype == "bool":
            raise Unsupported("an update of a slice of bools", self.place)
        for d, atom in enumerate(eqn.invars[2:]):
            if update.shape[d] == x.shape[d]:
                continue
            start = self.clamped(self.read(atom), x.shape[d], update.shape[d])
            text = f"roll({text}, {start.text}, axis={d})"
            lane = f"iota(int32, {shape}, {d})"
            masks.append(f"(({lane} >= {start.operand()}) & ({lane} < {start.operand()} + {update.shape[d]}))")
        if not masks:
            self.env[eqn.outvars[0]] = update
            return
        self.finish(eqn, Value(f"where({' & '.join(masks)}, {text}, {x.text})"))

    def do_gather(self, eqn: Any) -> None:
        """jnp.take along one axis; every other form is not expressed."""
        x, index = (self.strong(self.read(a)) for a in eqn.invars)
        d, sizes = eqn.params["dimension_numbers"], tuple(eqn.params["slice_sizes"])
        axis = d.start_index_map[0] if len(d.start_index_map) == 1 else -1
        whole = axis >= 0 and all(s == (1 if n == axis else x.shape[n]) for n, s in enumerate(sizes))
        batch = len(index.shape) - 1
        offsets = tuple(n for n in range(len(x.shape) - 1 + batch) if not axis <= n < axis + batch)
        if not whole or tuple(d.collapsed_slice_dims) != (axis,) or tuple(d.offset_dims) != offsets or d.operand_batching_dims:
            raise Unsupported("a gather that is no take along one axis", self.place)
        flat = f"reshape({index.text}, {shape_text(index.shape[:-1])})"
        self.finish(eqn, Value(f"take({x.text}, {flat}, axis={axis})"))

    def do_iota(self, eqn: Any) -> None:
        p = eqn.params
        self.finish(eqn, Value(f"iota({np.dtype(p['dtype']).name}, {shape_text(tuple(p['shape']))}, {p['dimension']})"))

    def do_dot_general(self, eqn: Any) -> None:
        a, b = (self.strong(self.read(v)) for v in eqn.invars[:2])
        (ca, cb), (ba, bb) = eqn.params["dimension_numbers"]
        text = f"dot({a.text}, {b.text}"
        if tuple(ca) != (len(a.shape) - 1,) or tuple(cb) != (0,) or ba:
            text += f", contract=({list(map(int, ca))}, {list(map(int, cb))})"
        if ba:
            text += f", batch=({list(map(int, ba))}, {list(map(int, bb))})"
        out = jx.dtype_name(eqn.outvars[0].aval)
        if out != a.dtype:
            text += f", preferred_element_type={out}"
        if a.dtype != b.dtype:
            raise Unsupported(f"a dot of {a.dtype} and {b.dtype}", self.place)
        self.finish(eqn, Value(text + ")"))

    # ---- the grid ----

    def do_program_id(self, eqn: Any) -> None:
        self.env[eqn.outvars[0]] = Value(self.axes[eqn.params["axis"]])

    def do_num_programs(self, eqn: Any) -> None:
        self.env[eqn.outvars[0]] = Value(f"num_programs({self.axes[eqn.params['axis']]})")

    # ---- memory ----

    def subscript(self, eqn: Any, count: int) -> tuple[Ref, str, tuple[int, ...]]:
        ref = self.read(eqn.invars[0])
        transforms, leaf = jx.transforms_of(eqn, count)
        transforms = [t for t in transforms if type(t).__name__ != "NDIndexer" or not self.takes_all(t, leaf)]
        parts: list[Any] = [("full", n) for n in ref.shape]
        for t in transforms:
            if type(t).__name__ != "NDIndexer":
                raise Unsupported(f"a view of `{ref.name}` through {type(t).__name__}", self.place)
            parts = self.compose(ref, parts, t.indices, leaf)
        shape = tuple(p[1] if p[0] == "full" else p[2] for p in parts if p[0] != "int")
        if ref.table:
            if any(p[0] != "int" for p in parts):
                raise Unsupported(f"a read of more than one entry of the prefetched `{ref.name}`", self.place)
            return ref, f"{ref.name}[{', '.join(p[1] for p in parts)}]" if parts else ref.name, ()
        if all(p[0] == "full" for p in parts):
            return ref, f"{ref.name}[...]", shape
        texts = []
        for p in parts:
            if p[0] == "full":
                texts.append(":")
            elif p[0] == "int":
                texts.append(p[1])
            else:
                texts.append(f"ds({p[1]}, {p[2]}{f', {p[3]}' if p[3] != 1 else ''})")
        return ref, f"{ref.name}[{', '.join(texts)}]", shape

    @staticmethod
    def takes_all(t: Any, leaf: Any) -> bool:
        return all(type(i).__name__ == "Slice" and not isinstance(i.start, leaf) and i.start == 0 and i.size == n and i.stride == 1
                   for i, n in zip(t.indices, t.shape))

    def viewed(self, eqn: Any, count: int) -> tuple[Ref, list[Any], Any] | None:
        """A ref seen through a reshape: the ref, the transforms after it."""
        transforms, leaf = jx.transforms_of(eqn, count)
        if not transforms or type(transforms[0]).__name__ not in ("RefReshaper", "ReshapeTransform"):
            return None
        return self.read(eqn.invars[0]), transforms, leaf

    def load_viewed(self, eqn: Any) -> Value | None:
        """ref.reshape(…)[…] and ref[array, :]: the whole is read, then cut."""
        view = self.viewed(eqn, 1)
        if view:
            ref, transforms, leaf = view
            shape = tuple(int(d) for d in transforms[0].shape)
            value = self.assign(Value(f"reshape({ref.name}[...], {shape_text(shape)})", shape, ref.dtype))
            for t in transforms[1:]:
                value = self.cut(value, t, leaf)
            return value
        transforms, leaf = jx.transforms_of(eqn, 1)
        if len(transforms) == 1 and type(transforms[0]).__name__ == "NDIndexer" and transforms[0].int_indexer_shape:
            ref = self.read(eqn.invars[0])
            if ref.table:
                raise Unsupported(f"a read of more than one entry of the prefetched `{ref.name}`", self.place)
            return self.cut(self.assign(Value(f"{ref.name}[...]", ref.shape, ref.dtype)), transforms[0], leaf)
        return None

    def cut(self, value: Value, t: Any, leaf: Any) -> Value:
        """An indexer on a value: slices and scalars by take, at most one array."""
        if type(t).__name__ != "NDIndexer":
            raise Unsupported(f"a view through {type(t).__name__}", self.place)
        text, shape, axis, arrays = value.text, [], 0, 0
        for i, n in zip(t.indices, value.shape):
            if type(i).__name__ == "Slice":
                start = self.index_text(i.start, leaf)
                if start != "0" or i.size != n or i.stride != 1:
                    lane = f"iota(int32, ({i.size},), 0)" + (f" * {i.stride}" if i.stride != 1 else "")
                    text = f"take({text}, {lane} + {start}, axis={axis})"
                shape.append(int(i.size))
                axis += 1
                continue
            index = self.read(i.atom) if isinstance(i, leaf) else number(i, "int32")
            text = f"take({text}, {index.text}, axis={axis})"
            shape += list(index.shape)
            axis += len(index.shape)
            arrays += bool(index.shape)
        if arrays > 1:
            raise Unsupported("an access by several index arrays", self.place)
        return Value(text, tuple(shape), value.dtype)

    def index_text(self, x: Any, leaf: Any) -> str:
        atom = x.atom if isinstance(x, leaf) else x
        if isinstance(atom, (int, np.integer)):
            return str(int(atom))
        value = self.read(atom)
        if value.shape:
            raise Unsupported("an index that is an array (gather or scatter)", self.place)
        return value.text if value.dtype == "int32" else f"{value.operand()}.astype(int32)"

    def compose(self, ref: Ref, parts: list[Any], indices: Any, leaf: Any) -> list[Any]:
        """The parts of a ref after one more indexer: on the dimensions that are still there."""
        out, given = [], iter(indices)
        for p in parts:
            if p[0] == "int":
                out.append(p)
                continue
            extent = p[1] if p[0] == "full" else p[2]
            i = next(given)
            if type(i).__name__ != "Slice":
                text = self.index_text(i, leaf)
                out.append(("int", text if p[0] == "full" else add_text(p[1], text, p[3])))
                continue
            size = i.size
            if not isinstance(size, (int, np.integer)):
                raise Unsupported(f"a slice of `{ref.name}` of dynamic size", self.place)
            start = self.index_text(i.start, leaf)
            if start == "0" and size == extent and i.stride == 1:
                out.append(p)
            elif p[0] == "full":
                out.append(("slice", start, int(size), int(i.stride)))
            else:
                out.append(("slice", add_text(p[1], start, p[3]), int(size), p[3] * int(i.stride)))
        return out

    def do_get(self, eqn: Any) -> None:
        cut = self.load_viewed(eqn)
        if cut:
            self.env[eqn.outvars[0]] = self.assign(cut) if self.uses.get(eqn.outvars[0], 0) else cut
            return
        ref, text, shape = self.subscript(eqn, 1)
        value = Value(text, shape, ref.dtype)
        if ref.table:
            value.dtype = "int32"
            want = jx.dtype_name(eqn.outvars[0].aval)
            value = value if want == "int32" else Value(f"{text}.astype({want})", (), want)
            self.finish(eqn, value)
            return
        if self.uses.get(eqn.outvars[0], 0):
            self.env[eqn.outvars[0]] = self.assign(value)

    def do_swap(self, eqn: Any) -> None:
        view = self.viewed(eqn, 2)
        if view and len(view[1]) == 1 and not self.uses.get(eqn.outvars[0], 0):
            value = self.strong(self.read(eqn.invars[1]))
            self.line(f"{view[0].name}[...] = reshape({value.text}, {shape_text(view[0].shape)})")
            return
        ref, text, shape = self.subscript(eqn, 2)
        value = self.read(eqn.invars[1])
        if self.uses.get(eqn.outvars[0], 0):
            self.env[eqn.outvars[0]] = self.assign(Value(text, shape, ref.dtype))
        self.line(f"{text} = {value.splat.text if value.splat is not None else value.text}")

    def do_addupdate(self, eqn: Any) -> None:
        _, text, _ = self.subscript(eqn, 2)
        value = self.read(eqn.invars[1])
        self.line(f"{text} += {value.splat.text if value.splat is not None else value.text}")

    # ---- control ----

    def do_cond(self, eqn: Any) -> None:
        index, branches = self.read(eqn.invars[0]), eqn.params["branches"]
        values = [v if not isinstance(v, Value) or self.cheap(v) else self.assign(v) for v in (self.read(a) for a in eqn.invars[1:])]
        results = [None if jx.is_dropped(v) else self.name("r") for v in eqn.outvars]
        if len(branches) == 2:
            test = index.truth or index if index.dtype != "int32" or index.truth else Value(f"{index.operand()} != 0", atom=False)
            arms = [(test, branches[1]), (None, branches[0])]
        else:
            index = index if self.cheap(index) else self.assign(index)
            arms = [(Value(f"{index.operand()} == {n}", atom=False), b) for n, b in enumerate(branches[:-1])] + [(None, branches[-1])]
        place = self.place
        for n, (test, branch) in enumerate(arms):
            empty = not jx.equations(branch) and not any(results)
            if test is None and empty:
                break
            self.place = place
            if n == 0 and empty and len(arms) == 2:  # only the other arm does something
                arms[1] = (Value(f"not {test.operand()}", atom=False), arms[1][1])
                self.arm("if", arms[1], values, eqn, results)
                break
            self.arm("if" if n == 0 else "elif" if test is not None else "else", (test, branch), values, eqn, results)
        self.place = place
        for var, name in zip(eqn.outvars, results):
            if name:
                self.env[var] = Value(name, tuple(var.aval.shape), jx.dtype_name(var.aval))

    def arm(self, word: str, arm: Any, values: list[Any], eqn: Any, results: list[Any]) -> None:
        test, branch = arm
        self.line(f"{word} {test.text}:" if word != "else" else "else:")
        self.indent += 1
        before = len(self.lines)
        for name, value in zip(results, self.run(branch, values)):
            if name:
                self.line(f"{name} = {self.typed(value)}")
        if len(self.lines) == before:
            self.line("check(True, 'nothing to do')")
        self.indent -= 1

    def carries(self, avals: list[Any], values: list[Any]) -> list[Any]:
        """Names for what a loop carries, set to the first values."""
        out = []
        for value in values:
            if isinstance(value, Ref):
                out.append(value)
                continue
            name = self.name("c")
            self.line(f"{name} = {self.typed(value)}")
            out.append(Value(name, value.shape, value.dtype))
        return out

    def update(self, carries: list[Any], values: list[Any]) -> None:
        """All at once: what is overwritten and still needed is copied first."""
        changed = [(c, v) for c, v in zip(carries, values) if isinstance(c, Value) and v.text != c.text]
        if len(changed) > 1:
            names = [c.text for c, _ in changed]
            changed = [(c, self.assign(v) if any(n in v.text for n in names if n != c.text) else v) for c, v in changed]
        for c, v in changed:
            self.line(f"{c.text} = {self.typed(v)}")

    def do_scan(self, eqn: Any) -> None:
        p = eqn.params
        consts, carry = p["num_consts"], p["num_carry"]
        if len(eqn.outvars) > carry:
            raise Unsupported("a scan that collects arrays (ys)", self.place)
        if p["reverse"]:
            raise Unsupported("a reversed scan", self.place)
        values = [self.read(a) for a in eqn.invars]
        body = p["jaxpr"]
        counter = counts_up(body, consts, carry)
        first = values[consts + counter] if counter is not None else None
        lo = first.text if first is not None else "0"
        hi = add_text(lo, str(p["length"]), 1)
        xs = [self.strong(v) if self.cheap(v) and v.splat is None else self.assign(v) for v in values[consts + carry:]]
        self.loop(eqn, body, values[:consts], values[consts:consts + carry], counter, f"range({lo}, {hi})", Value(hi, literal=hi.isdigit()), xs=xs,
                  first=lo)

    def loop(self, eqn: Any, body: Any, consts: list[Any], init: list[Any], counter: int | None, bounds: str,
             after: Value | None = None, fixed: int | None = None, xs: list[Value] | None = None, first: str = "0") -> None:
        consts = [v if not isinstance(v, Value) or self.cheap(v) else self.assign(v) for v in consts]
        carries = [Value("", v.shape, v.dtype) if n == counter else v for n, v in enumerate(init)]
        rest = [n for n in range(len(init)) if n not in (counter, fixed)]
        for n, c in zip(rest, self.carries([], [init[n] for n in rest])):
            carries[n] = c
        t = self.name("t")
        if counter is not None:
            carries[counter] = Value(t)
        self.line(f"for {t} in {bounds}:")
        self.indent += 1
        before = len(self.lines)
        at = t if first == "0" else f"{t} - {first}"
        rows = [self.assign(Value(f"take({x.text}, {at}, axis=0)", x.shape[1:], x.dtype)) for x in xs or []]
        results = self.run(body, consts + carries + rows)
        self.update([carries[n] for n in rest], [results[n] for n in rest])
        if len(self.lines) == before:
            self.line("check(True, 'nothing to do')")
        self.indent -= 1
        for n, var in enumerate(eqn.outvars):
            if jx.is_dropped(var):
                continue
            self.env[var] = carries[n] if n != counter else after or Value("")

    def do_while(self, eqn: Any) -> None:
        p = eqn.params
        nc, nb = p["cond_nconsts"], p["body_nconsts"]
        values = [self.read(a) for a in eqn.invars]
        test_consts, body_consts, init = values[:nc], values[nc:nc + nb], values[nc + nb:]
        found = counts_to(p["cond_jaxpr"], p["body_jaxpr"], nc, nb, len(init))
        if found:
            counter, upper = found
            lo, hi = init[counter], init[upper] if upper >= 0 else test_consts[nc + upper]
            self.loop(eqn, p["body_jaxpr"], body_consts, init, counter, f"range({lo.text}, {hi.text})",
                      Value(f"maximum({lo.text}, {hi.text})"), upper if upper >= 0 else None)
            return
        body_consts = [v if not isinstance(v, Value) or self.cheap(v) else self.assign(v) for v in body_consts]
        carries = self.carries([], init)
        go = self.name("go")
        self.line(f"{go} = {self.typed(self.run(p['cond_jaxpr'], test_consts + carries)[0])}")
        self.line(f"while {go}:")
        self.indent += 1
        self.update(carries, self.run(p["body_jaxpr"], body_consts + carries))
        self.line(f"{go} = {self.typed(self.run(p['cond_jaxpr'], test_consts + carries)[0])}")
        self.indent -= 1
        for var, c in zip(eqn.outvars, carries):
            if not jx.is_dropped(var):
                self.env[var] = c

    def do_debug_print(self, eqn: Any) -> None:
        """Printing is no part of a spec."""

    do_debug_callback = do_debug_print


def counts_up(body: Any, consts: int, carry: int) -> int | None:
    """The carried value that is a counter: the next is itself plus one."""
    inner = jx.open_jaxpr(body)
    for n in range(carry):
        var, out = inner.invars[consts + n], inner.outvars[n]
        if jx.is_literal(out) or jx.dtype_name(var.aval) != "int32" or var.aval.shape:
            continue
        for eqn in inner.eqns:
            if eqn.outvars and eqn.outvars[0] is out and eqn.primitive.name == "add":
                a, b = eqn.invars
                if (a is var and jx.is_literal(b) and int(b.val) == 1) or (b is var and jx.is_literal(a) and int(a.val) == 1):
                    return n
    return None


def counts_to(test: Any, body: Any, nc: int, nb: int, carry: int) -> tuple[int, int] | None:
    """(counter, upper) of `while i < upper`: both carried; upper below 0
    counts back from the end of the test's constants."""
    t, b = jx.open_jaxpr(test), jx.open_jaxpr(body)
    if len(t.eqns) != 1 or t.eqns[0].primitive.name != "lt" or t.outvars[0] is not t.eqns[0].outvars[0]:
        return None
    i, upper = t.eqns[0].invars
    params = list(t.invars)
    if jx.is_literal(i) or jx.is_literal(upper) or i not in params or upper not in params:
        return None
    counter, limit = params.index(i) - nc, params.index(upper) - nc
    if counter < 0 or counts_up(body, nb, carry) is None:
        return None
    if limit >= 0 and b.outvars[limit] is not b.invars[nb + limit]:
        return None
    out = b.outvars[counter]
    for eqn in b.eqns:
        if eqn.outvars and eqn.outvars[0] is out and eqn.primitive.name == "add":
            x, y = eqn.invars
            if x is b.invars[nb + counter] and jx.is_literal(y) and int(y.val) == 1:
                return counter, limit
    return None


def shape_text(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(str(int(d)) for d in shape) + ("," if len(shape) == 1 else "") + ")"


def axes_text(axes: tuple[int, ...]) -> str:
    return str(axes[0]) if len(axes) == 1 else shape_text(axes)


def add_text(start: str, more: str, stride: int) -> str:
    if stride != 1:
        more = f"{stride} * ({more})" if not more.isdigit() else str(int(more) * stride)
    if start.lstrip("-").isdigit() and more.isdigit():
        return str(int(start) + int(more))
    if more == "0":
        return start
    if start == "0":
        return more
    return f"{start} + {more}"
