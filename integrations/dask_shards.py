"""Specs checked by the workers of a Dask cluster: each has its shards, and one report comes out, byte for byte that of one call.

    python dask_shards.py OUT.json [--scheduler HOST:PORT] [--shards N] COMMAND… PATH…

COMMAND is `lint` or `verify` with its options. Without a scheduler, a cluster of local processes is started. Every worker needs the
program on its PATH (or TILEPROOF), and the same files at the same paths. The exit code is that of the merged report.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from distributed import Client, LocalCluster


def check(shard, command, folder):
    """One shard, on a worker: the process that did it, its exit code, its report, what it said on standard error."""
    program = os.environ.get("TILEPROOF", "tileproof")
    done = subprocess.run([program, *command, "--shard", shard, "--format", "json", "-j", "1"], cwd=folder, capture_output=True)
    return os.getpid(), done.returncode, done.stdout, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--scheduler", help="address of a running one")
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    cluster = args.scheduler or LocalCluster(n_workers=4, threads_per_worker=1, processes=True, dashboard_address=None)
    with Client(cluster) as client, tempfile.TemporaryDirectory() as room:
        shards = [f"{i}/{args.shards}" for i in range(1, args.shards + 1)]
        results = client.gather(client.map(check, shards, command=args.command, folder=os.getcwd(), pure=False))
        reports = []
        for i, (_, code, report, errors) in enumerate(results):
            if code not in (0, 1, 3, 4):  # usage, or an internal error: there is no report to be merged
                sys.exit(f"shard {shards[i]} ended with exit code {code}: {errors.decode()}")
            reports.append(pathlib.Path(room, f"{i}.json"))
            reports[-1].write_bytes(report)
        merged = subprocess.run([os.environ.get("TILEPROOF", "tileproof"), "merge", *reports], capture_output=True)
        args.out.write_bytes(merged.stdout)
        print(f"{len(shards)} shards by {len({r[0] for r in results})} processes", file=sys.stderr)
        sys.stderr.buffer.write(merged.stderr)
    if not args.scheduler:
        cluster.close()
    return merged.returncode


if __name__ == "__main__":
    sys.exit(main())
