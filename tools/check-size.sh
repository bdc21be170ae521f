#!/bin/sh
# A file is one subject: none over 800 lines.
find base spec smt analyzer demand kernels reference report cli tests tools python -name '*.[ch]' -o -name '*.py' -o -name '*.sh' 2>/dev/null | xargs wc -l |
    awk '$2 != "total" && $1 > 800 {print $2 " has " $1 " lines; which second subject lives in it?"; bad = 1} END {exit bad}'
