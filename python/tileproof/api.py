"""What users call: check, assert_safe, assert_equivalent, checked, from_pallas."""

from __future__ import annotations

import collections
import dataclasses
import functools
import html
import pathlib
import re
import tempfile
from typing import Any, Callable, ClassVar, Iterator, Mapping, Sequence

from . import binary, places, words
from .errors import NotExecuted, TileproofError, Unsupported


WINDOWS = ("TP101", "TP401", "TP402", "TP403")  # rules about windows and steps: either may be what is wrong
TRIED = " (all rules re-checked)"
COLORS = {"proven": "green", "tested": "green", "violated": "firebrick", "vacuous": "firebrick", "not imported": "firebrick", "unknown": "darkorange"}


@dataclasses.dataclass(frozen=True)
class Finding:
    """One finding of the report: a rule, its verdict, and where in the Python source."""

    kernel: str
    rule: str
    slug: str
    verdict: str  # violated, unknown, vacuous, proven, advice
    subject: str
    message: str
    reason: str
    help: str
    witness: dict[str, Any] | None
    python: str | None  # "file.py:12": the call, or the statement
    note: str = ""  # what verify knows of the cause
    grid: str | None = None  # where the grid is written, of a finding about windows and steps

    def __str__(self) -> str:
        lines = [f"{self.verdict}[{self.rule}] {self.kernel}: {self.message}"]
        if self.python:
            lines.append(f"  at {places.shown(self.python)}")
        if self.grid and self.grid != self.python:
            lines.append(f"  grid at {places.shown(self.grid)}")
        if self.witness:
            step = ", ".join(f"{k} = {v}" for k, v in self.witness["step"].items())
            sizes = ", ".join(f"{k} = {v}" for k, v in self.witness["sizes"].items())
            tables = ", ".join(f"{k} = {v}" for k, v in self.witness.get("tables", {}).items())
            case = "; ".join(t for t in (sizes, f"step {step}" if step else "", tables) if t)
            lines.append(f"  smallest case: {case or 'every call'}")
            if self.witness.get("detail"):
                lines.append(f"  there: {self.witness['detail']}")
        if self.note:
            lines.append(f"  note: {self.note}")
        if self.reason:
            lines.append(f"  why: {self.reason}")
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Plot:
    """A page in a frame of its own, which runs no scripts."""

    page: str

    def _repr_html_(self) -> str:
        return f'<iframe sandbox style="width:100%;height:40rem;border:0" srcdoc="{html.escape(self.page)}"></iframe>'


