# Offences against the rules of the source tree, planted one at a time in a copy
# of it by run.sh. A row: offence GUARD 'what the guard has to say' EDIT...
# Edits: add FILE LINE; change FILE FROM TO; new FILE LINE; drop FILE.

# layers: by include
offence layers 'base/str includes spec/kernel.h' add base/str.c '#include "spec/kernel.h"'
offence layers 'spec/expr includes analyzer/analyze.h' add spec/expr.c '#include <analyzer/analyze.h>'
offence layers 'analyzer/analyze includes kernels/machine/machine.h' add analyzer/analyze.c '  #  include "kernels/machine/machine.h"'
offence layers 'demand/fold includes kernels/machine/machine.h' add demand/fold.c '#	include	<kernels/machine/machine.h>'
offence layers 'reference/reference includes kernels/machine/machine.h' add reference/reference.h '#include "kernels/machine/machine.h"'
offence layers 'spec/prims includes smt/prover.h' add spec/prims.def '#include "smt/prover.h"'
offence layers 'report/report includes verify/verify.h' add report/report.h '#include "verify/verify.h"'
offence layers 'cost/sum includes kernels/machine/machine.h' add cost/sum.c '#include "kernels/machine/machine.h"'
offence layers 'cost/model includes report/report.h' add cost/model.c '#include "report/report.h"'
offence layers 'sweep/order includes cli/cli.h' add sweep/order.c '#include "cli/cli.h"'
offence layers 'dump/dump includes kernels/machine/machine.h' add dump/dump.c '#include "kernels/machine/machine.h"'
offence layers 'report/page/page includes verify/verify.h' add report/page/page.h '#include "verify/verify.h"'
offence layers 'report/page/source includes sweep/sweep.h' add report/page/source.c '#include "sweep/sweep.h"'
offence layers 'emit/pallas includes analyzer/analyze.h' add emit/pallas.c '#include "analyzer/analyze.h"'
offence layers 'widgets/ is in no row' new widgets/widget.c 'int widget;'
offence layers 'only smt/z3.c may' add smt/prove.c '#include <z3.h>'
offence layers 'only smt/z3.c may' add smt/cache.c ' # include "z3.h"'
offence layers 'cli/receipt.c includes openssl/evp.h' add cli/receipt.c '#include <openssl/evp.h>'
offence layers 'only base/assert.h may' add base/arena.c '#include <sanitizer/asan_interface.h>'
offence layers 'kernels/machine/ may not' add kernels/machine/exec.c '#include "reference/reference.h"'
offence layers 'kernels/trial/ may not' add kernels/trial/equiv.c '#include "reference/reference.h"'
offence layers 'smt/trust/ may not' add smt/trust/points.c '#include "smt/prover.h"'
# layers: rooms inside a folder
offence layers 'analyzer/claim/ may not' add analyzer/claim/visits.c '#include "analyzer/flow/flow.h"'
offence layers 'analyzer/flow/ may not' add analyzer/flow/guard.c '#include "analyzer/equality/equality.h"'
offence layers 'kernels/machine/ may not' add kernels/machine/planes.c '#include "kernels/trial/equiv.h"'
# layers: by declarations of one's own
offence layers 'which analyzer/ may not' \
    add analyzer/analyze.c 'extern void tp_tier_name(void); void tp_planted(void); void tp_planted(void) { tp_tier_name(); }'
offence layers 'which analyzer/claim/ may not' \
    add analyzer/claim/visits.c 'extern void flow_walk(void); void tp_planted(void); void tp_planted(void) { flow_walk(); }'
offence layers 'which smt/trust/ may not' \
    add smt/trust/points.c 'extern void tp_prove(void); void tp_planted(void); void tp_planted(void) { tp_prove(); }'
offence layers 'smt/prove.o calls Z3_mk_config' \
    add smt/prove.c 'extern void *Z3_mk_config(void); void *tp_planted(void); void *tp_planted(void) { return Z3_mk_config(); }'
offence layers 'which demand/ may not' \
    add demand/memo.c 'extern void tp_machine_run(void); void tp_planted(void); void tp_planted(void) { tp_machine_run(); }'
offence layers 'which cost/ may not' \
    add cost/sum.c 'extern void tp_machine_run(void); void tp_planted(void); void tp_planted(void) { tp_machine_run(); }'
offence layers 'which sweep/ may not' \
    add sweep/order.c 'extern void tp_usage_error(void); void tp_planted(void); void tp_planted(void) { tp_usage_error(); }'
