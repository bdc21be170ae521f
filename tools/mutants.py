#!/usr/bin/env python3
"""Are the tests strong enough to notice a wrong prover?

Plants small defects into the rules, the analysis of bodies and the prover, one
at a time, builds, and runs the tests until one fails, or until a random test
counts other verdicts for its fixed seed than it did without the defect (proven,
violated, unknown, certified). Survivors are listed; those of tools/mutants.equivalent
were read and found to be no defects (FILE, line, line as changed, why): they are
counted apart, and built only with --all.

    mutants.py [--count 200] [--seed 1] [--jobs 1] [--only FILE...] [--all] [--survivors]

A test that never executes the line cannot notice: one run of each test with the
judged files instrumented (gcov) says which do. A change that the compiler turns into
the same code is no defect. A mutant costs one object and the link of what runs.

The test that is most likely to notice, for what it costs, goes first; the tests
of over 5 CPU seconds wait until all mutants met the cheaper ones. Limits are CPU
seconds, a multiple of what the test takes without a defect, so other load changes
no verdict; the wall limit is there for what waits for ever. Each verdict is a
line of build/mutants/SEED.log: a run that was stopped goes on from there while
the sources are the same. --survivors judges those of the log again, with the
tests as they are now.

Needs what `make test` needs. Works in copies of the tree under build/mutants.
Exit 1 when fewer than 95 % are killed.
"""

import argparse
import collections
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "mutants"
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
# What may notice, as binary, or binary:filter of its tests, or either with /PART: with the settings of that part, which cost less.
TESTS = ["oracle", "recheck", "certificates", "prover/few", "tables/few", "bodies/few", "instances/few", "verdicts/own", "prover", "tables",
         "bodies", "instances", "verdicts", "cli:rules_on_their_examples", "summary:random_bodies", "summary:pairs_of_programs", "summary:semantics",
         "summary:written_examples", "summary:gallery", "derivations", "flight", "box", "defects:look_*/lint", "defects:planted_*_of_copies_*/lint",
         "defects:planted_*_are_*/lint", "defects:*_are_*/verify", "workflow:the_cache_*", "workflow:diff_*", "fixes:fixes_say_*", "cli:second_solver"]
SETTINGS = {"certificates": {"TEST_TRIALS": "2500"}, "instances": {"TEST_TRIALS": "200"}, "tables": {"TEST_TRIALS": "80"},
            "prover": {"TEST_TRIALS": "2500"}, "summary": {"TEST_TRIALS": "400"},
            "defects/lint": {"TEST_COMMAND": "lint"}, "defects/verify": {"TEST_COMMAND": "verify", "TEST_EVERY": "10"},
            "prover/few": {"TEST_TRIALS": "400"}, "tables/few": {"TEST_TRIALS": "15"}, "bodies/few": {"TEST_TRIALS": "40"},
            "instances/few": {"TEST_TRIALS": "25"}}
SAME = "same code"  # a verdict: no test ran
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


@functools.cache
def sources():
    """What git has of the tree, and what it does not ignore."""
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True).stdout.split("\n")
    return sorted(f for f in files if f and (ROOT / f).is_file())


def digest(folders):
    """Of the files that decide a verdict: verdicts of other sources are not taken from the log."""
    h = hashlib.sha256()
    for f in sources():
        if f.split("/")[0] in folders:
            h.update(f.encode() + b"\0" + (ROOT / f).read_bytes() + b"\0")
    return h.hexdigest()[:16]


def children_cpu():
    """Of what this process started and waited for: right for one thing at a time."""
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def run(command, cwd, cpu, **env):
    """Exit code (negative: a signal, or nothing came for very long), what was counted, CPU seconds."""
    before = children_cpu()
    limits = f"ulimit -t {int(cpu)}; ulimit -v 6000000; ulimit -c 0; exec "
    p = subprocess.Popen(["sh", "-c", limits + command], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         text=True, errors="replace", start_new_session=True, env={**os.environ, **env})
    try:
        out, code = p.communicate(timeout=900 + 40 * cpu)[0], p.returncode
    except subprocess.TimeoutExpired:
        out, code = "", -signal.SIGALRM
    try:
        os.killpg(p.pid, signal.SIGKILL)  # what it started and left
    except ProcessLookupError:
        pass
    p.wait()
    return code, [m[0] for m in COUNTED.finditer(out)], children_cpu() - before


