#!/usr/bin/env python3
"""A search for slow specs: fuzz_slow.py TILEPROOF LOG [--seed N] [--seconds S] [--timeout T]

Climbs from specs of the tree and from made ones to slower ones, by changes that
repeat, nest and enlarge: what costs `lint --timeout T` the most CPU seconds, of
the program and its children. The slowest ones are then linted with the default
timeout. Fails where one costs more than twice that, or is ended by nothing but
the watchdog behind the budgets, which means that some work is not counted.
A line of LOG: commit, seed, specs, T, the most CPU seconds at T, at how many the
hard stop ended and at how many the watchdog, CPU seconds of the slowest at the
default timeout. They lie in build/slow.
"""
import argparse
import copy
import glob
import json
import os
import random
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fuzz_processes

DEFAULT_TIMEOUT = 10  # of lint
WATCHDOG = b"stopped at twice the CPU seconds"
STOP = b"unknown(time)"
OPS = ["+", "-", "*", "//", "%", "&", "^", "|", "<<", ">>"]
RELATIONS = ["<=", "!=", "==", "<"]


def names_of(spec):
    axes = [a["axis"] for a in spec.get("grid", []) if isinstance(a, dict) and isinstance(a.get("axis"), str)]
    return axes, [*spec.get("sizes", {})] if isinstance(spec.get("sizes"), dict) else []


def expression(rng, names, depth):
    if depth <= 0 or not names:
        return str(rng.choice(names + [rng.randrange(1, 9)]) if names else rng.randrange(1, 9))
    a, b = expression(rng, names, depth - 1), expression(rng, names, depth - 1 - rng.randrange(2))
    return f"cdiv({a}, {b})" if rng.randrange(9) == 0 else f"({a} {rng.choice(OPS)} {b})"


def grow(rng, spec):
    """One change that makes a spec larger, where there is something to enlarge."""
    axes, sizes = names_of(spec)
    operands = [o for side in ("inputs", "outputs") for o in spec.get(side, []) if isinstance(o, dict)]
    kind = rng.randrange(12)
    if kind == 0 and operands:
        o = rng.choice(operands)
        if o.get("index_map"):
            d = rng.randrange(len(o["index_map"]))
            deeper = expression(rng, axes + sizes, rng.randrange(1, 4))
            o["index_map"][d] = rng.choice([deeper, f"({o['index_map'][d]} {rng.choice(OPS)} {deeper})"])
    elif kind == 1:
        a, b = (expression(rng, sizes, rng.randrange(1, 4)) for _ in range(2))
        spec.setdefault("where", []).append(f"{a} {rng.choice(RELATIONS)} {b}")
    elif kind == 2 and isinstance(spec.get("sizes"), dict):
        n = len(sizes)
        spec["sizes"][f"S{n}"] = rng.choice([{"min": 1}, {"min": 1, "max": 10**rng.randrange(1, 9)}, {"in": [*range(1, rng.randrange(3, 60))]},
                                             {"min": 8, "multiple_of": 8}, {"min": 2, "multiple_of": 3}])
    elif kind == 3 and sizes and len(axes) < 6:
        spec.setdefault("grid", []).append({"axis": f"a{len(axes)}", "steps": expression(rng, sizes, 1), "semantics": "arbitrary"})
    elif kind == 4 and spec.get("kernel"):
        body = spec["kernel"]
        at = rng.randrange(len(body))
        pad = body[at][:len(body[at]) - len(body[at].lstrip())] if isinstance(body[at], str) else ""
        head = rng.choice([f"if {expression(rng, axes + sizes, 2)} == {expression(rng, axes, 1)}:",
                           f"for t{at} in range(0, {rng.choice(['64', '1000', *sizes])}):"])
        body[at:at + 1] = [pad + head, "    " + str(body[at])]
    elif kind == 5 and spec.get("kernel"):
        body = spec["kernel"]
        lo = rng.randrange(len(body))
        body[lo:lo] = copy.deepcopy(body[lo:lo + rng.randrange(1, 4)])
    elif kind == 6 and sizes:
        tables = spec.setdefault("scalar_prefetch", [])
        tables.append({"name": f"t{len(tables)}x", "dtype": "int32", "shape": [rng.choice(sizes)],
                       "values": {"min": 0, "max": expression(rng, sizes, 1)}})
    elif kind == 7 and spec.get("scalar_prefetch") and sizes:
        t, u = (rng.choice(spec["scalar_prefetch"])["name"] for _ in range(2))
        n = rng.choice(sizes)
        spec.setdefault("contracts", []).append(
            {"id": f"C{len(spec['contracts']) if 'contracts' in spec else 0}",
             "fact": rng.choice([f"forall p < {n}: {t}[p] {rng.choice(RELATIONS)} {u}[p] + 1", f"forall p < {n} - 1: {t}[p] <= {t}[p + 1]",
                                 f"forall p < {n}, q < {n}: {t}[p] != {u}[q] + 1"])})
    elif kind == 8 and operands and spec.get("scalar_prefetch") and axes:
        o, t = rng.choice(operands), rng.choice(spec["scalar_prefetch"])["name"]
        if o.get("index_map"):
            d = rng.randrange(len(o["index_map"]))
            o["index_map"][d] = f"{t}[{rng.choice([rng.choice(axes), o['index_map'][d]])}]"
    elif kind == 9 and operands:
        side = rng.choice([s for s in ("inputs", "outputs") if spec.get(s)])
        o = copy.deepcopy(rng.choice(spec[side]))
        o["name"] = f"{o.get('name')}_{len(operands)}"
        spec[side].append(o)
    elif kind == 10 and isinstance(spec.get("sizes"), dict) and sizes:
        spec["sizes"][rng.choice(sizes)] = rng.choice([{"min": 1}, {"min": 1, "max": 10**rng.randrange(1, 9)}, {"in": [*range(1, 40)]}])
    else:
        fuzz_processes.change(rng, spec)