@dataclasses.dataclass(frozen=True)
class Report:
    """What tileproof says of every pallas_call of one function."""

    specs: list[dict[str, Any]]  # as imported
    reports: list[dict[str, Any]]  # of the program, format 1
    findings: list[Finding]
    refused: list[Unsupported] = dataclasses.field(default_factory=list)  # calls that were not imported, and are not judged
    scope: ClassVar[str] = "rules only"
    command: ClassVar[str] = "lint"

    @property
    def cost(self) -> list[Any]:
        """What each kernel moves and computes at the sizes of its call, and the model's time on every chip: costs.Cost."""
        from . import costs

        return [costs.cost(s) for s in self.specs]

    def page(self) -> str:
        """The HTML page of all kernels, as the program writes it: blocks, pipeline, cost, VMEM, verdicts."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for n, spec in enumerate(self.specs):
                paths.append(pathlib.Path(folder) / f"{n}.tile.json")
                paths[-1].write_text(binary.text_of(spec), encoding="utf-8")
            done = binary.run(self.command, "--format", "html", *map(str, paths))
        if not done.stdout:
            raise TileproofError(f"tileproof {self.command}: {done.stderr.strip() or 'no page'} (exit {done.returncode})")
        return done.stdout

    def plot(self) -> Plot:
        """page(), for a notebook to show."""
        return Plot(self.page())

    @property
    def ok(self) -> bool:
        """No rule is violated, and every call was judged. Results are not compared: that is verify()."""
        return not self.refused and not any(f.verdict in ("violated", "vacuous") for f in self.findings)

    @property
    def assumed(self) -> list[str]:
        """The domains of sizes that were inferred, and what is said of tables: those that are open, and contracts that were inferred from one
        call; the integers of inputs of which the range was."""
        from . import contracts, ranges, symbolic

        return [symbolic.told(s) for s in self.specs if "inferred" in s.get("x-python", {})] + [
            t for s in self.specs for t in [*contracts.told(s), *ranges.told(s)]]

    def of(self, *verdicts: str) -> list[Finding]:
        return [f for f in self.findings if f.verdict in verdicts]

    @property
    def violations(self) -> int:
        """How many findings are violations."""
        return len(self.of("violated", "vacuous"))

    def __str__(self) -> str:
        proven = len(self.of("proven"))
        bad, unknown, advice = self.of("violated", "vacuous"), self.of("unknown"), self.of("advice")
        head = f"tileproof, {self.scope}: {len(self.specs)} kernel{'s' if len(self.specs) != 1 else ''}, {self.violations} violated, {proven} proven, {len(unknown)} unknown"
        if advice:
            head += f", {len(advice)} advice"
        if self.refused:
            head += f", {len(self.refused)} not imported"
        return "\n".join([head, *_told(bad), *_told(unknown), *_told(advice), *(f"not imported: {r}" for r in self.refused), *(f"note: {t}" for t in self.assumed)])

    def _rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Kernel, rule, verdict, text: findings with their text, then what is proven, a row for each rule."""
        for f in self.findings:
            if f.verdict != "proven":
                yield f.kernel, f"{f.rule} {f.slug}", f.verdict, str(f)
        yield from (("", "", "not imported", str(r)) for r in self.refused)
        for (kernel, rule), n in collections.Counter((f.kernel, f"{f.rule} {f.slug}") for f in self.of("proven")).items():
            yield kernel, rule, "proven", f"{n} obligation{'s' if n != 1 else ''}"

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        def row(cells: tuple[str, str, str, str]) -> str:
            kernel, rule, verdict, text = map(html.escape, cells)
            return (f'<tr><td>{kernel}</td><td>{rule}</td><td style="color:{COLORS.get(cells[2], "inherit")}">{verdict}</td>'
                    f'<td style="text-align:left"><pre style="white-space:pre-wrap">{text}</pre></td></tr>')

        head = html.escape(str(self).splitlines()[0])
        return (f"<p><b>{'ok' if self.ok else 'not ok'}</b>: {head}</p><table><tr><th>kernel</th><th>rule or tier</th><th>verdict</th><th></th></tr>"
                + "".join(map(row, self._rows())) + "</table>")


def from_pallas(fn: Callable[..., Any], *args: Any, tables: bool | str = True, reference: Callable[..., Any] | None = None) -> list[dict[str, Any]]:
    """Specs of every pallas_call that fn(*args) reaches; see importer.from_pallas."""
    from . import importer

    return importer.from_pallas(fn, *args, tables=tables, reference=reference)


def generalise(fn: Callable[..., Any], arguments: Callable[..., tuple[Any, ...]], reference: Callable[..., Any] | None = None,
               *, tables: bool | str = False, **sizes: int) -> list[dict[str, Any]]:
    """Specs with symbolic sizes, inferred from several calls; see symbolic.generalise."""
    from . import symbolic

    return symbolic.generalise(fn, arguments, reference, tables=tables, **sizes)


