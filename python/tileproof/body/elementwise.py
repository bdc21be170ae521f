"""Arithmetic, comparisons, selections, casts, reductions along axes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .. import jaxpr as jx
from ..errors import Unsupported
from ..vocabulary import PRIMITIVES
from . import bounds
from .values import axes_text, counting, number, Value
from .writer import Writer

SPECIAL = {"div", "neg", "not", "select_n", "clamp", "integer_pow", "convert_element_type", "round"}  # operation() writes them


def _named(kind: str, called: bool) -> dict[str, str]:
    """From the name that JAX has for a primitive to ours; called or written between its operands."""
    return {of: name for name, (k, of) in PRIMITIVES.items() if k == kind and of not in SPECIAL and name.isidentifier() == called}


UNARY, INFIX, FUNCTION2 = _named("unary", True), {**_named("binary", False), "add_any": "+"}, _named("binary", True)
REDUCE = {of: name for name, (_, of) in PRIMITIVES.items() if of.startswith("reduce_")}
RUNNING = {"cumsum", "cumprod", "cummax", "cummin"}
IDENTITY = {"stop_gradient", "copy", "copy_p", "multiple_of", "optimization_barrier", "pvary"}
ELEMENTWISE = set(UNARY) | set(INFIX) | set(FUNCTION2) | SPECIAL
BOOLS = {"lt": "~{} & {}", "le": "~{} | {}", "gt": "{} & ~{}", "ge": "{} | ~{}", "max": "{} | {}", "min": "{} & {}"}  # False is less than True
BOOL_REDUCE = {"reduce_max": "any", "reduce_min": "all"}
REGULAR = ELEMENTWISE | IDENTITY | set(REDUCE) | RUNNING | {"argmax", "argmin"}


class Elementwise(Writer):
    """One row of a table, or one method, each."""

    def is_regular(self, name: str) -> bool:
        return name in REGULAR

    def regular(self, eqn: Any) -> None:
        name = eqn.primitive.name
        if name == "multiple_of" and self.claims(eqn):
            x, (n,) = self.read(eqn.invars[0]), eqn.params["values"]
            self.finish(eqn, dataclasses.replace(x, text=f"multiple_of({x.text}, {int(n)})", atom=True, divisor=int(n)))
        elif name in IDENTITY:
            self.env[eqn.outvars[0]] = self.read(eqn.invars[0])
        elif name in ELEMENTWISE:
            self.elementwise(eqn)
        elif name in REDUCE:
            x = self.strong(self.read(eqn.invars[0]))
            function = BOOL_REDUCE.get(name, REDUCE[name]) if x.dtype == "bool" else REDUCE[name]
            self.finish(eqn, Value(f"{function}({x.text}, axis={axes_text(tuple(map(int, eqn.params['axes'])))})"))
        elif name in RUNNING:
            x = self.strong(self.read(eqn.invars[0]))
            reverse = ", reverse=True" if eqn.params["reverse"] else ""
            self.finish(eqn, Value(f"{name}({x.text}, axis={eqn.params['axis']}{reverse})"))
        else:
            x = self.strong(self.read(eqn.invars[0]))
            if x.dtype == "bool":
                x = Value(f"{x.operand()}.astype(int32)", x.shape, "int32")
            text, to = f"{name}({x.text}, axis={axes_text(tuple(eqn.params['axes']))})", jx.dtype_name(eqn.outvars[0].aval)
            self.finish(eqn, Value(text if to == "int32" else f"{text}.astype({to})"))

    def claims(self, eqn: Any) -> bool:
        """Is it of an integer that is not known yet? Of vectors the language has no claims, and numbers need none."""
        x = self.read(eqn.invars[0])
        return not eqn.invars[0].aval.shape and jx.dtype_name(eqn.invars[0].aval) == "int32" and x.number is None

    def elementwise(self, eqn: Any) -> None:
        name = eqn.primitive.name
        values = [self.read(a) for a in eqn.invars]
        shape = tuple(eqn.outvars[0].aval.shape)
        dtype = jx.dtype_name(eqn.outvars[0].aval)
        scalars = [v.splat if v.splat is not None else v for v in values]
        if all(s.number is not None for s in scalars) and not (shape and name == "select_n"):
            folded = number(jx.folded(eqn, [s.number for s in scalars]), dtype)
            self.env[eqn.outvars[0]] = Value("", shape, dtype, splat=folded) if shape else folded
            return
        if shape and all(v.splat is not None or not v.shape for v in values) and name != "select_n":
            if not all(s.literal for s in scalars):
                inner = self.operation(eqn, scalars)
                self.env[eqn.outvars[0]] = Value("", shape, dtype, splat=self.assign(dataclasses.replace(inner, shape=(), dtype=dtype)))
                return
        lanes = counting(name, values) if dtype == "int32" and shape else None
        within = bounds.of(name, [s.within() for s in scalars]) if dtype == "int32" else None
        self.finish(eqn, dataclasses.replace(self.operation(eqn, values), lanes=lanes, bounds=within))

    def operation(self, eqn: Any, values: list[Value]) -> Value:
        name = eqn.primitive.name
        if name == "select_n":
            return self.select(values)
        if name == "convert_element_type":
            return self.convert(eqn, values[0])
        if name == "shift_right_arithmetic" and jx.dtype_name(eqn.invars[0].aval).startswith("uint"):
            raise Unsupported("shift_right_arithmetic of unsigned integers is not supported", jx.where(eqn), "write x >> n, or shift an int32")
        if name == "clamp":
            lo, x, hi = values
            lo, hi = (v.splat if v.splat is not None else v for v in (lo, hi))
            return Value(f"clip({self.strong(x).text}, {lo.text}, {hi.text})")
        values = list(self.pair(values))
        if name in BOOLS and jx.dtype_name(eqn.invars[0].aval) == "bool":
            return Value(BOOLS[name].format(*(v.operand() for v in values)), atom=False)
        if name in ("div", "rem") and (of := jx.dtype_name(eqn.outvars[0].aval)).startswith(("int", "uint")) and of != "int32":
            values = [self.strong(v) for v in values]  # lax.div and lax.rem take a number for an int32
        if name == "pow" and not jx.dtype_name(eqn.invars[1].aval).startswith(("float", "bfloat")):
            values[1] = self.convert_to(jx.dtype_name(eqn.outvars[0].aval), self.strong(values[1]))  # as JAX lowers it
        if name == "integer_pow":
            return Value(f"{values[0].operand()} ** {eqn.params['y']}", atom=False)
        if name == "neg":
            return Value(f"-{values[0].operand()}", atom=False)
        if name == "not":
            return Value(f"~{values[0].operand()}", atom=False)
        if name == "round":
            if int(eqn.params["rounding_method"]) != 1:
                return self.round_away(values[0])
            return Value(f"round({values[0].text})")
        if name in UNARY:
            return Value(f"{UNARY[name]}({values[0].text})")
        if name == "div":
            if jx.dtype_name(eqn.outvars[0].aval).startswith(("int", "uint")):
                return Value(f"lax_div({values[0].text}, {values[1].text})")
            return Value(f"{values[0].operand()} / {values[1].operand()}", atom=False)
        if name == "shift_right_logical" and jx.dtype_name(eqn.outvars[0].aval).startswith("uint"):
            return Value(f"{values[0].operand()} >> {values[1].operand()}", atom=False)
        if name in FUNCTION2:
            return Value(f"{FUNCTION2[name]}({values[0].text}, {values[1].text})")
        return Value(f"{values[0].operand()} {INFIX[name]} {values[1].operand()}", atom=False)

    def round_away(self, x: Value) -> Value:
        """Ties away from zero: the whole part, one more from a half on, with the sign of x."""
        if not self.cheap(x):
            x = self.assign(x)
        size = self.assign(Value(f"abs({x.text})", x.shape, x.dtype))
        whole = self.assign(Value(f"floor({size.text})", x.shape, x.dtype))
        return Value(f"where({size.text} - {whole.text} >= 0.5, {whole.text} + 1.0, {whole.text}) * sign({x.text})", atom=False)

    def select(self, values: list[Value]) -> Value:
        which, *cases = values
        if which.splat is not None:
            which = which.splat
        if which.dtype == "bool":
            return self.where(which, *cases[::-1])
        if not self.cheap(which):
            which = self.assign(which)
        chosen = cases[-1]
        for n, case in reversed(list(enumerate(cases[:-1]))):
            chosen = dataclasses.replace(self.where(Value(f"{which.operand()} == {n}", which.shape, "bool", atom=False), case, chosen), shape=case.shape)
        return chosen

    def where(self, c: Value, yes: Value, no: Value) -> Value:
        shaped = bool(c.shape)
        arms = []
        for v in (yes, no):
            arms.append(v.splat if v.splat is not None and shaped else v if v.splat is None else self.strong(v))
        if all(a.literal for a in arms):
            arms[0] = self.strong(arms[0])
        return Value(f"where({c.text}, {arms[0].text}, {arms[1].text})", dtype=yes.dtype)

    def convert(self, eqn: Any, x: Value) -> Value:
        return self.convert_to(jx.dtype_name(eqn.outvars[0].aval), x)

    @staticmethod
    def convert_to(to: str, x: Value) -> Value:
        if x.dtype == to:
            return dataclasses.replace(x)
        if to == "bool" and x.truth is not None:
            return dataclasses.replace(x.truth)
        made = Value(f"{x.operand()}.astype({to})")
        if x.dtype == "bool":
            made.truth = x
        return made
