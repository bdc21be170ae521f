#!/bin/sh
# Sums tests/fuzz/runs.log, reader by reader, and tests/fuzz/processes.log, as the table in docs/SECURITY.md, with the
# minutes that passed since the last new edge, and whether the bar is met: two CPU hours, or 20 minutes without one.
# A run that finds none goes on from the runs before it. Runs from before the log counted these seconds have them by
# executions.
set -eu
awk '!/^#/ {
        seconds[$2] += $3; runs[$2] += $4; all += $3; executions += $4
        since = NF > 6 ? $7 : $3 * ($4 - $6) / $4
        quiet[$2] = (NF > 6 && $6 == 0 && $5 >= edges[$2] ? quiet[$2] : 0) + since
        if ($5 > edges[$2]) edges[$2] = $5
    }
    END {
        print "| reader | CPU minutes | executions | edges | minutes since the last new edge | bar |"
        print "|---|---|---|---|---|---|"
        for (r in seconds) {
            met = seconds[r] >= 7200 || quiet[r] >= 1200
            count += met
            printf "| %s | %.0f | %d | %d | %.1f | %s |\n", r, seconds[r] / 60, runs[r], edges[r], quiet[r] / 60, met ? "met" : "open" | "sort"
            readers++
        }
        close("sort")
        printf "| all | %.0f | %d | | | %d of %d |\n", all / 60, executions, count, readers
    }' tests/fuzz/runs.log
awk '!/^#/ { n += $3; seconds += $9 } END { printf "| whole processes | %.0f | %d | | | |\n", seconds / 60, n }' tests/fuzz/processes.log
