"""Jaxprs made of parts of other ones. They are to be read, not to be evaluated."""

from __future__ import annotations

from typing import Any, Iterator

from . import jaxpr as jx


def every_equation(j: Any) -> Iterator[Any]:
    """Of the jaxpr, and of those below it."""
    for eqn in jx.equations(j):
        yield eqn
        for inner in jx.inner_jaxprs(eqn):
            yield from every_equation(inner)


def meant(atom: Any, names: dict[Any, Any]) -> Any:
    """What the atom is called elsewhere."""
    return atom if jx.is_literal(atom) else names.get(atom, atom)


def renamed(eqn: Any, names: dict[Any, Any]) -> Any:
    """The equation of other operands."""
    return eqn.replace(invars=[meant(a, names) for a in eqn.invars])


def needed(eqns: list[Any], of: list[Any]) -> list[Any]:
    """The equations that these atoms depend on, in order."""
    wanted = {a for a in of if not jx.is_literal(a)}
    kept = []
    for eqn in reversed(eqns):
        if any(v in wanted for v in eqn.outvars):
            kept.append(eqn)
            wanted |= {a for a in eqn.invars if not jx.is_literal(a)}
    return kept[::-1]


def made(like: Any, params: list[Any], eqns: list[Any], results: list[Any], effects: Any = frozenset(), names: list[str] | None = None) -> Any:
    """A jaxpr without constants that says of itself what `like` does, but for the names of its parameters."""
    info = like.debug_info
    if names is not None:
        info = info._replace(arg_names=tuple(names))
    return like.replace(constvars=[], invars=params, eqns=eqns, outvars=results, effects=effects, debug_info=info)


def closed(j: Any) -> Any:
    """A closed jaxpr without constants."""
    from jax.extend.core import ClosedJaxpr

    return ClosedJaxpr(j, [])


def shifted(j: Any, axes: int) -> Any:
    """The jaxpr behind so many more axes of a grid: program_id counts them, too."""
    def other(value: Any) -> Any:
        if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
            return shifted(value, axes)
        return type(value)(other(v) for v in value) if type(value) in (tuple, list) else value

    def equation(eqn: Any) -> Any:
        if eqn.primitive.name == "emit_pipeline":
            return eqn  # its body counts axes of its own
        if eqn.primitive.name in ("program_id", "num_programs"):
            return eqn.replace(params=eqn.params | {"axis": eqn.params["axis"] + axes})
        return eqn.replace(params={key: other(value) for key, value in eqn.params.items()})

    if hasattr(j, "jaxpr"):
        return j.replace(jaxpr=shifted(j.jaxpr, axes))
    return j.replace(eqns=[equation(e) for e in j.eqns])


def renamed_effects(effects: Any, names: dict[Any, Any]) -> Any:
    """The effects on what the names stand for."""
    return frozenset(e.replace(input=names[e.input]) if getattr(e, "input", None) in names else e for e in effects)
