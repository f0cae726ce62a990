#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_tools.sh - jd-info's live reports and jd-bench's answers to its flags.
# usage: test_tools.sh JD_INFO JD_BENCH BENCH_SERVICE
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib/tap.sh
source "$here/../lib/tap.sh"
# shellcheck source-path=SCRIPTDIR source=../lib/launcher.sh
source "$here/../lib/launcher.sh"
clear_foreign_variables
jd_info=$1
jd_bench=$2
bench_service=$3
find_launcher "${jd_info%/tools/jd-info}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# says NAME STATUS TEXT COMMAND...: the command ends with the status and prints
# the text, on either stream.
says() {
    local name=$1 wanted=$2 text=$3 status=0
    shift 3
    "$@" >"$work/out" 2>&1 </dev/null || status=$?
    if ((status == wanted)) && grep -qF -e "$text" "$work/out"; then
        tap_ok "$name"
    else
        tap_not_ok "$name"
        echo "# exit status $status, wanted $wanted and: $text"
        tap_comment <"$work/out"
    fi
}

says "jd-info shows what it would set for MPI" 0 "OMPI_MCA_pml " "$jd_info"
says "and why not" 0 "left alone: JD_TUNE_MPI is 0" \
    env JD_TUNE_MPI=0 "$jd_info"
says "a variable of the user's stands" 0 "left alone: OMPI_MCA_pml is set" \
    env OMPI_MCA_pml=ob1 "$jd_info"
says "more processes than cores, of a job that cannot start" 1 "9999 processes (OMPI_COMM_WORLD_LOCAL_SIZE) share " \
    env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=9999 \
    OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=9999 "$jd_info"
says "jd-info --topology alone" 0 "job: 1 host, 1 slice, 1 process, 1 cpu device" \
    "$jd_info" --topology
says "several devices" 0 "    device 2: cpu 2, " \
    env JD_NUM_CPU_DEVICES=3 "$jd_info" --topology
says "as JSON" 0 '"process_index": 0, "local_ordinal": 0' \
    "$jd_info" --topology --json
says "a job that cannot start" 1 "jd-info: jd_initialize: the job has 2 processes" \
    env JD_NUM_PROCESSES=2 JD_PROCESS_ID=0 "$jd_info" --topology
says "a picture of it" 0 "<svg " env JD_NUM_CPU_DEVICES=2 \
    "$jd_info" --topology --svg
says "--svg is of a topology" 2 "--svg goes with --topology alone" \
    "$jd_info" --svg
says "and no JSON" 2 "--svg does not go with --json" \
    "$jd_info" --topology --svg --json
says "--topology is of this job" 2 "--env does not go with --topology" \
    "$jd_info" --topology --env /dev/null
"$jd_info" --topology --json >"$work/json"
says "the JSON is JSON" 0 "" python3 -m json.tool "$work/json"

says "jd-info --build" 0 "compiler            " "$jd_info" --build
says "it names the MPI that is loaded" 0 "mpi loaded          " "$jd_info" --build
says "--build is of no environment" 2 "--env does not go with --build" \
    "$jd_info" --build --env /dev/null
"$jd_info" --build --json >"$work/json"
cat >"$work/keys.py" <<'SCRIPT'
import json, re, sys
keys = list(json.load(open(sys.argv[1])))
manual = open(sys.argv[2]).read()
said = manual.split('object with the keys', 1)[1].split('strings, and', 1)[0]
said = re.findall(r'^\.BR? (\w+)', said, re.M)
print('alike' if sorted(keys) == sorted(said) else f'{keys}\n{said}')
SCRIPT
says "as JSON, with the keys that the manual says" 0 "alike" python3 \
    "$work/keys.py" "$work/json" "$here/../../tools/jd-info/jd-info.1"

says "--job without an address" 2 "requires an argument" "$jd_info" --job
says "--job of another environment" 2 "--env does not go with --job" \
    "$jd_info" --job h:1 --env /dev/null
says "--watch of no job" 2 "jd-info: --watch goes with --job alone" \
    "$jd_info" --watch
says "--watch as JSON" 2 "jd-info: --watch does not go with --json" \
    "$jd_info" --job h:1 --watch --json
