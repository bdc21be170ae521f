"""Contracts for open tables, proposed from what a call's tables held."""

from __future__ import annotations

import re
from typing import Any, Iterator

from . import engine
from .jaxpr import np

MARK = "inferred"  # ids of proposed contracts begin with it, and proofs cite them


def cdiv(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def next_power_of_2(n: int) -> int:
    """The least power of 2 that is not below n."""
    return 1 << (n - 1).bit_length()


def see(spec: dict[str, Any], contents: list[Any] | None, include: bool, sizes: dict[str, int] | None = None) -> None:
    """Note in the spec which of its tables are open, without contents or a
    fact, and what holds of `contents` (the operands of a call; None: not
    seen) at these sizes. `include`: make contracts of it. Whether they hold of
    other calls is not known."""
    tables = [t for t in spec.get("scalar_prefetch", []) if "contents" not in t]
    if not tables:
        return
    held = dict(zip(engine.operands_of(spec), contents or [], strict=False))
    seen = {t["name"]: list(_facts(spec, t, np.asarray(held[t["name"]]).astype(np.int64), sizes or {})) if held.get(t["name"]) is not None else []
            for t in tables}
    if include and any(seen.values()):
        facts = [f for facts in seen.values() for f in facts]
        spec["contracts"] = [{"id": f"{MARK}_{n + 1}", "fact": f} for n, f in enumerate(facts)]
        seen = {name: [] for name, facts in seen.items() if not facts}
    spec["x-python"].pop("open", None)
    if seen:
        spec["x-python"]["open"] = seen


def told(spec: dict[str, Any]) -> list[str]:
    """A sentence for each open table, and one for contracts that were inferred."""
    out = [f"{spec['name']}: the table `{name}` is open and no contract says what it holds: it is judged for any contents"
           + (f"; in this call: {'; '.join(facts)} (tables=\"inferred\" makes contracts of that)" if facts else "")
           for name, facts in spec.get("x-python", {}).get("open", {}).items()]
    inferred = [c["fact"] for c in spec.get("contracts", []) if c["id"].startswith(f"{MARK}_")]
    if inferred:
        out.append(f"{spec['name']}: contracts inferred from one call, what is proven says nothing of others: {'; '.join(inferred)}")
    return out


def _facts(spec: dict[str, Any], table: dict[str, Any], values: Any, sizes: dict[str, int]) -> Iterator[str]:
    name, names = table["name"], [n for n in "abcdef" if n not in _taken(spec)]
    if values.ndim > len(names) or not values.size:
        return
    over = names[:values.ndim]
    entry = f"{name}[{', '.join(over)}]" if over else name
    ranges = ", ".join(f"{n} < {extent}" for n, extent in zip(over, table["shape"], strict=True))
    for_all = f"forall {ranges}: " if over else ""
    low, high = int(values.min()), int(values.max())
    ends = [(text, n) for text, n in _counts(spec, name, sizes) if n > high]
    bound = f"{entry} < {min(ends, key=lambda e: e[1])[0]}" if ends else f"{entry} <= {high}"
    yield f"{for_all}{min(low, 0)} <= {entry} and {bound}"
    if values.ndim == 1 and len(values) > 2 and (np.diff(values) >= 0).all() and values[0] < values[-1]:
        yield f"forall {over[0]} < {_less(table['shape'][0])}: {entry} <= {name}[{over[0]} + 1]"


def _taken(spec: dict[str, Any]) -> set[str]:
    """Names of the spec's one namespace."""
    named = [o["name"] for key in ("scalar_prefetch", "inputs", "outputs", "scratch") for o in spec.get(key, [])]
    return {*named, *(g["axis"] for g in spec.get("grid", [])), *spec.get("sizes", {})}


def _less(extent: Any) -> Any:
    return extent - 1 if isinstance(extent, int) else f"{extent} - 1" if str(extent).isidentifier() else f"({extent}) - 1"


def _counts(spec: dict[str, Any], table: str, sizes: dict[str, int]) -> Iterator[tuple[str, int]]:
    """How many blocks there are where an entry of the table alone is the block's index: text and number."""
    for o in [*spec.get("inputs", []), *spec.get("outputs", [])]:
        for at, extent, block in zip(o.get("index_map", []), o["shape"], o.get("block_shape", []), strict=False):
            if isinstance(at, str) and re.fullmatch(rf"{table}(\[[^\[\]]*\])?", at) and not isinstance(block, dict):
                text = f"cdiv({extent}, {block})" if block not in (None, 1) else str(extent)
                yield text, int(eval(text, {"__builtins__": {}, "cdiv": cdiv, "next_power_of_2": next_power_of_2, "min": min, "max": max, **sizes}))  # noqa: S307
