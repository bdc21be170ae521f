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
offence layers 'dump/dump includes report/report.h' add dump/dump.c '#include "report/report.h"'
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
offence tables 'test_planted.c: tests/README.md does not say' new tests/unit/test_planted.c '/* planted */'
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

also 'base/planted.c has 900 lines' long base/planted.c
also 'spec/planted.def has 900 lines' long spec/planted.def
also 'reference/impl/planted.c has 900 lines' long reference/impl/planted.c
also 'smt/trust/planted.c has 900 lines' long smt/trust/planted.c
also 'analyzer/rules/planted.c has 900 lines' long analyzer/rules/planted.c
also 'analyzer/flow/planted.h has 900 lines' long analyzer/flow/planted.h
also 'kernels/machine/planted.c has 900 lines' long kernels/machine/planted.c
also 'demand/planted.c has 900 lines' long demand/planted.c
also 'cost/planted.h has 900 lines' long cost/planted.h
also 'verify/planted.c has 900 lines' long verify/planted.c
also 'emit/planted.c has 900 lines' long emit/planted.c
also 'dump/phases/planted.c has 900 lines' long dump/phases/planted.c
also 'lsp/planted.c has 900 lines' long lsp/planted.c
also 'cli/commands/planted.c has 900 lines' long cli/commands/planted.c
also 'cli/generate/planted.c has 900 lines' long cli/generate/planted.c
also 'include/planted.h has 900 lines' long include/planted.h
also 'python/tileproof/body/planted.py has 900 lines' long python/tileproof/body/planted.py
also 'tests/unit/planted.h has 900 lines' long tests/unit/planted.h
also 'tests/attack/planted.c has 900 lines' long tests/attack/planted.c
also 'bench/planted.c has 900 lines' long bench/planted.c
also 'examples/embedding/planted.cpp has 900 lines' long examples/embedding/planted.cpp
also 'tools/planted.awk has 900 lines' long tools/planted.awk
together size

# format
if tools/check-format.sh build/tileproof | grep -q 'not looked at'; then
    echo "guards: clang-format 14 is not installed; no offence against its format is planted"
else
    offence format 'base/str.c' add base/str.c 'int  planted ;'
    also './base/arena.c:' add base/arena.c 'int  planted ;'
    also './spec/expr.c:' add spec/expr.c 'int planted(int a,int b);'
    also './smt/memo.c:' add smt/memo.c '  int planted;'
    also './analyzer/claim/visits.c:' add analyzer/claim/visits.c 'int planted(void) {return 1;}'
    also './kernels/trial/case.c:' add kernels/trial/case.c 'int* planted;'
    also './verify/fix.c:' add verify/fix.c '	int planted;'
    also './report/report.h:' add report/report.h 'int planted; '
    also './cli/git.c:' add cli/git.c "int planted_$(seq -s _ 60);int other;"
    also './domains/degree.c:' add domains/degree.c 'int planted(void)
{
  return 1;
}'
    also './cost/sum.c:' add cost/sum.c 'int planted(int a)
{
    return a?1:2;
}'
    also './demand/memo.c:' add demand/memo.c '


int planted;'
    also './lib/tileproof.c:' add lib/tileproof.c 'int planted [3];'
    also './lsp/server.c:' add lsp/server.c 'int planted = (int) 3;'
    also './emit/pallas.c:' add emit/pallas.c 'int planted = 1+2;'
    also './tests/unit/test_arena.c:' add tests/unit/test_arena.c 'int planted( void );'
    also './include/tileproof.h:' add include/tileproof.h 'struct planted{int a;};'
fi
also 'matmul.tile.json' change examples/matmul/matmul.tile.json '  "name":' '	"name":'
also 'transpose.tile.json' add examples/elementwise/transpose.tile.json ''
also 'extra_step.tile.json' change examples/broken/extra_step.tile.json '{"axis"' '{ "axis"'
also 'softmax_rows.tile.json' change examples/reduction/softmax_rows.tile.json '"grid": [' '"grid":  ['
together format
offence format 'add_2d.tile.json' change examples/elementwise/add_2d.tile.json '"tileproof": 1,' '"tileproof":1,'