BASE = {"tileproof": 1, "name": "slow", "target": "none", "sizes": {s: {"min": 1} for s in "ABC"}, "where": [],
        "grid": [{"axis": a, "steps": s, "semantics": "arbitrary"} for a, s in zip("ijk", "ABC")],
        "inputs": [{"name": "x", "dtype": "float32", "shape": ["8 * A", "128 * B"], "block_shape": [8, 128], "index_map": ["i", "j"]}],
        "outputs": [{"name": "o", "dtype": "float32", "shape": ["8 * A", "128 * B"], "block_shape": [8, 128], "index_map": ["i", "j"]}],
        "kernel": ["o[...] = x[...]"], "reference": ["o = x"]}


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (60, 62))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def cost(program, spec, options):
    """CPU seconds of lint, its exit code, and what it says."""
    with tempfile.NamedTemporaryFile("w", suffix=".tile.json") as f:
        json.dump(spec, f)
        f.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        p = subprocess.run([program, "lint", "-j", "1", "--config", "none", *options, f.name], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, preexec_fn=limits)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, p.returncode, p.stdout


class Search:
    def __init__(self, program, seed, timeout, sources):
        self.program, self.rng, self.timeout, self.sources = program, random.Random(seed), timeout, sources
        self.options = ["--timeout", str(timeout)]
        self.specs = self.stops = self.dogs = self.crashes = 0
        self.slowest = []  # (CPU seconds, spec), the most first
        self.odd = []

    def measure(self, spec):
        cpu, code, said = cost(self.program, spec, self.options)
        self.specs += 1
        self.stops += STOP in said
        dog = WATCHDOG in said
        self.dogs += dog
        if dog or code not in range(5):
            self.crashes += not dog
            self.odd.append(spec)
        return cpu, code

    def climb(self, stuck=40):
        """From one spec upwards, until nothing is slower."""
        rng = self.rng
        best = copy.deepcopy(BASE) if rng.randrange(3) == 0 else json.loads(rng.choice(self.sources))
        most, _ = self.measure(best)
        tries = 0
        while tries < stuck and most < 2.5 * self.timeout and not self.over():
            spec = copy.deepcopy(best)
            for _ in range(rng.choice([1, 1, 2, 4])):
                try:
                    grow(rng, spec)
                except (KeyError, TypeError, AttributeError, IndexError, ValueError):
                    pass  # the change wants another shape than earlier ones left
            if len(json.dumps(spec)) > 16384:
                tries += 1
                continue
            cpu, code = self.measure(spec)
            tries += 1
            if code != 3 and cpu > most * 0.97:
                tries = 0 if cpu > most * 1.03 else tries
                best, most = spec, max(most, cpu)
        self.slowest = sorted(self.slowest + [(most, best)], key=lambda s: -s[0])[:5]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("log")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--seconds", type=int, default=60)
    p.add_argument("--timeout", type=int, default=1)
    o = p.parse_args()
    sources = [open(f).read() for pattern in ("tests/hostile/*.tile.json", "examples/*/*.tile.json", "tests/rules/*/*.tile.json")
               for f in sorted(glob.glob(pattern)) if os.path.getsize(f) < 6000]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip() or "unknown"
    end = os.times().elapsed + o.seconds
    s = Search(os.path.abspath(o.program), o.seed, o.timeout, sources)
    s.over = lambda: os.times().elapsed > end
    while not s.over():
        s.climb()
    at_default = [cost(s.program, spec, [])[0] for _, spec in s.slowest]
    os.makedirs("build/slow", exist_ok=True)
    for i, spec in enumerate([spec for _, spec in s.slowest] + s.odd[:20]):
        with open(f"build/slow/{o.seed}-{i}.tile.json", "w") as f:
            json.dump(spec, f)
    line = (f"{commit} {o.seed} {s.specs} {o.timeout} {s.slowest[0][0]:.2f} {s.stops} {s.dogs} {max(at_default):.2f}")
    if max(at_default) > 2 * DEFAULT_TIMEOUT or s.odd:
        print(f"fuzz_slow: {line}: {s.dogs} ended by the watchdog alone, {s.crashes} by something else; see build/slow/{o.seed}-*")
        return 1
    with open(o.log, "a") as f:
        f.write(line + "\n")
    print(f"fuzz_slow: {s.specs} specs; the slowest took {s.slowest[0][0]:.2f} CPU seconds of {o.timeout}, and {max(at_default):.2f} of "
          f"{DEFAULT_TIMEOUT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
