#!/usr/bin/env python3
"""Are the tests strong enough to notice a wrong prover?

Plants small defects into the rules, the analysis of bodies and the prover, one
at a time, builds, and runs the tests until one fails, or until a random test
counts other verdicts for its fixed seed than it did without the defect (proven,
violated, unknown, certified). Survivors are listed; those of tools/mutants.equivalent
were looked at and found to be no defects (FILE, line, line as changed, why), and are
counted apart.

    mutants.py [--count 200] [--seed 1] [--jobs 2] [--only FILE…]

Needs what `make test` needs. Works in copies of the tree under build/mutants.
Exit 1 when fewer than 95 % are killed.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = ["analyzer/rules/tp[12345]*.c", "analyzer/flow/*.c", "analyzer/claim/*.c", "analyzer/merge.c",
         "analyzer/analyze.c", "smt/trust/certificate.c", "smt/trust/bigpoly.c", "smt/prove.c",
         "smt/prepare.c", "smt/positivity.c", "smt/refute.c", "smt/interval.c"]

# What a careless author writes: (pattern, replacement).
OPERATORS = [
    (r"\bTP_E_LE\b", "TP_E_LT"), (r"\bTP_E_LT\b", "TP_E_LE"), (r"\bTP_E_GE\b", "TP_E_GT"), (r"\bTP_E_GT\b", "TP_E_GE"),
    (r"\bTP_E_AND\b", "TP_E_OR"), (r"\bTP_E_OR\b", "TP_E_AND"), (r"\bTP_E_ADD\b", "TP_E_SUB"), (r"\bTP_E_SUB\b", "TP_E_ADD"),
    (r"\bTP_E_FLOORDIV\b", "TP_E_CDIV"), (r"\bTP_E_CDIV\b", "TP_E_FLOORDIV"), (r"\bTP_E_MIN\b", "TP_E_MAX"),
    (r"\bboth\(a,", "either(a,"), (r"\beither\(a,", "both(a,"), (r"\bflow_and\(", "flow_first("),
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" && ", " || "), (r" \|\| ", " && "), (r"\(!", "("), (r" \+ 1\b", ""), (r" - 1\b", ""),
    (r"num\(a, 1\)", "num(a, 0)"), (r"num\(a, 0\)", "num(a, 1)"), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"\bcontinue;", ";"), (r"^(\s+)(premises\[.*\] = .*;|tp_push\(.*\);|.* [+|&]?= .*;)$", r"\1;"),
]


@functools.cache
def stripped_lines(name):
    return [line.strip() for line in (ROOT / name).read_text().split("\n")]


def line_of(mutant):
    """The line as it is; behind the one before it where the file has it more than once."""
    lines = stripped_lines(mutant[0])
    line = lines[mutant[1]]
    return line if lines.count(line) == 1 else f"{lines[mutant[1] - 1]} / {line}"


def equivalents():
    """(file, line, line as changed): why it is no defect."""
    rows = [line.split("\t") for line in (ROOT / "tools" / "mutants.equivalent").read_text().splitlines() if line and line[0] != "#"]
    return {(r[0], r[1], r[2]): r[3] for r in rows}


# Words, speed and limits: a change there is no defect of a verdict.
HARMLESS = re.compile(
    r"\bloc = |tp_message|tp_printf|print|op_name|tp_buf|TP_S\(|TP_FMT|->(label|note|help|ms|reason|detail)|\.(ms|label|note|help|why|title|bad|good|jax|slug|code"
    r"|severity|hardware|per_dtype|check|proven|violated|subject|loc|rests_on)\b|stats\.|effort|budget|spend|MAX_|BUDGET|LIMIT|rlimit|scratch|arena_clear"
    r"|^\s*(//|/\*|\*|#|\})|static|typedef|struct|enum|close\(|poll|fds|waitpid|setrlimit|dup2|sigaction|for \("
    r"|TP_NEWN?\(|->done\b|rounds|->(linear|leaves|checks)\b")
# Nothing but words is made in functions of such names.
WORDS = re.compile(r"print|text|say|advise|advice|label|explain|describe|message|why")
# Binaries, with a filter of their tests behind a colon.
TESTS = ["oracle", "certificates", "bodies", "verdicts", "cli:rules_on_their_examples", "prover", "tables", "instances", "summary", "box",
         "defects:*_are_*", "workflow:the_cache_*", "cli:second_solver"]
SETTINGS = {"certificates": {"TEST_TRIALS": "2500"}, "instances": {"TEST_TRIALS": "200"}, "tables": {"TEST_TRIALS": "80"},
            "prover": {"TEST_TRIALS": "2500"}, "summary": {"TEST_TRIALS": "400"}, "defects": {"TEST_EVERY": "5"}}
COUNTED = re.compile(r"^(bodies|tables|prover|intervals|boxes|output boxes|aliases|instances)\b.*\d.*$", re.M)


def candidates(only):
    """Every place where an operator fits: (file, line, column, replacement text of the line)."""
    found = []
    for pattern in FILES:
        for path in sorted(ROOT.glob(pattern)):
            name = str(path.relative_to(ROOT))
            if only and name not in only:
                continue
            lines = path.read_text().split("\n")
            function, depth = "", 0  # depth of parentheses opened by a harmless line
            last = next((i for i, l in enumerate(lines) if l.startswith("const tp_rule ")), len(lines))
            comment = False
            for i, line in enumerate(lines[:last]):
                code = line.split("/*")[0]
                comment = ("/*" in line and "*/" not in line) or (comment and "*/" not in line)
                if m := re.match(r"[a-z].*?(\w+)\(", line):
                    function = m[1]
                if depth > 0 or HARMLESS.search(line):
                    depth = max(depth + code.count("(") - code.count(")"), 0)
                    continue
                if WORDS.search(function) or comment or HARMLESS.search(line) or '"' in line or not line.startswith("    "):
                    continue
                for before, after in OPERATORS:
                    for m in re.finditer(before, code):
                        changed = code[:m.start()] + m.expand(after) + code[m.end():]
                        if changed != code:
                            found.append((name, i, changed))
    return found


def run(command, cwd, seconds, **env):
    limit = "ulimit -v 6000000; exec " + command
    try:
        r = subprocess.run(["sh", "-c", limit], cwd=cwd, timeout=seconds, capture_output=True, text=True, env={**os.environ, **env})
        return r.returncode, [m[0] for m in COUNTED.finditer(r.stdout)]
    except subprocess.TimeoutExpired:
        return -1, []


class Copy:
    """A built tree of its own; counts: what the random tests count there without a defect."""

    def __init__(self, path, counts):
        self.path, self.counts = path, counts

    @classmethod
    def built(cls):
        path = ROOT / "build" / "mutants" / "0"
        shutil.rmtree(path.parent, ignore_errors=True)
        path.mkdir(parents=True)
        files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True).stdout.split("\n")
        for f in files:
            if f and (ROOT / f).exists():
                (path / f).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / f, path / f)
        first = cls(path, {})
        if run("make -j2 all " + first.binaries(), path, 600)[0]:
            sys.exit("mutants: the tree does not build")
        for t in TESTS:
            code, first.counts[t] = first.test(t)
            if code:
                sys.exit(f"mutants: test_{t} fails as it is")
        return first

    def again(self, number):
        path = self.path.parent / str(number)
        shutil.copytree(self.path, path)
        return Copy(path, self.counts)

    def test(self, t):
        name, _, only = t.partition(":")
        settings = SETTINGS.get(name, {}) | ({"TEST_ONLY": only} if only else {})
        return run(f"build/release/tests/test_{name}", self.path, 240, **settings)

    def notices(self, t):
        code, counts = self.test(t)
        return code != 0 or counts != self.counts[t]

    def binaries(self, names=TESTS):
        return " ".join(sorted({f"build/release/tests/test_{t.partition(':')[0]}" for t in names}))

    def judge(self, mutant):
        """Name of the test that kills it; "" when it survives, None when it does not compile."""
        name, number, changed = mutant
        path = self.path / name
        original = path.read_text()
        lines = original.split("\n")
        lines[number] = changed.replace("flow_first(", "flow_keep_first(")
        text = "\n".join(lines)
        if "flow_keep_first(" in text:
            lines[number] = re.sub(r"flow_keep_first\(f, ([^,()]+(?:\([^()]*\))?), .*", r"(\1);", lines[number])
            text = "\n".join(lines)
        try:
            path.write_text(text)
            if run("make all CFLAGS=-w", self.path, 120)[0]:
                return None
            for t in TESTS:
                if run(f"make CFLAGS=-w {self.binaries([t])}", self.path, 120)[0]:
                    return None
                if self.notices(t):
                    return t
            return ""
        finally:
            path.write_text(original)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*")
    o = parser.parse_args()
    start = time.time()
    places = candidates(o.only)
    places.sort(key=lambda m: hashlib.sha256(f"{o.seed} {m[0]} {line_of(m)} {m[2].strip()}".encode()).digest())  # an edit elsewhere moves none
    copies = queue.Queue()
    copies.put(first := Copy.built())
    for n in range(1, o.jobs):
        copies.put(first.again(n))
    print(f"mutants: {len(places)} places, seed {o.seed}; trees built after {time.time() - start:.0f} s", flush=True)

    def one(mutant):
        copy = copies.get()
        try:
            return mutant, copy.judge(mutant)
        finally:
            copies.put(copy)

    killed, survivors, by, same, known = 0, [], {}, [], equivalents()
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        waiting, next_place = set(), iter(places)
        while killed + len(survivors) + len(same) < o.count:
            while len(waiting) < o.jobs and (m := next(next_place, None)):
                waiting.add(pool.submit(one, m))
            if not waiting:
                break
            done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for f in done:
                mutant, verdict = f.result()
                if verdict is None:
                    continue
                if verdict:
                    killed += 1
                    if killed % 20 == 0:
                        minutes = (time.time() - start) / 60
                        print(f"  {killed} killed after {minutes:.0f} minutes, by {by}", flush=True)
                    by[verdict] = by.get(verdict, 0) + 1
                elif (why := known.get((mutant[0], line_of(mutant), mutant[2].strip()))):
                    same.append(mutant)
                    print(f"no defect {mutant[0]}:{mutant[1] + 1}: {mutant[2].strip()}   ({why})", flush=True)
                else:
                    survivors.append(mutant)
                    print(f"survives  {mutant[0]}:{mutant[1] + 1}: {mutant[2].strip()}", flush=True)
    total = killed + len(survivors)
    print("killed by " + ", ".join(f"{t} {n}" for t, n in sorted(by.items(), key=lambda x: -x[1])))
    print(f"mutants: {killed} of {total} killed ({100 * killed / max(total, 1):.1f} %), {len(same)} more are no defects, "
          f"in {(time.time() - start) / 60:.0f} minutes")
    sys.exit(killed < 0.95 * total)


if __name__ == "__main__":
    main()
