#!/usr/bin/env python3
"""Do the two checkers of certificates agree?

`tileproof recheck` and tools/recheck.py were written apart, from one page
(docs/CERTIFICATES.md). Here each reads the same files, and every line has to
get the same verdict from both:

- what lint and verify write of the gallery, of the rules' examples, of copies in flight, masked loads and aliases;
- random obligations that were proven, and forgeries of their proofs and claims (tests/unit/test_forgeries.c);
- texts changed at random, member by member (seeded);
- tests/checker/forged.json: forgeries written by hand, each against one side condition.

Then defects are planted into that one, one at a time: a side condition
is left out, a sign is turned. Each has to be noticed by some line.

    second_checker.py [--trials 20500] [--mutants 20000] [--seed 1] [--quick]

--quick leaves out verify, and makes less of the rest. Needs `make all` and test_forgeries.
"""
import argparse
import ast
import copy
import glob
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM, FORGER = ROOT / "build/tileproof", ROOT / "build/release/tests/test_forgeries"
SOURCES = {name: (ROOT / f"tools/{name}.py").read_text() for name in ("recheck_steps", "recheck")}  # in order of import
HEADER = '{"tileproof_certificates":2}'
SECTION = {"section": "s", "sha256": "", "target": "tpu-v5e", "tool": "t", "command": "lint", "rules": [], "dtypes": []}
AT_ONCE = 100
# Each counts work in its own way: what only one of them can look at to the end is no difference.
TOO_MUCH = re.compile("takes too much work|too large to be checked")
# Limits, and what is asked of whole files: seen by whole_files.
UNTRIED = re.compile("too (large|much|many|deep)|list of its section|grade is cert|why")


def load(sources):
    """The checker that these texts are: its last module."""
    for name, source in sources.items():
        sys.modules[name] = checker = types.ModuleType(name)
        exec(compile(source, f"{name}.py", "exec"), checker.__dict__)
    return checker


def judged(checker, text):
    """What that checker says of one obligation's line: accepted, refused or unreadable, and why."""
    file = checker.File("row")
    try:
        row = checker.read_json(text.encode())
        checker.typed(row, dict)
        file.listed = [[row.get("spec"), row.get("obligation"), row.get("grade")]]
        file.refuse = lambda _, why: setattr(file, "why", str(why))
        file.why = None
        file.read_obligation(row)
        return ("refused", file.why) if file.why else ("accepted", "")
    except checker.Unreadable as e:
        return "unreadable", str(e)


def write(path, rows):
    """The lines as a file with one section, which lists them."""
    entries = [[row["spec"], row["obligation"], row["grade"]] for row in map(json.loads, rows)]
    section = json.dumps({**SECTION, "obligations": entries})
    path.write_text("\n".join([HEADER, section, *rows, ""]))


def recheck(path):
    """tileproof recheck: exit code, {line: reason} of what it refused, and all that it said."""
    done = subprocess.run([PROGRAM, "recheck", path], capture_output=True, text=True)
    refused = {int(m[1]): m[2] for m in re.finditer(r"^[^\n]*?:(\d+): .*?refused: (.*)$", done.stdout, re.M)}
    return done.returncode, refused, done.stdout + done.stderr


class Comparison:
    def __init__(self, folder):
        self.folder, self.checker, self.differences = folder, load(SOURCES), 0
        self.rows = []  # (text, was it accepted?): what planted defects have to be noticed by

    def differ(self, text, ours, theirs):
        self.differences += 1
        if self.differences <= 10:
            print(f"  DIFFERENT: tileproof recheck: {ours}; tools/recheck.py: {theirs}\n    {text[:2000]}")

    def hold(self, what, verdicts):
        """verdicts: (text, accepted by tileproof?, its reason)."""
        accepted = total = alone = 0
        for text, ok, why in verdicts:
            theirs, reason = judged(self.checker, text)
            total += 1
            if ok != (theirs == "accepted") and TOO_MUCH.search(reason or why):
                alone += 1
                continue
            accepted += ok
            if ok != (theirs == "accepted"):
                self.differ(text, "accepted" if ok else why, theirs + " " + reason)
            self.rows.append((text, ok))
        rest = f", {alone} too much work for one of them" if alone else ""
        print(f"{what}: {total} certificates, {accepted} accepted and {total - accepted - alone} refused by both{rest}"
              if not self.differences else f"{what}: {self.differences} differences so far", flush=True)
        return total

    def same_file(self, what, path, quiet=False):
        """Files as they were written: counts, refusals and exit codes."""
        ours, refused, said = recheck(path)
        theirs = subprocess.run([sys.executable, ROOT / "tools/recheck.py", path], capture_output=True, text=True)
        lines = {int(m[1]) for m in re.finditer(r"^[^\n]*?:(\d+): .*?refused: ", theirs.stdout, re.M)}
        if ours != theirs.returncode or lines != set(refused):
            self.differ(what, f"exit {ours}: {said[:300]}", f"exit {theirs.returncode}: {theirs.stderr[:300]}")
        if quiet:
            return
        print(f"{what}: {theirs.stdout.splitlines()[-1].split(': ', 1)[1] if theirs.stdout else 'unreadable'}, by both",
              flush=True)

    def same_rows(self, what, rows):
        """Lines in files of their own, tileproof first: one that cannot be read ends a file; the rest stands in the next."""
        verdicts, rows = [], list(rows)
        while rows:
            path, part = self.folder / "many.certs", rows[:AT_ONCE]
            write(path, part)
            code, refused, said = recheck(path)
            if code == 3:
                end = re.search(rf"^tileproof: {re.escape(str(path))}:(\d+):", said, re.M)
                part = part[:int(end[1]) - 2]
                refused[len(part) + 2] = said[end.end():]
            verdicts += [(text, n not in refused, refused.get(n, "")) for n, text in enumerate(part, 3)]
            rows = rows[len(part):]
        return self.hold(what, verdicts)


