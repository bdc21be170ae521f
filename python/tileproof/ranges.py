"""Between what the elements of inputs lie ("values"): of integers as the
arrays of a call hold them, of others as the caller says."""

from __future__ import annotations

from typing import Any, Mapping

from .errors import TileproofError

Ranges = Mapping[str, tuple[Any, Any]]  # by input: least and greatest; None: any
BITS = {"int4": 4, "uint4": 4, "int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32}


def see(spec: dict[str, Any], operands: list[Any] | None) -> None:
    """Note in the spec between what the integers of a call lie that are labels, indices, lengths: an author who gives
    such an array means numbers of that kind. `operands`: those of the call, None where not known. Integers that fill
    more than half of what their dtype holds may be any."""
    from . import engine
    from .jaxpr import np

    seen, of = {}, dict(zip(engine.operands_of(spec), operands or [], strict=False))
    for entry in spec.get("inputs", []):
        held = of.get(entry["name"])
        bits = BITS.get(entry["dtype"])
        if bits is None or held is None or not np.size(held) or list(np.shape(held)) != entry["shape"]:
            continue
        least, most = int(np.min(held)), int(np.max(held))
        if most - least < 1 << (bits - 1):
            seen[entry["name"]] = entry["values"] = {"min": least, "max": most}
    if seen:
        spec["x-python"]["values"] = seen


def arrays_of(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """What "values" can be said of: inputs, and tables of a scalar prefetch."""
    return [*spec.get("inputs", []), *spec.get("scalar_prefetch", [])]


def say(specs: list[dict[str, Any]], ranges: Ranges) -> None:
    """Into the specs what the caller says, by the name of an input or a table, which an axis of the grid may have taken. Raises TileproofError where no
    kernel has it."""
    entries = [(spec, entry) for spec in specs for entry in arrays_of(spec)]
    said: dict[int, str] = {}
    for wanted, ends in ranges.items():
        name = next((n for n in (wanted, f"{wanted}_2", f"{wanted}_ref") if any(e["name"] == n for _, e in entries)), None)
        if name is None:
            raise TileproofError(f"values= names `{wanted}`; the inputs and tables of the kernels are {', '.join(dict.fromkeys(e['name'] for _, e in entries))}")
        for spec, entry in entries:
            if entry["name"] == name:
                whole = next((e for s, e in entries if s is spec and e["name"] == entry.get("array")), entry)
                values = {key: end if isinstance(end, (int, float, str)) else end.item()
                          for key, end in zip(("min", "max"), ends, strict=True) if end is not None}
                if id(whole) in said and whole["values"] != values:
                    raise TileproofError(f"values= says two things of one array, `{said[id(whole)]}` and `{wanted}`")
                whole["values"], said[id(whole)] = values, wanted
                for notes in ("values", "open"):
                    spec["x-python"].get(notes, {}).pop(whole["name"], None)


def of_arguments(fn: Any, args: Any, specs: list[dict[str, Any]], sizes: Mapping[str, int]) -> dict[int, dict[str, Any]]:
    """By the number of an argument, as jax flattens them, the "values" of the input that it is of some kernel, at these sizes."""
    from . import engine
    from . import jaxpr as jx
    from .reference import origins

    closed, out = jx.trace(fn, args), dict[int, dict[str, Any]]()
    for site in jx.sites(closed):
        spec = next((s for s in specs if s["name"] == jx.function_name(site.equation)), None)
        of = dict(zip(engine.operands_of(spec or {}), origins(closed, site.equation, moved=True), strict=False))
        for entry in arrays_of(spec or {}):
            origin = of.get(entry["name"])
            if origin is not None and "values" in entry:
                out[origin] = {key: number(end, sizes) for key, end in entry["values"].items()}
    return out


def number(end: Any, sizes: Mapping[str, int]) -> Any:
    """An end at these sizes."""
    from . import contracts

    if not isinstance(end, str):
        return end
    return eval(end, {"__builtins__": {}, "cdiv": contracts.cdiv, "next_power_of_2": contracts.next_power_of_2, "min": min, "max": max, **sizes})  # noqa: S307


def told(spec: dict[str, Any]) -> list[str]:
    """A sentence about the integers of which the range was taken from a call."""
    seen = spec.get("x-python", {}).get("values", {})
    if not seen:
        return []
    ends = ", ".join(f"{v['min']} <= {name} <= {v['max']}" for name, v in seen.items())
    return [f"{spec['name']}: {ends}, as in the arrays of this call: what is said holds for such integers (values= says others)"]
