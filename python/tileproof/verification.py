"""verify: rules and equivalence in one report; verifying: of every
pallas_call that a program makes."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from typing import Any, Callable, ClassVar, Iterator, Mapping

from . import api, binary, ranges
from .errors import NoPallasCall, NotExecuted, TileproofError, Unsupported, together
from .progress import Progress

NO_REFERENCE = "no reference"
INCONCLUSIVE = "inconclusive"  # unknown, of a kernel whose function was executed and agrees


@dataclasses.dataclass(frozen=True)
class Tier:
    """One way in which a kernel, or the whole function, was compared with its reference."""

    kernel: str  # or function: its name with ()
    name: str  # executed, all sizes, algebra, rounding, bits
    verdict: str  # proven, tested, violated, unknown, not-applicable
    text: str

    def __str__(self) -> str:
        return f"{self.name}: {self.verdict}" + (f", {self.text}" if self.text else "")


@dataclasses.dataclass(frozen=True)
class Verification(api.Report):
    """What tileproof says of the rules and of the results of every pallas_call of one function."""

    tiers: list[Tier] = dataclasses.field(default_factory=list)
    compared: dict[str, str] = dataclasses.field(default_factory=dict)  # kernel, or function: tested, violated, unknown, inconclusive, no reference
    scope: ClassVar[str] = "rules and equivalence"
    command: ClassVar[str] = "verify"

    @property
    def rules(self) -> bool:
        """Every call was judged, no rule is violated, and none is unknown."""
        return not self.refused and not any(f.verdict in ("violated", "vacuous", "unknown") and not f.rule.startswith("TP7") for f in self.findings)

    @property
    def equivalence(self) -> bool:
        """All that was to be compared with a reference was, and agrees: nothing
        differs, and where the tiers of a kernel decide nothing, the function
        was executed and agrees."""
        verdicts, bad = set(self.compared.values()), {"violated", "vacuous"} | (set() if INCONCLUSIVE in self.compared.values() else {"unknown"})
        return "tested" in verdicts and verdicts <= {"tested", INCONCLUSIVE} and not any(f.verdict in bad and f.rule.startswith("TP7") for f in self.findings)

    @property
    def ok(self) -> bool:
        """Rules and equivalence."""
        return self.rules and self.equivalence

    @property
    def violations(self) -> int:
        """How many findings are violations; where none is, how many functions differ from their references."""
        return super().violations or sum(v == "violated" for v in self.compared.values())

    @property
    def wrong(self) -> bool:
        """Something is violated, different, undecided or not imported: more
        than that a reference is missing."""
        return not self.rules or any(v not in ("tested", NO_REFERENCE) for v in self.compared.values()) or any(
            f.verdict in ("violated", "vacuous", "unknown") for f in self.findings)

    def __str__(self) -> str:
        lines = []
        for name, verdict in self.compared.items():
            lines += [f"equivalence of {name}: {verdict}", *(f"  {t}" for t in self.tiers if t.kernel == name)]
        return "\n".join([super().__str__(), *(lines or ["equivalence: not compared"])])

    def _rows(self) -> Iterator[tuple[str, str, str, str]]:
        yield from super()._rows()
        for name, verdict in self.compared.items():
            yield name, "equivalence", verdict, ""
            yield from ((name, t.name, t.verdict, t.text) for t in self.tiers if t.kernel == name)


def verify(fn: Callable[..., Any], reference: Callable[..., Any], *args: Any, sizes: Mapping[str, int] | None = None, target: str | None = None,
           rtol: float | None = None, atol: float | None = None, seconds: float = 60, progress: bool | Callable[..., None] | None = None,
           tables: bool | str | None = None, values: ranges.Ranges | None = None) -> Verification:
    """Rules of every pallas_call of fn(*args), and whether fn computes what reference(*args) does.

    `args`: arrays, jax.ShapeDtypeStruct, or text such as "f32[M,K]". With
    `sizes`, those of a typical call, sizes are symbols: `args` are text, or one
    function that makes the arguments, as those of generalise() are.

    Where fn is one pallas_call of its arguments, and nothing around it, the
    reference becomes that of the spec, with all tiers of the program `verify`.
    fn itself is executed beside the reference where it is more than that, and
    where `args` are arrays: on them, or else on inputs that are filled; with
    `sizes` at those that `verify` picks, no other case being begun after
    `seconds`. Tolerances are those of assert_equivalent; by default 1e-3, or
    two units of the narrowest float among the results; integers have to be equal.
    `rtol` is also what rounding may cost a kernel ("tolerance" of its spec).

    `progress`: whether stderr shows what is being done (default: where it is a
    terminal and takes long), or a function of (done, all, text).
    `tables`: those of a scalar prefetch, as of check(); by default they hold
    what they hold in the call, and anything with `sizes`.
    `values`: between what the elements of inputs lie, {"labels": (0, "V - 1"), "p": (1e-6, None)},
    by the name that the kernel gives them; as of check().
    Raises NoPallasCall, NotFound; Unsupported where sizes cannot be inferred.
    """
    with Progress(progress) as said:
        return _Run(fn, reference, _arguments(args, dict(sizes or {})), dict(sizes or {}), ["--target", target] if target else [],
                    (rtol, atol), seconds, said, not sizes if tables is None else tables, dict(values or {})).report()


def _arguments(args: tuple[Any, ...], sizes: dict[str, int]) -> Callable[..., tuple[Any, ...]]:
    """The arguments at sizes."""
    if len(args) == 1 and callable(args[0]) and not hasattr(args[0], "shape"):
        return args[0]
    if sizes and not any(isinstance(a, str) for a in args):
        raise TileproofError('with sizes=, name them in the arguments: "f32[M,128]", or give one function of the sizes that makes the arguments')
    from .command import argument

    return lambda **at: tuple(argument(a, at) if isinstance(a, str) else a for a in args)


ORDERS = {"top_k", "approx_top_k", "sort", "argmax", "argmin"}
MOST_EXECUTED = 8  # sizes that inference left out


class _Run:
    """One verification."""

    def __init__(self, fn: Any, reference: Any, arguments: Callable[..., tuple[Any, ...]], sizes: dict[str, int], options: list[str],
                 tolerance: tuple[float | None, float | None], seconds: float, said: Progress, tables: bool | str, values: ranges.Ranges):
        self.fn, self.reference, self.arguments, self.sizes = fn, reference, arguments, sizes
        self.options, self.tolerance, self.seconds, self.said, self.tables, self.values = options, tolerance, seconds, said, tables, values
        self.name = getattr(getattr(fn, "func", fn), "__name__", "function")  # a partial has none of its own

    def report(self) -> Verification:
        import jax

        from . import jaxpr as jx

        args = self.arguments(**self.sizes)
        arrays = not any(isinstance(a, jax.ShapeDtypeStruct) for a in jx.leaves(args))
        self.said(0, 0, f"importing {self.name}")
        specs, refused, partly = self.imported(args)
        whole = not partly
        if not specs:
            raise together(self.name, None, refused)
        ranges.say(specs, self.values)
        rtol = self.tolerance[0]
        if whole and rtol is not None and 0 < rtol <= 1:
            specs[0]["tolerance"] = float(rtol)
        steps = len(specs) + (arrays or not whole)
        made = Verification(specs, [], [], refused)
        for n, spec in enumerate(specs):
            self.said(n, steps, f"{'verify' if whole else 'lint'} {spec['name']}")
            report = binary.report("verify" if whole else "lint", spec, *self.options)
            if text := unread(report):  # of another domain, the reference may be read
                del spec["reference"]
                partly = partly or text
                report = binary.report("lint", spec, *self.options)
            add(made, spec, report)
        whole = whole and not partly
        undecided = [name for name, verdict in made.compared.items() if verdict == "unknown"]
        ordered = self.orders(args)
        if not whole or arrays or undecided or ordered:
            self.said(len(specs), steps, f"executing {self.name}")
            tier = self.executed(args, specs, ordered, told=any(f.rule.startswith("TP7") and f.verdict == "violated" for f in made.findings))
            if partly:
                made.tiers.append(Tier(tier.kernel, "all sizes", "unknown", partly))
            made.tiers.append(tier)
            made.compared.update(dict.fromkeys(undecided, INCONCLUSIVE) if tier.verdict == "tested" else {})
            made.compared[tier.kernel] = tier.verdict
            if arrays and tier.verdict == "tested":
                made.findings[:] = [_elsewhere(f) for f in made.findings]
        made.findings[:] = [_allowed(f) for f in made.findings]
        self.left_out(made, [at for spec in specs for at in spec.get("x-python", {}).get("inferred", {}).get("left_out", [])], specs)
        return made

    def left_out(self, made: Verification, sizes: list[dict[str, int]], specs: list[dict[str, Any]]) -> None:
        """Execute fn at sizes of which no spec speaks, though they were looked at: the smallest ones."""
        from . import everywhere, ranges

        end, equal = time.monotonic() + self.seconds, []
        for at in sizes[:MOST_EXECUTED]:
            text = ", ".join(f"{n} = {v}" for n, v in at.items())
            self.said(len(equal), len(sizes), f"executing {self.name} at {text}")
            try:
                args = self.arguments(**at)
                given = everywhere.given(args, "normal", 0, values=ranges.of_arguments(self.fn, args, specs, at))
                api.assert_equivalent(self.fn, self.reference, *given, rtol=self.tolerance[0], atol=self.tolerance[1])
            except (NotExecuted, TileproofError):
                continue
            except AssertionError as e:
                made.tiers.append(Tier(f"{self.name}()", "left out", "violated", f"at {text}: {e}"))
                made.compared[f"{self.name}()"] = "violated"
                return
            except Exception:  # noqa: BLE001  the reference raises there
                continue
            equal.append(text)
            if time.monotonic() > end:
                break
        if equal:
            made.compared.setdefault(f"{self.name}()", "tested")
        if sizes:
            made.tiers.append(Tier(f"{self.name}()", "left out", "tested" if equal else "unknown",
                                   f"executed at {'; '.join(equal) or 'none'} of {len(sizes)} sizes with a kernel that is that of no domain"))

    def imported(self, args: tuple[Any, ...]) -> tuple[list[dict[str, Any]], list[Unsupported], str]:
        """Specs, what is refused, and "" where the only spec has the reference and says all of fn; else why it does not."""
        from . import importer, reference, symbolic
        from . import jaxpr as jx

        def read(program: Any) -> tuple[list[dict[str, Any]], list[Unsupported]]:
            if self.sizes:
                return symbolic.read(self.fn, self.arguments, program, tables=self.tables, said=lambda text: self.said(0, 0, f"tracing {self.name}: {text}"), **self.sizes)
            return importer.read(self.fn, *args, tables=self.tables, reference=program, values=True)

        why = reference.beside(jx.trace(self.fn, args), tables=not self.sizes and self.tables is True)
        if not why:
            try:
                specs, refused = read(self.reference)
                if specs and not refused:
                    return specs, refused, ""
            except Unsupported as e:
                why = str(e)
        return *read(None), why or "not every pallas_call is imported"

    def executed(self, args: tuple[Any, ...], specs: list[dict[str, Any]], ordered: bool, told: bool) -> Tier:
        """`ordered`: with ties, too. `told`: where the results part is among the findings."""
        import jax

        from . import everywhere
        from . import jaxpr as jx

        rtol, atol = self.tolerance
        shapes = any(isinstance(a, jax.ShapeDtypeStruct) for a in jx.leaves(args))
        try:
            if self.sizes:
                text = str(everywhere.at_sizes(self.fn, self.reference, self.arguments, specs, rtol, atol, self.seconds))
            else:
                # on small ones, too: beside them an epsilon shows
                values = ranges.of_arguments(self.fn, args, specs, {}) if shapes and self.values else None
                inputs = [everywhere.given(args, "normal", 0, scale, values) for scale in (1, 1 / 64)] if shapes else [args]
                inputs += [self.far(args, inputs[0], values)] if shapes and self.wraps(args) else []
                calls = [api.assert_equivalent(self.fn, self.reference, *given, rtol=rtol, atol=atol, blame=not told) for given in inputs][0]
                text = f"{calls} call{'s' if calls != 1 else ''} in the engine, on {'filled inputs' if shapes else 'the given arrays'}, within {self.within(args)}"
                if ordered:
                    text += self.tied(inputs[0], not told)
        except NotExecuted as e:
            return Tier(f"{self.name}()", "executed", "unknown", str(e))
        except AssertionError as e:
            return Tier(f"{self.name}()", "executed", "violated", str(e))
        except TileproofError as e:
            return Tier(f"{self.name}()", "executed", "unknown", str(e))
        return Tier(f"{self.name}()", "executed", "tested", text)

    def orders(self, args: tuple[Any, ...]) -> bool:
        """Does the reference say which of equal elements comes first?"""
        from . import rewriting

        return self.of_reference(args, lambda traced: any(e.primitive.name in ORDERS for e in rewriting.every_equation(traced)))

    def wraps(self, args: tuple[Any, ...]) -> bool:
        """May integers of the reference wrap around?"""
        from . import wrapping

        return self.of_reference(args, lambda traced: wrapping.place(traced) is not None)

    def of_reference(self, args: tuple[Any, ...], asked: Callable[[Any], bool]) -> bool:
        """What is asked of its program; False where it is not traced."""
        from . import jaxpr as jx

        try:
            return asked(jx.trace(self.reference, args))
        except Exception:  # noqa: BLE001  the reference's own
            return False

    @staticmethod
    def far(args: Any, filled: Any, values: Any) -> Any:
        """What was filled, with integers of few bits from all that their type holds, where nothing is said of them."""
        import jax

        from .jaxpr import np
        from .wrapping import range_of

        draw = np.random.default_rng(0)
        leaves, tree = jax.tree_util.tree_flatten(filled)
        for n, (a, given) in enumerate(zip(leaves, jax.tree_util.tree_leaves(args), strict=True)):
            if isinstance(given, jax.ShapeDtypeStruct) and given.dtype.name in ("int8", "uint8", "int16", "uint16") and not (values or {}).get(n):
                least, most = range_of(given.dtype)
                leaves[n] = draw.integers(least, most + 1, given.shape).astype(given.dtype)
        return jax.tree_util.tree_unflatten(tree, leaves)

    def tied(self, args: tuple[Any, ...], blame: bool) -> str:
        """The same with ties, which no random numbers have: each second element of a row is the one before it. Where rounding
        decides what the reference is then, as the inverse of a matrix that has none, nothing is compared."""
        import jax

        from . import rerounded
        from .jaxpr import np

        def tie(a: Any) -> Any:
            if getattr(a, "ndim", 0) == 0 or not jax.numpy.issubdtype(a.dtype, jax.numpy.floating):
                return a
            copy = np.array(a)
            copy[..., 1::2] = copy[..., 0:2 * (copy.shape[-1] // 2):2]
            return copy

        args = jax.tree_util.tree_map(tie, args)
        random = np.random.default_rng(0)
        want, other = (jax.tree_util.tree_leaves(api._said(self.reference, a)) for a in (args, jax.tree_util.tree_map(lambda a: rerounded.moved(a, random), args)))
        if api.difference(other, want, *self.tolerance) is not None:
            return "; not with ties, where rounding decides what the reference is"
        try:
            api.assert_equivalent(self.fn, self.reference, *args, rtol=self.tolerance[0], atol=self.tolerance[1], blame=blame)
        except AssertionError as e:
            raise AssertionError(f"where each second element of a row is equal to the one before it: {e}") from None
        return "; with ties, too"

    def within(self, args: tuple[Any, ...]) -> str:
        """The tolerances, in words."""
        from . import jaxpr as jx
        from .jaxpr import np

        results = [r for f in (self.fn, self.reference) for r in jx.trace(f, args).out_avals]
        if self.tolerance == (None, None) and all(np.issubdtype(r.dtype, np.integer) or r.dtype == bool for r in results):
            return "nothing: integers are equal"
        by_default = api.tolerance(results)
        rtol, atol = (by_default if t is None else t for t in self.tolerance)
        return f"{rtol:g} of each element" + f" and {atol:g} of the root mean square" * (atol != 0)


def _elsewhere(f: api.Finding) -> api.Finding:
    """The finding, where the function agrees with its reference on the arrays that were given."""
    if f.rule != "TP701" or f.verdict != "violated":
        return f
    said = "on the given arrays they agree: this is about other values; where a reference is nan, as by jnp.where(x > 0, …, jnp.nan), nothing is compared"
    return dataclasses.replace(f, note=f"{f.note}; {said}" if f.note else said)


def _allowed(f: api.Finding) -> api.Finding:
    """The finding that rounding costs too much, with what Python has for a spec's "tolerance"."""
    said = "rtol= is the \"tolerance\"; values= says between what the elements of an input lie"
    return dataclasses.replace(f, note=f"{f.note}; {said}" if f.note else said) if f.rule == "TP703" and f.verdict == "violated" else f


