#!/bin/sh
# Installs into a folder of its own, builds the examples of examples/embedding
# against it with pkg-config, runs them, and compares the exported symbols with
# tests/library.
set -eu
build=$1
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
fail() { echo "library: $*" >&2; exit 1; }
${MAKE:-make} --no-print-directory -s install PREFIX="$room" DESTDIR= >"$room/log" 2>&1 || { cat "$room/log" >&2; fail "make install"; }
export PKG_CONFIG_PATH="$room/lib/pkgconfig" LD_LIBRARY_PATH="$room/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
for l in tileproof tileproof-verify; do
    nm -D --defined-only "$room/lib/lib$l.so" | awk '{print $3}' | LC_ALL=C sort >"$room/symbols"
    diff "tests/library/lib$l.symbols" "$room/symbols" || fail "lib$l exports other symbols than tests/library says"
    nm -g --defined-only "$room/lib/lib$l.a" 2>/dev/null | awk '$3 {print $3}' | LC_ALL=C sort >"$room/static"
    diff "$room/symbols" "$room/static" || fail "lib$l.a exports other symbols than lib$l.so"
    readelf -d "$room/lib/lib$l.so" | grep -q "SONAME.*lib$l.so.0" || fail "lib$l.so has no SONAME"
done
readelf -d "$room/lib/libtileproof.so" | grep -q z3 && fail "libtileproof needs Z3"
cp examples/embedding/* tests/library/*.[ch] "$room"
cd "$room"
cc -std=c11 -Wall -Wextra -Wpedantic -Werror run.c $(pkg-config --cflags --libs tileproof) -o run
cc -std=c11 run.c -I"$room/include" "$room/lib/libtileproof.a" $(pkg-config --static --libs tileproof | sed 's/-ltileproof//') -o run_static
c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror verify.cpp $(pkg-config --cflags --libs tileproof-verify) -pthread -o verify
spec=$room/share/tileproof/examples/elementwise/add_2d.tile.json
bin/tileproof verify -q --receipt receipt.json add_2d >/dev/null || fail "the installed program does not find its gallery"
for program in ./run ./run_static; do
    $program "$spec" receipt.json >out || { cat out; fail "$program"; }
    grep -q '^without a receipt: refused$' out || fail "$program ran without a receipt"
    grep -q '^add_2d for tpu-v5e: ok, o\[299\]\[699\] = 998$' out || fail "$program: $(cat out)"
done
cc -std=c11 -Wall -Wextra in_place.c $(pkg-config --cflags --libs tileproof) -o in_place
./in_place "$spec" receipt.json || fail "outputs in the caller's memory"
cc -std=c11 -DCOUNT -Wall -Wextra again.c -I"$room/include" "$room/lib/libtileproof.a" $(pkg-config --static --libs tileproof | sed 's/-ltileproof//') -pthread -o again
./again "$spec" receipt.json || fail "calls after the first"
sed 's/"+"/"-"/; s/x\[...\] + y/x[...] - y/' "$spec" >broken.tile.json
./run broken.tile.json receipt.json >out 2>&1 && fail "a receipt of another spec was accepted"
./verify "$spec" broken.tile.json share/tileproof/examples/matmul/matmul_relu.tile.json >out && fail "verify accepts a broken kernel"
grep -q "add_2d.tile.json: ok" out && grep -q "matmul_relu.tile.json: ok" out && grep -q "broken.tile.json: violated" out &&
    grep -q "TP701: output" out || fail "verify: $(cat out)"
echo "library: installed, linked from C and C++, static and shared"
