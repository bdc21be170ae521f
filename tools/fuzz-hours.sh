#!/bin/sh
# Sums tests/fuzz/runs.log, reader by reader, and tests/fuzz/processes.log, as the table in docs/SECURITY.md.
set -eu
awk '!/^#/ { seconds[$2] += $3; runs[$2] += $4; if ($5 > edges[$2]) edges[$2] = $5; all += $3; executions += $4 }
    END {
        print "| reader | CPU minutes | executions | edges |"
        print "|---|---|---|---|"
        for (r in seconds) printf "| %s | %.0f | %d | %d |\n", r, seconds[r] / 60, runs[r], edges[r] | "sort"
        close("sort")
        printf "| all | %.0f | %d | |\n", all / 60, executions
    }' tests/fuzz/runs.log
awk '!/^#/ { n += $3; seconds += $9 } END { printf "| whole processes | %.0f | %d | |\n", seconds / 60, n }' tests/fuzz/processes.log
