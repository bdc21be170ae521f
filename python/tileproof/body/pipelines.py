"""Pipelines inside of a kernel, as the loops that they stand for: those that the language has no "pipelines" for."""

from __future__ import annotations

import contextlib
import dataclasses
import types
from typing import Any, Iterator

from .. import pipelines
from .. import jaxpr as jx
from ..errors import Unsupported
from ..pipelines import Pipeline
from .copies import Copies
from .values import Ref, Value, add_text, number

SCALARS = types.SimpleNamespace(memory_space="smem")


@dataclasses.dataclass
class Window:
    """One operand of a pipeline, and the scratch that stands for its buffers."""

    block: Any
    view: list[Any]  # what is left of the array: parts as Memory.compose() has them
    array: Ref
    buffer: Ref  # of as many as the pipeline has it is the first one
    undefined: str | None  # what was never written: the second one
    level: int  # the loop in which its block changes; -1: none
    certain: bool  # and there it does so in every turn
    output: bool
    stale: bool  # may the body see what the window held before?
    ragged: bool = False  # may its last block end behind the array?
    before: list[str] = dataclasses.field(default_factory=list)  # where changes are not certain: names of the block of the turn before

    @property
    def moves(self) -> bool:
        """Is there a copy of its array, rather than the array itself?"""
        return self.buffer is not self.array


@dataclasses.dataclass
class Span:
    """What a block takes of one dimension of its array."""

    start: str
    size: int | None  # None: one index
    extent: int  # of the array
    count: str | None = None  # how many of `size` there are, where that is known when it is copied

    @property
    def hangs_over(self) -> bool:
        return self.count is None and self.size is not None and self.extent % self.size != 0


