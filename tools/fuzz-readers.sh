#!/bin/sh
# Every reader under libFuzzer, two at a time; new inputs go to build/fuzzer/corpus.
set -eu
fuzz=$1 seconds=$2
readers=$(READER= "$fuzz" -runs=1 2>&1 | sed -n 's/.*READER names one of: //p')
one() {
    mkdir -p "build/fuzzer/corpus/$1"
    # -close_fd_mask=3 hides what the readers print
    READER=$1 "$fuzz" "build/fuzzer/corpus/$1" "tests/fuzz/corpus/$1" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 \
        -max_len=16384 -close_fd_mask=3 -artifact_prefix="build/fuzzer/crash-$1-" -print_final_stats=1 >"build/fuzzer/$1.log" 2>&1 ||
        { echo "fuzz-readers: $1 failed; see build/fuzzer/$1.log and build/fuzzer/crash-$1-*"; return 1; }
    echo "fuzz-readers: $1: $(sed -n 's/^stat::number_of_executed_units: *//p' "build/fuzzer/$1.log") executions in $seconds s, no crash, leak or hang"
}
running=0 status=0
for reader in $readers; do
    one "$reader" &
    running=$((running + 1))
    if [ $((running % 2)) = 0 ]; then wait || status=1; fi
done
wait || status=1
ls build/fuzzer/crash-* >/dev/null 2>&1 && status=1
exit $status