def unread(report: dict[str, Any]) -> str:
    """Why the spec is none because of its reference, of which the types do not
    follow from the sizes; what is said of it then is nothing about the kernel. "" where it is one."""
    return next((f["message"] for f in report["specs"][0]["findings"]
                 if f["verdict"] == "violated" and f["rule"] < "TP1" and (f.get("pointer") or "").startswith("/reference")), "")


def add(made: Verification, spec: dict[str, Any], report: dict[str, Any]) -> None:
    """Into `made`: the report of one spec, its findings and tiers. A missing
    reference is said once, there."""
    compared = report["specs"][0].get("equivalence")
    bare = compared is not None and not spec.get("reference")
    made.reports.append(report)
    made.findings.extend(f for f in api.findings(spec, report) if not (bare and f.rule == "TP702"))
    if compared:
        made.tiers.extend(tiers(spec["name"], compared))
        verdict = NO_REFERENCE if bare and compared["verdict"] == "unknown" else compared["verdict"]
        worst = sorted((made.compared.get(spec["name"], "tested"), verdict), key=["violated", "unknown", NO_REFERENCE, "tested"].index)
        made.compared[spec["name"]] = worst[0]


def _taken(proof: dict[str, Any]) -> str:
    """What a proof takes for granted."""
    said = ["finite masks are minus infinity"] * proof["finite_masks"] + ["casts are the identity"] * proof["casts_are_identity"]
    return "".join(f"; {text}" for text in [*said, *proof["constants_taken_as_equal"]])


