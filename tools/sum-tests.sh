#!/bin/sh
# One line of what cmocka's logs say together: sum-tests.sh TEST.log…, with the program's exit code in TEST.code.
# A program that did not run, or failed without saying of what (a crash), counts as one failed test; OTHERS=N are more
# that passed, BROKEN=N more that failed.
set -eu
passed=${OTHERS:-0} failed=${BROKEN:-0} skipped=0
count() { sed -n "s/^\[  $1 *\] \([0-9]*\) test.*/\1/p" "$2" 2>/dev/null | tail -1; }
for log; do
    p=$(count PASSED "$log") f=$(count FAILED "$log") s=$(count SKIPPED "$log")
    [ "$(cat "${log%.log}.code" 2>/dev/null)" = 0 ] || [ -n "$f" ] || f=1
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-0})) skipped=$((skipped + ${s:-0}))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
