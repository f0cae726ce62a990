# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# gpu_parts.sh - what scripts/test-gpu runs, in parts, and what each of them shows.
# Source it, after gpu_results.sh; it runs nothing by itself. What it is given: root,
# build, work, gpus, num_gpus, nccl_version, stand_in, one_gpu, part, seed and
# cuda_root.
# shellcheck disable=SC2154

# ---- jobs -----------------------------------------------------------------

# on PROCESSES COMMAND...: a job on the GPUs, called $name.
on() {
    attempt "$name" mpirun --oversubscribe --bind-to none -n "$@"
}

# alone COMMAND...: as one process with one GPU, called $name.
alone() {
    attempt "$name" "${one_gpu[@]}" mpirun --bind-to none -n 1 "$@"
}

# share_job PROCESSES COMMAND...: into `job`: one on a single GPU.
share_job() {
    job=("${one_gpu[@]}" mpirun --oversubscribe --bind-to none -n "$1"
        "$root/tests/gpu/share" "${@:2}")
}

# learn_sharing: once, whether NCCL lets two processes have a GPU; what it says
# where it does not is `why_not_shared`.
learn_sharing() {
    local job refusal
    [[ ! -v why_not_shared ]] || return 0
    why_not_shared=
    share_job 2 env NCCL_DEBUG=WARN "$comms" good 0
    run_logged "${job[@]}"
    refusal=$(grep -o -m 1 'Duplicate GPU.*' "$work/log") || return 0
    why_not_shared="NCCL $nccl_version refuses processes that share a GPU: $refusal"
}

# share PROCESSES COMMAND...: a job on one GPU, called $name.
share() {
    local job
    learn_sharing
    if [[ -n $why_not_shared ]]; then
        skip "$name" "$why_not_shared"
        return
    fi
    share_job "$@"
    attempt "$name" "${job[@]}"
}

# By what NCCL's ranks move their bytes, of a job with NCCL_DEBUG=INFO.
say_transports() {
    local found
    found=$(grep -ohE 'via [A-Z0-9]+/[A-Za-z]+' "$work/log" | sort -u |
        paste -sd , | sed 's/,/, /g')
    say "         NCCL's bytes go ${found:-as it does not say}"
}

# run_list WHERE LIST RUN...: the tests of a list of tests/gpu by tests/mpi/run, a
# GPU's one at a time.
run_list() {
    local where=$1 list=$2 jobs=1 line was_bad=false
    [[ -z $stand_in ]] || jobs=4
    local launcher="env JD_PLATFORM=cuda JD_PLATFORM_DIR=$JD_PLATFORM_DIR"
    "${@:3}" --list "$root/tests/gpu/${list}_testlist" --jobs "$jobs" \
        --programs "$programs" \
        --launcher "$launcher mpirun --oversubscribe --bind-to none" \
        "$build" >"$work/log" 2>&1 </dev/null || true
    if ! grep -q '^1\.\.[1-9]' "$work/log"; then
        fail "$list, $where: no results"
        tail -n 60 "$work/log" | sed 's/^/    /'
        return
    fi
    while IFS= read -r line; do
        take_result "$line" "$where"
    done <"$work/log"
}

# take_result LINE WHERE: a line of TAP; comments are shown behind a failure.
take_result() {
    local name=${1#*ok * - }
    case $1 in
    'ok '*' # SKIP '*)
        was_bad=false
        skip "${name% # SKIP *}, $2" "${name##* # SKIP }"
        ;;
    'ok '*)
        was_bad=false
        pass "$name, $2"
        ;;
    'not ok '*)
        was_bad=true
        fail "$name, $2"
        ;;
    '#'*) ! $was_bad || say "    ${1#\# }" ;;
    esac
}

share_list() {
    local where='on one GPU'
    learn_sharing
    if [[ -n $why_not_shared ]]; then
        skip "$1, $where" "$why_not_shared"
    else
        run_list "$where" "$1" "${one_gpu[@]}" "$root/tests/mpi/run" \
            --before "$root/tests/gpu/share"
    fi
}

# spread_list GPUS LIST: where there are so many.
spread_list() {
    if ((num_gpus < $1)); then
        skip "$2, on several GPUs" "there are not $1 GPUs here but $num_gpus"
    else
        run_list 'on several GPUs' "$2" "$root/tests/mpi/run"
    fi
}

# ---- the parts ------------------------------------------------------------

# test_kernel NAME PROGRAM
test_kernel() {
    if [[ -n $stand_in ]]; then
        skip "$1" "the stand-ins run none"
    elif [[ -x $2 ]]; then
        attempt "$1" "$2"
    else
        skip "$1" "there is no nvcc that works"
    fi
}

