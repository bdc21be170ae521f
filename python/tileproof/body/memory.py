"""Reads and writes of refs, through indices and views."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .. import jaxpr as jx
from ..errors import Unsupported
from .values import Ref, Value, add_text, number, shape_text, summand
from .writer import Writer


@dataclasses.dataclass
class Counted:
    """An index that is an array: a slice, or a scalar (size None)."""

    start: str
    size: int | None
    stride: int = 1


class Memory(Writer):
    """A read is a statement of its own, in order."""

    def rewidth(self, x: Value, dtype: str) -> Value:
        """See Spelled."""
        raise NotImplementedError

    def subscript(self, eqn: Any, count: int) -> tuple[Ref, str, tuple[int, ...]]:
        return self.place_of(eqn, *jx.transforms_of(eqn, count))

    def place_of(self, eqn: Any, transforms: list[Any], leaf: Any) -> tuple[Ref, str, tuple[int, ...]]:
        return self.place_in(self.read(eqn.invars[0]), transforms, leaf)

    def place_in(self, ref: Ref, transforms: list[Any], leaf: Any) -> tuple[Ref, str, tuple[int, ...]]:
        parts = self.parts_of(ref)
        for t in transforms:
            kind = jx.view_kind(t)
            if kind == "indexer" and self.takes_all(t, leaf):
                continue
            if kind != "indexer":
                raise Unsupported(f"a view of `{ref.name}` through {kind}", self.place)
            parts = self.compose(ref, parts, t.indices, leaf)
        if not ref.table:
            return ref, self.subscripted(ref, parts), tuple(p[1] if p[0] == "full" else p[2] for p in parts if p[0] != "int")
        if any(p[0] != "int" for p in parts):
            raise Unsupported(f"a read of more than one entry of the prefetched `{ref.name}`", self.place)
        return ref, f"{ref.name}[{', '.join(p[1] for p in parts)}]" if parts else ref.name, ()

    @staticmethod
    def parts_of(ref: Ref) -> list[Any]:
        """What all of the ref is, by dimension: of what has its name."""
        return list(ref.slot) or [("full", n) for n in ref.shape]

    @staticmethod
    def subscripted(ref: Ref, parts: list[Any]) -> str:
        """The text of a place."""
        if all(p[0] == "full" for p in parts):
            return f"{ref.name}[...]"
        texts = []
        for p in parts:
            if p[0] == "full":
                texts.append(":")
            elif p[0] == "int":
                texts.append(p[1])
            else:
                texts.append(f"ds({p[1]}, {p[2]}{f', {p[3]}' if p[3] != 1 else ''})")
        return f"{ref.name}[{', '.join(texts)}]"

    @staticmethod
    def takes_all(t: Any, leaf: Any) -> bool:
        return all(jx.is_whole(i, n, leaf) for i, n in zip(t.indices, t.shape, strict=True))

    def views_of(self, ref: Ref, transforms: list[Any], leaf: Any) -> tuple[list[Any], list[Any], str]:
        """Leading indexers, the views behind them, the dtype at the end. A
        bitcast to a dtype of the same width commutes with all of them."""
        dtype, rest = ref.dtype, []
        for t in transforms:
            kind = jx.view_kind(t)
            if kind == "bitcast":
                dtype = str(np.dtype(t.dtype))
            elif kind != "indexer" or not self.takes_all(t, leaf):
                rest.append(t)
        n = 0
        while n < len(rest) and jx.view_kind(rest[n]) == "indexer" and not rest[n].int_indexer_shape:
            n += 1
        return rest[:n], rest[n:], dtype

    def loaded(self, eqn: Any, count: int) -> Value:
        """What a get reads: a part of the ref, then its views as operations on the value."""
        transforms, leaf = jx.transforms_of(eqn, count)
        ref = self.read(eqn.invars[0])
        indexers, views, dtype = self.all_views(ref, transforms, leaf)
        _, text, shape = self.place_of(eqn, indexers, leaf)
        value = Value(text, shape, "int32" if ref.table else ref.dtype)
        if (views or dtype != ref.dtype) and ref.table:
            raise Unsupported(f"a read of more than one entry of the prefetched `{ref.name}`", self.place)
        if views or dtype != ref.dtype:
            value = self.assign(value)
        for t in views:
            value = self.cut(value, t, leaf)
        return value if ref.table or dtype == value.dtype else Value(f"bitcast({value.text}, {dtype})", value.shape, dtype)

    def all_views(self, ref: Ref, transforms: list[Any], leaf: Any) -> tuple[list[Any], list[Any], str]:
        """views_of(), but a bitcast to another width is one of the views; it stands behind the indices that it commutes with."""
        transforms = self.indexed_early(ref, transforms, leaf)
        wide = [n for n, t in enumerate(transforms) if jx.view_kind(t) == "bitcast" and jx.width(t.dtype) != jx.width(ref.dtype)]
        if not wide:
            return self.views_of(ref, transforms, leaf)
        kinds = [jx.view_kind(t) for t in transforms]
        first = next(n for n, (kind, t) in enumerate(zip(kinds, transforms, strict=True)) if kind != "indexer" or t.int_indexer_shape)
        dtype = str(np.dtype(transforms[max(n for n, kind in enumerate(kinds) if kind == "bitcast")].dtype))
        return transforms[:first], transforms[first:], dtype

    def indexed_early(self, ref: Ref, transforms: list[Any], leaf: Any) -> list[Any]:
        """Indices of leading dimensions in front of a bitcast or reshape that leaves those alone, so that no more is read or written than is named."""
        out = list(transforms)
        for last in range(1, len(out)):
            for n in range(last, 0, -1):
                before = self.shown(ref, out[:n - 1])
                lead = 0 if before is None else self.leading(before, out[n - 1], out[n], leaf)
                if not lead or before is None:
                    break
                out[n - 1:n + 1] = jx.exchanged(out[n - 1], out[n], lead, before.shape)
        return out

    def shown(self, ref: Ref, transforms: list[Any]) -> Value | None:
        """Shape and dtype of what a ref shows through these; None: not known here."""
        seen = Value("", ref.shape, ref.dtype)
        for t in transforms:
            kind = jx.view_kind(t)
            if kind == "indexer" and not t.int_indexer_shape:
                seen = Value("", tuple(i.size for i in t.indices if type(i).__name__ == "Slice"), seen.dtype)
            elif kind in ("reshape", "transpose", "bitcast"):
                seen = self.view_of(seen, kind, t)
            else:
                return None
        return seen

    @staticmethod
    def leading(before: Value, view: Any, t: Any, leaf: Any) -> int:
        """How many dimensions the indexer narrows, all of them leading ones that the view leaves alone; 0: it does something else."""
        if jx.view_kind(t) != "indexer" or t.int_indexer_shape:
            return 0
        lead = len(t.indices)
        while lead and jx.is_whole(t.indices[lead - 1], t.shape[lead - 1], leaf):
            lead -= 1
        if jx.view_kind(view) == "bitcast":
            wide = jx.width(view.dtype) != jx.width(before.dtype)
            return lead if wide and lead <= len(t.shape) - 2 else 0
        return lead if jx.view_kind(view) == "reshape" and before.shape[:lead] == tuple(t.shape[:lead]) else 0

    def cut(self, value: Value, t: Any, leaf: Any) -> Value:
        """A view or an indexer on a value: slices and scalars by take, at most one array."""
        kind = jx.view_kind(t)
        if kind == "reshape":
            new = tuple(int(d) for d in t.shape)
            return self.assign(Value(f"reshape({value.text}, {shape_text(new)})", new, value.dtype))
        if kind == "transpose":
            order = tuple(int(d) for d in t.permutation)
            return self.assign(Value(f"transpose({value.text}, {shape_text(order)})", tuple(value.shape[d] for d in order), value.dtype))
        if kind == "bitcast":
            return self.assign(self.rewidth(value, str(np.dtype(t.dtype))))
        if kind != "indexer":
            raise Unsupported(f"a view through {kind}", self.place)
        text, shape, axis, arrays = value.text, [], 0, 0
        for i, n in zip(t.indices, value.shape, strict=True):
            if type(i).__name__ == "Slice":
                start = self.index_text(i.start, leaf)
                if start != "0" or i.size != n or i.stride != 1:
                    lane = f"iota(int32, ({i.size},), 0)" + (f" * {i.stride}" if i.stride != 1 else "")
                    text = f"take({text}, {lane} + {summand(start)}, axis={axis})"
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
        if value.number is not None and abs(value.number) < 2**31:
            return str(int(value.number))
        return value.text if value.dtype == "int32" else f"{self.strong(value).operand()}.astype(int32)"

    def compose(self, ref: Ref, parts: list[Any], indices: Any, leaf: Any) -> list[Any]:
        """The parts of a ref after one more indexer: on the dimensions that are still there."""
        out, given = [], iter(self.without_arrays(ref, indices, leaf))
        for p in parts:
            if p[0] == "int":
                out.append(p)
                continue
            extent = p[1] if p[0] == "full" else p[2]
            i = next(given)
            if isinstance(i, Counted):
                start, stride = ("0", 1) if p[0] == "full" else (p[1], p[3])
                start = add_text(start, i.start, stride)
                out.append(("int", start) if i.size is None else ("slice", start, i.size, stride * i.stride))
                continue
            if type(i).__name__ != "Slice":
                text = self.index_text(i, leaf)
                out.append(("int", text if p[0] == "full" else add_text(p[1], text, p[3])))
                continue
            size = i.size
            if not isinstance(size, (int, np.integer)):
                raise Unsupported(f"a slice of `{ref.name}` of dynamic size", self.place)
            if i.stride == 0:
                raise Unsupported(f"a slice of `{ref.name}` of stride 0 is not supported", self.place, "read one element of it, and broadcast that: `jnp.broadcast_to(x_ref[i:i + 1], shape)`")
            start = self.index_text(i.start, leaf)
            if start == "0" and size == extent and i.stride == 1:
                out.append(p)
            elif p[0] == "full":
                out.append(("slice", start, int(size), int(i.stride)))
            else:
                out.append(("slice", add_text(p[1], start, p[3]), int(size), p[3] * int(i.stride)))
        if next(given, None) is not None:
            raise Unsupported(f"an access to `{ref.name}` with more indices than dimensions", self.place)
        return out

    def without_arrays(self, ref: Ref, indices: Any, leaf: Any) -> list[Any]:
        """The indices, those that are arrays as the slices or scalars that they stand for."""
        out, arrays = [], 0
        scalars = [n for n, i in enumerate(indices) if type(i).__name__ != "Slice"]
        for i in indices:
            value = self.read(i.atom) if type(i).__name__ != "Slice" and isinstance(i, leaf) and not isinstance(i.atom, (int, np.integer)) else None
            if value is None or not value.shape:
                out.append(i)
            elif value.splat is not None:
                out.append(Counted(value.splat.text, None))
            elif value.lanes is None or value.lanes.dim != arrays or value.lanes.stride < 1:
                raise Unsupported(f"`{ref.name}` is indexed by an array that is not start + arange(n) (a gather or scatter)", self.place,
                                  "load the block, and take along one dimension of the value")
            else:
                out.append(Counted(value.lanes.start, value.shape[arrays], value.lanes.stride))
                arrays += 1
        shapes = [self.read(i.atom).shape for i in indices if type(i).__name__ != "Slice" and isinstance(i, leaf) and not isinstance(i.atom, (int, np.integer))]
        if any(shapes) and (arrays != len(next(s for s in shapes if s)) or scalars != list(range(scalars[0], scalars[-1] + 1))):
            raise Unsupported(f"`{ref.name}` is indexed by arrays of another shape than its dimensions", self.place,
                              "index n dimensions by n arrays: x[rows[:, None], columns[None, :]]")
        return out

    def fill_at_the_start(self, axes: list[str], ref: Ref, given: Ref) -> None:
        """ref = what the table holds, in the first step of these axes."""
        if axes:
            self.line(f"if {' and '.join(f'{a} == 0' for a in axes)}:")
        depth, self.indent = self.indent, self.indent + bool(axes)
        at = [self.name("t") for _ in ref.shape]
        for t, n in zip(at, ref.shape, strict=True):
            self.line(f"for {t} in range({n}):")
            self.indent += 1
        entry = f"{given.name}[{', '.join(at)}]" if at else given.name
        value = entry if ref.dtype == "int32" else f"{entry} != 0" if ref.dtype == "bool" else f"{entry}.astype({ref.dtype})"
        self.line(f"{ref.name}[{', '.join(at) or '...'}] = {value}")
        self.indent = depth

    def do_prng_seed(self, eqn: Any) -> None:
        seeds = [self.strong(self.read(v)) for v in eqn.invars]
        if len(seeds) > 2 or any(s.shape or s.dtype != "int32" for s in seeds):
            raise Unsupported("prng_seed of more than two int32 scalars", self.place, "mix them into two")
        self.line(f"prng_seed({', '.join(s.text for s in seeds)})")

    def do_prng_random_bits(self, eqn: Any) -> None:
        """A statement of its own, also where nobody reads the bits: later ones depend on how many draws there were."""
        shape = tuple(map(int, eqn.params["shape"]))
        self.env[eqn.outvars[0]] = self.assign(Value(f"prng_random_bits({list(shape)})", shape, "int32"))

    def do_get(self, eqn: Any) -> None:
        value = self.loaded(eqn, 1)
        if self.read(eqn.invars[0]).table:
            want = jx.dtype_name(eqn.outvars[0].aval)
            self.finish(eqn, value if want == "int32" else Value(f"{value.text}.astype({want})", (), want))
        elif self.uses.get(eqn.outvars[0], 0):
            self.env[eqn.outvars[0]] = self.assign(value)

    def do_swap(self, eqn: Any) -> None:
        ref = self.read(eqn.invars[0])
        transforms, leaf = jx.transforms_of(eqn, 2)
        indexers, views, dtype = self.all_views(ref, transforms, leaf)
        _, text, shape = self.place_of(eqn, indexers, leaf)
        value = self.read(eqn.invars[1])
        if self.uses.get(eqn.outvars[0], 0):
            self.env[eqn.outvars[0]] = self.assign(self.loaded(eqn, 2))
        if views or dtype != ref.dtype:
            value = self.unviewed(self.strong(value), views, Value("", shape, ref.dtype), leaf)
        self.line(f"{text} = {value.splat.text if value.splat is not None else value.text}")

    def unviewed(self, value: Value, views: list[Any], place: Value, leaf: Any) -> Value:
        """The value that a store through these views puts into a place of this shape and dtype."""
        seen = place  # what the views before show: a shape and a dtype
        steps = []
        for t in views:
            kind = jx.view_kind(t)
            if kind == "indexer" and self.takes_all(t, leaf):
                continue
            if kind not in ("transpose", "reshape", "bitcast"):
                raise Unsupported(f"a store through {kind} behind another view", self.place)
            steps.append((kind, t, seen))
            seen = self.view_of(seen, kind, t)
        for kind, t, before in reversed(steps):
            if kind == "transpose":
                order = tuple(int(d) for d in np.argsort(t.permutation))
                value = Value(f"transpose({value.text}, {shape_text(order)})", before.shape, value.dtype)
            elif kind == "reshape":
                value = Value(f"reshape({value.text}, {shape_text(before.shape)})", before.shape, value.dtype)
            else:
                value = self.rewidth(value, before.dtype)
        return value if value.dtype == place.dtype else Value(f"bitcast({value.text}, {place.dtype})", value.shape, place.dtype)

    @staticmethod
    def view_of(seen: Value, kind: str, t: Any) -> Value:
        """Shape and dtype behind one more view."""
        if kind == "transpose":
            return Value("", tuple(seen.shape[int(d)] for d in t.permutation), seen.dtype)
        if kind == "reshape":
            return Value("", tuple(int(n) for n in t.shape), seen.dtype)
        have, want = jx.width(seen.dtype), jx.width(t.dtype)
        shape = seen.shape if have == want else (*seen.shape[:-2], seen.shape[-2] * have // want, seen.shape[-1])
        return Value("", shape, str(np.dtype(t.dtype)))

    def filled(self, value: Value, shape: tuple[int, ...]) -> str:
        """The value with the full shape."""
        if value.splat is not None:
            value = value.splat
        text = self.typed(value)
        if value.shape == shape:
            return text
        if value.shape and len(value.shape) != len(shape):
            text = f"reshape({text}, {shape_text((1,) * (len(shape) - len(value.shape)) + value.shape)})"
        return f"broadcast_to({text}, {shape_text(shape)})"

    def do_masked_load(self, eqn: Any) -> None:
        transforms, leaf, other, mask = jx.masked_of(eqn)
        ref, text, shape = self.place_of(eqn, transforms, leaf)
        if mask is not None:
            text = f"load({text}, {self.filled(self.read(mask), shape)}"
            if other is not None:
                value = self.read(other)
                text += f", other={value.text if value.literal else self.filled(value, shape)}"
            text += ")"
        if self.uses.get(eqn.outvars[0], 0):
            self.env[eqn.outvars[0]] = self.assign(Value(text, shape, ref.dtype))

    def do_masked_swap(self, eqn: Any) -> None:
        transforms, leaf, stored, mask = jx.masked_of(eqn)
        ref, text, shape = self.place_of(eqn, transforms, leaf)
        if self.uses.get(eqn.outvars[0], 0):
            self.env[eqn.outvars[0]] = self.assign(Value(text, shape, ref.dtype))
        value = self.filled(self.read(stored), shape)
        self.line(f"{text} = {value}" if mask is None else f"store({text}, {value}, {self.filled(self.read(mask), shape)})")

    def do_addupdate(self, eqn: Any) -> None:
        _, text, _ = self.subscript(eqn, 2)
        value = self.read(eqn.invars[1])
        self.line(f"{text} += {value.splat.text if value.splat is not None else value.text}")