def findings(spec: dict[str, Any], report: dict[str, Any]) -> list[Finding]:
    """The findings of the report of one spec."""
    out, lines = [], binary.text_of(spec).splitlines()
    for f in report["specs"][0]["findings"]:
        text = {"subject": f.get("subject") or "", **{k: words.told(spec, f.get(k) or "") for k in ("message", "reason", "note")},
                "help": words.told(spec, f.get("help") or "", body=_is_of_body(f))}
        if (fix := f.get("fix")) and f["verdict"] in ("violated", "advice") and not fix["narrows_sizes"] and fix["title"] not in (f.get("help") or ""):
            text["help"] = _fix(spec, fix, f, lines)
        if (read := re.search(r" depends on (\w+)\[", text["note"])) and (at := spec.get("x-python", {}).get("index_maps", {}).get(read[1])):
            text["note"] += f"; its index map is at {places.shown(at)}"
        if f["verdict"] == "violated" and "can be unwritten when" in text["message"]:
            stores = "; ".join(_stores(spec, {text["subject"]}))
            text["note"] = "; ".join(t for t in (text["note"], f"written at {stores}" if stores else "") if t)
        out.append(Finding(spec["name"], f["rule"], f.get("slug") or "", f["verdict"], witness=_seen(spec, f.get("witness")),
                           python=places.of_finding(spec, f, lines),
                           grid=places.of_pointer(spec, "/grid") if f["rule"] in WINDOWS and f["verdict"] == "violated" else None, **text))
    return out


def _told(findings: list[Finding]) -> list[str]:
    """Their texts; what several calls of one kernel share, once. Of what one rule does not decide for one reason, after two the first; behind a
    semicolon there is how far it got."""
    times = collections.Counter(map(str, findings))
    kinds: dict[tuple[str, ...], list[Finding]] = {}
    seen = dict[tuple[str, ...], list[Finding]]()
    for f in {str(f): f for f in findings}.values():
        if f.verdict == "violated" and f.help.endswith(TRIED):  # one change mends them
            same = f.kernel, f.rule, f.help, f.python or ""
            seen.setdefault(same, []).append(f)
            kinds.setdefault(same, seen[same][:1])
            continue
        kinds.setdefault((f.kernel, f.rule, f.reason.partition(";")[0]) if f.verdict == "unknown" and f.reason else (str(f),), []).append(f)
    out = []
    for kind, alike in kinds.items():
        folds = len(alike) > 2
        for f in alike[:1] if folds else alike:
            n = times[str(f)]
            also = ", ".join(f"`{g.subject}`" for g in seen.get(kind, [])[1:])
            out.append(str(f) + (f"\n  also: {also}" if also else "") + (f"\n  the same {n - 1} more time{'s' if n > 2 else ''}" if n > 1 else ""))
        if folds:
            out[-1] += f"\n  {len(alike) - 1} more findings of this kind; .of(\"unknown\") lists all"
    return out


def _is_of_body(f: dict[str, Any]) -> bool:
    """Is it about what the kernel function does? Its place is in there, or what it proposes is."""
    return "/kernel/" in (f.get("pointer") or "") or "can be unwritten when" in f["message"]


def _fix(spec: dict[str, Any], fix: dict[str, Any], f: dict[str, Any], lines: list[str]) -> str:
    """The change that was tried, and where in Python it is one, where it is of another statement than the finding."""
    text = "\n".join(lines)
    line = text.encode()[:fix["edits"][0]["start"]].count(b"\n")
    edited, body = places.of_line(spec, text, line + 1), places.is_statement(spec, lines[line])
    where = f", at {places.shown(edited)}" if edited and edited not in (places.of_pointer(spec, ""), places.of_finding(spec, f, lines)) else ""
    return f"{words.told(spec, fix['title'], body=body, names=body)}{where}{TRIED}"


def check(fn: Callable[..., Any], *args: Any, target: str | None = None, tables: bool | str = True,
          values: Mapping[str, tuple[Any, Any]] | None = None) -> Report:
    """Import every pallas_call of fn(*args) and lint it.

    `target`: a chip of `tileproof targets`; "none" leaves the hardware rules out.
    `tables`: those of a scalar prefetch hold what they hold in the call; False:
    anything; "inferred": what satisfies contracts that are made of it.
    `values`: between what the elements of inputs lie, {"labels": (0, 9)}; integers of which it says nothing lie between
    what `args` hold, where these are arrays. Calls that cannot be imported are listed in the report (`refused`), which is
    not ok then. Raises NoPallasCall, NotFound; Unsupported where no call can be
    imported.
    """
    from . import importer, ranges

    specs, refused = importer.read(fn, *args, tables=tables, values=True)
    if not specs:
        importer.all_of(fn, specs, refused)
    ranges.say(specs, values or {})
    return judged(specs, refused, "--target", target) if target else judged(specs, refused)