test_kernels() {
    test_kernel 'folds against the cpu' "$folds"
    test_kernel 'copies of boxes against the host' "$boxes"
}

conform_alone() {
    local name='conformance: 1 process with 1 GPU'
    alone "${conform[@]}"
}

conform_shared() {
    local name processes
    for processes in 2 3 4; do
        name="conformance: $processes processes on one GPU"
        share "$processes" "${conform[@]}"
    done
}

conform_spread() {
    local name="conformance: several GPUs"
    if ((num_gpus == 1)); then
        skip "$name" "there is 1 GPU"
        return
    fi
    name="conformance: 1 process with $num_gpus GPUs"
    on 1 "${conform[@]}"
    name="conformance: $num_gpus processes with a GPU each"
    on "$num_gpus" "${conform[@]}"
}

test_sharing() {
    local name='NCCL between 2 processes on one GPU'
    share 2 env NCCL_DEBUG=INFO "$comms" good 0
    ! has_passed || say_transports
}

test_links() {
    local name="NCCL between $num_gpus GPUs, a process each"
    if ((num_gpus == 1)); then
        skip "NCCL between several GPUs" "there is 1 GPU"
        return
    fi
    on "$num_gpus" env NCCL_DEBUG=INFO "$comms" good 0
    ! has_passed || say_transports
}

program_alone() {
    local name test
    for test in streams graphs memory; do
        name="a program's $test: 1 process with 1 GPU"
        alone "$build/$programs/test_cuda_program" "$test"
    done
}

programs_spread() {
    spread_list 3 programs
    spread_list 2 threads
}

# report_large NAME COMMAND...: a result for each call.
report_large() {
    local name=$1 line
    run_logged "${@:2}"
    if ((status > 0)) || ! grep -q '^large ' "$work/log"; then
        report "$@"
        return
    fi
    while read -r line; do
        case $line in
        *' good') pass "${line% good}, $name" ;;
        *) skip "${line%% skipped: *}, $name" "${line#* skipped: }" ;;
        esac
    done < <(sed -n 's/^large //p' "$work/log")
}

large_shared() {
    local job name='2 processes on one GPU'
    learn_sharing
    if [[ -n $why_not_shared ]]; then
        skip "counts over 2^31, $name" "$why_not_shared"
        return
    fi
    share_job 2 "${large[@]}"
    report_large "$name" "${job[@]}"
}

large_spread() {
    local name="$num_gpus processes with a GPU each"
    if ((num_gpus == 1)); then
        skip "counts over 2^31 between several GPUs" "there is 1 GPU"
        return
    fi
    report_large "$name" mpirun --oversubscribe --bind-to none -n "$num_gpus" \
        "${large[@]}"
}

find_sanitizer() {
    [[ -z $stand_in ]] || return 0
    command -v compute-sanitizer ||
        ls "${cuda_root:-/usr/local/cuda}/bin/compute-sanitizer" 2>/dev/null ||
        true
}

# sanitize NAME TOOL COMMAND...: where compute-sanitizer is. Calls that fail are not
# counted: NCCL asks the driver for much that it may not have.
sanitize() {
    local name="compute-sanitizer: $2 of $1" program
    program=$(find_sanitizer)
    if [[ -z $program ]]; then
        skip "$name" "there is no compute-sanitizer"
    elif [[ ! -x $3 ]]; then
        skip "$name" "there is no nvcc that works"
    else
        alone "$program" --tool "$2" --report-api-errors no \
            --error-exitcode 9 "${@:3}"
    fi
}

test_sanitizer() {
    local tool most=1000
    [[ $part != 1/1 ]] || most=1000000
    for tool in memcheck racecheck initcheck; do
        sanitize 'the folds' "$tool" "$folds" "$most"
        sanitize 'copies of boxes' "$tool" "$boxes"
    done
    sanitize 'a part of the conformance suite' memcheck "${conform[0]}" \
        --seed "$seed" --part 1/500 --sums rounded
}

# example PROCESSES NAME PROGRAM ARGUMENT...: one that uses GPUs itself.
example() {
    local name="mpi_examples/$2, $1 process(es)" program=$build/mpi_examples/$3
    if [[ -n $stand_in ]]; then
        skip "$name" "its kernel needs a GPU"
    elif [[ -x $program ]]; then
        on "$1" "$program" "${@:4}"
    else
        skip "$name" "it was not built: there is no nvcc that works"
    fi
}

