#!/bin/sh
# The code of every finding by its name, TP_RULE_BLOCK_OUT_OF_BOUNDS: of the
# rules by the names of their files, of the others by the rows of base/codes.def.
set -eu
cd "$(dirname "$0")/.."
{
    ls analyzer/rules | sed -n 's/^tp\([0-9][0-9][0-9]\)_\(.*\)\.c$/\2 TP\1/p'
    sed -n 's/^X("\(TP[0-9]*\)", "\([^"]*\)".*/\2 \1/p' base/codes.def
} | LC_ALL=C sort | awk '{ name = toupper($1); gsub(/-/, "_", name); printf "#define TP_RULE_%s \"%s\"\n", name, $2 }'
