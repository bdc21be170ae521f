#!/bin/sh
# usage: tests/guards/run.sh [GUARD...]
# Can the guards fail? Plants each offence of offences.sh in a copy of the tree,
# and demands that its guard refuses it with the words that it should have. Of all guards, or of those named.
set -eu
guards=${*:-layers tables size format library strict}
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
tar cf - --exclude=./build --exclude=./.git . | tar xf - -C "$room"
mkdir -p "$room/build"
for built in release gen strict tileproof; do [ ! -e "build/$built" ] || cp -a "build/$built" "$room/build/"; done
cd "$room"
count=0 missed=0

keep() { for f in "$@"; do [ ! -e "$f" ] || [ -e "kept/$f" ] || { mkdir -p "kept/$(dirname "$f")"; cp -p "$f" "kept/$f"; }; done; }
edit() {
    action=$1 file=$2
    case $action in
    add) keep "$file"; printf '%s\n' "$3" >>"$file" ;;
    change)
        for f in $file; do
            grep -qF -- "$3" "$f" || continue
            keep "$f"
            FROM=$3 TO=$4 awk '{ while (i = index($0, ENVIRON["FROM"])) { printf "%s%s", substr($0, 1, i - 1), ENVIRON["TO"]; $0 = substr($0, i + length(ENVIRON["FROM"])) } print }' "$f" >edited
            cat edited >"$f"
        done ;;
    drop) for f in $file; do keep "$f"; rm "$f"; done ;;
    new) mkdir -p "$(dirname "$file")"; printf '%s\n' "$3" >"$file"; echo "$file" >>made ;;
    long) seq 900 >"$file"; echo "$file" >>made ;;
    esac
}
restore() {
    [ ! -d kept ] || { (cd kept && find . -type f) | while read -r f; do cat "kept/$f" >"$f" 2>/dev/null || { mkdir -p "$(dirname "$f")"; cp "kept/$f" "$f"; }; done; rm -rf kept; }
    [ ! -e made ] || { xargs rm -f <made; rm made; }
    rmdir widgets tests/planted 2>/dev/null || true
}
guard() {
    case $1 in
    layers) # what does not even compile is an offence all the same
        ${MAKE:-make} --no-print-directory -s all || true
        tools/check-layers.sh build/release ;;
    format) tools/check-format.sh build/tileproof ;; # of what is written: nothing is built
    size) tools/check-size.sh ;;
    strict) ${MAKE:-make} --no-print-directory -s MODE=strict build/strict/base/str.o ;;
    *) ${MAKE:-make} --no-print-directory -s "check-$1" ;;
    esac
}
asked() { case " $guards " in *" $1 "*) ;; *) return 1 ;; esac; }
offence() {
    name=$1 words=$2
    shift 2
    asked "$name" || return 0
    edit "$@"
    [ -d kept ] || [ -e made ] || { echo "guards: nothing was planted: $*"; missed=$((missed + 1)); }
    status=0
    guard "$name" >said 2>&1 || status=$?
    count=$((count + 1))
    if [ $status = 0 ]; then
        echo "guards: check-$name accepts: $*"; missed=$((missed + 1))
    elif ! grep -qF -- "$words" said; then
        echo "guards: check-$name refuses without the words \"$words\": $*"; sed 's/^/    /' said | tail -5; missed=$((missed + 1))
    fi
    restore
}
# Where a guard names all that it finds, many are planted at once: `also` plants one, `together GUARD` runs it.
also() { printf '%s\n' "$1" >>wanted; shift; [ $# = 0 ] || edit "$@"; } # without an edit: of the one before, too
together() {
    asked "$1" || { rm wanted; restore; return 0; }
    status=0
    guard "$1" >said 2>&1 || status=$?
    [ $status != 0 ] || echo "guards: check-$1 accepts all that was planted together"
    while read -r words; do
        count=$((count + 1))
        [ $status != 0 ] && grep -qF -- "$words" said || { echo "guards: check-$1 does not say \"$words\""; missed=$((missed + 1)); }
    done <wanted
    [ -z "${GUARD_VERBOSE-}" ] || sed 's/^/    /' said
    rm wanted
    restore
}
for name in $guards; do
    guard $name >said 2>&1 || { cat said; echo "guards: check-$name refuses the tree as it is"; exit 1; }
done
. tests/guards/offences.sh
[ $missed = 0 ] || { echo "guards: $missed of $count offences are not noticed"; exit 1; }
echo "guards: each of $count planted offences is refused"
