"""Where a statement of a spec comes from: Python file, line and text."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
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


def turned(spec: dict[str, Any], detail: str) -> str:
    """The detail of a witness, with the lines of Python that make the loops whose turns it names."""
    def loop(m: re.Match[str]) -> str:
        head = f"for {m[1]} in "
        axes = (f"/pipelines/{n}/grid" for n, p in enumerate(spec.get("pipelines", [])) if any(a.get("axis") == m[1] for a in p.get("grid", [])))
        at = next((f"{b.pointer}/{n}" for b in bodies(spec) for n, line in enumerate(b.lines) if line.lstrip().startswith(head)), None) or next(axes, None)
        place = None if at is None else of_pointer(spec, at)
        return f"; turn {m[2]} of the loop at {place}" if place else m[0]

    return re.sub(r"; (\w+) = (-?\d+)", loop, detail)


def named(spec: dict[str, Any], said: str) -> str:
    """What the program says of a kernel, with lines of Python for the lines of the kernel that it names or quotes,
    and with names of Python for the values; a value without one is told by its line."""
    def place(m: re.Match[str]) -> str:
        return of_pointer(spec, f"/kernel/{int(m[1]) - 1}") or m[0]

    def whole(m: re.Match[str]) -> str:
        at = next((f"{b.pointer}/{n}" for b in bodies(spec) for n, line in enumerate(b.lines) if line.strip() == m[1]), None)
        return m[0] if at is None else shown(of_pointer(spec, at)) or m[0]

    said = re.sub(r"\bline (\d+)(?= started| of the kernel)", place, said)
    said = re.sub(r" in line \d+(?= removes this, too)", "", said)  # of the spec, which nobody wrote
    said = re.sub(r"`([^`\n]*)`", whole, said)
    if not re.search(VALUE, said):
        return said
    variables = _variables(spec)
    values, nameless = _values(spec, variables), dict[str, str]()

    def value(m: re.Match[str]) -> str:
        called, made_at = values.get(m[0], (m[0], ""))
        if called == m[0] and made_at:
            nameless[m[0]] = made_at
        return called

    def quoted(m: re.Match[str]) -> str:
        return "`" + re.sub(VALUE, value, _with_names(m[1], variables)) + "`"

    said = re.sub(r"`([^`\n]*)`", quoted, said)
    return said + "".join(f"; `{v}` is made at {shown(made_at)}" for v, made_at in nameless.items())


VALUE = r"\b[vc]\d+\b"  # what the importer calls values, and those that loops carry


def _with_names(text: str, variables: dict[str, str]) -> str:
    """The expression with names of variables for its operands that are their values; what is no expression, as it is."""
    tree = _expression(text)
    named = {ast.dump(e): name for value, name in variables.items() if value in text and (e := _expression(value))}
    if tree is None or not named:
        return text

    class Named(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            name = named.get(ast.dump(node)) if node is not tree and isinstance(node, ast.expr) else None
            return ast.Name(name) if name else self.generic_visit(node)

    before = ast.dump(tree)
    after = Named().visit(tree)
    return ast.unparse(after) if ast.dump(after) != before else text


def _expression(text: str) -> ast.expr | None:
    with contextlib.suppress(SyntaxError, ValueError):
        return ast.parse(text, mode="eval").body
    return None


def _variables(spec: dict[str, Any]) -> dict[str, str]:
    """Values of the body, and texts of those that stand where they are used, by which variable of Python has them: one that a single statement assigns."""
    made = dict[tuple[str, int, str], str]()
    for line, value in spec.get("x-python", {}).get("results", {}).items():
        if target := _assigned(line):
            made[target] = value
    names, axes = [name for *_, name in made], {a["axis"] for a in spec.get("grid", [])}
    return {value: name for (*_, name), value in made.items() if names.count(name) == 1 and name not in axes}


def _values(spec: dict[str, Any], variables: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Of each value of the body, what it is called, and its line in Python: the variable that has it; else what is read, where it is just read; else
    its own name."""
    made = dict[str, tuple[str, str]]()
    for body in bodies(spec):
        for line, at in zip(body.lines, body.places, strict=False):
            if at and (assigned := re.match(rf"\s*({VALUE}) = (.*)", line)):
                v, text = assigned[1], assigned[2]
                made[v] = variables.get(v) or (text if re.fullmatch(r"\w+\[[^v]*\]", text) else v), at
    return made


def _assigned(place: str) -> tuple[str, int, str] | None:
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
