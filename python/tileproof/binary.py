"""The tileproof program: finding it, running it, reading its report."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

from .errors import NotFound, TileproofError


CARRIED = pathlib.Path(__file__).resolve().parent / "bin" / "tileproof"  # in a wheel


def program() -> str:
    """Path of the program: $TILEPROOF, the one that this package carries, the PATH, or build/tileproof of the checkout it lies in."""
    named = os.environ.get("TILEPROOF")
    if named:
        if not os.access(named, os.X_OK):
            raise NotFound(f"$TILEPROOF is {named}, which cannot be executed")
        return named
    if os.access(CARRIED, os.X_OK):
        return str(CARRIED)
    found = shutil.which("tileproof")
    if found:
        return found
    beside = pathlib.Path(__file__).resolve().parents[2] / "build" / "tileproof"
    if os.access(beside, os.X_OK):
        return str(beside)
    raise NotFound("the program `tileproof` is not on the PATH: build it with `make` and `make install`, or set $TILEPROOF")


@functools.lru_cache(maxsize=8)
def _environment(path: str) -> dict[str, str]:
    """What the program needs beside the environment: commands that are
    carried out in Python use this one; the program of a wheel finds the Z3 of
    z3-solver, where that lies elsewhere."""
    more = {"TILEPROOF_PYTHON": os.environ.get("TILEPROOF_PYTHON") or sys.executable}
    if path != str(CARRIED) or (CARRIED.parents[2] / "z3" / "lib" / "libz3.so").exists():
        return more
    spec = importlib.util.find_spec("z3")
    folders = [pathlib.Path(f) / "lib" for f in (spec.submodule_search_locations or [] if spec else [])]
    found = next((str(f) for f in folders if (f / "libz3.so").exists()), None)
    if found is None:
        raise NotFound("Z3 is not installed: `pip install z3-solver`")
    return {**more, "LD_LIBRARY_PATH": os.pathsep.join(filter(None, (found, os.environ.get("LD_LIBRARY_PATH"))))}


def main() -> None:
    """The command `tileproof` of a wheel: becomes the program."""
    try:
        path = program()
        os.environ.update(_environment(path))
    except NotFound as e:
        sys.exit(f"tileproof: {e}")
    os.execv(path, ["tileproof", *sys.argv[1:]])


def run(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the program with these arguments, and `text` as its standard input. Raises NotFound where there is none."""
    path = program()
    return subprocess.run([path, *arguments], input=text, capture_output=True, text=True, check=False, env={**os.environ, **_environment(path)})


def report(command: str, spec: dict[str, Any] | str, *options: str) -> dict[str, Any]:
    """The JSON report (format 1) of `lint` or `verify` on one spec, given as
    an object or as a path."""
    where, text = given(spec)
    return parsed(command, run(command, "--format", "json", *options, where, text=text))


def given(spec: dict[str, Any] | str | os.PathLike[str]) -> tuple[str, str | None]:
    """The path by which the program gets a spec, and what it reads there from its standard input."""
    return ("-", text_of(spec)) if isinstance(spec, dict) else (os.fspath(spec), None)


def text_of(spec: dict[str, Any]) -> str:
    """The spec as a file's text; `tileproof fmt` gives it its final form."""
    return json.dumps(spec, indent=2, ensure_ascii=False) + "\n"


def parsed(command: str, done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The report that a run printed."""
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise TileproofError(f"tileproof {command}: {done.stderr.strip() or 'no report'} (exit {done.returncode})") from None
