"""Where a statement of a spec comes from: Python file, line and text."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import json
import linecache
import re
from typing import Any

LONGEST = 100


def of_pointer(spec: dict[str, Any], pointer: str) -> str | None:
    """file.py:12 of what a JSON pointer into the spec shows: of its statement, its index map or the grid, else of the call.

    None for a spec that no Python call made, of which its name alone may be known.
    """
    if "x-python" not in spec:
        return None
    python, parts = spec["x-python"], pointer.split("/")[1:]
    if len(parts) > 1 and parts[0] == "pipelines":
        pipe = spec["pipelines"][int(parts[1])]
        return _of_part(pipe, _note(spec, pipe["name"]), parts[2:]) or python.get("call")
    return _of_part(spec, python, parts)


def _of_part(part: dict[str, Any], python: dict[str, Any], parts: list[str]) -> str | None:
    """What a pointer into the spec, or into one of its pipelines, shows, by what the importer says of that."""
    call = python.get("call")
    if len(parts) > 1 and parts[0] == "kernel":
        statements = python.get("statements", [])
        return statements[int(parts[1])] if int(parts[1]) < len(statements) else call
    if len(parts) > 2 and parts[2] == "index_map":
        return python.get("index_maps", {}).get(part[parts[0]][int(parts[1])]["name"]) or call
    if parts[:1] == ["grid"] and call:
        made_by = python.get("grid") or call  # a pipeline, or the call
        return keyword(made_by, "grid") or made_by
    return call


def _note(spec: dict[str, Any], name: Any) -> dict[str, Any]:
    """What the importer says of the pipeline."""
    return next((n for n in spec.get("x-python", {}).get("pipelines", []) if n.get("name") == name), {})


def of_finding(spec: dict[str, Any], finding: dict[str, Any], lines: list[str]) -> str | None:
    """The same of a finding in a report about the spec, whose text these lines are: within a statement, of the
    innermost value there that another line of Python made."""
    pointer = finding.get("pointer") or ""
    parts = pointer.split("/")
    at = next((b for b in bodies(spec) if pointer.rpartition("/")[0] == b.pointer), None)
    inside = at.parts.get(parts[-1], []) if at else []
    line, column = finding.get("line"), finding.get("column")
    if at and inside and line and column and line <= len(lines):
        text = lines[line - 1]
        around = [(len(part), place) for part, place in inside for n in _occurrences(part, text) if n < column <= n + len(part)]
        statement = at.lines[int(parts[-1])].lstrip()
        if around and text[column - 1:column - 1 + len(statement)] != statement:
            return min(around)[1]
    return of_pointer(spec, pointer)


def _occurrences(part: str, text: str) -> list[int]:
    return [m.start() for m in re.finditer(f"(?={re.escape(part)})", text)]


@dataclasses.dataclass
class Lines:
    """Statements of the body, or of a step of a pipeline, and where they come from."""

    pointer: str
    lines: list[str]
    places: list[str | None]
    parts: dict[str, Any]


def bodies(spec: dict[str, Any]) -> list[Lines]:
    """The body, then the steps of the pipelines. A spec that was written by hand may have none, or one text."""
    def of(pointer: str, entry: dict[str, Any], note: dict[str, Any]) -> Lines:
        lines = entry.get("kernel", [])
        return Lines(f"{pointer}/kernel", lines.splitlines() if isinstance(lines, str) else lines, note.get("statements", []), note.get("parts", {}))

    return [of("", spec, spec.get("x-python", {})), *(of(f"/pipelines/{n}", p, _note(spec, p.get("name"))) for n, p in enumerate(spec.get("pipelines", [])))]


def of_line(spec: dict[str, Any], text: str, line: int) -> str | None:
    """The same of a line of the spec's text, as binary.text_of() writes it."""
    first = next((n for n, t in enumerate(text.splitlines(), 1) if t == '  "kernel": ['), line)
    return of_pointer(spec, f"/kernel/{line - first - 1}" if 0 < line - first <= len(bodies(spec)[0].lines) else "")


def is_statement(spec: dict[str, Any], line: str) -> bool:
    """Is the line of the spec's text one of a body?"""
    with contextlib.suppress(ValueError):
        return json.loads(line.strip().removesuffix(",")) in [statement for b in bodies(spec) for statement in b.lines]
    return False


def turned(spec: dict[str, Any], detail: str) -> str:
    """The detail of a witness, with the lines of Python that make the loops whose turns it names."""
    def loop(m: re.Match[str]) -> str:
        head = f"for {m[1]} in "
        axes = (f"/pipelines/{n}/grid" for n, p in enumerate(spec.get("pipelines", [])) if any(a.get("axis") == m[1] for a in p.get("grid", [])))
        at = next((f"{b.pointer}/{n}" for b in bodies(spec) for n, line in enumerate(b.lines) if line.lstrip().startswith(head)), None) or next(axes, None)
        place = None if at is None else of_pointer(spec, at)
        return f"; turn {m[2]} of the loop at {place}" if place else m[0]

    return re.sub(r"; (\w+) = (-?\d+)", loop, detail)


def assigned(place: str) -> tuple[str, int, str] | None:
    """The variable that the Python statement there assigns, where it is one; with its file and the line where the statement begins."""
    file, _, line = place.rpartition(":")
    found = _statements("".join(linecache.getlines(file))).get(int(line)) if line.isdigit() else None
    targets = found.targets if isinstance(found, ast.Assign) else [found.target] if isinstance(found, ast.AnnAssign) else []
    return (file, found.lineno, targets[0].id) if found and len(targets) == 1 and isinstance(targets[0], ast.Name) else None


def shown(place: str | None) -> str:
    """file.py:12: `the statement there`; that line of it, where it is too long."""
    text = statement(place) if place else None
    file, _, line = (place or "").rpartition(":")
    if text and text.endswith("…") and (here := linecache.getline(file, int(line)).strip()) and not text.startswith(here[:LONGEST // 2]):
        text = here if len(here) <= LONGEST else here[:LONGEST - 1] + "…"
    return f"{place}: `{text}`" if text else place or ""


def statement(place: str) -> str | None:
    """The Python statement at file.py:12, on one line; None: the file cannot be read."""
    file, _, line = place.rpartition(":")
    source = "".join(linecache.getlines(file))
    found = _statements(source).get(int(line)) if source and line.isdigit() else None
    if found is None:
        return linecache.getline(file, int(line)).strip() or None if line.isdigit() else None
    text = re.sub(r"\s+", " ", ast.get_source_segment(source, found) or "").strip()
    return text if len(text) <= LONGEST else text[:LONGEST - 1] + "…"


def keyword(place: str, name: str) -> str | None:
    """file.py:12 of the argument `name=` of the call at that place, or of a call among its arguments; None: it has none."""
    file, _, line = place.rpartition(":")
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and line.isdigit() and n.lineno <= int(line) <= (n.end_lineno or n.lineno)]
    inner = sorted(calls, key=lambda n: (n.end_lineno or n.lineno) - n.lineno)
    found = (k for call in inner for n in ast.walk(call) if isinstance(n, ast.Call) for k in n.keywords if k.arg == name)
    first = next(found, None)
    return f"{file}:{first.value.lineno}" if first else None


@functools.lru_cache(maxsize=32)
def _statements(source: str) -> dict[int, ast.stmt]:
    """The innermost simple statement of every line; of a line with several, none."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return {}
    lines: dict[int, list[ast.stmt]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                lines.setdefault(line, []).append(node)
    return {line: made[0] for line, made in lines.items() if len(made) == 1}
