"""The bars of the project's speed, and what a run of `make bench` says of each: met, missed or not measured.

A row of the gallery misses a bar by its median; a memory-bound one (page.moves_more) only when its whole spread is over it."""

import statistics

import page

JIT, NUMPY, INTERPRET = 1.3, 1.2, 1.0  # a kernel's CPU time as a share of the other's, at most
IDLE = 0.05  # of the processors, at most, that other work may take while the gain of a second core is measured


def rows_over(record, side, other, bar):
    """Names of the rows that miss it, and of memory-bound ones that do so by their median alone."""
    over, perhaps = [], []
    for r in record["rows"]:
        q = page.ratios(r, side, other)
        if q and statistics.median(q) > bar:
            (perhaps if page.moves_more(r, record) and q[0] <= bar else over).append(f"`{r['kernel']}` {statistics.median(q):.2f}")
    return over, perhaps


def none_over(record, text, side, other, bar):
    over, perhaps = rows_over(record, side, other, bar)
    n = sum(1 for r in record["rows"] if page.ratios(r, side, other))
    said = f"{n - len(over)} of {n} kernels" + (f"; over: {', '.join(over)}" if over else "") + (f"; by the median alone, memory-bound: {', '.join(perhaps)}" if perhaps else "")
    return text, said, not over if n else None


def at_most(text, value, bar, unit=""):
    return text, f"{value:.2f}{unit}", value <= bar


def share(text, value, bar, what):
    """value: None where it was not measured."""
    return (text, "–", None) if value is None else (text, f"{value:.0%} of {what}", value >= bar)


def of_gallery(record):
    rows, peaks = record["rows"], record["peaks"]
    yield at_most("jit, one core, new outputs: geometric mean at most 1.0", page.mean(rows, "fresh", "jit"), 1.0)
    yield at_most("jit, one core, outputs used again: geometric mean at most 0.5", page.mean(rows, "reused", "jit"), 0.5)
    yield none_over(record, f"no kernel over {JIT} of jit", "fresh", "jit", JIT)
    yield none_over(record, "no kernel slower than `interpret=True`", "fresh", "interpret=True", INTERPRET)
    yield none_over(record, f"no kernel over {NUMPY} of NumPy", "fresh", "numpy", NUMPY)
    for name, bar, peak in (("matmul", 0.75, "flops_per_second"), ("matmul:bf16", 0.7, "bfloats_per_second"), ("int8_matmul", 0.6, "integers_per_second")):
        if v := page.rate(record, name):
            what = {"flops_per_second": f"float32 multiply-adds ({peaks['instruction_set']})", "bfloats_per_second": f"bfloat16 multiply-adds ({peaks['bfloats_by']})",
                    "integers_per_second": f"8-bit multiply-adds ({peaks['integers_by']})"}[peak]
            yield share(f"`{name}` at least {bar:.0%} of the peak of what ran", v / peaks[peak] if peaks[peak] else None, bar, f"the peak of {what}")
    if (r := page.row_of(record, "add_2d")) and "copy" in r["ms"]:
        q = sorted(1.5 * b / a for a, b in zip(page.cpu(r, "reused"), page.cpu(r, "copy")))  # three arrays moved, and two
        yield "`add_2d` at least 80 % of a copy's bytes per second", page.with_spread(q), statistics.median(q) >= 0.8 or q[-1] >= 0.8
    for name, bar in (("flash_attention", 3), ("flash_attention:bf16", 5)):
        if r := page.row_of(record, name):
            q = page.ratios(r, "jit", "fresh")
            yield f"`{name}` at least {bar} times as fast as the jitted naive reference", page.with_spread(q), statistics.median(q) >= bar
    if (r := page.row_of(record, "splash_attention")) and "all tiles" in r["ms"]:
        q = page.ratios(r, "all tiles", "half the tiles")
        yield "`splash_attention` with half its tiles empty at least 1.7 times as fast as with none", page.with_spread(q), statistics.median(q) >= 1.7
    yield at_most("without a receipt: geometric mean at most 1.5 of jit", page.mean(rows, "no receipt", "jit"), 1.5)
    yield none_over(record, "without a receipt: no kernel slower than `interpret=True`", "no receipt", "interpret=True", INTERPRET)
    yield threads(record)
    same = [r["kernel"] for r in rows if r["same_bits"]]
    yield "the same bits by 1, 2, 7 and 16 threads", f"{len(same)} of {len(rows)} kernels", len(same) == len(rows)
    for right, bar in (("receipt", 1), ("no receipt", 10)):
        us = record["steps_us"][right]
        last = [us[n] for n in us if int(n) >= 1000]
        yield (f"a step takes at most {bar} µs {'by receipt' if right == 'receipt' else 'without one'}, and no more with 1,000,000 steps than with 1,000",
               f"{min(us.values()):.2f} to {max(us.values()):.2f} µs; from 1,000 on within {max(last) / min(last) - 1:.0%}",
               max(us.values()) <= bar and last[-1] <= 1.2 * last[0])