def whole_files(c):
    """Files that are wrong, or incomplete, as a whole."""
    row = {"spec": "s", "obligation": "o", "grade": "cert", "nodes": [["const", 1]], "variables": [], "premises": [],
           "goal": 1, "proof": {"by": "points"}}
    listed, good, false = [["s", "o", "cert"]], json.dumps(row), json.dumps({**row, "nodes": [["const", 0]]})
    bare, solver = json.dumps({**row, "proof": None}), json.dumps({**row, "proof": None, "grade": "z3"})
    section = lambda entries: json.dumps({**SECTION, "obligations": entries})
    for what, lines in {
            "empty": [], "a header alone": [HEADER], "another header": ["{}"], "format 1": ['{"tileproof_certificates":1}'],
            "a section without obligations": [HEADER, section([])], "one good": [HEADER, section(listed), good],
            "no section": [HEADER, good], "one false": [HEADER, section(listed * 2), false, good],
            "one missing": [HEADER, section(listed * 2), good], "one more": [HEADER, section(listed), good, good],
            "one missing before a section": [HEADER, section(listed * 2), good, section(listed), good],
            "without its proof": [HEADER, section(listed), bare],
            "a solver's word": [HEADER, section([["s", "o", "z3"]]), solver],
            "another grade": [HEADER, section(listed), solver], "a blank line": [HEADER, section(listed), good, ""],
            "no JSON": [HEADER, section(listed), "{"], "a key twice": [HEADER, section(listed), '{"spec":"s",' + good[1:]],
            "a key too many": [HEADER, section(listed), '{"x":"s",' + good[1:]],
            "a number with a point": [HEADER, section(listed), good.replace('"goal": 1', '"goal": 1.0')],
            "a deep value": [HEADER, section(listed), "[" * 100_000],
            "a number of 65 bits": [HEADER, section(listed), good.replace('["const", 1]', f'["const", {2**63}]')],
    }.items():
        path = c.folder / "whole.certs"
        path.write_text("".join(line + "\n" for line in lines))
        c.same_file(f"file, {what}", path, quiet=True)


def obligations(path):
    """The lines of obligations that have a proof."""
    return [l for l in path.read_text().splitlines()[1:] if '"proof":{' in l and '"derivation"' not in l]


# ---- texts, changed


def places(value, path=()):
    """Every place inside a value: (path, what stands there)."""
    yield path, value
    for key, inner in value.items() if type(value) is dict else enumerate(value) if type(value) is list else ():
        yield from places(inner, path + (key,))


def changed(rng, row):
    row = copy.deepcopy(row)
    part = rng.choice(["nodes", "variables", "premises", "goal", "proof", "proof", "proof"])
    path, value = rng.choice([p for p in places(row[part], (part,)) if len(p[0]) > 1 or part == "goal"] or [((part,), row[part])])
    at = row
    for key in path[:-1]:
        at = at[key]
    key, n = path[-1], len(row["nodes"])
    if type(value) is int:
        at[key] = rng.choice([value + 1, value - 1, -value, 0, 1, rng.randint(1, n), rng.randint(1, n), 2**rng.randint(3, 62)])
    elif type(value) is str and part == "nodes":
        at[key] = rng.choice(["+", "-", "*", "//", "%", "cdiv", "align_up", "min", "max", "<", "<=", ">", ">=", "==", "!=",
                              "and", "or", "implies", "&", "|", "^", "<<", ">>", "not", "next_power_of_2", "if", value + "'"])
    elif type(value) is str:
        at[key] = rng.choice(["refute", "split", "lines", "points", "absurd", "lower", "upper", "fact", "cancel"])
    elif type(value) is list and value:
        i, j = rng.randrange(len(value)), rng.randrange(len(value))
        how = rng.randrange(4)
        if how == 0:
            del value[i]
        elif how == 1:
            value.insert(i, copy.deepcopy(value[j]))
        elif how == 2:
            value[i], value[j] = value[j], value[i]
        else:
            value[i] = copy.deepcopy(value[j])
    elif type(value) is dict and rng.random() < 0.3:
        value.pop(rng.choice(list(value)), None) if rng.random() < 0.7 else value.update({rng.choice(["by", "choices", "cases"]): [1]})
    elif type(value) is dict and "by" in value:
        at[key] = rng.choice([None, {"by": "points"}, {"by": "refute", "cases": [value]}] + value.get("cases", []))
    else:
        at[key] = rng.choice([None, rng.randint(1, n)])
    return row


