#!/bin/sh
# The wheel of build/dist in a clean root, which has Python and no compiler: tests/jax/wheel.py there, JAX by the extra. What pip installs is brought along.
set -eu
cd "$(dirname "$0")/.."
wheel=$(ls build/dist/*.whl 2>/dev/null) || { echo "test-wheel-root: build/dist has no wheel: make wheel" >&2; exit 2; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
tools/clean-root.sh "$root/root" 'apt-get install -y -qq --no-install-recommends python3-venv' README.md examples tests
mkdir -p "$root/root/packages/build/dist" && cp "$wheel" "$root/root/packages/build/dist/"
version=$(chroot "$root/root" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
python3 -m pip download -q --disable-pip-version-check --only-binary=:all: --python-version "$version" -d "$root/root/packages/build/dist" "$wheel[jax]"
# the loader finds the libraries beside the program by /proc
unshare --mount --fork --pid --mount-proc="$root/root/proc" chroot "$root/root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin PIP_NO_INDEX=1 PIP_FIND_LINKS=/packages/build/dist python3 /packages/tests/jax/wheel.py clean
