#!/usr/bin/env python3
"""Whole processes on hostile files: fuzz_processes.py TILEPROOF LOG [--shards FROM-TO] [--seconds S]

Each shard is a hundred runs of every command, on specs of the tree that a seed
changes, and on file names that no one would choose. A run fails when it crashes
(TILEPROOF is a build with sanitizers), says "internal error", uses more CPU
than its budget allows, writes a control character, or leaves a file that it was
not asked for. Shards that LOG has are skipped: a run can be stopped and goes on.
A line of LOG: commit, shard, processes, how many ended with exit code 0 to 4,
CPU seconds, the worst of them. What failed lies in build/processes/SEED.
"""
import argparse
import copy
import glob
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

RUNS = 100
CPU_SECONDS = 30  # of one process: its budget is 1, a sanitizer costs some 10 times
MOST_OUTPUT = 32 << 20
NUMBERS = [0, 1, -1, 2, 7, 8, 127, 128, 1000, 2**20, 2**30, 2**31, 2**32 - 1, 2**53 + 1, 2**60, 2**61, 2**62, 2**63 - 1,
           -(2**63), 0.5, 1e308, -0.0]
WORDS = ["", "i", "N", "N * N", "i ^ N", "N // 0", "-N", "9223372036854775807", "cdiv(N, 0)", "x", "o", "[", "\x00", "\x1b[2J",
         "a" * 300, "é", "\u202e", "::error::x", "| a |", "`", "<script>", "$(id)", "%n%s", "i\nj", "float64", "int4", "bfloat16"]
LINES = ["o[...] = x[...]", "for t in range(0, N):", "    o[t] = x[t]", "while n >= 0:", "    n = n + 1", "if i == 0:", "    o[...] = 0",
         "n = full((), 0, int32)", "o[ds(i, 9, 2305843009213693952)] = x[0]", "o[...] = sum(x[...], 0)", "pass", "o[...] = o[...] / 0",
         "with scratch((N, 128), float32) as w:", "with scratch((4611686018427387904,), float32) as w:", "    w[...] = x[...]",
         "copy(x, o)", "copy_start(x, o, s)", "copy_wait(x, o, s)", "semaphore_signal(s, 2147483647)", "semaphore_wait(s, 1)",
         "prng_seed(i)", "o[...] = bitcast(prng_random_bits((8, 128)), float32)"]
NAMES = ["a b", "-o", "--help", "\x1b[31mred", "line\nbreak", "::error::x", "%s%n", "a'b\"c", "é", "x" * 200, "#t", "|", "$(id)", "`", "..",
         "~", "*", b"\xff\xfe".decode("utf-8", "surrogateescape"), "a=b", "json=x", ",", "\r", "\t", "<b>"]