def judged(specs: list[dict[str, Any]], refused: list[Unsupported], *options: str) -> Report:
    """What lint says of the specs."""
    reports = [binary.report("lint", s, *options) for s in specs]
    return Report(specs, reports, [f for s, r in zip(specs, reports, strict=True) for f in findings(s, r)], refused)


def assert_safe(fn: Callable[..., Any], *args: Any, target: str | None = None, unknown: str = "warn") -> Report:
    """check(), and AssertionError with the whole story when a rule is violated.
    unknown="fail": also when something could not be decided. Raises Unsupported
    where nothing is violated and a call was not imported."""
    __tracebackhide__ = True
    report = check(fn, *args, target=target)
    if report.refused and not report.of("violated", "vacuous"):
        error = Unsupported(str(report))
        error.obstacles = [o for r in report.refused for o in r.obstacles]
        raise error
    if not report.ok or (unknown == "fail" and report.of("unknown")):
        raise AssertionError(str(report))
    return report


def assert_equivalent(fn: Callable[..., Any], reference: Callable[..., Any], *args: Any,
                      rtol: float | None = None, atol: float | None = None, blame: bool = True) -> int:
    """Run every pallas_call of fn(*args) in tileproof's checked engine, where
    each access and each undefined element is followed, and compare fn's
    results with reference(*args). `args` are arrays.

    Returns how many calls ran in the engine (one in a loop counts each turn).
    AssertionError for a trap, for results that differ, and when a pallas_call
    that fn reaches by tracing did not run, or there is none. Tolerances are
    relative to each element and to the root mean square of the result; by
    default tolerance() of the results of both, and none for integers and bools.
    Without `atol`, an element may also differ by what rounding makes of the
    reference itself: as far as it moves where its inputs move by 16 units of
    float32, jumps of decisions apart. Of sums that cancel nothing else is left.
    An integer may be what the reference gives where its floats are rounded otherwise.
    `blame`: whether to look for the place where a difference begins, some seconds at most.
    Raises Unsupported for what the importer or the engine cannot follow.
    """
    import jax

    __tracebackhide__ = True
    calls = _ran(fn, args)
    want = jax.tree_util.tree_leaves(_said(reference, args))
    differs = functools.partial(difference, want=want, rtol=rtol, atol=atol)
    got = jax.tree_util.tree_leaves(calls.value)
    if (said := differs(got)) is not None and atol is None:
        differs = functools.partial(differs, noise=_noise(reference, args, want), either=_rerounded(reference, args, want))
        said = differs(got)
    if said is not None:
        raise AssertionError(said + (_blame(fn, reference, args, len(calls), differs) if blame else ""))
    return len(calls)


