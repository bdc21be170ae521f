"""Reports over every spec of the tree, good and bad, by readers that we did not write: the json
format against docs/report.schema.json; SARIF against the official schema where it is at hand
(TILEPROOF_SARIF_SCHEMA, or a shared folder beside the tree) and by sarif-tools; JUnit by
junitparser and, where it is installed, xmllint; the page by Python's HTML parser,
xmllint, Chromium and axe. And the same input gives the same bytes."""

import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import axe_core_python
import jsonschema
import junitparser

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "build" / "tileproof"
SPECS = ["examples", "tests/rules", "tests/semantics", "tests/bad"]


def report(command, paths):
    args = [PROGRAM, command, "--format", "json", *paths]
    if command == "verify":
        args += ["--cases", "2"]
    result = subprocess.run(args, cwd=ROOT, capture_output=True)
    assert result.returncode in (0, 1, 3, 4), (command, paths, result.returncode, result.stderr)
    return result.stdout


GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{32,}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "minLength": 1},
                    "lines": {"type": "object", "required": ["begin"], "properties": {"begin": {"type": "integer", "minimum": 1}}},
                },
            },
        },
    },
}


class Page(html.parser.HTMLParser):
    """Every element is closed, headings do not skip a level, pictures and tables have names, links lead somewhere."""

    VOID = {"meta", "br", "input", "wbr"}

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.level, self.ids, self.links = [], [], 0, set(), set()
        self.inputs, self.labels, self.record, self.style = set(), set(), "", ""

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in self.VOID:
            self.open.append(tag)
        if tag in ("h1", "h2", "h3", "h4"):
            if int(tag[1]) > self.level + 1:
                self.wrong.append(f"{tag} after h{self.level}")
            self.level = int(tag[1])
        if "id" in attrs:
            self.ids.add(attrs["id"])
        if tag == "a" and attrs["href"].startswith("#"):
            self.links.add(attrs["href"][1:])
        if tag == "svg" and attrs.get("role") != "img" and attrs.get("aria-hidden") != "true":
            self.wrong.append("a picture without a role")
        if tag == "th" and "scope" not in attrs:
            self.wrong.append("a heading of a table without a scope")
        if tag == "input":
            self.inputs.add(attrs["id"])
        if tag == "label":
            self.labels.add(attrs["for"])
        data = tag == "script" and attrs.get("type") == "application/json"
        if any(a.startswith("on") for a in attrs) or (tag == "script" and not data) or tag in ("link", "iframe", "img", "object"):
            self.wrong.append(f"active content: {tag}")

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.record += data
        if self.open and self.open[-1] == "style":
            self.style += data

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing")


PROBE = """<script>
window.onload = () => {
    const wrong = new Set(), page = document.documentElement;
    const name = e => e.tagName.toLowerCase() + (e.className.baseVal ?? e.className) + ' "' + e.textContent.trim().slice(0, 30) + '"';
    if (page.scrollWidth > window.innerWidth) wrong.add('the page is ' + page.scrollWidth + ' px wide');
    document.querySelectorAll('details').forEach(d => d.open = true);
    for (const e of document.querySelectorAll('main *, header *, footer *')) {
        const box = e.getBoundingClientRect(), style = getComputedStyle(e);
        if (!box.width || !box.height || e.closest('.skip, title')) continue;
        const scrolled = e.closest('[role=region][tabindex="0"]'); // a wide table, with the keyboard too
        if (!scrolled && (box.right > window.innerWidth + 1 || box.left < -1)) wrong.add('beyond the edge: ' + name(e));
        if (!scrolled && style.overflow !== 'visible' && !(e instanceof SVGElement) && e.scrollWidth > e.clientWidth + 1) wrong.add('cut off: ' + name(e));
        const frame = e instanceof SVGGraphicsElement && e.ownerSVGElement && e.ownerSVGElement.getBoundingClientRect();
        if (frame && (box.right > frame.right + 1.5 || box.left < frame.left - 1.5 || box.bottom > frame.bottom + 1.5 || box.top < frame.top - 1.5))
            wrong.add('beyond its picture: ' + name(e));
        const text = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
        const scale = e instanceof SVGGraphicsElement && e.ownerSVGElement ? e.getScreenCTM().a : 1;
        if (text && parseFloat(style.fontSize) * scale < 11.99 && e.tagName !== 'SUP') wrong.add('small text: ' + name(e));
    }
    parent.postMessage([window.innerWidth, [...wrong].slice(0, 8)], '*');
};
</script>"""
WIDTHS = (360, 768, 1280, 1920)


