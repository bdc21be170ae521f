# tileproof: a verifier for tiled kernel specs. `make help` lists the targets.
-include local.mk

MODE ?= release
BUILD := build/$(MODE)
GEN := build/gen
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
VERSION := $(shell sed -n 's/^\#define TP_VERSION "\(.*\)"/\1/p' base/version.h)

CC ?= cc
PACKAGES := build-essential pkg-config libz3-dev libjson-c-dev libcmocka-dev libgmp-dev libmd-dev libssl-dev librandom123-dev libmpfr-dev libsleef-dev

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion -Wstrict-prototypes -Wmissing-prototypes \
            -Wold-style-definition -Wundef -Wvla -Wformat=2 -Wwrite-strings -Wcast-qual -Wpointer-arith \
            -Wimplicit-fallthrough -Wswitch-enum -Wno-missing-field-initializers -fno-common -Werror=implicit-function-declaration -Werror=int-conversion
# gcc, also where it is called cc
ifneq ($(findstring Free Software Foundation,$(shell $(CC) --version 2>/dev/null)),)
WARNINGS += -Wlogical-op -Wduplicated-cond -Wjump-misses-init
endif
FLAGS_release := -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong
# by another compiler, for an older C library (tools/wheel.sh); `make strict` has the warnings
FLAGS_portable := -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fno-sanitize=undefined -w
# without the larger instruction sets (base/vectorised.h)
FLAGS_avx2 := $(FLAGS_release) -DTP_INSTRUCTIONS=1
FLAGS_baseline := $(FLAGS_release) -DTP_INSTRUCTIONS=0
FLAGS_debug := -O0 -g3 -DTP_ASSERTS
FLAGS_strict := -O2 -g -Werror
FLAGS_clang := -O2 -g -Werror
FLAGS_asserts := $(FLAGS_release) -DTP_ASSERTS
FLAGS_asan := -O1 -g -DTP_ASSERTS -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FLAGS_tsan := -O1 -g -DTP_ASSERTS -fsanitize=thread
FLAGS_coverage := -O0 -g --coverage

CFLAGS_ALL = -std=c11 $(WARNINGS) $(FLAGS_$(MODE)) -ffp-contract=off -pthread -fPIC -fvisibility=hidden -I. -I$(GEN) -MMD -MP $(CFLAGS)
LDFLAGS_ALL = -pthread $(if $(filter asan,$(MODE)),-fsanitize=address$(comma)undefined) $(if $(filter tsan,$(MODE)),-fsanitize=thread) $(if $(filter coverage,$(MODE)),--coverage) $(LDFLAGS)
# vector exp, log, tanh by SLEEF where it is installed; `make SLEEF=` builds without, with the C library's
# (asked once: the first use replaces the question by its answer)
SLEEF = $(eval SLEEF := $(shell printf '\043include <sleef.h>\n' | $(CC) -x c -fsyntax-only - 2>/dev/null && echo -lsleef))$(SLEEF)
LDLIBS_ALL = -lz3 -ljson-c -lmd -lgmp -lcrypto $(SLEEF) -lm
comma := ,