class Copy:
    """A built tree of its own. base: what each test counts there without a defect, what it costs, and the lines that it executes."""

    def __init__(self, number, base):
        self.path, self.base = WORK / str(number), base
        self.update()
        if run(f"make -s {FLAGS} all {' '.join(binaries())}", self.path, 1800)[0]:
            sys.exit("mutants: the tree does not build")
        # what make would do for each object and program; the first -o of a line names it
        lines = subprocess.run(f"make -nB {FLAGS} all {' '.join(binaries())}", shell=True, cwd=self.path, capture_output=True, text=True).stdout.split("\n")
        self.commands = {m[1]: line for line in lines if (m := re.search(r" -o (\S+)", line))}
        self.commands["archive"] = next(line for line in lines if "internal.a && " in line)
        self.linked = set()

    def update(self):
        """As the tree is; what is the same keeps its date, so that little is built."""
        wanted = set(sources())
        for old in self.path.rglob("*") if self.path.exists() else []:
            name = str(old.relative_to(self.path))
            if old.is_file() and not name.startswith("build/") and name not in wanted:
                old.unlink()
        for f in wanted:
            to, text = self.path / f, (ROOT / f).read_bytes()
            if not to.exists() or to.read_bytes() != text:
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / f, to)

    def compile(self, name, flags=""):
        return run(f"env CCACHE_DISABLE=1 {self.commands[object_of(name)]} {flags}", self.path, 600)[0] == 0

    def link(self, t, flags=""):
        """What the test runs, if that is not done since the last object was compiled."""
        binary = binary_of(t)
        if not self.linked:
            self.linked.add("archive")
            run(f"sh -c '{self.commands['archive']}'", self.path, 600)
        for program in [binary, PROGRAM] if PROGRAM.encode() in (self.path / f"{binary}.o").read_bytes() else [binary]:
            if program not in self.linked:
                self.linked.add(program)
                if run(f"{self.commands[program]} {flags}", self.path, 600)[0]:
                    sys.exit(f"mutants: {program} cannot be linked")

    def test(self, t, name):
        """name: the file with the defect, "" without one."""
        binary, _, only = t.partition("/")[0].partition(":")
        part = t.partition("/")[2]
        env = SETTINGS.get(f"{binary}/{part}" if part else binary, {}) | ({"TEST_ONLY": only} if only else {})
        if t == "verdicts/own":
            env = {"TEST_SPECS": own_specs(name)}
        cpu = 20 + 5 * self.base[t]["cpu"] if t in self.base else 900
        return run(binary_of(t), self.path, cpu, **env)

    def measure(self):
        """The tests without a defect, the judged files instrumented."""
        for name in judged():
            self.compile(name, "-Og --coverage")
        self.linked = set()
        for t in TESTS:
            for old in self.path.rglob("*.gcda"):
                old.unlink()
            self.link(t, "--coverage")
            code, counts, cpu = self.test(t, "")
            if code:
                sys.exit(f"mutants: test_{t} fails as it is")
            self.base[t] = {"counts": counts, "cpu": cpu, "lines": self.executed()}
            print(f"mutants: test_{t} takes {cpu:.1f} CPU s", flush=True)
        for name in judged():
            self.compile(name)
        self.linked = set()

    def executed(self):
        """By file: lines that were executed, lines with a counter that were not, and functions as [first, last]."""
        out = {}
        for name in judged():
            data = (self.path / object_of(name)).with_suffix(".gcda")
            if data.exists():
                text = subprocess.run(["gcov", "-t", "--json-format", data], cwd=self.path, capture_output=True, text=True).stdout
                here = [f for f in json.loads(text)["files"] if f["file"] == name]
                rows = [row for f in here for row in f["lines"]]
                hit = {row["line_number"] for row in rows if row["count"] > 0}
                out[name] = {"hit": sorted(hit), "missed": sorted({row["line_number"] for row in rows} - hit),
                             "functions": [[x["start_line"], x["end_line"]] for f in here for x in f["functions"]]}
        return out

    def judge(self, mutant, order):
        """(the test that kills it, "" when it survives, None when it does not compile, SAME; the tests that ran)"""
        name, number, changed = mutant
        path, obj = self.path / name, self.path / object_of(name)
        original, pristine = path.read_text(), obj.read_bytes()
        lines = original.split("\n")
        lines[number] = re.sub(r"flow_first\(f, ([^,()]+(?:\([^()]*\))?), .*", r"(\1);", changed)
        ran = []
        try:
            path.write_text("\n".join(lines))
            if not self.compile(name):
                return None, ran
            if obj.read_bytes() == pristine:
                return SAME, ran
            self.linked = set()
            for t in order:
                self.link(t)
                code, counts, _ = self.test(t, name)
                ran.append(t)
                if code or counts != self.base[t]["counts"]:
                    return t, ran
            return "", ran
        finally:
            path.write_text(original)
            obj.write_bytes(pristine)