def chromium():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def dom_of(page, *flags):
    args = [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=20000", *flags]
    return subprocess.run([*args, "--dump-dom", f"file://{page}"], capture_output=True, text=True, timeout=300)


def layout(path):
    """What is cut off, beyond the edge or too small to read, at the widths of telephones and of screens."""
    text = pathlib.Path(path).read_text()
    assert text.count("Content-Security-Policy") == 1
    pathlib.Path(f"{path}.probe.html").write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text) + PROBE)
    frames = "".join(f'<iframe src="{os.path.basename(path)}.probe.html" width="{w}" height="900"></iframe>' for w in WIDTHS)
    outer = """<pre id="said"></pre><script>onmessage = e => said.textContent += JSON.stringify(e.data) + "\\n"</script>"""
    pathlib.Path(f"{path}.frames.html").write_text(f"<!DOCTYPE html><meta charset='utf-8'>{outer}{frames}")
    shown = dom_of(f"{path}.frames.html").stdout
    said = [json.loads(html.unescape(line)) for line in re.search(r'<pre id="said">(.*?)</pre>', shown, re.S)[1].splitlines()]
    if sorted(width for width, _ in said) != sorted(WIDTHS):
        return [f"the page was laid out at {[w for w, _ in said]} px of {WIDTHS}"]
    return [f"at {width} px: {what}" for width, wrong in said for what in wrong]


AXE = """<script>
const say = said => document.body.appendChild(Object.assign(document.createElement('pre'), {id: 'axe', textContent: JSON.stringify(said)}));
document.querySelectorAll('details').forEach(d => d.open = true);
axe.run().then(r => say([r.passes.length, r.violations.map(v => v.id + ': ' + v.nodes.length + ', first ' + v.nodes[0].html.slice(0, 150))]), e => say([0, [String(e)]]));
</script>"""
SCHEMES = {"light": "1", "dark": "0"}


def accessible(path):
    """What axe (the rules of WCAG 2.1 that a program can check) finds on a page, light and dark, all of it unfolded."""
    script = pathlib.Path(axe_core_python.__file__).with_name("axe.min.js").read_text()
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", pathlib.Path(path).read_text())
    pathlib.Path(page := f"{path}.axe.html").write_text(text.replace("</body>", f"<script>{script}</script>{AXE}</body>"))
    wrong = []
    for scheme, number in SCHEMES.items():
        shown = dom_of(page, f"--blink-settings=preferredColorScheme={number}").stdout
        found = re.search(r'<pre id="axe">(.*?)</pre>', shown, re.S)
        passes, violations = json.loads(html.unescape(found[1])) if found else (0, [])
        if passes < 15:
            wrong.append(f"axe passed {passes} rules of a {scheme} page")
        wrong += [f"axe, {scheme}: {v}" for v in violations]
    return wrong


# commands that write pages, on few specs each: kernels that are good, broken, unknown and unequal
PAGES = {
    "lint": ["lint", "--sweep-page", "sweep.html", "examples/matmul/matmul_double_buffered.tile.json", "tests/rules/buffering/bad_one_buffer.tile.json",
             "tests/devices/ring_all_gather.tile.json", "tests/rules/in-flight/bad_slot_not_rotated.tile.json", "examples/broken/index_plus_one.tile.json", "tests/rules/dma-semaphore/ok_scope_within_a_loop.tile.json", "examples/broken/vmem_overflow.tile.json", "examples/attention/flash_attention.tile.json"],
    "verify": ["verify", "--cases", "2", "examples/elementwise/add_vectors.tile.json", "examples/broken/padded_lanes_in_softmax.tile.json",
               "examples/broken/worklist_in_parallel.tile.json", "examples/reduction/cross_entropy.tile.json"],
    "sweep": ["sweep", "examples/matmul/matmul.tile.json", "--over", "bm=8:512:8,bk=128:512:128"],
}


