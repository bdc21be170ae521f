#!/usr/bin/env python3
"""What many specs cost, and arrays beyond memory: many.py TILEPROOF SPECS [--count 10000] [--gib 6] > many.json

SPECS is build/bench/specs, which writes distinct random specs. Times are of processors, of whole processes; memory is what
the system counts at most. bench/page.py makes lines of it, and bench/bars.py says which are too slow.
"""
import argparse
import glob
import json
import os
import pathlib
import resource
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
    for i, shard in enumerate(shards):
        with open(shard, "wb") as f:
            lint(program, "--format", "json", "--shard", f"{i + 1}/8", specs, to=f)
    with open(room / "merged.json", "wb") as f:
        _, merge_mib, _ = run([program, "merge", *shards], stdout=f)
    return {"count": count, "seconds": seconds, "mib": mib, "merge_mib": merge_mib, "report_mib": report.stat().st_size / 2**20,
            "shards_same": (room / "merged.json").read_bytes() == report.read_bytes()}


def cache(program, room, paths, what, rounds):
    """Shares of the time without a cache, round by round, sorted."""
    key = room / "key"
    if not key.exists():
        run([program, "keygen", key], stdout=subprocess.DEVNULL)
    seconds = {"none": [], "cold": [], "warm": [], "whole": []}
    for _ in range(rounds):  # interleaved
        for f in room.glob("cache*"):
            f.unlink()
        sealed = ["--cache", room / "cache.whole", "--cache-key", key]
        seconds["none"].append(lint(program, *paths)[0])
        seconds["cold"].append(lint(program, "--cache", room / "cache", *paths)[0])
        seconds["warm"].append(lint(program, "--cache", room / "cache", *paths)[0])
        lint(program, *sealed, *paths)
        seconds["whole"].append(lint(program, *sealed, *paths)[0])
    shares = {k: sorted(a / b for a, b in zip(seconds[k], seconds["none"])) for k in ("cold", "warm", "whole")}
    return {"what": what, "ms": 1000 * sorted(seconds["none"])[rounds // 2] / len(paths), **shares}


def large(program, room, gib):
    """x + y on arrays of `gib` GiB together that are files with holes, under a limit of anonymous memory."""
    n = gib * (1 << 30) // 12 // 1024
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({n}, 1024), }}"
    header = header.ljust(117) + "\n"
    for name in "xy":
        with open(room / f"{name}.npy", "wb") as f:
            f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
            f.truncate(f.tell() + n * 4096)
    seconds, _, code = run([program, "run", "--unchecked", "add_2d", "--max-memory", str(4 * gib << 10), "--memory-limit", "0",
                            *(a for name in "xy" for a in ("--input", f"{name}={room / name}.npy")),
                            "--output", f"o={room / 'o.npy'}"], limit=OUR_LIMIT, stdout=subprocess.DEVNULL)
    return {"gib": gib, "large_seconds": seconds, "large_code": code}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tileproof")
    parser.add_argument("specs")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--gib", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=9)
    o = parser.parse_args()
    gallery = sorted(g for g in glob.glob("examples/*/*.tile.json") if "/broken/" not in g)
    with tempfile.TemporaryDirectory(dir="build/bench") as place:
        room = pathlib.Path(place)
        (room / "specs").mkdir()
        subprocess.run([o.specs, room / "specs", str(o.count), "1"], check=True)
        record = many(o.tileproof, room, room / "specs", o.count)
        record["caches"] = [cache(o.tileproof, room, sorted((room / "specs").glob("*.json"))[:300], "300 of the random specs", o.rounds),
                            cache(o.tileproof, room, gallery, f"the {len(gallery)} kernels of the gallery", o.rounds)]
        record |= large(o.tileproof, room, o.gib) if o.gib else {"gib": 0}
    json.dump(record, sys.stdout, indent=1)


sys.exit(main())