def tiers(name: str, e: dict[str, Any]) -> list[Tier]:
    """The tiers of one report's "equivalence"."""
    everywhere, algebra, rounding, bits = e["algebra"]["all_sizes"], e["algebra"], e["rounding"], e["bits"]

    def counted(counts: dict[str, int], unit: str, reason: str) -> tuple[str, str]:
        if counts["different"]:
            return "violated", f"different at {counts['different']} {unit}"
        return ("tested", f"equal at {counts['equal']} {unit}") if counts["equal"] else ("not-applicable" if counts["not_applicable"] else "unknown", reason)

    both = {k: algebra["cases"][k] + algebra["box"][k] for k in ("equal", "different", "not_applicable")}
    far = rounding["worst_ratio"]
    proof = f"over the reals, {everywhere['obligations']} obligations{_taken(everywhere)}" if everywhere["verdict"] == "proven" else everywhere["reason"] or ""
    if everywhere["verdict"] == "proven" and everywhere["overflows_in"] is not None:
        proof += f"; overflows in {'case ' + everywhere['overflows_in'] if everywhere['overflows_in'] else 'the only case'}"
    return [Tier(name, "all sizes", everywhere["verdict"], proof),
            Tier(name, "algebra", *counted(both, "shapes", algebra["reason"] or "")),
            Tier(name, "rounding", "tested" if rounding["cases"] else "unknown",
                 f"within the certified bound on {rounding['cases']} cases" + (f", worst ratio {float(far):.3g}" if far is not None else "") if rounding["cases"] else ""),
            Tier(name, "bits", *counted(bits["cases"], "cases", bits["reason"] or ""))]