MOST_BYTES = 150 << 10


def sizes_of_pages():
    """Pages of verified kernels are small enough to be sent around: each of the gallery."""
    wrong = []
    with tempfile.TemporaryDirectory() as place:
        for path in (path for path in specs_of("examples") if "/broken/" not in path):
            page = pathlib.Path(place) / "page.html"
            subprocess.run([PROGRAM, "verify", "-q", path, "-o", f"html={page}"], cwd=ROOT, capture_output=True)
            if page.stat().st_size > MOST_BYTES:
                wrong.append(f"{path}: a page of {page.stat().st_size} bytes")
    print(f"reports: pages of the gallery, {len(wrong)} beyond {MOST_BYTES} bytes")
    for w in wrong:
        print(f"  {w}", file=sys.stderr)
    return len(wrong)


def pages():
    """Each kind of page in a browser: its layout, and what axe says of it."""
    wrong = []
    if not chromium():
        print("reports: no Chromium; the pages were not opened")
        return 0
    with tempfile.TemporaryDirectory() as place:
        for name, args in PAGES.items():
            path = os.path.join(place, name)
            out = subprocess.run([PROGRAM, *args, "-o", f"html={path}"], cwd=ROOT, capture_output=True, text=True)
            if out.returncode not in (0, 1, 4):
                wrong.append(f"{name}: exit {out.returncode}: {out.stderr[-200:]}")
                continue
            wrong += [f"{name}: {w}" for w in [*layout(path), *accessible(path)]]
    print(f"reports: {len(PAGES)} kinds of pages by axe, {len(wrong)} wrong")
    for w in wrong[:20]:
        print(f"  {w}", file=sys.stderr)
    return len(wrong)


def in_a_browser(path):
    """What a headless Chromium says of a page: the console's complaints, headings that it does not show, its layout."""
    if not chromium():
        print("reports: no Chromium; the page was not opened")
        return []
    shutil.copy(path, page := f"{path}.html")
    shown = dom_of(page)
    wrong = [line[:200] for line in shown.stderr.splitlines() if "CONSOLE" in line]
    headings = pathlib.Path(path).read_text().count("<h2")
    if shown.stdout.count("<h2") != headings:
        wrong.append(f"{shown.stdout.count('<h2')} of {headings} headings are shown")
    return wrong + layout(path)


# text on background, by the names of the style sheet
PAIRS = [("ink", "bg"), ("ink", "card"), ("dim", "bg"), ("dim", "card"), ("ok", "okbg"), ("bad", "badbg"), ("open", "openbg"), ("note", "notebg"),
         ("a", "bg"), ("a", "card")]


