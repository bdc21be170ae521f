"""Python reads the same text: json.loads and ast.parse, medians. usage: reading.py SPEC"""

import ast
import json
import statistics
import sys
import time


def rate(size, work):
    times = []
    for _ in range(7):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return size / statistics.median(times) / 1e6


text = open(sys.argv[1]).read()
body = "\n".join(json.loads(text)["kernel"])
print(f"Python on the same text: json.loads {rate(len(text), lambda: json.loads(text)):.0f} MB/s, "
      f"ast.parse {rate(len(body), lambda: ast.parse(body)):.0f} MB/s")