for interval in 0 -1 0.01 86401 1s '' nan; do
    says "--watch=$interval" 2 \
        "jd-info: --watch=$interval: it must be 0.1 to 86400 seconds" \
        "$jd_info" --job h:1 "--watch=$interval"
done
says "--stack of no job" 2 "jd-info: --stack goes with --job alone" \
    "$jd_info" --stack 1
says "--stack without a number" 2 "requires an argument" \
    "$jd_info" --job h:1 --stack
says "--stack as JSON" 2 "jd-info: --stack does not go with --json or --watch" \
    "$jd_info" --job h:1 --stack 1 --json
for process in x 1x -1 '' ' 1' 1.5 4294967296; do
    says "--stack '$process'" 2 \
        "jd-info: --stack $process: it must be the number of a process" \
        "$jd_info" --job h:1 --stack "$process"
done
says "--stack and no port" 1 'jd-info: the job at h: "h" is no address' \
    "$jd_info" --job h --stack 1
says "--job and no port" 1 'jd-info: the job at h: "h" is no address' \
    "$jd_info" --job h

says "jd-bench --help" 0 "Usage: jd-bench NAME" "$jd_bench" --help
says "jd-bench --version" 0 "jd-bench 0." "$jd_bench" --version
says "jd-bench without a name" 2 "Usage: jd-bench NAME" "$jd_bench"
says "an unknown measurement" 2 'there is no measurement "speed"' \
    "$jd_bench" speed
says "jd-bench init --help" 0 "Usage: jd-bench init" "$jd_bench" init --help
says "too many launches" 2 '--launches is "201", but it must be from 1 to 200' \
    "$jd_bench" init --launches 201
says "no processes" 2 '--processes is "2,0", but it must be a comma list' \
    "$jd_bench" init --processes 2,0
collectives=("$jd_bench" collectives)
says "jd-bench collectives --help" 0 "Usage: jd-bench collectives" \
    "${collectives[@]}" --help
says "no such operation" 2 '--op is "psun", but it must be a comma list of' \
    "${collectives[@]}" --op psun
says "no such type" 2 '--type is "F31", but it must be a comma list of types' \
    "${collectives[@]}" --type F31
says "sizes the wrong way round" 2 '--sizes is "64:8", but it must be MIN:MAX' \
    "${collectives[@]}" --sizes 64:8
says "no such peer" 2 '--against is "gloo", but it must be mpi, mpi-single' \
    "${collectives[@]}" --against gloo
says "a peer of another platform" 2 "--against nccl is for --platform cuda" \
    "${collectives[@]}" --against nccl
says "another peer of a platform" 2 "--platform cuda goes against nccl" \
    "${collectives[@]}" --platform cuda --against mpi
says "a cycle on memory that is apart" 2 "--cycle is for --platform cpu" \
    "${collectives[@]}" --platform cuda --cycle
says "in place twice" 2 "--in-place and --with-in-place do not go together" \
    "${collectives[@]}" --in-place --with-in-place
says "sizes without an end that is one" 2 '--sizes is "8:x", but it must be' \
    "${collectives[@]}" --sizes 8:x
says "a word that is no flag" 2 '"psum" is no flag' "${collectives[@]}" psum
mkdir "$work/played"
cat >"$work/played/mpirun" <<SCRIPT
#!/bin/bash
echo "\$*" >>"$work/played/words"
exit 1
SCRIPT
chmod +x "$work/played/mpirun"
# played_mpirun NAME TEXT FLAG...: jd-bench starts jobs of one process with TEXT.
played_mpirun() {
    local name=$1 text=$2
    shift 2
    : >"$work/played/words"
    PATH=$work/played:$PATH "${collectives[@]}" --processes 1 "$@" \
        >/dev/null 2>&1 </dev/null || true
    says "$name" 0 "$text" cat "$work/played/words"
}
played_mpirun "a process has a core" "--bind-to core"
played_mpirun "but with a GPU its threads have all" "--bind-to none" \
    --platform cuda
played_mpirun "sizes that are not said, on cpu" "--sizes 8:67108864 --factor 4"
played_mpirun "and on GPUs, whose memory the job knows" "--sizes 8: --factor 4" \
    --platform cuda