def luminance(colour):
    """WCAG 2.1, relative luminance."""
    digits = colour.lstrip("#")
    digits = "".join(c * 2 for c in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def low_contrast(style):
    """Pairs of colours, light and dark, below 4.5 : 1."""
    light, dark = (dict(re.findall(r"--(\w+):(#[0-9a-fA-F]+)", part)) for part in style.split("prefers-color-scheme:dark", 1))
    out = []
    for scheme, colours in (("light", light), ("dark", {**light, **dark})):
        for text, background in PAIRS:
            a, b = sorted((luminance(colours[text]), luminance(colours[background])), reverse=True)
            if (a + 0.05) / (b + 0.05) < 4.5:
                out.append(f"{scheme}: {text} on {background} has {(a + 0.05) / (b + 0.05):.2f} : 1")
    return out


def other_formats(folder):
    """The formats for CI systems, over one folder; what is wrong with them."""
    paths = sorted(str(p.relative_to(ROOT)) for p in (ROOT / folder).rglob("*.tile.json*"))
    wrong = []
    with tempfile.TemporaryDirectory() as place:
        names = {n: os.path.join(place, n) for n in ("sarif", "sarif-full", "junit", "gitlab", "html", "jsonl")}
        args = [PROGRAM, "lint", "-q", *paths, *(a for n in names for a in ("--output", f"{n}={names[n]}"))]
        assert subprocess.run(args, cwd=ROOT, capture_output=True).returncode in (0, 1, 3)
        text = {n: pathlib.Path(names[n]).read_text() for n in names}
        official = pathlib.Path(os.environ.get("TILEPROOF_SARIF_SCHEMA", ROOT / "../shared/data/sarif-schema-2.1.0.json"))
        for n in ("sarif", "sarif-full"):
            if official.exists():
                validator = jsonschema.Draft7Validator(json.loads(official.read_text()))
                wrong += [f"{n}: {e.json_path}: {e.message[:200]}" for e in validator.iter_errors(json.loads(text[n]))]
            else:
                print("reports: the official SARIF schema is not at hand; skipped")
            os.rename(names[n], names[n] + ".sarif")
            summary = subprocess.run([sys.executable, "-m", "sarif", "summary", names[n] + ".sarif"], capture_output=True, text=True)
            if summary.returncode:
                wrong.append(f"{n}: sarif-tools: {summary.stderr[-200:]}")
        wrong += [f"gitlab: {e.json_path}: {e.message[:200]}" for e in jsonschema.Draft202012Validator(GITLAB).iter_errors(json.loads(text["gitlab"]))]
        for n in ("junit", "html") if shutil.which("xmllint") else ():
            args = ["xmllint", "--noout", "--nonet", *(["--html", "--nowarning"] if n == "html" else []), names[n]]
            lint = subprocess.run(args, capture_output=True, text=True)
            errors = [e for e in lint.stderr.splitlines() if " error : " in e and not re.search(r"Tag \w+ invalid", e)]
            wrong += [f"{n}: xmllint: {e[:200]}" for e in errors[:5]]
        suites = junitparser.JUnitXml.fromfile(names["junit"])
        cases = sum(1 for suite in suites for _ in suite)
        findings = [json.loads(line) for line in text["jsonl"].splitlines()]
        if cases != len(findings) or suites.tests != cases:
            wrong.append(f"junit: {cases} cases, {suites.tests} announced, {len(findings)} findings")
        page = Page()
        page.feed(text["html"])
        wrong += [f"html: {w}" for w in page.wrong]
        wrong += [f"html: a link to #{l} leads nowhere" for l in page.links - page.ids]
        wrong += [f"html: <{t}> is not closed" for t in page.open]
        wrong += [f"html: {i} has no label" for i in page.inputs - page.labels]
        wrong += [f"html: {w}" for w in low_contrast(page.style)]
        wrong += [f"html: {w}" for w in in_a_browser(names["html"])]
        if len(json.loads(page.record)["specs"]) != len(paths):
            wrong.append("html: the record in the page is another one")
    print(f"reports: {folder}: {len(paths)} specs in sarif, junit, gitlab, jsonl and html, {len(wrong)} wrong")
    for w in wrong[:20]:
        print(f"  {w}", file=sys.stderr)
    return len(wrong)


def specs_of(folder):
    return sorted(str(p.relative_to(ROOT)) for p in (ROOT / folder).rglob("*.tile.json"))


def documents():
    """The objects of `cost`, `assess` and `sweep`, each against its schema in docs: of the gallery and its broken siblings, of kernels
    with an unknown, measured and not."""
    sweeps = [["--over", "bm=60:256:4,T=float32|bfloat16,target=v4|v5e", "--measure", "2", "examples/matmul/matmul.tile.json"],
              ["--over", "bq=100|128", "examples/attention/flash_attention.tile.json"], ["--over", "N=1:4", "examples/attention/paged_decode.tile.json"]]
    asked = {
        "cost": [["cost", path] for folder in ("examples", "tests/cost", "tests/devices", "tests/semantics") for path in specs_of(folder)],
        "assessment": [["assess", "--runs", "1", path] for path in [*specs_of("tests/assess"), "examples/attention/paged_decode.tile.json"]]
        + [["assess", "examples/matmul/matmul_relu.tile.json"]],
        "sweep": [["sweep", *args] for args in sweeps],
    }
    wrong, read = [], 0
    for name, commands in asked.items():
        schema = json.loads((ROOT / "docs" / f"{name}.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        for args in commands:
            out = subprocess.run([PROGRAM, args[0], "--format", "json", *args[1:]], cwd=ROOT, capture_output=True, text=True)
            if not out.stdout.strip():  # a spec that cannot be read, or has no case
                continue
            read += 1
            wrong += [f"{' '.join(args)}: {e.json_path}: {e.message[:200]}" for e in validator.iter_errors(json.loads(out.stdout))]
    print(f"reports: {read} objects of cost, assess and sweep, {len(wrong)} outside their schemas")
    for w in wrong[:20]:
        print(f"  {w}", file=sys.stderr)
    return len(wrong) + (read < 100)


def sizes_of_a_case(spec):
    """Sizes and dtypes at which a spec of the gallery runs on filled inputs: those of its first case of `cost`."""
    out = subprocess.run([PROGRAM, "cost", "--format", "json", spec], cwd=ROOT, capture_output=True, text=True)
    kernel = json.loads(out.stdout)["kernels"][0] if out.returncode == 0 else {"cases": []}
    if not kernel["cases"]:
        return None
    pairs = [("--size", kernel["cases"][0]["sizes"]), ("--dtype", kernel["dtypes"])]
    return [a for option, values in pairs for name, value in values.items() for a in (option, f"{name}={value}")]


def traces():
    """`run --trace` of every gallery kernel, against the schema beside this file."""
    validator = jsonschema.Draft202012Validator(json.loads((ROOT / "tests" / "jax" / "trace.schema.json").read_text()))
    wrong, events = [], 0
    paths = [path for path in specs_of("examples") if "/broken/" not in path]
    with tempfile.TemporaryDirectory() as place:
        file = pathlib.Path(place) / "trace.json"
        for path in paths:
            if (sizes := sizes_of_a_case(path)) is None:
                continue
            args = [PROGRAM, "run", "-q", "--unchecked", path, "--fill", "normal", *sizes, "--trace", str(file)]
            file.unlink(missing_ok=True)
            out = subprocess.run(args, cwd=ROOT, capture_output=True, text=True)
            if "is missing" in out.stderr:  # the contents of a table are not filled
                continue
            if out.returncode:
                wrong.append(f"{path}: exit {out.returncode}: {out.stderr[-200:]}")
                continue
            trace = json.loads(file.read_text())
            events += len(trace["traceEvents"])
            wrong += [f"{path}: {e.json_path}: {e.message[:200]}" for e in validator.iter_errors(trace)]
    print(f"reports: {len(paths)} specs, {events} events in their traces, {len(wrong)} wrong")
    for w in wrong[:20]:
        print(f"  {w}", file=sys.stderr)
    return len(wrong) + (events == 0)


def main():
    schema = json.loads((ROOT / "docs" / "report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    bad = 0
    for command in ("lint", "verify"):
        specs = 0
        for folder in SPECS:
            paths = sorted(str(p.relative_to(ROOT)) for p in (ROOT / folder).rglob("*.tile.json*"))
            assert paths, folder
            text = report(command, paths)
            if text != report(command, paths):
                bad += 1
                print(f"{command} {folder}: two runs differ", file=sys.stderr)
            document = json.loads(text)
            specs += len(document["specs"])
            for error in validator.iter_errors(document):
                bad += 1
                print(f"{command} {folder}: {error.json_path}: {error.message[:300]}", file=sys.stderr)
        print(f"reports: {specs} specs in the json of {command}, {bad} outside the schema")
    bad += sum(other_formats(folder) for folder in SPECS)
    bad += documents()
    bad += traces()
    bad += pages()
    bad += sizes_of_pages()
    sys.exit(bad > 0)


main()
