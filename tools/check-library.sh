#!/bin/sh
# usage: tools/check-library.sh BUILD
# Do the installed libraries keep what docs/EMBEDDING.md and include/ promise? Installs into a folder of its own; looks
# at files, symbols, calls, variables and headers; builds the programs of examples/embedding and tests/library with
# pkg-config and runs them. Names all that it finds.
set -u
build=$1
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
touch "$room/wrong"
fail() { echo "library: $*" | tee -a "$room/wrong" >&2; }
# Lines that only the first of two sorted files has, with the words for it.
only_in() { LC_ALL=C comm -23 "$1" "$2" | while read -r line; do fail "$3 $line$4"; done; }
${MAKE:-make} --no-print-directory -s install PREFIX="$room" DESTDIR= >"$room/log" 2>&1 || { cat "$room/log" >&2; fail "make install"; exit 1; }
export PKG_CONFIG_PATH="$room/lib/pkgconfig" LD_LIBRARY_PATH="$room/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
version=$(sed -n 's/^#define TP_VERSION "\(.*\)"/\1/p' base/version.h)

# ---- files: type, mode, path, target of a link ----
find "$room"/bin "$room"/include "$room"/lib "$room"/share ! -type d -printf '%y %m %p %l\n' |
    sed "s|$room/||; s|$version|VERSION|; s| *\$||" | LC_ALL=C sort >"$room/files"
{ cat tests/library/files; ls examples/*/*.tile.json | grep -v /broken/ | sed 's|^|f 644 share/tileproof/|'; } | LC_ALL=C sort >"$room/wanted"
only_in "$room/wanted" "$room/files" "make install leaves out" ""
only_in "$room/files" "$room/wanted" "make install makes" ", which tests/library/files has not"

# ---- symbols, needs, calls and variables of the libraries ----
# What no library calls: it would print, end the process, or change or read what all of the process share.
calls='exit|quick_exit|atexit|on_exit|(__)?v?printf(_chk)?|puts|putchar(_unlocked)?|perror|psignal|stdin|stdout|stderr|v?syslog|openlog|setlocale|setenv|unsetenv|putenv|clearenv|f?chdir|umask|s?rand|s?random|[delmnj]rand48|strtok|localtime|gmtime|asctime|ctime|system|popen'
# The prover forks, with limits and an alarm in the child.
calls_libtileproof="$calls|v?fork|exec.*|posix_spawnp?|_exit|_Exit|kill|raise|signal|sigaction|sigprocmask|pthread_sigmask|setitimer|alarm|setrlimit|(secure_)?getenv"
needs='libjson-c|libmd|libsleef|libm|libc|libpthread|ld-linux.*'
for l in libtileproof libtileproof-verify; do
    so=$room/lib/$l.so
    nm -D --defined-only "$so" | awk '{print $3}' | LC_ALL=C sort >"$room/$l.shared"
    nm -g --defined-only "$room/lib/$l.a" 2>/dev/null | awk '$3 {print $3}' | LC_ALL=C sort >"$room/$l.static"
    grep . "tests/library/$l.symbols" | LC_ALL=C sort >"$room/wanted"
    for kind in shared static; do
        only_in "$room/$l.$kind" "$room/wanted" "$l ($kind) exports" ", which tests/library has not"
        only_in "$room/wanted" "$room/$l.$kind" "$l ($kind) does not export" ", which tests/library has"
    done
    readelf -dW "$so" >"$room/dynamic"
    grep -q "SONAME.*\[$l\.so\.0\]" "$room/dynamic" || fail "$l.so has the wrong SONAME, or none"
    grep -qE 'RPATH|RUNPATH' "$room/dynamic" && fail "$l.so looks for libraries in a folder of its own"
    grep -q TEXTREL "$room/dynamic" && fail "$l.so changes its code when it is loaded"
    readelf -lW "$so" | grep -q 'GNU_STACK.*RWE' && fail "$l.so has a stack that can be executed"
    for n in $(sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' "$room/dynamic"); do
        echo "${n%%.so*}" | grep -qxE "$needs$([ $l = libtileproof ] || echo '|libz3|libgmp')" || fail "$l needs ${n%%.so*}"
    done
    for c in $(nm -u "$room/lib/$l.a" 2>/dev/null | awk 'NF == 2 {print $2}' | sort -u); do
        echo "$c" | grep -qxE "$([ $l = libtileproof ] && echo "$calls_libtileproof" || echo "$calls")" && fail "$l uses $c"
    done
    # The compiler numbers variables of functions, or puts the function before them.
    objdump -t "$room/lib/$l.a" 2>/dev/null | awk '/ \.t?(data|bss)/ && !/rel\.ro| d / {print $NF}' |
        sed 's/\.[0-9]*$//; s/.*\.//' | LC_ALL=C sort -u >"$room/$l.variables"
    awk '/^[^#]/ {print $1}' tests/library/variables | LC_ALL=C sort >"$room/wanted"
    only_in "$room/$l.variables" "$room/wanted" "$l keeps the variable" ", which tests/library/variables does not explain"
done
only_in "$room/wanted" "$room/libtileproof-verify.variables" "tests/library/variables explains" ", and no library has it"

# ---- headers: by themselves, in C and C++; they define nothing, and name nothing of others ----
for h in tileproof tileproof_verify; do
    header=$room/include/$h.h
    echo "#include <$h.h>" >"$room/alone.c"
    cp "$room/alone.c" "$room/alone.cpp"
    cc -std=c11 -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror -I"$room/include" -c "$room/alone.c" -o "$room/alone.o" || fail "$h.h does not compile by itself as C11"
    c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$room/include" -fsyntax-only "$room/alone.cpp" || fail "$h.h does not compile by itself as C++17"
    for d in $(nm --defined-only "$room/alone.o" 2>/dev/null | awk '{print $3}'); do fail "$h.h defines $d"; done
    # Words of the header without comments and strings: macros and their like in capitals, the others as functions and types.
    cc -fpreprocessed -dD -E -P "$header" | sed 's/"[^"]*"//g' >"$room/text"
    grep -oE '#define +\w+|[{,] *[A-Z][A-Z0-9_]+|typedef +\w+[^;({]* \w+;|\} *\w+;' "$room/text" | sed 's/;$//' | grep -oE '\w+$' |
        grep -vE '^(tileproof|TILEPROOF)_' | while read -r name; do fail "$h.h names $name, which does not begin with tileproof_"; done
    for f in $(tr '\n' ' ' <"$room/text" | grep -oE '\w+\(' | grep -oE '^tileproof_\w+' | sort -u); do
        l=libtileproof$([ $h = tileproof ] || echo -verify)
        grep -qxF "$f" "$room/$l.shared" || fail "$h.h declares $f, which $l does not export"
    done
done
for s in $(cat "$room/libtileproof-verify.shared"); do
    grep -qE "\b$s\(" "$room"/include/*.h || fail "no header declares $s"
done

# ---- programs ----
cp examples/embedding/* tests/library/* "$room"
cd "$room"
# NAME PACKAGE KIND COMMAND...: links by pkg-config, shared or static.
link() {
    name=$1 package=$2 kind=$3
    shift 3
    if [ $kind = shared ]; then
        "$@" $(pkg-config --cflags --libs $package) -pthread -o $name
    else
        "$@" $(pkg-config --cflags $package) "lib/lib$package.a" $(pkg-config --static --libs $package | sed "s/-l$package\b//") -pthread -o $name
    fi || fail "$package does not link ($kind, $1)"
}
for p in tileproof tileproof-verify; do
    [ "$(pkg-config --modversion $p)" = "$version" ] || fail "pkg-config says that $p has the version $(pkg-config --modversion $p), not $version"
done
c="cc -std=c11 -Wall -Wextra -Wpedantic"
link run tileproof shared $c -Werror run.c
link run_static tileproof static $c run.c
link verify tileproof-verify shared c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror verify.cpp
link in_place tileproof shared $c in_place.c
link again tileproof static $c -DCOUNT again.c
link promises tileproof shared $c -DVERSION="\"$version\"" promises.c
link promises_verify tileproof-verify static $c -DVERSION="\"$version\"" -DPROVER promises.c

spec=share/tileproof/examples/elementwise/add_2d.tile.json
bin/tileproof verify -q --receipt receipt.json add_2d >/dev/null || fail "the installed program does not find its gallery"
for program in run run_static; do
    [ -x $program ] || continue
    ./$program $spec receipt.json >out 2>&1
    diff out run.expected >difference || fail "$program prints something else: $(cat difference)"
done
sed 's/"+"/"-"/; s/x\[...\] + y/x[...] - y/' $spec >broken.tile.json
[ ! -x run ] || ! ./run broken.tile.json receipt.json >out 2>&1 || fail "a receipt of another spec was accepted"
[ ! -x verify ] || ./verify $spec broken.tile.json share/tileproof/examples/matmul/matmul_relu.tile.json >out 2>&1 && fail "verify accepts a broken kernel"
if [ -x verify ]; then
    grep -v "^  TP701: output" out | diff - verify.expected >difference && grep -q "^  TP701: output" out || fail "verify prints something else: $(cat out)"
fi
for program in in_place again promises promises_verify; do
    [ -x $program ] || continue
    status=0
    ./$program $spec receipt.json >out 2>&1 || status=$?
    while read -r line; do fail "$line"; done <out
    [ $status = 0 ] || [ -s out ] || fail "$program ends with status $status"
done
[ ! -s wrong ] || exit 1
echo "library: installed, linked from C and C++, static and shared, and as its headers promise"
