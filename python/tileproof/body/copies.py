"""Copies between refs, semaphores, and the buffers that a part of the body makes."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from .. import jaxpr as jx
from ..errors import Unsupported
from .devices import Devices
from .regions import Regions
from .values import Ref, shape_text


class Copies(Devices, Regions):
    """A copy is started and waited for by statements of its own; one that is waited for at once is `copy`."""

    def side(self, operand: Any, leaf: Any) -> tuple[Ref, str]:
        """A ref of a copy, or of a semaphore, and the part of it that is meant."""
        ref, transforms = jx.ref_and_transforms(operand)
        _, text, _ = self.place_in(self.read(ref.atom), transforms, leaf)
        return self.read(ref.atom), text

    def operands(self, eqn: Any) -> tuple[list[Any], Any]:
        """Source, destination, its semaphore, that of the source and the other device (None: this one) of a copy, and the
        class of their traced parts."""
        given, leaf = jx.transforms_of(eqn, 0)
        if eqn.params.get("add"):
            raise Unsupported("a copy that adds is not supported", self.place, "Mosaic lowers none: add what was copied")
        if any(isinstance(jx.ref_and_transforms(g)[0], tuple) for g in given[:4]):  # the device may be a tuple
            raise Unsupported("pl.select_ref is not supported", self.place, "start and wait for a copy of each ref, under `pl.when(index == …)`")
        return given, leaf

    def write_copy(self, word: str, src: Any, dst: Any, leaf: Any, sem: str = "") -> None:
        """The statement of a copy, in loops over the dimensions that are gone through row by row."""
        views = [jx.ref_and_transforms(x) for x in (src, dst)]
        on = f", {sem}" if sem else ""
        if not any(self.goes_by_rows(transforms, leaf) for _, transforms in views):
            self.line(f"{word}({self.side(src, leaf)[1]}, {self.side(dst, leaf)[1]}{on})")
            return
        sides = [self.region(self.read(ref.atom), transforms, leaf) for ref, transforms in views]
        turns = self.looped(sides)
        depth = self.indent
        for size in dict.fromkeys(size for _, size in turns.values() if isinstance(size, str)):
            self.line(f"check({size} >= 0, 'the size of a copy')")
        for t, size in turns.values():
            self.line(f"for {t} in range(0, {size}):")
            self.indent += 1
        at = {n: t for n, (t, _) in turns.items()}
        self.line(f"{word}({sides[0].text(at)}, {sides[1].text(at)}{on})")
        self.indent = depth

    def ends_at_tiles(self, eqn: Any, sides: tuple[Any, Any], leaf: Any) -> None:
        """Where JAX spells a pipeline out, its copy of a last block goes on to the end of a tile, behind the array."""
        if not jx.is_made_in(eqn, "pallas/mosaic/pipeline.py"):
            return
        for ref, transforms in map(jx.ref_and_transforms, sides):
            aval, sizes = ref.atom.aval, [i.size for t in transforms if jx.view_kind(t) == "indexer" for i in t.indices if type(i).__name__ == "Slice"]
            if any(isinstance(n, leaf) for n in sizes) and any(d % t for d, t in zip(aval.shape, jx.tiles_of(aval.inner_aval), strict=True)):
                raise Unsupported(f"a pipeline of copies ahead whose last block of `{self.read(ref.atom).name}` ends within a tile is not supported", self.place,
                                  f"pad the array to multiples of {' x '.join(map(str, jx.tiles_of(aval.inner_aval)))}")

    def counter(self, ref: Ref, text: str) -> str:
        if not ref.shape:
            return ref.name
        if any(part in text for part in ("...", "ds(", ":")):
            raise Unsupported(f"several of the semaphores `{ref.name}` in one copy", self.place, "name one: `sem.at[i]`")
        return text

    def do_dma_start(self, eqn: Any) -> None:
        (src, dst, sem, sent, device), leaf = self.operands(eqn)
        self.ends_at_tiles(eqn, (src, dst), leaf)
        on = self.counter(*self.side(sem, leaf))
        if device is not None:
            there = self.other(device, leaf, eqn.params["device_id_type"])
            self.reached |= {self.read(jx.ref_and_transforms(x)[0].atom).name for x in (dst, sem)}
            on = f"{self.counter(*self.side(sent, leaf))}, {on}, device={there}"
        self.write_copy("copy_start", src, dst, leaf, on)

    def do_dma_wait(self, eqn: Any) -> None:
        (src, dst, sem, *_), leaf = self.operands(eqn)  # the bytes of dst, on sem
        self.write_copy("copy_wait", src, dst, leaf, self.counter(*self.side(sem, leaf)))

    def write_count(self, eqn: Any, name: str) -> None:
        (ref, transforms, n, *rest), leaf = jx.transforms_of(eqn, 0, "args_tree")
        if name == "semaphore_signal" and rest[1] is not None:
            raise Unsupported("a signal to another core is not supported", self.place)
        if name == "semaphore_wait" and rest and not jx.is_true(rest[0].atom if isinstance(rest[0], leaf) else rest[0]):
            raise Unsupported("a wait that leaves the semaphore as it is, is not supported", self.place)
        _, text, _ = self.place_in(self.read(ref.atom), list(transforms), leaf)
        count = self.read(n.atom).text if isinstance(n, leaf) else str(int(n))
        there = ""
        if name == "semaphore_signal" and rest[0] is not None:
            there = f", device={self.other(rest[0], leaf, eqn.params['device_id_type'])}"
            self.reached.add(self.read(ref.atom).name)
        self.line(f"{name}({self.counter(self.read(ref.atom), text)}, {count}{there})")

    def do_semaphore_signal(self, eqn: Any) -> None:
        self.write_count(eqn, "semaphore_signal")

    def do_semaphore_wait(self, eqn: Any) -> None:
        self.write_count(eqn, "semaphore_wait")

    def is_copy_at_once(self, inner: Any) -> bool:
        """Is this a copy that is started and waited for, on a semaphore of its own?"""
        if [e.primitive.name for e in inner.eqns] != ["dma_start", "dma_wait"] or [jx.memory_space(v.aval) for v in inner.invars] != ["semaphore"]:
            return False
        start, wait = inner.eqns
        same = [a is b for a, b in zip(start.invars, wait.invars, strict=False)]
        return len(start.invars) == len(wait.invars) and all(same) and str(start.params["tree"]) == str(wait.params["tree"])

    def copy_at_once(self, eqn: Any) -> None:
        (src, dst, *_), leaf = self.operands(eqn)
        (source, first), (target, second) = jx.ref_and_transforms(src), jx.ref_and_transforms(dst)
        if self.read(source.atom).name == self.read(target.atom).name and self.goes_by_rows([*first, *second], leaf):
            raise Unsupported("a copy at once within one ref, of a size known only at run time, is not supported", self.place, "start it, and wait for it")
        self.write_copy("copy", src, dst, leaf)

    def do_run_scoped(self, eqn: Any) -> None:
        """Buffers and semaphores of a part of the body."""
        inner = jx.open_jaxpr(eqn.params["jaxpr"])
        self.bind(inner.constvars, [self.read(a) for a in eqn.invars])
        self.count_uses(inner)
        if self.is_copy_at_once(inner):
            self.copy_at_once(inner.eqns[0])
            return
        names = [*jx.argument_names(inner), *[""] * len(inner.invars)]
        refs = [Ref(self.named_as(name, "scoped"), tuple(var.aval.shape), jx.dtype_name(var.aval)) for name, var in zip(names, inner.invars, strict=False)]
        made, head = [(ref, var.aval) for ref, var in zip(refs, inner.invars, strict=True)], len(self.lines)
        with self.scope(made):
            self.bind(inner.invars, refs)
            place = self.place
            results = self.statements(inner)
            self.place = place
            self.bind(eqn.outvars, results)
        self.keep_reached(head, made)

    def keep_reached(self, head: int, made: list[tuple[Ref, Any]]) -> None:
        """Semaphores on which other devices count are there before this device begins that part of the body: they are the kernel's."""
        lasting = [ref.name for ref, aval in made if ref.name in self.reached and jx.memory_space(aval) == "semaphore"]
        if not lasting:
            return
        self.allocated += [(ref, aval) for ref, aval in made if ref.name in lasting]
        rest = [(ref, aval) for ref, aval in made if ref.name not in lasting]
        self.lines[head] = "    " * self.indent + (self.scope_text(rest) if rest else "pass")
        if not rest:
            self.lines[head + 1:] = [line[4:] for line in self.lines[head + 1:]]

    @contextlib.contextmanager
    def inside(self, head: str | None) -> Iterator[None]:
        """Lines below this one; None: where they are."""
        if head is None:
            yield
            return
        self.line(head)
        self.indent += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.line("pass")
        self.indent -= 1

    def scope(self, made: list[tuple[Ref, Any]]) -> contextlib.AbstractContextManager[None]:
        """Lines in which these buffers and semaphores are there."""
        return self.inside(self.scope_text(made) if made else None)

    def scope_text(self, made: list[tuple[Ref, Any]]) -> str:
        return f"with {', '.join(f'{self.scratch_text(ref, aval)} as {ref.name}' for ref, aval in made)}:"

    def scratch_text(self, ref: Ref, aval: Any) -> str:
        kind = jx.scratch_kind(ref.dtype, aval)
        if kind is None:
            raise Unsupported(f"a buffer of {ref.dtype} in {jx.memory_space(aval)}, which a part of the body makes, is not supported", self.place)
        dtype, space = kind
        return f"scratch({shape_text(ref.shape)}, {dtype}{', smem' if space == 'smem' else ''})"

    @staticmethod
    def is_counted(inner: Any, var: Any) -> bool:
        return any(a is var for e in inner.eqns if e.primitive.name not in ("dma_start", "dma_wait") for a in e.invars)

    def written_first(self, inner: Any, var: Any) -> bool:
        """Is the first equation that names the ref a store, or a copy that is waited for at once, to all of it?"""
        eqn = next((e for e in inner.eqns if any(a is var for a in e.invars)), None)
        if eqn is None:
            return True
        if eqn.primitive.name == "run_scoped":
            scope = jx.open_jaxpr(eqn.params["jaxpr"])
            own = dict(zip(scope.constvars, eqn.invars, strict=True))
            return self.is_copy_at_once(scope) and self.fills(scope.eqns[0], var, own)
        if eqn.primitive.name == "dma_start":
            return self.fills(eqn, var, {})
        if eqn.primitive.name != "swap" or eqn.invars[0] is not var or any(a is var for a in eqn.invars[1:]) or self.uses_of(inner, eqn.outvars[0]):
            return False
        transforms, leaf = jx.transforms_of(eqn, 2)
        return all(jx.view_kind(t) == "indexer" and self.takes_all(t, leaf) for t in transforms)

    def fills(self, eqn: Any, var: Any, own: dict[Any, Any]) -> bool:
        """Does this start of a copy write to all of the ref, and from another one? Who reads before it is waited for, breaks TP504."""
        (src, dst, *_), leaf = jx.transforms_of(eqn, 0)
        (source, _), (ref, transforms) = jx.ref_and_transforms(src), jx.ref_and_transforms(dst)
        named = [own.get(r.atom, r.atom) for r in (ref, source)]
        return named[0] is var and named[1] is not var and all(jx.view_kind(t) == "indexer" and self.takes_all(t, leaf) for t in transforms)

    @staticmethod
    def uses_of(inner: Any, var: Any) -> bool:
        return not jx.is_dropped(var) and (any(a is var for e in inner.eqns for a in e.invars) or any(a is var for a in inner.outvars))
