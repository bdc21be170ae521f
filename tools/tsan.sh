#!/bin/sh
# The program with eight jobs, and handles of the library in threads of their own.
set -eu
build=$1
export TSAN_OPTIONS="die_after_fork=0 report_thread_leaks=0 halt_on_error=1 exitcode=66"
"$build/tileproof" lint -q -j8 examples tests/rules/block-tiling tests/rules/padding-leak >/dev/null 2>"$build/lint.log" || [ $? = 1 ] || [ $? = 3 ] || { cat "$build/lint.log"; exit 1; }
"$build/tileproof" verify -q -j4 --cases 2 --box 0 examples/elementwise >/dev/null 2>"$build/verify.log" || { cat "$build/verify.log"; exit 1; }
"$build/tileproof" run --threads 4 --unchecked --fill normal --size M=700 --size K=300 --size N=900 examples/matmul/matmul.tile.json >"$build/run.log" 2>&1 || { cat "$build/run.log"; exit 1; }
c++ -std=c++17 -fsanitize=thread -Iinclude examples/embedding/verify.cpp "$build/libtileproof-verify.a" -lz3 -ljson-c -lmd -lgmp $(printf '#include <sleef.h>\n' | cc -x c -fsyntax-only - 2>/dev/null && echo -lsleef) -lm -pthread -o "$build/embedded"
"$build/embedded" examples/elementwise/add*.tile.json examples/matmul/matmul.tile.json >"$build/library.log" 2>&1 || { cat "$build/library.log"; exit 1; }
sleef=$(printf '#include <sleef.h>\n' | cc -x c -fsyntax-only - 2>/dev/null && echo -lsleef)
"$build/tileproof" verify -q --cases 2 --box 0 --receipt "$build/add_2d.json" examples/elementwise/add_2d.tile.json >/dev/null 2>"$build/receipt.log" || { cat "$build/receipt.log"; exit 1; }
cc -std=c11 -fsanitize=thread -Iinclude tests/library/again.c "$build/libtileproof.a" -ljson-c -lmd $sleef -lm -pthread -o "$build/again"
"$build/again" examples/elementwise/add_2d.tile.json "$build/add_2d.json" >"$build/again.log" 2>&1 || { cat "$build/again.log"; exit 1; }
grep -q "WARNING: ThreadSanitizer" "$build"/*.log && { cat "$build"/*.log; exit 1; }
echo "tsan: no race"
