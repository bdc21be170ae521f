"""`tileproof-jax import`, `trace` and `judge`: between Python files and specs."""

from __future__ import annotations

import argparse
import importlib
import pathlib
import re
import runpy
import subprocess
import sys
import traceback
from typing import Any

from .errors import NotFound, TileproofError, Unsupported
from .vocabulary import DTYPES


def argument(text: str, sizes: dict[str, int]) -> Any:
    """f32[512,128] or f32[M,128] as a shape with a dtype."""
    import jax
    import jax.numpy as jnp

    m = re.fullmatch(r"(\w+)\[([\w,\s]*)\]", text)
    if not m:
        raise TileproofError(f"--arg is a dtype and a shape such as f32[512,128], not `{text}`")
    if DTYPES.get(m[1], m[1]) not in DTYPES.values():
        raise TileproofError(f"`{m[1]}` in `{text}` is no dtype; there are {', '.join(DTYPES)}, and their long names, such as {', '.join(list(DTYPES.values())[:2])}")
    dims = [d.strip() for d in m[2].split(",") if d.strip()]
    for d in dims:
        if not d.isdigit() and d not in sizes:
            raise TileproofError(f"`{d}` in `{text}` is neither a number nor one of --sym")
    return jax.ShapeDtypeStruct(tuple(int(d) if d.isdigit() else sizes[d] for d in dims), jnp.dtype(DTYPES.get(m[1], m[1])))


def imported(o: Any) -> tuple[list[dict[str, Any]], list[Unsupported]]:
    """The specs that the arguments of `import` ask for, and what is refused."""
    from . import importer, symbolic

    fn, reference = function(o.function), function(o.reference) if o.reference else None
    tables: bool | str = "inferred" if o.contracts else not o.sym
    if not o.sym:
        return importer.read(fn, *[argument(a, {}) for a in o.arg], tables=tables, reference=reference)
    sizes = symbolic.parse(o.sym)
    for name in sizes:
        if not any(re.search(rf"\b{name}\b", a.partition("[")[2]) for a in o.arg):
            raise TileproofError(f"`{name}` of --sym is in no --arg; write --arg f32[{name},128]")
    specs, refused = symbolic.read(fn, lambda **at: tuple(argument(a, at) for a in o.arg), reference, tables=tables, **sizes)
    for spec in specs:
        print(f"tileproof: {symbolic.told(spec)}", file=sys.stderr)
    return specs, refused


def function(name: str) -> Any:
    """The function behind pkg.mod:fn, the current folder included."""
    module, _, attribute = name.partition(":")
    if not attribute:
        raise TileproofError(f"name the function as pkg.mod:fn, not `{name}`")
    if module.endswith(".py"):
        raise TileproofError(f"name the module, `{module.removesuffix('.py').replace('/', '.').strip('.')}:{attribute}`, not its file")
    sys.path.append("")  # behind what is installed: nothing in the folder stands in for it
    try:
        found: Any = importlib.import_module(module)
    except ImportError as e:
        raise NotFound(f"cannot import `{module}`: {e}") from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise NotFound(f"`{module}` has no `{attribute}`")
        found = getattr(found, part)
    return found


def write(specs: list[dict[str, Any]], folder: pathlib.Path | None) -> None:
    """Write the specs into the folder, each as a file of its name, or to standard output."""
    from . import binary

    names: dict[str, int] = {}
    for spec in specs:
        done = binary.run("fmt", "-", text=binary.text_of(spec))
        text = done.stdout if done.returncode == 0 else binary.text_of(spec)
        if folder is None:
            sys.stdout.write(text)
            continue
        n = names[spec["name"]] = names.get(spec["name"], 0) + 1
        path = folder / f"{spec['name']}{'' if n == 1 else f'-{n}'}.tile.json"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        except OSError as e:
            raise TileproofError(f"cannot write `{path}`: {e.strerror}") from None
        print(path)


