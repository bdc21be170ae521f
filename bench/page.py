"""docs/PERFORMANCE.md and its picture, of what the programs of bench/ left in build/bench: page.py FOLDER [--docs FOLDER]

Exit 1 where a bar of bars.py is missed. What was not measured is said to be so."""

import argparse
import json
import pathlib
import statistics
import sys

WORK = {"matmul": 2 * 1024**3, "matmul:bf16": 2 * 1024**3, "int8_matmul": 2 * 1024**3}  # multiplications and additions


def cpu(r, side):
    times = r["ms"].get(side)
    return [t[0] for t in times] if isinstance(times, list) else None


def ratios(r, side, other):
    """Of one round each, sorted; where one of them ran less often, against its median."""
    a, b = cpu(r, side), cpu(r, other)
    if not a or not b:
        return None
    if len(a) != len(b):
        b = [statistics.median(b)] * len(a)
    return sorted(x / y for x, y in zip(a, b))


def middle(r, side, other):
    q = ratios(r, side, other)
    return statistics.median(q) if q else None


def mean(rows, side, other):
    q = [m for r in rows if (m := middle(r, side, other))]
    return statistics.geometric_mean(q) if q else None


def with_spread(q):
    return f"{statistics.median(q):.2f} [{q[0]:.2f}, {q[-1]:.2f}]" if q else "–"


def short(v):
    return "–" if v is None else f"{v:.2g}" if v < 0.1 else f"{v:.2f}" if v < 10 else f"{v:.0f}"


def line(r):
    others = "  ".join(f"{o} {short(middle(r, 'reused', o))}" for o in ("numpy", "interpret=True", "InterpretParams()") if o in r["ms"])
    return (f"{r['kernel']:24} jit {statistics.median(cpu(r, 'jit')):8.2f} ms  ours {statistics.median(cpu(r, 'fresh')):8.2f}  "
            f"of jit: {with_spread(ratios(r, 'fresh', 'jit'))}, reused {with_spread(ratios(r, 'reused', 'jit'))}  of {others}  "
            f"off by {r['worst']:.1e}")


def moves_more(r, record):
    """Memory-bound: a copy of as many bytes as its arrays have takes a third of its time, or more."""
    return r["bytes"] / record["peaks"]["bytes_per_second"] * 1e3 >= statistics.median(cpu(r, "reused")) / 3


def row_of(record, name):
    return next((r for r in record["rows"] if r["kernel"] == name), None)


def rate(record, name):
    r = row_of(record, name)
    return WORK[name] / statistics.median(cpu(r, "reused")) * 1e3 if r else None


def peaks_line(record):
    p = record["peaks"]
    bfloats = "by which bfloat16 is multiplied, too" if p["bfloats_by"] == "float32" else f"{p['bfloats_per_second'] / 1e9:.0f} of bfloat16 ({p['bfloats_by']})"
    return (f"One core: {p['flops_per_second'] / 1e9:.0f} GFLOP/s of float32 multiply-adds ({p['instruction_set']}), {bfloats}, "
            f"{p['integers_per_second'] / 1e9:.0f} GOP/s of 8-bit integers ({p['integers_by']}), {p['bytes_per_second'] / 1e9:.0f} GB/s read and written by a copy.")


def steps_lines(record):
    return [f"A step that adds 1024 numbers, {'by receipt' if right == 'receipt' else 'without a receipt'}: "
            + ", ".join(f"{us:.2f} µs of {int(n):,}" for n, us in by.items()) + " steps." for right, by in record["steps_us"].items()]


def summary(record):
    rows = record["rows"]
    parts = [f"{mean(rows, 'fresh', 'jit'):.2f} of jit with new outputs, {mean(rows, 'reused', 'jit'):.2f} with used ones"]
    parts += [f"{m:.3f} of {o}" for o in ("numpy", "interpret=True", "InterpretParams()") if (m := mean(rows, "fresh", o))]
    return f"geometric means of {len(rows)} cases: " + ", ".join(parts) + f"; load {record['load'][0]:.1f} to {record['load'][-1]:.1f}"


