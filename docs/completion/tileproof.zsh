#compdef tileproof
# zsh completion of tileproof: made by `tileproof completion zsh`
_tileproof() {
  if (( CURRENT == 2 )); then
    local -a commands=(
      'assess:verify a kernel, hold it against its reference in the model, and advise\: keep, experimental or drop'
      'baseline:record the current findings, or check that there are no others'
      'completion:completion for a shell'
      'cost:count traffic, operations and memory of a kernel, and model its time on every chip'
      'diff:findings introduced and fixed, memory, windows, results; exit 1 if a finding is new or a result differs'
      'emit:the kernel as Python for JAX, as canonical JSON, as a graph'
      'explain:why a rule exists, with a bad and a good example'
      'fmt:print specs in canonical form'
      'import-jax:write specs of the pallas_calls that a Python function reaches'
      'init:write a spec to start from, and a broken twin'
      'judge:compare the verdicts of tileproof, JAX'\''s interpreters and the TPU compiler'
      'kernels:list the kernels of a folder (default\: examples)'
      'keygen:a pair of keys to sign receipts with'
      'lint:prove the static rules for all sizes; executes nothing'
      'lsp:language server for editors, on standard input and output'
      'man:the manual page'
      'merge:put the JSON reports of the shards of a run together'
      'mutate:plant small defects in a kernel and say which rule or tier notices each'
      'primitives:list the operations of the body'
      'recheck:check certificates, a receipt or the best shape of a sweep again, without a solver'
      'rewrites:list the changes of one place that verify tries where results differ (for programs\: JSON)'
      'rules:list the rules'
      'run:execute a verified kernel on your arrays, every access checked'
      'schema:JSON Schema of specs, or of .tileproof.json'
      'sweep:every combination of listed sizes, constants, dtypes and targets\: legal? which rule forbids it? what does it cost?'
      'targets:list the chips'
      'trace:run a Python script and write specs of the pallas_calls that it makes'
      'verify:lint, then execute against the naive reference'
    )
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
    assess)
      _arguments \
        '*--format[how to print costs, or an assessment\: full (default), json]:FORMAT:( concise full github gitlab html json jsonl junit markdown rdjson sarif sarif-full)' \
        '*--gain[keep a kernel that gains so much on its reference in the model (default 10)]:PERCENT:_files' \
        '*--runs[execute kernel and reference so often on this machine, and show the least time; it decides nothing (default 0)]:N:_files' \
        '*--target[check for this chip instead of the spec'\''s target]:NAME:( tpu-v2 tpu-v3 tpu-v4i tpu-v4 tpu-v5e tpu-v5p tpu-v6e tpu-v7x tpu-v8i none)' \
        '*--allow-path[also read arrays of cases from this folder, not only from the spec'\''s; may be repeated]:DIR:_files' \
        '*--timeout[work budget per spec; a second is a fixed number of work units (default 10; with verify, run, mutate and assess 120; 0\: no limit); what it leaves undecided is unknown]:SECONDS:_files' \
        '*--memory-limit[memory budget per spec (default 1024; with verify, run, mutate and assess 8192; 0\: no limit)]:MIB:_files' \
        '*--size[run\: a size that the arrays do not determine; sweep\: a size at which costs are modelled (default 4096); cost\: a size to count at, in place of the cases of the spec; assess\: a size to model at, in place of a usual one]:NAME=VALUE:_files' \
        '*--config[settings file (default\: .tileproof.json, the nearest to the specs, else to the working folder); none\: without one]:FILE:_files' \
        '*--show-settings[print every setting and its source; do nothing else]' \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    baseline)
      _arguments \
        '*--target[check for this chip instead of the spec'\''s target]:NAME:( tpu-v2 tpu-v3 tpu-v4i tpu-v4 tpu-v5e tpu-v5p tpu-v6e tpu-v7x tpu-v8i none)' \
        '*--select[check only these rules (comma-separated codes or slugs)]:CODES:( TP006 TP007 TP008 TP101 TP102 TP103 TP104 TP105 TP108 TP109 TP201 TP202 TP203 TP204 TP205 TP301 TP302 TP401 TP402 TP403 TP404 TP405 TP406 TP501 TP502 TP503 TP504 TP601 TP602 TP603 TP604 TP605 TP606 TP607 TP608)' \
        '*--ignore[do not check these rules]:CODES:( TP006 TP007 TP008 TP101 TP102 TP103 TP104 TP105 TP108 TP109 TP201 TP202 TP203 TP204 TP205 TP301 TP302 TP401 TP402 TP403 TP404 TP405 TP406 TP501 TP502 TP503 TP504 TP601 TP602 TP603 TP604 TP605 TP606 TP607 TP608)' \
        '*--rlimit[Z3 resource limit per hard query (default 2000000)]:N:_files' \
        '*--solvers[solvers for obligations without a certificate\: z3 (default), cvc5, or z3,cvc5]:LIST:_files' \
        '*--jobs[specs to check at the same time (default 0\: one per processor)]:N:_files' \
        '*--timeout[work budget per spec; a second is a fixed number of work units (default 10; with verify, run, mutate and assess 120; 0\: no limit); what it leaves undecided is unknown]:SECONDS:_files' \
        '*--memory-limit[memory budget per spec (default 1024; with verify, run, mutate and assess 8192; 0\: no limit)]:MIB:_files' \
        '*--config[settings file (default\: .tileproof.json, the nearest to the specs, else to the working folder); none\: without one]:FILE:_files' \
        '*--show-settings[print every setting and its source; do nothing else]' \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    completion)
      _arguments \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    cost)
      _arguments \
        '*--format[how to print costs, or an assessment\: full (default), json]:FORMAT:( concise full github gitlab html json jsonl junit markdown rdjson sarif sarif-full)' \
        '*--target[check for this chip instead of the spec'\''s target]:NAME:( tpu-v2 tpu-v3 tpu-v4i tpu-v4 tpu-v5e tpu-v5p tpu-v6e tpu-v7x tpu-v8i none)' \
        '*--timeout[work budget per spec; a second is a fixed number of work units (default 10; with verify, run, mutate and assess 120; 0\: no limit); what it leaves undecided is unknown]:SECONDS:_files' \
        '*--memory-limit[memory budget per spec (default 1024; with verify, run, mutate and assess 8192; 0\: no limit)]:MIB:_files' \
        '*--size[run\: a size that the arrays do not determine; sweep\: a size at which costs are modelled (default 4096); cost\: a size to count at, in place of the cases of the spec; assess\: a size to model at, in place of a usual one]:NAME=VALUE:_files' \
        '*--dtype[run\: a dtype parameter that the arrays do not determine; cost\: count only this choice]:NAME=DTYPE:_files' \
        '*--config[settings file (default\: .tileproof.json, the nearest to the specs, else to the working folder); none\: without one]:FILE:_files' \
        '*--show-settings[print every setting and its source; do nothing else]' \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    diff)
      _arguments \
        '*--target[check for this chip instead of the spec'\''s target]:NAME:( tpu-v2 tpu-v3 tpu-v4i tpu-v4 tpu-v5e tpu-v5p tpu-v6e tpu-v7x tpu-v8i none)' \
        '*--select[check only these rules (comma-separated codes or slugs)]:CODES:( TP006 TP007 TP008 TP101 TP102 TP103 TP104 TP105 TP108 TP109 TP201 TP202 TP203 TP204 TP205 TP301 TP302 TP401 TP402 TP403 TP404 TP405 TP406 TP501 TP502 TP503 TP504 TP601 TP602 TP603 TP604 TP605 TP606 TP607 TP608)' \
        '*--ignore[do not check these rules]:CODES:( TP006 TP007 TP008 TP101 TP102 TP103 TP104 TP105 TP108 TP109 TP201 TP202 TP203 TP204 TP205 TP301 TP302 TP401 TP402 TP403 TP404 TP405 TP406 TP501 TP502 TP503 TP504 TP601 TP602 TP603 TP604 TP605 TP606 TP607 TP608)' \
        '*--rlimit[Z3 resource limit per hard query (default 2000000)]:N:_files' \
        '*--solvers[solvers for obligations without a certificate\: z3 (default), cvc5, or z3,cvc5]:LIST:_files' \
        '*--allow-path[also read arrays of cases from this folder, not only from the spec'\''s; may be repeated]:DIR:_files' \
        '*--timeout[work budget per spec; a second is a fixed number of work units (default 10; with verify, run, mutate and assess 120; 0\: no limit); what it leaves undecided is unknown]:SECONDS:_files' \
        '*--memory-limit[memory budget per spec (default 1024; with verify, run, mutate and assess 8192; 0\: no limit)]:MIB:_files' \
        '*--config[settings file (default\: .tileproof.json, the nearest to the specs, else to the working folder); none\: without one]:FILE:_files' \
        '*--show-settings[print every setting and its source; do nothing else]' \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    emit)
      _arguments \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    explain)
      _arguments \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    fmt)
      _arguments \
        '*--check[only say whether the files are in canonical form]' \
        '*--write[rewrite the files in place]' \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    import-jax)
      _arguments \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    init)
      _arguments \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    judge)
      _arguments \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    kernels)
      _arguments \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    keygen)
      _arguments \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    lint)
      _arguments \
        '*--format[how to print findings\: full (default), concise, json, jsonl, html, markdown, sarif, sarif-full, github, gitlab, junit, rdjson]:FORMAT:( concise full github gitlab html json jsonl junit markdown rdjson sarif sarif-full)' \
        '*--output[also write a report to a file; may be repeated]:FORMAT=PATH:_files' \
        '*--target[check for this chip instead of the spec'\''s target]:NAME:( tpu-v2 tpu-v3 tpu-v4i tpu-v4 tpu-v5e tpu-v5p tpu-v6e tpu-v7x tpu-v8i none)' \
        '*--select[check only these rules (comma-separated codes or slugs)]:CODES:( TP006 TP007 TP008 TP101 TP102 TP103 TP104 TP105 TP108 TP109 TP201 TP202 TP203 TP204 TP205 TP301 TP302 TP401 TP402 TP403 TP404 TP405 TP406 TP501 TP502 TP503 TP504 TP601 TP602 TP603 TP604 TP605 TP606 TP607 TP608)' \
        '*--ignore[do not check these rules]:CODES:( TP006 TP007 TP008 TP101 TP102 TP103 TP104 TP105 TP108 TP109 TP201 TP202 TP203 TP204 TP205 TP301 TP302 TP401 TP402 TP403 TP404 TP405 TP406 TP501 TP502 TP503 TP504 TP601 TP602 TP603 TP604 TP605 TP606 TP607 TP608)' \
        '*--baseline[suppress the findings that this file lists (tileproof baseline write)]:FILE:_files' \
        '*--changed-since[check only specs that differ from this git revision or are not tracked]:REV:_files' \
        '*--shard[check only the specs of shard I of N, which their contents decide; `tileproof merge` puts the JSON reports together]:I/N:_files' \
        '*--watch[check again whenever a file beside the specs changes, until Ctrl-C]' \
        '*--fix[rewrite the specs with fixes; each was tried with a new check of all rules]' \
        '*--diff[print what --fix would change as a patch; change nothing]' \
        '*--unsafe-fixes[with --fix or --diff\: also fixes that narrow the sizes of a spec]' \
        '*--sweep-page[html\: link this page, which sweep wrote; a path from where the report will lie]:PATH:_files' \
        '*--unknown[how an undecided rule counts\: fail, warn, ignore (lint warns, verify fails)]:POLICY:_files' \
        '*--fail-on[what fails the run\: error (violated; the default of lint), unknown (undecided, too; the default of verify), warning (and entries of "allow" that suppress nothing), never]:LEVEL:_files' \
        '*--exit-zero[findings do not fail the run; errors of usage, reading and writing still do]' \
        '*--rlimit[Z3 resource limit per hard query (default 2000000)]:N:_files' \
        '*--solvers[solvers for obligations without a certificate\: z3 (default), cvc5, or z3,cvc5]:LIST:_files' \
        '*--emit-smt2[write one SMT-LIB 2 file per obligation]:DIR:_files' \
        '*--certificates[write every proof, for recheck; sweep\: that no legal shape is faster in the model than the best]:FILE:_files' \
        '*--playback[write failing cases\: json=FILE (entries of "cases"), npy=FOLDER (arrays for run)]:FORMAT=PATH:_files' \
        '*--cache[keep proofs in this file; each is checked again before it is used]:FILE:_files' \
        '*--cache-key[with --cache\: also keep whole results, sealed with this private key (tileproof keygen), and take those that it sealed]:KEY:_files' \
        '*--jobs[specs to check at the same time (default 0\: one per processor)]:N:_files' \
        '*--timeout[work budget per spec; a second is a fixed number of work units (default 10; with verify, run, mutate and assess 120; 0\: no limit); what it leaves undecided is unknown]:SECONDS:_files' \
        '*--memory-limit[memory budget per spec (default 1024; with verify, run, mutate and assess 8192; 0\: no limit)]:MIB:_files' \
        '*--max-memory[memory for the arrays of one run (default 2048)]:MIB:_files' \
        '*--plot[draw blocks, copies and VMEM after the report\: auto, unicode, ascii]:STYLE:_files' \
        '*--statistics[count the verdicts of each rule]' \
        '*--dump[print intermediate results instead of a report\: tokens, body, windows, leaks, claims, terms, plan]:PHASES:_files' \
        '*--timings[how long each spec took, with verify each tier of evidence, on standard error]' \
        '*--no-progress[do not show on a terminal what is done, how far it is and for how long]' \
        '*--config[settings file (default\: .tileproof.json, the nearest to the specs, else to the working folder); none\: without one]:FILE:_files' \
        '*--show-settings[print every setting and its source; do nothing else]' \
        '*--color[auto, always, never]:WHEN:_files' \
        '*--quiet[findings and the total only]' \
        '*--verbose[tables, every case, what the prover did]' \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    lsp)
      _arguments \
        '*--target[check for this chip instead of the spec'\''s target]:NAME:( tpu-v2 tpu-v3 tpu-v4i tpu-v4 tpu-v5e tpu-v5p tpu-v6e tpu-v7x tpu-v8i none)' \
        '*--select[check only these rules (comma-separated codes or slugs)]:CODES:( TP006 TP007 TP008 TP101 TP102 TP103 TP104 TP105 TP108 TP109 TP201 TP202 TP203 TP204 TP205 TP301 TP302 TP401 TP402 TP403 TP404 TP405 TP406 TP501 TP502 TP503 TP504 TP601 TP602 TP603 TP604 TP605 TP606 TP607 TP608)' \
        '*--ignore[do not check these rules]:CODES:( TP006 TP007 TP008 TP101 TP102 TP103 TP104 TP105 TP108 TP109 TP201 TP202 TP203 TP204 TP205 TP301 TP302 TP401 TP402 TP403 TP404 TP405 TP406 TP501 TP502 TP503 TP504 TP601 TP602 TP603 TP604 TP605 TP606 TP607 TP608)' \
        '*--rlimit[Z3 resource limit per hard query (default 2000000)]:N:_files' \
        '*--timeout[work budget per spec; a second is a fixed number of work units (default 10; with verify, run, mutate and assess 120; 0\: no limit); what it leaves undecided is unknown]:SECONDS:_files' \
        '*--memory-limit[memory budget per spec (default 1024; with verify, run, mutate and assess 8192; 0\: no limit)]:MIB:_files' \
        '*--config[settings file (default\: .tileproof.json, the nearest to the specs, else to the working folder); none\: without one]:FILE:_files' \
        '*--show-settings[print every setting and its source; do nothing else]' \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    man)
      _arguments \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    merge)
      _arguments \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    mutate)
      _arguments \
        '*--format[how to print the defects\: full (default), json]:FORMAT:( concise full github gitlab html json jsonl junit markdown rdjson sarif sarif-full)' \
        '*--cases[generated cases per dtype combination (default 6)]:N:_files' \
        '*--box[shapes per dtype combination for the algebra where the box is too large to run whole (default 8; 0\: no box)]:N:_files' \
        '*--wider[runs on further shapes and inputs, for defects that the cases of verify do not tell apart (default 40)]:N:_files' \
        '*--defects[at most this many defects per spec, chosen by the seed (default 0\: all)]:N:_files' \
        '*--seed[seed of inputs and of the order of parallel axes (default 0)]:N:_files' \
        '*--allow-path[also read arrays of cases from this folder, not only from the spec'\''s; may be repeated]:DIR:_files' \
        '*--timeout[work budget per spec; a second is a fixed number of work units (default 10; with verify, run, mutate and assess 120; 0\: no limit); what it leaves undecided is unknown]:SECONDS:_files' \
        '*--memory-limit[memory budget per spec (default 1024; with verify, run, mutate and assess 8192; 0\: no limit)]:MIB:_files' \
        '*--max-memory[memory for the arrays of one run (default 2048)]:MIB:_files' \
        '*--no-progress[do not show on a terminal what is done, how far it is and for how long]' \
        '*--config[settings file (default\: .tileproof.json, the nearest to the specs, else to the working folder); none\: without one]:FILE:_files' \
        '*--show-settings[print every setting and its source; do nothing else]' \
        '*--verbose[tables, every case, what the prover did]' \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    primitives)
      _arguments \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    recheck)
      _arguments \
        '*--target[check for this chip instead of the spec'\''s target]:NAME:( tpu-v2 tpu-v3 tpu-v4i tpu-v4 tpu-v5e tpu-v5p tpu-v6e tpu-v7x tpu-v8i none)' \
        '*--explain[print the proofs as text]' \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    rewrites)
      _arguments \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    rules)
      _arguments \
        '*--markdown[all rules with their explanations, as in docs/RULES.md]' \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    run)
      _arguments \
        '*--target[check for this chip instead of the spec'\''s target]:NAME:( tpu-v2 tpu-v3 tpu-v4i tpu-v4 tpu-v5e tpu-v5p tpu-v6e tpu-v7x tpu-v8i none)' \
        '*--receipt[verify\: write the result as a receipt; run\: accept this receipt instead of verifying first]:FILE:_files' \
        '*--trust[accept only a receipt that is signed by a key in this file]:KEYS:_files' \
        '*--unchecked[run without a receipt and without verifying first]' \
        '*--seed[seed of inputs and of the order of parallel axes (default 0)]:N:_files' \
        '*--allow-path[also read arrays of cases from this folder, not only from the spec'\''s; may be repeated]:DIR:_files' \
        '*--timeout[work budget per spec; a second is a fixed number of work units (default 10; with verify, run, mutate and assess 120; 0\: no limit); what it leaves undecided is unknown]:SECONDS:_files' \
        '*--memory-limit[memory budget per spec (default 1024; with verify, run, mutate and assess 8192; 0\: no limit)]:MIB:_files' \
        '*--max-memory[memory for the arrays of one run (default 2048)]:MIB:_files' \
        '*--max-steps[largest grid to execute (default 100000000)]:N:_files' \
        '*--threads[threads that share the steps of leading parallel axes, with the same results (default 0\: one per processor)]:N:_files' \
        '*--profile[write what the run did as JSON\: instruction set, threads, time of each phase, bytes, FLOPs, and their shares of measured peaks]:FILE:_files' \
        '*--trace[write what the run did, and when, for Perfetto or chrome\://tracing\: steps, statements, windows that moved or stayed, copies of the body]:FILE:_files' \
        '*--trace-text[print that after the run\: statements by time, windows, the first steps]' \
        '*--show[print what operands and locals of the body hold, each time that they are written\: m,acc]:NAMES:_files' \
        '*--at[with --show\: only in steps with this coordinate]:AXIS=STEP:_files' \
        '*--size[run\: a size that the arrays do not determine; sweep\: a size at which costs are modelled (default 4096); cost\: a size to count at, in place of the cases of the spec; assess\: a size to model at, in place of a usual one]:NAME=VALUE:_files' \
        '*--dtype[run\: a dtype parameter that the arrays do not determine; cost\: count only this choice]:NAME=DTYPE:_files' \
        '*--input[an input array\: FILE.npy or FILE.safetensors#TENSOR]:NAME=FILE:_files' \
        '*--output[where to write an output array]:NAME=FILE:_files' \
        '*--fill[fill the inputs that are not given, as verify does for a case with this --seed\: normal, wide, ties, …; --output writes inputs, too]:FAMILY:_files' \
        '*--no-progress[do not show on a terminal what is done, how far it is and for how long]' \
        '*--config[settings file (default\: .tileproof.json, the nearest to the specs, else to the working folder); none\: without one]:FILE:_files' \
        '*--show-settings[print every setting and its source; do nothing else]' \
        '*--color[auto, always, never]:WHEN:_files' \
        '*--quiet[findings and the total only]' \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    schema)
      _arguments \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    sweep)
      _arguments \
        '*--measure[execute the N best shapes at the sizes of the model, and print this machine'\''s processor time]:N:_files' \
        '*--over[what to go through\: sizes (bm=64\:512\:64 or bm=64|128), constants, dtypes (T=float32|bfloat16) and target=v4|v5e, comma-separated; may be repeated]:NAME=VALUES:_files' \
        '*--format[how to print the shapes\: table (default), csv, json, html; the legal ones alone, best first, as a search space\: space (JSON), python]:FORMAT:( concise full github gitlab html json jsonl junit markdown rdjson sarif sarif-full)' \
        '*--output[also write a report to a file; may be repeated]:FORMAT=PATH:_files' \
        '*--target[check for this chip instead of the spec'\''s target]:NAME:( tpu-v2 tpu-v3 tpu-v4i tpu-v4 tpu-v5e tpu-v5p tpu-v6e tpu-v7x tpu-v8i none)' \
        '*--certificates[write every proof, for recheck; sweep\: that no legal shape is faster in the model than the best]:FILE:_files' \
        '*--jobs[specs to check at the same time (default 0\: one per processor)]:N:_files' \
        '*--timeout[work budget per spec; a second is a fixed number of work units (default 10; with verify, run, mutate and assess 120; 0\: no limit); what it leaves undecided is unknown]:SECONDS:_files' \
        '*--memory-limit[memory budget per spec (default 1024; with verify, run, mutate and assess 8192; 0\: no limit)]:MIB:_files' \
        '*--size[run\: a size that the arrays do not determine; sweep\: a size at which costs are modelled (default 4096); cost\: a size to count at, in place of the cases of the spec; assess\: a size to model at, in place of a usual one]:NAME=VALUE:_files' \
        '*--no-progress[do not show on a terminal what is done, how far it is and for how long]' \
        '*--config[settings file (default\: .tileproof.json, the nearest to the specs, else to the working folder); none\: without one]:FILE:_files' \
        '*--show-settings[print every setting and its source; do nothing else]' \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    targets)
      _arguments \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    trace)
      _arguments \
        '*--help[help for the command]' \
        '*:file:_files' ;;
    verify)
      _arguments \
        '*--format[how to print findings\: full (default), concise, json, jsonl, html, markdown, sarif, sarif-full, github, gitlab, junit, rdjson]:FORMAT:( concise full github gitlab html json jsonl junit markdown rdjson sarif sarif-full)' \
        '*--output[also write a report to a file; may be repeated]:FORMAT=PATH:_files' \
        '*--target[check for this chip instead of the spec'\''s target]:NAME:( tpu-v2 tpu-v3 tpu-v4i tpu-v4 tpu-v5e tpu-v5p tpu-v6e tpu-v7x tpu-v8i none)' \
        '*--select[check only these rules (comma-separated codes or slugs)]:CODES:( TP006 TP007 TP008 TP101 TP102 TP103 TP104 TP105 TP108 TP109 TP201 TP202 TP203 TP204 TP205 TP301 TP302 TP401 TP402 TP403 TP404 TP405 TP406 TP501 TP502 TP503 TP504 TP601 TP602 TP603 TP604 TP605 TP606 TP607 TP608)' \
        '*--ignore[do not check these rules]:CODES:( TP006 TP007 TP008 TP101 TP102 TP103 TP104 TP105 TP108 TP109 TP201 TP202 TP203 TP204 TP205 TP301 TP302 TP401 TP402 TP403 TP404 TP405 TP406 TP501 TP502 TP503 TP504 TP601 TP602 TP603 TP604 TP605 TP606 TP607 TP608)' \
        '*--baseline[suppress the findings that this file lists (tileproof baseline write)]:FILE:_files' \
        '*--changed-since[check only specs that differ from this git revision or are not tracked]:REV:_files' \
        '*--shard[check only the specs of shard I of N, which their contents decide; `tileproof merge` puts the JSON reports together]:I/N:_files' \
        '*--watch[check again whenever a file beside the specs changes, until Ctrl-C]' \
        '*--fix[rewrite the specs with fixes; each was tried with a new check of all rules]' \
        '*--diff[print what --fix would change as a patch; change nothing]' \
        '*--unsafe-fixes[with --fix or --diff\: also fixes that narrow the sizes of a spec]' \
        '*--sweep-page[html\: link this page, which sweep wrote; a path from where the report will lie]:PATH:_files' \
        '*--receipt[verify\: write the result as a receipt; run\: accept this receipt instead of verifying first]:FILE:_files' \
        '*--sign[sign the receipt with this private key (tileproof keygen)]:KEY:_files' \
        '*--unknown[how an undecided rule counts\: fail, warn, ignore (lint warns, verify fails)]:POLICY:_files' \
        '*--fail-on[what fails the run\: error (violated; the default of lint), unknown (undecided, too; the default of verify), warning (and entries of "allow" that suppress nothing), never]:LEVEL:_files' \
        '*--exit-zero[findings do not fail the run; errors of usage, reading and writing still do]' \
        '*--rlimit[Z3 resource limit per hard query (default 2000000)]:N:_files' \
        '*--solvers[solvers for obligations without a certificate\: z3 (default), cvc5, or z3,cvc5]:LIST:_files' \
        '*--emit-smt2[write one SMT-LIB 2 file per obligation]:DIR:_files' \
        '*--certificates[write every proof, for recheck; sweep\: that no legal shape is faster in the model than the best]:FILE:_files' \
        '*--playback[write failing cases\: json=FILE (entries of "cases"), npy=FOLDER (arrays for run)]:FORMAT=PATH:_files' \
        '*--cache[keep proofs in this file; each is checked again before it is used]:FILE:_files' \
        '*--jobs[specs to check at the same time (default 0\: one per processor)]:N:_files' \
        '*--cases[generated cases per dtype combination (default 6)]:N:_files' \
        '*--box[shapes per dtype combination for the algebra where the box is too large to run whole (default 8; 0\: no box)]:N:_files' \
        '*--require[evidence that must be reached\: algebra=E3, E4 or E5, rounding=E1, bits=E2]:LIST:_files' \
        '*--seed[seed of inputs and of the order of parallel axes (default 0)]:N:_files' \
        '*--allow-path[also read arrays of cases from this folder, not only from the spec'\''s; may be repeated]:DIR:_files' \
        '*--timeout[work budget per spec; a second is a fixed number of work units (default 10; with verify, run, mutate and assess 120; 0\: no limit); what it leaves undecided is unknown]:SECONDS:_files' \
        '*--memory-limit[memory budget per spec (default 1024; with verify, run, mutate and assess 8192; 0\: no limit)]:MIB:_files' \
        '*--max-memory[memory for the arrays of one run (default 2048)]:MIB:_files' \
        '*--max-steps[largest grid to execute (default 100000000)]:N:_files' \
        '*--plot[draw blocks, copies and VMEM after the report\: auto, unicode, ascii]:STYLE:_files' \
        '*--statistics[count the verdicts of each rule]' \
        '*--dump[print intermediate results instead of a report\: tokens, body, windows, leaks, claims, terms, plan]:PHASES:_files' \
        '*--timings[how long each spec took, with verify each tier of evidence, on standard error]' \
        '*--no-progress[do not show on a terminal what is done, how far it is and for how long]' \
        '*--config[settings file (default\: .tileproof.json, the nearest to the specs, else to the working folder); none\: without one]:FILE:_files' \
        '*--show-settings[print every setting and its source; do nothing else]' \
        '*--color[auto, always, never]:WHEN:_files' \
        '*--quiet[findings and the total only]' \
        '*--verbose[tables, every case, what the prover did]' \
        '*--help[help for the command]' \
        '*:file:_files' ;;
  esac
}
_tileproof "$@"
