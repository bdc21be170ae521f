#!/bin/sh
# Writes what is made of the tables below a folder: generate-docs.sh TILEPROOF FOLDER
set -eu
tileproof=$1 to=$2
mkdir -p "$to/docs/completion"
"$tileproof" rules --markdown >"$to/docs/RULES.md"
"$tileproof" schema >"$to/docs/spec.schema.json"
"$tileproof" schema settings >"$to/docs/settings.schema.json"
"$tileproof" man >"$to/docs/tileproof.1"
for shell in bash zsh fish; do
    "$tileproof" completion $shell >"$to/docs/completion/tileproof.$shell"
done
mkdir -p "$to/python/tileproof"
{
    printf '"""The primitives of the language, by name: kind, and the JAX primitive each stands for; its types, by their short names. Written by `make docs`."""\n\nPRIMITIVES = {\n'
    "$tileproof" primitives | awk 'NR > 1 && $2 ~ /^[a-z]+$/ { printf "    \"%s\": (\"%s\", \"%s\"),\n", $1, $2, $3 }'
    echo "}"
    printf '\nDTYPES = {\n'
    awk -F'"' '/^X\(/ { printf "    \"%s\": \"%s\",\n", $4, $2 }' "$(dirname "$0")/../base/dtypes.def"
    echo "}"
} >"$to/python/tileproof/vocabulary.py"