# library: what is installed, and how it is linked
relink() { rm -f build/release/libtileproof*.so; } # a change of the Makefile alone makes nothing anew
also 'libtileproof (shared) does not export tileproof_planted,' add tests/library/libtileproof.symbols 'tileproof_planted'
also 'libtileproof-verify (static) exports tileproof_verify,' change tests/library/libtileproof-verify.symbols 'tileproof_verify' ''
also 'libtileproof.so has the wrong SONAME' change Makefile '-Wl,-soname,$*.so.$(SOVERSION)' '-Wl,-soname,$*.so'
also 'libtileproof.so looks for libraries in a folder of its own' change Makefile '-Wl,-z,defs' '-Wl,-z,defs -Wl,-rpath,/planted'
also 'libtileproof-verify.so has a stack that can be executed' change Makefile '-Wl,-z,defs' '-Wl,-z,defs -Wl,-z,execstack'
also 'libtileproof needs libcrypto' change Makefile 'NEEDS_libtileproof = ' 'NEEDS_libtileproof = -Wl,--no-as-needed -lcrypto '
also 'libtileproof needs libz3' change Makefile 'NEEDS_libtileproof = ' 'NEEDS_libtileproof = -Wl,--no-as-needed -lz3 '
also 'libtileproof needs libgmp' change Makefile 'NEEDS_libtileproof = ' 'NEEDS_libtileproof = -Wl,--no-as-needed -lgmp '
also 'make install leaves out f 644 share/man/man1/tileproof.1' change Makefile 'man1/tileproof.1' 'man1/planted.1'
also 'make install makes f 644 share/man/man1/planted.1'
also 'make install leaves out f 644 include/tileproof.h' change Makefile 'install -m 644 include/*.h' 'install -m 600 include/*.h'
also 'make install makes f 644 share/tileproof/examples/broken/' change Makefile 'grep -v /broken/' 'cat'
also 'make install leaves out l 777 lib/libtileproof.so libtileproof.so.0' change Makefile 'ln -sf $$l.so.$(SOVERSION)' 'ln -sf $$l.so.$(VERSION)'
also 'pkg-config says that tileproof has the version 9' change lib/tileproof.pc.in '@VERSION@' '9'
also 'tileproof does not link (static' change lib/tileproof.pc.in '-lmd' ''
also 'tileproof-verify does not link (static' change lib/tileproof-verify.pc.in '-lz3' ''
also 'tileproof-verify does not link (shared' change lib/tileproof-verify.pc.in '-I${includedir}' '-I${includedir}/planted'
relink
together library
relink
# headers: alone, in C and C++, and what they name
also 'tileproof_verify.h does not compile by itself as C++17' change include/tileproof_verify.h 'int lint_only;' 'int new, lint_only;'
also 'strict-prototypes' change include/tileproof.h '/* NULL is allowed. */' 'TILEPROOF_API int tileproof_old();'
also 'tileproof.h declares tileproof_old, which libtileproof does not export'
also 'tileproof.h does not compile by itself as C11'
also 'libtileproof (shared) does not export tileproof_target,' change include/tileproof.h 'TILEPROOF_API const char *tileproof_target' 'const char *tileproof_target'
also 'tileproof.h names MAX_RANK,' change include/tileproof.h '#define TILEPROOF_API' '#define MAX_RANK 8
#define TILEPROOF_API'
also 'tileproof.h names EXTRA,' change include/tileproof.h 'TILEPROOF_TABLE }' 'TILEPROOF_TABLE, EXTRA }'
also 'tileproof.h names shape,' change include/tileproof.h 'typedef struct tileproof_size {' 'typedef int shape;
typedef struct tileproof_size {'
together library
also 'tileproof_verify.h defines planted' change include/tileproof_verify.h '/* Prove the rules' 'int planted;
/* Prove the rules'
also 'tileproof.h declares tileproof_admit,' change include/tileproof.h 'TILEPROOF_API tileproof_status tileproof_accept(' 'TILEPROOF_API tileproof_status tileproof_admit('
also 'libtileproof (shared) exports tileproof_extra,' add lib/tileproof.c 'TILEPROOF_API int tileproof_extra(void); int tileproof_extra(void) { return 1; }'
also 'no header declares tileproof_extra'
also 'libtileproof-verify (static) exports tileproof_hidden,' add lib/tileproof_verify.c 'int tileproof_hidden(void); int tileproof_hidden(void) { return 1; }'
# what the libraries call and keep
also 'libtileproof uses puts' add lib/tileproof.c 'void tp_planted1(void); void tp_planted1(void) { extern int puts(const char *); puts("planted"); }'
also 'libtileproof uses stderr' add base/str.c 'void tp_planted2(void); void tp_planted2(void) { fflush(stderr); }'
also 'libtileproof uses exit' add lib/tileproof.c 'void tp_planted3(void); void tp_planted3(void) { exit(3); }'
also 'libtileproof uses setlocale' add lib/tileproof.c 'char *tp_planted4(void); char *tp_planted4(void) { extern char *setlocale(int, const char *); return setlocale(0, ""); }'
also 'libtileproof uses getenv' add lib/tileproof.c 'char *tp_planted5(void); char *tp_planted5(void) { return getenv("HOME"); }'
also 'libtileproof uses fork' add lib/tileproof.c 'int tp_planted6(void); int tp_planted6(void) { extern int fork(void); return fork(); }'
also 'libtileproof-verify uses rand' add lib/tileproof_verify.c 'int tp_planted7(void); int tp_planted7(void) { extern int rand(void); return rand(); }'
also 'libtileproof keeps the variable calls' add lib/tileproof.c 'int tp_planted8(void); int tp_planted8(void) { static int calls; return ++calls; }'
also 'libtileproof-verify keeps the variable latest' add lib/tileproof_verify.c 'static _Thread_local int latest; int tp_planted9(int); int tp_planted9(int x) { int before = latest; latest = x; return before; }'
also 'tests/library/variables explains absent' add tests/library/variables 'absent   nothing'
together library
# what calls do
also 'tileproof_version() is not that of pkg-config' change lib/tileproof.c 'return TP_VERSION;' 'return "9";'
also 'two statuses have one name' change lib/tileproof.c '"limit", "memory",' '"memory", "memory",'
also 'the target of the call does not replace that of the spec' change lib/tileproof.c '{.target = h->target}' '{.target = TP_S("")}'
also 'there is a parameter past the last' change lib/tileproof.c 'if (i >= kernel->nparameters)' 'if (i > kernel->nparameters)'
also 'a kernel without a receipt is not refused' change lib/tileproof.c '!kernel->verified && !c.o->unchecked' '0'
also 'a receipt for another target is not refused' change lib/tileproof.c 'st == TP_OK && c.refusal.n' '0'
also 'a receipt with a wrong digest is accepted' change kernels/receipt.c 'if (!tp_str_eq(tp_sha256(c->arena, r.canonical), digest->u.string))' 'if (0)'
also 'max_steps is no limit' change lib/tileproof.c 'c->o->max_steps ? c->o->max_steps : TP_MAX_STEPS' 'TP_MAX_STEPS'
also 'max_memory is no limit' change lib/tileproof.c 'c.o->max_memory ? c.o->max_memory : ' ''
also 'a run that traps writes its output' change lib/tileproof.c 'k->noutputs && c->st == TP_OK; i++' 'k->noutputs; i++'
also 'the sink does not hear of a trap' change lib/tileproof.c 'if (t->rule)' 'if (!t->rule)'
also 'an unknown target is no usage error' change lib/tileproof.c 'c->st = TP_E_USAGE;' 'c->st = TP_E_INPUT;'
also 'strides are not followed' change lib/tileproof.c 'at[d] * x->strides[d]' 'at[d] * (int64_t)size'
also 'a kernel counts as verified after lint_only' change lib/tileproof_verify.c ' && !c.o->lint_only' ''
also 'report_proven does not report what is proven' change lib/tileproof_verify.c 'o->report_proven && ' '0 && '
also 'verify accepts a broken kernel' change lib/tileproof_verify.c 'case TP_EXIT_VIOLATED: c->result = TILEPROOF_VIOLATED' 'case TP_EXIT_VIOLATED: c->result = TILEPROOF_OK'
also '< planted' change lib/tileproof.c 'h->name = ' 'extern long write(int, const void *, size_t); (void)!write(1, "planted\n", 8); h->name = '
also 'calls of two threads take memory after the first' change lib/tileproof.c '.ctx = &c, .pool = kernel->pool' '.ctx = &c'
also 'an output that overlaps an input was computed in place' change lib/tileproof.c 'may_overlap(&c->arrays[i], x, shape->n * tp_dtype_size(shape->dtype))' '0'
together library

# warnings are errors
offence strict 'cast-qual' add base/str.c 'char *tp_planted(const char *); char *tp_planted(const char *x) { return (char *)x; }'
offence strict 'unused variable' add base/str.c 'void tp_planted(void); void tp_planted(void) { int planted = 3; }'
offence strict 'conversion' add base/str.c 'signed char tp_planted(long); signed char tp_planted(long x) { return x; }'

# all of base/str.c's kinds in one run of the compiler
also '[-Werror=cast-qual' add base/str.c 'char *tp_planted0(const char *); char *tp_planted0(const char *x) { return (char *)x; }'
also '[-Werror=unused-variable' add base/str.c 'void tp_planted1(void); void tp_planted1(void) { int planted = 3; }'
also '[-Werror=conversion' add base/str.c 'signed char tp_planted2(long); signed char tp_planted2(long x) { return x; }'
also '[-Werror=shadow' add base/str.c 'int tp_planted3(int x); int tp_planted3(int x) { if (x) { int x = 3; return x; } return 0; }'
also '[-Werror=double-promotion' add base/str.c 'double tp_planted4(float x); double tp_planted4(float x) { return x * 2.0; }'
also '[-Werror=strict-prototypes' add base/str.c 'void tp_planted5();'
also '[-Werror=missing-prototypes' add base/str.c 'int tp_planted6(void) { return 1; }'
also '[-Werror=old-style-definition' add base/str.c 'int tp_planted7(int); int tp_planted7(x) int x; { return x; }'
also '[-Werror=vla' add base/str.c 'void tp_planted8(int); void tp_planted8(int n) { char a[n]; a[0] = 0; }'
also '[-Werror=format-security' add base/str.c 'int tp_planted9(const char *); int tp_planted9(const char *f) { return printf(f); }'
also '[-Werror=discarded-qualifiers' add base/str.c 'char *tp_planted10(void); char *tp_planted10(void) { return "x"; }'
also '[-Werror=pointer-arith' add base/str.c 'void *tp_planted11(void *); void *tp_planted11(void *x) { return x + 1; }'
also '[-Werror=implicit-fallthrough' add base/str.c 'int tp_planted12(int); int tp_planted12(int x) { switch (x) { case 1: x = 2; case 2: return x; default: return 0; } }'
also '[-Werror=switch-enum' add base/str.c 'enum planted { PLANTED, OTHER }; int tp_planted13(enum planted); int tp_planted13(enum planted x) { switch (x) { case PLANTED: return 1; default: return 0; } }'
also '[-Werror=implicit-function-declaration' add base/str.c 'int tp_planted14(void); int tp_planted14(void) { return planted_nowhere(); }'
also '[-Werror=int-conversion' add base/str.c 'int *tp_planted15(int); int *tp_planted15(int x) { return x; }'
also '[-Werror=logical-op' add base/str.c 'int tp_planted16(int); int tp_planted16(int a) { return a && a; }'
also '[-Werror=duplicated-cond' add base/str.c 'int tp_planted17(int); int tp_planted17(int a) { if (a) return 1; else if (a) return 2; return 3; }'
also '[-Werror=jump-misses-init' add base/str.c 'int tp_planted18(int); int tp_planted18(int a) { switch (a) { int b = 1; case 1: return b; default: return 0; } }'
also '[-Werror=sign-compare' add base/str.c 'int tp_planted19(int, unsigned); int tp_planted19(int a, unsigned b) { return a < b; }'
also '[-Werror=unused-parameter' add base/str.c 'void tp_planted20(int); void tp_planted20(int x) { }'
also '[-Werror=pedantic' add base/str.c 'int tp_planted21(void); int tp_planted21(void) { return ({ 1; }); }'
also '[-Werror=return-type' add base/str.c 'int tp_planted22(int); int tp_planted22(int x) { if (x) return 1; }'
also '[-Werror=unused-function' add base/str.c 'static int tp_planted23(void) { return 1; }'
also '[-Werror=undef' add base/str.c '#if TP_PLANTED
#endif'
together strict