PROGRAM = "build/release/tileproof"
FLAGS = "CFLAGS='-w -g0'" + (" LDFLAGS=-fuse-ld=lld" if shutil.which("ld.lld") else "")


def binary_of(t):
    return f"build/release/tests/test_{re.split('[:/]', t)[0]}"


def binaries():
    return sorted({binary_of(t) for t in TESTS})


def object_of(name):
    return "build/release/" + name.removesuffix(".c") + ".o"


def judged():
    return [str(path.relative_to(ROOT)) for pattern in FILES for path in sorted(ROOT.glob(pattern))]


def reaches(base, t, mutant):
    """Does the test execute the line? A line without a counter: those beside it that have one. Outside of functions: who knows."""
    name, line = mutant[0], mutant[1] + 1
    seen = base["verdicts" if t == "verdicts/own" else t]["lines"].get(name)
    if seen is None:
        return False  # nothing of the file
    inside = next((f for f in seen["functions"] if f[0] <= line <= f[1]), None)
    if not inside:
        return True
    hit, rows = set(seen["hit"]), sorted(n for n in seen["hit"] + seen["missed"] if inside[0] <= n <= inside[1])
    beside = [n for n in rows if n < line][-1:] + [n for n in rows if n > line][:1]
    return any(n in hit for n in ([line] if line in rows else beside))


def own_specs(name):
    """The examples of the rule that a file holds; the gallery for any other file."""
    slug = re.sub(r"^tp\d+_", "", pathlib.Path(name).stem).replace("_", "-")
    return f"tests/rules/{slug}" if slug and (ROOT / "tests" / "rules" / slug).is_dir() else "examples"


def likeliest(name, log, base):
    """Tests by how often they noticed something for what they cost: in this file, in its folder, anywhere. A test that
    ran and noticed nothing counts against itself."""
    noticed, ran = collections.Counter(), collections.Counter()
    for m in log.values():
        weight = 8 if m["file"] == name else 3 if pathlib.Path(m["file"]).parent == pathlib.Path(name).parent else 1
        for t in m["ran"]:
            ran[t] += weight
        noticed[m["by"]] += weight
    return sorted(TESTS, key=lambda t: -(noticed[t] + 1) / (ran[t] + 2) / (base[t]["cpu"] + 0.3))


