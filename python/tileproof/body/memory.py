"""Reads and writes of refs, through indices and views."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import jaxpr as jx
from ..errors import Unsupported
from .values import Ref, Value, add_text, number, shape_text
from .writer import Writer


class Memory(Writer):
    """A read is a statement of its own, in order."""

    def subscript(self, eqn: Any, count: int) -> tuple[Ref, str, tuple[int, ...]]:
        return self.place_of(eqn, *jx.transforms_of(eqn, count))

    def place_of(self, eqn: Any, transforms: list[Any], leaf: Any) -> tuple[Ref, str, tuple[int, ...]]:
        ref = self.read(eqn.invars[0])
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
