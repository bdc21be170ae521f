"""Which device this is, and which one is meant."""

from __future__ import annotations

from typing import Any

from .. import devices
from .. import jaxpr as jx
from ..errors import Unsupported
from .values import Ref, Value, add_text
from .writer import Writer


class Devices(Writer):
    """Each axis of a mesh is one of devices; they are numbered along them, the last one fastest."""

    def __init__(self, axes: list[str], taken: set[str]):
        super().__init__(axes, taken)
        self.mesh: devices.Mesh = ()
        self.here: list[str] = []  # the names of these axes
        self.named_axes: dict[str, str] = {}  # axes of the grid that the kernel gives names to
        self.barrier: Ref | None = None
        self.reached: set[str] = set()  # refs that others write to

    def coordinate(self, axis: str) -> Value:
        """Of this device."""
        names = [name for name, _ in self.mesh]
        if axis not in names:
            raise Unsupported(f"lax.axis_index of `{axis}`, an axis of no mesh that is known here, is not supported", self.place, "import the function that has the shard_map")
        at = names.index(axis)
        return Value(self.here[at], bounds=(0, self.mesh[at][1] - 1))

    def do_axis_index(self, eqn: Any) -> None:
        names = eqn.params["axis_name"]
        names = names if isinstance(names, (tuple, list)) else (names,)
        if len(names) == 1 and str(names[0]) in self.named_axes:
            self.finish(eqn, Value(self.named_axes[str(names[0])]))
            return
        self.finish(eqn, self.numbered([(str(n), self.coordinate(str(n))) for n in names]))

    def numbered(self, at: list[tuple[str, Value]]) -> Value:
        """The number of the device at these coordinates, among those along their axes."""
        text, n = "0", 1
        for axis, value in reversed(at):
            text, n = add_text(text, value.operand() if n > 1 else value.text, n), n * dict(self.mesh)[axis]
        return at[0][1] if len(at) == 1 else Value(text, atom=False, bounds=(0, n - 1))

    def other(self, given: Any, leaf: Any, kind: Any) -> str:
        """The device that a copy or a signal names: coordinates, or its number."""
        if not self.mesh:
            raise Unsupported("a copy or signal to another device, of a kernel of which no mesh is known, is not supported", self.place,
                              "import the function that has the shard_map")

        def value(x: Any) -> Value:
            return self.read(x.atom) if isinstance(x, leaf) else Value(str(int(x)), literal=True, number=int(x))

        if jx.word(kind) == "logical":
            return value(given).text
        if isinstance(given, dict):
            if any(not isinstance(name, str) or name not in dict(self.mesh) for name in given):
                raise Unsupported(f"a device by the axes {', '.join(map(str, given))} is not supported", self.place, "name single axes of the mesh")
            ids = [value(given[name]) if name in given else self.coordinate(name) for name, _ in self.mesh]
        else:
            ids = [value(x) for x in (given if isinstance(given, (tuple, list)) else [given])]
        if len(ids) != len(self.mesh):
            raise Unsupported(f"a device by {len(ids)} coordinates on a mesh of {len(self.mesh)} axes is not supported", self.place, "name one for each axis")
        return ids[0].text if len(ids) == 1 else f"({', '.join(v.text for v in ids)})"

    def do_get_barrier_semaphore(self, eqn: Any) -> None:
        if self.barrier is None:
            aval = eqn.outvars[0].aval
            self.barrier = Ref(self.name("barrier"), (), jx.dtype_name(aval))
            self.allocated.append((self.barrier, aval))
        self.env[eqn.outvars[0]] = self.barrier