played_mpirun "sizes without an end" "--sizes 1048576:67108864 " --sizes 1MiB:
played_mpirun "in place too" " --with-in-place" --with-in-place

# The picture, of a job that is played: 21 samples of 1 to 21 microseconds.
cat >"$work/played/job" <<'SCRIPT'
#!/bin/bash
samples="21$(printf ' %de-6' {21..1})"
for size in 8 1024 65536 1048576; do
    echo "cell psum F32 $size 2 0 $samples"
    echo "cell psum F32 $size 2 1 3 30e-6 40e-6 50e-6"
    echo "cell psum BF16 $size 2 0 3 30e-6 40e-6 50e-6"
done
echo "cell all_gather F32 1024 4 0 3 30e-6 40e-6 5000e-6"
echo "cell barrier F32 0 2 0 3 60e-6 70e-6 80e-6"
SCRIPT
cat >"$work/played/gnuplot" <<'SCRIPT'
#!/bin/bash
printf '%s\n' "$(</dev/stdin)" >"${0%/*}/told"
SCRIPT
chmod +x "$work/played/job" "$work/played/gnuplot"
plot=("${collectives[@]}" --launches 1 --launcher "$work/played/job" --plot)
says "--plot without gnuplot" 1 "jd-bench: gnuplot could not draw a.svg; is it \
installed? The table is complete without it" \
    env PATH=/nowhere "${plot[@]}" a.svg
says "--plot of nothing" 1 "jd-bench: a.svg is not drawn: nothing was measured" \
    "${collectives[@]}" --launches 1 --launcher true --plot a.svg
# shellcheck disable=SC2016
strange='it'\''s "here" `date`.svg'
says "gnuplot is told" 0 "barrier" env PATH="$work/played:$PATH" \
    "${plot[@]}" "$strange"
told() {
    says "$1" 0 "$2" cat "$work/played/told"
}
told "percentiles 5, 50 and 95 of a size" "65536 2 11 20"
told "a barrier has no size, and is a line across" "1048576 60 70 80"
told "one size has no band" "1:3:2:4 with yerrorbars"
told "ticks at powers of two" "set xtics ('8 B' 2**3, '32 B' 2**5, "
told "and times, round numbers" "set ytics ('10' 10, '100' 100, '1000' 1000)"
told "no command in a file's name" \
    'set output "it\047s \042here\042 \140date\140.svg"'

# drawn FILE BENCH_OUTPUT: what is wrong with the picture, or "good".
cat >"$work/drawn.py" <<'SCRIPT'
import re, sys, xml.dom.minidom
picture = xml.dom.minidom.parse(sys.argv[1])
texts = [''.join(part.data for part in text.childNodes
                 if part.nodeType == part.TEXT_NODE).strip()
         for text in picture.getElementsByTagName('text')]
machine = re.search('^# CPU: (.*, \\d+ cores?)s?, .*; (.*); jd (.*)$',
                    open(sys.argv[2]).read(), re.M)
cpu, mpi, version = machine.groups()
wanted = [f'2 and 4 processes, platform cpu; jd {version}, {mpi}',
          '8 B', '2 KiB', '32 KiB', '512 KiB', '10', '100', '1000',
          'jd psum F32, 2 processes', 'mpi psum F32, 2 processes',
          'jd psum BF16, 2 processes', 'jd all_gather F32, 4 processes',
          'jd barrier, 2 processes']
bad = [text for text in wanted if text not in texts]
if not any(text.startswith(cpu) for text in texts):
    bad.append(cpu)
curves = [group for group in picture.getElementsByTagName('g')
          if group.getAttribute('id').startswith('gnuplot_plot_')]
if len(curves) != 10:
    bad.append(f'{len(curves)} lines and bands')
print('good' if not bad else f'{bad} in {texts}')
SCRIPT
if [[ $(command -v gnuplot) ]]; then
    says "gnuplot draws" 0 "all_gather" "${plot[@]}" "$work/$strange"
    cp "$work/out" "$work/measured"
    says "a well-formed picture with these words and curves" 0 good \
        python3 "$work/drawn.py" "$work/$strange" "$work/measured"
    says "a file that cannot be written" 1 "could not draw /nowhere/a.svg" \
        "${plot[@]}" /nowhere/a.svg