def places(value, path=()):
    """Every place in a JSON value, as a path of keys."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], path + (key,))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from places(item, path + (i,))


def change(rng, spec):
    """One change of a spec, in place."""
    path = rng.choice([p for p in places(spec)][1:] or [()])
    if not path:
        return
    parent = spec
    for key in path[:-1]:
        parent = parent[key]
    key, old, how = path[-1], parent[path[-1]], rng.randrange(8)
    if how == 0:
        del parent[key]
    elif how == 1:
        parent[key] = copy.deepcopy(rng.choice([NUMBERS, WORDS, [None, True, [], {}, [[]]]][rng.randrange(3)]))
    elif isinstance(parent, list) and how == 2:
        parent.insert(key, copy.deepcopy(old))
    elif isinstance(parent, list) and how == 3 and len(parent) > 1:
        rng.shuffle(parent)
    elif isinstance(old, int):
        parent[key] = rng.choice(NUMBERS + [old + 1, old - 1, old * 2])
    elif isinstance(old, str) and "kernel" in path and how < 6:
        parent[key] = rng.choice(LINES)
    elif isinstance(old, str):
        at = rng.randrange(len(old) + 1)
        parent[key] = old[:at] + str(rng.choice(WORDS + NUMBERS + ["+ 1", "* 2", "(", "%", ", "])) + old[at + rng.randrange(3):]
    else:
        parent[key] = copy.deepcopy(rng.choice(NUMBERS))


def make_spec(rng, sources):
    """Bytes of a spec that somebody might send."""
    text = sources[rng.randrange(len(sources))]
    kind = rng.randrange(10)
    if kind == 0:
        data = bytearray(text)
        for _ in range(rng.randrange(1, 8)):
            at = rng.randrange(len(data) + 1)
            data[at:at + rng.randrange(3)] = bytes(rng.randrange(256) for _ in range(rng.randrange(4)))
        return bytes(data)
    if kind == 1:
        return text
    try:
        spec = json.loads(text)
        for _ in range(rng.choice([0, 1, 1, 1, 1, 2, 3])):
            change(rng, spec)
        return json.dumps(spec).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError, KeyError, IndexError, TypeError):
        return text


LIMITS = ["--timeout", "1", "--memory-limit", "256"]
FORMATS = ["full", "concise", "json", "jsonl", "html", "markdown", "sarif", "sarif-full", "github", "gitlab", "junit", "rdjson"]


def make_command(rng, spec, other):
    """Arguments, and bytes for standard input."""
    few = LIMITS + ["--cases", "1"]
    lints = [["--format", rng.choice(FORMATS)], ["--plot", rng.choice(["unicode", "ascii"]), "-v"], ["--dump", "tokens,body,windows,leaks"],
             ["--fix"], ["--diff", "--unsafe-fixes"], ["--certificates", "out.certs"], ["--cache", "out.cache"], ["--statistics", "-q"],
             ["-o", rng.choice(FORMATS) + "=out.report"], ["--emit-smt2", "out.smt"], ["--baseline", other], ["--config", other],
             ["--playback", "json=out.json"]]
    kind = rng.randrange(26)
    if kind == 20:
        return ["cost", *LIMITS, *rng.choice([[], ["--format", "json"], ["--size", f"N={rng.choice(NUMBERS)}"], ["--target", "v5e"]]), "--", spec], b""
    if kind == 21:
        over = rng.choice(["target=v4|v5e", "N=1:8:3", "N=1:9223372036854775807:1", "D=float32|int4", f"N={rng.choice(NUMBERS)}|7", other])
        form = rng.choice(["table", "csv", "json", "html", "space", "python"])
        return ["sweep", *LIMITS, "-j", "1", "--over", over, "--format", form, "--", spec], b""
    if kind == 22:
        return ["assess", *LIMITS, *rng.choice([[], ["--format", "json"], ["--gain", "-1"], ["--size", "N=8"]]), "--", spec], b""
    if kind == 23:
        return ["merge", "--", *rng.choice([[spec], [other, spec], [spec, spec]])], b""
    if kind == 24:
        return ["run", *LIMITS, "--unchecked", "--fill", "normal", *rng.choice([["--trace", "out.trace"], ["--trace-text"]]), "--size", "N=8", "--", spec], b""
    if kind == 25:
        phases = ["tokens", "body", "windows", "leaks", "claims", "terms"]
        return rng.choice([["lint", *LIMITS, "--dump", ",".join(rng.sample(phases, 2)), "--", spec],
                           ["run", *LIMITS, "--unchecked", "--fill", "normal", "--size", "N=8", "--show", rng.choice(["o", "x", "acc,o", other]), "--", spec]]), b""
    if kind < 6:
        return ["lint", *LIMITS, *rng.choice(lints), "--", spec], b""
    if kind < 9:
        extra = rng.choice([[], ["--receipt", "out.receipt"], ["--format", rng.choice(FORMATS)], ["--certificates", "out.certs"], ["--box", "0"]])
        return ["verify", *few, *extra, "--", spec], b""
    if kind < 11:
        extra = rng.choice([[], ["--size", "N=3"], ["--output", "o=out.npy"], ["--receipt", other], ["--input", "x=" + other], ["--max-steps", "9"]])
        return ["run", *LIMITS, *rng.choice([["--unchecked"], [], ["--fill", "normal", "--unchecked"]]), *extra, "--", spec], b""
    if kind == 11:
        return ["mutate", *few, "--defects", "1", "--wider", "1", "--", spec], b""
    if kind == 12:
        return ["diff", *LIMITS, "--", other, spec], b""
    if kind == 13:
        return ["emit", rng.choice(["pallas", "spec", "dot", "x"]), "--", spec], b""
    if kind == 14:
        return ["fmt", *rng.choice([[], ["--check"], ["--write"]]), "--", spec], b""
    if kind == 15:
        return rng.choice([["recheck", "--explain", "--", other], ["recheck", "--", other, spec], ["recheck", "--", spec]]), b""
    if kind == 16:
        return rng.choice([["baseline", "write", "--timeout", "1", "--", "out.baseline", spec], ["baseline", "check", "--", other, spec]]), b""
    if kind == 17:
        with open(os.fsencode(spec), "rb") as f:
            text = f.read().decode("utf-8", "replace")
        out = b""
        for m in ({"method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file:///" + spec, "version": 1, "text": text}}},
                  {"id": 1, "method": "textDocument/" + rng.choice(["hover", "codeAction", "formatting"]),
                   "params": {"textDocument": {"uri": "file:///" + spec}, "position": {"line": 0, "character": rng.choice(NUMBERS)}}}):
            body = json.dumps({"jsonrpc": "2.0", **m}).encode("utf-8", "replace")
            out += b"Content-Length: %d\r\n\r\n" % rng.choice([len(body)] * 9 + [0, 2**31]) + body
        return ["lsp", *LIMITS], out
    if kind == 18:
        with open(os.fsencode(spec), "rb") as f:
            return [rng.choice(["lint", "fmt", "kernels"]), "-"], f.read()
    return rng.choice([["kernels", "--", spec], ["explain", other], ["rules"], ["schema"], ["targets"], ["primitives"], ["man"],
                       ["completion", "bash"], ["help", other], ["init", "--", "out.tile.json"], ["keygen", "out.key", other], [other], [],
                       ["lint", "--config", "none", "--show-settings"]]), b""


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 2))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_OUTPUT, MOST_OUTPUT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def problem(code, out, err, wrote):
    if code not in range(5):
        return f"exit {code}"
    if b"internal error:" in err or b"Sanitizer" in err or b"runtime error" in err:
        return "an internal error"
    if any(c < 32 and c not in b"\n\r\t" for c in out + err):
        return "a control character"
    if wrote:
        return f"wrote {wrote}"
    return None


def one(program, seed, sources):
    """Exit code, CPU seconds, what is wrong (None: nothing)."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="tileproof-processes-") as folder:
        os.chdir(folder)
        names = [rng.choice(NAMES) + rng.choice([".tile.json"] * 6 + [".tile.jsonc", "", ".npy"]) if rng.randrange(2) else "a.tile.json",
                 "b" + rng.choice([".tile.json", ".json", ".npy", ".safetensors"])]
        for name in names:
            if name not in (".", ".."):
                with open(os.fsencode(name), "wb") as f:
                    f.write(make_spec(rng, sources))
        if names[0] in (".", ".."):
            names[0] = names[1]
        args, stdin = make_command(rng, *names)
        args = [a.replace("\0", "") for a in args]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open("stdout.txt", "w+b") as out, open("stderr.txt", "w+b") as err:
            p = subprocess.Popen([program, *map(os.fsencode, args)], stdin=subprocess.PIPE, stdout=out, stderr=err, preexec_fn=limits,
                                 start_new_session=True)
            try:
                p.communicate(stdin, timeout=20 * CPU_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()
            out.seek(0)
            err.seek(0)
            texts = out.read(), err.read()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        wrote = [n for n in os.listdir(os.fsencode(".")) if n not in [os.fsencode(x) for x in names] and not n.startswith((b"out.", b"std"))]
        why = problem(p.returncode, *texts, wrote)
        return p.returncode, cpu, why, args, folder if why is None else keep(folder, seed, args, why)


def keep(folder, seed, args, why):
    to = os.path.join(ROOT, "build", "processes", str(seed))
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder, to)
    with open(os.path.join(to, "command.json"), "w") as f:
        json.dump({"args": args, "why": why}, f)
    return to


