#!/usr/bin/env python3
"""Small defects in the gallery and in tests/kernels: who notices?

    mutation_score.py [--defects 40] [--seed 1] [--jobs 1] [SPEC...]

Runs `tileproof mutate` on one kernel at a time and prints a log: what was run,
the counts, every defect that was not noticed, a row per kernel. Each kernel's
answer is a file of build/score/: a run that was stopped goes on from there while
program and kernel are the same. $TILEPROOF is the program (build/tileproof).

Exit 1 when a kernel has no answer, or a proof is contradicted by an execution.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("TILEPROOF", ROOT / "build" / "tileproof")
FOLDERS = ["tests/kernels", "examples/elementwise", "examples/moe", "examples/reduction", "examples/matmul",
           "examples/sequence", "examples/attention"]  # dear kernels last
FATES = ["noticed", "proven_equal", "not_told_apart", "open", "survives"]


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:12]


def answer(spec, options, folder):
    """The document that mutate prints, with the CPU seconds that it took; None where it failed."""
    path = folder / f"{spec.replace('/', '-')}.{digest(ROOT / spec)}.json"
    if path.exists():
        return json.loads(path.read_text())
    command = [PROGRAM, "mutate", "--no-progress", "--config", "none", "--format", "json", "--defects", str(options.defects),
               "--seed", str(options.seed), spec]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 5):
        print(f"{spec}: exit code {child.returncode}", file=sys.stderr)
        return None
    document = json.loads(out)
    document["seconds"] = round(usage.ru_utime + usage.ru_stime)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(document))
    part.rename(path)
    return document


def version():
    said = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False)
    return said.stdout.strip() or f"program {digest(PROGRAM)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--defects", type=int, default=40, help="of each kernel, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="kernels at a time")
    parser.add_argument("specs", nargs="*", metavar="SPEC")
    options = parser.parse_args()
    specs = options.specs or [str(p.relative_to(ROOT)) for f in FOLDERS for p in sorted((ROOT / f).glob("*.tile.json"))]
    folder = ROOT / "build" / "score" / f"{digest(PROGRAM)}-{options.defects}-{options.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        answers = list(pool.map(lambda s: answer(s, options, folder), specs))
    rows = [(s, a["specs"][0], a["seconds"]) for s, a in zip(specs, answers) if a]
    total = {key: sum(row["counts"][key] for _, row, _ in rows) for key in FATES + ["planted", "invalid", "contradicted"]}
    others = total["planted"] - total["proven_equal"]

    print(f"# tools/mutation_score.py --defects {options.defects} --seed {options.seed}, {len(rows)} kernels, at {version()}")
    print(f"# {total['planted']} planted ({total['invalid']} more are no valid specs), {total['proven_equal']} proven equal for all "
          f"sizes; of the other {others} noticed {total['noticed']} "
          f"({int(10000 * total['noticed'] / others) / 100 if others else 100:.2f} %), not told apart {total['not_told_apart']}, "
          f"open {total['open']}, survived {total['survives']}; {sum(s for _, _, s in rows)} CPU seconds")
    for spec, row, _ in rows:
        for d in row["defects"]:
            if d["outcome"] != "noticed" or d["contradicted"]:
                outcome = "WRONGLY PROVEN EQUAL" if d["contradicted"] else d["outcome"].replace("_", " ")
                print(f"# {outcome}: {spec} line {d['line']}, {d['kind']}: {d['before']} -> {d['after']}"
                      + (f" [{d['says']}]" if d["says"] else "")
                      + (f" ({d['wider_runs']} wider runs)" if d["outcome"] == "not_told_apart" else ""))
    print(f"# {'kernel':44} planted noticed equal not-told-apart open survived seconds")
    for spec, row, seconds in rows:
        counts = row["counts"]
        print(f"{spec.removesuffix('.tile.json'):46} {counts['planted']:2} "
              + " ".join(f"{counts[key]:2}" for key in FATES) + f" {seconds:4}")
    return len(rows) < len(specs) or total["contradicted"] > 0


if __name__ == "__main__":
    sys.exit(main())
