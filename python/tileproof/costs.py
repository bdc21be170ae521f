"""What kernels cost (`tileproof cost`), and which shapes of their blocks are legal and best (`tileproof sweep`)."""

from __future__ import annotations

import dataclasses
import html
import itertools
import os
from typing import Any, Callable, Iterator, Mapping, Sequence

from . import binary
from .errors import TileproofError, Unsupported, together

COUNTS = ("steps", "bytes_in", "bytes_out", "once_in", "once_out", "flops", "dot_flops", "mxu_flops", "transcendental", "vmem_bytes")


@dataclasses.dataclass(frozen=True)
class Cost:
    """What one kernel costs at the sizes of its call, or at the first case of its spec."""

    kernel: str
    counts: dict[str, int | None]  # exact, by the names of docs/COST.md; None: not known
    models: dict[str, dict[str, Any]]  # by chip: docs/COST.md, "model"
    operands: dict[str, dict[str, int | None]]  # by name: fetches, bytes_in, writes, bytes_out, array_bytes
    vmem: list[dict[str, Any]]  # over time: from which line of the body on (0: the begin of a step) which buffers are there, and bytes of all

    def __str__(self) -> str:
        def time(m: dict[str, Any], key: str) -> str:
            return f"{m[key] * 1e6:.2f} us" if m.get(key) is not None else "unknown"

        def number(v: int | None) -> str:
            return "unknown" if v is None else format(v, ",")

        lines = [f"{self.kernel}, exact:", *(f"  {n.replace('_', ' '):16} {number(v):>24}" for n, v in self.counts.items()),
                 "bytes in and out:", *(f"  {name:16} {number(o['bytes_in']):>24} {number(o['bytes_out']):>20}" for name, o in self.operands.items()),
                 *(["VMEM over time:"] if len(self.vmem) > 1 else []),
                 *(f"  {_when(m):16} {number(m['bytes']):>24}  {', '.join(m['buffers'])}" for m in self.vmem if len(self.vmem) > 1),
                 "model, at least:", *(f"  {name:16} {time(m, 'pipeline_seconds'):>24}  {m.get('bound') or ''}" for name, m in self.models.items())]
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def _when(moment: dict[str, Any]) -> str:
    return f"line {moment['line']}" if moment["line"] else "step begins"


def _over_time(counts: dict[str, Any]) -> list[dict[str, Any]]:
    """What is there at each moment: what lasts, and the scratch of `with`."""
    scoped = {name for m in counts["vmem_moments"] for name in m["scoped"]}
    lasting = [b["name"] for b in counts["vmem_buffers"] if b["name"] not in scoped]
    return [{"line": m["line"], "ends": m["ends"], "buffers": [*lasting, *m["scoped"]], "bytes": m["bytes"].get("exact")} for m in counts["vmem_moments"]]


def cost(spec: dict[str, Any] | str | os.PathLike[str], *, dtypes: Mapping[str, str] | None = None, target: str | None = None, **sizes: int) -> Cost:
    """The cost of a spec, an object or a file, at `sizes` or else at its first case. Raises TileproofError."""
    options = [a for name, value in sizes.items() for a in ("--size", f"{name}={value}")]
    options += [a for name, value in (dtypes or {}).items() for a in ("--dtype", f"{name}={value}")]
    options += ["--target", target] if target else []
    path, text = binary.given(spec)
    document = binary.parsed("cost", binary.run("cost", "--format", "json", *options, path, text=text))
    cases = [c for k in document["kernels"] for c in k["cases"]]
    if not cases:
        raise TileproofError(f"tileproof cost: {document['name']}: there is no case to count at: give sizes")
    first = cases[0]
    operands = {o["name"]: {key: n.get("exact") for key, n in o.items() if key != "name"} for o in first["counts"]["operands"]}
    return Cost(document["name"], {n: first["counts"][n].get("exact") for n in COUNTS}, {m["target"]: m for m in first["model"]}, operands,
                _over_time(first["counts"]))


@dataclasses.dataclass(frozen=True)
class Shape:
    """One combination of a sweep."""

    at: dict[str, Any]
    verdict: str  # legal, forbidden, unknown, not imported
    rules: list[str]  # that forbid it, or are unknown
    reason: str  # the first finding, with its smallest case
    vmem_bytes: int | None
    traffic_bytes: int | None
    seconds: float | None  # of the model: a bound from below
    bound: str | None