test_examples() {
    local name="mpi_examples/01_hello, $num_gpus process(es)"
    on "$num_gpus" "$build/mpi_examples/01_hello/hello"
    example "$num_gpus" 09_cuda_psum 09_cuda_psum/cuda_psum
    ((num_gpus == 1)) ||
        example 1 "09_cuda_psum with $num_gpus GPUs" 09_cuda_psum/cuda_psum
    example "$num_gpus" '04_digits on GPUs' 04_digits/digits_cuda \
        "$root/mpi_examples/04_digits/digits.csv"
}

# bench NAME OPTION...: its table is what is worth keeping.
bench() {
    attempt "$1" "$build/bench/jd-bench" collectives --platform cuda \
        --processes "$num_gpus" --op all --check "${@:2}"
    cat "$work/log"
}

# The MiB of the smallest GPU; of a stand-in 1 GiB.
least_memory() {
    if [[ -n $stand_in ]]; then
        echo 1024
    else
        sed -E 's/.*, ([0-9]+) MiB,.*/\1/' <<<"$gpus" | sort -n | head -n 1
    fi
}

test_speed() {
    local name='jd-bench collectives up to 1 GiB' wanted=8192 least
    local few=() large=(--sizes 256MiB:1GiB --launches 1 --rounds 5)
    if [[ -n $stand_in ]]; then
        few=(--sizes 1KiB:16KiB --launches 1 --rounds 3) wanted=1024
        large=(--sizes 64KiB:256KiB --launches 1 --rounds 3)
    fi
    least=$(least_memory)
    bench 'jd-bench collectives beside NCCL alone' "${few[@]}"
    if ((least < wanted)); then
        skip "$name" "a GPU has $least MiB, and $wanted are wanted"
    else
        bench "$name" "${large[@]}"
    fi
}

# ---- all of them ----------------------------------------------------------

set_programs() {
    folds=$build/tests/gpu/test_fold_kernels
    boxes=$build/tests/gpu/test_strided_kernel
    comms=$build/tests/nccl_standin/test_nccl_comms
    programs=tests/gpu
    conform=("$build/tests/conformance/conform" --seed "$seed" --part "$part"
        --sums rounded)
    large=(env JD_COLLECTIVE_TIMEOUT=600 "${conform[0]}" --large)
    if [[ -n $stand_in ]]; then
        programs=tests/nccl_standin
        large=("${conform[0]}" --large-count 3000017)
    fi
}

parts_alone() {
    part kernels alone "the kernels of jd's folds give the cpu's bits: every type, \
operation, number of vectors and alignment; that of boxes copies what the host does" \
        test_kernels
    part conformance alone "the module, discovery, a GPU's memory, copies, staging and \
all calls, $part of the suite; one that is alone calls nothing of NCCL's" \
        conform_alone
    part programs alone "streams, graphs and memory of a program that is alone: its \
collectives are copies" program_alone
    part sanitizer alone "no kernel touches what it must not, races, or reads what \
nobody wrote" test_sanitizer
}

parts_shared() {
    part sharing shared "NCCL lets processes share a GPU, and communicators are made, \
used, ended and made again; by no link between GPUs" test_sharing
    part conformance shared "NCCL gives 2, 3 and 4 members the right results, $part of \
the suite; nothing of speed" conform_shared
    part programs shared "streams, graphs with NCCL's kernels, pairs, and more calls than \
CUDA could queue" share_list programs
    part failures shared "who does not come, is stopped, killed or far ahead is named, \
NCCL's kernels end and the GPU is idle; members that call different things hear so. Not \
what NCCL leaves unsaid inside a host, where each is one to it" share_list failures
    part large shared "counts over 2^31 go through NCCL whole" large_shared
}

parts_spread() {
    part sharing several "communicators between GPUs are made, used, ended and made \
again, by the links that there are" test_links
    part conformance several "the right results between GPUs, of one process and of one \
each, $part of the suite" conform_spread
    part programs several "streams, graphs and pairs between GPUs; and in one process \
memory that is got while another GPU's kernel spins" programs_spread
    part failures several "what members of one host hear of one that fails, where NCCL \
says nothing" spread_list 3 failures
    part large several "counts over 2^31 between GPUs" large_spread
}

parts_of_all() {
    local here=alone where='1 GPU'
    ((num_gpus == 1)) || here=several where="$num_gpus GPUs"
    part examples "$here" "the examples on $where print what is right" test_examples
    part speed "$here" "right results of up to 1 GiB, and jd's time beside NCCL's own \
on $where" test_speed
}

run_parts() {
    set_programs
    parts_alone
    parts_shared
    parts_spread
    parts_of_all
    say_table
}
