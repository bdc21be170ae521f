#!/bin/sh
# venv.sh FOLDER REQUIREMENTS: a Python environment with the packages of a file, made again when the file changes.
set -eu
venv=$1 wanted=$2
! cmp -s "$wanted" "$venv/.requirements" || exit 0
if ! python3 -c 'import ensurepip, venv' >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ]; then sudo=; else sudo=sudo; fi
    $sudo apt-get update -qq && $sudo apt-get install -y -qq --no-install-recommends python3 python3-venv || {
        echo "$venv needs python3 with venv: apt-get install python3 python3-venv" >&2
        exit 2
    }
fi
python3 -m venv "$venv"
"$venv/bin/pip" install -q --disable-pip-version-check -r "$wanted" || {
    echo "$venv: the packages of $wanted could not be installed (no network?)" >&2
    exit 2
}
cp "$wanted" "$venv/.requirements"