@dataclasses.dataclass(frozen=True)
class Sweep:
    """All combinations; legal ones of the least model time first."""

    shapes: list[Shape]

    @property
    def legal(self) -> list[Shape]:
        return [s for s in self.shapes if s.verdict == "legal"]

    @property
    def best(self) -> Shape | None:
        """The fastest in the model; None: none is legal, or none has a model."""
        return next((s for s in self.legal if s.seconds is not None), None)

    @property
    def space(self) -> list[dict[str, Any]]:
        """The legal combinations, best first: what an autotuner has to try."""
        return [s.at for s in self.legal]

    def _lines(self) -> Iterator[tuple[str, ...]]:
        for s in self.shapes:
            yield (", ".join(f"{k} = {v}" for k, v in s.at.items()), s.verdict, *(str("?" if v is None else v) for v in (s.vmem_bytes, s.traffic_bytes)),
                   "?" if s.seconds is None else f"{s.seconds * 1e6:.2f}", s.bound or "", "" if s.verdict == "legal" else f"{' '.join(s.rules)} {s.reason}".strip())

    def __str__(self) -> str:
        rows = [("shape", "verdict", "VMEM bytes", "traffic bytes", "model us", "bound", ""), *self._lines()]
        widths = [max(len(r[c]) for r in rows) for c in range(6)]
        return "\n".join("  ".join([*(c.ljust(w) for c, w in zip(r, widths)), r[6]]).rstrip() for r in rows)

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"

        return "<table>" + row(("shape", "verdict", "VMEM bytes", "traffic bytes", "model µs", "bound", ""), "th") + "".join(
            row(r, "td") for r in self._lines()) + "</table>"


def sweep(kernel: Callable[..., Any] | dict[str, Any] | str | os.PathLike[str], args: Sequence[Any] = (), *, over: Mapping[str, Sequence[Any]],
          target: str | None = None) -> Sweep:
    """Which combinations of `over` are legal, and what each costs in the model.

    `kernel`: a function, called as kernel(*args, bm=64, bn=128) for
    over={"bm": [64, 128], "bn": [128]}, whose pallas_calls are imported, linted and
    counted each time; or a spec (an object or a file), whose sizes, dtypes or target
    `over` names, and which is gone through by `tileproof sweep`.
    """
    shapes = _of_function(kernel, args, over, target) if callable(kernel) else _of_spec(kernel, over, target)
    order = {"legal": 0, "unknown": 1, "forbidden": 2, "not imported": 3}
    return Sweep(sorted(shapes, key=lambda s: (order[s.verdict], s.seconds is None, s.seconds or 0)))


def _of_spec(spec: dict[str, Any] | str | os.PathLike[str], over: Mapping[str, Sequence[Any]], target: str | None) -> list[Shape]:
    axes = ",".join(f"{name}={'|'.join(map(str, values))}" for name, values in over.items())
    path, text = binary.given(spec)
    done = binary.run("sweep", "--over", axes, "--format", "json", *(["--target", target] if target else []), path, text=text)
    return [Shape(c["at"], c["verdict"], c["rules"], c.get("case") or "", c["vmem_bytes"], c.get("traffic_bytes"), c.get("model_seconds"), c.get("bound"))
            for c in binary.parsed("sweep", done)["cells"]]


def _of_function(fn: Callable[..., Any], args: Sequence[Any], over: Mapping[str, Sequence[Any]], target: str | None) -> list[Shape]:
    return [_shape(fn, args, dict(zip(over, values)), target) for values in itertools.product(*over.values())]


def _shape(fn: Callable[..., Any], args: Sequence[Any], at: dict[str, Any], target: str | None) -> Shape:
    from . import api, importer

    nothing = (None, None, None, None)
    specs, refused = importer.read(lambda *a: fn(*a, **at), *args, tables=True)
    if refused or not specs:
        return Shape(at, "not imported", [], str(together(getattr(fn, "__name__", "kernel"), None, refused)), *nothing)
    report = api.judged(specs, [], *(["--target", target] if target else []))
    bad, unknown = report.of("violated", "vacuous"), report.of("unknown")
    found = bad or unknown
    if bad:
        return Shape(at, "forbidden", sorted({f.rule for f in bad}), str(found[0]), *nothing)
    costs = [cost(s, target=target) for s in specs]
    chips = [c.models.get(target or r["specs"][0].get("target") or "") for c, r in zip(costs, report.reports, strict=True)]
    models = [m or {} for m in chips]
    slowest = max(models, key=lambda m: m.get("pipeline_seconds") or 0)
    return Shape(at, "unknown" if unknown else "legal", sorted({f.rule for f in unknown}), str(found[0]) if found else "",
                 _most(c.counts["vmem_bytes"] for c in costs), _sum(c.counts[n] for c in costs for n in ("bytes_in", "bytes_out")),
                 _sum(m.get("pipeline_seconds") for m in models), slowest.get("bound"))


def _most(values: Iterator[int | None]) -> int | None:
    known = list(values)
    return None if None in known else max(known)  # type: ignore[type-var]


def _sum(values: Iterator[Any]) -> Any:
    known = list(values)
    return None if None in known else sum(known)
