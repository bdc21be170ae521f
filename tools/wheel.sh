#!/bin/sh
# build/dist/tileproof-VERSION-py3-none-manylinux_2_28_x86_64.whl: program, libraries and Python package. The compiler is zig's (PyPI), which links
# for an older C library than that of this machine; json-c, libmd and libcrypto are the static archives of the distribution's packages, which
# the link shows to need nothing newer; GMP, whose archive cannot go into a library, and SLEEF, which has none, are carried as shared libraries;
# Z3 is that of z3-solver.
set -eu
cd "$(dirname "$0")/.."
[ "$(uname -sm)" = "Linux x86_64" ] || { echo "wheel: built on Linux x86_64 only" >&2; exit 2; }
tools=build/wheel-tools root=build/portable-root package=build/portable-package
tools/venv.sh $tools tools/wheel-requirements.txt
python=$PWD/$tools/bin/python
z3=$($python -c 'import importlib.util as u; print(u.find_spec("z3").submodule_search_locations[0])')

# headers and libraries that the link may see: no others of this machine
rm -rf $root $package
mkdir -p $root/include/openssl $root/lib
multiarch=/usr/include/$(uname -m)-linux-gnu
for h in json-c gmp.h sha256.h sha2.h Random123 sleef.h; do
    for d in /usr/include "$multiarch"; do [ ! -e "$d/$h" ] || cp -rL "$d/$h" $root/include/; done
done
for d in /usr/include/openssl "$multiarch/openssl"; do [ ! -d "$d" ] || cp -L "$d"/* $root/include/openssl/; done
cp "$z3"/include/z3*.h $root/include/
libraries=/usr/lib/$(uname -m)-linux-gnu
for l in json-c md crypto; do
    cp -L "$libraries/lib$l.a" $root/lib/ || { echo "wheel: lib$l.a is missing: apt-get install the packages of \`make deps\`" >&2; exit 2; }
done
for l in libsleef.so.3 libgmp.so.10; do cp -L "$libraries/$l" $root/lib/ && ln -s $l "$root/lib/${l%.*}"; done

cat >$root/cc <<END
#!/bin/sh
exec $python -m ziglang cc -target x86_64-linux-gnu.2.28 "\$@"
END
chmod +x $root/cc
# the releases of z3-solver name their library differently, and all have it as libz3.so, too
grep -rhoE '\bZ3_[a-z]\w*\(' smt/*.c | tr -d '(' | sort -u | sed 's/.*/void &(void); void &(void) {}/' >$root/z3.c
$root/cc -shared -Wl,-soname,libz3.so -o $root/lib/libz3.so $root/z3.c

echo '{ global: tileproof_*; local: *; };' >$root/exports
ORIGIN='$$ORIGIN'
portable() { # TARGET… with more flags of the linker in $1
    more=$1 && shift
    CFLAGS="-I$PWD/$root/include" LDFLAGS="-L$PWD/$root/lib -Wl,-s '-Wl,-rpath,$ORIGIN/../lib:$ORIGIN/../../z3/lib' $more" \
        ${MAKE:-make} --no-print-directory MODE=portable CC="$PWD/$root/cc" SLEEF=-lsleef "$@"
}
portable "" build/portable/tileproof
portable "-Wl,--version-script=$PWD/$root/exports" build/portable/libtileproof.so build/portable/libtileproof-verify.so

mkdir -p $package/tileproof/bin $package/tileproof/lib $package/tileproof/share/tileproof build/dist
cp -r python/tileproof python/pyproject.toml $package/
find $package -name __pycache__ -prune -exec rm -r {} +
cp LICENSE $package/
# the program and its prover: what the package alone has not
sed -i 's/^requires-python.*/&\ndependencies = ["z3-solver>=4.12.2,<5.5"]/; s/^tileproof-jax = .*/&\ntileproof = "tileproof.binary:main"/' $package/pyproject.toml
cp build/portable/tileproof $package/tileproof/bin/
cp build/portable/libtileproof.so build/portable/libtileproof-verify.so $package/tileproof/lib/
cp $root/lib/libsleef.so.3 $root/lib/libgmp.so.10 $package/tileproof/lib/
mkdir -p $package/licenses
for p in json-c:libjson-c-dev md:libmd-dev gmp:libgmp-dev openssl:libssl-dev sleef:libsleef-dev random123:librandom123-dev; do
    cp -L "/usr/share/doc/${p#*:}/copyright" "$package/licenses/${p%%:*}.txt"
done
for f in $(ls examples/*/*.tile.json | grep -v /broken/); do install -D -m 644 "$f" "$package/tileproof/share/tileproof/$f"; done

rm -f build/dist/*.whl
(cd $package && "$python" -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w ../dist .)
"$python" -m wheel tags --remove --python-tag py3 --abi-tag none --platform-tag manylinux_2_28_x86_64 build/dist/*-any.whl >/dev/null
wheel=$(ls build/dist/*.whl)
version=$(sed -n 's/^#define TP_VERSION "\(.*\)"/\1/p' base/version.h)
case $wheel in *tileproof-"$version"-*) ;; *) echo "wheel: $wheel is not of version $version (base/version.h)" >&2; exit 1 ;; esac
"$python" tools/audit_wheel.py "$wheel"
echo "$wheel"
