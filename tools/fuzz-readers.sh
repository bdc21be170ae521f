#!/bin/sh
# usage: fuzz-readers.sh FUZZ SECONDS [READER...]
# Readers (all of them) under libFuzzer, JOBS at a time (2), each for so many
# seconds, or until QUIET CPU seconds (1200) passed without a new edge. New inputs
# go to CORPORA/READER (build/fuzzer/corpus), where the next run goes on; one line a
# run goes to build/fuzzer/runs.log: commit, reader, CPU seconds, executions, edges,
# the execution that found the last new edge (0: none beyond the corpus), and the
# CPU seconds since then.
# Lines that are worth keeping stand in tests/fuzz/runs.log (tools/fuzz-hours.sh).
set -eu
fuzz=$1 seconds=$2
shift 2
[ $# -gt 0 ] || set -- $(READER= "$fuzz" -runs=1 2>&1 | sed -n 's/.*READER names one of: //p')
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
corpora=${CORPORA:-build/fuzzer/corpus} quiet=${QUIET:-1200} jobs=${JOBS:-2}

edges() { sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$1" | tail -1; }
cpu() { ps -o time= -p "$1" | tr -- '-:' '  ' | awk '{ for (i = 1; i <= NF; i++) s = s * (NF == 4 && i == 2 ? 24 : 60) + $i } END { print s + 0 }'; }

one() {
    log=build/fuzzer/$1.log
    mkdir -p "$corpora/$1"
    # -close_fd_mask=3 hides what the readers print
    READER=$1 "$fuzz" "$corpora/$1" "tests/fuzz/corpus/$1" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 \
        -max_len=16384 -close_fd_mask=3 -artifact_prefix="build/fuzzer/crash-$1-" -print_final_stats=1 >"$log" 2>&1 &
    pid=$! most=0 since=0 now=0 enough=
    while sleep 5; do
        time=$(cpu $pid)
        [ "$time" -gt 0 ] || { kill -0 $pid 2>/dev/null && continue || break; }
        now=$time count=$(edges "$log")
        [ "${count:-0}" -le "$most" ] || { most=$count since=$now; }
        # libFuzzer ends in order at SIGTERM, with 72
        [ -n "$enough" ] || [ $((now - since)) -lt "$quiet" ] || { enough=72 && kill $pid; }
    done
    code=0 && wait $pid || code=$?
    [ $code = 0 ] || [ "$code" = "$enough" ] ||
        { echo "fuzz-readers: $1 failed; see $log and build/fuzzer/crash-$1-*"; return 1; }
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    most=$(edges "$log")
    last=$(awk '$3 == "cov:" && $4 > most { most = $4; at = $2 == "INITED" ? 0 : substr($1, 2) } END { print at }' "$log")
    [ "$last" != 0 ] || since=0
    echo "$commit $1 $now $executions $most $last $((now - since))" >>build/fuzzer/runs.log
    echo "fuzz-readers: $1: $executions executions in $now s of CPU, $most edges (none new for $((now - since)) s), no crash, leak or hang"
}

running=0 status=0
for reader; do
    one "$reader" &
    running=$((running + 1))
    if [ $((running % jobs)) = 0 ]; then wait || status=1; fi
done
wait || status=1
ls build/fuzzer/crash-* >/dev/null 2>&1 && status=1
exit $status
