#!/bin/sh
# A file is one subject: none over 800 lines, wherever it stands.
find . \( -path ./build -o -path ./.git \) -prune -o -type f \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.def' -o -name '*.py' -o -name '*.sh' -o -name '*.awk' -o -name Makefile \) -exec wc -l {} + |
    awk '$2 != "total" && $1 > 800 {print $2 " has " $1 " lines; which second subject lives in it?"; bad = 1} END {exit bad}'
