#!/bin/sh
# Comparisons with a live JAX and NumPy, in a virtual environment under build/.
set -eu
venv=build/venv
stamp=$venv/.requirements
if ! cmp -s tests/jax/requirements.txt "$stamp"; then
    if ! python3 -c 'import ensurepip, venv' >/dev/null 2>&1; then
        if [ "$(id -u)" = 0 ]; then sudo=; else sudo=sudo; fi
        $sudo apt-get update -qq && $sudo apt-get install -y -qq --no-install-recommends python3 python3-venv || {
            echo "test-jax needs python3 with venv: apt-get install python3 python3-venv" >&2
            exit 2
        }
    fi
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check -r tests/jax/requirements.txt || {
        echo "test-jax: the packages of tests/jax/requirements.txt could not be installed (no network?)" >&2
        exit 2
    }
    cp tests/jax/requirements.txt "$stamp"
fi
code=0
"$venv/bin/python" tests/jax/semantics.py || code=1
"$venv/bin/python" tests/jax/references.py || code=1
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
