"""The tileproof program: finding it, running it, reading its report."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from typing import Any

from .errors import NotFound, TileproofError


def program() -> str:
    """Path of the program: $TILEPROOF, the PATH, or build/tileproof of the checkout this package lies in."""
    named = os.environ.get("TILEPROOF")
    if named:
        if not os.access(named, os.X_OK):
            raise NotFound(f"$TILEPROOF is {named}, which cannot be executed")
        return named
    found = shutil.which("tileproof")
    if found:
        return found
    beside = pathlib.Path(__file__).resolve().parents[2] / "build" / "tileproof"
    if os.access(beside, os.X_OK):
        return str(beside)
    raise NotFound("the program `tileproof` is not on the PATH: build it with `make` and `make install`, or set $TILEPROOF")


def run(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program(), *arguments], input=text, capture_output=True, text=True, check=False)


def report(command: str, spec: dict[str, Any] | str, *options: str) -> dict[str, Any]:
    """The JSON report (format 1) of `lint` or `verify` on one spec, given as
    an object or as a path."""
    where, text = (spec, None) if isinstance(spec, str) else ("-", json.dumps(spec))
    done = run(command, "--format", "json", *options, where, text=text)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise TileproofError(f"tileproof {command}: {done.stderr.strip() or 'no report'} (exit {done.returncode})") from None