class Log:
    """Verdicts by mutant, one JSON object a line; the first line says of which sources. base.json has what the tests do
    without a defect, of these sources and tests."""

    def __init__(self, seed, again):
        self.path, self.verdicts, self.base = WORK / f"{seed}.log", {}, {}
        self.head = {"sources": digest({"analyzer", "smt", "spec", "base"})}
        self.about = self.head | {"tests": digest({"tests", "examples", "kernels", "cli", "verify"}), "names": TESTS}
        kept = [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []
        if kept and kept[0] == self.head:
            self.verdicts = {m["key"]: m for m in kept[1:] if not (again and m["by"] == "")}
        if (WORK / "base.json").exists():
            base = json.loads((WORK / "base.json").read_text())
            self.base = base["tests"] if base["about"] == self.about else {}

    def begin(self, base):
        self.base = base
        (WORK / "base.json").write_text(json.dumps({"about": self.about, "tests": base}))
        self.file = self.path.open("w")
        self.write(self.head)
        for m in self.verdicts.values():
            self.write(m)

    def write(self, row):
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()

    def add(self, mutant, by, ran, cpu):
        key, before = key_of(mutant), self.verdicts.get(key_of(mutant), {"ran": [], "cpu": 0})
        self.verdicts[key] = {"key": key, "file": mutant[0], "by": by, "ran": before["ran"] + ran, "cpu": round(before["cpu"] + cpu, 1)}
        self.write(self.verdicts[key])

    def needs(self, mutant, tests):
        """Those of the tests that may notice it and have not been asked; None: it was not even compiled."""
        m = self.verdicts.get(key_of(mutant))
        if m and m["by"] != "":
            return []
        rest = [t for t in tests if reaches(self.base, t, mutant) and not (m and t in m["ran"])]
        return rest if rest or m else None


def key_of(mutant):
    """An edit elsewhere in the file moves none."""
    return f"{mutant[0]} {line_of(mutant)} {mutant[2].strip()}"


def judge_all(places, count, read, tests, log, copies, jobs):
    """The first `count` of the places that compile, each judged by these tests; those that were read are not."""
    def one(mutant, needed):
        copy = copies.get()
        try:
            before = children_cpu()
            order = [t for t in likeliest(mutant[0], dict(log.verdicts), copy.base) if t in (needed or [])]
            return mutant, *copy.judge(mutant, order), children_cpu() - before
        finally:
            copies.put(copy)

    sample, waiting, next_place = [], set(), iter(places)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        while len(sample) + len(waiting) < count or waiting:
            m = next(next_place, None) if len(waiting) < jobs and len(sample) + len(waiting) < count else None
            if m in read:
                sample.append(m)
            elif m and (needed := log.needs(m, tests)) != []:
                waiting.add(pool.submit(one, m, needed))
            elif m:
                if log.verdicts.get(key_of(m), {"by": ""})["by"] is not None:
                    sample.append(m)
            elif waiting:
                done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
                for f in done:
                    mutant, by, ran, cpu = f.result()
                    log.add(mutant, by, ran, cpu)
                    if by is not None:
                        sample.append(mutant)
                        word = by or ("open" if log.needs(mutant, TESTS) else "SURVIVES")
                        print(f"{len(sample):4} {word}  {cpu:.0f} s  {mutant[0]}:{mutant[1] + 1}: {mutant[2].strip()}", flush=True)
            else:
                break
    return sample


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--survivors", action="store_true")
    o = parser.parse_args()
    start = time.time()
    places = candidates(o.only)
    places.sort(key=lambda m: hashlib.sha256(f"{o.seed} {key_of(m)}".encode()).digest())
    rows = equivalents()
    exists = {key_of(m) for m in candidates(None)}
    for stale in (r for r in rows if f"{r[0]} {r[1]} {r[2]}" not in exists):
        print(f"mutants: tools/mutants.equivalent speaks of a line that is no more: {stale[0]}: {stale[1]} -> {stale[2]}")

    def known(m):
        return rows.get((m[0], line_of(m), m[2].strip()))

    WORK.mkdir(parents=True, exist_ok=True)
    log, copies = Log(o.seed, o.survivors), queue.Queue()
    for n in range(o.jobs):
        copies.put(copy := Copy(n, log.base))
        if n == 0 and not log.base:
            copy.measure()
    log.begin(log.base)
    print(f"mutants: {len(places)} places, seed {o.seed}, {len(log.verdicts)} in the log; ready after {time.time() - start:.0f} s; "
          f"all tests take {sum(b['cpu'] for b in log.base.values()):.0f} CPU s", flush=True)
    cheap = [t for t in TESTS if log.base[t]["cpu"] < 5]
    read = set() if o.all else {m for m in places if known(m)}
    sample = judge_all(places, o.count, read, cheap, log, copies, o.jobs)
    judge_all(sample, len(sample), read, TESTS, log, copies, o.jobs)
    judged_as = {m: log.verdicts.get(key_of(m), {"by": "", "cpu": 0}) for m in sample}
    why = {m: known(m) if judged_as[m]["by"] == "" else "compiles to the same code" for m in sample if judged_as[m]["by"] in ("", SAME)}
    survivors = [m for m in why if not why[m]]
    by = collections.Counter(v["by"] for v in judged_as.values() if v["by"] not in ("", SAME))
    for m in sorted(m for m in why if why[m]):
        print(f"no defect {m[0]}:{m[1] + 1}: {m[2].strip()}   ({why[m]})")
    for m in sorted(survivors):
        print(f"survives  {m[0]}:{m[1] + 1}: {m[2].strip()}")
    killed, total = by.total(), by.total() + len(survivors)
    print("killed by " + ", ".join(f"{t} {n}" for t, n in by.most_common()))
    print(f"mutants: {killed} of {total} killed ({100 * killed / max(total, 1):.1f} %), {len(why) - len(survivors)} more are no defects; "
          f"{sum(v['cpu'] for v in judged_as.values()) / max(len(sample), 1):.1f} CPU s a mutant")
    sys.exit(killed < 0.95 * total)


if __name__ == "__main__":
    main()