def traced(script: str, arguments: list[str], specs: dict[str, dict[str, Any]]) -> None:
    """Run a script unedited; into `specs`, by their text, those of every
    distinct pallas_call that it makes, also where it raises."""
    from . import binary, importer
    from .listening import listening

    refused: set[str] = set()

    def hear(eqn: Any, _around: Any) -> None:
        try:
            spec = importer.from_equation(eqn)
            specs.setdefault(binary.text_of(spec), spec)
        except TileproofError as e:
            if str(e) not in refused:
                print(f"tileproof: not imported: {e}", file=sys.stderr)
            refused.add(str(e))

    sys.argv = [script, *arguments]
    sys.path.append(str(pathlib.Path(script).resolve().parent))  # its modules lie beside it; those that are installed go before
    with listening(hear):
        runpy.run_path(script, run_name="__main__")


def main(argv: list[str] | None = None) -> int:
    """The command `tileproof-jax`; the program calls it for import-jax and trace. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="tileproof-jax", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    i = commands.add_parser("import", help="specs of every pallas_call that a function reaches")
    i.add_argument("function", help="pkg.mod:fn")
    i.add_argument("--arg", action="append", default=[], help="f32[512,128]; once per argument")
    i.add_argument("--sym", help="M=512,K=256: sizes that --arg names, as in f32[M,K], stay symbols; the numbers are those of a typical call")
    i.add_argument("--reference", help="pkg.mod:fn, the same in jnp: becomes the naive program that `tileproof verify` compares with")
    i.add_argument("--contracts", action="store_true", help="leave prefetched tables open, with contracts inferred from what they hold in the call")
    i.add_argument("-o", "--output", type=pathlib.Path, help="write NAME.tile.json into this folder (default: print)")
    i.add_argument("--lint", action="store_true", help="lint what was imported; the exit code is that of tileproof lint")
    t = commands.add_parser("trace", help="run a script, unedited; specs of every distinct pallas_call, also when it raises (exit code 3, or its own)")
    t.add_argument("script")
    t.add_argument("arguments", nargs=argparse.REMAINDER)
    t.add_argument("-o", "--output", type=pathlib.Path)
    j = commands.add_parser("judge", help="compare the verdicts of tileproof, JAX's TPU lowering and interpreters, the TPU compiler")
    j.add_argument("specs", nargs="+")
    j.add_argument("--seconds", type=float, default=120, help="for each of JAX's judges on each spec; cases that are left then are not judged (default 120)")
    o = parser.parse_args(argv)
    try:
        if o.command == "judge":
            from . import judge

            return max(judge.print_matrix(s, o.seconds) for s in o.specs)
        if o.command == "trace":
            found: dict[str, dict[str, Any]] = {}
            try:
                traced(o.script, o.arguments, found)
            finally:
                write(list(found.values()), o.output)
            return 0
        from . import api, contracts

        specs, refused = imported(o)
        for r in refused:
            print(f"tileproof: not imported: {r}", file=sys.stderr)
        for text in (t for s in specs for t in contracts.told(s)):
            print(f"tileproof: {text}", file=sys.stderr)
        if not o.lint:
            write(specs, o.output)
            return 3 if refused else 0
        reports = [api.judged([spec], []) for spec in specs]
        for report in reports:
            print(report)
        return 1 if not all(r.ok for r in reports) else 3 if refused else 0
    except (TileproofError, subprocess.SubprocessError) as e:
        print(f"tileproof: {e}", file=sys.stderr)
        return 3
    except Exception as e:  # noqa: BLE001  raised by the code that was traced
        frame = [f for f in traceback.extract_tb(e.__traceback__) if not re.search(r"[/\\](jax|tileproof|runpy)[/\\.]|<frozen", f.filename)]
        if isinstance(e, TypeError) and not frame:
            print(f"tileproof: the function cannot be called with these arguments: {e}", file=sys.stderr)
            return 2
        where = f" ({pathlib.Path(frame[-1].filename).name}:{frame[-1].lineno})" if frame else ""
        print(f"tileproof: the code raises {type(e).__name__}{where}: {e}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