RUN_SRC := $(wildcard base/*.c spec/*.c domains/*.c kernels/*.c kernels/*/*.c reference/*.c reference/impl/*.c)
PROVE_SRC := $(wildcard cost/*.c demand/*.c smt/*.c smt/trust/*.c analyzer/*.c analyzer/*/*.c report/*.c report/formats/*.c report/page/*.c verify/*.c)
LIB_SRC := $(RUN_SRC) $(PROVE_SRC) $(wildcard sweep/*.c emit/*.c dump/*.c dump/phases/*.c)
CLI_SRC := $(wildcard lsp/*.c cli/*.c cli/generate/*.c cli/commands/*.c)
TEST_SRC := $(wildcard tests/unit/test_*.c)
ATTACK_SRC := $(wildcard tests/attack/test_*.c)
FOLDER_LISTS := $(GEN)/rules.inc $(GEN)/builtins.inc $(GEN)/formats.inc $(GEN)/commands.inc $(GEN)/phases.inc
REGISTRIES := $(FOLDER_LISTS) $(GEN)/codes.h
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o)
ATTACKS := $(ATTACK_SRC:tests/attack/test_%.c=$(BUILD)/tests/attack_%)
# the longest first: two run at a time, and none should be left to run alone
LONGEST := defects summary mistakes fixes verdicts cli workflow devices hostile products faults lsp sweep flight docs rings engine flight_box budget shards attention results premises prover cases planes instances demand domains assess bodies derivations receipts box formats metamorphic
TESTS := $(LONGEST:%=$(BUILD)/tests/test_%) $(ATTACKS) $(filter-out $(LONGEST:%=$(BUILD)/tests/test_%),$(TEST_SRC:tests/unit/%.c=$(BUILD)/tests/%))
Q := $(if $(V),,@)

.PHONY: answers costs wheel test-wheel test-wheel-root deb test-deb house extensions attack attention corpus libraries check-library all quickstart test unit check check-layers check-tables check-size check-format check-library guards test-jax test-all faults fuzz fuzz-readers fuzz-processes fuzz-slow steady boxes cross-check second-checker mutants verdicts strict asserts asan asan-readers tsan bench comparison docs install format clean help deps
.DELETE_ON_ERROR:

all: $(if $(filter release,$(MODE)),build/tileproof,$(BUILD)/tileproof) ## build the program: build/tileproof

build/tileproof: build/release/tileproof
	$(Q)ln -sf release/tileproof $@

$(BUILD)/tileproof: $(CLI_OBJ) $(BUILD)/internal.a
	@echo "  LINK $@"
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LDLIBS_ALL)

$(BUILD)/internal.a: $(LIB_OBJ)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# The libraries: one object each, in which only what include/ declares is global.
SOVERSION := 0
LIBRARIES := libtileproof libtileproof-verify
OBJECTS_libtileproof := $(RUN_SRC:%.c=$(BUILD)/%.o) $(BUILD)/lib/tileproof.o
OBJECTS_libtileproof-verify := $(OBJECTS_libtileproof) $(PROVE_SRC:%.c=$(BUILD)/%.o) $(BUILD)/lib/tileproof_verify.o
NEEDS_libtileproof = -ljson-c -lmd $(SLEEF) -lm
NEEDS_libtileproof-verify = -lz3 -lgmp $(NEEDS_libtileproof)

libraries: $(LIBRARIES:%=$(BUILD)/%.a) $(LIBRARIES:%=$(BUILD)/%.so) ## the C libraries, static and shared

.SECONDEXPANSION:
$(BUILD)/%.whole.o: $$(OBJECTS_$$*)
	$(Q)$(LD) -r -o $@ $^ && objcopy -w --keep-global-symbol='tileproof_*' $@

$(LIBRARIES:%=$(BUILD)/%.a): %.a: %.whole.o
	@echo "  AR   $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $<

$(LIBRARIES:%=$(BUILD)/%.so): $(BUILD)/%.so: $(BUILD)/%.whole.o
	@echo "  LINK $@"
	$(Q)$(CC) -shared $(LDFLAGS_ALL) -Wl,-soname,$*.so.$(SOVERSION) -Wl,-z,defs -o $@ $< $(NEEDS_$*)

# loops that should vectorise
$(BUILD)/kernels/%.o $(BUILD)/domains/%.o $(BUILD)/reference/%.o $(BUILD)/demand/%.o $(BUILD)/base/dtype.o $(BUILD)/base/strided.o $(BUILD)/spec/meaning.o $(BUILD)/smt/farkas.o: CFLAGS += $(if $(filter release strict portable avx2 baseline asserts,$(MODE)),-O3) -fno-math-errno
# ... also where they compare, which may trap for all that the compiler knows
$(BUILD)/domains/rounding_strip.o $(BUILD)/demand/input.o: CFLAGS += -fno-trapping-math
$(BUILD)/spec/elementary.o: CFLAGS += $(if $(SLEEF),-DTP_SLEEF)
# unrolled tiles: minutes for clang with checks of undefined behaviour, which `make asan` has
$(BUILD)/domains/multiply.o: CFLAGS += $(if $(filter fuzzer,$(MODE)),-fno-sanitize=undefined)
$(BUILD)/%.o: %.c | $(REGISTRIES)
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(CFLAGS_ALL) -c -o $@ $<

# drop-in folders: every file in them registers one descriptor
$(GEN)/rules.inc: $(wildcard analyzer/rules/*.c)
$(GEN)/builtins.inc: $(wildcard reference/impl/*.c)
$(GEN)/formats.inc: $(wildcard report/formats/*.c)
$(GEN)/commands.inc: $(wildcard cli/commands/*.c)
$(GEN)/phases.inc: $(wildcard dump/phases/*.c)
FOLDER_rules := analyzer/rules tp_rule
FOLDER_builtins := reference/impl tp_builtin
FOLDER_formats := report/formats tp_format
FOLDER_commands := cli/commands tp_command
FOLDER_phases := dump/phases tp_dump
$(FOLDER_LISTS): $(GEN)/%.inc: tools/gen-registry.sh
	@mkdir -p $(GEN)
	$(Q)tools/gen-registry.sh $(FOLDER_$*) > $@
# everything includes it: it is new only when a code is
$(GEN)/codes.h: tools/gen-codes.sh base/codes.def $(wildcard analyzer/rules/*.c)
	@mkdir -p $(GEN)
	$(Q)new=$@.$$$$; tools/gen-codes.sh >$$new && if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi

$(BUILD)/tests/%.o: WARNINGS += -Wno-switch-enum
$(BUILD)/tests/%.o: tests/unit/%.c | $(REGISTRIES)
	@mkdir -p $(@D)
	@echo "  TEST $<"
	$(Q)$(CC) $(filter-out -fvisibility=hidden,$(CFLAGS_ALL)) -DTILEPROOF='"$(BUILD)/tileproof"' -DTESTS='"$(BUILD)/tests"' -c -o $@ $<

$(BUILD)/tests/attack_%.o: tests/attack/test_%.c | $(REGISTRIES)
	@mkdir -p $(@D)
	@echo "  TEST $<"
	$(Q)$(CC) $(filter-out -fvisibility=hidden,$(CFLAGS_ALL)) -c -o $@ $<

# attacks plant defects as the program does
$(ATTACKS): $(BUILD)/tests/attack_%: $(BUILD)/tests/attack_%.o $(BUILD)/program.a $(BUILD)/internal.a
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ -lcmocka $(LDLIBS_ALL)

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(BUILD)/internal.a
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $< $(BUILD)/internal.a -lcmocka -lmpfr $(LDLIBS_ALL)

# the program without its main, for the readers
$(BUILD)/program.a: $(filter-out $(BUILD)/cli/main.o,$(CLI_OBJ)) $(BUILD)/cli/commands.o
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/tests/readers.o: tests/fuzz/readers.c | $(REGISTRIES)
	@mkdir -p $(@D)
	@echo "  TEST $<"
	$(Q)$(CC) $(CFLAGS_ALL) -c -o $@ $<

$(BUILD)/tests/test_fuzz: $(BUILD)/tests/test_fuzz.o $(BUILD)/tests/readers.o $(BUILD)/program.a $(BUILD)/internal.a
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ -lcmocka $(LDLIBS_ALL)

# coverage-guided: make fuzz-readers TIME=seconds of each (clang with its runtime)
FLAGS_fuzzer := -O1 -g -DTP_ASSERTS -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
TIME ?= 60
build/fuzzer/fuzz: tests/fuzz/fuzz.c build/fuzzer/tests/readers.o build/fuzzer/program.a build/fuzzer/internal.a
	$(Q)clang -std=c11 $(FLAGS_fuzzer) -fsanitize=fuzzer -I. -o $@ $^ $(LDLIBS_ALL) -pthread

fuzz-readers: ## every reader under libFuzzer: TIME= seconds of each, or until QUIET= CPU seconds without a new edge
	@$(MAKE) --no-print-directory MODE=fuzzer CC=clang build/fuzzer/fuzz
	@tools/fuzz-readers.sh build/fuzzer/fuzz $(TIME)

fuzz-processes: ## whole processes of every command on hostile files, under sanitizers (python3): SHARDS= of a hundred
	@$(MAKE) --no-print-directory MODE=asan build/asan/tileproof
	@mkdir -p build/processes && rm -f build/processes/runs.log
	@tools/fuzz_processes.py build/asan/tileproof build/processes/runs.log --shards $(SHARDS) && echo "fuzz-processes: shards $(SHARDS): no crash, nothing beyond its budget"
SHARDS ?= 1-10

fuzz-slow: all ## a search for slow specs (python3): SLOW_SECONDS=, SEED=
	@mkdir -p build/slow && tools/fuzz_slow.py build/tileproof build/slow/runs.log --seed $(SEED) --seconds $(SLOW_SECONDS)
SLOW_SECONDS ?= 120

$(BUILD)/tests/faults.so: tests/unit/shim/faults.c tests/unit/shim/faults.h
	@mkdir -p $(@D)
	@echo "  TEST $@"
	$(Q)$(CC) -std=c11 -Wall -Wextra -O1 -I. -shared -fPIC -o $@ $< -ldl -pthread

deps:
	@CC="$(CC)" tools/deps.sh $(PACKAGES)

quickstart: deps ## install what is missing, build, and see tileproof at work
	@$(MAKE) --no-print-directory all
	@tools/quickstart.sh build/tileproof build/quickstart

# what builds takes every processor, unless -j says otherwise
BUILD_JOBS = $(if $(filter --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

test: deps ## every test that needs nothing but the packages (README, CI)
	@rm -f $(TESTS:=.log) $(TESTS:=.code); broken=0; \
	$(MAKE) --no-print-directory $(BUILD_JOBS) all libraries $(TESTS) $(BUILD)/tests/faults.so || :; \
	{ $(MAKE) --no-print-directory check; echo $$? >$(BUILD)/check.code; \
	tools/quickstart.sh build/tileproof build/quickstart >/dev/null; echo $$? >$(BUILD)/quickstart.code; } >$(BUILD)/check.log 2>&1 & \
	$(MAKE) --no-print-directory unit || :; \
	wait; cat $(BUILD)/check.log; \
	[ "$$(cat $(BUILD)/check.code)" = 0 ] || broken=$$((broken + 1)); \
	if [ "$$(cat $(BUILD)/quickstart.code)" = 0 ]; then echo "quickstart: as documented"; else broken=$$((broken + 1)); fi; \
	OTHERS=$$((2 - broken)) BROKEN=$$broken tools/sum-tests.sh $(TESTS:=.log)

unit: all $(TESTS) $(BUILD)/tests/faults.so
	@printf '%s\n' $(TESTS) | xargs -P 2 -n 1 sh -c '$$0 >$$0.log 2>&1; echo $$? >$$0.code'
	@code=0; for t in $(TESTS); do cat $$t.log; [ "$$(cat $$t.code)" = 0 ] || code=1; done; exit $$code

check: check-layers check-tables check-size check-format check-library ## the rules of the source tree

house: all libraries ## who uses whom, folders and rooms: writes docs/house.txt and docs/house.svg (graphviz)
	@tools/linkgraph.sh $(BUILD) text | tee docs/house.txt
	@tools/assertions.sh
	@command -v dot >/dev/null || { echo "house: graphviz is not installed; docs/house.svg is as it was"; exit 0; }; \
	tools/linkgraph.sh $(BUILD) dot | tred | dot -Tsvg >build/house.svg && mv build/house.svg docs/house.svg

check-format: all
	@tools/check-format.sh build/tileproof

guards: all libraries ## can the rules of the source tree fail? plants an offence against each (2 minutes)
	@$(MAKE) --no-print-directory MODE=strict build/strict/base/str.o
	@tests/guards/run.sh

extensions: all ## is docs/HACKING.md complete? adds a primitive, a rule, a dtype and a tier by it in a copy of the tree (3 minutes)
	@tests/extensions/run.sh

check-layers: all libraries
	@tools/check-layers.sh $(BUILD) && echo "layers: each folder includes only what it may"

check-tables: all
	@tools/check-tables.sh build/tileproof && echo "tables: each row has its test data"

check-library: all libraries
	@tools/check-library.sh $(BUILD)

check-size:
	@tools/check-size.sh && echo "sizes: no file over 800 lines"

test-jax: all libraries ## compare with JAX and NumPy, live (makes build/venv from the network); BRIDGE=40 random Pallas functions
	@tools/test-jax.sh

wheel: ## build/dist/*.whl, with the program in it: pip installs it without a compiler (Linux x86_64; tools from the network)
	@MAKE="$(MAKE)" tools/wheel.sh

test-wheel: all wheel ## make wheel, and that wheel in a fresh environment, without a compiler on the PATH
	@tools/venv.sh build/venv tests/jax/requirements.txt
	@python3 tests/jax/wheel.py

test-wheel-root: ## the wheel of build/dist in a clean root, JAX by its extra (root, mmdebstrap, network)
	@tools/test-wheel-root.sh

deb: ## build/deb/*.deb, by debhelper; lintian has to be silent
	@CC="$(CC)" tools/deb.sh

test-deb: ## the packages of make deb in a clean root (root, mmdebstrap, network)
	@tools/test-deb.sh

fuzz: all $(TESTS) ## the random tests again, longer: SEED=, TRIALS= (of each; bodies and instances together: 100 000 specs)
	@echo bodies instances prover spec certificates forgeries domains planes summary premises | tr ' ' '\n' | TEST_SEED=$(SEED) TEST_TRIALS=$(TRIALS) xargs -P 2 -n 1 sh -c 'exec $(BUILD)/tests/test_$$0'
SEED ?= 2
TRIALS ?= 50000

attack: all $(ATTACKS) ## attacks on "proven" and "ok", longer: ATTACK_SEED=, ATTACK_TRIALS=
	@printf '%s\n' $(ATTACKS) | TEST_SEED=$(ATTACK_SEED) TEST_TRIALS=$(ATTACK_TRIALS) TEST_VERBOSE=1 xargs -P 2 -n 1 sh -c 'exec $$0'
ATTACK_SEED ?= 2
ATTACK_TRIALS ?= 300

faults: all $(TESTS) $(BUILD)/tests/faults.so ## more calls that fail, of every command: FAULT_TRIALS= of each kind (20 minutes)
	@TEST_TRIALS=$(FAULT_TRIALS) $(BUILD)/tests/test_faults
FAULT_TRIALS ?= 300

answers: all $(BUILD)/tests/test_answers ## the engine's fast ways beside the plain one, by builds for AVX-512, AVX2 and neither: the gallery, BODIES= random kernels (ten minutes)
	@tools/answers.sh $(BODIES)
BODIES ?= 100000

second-checker: all $(BUILD)/tests/test_forgeries ## certificates, and forgeries of them, by two checkers (needs python3): SEED=
	@python3 tests/checker/second_checker.py --seed $(SEED)

cross-check: all $(TESTS) ## do other solvers agree? (cvc5 and z3 where they are installed)
	@tools/cross-check.sh build/tileproof $(BUILD)/tests

verdicts: all $(TESTS) ## write tests/verdicts.txt again, after a change of verdicts that is meant
	@TEST_WRITE=1 $(BUILD)/tests/test_verdicts && git diff --stat tests/verdicts.txt

steady: all ## the same bytes in 20 runs under load
	@tools/steady.sh build/tileproof

boxes: all $(TESTS) ## the small boxes again, larger: more than a million cases, 284 000 programs of copies
	@TEST_BOX=large $(BUILD)/tests/test_box
	@TEST_EVERY=1 $(BUILD)/tests/test_flight_box
	@TEST_TRIALS=1200 $(BUILD)/tests/test_flight
	@TEST_EVERY=1 $(BUILD)/tests/test_carried

corpus: all ## public kernels, imported, linted, executed: writes docs/CORPUS.md (build/venv-corpus)
	@tools/corpus.sh

attention: all $(TESTS) ## what make test samples, whole: planted defects, late ones, fixes, relations of verdicts, verify of the gallery (25 minutes)
	@for t in attention defects devices metamorphic cases demand fixes hostile mistakes summary; do TEST_EVERY=1 $(BUILD)/tests/test_$$t || exit; done
	@for t in gallery_is_clean rules_on_their_examples broken_siblings playback; do TEST_EVERY=1 TEST_ONLY=$$t $(BUILD)/tests/test_cli || exit; done

mutants: SEED = 1 # the sample that was reviewed
mutants: all ## are the tests strong enough? plant 200 defects into rules and prover (needs python3; an hour of one core; a run goes on where it was stopped)
	@tools/mutants.py --count $(COUNT) --seed $(SEED)
COUNT ?= 200

test-all: export BRIDGE = 300
test-all: test guards extensions strict asserts asan tsan test-jax corpus costs answers steady boxes faults attention fuzz attack fuzz-readers fuzz-processes fuzz-slow cross-check second-checker mutation-score mutants ## everything, long ones included

costs: deps all $(addprefix $(BUILD)/tests/,test_cost test_advice test_serial_axis test_sweep) ## counts against the machine on 10 000 random specs, closed forms at 1000 sizes of each gallery kernel, advice against brute force, 500 cells of random sweeps against lint, best shapes of 50 against brute force (five minutes)
	@TEST_TRIALS=10000 $(BUILD)/tests/test_cost
	@TEST_TRIALS=3000 $(BUILD)/tests/test_advice
	@TEST_NTH=1 $(BUILD)/tests/test_serial_axis
	@TEST_CELLS=500 TEST_ONLY=cells_of_random_sweeps_are_what_lint_says $(BUILD)/tests/test_sweep
	@TEST_TRIALS=50 TEST_ONLY=best_shape_is_that_of_brute_force $(BUILD)/tests/test_sweep

mutation-score: all ## small defects planted in the gallery and tests/kernels: who notices? DEFECTS= of each, SCORE_SEED= (an hour or more; a run goes on where it was stopped)
	@tools/mutation_score.py --defects $(DEFECTS) --seed $(SCORE_SEED) --jobs $(SCORE_JOBS)
DEFECTS ?= 40
SCORE_SEED ?= 1
SCORE_JOBS ?= 1

strict: ## gcc, and clang where it is installed, without a warning; are loops that are to be vectorised?
	@$(MAKE) --no-print-directory MODE=strict build/strict/tileproof
	@CC="$(CC)" tools/check-vectorised.sh build/strict
	@if command -v clang >/dev/null; then $(MAKE) --no-print-directory MODE=clang CC=clang build/clang/tileproof; else echo "strict: clang is not installed; skipped"; fi

asserts: deps ## unit tests with what the code asserts of itself
	@$(MAKE) --no-print-directory MODE=asserts unit

asan: deps ## unit tests and bad input under the address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory MODE=asan unit

asan-readers: deps ## the part of asan that reads, prints and executes what others wrote (CI)
	@$(MAKE) --no-print-directory MODE=asan TESTS="$(addprefix build/asan/tests/,test_asserts test_asserts_flow test_spec test_fuzz test_formats test_lsp test_recheck test_semantics test_bodies test_cases test_hostile)" unit

tsan: ## many specs at a time, in the program and in the library, under the thread sanitizer
	@$(MAKE) --no-print-directory MODE=tsan build/tsan/tileproof build/tsan/libtileproof-verify.a
	@tools/tsan.sh build/tsan

bench: all libraries ## speed as ratios in one run (half an hour); with JAX in build/venv it writes docs/PERFORMANCE.md: ROUNDS= BODIES=
	@bench/run.sh

install: all libraries ## program, libraries, examples: PREFIX=/usr/local DESTDIR=
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include
	install -m 755 $(BUILD)/tileproof $(DESTDIR)$(PREFIX)/bin/tileproof
	install -D -m 644 docs/tileproof.1 $(DESTDIR)$(PREFIX)/share/man/man1/tileproof.1
	install -D -m 644 docs/completion/tileproof.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tileproof
	install -D -m 644 docs/completion/tileproof.zsh $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_tileproof
	install -D -m 644 docs/completion/tileproof.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/tileproof.fish
	install -m 644 include/*.h $(DESTDIR)$(PREFIX)/include
	for l in $(LIBRARIES); do \
	    install -m 644 $(BUILD)/$$l.a $(DESTDIR)$(LIBDIR)/$$l.a; \
	    install -m 755 $(BUILD)/$$l.so $(DESTDIR)$(LIBDIR)/$$l.so.$(VERSION); \
	    ln -sf $$l.so.$(VERSION) $(DESTDIR)$(LIBDIR)/$$l.so.$(SOVERSION); \
	    ln -sf $$l.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/$$l.so; \
	done
	for p in tileproof tileproof-verify; do \
	    sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|; s|@SLEEF@|$(SLEEF)|' lib/$$p.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/$$p.pc; \
	done
	for f in $$(ls examples/*/*.tile.json | grep -v /broken/); do install -D -m 644 $$f $(DESTDIR)$(PREFIX)/share/tileproof/$$f; done

comparison: all ## who says what about the broken kernels: writes docs/COMPARISON.md (build/venv)
	@PATH="$(CURDIR)/build:$$PATH" TILEPROOF=build/tileproof JAX_PLATFORMS=cpu build/venv/bin/python tools/comparison.py

docs: all ## what is made of the tables: docs/RULES.md, schemas, man page, completions
	@tools/generate-docs.sh build/tileproof .

format: ## clang-format the sources, canonical form for the specs
	clang-format -i $$(git ls-files '*.[ch]')
	build/tileproof fmt -w examples tests/rules tests/semantics tests/mistakes

clean: ## remove build/
	rm -rf build

help: ## list the targets
	@grep -E '^[a-z][a-z-]*:.*##' $(firstword $(MAKEFILE_LIST)) | sed -E 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  %-12s %s\n", $$1, $$2}'

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(TESTS:=.d) $(wildcard $(BUILD)/lib/*.d $(BUILD)/tests/readers.d)
.SECONDARY: $(TESTS:=.o) $(BUILD)/lib/tileproof.o $(BUILD)/lib/tileproof_verify.o
