"""The two places of a copy, where a size is known only at run time, or leading
dimensions are seen as one, or one as several: the copy is made row by row, or by
as many rows as the size is claimed to be a multiple of, which moves the same
elements and takes the same bytes off the semaphore."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from .. import jaxpr as jx
from ..errors import Unsupported
from .memory import Memory
from .values import Ref, add_text, factor


@dataclasses.dataclass
class Extent:
    """One dimension of a view: elements start, start + stride, … of one dimension of the ref, or of several that are counted as one."""

    dims: tuple[int, ...]
    size: int | str  # text: known at run time
    start: str = "0"
    stride: int = 1
    step: int = 1  # what divides a size that is known at run time

    def whole(self, shape: tuple[int, ...]) -> bool:
        return self.start == "0" and self.stride == 1 and self.size == math.prod(shape[d] for d in self.dims)

    def by_rows(self) -> bool:
        return isinstance(self.size, str) or len(self.dims) > 1

    def split(self, sizes: list[int]) -> list[Extent]:
        """Seen as several dimensions, the last of which counts the elements."""
        return [Extent(self.dims, n, "0" if k + 1 < len(sizes) else self.start, self.stride * math.prod(sizes[k + 1:])) for k, n in enumerate(sizes)]

    def at(self, index: str, shape: tuple[int, ...]) -> dict[int, str]:
        """The subscripts of one element, by dimension of the ref."""
        place = add_text(self.start, index, self.stride)
        out, inner = {}, 1
        for d in reversed(self.dims):
            outer = f"{factor(place)} // {inner}" if inner > 1 else place
            out[d] = outer if d == self.dims[0] else f"{factor(outer)} % {shape[d]}" if inner == 1 else f"({outer}) % {shape[d]}"
            inner *= shape[d]
        return out


@dataclasses.dataclass
class Region:
    """A part of a ref: the dimensions that are left, and the subscripts of the others."""

    ref: Ref
    shape: tuple[int, ...]
    extents: list[Extent]
    fixed: dict[int, str]

    def by_rows(self, n: int) -> bool:
        """Is this dimension gone through one by one? So is one that counts parts of a dimension of the ref, whose places another one counts."""
        e = self.extents[n]
        return e.by_rows() or any(other.dims[0] in e.dims for other in self.extents[n + 1:])

    def fix(self, places: dict[int, str]) -> None:
        """These subscripts, beside what is there of a dimension whose parts are counted."""
        for d, place in places.items():
            self.fixed[d] = add_text(self.fixed.get(d, "0"), place, 1)

    def text(self, turns: dict[int, str]) -> str:
        """The part where the dimensions in `turns` are at these indices."""
        one = Region(self.ref, self.shape, [], dict(self.fixed))
        spans = {}
        for n, e in enumerate(self.extents):
            if n in turns and e.step > 1:
                spans[e.dims[0]] = Extent(e.dims, e.step, add_text(e.start, turns[n], e.step * e.stride), e.stride)
            elif n in turns:
                one.fix(e.at(turns[n], self.shape))
            else:
                spans[e.dims[0]] = e
        subscripts = [one.fixed.get(d, "0") for d in range(len(self.shape))]
        for d, e in spans.items():
            start = add_text(subscripts[d], e.start, 1)
            subscripts[d] = ":" if e.whole(self.shape) else f"ds({start}, {e.size}{f', {e.stride}' if e.stride != 1 else ''})"
        return f"{self.ref.name}[{', '.join(subscripts)}]"


class Regions(Memory):
    """Reads the places of a copy."""

    def region(self, ref: Ref, transforms: list[Any], leaf: Any) -> Region:
        region = Region(ref, (), [], {})
        for d, part in enumerate(self.parts_of(ref)):
            if part[0] == "int":
                region.fixed[d] = part[1]
            else:
                region.extents.append(Extent((d,), part[1]) if part[0] == "full" else Extent((d,), part[2], part[1], part[3]))
            region.shape += (part[1] if part[0] == "full" else 0,)  # of a part nobody asks for it
        for t in transforms:
            kind = jx.view_kind(t)
            if kind == "indexer":
                self.narrow(region, t.indices, leaf)
            elif kind == "reshape":
                self.reshape(region, [int(n) for n in t.shape])
            else:
                raise Unsupported(f"a copy through {kind} of `{ref.name}` is not supported", self.place, "copy the ref itself, and view it where it is read")
        return region

    def narrow(self, region: Region, indices: Any, leaf: Any) -> None:
        left = []
        for e, i in zip(region.extents, indices, strict=True):
            if type(i).__name__ != "Slice":
                region.fix(e.at(self.index_text(i, leaf), region.shape))
                continue
            step = 1 if len(e.dims) > 1 or not isinstance(i.size, leaf) else self.read(i.size.atom).divisor
            left.append(Extent(e.dims, self.size_text(i.size, leaf), add_text(e.start, self.index_text(i.start, leaf), e.stride), e.stride * int(i.stride), step))
        region.extents = left

    def size_text(self, size: Any, leaf: Any) -> int | str:
        """How many; text: known only at run time."""
        if not isinstance(size, leaf):
            return int(size)
        text, within = self.index_text(size, leaf), self.read(size.atom).within()
        return int(text) if text.isdigit() else within[0] if within and within[0] == within[1] >= 0 else text

    def reshape(self, region: Region, new: list[int]) -> None:
        """A reshape that counts neighbours as one dimension, or one by its parts."""
        old, out, new = list(region.extents), [], list(new)
        while old and new:
            taken, made = [old.pop(0)], [new.pop(0)]
            while isinstance(taken[0].size, int) and math.prod(e.size for e in taken) != math.prod(made):
                short = math.prod(e.size for e in taken) < math.prod(made)
                if not (old if short else new) or short and not isinstance(old[0].size, int):
                    break
                (taken if short else made).append((old if short else new).pop(0))
            if math.prod(e.size for e in taken) != math.prod(made) or len(taken) > 1 and not (len(made) == 1 and all(e.whole(region.shape) for e in taken)) or (
                    len(made) > 1 and len(taken[0].dims) > 1):
                raise self.unlike(region)
            out += taken if len(taken) == len(made) else taken[0].split(made) if len(taken) == 1 else [Extent(tuple(d for e in taken for d in e.dims), made[0])]
        if old or new:
            raise self.unlike(region)
        region.extents = out

    def unlike(self, region: Region) -> Unsupported:
        return Unsupported(f"a copy through a reshape of `{region.ref.name}` that does more than count whole dimensions as one, or one by its parts, is not supported",
                           self.place, "copy the parts one by one")

    @staticmethod
    def goes_by_rows(transforms: list[Any], leaf: Any) -> bool:
        return any(jx.view_kind(t) == "reshape" or jx.view_kind(t) == "indexer" and any(type(i).__name__ == "Slice" and isinstance(i.size, leaf) for i in t.indices)
                   for t in transforms)

    def looped(self, sides: list[Region]) -> dict[int, tuple[str, int | str]]:
        """The dimensions that are gone through one by one: a name, and how many there are."""
        if len({len(s.extents) for s in sides}) != 1:
            raise Unsupported("a copy between places of another shape", self.place)
        out = {}
        for n, pair in enumerate(zip(*(s.extents for s in sides), strict=True)):
            if any(s.by_rows(n) for s in sides):
                if len({e.size for e in pair}) != 1:
                    raise Unsupported("a copy between places whose sizes are computed in two ways is not supported", self.place,
                                      "compute the size once, and slice both sides by it")
                step = math.gcd(*(e.step for e in pair))
                for e in pair:
                    e.step = step
                out[n] = self.name("t"), f"{factor(str(pair[0].size))} // {step}" if step > 1 else pair[0].size
        return out
