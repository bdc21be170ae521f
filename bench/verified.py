"""What `verify` costs beside 0.1.0, from whose commit it is built once, in build/bench/0.1.0: verified.py > verified.json

CPU time of whole processes, turn by turn, kernel by kernel: the specs that 0.1.0 had, as it had them; all of them, and
flash_attention alone. The cases that each runs are counted. Without that commit in git's history nothing is measured."""

import argparse
import json
import os
import pathlib
import subprocess
import sys

COMMIT = "a9a5499"  # the last of 0.1.0
ROOT = pathlib.Path(__file__).resolve().parent.parent
THEN = ROOT / "build" / "bench" / "0.1.0"


def build():
    """The program of 0.1.0; None where git does not have it, or this system cannot build it."""
    program = THEN / "build" / "tileproof"
    if not program.exists():
        THEN.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(["git", "-C", ROOT, "archive", COMMIT], capture_output=True)
        if archive.returncode:
            return None
        subprocess.run(["tar", "-x", "-C", THEN], input=archive.stdout, check=True)
        made = subprocess.run(["make", "-s", "-C", THEN, f"-j{os.cpu_count()}", "all"], env={k: v for k, v in os.environ.items() if k != "MAKEFLAGS"},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if made.returncode:
            return None
    return program


def verify(program, path, *options):
    """CPU seconds, and the cases that were executed."""
    before = os.times()
    done = subprocess.run([program, "verify", "--format", "json", "-j1", "--config", "none", *options, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    after = os.times()
    spec = json.loads(done.stdout)["specs"][0]
    return after.children_user - before.children_user + after.children_system - before.children_system, spec["equivalence"]["tested"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    o = parser.parse_args()
    then, now = build(), ROOT / "build" / "tileproof"
    if not then:
        sys.exit("verified: 0.1.0 cannot be built here; nothing is measured")
    specs = sorted(p.relative_to(THEN) for p in THEN.glob("examples/*/*.tile.json") if p.parent.name != "broken")
    turns = {str(p): [(verify(then, THEN / p), verify(now, THEN / p)) for _ in range(o.rounds)] for p in specs}
    rows = [("the examples", turns), ("`flash_attention`", {k: v for k, v in turns.items() if k.endswith("/flash_attention.tile.json")})]
    json.dump({"commit": COMMIT, "rows": [{
        "what": what, "then": [sum(t[i][0][0] for t in of.values()) for i in range(o.rounds)], "now": [sum(t[i][1][0] for t in of.values()) for i in range(o.rounds)],
        "cases_then": sum(t[0][0][1] for t in of.values()), "cases_now": sum(t[0][1][1] for t in of.values())} for what, of in rows]}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
