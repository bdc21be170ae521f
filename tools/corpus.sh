#!/bin/sh
# docs/CORPUS.md again: JAX's kernels, and tokamax's where its environment can be made.
set -eu
[ -x build/venv/bin/python ] || tools/test-jax.sh >/dev/null
code=0
build/venv/bin/python tools/corpus.py --write || code=1
if [ ! -x build/venv-tokamax/bin/python ]; then
    python3 -m venv build/venv-tokamax && build/venv-tokamax/bin/pip install -q --disable-pip-version-check tokamax==0.0.12 ||
        { rm -rf build/venv-tokamax; echo "corpus: tokamax could not be installed (no network?); its table is left unchanged"; exit $code; }
fi
build/venv-tokamax/bin/python tools/corpus.py --write || code=1
exit $code
