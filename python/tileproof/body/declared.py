"""Pipelines inside of a kernel, kept as such: "pipelines" of the spec, and statements that run them."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from typing import Any, Iterator

from .. import fields, pipelines
from .. import jaxpr as jx
from ..errors import Unsupported
from ..pipelines import Pipeline
from .pipelines import Pipelines, Window
from .values import Ref, Value

MOST, DEEPEST, MOST_CUTS = 32, 4, 4  # as spec/limits.h has them
MOST_BUFFERS = {False: 16, True: 2}  # of an input, of an output, as spec/members.def has them
PLAIN = re.compile(r"[\w\[\], +*/%()-]+")  # an expression of names, tables and numbers
COUNTED = re.compile(r"[vc]\d+")  # values that have no name of their own (places.py)


class Declared(Pipelines):
    """A pipeline of which the language's "pipelines" say less than JAX does is written as the loop that it stands for, and a note says why."""

    def __init__(self, axes: list[str], taken: set[str]):
        super().__init__(axes, taken)
        self.declared: list[dict[str, Any]] = []
        self.around: list[list[str]] = []  # axes of the pipelines whose steps are being written, the outermost first
        self.before: set[str] = set()  # axes of those that are written: another one may use their names

    def do_emit_pipeline(self, eqn: Any) -> None:
        fields.check_pipeline(eqn, self.place)
        pipe, place, state = pipelines.read(eqn), self.place, self.state()
        try:
            self.declare(pipe)
        except Unsupported as e:
            self.restore(state)
            self.place = place
            self.notes.append({"call": place, "why": e.what})
            self.write_out(eqn, pipe)
        self.place = place

    def declare(self, pipe: Pipeline) -> None:
        """The pipeline as one of those of the spec, and the statement that runs it. Raises Unsupported where they say less."""
        windows = [self.looked_at(pipe, n) for n in range(len(pipe.blocks))]
        self.apart(pipe, windows)
        self.fits(pipe, windows)
        axes: list[str] = []
        for n in range(len(pipe.grid)):
            axes.append(self.axis_name(pipe, n, axes))
        steps = [d if isinstance(d, int) else self.steps_of(self.read(d)) for d in pipe.grid]
        turns = [self.turn(axis, n) for axis, n in zip(axes, steps, strict=True)]
        name = self.name_of(jx.traced_name(pipe.body), "pipeline")
        entries: dict[str, list[Any]] = {"inputs": [], "outputs": []}
        named: dict[int, Value] = {}
        note: dict[str, Any] = {"call": self.place, "name": name, "index_maps": {}}
        for n, w in enumerate(windows):
            if not w.moves:
                continue
            w.buffer = dataclasses.replace(w.buffer, name=self.name_of(self.parameter(pipe, n), "window"))
            entries["outputs" if w.output else "inputs"].append({"name": w.buffer.name, **self.blocks_of(pipe, n, w, turns, named), **self.buffers_of(pipe, n)})
            self.in_place(w, windows, entries["outputs" if w.output else "inputs"][-1])
            if written := jx.written(w.block.index_map_jaxpr):
                note["index_maps"][w.buffer.name] = written
        dynamic = [f"({s})" for s in steps if not isinstance(s, int)]
        if len(dynamic) > 1:
            self.line(f"check({' and '.join(f'{s} >= 0' for s in dynamic)}, 'steps of a pipeline')")
        arrays = [self.subscripted(w.array, w.view).removesuffix("[...]") for w in windows if w.moves]
        self.line(f"{name}({', '.join(arrays)})")
        spec: dict[str, Any] = {"name": name, "grid": [{"axis": a, "steps": n} for a, n in zip(axes, steps, strict=True)], **{k: v for k, v in entries.items() if v}}
        self.declared.append(spec)
        self.notes.append(note)
        with self.apart_from_here(len(self.declared) - 1, axes) as (lines, places, parts):
            self.step(pipe, windows, turns)
            if not lines:
                self.line("pass")
        spec["kernel"] = lines
        note |= {"statements": places, "parts": parts}

    @contextlib.contextmanager
    def apart_from_here(self, number: int, axes: list[str]) -> Iterator[tuple[list[str], list[str | None], dict[str, Any]]]:
        """The lines of the step of that pipeline, their places and parts."""
        here = self.lines, self.places, self.parts, self.indent, self.of_pipeline
        self.lines, self.places, self.parts, self.indent, self.of_pipeline = [], [], {}, 0, number
        self.around.append(axes)
        try:
            yield self.lines, self.places, self.parts
        finally:
            self.before |= set(self.around.pop())
            self.lines, self.places, self.parts, self.indent, self.of_pipeline = here

    # ---- what the language says ----

    def fits(self, pipe: Pipeline, windows: list[Window]) -> None:
        """Raise Unsupported for what its pipelines do not say."""
        moved = [w for w in windows if w.moves]
        waits = jx.has_primitive(pipe.body, ("dma_wait",)) and any(jx.memory_space(a.aval) == "semaphore" for a in pipe.consts)
        self.refuse_what({
            "a pipeline on several devices": bool(self.mesh), "a pipeline that cores divide among them": any(pipe.offsets),
            f"more than {MOST} pipelines": len(self.declared) >= MOST, f"pipelines in one another, more than {DEEPEST} deep": len(self.around) >= DEEPEST,
            "a pipeline that moves nothing": not moved,
            "a step that waits for copies that were started around its pipeline": waits})
        for n, w in enumerate(windows):
            if w.moves:
                self.fits_window(pipe, n, w)

    def fits_window(self, pipe: Pipeline, n: int, w: Window) -> None:
        mode, of = w.block.pipeline_mode, w.array.name
        parts = [(p, self.size_of(d, w.array), extent) for p, d, extent in zip((p for p in w.view if p[0] != "int"), w.block.block_shape, self.extents(w.view), strict=False)]
        self.refuse_what({
            f"bounded slices of `{of}`": any(type(d).__name__ == "BoundedSlice" for d in w.block.block_shape),
            f"an output `{of}` whose blocks start at any element": w.output and any(map(self.is_cut, w.block.block_shape)),
            f"a view of `{of}` by a reshape": any(p[0] == "split" for p in w.view),
            f"a view of `{of}` with a stride": any(p[0] == "slice" and p[3] != 1 for p in w.view),
            f"a window of `{of}` without a dimension": not w.buffer.shape,
            f"a part of `{of}` of which its block is no divisor": any(p[0] == "slice" and s and extent % s for p, s, extent in parts),
            f"blocks of `{of}` that may end behind it in more than {MOST_CUTS} dimensions": sum(s not in (None, 1, extent) for _, s, extent in parts) > MOST_CUTS,
            f"a window of `{of}` of {mode and mode.buffer_count} buffers": mode is not None and mode.buffer_count > MOST_BUFFERS[w.output]})

    def refuse_what(self, found: dict[str, Any]) -> None:
        for what, holds in found.items():
            if holds:
                raise Unsupported(what, self.place)

    def steps_of(self, value: Value) -> str:
        return value.text if PLAIN.fullmatch(value.text) else self.short(value).text

    @staticmethod
    def turn(axis: str, steps: int | str) -> tuple[Value, Value]:
        """The program id of an axis, and how many there are."""
        known = isinstance(steps, int) and steps > 0
        return Value(axis, bounds=(0, steps - 1) if known else None), Value(f"num_programs({axis})", bounds=(steps, steps) if known else None)

    def in_place(self, w: Window, windows: list[Window], entry: dict[str, Any]) -> None:
        """An array that comes in and goes out, by one block in each step, says so by how its index map is written."""
        both = any(o.moves and o.output != w.output and o.array.name == w.array.name for o in windows)
        if both and not all(isinstance(at, int) or re.fullmatch(r"[\w +*]+", at) for at in entry.get("index_map", [])):
            raise Unsupported(f"`{w.array.name}`, which comes in and goes out by an index map that does more than add", self.place)

    def blocks_of(self, pipe: Pipeline, n: int, w: Window, turns: list[tuple[Value, Value]], named: dict[int, Value]) -> dict[str, Any]:
        """block_shape and index_map of a window; of one that is all of its array, none. `named`: of what index maps capture, the names so far."""
        if pipelines.is_trivial(pipe, n):
            return {}
        block, captured = pipe.blocks[n], [self.read(a) for a in pipe.captured[n]]
        self.refuse_what({f"an index map that reads `{ref.name}`": not ref.table for ref in captured if isinstance(ref, Ref)})
        for a, v in zip(pipe.captured[n], captured, strict=True):
            if isinstance(v, Value) and not self.cheap(v) and id(a) not in named:
                named[id(a)] = self.assign(v)
        captured = [named.get(id(a), v) for a, v in zip(pipe.captured[n], captured, strict=True)]
        at = self.index_map(block.index_map_jaxpr.jaxpr, captured, turns)
        parts = [p for p in w.view if p[0] != "int"]
        return {"block_shape": [self.dimension(*given, w.array) for given in zip(block.block_shape, at, parts, strict=True)],
                "index_map": [int(v.text) if v.literal else v.text for v in at]}

    def dimension(self, d: Any, at: Value, part: Any, array: Ref) -> Any:
        """One of block_shape, at this index of that part of the array. JAX cuts off what leaves the array at its end; the language does so for blocks alone."""
        size = self.size_of(d, array)
        if type(d).__name__ != "Element":
            return size
        within = at.within()
        if part[0] != "full" or within is None or within[0] < 0 or within[1] + size > part[1]:
            raise Unsupported(f"blocks of `{array.name}` that start at any element and are not seen to lie in it", self.place)
        return {"element": size}

    def index_map(self, j: Any, captured: list[Any], turns: list[tuple[Value, Value]]) -> list[Value]:
        """Expressions over the axes and what is captured."""
        from ..index_maps import IndexMap  # which is a Body

        counted = [*self.axes, *(a for axes in self.around for a in axes), *(a.text for a, _ in turns)]
        counted += [v.text for v in captured if isinstance(v, Value) and (within := v.within()) and within[0] >= 0]
        return IndexMap(self.axes, self.taken, self.place).of_pipeline_window(j, captured, turns, counted)

    @staticmethod
    def buffers_of(pipe: Pipeline, n: int) -> dict[str, Any]:
        mode, far = pipe.blocks[n].pipeline_mode, {"memory_space": "smem"} if jx.memory_space(pipe.blocks[n].block_aval) == "smem" else {}
        if mode is None or pipelines.is_trivial(pipe, n):
            return far
        return {**far, **({"buffers": int(mode.buffer_count)} if mode.buffer_count != 2 else {}), **({"lookahead": True} if mode.use_lookahead else {})}

    # ---- names ----

    def name_of(self, wanted: str, otherwise: str) -> str:
        """A name of the spec: the author's, with a number where it is taken."""
        stem = wanted.removesuffix("_ref")
        stem = stem if stem.isidentifier() and stem.isascii() and not COUNTED.fullmatch(stem) else otherwise
        name, n = stem, 2
        while name in self.taken:
            name, n = f"{stem}_{n}", n + 1
        self.taken.add(name)
        return name

    @staticmethod
    def parameter(pipe: Pipeline, n: int) -> str:
        """What the body calls its n-th window."""
        names = jx.argument_names(pipe.body)
        return names[n] if n < len(names) else ""

    def axis_name(self, pipe: Pipeline, n: int, others: list[str]) -> str:
        """As an index map calls it; a pipeline before this one may have had an axis of that name."""
        given = [names[n] for b in pipe.blocks if len(names := jx.argument_names(b.index_map_jaxpr)) > n]
        wanted = next((a for a in given if a.strip("_") and a.isidentifier()), "ijklmnpq"[n] if n < 8 else f"axis{n}")
        free = wanted in self.before and wanted not in others and not any(wanted in axes for axes in self.around)
        return wanted if free else self.name_of(wanted, f"axis{n}")