def threads(record):
    """Of compute-bound kernels: wall time on an idle machine; else what a second thread adds to the CPU time."""
    text = "two threads at least 1.8 times as fast as one on compute-bound kernels (busy machine: at most 5 % more CPU time)"
    cores = [(r["kernel"], r["cores"]) for r in record["rows"] if "cores" in r]
    idle = [(name, statistics.median(one / two for one, two in c["ms"])) for name, c in cores if c["others"] <= IDLE]
    bound = [r for r in record["rows"] if not page.moves_more(r, record)]
    more = statistics.geometric_mean(page.middle(r, "two threads", "reused") for r in bound) - 1 if bound else None
    if idle and len(idle) >= len(cores) / 2:
        gain = statistics.geometric_mean(g for _, g in idle)
        least = min(idle, key=lambda x: x[1])
        return text, f"{gain:.2f} (geometric mean of {len(idle)}; least: `{least[0]}` {least[1]:.2f})", gain >= 1.8
    return text, f"{more:+.1%} CPU time ({len(idle)} of {len(cores)} kernels had an idle machine)" if bound else "–", more <= 0.05 if bound else None


def of_many(record):
    rate = record["count"] / record["seconds"]
    yield f"{record['count']:,} specs: at most 500 MB", f"{max(record['mib'], record['merge_mib']):.0f} MB", max(record["mib"], record["merge_mib"]) <= 500
    yield "at least 200 distinct specs per second and core", f"{rate:.0f}", rate >= 200
    for c in record["caches"]:
        cold, whole = statistics.median(c["cold"]), statistics.median(c["whole"])
        yield f"{c['what']}: a cold cache at most 1.1 of none", page.with_spread(c["cold"]), cold <= 1.1
        yield f"{c['what']}: a warm one at least 5 times as fast", f"{1 / whole:.0f} times", whole <= 0.2
    yield ("`--shard` and `merge`: the bytes of one call (a Dask cluster of several processes: `make test-jax`)",
           "the same" if record["shards_same"] else "other bytes", record["shards_same"])
    if record["gib"]:
        yield f"arrays of {record['gib']} GiB within 1 GiB of anonymous memory", "done" if record["large_code"] == 0 else f"exit {record['large_code']}", record["large_code"] == 0


def of_scale(text):
    """The lines of bench/scale.c."""
    exponents = {words[0]: float(line.split("exponent")[1].split(",")[0]) for line in text.splitlines() if "exponent" in line and (words := line.split())}
    wanted = ("operands", "statements", "branches", "loop")
    most = max(wanted, key=exponents.get)
    yield "lint of 256 operands, 1000 statements, 64 branches, loops of 10^4 turns: proven", "proven" if "not proven" not in text else "not all proven", "not proven" not in text
    yield "... and grows by an exponent of at most 1.3", f"at most {exponents[most]:.2f} ({most}); all kinds: {max(exponents.values()):.2f}", max(exponents.values()) <= 1.3


def of_verified(record):
    for r in record["rows"]:
        q = page.by_case(r)
        yield f"`verify` of {r['what']}: a case takes at most 1/4 of its CPU time in 0.1.0", page.with_spread(q), statistics.median(q) <= 0.25


def of_answers(record):
    text = f"the engine's fast ways beside plain evaluation: the same bits, all gallery kernels and {10**5:,} random bodies"
    yield text, f"{record['kernels']} kernels, {record['bodies']:,} random bodies", record["same"] and record["bodies"] >= 10**5
    yield "... and the same bits by AVX-512, AVX2 and portable builds", f"{', '.join(record['builds'])}: {'the same' if record['same_in_all'] else 'OTHER'}", record["same_in_all"] and len(record["builds"]) == 3


PARTS = {"gallery": of_gallery, "answers": of_answers, "verified": of_verified, "many": of_many, "scale": of_scale}


def all_of(pieces):
    """(bar, what was measured, kept: True, False or None) of each piece that was measured; a line for each that was not."""
    found = []
    for name, bars in PARTS.items():
        found += list(bars(pieces[name])) if name in pieces else [(f"({name})", "not measured", None)]
    return found


def table(found):
    verdicts = [kept for _, _, kept in found]
    words = {True: "met", False: "**missed**", None: "–"}
    return [f"{verdicts.count(True)} bars are met, {verdicts.count(False)} missed, {verdicts.count(None)} not measured.", "", "| bar | measured | |", "|---|---|---|",
            *(f"| {bar} | {measured} | {words[kept]} |" for bar, measured, kept in found)]
