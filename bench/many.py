#!/usr/bin/env python3
"""What many specs cost, and arrays beyond memory: many.py TILEPROOF SPECS [--count 10000] [--gib 6] > scale.md

SPECS is build/bench/specs, which writes distinct random specs. Times are of processors, of whole processes; memory is what
the system counts at most. Prints Markdown, and fails where reports that have to be the same bytes are not, or where a
run takes more anonymous memory than its limit.
"""
import argparse
import glob
import os
import pathlib
import resource
import statistics
import struct
import subprocess
import sys
import tempfile

OUR_LIMIT = 1 << 30  # of anonymous memory, for arrays that are larger


def run(command, limit=None, **more):
    """CPU seconds, MiB at most, and the exit code of a command."""
    def hold():
        if limit:  # private memory that can be written: not pages of files
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    with subprocess.Popen([str(a) for a in command], stderr=subprocess.DEVNULL, preexec_fn=hold, **more) as p:
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, p.returncode


def lint(program, *arguments, to=subprocess.DEVNULL):
    return run([program, "lint", "-q", "-j1", "--config", "none", *arguments], stdout=to)


def many(program, room, specs, count):
    report, shards = room / "one.json", [room / f"{i}.json" for i in range(1, 9)]
    with open(report, "wb") as f:
        seconds, mib, _ = lint(program, "--format", "json", "-o", f"sarif={room / 'one.sarif'}", specs, to=f)
    yield (f"- {count:,} distinct random specs in one call, reports in JSON and SARIF: {seconds:.0f} s of CPU, {count / seconds:.0f} specs per second and core, "
           f"{mib:.0f} MB at most.")
    for i, shard in enumerate(shards):
        with open(shard, "wb") as f:
            lint(program, "--format", "json", "--shard", f"{i + 1}/8", specs, to=f)
    with open(room / "merged.json", "wb") as f:
        _, mib, _ = run([program, "merge", *shards], stdout=f)
    same = (room / "merged.json").read_bytes() == report.read_bytes()
    yield f"- The same in eight shards, and `merge`: {'the same' if same else 'OTHER'} {report.stat().st_size >> 20} MB, {mib:.0f} MB of memory at most."
    if not same:
        raise SystemExit("many: merged shards are not the report of one call")


def cache(program, room, paths, what):
    key = room / "key"
    if not key.exists():
        run([program, "keygen", key], stdout=subprocess.DEVNULL)
    rounds = {"none": [], "cold": [], "warm": [], "whole": []}
    for _ in range(5):  # interleaved
        for f in room.glob("cache*"):
            f.unlink()
        sealed = ["--cache", room / "cache.whole", "--cache-key", key]
        rounds["none"].append(lint(program, *paths)[0])
        rounds["cold"].append(lint(program, "--cache", room / "cache", *paths)[0])
        rounds["warm"].append(lint(program, "--cache", room / "cache", *paths)[0])
        lint(program, *sealed, *paths)
        rounds["whole"].append(lint(program, *sealed, *paths)[0])
    none, cold, warm, whole = (statistics.median(rounds[k]) for k in ("none", "cold", "warm", "whole"))
    return (f"- {what}: {1000 * none / len(paths):.1f} ms a spec; a cold cache takes {cold / none:.2f} of that, a warm one {warm / none:.2f} with proofs alone, "
            f"{whole / none:.3f} with whole results (`--cache-key`).")


def large(program, room, gib):
    """x + y on arrays of `gib` GiB together that are files with holes, under a limit of anonymous memory."""
    n = gib * (1 << 30) // 12 // 1024
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({n}, 1024), }}"
    header = header.ljust(117) + "\n"
    for name in "xy":
        with open(room / f"{name}.npy", "wb") as f:
            f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
            f.truncate(f.tell() + n * 4096)
    seconds, mib, code = run([program, "run", "--unchecked", "add_2d", "--max-memory", str(4 * gib << 10), "--memory-limit", "0",
                              *(a for name in "xy" for a in ("--input", f"{name}={room / name}.npy")),
                              "--output", f"o={room / 'o.npy'}"], limit=OUR_LIMIT, stdout=subprocess.DEVNULL)
    if code:
        raise SystemExit(f"many: run on large arrays ended with {code}")
    return f"- `run` of `add_2d` on arrays of {gib} GiB together, 1 GiB of anonymous memory allowed (RLIMIT_DATA): {seconds:.0f} s of CPU."


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tileproof")
    parser.add_argument("specs")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--gib", type=int, default=6)
    o = parser.parse_args()
    gallery = sorted(g for g in glob.glob("examples/*/*.tile.json") if "/broken/" not in g)
    print("## Many specs\n\nMade by `bench/many.py`, one core. Random specs are those of `tests/unit/random_body.h`: most break a rule, and their fixes are tried.\n")
    with tempfile.TemporaryDirectory(dir="build/bench") as place:
        room = pathlib.Path(place)
        (room / "specs").mkdir()
        subprocess.run([o.specs, room / "specs", str(o.count), "1"], check=True)
        for line in many(o.tileproof, room, room / "specs", o.count):
            print(line, flush=True)
        print(cache(o.tileproof, room, sorted((room / "specs").glob("*.json"))[:300], "300 of them"), flush=True)
        print(cache(o.tileproof, room, gallery, f"The {len(gallery)} kernels of the gallery"), flush=True)
        print(large(o.tileproof, room, o.gib) if o.gib else "", flush=True)


sys.exit(main())