else
    tap_skip "gnuplot draws" "there is no gnuplot here"
fi

reshard=("$jd_bench" reshard)
says "jd-bench reshard --help" 0 "Usage: jd-bench reshard" \
    "${reshard[@]}" --help
says "no such shape" 2 '--shape is "4x", but it must be lengths with x' \
    "${reshard[@]}" --shape 4x
says "more elements than MPI counts" 2 "of fewer than 2147483648 elements" \
    "${reshard[@]}" --shape 65536x65536
says "no such type of an array" 2 '--type is "F31", but it must be a type' \
    "${reshard[@]}" --type F31
says "an axis without a size" 2 '--mesh is "x", but it must be name:size' \
    "${reshard[@]}" --mesh x
says "an axis of no devices" 2 '--mesh is "x:2,y:0", but it must be' \
    "${reshard[@]}" --mesh x:2,y:0
says "a spec for a shell" 2 '--to is "x;ls", but it must be an axis or -' \
    "${reshard[@]}" --to 'x;ls'
says "plans of no devices" 2 '--plan is "8,0", but it must be a comma list' \
    "${reshard[@]}" --plan 8,0
says "plans of a job that does not exist" 0 "  target: a new plan: " \
    "${reshard[@]}" --plan 8,64 --rounds 3
cp "$work/out" "$work/rows"
says "and those that are found again" 0 "  target: a cached plan: " \
    cat "$work/rows"
says "rows to columns are one swap" 0 "       64  swap " cat "$work/rows"
says "plans of a mesh that does not fit" 1 '("x" 7), and the job has 64' \
    "${reshard[@]}" --plan 64 --mesh x:7
says "plans in JSON" 0 '"plan": "exchange"' \
    "${reshard[@]}" --plan 64 --rounds 3 --shape 65x67 --json
cp "$work/out" "$work/json"
says "theirs is JSON" 0 "" python3 -m json.tool "$work/json"
halo=("$jd_bench" halo)
says "jd-bench halo --help" 0 "Usage: jd-bench halo" "${halo[@]}" --help
says "no such shape of a block" 2 '--shape is "8x", but it must be lengths' \
    "${halo[@]}" --shape 8x
says "halos of nothing" 2 '--width is "0", but it must be a number from 1' \
    "${halo[@]}" --width 0
says "halos wider than the block" 2 "--width 9 is more than the 8 elements" \
    "${halo[@]}" --shape 16x8 --width 9
overlap=("$jd_bench" overlap)
says "jd-bench overlap --help" 0 "Usage: jd-bench overlap" "${overlap[@]}" --help
says "no such call to start" 2 '--op is "pmax", but it must be psum or ring' \
    "${overlap[@]}" --op pmax
says "work of no time" 2 '--work is "0", but it must be a percentage from 1' \
    "${overlap[@]}" --work 0
pipeline=("$jd_bench" pipeline)
says "jd-bench pipeline --help" 0 "Usage: jd-bench pipeline" \
    "${pipeline[@]}" --help
says "a matrix of one dimension" 2 '--shape is "99", but it must be ROWSxCOL' \
    "${pipeline[@]}" --shape 99
says "a matrix of one row" 2 '--shape is "1x99", but it must be ROWSxCOLUMNS' \
    "${pipeline[@]}" --shape 1x99
recorder=("$jd_bench" recorder)
says "jd-bench recorder --help" 0 "Usage: jd-bench recorder" \
    "${recorder[@]}" --help
says "no elements to record" 2 '--count is "0", but it must be a number from 1' \
    "${recorder[@]}" --count 0
checkpoint=("$jd_bench" checkpoint)
says "jd-bench checkpoint --help" 0 "Usage: jd-bench checkpoint" \
    "${checkpoint[@]}" --help
says "bytes that are no MiB" 2 '--bytes is "1000", but it must be whole MiB' \
    "${checkpoint[@]}" --bytes 1000
says "no such directory" 2 '--dir is "/nowhere", but it must be a directory' \
    "${checkpoint[@]}" --dir /nowhere
