"""What is known of the operands of a pallas_call without the arguments of the
function: constants, and what is computed of them alone. The masks of splash
attention are such tables."""

from __future__ import annotations

from typing import Any

from . import jaxpr as jx
from .jaxpr import np

MOST = 1 << 20  # elements of a value that is computed

Path = tuple[tuple[int, int], ...]


def operands(closed: Any, args: list[Any] | None = None) -> dict[Path, list[Any]]:
    """For each site of jx.sites(closed): its operands, NumPy arrays or None. `args`: those of the function, where they are arrays."""
    found: dict[Path, list[Any]] = {}
    _Known(found).jaxpr(closed, args or [None] * len(jx.open_jaxpr(closed).invars), ())
    return found


def is_given(arg: Any) -> bool:
    """Is it an array, or a number, and not a shape alone?"""
    return hasattr(arg, "__array__") or isinstance(arg, (bool, int, float))


class _Known:
    def __init__(self, found: dict[Path, list[Any]]):
        self.found = found

    def jaxpr(self, j: Any, given: list[Any], path: Path) -> list[Any]:
        """Results of the jaxpr; None is what is not known."""
        inner = jx.open_jaxpr(j)
        env: dict[Any, Any] = dict(zip(inner.constvars, jx.consts_of(j) or [None] * len(inner.constvars), strict=True))
        env.update(zip(inner.invars, given, strict=True))

        def read(atom: Any) -> Any:
            return atom.val if jx.is_literal(atom) else env.get(atom)

        for eqn in inner.eqns:
            env.update(zip(eqn.outvars, self.equation(eqn, [read(a) for a in eqn.invars], path), strict=True))
        return [read(a) for a in inner.outvars]

    def equation(self, eqn: Any, values: list[Any], path: Path) -> list[Any]:
        unknown = [None] * len(eqn.outvars)
        if eqn.primitive.name == "pallas_call":
            self.found[(*path, jx.step_into(eqn, None))] = [None if v is None else np.asarray(v) for v in values]
            return unknown
        inner = list(jx.inner_jaxprs(eqn))
        if any(next(jx.sites(j), None) is not None for j in inner):
            results = {id(j): self.jaxpr(j, self.given(eqn, j, values), (*path, jx.step_into(eqn, j))) for j in inner}
            callee = jx.called(eqn)
            return results[id(callee)] if callee is not None else unknown
        if any(v is None for v in values) or any(int(np.prod(v.aval.shape)) > MOST for v in eqn.outvars):
            return unknown
        try:
            return jx.bind(eqn, values)
        except Exception:  # noqa: BLE001  what cannot be computed here is not known
            return unknown

    @staticmethod
    def given(eqn: Any, j: Any, values: list[Any]) -> list[Any]:
        """The parameters of an inner jaxpr that are the same in every turn."""
        p, count = eqn.params, len(jx.open_jaxpr(j).invars)
        if jx.called(eqn) is j:
            return values
        name = eqn.primitive.name
        fixed = values[1:] if name == "cond" else values[:p["num_consts"]] if name == "scan" else []
        if name == "while":
            first = p["cond_nconsts"]
            fixed = values[:first] if j is p["cond_jaxpr"] else values[first:first + p["body_nconsts"]]
        return [*fixed, *[None] * count][:count]
