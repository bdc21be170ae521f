"""Calls executed by `tileproof run`."""

from __future__ import annotations

import pathlib
import re
import tempfile
from typing import Any

from . import binary, places, words
from .errors import TileproofError
from .jaxpr import np


def run(spec: dict[str, Any], eqn: Any, operands: list[Any]) -> list[Any]:
    """Results of one pallas_call, of which this is the spec; those that are discarded are zeros.

    Raises AssertionError where it traps, TileproofError where it cannot be executed.
    """
    with tempfile.TemporaryDirectory() as folder:
        room = pathlib.Path(folder)
        save(room, spec, operands)
        return run_in(room, spec, eqn)


def save(room: pathlib.Path, spec: dict[str, Any], operands: list[Any]) -> None:
    """The operands, for run_in()."""
    for name, value in zip(operands_of(spec), operands, strict=True):
        if name in windows_of(spec):
            continue
        array = np.asarray(value)
        np.save(room / f"{name}.npy", array if array.dtype.isbuiltin == 1 else array.view(f"V{array.dtype.itemsize}"))


def run_in(room: pathlib.Path, spec: dict[str, Any], eqn: Any) -> list[Any]:
    """run(), of the operands in that folder."""
    arguments = [word for name in operands_of(spec) if name not in windows_of(spec) for word in ("--input", f"{name}={room / name}.npy")]
    for o in spec["outputs"]:
        if not o.get("discard"):
            arguments += ["--output", f"{o['name']}={room / o['name']}.out.npy"]
    text = binary.text_of(spec)
    (room / "kernel.tile.json").write_text(text)
    done = binary.run("run", "--unchecked", str(room / "kernel.tile.json"), *arguments, "--max-memory", "8192")
    if done.returncode == 1:
        raise AssertionError(said(spec, text, done.stderr))
    if done.returncode:
        raise TileproofError(said(spec, text, done.stderr))
    results = []
    for o, var in zip(spec["outputs"], eqn.outvars, strict=True):
        if o.get("discard"):
            results.append(np.zeros(o["shape"], var.aval.dtype))
            continue
        out = np.load(room / f"{o['name']}.out.npy")
        results.append(out.view(var.aval.dtype) if out.dtype.kind == "V" else out)
    return results


def operands_of(spec: dict[str, Any]) -> list[str]:
    """The names of tables and inputs, in the order of the call's operands."""
    return spec.get("x-python", {}).get("operands") or [t["name"] for t in spec.get("scalar_prefetch", [])] + [i["name"] for i in spec.get("inputs", [])]


def windows_of(spec: dict[str, Any]) -> list[str]:
    """The names of inputs whose array is that of another one, which alone is given."""
    return [i["name"] for i in spec.get("inputs", []) if "array" in i]


def said(spec: dict[str, Any], text: str, stderr: str) -> str:
    """What the engine says of a trap, or why it does not run, with the place in Python instead of that in the file, which is gone."""
    def place(m: Any) -> str:
        return f"  --> {places.shown(places.of_line(spec, text, int(m[1] or 0)))}"

    told = re.sub(r"^tileproof: \S*kernel\.tile\.json: |\nno output was written;.*", "", words.told(spec, stderr.strip()))
    return f"{spec['name']} ({spec['x-python']['call']}): " + re.sub(r"  --> \S*kernel\.tile\.json(?::(\d+):\d+)?", place, told)
