#!/bin/sh
# usage: fuzz-readers.sh FUZZ SECONDS [READER...]
# Readers (all of them) under libFuzzer, two at a time; new inputs go to
# build/fuzzer/corpus, one line a run to build/fuzzer/runs.log: commit, reader,
# CPU seconds, executions, edges, and the execution that found the last new one.
# Lines that are worth keeping stand in tests/fuzz/runs.log (tools/fuzz-hours.sh).
set -eu
fuzz=$1 seconds=$2
shift 2
[ $# -gt 0 ] || set -- $(READER= "$fuzz" -runs=1 2>&1 | sed -n 's/.*READER names one of: //p')
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
one() {
    mkdir -p "build/fuzzer/corpus/$1"
    # -close_fd_mask=3 hides what the readers print
    (READER=$1 "$fuzz" "build/fuzzer/corpus/$1" "tests/fuzz/corpus/$1" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 \
        -max_len=16384 -close_fd_mask=3 -artifact_prefix="build/fuzzer/crash-$1-" -print_final_stats=1 >"build/fuzzer/$1.log" 2>&1
        code=$?; times >"build/fuzzer/$1.times"; exit $code) ||
        { echo "fuzz-readers: $1 failed; see build/fuzzer/$1.log and build/fuzzer/crash-$1-*"; return 1; }
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "build/fuzzer/$1.log")
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "build/fuzzer/$1.log" | tail -1)
    last=$(awk '$3 == "cov:" && $4 > most { most = $4; at = substr($1, 2) } END { print at }' "build/fuzzer/$1.log")
    used=$(tr 'ms' '  ' <"build/fuzzer/$1.times" | awk 'NR == 2 { printf "%.0f", 60 * $1 + $2 + 60 * $3 + $4 }')
    echo "$commit $1 $used $executions $edges $last" >>build/fuzzer/runs.log
    echo "fuzz-readers: $1: $executions executions in $used s of CPU, $edges edges (the last new one at execution $last), no crash, leak or hang"
}
running=0 status=0
for reader; do
    one "$reader" &
    running=$((running + 1))
    if [ $((running % 2)) = 0 ]; then wait || status=1; fi
done
wait || status=1
ls build/fuzzer/crash-* >/dev/null 2>&1 && status=1
exit $status
