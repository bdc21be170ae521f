"""What tools/corpus.py found, held against what was judged, and as docs/CORPUS.md."""

import pathlib
import re
import subprocess

import corpus_packages
from corpus_judged import KNOWN, OPEN

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "CORPUS.md"
KINDS = {"blocks": "with blocks alone", "copies": "with copies or semaphores", "GPU": "for GPUs"}
ACCUSES = ("violated", "vacuous")


def rows_of(cases):
    return [r for c in cases for r in c["rows"]]


def judgement(row, finding):
    """Of an accusation; None: it is new."""
    return next((k for k in KNOWN if k.of(row, finding)), None)


def expected(case, said):
    """Why that is known; None: it is new."""
    return next((o for o in OPEN if o.of(case, said)), None)


def accusations(row):
    """What lint accuses, and what it leaves open and the execution of the call then traps on."""
    found = [f for f in row["open"] if f["verdict"] in ACCUSES]
    trap = re.match(r"trap\[(TP\d+)\]: (.*)", row["executed"])
    if trap and not any(f["rule"] == trap[1] for f in found):
        found += [f for f in row["open"] if f["rule"] == trap[1] and f"`{f['operand']}`" in trap[2]]
    return found


def may_trap(row):
    """Is the trap that ended this execution one that an accusation of the row foretells, and was that one judged?"""
    rule = re.match(r"trap\[(TP\d+)\]", row["executed"])
    return rule is not None and any(f["rule"] == rule[1] and judgement(row, f) for f in accusations(row))


def new(found, whole):
    """One line for each thing that was not judged yet; `whole`: every case was run, so that every judgement has to be needed."""
    lines, used = [], set()
    for source, cases in found.items():
        for c in cases:
            if c["untraced"]:
                used.add(expected(c["case"], c["untraced"]))
                if not expected(c["case"], c["untraced"]):
                    lines.append(f"{source}: {c['case']}: not traced: {c['untraced']}")
        for r in rows_of(cases):
            head = f"{source}: {r['case']}: {r['kernel']}"
            if r["refused"]:
                used.add(expected(r["case"], r["refused"]))
                if not expected(r["case"], r["refused"]):
                    lines.append(f"{head}: not imported: {r['refused']}")
            for f in accusations(r):
                k = judgement(r, f)
                used.add(k)
                if k is None:
                    lines.append(f"{head}: {f['rule']} {f['operand']} at {f['place']} `{f['text']}`: {f['message']} (replay: {f['replay']})")
            if r["bad"] and not may_trap(r):
                lines.append(f"{head}: {r['bad']}: {r['executed']}")
    if whole:
        lines += [f"no finding needs the judgement on {k.rule} of `{k.operand}` in {k.kernel} at {k.place}" for k in KNOWN if k not in used]
        lines += [f"{o.case} is not open any more: {o.says}" for o in OPEN if o not in used]
    return lines


# ---- the page ----

def agrees(row):
    """Was it executed, and compared, and equal?"""
    return bool(re.fullmatch(r"[\d.e+-]+( \(reference\))?", row["executed"]))


def by_kind(rows):
    """One sentence: what of each kind is imported, and agrees."""
    said = []
    for k, what in KINDS.items():
        mine = [r for r in rows if r["kind"] == k]
        good = [r for r in mine if not r["refused"]]
        said.append(f"of {len(mine)} {what}, {len(good)} import and {sum(map(agrees, good))} agree")
    return "By kind: " + "; ".join(said) + "."


def summary(rows):
    good = [r for r in rows if not r["refused"]]
    equal = [r for r in good if agrees(r)]
    accused = [r for r in good if accusations(r)]
    proven, unknown = (sum(r["verdicts"].get(k, 0) for r in good) for k in ("proven", "unknown"))
    kinds = ", ".join(f"{sum(r['kind'] == k for r in rows)} {what}" for k, what in KINDS.items() if any(r["kind"] == k for r in rows))
    return (f"{len(rows)} calls of {len({r['kernel'] for r in rows})} kernel functions ({kinds}): {len(good)} import, {len(equal)} were executed and agree, "
            f"{len(accused)} are accused; {proven} obligations proven, {unknown} unknown.")


def short(name):
    return name if len(name) <= 48 else name[:47] + "…"


def table(cases):
    rows = rows_of(cases)
    lines = ["| case | kernel | statements | proven | violated | unknown | executed: largest difference / rms |", "|---|---|---|---|---|---|---|"]
    for r in rows:
        if r["refused"]:
            known = expected(r["case"], r["refused"])
            lines.append(f"| {r['case']} | `{short(r['kernel'])}` | not imported: {r['refused']}{f' ({known.why})' if known else ''} | | | | |")
            continue
        v = r["verdicts"]
        lines.append(f"| {r['case']} | `{short(r['kernel'])}` | {r['statements']} | {v.get('proven', 0)} | {sum(v.get(k, 0) for k in ACCUSES)} | {v.get('unknown', 0)} | {r['executed']} |")
    notes = sorted({(r["kernel"], f["rule"], f["verdict"], f["message"], f["reason"] or "") for r in rows for f in r["open"]})
    lines += ["", *[f"- `{k}`: {rule} {verdict}: {message}" + (f" ({reason})" if reason else "") for k, rule, verdict, message, reason in notes]]
    return "\n".join(lines + [f"- not traced: {c['case']}: {c['untraced']}" + (f" ({o.why})" if (o := expected(c["case"], c["untraced"])) else "") for c in cases if c["untraced"]])