class Verifying:
    """What verifying() has heard; `report` after the block."""

    def __init__(self, references: Mapping[str, Callable[..., Any]], options: list[str], said: Progress):
        self.references, self.options, self.said = references, options, said
        self.specs: dict[str, dict[str, Any]] = {}
        self.refused: dict[str, Unsupported] = {}
        self._report: Verification | None = None

    def hear(self, eqn: Any, closed: Any) -> None:
        from . import importer
        from . import jaxpr as jx
        from .reference import attach

        try:
            spec = importer.from_equation(eqn)
            reference = self.references.get(spec["name"])
            if reference is not None:
                attach(spec, eqn, closed, reference, tuple(jx.shape_of(v.aval) for v in jx.open_jaxpr(closed).invars))
            self.specs.setdefault(binary.text_of(spec), spec)
        except Unsupported as e:
            self.refused.setdefault(str(e), e)

    @property
    def report(self) -> Verification:
        """Of all calls that were heard so far. Raises NoPallasCall without any."""
        if self._report is None or len(self._report.specs) + len(self._report.refused) != len(self.specs) + len(self.refused):
            self._report = self._judged()
        return self._report

    def _judged(self) -> Verification:
        if not self.specs and not self.refused:
            raise NoPallasCall("no pallas_call was made; a function that was compiled before makes none again (jax.clear_caches())")
        heard = {s["name"] for s in self.specs.values()}
        missing = [n for n in self.references if n not in heard and not self.refused]
        if missing:
            raise TileproofError(f"a reference for `{missing[0]}`, but the kernels that were called are {', '.join(sorted(heard))}")
        made = Verification([], [], [], list(self.refused.values()))
        for n, spec in enumerate(self.specs.values()):
            self.said(n, len(self.specs), f"verify {spec['name']}")
            made.specs.append(spec)
            add(made, spec, binary.report("verify", spec, *self.options))
        return made