def gallery(record):
    rows, load = record["rows"], sorted([*record["load"], *(r["load"] for r in record["rows"])])
    text = [
        "## The gallery", "",
        "Made by `bench/gallery.py`: every kernel beside `jax.jit` of a function that says the same, NumPy by that function, and the two interpreters of Pallas on",
        f"the same spec. All of them run in one process on one core, interleaved. Figures are ratios of CPU time, medians of {record['rounds']} rounds with their spread",
        "(of what takes ten times as long: of one to three calls). Below 1 tileproof is faster. Outputs are made in each call, as the others make theirs, but where",
        "\"used again\" is said.", "",
        (f"Commit {record['commit']}, " if record.get("commit") else "") + f"{record['processor']}, JAX {record['jax']}, NumPy {record['numpy']}. Load of the machine while it was measured: {load[0]:.1f} to {load[-1]:.1f}"
        + (", so other work ran on its cores and in its caches." if max(load) > 1.5 else "."),
        "Memory-bound rows (M) move by 30 to 60 % from run to run; `jax.jit` of `stencil_2d`, `causal_conv1d` and `row_gather` takes one of two times.", "",
        f"- {peaks_line(record)}", *(f"- {line}" for line in steps_lines(record)), "",
        f"**Geometric means of {len(rows)} cases, against `jax.jit`: {mean(rows, 'fresh', 'jit'):.2f} with outputs that are made in each call, as `jax.jit` does, "
        f"{mean(rows, 'reused', 'jit'):.2f} with outputs that are used again.**", "",
        "![Time of each kernel, as a share of that of jax.jit](performance.svg)", "",
        "| kernel | | jit, ms | ours, ms | of jit: new outputs | of jit: no receipt | of jit: used again | of NumPy | of `interpret=True` | of `InterpretParams()` |",
        "|---|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        text.append(f"| {r['kernel']} | {'M' if moves_more(r, record) else ''} | {statistics.median(cpu(r, 'jit')):.1f} | {statistics.median(cpu(r, 'fresh')):.1f} | "
                    f"{with_spread(ratios(r, 'fresh', 'jit'))} | {short(middle(r, 'no receipt', 'jit'))} | {with_spread(ratios(r, 'reused', 'jit'))} | "
                    f"{short(middle(r, 'fresh', 'numpy'))} | "
                    + " | ".join(r["ms"][o] if isinstance(r["ms"].get(o), str) else f"{m:.4f}" if (m := middle(r, "fresh", o)) else "–"
                                 for o in ("interpret=True", "InterpretParams()")) + " |")
    return [*text, "",
            "NumPy has no bfloat16: those rows compute in float32 there. The engine is the checked machine of [SPEC.md](SPEC.md): every access is checked, and sums",
            "keep their order. There is no other: a receipt is the right to run without verifying first, and makes nothing faster. Sizes are those of",
            "`bench/gallery.py`; blocks are those of the specs, which were chosen for TPUs.", ""]


def many(record):
    text = ["## Many specs", "", "Made by `bench/many.py`, one core. Random specs are those of `tests/unit/random_body.h`: most break a rule, and their fixes are tried.", "",
            f"- {record['count']:,} distinct random specs in one call, reports in JSON and SARIF: {record['seconds']:.0f} s of CPU, "
            f"{record['count'] / record['seconds']:.0f} specs per second and core, {record['mib']:.0f} MB at most.",
            f"- The same in eight shards, and `merge`: {'the same' if record['shards_same'] else 'OTHER'} {record['report_mib']:.0f} MB, {record['merge_mib']:.0f} MB of memory at most."]
    for c in record["caches"]:
        text.append(f"- {c['what']}: {c['ms']:.1f} ms a spec; a cold cache takes {with_spread(c['cold'])} of that, a warm one {with_spread(c['warm'])} with proofs alone, "
                    f"{statistics.median(c['whole']):.3f} with whole results (`--cache-key`).")
    if record["gib"]:
        text.append(f"- `run` of `add_2d` on arrays of {record['gib']} GiB together, 1 GiB of anonymous memory allowed (RLIMIT_DATA): {record['large_seconds']:.0f} s of CPU.")
    return [*text, ""]


