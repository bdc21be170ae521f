"""What every group of primitives needs: lines, names, jaxprs, inlined calls."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Callable

import numpy as np

from .. import jaxpr as jx
from ..errors import Unsupported, together
from ..refusals import refused
from . import bounds, parameters
from .values import Ref, Unread, Value, number, shape_text

LONGEST_INLINE = 72
NUMBERED = re.compile(r"[a-z_]\d+")  # as values are called here
NUMBER = re.compile(r"\d+")  # whether a text is long says nothing of the sizes in it


class Writer:
    """Statements of one kernel body."""

    def __init__(self, axes: list[str], taken: set[str]):
        self.axes, self.taken = axes, set(taken)
        self.steps: dict[str, int] = {}  # of the axes where they are known
        self.lines: list[str] = []
        self.places: list[str | None] = []
        self.not_lowered: list[dict[str, Any]] = []  # what JAX's lowering for TPUs refuses, and is written here in other words
        self.of_pipeline: int | None = None  # the one whose step is being written, where lines are its own
        self.parts: dict[str, list[tuple[str, str]]] = {}  # by statement: texts in it that other lines of Python made
        self.inlined: list[tuple[str, str]] = []  # values in place, which no statement has yet
        self.results: dict[str, str] = {}  # by line of Python: the value that was made last there, or in what it calls
        self.indent = 0
        self.longest_inline = LONGEST_INLINE
        self.place: str | None = None
        self.count = 0
        self.env: dict[Any, Value | Ref] = {}
        self.uses: dict[Any, int] = {}
        self.obstacles: list[Unsupported] = []
        self.allocated: list[tuple[Ref, Any]] = []  # buffers that the body makes
        self.inner_axes: list[tuple[Value, Value]] | None = None  # in a pipeline: program ids of its axes, and their steps

    # ---- lines and names ----

    def line(self, text: str) -> None:
        parts = [p for p in self.inlined if p[0] in text]
        self.inlined = [p for p in self.inlined if p[0] not in text]
        parts = [p for p in parts if p[1] != self.place]
        if parts:
            self.parts[str(len(self.lines))] = parts
        self.lines.append("    " * self.indent + text)
        self.places.append(self.place)

    def lacks(self, what: str, instead: str) -> None:
        """Note what Mosaic does not lower, by the statement that stands for it (TP204)."""
        at = {} if self.of_pipeline is None else {"pipeline": self.of_pipeline}
        self.not_lowered.append({"statement": len(self.lines), **at, "what": what, "instead": instead})

    def name(self, stem: str = "v") -> str:
        while True:
            self.count += 1
            name = f"{stem}{self.count}"
            if name not in self.taken:
                self.taken.add(name)
                return name

    def named_as(self, wanted: str, stem: str) -> str:
        """The name that the author gave, with a number where it is not free; by the stem where it is none, or as values are called here."""
        wanted = wanted.removesuffix("_ref")
        if not (wanted.isidentifier() and wanted.isascii()) or NUMBERED.fullmatch(wanted):
            return self.name(stem)
        if wanted in self.taken:
            return self.name(f"{wanted}_")
        self.taken.add(wanted)
        return wanted

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

    def pair(self, values: list[Value]) -> tuple[Value, ...]:
        """Operands of an elementwise operation: lanes that are all one scalar
        are written as that scalar where a partner brings the shape."""
        arrays = [v for v in values if v.shape and v.splat is None]
        out = list(values)
        for i, v in enumerate(values):
            if v.splat is None:
                continue
            if any(a.shape == v.shape for a in arrays):  # not where the partner is broadcast to the lanes
                out[i] = v.splat
            else:
                out[i] = self.strong(v)
                arrays.append(out[i])
        if all(v.literal for v in out):
            out[0] = self.strong(out[0])
        return tuple(out)

    # ---- jaxprs ----

    def read(self, atom: Any) -> Any:
        if jx.is_literal(atom):
            return number(atom.val, jx.dtype_name(atom.aval))
        return self.env[atom]

    def bind(self, params: list[Any], values: list[Any]) -> None:
        for p, v in zip(params, values, strict=True):
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
        for var, const in zip(inner.constvars, jx.consts_of(j), strict=True):
            self.env[var] = self.constant(const, var.aval)
        self.bind(inner.invars, values)
        self.count_uses(j)
        return self.statements(j)

    def statements(self, j: Any) -> list[Any]:
        """The same where everything is bound."""
        for eqn in jx.equations(j):
            self.place = jx.where(eqn) or self.place
            self.attempt(eqn)
        return [self.read(a) for a in jx.open_jaxpr(j).outvars]

    def attempt(self, eqn: Any) -> None:
        """Write the equation. What cannot be read is noted and reading goes on,
        so that all obstacles are found; what follows from one is none."""
        place = self.place
        follows = any(isinstance(self.env.get(a), Unread) for a in eqn.invars if not jx.is_literal(a))
        try:
            self.equation(eqn)
            self.note_result(eqn)
            return
        except Unsupported as e:
            self.obstacles += [] if follows else e.obstacles
        except Exception:
            if not self.obstacles:
                raise
        self.place = place
        for var in eqn.outvars:
            self.env[var] = Unread(tuple(getattr(var.aval, "shape", ())), jx.dtype_name(var.aval))

    def note_result(self, eqn: Any) -> None:
        value = self.env.get(eqn.outvars[0]) if len(eqn.outvars) == 1 else None
        if isinstance(value, Value) and value.splat is None and not value.literal:
            for line in jx.lines(eqn):
                self.results.pop(line, None)  # what is made last is last
                self.results[line] = value.text

    def refuse(self, title: str) -> None:
        """Raise what was noted."""
        if self.obstacles:
            raise together(title, self.place, self.obstacles)

    def look_into(self, eqn: Any) -> None:
        """Obstacles inside an equation that is one itself."""
        for j in jx.inner_jaxprs(eqn):
            self.run(j, [Unread(tuple(v.aval.shape), jx.dtype_name(v.aval)) for v in jx.open_jaxpr(j).invars])

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
        if not simple and not (once and len(NUMBER.sub("0", value.text)) <= self.longest_inline):
            truth = value.truth
            value = self.assign(value)
            value.truth = truth
        elif not simple and self.place:
            self.inlined.append((value.text, self.place))
        self.env[var] = value

    def equation(self, eqn: Any) -> None:
        name = eqn.primitive.name
        handler: Callable[[Any], None] | None = getattr(self, "do_" + name.replace("-", "_"), None)
        handler = handler or (self.inline if jx.called(eqn) is not None else self.regular if self.is_regular(name) else None)
        inner = jx.spelled_out(eqn) if handler is None else None
        if inner is not None:
            self.inline_jaxpr(eqn, inner, [self.read(a) for a in eqn.invars])
        elif handler is not None:
            parameters.check(eqn, self.place)
            handler(eqn)
        else:
            obstacle = self.refusal(name)
            self.obstacles.append(obstacle)
            self.look_into(eqn)
            raise obstacle

    def refusal(self, name: str) -> Unsupported:
        """Of a primitive that nothing here writes."""
        return refused(name, self.place)

    def is_regular(self, name: str) -> bool:
        """Does the primitive come by a table, not with a method of its own?"""
        return False

    def regular(self, eqn: Any) -> None:
        """Write one that does."""

    def inline(self, eqn: Any) -> None:
        values = [self.read(a) for a in eqn.invars]
        label = str(eqn.params.get("name", ""))
        inner = jx.called(eqn)
        idiom = {"floor_divide": "//", "remainder": "%"}.get(label)
        if idiom and jx.is_jnp(label, eqn) and len(values) == 2 and len(eqn.outvars) == 1 and jx.dtype_name(eqn.outvars[0].aval).startswith(("int", "uint")):
            a, b = self.pair(values)
            within = bounds.of(idiom, [a.within(), b.within()]) if jx.dtype_name(eqn.outvars[0].aval) == "int32" else None
            self.finish(eqn, Value(f"{a.operand()} {idiom} {b.operand()}", atom=False, bounds=within))
            return
        self.inline_jaxpr(eqn, inner, values)

    def inline_jaxpr(self, eqn: Any, inner: Any, values: list[Any]) -> None:
        # what is used several times inside is named first
        self.count_uses(inner)
        params = jx.open_jaxpr(inner).invars
        named = [self.assign(v) if isinstance(v, Value) and not self.cheap(v) and self.uses.get(p, 0) > 1 else v
                 for p, v in zip(params, values, strict=True)]
        place = self.place
        results = self.run(inner, named)
        self.place = place
        for var, value in zip(eqn.outvars, results, strict=True):
            if jx.is_dropped(var):
                continue
            if isinstance(value, Value) and not self.cheap(value) and self.uses.get(var, 0) > 1:
                value = self.assign(value)
            self.env[var] = value

    @staticmethod
    def cheap(v: Value) -> bool:
        return v.literal or v.splat is not None or (v.atom and v.text.replace("_", "a").isalnum())