class _Block(contextlib.AbstractContextManager[Verifying]):
    """A `with` block of verifying(): no generator, whose frames a traceback would show."""

    def __init__(self, seen: Callable[[Progress], Verifying], progress: Progress, fail: bool):
        self.make, self.progress, self.fail = seen, progress, fail

    def __enter__(self) -> Verifying:
        from .listening import listening

        self.outer, self.heard = contextlib.ExitStack(), contextlib.ExitStack()
        self.seen = self.make(self.outer.enter_context(self.progress))
        self.heard.enter_context(listening(self.seen.hear))
        return self.seen

    def __exit__(self, *raised: Any) -> None:
        __tracebackhide__ = True
        with self.outer:
            self.heard.close()
            wrong = raised[0] is None and self.seen.report.wrong
        if self.fail and wrong:
            raise AssertionError(str(self.seen.report))


def verifying(references: Mapping[str, Callable[..., Any]] | None = None, *, target: str | None = None, fail: bool = True,
              progress: bool | Callable[..., None] | None = None) -> contextlib.AbstractContextManager[Verifying]:
    """Verify every pallas_call that is made in the block, at its end.

        with tileproof.verifying({"matmul": jnp.matmul}) as seen:
            model(x)
        print(seen.report)

    `references`: by the name of a kernel, the same in jnp, of the operands of
    the call. Kernels without are executed on inputs of their own, for traps,
    and not compared: the report is not ok then, but no error.
    AssertionError at the end of the block for what is violated, undecided,
    different or not imported (fail=False: only the report says so).
    """
    options = ["--target", target] if target else []
    return _Block(lambda said: Verifying(references or {}, options, said), Progress(progress), fail)