says "more than the disk has" 1 "name another directory with --dir" \
    "${checkpoint[@]}" --dir "$work" --bytes 1048576GiB
scale=("$jd_bench" scale)
says "jd-bench scale --help" 0 "Usage: jd-bench scale" "${scale[@]}" --help
says "one host is no model" 2 '--hosts is "1", but it must be a comma list of' \
    "${scale[@]}" --hosts 1
says "nor among others" 2 '--hosts is "2,1", but it must be a comma list of' \
    "${scale[@]}" --hosts 2,1
says "too many processes" 2 '--per-host is "257", but it must be a comma list' \
    "${scale[@]}" --per-host 257
says "no latency" 2 '--latency is "0", but it must be a number above 0' \
    "${scale[@]}" --latency 0
says "a model of hosts that are not there" 0 "100 hosts of 8 processes" \
    "${scale[@]}" --hosts 2,100 --per-host 1,8 --fold 10 --copy 10
cp "$work/out" "$work/figures"
while IFS= read -r figure; do
    says "it has: $figure" 0 "$figure" cat "$work/figures"
done <<'TEXT'
# a model: no process was started, no message was sent.
#   latency          2 us
#   fold            10 GB/s  one core adds a vector of F32 to another (given)
  psum                    8 B 
  psum                  1 GiB 
  all_gather              8 B 
  all_to_all            1 KiB 
  broadcast            16 MiB 
  first use of a mesh 
  jd_initialize: records 
  memory: a process 
10240 hosts of 1 process, and a start of 100000 processes
  target: psum of 8 B: 
  target: heartbeats: 
TEXT
says "a slower network has slower figures" 0 "psum of 8 B: 172.4 us, wanted at \
most 40 us: missed" "${scale[@]}" --hosts 2 --latency 12 --fold 10 --copy 10
says "longer pieces, more of them under way" 0 "  target: psum of 64 MiB " \
    "${scale[@]}" --hosts 2 --piece 2048 --lag 4 --fold 10 --copy 10
cp "$work/out" "$work/figures"
says "meet every target" 0 6 grep -c '^  target: .*: met$' "$work/figures"
says "the model in JSON" 0 '"what": "first use of a mesh"' \
    "${scale[@]}" --json --hosts 2,100
cp "$work/out" "$work/json"
says "which is JSON as well" 0 "" python3 -m json.tool "$work/json"
says "with its constants" 0 '{"constant": "bandwidth", "value": 12, ' \
    cat "$work/json"
coordination=("$bench_service")
says "bench-service --help" 0 "Usage: bench-service" \
    "${coordination[@]}" --help
says "too few samples" 2 '--samples is "0", but it must be from 1 to 200' \
    "${coordination[@]}" --samples 0
says "no such section" 2 '--only is "speed", but it must be store, agents, ' \
    "${coordination[@]}" --only speed
says "a word too many" 2 'an argument is "fast", but it must be one of these' \
    "${coordination[@]}" --quick fast
says "a peer that is not installed" 0 "not installed" \
    env PATH=/nowhere "${coordination[@]}" --quick --only store
says "a launcher that is not installed" 1 "mpirun cannot be started" \
    env PATH=/nowhere "${coordination[@]}" --quick --only failure
if ! is_open_mpi; then
    tap_skip "measurements" "jd-bench starts its jobs by Open MPI's mpirun alone"
elif command -v mpirun >/dev/null; then
    says "every figure of the coordination service" 0 "# Failure: " \
        env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        "${coordination[@]}" --quick
    cp "$work/out" "$work/figures"
    while IFS= read -r figure; do
        says "it has: $figure" 0 "$figure" cat "$work/figures"
    done <<'TEXT'