def mutants(rng, rows, count):
    rows = [json.loads(r) for r in rows if len(r) < 6000]
    for _ in range(count):
        row = rng.choice(rows)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            row = changed(rng, row)
        yield json.dumps(row)


# ---- planted defects


def planted():
    """(what is planted, the checker's texts with it)."""
    for name, old, new in json.loads((ROOT / "tests/checker/defects.json").read_text()):
        if sum(source.count(old) for source in SOURCES.values()) != 1:
            sys.exit(f"tests/checker/defects.json: {name}: not one place has: {old}")
        yield name, {module: source.replace(old, new) for module, source in SOURCES.items()}
    for module, source in SOURCES.items():
        lines = source.splitlines(keepends=True)
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "need":
                why = ast.unparse(node.value.args[1])
                if not UNTRIED.search(why):
                    without = [" " * node.col_offset + "pass\n"]
                    yield (f"{module}.py:{node.lineno}: nobody asks whether {ast.unparse(node.value.args[0])}",
                           {**SOURCES, module: "".join(lines[:node.lineno - 1] + without + lines[node.end_lineno:])})


def noticed(sources, rows):
    """The first line that a checker with a defect judges otherwise, or breaks at."""
    try:
        checker = load(sources)
        for text, ok in rows:
            if (judged(checker, text)[0] == "accepted") != ok:
                return text
    except Exception as e:  # whatever it is, it is noticed
        return repr(e)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20_500, help="random obligations; about half are proven")
    parser.add_argument("--mutants", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    o = parser.parse_args()
    print(f"seed {o.seed}, {o.trials} random obligations, {o.mutants} changed texts", flush=True)
    with tempfile.TemporaryDirectory() as name:
        return compare(o, pathlib.Path(name))


def compare(o, folder):
    c, pool = Comparison(folder), []
    kernels = sorted(glob.glob(str(ROOT / "examples/*/*.tile.json")))
    whole = [k for k in kernels if "/broken/" not in k]
    others = lambda pattern: sorted(glob.glob(str(ROOT / "tests" / pattern)))
    for what, command, specs in (("gallery, lint", "lint", kernels), ("gallery, verify", "verify", whole),
                                 ("rules' examples", "lint", others("rules/*/*.tile.json")),
                                 ("copies in flight", "lint", others("copies/*.tile.json")),
                                 ("masked loads and stores", "lint", others("semantics/masked_*.tile.json")),
                                 ("equality", "verify", others("equality/alias_*.tile.json"))):
        if command == "verify" and o.quick:
            continue
        path = folder / "written.certs"
        subprocess.run([PROGRAM, command, "--certificates", path, *specs], capture_output=True)
        c.same_file(what, path)
        pool += obligations(path)
    whole_files(c)
    c.same_rows("written by hand", [json.dumps(row) for _, row in hand_made()])
    for (what, row), (_, ok) in zip(hand_made(), c.rows):
        if ok:
            c.differ(json.dumps(row), "accepted", f"a forgery: {what}")
    environment = {**os.environ, "TEST_SEED": str(o.seed), "TEST_TRIALS": str(o.trials), "TEST_CERTIFICATES": str(folder)}
    done = subprocess.run([FORGER], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    c.same_file("random obligations", folder / "proven.certs")
    proven = obligations(folder / "proven.certs")
    verdicts = (folder / "forged.verdicts").read_text().splitlines()
    c.hold("forgeries", [(text, v == "accepted", v) for text, v in
                         zip((folder / "forged.certs").read_text().splitlines()[2:], verdicts, strict=True)])
    rng = random.Random(o.seed)
    c.same_rows("changed texts", mutants(rng, rng.sample(pool, min(len(pool), 3000)) + rng.sample(proven, min(len(proven), 3000)), o.mutants))
    if c.differences:
        sys.exit(f"{c.differences} differences")
    rows, unnoticed, count = c.rows, [], 0
    for what, sources in planted():
        count += 1
        if noticed(sources, rows) is None:
            unnoticed.append(what)
    print(f"defects planted into tools/recheck.py: {count - len(unnoticed)} of {count} noticed")
    for what in unnoticed:
        print("  not noticed:", what)
    return 1 if unnoticed else 0


def hand_made():
    return [(r["what"], r["row"]) for r in json.loads((ROOT / "tests/checker/forged.json").read_text())]


if __name__ == "__main__":
    sys.exit(load(SOURCES).with_room(main))
