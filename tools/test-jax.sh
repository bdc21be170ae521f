#!/bin/sh
# Comparisons with a live JAX and NumPy, in a virtual environment under build/.
set -eu
venv=build/venv
tools/venv.sh $venv tests/jax/requirements.txt
code=0
"$venv/bin/python" tests/jax/semantics.py || code=1
"$venv/bin/python" tests/jax/references.py || code=1
"$venv/bin/python" tests/jax/conversions.py || code=1
"$venv/bin/python" tools/mosaic.py || code=1
"$venv/bin/python" tests/jax/arrays.py || code=1
"$venv/bin/python" tests/jax/integrations.py || code=1
"$venv/bin/python" tests/jax/schema.py || code=1
"$venv/bin/python" tests/jax/reports.py || code=1
"$venv/bin/python" tests/jax/bridge.py --count "${BRIDGE:-40}" || code=1
export JAX_PLATFORMS=cpu
(cd python/tests && PYTHONPATH=.. ../../"$venv"/bin/python -m pytest -q -n 2 -p no:cacheprovider) || code=1
if ls build/dist/*.whl >/dev/null 2>&1; then
    python3 tests/jax/wheel.py || code=1
else
    echo "wheel: not built, not tested: make wheel"
fi
exit $code