ROOT = os.getcwd()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("log")
    p.add_argument("--shards", default="1-100")
    p.add_argument("--seconds", type=int, default=10**9)
    o = p.parse_args()
    program, log = os.path.abspath(o.program), os.path.abspath(o.log)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip() or "unknown"
    os.environ.update(ASAN_OPTIONS="exitcode=99", UBSAN_OPTIONS="exitcode=99:print_stacktrace=1", HOME="/nonexistent")
    paths = sorted(p for pattern in ("tests/hostile/*", "tests/fuzz/corpus/[srdej]*/*", "tests/rules/*/*.tile.json", "tests/mistakes/*.tile.json",
                                     "tests/semantics/*.tile.json", "tests/copies/*.tile.json", "tests/sweep/*.tile.json",
                                     "examples/*/*.tile.json") for p in glob.glob(os.path.join(ROOT, pattern)) if os.path.getsize(p) < 6000)
    sources = [open(path, "rb").read() for path in paths]
    done = {int(line.split()[1]) for line in open(log) if not line.startswith("#")} if os.path.exists(log) else set()
    first, last = map(int, o.shards.split("-"))
    start, failed = os.times().elapsed, 0
    for shard in range(first, last + 1):
        if shard in done or os.times().elapsed - start > o.seconds:
            continue
        exits, total, worst, bad = [0] * 5, 0.0, (0.0, ""), 0
        for n in range(RUNS):
            seed = shard * RUNS + n
            code, cpu, why, args, folder = one(program, seed, sources)
            os.chdir(ROOT)
            total += cpu
            worst = max(worst, (cpu, args[0] if args else "-"))
            if why:
                bad += 1
                print(f"fuzz-processes: seed {seed}: {why}: {args[:3]} in {folder}", flush=True)
            else:
                exits[code] += 1
        failed += bad
        if not bad:
            with open(log, "a") as f:
                f.write(f"{commit} {shard} {RUNS} {' '.join(map(str, exits))} {total:.0f} {worst[0]:.1f} {worst[1]!r}\n")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