def _said(reference: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """reference(*args); it may look at values, too."""
    from . import jaxpr as jx

    try:
        return jx.quick(reference)(*args)
    except Exception:  # noqa: BLE001  what is wrong with the function itself it says again
        return reference(*args)


def _noise(reference: Callable[..., Any], args: tuple[Any, ...], want: list[Any]) -> list[Any] | None:
    """By element of each result, how far the reference moves where each float of `args` moves by 8 to 16 units of float32: a third of what lies between that and four times as much. A decision that turns there turns for both, so that its jump is no part of it."""
    import jax
    import numpy as np

    moved = [np.zeros(np.shape(w)) for w in want]

    def where(turn: int, times: int) -> list[Any]:
        random = np.random.default_rng(turn)

        def move(a: Any) -> Any:
            if getattr(a, "dtype", None) not in (np.float32, np.float64):
                return a
            units = random.integers(8, 17, np.shape(a)) * random.choice((-1, 1), np.shape(a))
            return (np.asarray(a) * (1 + units * times * 2.0**-23)).astype(a.dtype)

        return [np.asarray(r, np.float64) for r in jax.tree_util.tree_leaves(_said(reference, jax.tree_util.tree_map(move, args)))]

    try:
        for turn in range(4):
            with np.errstate(invalid="ignore"):  # inf - inf
                for m, near, far in zip(moved, where(turn, 1), where(turn, 4), strict=True):
                    np.fmax(m, np.abs(far - near), out=m)
    except Exception:  # noqa: BLE001  it has no value there
        return None
    return [np.where(np.isfinite(m), m, 0) / 3 for m in moved]


def _rerounded(reference: Callable[..., Any], args: tuple[Any, ...], want: list[Any]) -> list[list[Any]]:
    """What integers of the reference, which floats decide, may be besides."""
    from . import rerounded

    if not any(getattr(w, "dtype", None) is not None and w.dtype.kind in "iu" for w in want):
        return []
    try:
        return rerounded.integers(reference, args)
    except Exception:  # noqa: BLE001  it looks at values
        return []


def difference(got: list[Any], want: list[Any], rtol: float | None, atol: float | None, noise: list[Any] | None = None, either: Sequence[list[Any]] = ()) -> str | None:
    """What of the results is not what the reference says; None: nothing. `noise`: how far elements of floats may be off besides;
    `either`: results that elements of integers may have besides."""
    import numpy as np

    if not got:
        return "the function returns nothing that could be compared"
    if len(got) != len(want):
        return f"{len(got)} results, the reference has {len(want)}"
    by_default = tolerance(got + want)
    for n, (g, w) in enumerate(zip(got, want, strict=True)):
        a, b = np.asarray(g, np.float64), np.asarray(w, np.float64)
        default = 0 if all(np.asarray(r).dtype.kind in "iub" for r in (g, w)) else by_default
        relative, absolute = (default if t is None else t for t in (rtol, atol))
        if a.shape != b.shape:
            return f"result {n} has shape {a.shape}, the reference {b.shape}"
        if b.size and np.isnan(b).all() and not np.isnan(a).all():
            return f"result {n} is compared with nothing: the reference is nan everywhere"
        both = np.isfinite(a) & np.isfinite(b)
        scale = float(np.sqrt(np.mean(b[both] ** 2))) if both.any() else 0.0
        with np.errstate(invalid="ignore"):  # inf - inf
            wrong = ~((a == b) | np.isnan(b) | (both & (np.abs(a - b) <= absolute * scale + relative * np.abs(b) + (noise[n] if noise and default else 0))))
        if default == 0:
            wrong &= ~np.logical_or.reduce([np.zeros_like(wrong), *(a == np.asarray(e[n], np.float64) for e in either)])
        if wrong.any():
            return f"result {n} differs from the reference in {_worst(a, b, wrong)}"
    return None


def tolerance(results: list[Any]) -> float:
    """1e-3, or two units of the narrowest float among the results (arrays or shapes)."""
    import jax.numpy as jnp
    import numpy as np

    dtypes = [r.dtype if hasattr(r, "dtype") else np.result_type(r) for r in results]
    return max([1e-3, *(2 * float(jnp.finfo(d).eps) for d in dtypes if jnp.issubdtype(d, jnp.floating))])


def _ran(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The calls of fn(*args), every pallas_call in the engine. What they raise
    has the traceback of the caller alone."""
    from . import capture, engine, importer

    __tracebackhide__ = True
    try:
        calls = capture.calls(fn, *args, run=lambda eqn, operands, used: engine.run(importer.from_equation(eqn, operands, used), eqn, operands))
        _executed(fn, calls)
    except (AssertionError, NotExecuted) as e:
        raise e.with_traceback(None) from None
    return calls


def _worst(a: Any, b: Any, wrong: Any) -> str:
    """How many elements, and the one that is farthest off."""
    import numpy as np

    with np.errstate(invalid="ignore"):
        far = np.where(wrong, np.nan_to_num(np.abs(a - b), nan=np.inf, posinf=np.inf), -1)
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(far)), far.shape))
    return f"{int(wrong.sum())} of {wrong.size} elements; the worst is {list(at)}: {a[at]:.9g}, the reference says {b[at]:.9g}"


def _blame(fn: Callable[..., Any], reference: Callable[..., Any], args: tuple[Any, ...], calls: int, differs: Callable[..., str | None]) -> str:
    """Where the difference begins, as more lines: what `verify` finds of the only call of fn; the change of one of its
    kernels that makes them agree; else where the outputs of an only call are written."""
    from . import importer, jaxpr, parting
    from . import reference as references

    specs, _ = importer.read(fn, *args)
    try:
        if calls == 1 and not references.beside(jaxpr.trace(fn, args)):  # else the kernel is not what the reference is of
            spec, = importer.from_pallas(fn, *args, reference=reference)
            found = [f for f in findings(spec, binary.report("verify", spec, "--timeout", "20")) if f.rule.startswith("TP7") and f.verdict == "violated"]
            if found:
                return "".join(f"\n{f}" for f in found)
    except Exception:  # noqa: BLE001  the difference itself is told
        pass
    return parting.change(fn, reference, args, lambda got, **want: differs(got, **want) is None) or (_written(specs[0]) if len(specs) == 1 else "")


def _seen(spec: dict[str, Any], witness: dict[str, Any] | None) -> dict[str, Any] | None:
    """A witness in the words of Python."""
    return witness and witness | {"detail": places.turned(spec, witness.get("detail") or "") or None}


def _written(spec: dict[str, Any]) -> str:
    """Where the body stores into outputs, as more lines."""
    return "".join(f"\n  written at {place}" for place in _stores(spec, {o["name"] for o in spec.get("outputs", []) if not o.get("discard")}))


def _stores(spec: dict[str, Any], names: set[str]) -> list[str]:
    """Where the body, or a step of a pipeline, stores or copies into the operands of these names, or runs a pipeline over them."""
    pipelines = tuple(f"{p['name']}(" for p in spec.get("pipelines", []))

    def stores(line: str) -> bool:
        if line.startswith(pipelines):
            return any(re.search(rf"\b{name}\b", line) for name in names)
        return line.removeprefix("store(").partition("[")[0] in names or (line.startswith(("copy(", "copy_start(")) and any(f", {name}[" in line for name in names))

    found = [f"{b.pointer}/{n}" for b in places.bodies(spec) for n, line in enumerate(b.lines) if stores(line.strip())]
    return list(dict.fromkeys(places.shown(places.of_pointer(spec, at)) for at in found))


def _executed(fn: Any, calls: Any) -> None:
    """Raise NotExecuted unless every traced call ran."""
    from . import jaxpr as jx

    if not calls.traced:
        raise NotExecuted(f"{getattr(fn, '__name__', fn)} reaches no pallas_call with these arguments: 0 calls ran in the engine")
    if calls.missed:
        places = ", ".join(f"{jx.function_name(s.equation)} ({jx.where(s.equation)})" for s in calls.missed)
        raise NotExecuted(f"{len(calls.missed)} of {len(calls.traced)} pallas_calls did not run with these arguments: {places}; "
                          "they stand in a branch that is not taken or a loop without a turn. Give arguments that reach them, or compare that part alone")


def checked(fn: Callable[..., Any] | None = None, *, target: str | None = None) -> Any:
    """Decorator: the first call with each shape and dtype is checked."""
    if fn is None:
        return functools.partial(checked, target=target)
    seen: set[Any] = set()

    @functools.wraps(fn)
    def wrapper(*args: Any) -> Any:
        import jax

        __tracebackhide__ = True
        key = tuple((getattr(a, "shape", None), str(getattr(a, "dtype", type(a)))) for a in jax.tree_util.tree_leaves(args))
        if key not in seen:
            assert_safe(fn, *args, target=target)
            seen.add(key)
        return fn(*args)

    return wrapper