class Pipelines(Copies):
    """`pltpu.emit_pipeline` moves its windows while other steps compute; what it computes is what this loop does:
    at the turn that changes its block an input comes in and an output is undefined, behind the last turn of its block the output goes out."""

    def __init__(self, axes: list[str], taken: set[str]):
        super().__init__(axes, taken)
        self.made: list[tuple[Ref, Any]] = []  # buffers of the pipeline that is being written
        self.undefined: dict[str, Ref] = {}  # by dtype: scratch of one element that nobody writes
        self.notes: list[dict[str, Any]] = []  # of each of them: its line, and what has become of it
        self.spelled: list[list[Value]] = []  # the steps of those that are written as JAX does, one in another

    def write_out(self, eqn: Any, pipe: Pipeline) -> None:
        """The loop, in place."""
        steps = [number(d, "int32") if isinstance(d, int) else self.short(self.read(d)) for d in pipe.grid]
        state = self.state()
        self.made = []
        try:
            windows = [self.window(pipe, n) for n in range(len(pipe.blocks))]
            self.apart(pipe, windows)
        except Unsupported as e:
            self.restore(state)
            self.spelled_out(eqn, steps, e)
            return
        if any(w.moves and w.output and any(map(self.is_cut, w.block.block_shape)) for w in windows):  # they may overlap, and two are on their way at a time
            made, loop = self.made, self.state()
            with contextlib.suppress(Unsupported):
                self.restore(state)
                self.spelled_out(eqn, steps, Unsupported("blocks that start at any element go out", self.place))
                return
            self.restore(loop)
            self.made = made
        with self.scope(self.made):
            self.loops(pipe, windows, steps)

    def state(self) -> tuple[Any, ...]:
        """What is undone where one way to write a pipeline turns out not to be one."""
        return len(self.lines), self.count, set(self.taken), dict(self.uses), list(self.inlined), dict(self.undefined), list(self.allocated)

    def restore(self, state: tuple[Any, ...]) -> None:
        lines, self.count, self.taken, self.uses, self.inlined, self.undefined, self.allocated = state
        del self.lines[lines:], self.places[lines:]
        self.parts = {n: parts for n, parts in self.parts.items() if int(n) < lines}

    def spelled_out(self, eqn: Any, steps: list[Value], why: Unsupported) -> None:
        """The loop that JAX itself makes, copies that run ahead and all: what they see, the rules about copies say."""
        known, place = len(self.obstacles), self.place
        try:
            loop = jx.loop_of(eqn)
        except Exception:  # noqa: BLE001  JAX makes none, either
            raise why from None
        self.bind(loop.invars, [self.read(a) for a in eqn.invars])
        self.count_uses(loop)
        self.spelled.append(steps)
        outer, self.inner_axes = self.inner_axes, [(number(0, "int32"), s) for s in steps]  # index maps ask for their number alone
        self.statements(loop)
        self.inner_axes = outer
        self.spelled.pop()
        if len(self.obstacles) > known:
            del self.obstacles[known:]
            raise why
        self.place = place

    def do_pipeline_body(self, eqn: Any) -> None:
        """One step of such a loop."""
        indices, consts, windows = pipelines.step_of(eqn)
        body, outer = eqn.params["jaxpr"], self.inner_axes
        self.bind(body.constvars, [self.read(a.atom) for a in consts])
        self.bind(body.invars, [self.viewed(w) for w in windows])
        self.inner_axes = [(self.read(i.atom), steps) for i, steps in zip(indices, self.spelled[-1], strict=True)]
        self.count_uses(body)
        self.statements(body)
        self.inner_axes = outer

    def viewed(self, window: Any) -> Ref:
        """One of the buffers, as a ref of its own."""
        ref, transforms = jx.ref_and_transforms(window)
        whole = self.read(ref.atom)
        parts = self.seen(whole, transforms, type(ref))
        return Ref(whole.name, tuple(self.extents(parts)), whole.dtype, slot=tuple(parts))

    def loops(self, pipe: Pipeline, windows: list[Window], steps: list[Value]) -> None:
        place, dynamic = self.place, [s.operand() for s in steps if s.number is None]
        if len(dynamic) > 1:
            self.line(f"check({' and '.join(f'{s} >= 0' for s in dynamic)}, 'steps of a pipeline')")
        with self.inside(f"if {' and '.join(f'{s} > 0' for s in dynamic)}:" if dynamic else None):
            self.watch([w for w in windows if w.stale and not w.certain])
            self.turns(pipe, windows, steps, [])
        self.place = place

    def first(self, offset: Any) -> str:
        """Where the indices of an axis begin, on the core that runs it."""
        return str(offset) if isinstance(offset, int) else self.read(offset).text

    @staticmethod
    def index(text: str) -> Value:
        return number(int(text), "int32") if text.isdigit() else Value(text, atom=text.isidentifier())

    def short(self, value: Value) -> Value:
        """The value, or a name for it."""
        return value if self.cheap(value) else self.assign(value)

    def turns(self, pipe: Pipeline, windows: list[Window], steps: list[Value], ids: list[Value]) -> None:
        """The loops over the axes behind those of `ids`, and the body in the last one."""
        here = [n for n, w in enumerate(windows) if w.level == len(ids) - 1]
        at = {n: self.block_of(pipe, n, windows[n], steps, ids) for n in here}
        for n in here:
            self.begin(windows[n], at[n])
        if len(ids) < len(steps):
            count = steps[len(ids)]
            name = self.name("p")
            with self.inside(f"for {name} in range({count.text}):" if count.number != 1 else None):
                turn = name if count.number != 1 else "0"
                self.turns(pipe, windows, steps, [*ids, self.index(add_text(turn, self.first(pipe.offsets[len(ids)]), 1))])
        else:
            self.step(pipe, windows, list(zip(ids, steps, strict=True)))
        for n in here:
            if windows[n].output and windows[n].moves:
                self.move(windows[n], at[n], out=True)

    def step(self, pipe: Pipeline, windows: list[Window], axes: list[tuple[Value, Value]]) -> None:
        """The body, whose program ids are those of the pipeline."""
        outer, self.inner_axes = self.inner_axes, axes
        self.bind(pipe.body.constvars, [self.read(a) for a in pipe.consts])
        self.bind(pipe.body.invars, [w.buffer for w in windows])
        self.count_uses(pipe.body)
        self.statements(pipe.body)
        self.inner_axes = outer

    def block_of(self, pipe: Pipeline, n: int, w: Window, steps: list[Value], ids: list[Value]) -> list[Value]:
        """The index of the window's block in this turn, under names."""
        if pipelines.is_trivial(pipe, n):
            return [number(0, "int32") for _ in w.block.block_shape]
        j = w.block.index_map_jaxpr.jaxpr
        self.bind(j.constvars, [self.read(a) for a in pipe.captured[n]])
        self.bind(j.invars, [*ids, *[number(0, "int32")] * (len(j.invars) - len(ids))])
        self.count_uses(j)
        outer, self.inner_axes = self.inner_axes, [(number(0, "int32"), s) for s in steps]  # it asks for their number alone
        at = [self.short(v) for v in self.statements(j)]
        self.inner_axes = outer
        return at

    # ---- windows ----

    def looked_at(self, pipe: Pipeline, n: int) -> Window:
        """A window of which the buffer has no name yet. Raises Unsupported."""
        block, output = pipe.blocks[n], n >= pipe.inputs
        ref, transforms = jx.ref_and_transforms(pipe.refs[n])
        array = self.read(ref.atom)
        view = self.seen(array, transforms, type(ref))
        space, own = jx.memory_space(ref.atom.aval), jx.memory_space(block.block_aval)
        sizes = [self.size_of(d, array) for d in block.block_shape]
        if space == own:
            if not pipelines.is_trivial(pipe, n) or transforms:
                raise Unsupported(f"blocks of `{array.name}`, which is in {own} already, in a pipeline are not supported", self.place,
                                  "slice the ref in the body, or leave it in HBM")
            return Window(block, view, array, array, None, -1, True, False, False)
        if space not in ("any", "hbm") or own not in ("vmem", "smem"):
            raise Unsupported(f"a pipeline that moves `{array.name}` from {space} to {own} is not supported", self.place)
        extents = self.extents(view)
        ragged = any(s is not None and (d % s or self.is_cut(b)) for s, d, b in zip(sizes, extents, block.block_shape, strict=True))
        if ragged:
            self.fits_tiles(block, sizes)
        buffer = Ref("", tuple(s for s in sizes if s is not None), array.dtype)
        return Window(block, view, array, buffer, None, *pipelines.changes(pipe, n), output, output and not self.written_first(pipe.body, pipe.body.invars[n]), ragged)

    def window(self, pipe: Pipeline, n: int) -> Window:
        """The window and scratch for its buffers."""
        w = self.looked_at(pipe, n)
        if not w.moves:
            return w
        count = 1 if pipelines.is_trivial(pipe, n) else w.block.pipeline_mode.buffer_count if w.block.pipeline_mode else 2
        buffer = self.room(w.array, w.buffer.shape, w.block, count)
        return dataclasses.replace(w, buffer=buffer, undefined=self.never_written(buffer, count) if w.ragged or w.stale else None)

    def seen(self, array: Ref, transforms: list[Any], leaf: Any) -> list[Any]:
        """The parts of the array; one that a reshape cuts in two is ("split", how many, of how many)."""
        parts = self.parts_of(array)
        for t in transforms:
            if jx.view_kind(t) == "reshape" and t is transforms[-1] and (split := self.split(parts, tuple(t.shape))):
                parts = split
                continue
            if jx.view_kind(t) != "indexer":
                raise Unsupported(f"a pipeline over a view of `{array.name}` through {jx.view_kind(t)} is not supported", self.place)
            if not self.takes_all(t, leaf):
                parts = self.compose(array, parts, t.indices, leaf)
        return parts

    @staticmethod
    def split(parts: list[Any], shape: tuple[int, ...]) -> list[Any] | None:
        """The parts, one whole dimension of which becomes two; None: the reshape is another one."""
        for at, p in enumerate(parts):
            rest = [q[1] for q in parts[:at] + parts[at + 1:]]
            if all(q[0] == "full" for q in parts) and len(shape) == len(parts) + 1 and list(shape[:at]) + list(shape[at + 2:]) == rest and shape[at] * shape[at + 1] == p[1]:
                return [*parts[:at], ("split", int(shape[at]), int(shape[at + 1])), *parts[at + 1:]]
        return None

    @staticmethod
    def extents(view: list[Any]) -> list[int]:
        """By dimension of the view."""
        return [n for p in view if p[0] != "int" for n in (p[1:3] if p[0] == "split" else p[1:2] if p[0] == "full" else p[2:3])]

    def size_of(self, d: Any, array: Ref) -> int | None:
        kind = type(d).__name__
        if d is None or kind == "Squeezed":
            return None
        if kind in ("Blocked", "BoundedSlice", "Element"):
            return int(d.block_size)
        raise Unsupported(f"a dimension of kind {kind} in the block of `{array.name}` in a pipeline is not supported", self.place,
                          "give its size as a number: blocks start at multiples of it")

    @staticmethod
    def is_cut(d: Any) -> bool:
        """Is how much of the block there is known only when it is copied? It starts at any element."""
        return type(d).__name__ in ("BoundedSlice", "Element")

    def fits_tiles(self, block: Any, sizes: list[int | None]) -> None:
        """A last block that is cut off ends at a tile: JAX asks that blocks consist of them."""
        for b, s, d, tile in zip(block.block_shape, sizes, block.array_aval.shape, jx.tiles_of(block.array_aval), strict=True):
            if s is not None and s % tile and (d % s or self.is_cut(b)):
                raise Unsupported(f"blocks of {s} in {d} elements: where one is cut off, JAX needs blocks of a multiple of {tile}", self.place)

    def room(self, array: Ref, shape: tuple[int, ...], block: Any, count: int) -> Ref:
        """Scratch for so many buffers of this shape, and of it the first."""
        whole = shape if count == 1 else (count * shape[0],) if len(shape) == 1 else (count, *shape)
        name = self.name(f"{array.name}_window")
        self.made.append((Ref(name, whole, array.dtype), block.block_aval))
        return Ref(name, shape, array.dtype, slot=self.slot(shape, count, 0))

    @staticmethod
    def slot(shape: tuple[int, ...], count: int, n: int) -> tuple[Any, ...]:
        if count == 1:
            return ()
        return (("slice", str(n * shape[0]), shape[0], 1),) if len(shape) == 1 else (("int", str(n)), *(("full", d) for d in shape))

    def never_written(self, buffer: Ref, count: int) -> str:
        """What is undefined, for all of the buffer."""
        if count > 1:
            return self.subscripted(buffer, list(self.slot(buffer.shape, count, 1)))
        dtype = "float32" if buffer.dtype.startswith(("float", "bfloat")) else "int32"
        if dtype not in self.undefined:
            self.undefined[dtype] = Ref(self.name("undefined"), (1,), dtype)
            self.allocated.append((self.undefined[dtype], SCALARS))
        text = f"{self.undefined[dtype].name}[0]"
        return text if dtype == buffer.dtype else f"{text} != 0" if buffer.dtype == "bool" else f"{text}.astype({buffer.dtype})"

    def apart(self, pipe: Pipeline, windows: list[Window]) -> None:
        """What a prefetch sees depends on the buffers, where anything that it reads is written meanwhile."""
        moved = [w for w in windows if w.moves]
        written = [w.array.name for w in moved if w.output]
        twice = [name for name in written if written.count(name) > 1]
        pairs = [(n, w, m, o) for n, w in enumerate(windows) for m, o in enumerate(windows) if w in moved and o in moved and o.output and not w.output]
        both = {w.array.name for n, w, m, o in pairs if w.array.name == o.array.name and not (w.view == o.view and pipelines.in_step(pipe, n, m))}
        read = {w.array.name for w in moved if not w.output}
        atoms = dict(zip(pipe.body.constvars, pipe.consts, strict=True))
        changed = {self.read(atoms[e.input]).name for e in pipe.body.effects if type(e).__name__ in ("WriteEffect", "AccumEffect") and getattr(e, "input", None) in atoms}
        inside = {v.name for v in map(self.read, atoms.values()) if isinstance(v, Ref)}
        steering = {v.name for atoms in pipe.captured for v in map(self.read, atoms) if isinstance(v, Ref)}
        for names, what in ((twice, "goes out by two windows of one pipeline"), (both, "comes in and goes out in one pipeline"),
                            (inside & set(written), "goes out in a pipeline whose body uses it"), (changed & read, "comes in in a pipeline whose body writes it"),
                            (steering & (changed | set(written)), "is read by an index map of a pipeline whose body writes it")):
            for name in sorted(set(names))[:1]:
                raise Unsupported(f"`{name}` {what}, which is not supported", self.place, "pipelines copy ahead: pass two arrays, or two pipelines one after the other")

    # ---- moving ----

    def watch(self, windows: list[Window]) -> None:
        """Outputs whose index map tells in each turn anew whether the block is another one."""
        for w in windows:
            w.before = [self.name("b") for _ in w.block.index_map_jaxpr.jaxpr.outvars]
            for name in w.before:
                self.line(f"{name} = full((), -1, int32)")

    def forget(self, w: Window) -> None:
        self.line(f"{self.subscripted(w.buffer, self.parts_of(w.buffer))} = {w.undefined}")

    def begin(self, w: Window, at: list[Value]) -> None:
        """Its block changes: the input comes in, the output is undefined."""
        if w.before:
            with self.inside(f"if {' or '.join(f'{b} != {a.operand()}' for b, a in zip(w.before, at, strict=True))}:"):
                self.forget(w)
                for name, a in zip(w.before, at, strict=True):
                    self.line(f"{name} = {self.typed(a)}")
        elif w.stale:
            self.forget(w)
        elif not w.output and w.moves:
            self.move(w, at, out=False)

    def move(self, w: Window, at: list[Value], out: bool) -> None:
        """One copy of what lies in the array; what does not is undefined."""
        indices = w.block.index_map_out_tree.unflatten(at)
        looped = [k for p in w.view if p[0] != "int" for k in ((True, False) if p[0] == "split" else (False,))]
        spans = [self.span(w, *given) for given in zip(w.block.block_shape, indices, self.extents(w.view), looped, strict=True)]
        if not out and any(s.hangs_over or s.count is not None for s in spans):
            self.forget(w)
        self.arms(w, spans, [n for n, s in enumerate(spans) if s.hangs_over], [], out)

    def span(self, w: Window, d: Any, index: Any, extent: int, looped: bool) -> Span:
        size = self.size_of(d, w.array)
        if size is None:
            return Span(index.text, None, extent)
        if not self.is_cut(d) and not looped:
            return Span(self.times(index, size), size, extent)
        start, count = (self.scalar(index.start), self.scalar(index.size)) if type(d).__name__ == "BoundedSlice" else (index, number(size, "int32"))
        if not self.is_cut(d):
            start = self.index(self.times(index, size))
        return Span(start.text, size, extent, self.assign(Value(f"minimum({self.typed(count)}, {extent} - {start.operand()})")).text)

    @staticmethod
    def scalar(x: Any) -> Value:
        """A part of a slice: a value, or a number where it is known."""
        return x if isinstance(x, Value) else number(int(x), "int32")

    @staticmethod
    def times(index: Value, size: int) -> str:
        return str(int(index.number) * size) if index.number is not None else index.text if size == 1 else f"{index.operand()} * {size}"

    def arms(self, w: Window, spans: list[Span], ragged: list[int], short: list[int], out: bool) -> None:
        """The copy, whole or without what hangs over: an arm for each."""
        if not ragged:
            self.rows(w, spans, short, out)
            return
        first, *rest = ragged
        s = spans[first]
        assert s.size is not None
        if s.size > s.extent:
            self.arms(w, spans, rest, [*short, first], out)
            return
        with self.inside(f"if {s.start} + {s.size} <= {s.extent}:"):
            self.arms(w, spans, rest, short, out)
        with self.inside("else:"):
            self.arms(w, spans, rest, [*short, first], out)

    def rows(self, w: Window, spans: list[Span], short: list[int], out: bool) -> None:
        """The copy, where a dimension has so many of its rows: one by one."""
        turns: dict[int, str] = {}
        with contextlib.ExitStack() as loops:
            for n, s in enumerate(spans):
                if s.count is not None:
                    turns[n] = self.name("r")
                    loops.enter_context(self.inside(f"for {turns[n]} in range({s.count}):"))
            self.copied(w, spans, short, turns, out)

    def copied(self, w: Window, spans: list[Span], short: list[int], turns: dict[int, str], out: bool) -> None:
        given, far, near = iter(enumerate(spans)), [], []
        for part in w.view:
            if part[0] == "int":
                far.append(part)
                continue
            n, s = next(given)
            if part[0] == "split":  # rows of one after the other, each of them whole
                _, whole = next(given)
                if s.size is None or whole.start != "0" or whole.size != part[2]:
                    raise Unsupported(f"a pipeline over parts of rows of `{w.array.name}`, which a reshape makes, is not supported", self.place)
                far.append(("slice", add_text("0", add_text(s.start, turns[n], 1), part[2]), part[2], 1))
                near += [("int", turns[n]), ("full", part[2])]
                continue
            begin, stride = (part[1], part[3]) if part[0] == "slice" else ("0", 1)
            start = add_text(s.start, turns[n], 1) if n in turns else s.start
            if s.size is None:
                far.append(("int", add_text(begin, start, stride)))
                continue
            length = 1 if n in turns else s.extent % s.size if n in short else s.size
            whole = part[0] == "full" and length == s.extent and start == "0"
            far.append(part if whole else ("slice", add_text(begin, start, stride), length, stride))
            near.append(("slice", turns.get(n, "0"), length, 1) if n in short or n in turns else ("full", s.size))
        there, here = self.subscripted(w.array, far), self.subscripted(w.buffer, self.within(w.buffer, near))
        self.line(f"copy({here}, {there})" if out else f"copy({there}, {here})")

    @staticmethod
    def within(buffer: Ref, parts: list[Any]) -> list[Any]:
        """Parts of the first of several buffers, as parts of all of them: in front of them, or, of one dimension, one behind the other."""
        if len(buffer.slot) != 1:
            return [*buffer.slot[:1], *parts]
        [part] = parts
        return [part if part[0] == "slice" else ("slice", "0", part[1], 1)]
