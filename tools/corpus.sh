#!/bin/sh
# docs/CORPUS.md again, in a run that goes on where it was stopped: JAX's kernels, tokamax's, and those of the packages of tools/corpus.txt, which are unpacked and not installed.
set -eu
venv=build/venv-corpus
tools/venv.sh $venv tools/corpus-requirements.txt
grep -v '^#' tools/corpus.txt | while read -r name version _; do
    folder=build/corpus/$name
    [ "$(cat "$folder/.version" 2>/dev/null)" = "$version" ] && continue
    rm -rf "$folder" && mkdir -p "$folder"
    # some ask for a later Python than this one; their kernels do not
    $venv/bin/pip download -q --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.12 -d "$folder" "$name==$version" || {
        echo "corpus: $name $version could not be downloaded (no network?)" >&2
        exit 2
    }
    (cd "$folder" && python3 -m zipfile -e ./*.whl . && rm ./*.whl && echo "$version" >.version)
done
exec $venv/bin/python tools/corpus.py