def accused(found):
    """Every accusation, and how it was judged."""
    lines = ["| rule | operand | kernel | place | how often | judged | why | evidence |", "|---|---|---|---|---|---|---|---|"]
    held = {}
    for r in (r for cases in found.values() for r in rows_of(cases)):
        for f in accusations(r):
            held.setdefault(judgement(r, f), []).append((r, f))
    for k, pairs in held.items():
        if k is None:
            lines += [f"| {f['rule']} | `{f['operand']}` | `{r['kernel']}` | `{f['place']}` | 1 | **not yet** | | |" for r, f in pairs]
        else:
            lines.append(f"| {k.rule} | `{k.operand}` | `{short(k.kernel)}` | `{k.place}` | {len(pairs)} | {'right' if k.right else 'open'} | {k.why} | {k.evidence} |")
    return "\n".join(lines)


def commit():
    """The last commit that changed the program or the package."""
    asked = ["git", "-C", str(ROOT), "log", "-1", "--format=%h", "--", ".", ":!docs", ":!tools", ":!CHANGELOG.md", ":!Makefile"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def total(found):
    rows = [r for cases in found.values() for r in rows_of(cases)]
    accused_rows = [r for r in rows if accusations(r)]
    findings = [(r, f) for r in rows for f in accusations(r)]
    right = sum(bool(k and k.right) for k in (judgement(*p) for p in findings))
    uncompared = [r for r in rows if not r["refused"] and not agrees(r)]
    trapped = sum(r["executed"].startswith("trap[") for r in uncompared)
    no_reference = sum(r["executed"] == "JAX does not interpret it" for r in uncompared)
    return (f"Written by one run of `make corpus`, with the program and the package of {commit()}. {summary(rows)} {by_kind(rows)}\n\n"
            f"{len(accused_rows)} calls are accused, by {len(findings)} findings; {right} of these were judged right, {len(findings) - right} are open. A judgement is about one finding: rule, "
            f"operand, line of Python and statement; \"right\" needs a replay of the finding in the machine and the line of the package's source that does it. "
            f"{len(uncompared)} calls were not compared: {trapped} trap where they are accused, {no_reference} are run by neither of JAX's interpreters and have no reference of a "
            f"result, {len(uncompared) - trapped - no_reference} were stopped.")


def denominator(found):
    """Every file of the packages with a kernel, by kind, and whether a kernel of it is called below."""
    files = list(corpus_packages.files())
    called = {path for cases in found.values() for r in rows_of(cases) for path in r["files"]}
    kinds = list(corpus_packages.KINDS)[::-1]
    lines = ["| package | version | files with a kernel | " + " | ".join(kinds) + " | not loadable | called below |", "|---" * (len(kinds) + 5) + "|"]
    total = [0] * (len(kinds) + 3)
    for package, version in dict.fromkeys((f[0], f[1]) for f in files):
        mine = [f for f in files if f[0] == package]
        counts = [len(mine), *(sum(f[4] == k for f in mine) for k in kinds), sum(bool(f[5]) for f in mine), sum(any(c.endswith(f[2]) for c in called) for f in mine)]
        total = [a + b for a, b in zip(total, counts)]
        lines.append(f"| {package} | {version} | " + " | ".join(map(str, counts)) + " |")
    lines.append("| all | | " + " | ".join(map(str, total)) + " |")
    lines += ["", "Every file, its kind unless it has blocks alone, and `called` where a call of a kernel in it is judged below:", ""]
    for package in dict.fromkeys(f[0] for f in files):
        lines.append(f"- {package}: " + "; ".join(
            f"`{f[2]}`" + "".join(f" ({', '.join(words)})" for words in [[w for w in (f[4] if f[4] != "blocks" else "", "called" if any(c.endswith(f[2]) for c in called) else "", f[5]) if w]] if words)
            for f in files if f[0] == package))
    return "\n".join(lines)


def put(text, marker, body):
    """The page with the part behind a marker replaced."""
    before, found, rest = text.partition(f"<!-- {marker} -->")
    if not found:
        raise SystemExit(f"{PAGE} has no <!-- {marker} -->")
    return f"{before}<!-- {marker} -->\n\n{body}\n\n<!-- end -->{rest.partition('<!-- end -->')[2]}"


def write(found):
    """The whole page, of one run."""
    text = put(PAGE.read_text(), "total", total(found))
    text = put(put(text, "accused", accused(found)), "files", denominator(found))
    for source, cases in found.items():
        text = put(text, source, "\n".join([summary(rows_of(cases)), "", table(cases)]))
    PAGE.write_text(text)