set, 1 at a time, us
set, 16 in flight, 1000/s
set, 64 connections, 1000/s
get of 10,000 keys, 1000 keys/s
connections register: jd
agents register, pass a barrier, leave: jd
memory of the service per agent
heartbeats
barrier of 64 agents: jd
set: jd_kv_set
SIGKILL, mpirun:
SIGKILL, mpirun --enable-recovery:
SIGKILL, srun --mpi=pmix:
SIGSTOP, mpirun,
host cut off:
TEXT
    verdicts=$(grep -cE '^  target: .*: (met|missed)$' "$work/figures")
    says "each target has its verdict" 0 "$verdicts" \
        grep -c '^  target: ' "$work/figures"
    quick=("${collectives[@]}" --op all --sizes 256:4KiB --factor 16
        --launches 1 --rounds 3 --sample 0.1 --check)
    allow=(env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
    says "every collective beside MPI's" 0 "mpi_yield_when_idle" \
        "${allow[@]}" "${quick[@]}" --type F32,BF16
    cp "$work/out" "$work/rows"
    says "barrier has a row" 0 "barrier " cat "$work/rows"
    says "a program without jd beside it, in JSON" 0 '"against": "mpi-single"' \
        "${allow[@]}" "${quick[@]}" --against mpi-single --json --cycle
    cp "$work/out" "$work/rows"
    says "its rows have the ratio" 0 '"ratio": ' cat "$work/rows"
    says "and in place beside, in columns of their own" 0 " jd in place " \
        "${allow[@]}" "${quick[@]}" --type F32,BF16 --processes 3 --with-in-place
    cp "$work/out" "$work/rows"
    # Of each row 13 columns are out of place, the count of wrong ones is the last.
    # shellcheck disable=SC2016
    says "a ratio of each that can be" 0 "16 good, 8 empty" awk '
        $1 ~ /^(psum|all_gather|psum_scatter|pbroadcast)$/ {
            good += NF == 18 && $NF > 0 && $13 == "0"
        }
        $1 ~ /^(all_to_all|ppermute)$/ { empty += NF == 18 && $NF == "-" }
        END { print good " good, " empty " empty" }' "$work/rows"
    says "their figures in JSON" 0 '"ratio_in_place": ' "${allow[@]}" \
        "${quick[@]}" --with-in-place --json --cycle
    says "every collective beside the stand-in's NCCL" 0 " queue jd " \
        "${allow[@]}" STANDIN_DEVICES=2 \
        JD_PLATFORM_DIR="${jd_bench%/*}/../tests/nccl_standin" \
        "${quick[@]}" --platform cuda --with-in-place
    cp "$work/out" "$work/rows"
    says "all of them" 0 "ppermute " cat "$work/rows"
    says "and in place" 0 " jd in place " cat "$work/rows"
    says "none is bound to a core" 0 ", $(nproc) cores allowed to each" \
        cat "$work/rows"
    on_gpus=("${allow[@]}" STANDIN_DEVICES=2
        JD_PLATFORM_DIR="${jd_bench%/*}/../tests/nccl_standin"
        "${collectives[@]}" --platform cuda --launches 1 --rounds 1 --sample 0.1)
    says "the last size is measured too" 0 " F32             100 " \
        "${on_gpus[@]}" --sizes 8:100
    says "sizes that are not said have room in the GPU" 0 \
        "# sizes up to 128 MiB, of which all buffers take half of a GPU's memory" \
        "${on_gpus[@]}" --op barrier --processes 1
    reshard+=(--launches 1 --rounds 3 --sample 0.1)
    says "an array moved beside MPI by hand" 0 "alltoallv " \
        "${allow[@]}" "${reshard[@]}" --shape 65x66 --processes 1,2
    cp "$work/out" "$work/rows"
    says "and beside an all-gather" 0 "allgather " cat "$work/rows"
    says "from columns to rows, bytes" 0 "alltoallv " "${allow[@]}" \
        "${reshard[@]}" --shape 7x50 --type S8 --from -,x --to x --processes 2
    says "what is nobody's by hand, several devices" 0 "allgather " \
        "${allow[@]}" JD_NUM_CPU_DEVICES=2 "${reshard[@]}" --mesh a:2,b:-1 \
        --from b --to -,a+b --shape 8x9x3 --type BF16 --processes 2
    says "the same in JSON" 0 '"allgather_ratio": ' \
        "${allow[@]}" "${reshard[@]}" --json --cycle --mesh a:2,b:-1 \
        --from b --to -,a+b --shape 8x9x3 --processes 2
    cp "$work/out" "$work/json"
    says "its JSON is JSON" 0 "" python3 -m json.tool "$work/json"
    says "a sharding that the mesh has not" 1 '"y"' "${allow[@]}" \
        "${reshard[@]}" --to y --shape 4x4 --processes 1
    halo+=(--launches 1 --rounds 3 --sample 0.1)
    says "halos beside MPI's subarrays" 0 "MPI_Neighbor_alltoallw's time" \
        "${allow[@]}" "${halo[@]}" --shape 9x7x5 --width 2 --type BF16 \
        --processes 1,4
    says "around the ends, in JSON" 0 '"alltoallw_wrong": 0' \
        "${allow[@]}" "${halo[@]}" --shape 12x10 --periodic --json --processes 3
    cp "$work/out" "$work/json"
    says "halos in JSON are JSON" 0 "" python3 -m json.tool "$work/json"
    overlap+=(--launches 1 --rounds 3 --sample 0.1 --work 10 --count 999)
    says "work beside jd's and MPI's calls" 0 "  target: MPI's time with work" \
        "${allow[@]}" "${overlap[@]}" --processes 1,3
    says "beside sends, in JSON" 0 '"jd_start_wrong": 0' \
        "${allow[@]}" "${overlap[@]}" --op ring --json --processes 3
    cp "$work/out" "$work/json"
    says "overlap in JSON is JSON" 0 "" python3 -m json.tool "$work/json"
    pipeline+=(--launches 1 --rounds 3 --sample 0.1 --shape 30x7)
    says "numbers down a line beside MPI's" 0 "  target: MPI's time / jd's: " \
        "${allow[@]}" "${pipeline[@]}" --processes 1,3
    says "more processes than columns" 1 "fewer columns than the 3 processes" \
        "${allow[@]}" "${pipeline[@]}" --shape 30x2 --processes 3
    says "the line in JSON" 0 '"jd_wrong": 0' \
        "${allow[@]}" "${pipeline[@]}" --json --processes 2
    cp "$work/out" "$work/json"
    says "which is JSON as well" 0 "" python3 -m json.tool "$work/json"
    recorder+=(--launches 1 --rounds 3 --sample 0.1)
    says "calls with and without the recorder" 0 "  target: with JD_TRACE=1 / " \
        "${allow[@]}" "${recorder[@]}" --processes 1,3
    says "recorded calls in JSON" 0 '"trace_wrong": 0' \
        "${allow[@]}" "${recorder[@]}" --json --count 1000 --processes 2
    cp "$work/out" "$work/json"
    says "which are JSON" 0 "" python3 -m json.tool "$work/json"
    checkpoint+=(--dir "$work" --bytes 1MiB --rounds 1)
    says "a checkpoint beside dd" 0 "  target: restore: dd's time / jd's: " \
        "${allow[@]}" "${checkpoint[@]}"
    says "the same in JSON" 0 '"what": "restore"' \
        "${allow[@]}" "${checkpoint[@]}" --json
    cp "$work/out" "$work/json"
    says "which is JSON too" 0 "" python3 -m json.tool "$work/json"
    if compgen -G "$work/jd-bench-*" >"$work/out"; then
        tap_not_ok "its files are removed"
    else
        tap_ok "its files are removed"
    fi
    for name in collectives halo overlap pipeline recorder reshard checkpoint \
        init; do
        says "jd-bench $name as a process of a job" 2 "jd-bench: this is one \
of 2 processes that mpirun started (OMPI_COMM_WORLD_SIZE), and each of them" \
            "${allow[@]}" mpirun --oversubscribe -n 2 "$jd_bench" "$name"
    done
    says "processes that cannot be started" 1 "this failed; its own message" \
        env PATH=/nowhere "${quick[@]}"
    says "a launch that fails" 1 "this failed; its own message is above: \
mpirun --oversubscribe -n 1" \
        env PATH=/nowhere "$jd_bench" init --launches 1 --processes 1
    says "one launch of each" 0 "jd - mpi-same" \
        env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        "$jd_bench" init --launches 1 --processes 1
    says "and as rows" 0 '"mpi_same_ms"' "${allow[@]}" \
        "$jd_bench" init --launches 1 --processes 1 --json
    cp "$work/out" "$work/json"
    says "which are JSON" 0 "" python3 -m json.tool "$work/json"
fi
tap_done
