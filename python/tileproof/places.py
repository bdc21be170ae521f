"""Where a statement of a spec comes from: Python file, line and text."""

from __future__ import annotations

import ast
import functools
import linecache
import re
from typing import Any

LONGEST = 100


def of_pointer(spec: dict[str, Any], pointer: str) -> str | None:
    """file.py:12 of what a JSON pointer into the spec shows: of its statement or index map, else of the call.

    None for a spec that no Python call made, of which its name alone may be known.
    """
    if "x-python" not in spec:
        return None
    python, parts = spec["x-python"], pointer.split("/")
    if len(parts) > 2 and parts[1] == "kernel":
        statements = python.get("statements", [])
        return statements[int(parts[2])] if int(parts[2]) < len(statements) else python.get("call")
    if len(parts) > 3 and parts[3] == "index_map":
        return python.get("index_maps", {}).get(spec[parts[1]][int(parts[2])]["name"]) or python.get("call")
    return python.get("call")


def of_line(spec: dict[str, Any], text: str, line: int) -> str | None:
    """The same of a line of the spec's text, as importer.text_of() writes it."""
    first = next((n for n, t in enumerate(text.splitlines(), 1) if t == '  "kernel": ['), line)
    return of_pointer(spec, f"/kernel/{line - first - 1}" if 0 < line - first <= len(spec["kernel"]) else "")


def shown(place: str | None) -> str:
    """file.py:12: `the statement there`."""
    text = statement(place) if place else None
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


@functools.lru_cache(maxsize=32)
def _statements(source: str) -> dict[int, ast.stmt]:
    """The innermost simple statement of every line."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return {}
    lines: dict[int, ast.stmt] = {}
    for node in ast.walk(tree):  # outer ones first
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                lines[line] = node
    return lines
