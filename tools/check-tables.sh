#!/bin/sh
# Every row has its test data: a rule its bad and ok specs, a trap rule and a
# primitive their example in tests/semantics or examples.
set -eu
tileproof=${1:-build/tileproof}
status=0
say() { echo "$*"; status=1; }
for rule in analyzer/rules/tp*.c; do
    slug=$(sed -n 's/.*\.slug = "\(.*\)",/\1/p' "$rule")
    code=$(sed -n 's/.*\.code = "\(.*\)",/\1/p' "$rule")
    [ "$rule" = "analyzer/rules/$(echo "${code}_$slug" | tr 'A-Z-' 'a-z_').c" ] || say "$rule: its descriptor says $code, $slug"
    ls tests/rules/"$slug"/bad_*.tile.json >/dev/null 2>&1 || say "$code: tests/rules/$slug/bad_*.tile.json is missing"
    ls tests/rules/"$slug"/ok_*.tile.json >/dev/null 2>&1 || say "$code: tests/rules/$slug/ok_*.tile.json is missing"
    "$tileproof" explain "$code" >/dev/null || say "$code: no explanation"
done
for folder in $(find tests -mindepth 1 -maxdepth 1 -type d | sort); do
    grep -q "^|.*\`${folder#tests/}/" tests/README.md || say "$folder/: no question of tests/README.md names it"
done
for program in tests/unit/test_*.c tests/attack/test_*.c; do
    name=$(basename "$program" .c)
    grep -q "\b$name\.c\b" tests/README.md || say "$program: tests/README.md does not say what it holds"
done
for spec in tests/rules/*/*.tile.json; do
    grep -q '"x-test"' "$spec" || say "$spec: no x-test, so it expects nothing"
done
for code in $("$tileproof" rules | awk '/execution/ {on = 1} /errors of/ {on = 0} on && $1 ~ /^TP/ {print $1}' | grep -v TP70); do
    grep -q "\"trap\": \"$code\"" tests/semantics/*.tile.json || say "$code: no trap in tests/semantics"
done
# hours of fuzzing are those of the log
[ "$(tools/fuzz-hours.sh)" = "$(sed -n '/<!-- fuzzed -->/,/<!-- end -->/{/^|/p}' docs/SECURITY.md)" ] || say "docs/SECURITY.md: its table is not what tools/fuzz-hours.sh makes of tests/fuzz/runs.log"
# a code is written once: in its rule's descriptor or its row of base/codes.def; others say TP_RULE_NAME
literals=$(find $(tools/linkgraph.sh build/release folders) -name '*.[ch]' | sort | xargs awk '
    FNR == 1 { comment = 0 }
    {
        line = $0
        if (comment && !sub(/^.*\*\//, "", line)) next
        for (comment = 0; !comment && (i = index(line, "/*")); ) { # outside strings
            quotes = before = substr(line, 1, i - 1)
            gsub(/\\"/, "", quotes)
            if (gsub(/"/, "", quotes) % 2) break
            line = substr(line, i + 2)
            comment = !sub(/^.*\*\//, "", line)
            line = before (comment ? "" : line)
        }
    }
    FILENAME ~ /^analyzer\/rules\// && line ~ /^ *\.code = "TP[0-9]+",$/ { next }
    match(line, /"[^"]*TP[0-9][0-9][0-9]/) {
        match(line, /TP[0-9][0-9][0-9]/)
        print FILENAME ":" FNR " names " substr(line, RSTART, 5) " by its number; build/gen/codes.h has its name"
    }')
# nor does a cast drop const by way of an integer, which no compiler sees
for cast in $(grep -nE '\*+\) ?\(uintptr_t\)' $(find $(tools/linkgraph.sh build/release folders) tests -name '*.[ch]' ! -path base/arena.h) | grep -v dlsym | cut -d: -f1,2 | sort); do
    say "$cast: a cast that drops const; tp_writable() of base/arena.h says why"
done
# nor does a switch forget its enum, which -Wswitch-enum would have to see
for switch in $(grep -nE 'switch ?\( ?\((int|unsigned|unsigned int|long|size_t|u?int[0-9]+_t)\)' $(find $(tools/linkgraph.sh build/release folders) -name '*.[ch]' | sort) | cut -d: -f1,2); do
    say "$switch: a switch over a cast, which hides from -Wswitch-enum what it does not handle"
done
[ -z "$literals" ] || say "$literals"
for name in $("$tileproof" primitives | awk 'NR > 1 && $1 ~ /^[a-z_0-9]+$/ {print $1}'); do
    case $name in program_id | if | for | neg | square) continue ;; esac # written without their name
    grep -q "[^a-z_]$name(\|\.$name(\|\b$name " tests/semantics/*.tile.json || say "primitive $name: no example in tests/semantics"
done
for spec in examples/*/*.tile.json; do
    case $spec in */broken/*) continue ;; esac
    name=$(basename "$spec" .tile.json)
    grep -q "\`$name\`" docs/GALLERY.md || say "$name: not in docs/GALLERY.md"
done
for letter in $(cat cli/commands/*.c | tr -s '\n ' ' ' | grep -o "tp_command tp_command_[a-z_]* = { *\"[^\"]*\", '.'" | sed 's/.*, //' | sort | uniq -d); do
    say "two commands have the letter $letter"
done
# copies of what the tables say
copies=$(mktemp -d)
tools/generate-docs.sh "$tileproof" "$copies"
for copy in $(cd "$copies" && find . -type f | sort); do
    cmp -s "$copies/$copy" "$copy" || say "$copy is not what the tables say: make docs"
done
rm -rf "$copies"
# and their readers, where they are installed
! command -v mandoc >/dev/null || [ -z "$(mandoc -T lint docs/tileproof.1)" ] || say "docs/tileproof.1: $(mandoc -T lint docs/tileproof.1 | head -1)"
for shell in bash zsh fish; do
    ! command -v $shell >/dev/null || $shell -n docs/completion/tileproof.$shell || say "docs/completion/tileproof.$shell: $shell cannot read it"
done
exit $status
