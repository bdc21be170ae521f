#!/bin/sh
# Install what the build needs, where it is missing. Arguments: Debian packages.
# As root or through sudo; otherwise print the one line and exit 2.
set -eu
probe() { printf '#include <%s>\nint main(void){return 0;}\n' "$1" | ${CC:-cc} -x c -fsyntax-only - >/dev/null 2>&1; }
if command -v "${CC:-cc}" >/dev/null 2>&1; then
    missing=
    for header in stdio.h z3.h json-c/json.h gmp.h Random123/philox.h sha2.h openssl/evp.h sleef.h; do
        probe "$header" || missing="$missing $header"
    done
    printf '#include <setjmp.h>\n#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <cmocka.h>\n' | "${CC:-cc}" -x c -fsyntax-only - >/dev/null 2>&1 || missing="$missing cmocka.h"
    [ -n "$missing" ] || exit 0
    echo "missing:$missing"
else
    echo "missing: a C compiler"
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "install the development files of Z3, json-c, cmocka, GMP, libmd, OpenSSL, SLEEF and Random123, then run make again" >&2
    exit 2
fi
export DEBIAN_FRONTEND=noninteractive
if [ "$(id -u)" = 0 ]; then
    run=
elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    run="sudo"
else
    echo "run this as root, then make again:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends $*" >&2
    exit 2
fi
echo "installing: $*"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $run apt-get update -qq && $run apt-get install -y -qq --no-install-recommends "$@"; } >"$log" 2>&1; then
    cat "$log" >&2
    echo "the packages could not be installed; the output of apt-get is above" >&2
    exit 2
fi