def by_case(r):
    """CPU time of an executed case, as a share of that in 0.1.0, round by round, sorted."""
    return sorted(a / b * r["cases_then"] / r["cases_now"] for a, b in zip(r["now"], r["then"]))


def verified(record):
    return ["## verify, and 0.1.0's", "",
            "Made by `bench/verified.py`: `verify` of this version and of 0.1.0, which is built from its commit, turn by turn, CPU time with its spread over the rounds.",
            "Both get the specs that 0.1.0 had, as it had them. This version runs more cases, and does more on each: families of inputs, a search for turns of",
            "decisions, each case once more as `run` executes it, more elements by its second opinion. None of that is taken off.", "",
            *(f"- {r['what']}: {statistics.median(r['now']):.2f} s of CPU for {r['cases_now']} cases, 0.1.0 {statistics.median(r['then']):.2f} s for {r['cases_then']}; "
              f"in all {with_spread(sorted(a / b for a, b in zip(r['now'], r['then'])))}, by case {with_spread(by_case(r))}." for r in record["rows"]), ""]


def markdown(pieces, table):
    text = ["# Performance", "", "Made by `make bench` from one run of it. Losses stand beside gains.", "", *table, ""]
    if "gallery" in pieces:
        text += gallery(pieces["gallery"])
    if "copies" in pieces:
        text += ["## Kernels with copies", "", "Made by `bench/copies.py`: the engine beside others, CPU time, with the spread of the rounds.", "", pieces["copies"].strip(), ""]
    if "verified" in pieces:
        text += verified(pieces["verified"])
    if "many" in pieces:
        text += many(pieces["many"])
    if "scale" in pieces:
        text += ["## Wide and deep specs", "", "```", pieces["scale"].strip(), "```", ""]
    return "\n".join(text)


def draw(record, path):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "tileproof", "svg.fonttype": "none", "font.size": 8})
    import matplotlib.pyplot as plt

    rows = sorted(record["rows"], key=lambda r: middle(r, "fresh", "jit"))
    figure, axes = plt.subplots(figsize=(7, 0.22 * len(rows) + 1))
    for at, r in enumerate(rows):
        for side, color, shift in (("fresh", "#30638e", 0.18), ("reused", "#edae49", -0.18)):
            q = ratios(r, side, "jit")
            axes.plot([q[0], q[-1]], [at + shift] * 2, color=color, linewidth=1)
            axes.plot(statistics.median(q), at + shift, "o", color=color, markersize=3.5,
                      label={"fresh": "new outputs", "reused": "outputs used again"}[side] if at == 0 else None)
    axes.axvline(1, color="gray", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xticks([0.1, 0.2, 0.5, 1, 2, 5], ["0.1", "0.2", "0.5", "1", "2", "5"])
    axes.set_yticks(range(len(rows)), [r["kernel"] for r in rows])
    axes.set_xlabel("CPU time as a share of that of jax.jit: median and spread of the rounds")
    axes.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def main():
    import bars

    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--docs", type=pathlib.Path)
    a = p.parse_args()
    pieces = {f.stem: json.loads(f.read_text()) if f.suffix == ".json" else f.read_text()
              for n in ("gallery.json", "many.json", "verified.json", "answers.json", "scale.txt", "copies.md") if (f := a.folder / n).exists()}
    found = bars.all_of(pieces)
    table = bars.table(found)
    print("\n".join(table))
    if a.docs and "gallery" in pieces:
        (a.docs / "PERFORMANCE.md").write_text(markdown(pieces, table))
        draw(pieces["gallery"], a.docs / "performance.svg")
    return any(kept is False for _, _, kept in found)


if __name__ == "__main__":
    sys.exit(main())
