# bash completion of tileproof: made by `tileproof completion bash`
_tileproof() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=
    case $before in
    --target) words=" tpu-v2 tpu-v3 tpu-v4i tpu-v4 tpu-v5e tpu-v5p tpu-v6e tpu-v7x tpu-v8i none" ;;
    --format) words=" concise full github gitlab html json jsonl junit markdown rdjson sarif sarif-full" ;;
    --select) words=" TP006 TP007 TP008 TP101 TP102 TP103 TP104 TP105 TP108 TP109 TP201 TP202 TP203 TP204 TP205 TP301 TP302 TP401 TP402 TP403 TP404 TP405 TP406 TP501 TP502 TP503 TP504 TP601 TP602 TP603 TP604 TP605 TP606 TP607 TP608" ;;
    --ignore) words=" TP006 TP007 TP008 TP101 TP102 TP103 TP104 TP105 TP108 TP109 TP201 TP202 TP203 TP204 TP205 TP301 TP302 TP401 TP402 TP403 TP404 TP405 TP406 TP501 TP502 TP503 TP504 TP601 TP602 TP603 TP604 TP605 TP606 TP607 TP608" ;;
    explain) words=" TP006 TP007 TP008 TP101 TP102 TP103 TP104 TP105 TP108 TP109 TP201 TP202 TP203 TP204 TP205 TP301 TP302 TP401 TP402 TP403 TP404 TP405 TP406 TP501 TP502 TP503 TP504 TP601 TP602 TP603 TP604 TP605 TP606 TP607 TP608" ;;
    esac
    if [ -z "$words" ] && [ "$COMP_CWORD" -eq 1 ]; then
        words=" assess baseline completion cost diff emit explain fmt import-jax init judge kernels keygen lint lsp man merge mutate primitives recheck rewrites rules run schema sweep targets trace verify"
    elif [ -z "$words" ] && [ "${word#-}" != "$word" ]; then
        case ${COMP_WORDS[1]} in
        assess) words=" --format --gain --runs --target --allow-path --timeout --memory-limit --size --config --show-settings --help" ;;
        baseline) words=" --target --select --ignore --rlimit --solvers --jobs --timeout --memory-limit --config --show-settings --help" ;;
        completion) words=" --help" ;;
        cost) words=" --format --target --timeout --memory-limit --size --dtype --config --show-settings --help" ;;
        diff) words=" --target --select --ignore --rlimit --solvers --allow-path --timeout --memory-limit --config --show-settings --help" ;;
        emit) words=" --help" ;;
        explain) words=" --help" ;;
        fmt) words=" --check --write --help" ;;
        import-jax) words=" --help" ;;
        init) words=" --help" ;;
        judge) words=" --help" ;;
        kernels) words=" --help" ;;
        keygen) words=" --help" ;;
        lint) words=" --format --output --target --select --ignore --baseline --changed-since --shard --watch --fix --diff --unsafe-fixes --sweep-page --unknown --fail-on --exit-zero --rlimit --solvers --emit-smt2 --certificates --playback --cache --cache-key --jobs --timeout --memory-limit --max-memory --plot --statistics --dump --timings --no-progress --config --show-settings --color --quiet --verbose --help" ;;
        lsp) words=" --target --select --ignore --rlimit --timeout --memory-limit --config --show-settings --help" ;;
        man) words=" --help" ;;
        merge) words=" --help" ;;
        mutate) words=" --format --cases --box --wider --defects --seed --allow-path --timeout --memory-limit --max-memory --no-progress --config --show-settings --verbose --help" ;;
        primitives) words=" --help" ;;
        recheck) words=" --target --explain --help" ;;
        rewrites) words=" --help" ;;
        rules) words=" --markdown --help" ;;
        run) words=" --target --receipt --trust --unchecked --seed --allow-path --timeout --memory-limit --max-memory --max-steps --threads --profile --trace --trace-text --show --at --size --dtype --input --output --fill --no-progress --config --show-settings --color --quiet --help" ;;
        schema) words=" --help" ;;
        sweep) words=" --measure --over --format --output --target --certificates --jobs --timeout --memory-limit --size --no-progress --config --show-settings --help" ;;
        targets) words=" --help" ;;
        trace) words=" --help" ;;
        verify) words=" --format --output --target --select --ignore --baseline --changed-since --shard --watch --fix --diff --unsafe-fixes --sweep-page --receipt --sign --unknown --fail-on --exit-zero --rlimit --solvers --emit-smt2 --certificates --playback --cache --jobs --cases --box --require --seed --allow-path --timeout --memory-limit --max-memory --max-steps --plot --statistics --dump --timings --no-progress --config --show-settings --color --quiet --verbose --help" ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [ -n "$words" ] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -o filenames -F _tileproof tileproof