offence layers 'which report/ may not' \
    add report/page/style.c 'extern void tp_check_loaded(void); void tp_planted(void); void tp_planted(void) { tp_check_loaded(); }'
# layers: a knot of files, rooms in a circle
offence layers 'files that need each other' change tools/layers.txt 'most: 4' 'most: 3'
offence layers 'rooms that use each other in a circle' change tools/layers.txt 'base:' 'base/str: base
base: base/str'
offence layers 'docs/house.txt is not what the objects say' add docs/house.txt 'planted'

# tables: each row has its data, and copies are what the tables say
offence tables 'bad_*.tile.json is missing' drop 'tests/rules/empty-domain/bad_*.tile.json'
offence tables 'ok_*.tile.json is missing' drop 'tests/rules/parallel-race/ok_*.tile.json'
offence tables 'tests/planted/: no question of tests/README.md' new tests/planted/a.txt 'planted'
offence tables 'primitive erfc: no example' change 'tests/semantics/*.tile.json' 'erfc(' 'erf('
offence tables 'no trap in tests/semantics' change 'tests/semantics/*.tile.json' '"trap": "TP107"' '"trap": "TP101"'
offence tables 'planted_kernel: not in docs/GALLERY.md' new examples/matmul/planted_kernel.tile.json '{}'
offence tables 'two commands have the letter' change cli/commands/completion.c "'x'" "'b'"
offence tables 'docs/RULES.md is not what the tables say' add docs/RULES.md 'planted'
offence tables 'docs/completion/tileproof.bash is not what the tables say' add docs/completion/tileproof.bash 'done'

offence tables 'docs/SECURITY.md: its table is not' add tests/fuzz/runs.log 'abcdef0 npy 60 5 5 5'
# codes: by number outside their owner, and a descriptor that its file's name does not fit
offence tables 'names TP498 by its number' add cli/git.c 'static const char *const PLANTED = "TP498";'
offence tables 'names TP102 by its number' add kernels/machine/exec.c 'static const char PLANTED[] = "see TP102"; /* one */'
offence tables 'names TP101 by its number' add analyzer/rules/tp406_overlapping_output.c 'static const char PLANTED[] = "TP101";'
offence tables 'names TP101 by its number' add cost/cost.c 'static const char PLANTED[] = "TP101";'
offence tables 'names TP201 by its number' add sweep/table.c 'static const char PLANTED[] = "TP201";'
offence tables 'names TP301 by its number' add report/page/verdicts.c 'static const char PLANTED[] = "TP301";'
offence tables 'a cast that drops const' add cli/git.c 'void *tp_planted(const char *); void *tp_planted(const char *x) { return (char *)(uintptr_t)x; }'
offence tables 'domains/degree.c:' change domains/degree.c 'switch (p) {' 'switch ((int)p) {'
offence tables 'a switch over a cast' add smt/trust/real.c 'int tp_planted(tp_expr_op op); int tp_planted(tp_expr_op op) { switch ((unsigned)op) { default: return 0; } }'
offence tables 'its descriptor says TP408' change analyzer/rules/tp406_overlapping_output.c '"TP406"' '"TP408"'

# sizes: a file over 800 lines, wherever it stands
offence size 'domains/planted.c has 900 lines' long domains/planted.c
offence size 'report/page/planted.c has 900 lines' long report/page/planted.c
offence size 'sweep/planted.c has 900 lines' long sweep/planted.c
offence size 'lib/planted.h has 900 lines' long lib/planted.h
offence size 'tools/planted.py has 900 lines' long tools/planted.py
offence size 'tests/jax/planted.sh has 900 lines' long tests/jax/planted.sh

# format
if tools/check-format.sh build/tileproof | grep -q 'not looked at'; then
    echo "guards: clang-format 14 is not installed; no offence against its format is planted"
else
    offence format 'base/str.c' add base/str.c 'int  planted ;'
fi
offence format 'add_2d.tile.json' change examples/elementwise/add_2d.tile.json '"tileproof": 1,' '"tileproof":1,'

# the libraries export what tests/library says
offence library 'exports other symbols' add tests/library/libtileproof.symbols 'tileproof_planted'

# warnings are errors
offence strict 'cast-qual' add base/str.c 'char *tp_planted(const char *); char *tp_planted(const char *x) { return (char *)x; }'
offence strict 'unused variable' add base/str.c 'void tp_planted(void); void tp_planted(void) { int planted = 3; }'
offence strict 'conversion' add base/str.c 'signed char tp_planted(long); signed char tp_planted(long x) { return x; }'
